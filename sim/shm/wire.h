/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages between a process and the daemon: one packet each (SOCK_SEQPACKET) of one fixed
 * structure, with text behind it for some, and descriptors beside it for some. JOIN and PEER carry
 * the member's board, its doorbell and, where the kernel has them (Linux 5.3), its pidfd.
 *
 *   daemon: WELCOME (its board)            process: JOIN (board, doorbell, pidfd)
 *   daemon: JOINED or REFUSED (text)
 *   process: ASK, CLAIM..., UNCLAIM with an id  → daemon: PEER or ANSWER with that id
 *   daemon, at any time: PEER (id 0: somebody asked for you), GONE, ORDER (text)
 *   process, at any time: REPORT (text)
 */
#ifndef JACQUARD_SHM_WIRE_H
#define JACQUARD_SHM_WIRE_H

#include "shm/shm.h"

enum wire_kind {
    WIRE_WELCOME = 1,
    WIRE_JOIN,
    WIRE_JOINED,
    WIRE_REFUSED,
    WIRE_ASK,
    WIRE_PEER,
    WIRE_ANSWER,
    WIRE_GONE,
    WIRE_CLAIM,
    WIRE_CLAIM_SHARED,
    WIRE_CLAIM_FREE,
    WIRE_UNCLAIM,
    WIRE_ORDER,
    WIRE_REPORT,
    WIRE_KINDS
};

struct wire {
    uint32_t magic, version;
    uint32_t kind; /* enum wire_kind */
    uint32_t id; /* of a request, in its answer; 0: none */
    int32_t error; /* 0 or a negative errno */
    uint32_t slot, generation, node;
    int32_t pid;
    uint32_t count;
    uint64_t bytes; /* of an extra area */
    uint64_t value;
    struct shm_key key;
};

#define WIRE_BYTES_MAX (sizeof(struct wire) + SHM_TEXT_MAX)

enum wire_fd { WIRE_SEGMENT, WIRE_DOORBELL, WIRE_PIDFD, WIRE_FDS_MAX };

struct wire_packet {
    struct wire head;
    const char *text; /* in the receiver's buffer */
    size_t text_bytes;
    int fds[WIRE_FDS_MAX]; /* -1: none */
};

/*
 * Any bytes and any number of descriptors in; true and *packet when they are a message as it may
 * be. The descriptors stay the caller's in both cases.
 */
bool shm_wire_decode(const void *bytes, size_t count, const int *fds, unsigned fds_count,
                     struct wire_packet *packet);

/* 0 or -errno (-EAGAIN: no room now, on a non-blocking socket or with `flags` MSG_DONTWAIT). */
int shm_wire_send(int socket, const struct wire *head, const void *text, size_t text_bytes,
                  const int *fds, unsigned fds_count, int flags);

/*
 * One packet into `buffer` (WIRE_BYTES_MAX, aligned to 8), its descriptors become the caller's. 1;
 * 0: the other end is closed; -EAGAIN; -EPROTO: not a message (its descriptors are closed);
 * -EMFILE: this process can have no more descriptors, those of the message are lost, packet->head
 * is as sent (not checked); else -errno.
 */
int shm_wire_receive(int socket, void *buffer, struct wire_packet *packet, int flags);

/* Closes what the packet brought. */
void shm_wire_close(struct wire_packet *packet);

#endif
