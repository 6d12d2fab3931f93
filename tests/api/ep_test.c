/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints: checklist items 19 to 28. */
#include <malloc.h>
#include "fixture.h"

#include <stdlib.h>

#define WORDS 512

/* Every rank registers this much and publishes it. */
static uint64_t memory[MACHINE_RANKS][WORDS];

struct cells {
    struct domain domain;
    gni_mem_handle_t handle;
    uint64_t *memory;
};

static void open_side(struct rank *rank, struct cells *side)
{
    side->memory = memory[rank->id];
    domain_open(rank, &side->domain, 0);
    side->handle =
        domain_register(&side->domain, side->memory, sizeof memory[0], side->domain.target, 0);
    publish(rank, side->handle, side->memory);
}

/* A PUT of the first word of our memory to the second of the peer's. */
static gni_post_descriptor_t put_to(const struct rank *rank, const struct cells *side,
                                    uint32_t peer, gni_post_type_t type)
{
    return describe_put(type, side->memory, side->handle, published_address(rank, peer) + 8,
                        published_handle(rank, peer), 8);
}

/* ---- item 19 --------------------------------------------------------------------------------- */

static void no_queue_main(struct rank *rank)
{
    struct cells side;
    gni_post_descriptor_t descr;
    gni_ep_handle_t ep;

    open_side(rank, &side);
    assert_ok(GNI_EpCreate(side.domain.nic, NULL, &ep));
    assert_rc(GNI_EpCreate(side.domain.nic, NULL, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpCreate(NULL, NULL, &ep), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_EpBind(ep, side.domain.address, rank->id));
    descr = put_to(rank, &side, rank->id, GNI_POST_FMA_PUT);
    assert_rc(post(ep, &descr), GNI_RC_INVALID_PARAM);
    descr.cq_mode = GNI_CQMODE_REMOTE_EVENT;
    assert_rc(post(ep, &descr), GNI_RC_INVALID_PARAM);
    descr = put_to(rank, &side, rank->id, GNI_POST_RDMA_PUT);
    assert_rc(post(ep, &descr), GNI_RC_INVALID_PARAM);
    descr.cq_mode = GNI_CQMODE_SILENT;
    assert_ok(post(ep, &descr));
}

static void ugni_19_endpoint_without_queue(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = no_queue_main});
}

/* ---- item 20 --------------------------------------------------------------------------------- */

static void bind_main(struct rank *rank)
{
    struct cells side;
    gni_post_descriptor_t descr;
    gni_ep_handle_t ep;

    open_side(rank, &side);
    assert_ok(GNI_EpCreate(side.domain.nic, side.domain.source, &ep));
    assert_ok(GNI_EpUnbind(ep));
    assert_rc(GNI_EpBind(ep, 1u << 18, 1), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_EpBind(ep, 0xffffffff, 0xffffffff)); /* stays unbound */
    assert_ok(GNI_EpBind(ep, side.domain.address, 77));
    assert_rc(GNI_EpBind(ep, side.domain.address + 1, 78), GNI_RC_INVALID_PARAM);
    descr = put_to(rank, &side, rank->id, GNI_POST_FMA_PUT);
    assert_ok(post(ep, &descr));
    assert_int_equal(GNI_CQ_GET_INST_ID(complete(side.domain.source, &descr)), 77);
    assert_ok(GNI_EpUnbind(ep));
    assert_ok(GNI_EpUnbind(ep));
    assert_ok(GNI_EpDestroy(ep));
    assert_rc(GNI_EpDestroy(ep), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpBind(ep, side.domain.address, 1), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpUnbind(NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpIdle(NULL), GNI_RC_INVALID_PARAM);
}

static void ugni_20_bind_and_unbind(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = bind_main});
}

/* ---- items 21, 22, 23 ------------------------------------------------------------------------ */

/* Posts with a remote event and checks the data of both events. */
static void put_expecting(const struct rank *rank, const struct cells *side, gni_ep_handle_t ep,
                          uint32_t local, uint32_t remote)
{
    gni_post_descriptor_t descr = put_to(rank, side, rank->id, GNI_POST_FMA_PUT);

    descr.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
    assert_ok(post(ep, &descr));
    assert_int_equal(GNI_CQ_GET_INST_ID(complete(side->domain.source, &descr)), local & 0xffffff);
    assert_int_equal(GNI_CQ_GET_REM_INST_ID(good_event(side->domain.target)), remote);
}

static void event_data_main(struct rank *rank)
{
    const uint32_t own = 0x80000009;
    struct cells side = {.memory = memory[rank->id]};
    gni_ep_handle_t ep;

    domain_open_as(&side.domain, own, MACHINE_PTAG, MACHINE_COOKIE, 0);
    side.handle =
        domain_register(&side.domain, side.memory, sizeof memory[0], side.domain.target, 0);
    publish(rank, side.handle, side.memory);
    assert_ok(GNI_EpCreate(side.domain.nic, side.domain.source, &ep));
    assert_ok(GNI_EpSetEventData(ep, 1, 2));
    assert_ok(GNI_EpBind(ep, side.domain.address, 0xabcd1234));
    put_expecting(rank, &side, ep, 0xabcd1234, own);
    assert_ok(GNI_EpSetEventData(ep, 0x12345678, 0x87654321));
    put_expecting(rank, &side, ep, 0x12345678, 0x87654321);
    assert_ok(GNI_EpUnbind(ep));
    assert_ok(GNI_EpBind(ep, side.domain.address, 5));
    put_expecting(rank, &side, ep, 5, own);
    assert_rc(GNI_EpSetEventData(NULL, 1, 2), GNI_RC_INVALID_PARAM);
}

static void ugni_21_bind_sets_event_data(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = event_data_main});
}

static void captured_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT};
    struct cells side;
    gni_post_descriptor_t descr;
    gni_ep_handle_t ep;
    unsigned i;

    open_side(rank, &side);
    ep = domain_connect(rank, &side.domain, rank->id);
    for (i = 0; i < 2; i++) {
        assert_ok(GNI_EpSetEventData(ep, 10, 20));
        descr = put_to(rank, &side, rank->id, types[i]);
        descr.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
        assert_ok(post(ep, &descr));
        assert_ok(GNI_EpSetEventData(ep, 11, 21));
        assert_int_equal(GNI_CQ_GET_INST_ID(complete(side.domain.source, &descr)), 10);
        assert_int_equal(GNI_CQ_GET_REM_INST_ID(good_event(side.domain.target)), 20);
    }
}

static void ugni_22_event_data_is_captured_by_the_post(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = captured_main});
}

static void arbitrary_id_main(struct rank *rank)
{
    struct cells side;
    gni_post_descriptor_t descr;
    gni_ep_handle_t ep;

    open_side(rank, &side);
    side.memory[0] = 4711;
    if (rank->id == 0) {
        assert_ok(GNI_EpCreate(side.domain.nic, side.domain.source, &ep));
        assert_ok(
            GNI_EpBind(ep, machine_address(rank->machine, rank->machine->rank[1].node), 999999));
        descr = put_to(rank, &side, 1, GNI_POST_FMA_PUT);
        assert_ok(post(ep, &descr));
        complete(side.domain.source, &descr);
    }
    machine_barrier(rank);
    if (rank->id == 1)
        assert_int_equal(side.memory[1], 4711);
}

static void ugni_23_remote_id_does_not_matter_for_data(void **state)
{
    machine_run(&(struct machine){.main = arbitrary_id_main});
}

/* ---- items 24, 25 ---------------------------------------------------------------------------- */

static void unbind_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_RDMA_GET};
    struct cells side;
    gni_post_descriptor_t descr, *collected;
    gni_ep_handle_t ep;
    gni_cq_entry_t event;
    unsigned i;

    open_side(rank, &side);
    ep = domain_connect(rank, &side.domain, 1 - rank->id);
    for (i = 0; i < 3; i++) {
        descr = put_to(rank, &side, 1 - rank->id, types[i]);
        assert_ok(GNI_EpIdle(ep));
        assert_ok(post(ep, &descr));
        assert_rc(GNI_EpUnbind(ep), GNI_RC_NOT_DONE);
        assert_rc(GNI_EpIdle(ep), GNI_RC_NOT_DONE);
        event = good_event(side.domain.source);
        assert_rc(GNI_EpUnbind(ep), GNI_RC_NOT_DONE); /* not collected */
        assert_ok(GNI_GetCompleted(side.domain.source, event, &collected));
        assert_ok(GNI_EpIdle(ep));
        assert_ok(GNI_EpUnbind(ep));
        assert_ok(GNI_EpBind(ep, side.domain.address, 1));
        assert_ok(GNI_EpUnbind(ep));
        assert_ok(GNI_EpBind(ep, machine_address(rank->machine, 1 - rank->node), 1 - rank->id));
    }
    descr = put_to(rank, &side, 1 - rank->id, GNI_POST_FMA_PUT);
    descr.cq_mode = GNI_CQMODE_SILENT;
    assert_ok(post(ep, &descr));
    assert_ok(GNI_EpUnbind(ep)); /* a silent post does not count */
    machine_barrier(rank);
}

static void ugni_24_unbind_waits_for_collection(void **state)
{
    machine_run(&(struct machine){.main = unbind_main});
}

static void datagram_main(struct rank *rank)
{
    struct cells side;
    gni_ep_handle_t ep, wildcard;

    open_side(rank, &side);
    ep = domain_connect(rank, &side.domain, rank->id);
    assert_ok(GNI_EpPostDataWId(ep, NULL, 0, NULL, 0, 1));
    assert_rc(GNI_EpIdle(ep), GNI_RC_NOT_DONE);
    assert_rc(GNI_EpUnbind(ep), GNI_RC_NOT_DONE);
    assert_ok(GNI_EpDestroy(ep));
    assert_ok(GNI_EpCreate(side.domain.nic, NULL, &wildcard));
    assert_ok(GNI_EpPostDataWId(wildcard, NULL, 0, NULL, 0, 2));
    assert_ok(GNI_EpDestroy(wildcard));
    ep = domain_connect(rank, &side.domain, rank->id);
    assert_ok(GNI_EpUnbind(ep));
}

static void ugni_25_unbind_waits_for_datagrams(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = datagram_main});
}

/*
 * A transaction that is in flight when its endpoint is destroyed still ends, and its event can be
 * collected.
 */
static void destroyed_main(struct rank *rank)
{
    struct cells side;
    gni_post_descriptor_t descr, *collected;
    gni_ep_handle_t ep;

    open_side(rank, &side);
    ep = domain_connect(rank, &side.domain, rank->id);
    side.memory[0] = 99;
    descr = put_to(rank, &side, rank->id, GNI_POST_RDMA_PUT);
    assert_ok(post(ep, &descr));
    assert_ok(GNI_EpDestroy(ep));
    assert_ok(GNI_GetCompleted(side.domain.source, good_event(side.domain.source), &collected));
    assert_ptr_equal(collected, &descr);
    assert_int_equal(side.memory[1], 99);
}

static void ugni_24_events_outlive_their_endpoint(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = destroyed_main});
}

/* ---- item 26 --------------------------------------------------------------------------------- */

static void cycles_main(struct rank *rank)
{
    struct cells side;
    gni_post_descriptor_t descr;
    gni_ep_handle_t ep;
    uint32_t i, peer;
    size_t before = 0;

    open_side(rank, &side);
    assert_ok(GNI_EpCreate(side.domain.nic, side.domain.source, &ep));
    for (i = 0; rank->id == 0 && i < 10000; i++) {
        peer = i % rank->machine->ranks;
        assert_ok(GNI_EpBind(ep, machine_address(rank->machine, peer), peer));
        descr = put_to(rank, &side, peer, GNI_POST_FMA_PUT);
        assert_ok(post(ep, &descr));
        assert_int_equal(GNI_CQ_GET_INST_ID(complete(side.domain.source, &descr)), peer);
        assert_ok(GNI_EpUnbind(ep));
        if (i == 1000) /* by now the free lists have all their objects */
            before = mallinfo2().uordblks;
    }
    assert_true(rank->id != 0 || mallinfo2().uordblks < before + 4096);
    machine_barrier(rank);
}

static void ugni_26_ten_thousand_cycles(void **state)
{
    machine_run(&(struct machine){.ranks = 5, .main = cycles_main});
}

/* ---- item 27 --------------------------------------------------------------------------------- */

#define ENDPOINTS 5000

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void unique_main(struct rank *rank)
{
    static gni_ep_handle_t eps[MACHINE_RANKS][ENDPOINTS];
    static uint32_t low[ENDPOINTS];
    struct domain domain;
    uint32_t i;

    domain_open(rank, &domain, 0);
    for (i = 0; i < ENDPOINTS; i++) {
        assert_ok(GNI_EpCreate(domain.nic, NULL, &eps[rank->id][i]));
        if (i % 7 == 3) { /* holes that are filled again */
            assert_ok(GNI_EpDestroy(eps[rank->id][i / 2]));
            assert_ok(GNI_EpCreate(domain.nic, NULL, &eps[rank->id][i / 2]));
        }
        if (i % 500 == 0)
            machine_barrier(rank); /* the processes take pages in turn */
    }
    for (i = 0; i < ENDPOINTS; i++)
        low[i] = (uint32_t)((uintptr_t)eps[rank->id][i] & 0xffffff);
    qsort(low, ENDPOINTS, sizeof low[0], compare);
    for (i = 1; i < ENDPOINTS; i++)
        assert_true(low[i] != low[i - 1]);
}

static void ugni_27_handles_differ_in_24_bits(void **state)
{
    machine_run(&(struct machine){.ranks = 3, .main = unique_main});
}

/* ---- item 28 --------------------------------------------------------------------------------- */

static void busy_queue_main(struct rank *rank)
{
    struct domain domain, other;
    gni_ep_handle_t ep;

    domain_open(rank, &domain, 0);
    domain_open_as(&other, 500, MACHINE_PTAG, MACHINE_COOKIE, 0);
    assert_rc(GNI_EpCreate(other.nic, domain.source, &ep), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_EpCreate(domain.nic, domain.source, &ep));
    assert_rc(GNI_CqDestroy(domain.source), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_EpDestroy(ep));
    assert_ok(GNI_CqDestroy(domain.source));
    assert_rc(GNI_CqDestroy(domain.source), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_EpCreate(domain.nic, domain.source, &ep), GNI_RC_INVALID_PARAM);
}

static void ugni_28_queue_in_use_stays(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = busy_queue_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_19_endpoint_without_queue),
        cmocka_unit_test(ugni_20_bind_and_unbind),
        cmocka_unit_test(ugni_21_bind_sets_event_data),
        cmocka_unit_test(ugni_22_event_data_is_captured_by_the_post),
        cmocka_unit_test(ugni_23_remote_id_does_not_matter_for_data),
        cmocka_unit_test(ugni_24_unbind_waits_for_collection),
        cmocka_unit_test(ugni_24_events_outlive_their_endpoint),
        cmocka_unit_test(ugni_25_unbind_waits_for_datagrams),
        cmocka_unit_test(ugni_26_ten_thousand_cycles),
        cmocka_unit_test(ugni_27_handles_differ_in_24_bits),
        cmocka_unit_test(ugni_28_queue_in_use_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
