/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The objects of the provider and what its files offer each other. Every file of this folder is
 * about one of them; what a file offers stands here under its name.
 *
 *   fabric ─ domain ─┬─ ep ─ vc ─┐          top: one for each libfabric object
 *     │              ├─ av, mr   ├─ nic     below: one for each GNI communication domain
 *     │              └─ cq, cntr ┘   │
 *     └─ eq, pep              cm_nic ┴─ datagrams
 *
 * No variable of the process: everything hangs off the context, which the port keeps for each
 * process (gnip_ctx_get).
 *
 * Locks, in the order in which they are taken: context → domain, sep, pep → ep → cm_nic → mr cache
 * → nic (GNI calls) → nic's lists (VCs, descriptors) → ep's fired operations → cq, cntr, eq → pset
 * → waitable. Nothing blocks while one is held, except for what a GNI call itself takes; who holds
 * a nic's lock calls GNI and nothing else, so nothing is delivered to a CQ under it. Two endpoints'
 * locks are never held together.
 */
#ifndef GNIP_INTERNAL_H
#define GNIP_INTERNAL_H

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

#include "chain.h"
#include "list.h"
#include "port/port.h"
#include "proto.h"
#include "rdma/fi_ext_gni.h"

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
/* For what a short message does not come by: a call, for what is rare a call of code that is small
 * instead of fast. */
#define gnip_cold __attribute__((cold))
#define gnip_noinline __attribute__((noinline))

/* log.c. A line of libfabric's log; rare things only. */
void gnip_log(enum fi_log_level level, enum fi_log_subsys subsystem, const char *function, int line,
              const char *format, ...) __attribute__((format(printf, 5, 6)));
#define gnip_warn(subsystem, ...) gnip_log(FI_LOG_WARN, subsystem, __func__, __LINE__, __VA_ARGS__)
#define gnip_info(subsystem, ...) gnip_log(FI_LOG_INFO, subsystem, __func__, __LINE__, __VA_ARGS__)

/* For loops that look again after a while; no lock may be held. */
static inline void gnip_pause(uint64_t nanoseconds)
{
    struct port_timer timer;

    port_timer_start(&timer, nanoseconds);
    while (!port_timer_rang(&timer))
        port_idle(&timer, false);
    port_timer_stop(&timer);
}

struct gnip_vc;
struct gnip_req;
struct gnip_ep;
struct gnip_nic;
struct gnip_cm_nic;

/* ---- locks ----------------------------------------------------------------------------------- */

/* A mutex that the threading level of its domain may make needless. */
struct gnip_lock {
    struct port_mutex mutex;
    bool needless;
    bool held; /* kept with assertions only */
};
#define gnip_assert_held(lock) assert((lock)->needless || (lock)->held)
static inline void gnip_lock_init(struct gnip_lock *lock, bool needless)
{
    port_mutex_init(&lock->mutex);
    lock->needless = needless;
    lock->held = false;
}
static inline void gnip_lock_fini(struct gnip_lock *lock)
{
    port_mutex_destroy(&lock->mutex);
}
static inline void gnip_take(struct gnip_lock *lock)
{
    if (!lock->needless)
        port_mutex_lock(&lock->mutex);
#ifndef NDEBUG
    assert(!lock->held || lock->needless);
    lock->held = !lock->needless;
#endif
}
static inline void gnip_give(struct gnip_lock *lock)
{
#ifndef NDEBUG
    gnip_assert_held(lock);
    lock->held = false;
#endif
    if (!lock->needless)
        port_mutex_unlock(&lock->mutex);
}

/*
 * Waits until a count of users that others drop is 0. Users are counted with atomics, without the
 * gate; dropping is cheap while nobody waits. `alone`: one thread uses it all, as with needless
 * locks.
 */
struct gnip_gate {
    struct port_mutex mutex;
    struct port_condition changed;
    uint32_t waiters;
    bool alone;
};
void gnip_gate_init(struct gnip_gate *gate, bool alone); /* progress.c */
void gnip_gate_fini(struct gnip_gate *gate);
void gnip_gate_wait(struct gnip_gate *gate, const uint32_t *users); /* no lock may be held */
void gnip_gate_tell(struct gnip_gate *gate);
static inline void gnip_gate_hold(const struct gnip_gate *gate, uint32_t *users)
{
    if (gate->alone)
        ++*users;
    else
        __atomic_add_fetch(users, 1, __ATOMIC_RELAXED);
}
static inline void gnip_gate_drop(struct gnip_gate *gate, uint32_t *users)
{
    assert(__atomic_load_n(users, __ATOMIC_RELAXED) != 0);
    if (gate->alone)
        --*users;
    else if (__atomic_sub_fetch(users, 1, __ATOMIC_SEQ_CST) == 0 &&
             gnip_unlikely(__atomic_load_n(&gate->waiters, __ATOMIC_SEQ_CST) != 0))
        gnip_gate_tell(gate);
}

/* ---- names (name.c) -------------------------------------------------------------------------- */

enum gnip_name_type { GNIP_UNBOUND = 1, GNIP_BOUND = 2, GNIP_SEP = 4 };

/* An endpoint's address as fi_getname gives it: FI_ADDR_GNI, 48 bytes. */
struct gnip_name {
    uint32_t device_addr; /* of the NIC */
    uint32_t cdm_id;
    uint32_t name_type : 8; /* GNIP_UNBOUND ... */
    uint32_t cm_nic_cdm_id : 24; /* who takes connection messages for it */
    uint32_t cookie;
    uint32_t rx_ctx_cnt : 8, key_offset : 12, unused1 : 12;
    uint32_t unused2;
    uint64_t reserved[3];
};
_Static_assert(sizeof(struct gnip_name) == 48, "size of the binary name");
#define GNIP_STRING_NAME 70 /* bytes of FI_ADDR_STR, with the final zero */

static inline size_t gnip_name_bytes(uint32_t addr_format)
{
    return addr_format == FI_ADDR_STR ? GNIP_STRING_NAME : sizeof(struct gnip_name);
}
/* As fi_getname writes it: `bytes` gnip_name_bytes(). */
void gnip_name_write(const struct gnip_name *name, uint32_t addr_format, void *buffer);
/* From what an application hands in. 0 or -FI_EINVAL. */
int gnip_name_read(struct gnip_name *name, uint32_t addr_format, const void *buffer);
/* getname/setname/getpeer's common part: copies what fits. 0 or -FI_ETOOSMALL, *bytes is set. */
int gnip_name_copy(const struct gnip_name *name, uint32_t addr_format, void *buffer, size_t *bytes);
/* fi_av_straddr. */
const char *gnip_name_print(const struct gnip_name *name, char *buffer, size_t *bytes);
/* node and service of fi_getinfo. 0 or a negative errno. */
int gnip_name_resolve(uint32_t addr_format, const char *node, const char *service,
                      struct gnip_name *name);

/* ---- context (ctx.c) ------------------------------------------------------------------------- */

/* Credentials, and the state of their keys (auth.c). */
struct gnip_auth {
    struct gnip_link link; /* gnip_ctx.auths */
    uint32_t cookie;
    uint8_t ptag;
    bool enabled; /* in use: its limits are fixed */
    bool limits_set; /* by "fab ops 2": they no longer follow "fab ops 1" */
    bool used_basic, used_vmdh;
    uint32_t user_limit, prov_limit; /* keys */
    uint32_t partition, offset; /* of the user's keys: how many are this process's, and the first */
    uint64_t *used; /* bitmap of keys; NULL: none yet */
    struct gnip_link nics; /* gnip_nic.auth_link */
    uint32_t nic_count;
};

/* What tests and tools count; no decision depends on it. */
struct gnip_counts {
    uint64_t conn_req, conn_resp, conn_nak; /* sent */
    uint64_t doorbells, window_stalls, credit_stalls, txd_stalls;
    uint64_t rx_overruns, ignored, replays;
    uint64_t cdm_created;
    uint64_t transitions[7][7]; /* of VCs: [from][to], enum gnip_vc_state; [0][NONE]: new */
    uint64_t closes, datagrams_failed, mailboxes_lost, illegal_transitions;
};

struct gnip_ctx {
    struct port_mutex lock; /* everything here */
    uint32_t refs; /* fabrics */
    struct gnip_link auths; /* the first is the default */
    uint32_t cdm_first, cdm_count, cdm_next; /* range of ids, below 2^24; offset of the next */
    uint32_t incarnation;
    uint32_t node_rank, node_processes; /* for keys and limits on resources */
    uint32_t nics_per_ptag;
    uint32_t wait_sleep, user_key_limit, prov_key_limit, shared_memory_timeout; /* "fab ops 1" */
    struct gnip_counts counts;
    struct gnip_link domains; /* gnip_domain.ctx_link */
    bool parked; /* all domains are, and the NICs with them */
};
/* The context of the calling process, made if there is none; one reference. NULL: no memory. */
struct gnip_ctx *gnip_ctx_get(void);
struct gnip_ctx *gnip_ctx_current(void); /* no reference; NULL: no fabric is open */
void gnip_ctx_put(struct gnip_ctx *ctx);
void gnip_ctx_incarnate(struct gnip_ctx *ctx); /* a new incarnation */
uint32_t gnip_ctx_cdm(struct gnip_ctx *ctx, uint32_t count); /* the first of `count` fresh ids */
/* Whether this process has a NIC, and its address; opens nothing. 0 or -errno. */
int gnip_local_nic(uint32_t *nic_address);
/* Where the calling process is, and what it may use there. */
struct gnip_place {
    uint32_t nic_address;
    uint8_t ptag; /* the first pair of credentials */
    uint32_t cookie;
    bool rank_known;
    uint32_t node_rank, node_processes; /* 0 and 1 when they are not known */
    uint32_t nics; /* per protection tag, at least 1 */
    uint64_t cqs; /* of the job on the node; 0: not known */
};
int gnip_place_find(struct gnip_place *place); /* opens nothing. 0 or -errno */

/* auth.c. The credentials of a key; key NULL: the default. 0 or -FI_EINVAL, -FI_EIO. */
int gnip_auth_find(struct gnip_ctx *ctx, const uint8_t *key, size_t key_bytes,
                   struct gnip_auth **auth);
/* Puts them to use: their limits are fixed. -FI_EINVAL: memory is registered in the other mode. */
int gnip_auth_use(struct gnip_ctx *ctx, struct gnip_auth *auth, bool vmdh);

/* ---- waiting (waitable.c) -------------------------------------------------------------------- */

/* What a CQ, counter, EQ or wait set has in common: somebody may be waiting for it. */
struct gnip_waitable {
    struct port_mutex lock;
    struct port_thread *poller; /* found it empty last: to be woken; NULL: nobody */
    struct port_thread **others; /* further such threads */
    uint32_t other_count, other_room;
    uint32_t waiters; /* threads in gnip_waitable_wait */
    bool closing;
    bool signalled; /* gnip_waitable_interrupt: the next wait ends at once */
    bool news; /* something has come since gnip_waitable_clear */
    bool armed; /* the descriptor is clear: the next signal sets it */
    int event; /* descriptor of FI_WAIT_FD; -1: none */
    struct gnip_waitable *set; /* wait set that it belongs to; NULL: none */
};
int gnip_waitable_init(struct gnip_waitable *waitable, bool descriptor); /* 0 or -errno */
/* Ends all waits first. */
void gnip_waitable_fini(struct gnip_waitable *waitable);
/* Something has come and can be seen; by any thread, with or without the owner's lock. */
void gnip_waitable_signal(struct gnip_waitable *waitable);
/* fi_cq_signal: one thread that waits, now or later, returns. */
void gnip_waitable_interrupt(struct gnip_waitable *waitable);
/* Nothing was found: the calling thread polls. */
void gnip_waitable_idle(struct gnip_waitable *waitable);
/* The calling thread found nothing, and no queue to look at: others get their turn. */
void gnip_waitable_yield(void);
/* The owner is empty, and its lock held: the descriptor is clear until the next signal. */
void gnip_waitable_clear(struct gnip_waitable *waitable);
/*
 * Calls `ready` (which makes progress; says how many polls that took) until it returns true, the
 * waitable is interrupted, or `milliseconds` are over (negative: never). 1: ready; 0: not;
 * -FI_ECANCELED: the waitable is being closed.
 */
int gnip_waitable_wait(struct gnip_waitable *waitable, int milliseconds,
                       bool (*ready)(void *argument, uint32_t *polls), void *argument);
/* FI_GETWAIT and FI_GETWAITOBJ of the owner; anything else: -FI_ENOSYS. */
int gnip_waitable_control(const struct gnip_waitable *waitable, enum fi_wait_obj type, int command,
                          void *argument);

/* Objects of a wait or poll set (members.c). */
struct gnip_member {
    struct gnip_member *next;
    struct fid *object; /* CQ, counter or EQ */
    uint64_t seen; /* counter of a poll set: value and errors when it was last reported */
};
struct gnip_members {
    struct port_mutex lock; /* the list's structure */
    struct gnip_member *first;
    uint32_t sweeps; /* that go through the list now, without the lock */
};
void gnip_members_init(struct gnip_members *members);
void gnip_members_fini(struct gnip_members *members);
int gnip_members_add(struct gnip_members *members, struct fid *object); /* 0 or -errno */
/* Waits until nobody looks at the object through this list. -FI_EINVAL: not in it. */
int gnip_members_remove(struct gnip_members *members, struct fid *object);
/* Between these two, members do not go away. */
struct gnip_member *gnip_members_sweep(struct gnip_members *members);
void gnip_members_swept(struct gnip_members *members);
/* Makes progress for a member; whether there is something to be read. */
bool gnip_member_ready(struct gnip_member *member, uint32_t *polls);
/* The waitable of a CQ, counter or EQ; NULL: another class. */
struct gnip_waitable *gnip_waitable_of(struct fid *object);

/* ---- progress (progress.c) ------------------------------------------------------------------- */

/* What a CQ or counter drives: NICs and cm_nics of the endpoints bound to it, each once. */
struct gnip_pset {
    struct gnip_lock lock;
    struct gnip_pset_entry **entries;
    uint32_t count, room;
    uint32_t skipped; /* passes in a row that had no time for control progress */
    struct gnip_gate gate;
};
void gnip_pset_init(struct gnip_pset *pset, bool needless_lock);
void gnip_pset_fini(struct gnip_pset *pset);
int gnip_pset_add(struct gnip_pset *pset, struct gnip_nic *nic, struct gnip_cm_nic *cm_nic);
/* Waits until nobody makes it progress through this set: no lock may be held. */
void gnip_pset_remove(struct gnip_pset *pset, struct gnip_nic *nic, struct gnip_cm_nic *cm_nic);
/* A bounded amount of work; the number of GNI queues that were looked at. */
uint32_t gnip_pset_progress(struct gnip_pset *pset);

/* ---- fabric, domain -------------------------------------------------------------------------- */

/* Children of an object: it cannot be closed while there are any. */
struct gnip_refs {
    uint32_t count;
};
static inline void gnip_ref(struct gnip_refs *refs)
{
    __atomic_fetch_add(&refs->count, 1, __ATOMIC_RELAXED);
}
static inline void gnip_unref(struct gnip_refs *refs)
{
    assert(__atomic_load_n(&refs->count, __ATOMIC_RELAXED) != 0);
    __atomic_fetch_sub(&refs->count, 1, __ATOMIC_RELEASE);
}
static inline bool gnip_busy(const struct gnip_refs *refs)
{
    return __atomic_load_n(&refs->count, __ATOMIC_ACQUIRE) != 0;
}

/* "domain ops 1" (params.c has the table of names, types and defaults). */
struct gnip_params {
    uint32_t msg_rendezvous_threshold, rma_rdma_threshold;
    uint32_t conn_table_initial, conn_table_max, conn_table_step, vc_id_capacity;
    uint32_t mbox_page, mbox_per_slab, mbox_credits, mbox_message;
    uint32_t rx_cq_size, tx_cq_size;
    uint32_t max_retransmits;
    int32_t error_inject;
    int32_t mr_lazy;
    char mr_cache[12]; /* internal, none */
    uint32_t mr_udreg_limit, mr_soft_limit;
    int32_t mr_hard_limit;
    uint32_t mr_stale_limit;
    bool xpmem;
    uint32_t dgram_timeout; /* ms between looks of the control helper while there is work */
    uint32_t eager_auto_progress;
};
void gnip_params_init(struct gnip_params *params); /* defaults, then GNIX_ variables */

struct gnip_fabric {
    struct fid_fabric fid;
    struct gnip_ctx *ctx;
    struct gnip_refs refs;
    uint32_t bound_datagrams, wildcard_datagrams; /* a later cm_nic copies them */
    int32_t datagram_timeout; /* ms; -1: none */
    struct port_mutex lock; /* what follows */
    struct gnip_params params; /* of domains that are opened later */
    struct port_mutex msg_lock; /* what follows */
    struct gnip_link msg_requests; /* at passive endpoints (msg_listen.c) */
};
int gnip_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

struct gnip_mr_cache;

struct gnip_domain {
    struct fid_domain fid;
    struct gnip_fabric *fabric;
    struct gnip_ctx *ctx;
    struct gnip_auth *auth;
    struct gnip_refs refs;
    struct gnip_params params;
    uint32_t api_version;
    uint32_t addr_format;
    uint64_t mr_mode; /* as opened */
    bool vmdh; /* keys are the user's, addresses are offsets */
    enum fi_threading threading;
    enum fi_progress control_progress, data_progress;
    struct port_mutex lock; /* what follows */
    struct gnip_cm_nic *cm_nic; /* of all endpoints that are not bound; NULL: not needed so far */
    struct gnip_nic *mr_nic; /* registers memory; NULL: not needed so far */
    struct gnip_mr_cache *mr_cache; /* NULL: not needed so far */
    bool paused; /* "domain ops 3": nothing new begins; atomic */
    bool parked; /* it has nothing of GNI any more (ops_quiesce.c) */
    struct gnip_link ctx_link; /* ctx->domains */
    struct gnip_link ces, ce_operations; /* collective engine (ops_ce.c) */
    struct gnip_link eps; /* gnip_ep.domain_link */
    struct gnip_link cm_nics; /* gnip_cm_nic.domain_link; under ctx->lock */
};
/* What an EP or CQ of this domain needs no lock for. */
static inline bool gnip_single(const struct gnip_domain *domain)
{
    return domain->threading == FI_THREAD_DOMAIN && domain->control_progress != FI_PROGRESS_AUTO &&
           domain->data_progress != FI_PROGRESS_AUTO;
}
int gnip_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                     void *context);
/* The credentials of a key that comes in attributes; no bytes: the domain's. 0 or -errno. */
int gnip_domain_auth(const struct gnip_domain *domain, const uint8_t *key, size_t bytes,
                     struct gnip_auth **auth);
int gnip_fabric_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
int gnip_domain_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
int gnip_ep_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
/* The NIC with this number, as "domain ops 2" counts them; NULL: none. ctx->lock is not held. */
struct gnip_nic *gnip_domain_nic(struct gnip_domain *domain, uint32_t index);

/* Reductions in the collective engine (ops_ce.c). */
extern const struct fi_gni_ops_dom2 gnip_dom2_ops;
/* The EP closes: its reductions end without an entry, after what the NIC has of them; no lock held.
 */
void gnip_ce_ep_close(struct gnip_ep *ep);
bool gnip_ce_busy(const struct gnip_ep *ep); /* operands are on their way; ep->lock is held */
void gnip_ce_domain_close(struct gnip_domain *domain);
void gnip_ce_park(struct gnip_ep *ep); /* the NIC goes; ep->lock is held, nothing is under way */
/* Checkpoints (ops_quiesce.c). */
extern const struct fi_gni_ops_dom3 gnip_dom3_ops;

/* fi_getinfo (info.c). */
int gnip_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                 const struct fi_info *hints, struct fi_info **info);
/* Whether a context can have these attributes; NULL: it inherits them. */
bool gnip_tx_attr_fits(const struct fi_tx_attr *attr);
bool gnip_rx_attr_fits(const struct fi_rx_attr *attr);

/* ---- transmit descriptors (txd.c) ------------------------------------------------------------ */

/* What a transaction that is no message needs besides; made when a descriptor first has one. */
struct gnip_transfer {
    gni_post_descriptor_t post;
    gnip_chained_get chain[2];
    struct gnip_txd *txd;
};
/* One outstanding GNI transaction. */
struct gnip_txd { /* one of an eager message without payload is one cache line */
    union {
        struct gnip_txd *next; /* free */
        /*
         * Its event has come. No lock is held; frees the descriptor (gnip_txd_put). status: SUCCESS
         * or TRANSACTION_ERROR.
         */
        void (*done)(struct gnip_txd *txd, gni_return_t status);
    };
    struct gnip_req *req;
    struct gnip_vc *vc; /* cannot go before the event has been dealt with; NULL: of no VC */
    uint32_t id; /* index, which is the message id of SMSG */
    bool recoverable; /* of a failed one: a replay makes sense */
    bool smsg; /* a message, which pins its VC */
    bool collected; /* its event has been taken out of the queue */
    _Alignas(8) uint8_t buffer[80]; /* header of an SMSG message */
    struct gnip_nic *nic; /* whose it is */
    struct gnip_transfer *transfer; /* NULL: had none so far */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct gnip_txd) == 128, "two cache lines");
_Static_assert(offsetof(struct gnip_txd, buffer) + sizeof(struct gnip_eager) == 64, "");
/* NULL: none is free. `reserved`: may take the last ones, which are kept for FIN, ACK and close. */
struct gnip_txd *gnip_txd_get(struct gnip_nic *nic, bool reserved);
struct gnip_txd *gnip_txd_get_transfer(struct gnip_nic *nic); /* with ->transfer; not reserved */
void gnip_txd_put(struct gnip_nic *nic, struct gnip_txd *txd);
/* Transactions of a VC that is given up: whatever comes of them, nothing happens. The number of
 * messages among them. */
uint32_t gnip_txd_forget(struct gnip_nic *nic, const struct gnip_vc *vc);
void gnip_txd_free_all(struct gnip_nic *nic);

/* ---- mailboxes (mbox.c) ---------------------------------------------------------------------- */

struct gnip_slab;

struct gnip_mbox {
    struct gnip_slab *slab; /* NULL: none */
    void *base; /* of the slab */
    uint32_t offset, bytes;
    gni_mem_handle_t handle;
};
/* Zeroed. 0, -FI_EAGAIN (no resources now), or another errno. May register memory. */
int gnip_mbox_get(struct gnip_nic *nic, struct gnip_mbox *mbox);
/* Nobody writes there any more. */
void gnip_mbox_put(struct gnip_nic *nic, struct gnip_mbox *mbox);
/* A peer may still write there: it stays unused until the NIC goes. */
void gnip_mbox_lose(struct gnip_nic *nic, struct gnip_mbox *mbox);
void gnip_mbox_free_all(struct gnip_nic *nic);
void gnip_mbox_sizes(struct gnip_nic *nic, uint32_t least); /* of a NIC that has none yet */

/* ---- NIC (nic.c) ----------------------------------------------------------------------------- */

struct gnip_nic {
    struct gnip_lock lock; /* GNI calls on this NIC, except GNI_CqTestEvent */
    gni_nic_handle_t gni;
    gni_cq_handle_t tx_cq, rx_cq; /* what progress polls */
    gni_cq_handle_t tx_cq_blk, rx_cq_blk; /* what wakes the helper; NULL without one */
    bool automatic; /* has a helper: for long transfers tx_cq_blk, so that it sees them end */

    struct gnip_lock vc_lock; /* what follows */
    struct gnip_link vcs_ready; /* gnip_vc.ready_link: something to do for them */
    uint32_t ready_count;
    struct gnip_vc_slot *vc_slots; /* by id */
    uint32_t vc_slot_count, vc_slot_first, vc_slot_last; /* free ones, the first freed first */
    struct gnip_vc *vc_pool; /* freed, kept until the NIC goes */

    struct gnip_lock txd_lock; /* what follows */
    struct gnip_txd *txd_free;
    uint32_t txd_used, txd_made, txd_count, txd_reserved; /* at most txd_count are made */
    struct gnip_txd **txd_chunks;

    struct gnip_link auth_link;
    struct gnip_ctx *ctx;
    struct gnip_auth *auth;
    bool alone; /* of a listener */
    const struct gnip_domain *sole; /* only this one's, which needs no locks; NULL: anybody's */
    uint32_t refs; /* under ctx->lock */
    struct gnip_params params; /* as they were when it was made */
    uint32_t device_addr, cdm_id;
    gni_cdm_handle_t cdm;
    struct gnip_gate gate; /* for gnip_vc.pins */

    struct gnip_mbox_pool *mailboxes; /* NULL: none so far (mbox.c); under lock */
    uint32_t mbox_bytes, mbox_stride; /* one mailbox; from one to the next */

    void *doorbell; /* page registered at rx_cq_blk */
    gni_mem_handle_t doorbell_handle;
    struct port_thread *helper; /* NULL: manual progress */
    uint32_t looks; /* of all threads, where there is a helper; some may be lost */
    bool stop; /* asks the helper to end */
    bool asleep; /* the helper is, until an event; atomic */
    struct gnip_watch *watch; /* NULL: nobody wants reports; under lock */
};
/*
 * A NIC for these credentials: a new one, or one in use when there are as many as may be.
 * cdm_id UINT32_MAX: any. `own`: a new one in any case. Starts a helper for automatic progress.
 * 0 or -errno.
 */
int gnip_nic_get(struct gnip_domain *domain, struct gnip_auth *auth, uint32_t cdm_id, bool own,
                 struct gnip_nic **nic);
/* The same for who has no domain. */
int gnip_nic_get_alone(struct gnip_ctx *ctx, struct gnip_auth *auth, uint32_t cdm_id,
                       struct gnip_nic **nic);
/* Gives back what it has of GNI, helper included; gets it again, with the same cdm_id. 0 or -errno.
 */
void gnip_nic_park(struct gnip_nic *nic);
int gnip_nic_unpark(struct gnip_nic *nic);
void gnip_nic_ref(struct gnip_nic *nic);
void gnip_nic_put(struct gnip_nic *nic);
/* An answer is waited for, whose announcement may get lost: a helper that sleeps for good looks
 * again. */
void gnip_nic_stir(struct gnip_nic *nic);
/*
 * Drains queues and gives VCs their turn: at most about 256 events. No lock may be held. Returns
 * what was done; adds the number of queues looked at.
 */
uint32_t gnip_nic_progress(struct gnip_nic *nic, uint32_t *polls);

/* watch.c: nodes that do not answer, as the NIC reports it; for endpoints with an EQ. */
void gnip_watch_begin(struct gnip_nic *nic); /* from now on; no lock is held */
void gnip_watch_park(struct gnip_nic *nic); /* the subscription goes with what it has of GNI */
void gnip_watch_end(struct gnip_nic *nic);
void gnip_watch_connected(struct gnip_vc *vc); /* ep->lock is held */
/* Its connection has failed: FI_EHOSTDOWN for the EQ, if that is so. ep->lock is held. */
void gnip_watch_failed(struct gnip_vc *vc, int error);

/* A 24-bit id with generation for a VC, 0: none left; 0 is never an id. */
uint32_t gnip_vc_id_get(struct gnip_nic *nic, struct gnip_vc *vc);
void gnip_vc_id_put(struct gnip_nic *nic, uint32_t id);
/* NULL: stale or unknown. vc_lock is held. */
struct gnip_vc *gnip_vc_of_id(struct gnip_nic *nic, uint32_t id);

/* ---- cm_nic (cm_nic.c), datagrams (datagram.c) ----------------------------------------------- */

struct gnip_datagram;

/* Something that is tried until it is done. */
struct gnip_work {
    struct gnip_link link;
    /* 0: done; -FI_EAGAIN: again later; else an error, which is final. No lock is held. */
    int (*run)(struct gnip_work *work);
    void (*over)(struct gnip_work *work, int status); /* after the last run; may free it; or NULL */
    bool queued; /* the rest is cm_nic.c's */
    bool running, again;
    uint32_t users;
};
#define GNIP_CM_WORK 1024 /* items; beyond it operations that need a new VC are put off */

struct gnip_cm_nic {
    struct gnip_link domain_link; /* domain->cm_nics */
    struct gnip_ctx *ctx;
    struct gnip_domain *domain; /* NULL: of a passive endpoint */
    struct gnip_nic *nic;
    bool automatic; /* has a helper when it is enabled */
    int32_t datagram_timeout; /* of the helper, ms; -1: none */
    uint32_t refs; /* endpoints; under the domain's lock */
    struct gnip_name name;
    struct gnip_lock lock; /* what follows */
    struct gnip_link work; /* gnip_work.link */
    uint32_t work_count;
    struct gnip_ep **eps; /* hash of endpoints by cdm_id, chained by gnip_ep.cm_next */
    uint32_t ep_buckets, ep_count;
    struct gnip_msg_cm *msg; /* connections of MSG endpoints (msg_cm.c); NULL: none so far */
    struct gnip_link free_bound, free_wildcard; /* gnip_datagram.link */
    struct gnip_link failed; /* to be posted again */
    struct gnip_datagram **datagrams; /* by id; made when first needed */
    uint32_t bound_count, wildcard_count; /* as many as may be */
    uint32_t bound_made, wildcard_made, datagrams_active;
    bool enabled;
    bool sleeping; /* the helper waits for datagrams alone: tell it of anything else */
    bool news; /* work came that it has not tried yet */
    struct gnip_gate gate; /* for gnip_ep.cm_users, gnip_work.users */
    struct port_thread *helper;
    bool stop;
};
/* cdm_id UINT32_MAX: any. 0 or -errno. */
int gnip_cm_nic_open(struct gnip_ctx *ctx, struct gnip_domain *domain, struct gnip_auth *auth,
                     const struct gnip_fabric *fabric, uint32_t cdm_id,
                     enum gnip_name_type name_type, struct gnip_cm_nic **cm_nic);
void gnip_cm_nic_close(struct gnip_cm_nic *cm_nic); /* waits for what is in flight */
int gnip_cm_nic_enable(struct gnip_cm_nic *cm_nic); /* posts the wildcards that are free */
/* The same without its NIC: helper and datagrams. */
void gnip_cm_nic_park(struct gnip_cm_nic *cm_nic);
int gnip_cm_nic_unpark(struct gnip_cm_nic *cm_nic);
void gnip_cm_nic_add_ep(struct gnip_cm_nic *cm_nic, struct gnip_ep *ep);
/* Waits until no message is being delivered to it: no lock may be held. Again: no effect. */
void gnip_cm_nic_remove_ep(struct gnip_cm_nic *cm_nic, struct gnip_ep *ep);
/* The EP with this cdm_id, which cannot go until it is given back; NULL: none. */
struct gnip_ep *gnip_cm_nic_find_ep(struct gnip_cm_nic *cm_nic, uint32_t cdm_id);
void gnip_cm_nic_give_ep(struct gnip_cm_nic *cm_nic, struct gnip_ep *ep);
/*
 * Sends a connection message; to itself, too: that is delivered from the work queue. 0; -FI_EAGAIN:
 * no datagram free, or one to this target is on its way; else an error. When the datagram has
 * failed ten times, gnip_vc_cm_lost is called.
 */
int gnip_cm_send(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                 const void *message, uint32_t bytes);
void gnip_cm_work_add(struct gnip_cm_nic *cm_nic, struct gnip_work *work);
/* Waits until it does not run: no lock may be held, and not by itself. */
void gnip_cm_work_remove(struct gnip_cm_nic *cm_nic, struct gnip_work *work);
/* No lock may be held. Returns what was done; adds the number of queues looked at. */
uint32_t gnip_cm_nic_progress(struct gnip_cm_nic *cm_nic, uint32_t *polls);
/* A message has come (vc_cm.c, or msg_cm.c for types from GNIP_CM_CONNREQ on). No lock is held. */
void gnip_vc_cm_receive(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                        const void *message, uint32_t bytes);
void gnip_msg_cm_receive(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                         const void *message, uint32_t bytes);
/* A message of ours could not be delivered (vc_cm.c; those of MSG endpoints are repeated anyway).
 */
void gnip_vc_cm_lost(struct gnip_cm_nic *cm_nic, const void *message, uint32_t bytes, int error);

int gnip_datagrams_open(struct gnip_cm_nic *cm_nic, uint32_t bound, uint32_t wildcard);
void gnip_datagrams_close(struct gnip_cm_nic *cm_nic);
void gnip_datagrams_free(struct gnip_cm_nic *cm_nic); /* none is under way */
int gnip_datagram_post(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                       const void *message, uint32_t bytes);
/* Takes back requests for connections that nobody has received so far. */
void gnip_datagrams_recall(struct gnip_cm_nic *cm_nic);
/* That was done with one: its VC may try again later (vc_cm.c). */
void gnip_vc_cm_unsent(struct gnip_cm_nic *cm_nic, const void *message, uint32_t bytes);
int gnip_datagram_accept(struct gnip_cm_nic *cm_nic); /* posts all free wildcards */
/* The helper, which waits for datagrams. False: not possible now. */
bool gnip_datagram_wake(struct gnip_cm_nic *cm_nic);
bool gnip_datagram_may_post(struct gnip_cm_nic *cm_nic); /* one is free */
void gnip_cm_deliver(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                     const void *message);
/* `block`: of the helper, waits up to `milliseconds` (-1: for ever). Number of datagrams ended. */
uint32_t gnip_datagram_poll(struct gnip_cm_nic *cm_nic, bool block, int milliseconds);

/* ---- virtual connections (vc.c; vc_cm.c makes and ends them) --------------------------------- */

enum gnip_vc_state {
    GNIP_VC_NONE = 1,
    GNIP_VC_CONNECTING,
    GNIP_VC_CONNECTED,
    GNIP_VC_TERMINATING,
    GNIP_VC_TERMINATED,
    GNIP_VC_ERROR
};

enum gnip_rx_ready {
    GNIP_RX_EVENTS, /* events tell what is in the mailbox */
    GNIP_RX_LOOK, /* there may be something else, too */
    GNIP_RX_LOST /* events were lost */
};

struct gnip_vc { /* under ep->lock, except what is said */
    /* What a message touches, in three cache lines: sending and receiving, */
    struct gnip_ep *ep;
    struct gnip_nic *nic;
    gni_ep_handle_t gni_ep;
    struct gnip_link ready_link; /* nic->vcs_ready; under its vc_lock */
    uint32_t pins; /* atomic; messages under way, and threads that look at it: it cannot go */
    uint32_t id; /* and generation: 24 bits */
    uint32_t rx_events; /* atomic; of messages that may be in the mailbox */
    uint32_t outstanding; /* issued, not completed */
    uint8_t state; /* enum gnip_vc_state */
    uint8_t rx_ready; /* enum gnip_rx_ready; atomic */
    uint8_t blocked; /* why nothing is sent (vc.c) */
    uint8_t failures; /* requests in a row */
    bool broken; /* to be failed */
    bool resting; /* nothing new is issued: the connection ends when nothing is under way */
    uint16_t rx_doubt; /* further messages until events tell what is in there again (vc.c) */
    /* the window and what waits for it, */
    struct gnip_queue tx_queue; /* gnip_req.link: to be issued, in order */
    uint32_t granted, used; /* slots that we may use and have used, modulo 2^32 */
    uint32_t given, told; /* slots that the peer may use, and what it knows of that */
    uint32_t smsg_limit; /* messages that may be under way, of those that are not urgent */
    uint32_t eager_max; /* payload of an eager message: threshold and message_bytes */
    uint16_t peer_flags; /* GNIP_CONN_ */
    uint16_t credits; /* messages that may be in the mailbox, agreed */
    uint32_t window; /* slots between: unused, or of messages that are still here; 0: closed */
    uint32_t arrived; /* slots that it has used */
    uint32_t held; /* slots of messages that are still here */
    uint32_t promised; /* messages that they may be */
    uint32_t message_bytes; /* largest SMSG message, agreed */
    /* receiving */
    struct gnip_queue work; /* gnip_req.link: deferred work of arrived messages */
    struct gnip_req *more; /* chain of RMA requests with FI_MORE; NULL: none */
    struct gnip_queue
        notices; /* gnip_announcement.link: of what the peer is to be told, in order */
    fi_addr_t fi_addr; /* the peer in the AV; FI_ADDR_NOTAVAIL: not known (again) */
    uint32_t av_version; /* when fi_addr was looked up */
    uint32_t late; /* slots of its window, of remote events for which recv_cq was too full */
    uint32_t unrung; /* messages taken since we last rang for that */
    uint32_t held_before; /* slots of messages of an earlier connection that are still here */
    /* now and then */
    uint32_t peer_id;
    bool rest_sent, rest_asked; /* by us, by the peer */
    bool is_self;
    bool grant_deferred; /* an ACK that only grants is in `work` */
    uint64_t sent_at, rung_at; /* port_now(), for doorbells; only when the peer wants them */
    uint16_t peer_key_offset;
    uint64_t peer_caps;
    gni_mem_handle_t peer_doorbell;
    /* cold */
    struct gnip_name peer; /* as the AV or the request told */
    uint32_t incarnation; /* of the peer's process */
    bool posted; /* our CONN_REQ is under way */
    bool crossed; /* the peer's came instead of an answer */
    bool answer; /* a CONN_RESP is to be sent */
    bool paused; /* until `pause` rings: the peer has no room */
    bool parked; /* a triggered operation has been for it: it must not go */
    uint16_t first_window; /* that we granted at first */
    bool closing; /* by us */
    bool close_due, close_sent; /* VC_CLOSE */
    bool ack_due, ack_sent; /* VC_CLOSE_ACK */
    bool peer_gone; /* it will not write into our mailbox any more */
    bool exposed; /* the peer may know our mailbox */
    struct gnip_conn_mailbox peer_mbox;
    struct gnip_mbox mbox;
    struct gnip_mbox old_mbox; /* of a connection that failed: until the peer has a new one */
    uint32_t old_id; /* of that */
    struct gnip_conn *request; /* came before the last connection was over; allocated */
    struct port_timer pause;
    struct gnip_work connect; /* request or answer that is to be sent */
    struct gnip_link ep_link; /* ep->vcs: all, in order of creation */
    struct gnip_vc *name_next; /* hash of the EP by name, or pool of the NIC */
    struct gnip_vc *chain_next; /* ep->chains */
    bool notices_called; /* what they wait for is an event */
    struct gnip_vc *starved_next; /* recv_cq->starved */
    bool starved; /* is in there */
    uint64_t recent_key; /* 0: none; and what it stands for */
    gni_mem_handle_t recent_handle;
    bool event_waits; /* `event` has come, and recv_cq has no memory for its entry */
    struct gnip_notice event;
};
_Static_assert(offsetof(struct gnip_vc, tx_queue) == 64 && offsetof(struct gnip_vc, work) == 128 &&
                   offsetof(struct gnip_vc, peer_id) == 192,
               "cache lines of a VC");
static inline void gnip_vc_fetch(const struct gnip_vc *vc)
{
    __builtin_prefetch(vc, 1);
    __builtin_prefetch(&vc->tx_queue, 1);
    __builtin_prefetch(&vc->work, 1);
}

/*
 * The VC to a peer, made (and its connection begun) when there is none; of a MSG endpoint its only
 * one. 0, -FI_EAGAIN (VCs or connection work used up), -FI_EINVAL (no such address). ep->lock is
 * held.
 */
int gnip_vc_find(struct gnip_ep *ep, fi_addr_t peer, struct gnip_vc **vc);
/* Of an address (a connection request came): may be NULL. */
struct gnip_vc *gnip_vc_of_name(struct gnip_ep *ep, uint32_t device_addr, uint32_t cdm_id);
struct gnip_vc *gnip_vc_new(struct gnip_ep *ep, const struct gnip_name *peer); /* NULL: none left */
/* The fi_addr of its peer, FI_ADDR_NOTAVAIL. */
fi_addr_t gnip_vc_source(struct gnip_vc *vc);

/*
 * Hands an operation over: issued at once when possible, else queued behind the others; one with
 * FI_TRIGGER is parked at its counter. Never fails; ep->lock is held. When issue() has returned 0
 * the operation counts as outstanding: who completes it calls gnip_vc_op_done.
 */
void gnip_vc_submit(struct gnip_vc *vc, struct gnip_req *req);
/* Takes a request that was not issued back (fi_cancel). False: it has been issued. */
bool gnip_vc_withdraw(struct gnip_vc *vc, struct gnip_req *req);
/* One of its operations has ended: outstanding--, fences and stalls are looked at again. */
void gnip_vc_op_done(struct gnip_vc *vc, bool failed);
/* Messages, deferred work, then what waits to be sent. ep->lock is held. Returns what was done. */
uint32_t gnip_vc_progress(struct gnip_vc *vc);
/* Puts it on its NIC's list of VCs with something to do. */
void gnip_vc_schedule(struct gnip_vc *vc);
/* Deferred work (issue()), tried in order; 0 done, -FI_EAGAIN again; else dropped. Not counted. */
void gnip_vc_defer(struct gnip_vc *vc, struct gnip_req *req);
/* The connection failed for good: what is queued ends with `error` (positive errno). */
void gnip_vc_fail(struct gnip_vc *vc, int error);
/*
 * Sends one SMSG message on a connected VC: header, then data (NULL: none). `txd` has the header in
 * its buffer, done and req set. h.kind is the tag; version and grant of the header are filled here.
 * Who sends adds the slots that it costs to vc->used and rings where due. Kinds that need no window
 * (ACK, FIN, CLOSE) may use what is reserved. ep->lock is held. 0; -FI_EAGAIN: no credit now, the
 * descriptor stays the caller's; else an error, likewise (-FI_ENOTCONN: the connection is over).
 */
int gnip_vc_smsg(struct gnip_vc *vc, struct gnip_txd *txd, uint32_t header_bytes, const void *data,
                 uint32_t data_bytes);
bool gnip_vc_window(struct gnip_vc *vc, uint32_t slots); /* there is room for so many */
/* One CQ write that wakes the peer's helper, unless it has been woken just now. */
void gnip_vc_doorbell(struct gnip_vc *vc);
/* The peer makes progress by itself, and may sleep: nothing was sent for a while. */
bool gnip_vc_was_idle(struct gnip_vc *vc);
/* For each eager message and notice that was sent: whether to ring. `answer`: one is wanted. */
static inline bool gnip_vc_rings_eager(struct gnip_vc *vc, bool answer)
{
    return gnip_unlikely(vc->peer_flags & GNIP_CONN_AUTO) && (gnip_vc_was_idle(vc) || answer);
}

/* ---- their connections (vc_cm.c) ------------------------------------------------------------- */

/*
 * For MSG endpoints, whose messages are others: describes our side (but type and target_cdm; takes
 * a mailbox, NONE → CONNECTING); connects to the peer that described itself (CONNECTING →
 * CONNECTED). ep->lock is held. 0; -FI_EAGAIN: no resources now; -FI_EINVAL: its parameters or
 * version do not fit; else an error. Without success the VC stays as it was.
 */
int gnip_vc_describe(struct gnip_vc *vc, struct gnip_conn *ours);
int gnip_vc_establish(struct gnip_vc *vc, const struct gnip_conn *theirs);
/*
 * An EP closes: its VCs take nothing new, peers are told, what is queued ends silently; waits for
 * what the NIC has, and some time for the peers; frees them. Messages to the EP are refused from
 * now on. No lock is held; ep->closing is set.
 */
void gnip_vcs_close(struct gnip_ep *ep);
/* Before that, or before a shutdown: sends the answers that wait for a credit, for some time. No
 * lock is held. */
void gnip_vcs_drain(struct gnip_ep *ep);
/* The same for one VC of a MSG endpoint that goes on: begins it; whether it is over (called in a
 * loop that makes progress); frees it, without ep->lock. */
void gnip_vc_close(struct gnip_vc *vc);
bool gnip_vc_close_done(struct gnip_vc *vc);
void gnip_vc_free(struct gnip_vc *vc);
/* One that is over and that nobody knows goes back to its NIC. ep->lock is held, and one pin. */
bool gnip_vc_reap(struct gnip_vc *vc);
/*
 * vc_rest.c. begin: its connection shall end without a loss; else: it may go on, or be made anew.
 * True: there is none. ep->lock is held.
 */
bool gnip_vc_rest(struct gnip_vc *vc, bool begin);
/* Changes the state: the only place that does. False: the table does not allow it; the VC stays as
 * it is, and fails. ep->lock is held. */
bool gnip_vc_move(struct gnip_vc *vc, enum gnip_vc_state to);
/* Progress of a VC that is neither connected nor new. ep->lock is held. Returns what was done. */
uint32_t gnip_vc_wind_up(struct gnip_vc *vc);
/* Starts connecting, when it is not connected or connecting; ep->lock is held. */
void gnip_vc_connect(struct gnip_vc *vc);
/* VC_CLOSE or its ack came. */
void gnip_vc_close_arrived(struct gnip_vc *vc);
void gnip_vc_close_ack_arrived(struct gnip_vc *vc);

/* Window (window.c): slots of messages that the peer sent us. */
#define GNIP_POOL_SLOTS 131072u /* of an EP: 32 MiB */
#define GNIP_POOL_MESSAGES 16384u
void gnip_window_open(struct gnip_vc *vc); /* sets vc->given: initial grant from the EP's pool */
/* By vc.c when a message comes. False: the peer has sent more than it may. */
bool gnip_window_arrived(struct gnip_vc *vc, uint32_t slots);
void gnip_window_kept(struct gnip_vc *vc, uint32_t slots); /* went to the unexpected store */
/* Once for each message that came: the peer may use its slots again (matched, copied, dropped). */
void gnip_window_return(struct gnip_vc *vc, uint32_t slots);
void gnip_window_close(struct gnip_vc *vc);
bool gnip_window_due(const struct gnip_vc *vc); /* the peer should hear of new grants */

/* ---- requests (req.c) ------------------------------------------------------------------------ */

enum gnip_req_kind {
    GNIP_REQ_FREE,
    GNIP_REQ_SEND, /* also tagged */
    GNIP_REQ_RECV,
    GNIP_REQ_WRITE,
    GNIP_REQ_READ,
    GNIP_REQ_AMO,
    GNIP_REQ_FETCH, /* fetching and comparing atomics */
    GNIP_REQ_CONTROL /* the provider's own: acks, FINs */
};

/* Posted receive: what a search looks at, in one cache line. */
struct gnip_post {
    struct gnip_link link, bucket;
    uint64_t tag, ignore;
    uint64_t sequence;
    fi_addr_t source; /* FI_ADDR_UNSPEC: any */
};

/* Memory of one side of an operation. */
struct gnip_buffer {
    void *address;
    uint64_t bytes;
    struct gnip_mr *mr; /* of the application, or registered here */
    bool own_mr; /* a use of it is held, which gnip_req_put gives back */
};

/* A place in both vectors of a rendezvous (rndzv.c). */
struct gnip_walk {
    uint32_t segment, buffer;
    uint64_t remote, local; /* bytes of them that lie before it */
    uint64_t word; /* address of the last word that had to be fetched; odd: none */
    uint32_t words; /* that had to be fetched */
};

/*
 * One operation. What an eager message touches comes first: three cache lines (64 bytes each).
 * gnip_req_get zeroes the second and third line, for other kinds than SEND and RECV also the rest.
 */
struct gnip_req {
    union {
        struct gnip_post post; /* RECV, while `posted` */
        uint8_t inject[GNIP_INJECT]; /* other kinds: copied data, operands */
    };
    /* second line */
    struct gnip_qlink link; /* VC queues, free list, counter's list of triggers */
    struct gnip_ep *ep;
    struct gnip_vc *vc; /* of a posted receive: NULL until it is matched */
    void *context;
    uint64_t flags; /* FI_COMPLETION (a success entry is wanted), FI_FENCE, FI_REMOTE_CQ_DATA,
                       FI_TAGGED, FI_*_COMPLETE, FI_MORE, ... */
    /* Tries to issue it: 0 issued (vc->outstanding counts it); -FI_EAGAIN: nothing happened; else a
     * negative errno: it has failed. ep->lock is held. Also runs deferred work. */
    int (*issue)(struct gnip_req *req);
    uint64_t data, tag; /* RECV: of the message */
    /* third line */
    uint64_t bytes; /* of all buffers */
    uint32_t id; /* slot and generation, for the wire: 24 + 8 bits; never 0 */
    uint32_t cost; /* slots of the window */
    uint8_t kind; /* enum gnip_req_kind */
    uint8_t buffer_count;
    uint8_t pending; /* GNI transactions under way */
    uint8_t tries; /* that failed */
    uint8_t injected; /* failures to be injected, and whether that is decided (gnip_req_inject) */
    bool cq_reserved; /* an entry of the CQ is reserved */
    bool counted; /* in tx_used, rx_used or own_used */
    bool posted; /* RECV: in the matching store */
    bool multi, child; /* RECV: a multi-receive buffer; a part of one */
    bool rendezvous; /* SEND, RECV */
    bool answer; /* SEND: issued, and the peer must answer; one-sided: issued and deferred */
    bool delivered; /* SEND: it has answered, our own event is to come */
    bool failed_final; /* no replay */
    bool cold; /* what follows buffers[] is valid */
    struct gnip_buffer buffers[GNIP_IOV];
    /* the rest; SEND and RECV: gnip_req_warm zeroes it when it is needed */
    int error; /* first failure: positive errno */
    int prov_errno;
    /* gnip_req_drop calls it instead of gnip_req_error; NULL: that is right. */
    void (*dropped)(struct gnip_req *req, int error);
    union {
        struct { /* SEND */
            void *gather; /* several buffers in one piece (gnip_gather_get); NULL: none */
            struct gnip_segment segments[GNIP_IOV]; /* rendezvous */
        } send;
        struct { /* RECV */
            struct gnip_req *parent; /* multi-receive buffer that it is a part of */
            uint32_t children; /* multi-receive: parts under way */
            bool released; /* multi-receive: used up */
            bool counts; /* vc->outstanding counts it */
            uint64_t used; /* multi-receive: bytes given away */
            /* rendezvous */
            uint32_t remote_request; /* to be named in the FIN */
            uint16_t wire_flags;
            uint8_t segment_count;
            bool planned; /* all that is to be fetched was posted, or nothing more shall be */
            bool fails; /* this attempt, by injection */
            uint64_t remote_bytes; /* length of the message */
            struct gnip_walk walk; /* how far transfers were posted */
            void *bounce; /* words around what is fetched; NULL: none */
            gni_mem_handle_t bounce_handle;
            struct gnip_segment segments[GNIP_IOV]; /* of the sender */
        } recv;
        struct gnip_announcement { /* one-sided ones */
            struct gnip_qlink link; /* vc->notices */
            bool wanted; /* the peer is told of it, */
            bool due; /* for the data is there */
        } notice;
        struct { /* WRITE, READ */
            struct gnip_announcement notice;
            uint64_t remote_address, remote_key;
            void *bounce; /* what is read next to its place; NULL: nothing */
            bool indirect; /* all of it */
            bool refused; /* a part could not be posted: all of it again */
            uint16_t chained; /* first of a chain (FI_MORE): how many there are */
            struct gnip_req *next, *last; /* of the chain; last: of the first one */
            gnip_chained_get element; /* its place in the chain */
        } rma;
        struct { /* AMO, FETCH */
            struct gnip_announcement notice;
            uint64_t remote_address, remote_key;
            uint64_t operand[2];
            gni_fma_cmd_type_t command;
            uint8_t width; /* 4 or 8 */
            bool fetches;
            void *result;
            void *bounce; /* where it arrives first; NULL: in place */
        } amo;
        struct { /* CONTROL */
            uint32_t request;
            int32_t status;
            uint8_t kind;
        } control;
    } u;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct gnip_post) == 64, "a posted receive is one cache line");
_Static_assert(offsetof(struct gnip_req, bytes) == 128, "cache lines of a request");
_Static_assert(offsetof(struct gnip_req, buffers) + sizeof(struct gnip_buffer) == 192, "");
static inline void gnip_req_warm(struct gnip_req *req)
{
    if (!req->cold)
        memset(&req->error, 0, sizeof *req - offsetof(struct gnip_req, error));
    req->cold = true;
}
static inline struct gnip_req *gnip_req_of_post(struct gnip_post *post)
{
    return gnip_container(post, struct gnip_req, post);
}
/*
 * A request of `kind` for an operation of the application; -FI_EAGAIN through NULL: the limit of
 * the EP (tx or rx size) is reached, or no CQ entry can be reserved for it. ep->lock is held.
 * `named`: gnip_req_is_named; its end has an entry in the CQ of its direction, if only for an
 * error.
 */
struct gnip_req *gnip_req_get(struct gnip_ep *ep, enum gnip_req_kind kind, bool named);
/* Not of an inject call: of that neither a completion is wanted, nor is there anything to name it
 * by. */
static inline bool gnip_req_is_named(uint64_t flags, const void *context)
{
    return (flags & (FI_INJECT | FI_COMPLETION)) != FI_INJECT || context != NULL;
}
struct gnip_req *gnip_req_get_own(struct gnip_ep *ep, enum gnip_req_kind kind); /* provider's */
void gnip_req_put(struct gnip_req *req);
struct gnip_req *gnip_req_of_id(struct gnip_ep *ep, uint32_t id); /* NULL: unknown or stale */
/* Writes the success entry (if wanted), counts, and frees it. `entry`: what differs from zeros. */
void gnip_req_complete(struct gnip_req *req, const struct fi_cq_tagged_entry *entry,
                       fi_addr_t source);
/* The error entry, always written, from the request; entry: as above plus olen etc. Frees it. */
void gnip_req_fail(struct gnip_req *req, const struct fi_cq_err_entry *entry);
/* fail with flags and context of the request and this error (positive). */
void gnip_req_error(struct gnip_req *req, int error, int prov_errno);
/* What its completion says it was: FI_MSG | FI_SEND ... */
uint64_t gnip_req_entry_flags(const struct gnip_req *req);
/* It was handed over (submitted, deferred) and ends before it was issued, or instead of that. */
void gnip_req_drop(struct gnip_req *req, int error);
/* Whether this attempt is to fail (GNI_ERR_INJECT_COUNT). */
bool gnip_req_inject(struct gnip_req *req);
/*
 * A VC has failed or is closed: ends what waits for an answer of its peer (rendezvous, delivery);
 * silently if the EP closes. What is queued or posted is the VC's business.
 */
void gnip_req_vc_lost(struct gnip_vc *vc, int error);
/* All requests one after the other; *place is 0 at first. NULL: no more. */
struct gnip_req *gnip_req_each(struct gnip_ep *ep, uint32_t *place);
void gnip_req_pool_free(struct gnip_ep *ep); /* ends all that is left silently */
/* A GNI status as libfabric sees it: positive errno (table: docs/gni-provider.md). */
int gnip_errno(gni_return_t rc);
const char *gnip_strerror(int prov_errno);
/* fi_cq_strerror, fi_eq_strerror: also into the buffer, if there is one. */
static inline const char *gnip_strerror_copy(int prov_errno, char *buffer, size_t bytes)
{
    const char *text = gnip_strerror(prov_errno);

    if (buffer == NULL || bytes == 0)
        return text;
    strncpy(buffer, text, bytes - 1);
    buffer[bytes - 1] = '\0';
    return buffer;
}

/* ---- matching (match.c) ---------------------------------------------------------------------- */

/*
 * A message that came before its receive. Both stores are in order of arrival; what is searched by
 * tag is in a few buckets, in many when the EP asks for it (GNI_HASH_TAG_IMPL).
 */
struct gnip_unexpected {
    struct gnip_link link, bucket;
    uint64_t tag, sequence, data;
    struct gnip_vc *vc; /* NULL: it is gone */
    fi_addr_t source; /* as known when it came */
    uint32_t slots; /* of the window that it holds */
    uint32_t request; /* the sender's id: rendezvous, or delivery wanted */
    uint16_t wire_flags; /* GNIP_W_ */
    bool rendezvous, claimed;
    bool lost; /* its connection has failed: nobody waits for an answer */
    bool pooled; /* from the EP's free list */
    uint8_t segment_count;
    void *claimer; /* context that claimed it */
    uint64_t bytes; /* of the message */
    struct gnip_segment *segments; /* rendezvous; behind this struct */
    uint8_t *payload; /* eager; behind this struct */
};

struct gnip_match; /* one of tagged or untagged messages */
/* bits: of the number of buckets; 0: everything is searched one by one. NULL: no memory. */
struct gnip_match *gnip_match_new(uint32_t bits, bool directed);
void gnip_match_free(struct gnip_match *match);
void gnip_match_post(struct gnip_match *match, struct gnip_post *post);
void gnip_match_unpost(struct gnip_match *match, struct gnip_post *post);
/* The oldest posted receive for such a message; stays posted. */
struct gnip_post *gnip_match_arrived(struct gnip_match *match, uint64_t tag, fi_addr_t source);
void gnip_match_keep(struct gnip_match *match, struct gnip_unexpected *message);
void gnip_match_forget(struct gnip_match *match, struct gnip_unexpected *message);
/* The oldest message that is not claimed for such a receive; stays in the store. */
struct gnip_unexpected *gnip_match_find(struct gnip_match *match, uint64_t tag, uint64_t ignore,
                                        fi_addr_t source);
struct gnip_unexpected *gnip_match_claimed(struct gnip_match *match, const void *claimer);
struct gnip_post *gnip_match_first_post(struct gnip_match *match, struct gnip_post *after);
struct gnip_unexpected *gnip_match_first(struct gnip_match *match, struct gnip_unexpected *after);

/* ---- endpoints (ep.c) ------------------------------------------------------------------------ */

enum gnip_connection { /* of a MSG endpoint */
                       GNIP_UNCONNECTED,
                       GNIP_CONNECTING,
                       GNIP_CONNECTED,
                       GNIP_SHUTDOWN
};

struct gnip_ep {
    struct fid_ep fid; /* of a SEP's context: that of the transmit side */
    struct fid_ep rx_fid; /* SEP: of the receive context */
    enum fi_ep_type type;
    struct gnip_domain *domain;
    struct gnip_auth *auth;
    struct gnip_refs refs; /* STX users, SEP contexts */
    struct fi_info *info; /* a copy */
    uint64_t caps, tx_flags, rx_flags; /* default operation flags, with FI_COMPLETION or without */
    bool directed, source, source_err, rma_event, notify_flags_only;
    bool tx_selective, rx_selective;
    bool tx_enabled, rx_enabled, closing, shared_tx, hashed;
    bool slept_on; /* somebody may sleep on a descriptor for what it sends: its helper must hear */
    struct gnip_lock lock; /* what follows, and all its VCs */
    struct gnip_cq *send_cq, *recv_cq;
    struct gnip_cntr *send_cntr, *recv_cntr, *write_cntr, *read_cntr, *rwrite_cntr, *rread_cntr;
    struct gnip_av *av;
    struct gnip_eq *eq;
    struct gnip_stx *stx;
    struct gnip_sep *sep; /* it is one of its contexts */
    uint32_t sep_index;
    struct gnip_nic *nic;
    struct gnip_cm_nic *cm_nic;
    bool own_cm_nic;
    struct gnip_name name;
    size_t min_multi_recv;
    struct gnip_match *tagged, *untagged; /* made when it is enabled */
    /* requests */
    struct gnip_req **req_chunks; /* arrays of requests, by id */
    struct gnip_queue req_free; /* last in, first out */
    uint32_t req_made, tx_used, rx_used, own_used, tx_size, rx_size;
    struct gnip_waitable room; /* somebody got -FI_EAGAIN */
    bool starved; /* somebody waits for that */
    bool mrecv_stalled; /* messages wait for a part of a multi-receive buffer */
    /* the unexpected store's room */
    struct gnip_queue unexpected_free; /* small ones */
    struct gnip_unexpected_chunk *unexpected_chunks;
    uint32_t granted_slots, granted_messages; /* to all peers together (window.c) */
    uint32_t unexpected_messages;
    struct gnip_queue fired; /* gnip_req.link: triggered, to be submitted; under fired_lock */
    struct gnip_lock fired_lock;
    /* connections */
    struct gnip_link vcs; /* gnip_vc.ep_link */
    uint32_t vc_count;
    struct gnip_vc_known { /* by fi_addr: each place knows one that was found there */
        fi_addr_t peer;
        struct gnip_vc *vc;
        uint32_t av_version;
    } * vc_known;
    struct gnip_vc **vc_names; /* hash by device_addr and cdm_id, chained by gnip_vc.name_next */
    uint32_t vc_bits; /* both have 1 << vc_bits places; 0: none yet */
    struct gnip_vc *chains; /* VCs with a chain (gnip_vc.more), by chain_next */
    struct gnip_ep *cm_next; /* hash of the cm_nic */
    uint32_t cm_users; /* atomic; messages being delivered */
    struct port_thread *closer; /* waits for its VCs to end; NULL: nobody does */
    struct gnip_msg_connection *connection; /* MSG (msg_cm.c); NULL: RDM and DGRAM */
    enum gnip_connection conn_state;
    struct gnip_vc *msg_vc;
    struct gnip_bounces *bounces; /* buffers of bounce.c; NULL: none so far */
    struct gnip_link domain_link; /* domain->eps */
    struct gnip_ce_edge *ce_edge; /* its place in a tree of reductions (ops_ce.c); NULL: none */
};
/* Where GNI tells that what it sends has ended. */
static inline gni_cq_handle_t gnip_ep_events(const struct gnip_ep *ep)
{
    return gnip_unlikely(ep->slept_on) && ep->nic->tx_cq_blk != NULL ? ep->nic->tx_cq_blk
                                                                     : ep->nic->tx_cq;
}
static inline struct gnip_ep *gnip_ep_of(struct fid_ep *fid)
{
    return fid->fid.fclass == FI_CLASS_RX_CTX ? gnip_container(fid, struct gnip_ep, rx_fid)
                                              : gnip_container(fid, struct gnip_ep, fid);
}
int gnip_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                  void *context);
/* For SEP contexts too: name with this cdm_id; base NULL: an endpoint of its own. */
int gnip_ep_new(struct gnip_domain *domain, struct fi_info *info, struct gnip_sep *sep,
                uint32_t index, void *context, struct gnip_ep **ep);
int gnip_ep_bind(struct gnip_ep *ep, struct fid *object, uint64_t flags, uint64_t directions);
int gnip_ep_enable(struct gnip_ep *ep, uint64_t directions); /* FI_TRANSMIT | FI_RECV */
int gnip_ep_close(struct gnip_ep *ep);
/* Its cm_nic, name and NIC (unless an STX brings that). 0 or -errno; detach also after an error. */
int gnip_ep_attach(struct gnip_ep *ep);
void gnip_ep_detach(struct gnip_ep *ep); /* of the cm_nic */
int gnip_ep_cancel(struct gnip_ep *ep, void *context);
/* What is posted ends with an error, in order; ep->lock is held. */
void gnip_ep_flush_receives(struct gnip_ep *ep, int error);
extern const struct fi_ops_ep gnip_ep_ops_table;
extern const struct fi_ops_cm gnip_ep_cm_ops; /* name functions; MSG: msg_cm.c */
extern const struct fi_ops_cm gnip_msg_cm_ops;
extern const struct fi_ops_msg gnip_msg_ops; /* msg.c */
extern const struct fi_ops_tagged gnip_tagged_ops; /* msg.c */
extern const struct fi_ops_rma gnip_rma_ops; /* rma.c */
extern const struct fi_ops_atomic gnip_atomic_ops; /* amo.c */

/* What every call to transfer data begins with: 0, -FI_EOPBADSTATE, -FI_EOPNOTSUPP, -FI_ENOTCONN.
 * needs: FI_MSG|FI_SEND, FI_RMA|FI_READ ... */
int gnip_ep_may(const struct gnip_ep *ep, uint64_t needs);
/* Flags of an operation: those given, or the defaults; adds FI_COMPLETION where due. */
static inline uint64_t gnip_tx_flags(const struct gnip_ep *ep, uint64_t flags)
{
    return flags | (ep->tx_selective ? 0 : FI_COMPLETION);
}

/* ---- protocols ------------------------------------------------------------------------------- */

/* Arrived messages; ep->lock is held, the message is valid during the call. eager.c: */
void gnip_eager_arrived(struct gnip_vc *vc, const struct gnip_eager *message);
void gnip_eager_ack_arrived(struct gnip_vc *vc, const struct gnip_header *message);
/* rndzv.c: */
void gnip_start_arrived(struct gnip_vc *vc, const struct gnip_start *message);
void gnip_iov_start_arrived(struct gnip_vc *vc, const struct gnip_iov_start *message);
void gnip_fin_arrived(struct gnip_vc *vc, const struct gnip_fin *message);
/* onesided.c: */
void gnip_rma_data_arrived(struct gnip_vc *vc, const struct gnip_notice *message);
/* The one that waits (vc->event_waits). False: there is still no memory for its entry. */
bool gnip_rma_data_again(struct gnip_vc *vc);
void gnip_amo_cntr_arrived(struct gnip_vc *vc, const struct gnip_header *message);
/* Posts what FI_MORE held back, sends notices that had to wait, returns slots of the window that
 * remote events hold: what gnip_vc_progress begins with. ep->lock is held. Returns what was done.
 */
uint32_t gnip_onesided_progress(struct gnip_vc *vc);
/* Something of that waits: for a descriptor, credits or the window. */
static inline bool gnip_onesided_waits(const struct gnip_vc *vc)
{
    return vc->more != NULL || !gnip_queue_empty(&vc->notices);
}
/* And no event would bring the VC back for it. */
static inline bool gnip_onesided_stalled(const struct gnip_vc *vc)
{
    return vc->more != NULL || (!gnip_queue_empty(&vc->notices) && !vc->notices_called);
}
/* The VC fails (error: positive errno) or its EP closes (0: silently): ends chains and notices. */
void gnip_onesided_drop(struct gnip_vc *vc, int error);

/* What rma.c and amo.c share; ep->lock is held. */
/* The peer allows it: its caps have FI_RMA or FI_ATOMIC, and the direction if they have any. */
bool gnip_onesided_allowed(const struct gnip_vc *vc, uint64_t operation, uint64_t direction);
/* Hands an accepted request over. */
void gnip_onesided_submit(struct gnip_req *req);
/* Posts it. 0; -FI_EAGAIN, or -FI_EIO with error and prov_errno of the request set: then the
 * descriptor has been given back. */
int gnip_onesided_post(struct gnip_txd *txd,
                       gni_return_t (*post)(gni_ep_handle_t, gni_post_descriptor_t *));
/* It has been issued: its notice, if one is wanted, comes behind those of earlier operations. */
void gnip_onesided_issued(struct gnip_req *req);
/* The data is there: tells the peer if it wants that, then completes. */
void gnip_onesided_succeed(struct gnip_req *req);
void gnip_onesided_fail(struct gnip_req *req); /* with its error and prov_errno */
/* Whether this attempt is to fail, for a test: then it does not happen, and `failed` follows. */
bool gnip_onesided_inject(struct gnip_req *req, int (*failed)(struct gnip_req *req));
/* An issued operation is tried again, or ended, by the VC's progress. */
void gnip_onesided_defer(struct gnip_req *req, int (*what)(struct gnip_req *req));
void gnip_onesided_dropped(struct gnip_req *req, int error); /* gnip_req.dropped */
/* The remote handle that a key stands for, with key_offset when it is one of VMDH (mr.c). */
void gnip_key_handle(const struct gnip_vc *vc, uint64_t key, gni_mem_handle_t *handle);
/* The same; keys come again. */
static inline const gni_mem_handle_t *gnip_remote_handle(struct gnip_vc *vc, uint64_t key)
{
    if (key != vc->recent_key || key == 0) {
        gnip_key_handle(vc, key, &vc->recent_handle);
        vc->recent_key = key;
    }
    return &vc->recent_handle;
}
/* rma.c: */
int gnip_rma_flush(struct gnip_vc *vc); /* posts its chain. 0 or -FI_EAGAIN */
void gnip_rma_unchain(struct gnip_vc *vc); /* takes it off ep->chains, empty */

/* Of one-sided operations; for ops.c ("ep ops 1") and domain.c. */
ssize_t gnip_native_amo(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
                        void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
                        enum fi_datatype datatype, int req_type, void *context);
int gnip_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
                      struct fi_atomic_attr *attr, uint64_t flags);

/* Sends (msg.c → eager.c, rndzv.c). */
int gnip_eager_issue(struct gnip_req *req);
int gnip_rndzv_issue(struct gnip_req *req);
void gnip_eager_ack(struct gnip_vc *vc, uint32_t request); /* 0: only a grant */
void gnip_fin_send(struct gnip_vc *vc, uint32_t request, int32_t status);
/*
 * One message to say so, or an ACK (`kind`), now; `done` comes with `req` when it has left. 0,
 * -FI_EAGAIN (try again), or another errno: nobody is left to be told.
 */
int gnip_answer(struct gnip_vc *vc, uint8_t kind, uint32_t request, int32_t status,
                struct gnip_req *req, void (*done)(struct gnip_txd *txd, gni_return_t status));
/* A receive and a rendezvous message have met (its segments are copied): fetches it. */
void gnip_rndzv_receive(struct gnip_req *recv, struct gnip_vc *vc,
                        const struct gnip_unexpected *message);
/* A receive and an eager message have met. */
void gnip_eager_receive(struct gnip_req *recv, struct gnip_vc *vc, const void *payload,
                        uint64_t bytes, uint64_t tag, uint64_t data, uint16_t wire_flags,
                        uint32_t request);
/* The part of a multi-receive buffer for a message; NULL: no request or CQ entry free now. */
struct gnip_req *gnip_mrecv_child(struct gnip_req *parent, uint64_t bytes);
void gnip_mrecv_child_done(struct gnip_req *parent); /* releases the buffer with the last one */
/* Messages wait only because of that (ep->mrecv_stalled): tries again, true: none waits now. Called
 * by gnip_vc_progress; schedules the VC of the first one again. ep->lock is held. */
bool gnip_mrecv_retry(struct gnip_ep *ep);

/* What msg.c, eager.c, rndzv.c, mrecv.c and peek.c share. */
/* The receive that takes an arriving message; NULL: none, keep it. */
struct gnip_req *gnip_recv_match(struct gnip_vc *vc, bool tagged, uint64_t tag, uint64_t bytes);
/* Room for an unexpected message with `bytes` behind it; NULL: no memory. */
struct gnip_unexpected *gnip_unexpected_new(struct gnip_ep *ep, uint64_t bytes);
void gnip_unexpected_free(struct gnip_ep *ep, struct gnip_unexpected *message);
void gnip_unexpected_keep(struct gnip_vc *vc, struct gnip_unexpected *message);
/* Takes it out of the store and hands it to a receive (not a multi-receive). */
void gnip_unexpected_receive(struct gnip_req *recv, struct gnip_unexpected *message);
void gnip_unexpected_discard(struct gnip_ep *ep, struct gnip_unexpected *message);
void gnip_unexpected_lost(struct gnip_vc *vc); /* its connection has failed */
void gnip_unexpected_detach(struct gnip_vc *vc); /* the VC itself goes */
void gnip_unexpected_free_all(struct gnip_ep *ep);
/* Writes the completion of a receive of a message of `bytes`; an error when it was longer. */
void gnip_recv_done(struct gnip_req *recv, uint64_t bytes, uint16_t wire_flags);
/* Copies into the buffers of a receive; what does not fit is left. */
void gnip_recv_copy(struct gnip_req *recv, const void *data, uint64_t bytes);
void gnip_mrecv_fill(struct gnip_req *parent); /* with messages that came before */
/* A receive with these buffers; NULL: none left. ep->lock is held. */
struct gnip_req *gnip_recv_new(struct gnip_ep *ep, const struct iovec *iov, void **desc,
                               size_t count, void *context, uint64_t flags);
ssize_t gnip_peek(struct gnip_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags);
/* One round of progress before -FI_EAGAIN is returned; the calling thread may wait for room. */
ssize_t gnip_ep_again(struct gnip_ep *ep);

/* The descriptor that came with a buffer, or a registration of our own (rndzv_send.c). `written`:
 * the network writes it. 0, -FI_EAGAIN, -errno. */
int gnip_buffer_map(struct gnip_ep *ep, struct gnip_buffer *buffer, bool written);
/* Aligned words for heads and tails: 64 bytes of registered memory (bounce.c). NULL: none now. */
void *gnip_bounce_get(struct gnip_ep *ep, gni_mem_handle_t *handle);
void gnip_bounce_put(struct gnip_ep *ep, void *bounce);
void *gnip_gather_get(struct gnip_ep *ep); /* mbox_message bytes. NULL: none now */
void gnip_gather_put(struct gnip_ep *ep, void *gather);
void gnip_bounce_free_all(struct gnip_ep *ep); /* both kinds */

/* ---- memory (mr.c, mr_cache.c) --------------------------------------------------------------- */

struct gnip_mr_entry;

struct gnip_mr {
    struct fid_mr fid; /* of the application */
    struct gnip_domain *domain;
    struct gnip_nic *nic;
    struct gnip_auth *auth;
    gni_mem_handle_t handle;
    uint64_t address, bytes, access;
    struct gnip_mr_entry *entry; /* its registration, which others may share; NULL: VMDH */
    uint32_t uses; /* the application's, and operations'; ends with the last one */
    bool vmdh;
    struct gnip_link link; /* the cache's list of them */
};
int gnip_mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
                uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context);
extern const struct fi_ops_mr gnip_mr_ops;
/* Before an EP's memory is registered for the first time (fi_enable); no lock. 0 or -errno. */
int gnip_mr_prepare(struct gnip_ep *ep);
/* For an operation whose buffer came without a descriptor; ep->lock may be held. `written`: the
 * network writes it. 0 or -errno; -FI_EAGAIN: resources, try again. */
int gnip_mr_auto(struct gnip_ep *ep, const void *address, uint64_t bytes, bool written,
                 struct gnip_mr **mr);
void gnip_mr_release(struct gnip_mr *mr); /* of gnip_mr_auto; or one use of an application's */
void gnip_mr_use(struct gnip_mr *mr);
/* It covers this memory, and lets the network write there if that is wanted. */
bool gnip_mr_serves(const struct gnip_mr *mr, const void *buffer, uint64_t bytes, bool written);
uint64_t gnip_handle_key(const gni_mem_handle_t *handle, bool read_only);

/*
 * Registrations of a domain: shared by whoever asks for memory that one of them covers, kept when
 * nobody uses them any more (lazy deregistration).
 */
struct gnip_mr_counts {
    uint32_t in_use, stale; /* registrations now */
    uint64_t hits, misses, evicted, invalidated;
};
/* The registrations of these credentials, made if needed. nic: registers; NULL: found or made, then
 * no lock may be held. 0 or -errno. */
int gnip_mr_cache_open(struct gnip_domain *domain, struct gnip_auth *auth, struct gnip_nic *nic);
/* One use of a registration that covers the memory. 0, -FI_EAGAIN (resources), or another errno. */
int gnip_mr_cache_get(struct gnip_domain *domain, struct gnip_auth *auth, const void *address,
                      uint64_t bytes, bool written, struct gnip_mr **registered);
void gnip_mr_cache_use(struct gnip_mr_entry *entry);
void gnip_mr_cache_put(struct gnip_mr_entry *entry);
void gnip_mr_cache_expose(struct gnip_mr_entry *entry); /* a key of it is told to peers */
struct gnip_nic *gnip_mr_cache_nic(struct gnip_domain *domain, struct gnip_auth *auth);
void gnip_mr_cache_free(struct gnip_domain *domain);
int gnip_mr_cache_flush(struct gnip_domain *domain);
/* The NICs went and came again: registers all that is in use, under the keys that it had. 0;
 * -FI_EKEYREJECTED: some keys are others now; -errno. */
int gnip_mr_cache_again(struct gnip_domain *domain);
void gnip_mr_cache_add_region(struct gnip_mr *mr);
void gnip_mr_cache_remove_region(struct gnip_mr *mr);
int gnip_mr_reserve_again(struct gnip_mr *mr); /* VMDH; 0 or -errno */
void gnip_mr_cache_counts(struct gnip_domain *domain, struct gnip_mr_counts *counts);

/* ---- completion (cq.c, cntr.c, eq.c, wait.c, poll.c) ----------------------------------------- */

struct gnip_cq_slot;
struct gnip_cq_data;
#define GNIP_CQ_CODES 32u /* more than gnip_errno and the provider itself use */

struct gnip_cq {
    struct fid_cq fid;
    struct gnip_domain *domain;
    enum fi_cq_format format;
    enum fi_wait_obj wait_obj;
    struct gnip_refs refs;
    struct gnip_waitable wait;
    struct gnip_pset pset;
    uint32_t reserved, capacity; /* entries promised or unread, and how many may be */
    uint32_t reads; /* that found entries at once */
    struct gnip_lock lock; /* what follows */
    struct gnip_cq_slot *slots; /* ring */
    uint32_t room; /* of the ring: 0, or a power of two that is not below `reserved` */
    uint32_t head, tail;
    uint32_t errors, holes; /* of the slots from head to tail: error entries, and those read */
    uint32_t error_scan; /* no error entry lies before it */
    uint32_t counted_errors; /* nameless errors without a slot, and how many of each code */
    struct {
        int error; /* positive errno */
        uint32_t count;
    } counted[GNIP_CQ_CODES];
    struct gnip_cq_data *data_first, *data_last; /* error data of the error entries, in order */
    struct fid_wait *wait_set; /* FI_WAIT_SET */
    struct gnip_vc *starved; /* by starved_next: to be scheduled when entries have been read */
    uint8_t error_data[80]; /* of the last error entry read */
};
/* The VC has something for which there is no room: scheduled when there may be some. */
void gnip_cq_starve(struct gnip_cq *cq, struct gnip_vc *vc);
void gnip_cq_forget(struct gnip_cq *cq, struct gnip_vc *vc);
int gnip_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
                 void *context);
/* Reserves one entry, until it is read or given back. False: the CQ is full. */
bool gnip_cq_reserve(struct gnip_cq *cq);
/* For an error entry, and remote CQ data: beyond its capacity, too. False: no memory. */
bool gnip_cq_reserve_always(struct gnip_cq *cq);
void gnip_cq_unreserve(struct gnip_cq *cq);
/* Writes an entry that was reserved. */
void gnip_cq_add(struct gnip_cq *cq, const struct fi_cq_tagged_entry *entry, fi_addr_t source);
/* An error entry: takes the reservation of its operation; data: of err_data, or NULL. */
void gnip_cq_add_error(struct gnip_cq *cq, const struct fi_cq_err_entry *entry, const void *data,
                       size_t data_bytes);
/* The same without an entry: a read returns -error, once. For operations that nothing names; needs
 * neither a reservation nor memory. */
void gnip_cq_add_nameless(struct gnip_cq *cq, int error);
uint32_t gnip_cq_pending(struct gnip_cq *cq); /* entries and errors to be read */

struct gnip_cntr {
    struct fid_cntr fid;
    struct gnip_domain *domain;
    struct gnip_refs refs;
    struct gnip_waitable wait;
    struct gnip_pset pset;
    struct gnip_lock lock; /* what follows */
    uint64_t value, errors, flags;
    uint64_t value_seen, errors_seen; /* by the last reader */
    enum fi_wait_obj wait_obj;
    struct fid_wait *wait_set; /* FI_WAIT_SET */
    struct gnip_queue triggers; /* gnip_req.link by threshold (trigger.c) */
};
int gnip_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
                   void *context);
/* cntr may be NULL; any lock may be held. Fires triggers. */
void gnip_cntr_add(struct gnip_cntr *cntr, uint64_t count);
void gnip_cntr_add_error(struct gnip_cntr *cntr, uint64_t count);
/*
 * trigger.c. An operation with FI_TRIGGER waits at its counter; when that reaches the threshold it
 * goes to ep->fired and its VC is scheduled, whose progress submits what has fired.
 */
/* 0, or -FI_EINVAL: not a threshold, a counter of another domain, FI_INJECT. */
int gnip_trigger_check(const struct gnip_ep *ep, void *context, uint64_t flags);
void gnip_trigger_park(struct gnip_req *req); /* req->vc is set; ep->lock is held */
/* cntr has changed: who has waited for that. Any lock but the counter's may be held. `progress`:
 * none is held, and what was submitted shall be under way when this returns. */
void gnip_trigger_fire(struct gnip_cntr *cntr, bool progress);
void gnip_trigger_fired(struct gnip_ep *ep); /* submits; by gnip_vc_progress, ep->lock is held */
void gnip_trigger_drop(struct gnip_ep *ep); /* the EP closes */

struct gnip_eq_event;

struct gnip_eq {
    struct fid_eq fid;
    struct gnip_fabric *fabric;
    struct gnip_refs refs;
    enum fi_wait_obj wait_obj;
    bool writable;
    struct gnip_waitable wait;
    struct gnip_pset pset; /* of PEPs and MSG endpoints */
    struct fid_wait *wait_set; /* FI_WAIT_SET */
    struct gnip_lock lock; /* what follows */
    struct gnip_link events, errors; /* gnip_eq_event.link */
    uint32_t event_count;
    struct gnip_eq_event *last_error; /* whose data the application may still look at */
};
int gnip_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
                 void *context);
/* 0 or -FI_EAGAIN (1024 unread), -FI_ENOMEM. Connection events go beyond that limit. */
int gnip_eq_add(struct gnip_eq *eq, uint32_t event, const void *buffer, size_t bytes);
int gnip_eq_add_error(struct gnip_eq *eq, const struct fi_eq_err_entry *entry, const void *data,
                      size_t data_bytes);
/* The object is being closed: what it has to say is not read any more. */
void gnip_eq_forget(struct gnip_eq *eq, struct fid *object);
uint32_t gnip_eq_progress(struct gnip_eq *eq); /* returns the number of queues looked at */
bool gnip_eq_pending(struct gnip_eq *eq); /* events or errors to be read */

/* What a CQ, counter or EQ may wait with: 0, -FI_EINVAL, -FI_ENOSYS. */
int gnip_wait_check(enum fi_wait_obj type, struct fid_wait *set, struct gnip_fabric *fabric);
int gnip_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **wait);
int gnip_trywait(struct fid_fabric *fabric, struct fid **fids, int count);
/*
 * The waitable of an object that is being opened, and its place in a wait set (*joined; NULL:
 * none): the last thing, for the set looks at it at once. 0 or -errno. And the first thing of
 * closing it.
 */
int gnip_waitable_open(struct gnip_waitable *waitable, enum fi_wait_obj type, struct fid_wait *set,
                       struct fid *object, struct fid_wait **joined);
void gnip_waitable_close(struct gnip_waitable *waitable, struct fid_wait *joined,
                         struct fid *object);
void gnip_wait_leave(struct fid_wait *set, struct fid *object); /* what the latter does first */
int gnip_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **poll);

/* ---- address vectors (av.c) ------------------------------------------------------------------ */

struct gnip_av {
    struct fid_av fid;
    struct gnip_domain *domain;
    struct gnip_refs refs;
    enum fi_av_type type;
    uint32_t addr_format;
    uint8_t rx_ctx_bits;
    uint32_t version; /* changes with each insertion and removal */
    struct gnip_lock lock;
    struct gnip_av_entry *entries; /* by index; type 0: removed */
    uint32_t count, room;
    uint32_t free_first; /* removed ones that may be used again: place + 1; 0: none */
    bool duplicates; /* one address was inserted more than once */
    struct gnip_av_hash *by_address;
};
int gnip_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
                 void *context);
/*
 * The name of an address for sending: with the index of a receive context taken into account, so
 * that cdm_id is that of the context. 0 or -FI_EINVAL.
 */
int gnip_av_find(struct gnip_av *av, fi_addr_t address, struct gnip_name *name);
/* The other way round; FI_ADDR_NOTAVAIL. */
fi_addr_t gnip_av_reverse(struct gnip_av *av, const struct gnip_name *peer);

/* ---- scalable endpoints (sep.c), shared transmit contexts (stx.c), passive endpoints (pep.c) --
 */

struct gnip_sep {
    struct fid_ep fid;
    struct gnip_domain *domain;
    struct gnip_auth *auth;
    struct gnip_refs refs;
    struct fi_info *info;
    struct gnip_cm_nic *cm_nic;
    struct gnip_name name;
    struct gnip_av *av;
    uint32_t cdm_base, tx_count, rx_count, count; /* the greater of both */
    struct port_mutex lock; /* what follows */
    struct gnip_sep_context {
        struct gnip_ep *ep; /* of both directions */
        const struct fi_ops *ep_ops; /* its own; those of the contexts' fids are the SEP's */
        bool tx_open, rx_open;
        bool tx_done, rx_done; /* enabled with the SEP: to be enabled by itself is no error */
    } * contexts;
};
int gnip_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
                     void *context);

struct gnip_stx {
    struct fid_stx fid;
    struct gnip_domain *domain;
    struct gnip_auth *auth;
    struct gnip_nic *nic;
    struct gnip_refs refs;
};
int gnip_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
                  void *context);

struct gnip_pep {
    struct fid_pep fid;
    struct gnip_fabric *fabric;
    struct gnip_ctx *ctx;
    struct fi_info *info; /* a copy */
    struct gnip_eq *eq;
    struct gnip_cm_nic *cm_nic; /* NULL: does not listen */
    struct gnip_name name;
    struct port_mutex lock; /* name, eq, cm_nic */
    struct gnip_msg_listener *listener; /* requests of peers (msg_listen.c) */
};
int gnip_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
                  void *context);

/*
 * Connections of MSG endpoints (msg_cm.c, msg_listen.c, msg_wire.c). Their messages are repeated by
 * an item of the cm_nic's work queue.
 */
/* Of a new EP: takes the request that info->handle stands for. 0 or -FI_EINVAL, -FI_ENOMEM. */
int gnip_msg_ep_open(struct gnip_ep *ep, const struct fi_info *info);
/* First thing of closing an EP; no lock is held. The peer is told, also after the EP is gone. */
void gnip_msg_ep_close(struct gnip_ep *ep);
/* Its VC has failed or was closed by the peer, what was queued has ended: FI_SHUTDOWN. ep->lock is
 * held. */
void gnip_msg_lost(struct gnip_ep *ep);
/* The cm_nic closes, its EPs have gone: waits a short time for acknowledgements. No lock is held,
 * messages still arrive. */
void gnip_msg_cm_close(struct gnip_cm_nic *cm_nic);
void gnip_msg_cm_free(struct gnip_cm_nic *cm_nic); /* when nothing arrives any more */

/* ---- functions that are not offered (nosys.c) -------------------------------------------------
 */

int gnip_no_bind(struct fid *fid, struct fid *object, uint64_t flags);
int gnip_no_control(struct fid *fid, int command, void *argument);
int gnip_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
int gnip_no_getopt(fid_t fid, int level, int option, void *value, size_t *bytes);
int gnip_no_setopt(fid_t fid, int level, int option, const void *value, size_t bytes);
int gnip_no_tx_ctx(struct fid_ep *ep, int index, struct fi_tx_attr *attr, struct fid_ep **tx_ep,
                   void *context);
int gnip_no_rx_ctx(struct fid_ep *ep, int index, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
                   void *context);
ssize_t gnip_no_size_left(struct fid_ep *ep);
int gnip_no_peer(struct fid_ep *ep, void *address, size_t *bytes); /* -FI_ENOTCONN */
int gnip_no_connect(struct fid_ep *ep, const void *address, const void *data, size_t bytes);
int gnip_no_listen(struct fid_pep *pep);
int gnip_no_accept(struct fid_ep *ep, const void *data, size_t bytes);
int gnip_no_reject(struct fid_pep *pep, fid_t handle, const void *data, size_t bytes);
int gnip_no_shutdown(struct fid_ep *ep, uint64_t flags);
int gnip_no_join(struct fid_ep *ep, const void *address, uint64_t flags, struct fid_mc **mc,
                 void *context);
extern const struct fi_ops_msg gnip_no_msg_ops;
extern const struct fi_ops_tagged gnip_no_tagged_ops;
extern const struct fi_ops_rma gnip_no_rma_ops;
extern const struct fi_ops_atomic gnip_no_atomic_ops;

#endif
