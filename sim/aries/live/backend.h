/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The live NIC back end: what its files share. A process of the system is a process on a node; all
 * nodes have a struct aries_nic here, but only the own one has anything attached.
 *
 *   process.c  joining a fabric, the process, forks; what the nodes agree on through names
 *   host.c     names of hosts
 *   plan.c, faults.c  the scenario of the fabric, and what it does to transactions and nodes
 *   way.c      paths of transactions, while links and routers die, and the model's time
 *   wait.c     looking for what others brought, sleeping, the helper thread
 *   source.c   submit, requests on their way, completion
 *   bulk.c     transfers that the initiator moves itself; the table of registrations on the board
 *   share.c    the same together with the target
 *   quiesce.c  a deregistration waits for both
 *   target.c   execution of requests, of other processes and of the own one
 *   kernel.c   messages between the kernels (datagrams)
 *   watch.c    figures on the board, for people
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

enum lnic_kind { /* of a record */
                 LNIC_PUT, /* struct lnic_request, struct lnic_flag if FLAGGED, data */
                 LNIC_LANDED, /* the same without data: the initiator has written it */
                 LNIC_GET, /* struct lnic_request */
                 LNIC_AMO, /* struct lnic_request, struct lnic_amo */
                 LNIC_CQWRITE, /* struct lnic_request: address is the value */
                 LNIC_DATAGRAM, /* struct lnic_request, struct lnic_datagram */
                 LNIC_CE_JOIN, /* struct lnic_request, struct lnic_ce */
                 LNIC_CE_RESULT, /* the same */
                 LNIC_MSGQ, /* struct lnic_request, struct lnic_msgq */
                 LNIC_SHARE, /* struct lnic_request, struct lnic_share_call */
                 LNIC_RESULT, /* reply: struct lnic_result, data */
};

enum {
    LNIC_EVENT = 1, /* a remote event is wanted */
    LNIC_OPTIONAL = 2, /* a region without a queue is no error */
    LNIC_FLAGGED = 4, /* a flag is to be written behind the data */
    LNIC_VMDH = 8,
    LNIC_WAS_READ = 16, /* LANDED, SHARE: the memory was (is) read */
};

struct lnic_request {
    uint8_t flags, ptag;
    uint16_t mdh;
    uint32_t length; /* of the data, or to be read */
    uint32_t event; /* datum of the remote event */
    uint32_t number; /* of the transaction; for the reply */
    uint64_t address;
};
_Static_assert(sizeof(struct lnic_request) == 24,
               "with it a message of 8 bytes crosses in one line (16 are its own header)");

struct lnic_flag {
    uint64_t address, value;
};

struct lnic_amo {
    uint64_t operand[2];
    uint32_t command, reserved;
};

struct lnic_datagram {
    uint64_t number, about;
    uint32_t from_node, from_id, to_id, cookie;
    uint32_t kind;
    uint16_t length, reserved;
    uint8_t data[GNI_DATAGRAM_MAXSIZE];
};

struct lnic_ce { /* to a channel of the collective engine */
    struct aries_ce_header header;
    uint64_t operand[2];
    uint64_t address; /* of a process's join: where its result goes */
    gni_mem_handle_t handle;
};

enum lnic_msgq_step { /* what an instance of a shared message queue tells the others of its node */
                      LNIC_CAME,
                      LNIC_LEFT,
                      LNIC_ASSIGN, /* a connection: GNI_MsgqGetConnAttrs */
                      LNIC_CONNECT,
                      LNIC_ASK, /* whether it is idle */
                      LNIC_RELEASE,
                      LNIC_VACATE, /* all have done that: its names are free */
};

struct lnic_msgq {
    uint32_t step, cookie;
    uint32_t from, to; /* places of instances */
    uint32_t pe, index, generation; /* of a connection */
    uint32_t count; /* of what is used of `remote`; CAME: 1, the instance itself */
    uint64_t mailbox; /* CONNECT */
    struct aries_msgq_remote remote[ARIES_MSGQ_LANES_MAX];
};

struct lnic_share_call { /* to help with a transfer: see share.c */
    uint64_t address; /* in the initiator */
    uint32_t number, reserved;
};

struct lnic_result {
    uint32_t number; /* as in the request */
    uint8_t status, info, overrun, reserved;
};

#define LNIC_PIECE 4096u /* most bytes of data in a record */
_Static_assert(sizeof(struct lnic_request) + sizeof(struct lnic_flag) + sizeof(struct lnic_amo) +
                       LNIC_PIECE <=
                   LIVE_RECORD_MAX,
               "a piece with all that may stand before it is one record");
_Static_assert(sizeof(struct lnic_request) + sizeof(struct lnic_msgq) <= LIVE_RECORD_MAX, "");
_Static_assert(sizeof(struct lnic_request) + sizeof(struct lnic_datagram) <= LIVE_RECORD_MAX, "");

/* ---- the table of registrations on the board ------------------------------------------------- */

enum { LNIC_MDD_VALID = 1, LNIC_MDD_READ_ONLY = 2, LNIC_MDD_PLAIN = 4 };

/* As the process tells others, who then read and write that memory themselves. */
struct lnic_mdd {
    uint32_t sequence; /* odd: it is being changed */
    uint8_t flags, ptag;
    uint16_t reserved;
    uint64_t base, length, address;
    uint64_t rest[4];
};
_Static_assert(sizeof(struct lnic_mdd) == 64, "a line each");

#define LNIC_MDDS 4096u

/* ---- transfers of two processes -------------------------------------------------------------- */

struct lnic_share {
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

/* The shared segment of a process: registrations, struct aries_watch, struct lnic_share. */
#define LNIC_SHARE_AT (LNIC_MDDS * sizeof(struct lnic_mdd) + 4096u)
#define LNIC_BOARD_BYTES (LNIC_SHARE_AT + sizeof(struct lnic_share))

/* ---- names ----------------------------------------------------------------------------------- */

enum lnic_name_kind {
    LNIC_NAME_INSTANCE = 1, /* of a node: key cookie << 32 | instance id, ptag */
    LNIC_NAME_MDHS, /* of a node: key is the number of a block of MDHs */
    LNIC_NAME_VMDH, /* of a node: key ptag << 16 | index */
    LNIC_NAME_PTAG, /* shared, value is the cookie */
    LNIC_NAME_CE, /* of a node: key is the number of a channel */
    /* Of a node's shared message queue: key[1] is cookie << 8 | ptag, key[0] */
    LNIC_NAME_MSGQ, /* the place of an instance */
    LNIC_NAME_MSGQ_ATTRS, /* shared by all of them, value says which attributes */
    LNIC_NAME_MSGQ_PE, /* the address of a node that it is connected with */
    LNIC_NAME_MSGQ_INDEX, /* the place of that connection */
};

#define LNIC_MDH_BLOCK 32u /* MDHs that a process takes at a time */
#define LNIC_MDH_BLOCKS (LNIC_MDDS / LNIC_MDH_BLOCK)
_Static_assert(LNIC_MDDS % LNIC_MDH_BLOCK == 0 && LNIC_MDH_BLOCKS % 64 == 0, "words of blocks");

/* ---- transactions ---------------------------------------------------------------------------- */

/* A transaction of more than one record, or with a reply, or whose turn has not come. */
struct lnic_op {
    struct lnic_op *next; /* in a queue, or free */
    struct aries_work work;
    struct lnic_chain *chain;
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
    struct aries_datagram_message *message; /* LNIC_DATAGRAM */
    struct sim_event later; /* its launch, when the scenario delays it */
    struct lnic_way *way; /* NULL: nobody asks */
    uint8_t blow, blow_info; /* status that a fault gives it when it has been executed */
    sim_time_t began; /* with a trace only; so is `flow`, of the last record */
    uint64_t flow;
    uint8_t *data;
};

struct lnic_chain {
    uint32_t open;
    uint8_t status, info;
    bool overrun;
    void (*done)(void *context, uint8_t status, uint8_t info, bool remote_overrun);
    void *context;
};

/* A record under way. */
struct lnic_txn {
    uint64_t position; /* in the ring; 0: it has ended */
    void (*done)(void *context, uint8_t status, uint8_t info, bool remote_overrun);
    void *context; /* of done, or NULL and `op` */
    struct lnic_op *op;
    uint64_t offset; /* in the op's data: where a reply's data goes */
    uint32_t bytes;
    bool reply; /* its end is a reply */
    uint8_t ptag; /* without `op`: it counts as under way for that; 0: the library's own */
    sim_time_t began; /* with a trace only, and without `op`; as in that */
    uint64_t flow;
};

/* What this process has to do with another one. */
struct lnic_link {
    struct live_peer *peer;
    struct lnic_link *next; /* of all */
    struct lnic_link *next_active;
    struct lnic_txn *txns; /* by number, `txn_room` (a power of two) of them */
    uint32_t txn_room, txn_first, txn_next;
    uint32_t life; /* in the memory handles that the peer makes */
    uint64_t flow_to, flow_from; /* with a record's number: the same for both sides */
    struct lnic_op *waiting, **waiting_tail; /* for room in the ring */
    uint32_t vain; /* transfers in a row with which the peer did not help */
    bool copies_for_ever; /* a deregistration has waited long enough for one of its copies */
    bool active; /* in backend.active */
    bool no_copies; /* the system does not permit them */
    bool gone;
};

/* One that the target may help with. */
struct lnic_transfer {
    struct lnic_op *op; /* it waits for the target; NULL: it does not */
    struct lnic_link *link;
    uint64_t name, address, length, done;
    uint32_t mdh, sequence; /* of the peer's registration, when it was checked */
    char *local;
    int result; /* of the own part */
    bool get;
};

struct lnic_backend {
    struct live *live; /* NULL: not joined */
    struct lnic_link *active; /* with records under way */
    uint32_t looks; /* of all threads */
    uint32_t fruitless; /* looks in a row */
    uint32_t patience; /* so many of them until it yields */
    uint64_t vain_since; /* ticks of the first yield in a row */
    struct aries_nic *hw; /* of the own node */
    struct aries_process *process;
    struct aries_fabric *fabric;
    struct net *net;
    struct lnic_mdd *board;
    struct lnic_link ***routes; /* by node, then by block of MDHs */
    struct lnic_link **channels; /* of collective engines, by node and number: who has them */
    struct lnic_link *links;
    struct lnic_op *free_ops;
    struct lnic_op *ready, **ready_tail; /* to be ended in the next look */
    struct lnic_op *held, **held_tail; /* of suspended jobs */
    struct lnic_transfer shared; /* the last one, and that only can wait */
    uint32_t shares; /* number of the last one */
    uint16_t copies; /* number of the last own copy */
    struct live *abandoned; /* of the parent of a forked child */
    uint64_t mdh_blocks[LNIC_MDH_BLOCKS / 64]; /* own ones */
    uint32_t mdh_hint;
    bool failed; /* the fabric could not be joined, and that was said */
    bool inspected; /* the scenario has something in store for transactions */
    bool paced; /* they take the model's time */
    uint32_t flying; /* transactions with a way */
    uint32_t under_way[256]; /* transactions of each protection tag, from the call to the end */
    bool helped; /* the helper thread runs */
    bool holding; /* a job is suspended */
};
extern struct lnic_backend lnic_backend __attribute__((visibility("hidden")));

/* The part of the own shared segment that is about transfers with which both sides help. */
static inline struct lnic_share *lnic_own_share(void)
{
    return (struct lnic_share *)((char *)lnic_backend.board + LNIC_SHARE_AT);
}

/* The same part of a peer's segment. NULL: it has none. */
static inline const struct lnic_share *lnic_share_of(const struct live_peer *peer)
{
    if (peer->board_bytes < LNIC_BOARD_BYTES)
        return NULL;
    return (const struct lnic_share *)((const char *)peer->board + LNIC_SHARE_AT);
}

/* process.c */
void lnic_complain(const char *why); /* on the standard error */
bool lnic_joined(void); /* joins if need be */
/* Whether processes are attached with that protection tag, and with which cookie. */
bool lnic_job_at(uint8_t ptag, uint32_t *cookie);
/* wait.c */
void lnic_helper_begin(void);

/* watch.c */
void lnic_watch_take(void); /* the figures for people, onto the board */
void lnic_watch_forked(void); /* in the child */

/* trace.c */
void lnic_trace_begin(void); /* when the fabric has been joined */
void lnic_trace_end(void);
void lnic_trace_forked(void); /* in the child */
struct lnic_end { /* of a transaction, for the trace */
    const char *name;
    sim_time_t began;
    uint64_t flow, bytes;
    enum aries_unit unit;
    uint8_t status;
};
void lnic_trace_transaction(const struct lnic_end *end);
void lnic_trace_arrival(const struct lnic_link *link, const struct live_record *record);

/* source.c */
void lnic_settle(void); /* what has been executed, what can be sent now */
void lnic_result(struct lnic_link *link, const struct live_record *record);
void lnic_link_gone(struct lnic_link *link);
struct lnic_link *lnic_link_to(struct live_peer *peer); /* also to one that is gone */
struct lnic_link *lnic_link_of(uint32_t slot, uint32_t generation); /* NULL: it is gone */
void lnic_datagram_send(struct aries_datagram_message *message, uint32_t bytes);
struct lnic_link *lnic_owner(const struct live_key *key); /* of a name; NULL: nobody */
/* A record with a body of so many bytes; `done` as that of a work. False: no room. */
bool lnic_say(struct lnic_link *link, uint8_t kind, struct lnic_request *request, const void *body,
              uint32_t bytes, void (*done)(void *, uint8_t, uint8_t, bool), void *context);
void lnic_op_end(struct lnic_op *op, uint8_t status, uint8_t info); /* in the next look */
void lnic_op_finish(struct lnic_op *op); /* now; not of a record that somebody looks at */
void lnic_launch(struct lnic_op *op); /* it is at the target */
void lnic_capture(struct lnic_op *op); /* what the CPU stores it stores now, if its turn is later */

/* What a member's memory handles say of it: never 0, and never that of another life of its slot. */
uint16_t lnic_life(uint32_t slot, uint32_t generation);
bool lnic_landed(struct lnic_link *link, struct lnic_op *op); /* the bytes are there */
void lnic_by_records(struct lnic_link *link, struct lnic_op *op); /* they could not be copied */

/* quiesce.c */
/* Says that this process copies between its memory and that registration of the peer's: until the
 * end, its owner's deregistration waits. What was read of the registration before does not count.
 */
void lnic_copy_begin(const struct lnic_link *link, uint32_t mdh);
void lnic_copy_end(void);
/* Not before no peer copies from or to it: it is marked as invalid, and may be freed afterwards. */
void lnic_quiesce(const struct aries_mr *mr);

/* bulk.c */
/* The registration is still the one with that sequence number. */
bool lnic_mdd_same(const struct lnic_link *link, uint32_t mdh, uint32_t sequence);
/* Moves the op's bytes from or to the peer's memory. False: it cannot, records must. */
bool lnic_bulk(struct lnic_link *link, struct lnic_op *op);
void lnic_copied(struct lnic_link *link, struct lnic_op *op, int result); /* after LNIC_LATER */

/* share.c */
#define LNIC_LATER 1
/* Moves the op's bytes, perhaps with the peer's help. 0, what live_copy_to says, or LNIC_LATER: it
 * ends with lnic_copied. `sequence` is that of the peer's registration, as it was checked. */
int lnic_share_copy(struct lnic_link *link, struct lnic_op *op, uint64_t address, void *local,
                    uint32_t sequence);
/* The local memory of a transfer that waits for the target is not to be touched any more; whose
 * word says whether the target still copies (NULL: none does), and its value while that is so. */
const uint64_t *lnic_share_abandon(const struct aries_mr *mr, uint64_t *name);
void lnic_share_help(const struct lnic_link *link, const struct lnic_request *request,
                     const struct lnic_share_call *call);

/* target.c */
struct lnic_answer {
    uint8_t status, info;
    bool overrun;
};
void lnic_put(const struct lnic_request *request, const struct lnic_flag *flag, const void *data,
              bool landed, struct lnic_answer *answer);
void lnic_get(const struct lnic_request *request, void *data, struct lnic_answer *answer);
void lnic_amo(const struct lnic_request *request, const struct lnic_amo *amo, void *old,
              struct lnic_answer *answer);
void lnic_cqwrite(const struct lnic_request *request, struct lnic_answer *answer);
/* What the request names; NULL: it may not, or that is not one piece of plain memory. */
void *lnic_target_memory(const struct lnic_request *request, enum aries_access access);
void lnic_ce(const struct lnic_ce *ce, enum aries_op op, uint8_t ptag, uint32_t from_node,
             struct lnic_answer *answer);
/* False: its answer has no room now. */
bool lnic_execute(struct lnic_link *link, const struct live_record *record);

/* faults.c */
struct lnic_blow { /* what a fault makes of a transaction */
    sim_time_t delay;
    uint8_t status, info;
    bool executed; /* the target does it all the same */
};
bool lnic_struck(const struct aries_work *work, struct lnic_blow *blow);
bool lnic_faults_read(const struct live_facts *facts, char *why, size_t room);
bool lnic_faults_net(struct net_config *config); /* the scenario describes a network of its own */
/* Of the model. NULL: `why` says what is wrong with those of the scenario. */
struct aries_params *lnic_faults_params(char *why, size_t room);
uint64_t lnic_faults_seed(const struct live_facts *facts);
void lnic_faults_arm(const struct live_facts *facts); /* when there is a fabric */

/* way.c */
struct lnic_change;
/* Keeps and sorts them, and adds when the fabric began. */
void lnic_ways_arm(struct lnic_change *changes, uint32_t count, sim_time_t began, bool paced);
/* True: to be launched now. Else way.c launches or ends it. */
bool lnic_way_begin(struct lnic_op *op, sim_time_t delay);
/* All that this machine has to do is done. False: it ends later. Else it may have got a status. */
bool lnic_way_end(struct lnic_op *op);

/* msgq.c */
/* 0, or why not: of an instance of the process that sent it. */
uint8_t lnic_msgq_arrived(const struct lnic_link *link, const struct live_record *record);
void lnic_msgq_gone(const struct lnic_link *link);

/* kernel.c */
bool lnic_datagram_arrived(const struct lnic_datagram *datagram, uint8_t ptag, uint32_t to_node);

#define LNIC_REACHED 640u /* ten packets: that many lost ones make an endpoint unreachable */

/* Of a transaction whose target does not answer. */
static inline uint8_t lnic_status_of_death(uint64_t bytes)
{
    return bytes >= LNIC_REACHED ? A_STATUS_ENDPOINT_UNREACHABLE : A_STATUS_ORB_TIMEOUT;
}

static inline uint64_t lnic_ns(sim_time_t time)
{
    return time == SIM_NEVER ? UINT64_MAX : time / SIM_NS;
}

#endif
