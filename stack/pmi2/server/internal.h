/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The objects of a server, and what its files offer each other. */
#ifndef JACQUARD_PMI2_SERVER_INTERNAL_H
#define JACQUARD_PMI2_SERVER_INTERNAL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "chunk.h"
#include "port/list.h"
#include "map.h"
#include "messages.h"
#include "pmi2/server.h"
#include "store.h"

/* Return codes on the wire; 0 to 14 are those of pmi2.h. */
enum pmi2_wire_code {
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

enum pmi2_action_owner { OWNER_LINK, OWNER_JOB, OWNER_RANK, OWNER_NOTIFICATION };
struct pmi2_server_action { /* embedded in its object; `due` has the kinds that the embedder has not
                             * taken yet
                             */
    struct port_link list;
    uint32_t due;
    uint8_t owner;
};
struct pmi2_notification { /* an action that is an object of its own */
    struct pmi2_server_action action;
    struct pmi2_action what;
    struct pmi2_chunk *chunk; /* holds the bytes that the action points to */
    char text[]; /* and the id of the job */
};
#define NO_SLICE ((struct pmi2_slice){"", 0})
void pmi2_action_due(struct pmi2_server *server, struct pmi2_server_action *action,
                     enum pmi2_action_kind kind);
void pmi2_action_forget(struct pmi2_server_action *action);
/* NULL: no memory. */
struct pmi2_notification *pmi2_notification(struct pmi2_server *server, enum pmi2_action_kind kind,
                                            struct pmi2_slice text, struct pmi2_slice job);
void pmi2_log(struct pmi2_server *server, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- links ------------------------------------------------------------------------------------
 */

struct pmi2_piece { /* bytes to be sent */
    struct pmi2_piece *next;
    struct pmi2_chunk *chunk;
    size_t start, end;
};
struct pmi2_outbox {
    struct pmi2_piece *first, *last;
    size_t bytes;
};
void pmi2_outbox_clear(struct pmi2_outbox *outbox);
bool pmi2_outbox_copy(struct pmi2_outbox *outbox, const void *bytes, size_t length);
bool pmi2_outbox_share(struct pmi2_outbox *outbox, struct pmi2_chunk *chunk, size_t start,
                       size_t end);
void pmi2_outbox_take(struct pmi2_outbox *outbox, size_t bytes);

enum pmi2_link_kind { LINK_CLIENT, LINK_CHILD, LINK_PARENT };
struct pmi2_link {
    struct pmi2_server *server;
    struct port_link list; /* of all links of the server */
    struct port_link resume; /* has input that may go on */
    void *data;
    struct pmi2_outbox out;
    struct pmi2_server_action action;
    const char *reason; /* of the close: static text */
    uint8_t kind;
    bool closing; /* or closed: the link is neither read nor written any more */
    bool ended; /* and the rank or server behind it has been cleaned up */
    bool reads;
};
void pmi2_link_write(struct pmi2_link *link, const void *bytes, size_t length);
void pmi2_link_share(struct pmi2_link *link, struct pmi2_chunk *chunk, size_t start, size_t end);
/* Asks the embedder to close the link. pmi2_server_run() cleans up later, so this function may be
 * called from anywhere. */
void pmi2_link_close(struct pmi2_link *link, const char *reason);
void pmi2_link_resume(struct pmi2_link *link); /* pmi2_server_run() handles its input */
void pmi2_link_update_reads(struct pmi2_link *link);

/* ---- clients ----------------------------------------------------------------------------------
 */

struct pmi2_server_client;
struct pmi2_unauthenticated_client { /* a client that has not authenticated yet */
    struct port_link list; /* oldest first */
    struct pmi2_server_client *client;
    struct pmi2_job *job; /* of the port; NULL: any */
    uint64_t until;
    char nonce[33]; /* empty: no challenge is open */
    bool draft; /* answers as the draft has it */
    struct pmi2_job *claimed;
    uint32_t rank;
    struct pmi2_chunk *fullinit; /* what is answered after the proof: u8 capabilities, thrid */
};
struct pmi2_assembly { /* of several messages: a spawn, kvs-putall */
    struct pmi2_writer body;
    uint32_t expected, got, processes;
    bool line, putall;
    struct pmi2_slice thrid;
    char text[];
};
enum pmi2_client_state { CLIENT_FRESH, CLIENT_INIT, CLIENT_READY, CLIENT_DONE }; /* only onwards */
struct pmi2_server_client {
    struct pmi2_link link;
    struct pmi2_job *job;
    struct pmi2_rank *rank; /* NULL: unauthenticated, or done */
    struct port_link requests; /* not answered yet, oldest first */
    struct pmi2_decoder decoder;
    struct pmi2_unauthenticated_client *unauthenticated;
    struct pmi2_assembly *assembly;
    struct port_link slow; /* does not read its replies */
    uint64_t slow_until;
    uint32_t request_count, ordered_count;
    uint8_t auth, state;
    bool capable; /* our own client library: it has sent cli-caps */
};
static inline struct pmi2_server_client *client_of(struct pmi2_link *link)
{
    return port_list_of(link, struct pmi2_server_client, link);
}
void pmi2_client_input(struct pmi2_server_client *client, const void *bytes, size_t length);
void pmi2_client_pump(struct pmi2_server_client *client); /* serves what was decoded */
void pmi2_client_lost(struct pmi2_server_client *client); /* its connection is over */
void pmi2_client_fini(struct pmi2_server_client *client);
void pmi2_client_advance(struct pmi2_server_client *client, enum pmi2_client_state state);
/* Makes the client that rank. */
void pmi2_client_unbind(
    struct pmi2_server_client *client); /* of no rank; its requests are dropped */
void pmi2_client_bind(struct pmi2_server_client *client, struct pmi2_job *job,
                      struct pmi2_rank *rank);

/* ---- requests of clients ----------------------------------------------------------------------
 */

enum pmi2_wait_for { WAIT_HELD, WAIT_FENCE, WAIT_RING, WAIT_ATTRIBUTE, WAIT_ROOT, WAIT_FINALIZE };
/* The receiver and the form of an answer. */
struct pmi2_server_call {
    struct pmi2_server_client *client;
    struct pmi2_request *request; /* NULL: it did not have to wait */
    struct pmi2_slice thrid;
    bool line, ordered;
};
struct pmi2_request { /* that waits */
    struct port_link list; /* of its client */
    struct port_link wait; /* of what it waits for */
    struct pmi2_map_entry entry; /* by number, while it waits for the root */
    struct pmi2_server_call call;
    struct pmi2_chunk *reply; /* held back: an earlier one waits */
    struct attribute *attribute;
    uint64_t number; /* at the root */
    uint8_t waits, kind;
    bool survivors; /* a fence that goes on without the lost */
    char text[];
};
/* Makes the call wait. NULL: no memory; the call has been answered with an error. */
struct pmi2_request *pmi2_call_wait(struct pmi2_server_call *call, enum pmi2_wait_for waits,
                                    const char *name);
void pmi2_request_drop(struct pmi2_request *request); /* without an answer */

/* A reply: begin, any number of fields, end. Frames: `cmd=<name>;thrid=…;`; lines `cmd=<name>`. */
struct pmi2_buffer *pmi2_reply(struct pmi2_server_call *call, const char *name);
void pmi2_reply_text(struct pmi2_server_call *call, const char *key, const char *value);
void pmi2_reply_slice(struct pmi2_server_call *call, const char *key, struct pmi2_slice value);
void pmi2_reply_int(struct pmi2_server_call *call, const char *key, int64_t value);
void pmi2_reply_end(struct pmi2_server_call *call); /* sends it, or holds it back; ends the call */
void pmi2_reply_more(struct pmi2_server_call
                         *call); /* sends this part as pmi2_reply_end does; another part follows */
/* `rc=…;errmsg=…` or ` rc=… msg=…`: a whole reply. */
void pmi2_reply_code(struct pmi2_server_call *call, const char *name, int code, const char *reason);
void pmi2_reply_code_slice(struct pmi2_server_call *call, const char *name, int code,
                           struct pmi2_slice reason);

/* One message of a client. */
struct pmi2_incoming {
    struct pmi2_server_call call;
    const struct pmi2_message *message;
};
void pmi2_serve_line(struct pmi2_incoming *incoming);
void pmi2_serve_frame(struct pmi2_incoming *incoming);
uint32_t pmi2_rank_appnum(const struct pmi2_rank *rank);
void pmi2_serve_init(struct pmi2_incoming *incoming);

/* ---- jobs -------------------------------------------------------------------------------------
 */

struct pmi2_rank { /* of this server's node */
    struct pmi2_job *job;
    struct pmi2_server_client *client;
    struct pmi2_request *fence, *ring;
    struct pmi2_chunk *puts; /* records, not fenced */
    struct pmi2_server_action action;
    uint32_t rank;
    uint16_t put_count;
    uint8_t state;
    bool fenced; /* counted in its job's `fenced` */
    bool gone; /* has finalized or is lost, so fences do not wait for it any more */
};
struct pmi2_member { /* a server below that has ranks of the job */
    struct pmi2_tree *child;
    struct pmi2_chunk *fence, *ring; /* its message */
    size_t records; /* where they begin in it */
    uint32_t count; /* of records */
    uint32_t ring_count; /* ranks in its part of the ring */
    bool fenced, ringed;
    bool entered; /* a rank there has entered the fence (false: all are gone) */
};
struct pmi2_job {
    struct pmi2_map_entry entry;
    struct port_link list; /* of the server's jobs, oldest first */
    struct pmi2_server *server;
    struct pmi2_space *space;
    struct pmi2_facts *facts;
    struct pmi2_rank *ranks; /* of this node, ascending */
    struct pmi2_member *members;
    uint32_t rank_count, member_count;
    uint32_t epoch; /* number of committed epochs */
    bool damaged; /* a replica could not be kept: gets are refused */
    bool ended;
    /* fence */
    struct pmi2_writer records; /* of this node's ranks, in this epoch */
    uint32_t record_count, fenced, ringed, gone; /* of its ranks */
    bool fence_sent; /* up, for this epoch */
    /* losses */
    struct pmi2_slice broken; /* why no fence can complete; empty: it can */
    char broken_text[40];
    int broken_code;
    bool reported_finalized;
    uint8_t *losses; /* root: of each rank */
    struct pmi2_writer dead; /* text, in order of death */
    /* attributes of this node */
    struct pmi2_map attributes;
    uint32_t attribute_count;
    /* root */
    struct port_link names;
    uint32_t name_count, group;
    struct port_link cuts; /* disconnects of its ranks from others */
    bool foreign; /* of another launcher: only pairs */
    struct pmi2_server_action action;
    uint32_t abort_rank;
    int abort_code;
    struct pmi2_chunk *abort_text;
};
struct pmi2_job *pmi2_job_find(struct pmi2_server *server, struct pmi2_slice id);
struct pmi2_rank *pmi2_job_rank(struct pmi2_job *job,
                                uint32_t rank); /* of this node; NULL: it is not */
bool pmi2_job_id_valid(const char *id);
/* Takes the message that describes it. */
struct pmi2_job *pmi2_job_new(struct pmi2_server *server, struct pmi2_chunk *message);
struct pmi2_job *pmi2_job_foreign(struct pmi2_server *server, struct pmi2_slice id);
void pmi2_job_end(struct pmi2_job *job);
void pmi2_job_free(struct pmi2_job *job);
void pmi2_rank_ended(struct pmi2_job *job, uint32_t rank);
void pmi2_rank_set(struct pmi2_rank *rank, enum pmi2_rank_state state);
struct pmi2_member *pmi2_job_member(struct pmi2_job *job, const struct pmi2_tree *child);
static inline struct pmi2_slice job_id(const struct pmi2_job *job)
{
    return (struct pmi2_slice){job->entry.key, job->entry.length};
}

/* Losses of ranks: reported to the root, and the root's decision about them. */
void pmi2_loss_report(struct pmi2_job *job, uint32_t rank, enum pmi2_loss loss);
void pmi2_loss_up(struct pmi2_job *job, struct pmi2_reader *reader);
void pmi2_loss_down(struct pmi2_job *job, struct pmi2_slice body);
/* Root: the servers of these nodes do not serve that job (id empty: any job) any more. */
void pmi2_loss_nodes(struct pmi2_server *server, struct pmi2_slice id, uint32_t first,
                     uint32_t last);
void pmi2_loss_orphaned(struct pmi2_server *server);
void pmi2_job_abort(struct pmi2_job *job, uint32_t rank, int code, struct pmi2_slice text);

/* Fences and rings. */
void pmi2_fence_enter(struct pmi2_server_call *call, bool survivors);
void pmi2_fence_up(struct pmi2_job *job, struct pmi2_member *member, struct pmi2_chunk *message,
                   const struct pmi2_message_head *head);
/* Message: NULL: it is committed in the store already, as the latest epoch. */
void pmi2_fence_down(struct pmi2_job *job, struct pmi2_chunk *message,
                     const struct pmi2_message_head *head);
void pmi2_fence_fail(struct pmi2_job *job); /* the job is broken: only survivors can go on */
void pmi2_fence_orphan(struct pmi2_job *job); /* survivors cannot go on, either */
void pmi2_fence_forget(struct pmi2_rank *rank); /* the request was dropped */
void pmi2_fence_leave(struct pmi2_rank *rank); /* it is gone */
void pmi2_fence_check(struct pmi2_job *job); /* completes the fence if nothing is missing */
void pmi2_ring_enter(struct pmi2_server_call *call, struct pmi2_slice left,
                     struct pmi2_slice right);
void pmi2_ring_up(struct pmi2_job *job, struct pmi2_member *member, struct pmi2_chunk *message,
                  const struct pmi2_message_head *head);
void pmi2_ring_down(struct pmi2_job *job, struct pmi2_chunk *message,
                    const struct pmi2_message_head *head);
void pmi2_ring_fail(struct pmi2_job *job);

/* A pair that a client brings: 0, or a code. */
int pmi2_pair_check(const struct pmi2_server *server, struct pmi2_slice key,
                    struct pmi2_slice value);
/* Puts; the text of what went wrong. */
int pmi2_rank_put(struct pmi2_rank *rank, struct pmi2_slice key, struct pmi2_slice value,
                  const char **reason);
void pmi2_kvs_get(struct pmi2_server_call *call, struct pmi2_slice id, struct pmi2_slice key);
void pmi2_kvs_get_answer(struct pmi2_server_call *call, int code, struct pmi2_slice reason,
                         struct pmi2_reader *body);
void pmi2_kvs_getall_answer(struct pmi2_server_call *call, int code, struct pmi2_slice reason,
                            struct pmi2_reader *body);
void pmi2_kvs_getall(struct pmi2_server_call *call, struct pmi2_slice id);

/* Attributes. */
bool pmi2_attribute_job(struct pmi2_job *job, struct pmi2_slice key, struct pmi2_writer *text,
                        struct pmi2_slice *value);
/* The reply; no value where it is not found. */
void pmi2_attribute_answer(struct pmi2_server_call *call, const char *name, bool found,
                           struct pmi2_slice value);
/* PMI_process_mapping, however long it is; `text` is freed by the caller. */
bool pmi2_attribute_mapping(const struct pmi2_job *job, struct pmi2_writer *text,
                            struct pmi2_slice *value);
/* A long value from `offset` on, as much as a reply holds. */
void pmi2_attribute_piece(struct pmi2_server_call *call, const char *name, struct pmi2_slice value,
                          size_t offset);
#define NO_OFFSET SIZE_MAX
void pmi2_attribute_get(struct pmi2_server_call *call, struct pmi2_slice key, bool wait,
                        size_t offset);
int pmi2_attribute_put(struct pmi2_job *job, struct pmi2_slice key, struct pmi2_slice value,
                       const char **reason);
void pmi2_attribute_forget(struct pmi2_request *request);
void pmi2_attributes_fail(struct pmi2_job *job);
void pmi2_attributes_fini(struct pmi2_job *job);

/* ---- what only the root can answer ------------------------------------------------------------
 */

enum pmi2_root_kind {
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
const char *pmi2_root_name(enum pmi2_root_kind kind, bool line); /* of its reply */
/* The body of a request; the requester is put in front of it. NULL: it was refused and answered. */
struct pmi2_request *pmi2_root_begin(struct pmi2_server_call *call, enum pmi2_root_kind kind,
                                     struct pmi2_writer *body);
void pmi2_root_send(struct pmi2_request *request, struct pmi2_writer *body);
void pmi2_root_answered(struct pmi2_request *request, int code, struct pmi2_slice reason,
                        struct pmi2_reader *body); /* the reply on the wire */
void pmi2_root_forget(struct pmi2_request *request);
void pmi2_root_answer_message(struct pmi2_server *server, const struct pmi2_message_head *head,
                              struct pmi2_chunk *message);
void pmi2_root_request_message(struct pmi2_server *server, struct pmi2_tree *from,
                               const struct pmi2_message_head *head, struct pmi2_chunk *message);
void pmi2_root_fail(struct pmi2_server *server); /* all requests: the root is gone */

struct pmi2_root_request { /* a request at the root */
    struct pmi2_server *server;
    struct pmi2_job *job;
    uint32_t rank;
    struct pmi2_slice route; /* number and hops */
};
void pmi2_root_request_answer(const struct pmi2_root_request *request, int code, const char *reason,
                              struct pmi2_slice body);
void pmi2_names_serve(const struct pmi2_root_request *request, enum pmi2_root_kind kind,
                      struct pmi2_reader *body);
void pmi2_names_end(struct pmi2_job *job);
void pmi2_namings_fini(struct pmi2_server *server);
void pmi2_connect_serve(const struct pmi2_root_request *request, enum pmi2_root_kind kind,
                        struct pmi2_reader *body);
void pmi2_connect_end(struct pmi2_job *job);
void pmi2_connect_join(struct pmi2_job *job, struct pmi2_job *other);
void pmi2_spawn_serve(const struct pmi2_root_request *request, struct pmi2_slice body);
void pmi2_spawns_fini(struct pmi2_server *server);

/* ---- spawn requests of clients ----------------------------------------------------------------
 */

void pmi2_spawn_frame(
    struct pmi2_incoming *incoming); /* spawn, with subcmd or with spawn-cmd to come */
void pmi2_spawn_part(struct pmi2_incoming *incoming); /* spawn-cmd, kvs-putall-pair */
void pmi2_spawn_block(struct pmi2_incoming *incoming); /* mcmd=spawn */
void pmi2_putall_frame(struct pmi2_incoming *incoming);
void pmi2_assembly_drop(struct pmi2_server_client *client);

/* ---- proof ------------------------------------------------------------------------------------
 */

int pmi2_auth_challenge(struct pmi2_server *server,
                        struct pmi2_unauthenticated_client *unauthenticated); /* 0, or a code */
bool pmi2_auth_check(const struct pmi2_server *server,
                     const struct pmi2_unauthenticated_client *unauthenticated,
                     struct pmi2_slice answer);

/* ---- the tree ---------------------------------------------------------------------------------
 */

struct lossy;
struct pmi2_tree {
    struct pmi2_link link;
    uint32_t first, last; /* a child's nodes */
    uint32_t number; /* of a child: never given twice */
    struct pmi2_chunk *body; /* message under way */
    size_t skip; /* bytes of one that the store has already */
    struct lossy *lossy; /* NULL: a stream */
    uint64_t last_received, pinged;
    bool greeted, stopped; /* stopped: reading waits for the way up to drain */
};
static inline struct pmi2_tree *tree_of(struct pmi2_link *link)
{
    return port_list_of(link, struct pmi2_tree, link);
}
void pmi2_tree_input(struct pmi2_tree *tree, const void *bytes, size_t length);
void pmi2_tree_stream(struct pmi2_tree *tree, const char *bytes, size_t length);
void pmi2_tree_lost(struct pmi2_tree *tree, const char *reason);
void pmi2_tree_fini(struct pmi2_tree *tree);
/* A message is sent; drops the writer's bytes. NULL links are left out. */
void pmi2_tree_send(struct pmi2_link *link, struct pmi2_writer *message);
void pmi2_tree_send_all(struct pmi2_job *job, struct pmi2_writer *message); /* to all members */
/* To the server below that answers for a node; dropped where there is none. */
bool pmi2_tree_route(struct pmi2_server *server, uint32_t node, struct pmi2_writer *message);
void pmi2_tree_message(struct pmi2_writer *writer, enum pmi2_message_kind kind,
                       struct pmi2_slice id, uint32_t epoch, uint32_t count);
void pmi2_tree_lose(struct pmi2_server *server, struct pmi2_slice id, uint32_t first,
                    uint32_t last);
/* The server below does not serve that job (any more). */
void pmi2_tree_forget_member(struct pmi2_job *job, const struct pmi2_tree *child);
void pmi2_tree_time(struct pmi2_tree *tree);
uint64_t pmi2_tree_deadline(const struct pmi2_tree *tree);

struct lossy *pmi2_lossy_new(void);
void pmi2_lossy_free(struct lossy *lossy);
void pmi2_lossy_input(struct pmi2_tree *tree, const void *bytes, size_t length);
int pmi2_lossy_output(struct pmi2_tree *tree, struct iovec *pieces, int maximum);
void pmi2_lossy_sent(struct pmi2_tree *tree, size_t bytes);
bool pmi2_lossy_time(struct pmi2_tree *tree); /* false: the other side is lost */
uint64_t pmi2_lossy_deadline(const struct pmi2_tree *tree);
bool pmi2_lossy_ready(const struct pmi2_tree *tree); /* it has something to send */

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
    struct pmi2_map jobs;
    struct port_link job_list;
    struct port_link links;
    struct port_link resume; /* links whose input may go on */
    struct port_link unauthenticated_list, slow;
    uint32_t unauthenticated_count;
    struct pmi2_tree *parent;
    struct pmi2_tree **children; /* by first node */
    uint32_t child_count, child_capacity, child_number;
    struct port_link actions;
    struct port_link requests; /* that wait for the root */
    struct pmi2_map request_map;
    uint64_t request_number;
    struct port_link ended; /* jobs whose end was not taken yet */
    struct pmi2_job *taken_job; /* reported by the last action: freed with the next */
    struct pmi2_notification *taken_notification;
    /* root */
    struct pmi2_map names;
    struct port_link namings; /* reported to the embedder, not answered yet */
    struct port_link spawns;
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
