/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a launcher does with a NIC: limits, node translation, suspending. Checklist items 128 and
 * 130, and the return codes of each call.
 */
#include "fixture.h"

#include <string.h>

#define BYTES (1u << 20)
#define COOKIE GNI_JOB_CREATE_COOKIE(0x7777, 0)
#define PTAG 60
#define NO_LIMIT GNI_JOB_INVALID_LIMIT
#define UNLIMITED                                                                \
    {                                                                            \
        .mdd_limit = NO_LIMIT, .a.mrt_limit = NO_LIMIT, .b.dla_limit = NO_LIMIT, \
        .fma_limit = NO_LIMIT, .bte_limit = NO_LIMIT, .cq_limit = NO_LIMIT,      \
        .ntt_ctrl = GNI_JOB_CTRL_NTT_CLEANUP, .ntt_base = 0, .ntt_size = 0       \
    }

static uint8_t memory[MACHINE_RANKS][BYTES] __attribute__((aligned(4096)));

static void run(void (*main)(struct rank *rank), uint32_t ranks, bool privileged)
{
    machine_run(&(struct machine){.ranks = ranks, .main = main, .privileged = privileged});
}

/* ---- limits ---------------------------------------------------------------------------------- */

static gni_job_res_desc_t job_resource(uint8_t ptag, gni_job_res_t resource)
{
    gni_job_res_desc_t desc;

    assert_ok(GNI_GetJobResInfo(0, ptag, resource, &desc));
    return desc;
}

static void limits_main(struct rank *rank)
{
    gni_job_limits_t limits = UNLIMITED;
    struct domain domain;
    gni_mem_handle_t handle, more;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t cq;
    uint32_t address;

    limits.mdd_limit = 1;
    limits.cq_limit = 2;
    limits.fma_limit = 1;
    limits.a.m.ce_limit = 3;
    limits.a.m.iommu_limit = 10;
    assert_ok(GNI_ConfigureJob(0, MACHINE_JOB, PTAG, COOKIE, &limits));
    assert_int_equal(job_resource(PTAG, GNI_JOB_RES_MDD).limit, 1);
    assert_int_equal(job_resource(PTAG, GNI_JOB_RES_CQ).limit, 2);
    assert_int_equal(job_resource(PTAG, GNI_JOB_RES_CE).limit, 3);
    assert_int_equal(job_resource(PTAG, GNI_JOB_RES_IOMMU).limit, 1024);
    assert_true(job_resource(PTAG, GNI_JOB_RES_RDMA).limit > 1000000);
    domain_open_as(&domain, 1, PTAG, COOKIE, 0);
    assert_int_equal(job_resource(PTAG, GNI_JOB_RES_FMA).used, 1);
    assert_rc(GNI_CqCreate(domain.nic, 8, 0, 0, NULL, NULL, &cq), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_CqDestroy(domain.target));
    assert_ok(GNI_CqCreate(domain.nic, 8, 0, 0, NULL, NULL, &cq));
    handle = domain_register(&domain, memory[0], 4096, NULL, 0);
    assert_int_equal(job_resource(PTAG, GNI_JOB_RES_MDD).used, 1);
    assert_rc(GNI_MemRegister(domain.nic, (uintptr_t)memory[0], 4096, NULL, 0, -1, &more),
              GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_CdmCreate(2, PTAG, COOKIE, 0, &cdm));
    assert_rc(GNI_CdmAttach(cdm, 0, &address, &nic), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_CdmDestroy(cdm));
    assert_ok(GNI_CdmCreate(2, PTAG, COOKIE, GNI_CDM_MODE_FMA_SHARED, &cdm));
    assert_ok(GNI_CdmAttach(cdm, 0, &address, &nic)); /* shares what others have */
    assert_int_equal(job_resource(PTAG, GNI_JOB_RES_SFMA).used, 1);
    /* The same job again: without limits nothing changes, with limits they are replaced. */
    assert_ok(GNI_ConfigureJob(0, MACHINE_JOB, PTAG, COOKIE, NULL));
    assert_int_equal(job_resource(PTAG, GNI_JOB_RES_MDD).limit, 1);
    limits = (gni_job_limits_t)UNLIMITED;
    limits.mdd_limit = 5;
    assert_ok(GNI_ConfigureJob(0, MACHINE_JOB, PTAG, COOKIE, &limits));
    assert_int_equal(job_resource(PTAG, GNI_JOB_RES_MDD).limit, 5);
    assert_int_equal(job_resource(PTAG, GNI_JOB_RES_CQ).limit, 2);
    assert_ok(GNI_MemRegister(domain.nic, (uintptr_t)memory[0], 4096, NULL, 0, -1, &more));
    /* Other jobs have their own. */
    assert_int_equal(job_resource(MACHINE_PTAG, GNI_JOB_RES_MDD).limit, 4096);
    assert_ok(GNI_MemDeregister(domain.nic, &handle));
    /* LDMS as root: no limit at all, a tag of the driver's choice. */
    limits = (gni_job_limits_t)UNLIMITED;
    assert_ok(GNI_ConfigureJob(0, 0, GNI_FIND_ALLOC_PTAG, 0x55550000, &limits));
}

static void ugni_128_ugni_130_limits_of_a_job(void **state)
{
    run(limits_main, 1, true);
}

/* The driver gives out 4 … 127. */
static void tags_main(struct rank *rank)
{
    gni_job_limits_t limits = UNLIMITED;
    uint32_t i, refused = 0;
    uint8_t ptag;

    for (i = 0; i < 130; i++) {
        gni_return_t result =
            GNI_ConfigureJob(0, 0, GNI_FIND_ALLOC_PTAG, GNI_JOB_CREATE_COOKIE(900 + i, 0), &limits);

        refused += result == GNI_RC_ERROR_RESOURCE;
        assert_true(result == GNI_RC_SUCCESS || result == GNI_RC_ERROR_RESOURCE);
    }
    assert_int_equal(refused, 130 - (127 - 4 + 1 - 2)); /* two are those of the fixture */
    assert_ok(GNI_GetPtag(0, GNI_JOB_CREATE_COOKIE(900, 0), &ptag));
    assert_in_range(ptag, 4, 127);
    assert_rc(GNI_GetPtag(0, GNI_JOB_CREATE_COOKIE(900 + 129, 0), &ptag), GNI_RC_ERROR_RESOURCE);
}

static void ugni_14_ugni_130_tags_run_out(void **state)
{
    run(tags_main, 1, true);
}

static void set_limit_main(struct rank *rank)
{
    struct domain domain;
    gni_cq_handle_t cq;

    assert_rc(GNI_SetJobResInfo(4, MACHINE_PTAG, GNI_JOB_RES_CQ, 2), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_FIRST, 2), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_LAST, 2), GNI_RC_INVALID_PARAM);
    if (!rank->machine->privileged) {
        assert_rc(GNI_SetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_CQ, 2), GNI_RC_PERMISSION_ERROR);
        return;
    }
    assert_rc(GNI_SetJobResInfo(0, 99, GNI_JOB_RES_CQ, 2), GNI_RC_NOT_DONE);
    assert_rc(GNI_SetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_MRT, 2), GNI_RC_ERROR_RESOURCE);
    assert_rc(GNI_SetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_MDD, 4097), GNI_RC_ERROR_RESOURCE);
    assert_rc(GNI_SetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_NONVMDH, 2), GNI_RC_ILLEGAL_OP);
    assert_ok(GNI_SetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_CQ, 2));
    assert_int_equal(job_resource(MACHINE_PTAG, GNI_JOB_RES_CQ).limit, 2);
    domain_open(rank, &domain, 0);
    assert_rc(GNI_CqCreate(domain.nic, 8, 0, 0, NULL, NULL, &cq), GNI_RC_ERROR_RESOURCE);
    assert_ok(GNI_SetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_CQ, 3));
    assert_ok(GNI_CqCreate(domain.nic, 8, 0, 0, NULL, NULL, &cq));
}

static void ugni_128_setting_a_limit(void **state)
{
    run(set_limit_main, 1, false);
    run(set_limit_main, 1, true);
}

static void device_main(struct rank *rank)
{
    gni_dev_res_desc_t desc;
    int resource;

    for (resource = GNI_DEV_RES_FIRST + 1; resource < GNI_DEV_RES_LAST; resource++) {
        gni_return_t expected =
            gni_dev_res_valid(resource) ? GNI_RC_SUCCESS : GNI_RC_ERROR_RESOURCE;

        memset(&desc, 0xff, sizeof desc);
        assert_rc(GNI_GetDevResInfo(0, resource, &desc), expected);
        if (expected == GNI_RC_SUCCESS)
            assert_int_equal(desc.available + desc.held + desc.reserved, desc.total);
    }
    assert_rc(GNI_GetDevResInfo(5, GNI_DEV_RES_CQ, &desc), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_CQ, NULL), GNI_RC_INVALID_PARAM);
}

static void ugni_128_every_device_resource(void **state)
{
    run(device_main, 1, false);
}

/* ---- node translation ------------------------------------------------------------------------ */

static void ntt_codes_main(struct rank *rank)
{
    gni_ntt_entry_t table[4] = {{0}};
    gni_ntt_descriptor_t desc = {.group_size = 4, .granularity = 1, .u.table_v2 = table};
    gni_job_limits_t limits = UNLIMITED;
    uint32_t base = UINT32_MAX, other = UINT32_MAX, granularity;

    assert_rc(GNI_ConfigureNTT(0, NULL, &base), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_ConfigureNTT(0, &desc, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_ConfigureNTT(3, &desc, &base), GNI_RC_NO_MATCH);
    assert_rc(GNI_GetNttGran(3, &granularity), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetNttGran(0, NULL), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_GetNttGran(0, &granularity));
    assert_int_equal(granularity, 1);
    if (!rank->machine->privileged) {
        assert_rc(GNI_ConfigureNTT(0, &desc, &base), GNI_RC_PERMISSION_ERROR);
        assert_rc(GNI_ConfigureNTTandJob(0, MACHINE_JOB, PTAG, COOKIE, &limits, &desc, &base),
                  GNI_RC_PERMISSION_ERROR);
        assert_rc(GNI_ConfigureNTTandJob(0, MACHINE_JOB, PTAG, COOKIE, &limits, NULL, NULL),
                  GNI_RC_PERMISSION_ERROR);
        return;
    }
    desc.group_size = 0;
    assert_rc(GNI_ConfigureNTT(0, &desc, &base), GNI_RC_INVALID_PARAM);
    desc.group_size = 8193;
    assert_rc(GNI_ConfigureNTT(0, &desc, &base), GNI_RC_INVALID_PARAM);
    desc.group_size = 4;
    desc.granularity = 3;
    assert_rc(GNI_ConfigureNTT(0, &desc, &base), GNI_RC_INVALID_PARAM);
    desc.granularity = 1;
    table[1].rplc_size = 2; /* more than the block has */
    assert_rc(GNI_ConfigureNTT(0, &desc, &base), GNI_RC_INVALID_PARAM);
    table[1].rplc_size = 0;
    base = 8190;
    assert_rc(GNI_ConfigureNTT(0, &desc, &base), GNI_RC_INVALID_PARAM);
    base = UINT32_MAX;
    assert_ok(GNI_ConfigureNTT(0, &desc, &base));
    assert_ok(GNI_ConfigureNTT(0, &desc, &other));
    assert_true(other >= base + 4 || base >= other + 4);
    assert_ok(GNI_ConfigureNTT(0, &desc, &other)); /* set again, in place */
    desc.granularity = 2;
    assert_rc(GNI_ConfigureNTT(0, &desc, &other), GNI_RC_ERROR_RESOURCE); /* one for all */
    desc.granularity = 1;
    /* A job's range must exist, and keeps its size. */
    limits.ntt_base = (int32_t)base + 100;
    limits.ntt_size = 4;
    assert_rc(GNI_ConfigureJob(0, MACHINE_JOB, PTAG, COOKIE, &limits), GNI_RC_NO_MATCH);
    limits.ntt_base = (int32_t)base;
    assert_ok(GNI_ConfigureJob(0, MACHINE_JOB, PTAG, COOKIE, &limits));
    limits.ntt_size = 2;
    assert_rc(GNI_ConfigureJob(0, MACHINE_JOB, PTAG, COOKIE, &limits), GNI_RC_ILLEGAL_OP);
    /* Clearing: a range that is not there; all that no job uses. */
    desc.u.table_v2 = NULL;
    desc.group_size = 5;
    assert_rc(GNI_ConfigureNTT(0, &desc, &other), GNI_RC_NO_MATCH);
    desc.group_size = UINT32_MAX;
    base = UINT32_MAX;
    assert_ok(GNI_ConfigureNTT(0, &desc, &base));
    desc.group_size = 4;
    assert_rc(GNI_ConfigureNTT(0, &desc, &other), GNI_RC_NO_MATCH); /* it was unused */
    base = (uint32_t)limits.ntt_base;
    assert_ok(GNI_ConfigureNTT(0, &desc, &base)); /* this one was kept */
    /* Both in one; the table is not cleared this way. */
    assert_rc(GNI_ConfigureNTTandJob(0, MACHINE_JOB, PTAG, COOKIE, NULL, &desc, &base),
              GNI_RC_INVALID_PARAM);
    desc.u.table_v2 = table;
    base = UINT32_MAX;
    assert_rc(GNI_ConfigureNTTandJob(2, MACHINE_JOB, PTAG + 1, COOKIE + 1, NULL, &desc, &base),
              GNI_RC_NO_MATCH);
    assert_rc(GNI_ConfigureNTTandJob(0, MACHINE_JOB, PTAG, COOKIE + 1, NULL, &desc, &base),
              GNI_RC_INVALID_STATE);
    assert_ok(GNI_ConfigureNTTandJob(0, MACHINE_JOB, PTAG + 1, COOKIE + 1, NULL, &desc, &base));
    assert_ok(GNI_ConfigureNTTandJob(0, MACHINE_JOB, PTAG + 2, COOKIE + 2, NULL, NULL, NULL));
    /* No room for as many. */
    desc.group_size = 8190;
    base = UINT32_MAX;
    {
        static gni_ntt_entry_t large[8190];

        desc.u.table_v2 = large;
        assert_rc(GNI_ConfigureNTT(0, &desc, &base), GNI_RC_ERROR_RESOURCE);
    }
}

static void ugni_130_node_translation_table(void **state)
{
    run(ntt_codes_main, 1, false);
    run(ntt_codes_main, 1, true);
}

/*
 * Three nodes in the order 2, 0, 1: virtual addresses are places in this list. Each node's table is
 * set by its own launcher.
 */
static void translate_main(struct rank *rank)
{
    static const uint32_t order[] = {2, 0, 1}, place[] = {1, 2, 0};
    struct aries_fabric *fabric = rank->machine->fabric;
    gni_ntt_entry_t table[3] = {{0}};
    gni_ntt_descriptor_t ntt = {.group_size = 3, .granularity = 1, .u.table_v2 = table};
    gni_post_descriptor_t descr;
    gni_post_state_t state = GNI_POST_PENDING;
    struct domain domain;
    gni_mem_handle_t handle;
    gni_ep_handle_t ep, wild;
    uint32_t base = UINT32_MAX, granularity, peer = (rank->id + 1) % 3, addr, id, i;
    char in[4] = "me ", out[4];

    for (i = 0; i < 3; i++)
        table[i].blck_addr = aries_nic_address(fabric, order[i]);
    assert_ok(GNI_ConfigureNTTandJob(0, MACHINE_JOB, PTAG, COOKIE, NULL, &ntt, &base));
    machine_barrier(rank);
    domain_open_as(&domain, rank->id, PTAG, COOKIE, 0);
    assert_int_equal(domain.address, place[rank->id]); /* virtual */
    handle = domain_register(&domain, memory[rank->id], 4096, NULL, 0);
    memory[rank->id][0] = (uint8_t)(10 + rank->id);
    publish(rank, handle, memory[rank->id]);
    assert_ok(GNI_EpCreate(domain.nic, domain.source, &ep));
    assert_ok(GNI_EpBind(ep, place[peer], peer));
    descr = describe_put(GNI_POST_FMA_PUT, memory[rank->id], handle,
                         published_address(rank, peer) + 8, published_handle(rank, peer), 1);
    assert_ok(post(ep, &descr));
    complete(domain.source, &descr);
    assert_int_equal(memory[peer][8], 10 + rank->id); /* and nobody else */
    machine_barrier(rank);
    assert_int_equal(memory[rank->id][8], 10 + (rank->id + 2) % 3);
    /* Datagrams tell virtual addresses, too. */
    assert_ok(GNI_EpCreate(domain.nic, domain.source, &wild));
    assert_ok(GNI_EpPostDataWId(wild, in, sizeof in, out, sizeof out, 5));
    assert_ok(GNI_EpPostData(ep, in, sizeof in, out, sizeof out));
    assert_ok(GNI_EpPostDataWait(ep, UINT32_MAX, &state, &addr, &id));
    assert_int_equal(state, GNI_POST_COMPLETED);
    assert_int_equal(addr, place[peer]);
    assert_ok(GNI_EpPostDataWaitById(wild, 5, UINT32_MAX, &state, &addr, &id));
    assert_int_equal(addr, place[(rank->id + 2) % 3]);
    assert_int_equal(id, (rank->id + 2) % 3);
    /* Beyond the group: refused at the post. */
    assert_ok(GNI_EpUnbind(ep));
    assert_ok(GNI_EpBind(ep, 3, 9));
    assert_rc(post(ep, &descr), GNI_RC_NO_MATCH);
    descr.type = GNI_POST_RDMA_PUT;
    assert_rc(post(ep, &descr), GNI_RC_NO_MATCH);
    assert_ok(GNI_EpUnbind(ep));
    /* The table changes: the same endpoint now reaches another node. */
    assert_ok(GNI_EpBind(ep, 0, 9));
    table[0].blck_addr = aries_nic_address(fabric, rank->id);
    assert_ok(GNI_ConfigureNTT(0, &ntt, &base));
    descr = describe_put(GNI_POST_FMA_PUT, memory[rank->id], handle,
                         published_address(rank, rank->id) + 16, handle, 1);
    assert_ok(post(ep, &descr));
    complete(domain.source, &descr);
    assert_int_equal(memory[rank->id][16], 10 + rank->id);
    assert_ok(GNI_GetNttGran(0, &granularity));
    assert_int_equal(granularity, 1);
    machine_barrier(rank);
    domain_close(&domain);
}

static void ugni_130_addresses_are_translated(void **state)
{
    run(translate_main, 3, true);
}

/* Blocks of four nodes of which the last is replaced by a spare one. */
static void replaced_main(struct rank *rank)
{
    struct aries_fabric *fabric = rank->machine->fabric;
    gni_ntt_entry_t entry = {.blck_addr = aries_nic_address(fabric, 0),
                             .rplc_addr = aries_nic_address(fabric, 5),
                             .rplc_size = 1};
    gni_ntt_descriptor_t ntt = {.group_size = 1, .granularity = 4, .u.table_v2 = &entry};
    gni_job_limits_t limits = UNLIMITED;
    struct domain domain;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    uint32_t base = UINT32_MAX, address, granularity;

    assert_ok(GNI_ConfigureNTTandJob(0, MACHINE_JOB, PTAG, COOKIE, &limits, &ntt, &base));
    assert_ok(GNI_GetNttGran(0, &granularity));
    assert_int_equal(granularity, 4);
    if (rank->id == 3 || rank->id == 4) { /* not in the group */
        assert_ok(GNI_CdmCreate(1, PTAG, COOKIE, 0, &cdm));
        assert_rc(GNI_CdmAttach(cdm, 0, &address, &nic), GNI_RC_NO_MATCH);
        assert_ok(GNI_CdmDestroy(cdm));
        return;
    }
    domain_open_as(&domain, 1, PTAG, COOKIE, 0);
    assert_int_equal(domain.address, rank->id == 5 ? 3 : rank->id);
    domain_close(&domain);
    /* The last one out clears the entries: addresses are physical again. */
    domain_open_as(&domain, 1, PTAG, COOKIE, 0);
    assert_int_equal(domain.address, aries_nic_address(fabric, rank->node));
    ntt.granularity = 2; /* the table is empty */
    assert_ok(GNI_ConfigureNTT(0, &ntt, &base));
    domain_close(&domain);
}

static void ugni_130_spare_nodes(void **state)
{
    run(replaced_main, 6, true);
}

/* ---- suspending ------------------------------------------------------------------------------ */

static void open_side(struct rank *rank, struct side *side)
{
    memset(memory[rank->id], (int)rank->id + 1, BYTES);
    side_open(rank, side, memory[rank->id], BYTES, GNI_CDM_MODE_ERR_NO_KILL);
}

static gni_post_descriptor_t describe(const struct side *side, gni_post_type_t type, uint64_t bytes)
{
    return side_describe(side, type, 0, 0, bytes);
}

static gni_return_t suspend(uint32_t timeout)
{
    return GNI_SuspendJob(0, MACHINE_JOB, MACHINE_PTAG, MACHINE_COOKIE, timeout);
}

static gni_return_t resume(void)
{
    return GNI_ResumeJob(0, MACHINE_JOB, MACHINE_PTAG, MACHINE_COOKIE);
}

static void suspend_codes_main(struct rank *rank)
{
    assert_rc(GNI_SuspendJob(0, MACHINE_JOB, 0, MACHINE_COOKIE, 1), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SuspendJob(0, MACHINE_JOB, MACHINE_PTAG, 5, 1), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_ResumeJob(0, MACHINE_JOB, 0, MACHINE_COOKIE), GNI_RC_INVALID_PARAM);
    if (!rank->machine->privileged) {
        assert_rc(suspend(1), GNI_RC_PERMISSION_ERROR);
        assert_rc(resume(), GNI_RC_PERMISSION_ERROR);
        return;
    }
    assert_rc(GNI_SuspendJob(7, MACHINE_JOB, MACHINE_PTAG, MACHINE_COOKIE, 1),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SuspendJob(0, MACHINE_JOB + 1, MACHINE_PTAG, MACHINE_COOKIE, 1),
              GNI_RC_INVALID_PARAM);
    assert_rc(GNI_SuspendJob(0, MACHINE_JOB, 99, MACHINE_COOKIE, 1), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_ResumeJob(0, MACHINE_JOB, 99, MACHINE_COOKIE), GNI_RC_INVALID_PARAM);
    assert_rc(resume(), GNI_RC_INVALID_STATE);
    assert_ok(suspend(0)); /* nothing is in flight */
    assert_rc(suspend(0), GNI_RC_INVALID_STATE);
    assert_ok(resume());
    assert_rc(resume(), GNI_RC_INVALID_STATE);
    /* A service, which belongs to no job. */
    assert_ok(GNI_ConfigureJob(0, 0, PTAG, COOKIE, NULL));
    assert_rc(GNI_SuspendJob(0, 0, PTAG, COOKIE, 0), GNI_RC_ERROR_RESOURCE);
}

static void ugni_130_suspending_is_privileged(void **state)
{
    run(suspend_codes_main, 1, false);
    run(suspend_codes_main, 1, true);
}

static uint64_t requests(const struct rank *rank)
{
    struct aries_counters counters;

    aries_get_counters(rank->machine->fabric, &counters);
    return counters.request_packets;
}

/* The drivers' own: sessions are matched though both ends stand still. */
static void datagrams_main(struct rank *rank)
{
    char in[4] = {'a', 'b', 'c', (char)rank->id}, out[4] = {0};
    gni_post_state_t state;
    struct side side;
    uint32_t pe, id;

    open_side(rank, &side);
    assert_ok(suspend(0));
    machine_barrier(rank);
    assert_ok(GNI_EpPostData(side.ep, in, sizeof in, out, sizeof out));
    assert_ok(GNI_EpPostDataWait(side.ep, 100, &state, &pe, &id));
    assert_int_equal(state, GNI_POST_COMPLETED);
    assert_int_equal(id, rank->id ^ 1);
    assert_int_equal(out[3], rank->id ^ 1);
    assert_ok(resume());
    machine_barrier(rank);
}

static void ugni_130_datagrams_of_a_suspended_job(void **state)
{
    run(datagrams_main, 2, true);
}

/* Posts return and wait; another job of the node goes on; nothing fails, whatever the time. */
static void suspended_main(struct rank *rank)
{
    static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_FMA_GET,
                                            GNI_POST_RDMA_GET};
    gni_post_descriptor_t descr[8], foreign, *collected;
    gni_mem_handle_t handle, foreign_handle;
    struct domain other;
    gni_ep_handle_t other_ep;
    gni_cq_entry_t event;
    sim_time_t began;
    uint64_t before;
    struct side side;
    unsigned i;

    open_side(rank, &side);
    domain_open_as(&other, 50 + rank->id, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER, 0);
    handle = domain_register(&other, memory[rank->id], BYTES, NULL, 0);
    machine_barrier(rank);
    publish(rank, handle, memory[rank->id]);
    foreign_handle = published_handle(rank, rank->id ^ 1);
    if (rank->id == 0) {
        descr[0] = describe(&side, GNI_POST_RDMA_PUT, BYTES); /* in flight: 108 us */
        assert_ok(post(side.ep, &descr[0]));
        sim_sleep_until(sim_clock_read() + 20 * SIM_US);
        began = sim_clock_read();
        assert_ok(suspend(1000));
        assert_took(sim_clock_read() - began, 0, 50 * SIM_US); /* chunks, not the whole of it */
        before = requests(rank);
        for (i = 1; i < 8; i++) {
            descr[i] = describe(&side, types[i % 4], 4096);
            assert_ok(post(side.ep, &descr[i]));
        }
        sim_sleep_until(sim_clock_read() + 20 * SIM_S); /* longer than every timer */
        assert_rc(GNI_CqGetEvent(side.domain.source, &event), GNI_RC_NOT_DONE);
        assert_int_equal(requests(rank), before + 1); /* that of rank 1 */
        assert_int_equal(memory[1][BYTES - 1], 2);
        assert_ok(GNI_EpCreate(other.nic, other.source, &other_ep));
        assert_ok(GNI_EpBind(other_ep, aries_nic_address(rank->machine->fabric, 1), 51));
        foreign = describe_put(GNI_POST_FMA_PUT, memory[0], handle, side.peer_address,
                               foreign_handle, 64);
        assert_ok(post(other_ep, &foreign));
        complete(other.source, &foreign);
        began = sim_clock_read();
        assert_ok(resume());
        for (i = 0; i < 8; i++)
            assert_ok(
                GNI_GetCompleted(side.domain.source, good_event(side.domain.source), &collected));
        assert_took(sim_clock_read() - began, 0, SIM_MS);
        assert_int_equal(memory[1][BYTES - 1], 1);
    } else {
        /* What comes from others is served meanwhile. */
        descr[0] = describe(&side, GNI_POST_FMA_GET, 64);
        sim_sleep_until(sim_clock_read() + SIM_S);
        descr[0].local_addr += 4096;
        assert_ok(post(side.ep, &descr[0]));
        complete(side.domain.source, &descr[0]);
        assert_int_equal(memory[1][4096], 1);
    }
    machine_barrier(rank);
    domain_close(&other);
    domain_close(&side.domain);
}

static void ugni_130_a_suspended_job_stands_still(void **state)
{
    run(suspended_main, 2, true);
}

struct launcher {
    struct rank *rank;
    struct sim_fiber *fiber;
    gni_return_t result;
    sim_time_t at;
    bool ended;
};

static void launcher_fiber(void *argument)
{
    struct launcher *launcher = argument;

    launcher->result = suspend(2000);
    sim_settle();
    launcher->at = sim_now();
    launcher->ended = true;
}

static void start(struct rank *rank, struct launcher *launcher)
{
    *launcher = (struct launcher){.rank = rank};
    launcher->fiber = sim_fiber_start(launcher_fiber, launcher, "launcher", sim_clock_read());
    aries_process_bind(rank->process, launcher->fiber);
    sim_sleep_until(sim_clock_read() + SIM_MS);
}

/* A request that was lost is in flight until its timer has found it: 4 s. */
static void drain_main(struct rank *rank)
{
    gni_post_descriptor_t descr;
    struct launcher launcher;
    sim_time_t began;
    struct side side;

    open_side(rank, &side);
    if (rank->id == 0) {
        packet_fault(SIM_FAULT_DROP, NET_REQUEST, 0);
        descr = describe(&side, GNI_POST_FMA_PUT, 64);
        assert_ok(post(side.ep, &descr));
        began = sim_clock_read();
        start(rank, &launcher);
        assert_rc(suspend(0), GNI_RC_INVALID_STATE); /* one at a time */
        aries_process_interrupt(rank->process, launcher.fiber);
        assert_true(machine_soon(&launcher.ended));
        assert_rc(launcher.result, GNI_RC_NOT_DONE);
        assert_rc(resume(), GNI_RC_INVALID_STATE);
        start(rank, &launcher);
        sim_sleep_until(began + 2100 * SIM_MS);
        assert_true(launcher.ended);
        assert_rc(launcher.result, GNI_RC_TIMEOUT);
        assert_rc(suspend(0), GNI_RC_TIMEOUT);
        assert_ok(suspend(UINT32_MAX));
        assert_in_range(sim_clock_read() - began, 4000 * SIM_MS, 4010 * SIM_MS);
        assert_int_equal(complete_failed(side.domain.source, &descr), A_STATUS_ORB_TIMEOUT);
        assert_ok(resume());
        assert_ok(post(side.ep, &descr));
        complete(side.domain.source, &descr);
    }
    machine_barrier(rank);
    domain_close(&side.domain);
}

static void ugni_130_suspending_waits_for_what_is_in_flight(void **state)
{
    run(drain_main, 2, true);
}

/* The end of the job, or of its node, ends what was held back. */
static void gone_main(struct rank *rank)
{
    gni_post_descriptor_t descr;
    struct side side;

    open_side(rank, &side);
    if (rank->id == 0) {
        assert_ok(suspend(0));
        descr = describe(&side, GNI_POST_FMA_PUT, 4096);
        assert_ok(post(side.ep, &descr));
        sim_sleep_until(sim_clock_read() + SIM_S);
        assert_int_equal(memory[1][0], 2);
        domain_close(&side.domain);
        sim_sleep_until(sim_clock_read() + SIM_S);
        assert_int_equal(memory[1][0], 1); /* the NIC does what it was told */
        domain_open(rank, &side.domain, 0);
        assert_rc(resume(), GNI_RC_INVALID_STATE);
    } else {
        sim_sleep_until(sim_clock_read() + 3 * SIM_S);
    }
    machine_barrier(rank);
    domain_close(&side.domain);
}

static void ugni_130_the_end_of_a_suspended_job(void **state)
{
    run(gone_main, 2, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_128_ugni_130_limits_of_a_job),
        cmocka_unit_test(ugni_14_ugni_130_tags_run_out),
        cmocka_unit_test(ugni_128_setting_a_limit),
        cmocka_unit_test(ugni_128_every_device_resource),
        cmocka_unit_test(ugni_130_node_translation_table),
        cmocka_unit_test(ugni_130_addresses_are_translated),
        cmocka_unit_test(ugni_130_spare_nodes),
        cmocka_unit_test(ugni_130_suspending_is_privileged),
        cmocka_unit_test(ugni_130_datagrams_of_a_suspended_job),
        cmocka_unit_test(ugni_130_a_suspended_job_stands_still),
        cmocka_unit_test(ugni_130_suspending_waits_for_what_is_in_flight),
        cmocka_unit_test(ugni_130_the_end_of_a_suspended_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
