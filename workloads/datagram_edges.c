/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams between all pairs of ranks: of every length up to the longest, with and without an id,
 * to a wildcard, into a buffer that is too short, again and again over the same endpoint. Each must
 * arrive whole, once, from the right rank, and with the right answer of each call.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"rounds", ARG_COUNT, "3", "1", "1000000", NULL, "of all tests"},
    {NULL},
};

#define BYTES ((uint16_t)GNI_DATAGRAM_MAXSIZE)
#define TIMEOUT 8000u /* ms; a lost datagram is sent again much earlier */

struct exchange { /* with one other rank */
    gni_ep_handle_t ep;
    uint8_t out[GNI_DATAGRAM_MAXSIZE], in[GNI_DATAGRAM_MAXSIZE];
    uint16_t length;
};

struct test {
    struct wl_domain domain;
    struct exchange *exchanges; /* by rank */
    uint64_t round;
};

static uint16_t length_of(const struct test *test, uint32_t from, uint32_t to)
{
    static const uint16_t edges[] = {1, 2, 63, 64, 65, BYTES - 1, BYTES, 8};

    return edges[(test->round * 3 + from * 5 + to) % (sizeof(edges) / sizeof(edges[0]))];
}

static uint64_t seed_of(const struct test *test, uint32_t from, uint32_t to)
{
    return test->round << 40 ^ (uint64_t)from << 20 ^ to;
}

static int post(struct test *test, uint32_t peer, uint16_t room, uint64_t id)
{
    struct exchange *exchange = &test->exchanges[peer];
    gni_return_t rc;

    assert(test->exchanges != NULL);
    exchange->length = length_of(test, test->domain.id, peer);
    wl_pattern_fill(exchange->out, exchange->length, seed_of(test, test->domain.id, peer));
    memset(exchange->in, 0, sizeof(exchange->in));
    exchange->ep = wl_domain_ep(&test->domain, peer);
    if (exchange->ep == NULL)
        return -1;
    rc = id == 0 ? GNI_EpPostData(exchange->ep, exchange->out, exchange->length, exchange->in, room)
                 : GNI_EpPostDataWId(exchange->ep, exchange->out, exchange->length, exchange->in,
                                     room, id);
    return rc == GNI_RC_SUCCESS
               ? 0
               : rank_fail(test->domain.rank, "cannot post a datagram to rank %u: %s", peer,
                           wl_rc_name(rc));
}

/* It has ended: from whom, and with which bytes? */
static int check(struct test *test, uint32_t peer, gni_post_state_t state, uint32_t address,
                 uint32_t inst_id, const uint8_t *in)
{
    uint16_t length = length_of(test, peer, test->domain.id);

    if (state != GNI_POST_COMPLETED || inst_id != peer || address != test->domain.addresses[peer])
        return rank_fail(test->domain.rank,
                         "a datagram of rank %u ended in state %d, from instance %u of %u", peer,
                         (int)state, inst_id, address);
    if (wl_pattern_differs(in, length, seed_of(test, peer, test->domain.id)))
        return rank_fail(test->domain.rank, "the datagram of %u bytes of rank %u is wrong", length,
                         peer);
    rank_progress(test->domain.rank);
    return 0;
}

static int wait(struct test *test, uint32_t peer)
{
    struct exchange *exchange = &test->exchanges[peer];
    uint32_t address = 0, inst_id = 0;
    gni_post_state_t state = GNI_POST_PENDING;
    gni_return_t rc = GNI_EpPostDataWait(exchange->ep, TIMEOUT, &state, &address, &inst_id);

    if (rc != GNI_RC_SUCCESS)
        return rank_fail(test->domain.rank, "the datagram of rank %u: %s", peer, wl_rc_name(rc));
    return check(test, peer, state, address, inst_id, exchange->in);
}

/* With all others at once, first with the farthest. */
static int run_all_pairs(struct test *test)
{
    uint32_t size = test->domain.size, i;
    int status = 0;

    for (i = 1; i < size && status == 0; i++)
        status = post(test, (test->domain.id + size - i) % size, BYTES, 0);
    for (i = 1; i < size && status == 0; i++)
        status = wait(test, (test->domain.id + i) % size);
    return status;
}

/* The same with ids, which a probe returns. */
static int run_ids(struct test *test)
{
    uint32_t size = test->domain.size, i, peer, address, inst_id;
    gni_post_state_t state;
    gni_return_t rc;
    uint64_t id;
    int status = 0;

    for (i = 1; i < size && status == 0; i++) {
        peer = (test->domain.id + i) % size;
        status = post(test, peer, BYTES, 1000 + peer);
    }
    for (i = 1; i < size && status == 0; i++) {
        rc = GNI_PostdataProbeWaitById(test->domain.nic, TIMEOUT, &id);
        peer = (uint32_t)id - 1000;
        if (rc != GNI_RC_SUCCESS || peer >= size || peer == test->domain.id)
            return rank_fail(test->domain.rank, "a probe for ids: %s, id %llu", wl_rc_name(rc),
                             (unsigned long long)id);
        state = GNI_POST_PENDING;
        rc = GNI_EpPostDataTestById(test->exchanges[peer].ep, id, &state, &address, &inst_id);
        if (rc != GNI_RC_SUCCESS)
            return rank_fail(test->domain.rank, "a test for id %llu: %s", (unsigned long long)id,
                             wl_rc_name(rc));
        status = check(test, peer, state, address, inst_id, test->exchanges[peer].in);
    }
    return status;
}

/* The buffer has a byte less than the datagram, which is gone then. */
static int run_short_buffers(struct test *test)
{
    uint32_t size = test->domain.size, peer = size - 1 - test->domain.id, address, inst_id;
    uint16_t room = (uint16_t)(length_of(test, peer, test->domain.id) - 1);
    gni_post_state_t state = GNI_POST_PENDING;
    gni_return_t rc;
    int status = peer != test->domain.id ? post(test, peer, room, 0) : 0;

    if (status != 0 || peer == test->domain.id)
        return status;
    rc = GNI_EpPostDataWait(test->exchanges[peer].ep, TIMEOUT, &state, &address, &inst_id);
    if (rc != (room != 0 ? GNI_RC_SIZE_ERROR : rc))
        return rank_fail(test->domain.rank, "a datagram of %u bytes into %u bytes: %s", room + 1u,
                         room, wl_rc_name(rc));
    return 0;
}

/* Rank 0 waits for anybody, as often as there are others. */
static int run_wildcard(struct test *test)
{
    uint8_t out[8] = {0}, in[GNI_DATAGRAM_MAXSIZE];
    uint32_t size = test->domain.size, i, address, inst_id;
    gni_ep_handle_t ep = NULL;
    gni_post_state_t state;
    gni_return_t rc;
    uint64_t id;
    int status = 0;

    if (test->domain.id != 0) {
        struct exchange *exchange = &test->exchanges[0];

        status = post(test, 0, BYTES, 0);
        if (status == 0)
            rc = GNI_EpPostDataWait(exchange->ep, TIMEOUT, &state, &address, &inst_id);
        if (status == 0 && (rc != GNI_RC_SUCCESS || state != GNI_POST_COMPLETED || inst_id != 0 ||
                            exchange->in[0] != 0x42))
            status = rank_fail(test->domain.rank, "a datagram to a wildcard: %s, state %d",
                               wl_rc_name(rc), (int)state);
        return status;
    }
    out[0] = 0x42;
    rc = GNI_EpCreate(test->domain.nic, NULL, &ep);
    for (i = 1; i < size && status == 0; i++) {
        if (rc == GNI_RC_SUCCESS)
            rc = GNI_EpPostDataWId(ep, out, sizeof(out), in, sizeof(in), 77);
        if (rc == GNI_RC_SUCCESS)
            rc = GNI_PostdataProbeWaitById(test->domain.nic, TIMEOUT, &id);
        if (rc == GNI_RC_SUCCESS)
            rc = GNI_EpPostDataTestById(ep, 77, &state, &address, &inst_id);
        if (rc != GNI_RC_SUCCESS || id != 77 || inst_id >= size || inst_id == 0)
            return rank_fail(test->domain.rank, "a wildcard: %s", wl_rc_name(rc));
        status = check(test, inst_id, state, address, inst_id, in);
    }
    GNI_EpDestroy(ep);
    return status;
}

/* The left neighbour's datagram is here, but this rank has posted none to it: nothing to cancel. */
static int run_not_posted(struct test *test)
{
    uint32_t size = test->domain.size, right = (test->domain.id + 1) % size;
    uint32_t left = (test->domain.id + size - 1) % size;
    gni_return_t rc;
    int status;

    if (left == right)
        return 0;
    status = post(test, right, BYTES, 0);
    rank_barrier(test->domain.rank);
    rank_compute(10000000000); /* it has arrived */
    rc = GNI_EpPostDataCancel(wl_domain_ep(&test->domain, left));
    if (status == 0 && rc != GNI_RC_NO_MATCH)
        return rank_fail(test->domain.rank,
                         "cancelling a datagram that only the peer has posted: %s", wl_rc_name(rc));
    if (status == 0)
        status = post(test, left, BYTES, 0);
    if (status == 0)
        status = wait(test, left);
    return status == 0 ? wait(test, right) : status;
}

static int run_refusals(struct test *test)
{
    uint32_t peer = (test->domain.id + 1) % test->domain.size;
    gni_ep_handle_t ep = wl_domain_ep(&test->domain, peer);
    struct exchange *exchange = &test->exchanges[peer];
    gni_return_t longer = GNI_EpPostData(ep, exchange->out, BYTES + 1, exchange->in, BYTES), first,
                 second;
    gni_post_state_t state = GNI_POST_PENDING;
    uint32_t address, inst_id;

    first = GNI_EpPostData(ep, exchange->out, 8, exchange->in, BYTES);
    second = GNI_EpPostData(ep, exchange->out, 8, exchange->in, BYTES);
    if (longer != GNI_RC_SIZE_ERROR || first != GNI_RC_SUCCESS || second != GNI_RC_ERROR_RESOURCE)
        return rank_fail(test->domain.rank,
                         "a datagram that is too long, one, and a second one: %s, %s, %s",
                         wl_rc_name(longer), wl_rc_name(first), wl_rc_name(second));
    if (GNI_EpPostDataCancel(ep) != GNI_RC_SUCCESS ||
        GNI_EpPostDataTest(ep, &state, &address, &inst_id) != GNI_RC_SUCCESS ||
        state != GNI_POST_TERMINATED)
        return rank_fail(test->domain.rank, "a datagram that was cancelled is in state %d",
                         (int)state);
    return 0;
}

static int run(struct rank *rank)
{
    static int (*const tests[])(struct test *) = {run_all_pairs, run_ids,        run_short_buffers,
                                                  run_wildcard,  run_not_posted, run_refusals};
    uint64_t rounds = rank_arg_count(rank, "rounds");
    struct test test = {.round = 0};
    int status = wl_domain_open(&test.domain, rank, 64, 0);
    size_t i;

    test.exchanges = calloc(rank_size(rank), sizeof(*test.exchanges));
    if (test.exchanges == NULL)
        status = rank_fail(rank, "no memory");
    for (; test.round < rounds && status == 0; test.round++)
        for (i = 0; i < sizeof(tests) / sizeof(tests[0]) && status == 0; i++) {
            status = tests[i](&test);
            rank_barrier(rank);
            rank_compute(10000000000); /* what was cancelled is known everywhere */
        }
    rank_barrier(rank);
    wl_domain_close(&test.domain);
    free(test.exchanges);
    return status != 0;
}

static const struct workload datagram_edges = {
    .name = "datagram_edges",
    .meaning =
        "datagrams of all lengths between all pairs of ranks, with ids and wildcards, verified",
    .metrics = "none",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(datagram_edges)
