/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trees of collective engines over processes, several of them on a node, each with a channel of its
 * own: reductions with verified results, and what is left of them when a process dies.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "live_test.h"

#include <signal.h>
#include <unistd.h>

#define RANKS 8u
#define NODES 3u
#define ROUNDS 300u
#define SLOTS 64u /* results at a time, 64 bytes apart */
#define QUIET_S 0.3

enum { ORB_TIMEOUT = 0x39, JOIN_DUPLICATE = 0x33 }; /* status codes of Aries */

static struct lt lt;
static gni_ce_handle_t ce;
static gni_cq_handle_t events; /* of the channel */
static uint32_t ids[LT_RANKS_MAX]; /* of the channels */

/* ---- a tree ---------------------------------------------------------------------------------- */

static void start(void)
{
    uint32_t rank;

    lt_start(&lt, 1u << 16);
    OK(GNI_CeCreate(lt.nic, &ce));
    OK(GNI_CeGetId(ce, &ids[lt_rank]));
    OK(GNI_CqCreate(lt.nic, 64, 0, GNI_CQ_BLOCKING, NULL, NULL, &events));
    lt_shared->note[lt_rank][0] = ids[lt_rank];
    lt_barrier();
    for (rank = 0; rank < lt_ranks; rank++)
        ids[rank] = (uint32_t)lt_shared->note[rank][0];
}

static gni_ep_handle_t member(uint32_t rank, uint32_t child, gni_ce_child_t type)
{
    OK(GNI_EpSetCeAttr(lt.eps[rank], ids[rank], child, type));
    return lt.eps[rank];
}

/*
 * The own channel among those of `count` ranks, this one being the `place`th: child 0 is the
 * process itself, 1 and 2 are the channels below. Ends with a way to join.
 */
static void configure(const uint32_t *ranks, uint32_t count, uint32_t place)
{
    gni_ep_handle_t below[3], above = NULL, self;
    uint32_t children = 1, i;

    OK(GNI_EpCreate(lt.nic, lt.tx, &self));
    OK(GNI_EpBind(self, lt.pe, lt_rank));
    OK(GNI_EpSetCeAttr(self, ids[lt_rank], 0, GNI_CE_CHILD_PE));
    below[0] = self;
    for (i = 1; i <= 2; i++)
        if (2 * place + i < count)
            below[children++] = member(ranks[2 * place + i], i, GNI_CE_CHILD_VCE);
    if (place > 0)
        above = member(ranks[(place - 1) / 2], 1 + (place - 1) % 2, GNI_CE_CHILD_VCE);
    OK(GNI_CeConfigure(ce, below, children, above, events,
                       GNI_CE_MODE_CQE_ONERR | GNI_CE_MODE_ROUND_NEAR));
    OK(GNI_EpDestroy(self));
    member(lt_rank, 0, GNI_CE_CHILD_PE);
    lt_barrier();
}

static gni_ce_result_t *place_of(uint64_t round)
{
    return (gni_ce_result_t *)(void *)(lt.memory + round % SLOTS * 64);
}

static gni_post_descriptor_t join_of(uint64_t round, gni_ce_cmd_type_t command, uint64_t first,
                                     uint64_t second)
{
    memset(place_of(round), 0, sizeof(gni_ce_result_t));
    return (gni_post_descriptor_t){
        .type = GNI_POST_CE,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .local_addr = (uintptr_t)place_of(round),
        .local_mem_hndl = lt.handle,
        .ce_cmd = command,
        .ce_mode = command == GNI_FMA_CE_IADD ? GNI_CEMODE_TWO_OP : 0,
        .ce_red_id = round,
        .first_operand = first,
        .second_operand = second,
    };
}

/* Posts a join to the channel of a rank; 0 or the status of its failure. */
static unsigned post(uint32_t rank, gni_post_descriptor_t *descriptor)
{
    gni_post_descriptor_t *done = NULL;
    gni_cq_entry_t entry;
    gni_return_t result;

    OK(GNI_PostFma(lt.eps[rank], descriptor));
    while ((result = GNI_CqGetEvent(lt.tx, &entry)) == GNI_RC_NOT_DONE)
        ;
    GNI_GetCompleted(lt.tx, entry, &done);
    CHECK(done == descriptor);
    CHECK(result == GNI_RC_SUCCESS || result == GNI_RC_TRANSACTION_ERROR);
    return result == GNI_RC_SUCCESS ? 0 : (unsigned)GNI_CQ_GET_STATUS(entry);
}

static gni_return_t result_of(uint64_t round)
{
    gni_return_t result;

    while ((result = GNI_CeCheckResult(place_of(round), 0)) == GNI_RC_NOT_DONE)
        ;
    return result;
}

static void expect_event(unsigned status, unsigned type)
{
    gni_cq_entry_t entry;

    CHECK_RC(GNI_CqWaitEvent(events, 60000, &entry), GNI_RC_TRANSACTION_ERROR);
    CHECK(GNI_CQ_GET_STATUS(entry) == status);
    CHECK(GNI_CQ_GET_TRANS_TYPE(entry) == type);
    CHECK(GNI_CQ_GET_CE_ID(entry) == ids[lt_rank]);
}

/* ---- all is well ----------------------------------------------------------------------------- */

/* Sums of `count` ranks, and who has the most. */
static void reduce(uint64_t round, const uint32_t *ranks, uint32_t count)
{
    bool sum = round % 2 == 0;
    uint64_t value = (lt_rank * 7 + round) % 13, most = 0, sums[2] = {0, 0};
    gni_post_descriptor_t join =
        sum ? join_of(round, GNI_FMA_CE_IADD, round << 32 | lt_rank, lt_rank * round)
            : join_of(round, GNI_FMA_CE_IMAX_LIDX, value, lt_rank);
    uint32_t i;

    CHECK(post(lt_rank, &join) == 0);
    OK(result_of(round));
    CHECK(GNI_CE_RES_GET_RED_ID(place_of(round)) == round);
    for (i = 0; i < count; i++) {
        uint64_t theirs = (ranks[i] * 7 + round) % 13;

        sums[0] += round << 32 | ranks[i];
        sums[1] += ranks[i] * round;
        if (theirs > most)
            most = theirs;
    }
    CHECK(place_of(round)->result1 == (sum ? sums[0] : most));
    if (sum)
        CHECK(place_of(round)->result2 == sums[1]);
    else
        CHECK((place_of(round)->result2 * 7 + round) % 13 == most);
}

static const uint32_t everybody[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};

static void allreduce(void)
{
    uint64_t round;

    start();
    configure(everybody, RANKS, lt_rank);
    for (round = 1; round <= ROUNDS; round++) {
        if (round % 50 == lt_rank)
            usleep(3000); /* tested: all wait for one, and some sleep meanwhile */
        reduce(round, everybody, RANKS);
    }
    lt_end(&lt);
}

/* ---- the dead -------------------------------------------------------------------------------- */

static void die(void)
{
    __atomic_fetch_sub(&lt_shared->alive, 1, __ATOMIC_SEQ_CST);
    kill(getpid(), SIGKILL);
}

static void await_death(uint32_t rank)
{
    gni_post_descriptor_t put = {
        .type = GNI_POST_FMA_PUT,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .local_addr = (uintptr_t)lt.memory + 8192,
        .local_mem_hndl = lt.handle,
        .remote_addr = lt.peers[rank].address + 8192,
        .remote_mem_hndl = lt.peers[rank].handle,
        .length = 8,
    };

    while (post(rank, &put) == 0)
        ;
}

/* The root dies: who joins it hears that, and so do those below. */
static void root_dies(void)
{
    gni_post_descriptor_t join;
    gni_ce_handle_t more[4];
    uint32_t i;

    start();
    configure(everybody, 4, lt_rank);
    if (lt_rank == 0)
        die();
    await_death(0);
    join = join_of(1, GNI_FMA_CE_IADD, 1, 1);
    if (lt_rank == 2) { /* straight to the dead one, as if it were its leaf */
        member(0, 0, GNI_CE_CHILD_PE);
        CHECK(post(0, &join) == ORB_TIMEOUT);
        CHECK_RC(GNI_CeCheckResult(place_of(1), 0), GNI_RC_NOT_DONE);
        lt_barrier();
        for (i = 0; i < 3; i++) /* on its node; the dead one's is free again */
            OK(GNI_CeCreate(lt.nic, &more[i]));
    } else { /* 3 joins 1, which joins 0 */
        CHECK(post(lt_rank, &join) == 0);
        CHECK_RC(result_of(1), GNI_RC_TRANSACTION_ERROR);
        CHECK(GNI_CE_RES_GET_STATUS(place_of(1)) == ORB_TIMEOUT);
        if (lt_rank == 1)
            expect_event(ORB_TIMEOUT, 1);
        lt_barrier();
    }
    lt_end(&lt);
}

/* A leaf dies when it has joined: the others have the sum, its channel hears of it. */
static void leaf_dies(void)
{
    gni_post_descriptor_t join;
    gni_ep_handle_t leaves[2];

    start();
    if (lt_rank == 0) {
        leaves[0] = member(0, 0, GNI_CE_CHILD_PE);
        leaves[1] = member(1, 1, GNI_CE_CHILD_PE);
        OK(GNI_CeConfigure(ce, leaves, 2, NULL, events, GNI_CE_MODE_CQE_ONERR));
    }
    lt_barrier();
    join = join_of(1, GNI_FMA_CE_IADD, 1 + lt_rank, 0);
    if (lt_rank == 1) {
        member(0, 1, GNI_CE_CHILD_PE);
        CHECK(post(0, &join) == 0);
        CHECK(post(0, &join) == JOIN_DUPLICATE);
        die();
    }
    await_death(1);
    CHECK(post(0, &join) == 0);
    OK(result_of(1));
    CHECK(place_of(1)->result1 == 3);
    expect_event(ORB_TIMEOUT, 2);
    lt_end(&lt);
}

static uint32_t victim;

/* Some time within many reductions; the others then form a tree without it. */
static void somebody_dies(void)
{
    uint32_t others[RANKS], count = 0, place = 0, i;
    uint64_t round;

    start();
    configure(everybody, RANKS, lt_rank);
    for (round = 1;; round++) {
        gni_post_descriptor_t join = join_of(round, GNI_FMA_CE_IADD, lt_rank, round);
        double since = lt_seconds();
        unsigned status;

        if (lt_rank == victim && round > 20 && round * 37 % 101 == 5)
            die();
        status = post(lt_rank, &join);
        CHECK(status == 0 || status == JOIN_DUPLICATE); /* its own channel waits above */
        while (GNI_CeCheckResult(place_of(round), 0) == GNI_RC_NOT_DONE &&
               (lt_shared->alive == RANKS || lt_seconds() < since + QUIET_S))
            ;
        if (GNI_CeCheckResult(place_of(round), 0) != GNI_RC_SUCCESS)
            break; /* none, or that of a failure */
        CHECK(place_of(round)->result1 == RANKS * (RANKS - 1) / 2);
        CHECK(place_of(round)->result2 == RANKS * round);
    }
    CHECK(lt_shared->alive == RANKS - 1);
    usleep((useconds_t)(2e6 * QUIET_S));
    lt_barrier();
    for (i = 0; i < RANKS; i++) {
        if (i == lt_rank)
            place = count;
        if (i != victim)
            others[count++] = i;
    }
    configure(others, count, place);
    for (round = 1000; round < 1050; round++)
        reduce(round, others, count);
    lt_end(&lt);
}

int main(void)
{
    int failed = lt_run("live_collective_allreduce", RANKS, NODES, allreduce) |
                 lt_run("live_collective_root_dies", 4, 2, root_dies) |
                 lt_run("live_collective_leaf_dies", 2, 2, leaf_dies);

    for (victim = 0; victim < RANKS;
         victim += 3) /* the root, one with and one without others below */
        failed |= lt_run("live_collective_somebody_dies", RANKS, NODES, somebody_dies);
    return failed;
}
