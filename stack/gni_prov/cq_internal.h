/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files about completion queues share (cq.c, cq_error.c). */
#ifndef GNIP_CQ_INTERNAL_H
#define GNIP_CQ_INTERNAL_H

#include "cq.h"
#include "gnip.h"
#include "lock.h"

enum gnip_slot_kind { GNIP_SLOT_ENTRY, GNIP_SLOT_ERROR, GNIP_SLOT_NAMELESS, GNIP_SLOT_HOLE };

struct gnip_cq_slot {
    struct fi_cq_tagged_entry entry;
    union {
        fi_addr_t source;
        uint64_t olen; /* GNIP_SLOT_ERROR */
    };
    int32_t prov_errno;
    int16_t err;
    uint8_t kind; /* enum gnip_slot_kind */
    uint8_t zero;
};
_Static_assert(sizeof(struct gnip_cq_slot) == 64, "one cache line");

struct gnip_cq_data {
    struct gnip_cq_data *next;
    uint32_t position; /* of its error entry */
    uint32_t bytes;
    uint8_t bytes_of[];
};

static inline struct gnip_cq *gnip_cq_of(struct fid_cq *fid)
{
    return gnip_container(fid, struct gnip_cq, fid);
}

static inline struct gnip_cq_slot *gnip_cq_slot_at(struct gnip_cq *cq, uint32_t position)
{
    return &cq->slots[position & (cq->room - 1)];
}

static inline uint32_t gnip_cq_reserved_add(struct gnip_cq *cq, uint32_t change)
{
    if (cq->lock.elided)
        return cq->reserved += change;
    return __atomic_add_fetch(&cq->reserved, change, __ATOMIC_RELAXED);
}

/* The slot for an entry that has a reservation. cq->lock is held. */
static inline struct gnip_cq_slot *gnip_cq_next_slot(struct gnip_cq *cq)
{
    gnip_assert_held(&cq->lock);
    assert(cq->tail - cq->head < cq->room);
    return gnip_cq_slot_at(cq, cq->tail);
}

/* Moves the head over this many slots. cq->lock is held. */
static inline void gnip_cq_advance(struct gnip_cq *cq, uint32_t slots)
{
    uint32_t head = cq->head + slots;

    gnip_assert_held(&cq->lock);
    assert(slots <= cq->tail - cq->head);
    gnip_cq_reserved_add(cq, -slots);
    if (head == cq->tail) {
        head = 0;
        __atomic_store_n(&cq->tail, 0, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&cq->head, head, __ATOMIC_RELAXED);
}

/* cq.c: schedules the VCs that waited for room, while there is some. */
void gnip_cq_schedule_waiting(struct gnip_cq *cq);
static inline void gnip_cq_may_schedule_waiting(struct gnip_cq *cq)
{
    if (gnip_unlikely(__atomic_load_n(&cq->vcs_waiting, __ATOMIC_RELAXED) != NULL))
        gnip_cq_schedule_waiting(cq);
}

/* cq_error.c; cq->lock is held. */
void gnip_cq_skip_holes(struct gnip_cq *cq); /* at the head */
/*
 * Returns the error code of the first error when it has no entry, and removes it; otherwise returns
 * -FI_EAVAIL. An injected operation has no context that names it, and applications such as Open MPI
 * dereference the context of every error entry.
 */
ssize_t gnip_cq_read_nameless(struct gnip_cq *cq);
ssize_t gnip_cq_read_counted(struct gnip_cq *cq); /* the code of one counted error; there is one */
/* fi_cq_readerr. No lock is held. */
ssize_t gnip_cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buffer, uint64_t flags);

#endif
