/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * LNet as Lustre's services use it: each rank sends PUTs and GETs to random others, and takes what
 * comes into rings of receive buffers. Each byte of both is verified where it arrives. A rank ends
 * when all of its requests have been answered, or LNet has given them up.
 */
#include "run/workload.h"

#include <stdlib.h>
#include <string.h>
#include <lnet/api.h>

#define BITS_PUT 1 /* receive rings */
#define BITS_GET 2 /* what others read */
#define RINGS 4u
#define PID_LNET LNET_PID_LUSTRE

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "4KiB", "0", "1MiB", NULL, "of a PUT or GET"},
    {"messages", ARG_COUNT, "100", "0", "1000000000", NULL, "that each rank sends"},
    {"window", ARG_COUNT, "8", "1", "4096", NULL, "requests of a rank in flight"},
    {"gets", ARG_COUNT, "25", "0", "100", NULL, "percent of the requests that are GETs"},
    {"ack", ARG_BOOL, "true", NULL, NULL, NULL, "ask for acknowledgements of PUTs"},
    {"servers", ARG_COUNT, "0", "0", "131071", NULL,
     "the last so many ranks only answer; the others send to them; 0: all to all"},
    {"portal", ARG_COUNT, "40", "1", "63", NULL, "of all buffers"},
    {"pause", ARG_TIME, "0", "0", "1000s", NULL, "of a rank before each request"},
    {"linger", ARG_TIME, "1ms", "0", "1000s", NULL, "from the last answer to the end of LNet"},
    {NULL},
};

struct test;

/* A request in flight. */
struct slot {
    struct test *test;
    uint8_t *data; /* of GETs */
    uint64_t began, number;
    uint32_t peer;
    bool busy, is_get, answered;
};

/* A buffer for PUTs; it unlinks itself when the next one might not fit. */
struct ring {
    struct test *test;
    uint8_t *data;
    struct lnet_handle_md md;
    bool posted;
};

struct test {
    struct rank *rank;
    uint32_t id, size, bytes, window, portal;
    uint32_t first_server; /* those that are sent to are from here on */
    uint32_t gets; /* percent of the requests */
    uint64_t messages, sent, in_flight, received, lost, pause;
    bool ack, wrong;
    bool over; /* nobody sends any more */
    lnet_nid_t *nids;
    struct lnet_handle_eq eq, ring_eq;
    struct slot *slots;
    struct ring rings[RINGS];
};

/* ---- content --------------------------------------------------------------------------------- */

/*
 * Each message is a piece of one pattern that all ranks share. No two words of the pattern are
 * equal: a message of another sender or number begins at another place and differs in every word.
 * Nobody writes to the pattern, so messages are sent from it without being copied or filled in.
 */
#define PLACES 512u
#define PLACE_BYTES 64u
#define PATTERN_BYTES (PLACES * PLACE_BYTES)

static uint8_t pattern[PATTERN_BYTES + (1u << 20)] __attribute__((aligned(PAGE_SIZE)));
static uint32_t pattern_bytes; /* that are filled in */

static void make_pattern(uint32_t bytes)
{
    for (; pattern_bytes < PATTERN_BYTES + bytes; pattern_bytes += 8) {
        uint64_t word = (pattern_bytes / 8 + 1) * 0x9e3779b97f4a7c15ull; /* an odd number: no two */

        memcpy(pattern + pattern_bytes, &word, 8);
    }
}

/* Neighbouring keys are at distant places. */
static uint8_t *content(uint64_t key)
{
    return pattern + (key * 0x9e3779b97f4a7c15ull >> 32) % PLACES * PLACE_BYTES;
}

static bool is_content(const uint8_t *data, uint32_t bytes, uint64_t key)
{
    return memcmp(data, content(key), bytes) == 0;
}

static uint64_t key_of_put(uint32_t from, uint64_t number)
{
    return (uint64_t)from << 32 | (number & 0xffffffff);
}

static uint64_t key_of_memory(uint32_t owner)
{
    return ~(uint64_t)owner;
}

/* ---- events: LNet must not be called from here ------------------------------------------------
 */

static void fail(struct test *test, const char *what, const struct lnet_event *event)
{
    test->wrong = true;
    rank_fail(test->rank, "%s: %u of %u bytes from %#llx, status %d", what, event->mlength,
              event->rlength, (unsigned long long)event->initiator.nid, event->status);
}

static void ring_event(struct lnet_event *event)
{
    struct ring *ring = event->md.user_ptr;
    struct test *test = ring->test;

    if (event->type == LNET_EVENT_PUT && event->status == 0) {
        if (event->mlength != event->rlength ||
            !is_content(ring->data + event->offset, event->mlength, event->hdr_data))
            fail(test, "a PUT arrived with wrong content", event);
        test->received++;
    }
    if (event->unlinked)
        ring->posted = false;
}

static void slot_event(struct lnet_event *event)
{
    struct slot *slot = event->md.user_ptr;
    struct test *test = slot->test;

    if (event->status == 0 && event->type == LNET_EVENT_REPLY) {
        slot->answered = true;
        if (event->mlength != test->bytes ||
            !is_content(slot->data, test->bytes, key_of_memory(slot->peer)))
            fail(test, "a GET read wrong content", event);
    }
    if (event->status == 0 &&
        (event->type == LNET_EVENT_ACK || (event->type == LNET_EVENT_SEND && !test->ack)) &&
        !slot->is_get)
        slot->answered = true;
    if (!event->unlinked)
        return;

    if (slot->answered) {
        rank_record_latency(test->rank, slot->is_get ? "get_latency" : "put_latency",
                            rank_stamp() - slot->began);
        rank_progress(test->rank);
    } else {
        test->lost++;
    }
    slot->busy = false;
    test->in_flight--;
}

static void on_ring(struct lnet_event *event)
{
    struct ring *ring = event->md.user_ptr;

    ring_event(event);
    rank_notify(ring->test->rank);
}

static void on_slot(struct lnet_event *event)
{
    struct slot *slot = event->md.user_ptr;

    slot_event(event);
    rank_notify(slot->test->rank);
}

/* ---- the rank -------------------------------------------------------------------------------- */

static int post_ring(struct test *test, struct ring *ring, struct lnet_handle_eq eq)
{
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    uint32_t room = test->bytes > 0 ? test->bytes : 1;
    struct lnet_md md = {
        .start = ring->data,
        .length = 16 * room,
        .threshold = LNET_MD_THRESH_INF,
        .max_size = (int)room,
        .options = LNET_MD_OP_PUT | LNET_MD_MAX_SIZE,
        .user_ptr = ring,
        .eq_handle = eq,
    };
    struct lnet_handle_me me;
    int rc = LNetMEAttach(test->portal, any, BITS_PUT, 0, LNET_UNLINK, LNET_INS_AFTER, &me);

    if (rc != 0)
        return rank_fail(test->rank, "LNetMEAttach: %d", rc);
    ring->posted = true; /* the call may deliver what waited for it */
    rc = LNetMDAttach(me, md, LNET_UNLINK, &ring->md);
    return rc == 0 ? 0 : rank_fail(test->rank, "LNetMDAttach: %d", rc);
}

static int post_rings(struct test *test, struct lnet_handle_eq eq)
{
    uint32_t i;

    for (i = 0; i < RINGS; i++) {
        while (!test->rings[i].posted) {
            if (post_ring(test, &test->rings[i], eq) != 0)
                return -1;
        }
    }
    return 0;
}

static int post_readable(struct test *test, struct lnet_handle_me *me)
{
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_md md = {
        .start = content(key_of_memory(test->id)),
        .length = test->bytes,
        .threshold = LNET_MD_THRESH_INF,
        .options = LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE,
    };
    struct lnet_handle_md handle;
    int rc = LNetMEAttach(test->portal, any, BITS_GET, 0, LNET_UNLINK, LNET_INS_AFTER, me);

    LNetInvalidateEQHandle(&md.eq_handle);
    if (rc == 0)
        rc = LNetMDAttach(*me, md, LNET_RETAIN, &handle);
    return rc == 0 ? 0 : rank_fail(test->rank, "the memory for GETs: %d", rc);
}

static uint32_t choose(struct test *test)
{
    uint32_t targets = test->size - test->first_server;
    uint32_t peer;

    do {
        peer = test->first_server + (uint32_t)(rank_random(test->rank) % targets);
    } while (peer == test->id && targets > 1);
    return peer;
}

static int request(struct test *test, struct slot *slot)
{
    struct lnet_md md = {.length = test->bytes, .user_ptr = slot};
    struct lnet_process_id target = {.pid = PID_LNET};
    struct lnet_handle_md handle;
    int rc;

    slot->peer = choose(test);
    slot->is_get = rank_random(test->rank) % 100 < test->gets;
    slot->number = test->sent++;
    slot->busy = true;
    slot->answered = false;
    slot->began = rank_stamp();
    target.nid = test->nids[slot->peer];
    md.threshold = slot->is_get || test->ack ? 2 : 1;
    md.eq_handle = test->eq;
    md.start = slot->is_get ? slot->data : content(key_of_put(test->id, slot->number));
    rc = LNetMDBind(md, LNET_UNLINK, &handle);
    if (rc != 0)
        return rank_fail(test->rank, "LNetMDBind: %d", rc);
    test->in_flight++;
    rc = slot->is_get
             ? LNetGet(LNET_NID_ANY, handle, target, test->portal, BITS_GET, 0, false)
             : LNetPut(LNET_NID_ANY, handle, test->ack ? LNET_ACK_REQ : LNET_NOACK_REQ, target,
                       test->portal, BITS_PUT, 0, key_of_put(test->id, slot->number));
    if (rc != 0 && LNetMDUnlink(handle) != 0) /* its UNLINK event ends the request */
        return rank_fail(test->rank, "LNetMDUnlink after error %d", rc);
    return 0;
}

struct view {
    const struct test *test;
    uint64_t in_flight;
};

static bool changed(const void *arg)
{
    const struct view *view = arg;
    uint32_t i;

    for (i = 0; i < RINGS; i++) {
        if (!view->test->rings[i].posted)
            return true;
    }
    return view->test->in_flight != view->in_flight || view->test->wrong || view->test->over;
}

static int run(struct test *test, struct lnet_handle_eq ring_eq)
{
    bool sends = test->first_server == 0 || test->id < test->first_server;
    uint64_t wanted = sends ? test->messages : 0;
    uint32_t i;

    while ((test->sent < wanted || test->in_flight > 0) && !test->wrong) {
        struct view view = {test, 0};

        for (i = 0; i < test->window && test->sent < wanted; i++) {
            if (test->slots[i].busy)
                continue;
            if (test->pause != 0)
                rank_compute(test->pause);
            if (request(test, &test->slots[i]) != 0)
                return -1;
        }
        if (post_rings(test, ring_eq) != 0)
            return -1;
        view.in_flight = test->in_flight;
        if (view.in_flight > 0)
            rank_wait(test->rank, changed, &view, UINT64_MAX);
    }
    return test->wrong ? -1 : 0;
}

/* A thread keeps the rings posted while the rank waits for the others. */
static int keep_posted(struct rank *rank, void *arg)
{
    struct test *test = arg;

    while (!test->over && !test->wrong) {
        struct view view = {test, test->in_flight};

        if (post_rings(test, test->ring_eq) != 0)
            return -1;
        rank_wait(rank, changed, &view, UINT64_MAX);
    }
    return 0;
}

/* All that was attached is unlinked, and then the queues are free. */
static int clean_up(struct test *test, struct lnet_handle_me readable)
{
    uint32_t i;
    int rc;

    for (i = 0; i < RINGS; i++) {
        if (test->rings[i].posted && LNetMDUnlink(test->rings[i].md) != 0)
            return rank_fail(test->rank, "LNetMDUnlink of a ring");
    }
    rc = LNetMEUnlink(readable);
    if (rc == 0)
        rc = LNetEQFree(test->ring_eq);
    if (rc == 0)
        rc = LNetEQFree(test->eq);
    return rc == 0 ? 0 : rank_fail(test->rank, "cleaning up: %d", rc);
}

/* On the border of a page, as memory of the kernel is: what the NIC needs for a transfer depends on
 * the address, and the heap's addresses on what the process did before. */
static uint8_t *pages(size_t bytes)
{
    return aligned_alloc(PAGE_SIZE, (bytes + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE);
}

static int allocate(struct test *test)
{
    uint32_t room = test->bytes > 0 ? test->bytes : 1, i;

    test->nids = calloc(test->size, sizeof(*test->nids));
    test->slots = calloc(test->window, sizeof(*test->slots));
    if (test->nids == NULL || test->slots == NULL)
        return rank_fail(test->rank, "no memory");
    make_pattern(test->bytes);
    for (i = 0; i < test->window; i++) {
        test->slots[i].test = test;
        test->slots[i].data = pages(room);
        if (test->slots[i].data == NULL)
            return rank_fail(test->rank, "no memory");
    }
    for (i = 0; i < RINGS; i++) {
        test->rings[i].test = test;
        test->rings[i].data = pages((size_t)16 * room);
        if (test->rings[i].data == NULL)
            return rank_fail(test->rank, "no memory");
    }
    return 0;
}

static void release(struct test *test)
{
    uint32_t i;

    for (i = 0; test->slots != NULL && i < test->window; i++)
        free(test->slots[i].data);
    for (i = 0; i < RINGS; i++)
        free(test->rings[i].data);
    free(test->slots);
    free(test->nids);
    free(test);
}

/* The NID of the first interface that is not 0@lo; the others learn it. */
static int meet(struct test *test)
{
    struct lnet_process_id id;
    int rc = LNetGetId(1, &id);

    if (rc != 0)
        return rank_fail(test->rank, "LNetGetId: %d", rc);
    rank_allgather(test->rank, &id.nid, test->nids, sizeof(id.nid));
    return 0;
}

static int traffic(struct test *test)
{
    struct rank_thread *poster;
    struct lnet_handle_me readable;
    uint64_t start;
    int rc = LNetEQAlloc(0, on_ring, &test->ring_eq);

    if (rc == 0)
        rc = LNetEQAlloc(0, on_slot, &test->eq);
    if (rc == 0)
        rc = LNetSetLazyPortal((int)test->portal);
    if (rc != 0)
        return rank_fail(test->rank, "starting: %d", rc);
    if (post_readable(test, &readable) != 0 || post_rings(test, test->ring_eq) != 0 ||
        meet(test) != 0)
        return -1;

    start = rank_now();
    rc = run(test, test->ring_eq);
    if (test->sent > 0)
        rank_record_bandwidth(test->rank, "bandwidth", (test->sent - test->lost) * test->bytes,
                              rank_now() - start);
    poster = rank_thread_start(test->rank, keep_posted, test);
    if (poster == NULL)
        return rank_fail(test->rank, "no thread");
    rank_barrier(test->rank);
    rank_compute(rank_arg_ps(test->rank, "linger"));
    rank_barrier(test->rank);
    test->over = true;
    rank_notify(test->rank);
    rank_thread_join(test->rank, poster);
    rank_count(test->rank, "requests", test->sent);
    rank_count(test->rank, "received", test->received);
    rank_count(test->rank, "lost", test->lost);
    return rc != 0 ? rc : clean_up(test, readable);
}

static int lnet_put_main(struct rank *rank)
{
    struct test *test = calloc(1, sizeof(*test));
    uint32_t servers = (uint32_t)rank_arg_count(rank, "servers");
    int rc;

    if (test == NULL)
        return rank_fail(rank, "no memory");
    test->rank = rank;
    test->id = rank_id(rank);
    test->size = rank_size(rank);
    test->bytes = (uint32_t)rank_arg_count(rank, "bytes");
    test->window = (uint32_t)rank_arg_count(rank, "window");
    test->portal = (uint32_t)rank_arg_count(rank, "portal");
    test->messages = rank_arg_count(rank, "messages");
    test->gets = (uint32_t)rank_arg_count(rank, "gets");
    test->ack = rank_arg_bool(rank, "ack");
    test->pause = rank_arg_ps(rank, "pause");
    test->first_server = servers > 0 && servers < test->size ? test->size - servers : 0;
    rc = LNetNIInit(PID_LNET);
    if (rc < 0) {
        free(test);
        return rank_fail(rank, "LNetNIInit: %d", rc);
    }
    rc = allocate(test) == 0 && traffic(test) == 0 ? 0 : 1;
    LNetNIFini();
    if (rc == 0)
        release(test); /* otherwise events may still come */
    return rc;
}

static const struct workload lnet_put = {
    .name = "lnet_put",
    .meaning = "LNet PUTs and GETs to random ranks, every byte verified",
    .metrics = "put_latency, get_latency (ps), bandwidth (B/s), requests, received, lost (count)",
    .args = args,
    .ranks_min = 2,
    .main = lnet_put_main,
};
WORKLOAD(lnet_put)
