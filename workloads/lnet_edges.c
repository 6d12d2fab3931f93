/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What LNet promises beyond moving bytes: which descriptor takes a message, order, offsets, lengths
 * of events and acknowledgements, event queues that overflow, fragments at odd addresses, and each
 * kind of memory at lengths and addresses around those of pages. Each rank sends to its right
 * neighbour and verifies what comes from the left one. The phases are separated by barriers.
 */
#include "run/workload.h"
#include "support/lnet_shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <lnet/api.h>

#define BITS UINT64_C(0x4c4e000000000000)
#define IGNORED UINT64_C(0x00ff00000000ff00) /* bits of both halves */
#define SOME_IGNORED UINT64_C(0x0055000000005500)
#define HEADER UINT64_C(0xfeedface00000000) /* in front of a number: all 64 bits must arrive */
#define EVENTS 1024u
#define SMALL 200u
#define PIECES 5u

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "20001", "1KiB", "512KiB", NULL, "of the long messages"},
    {"burst", ARG_COUNT, "64", "8", "256", NULL, "messages that are sent at once"},
    {"portal", ARG_COUNT, "41", "1", "62", NULL, "of all buffers, and the one behind it"},
    {NULL},
};

struct test {
    struct rank *rank;
    uint32_t bytes, burst, portal, left, right;
    struct lnet_process_id *ids; /* [ranks] */
    struct lnet_handle_eq incoming, outgoing;
    uint8_t *memory, *data; /* of descriptors of this rank; what it sends */
};

/* ---- content --------------------------------------------------------------------------------- */

/* Pseudo-random: a byte of another message or place differs nearly always. */
static uint8_t byte_of(uint32_t from, uint64_t key, size_t at)
{
    uint64_t word = (at + 1 + (key << 32) + ((uint64_t)from << 48)) * UINT64_C(0x9e3779b97f4a7c15);

    return (uint8_t)((word ^ word >> 32) * UINT64_C(0xbf58476d1ce4e5b9) >> 56);
}

static void fill(uint8_t *to, size_t bytes, uint32_t from, uint64_t key)
{
    size_t i;

    for (i = 0; i < bytes; i++)
        to[i] = byte_of(from, key, i);
}

/* The first byte that is not as it was sent; `bytes`: all are. */
static size_t differs(const uint8_t *at, size_t bytes, uint32_t from, uint64_t key)
{
    size_t i;

    for (i = 0; i < bytes && at[i] == byte_of(from, key, i); i++)
        ;
    return i;
}

static int expect_content(struct test *test, const char *what, const uint8_t *at, size_t bytes,
                          uint32_t from, uint64_t key)
{
    size_t wrong = differs(at, bytes, from, key);

    return wrong == bytes
               ? 0
               : rank_fail(test->rank, "%s: byte %zu of %zu is wrong", what, wrong, bytes);
}

static int expect(struct test *test, const char *what, uint64_t found, uint64_t wanted)
{
    return found == wanted ? 0
                           : rank_fail(test->rank, "%s: %#llx instead of %#llx", what,
                                       (unsigned long long)found, (unsigned long long)wanted);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int next_event(struct test *test, struct lnet_handle_eq queue, enum lnet_event_kind type,
                      struct lnet_event *event)
{
    int rc = LNetEQWait(queue, event);

    if (rc != 1)
        return rank_fail(test->rank, "LNetEQWait: %d", rc);
    if (event->type != type || event->status != 0)
        return rank_fail(test->rank, "an event of type %d with status %d instead of type %d",
                         (int)event->type, event->status, (int)type);
    return 0;
}

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

/* Entries of one peer, and those of any, have portals of their own. */
static int attach_to(struct test *test, uint32_t portal, struct lnet_process_id from, uint64_t bits,
                     uint64_t ignored, enum lnet_ins_pos position, struct lnet_md md)
{
    struct lnet_handle_me entry;
    struct lnet_handle_md handle;
    int rc = LNetMEAttach(portal, from, bits, ignored, LNET_UNLINK, position, &entry);

    if (rc == 0)
        rc = LNetMDAttach(entry, md, LNET_UNLINK, &handle);
    return rc == 0 ? 0 : rank_fail(test->rank, "a descriptor cannot be attached: %d", rc);
}

static int attach(struct test *test, uint64_t bits, struct lnet_md md)
{
    const struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};

    return attach_to(test, test->portal, any, bits, 0, LNET_INS_AFTER, md);
}

static int put_to(struct test *test, uint32_t to, uint32_t portal, struct lnet_md md, uint64_t bits,
                  uint64_t number, bool ack)
{
    struct lnet_handle_md handle;
    int rc = LNetMDBind(md, LNET_UNLINK, &handle);

    if (rc == 0)
        rc = LNetPut(LNET_NID_ANY, handle, ack ? LNET_ACK_REQ : LNET_NOACK_REQ, test->ids[to],
                     portal, bits, 0, HEADER | number);
    return rc == 0 ? 0 : rank_fail(test->rank, "LNetPut: %d", rc);
}

static int put(struct test *test, struct lnet_md md, uint64_t bits, uint64_t number, bool ack)
{
    return put_to(test, test->right, test->portal, md, bits, number, ack);
}

/* A PUT of SMALL bytes, and the end of it. */
static int put_small(struct test *test, uint32_t to, uint32_t portal, uint64_t bits,
                     uint64_t number)
{
    struct lnet_md md = describe(test->data, SMALL, 2, 0, test->outgoing);
    struct lnet_event event;

    fill(test->data, SMALL, rank_id(test->rank), number);
    if (put_to(test, to, portal, md, bits, number, true) != 0 ||
        next_event(test, test->outgoing, LNET_EVENT_SEND, &event) != 0 ||
        next_event(test, test->outgoing, LNET_EVENT_ACK, &event) != 0)
        return -1;
    return expect(test, "length in an acknowledgement", event.mlength, SMALL);
}

static int took(struct test *test, uint64_t number, uint32_t from, const uint8_t *where)
{
    struct lnet_event event;

    if (next_event(test, test->incoming, LNET_EVENT_PUT, &event) != 0 ||
        expect(test, "header data", event.hdr_data, HEADER | number) != 0 ||
        expect(test, "initiator", event.initiator.nid, test->ids[from].nid) != 0)
        return -1;
    if ((uint8_t *)event.md.user_ptr != where)
        return rank_fail(test->rank, "message %u was taken by another descriptor",
                         (unsigned)number);
    return expect_content(test, "a short message", where, SMALL, from, number);
}

/* ---- the phases ------------------------------------------------------------------------------ */

static struct lnet_md short_buffer(struct test *test, uint32_t which)
{
    uint8_t *at = test->memory + which * SMALL;

    memset(at, 0, SMALL);
    return describe(at, SMALL, 1, LNET_MD_OP_PUT, test->incoming);
}

/* The first one in the list takes a message. Ignored bits do not count. */
static int matching(struct test *test)
{
    const struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    uint64_t i;

    for (i = 0; i < 4; i++)
        if (attach_to(test, test->portal, any, i < 3 ? BITS : BITS + 1, i < 3 ? 0 : IGNORED,
                      i == 2 ? LNET_INS_BEFORE : LNET_INS_AFTER, short_buffer(test, i)) != 0)
            return -1;
    rank_barrier(test->rank);
    for (i = 0; i < 4; i++)
        if (put_small(test, test->right, test->portal, i < 3 ? BITS : (BITS + 1) ^ SOME_IGNORED,
                      i) != 0)
            return -1;
    for (i = 0; i < 4; i++)
        if (took(test, i, test->left, test->memory + (i < 3 ? (i + 2) % 3 : i) * SMALL) != 0)
            return -1;
    rank_barrier(test->rank);
    return 0;
}

/* The entry of another peer, which comes first, does not match. */
static int sources(struct test *test)
{
    uint32_t own = rank_id(test->rank), portal = test->portal + 1;

    if (attach_to(test, portal, test->ids[own], BITS, IGNORED, LNET_INS_AFTER,
                  short_buffer(test, 0)) != 0 ||
        attach_to(test, portal, test->ids[test->left], BITS, IGNORED, LNET_INS_AFTER,
                  short_buffer(test, 1)) != 0)
        return -1;
    rank_barrier(test->rank);
    if (put_small(test, test->right, portal, BITS, 8) != 0 ||
        took(test, 8, test->left, test->memory + SMALL) != 0 ||
        put_small(test, own, portal, BITS, 9) != 0 || took(test, 9, own, test->memory) != 0)
        return -1;
    rank_barrier(test->rank);
    return 0;
}

/*
 * More messages at once than there are credits: they arrive in order, each behind the one before.
 * `late`: the descriptor comes when they wait for it.
 */
static int burst(struct test *test, uint64_t bits, bool late)
{
    struct lnet_md md = describe(test->memory, test->burst * SMALL, (int)test->burst,
                                 LNET_MD_OP_PUT, test->incoming);
    struct lnet_event event;
    uint32_t i;

    if (!late && attach(test, bits, md) != 0)
        return -1;
    rank_barrier(test->rank);
    for (i = 0; i < test->burst; i++) {
        uint8_t *data = test->data + (size_t)i * SMALL;

        fill(data, SMALL, rank_id(test->rank), i);
        if (put(test, describe(data, SMALL, 1, 0, test->outgoing), bits, i, false) != 0)
            return -1;
    }
    if (late) {
        rank_compute(UINT64_C(10000000000)); /* 10 ms: all that has credits is there */
        if (attach(test, bits, md) != 0)
            return -1;
    }
    for (i = 0; i < test->burst; i++) {
        if (next_event(test, test->incoming, LNET_EVENT_PUT, &event) != 0 ||
            expect(test, "order: header data", event.hdr_data, HEADER | i) != 0 ||
            expect(test, "offset", event.offset, (uint64_t)i * SMALL) != 0 ||
            expect(test, "unlinked", event.unlinked, i + 1 == test->burst) != 0 ||
            expect_content(test, "a message of a burst", test->memory + (size_t)i * SMALL, SMALL,
                           test->left, i) != 0)
            return -1;
    }
    for (i = 0; i < test->burst; i++)
        if (next_event(test, test->outgoing, LNET_EVENT_SEND, &event) != 0)
            return -1;
    rank_barrier(test->rank);
    return 0;
}

/* The acknowledgement says how much was taken, not how much was sent. */
static int truncation(struct test *test)
{
    struct lnet_event event;

    memset(test->memory, 0, 2 * SMALL);
    if (attach(test, BITS + 3,
               describe(test->memory, SMALL / 3, 1, LNET_MD_OP_PUT | LNET_MD_TRUNCATE,
                        test->incoming)) != 0)
        return -1;
    rank_barrier(test->rank);
    fill(test->data, SMALL, rank_id(test->rank), 3);
    if (put(test, describe(test->data, SMALL, 2, 0, test->outgoing), BITS + 3, 3, true) != 0 ||
        next_event(test, test->outgoing, LNET_EVENT_SEND, &event) != 0 ||
        next_event(test, test->outgoing, LNET_EVENT_ACK, &event) != 0 ||
        expect(test, "acknowledged length of a message that was cut", event.mlength, SMALL / 3) !=
            0 ||
        next_event(test, test->incoming, LNET_EVENT_PUT, &event) != 0 ||
        expect(test, "length that was taken", event.mlength, SMALL / 3) != 0 ||
        expect(test, "length that was requested", event.rlength, SMALL) != 0 ||
        expect_content(test, "a message that was cut", test->memory, SMALL / 3, test->left, 3) != 0)
        return -1;
    rank_barrier(test->rank);
    return expect(test, "the byte behind a message that was cut", test->memory[SMALL / 3], 0);
}

/* The newest events stay, each is handed out once; the first one says that others are lost. */
static int overflow(struct test *test)
{
    struct lnet_handle_eq small;
    struct lnet_event event;
    uint64_t i;
    int rc = LNetEQAlloc(4, LNET_EQ_HANDLER_NONE, &small);

    if (rc != 0)
        return rank_fail(test->rank, "LNetEQAlloc: %d", rc);
    if (attach(test, BITS + 4, describe(test->memory, 7 * SMALL, 7, LNET_MD_OP_PUT, small)) != 0)
        return -1;
    rank_barrier(test->rank);
    for (i = 0; i < 7; i++)
        if (put_small(test, test->right, test->portal, BITS + 4, i) != 0)
            return -1;
    rank_barrier(test->rank);
    for (i = 4; i < 7; i++) { /* LNet goes on where it overwrote what was next */
        rc = LNetEQGet(small, &event);
        if (expect(test, "code of an event queue that overflowed", (uint64_t)(int64_t)rc,
                   (uint64_t)(int64_t)(i == 4 ? -EOVERFLOW : 1)) != 0 ||
            expect(test, "event that was kept", event.hdr_data, HEADER | i) != 0)
            return -1;
    }
    if (expect(test, "events behind the last one", (uint64_t)(int64_t)LNetEQGet(small, &event), 0))
        return -1;
    rc = LNetEQFree(small);
    return rc == 0 ? 0 : rank_fail(test->rank, "LNetEQFree: %d", rc);
}

/* Cuts memory into pieces of odd lengths, with gaps of an odd number of bytes. */
static void cut(struct kvec *pieces, uint8_t *memory, uint32_t bytes)
{
    uint32_t i, part = (bytes / PIECES) | 1;

    for (i = 0; i < PIECES; i++) {
        pieces[i].iov_base = memory;
        pieces[i].iov_len = i + 1 < PIECES ? part : bytes - i * part;
        memory += pieces[i].iov_len + 13;
    }
}

static int expect_pieces(struct test *test, const char *what, const struct kvec *pieces,
                         const uint8_t *whole)
{
    uint32_t i;

    for (i = 0; i < PIECES; whole += pieces[i++].iov_len)
        if (memcmp(pieces[i].iov_base, whole, pieces[i].iov_len) != 0)
            return rank_fail(test->rank, "%s: fragment %u is wrong", what, i);
    return 0;
}

/* The events of a GET at its initiator. */
static int got(struct test *test, uint32_t bytes)
{
    struct lnet_event event;
    int i, rc;

    for (i = 0; i < 2; i++) { /* the order of the two is not promised */
        rc = LNetEQWait(test->outgoing, &event);
        if (rc != 1 || event.status != 0 ||
            (event.type != LNET_EVENT_SEND && event.type != LNET_EVENT_REPLY))
            return rank_fail(test->rank, "a GET: event %d with status %d", (int)event.type,
                             event.status);
        if (event.type == LNET_EVENT_REPLY &&
            expect(test, "length of a reply", event.mlength, bytes) != 0)
            return -1;
        if (expect(test, "unlinked event of a GET", event.unlinked, i == 1) != 0)
            return -1;
    }
    return 0;
}

/* A long message from fragments to other fragments, by PUT; then the same memory by GET, from an
 * offset on. */
static int fragments(struct test *test, uint64_t bits, uint32_t bytes)
{
    struct kvec to[PIECES], from[PIECES];
    struct lnet_md md;
    struct lnet_handle_md handle;
    struct lnet_event event;
    uint8_t *whole = malloc(bytes), *at;
    uint32_t i, skip = bytes / 3 | 1;
    int rc;

    if (whole == NULL)
        return rank_fail(test->rank, "no memory");
    cut(to, test->memory + 1, bytes);
    cut(from, test->data + 3, bytes);
    memset(test->memory, 0, bytes + PIECES * 13 + 1);
    fill(whole, bytes, rank_id(test->rank), bits);
    for (i = 0, at = whole; i < PIECES; at += from[i++].iov_len)
        memcpy(from[i].iov_base, at, from[i].iov_len);
    fill(whole, bytes, test->left, bits);
    if (attach(test, bits,
               describe(to, PIECES, 1, LNET_MD_OP_PUT | LNET_MD_IOVEC, test->incoming)) != 0 ||
        attach(test, bits + 1,
               describe(from, PIECES, 1, LNET_MD_OP_GET | LNET_MD_IOVEC | LNET_MD_MANAGE_REMOTE,
                        test->incoming)) != 0)
        return -1;
    rank_barrier(test->rank);
    if (put(test, describe(from, PIECES, 2, LNET_MD_IOVEC, test->outgoing), bits, 5, true) != 0 ||
        next_event(test, test->incoming, LNET_EVENT_PUT, &event) != 0 ||
        expect_pieces(test, "a PUT between fragments", to, whole) != 0 ||
        next_event(test, test->outgoing, LNET_EVENT_SEND, &event) != 0 ||
        next_event(test, test->outgoing, LNET_EVENT_ACK, &event) != 0)
        return -1;
    rank_barrier(test->rank);

    at = test->memory + 7;
    memset(test->memory, 0, bytes + 8);
    md = describe(at, bytes - skip, 2, 0, test->outgoing);
    rc = LNetMDBind(md, LNET_UNLINK, &handle);
    if (rc == 0)
        rc = LNetGet(LNET_NID_ANY, handle, test->ids[test->right], test->portal, bits + 1, skip,
                     false);
    if (rc != 0)
        return rank_fail(test->rank, "LNetGet: %d", rc);
    if (got(test, bytes - skip) != 0)
        return -1;
    fill(whole, bytes, test->right, bits);
    if (memcmp(at, whole + skip, bytes - skip) != 0)
        return rank_fail(test->rank, "a GET from an offset read other bytes");
    if (next_event(test, test->incoming, LNET_EVENT_GET, &event) != 0 ||
        expect(test, "offset of a GET", event.offset, skip) != 0)
        return -1;
    free(whole);
    rank_barrier(test->rank);
    return 0;
}

/* ---- shapes of memory ------------------------------------------------------------------------ */

/* One message between two shapes; `skip` bytes of the target's are left out. */
static int between(struct test *test, bool read, struct shape *local, struct shape *remote,
                   uint32_t bytes, uint32_t skip, uint64_t key)
{
    unsigned options = LNET_MD_MANAGE_REMOTE | (read ? LNET_MD_OP_GET : LNET_MD_OP_PUT);
    struct shape *from = read ? remote : local, *to = read ? local : remote;
    uint8_t *content = malloc(bytes + skip + 1);
    struct lnet_handle_md handle;
    struct lnet_event event;
    int rc;

    if (content == NULL)
        return rank_fail(test->rank, "no memory");
    fill(content, bytes + skip, rank_id(test->rank), key);
    wl_shape_fill(from, from->arena, 0, content);
    wl_shape_fill(from, from->image, 0, content);
    fill(content, bytes + skip, read ? test->right : test->left, key);
    wl_shape_fill(to, to->image, read ? 0 : skip, content + (read ? skip : 0));
    free(content);
    rc = attach(test, BITS + 30, wl_shape_md(remote, 1, options, test->incoming));
    rank_barrier(test->rank);
    if (rc == 0)
        rc = LNetMDBind(wl_shape_md(local, 2, 0, test->outgoing), LNET_UNLINK, &handle);
    if (rc == 0 && read)
        rc = LNetGet(LNET_NID_ANY, handle, test->ids[test->right], test->portal, BITS + 30, skip,
                     false);
    else if (rc == 0)
        rc = LNetPut(LNET_NID_ANY, handle, LNET_ACK_REQ, test->ids[test->right], test->portal,
                     BITS + 30, skip, 0);
    if (rc != 0)
        return rank_fail(test->rank, "a message between shapes: %d", rc);
    if ((read && got(test, bytes) != 0) ||
        next_event(test, test->incoming, read ? LNET_EVENT_GET : LNET_EVENT_PUT, &event) != 0 ||
        expect(test, "length between shapes", event.mlength, bytes) != 0 ||
        expect(test, "offset between shapes", event.offset, skip) != 0 ||
        (!read && (next_event(test, test->outgoing, LNET_EVENT_SEND, &event) != 0 ||
                   next_event(test, test->outgoing, LNET_EVENT_ACK, &event) != 0)))
        return -1;
    rank_barrier(test->rank);
    if (!wl_shape_is_as_its_image(local) || !wl_shape_is_as_its_image(remote))
        return rank_fail(test->rank,
                         "a %s of %u bytes from an offset of %u, kinds %d and %d: wrong bytes",
                         read ? "GET" : "PUT", bytes, skip, (int)local->kind, (int)remote->kind);
    return 0;
}

/* PUT and GET between memory of each kind, at lengths and addresses around those of pages. */
static int shapes(struct test *test)
{
    static const uint32_t lengths[] = {
        0, 1, SHAPE_PAGE - 1, SHAPE_PAGE, SHAPE_PAGE + 1, 3 * SHAPE_PAGE + 5, LNET_MTU};
    static const uint32_t offsets[] = {0, 1, SHAPE_PAGE / 2 + 3, SHAPE_PAGE - 1};
    struct shape *shape = calloc(2, sizeof(*shape)), *local = shape, *remote = shape + 1;
    uint32_t i, pair, skip, n = 0;
    int rc = shape != NULL && wl_shape_alloc(local) && wl_shape_alloc(remote)
                 ? 0
                 : rank_fail(test->rank, "no memory");

    for (i = 0; rc == 0 && i < sizeof(lengths) / sizeof(lengths[0]); i++)
        for (pair = 0; rc == 0 && pair < 2 * KINDS * KINDS; pair++, n++) {
            bool whole = lengths[i] == LNET_MTU; /* as many pages as a descriptor may have */

            skip = whole || n % 3 != 0 ? 0 : SHAPE_PAGE + 905;
            wl_shape_make(local, pair / 2 % KINDS, lengths[i], whole ? 0 : offsets[n % 4]);
            wl_shape_make(remote, pair / 2 / KINDS, lengths[i] + skip,
                          whole ? 0 : offsets[n / 4 % 4]);
            rc = between(test, pair % 2 == 1, local, remote, lengths[i], skip, BITS + 40 + n);
        }
    for (i = 0; shape != NULL && i < 2; i++)
        wl_shape_free(&shape[i]);
    free(shape);
    return rc;
}

/* ---- the rank -------------------------------------------------------------------------------- */

static int start(struct test *test)
{
    size_t room = (size_t)test->bytes + 4096 + (size_t)test->burst * SMALL;
    struct lnet_process_id own;
    int rc = LNetGetId(1, &own); /* 0 is 0@lo */

    if (rc == 0)
        rc = LNetEQAlloc(EVENTS, LNET_EQ_HANDLER_NONE, &test->incoming);
    if (rc == 0)
        rc = LNetEQAlloc(EVENTS, LNET_EQ_HANDLER_NONE, &test->outgoing);
    if (rc == 0)
        rc = LNetSetLazyPortal((int)test->portal);
    if (rc != 0)
        return rank_fail(test->rank, "starting: %d", rc);
    test->ids = calloc(rank_size(test->rank), sizeof(*test->ids));
    test->memory = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
    test->data = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
    if (test->ids == NULL || test->memory == NULL || test->data == NULL)
        return rank_fail(test->rank, "no memory");
    rank_allgather(test->rank, &own, test->ids, sizeof(own));
    return 0;
}

static int end(struct test *test)
{
    int rc = LNetEQFree(test->incoming);

    if (rc == 0)
        rc = LNetEQFree(test->outgoing);
    free(test->ids);
    free(test->memory);
    free(test->data);
    return rc == 0 ? 0 : rank_fail(test->rank, "LNetEQFree: %d", rc);
}

static int phases(struct test *test)
{
    if (start(test) != 0 || matching(test) != 0 || sources(test) != 0 ||
        burst(test, BITS + 2, false) != 0 || burst(test, BITS + 5, true) != 0 ||
        truncation(test) != 0 || overflow(test) != 0 || fragments(test, BITS + 16, 333) != 0 ||
        fragments(test, BITS + 18, test->bytes) != 0 ||
        fragments(test, BITS + 20, test->bytes / 2 | 1) != 0 || shapes(test) != 0)
        return -1;
    rank_count(test->rank, "phases", 10);
    return end(test);
}

static int lnet_edges_main(struct rank *rank)
{
    struct test test = {
        .rank = rank,
        .bytes = (uint32_t)rank_arg_count(rank, "bytes"),
        .burst = (uint32_t)rank_arg_count(rank, "burst"),
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

static const struct workload lnet_edges = {
    .name = "lnet_edges",
    .meaning = "what LNet promises of matching, order, offsets, lengths, events and fragments",
    .metrics = "phases (count)",
    .args = args,
    .ranks_min = 2,
    .main = lnet_edges_main,
};
WORKLOAD(lnet_edges)
