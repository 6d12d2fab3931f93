/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Flags, order and chains of transactions: checklist items 72 to 80. */
#include "post_side.h"

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
        cmocka_unit_test(ugni_72_sync_flag_follows_the_data),
        cmocka_unit_test(ugni_73_flagged_get),
        cmocka_unit_test(ugni_75_in_order),
        cmocka_unit_test(ugni_79_chain_of_puts),
        cmocka_unit_test(ugni_79_chains_of_gets_and_amos),
        cmocka_unit_test(ugni_79_chains_that_are_refused),
        cmocka_unit_test(ugni_80_chain_of_cqwrites),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
