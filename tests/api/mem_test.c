/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory registration: checklist items 29 to 37. */
#include "mem_frame.h"

#include <string.h>
#include <sys/mman.h>

/* ---- item 29 --------------------------------------------------------------------------------- */

static void register_main(struct rank *rank)
{
    const gni_mem_handle_t before = {0x1111, 0x2222};
    struct domain domain;
    gni_mem_handle_t handle = before, a, b, c;
    void *hole = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    domain_open(rank, &domain, 0);
    assert_rc(GNI_MemRegister(domain.nic, (uintptr_t)memory[0], 0, NULL, 0, -1, &handle),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MemRegister(domain.nic, (uintptr_t)hole, PAGE, NULL, 0, -1, &handle),
              GNI_RC_PERMISSION_ERROR);
    assert_ok(GNI_MemRegister(domain.nic, (uintptr_t)hole, PAGE, NULL, GNI_MEM_READ_ONLY, -1, &a));
    munmap(hole, PAGE);
    assert_rc(GNI_MemRegister(domain.nic, (uintptr_t)hole, PAGE, NULL, 0, -1, &handle),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MemRegister(domain.nic, (uintptr_t)memory[0], UINT64_MAX, NULL, 0, -1, &handle),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MemRegister(domain.nic, (uintptr_t)memory[0], PAGE, NULL,
                              GNI_MEM_RESERVE_REGION | GNI_MEM_UPDATE_REGION, -1, &handle),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MemRegister(NULL, (uintptr_t)memory[0], PAGE, NULL, 0, -1, &handle),
              GNI_RC_INVALID_PARAM);
    assert_memory_equal(&handle, &before, sizeof handle);
    a = domain_register(&domain, memory[0], PAGE, NULL, 0);
    b = domain_register(&domain, memory[0], PAGE, NULL, 0);
    c = domain_register(&domain, memory[0] + 100, 2 * PAGE, NULL, 0);
    assert_memory_not_equal(&a, &b, sizeof a);
    assert_memory_not_equal(&a, &c, sizeof a);
}

static void ugni_29_registration_arguments(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = register_main});
}

static void overlap_main(struct rank *rank)
{
    struct region side;
    gni_mem_handle_t again;

    open_side(rank, &side, 0);
    again = domain_register(&side.domain, side.memory + 10, 100, NULL, 0);
    memset(side.memory, 0x41 + rank->id, PAGE);
    publish(rank, again, side.memory);
    assert_int_equal(transfer(&side, GNI_POST_FMA_PUT, side.memory, side.handle,
                              published_address(rank, rank->id ^ 1) + 50 + PAGE / 2,
                              published_handle(rank, rank->id ^ 1), 8),
                     0);
    machine_barrier(rank);
    assert_memory_equal(side.memory + 50 + PAGE / 2, "\x42\x42", 2 * (rank->id == 0));
    assert_ok(GNI_MemDeregister(side.domain.nic, &again));
    assert_ok(GNI_MemDeregister(side.domain.nic, &side.handle));
}

static void ugni_29_overlapping_handles_work(void **state)
{
    machine_run(&(struct machine){.main = overlap_main});
}

/* ---- items 30, 31, 32 ------------------------------------------------------------------------ */

static void layout_main(struct rank *rank)
{
    struct domain domain;
    struct aries_mem_handle fields;
    gni_mem_handle_t handle;

    domain_open(rank, &domain, 0);
    handle = domain_register(&domain, memory[0] + PAGE + 5, PAGE, NULL, GNI_MEM_READ_ONLY);
    assert_true(aries_mem_handle_check(&handle));
    aries_mem_handle_decode(&handle, &fields);
    assert_int_equal(fields.address, (uintptr_t)memory[0] + PAGE);
    assert_int_equal(fields.pages, 2);
    assert_int_equal(fields.page_shift, 12);
    assert_int_equal(fields.flags, ARIES_MEM_READONLY);
}

static void ugni_30_handles_say_what_they_are(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = layout_main});
}

static void rebuilt_main(struct rank *rank)
{
    uint32_t peer = rank->id ^ 1;
    struct region side;
    gni_mem_handle_t local, remote;

    open_side(rank, &side, 0);
    local = rebuild(side.handle, false);
    remote = rebuild(published_handle(rank, peer), false);
    memset(side.memory, 0x30 + rank->id, 64);
    assert_int_equal(transfer(&side, GNI_POST_RDMA_PUT, side.memory, local,
                              published_address(rank, peer) + PAGE, remote, 64),
                     0);
    assert_int_equal(transfer(&side, GNI_POST_FMA_GET, side.memory + 2 * PAGE, local,
                              published_address(rank, peer) + PAGE, remote, 64),
                     0);
    assert_memory_equal(side.memory, side.memory + 2 * PAGE, 64);
    /* Bounds come from the target's table, not from the handle. */
    assert_int_equal(transfer(&side, GNI_POST_FMA_PUT, side.memory, local,
                              published_address(rank, peer) + BYTES, remote, 8),
                     A_STATUS_AT_BOUNDS_ERR);
    machine_barrier(rank);
}

static void ugni_31_rebuilt_handles_work(void **state)
{
    machine_run(&(struct machine){.main = rebuilt_main});
}

/* RDMA posts check both handles, whatever else is wrong with them. */
static void flipped_main(struct rank *rank)
{
    struct region side;
    gni_mem_handle_t bad;
    gni_post_descriptor_t descr;
    unsigned bit;

    open_side(rank, &side, 0);
    for (bit = 0; bit < 128; bit++) {
        bad = side.handle;
        *(bit < 64 ? &bad.qword1 : &bad.qword2) ^= UINT64_C(1) << bit % 64;
        descr = describe_put(GNI_POST_RDMA_PUT, side.memory, bad, 0, side.handle, 8);
        assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
        descr = describe_put(GNI_POST_RDMA_PUT, side.memory, side.handle, 0, bad, 8);
        assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
        descr = describe_put(GNI_POST_RDMA_GET, side.memory, side.handle, 0, bad, 8);
        assert_rc(post(side.ep, &descr), GNI_RC_INVALID_PARAM);
        assert_rc(GNI_MemDeregister(side.domain.nic, &bad), GNI_RC_INVALID_PARAM);
    }
    machine_barrier(rank);
}

static void ugni_32_rdma_refuses_a_broken_checksum(void **state)
{
    machine_run(&(struct machine){.main = flipped_main});
}

static gni_mem_handle_t without_checksum(gni_mem_handle_t handle)
{
    handle.qword2 &= ~(UINT64_C(0xff) << 56);
    if (aries_mem_handle_check(&handle)) /* it was 0 */
        handle.qword2 |= UINT64_C(1) << 56;
    return handle;
}

/* Each kind of FMA post with a handle as libfabric makes it of a key: nothing is checked. */
static void unchecked_main(struct rank *rank)
{
    uint32_t peer = rank->id ^ 1;
    gni_ct_put_post_descriptor_t link = {0};
    gni_ct_cqw_post_descriptor_t note = {0};
    gni_mem_handle_t local, remote;
    gni_post_descriptor_t descr;
    struct region side;
    uint64_t at, value = 7;

    open_side(rank, &side, 0);
    local = without_checksum(side.handle);
    remote = without_checksum(published_handle(rank, peer));
    at = published_address(rank, peer);
    memset(side.memory, 0x51, 64);
    assert_int_equal(transfer(&side, GNI_POST_FMA_PUT, side.memory, local, at + 1024, remote, 64),
                     0);
    assert_int_equal(
        transfer(&side, GNI_POST_FMA_GET, side.memory + 128, local, at + 1024, remote, 64), 0);
    assert_int_equal(side.memory[128 + 63], 0x51);
    descr = describe_put(GNI_POST_FMA_PUT_W_SYNCFLAG, side.memory, local, at + 1088, remote, 8);
    descr.sync_flag_addr = at + 1096;
    descr.sync_flag_value = 3;
    assert_int_equal(outcome(&side, &descr), 0);
    descr = describe_amo(GNI_FMA_ATOMIC_FADD, 4, 0, &value, local, at + 1096, remote);
    descr.local_addr = (uintptr_t)side.memory + 256;
    assert_int_equal(outcome(&side, &descr), 0);
    assert_int_equal(side.memory[256], 3);
    descr = describe_put(GNI_POST_CQWRITE, NULL, remote, 0, remote, 0);
    descr.cqwrite_value = 11;
    assert_int_equal(outcome(&side, &descr), 0);
    link.ep_hndl = side.ep;
    link.length = 8;
    link.local_addr = (uintptr_t)side.memory;
    link.remote_addr = at + 2048;
    link.remote_mem_hndl = remote;
    descr = describe_put(GNI_POST_FMA_PUT, side.memory, local, at + 2056, remote, 8);
    descr.next_descr = &link;
    assert_ok(GNI_CtPostFma(side.ep, &descr));
    complete(side.domain.source, &descr);
    note.ep_hndl = side.ep;
    note.remote_mem_hndl = remote;
    note.cqwrite_value = 11;
    descr = describe_put(GNI_POST_CQWRITE, NULL, remote, 0, remote, 0);
    descr.cqwrite_value = 11;
    descr.next_descr = &note;
    assert_ok(GNI_CtPostCqWrite(side.ep, &descr));
    complete(side.domain.source, &descr);
    machine_barrier(rank);
    assert_int_equal(side.memory[1024], 0x51);
    assert_int_equal(side.memory[1096], 7);
    assert_int_equal(side.memory[2048], 0x51);
    assert_int_equal(side.memory[2063], 0x51);
    for (value = 0; value < 3; value++)
        assert_int_equal(GNI_CQ_GET_DATA(good_event(side.domain.target)), 11);
    machine_barrier(rank);
}

static void ugni_32_fma_takes_handles_without_checksum(void **state)
{
    machine_run(&(struct machine){.main = unchecked_main});
}

/* ---- item 33 --------------------------------------------------------------------------------- */

static void read_only_main(struct rank *rank)
{
    uint32_t peer = rank->id ^ 1;
    struct region side;
    gni_mem_handle_t writable, target;
    gni_post_descriptor_t descr;
    uint64_t address;

    open_side(rank, &side, GNI_MEM_READ_ONLY);
    target = published_handle(rank, peer);
    address = published_address(rank, peer);
    machine_barrier(rank);
    writable = domain_register(&side.domain, side.memory, BYTES, NULL, 0);
    publish(rank, writable, side.memory);
    memset(side.memory, 0x70 + rank->id, 64);
    machine_barrier(rank);
    /* A source of PUT and of GET. */
    assert_int_equal(transfer(&side, GNI_POST_RDMA_PUT, side.memory, side.handle, address + PAGE,
                              published_handle(rank, peer), 64),
                     0);
    assert_int_equal(
        transfer(&side, GNI_POST_RDMA_GET, side.memory + 2 * PAGE, writable, address, target, 64),
        0);
    assert_int_equal(
        transfer(&side, GNI_POST_FMA_GET, side.memory + 2 * PAGE, writable, address, target, 64),
        0);
    assert_int_equal(side.memory[2 * PAGE], 0x70 + peer);
    /* Never a destination. */
    descr = describe_put(GNI_POST_RDMA_PUT, side.memory, writable, address, target, 64);
    assert_rc(post(side.ep, &descr), GNI_RC_PERMISSION_ERROR);
    descr = describe_put(GNI_POST_RDMA_GET, side.memory, side.handle, address, target, 64);
    assert_rc(post(side.ep, &descr), GNI_RC_PERMISSION_ERROR);
    assert_int_equal(transfer(&side, GNI_POST_FMA_PUT, side.memory, writable, address, target, 64),
                     A_STATUS_AT_MDD_WR_PERMISSION_ERR);
    assert_int_equal(
        transfer(&side, GNI_POST_FMA_GET, side.memory, side.handle, address, target, 64),
        A_STATUS_AT_MDD_WR_PERMISSION_ERR);
    descr = describe_amo(GNI_FMA_ATOMIC_ADD, 1, 0, NULL, writable, address, target);
    assert_int_equal(outcome(&side, &descr), A_STATUS_AT_MDD_WR_PERMISSION_ERR);
    machine_barrier(rank);
    assert_int_equal(side.memory[0], 0x70 + rank->id);
}

static void ugni_33_read_only_regions(void **state)
{
    machine_run(&(struct machine){.main = read_only_main});
}

/* ---- item 34 --------------------------------------------------------------------------------- */

static void shared_handle_main(struct rank *rank)
{
    uint32_t peer = rank->id ^ 1;
    struct region side, second = {0}, other_tag = {0};
    uint64_t address;

    open_side(rank, &side, 0);
    address = published_address(rank, peer);
    domain_open_as(&second.domain, 100 + rank->id, MACHINE_PTAG, MACHINE_COOKIE, 0);
    domain_open_as(&other_tag.domain, 100 + rank->id, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER, 0);
    second.ep = domain_connect(rank, &second.domain, peer);
    other_tag.ep = domain_connect(rank, &other_tag.domain, peer);
    memset(side.memory, 0x50 + rank->id, 8);
    /* Of the first domain, used by the second. */
    assert_int_equal(transfer(&second, GNI_POST_RDMA_PUT, side.memory, side.handle, address + PAGE,
                              published_handle(rank, peer), 8),
                     0);
    assert_int_equal(transfer(&second, GNI_POST_FMA_GET, side.memory + 100, side.handle,
                              address + PAGE, published_handle(rank, peer), 8),
                     0);
    assert_int_equal(side.memory[100], 0x50 + rank->id);
    /* Of another protection tag. */
    assert_int_equal(transfer(&other_tag, GNI_POST_FMA_PUT, side.memory, side.handle, address,
                              published_handle(rank, peer), 8),
                     A_STATUS_AT_PROTECTION_ERR);
    assert_int_equal(transfer(&other_tag, GNI_POST_RDMA_PUT, side.memory, side.handle, address,
                              published_handle(rank, peer), 8),
                     A_STATUS_AT_PROTECTION_ERR);
    assert_int_equal(transfer(&other_tag, GNI_POST_CQWRITE, NULL, side.handle, 0,
                              published_handle(rank, peer), 0),
                     A_STATUS_AT_PROTECTION_ERR);
    machine_barrier(rank);
}

static void ugni_34_handles_belong_to_the_protection_tag(void **state)
{
    machine_run(&(struct machine){.main = shared_handle_main});
}

/* ---- item 35 --------------------------------------------------------------------------------- */

static void bounds_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_FMA_GET,
                                            GNI_POST_RDMA_GET};
    uint32_t peer = rank->id ^ 1;
    struct region side;
    gni_mem_handle_t small, target;
    uint64_t address;
    unsigned i;

    open_side(rank, &side, 0);
    small = domain_register(&side.domain, side.memory + PAGE + 8, 100, NULL, 0);
    publish(rank, small, side.memory + PAGE);
    target = published_handle(rank, peer);
    address = published_address(rank, peer);
    memset(side.memory, 0xff, 64);
    for (i = 0; i < 4; i++) {
        /* The registration covers whole pages. */
        assert_int_equal(
            transfer(&side, types[i], side.memory + 64, side.handle, address, target, 4), 0);
        assert_int_equal(
            transfer(&side, types[i], side.memory + 64, side.handle, address + PAGE - 4, target, 4),
            0);
        assert_int_equal(
            transfer(&side, types[i], side.memory, side.handle, address + PAGE - 4, target, 8),
            A_STATUS_AT_BOUNDS_ERR);
        assert_int_equal(
            transfer(&side, types[i], side.memory, side.handle, address - 4, target, 4),
            A_STATUS_AT_BOUNDS_ERR);
        assert_int_equal(transfer(&side, types[i], side.memory, side.handle, 64, target, 4),
                         A_STATUS_AT_BOUNDS_ERR);
    }
    /* The same checks at the local side of a transfer. */
    assert_int_equal(transfer(&side, GNI_POST_RDMA_PUT, side.memory, small, address, target, 4),
                     A_STATUS_AT_BOUNDS_ERR);
    assert_int_equal(transfer(&side, GNI_POST_FMA_GET, side.memory, small, address, target, 4),
                     A_STATUS_AT_BOUNDS_ERR);
    machine_barrier(rank);
    for (i = 64; i < BYTES; i++)
        assert_int_equal(side.memory[i], 0);
}

static void ugni_35_bounds_are_enforced(void **state)
{
    machine_run(&(struct machine){.main = bounds_main});
}

/* ---- items 36, 37 ---------------------------------------------------------------------------- */

static void deregister_main(struct rank *rank)
{
    uint32_t peer = rank->id ^ 1;
    gni_mem_handle_t none = {0, 0}, kept;
    struct region side;
    void *gone;

    open_side(rank, &side, 0);
    kept = side.handle;
    assert_ok(GNI_MemDeregister(side.domain.nic, &side.handle));
    assert_memory_equal(&kept, &side.handle, sizeof kept);
    assert_rc(GNI_MemDeregister(side.domain.nic, &side.handle), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MemDeregister(side.domain.nic, NULL), GNI_RC_INVALID_PARAM);
    machine_barrier(rank);
    assert_int_equal(transfer(&side, GNI_POST_FMA_PUT, side.memory, none,
                              published_address(rank, peer), published_handle(rank, peer), 8),
                     A_STATUS_AT_MDD_INV);
    assert_int_equal(transfer(&side, GNI_POST_FMA_PUT, side.memory, none,
                              published_address(rank, peer), none, 8),
                     A_STATUS_AT_MDD_INV);
    /* A new registration gets another handle: the old one stays dead. */
    side.handle = domain_register(&side.domain, side.memory, BYTES, NULL, 0);
    machine_barrier(rank);
    assert_int_equal(transfer(&side, GNI_POST_FMA_PUT, side.memory, none,
                              published_address(rank, peer), published_handle(rank, peer), 8),
                     A_STATUS_AT_MDD_INV);
    gone = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    kept = domain_register(&side.domain, gone, PAGE, NULL, 0);
    munmap(gone, PAGE);
    assert_ok(GNI_MemDeregister(side.domain.nic, &kept));
    machine_barrier(rank);
}

static void ugni_36_deregistered_memory_is_out_of_reach(void **state)
{
    machine_run(&(struct machine){.main = deregister_main});
}

static void unmapped_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_FMA_GET,
                                            GNI_POST_RDMA_GET};
    uint32_t peer = rank->id ^ 1;
    struct region side;
    uint8_t *gone =
        mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    gni_mem_handle_t handle;
    gni_post_descriptor_t descr;
    unsigned i;

    open_side(rank, &side, 0);
    handle = domain_register(&side.domain, gone, 2 * PAGE, NULL, 0);
    munmap(gone + PAGE, PAGE);
    publish(rank, handle, gone);
    for (i = 0; i < 4; i++) {
        uint64_t hole = published_address(rank, peer) + PAGE;

        assert_int_equal(transfer(&side, types[i], side.memory, side.handle, hole,
                                  published_handle(rank, peer), 8),
                         A_STATUS_AT_PF_INV);
        assert_int_equal(transfer(&side, types[i], side.memory, side.handle, hole - 512,
                                  published_handle(rank, peer), 1024),
                         A_STATUS_AT_PF_INV);
        assert_int_equal(transfer(&side, types[i], side.memory, side.handle, hole - 8,
                                  published_handle(rank, peer), 8),
                         0);
    }
    descr = describe_amo(GNI_FMA_ATOMIC_FADD, 1, 0, side.memory, side.handle,
                         published_address(rank, peer) + PAGE, published_handle(rank, peer));
    assert_int_equal(outcome(&side, &descr), A_STATUS_AT_PF_INV);
    /* The same for the local side. */
    assert_int_equal(transfer(&side, GNI_POST_RDMA_PUT, gone + PAGE, handle,
                              published_address(rank, peer), published_handle(rank, peer), 8),
                     A_STATUS_AT_PF_INV);
    assert_int_equal(transfer(&side, GNI_POST_FMA_GET, gone + PAGE, handle,
                              published_address(rank, peer), published_handle(rank, peer), 8),
                     A_STATUS_AT_PF_INV);
    machine_barrier(rank);
    munmap(gone, PAGE);
}

static void ugni_37_unmapped_page(void **state)
{
    machine_run(&(struct machine){.main = unmapped_main});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_29_registration_arguments),
        cmocka_unit_test(ugni_29_overlapping_handles_work),
        cmocka_unit_test(ugni_30_handles_say_what_they_are),
        cmocka_unit_test(ugni_31_rebuilt_handles_work),
        cmocka_unit_test(ugni_32_rdma_refuses_a_broken_checksum),
        cmocka_unit_test(ugni_32_fma_takes_handles_without_checksum),
        cmocka_unit_test(ugni_33_read_only_regions),
        cmocka_unit_test(ugni_34_handles_belong_to_the_protection_tag),
        cmocka_unit_test(ugni_35_bounds_are_enforced),
        cmocka_unit_test(ugni_36_deregistered_memory_is_out_of_reach),
        cmocka_unit_test(ugni_37_unmapped_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
