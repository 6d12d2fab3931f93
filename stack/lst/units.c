/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Batches at work: each stream sends its next RPC when the one before has ended. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* A stream: one RPC of a source node and a target at a time. */
struct lst_unit {
    struct lst_work *work;
    struct lst_rpc rpc;
    int32_t left; /* -1: until stopped */
    uint32_t sequence;
    bool active;
};

static void send_ping(struct lst_unit *unit)
{
    uint64_t now = port_now();

    unit->rpc.bulk = LST_NO_BULK;
    unit->rpc.request.ping.magic = LST_PING_MAGIC;
    unit->rpc.request.ping.sequence = ++unit->sequence;
    unit->rpc.request.ping.seconds = now / LST_NANOSECONDS;
    unit->rpc.request.ping.nanoseconds = now % LST_NANOSECONDS;
    lst_rpc_start(&unit->rpc, LST_TYPE_PING);
}

static void send_brw(struct lst_unit *unit)
{
    const struct lst_work *work = unit->work;
    struct lst_rpc *rpc = &unit->rpc;

    if (work->operation == LST_READ) {
        rpc->bulk = LST_BULK_SINK;
        if (work->check != LST_CHECK_NONE)
            lst_brw_poison(rpc->bulk_memory, work->bytes);
    } else {
        rpc->bulk = LST_BULK_SOURCE;
        lst_brw_fill(rpc->bulk_memory, work->bytes, work->check);
    }
    rpc->request.brw.operation = work->operation;
    rpc->request.brw.bytes = work->bytes;
    rpc->request.brw.check = work->check;
    lst_rpc_start(rpc, LST_TYPE_BRW);
}

static void send_next(struct lst_unit *unit)
{
    if (unit->left > 0)
        unit->left--;
    unit->rpc.request.features = unit->work->node->session.features;
    if (unit->work->service == LST_SERVICE_PING)
        send_ping(unit);
    else
        send_brw(unit);
}

/* Whether the RPC's data is right; counts errors of the test. */
static bool judge(struct lst_unit *unit)
{
    struct lst_rpc *rpc = &unit->rpc;
    struct lst_session *session = &unit->work->node->session;

    if (rpc->status == -ECANCELED || rpc->status == -ESHUTDOWN)
        return true;
    if (unit->work->service == LST_SERVICE_PING) {
        if (rpc->status == 0 && rpc->reply.ping_answer.status == 0 &&
            rpc->reply.ping_answer.magic == LST_PING_MAGIC &&
            rpc->reply.ping_answer.sequence == unit->sequence)
            return true;
        session->ping_errors++;
        return false;
    }
    if (rpc->status == 0 && rpc->reply.status == 0 &&
        (unit->work->operation == LST_WRITE ||
         lst_brw_good(rpc->bulk_memory, unit->work->bytes, unit->work->check)))
        return true;
    session->brw_errors++;
    return false;
}

static void unit_done(struct lst_rpc *rpc)
{
    struct lst_unit *unit = rpc->owner;
    struct lst_work *work = unit->work;
    bool good = judge(unit);

    if (work->stopping || unit->left == 0 || (!good && work->stop_on_error)) {
        assert(unit->active && work->batch->active > 0);
        unit->active = false;
        work->batch->active--;
        return;
    }
    send_next(unit);
}

static int unit_init(struct lst_unit *unit, struct lst_work *work,
                     const struct lnet_process_id_packed *target)
{
    struct lst_rpc *rpc = &unit->rpc;
    uint8_t *memory;

    unit->work = work;
    rpc->node = work->node;
    rpc->owner = unit;
    rpc->done = unit_done;
    rpc->service = work->service;
    rpc->peer = (struct lnet_process_id){target->nid, target->pid};
    INIT_LIST_HEAD(&rpc->on_node);
    if (work->service != LST_SERVICE_BRW)
        return 0;
    rpc->bulk_bytes = work->bytes;
    memory = lst_pages_alloc(work->offset + work->bytes);
    if (memory == NULL)
        return -ENOMEM;
    rpc->bulk_memory = memory + work->offset;
    return 0;
}

static void units_free(struct lst_work *work)
{
    uint32_t count = work->targets * work->concurrency, i;

    for (i = 0; work->units != NULL && i < count; i++) {
        assert(!work->units[i].active);
        if (work->units[i].rpc.bulk_memory != NULL)
            lst_pages_free((uint8_t *)work->units[i].rpc.bulk_memory - work->offset,
                           work->offset + work->bytes);
    }
    free(work->units);
    work->units = NULL;
}

/* All units, or none: a batch that could not run for want of memory may be run again. */
static int units_make(struct lst_work *work)
{
    uint32_t count = work->targets * work->concurrency, i;

    work->units = calloc(count, sizeof(*work->units));
    if (work->units == NULL)
        return -ENOMEM;
    for (i = 0; i < count; i++)
        if (unit_init(&work->units[i], work, &work->target[i / work->concurrency]) != 0) {
            units_free(work);
            return -ENOMEM;
        }
    return 0;
}

int lst_units_start(struct lst_work *work)
{
    uint32_t count = work->targets * work->concurrency, i;

    if (work->units == NULL && units_make(work) != 0)
        return -ENOMEM;
    work->stopping = false;
    for (i = 0; i < count; i++) {
        if (work->units[i].active)
            continue;
        work->units[i].active = true;
        work->units[i].left = work->loop;
        work->batch->active++;
        send_next(&work->units[i]);
    }
    return 0;
}

void lst_units_stop(struct lst_work *work)
{
    work->stopping = true;
}

void lst_work_free(struct lst_work *work)
{
    units_free(work);
    free(work->target);
    list_del(&work->on_batch);
    free(work);
}
