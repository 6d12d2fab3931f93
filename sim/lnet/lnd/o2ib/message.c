/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an arriving message of o2iblnd does.
 *
 *   PUT   initiator ── PUT_REQ ──▶ target        GET   initiator ── GET_REQ (memory) ──▶ target
 *         ◀── PUT_ACK (memory) / PUT_NAK ──             ◀══ RDMA write ══
 *         ══ RDMA write ══▶ ── PUT_DONE ──▶             ◀── GET_DONE (length) ──
 */
#include <errno.h>
#include <string.h>
#include "o2ib.h"

void lnet_ib_send_completion(struct lnet_ib_conn *conn, uint8_t type, int32_t status,
                             uint64_t cookie)
{
    struct lnet_ib_message message = {.type = type, .status = status, .cookie = cookie};
    struct lnet_ib_tx *tx;

    if (conn == NULL || conn->state != LNET_IB_ESTABLISHED)
        return;
    tx = lnet_ib_tx_new(conn->owner);
    lnet_ib_tx_pack(tx, &message, conn->peer->nid);
    lnet_ib_tx_queue(conn, tx);
}

void lnet_ib_tx_write(struct lnet_ib_tx *tx, uint32_t key, const struct lnet_fragments *from,
                      uint32_t offset, uint32_t length)
{
    struct lnet_work *work = &tx->work[tx->works];

    tx->fragments = *from;
    work->kind = LNET_WORK_WRITE;
    work->bytes = length;
    work->source = &tx->fragments;
    work->source_offset = offset;
    work->key = key;
    work->target_offset = 0;
    tx->write = true;
}

/* The peer has answered the request `cookie` for good. */
static int complete(struct lnet_ib_conn *conn, uint8_t type, int32_t status, uint64_t cookie)
{
    struct lnet_ib_tx *tx = lnet_ib_tx_waiting(conn, type, cookie);

    if (tx == NULL)
        return -EPROTO;
    if (tx->status == 0) {
        if (status < 0) {
            tx->status = status;
            tx->health_status = LNET_MSG_STATUS_REMOTE_ERROR;
        } else if (type == LNET_IB_GET_REQ) {
            if ((uint32_t)status > tx->msg[1]->event.rlength)
                return -EPROTO;
            lnet_set_reply_msg_len(conn->owner->ni, tx->msg[1], (uint32_t)status);
        }
    }
    tx->waiting = false;
    lnet_ib_tx_finish_if_idle(tx);
    return 0;
}

/* The target is ready for the data of a PUT. */
static int put_ack(struct lnet_ib_conn *conn, const struct lnet_ib_message *ack)
{
    struct lnet_ib_tx *tx = lnet_ib_tx_waiting(conn, LNET_IB_PUT_REQ, ack->cookie);
    struct lnet_ib_message done = {.type = LNET_IB_PUT_DONE, .cookie = ack->sink_cookie};
    uint32_t length = 0, i;

    if (tx == NULL)
        return -EPROTO;
    for (i = 0; i < ack->memory->count; i++) {
        if (ack->memory->fragment[i].bytes > LNET_MAX_PAYLOAD)
            return -EPROTO;
        length += ack->memory->fragment[i].bytes;
    }
    /* The target may take less than there is. */
    if (length == 0 || length > tx->msg[0]->payload_length)
        return -EPROTO;
    tx->waiting = false;
    lnet_ib_tx_write(tx, ack->memory->key, &tx->msg[0]->payload, tx->msg[0]->payload_offset,
                     length);
    lnet_ib_tx_pack(tx, &done, conn->peer->nid);
    list_del_init(&tx->on_list);
    lnet_ib_tx_queue(conn, tx);
    return 0;
}

/* A message for LNet stays in its buffer until LNet calls `receive`. */
static int parse(struct lnet_ib_conn *conn, const void *bytes, uint32_t length, bool rdma)
{
    struct lnet_ib_receive *receive = lnet_ib_receive_new(conn);
    int rc;

    memcpy(receive->bytes, bytes, length);
    rc = lnet_ib_unpack(&receive->message, receive->bytes, length);
    assert(rc == 0);
    rc = lnet_parse(conn->owner->ni, &receive->message.header, conn->peer->nid, receive, rdma);
    if (rc < 0)
        lnet_ib_receive_free(conn->owner, receive);
    return rc;
}

/* 0, or the error with which the connection ends; `how`: what becomes of the receive buffer, unless
 * LNet has it. */
static int dispatch(struct lnet_ib_conn *conn, const struct lnet_ib_message *message,
                    const void *bytes, uint32_t length, enum lnet_ib_repost *how, bool *kept)
{
    *kept = false;
    *how = LNET_IB_OWE_CREDIT;
    switch ((enum lnet_ib_type)message->type) {
    case LNET_IB_NOOP:
        *how = LNET_IB_NO_CREDIT;
        return 0;
    case LNET_IB_IMMEDIATE:
    case LNET_IB_PUT_REQ:
        *kept = true;
        return parse(conn, bytes, length, false);
    case LNET_IB_GET_REQ:
        *kept = true;
        return parse(conn, bytes, length, true);
    case LNET_IB_PUT_NAK:
        *how = LNET_IB_RESERVED_CREDIT;
        return complete(conn, LNET_IB_PUT_REQ, message->status, message->cookie);
    case LNET_IB_PUT_ACK:
        *how = LNET_IB_RESERVED_CREDIT;
        return put_ack(conn, message);
    case LNET_IB_PUT_DONE:
        return complete(conn, LNET_IB_PUT_ACK, message->status, message->cookie);
    case LNET_IB_GET_DONE:
        *how = LNET_IB_RESERVED_CREDIT;
        return complete(conn, LNET_IB_GET_REQ, message->status, message->cookie);
    case LNET_IB_CONNREQ:
    case LNET_IB_CONNACK:
        break;
    }
    return -EPROTO;
}

void lnet_ib_message_arrived(struct lnet_ib_conn *conn, const void *bytes, uint32_t length)
{
    struct lnet_ib_memory memory;
    struct lnet_ib_message message = {.memory = &memory};
    enum lnet_ib_repost how;
    bool kept;
    int rc = lnet_ib_unpack(&message, bytes, length);

    if (rc == 0 && (message.source != conn->peer->nid || message.target != conn->owner->ni->nid ||
                    message.source_stamp != conn->peer_stamp ||
                    message.target_stamp != conn->owner->ni->node->incarnation))
        rc = -ESTALE;
    if (rc == 0 && conn->credits + message.credits > conn->queue_depth)
        rc = -EPROTO; /* it returns more than it got */
    if (rc == 0) {
        conn->credits += message.credits;
        rc = dispatch(conn, &message, bytes, length, &how, &kept);
        if (rc == 0 && !kept)
            lnet_ib_repost(conn, how);
        if (message.credits != 0)
            lnet_ib_send_queued(conn);
    }
    if (rc == -EPROTO)
        lnet_connection_garbled(conn->owner->ni, conn->peer->nid);
    if (rc < 0)
        lnet_ib_conn_close(conn, rc, LNET_MSG_STATUS_LOCAL_ERROR);
}
