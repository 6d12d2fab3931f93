/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What all fabrics of a process share, and the place of the process: credentials, its rank on the
 * node, and the resources that the job may use there. All of this comes from the launcher, through
 * the environment.
 */
#include <stdlib.h>

#include "ctx.h"
#include "gnip.h"
#include "params.h"
#include "findings.h"
#include "waitable.h"
#include "port/list.h"

#define DEVICE 0
#define CDM_IDS (1u << 24)
#define CQS_PER_NIC 8 /* used by a NIC, with a reserve */
#define NICS_UNKNOWN 4
#define COOKIE_UNLAUNCHED 0x4a510000u /* of programs that were started without a launcher */

/* ---- the environment ------------------------------------------------------------------------- */

/* Element `index` of a list "17:18". False: the list is shorter, or the element is not a number. */
static bool element(const char *list, uint32_t index, uint32_t *value)
{
    char *end;
    unsigned long number;

    for (; list != NULL && index > 0; index--) {
        list = strchr(list, ':');
        if (list != NULL)
            list++;
    }
    if (list == NULL || *list < '0' || *list > '9')
        return false;
    number = strtoul(list, &end, 0);
    if ((*end != ':' && *end != '\0') || number > UINT32_MAX)
        return false;
    *value = (uint32_t)number;
    return true;
}

/* The credentials with this index. False: there are fewer. */
static bool credentials(uint32_t index, uint8_t *ptag, uint32_t *cookie)
{
    uint32_t tag;

    if (port_getenv("PMI_GNI_COOKIE") == NULL && index == 0) {
        /* Without a launcher, asks the driver for a tag, in case it gives one to any process. */
        *cookie = COOKIE_UNLAUNCHED;
        return GNI_GetPtag(DEVICE, *cookie, ptag) == GNI_RC_SUCCESS;
    }
    if (!element(port_getenv("PMI_GNI_COOKIE"), index, cookie))
        return false;
    if (!element(port_getenv("PMI_GNI_PTAG"), index, &tag))
        return GNI_GetPtag(DEVICE, *cookie, ptag) == GNI_RC_SUCCESS;
    *ptag = (uint8_t)tag;
    return tag != 0 && tag <= UINT8_MAX;
}

/* The variables in which launchers give the rank on the node and the number of ranks there. */
static void find_rank(struct gnip_place *place)
{
    static const char *const names[][2] = {
        {"PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"},
        {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
        {"SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
    };
    uint32_t rank, size;
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!element(port_getenv(names[i][0]), 0, &rank) ||
            !element(port_getenv(names[i][1]), 0, &size) || rank >= size)
            continue;
        place->node_rank = rank;
        place->node_processes = size;
        place->rank_known = true;
        return;
    }
    /* The job has one process or several; the global rank does not say which. */
    place->node_processes = 1;
}

/* ---- the node -------------------------------------------------------------------------------- */

static uint64_t limit_of(uint8_t ptag, gni_job_res_t resource)
{
    gni_job_res_desc_t found;

    return GNI_GetJobResInfo(DEVICE, ptag, resource, &found) == GNI_RC_SUCCESS ? found.limit : 0;
}

static uint32_t nics_allowed(const struct gnip_place *place, uint64_t fma, uint64_t cqs)
{
    uint32_t wanted;
    uint64_t nics = NICS_UNKNOWN;

    if (gnip_params_max_nics(&wanted))
        return wanted;
    if (fma != 0 && cqs != 0) {
        nics = cqs / CQS_PER_NIC < fma ? cqs / CQS_PER_NIC : fma;
        nics /= place->node_processes;
        if (!place->rank_known && nics > NICS_UNKNOWN)
            nics = NICS_UNKNOWN; /* other jobs may use the node, too */
    }
    if (nics == 0)
        nics = 1;
    return nics < UINT16_MAX ? (uint32_t)nics : UINT16_MAX;
}

int gnip_local_nic(uint32_t *nic_address)
{
    uint32_t cpu;
    int devices = 0;

    if (GNI_GetNumLocalDevices(&devices) != GNI_RC_SUCCESS || devices == 0 ||
        GNI_CdmGetNicAddress(DEVICE, nic_address, &cpu) != GNI_RC_SUCCESS)
        return -FI_ENODEV;
    return 0;
}

int gnip_place_find(struct gnip_place *place)
{
    uint64_t cqs;
    int rc;

    memset(place, 0, sizeof(*place));
    rc = gnip_local_nic(&place->nic_address);
    if (rc != 0)
        return rc;
    if (!credentials(0, &place->ptag, &place->cookie))
        return -FI_EIO;
    find_rank(place);
    cqs = limit_of(place->ptag, GNI_JOB_RES_CQ);
    place->nics = nics_allowed(place, limit_of(place->ptag, GNI_JOB_RES_FMA), cqs);
    place->cqs = cqs;
    return 0;
}

/* ---- the context ----------------------------------------------------------------------------- */

/*
 * The lowest bit of the slot's pointer is a lock for the pointer and the count of references,
 * because there is no other place for a lock before the context exists. It is held for a few
 * instructions.
 */
static struct gnip_ctx *slot_lock(void **slot)
{
    uintptr_t seen = __atomic_load_n((uintptr_t *)slot, __ATOMIC_RELAXED) & ~(uintptr_t)1;

    while (!__atomic_compare_exchange_n((uintptr_t *)slot, &seen, seen | 1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
        gnip_waitable_yield(); /* the thread that holds it wakes no other thread */
        seen = __atomic_load_n((uintptr_t *)slot, __ATOMIC_RELAXED) & ~(uintptr_t)1;
    }
    return (struct gnip_ctx *)seen;
}

static void slot_unlock(void **slot, struct gnip_ctx *ctx)
{
    __atomic_store_n((uintptr_t *)slot, (uintptr_t)ctx, __ATOMIC_RELEASE);
}

static void free_ctx(struct gnip_ctx *ctx)
{
    struct port_link *link;

    while ((link = port_list_pop(&ctx->auths)) != NULL) {
        struct gnip_auth *auth = gnip_container(link, struct gnip_auth, link);

        free(auth->used);
        free(auth);
    }
    port_mutex_destroy(&ctx->lock);
    free(ctx);
}

static bool add_auths(struct gnip_ctx *ctx)
{
    struct gnip_auth *auth;
    uint32_t cookie, i;
    uint8_t ptag;

    for (i = 0; credentials(i, &ptag, &cookie); i++) {
        auth = calloc(1, sizeof(*auth));
        if (auth == NULL)
            return false;
        auth->ptag = ptag;
        auth->cookie = cookie;
        auth->user_limit = ctx->user_key_limit;
        auth->prov_limit = ctx->prov_key_limit;
        port_list_init(&auth->nics);
        port_list_append(&ctx->auths, &auth->link);
    }
    return true;
}

/*
 * Ids of endpoints. Each process of a node has a range of its own if the launcher says which; else
 * the ranges start at different places. An id is used again only after the whole range has been
 * used.
 */
static void divide_ids(struct gnip_ctx *ctx, const struct gnip_place *place)
{
    uint64_t process = port_process();
    uint32_t start = (uint32_t)((process + (process >> 32) * 1031) % (CDM_IDS / 4096)) * 4096;

    ctx->cdm_count = (CDM_IDS - 1) / place->node_processes;
    ctx->cdm_first = 1 + place->node_rank * ctx->cdm_count;
    ctx->cdm_next = start % ctx->cdm_count;
}

/* Never 0. A process that is started again after a crash has another one. */
void gnip_ctx_incarnate(struct gnip_ctx *ctx)
{
    do
        ctx->incarnation = (uint32_t)port_random();
    while (ctx->incarnation == 0);
}

static struct gnip_ctx *new_ctx(void)
{
    struct gnip_place place;
    struct gnip_ctx *ctx;

    if (gnip_place_find(&place) != 0)
        return NULL;
    ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL)
        return NULL;
    port_mutex_init(&ctx->lock);
    port_list_init(&ctx->auths);
    port_list_init(&ctx->domains);
    ctx->node_rank = place.node_rank;
    ctx->node_processes = place.node_processes;
    ctx->nics_per_ptag = place.nics;
    ctx->wait_sleep = 20;
    ctx->user_key_limit = 192;
    ctx->prov_key_limit = 64;
    ctx->shared_memory_timeout = 30;
    divide_ids(ctx, &place);
    if (!add_auths(ctx)) {
        free_ctx(ctx);
        return NULL;
    }
    gnip_ctx_incarnate(ctx);
    if (port_checks())
        port_at_end(gnip_findings_process_ends);
    port_at_wait(gnip_findings_process_waits);
    return ctx;
}

struct gnip_ctx *gnip_ctx_get(void)
{
    void **slot = port_slot(PORT_SLOT_GNI);
    struct gnip_ctx *ctx = slot_lock(slot), *made = NULL;

    if (ctx == NULL) {
        /* Without the lock, because this calls GNI. The first thread to finish sets the context. */
        slot_unlock(slot, NULL);
        made = new_ctx();
        if (made == NULL)
            return NULL;
        ctx = slot_lock(slot);
        if (ctx == NULL) {
            ctx = made;
            made = NULL;
        }
    }
    ctx->refs++;
    slot_unlock(slot, ctx);
    if (made != NULL)
        free_ctx(made);
    return ctx;
}

struct gnip_ctx *gnip_ctx_current(void)
{
    uintptr_t ctx = __atomic_load_n((uintptr_t *)port_slot(PORT_SLOT_GNI), __ATOMIC_ACQUIRE);

    return (struct gnip_ctx *)(ctx & ~(uintptr_t)1);
}

void gnip_ctx_put(struct gnip_ctx *ctx)
{
    void **slot = port_slot(PORT_SLOT_GNI);
    bool last;

    slot_lock(slot);
    assert(ctx->refs > 0);
    last = --ctx->refs == 0;
    slot_unlock(slot, last ? NULL : ctx);
    if (last)
        free_ctx(ctx);
}

uint32_t gnip_ctx_cdm(struct gnip_ctx *ctx, uint32_t count)
{
    uint32_t first;

    port_mutex_lock(&ctx->lock);
    if (ctx->cdm_next + count > ctx->cdm_count)
        ctx->cdm_next = 0;
    first = ctx->cdm_first + ctx->cdm_next;
    ctx->cdm_next += count;
    port_mutex_unlock(&ctx->lock);
    return first;
}
