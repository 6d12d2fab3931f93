/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections of MSG endpoints.
 *
 *   active                          passive
 *   fi_connect   ── CONNREQ ──▶     listener (msg_listen.c): FI_CONNREQ
 *                ◀── ACK ──
 *                ◀── ACCEPT ──      fi_accept
 *   FI_CONNECTED ── ACK ──▶         FI_CONNECTED
 *                ◀─ SHUTDOWN ─▶     fi_shutdown, fi_close; FI_SHUTDOWN at both
 *
 * A message is repeated until it is acknowledged. A connection outlives its endpoint until the peer
 * has acknowledged the end; afterwards its messages are answered as unknown.
 */
#include <stdlib.h>

#include "cm_nic.h"
#include "ctx.h"
#include "ep.h"
#include "eq.h"
#include "gnip.h"
#include "lock.h"
#include "msg_cm.h"
#include "msg_ep.h"
#include "name.h"
#include "proto.h"
#include "vc.h"
#include "port/list.h"

#define DRAIN_NS 100000000ull /* how long closing waits for a datagram and for acknowledgements */
#define DRAIN_TURNS 64

static struct gnip_msg_connection *connection_of(struct port_link *link)
{
    return gnip_container(link, struct gnip_msg_connection, link);
}

static bool connections_progress(struct gnip_msg_cm *msg);

static int run(struct gnip_work *work)
{
    struct gnip_msg_cm *msg = gnip_container(work, struct gnip_msg_cm, work);
    bool more = msg->pep != NULL ? gnip_msg_listen_progress(msg) : connections_progress(msg);

    return more ? -FI_EAGAIN : 0;
}

struct gnip_msg_cm *gnip_msg_cm_get(struct gnip_cm_nic *cm_nic)
{
    struct gnip_msg_cm *new = NULL, *msg = __atomic_load_n(&cm_nic->msg, __ATOMIC_ACQUIRE);

    if (msg != NULL)
        return msg;
    new = calloc(1, sizeof(*new));
    if (new == NULL)
        return NULL;
    new->cm_nic = cm_nic;
    new->work.run = run;
    port_mutex_init(&new->lock);
    port_list_init(&new->connections);
    gnip_lock(&cm_nic->lock);
    msg = cm_nic->msg;
    if (msg == NULL) {
        msg = new;
        __atomic_store_n(&cm_nic->msg, new, __ATOMIC_RELEASE);
        new = NULL;
    }
    gnip_unlock(&cm_nic->lock);
    if (new != NULL) {
        port_mutex_destroy(&new->lock);
        free(new);
    }
    return msg;
}

/* ---- connections; msg->lock is held ---------------------------------------------------------- */

void gnip_msg_connection_free(struct gnip_msg_connection *connection)
{
    if (port_linked(&connection->link))
        port_list_remove(&connection->link);
    gnip_msg_out_free(connection->out);
    free(connection->in);
    free(connection);
}

static void wake(struct gnip_msg_connection *connection)
{
    gnip_cm_work_add(connection->msg->cm_nic, &connection->msg->work);
}

void gnip_msg_send(struct gnip_msg_connection *connection, struct gnip_msg_out *out)
{
    gnip_msg_out_free(connection->out);
    connection->out = out;
    gnip_msg_out_push(connection->msg->cm_nic, &connection->ends, out);
    wake(connection);
}

void gnip_msg_send_shutdown(struct gnip_msg_connection *connection, enum gnip_cm_reason reason)
{
    struct gnip_msg_out *out = gnip_msg_out_new(GNIP_CM_SHUTDOWN, NULL, NULL, 0);

    if (out == NULL)
        return; /* the end of the VC informs the peer, too */
    out->reason = (uint16_t)reason;
    gnip_msg_send(connection, out);
}

static void out_end(struct gnip_msg_connection *connection)
{
    gnip_msg_out_free(connection->out);
    connection->out = NULL;
}

static uint32_t ack_bit(enum gnip_cm_type type)
{
    return 1u << (type - GNIP_CM_CONNREQ);
}

static void acknowledge(struct gnip_msg_connection *connection, enum gnip_cm_type type)
{
    connection->acks &= ~ack_bit(type);
    if (gnip_msg_ack(connection->msg->cm_nic, &connection->ends, type))
        return;
    connection->acks |= ack_bit(type);
    wake(connection);
}

static void event(struct gnip_ep *ep, uint32_t kind, const void *data, size_t bytes)
{
    gnip_msg_event(ep->eq, kind, &ep->fid.fid, NULL, data, bytes);
}

/* ---- the virtual connection ------------------------------------------------------------------ */

static int establish(struct gnip_msg_connection *connection, const struct gnip_cm_connect *theirs)
{
    struct gnip_conn conn = {.type = GNIP_CONN_REQ,
                             .version = GNIP_WIRE_VERSION,
                             .name_type = GNIP_UNBOUND,
                             .target_cdm = connection->ends.source_cdm,
                             .source_cdm = connection->ends.target_cdm,
                             .source_vc = theirs->source_vc,
                             .incarnation = connection->peer_incarnation,
                             .key_offset = theirs->key_offset,
                             .flags = theirs->flags,
                             .caps = theirs->caps,
                             .mailbox = theirs->mailbox};
    struct gnip_ep *ep = connection->ep;
    int rc;

    gnip_lock(&ep->lock);
    rc = gnip_vc_establish(ep->msg_vc, &conn);
    if (rc == 0)
        ep->conn_state = GNIP_CONNECTED;
    gnip_unlock(&ep->lock);
    return rc;
}

/* The attempt has failed. `unused`: the peer does not write into the mailbox. */
static void drop_vc(struct gnip_msg_connection *connection, bool unused)
{
    struct gnip_ep *ep = connection->ep;
    struct gnip_vc *vc;
    bool done;

    gnip_lock(&ep->lock);
    vc = ep->msg_vc;
    ep->msg_vc = NULL;
    ep->conn_state = GNIP_UNCONNECTED;
    vc->peer_gone |= unused;
    gnip_vc_close(vc);
    done = gnip_vc_close_done(vc);
    gnip_unlock(&ep->lock);
    if (done)
        gnip_vc_free(vc);
    else
        connection->old_vc = vc;
}

/* Ends a connection that was established. ep->lock is held. */
void gnip_msg_shut(struct gnip_ep *ep)
{
    gnip_assert_held(&ep->lock);
    ep->conn_state = GNIP_SHUTDOWN;
    gnip_vc_fail(ep->msg_vc, FI_ENOTCONN);
    gnip_ep_flush_receives(ep, FI_ECANCELED);
    event(ep, FI_SHUTDOWN, NULL, 0);
}

void gnip_msg_lost(struct gnip_ep *ep)
{
    gnip_assert_held(&ep->lock);
    if (ep->conn_state != GNIP_CONNECTED || ep->connection == NULL)
        return;
    ep->conn_state = GNIP_SHUTDOWN;
    gnip_ep_flush_receives(ep, FI_ECANCELED);
    event(ep, FI_SHUTDOWN, NULL, 0);
    __atomic_store_n(&ep->connection->lost, true, __ATOMIC_RELEASE);
    wake(ep->connection);
}

/* ---- events and failures --------------------------------------------------------------------- */

static void failed(struct gnip_msg_connection *connection, int error, bool unused, const void *data,
                   size_t bytes)
{
    struct gnip_ep *ep = connection->ep;
    struct fi_eq_err_entry entry = {
        .fid = &ep->fid.fid, .context = ep->fid.fid.context, .err = error, .prov_errno = error};

    drop_vc(connection, unused);
    gnip_eq_add_error(ep->eq, &entry, data, bytes);
}

static void accepted(struct gnip_msg_connection *connection)
{
    const struct gnip_msg_in *in = connection->in;
    int rc = establish(connection, &in->head);

    if (rc == -FI_EAGAIN)
        return; /* the peer will repeat it */
    out_end(connection);
    if (rc != 0) {
        failed(connection, -rc, false, NULL, 0);
        gnip_msg_send_shutdown(connection, GNIP_CM_FAILED);
        return;
    }
    acknowledge(connection, GNIP_CM_ACCEPT);
    event(connection->ep, FI_CONNECTED, in->data, in->data_bytes);
}

static void refused(struct gnip_msg_connection *connection)
{
    const struct gnip_msg_in *in = connection->in;

    out_end(connection);
    acknowledge(connection, GNIP_CM_REJECT);
    failed(connection, FI_ECONNREFUSED, true, in->data, in->data_bytes);
}

/* An ACCEPT or REJECT, or a fragment of one, has arrived at the active side. */
static void answered(struct gnip_msg_connection *connection, const struct gnip_cm_message *header,
                     const uint8_t *payload, enum gnip_cm_type type)
{
    enum gnip_connection state =
        connection->ep != NULL ? connection->ep->conn_state : GNIP_SHUTDOWN;

    if (state != GNIP_CONNECTING) {
        if (type == GNIP_CM_REJECT || state == GNIP_CONNECTED)
            acknowledge(connection, type);
        else if (gnip_msg_is_sending(connection, GNIP_CM_SHUTDOWN))
            connection->out->next = 0; /* now the peer's address is known */
        else
            gnip_msg_unknown(connection->msg->cm_nic, &connection->ends);
        return;
    }
    if (connection->in == NULL)
        connection->in = calloc(1, sizeof(*connection->in));
    if (connection->in == NULL || !gnip_msg_in_add(connection->in, header, payload))
        return;
    connection->peer_incarnation = header->incarnation;
    if (type == GNIP_CM_ACCEPT)
        accepted(connection);
    else
        refused(connection);
    free(connection->in);
    connection->in = NULL;
}

static void acknowledged(struct gnip_msg_connection *connection, enum gnip_cm_type type)
{
    int rc;

    if (!gnip_msg_is_sending(connection, type))
        return;
    switch (type) {
    case GNIP_CM_CONNREQ:
        gnip_msg_out_probe(connection->out);
        break;
    case GNIP_CM_ACCEPT:
        rc = establish(connection, &connection->theirs);
        if (rc == -FI_EAGAIN)
            return;
        out_end(connection);
        if (rc == 0) {
            event(connection->ep, FI_CONNECTED, NULL, 0);
        } else {
            failed(connection, -rc, false, NULL, 0);
            gnip_msg_send_shutdown(connection, GNIP_CM_FAILED);
        }
        break;
    case GNIP_CM_SHUTDOWN:
        out_end(connection);
        if (connection->ep == NULL)
            gnip_msg_connection_free(connection);
        break;
    default:
        break;
    }
}

/* Messages that the peer sent before its shutdown are in the mailbox. */
static void drain(struct gnip_ep *ep)
{
    int turns;

    for (turns = 0; turns < DRAIN_TURNS && ep->conn_state == GNIP_CONNECTED; turns++) {
        __atomic_store_n(&ep->msg_vc->rx_ready, GNIP_RX_LOST, __ATOMIC_RELEASE);
        if (gnip_vc_progress(ep->msg_vc) == 0)
            break;
    }
}

static void peer_shut(struct gnip_msg_connection *connection, enum gnip_cm_reason reason)
{
    struct gnip_ep *ep = connection->ep;

    acknowledge(connection, GNIP_CM_SHUTDOWN);
    if (ep == NULL) { /* the peer is informed by this ACK */
        gnip_msg_connection_free(connection);
        return;
    }
    if (gnip_msg_is_sending(connection, GNIP_CM_SHUTDOWN))
        out_end(connection);
    if (gnip_msg_is_sending(connection, GNIP_CM_ACCEPT) && reason != GNIP_CM_UNKNOWN)
        acknowledged(connection, GNIP_CM_ACCEPT); /* the connection was established */
    switch (ep->conn_state) {
    case GNIP_CONNECTED:
        gnip_lock(&ep->lock);
        drain(ep);
        if (ep->conn_state == GNIP_CONNECTED)
            gnip_msg_shut(ep);
        gnip_unlock(&ep->lock);
        break;
    case GNIP_CONNECTING:
        out_end(connection);
        if (connection->ends.active) {
            failed(connection, FI_ECONNREFUSED, true, NULL, 0);
            break;
        }
        gnip_lock(&ep->lock);
        gnip_msg_shut(ep);
        gnip_unlock(&ep->lock);
        break;
    default:
        break;
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static struct gnip_msg_connection *find(struct gnip_msg_cm *msg,
                                        const struct gnip_cm_message *header,
                                        const struct gnip_msg_ends *ends)
{
    struct port_link *link;

    for (link = msg->connections.next; link != &msg->connections; link = link->next) {
        struct gnip_msg_connection *connection = connection_of(link);

        if (connection->ends.connection != header->connection ||
            connection->ends.active != ends->active ||
            (connection->peer_incarnation != 0 &&
             connection->peer_incarnation != header->incarnation))
            continue;
        /* the active side chooses the numbers, so its own are unique */
        if (ends->active || (connection->ends.device_addr == ends->device_addr &&
                             connection->ends.cm_cdm == ends->cm_cdm))
            return connection;
    }
    return NULL;
}

static enum gnip_cm_type type_of(const struct gnip_cm_message *header)
{
    return (enum gnip_cm_type)(header->type == GNIP_CM_DATA ? header->reason : header->type);
}

static void dispatch(struct gnip_msg_connection *connection, const struct gnip_cm_message *header,
                     const uint8_t *payload, const struct gnip_msg_ends *ends)
{
    enum gnip_cm_type type = type_of(header);

    switch (type) {
    case GNIP_CM_ACCEPT:
    case GNIP_CM_REJECT:
        if (!ends->active)
            break;
        if (type == GNIP_CM_ACCEPT) { /* from now on the EP sends, not the listener */
            connection->ends.device_addr = ends->device_addr;
            connection->ends.cm_cdm = ends->cm_cdm;
            connection->ends.target_cdm = ends->target_cdm;
        }
        answered(connection, header, payload, type);
        break;
    case GNIP_CM_ACK:
        acknowledged(connection, (enum gnip_cm_type)header->reason);
        break;
    case GNIP_CM_SHUTDOWN:
        peer_shut(connection, (enum gnip_cm_reason)header->reason);
        break;
    default:
        break;
    }
}

static void unknown(struct gnip_cm_nic *cm_nic, const struct gnip_cm_message *header,
                    const struct gnip_msg_ends *ends)
{
    if (header->type == GNIP_CM_ACCEPT)
        gnip_msg_unknown(cm_nic, ends);
    else if (header->type == GNIP_CM_REJECT || header->type == GNIP_CM_SHUTDOWN)
        gnip_msg_ack(cm_nic, ends, (enum gnip_cm_type)header->type);
}

void gnip_msg_cm_receive(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                         const void *message, uint32_t bytes)
{
    struct gnip_msg_cm *msg = __atomic_load_n(&cm_nic->msg, __ATOMIC_ACQUIRE);
    struct gnip_msg_connection *connection = NULL;
    struct gnip_cm_message header;
    struct gnip_msg_ends ends;
    const uint8_t *payload;

    if (!gnip_msg_parse(message, bytes, &header, &payload))
        return;
    port_spend(PORT_COST_CONNECT, 1);
    if (msg != NULL && msg->pep != NULL) {
        gnip_msg_listen_receive(msg, &header, payload, device_addr, cdm_id);
        return;
    }
    ends = (struct gnip_msg_ends){.device_addr = device_addr,
                                  .cm_cdm = cdm_id,
                                  .target_cdm = header.source_cdm,
                                  .source_cdm = header.target_cdm,
                                  .connection = header.connection,
                                  .incarnation = cm_nic->ctx->incarnation,
                                  .active = !header.active};
    if (msg != NULL) {
        port_mutex_lock(&msg->lock);
        connection = find(msg, &header, &ends);
        if (connection != NULL)
            dispatch(connection, &header, payload, &ends);
        port_mutex_unlock(&msg->lock);
    }
    if (connection == NULL)
        unknown(cm_nic, &header, &ends);
}

/* ---- repeating ------------------------------------------------------------------------------- */

static void timed_out(struct gnip_msg_connection *connection)
{
    enum gnip_cm_type type = (enum gnip_cm_type)connection->out->type;

    out_end(connection);
    if (connection->ep == NULL)
        gnip_msg_connection_free(connection);
    else if (type != GNIP_CM_SHUTDOWN)
        failed(connection, FI_ETIMEDOUT, type == GNIP_CM_CONNREQ, NULL, 0);
}

bool gnip_msg_retire(struct gnip_msg_connection *connection)
{
    bool done;

    if (connection->old_vc == NULL)
        return true;
    gnip_lock(&connection->ep->lock);
    done = gnip_vc_close_done(connection->old_vc);
    gnip_unlock(&connection->ep->lock);
    if (done) {
        gnip_vc_free(connection->old_vc);
        connection->old_vc = NULL;
    }
    return done;
}

/* Makes progress for a connection, which may be freed. True: there is more to do. */
static bool connection_progress(struct gnip_msg_connection *connection)
{
    struct gnip_cm_nic *cm_nic = connection->msg->cm_nic;
    uint32_t acks = connection->acks;

    for (; acks != 0; acks &= acks - 1)
        acknowledge(connection, (enum gnip_cm_type)(GNIP_CM_CONNREQ + __builtin_ctz(acks)));
    gnip_msg_retire(connection);
    if (__atomic_exchange_n(&connection->lost, false, __ATOMIC_ACQUIRE) && connection->out == NULL)
        gnip_msg_send_shutdown(connection, GNIP_CM_FAILED);
    if (connection->out != NULL &&
        gnip_msg_out_push(cm_nic, &connection->ends, connection->out) != 0) {
        timed_out(connection);
        return true; /* the next pass sends it */
    }
    return connection->out != NULL || connection->acks != 0 || connection->old_vc != NULL;
}

static bool connections_progress(struct gnip_msg_cm *msg)
{
    struct port_link *link, *next;
    bool more = false;

    port_mutex_lock(&msg->lock);
    for (link = msg->connections.next; link != &msg->connections; link = next) {
        next = link->next;
        more |= connection_progress(connection_of(link));
    }
    port_mutex_unlock(&msg->lock);
    return more;
}

/* A message is still to be acknowledged. */
static bool waits(struct gnip_msg_cm *msg, const struct gnip_msg_connection *any)
{
    bool waits_for;

    (void)any;
    if (msg->pep != NULL)
        return gnip_msg_listen_progress(msg);
    port_mutex_lock(&msg->lock);
    waits_for = !port_list_empty(&msg->connections);
    port_mutex_unlock(&msg->lock);
    return waits_for;
}

/* Its message could not be sent yet, for lack of a datagram. */
static bool unsent(struct gnip_msg_cm *msg, const struct gnip_msg_connection *connection)
{
    struct port_link *link;
    bool found = false;

    port_mutex_lock(&msg->lock);
    for (link = msg->connections.next; link != &msg->connections && !found; link = link->next)
        found = connection_of(link) == connection && connection->out != NULL &&
                connection->out->next < connection->out->fragments;
    port_mutex_unlock(&msg->lock);
    return found;
}

/* Makes progress for the NIC until nothing is left, or for DRAIN_NS. */
static void drain_while(struct gnip_msg_cm *msg,
                        bool (*left)(struct gnip_msg_cm *, const struct gnip_msg_connection *),
                        const struct gnip_msg_connection *connection)
{
    struct port_timer timer;
    uint32_t polls;

    if (!left(msg, connection))
        return;
    port_timer_start(&timer, DRAIN_NS);
    while (left(msg, connection) && !port_timer_rang(&timer)) {
        polls = 0;
        gnip_cm_nic_progress(msg->cm_nic, &polls);
        port_idle(&timer, polls != 0);
    }
    port_timer_stop(&timer);
}

void gnip_msg_flush(struct gnip_msg_cm *msg, const struct gnip_msg_connection *connection)
{
    drain_while(msg, unsent, connection);
}

void gnip_msg_cm_close(struct gnip_cm_nic *cm_nic)
{
    if (cm_nic->msg != NULL)
        drain_while(cm_nic->msg, waits, NULL);
}

void gnip_msg_cm_free(struct gnip_cm_nic *cm_nic)
{
    struct gnip_msg_cm *msg = cm_nic->msg;

    if (msg == NULL)
        return;
    gnip_cm_work_remove(cm_nic, &msg->work);
    while (!port_list_empty(&msg->connections))
        gnip_msg_connection_free(connection_of(msg->connections.next));
    cm_nic->msg = NULL;
    port_mutex_destroy(&msg->lock);
    free(msg);
}
