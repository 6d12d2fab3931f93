/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The process manager's side of PMI-1 and PMI-2, without I/O: bytes in, bytes out. A server is one
 * node of a tree: clients (ranks of its own node) below it, further servers below it, one above it
 * unless it is the root. The embedder (pmrun, pmproxy, the simulator, a test, a fuzzer) moves the
 * bytes, starts and kills processes, and takes the next actions after each call.
 *
 * The same calls in the same order give the same bytes and actions. Nothing blocks, no global
 * state, no clock, no randomness of its own. One server, one thread at a time. Memory is bounded by
 * the limits. What a client sends never ends another job, another connection or the server.
 *
 * Semantics and their sources: docs/pmi2.md, docs/internals/pmi2.md.
 */
#ifndef JACQUARD_PMI2_SERVER_H
#define JACQUARD_PMI2_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "pmi2/wire.h"

struct pmi2_server;
struct pmi2_link; /* one connection */
struct pmi2_store;

#define PMI2_NO_NODE UINT32_MAX
#define PMI2_NO_RANK UINT32_MAX

enum pmi2_auth {
    PMI2_AUTH_NONE, /* having the connection is enough (an inherited socket pair) */
    PMI2_AUTH_CHALLENGE, /* an HMAC of nonce, job and rank, before anything is answered: auth.h */
    PMI2_AUTH_DRAFT, /* the draft's SHA-256(key || nonce), too */
};

struct pmi2_limits { /* 0: the default */
    uint32_t pairs_per_rank; /* put and not fenced: 64 */
    uint64_t committed_bytes; /* of one job, keys and values; a fence beyond it fails: 1 GiB */
    uint32_t unread_bytes; /* unread replies of a client, above which the server stops reading from
                            * it: 1 MiB
                            */
    uint32_t unread_seconds; /* until such a client is closed: 60 */
    uint32_t unauthenticated; /* connections that have not authenticated, at a time: 16 */
    uint32_t auth_seconds; /* 5 */
    uint32_t names; /* published by one job: 4096 */
    uint32_t node_attributes; /* of one job on one node: 4096 */
    uint32_t spawned; /* processes, in all: 1024 */
    uint32_t
        tree_seconds; /* a neighbour in the tree that sends nothing for this time is lost: 30 */
};

struct pmi2_server_config {
    uint32_t node; /* of the clients; PMI2_NO_NODE: it has none */
    uint32_t first, last; /* nodes of this server and all below it: [first, last) */
    bool root;
    bool strict_utf8; /* refuse values that are not UTF-8 (code 6), else they pass as they are */
    bool name_server; /* root: published names are kept elsewhere: PMI2_ACTION_NAME */
    bool lossy; /* tree links may lose, double and reorder messages: number, confirm, repeat them */
    struct pmi2_limits limits;
    const uint8_t *key; /* 32 bytes, for challenges; copied; NULL: none */
    void (*random)(void *context, void *bytes, size_t length); /* nonces, job ids */
    void *context;
    struct pmi2_store *store; /* shared committed keys, see below; NULL: its own */
};
/* NULL: no memory. */
struct pmi2_server *pmi2_server_new(const struct pmi2_server_config *config);
void pmi2_server_free(struct pmi2_server *server);

/*
 * Committed pairs of jobs. Servers in one address space (a simulation, a benchmark) may share one:
 * all replicas of an epoch are equal, so one is kept. If two servers receive different pairs for an
 * epoch, the later one fails the job (that would be a defect of the tree).
 */
struct pmi2_store *pmi2_store_new(void);
void pmi2_store_free(struct pmi2_store *store); /* after its servers */

/* ---- jobs --------------------------------------------------------------------------------------
 */

struct pmi2_text_pair {
    const char *key, *value;
};

struct pmi2_job_info {
    const char *id; /* "<u32>.<u32>"; NULL: the next one */
    uint32_t size; /* ranks */
    const uint32_t *node_of; /* of each rank */
    const uint32_t *app_size; /* ranks of each executable, in rank order */
    uint32_t apps;
    int64_t universe; /* processes; -1: not bounded */
    const char *spawner; /* id of the job that spawned it, or NULL */
    const struct pmi2_text_pair *attributes; /* further job attributes: physTopology, cartDims, … */
    uint32_t attribute_count;
    const struct pmi2_text_pair *preput;
    uint32_t preput_count;
    const void *launch; /* the launcher's own bytes, handed to every server with the job */
    size_t launch_bytes;
};
/*
 * Root: makes the job known to the servers of its nodes and those on the way; the servers of its
 * nodes get PMI2_ACTION_JOB. Returns its id, valid as long as the job is; NULL: malformed, id
 * taken, nodes that no server answers for, or no memory.
 */
const char *pmi2_server_job_add(struct pmi2_server *server, const struct pmi2_job_info *info);
/* Root: ends a job. Its processes have ended, or must not be served any more. Its published names
 * are removed. */
void pmi2_server_job_end(struct pmi2_server *server, const char *job);

/* The state of a rank, as its node knows it. */
enum pmi2_rank_state {
    PMI2_RANK_NEW, /* has not spoken PMI */
    PMI2_RANK_RUNNING, /* initialised */
    PMI2_RANK_FINALIZED,
    PMI2_RANK_ABORTED, /* it called PMI2_Abort with flag 0 */
    PMI2_RANK_FAILED, /* its connection broke, or the server closed it because of malformed input */
    PMI2_RANK_DEAD, /* its process has ended: pmi2_server_rank_ended */
};
enum pmi2_rank_state pmi2_server_rank_state(const struct pmi2_server *server, const char *job,
                                            uint32_t rank);
/*
 * The process of a rank of this node has ended. Unless it had finalized, fences of the job fail on
 * all ranks (but those of survivors) and the rank is listed in PMI_dead_processes. Root: may be
 * called for any rank.
 */
void pmi2_server_rank_ended(struct pmi2_server *server, const char *job, uint32_t rank);
/* Attributes of this node for one job (cartCoords of a rank: rank != PMI2_NO_RANK). */
bool pmi2_server_node_attribute(struct pmi2_server *server, const char *job, uint32_t rank,
                                const char *key, const char *value);

/* ---- connections --------------------------------------------------------------------------------
 */

/*
 * Adds a client. With a rank, the client has an inherited descriptor. With PMI2_NO_RANK, it has
 * connected to a port: it states its rank with `initack` or `fullinit` and authenticates as `auth`
 * demands; job NULL: any job. Returns NULL if there is no memory, there are too many
 * unauthenticated clients, the job or rank is not here, or the rank is connected or lost. `data` is
 * the caller's.
 */
struct pmi2_link *pmi2_server_client(struct pmi2_server *server, const char *job, uint32_t rank,
                                     enum pmi2_auth auth, void *data);
/* Adds a server below, of nodes [first, last). The caller has authenticated it. Returns NULL if
 * there is no memory, or if these nodes are not below this server or belong to another one. */
struct pmi2_link *pmi2_server_child(struct pmi2_server *server, uint32_t first, uint32_t last,
                                    void *data);
/* Sets the server above. NULL: this is the root, or a server above has been set before. */
struct pmi2_link *pmi2_server_parent(struct pmi2_server *server, void *data);

void *pmi2_link_data(const struct pmi2_link *link);
/* Bytes have arrived. On a lossy tree link: exactly one datagram. */
void pmi2_link_input(struct pmi2_link *link, const void *bytes, size_t length);
/* The other side has closed, or the connection broke. The link is freed by pmi2_link_free only. */
void pmi2_link_eof(struct pmi2_link *link);
/* False while the embedder should not read from the link, because the other side does not read what
 * it is sent. Always true for the link to the parent. */
bool pmi2_link_reads(const struct pmi2_link *link);
/* The bytes to send, oldest first; returns the number of pieces. Lossy tree links: one piece is one
 * datagram. */
int pmi2_link_output(const struct pmi2_link *link, struct iovec *pieces, int maximum);
void pmi2_link_sent(struct pmi2_link *link, size_t bytes);
/* Bytes that wait to be sent. Lossy tree links: those that are not part of a datagram yet. */
size_t pmi2_link_waiting(const struct pmi2_link *link);
/* Frees the link and drops its pending actions except TREE_LOST. An open link is first treated as
 * after pmi2_link_eof. */
void pmi2_link_free(struct pmi2_link *link);

/*
 * The launcher's own messages between servers, in order with the others: to the server above, or to
 * that of a node below (passed on by those between). PMI2_NO_NODE: to all below. Arrives as
 * PMI2_ACTION_MESSAGE.
 */
bool pmi2_server_send_up(struct pmi2_server *server, uint32_t kind, const void *bytes,
                         size_t length);
bool pmi2_server_send_down(struct pmi2_server *server, uint32_t node, uint32_t kind,
                           const void *bytes, size_t length);

/* ---- time ---------------------------------------------------------------------------------------
 */

/* Monotonic nanoseconds; call it first, and before input after a pause. */
void pmi2_server_time(struct pmi2_server *server, uint64_t now);
/* When to call it again at the latest; UINT64_MAX: not needed. */
uint64_t pmi2_server_deadline(const struct pmi2_server *server);

/* ---- actions ------------------------------------------------------------------------------------
 */

struct pmi2_command { /* one executable of a spawn */
    const char *name;
    uint32_t processes, argc;
    const char *const *argv; /* without the name */
    const struct pmi2_text_pair *info;
    uint32_t info_count;
};

struct pmi2_spawn { /* asked for by a rank; valid until pmi2_server_spawn_done answers it */
    uint64_t id;
    const char *spawner;
    uint32_t rank, processes, command_count, preput_count;
    const struct pmi2_command *commands;
    const struct pmi2_text_pair *preput;
};
/*
 * Root. job: the id that job_add gave; NULL: it failed. errors: one per process, or NULL for all 0;
 * `reason` without spaces or `;`, or NULL.
 */
void pmi2_server_spawn_done(struct pmi2_server *server, uint64_t id, const char *job,
                            const int *errors, const char *reason);

/* Publishing, looking up and unpublishing, with a name server. */
enum pmi2_name_kind { PMI2_NAME_PUBLISH, PMI2_NAME_LOOKUP, PMI2_NAME_UNPUBLISH };
struct pmi2_name_request { /* valid until pmi2_server_name_done answers it */
    uint64_t id;
    enum pmi2_name_kind kind;
    const char *job, *service, *port; /* port: of a publish, else "" */
};
enum pmi2_name_result {
    PMI2_NAME_DONE,
    PMI2_NAME_DUPLICATE, /* publish: the first one stays */
    PMI2_NAME_NOT_FOUND, /* lookup, unpublish */
    PMI2_NAME_TOO_MANY,
    PMI2_NAME_UNREACHABLE, /* there is no name server */
};
/* Root. port: what a lookup has found. An id that is not known, or answered, is passed over. */
void pmi2_server_name_done(struct pmi2_server *server, uint64_t id, enum pmi2_name_result result,
                           const char *port);

enum pmi2_action_kind {
    PMI2_ACTION_NONE,
    PMI2_ACTION_OUTPUT, /* link: has bytes to send (again) */
    PMI2_ACTION_CLOSE, /* link: send what is there, then close and free; text: why */
    PMI2_ACTION_JOB, /* job, info: start the ranks of this node; only where there are any */
    PMI2_ACTION_JOB_END, /* job: kill what is left of it on this node; likewise */
    PMI2_ACTION_SPAWN, /* root: spawn */
    /*
     * Root, once for each job: it shall end, for what came first.
     * - A rank has asked for it: rank, code: its exit status (1 to 255), text.
     * - The connection of a rank broke, or was closed for what it sent: rank, code -1, text. Its
     *   process may live. Whether the job has to end is the launcher's policy: the server goes on,
     *   with fences of survivors only.
     * - A server is lost: rank PMI2_NO_RANK, code 255, text. Policy, too.
     */
    PMI2_ACTION_ABORT,
    PMI2_ACTION_KILL, /* job, rank: only this process (PMI2_Abort with flag 0); code, text */
    PMI2_ACTION_RANK_STATE, /* job, rank: its state has changed, here (on its node) */
    PMI2_ACTION_MESSAGE, /* message: kind; bytes; node it is from, PMI2_NO_NODE: from above */
    /*
     * A server below or above is gone, that of nodes [node, last_node) and all below it; text: why.
     * Above: these are this server's own nodes, nothing reaches the root any more, and the server
     * serves its clients with errors until it is freed. link: free it, now or after it was closed
     * for PMI2_ACTION_CLOSE, which comes before this when it was this server that gave up; NULL: it
     * was freed already. Jobs with ranks there get PMI2_ACTION_ABORT, at the root.
     */
    PMI2_ACTION_TREE_LOST,
    PMI2_ACTION_LOG, /* text, one line; level 0: warning, 1: explanation */
    PMI2_ACTION_READS, /* link: the result of pmi2_link_reads() has changed */
    PMI2_ACTION_NAME, /* root with a name server: name */
};
struct pmi2_action { /* pointers are valid until the next call with this server */
    enum pmi2_action_kind kind;
    struct pmi2_link *link;
    const char *job, *text;
    uint32_t rank, node, last_node, message;
    int code, level;
    const struct pmi2_job_info *info;
    const struct pmi2_spawn *spawn;
    const struct pmi2_name_request *name;
    const void *bytes;
    size_t length;
};
/* Takes the oldest action. False: there is none. */
bool pmi2_server_next(struct pmi2_server *server, struct pmi2_action *action);

/* ---- counters
 * ------------------------------------------------------------------------------------ */

struct pmi2_counters {
    uint64_t puts, gets, fences, duplicate_keys, duplicate_puts, refused, malformed, tree_messages,
        tree_bytes, repeats, names, spawns;
};
void pmi2_server_counters(const struct pmi2_server *server, struct pmi2_counters *counters);

/* A committed pair, without a client: what a shared segment or the simulator's exchange reads. */
bool pmi2_server_committed(const struct pmi2_server *server, const char *job, struct pmi2_slice key,
                           struct pmi2_slice *value);

#endif
