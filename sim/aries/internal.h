/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the files of sim/aries share and no other folder sees.
 *
 * Two halves meet here. api/ knows the API: handles, checks, error codes, CQ rings, credits. The
 * NIC behind it (nic/, with sim/ or live/ as its time base) moves bytes and takes time. api/
 * reaches the NIC only through struct aries_nic_ops and the functions at the end of this file, so
 * that the live NIC can stand in the same place.
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
    ARIES_MAGIC_MSGQ = 0x4d534731,
    ARIES_MAGIC_CHANNEL = 0x43434831,
    ARIES_MAGIC_ERRORS = 0x45525231,
    ARIES_MAGIC_CE = 0x43452d31,
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
        cold_datagram_test, cold_ce;
    sim_time_t ce_combine, ce_gap, cpu_ce_check;
    sim_time_t orb_timeout, npt_timeout;
    uint32_t orb_entries, orb_bte_get, fma_descs, bte_channels, mdds, cqs, ssids, amo_cache,
        chunk_packets, chunk_packets_fixed, npt_tags, response_class, vces;
    bool cq_exact; /* usable CQ entries = entry_count instead of whole pages */
    bool kill; /* error policy may kill processes */
    bool burst_apart; /* the first bytes that the CPU stores, which are faster, are a chunk */
    bool huge_pages; /* nodes have hugetlbfs mounted: GNI_MsgqInit */
};

#define STORE_BURST_BYTES 1024 /* so many are stored at the short rate */

/* F(n): CPU time of storing n bytes into the FMA window, beyond the 8 bytes that cpu_fma contains.
 */
static inline sim_time_t aries_store_time(const struct aries_timing *timing, uint64_t bytes)
{
    double ns;

    if (bytes <= 8)
        return 0;
    ns = (double)(bytes < STORE_BURST_BYTES ? bytes : STORE_BURST_BYTES) / timing->store_rate_short;
    if (bytes > STORE_BURST_BYTES)
        ns += (double)(bytes - STORE_BURST_BYTES) / timing->store_rate_long;
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

/* What a process has by itself is released in this order when it exits. */
enum aries_exit_stage {
    ARIES_EXIT_DOMAINS, /* communication domains, with all that they have of a NIC */
    ARIES_EXIT_REPORTS, /* subscriptions to error events of a device */
    ARIES_EXIT_STAGES
};

/* What every event wakes lies in the first line. */
struct aries_process {
    struct sim_fiber **fibers; /* its threads; woken by aries_process_notify */
    struct sim_fiber *first; /* of them; NULL: none */
    struct gni_msgq *msgqs; /* its handles: msgq.c */
    struct aries_fabric *fabric;
    struct aries_nic *nic; /* of its node */
    uint32_t fibers_count;
    uint32_t trace_index; /* which rank on the node, for TRACE_RANK tracks */
    uint32_t interrupted_count;
    uint32_t ce_id; /* for sim_poll: of ce_result */
    bool privileged, dead;
    uint32_t pid;
    uint64_t job_id;
    char *name;
    void (*killed)(void *arg, const char *why);
    void *killed_arg;
    struct sim_fiber **interrupted; /* of these: a signal is to end what they wait for */
    uint64_t ce_result; /* where the last reduction that it joined puts its result */
    struct aries_list errors; /* its subscriptions to error events */
    struct aries_list cdms;
    void (*on_exit[ARIES_EXIT_STAGES])(struct aries_process *process); /* as on_detach of a NIC */
    struct aries_list node_link; /* nic->processes */
    struct aries_ep_slab *ep_slab; /* EP addresses of a process differ in their low 24 bits */
} __attribute__((aligned(SIM_LINE)));

struct gni_cdm {
    uint32_t magic;
    uint32_t inst_id, cookie, modes;
    uint8_t ptag; /* as given: may be GNI_FIND_ALLOC_PTAG until attached */
    struct aries_process *process;
    struct aries_list process_link;
    struct gni_nic *nic; /* one NIC per node: at most one attachment */
};

/*
 * The order in which the objects of an attachment are released: each kind before those that it
 * uses. The file of a kind registers its release with aries_nic_on_detach() when an attachment gets
 * its first object of that kind.
 */
enum aries_detach_stage {
    ARIES_DETACH_CONNECTIONS, /* endpoints */
    ARIES_DETACH_SESSIONS, /* datagrams that are offered or wanted */
    ARIES_DETACH_SHARED, /* the place in a queue that processes share */
    ARIES_DETACH_ENGINES, /* channels of the collective engine */
    ARIES_DETACH_MEMORY, /* registrations */
    ARIES_DETACH_EVENTS, /* completion queues */
    ARIES_DETACH_CHANNELS, /* completion channels */
    ARIES_DETACH_REPORTS, /* subscriptions to error events */
    ARIES_DETACH_STAGES
};

/* A CDM attached to a NIC: what gni_nic_handle_t points to. */
struct gni_nic {
    uint32_t magic;
    uint8_t ptag; /* resolved */
    bool fma_shared, dual_events;
    bool claimed; /* live back end: others know of the instance */
    uint8_t smsg_route; /* enum net_route */
    struct aries_nic *hw;
    struct aries_process *process;
    struct gni_cdm *cdm;
    uint32_t inst_id; /* of the CDM */
    uint16_t smsg_max_retrans, smsg_dlvr_mode;
    struct aries_list smsg_returns; /* EPs that owe their peer a credit return (smsg.c) */
    const struct aries_job_state
        *ntt; /* not NULL: addresses are indices of its translation group */

    sim_time_t
        fma_get_free; /* simulated back end: when its FMA descriptor can launch the next GET */
    uint64_t work_id; /* next id of anything numbered per attachment */
    uint32_t refs; /* the attachment itself, plus one for each silent transaction in flight */
    uint32_t statistics[21]; /* GNI_STAT_* in the Aries numbering */
    struct aries_list eps, cqs, mrs, ces;
    struct aries_list nic_link; /* hw->attached, found by (ptag, cookie, inst_id) */
    struct aries_list channels; /* completion channels */
    struct aries_datagrams *datagrams; /* datagram.c; created at first use */
    struct gni_msgq *msgq; /* its shared message queue; NULL: none */
    void (*on_detach[ARIES_DETACH_STAGES])(struct gni_nic *nic); /* NULL: nothing of that stage */
} __attribute__((aligned(SIM_LINE)));

/* `release` ends all objects of its kind that the attachment has. */
static inline void aries_nic_on_detach(struct gni_nic *nic, enum aries_detach_stage stage,
                                       void (*release)(struct gni_nic *nic))
{
    nic->on_detach[stage] = release;
}

#define ARIES_SLOTS_FEW 16u

/*
 * An endpoint, and its SMSG connection. Hundreds of them per node do not stay in the cache, so they
 * are ordered by lines: what receiving a message touches lies in the first, what sending one
 * touches in the first three. All can be fetched at once, before anything is known but the handle.
 * rx_ is about messages from the peer, tx_ about those to it; numbers of messages count modulo
 * 2^32.
 */
struct gni_ep {
    uint32_t magic;
    uint16_t message_max, credits; /* largest message that the mailbox takes; smsg.h */
    struct gni_nic *nic;
    uint8_t *rx_ring; /* the control block lies before it */
    uint32_t rx_bytes, rx_at; /* size of the ring; place behind what was released */
    uint32_t rx_received; /* and released; number of the next message */
    uint32_t rx_current; /* place of the next message, once it was found; all-ones: not yet */
    uint32_t rx_reported; /* releases that the peer has been told of */
    uint32_t rx_owed; /* bytes released since */
    uint32_t rx_heard; /* releases at the peer, as the last message that was read tells */
    uint16_t rx_units; /* what the current message takes of the ring, in SMSG_UNIT */
    bool connected : 1; /* by GNI_SmsgInit */
    bool retransmit : 1; /* MBOX_AUTO_RETRANSMIT */
    bool broken : 1; /* a message is lost for good */
    bool shown : 1; /* GetNext gave the current message out: it can be released */
    uint8_t message_slack; /* of message_max, bytes beyond the msg_maxsize of GNI_SmsgInit */
    uint32_t wanted; /* ring bytes that a stalled send waits for */
    uint32_t local_event;

    struct aries_nic *remote; /* NULL: unbound, or no such node */
    uint64_t tx_ring; /* address at the peer */
    gni_mem_handle_t tx_handle;
    uint32_t tx_bytes, tx_at, tx_used;
    uint32_t tx_sent, tx_returned; /* returned: released by the peer */
    uint32_t tx_freed; /* messages tx_freed … tx_sent-1 hold slots */
    uint16_t tx_slots, tx_next; /* number of slots; the one that the next message takes */
    uint32_t remote_event;

    struct gni_cq *cq; /* source CQ; may be NULL */
    uint16_t *slots; /* bytes of the ring that each message takes, in SMSG_UNIT, and a mark */
    uint16_t few[ARIES_SLOTS_FEW]; /* where these are, when that is enough */
    const struct gni_ep *peer; /* the other end, when it is in this simulation: for the cache */
    uint32_t refs; /* the handle, and each SMSG transaction in flight */
    uint32_t outstanding; /* evented posts and SMSG sends not yet retired */

    uint32_t remote_addr, remote_id; /* all-ones: unbound */
    struct aries_list nic_link;
    void *datagram; /* pending mark and out_buf; datagram.c. When the handle is dead: its slab */
    struct aries_list return_link; /* nic->smsg_returns, while a return must be repeated */
    uint16_t return_failures;
    uint8_t epoch; /* connections that this endpoint had, modulo 64 */
    /* What it stands for in a tree of collective engines: GNI_EpSetCeAttr. Type 0: nothing. */
    uint8_t ce_id, ce_child_id, ce_child_type;
    uint32_t id; /* for sim_poll: of its credit; the next: of its messages */
} __attribute__((aligned(64)));

/*
 * A request object: one outstanding evented post, or SMSG send. Lives in the CQ's table
 * (cq->requests) until the last expected event is collected. The TID of its events is its index + 1
 * below and a generation above, so that an event that is used once too often is noticed. A queue
 * may have hundreds, each used once in a while, so they are small.
 */
struct aries_request {
    struct gni_ep *ep; /* NULL when the EP was destroyed */
    gni_post_descriptor_t *descr; /* NULL for SMSG */
    struct smsg_copy *copy; /* SMSG: of a message that may have to be sent again; smsg.c */
    uint64_t post_id; /* SMSG: the msg_id that its event shows, and above it the slot */
    uint32_t tid;
    union {
        uint32_t inst_id; /* local_event at the time of the post */
        uint32_t next_free;
    };
    uint16_t expected; /* GNI_CQMODE_LOCAL/GLOBAL events still to be collected */
    uint8_t pushed; /* events in the queue, or lost by it, and not collected */
    uint8_t place; /* in its chunk of the table */
    bool busy;
    bool in_flight; /* its `done` is still to come */
    bool local_pushed : 1; /* its LOCAL event was */
    bool orphan : 1; /* SMSG: the endpoint was destroyed; its memory waits for `done` */
    uint8_t unit; /* enum aries_unit: names the source in its events */
};

#define ARIES_REQUESTS_SHIFT 4
#define ARIES_REQUESTS_CHUNK (1u << ARIES_REQUESTS_SHIFT)

struct aries_request_chunk {
    struct aries_request request[ARIES_REQUESTS_CHUNK];
    struct gni_cq *cq;
};

/* The queue in whose table it is: for completions, whose context is the request. */
static inline struct gni_cq *aries_request_cq(const struct aries_request *request)
{
    return ((const struct aries_request_chunk *)(request - request->place))->cq;
}

#define RING_FIRST 16u /* entries, when a ring is first needed */

struct aries_cq_slot {
    gni_cq_entry_t entry;
    /* What who reads the entry will look at, or NULL; a remote event: struct gni_ep, any other:
     * struct aries_request. For the cache. */
    const void *look;
};

/* What an entry touches lies in the first line, what a request does besides in the second. */
struct gni_cq {
    uint32_t magic;
    uint32_t refs; /* the handle, plus one for each transaction and EP that names it; see
                      aries_cq_unref */
    struct gni_nic *nic; /* NULL when the handle died */
    struct aries_fabric *fabric;
    struct aries_cq_slot *ring;
    uint32_t head, count; /* ring positions head … head+count-1 (mod ring_size) hold entries */
    uint32_t ring_size; /* power of two, grown by need until it holds `capacity` entries */
    uint32_t capacity;
    uint32_t modes;
    uint32_t index; /* number on its node, for traces and reports */
    uint32_t id; /* for sim_poll_turn */
    bool overrun; /* an event was lost; the newest entry carries the flag */
    bool has_mr; /* named by a registration: destination CQ */
    bool has_source; /* bound to an EP or named by a post: source CQ */
    bool armed; /* the next entry fires its completion channel */
    uint32_t mask_count;
    uint32_t looked; /* for sim_poll_turn */

    void (*handler)(gni_cq_entry_t *, void *);
    void *context;
    struct aries_request_chunk **requests; /* table whose chunks never move, grown by need */
    uint32_t requests_count, requests_max, requests_free, requests_busy;
    uint32_t ep_count; /* EPs created with it, collective engines configured with it */
    uint32_t entry_count;
    uint32_t fired; /* channel events not collected */
    struct aries_list nic_link;
    struct gni_comp_chan *channel; /* completion channel, or NULL */
    struct aries_list channel_link, fired_link; /* in its lists */
} __attribute__((aligned(SIM_LINE)));

/* A memory registration. Found at the target by (NIC, ptag, MDH). */
struct aries_mr {
    uint32_t refs; /* 1 while registered, plus 1 for each write in flight into it */
    uint32_t segments_count;
    bool live; /* registered, and for reserved regions updated at least once */
    bool read_only, vmdh, segmented, reserved;
    bool corrupt; /* its memory descriptor was hit by a fault */
    uint8_t ptag;
    uint64_t base,
        length; /* page-rounded; base is 0 for VMDH and segments (addresses are offsets) */
    uint64_t address; /* page-rounded: where `base` lies in the memory of the process */
    uint64_t *pages; /* reserved regions: bitmap of pages made accessible; NULL: all */
    struct aries_process *process;
    struct gni_cq *cq; /* destination CQ or NULL (referenced) */

    gni_mem_segment_t *segments; /* page-rounded pieces; NULL: one piece */
    uint64_t asked, bytes; /* address and length as asked for */
    struct gni_nic *nic; /* attachment that registered it; NULL when deregistered */
    struct aries_fabric *fabric;
    gni_mem_handle_t handle;
    struct aries_list nic_link; /* nic->mrs, in order of registration */
    uint16_t mdh;
} __attribute__((aligned(SIM_LINE)));

/* ---- the NIC behind the front ---------------------------------------------------------------- */

enum aries_op {
    ARIES_PUT,
    ARIES_GET,
    ARIES_AMO,
    ARIES_CQWRITE,
    /* Of the collective engine: */
    ARIES_CE_JOIN, /* to a channel, from a process or a channel below it */
    ARIES_CE_RESULT, /* to a channel, from the one above it */
    ARIES_CE_WRITE, /* result to the memory of a process */
};
static inline const char *aries_op_name(enum aries_op op)
{
    static const char *const names[] = {
        [ARIES_PUT] = "put",         [ARIES_GET] = "get",      [ARIES_AMO] = "amo",
        [ARIES_CQWRITE] = "cqwrite", [ARIES_CE_JOIN] = "join", [ARIES_CE_RESULT] = "result",
        [ARIES_CE_WRITE] = "result",
    };

    return names[op];
}
enum aries_unit { ARIES_UNIT_FMA, ARIES_UNIT_BTE, ARIES_UNIT_CE };

/* What a packet to a collective engine says besides its operands. */
struct aries_ce_header {
    uint64_t reduction_id; /* 48 bits */
    uint8_t ce_id; /* the channel that it goes to */
    uint8_t child_id, child_type; /* JOIN: as which of its children */
    uint8_t command, mode; /* gni_ce_cmd_type_t; GNI_CEMODE_, with the exceptions so far */
    uint8_t status; /* RESULT: 0 or an A_STATUS code */
    uint8_t from; /* the channel that sent it */
};

/*
 * One transaction as the front hands it to the NIC: by value, copied. The front has checked the
 * call; the NIC checks what hardware checks (translation, bounds, protection, at both ends) and
 * reports by `done`.
 *
 * What every transaction needs comes first: a PUT by FMA without flags touches no more than that.
 */
struct aries_work {
    uint8_t op; /* enum aries_op */
    uint8_t unit; /* enum aries_unit */
    uint8_t route; /* enum net_route */
    uint8_t ptag;
    bool ordered_tail, fence;
    bool local_is_va; /* FMA PUT, SMSG: source is read by the CPU now, no local handle */
    bool sync_flag, flag_response; /* PUT_W_SYNCFLAG / GET_W_FLAG, AMO_W_FLAG */
    bool remote_wanted; /* REMOTE_EVENT: event with datum remote_event at the target region's CQ */
    bool remote_optional; /* SMSG: a region without a CQ is no error */
    bool local_wanted; /* call `local_done` when the source buffer may be reused (BTE) */
    uint32_t remote_event;
    struct aries_nic *target; /* NULL: no such PE → PE_BOUNDS_ERR */
    uint64_t remote_addr, length;
    union {
        gni_mem_handle_t remote_handle;
        struct aries_ce_header ce; /* CE_JOIN, CE_RESULT */
    };
    /*
     * Called once when the transaction has ended, at the time at which a source CQ entry becomes
     * visible. status: 0 or an A_STATUS code, info: CPLTN_SREQ.. as in cq_entry.h. `context` is the
     * front's. May be NULL (silent).
     */
    void (*done)(void *context, uint8_t status, uint8_t info, bool remote_overrun);
    void *context;
    /*
     * The endpoint at which a message arrives, when it is in this simulation, or NULL. A hint for
     * the cache: see aries_cq_push_for.
     */
    const struct gni_ep *peer;
    const void *own; /* what `done` will look at besides `context`; for the cache, or NULL */
    /* And whom it will wake; the same. The process may be gone by then, a fiber's memory stays. */
    const struct aries_process *process;
    const struct sim_fiber *fiber;
    uint32_t header_length;
    uint32_t amo_cmd;

    /* Of use during the submission only. */
    sim_time_t cpu; /* CPU time of the call, charged by the NIC before the doorbell */
    struct ledger_book *book;
    const void
        *header; /* PUT by FMA (SMSG): header bytes that go before local_addr's; NULL: none */

    uint64_t local_addr;
    gni_mem_handle_t local_handle;
    uint64_t operand[2];
    uint64_t sync_flag_addr, sync_flag_value;
    uint64_t cqwrite_value;
    void (*local_done)(void *context);
};

/* Bytes that the NIC must keep of a PUT by FMA without flags. */
#define ARIES_WORK_SHORT offsetof(struct aries_work, cpu)

/* What a NIC back end offers; sim/ has the simulated one. */
struct aries_nic_ops {
    /* Never fails for lack of resources: the hardware stalls. Charges work->cpu to the caller. */
    void (*submit)(struct gni_nic *nic, const struct aries_work *work);
    /* As many of `count` works, one completion for all: chained transactions. */
    void (*submit_chain)(struct gni_nic *nic, const struct aries_work *works, uint32_t count);
};

#define ARIES_MRS_FIRST 3u

struct aries_nic { /* the hardware of one node */
    struct aries_fabric *fabric;
    struct aries_sim_nic *sim; /* state of the of sim/ only */
    const struct aries_nic_ops *ops;
    uint32_t node, pe_addr;
    struct aries_mr *mrs_first[ARIES_MRS_FIRST]; /* the lowest entries of `mdds` once more */
    bool alive;
    struct aries_list attached; /* struct gni_nic */
    struct aries_list processes;
    struct aries_mdd_table *mdds; /* by MDH: mem.c; NULL until first used */
    struct aries_mdd_table *vmdhs; /* list of the MDD blocks, one per ptag: mem.c */
    uint32_t mdd_used, fma_used, cq_used, cq_index;
    uint32_t ce_used; /* channels of the collective engine: bit per id */
    struct vce *vces; /* what they do: ce_channel.c; allocated at first use */
    struct aries_kernel *kernel; /* datagram messages on their way; datagram_kernel.c */
    struct msgq_shared *msgqs; /* shared message queues of its jobs: msgq_region.c */
    struct aries_job_state *
        *job_states; /* by ptag, each NULL until there is something to keep; job.c */
    struct aries_ntt *ntt; /* node translation table; NULL until it is used: ntt.c */
    struct aries_bi *bi; /* balanced injection; NULL: never configured: bi.c */
    struct aries_list errors; /* subscriptions to its error events; error_event.c */
    uint32_t errors_count, error_serial;
} __attribute__((aligned(SIM_LINE)));

struct aries_job {
    uint64_t job_id; /* 0: any process may use it */
    uint32_t cookie;
    uint32_t node; /* where it is known; UINT32_MAX: everywhere */
    uint8_t ptag; /* GNI_FIND_ALLOC_PTAG until somebody needs it */
};

/* Memory that a file keeps with a fabric ends in one of these stages. */
enum aries_end_stage {
    ARIES_END_MESSAGES, /* before the transactions that are under way */
    ARIES_END_MEMORY, /* when no object is left */
    ARIES_END_STAGES
};

struct aries_fabric {
    struct net *net;
    struct aries_timing timing;
    uint32_t nodes;
    struct aries_nic *nics;
    uint32_t *pe_addrs; /* by node: theirs, in few lines */
    struct aries_job *jobs;
    uint32_t jobs_count;
    uint64_t seed;
    struct ledger_book book_put, book_get, book_amo, book_cqwrite, book_smsg, book_event, book_msgq,
        book_datagram, book_ce;
    struct sim_fault_point fault_packet, fault_cq, fault_datagram;
    struct aries_counters counters;
    /* Where an SMSG message is put together: one place for all, in the cache. */
    uint64_t record[128];
    struct aries_work message;
    struct aries_objects *objects; /* memory of handles and registrations: objects.c */
    struct fabric_end *on_end[ARIES_END_STAGES]; /* aries_fabric_on_end */
    struct aries_list datagrams; /* of all communication domains: datagram.c */
    uint64_t datagrams_made;
    uint16_t life; /* of this process, in its memory handles; 0 in simulation */
    struct aries_fabric *retired; /* destroyed before this one and not yet freed: process.c */
    struct _GHashTable
        *mailboxes; /* connections by the address of their ring; looked up, never walked */
    struct aries_sim_fabric *sim; /* of sim/ only */
};

/* The number of a NIC that need not be in the cache. */
static inline uint32_t aries_node_of(const struct aries_fabric *fabric, const struct aries_nic *nic)
{
    return (uint32_t)(nic - fabric->nics);
}

/* Zeroed memory of whole cache lines; ended by free(). */
void *lines_new(size_t bytes);

/* ---- provided by process.c (front) ----------------------------------------------------------- */

struct aries_nic *aries_nic_by_pe(struct aries_fabric *fabric, uint32_t pe_addr); /* NULL: none */
/* Something became visible to the process: its polling and waiting fibers look again. */
void aries_process_notify(struct aries_process *process);
/* The same without what aries_process_notify does for those that share a message queue with it. */
void aries_process_wake(struct aries_process *process);
/* Fetches what the two look at: the process, then its threads. */
static inline void aries_process_fetch(const struct aries_process *process, unsigned stage)
{
    if (stage == 0)
        sim_fetch(process, 1);
    else if (process != NULL && process->first != NULL)
        sim_fiber_fetch(process->first, 0);
}
/* Memory of the process was written, which it may watch without any call. */
void aries_process_written(struct aries_process *process);
/* `end` is called when the fabric is destroyed, once however often it was registered. */
void aries_fabric_on_end(struct aries_fabric *fabric, enum aries_end_stage stage,
                         void (*end)(struct aries_fabric *fabric));
/* Marks the process dead and tells its host, once. For the error policy and for crashed nodes. */
void aries_process_kill(struct aries_process *process, const char *why);
/* Whether a signal was sent to the running thread since it was asked last: its call returns. */
bool aries_interrupted(struct aries_process *process);
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
/*
 * The same, with what its reader will look at: the endpoint of a remote event (it may be dead by
 * then, but its memory is still that of endpoints), or the request of any other. NULL: unknown. It
 * is fetched into the cache before its turn comes.
 */
bool aries_cq_push_for(struct gni_cq *cq, gni_cq_entry_t entry, const void *look);
/* The next read of the queue reports an overrun, as if an event had been lost just now. */
void aries_cq_overrun(struct gni_cq *cq);
void aries_cq_ref(struct gni_cq *cq);
void aries_cq_unref(struct gni_cq *cq); /* frees the object when the last reference goes */

/* Request objects of a source CQ. NULL when all are busy. */
struct aries_request *aries_request_new(struct gni_cq *cq, struct gni_ep *ep,
                                        gni_post_descriptor_t *descr, uint16_t expected);
void aries_request_retire(struct gni_cq *cq,
                          struct aries_request *request); /* frees it, ep->outstanding-- */

/* Fetches what the completion of a post will look at, when request and queue are in the cache. */
static inline void aries_post_fetch(const struct aries_request *request, const struct gni_cq *cq)
{
    const struct aries_request_chunk *chunk =
        (const struct aries_request_chunk *)(request - request->place);

    sim_fetch(&chunk->cq, 1);
    sim_fetch(cq->nic, 1);
    if (cq->ring != NULL)
        sim_fetch(cq->ring + ((cq->head + cq->count) & (cq->ring_size - 1)), 1);
}

/* ---- provided by mem.c ----------------------------------------------------------------------- */

enum aries_access { ARIES_READ, ARIES_WRITE };

/* The registration that a handle names on `hw` for `ptag`, or NULL. */
struct aries_mr *aries_mr_find(struct aries_nic *hw, uint8_t ptag, gni_mem_handle_t handle);
/*
 * The hardware's checks in the order of aries.md B.2: handle → MDD enabled → write permission →
 * bounds → ptag → page. Returns 0 or the A_STATUS code; on success *mr is set. addr is a virtual
 * address, or an offset for regions of an MDD block and of segments (aries_mem_handle_offset).
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
/* Fetches what aries_mr_check() will look at, when the NIC's first line is in the cache. */
void aries_mr_fetch(const struct aries_nic *hw, const gni_mem_handle_t *handle);
void aries_mr_ref(struct aries_mr *mr);
void aries_mr_unref(struct aries_mr *mr);

/* ---- provided by comp_chan.c, error_event.c, job.c, ntt.c, bi.c --------------------------------
 */

/* An armed queue got an entry: once. */
void aries_channel_fire(struct gni_cq *cq);
void aries_channel_detach(struct gni_cq *cq); /* the queue dies, or gets another channel */

/*
 * An error event of the NIC: to its subscribers, and under the error policy. `mask` is one of
 * GNI_ERRMASK_, `code` an A_STATUS or other hardware code, ptag 0: concerns all.
 */
void aries_error_raise(struct aries_nic *hw, gni_error_mask_t mask, uint16_t code, uint8_t ptag,
                       uint64_t info);
gni_error_mask_t aries_error_category(uint8_t status); /* of a status that a fault causes */

bool aries_ptag_suspended(const struct aries_nic *hw, uint8_t ptag);

/* The NIC that an address given to this domain names, and an address as it is shown to it. */
struct aries_nic *aries_pe_resolve(const struct gni_nic *nic, uint32_t pe_addr);
uint32_t aries_pe_shown(const struct gni_nic *nic, uint32_t pe_addr);

/* A throttle has begun or ended: `begun` NICs fall back to what they were told for that case. */
void aries_bi_throttled(struct aries_fabric *fabric, bool begun);

/* ---- provided by smsg.c and datagram.c --------------------------------------------------------
 */

void aries_smsg_progress(
    struct gni_nic *nic); /* returns owed credits; called by CqGetEvent and GetNext */
void aries_smsg_ep_release(struct gni_ep *ep); /* EpUnbind, EpDestroy */
/* Of a request that has ended: what was kept to send it again. */
void aries_smsg_copy_free(struct aries_request *request);
void aries_smsg_ep_free(struct gni_ep *ep); /* what the connection had allocated */
void aries_ep_unref(
    struct gni_ep *ep); /* ep.c: its memory goes when handle and transactions have */
/*
 * The completion of an SMSG send was popped from the source CQ: true when the entry must not be
 * shown (resent, or replaced by a later entry). In the ring such an entry has TYPE SMSG and the
 * request's TID where a post has it (45:24). On false cq.c shows it with MSG_ID = the low 32 bits
 * of request->post_id instead of the TID, and retires the request.
 */
bool aries_smsg_completed(struct gni_cq *cq, struct aries_request *request, gni_cq_entry_t entry);
void aries_datagrams_ep_release(struct gni_ep *ep); /* EpDestroy */
bool aries_datagram_pending(const struct gni_ep *ep); /* EpUnbind, EpIdle */
/* A node died: offers that it held end with GNI_POST_TIMEOUT. Called by aries_node_crash. */
void aries_datagrams_node_down(struct aries_fabric *fabric, uint32_t node);

/* ---- provided by msgq.c, msgq_region.c and msgq_send.c ------------------------------------------
 */

/*
 * The NIC did something for the process whose first handle this is. The instances of a shared queue
 * have a mailbox in common, whoever's registration it was written with: those that watch it look.
 */
void aries_msgq_notify(const struct gni_msgq *first);

/* ---- provided by the NIC back end: sim/, or live/ ------------------------------------------
 */

extern const struct aries_nic_ops aries_hw_nic_ops;
/* A transaction that a unit of the NIC starts by itself: no CPU, no doorbell. Not in a call. */
void aries_hw_originate(struct aries_nic *hw, const struct aries_work *work);
/* At most so many request packets of the NIC are in flight from now on. */
void aries_hw_orb_limit(struct aries_nic *hw, uint32_t packets);
bool aries_hw_throttled(const struct aries_fabric *fabric);
/* Requests of a tag are held back from now on; whether some are still in flight; they go on. */
void aries_hw_hold(struct aries_nic *hw, uint8_t ptag);
bool aries_hw_draining(const struct aries_nic *hw, uint8_t ptag);
void aries_hw_release(struct aries_nic *hw);
void aries_hw_fabric_init(struct aries_fabric *fabric);
void aries_hw_fabric_fini(struct aries_fabric *fabric);
/* Whether another process has attached this instance already; and when it goes. */
bool aries_hw_attach(struct gni_nic *nic);
void aries_hw_detach(struct gni_nic *nic);
/* The job of a cookie that no launcher has told of; NULL: there is none. */
struct aries_job *aries_hw_job(struct aries_nic *hw, uint8_t ptag, uint32_t cookie);
/*
 * The entry of the node's table that a registration of this process gets: MDD_ANY leaves it to the
 * table. False: there is none left. `vmdh`: it is to be *index of the block of a tag.
 */
bool aries_hw_mdd(struct aries_nic *hw, uint8_t ptag, bool vmdh, uint32_t *index);
void aries_hw_mdd_gone(struct aries_nic *hw, uint8_t ptag, bool vmdh, uint32_t index);
/* The lowest channel of the node's collective engine that nobody has. False: there is none. */
bool aries_hw_ce(struct aries_nic *hw, uint32_t *id);
void aries_hw_ce_gone(struct aries_nic *hw, uint32_t id);
/* An endpoint stands for a channel of that NIC (NULL: of no node): who has it is to be known. */
void aries_hw_ce_met(const struct aries_nic *hw, uint32_t id);
/* A registration is complete, was changed, or ends: mr->live tells. */
void aries_hw_mr_changed(const struct aries_mr *mr);
/*
 * Carries a message of the datagram engine (a small control packet of the kernel) to another node,
 * after the modelled time, never when one of the nodes is dead. Reliable: retried by the kernel on
 * loss. datagram_ended() tells what has become of it, once for each call.
 */
struct datagram_message;
void aries_hw_kernel_send(struct datagram_message *message, uint32_t bytes);

#endif
