/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Mistakes of uGNI programs, one for each rule of docs/findings.md: a run of such a rank has the
 * finding of the rule. Each rank makes the mistake with its right neighbour.
 */
#include <gni_pub.h>
#include <stdlib.h>
#include <string.h>
#include "run/workload.h"

enum { MEMORY = 256 * 1024, HALF = MEMORY / 2, PUTS = 24, BOXES = 4 };

static const struct workload_arg args[] = {
    {"mistake", ARG_CHOICE, "none", NULL, NULL,
     "none|completion_unread|unfinished|event_unread|source_changed|long_source_changed|race|"
     "read_race|late_race|descriptor_reused|descriptor_uncollected|registration_in_use|"
     "source_in_use|endpoint_in_use|messages_in_use|queue_in_use|mailbox_in_use|"
     "message_unreleased|datagram_unmatched|wildcard_unmatched",
     "what the ranks do"},
    {NULL},
};

struct place { /* what another rank needs to write here */
    uint32_t nic;
    uint64_t address;
    gni_mem_handle_t memory;
};

struct ring {
    struct rank *rank;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t cq, events; /* of posts; of accesses to the memory */
    gni_ep_handle_t ep, left; /* to the right neighbour, and to the left one */
    struct place here, *all, right;
    uint8_t *bytes;
};

/* ---- the ring -------------------------------------------------------------------------------- */

static int open_ring(struct ring *ring, struct rank *rank)
{
    uint32_t size = rank_size(rank), right = (rank_id(rank) + 1) % size;
    uint32_t left = (rank_id(rank) + size - 1) % size;
    int bad = 0;

    *ring = (struct ring){.rank = rank, .all = calloc(size, sizeof(struct place))};
    ring->bytes = aligned_alloc(4096, MEMORY);
    if (ring->bytes == NULL || ring->all == NULL)
        return rank_fail(rank, "no memory");
    memset(ring->bytes, 0, MEMORY);
    ring->here.address = (uint64_t)(uintptr_t)ring->bytes;
    bad |= (int)GNI_CdmCreate(rank_id(rank), rank_ptag(rank), rank_cookie(rank),
                              GNI_CDM_MODE_ERR_NO_KILL, &ring->cdm);
    bad |= (int)GNI_CdmAttach(ring->cdm, 0, &ring->here.nic, &ring->nic);
    bad |= (int)GNI_CqCreate(ring->nic, 64, 0, GNI_CQ_NOBLOCK, NULL, NULL, &ring->cq);
    bad |= (int)GNI_CqCreate(ring->nic, 64, 0, GNI_CQ_NOBLOCK, NULL, NULL, &ring->events);
    bad |= (int)GNI_MemRegister(ring->nic, ring->here.address, MEMORY, ring->events,
                                GNI_MEM_READWRITE, (uint32_t)-1, &ring->here.memory);
    rank_allgather(rank, &ring->here, ring->all, sizeof(ring->here));
    ring->right = ring->all[right];
    bad |= (int)GNI_EpCreate(ring->nic, ring->cq, &ring->ep);
    bad |= (int)GNI_EpBind(ring->ep, ring->right.nic, right);
    bad |= (int)GNI_EpCreate(ring->nic, ring->cq, &ring->left);
    bad |= (int)GNI_EpBind(ring->left, ring->all[left].nic, left);
    return bad != 0 ? rank_fail(rank, "the ring could not be opened") : 0;
}

static gni_post_descriptor_t transfer(const struct ring *ring, gni_post_type_t type,
                                      uint64_t offset, uint64_t length)
{
    return (gni_post_descriptor_t){
        .type = type,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
        .local_addr = ring->here.address,
        .local_mem_hndl = ring->here.memory,
        .remote_addr = ring->right.address + offset,
        .remote_mem_hndl = ring->right.memory,
        .length = length,
    };
}

static void collect(struct ring *ring, unsigned count)
{
    gni_post_descriptor_t *completed;
    gni_cq_entry_t entry;

    for (; count > 0; count--) {
        while (GNI_CqGetEvent(ring->cq, &entry) == GNI_RC_NOT_DONE)
            ;
        GNI_GetCompleted(ring->cq, entry, &completed);
    }
}

/* Mailbox `number` in the memory of a rank. */
static gni_smsg_attr_t box(const struct place *owner, uint32_t number)
{
    gni_smsg_attr_t box = {.msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = 4, .msg_maxsize = 64};
    uint32_t bytes = 0;

    GNI_SmsgBufferSizeNeeded(&box, &bytes);
    box.buff_size = bytes;
    box.msg_buffer = (void *)(uintptr_t)owner->address;
    box.mem_hndl = owner->memory;
    box.mbox_offset = number % BOXES * bytes;
    return box;
}

static int connect_left(struct ring *ring)
{
    uint32_t size = rank_size(ring->rank), left = (rank_id(ring->rank) + size - 1) % size;
    gni_smsg_attr_t mine = box(&ring->here, 0), theirs = box(&ring->all[left], 1);

    return (int)GNI_SmsgInit(ring->left, &mine, &theirs);
}

/* By mailbox 0 to the left neighbour, by mailbox 1 to the right one. */
static int connect_both(struct ring *ring)
{
    gni_smsg_attr_t mine = box(&ring->here, 1), theirs = box(&ring->right, 0);
    int bad = connect_left(ring) | (int)GNI_SmsgInit(ring->ep, &mine, &theirs);

    rank_barrier(ring->rank);
    return bad != 0 ? rank_fail(ring->rank, "the mailboxes could not be opened") : 0;
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void none(struct ring *ring)
{
    gni_post_descriptor_t put = transfer(ring, GNI_POST_RDMA_PUT, HALF, 4096);

    GNI_PostRdma(ring->ep, &put);
    collect(ring, 1);
}

static void completion_unread(struct ring *ring)
{
    static const uint64_t enough = 100000000; /* ps: the NIC has finished */
    gni_post_descriptor_t put[PUTS];
    unsigned i;

    for (i = 0; i < PUTS; i++) {
        put[i] = transfer(ring, GNI_POST_RDMA_PUT, HALF + 64 * i, 64);
        GNI_PostRdma(ring->ep, &put[i]);
    }
    rank_compute(enough);
    rank_barrier(ring->rank);
}

/* The rank ends while the NIC still moves the bytes. */
static void unfinished(struct ring *ring)
{
    static gni_post_descriptor_t put[1024]; /* by rank: they outlive the call */
    gni_post_descriptor_t *own = &put[rank_id(ring->rank) % 1024];

    *own = transfer(ring, GNI_POST_RDMA_PUT, HALF, HALF);
    GNI_PostRdma(ring->ep, own);
}

static void event_unread(struct ring *ring)
{
    gni_post_descriptor_t put = transfer(ring, GNI_POST_RDMA_PUT, HALF, 4096);

    put.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
    GNI_PostRdma(ring->ep, &put);
    collect(ring, 1);
}

static void change_source(struct ring *ring, uint64_t length, uint64_t at)
{
    gni_post_descriptor_t put = transfer(ring, GNI_POST_RDMA_PUT, HALF, length);

    GNI_PostRdma(ring->ep, &put);
    ring->bytes[at] ^= 0xff; /* too early */
    collect(ring, 1);
}

static void source_changed(struct ring *ring)
{
    change_source(ring, 4096, 4095);
}

static void long_source_changed(struct ring *ring)
{
    change_source(ring, 100000, 99999);
}

/* Two transfers of the own rank, the second one `late` ps after the first; both use the bytes. */
static void race_of(struct ring *ring, gni_post_type_t first, gni_post_type_t second,
                    uint64_t bytes, uint64_t late)
{
    gni_post_descriptor_t one = transfer(ring, first, HALF, bytes);
    gni_post_descriptor_t two = transfer(ring, second, HALF + bytes - 4, 64);

    two.local_addr += HALF - 64;
    GNI_PostRdma(ring->ep, &one);
    rank_compute(late);
    GNI_PostRdma(ring->ep, &two);
    collect(ring, 2);
}

static void race(struct ring *ring)
{
    race_of(ring, GNI_POST_RDMA_PUT, GNI_POST_RDMA_PUT, 4096, 0);
}

static void read_race(struct ring *ring)
{
    race_of(ring, GNI_POST_RDMA_GET, GNI_POST_RDMA_PUT, 4096, 0);
}

/* The first one is under way for some 10 µs. */
static void late_race(struct ring *ring)
{
    race_of(ring, GNI_POST_RDMA_PUT, GNI_POST_RDMA_PUT, 110000, 3000000);
}

static void descriptor_reused(struct ring *ring)
{
    gni_post_descriptor_t put = transfer(ring, GNI_POST_RDMA_PUT, HALF, 64);

    GNI_PostRdma(ring->ep, &put);
    put.remote_addr += 64;
    GNI_PostRdma(ring->ep, &put);
    collect(ring, 2);
}

static void descriptor_uncollected(struct ring *ring)
{
    gni_post_descriptor_t put = transfer(ring, GNI_POST_RDMA_PUT, HALF, 64);
    gni_cq_entry_t entry;

    GNI_PostRdma(ring->ep, &put);
    while (GNI_CqGetEvent(ring->cq, &entry) == GNI_RC_NOT_DONE)
        ;
    rank_barrier(ring->rank);
}

/* The left neighbour still writes here. */
static void registration_in_use(struct ring *ring)
{
    gni_post_descriptor_t put = transfer(ring, GNI_POST_RDMA_PUT, HALF, HALF);

    if (rank_id(ring->rank) != 0)
        GNI_PostRdma(ring->ep, &put);
    rank_compute(2000000);
    if (rank_id(ring->rank) == 0)
        GNI_MemDeregister(ring->nic, &ring->here.memory);
    else
        collect(ring, 1);
}

/* Its own NIC still reads here. */
static void source_in_use(struct ring *ring)
{
    gni_post_descriptor_t put = transfer(ring, GNI_POST_RDMA_PUT, HALF, HALF);

    if (rank_id(ring->rank) == 0) {
        GNI_PostRdma(ring->ep, &put);
        GNI_MemDeregister(ring->nic, &ring->here.memory);
        collect(ring, 1);
    }
}

static void endpoint_in_use(struct ring *ring)
{
    gni_post_descriptor_t put = transfer(ring, GNI_POST_RDMA_PUT, HALF, HALF);

    GNI_PostRdma(ring->ep, &put);
    GNI_EpDestroy(ring->ep);
    collect(ring, 1);
}

static void messages_in_use(struct ring *ring)
{
    uint64_t message = 1;

    if (connect_both(ring) != 0)
        return;
    GNI_SmsgSend(ring->ep, &message, sizeof(message), NULL, 0, 0);
    GNI_EpDestroy(ring->ep);
}

static void queue_in_use(struct ring *ring)
{
    gni_post_descriptor_t put = transfer(ring, GNI_POST_RDMA_PUT, HALF, HALF);
    gni_cq_handle_t own;

    GNI_CqCreate(ring->nic, 16, 0, GNI_CQ_NOBLOCK, NULL, NULL, &own);
    put.src_cq_hndl = own;
    GNI_PostRdma(ring->ep, &put);
    GNI_CqDestroy(own);
    rank_barrier(ring->rank);
    rank_compute(100000000);
}

static void mailbox_in_use(struct ring *ring)
{
    gni_smsg_attr_t mine = box(&ring->here, 0), theirs = box(&ring->right, 0);
    gni_ep_handle_t again;

    if (connect_both(ring) != 0)
        return;
    GNI_EpCreate(ring->nic, ring->cq, &again);
    GNI_EpBind(again, ring->right.nic, (rank_id(ring->rank) + 1) % rank_size(ring->rank));
    GNI_SmsgInit(again, &mine, &theirs);
}

static void message_unreleased(struct ring *ring)
{
    uint32_t number = rank_id(ring->rank);
    gni_cq_entry_t entry;
    void *message;

    if (connect_both(ring) != 0)
        return;
    GNI_SmsgSend(ring->ep, &number, sizeof(number), NULL, 0, number);
    while (GNI_SmsgGetNext(ring->left, &message) == GNI_RC_NOT_DONE)
        ;
    while (GNI_CqGetEvent(ring->cq, &entry) == GNI_RC_NOT_DONE)
        ;
}

static void datagram_unmatched(struct ring *ring)
{
    static uint32_t bytes[2];

    GNI_EpPostData(ring->ep, &bytes[0], sizeof(bytes[0]), &bytes[1], sizeof(bytes[1]));
}

static void wildcard_unmatched(struct ring *ring)
{
    static uint32_t bytes[2];
    gni_ep_handle_t anybody;

    GNI_EpCreate(ring->nic, ring->cq, &anybody);
    GNI_EpPostDataWId(anybody, &bytes[0], sizeof(bytes[0]), &bytes[1], sizeof(bytes[1]), 7);
}

static int run(struct rank *rank)
{
    static const struct {
        const char *name;
        void (*make)(struct ring *ring);
    } mistakes[] = {
        {"none", none},
        {"completion_unread", completion_unread},
        {"unfinished", unfinished},
        {"event_unread", event_unread},
        {"source_changed", source_changed},
        {"long_source_changed", long_source_changed},
        {"race", race},
        {"read_race", read_race},
        {"late_race", late_race},
        {"descriptor_reused", descriptor_reused},
        {"descriptor_uncollected", descriptor_uncollected},
        {"registration_in_use", registration_in_use},
        {"source_in_use", source_in_use},
        {"endpoint_in_use", endpoint_in_use},
        {"messages_in_use", messages_in_use},
        {"queue_in_use", queue_in_use},
        {"mailbox_in_use", mailbox_in_use},
        {"message_unreleased", message_unreleased},
        {"datagram_unmatched", datagram_unmatched},
        {"wildcard_unmatched", wildcard_unmatched},
    };
    const char *wanted = rank_arg_choice(rank, "mistake");
    struct ring ring;
    size_t i;

    if (open_ring(&ring, rank) != 0)
        return 1;
    for (i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++)
        if (strcmp(mistakes[i].name, wanted) == 0)
            mistakes[i].make(&ring);
    free(ring.all);
    if (strcmp(wanted, "unfinished") == 0)
        return 0; /* and its memory stays */
    rank_barrier(rank);
    GNI_CdmDestroy(ring.cdm);
    free(ring.bytes);
    return 0;
}

static const struct workload mistakes = {
    .name = "mistakes",
    .meaning = "mistakes of uGNI programs, each of which a rule of the run names",
    .metrics = "none",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(mistakes)
