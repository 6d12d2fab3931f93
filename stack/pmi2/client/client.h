/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The core of both client libraries: the process's connection to its process manager, and one
 * function per service. PMI2_… and PMI_… functions check their arguments and call these.
 *
 * Threads: every call takes its own place in `pending`. One of the waiting threads reads for all
 * (`reading`) and hands replies out; when its own has come and others still wait, it wakes one of
 * them to read on.
 */
#ifndef JACQUARD_PMI2_CLIENT_H
#define JACQUARD_PMI2_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmi2.h"
#include "pmi2/wire.h"
#include "port/port.h"
#include "transport.h"

/* Capabilities that our own servers announce (`srv-caps`). */
enum pmi2_caps {
    PMI2_CAP_STRICT_FENCE = 1,
    PMI2_CAP_THRID = 2,
    PMI2_CAP_ESCAPE = 4,
    PMI2_CAP_GETALL = 8,
    PMI2_CAP_SURVIVORS = 16,
    PMI2_CAP_PIECES = 32,
};

enum pmi2_state { PMI2_CLOSED, PMI2_OPENING, PMI2_OPEN, PMI2_CLOSING };

/* Does the server repeat `thrid`? Hydra does, Slurm does not. */
enum pmi2_echo { PMI2_ECHO_UNKNOWN, PMI2_ECHO_YES, PMI2_ECHO_NO };

struct pmi2_call;
struct pmi2_own_pair;

struct pmi2_client {
    struct port_mutex lock; /* protects all members except those marked as constant */
    struct port_condition turn; /* state, users, pending or sending has changed */
    enum pmi2_state state;
    uint64_t process; /* that opened it: a forked child must not use it */
    int users; /* calls that are under way */
    bool sending, reading, dead, fencing;

    /* Constant while open. */
    struct pmi2_transport transport;
    int protocol; /* 0: no process manager; 1, 2: PMI version spoken */
    unsigned caps;
    int rank, size, appnum;
    bool spawned;
    char *jobid; /* protocol 0 and 1 */

    enum pmi2_echo echo;
    struct pmi2_call *pending, **pending_end; /* oldest first */
    uint64_t last_thrid;
    struct pmi2_decoder decoder; /* of the reading thread */

    int server_version, server_subversion; /* kept when closed */
    struct pmi2_own_pair *own; /* protocol 0: its space of keys */
    const PMI2X_host_t *host;
    void *pmi1; /* what PMI-1's functions keep, until PMI is finalized */
    void (*pmi1_free)(void *pmi1);
};

/* ---- life (client.c) ---------------------------------------------------------------------------
 */

/* What PMI2_Init and PMI_Init do. v1: a manager that knows only PMI-1 will do. */
int pmi2_client_open(bool v1);
int pmi2_client_close(void);
bool pmi2_client_is_open(void);
/* One of the constant numbers: PMI2_ERR_INIT, or PMI2_ERR_INVALID_ARG where there is no room. */
int pmi2_client_number(int *to, size_t member);
/* The open client, to be given back with pmi2_leave; NULL: there is none for the caller. */
struct pmi2_client *pmi2_enter(void);
void pmi2_leave(struct pmi2_client *client);
/* The client even when it is closed; makes it. NULL: no memory, or the caller was forked. */
struct pmi2_client *pmi2_client_get(void);
/* Of a process that ends, or a library that is unloaded: nothing if a call is under way. */
void pmi2_client_free(struct pmi2_client *client);

/* ---- calls (exchange.c) ------------------------------------------------------------------------
 */

struct pmi2_call { /* on the stack of the caller */
    const char *command;
    struct pmi2_buffer request; /* PMI-2: the pairs; PMI-1: the whole lines */
    bool slow; /* may be answered much later: others must not wait for it */
    /* More than one frame (kvs-putall): written by this instead. */
    bool (*compose)(struct pmi2_buffer *frames, const struct pmi2_call *call, uint64_t thrid);
    const void *context;
    struct pmi2_buffer *collected; /* kvs-getall: pairs, as frames */
    uint32_t collected_count;

    struct pmi2_message reply;
    void *reply_memory; /* of the host, if it has a malloc */
    const PMI2X_host_t *host;
    struct pmi2_call *next;
    struct port_condition wake;
    uint64_t thrid; /* 0: none was sent */
    bool done, waiting, no_memory;
};
void pmi2_call_init(struct pmi2_call *call, const char *command);
void pmi2_call_fini(struct pmi2_call *call);
/* Sends, waits, returns what `rc` means; then `reply` is there. */
int pmi2_call(struct pmi2_client *client, struct pmi2_call *call);
/* The same with fini, when only the code counts. */
int pmi2_call_once(struct pmi2_client *client, struct pmi2_call *call);
/* The next message, before there are calls. False: the connection ended, or sends nonsense. */
bool pmi2_receive(struct pmi2_client *client, struct pmi2_message *message);
bool pmi2_send(struct pmi2_client *client, struct pmi2_buffer *buffer);
/* The server's `found` (or the draft's `flag`), with a value behind it. */
bool pmi2_reply_found(const struct pmi2_message *reply);

/* ---- services: all return a code; the client is open, arguments are there -----------------------
 */

int pmi2_put(struct pmi2_client *client, const char *key, const char *value, int flags);
/* survivors: only of the processes that are left; PMI2_FAIL: the manager cannot do that. */
int pmi2_fence(struct pmi2_client *client, bool survivors);
/* What follows takes room of any size, also none; *needed: length of the whole value. */
int pmi2_get(struct pmi2_client *client, const char *jobid, int source, const char *key,
             char *value, size_t room, size_t *needed);
int pmi2_job_id(struct pmi2_client *client, char *id, size_t room, size_t *needed);
int pmi2_attribute(struct pmi2_client *client, bool node, const char *name, bool wait, char *value,
                   size_t room, size_t *needed, bool *found);
/* A value that is too long for one reply, or for foreign clients. Not found: the server has no more
 * to say of it than pmi2_attribute(). */
int pmi2_attribute_pieces(struct pmi2_client *client, bool node, const char *name, char *value,
                          size_t room, size_t *needed, bool *found);
int pmi2_put_attribute(struct pmi2_client *client, const char *name, const char *value);
int pmi2_connect(struct pmi2_client *client, const char *jobid, const PMI2_Connect_comm_t *conn);
/* All pairs of the own job as frames; only servers with PMI2_CAP_GETALL know how. */
int pmi2_get_all(struct pmi2_client *client, struct pmi2_buffer *pairs);
int pmi2_disconnect(struct pmi2_client *client, const char *jobid);
/* info_key NULL: none. */
int pmi2_publish(struct pmi2_client *client, const char *name, const char *info_key,
                 const char *info_value, const char *port);
int pmi2_lookup(struct pmi2_client *client, const char *name, const char *info_key,
                const char *info_value, char *port, size_t room, size_t *needed);
int pmi2_unpublish(struct pmi2_client *client, const char *name, const char *info_key,
                   const char *info_value);
int pmi2_ring(struct pmi2_client *client, const char *value, int *rank, char *left, char *right,
              size_t room);
void pmi2_abort(struct pmi2_client *client, int status, bool world, const char *text);

struct pmi2_spawn_record {
    const char *key, *value;
};
struct pmi2_spawn_args {
    int count;
    const char *const *commands;
    const int *argcs; /* NULL: the lists end with NULL */
    const char ***argvs; /* NULL, or entries of it: no arguments */
    const int *processes, *info_sizes;
    const void *info, *preput; /* as the API has them */
    int preput_size;
    /* Record j of vector i; vector -1: preput. */
    struct pmi2_spawn_record (*record)(const struct pmi2_spawn_args *args, int i, int j);
    char *jobid;
    int jobid_size;
    int *errors;
};
int pmi2_spawn(struct pmi2_client *client, const struct pmi2_spawn_args *args);

/* ---- keys of a process without a manager (alone.c) ----------------------------------------------
 */

int pmi2_alone_put(struct pmi2_client *client, const char *key, const char *value);
void pmi2_alone_commit(struct pmi2_client *client);
const char *pmi2_alone_get(struct pmi2_client *client, const char *key);
void pmi2_alone_free(struct pmi2_client *client);

/* ---- text and errors (result.c) ----------------------------------------------------------------
 */

/* As much as fits, cut between characters, with a NUL if there is room for one. True: all of it. */
bool pmi2_copy(struct pmi2_slice text, char *to, size_t room);
struct pmi2_slice pmi2_text(const char *text);
void pmi2_errmsg_set(struct pmi2_slice text);
const char *pmi2_errmsg(void);
/* What an API function returns: the code, or what the program's err_create makes of it. */
int pmi2_result(int code, const char *function);

/* Values on PMI-1 lines of foreign servers end at a space: escaped there (value1.c). */
void pmi2_value1_write(struct pmi2_buffer *line, const char *key, const char *value);
struct pmi2_slice pmi2_value1_read(struct pmi2_slice value);

#endif
