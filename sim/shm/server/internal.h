/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef JACQUARD_SHM_SERVER_INTERNAL_H
#define JACQUARD_SHM_SERVER_INTERNAL_H

#include <glib.h>
#include "shm/server.h"
#include "layout.h"
#include "wire.h"

#define QUEUE_MAX 4096u /* packets that wait for a member who does not read */

struct names;

/* A connection. It is a member after it has joined. */
struct member {
    struct shm_server *server;
    uv_poll_t poll, death; /* its socket; its process */
    unsigned handles; /* open ones of these two */
    int socket, pidfd, segment, doorbell;
    int own_pidfd; /* the member's own one, for its peers; -1: it has none */
    struct shm_member is;
    uint64_t segment_bytes; /* of its extra area */
    void *mapping; /* of its segment, after the first request for it */
    bool joined, ended;
    GQueue queue; /* struct packet */
};

struct shm_server {
    uv_loop_t *loop;
    struct shm_server_options options;
    char *path;
    uv_poll_t poll;
    uv_timer_t linger;
    unsigned handles;
    int socket, segment_file;
    struct fabric_segment *segment;
    struct fabric_member *table; /* in it */
    struct member **slots;
    uint32_t *generations;
    GQueue free_slots; /* the one unused for the longest time first */
    GPtrArray *connections;
    uint32_t count; /* of members */
    struct names *names;
    bool stopping;
};

/* server.c */
void shm_server_connection_ended(
    struct shm_server *server); /* one connection less: it may be the last */

/* member.c */
void shm_member_accept(struct shm_server *server, int socket);
void shm_member_end(
    struct member *member); /* it is dead or has broken the protocol; all members are notified */
void shm_member_send(struct member *member, struct wire *head, const void *text, size_t text_bytes,
                     const int *fds, unsigned fds_count);
bool shm_member_is_dead(const struct member *member); /* also before the loop has noticed */

/* join.c */
void shm_member_join(struct member *member, struct wire_packet *packet);
void shm_member_leave_slot(struct member *member);

/* names.c: the registry, and its table in the fabric's segment */
struct names *shm_names_new(struct fabric_segment *segment);
void shm_names_free(struct names *names);
/* Both store the answer in `answer` (error, slot, generation, value, key). */
void shm_names_claim(struct names *names, struct member *member, const struct wire *request,
                     struct wire *answer);
void shm_names_unclaim(struct names *names, struct member *member, const struct wire *request,
                       struct wire *answer);
void shm_names_forget(struct names *names, struct member *member);

#endif
