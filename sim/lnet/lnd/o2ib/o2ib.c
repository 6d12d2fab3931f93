/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* o2iblnd's entries: what LNet calls. */
#include <errno.h>
#include <glib.h>
#include <string.h>
#include "lnd/o2ib.h"
#include "o2ib.h"

/* Default: FDR InfiniBand, where a small message takes 2.5 us one way, half of it in software and
 * adapters. */
static const struct lnet_param params[LNET_IB_PARAMS] = {
    [LNET_IB_PEER_CREDITS_HIW] = {"peer_credits_hiw", 0, 0, 65535,
                                  "credits owed at which a NOOP returns them; 0: half"},
    [LNET_IB_CONCURRENT_SENDS] = {"concurrent_sends", 0, 0, 65535,
                                  "messages posted at a time; 0: peer_credits"},
    [LNET_IB_KEEPALIVE] = {"keepalive", 100, 0, 1 << 20,
                           "seconds without a message until a NOOP is sent; 0: never"},
    [LNET_IB_RETRY_COUNT] = {"retry_count", 5, 0, 7, "retransmissions until a queue pair fails"},
    [LNET_IB_LATENCY_NS] = {"latency_ns", 900, 0, 1 << 30,
                            "time of a message in driver and adapter, at either end"},
    [LNET_IB_ACK_TIMEOUT_MS] = {"ack_timeout_ms", 67, 1, 1 << 20,
                                "time until a message is sent again"},
    [LNET_IB_CM_TIMEOUT_MS] = {"cm_timeout_ms", 500, 1, 1 << 20,
                               "time until a connection request is sent again"},
    [LNET_IB_CM_RETRIES] = {"cm_retries", 7, 0, 15, "repetitions of a connection request"},
};

/* ---- interfaces ------------------------------------------------------------------------------ */

static int startup(struct lnet_ni *ni)
{
    const int *value = ni->driver_values;
    struct lnet_hca_parameters hca = {
        .latency = (sim_time_t)value[LNET_IB_LATENCY_NS] * SIM_NS,
        .ack_timeout = (sim_time_t)value[LNET_IB_ACK_TIMEOUT_MS] * SIM_MS,
        .retry_count = (uint32_t)value[LNET_IB_RETRY_COUNT],
        .cm_timeout = (sim_time_t)value[LNET_IB_CM_TIMEOUT_MS] * SIM_MS,
        .cm_retries = (uint32_t)value[LNET_IB_CM_RETRIES],
    };
    struct lnet_ib_ni *owner;

    if (ni->interface.net == NULL)
        return -ENODEV;
    owner = g_new0(struct lnet_ib_ni, 1);
    owner->ni = ni;
    owner->scan.event.fire = lnet_ib_scan;
    INIT_LIST_HEAD(&owner->peers);
    INIT_LIST_HEAD(&owner->closed);
    INIT_LIST_HEAD(&owner->idle);
    INIT_LIST_HEAD(&owner->free_receives);
    INIT_LIST_HEAD(&owner->all_blocks);
    owner->hca = lnet_hca_create(ni->interface.net, ni->interface.endpoint, ni->interface.address,
                                 &hca, lnet_ib_requested, owner);
    if (owner->hca == NULL) {
        g_free(owner);
        return -EADDRINUSE;
    }
    ni->nid = LNET_MKNID(LNET_NIDNET(ni->nid), ni->interface.address);
    ni->driver = owner;
    return 0;
}

static void shutdown(struct lnet_ni *ni)
{
    struct lnet_ib_ni *owner = ni->driver;

    while (!list_empty(&owner->peers)) {
        struct lnet_ib_peer *peer = list_first_entry(&owner->peers, struct lnet_ib_peer, on_ni);

        sim_timer_cancel(&peer->reconnect);
        if (peer->connecting != NULL)
            lnet_ib_conn_close(peer->connecting, 0, LNET_MSG_STATUS_LOCAL_ABORTED);
        while (!list_empty(&peer->conns))
            lnet_ib_conn_close(list_first_entry(&peer->conns, struct lnet_ib_conn, on_peer), 0,
                               LNET_MSG_STATUS_LOCAL_ABORTED);
        lnet_ib_tx_fail_list(&peer->waiting, -ESHUTDOWN, LNET_MSG_STATUS_LOCAL_ABORTED);
        lnet_ib_peer_destroy(peer);
    }
    while (!list_empty(&owner->closed))
        lnet_ib_conn_free(list_first_entry(&owner->closed, struct lnet_ib_conn, on_peer));
    sim_timer_cancel(&owner->scan);
    lnet_hca_destroy(owner->hca);
    while (!list_empty(&owner->all_blocks)) {
        struct list_head *block = owner->all_blocks.next; /* the first field of its block */

        list_del(block);
        g_free(block);
    }
    g_free(owner->buckets);
    g_free(owner);
    ni->driver = NULL;
}

/* LNetCtl: ioc_count says which peer or connection. */
static int control(struct lnet_ni *ni, unsigned command, void *argument)
{
    struct lnet_ib_ni *owner = ni->driver;
    struct libcfs_ioctl_data *data = argument;
    struct lnet_ib_peer *peer;
    struct lnet_ib_conn *conn, *next;
    uint32_t position = data->ioc_count, closed = 0;

    if (command != IOC_LIBCFS_GET_PEER && command != IOC_LIBCFS_GET_CONN &&
        command != IOC_LIBCFS_CLOSE_CONNECTION)
        return -EINVAL;
    list_for_each_entry (peer, &owner->peers, on_ni) {
        uint32_t conns = 0;

        if (command == IOC_LIBCFS_CLOSE_CONNECTION && data->ioc_nid != LNET_NID_ANY &&
            data->ioc_nid != peer->nid)
            continue;
        list_for_each_entry_safe (conn, next, &peer->conns, on_peer) {
            conns++;
            if (command == IOC_LIBCFS_CLOSE_CONNECTION) {
                lnet_ib_conn_close(conn, 0, LNET_MSG_STATUS_LOCAL_ABORTED);
                closed++;
            } else if (command == IOC_LIBCFS_GET_CONN && position-- == 0) {
                data->ioc_nid = peer->nid;
                data->ioc_u32[0] = LNET_HCA_MTU;
                return 0;
            }
        }
        if (command == IOC_LIBCFS_GET_PEER && position-- == 0) {
            data->ioc_nid = peer->nid;
            data->ioc_count = conns;
            return 0;
        }
    }
    return command == IOC_LIBCFS_CLOSE_CONNECTION && (closed > 0 || data->ioc_nid == LNET_NID_ANY)
               ? 0
               : -ENOENT;
}

static void query(struct lnet_ni *ni, lnet_nid_t nid, sim_time_t *when)
{
    const struct lnet_ib_peer *peer = lnet_ib_peer_get(ni->driver, nid, false);

    *when = peer != NULL ? peer->last_alive : 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* How the memory is cut, as the peer sees it: addresses are those of the adapter, from 0. */
static void describe(struct lnet_ib_memory *memory, const struct lnet_fragments *fragments,
                     uint32_t offset, uint32_t length)
{
    uint64_t address = 0;
    uint32_t i = 0;

    memory->count = 0;
    while (offset >= fragments->fragment[i].iov_len && offset > 0)
        offset -= (uint32_t)fragments->fragment[i++].iov_len;
    while (length > 0) {
        uint32_t room = (uint32_t)fragments->fragment[i++].iov_len - offset,
                 part = MIN(length, room);

        offset = 0;
        if (part == 0)
            continue;
        memory->fragment[memory->count].bytes = part;
        memory->fragment[memory->count++].address = address;
        address += part;
        length -= part;
    }
}

static int send_immediate(struct lnet_ib_ni *owner, struct lnet_msg *msg)
{
    struct lnet_ib_message message = {
        .type = LNET_IB_IMMEDIATE, .header = msg->header, .payload_bytes = msg->payload_length};
    struct lnet_ib_tx *tx = lnet_ib_tx_new(owner);

    tx->msg[0] = msg;
    lnet_ib_tx_pack(tx, &message, msg->next_hop);
    lnet_copy_from_fragments(tx->message + tx->bytes - msg->payload_length, &msg->payload,
                             msg->payload_offset, msg->payload_length);
    lnet_ib_launch(owner, tx, msg->next_hop);
    return 0;
}

static int send_put(struct lnet_ib_ni *owner, struct lnet_msg *msg)
{
    struct lnet_ib_message message = {
        .type = LNET_IB_PUT_REQ, .header = msg->header, .cookie = ++owner->next_cookie};
    struct lnet_ib_tx *tx = lnet_ib_tx_new(owner);

    tx->msg[0] = msg;
    tx->waiting = true;
    tx->cookie = message.cookie;
    lnet_ib_tx_pack(tx, &message, msg->next_hop);
    lnet_ib_launch(owner, tx, msg->next_hop);
    return 0;
}

static int send_get(struct lnet_ib_ni *owner, struct lnet_msg *msg)
{
    struct lnet_ib_memory memory;
    struct lnet_ib_message message = {.type = LNET_IB_GET_REQ,
                                      .header = msg->header,
                                      .cookie = ++owner->next_cookie,
                                      .memory = &memory};
    struct lnet_msg *reply = lnet_create_reply_msg(owner->ni, msg);
    struct lnet_ib_tx *tx;

    if (reply == NULL)
        return -EIO;
    tx = lnet_ib_tx_new(owner);
    tx->msg[0] = msg;
    tx->msg[1] = reply;
    tx->waiting = true;
    tx->cookie = message.cookie;
    tx->fragments = msg->md->fragments;
    tx->key = memory.key = lnet_hca_register(owner->hca, &tx->fragments, 0, tx->fragments.length);
    describe(&memory, &tx->fragments, 0, tx->fragments.length);
    lnet_ib_tx_pack(tx, &message, msg->next_hop);
    lnet_ib_launch(owner, tx, msg->next_hop);
    return 0;
}

static int send(struct lnet_ni *ni, void *in, struct lnet_msg *msg)
{
    struct lnet_ib_ni *owner = ni->driver;

    (void)in;
    if (msg->type == LNET_MSG_GET && !msg->routing && !msg->target_is_router &&
        msg->md->length > LNET_IB_IMMEDIATE_MAX)
        return send_get(owner, msg);
    if ((msg->type == LNET_MSG_PUT || msg->type == LNET_MSG_REPLY) &&
        msg->payload_length > LNET_IB_IMMEDIATE_MAX)
        return send_put(owner, msg);
    return send_immediate(owner, msg);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void receive_immediate(struct lnet_ib_receive *receive, struct lnet_msg *msg,
                              const struct lnet_fragments *to, uint32_t offset, uint32_t mlen)
{
    if (msg == NULL)
        return;
    lnet_copy_to_fragments(to, offset, receive->message.payload, mlen);
    lnet_finalize(msg, 0);
}

/* Tells the initiator of a PUT where its data goes. */
static void receive_put(struct lnet_ib_receive *receive, struct lnet_msg *msg,
                        const struct lnet_fragments *to, uint32_t offset, uint32_t mlen)
{
    struct lnet_ib_conn *conn = receive->conn;
    struct lnet_ib_ni *owner = conn->owner;
    struct lnet_ib_memory memory;
    struct lnet_ib_message ack = {.type = LNET_IB_PUT_ACK,
                                  .cookie = receive->message.cookie,
                                  .sink_cookie = ++owner->next_cookie,
                                  .memory = &memory};
    struct lnet_ib_tx *tx = lnet_ib_tx_new(owner);

    tx->msg[0] = msg;
    tx->waiting = true;
    tx->cookie = ack.sink_cookie;
    tx->fragments = *to;
    tx->key = memory.key = lnet_hca_register(owner->hca, &tx->fragments, offset, mlen);
    describe(&memory, &tx->fragments, offset, mlen);
    lnet_ib_tx_pack(tx, &ack, conn->peer->nid);
    lnet_ib_tx_queue(conn, tx);
}

/* Writes the answer of an optimized GET into the initiator's memory. */
static int reply(struct lnet_ib_receive *receive, struct lnet_msg *msg)
{
    struct lnet_ib_conn *conn = receive->conn;
    struct lnet_ib_message done = {.type = LNET_IB_GET_DONE,
                                   .cookie = receive->message.cookie,
                                   .status = (int32_t)msg->payload_length};
    struct lnet_ib_tx *tx;
    uint64_t room = 0;
    uint32_t i;

    for (i = 0; i < receive->memory.count; i++)
        room += receive->memory.fragment[i].bytes;
    if (msg->payload_length > room) /* the header asked for more than the initiator can take */
        return -EPROTO;
    tx = lnet_ib_tx_new(conn->owner);
    if (msg->payload_length != 0) {
        tx->msg[0] = msg;
        lnet_ib_tx_write(tx, receive->memory.key, &msg->payload, msg->payload_offset,
                         msg->payload_length);
    }
    lnet_ib_tx_pack(tx, &done, conn->peer->nid);
    lnet_ib_tx_queue(conn, tx);
    if (msg->payload_length == 0)
        lnet_finalize(msg, 0);
    return 0;
}

static int receive(struct lnet_ni *ni, void *in, struct lnet_msg *msg, bool delayed,
                   const struct lnet_fragments *to, uint32_t offset, uint32_t mlen, uint32_t rlen)
{
    struct lnet_ib_receive *from = in;
    struct lnet_ib_conn *conn = from->conn;
    enum lnet_ib_repost how = LNET_IB_OWE_CREDIT;
    int rc = 0;

    (void)delayed;
    assert(mlen <= rlen);
    if (conn == NULL) { /* the connection ended while the message waited */
        lnet_ib_receive_free(ni->driver, from);
        if (msg != NULL) {
            msg->health_status = LNET_MSG_STATUS_REMOTE_DROPPED;
            lnet_finalize(msg, from->message.type == LNET_IB_IMMEDIATE ? 0 : -ECONNABORTED);
        }
        return 0;
    }
    switch ((enum lnet_ib_type)from->message.type) {
    case LNET_IB_IMMEDIATE:
        receive_immediate(from, msg, to, offset, mlen);
        break;
    case LNET_IB_PUT_REQ:
        if (mlen == 0) { /* nobody wants the data */
            lnet_ib_send_completion(conn, LNET_IB_PUT_NAK, 0, from->message.cookie);
            if (msg != NULL)
                lnet_finalize(msg, 0);
        } else {
            receive_put(from, msg, to, offset, mlen);
            how = LNET_IB_NO_CREDIT; /* the buffer is kept for PUT_DONE */
        }
        break;
    default:
        assert(from->message.type == LNET_IB_GET_REQ);
        if (msg == NULL)
            lnet_ib_send_completion(conn, LNET_IB_GET_DONE, -ENODATA, from->message.cookie);
        else
            rc = reply(from, msg);
    }
    conn = from->conn; /* it may have been closed meanwhile */
    lnet_ib_receive_free(ni->driver, from);
    lnet_ib_repost(conn, how);
    return rc;
}

const struct lnet_lnd lnet_lnd_o2ib = {
    .type = O2IBLND,
    .name = "o2ib",
    .credits = 256,
    .peer_credits = 8,
    .peer_buffer_credits = 0,
    .peer_timeout_s = 180,
    .module = "ko2iblnd",
    .params = params,
    .param_count = LNET_IB_PARAMS,
    .startup = startup,
    .shutdown = shutdown,
    .send = send,
    .receive = receive,
    .control = control,
    .query = query,
};
