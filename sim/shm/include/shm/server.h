/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The daemon's part of a fabric, for jacquard-fabricd and for tools that run a fabric themselves: a
 * server on the caller's libuv loop. It admits processes of its own user, introduces them to each
 * other, keeps the names, and tells everybody when one has ended. No function blocks, except for a
 * moment to lock the path. All calls and events are on the loop's thread.
 */
#ifndef JACQUARD_SHM_SERVER_H
#define JACQUARD_SHM_SERVER_H

#include <uv.h>
#include "shm/shm.h"

struct shm_server;

#define SHM_ALL_MEMBERS UINT32_MAX

struct shm_server_events { /* each may be NULL */
    void (*joined)(void *arg, const struct shm_member *member);
    /* Died, or has left. Its board (shm_server_segment) is there until this returns. */
    void (*left)(void *arg, const struct shm_member *member);
    void (*report)(void *arg, const struct shm_member *member, const void *bytes, size_t count);
    /* The server has ended, by shm_server_stop or because it was empty: it is freed after this. */
    void (*ended)(void *arg);
};

struct shm_server_options {
    const char *path; /* of the socket; its folder must exist and should be of mode 0700 */
    int socket; /* one that listens at the path already, becomes the server's; or -1 */
    uint32_t nodes; /* 1 to 1048576; 0: 16 */
    uint32_t processes_max; /* 1 to SHM_PROCESSES_MAX; 0: 256 */
    uint32_t names_max; /* 1 to 1048576; 0: 65536 */
    uint64_t seed;
    const char *name; /* of the scenario; NULL: "" */
    const char *preset; /* of the topology; NULL: "" */
    const char *scenario; /* text that members may read; NULL: none */
    size_t scenario_bytes;
    bool end_when_empty; /* ends some time after the last process has left */
    uint32_t linger_ms; /* that time; 0: 200 */
    bool remove_folder; /* that of the path, at the end */
    struct shm_server_events events;
    void *arg;
};

/*
 * `why` (SHM_WHY_BYTES, or NULL) gets one line on failure. -EADDRINUSE: a fabric is up at that
 * path; -EINVAL: a figure out of its range; -ENOSYS: Linux before 5.1; else what the system said. A
 * socket given is the caller's still when it fails.
 */
int shm_server_start(uv_loop_t *loop, const struct shm_server_options *options,
                     struct shm_server **server, char *why);

/* Removes the socket and the lock file that a killed server of this user left at the path. False:
 * nothing was left there, or a server is up. */
bool shm_server_remove_dead(const char *path);

/* Ends it: members see the fabric as lost; the socket is removed. Let the loop run until `ended`.
 */
void shm_server_stop(struct shm_server *server);

/* Bytes (at most SHM_TEXT_MAX) to the process in that slot, or SHM_ALL_MEMBERS: shm_events.order.
 */
int shm_server_order(struct shm_server *server, uint32_t slot, const void *bytes, size_t count);

/* How many processes are members now. */
uint32_t shm_server_count(const struct shm_server *server);

/* The member in that slot; false: none. */
bool shm_server_member(const struct shm_server *server, uint32_t slot, struct shm_member *member);

/* What the member in that slot has in its extra area (shm_segment), read-only, and how many bytes;
 * NULL: no such member, or no memory. It may change at any time. Valid until the event `left` of
 * that member returns. */
const void *shm_server_segment(struct shm_server *server, uint32_t slot, size_t *bytes);

/* Says to all who connect to that socket within `ms` that there is no fabric, and why: for a daemon
 * that was started by a member, who hears nothing else of it. */
void shm_server_refuse(int socket, const char *why, unsigned ms);

#endif
