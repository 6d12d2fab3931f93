/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * VCs connect. Either side may begin:
 *
 *   A                                            B
 *   NONE → CONNECTING  ── CONN_REQ, mailbox ──▶  NONE → CONNECTING
 *   CONNECTING → CONNECTED ◀── CONN_RESP ──────  CONNECTING → CONNECTED
 *
 * When both begin (simultaneous connect), each takes the other's request as the answer. A mailbox
 * is zero before it is described to the peer, which may write to it from then on: events that come
 * before the VC is connected are counted (rx_events). vc_receive.c handles messages that arrive;
 * vc_close.c ends connections.
 */
#include <stdlib.h>

#include "cm_nic.h"
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "mbox.h"
#include "nic.h"
#include "params.h"
#include "proto.h"
#include "req.h"
#include "rx_window.h"
#include "vc.h"
#include "vc_internal.h"
#include "watch.h"

#define CREDITS_MANY 8u /* from this number on, some are kept for messages that must not wait */
#define CREDITS_KEPT 2u
#define KICK_ROUNDS 16u /* of control progress for a new connection */

/* ---- states ---------------------------------------------------------------------------------- */

#define TO(state) (1u << GNIP_VC_##state)

bool gnip_vc_move(struct gnip_vc *vc, enum gnip_vc_state to)
{
    static const uint8_t allowed[] = {
        [0] = TO(NONE),
        [GNIP_VC_NONE] = TO(CONNECTING) | TO(CONNECTED) | TO(TERMINATED) | TO(ERROR),
        [GNIP_VC_CONNECTING] = TO(NONE) | TO(CONNECTED) | TO(TERMINATING) | TO(ERROR),
        [GNIP_VC_CONNECTED] = TO(TERMINATING) | TO(ERROR),
        [GNIP_VC_TERMINATING] = TO(TERMINATED) | TO(ERROR),
        [GNIP_VC_TERMINATED] = TO(NONE),
        [GNIP_VC_ERROR] = TO(TERMINATED),
    };
    static const char *const names[] = {
        [GNIP_VC_NONE] = "none",
        [GNIP_VC_CONNECTING] = "connecting",
        [GNIP_VC_CONNECTED] = "connected",
        [GNIP_VC_TERMINATING] = "terminating",
        [GNIP_VC_TERMINATED] = "terminated",
        [GNIP_VC_ERROR] = "error",
    };

    gnip_assert_held(&vc->ep->lock);
    if (gnip_unlikely(!(allowed[vc->state] & 1u << to))) {
        gnip_warn(FI_LOG_EP_CTRL, "connection %u must not go from state %s to %s: it fails", vc->id,
                  vc->state != 0 ? names[vc->state] : "new", names[to]);
        vc->nic->ctx->counts.illegal_transitions++;
        vc->broken = true; /* its progress fails the VC */
        gnip_vc_schedule(vc);
        return false;
    }
    port_connection(vc, vc->peer.device_addr, vc->peer.cdm_id, names[to]);
    vc->nic->ctx->counts.transitions[vc->state][to]++;
    vc->state = (uint8_t)to;
    if (gnip_unlikely(vc->ep->closer != NULL))
        port_thread_wake(vc->ep->closer);
    return true;
}

/* ---- descriptions ---------------------------------------------------------------------------- */

/* Allocates what a connection needs on our side. 0, -FI_EAGAIN, -errno. */
static int prepare(struct gnip_vc *vc)
{
    int rc;

    if (vc->id == 0)
        vc->id = gnip_vc_id_get(vc->nic, vc);
    if (vc->id == 0)
        return -FI_EAGAIN;
    if (vc->mbox.slab == NULL) {
        rc = gnip_mbox_get(vc->nic, &vc->mbox);
        if (rc != 0)
            return rc;
        vc->exposed = false;
        vc->rx_unannounced = 0; /* it is empty, and every event is counted */
        __atomic_store_n(&vc->rx_events, 0, __ATOMIC_RELAXED);
    }
    gnip_rx_window_open(vc);
    return 0;
}

static void describe(const struct gnip_vc *vc, struct gnip_conn *conn)
{
    const struct gnip_ep *ep = vc->ep;
    const struct gnip_nic *nic = vc->nic;

    memset(conn, 0, sizeof(*conn));
    conn->version = GNIP_WIRE_VERSION;
    conn->name_type = (uint8_t)ep->name.name_type;
    conn->rx_ctx_cnt = (uint8_t)ep->name.rx_ctx_cnt;
    conn->source_cdm = ep->name.cdm_id;
    conn->source_vc = vc->id;
    conn->incarnation = nic->ctx->incarnation;
    conn->key_offset = (uint16_t)ep->name.key_offset;
    conn->flags = __atomic_load_n(&nic->automatic, __ATOMIC_ACQUIRE) ? GNIP_CONN_AUTO : 0;
    conn->caps = ep->caps;
    conn->mailbox.buffer = (uintptr_t)vc->mbox.base;
    conn->mailbox.handle = vc->mbox.handle;
    conn->mailbox.bytes = vc->mbox.bytes;
    conn->mailbox.offset = vc->mbox.offset;
    conn->mailbox.credits = (uint16_t)nic->params.mbox_credits;
    conn->mailbox.rx_credits = vc->rx_credits_first;
    conn->mailbox.message_bytes = nic->params.mbox_message;
    conn->mailbox.doorbell = nic->doorbell_handle;
}

bool gnip_vc_fits(const struct gnip_conn *conn)
{
    return conn->version == GNIP_WIRE_VERSION && conn->source_vc != 0 &&
           conn->mailbox.credits >= GNIP_CREDITS_LEAST &&
           conn->mailbox.message_bytes >= GNIP_SMSG_LEAST;
}

/* Takes over the peer's description, before the state says that it can be used. */
void gnip_vc_adopt(struct gnip_vc *vc, const struct gnip_conn *conn)
{
    vc->peer_id = conn->source_vc;
    vc->incarnation = conn->incarnation;
    vc->peer_key_offset = conn->key_offset;
    vc->peer_flags = conn->flags;
    vc->peer_caps = conn->caps;
    vc->peer_doorbell = conn->mailbox.doorbell;
    vc->peer_mbox = conn->mailbox;
    vc->tx_credits = conn->mailbox.rx_credits;
    vc->tx_credits_used = 0;
    vc->recent_key = 0;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static gni_return_t make_ep(struct gnip_vc *vc, uint32_t credits)
{
    const struct gnip_conn_mailbox *theirs = &vc->peer_mbox;
    gni_smsg_attr_t local = {
        .msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT,
        .msg_buffer = vc->mbox.base,
        .buff_size = vc->mbox.bytes,
        .mem_hndl = vc->mbox.handle,
        .mbox_offset = vc->mbox.offset,
        .mbox_maxcredit = (uint16_t)credits,
        .msg_maxsize = vc->message_bytes,
    };
    gni_smsg_attr_t remote = {
        .msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT,
        .msg_buffer = (void *)(uintptr_t)theirs->buffer,
        .buff_size = theirs->bytes,
        .mem_hndl = theirs->handle,
        .mbox_offset = theirs->offset,
        .mbox_maxcredit = (uint16_t)credits,
        .msg_maxsize = vc->message_bytes,
    };
    gni_ep_handle_t ep = NULL;
    gni_return_t rc;

    rc = GNI_EpCreate(vc->nic->gni, gnip_ep_events(vc->ep), &ep);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpBind(ep, vc->peer.device_addr, vc->peer.cdm_id);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_SmsgInit(ep, &local, vc->is_self ? &local : &remote);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpSetEventData(ep, vc->id, vc->peer_id);
    if (rc == GNI_RC_SUCCESS)
        vc->gni_ep = ep;
    else if (ep != NULL)
        GNI_EpDestroy(ep);
    return rc;
}

int gnip_vc_wire(struct gnip_vc *vc)
{
    const struct gnip_params *params = &vc->nic->params;
    uint32_t threshold = vc->ep->domain->params.msg_rendezvous_threshold, credits;
    gni_return_t rc;

    if (vc->gni_ep != NULL)
        return 0;
    credits = smaller(params->mbox_credits, vc->peer_mbox.credits);
    vc->mailbox_credits = (uint16_t)credits;
    vc->smsg_limit = credits >= CREDITS_MANY ? credits - CREDITS_KEPT : UINT32_MAX;
    vc->message_bytes = smaller(params->mbox_message, vc->peer_mbox.message_bytes);
    vc->eager_max = vc->message_bytes - (uint32_t)sizeof(struct gnip_eager);
    if (threshold <= vc->eager_max)
        vc->eager_max = threshold != 0 ? threshold - 1 : 0;
    gnip_lock(&vc->nic->lock);
    rc = make_ep(vc, credits);
    gnip_unlock(&vc->nic->lock);
    if (rc == GNI_RC_ERROR_RESOURCE || rc == GNI_RC_ERROR_NOMEM)
        return -FI_EAGAIN;
    return -gnip_errno(rc);
}

/* Sends what waits, and receives messages: an event may have come before. */
static void begin_traffic(struct gnip_vc *vc)
{
    __atomic_store_n(&vc->rx_ready, GNIP_RX_POLL, __ATOMIC_RELAXED);
    gnip_vc_schedule(vc);
}

void gnip_vc_now_connected(struct gnip_vc *vc)
{
    assert(vc->gni_ep != NULL && vc->peer_id != 0);
    port_spend(PORT_COST_CONNECT, 1);
    /* the peer has a new connection, so it has left the old one */
    gnip_mbox_put(vc->nic, &vc->old_mbox);
    vc->broken = vc->peer_gone = false;
    vc->exposed = true;
    vc->failures = 0;
    vc->blocked = GNIP_BLOCKED_UNKNOWN;
    gnip_watch_connected(vc);
    gnip_vc_move(vc, GNIP_VC_CONNECTED);
    begin_traffic(vc);
    vc->posted = vc->simultaneous = vc->answer = false;
}

/* ---- for MSG endpoints ----------------------------------------------------------------------- */

int gnip_vc_describe(struct gnip_vc *vc, struct gnip_conn *ours)
{
    int rc = prepare(vc);

    gnip_assert_held(&vc->ep->lock);
    if (rc != 0)
        return rc;
    describe(vc, ours);
    vc->exposed = true;
    if (vc->state == GNIP_VC_NONE)
        gnip_vc_move(vc, GNIP_VC_CONNECTING);
    return 0;
}

int gnip_vc_establish(struct gnip_vc *vc, const struct gnip_conn *theirs)
{
    int rc;

    if (!gnip_vc_fits(theirs))
        return -FI_EINVAL;
    gnip_vc_adopt(vc, theirs);
    rc = gnip_vc_wire(vc);
    if (rc == 0)
        gnip_vc_now_connected(vc);
    return rc;
}

/* ---- connecting ------------------------------------------------------------------------------ */

static int connect_to_self(struct gnip_vc *vc)
{
    struct gnip_conn self;
    int rc = prepare(vc);

    if (rc != 0)
        return rc;
    describe(vc, &self);
    self.flags = 0; /* it need not wake itself */
    vc->is_self = true;
    gnip_vc_adopt(vc, &self);
    rc = gnip_vc_wire(vc);
    if (rc == 0)
        gnip_vc_now_connected(vc);
    return rc;
}

static int request(struct gnip_vc *vc)
{
    struct gnip_conn conn;
    int rc;

    if (vc->peer.device_addr == vc->ep->name.device_addr && vc->peer.cdm_id == vc->ep->name.cdm_id)
        return connect_to_self(vc);
    rc = prepare(vc);
    if (rc != 0)
        return rc;
    describe(vc, &conn);
    conn.type = GNIP_CONN_REQ;
    conn.target_cdm = vc->peer.cdm_id;
    __atomic_store_n(&vc->ep->cm_nic->awaits, true, __ATOMIC_SEQ_CST);
    rc = gnip_cm_send(vc->ep->cm_nic, vc->peer.device_addr, vc->peer.cm_nic_cdm_id, &conn,
                      sizeof(conn));
    if (rc != 0)
        return rc;
    port_spend(PORT_COST_CONNECT, 1);
    vc->nic->ctx->counts.conn_req++;
    vc->posted = vc->exposed = true;
    gnip_vc_move(vc, GNIP_VC_CONNECTING);
    gnip_vc_await(vc);
    return 0;
}

void gnip_vc_request_again(struct gnip_vc *vc)
{
    struct gnip_conn conn;

    gnip_assert_held(&vc->ep->lock);
    assert(vc->state == GNIP_VC_CONNECTING && vc->posted && vc->id != 0);
    describe(vc, &conn);
    conn.type = GNIP_CONN_REQ;
    conn.target_cdm = vc->peer.cdm_id;
    if (gnip_cm_send(vc->ep->cm_nic, vc->peer.device_addr, vc->peer.cm_nic_cdm_id, &conn,
                     sizeof(conn)) == 0) /* else the first one is still in flight */
        vc->nic->ctx->counts.conn_req++;
}

/* An endpoint that is not enabled has no store for messages yet. */
static bool may_accept(const struct gnip_ep *ep)
{
    return (ep->tx_enabled || ep->rx_enabled) && ep->tagged != NULL && ep->untagged != NULL;
}

static int answer(struct gnip_vc *vc)
{
    struct gnip_conn conn;
    int rc;

    if (!may_accept(vc->ep))
        return -FI_EAGAIN;
    rc = prepare(vc);
    if (rc == 0)
        rc = gnip_vc_wire(vc);
    if (rc != 0)
        return rc;
    describe(vc, &conn);
    conn.type = GNIP_CONN_RESP;
    conn.target_cdm = vc->peer.cdm_id;
    conn.target_vc = vc->peer_id;
    rc = gnip_cm_send(vc->ep->cm_nic, vc->peer.device_addr, vc->peer.cm_nic_cdm_id, &conn,
                      sizeof(conn));
    if (rc != 0)
        return rc;
    vc->nic->ctx->counts.conn_resp++;
    vc->answer = false;
    if (vc->state == GNIP_VC_CONNECTING)
        gnip_vc_now_connected(vc);
    return 0;
}

/* Both sides have begun to connect, and the peer's request is here. */
static int cross(struct gnip_vc *vc)
{
    int rc = gnip_vc_wire(vc);

    if (rc == 0)
        gnip_vc_now_connected(vc);
    return rc;
}

/* Does what the state requires. 0: nothing more to do, or it has failed; -FI_EAGAIN. */
static int connect_step(struct gnip_vc *vc)
{
    int rc = 0;

    gnip_assert_held(&vc->ep->lock);
    if (vc->closing)
        return 0;
    if (vc->ep->domain->suspended && vc->state == GNIP_VC_NONE)
        return -FI_EAGAIN;
    if (vc->paused) {
        if (!port_timer_rang(&vc->pause))
            return -FI_EAGAIN;
        port_timer_stop(&vc->pause);
        vc->paused = false;
    }
    if (vc->answer && (vc->state == GNIP_VC_CONNECTING || vc->state == GNIP_VC_CONNECTED))
        rc = answer(vc);
    else if (vc->state == GNIP_VC_NONE)
        rc = request(vc);
    else if (vc->state == GNIP_VC_CONNECTING && vc->simultaneous)
        rc = cross(vc);
    if (rc == 0 || rc == -FI_EAGAIN)
        return rc;
    gnip_vc_fail(vc, -rc);
    return 0;
}

void gnip_vc_progress_control(struct gnip_nic *nic)
{
    uint32_t polls = 0, rounds = KICK_ROUNDS;

    while (__atomic_load_n(&nic->ready_count, __ATOMIC_RELAXED) != 0 && rounds-- > 0)
        if (gnip_nic_progress(nic, &polls) == 0)
            break;
}

static int connect_work(struct gnip_work *work)
{
    struct gnip_vc *vc = gnip_container(work, struct gnip_vc, connect);
    struct gnip_ep *ep = vc->ep;
    int rc;

    gnip_lock(&ep->lock);
    rc = connect_step(vc);
    gnip_unlock(&ep->lock);
    if (rc == 0)
        gnip_vc_progress_control(vc->nic);
    return rc;
}

void gnip_vc_advance(struct gnip_vc *vc)
{
    if (connect_step(vc) != -FI_EAGAIN)
        return;
    vc->connect.run = connect_work;
    gnip_cm_work_add(vc->ep->cm_nic, &vc->connect);
}

gnip_cold void gnip_vc_connect(struct gnip_vc *vc)
{
    gnip_assert_held(&vc->ep->lock);
    if (vc->ep->type == FI_EP_MSG || vc->connect.queued || vc->ep->domain->suspended)
        return;
    if (vc->state == GNIP_VC_TERMINATED && !vc->closing)
        gnip_vc_move(vc, GNIP_VC_NONE);
    if (vc->state == GNIP_VC_NONE)
        gnip_vc_advance(vc);
}

void gnip_vc_accept_request(struct gnip_vc *vc, const struct gnip_conn *conn)
{
    gnip_vc_adopt(vc, conn);
    vc->answer = true;
    gnip_vc_move(vc, GNIP_VC_CONNECTING);
    gnip_vc_advance(vc);
}
