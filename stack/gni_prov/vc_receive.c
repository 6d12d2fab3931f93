/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connection messages that arrive, and refusals: the transitions of the table in vc_cm.c that they
 * cause.
 */
#include <stdlib.h>

#include "cm_nic.h"
#include "ctx.h"
#include "datagram.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "mbox.h"
#include "name.h"
#include "nic.h"
#include "proto.h"
#include "vc.h"
#include "vc_internal.h"

#define RETRY_MS 10u /* until a peer that had no resources is asked again */

/* ---- requests and answers -------------------------------------------------------------------- */

struct from {
    struct gnip_cm_nic *cm_nic;
    uint32_t device_addr, cm_cdm;
};

static void refuse(const struct from *from, const struct gnip_conn *conn, uint16_t reason)
{
    struct gnip_conn_short nak = {
        .type = GNIP_CONN_NAK,
        .version = GNIP_WIRE_VERSION,
        .reason = reason,
        .target_cdm = conn->source_cdm,
        .target_vc = conn->source_vc,
        .incarnation = conn->incarnation,
        .source_cdm = conn->target_cdm,
        .retry_ms = reason == GNIP_NAK_NO_RESOURCES ? RETRY_MS : 0,
    };

    from->cm_nic->ctx->counts.conn_nak++;
    gnip_vc_send_short(from->cm_nic, from->device_addr, from->cm_cdm, &nak);
}

void gnip_vc_nak(struct gnip_vc *vc, uint16_t reason)
{
    const struct from from = {vc->ep->cm_nic, vc->peer.device_addr, vc->peer.cm_nic_cdm_id};
    const struct gnip_conn conn = {
        .source_cdm = vc->peer.cdm_id,
        .source_vc = vc->peer_id,
        .incarnation = vc->incarnation,
        .target_cdm = vc->ep->name.cdm_id,
    };

    refuse(&from, &conn, reason);
}

/*
 * Answers that there is no such connection here, and that nothing will write into the peer's
 * mailbox.
 */
static void disown(const struct from *from, uint32_t target_cdm, uint32_t target_vc,
                   uint32_t incarnation, uint32_t source_cdm, uint8_t type)
{
    struct gnip_conn_short message = {
        .type = type,
        .version = GNIP_WIRE_VERSION,
        .reason = GNIP_NAK_UNKNOWN,
        .target_cdm = target_cdm,
        .target_vc = target_vc,
        .incarnation = incarnation,
        .source_cdm = source_cdm,
    };

    gnip_vc_send_short(from->cm_nic, from->device_addr, from->cm_cdm, &message);
}

/* A request for a connection that has not ended yet: it is handled when it has. */
static void keep_request(struct gnip_vc *vc, const struct gnip_conn *conn)
{
    if (vc->request == NULL)
        vc->request = malloc(sizeof(*conn));
    /* If there is no memory, the peer gets no answer, and its connection fails. */
    if (vc->request != NULL)
        *vc->request = *conn;
    vc->peer_gone = true; /* a peer that sends a new request has left the old connection */
    gnip_vc_schedule(vc);
}

static bool same_connection(const struct gnip_vc *vc, const struct gnip_conn *conn)
{
    return vc->peer_id == conn->source_vc && vc->incarnation == conn->incarnation;
}

static void accept(struct gnip_vc *vc, const struct gnip_conn *conn)
{
    switch (vc->state) {
    case GNIP_VC_TERMINATED:
        gnip_vc_move(vc, GNIP_VC_NONE);
        gnip_vc_accept_request(vc, conn);
        break;
    case GNIP_VC_NONE:
        gnip_vc_accept_request(vc, conn);
        break;
    case GNIP_VC_CONNECTING:
        if (vc->gni_ep != NULL && !same_connection(vc, conn)) {
            /* the answer would go to a connection that is gone */
            gnip_vc_terminate(vc, FI_EIO, true);
            keep_request(vc, conn);
            break;
        }
        gnip_vc_adopt(vc, conn);
        vc->simultaneous = vc->posted;
        vc->answer = !vc->posted;
        gnip_vc_advance(vc);
        break;
    case GNIP_VC_CONNECTED:
        if (same_connection(vc, conn)) {
            vc->answer = true;
            gnip_vc_advance(vc);
            break;
        }
        gnip_vc_receive_all(vc);
        gnip_vc_terminate(vc, FI_EIO, true);
        keep_request(vc, conn);
        break;
    default:
        keep_request(vc, conn);
        break;
    }
}

static struct gnip_vc *vc_for(struct gnip_ep *ep, const struct from *from,
                              const struct gnip_conn *conn)
{
    struct gnip_vc *vc = gnip_vc_of_name(ep, from->device_addr, conn->source_cdm);
    struct gnip_name name = {
        .device_addr = from->device_addr,
        .cdm_id = conn->source_cdm,
        .name_type = conn->name_type,
        .cm_nic_cdm_id = from->cm_cdm & 0xffffff,
        .cookie = ep->name.cookie,
        .rx_ctx_cnt = conn->rx_ctx_cnt,
        .key_offset = conn->key_offset & 0xfff,
    };

    if (vc == NULL)
        return gnip_vc_new(ep, &name);
    vc->peer.cm_nic_cdm_id = name.cm_nic_cdm_id;
    return vc;
}

/* Our own request is in flight to a peer that is being refused: it will not be answered. */
static void close_simultaneous(struct gnip_ep *ep, const struct from *from,
                               const struct gnip_conn *conn)
{
    struct gnip_vc *vc = gnip_vc_of_name(ep, from->device_addr, conn->source_cdm);

    if (vc == NULL || vc->state != GNIP_VC_CONNECTING || !vc->posted)
        return;
    vc->peer_gone = true;
    gnip_vc_terminate(vc, FI_ENOTCONN, false);
}

/* There is no such connection here yet, not even a request. */
static bool begins(struct gnip_ep *ep, const struct from *from, const struct gnip_conn *conn)
{
    struct gnip_vc *vc = gnip_vc_of_name(ep, from->device_addr, conn->source_cdm);

    return vc == NULL || vc->state == GNIP_VC_NONE || vc->state == GNIP_VC_TERMINATED;
}

/* 0: handled; else the reason for a NAK. */
static uint16_t consider(struct gnip_ep *ep, const struct from *from, const struct gnip_conn *conn)
{
    struct gnip_vc *vc;

    if (ep->type == FI_EP_MSG)
        return GNIP_NAK_UNKNOWN;
    if (ep->closing) {
        close_simultaneous(ep, from, conn);
        return GNIP_NAK_CLOSING;
    }
    if (!gnip_vc_fits(conn))
        return GNIP_NAK_INCOMPATIBLE;
    if (ep->domain->suspended && begins(ep, from, conn))
        return GNIP_NAK_NO_RESOURCES;
    vc = vc_for(ep, from, conn);
    if (vc == NULL)
        return GNIP_NAK_NO_RESOURCES;
    accept(vc, conn);
    return 0;
}

static void request_arrived(const struct from *from, const struct gnip_conn *conn)
{
    struct gnip_ep *ep = gnip_cm_nic_find_ep(from->cm_nic, conn->target_cdm);
    uint16_t reason = GNIP_NAK_UNKNOWN;

    if (ep != NULL) {
        gnip_lock(&ep->lock);
        reason = consider(ep, from, conn);
        gnip_unlock(&ep->lock);
    }
    if (reason != 0)
        refuse(from, conn, reason);
    if (ep == NULL)
        return;
    if (ep->nic != NULL)
        gnip_vc_progress_control(ep->nic);
    gnip_cm_nic_put_ep(from->cm_nic, ep);
}

/* The VC of this EP that a message names. NULL: it is gone. ep->lock is held. */
static struct gnip_vc *named_vc(struct gnip_ep *ep, uint32_t id)
{
    struct gnip_vc *vc;

    gnip_assert_held(&ep->lock);
    if (ep->nic == NULL || id == 0)
        return NULL;
    gnip_lock(&ep->nic->vc_lock);
    vc = gnip_vc_of_id(ep->nic, id);
    gnip_unlock(&ep->nic->vc_lock);
    return vc != NULL && vc->ep == ep ? vc : NULL;
}

/* False: no VC waited for it. */
static bool answered(struct gnip_ep *ep, const struct gnip_conn *conn)
{
    struct gnip_vc *vc = named_vc(ep, conn->target_vc);
    int rc;

    if (vc == NULL)
        return false;
    if (vc->state == GNIP_VC_CONNECTED)
        return same_connection(vc, conn); /* a second answer */
    if (vc->state != GNIP_VC_CONNECTING || !vc->posted)
        return false;
    gnip_vc_adopt(vc, conn);
    rc = gnip_vc_fits(conn) ? gnip_vc_wire(vc) : -FI_EOPNOTSUPP;
    if (rc == -FI_EAGAIN) {
        vc->simultaneous = true; /* the rest is the same as for a simultaneous connect */
        gnip_vc_advance(vc);
    } else if (rc != 0) {
        gnip_vc_fail(vc, -rc);
    } else {
        gnip_vc_now_connected(vc);
        if (vc->closing)
            gnip_vc_close(vc);
    }
    return true;
}

static void answer_arrived(const struct from *from, const struct gnip_conn *conn)
{
    struct gnip_ep *ep = gnip_cm_nic_find_ep(from->cm_nic, conn->target_cdm);
    bool taken = false;

    if (ep != NULL) {
        gnip_lock(&ep->lock);
        taken = answered(ep, conn);
        gnip_unlock(&ep->lock);
    }
    if (!taken)
        disown(from, conn->source_cdm, conn->source_vc, conn->incarnation, conn->target_cdm,
               GNIP_CONN_CLOSE);
    if (ep == NULL)
        return;
    gnip_vc_progress_control(ep->nic);
    gnip_cm_nic_put_ep(from->cm_nic, ep);
}

/* ---- refusals and ends ----------------------------------------------------------------------- */

static void pause_vc(struct gnip_vc *vc, uint32_t milliseconds)
{
    vc->posted = vc->exposed = false;
    gnip_vc_move(vc, GNIP_VC_NONE);
    port_timer_start(&vc->pause, (uint64_t)milliseconds * 1000000);
    vc->paused = true;
    gnip_vc_advance(vc);
}

static void refused(struct gnip_vc *vc, const struct gnip_conn_short *nak)
{
    if (vc->state == GNIP_VC_CONNECTING && vc->posted) {
        if (nak->reason == GNIP_NAK_NO_RESOURCES && !vc->closing) {
            pause_vc(vc, nak->retry_ms);
            return;
        }
    } else if (vc->state != GNIP_VC_CONNECTED) {
        return;
    }
    /* A connected VC has received a request of a peer that refused ours. */
    vc->peer_gone = true;
    gnip_vc_fail(vc, FI_ENOTCONN);
}

static void short_arrived(const struct from *from, const struct gnip_conn_short *message)
{
    struct gnip_ep *ep = gnip_cm_nic_find_ep(from->cm_nic, message->target_cdm);
    struct gnip_vc *vc = NULL;

    if (ep != NULL && (message->incarnation == from->cm_nic->ctx->incarnation ||
                       message->type == GNIP_CONN_CLOSE_ACK)) {
        gnip_lock(&ep->lock);
        vc = named_vc(ep, message->target_vc);
        if (message->type == GNIP_CONN_NAK && vc != NULL) {
            refused(vc, message);
        } else if (message->type == GNIP_CONN_CLOSE && vc != NULL) {
            gnip_vc_closed_by_peer(vc, message->taken);
        } else if (message->type == GNIP_CONN_CLOSE_ACK && vc == NULL) {
            vc = gnip_vc_of_name(ep, from->device_addr, message->source_cdm);
            if (vc != NULL && vc->old_id == message->target_vc)
                gnip_mbox_put(vc->nic, &vc->old_mbox);
        }
        gnip_unlock(&ep->lock);
    }
    if (message->type == GNIP_CONN_CLOSE)
        disown(from, message->source_cdm, message->source_vc, 0, message->target_cdm,
               GNIP_CONN_CLOSE_ACK);
    if (ep == NULL)
        return;
    if (ep->nic != NULL)
        gnip_vc_progress_control(ep->nic);
    gnip_cm_nic_put_ep(from->cm_nic, ep);
}

void gnip_vc_cm_receive(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                        const void *message, uint32_t bytes)
{
    struct from from = {cm_nic, device_addr, cdm_id};
    struct gnip_conn conn;
    struct gnip_conn_short brief;

    if (bytes < sizeof(conn))
        return;
    memcpy(&conn, message, sizeof(conn)); /* it may be unaligned */
    memcpy(&brief, message, sizeof(brief));
    switch (conn.type) {
    case GNIP_CONN_REQ:
        request_arrived(&from, &conn);
        break;
    case GNIP_CONN_RESP:
        answer_arrived(&from, &conn);
        break;
    case GNIP_CONN_NAK:
    case GNIP_CONN_CLOSE:
    case GNIP_CONN_CLOSE_ACK:
        short_arrived(&from, &brief);
        break;
    default:
        cm_nic->ctx->counts.ignored++;
        break;
    }
}

void gnip_vc_cm_lost(struct gnip_cm_nic *cm_nic, const void *message, uint32_t bytes, int error)
{
    struct gnip_conn conn;
    struct gnip_ep *ep;
    struct gnip_vc *vc;

    if (bytes < sizeof(conn))
        return;
    memcpy(&conn, message, sizeof(conn));
    if (conn.type != GNIP_CONN_REQ && conn.type != GNIP_CONN_RESP)
        return;
    ep = gnip_cm_nic_find_ep(cm_nic, conn.source_cdm);
    if (ep == NULL)
        return;
    gnip_lock(&ep->lock);
    vc = named_vc(ep, conn.source_vc);
    if (vc != NULL && (vc->state == GNIP_VC_CONNECTING || conn.type == GNIP_CONN_RESP)) {
        vc->peer_gone |= error == FI_EHOSTDOWN;
        gnip_vc_fail(vc, error);
    }
    gnip_unlock(&ep->lock);
    if (ep->nic != NULL)
        gnip_vc_progress_control(ep->nic);
    gnip_cm_nic_put_ep(cm_nic, ep);
}

void gnip_vc_cm_unsent(struct gnip_cm_nic *cm_nic, const void *message, uint32_t bytes)
{
    struct gnip_conn conn;
    struct gnip_ep *ep;
    struct gnip_vc *vc;

    if (bytes < sizeof(conn))
        return;
    memcpy(&conn, message, sizeof(conn));
    ep = gnip_cm_nic_find_ep(cm_nic, conn.source_cdm);
    if (ep == NULL)
        return;
    gnip_lock(&ep->lock);
    vc = named_vc(ep, conn.source_vc);
    if (vc != NULL && vc->state == GNIP_VC_CONNECTING && vc->posted)
        pause_vc(vc, RETRY_MS);
    gnip_unlock(&ep->lock);
    gnip_cm_nic_put_ep(cm_nic, ep);
}

/* ---- short messages -------------------------------------------------------------------------- */

struct short_work {
    struct gnip_work work;
    struct gnip_cm_nic *cm_nic;
    uint32_t device_addr, cm_cdm;
    struct gnip_conn_short message;
};

static int send_short(struct gnip_work *work)
{
    struct short_work *this = gnip_container(work, struct short_work, work);

    return gnip_cm_send(this->cm_nic, this->device_addr, this->cm_cdm, &this->message,
                        sizeof(this->message));
}

static void short_over(struct gnip_work *work, int status)
{
    (void)status;
    free(gnip_container(work, struct short_work, work));
}

void gnip_vc_send_short(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cm_cdm,
                        const struct gnip_conn_short *message)
{
    struct short_work *work;

    if (gnip_cm_send(cm_nic, device_addr, cm_cdm, message, sizeof(*message)) != -FI_EAGAIN)
        return;
    work = calloc(1, sizeof(*work));
    if (work == NULL)
        return; /* the peer finds out later by itself */
    work->work.run = send_short;
    work->work.over = short_over;
    work->cm_nic = cm_nic;
    work->device_addr = device_addr;
    work->cm_cdm = cm_cdm;
    work->message = *message;
    gnip_cm_work_add(cm_nic, &work->work);
}
