/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the example programs of docs/findings.md have in common: a ring of ranks with memory. */
#ifndef RING_H
#define RING_H

#include <gni_pub.h>
#include <run/workload.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 64 * 1024 };

struct place { /* what another rank needs to write here */
    uint32_t nic;
    uint64_t address;
    gni_mem_handle_t memory;
};

struct ring {
    struct rank *rank;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t cq, events; /* events: of memory, see ring_events() */
    gni_ep_handle_t ep, left; /* to the right neighbour; with a mailbox, to the left one */
    struct place here, *all, right;
    uint8_t *bytes; /* MEMORY bytes, registered */
};

static int ring_open(struct ring *ring, struct rank *rank)
{
    uint32_t size = rank_size(rank), right = (rank_id(rank) + 1) % size;
    int bad = 0;

    *ring = (struct ring){.rank = rank, .all = calloc(size, sizeof(struct place))};
    if (posix_memalign((void **)&ring->bytes, 4096, MEMORY) != 0 || ring->all == NULL)
        return rank_fail(rank, "no memory");
    memset(ring->bytes, 0, MEMORY);
    ring->here.address = (uint64_t)(uintptr_t)ring->bytes;
    bad |= GNI_CdmCreate(rank_id(rank), rank_ptag(rank), rank_cookie(rank),
                         GNI_CDM_MODE_ERR_NO_KILL, &ring->cdm);
    bad |= GNI_CdmAttach(ring->cdm, 0, &ring->here.nic, &ring->nic);
    bad |= GNI_CqCreate(ring->nic, 64, 0, GNI_CQ_NOBLOCK, NULL, NULL, &ring->cq);
    bad |= GNI_MemRegister(ring->nic, ring->here.address, MEMORY, NULL, GNI_MEM_READWRITE,
                           (uint32_t)-1, &ring->here.memory);
    rank_allgather(rank, &ring->here, ring->all, sizeof(ring->here));
    ring->right = ring->all[right];
    bad |= GNI_EpCreate(ring->nic, ring->cq, &ring->ep);
    bad |= GNI_EpBind(ring->ep, ring->right.nic, right);
    return bad ? rank_fail(rank, "the ring could not be opened") : 0;
}

/* A PUT of the first `length` bytes to `offset` of the right neighbour's memory. */
static inline gni_post_descriptor_t ring_put(const struct ring *ring, uint64_t offset,
                                             uint64_t length)
{
    return (gni_post_descriptor_t){
        .type = GNI_POST_RDMA_PUT,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
        .local_addr = ring->here.address,
        .local_mem_hndl = ring->here.memory,
        .remote_addr = ring->right.address + offset,
        .remote_mem_hndl = ring->right.memory,
        .length = length,
    };
}

static gni_cq_entry_t ring_event(struct ring *ring)
{
    gni_cq_entry_t entry;

    while (GNI_CqGetEvent(ring->cq, &entry) == GNI_RC_NOT_DONE)
        ;
    return entry;
}

/* Reads the next completion and collects its descriptor. */
static inline int ring_wait(struct ring *ring)
{
    gni_post_descriptor_t *completed;

    return GNI_GetCompleted(ring->cq, ring_event(ring), &completed) == GNI_RC_SUCCESS ? 0 : -1;
}

/* Makes the endpoint to the left neighbour. */
static inline int ring_left(struct ring *ring)
{
    uint32_t size = rank_size(ring->rank), left = (rank_id(ring->rank) + size - 1) % size;

    return GNI_EpCreate(ring->nic, ring->cq, &ring->left) != GNI_RC_SUCCESS ||
                   GNI_EpBind(ring->left, ring->all[left].nic, left) != GNI_RC_SUCCESS
               ? rank_fail(ring->rank, "no endpoint")
               : 0;
}

/* Registers the memory anew, so that accesses of others make events in a queue. */
static inline int ring_events(struct ring *ring)
{
    int bad = 0;

    bad |= GNI_CqCreate(ring->nic, 64, 0, GNI_CQ_NOBLOCK, NULL, NULL, &ring->events);
    bad |= GNI_MemDeregister(ring->nic, &ring->here.memory);
    bad |= GNI_MemRegister(ring->nic, ring->here.address, MEMORY, ring->events, GNI_MEM_READWRITE,
                           (uint32_t)-1, &ring->here.memory);
    rank_allgather(ring->rank, &ring->here, ring->all, sizeof(ring->here));
    ring->right = ring->all[(rank_id(ring->rank) + 1) % rank_size(ring->rank)];
    return bad ? rank_fail(ring->rank, "no events") : 0;
}

/* Mailbox `number` in the memory of a rank; there is room for four. */
static inline gni_smsg_attr_t ring_box(const struct place *owner, uint32_t number)
{
    gni_smsg_attr_t box = {.msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = 4, .msg_maxsize = 64};
    uint32_t bytes = 0;

    GNI_SmsgBufferSizeNeeded(&box, &bytes);
    box.buff_size = bytes;
    box.msg_buffer = (void *)(uintptr_t)owner->address;
    box.mem_hndl = owner->memory;
    box.mbox_offset = number * bytes;
    return box;
}

/* Makes an endpoint to the left neighbour with a mailbox at each side. */
static inline int ring_connect_left(struct ring *ring, uint32_t here, uint32_t there)
{
    uint32_t size = rank_size(ring->rank), left = (rank_id(ring->rank) + size - 1) % size;
    gni_smsg_attr_t mine = ring_box(&ring->here, here), theirs = ring_box(&ring->all[left], there);

    return ring_left(ring) != 0 || GNI_SmsgInit(ring->left, &mine, &theirs) != GNI_RC_SUCCESS
               ? rank_fail(ring->rank, "no connection")
               : 0;
}

/* Connects to both neighbours: by mailbox 0 to the left one, by mailbox 1 to the right one. */
static inline int ring_mailbox(struct ring *ring)
{
    gni_smsg_attr_t mine = ring_box(&ring->here, 1), theirs = ring_box(&ring->right, 0);
    int bad = ring_connect_left(ring, 0, 1);

    bad |= GNI_SmsgInit(ring->ep, &mine, &theirs);
    rank_barrier(ring->rank);
    return bad ? rank_fail(ring->rank, "the mailboxes could not be opened") : 0;
}

static inline int ring_close(struct ring *ring)
{
    rank_barrier(ring->rank);
    GNI_CdmDestroy(ring->cdm);
    free(ring->bytes);
    free(ring->all);
    return 0;
}

static const struct workload_arg ring_arguments[] = {{.name = NULL}};
#define RING_PROGRAM(main_function)                                                 \
    static const struct workload ring_program = {.name = "ring",                    \
                                                 .meaning = "an example of a rule", \
                                                 .metrics = "none",                 \
                                                 .args = ring_arguments,            \
                                                 .ranks_min = 2,                    \
                                                 .main = main_function};            \
    WORKLOAD(ring_program)

#endif
