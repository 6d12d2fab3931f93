/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A small world for the tests of LNet: some nodes, joined by a driver that carries messages through
 * the event queue. The body of a test runs on one fiber and says on behalf of which node it calls:
 *
 *   TEST(lnet_35_local_offsets)
 *   {
 *       on(B);
 *       struct lnet_handle_md md = post(4, 0x10, memory, 100, ...);
 *       on(A);
 *       put(...);
 *       pass(SIM_MS);
 *       assert_event(...);
 *   }
 *
 * Events of the queues that queue() makes are in `seen`, in the order in which they came.
 */
#ifndef JACQUARD_TESTS_LNET_WORLD_H
#define JACQUARD_TESTS_LNET_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "core/internal.h"
#include "engine/ledger.h"
#include "engine/sim.h"
#include "lnet/api.h"
#include "lnet/lnetctl.h"
#include "lnet/node.h"

enum { A, B, C, D, E, F, WORLD_NODES };
#define SEEN_MAX 100000
#define PORTAL 40u

struct world {
    unsigned nodes; /* 0: 2 */
    uint64_t seed; /* 0: 1 */
    struct lnet_setting settings[8]; /* of all nodes */
    struct lnet_setting own[WORLD_NODES][8]; /* of one */
    bool not_started; /* the test calls LNetNIInit itself */
    bool unbalanced; /* the ledger is not checked: messages are lost without a trace */
    void (*body)(void);
};
void world_run(const struct world *world);

#define TEST_IN(name, ...)                                            \
    static void name##_body(void);                                    \
    static void name(void **state)                                    \
    {                                                                 \
        (void)state;                                                  \
        world_run(&(struct world){.body = name##_body, __VA_ARGS__}); \
    }                                                                 \
    static void name##_body(void)
#define TEST(name) TEST_IN(name, .nodes = 2)

/* ---- nodes ----------------------------------------------------------------------------------- */

void on(unsigned node); /* the calls that follow are this node's */
/* For tests with several fibers: the node of the running one; -1: that of on(). NULL at first. */
extern int (*world_fiber_node)(void);
struct lnet_node *lnet_of(unsigned node);
/* Node n has 10.0.0.<n+1>@tcp, 10.1.0.<n+1>@o2ib, <n>@gni where its settings say so. */
lnet_nid_t tcp(unsigned node);
lnet_nid_t o2ib(unsigned node);
lnet_nid_t gni(unsigned node);
struct lnet_process_id id_of(lnet_nid_t nid);
extern const struct lnet_process_id anybody;
struct lnet_counters counters(unsigned node);
struct lnet_peer_ni *peer_of(unsigned node, lnet_nid_t nid);
struct lnet_ni *ni_of(unsigned node, lnet_nid_t nid);
void pass(sim_time_t time); /* lets virtual time pass */
const char *panic_of(unsigned node); /* the text of the assertion that failed last; NULL: none */

/* ---- events ---------------------------------------------------------------------------------- */

struct seen {
    unsigned node;
    sim_time_t at;
    struct lnet_event event;
};
extern struct seen seen[SEEN_MAX];
extern unsigned seen_count;
void forget(void); /* all events so far */
struct lnet_handle_eq queue(void); /* the current node's queue, which writes to `seen` */
/* The n-th event (from 0) of that kind on a node; NULL: there is none. */
const struct lnet_event *event_of(unsigned node, enum lnet_event_kind kind, unsigned n);
unsigned count_of(unsigned node, enum lnet_event_kind kind);
/* The kinds in order, as one letter each: P(UT) G(ET) R(EPLY) A(CK) S(END) U(NLINK). */
const char *kinds(void);

/* ---- descriptors, with the current node's queue
 * ---------------------------------------------------- */

struct lnet_md md_of(void *start, unsigned length, int threshold, unsigned options);
struct lnet_handle_me entry(uint64_t bits, uint64_t ignore);
struct lnet_handle_me entry_at(unsigned portal, uint64_t bits, uint64_t ignore,
                               enum lnet_unlink unlink, enum lnet_ins_pos pos);
struct lnet_handle_md attach(struct lnet_handle_me me, struct lnet_md md);
/* An entry for these bits with a descriptor; both unlink themselves. */
struct lnet_handle_md post(uint64_t bits, void *start, unsigned length, int threshold,
                           unsigned options);
struct lnet_handle_md bind_md(void *start, unsigned length, int threshold);
/* A PUT or GET of a new descriptor to PORTAL. */
void put(unsigned target, uint64_t bits, void *start, unsigned length);
void put_ack(unsigned target, uint64_t bits, void *start, unsigned length);
void get(unsigned target, uint64_t bits, void *start, unsigned length);

/* ---- the wire -------------------------------------------------------------------------------- */

struct wire {
    sim_time_t latency; /* SIM_US */
    bool hold; /* messages stay in the driver until wire_release */
    unsigned held;
    bool hold_done; /* messages leave, and are complete at the sender with wire_done */
    bool hold_received; /* a receiver's driver has a message's data only with wire_received */
    unsigned receiving; /* such messages */
    int send_error; /* not 0: what `send` returns */
    int startup_error; /* not 0: the drivers do not start, for that reason */
    unsigned fail; /* so many messages fail, with: */
    int fail_status;
    enum lnet_msg_hstatus fail_health;
    bool fail_only_puts;
    bool swallow; /* messages vanish; the sender sees success */
    unsigned protocol_errors, closed; /* connections that were closed for either reason */
    unsigned sent; /* by the driver */
    bool eager; /* the driver of gni can copy messages aside */
    unsigned eager_copies;
};
extern struct wire wire;
void wire_release(unsigned count); /* the first ones */
void wire_release_last(unsigned count);
void wire_done(void); /* all so far */
/* The n-th of those that arrive now, from 0, is complete, or failed with `status`. */
void wire_received(unsigned n, int status);
void wire_fail_held(unsigned count, int status, enum lnet_msg_hstatus health);
/* A header and payload as they come from the wire, at the NI `to`. */
int wire_inject(lnet_nid_t to, const struct lnet_hdr *header, lnet_nid_t from);

#endif
