/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an arriving message of gnilnd does.
 *
 *   PUT   initiator ── PUT_REQ ──▶ target          GET   initiator ── GET_REQ (memory) ──▶ target
 *         ◀── PUT_ACK (memory) / PUT_NAK ──              ◀══ RDMA PUT ══
 *         ══ RDMA PUT ══▶ ── PUT_DONE ──▶                ◀── GET_DONE / GET_NAK ──
 */
#include <errno.h>
#include <string.h>
#include "gni.h"

void lnet_gni_receive_free(struct lnet_gni_receive *receive)
{
    if (!receive->copied)
        return;
    receive->conn->owner->eager_copies--;
    if (--receive->conn->delayed == 0)
        lnet_gni_wake(receive->conn->owner); /* a closed connection can go now */
    g_free(receive);
}

/* Hands a header to LNet. The message is in the mailbox; what LNet keeps, it has copied. */
static int parse(struct lnet_gni_conn *conn, const struct lnet_gni_message *message,
                 const uint8_t *payload, const uint8_t *wire, bool rdma)
{
    struct lnet_ni *ni = conn->owner->ni;
    struct lnet_gni_receive receive = {.conn = conn, .message = *message, .payload = payload};
    struct lnet_hdr header;
    int rc;

    lnet_header_from_wire(&header, wire);
    if (message->type == LNET_GNI_IMMEDIATE && header.payload_length != message->payload_length)
        return -EPROTO;
    lnet_host_lock(ni->node);
    rc = lnet_parse(ni, &header, conn->peer->nid, &receive, rdma);
    lnet_host_unlock(ni->node);
    return rc;
}

/* The target of a PUT is ready. */
static int put_ack(struct lnet_gni_conn *conn, const struct lnet_gni_message *message)
{
    struct lnet_gni_tx *request = lnet_gni_tx_find(conn, message->put_ack.source_cookie), *tx;
    struct lnet_gni_memory memory = message->put_ack.memory;

    if (request == NULL || request->message.type != LNET_GNI_PUT_REQ || memory.bytes == 0 ||
        memory.bytes > request->msg[0]->payload_length)
        return -EPROTO;
    tx = lnet_gni_tx_new(conn->owner, LNET_GNI_PUT_DONE);
    tx->msg[0] = request->msg[0];
    request->msg[0] = NULL;
    tx->message.completion.cookie = message->put_ack.target_cookie;
    tx->fragments = tx->msg[0]->payload;
    tx->offset = tx->msg[0]->payload_offset;
    tx->length = memory.bytes;
    tx->remote = memory;
    tx->transfer = true;
    lnet_gni_tx_answered(request, 0, 0);
    lnet_gni_tx_queue(conn, tx);
    return 0;
}

/* The peer has answered a request for good. A GET_DONE has the number of bytes. */
static int completion(struct lnet_gni_conn *conn, const struct lnet_gni_message *message,
                      enum lnet_gni_type request)
{
    struct lnet_gni_tx *tx = lnet_gni_tx_find(conn, message->completion.cookie);
    struct lnet_ni *ni = conn->owner->ni;
    int status = message->completion.status;

    if (tx == NULL || tx->message.type != request)
        return -EPROTO;
    if (message->type == LNET_GNI_GET_DONE && status >= 0) {
        if ((uint32_t)status > tx->length)
            return -EPROTO;
        lnet_host_lock(ni->node);
        lnet_set_reply_msg_len(ni, tx->msg[1], (uint32_t)status);
        lnet_host_unlock(ni->node);
        status = 0;
    }
    if (status > 0)
        return -EPROTO;
    /* Where nothing matches a GET, its request was delivered all the same; the answer is the error.
     */
    lnet_gni_tx_answered(tx, message->type == LNET_GNI_GET_NAK ? 0 : status, status);
    return 0;
}

static int dispatch(struct lnet_gni_conn *conn, const struct lnet_gni_message *message,
                    const uint8_t *payload)
{
    switch ((enum lnet_gni_type)message->type) {
    case LNET_GNI_NOOP:
        return 0;
    case LNET_GNI_IMMEDIATE:
        return parse(conn, message, payload, message->header, false);
    case LNET_GNI_PUT_REQ:
        return parse(conn, message, NULL, message->put_request.header, false);
    case LNET_GNI_GET_REQ:
        return parse(conn, message, NULL, message->get_request.header, true);
    case LNET_GNI_PUT_ACK:
        return put_ack(conn, message);
    case LNET_GNI_PUT_NAK:
        return completion(conn, message, LNET_GNI_PUT_REQ);
    case LNET_GNI_PUT_DONE:
        return completion(conn, message, LNET_GNI_PUT_ACK);
    case LNET_GNI_GET_NAK:
    case LNET_GNI_GET_DONE:
        return completion(conn, message, LNET_GNI_GET_REQ);
    case LNET_GNI_CLOSE:
        return -ECONNRESET;
    case LNET_GNI_NONE:
    case LNET_GNI_TYPES:
        break;
    }
    return -EPROTO;
}

static bool well_formed(const struct lnet_gni_conn *conn, const struct lnet_gni_message *message)
{
    return message->magic == LNET_GNI_MAGIC && message->version == LNET_GNI_MESSAGE_VERSION &&
           message->source_nid == conn->peer->nid &&
           message->connection_stamp == conn->peer_stamp &&
           message->sequence == conn->rx_sequence &&
           message->payload_length <=
               (uint32_t)conn->owner->ni->driver_values[LNET_GNI_MAX_IMMEDIATE];
}

bool lnet_gni_receive_all(struct lnet_gni_conn *conn)
{
    uint32_t software = (uint32_t)conn->owner->ni->driver_values[LNET_GNI_SOFTWARE_NS];
    bool did = false;

    while (conn->state == LNET_GNI_ESTABLISHED && !conn->closing) {
        struct lnet_gni_message message;
        uint8_t tag = GNI_SMSG_ANY_TAG;
        void *head;
        int status;
        gni_return_t rc = GNI_SmsgGetNextWTag(conn->ep, &head, &tag);

        if (rc == GNI_RC_NOT_DONE)
            break;
        did = true;
        if (rc != GNI_RC_SUCCESS) {
            conn->closing = true;
            conn->why = -EIO;
            break;
        }
        sim_spend(software * SIM_NS);
        memcpy(&message, head, sizeof(message));
        status = -EPROTO;
        if (well_formed(conn, &message)) {
            conn->rx_sequence++;
            conn->last_rx = conn->peer->last_alive = sim_local_time();
            status = dispatch(conn, &message, (const uint8_t *)head + sizeof(message));
            if (status == -EPROTO)
                lnet_connection_garbled(conn->owner->ni, conn->peer->nid);
        }
        if (status < 0) {
            conn->closing = true;
            conn->why = status;
        }
        GNI_SmsgRelease(conn->ep);
    }
    if (conn->closing)
        conn->owner->work = true;
    return did;
}
