/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lnet/api.h>
#include <lnet/live.h>

#include "bench.h"
#include "pair.h"

enum { PORTAL = 30, PAGE = 4096, PUTS = 1, GETS = 2 }; /* the last two: match bits */

struct node {
    struct lnet_process_id peer;
    struct lnet_handle_eq puts, gets;
    struct lnet_handle_md from, target, readable;
    char *memory, *at; /* all of it; where what is read begins */
};

static void check(int rc, const char *what)
{
    if (rc != 0)
        bench_pair_fail("%s: %s", what, strerror(-rc));
}

static struct lnet_handle_md attach(struct lnet_handle_eq eq, uint64_t bits, void *memory,
                                    uint32_t bytes, unsigned options)
{
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_md md = {.start = memory,
                         .length = bytes,
                         .threshold = LNET_MD_THRESH_INF,
                         .options = options | LNET_MD_MANAGE_REMOTE,
                         .eq_handle = eq};
    struct lnet_handle_md handle;
    struct lnet_handle_me me;

    check(LNetMEAttach(PORTAL, any, bits, 0, LNET_UNLINK, LNET_INS_AFTER, &me), "LNetMEAttach");
    check(LNetMDAttach(me, md, LNET_RETAIN, &handle), "LNetMDAttach");
    return handle;
}

static void wait_for(struct lnet_handle_eq eq, enum lnet_event_kind kind)
{
    struct lnet_event event;
    int which;

    do {
        if (LNetEQPoll(&eq, 1, MAX_SCHEDULE_TIMEOUT, &event, &which) != 1)
            bench_pair_fail("LNetEQPoll");
        if (event.status != 0)
            bench_pair_fail("an event has status %d", event.status);
    } while (event.type != kind);
}

static void turns(const struct node *node, unsigned self, unsigned count)
{
    unsigned i;

    for (i = 0; i < count; i++) {
        if (self == 1)
            wait_for(node->puts, LNET_EVENT_PUT);
        check(LNetPut(LNET_NID_ANY, node->from, LNET_NOACK_REQ, node->peer, PORTAL, PUTS, 0, 0),
              "LNetPut");
        if (self == 0)
            wait_for(node->puts, LNET_EVENT_PUT);
    }
}

/* Each GET in flight is into memory of its own. */
static void get_all(const struct node *node, unsigned count)
{
    struct lnet_md md = {.length = BENCH_LNET_GET, .threshold = 2, .eq_handle = node->gets};
    struct lnet_handle_md handle;
    unsigned sent, answered = 0;

    for (sent = 0; answered < count;) {
        if (sent < count && sent - answered < BENCH_LNET_WINDOW) {
            md.start = node->at + (size_t)(sent++ % BENCH_LNET_WINDOW) * BENCH_LNET_GET;
            check(LNetMDBind(md, LNET_UNLINK, &handle), "LNetMDBind");
            check(LNetGet(LNET_NID_ANY, handle, node->peer, PORTAL, GETS, 0, false), "LNetGet");
        } else {
            wait_for(node->gets, LNET_EVENT_REPLY);
            answered++;
        }
    }
}

static void node_start(struct node *node, const struct bench_lnet_plan *plan, unsigned self)
{
    struct lnet_md md = {.length = plan->bytes, .threshold = LNET_MD_THRESH_INF};
    char options[128], *error = NULL;
    const size_t bytes = (size_t)BENCH_LNET_WINDOW * BENCH_LNET_GET + PAGE;

    node->memory = aligned_alloc(PAGE, bytes);
    if (node->memory == NULL)
        bench_pair_fail("no memory");
    memset(node->memory, 0, bytes);
    node->at = node->memory + plan->offset;
    snprintf(options, sizeof(options), "networks=tcp(%s.%u) accept_port=%u", plan->subnet,
             plan->host + self, plan->port);
    if (!lnet_live_start_text(options, &error))
        bench_pair_fail("%s", error);
    if (LNetNIInit(LNET_PID_LUSTRE) < 0)
        bench_pair_fail("LNetNIInit");
    snprintf(options, sizeof(options), "%s.%u@tcp", plan->subnet, plan->host + 1 - self);
    node->peer = (struct lnet_process_id){libcfs_str2nid(options), LNET_PID_LUSTRE};
    check(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &node->puts), "LNetEQAlloc");
    check(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &node->gets), "LNetEQAlloc");
    node->target = attach(node->puts, PUTS, node->memory, plan->bytes, LNET_MD_OP_PUT);
    LNetInvalidateEQHandle(&md.eq_handle);
    md.start = node->memory;
    check(LNetMDBind(md, LNET_RETAIN, &node->from), "LNetMDBind");
    node->readable = attach(md.eq_handle, GETS, node->at, BENCH_LNET_GET, LNET_MD_OP_GET);
}

static void node_end(const struct node *node)
{
    check(LNetMDUnlink(node->from), "LNetMDUnlink");
    check(LNetMDUnlink(node->target), "LNetMDUnlink");
    check(LNetMDUnlink(node->readable), "LNetMDUnlink");
    LNetNIFini();
    lnet_live_stop();
    free(node->memory);
}

void bench_lnet_process(const struct bench_lnet_plan *plan, unsigned self, int end, double *us,
                        double *gbps)
{
    struct node node;
    double begin;

    node_start(&node, plan, self);
    bench_pair_meet(end);
    turns(&node, self, plan->turns / 10);
    begin = bench_seconds();
    turns(&node, self, plan->turns);
    if (self == 0)
        *us = (bench_seconds() - begin) / plan->turns / 2 * 1e6;
    bench_pair_meet(end);
    if (self == 0) {
        get_all(&node, BENCH_LNET_WINDOW);
        begin = bench_seconds();
        get_all(&node, plan->gets);
        *gbps = (double)plan->gets * BENCH_LNET_GET / (bench_seconds() - begin) / 1e9;
    }
    bench_pair_meet(end); /* a pipe: the loop's thread serves the GETs */
    node_end(&node);
}
