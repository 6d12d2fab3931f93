/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers and connections of gnilnd. Both sides exchange a connection request by datagram: the active
 * side offers one to the peer's NIC, the passive side has some on offer that any peer may take. A
 * request has the sender's mailbox, so each side can write to the other's once the exchange has
 * ended. Requests that both sides offer to each other make one exchange.
 */
#include <aries/aries.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "gni.h"

/* ---- peers ----------------------------------------------------------------------------------- */

struct lnet_gni_peer *lnet_gni_peer_get(struct lnet_gni_ni *owner, lnet_nid_t nid, bool create)
{
    gpointer key = GUINT_TO_POINTER(LNET_NIDADDR(nid));
    struct lnet_gni_peer *peer = g_hash_table_lookup(owner->by_nid, key);

    if (peer != NULL || !create)
        return peer;
    peer = g_new0(struct lnet_gni_peer, 1);
    peer->owner = owner;
    peer->nid = nid;
    INIT_LIST_HEAD(&peer->waiting);
    list_add_tail(&peer->on_ni, &owner->peers);
    g_hash_table_insert(owner->by_nid, key, peer);
    if (!sim_timer_armed(&owner->scan))
        sim_timer_arm(&owner->scan, sim_now() + SIM_S);
    return peer;
}

void lnet_gni_launch(struct lnet_gni_ni *owner, struct lnet_gni_tx *tx, lnet_nid_t nid)
{
    struct lnet_gni_peer *peer = lnet_gni_peer_get(owner, nid, true);

    if (peer->conn != NULL) {
        lnet_gni_tx_queue(peer->conn, tx);
        return;
    }
    list_move_tail(&tx->on_list, &peer->waiting);
    lnet_gni_wake(owner);
}

/* ---- mailboxes ------------------------------------------------------------------------------- */

static gni_smsg_attr_t shape(const struct lnet_gni_ni *owner)
{
    const int *value = owner->ni->driver_values;

    return (gni_smsg_attr_t){
        .msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT,
        .mbox_maxcredit = (uint16_t)value[LNET_GNI_MBOX_CREDITS],
        .msg_maxsize =
            (uint32_t)value[LNET_GNI_MAX_IMMEDIATE] + (uint32_t)sizeof(struct lnet_gni_message),
    };
}

/* Registers a block of mailboxes. Their pages get memory when they are written first. */
static struct lnet_gni_block *new_block(struct lnet_gni_ni *owner)
{
    struct lnet_gni_block *block = g_new0(struct lnet_gni_block, 1);
    gni_smsg_attr_t attributes = shape(owner);

    if (owner->mailbox_bytes == 0) {
        GNI_SmsgBufferSizeNeeded(&attributes, &owner->mailbox_bytes);
        owner->mailbox_bytes = (owner->mailbox_bytes + 63) & ~63u;
    }
    block->bytes =
        (size_t)owner->mailbox_bytes * (size_t)owner->ni->driver_values[LNET_GNI_MBOX_PER_BLOCK];
    block->memory = mmap(NULL, block->bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block->memory == MAP_FAILED) {
        g_free(block);
        return NULL;
    }
    assert(owner->blocks.next != NULL); /* gni.c has initialised it */
    list_add(&block->on_ni, &owner->blocks);
    if (GNI_MemRegister(owner->nic, (uint64_t)(uintptr_t)block->memory, block->bytes, owner->rx_cq,
                        GNI_MEM_READWRITE, (uint32_t)-1, &block->handle) != GNI_RC_SUCCESS)
        block->used = UINT32_MAX; /* none to hand out */
    return block;
}

static struct lnet_gni_mailbox *mailbox_new(struct lnet_gni_ni *owner)
{
    uint32_t per_block = (uint32_t)owner->ni->driver_values[LNET_GNI_MBOX_PER_BLOCK];
    struct lnet_gni_mailbox *mailbox;
    struct lnet_gni_block *block = NULL;

    if (!list_empty(&owner->free_mailboxes)) {
        mailbox = list_first_entry(&owner->free_mailboxes, struct lnet_gni_mailbox, on_ni);
        list_del(&mailbox->on_ni);
        return mailbox;
    }
    if (!list_empty(&owner->blocks))
        block = list_first_entry(&owner->blocks, struct lnet_gni_block, on_ni);
    if (block == NULL || block->used >= per_block)
        block = new_block(owner);
    if (block == NULL || block->used >= per_block)
        return NULL;
    mailbox = g_new0(struct lnet_gni_mailbox, 1);
    mailbox->attributes = shape(owner);
    mailbox->attributes.msg_buffer = block->memory;
    mailbox->attributes.buff_size = owner->mailbox_bytes;
    mailbox->attributes.mem_hndl = block->handle;
    mailbox->attributes.mbox_offset = owner->mailbox_bytes * block->used++;
    return mailbox;
}

/* Nobody has been told of it, or nobody writes to it any more. */
static void mailbox_free(struct lnet_gni_ni *owner, struct lnet_gni_mailbox *mailbox)
{
    list_add(&mailbox->on_ni, &owner->free_mailboxes);
}

/* ---- connections ----------------------------------------------------------------------------- */

static uint32_t number_of(struct lnet_gni_ni *owner, struct lnet_gni_conn *conn)
{
    uint32_t i;

    for (i = 0; i < owner->by_queue->len; i++)
        if (g_ptr_array_index(owner->by_queue, i) == NULL) {
            g_ptr_array_index(owner->by_queue, i) = conn;
            return i;
        }
    g_ptr_array_add(owner->by_queue, conn);
    return owner->by_queue->len - 1;
}

/* The connection gets its number when its request is offered, because the request has it. */
static struct lnet_gni_conn *conn_new(struct lnet_gni_ni *owner)
{
    struct lnet_gni_conn *conn = g_new0(struct lnet_gni_conn, 1);

    conn->owner = owner;
    INIT_LIST_HEAD(&conn->on_ni);
    INIT_LIST_HEAD(&conn->queued);
    INIT_LIST_HEAD(&conn->active);
    conn->last_tx = conn->last_rx = conn->state_since = sim_local_time();
    lnet_connection_count(owner->ni->node, 1);
    return conn;
}

/* An offer that any peer may take is no state of a connection yet. */
static void set_state(struct lnet_gni_conn *conn, enum lnet_gni_conn_state state)
{
    if (conn->peer != NULL && conn->state != LNET_GNI_CLOSED)
        lnet_connection_state(conn->owner->ni->node,
                              conn->state == LNET_GNI_OFFERED ? "offered" : "established",
                              conn->peer->nid, NULL, conn->state_since, sim_local_time());
    conn->state = (uint8_t)state;
    conn->state_since = sim_local_time();
}

static gni_return_t conn_open(struct lnet_gni_conn *conn, const struct lnet_gni_request *theirs,
                              uint32_t address, uint32_t instance)
{
    gni_smsg_attr_t remote = theirs->mailbox;
    gni_return_t rc = GNI_EpCreate(conn->owner->nic, conn->owner->tx_cq, &conn->ep);

    if (rc != GNI_RC_SUCCESS)
        return rc;
    rc = GNI_EpBind(conn->ep, address, instance);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpSetEventData(conn->ep, conn->queue, theirs->queue);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_SmsgInit(conn->ep, &conn->mailbox->attributes, &remote);
    if (rc != GNI_RC_SUCCESS)
        GNI_EpDestroy(conn->ep);
    return rc;
}

static void conn_free(struct lnet_gni_conn *conn)
{
    g_ptr_array_index(conn->owner->by_queue, conn->queue) = NULL;
    list_del_init(&conn->on_ni);
    set_state(conn, LNET_GNI_CLOSED);
    lnet_connection_count(conn->owner->ni->node, -1);
    g_free(conn);
}

/* Its last event has come: the endpoint goes. Its mailbox is not used again, because the peer may
 * still write to it. */
bool lnet_gni_conn_destroy_if_idle(struct lnet_gni_conn *conn)
{
    if (!list_empty(&conn->active) || conn->delayed != 0 || conn->close_in_flight)
        return false;
    GNI_EpDestroy(conn->ep);
    g_free(conn->mailbox);
    conn_free(conn);
    return true;
}

void lnet_gni_conn_close(struct lnet_gni_conn *conn, int status)
{
    struct lnet_gni_ni *owner = conn->owner;
    struct lnet_gni_tx *tx, *next;
    struct list_head failed;
    int final = status == -ETIMEDOUT ? -ETIMEDOUT : -ECONNABORTED;

    assert(conn->state == LNET_GNI_ESTABLISHED);
    set_state(conn, LNET_GNI_CLOSED);
    if (conn->peer->conn == conn)
        conn->peer->conn = NULL;
    if (status != -ECONNRESET) { /* the peer does not know yet; it may not get this */
        struct lnet_gni_message message = {.magic = LNET_GNI_MAGIC,
                                           .version = LNET_GNI_MESSAGE_VERSION,
                                           .type = LNET_GNI_CLOSE,
                                           .source_nid = owner->ni->nid,
                                           .connection_stamp = conn->own_stamp,
                                           .sequence = conn->tx_sequence++};

        conn->close_event = lnet_gni_event_number(conn, message.sequence);
        conn->close_in_flight = GNI_SmsgSendWTag(conn->ep, &message, sizeof(message), NULL, 0,
                                                 conn->close_event, 0) == GNI_RC_SUCCESS;
    }
    INIT_LIST_HEAD(&failed);
    list_splice_init(&conn->queued, &failed);
    /* Those that wait for an event end with it. */
    list_for_each_entry_safe (tx, next, &conn->active, on_list)
        if (tx->state == LNET_GNI_TX_ANSWER)
            list_move_tail(&tx->on_list, &failed);
    lnet_gni_tx_release_list(&failed);
    lnet_host_lock(owner->ni->node);
    lnet_notify(owner->ni, conn->peer->nid, false, conn->peer->last_alive);
    lnet_gni_tx_fail_list(&failed, final);
    lnet_host_unlock(owner->ni->node);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void request_fill(struct lnet_gni_datagram *datagram, struct lnet_gni_ni *owner,
                         struct lnet_gni_conn *conn, lnet_nid_t target)
{
    datagram->mine = (struct lnet_gni_request){
        .magic = LNET_GNI_MAGIC,
        .version = LNET_GNI_REQUEST_VERSION,
        .type = 1,
        .timeout_s = (uint32_t)owner->ni->driver_values[LNET_GNI_TIMEOUT],
        .source_nid = owner->ni->nid,
        .target_nid = target,
        .peer_stamp = owner->ni->node->incarnation,
        .connection_stamp = conn->own_stamp,
        .host = LNET_NIDADDR(owner->ni->nid),
        .queue = conn->queue,
        .mailbox = datagram->mailbox->attributes,
    };
}

static void datagram_free(struct lnet_gni_datagram *datagram)
{
    list_del(&datagram->on_ni);
    if (datagram->peer != NULL)
        datagram->peer->datagram = NULL;
    g_free(datagram);
}

/* Offers a request to the peer, or to any. False: the NIC has no room for it. */
static bool offer(struct lnet_gni_ni *owner, struct lnet_gni_peer *peer)
{
    struct lnet_gni_datagram *datagram;
    struct lnet_gni_mailbox *mailbox = mailbox_new(owner);
    struct lnet_gni_conn *conn;
    gni_return_t rc;

    if (mailbox == NULL)
        return false;
    datagram = g_new0(struct lnet_gni_datagram, 1);
    conn = conn_new(owner);
    conn->own_stamp = ++owner->next_stamp;
    conn->queue = number_of(owner, conn);
    conn->mailbox = datagram->mailbox = mailbox;
    datagram->conn = conn;
    datagram->peer = peer;
    datagram->id = ++owner->next_datagram;
    datagram->deadline =
        sim_local_time() + (sim_time_t)owner->ni->driver_values[LNET_GNI_DGRAM_TIMEOUT] * SIM_S;
    request_fill(datagram, owner, conn, peer != NULL ? peer->nid : LNET_NID_ANY);
    list_add_tail(&datagram->on_ni, &owner->datagrams);
    rc = GNI_EpCreate(owner->nic, NULL, &datagram->ep);
    if (rc == GNI_RC_SUCCESS && peer != NULL)
        rc = GNI_EpBind(datagram->ep,
                        aries_nic_address(owner->ni->interface.aries, LNET_NIDADDR(peer->nid)),
                        LNET_GNI_INSTANCE);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpPostDataWId(datagram->ep, &datagram->mine, sizeof(datagram->mine),
                               &datagram->theirs, sizeof(datagram->theirs), datagram->id);
    if (rc == GNI_RC_SUCCESS) {
        if (peer != NULL)
            peer->datagram = datagram;
        return true;
    }
    if (datagram->ep != NULL)
        GNI_EpDestroy(datagram->ep);
    datagram->peer = NULL;
    datagram_free(datagram);
    conn_free(conn);
    mailbox_free(owner, mailbox);
    return false;
}

void lnet_gni_wildcards_offer(struct lnet_gni_ni *owner)
{
    struct lnet_gni_datagram *datagram;
    int offered = 0;

    list_for_each_entry (datagram, &owner->datagrams, on_ni)
        offered += datagram->peer == NULL;
    while (offered < owner->ni->driver_values[LNET_GNI_NWILDCARD] && offer(owner, NULL))
        offered++;
}

/* The exchange has ended: the connection stands, unless the request is not for this driver. */
static void connected(struct lnet_gni_ni *owner, struct lnet_gni_datagram *datagram,
                      uint32_t address, uint32_t instance)
{
    const struct lnet_gni_request *theirs = &datagram->theirs;
    struct lnet_gni_conn *conn = datagram->conn;
    struct lnet_gni_peer *peer;

    if (theirs->magic != LNET_GNI_MAGIC || theirs->version != LNET_GNI_REQUEST_VERSION ||
        LNET_NIDNET(theirs->source_nid) != LNET_NIDNET(owner->ni->nid) ||
        (theirs->target_nid != owner->ni->nid && theirs->target_nid != LNET_NID_ANY) ||
        theirs->mailbox.msg_maxsize != conn->mailbox->attributes.msg_maxsize ||
        theirs->mailbox.mbox_maxcredit != conn->mailbox->attributes.mbox_maxcredit ||
        conn_open(conn, theirs, address, instance) != GNI_RC_SUCCESS) {
        conn_free(conn); /* the mailbox is known to the peer: it is not used again */
        return;
    }
    peer = lnet_gni_peer_get(owner, theirs->source_nid, true);
    conn->peer = peer;
    conn->peer_stamp = theirs->connection_stamp;
    set_state(conn, LNET_GNI_ESTABLISHED);
    conn->last_tx = conn->last_rx = peer->last_alive = sim_local_time();
    list_add_tail(&conn->on_ni, &owner->connections);
    if (peer->conn != NULL && (peer->nid != owner->ni->nid || peer->stamp != theirs->peer_stamp)) {
        peer->conn->closing = true; /* the peer has lost it */
        peer->conn->why = -ESTALE;
    }
    peer->conn = conn;
    peer->stamp = theirs->peer_stamp;
    lnet_gni_tx_queue(conn, lnet_gni_tx_new(owner, LNET_GNI_NOOP)); /* the first message */
    while (!list_empty(&peer->waiting))
        lnet_gni_tx_queue(conn, list_first_entry(&peer->waiting, struct lnet_gni_tx, on_list));
    owner->work = true;
    lnet_gni_receive_all(conn); /* the peer may have been faster */
}

static void not_connected(struct lnet_gni_ni *owner, struct lnet_gni_datagram *datagram)
{
    struct lnet_gni_peer *peer = datagram->peer;
    struct list_head failed;

    mailbox_free(owner, datagram->mailbox);
    conn_free(datagram->conn);
    if (peer == NULL || peer->conn != NULL)
        return;
    INIT_LIST_HEAD(&failed);
    list_splice_init(&peer->waiting, &failed);
    lnet_host_lock(owner->ni->node);
    lnet_notify(owner->ni, peer->nid, false, peer->last_alive);
    lnet_gni_tx_fail_list(&failed, -EHOSTUNREACH);
    lnet_host_unlock(owner->ni->node);
}

static struct lnet_gni_datagram *datagram_by_id(struct lnet_gni_ni *owner, uint64_t id)
{
    struct lnet_gni_datagram *datagram;

    list_for_each_entry (datagram, &owner->datagrams, on_ni)
        if (datagram->id == id)
            return datagram;
    return NULL;
}

bool lnet_gni_datagrams_ended(struct lnet_gni_ni *owner)
{
    bool did = false;
    uint64_t id;

    while (GNI_PostDataProbeById(owner->nic, &id) == GNI_RC_SUCCESS) {
        struct lnet_gni_datagram *datagram = datagram_by_id(owner, id);
        gni_post_state_t state;
        uint32_t address, instance;

        if (datagram == NULL ||
            GNI_EpPostDataTestById(datagram->ep, id, &state, &address, &instance) != GNI_RC_SUCCESS)
            break;
        if (state != GNI_POST_COMPLETED && state != GNI_POST_TIMEOUT &&
            state != GNI_POST_TERMINATED && state != GNI_POST_ERROR)
            break;
        did = true;
        GNI_EpDestroy(datagram->ep);
        if (state == GNI_POST_COMPLETED)
            connected(owner, datagram, address, instance);
        else
            not_connected(owner, datagram);
        datagram_free(datagram);
    }
    if (did)
        lnet_gni_wildcards_offer(owner);
    return did;
}

bool lnet_gni_connect_wanted(struct lnet_gni_ni *owner)
{
    struct lnet_gni_peer *peer;
    bool did = false;

    list_for_each_entry (peer, &owner->peers, on_ni) {
        if (list_empty(&peer->waiting) || peer->conn != NULL || peer->datagram != NULL)
            continue;
        did = true;
        if (!offer(owner, peer))
            break; /* later, with the next scan */
    }
    return did;
}

void lnet_gni_datagrams_scan(struct lnet_gni_ni *owner)
{
    struct lnet_gni_datagram *datagram;

    list_for_each_entry (datagram, &owner->datagrams, on_ni)
        if (datagram->peer != NULL && !datagram->cancelled && datagram->deadline <= sim_now()) {
            datagram->cancelled = true;
            GNI_EpPostDataCancelById(datagram->ep, datagram->id);
        }
}

/* ---- the end --------------------------------------------------------------------------------- */

void lnet_gni_peers_free(struct lnet_gni_ni *owner)
{
    struct lnet_gni_block *block;
    struct lnet_gni_conn *conn;

    while (!list_empty(&owner->datagrams)) {
        struct lnet_gni_datagram *datagram =
            list_first_entry(&owner->datagrams, struct lnet_gni_datagram, on_ni);

        g_free(datagram->mailbox);
        conn_free(datagram->conn);
        datagram_free(datagram);
    }
    while (!list_empty(&owner->connections)) {
        conn = list_first_entry(&owner->connections, struct lnet_gni_conn, on_ni);
        lnet_gni_tx_fail_list(&conn->queued, -ESHUTDOWN);
        lnet_gni_tx_fail_list(&conn->active, -ESHUTDOWN);
        g_free(conn->mailbox);
        conn_free(conn);
    }
    while (!list_empty(&owner->peers)) {
        struct lnet_gni_peer *peer = list_first_entry(&owner->peers, struct lnet_gni_peer, on_ni);

        lnet_gni_tx_fail_list(&peer->waiting, -ESHUTDOWN);
        list_del(&peer->on_ni);
        g_free(peer);
    }
    while (!list_empty(&owner->free_mailboxes)) {
        struct lnet_gni_mailbox *mailbox =
            list_first_entry(&owner->free_mailboxes, struct lnet_gni_mailbox, on_ni);

        list_del(&mailbox->on_ni);
        g_free(mailbox);
    }
    while (!list_empty(&owner->blocks)) {
        block = list_first_entry(&owner->blocks, struct lnet_gni_block, on_ni);
        list_del(&block->on_ni);
        munmap(block->memory, block->bytes);
        g_free(block);
    }
}
