/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the files of sim/aries share and no other folder sees.
 *
 * Two halves meet here. The front (cdm.c ep.c cq.c mem.c post.c smsg.c datagram.c) knows the API:
 * handles, checks, error codes, CQ rings, credits. The NIC behind it (nic.c and the files next to
 * it) moves bytes and takes time. The front reaches the NIC only through struct aries_nic_ops, so
 * that a live back end can stand in the same place.
 */
#ifndef JACQUARD_ARIES_INTERNAL_H
#define JACQUARD_ARIES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "aries/aries.h"
#include "engine/fault.h"
#include "engine/ledger.h"
#include "engine/random.h"
#include "engine/sim.h"
#include "engine/trace.h"
#include "gni_pub.h"
#include "net/net.h"

/* ---- handles --------------------------------------------------------------------------------- */

/* First word of every object behind a handle; cleared when the object dies, so stale handles are
 * noticed. */
enum aries_magic {
    ARIES_MAGIC_CDM = 0x43444d31,
    ARIES_MAGIC_NIC = 0x4e494331,
    ARIES_MAGIC_EP = 0x45502d31,
    ARIES_MAGIC_CQ = 0x43512d31,
};
#define aries_handle_ok(handle, kind) ((handle) != NULL && (handle)->magic == (kind))

/* ---- parameters (params.c) ------------------------------------------------------------------- */

/* The table of params.c read into fields; times in ps, rates in bytes per ns. Names follow
 * aries.md's keys. */
struct aries_timing {
    sim_time_t cpu_fma, cpu_rdma, cpu_smsg, cpu_cqget, cpu_getcomp, cpu_getnext, cpu_release,
        cpu_fma_shared;
    sim_time_t pcie_write, pcie_read, poll, irq_wake;
    sim_time_t tx, rx, rspgen, rsprx, cqe, bte_desc, fma_gap, amo_hit;
    sim_time_t nic_packet; /* 64 B through the transmit or receive pipeline: 5 cclk */
    sim_time_t nic_flit; /* 1 cclk */
    double bte_rate; /* B/ns */
    double fma_get_rate; /* B/ns */
    double store_rate_short, store_rate_long, store_scale; /* F(n) */
    double duplex_rate; /* B/ns, both directions of a node together */
    sim_time_t cold_attach, cold_cq_create, cold_mem_register, cold_mem_page, cold_mem_deregister,
        cold_mem_deregister_page, cold_ep_create, cold_ep_bind, cold_datagram, cold_datagram_remote,
        cold_datagram_test;
    sim_time_t orb_timeout, npt_timeout;
    uint32_t orb_entries, orb_bte_get, fma_descs, bte_channels, mdds, cqs, ssids, amo_cache,
        chunk_packets, npt_tags, response_class;
    bool cq_exact; /* usable CQ entries = entry_count instead of whole pages */
    bool kill; /* error policy may kill processes */
};

/* F(n): CPU time of storing n bytes into the FMA window, beyond the 8 bytes that cpu_fma contains.
 */
static inline sim_time_t aries_store_time(const struct aries_timing *timing, uint64_t bytes)
{
    double ns;

    if (bytes <= 8)
        return 0;
    ns = (double)(bytes < 1024 ? bytes : 1024) / timing->store_rate_short;
    if (bytes > 1024)
        ns += (double)(bytes - 1024) / timing->store_rate_long;
    return (sim_time_t)(ns * timing->store_scale * 1e3);
}

/* ---- objects --------------------------------------------------------------------------------- */

struct aries_nic;
struct aries_txn;

struct aries_list { /* circular, intrusive */
    struct aries_list *previous, *next;
};
static inline void aries_list_init(struct aries_list *head)
{
    head->previous = head->next = head;
}
static inline bool aries_list_empty(const struct aries_list *head)
{
    return head->next == head;
}
static inline void aries_list_add(struct aries_list *head, struct aries_list *node) /* at the end */
{
    node->previous = head->previous;
    node->next = head;
    head->previous->next = node;
    head->previous = node;
}
static inline void aries_list_remove(struct aries_list *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
    node->previous = node->next = node;
}

struct aries_process {
    struct aries_fabric *fabric;
    struct aries_nic *nic; /* of its node */
    uint64_t job_id;
    uint32_t pid;
    bool privileged, dead;
    char *name;
    void (*killed)(void *arg, const char *why);
    void *killed_arg;
    struct sim_fiber *fibers[8]; /* bound to it; woken by aries_process_notify */
    uint32_t fibers_count;
    struct aries_list cdms;
    struct aries_list node_link; /* nic->processes */
    struct aries_ep_slab *ep_slab; /* EP addresses of a process differ in their low 24 bits */
    uint32_t trace_index; /* which rank on the node, for TRACE_RANK tracks */
};

struct gni_cdm {
    uint32_t magic;
    uint32_t inst_id, cookie, modes;
    uint8_t ptag; /* as given: may be GNI_FIND_ALLOC_PTAG until attached */
    struct aries_process *process;
    struct aries_list process_link;
    struct gni_nic *nic; /* one NIC per node: at most one attachment */
};

/* A CDM attached to a NIC: what gni_nic_handle_t points to. */
struct gni_nic {
    uint32_t magic;
    uint8_t ptag; /* resolved */
    bool fma_shared, dual_events;
    uint16_t smsg_max_retrans, smsg_dlvr_mode;
    struct gni_cdm *cdm;
    struct aries_nic *hw;
    struct aries_process *process;
    struct aries_list eps, cqs, mrs; /* all that CdmDestroy releases */
    struct aries_list nic_link; /* hw->attached, found by (ptag, cookie, inst_id) */
    struct aries_datagrams *datagrams; /* datagram.c; created at first use */
    struct aries_list smsg_returns; /* EPs that owe their peer a credit return (smsg.c) */
    uint32_t statistics[21]; /* GNI_STAT_* in the Aries numbering */
    sim_time_t
        fma_get_free; /* simulated back end: when its FMA descriptor can launch the next GET */
    uint64_t work_id; /* next id of anything numbered per attachment */
    uint32_t refs; /* the attachment itself, plus one for each silent transaction in flight */
};

struct gni_ep {
    uint32_t magic;
    uint32_t remote_addr, remote_id; /* all-ones: unbound */
    uint32_t local_event, remote_event;
    struct gni_nic *nic;
    struct aries_smsg *smsg; /* NULL until GNI_SmsgInit */
    struct gni_cq *cq; /* source CQ; may be NULL */
    struct aries_nic *remote; /* NULL: unbound, or no such node */
    uint32_t outstanding; /* evented posts and SMSG sends not yet retired */
    struct aries_list requests; /* its requests in flight */
    struct aries_list nic_link;
    void *datagram; /* pending mark and out_buf; datagram.c */
};

/*
 * A request object: one outstanding evented post, or SMSG send. Lives in the CQ's table
 * (cq->requests) until the last expected event is collected. The TID of its events is its index + 1
 * below and a generation above, so that an event that is used once too often is noticed.
 */
struct aries_request {
    struct aries_list ep_link; /* ep->requests; self-linked when the EP is gone */
    struct gni_ep *ep; /* NULL when the EP was destroyed */
    struct gni_cq *cq; /* whose table this is in: for completions, whose context is the request */
    gni_post_descriptor_t *descr; /* NULL for SMSG */
    uint64_t post_id; /* SMSG: the msg_id that its event shows */
    uint32_t tid;
    uint32_t inst_id; /* local_event at the time of the post */
    uint32_t next_free;
    uint16_t expected; /* GNI_CQMODE_LOCAL/GLOBAL events still to be collected */
    uint8_t pushed; /* events in the queue, or lost by it, and not collected */
    bool busy;
    bool in_flight; /* its `done` is still to come */
    bool local_pushed; /* its LOCAL event was */
    uint8_t unit; /* enum aries_unit: names the source in its events */
};

struct gni_cq {
    uint32_t magic;
    uint32_t refs; /* the handle, plus one for each transaction and EP that names it; see
                      aries_cq_unref */
    struct gni_nic *nic; /* NULL when the handle died */
    struct aries_fabric *fabric;
    uint64_t *ring;
    uint32_t capacity, mask_count;
    uint32_t head, count; /* ring positions head … head+count-1 (mod ring_size) hold entries */
    uint32_t ring_size; /* power of two, grown by need until it holds `capacity` entries */
    uint32_t entry_count, modes;
    bool overrun; /* an event was lost; the newest entry carries the flag */
    bool has_mr; /* named by a registration: destination CQ */
    bool has_source; /* bound to an EP or named by a post: source CQ */
    uint32_t ep_count; /* EPs created with it */
    void (*handler)(gni_cq_entry_t *, void *);
    void *context;
    struct aries_request **requests; /* table in chunks that never move, grown by need */
    uint32_t requests_count, requests_max, requests_free, requests_busy;
    struct aries_list nic_link;
    uint32_t index; /* number on its node, for traces and reports */
};

/* A memory registration. Found at the target by (NIC, ptag, MDH). */
struct aries_mr {
    uint32_t refs; /* 1 while registered, plus 1 for each write in flight into it */
    bool live; /* registered, and for reserved regions updated at least once */
    bool read_only, vmdh, segmented, reserved;
    uint8_t ptag;
    uint16_t mdh;
    uint64_t base,
        length; /* page-rounded; base is 0 for VMDH and segments (addresses are offsets) */
    uint64_t address; /* page-rounded: where `base` lies in the memory of the process */
    uint64_t asked, bytes; /* address and length as asked for */
    uint64_t *pages; /* reserved regions: bitmap of pages made accessible; NULL: all */
    gni_mem_segment_t *segments; /* page-rounded pieces; NULL: one piece */
    uint32_t segments_count;
    struct gni_cq *cq; /* destination CQ or NULL (referenced) */
    struct gni_nic *nic; /* attachment that registered it; NULL when deregistered */
    struct aries_process *process;
    struct aries_fabric *fabric;
    gni_mem_handle_t handle;
    struct aries_list nic_link; /* nic->mrs, in order of registration */
};

/* ---- the NIC behind the front ---------------------------------------------------------------- */

enum aries_op { ARIES_PUT, ARIES_GET, ARIES_AMO, ARIES_CQWRITE };
enum aries_unit { ARIES_UNIT_FMA, ARIES_UNIT_BTE };

/*
 * One transaction as the front hands it to the NIC: by value, copied. The front has checked the
 * call; the NIC checks what hardware checks (translation, bounds, protection, at both ends) and
 * reports by `done`.
 */
struct aries_work {
    enum aries_op op;
    enum aries_unit unit;
    enum net_route route;
    bool ordered_tail, fence;
    struct aries_nic *target; /* NULL: no such PE → PE_BOUNDS_ERR */
    uint8_t ptag;
    uint64_t local_addr, remote_addr, length;
    const void
        *header; /* PUT by FMA (SMSG): header bytes that go before local_addr's; NULL: none */
    uint32_t header_length;
    gni_mem_handle_t local_handle, remote_handle;
    bool local_is_va; /* FMA PUT, SMSG: source is read by the CPU now, no local handle */
    uint32_t amo_cmd;
    uint64_t operand[2];
    bool sync_flag, flag_response; /* PUT_W_SYNCFLAG / GET_W_FLAG, AMO_W_FLAG */
    uint64_t sync_flag_addr, sync_flag_value;
    uint64_t cqwrite_value;
    bool remote_wanted; /* REMOTE_EVENT: event with datum remote_event at the target region's CQ */
    bool remote_optional; /* SMSG: a region without a CQ is no error */
    uint32_t remote_event;
    bool local_wanted; /* call `local_done` when the source buffer may be reused (BTE) */
    struct ledger_book *book;
    sim_time_t cpu; /* CPU time of the call, charged by the NIC before the doorbell */
    /*
     * Called once when the transaction has ended, at the time at which a source CQ entry becomes
     * visible. status: 0 or an A_STATUS code, info: CPLTN_SREQ.. as in cq_entry.h. `context` is the
     * front's. May be NULL (silent).
     */
    void (*done)(void *context, uint8_t status, uint8_t info, bool remote_overrun);
    void (*local_done)(void *context);
    void *context;
    /*
     * What `done` and the receiver's next call will look at, or NULL: fetched into the cache when
     * the request arrives. Only hints: never dereferenced, they may point to what is gone.
     */
    const void *warm[3];
};

/* What a NIC back end offers; sim_nic.c is the simulated one. */
struct aries_nic_ops {
    /* Never fails for lack of resources: the hardware stalls. Charges work->cpu to the caller. */
    void (*submit)(struct gni_nic *nic, const struct aries_work *work);
    /* As many of `count` works, one completion for all: chained transactions. */
    void (*submit_chain)(struct gni_nic *nic, const struct aries_work *works, uint32_t count);
};

struct aries_nic { /* the hardware of one node */
    struct aries_fabric *fabric;
    const struct aries_nic_ops *ops;
    uint32_t node, pe_addr;
    bool alive;
    struct aries_list attached; /* struct gni_nic */
    struct aries_list processes;
    struct aries_mdd_table *mdds; /* by MDH: mem.c; NULL until first used */
    struct aries_mdd_table *vmdhs; /* list of the MDD blocks, one per ptag: mem.c */
    uint32_t mdd_used, fma_used, cq_used, cq_index;
    struct aries_kernel *kernel; /* datagram messages on their way; datagram_kernel.c */
    struct aries_sim_nic *sim; /* state of the simulated back end: nic_*.c only */
};

struct aries_job {
    uint64_t job_id; /* 0: any process may use it */
    uint32_t cookie;
    uint32_t node; /* where it is known; UINT32_MAX: everywhere */
    uint8_t ptag; /* GNI_FIND_ALLOC_PTAG until somebody needs it */
};

struct aries_fabric {
    struct net *net;
    struct aries_timing timing;
    uint32_t nodes;
    struct aries_nic *nics;
    struct aries_job *jobs;
    uint32_t jobs_count;
    uint64_t seed;
    struct ledger_book book_put, book_get, book_amo, book_cqwrite, book_smsg, book_event,
        book_datagram;
    struct sim_fault_point fault_packet, fault_cq, fault_datagram;
    struct aries_counters counters;
    struct aries_objects *objects; /* memory of handles and registrations: objects.c */
    struct aries_fabric *retired; /* destroyed before this one and not yet freed: process.c */
    struct _GHashTable
        *mailboxes; /* connections by the address of their ring; looked up, never walked */
    struct aries_sim_fabric *sim; /* simulated back end: nic_*.c only */
};

/* ---- provided by process.c (front) ----------------------------------------------------------- */

struct aries_nic *aries_nic_by_pe(struct aries_fabric *fabric, uint32_t pe_addr); /* NULL: none */
/* Something became visible to the process: its polling and waiting fibers look again. */
void aries_process_notify(struct aries_process *process);
/* Memory of the process was written, which it may watch without any call. */
void aries_process_written(struct aries_process *process);
/* Marks the process dead and tells its host, once. For the error policy and for crashed nodes. */
void aries_process_kill(struct aries_process *process, const char *why);
/* The error policy of ugni 6.2.2 for a failed transaction; `silent`: it had no CQ to be reported
 * to. */
void aries_transaction_failed(struct gni_nic *nic, uint8_t status, bool silent);

static inline const struct aries_timing *aries_timing_of(const struct gni_nic *nic)
{
    return &nic->hw->fabric->timing;
}

/* ---- provided by cq.c ------------------------------------------------------------------------ */

/*
 * Stores an entry that becomes visible now, wakes the process. When full: the event is lost, the
 * newest entry is marked OVERRUN (once per episode) and false is returned; dead or UNMANAGED queues
 * swallow it and return true. Also asks the fault point "aries.cq" and books in book_event.
 */
bool aries_cq_push(struct gni_cq *cq, gni_cq_entry_t entry);
/* The next read of the queue reports an overrun, as if an event had been lost just now. */
void aries_cq_overrun(struct gni_cq *cq);
void aries_cq_ref(struct gni_cq *cq);
void aries_cq_unref(struct gni_cq *cq); /* frees the object when the last reference goes */

/* Request objects of a source CQ. NULL when all are busy. */
struct aries_request *aries_request_new(struct gni_cq *cq, struct gni_ep *ep,
                                        gni_post_descriptor_t *descr, uint16_t expected);
void aries_request_retire(struct gni_cq *cq,
                          struct aries_request *request); /* frees it, ep->outstanding-- */

/* ---- provided by mem.c ----------------------------------------------------------------------- */

enum aries_access { ARIES_READ, ARIES_WRITE };

/* The registration that a handle names on `hw` for `ptag`, or NULL. */
struct aries_mr *aries_mr_find(struct aries_nic *hw, uint8_t ptag, gni_mem_handle_t handle);
/*
 * The hardware's checks in the order of aries.md B.2: handle → MDD enabled → write permission →
 * bounds → ptag → page. Returns 0 or the A_STATUS code; on success *mr is set. addr is as the
 * poster gave it (VA or offset).
 */
uint8_t aries_mr_check(struct aries_nic *hw, uint8_t ptag, gni_mem_handle_t handle, uint64_t addr,
                       uint64_t length, enum aries_access access, struct aries_mr **mr);
/*
 * Copies between a buffer and registered memory at `addr`; walks segments; survives unmapped pages
 * (false then, to be reported as AT_PF_INV; what could be copied was). The caller has done
 * aries_mr_check.
 */
bool aries_mr_write(struct aries_mr *mr, uint64_t addr, const void *from, uint64_t length);
bool aries_mr_read(struct aries_mr *mr, uint64_t addr, void *to, uint64_t length);
/* Plain memory of the caller's process, same protection against unmapped pages. */
bool aries_copy(void *to, const void *from, uint64_t length);
/* The host address of offset/VA `addr` in mr when [addr, addr+length) is one piece; NULL otherwise.
 */
void *aries_mr_pointer(struct aries_mr *mr, uint64_t addr, uint64_t length);
void aries_mr_ref(struct aries_mr *mr);
void aries_mr_unref(struct aries_mr *mr);

/* ---- provided by smsg.c and datagram.c --------------------------------------------------------
 */

void aries_smsg_progress(
    struct gni_nic *nic); /* returns owed credits; called by CqGetEvent and GetNext */
void aries_smsg_ep_release(struct gni_ep *ep); /* EpUnbind, EpDestroy */
/*
 * The completion of an SMSG send was popped from the source CQ: true when the entry must not be
 * shown (resent, or replaced by a later entry). In the ring such an entry has TYPE SMSG and the
 * request's TID where a post has it (45:24). On false cq.c shows it with MSG_ID = the low 32 bits
 * of request->post_id instead of the TID, and retires the request.
 */
bool aries_smsg_completed(struct gni_cq *cq, struct aries_request *request, gni_cq_entry_t entry);
void aries_datagrams_ep_release(struct gni_ep *ep); /* EpDestroy */
bool aries_datagram_pending(const struct gni_ep *ep); /* EpUnbind, EpIdle */
void aries_datagrams_free(struct gni_nic *nic); /* CdmDestroy */
/* A node died: offers that it held end with GNI_POST_TIMEOUT. Called by aries_node_crash. */
void aries_datagrams_node_down(struct aries_fabric *fabric, uint32_t node);
void aries_datagrams_fini(
    struct aries_fabric *fabric); /* aries_fabric_destroy, before the NICs go */

/* ---- provided by sim_nic.c ------------------------------------------------------------------- */

extern const struct aries_nic_ops aries_sim_nic_ops;
void aries_sim_fabric_init(struct aries_fabric *fabric);
void aries_sim_fabric_fini(struct aries_fabric *fabric);
/*
 * Carries a datagram engine message of `bytes` (a small control packet of the kernel) to another
 * node; `deliver` is called there after the modelled time, never when the node is dead. Reliable:
 * retried by the kernel on loss.
 */
void aries_sim_kernel_send(struct aries_nic *from, struct aries_nic *to, uint32_t bytes,
                           void (*deliver)(void *arg), void *arg);

#endif
