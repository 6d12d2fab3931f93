/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a connection ends without a loss, to be made again when it is needed ("domain ops 3"):
 *
 *   A, rests                                    B
 *   issues nothing new ──── VC_CLOSE (REST) ──▶ issues nothing new; what it has under way ends
 *   CONNECTED, answers     ...
 *   TERMINATED ◀───────── VC_CLOSE_ACK ───────  TERMINATED; what is queued asks for a connection
 *
 * A asks when it has nothing under way itself; from then on it only answers what B has under way.
 * B says nothing after its ack. When both ask, each takes that as the answer.
 */
#include "gnip.h"
#include "list.h"
#include "onesided.h"
#include "proto.h"
#include "vc.h"
#include "vc_internal.h"

/* Nothing is under way, in neither direction as far as this side knows. */
static bool quiet(const struct gnip_vc *vc)
{
    return vc->outstanding == 0 && gnip_queue_empty(&vc->work) && !gnip_onesided_waits(vc) &&
           vc->late == 0;
}

static void leave(struct gnip_vc *vc)
{
    gnip_vc_terminate(vc, 0, true);
}

gnip_cold void gnip_vc_quiesce_requested(struct gnip_vc *vc)
{
    if (vc->rest_sent) {
        vc->peer_gone = true;
        leave(vc);
        return;
    }
    vc->resting = vc->rest_asked = true;
    gnip_vc_schedule(vc);
}

gnip_cold void gnip_vc_quiesce_step(struct gnip_vc *vc)
{
    if (vc->state != GNIP_VC_CONNECTED || vc->rest_sent || !quiet(vc))
        return;
    if (vc->rest_asked) {
        vc->ack_due = true;
        leave(vc);
    } else if (vc->is_self) {
        vc->peer_gone = true;
        leave(vc);
    } else if (gnip_vc_send_close(vc, GNIP_VC_CLOSE, GNIP_CLOSE_QUIESCE)) {
        vc->rest_sent = true;
    } else {
        gnip_vc_schedule(vc); /* no descriptor or no credit */
    }
}

bool gnip_vc_quiesce(struct gnip_vc *vc, bool begin)
{
    if (vc->state == GNIP_VC_CONNECTED && begin && !vc->resting) {
        vc->resting = true;
        gnip_vc_schedule(vc);
    } else if (vc->state == GNIP_VC_CONNECTED && !begin && !vc->rest_sent && !vc->rest_asked) {
        vc->resting = false;
        gnip_vc_schedule(vc);
    } else if (!begin && !gnip_queue_empty(&vc->tx_queue)) {
        gnip_vc_connect(vc);
    }
    return vc->state == GNIP_VC_NONE || vc->state == GNIP_VC_TERMINATED;
}
