/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the scenario does to transactions in flight.
 *
 * Links and routers die. All processes know the times, and each has its own model of the network. A
 * transaction has a path there and a path back, drawn as the model draws them. It is lost if
 * something on its paths dies before it has ended, or died so recently that the routers do not know
 * it yet. Later transactions take other paths, and fail where there is none.
 *
 * Transactions take the model's time ("paced") if the scenario asks for that: a transaction is
 * executed when the model's request would be visible at the target, and ends when the model's
 * response would have arrived, or later if this machine takes longer.
 */
#include "backend.h"

#include <assert.h>
#include <glib.h>
#include "aries/misc/exceptions.h"
#include "nic/cq_entry.h"
#include "plan.h"
#include "nic/stages.h"

struct aries_live_path {
    struct net_path_preview there, back;
    uint32_t known; /* number of changes that the routers knew when it began */
    struct aries_live_op *op;
    /* paced */
    struct sim_event returns; /* the model's response */
    sim_time_t given_up; /* when the NIC stops waiting for it */
    bool awaited; /* the response has not arrived yet */
    bool executed; /* everything else is done */
    bool arrived; /* it has arrived: what dies on the path there no longer matters */
    bool lost;
};

static struct {
    const struct aries_live_change *change; /* sorted by time (clock of this machine) */
    uint32_t count, known; /* known: number of changes applied to `net` */
    bool paced;
    sim_time_t stored; /* until when the CPU stores posted data */
    sim_time_t fed[2]; /* until when each unit feeds its streams: enum aries_unit */
    uint32_t streams; /* streams of the BTE in flight */
    struct aries_live_op *held, **held_tail; /* streams that a fence holds back */
} paths;

/* ---- what has changed ------------------------------------------------------------------------ */

void aries_live_paths_arm(struct aries_live_change *changes, uint32_t count, sim_time_t began,
                          bool paced)
{
    uint32_t i, at;

    assert(count == 0 || changes != NULL);
    for (i = 0; i < count; i++) {
        struct aries_live_change change = changes[i];

        change.time = change.time < SIM_NEVER / 2 ? change.time + began : SIM_NEVER / 2;
        for (at = i; at > 0 && changes[at - 1].time > change.time; at--)
            changes[at] = changes[at - 1];
        changes[at] = change;
    }
    memset(&paths, 0, sizeof(paths));
    paths.change = changes;
    paths.count = count;
    paths.paced = paced;
    paths.held_tail = &paths.held;
}

static void update_network(sim_time_t now)
{
    assert(paths.known <= paths.count);
    for (; paths.known < paths.count; paths.known++) {
        const struct aries_live_change *change = &paths.change[paths.known];

        if (change->time + NET_FAILURE_DETECTION_TIME > now)
            return;
        if (change->is_router)
            net_router_set_alive(aries_live.net, change->a, change->alive);
        else
            net_link_set_alive(aries_live.net, change->a, change->b, change->which, change->alive);
    }
}

/* Whether something on the path has died by now, by a change after the first `known` ones. */
static bool has_died(const struct net_path_preview *path, uint32_t known, sim_time_t now)
{
    const struct aries_live_change *change;

    assert(known <= paths.count);
    for (change = &paths.change[known]; known < paths.count && change->time <= now;
         known++, change++)
        if (!change->alive &&
            (change->is_router ? net_preview_uses_router(aries_live.net, path, change->a)
                               : net_preview_uses_link(aries_live.net, path, change->a, change->b,
                                                       change->which)))
            return true;
    return false;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct aries_live_op *op)
{
    return op->work.header_length + op->work.length;
}

static bool is_stream(const struct aries_live_op *op)
{
    return op->work.unit == ARIES_UNIT_BTE;
}

static uint32_t packet_of(uint64_t bytes)
{
    return aries_data_phits((uint32_t)MIN(bytes, ARIES_PACKET_BYTES));
}

static bool find_there(const struct aries_live_op *op, struct aries_live_path *path)
{
    const struct aries_work *work = &op->work;
    struct net_transfer transfer = {
        .source = aries_live.hw->node,
        .target = work->target->node,
        .packets = 1,
        .last_units = aries_request_phits(work),
        .class = NET_REQUEST,
        .route = work->route,
        .hash = work->remote_addr / ARIES_PACKET_BYTES,
    };

    assert(work->target != NULL);
    if (op->message != NULL)
        transfer.last_units = aries_kernel_message_phits((uint32_t)work->length);
    else if (work->op == ARIES_PUT)
        transfer.last_units += packet_of(bytes_of(op));
    return net_preview(aries_live.net, &transfer, &path->there);
}

static bool find_back(const struct aries_live_op *op, struct aries_live_path *path)
{
    const struct aries_timing *timing = &aries_live.fabric->timing;
    const struct aries_work *work = &op->work;
    struct net_transfer transfer = {
        .source = work->target->node,
        .target = aries_live.hw->node,
        .packets = 1,
        .last_units = 1 + (aries_returns_data(work) ? packet_of(work->length) : 0),
        .class = NET_RESPONSE,
        .route = work->route,
        .hash = work->remote_addr / ARIES_PACKET_BYTES,
    };

    assert(work->target != NULL);
    if (work->op != ARIES_GET && work->route >= NET_ROUTE_ADAPTIVE_0)
        transfer.route = (uint8_t)(NET_ROUTE_ADAPTIVE_0 + timing->response_class);
    return net_preview(aries_live.net, &transfer, &path->back);
}

static void mark_lost(struct aries_live_op *op)
{
    assert(op->path != NULL);
    if (op->message != NULL) { /* the kernel sends it again */
        op->overrun = true;
        return;
    }
    op->status = aries_live_status_of_death(bytes_of(op));
    op->info = ARIES_CQ_CPLTN_SRSP;
    aries_error_raise(aries_live.hw, aries_error_category(A_STATUS_ORB_TIMEOUT),
                      A_STATUS_ORB_TIMEOUT, op->work.ptag, op->work.target->pe_addr);
}

/* ---- the model's time ------------------------------------------------------------------------ */

/* How much longer the links take than the unit that feeds the data. */
static sim_time_t link_delay(const struct aries_work *work, uint64_t bytes, sim_time_t feed)
{
    uint64_t packets = (bytes + ARIES_PACKET_BYTES - 1) / ARIES_PACKET_BYTES, units;
    double rate, time;

    assert(work->target != NULL);
    if (packets <= 1)
        return 0;
    rate = net_path_rate(aries_live.net, aries_live.hw->node, work->target->node, work->route);
    units = packets * ((work->op == ARIES_GET ? 1 : 3) + aries_data_phits(ARIES_PACKET_BYTES));
    time = rate > 0 ? (double)units * 1e6 / rate : 0;
    return time > (double)feed ? (sim_time_t)time - feed : 0;
}

/* When the first packet leaves the NIC. `feed`: how long the other packets take. */
static sim_time_t departure_time(const struct aries_work *work, sim_time_t now, sim_time_t feed)
{
    const struct aries_timing *timing = &aries_live.fabric->timing;
    sim_time_t at;

    assert(work->unit < G_N_ELEMENTS(paths.fed));
    paths.stored = MAX(paths.stored, now) + work->cpu;
    at = paths.stored + timing->pcie_write;
    if (feed > 0 || work->unit == ARIES_UNIT_BTE) {
        at = MAX(at, paths.fed[work->unit]);
        if (work->unit == ARIES_UNIT_BTE)
            at += timing->bte_desc + (work->op == ARIES_PUT ? timing->pcie_read : 0);
        paths.fed[work->unit] = at + feed;
    }
    return at + timing->tx;
}

/* When the target has it, and when the own CPU knows that: docs/model.md, without contention. */
static void arrival_times(const struct aries_live_op *op, const struct aries_live_path *path,
                          sim_time_t now, sim_time_t *there, sim_time_t *back)
{
    const struct aries_timing *timing = &aries_live.fabric->timing;
    const struct aries_work *work = &op->work;
    uint64_t bytes = bytes_of(op);
    double rate = aries_stream_rate(work, timing);
    sim_time_t feed = rate > 0 ? (sim_time_t)((double)bytes * 1e3 / rate) : 0, ready;

    assert(op->path == path && there != NULL && back != NULL);
    ready = departure_time(work, now, feed) + feed + path->there.latency +
            aries_arrival_lag(work, timing);
    if (work->op == ARIES_PUT || work->op == ARIES_GET)
        ready += link_delay(work, bytes, feed > 0 ? feed : aries_store_time(timing, bytes));
    *there = ready;
    if (work->op == ARIES_PUT || work->op == ARIES_CQWRITE)
        *there += timing->pcie_write + timing->poll - timing->rspgen +
                  (work->remote_wanted || work->op == ARIES_CQWRITE ? timing->cqe : 0);
    *back = MAX(*there,
                ready + path->back.latency + aries_response_lag(timing, aries_returns_data(work)));
    if (op->message != NULL)
        *there = now + timing->pcie_write + timing->tx + path->there.latency + timing->rx +
                 timing->pcie_write + timing->cold_datagram_remote;
}

static void returned(struct sim_event *event)
{
    struct aries_live_path *path = sim_container_of(event, struct aries_live_path, returns);

    if (path->lost && path->given_up > sim_now()) {
        sim_event_schedule(event, path->given_up);
        return;
    }
    assert(path->awaited);
    path->awaited = false;
    if (path->executed)
        aries_live_op_finish(path->op);
}

/* The request has arrived; draws the path of the response. False: the transaction is lost. */
static bool start_response(struct aries_live_op *op)
{
    struct aries_live_path *path = op->path;
    sim_time_t now = sim_now();

    assert(path != NULL && !path->arrived);
    if (has_died(&path->there, path->known, now))
        return false;
    update_network(now);
    path->known = paths.known;
    path->arrived = true;
    return op->message != NULL || find_back(op, path);
}

static void arrived(struct sim_event *event)
{
    struct aries_live_op *op = sim_container_of(event, struct aries_live_op, later);

    assert(op->work.target != NULL);
    if (op->path == NULL || start_response(op)) {
        aries_live_launch(op);
        return;
    }
    mark_lost(op);
    op->path->lost = true;
    aries_live_op_finish(op);
}

/* Schedules an event, and makes the helper consider its time. */
static void schedule(struct sim_event *event, void (*fire)(struct sim_event *event), sim_time_t at)
{
    assert(aries_live.shm != NULL);
    event->fire = fire;
    sim_event_schedule(event, at);
    shm_request_progress(aries_live.shm);
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* Draws the paths of the operation. False: it is lost at once. */
static bool draw_paths(struct aries_live_op *op, sim_time_t now)
{
    struct aries_live_path *path = op->path = g_new0(struct aries_live_path, 1);

    assert(paths.count > 0 || paths.paced);
    update_network(now);
    aries_live.with_path++;
    paths.streams += is_stream(op);
    path->op = op;
    path->known = paths.known;
    path->awaited = paths.paced && op->message == NULL;
    path->given_up = now + aries_live.fabric->timing.orb_timeout;
    if (find_there(op, path) && find_back(op, path) && !has_died(&path->there, path->known, now))
        return true;
    path->lost = true;
    mark_lost(op);
    if (path->awaited)
        schedule(&path->returns, returned, path->given_up);
    aries_live_op_end(op, 0, 0);
    return false;
}

/* True: launch it now. */
static bool depart(struct aries_live_op *op, sim_time_t delay)
{
    sim_time_t now = sim_now(), there = now, back = now;

    assert(op->path == NULL);
    if (paths.count > 0 || paths.paced) {
        if (!draw_paths(op, now))
            return false;
        if (paths.paced)
            arrival_times(op, op->path, now, &there, &back);
    }
    there += delay;
    if (there == now)
        return true;
    aries_live_capture(op);
    schedule(&op->later, arrived, there);
    if (op->path != NULL && op->path->awaited)
        schedule(&op->path->returns, returned, back + delay);
    return false;
}

/* As in a channel of the BTE: a fenced transfer waits for those before it, and later ones wait
 * behind it. */
bool aries_live_path_begin(struct aries_live_op *op, sim_time_t delay)
{
    assert(op->path == NULL && !(paths.held == NULL && paths.held_tail != &paths.held));
    if (!paths.paced || !is_stream(op) ||
        (paths.held == NULL && (!op->work.fence || paths.streams == 0)))
        return depart(op, delay);
    op->next = NULL;
    *paths.held_tail = op;
    paths.held_tail = &op->next;
    return false;
}

static void release_held(void)
{
    while (paths.held != NULL && (!paths.held->work.fence || paths.streams == 0)) {
        struct aries_live_op *op = paths.held;

        paths.held = op->next;
        if (paths.held == NULL)
            paths.held_tail = &paths.held;
        if (depart(op, 0))
            aries_live_launch(op);
    }
}

bool aries_live_path_end(struct aries_live_op *op)
{
    struct aries_live_path *path = op->path;
    sim_time_t now;

    assert(path->op == op);
    if (path->awaited) {
        path->executed = true;
        return false;
    }
    now = sim_now();
    /* A datagram that has arrived is not lost: otherwise its sender would send another one. */
    if (op->status == 0 && op->message == NULL &&
        ((!path->arrived && has_died(&path->there, path->known, now)) ||
         has_died(&path->back, path->known, now))) {
        path->lost = true;
        mark_lost(op);
        if (paths.paced && path->given_up > now) {
            path->awaited = path->executed = true;
            schedule(&path->returns, returned, path->given_up);
            return false;
        }
    }
    g_clear_pointer(&op->path, g_free);
    assert(aries_live.with_path > 0);
    aries_live.with_path--;
    if (is_stream(op)) {
        assert(paths.streams > 0);
        paths.streams--;
        release_held();
    }
    return true;
}
