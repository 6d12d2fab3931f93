/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The framework services of a test node. It is in one session at a time. A session that has ended
 * is kept until its last stream has, because their RPCs still use its memory.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lnet/lnetctl.h>
#include "internal.h"

static bool same(const struct lst_session_id *a, const struct lst_session_id *b)
{
    return a->nid == b->nid && a->stamp == b->stamp;
}

static bool names_session(const struct lst_node *node, const struct lst_session_id *id)
{
    return node->session.exists && same(id, &node->session.id);
}

/* ---- batches --------------------------------------------------------------------------------- */

static struct lst_batch *find_batch(struct lst_session *session, uint64_t id)
{
    struct lst_batch *batch;

    list_for_each_entry (batch, &session->batches, on_node)
        if (batch->id == id)
            return batch;
    return NULL;
}

static struct lst_batch *get_batch(struct lst_session *session, uint64_t id)
{
    struct lst_batch *batch = find_batch(session, id);

    if (batch != NULL)
        return batch;
    batch = calloc(1, sizeof(*batch));
    if (batch == NULL)
        return NULL;
    batch->id = id;
    INIT_LIST_HEAD(&batch->tests);
    list_add_tail(&batch->on_node, &session->batches);
    return batch;
}

static void batch_free(struct lst_batch *batch)
{
    while (!list_empty(&batch->tests))
        lst_work_free(list_first_entry(&batch->tests, struct lst_work, on_batch));
    list_del(&batch->on_node);
    free(batch);
}

static void stop_batches(struct lst_session *session)
{
    struct lst_batch *batch;
    struct lst_work *work;

    list_for_each_entry (batch, &session->batches, on_node)
        list_for_each_entry (work, &batch->tests, on_batch)
            lst_units_stop(work);
}

static uint32_t active_batches(const struct lst_session *session)
{
    struct lst_batch *batch;
    uint32_t count = 0;

    list_for_each_entry (batch, &session->batches, on_node)
        count += batch->active > 0;
    return count;
}

/* Frees batches of an ended session whose streams have ended. True: none is left. */
static bool sweep(struct lst_session *session)
{
    struct lst_batch *batch, *next;

    list_for_each_entry_safe (batch, next, &session->batches, on_node)
        if (batch->active == 0)
            batch_free(batch);
    return list_empty(&session->batches);
}

void lst_session_free(struct lst_node *node)
{
    bool none_left = sweep(&node->session);

    assert(none_left);
    (void)none_left;
}

/* ---- the session ----------------------------------------------------------------------------- */

void lst_session_remove(struct lst_node *node)
{
    struct lst_rpc *rpc, *next;

    stop_batches(&node->session);
    if (node->session.exists)
        list_for_each_entry_safe (rpc, next, &node->rpcs, on_node)
            if (rpc->service >= LST_FRAMEWORK_SERVICES)
                lst_rpc_abort(rpc, -ECANCELED);
    node->session.exists = false;
    node->session.id = (struct lst_session_id){0};
    memset(node->session.name, 0, LST_NAME_BYTES);
}

void lst_session_expire(struct lst_node *node, uint64_t now_ns)
{
    uint64_t limit = node->parameters.session_timeout_s * LST_NANOSECONDS;

    if (limit != 0 && now_ns >= node->session.last_request_ns + limit)
        lst_session_remove(node);
}

static void make_session(struct lst_server_rpc *rpc)
{
    struct lst_node *node = rpc->node;
    struct lst_session *session = &node->session;
    struct lst_session_id id = rpc->request.make_session.session;

    if (session->exists && !same(&session->id, &id)) {
        if (!rpc->request.make_session.force) {
            rpc->reply.session_answer.status = EBUSY;
            return;
        }
        lst_session_remove(node);
    }
    if (!session->exists) {
        if (!sweep(session)) { /* streams of the session before have not ended */
            rpc->reply.session_answer.status = EBUSY;
            return;
        }
        session->exists = true;
        session->id = id;
        session->features = rpc->request.features & LST_FEATURE_BYTES;
        session->began_ns = port_now();
        session->brw_errors = session->ping_errors = 0;
        memcpy(session->name, rpc->request.make_session.name, LST_NAME_BYTES);
        session->name[LST_NAME_BYTES - 1] = '\0';
        memset(&node->counters.rpc, 0, sizeof(node->counters.rpc));
    }
    session->last_request_ns = port_now();
    rpc->reply.session_answer.timeout = node->parameters.session_timeout_s;
    memcpy(rpc->reply.session_answer.name, session->name, LST_NAME_BYTES);
}

/* ---- statistics ------------------------------------------------------------------------------ */

static void fill_stat(struct lst_server_rpc *rpc)
{
    const struct lst_session *session = &rpc->node->session;
    const struct lst_counters *counters = &rpc->node->counters;
    struct lnet_ioctl_lnet_stats stats = {.st_hdr = {.ioc_len = sizeof(stats)}};

    LNetCtl(IOC_LIBCFS_GET_LNET_STATS, &stats);
    rpc->reply.stat_answer.running_ms = (uint32_t)((port_now() - session->began_ns) / 1000000u);
    rpc->reply.stat_answer.active_batches = active_batches(session);
    rpc->reply.stat_answer.brw_errors = session->brw_errors;
    rpc->reply.stat_answer.ping_errors = session->ping_errors;
    rpc->reply.stat_answer.errors = counters->rpc.errors;
    rpc->reply.stat_answer.rpcs_sent = counters->rpc.rpcs_sent;
    rpc->reply.stat_answer.rpcs_received = counters->rpc.rpcs_received;
    rpc->reply.stat_answer.rpcs_dropped = counters->rpc.rpcs_dropped;
    rpc->reply.stat_answer.rpcs_expired = counters->rpc.rpcs_expired;
    rpc->reply.stat_answer.bulk_get = counters->rpc.bulk_get;
    rpc->reply.stat_answer.bulk_put = counters->rpc.bulk_put;
    rpc->reply.stat_answer.lnet = stats.st_cntrs.lct_common;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* The targets of a test at its source have arrived. */
static void targets_moved(struct lst_server_rpc *rpc)
{
    struct lst_work *work = calloc(1, sizeof(*work));
    uint32_t bytes = rpc->request.test.targets * (uint32_t)sizeof(*work->target);
    int rc = rpc->bulk_status;

    if (rc == 0 && rpc->bulk_slot.bytes != bytes)
        rc = -EBADMSG; /* the console sent fewer targets than it said */
    if (rc == 0 && !names_session(rpc->node, &rpc->request.test.session))
        rc = -ESRCH; /* it ended, or another one took its place, while the targets moved */
    if (rc == 0 && work == NULL)
        rc = -ENOMEM;
    if (rc != 0) {
        free(work);
        rpc->reply.status = (uint32_t)-rc;
        lst_server_reply(rpc);
        return;
    }
    work->node = rpc->node;
    work->service = rpc->request.test.service;
    work->loop = (int32_t)rpc->request.test.loop;
    work->concurrency = rpc->request.test.concurrency;
    work->targets = rpc->request.test.targets;
    work->stop_on_error = rpc->request.test.stop_on_error != 0;
    work->operation = rpc->request.test.operation;
    work->bytes = rpc->request.test.bytes;
    work->check = rpc->request.test.check;
    work->offset = rpc->request.test.offset;
    work->target = malloc(bytes);
    work->batch = get_batch(&rpc->node->session, rpc->request.test.batch);
    if (work->target == NULL || work->batch == NULL) {
        free(work->target);
        free(work);
        rpc->reply.status = ENOMEM;
    } else {
        memcpy(work->target, rpc->bulk_memory, bytes);
        list_add_tail(&work->on_batch, &work->batch->tests);
    }
    lst_server_reply(rpc);
}

/* False: the reply follows later. */
static bool add_test(struct lst_server_rpc *rpc)
{
    uint32_t targets = rpc->request.test.targets, service = rpc->request.test.service, bytes;

    if (service != LST_SERVICE_BRW && service != LST_SERVICE_PING) {
        rpc->reply.status = ENOENT;
        return true;
    }
    if (!rpc->request.test.is_client) {
        if (rpc->request.test.loop > LST_BUFFERS_MAX)
            rpc->reply.status = EINVAL;
        else
            rpc->reply.status =
                (uint32_t)-lst_service_grow(rpc->node, service, rpc->request.test.loop);
        return true;
    }
    bytes = targets * (uint32_t)sizeof(struct lnet_process_id_packed);
    if (targets == 0 || targets > LST_BYTES_MAX / sizeof(struct lnet_process_id_packed) ||
        rpc->request.test.concurrency == 0 || rpc->request.test.concurrency > 1024 ||
        (service == LST_SERVICE_BRW &&
         !lst_brw_valid(rpc->request.test.bytes, rpc->request.test.offset))) {
        rpc->reply.status = EINVAL;
        return true;
    }
    if (rpc->bulk_memory == NULL) {
        rpc->bulk_bytes = LST_BYTES_MAX;
        rpc->bulk_memory = lst_pages_alloc(LST_BYTES_MAX);
    }
    if (rpc->bulk_memory == NULL) {
        rpc->reply.status = ENOMEM;
        return true;
    }
    rpc->bulk_done = targets_moved;
    lst_server_bulk(rpc, true, rpc->request.test.bulk_bits, bytes);
    return false;
}

static void run_batch(struct lst_server_rpc *rpc)
{
    struct lst_batch *batch = find_batch(&rpc->node->session, rpc->request.batch.batch);
    uint32_t operation = rpc->request.batch.operation;
    struct lst_work *work;
    int rc = 0;

    if (batch == NULL) { /* no test of it has its source here */
        rpc->reply.status = 0;
        return;
    }
    list_for_each_entry (work, &batch->tests, on_batch) {
        if (operation == LST_BATCH_RUN && rc == 0)
            rc = lst_units_start(work);
        else if (operation == LST_BATCH_STOP)
            lst_units_stop(work);
    }
    rpc->reply.answer.status = (uint32_t)-rc;
    rpc->reply.answer.value = batch->active;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* The session that a request names; all but make_session must name the node's own. */
static const struct lst_session_id *named(const struct lst_server_rpc *rpc)
{
    switch (rpc->service) {
    case LST_SERVICE_REMOVE_SESSION:
        return &rpc->request.remove_session.session;
    case LST_SERVICE_BATCH:
        return &rpc->request.batch.session;
    case LST_SERVICE_TEST:
        return &rpc->request.test.session;
    case LST_SERVICE_STAT:
        return &rpc->request.stat.session;
    default:
        return NULL;
    }
}

void lst_session_handle(struct lst_server_rpc *rpc)
{
    struct lst_session *session = &rpc->node->session;
    const struct lst_session_id *id = named(rpc);

    if (id != NULL && !names_session(rpc->node, id)) {
        rpc->reply.status = ESRCH;
        lst_server_reply(rpc);
        return;
    }
    if (session->exists)
        session->last_request_ns = port_now();
    switch (rpc->service) {
    case LST_SERVICE_MAKE_SESSION:
        make_session(rpc);
        break;
    case LST_SERVICE_REMOVE_SESSION:
        lst_session_remove(rpc->node);
        break;
    case LST_SERVICE_BATCH:
        run_batch(rpc);
        break;
    case LST_SERVICE_TEST:
        if (!add_test(rpc))
            return;
        break;
    case LST_SERVICE_STAT:
        fill_stat(rpc);
        break;
    default: /* JOIN, DEBUG: is the node there, and in which session */
        memcpy(rpc->reply.session_answer.name, session->name, LST_NAME_BYTES);
        rpc->reply.session_answer.timeout = rpc->node->parameters.session_timeout_s;
        break;
    }
    if (rpc->service != LST_SERVICE_STAT)
        rpc->reply.answer.session = session->id;
    else
        rpc->reply.stat_answer.session = session->id;
    lst_server_reply(rpc);
}
