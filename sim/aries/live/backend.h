/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The live NIC back end: what its files share. A process of the operating system is a process on an
 * emulated node. All nodes have a struct aries_nic here, but only the own one has anything
 * attached.
 *
 *   process.c  joining a fabric, the process, forks; what the nodes agree on through names
 *   host.c     names of hosts
 *   plan.c, faults.c  the scenario of the fabric, and what it does to transactions and nodes
 *   path.c     paths of transactions, links and routers that die, and the model's time
 *   wait.c     polling, sleeping, the helper thread
 *   submit.c   transactions from the call to their first record; suspended jobs
 *   op.c       operations: transactions that need more than one record, or have to wait
 *   link.c     other processes, and the registrations that they own
 *   send.c     operations become records
 *   loopback.c transactions of this process with itself
 *   complete.c what the target has executed or replied
 *   bulk.c     transfers that the initiator copies itself; the table of registrations
 *   share.c    transfers that the initiator and the target copy together
 *   quiesce.c  a deregistration waits for both
 *   target.c   execution of requests
 *   kernel.c   messages between the kernels (datagrams)
 *   watch.c    figures for `jacquard top`
 *   msgq.c     shared message queues whose instances are different processes
 *   trace.c    JACQUARD_TRACE
 *   units.c    features that this NIC does not have
 *   lock.c, entry.c  the lock, and the calls of gni_pub.h under it
 *
 * A PUT of a few KiB is one record in the target's ring. The target checks it, writes its own
 * memory and queue, and releases the record: that acknowledges it. An error or data needs a reply.
 * Everything from another process is copied before it is checked, and checked before it is used.
 */
#ifndef JACQUARD_ARIES_LIVE_BACKEND_H
#define JACQUARD_ARIES_LIVE_BACKEND_H

#include "aries/misc/exceptions.h"
#include "nic/interface.h"
#include "api/msgq.h"
#include "shm/shm.h"

/* ---- what crosses ---------------------------------------------------------------------------- */

enum aries_live_kind { /* of a record */
                       ARIES_LIVE_PUT, /* struct aries_live_request, struct aries_live_flag if
                                          FLAGGED, data */
                       ARIES_LIVE_LANDED, /* the same without data: the initiator has written it */
                       ARIES_LIVE_GET, /* struct aries_live_request */
                       ARIES_LIVE_AMO, /* struct aries_live_request, struct aries_live_amo */
                       ARIES_LIVE_CQWRITE, /* struct aries_live_request: address is the value */
                       ARIES_LIVE_DATAGRAM, /* struct aries_live_request, struct aries_live_datagram
                                             */
                       ARIES_LIVE_CE_JOIN, /* struct aries_live_request, struct aries_live_ce */
                       ARIES_LIVE_CE_RESULT, /* the same */
                       ARIES_LIVE_MSGQ, /* struct aries_live_request, struct aries_live_msgq */
                       ARIES_LIVE_SHARE, /* struct aries_live_request, struct aries_live_share_call
                                          */
                       ARIES_LIVE_RESULT, /* reply: struct aries_live_result, data */
};

enum {
    ARIES_LIVE_EVENT = 1, /* a remote event is wanted */
    ARIES_LIVE_OPTIONAL = 2, /* a region without a queue is no error */
    ARIES_LIVE_FLAGGED = 4, /* a flag is to be written behind the data */
    ARIES_LIVE_VMDH = 8,
    ARIES_LIVE_WAS_READ = 16, /* LANDED, SHARE: the memory was (is) read */
};

struct aries_live_request {
    uint8_t flags, ptag;
    uint16_t mdh;
    uint32_t length; /* of the data, or to be read */
    uint32_t event; /* datum of the remote event */
    uint32_t number; /* of the transaction; for the reply */
    uint64_t address;
};
_Static_assert(sizeof(struct aries_live_request) == 24,
               "with it a message of 8 bytes crosses in one line (16 are its own header)");

struct aries_live_flag {
    uint64_t address, value;
};

struct aries_live_amo {
    uint64_t operand[2];
    uint32_t command, reserved;
};

struct aries_live_datagram {
    uint64_t number, about;
    uint32_t from_node, from_id, to_id, cookie;
    uint32_t kind;
    uint16_t length, reserved;
    uint8_t data[GNI_DATAGRAM_MAXSIZE];
};

struct aries_live_ce { /* for a channel of the collective engine */
    struct aries_ce_header header;
    uint64_t operand[2];
    uint64_t address; /* of a join by a process: where the result goes */
    gni_mem_handle_t handle;
};

enum aries_live_msgq_step { /* what an instance of a shared message queue sends to the others of its
                               node */
                            ARIES_LIVE_CAME,
                            ARIES_LIVE_LEFT,
                            ARIES_LIVE_ASSIGN, /* a connection: GNI_MsgqGetConnAttrs */
                            ARIES_LIVE_CONNECT,
                            ARIES_LIVE_ASK, /* asks whether it is idle */
                            ARIES_LIVE_RELEASE,
                            ARIES_LIVE_VACATE, /* all instances have released it: its names are free
                                                */
};

struct aries_live_msgq {
    uint32_t step, cookie;
    uint32_t from, to; /* places (indices) of instances */
    uint32_t pe, index, generation; /* of a connection */
    uint32_t count; /* used entries of `remote`; CAME: 1, the instance itself */
    uint64_t mailbox; /* CONNECT */
    struct aries_msgq_remote remote[ARIES_MSGQ_LANES_MAX];
};

struct aries_live_share_call { /* asks the target to help with a transfer: see share.c */
    uint64_t address; /* address in the initiator */
    uint32_t number, reserved;
};

struct aries_live_result {
    uint32_t number; /* as in the request */
    uint8_t status, info, overrun, reserved;
};

#define ARIES_LIVE_PIECE 4096u /* most bytes of data in a record */
_Static_assert(sizeof(struct aries_live_request) + sizeof(struct aries_live_flag) +
                       sizeof(struct aries_live_amo) + ARIES_LIVE_PIECE <=
                   SHM_RECORD_MAX,
               "a piece with all that may stand before it is one record");
_Static_assert(sizeof(struct aries_live_request) + sizeof(struct aries_live_msgq) <= SHM_RECORD_MAX,
               "");
_Static_assert(sizeof(struct aries_live_request) + sizeof(struct aries_live_datagram) <=
                   SHM_RECORD_MAX,
               "");

/* ---- the table of registrations -----------------------------------------------------------------
 */

enum { ARIES_LIVE_MDD_VALID = 1, ARIES_LIVE_MDD_READ_ONLY = 2, ARIES_LIVE_MDD_PLAIN = 4 };

/* The process publishes this, so that others can access the memory themselves. */
struct aries_live_mdd {
    uint32_t sequence; /* a sequence counter (shm/seqlock.h) */
    uint8_t flags, ptag;
    uint16_t reserved;
    uint64_t base, length, address;
    uint64_t rest[4];
};
_Static_assert(sizeof(struct aries_live_mdd) == 64, "a line each");

#define ARIES_LIVE_MDDS 4096u

/* ---- transfers of two processes -------------------------------------------------------------- */

struct aries_live_share {
    _Alignas(
        64) uint64_t open; /* number of the own transfer that its target may help with; 0: none */
    uint64_t front; /* the initiator copies everything before this offset */
    /* The peer's registration that this process is accessing now, or 0: slot << 48 | generation <<
     * 32 | count << 16 | MDH. */
    uint64_t copying;
    /* As the target: transfers, named slot << 48 | generation << 32 | number. */
    _Alignas(64) uint64_t helping; /* the transfer that it may be copying now; or 0 */
    uint64_t back; /* the target copies everything from this offset on */
    uint64_t helped, from; /* the transfer that it helped with last, and the offset from which on
                              that is copied */
};

/* The shared segment of a process: registrations, struct aries_watch, struct aries_live_share. */
#define ARIES_LIVE_SHARE_AT (ARIES_LIVE_MDDS * sizeof(struct aries_live_mdd) + 4096u)
#define ARIES_LIVE_SEGMENT_BYTES (ARIES_LIVE_SHARE_AT + sizeof(struct aries_live_share))

/* ---- names ----------------------------------------------------------------------------------- */

enum aries_live_name_kind {
    ARIES_LIVE_NAME_INSTANCE = 1, /* of a node: key cookie << 32 | instance id, ptag */
    ARIES_LIVE_NAME_MDHS, /* of a node: key is the number of a block of MDHs */
    ARIES_LIVE_NAME_VMDH, /* of a node: key ptag << 16 | index */
    ARIES_LIVE_NAME_PTAG, /* shared, value is the cookie */
    ARIES_LIVE_NAME_CE, /* of a node: key is the number of a channel */
    /* Of a node's shared message queue: key[1] is cookie << 8 | ptag, key[0] */
    ARIES_LIVE_NAME_MSGQ, /* the place of an instance */
    ARIES_LIVE_NAME_MSGQ_ATTRS, /* shared by all of them, value says which attributes */
    ARIES_LIVE_NAME_MSGQ_PE, /* the address of a node that it is connected with */
    ARIES_LIVE_NAME_MSGQ_INDEX, /* the place of that connection */
};

#define ARIES_LIVE_MDH_BLOCK 32u /* MDHs that a process claims at a time */
#define ARIES_LIVE_MDH_BLOCKS (ARIES_LIVE_MDDS / ARIES_LIVE_MDH_BLOCK)
_Static_assert(ARIES_LIVE_MDDS % ARIES_LIVE_MDH_BLOCK == 0 && ARIES_LIVE_MDH_BLOCKS % 64 == 0,
               "words of blocks");

/* ---- transactions ---------------------------------------------------------------------------- */

/* A transaction of more than one record, with a reply, or that has to wait. */
struct aries_live_op {
    struct aries_live_op *next; /* in a queue, or free */
    struct aries_work work;
    struct aries_live_chain *chain;
    struct gni_nic *nic;
    uint64_t offset; /* bytes that records were sent for */
    uint32_t open; /* records in flight */
    uint32_t refs;
    uint8_t status, info;
    bool overrun;
    bool copied; /* the bytes have been copied: what follows is to be sent */
    bool uncopied; /* the bytes could not be copied: they travel in records */
    bool departed; /* it counts as in flight for its protection tag */
    bool captured; /* `data` holds what is to be sent */
    struct aries_datagram_message *message; /* ARIES_LIVE_DATAGRAM */
    struct sim_event later; /* its launch, if the scenario delays it */
    struct aries_live_path *path; /* NULL: the scenario needs none */
    uint8_t fault_status,
        fault_info; /* status that an injected fault gives it after it has been executed */
    sim_time_t began; /* set with a trace only, as `flow`: that of its last record */
    uint64_t flow;
    uint8_t *data;
};

struct aries_live_chain {
    uint32_t open;
    uint8_t status, info;
    bool overrun;
    void (*done)(void *context, uint8_t status, uint8_t info, bool remote_overrun);
    void *context;
};

/* A record in flight. */
struct aries_live_txn {
    uint64_t position; /* in the ring; 0: the record has ended */
    void (*done)(void *context, uint8_t status, uint8_t info, bool remote_overrun);
    void *context; /* for `done`, if `op` is NULL */
    struct aries_live_op *op;
    uint64_t offset; /* offset in the operation's data for the data of a reply */
    uint32_t bytes;
    bool reply; /* it ends with a reply */
    uint8_t ptag; /* without `op`: it counts as in flight for this protection tag; 0: a record of
                     the library */
    sim_time_t began; /* set with a trace only, and without `op` */
    uint64_t flow;
};

/* The records and transfers between this process and another one. */
struct aries_live_link {
    struct shm_peer *peer;
    struct aries_live_link *next; /* of all */
    struct aries_live_link *next_active;
    struct aries_live_txn *txns; /* ring of `txn_room` (a power of two) entries, by number */
    uint32_t txn_room, txn_first, txn_next;
    uint32_t incarnation; /* the number in the peer's memory handles */
    uint64_t flow_to, flow_from; /* with a record's number: flow number, the same on both sides */
    struct aries_live_op *waiting, **waiting_tail; /* operations that wait for room in the ring */
    uint32_t unhelped; /* transfers in a row with which the peer did not help */
    bool copy_hangs; /* a deregistration has given up waiting for a copy of the peer */
    bool active; /* in aries_live.active */
    bool no_copies; /* the system does not permit copies between the processes */
    bool gone;
};

/* A transfer that the target may help with. */
struct aries_live_transfer {
    struct aries_live_op *op; /* the operation, while it waits for the target; else NULL */
    struct aries_live_link *link;
    uint64_t name, address, length, done;
    uint32_t mdh,
        sequence; /* the peer's registration and its sequence counter when it was checked */
    char *local;
    int result; /* of the own part */
    bool get;
};

struct aries_live {
    struct shm *shm; /* NULL: this process is not a member */
    struct aries_live_link *active; /* links with records in flight */
    uint32_t polls; /* polls of all threads */
    uint32_t empty_polls; /* polls in a row that found nothing */
    uint32_t yield_after; /* empty polls until the thread yields */
    uint64_t empty_since; /* ticks of the first yield in a row */
    struct aries_nic *hw; /* of the own node */
    struct aries_process *process;
    struct aries_fabric *fabric;
    struct net *net;
    struct aries_live_mdd *segment;
    struct aries_live_link ***routes; /* the owners of registrations, by node and block of MDHs */
    struct aries_live_link *
        *channels; /* the owners of channels of the collective engine, by node and number */
    struct aries_live_link *links;
    struct aries_live_op *free_ops;
    struct aries_live_op *ready, **ready_tail; /* operations to be ended in the next poll */
    struct aries_live_op *held, **held_tail; /* operations of suspended jobs */
    struct aries_live_transfer shared; /* the last transfer; only it can wait for its target */
    uint32_t shares; /* number of the last transfer */
    uint16_t copies; /* number of the last copy */
    struct shm *abandoned; /* in a forked child: the membership of its parent */
    uint64_t mdh_blocks[ARIES_LIVE_MDH_BLOCKS / 64]; /* blocks that this process has claimed */
    uint32_t mdh_hint;
    bool failed; /* the fabric could not be joined, and the reason was printed */
    bool inspected; /* the scenario affects transactions */
    bool paced; /* transactions take the model's time */
    uint32_t with_path; /* transactions with a path */
    uint32_t in_flight[256]; /* transactions in flight for each protection tag */
    bool helped; /* the helper thread runs */
    bool holding; /* a job is suspended */
};
extern struct aries_live aries_live __attribute__((visibility("hidden")));

/* The own struct aries_live_share. */
static inline struct aries_live_share *aries_live_own_share(void)
{
    return (struct aries_live_share *)((char *)aries_live.segment + ARIES_LIVE_SHARE_AT);
}

/* That of a peer. NULL: its segment has none. */
static inline const struct aries_live_share *aries_live_share_of(const struct shm_peer *peer)
{
    if (peer->segment_bytes < ARIES_LIVE_SEGMENT_BYTES)
        return NULL;
    return (const struct aries_live_share *)((const char *)peer->segment + ARIES_LIVE_SHARE_AT);
}

/* process.c */
void aries_live_print_error(const char *why); /* prints to the standard error */
bool aries_live_joined(void); /* joins if necessary */
/* Whether a process is attached with that protection tag, and its cookie. */
bool aries_live_job_at(uint8_t ptag, uint32_t *cookie);
/* wait.c */
void aries_live_helper_begin(void);

/* watch.c */
void aries_live_watch_publish(void); /* writes the figures to the shared segment */
void aries_live_watch_forked(void); /* in the child */

/* trace.c */
void aries_live_trace_begin(void); /* after joining the fabric */
void aries_live_trace_end(void);
void aries_live_trace_forked(void); /* in the child */
struct aries_live_end { /* the end of a transaction, for the trace */
    const char *name;
    sim_time_t began;
    uint64_t flow, bytes;
    enum aries_unit unit;
    uint8_t status;
};
void aries_live_trace_transaction(const struct aries_live_end *end);
void aries_live_trace_arrival(const struct aries_live_link *link, const struct shm_record *record);

/* complete.c */
void aries_live_settle(void); /* ends what has been executed, and sends what has room now */
void aries_live_result(struct aries_live_link *link, const struct shm_record *record);

/* link.c */
void aries_live_link_gone(struct aries_live_link *link);
struct aries_live_link *aries_live_link_to(struct shm_peer *peer); /* also to a peer that is gone */
/* NULL: that process is gone. */
struct aries_live_link *aries_live_link_of(uint32_t slot, uint32_t generation);
/* The process that has claimed the name; NULL: none. */
struct aries_live_link *aries_live_name_owner(const struct shm_key *key);
/* The number in the memory handles of a process. It is never 0, and the next process in the slot
 * has another one. */
uint16_t aries_live_incarnation(uint32_t slot, uint32_t generation);

/* send.c */
/* Sends a record with a body of so many bytes; `done` as in struct aries_work. False: no room. */
bool aries_live_send(struct aries_live_link *link, uint8_t kind, struct aries_live_request *request,
                     const void *body, uint32_t bytes, void (*done)(void *, uint8_t, uint8_t, bool),
                     void *context);
/* Copies the data that the CPU would store now, for an operation that is sent later. */
void aries_live_capture(struct aries_live_op *op);
/* The bytes have been copied: sends what follows them. */
bool aries_live_landed(struct aries_live_link *link, struct aries_live_op *op);
/* The bytes could not be copied: they travel in records. */
void aries_live_send_as_records(struct aries_live_link *link, struct aries_live_op *op);

/* op.c */
/* Ends the operation in the next poll. */
void aries_live_op_end(struct aries_live_op *op, uint8_t status, uint8_t info);
/* Ends the operation now. The caller must not be handling a record of the operation. */
void aries_live_op_finish(struct aries_live_op *op);

/* submit.c */
void aries_live_launch(struct aries_live_op *op); /* the model's request has arrived */

/* quiesce.c */
/* Publishes that this process copies between its memory and that registration of the peer: until
 * aries_live_copy_end, a deregistration by the owner waits. What was read of the registration
 * before must be read again. */
void aries_live_copy_begin(const struct aries_live_link *link, uint32_t mdh);
void aries_live_copy_end(void);
/* Returns when no peer copies from or to the registration, which is marked invalid: it may be freed
 * afterwards. */
void aries_live_quiesce(const struct aries_mr *mr);

/* bulk.c */
/* Whether the registration still has that sequence number. */
bool aries_live_mdd_same(const struct aries_live_link *link, uint32_t mdh, uint32_t sequence);
/* Copies the operation's bytes from or to the peer's memory. False: they must travel in records. */
bool aries_live_bulk(struct aries_live_link *link, struct aries_live_op *op);
void aries_live_copied(struct aries_live_link *link, struct aries_live_op *op,
                       int result); /* the end of a copy that was ARIES_LIVE_PENDING */

/* share.c */
#define ARIES_LIVE_PENDING 1
/* Copies the operation's bytes, perhaps with the peer's help. 0, a result of shm_copy_to, or
 * ARIES_LIVE_PENDING: aries_live_copied follows. `sequence` is that of the peer's registration when
 * it was checked. */
int aries_live_share_copy(struct aries_live_link *link, struct aries_live_op *op, uint64_t address,
                          void *local, uint32_t sequence);
/* Called when local memory is deregistered: a transfer of it that waits for its target must not
 * touch it any more. Returns the word that says whether the target still copies (NULL: none does),
 * and its value while it does. */
const uint64_t *aries_live_share_abandon(const struct aries_mr *mr, uint64_t *name);
void aries_live_share_help(const struct aries_live_link *link,
                           const struct aries_live_request *request,
                           const struct aries_live_share_call *call);

/* target.c */
struct aries_live_answer {
    uint8_t status, info;
    bool overrun;
};
void aries_live_put(const struct aries_live_request *request, const struct aries_live_flag *flag,
                    const void *data, bool landed, struct aries_live_answer *answer);
void aries_live_get(const struct aries_live_request *request, void *data,
                    struct aries_live_answer *answer);
void aries_live_amo(const struct aries_live_request *request, const struct aries_live_amo *amo,
                    void *old, struct aries_live_answer *answer);
void aries_live_cqwrite(const struct aries_live_request *request, struct aries_live_answer *answer);
/* The memory that the request names; NULL: access is not permitted, or it is not one piece of plain
 * memory. */
void *aries_live_target_memory(const struct aries_live_request *request, enum aries_access access);
void aries_live_ce(const struct aries_live_ce *ce, enum aries_op op, uint8_t ptag,
                   uint32_t from_node, struct aries_live_answer *answer);
/* False: there is no room for its answer now. */
bool aries_live_execute(struct aries_live_link *link, const struct shm_record *record);

/* faults.c */
struct aries_live_fault { /* the outcome that an injected fault gives a transaction */
    sim_time_t delay;
    uint8_t status, info;
    bool executed; /* the target executes it nevertheless */
};
bool aries_live_inject_fault(const struct aries_work *work, struct aries_live_fault *fault_status);
bool aries_live_faults_read(const struct shm_facts *facts, char *why, size_t room);
bool aries_live_faults_net(
    struct net_config *config); /* whether the scenario describes a network of its own */
/* Parameters of the model. NULL: `why` says what is wrong with those of the scenario. */
struct aries_params *aries_live_faults_params(char *why, size_t room);
uint64_t aries_live_faults_seed(const struct shm_facts *facts);
void aries_live_faults_arm(const struct shm_facts *facts); /* after joining the fabric */

/* path.c */
struct aries_live_change;
/* Keeps and sorts the changes, and adds the start of the fabric to their times. */
void aries_live_paths_arm(struct aries_live_change *changes, uint32_t count, sim_time_t began,
                          bool paced);
/* True: launch it now. False: path.c launches or ends it later. */
bool aries_live_path_begin(struct aries_live_op *op, sim_time_t delay);
/* This machine has finished the operation. False: it ends later. True: it may have got a status. */
bool aries_live_path_end(struct aries_live_op *op);

/* msgq.c */
/* 0, or the status of an error. */
uint8_t aries_live_msgq_arrived(const struct aries_live_link *link,
                                const struct shm_record *record);
void aries_live_msgq_gone(const struct aries_live_link *link);

/* kernel.c */
bool aries_live_datagram_arrived(const struct aries_live_datagram *datagram, uint8_t ptag,
                                 uint32_t to_node);

#define ARIES_LIVE_REACHED \
    640u /* ten packets: an endpoint is unreachable after so many lost ones */

/* The status of a transaction whose target does not answer. */
static inline uint8_t aries_live_status_of_death(uint64_t bytes)
{
    return bytes >= ARIES_LIVE_REACHED ? A_STATUS_ENDPOINT_UNREACHABLE : A_STATUS_ORB_TIMEOUT;
}

static inline uint64_t aries_live_ns(sim_time_t time)
{
    return time == SIM_NEVER ? UINT64_MAX : time / SIM_NS;
}

#endif
