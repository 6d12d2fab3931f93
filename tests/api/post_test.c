/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posting transactions: checklist items 55 to 80. */
#include "fixture.h"

#include <string.h>

#define BYTES 16384u
#define ADDRESS_FREE 8 /* offsets that are tried where alignment is free */

static uint8_t memory[MACHINE_RANKS][BYTES] __attribute__((aligned(4096)));

static void open_as(struct rank *rank, struct side *side, uint32_t modes)
{
    memset(memory[rank->id], 0, BYTES);
    side_open(rank, side, memory[rank->id], BYTES, modes);
}

static void open_side(struct rank *rank, struct side *side)
{
    open_as(rank, side, 0);
}

static void post_and_complete(const struct side *side, gni_post_descriptor_t *descr)
{
    assert_ok(post(side->ep, descr));
    complete(side->domain.source, descr);
}

/* ---- item 55 --------------------------------------------------------------------------------- */

static uint8_t pattern(uint32_t seed, uint32_t at)
{
    return (uint8_t)(sim_mix((uint64_t)seed << 32 | at) | 1);
}

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

static void expect_refused(const struct side *side, gni_post_type_t type, uint64_t local,
                           uint64_t remote, uint64_t bytes, gni_return_t expected)
{
    gni_post_descriptor_t descr = side_describe(side, type, local, remote, bytes);

    assert_rc(post(side->ep, &descr), expected);
}

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

/* A fenced transfer sees what the one before it wrote. */
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
    /* FMA looks at the endpoint's only. */
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
    descr.local_mem_hndl = (gni_mem_handle_t){0x1234, 0x5678}; /* not looked at */
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

/* ---- items 72, 73 ---------------------------------------------------------------------------- */

static bool flag_set(const void *flag)
{
    return *(const volatile uint64_t *)flag != 0;
}

static void sync_flag_main(struct rank *rank)
{
    static const uint32_t lengths[] = {0, 1, 8, 64, 1000, 8000};
    struct side side;
    gni_post_descriptor_t descr;
    uint64_t *flag;
    uint32_t i, k;

    open_side(rank, &side);
    flag = (uint64_t *)(side.memory + BYTES - 8);
    for (i = 0; i < 6; i++) {
        if (rank->id == 0) {
            memset(side.memory, (int)(i + 1), BYTES);
            descr = side_describe(&side, GNI_POST_FMA_PUT_W_SYNCFLAG, 0, 64, lengths[i]);
            descr.sync_flag_addr = side.peer_address + BYTES - 8;
            descr.sync_flag_value = UINT64_C(0x1111222233334444) + i;
            post_and_complete(&side, &descr);
        } else {
            aries_spin(flag_set, flag);
            assert_true(*flag == UINT64_C(0x1111222233334444) + i);
            for (k = 0; k < lengths[i]; k++)
                assert_int_equal(side.memory[64 + k], i + 1);
            assert_int_equal(side.memory[64 + lengths[i]], 0);
            memset(side.memory, 0, BYTES);
        }
        machine_barrier(rank);
    }
}

static void ugni_72_sync_flag_follows_the_data(void **state)
{
    machine_run(&(struct machine){.main = sync_flag_main});
}

static void flagged_get_main(struct rank *rank)
{
    struct side side;
    gni_post_descriptor_t descr;
    uint32_t flag;

    open_side(rank, &side);
    memset(side.memory + 4096, 0x40 + (int)rank->id, 64);
    machine_barrier(rank);
    expect_refused(&side, GNI_POST_FMA_GET_W_FLAG, 0, 4096, 64, GNI_RC_INVALID_PARAM);
    expect_refused(&side, GNI_POST_FMA_GET_W_FLAG, 8, 4096, 56, GNI_RC_ALIGNMENT_ERROR);
    expect_refused(&side, GNI_POST_FMA_GET_W_FLAG, 2, 4096, 8, GNI_RC_ALIGNMENT_ERROR);
    descr = side_describe(&side, GNI_POST_FMA_GET_W_FLAG, 64, 4096, 60);
    descr.sync_flag_value = 0xaaaaaaaa55667788;
    post_and_complete(&side, &descr);
    memcpy(&flag, side.memory + 64 + 60, 4);
    assert_int_equal(flag, 0x55667788);
    assert_int_equal(side.memory[64 + 59], 0x40 + (rank->id ^ 1));
    assert_int_equal(side.memory[128], 0);
    /* An AMO with flag. */
    descr = describe_amo(GNI_FMA_ATOMIC_FADD, 1, 0, side.memory + 256, side.handle,
                         side.peer_address + 8192, side.peer_handle);
    descr.type = GNI_POST_AMO_W_FLAG;
    descr.sync_flag_value = 0x99;
    post_and_complete(&side, &descr);
    memcpy(&flag, side.memory + 256 + 8, 4);
    assert_int_equal(flag, 0x99);
    descr.local_addr += 56;
    assert_rc(post(side.ep, &descr), GNI_RC_ALIGNMENT_ERROR);
    descr.local_addr -= 56;
    descr.amo_cmd = GNI_FMA_ATOMIC_ADD; /* nothing comes back */
    assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
    machine_barrier(rank);
}

static void ugni_73_flagged_get(void **state)
{
    machine_run(&(struct machine){.main = flagged_get_main});
}

/* ---- item 75 --------------------------------------------------------------------------------- */

#define ORDERED 400

/* CQ writes number the order in which PUTs of one mode arrive. */
static void order_main(struct rank *rank)
{
    struct side side;
    gni_post_descriptor_t descr;
    uint32_t i;

    open_side(rank, &side);
    for (i = 0; rank->id == 0 && i < ORDERED; i++) {
        descr = side_describe(&side, i % 3 ? GNI_POST_FMA_PUT : GNI_POST_CQWRITE, 0, 8 * (i % 64),
                              i % 5 ? 8 : 1000);
        descr.dlvr_mode = GNI_DLVMODE_IN_ORDER;
        descr.cq_mode = i % 3 ? GNI_CQMODE_REMOTE_EVENT : GNI_CQMODE_SILENT;
        descr.cqwrite_value = i;
        assert_ok(GNI_EpSetEventData(side.ep, 0, i));
        assert_ok(post(side.ep, &descr));
    }
    for (i = 0; rank->id == 1 && i < ORDERED; i++)
        assert_int_equal(GNI_CQ_GET_REM_INST_ID(good_event(side.domain.target)), i);
    machine_barrier(rank);
}

static void ugni_75_in_order(void **state)
{
    machine_run(&(struct machine){.main = order_main});
}

/* ---- items 79, 80 ---------------------------------------------------------------------------- */

static void chain_put_main(struct rank *rank)
{
    gni_ct_get_post_descriptor_t elements[3]; /* as libfabric does it for PUT, too */
    gni_post_descriptor_t head;
    struct side side;
    gni_ep_handle_t other;
    unsigned i;

    open_side(rank, &side);
    if (rank->id != 0) {
        machine_barrier(rank);
        assert_int_equal(side.memory[rank->id == 1 ? 1024 : 1024 + 16], 0x10 + rank->id);
        return;
    }
    other = domain_connect(rank, &side.domain, 2);
    memset(elements, 0, sizeof elements);
    for (i = 0; i < 3; i++) {
        uint32_t target = i == 1 ? 2 : 1;

        side.memory[16 * (i + 1)] = (uint8_t)(0x10 + target);
        elements[i].next_descr = i < 2 ? &elements[i + 1] : NULL;
        elements[i].ep_hndl = i == 1 ? other : side.ep;
        elements[i].length = 8;
        elements[i].local_addr = (uintptr_t)side.memory + 16 * (i + 1);
        elements[i].remote_addr = published_address(rank, target) + 1024 + 16 * i;
        elements[i].remote_mem_hndl = published_handle(rank, target);
    }
    head = side_describe(&side, GNI_POST_FMA_PUT, 0, 0, 8);
    head.next_descr = elements;
    assert_ok(GNI_CtPostFma(side.ep, &head));
    assert_ptr_equal(head.next_descr, elements);
    complete(side.domain.source, &head);
    assert_rc(GNI_CqTestEvent(side.domain.source), GNI_RC_NOT_DONE); /* one event for all */
    assert_ok(GNI_EpUnbind(side.ep));
    machine_barrier(rank);
}

static void ugni_79_chain_of_puts(void **state)
{
    machine_run(&(struct machine){.ranks = 3, .main = chain_put_main});
}

static void chain_get_main(struct rank *rank)
{
    gni_ct_get_post_descriptor_t gets[2] = {{0}};
    gni_ct_amo_post_descriptor_t amo = {0};
    gni_post_descriptor_t head;
    struct side side;
    uint64_t value = 5;
    unsigned i;

    open_side(rank, &side);
    for (i = 0; i < 64; i++)
        side.memory[2048 + i] = pattern(rank->id, i);
    memcpy(side.memory + 4096, &value, 8);
    memcpy(side.memory + 4104, &value, 8);
    machine_barrier(rank);
    if (rank->id == 0) {
        for (i = 0; i < 2; i++) {
            gets[i].ep_hndl = side.ep;
            gets[i].length = 4;
            gets[i].local_addr = (uintptr_t)side.memory + 100 + 8 * i;
            gets[i].local_mem_hndl = side.handle;
            gets[i].remote_addr = side.peer_address + 2048 + 4 * i;
            gets[i].remote_mem_hndl = side.peer_handle;
        }
        gets[0].next_descr = &gets[1];
        head = side_describe(&side, GNI_POST_FMA_GET, 200, 2048, 64);
        head.next_descr = gets;
        assert_ok(GNI_CtPostFma(side.ep, &head));
        complete(side.domain.source, &head);
        assert_int_equal(side.memory[200 + 63], pattern(1, 63));
        assert_int_equal(side.memory[103], pattern(1, 3));
        assert_int_equal(side.memory[108], pattern(1, 4));
        amo.ep_hndl = side.ep;
        amo.length = 8;
        amo.local_addr = (uintptr_t)side.memory + 400;
        amo.local_mem_hndl = side.handle;
        amo.remote_addr = side.peer_address + 4104;
        amo.remote_mem_hndl = side.peer_handle;
        amo.amo_cmd = GNI_FMA_ATOMIC_FADD;
        amo.first_operand = 10;
        head = describe_amo(GNI_FMA_ATOMIC_ADD, 100, 0, NULL, side.handle, side.peer_address + 4096,
                            side.peer_handle);
        head.next_descr = &amo;
        assert_ok(GNI_CtPostFma(side.ep, &head));
        complete(side.domain.source, &head);
        assert_int_equal(side.memory[400], 5);
    }
    machine_barrier(rank);
    if (rank->id == 1) {
        assert_int_equal(side.memory[4096], 105);
        assert_int_equal(side.memory[4104], 15);
    }
}

static void ugni_79_chains_of_gets_and_amos(void **state)
{
    machine_run(&(struct machine){.main = chain_get_main});
}

static void chain_refused_main(struct rank *rank)
{
    static uint8_t large[2u << 20];
    gni_ct_put_post_descriptor_t element = {0}, good;
    gni_post_descriptor_t head;
    struct side side;
    gni_mem_handle_t large_handle;
    gni_ep_handle_t unbound;
    gni_return_t too_large;

    open_as(rank, &side, rank->id == 0 ? GNI_CDM_MODE_FMA_SHARED : 0);
    assert_ok(GNI_EpCreate(side.domain.nic, side.domain.source, &unbound));
    large_handle = domain_register(&side.domain, large, sizeof large, NULL, 0);
    publish(rank, large_handle, large);
    element.ep_hndl = side.ep;
    element.length = 8;
    element.local_addr = (uintptr_t)large;
    element.remote_addr = published_address(rank, rank->id ^ 1);
    element.remote_mem_hndl = published_handle(rank, rank->id ^ 1);
    good = element;
    head = describe_put(GNI_POST_FMA_PUT, large, large_handle, element.remote_addr,
                        element.remote_mem_hndl, 8);
    head.next_descr = &element;
    element.ep_hndl = NULL;
    assert_rc(GNI_CtPostFma(side.ep, &head), GNI_RC_INVALID_PARAM);
    element.ep_hndl = unbound;
    assert_rc(GNI_CtPostFma(side.ep, &head), GNI_RC_INVALID_PARAM);
    element = good;
    head.dlvr_mode = GNI_DLVMODE_ORDERED_TAIL;
    assert_rc(GNI_CtPostFma(side.ep, &head), GNI_RC_INVALID_PARAM);
    head.dlvr_mode = 0;
    head.type = GNI_POST_FMA_PUT_W_SYNCFLAG;
    assert_rc(GNI_CtPostFma(side.ep, &head), GNI_RC_INVALID_PARAM);
    head.type = GNI_POST_RDMA_PUT;
    assert_rc(GNI_CtPostFma(side.ep, &head), GNI_RC_INVALID_PARAM);
    head.type = GNI_POST_FMA_PUT;
    head.cq_mode = GNI_CQMODE_LOCAL_EVENT;
    assert_rc(GNI_CtPostFma(side.ep, &head), GNI_RC_INVALID_PARAM);
    head.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    element.length = (1u << 20) - 7;
    too_large = rank->id == 0 ? GNI_RC_SIZE_ERROR : GNI_RC_SUCCESS;
    assert_rc(GNI_CtPostFma(side.ep, &head), too_large);
    if (too_large == GNI_RC_SUCCESS)
        complete(side.domain.source, &head);
    element.length -= 1;
    assert_ok(GNI_CtPostFma(side.ep, &head));
    complete(side.domain.source, &head);
    head.next_descr = NULL; /* a chain of one */
    assert_ok(GNI_CtPostFma(side.ep, &head));
    complete(side.domain.source, &head);
    head.type = GNI_POST_FMA_GET;
    head.next_descr = &element;
    element.length = 6;
    assert_rc(GNI_CtPostFma(side.ep, &head), GNI_RC_ALIGNMENT_ERROR);
    assert_ok(GNI_EpIdle(side.ep));
    machine_barrier(rank);
}

static void ugni_79_chains_that_are_refused(void **state)
{
    machine_run(&(struct machine){.main = chain_refused_main});
}

static void chain_cqwrite_main(struct rank *rank)
{
    gni_ct_cqw_post_descriptor_t elements[2];
    gni_post_descriptor_t head;
    struct side side;
    gni_ep_handle_t other;
    unsigned i;

    open_side(rank, &side);
    if (rank->id == 0) {
        other = domain_connect(rank, &side.domain, 2);
        for (i = 0; i < 2; i++) {
            elements[i].next_descr = i == 0 ? &elements[1] : NULL;
            elements[i].ep_hndl = i == 0 ? other : side.ep;
            elements[i].remote_mem_hndl = published_handle(rank, i == 0 ? 2 : 1);
            elements[i].cqwrite_value = 200 + i;
        }
        head = side_describe(&side, GNI_POST_CQWRITE, 0, 0, 0);
        head.cqwrite_value = 100;
        head.next_descr = elements;
        assert_ok(GNI_CtPostCqWrite(side.ep, &head));
        complete(side.domain.source, &head);
        assert_rc(GNI_CqTestEvent(side.domain.source), GNI_RC_NOT_DONE);
        elements[0].ep_hndl = NULL;
        assert_rc(GNI_CtPostCqWrite(side.ep, &head), GNI_RC_INVALID_PARAM);
        head.type = GNI_POST_FMA_PUT;
        assert_rc(GNI_CtPostCqWrite(side.ep, &head), GNI_RC_INVALID_PARAM);
    } else if (rank->id == 1) {
        uint64_t first = GNI_CQ_GET_DATA(good_event(side.domain.target));
        uint64_t second = GNI_CQ_GET_DATA(good_event(side.domain.target));

        assert_true(first + second == 301 && (first == 100 || second == 100));
    } else {
        assert_int_equal(GNI_CQ_GET_DATA(good_event(side.domain.target)), 200);
    }
    machine_barrier(rank);
}

static void ugni_80_chain_of_cqwrites(void **state)
{
    machine_run(&(struct machine){.ranks = 3, .main = chain_cqwrite_main});
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
        cmocka_unit_test(ugni_65_ugni_67_dual_events),
        cmocka_unit_test(ugni_66_requests_are_limited),
        cmocka_unit_test(ugni_68_remote_events),
        cmocka_unit_test(ugni_69_cqwrite),
        cmocka_unit_test(ugni_70_region_without_queue),
        cmocka_unit_test(ugni_71_events_of_others),
        cmocka_unit_test(ugni_72_sync_flag_follows_the_data),
        cmocka_unit_test(ugni_73_flagged_get),
        cmocka_unit_test(ugni_74_ugni_76_ugni_77_modes),
        cmocka_unit_test(ugni_74_fence_waits),
        cmocka_unit_test(ugni_75_in_order),
        cmocka_unit_test(ugni_79_chain_of_puts),
        cmocka_unit_test(ugni_79_chains_of_gets_and_amos),
        cmocka_unit_test(ugni_79_chains_that_are_refused),
        cmocka_unit_test(ugni_80_chain_of_cqwrites),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
