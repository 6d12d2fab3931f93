/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes that exchange messages, transfers, atomics and datagrams, and are killed at any
 * instruction; others take their places on their nodes with their ids. The survivors see correct
 * data or the error that a dead node gives, and nothing is written outside of registered memory.
 *
 * JACQUARD_KILLS: how many (50, with the address sanitizer 17); JACQUARD_SEED: which (printed at a
 * failure).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "full.h"
#include "traffic.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static int killing(void)
{
    uint64_t random = shared->seed,
             most = number_of("JACQUARD_KILLS", (uint64_t)test_seeds(50, 50));
    uint32_t incarnations[RANKS], seconds = (uint32_t)(WATCHDOG_S + most / 2), i;
    struct done done;
    pid_t pids[RANKS];

    for (i = 0; i < RANKS; i++)
        pids[i] = spawn(i, incarnations[i] = 1, seconds, shm);
    while (shared->kills < most) {
        uint64_t dice = mix(&random);
        uint32_t victim = STEADY + (uint32_t)(dice % (RANKS - STEADY));

        /* Some die while they start, most while they talk. */
        while ((dice >> 8) % 4 != 0 && load(&shared->warm[victim]) != incarnations[victim]) {
            if (someone_failed(pids, RANKS))
                return 1;
            rest(200);
        }
        rest((dice >> 16) % ((dice >> 12) % 4 == 0 ? 10000 : 2000));
        if (someone_failed(pids, RANKS))
            return 1;
        store(&shared->killed[victim], incarnations[victim]);
        kill(pids[victim], SIGKILL);
        waitpid(pids[victim], NULL, 0);
        store(&shared->kills, shared->kills + 1);
        pids[victim] = spawn(victim, ++incarnations[victim], seconds, shm);
    }
    if (!finish(pids, RANKS, &done))
        return 1;
    printf("%u kills: %lu messages, %lu rounds of PUT, GET, FADD, %lu datagrams, %lu deaths seen\n",
           shared->kills, (unsigned long)done.messages, (unsigned long)done.rounds,
           (unsigned long)done.datagrams, (unsigned long)done.deaths);
    return done.datagrams > 0 ? 0 : 1;
}

/* ---- what was known of the dead -------------------------------------------------------------- */

/*
 * A successor has everything that its predecessor had: place, id, addresses, registered memory.
 * What was meant for the dead one does not get there, with no handle and no mailbox.
 */
static void owner(void)
{
    struct guarded area;
    gni_mem_handle_t handle;
    gni_cq_entry_t entry;
    struct card *card = &shared->cards[lt_rank][0];
    uint32_t i;

    begin();
    area = guarded_new(WINDOW);
    register_area(&me.domain, &area, me.domain.rx, &handle);
    *card = (struct card){
        .pe = me.domain.pe, .window = (uintptr_t)area.memory, .window_handle = handle};
    __atomic_store_n(&card->incarnations, incarnation, __ATOMIC_SEQ_CST);
    while (load(&shared->phase) < incarnation)
        GNI_CqGetEvent(me.domain.rx, &entry);
    for (i = 0; i < WINDOW; i++)
        MUST(area.memory[i] == 0);
    MUST(guarded_ok(&area));
}

static gni_return_t try(gni_ep_handle_t ep, const struct card *card, uint64_t bytes, unsigned how)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_FMA_GET, GNI_POST_RDMA_PUT,
                                            GNI_POST_RDMA_GET, GNI_POST_AMO};
    gni_post_descriptor_t post = {.type = types[how],
                                  .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
                                  .local_addr = (uintptr_t)me.talks[0].out.memory,
                                  .local_mem_hndl = me.talks[0].out_handle,
                                  .remote_addr = card->window,
                                  .remote_mem_hndl = card->window_handle,
                                  .length = how == 4 ? 8 : bytes,
                                  .amo_cmd = GNI_FMA_ATOMIC_FADD,
                                  .first_operand = 1};
    gni_post_descriptor_t *done = NULL;
    gni_cq_entry_t entry;
    gni_return_t result;

    OK(how == 2 || how == 3 ? GNI_PostRdma(ep, &post) : GNI_PostFma(ep, &post));
    while ((result = GNI_CqGetEvent(me.domain.tx, &entry)) == GNI_RC_NOT_DONE)
        ;
    GNI_GetCompleted(me.domain.tx, entry, &done);
    MUST(done == &post);
    if (result != GNI_RC_SUCCESS)
        MUST(is_of_death(GNI_CQ_GET_STATUS(entry)));
    return result;
}

/* With `knew`: it has written to the first life before. */
static void heir(bool knew)
{
    static const uint64_t sizes[] = {8, 512, 4096, 100000};
    struct card old;
    gni_ep_handle_t ep;
    uint32_t i, how;

    begin();
    while (__atomic_load_n(&shared->cards[1][0].incarnations, __ATOMIC_SEQ_CST) != 1)
        sched_yield();
    old = shared->cards[1][0];
    OK(GNI_EpCreate(me.domain.nic, me.domain.tx, &ep));
    OK(GNI_EpBind(ep, old.pe, 1));
    if (knew)
        OK(try(ep, &old, 8, 0));
    memset(me.talks[0].out.memory, 0xab, WINDOW);
    store(&shared->phase, 1); /* the first one may be killed */
    while (__atomic_load_n(&shared->cards[1][0].incarnations, __ATOMIC_SEQ_CST) != 2)
        sched_yield();
    MUST(old.window == shared->cards[1][0].window); /* else this shows nothing */
    for (i = 0; i < 4; i++)
        for (how = 0; how < 5; how++)
            MUST(try(ep, &old, sizes[i], how) == GNI_RC_TRANSACTION_ERROR);
    store(&shared->phase, 2);
    waitpid(-1, NULL, WNOHANG);
}

static void heir_that_knew(void)
{
    heir(true);
}

static void heir_that_did_not(void)
{
    heir(false);
}

static int stale(void (*of_rank_0)(void))
{
    pid_t writer = spawn(0, 1, WATCHDOG_S, of_rank_0), first = spawn(1, 1, WATCHDOG_S, owner),
          second;
    bool well;

    while (load(&shared->phase) < 1) {
        siginfo_t info = {0};

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
            load(&shared->phase) < 1)
            return kill(first, SIGKILL), kill(writer, SIGKILL), 1;
        rest(1000);
    }
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
    second = spawn(1, 2, WATCHDOG_S, owner);
    well = ended_well(writer);
    if (!well)
        kill(second, SIGKILL);
    return ended_well(second) && well ? 0 : 1;
}

static int stale_known(void)
{
    return stale(heir_that_knew);
}

static int stale_unknown(void)
{
    return stale(heir_that_did_not);
}

/* ---- all ------------------------------------------------------------------------------------- */

int main(void)
{
    return run("live_kills_stale_handles", stale_known) |
           run("live_kills_stale_handles_never_used", stale_unknown) |
           run("live_kills_at_any_instruction", killing);
}
