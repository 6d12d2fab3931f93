/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers that have died. A transaction to a dead peer fails, and with it the connection. But a VC
 * may wait for its peer while no transaction is in flight: for the FIN of a rendezvous, for an
 * acknowledgement, for credits, for the answer to a close message. Such a VC reads a word of the
 * peer's mailbox once in GNIP_PROBE_MS. The read succeeds without the peer's help as long as its
 * process and node exist, however long the program computes; otherwise it fails. While there is no
 * mailbox yet, the VC repeats its connection request, which a dead node does not receive.
 *
 * gnip_vc_await marks the VC and its NIC. Once in GNIP_PROBE_MS the NIC schedules all marked VCs.
 * Its helper does this; without one, the thread that polls and finds nothing. gnip_vc_probe then
 * posts the read, or removes the mark if the VC does not wait any more.
 */
#include "bounce.h"
#include "ctx.h"
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "nic.h"
#include "nic_internal.h"
#include "req.h"
#include "txd.h"
#include "vc.h"
#include "vc_internal.h"

#define PROBE_NS (GNIP_PROBE_MS * UINT64_C(1000000))
#define WORD 4u /* the least that a GET transfers */
#define FAILURES 3u /* in a row: the network may lose single packets */

gnip_cold void gnip_vc_begin_to_await(struct gnip_vc *vc)
{
    struct gnip_nic *nic = vc->nic;

    gnip_assert_held(&vc->ep->lock);
    if (vc->is_self)
        return;
    vc->probes = 0;
    __atomic_store_n(&vc->awaits, true, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&nic->awaits, true, __ATOMIC_SEQ_CST))
        return;
    if (vc->state != GNIP_VC_CONNECTING) /* cm_nic.c wakes it if there is no answer */
        gnip_nic_wake_helper(nic);
}

/* ---- one VC ---------------------------------------------------------------------------------- */

/* A VC that closes waits for a limited time only, and its last message must not wait for probes. */
static bool still_awaits(struct gnip_vc *vc)
{
    if (vc->closing)
        return false;
    switch (vc->state) {
    case GNIP_VC_CONNECTED:
        return !gnip_queue_empty(&vc->tx_queue) || !gnip_queue_empty(&vc->work) ||
               !gnip_queue_empty(&vc->remote_events) || gnip_req_unanswered(vc) != 0;
    case GNIP_VC_TERMINATING:
        return vc->close_sent && !vc->peer_gone;
    case GNIP_VC_CONNECTING:
        return vc->posted && vc->ep->type != FI_EP_MSG;
    default:
        return false;
    }
}

/* The event of the read has come. */
static void probed(struct gnip_txd *txd, gni_return_t status)
{
    bool failed = status != GNI_RC_SUCCESS, lost = failed && !txd->recoverable;
    struct gnip_vc *vc = txd->vc;
    struct gnip_ep *ep = vc->ep;

    gnip_lock(&ep->lock);
    gnip_txd_put(vc->nic, txd);
    gnip_bounce_put(ep, vc->probe);
    vc->probe = NULL;
    gnip_vc_op_done(vc, failed);
    if (lost || vc->failures >= FAILURES) {
        vc->broken = true;
        gnip_vc_schedule(vc);
    } else if (failed) {
        __atomic_store_n(&vc->rx_ready, GNIP_RX_POLL, __ATOMIC_RELAXED);
        __atomic_store_n(&vc->probe_due, true, __ATOMIC_RELAXED);
        gnip_vc_schedule(vc);
    } else if (vc->close_due || vc->ack_due) {
        gnip_vc_schedule(vc); /* its last message waited for this */
    }
    gnip_unlock(&ep->lock);
}

static gni_return_t post(struct gnip_txd *txd, struct gnip_vc *vc, const gni_mem_handle_t *local)
{
    gni_post_descriptor_t *post = &txd->transfer->post;
    gni_return_t rc;

    *post = (gni_post_descriptor_t){
        .type = GNI_POST_FMA_GET,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
        .src_cq_hndl = gnip_ep_events(vc->ep),
        .local_addr = (uintptr_t)vc->probe,
        .local_mem_hndl = *local,
        .remote_addr = vc->peer_mbox.buffer,
        .remote_mem_hndl = vc->peer_mbox.handle,
        .length = WORD,
    };
    gnip_lock(&vc->nic->lock);
    rc = GNI_PostFma(vc->gni_ep, post);
    gnip_unlock(&vc->nic->lock);
    return rc;
}

/* Without resources the next probe is the first one. */
static void read_word(struct gnip_vc *vc)
{
    gni_mem_handle_t handle;
    struct gnip_txd *txd;

    vc->probe = gnip_bounce_get(vc->ep, &handle);
    if (vc->probe == NULL)
        return;
    txd = gnip_txd_get_transfer(vc->nic);
    if (txd != NULL) {
        txd->req = NULL;
        txd->vc = vc;
        txd->done = probed;
        if (post(txd, vc, &handle) == GNI_RC_SUCCESS) {
            vc->outstanding++;
            vc->nic->ctx->counts.probes++;
            return;
        }
        gnip_txd_put(vc->nic, txd);
    }
    gnip_bounce_put(vc->ep, vc->probe);
    vc->probe = NULL;
}

/*
 * A request that is repeated takes one of the peer's datagrams until its program makes progress, so
 * requests become rarer.
 */
static bool is_power_of_two(uint32_t number)
{
    return (number & (number - 1)) == 0;
}

gnip_cold void gnip_vc_probe(struct gnip_vc *vc)
{
    gnip_assert_held(&vc->ep->lock);
    if (!__atomic_exchange_n(&vc->probe_due, false, __ATOMIC_RELAXED))
        return;
    if (!still_awaits(vc)) {
        __atomic_store_n(&vc->awaits, false, __ATOMIC_SEQ_CST);
        return;
    }
    __atomic_store_n(&vc->nic->awaits, true, __ATOMIC_SEQ_CST);
    vc->probes++;
    if (vc->state == GNIP_VC_CONNECTING) {
        if (is_power_of_two(vc->probes))
            gnip_vc_request_again(vc);
        return;
    }
    if (vc->probe == NULL && vc->gni_ep != NULL && !vc->broken)
        read_word(vc);
}

/* ---- all VCs of a NIC ------------------------------------------------------------------------ */

/* vc_lock is held. */
static void schedule_all(struct gnip_nic *nic)
{
    uint8_t ready;
    uint32_t at;

    gnip_assert_held(&nic->vc_lock);
    __atomic_store_n(&nic->awaits, false, __ATOMIC_SEQ_CST); /* those that still do say so */
    for (at = 0; at < nic->vc_slot_count; at++) {
        struct gnip_vc *vc = nic->vc_slots[at].vc;

        if (vc == NULL || !__atomic_load_n(&vc->awaits, __ATOMIC_SEQ_CST))
            continue;
        __atomic_store_n(&vc->probe_due, true, __ATOMIC_RELAXED);
        ready = GNIP_RX_EVENTS;
        __atomic_compare_exchange_n(&vc->rx_ready, &ready, GNIP_RX_POLL, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
        gnip_vc_link(nic, vc);
    }
}

/* The timer is that of the thread that polls first; others see that it rang when they poll. */
gnip_cold void gnip_nic_probe_peers(struct gnip_nic *nic)
{
    gnip_lock(&nic->vc_lock);
    if (!nic->probe_timer_runs) {
        nic->probe_timer_runs = true;
        port_timer_start(&nic->probe_timer, PROBE_NS);
    } else if (port_timer_rang(&nic->probe_timer)) {
        gnip_nic_stop_probes(nic);
        schedule_all(nic);
    }
    gnip_unlock(&nic->vc_lock);
}

gnip_cold void gnip_nic_stop_probes(struct gnip_nic *nic)
{
    if (nic->probe_timer_runs)
        port_timer_stop(&nic->probe_timer);
    nic->probe_timer_runs = false;
}

gnip_cold uint64_t gnip_nic_helper_probes(struct gnip_nic *nic, uint64_t last)
{
    uint64_t now;

    if (!__atomic_load_n(&nic->awaits, __ATOMIC_SEQ_CST))
        return 0;
    now = port_now();
    if (last == 0 || now - last < PROBE_NS)
        return last != 0 ? last : now;
    gnip_lock(&nic->vc_lock);
    schedule_all(nic);
    gnip_unlock(&nic->vc_lock);
    return now;
}
