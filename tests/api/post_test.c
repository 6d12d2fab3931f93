/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posting transactions: checklist items 55 to 64, 74, 76 and 77. */
#include "post_frame.h"

#include <string.h>

/* ---- item 55 --------------------------------------------------------------------------------- */

/* Bytes around the piece keep their value, those in it have the pattern. */
static void expect_piece(const uint8_t *area, uint32_t offset, uint32_t bytes, uint32_t seed)
{
    uint32_t i;

    for (i = 0; i < 16; i++) {
        assert_int_equal(area[i + offset - 16], 0xee);
        assert_int_equal(area[i + offset + bytes], 0xee);
    }
    for (i = 0; i < bytes; i++)
        assert_int_equal(area[offset + i], pattern(seed, i));
}

/* PUTs and GETs between two halves of the memory of one process that talks to itself. */
static void exact_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_FMA_GET,
                                            GNI_POST_RDMA_GET};
    const uint32_t half = BYTES / 2;
    struct side side;
    uint32_t bytes, i, kind;

    open_side(rank, &side);
    for (kind = 0; kind < 4; kind++) {
        bool get = kind >= 2;

        for (bytes = get ? 4 : 1; bytes <= 4096; bytes += get ? 4 : 1) {
            uint32_t seed = bytes * 4 + kind, near = 64 + bytes % ADDRESS_FREE;
            uint32_t far = half + 64 + (get ? 0 : bytes / ADDRESS_FREE % ADDRESS_FREE);
            uint8_t *source = side.memory + (get ? far : near);
            uint8_t *target = side.memory + (get ? near : far);
            gni_post_descriptor_t descr = side_describe(&side, types[kind], near, far, bytes);

            for (i = 0; i < bytes; i++)
                source[i] = pattern(seed, i);
            memset(target - 16, 0xee, bytes + 32);
            post_and_complete(&side, &descr);
            expect_piece(target - 16, 16, bytes, seed);
        }
    }
}

static void ugni_55_ugni_78_exact_bytes(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = exact_main});
}

#define LARGE (4u << 20)

/* The same between nodes and beyond the size of a chunk. */
static void large_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_RDMA_PUT, GNI_POST_RDMA_GET, GNI_POST_FMA_PUT,
                                            GNI_POST_FMA_GET};
    static uint8_t large[2][LARGE + 64];
    uint32_t peer = rank->id ^ 1, kind, i;
    struct side side;
    gni_mem_handle_t handle;

    open_side(rank, &side);
    handle = domain_register(&side.domain, large[rank->id], sizeof large[0], NULL, 0);
    publish(rank, handle, large[rank->id]);
    for (kind = 0; kind < 4; kind++) {
        uint32_t bytes = kind < 2 ? LARGE - 12 : 70000;
        bool get = types[kind] == GNI_POST_RDMA_GET || types[kind] == GNI_POST_FMA_GET;
        uint32_t writer = get ? 1 : 0;
        gni_post_descriptor_t descr =
            describe_put(types[kind], large[rank->id] + 5, handle,
                         published_address(rank, peer) + 8, published_handle(rank, peer), bytes);

        for (i = 0; rank->id == writer && i < bytes; i++)
            large[rank->id][(get ? 8 : 5) + i] = pattern(kind, i);
        machine_barrier(rank);
        if (rank->id == 0)
            post_and_complete(&side, &descr);
        machine_barrier(rank);
        for (i = 0; rank->id != writer && i < bytes; i++)
            if (large[rank->id][(get ? 5 : 8) + i] != pattern(kind, i))
                fail_msg("kind %u: byte %u of %u is wrong", kind, i, bytes);
    }
}

static void ugni_55_large_transfers(void **state)
{
    machine_run(&(struct machine){.main = large_main});
}

/* ---- items 56, 57, 58, 59, 76, 77 ------------------------------------------------------------ */

static void alignment_main(struct rank *rank)
{
    static const gni_post_type_t gets[] = {GNI_POST_FMA_GET, GNI_POST_RDMA_GET};
    struct side side;
    gni_post_descriptor_t descr;
    uint64_t i, k;

    open_side(rank, &side);
    for (k = 0; k < 2; k++) {
        for (i = 1; i < 4; i++) {
            expect_refused(&side, gets[k], 0, i, 4, GNI_RC_ALIGNMENT_ERROR);
            expect_refused(&side, gets[k], 0, 0, i, GNI_RC_ALIGNMENT_ERROR);
            descr = side_describe(&side, gets[k], i, 64, 8);
            post_and_complete(&side, &descr);
        }
    }
    descr = side_describe(&side, GNI_POST_FMA_PUT_W_SYNCFLAG, 0, 64, 8);
    descr.sync_flag_addr = side.peer_address + 4;
    assert_rc(post(side.ep, &descr), GNI_RC_ALIGNMENT_ERROR);
    assert_ok(GNI_EpUnbind(side.ep)); /* nothing was left behind */
    machine_barrier(rank);
}

static void ugni_56_get_alignment(void **state)
{
    machine_run(&(struct machine){.main = alignment_main});
}

static void empty_main(struct rank *rank)
{
    struct side side;
    gni_post_descriptor_t descr;

    open_side(rank, &side);
    descr = side_describe(&side, GNI_POST_FMA_PUT, 0, 64, 0);
    descr.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
    post_and_complete(&side, &descr);
    assert_int_equal(GNI_CQ_GET_REM_INST_ID(good_event(side.domain.target)), rank->id ^ 1);
    expect_refused(&side, GNI_POST_FMA_GET, 0, 0, 0, GNI_RC_INVALID_PARAM);
    expect_refused(&side, GNI_POST_FMA_GET_W_FLAG, 0, 0, 0, GNI_RC_INVALID_PARAM);
    expect_refused(&side, GNI_POST_RDMA_GET, 0, 0, 0, GNI_RC_INVALID_PARAM);
    expect_refused(&side, GNI_POST_RDMA_PUT, 0, 0, 0, GNI_RC_INVALID_PARAM);
    expect_refused(&side, GNI_POST_RDMA_PUT, 0, 0, UINT64_C(1) << 32, GNI_RC_INVALID_PARAM);
    descr = describe_amo(GNI_FMA_ATOMIC_ADD, 1, 0, NULL, side.handle, side.peer_address,
                         side.peer_handle);
    descr.length = 0;
    assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
    machine_barrier(rank);
}

static void ugni_57_zero_length(void **state)
{
    machine_run(&(struct machine){.main = empty_main});
}

static void events_main(struct rank *rank)
{
    struct side side;
    gni_post_descriptor_t descr;

    open_side(rank, &side);
    descr = side_describe(&side, GNI_POST_FMA_PUT, 0, 0, 8);
    descr.cq_mode = GNI_CQMODE_LOCAL_EVENT;
    assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
    descr.cq_mode = GNI_CQMODE_DUAL_EVENTS;
    assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
    descr.type = GNI_POST_RDMA_PUT;
    assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
    descr.cq_mode = GNI_CQMODE_LOCAL_EVENT;
    post_and_complete(&side, &descr);
    descr.type = GNI_POST_CQWRITE;
    assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
    machine_barrier(rank);
}

static void ugni_58_local_events(void **state)
{
    machine_run(&(struct machine){.main = events_main});
}

static void types_main(struct rank *rank)
{
    static const gni_post_type_t fma[] = {GNI_POST_FMA_PUT, GNI_POST_FMA_GET, GNI_POST_AMO,
                                          GNI_POST_CQWRITE, GNI_POST_FMA_PUT_W_SYNCFLAG};
    struct side side;
    gni_post_descriptor_t descr;
    unsigned i;

    open_side(rank, &side);
    descr = side_describe(&side, GNI_POST_RDMA_PUT, 0, 0, 8);
    assert_rc(GNI_PostFma(side.ep, &descr), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_PostCqWrite(side.ep, &descr), GNI_RC_INVALID_PARAM);
    descr.type = GNI_POST_RDMA_GET;
    assert_rc(GNI_PostFma(side.ep, &descr), GNI_RC_INVALID_PARAM);
    for (i = 0; i < 5; i++) {
        descr.type = fma[i];
        assert_rc(GNI_PostRdma(side.ep, &descr), GNI_RC_INVALID_PARAM);
    }
    descr.type = GNI_POST_CQWRITE;
    assert_rc(GNI_PostFma(side.ep, &descr), GNI_RC_INVALID_PARAM);
    descr.type = (gni_post_type_t)99;
    assert_rc(GNI_PostFma(side.ep, &descr), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_PostFma(side.ep, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_PostFma(NULL, &descr), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_PostRdma(side.ep, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_PostRdma(NULL, &descr), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_PostCqWrite(NULL, &descr), GNI_RC_INVALID_PARAM);
}

static void ugni_59_types_belong_to_calls(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = types_main});
}

static void modes_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_CQWRITE};
    struct side side, channel = {0};
    gni_post_descriptor_t descr;
    gni_ep_handle_t unbound;
    unsigned i;

    open_side(rank, &side);
    assert_ok(GNI_EpCreate(side.domain.nic, side.domain.source, &unbound));
    for (i = 0; i < 3; i++) {
        descr = side_describe(&side, types[i], 0, 64, 8);
        assert_rc(post(unbound, &descr), GNI_RC_INVALID_PARAM);
        descr.dlvr_mode = 0x0200;
        assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
        descr.dlvr_mode = GNI_DLVMODE_ORDERED_TAIL | GNI_DLVMODE_ADAPTIVE3;
        post_and_complete(&side, &descr);
    }
    descr = side_describe(&side, GNI_POST_RDMA_PUT, 0, 64, 8);
    descr.rdma_mode = GNI_RDMAMODE_FENCE;
    assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
    descr.rdma_mode = GNI_RDMAMODE_PHYS_ADDR;
    assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
    descr.rdma_mode = GNI_RDMAMODE_GETWC_DIS;
    post_and_complete(&side, &descr);
    domain_open_as(&channel.domain, 300, MACHINE_PTAG, MACHINE_COOKIE,
                   GNI_CDM_MODE_BTE_SINGLE_CHANNEL);
    channel.ep = domain_connect(rank, &channel.domain, 0);
    descr.rdma_mode = GNI_RDMAMODE_FENCE;
    descr.src_cq_hndl = NULL; /* the post before put the first domain's queue there */
    post_and_complete(&channel, &descr);
}

static void ugni_74_ugni_76_ugni_77_modes(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = modes_main});
}

/* A fenced transfer reads the data that the previous one wrote. */
static void fence_main(struct rank *rank)
{
    struct side side;
    gni_post_descriptor_t first, second;
    uint32_t i;

    open_as(rank, &side, GNI_CDM_MODE_BTE_SINGLE_CHANNEL);
    if (rank->id == 0) {
        for (i = 0; i < 8192; i++)
            side.memory[i] = (uint8_t)(i | 1);
        first = side_describe(&side, GNI_POST_RDMA_PUT, 0, 0, 8192);
        second = side_describe(&side, GNI_POST_RDMA_GET, 8192, 0, 8192);
        second.rdma_mode = GNI_RDMAMODE_FENCE;
        assert_ok(post(side.ep, &first));
        assert_ok(post(side.ep, &second));
        complete(side.domain.source, &first);
        complete(side.domain.source, &second);
        assert_memory_equal(side.memory, side.memory + 8192, 8192);
    }
    machine_barrier(rank);
}

static void ugni_74_fence_waits(void **state)
{
    machine_run(&(struct machine){.main = fence_main});
}

/* ---- items 60, 61, 62 ------------------------------------------------------------------------ */

static void source_queue_main(struct rank *rank)
{
    struct side side;
    gni_post_descriptor_t descr;
    gni_cq_handle_t other;

    open_side(rank, &side);
    assert_ok(GNI_CqCreate(side.domain.nic, 8, 0, GNI_CQ_NOBLOCK, NULL, NULL, &other));
    descr = side_describe(&side, GNI_POST_RDMA_PUT, 0, 64, 8);
    post_and_complete(&side, &descr);
    assert_ptr_equal(descr.src_cq_hndl, side.domain.source);
    descr = side_describe(&side, GNI_POST_RDMA_PUT, 0, 64, 8);
    descr.src_cq_hndl = other;
    assert_ok(post(side.ep, &descr));
    complete(other, &descr);
    assert_rc(GNI_CqTestEvent(side.domain.source), GNI_RC_NOT_DONE);
    /* FMA uses only the queue of the endpoint. */
    descr = side_describe(&side, GNI_POST_FMA_PUT, 0, 64, 8);
    descr.src_cq_hndl = (gni_cq_handle_t)(uintptr_t)0x1234;
    post_and_complete(&side, &descr);
    machine_barrier(rank);
}

static void ugni_60_source_queue_of_rdma(void **state)
{
    machine_run(&(struct machine){.main = source_queue_main});
}

static void silent_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT};
    struct side side;
    gni_post_descriptor_t descr;
    gni_cq_handle_t small;
    gni_ep_handle_t ep;
    uint32_t i;

    open_side(rank, &side);
    assert_ok(GNI_CqCreate(side.domain.nic, 1, 0, GNI_CQ_NOBLOCK, NULL, NULL, &small));
    assert_ok(GNI_EpCreate(side.domain.nic, small, &ep));
    assert_ok(GNI_EpBind(ep, machine_address(rank->machine, rank->node ^ 1), 1));
    for (i = 0; i < 4000; i++) {
        descr = side_describe(&side, types[i % 2], 0, 64, 8);
        descr.cq_mode = GNI_CQMODE_SILENT;
        assert_ok(post(ep, &descr));
        memset(&descr, 0xaa, sizeof descr); /* ours again */
    }
    sim_sleep_until(sim_clock_read() + SIM_MS * 10);
    assert_rc(GNI_CqTestEvent(small), GNI_RC_NOT_DONE);
    assert_ok(GNI_EpIdle(ep));
    machine_barrier(rank);
}

static void ugni_61_silent_posts(void **state)
{
    machine_run(&(struct machine){.main = silent_main});
}

static void reuse_main(struct rank *rank)
{
    struct side side;
    gni_post_descriptor_t descr;
    uint8_t stack[4096];
    uint32_t i;

    open_side(rank, &side);
    memset(stack, 0x5a, sizeof stack);
    descr = side_describe(&side, GNI_POST_FMA_PUT, 0, 64, sizeof stack);
    descr.local_addr = (uintptr_t)stack;
    descr.local_mem_hndl = (gni_mem_handle_t){0x1234, 0x5678}; /* has no effect */
    assert_ok(post(side.ep, &descr));
    memset(stack, 0, sizeof stack);
    complete(side.domain.source, &descr);
    machine_barrier(rank);
    for (i = 0; i < sizeof stack; i++)
        assert_int_equal(side.memory[64 + i], 0x5a);
}

static void ugni_62_source_of_fma_put_is_free_at_once(void **state)
{
    machine_run(&(struct machine){.main = reuse_main});
}

/* ---- items 63, 64 ---------------------------------------------------------------------------- */

static void fields_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_FMA_GET,
                                            GNI_POST_RDMA_GET, GNI_POST_CQWRITE};
    struct side side;
    gni_post_descriptor_t descr, before;
    unsigned i;

    open_side(rank, &side);
    for (i = 0; i < 5; i++) {
        memset(&descr, 0x5a, sizeof descr);
        descr.type = types[i];
        descr.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
        descr.dlvr_mode = GNI_DLVMODE_PERFORMANCE;
        descr.local_addr = (uintptr_t)side.memory;
        descr.local_mem_hndl = side.handle;
        descr.remote_addr = side.peer_address + 64;
        descr.remote_mem_hndl = side.peer_handle;
        descr.length = 8;
        descr.rdma_mode = 0;
        descr.src_cq_hndl = side.domain.source;
        descr.post_id = 0xfeedface00000000 + i;
        before = descr;
        assert_ok(post(side.ep, &descr));
        assert_int_equal(descr.status, GNI_RC_NOT_DONE);
        complete(side.domain.source, &descr);
        assert_int_equal(descr.status, GNI_RC_SUCCESS);
        assert_int_equal(descr.cq_mode_complete, GNI_CQMODE_GLOBAL_EVENT);
        assert_true(descr.post_id == before.post_id);
        descr.next_descr = before.next_descr;
        descr.status = before.status;
        descr.cq_mode_complete = before.cq_mode_complete;
        assert_memory_equal(&descr, &before, sizeof descr);
    }
    machine_barrier(rank);
}

static void ugni_63_fields_of_the_caller(void **state)
{
    machine_run(&(struct machine){.main = fields_main});
}

static void scribble_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_FMA_GET,
                                            GNI_POST_RDMA_GET, GNI_POST_AMO};
    struct side side;
    gni_post_descriptor_t descr;
    unsigned i;

    open_side(rank, &side);
    for (i = 0; i < 5; i++) {
        descr = side_describe(&side, types[i], 0, 64, 8);
        descr.amo_cmd = GNI_FMA_ATOMIC_FADD;
        assert_ok(post(side.ep, &descr));
        memset(&descr, 0xff, sizeof descr);
        complete(side.domain.source, &descr);
    }
    machine_barrier(rank);
}

static void ugni_64_scribbling_has_no_effect(void **state)
{
    machine_run(&(struct machine){.main = scribble_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_55_ugni_78_exact_bytes),
        cmocka_unit_test(ugni_55_large_transfers),
        cmocka_unit_test(ugni_56_get_alignment),
        cmocka_unit_test(ugni_57_zero_length),
        cmocka_unit_test(ugni_58_local_events),
        cmocka_unit_test(ugni_59_types_belong_to_calls),
        cmocka_unit_test(ugni_60_source_queue_of_rdma),
        cmocka_unit_test(ugni_61_silent_posts),
        cmocka_unit_test(ugni_62_source_of_fma_put_is_free_at_once),
        cmocka_unit_test(ugni_63_fields_of_the_caller),
        cmocka_unit_test(ugni_64_scribbling_has_no_effect),
        cmocka_unit_test(ugni_74_ugni_76_ugni_77_modes),
        cmocka_unit_test(ugni_74_fence_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
