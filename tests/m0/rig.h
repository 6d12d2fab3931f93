/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * m0_net on the nodes of tests/lnet/world.h. The sources of the tests are the same for both
 * flavours: M0_TEST_XPRT is the transport. The body of a test runs on one thread and makes
 * transfer machines and buffers on nodes:
 *
 *   M0_TEST(m0_71_...)
 *   {
 *       struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
 *       struct m0_net_buffer *nb = buffer(A, 4096);
 *       ...
 *   }
 *
 * What callbacks see is in `completions`, in order. The rig stops and frees everything at the end,
 * and checks that nothing is left.
 *
 * With RIG_NETWORK=tcp, o2ib, gni, lo or routed, tests that are linked with networks.c are on the
 * simulated drivers of that network; routed: on two, with a router between them.
 *
 * With RIG_DELIVERY=synchronous in the environment, the machines deliver synchronously, and a
 * thread for each of them does what an application does: it asks for a notification, waits, and
 * delivers.
 */
#ifndef JACQUARD_TESTS_M0_RIG_H
#define JACQUARD_TESTS_M0_RIG_H

#include <errno.h>
#include "wire.h"
#include "net/lnet/lnet.h"
#include "net/net.h"
#include "port.h"

#define PORTAL_M0 42u
enum { COMPLETIONS_MAX = 20000, MACHINES_MAX = 256, BUFFERS_MAX = 4096 };

#define M0_TEST_IN(name, ...)                                             \
    static void name##_test(void);                                        \
    static void name(void **state)                                        \
    {                                                                     \
        (void)state;                                                      \
        rig_run(name##_test, &(struct world){.body = NULL, __VA_ARGS__}); \
    }                                                                     \
    static void name##_test(void)
#define M0_TEST(name) M0_TEST_IN(name, .nodes = 3)
void rig_run(void (*test)(void), const struct world *world);

/* How a host of the flavour under test is made; in the file of the flavour. */
extern const struct m0_net_xprt *const rig_xprt;
enum rig_flavour { RIG_KERNEL, RIG_USER, RIG_USER_BATCHED, RIG_MEMORY };
extern const enum rig_flavour rig_flavour;
void rig_flavour_begin(void);
void rig_flavour_end(void);
void rig_domain(struct m0_net_domain *dom); /* a domain was opened */
extern bool rig_synchronous; /* how events are delivered */

extern bool rig_routed; /* nodes are on two networks, with a router between them */
extern uint32_t rig_net; /* LND type of the NIDs: SOCKLND at first; LOLND: all on node A */
void host(unsigned node); /* the calls that follow come from there */
lnet_nid_t nid_of(unsigned node);
/* "NID:12345:42:tmid", one of 16 buffers in turn. tmid -1: "*". In memory: "10.0.0.1:1001". */
const char *address(unsigned node, int tmid);
const char *address_at(unsigned node, unsigned portal, int tmid);
struct m0_net_domain *domain(unsigned node); /* opens it */
extern struct m0_net_domain *rig_other_domain; /* what that returns instead; or NULL */

/* ---- machines -------------------------------------------------------------------------------- */

struct machine {
    struct m0_net_transfer_mc tm;
    unsigned node;
    unsigned states; /* state changes reported */
    enum m0_net_tm_state last; /* of them */
    int status;
    bool on_worker; /* the last report came on another thread than the test's */
    uint64_t processors; /* of that thread */
    char started_as[80]; /* nte_ep's address */
    void (*on_state)(struct machine *machine);
    struct machine *next;
    struct port_thread *application; /* that delivers events synchronously; or NULL */
    struct m0_mutex guard; /* of `wake` */
    struct m0_chan wake;
};
struct machine *machine(unsigned node); /* initialised */
struct machine *machine_up(unsigned node, int tmid); /* started */
struct machine *machine_up_at(unsigned node, const char *where);
/* Starts it and waits for the report: its status. */
int machine_start(struct machine *machine, const char *where);
void machine_stop(struct machine *machine, bool abort); /* and waits */
void machine_wait(struct machine *machine, enum m0_net_tm_state state);
void machine_free(struct machine *machine); /* stops it first if it runs */
struct m0_net_end_point *end_point(struct machine *machine, const char *where);
struct m0_net_qstats stats(struct machine *machine, enum m0_net_queue_type qtype);

/* ---- buffers --------------------------------------------------------------------------------- */

struct m0_net_buffer *buffer(unsigned node, size_t bytes); /* registered, page-aligned segments */
void buffer_free(struct m0_net_buffer *nb);
uint8_t *at(struct m0_net_buffer *nb, size_t offset);
void paint(struct m0_net_buffer *nb, size_t offset, size_t bytes, unsigned seed);
void expect_paint(struct m0_net_buffer *nb, size_t offset, size_t bytes, unsigned seed);

/* Each returns what m0_net_buffer_add returned. */
int receive(struct machine *machine, struct m0_net_buffer *nb, size_t min, unsigned max);
int send_to(struct machine *machine, struct m0_net_buffer *nb, size_t bytes, const char *where);
int passive(struct machine *machine, struct m0_net_buffer *nb, enum m0_net_queue_type qtype,
            size_t bytes);
int active(struct machine *machine, struct m0_net_buffer *nb, enum m0_net_queue_type qtype,
           size_t bytes, const struct m0_net_buf_desc *desc);
int add(struct machine *machine, struct m0_net_buffer *nb);

/* ---- events ---------------------------------------------------------------------------------- */

struct completion {
    struct m0_net_buffer *nb;
    enum m0_net_queue_type qtype;
    int status;
    m0_bcount_t length;
    m0_bindex_t offset;
    m0_time_t time;
    uint64_t flags;
    unsigned msgs;
    bool never; /* nb_timeout was M0_TIME_NEVER */
    char ep[80]; /* "": none */
    struct port_thread *thread;
    uint64_t processors;
    sim_time_t at;
};
extern struct completion completions[COMPLETIONS_MAX];
extern unsigned completion_count;
/* What buffers of the rig have; also for those of pools. */
extern const struct m0_net_buffer_callbacks rig_callbacks;
extern void (*on_completion)(
    const struct m0_net_buffer_event *event); /* after it was noted; or NULL */
void wait_completions(unsigned count); /* waits until there were so many, at most 100 s */
/* The n-th of a buffer; NULL: there was none. */
const struct completion *completion_of(const struct m0_net_buffer *nb, unsigned n);
unsigned count_completions(const struct m0_net_buffer *nb);
void forget_completions(void);

#endif
