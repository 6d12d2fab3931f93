/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The client in libfabric's style: credentials from ALPS, NICs and queues, the registration cache.
 */
#include <alps/alps.h>
#include <alps/alps_toolAssist.h>
#include <alps/libalpslli.h>
#include <alps/libalpsutil.h>
#include <udreg_pub.h>
#include "libfabric.h"

/* ---- credentials and placement --------------------------------------------------------------- */

static void ask_alps(int request, void *answer, size_t bytes)
{
    int status;
    size_t count;

    CHECK(alps_app_lli_put_request(request, NULL, 0) == 0);
    CHECK(alps_app_lli_get_response(&status, &count) == 0);
    CHECK(status == ALPS_APP_LLI_ALPS_STAT_OK);
    CHECK(bytes >= count);
    CHECK(alps_app_lli_get_response_bytes(answer, count) == 0);
}

void credentials(void)
{
    union {
        alpsAppLLIGni_t head;
        char space[512];
    } answer;
    const alpsAppGni_t *list;
    alpsAppLayout_t layout;
    int *nids, *start, *total, status, clique;
    uint64_t apid;

    CHECK(alps_app_lli_lock() == 0);
    ask_alps(ALPS_APP_LLI_ALPS_REQ_APID, &apid, sizeof(apid));
    memset(&answer, 0, sizeof(answer));
    ask_alps(ALPS_APP_LLI_ALPS_REQ_GNI, &answer, sizeof(answer));
    CHECK(alps_app_lli_unlock() == 0);
    list = (const alpsAppGni_t *)answer.head.u.buf;
    CHECK(answer.head.count >= 1);
    ptag = list[0].ptag;
    cookie = list[0].cookie;
    CHECK(cookie == strtoul(getenv("PMI_GNI_COOKIE"), NULL, 10));
    CHECK(list[0].device_id == 0 && list[0].local_addr == atoi(getenv("PMI_GNI_LOC_ADDR")));
    status = alps_get_placement_info(apid, &layout, &nids, NULL, NULL, NULL, NULL, &start, &total,
                                     NULL, NULL);
    CHECK(status == 1 && layout.numCmds == 1 && total[0] == job_size && start[0] == 0);
    CHECK(PMI_Get_clique_size(&clique) == PMI_SUCCESS && clique == layout.numPesHere);
    CHECK(layout.firstPe <= my_rank && my_rank < layout.firstPe + layout.numPesHere);
    CHECK(nids[my_rank] == nids[layout.firstPe]);
    free(nids);
    free(start);
    free(total);
    CHECK(getenv("PMI_FORK_RANK") != NULL && atoi(getenv("PMI_FORK_RANK")) == my_rank);
}

/* ---- NICs ------------------------------------------------------------------------------------ */

void open_nics(void)
{
    const uint32_t modes = GNI_CDM_MODE_FAST_DATAGRAM_POLL | GNI_CDM_MODE_FMA_SHARED |
                           GNI_CDM_MODE_FMA_SMALL_WINDOW | GNI_CDM_MODE_FORK_PARTCOPY |
                           GNI_CDM_MODE_ERR_NO_KILL;
    gni_version_info_t version;
    gni_dev_res_desc_t device;
    gni_job_res_desc_t job;
    uint32_t address, cpu, cpus;
    int count, i;

    OK(GNI_GetNumLocalDevices(&count));
    CHECK(count == 1);
    OK(GNI_GetVersionInformation(&version));
    OK(GNI_CdmGetNicAddress(0, &address, &cpu));
    /* The NIC for connections and the one for data are two instances of one process. */
    OK(GNI_CdmCreate(0x10000u + (uint32_t)my_rank, ptag, cookie, modes, &cm_cdm));
    OK(GNI_CdmAttach(cm_cdm, 0, &cpus, &cm_nic));
    OK(GNI_CdmCreate(0x20000u + (uint32_t)my_rank, ptag, cookie, modes, &cdm));
    OK(GNI_CdmAttach(cdm, 0, &cpus, &nic));
    CHECK(cpus == address);
    OK(GNI_CqCreate(nic, 2048, 0, GNI_CQ_NOBLOCK, NULL, NULL, &tx));
    OK(GNI_CqCreate(nic, 2048, 0, GNI_CQ_BLOCKING, NULL, NULL, &tx_blocking));
    OK(GNI_CqCreate(nic, 2048, 0, GNI_CQ_NOBLOCK | GNI_CQ_PHYS_PAGES, NULL, NULL, &rx));
    OK(GNI_CqCreate(nic, 2048, 0, GNI_CQ_BLOCKING | GNI_CQ_PHYS_PAGES, NULL, NULL, &rx_blocking));
    OK(GNI_GetDevResInfo(0, GNI_DEV_RES_MDD, &device));
    OK(GNI_GetJobResInfo(0, ptag, GNI_JOB_RES_CQ, &job));
    for (i = GNI_DEV_RES_FIRST; i <= GNI_DEV_RES_LAST; i++)
        CHECK(gni_dev_res_to_str((gni_dev_res_t)i) != NULL);
    for (i = GNI_JOB_RES_FIRST; i <= GNI_JOB_RES_LAST; i++)
        CHECK(gni_job_res_to_str((gni_job_res_t)i) != NULL);
}

/* ---- registration cache ---------------------------------------------------------------------- */

static int registered, deregistered;

static void *register_memory(void *address, uint64_t length, void *context)
{
    gni_mem_handle_t *handle = malloc(sizeof(*handle));

    CHECK(context == (void *)&registered);
    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)address, length, NULL,
                       GNI_MEM_READWRITE | GNI_MEM_RELAXED_PI_ORDERING, (uint32_t)-1, handle));
    registered++;
    return handle;
}

static uint32_t deregister_memory(void *registration, void *context)
{
    CHECK(context == (void *)&deregistered);
    OK(GNI_MemDeregister(nic, registration));
    free(registration);
    deregistered++;
    return 0;
}

/*
 * A region is registered once while it is in use or in the cache, and deregistered when the cache
 * needs its place.
 */
void use_cache(void)
{
    udreg_cache_attr_t attributes;
    udreg_cache_handle_t cache;
    udreg_entry_t *entries[6], *again;
    uint64_t hits;
    int i;

    memset(&attributes, 0, sizeof(attributes));
    strcpy(attributes.cache_name, "mr");
    attributes.max_entries = 4;
    attributes.modes = UDREG_CC_MODE_USE_LAZY_DEREG;
    attributes.reg_context = &registered;
    attributes.dreg_context = &deregistered;
    attributes.device_reg_func = register_memory;
    attributes.device_dereg_func = deregister_memory;
    CHECK(UDREG_CacheCreate(&attributes) == UDREG_RC_SUCCESS);
    CHECK(UDREG_CacheCreate(&attributes) != UDREG_RC_SUCCESS);
    CHECK(UDREG_CacheAccess(attributes.cache_name, &cache) == UDREG_RC_SUCCESS);
    for (i = 0; i < 6; i++) {
        CHECK(UDREG_Register(cache, memory + i * 8192, 100, &entries[i]) == UDREG_RC_SUCCESS);
        CHECK(UDREG_Register(cache, memory + i * 8192 + 50, 20, &again) == UDREG_RC_SUCCESS);
        CHECK(again == entries[i]);
        CHECK(UDREG_Unregister(cache, again) == UDREG_RC_SUCCESS);
        CHECK(UDREG_Unregister(cache, entries[i]) == UDREG_RC_SUCCESS);
    }
    CHECK(registered == 6 && deregistered == 2);
    CHECK(UDREG_GetStat(cache, UDREG_STAT_CACHE_HIT, &hits) == UDREG_RC_SUCCESS && hits == 6);
    CHECK(UDREG_Register(cache, memory + 5 * 8192, 10, &again) == UDREG_RC_SUCCESS);
    CHECK(UDREG_CacheDestroy(cache) != UDREG_RC_SUCCESS); /* in use */
    CHECK(UDREG_Unregister(cache, again) == UDREG_RC_SUCCESS);
    CHECK(UDREG_CacheRelease(cache) == UDREG_RC_SUCCESS);
    CHECK(UDREG_CacheDestroy(cache) == UDREG_RC_SUCCESS);
    CHECK(registered == 6 && deregistered == 6);
}
