/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Communication domains, jobs, resources: checklist items 10 to 17 and 128 to 130. */
#include "fixture.h"

#include <stdlib.h>

#define UNUSED_COOKIE GNI_JOB_CREATE_COOKIE(0x7777, 0)

static gni_cdm_handle_t cdm_new(uint32_t inst_id, uint8_t ptag, uint32_t cookie, uint32_t modes)
{
    gni_cdm_handle_t cdm;

    assert_ok(GNI_CdmCreate(inst_id, ptag, cookie, modes, &cdm));
    return cdm;
}

static gni_return_t attach(gni_cdm_handle_t cdm)
{
    gni_nic_handle_t nic;
    uint32_t address;

    return GNI_CdmAttach(cdm, 0, &address, &nic);
}

/* ---- item 10 --------------------------------------------------------------------------------- */

static void create_main(struct rank *rank)
{
    const uint32_t fma = GNI_CDM_MODE_FMA_DEDICATED | GNI_CDM_MODE_FMA_SHARED;
    const uint32_t mdd = GNI_CDM_MODE_MDD_DEDICATED | GNI_CDM_MODE_MDD_SHARED;
    gni_cdm_handle_t cdm;

    assert_ok(GNI_CdmCreate(1, 200, UNUSED_COOKIE, 0, &cdm));
    assert_rc(GNI_CdmCreate(1, 200, UNUSED_COOKIE, 0, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CdmCreate(1, 200, UNUSED_COOKIE, fma, &cdm), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CdmCreate(1, 200, UNUSED_COOKIE, mdd, &cdm), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_CdmCreate(1, 200, UNUSED_COOKIE, 0x0f000000, &cdm));
    assert_ok(GNI_CdmDestroy(cdm));
    assert_rc(GNI_CdmDestroy(cdm), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CdmDestroy(NULL), GNI_RC_INVALID_PARAM);
}

static void ugni_10_create_needs_no_job(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = create_main});
}

/* ---- item 11 --------------------------------------------------------------------------------- */

static void address_main(struct rank *rank)
{
    uint32_t expected, address, cpu;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;

    assert_ok(GNI_CdmGetNicAddress(0, &expected, &cpu));
    assert_int_equal(expected, machine_address(rank->machine, rank->node));
    assert_true(expected < 1u << 18);
    assert_rc(GNI_CdmGetNicAddress(7, &address, &cpu), GNI_RC_NO_MATCH);
    assert_rc(GNI_CdmGetNicAddress(0, NULL, &cpu), GNI_RC_INVALID_PARAM);
    cdm = cdm_new(1, MACHINE_PTAG, MACHINE_COOKIE, 0);
    assert_rc(GNI_CdmAttach(cdm, 7, &address, &nic), GNI_RC_NO_MATCH);
    assert_rc(GNI_CdmAttach(cdm, 0, NULL, &nic), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_CdmAttach(NULL, 0, &address, &nic), GNI_RC_INVALID_PARAM);
    assert_ok(GNI_CdmAttach(cdm, 0, &address, &nic));
    assert_int_equal(address, expected);
    cdm = cdm_new(2, MACHINE_PTAG, MACHINE_COOKIE, 0);
    assert_ok(GNI_CdmAttach(cdm, (uint32_t)-1, &address, &nic));
    assert_int_equal(address, expected);
    rank->machine->shared[rank->id][0] = address;
    machine_barrier(rank);
    assert_true(rank->machine->shared[0][0] != rank->machine->shared[1][0]);
}

static void ugni_11_attach_gives_the_nic_address(void **state)
{
    machine_run(&(struct machine){.ranks = 2, .main = address_main});
}

/* ---- item 12 --------------------------------------------------------------------------------- */

/* Ranks 0 and 1 share a node, rank 2 has its own. */
static void instance_main(struct rank *rank)
{
    gni_cdm_handle_t cdm = cdm_new(5, MACHINE_PTAG, MACHINE_COOKIE, 0);

    if (rank->id == 0) {
        assert_ok(attach(cdm));
        assert_rc(attach(cdm), GNI_RC_INVALID_STATE);
        assert_rc(attach(cdm_new(5, MACHINE_PTAG, MACHINE_COOKIE, 0)), GNI_RC_INVALID_STATE);
        assert_ok(attach(cdm_new(6, MACHINE_PTAG, MACHINE_COOKIE, 0)));
        assert_ok(attach(cdm_new(5, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER, 0)));
    }
    machine_barrier(rank);
    if (rank->id == 1)
        assert_rc(attach(cdm), GNI_RC_INVALID_STATE);
    if (rank->id == 2)
        assert_ok(attach(cdm));
    machine_barrier(rank);
    if (rank->id == 0)
        assert_ok(GNI_CdmDestroy(cdm));
    machine_barrier(rank);
    if (rank->id == 1)
        assert_ok(attach(cdm));
}

static void ugni_12_instances_are_unique_on_a_node(void **state)
{
    machine_run(&(struct machine){.ranks = 3, .ranks_per_node = 2, .main = instance_main});
}

/* ---- items 13, 14 ---------------------------------------------------------------------------- */

static void permission_main(struct rank *rank)
{
    assert_rc(attach(cdm_new(1, MACHINE_PTAG, UNUSED_COOKIE, 0)), GNI_RC_PERMISSION_ERROR);
    assert_rc(attach(cdm_new(1, MACHINE_PTAG, MACHINE_COOKIE_OTHER, 0)), GNI_RC_PERMISSION_ERROR);
    assert_rc(attach(cdm_new(1, 99, MACHINE_COOKIE, 0)), GNI_RC_PERMISSION_ERROR);
    assert_rc(attach(cdm_new(1, 55, UNUSED_COOKIE, 0)),
              GNI_RC_PERMISSION_ERROR); /* another job's */
    assert_rc(attach(cdm_new(1, 0, MACHINE_COOKIE, 0)), GNI_RC_INVALID_PARAM);
    assert_rc(attach(cdm_new(1, GNI_PTAG_LND, MACHINE_COOKIE, 0)), GNI_RC_INVALID_PARAM);
    assert_rc(attach(cdm_new(1, MACHINE_PTAG, 0x1234, 0)), GNI_RC_INVALID_PARAM);
}

static void other_job(struct machine *machine)
{
    aries_job_configure(machine->fabric, MACHINE_JOB + 1, 55, UNUSED_COOKIE);
}

static void ugni_13_attach_needs_permission(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = permission_main, .prepare = other_job});
}

static void find_ptag_main(struct rank *rank)
{
    gni_cdm_handle_t first = cdm_new(1, GNI_FIND_ALLOC_PTAG, UNUSED_COOKIE, 0);
    gni_cdm_handle_t second = cdm_new(2, GNI_FIND_ALLOC_PTAG, UNUSED_COOKIE, 0);
    uint8_t ptag = 0, again = 0;

    assert_ok(attach(first));
    assert_ok(attach(second));
    assert_ok(GNI_GetPtag(0, UNUSED_COOKIE, &ptag));
    assert_in_range(ptag, 4, 127);
    assert_ok(GNI_GetPtag(0, UNUSED_COOKIE, &again));
    assert_int_equal(ptag, again);
    assert_ok(attach(cdm_new(3, ptag, UNUSED_COOKIE, 0)));
    assert_rc(attach(cdm_new(1, ptag, UNUSED_COOKIE, 0)), GNI_RC_INVALID_STATE);
    assert_ok(GNI_GetPtag(0, MACHINE_COOKIE, &ptag));
    assert_int_equal(ptag, MACHINE_PTAG);
    assert_rc(GNI_GetPtag(0, 0x55550000, &ptag), GNI_RC_NO_MATCH);
    assert_rc(GNI_GetPtag(3, MACHINE_COOKIE, &ptag), GNI_RC_NO_MATCH);
    assert_rc(GNI_GetPtag(0, MACHINE_COOKIE, NULL), GNI_RC_INVALID_PARAM);
    assert_rc(attach(cdm_new(9, GNI_FIND_ALLOC_PTAG, 0x55550000, 0)), GNI_RC_PERMISSION_ERROR);
}

static void job_with_any_ptag(struct machine *machine)
{
    aries_job_configure(machine->fabric, MACHINE_JOB, GNI_FIND_ALLOC_PTAG, UNUSED_COOKIE);
}

static void ugni_14_ptag_is_found_by_cookie(void **state)
{
    machine_run(
        &(struct machine){.ranks = 1, .main = find_ptag_main, .prepare = job_with_any_ptag});
}

/* ---- item 15 --------------------------------------------------------------------------------- */

static void fma_main(struct rank *rank)
{
    gni_cdm_handle_t dedicated = NULL;
    uint32_t inst_id;

    for (inst_id = 0; inst_id < 8; inst_id++)
        assert_ok(attach(dedicated = cdm_new(inst_id, MACHINE_PTAG, MACHINE_COOKIE, 0)));
    assert_rc(attach(cdm_new(100, MACHINE_PTAG, MACHINE_COOKIE, 0)), GNI_RC_ERROR_RESOURCE);
    assert_ok(attach(cdm_new(101, MACHINE_PTAG, MACHINE_COOKIE, GNI_CDM_MODE_FMA_SHARED)));
    setenv("UGNI_FMA_SHARED", "0", 1);
    assert_rc(attach(cdm_new(102, MACHINE_PTAG, MACHINE_COOKIE, GNI_CDM_MODE_FMA_SHARED)),
              GNI_RC_ERROR_RESOURCE);
    unsetenv("UGNI_FMA_SHARED");
    assert_ok(GNI_CdmDestroy(dedicated));
    assert_ok(attach(cdm_new(103, MACHINE_PTAG, MACHINE_COOKIE, 0)));
}

static void ugni_15_fma_descriptors_run_out(void **state)
{
    machine_run(&(struct machine){
        .ranks = 1, .main = fma_main, .param = {"aries.nic.fma_descs"}, .value = {8}});
}

/* ---- item 16 --------------------------------------------------------------------------------- */

static void destroy_main(struct rank *rank)
{
    static uint64_t memory[512];
    struct domain domain;
    gni_ep_handle_t ep;
    gni_cq_entry_t event;
    int round;

    for (round = 0; round < 3; round++) {
        domain_open(rank, &domain, 0);
        domain_register(&domain, memory, sizeof memory, domain.target, 0);
        domain_connect(rank, &domain, 0);
        assert_ok(GNI_EpCreate(domain.nic, NULL, &ep));
        assert_ok(GNI_EpPostDataWId(ep, NULL, 0, NULL, 0, 7));
        domain_close(&domain);
        assert_rc(GNI_EpUnbind(ep), GNI_RC_INVALID_PARAM);
        assert_rc(GNI_CqGetEvent(domain.source, &event), GNI_RC_INVALID_PARAM);
        assert_rc(GNI_CqTestEvent(domain.target), GNI_RC_INVALID_PARAM);
        assert_rc(GNI_SetMddResources(domain.nic, 1), GNI_RC_INVALID_PARAM);
    }
}

static void ugni_16_destroy_releases_everything(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = destroy_main});
}

/* ---- item 17 --------------------------------------------------------------------------------- */

#define DOMAINS 60

/* Each domain puts its number into the slot of its neighbour, through the one NIC. */
static void many_main(struct rank *rank)
{
    static struct domain domains[DOMAINS];
    static gni_mem_handle_t handles[DOMAINS];
    static uint64_t slots[DOMAINS];
    gni_post_descriptor_t descr;
    gni_ep_handle_t ep;
    uint64_t value;
    uint32_t i, next;

    for (i = 0; i < DOMAINS; i++) {
        domain_open_as(&domains[i], i, MACHINE_PTAG, MACHINE_COOKIE, 0);
        handles[i] = domain_register(&domains[i], &slots[i], 8, domains[i].target, 0);
    }
    for (i = 0; i < DOMAINS; i++) {
        next = (i + 1) % DOMAINS;
        value = 100 + i;
        assert_ok(GNI_EpCreate(domains[i].nic, domains[i].source, &ep));
        assert_ok(GNI_EpBind(ep, domains[next].address, next));
        descr = describe_put(GNI_POST_FMA_PUT, &value, handles[i], (uintptr_t)&slots[next],
                             handles[next], 8);
        descr.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
        assert_ok(post(ep, &descr));
        complete(domains[i].source, &descr);
        assert_int_equal(GNI_CQ_GET_INST_ID(good_event(domains[next].target)), i);
        assert_int_equal(slots[next], 100 + i);
    }
}

static void ugni_17_sixty_domains_in_a_process(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = many_main});
}

/* ---- items 128 to 130 ------------------------------------------------------------------------ */

static uint64_t mdds_used(void)
{
    gni_job_res_desc_t job;

    assert_ok(GNI_GetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_MDD, &job));
    assert_true(job.limit >= job.used);
    return job.used;
}

static void resource_main(struct rank *rank)
{
    static uint64_t memory[512];
    gni_dev_res_desc_t device;
    gni_job_res_desc_t job;
    struct domain domain;
    gni_mem_handle_t handle;
    int resource;

    domain_open(rank, &domain, 0);
    assert_int_equal(mdds_used(), 0);
    handle = domain_register(&domain, memory, sizeof memory, NULL, 0);
    assert_int_equal(mdds_used(), 1);
    assert_ok(GNI_GetDevResInfo(0, GNI_DEV_RES_MDD, &device));
    assert_int_equal(device.total, 4096);
    assert_int_equal(device.held, 1);
    assert_int_equal(device.available, 4095);
    assert_ok(GNI_MemDeregister(domain.nic, &handle));
    assert_int_equal(mdds_used(), 0);
    assert_ok(GNI_GetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_CQ, &job));
    assert_int_equal(job.used, 2);
    assert_rc(GNI_GetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_FIRST, &job), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetJobResInfo(0, MACHINE_PTAG, GNI_JOB_RES_LAST, &job), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_FIRST, &device), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_LAST, &device), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_MRT, &device), GNI_RC_ERROR_RESOURCE);
    for (resource = GNI_JOB_RES_FIRST; resource <= GNI_JOB_RES_LAST; resource++)
        assert_non_null(gni_job_res_to_str((gni_job_res_t)resource));
}

static void ugni_128_resources_follow_registrations(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = resource_main});
}

static void statistics_main(struct rank *rank)
{
    static uint64_t memory[512];
    struct domain domain;
    gni_ep_handle_t ep;
    gni_mem_handle_t handle;
    gni_post_descriptor_t descr;
    uint32_t value;

    domain_open(rank, &domain, 0);
    ep = domain_connect(rank, &domain, 0);
    handle = domain_register(&domain, memory, sizeof memory, NULL, 0);
    descr = describe_put(GNI_POST_FMA_PUT, memory, handle, (uintptr_t)&memory[8], handle, 8);
    assert_ok(post(ep, &descr));
    complete(domain.source, &descr);
    assert_ok(GNI_GetNicStat(domain.nic, GNI_STAT_FMA_LAUNCH_COUNT, &value));
    assert_int_equal(value, 1);
    assert_ok(GNI_ResetNicStat(domain.nic, GNI_STAT_FMA_LAUNCH_COUNT));
    assert_ok(GNI_GetNicStat(domain.nic, GNI_STAT_FMA_LAUNCH_COUNT, &value));
    assert_int_equal(value, 0);
    assert_rc(GNI_GetNicStat(domain.nic, GNI_NUM_STATS, &value), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_ResetNicStat(domain.nic, GNI_NUM_STATS), GNI_RC_INVALID_PARAM);
    assert_rc(GNI_GetNicStat(domain.nic, GNI_STAT_SMSG_REQ_STALL, NULL), GNI_RC_INVALID_PARAM);
}

static void ugni_129_statistics_count_and_reset(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = statistics_main});
}

static void configure_main(struct rank *rank)
{
    gni_return_t expected = rank->machine->privileged ? GNI_RC_SUCCESS : GNI_RC_PERMISSION_ERROR;

    machine_simulated(); /* a process of root may */
    assert_rc(GNI_ConfigureJob(0, 0, 60, UNUSED_COOKIE, NULL), expected);
    if (!rank->machine->privileged)
        return;
    assert_ok(GNI_ConfigureJob(0, 0, 60, UNUSED_COOKIE, NULL));
    assert_rc(GNI_ConfigureJob(0, 0, 60, MACHINE_COOKIE, NULL), GNI_RC_INVALID_STATE);
    assert_rc(GNI_ConfigureJob(0, 9, 60, UNUSED_COOKIE, NULL), GNI_RC_INVALID_STATE);
    assert_rc(GNI_ConfigureJob(4, 0, 61, UNUSED_COOKIE, NULL), GNI_RC_NO_MATCH);
    assert_ok(attach(cdm_new(1, 60, UNUSED_COOKIE, 0)));
    /* As LDMS does it: any tag, found by the cookie. */
    assert_ok(GNI_ConfigureJob(0, 0, GNI_FIND_ALLOC_PTAG, 0x66660000, NULL));
    assert_ok(attach(cdm_new(1, GNI_FIND_ALLOC_PTAG, 0x66660000, 0)));
}

static void ugni_130_configure_job_is_privileged(void **state)
{
    machine_run(&(struct machine){.ranks = 1, .main = configure_main});
    machine_run(&(struct machine){.ranks = 1, .main = configure_main, .privileged = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ugni_10_create_needs_no_job),
        cmocka_unit_test(ugni_11_attach_gives_the_nic_address),
        cmocka_unit_test(ugni_12_instances_are_unique_on_a_node),
        cmocka_unit_test(ugni_13_attach_needs_permission),
        cmocka_unit_test(ugni_14_ptag_is_found_by_cookie),
        cmocka_unit_test(ugni_15_fma_descriptors_run_out),
        cmocka_unit_test(ugni_16_destroy_releases_everything),
        cmocka_unit_test(ugni_17_sixty_domains_in_a_process),
        cmocka_unit_test(ugni_128_resources_follow_registrations),
        cmocka_unit_test(ugni_129_statistics_count_and_reset),
        cmocka_unit_test(ugni_130_configure_job_is_privileged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
