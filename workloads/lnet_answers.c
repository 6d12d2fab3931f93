/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What LNet promises of acknowledgements and replies: a reply that is shorter than was asked for
 * changes no byte behind it, a request leaves from the interface that the caller named even when it
 * is sent again, and no descriptor takes the answer to a request of an earlier one. Each rank sends
 * to its right neighbour, and verifies what comes from the left one.
 */
#include "run/workload.h"
#include "support/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <lnet/api.h>

enum { NIDS = 2, SMALL = 200, GUARD = 64, UNTOUCHED = 0xee, MANY = 16 };

#define BITS UINT64_C(0x616e737700000000)
#define SENT_PS UINT64_C(1000000000) /* a short message has been sent by then */
#define REFUSED_PS \
    UINT64_C(500000000000) /* a long one has been refused by then, also if it was sent again */

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "20001", "1KiB", "512KiB", NULL, "of the long replies"},
    {"portal", ARG_COUNT, "42", "1", "63", NULL, "of all buffers"},
    {"held", ARG_TIME, "0", "0", "10s", NULL,
     "how long a rule of the scenario holds each reply; 0: no rule does"},
    {NULL},
};

struct test {
    struct rank *rank;
    uint32_t bytes, portal, left, right;
    lnet_nid_t (*nids)[NIDS]; /* by rank; 0: it has no second one */
    struct lnet_handle_eq incoming, outgoing;
    uint8_t *memory, *data; /* of descriptors of this rank; what comes back */
};

/* What the answer to a request was. */
struct answer {
    bool came;
    uint32_t bytes;
    lnet_nid_t source;
};

static int expect(struct test *test, const char *what, uint64_t found, uint64_t wanted)
{
    return found == wanted ? 0
                           : rank_fail(test->rank, "%s: %#llx instead of %#llx", what,
                                       (unsigned long long)found, (unsigned long long)wanted);
}

static uint64_t seed_of(uint32_t rank, uint64_t bits)
{
    return (uint64_t)rank << 32 | (bits & UINT32_MAX);
}

static int attach(struct test *test, uint8_t *start, uint64_t bits, uint32_t bytes,
                  unsigned options)
{
    const struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_md md = {.start = start,
                         .length = bytes,
                         .threshold = 1,
                         .options = options,
                         .eq_handle = test->incoming};
    struct lnet_handle_me entry;
    struct lnet_handle_md handle;
    int rc = LNetMEAttach(test->portal, any, bits, 0, LNET_UNLINK, LNET_INS_AFTER, &entry);

    if (rc == 0)
        rc = LNetMDAttach(entry, md, LNET_UNLINK, &handle);
    return rc == 0 ? 0 : rank_fail(test->rank, "a descriptor cannot be attached: %d", rc);
}

/* A descriptor that is good for one request and its answer. */
static int bind(struct test *test, void *start, uint32_t bytes, struct lnet_handle_md *handle)
{
    struct lnet_md md = {
        .start = start, .length = bytes, .threshold = 2, .eq_handle = test->outgoing};
    int rc = LNetMDBind(md, LNET_UNLINK, handle);

    return rc == 0 ? 0 : rank_fail(test->rank, "LNetMDBind: %d", rc);
}

static int get(struct test *test, struct lnet_handle_md handle, uint64_t bits, uint32_t offset)
{
    struct lnet_process_id target = {test->nids[test->right][0], LNET_PID_LUSTRE};
    int rc = LNetGet(LNET_NID_ANY, handle, target, test->portal, bits, offset, false);

    return rc == 0 ? 0 : rank_fail(test->rank, "LNetGet: %d", rc);
}

static int note(struct test *test, const struct lnet_event *event, struct answer *answer)
{
    if (event->status != 0)
        return rank_fail(test->rank, "an event of type %d with status %d", (int)event->type,
                         event->status);
    if (event->type != LNET_EVENT_REPLY && event->type != LNET_EVENT_ACK)
        return 0;
    *answer = (struct answer){true, event->mlength, event->source.nid};
    return event->type == LNET_EVENT_ACK || event->mlength <= event->rlength
               ? 0
               : rank_fail(test->rank, "a reply of %u bytes has the length %u", event->rlength,
                           event->mlength);
}

/* The events of a descriptor, up to its last one. */
static int events_of(struct test *test, struct answer *answer)
{
    struct lnet_event event = {.unlinked = 0};

    *answer = (struct answer){.came = false};
    while (event.unlinked == 0) {
        int rc = LNetEQWait(test->outgoing, &event);

        if (rc != 1)
            return rank_fail(test->rank, "LNetEQWait: %d", rc);
        if (note(test, &event, answer) != 0)
            return -1;
    }
    return 0;
}

static int taken(struct test *test, enum lnet_event_kind type, struct lnet_event *event)
{
    int rc = LNetEQWait(test->incoming, event);

    if (rc != 1 || event->type != type || event->status != 0)
        return rank_fail(test->rank, "at the target: %d, an event of type %d with status %d", rc,
                         (int)event->type, event->status);
    return 0;
}

/* ---- the phases ------------------------------------------------------------------------------ */

static int expect_reply(struct test *test, uint32_t bytes, uint32_t skip, uint64_t bits)
{
    uint8_t *whole = malloc(bytes + skip);
    uint32_t i;
    int rc = 0;

    if (whole == NULL)
        return rank_fail(test->rank, "no memory");
    wl_pattern_fill(whole, bytes + skip, seed_of(test->right, bits));
    if (memcmp(test->data, whole + skip, bytes) != 0)
        rc = rank_fail(test->rank, "a reply of %u bytes is wrong", bytes);
    free(whole);
    for (i = bytes; rc == 0 && i < test->bytes + 2 * GUARD; i++)
        if (test->data[i] != UNTOUCHED)
            rc = rank_fail(test->rank, "a reply of %u bytes has changed byte %u", bytes, i);
    return rc;
}

/* A GET of `asked` bytes of a memory of `bytes`, `skip` of which are left out. */
static int read_some(struct test *test, uint32_t bytes, uint32_t asked, uint32_t skip,
                     uint64_t bits)
{
    uint32_t left = bytes - skip, wanted = asked < left ? asked : left;
    struct lnet_handle_md handle;
    struct lnet_event event;
    struct answer answer;

    wl_pattern_fill(test->memory, bytes, seed_of(rank_id(test->rank), bits));
    memset(test->data, UNTOUCHED, test->bytes + 2 * GUARD);
    if (attach(test, test->memory, bits, bytes,
               LNET_MD_OP_GET | LNET_MD_TRUNCATE | LNET_MD_MANAGE_REMOTE) != 0)
        return -1;
    rank_barrier(test->rank);
    if (bind(test, test->data, asked, &handle) != 0 || get(test, handle, bits, skip) != 0 ||
        events_of(test, &answer) != 0 || expect(test, "a reply", answer.came, 1) != 0 ||
        expect(test, "length of a reply", answer.bytes, wanted) != 0 ||
        expect_reply(test, wanted, skip, bits) != 0 || taken(test, LNET_EVENT_GET, &event) != 0 ||
        expect(test, "length of a GET at its target", event.mlength, wanted) != 0)
        return -1;
    rank_barrier(test->rank);
    return 0;
}

/* The target has less than was asked for, or more. */
static int short_replies(struct test *test)
{
    const uint32_t lengths[] = {SMALL, test->bytes / 2 | 1, test->bytes};
    uint32_t i;

    for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        uint32_t bytes = lengths[i], skip = bytes / 3 | 1;

        if (read_some(test, bytes, bytes + GUARD, 0, BITS + 4 * i) != 0 ||
            read_some(test, bytes, bytes, skip, BITS + 4 * i + 1) != 0 ||
            read_some(test, bytes, bytes / 2, 0, BITS + 4 * i + 2) != 0 ||
            read_some(test, bytes, bytes, bytes, BITS + 4 * i + 3) != 0)
            return -1;
    }
    return 0;
}

/* A PUT from one interface of this node to the neighbour's on the same network. */
static int put_from(struct test *test, uint32_t which, uint64_t bits)
{
    uint32_t own = rank_id(test->rank);
    struct lnet_process_id target = {test->nids[test->right][which], LNET_PID_LUSTRE};
    struct lnet_handle_md handle;
    struct lnet_event event;
    struct answer answer;
    int rc;

    if (attach(test, test->memory, bits, SMALL, LNET_MD_OP_PUT) != 0)
        return -1;
    rank_barrier(test->rank);
    wl_pattern_fill(test->data, SMALL, seed_of(own, bits));
    if (bind(test, test->data, SMALL, &handle) != 0)
        return -1;
    rc = LNetPut(test->nids[own][which], handle, LNET_ACK_REQ, target, test->portal, bits, 0, 0);
    if (rc != 0)
        return rank_fail(test->rank, "LNetPut: %d", rc);
    if (events_of(test, &answer) != 0 || expect(test, "an acknowledgement", answer.came, 1) != 0 ||
        expect(test, "length in an acknowledgement", answer.bytes, SMALL) != 0 ||
        expect(test, "source of an acknowledgement", answer.source, target.nid) != 0 ||
        taken(test, LNET_EVENT_PUT, &event) != 0 ||
        expect(test, "source of a PUT", event.source.nid, test->nids[test->left][which]) != 0 ||
        expect(test, "initiator of a PUT", event.initiator.nid, test->nids[test->left][0]) != 0)
        return -1;
    if (wl_pattern_differs(test->memory, SMALL, seed_of(test->left, bits)) != 0)
        return rank_fail(test->rank, "a PUT from a named interface has wrong bytes");
    rank_barrier(test->rank);
    return 0;
}

static int named_sources(struct test *test)
{
    bool both = true;
    uint32_t i;

    for (i = 0; i < rank_size(test->rank); i++)
        both = both && test->nids[i][1] != 0;
    for (i = 0; i < MANY; i++)
        if (put_from(test, both ? i % NIDS : 0, BITS + 100 + i) != 0)
            return -1;
    return 0;
}

/*
 * The reply to the first GET comes when the second one waits for its own, with a descriptor that
 * may have the place of the first one's.
 */
static int late_reply(struct test *test)
{
    uint64_t bits = BITS + 200, held = rank_arg_ps(test->rank, "held");
    struct lnet_handle_md handle;
    struct lnet_event event;
    struct answer answer;
    uint32_t i;

    for (i = 0; i < 2; i++) {
        uint8_t *at = test->memory + i * SMALL;

        wl_pattern_fill(at, SMALL, seed_of(rank_id(test->rank), bits + i));
        if (attach(test, at, bits + i, SMALL, LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE) != 0)
            return -1;
    }
    memset(test->data, UNTOUCHED, test->bytes + 2 * GUARD);
    rank_barrier(test->rank);
    if (bind(test, test->data + SMALL, SMALL, &handle) != 0 || get(test, handle, bits, 0) != 0)
        return -1;
    rank_compute(SENT_PS + held / 2);
    LNetMDUnlink(handle); /* fails if no rule holds replies: then it has ended */
    if (events_of(test, &answer) != 0)
        return -1;
    memset(test->data, UNTOUCHED, test->bytes + 2 * GUARD);
    if (bind(test, test->data, SMALL, &handle) != 0 || get(test, handle, bits + 1, 0) != 0 ||
        events_of(test, &answer) != 0 || expect(test, "a reply", answer.came, 1) != 0 ||
        expect_reply(test, SMALL, 0, bits + 1) != 0 || taken(test, LNET_EVENT_GET, &event) != 0 ||
        taken(test, LNET_EVENT_GET, &event) != 0)
        return -1;
    rank_barrier(test->rank);
    return 0;
}

/* A long PUT that nothing matches: the target refuses it at once, so the sender does not wait,
 * unless a rule of the scenario makes LNet send it again. */
static int unmatched(struct test *test)
{
    struct lnet_process_id target = {test->nids[test->right][0], LNET_PID_LUSTRE};
    struct lnet_md md = {
        .start = test->data, .length = test->bytes, .threshold = 1, .eq_handle = test->outgoing};
    struct lnet_event event = {.unlinked = 0};
    struct lnet_handle_md handle;
    uint64_t begin = rank_now();
    int rc = LNetMDBind(md, LNET_UNLINK, &handle);

    if (rc == 0)
        rc = LNetPut(LNET_NID_ANY, handle, LNET_NOACK_REQ, target, test->portal, BITS + 300, 0, 0);
    while (rc == 0 && event.unlinked == 0)
        rc = LNetEQWait(test->outgoing, &event) == 1 ? 0 : -EIO;
    if (rc != 0 || event.type != LNET_EVENT_SEND)
        return rank_fail(test->rank, "a PUT that nothing matches: %d, an event of type %d", rc,
                         (int)event.type);
    if (rank_arg_ps(test->rank, "held") == 0 && rank_now() - begin > REFUSED_PS)
        return rank_fail(test->rank, "the refusal of a PUT that nothing matches does not come");
    rank_barrier(test->rank);
    return 0;
}

/* ---- the rank -------------------------------------------------------------------------------- */

static int start(struct test *test)
{
    struct lnet_process_id id = {0};
    lnet_nid_t own[NIDS] = {0};
    size_t room = (size_t)test->bytes + SMALL + 2 * GUARD;
    int rc = LNetGetId(1, &id); /* 0 is 0@lo */

    own[0] = id.nid;
    if (rc == 0 && LNetGetId(2, &id) == 0)
        own[1] = id.nid;
    if (rc == 0)
        rc = LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &test->incoming);
    if (rc == 0)
        rc = LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &test->outgoing);
    if (rc != 0)
        return rank_fail(test->rank, "starting: %d", rc);
    test->nids = calloc(rank_size(test->rank), sizeof(*test->nids));
    test->memory = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
    test->data = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
    if (test->nids == NULL || test->memory == NULL || test->data == NULL) {
        rank_fail(test->rank, "no memory");
        return -1;
    }
    rank_allgather(test->rank, own, test->nids, sizeof(own));
    return 0;
}

static int end(struct test *test)
{
    int rc = LNetEQFree(test->incoming);

    if (rc == 0)
        rc = LNetEQFree(test->outgoing);
    free(test->nids);
    free(test->memory);
    free(test->data);
    return rc == 0 ? 0 : rank_fail(test->rank, "LNetEQFree: %d", rc);
}

static int phases(struct test *test)
{
    if (start(test) != 0 || short_replies(test) != 0 || named_sources(test) != 0 ||
        late_reply(test) != 0 || unmatched(test) != 0)
        return -1;
    rank_count(test->rank, "phases", 4);
    return end(test);
}

static int lnet_answers_main(struct rank *rank)
{
    struct test test = {
        .rank = rank,
        .bytes = (uint32_t)rank_arg_count(rank, "bytes"),
        .portal = (uint32_t)rank_arg_count(rank, "portal"),
        .left = (rank_id(rank) + rank_size(rank) - 1) % rank_size(rank),
        .right = (rank_id(rank) + 1) % rank_size(rank),
    };
    int rc = LNetNIInit(LNET_PID_LUSTRE);

    if (rc < 0)
        return rank_fail(rank, "LNetNIInit: %d", rc);
    rc = phases(&test);
    LNetNIFini();
    return rc == 0 ? 0 : 1;
}

static const struct workload lnet_answers = {
    .name = "lnet_answers",
    .meaning = "what LNet promises of replies and acknowledgements: lengths, sources, late ones",
    .metrics = "phases (count)",
    .args = args,
    .ranks_min = 2,
    .main = lnet_answers_main,
};
WORKLOAD(lnet_answers)
