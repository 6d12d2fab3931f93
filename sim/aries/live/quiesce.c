/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Deregistration while a peer copies. On hardware a transaction in flight completes or fails with
 * AT_MDD_INV, and none accesses the memory after GNI_MemDeregister has returned. Between processes
 * the initiator itself copies, so GNI_MemDeregister waits for the copies of peers:
 *
 * - The initiator publishes in its shared segment which registration it accesses, executes a memory
 *   fence, and then checks that the registration is valid. The owner marks the registration
 *   invalid, executes a memory fence, and then reads what its peers have published. So at least one
 *   of the two sees what the other one wrote.
 * - A long copy checks the registration again after each piece (share.c), which bounds the wait.
 *
 * The owner does not wait for a dead process. It waits at most WAIT_MAX_US for a live one that does
 * not end its copy, and not again for the same process.
 */
#include "backend.h"

#include <assert.h>
#include <time.h>

#define WAIT_MAX_US 5000000u /* a piece takes 2 ms, unless there is no processor for the peer */
#define SPINS 2000u /* some 50 us */
#define PAUSE_NS 50000

static uint64_t announcement(const struct shm_peer *owner, uint32_t mdh, uint16_t number)
{
    return (uint64_t)owner->slot << 48 | (uint64_t)(uint16_t)owner->generation << 32 |
           (uint32_t)number << 16 | mdh;
}

/* Compares all fields but the number of the copy. */
static bool same_registration(uint64_t one, uint64_t other)
{
    return ((one ^ other) & ~UINT64_C(0xffff0000)) == 0;
}

static uint64_t *own_word(void)
{
    return &aries_live_own_share()->copying;
}

void aries_live_copy_begin(const struct aries_live_link *link, uint32_t mdh)
{
    assert(aries_live.segment != NULL && *own_word() == 0 && mdh < ARIES_LIVE_MDDS);
    if (++aries_live.copies == 0) /* 0 means that no copy is under way */
        aries_live.copies = 1;
    __atomic_store_n(own_word(), announcement(link->peer, mdh, aries_live.copies),
                     __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void aries_live_copy_end(void)
{
    assert(*own_word() != 0);
    __atomic_store_n(own_word(), 0, __ATOMIC_RELEASE);
}

/* Waits until the peer's word has another value or the peer is dead. False: it takes too long. */
static bool word_changes(const struct shm_peer *peer, const uint64_t *word, uint64_t value)
{
    uint64_t began = shm_ticks(), most = WAIT_MAX_US * shm_facts(aries_live.shm)->ticks_per_us;
    uint32_t spins;

    for (spins = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) == value; spins++) {
        if (spins < SPINS) {
            __builtin_ia32_pause();
            continue;
        }
        if (!shm_process_exists(peer))
            return true;
        if (shm_ticks() - began > most)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return true;
}

static void wait_for(struct shm_peer *peer, const struct aries_mr *mr)
{
    const struct aries_live_share *share = aries_live_share_of(peer);
    const uint64_t *word;
    uint64_t value;

    if (peer->self || share == NULL)
        return;
    word = &share->copying;
    value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    if (value == 0 ||
        !same_registration(value, announcement(shm_self(aries_live.shm), mr->mdh, 0)) ||
        aries_live_link_to(peer)->copy_hangs)
        return;
    if (!word_changes(peer, word, value))
        aries_live_link_to(peer)->copy_hangs = true;
}

/* When the target helps with a transfer of this process, the target copies: waits for it. */
static void wait_for_helper(const struct aries_mr *mr)
{
    uint64_t name;
    const uint64_t *word = aries_live_share_abandon(mr, &name);
    struct aries_live_link *link = aries_live.shared.link;

    if (word != NULL && !link->copy_hangs && !word_changes(link->peer, word, name))
        link->copy_hangs = true;
}

void aries_live_quiesce(const struct aries_mr *mr)
{
    struct shm_peer *peer;

    assert(!mr->live && aries_live.shm != NULL);
    wait_for_helper(mr);
    if (mr->vmdh || mr->mdh >= ARIES_LIVE_MDDS)
        return; /* peers copy only what is in the table of registrations */
    shm_add_introduced(aries_live.shm);
    for (peer = shm_peer_next(aries_live.shm, NULL); peer != NULL;
         peer = shm_peer_next(aries_live.shm, peer))
        wait_for(peer, mr);
}
