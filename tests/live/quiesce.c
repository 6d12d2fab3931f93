/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Deregistration while a peer copies (sim/aries/live/quiesce.c): after GNI_MemDeregister has
 * returned nobody writes to the memory, whatever the peer is doing. Rank 0 owns the memory; rank 1
 * is a program of uGNI that writes to it, or a member without a NIC that only publishes a copy.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "two_members.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>
#include "nic/mem_handle.h"

enum { BYTES = 12 << 20, PAGE = 4096, ROUNDS = 5 };
enum { SENT = 0x11, FREED = 0x22 };

/* The words that the two ranks share. */
static struct {
    uint32_t ended; /* rank 1's transaction, or the copy that it has announced */
    uint32_t dead; /* rank 1 has announced its last copy */
} * talk;

/* ---- a real transfer ------------------------------------------------------------------------- */

/* In order: the last page is written last, and no target helps from the back. */
static void write_all(struct lt *lt)
{
    gni_post_descriptor_t post = {
        .type = GNI_POST_RDMA_PUT,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .dlvr_mode = GNI_DLVMODE_IN_ORDER,
        .local_addr = (uintptr_t)lt->memory,
        .local_mem_hndl = lt->handle,
        .remote_addr = lt->peers[0].address,
        .remote_mem_hndl = lt->peers[0].handle,
        .length = BYTES,
    };

    memset(lt->memory, SENT, BYTES);
    lt_barrier();
    lt_post(lt, 0, &post, true); /* succeeds, or fails with AT_MDD_INV */
    store_word(&talk->ended, 1);
}

static void expose(struct lt *lt)
{
    struct lt_peer *own = (struct lt_peer *)lt_shared->note[0];

    memset(lt->memory, 0, BYTES);
    OK(GNI_MemRegister(lt->nic, (uintptr_t)lt->memory, BYTES, lt->rx, GNI_MEM_READWRITE, UINT32_MAX,
                       &lt->handle));
    own->handle = lt->handle;
}

/* The memory changes: a copy is under way. What the program writes once the registration has ended
 * stays there. */
static void deregister_in_flight(struct lt *lt)
{
    volatile uint8_t *first = lt->memory;
    uint8_t *last = lt->memory + BYTES - PAGE;
    uint32_t i;

    lt_barrier();
    while (*first != SENT)
        ;
    OK(GNI_MemDeregister(lt->nic, &lt->handle));
    memset(last, FREED, PAGE);
    while (load_word(&talk->ended) == 0)
        sched_yield();
    for (i = 0; i < PAGE; i++)
        CHECK(last[i] == FREED);
}

static void no_copy_lands_after_deregistration(void)
{
    uint32_t round;
    struct lt lt;

    lt_start(&lt, BYTES);
    for (round = 0; round < ROUNDS; round++) {
        if (lt_rank == 0 && round > 0)
            expose(&lt);
        store_word(&talk->ended, 0);
        lt_barrier();
        lt.peers[0] = *(const struct lt_peer *)lt_shared->note[0];
        lt_rank == 0 ? deregister_in_flight(&lt) : write_all(&lt);
        lt_barrier();
    }
    lt_end(&lt);
}

/* ---- a member that says that it copies ------------------------------------------------------- */

static struct shm *shm_of_member;
static struct aries_live_share *share;

static const struct aries_live_mdd *begin_copy(uint32_t count)
{
    const struct lt_peer *owner = (const struct lt_peer *)lt_shared->note[0];
    uint32_t mdh = (uint32_t)aries_mem_handle_mdh(&owner->handle), slot;
    struct shm_peer *other = NULL;
    struct shm_member member;

    for (slot = 0; slot < 8; slot++)
        if (shm_member(shm_of_member, slot, &member) && member.pid == lt_shared->pids[0])
            other = shm_peer(shm_of_member, slot, 0, NULL);
    CHECK(other != NULL);
    set(&share->copying, (uint64_t)other->slot << 48 | (uint64_t)(uint16_t)other->generation << 32 |
                             count << 16 | mdh);
    return (const struct aries_live_mdd *)other->segment + mdh;
}

static bool valid(const struct aries_live_mdd *entry)
{
    return __atomic_load_n(&entry->flags, __ATOMIC_SEQ_CST) & ARIES_LIVE_MDD_VALID;
}

/* Three times: a copy that ends after the deregistration began; one that never ends; one of a
 * process that dies. */
static void be_member(void)
{
    const struct aries_live_mdd *entry;

    share = join_without_nic(&shm_of_member);
    lt_barrier();
    lt_barrier();

    entry = begin_copy(1);
    lt_barrier();
    while (valid(entry))
        sched_yield();
    store_word(&talk->ended, 1);
    set(&share->copying, 0);
    lt_barrier();

    begin_copy(2);
    lt_barrier();
    lt_barrier();

    begin_copy(3);
    store_word(&talk->dead, 1);
    kill(getpid(), SIGKILL);
}

static void deregistration_waits_for_who_copies(void)
{
    struct lt lt;

    if (lt_rank == 1) {
        be_member();
        return;
    }
    lt_start_among(&lt, BYTES, 1);
    lt_barrier();
    OK(GNI_MemDeregister(lt.nic, &lt.handle));
    CHECK(load_word(&talk->ended) == 1);
    expose(&lt);
    lt_barrier();

    lt_barrier();
    OK(GNI_MemDeregister(lt.nic, &lt.handle)); /* after the longest wait there is */
    expose(&lt);
    lt_barrier();

    while (load_word(&talk->dead) == 0)
        sched_yield();
    OK(GNI_MemDeregister(lt.nic, &lt.handle));
    lt_shared->alive--;
    lt_end(&lt);
}

static int run(const char *name, void (*what)(void))
{
    return run_two(talk, sizeof(*talk), name, what);
}

int main(void)
{
    int failed = 0;

    talk = shared_words(sizeof(*talk));
    if (talk == NULL)
        return 1;
    failed += run("live_no_copy_lands_after_deregistration", no_copy_lands_after_deregistration);
    failed += run("live_deregistration_waits_for_who_copies", deregistration_waits_for_who_copies);
    return failed != 0;
}
