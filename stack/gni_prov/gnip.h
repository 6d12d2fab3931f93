/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Definitions for all files of the provider. Each file is about one object; the header of that name
 * declares what the object offers to the others.
 *
 *   fabric ─ domain ─┬─ ep ─ vc ─┐          top: one for each libfabric object
 *     │              ├─ av, mr   ├─ nic     below: one for each GNI communication domain
 *     │              └─ cq, cntr ┘   │
 *     └─ eq, pep              cm_nic ┴─ datagrams
 *
 * The provider has no global variables: the context holds its state, and the port keeps one context
 * for each process (gnip_ctx_get).
 *
 * Locks are taken in this order: context → domain, sep, pep → ep → cm_nic → mr cache → nic (GNI
 * calls) → the nic's lists (VCs, descriptors) → the ep's fired operations → cq, cntr, eq → progress
 * list → waitable. A thread that holds one does not block, except in a GNI call. A thread that
 * holds a nic's lock only calls GNI, so no entry is added to a CQ under it. A thread never holds
 * the locks of two endpoints.
 */
#ifndef GNIP_H
#define GNIP_H

#include <assert.h>
#include <gni_pub.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include <rdma/providers/fi_log.h>
#include <stdbool.h>
#include <string.h>

#include "port/port.h"

#define GNIP_NAME "gni"
#define GNIP_DOMAIN_NAME "/sys/class/gni/kgni0"
#define GNIP_VERSION FI_VERSION(1, 1)
#define GNIP_TAG_FORMAT 0xAAAAAAAAAAAAAAAAull /* FI_TAG_GENERIC: all bits */
#define GNIP_INJECT 64
#define GNIP_IOV 8
#define GNIP_MESSAGE_MAX 0xffffffffull
#define GNIP_CM_DATA_MAX 256

#define gnip_container(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
#define gnip_likely(x) __builtin_expect(!!(x), 1)
#define gnip_unlikely(x) __builtin_expect(!!(x), 0)
/*
 * Code off the short-message path is marked gnip_cold (small instead of fast) or gnip_noinline (a
 * call instead of a copy).
 */
#define gnip_cold __attribute__((cold))
#define gnip_noinline __attribute__((noinline))

/* log.c. Writes a line to libfabric's log; for rare events only. */
void gnip_log(enum fi_log_level level, enum fi_log_subsys subsystem, const char *function, int line,
              const char *format, ...) __attribute__((format(printf, 5, 6)));
#define gnip_warn(subsystem, ...) gnip_log(FI_LOG_WARN, subsystem, __func__, __LINE__, __VA_ARGS__)
#define gnip_info(subsystem, ...) gnip_log(FI_LOG_INFO, subsystem, __func__, __LINE__, __VA_ARGS__)

/* Waits, in loops that poll again after a while. No lock may be held. */
static inline void gnip_pause(uint64_t nanoseconds)
{
    struct port_timer timer;

    port_timer_start(&timer, nanoseconds);
    while (!port_timer_rang(&timer))
        port_idle(&timer, false);
    port_timer_stop(&timer);
}

struct gnip_auth;
struct gnip_av;
struct gnip_av_entry;
struct gnip_av_hash;
struct gnip_bounces;
struct gnip_buffer;
struct gnip_ce_edge;
struct gnip_cm_nic;
struct gnip_cntr;
struct gnip_conn;
struct gnip_conn_mailbox;
struct gnip_content;
struct gnip_cq;
struct gnip_ctx;
struct gnip_domain;
struct gnip_eager;
struct gnip_ep;
struct gnip_eq;
struct gnip_fabric;
struct gnip_fin;
struct gnip_gate;
struct gnip_header;
struct gnip_iov_rts;
struct port_link;
struct gnip_lock;
struct gnip_match;
struct gnip_mbox;
struct gnip_mbox_pool;
struct gnip_mr;
struct gnip_mr_counts;
struct gnip_msg_cm;
struct gnip_msg_connection;
struct gnip_msg_listener;
struct gnip_name;
struct gnip_nic;
struct gnip_remote_event;
struct gnip_params;
struct gnip_pep;
struct gnip_post;
struct gnip_progress_list;
struct gnip_progress_entry;
struct gnip_qlink;
struct gnip_queue;
struct gnip_refs;
struct gnip_req;
struct gnip_segment;
struct gnip_sep;
struct gnip_rts;
struct gnip_stx;
struct gnip_txd;
struct gnip_unexpected;
struct gnip_unexpected_chunk;
struct gnip_vc;
struct gnip_vc_slot;
struct gnip_waitable;
struct gnip_watch;
struct gnip_work;

/*
 * The users of an object: its children, and the objects that it is bound to. An object that the
 * application has closed is freed with its last user.
 */
struct gnip_refs {
    uint32_t count; /* and GNIP_CLOSED */
    void (*end)(struct gnip_refs *refs); /* frees the object; set when it is closed */
};
#define GNIP_CLOSED (1u << 31)
static inline void gnip_ref(struct gnip_refs *refs)
{
    __atomic_fetch_add(&refs->count, 1, __ATOMIC_RELAXED);
}
/* No lock is held if this may be the last user of a closed object. */
static inline void gnip_unref(struct gnip_refs *refs)
{
    assert((__atomic_load_n(&refs->count, __ATOMIC_RELAXED) & ~GNIP_CLOSED) != 0);
    if (gnip_unlikely(__atomic_sub_fetch(&refs->count, 1, __ATOMIC_ACQ_REL) == GNIP_CLOSED))
        refs->end(refs);
}
static inline bool gnip_busy(const struct gnip_refs *refs)
{
    return (__atomic_load_n(&refs->count, __ATOMIC_ACQUIRE) & ~GNIP_CLOSED) != 0;
}
/*
 * fi_close: whether the object can be closed now. 0; -FI_EINVAL: it is closed already; -FI_EBUSY:
 * `strict` (GNIX_STRICT), and it has users.
 */
static inline int gnip_refs_closable(const struct gnip_refs *refs, bool strict)
{
    if (__atomic_load_n(&refs->count, __ATOMIC_ACQUIRE) & GNIP_CLOSED)
        return -FI_EINVAL;
    return strict && gnip_busy(refs) ? -FI_EBUSY : 0;
}
/* Closes the object: calls `end` now, or with the last user. */
static inline void gnip_refs_close(struct gnip_refs *refs, void (*end)(struct gnip_refs *refs))
{
    refs->end = end;
    if (__atomic_fetch_or(&refs->count, GNIP_CLOSED, __ATOMIC_ACQ_REL) == 0)
        end(refs);
}

#endif
