/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Transmit descriptors of gnilnd. A message goes into the peer's mailbox by SMSG; data above
 * max_immediate goes by an RDMA PUT of the block transfer engine before its DONE message.
 * Descriptors are registered for one transfer each.
 *
 *   QUEUED ── transfer posted ──▶ TRANSFER ── event ──▶ QUEUED ── in the mailbox ──▶ SENT ── event
 * ──▶ done a request then ──▶ ANSWER ── answer ──▶ done
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "aries/kernel.h"
#include "gni.h"

#define BLOCK 16u
#define PAGE 4096u
#define COPY_PS_PER_BYTE 200u /* of a bounce buffer, 5 GB/s */

struct block {
    struct list_head on_ni;
    struct lnet_gni_tx tx[BLOCK];
};

struct lnet_gni_tx *lnet_gni_tx_new(struct lnet_gni_ni *owner, enum lnet_gni_type type)
{
    struct lnet_gni_tx *tx;
    unsigned i;

    if (list_empty(&owner->idle)) {
        struct block *block = g_new0(struct block, 1);

        list_add(&block->on_ni, &owner->tx_blocks);
        for (i = 0; i < BLOCK; i++)
            list_add_tail(&block->tx[i].on_list, &owner->idle);
    }
    tx = list_first_entry(&owner->idle, struct lnet_gni_tx, on_list);
    list_del_init(&tx->on_list);
    memset(tx, 0, sizeof(*tx));
    INIT_LIST_HEAD(&tx->on_list);
    tx->owner = owner;
    tx->deadline = sim_now() + (sim_time_t)owner->ni->driver_values[LNET_GNI_TIMEOUT] * SIM_S;
    tx->message.type = (uint16_t)type;
    tx->message.magic = LNET_GNI_MAGIC;
    tx->message.version = LNET_GNI_MESSAGE_VERSION;
    tx->message.source_nid = owner->ni->nid;
    tx->message_bytes = sizeof(tx->message);
    return tx;
}

void lnet_gni_tx_done(struct lnet_gni_tx *tx)
{
    struct lnet_msg *msg[2] = {tx->msg[0], tx->msg[1]};
    int status[2] = {tx->status[0], tx->status[1]}, i;

    free(tx->bounce);
    g_free(tx->data);
    list_move(&tx->on_list, &tx->owner->idle);
    for (i = 0; i < 2; i++)
        if (msg[i] != NULL)
            lnet_finalize(msg[i], status[i]);
}

void lnet_gni_tx_fail_list(struct list_head *list, int status)
{
    while (!list_empty(list)) {
        struct lnet_gni_tx *tx = list_first_entry(list, struct lnet_gni_tx, on_list);

        tx->status[0] = tx->status[1] = status;
        lnet_gni_tx_done(tx);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/*
 * The pieces of the fragments between `offset` and its end. False: they are neither one piece nor
 * whole pages but for the ends, so that the NIC cannot address them as one region.
 */
static bool pieces_of(const struct lnet_gni_tx *tx, gni_mem_segment_t *piece, uint32_t *count)
{
    const struct kvec *at = tx->fragments.fragment;
    uint64_t offset = tx->offset, left = tx->length;

    *count = 0;
    while (offset >= at->iov_len)
        offset -= at++->iov_len;
    for (; left > 0; at++, offset = 0) {
        uint64_t address = (uint64_t)(uintptr_t)at->iov_base + offset, bytes = at->iov_len - offset;

        bytes = MIN(bytes, left);
        if (bytes == 0)
            continue;
        left -= bytes;
        if (*count > 0 && piece[*count - 1].address + piece[*count - 1].length == address) {
            piece[*count - 1].length += bytes;
            continue;
        }
        if (*count > 0 && (address % PAGE != 0 ||
                           (piece[*count - 1].address + piece[*count - 1].length) % PAGE != 0))
            return false;
        piece[*count].address = address;
        piece[*count].length = bytes;
        ++*count;
    }
    return true;
}

static struct kvec whole(const struct lnet_gni_tx *tx)
{
    return (struct kvec){tx->bounce, tx->length};
}

/* Registers the memory, or a copy of it. By the thread. */
static gni_return_t register_memory(struct lnet_gni_tx *tx)
{
    gni_mem_segment_t piece[LNET_MAX_IOV];
    gni_nic_handle_t nic = tx->owner->nic;
    gni_return_t rc;
    uint32_t count;

    if (!pieces_of(tx, piece, &count)) {
        tx->bounce = aligned_alloc(PAGE, (tx->length + PAGE - 1) / PAGE * PAGE);
        if (tx->bounce == NULL)
            abort();
        if (!tx->incoming) {
            struct kvec to = whole(tx);
            struct lnet_fragments copy = {1, tx->length, &to};

            lnet_copy_fragments(&copy, 0, &tx->fragments, tx->offset, tx->length);
            sim_spend((sim_time_t)tx->length * COPY_PS_PER_BYTE);
        }
        piece[0].address = (uint64_t)(uintptr_t)tx->bounce;
        piece[0].length = tx->length;
        count = 1;
    }
    if (count == 1) {
        tx->address = piece[0].address;
        rc = GNI_MemRegister(nic, piece[0].address, piece[0].length, NULL, GNI_MEM_READWRITE,
                             (uint32_t)-1, &tx->handle);
    } else {
        /* The region is addressed from 0, and begins with the page of its first byte. */
        tx->address = piece[0].address % PAGE;
        rc = GNI_MemRegisterSegments(nic, piece, count, NULL, GNI_MEM_READWRITE, (uint32_t)-1,
                                     &tx->handle);
    }
    tx->registered = rc == GNI_RC_SUCCESS;
    return rc;
}

/* `failed`: with its connection, so the peer may still have a transfer in flight. */
static void deregister_memory(struct lnet_gni_tx *tx, bool failed)
{
    if (!tx->registered)
        return;
    if (failed)
        aries_kernel_mem_deregister_held(tx->owner->nic, &tx->handle);
    else
        GNI_MemDeregister(tx->owner->nic, &tx->handle);
    tx->registered = false;
    if (tx->bounce != NULL && tx->incoming) {
        struct kvec from = whole(tx);
        struct lnet_fragments copy = {1, tx->length, &from};

        lnet_copy_fragments(&tx->fragments, tx->offset, &copy, 0, tx->length);
        sim_spend((sim_time_t)tx->length * COPY_PS_PER_BYTE);
    }
}

void lnet_gni_tx_release_list(struct list_head *list)
{
    struct lnet_gni_tx *tx;

    list_for_each_entry (tx, list, on_list)
        deregister_memory(tx, true);
}

/* Ends it, by the thread. */
static void finish(struct lnet_gni_tx *tx)
{
    struct lnet_node *node = tx->owner->ni->node;

    deregister_memory(tx, false);
    lnet_host_lock(node);
    lnet_gni_tx_done(tx);
    lnet_host_unlock(node);
}

static void fail(struct lnet_gni_tx *tx, int status)
{
    tx->status[0] = tx->status[1] = status;
    finish(tx);
}

/* ---- sending --------------------------------------------------------------------------------- */

void lnet_gni_tx_queue(struct lnet_gni_conn *conn, struct lnet_gni_tx *tx)
{
    tx->conn = conn;
    tx->state = LNET_GNI_TX_QUEUED;
    list_move_tail(&tx->on_list, &conn->queued);
    lnet_gni_wake(conn->owner);
}

static void close_later(struct lnet_gni_conn *conn, int why)
{
    conn->closing = true;
    conn->why = why;
    conn->owner->work = true;
}

static void post_again(struct lnet_gni_conn *conn, struct lnet_gni_tx *tx)
{
    if (GNI_PostRdma(conn->ep, &tx->post) != GNI_RC_SUCCESS) {
        tx->state = LNET_GNI_TX_ANSWER; /* no event comes */
        close_later(conn, -EIO);
    }
}

/* Posts the transfer that goes before the message. */
static void post_transfer(struct lnet_gni_conn *conn, struct lnet_gni_tx *tx)
{
    gni_post_descriptor_t *post = &tx->post;
    gni_return_t rc = register_memory(tx);

    if (rc != GNI_RC_SUCCESS) {
        close_later(conn, -ENOMEM);
        return;
    }
    memset(post, 0, sizeof(*post));
    post->type = GNI_POST_RDMA_PUT;
    post->cq_mode = GNI_CQMODE_GLOBAL_EVENT; /* the data is in place when the peer is told so */
    post->dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    post->local_addr = tx->address;
    post->local_mem_hndl = tx->handle;
    post->remote_addr = tx->remote.address;
    post->remote_mem_hndl = tx->remote.handle;
    post->length = tx->length;
    post->rdma_mode = 0;
    post->src_cq_hndl = NULL; /* that of the endpoint */
    conn->owner->transfers++;
    tx->state = LNET_GNI_TX_TRANSFER;
    list_move_tail(&tx->on_list, &conn->active);
    post_again(conn, tx);
}

static bool describe_memory(struct lnet_gni_tx *tx)
{
    struct lnet_gni_memory memory = {.bytes = tx->length};

    if (!tx->registered && register_memory(tx) != GNI_RC_SUCCESS)
        return false;
    memory.handle = tx->handle;
    memory.address = tx->address;
    if (tx->message.type == LNET_GNI_PUT_ACK)
        tx->message.put_ack.memory = memory;
    else
        tx->message.get_request.memory = memory;
    return true;
}

/* The data of an IMMEDIATE, which SMSG copies. */
static const void *data_of(struct lnet_gni_tx *tx)
{
    const struct lnet_msg *msg = tx->msg[0];

    if (tx->data_bytes == 0)
        return NULL;
    if (tx->data == NULL) {
        tx->data = g_malloc(tx->data_bytes);
        lnet_copy_from_fragments(tx->data, &msg->payload, msg->payload_offset, tx->data_bytes);
    }
    return tx->data;
}

uint32_t lnet_gni_event_number(const struct lnet_gni_conn *conn, uint32_t sequence)
{
    return conn->queue << 16 | (sequence & 0xffff);
}

/* Puts the message into the peer's mailbox. GNI_RC_NOT_DONE: the mailbox is full. */
static gni_return_t send_message(struct lnet_gni_conn *conn, struct lnet_gni_tx *tx)
{
    struct lnet_gni_ni *owner = conn->owner;
    const void *data = data_of(tx);
    gni_return_t rc;

    tx->message.connection_stamp = conn->own_stamp;
    tx->message.sequence = conn->tx_sequence;
    tx->message.payload_length = tx->data_bytes;
    rc = GNI_SmsgSendWTag(conn->ep, &tx->message, tx->message_bytes, (void *)data, tx->data_bytes,
                          lnet_gni_event_number(conn, tx->message.sequence), 0);
    if (rc != GNI_RC_SUCCESS)
        return rc;
    sim_spend((sim_time_t)owner->ni->driver_values[LNET_GNI_SOFTWARE_NS] * SIM_NS);
    owner->sent[tx->message.type]++;
    conn->tx_sequence++;
    conn->last_tx = sim_local_time();
    tx->state = LNET_GNI_TX_SENT;
    list_move_tail(&tx->on_list, &conn->active);
    return rc;
}

bool lnet_gni_send_queued(struct lnet_gni_conn *conn)
{
    bool did = false;

    while (!list_empty(&conn->queued) && !conn->closing) {
        struct lnet_gni_tx *tx = list_first_entry(&conn->queued, struct lnet_gni_tx, on_list);
        gni_return_t rc;

        if (tx->transfer) {
            post_transfer(conn, tx);
            did = true;
            continue;
        }
        if (tx->register_memory && !describe_memory(tx)) {
            close_later(conn, -ENOMEM);
            break;
        }
        rc = send_message(conn, tx);
        if (rc == GNI_RC_NOT_DONE)
            break;
        did = true;
        if (rc != GNI_RC_SUCCESS)
            close_later(conn, -ECOMM);
    }
    return did;
}

/* ---- completion ------------------------------------------------------------------------------ */

struct lnet_gni_tx *lnet_gni_tx_find(struct lnet_gni_conn *conn, uint64_t cookie)
{
    struct lnet_gni_tx *tx;

    list_for_each_entry (tx, &conn->active, on_list)
        if (tx->cookie == cookie && !tx->answered &&
            (tx->state == LNET_GNI_TX_SENT || tx->state == LNET_GNI_TX_ANSWER))
            return tx;
    return NULL;
}

void lnet_gni_tx_answered(struct lnet_gni_tx *tx, int send_status, int reply_status)
{
    tx->status[0] = send_status;
    tx->status[1] = reply_status;
    if (tx->state == LNET_GNI_TX_SENT)
        tx->answered = true;
    else
        finish(tx);
}

static bool is_request(const struct lnet_gni_tx *tx)
{
    return tx->message.type == LNET_GNI_PUT_REQ || tx->message.type == LNET_GNI_GET_REQ ||
           tx->message.type == LNET_GNI_PUT_ACK;
}

/* The data cannot be moved: tells the peer so, and closes the connection. */
static void give_up(struct lnet_gni_conn *conn, struct lnet_gni_tx *tx)
{
    tx->status[0] = tx->status[1] = -EFAULT;
    tx->transfer = false;
    deregister_memory(tx, false);
    if (tx->message.type == LNET_GNI_GET_DONE)
        tx->message.type = LNET_GNI_GET_NAK;
    tx->message.completion.status = -EFAULT;
    if (conn->closing || send_message(conn, tx) != GNI_RC_SUCCESS)
        finish(tx);
    close_later(conn, -ECOMM);
}

static void transfer_ended(struct lnet_gni_tx *tx, gni_cq_entry_t event, bool ok)
{
    struct lnet_gni_conn *conn = tx->conn;
    uint32_t recoverable = 0;

    if (conn->state != LNET_GNI_ESTABLISHED) {
        fail(tx, -EIO);
        return;
    }
    if (!ok) {
        if (GNI_CqErrorRecoverable(event, &recoverable) == GNI_RC_SUCCESS && recoverable != 0 &&
            !conn->closing &&
            tx->retries < (uint32_t)conn->owner->ni->driver_values[LNET_GNI_MAX_RETRANSMITS]) {
            tx->retries++;
            conn->owner->retransmits++;
            post_again(conn, tx);
        } else {
            give_up(conn, tx);
        }
        return;
    }
    deregister_memory(tx, false);
    tx->transfer = false;
    tx->state = LNET_GNI_TX_QUEUED;
    list_move(&tx->on_list, &conn->queued); /* before other messages */
}

static void sent(struct lnet_gni_tx *tx, bool ok)
{
    struct lnet_gni_conn *conn = tx->conn;

    if (!ok)
        close_later(conn, -ECOMM);
    if (!ok || (conn->state != LNET_GNI_ESTABLISHED && is_request(tx) && !tx->answered))
        fail(tx, -EIO);
    else if (is_request(tx) && !tx->answered)
        tx->state = LNET_GNI_TX_ANSWER;
    else
        finish(tx);
}

void lnet_gni_tx_event(struct lnet_gni_ni *owner, gni_cq_entry_t event, gni_return_t rc)
{
    uint32_t id = (uint32_t)GNI_CQ_GET_MSG_ID(event), queue = id >> 16;
    bool ok = rc == GNI_RC_SUCCESS;
    struct lnet_gni_conn *conn;
    struct lnet_gni_tx *tx;
    gni_post_descriptor_t *post;

    if (GNI_CQ_GET_TYPE(event) == GNI_CQ_EVENT_TYPE_POST) {
        rc = GNI_GetCompleted(owner->tx_cq, event, &post);
        if (rc == GNI_RC_SUCCESS || rc == GNI_RC_TRANSACTION_ERROR)
            transfer_ended(sim_container_of(post, struct lnet_gni_tx, post), event,
                           ok && rc == GNI_RC_SUCCESS);
        return;
    }
    conn = queue < owner->by_queue->len ? g_ptr_array_index(owner->by_queue, queue) : NULL;
    if (conn == NULL)
        return;
    if (conn->close_in_flight && conn->close_event == id) {
        conn->close_in_flight = false;
        return;
    }
    list_for_each_entry (tx, &conn->active, on_list)
        if (tx->state == LNET_GNI_TX_SENT &&
            lnet_gni_event_number(conn, tx->message.sequence) == id) {
            sent(tx, ok);
            return;
        }
}
