/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the scenario does to transactions on their way.
 *
 * Links and routers die. All processes know when; each keeps its own picture of the network. A
 * transaction has a path there and one back, drawn as the model draws them. It is lost when
 * something on them dies before it has ended, or has died so short ago that the routers do not
 * know; later ones go another way, and fail where there is none.
 *
 * Transactions take their time ("paced"), when the scenario wants that: executed when the model's
 * request would be visible at the target, ended when its response would be, or later, as this
 * machine can.
 */
#include "backend.h"

#include <assert.h>
#include <glib.h>
#include "aries/misc/exceptions.h"
#include "nic/cq_entry.h"
#include "plan.h"
#include "nic/stages.h"

struct lnic_way {
    struct net_path_preview there, back;
    uint32_t known; /* changes that the routers knew of when it began */
    struct lnic_op *op;
    /* paced */
    struct sim_event returns; /* the model's response */
    sim_time_t given_up; /* when the NIC no longer waits for it */
    bool awaited; /* it is still to come */
    bool executed; /* all else is done */
    bool arrived; /* what dies on the way there is none of its business */
    bool lost;
};

static struct {
    const struct lnic_change *change; /* by time, which is that of the clock */
    uint32_t count, known; /* known: those that `net` has */
    bool paced;
    sim_time_t stored; /* until when the CPU stores what was posted */
    sim_time_t fed[2]; /* until when each unit feeds its streams: enum aries_unit */
    uint32_t streams; /* of the BTE under way */
    struct lnic_op *held, **held_tail; /* others, by a fence */
} ways;

/* ---- what has changed ------------------------------------------------------------------------ */

void lnic_ways_arm(struct lnic_change *changes, uint32_t count, sim_time_t began, bool paced)
{
    uint32_t i, at;

    for (i = 0; i < count; i++) {
        struct lnic_change change = changes[i];

        change.time = change.time < SIM_NEVER / 2 ? change.time + began : SIM_NEVER / 2;
        for (at = i; at > 0 && changes[at - 1].time > change.time; at--)
            changes[at] = changes[at - 1];
        changes[at] = change;
    }
    memset(&ways, 0, sizeof(ways));
    ways.change = changes;
    ways.count = count;
    ways.paced = paced;
    ways.held_tail = &ways.held;
}

static void learn(sim_time_t now)
{
    for (; ways.known < ways.count; ways.known++) {
        const struct lnic_change *change = &ways.change[ways.known];

        if (change->time + NET_FAILURE_DETECTION_TIME > now)
            return;
        if (change->is_router)
            net_router_set_alive(lnic_backend.net, change->a, change->alive);
        else
            net_link_set_alive(lnic_backend.net, change->a, change->b, change->which,
                               change->alive);
    }
}

/* Whether something on it has died by now that was not known when so many changes were. */
static bool has_died(const struct net_path_preview *way, uint32_t known, sim_time_t now)
{
    const struct lnic_change *change;

    for (change = &ways.change[known]; known < ways.count && change->time <= now; known++, change++)
        if (!change->alive &&
            (change->is_router ? net_preview_uses_router(lnic_backend.net, way, change->a)
                               : net_preview_uses_link(lnic_backend.net, way, change->a, change->b,
                                                       change->which)))
            return true;
    return false;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct lnic_op *op)
{
    return op->work.header_length + op->work.length;
}

static bool is_stream(const struct lnic_op *op)
{
    return op->work.unit == ARIES_UNIT_BTE;
}

static uint32_t packet_of(uint64_t bytes)
{
    return aries_data_phits((uint32_t)MIN(bytes, ARIES_PACKET_BYTES));
}

static bool find_there(const struct lnic_op *op, struct lnic_way *way)
{
    const struct aries_work *work = &op->work;
    struct net_transfer transfer = {
        .source = lnic_backend.hw->node,
        .target = work->target->node,
        .packets = 1,
        .last_units = aries_request_phits(work),
        .class = NET_REQUEST,
        .route = work->route,
        .hash = work->remote_addr / ARIES_PACKET_BYTES,
    };

    if (op->message != NULL)
        transfer.last_units = aries_kernel_message_phits((uint32_t)work->length);
    else if (work->op == ARIES_PUT)
        transfer.last_units += packet_of(bytes_of(op));
    return net_preview(lnic_backend.net, &transfer, &way->there);
}

static bool find_back(const struct lnic_op *op, struct lnic_way *way)
{
    const struct aries_timing *timing = &lnic_backend.fabric->timing;
    const struct aries_work *work = &op->work;
    struct net_transfer transfer = {
        .source = work->target->node,
        .target = lnic_backend.hw->node,
        .packets = 1,
        .last_units = 1 + (aries_returns_data(work) ? packet_of(work->length) : 0),
        .class = NET_RESPONSE,
        .route = work->route,
        .hash = work->remote_addr / ARIES_PACKET_BYTES,
    };

    if (work->op != ARIES_GET && work->route >= NET_ROUTE_ADAPTIVE_0)
        transfer.route = (uint8_t)(NET_ROUTE_ADAPTIVE_0 + timing->response_class);
    return net_preview(lnic_backend.net, &transfer, &way->back);
}

static void lose(struct lnic_op *op)
{
    if (op->message != NULL) { /* the kernel sends it again */
        op->overrun = true;
        return;
    }
    op->status = lnic_status_of_death(bytes_of(op));
    op->info = ARIES_CQ_CPLTN_SRSP;
    aries_error_raise(lnic_backend.hw, aries_error_category(A_STATUS_ORB_TIMEOUT),
                      A_STATUS_ORB_TIMEOUT, op->work.ptag, op->work.target->pe_addr);
}

/* ---- the model's time ------------------------------------------------------------------------ */

/* How much longer the links take than what hands the data over in so much time. */
static sim_time_t narrow(const struct aries_work *work, uint64_t bytes, sim_time_t feed)
{
    uint64_t packets = (bytes + ARIES_PACKET_BYTES - 1) / ARIES_PACKET_BYTES, units;
    double rate, time;

    if (packets <= 1)
        return 0;
    rate = net_path_rate(lnic_backend.net, lnic_backend.hw->node, work->target->node, work->route);
    units = packets * ((work->op == ARIES_GET ? 1 : 3) + aries_data_phits(ARIES_PACKET_BYTES));
    time = rate > 0 ? (double)units * 1e6 / rate : 0;
    return time > (double)feed ? (sim_time_t)time - feed : 0;
}

/* When the first packet leaves the NIC. `feed`: how long the others take. */
static sim_time_t leaves(const struct aries_work *work, sim_time_t now, sim_time_t feed)
{
    const struct aries_timing *timing = &lnic_backend.fabric->timing;
    sim_time_t at;

    ways.stored = MAX(ways.stored, now) + work->cpu;
    at = ways.stored + timing->pcie_write;
    if (feed > 0 || work->unit == ARIES_UNIT_BTE) {
        at = MAX(at, ways.fed[work->unit]);
        if (work->unit == ARIES_UNIT_BTE)
            at += timing->bte_desc + (work->op == ARIES_PUT ? timing->pcie_read : 0);
        ways.fed[work->unit] = at + feed;
    }
    return at + timing->tx;
}

/* When the target has it, and when the own CPU knows: docs/model.md, without contention. */
static void times(const struct lnic_op *op, const struct lnic_way *way, sim_time_t now,
                  sim_time_t *there, sim_time_t *back)
{
    const struct aries_timing *timing = &lnic_backend.fabric->timing;
    const struct aries_work *work = &op->work;
    uint64_t bytes = bytes_of(op);
    double rate = aries_stream_rate(work, timing);
    sim_time_t feed = rate > 0 ? (sim_time_t)((double)bytes * 1e3 / rate) : 0, ready;

    ready = leaves(work, now, feed) + feed + way->there.latency + aries_arrival_lag(work, timing);
    if (work->op == ARIES_PUT || work->op == ARIES_GET)
        ready += narrow(work, bytes, feed > 0 ? feed : aries_store_time(timing, bytes));
    *there = ready;
    if (work->op == ARIES_PUT || work->op == ARIES_CQWRITE)
        *there += timing->pcie_write + timing->poll - timing->rspgen +
                  (work->remote_wanted || work->op == ARIES_CQWRITE ? timing->cqe : 0);
    *back = MAX(*there,
                ready + way->back.latency + aries_response_lag(timing, aries_returns_data(work)));
    if (op->message != NULL)
        *there = now + timing->pcie_write + timing->tx + way->there.latency + timing->rx +
                 timing->pcie_write + timing->cold_datagram_remote;
}

static void returned(struct sim_event *event)
{
    struct lnic_way *way = sim_container_of(event, struct lnic_way, returns);

    if (way->lost && way->given_up > sim_now()) {
        sim_event_schedule(event, way->given_up);
        return;
    }
    assert(way->awaited);
    way->awaited = false;
    if (way->executed)
        lnic_op_finish(way->op);
}

/* The request is there, and the response takes a path of now. False: it is lost. */
static bool turns(struct lnic_op *op)
{
    struct lnic_way *way = op->way;
    sim_time_t now = sim_now();

    if (has_died(&way->there, way->known, now))
        return false;
    learn(now);
    way->known = ways.known;
    way->arrived = true;
    return op->message != NULL || find_back(op, way);
}

static void arrived(struct sim_event *event)
{
    struct lnic_op *op = sim_container_of(event, struct lnic_op, later);

    if (op->way == NULL || turns(op)) {
        lnic_launch(op);
        return;
    }
    lose(op);
    op->way->lost = true;
    lnic_op_finish(op);
}

/* It comes later, and the helper must know. */
static void schedule(struct sim_event *event, void (*fire)(struct sim_event *event), sim_time_t at)
{
    event->fire = fire;
    sim_event_schedule(event, at);
    live_look_soon(lnic_backend.live);
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* Its paths, drawn. False: it is lost at once. */
static bool take_way(struct lnic_op *op, sim_time_t now)
{
    struct lnic_way *way = op->way = g_new0(struct lnic_way, 1);

    learn(now);
    lnic_backend.flying++;
    ways.streams += is_stream(op);
    way->op = op;
    way->known = ways.known;
    way->awaited = ways.paced && op->message == NULL;
    way->given_up = now + lnic_backend.fabric->timing.orb_timeout;
    if (find_there(op, way) && find_back(op, way) && !has_died(&way->there, way->known, now))
        return true;
    way->lost = true;
    lose(op);
    if (way->awaited)
        schedule(&way->returns, returned, way->given_up);
    lnic_op_end(op, 0, 0);
    return false;
}

/* True: to be launched now. */
static bool depart(struct lnic_op *op, sim_time_t delay)
{
    sim_time_t now = sim_now(), there = now, back = now;

    if (ways.count > 0 || ways.paced) {
        if (!take_way(op, now))
            return false;
        if (ways.paced)
            times(op, op->way, now, &there, &back);
    }
    there += delay;
    if (there == now)
        return true;
    lnic_capture(op);
    schedule(&op->later, arrived, there);
    if (op->way != NULL && op->way->awaited)
        schedule(&op->way->returns, returned, back + delay);
    return false;
}

/* As in a channel of the BTE: what is fenced waits for those before it, others behind that. */
bool lnic_way_begin(struct lnic_op *op, sim_time_t delay)
{
    if (!ways.paced || !is_stream(op) ||
        (ways.held == NULL && (!op->work.fence || ways.streams == 0)))
        return depart(op, delay);
    op->next = NULL;
    *ways.held_tail = op;
    ways.held_tail = &op->next;
    return false;
}

static void release_held(void)
{
    while (ways.held != NULL && (!ways.held->work.fence || ways.streams == 0)) {
        struct lnic_op *op = ways.held;

        ways.held = op->next;
        if (ways.held == NULL)
            ways.held_tail = &ways.held;
        if (depart(op, 0))
            lnic_launch(op);
    }
}

bool lnic_way_end(struct lnic_op *op)
{
    struct lnic_way *way = op->way;
    sim_time_t now;

    if (way->awaited) {
        way->executed = true;
        return false;
    }
    now = sim_now();
    /* A datagram that has arrived is not lost: its sender would send another one. */
    if (op->status == 0 && op->message == NULL &&
        ((!way->arrived && has_died(&way->there, way->known, now)) ||
         has_died(&way->back, way->known, now))) {
        way->lost = true;
        lose(op);
        if (ways.paced && way->given_up > now) {
            way->awaited = way->executed = true;
            schedule(&way->returns, returned, way->given_up);
            return false;
        }
    }
    g_clear_pointer(&op->way, g_free);
    assert(lnic_backend.flying > 0);
    lnic_backend.flying--;
    if (is_stream(op)) {
        assert(ways.streams > 0);
        ways.streams--;
        release_held();
    }
    return true;
}
