/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Transmit descriptors of a NIC. There are as many as its completion queue has entries, so that the
 * queue cannot overrun. They are allocated when they are first needed, and reused last in, first
 * out.
 */
#include <stdlib.h>

#include "ctx.h"
#include "gnip.h"
#include "lock.h"
#include "nic.h"
#include "nic_internal.h"
#include "txd.h"
#include "vc.h"

/* False: no memory. txd_lock is held. */
static gnip_cold bool make_some(struct gnip_nic *nic)
{
    struct gnip_txd **chunks, *chunk;
    uint32_t i;

    gnip_assert_held(&nic->txd_lock);
    if (nic->txd_chunks == NULL) {
        chunks = calloc((nic->txd_count + GNIP_TXD_CHUNK - 1) / GNIP_TXD_CHUNK, sizeof(*chunks));
        if (chunks == NULL)
            return false;
        nic->txd_chunks = chunks;
    }
    chunk = aligned_alloc(64, GNIP_TXD_CHUNK * sizeof(*chunk));
    if (chunk == NULL)
        return false;
    memset(chunk, 0, GNIP_TXD_CHUNK * sizeof(*chunk));
    nic->txd_chunks[nic->txd_made / GNIP_TXD_CHUNK] = chunk;
    for (i = GNIP_TXD_CHUNK; i-- > 0;) {
        chunk[i].nic = nic;
        chunk[i].id = nic->txd_made + i;
        chunk[i].next = nic->txd_free;
        nic->txd_free = &chunk[i];
    }
    nic->txd_made += GNIP_TXD_CHUNK;
    return true;
}

struct gnip_txd *gnip_txd_get(struct gnip_nic *nic, bool reserved)
{
    uint32_t most = nic->txd_count - (reserved ? 0 : nic->txd_reserved);
    struct gnip_txd *txd = NULL;

    gnip_lock(&nic->txd_lock);
    if (gnip_likely(nic->txd_used < most) &&
        (gnip_likely(nic->txd_free != NULL) || make_some(nic))) {
        txd = nic->txd_free;
        nic->txd_free = txd->next;
        nic->txd_used++;
        txd->smsg = txd->collected = false;
    }
    gnip_unlock(&nic->txd_lock);
    if (gnip_unlikely(txd == NULL))
        nic->ctx->counts.txd_stalls++;
    return txd;
}

struct gnip_txd *gnip_txd_get_transfer(struct gnip_nic *nic)
{
    struct gnip_txd *txd = gnip_txd_get(nic, false);

    if (gnip_unlikely(txd == NULL) || gnip_likely(txd->transfer != NULL))
        return txd;
    txd->transfer = calloc(1, sizeof(*txd->transfer));
    if (txd->transfer == NULL) {
        gnip_txd_put(nic, txd);
        return NULL;
    }
    txd->transfer->txd = txd;
    return txd;
}

void gnip_txd_put(struct gnip_nic *nic, struct gnip_txd *txd)
{
    gnip_lock(&nic->txd_lock);
    assert(nic->txd_used > 0 && nic->txd_used <= nic->txd_count && txd->nic == nic);
    txd->vc = NULL;
    txd->next = nic->txd_free;
    nic->txd_free = txd;
    assert(nic->txd_used > 0);
    nic->txd_used--;
    gnip_unlock(&nic->txd_lock);
}

static void forgotten(struct gnip_txd *txd, gni_return_t status)
{
    (void)status;
    gnip_txd_put(txd->nic, txd);
}

uint32_t gnip_txd_forget(struct gnip_nic *nic, const struct gnip_vc *vc)
{
    uint32_t i, messages = 0;

    gnip_lock(&nic->lock); /* no thread is reading events */
    gnip_lock(&nic->txd_lock);
    for (i = 0; i < nic->txd_made; i++) {
        struct gnip_txd *txd = gnip_txd_at(nic, i);

        if (txd->vc != vc || txd->collected)
            continue;
        messages += txd->smsg;
        txd->vc = NULL;
        txd->req = NULL;
        txd->done = forgotten;
    }
    gnip_unlock(&nic->txd_lock);
    gnip_unlock(&nic->lock);
    return messages;
}

void gnip_txd_free_all(struct gnip_nic *nic)
{
    uint32_t i;

    for (i = 0; i < nic->txd_made; i++)
        free(gnip_txd_at(nic, i)->transfer);
    for (i = 0; i < nic->txd_made; i += GNIP_TXD_CHUNK)
        free(nic->txd_chunks[i / GNIP_TXD_CHUNK]);
    free(nic->txd_chunks);
    nic->txd_chunks = NULL;
    nic->txd_free = NULL;
    nic->txd_made = 0;
}
