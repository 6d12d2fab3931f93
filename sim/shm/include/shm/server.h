/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The daemon's part of a fabric, for jacquard-fabricd and for tools that run a fabric themselves: a
 * server on the caller's libuv loop. It admits processes of its own user, introduces them to each
 * other, keeps the names, and notifies all members when one has ended. No function blocks, except
 * for a moment to lock the path. All calls and events are on the loop's thread.
 */
#ifndef JACQUARD_SHM_SERVER_H
#define JACQUARD_SHM_SERVER_H

#include <uv.h>
#include "shm/shm.h"

struct shm_server;

#define SHM_ALL_MEMBERS UINT32_MAX

struct shm_server_events { /* each may be NULL */
    void (*joined)(void *arg, const struct shm_member *member);
    /* The member died or has left. Its segment (shm_server_segment) exists until this returns. */
    void (*left)(void *arg, const struct shm_member *member);
    void (*report)(void *arg, const struct shm_member *member, const void *bytes, size_t count);
    /* The server has ended, by shm_server_stop or because it was empty. It is freed after this. */
    void (*ended)(void *arg);
};

struct shm_server_options {
    const char *path; /* of the socket; its folder must exist and should be of mode 0700 */
    int socket; /* a socket that listens at the path already: the server takes it over; or -1 */
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
    bool remove_folder; /* remove the folder of the path at the end */
    struct shm_server_events events;
    void *arg;
};

/*
 * `why` (SHM_WHY_BYTES, or NULL) gets one line on failure. -EADDRINUSE: a fabric runs at that path
 * already; -EINVAL: a value is out of its range; -ENOSYS: Linux before 5.1; otherwise an error of
 * the system. The caller keeps a socket that it passed if this fails.
 */
int shm_server_start(uv_loop_t *loop, const struct shm_server_options *options,
                     struct shm_server **server, char *why);

/* Removes the socket and the lock file that a killed server of this user left at the path. False:
 * there were none, or a server runs there. */
bool shm_server_remove_dead(const char *path);

/* Ends the server: members see the fabric as lost, and the socket is removed. Run the loop until
 * `ended`. */
void shm_server_stop(struct shm_server *server);

/* Sends bytes (at most SHM_TEXT_MAX) to the process in that slot, or to SHM_ALL_MEMBERS:
 * shm_events.order. */
int shm_server_order(struct shm_server *server, uint32_t slot, const void *bytes, size_t count);

/* The number of members. */
uint32_t shm_server_count(const struct shm_server *server);

/* The member in that slot; false: none. */
bool shm_server_member(const struct shm_server *server, uint32_t slot, struct shm_member *member);

/* The extra area of the member in that slot (shm_segment), read-only, and its size. NULL: no such
 * member, or no memory. It may change at any time. Valid until the event `left` of that member
 * returns. */
const void *shm_server_segment(struct shm_server *server, uint32_t slot, size_t *bytes);

/* Refuses every process that connects to that socket within `ms`, and sends it the reason. For a
 * daemon that was started by a member: the member gets no other message. */
void shm_server_refuse(int socket, const char *why, unsigned ms);

#endif
