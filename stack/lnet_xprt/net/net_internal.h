/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the layer and the transports share. */
#ifndef M0_NET_NET_INTERNAL_H
#define M0_NET_NET_INTERNAL_H

#include "module/instance.h"
#include "net/buffer_pool.h"
#include "net/net.h"

enum { M0_NET_XPRT_MAX = 4 };

/* The layer in a process. */
struct m0_net_root {
    struct m0_mutex nr_mutex; /* domains begin and end one at a time */
    struct m0_mutex nr_leaf; /* of nr_provisioners; no other lock is taken with it */
    struct m0_list nr_provisioners;
    const struct m0_net_xprt *nr_xprts[M0_NET_XPRT_MAX];
    const struct m0_net_xprt *nr_default;
    int nr_xprt_nr;
    void *nr_mem; /* of the transport in memory */
    struct m0 *nr_instance, nr_own_instance; /* what m0_get() returns, and that without m0_set() */
};
struct m0_net_root *m0_net_root(void); /* makes it */
/* The mutex that a transport's xo_dom_init and xo_dom_fini run under. */
#define m0_net_mutex (m0_net_root()->nr_mutex)

bool m0_net__tm_state_is_valid(enum m0_net_tm_state state);
bool m0_net__tm_ev_type_is_valid(enum m0_net_tm_ev_type type);
bool m0_net__tm_event_invariant(const struct m0_net_tm_event *ev);
bool m0_net__buffer_event_invariant(const struct m0_net_buffer_event *ev);
bool m0_net__tm_invariant(const struct m0_net_transfer_mc *tm);
bool m0_net__buffer_invariant(const struct m0_net_buffer *buf);
/* under_tm_mutex: also that the machine has it in its list */
bool m0_net__ep_invariant(const struct m0_net_end_point *ep, const struct m0_net_transfer_mc *tm,
                          bool under_tm_mutex);
bool m0_net__qtype_is_valid(enum m0_net_queue_type qtype);
int m0_net__buffer_add(struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm); /* ntm_mutex */
/* A callback begins or has ended; ntm_mutex. */
void m0_net__tm_callback_begin(struct m0_net_transfer_mc *tm);
void m0_net__tm_post_callback(struct m0_net_transfer_mc *tm);
/* m0_net_buffer_event_post() with ntm_mutex held, which it gives away during the callback. */
void m0_net__buffer_event_post(const struct m0_net_buffer_event *ev);
/* Asks for the end of all operations; ntm_mutex. */
void m0_net__tm_cancel(struct m0_net_transfer_mc *tm);
/* Takes a buffer off its queue; ntm_mutex. */
void m0_net__buffer_unqueue(struct m0_net_buffer *buf);

/* Fills the receive queue up; takes the pool's lock and ntm_mutex. A callback of the machine runs.
 */
void m0_net__tm_provision_recv_q(struct m0_net_transfer_mc *tm);
int m0_net__provisioner_start(struct m0_net_domain *dom); /* if it does not run; 0 or -errno */
void m0_net__provisioner_stop(struct m0_net_domain *dom); /* if it runs */
/* Puts a buffer back; `announce`: calls not_empty if the pool was empty. The pool's lock is held.
 */
void m0_net__buffer_pool_put(struct m0_net_buffer_pool *pool, struct m0_net_buffer *buf,
                             uint32_t colour, bool announce);
/* The same, taking the lock, for the machine's receive buffer. */
void m0_net__buffer_pool_return(struct m0_net_transfer_mc *tm, struct m0_net_buffer *buf);

#endif
