/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Mailboxes of a NIC, in slabs that are registered as one region each. A returned mailbox is
 * quarantined before it is used again, because a last return of credits may still be in flight.
 *
 * Most mailboxes carry a short message now and then, so the number of touched pages matters. Large
 * mailboxes lie an odd number of half pages apart, so that two of them share a page: the end of the
 * first and the beginning of the second, which is the part that GNI's SMSG uses then. Of the first
 * and the last mailbox of a slab it uses the outer ends, since a registration touches these pages
 * anyway. Each pair is shifted by a cache line, or all would use the same few sets of the caches.
 */
#include <stdlib.h>

#include "ctx.h"
#include "gnip.h"
#include "lock.h"
#include "mbox.h"
#include "nic.h"
#include "nic_internal.h"
#include "params.h"
#include "req.h"

#define QUARANTINE 8u
#define FIRST_SLAB 8u /* mailboxes; further slabs double the number, up to the parameter */
#define LARGE 16384u
#define PAGE 4096u
#define LINE 64u
#define LINES \
    16u /* by which pairs are shifted; the end of a mailbox stays in its half of the page */

struct gnip_slab {
    struct gnip_slab *next;
    uint8_t *base;
    size_t bytes;
    gni_mem_handle_t handle;
    /* fresh: mailboxes from here on were never used, so they are zero and have no memory yet */
    uint32_t count, fresh;
};

struct place {
    struct gnip_slab *slab;
    uint32_t offset;
};

struct gnip_mbox_pool {
    struct gnip_slab *slabs; /* newest first */
    uint32_t count; /* of all slabs */
    struct place *free; /* `count` entries; last in, first out */
    uint32_t free_count;
    struct place quarantined[QUARANTINE];
    uint32_t quarantine_first, quarantine_count;
};

static int register_slab(struct gnip_nic *nic, struct gnip_slab *slab)
{
    gni_return_t rc = GNI_MemRegister(nic->gni, (uintptr_t)slab->base, slab->bytes, nic->rx_cq,
                                      GNI_MEM_READWRITE, UINT32_MAX, &slab->handle);

    if (rc == GNI_RC_SUCCESS)
        return 0;
    return rc == GNI_RC_ERROR_RESOURCE || rc == GNI_RC_ERROR_NOMEM ? -FI_EAGAIN : -gnip_errno(rc);
}

void gnip_mbox_sizes(struct gnip_nic *nic, uint32_t least)
{
    uint32_t moved = (LINES - 1) * LINE;

    nic->mbox_bytes = nic->mbox_stride = (least + LINE - 1) & ~(LINE - 1);
    if (least < LARGE)
        return;
    nic->mbox_stride = ((least + moved + PAGE / 2 - 1) & ~(PAGE - 1)) + PAGE / 2;
    nic->mbox_bytes = nic->mbox_stride - moved;
}

static uint32_t offset_of(const struct gnip_nic *nic, uint32_t index)
{
    uint32_t moved = PAGE / 2 + (index + 1) / 2 % LINES * LINE;

    return index * nic->mbox_stride + (nic->mbox_stride != nic->mbox_bytes ? moved : 0);
}

static int add_slab(struct gnip_nic *nic, struct gnip_mbox_pool *pool)
{
    const struct gnip_params *params = &nic->params;
    uint32_t count = pool->count != 0 ? pool->count : FIRST_SLAB;
    struct gnip_slab *slab;
    struct place *room;
    int rc;

    if (count > params->mbox_per_slab)
        count = params->mbox_per_slab;
    if ((uint64_t)count * nic->mbox_stride > UINT32_MAX - PAGE) /* offsets have 32 bits */
        count = (UINT32_MAX - PAGE) / nic->mbox_stride;
    room = realloc(pool->free, (pool->count + count) * sizeof(*room));
    if (room == NULL)
        return -FI_EAGAIN;
    pool->free = room;
    slab = calloc(1, sizeof(*slab));
    if (slab == NULL)
        return -FI_EAGAIN;
    slab->count = count;
    slab->bytes = offset_of(nic, count - 1) + nic->mbox_bytes;
    slab->base = port_pages_alloc(slab->bytes, params->mbox_page);
    rc = slab->base == NULL ? -FI_EAGAIN : register_slab(nic, slab);
    if (rc != 0) {
        if (slab->base != NULL)
            port_pages_free(slab->base, slab->bytes);
        free(slab);
        return rc;
    }
    slab->next = pool->slabs;
    pool->slabs = slab;
    pool->count += count;
    return 0;
}

static bool place_get_fresh(const struct gnip_nic *nic, struct gnip_slab *slab, struct place *place)
{
    if (slab == NULL || slab->fresh == slab->count)
        return false;
    *place = (struct place){slab, offset_of(nic, slab->fresh++)};
    return true;
}

/* *used: the mailbox must be zeroed. nic->lock is held. */
static int place_get(struct gnip_nic *nic, struct place *place, bool *used)
{
    struct gnip_mbox_pool *pool = nic->mailboxes;
    int rc;

    gnip_assert_held(&nic->lock);
    if (pool == NULL) {
        pool = nic->mailboxes = calloc(1, sizeof(*pool));
        if (pool == NULL)
            return -FI_EAGAIN;
    }
    assert(pool->quarantine_count <= QUARANTINE && pool->free_count <= pool->count);
    *used = true;
    if (pool->free_count > 0) {
        *place = pool->free[--pool->free_count];
        return 0;
    }
    *used = false;
    if (place_get_fresh(nic, pool->slabs, place)) /* older slabs have no fresh ones left */
        return 0;
    if (pool->quarantine_count > 0) {
        *used = true;
        *place = pool->quarantined[pool->quarantine_first];
        pool->quarantine_first = (pool->quarantine_first + 1) % QUARANTINE;
        pool->quarantine_count--;
        return 0;
    }
    rc = add_slab(nic, pool);
    if (rc != 0)
        return rc;
    return place_get_fresh(nic, pool->slabs, place) ? 0 : -FI_EAGAIN;
}

int gnip_mbox_get(struct gnip_nic *nic, struct gnip_mbox *mbox)
{
    struct place place = {0};
    bool used = false;
    int rc;

    gnip_lock(&nic->lock);
    rc = place_get(nic, &place, &used);
    gnip_unlock(&nic->lock);
    if (rc != 0)
        return rc;
    if (used)
        memset(place.slab->base + place.offset, 0, nic->mbox_bytes);
    *mbox = (struct gnip_mbox){.slab = place.slab,
                               .base = place.slab->base,
                               .offset = place.offset,
                               .bytes = nic->mbox_bytes,
                               .handle = place.slab->handle};
    return 0;
}

void gnip_mbox_put(struct gnip_nic *nic, struct gnip_mbox *mbox)
{
    struct gnip_mbox_pool *pool;
    uint32_t last;

    if (mbox->slab == NULL)
        return;
    gnip_lock(&nic->lock);
    pool = nic->mailboxes;
    assert(pool != NULL && pool->free_count + pool->quarantine_count < pool->count);
    if (pool->quarantine_count == QUARANTINE) {
        pool->free[pool->free_count++] = pool->quarantined[pool->quarantine_first];
        pool->quarantine_first = (pool->quarantine_first + 1) % QUARANTINE;
        pool->quarantine_count--;
    }
    last = (pool->quarantine_first + pool->quarantine_count++) % QUARANTINE;
    pool->quarantined[last] = (struct place){mbox->slab, mbox->offset};
    gnip_unlock(&nic->lock);
    memset(mbox, 0, sizeof(*mbox));
}

void gnip_mbox_lose(struct gnip_nic *nic, struct gnip_mbox *mbox)
{
    if (mbox->slab == NULL)
        return;
    nic->ctx->counts.mailboxes_lost++;
    memset(mbox, 0, sizeof(*mbox));
}

void gnip_mbox_free_all(struct gnip_nic *nic)
{
    struct gnip_mbox_pool *pool = nic->mailboxes;
    struct gnip_slab *slab;

    if (pool == NULL)
        return;
    while ((slab = pool->slabs) != NULL) {
        pool->slabs = slab->next;
        GNI_MemDeregister(nic->gni, &slab->handle);
        port_pages_free(slab->base, slab->bytes);
        free(slab);
    }
    free(pool->free);
    free(pool);
    nic->mailboxes = NULL;
}
