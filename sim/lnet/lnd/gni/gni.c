/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* gnilnd's entries: what LNet calls. They queue work for the driver's thread. */
#include <aries/aries.h>
#include <errno.h>
#include <string.h>
#include "lnd/gni.h"
#include "gni.h"

#define THREAD_PID 2u /* the driver is a process of the node's kernel for uGNI */

static const struct lnet_param params[LNET_GNI_PARAMS] = {
    [LNET_GNI_MAX_IMMEDIATE] = {"max_immediate", 2048, 0, 65536,
                                "payload bytes that go in the message"},
    [LNET_GNI_MBOX_CREDITS] = {"mbox_credits", 256, 2, 16384, "messages in a mailbox"},
    [LNET_GNI_MBOX_PER_BLOCK] = {"mbox_per_block", 64, 1, 4096,
                                 "mailboxes that are registered together"},
    [LNET_GNI_NWILDCARD] = {"nwildcard", 4, 1, 512, "connection requests on offer to any peer"},
    [LNET_GNI_TIMEOUT] = {"timeout", 60, 4, 1 << 20,
                          "seconds without a message until a peer is dead"},
    [LNET_GNI_DGRAM_TIMEOUT] = {"dgram_timeout", 2, 1, 1 << 20,
                                "seconds until a connection request is given up"},
    [LNET_GNI_FMA_CQ_SIZE] = {"fma_cq_size", 32768, 16, 1 << 20,
                              "entries of the completion queues"},
    [LNET_GNI_EAGER_CREDITS] = {"eager_credits", 262144, 1, 1 << 30,
                                "messages that are copied because they wait"},
    [LNET_GNI_MAX_RETRANSMITS] = {"max_retransmits", 128, 1, 4096,
                                  "times that a transfer with a recoverable error is repeated"},
    [LNET_GNI_SOFTWARE_NS] = {"software_ns", 1500, 0, 1 << 30,
                              "CPU time of a message, at either end"},
};

/* ---- interfaces ------------------------------------------------------------------------------ */

static void killed(void *context, const char *why)
{
    struct lnet_gni_ni *owner = context;

    (void)why; /* the node has crashed: LNet stops, too */
    owner->stopping = owner->asleep = true;
    if (owner->fiber != NULL && owner->fiber != sim_fiber_self())
        sim_fiber_kill(owner->fiber);
}

static void init_lists(struct lnet_gni_ni *owner)
{
    INIT_LIST_HEAD(&owner->peers);
    INIT_LIST_HEAD(&owner->connections);
    INIT_LIST_HEAD(&owner->datagrams);
    INIT_LIST_HEAD(&owner->blocks);
    INIT_LIST_HEAD(&owner->free_mailboxes);
    INIT_LIST_HEAD(&owner->idle);
    INIT_LIST_HEAD(&owner->tx_blocks);
}

static int startup(struct lnet_ni *ni)
{
    struct aries_fabric *aries = ni->interface.aries;
    struct lnet_gni_ni *owner;
    char name[64];

    if (aries == NULL || !aries_node_alive(aries, ni->interface.endpoint))
        return -ENODEV;
    owner = g_new0(struct lnet_gni_ni, 1);
    owner->ni = ni;
    init_lists(owner);
    owner->by_nid = g_hash_table_new(NULL, NULL);
    owner->by_queue = g_ptr_array_new();
    owner->scan.event.fire = lnet_gni_scan_fires;
    owner->next_stamp = ni->node->incarnation << 16;
    ni->nid = LNET_MKNID(LNET_NIDNET(ni->nid), ni->interface.address);
    ni->driver = owner;
    g_snprintf(name, sizeof(name), "kgnilnd %s", libcfs_nid2str(ni->nid));
    owner->process = aries_process_create(aries, ni->interface.endpoint, 0, THREAD_PID, true, name,
                                          killed, owner);
    owner->fiber = sim_fiber_start(lnet_gni_thread, owner, name, sim_now());
    if (owner->fiber == NULL)
        return -ENOMEM;
    aries_process_bind(owner->process, owner->fiber);
    return 0;
}

static void shutdown(struct lnet_ni *ni)
{
    struct lnet_gni_ni *owner = ni->driver;

    sim_timer_cancel(&owner->scan);
    aries_process_unbind(owner->process, owner->fiber);
    assert(owner->fiber != sim_fiber_self());
    sim_fiber_kill(owner->fiber);
    aries_process_exit(owner->process); /* releases all its objects of uGNI */
    lnet_gni_peers_free(owner);
    while (!list_empty(&owner->tx_blocks)) {
        struct list_head *block = owner->tx_blocks.next; /* the first field of its block */

        list_del(block);
        g_free(block);
    }
    g_ptr_array_unref(owner->by_queue);
    g_hash_table_unref(owner->by_nid);
    g_free(owner);
    ni->driver = NULL;
}

static bool busy(const struct lnet_ni *ni)
{
    const struct lnet_gni_ni *owner = ni->driver;

    return !owner->asleep;
}

/* LNetCtl: ioc_count says which peer or connection. */
static int control(struct lnet_ni *ni, unsigned command, void *argument)
{
    struct lnet_gni_ni *owner = ni->driver;
    struct libcfs_ioctl_data *data = argument;
    struct lnet_gni_peer *peer;
    uint32_t position = data->ioc_count, closed = 0;

    if (command != IOC_LIBCFS_GET_PEER && command != IOC_LIBCFS_GET_CONN &&
        command != IOC_LIBCFS_CLOSE_CONNECTION)
        return -EINVAL;
    list_for_each_entry (peer, &owner->peers, on_ni) {
        if (command == IOC_LIBCFS_CLOSE_CONNECTION) {
            if (peer->conn == NULL || (data->ioc_nid != LNET_NID_ANY && data->ioc_nid != peer->nid))
                continue;
            peer->conn->closing = true;
            peer->conn->why = -ECONNABORTED;
            closed++;
        } else if ((command == IOC_LIBCFS_GET_PEER || peer->conn != NULL) && position-- == 0) {
            data->ioc_nid = peer->nid;
            data->ioc_count = peer->conn != NULL;
            data->ioc_u32[0] = 0; /* the device */
            return 0;
        }
    }
    if (closed > 0)
        lnet_gni_wake(owner);
    return command == IOC_LIBCFS_CLOSE_CONNECTION && (closed > 0 || data->ioc_nid == LNET_NID_ANY)
               ? 0
               : -ENOENT;
}

static void query(struct lnet_ni *ni, lnet_nid_t nid, sim_time_t *when)
{
    const struct lnet_gni_peer *peer = lnet_gni_peer_get(ni->driver, nid, false);

    *when = peer != NULL ? peer->last_alive : 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

static int send(struct lnet_ni *ni, void *in, struct lnet_msg *msg)
{
    struct lnet_gni_ni *owner = ni->driver;
    uint32_t immediate = (uint32_t)ni->driver_values[LNET_GNI_MAX_IMMEDIATE];
    struct lnet_gni_tx *tx;

    (void)in;
    if (msg->type == LNET_MSG_GET && !msg->routing && !msg->target_is_router &&
        msg->md->length > immediate) {
        struct lnet_msg *reply = lnet_create_reply_msg(ni, msg);

        if (reply == NULL)
            return -EIO;
        tx = lnet_gni_tx_new(owner, LNET_GNI_GET_REQ);
        tx->msg[1] = reply;
        tx->cookie = tx->message.get_request.cookie = ++owner->next_cookie;
        tx->fragments = msg->md->fragments;
        tx->length = msg->md->length;
        tx->register_memory = tx->incoming = true;
        lnet_header_to_wire(&msg->header, tx->message.get_request.header);
    } else if ((msg->type == LNET_MSG_PUT || msg->type == LNET_MSG_REPLY) &&
               msg->payload_length > immediate) {
        tx = lnet_gni_tx_new(owner, LNET_GNI_PUT_REQ);
        tx->cookie = tx->message.put_request.cookie = ++owner->next_cookie;
        lnet_header_to_wire(&msg->header, tx->message.put_request.header);
    } else {
        tx = lnet_gni_tx_new(owner, LNET_GNI_IMMEDIATE);
        tx->data_bytes = msg->payload_length;
        lnet_header_to_wire(&msg->header, tx->message.header);
    }
    tx->msg[0] = msg;
    lnet_gni_launch(owner, tx, msg->next_hop);
    return 0;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void send_completion(struct lnet_gni_conn *conn, enum lnet_gni_type type, int status,
                            uint64_t cookie)
{
    struct lnet_gni_tx *tx = lnet_gni_tx_new(conn->owner, type);

    tx->message.completion.status = status;
    tx->message.completion.cookie = cookie;
    lnet_gni_tx_queue(conn, tx);
}

/* Tells the initiator of a PUT where its data goes. */
static void receive_put(struct lnet_gni_receive *receive, struct lnet_msg *msg,
                        const struct lnet_fragments *to, uint32_t offset, uint32_t mlen)
{
    struct lnet_gni_conn *conn = receive->conn;
    struct lnet_gni_tx *tx = lnet_gni_tx_new(conn->owner, LNET_GNI_PUT_ACK);

    tx->msg[0] = msg;
    tx->cookie = ++conn->owner->next_cookie;
    tx->message.put_ack.source_cookie = receive->message.put_request.cookie;
    tx->message.put_ack.target_cookie = tx->cookie;
    tx->fragments = *to;
    tx->offset = offset;
    tx->length = mlen;
    tx->register_memory = tx->incoming = true;
    lnet_gni_tx_queue(conn, tx);
}

/* Writes the answer of an optimized GET into the initiator's memory. */
static int reply(struct lnet_gni_receive *receive, struct lnet_msg *msg)
{
    struct lnet_gni_conn *conn = receive->conn;
    struct lnet_gni_tx *tx;

    if (msg->payload_length > receive->message.get_request.memory.bytes)
        return -EPROTO;
    tx = lnet_gni_tx_new(conn->owner, LNET_GNI_GET_DONE);
    tx->msg[0] = msg;
    tx->message.completion.cookie = receive->message.get_request.cookie;
    tx->message.completion.status = (int32_t)msg->payload_length;
    tx->fragments = msg->payload;
    tx->offset = msg->payload_offset;
    tx->length = msg->payload_length;
    tx->remote = receive->message.get_request.memory;
    tx->transfer = tx->length != 0;
    lnet_gni_tx_queue(conn, tx);
    return 0;
}

static int receive(struct lnet_ni *ni, void *in, struct lnet_msg *msg, bool delayed,
                   const struct lnet_fragments *to, uint32_t offset, uint32_t mlen, uint32_t rlen)
{
    struct lnet_gni_receive *from = in;
    int rc = 0;

    (void)ni, (void)delayed, (void)rlen;
    switch ((enum lnet_gni_type)from->message.type) {
    case LNET_GNI_IMMEDIATE:
        if (msg != NULL) {
            if (mlen != 0)
                lnet_copy_to_fragments(to, offset, from->payload, mlen);
            lnet_finalize(msg, 0);
        }
        break;
    case LNET_GNI_PUT_REQ:
        if (from->conn->state != LNET_GNI_ESTABLISHED) {
            if (msg != NULL)
                lnet_finalize(msg, -ECONNABORTED);
        } else if (msg != NULL && mlen != 0) {
            receive_put(from, msg, to, offset, mlen);
        } else {
            send_completion(from->conn, LNET_GNI_PUT_NAK, msg == NULL ? -ENOENT : 0,
                            from->message.put_request.cookie);
            if (msg != NULL)
                lnet_finalize(msg, 0);
        }
        break;
    default:
        assert(from->message.type == LNET_GNI_GET_REQ);
        if (from->conn->state != LNET_GNI_ESTABLISHED)
            rc = -ECONNABORTED; /* while a rule held it */
        else if (msg != NULL)
            rc = reply(from, msg);
        else
            send_completion(from->conn, LNET_GNI_GET_NAK, -ENOENT,
                            from->message.get_request.cookie);
    }
    lnet_gni_receive_free(from);
    return rc;
}

/* LNet keeps the message: it leaves the mailbox, so that those behind it can pass. */
static int eager_receive(struct lnet_ni *ni, void *in, struct lnet_msg *msg, void **new_in)
{
    const struct lnet_gni_receive *from = in;
    struct lnet_gni_ni *owner = ni->driver;
    struct lnet_gni_receive *copy;
    uint32_t bytes = from->message.type == LNET_GNI_IMMEDIATE ? from->message.payload_length : 0;

    (void)msg;
    if (owner->eager_copies >= (uint32_t)ni->driver_values[LNET_GNI_EAGER_CREDITS])
        return -ENOMEM;
    owner->eager_copies++;
    copy = g_malloc(sizeof(*copy) + bytes);
    *copy = *from;
    copy->copied = true;
    copy->payload = (const uint8_t *)(copy + 1);
    if (bytes != 0)
        memcpy(copy + 1, from->payload, bytes);
    copy->conn->delayed++;
    *new_in = copy;
    return 0;
}

const struct lnet_lnd lnet_lnd_gni = {
    .type = GNILND,
    .name = "gni",
    .credits = 256,
    .peer_credits = 16,
    .peer_buffer_credits = 0,
    .peer_timeout_s = 0, /* peer_health is off */
    .module = "kgnilnd",
    .params = params,
    .param_count = LNET_GNI_PARAMS,
    .startup = startup,
    .shutdown = shutdown,
    .busy = busy,
    .control = control,
    .send = send,
    .receive = receive,
    .eager_receive = eager_receive,
    .query = query,
};
