/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits and node translation of jobs: checklist items 14, 128 and 130. */
#include "job_frame.h"

#include <string.h>

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
    assert_int_equal(memory[peer][8], 10 + rank->id); /* and no other rank writes here */
    machine_barrier(rank);
    assert_int_equal(memory[rank->id][8], 10 + (rank->id + 2) % 3);
    /* Datagrams return virtual addresses, too. */
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
