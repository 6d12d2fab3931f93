/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of LNet whose effects no transfer shows: where LNetMEInsert puts an entry, which queue
 * LNetEQPoll names, how many events a queue holds, when a descriptor with a largest size is full,
 * what becomes of messages at a portal that was lazy, one UNLINK for each descriptor. Each rank
 * sends to its right neighbour and verifies what comes from the left one.
 */
#include "run/workload.h"

#include <stdlib.h>
#include <string.h>
#include <lnet/api.h>
#include <lnet/lib-lnet.h>

enum { SMALL = 100, EVENTS = 64, PART = 100, PARTS = 3 };
#define BITS UINT64_C(0x63616c6c00000000)

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "300KiB", "1KiB", "512KiB", NULL, "of a message that is taken back"},
    {"portal", ARG_COUNT, "43", "1", "62", NULL, "of all buffers, and a lazy one behind it"},
    {"leave", ARG_COUNT, "0", "0", "100", NULL, "descriptors that stay bound at the end"},
    {NULL},
};

struct test {
    struct rank *rank;
    uint32_t bytes, portal;
    struct lnet_process_id right;
    struct lnet_handle_eq incoming, outgoing;
    uint8_t *memory, *data;
};

/* The line of the first condition that does not hold; 0: all do. */
#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

static const struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};

static struct lnet_md describe(void *start, unsigned length, int threshold, unsigned options,
                               struct lnet_handle_eq queue)
{
    return (struct lnet_md){.start = start,
                            .length = length,
                            .threshold = threshold,
                            .options = options,
                            .user_ptr = start,
                            .eq_handle = queue};
}

/* Entry and descriptor go with the first message. */
static struct lnet_md once(const struct test *test, unsigned place)
{
    return describe(test->memory + (size_t)place * SMALL, SMALL, 1, LNET_MD_OP_PUT, test->incoming);
}

static int attach(struct test *test, uint32_t portal, uint64_t bits, struct lnet_md md)
{
    struct lnet_handle_me entry;
    struct lnet_handle_md handle;
    int rc = LNetMEAttach(portal, any, bits, 0, LNET_UNLINK, LNET_INS_AFTER, &entry);

    (void)test;
    return rc == 0 ? LNetMDAttach(entry, md, LNET_UNLINK, &handle) : rc;
}

static int put(struct test *test, uint32_t portal, uint64_t bits, unsigned bytes, uint64_t number,
               struct lnet_handle_md *handle)
{
    int rc = LNetMDBind(describe(test->data, bytes, 1, 0, test->outgoing), LNET_UNLINK, handle);

    return rc == 0 ? LNetPut(LNET_NID_ANY, *handle, LNET_NOACK_REQ, test->right, portal, bits, 0,
                             number)
                   : rc;
}

/* A short message, and its end at the sender. */
static int put_small(struct test *test, uint32_t portal, uint64_t bits, uint64_t number)
{
    struct lnet_handle_md handle;
    struct lnet_event event;

    EXPECT(put(test, portal, bits, PART, number, &handle) == 0);
    EXPECT(LNetEQWait(test->outgoing, &event) == 1 && event.type == LNET_EVENT_SEND);
    return event.status == 0 && event.unlinked ? 0 : __LINE__;
}

/* All ranks have sent, and what they sent has come. */
static void all_came(struct test *test)
{
    rank_barrier(test->rank);
    rank_compute(UINT64_C(5000000000)); /* 5 ms */
    rank_barrier(test->rank);
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* Before and behind a given entry. */
static int insertion(struct test *test)
{
    struct lnet_handle_me middle, before, behind;
    struct lnet_handle_md handle;
    struct lnet_event event;
    unsigned i;

    EXPECT(LNetMEAttach(test->portal, any, BITS, 0, LNET_UNLINK, LNET_INS_AFTER, &middle) == 0);
    EXPECT(LNetMEInsert(middle, any, BITS, 0, LNET_UNLINK, LNET_INS_BEFORE, &before) == 0);
    EXPECT(LNetMEInsert(middle, any, BITS, 0, LNET_UNLINK, LNET_INS_AFTER, &behind) == 0);
    EXPECT(LNetMDAttach(before, once(test, 0), LNET_UNLINK, &handle) == 0);
    EXPECT(LNetMDAttach(middle, once(test, 1), LNET_UNLINK, &handle) == 0);
    EXPECT(LNetMDAttach(behind, once(test, 2), LNET_UNLINK, &handle) == 0);
    rank_barrier(test->rank);
    for (i = 0; i < 3; i++)
        EXPECT(put_small(test, test->portal, BITS, i) == 0);
    for (i = 0; i < 3; i++) {
        EXPECT(LNetEQWait(test->incoming, &event) == 1 && event.type == LNET_EVENT_PUT);
        EXPECT(event.hdr_data == i && event.md.user_ptr == test->memory + (size_t)i * SMALL);
    }
    return 0;
}

/* A queue for five events holds five; of several queues the one that has an event is named. */
static int queues(struct test *test)
{
    struct lnet_handle_eq both[2], five;
    struct lnet_event event;
    int which = -1, i;

    EXPECT(LNetEQAlloc(5, LNET_EQ_HANDLER_NONE, &five) == 0);
    for (i = 0; i < 5; i++)
        EXPECT(attach(test, test->portal, BITS + 1,
                      describe(test->memory, SMALL, 1, LNET_MD_OP_PUT, five)) == 0);
    rank_barrier(test->rank);
    for (i = 0; i < 5; i++)
        EXPECT(put_small(test, test->portal, BITS + 1, (uint64_t)i) == 0);
    all_came(test);
    both[0] = test->incoming;
    both[1] = five;
    for (i = 0; i < 5; i++) {
        EXPECT(LNetEQPoll(both, 2, 0, &event, &which) == 1);
        EXPECT(which == 1 && event.hdr_data == (uint64_t)i);
    }
    EXPECT(LNetEQPoll(both, 2, 0, &event, &which) == 0);
    EXPECT(LNetEQFree(five) == 0);
    return 0;
}

/* It is full when no message of the largest size fits any more, and not before. */
static int largest_size(struct test *test)
{
    struct lnet_md md = describe(test->memory, PARTS * PART, LNET_MD_THRESH_INF,
                                 LNET_MD_OP_PUT | LNET_MD_MAX_SIZE, test->incoming);
    struct lnet_event event;
    unsigned i;

    md.max_size = PART;
    EXPECT(attach(test, test->portal, BITS + 2, md) == 0);
    rank_barrier(test->rank);
    for (i = 0; i < PARTS; i++)
        EXPECT(put_small(test, test->portal, BITS + 2, i) == 0);
    all_came(test);
    for (i = 0; i < PARTS; i++) {
        EXPECT(LNetEQGet(test->incoming, &event) == 1 && event.type == LNET_EVENT_PUT);
        EXPECT(event.offset == i * PART && event.unlinked == (i + 1 == PARTS));
    }
    return 0;
}

/* Messages wait at a lazy portal; when it is one no more they are dropped. */
static int lazy_portal(struct test *test)
{
    struct lnet_event event;
    struct lnet_counters before, after;
    int portal = (int)test->portal + 1;

    EXPECT(LNetSetLazyPortal(portal) == 0);
    rank_barrier(test->rank);
    EXPECT(put_small(test, (uint32_t)portal, BITS + 3, 1) == 0);
    all_came(test);
    EXPECT(attach(test, (uint32_t)portal, BITS + 3, once(test, 0)) == 0);
    EXPECT(LNetEQWait(test->incoming, &event) == 1 && event.hdr_data == 1); /* it has waited */
    rank_barrier(test->rank);
    EXPECT(put_small(test, (uint32_t)portal, BITS + 4, 2) == 0);
    all_came(test);
    lnet_counters_get(&before);
    EXPECT(LNetClearLazyPortal(portal) == 0);
    lnet_counters_get(&after);
    EXPECT(after.lct_common.lcc_drop_count == before.lct_common.lcc_drop_count + 1);
    EXPECT(attach(test, (uint32_t)portal, BITS + 4, once(test, 0)) == 0);
    rank_barrier(test->rank);
    EXPECT(put_small(test, (uint32_t)portal, BITS + 4, 3) == 0);
    EXPECT(LNetEQWait(test->incoming, &event) == 1 && event.hdr_data == 3);
    return 0;
}

/* A descriptor is unlinked under way: one event says so. */
static int unlinked_once(struct test *test)
{
    struct lnet_handle_md handle;
    struct lnet_event event;
    unsigned unlinked = 0, i;

    EXPECT(attach(test, test->portal, BITS + 5,
                  describe(test->memory, test->bytes, 1, LNET_MD_OP_PUT, test->incoming)) == 0);
    rank_barrier(test->rank);
    EXPECT(put(test, test->portal, BITS + 5, test->bytes, 9, &handle) == 0);
    (void)LNetMDUnlink(handle); /* -ENOENT: it has ended already */
    EXPECT(LNetEQWait(test->incoming, &event) == 1);
    all_came(test);
    for (i = 0; i < 4 && LNetEQGet(test->outgoing, &event) == 1; i++)
        unlinked += (unsigned)event.unlinked;
    EXPECT(unlinked == 1 && i >= 1);
    return 0;
}

/* ---- together -------------------------------------------------------------------------------- */

static int start(struct test *test)
{
    uint32_t size = rank_size(test->rank);
    struct lnet_process_id own, *ids = calloc(size, sizeof(*ids));
    size_t room = test->bytes > EVENTS * SMALL ? test->bytes : EVENTS * SMALL;

    EXPECT(LNetGetId(0, &own) == 0 || LNetGetId(1, &own) == 0);
    if (LNET_NETTYP(LNET_NIDNET(own.nid)) == LOLND)
        EXPECT(LNetGetId(1, &own) == 0);
    test->memory = calloc(1, room);
    test->data = calloc(1, room);
    EXPECT(ids != NULL && test->memory != NULL && test->data != NULL);
    rank_allgather(test->rank, &own, ids, sizeof(own));
    test->right = ids[(rank_id(test->rank) + 1) % size];
    free(ids);
    EXPECT(LNetEQAlloc(EVENTS, LNET_EQ_HANDLER_NONE, &test->incoming) == 0);
    EXPECT(LNetEQAlloc(EVENTS, LNET_EQ_HANDLER_NONE, &test->outgoing) == 0);
    return 0;
}

/* Leaves descriptors behind if it is asked to. */
static int finish(struct test *test)
{
    uint64_t leave = rank_arg_count(test->rank, "leave"), i;
    struct lnet_handle_eq none;
    struct lnet_handle_md handle;

    LNetInvalidateEQHandle(&none);
    for (i = 0; i < leave; i++)
        EXPECT(LNetMDBind(describe(test->data, SMALL, 1, 0, none), LNET_RETAIN, &handle) == 0);
    EXPECT(LNetEQFree(test->incoming) == 0 && LNetEQFree(test->outgoing) == 0);
    rank_barrier(test->rank);
    return 0;
}

static int calls_main(struct rank *rank)
{
    static const struct {
        const char *name;
        int (*run)(struct test *test);
    } phases[] = {
        {"start", start},
        {"LNetMEInsert", insertion},
        {"LNetEQPoll", queues},
        {"LNET_MD_MAX_SIZE", largest_size},
        {"LNetClearLazyPortal", lazy_portal},
        {"LNetMDUnlink", unlinked_once},
        {"finish", finish},
    };
    struct test test = {.rank = rank,
                        .bytes = (uint32_t)rank_arg_count(rank, "bytes"),
                        .portal = (uint32_t)rank_arg_count(rank, "portal")};
    int rc = LNetNIInit(LNET_PID_LUSTRE), line;
    size_t i;

    if (rc < 0)
        return rank_fail(rank, "LNetNIInit: %d", rc);
    for (i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        line = phases[i].run(&test);
        if (line != 0)
            return rank_fail(rank, "%s: line %d", phases[i].name, line);
        rank_count(rank, "phases", 1);
        rank_barrier(rank);
    }
    LNetNIFini();
    free(test.memory);
    free(test.data);
    return 0;
}

static const struct workload lnet_calls = {
    .name = "lnet_calls",
    .meaning = "calls of LNet whose effects no transfer shows: insertion, queues, lazy portals",
    .metrics = "phases (count)",
    .args = args,
    .ranks_min = 2,
    .main = calls_main,
};
WORKLOAD(lnet_calls)
