/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include "internal.h"

static int claim(struct shm *shm, uint32_t kind, const struct shm_key *key, uint32_t count,
                 uint64_t value, struct wire *answer)
{
    struct wire request = {.kind = kind, .key = *key, .count = count, .value = value};
    struct wire_packet packet;
    int error = shm_request(shm, &request, &packet);

    assert(shm->self != NULL && count > 0);
    if (error != 0)
        return error;
    *answer = packet.head;
    shm_wire_close(&packet);
    return answer->kind == WIRE_ANSWER ? answer->error : -EPROTO;
}

static void fill_name(const struct wire *answer, struct shm_name *found)
{
    assert(answer->kind == WIRE_ANSWER);
    if (found != NULL)
        *found = (struct shm_name){answer->slot, answer->generation, answer->value};
}

int shm_claim(struct shm *shm, const struct shm_key *key, uint64_t value, struct shm_name *found)
{
    struct wire answer = {.kind = 0};
    int error = claim(shm, WIRE_CLAIM, key, 1, value, &answer);

    if (error == 0 || error == -EEXIST)
        fill_name(&answer, found);
    return error;
}

int shm_claim_shared(struct shm *shm, const struct shm_key *key, uint64_t value,
                     struct shm_name *found)
{
    struct wire answer = {.kind = 0};
    int error = claim(shm, WIRE_CLAIM_SHARED, key, 1, value, &answer);

    if (error == 0 || error == -EEXIST)
        fill_name(&answer, found);
    return error;
}

int shm_claim_free(struct shm *shm, struct shm_key *key, uint32_t count, uint64_t value)
{
    struct wire answer = {.kind = 0};
    int error = claim(shm, WIRE_CLAIM_FREE, key, count, value, &answer);

    assert(count > 0);
    if (error == 0)
        key->key[0] = answer.key.key[0];
    return error;
}

int shm_unclaim(struct shm *shm, const struct shm_key *key)
{
    struct wire answer = {.kind = 0};

    return claim(shm, WIRE_UNCLAIM, key, 1, 0, &answer);
}

static bool is_key(const struct fabric_name *entry, const struct shm_key *key)
{
    return atomic_load_explicit(&entry->key[0], memory_order_relaxed) == key->key[0] &&
           atomic_load_explicit(&entry->key[1], memory_order_relaxed) == key->key[1] &&
           atomic_load_explicit(&entry->kind, memory_order_relaxed) == key->kind &&
           atomic_load_explicit(&entry->node, memory_order_relaxed) == key->node;
}

static int find(const struct shm *shm, const struct shm_key *key, struct shm_name *name)
{
    const struct fabric_segment *fabric = shm->fabric;
    const struct fabric_name *names =
        (const struct fabric_name *)((const char *)fabric + fabric->names_at);
    uint32_t mask = fabric->names_capacity - 1, at = name_hash(key) & mask, probes;

    assert(name != NULL);
    for (probes = 0; probes <= mask; probes++, at = (at + 1) & mask) {
        const struct fabric_name *entry = &names[at];

        if (atomic_load_explicit(&entry->holders, memory_order_relaxed) == 0)
            return -ENOENT;
        if (!is_key(entry, key))
            continue;
        name->slot = atomic_load_explicit(&entry->slot, memory_order_relaxed);
        name->generation = atomic_load_explicit(&entry->generation, memory_order_relaxed);
        name->value = atomic_load_explicit(&entry->value, memory_order_relaxed);
        return 0;
    }
    return -ENOENT;
}

int shm_lookup(const struct shm *shm, const struct shm_key *key, struct shm_name *name)
{
    const uint32_t *version = &shm->fabric->names_version;
    uint32_t retries = 0, seen;
    int result;

    assert(name != NULL && shm->self != NULL);
    do {
        if (!shm_seq_read_begin(version, &seen))
            continue;
        result = find(shm, key, name);
        if (shm_seq_read_end(version, seen))
            return result;
    } while (shm_wait_for_writer(shm, &retries));
    return -ENOTCONN;
}
