/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* MSG endpoints: fi_connect, fi_accept, fi_shutdown, closing. */
#include <stdlib.h>

#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "eq.h"
#include "gnip.h"
#include "lock.h"
#include "msg_cm.h"
#include "msg_ep.h"
#include "name.h"
#include "nosys.h"
#include "proto.h"
#include "vc.h"
#include "port/list.h"

/* ---- endpoints ------------------------------------------------------------------------------- */

int gnip_msg_ep_open(struct gnip_ep *ep, const struct fi_info *info)
{
    struct gnip_fabric *fabric = ep->domain->fabric;
    struct gnip_msg_connection *connection = calloc(1, sizeof(*connection));
    int rc = 0;

    if (connection == NULL)
        return -FI_ENOMEM;
    connection->ep = ep;
    if (info->handle != NULL) {
        port_mutex_lock(&fabric->msg_lock);
        connection->request = gnip_msg_request_find(fabric, info->handle);
        if (connection->request == NULL || connection->request->owner != NULL)
            rc = -FI_EINVAL;
        else
            connection->request->owner = connection;
        port_mutex_unlock(&fabric->msg_lock);
    }
    if (rc != 0) {
        free(connection);
        return rc;
    }
    ep->connection = connection;
    return 0;
}

void gnip_msg_request_gone(struct gnip_msg_connection *owner)
{
    owner->request = NULL;
}

/* Prepares what a connection needs of its EP. No lock is held. */
static int prepare(struct gnip_ep *ep)
{
    struct gnip_msg_connection *connection = ep->connection;
    struct gnip_msg_cm *msg;
    int rc;

    if (ep->eq == NULL)
        return -FI_ENOEQ;
    if (!ep->tx_enabled && !ep->rx_enabled) {
        rc = gnip_ep_enable(ep, FI_TRANSMIT | FI_RECV, false);
        if (rc != 0)
            return rc;
    }
    if (connection->msg != NULL)
        return 0;
    msg = gnip_msg_cm_get(ep->cm_nic);
    if (msg == NULL)
        return -FI_ENOMEM;
    port_mutex_lock(&msg->lock);
    connection->msg = msg;
    port_list_append(&msg->connections, &connection->link);
    port_mutex_unlock(&msg->lock);
    return 0;
}

static bool data_fits(const void *data, size_t bytes)
{
    return bytes <= GNIP_CM_DATA_MAX && (data != NULL || bytes == 0);
}

/* Makes the VC, which allocates a mailbox, and describes it for the peer. */
static int open_vc(struct gnip_ep *ep, const struct gnip_name *peer, struct gnip_cm_connect *ours)
{
    struct gnip_conn conn = {0};
    struct gnip_vc *vc;
    int rc = -FI_EAGAIN;

    gnip_lock(&ep->lock);
    vc = gnip_vc_new(ep, peer);
    if (vc != NULL)
        rc = gnip_vc_describe(vc, &conn);
    if (rc == 0) {
        ep->msg_vc = vc;
        ep->conn_state = GNIP_CONNECTING;
    }
    gnip_unlock(&ep->lock);
    if (rc != 0 && vc != NULL)
        gnip_vc_free(vc);
    *ours = (struct gnip_cm_connect){.caps = conn.caps,
                                     .mailbox = conn.mailbox,
                                     .source_vc = conn.source_vc,
                                     .key_offset = conn.key_offset,
                                     .flags = conn.flags,
                                     .message_max = (uint32_t)GNIP_MESSAGE_MAX};
    return rc;
}

/* fabric->msg_lock and msg->lock are held. */
static int begin(struct gnip_msg_connection *connection, enum gnip_cm_type type, const void *data,
                 size_t bytes)
{
    struct gnip_cm_connect ours;
    struct gnip_msg_out *out;
    int rc;

    if (!gnip_msg_retire(connection))
        return -FI_EAGAIN;
    out = gnip_msg_out_new(type, NULL, data, bytes);
    if (out == NULL)
        return -FI_ENOMEM;
    rc = open_vc(connection->ep, &connection->peer, &ours);
    if (rc != 0) {
        gnip_msg_out_free(out);
        return rc;
    }
    out->head = ours;
    gnip_msg_send(connection, out);
    return 0;
}

static int connect_locked(struct gnip_msg_connection *connection, const struct gnip_name *name,
                          const void *data, size_t bytes)
{
    struct gnip_ep *ep = connection->ep;

    if (ep->conn_state != GNIP_UNCONNECTED || connection->request != NULL)
        return -FI_EINVAL;
    connection->peer = *name;
    connection->peer_incarnation = 0;
    /* unique in this process as long as a peer may remember it */
    connection->ends = (struct gnip_msg_ends){
        .device_addr = name->device_addr,
        .cm_cdm = name->cm_nic_cdm_id != 0 ? name->cm_nic_cdm_id : name->cdm_id,
        .target_cdm = name->cdm_id,
        .source_cdm = ep->name.cdm_id,
        .connection = (uint32_t)connection->attempts++ << 24 | (ep->name.cdm_id & 0xffffff),
        .incarnation = ep->domain->ctx->incarnation,
        .active = true};
    return begin(connection, GNIP_CM_CONNREQ, data, bytes);
}

static int msg_connect(struct fid_ep *fid, const void *address, const void *data, size_t bytes)
{
    PORT_CALL("fi_connect");
    struct gnip_msg_connection *connection;
    struct gnip_name name;
    struct gnip_ep *ep;
    int rc;

    if (fid == NULL || address == NULL || !data_fits(data, bytes))
        return -FI_EINVAL;
    ep = gnip_ep_of(fid);
    connection = ep->connection;
    if (gnip_name_read(&name, ep->domain->addr_format, address) != 0)
        return -FI_EINVAL;
    rc = prepare(ep);
    if (rc != 0)
        return rc;
    port_mutex_lock(&ep->domain->fabric->msg_lock);
    port_mutex_lock(&connection->msg->lock);
    rc = connect_locked(connection, &name, data, bytes);
    port_mutex_unlock(&connection->msg->lock);
    port_mutex_unlock(&ep->domain->fabric->msg_lock);
    return rc;
}

static int accept_locked(struct gnip_msg_connection *connection, const void *data, size_t bytes)
{
    struct gnip_msg_request *request = connection->request;
    struct gnip_ep *ep = connection->ep;
    int rc;

    if (ep->conn_state != GNIP_UNCONNECTED || request == NULL)
        return -FI_EINVAL;
    connection->theirs = request->in.head;
    connection->peer_incarnation = request->incarnation;
    connection->ends = request->ends;
    connection->ends.source_cdm = ep->name.cdm_id;
    connection->peer = (struct gnip_name){.device_addr = request->ends.device_addr,
                                          .cdm_id = request->ends.target_cdm,
                                          .name_type = GNIP_UNBOUND,
                                          .cm_nic_cdm_id = request->ends.cm_cdm & 0xffffff,
                                          .cookie = ep->name.cookie};
    rc = begin(connection, GNIP_CM_ACCEPT, data, bytes);
    if (rc == 0)
        gnip_msg_request_taken(request); /* this removes it from the connection, too */
    return rc;
}

static int msg_accept(struct fid_ep *fid, const void *data, size_t bytes)
{
    PORT_CALL("fi_accept");
    struct gnip_msg_connection *connection;
    struct gnip_ep *ep;
    int rc;

    if (fid == NULL || !data_fits(data, bytes))
        return -FI_EINVAL;
    ep = gnip_ep_of(fid);
    connection = ep->connection;
    rc = prepare(ep);
    if (rc != 0)
        return rc;
    port_mutex_lock(&ep->domain->fabric->msg_lock);
    port_mutex_lock(&connection->msg->lock);
    rc = accept_locked(connection, data, bytes);
    port_mutex_unlock(&connection->msg->lock);
    port_mutex_unlock(&ep->domain->fabric->msg_lock);
    return rc;
}

static int msg_shutdown(struct fid_ep *fid, uint64_t flags)
{
    PORT_CALL("fi_shutdown");
    struct gnip_ep *ep = gnip_ep_of(fid);
    struct gnip_msg_connection *connection = ep->connection;
    int rc = -FI_EINVAL;

    if (flags != 0 || connection->msg == NULL)
        return -FI_EINVAL;
    gnip_vcs_drain(ep);
    port_mutex_lock(&connection->msg->lock);
    gnip_lock(&ep->lock);
    if (ep->conn_state == GNIP_CONNECTED) {
        gnip_msg_shut(ep);
        rc = 0;
    }
    gnip_unlock(&ep->lock);
    if (rc == 0)
        gnip_msg_send_shutdown(connection, GNIP_CM_NORMAL);
    port_mutex_unlock(&connection->msg->lock);
    return rc;
}

void gnip_msg_ep_close(struct gnip_ep *ep)
{
    struct gnip_msg_connection *connection = ep->connection;
    struct gnip_fabric *fabric = ep->domain->fabric;
    struct gnip_msg_cm *msg;
    enum gnip_connection state;

    if (connection == NULL)
        return;
    msg = connection->msg;
    port_mutex_lock(&fabric->msg_lock);
    if (connection->request != NULL) /* another EP may accept it */
        connection->request->owner = NULL;
    connection->request = NULL;
    port_mutex_unlock(&fabric->msg_lock);
    if (msg == NULL) {
        ep->connection = NULL;
        gnip_msg_connection_free(connection);
        return;
    }
    port_mutex_lock(&msg->lock);
    gnip_lock(&ep->lock);
    state = ep->conn_state;
    ep->conn_state = GNIP_SHUTDOWN;
    ep->connection = NULL;
    ep->closing = true;
    /*
     * This comes before the datagram: a peer that has received the shutdown closes its side of the
     * VC at once, and never answers this.
     */
    if (state == GNIP_CONNECTED) {
        gnip_vc_close(ep->msg_vc);
        gnip_vc_wind_up(ep->msg_vc);
    }
    gnip_unlock(&ep->lock);
    connection->ep = NULL;
    connection->old_vc = NULL; /* it is closed with the EP's VCs */
    if (state == GNIP_CONNECTED)
        gnip_msg_send_shutdown(connection, GNIP_CM_NORMAL);
    /* the connection was never established, even if the peer believes so */
    else if (state == GNIP_CONNECTING)
        gnip_msg_send_shutdown(connection, GNIP_CM_UNKNOWN);
    else if (connection->lost && connection->out == NULL)
        gnip_msg_send_shutdown(connection, GNIP_CM_FAILED);
    connection->lost = false;
    if (!gnip_msg_is_sending(connection, GNIP_CM_SHUTDOWN))
        gnip_msg_connection_free(connection);
    port_mutex_unlock(&msg->lock);
    gnip_msg_flush(msg, connection);
    gnip_eq_forget(ep->eq, &ep->fid.fid);
}

/* ---- names ----------------------------------------------------------------------------------- */

static int msg_getname(struct fid *fid, void *address, size_t *bytes)
{
    PORT_CALL("fi_getname");
    return gnip_ep_cm_ops.getname(fid, address, bytes);
}

/* A name may belong to another cm_nic, so it cannot change while there is a connection. */
static int msg_setname(struct fid *fid, void *address, size_t bytes)
{
    PORT_CALL("fi_setname");
    struct gnip_ep *ep = gnip_container(fid, struct gnip_ep, fid.fid);

    if (ep->connection->msg != NULL)
        return -FI_EOPBADSTATE;
    return gnip_ep_cm_ops.setname(fid, address, bytes);
}

static int msg_getpeer(struct fid_ep *fid, void *address, size_t *bytes)
{
    PORT_CALL("fi_getpeer");
    struct gnip_ep *ep = gnip_ep_of(fid);

    if (address == NULL || bytes == NULL)
        return -FI_EINVAL;
    if (ep->conn_state != GNIP_CONNECTED)
        return -FI_ENOTCONN;
    return gnip_name_copy(&ep->connection->peer, ep->domain->addr_format, address, bytes);
}

const struct fi_ops_cm gnip_msg_cm_ops = {
    .size = sizeof(struct fi_ops_cm),
    .setname = msg_setname,
    .getname = msg_getname,
    .getpeer = msg_getpeer,
    .connect = msg_connect,
    .listen = gnip_no_listen,
    .accept = msg_accept,
    .reject = gnip_no_reject,
    .shutdown = msg_shutdown,
    .join = gnip_no_join,
};
