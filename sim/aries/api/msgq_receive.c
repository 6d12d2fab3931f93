/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receiving from a shared message queue. An instance receives the messages of a connection in
 * order, whichever instance they are for. Its own go to its callback; those of other instances go
 * into their pools. So an instance must poll a mailbox not only after an event. An event may
 * overtake an earlier message, so its own message may not be readable yet, and no second event
 * comes when it is. Connections with such an event are watched.
 */
#include "api/msgq.h"

#include <assert.h>
#include <stdio.h>
#include "nic/cq_entry.h"

#define EVENT_KEY(datum) ((datum)&0xffffffu)

/* ---- views ----------------------------------------------------------------------------------- */

static void forget(struct aries_msgq_view *view)
{
    if (view->owes)
        view->msgq->owes_count--;
    view->owes = false;
    view->events = view->messages = 0;
}

/* The view of this instance on a connection. It is reset if the connection is a new one. */
static struct aries_msgq_view *view_of(struct gni_msgq *msgq,
                                       const struct aries_msgq_connection *connection)
{
    struct aries_msgq_view *view = &msgq->views[connection->index];

    if (view->generation != connection->generation) {
        forget(view);
        view->generation = connection->generation;
    }
    return view;
}

static void watch(struct gni_msgq *msgq, struct aries_msgq_view *view)
{
    if (view->watched)
        return;
    view->watched = true;
    msgq->watch[msgq->watch_count++] = view->index;
}

/*
 * Removes the connections that need no polling without an event. The order of the others is kept.
 */
static void watch_less(struct gni_msgq *msgq)
{
    uint32_t i, kept = 0;

    for (i = 0; i < msgq->watch_count; i++) {
        uint32_t index = msgq->watch[i];
        struct aries_msgq_connection *connection = aries_msgq_connection_at(msgq->region, index);
        struct aries_msgq_view *view = &msgq->views[index];

        view->watched = connection->state != ARIES_MSGQ_FREE &&
                        view->generation == connection->generation &&
                        (msgq->overran || (int32_t)(view->events - view->messages) > 0);
        if (view->watched)
            msgq->watch[kept++] = index;
    }
    msgq->watch_count = kept;
}

static void watch_all(struct gni_msgq *msgq)
{
    uint32_t index;

    for (index = 0; index < msgq->region->slots; index++) {
        struct aries_msgq_connection *connection = aries_msgq_connection_at(msgq->region, index);

        if (connection->state != ARIES_MSGQ_FREE)
            watch(msgq, view_of(msgq, connection));
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static struct aries_msgq_instance *own_instance(const struct gni_msgq *msgq)
{
    return aries_msgq_instance_at(msgq->region, msgq->index);
}

/* Whether the next message of the connection has arrived and can be delivered. */
static bool takeable(const struct gni_msgq *msgq, struct aries_msgq_connection *connection)
{
    uint32_t index;

    if (connection->state == ARIES_MSGQ_FREE || !aries_msgq_arrived(connection, 0))
        return false;
    index = aries_msgq_instance_of(msgq->region, aries_msgq_record_of(connection, 0)->target);
    return index == msgq->index || index == UINT32_MAX ||
           aries_msgq_instance_at(msgq->region, index)->pool_count <
               msgq->region->attrs.rcv_pool_sz;
}

/* Whether owed credits can be returned now. */
static bool can_return(const struct gni_msgq *msgq)
{
    uint32_t index;

    if (sim_likely(msgq->owes_count == 0) || aries_msgq_queue_full(msgq->send_cq))
        return false;
    for (index = 0; index < msgq->region->slots; index++)
        if (msgq->views[index].owes &&
            aries_msgq_connection_at(msgq->region, index)->state == ARIES_MSGQ_ACTIVE)
            return true;
    return false;
}

static bool something(const void *what)
{
    const struct gni_msgq *msgq = what;
    uint32_t i;

    if (!aries_msgq_ok(msgq) || msgq->receive_cq->count > 0 || own_instance(msgq)->pool_count > 0 ||
        can_return(msgq))
        return true;
    for (i = 0; i < msgq->watch_count; i++)
        if (takeable(msgq, aries_msgq_connection_at(msgq->region, msgq->watch[i])))
            return true;
    return false;
}

/* Whether a readable message has to wait because the pool of its instance is full. */
static bool blocked(const struct gni_msgq *msgq)
{
    uint32_t i;

    for (i = 0; i < msgq->watch_count; i++) {
        struct aries_msgq_connection *connection =
            aries_msgq_connection_at(msgq->region, msgq->watch[i]);

        if (connection->state != ARIES_MSGQ_FREE && aries_msgq_arrived(connection, 0))
            return true;
    }
    return false;
}

static void return_owed(struct gni_msgq *msgq, struct aries_msgq_connection *connection,
                        struct aries_msgq_view *view)
{
    uint32_t owed = connection->received - connection->reported;
    bool owes =
        2 * owed >= msgq->region->attrs.smsg_q_sz && !aries_msgq_return_credits(msgq, connection);

    msgq->owes_count += (uint32_t)owes - (uint32_t)view->owes;
    view->owes = owes;
}

static void retry_owed(struct gni_msgq *msgq)
{
    uint32_t index;

    for (index = 0; index < msgq->region->slots && msgq->owes_count > 0; index++) {
        struct aries_msgq_connection *connection = aries_msgq_connection_at(msgq->region, index);
        struct aries_msgq_view *view = &msgq->views[index];

        if (!view->owes)
            continue;
        if (connection->state == ARIES_MSGQ_FREE || connection->generation != view->generation)
            forget(view);
        else
            return_owed(msgq, connection, view);
    }
}

static uint32_t sender_place(const struct aries_msgq_connection *connection, uint32_t id)
{
    uint32_t i;

    for (i = 0; i < connection->remote_count; i++)
        if (connection->remote[i].id == id)
            return i;
    return connection->last_sender;
}

/* Copies the next message out of the mailbox and frees the slot. */
static void receive_message(struct gni_msgq *msgq, struct aries_msgq_connection *connection,
                            struct aries_msgq_message *message)
{
    const struct aries_msgq_record *record = aries_msgq_record_of(connection, 0);

    sim_spend(aries_timing_of(msgq->nic)->cpu_getnext + aries_timing_of(msgq->nic)->cpu_release);
    message->sender = record->sender;
    message->pe = connection->pe;
    message->connection = connection->index;
    message->generation = connection->generation;
    message->length = (uint16_t)MIN(record->length, sizeof(message->data));
    message->tag = record->tag;
    message->data[0] = 0; /* so a callback that reads an empty message sees no old bytes */
    memcpy(message->data, record + 1, message->length);
    aries_msgq_credits_returned(connection, record->returned);
    if (msgq->region->lanes == 1 &&
        connection->remote[connection->last_sender].id != record->sender)
        connection->last_sender = sender_place(connection, record->sender);
    connection->received++;
    connection->take_slot = aries_msgq_slot_after(connection, connection->take_slot, 1);
    return_owed(msgq, connection, view_of(msgq, connection));
}

/*
 * Passes a message to the callback. False: the callback asked to stop. The handle may be destroyed
 * afterwards.
 */
static bool hand_over(struct gni_msgq *msgq, struct aries_msgq_message *message)
{
    struct aries_msgq_connection *connection =
        aries_msgq_connection_at(msgq->region, message->connection);
    struct gni_nic *nic = msgq->nic;

    if (connection->state != ARIES_MSGQ_FREE && connection->generation == message->generation)
        view_of(msgq, connection)->messages++;
    nic->hw->fabric->counters.msgq_received++;
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_SMSG, nic->hw->node, nic->process->trace_index,
              "msgq receive", sim_local_time(), 0, 0, message->length);
    return msgq->callback(message->sender, message->pe, message->data, message->tag, msgq->data) !=
           0;
}

/* Delivers the oldest message that another instance has put into this instance's pool. */
static bool hand_over_pooled(struct gni_msgq *msgq)
{
    struct aries_msgq_instance *instance = own_instance(msgq);
    struct aries_msgq_message message =
        *aries_msgq_pool_at(msgq->region, msgq->index, instance->pool_head);
    uint32_t index;

    instance->pool_head = (instance->pool_head + 1) % msgq->region->attrs.rcv_pool_sz;
    instance->pool_count--;
    for (index = 0; index < msgq->region->attrs.nloc_insts; index++) {
        const struct gni_msgq *other = msgq->shared->owners[index];

        /* That instance may wait for room in this pool. */
        if (other != NULL && other != msgq && other->watch_count > 0)
            aries_msgq_notify_instance(msgq->shared, index);
    }
    sim_spend(aries_timing_of(msgq->nic)->cpu_getnext);
    return hand_over(msgq, &message);
}

/* Receives one message of the connection. */
static bool receive_one(struct gni_msgq *msgq, struct aries_msgq_connection *connection)
{
    uint32_t target = aries_msgq_record_of(connection, 0)->target;
    uint32_t index = aries_msgq_instance_of(msgq->region, target);
    struct aries_msgq_message message;

    receive_message(msgq, connection, &message);
    if (index == msgq->index)
        return hand_over(msgq, &message);
    if (index != UINT32_MAX) { /* otherwise the instance has left, and its message is dropped */
        struct aries_msgq_instance *instance = aries_msgq_instance_at(msgq->region, index);
        uint32_t behind = instance->pool_head + instance->pool_count;

        *aries_msgq_pool_at(msgq->region, index, behind) = message;
        instance->pool_count++;
        aries_msgq_notify_instance(msgq->shared, index);
    }
    return true;
}

/* ---- progress -------------------------------------------------------------------------------- */

/* Empties the private queue. An entry names the connection to poll. */
static gni_return_t read_events(struct gni_msgq *msgq)
{
    while (aries_msgq_ok(msgq) && msgq->receive_cq->count > 0) {
        struct aries_msgq_connection *connection;
        gni_cq_entry_t entry;
        gni_return_t result = GNI_CqGetEvent(msgq->receive_cq, &entry);
        uint32_t datum = (uint32_t)GNI_CQ_GET_REM_INST_ID(entry);
        struct aries_msgq_view *view;

        if (result == GNI_RC_ERROR_RESOURCE) { /* events were lost, but no messages */
            msgq->overran = true;
            continue;
        }
        if (result != GNI_RC_SUCCESS || aries_cq_entry_info(entry) != ARIES_CQ_CPLTN_DREQ ||
            (datum ^ EVENT_KEY(datum)) != ARIES_MSGQ_EVENT)
            return GNI_RC_INVALID_STATE;
        connection = aries_msgq_lane_of(msgq->region, EVENT_KEY(datum));
        if (connection == NULL)
            continue; /* the connection was released together with its messages */
        view = view_of(msgq, connection);
        view->events++;
        watch(msgq, view);
    }
    if (aries_msgq_ok(msgq) && msgq->overran)
        watch_all(msgq);
    return aries_msgq_ok(msgq) ? GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM;
}

/*
 * Finds a watched connection whose next message can be received, starting at index *at. NULL:
 * none.
 */
static struct aries_msgq_connection *next_takeable(struct gni_msgq *msgq, uint32_t *at)
{
    for (; *at < msgq->watch_count; ++*at) {
        struct aries_msgq_connection *connection =
            aries_msgq_connection_at(msgq->region, msgq->watch[*at]);

        if (takeable(msgq, connection))
            return connection;
    }
    return NULL;
}

/*
 * Delivers all messages that can be delivered now. NOT_DONE: the callback asked to stop. While a
 * callback runs, other instances may put messages into this instance's pool. These precede the
 * messages that are still in the mailbox.
 */
static gni_return_t work(struct gni_msgq *msgq)
{
    gni_return_t result = read_events(msgq);
    struct aries_msgq_connection *connection;
    uint32_t at = 0;
    bool more = true;

    if (result != GNI_RC_SUCCESS)
        return result;
    retry_owed(msgq);
    while (more && aries_msgq_ok(msgq)) {
        if (own_instance(msgq)->pool_count > 0) {
            more = hand_over_pooled(msgq);
            continue;
        }
        connection = next_takeable(msgq, &at);
        if (connection == NULL)
            break;
        more = receive_one(msgq, connection);
    }
    if (!aries_msgq_ok(msgq))
        return GNI_RC_INVALID_PARAM;
    watch_less(msgq);
    return more ? GNI_RC_SUCCESS : GNI_RC_NOT_DONE;
}

static void describe(const void *what, char *buffer, size_t size)
{
    const struct gni_msgq *msgq = what;

    if (aries_msgq_ok(msgq))
        snprintf(buffer, size, " of instance %u on node %u, %u connections", own_instance(msgq)->id,
                 msgq->nic->hw->node, msgq->region->connections);
}

/* Polls once, or repeatedly for `timeout` ms. */
static bool await(struct gni_msgq *msgq, uint32_t timeout)
{
    const struct sim_wait wait = {"a shared message queue", describe, msgq, msgq->ids + 1};
    const struct aries_timing *timing = aries_timing_of(msgq->nic);
    sim_time_t deadline;
    bool in_time = true;

    if (!sim_idling() && something(msgq))
        return true;
    if (timeout == 0) {
        if (!sim_poll(&wait, something, timing->cpu_getnext / 2))
            return false;
        sim_spend(timing->poll); /* a spinning CPU sees it one poll later */
        return true;
    }
    sim_spend(timing->cpu_getnext / 2);
    sim_settle();
    deadline = sim_local_time() + timeout * SIM_MS;
    while (in_time && !something(msgq))
        in_time = sim_wait_until(deadline, &wait);
    if (something(msgq))
        sim_spend(timing->irq_wake);
    return something(msgq);
}

static gni_return_t progress(struct gni_msgq *msgq, uint32_t timeout)
{
    bool more = await(msgq, timeout);
    gni_return_t result;

    while (more) {
        sim_idle_break();
        if (!aries_msgq_ok(msgq))
            return GNI_RC_INVALID_PARAM;
        result = work(msgq);
        if (result != GNI_RC_SUCCESS)
            return result;
        sim_settle();
        more = timeout > 0 ? await(msgq, timeout) : something(msgq);
    }
    if (sim_behind()) /* this pass repeats the previous one: later arrivals do not count */
        return msgq->progressed;
    if (msgq->owes_count > 0 && aries_msgq_queue_full(msgq->send_cq))
        msgq->progressed = GNI_RC_ERROR_RESOURCE;
    else
        msgq->progressed = blocked(msgq) ? GNI_RC_NOT_DONE : GNI_RC_SUCCESS;
    return msgq->progressed;
}

gni_return_t GNI_MsgqProgress(gni_msgq_handle_t msgq_hndl, uint32_t timeout)
{
    struct gni_msgq *msgq = msgq_hndl;
    gni_return_t result;

    if (!aries_msgq_ok(msgq))
        return GNI_RC_INVALID_PARAM;
    if (timeout == UINT32_MAX) /* Cray's own programs pass this value */
        timeout = 0;
    if (timeout > 0 && !(msgq->region->attrs.modes & GNI_MSGQ_MODE_BLOCKING))
        return GNI_RC_INVALID_PARAM;
    sim_settle();
    if (!aries_msgq_ok(msgq))
        return GNI_RC_INVALID_PARAM;
    msgq->refs++;
    result = progress(msgq, timeout);
    aries_msgq_unref(msgq);
    return result;
}
