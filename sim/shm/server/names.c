/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The registry: private tables of the holders of each name, and an open-addressing table in the
 * fabric's segment that members search without asking. A removal moves entries back, so there are
 * no tombstones; the table's sequence counter is odd meanwhile.
 */
#include <errno.h>
#include <string.h>
#include "internal.h"

struct name {
    struct shm_key key;
    uint64_t value;
    bool shared;
    GQueue holders; /* struct member, once per claim; members see the first one as the owner */
};

struct names {
    struct fabric_segment *segment;
    struct fabric_name *table;
    uint32_t mask, used, most;
    GHashTable *by_key; /* owns */
};

static guint hash(gconstpointer key)
{
    return name_hash(key);
}

static gboolean same(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct shm_key)) == 0;
}

static void name_free(gpointer data)
{
    struct name *name = data;

    g_queue_clear(&name->holders);
    g_free(name);
}

struct names *shm_names_new(struct fabric_segment *segment)
{
    struct names *names = g_new0(struct names, 1);

    names->segment = segment;
    names->table = (struct fabric_name *)((char *)segment + segment->names_at);
    names->mask = segment->names_capacity - 1;
    names->most = segment->names_capacity / 4 * 3;
    names->by_key = g_hash_table_new_full(hash, same, NULL, name_free);
    return names;
}

void shm_names_free(struct names *names)
{
    g_hash_table_destroy(names->by_key);
    g_free(names);
}

/* ---- the image ------------------------------------------------------------------------------- */

static uint32_t load32(_Atomic uint32_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void store32(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static void store64(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static struct shm_key key_at(struct fabric_name *entry)
{
    return (struct shm_key){.node = load32(&entry->node),
                            .kind = load32(&entry->kind),
                            .key = {atomic_load_explicit(&entry->key[0], memory_order_relaxed),
                                    atomic_load_explicit(&entry->key[1], memory_order_relaxed)}};
}

/* The index of the key's entry, or of the free entry where it belongs. There is always a free one.
 */
static uint32_t place_of(struct names *names, const struct shm_key *key)
{
    uint32_t at = name_hash(key) & names->mask;
    struct shm_key there;

    for (; load32(&names->table[at].holders) != 0; at = (at + 1) & names->mask) {
        there = key_at(&names->table[at]);
        if (same(&there, key))
            break;
    }
    return at;
}

static void publish_name(struct names *names, const struct name *name)
{
    struct fabric_name *entry = &names->table[place_of(names, &name->key)];
    const struct member *owner = g_queue_peek_head((GQueue *)&name->holders);

    shm_seq_write_begin(&names->segment->names_version);
    store64(&entry->key[0], name->key.key[0]);
    store64(&entry->key[1], name->key.key[1]);
    store64(&entry->value, name->value);
    store32(&entry->node, name->key.node);
    store32(&entry->kind, name->key.kind);
    store32(&entry->slot, owner->is.slot);
    store32(&entry->generation, owner->is.generation);
    store32(&entry->holders, g_queue_get_length((GQueue *)&name->holders));
    shm_seq_write_end(&names->segment->names_version);
}

static void copy_entry(struct fabric_name *to, struct fabric_name *from)
{
    struct shm_key key = key_at(from);

    store64(&to->key[0], key.key[0]);
    store64(&to->key[1], key.key[1]);
    store64(&to->value, atomic_load_explicit(&from->value, memory_order_relaxed));
    store32(&to->node, key.node);
    store32(&to->kind, key.kind);
    store32(&to->slot, load32(&from->slot));
    store32(&to->generation, load32(&from->generation));
    store32(&to->holders, load32(&from->holders));
}

static void withdraw_name(struct names *names, const struct shm_key *key)
{
    uint32_t gap = place_of(names, key), at = gap, home;
    struct shm_key there;

    shm_seq_write_begin(&names->segment->names_version);
    for (;;) {
        at = (at + 1) & names->mask;
        if (load32(&names->table[at].holders) == 0)
            break;
        there = key_at(&names->table[at]);
        home = name_hash(&there) & names->mask;
        /* The entry may move to the gap if its home is not behind the gap. */
        if (((at - home) & names->mask) >= ((at - gap) & names->mask)) {
            copy_entry(&names->table[gap], &names->table[at]);
            gap = at;
        }
    }
    store32(&names->table[gap].holders, 0);
    shm_seq_write_end(&names->segment->names_version);
}

/* ---- claims ---------------------------------------------------------------------------------- */

static void drop(struct names *names, struct name *name)
{
    withdraw_name(names, &name->key);
    names->used--;
    g_hash_table_remove(names->by_key, &name->key);
}

static void fill_answer(const struct name *name, struct wire *answer)
{
    const struct member *owner = g_queue_peek_head((GQueue *)&name->holders);

    answer->slot = owner->is.slot;
    answer->generation = owner->is.generation;
    answer->value = name->value;
    answer->key = name->key;
}

/* The name if a living process holds it: the loop may not yet know that a holder was killed. */
static struct name *find_alive(struct names *names, const struct shm_key *key)
{
    struct name *name;
    struct member *owner;

    while ((name = g_hash_table_lookup(names->by_key, key)) != NULL) {
        owner = g_queue_peek_head(&name->holders);
        if (!shm_member_is_dead(owner))
            break;
        shm_member_end(owner); /* this removes its names */
    }
    return name;
}

static int take(struct names *names, struct member *member, const struct shm_key *key,
                uint64_t value, bool shared, struct wire *answer)
{
    struct name *name = find_alive(names, key);

    if (name != NULL && !(shared && name->shared)) {
        fill_answer(name, answer);
        return -EEXIST;
    }
    if (member->ended) /* it held that name itself, and has died since its request */
        return -ESRCH;
    if (name == NULL) {
        if (names->used >= names->most)
            return -ENOSPC;
        name = g_new0(struct name, 1);
        name->key = *key;
        name->value = value;
        name->shared = shared;
        g_queue_init(&name->holders);
        g_hash_table_insert(names->by_key, &name->key, name);
        names->used++;
    }
    g_queue_push_tail(&name->holders, member);
    publish_name(names, name);
    fill_answer(name, answer);
    return 0;
}

void shm_names_claim(struct names *names, struct member *member, const struct wire *request,
                     struct wire *answer)
{
    struct shm_key key = request->key;
    uint32_t i, count = request->kind == WIRE_CLAIM_FREE ? request->count : 1;

    if (count > 65536) {
        answer->error = -EINVAL;
        return;
    }
    answer->error = -EEXIST;
    for (i = 0; i < count && answer->error == -EEXIST; i++, key.key[0]++)
        answer->error =
            take(names, member, &key, request->value, request->kind == WIRE_CLAIM_SHARED, answer);
}

void shm_names_unclaim(struct names *names, struct member *member, const struct wire *request,
                       struct wire *answer)
{
    struct name *name = g_hash_table_lookup(names->by_key, &request->key);
    GList *link = name != NULL ? g_queue_find(&name->holders, member) : NULL;

    if (link == NULL) {
        answer->error = -ENOENT;
        return;
    }
    g_queue_delete_link(&name->holders, link);
    if (g_queue_is_empty(&name->holders))
        drop(names, name);
    else
        publish_name(names, name);
}

void shm_names_forget(struct names *names, struct member *member)
{
    GList *all = g_hash_table_get_values(names->by_key), *at;

    for (at = all; at != NULL; at = at->next) {
        struct name *name = at->data;

        if (g_queue_remove_all(&name->holders, member) == 0)
            continue;
        if (g_queue_is_empty(&name->holders))
            drop(names, name);
        else
            publish_name(names, name);
    }
    g_list_free(all);
}
