/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sending through a shared message queue. A message is one FMA PUT of a record into its slot of
 * the peer's mailbox, with an event at the private queue of the target instance. After a
 * recoverable error it is sent again, as often as GNI_SmsgSetMaxRetrans allows. The slot stays
 * busy until then. So a late copy can only overwrite a message that the peer has not received yet,
 * or one that it no longer needs.
 */
#include "api/msgq.h"

#include <assert.h>
#include <stdio.h>
#include "nic/cq_entry.h"
#include "nic/mem_handle.h"
#include "api/post.h"
#include "nic/status.h"

#define CHUNK_SENDS 16u

struct aries_msgq_chunk {
    struct aries_msgq_chunk *next;
    struct aries_msgq_send sends[CHUNK_SENDS];
};

/* ---- what is in flight ----------------------------------------------------------------------- */

static struct aries_msgq_send *send_new(struct gni_msgq *msgq)
{
    struct aries_msgq_send *send = msgq->free;

    if (send == NULL) {
        struct aries_msgq_chunk *chunk = g_new0(struct aries_msgq_chunk, 1);
        uint32_t i;

        chunk->next = msgq->chunks;
        msgq->chunks = chunk;
        for (i = 0; i < CHUNK_SENDS; i++) {
            chunk->sends[i].next_free = msgq->free;
            msgq->free = &chunk->sends[i];
        }
        send = msgq->free;
    }
    msgq->free = send->next_free;
    memset(send, 0, offsetof(struct aries_msgq_send, record));
    send->msgq = msgq;
    return send;
}

void aries_msgq_discard(void *object)
{
    struct gni_msgq *msgq = object;

    while (msgq->chunks != NULL) {
        struct aries_msgq_chunk *next = msgq->chunks->next;

        g_free(msgq->chunks);
        msgq->chunks = next;
    }
    g_free(msgq->views);
    g_free(msgq->watch);
    msgq->views = NULL;
    msgq->watch = NULL;
    msgq->free = NULL;
}

/* The connection of a send, or NULL if the connection was released meanwhile. */
static struct aries_msgq_connection *connection_of(const struct aries_msgq_send *send)
{
    struct aries_msgq_connection *connection =
        aries_msgq_connection_at(send->msgq->region, send->connection);

    return connection->state != ARIES_MSGQ_FREE && connection->generation == send->generation
               ? connection
               : NULL;
}

static void put_done(void *context, uint8_t status, uint8_t info, bool remote_overrun);

static void submit(struct aries_msgq_send *send, sim_time_t cpu)
{
    struct gni_nic *nic = send->msgq->nic;
    const gni_post_descriptor_t mode = {.dlvr_mode = send->cq != NULL ? nic->smsg_dlvr_mode
                                                                      : GNI_DLVMODE_IN_ORDER};
    const struct gni_ep ep = {.nic = nic};
    struct aries_work work = {
        .op = ARIES_PUT,
        .unit = ARIES_UNIT_FMA,
        .target = send->target,
        .local_addr = (uintptr_t)&send->record,
        .remote_addr = send->address,
        .length = send->bytes,
        .remote_handle = send->handle,
        .local_is_va = true,
        .remote_optional = true,
        .book = &nic->hw->fabric->book_msgq,
        .cpu = cpu,
        .done = put_done,
        .context = send,
    };

    assert(nic != NULL && send->target != NULL && send->bytes > 0);
    aries_work_fill(&work, &ep, &mode);
    work.remote_wanted = send->cq != NULL;
    work.remote_event =
        ARIES_MSGQ_EVENT |
        aries_msgq_key(send->msgq->pe, send->msgq->region->lanes > 1 ? send->msgq->index : 0);
    send->attempts++;
    nic->hw->ops->submit(nic, &work);
}

/* The address of the peer's mailbox in the registration of this remote instance. */
static uint64_t mailbox_address(const struct aries_msgq_connection *connection,
                                const struct aries_msgq_remote *remote)
{
    struct aries_mem_handle fields;

    aries_mem_handle_decode(&remote->handle, &fields);
    return fields.address + connection->remote_mailbox;
}

static uint64_t count_address(const struct aries_msgq_connection *connection)
{
    return mailbox_address(connection, &connection->remote[connection->last_sender]);
}

static void launch(struct aries_msgq_connection *connection, struct aries_msgq_send *send,
                   const struct aries_msgq_remote *remote, uint64_t offset, sim_time_t cpu)
{
    struct gni_msgq *msgq = send->msgq;

    send->connection = connection->index;
    send->generation = connection->generation;
    send->target = aries_pe_resolve(msgq->nic, connection->pe);
    send->handle = remote->handle;
    send->address = mailbox_address(connection, remote) + offset;
    /* A count may end after its connection and handle: no caller waits for it. */
    if (send->cq != NULL) {
        connection->in_flight++;
        msgq->in_flight++;
    }
    msgq->refs++;
    submit(send, cpu);
}

/* ---- credits --------------------------------------------------------------------------------- */

void aries_msgq_credits_returned(struct aries_msgq_connection *connection, uint32_t count)
{
    uint32_t more = count - connection->returned;

    if (more <= connection->sent - connection->returned)
        connection->returned += more;
}

static bool has_credit(struct aries_msgq_connection *connection)
{
    return connection->sent - connection->returned <
               aries_msgq_region_of(connection)->attrs.smsg_q_sz &&
           *aries_msgq_slot_busy(connection, connection->next_slot) == 0;
}

/* Reads the credit counts of messages that have arrived and are not received yet. */
static void note_unread(struct aries_msgq_connection *connection)
{
    uint32_t ahead;

    for (ahead = 0; ahead < aries_msgq_region_of(connection)->attrs.smsg_q_sz; ahead++) {
        if (!aries_msgq_arrived(connection, ahead))
            break;
        aries_msgq_credits_returned(connection, aries_msgq_record_of(connection, ahead)->returned);
    }
}

static void note_arrived(struct aries_msgq_connection *connection)
{
    const volatile struct aries_msgq_count *count = aries_msgq_count_of(connection);

    if (count->mark == (ARIES_MSGQ_MARK | connection->generation))
        aries_msgq_credits_returned(connection, count->returned);
    note_unread(connection);
}

/* Whether there is a credit, or an error that the caller must be told of. */
static bool can_send(const void *what)
{
    const struct aries_msgq_view *view = what;
    struct aries_msgq_connection *connection;

    if (!aries_msgq_ok(view->msgq))
        return true;
    connection = aries_msgq_connection_at(view->msgq->region, view->index);
    if (connection->state != ARIES_MSGQ_ACTIVE || sim_likely(has_credit(connection)))
        return true;
    note_arrived(connection);
    return has_credit(connection);
}

bool aries_msgq_queue_full(const struct gni_cq *cq)
{
    return aries_requests_exhausted(cq) || cq->count + cq->requests_busy >= cq->capacity;
}

bool aries_msgq_return_credits(struct gni_msgq *msgq, struct aries_msgq_connection *connection)
{
    const struct aries_timing *timing = aries_timing_of(msgq->nic);
    struct aries_msgq_send *send;

    if (connection->state != ARIES_MSGQ_ACTIVE || aries_msgq_queue_full(msgq->send_cq))
        return false;
    send = send_new(msgq);
    send->bytes = sizeof(send->count);
    send->count.returned = connection->reported = connection->received;
    send->count.mark = ARIES_MSGQ_MARK | connection->remote_generation;
    launch(connection, send, &connection->remote[connection->last_sender], 0, timing->cpu_fma);
    return true;
}

/* ---- the end of a PUT ------------------------------------------------------------------------ */

/* The instance through which a count was written has left. Tries the next instance of the node. */
static bool try_other_instance(struct aries_msgq_send *send,
                               struct aries_msgq_connection *connection)
{
    if (send->cq != NULL || aries_msgq_region_of(connection)->lanes > 1 ||
        ++send->instances_tried >= connection->remote_count)
        return false;
    connection->last_sender = (connection->last_sender + 1) % connection->remote_count;
    send->handle = connection->remote[connection->last_sender].handle;
    send->address = count_address(connection);
    send->attempts = 0;
    return true;
}

static bool repeats(struct aries_msgq_send *send, struct aries_msgq_connection *connection,
                    uint8_t status)
{
    struct gni_msgq *msgq = send->msgq;

    if (!aries_msgq_ok(msgq) || connection == NULL || connection->state != ARIES_MSGQ_ACTIVE)
        return false;
    if (!aries_status_recoverable(status) || send->attempts > msgq->nic->smsg_max_retrans) {
        if (!try_other_instance(send, connection))
            return false;
    }
    if (send->cq == NULL) /* later counts may have reported more */
        send->count.returned = connection->reported = connection->received;
    msgq->nic->statistics[GNI_STAT_SMSG_RETRANS_COUNT]++;
    msgq->fabric->counters.retransmits++;
    submit(send, 0);
    return true;
}

static void report_to_sender(struct aries_msgq_send *send, uint8_t status, uint8_t info,
                             bool remote_overrun)
{
    struct gni_cq *cq = send->cq;
    gni_cq_entry_t entry =
        aries_cq_entry_message(GNI_CQ_EVENT_TYPE_MSGQ, info, status, send->msg_id);

    aries_request_retire(cq, send->request);
    aries_cq_push(cq, entry | (remote_overrun ? ARIES_CQ_REM_OVERRUN : 0));
    aries_cq_unref(cq);
}

static void put_done(void *context, uint8_t status, uint8_t info, bool remote_overrun)
{
    struct aries_msgq_send *send = context;
    struct gni_msgq *msgq = send->msgq;
    struct aries_msgq_connection *connection = connection_of(send);

    if (status != 0 && connection != NULL && send->cq != NULL) {
        note_arrived(connection);
        if ((int32_t)(connection->returned - send->number) > 0)
            status = 0; /* only the response was lost: the peer has received the message */
    }
    if (status != 0 && repeats(send, connection, status))
        return;
    if (connection != NULL && status != 0)
        connection->state = ARIES_MSGQ_BROKEN;
    if (send->cq != NULL) {
        assert(msgq->in_flight > 0);
        msgq->in_flight--;
        if (connection != NULL) {
            connection->in_flight--;
            *aries_msgq_slot_busy(connection, send->slot) = 0;
        }
        report_to_sender(send, status, info, remote_overrun);
    }
    if (status != 0 && aries_msgq_ok(msgq))
        aries_transaction_failed(msgq->nic, status, false);
    aries_msgq_notify_all(msgq->shared); /* a slot became free, or never will */
    send->next_free = msgq->free;
    msgq->free = send;
    aries_msgq_unref(msgq);
}

/* ---- sending --------------------------------------------------------------------------------- */

static const struct aries_msgq_remote *find_remote(const struct aries_msgq_connection *connection,
                                                   uint32_t id)
{
    uint32_t count = connection->remote_count, at = id % count, i;

    for (i = 0; i < count; i++, at = at + 1 < count ? at + 1 : 0)
        if (connection->remote[at].id == id)
            return &connection->remote[at];
    return NULL;
}

static void describe(const void *what, char *buffer, size_t size)
{
    const struct aries_msgq_view *view = what;
    const struct aries_msgq_connection *connection =
        aries_msgq_connection_at(view->msgq->region, view->index);

    snprintf(buffer, size, ", peer at PE %u; %u sent, %u of them taken, %u received",
             connection->pe, connection->sent, connection->returned, connection->received);
}

/* Polls once for a credit. The handle is referenced meanwhile. */
static gni_return_t wait_for_credit(struct gni_msgq *msgq, const struct aries_msgq_view *view)
{
    const struct sim_wait wait = {"an MSGQ credit", describe, view,
                                  msgq->ids + ARIES_MSGQ_IDS + 2 * view->index + 1};
    gni_return_t result = GNI_RC_SUCCESS;

    msgq->stalled = true;
    msgq->refs++;
    if (!sim_poll(&wait, can_send, aries_timing_of(msgq->nic)->cpu_smsg / 2))
        result = GNI_RC_NOT_DONE;
    if (!aries_msgq_ok(msgq))
        result = GNI_RC_INVALID_PARAM;
    aries_msgq_unref(msgq);
    return result;
}

struct message {
    const void *header, *data;
    uint32_t header_length, length, msg_id; /* `length` is that of the data */
    uint8_t tag;
};

static void fill(struct aries_msgq_send *send, const struct aries_msgq_connection *connection,
                 const struct gni_ep *ep, const struct message *message)
{
    struct aries_msgq_record *record = &send->record;
    uint8_t *payload = (uint8_t *)(record + 1);

    send->number = connection->sent;
    send->msg_id = message->msg_id;
    send->bytes = (uint32_t)sizeof(*record) + message->header_length + message->length;
    record->length = (uint16_t)(message->header_length + message->length);
    record->tag = message->tag;
    record->mark = (uint8_t)(ARIES_MSGQ_MARK | connection->remote_generation);
    record->number = connection->sent;
    record->returned = connection->received;
    record->sender = ep->nic->cdm->inst_id;
    record->target = ep->remote_id;
    if (message->header_length != 0)
        memcpy(payload, message->header, message->header_length);
    if (message->length != 0)
        memcpy(payload + message->header_length, message->data, message->length);
    record->checksum = aries_msgq_checksum(record, record + 1);
}

static void send_now(struct gni_msgq *msgq, struct aries_msgq_connection *connection,
                     struct gni_ep *ep, struct aries_request *request,
                     const struct message *message)
{
    const struct aries_timing *timing = aries_timing_of(msgq->nic);
    uint64_t place = (uint64_t)connection->next_slot * msgq->region->layout.slot_bytes;
    uint32_t length = message->header_length + message->length;
    struct gni_nic *nic = msgq->nic;
    struct aries_msgq_send *send = send_new(msgq);

    fill(send, connection, ep, message);
    send->cq = ep->cq;
    send->request = request;
    aries_cq_ref(send->cq);
    send->slot = connection->next_slot;
    *aries_msgq_slot_busy(connection, send->slot) = 1;
    connection->next_slot = aries_msgq_slot_after(connection, send->slot, 1);
    connection->sent++;
    connection->reported = connection->received;
    msgq->stalled = false;
    nic->hw->fabric->counters.msgq_sent++;
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_SMSG, nic->hw->node, nic->process->trace_index,
              "msgq send", sim_local_time(), 0, 0, length);
    sim_idle_break();
    launch(connection, send, find_remote(connection, ep->remote_id), ARIES_MSGQ_LINE + place,
           timing->cpu_smsg + (nic->fma_shared ? timing->cpu_fma_shared : 0) +
               aries_store_time(timing, length));
}

static gni_return_t check_arguments(const struct gni_msgq *msgq, const struct gni_ep *ep,
                                    const struct message *message)
{
    if (!aries_msgq_ok(msgq) || !aries_handle_ok(ep, ARIES_MAGIC_EP) || ep->nic != msgq->nic ||
        !aries_ep_bound(ep) || ep->cq == NULL ||
        (message->header == NULL && message->header_length != 0) ||
        (message->data == NULL && message->length != 0))
        return GNI_RC_INVALID_PARAM;
    if ((uint64_t)message->header_length + message->length > msgq->region->attrs.max_msg_sz)
        return GNI_RC_SIZE_ERROR;
    return GNI_RC_SUCCESS;
}

/*
 * Finds the connection to the node of the endpoint and checks that its instance has joined and
 * accepts messages.
 */
static gni_return_t find_connection(struct gni_msgq *msgq, const struct gni_ep *ep,
                                    struct aries_msgq_connection **connection)
{
    struct aries_msgq_region *region = msgq->region;
    const struct aries_msgq_remote *remote;

    *connection = aries_msgq_connection_of(region, ep->remote_addr);
    if (*connection == NULL)
        return GNI_RC_NO_MATCH;
    if ((*connection)->state == ARIES_MSGQ_ASSIGNED)
        return GNI_RC_INVALID_STATE;
    remote = find_remote(*connection, ep->remote_id);
    if (sim_unlikely(region->lanes > 1) && remote != NULL)
        *connection = aries_msgq_connection_at(
            region, (*connection)->index + (uint32_t)(remote - (*connection)->remote));
    if ((*connection)->state != ARIES_MSGQ_ACTIVE)
        return GNI_RC_INVALID_STATE;
    return remote != NULL ? GNI_RC_SUCCESS : GNI_RC_NO_MATCH;
}

gni_return_t GNI_MsgqSend(gni_msgq_handle_t msgq_hndl, gni_ep_handle_t ep_hndl, void *hdr,
                          uint32_t hdr_len, void *msg, uint32_t msg_len, uint32_t msg_id,
                          uint8_t msg_tag)
{
    const struct message message = {hdr, msg, hdr_len, msg_len, msg_id, msg_tag};
    struct gni_msgq *msgq = msgq_hndl;
    struct aries_msgq_connection *connection;
    struct aries_request *request;
    const struct aries_msgq_view *view;
    gni_return_t result;

    /*
     * All instances of the node draw message numbers from the same counter, in order of their
     * time.
     */
    sim_settle();
    result = check_arguments(msgq, ep_hndl, &message);
    if (result == GNI_RC_SUCCESS)
        result = find_connection(msgq, ep_hndl, &connection);
    if (result != GNI_RC_SUCCESS) {
        sim_idle_break(); /* no event wakes this fiber when the connection is established */
        return result;
    }
    view = &msgq->views[connection->index];
    if (sim_idling() || !can_send(view)) {
        result = wait_for_credit(msgq, view);
        if (result == GNI_RC_NOT_DONE)
            sim_poll_count(&msgq->nic->statistics[GNI_STAT_SMSG_MBOX_CREDITS_STALL]);
        if (result == GNI_RC_NOT_DONE)
            return result;
        /* Time has passed: look everything up again. */
        if (result == GNI_RC_SUCCESS)
            result = check_arguments(msgq, ep_hndl, &message);
        if (result == GNI_RC_SUCCESS)
            result = find_connection(msgq, ep_hndl, &connection);
        if (result != GNI_RC_SUCCESS)
            return result;
    }
    request = aries_msgq_queue_full(ep_hndl->cq)
                  ? NULL
                  : aries_request_new(ep_hndl->cq, ep_hndl, NULL, GNI_CQMODE_GLOBAL_EVENT);
    if (request == NULL) {
        sim_idle_break(); /* each attempt counts */
        sim_spend(aries_timing_of(msgq->nic)->cpu_smsg / 2);
        msgq->nic->statistics[GNI_STAT_SMSG_REQ_STALL]++;
        return GNI_RC_NOT_DONE;
    }
    send_now(msgq, connection, ep_hndl, request, &message);
    return GNI_RC_SUCCESS;
}
