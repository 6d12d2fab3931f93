/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared message queues: instances join and leave them and connect nodes; see msgq.h. */
#include "api/msgq.h"

#include <assert.h>
#include <stdio.h>
#include "nic/mem_handle.h"

#define INIT_TIMEOUT (10 * SIM_S) /* limit for the wait for the other instances of the node */
#define INIT_TIMEOUT_PROCESSES                                                                    \
    (30 * SIM_S) /* the same if these are other processes, which may have to wait for a processor \
                  */
#define POLL_INTERVAL SIM_MS /* interval at which the state of other processes is checked */

/* ---- joining --------------------------------------------------------------------------------- */

static bool same_attrs(const gni_msgq_attr_t *a, const gni_msgq_attr_t *b)
{
    return a->max_msg_sz == b->max_msg_sz && a->smsg_q_sz == b->smsg_q_sz &&
           a->rcv_pool_sz == b->rcv_pool_sz && a->num_msgq_eps == b->num_msgq_eps &&
           a->nloc_insts == b->nloc_insts && a->modes == b->modes && a->rcv_cq_sz == b->rcv_cq_sz;
}

static uint32_t vacancy(struct aries_msgq_region *region)
{
    uint32_t index = 0;

    while (index < region->attrs.nloc_insts &&
           aries_msgq_instance_at(region, index)->present != ARIES_MSGQ_NOBODY)
        index++;
    return index;
}

static const struct aries_class msgq_class = {
    .size = sizeof(struct gni_msgq), .handle = true, .discard = aries_msgq_discard};

static void release(struct gni_nic *nic);

static struct gni_msgq *msgq_new(struct gni_nic *nic, struct aries_msgq_shared *shared,
                                 uint32_t place)
{
    struct gni_msgq *msgq = aries_object_new(nic->hw->fabric->objects, &msgq_class);
    struct aries_msgq_instance *instance;
    uint32_t i;

    assert(place < shared->region->attrs.nloc_insts && nic->msgq == NULL);
    msgq->magic = ARIES_MAGIC_MSGQ;
    msgq->refs = 1;
    msgq->nic = nic;
    msgq->fabric = nic->hw->fabric;
    msgq->shared = shared;
    msgq->region = shared->region;
    msgq->ids = sim_new_ids(ARIES_MSGQ_IDS + 2 * shared->region->slots);
    msgq->index = place;
    msgq->pe = aries_pe_shown(nic, nic->hw->pe_addr);
    msgq->views = g_new0(struct aries_msgq_view, shared->region->slots);
    msgq->watch = g_new(uint32_t, shared->region->slots);
    for (i = 0; i < shared->region->slots; i++) {
        msgq->views[i].msgq = msgq;
        msgq->views[i].index = i;
    }
    msgq->process_next = nic->process->msgqs;
    nic->process->msgqs = msgq;
    nic->msgq = msgq;
    aries_nic_on_detach(nic, ARIES_DETACH_SHARED, release);
    shared->owners[msgq->index] = msgq;
    instance = aries_msgq_instance_at(msgq->region, msgq->index);
    *instance = (struct aries_msgq_instance){.id = nic->cdm->inst_id, .present = ARIES_MSGQ_COMING};
    return msgq;
}

void aries_msgq_unref(struct gni_msgq *msgq)
{
    struct aries_fabric *fabric = msgq->fabric;

    assert(msgq->refs > 0);
    if (--msgq->refs > 0)
        return;
    aries_msgq_shared_unref(msgq->shared);
    aries_object_delete(fabric->objects, &msgq_class, msgq);
}

void aries_msgq_instance_joined(struct gni_msgq *msgq, uint32_t place, uint32_t id,
                                gni_mem_handle_t handle)
{
    assert(place < msgq->region->attrs.nloc_insts);
    *aries_msgq_instance_at(msgq->region, place) =
        (struct aries_msgq_instance){.id = id, .present = ARIES_MSGQ_ATTACHED, .handle = handle};
    msgq->region->attached++;
}

void aries_msgq_instance_left(struct gni_msgq *msgq, uint32_t place)
{
    struct aries_msgq_region *region = msgq->region;
    struct aries_msgq_instance *instance = aries_msgq_instance_at(region, place);

    if (instance->present == ARIES_MSGQ_ATTACHED)
        region->attached--;
    instance->present = ARIES_MSGQ_NOBODY;
    if (region->state == ARIES_MSGQ_READY)
        region->state = ARIES_MSGQ_CLOSING;
}

/* Invalidates the handle. The caller releases its queue and registration. */
static void leave(struct gni_msgq *msgq)
{
    struct gni_msgq **link = &msgq->nic->process->msgqs;
    struct aries_msgq_shared *shared = msgq->shared;
    struct aries_msgq_region *region = msgq->region;

    assert(aries_msgq_ok(msgq) && shared->owners[msgq->index] == msgq);
    aries_hw_msgq_leave(msgq, false);
    while (*link != msgq)
        link = &(*link)->process_next;
    *link = msgq->process_next;
    aries_msgq_instance_left(msgq, msgq->index);
    shared->owners[msgq->index] = NULL;
    if (region->attached == 0 && region->state == ARIES_MSGQ_CLOSING)
        shared->closed = true;
    msgq->nic->msgq = NULL;
    msgq->magic = 0;
    aries_process_notify(msgq->nic->process); /* fibers blocked in its calls find it gone */
    msgq->nic = NULL;
    aries_msgq_unref(msgq);
}

static void release(struct gni_nic *nic)
{
    if (nic->msgq != NULL)
        leave(nic->msgq);
}

static void part(struct gni_msgq *msgq)
{
    gni_mem_handle_t handle = msgq->handle;
    struct gni_cq *cq = msgq->receive_cq;
    struct gni_nic *nic = msgq->nic;

    msgq->refs++; /* the region stays as long as it is registered */
    leave(msgq);
    if (handle.qword2 != 0)
        GNI_MemDeregister(nic, &handle);
    if (cq != NULL)
        GNI_CqDestroy(cq);
    aries_msgq_unref(msgq);
}

/* Creates the private queue of the instance and registers the region with it. */
static gni_return_t attach(struct gni_msgq *msgq)
{
    const gni_msgq_attr_t *attrs = &msgq->region->attrs;
    gni_cq_mode_t mode = attrs->modes & GNI_MSGQ_MODE_BLOCKING ? GNI_CQ_BLOCKING : GNI_CQ_NOBLOCK;
    struct gni_nic *nic = msgq->nic;
    gni_return_t result;

    result = GNI_CqCreate(nic, attrs->rcv_cq_sz, 0, mode, NULL, NULL, &msgq->receive_cq);
    if (result == GNI_RC_SUCCESS)
        result = GNI_MemRegister(nic, (uintptr_t)msgq->region + msgq->region->layout.mailboxes,
                                 msgq->region->layout.bytes - msgq->region->layout.mailboxes,
                                 msgq->receive_cq, GNI_MEM_READWRITE, UINT32_MAX, &msgq->handle);
    if (result != GNI_RC_SUCCESS)
        return GNI_RC_ERROR_NOMEM;
    aries_msgq_instance_joined(msgq, msgq->index, nic->cdm->inst_id, msgq->handle);
    return GNI_RC_SUCCESS;
}

static void describe_missing(const void *what, char *buffer, size_t size)
{
    const struct aries_msgq_region *region = what;

    snprintf(buffer, size, ": %u of %u instances are there", region->attached,
             region->attrs.nloc_insts);
}

/* Blocks until all instances of the node have joined. */
static gni_return_t await_all(struct gni_msgq *msgq)
{
    const struct sim_wait wait = {"GNI_MsgqInit", describe_missing, msgq->region};
    struct aries_msgq_region *region = msgq->region;
    sim_time_t deadline =
        sim_local_time() + (region->lanes > 1 ? INIT_TIMEOUT_PROCESSES : INIT_TIMEOUT);
    sim_time_t until;
    bool in_time = true;
    int known;

    for (;;) {
        known = aries_hw_msgq_introduce(msgq);
        if (known > 0 && region->attached == region->attrs.nloc_insts &&
            region->state == ARIES_MSGQ_FORMING) {
            region->state = ARIES_MSGQ_READY;
            aries_msgq_notify_all(msgq->shared);
        }
        if (region->state != ARIES_MSGQ_FORMING || known < 0 || !in_time)
            break;
        until = region->lanes > 1 ? sim_local_time() + POLL_INTERVAL : deadline;
        sim_wait_until(until < deadline ? until : deadline, &wait);
        if (!aries_msgq_ok(msgq))
            break;
        in_time = sim_local_time() < deadline;
    }
    if (!aries_msgq_ok(msgq))
        return GNI_RC_INVALID_PARAM; /* the communication domain was destroyed meanwhile */
    return region->state == ARIES_MSGQ_FORMING ? GNI_RC_INVALID_STATE : GNI_RC_SUCCESS;
}

gni_return_t GNI_MsgqInit(gni_nic_handle_t nic_hndl, gni_msgq_rcv_cb_func *rcv_cb, void *cb_data,
                          gni_cq_handle_t snd_cq, gni_msgq_attr_t *attrs,
                          gni_msgq_handle_t *msgq_hndl)
{
    struct aries_msgq_layout layout;
    struct aries_msgq_shared *shared;
    uint32_t lanes = aries_hw_msgq_lanes(), place;
    struct gni_msgq *msgq;
    gni_return_t result;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || rcv_cb == NULL || msgq_hndl == NULL ||
        !aries_handle_ok(snd_cq, ARIES_MAGIC_CQ) || snd_cq->nic != nic_hndl || snd_cq->has_mr ||
        !aries_msgq_layout_of(attrs, 1, &layout))
        return GNI_RC_INVALID_PARAM;
    if (!aries_timing_of(nic_hndl)->huge_pages)
        return GNI_RC_PERMISSION_ERROR;
    sim_settle();
    sim_idle_break();
    if (nic_hndl->msgq != NULL)
        return GNI_RC_INVALID_STATE;
    if (lanes > 1 && (attrs->nloc_insts > lanes || !aries_msgq_layout_of(attrs, lanes, &layout)))
        return GNI_RC_ERROR_NOMEM;
    shared = aries_msgq_shared_open(nic_hndl, attrs, lanes, &layout);
    if (shared == NULL)
        return GNI_RC_ERROR_NOMEM;
    place = lanes > 1 ? aries_hw_msgq_place(nic_hndl, attrs) : vacancy(shared->region);
    if (shared->region->state != ARIES_MSGQ_FORMING || !same_attrs(&shared->region->attrs, attrs) ||
        place >= attrs->nloc_insts) {
        aries_msgq_shared_unref(shared);
        return GNI_RC_INVALID_STATE;
    }
    msgq = msgq_new(nic_hndl, shared, place);
    msgq->callback = rcv_cb;
    msgq->data = cb_data;
    msgq->send_cq = snd_cq;
    msgq->refs++; /* held by this call */
    result = attach(msgq);
    if (result == GNI_RC_SUCCESS)
        result = await_all(msgq);
    if (result == GNI_RC_SUCCESS)
        *msgq_hndl = msgq;
    else if (aries_msgq_ok(msgq))
        part(msgq);
    aries_msgq_unref(msgq);
    return result;
}

/* ---- leaving --------------------------------------------------------------------------------- */

static bool idle(const void *what)
{
    const struct gni_msgq *msgq = what;

    return !aries_msgq_ok(msgq) || msgq->in_flight == 0;
}

/*
 * Polls once whether the messages in flight have ended. Programs repeat the call until they have.
 */
static bool poll_ended(struct gni_msgq *msgq, bool (*ended)(const void *what), const void *what,
                       uint32_t id)
{
    const struct sim_wait wait = {
        .text = "sends of a shared message queue", .what = what, .id = id};
    bool result;

    msgq->refs++;
    result = sim_poll(&wait, ended, aries_timing_of(msgq->nic)->cpu_cqget / 2);
    aries_msgq_unref(msgq);
    return result;
}

gni_return_t GNI_MsgqIdle(gni_msgq_handle_t msgq_hndl)
{
    if (!aries_msgq_ok(msgq_hndl))
        return GNI_RC_INVALID_PARAM;
    if (!poll_ended(msgq_hndl, idle, msgq_hndl, msgq_hndl->ids))
        return GNI_RC_NOT_DONE;
    return aries_msgq_ok(msgq_hndl) ? GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM;
}

gni_return_t GNI_MsgqRelease(gni_msgq_handle_t msgq_hndl)
{
    gni_return_t result = GNI_MsgqIdle(msgq_hndl);

    if (result != GNI_RC_SUCCESS)
        return result;
    sim_idle_break();
    aries_hw_msgq_leave(msgq_hndl, true);
    if (!aries_msgq_ok(msgq_hndl)) /* another thread was faster */
        return GNI_RC_INVALID_PARAM;
    part(msgq_hndl);
    return GNI_RC_SUCCESS;
}

/* ---- connections ----------------------------------------------------------------------------- */

gni_return_t GNI_MsgqGetConnAttrs(gni_msgq_handle_t msgq_hndl, uint32_t pe_addr,
                                  gni_msgq_ep_attr_t *attrs, uint32_t *attrs_size)
{
    struct aries_msgq_connection *connection;
    struct aries_msgq_region *region;
    uint32_t index, i;

    if (!aries_msgq_ok(msgq_hndl) || attrs == NULL ||
        aries_pe_resolve(msgq_hndl->nic, pe_addr) == NULL)
        return GNI_RC_INVALID_PARAM;
    sim_settle();
    sim_idle_break();
    region = msgq_hndl->region;
    if (region->state != ARIES_MSGQ_READY)
        return GNI_RC_PERMISSION_ERROR;
    if (aries_msgq_connection_of(region, pe_addr) != NULL)
        return GNI_RC_INVALID_STATE;
    if (region->connections == region->attrs.num_msgq_eps)
        return GNI_RC_ERROR_RESOURCE;
    index = region->lanes == 1 ? aries_msgq_vacant(region) : 0;
    if (!aries_hw_msgq_assign(msgq_hndl, pe_addr, &index))
        return GNI_RC_INVALID_STATE;
    connection = aries_msgq_connection_new(region, pe_addr, index,
                                           aries_msgq_next_generation(region, index));
    attrs->pe_addr = msgq_hndl->pe;
    attrs->max_msg_sz = region->attrs.max_msg_sz;
    attrs->smsg_q_sz = region->attrs.smsg_q_sz;
    attrs->num_insts = region->attrs.nloc_insts;
    for (i = 0; i < attrs->num_insts; i++) {
        const struct aries_msgq_instance *instance = aries_msgq_instance_at(region, i);

        attrs->insts[i] = (gni_msgq_rem_inst_t){
            .id = instance->id,
            .mdh = instance->handle,
            .mdh_off =
                aries_msgq_mailbox_offset(region, connection->index) | connection->generation,
        };
    }
    if (attrs_size != NULL)
        *attrs_size = (uint32_t)(offsetof(gni_msgq_ep_attr_t, insts) +
                                 attrs->num_insts * sizeof(attrs->insts[0]));
    aries_hw_msgq_assigned(msgq_hndl, connection);
    return GNI_RC_SUCCESS;
}

static bool instances_ok(const gni_msgq_ep_attr_t *attrs)
{
    uint32_t i;

    for (i = 0; i < attrs->num_insts; i++)
        if (!aries_mem_handle_check(&attrs->insts[i].mdh) ||
            attrs->insts[i].mdh_off != attrs->insts[0].mdh_off)
            return false;
    return attrs->insts[0].mdh_off % ARIES_MSGQ_LINE != 0;
}

gni_return_t GNI_MsgqConnect(gni_msgq_handle_t msgq_hndl, uint32_t pe_addr,
                             gni_msgq_ep_attr_t *attrs)
{
    struct aries_msgq_remote remote[GNI_MSGQ_NODE_INSTS_MAX];
    struct aries_msgq_connection *connection;
    struct aries_msgq_region *region;
    uint32_t i;

    if (!aries_msgq_ok(msgq_hndl) || attrs == NULL)
        return GNI_RC_INVALID_PARAM;
    sim_settle();
    sim_idle_break();
    region = msgq_hndl->region;
    if (attrs->pe_addr != pe_addr || attrs->max_msg_sz != region->attrs.max_msg_sz ||
        attrs->smsg_q_sz != region->attrs.smsg_q_sz || attrs->num_insts == 0 ||
        attrs->num_insts > (region->lanes > 1 ? region->lanes : GNI_MSGQ_NODE_INSTS_MAX) ||
        !instances_ok(attrs))
        return GNI_RC_INVALID_PARAM;
    if (region->state != ARIES_MSGQ_READY)
        return GNI_RC_PERMISSION_ERROR;
    connection = aries_msgq_connection_of(region, pe_addr);
    if (connection == NULL)
        return GNI_RC_NO_MATCH;
    if (connection->state != ARIES_MSGQ_ASSIGNED)
        return GNI_RC_INVALID_STATE;
    for (i = 0; i < attrs->num_insts; i++)
        remote[i] = (struct aries_msgq_remote){attrs->insts[i].id, attrs->insts[i].mdh};
    aries_msgq_connect(region, connection, remote, attrs->num_insts, attrs->insts[0].mdh_off,
                       msgq_hndl->index);
    aries_hw_msgq_connected(msgq_hndl, connection, attrs->insts[0].mdh_off);
    /* Instances may owe credits from an earlier connection. */
    if (aries_msgq_ok(msgq_hndl))
        aries_msgq_notify_all(msgq_hndl->shared);
    return GNI_RC_SUCCESS;
}

static bool connection_idle(const void *what)
{
    const struct aries_msgq_view *view = what;

    return !aries_msgq_ok(view->msgq) ||
           aries_msgq_connection_idle(view->msgq->region,
                                      aries_msgq_connection_at(view->msgq->region, view->index));
}

gni_return_t GNI_MsgqConnRelease(gni_msgq_handle_t msgq_hndl, uint32_t pe_addr)
{
    struct aries_msgq_connection *connection;
    struct gni_msgq *msgq = msgq_hndl;

    sim_settle();
    if (!aries_msgq_ok(msgq))
        return GNI_RC_INVALID_PARAM;
    connection = aries_msgq_connection_of(msgq->region, pe_addr);
    if (connection == NULL)
        return GNI_RC_NO_MATCH;
    if (!poll_ended(msgq, connection_idle, &msgq->views[connection->index],
                    msgq->ids + ARIES_MSGQ_IDS + 2 * connection->index))
        return GNI_RC_NOT_DONE;
    if (!aries_msgq_ok(msgq))
        return GNI_RC_INVALID_PARAM;
    connection = aries_msgq_connection_of(msgq->region, pe_addr); /* the world went on */
    if (connection == NULL)
        return GNI_RC_NO_MATCH;
    if (!aries_msgq_connection_idle(msgq->region, connection) ||
        !aries_hw_msgq_others_idle(msgq, connection))
        return GNI_RC_NOT_DONE;
    if (!aries_msgq_ok(msgq))
        return GNI_RC_INVALID_PARAM;
    connection = aries_msgq_connection_of(msgq->region, pe_addr);
    if (connection == NULL)
        return GNI_RC_NO_MATCH;
    sim_idle_break();
    aries_msgq_connection_free(msgq->region, connection);
    aries_msgq_notify_all(msgq->shared); /* a sender that waits for a credit will not get one */
    aries_hw_msgq_released(msgq, connection);
    return GNI_RC_SUCCESS;
}
