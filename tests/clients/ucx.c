/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * In the style of UCX's uct/ugni: device queries before any CDM, shared FMA descriptors, the low 24
 * bits of an endpoint's address as event datum, addresses exchanged by datagrams that a thread
 * waits for (udt), FMA PUTs from the stack with no local handle, atomics into 8-byte slots, and
 * RDMA up to a fixed size.
 */
#include <pthread.h>
#include <unistd.h>
#include "client.h"

enum { FMA_LIMIT = 2048, BYTES = 256 * 1024, SLOTS = 64, DATAGRAM_ID = 0xdeadbee };
#define RDMA_LIMIT (512ull << 20)

struct ep { /* looked up by the event data */
    gni_ep_handle_t handle;
    uint32_t hash;
    int peer;
};

struct region {
    uint64_t address;
    gni_mem_handle_t handle;
};

static gni_cdm_handle_t cdm;
static gni_nic_handle_t nic;
static gni_cq_handle_t cq;
static struct ep *eps;
static struct region *regions, mine;
static uint32_t *addresses;
static char *memory;
static volatile int arrived;

static void open_device(void)
{
    const uint32_t modes = GNI_CDM_MODE_FORK_FULLCOPY | GNI_CDM_MODE_CACHED_AMO_ENABLED |
                           GNI_CDM_MODE_ERR_NO_KILL | GNI_CDM_MODE_FAST_DATAGRAM_POLL |
                           GNI_CDM_MODE_FMA_SHARED;
    gni_nic_device_t type;
    int count, ids[1];
    uint32_t address, cpu;
    uint8_t ptag;
    FILE *file;
    long most;

    CHECK(getenv("PMI_GNI_PTAG") != NULL);
    OK(GNI_GetNumLocalDevices(&count));
    CHECK(count == 1);
    OK(GNI_GetLocalDeviceIds(1, ids));
    OK(GNI_GetDeviceType(&type));
    CHECK(ids[0] == 0 && type == GNI_DEVICE_ARIES);
    OK(GNI_CdmGetNicAddress((uint32_t)ids[0], &address, &cpu));
    CHECK(address == client_local_address());
    file = fopen("/proc/sys/kernel/pid_max", "r");
    CHECK(file != NULL && fscanf(file, "%ld", &most) == 1 && most > getpid());
    fclose(file);
    ptag = (uint8_t)client_env_element("PMI_GNI_PTAG", 0);
    OK(GNI_CdmCreate((uint32_t)getpid(), ptag, client_env_element("PMI_GNI_COOKIE", 0), modes,
                     &cdm));
    OK(GNI_CdmAttach(cdm, 0, &address, &nic));
    OK(GNI_CqCreate(nic, 8192, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq));
    addresses = client_allgather(&address, sizeof(address));
}

/* ---- udt: addresses by datagrams ------------------------------------------------------------- */

static void *datagram_thread(void *arg)
{
    gni_return_t status;
    uint64_t which;

    (void)arg;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    do {
        status = GNI_PostdataProbeWaitById(nic, (uint32_t)-1, &which);
        CHECK(status == GNI_RC_SUCCESS || status == GNI_RC_TIMEOUT || status == GNI_RC_NO_MATCH);
        arrived = status == GNI_RC_SUCCESS;
        sched_yield(); /* the probe consumes nothing; the other thread does */
    } while (status != GNI_RC_SUCCESS || which != 0xffffu);
    return NULL;
}

/*
 * Each rank sends its address to its right neighbour by a bound datagram, and a wildcard receives
 * that of the left one.
 */
static void exchange_addresses(void)
{
    int pids[1] = {getpid()}, *all = client_allgather(pids, sizeof(int));
    int right = (my_rank + 1) % job_size, left = (my_rank + job_size - 1) % job_size;
    gni_ep_handle_t any, bound, self;
    gni_post_state_t state;
    uint32_t address, id;
    int out[2], in_any[2], in_bound[2], nothing = 0, left_done = 0, right_done = 0;
    pthread_t thread;

    out[0] = my_rank;
    out[1] = getpid();
    OK(GNI_EpCreate(nic, NULL, &any));
    OK(GNI_EpPostDataWId(any, out, sizeof(out), in_any, sizeof(in_any), DATAGRAM_ID));
    CHECK(pthread_create(&thread, NULL, datagram_thread, NULL) == 0);
    PMI_Barrier();
    OK(GNI_EpCreate(nic, NULL, &bound));
    OK(GNI_EpBind(bound, addresses[right], (uint32_t)all[right]));
    OK(GNI_EpPostDataWId(bound, out, sizeof(out), in_bound, sizeof(in_bound), 1));
    while (!left_done || !right_done) {
        while (!arrived)
            sched_yield();
        arrived = 0;
        if (!right_done &&
            GNI_EpPostDataTestById(bound, 1, &state, &address, &id) == GNI_RC_SUCCESS &&
            state == GNI_POST_COMPLETED) {
            CHECK(in_bound[0] == right && in_bound[1] == all[right]);
            right_done = 1;
        }
        if (!left_done &&
            GNI_EpPostDataTestById(any, DATAGRAM_ID, &state, &address, &id) == GNI_RC_SUCCESS &&
            state == GNI_POST_COMPLETED) {
            CHECK(in_any[0] == left && in_any[1] == all[left] && address == addresses[left]);
            left_done = 1;
        }
    }
    /* A datagram to this process stops the thread; its endpoint is destroyed at once. */
    PMI_Barrier();
    OK(GNI_EpCreate(nic, NULL, &self));
    OK(GNI_EpBind(self, addresses[my_rank], (uint32_t)getpid()));
    OK(GNI_EpPostDataWId(self, &nothing, sizeof(nothing), &nothing, sizeof(nothing), 0xffff));
    OK(GNI_EpDestroy(self));
    CHECK(pthread_join(thread, NULL) == 0);
    OK(GNI_EpDestroy(any));
    OK(GNI_EpDestroy(bound));
    free(all);
}

/* ---- rdma ------------------------------------------------------------------------------------ */

static void connect_all(void)
{
    int i, j;

    eps = calloc((size_t)job_size, sizeof(*eps));
    for (i = 0; i < job_size; i++) {
        OK(GNI_EpCreate(nic, cq, &eps[i].handle));
        OK(GNI_EpBind(eps[i].handle, addresses[i], 0));
        eps[i].peer = i;
        eps[i].hash = (uint32_t)((uintptr_t)eps[i].handle & 0xffffff);
        OK(GNI_EpSetEventData(eps[i].handle, eps[i].hash, eps[i].hash));
        for (j = 0; j < i; j++)
            CHECK(eps[j].hash != eps[i].hash);
    }
}

static void run(gni_post_descriptor_t *descriptor, int peer)
{
    gni_post_descriptor_t *completed;
    gni_cq_entry_t entry;
    gni_return_t status;

    descriptor->cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    descriptor->dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    descriptor->remote_mem_hndl = regions[peer].handle;
    status = descriptor->type == GNI_POST_RDMA_PUT || descriptor->type == GNI_POST_RDMA_GET
                 ? GNI_PostRdma(eps[peer].handle, descriptor)
                 : GNI_PostFma(eps[peer].handle, descriptor);
    OK(status);
    while ((status = GNI_CqGetEvent(cq, &entry)) == GNI_RC_NOT_DONE)
        ;
    CHECK(status == GNI_RC_SUCCESS && GNI_CQ_STATUS_OK(entry));
    CHECK(GNI_CQ_GET_INST_ID(entry) == eps[peer].hash);
    OK(GNI_GetCompleted(cq, entry, &completed));
    CHECK(completed == descriptor);
}

/* PUTs from the stack; the program overwrites the data as soon as the call has returned. */
static void put_short(int peer)
{
    gni_post_descriptor_t descriptor;
    char text[100];
    gni_return_t status;
    gni_cq_entry_t entry;
    gni_post_descriptor_t *completed;

    memset(text, 'a' + my_rank, sizeof(text));
    memset(&descriptor, 0, sizeof(descriptor));
    memset(&descriptor.local_mem_hndl, 0xa5, sizeof(descriptor.local_mem_hndl)); /* not read */
    descriptor.type = GNI_POST_FMA_PUT;
    descriptor.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    descriptor.local_addr = (uint64_t)(uintptr_t)text;
    descriptor.remote_addr = regions[peer].address + 128u * (unsigned)my_rank;
    descriptor.remote_mem_hndl = regions[peer].handle;
    descriptor.length = sizeof(text);
    OK(GNI_PostFma(eps[peer].handle, &descriptor));
    memset(text, 'X', sizeof(text));
    while ((status = GNI_CqGetEvent(cq, &entry)) == GNI_RC_NOT_DONE)
        ;
    OK(status);
    OK(GNI_GetCompleted(cq, entry, &completed));
}

static uint64_t atomic(int peer, gni_fma_cmd_type_t command, uint64_t offset, uint64_t length,
                       uint64_t first, uint64_t second)
{
    gni_post_descriptor_t descriptor;
    uint64_t *slot = (uint64_t *)(void *)(memory + BYTES / 2);

    slot[0] = 0;
    memset(&descriptor, 0, sizeof(descriptor));
    descriptor.type = GNI_POST_AMO;
    descriptor.amo_cmd = command;
    descriptor.local_addr = (uint64_t)(uintptr_t)slot;
    descriptor.local_mem_hndl = mine.handle;
    descriptor.remote_addr = regions[peer].address + offset;
    descriptor.length = length;
    descriptor.first_operand = first;
    descriptor.second_operand = second;
    run(&descriptor, peer);
    return slot[0];
}

static void move(gni_post_type_t type, int peer, uint64_t local, uint64_t remote, uint64_t bytes)
{
    gni_post_descriptor_t descriptor;

    CHECK(bytes <= RDMA_LIMIT);
    memset(&descriptor, 0, sizeof(descriptor));
    descriptor.type = type;
    descriptor.local_addr = mine.address + local;
    descriptor.local_mem_hndl = mine.handle;
    descriptor.remote_addr = regions[peer].address + remote;
    descriptor.length = bytes;
    run(&descriptor, peer);
}

int main(void)
{
    const uint64_t words = BYTES - 4096;
    int i, peer = 0;

    client_start();
    open_device();
    exchange_addresses();
    memory = client_pages(BYTES);
    mine.address = (uint64_t)(uintptr_t)memory;
    OK(GNI_MemRegister(nic, mine.address, BYTES, NULL,
                       GNI_MEM_READWRITE | GNI_MEM_RELAXED_PI_ORDERING, (uint32_t)-1,
                       &mine.handle));
    regions = client_allgather(&mine, sizeof(mine));
    connect_all();
    PMI_Barrier();
    for (i = 1; i <= job_size; i++)
        put_short((my_rank + i) % job_size); /* the last one is this rank itself */
    PMI_Barrier();
    for (i = 0; i < job_size; i++)
        CHECK(memory[128 * i] == 'a' + i && memory[128 * i + 99] == 'a' + i &&
              memory[128 * i + 100] == 0);
    /* All ranks work on words of rank 0: 64 bits, 32 bits, and a lock. */
    atomic(peer, GNI_FMA_ATOMIC_FADD, words, 8, 5, 0);
    atomic(peer, GNI_FMA_ATOMIC2_FIADD_S, words + 8, 4, 3, 0);
    atomic(peer, GNI_FMA_ATOMIC2_FIADD_S, words + 12, 4, 4, 0);
    while (atomic(peer, GNI_FMA_ATOMIC_CSWAP, words + 16, 8, 0, (uint64_t)my_rank + 1) != 0)
        ;
    CHECK(atomic(peer, GNI_FMA_ATOMIC2_FSWAP, words + 16, 8, 0, 0) == (uint64_t)my_rank + 1);
    PMI_Barrier();
    if (my_rank == 0) {
        CHECK(*(uint64_t *)(void *)(memory + words) == 5u * (unsigned)job_size);
        CHECK(*(uint32_t *)(void *)(memory + words + 8) == 3u * (unsigned)job_size);
        CHECK(*(uint32_t *)(void *)(memory + words + 12) == 4u * (unsigned)job_size);
        CHECK(*(uint64_t *)(void *)(memory + words + 16) == 0);
    }
    peer = (my_rank + 1) % job_size;
    memset(memory + 65536, my_rank + 1, 20000);
    PMI_Barrier();
    move(GNI_POST_RDMA_PUT, peer, 65536, 98304, 20000);
    move(GNI_POST_RDMA_GET, peer, 122880 + 3, 65536, 4000);
    move(GNI_POST_FMA_GET, peer, 130000 + 1, 65536, FMA_LIMIT);
    PMI_Barrier();
    for (i = 0; i < 20000; i++)
        CHECK(memory[98304 + i] == (char)((my_rank + job_size - 1) % job_size + 1));
    for (i = 0; i < 4000; i++)
        CHECK(memory[122880 + 3 + i] == (char)(peer + 1));
    for (i = 0; i < job_size; i++)
        OK(GNI_EpDestroy(eps[i].handle));
    OK(GNI_CqDestroy(cq));
    OK(GNI_MemDeregister(nic, &mine.handle));
    OK(GNI_CdmDestroy(cdm));
    return client_done("ucx");
}
