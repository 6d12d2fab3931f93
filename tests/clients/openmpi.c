/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * In the style of Open MPI's btl/ugni and its Cray PMI component: PMI-2 and PMI_Allgatherv for
 * start-up, instance = pid << 8 | device, a pool of endpoints that are bound for one transaction
 * and unbound again, FMA for small and RDMA for large transfers with GLOBAL_EVENT only, SMSG for
 * control messages, wildcard datagrams for connections, and a thread in GNI_CqVectorMonitor.
 */
#include <pmi2.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>
#include "client.h"

enum { MESSAGES = 24, FMA_LIMIT = 8192, POOL = 4, FIRE_AND_FORGET = -1 };
enum { TAG_HELLO = 0x1, TAG_RDMA_DONE = 0x2 };

struct modex { /* of different lengths, like that of Open MPI */
    uint32_t address, id;
    uint64_t base;
    gni_mem_handle_t handle;
    char name[32];
};

static struct modex *peers;
static gni_cdm_handle_t cdm;
static gni_nic_handle_t nic;
static gni_cq_handle_t rdma_cq, smsg_cq, smsg_remote_cq, irq_cq;
static gni_ep_handle_t pool[POOL];
static gni_mem_handle_t memory_handle, irq_handle;
static char *memory;
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int wakeups;
static size_t memory_bytes;

/* ---- start ----------------------------------------------------------------------------------- */

static void start_pmi(void)
{
    int spawned, appnum, found, major, minor, revision;
    char mapping[PMI2_MAX_VALLEN], text[PMI2_MAX_VALLEN];

    CHECK(getenv("PMI_NO_FORK") != NULL);
    CHECK(access("/proc/job", R_OK) == 0); /* or the component is not selected */
    CHECK(!PMI2_Initialized());
    CHECK(PMI2_Init(&spawned, &job_size, &my_rank, &appnum) == PMI_SUCCESS);
    CHECK(PMI2_Initialized());
    CHECK(PMI_Get_version_info(&major, &minor, &revision) == PMI_SUCCESS && major >= 5);
    CHECK(PMI2_Job_GetId(text, sizeof(text)) == PMI_SUCCESS && text[0] != '\0');
    CHECK(PMI2_Info_GetJobAttr("PMI_process_mapping", mapping, sizeof(mapping), &found) ==
              PMI_SUCCESS &&
          found && strncmp(mapping, "(vector,(", 9) == 0);
    CHECK(PMI2_Info_GetJobAttr("universeSize", text, 16, &found) == PMI_SUCCESS && found &&
          atoi(text) == job_size);
}

/* Gathers lengths and ranks first, then the data, which arrive in the same order. */
static void exchange(const struct modex *mine)
{
    struct {
        int bytes, rank;
    } own, *all = malloc(sizeof(*all) * (size_t)job_size);
    int *lengths = malloc(sizeof(int) * (size_t)job_size), i, total = 0;
    char *data, *at;

    own.bytes = (int)(offsetof(struct modex, name) + strlen(mine->name) + 1);
    own.rank = my_rank;
    CHECK(PMI_Allgather(&own, all, sizeof(own)) == PMI_SUCCESS);
    for (i = 0; i < job_size; i++) {
        lengths[all[i].rank] = all[i].bytes;
        total += all[i].bytes;
    }
    data = at = malloc((size_t)total);
    CHECK(PMI_Allgatherv((void *)mine, own.bytes, data, lengths) == PMI_SUCCESS);
    peers = calloc((size_t)job_size, sizeof(*peers));
    for (i = 0; i < job_size; i++) {
        memcpy(&peers[all[i].rank], at, (size_t)all[i].bytes);
        at += all[i].bytes;
    }
    for (i = 0; i < job_size; i++)
        CHECK(atoi(peers[i].name) == i * 1000001 % 77777);
    free(data);
    free(lengths);
    free(all);
}

static void attach(void)
{
    uint8_t ptag = (uint8_t)client_env_element("PMI_GNI_PTAG", 0);
    uint32_t cookie = client_env_element("PMI_GNI_COOKIE", 0), modes, address;
    gni_job_res_desc_t resources;
    gni_nic_device_t type;
    uint32_t id = (uint32_t)getpid() << 8;
    uint32_t stalled;
    int i;

    OK(GNI_GetDeviceType(&type));
    CHECK(type == GNI_DEVICE_ARIES);
    modes = GNI_CDM_MODE_FORK_PARTCOPY | GNI_CDM_MODE_ERR_NO_KILL |
            GNI_CDM_MODE_FAST_DATAGRAM_POLL | GNI_CDM_MODE_MDD_SHARED | GNI_CDM_MODE_FMA_SHARED |
            GNI_CDM_MODE_FMA_SMALL_WINDOW;
    OK(GNI_CdmCreate(id, ptag, cookie, modes, &cdm));
    OK(GNI_CdmAttach(cdm, 0, &address, &nic));
    CHECK(address == client_local_address());
    OK(GNI_GetJobResInfo(0, ptag, GNI_JOB_RES_MDD, &resources));
    CHECK((int)resources.limit - 20 > 0);
    OK(GNI_GetNicStat(nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL, &stalled));
    OK(GNI_CqCreate(nic, 1024, 0, GNI_CQ_NOBLOCK, NULL, NULL, &rdma_cq));
    OK(GNI_CqCreate(nic, 8192, 0, GNI_CQ_NOBLOCK, NULL, NULL, &smsg_cq));
    OK(GNI_CqCreate(nic, 40000, 0, GNI_CQ_NOBLOCK, NULL, NULL, &smsg_remote_cq));
    OK(GNI_CqCreate(nic, 1024, 0, GNI_CQ_BLOCKING, NULL, NULL, &irq_cq));
    OK(GNI_SmsgSetMaxRetrans(nic, 16));
    for (i = 0; i < POOL; i++)
        OK(GNI_EpCreate(nic, rdma_cq, &pool[i]));
}

/* ---- the progress thread --------------------------------------------------------------------- */

static void *progress_thread(void *arg)
{
    gni_cq_entry_t entry;
    gni_return_t status;
    uint32_t which;

    (void)arg;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        status = GNI_CqVectorMonitor(&irq_cq, 1, (uint64_t)-1, &which); /* without the lock */
        if (status == GNI_RC_NOT_DONE || status == GNI_RC_TIMEOUT)
            continue;
        OK(status);
        CHECK(which == 0);
        pthread_mutex_lock(&device_lock);
        while (GNI_CqGetEvent(irq_cq, &entry) == GNI_RC_SUCCESS)
            wakeups++;
        pthread_mutex_unlock(&device_lock);
    }
    return NULL;
}

/* ---- transfers ------------------------------------------------------------------------------- */

static gni_ep_handle_t take(int *place)
{
    gni_ep_handle_t ep;
    int i;

    for (i = 0; i < POOL && pool[i] == NULL; i++)
        ;
    CHECK(i < POOL);
    *place = i;
    ep = pool[i];
    pool[i] = NULL;
    return ep;
}

static gni_return_t post(gni_ep_handle_t ep, gni_post_descriptor_t *descriptor)
{
    if (descriptor->type == GNI_POST_CQWRITE)
        return GNI_PostCqWrite(ep, descriptor);
    return descriptor->type == GNI_POST_RDMA_PUT || descriptor->type == GNI_POST_RDMA_GET
               ? GNI_PostRdma(ep, descriptor)
               : GNI_PostFma(ep, descriptor);
}

/*
 * A transaction with a recoverable error is posted again at once, with the same descriptor, inside
 * the event loop.
 */
static void run(gni_ep_handle_t ep, gni_cq_handle_t cq, gni_post_descriptor_t *descriptor)
{
    gni_post_descriptor_t *completed;
    gni_cq_entry_t entry;
    gni_return_t status;
    uint32_t recoverable;

    OK(post(ep, descriptor));
    for (;;) {
        status = GNI_CqGetEvent(cq, &entry);
        if (status == GNI_RC_NOT_DONE) {
            pthread_mutex_unlock(&device_lock);
            sched_yield();
            pthread_mutex_lock(&device_lock);
            continue;
        }
        CHECK(GNI_GetCompleted(cq, entry, &completed) == status && completed == descriptor);
        if (status == GNI_RC_SUCCESS)
            break;
        CHECK_RC(GNI_RC_TRANSACTION_ERROR, status);
        OK(GNI_CqErrorRecoverable(entry, &recoverable));
        CHECK(recoverable);
        OK(post(ep, descriptor));
    }
    CHECK(descriptor->status == GNI_RC_SUCCESS);
}

/* An endpoint of the pool is bound to the next peer as soon as it was unbound. */
static void transfer(int peer, gni_post_type_t small, gni_post_type_t large, uint64_t local,
                     uint64_t remote, uint64_t bytes)
{
    gni_post_descriptor_t descriptor;
    gni_ep_handle_t ep;
    int place;

    pthread_mutex_lock(&device_lock);
    ep = take(&place);
    OK(GNI_EpBind(ep, peers[peer].address, peers[peer].id));
    memset(&descriptor, 0, sizeof(descriptor));
    descriptor.type = bytes <= FMA_LIMIT ? small : large;
    descriptor.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    descriptor.dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    descriptor.local_addr = local;
    descriptor.local_mem_hndl = memory_handle;
    descriptor.remote_addr = remote;
    descriptor.remote_mem_hndl = peers[peer].handle;
    descriptor.length = bytes;
    run(ep, rdma_cq, &descriptor);
    OK(GNI_EpUnbind(ep));
    pool[place] = ep;
    pthread_mutex_unlock(&device_lock);
}

static void check_transfers(void)
{
    uint64_t base = (uint64_t)(uintptr_t)memory, half = memory_bytes / 2;
    static const uint64_t sizes[] = {1, 7, 64, 1000, 8192, 8193, 65537, 200000};
    size_t s, i;
    int step, peer;

    for (step = 1; step < job_size; step++) {
        peer = (my_rank + step) % job_size;
        for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            uint64_t get = (sizes[s] + 3) / 4 * 4; /* the hardware's granularity */

            memset(memory, my_rank + (int)s + step, sizes[s]);
            PMI_Barrier();
            transfer(peer, GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, base, peers[peer].base + half,
                     sizes[s]);
            PMI_Barrier();
            for (i = 0; i < sizes[s]; i++)
                CHECK(memory[half + i] ==
                      (char)((my_rank - step + job_size) % job_size + (int)s + step));
            transfer(peer, GNI_POST_FMA_GET, GNI_POST_RDMA_GET, base + half, peers[peer].base, get);
            for (i = 0; i < sizes[s]; i++)
                CHECK(memory[half + i] == (char)(peer + (int)s + step));
            PMI_Barrier();
        }
    }
}

/* ---- messages over a connection made by datagrams -------------------------------------------- */

struct hello {
    gni_smsg_attr_t mailbox;
    gni_mem_handle_t irq;
};

/* Rank 0 accepts connections from all others. */
static gni_ep_handle_t connect_to(int peer, struct hello *mine, struct hello *theirs, int wildcard)
{
    gni_ep_handle_t asks, ep;
    gni_post_state_t state;
    uint32_t address, id;
    uint64_t which;
    gni_return_t status;

    OK(GNI_EpCreate(nic, NULL, &asks));
    if (!wildcard)
        OK(GNI_EpBind(asks, peers[peer].address, peers[peer].id));
    OK(GNI_EpPostDataWId(asks, mine, sizeof(*mine), theirs, sizeof(*theirs),
                         0x100u + (unsigned)peer));
    if (wildcard)
        PMI_Barrier();
    while ((status = GNI_PostDataProbeById(nic, &which)) == GNI_RC_NO_MATCH)
        sched_yield();
    OK(status);
    CHECK(which == 0x100u + (unsigned)peer);
    OK(GNI_EpPostDataWaitById(asks, which, (uint32_t)-1, &state, &address, &id));
    CHECK(state == GNI_POST_COMPLETED);
    CHECK_RC(GNI_RC_NO_MATCH, GNI_EpPostDataTestById(asks, which, &state, &address, &id));
    CHECK(address == peers[peer].address && id == peers[peer].id);
    OK(GNI_EpDestroy(asks));
    OK(GNI_EpCreate(nic, smsg_cq, &ep));
    OK(GNI_EpBind(ep, address, id));
    OK(GNI_SmsgInit(ep, &mine->mailbox, &theirs->mailbox));
    OK(GNI_EpSetEventData(ep, 7, 70)); /* local: index of the endpoint; remote: that of the peer */
    return ep;
}

static void make_mailbox(gni_smsg_attr_t *mailbox)
{
    unsigned bytes;

    memset(mailbox, 0, sizeof(*mailbox));
    mailbox->msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
    mailbox->mbox_maxcredit = 32;
    mailbox->msg_maxsize = 8192;
    OK(GNI_SmsgBufferSizeNeeded(mailbox, &bytes));
    mailbox->buff_size = bytes;
    mailbox->msg_buffer = client_pages(bytes);
    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)mailbox->msg_buffer, bytes, smsg_remote_cq,
                       GNI_MEM_READWRITE | GNI_MEM_RELAXED_PI_ORDERING, (uint32_t)-1,
                       &mailbox->mem_hndl));
}

static void messages(gni_ep_handle_t ep)
{
    struct {
        int number, bytes;
    } header;
    int sent = 0, completed = 0, received = 0, got;
    static char body[4000];
    gni_cq_entry_t entry;
    gni_return_t status;
    uint8_t tag;
    char *data;

    while (sent < MESSAGES || completed < MESSAGES || received < MESSAGES) {
        header.number = sent;
        header.bytes = sent * 150;
        if (sent < MESSAGES) {
            memset(body, sent, sizeof(body));
            status =
                GNI_SmsgSendWTag(ep, &header, sizeof(header), body, (uint32_t)header.bytes,
                                 sent % 2 ? (uint32_t)sent : (uint32_t)FIRE_AND_FORGET, TAG_HELLO);
            if (status != GNI_RC_NOT_DONE) {
                OK(status);
                sent++;
            }
        }
        while (GNI_CqGetEvent(smsg_cq, &entry) == GNI_RC_SUCCESS) {
            uint32_t id = (uint32_t)GNI_CQ_GET_MSG_ID(entry);

            CHECK(GNI_CQ_STATUS_OK(entry));
            CHECK(id == (uint32_t)FIRE_AND_FORGET || id < MESSAGES);
            completed++;
        }
        while (GNI_CqGetEvent(smsg_remote_cq, &entry) == GNI_RC_SUCCESS)
            CHECK(GNI_CQ_GET_INST_ID(entry) == 70);
        tag = GNI_SMSG_ANY_TAG;
        while (GNI_SmsgGetNextWTag(ep, (void **)&data, &tag) == GNI_RC_SUCCESS) {
            memcpy(&header, data, sizeof(header));
            CHECK(tag == TAG_HELLO && header.number == received);
            for (got = 0; got < header.bytes; got++)
                CHECK(data[sizeof(header) + (size_t)got] == (char)received);
            OK(GNI_SmsgRelease(ep));
            received++;
            tag = GNI_SMSG_ANY_TAG;
        }
    }
}

static void wake_peer(gni_ep_handle_t ep, gni_mem_handle_t irq)
{
    gni_post_descriptor_t descriptor;

    memset(&descriptor, 0, sizeof(descriptor));
    descriptor.type = GNI_POST_CQWRITE;
    descriptor.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    descriptor.dlvr_mode = GNI_DLVMODE_IN_ORDER;
    descriptor.remote_mem_hndl = irq;
    pthread_mutex_lock(&device_lock);
    run(ep, smsg_cq, &descriptor);
    pthread_mutex_unlock(&device_lock);
}

int main(void)
{
    struct hello mine, theirs;
    struct modex modex;
    gni_ep_handle_t ep = NULL;
    pthread_t thread;
    char *page;
    int peer;

    start_pmi();
    attach();
    memory_bytes = 512 * 1024;
    memory = client_pages(memory_bytes);
    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)memory, memory_bytes, NULL,
                       GNI_MEM_READWRITE | GNI_MEM_RELAXED_PI_ORDERING, (uint32_t)-1,
                       &memory_handle));
    page = client_pages(4096);
    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)page, 4096, irq_cq, GNI_MEM_READWRITE,
                       (uint32_t)-1, &irq_handle));
    memset(&modex, 0, sizeof(modex));
    modex.address = client_env_element("PMI_GNI_LOC_ADDR", 0);
    modex.id = (uint32_t)getpid() << 8;
    modex.base = (uint64_t)(uintptr_t)memory;
    modex.handle = memory_handle;
    snprintf(modex.name, sizeof(modex.name), "%d", my_rank * 1000001 % 77777);
    exchange(&modex);
    CHECK(pthread_create(&thread, NULL, progress_thread, NULL) == 0);
    check_transfers();

    peer = my_rank ^ 1;
    if (peer < job_size) {
        make_mailbox(&mine.mailbox);
        mine.irq = irq_handle;
        if (my_rank & 1)
            PMI_Barrier(); /* the even rank waits for it */
        ep = connect_to(peer, &mine, &theirs, !(my_rank & 1));
    } else {
        PMI_Barrier();
    }
    PMI_Barrier();
    if (ep != NULL) {
        messages(ep);
        CHECK(wakeups == 0);
        wake_peer(ep, theirs.irq);
        while (wakeups == 0)
            sched_yield();
    }
    PMI_Barrier();
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
    if (ep != NULL)
        OK(GNI_EpDestroy(ep));
    OK(GNI_MemDeregister(nic, &memory_handle));
    OK(GNI_CdmDestroy(cdm));
    return client_done("openmpi");
}
