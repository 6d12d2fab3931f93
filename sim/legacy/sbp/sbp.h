/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * SBP on Ethernet: the kernels of the hosts, with pools of frame buffers for each process. A frame
 * occupies its buffer at the sender until the receiver's kernel has a free one for it.
 */
#ifndef JACQUARD_LEGACY_SBP_H
#define JACQUARD_LEGACY_SBP_H

#include <sbp_messages.h>

#include "engine/ledger.h"
#include "engine/sim.h"
#include "model.h"

enum sbp_param {
    SBP_PICKUP = LEGACY_STEPS,
    SBP_RETURN_FULL,
    SBP_RETURN_EMPTY,
    SBP_INTERRUPT,
    SBP_BYTE,
    SBP_RETRY,
    SBP_LOST,
    SBP_BUFFERS,
    SBP_PARAMS
};

enum {
    SBP_FRAME_SIZE = SBP_HEADER_SIZE + SBP_PAYLOAD_SIZE,
    SBP_BUFFER_ROOM = 1536,
    SBP_BUFFERS_MAX = 4096
};

struct sbp_devices {
    struct legacy_network *network;
    struct sbp_host {
        struct legacy_resource wire, input, interrupt;
    } * hosts; /* by endpoint */
    struct sbp_process *processes;
    struct sbp_frame *frames; /* on their way */
    struct sbp_frame *early, **early_end; /* for processes that have not joined yet, in order */
    struct sim_ledger_book book;
    bool ending;
};

struct sbp_buffer {
    enum { SBP_FREE, SBP_OWNED, SBP_BUSY, SBP_FULL } state; /* OWNED: the program's */
    struct sbp_buffer *next; /* received ones, in order */
    char *bytes; /* SBP_BUFFER_ROOM */
};

struct sbp_pool {
    unsigned long key;
    uint32_t count, id;
    struct sbp_buffer *buffers;
    char *memory;
};

struct sbp_process {
    struct sbp_process *next;
    struct sbp_devices *devices;
    uint32_t endpoint, rank, size;
    uint64_t number;
    int frame_size;
    struct sbp_pool in, out;
    struct sbp_buffer *first, *last; /* FULL ones */
    struct sbp_frame *waiting, **waiting_end; /* no buffer was free for them */
    struct sim_fiber **threads; /* that have called */
    uint32_t thread_count;
    bool *dead; /* by rank: processes that do not answer */
    sim_time_t *ordered; /* by rank: when the last frame to it arrives */
};

struct sbp_frame {
    struct sim_event event;
    struct sbp_devices *devices;
    struct sbp_frame *next, **link; /* of all */
    struct sbp_frame *queued; /* behind it, for the same process */
    uint64_t from, to; /* processes */
    uint32_t source, target; /* endpoints */
    uint32_t buffer; /* of the sender */
    bool unreachable;
    sim_time_t delay;
    struct sim_ledger_entry entry;
    uint32_t length;
    char bytes[SBP_FRAME_SIZE];
};

struct sbp_process *sbp_process_self(void); /* NULL: it has not called sbp_initialize */
struct sbp_process *sbp_process_find(const struct sbp_devices *devices, uint64_t number);
void sbp_process_end(struct sbp_process *process);
void sbp_process_notify(const struct sbp_process *process);
bool sbp_pool_create(struct sbp_pool *pool, uint32_t count);
/* The buffer of an address; NULL: it is none. */
struct sbp_buffer *sbp_pool_find(const struct sbp_pool *pool, unsigned long frame);
struct sbp_buffer *sbp_pool_free(const struct sbp_pool *pool); /* a free one, or NULL */

void sbp_transmit(struct sbp_process *process, struct sbp_buffer *buffer);
/* Frames that wait for a buffer of the process get one. */
void sbp_place_waiting(struct sbp_process *process);
void sbp_frame_free(struct sbp_frame *frame);
/* Frames for this process that came before it has joined: it gets them, or (NULL) nobody does. */
void sbp_place_early(struct sbp_devices *devices, uint64_t number, struct sbp_process *process);

#endif
