/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receiving from a shared message queue. An instance takes the messages of a connection in order,
 * whoever they are for: its own go to its callback, those of others into their pools. So it must
 * look at a mailbox not only when an event tells it to: the message of an event may not be readable
 * yet (it overtook another on its way), and nobody will tell again when it is. Connections with
 * such an event are watched.
 */
#include "api/msgq.h"

#include <stdio.h>
#include "nic/cq_entry.h"

#define EVENT_KEY(datum) ((datum)&0xffffffu)

/* ---- views ----------------------------------------------------------------------------------- */

static void forget(struct msgq_view *view)
{
    if (view->owes)
        view->msgq->owes_count--;
    view->owes = false;
    view->events = view->messages = 0;
}

/* What this instance knows of the connection: nothing, when it is a new one. */
static struct msgq_view *view_of(struct gni_msgq *msgq, const struct msgq_connection *connection)
{
    struct msgq_view *view = &msgq->views[connection->index];

    if (view->generation != connection->generation) {
        forget(view);
        view->generation = connection->generation;
    }
    return view;
}

static void watch(struct gni_msgq *msgq, struct msgq_view *view)
{
    if (view->watched)
        return;
    view->watched = true;
    msgq->watch[msgq->watch_count++] = view->index;
}

/* Removes those that need no look without an event; the order of the others stays. */
static void watch_less(struct gni_msgq *msgq)
{
    uint32_t i, kept = 0;

    for (i = 0; i < msgq->watch_count; i++) {
        uint32_t index = msgq->watch[i];
        struct msgq_connection *connection = msgq_connection_at(msgq->region, index);
        struct msgq_view *view = &msgq->views[index];

        view->watched = connection->state != MSGQ_FREE &&
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
        struct msgq_connection *connection = msgq_connection_at(msgq->region, index);

        if (connection->state != MSGQ_FREE)
            watch(msgq, view_of(msgq, connection));
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static struct msgq_instance *own_instance(const struct gni_msgq *msgq)
{
    return msgq_instance_at(msgq->region, msgq->index);
}

/* Whether the next message of the connection is there and has somewhere to go. */
static bool takeable(const struct gni_msgq *msgq, struct msgq_connection *connection)
{
    uint32_t index;

    if (connection->state == MSGQ_FREE || !msgq_arrived(connection, 0))
        return false;
    index = msgq_instance_of(msgq->region, msgq_record_of(connection, 0)->target);
    return index == msgq->index || index == UINT32_MAX ||
           msgq_instance_at(msgq->region, index)->pool_count < msgq->region->attrs.rcv_pool_sz;
}

/* Credits that are owed can be returned now. */
static bool can_return(const struct gni_msgq *msgq)
{
    uint32_t index;

    if (sim_likely(msgq->owes_count == 0) || msgq_queue_full(msgq->send_cq))
        return false;
    for (index = 0; index < msgq->region->slots; index++)
        if (msgq->views[index].owes &&
            msgq_connection_at(msgq->region, index)->state == MSGQ_ACTIVE)
            return true;
    return false;
}

static bool something(const void *what)
{
    const struct gni_msgq *msgq = what;
    uint32_t i;

    if (!msgq_ok(msgq) || msgq->receive_cq->count > 0 || own_instance(msgq)->pool_count > 0 ||
        can_return(msgq))
        return true;
    for (i = 0; i < msgq->watch_count; i++)
        if (takeable(msgq, msgq_connection_at(msgq->region, msgq->watch[i])))
            return true;
    return false;
}

/* A message is readable, but the pool of the instance that it is for is full. */
static bool blocked(const struct gni_msgq *msgq)
{
    uint32_t i;

    for (i = 0; i < msgq->watch_count; i++) {
        struct msgq_connection *connection = msgq_connection_at(msgq->region, msgq->watch[i]);

        if (connection->state != MSGQ_FREE && msgq_arrived(connection, 0))
            return true;
    }
    return false;
}

static void return_owed(struct gni_msgq *msgq, struct msgq_connection *connection,
                        struct msgq_view *view)
{
    uint32_t owed = connection->received - connection->reported;
    bool owes = 2 * owed >= msgq->region->attrs.smsg_q_sz && !msgq_return_credits(msgq, connection);

    msgq->owes_count += (uint32_t)owes - (uint32_t)view->owes;
    view->owes = owes;
}

static void retry_owed(struct gni_msgq *msgq)
{
    uint32_t index;

    for (index = 0; index < msgq->region->slots && msgq->owes_count > 0; index++) {
        struct msgq_connection *connection = msgq_connection_at(msgq->region, index);
        struct msgq_view *view = &msgq->views[index];

        if (!view->owes)
            continue;
        if (connection->state == MSGQ_FREE || connection->generation != view->generation)
            forget(view);
        else
            return_owed(msgq, connection, view);
    }
}

static uint32_t sender_place(const struct msgq_connection *connection, uint32_t id)
{
    uint32_t i;

    for (i = 0; i < connection->remote_count; i++)
        if (connection->remote[i].id == id)
            return i;
    return connection->last_sender;
}

/* Copies the next message out of the mailbox and gives the slot back. */
static void take(struct gni_msgq *msgq, struct msgq_connection *connection,
                 struct msgq_message *message)
{
    const struct msgq_record *record = msgq_record_of(connection, 0);

    sim_spend(aries_timing_of(msgq->nic)->cpu_getnext + aries_timing_of(msgq->nic)->cpu_release);
    message->sender = record->sender;
    message->pe = connection->pe;
    message->connection = connection->index;
    message->generation = connection->generation;
    message->length = (uint16_t)MIN(record->length, sizeof(message->data));
    message->tag = record->tag;
    message->data[0] = 0; /* a callback that reads an empty message sees no old bytes */
    memcpy(message->data, record + 1, message->length);
    msgq_note_returned(connection, record->returned);
    if (msgq->region->lanes == 1 &&
        connection->remote[connection->last_sender].id != record->sender)
        connection->last_sender = sender_place(connection, record->sender);
    connection->received++;
    connection->take_slot = msgq_slot_after(connection, connection->take_slot, 1);
    return_owed(msgq, connection, view_of(msgq, connection));
}

/* False: the callback wants no more. The handle may be dead afterwards. */
static bool hand_over(struct gni_msgq *msgq, struct msgq_message *message)
{
    struct msgq_connection *connection = msgq_connection_at(msgq->region, message->connection);
    struct gni_nic *nic = msgq->nic;

    if (connection->state != MSGQ_FREE && connection->generation == message->generation)
        view_of(msgq, connection)->messages++;
    nic->hw->fabric->counters.msgq_received++;
    trace(SIM_TRACE_INSTANT, ARIES_TRACK_SMSG, nic->hw->node, nic->process->trace_index,
          "msgq receive", sim_local_time(), 0, 0, message->length);
    return msgq->callback(message->sender, message->pe, message->data, message->tag, msgq->data) !=
           0;
}

/* The oldest message that another instance has put aside for this one. */
static bool hand_over_pooled(struct gni_msgq *msgq)
{
    struct msgq_instance *instance = own_instance(msgq);
    struct msgq_message message = *msgq_pool_at(msgq->region, msgq->index, instance->pool_head);
    uint32_t index;

    instance->pool_head = (instance->pool_head + 1) % msgq->region->attrs.rcv_pool_sz;
    instance->pool_count--;
    for (index = 0; index < msgq->region->attrs.nloc_insts; index++) {
        const struct gni_msgq *other = msgq->shared->owners[index];

        if (other != NULL && other != msgq && other->watch_count > 0)
            msgq_tell(msgq->shared, index); /* it may wait for room in this pool */
    }
    sim_spend(aries_timing_of(msgq->nic)->cpu_getnext);
    return hand_over(msgq, &message);
}

/* Takes one message of the connection. */
static bool take_one(struct gni_msgq *msgq, struct msgq_connection *connection)
{
    uint32_t target = msgq_record_of(connection, 0)->target;
    uint32_t index = msgq_instance_of(msgq->region, target);
    struct msgq_message message;

    take(msgq, connection, &message);
    if (index == msgq->index)
        return hand_over(msgq, &message);
    if (index != UINT32_MAX) { /* else it has left, and what is for it goes nowhere */
        struct msgq_instance *instance = msgq_instance_at(msgq->region, index);
        uint32_t behind = instance->pool_head + instance->pool_count;

        *msgq_pool_at(msgq->region, index, behind) = message;
        instance->pool_count++;
        msgq_tell(msgq->shared, index);
    }
    return true;
}

/* ---- progress -------------------------------------------------------------------------------- */

/* Empties the private queue: an entry tells which connection to look at. */
static gni_return_t take_events(struct gni_msgq *msgq)
{
    while (msgq_ok(msgq) && msgq->receive_cq->count > 0) {
        struct msgq_connection *connection;
        gni_cq_entry_t entry;
        gni_return_t result = GNI_CqGetEvent(msgq->receive_cq, &entry);
        uint32_t datum = (uint32_t)GNI_CQ_GET_REM_INST_ID(entry);
        struct msgq_view *view;

        if (result == GNI_RC_ERROR_RESOURCE) { /* events are lost, messages are not */
            msgq->overran = true;
            continue;
        }
        if (result != GNI_RC_SUCCESS || aries_cq_entry_info(entry) != ARIES_CQ_CPLTN_DREQ ||
            (datum ^ EVENT_KEY(datum)) != MSGQ_EVENT)
            return GNI_RC_INVALID_STATE;
        connection = msgq_lane_of(msgq->region, EVENT_KEY(datum));
        if (connection == NULL)
            continue; /* it was released, and its messages with it */
        view = view_of(msgq, connection);
        view->events++;
        watch(msgq, view);
    }
    if (msgq_ok(msgq) && msgq->overran)
        watch_all(msgq);
    return msgq_ok(msgq) ? GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM;
}

/* A watched connection whose next message can be taken, from place *at on; NULL: none. */
static struct msgq_connection *next_takeable(struct gni_msgq *msgq, uint32_t *at)
{
    for (; *at < msgq->watch_count; ++*at) {
        struct msgq_connection *connection = msgq_connection_at(msgq->region, msgq->watch[*at]);

        if (takeable(msgq, connection))
            return connection;
    }
    return NULL;
}

/*
 * All that can be handed over now. NOT_DONE: the callback said stop. While a callback runs, others
 * may put messages aside for this instance: these come before what is still in the mailbox.
 */
static gni_return_t work(struct gni_msgq *msgq)
{
    gni_return_t result = take_events(msgq);
    struct msgq_connection *connection;
    uint32_t at = 0;
    bool more = true;

    if (result != GNI_RC_SUCCESS)
        return result;
    retry_owed(msgq);
    while (more && msgq_ok(msgq)) {
        if (own_instance(msgq)->pool_count > 0) {
            more = hand_over_pooled(msgq);
            continue;
        }
        connection = next_takeable(msgq, &at);
        if (connection == NULL)
            break;
        more = take_one(msgq, connection);
    }
    if (!msgq_ok(msgq))
        return GNI_RC_INVALID_PARAM;
    watch_less(msgq);
    return more ? GNI_RC_SUCCESS : GNI_RC_NOT_DONE;
}

static void describe(const void *what, char *buffer, size_t size)
{
    const struct gni_msgq *msgq = what;

    if (msgq_ok(msgq))
        snprintf(buffer, size, " of instance %u on node %u, %u connections", own_instance(msgq)->id,
                 msgq->nic->hw->node, msgq->region->connections);
}

/* A look, or for `timeout` ms many of them. */
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
        sim_spend(timing->poll); /* a spinning CPU sees it a little later */
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
        if (!msgq_ok(msgq))
            return GNI_RC_INVALID_PARAM;
        result = work(msgq);
        if (result != GNI_RC_SUCCESS)
            return result;
        sim_settle();
        more = timeout > 0 ? await(msgq, timeout) : something(msgq);
    }
    if (sim_behind()) /* the pass repeats the one before, whatever has come since */
        return msgq->progressed;
    if (msgq->owes_count > 0 && msgq_queue_full(msgq->send_cq))
        msgq->progressed = GNI_RC_ERROR_RESOURCE;
    else
        msgq->progressed = blocked(msgq) ? GNI_RC_NOT_DONE : GNI_RC_SUCCESS;
    return msgq->progressed;
}

gni_return_t GNI_MsgqProgress(gni_msgq_handle_t msgq_hndl, uint32_t timeout)
{
    struct gni_msgq *msgq = msgq_hndl;
    gni_return_t result;

    if (!msgq_ok(msgq))
        return GNI_RC_INVALID_PARAM;
    if (timeout == UINT32_MAX) /* as Cray's own programs say it */
        timeout = 0;
    if (timeout > 0 && !(msgq->region->attrs.modes & GNI_MSGQ_MODE_BLOCKING))
        return GNI_RC_INVALID_PARAM;
    sim_settle();
    if (!msgq_ok(msgq))
        return GNI_RC_INVALID_PARAM;
    msgq->refs++;
    result = progress(msgq, timeout);
    msgq_unref(msgq);
    return result;
}
