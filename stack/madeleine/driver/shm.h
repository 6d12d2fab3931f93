/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shared memory driver. On each channel a process has a segment that the others write to: one
 * mailbox for each sender, with a lane for each link. A lane is a ring of slots of fixed size.
 * Segments and doorbells are descriptors that peers open through /proc, so nothing has a name that
 * could outlive the processes.
 */
#ifndef JACQUARD_MADELEINE_SHM_H
#define JACQUARD_MADELEINE_SHM_H

#include <poll.h>
#include <stdalign.h>

#include "internal.h"

enum {
    SHM_LANES = 2, /* link 0: static buffers; link 1: the user's memory, through a staging area */
    SHM_SHORT_BYTES = 4096,
    SHM_SHORT_SLOTS = 64,
    SHM_LONG_BYTES = 32768,
    SHM_LONG_SLOTS = 8
};

#define SHM_MAGIC UINT64_C(0x314D485344414D31)

struct shm_lane {
    alignas(64) uint64_t produced; /* slots, by the sender */
    alignas(64) uint64_t consumed; /* by the receiver */
    uint32_t refused; /* the receiver consumes no more: its blocks are not the sender's */
    alignas(64) uint32_t sender_waits; /* the sender wants a byte at its doorbell */
    int32_t sender_doorbell; /* descriptor in the sender's process */
    uint32_t length[SHM_SHORT_SLOTS]; /* bytes in each slot */
};

struct shm_mailbox {
    struct shm_lane lane[SHM_LANES];
    alignas(4096) char short_slots[SHM_SHORT_SLOTS][SHM_SHORT_BYTES];
    alignas(4096) char long_slots[SHM_LONG_SLOTS][SHM_LONG_BYTES];
};

struct shm_segment {
    uint64_t magic, job, channel;
    uint32_t rank, size;
    alignas(64) uint32_t receiver_waits; /* the receiver wants a byte at its doorbell */
    alignas(4096) struct shm_mailbox mailbox[]; /* by sender */
};

struct shm_channel {
    struct shm_segment *segment; /* the own one */
    size_t bytes;
    int fd, doorbell[2]; /* of the segment; the reading and the writing end */
    int last_served;
    unsigned empty_polls;
    struct pollfd *descriptors; /* room for the doorbell and all peers */
    int *ranks;
};

/* Shared by both directions. */
struct shm_peer {
    int pid;
    int process; /* a descriptor that becomes readable when the process ends; -1: none */
    struct shm_segment *segment; /* of the peer */
    size_t bytes;
    int doorbell; /* of the peer as a receiver */
    int own_doorbell[2]; /* of this process as a sender; made when it has to wait first */
    int sender_doorbell[SHM_LANES]; /* of the peer as a sender, opened; -1: not yet */
    int sender_number[SHM_LANES]; /* the number that it had there */
};

struct shm_view {
    struct shm_lane *lane;
    char *slots;
    uint32_t slot_bytes, slot_count;
};

static inline bool mad_shm_is_incoming(p_mad_connection_t connection)
{
    return connection->channel->input_connection[connection->remote_host_id] == connection;
}

static inline struct shm_peer *mad_shm_peer(p_mad_connection_t connection)
{
    return connection->specific;
}

/* ---- segments, doorbells, peers (shm_peer.c) ---- */
int mad_shm_channel_init(p_mad_channel_t channel);
int mad_shm_channel_exit(p_mad_channel_t channel);
int mad_shm_publish(p_mad_channel_t channel);
int mad_shm_connect(p_mad_channel_t channel);
int mad_shm_connection_init(p_mad_connection_t in, p_mad_connection_t out);
int mad_shm_connection_exit(p_mad_connection_t in, p_mad_connection_t out);
int mad_shm_doorbell_make(int doorbell[2]);
int mad_shm_doorbell_open(int pid, int number);
void mad_shm_ring(int doorbell);
void mad_shm_drain(int doorbell);

/* ---- slots (shm_lane.c) ---- */
/* The lane of a link, in the direction of its connection. */
struct shm_view mad_shm_view(p_mad_link_t link);
/* Waits for an unused slot. NULL: the peer has gone or has refused, see mad_shm_send_failed. */
char *mad_shm_slot(p_mad_link_t link, const struct shm_view *view);
void mad_shm_produce(p_mad_link_t link, const struct shm_view *view, size_t length);
/* Waits for a slot with data. MAD_OK, MAD_EPEER, MAD_EWIRE, MAD_EDRIVER. */
int mad_shm_arrival(p_mad_link_t link, const struct shm_view *view, char **slot, size_t *length);
void mad_shm_consume(p_mad_link_t link, const struct shm_view *view);
int mad_shm_send_failed(p_mad_link_t link, const struct shm_view *view);
void mad_shm_give_up(p_mad_connection_t in);
int mad_shm_lost(p_mad_connection_t connection);
p_mad_connection_t mad_shm_receive_message(p_mad_channel_t channel);
p_mad_connection_t mad_shm_poll_message(p_mad_channel_t channel);

#endif
