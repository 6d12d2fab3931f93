/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory registration: MDD blocks, listing and segments: checklist items 34 and 38 to 43. */
#include "mem_frame.h"

#include <string.h>
#include <sys/mman.h>

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
        assert_ok(GNI_RebuildMemHndl(&handle, 9, &other)); /* no registration has this number */
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
        cmocka_unit_test(ugni_38_vmdh_block),
        cmocka_unit_test(ugni_34_ugni_39_addresses_and_offsets),
        cmocka_unit_test(ugni_39_reserved_regions_fill_up),
        cmocka_unit_test(ugni_40_processes_of_a_node_share_the_block),
        cmocka_unit_test(ugni_41_registrations_are_listed),
        cmocka_unit_test(ugni_43_segments_are_one_region),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
