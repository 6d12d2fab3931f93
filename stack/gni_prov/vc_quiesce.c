/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ends a connection without a loss; it is made again when it is needed ("domain ops 3"):
 *
 *   A, quiesces                                    B
 *   issues nothing new ──── VC_CLOSE (QUIESCE) ──▶ issues nothing new; its operations end
 *   CONNECTED, answers     ...
 *   TERMINATED ◀──────────── VC_CLOSE_ACK ─────── TERMINATED; queued operations connect again
 *
 * A sends its VC_CLOSE when it has nothing in flight itself; from then on it only answers
 * operations of B that are in flight. B sends nothing after its ACK. When both sides send a
 * VC_CLOSE, each takes the other's as the answer.
 */
#include "ep.h"
#include "gnip.h"
#include "queue.h"
#include "lock.h"
#include "onesided.h"
#include "proto.h"
#include "vc.h"
#include "vc_internal.h"

/* Nothing is in flight in either direction, as far as this side knows. */
static bool quiet(const struct gnip_vc *vc)
{
    return vc->outstanding == 0 && gnip_queue_empty(&vc->work) && !gnip_onesided_waits(vc) &&
           vc->rx_credits_late == 0;
}

static void leave(struct gnip_vc *vc)
{
    gnip_vc_terminate(vc, 0, true);
}

gnip_cold void gnip_vc_quiesce_requested(struct gnip_vc *vc)
{
    if (vc->quiesce_sent) {
        vc->peer_gone = true;
        leave(vc);
        return;
    }
    vc->quiescing = vc->quiesce_requested = true;
    gnip_vc_schedule(vc);
}

gnip_cold void gnip_vc_quiesce_step(struct gnip_vc *vc)
{
    if (vc->state != GNIP_VC_CONNECTED || vc->quiesce_sent || !quiet(vc))
        return;
    if (vc->quiesce_requested) {
        vc->ack_due = true;
        leave(vc);
    } else if (vc->is_self) {
        vc->peer_gone = true;
        leave(vc);
    } else if (gnip_vc_send_close(vc, GNIP_VC_CLOSE, GNIP_CLOSE_QUIESCE)) {
        vc->quiesce_sent = true;
    } else {
        gnip_vc_schedule(vc); /* no descriptor or no credit */
    }
}

bool gnip_vc_quiesce(struct gnip_vc *vc, bool begin)
{
    gnip_assert_held(&vc->ep->lock);
    if (vc->state == GNIP_VC_CONNECTED && begin && !vc->quiescing) {
        vc->quiescing = true;
        gnip_vc_schedule(vc);
    } else if (vc->state == GNIP_VC_CONNECTED && !begin && !vc->quiesce_sent &&
               !vc->quiesce_requested) {
        vc->quiescing = false;
        gnip_vc_schedule(vc);
    } else if (!begin && !gnip_queue_empty(&vc->tx_queue)) {
        gnip_vc_connect(vc);
    }
    return vc->state == GNIP_VC_NONE || vc->state == GNIP_VC_TERMINATED;
}
