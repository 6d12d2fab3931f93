/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The live NIC back end: what its files share. A process of the system is a process on a node; all
 * nodes have a struct aries_nic here, but only the own one has anything attached.
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
 *   units.c    what this NIC does not have
 *   lock.c, entry.c  the lock, and the calls of gni_pub.h under it
 *
 * A PUT of a few KiB is one record in the target's ring. The target checks it, writes its own
 * memory and queue, and releases the record: that is the acknowledgement. Whatever else there is to
 * say (an error, data) is a reply. Everything from another process is copied before it is checked,
 * and checked before it is used.
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

struct aries_live_ce { /* to a channel of the collective engine */
    struct aries_ce_header header;
    uint64_t operand[2];
    uint64_t address; /* of a process's join: where its result goes */
    gni_mem_handle_t handle;
};

enum aries_live_msgq_step { /* what an instance of a shared message queue tells the others of its
                               node */
                            ARIES_LIVE_CAME,
                            ARIES_LIVE_LEFT,
                            ARIES_LIVE_ASSIGN, /* a connection: GNI_MsgqGetConnAttrs */
                            ARIES_LIVE_CONNECT,
                            ARIES_LIVE_ASK, /* whether it is idle */
                            ARIES_LIVE_RELEASE,
                            ARIES_LIVE_VACATE, /* all have done that: its names are free */
};

struct aries_live_msgq {
    uint32_t step, cookie;
    uint32_t from, to; /* places of instances */
    uint32_t pe, index, generation; /* of a connection */
    uint32_t count; /* of what is used of `remote`; CAME: 1, the instance itself */
    uint64_t mailbox; /* CONNECT */
    struct aries_msgq_remote remote[ARIES_MSGQ_LANES_MAX];
};

struct aries_live_share_call { /* to help with a transfer: see share.c */
    uint64_t address; /* in the initiator */
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

/* ---- the table of registrations on the board ------------------------------------------------- */

enum { ARIES_LIVE_MDD_VALID = 1, ARIES_LIVE_MDD_READ_ONLY = 2, ARIES_LIVE_MDD_PLAIN = 4 };

/* As the process tells others, who then read and write that memory themselves. */
struct aries_live_mdd {
    uint32_t sequence; /* odd: it is being changed */
    uint8_t flags, ptag;
    uint16_t reserved;
    uint64_t base, length, address;
    uint64_t rest[4];
};
_Static_assert(sizeof(struct aries_live_mdd) == 64, "a line each");

#define ARIES_LIVE_MDDS 4096u

/* ---- transfers of two processes -------------------------------------------------------------- */

struct aries_live_share {
    _Alignas(64) uint64_t open; /* number of the own transfer that its target may help with; or 0 */
    uint64_t front; /* up to here the initiator has taken it */
    /* Into or out of which peer's registration this process is copying now, or 0: slot << 48 |
     * generation << 32 | count << 16 | MDH. */
    uint64_t copying;
    /* As the target: of which transfer, by slot << 48 | generation << 32 | number. */
    _Alignas(64) uint64_t helping; /* which it may be copying now; or 0 */
    uint64_t back; /* from here on it has taken that */
    uint64_t helped, from; /* which it was at last, and from where on that is copied */
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

#define ARIES_LIVE_MDH_BLOCK 32u /* MDHs that a process takes at a time */
#define ARIES_LIVE_MDH_BLOCKS (ARIES_LIVE_MDDS / ARIES_LIVE_MDH_BLOCK)
_Static_assert(ARIES_LIVE_MDDS % ARIES_LIVE_MDH_BLOCK == 0 && ARIES_LIVE_MDH_BLOCKS % 64 == 0,
               "words of blocks");

/* ---- transactions ---------------------------------------------------------------------------- */

/* A transaction of more than one record, or with a reply, or whose turn has not come. */
struct aries_live_op {
    struct aries_live_op *next; /* in a queue, or free */
    struct aries_work work;
    struct aries_live_chain *chain;
    struct gni_nic *nic;
    uint64_t offset; /* cut into records so far */
    uint32_t open; /* records under way */
    uint32_t refs;
    uint8_t status, info;
    bool overrun;
    bool copied; /* the bytes are there: what follows is to be sent */
    bool uncopied; /* they could not be copied: records bring them */
    bool departed; /* it counts as under way for its tag */
    bool captured; /* `data` holds what is to be sent */
    struct aries_datagram_message *message; /* ARIES_LIVE_DATAGRAM */
    struct sim_event later; /* its launch, when the scenario delays it */
    struct aries_live_path *path; /* NULL: nobody asks */
    uint8_t fault_status, fault_info; /* status that a fault gives it when it has been executed */
    sim_time_t began; /* with a trace only; so is `flow`, of the last record */
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

/* A record under way. */
struct aries_live_txn {
    uint64_t position; /* in the ring; 0: it has ended */
    void (*done)(void *context, uint8_t status, uint8_t info, bool remote_overrun);
    void *context; /* of done, or NULL and `op` */
    struct aries_live_op *op;
    uint64_t offset; /* in the op's data: where a reply's data goes */
    uint32_t bytes;
    bool reply; /* its end is a reply */
    uint8_t ptag; /* without `op`: it counts as under way for that; 0: the library's own */
    sim_time_t began; /* with a trace only, and without `op`; as in that */
    uint64_t flow;
};

/* What this process has to do with another one. */
struct aries_live_link {
    struct shm_peer *peer;
    struct aries_live_link *next; /* of all */
    struct aries_live_link *next_active;
    struct aries_live_txn *txns; /* by number, `txn_room` (a power of two) of them */
    uint32_t txn_room, txn_first, txn_next;
    uint32_t incarnation; /* in the memory handles that the peer makes */
    uint64_t flow_to, flow_from; /* with a record's number: the same for both sides */
    struct aries_live_op *waiting, **waiting_tail; /* for room in the ring */
    uint32_t unhelped; /* transfers in a row with which the peer did not help */
    bool copy_hangs; /* a deregistration has waited long enough for one of its copies */
    bool active; /* in backend.active */
    bool no_copies; /* the system does not permit them */
    bool gone;
};

/* One that the target may help with. */
struct aries_live_transfer {
    struct aries_live_op *op; /* it waits for the target; NULL: it does not */
    struct aries_live_link *link;
    uint64_t name, address, length, done;
    uint32_t mdh, sequence; /* of the peer's registration, when it was checked */
    char *local;
    int result; /* of the own part */
    bool get;
};

struct aries_live {
    struct shm *shm; /* NULL: not joined */
    struct aries_live_link *active; /* with records under way */
    uint32_t polls; /* of all threads */
    uint32_t empty_polls; /* looks in a row */
    uint32_t yield_after; /* so many of them until it yields */
    uint64_t empty_since; /* ticks of the first yield in a row */
    struct aries_nic *hw; /* of the own node */
    struct aries_process *process;
    struct aries_fabric *fabric;
    struct net *net;
    struct aries_live_mdd *segment;
    struct aries_live_link ***routes; /* by node, then by block of MDHs */
    struct aries_live_link **channels; /* of collective engines, by node and number: who has them */
    struct aries_live_link *links;
    struct aries_live_op *free_ops;
    struct aries_live_op *ready, **ready_tail; /* to be ended in the next look */
    struct aries_live_op *held, **held_tail; /* of suspended jobs */
    struct aries_live_transfer shared; /* the last one, and that only can wait */
    uint32_t shares; /* number of the last one */
    uint16_t copies; /* number of the last own copy */
    struct shm *abandoned; /* of the parent of a forked child */
    uint64_t mdh_blocks[ARIES_LIVE_MDH_BLOCKS / 64]; /* own ones */
    uint32_t mdh_hint;
    bool failed; /* the fabric could not be joined, and that was said */
    bool inspected; /* the scenario has something in store for transactions */
    bool paced; /* they take the model's time */
    uint32_t with_path; /* transactions with a way */
    uint32_t in_flight[256]; /* transactions of each protection tag, from the call to the end */
    bool helped; /* the helper thread runs */
    bool holding; /* a job is suspended */
};
extern struct aries_live aries_live __attribute__((visibility("hidden")));

/* The part of the own shared segment that is about transfers with which both sides help. */
static inline struct aries_live_share *aries_live_own_share(void)
{
    return (struct aries_live_share *)((char *)aries_live.segment + ARIES_LIVE_SHARE_AT);
}

/* The same part of a peer's segment. NULL: it has none. */
static inline const struct aries_live_share *aries_live_share_of(const struct shm_peer *peer)
{
    if (peer->segment_bytes < ARIES_LIVE_SEGMENT_BYTES)
        return NULL;
    return (const struct aries_live_share *)((const char *)peer->segment + ARIES_LIVE_SHARE_AT);
}

/* process.c */
void aries_live_print_error(const char *why); /* on the standard error */
bool aries_live_joined(void); /* joins if need be */
/* Whether processes are attached with that protection tag, and with which cookie. */
bool aries_live_job_at(uint8_t ptag, uint32_t *cookie);
/* wait.c */
void aries_live_helper_begin(void);

/* watch.c */
void aries_live_watch_publish(void); /* the figures for people, onto the board */
void aries_live_watch_forked(void); /* in the child */

/* trace.c */
void aries_live_trace_begin(void); /* when the fabric has been joined */
void aries_live_trace_end(void);
void aries_live_trace_forked(void); /* in the child */
struct aries_live_end { /* of a transaction, for the trace */
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
/* Says that this process copies between its memory and that registration of the peer's: until the
 * end, its owner's deregistration waits. What was read of the registration before does not count.
 */
void aries_live_copy_begin(const struct aries_live_link *link, uint32_t mdh);
void aries_live_copy_end(void);
/* Not before no peer copies from or to it: it is marked as invalid, and may be freed afterwards. */
void aries_live_quiesce(const struct aries_mr *mr);

/* bulk.c */
/* The registration is still the one with that sequence number. */
bool aries_live_mdd_same(const struct aries_live_link *link, uint32_t mdh, uint32_t sequence);
/* Moves the op's bytes from or to the peer's memory. False: it cannot, records must. */
bool aries_live_bulk(struct aries_live_link *link, struct aries_live_op *op);
void aries_live_copied(struct aries_live_link *link, struct aries_live_op *op,
                       int result); /* after ARIES_LIVE_PENDING */

/* share.c */
#define ARIES_LIVE_PENDING 1
/* Moves the op's bytes, perhaps with the peer's help. 0, what shm_copy_to says, or
 * ARIES_LIVE_PENDING: it ends with aries_live_copied. `sequence` is that of the peer's
 * registration, as it was checked. */
int aries_live_share_copy(struct aries_live_link *link, struct aries_live_op *op, uint64_t address,
                          void *local, uint32_t sequence);
/* The local memory of a transfer that waits for the target is not to be touched any more; whose
 * word says whether the target still copies (NULL: none does), and its value while that is so. */
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
/* What the request names; NULL: it may not, or that is not one piece of plain memory. */
void *aries_live_target_memory(const struct aries_live_request *request, enum aries_access access);
void aries_live_ce(const struct aries_live_ce *ce, enum aries_op op, uint8_t ptag,
                   uint32_t from_node, struct aries_live_answer *answer);
/* False: its answer has no room now. */
bool aries_live_execute(struct aries_live_link *link, const struct shm_record *record);

/* faults.c */
struct aries_live_fault { /* what a fault makes of a transaction */
    sim_time_t delay;
    uint8_t status, info;
    bool executed; /* the target does it all the same */
};
bool aries_live_inject_fault(const struct aries_work *work, struct aries_live_fault *fault_status);
bool aries_live_faults_read(const struct shm_facts *facts, char *why, size_t room);
bool aries_live_faults_net(
    struct net_config *config); /* the scenario describes a network of its own */
/* Of the model. NULL: `why` says what is wrong with those of the scenario. */
struct aries_params *aries_live_faults_params(char *why, size_t room);
uint64_t aries_live_faults_seed(const struct shm_facts *facts);
void aries_live_faults_arm(const struct shm_facts *facts); /* when there is a fabric */

/* path.c */
struct aries_live_change;
/* Keeps and sorts them, and adds when the fabric began. */
void aries_live_paths_arm(struct aries_live_change *changes, uint32_t count, sim_time_t began,
                          bool paced);
/* True: to be launched now. Else path.c launches or ends it. */
bool aries_live_path_begin(struct aries_live_op *op, sim_time_t delay);
/* All that this machine has to do is done. False: it ends later. Else it may have got a status. */
bool aries_live_path_end(struct aries_live_op *op);

/* msgq.c */
/* 0, or why not: of an instance of the process that sent it. */
uint8_t aries_live_msgq_arrived(const struct aries_live_link *link,
                                const struct shm_record *record);
void aries_live_msgq_gone(const struct aries_live_link *link);

/* kernel.c */
bool aries_live_datagram_arrived(const struct aries_live_datagram *datagram, uint8_t ptag,
                                 uint32_t to_node);

#define ARIES_LIVE_REACHED                                                \
    640u /* ten packets: that many lost ones make an endpoint unreachable \
          */

/* Of a transaction whose target does not answer. */
static inline uint8_t aries_live_status_of_death(uint64_t bytes)
{
    return bytes >= ARIES_LIVE_REACHED ? A_STATUS_ENDPOINT_UNREACHABLE : A_STATUS_ORB_TIMEOUT;
}

static inline uint64_t aries_live_ns(sim_time_t time)
{
    return time == SIM_NEVER ? UINT64_MAX : time / SIM_NS;
}

#endif
