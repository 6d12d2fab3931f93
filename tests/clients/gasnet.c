/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A client in the style of GASNet's aries conduit. Its domain has DUAL_EVENTS: it collects the
 * LOCAL and the GLOBAL event of a post one after the other, and reuses the descriptor's own fields
 * in between. It writes active messages into slots of the peer, which REMOTE_EVENTs announce, and
 * returns credits by CQWRITEs. The flag of a PUT is stored after its data.
 */
#include <sys/mman.h>
#include "client.h"

enum { SLOT = 4096, DEPTH = 4, ROUNDS = 20, EVENTS = 1024 };

struct info {
    uint64_t address;
    gni_mem_handle_t handle, credit_handle;
};

static gni_cdm_handle_t cdm;
static gni_nic_handle_t nic;
static gni_cq_handle_t bound_cq, destination_cq;
static gni_ep_handle_t *eps;
static gni_mem_handle_t segment_handle;
static struct info *peers;
static char *segment;
static int *credits, received, total;

static void open_domain(void)
{
    const uint32_t modes = GNI_CDM_MODE_FORK_FULLCOPY | GNI_CDM_MODE_DUAL_EVENTS |
                           GNI_CDM_MODE_FMA_SHARED | GNI_CDM_MODE_MDD_SHARED |
                           GNI_CDM_MODE_ERR_NO_KILL;
    uint32_t address, *addresses;
    gni_nic_device_t type;
    int i;

    OK(GNI_GetDeviceType(&type));
    CHECK(type == GNI_DEVICE_ARIES);
    OK(GNI_CdmCreate((uint32_t)my_rank, (uint8_t)atoi(getenv("PMI_GNI_PTAG")),
                     (uint32_t)atoi(getenv("PMI_GNI_COOKIE")), modes, &cdm));
    OK(GNI_CdmAttach(cdm, 0, &address, &nic));
    OK(GNI_CqCreate(nic, 64, 0, GNI_CQ_NOBLOCK, NULL, NULL, &bound_cq));
    OK(GNI_CqCreate(nic, EVENTS, 0, GNI_CQ_NOBLOCK, NULL, NULL, &destination_cq));
    addresses = client_allgather(&address, sizeof(address));
    eps = calloc((size_t)job_size, sizeof(*eps));
    for (i = 0; i < job_size; i++) {
        OK(GNI_EpCreate(nic, bound_cq, &eps[i]));
        OK(GNI_EpBind(eps[i], addresses[i], (uint32_t)i));
    }
    free(addresses);
}

static void open_segment(void)
{
    size_t bytes = (size_t)(job_size + 1) * DEPTH * SLOT;
    struct info mine;
    char *page = client_pages(4096);
    int i;

    segment = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(segment != MAP_FAILED);
    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)segment, bytes, destination_cq,
                       GNI_MEM_READWRITE | GNI_MEM_STRICT_PI_ORDERING | GNI_MEM_PI_FLUSH,
                       (uint32_t)-1, &segment_handle));
    mine.handle = segment_handle;
    mine.address = (uint64_t)(uintptr_t)segment;
    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)page, 4096, destination_cq,
                       GNI_MEM_READWRITE | GNI_MEM_RELAXED_PI_ORDERING, (uint32_t)-1,
                       &mine.credit_handle));
    peers = client_allgather(&mine, sizeof(mine));
    credits = calloc((size_t)job_size, sizeof(*credits));
    for (i = 0; i < job_size; i++)
        credits[i] = DEPTH;
    PMI_Barrier();
}

/* ---- active messages ------------------------------------------------------------------------- */

static void answer(int source)
{
    gni_post_descriptor_t descriptor;
    gni_return_t status;

    memset(&descriptor, 0, sizeof(descriptor));
    descriptor.type = GNI_POST_CQWRITE;
    descriptor.cq_mode = GNI_CQMODE_SILENT;
    descriptor.dlvr_mode = GNI_DLVMODE_IN_ORDER;
    descriptor.cqwrite_value = 0x80000000ull | (uint64_t)my_rank; /* 32 bits are kept */
    descriptor.remote_mem_hndl = peers[source].credit_handle;
    while ((status = GNI_PostCqWrite(eps[source], &descriptor)) == GNI_RC_ERROR_RESOURCE)
        ;
    OK(status);
}

/* The 32 bits of the event name the peer and the slot. */
static void poll_destination(void)
{
    gni_cq_entry_t entry;
    gni_return_t status;

    if (GNI_CqTestEvent(destination_cq) == GNI_RC_NOT_DONE)
        return;
    while ((status = GNI_CqGetEvent(destination_cq, &entry)) == GNI_RC_SUCCESS) {
        uint32_t datum = (uint32_t)GNI_CQ_GET_REM_INST_ID(entry);
        int peer = (int)(datum & 0xffff), slot = (int)(datum >> 16 & 0xff), i;
        const int *message;

        CHECK(!GNI_CQ_OVERRUN(entry) && peer < job_size);
        if (datum >> 31) {
            credits[peer]++;
            continue;
        }
        CHECK(datum >> 24 == 0x42);
        message = (const int *)(const void *)(segment + (peer * DEPTH + slot) * SLOT);
        for (i = 0; i < 100; i++)
            CHECK(message[i] == peer * 1000 + i);
        received++;
        answer(peer);
    }
    CHECK_RC(GNI_RC_NOT_DONE, status);
}

/*
 * Waits for the two events of one post. After the first one the program may change the descriptor.
 */
static void collect(gni_post_descriptor_t *descriptor)
{
    gni_post_descriptor_t *completed;
    gni_cq_entry_t entry;
    gni_return_t status;

    while ((status = GNI_CqGetEvent(bound_cq, &entry)) == GNI_RC_NOT_DONE)
        poll_destination();
    OK(status);
    OK(GNI_GetCompleted(bound_cq, entry, &completed));
    CHECK(completed == descriptor && completed->cq_mode_complete == GNI_CQMODE_LOCAL_EVENT);
    completed->cq_mode = 0xdead;
    completed->post_id = 77;
    completed->length = 0;
    while ((status = GNI_CqGetEvent(bound_cq, &entry)) == GNI_RC_NOT_DONE)
        poll_destination();
    OK(status);
    OK(GNI_GetCompleted(bound_cq, entry, &completed));
    CHECK(completed == descriptor && (completed->cq_mode_complete & GNI_CQMODE_GLOBAL_EVENT));
    CHECK(completed->cq_mode == 0xdead && completed->post_id == 77);
    CHECK_RC(GNI_RC_INVALID_PARAM, GNI_GetCompleted(bound_cq, entry, &completed));
}

static void send(int peer, int slot)
{
    gni_post_descriptor_t *descriptor = calloc(1, sizeof(*descriptor));
    char *own = segment + (job_size * DEPTH + slot) * SLOT;
    int i;

    for (i = 0; i < 100; i++)
        ((int *)(void *)own)[i] = my_rank * 1000 + i;
    while (credits[peer] == 0)
        poll_destination();
    credits[peer]--;
    OK(GNI_EpSetEventData(eps[peer], (uint32_t)peer,
                          0x42000000u | (uint32_t)slot << 16 | (uint32_t)my_rank));
    descriptor->type = GNI_POST_RDMA_PUT;
    descriptor->cq_mode =
        GNI_CQMODE_LOCAL_EVENT | GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT;
    descriptor->dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    descriptor->local_addr = (uint64_t)(uintptr_t)own;
    descriptor->local_mem_hndl = segment_handle;
    descriptor->remote_addr = peers[peer].address + (uint64_t)(my_rank * DEPTH + slot) * SLOT;
    descriptor->remote_mem_hndl = peers[peer].handle;
    descriptor->length = 400;
    OK(GNI_PostRdma(eps[peer], descriptor));
    collect(descriptor);
    free(descriptor);
}

/* ---- data and flag --------------------------------------------------------------------------- */

static void put_with_flag(void)
{
    int peer = (my_rank + 1) % job_size, left = (my_rank + job_size - 1) % job_size, round;
    uint64_t base = (uint64_t)(uintptr_t)segment, slot = (uint64_t)(my_rank * DEPTH) * SLOT;
    volatile uint64_t *flag = (volatile uint64_t *)(void *)(segment + left * DEPTH * SLOT + 2048);
    gni_post_descriptor_t descriptor, *completed;
    gni_cq_entry_t entry;
    gni_return_t status;

    for (round = 1; round <= 4; round++) {
        memset(&descriptor, 0, sizeof(descriptor));
        memset(segment + job_size * DEPTH * SLOT, round, 1000);
        descriptor.type = GNI_POST_FMA_PUT_W_SYNCFLAG;
        descriptor.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
        descriptor.dlvr_mode = GNI_DLVMODE_PERFORMANCE;
        descriptor.local_addr = base + (uint64_t)(job_size * DEPTH) * SLOT;
        descriptor.remote_addr = peers[peer].address + slot;
        descriptor.remote_mem_hndl = peers[peer].handle;
        descriptor.length = round == 3 ? 0 : 1000; /* only the flag */
        descriptor.sync_flag_addr = peers[peer].address + slot + 2048;
        descriptor.sync_flag_value = (uint64_t)round;
        OK(GNI_PostFma(eps[peer], &descriptor));
        while ((status = GNI_CqGetEvent(bound_cq, &entry)) == GNI_RC_NOT_DONE)
            ;
        OK(status);
        OK(GNI_GetCompleted(bound_cq, entry, &completed));
        while (*flag != (uint64_t)round)
            sched_yield();
        CHECK(segment[left * DEPTH * SLOT] == (round == 3 ? 2 : round));
        CHECK(segment[left * DEPTH * SLOT + 999] == (round == 3 ? 2 : round));
        PMI_Barrier();
    }
}

/* Memory may be unmapped before it is deregistered. */
static void deregister_late(void)
{
    void *pages = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    gni_mem_handle_t handle;

    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)pages, 65536, NULL, GNI_MEM_READWRITE,
                       (uint32_t)-1, &handle));
    CHECK(munmap(pages, 65536) == 0);
    OK(GNI_MemDeregister(nic, &handle));
}

int main(void)
{
    int round, i;

    client_start();
    open_domain();
    open_segment();
    put_with_flag();
    total = (job_size - 1) * ROUNDS;
    for (round = 0; round < ROUNDS; round++)
        for (i = 1; i < job_size; i++)
            send((my_rank + i) % job_size, round % DEPTH);
    while (received < total)
        poll_destination();
    PMI_Barrier();
    poll_destination();
    for (i = 0; i < job_size; i++)
        CHECK(credits[i] == DEPTH);
    deregister_late();
    OK(GNI_CdmDestroy(cdm)); /* with everything in it */
    return client_done("gasnet");
}
