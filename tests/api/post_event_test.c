/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of transactions: checklist items 65 to 71. */
#include "post_side.h"

/* ---- items 65, 66, 67 ------------------------------------------------------------------------ */

static void dual_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_RDMA_PUT, GNI_POST_RDMA_GET};
    struct side side;
    gni_post_descriptor_t descr, *collected;
    gni_cq_entry_t local, global;
    unsigned i;

    machine_simulated(); /* the second event does not come between two calls */
    open_as(rank, &side, GNI_CDM_MODE_DUAL_EVENTS);
    for (i = 0; i < 2; i++) {
        assert_ok(GNI_EpSetEventData(side.ep, 0x12345678, 0));
        descr = side_describe(&side, types[i], 0, 64, 4096);
        descr.cq_mode = GNI_CQMODE_DUAL_EVENTS;
        assert_ok(post(side.ep, &descr));
        local = good_event(side.domain.source);
        assert_int_equal(GNI_CQ_GET_INST_ID(local), 0x345678);
        assert_ok(GNI_GetCompleted(side.domain.source, local, &collected));
        assert_ptr_equal(collected, &descr);
        assert_int_equal(descr.cq_mode_complete, GNI_CQMODE_LOCAL_EVENT);
        if (i == 0) /* the second event has not been taken from the queue yet */
            assert_rc(GNI_GetCompleted(side.domain.source, local, &collected),
                      GNI_RC_INVALID_PARAM);
        descr.cq_mode = 0; /* as GASNet does */
        global = good_event(side.domain.source);
        assert_int_equal(GNI_CQ_GET_INST_ID(global), 0x345678);
        collected = NULL;
        assert_ok(GNI_GetCompleted(side.domain.source, global, &collected));
        assert_ptr_equal(collected, &descr);
        assert_int_equal(descr.cq_mode_complete, GNI_CQMODE_DUAL_EVENTS);
        assert_rc(GNI_GetCompleted(side.domain.source, global, &collected), GNI_RC_INVALID_PARAM);
        assert_rc(GNI_GetCompleted(side.domain.source, local, &collected), GNI_RC_INVALID_PARAM);
    }
    machine_barrier(rank);
}

static void ugni_65_ugni_67_dual_events(void **state)
{
    machine_run(&(struct machine){.main = dual_main});
}

#define ENTRIES 10

static void limit_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_CQWRITE};
    gni_post_descriptor_t descr[ENTRIES + 1], *collected;
    struct side side;
    gni_ep_handle_t ep;
    gni_cq_handle_t cq;
    unsigned dual, type, i, limit;

    for (dual = 0; dual < 2; dual++) {
        open_as(rank, &side, dual ? GNI_CDM_MODE_DUAL_EVENTS : 0);
        limit = dual ? ENTRIES / 2 : ENTRIES;
        assert_ok(GNI_CqCreate(side.domain.nic, dual ? ENTRIES - 1 : ENTRIES, 0, GNI_CQ_NOBLOCK,
                               NULL, NULL, &cq));
        assert_ok(GNI_EpCreate(side.domain.nic, cq, &ep));
        assert_ok(GNI_EpBind(ep, side.domain.address, 0));
        for (type = 0; type < 3; type++) {
            for (i = 0; i <= limit; i++) {
                descr[i] = side_describe(&side, types[type], 0, 64, 8);
                assert_rc(post(ep, &descr[i]), i < limit ? GNI_RC_SUCCESS : GNI_RC_ERROR_RESOURCE);
            }
            assert_ok(GNI_GetCompleted(cq, good_event(cq), &collected));
            assert_ok(post(ep, &descr[limit]));
            for (i = 0; i < limit; i++)
                assert_ok(GNI_GetCompleted(cq, good_event(cq), &collected));
        }
        domain_close(&side.domain);
    }
}

static void ugni_66_requests_are_limited(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = limit_main});
}

/* ---- items 68, 69, 70 ------------------------------------------------------------------------ */

static void remote_event_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_FMA_GET,
                                            GNI_POST_RDMA_GET, GNI_POST_AMO};
    struct side side;
    gni_post_descriptor_t descr;
    gni_cq_entry_t event;
    unsigned i;

    open_side(rank, &side);
    for (i = 0; i < 5; i++) {
        descr = side_describe(&side, types[i], 0, 64, 4096);
        if (types[i] == GNI_POST_AMO)
            descr.length = 8;
        descr.amo_cmd = GNI_FMA_ATOMIC2_SWAP;
        descr.first_operand = 0x4141414141414141;
        descr.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
        if (rank->id == 1)
            memset(side.memory, 0, BYTES);
        machine_barrier(rank);
        if (rank->id == 0) {
            memset(side.memory, 0x41, 4096);
            assert_ok(GNI_EpSetEventData(side.ep, 1, 0x89abcdef));
            post_and_complete(&side, &descr);
        } else {
            event = good_event(side.domain.target);
            assert_int_equal(GNI_CQ_GET_REM_INST_ID(event), 0x89abcdef);
            assert_int_equal(GNI_CQ_GET_INST_ID(event), 0xabcdef);
            if (types[i] == GNI_POST_FMA_PUT || types[i] == GNI_POST_RDMA_PUT)
                assert_int_equal(side.memory[64 + 4095], 0x41);
            if (types[i] == GNI_POST_AMO)
                assert_int_equal(side.memory[64 + 7], 0x41);
        }
        machine_barrier(rank);
        assert_rc(GNI_CqTestEvent(side.domain.target), GNI_RC_NOT_DONE);
        machine_barrier(rank);
    }
}

static void ugni_68_remote_events(void **state)
{
    machine_run(&(struct machine){.main = remote_event_main});
}

static void cqwrite_main(struct rank *rank)
{
    static const uint64_t values[] = {0, 1, 0xffffffffffffffff, 0xfedcba9876543210, 0x800000000000};
    struct side side;
    gni_post_descriptor_t descr;
    gni_cq_entry_t event;
    unsigned i;

    open_side(rank, &side);
    for (i = 0; i < 5; i++) {
        memset(&descr, 0xaa, sizeof descr); /* the rest is garbage, as Open MPI has it */
        descr.type = GNI_POST_CQWRITE;
        descr.cq_mode = i % 2 ? GNI_CQMODE_SILENT : GNI_CQMODE_GLOBAL_EVENT;
        descr.dlvr_mode = 0;
        descr.remote_mem_hndl = side.peer_handle;
        descr.cqwrite_value = values[i];
        assert_ok(post(side.ep, &descr));
        if (i % 2 == 0)
            complete(side.domain.source, &descr);
        event = good_event(side.domain.target);
        assert_true(GNI_CQ_GET_DATA(event) == (values[i] & 0xffffffffffff));
        assert_int_equal(GNI_CQ_GET_REM_INST_ID(event), values[i] & 0xffffffff);
        assert_int_equal(GNI_CQ_GET_INST_ID(event), values[i] & 0xffffff);
        machine_barrier(rank);
    }
    for (i = 0; i < BYTES; i++)
        assert_int_equal(side.memory[i], 0);
}

static void ugni_69_cqwrite(void **state)
{
    machine_run(&(struct machine){.main = cqwrite_main});
}

static void no_queue_main(struct rank *rank)
{
    struct side side;
    gni_mem_handle_t mute, sink;
    gni_cq_handle_t unmanaged;
    gni_post_descriptor_t descr;
    gni_cq_entry_t event;

    open_side(rank, &side);
    assert_ok(GNI_CqCreate(side.domain.nic, 1, 0, GNI_CQ_UNMANAGED, NULL, NULL, &unmanaged));
    mute = domain_register(&side.domain, side.memory, BYTES, NULL, 0);
    sink = domain_register(&side.domain, side.memory, BYTES, unmanaged, 0);
    publish(rank, mute, side.memory);
    descr = side_describe(&side, GNI_POST_CQWRITE, 0, 0, 0);
    descr.remote_mem_hndl = published_handle(rank, rank->id ^ 1);
    assert_ok(post(side.ep, &descr));
    assert_int_equal(complete_failed(side.domain.source, &descr), A_STATUS_CQ_ERR);
    descr = side_describe(&side, GNI_POST_FMA_PUT, 0, 64, 8);
    descr.remote_mem_hndl = published_handle(rank, rank->id ^ 1);
    descr.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
    memset(side.memory, 0x33, 8);
    assert_ok(post(side.ep, &descr));
    assert_int_equal(complete_failed(side.domain.source, &descr), A_STATUS_CQ_ERR);
    machine_barrier(rank);
    assert_int_equal(side.memory[64], 0x33); /* delivered all the same */
    publish(rank, sink, side.memory);
    descr.remote_mem_hndl = published_handle(rank, rank->id ^ 1);
    post_and_complete(&side, &descr);
    descr.type = GNI_POST_CQWRITE;
    descr.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    post_and_complete(&side, &descr);
    assert_rc(GNI_CqGetEvent(unmanaged, &event), GNI_RC_NOT_DONE);
    machine_barrier(rank);
}

static void ugni_70_region_without_queue(void **state)
{
    machine_run(&(struct machine){.main = no_queue_main});
}

/* ---- item 71 --------------------------------------------------------------------------------- */

static void foreign_event_main(struct rank *rank)
{
    struct side side;
    gni_post_descriptor_t descr, second, *collected = &descr;
    gni_cq_entry_t event, remote;
    gni_cq_handle_t other;
    gni_cq_entry_t message = 0;

    open_side(rank, &side);
    assert_ok(GNI_CqCreate(side.domain.nic, 8, 0, GNI_CQ_NOBLOCK, NULL, NULL, &other));
    second = side_describe(&side, GNI_POST_RDMA_PUT, 0, 64, 8);
    second.src_cq_hndl = other;
    assert_ok(post(side.ep, &second));
    descr = side_describe(&side, GNI_POST_FMA_PUT, 0, 64, 8);
    descr.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
    assert_ok(post(side.ep, &descr));
    remote = good_event(side.domain.target);
    event = good_event(side.domain.source);
    assert_rc(GNI_GetCompleted(other, event, &collected), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetCompleted(side.domain.source, remote, &collected), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetCompleted(side.domain.source, 0, &collected), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetCompleted(side.domain.source, event, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetCompleted(NULL, event, &collected), GNI_RC_INVALID_PARAM);
    assert_ptr_equal(collected, &descr);
    message = event;
    GNI_CQ_SET_TYPE(message, GNI_CQ_EVENT_TYPE_SMSG);
    assert_rc(GNI_GetCompleted(side.domain.source, message, &collected), GNI_RC_DESCRIPTOR_ERROR);
    assert_null(collected);
    assert_ok(GNI_GetCompleted(side.domain.source, event, &collected));
    assert_ptr_equal(collected, &descr);
    assert_rc(GNI_GetCompleted(side.domain.source, event, &collected), GNI_RC_INVALID_PARAM);
    complete(other, &second);
}

static void ugni_71_events_of_others(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = foreign_event_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_65_ugni_67_dual_events),
        cmocka_unit_test(ugni_66_requests_are_limited),
        cmocka_unit_test(ugni_68_remote_events),
        cmocka_unit_test(ugni_69_cqwrite),
        cmocka_unit_test(ugni_70_region_without_queue),
        cmocka_unit_test(ugni_71_events_of_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
