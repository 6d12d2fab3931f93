/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages between a process and the daemon. Each is one packet (SOCK_SEQPACKET) of one fixed
 * structure. Some are followed by text, and some carry descriptors. JOIN and PEER carry the
 * member's segment, its doorbell and, where the kernel has them (Linux 5.3), its pidfd.
 *
 *   daemon: WELCOME (its segment)          process: JOIN (segment, doorbell, pidfd)
 *   daemon: JOINED or REFUSED (text)
 *   process: ASK, CLAIM..., UNCLAIM with an id  → daemon: PEER or ANSWER with that id
 *   daemon, at any time: PEER (id 0: a process asked for this one), GONE, ORDER (text)
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

/* Accepts any bytes and any number of descriptors. Returns true and sets *packet if they are a
 * valid message. The caller keeps the descriptors in both cases. */
bool shm_wire_decode(const void *bytes, size_t count, const int *fds, unsigned fds_count,
                     struct wire_packet *packet);

/* 0 or -errno. -EAGAIN: there is no room now (non-blocking socket, or `flags` has MSG_DONTWAIT). */
int shm_wire_send(int socket, const struct wire *head, const void *text, size_t text_bytes,
                  const int *fds, unsigned fds_count, int flags);

/* Receives one packet into `buffer` (WIRE_BYTES_MAX bytes, aligned to 8). The caller owns its
 * descriptors. Returns 1; 0: the other end is closed; -EAGAIN; -EPROTO: not a valid message (its
 * descriptors are closed); -EMFILE: this process has no free descriptors, those of the message are
 * lost, and packet->head is as sent but not checked; else -errno. */
int shm_wire_receive(int socket, void *buffer, struct wire_packet *packet, int flags);

/* Closes the descriptors of the packet. */
void shm_wire_close(struct wire_packet *packet);

#endif
