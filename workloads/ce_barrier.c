/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Barriers and reductions by the collective engines, as GASNet uses them. The first rank of each
 * node has a channel; the ranks of a node are its leaves, and the channels form a tree. When a node
 * has no channel left, all ranks meet by other means. Joins that failed and may succeed are
 * repeated.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"operation", ARG_CHOICE, "barrier", NULL, NULL, "barrier|allreduce",
     "AND of one bit, or all kinds of reductions, verified"},
    {"radix", ARG_COUNT, "2", "1", "31", NULL, "channels below a channel"},
    {"iterations", ARG_COUNT, "100", "1", "100000000", NULL, "reductions"},
    {"rounding", ARG_CHOICE, "zero", NULL, NULL, "zero|up|down|near", "of sums of real numbers"},
    {"compute", ARG_TIME, "0", "0", "1s", NULL, "random time up to this before each one"},
    {"give_up", ARG_TIME, "20s", "1ms", "1000000s", NULL, "without any news for so long"},
    {NULL},
};

/* Status codes of Aries that a program may want to know. */
enum { CE_JOIN_DUPLICATE = 0x33, ORB_TIMEOUT = 0x39 };

struct report { /* by each rank */
    uint32_t on_node; /* 0: leads its node */
    uint32_t ce_id; /* of a leader; all ones: it has none */
};

/* A reduction: its result is there when its post may still be open, if only a response was lost. */
struct place {
    gni_post_descriptor_t desc; /* first */
    gni_ce_result_t *result;
    int posted; /* its event is still to come */
    int needed; /* its result is */
    struct place *next; /* free ones */
};

#define PLACES 256u
#define PLACE_BYTES 64u

struct test {
    struct wl_domain domain;
    struct rank *rank;
    const struct report *report; /* by rank */
    uint32_t radix, leaves, leader; /* ranks on this node; the rank that leads it */
    uint32_t rounding; /* GNI_CE_MODE_ROUND_... */
    int allreduce, engine; /* engine: there is a tree */
    gni_ce_handle_t ce;
    gni_ep_handle_t ep; /* to join by */
    uint8_t *results;
    struct wl_region mine;
    struct place *places, *free;
    uint32_t posted;
    uint64_t iterations, compute, rejoined, fallback, missing;
};

/* ---- the tree -------------------------------------------------------------------------------- */

static int failed(struct test *test, const char *what, gni_return_t rc)
{
    return rank_fail(test->rank, "%s: %s", what, wl_rc_name(rc));
}

/* Leaders are numbered in the order of their ranks: the rank of a number, and the number of a rank.
 */
static uint32_t leader_at(const struct test *test, uint32_t number)
{
    uint32_t rank;

    for (rank = 0; rank < test->domain.size; rank++)
        if (test->report[rank].on_node == 0 && number-- == 0)
            break;
    return rank; /* size: there are not so many */
}

static uint32_t number_of(const struct test *test, uint32_t leader)
{
    uint32_t rank, number = 0;

    for (rank = 0; rank < leader; rank++)
        number += test->report[rank].on_node == 0;
    return number;
}

/* The endpoint to a rank, as what it is in the tree. */
static int attribute(struct test *test, uint32_t peer, uint32_t child, gni_ce_child_t type,
                     gni_ep_handle_t *ep)
{
    gni_return_t rc;

    *ep = wl_domain_ep(&test->domain, peer);
    if (*ep == NULL)
        return -1;
    rc = GNI_EpSetCeAttr(*ep, test->report[peer].ce_id, child, type);
    return rc == GNI_RC_SUCCESS ? 0 : failed(test, "no attributes", rc);
}

/* The ranks of the node, by their number on it. */
static int local_children(struct test *test, gni_ep_handle_t *children)
{
    uint32_t rank, here = rank_node(test->rank);

    for (rank = 0; rank < test->domain.size; rank++) {
        uint32_t child = test->report[rank].on_node;

        if (rank_node_of(test->rank, rank) == here &&
            attribute(test, rank, child, GNI_CE_CHILD_PE, &children[child]) != 0)
            return -1;
    }
    return 0;
}

static uint32_t leaves_of(const struct test *test, uint32_t leader)
{
    uint32_t rank, leaves = 0, node = rank_node_of(test->rank, leader);

    for (rank = 0; rank < test->domain.size; rank++)
        leaves += rank_node_of(test->rank, rank) == node;
    return leaves;
}

static int configure(struct test *test)
{
    gni_ep_handle_t children[GNI_CE_MAX_CHILDREN], parent = NULL;
    uint32_t number = number_of(test, test->domain.id), count = test->leaves, i, peer;
    uint32_t radix = test->radix > 0 ? test->radix : 1;
    gni_return_t rc;

    if (local_children(test, children) != 0)
        return -1;
    for (i = 1; i <= radix; i++, count++) {
        peer = leader_at(test, number * radix + i);
        if (peer == test->domain.size)
            break;
        if (attribute(test, peer, count, GNI_CE_CHILD_VCE, &children[count]) != 0)
            return -1;
    }
    if (number > 0) {
        peer = leader_at(test, (number - 1) / radix);
        if (attribute(test, peer, leaves_of(test, peer) + (number - 1) % radix, GNI_CE_CHILD_VCE,
                      &parent) != 0)
            return -1;
    }
    rc = GNI_CeConfigure(test->ce, children, count, parent, test->domain.rx,
                         test->rounding | GNI_CE_MODE_CQE_ONERR);
    return rc == GNI_RC_SUCCESS ? 0 : failed(test, "the engine takes no tree", rc);
}

/* Finds the leader of each node, and whether all leaders have a channel. */
static int meet(struct test *test)
{
    struct report mine = {rank_on_node(test->rank), UINT32_MAX};
    uint32_t rank, here = rank_node(test->rank);
    gni_return_t rc;

    if (mine.on_node == 0) {
        rc = GNI_CeCreate(test->domain.nic, &test->ce);
        if (rc == GNI_RC_SUCCESS)
            GNI_CeGetId(test->ce, &mine.ce_id);
        else if (rc != GNI_RC_ERROR_RESOURCE)
            return failed(test, "no engine", rc);
    }
    test->report = rank_exchange(test->rank, &mine, sizeof(mine));
    if (test->report == NULL)
        return -1;
    test->engine = 1;
    for (rank = 0; rank < test->domain.size; rank++) {
        if (test->report[rank].on_node == 0 && test->report[rank].ce_id == UINT32_MAX)
            test->engine = 0;
        if (rank_node_of(test->rank, rank) != here)
            continue;
        test->leaves++;
        if (test->report[rank].on_node == 0)
            test->leader = rank;
    }
    if (test->leaves + test->radix > GNI_CE_MAX_CHILDREN)
        return rank_fail(test->rank, "%u ranks on a node and radix %u are more than %d children",
                         test->leaves, test->radix, GNI_CE_MAX_CHILDREN);
    return 0;
}

static int set_up(struct test *test)
{
    int status = meet(test);
    uint32_t i;

    if (status == 0 && test->engine && test->ce != NULL)
        status = configure(test);
    if (status == 0 && test->engine) /* a leader's endpoint to itself was a child's until now */
        status =
            attribute(test, test->leader, rank_on_node(test->rank), GNI_CE_CHILD_PE, &test->ep);
    test->results = wl_region_alloc(&test->domain, (size_t)PLACES * PLACE_BYTES, 0, &test->mine);
    test->places = calloc(PLACES, sizeof(*test->places));
    if (test->results == NULL || test->places == NULL)
        return -1;
    for (i = PLACES; i-- > 0;) {
        test->places[i].result = (gni_ce_result_t *)(void *)(test->results + i * PLACE_BYTES);
        test->places[i].next = test->free;
        test->free = &test->places[i];
    }
    rank_barrier(test->rank);
    return status;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static uint64_t real(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* What rank `id` of `size` brings to reduction `i`, and what must come out. */
struct task {
    gni_ce_cmd_type_t command;
    uint32_t mode;
    uint64_t operand[2], result[2];
    uint32_t exceptions; /* of the result: GNI_CE_FPE_... */
};

/*
 * Sums that no double has: one rank brings 1 or -1, another one 2^-60 with a sign, the rest
 * nothing. So one addition is inexact, wherever it happens in the tree.
 */
static struct task inexact_task(const struct test *test, int same_sign)
{
    uint32_t rounding = test->rounding;
    uint64_t id = test->domain.id, last = test->domain.size - 1;
    double first = id == 0 ? 1 : id == last ? (same_sign ? 0x1p-60 : -0x1p-60) : 0;
    double up = same_sign ? 1 + 0x1p-52 : 1, down = same_sign ? 1 : 1 - 0x1p-53;
    int away =
        rounding == GNI_CE_MODE_ROUND_UP || (rounding == GNI_CE_MODE_ROUND_NEAR && !same_sign);
    int other_away =
        rounding == GNI_CE_MODE_ROUND_DOWN || (rounding == GNI_CE_MODE_ROUND_NEAR && !same_sign);

    return (struct task){GNI_FMA_CE_FPADD,
                         GNI_CEMODE_TWO_OP,
                         {real(first), real(-first)},
                         {real(away ? up : down), real(other_away ? -up : -down)},
                         GNI_CE_FPE_PRECISION};
}

static uint32_t rounding_of(struct rank *rank)
{
    const char *choice = rank_arg_choice(rank, "rounding");

    if (strcmp(choice, "up") == 0)
        return GNI_CE_MODE_ROUND_UP;
    if (strcmp(choice, "down") == 0)
        return GNI_CE_MODE_ROUND_DOWN;
    return strcmp(choice, "near") == 0 ? GNI_CE_MODE_ROUND_NEAR : GNI_CE_MODE_ROUND_ZERO;
}

static struct task task_of(const struct test *test, uint64_t i)
{
    uint64_t id = test->domain.id, size = test->domain.size, triangle = size * (size - 1) / 2;
    uint64_t turn = (id + i) % size, first = (size - i % size) % size;

    if (!test->allreduce)
        return (struct task){GNI_FMA_CE_AND, 0, {1, 0}, {1, 0}};
    if (i % 6 == 1 && i / 6 % 3 != 0 && size > 1)
        return inexact_task(test, i / 6 % 3 == 1);
    switch (i % 6) {
    case 0:
        return (struct task){GNI_FMA_CE_IADD, GNI_CEMODE_TWO_OP, {i, id}, {i * size, triangle}};
    case 1:
        return (struct task){GNI_FMA_CE_FPADD,
                             GNI_CEMODE_TWO_OP,
                             {real(0.5), real((double)id)},
                             {real(0.5 * (double)size), real((double)triangle)}};
    case 2:
        return (struct task){GNI_FMA_CE_IMIN_LIDX, 0, {turn, id}, {0, first}};
    case 3:
        return (struct task){
            GNI_FMA_CE_FPMAX_LIDX, 0, {real(-(double)turn), id}, {real(-0.), first}};
    case 4:
        return (struct task){GNI_FMA_CE_IMAX_GIDX_S, 0, {7, id}, {7, size - 1}};
    default:
        return (struct task){
            GNI_FMA_CE_XOR_S, GNI_CEMODE_TWO_OP, {i, 1}, {size % 2 ? (uint32_t)i : 0, size % 2}};
    }
}

static int join(struct test *test, struct place *place)
{
    gni_return_t rc;

    memset(place->result, 0, sizeof(*place->result));
    while ((rc = GNI_PostFma(test->ep, &place->desc)) == GNI_RC_ERROR_RESOURCE)
        if (wl_domain_timed_out(&test->domain))
            return rank_fail(test->rank, "no room to post a join");
    if (rc != GNI_RC_SUCCESS)
        return failed(test, "cannot join", rc);
    place->posted = 1;
    test->posted++;
    return 0;
}

static int may_repeat(gni_cq_entry_t event)
{
    uint32_t recoverable = 0;

    return GNI_CqErrorRecoverable(event, &recoverable) == GNI_RC_SUCCESS && recoverable;
}

static void put_back(struct test *test, struct place *place)
{
    if (place->posted || place->needed)
        return;
    place->next = test->free;
    test->free = place;
}

/* A post failed, and its result is missing. After an error the join may still have happened; a
 * duplicate proves that it has. */
static int repeat(struct test *test, struct place *place, gni_cq_entry_t event)
{
    unsigned status = (unsigned)GNI_CQ_GET_STATUS(event);

    test->domain.errors++;
    if (status == CE_JOIN_DUPLICATE)
        return 0;
    if (!may_repeat(event))
        return rank_fail(test->rank, "a join was refused: status 0x%x", status);
    test->rejoined++;
    return join(test, place);
}

/* The end of a post, if there is one. */
static int collect(struct test *test)
{
    gni_post_descriptor_t *desc = NULL;
    struct place *place;
    gni_cq_entry_t event;
    gni_return_t rc;

    if (test->posted == 0 || GNI_CqGetEvent(test->domain.tx, &event) == GNI_RC_NOT_DONE)
        return 0;
    rc = GNI_GetCompleted(test->domain.tx, event, &desc);
    if (desc == NULL)
        return failed(test, "no completion", rc);
    place = (struct place *)desc;
    place->posted = 0;
    test->posted--;
    if (rc != GNI_RC_SUCCESS && place->needed && place->result->control == 0)
        return repeat(test, place, event);
    put_back(test, place);
    return 0;
}

/* A join was lost on the way up: the engines above still wait for it. */
static int join_again(struct test *test, struct place *place)
{
    unsigned status = (unsigned)GNI_CE_RES_GET_STATUS(place->result);

    test->domain.errors++;
    if (status != ORB_TIMEOUT)
        return rank_fail(test->rank, "a reduction failed: status 0x%x", status);
    test->rejoined++;
    return join(test, place);
}

static int check(struct test *test, const struct task *task, const struct place *place)
{
    const gni_ce_result_t *result = place->result;
    uint64_t id = GNI_CE_RES_GET_RED_ID(place->result);

    if (id != place->desc.ce_red_id)
        return rank_fail(test->rank, "result of reduction %llu instead of %llu",
                         (unsigned long long)id, (unsigned long long)place->desc.ce_red_id);
    if (GNI_CE_RES_GET_FPE(place->result) != task->exceptions)
        return rank_fail(test->rank, "command 0x%x has the exceptions 0x%x, not 0x%x",
                         (unsigned)task->command, (unsigned)GNI_CE_RES_GET_FPE(place->result),
                         task->exceptions);
    if (result->result1 == task->result[0] && result->result2 == task->result[1])
        return 0;
    return rank_fail(test->rank, "command 0x%x gave %llx, %llx, not %llx, %llx",
                     (unsigned)task->command, (unsigned long long)result->result1,
                     (unsigned long long)result->result2, (unsigned long long)task->result[0],
                     (unsigned long long)task->result[1]);
}

static struct place *take_place(struct test *test, const struct task *task, uint64_t i)
{
    struct place *place;

    while (test->free == NULL)
        if (collect(test) != 0 || wl_domain_timed_out(&test->domain))
            return NULL;
    place = test->free;
    test->free = place->next;
    place->needed = 1;
    place->desc = (gni_post_descriptor_t){
        .type = GNI_POST_CE,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .local_addr = (uintptr_t)place->result,
        .local_mem_hndl = test->mine.handle,
        .ce_cmd = task->command,
        .ce_mode = task->mode,
        .ce_red_id = i,
        .first_operand = task->operand[0],
        .second_operand = task->operand[1],
    };
    return place;
}

/* 0: done; 1: the timeout has expired; -1: failed. */
static int reduce(struct test *test, uint64_t i)
{
    struct task task = task_of(test, i);
    uint64_t begin = rank_now();
    struct place *place = take_place(test, &task, i);
    gni_return_t rc;
    int status;

    if (place == NULL)
        return 1;
    status = join(test, place);
    do {
        if (status == 0)
            status = collect(test);
        rc = GNI_CeCheckResult(place->result, 0);
        if (rc == GNI_RC_TRANSACTION_ERROR && GNI_CE_RES_GET_STATUS(place->result) == 0 &&
            task.exceptions != 0)
            rc = GNI_RC_SUCCESS; /* check() looks at the exceptions */
        if (status == 0 && rc == GNI_RC_TRANSACTION_ERROR && !place->posted)
            status = join_again(test, place);
        if (status == 0 && wl_domain_timed_out(&test->domain))
            return 1;
    } while (status == 0 && rc != GNI_RC_SUCCESS);
    if (status != 0)
        return status;
    rank_record_latency(test->rank, "latency", rank_now() - begin);
    test->domain.progress_count++;
    status = check(test, &task, place);
    place->needed = 0;
    put_back(test, place);
    return status;
}

static int measure(struct test *test)
{
    uint64_t i;
    int status = 0;

    for (i = 1; i <= test->iterations && status == 0; i++) {
        if (test->compute != 0)
            rank_compute(rank_random(test->rank) % test->compute);
        if (test->engine) {
            status = reduce(test, i);
        } else {
            rank_barrier(test->rank);
            test->fallback++;
        }
        rank_progress(test->rank);
    }
    if (status == 1)
        test->missing = test->iterations - i + 2;
    while (status == 0 && test->posted > 0 && !wl_domain_timed_out(&test->domain))
        status = collect(test);
    return status < 0 ? -1 : 0;
}

/* Counts the error events of the engines. A result that an engine could not pass on is missing at
 * some rank. */
static void engine_errors(struct test *test)
{
    gni_cq_entry_t event;
    uint64_t errors = 0;

    while (GNI_CqGetEvent(test->domain.rx, &event) != GNI_RC_NOT_DONE)
        errors++;
    test->domain.lost += errors;
    rank_count(test->rank, "engine_errors", errors);
}

static int run(struct rank *rank)
{
    struct test test = {
        .rank = rank,
        .rounding = rounding_of(rank),
        .allreduce = strcmp(rank_arg_choice(rank, "operation"), "allreduce") == 0,
        .radix = (uint32_t)rank_arg_count(rank, "radix"),
        .iterations = rank_arg_count(rank, "iterations"),
        .compute = rank_arg_ps(rank, "compute"),
    };
    int status = wl_domain_open(&test.domain, rank, 64, 0);

    wl_domain_set_timeout(&test.domain, rank_arg_ps(rank, "give_up"));
    if (status == 0)
        status = set_up(&test);
    if (status == 0)
        status = measure(&test);
    rank_barrier(rank);
    engine_errors(&test);
    rank_count(rank, "rejoined", test.rejoined);
    rank_count(rank, "fallback", test.fallback);
    if (wl_domain_finish(&test.domain, test.missing) != 0)
        status = -1;
    if (test.ce != NULL)
        GNI_CeDestroy(test.ce);
    wl_region_free(&test.domain, test.results, &test.mine);
    wl_domain_close(&test.domain);
    free(test.places);
    return status;
}

static const struct workload ce_barrier = {
    .name = "ce_barrier",
    .meaning = "barriers and reductions by a tree of collective engines",
    .metrics = "latency (ps), rejoined, engine_errors, fallback",
    .args = args,
    .main = run,
};
WORKLOAD(ce_barrier)
