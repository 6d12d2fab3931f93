/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#define RETRIES_MAX 8

static int check(struct domain *domain, gni_return_t code, const char *call)
{
    if (code == GNI_RC_SUCCESS)
        return 0;
    return rank_fail(domain->rank, "%s: %s", call, gni_err_str[code]);
}

int domain_open(struct domain *domain, struct rank *rank, uint32_t modes, uint32_t source_entries,
                uint32_t target_entries)
{
    memset(domain, 0, sizeof(*domain));
    domain->rank = rank;
    domain->endpoints = calloc(rank_size(rank), sizeof(*domain->endpoints));
    if (check(domain,
              GNI_CdmCreate(rank_id(rank), rank_ptag(rank), rank_cookie(rank),
                            modes | GNI_CDM_MODE_ERR_NO_KILL, &domain->cdm),
              "GNI_CdmCreate") != 0 ||
        check(domain, GNI_CdmAttach(domain->cdm, 0, &domain->address, &domain->nic),
              "GNI_CdmAttach") != 0 ||
        check(domain,
              GNI_CqCreate(domain->nic, source_entries, 0, GNI_CQ_NOBLOCK, NULL, NULL,
                           &domain->source),
              "GNI_CqCreate") != 0)
        return -1;
    if (target_entries == 0)
        return 0;
    return check(
        domain,
        GNI_CqCreate(domain->nic, target_entries, 0, GNI_CQ_NOBLOCK, NULL, NULL, &domain->target),
        "GNI_CqCreate");
}

int domain_share(struct domain *domain, size_t bytes)
{
    struct peer mine = {0};

    domain->bytes = bytes;
    domain->memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    memset(domain->memory, 0, bytes);
    if (check(domain,
              GNI_MemRegister(domain->nic, (uintptr_t)domain->memory, bytes, domain->target,
                              GNI_MEM_READWRITE, UINT32_MAX, &domain->handle),
              "GNI_MemRegister") != 0)
        return -1;
    mine.base = (uintptr_t)domain->memory;
    mine.handle = domain->handle;
    mine.address = domain->address;
    domain->peers = rank_exchange(domain->rank, &mine, sizeof(mine));
    return domain->peers != NULL ? 0 : -1;
}

void domain_close(struct domain *domain)
{
    if (domain->cdm != NULL)
        GNI_CdmDestroy(domain->cdm); /* and with it endpoints, queues and registrations */
    if (domain->errors > 0)
        rank_count(domain->rank, "errors", domain->errors);
    free(domain->endpoints);
    free(domain->memory);
}

gni_ep_handle_t domain_endpoint(struct domain *domain, uint32_t rank)
{
    gni_ep_handle_t *endpoint = &domain->endpoints[rank];

    if (*endpoint == NULL &&
        (check(domain, GNI_EpCreate(domain->nic, domain->source, endpoint), "GNI_EpCreate") != 0 ||
         check(domain, GNI_EpBind(*endpoint, domain->peers[rank].address, rank), "GNI_EpBind") !=
             0))
        return NULL;
    return *endpoint;
}

static gni_return_t post_once(gni_ep_handle_t endpoint, gni_post_descriptor_t *post)
{
    switch (post->type) {
    case GNI_POST_RDMA_PUT:
    case GNI_POST_RDMA_GET:
        return GNI_PostRdma(endpoint, post);
    case GNI_POST_CQWRITE:
        return GNI_PostCqWrite(endpoint, post);
    default:
        return GNI_PostFma(endpoint, post);
    }
}

int domain_post(struct domain *domain, uint32_t rank, gni_post_descriptor_t *post)
{
    gni_ep_handle_t endpoint = domain_endpoint(domain, rank);
    gni_return_t code;

    if (endpoint == NULL)
        return -1;
    post->post_id = rank; /* whom to send it to again */
    post->prev_descr = NULL; /* counts how often: nobody else uses the field */
    do
        code = post_once(endpoint, post);
    while (code == GNI_RC_ERROR_RESOURCE || code == GNI_RC_ERROR_NOMEM);
    return check(domain, code, "post");
}

/* Posts a failed descriptor again. False: not recoverable, or too often. */
static bool post_again(struct domain *domain, gni_post_descriptor_t *post, gni_cq_entry_t event)
{
    uintptr_t tries = (uintptr_t)post->prev_descr;
    uint32_t recoverable = 0;

    domain->errors++;
    if (GNI_CqErrorRecoverable(event, &recoverable) != GNI_RC_SUCCESS || !recoverable ||
        tries >= RETRIES_MAX)
        return false;
    post->prev_descr = (void *)(tries + 1);
    return post_once(domain->endpoints[post->post_id], post) == GNI_RC_SUCCESS;
}

int domain_reap(struct domain *domain, bool wait, gni_post_descriptor_t **post)
{
    gni_cq_entry_t event;
    gni_return_t code;

    for (;;) {
        *post = NULL;
        code = GNI_CqGetEvent(domain->source, &event);
        if (code == GNI_RC_NOT_DONE) {
            if (wait)
                continue;
            return 0;
        }
        if (code != GNI_RC_SUCCESS && code != GNI_RC_TRANSACTION_ERROR)
            return check(domain, code, "GNI_CqGetEvent");
        if (GNI_CQ_GET_TYPE(event) != GNI_CQ_EVENT_TYPE_POST)
            continue;
        code = GNI_GetCompleted(domain->source, event, post);
        if (code == GNI_RC_SUCCESS)
            return 0;
        if (code != GNI_RC_TRANSACTION_ERROR)
            return check(domain, code, "GNI_GetCompleted");
        if (!post_again(domain, *post, event))
            return 1;
    }
}

int domain_transfer(struct domain *domain, uint32_t rank, gni_post_descriptor_t *post)
{
    gni_post_descriptor_t *done;

    if (domain_post(domain, rank, post) != 0)
        return -1;
    return domain_reap(domain, true, &done);
}

void post_fill(const struct domain *domain, gni_post_descriptor_t *post, gni_post_type_t type,
               uint32_t rank, size_t local, size_t remote, size_t length)
{
    memset(post, 0, sizeof(*post));
    post->type = type;
    post->cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    post->dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    post->local_addr = (uintptr_t)domain->memory + local;
    post->local_mem_hndl = domain->handle;
    post->remote_addr = domain->peers[rank].base + remote;
    post->remote_mem_hndl = domain->peers[rank].handle;
    post->length = length;
}

static uint8_t pattern(uint32_t rank, uint64_t round, size_t at)
{
    uint64_t x = (rank + 1) * 0x9e3779b97f4a7c15ull + round * 0xbf58476d1ce4e5b9ull +
                 at / 8 * 0x94d049bb133111ebull;

    return (uint8_t)((x ^ x >> 31) >> (at % 8 * 8));
}

void pattern_fill(uint8_t *bytes, size_t length, uint32_t rank, uint64_t round)
{
    size_t i;

    for (i = 0; i < length; i++)
        bytes[i] = pattern(rank, round, i);
}

bool pattern_check(const uint8_t *bytes, size_t length, uint32_t rank, uint64_t round)
{
    size_t i;

    for (i = 0; i < length; i++)
        if (bytes[i] != pattern(rank, round, i))
            return false;
    return true;
}
