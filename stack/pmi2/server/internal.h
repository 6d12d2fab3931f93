/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The objects of a server, and what its files offer each other. */
#ifndef JACQUARD_PMI2_SERVER_INTERNAL_H
#define JACQUARD_PMI2_SERVER_INTERNAL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "chunk.h"
#include "list.h"
#include "map.h"
#include "messages.h"
#include "pmi2/server.h"
#include "store.h"

/* Return codes on the wire; 0 to 14 are those of pmi2.h. */
enum wire_code {
    WIRE_OK = 0,
    WIRE_FAIL = 1,
    WIRE_NO_MEMORY = 2,
    WIRE_INVALID_ARG = 3,
    WIRE_INVALID_KEY = 4,
    WIRE_INVALID_KEY_LENGTH = 5,
    WIRE_INVALID_VALUE = 6,
    WIRE_INVALID_VALUE_LENGTH = 7,
    WIRE_INVALID_LENGTH = 8,
    WIRE_INVALID_NUM_ARGS = 9,
    WIRE_INVALID_ARGS = 10,
    WIRE_INVALID_KEYVALP = 12,
    WIRE_INVALID_SIZE = 13,
    WIRE_OTHER = 14,
    WIRE_COMMFAILED = 20,
    WIRE_UNKNOWN_COMMAND = 21,
};

#define CLIENT_REQUESTS_MAX 1024u /* that wait, of one client */
#define TREE_HIGH (256u << 10) /* watermarks of what waits to be sent upwards */
#define TREE_LOW (64u << 10)
#define SECOND 1000000000ull

/* ---- actions ----------------------------------------------------------------------------------
 */

enum action_owner { OWNER_LINK, OWNER_JOB, OWNER_RANK, OWNER_NOTIFICATION };
struct action { /* embedded in its object; `due` has the kinds that the embedder has not taken yet
                 */
    struct list list;
    uint32_t due;
    uint8_t owner;
};
struct notification { /* an action that is an object of its own */
    struct action action;
    struct pmi2_action what;
    struct chunk *chunk; /* holds the bytes that the action points to */
    char text[]; /* and the id of the job */
};
#define NO_SLICE ((struct pmi2_slice){"", 0})
void pmi2_action_due(struct pmi2_server *server, struct action *action, enum pmi2_action_kind kind);
void pmi2_action_forget(struct action *action);
/* NULL: no memory. */
struct notification *pmi2_notification(struct pmi2_server *server, enum pmi2_action_kind kind,
                                       struct pmi2_slice text, struct pmi2_slice job);
void pmi2_log(struct pmi2_server *server, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- links ------------------------------------------------------------------------------------
 */

struct piece { /* bytes to be sent */
    struct piece *next;
    struct chunk *chunk;
    size_t start, end;
};
struct outbox {
    struct piece *first, *last;
    size_t bytes;
};
void pmi2_outbox_clear(struct outbox *outbox);
bool pmi2_outbox_copy(struct outbox *outbox, const void *bytes, size_t length);
bool pmi2_outbox_share(struct outbox *outbox, struct chunk *chunk, size_t start, size_t end);
void pmi2_outbox_take(struct outbox *outbox, size_t bytes);

enum link_kind { LINK_CLIENT, LINK_CHILD, LINK_PARENT };
struct pmi2_link {
    struct pmi2_server *server;
    struct list list; /* of all links of the server */
    struct list resume; /* has input that may go on */
    void *data;
    struct outbox out;
    struct action action;
    const char *reason; /* of the close: static text */
    uint8_t kind;
    bool closing; /* or closed: the link is neither read nor written any more */
    bool ended; /* and the rank or server behind it has been cleaned up */
    bool reads;
};
void pmi2_link_write(struct pmi2_link *link, const void *bytes, size_t length);
void pmi2_link_share(struct pmi2_link *link, struct chunk *chunk, size_t start, size_t end);
/* Asks the embedder to close the link. pmi2_server_run() cleans up later, so this function may be
 * called from anywhere. */
void pmi2_link_close(struct pmi2_link *link, const char *reason);
void pmi2_link_resume(struct pmi2_link *link); /* pmi2_server_run() handles its input */
void pmi2_link_update_reads(struct pmi2_link *link);

/* ---- clients ----------------------------------------------------------------------------------
 */

struct client;
struct unauthenticated_client { /* a client that has not authenticated yet */
    struct list list; /* oldest first */
    struct client *client;
    struct job *job; /* of the port; NULL: any */
    uint64_t until;
    char nonce[33]; /* empty: no challenge is open */
    bool draft; /* answers as the draft has it */
    struct job *claimed;
    uint32_t rank;
    struct chunk *fullinit; /* what is answered after the proof: u8 capabilities, thrid */
};
struct assembly { /* of several messages: a spawn, kvs-putall */
    struct writer body;
    uint32_t expected, got, processes;
    bool line, putall;
    struct pmi2_slice thrid;
    char text[];
};
enum client_state { CLIENT_FRESH, CLIENT_INIT, CLIENT_READY, CLIENT_DONE }; /* only onwards */
struct client {
    struct pmi2_link link;
    struct job *job;
    struct rank *rank; /* NULL: unauthenticated, or done */
    struct list requests; /* not answered yet, oldest first */
    struct pmi2_decoder decoder;
    struct unauthenticated_client *unauthenticated;
    struct assembly *assembly;
    struct list slow; /* does not read its replies */
    uint64_t slow_until;
    uint32_t request_count, ordered_count;
    uint8_t auth, state;
    bool capable; /* our own client library: it has sent cli-caps */
};
static inline struct client *client_of(struct pmi2_link *link)
{
    return list_of(link, struct client, link);
}
void pmi2_client_input(struct client *client, const void *bytes, size_t length);
void pmi2_client_pump(struct client *client); /* serves what was decoded */
void pmi2_client_lost(struct client *client); /* its connection is over */
void pmi2_client_fini(struct client *client);
void pmi2_client_advance(struct client *client, enum client_state state);
/* Makes the client that rank. */
void pmi2_client_unbind(struct client *client); /* of no rank; its requests are dropped */
void pmi2_client_bind(struct client *client, struct job *job, struct rank *rank);

/* ---- requests of clients ----------------------------------------------------------------------
 */

enum wait_for { WAIT_HELD, WAIT_FENCE, WAIT_RING, WAIT_ATTRIBUTE, WAIT_ROOT, WAIT_FINALIZE };
/* The receiver and the form of an answer. */
struct call {
    struct client *client;
    struct request *request; /* NULL: it did not have to wait */
    struct pmi2_slice thrid;
    bool line, ordered;
};
struct request { /* that waits */
    struct list list; /* of its client */
    struct list wait; /* of what it waits for */
    struct map_entry entry; /* by number, while it waits for the root */
    struct call call;
    struct chunk *reply; /* held back: an earlier one waits */
    struct attribute *attribute;
    uint64_t number; /* at the root */
    uint8_t waits, kind;
    bool survivors; /* a fence that goes on without the lost */
    char text[];
};
/* Makes the call wait. NULL: no memory; the call has been answered with an error. */
struct request *pmi2_call_wait(struct call *call, enum wait_for waits, const char *name);
void pmi2_request_drop(struct request *request); /* without an answer */

/* A reply: begin, any number of fields, end. Frames: `cmd=<name>;thrid=…;`; lines `cmd=<name>`. */
struct pmi2_buffer *pmi2_reply(struct call *call, const char *name);
void pmi2_reply_text(struct call *call, const char *key, const char *value);
void pmi2_reply_slice(struct call *call, const char *key, struct pmi2_slice value);
void pmi2_reply_int(struct call *call, const char *key, int64_t value);
void pmi2_reply_end(struct call *call); /* sends it, or holds it back; ends the call */
void pmi2_reply_more(
    struct call *call); /* sends this part as pmi2_reply_end does; another part follows */
/* `rc=…;errmsg=…` or ` rc=… msg=…`: a whole reply. */
void pmi2_reply_code(struct call *call, const char *name, int code, const char *reason);
void pmi2_reply_code_slice(struct call *call, const char *name, int code, struct pmi2_slice reason);

/* One message of a client. */
struct incoming {
    struct call call;
    const struct pmi2_message *message;
};
void pmi2_serve_line(struct incoming *incoming);
void pmi2_serve_frame(struct incoming *incoming);
uint32_t pmi2_rank_appnum(const struct rank *rank);
void pmi2_serve_init(struct incoming *incoming);

/* ---- jobs -------------------------------------------------------------------------------------
 */

struct rank { /* of this server's node */
    struct job *job;
    struct client *client;
    struct request *fence, *ring;
    struct chunk *puts; /* records, not fenced */
    struct action action;
    uint32_t rank;
    uint16_t put_count;
    uint8_t state;
    bool fenced; /* counted in its job's `fenced` */
    bool gone; /* has finalized or is lost, so fences do not wait for it any more */
};
struct member { /* a server below that has ranks of the job */
    struct tree *child;
    struct chunk *fence, *ring; /* its message */
    size_t records; /* where they begin in it */
    uint32_t count; /* of records */
    uint32_t ring_count; /* ranks in its part of the ring */
    bool fenced, ringed;
    bool entered; /* a rank there has entered the fence (false: all are gone) */
};
struct job {
    struct map_entry entry;
    struct list list; /* of the server's jobs, oldest first */
    struct pmi2_server *server;
    struct space *space;
    struct facts *facts;
    struct rank *ranks; /* of this node, ascending */
    struct member *members;
    uint32_t rank_count, member_count;
    uint32_t epoch; /* number of committed epochs */
    bool damaged; /* a replica could not be kept: gets are refused */
    bool ended;
    /* fence */
    struct writer records; /* of this node's ranks, in this epoch */
    uint32_t record_count, fenced, ringed, gone; /* of its ranks */
    bool fence_sent; /* up, for this epoch */
    /* losses */
    struct pmi2_slice broken; /* why no fence can complete; empty: it can */
    char broken_text[40];
    int broken_code;
    bool reported_finalized;
    uint8_t *losses; /* root: of each rank */
    struct writer dead; /* text, in order of death */
    /* attributes of this node */
    struct map attributes;
    uint32_t attribute_count;
    /* root */
    struct list names;
    uint32_t name_count, group;
    struct list cuts; /* disconnects of its ranks from others */
    bool foreign; /* of another launcher: only pairs */
    struct action action;
    uint32_t abort_rank;
    int abort_code;
    struct chunk *abort_text;
};
struct job *pmi2_job_find(struct pmi2_server *server, struct pmi2_slice id);
struct rank *pmi2_job_rank(struct job *job, uint32_t rank); /* of this node; NULL: it is not */
bool pmi2_job_id_valid(const char *id);
/* Takes the message that describes it. */
struct job *pmi2_job_new(struct pmi2_server *server, struct chunk *message);
struct job *pmi2_job_foreign(struct pmi2_server *server, struct pmi2_slice id);
void pmi2_job_end(struct job *job);
void pmi2_job_free(struct job *job);
void pmi2_rank_ended(struct job *job, uint32_t rank);
void pmi2_rank_set(struct rank *rank, enum pmi2_rank_state state);
struct member *pmi2_job_member(struct job *job, const struct tree *child);
static inline struct pmi2_slice job_id(const struct job *job)
{
    return (struct pmi2_slice){job->entry.key, job->entry.length};
}

/* Losses of ranks: reported to the root, and the root's decision about them. */
void pmi2_loss_report(struct job *job, uint32_t rank, enum loss loss);
void pmi2_loss_up(struct job *job, struct reader *reader);
void pmi2_loss_down(struct job *job, struct pmi2_slice body);
/* Root: the servers of these nodes do not serve that job (id empty: any job) any more. */
void pmi2_loss_nodes(struct pmi2_server *server, struct pmi2_slice id, uint32_t first,
                     uint32_t last);
void pmi2_loss_orphaned(struct pmi2_server *server);
void pmi2_job_abort(struct job *job, uint32_t rank, int code, struct pmi2_slice text);

/* Fences and rings. */
void pmi2_fence_enter(struct call *call, bool survivors);
void pmi2_fence_up(struct job *job, struct member *member, struct chunk *message,
                   const struct message_head *head);
/* Message: NULL: it is committed in the store already, as the latest epoch. */
void pmi2_fence_down(struct job *job, struct chunk *message, const struct message_head *head);
void pmi2_fence_fail(struct job *job); /* the job is broken: only survivors can go on */
void pmi2_fence_orphan(struct job *job); /* survivors cannot go on, either */
void pmi2_fence_forget(struct rank *rank); /* the request was dropped */
void pmi2_fence_leave(struct rank *rank); /* it is gone */
void pmi2_fence_check(struct job *job); /* completes the fence if nothing is missing */
void pmi2_ring_enter(struct call *call, struct pmi2_slice left, struct pmi2_slice right);
void pmi2_ring_up(struct job *job, struct member *member, struct chunk *message,
                  const struct message_head *head);
void pmi2_ring_down(struct job *job, struct chunk *message, const struct message_head *head);
void pmi2_ring_fail(struct job *job);

/* A pair that a client brings: 0, or a code. */
int pmi2_pair_check(const struct pmi2_server *server, struct pmi2_slice key,
                    struct pmi2_slice value);
/* Puts; the text of what went wrong. */
int pmi2_rank_put(struct rank *rank, struct pmi2_slice key, struct pmi2_slice value,
                  const char **reason);
void pmi2_kvs_get(struct call *call, struct pmi2_slice id, struct pmi2_slice key);
void pmi2_kvs_get_answer(struct call *call, int code, struct pmi2_slice reason,
                         struct reader *body);
void pmi2_kvs_getall_answer(struct call *call, int code, struct pmi2_slice reason,
                            struct reader *body);
void pmi2_kvs_getall(struct call *call, struct pmi2_slice id);

/* Attributes. */
bool pmi2_attribute_job(struct job *job, struct pmi2_slice key, struct writer *text,
                        struct pmi2_slice *value);
/* The reply; no value where it is not found. */
void pmi2_attribute_answer(struct call *call, const char *name, bool found,
                           struct pmi2_slice value);
/* PMI_process_mapping, however long it is; `text` is freed by the caller. */
bool pmi2_attribute_mapping(const struct job *job, struct writer *text, struct pmi2_slice *value);
/* A long value from `offset` on, as much as a reply holds. */
void pmi2_attribute_piece(struct call *call, const char *name, struct pmi2_slice value,
                          size_t offset);
#define NO_OFFSET SIZE_MAX
void pmi2_attribute_get(struct call *call, struct pmi2_slice key, bool wait, size_t offset);
int pmi2_attribute_put(struct job *job, struct pmi2_slice key, struct pmi2_slice value,
                       const char **reason);
void pmi2_attribute_forget(struct request *request);
void pmi2_attributes_fail(struct job *job);
void pmi2_attributes_fini(struct job *job);

/* ---- what only the root can answer ------------------------------------------------------------
 */

enum root_kind {
    ROOT_PUBLISH = 1, /* service, port */
    ROOT_LOOKUP, /* service → port */
    ROOT_UNPUBLISH, /* service */
    ROOT_CONNECT, /* id, u8 copy → u8 kvscopy */
    ROOT_DISCONNECT, /* id */
    ROOT_GET, /* id, key → u8 found, value */
    ROOT_GETALL, /* id → records */
    ROOT_PUTALL, /* id, u32 count, records */
    ROOT_SPAWN, /* spawn.c → id, u32 count, u32 each */
};
const char *pmi2_root_name(enum root_kind kind, bool line); /* of its reply */
/* The body of a request; the requester is put in front of it. NULL: it was refused and answered. */
struct request *pmi2_root_begin(struct call *call, enum root_kind kind, struct writer *body);
void pmi2_root_send(struct request *request, struct writer *body);
void pmi2_root_answered(struct request *request, int code, struct pmi2_slice reason,
                        struct reader *body); /* the reply on the wire */
void pmi2_root_forget(struct request *request);
void pmi2_root_answer_message(struct pmi2_server *server, const struct message_head *head,
                              struct chunk *message);
void pmi2_root_request_message(struct pmi2_server *server, struct tree *from,
                               const struct message_head *head, struct chunk *message);
void pmi2_root_fail(struct pmi2_server *server); /* all requests: the root is gone */

struct root_request { /* a request at the root */
    struct pmi2_server *server;
    struct job *job;
    uint32_t rank;
    struct pmi2_slice route; /* number and hops */
};
void pmi2_root_request_answer(const struct root_request *request, int code, const char *reason,
                              struct pmi2_slice body);
void pmi2_names_serve(const struct root_request *request, enum root_kind kind, struct reader *body);
void pmi2_names_end(struct job *job);
void pmi2_namings_fini(struct pmi2_server *server);
void pmi2_connect_serve(const struct root_request *request, enum root_kind kind,
                        struct reader *body);
void pmi2_connect_end(struct job *job);
void pmi2_connect_join(struct job *job, struct job *other);
void pmi2_spawn_serve(const struct root_request *request, struct pmi2_slice body);
void pmi2_spawns_fini(struct pmi2_server *server);

/* ---- spawn requests of clients ----------------------------------------------------------------
 */

void pmi2_spawn_frame(struct incoming *incoming); /* spawn, with subcmd or with spawn-cmd to come */
void pmi2_spawn_part(struct incoming *incoming); /* spawn-cmd, kvs-putall-pair */
void pmi2_spawn_block(struct incoming *incoming); /* mcmd=spawn */
void pmi2_putall_frame(struct incoming *incoming);
void pmi2_assembly_drop(struct client *client);

/* ---- proof ------------------------------------------------------------------------------------
 */

int pmi2_auth_challenge(struct pmi2_server *server,
                        struct unauthenticated_client *unauthenticated); /* 0, or a code */
bool pmi2_auth_check(const struct pmi2_server *server,
                     const struct unauthenticated_client *unauthenticated,
                     struct pmi2_slice answer);

/* ---- the tree ---------------------------------------------------------------------------------
 */

struct lossy;
struct tree {
    struct pmi2_link link;
    uint32_t first, last; /* a child's nodes */
    uint32_t number; /* of a child: never given twice */
    struct chunk *body; /* message under way */
    size_t skip; /* bytes of one that the store has already */
    struct lossy *lossy; /* NULL: a stream */
    uint64_t last_received, pinged;
    bool greeted, stopped; /* stopped: reading waits for the way up to drain */
};
static inline struct tree *tree_of(struct pmi2_link *link)
{
    return list_of(link, struct tree, link);
}
void pmi2_tree_input(struct tree *tree, const void *bytes, size_t length);
void pmi2_tree_stream(struct tree *tree, const char *bytes, size_t length);
void pmi2_tree_lost(struct tree *tree, const char *reason);
void pmi2_tree_fini(struct tree *tree);
/* A message is sent; drops the writer's bytes. NULL links are left out. */
void pmi2_tree_send(struct pmi2_link *link, struct writer *message);
void pmi2_tree_send_all(struct job *job, struct writer *message); /* to all members */
/* To the server below that answers for a node; dropped where there is none. */
bool pmi2_tree_route(struct pmi2_server *server, uint32_t node, struct writer *message);
void pmi2_tree_message(struct writer *writer, enum message_kind kind, struct pmi2_slice id,
                       uint32_t epoch, uint32_t count);
void pmi2_tree_lose(struct pmi2_server *server, struct pmi2_slice id, uint32_t first,
                    uint32_t last);
/* The server below does not serve that job (any more). */
void pmi2_tree_forget_member(struct job *job, const struct tree *child);
void pmi2_tree_time(struct tree *tree);
uint64_t pmi2_tree_deadline(const struct tree *tree);

struct lossy *pmi2_lossy_new(void);
void pmi2_lossy_free(struct lossy *lossy);
void pmi2_lossy_input(struct tree *tree, const void *bytes, size_t length);
int pmi2_lossy_output(struct tree *tree, struct iovec *pieces, int maximum);
void pmi2_lossy_sent(struct tree *tree, size_t bytes);
bool pmi2_lossy_time(struct tree *tree); /* false: the other side is lost */
uint64_t pmi2_lossy_deadline(const struct tree *tree);
bool pmi2_lossy_ready(const struct tree *tree); /* it has something to send */

/* ---- the server -------------------------------------------------------------------------------
 */

struct pmi2_server {
    struct pmi2_server_config config;
    struct pmi2_limits limits;
    uint8_t key[32];
    bool has_key, orphaned;
    struct pmi2_store *store;
    bool own_store;
    uint64_t now;
    struct map jobs;
    struct list job_list;
    struct list links;
    struct list resume; /* links whose input may go on */
    struct list unauthenticated_list, slow;
    uint32_t unauthenticated_count;
    struct tree *parent;
    struct tree **children; /* by first node */
    uint32_t child_count, child_capacity, child_number;
    struct list actions;
    struct list requests; /* that wait for the root */
    struct map request_map;
    uint64_t request_number;
    struct list ended; /* jobs whose end was not taken yet */
    struct job *taken_job; /* reported by the last action: freed with the next */
    struct notification *taken_notification;
    /* root */
    struct map names;
    struct list namings; /* reported to the embedder, not answered yet */
    struct list spawns;
    uint64_t naming_number, spawn_number;
    uint32_t spawned, job_base, job_number, group_number, foreign_count;
    /* scratch */
    struct pmi2_decoder spare; /* the buffers of clients that have no half message */
    struct pmi2_buffer reply;
    const char *reply_name; /* of the reply under construction */
    struct pmi2_counters counters;
};
/* After every call of the embedder: continues work that was held up. */
void pmi2_server_run(struct pmi2_server *server);

#endif
