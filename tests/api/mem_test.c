/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registered memory: checklist items 29 to 43. */
#include "fixture.h"

#include <string.h>
#include <sys/mman.h>
#include "nic/mem_handle.h"

#define PAGE 4096u
#define PAGES 4
#define BYTES (PAGES * PAGE)

/* Page-aligned memory of each rank. */
static uint8_t memory[MACHINE_RANKS][BYTES] __attribute__((aligned(PAGE)));

struct region {
    struct domain domain;
    gni_mem_handle_t handle;
    uint8_t *memory;
    gni_ep_handle_t ep; /* to the peer of a pair */
};

static void open_side(struct rank *rank, struct region *side, uint32_t flags)
{
    side->memory = memory[rank->id];
    memset(side->memory, 0, BYTES);
    domain_open(rank, &side->domain, 0);
    side->handle = domain_register(&side->domain, side->memory, BYTES, side->domain.target, flags);
    publish(rank, side->handle, side->memory);
    side->ep = domain_connect(rank, &side->domain, rank->id ^ 1);
}

/* What becomes of a post: its status code, 0 for success. */
static unsigned outcome(struct region *side, gni_post_descriptor_t *descr)
{
    assert_ok(post(side->ep, descr));
    if (descr->type == GNI_POST_RDMA_PUT || descr->type == GNI_POST_RDMA_GET)
        assert_ptr_equal(descr->src_cq_hndl, side->domain.source);
    for (;;) {
        gni_post_descriptor_t *collected;
        gni_return_t result;
        gni_cq_entry_t event = next_event(side->domain.source, &result);

        assert_int_equal(GNI_GetCompleted(side->domain.source, event, &collected), result);
        assert_ptr_equal(collected, descr);
        return (unsigned)GNI_CQ_GET_STATUS(event);
    }
}

static unsigned transfer(struct region *side, gni_post_type_t type, void *local,
                         gni_mem_handle_t local_handle, uint64_t remote,
                         gni_mem_handle_t remote_handle, uint64_t bytes)
{
    gni_post_descriptor_t descr =
        describe_put(type, local, local_handle, remote, remote_handle, bytes);

    return outcome(side, &descr);
}

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
    publish(rank, again, side.memory);
    memset(side.memory, 0x41 + rank->id, PAGE);
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

/* As libfabric makes a handle from a key. */
static gni_mem_handle_t rebuild(gni_mem_handle_t handle, bool vmdh)
{
    struct aries_mem_handle fields;

    aries_mem_handle_decode(&handle, &fields);
    fields.pages = 0xfffffff;
    fields.page_shift = 12;
    fields.flags = vmdh ? ARIES_MEM_VMDH : fields.flags & ARIES_MEM_READONLY;
    if (vmdh)
        fields.address = 0;
    return aries_mem_handle_encode(&fields);
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
        /* Its pages are covered whole. */
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
    /* The local side of what the NIC reads and writes. */
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

/* ---- items 38, 39, 40 ------------------------------------------------------------------------ */

static gni_return_t register_vmdh(const struct domain *domain, const void *at, uint32_t flags,
                                  uint32_t index, gni_mem_handle_t *handle)
{
    return GNI_MemRegister(domain->nic, (uintptr_t)at, BYTES, domain->target,
                           GNI_MEM_USE_VMDH | flags, index, handle);
}

static void vmdh_main(struct rank *rank)
{
    struct domain domain;
    gni_mem_handle_t a, b, c;
    struct aries_mem_handle fields;

    domain_open(rank, &domain, 0);
    assert_rc(register_vmdh(&domain, memory[0], 0, 0, &a), GNI_RC_INVALID_STATE);
    assert_rc(GNI_SetMddResources(domain.nic, 0), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_SetMddResources(domain.nic, 3));
    assert_ok(GNI_SetMddResources(domain.nic, 3));
    assert_ok(register_vmdh(&domain, memory[0], 0, 1, &a));
    assert_rc(register_vmdh(&domain, memory[0], 0, 1, &b), GNI_RC_ERROR_RESOURCE);
    assert_rc(register_vmdh(&domain, memory[0], 0, 3, &b), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_SetMddResources(domain.nic, 3));
    assert_rc(GNI_SetMddResources(domain.nic, 4), GNI_RC_INVALID_STATE);
    assert_ok(register_vmdh(&domain, memory[0], 0, -1, &b));
    assert_ok(register_vmdh(&domain, memory[0], 0, -1, &c));
    aries_mem_handle_decode(&b, &fields);
    assert_int_equal(fields.mdh, 0);
    assert_int_equal(fields.address, (uintptr_t)memory[0]);
    assert_int_equal(fields.flags, ARIES_MEM_VMDH);
    aries_mem_handle_decode(&c, &fields);
    assert_int_equal(fields.mdh, 2);
    assert_rc(register_vmdh(&domain, memory[0], 0, -1, &c), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_MemDeregister(domain.nic, &a));
    assert_ok(register_vmdh(&domain, memory[0], 0, 1, &a));
}

static void ugni_38_vmdh_block(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = vmdh_main});
}

static void reserve_main(struct rank *rank)
{
    uint32_t peer = rank->id ^ 1;
    struct region side;
    gni_mem_handle_t handle, other, remote;

    open_side(rank, &side, 0);
    assert_ok(GNI_SetMddResources(side.domain.nic, 16));
    assert_ok(register_vmdh(&side.domain, side.memory, GNI_MEM_RESERVE_REGION, 5, &handle));
    assert_rc(GNI_RebuildMemHndl(&handle, 6, &other), GNI_RC_INVALID_STATE);
    assert_rc(GNI_MemRegister(side.domain.nic, (uintptr_t)side.memory, PAGE, NULL,
                              GNI_MEM_UPDATE_REGION, -1, &side.handle),
              GNI_RC_INVALID_PARAM); /* was never reserved */
    publish(rank, handle, side.memory);
    remote = rebuild(published_handle(rank, peer), true);
    memset(side.memory, 0x20 + rank->id, 64);
    assert_int_equal(
        transfer(&side, GNI_POST_FMA_PUT, side.memory, side.handle, PAGE + 8, remote, 64),
        A_STATUS_AT_PF_INV);
    machine_barrier(rank);
    assert_ok(GNI_MemRegister(side.domain.nic, (uintptr_t)side.memory + PAGE, PAGE, NULL,
                              GNI_MEM_UPDATE_REGION, -1, &handle));
    assert_rc(GNI_MemRegister(side.domain.nic, (uintptr_t)side.memory + BYTES - 8, PAGE, NULL,
                              GNI_MEM_UPDATE_REGION, -1, &handle),
              GNI_RC_INVALID_PARAM);
    machine_barrier(rank);
    assert_int_equal(
        transfer(&side, GNI_POST_FMA_PUT, side.memory, side.handle, PAGE + 8, remote, 64), 0);
    assert_int_equal(
        transfer(&side, GNI_POST_RDMA_GET, side.memory + 128, side.handle, PAGE + 8, remote, 64),
        0);
    assert_int_equal(
        transfer(&side, GNI_POST_FMA_PUT, side.memory, side.handle, 2 * PAGE - 8, remote, 64),
        A_STATUS_AT_PF_INV);
    machine_barrier(rank);
    assert_int_equal(side.memory[PAGE + 8], 0x20 + peer);
    assert_int_equal(side.memory[128], 0x20 + rank->id);
    assert_int_equal(side.memory[2 * PAGE], 0);
    assert_ok(GNI_RebuildMemHndl(&handle, 6, &other));
    assert_rc(GNI_RebuildMemHndl(&side.handle, 6, &other), GNI_RC_INVALID_PARAM);
}

static void ugni_39_reserved_regions_fill_up(void **state)
{
    machine_run(&(struct machine){.main = reserve_main});
}

/*
 * A handle as registered goes with virtual addresses at both sides, one that was made of a key with
 * offsets: `address - VA(handle)` counts.
 */
static void vmdh_address_main(struct rank *rank)
{
    uint64_t old, at;
    gni_ct_put_post_descriptor_t link = {0};
    gni_post_descriptor_t descr;
    gni_mem_handle_t handle, other, remote, key;
    struct region side;

    open_side(rank, &side, 0);
    assert_ok(GNI_SetMddResources(side.domain.nic, 16));
    assert_ok(register_vmdh(&side.domain, side.memory, 0, 3, &handle));
    memset(side.memory, 0x40 + rank->id, BYTES);
    publish(rank, handle, side.memory);
    remote = published_handle(rank, rank->id ^ 1);
    at = published_address(rank, rank->id ^ 1);
    key = rebuild(remote, true);
    if (rank->id == 0) {
        assert_int_equal(
            transfer(&side, GNI_POST_RDMA_PUT, side.memory, handle, at + 64, remote, 64), 0);
        assert_int_equal(
            transfer(&side, GNI_POST_RDMA_GET, side.memory + 4, handle, at + 128, remote, 64), 0);
        assert_int_equal(transfer(&side, GNI_POST_FMA_GET, side.memory + 300, handle, 128, key, 4),
                         0);
        assert_int_equal(
            transfer(&side, GNI_POST_FMA_PUT, side.memory + 1024, handle, at + PAGE, remote, 8), 0);
        assert_int_equal(
            transfer(&side, GNI_POST_FMA_PUT, side.memory + 1024, handle, PAGE + 8, key, 8), 0);
        descr = describe_amo(GNI_FMA_ATOMIC_FADD, 1, 0, side.memory + 512, handle, 256, key);
        assert_int_equal(outcome(&side, &descr), 0);
        descr = describe_amo(GNI_FMA_ATOMIC_ADD, 1, 0, NULL, handle, at + 256, remote);
        assert_int_equal(outcome(&side, &descr), 0);
        descr = describe_put(GNI_POST_FMA_PUT_W_SYNCFLAG, side.memory + 1024, handle,
                             at + PAGE + 16, remote, 8);
        descr.sync_flag_addr = at + PAGE + 24;
        descr.sync_flag_value = 5;
        assert_int_equal(outcome(&side, &descr), 0);
        link.ep_hndl = side.ep;
        link.length = 8;
        link.local_addr = (uintptr_t)side.memory + 1024;
        link.remote_addr = at + PAGE + 32;
        link.remote_mem_hndl = remote;
        descr = describe_put(GNI_POST_FMA_PUT, side.memory + 1024, handle, PAGE + 40, key, 8);
        descr.next_descr = &link;
        assert_ok(GNI_CtPostFma(side.ep, &descr));
        complete(side.domain.source, &descr);
        /* The wrong kind of address for a handle is outside. */
        assert_int_equal(transfer(&side, GNI_POST_RDMA_PUT, NULL, handle, at + 64, remote, 64),
                         A_STATUS_AT_BOUNDS_ERR);
        assert_int_equal(
            transfer(&side, GNI_POST_RDMA_GET, side.memory + BYTES, handle, at + 128, remote, 64),
            A_STATUS_AT_BOUNDS_ERR);
        assert_int_equal(transfer(&side, GNI_POST_RDMA_PUT, side.memory, handle, 64, remote, 64),
                         A_STATUS_AT_BOUNDS_ERR);
        assert_int_equal(transfer(&side, GNI_POST_FMA_PUT, side.memory, handle, at, key, 64),
                         A_STATUS_AT_BOUNDS_ERR);
        assert_int_equal(
            transfer(&side, GNI_POST_RDMA_PUT, side.memory, handle, at + BYTES - 8, remote, 64),
            A_STATUS_AT_BOUNDS_ERR);
        assert_int_equal(side.memory[4], 0x41);
        assert_int_equal(side.memory[3], 0x40);
        assert_int_equal(side.memory[68], 0x40);
        assert_int_equal(side.memory[303], 0x41);
        memcpy(&old, side.memory + 512, sizeof old);
        assert_int_equal(old, 0x4141414141414141);
        assert_ok(GNI_RebuildMemHndl(&handle, 9, &other)); /* nobody has that one */
        assert_int_equal(transfer(&side, GNI_POST_RDMA_PUT, side.memory, other, at, remote, 64),
                         A_STATUS_AT_MDD_INV);
    }
    machine_barrier(rank);
    if (rank->id == 1) {
        unsigned i;

        assert_int_equal(side.memory[64], 0x40);
        assert_int_equal(side.memory[127], 0x40);
        assert_int_equal(side.memory[256], 0x43);
        assert_int_equal(side.memory[0], 0x41);
        for (i = 0; i < 48; i++)
            assert_int_equal(side.memory[PAGE + i], i == 24 ? 5 : i > 24 && i < 32 ? 0 : 0x40);
        assert_int_equal(side.memory[PAGE + 48], 0x41);
    }
}

static void ugni_34_ugni_39_addresses_and_offsets(void **state)
{
    machine_run(&(struct machine){.main = vmdh_address_main});
}

/* Ranks 0 and 1 on one node, rank 2 on another. */
static void vmdh_space_main(struct rank *rank)
{
    struct domain domain;
    struct region reader = {0};
    gni_mem_handle_t handle, local;
    uint32_t index;

    domain_open(rank, &domain, 0);
    assert_ok(GNI_SetMddResources(domain.nic, 8));
    memset(memory[rank->id], (int)(0x60 + rank->id), BYTES);
    if (rank->id < 2)
        assert_ok(register_vmdh(&domain, memory[rank->id], 0, rank->id, &handle));
    machine_barrier(rank);
    if (rank->id == 1)
        assert_rc(register_vmdh(&domain, memory[1], 0, 0, &handle), GNI_RC_ERROR_RESOURCE);
    for (index = 0; rank->id == 2 && index < 2; index++) {
        struct aries_mem_handle fields = {
            .mdh = index, .pages = 0xfffffff, .page_shift = 12, .flags = ARIES_MEM_VMDH};

        reader.domain = domain;
        reader.ep = domain_connect(rank, &domain, 0);
        local = domain_register(&domain, memory[2], BYTES, NULL, 0);
        assert_int_equal(transfer(&reader, GNI_POST_FMA_GET, memory[2], local, 0,
                                  aries_mem_handle_encode(&fields), 64),
                         0);
        assert_int_equal(memory[2][63], 0x60 + index);
    }
    machine_barrier(rank);
}

static void ugni_40_processes_of_a_node_share_the_block(void **state)
{
    machine_run(&(struct machine){.ranks = 3, .ranks_per_node = 2, .main = vmdh_space_main});
}

/* ---- items 41, 42 ---------------------------------------------------------------------------- */

static void query_main(struct rank *rank)
{
    struct domain domain;
    gni_mem_handle_t handles[3], at = {0, 0}, unknown;
    uint64_t address = 1, length = 1;
    unsigned i;
    int yes;

    domain_open(rank, &domain, 0);
    assert_rc(GNI_MemQueryHndls(domain.nic, 0, &at, &address, &length), GNI_RC_NO_MATCH);
    assert_int_equal(address, 0);
    assert_int_equal(length, 0);
    for (i = 0; i < 3; i++)
        handles[i] = domain_register(&domain, memory[0] + 10 * i, 100 + i, NULL,
                                     i == 1 ? GNI_MEM_READ_ONLY : 0);
    for (i = 0; i < 3; i++) {
        assert_ok(GNI_MemQueryHndls(domain.nic, i % 2 ? -1 : 0, &at, &address, &length));
        assert_memory_equal(&at, &handles[i], sizeof at);
        assert_int_equal(address, (uintptr_t)memory[0] + 10 * i);
        assert_int_equal(length, 100 + i);
    }
    assert_rc(GNI_MemQueryHndls(domain.nic, 0, &at, &address, &length), GNI_RC_NO_MATCH);
    assert_int_equal(address, 0);
    assert_int_equal(length, 0);
    unknown = handles[1];
    assert_ok(GNI_MemDeregister(domain.nic, &handles[1]));
    address = 1;
    assert_rc(GNI_MemQueryHndls(domain.nic, 0, &unknown, &address, &length), GNI_RC_INVALID_STATE);
    assert_int_equal(address, 0);
    assert_rc(GNI_MemQueryHndls(NULL, 0, &at, &address, &length), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MemQueryHndls(domain.nic, 3, &at, &address, &length), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_MemHndlQueryAttr(&unknown, GNI_MEMHNDL_ATTR_READONLY, &yes));
    assert_int_equal(yes, 1);
    assert_ok(GNI_MemHndlQueryAttr(&handles[0], GNI_MEMHNDL_ATTR_READONLY, &yes));
    assert_int_equal(yes, 0);
}

static void ugni_41_registrations_are_listed(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = query_main});
}

/* ---- item 43 --------------------------------------------------------------------------------- */

/* Pages 2 and 0 of the memory, in this order, and the first 100 bytes of page 3. */
static void segments_of(uint8_t *base, gni_mem_segment_t segments[3])
{
    segments[0] = (gni_mem_segment_t){(uintptr_t)base + 2 * PAGE, PAGE};
    segments[1] = (gni_mem_segment_t){(uintptr_t)base, PAGE};
    segments[2] = (gni_mem_segment_t){(uintptr_t)base + 3 * PAGE, 100};
}

static void segments_main(struct rank *rank)
{
    uint32_t peer = rank->id ^ 1;
    struct region side;
    gni_mem_segment_t segments[3];
    gni_mem_handle_t handle;
    unsigned i;

    open_side(rank, &side, 0);
    segments_of(side.memory, segments);
    segments[1].length = 0;
    assert_rc(GNI_MemRegisterSegments(side.domain.nic, segments, 3, NULL, 0, -1, &handle),
              GNI_RC_INVALID_PARAM);
    segments[1].length = 100;
    assert_rc(GNI_MemRegisterSegments(side.domain.nic, segments, 3, NULL, 0, -1, &handle),
              GNI_RC_INVALID_PARAM);
    segments_of(side.memory, segments);
    assert_rc(GNI_MemRegisterSegments(side.domain.nic, segments, 0, NULL, 0, -1, &handle),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_MemRegisterSegments(side.domain.nic, segments, 3, NULL, GNI_MEM_PHYS_SEGMENTS, -1,
                                      &handle),
              GNI_RC_INVALID_PARAM);
    assert_ok(GNI_MemRegisterSegments(side.domain.nic, segments, 3, NULL, 0, -1, &handle));
    publish(rank, handle, NULL);
    for (i = 0; i < PAGE; i++)
        side.memory[PAGE + i] = (uint8_t)(i * 7 + rank->id);
    /* Across the seam of page 2 and page 0. */
    assert_int_equal(transfer(&side, GNI_POST_FMA_PUT, side.memory + PAGE, side.handle, PAGE - 512,
                              published_handle(rank, peer), 1024),
                     0);
    machine_barrier(rank);
    for (i = 0; i < 512; i++) {
        assert_int_equal(side.memory[3 * PAGE - 512 + i], (uint8_t)(i * 7 + peer));
        assert_int_equal(side.memory[i], (uint8_t)((512 + i) * 7 + peer));
    }
    /* The local side of RDMA takes offsets as well: back into page 1, from the peer's region. */
    assert_int_equal(transfer(&side, GNI_POST_RDMA_GET, (void *)(uintptr_t)(2 * PAGE), handle,
                              PAGE - 512, published_handle(rank, peer), 1024),
                     0);
    for (i = 0; i < 1024; i++)
        assert_int_equal(side.memory[3 * PAGE + i], (uint8_t)(i * 7 + rank->id));
    assert_int_equal(transfer(&side, GNI_POST_FMA_PUT, side.memory, side.handle, 3 * PAGE - 4,
                              published_handle(rank, peer), 8),
                     A_STATUS_AT_BOUNDS_ERR);
    machine_barrier(rank);
}

static void ugni_43_segments_are_one_region(void **state)
{
    machine_run(&(struct machine){.main = segments_main});
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
        cmocka_unit_test(ugni_38_vmdh_block),
        cmocka_unit_test(ugni_34_ugni_39_addresses_and_offsets),
        cmocka_unit_test(ugni_39_reserved_regions_fill_up),
        cmocka_unit_test(ugni_40_processes_of_a_node_share_the_block),
        cmocka_unit_test(ugni_41_registrations_are_listed),
        cmocka_unit_test(ugni_43_segments_are_one_region),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
