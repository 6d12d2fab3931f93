/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * In the style of libfabric's gni provider: credentials and placement from ALPS, virtual memory
 * domain handles, several queues per NIC with blocking twins, a registration cache, connections by
 * one posted wildcard datagram per process and bound datagrams of whoever connects, mailboxes of 64
 * credits with automatic retransmission, a progress thread woken by CQWRITEs to a doorbell, GETs
 * widened to 4 bytes, chained GETs, and atomics of the second generation.
 */
#include <alps/alps.h>
#include <alps/alps_toolAssist.h>
#include <alps/libalpslli.h>
#include <alps/libalpsutil.h>
#include <pthread.h>
#include <udreg_pub.h>
#include "client.h"

enum { MAX_MESSAGE = 16384, CREDITS = 64, MEMORY = 1 << 20, RETRIES = 5 };
enum { WILDCARD_ID = 0xffff };

struct request { /* a transaction: the descriptor is its first member */
    gni_post_descriptor_t descriptor;
    int done, tries;
    gni_ep_handle_t ep;
};

struct connect { /* carried by datagrams */
    int rank, vc;
    gni_smsg_attr_t mailbox;
    gni_mem_handle_t doorbell, memory;
    uint64_t address;
};

struct vc { /* a virtual connection; its number is known to the peer */
    gni_ep_handle_t ep, datagram_ep;
    struct connect mine, theirs;
    int connected, received;
};

static uint8_t ptag;
static uint32_t cookie;
static gni_cdm_handle_t cdm, cm_cdm;
static gni_nic_handle_t nic, cm_nic;
static gni_cq_handle_t tx, rx, tx_blocking, rx_blocking;
static gni_mem_handle_t doorbell_handle, memory_handle;
static gni_ep_handle_t wildcard_ep;
static struct connect offer, offered;
static struct vc *vcs;
static uint32_t *addresses;
static char *memory;
static volatile int doorbells;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- credentials and placement --------------------------------------------------------------- */

static void ask_alps(int request, void *answer, size_t bytes)
{
    int status;
    size_t count;

    CHECK(alps_app_lli_put_request(request, NULL, 0) == 0);
    CHECK(alps_app_lli_get_response(&status, &count) == 0);
    CHECK(status == ALPS_APP_LLI_ALPS_STAT_OK);
    CHECK(bytes >= count);
    CHECK(alps_app_lli_get_response_bytes(answer, count) == 0);
}

static void credentials(void)
{
    union {
        alpsAppLLIGni_t head;
        char space[512];
    } answer;
    const alpsAppGni_t *list;
    alpsAppLayout_t layout;
    int *nids, *start, *total, status, clique;
    uint64_t apid;

    CHECK(alps_app_lli_lock() == 0);
    ask_alps(ALPS_APP_LLI_ALPS_REQ_APID, &apid, sizeof(apid));
    memset(&answer, 0, sizeof(answer));
    ask_alps(ALPS_APP_LLI_ALPS_REQ_GNI, &answer, sizeof(answer));
    CHECK(alps_app_lli_unlock() == 0);
    list = (const alpsAppGni_t *)answer.head.u.buf;
    CHECK(answer.head.count >= 1);
    ptag = list[0].ptag;
    cookie = list[0].cookie;
    CHECK(cookie == strtoul(getenv("PMI_GNI_COOKIE"), NULL, 10));
    CHECK(list[0].device_id == 0 && list[0].local_addr == atoi(getenv("PMI_GNI_LOC_ADDR")));
    status = alps_get_placement_info(apid, &layout, &nids, NULL, NULL, NULL, NULL, &start, &total,
                                     NULL, NULL);
    CHECK(status == 1 && layout.numCmds == 1 && total[0] == job_size && start[0] == 0);
    CHECK(PMI_Get_clique_size(&clique) == PMI_SUCCESS && clique == layout.numPesHere);
    CHECK(layout.firstPe <= my_rank && my_rank < layout.firstPe + layout.numPesHere);
    CHECK(nids[my_rank] == nids[layout.firstPe]);
    free(nids);
    free(start);
    free(total);
    CHECK(getenv("PMI_FORK_RANK") != NULL && atoi(getenv("PMI_FORK_RANK")) == my_rank);
}

/* ---- NICs ------------------------------------------------------------------------------------ */

static void open_nics(void)
{
    const uint32_t modes = GNI_CDM_MODE_FAST_DATAGRAM_POLL | GNI_CDM_MODE_FMA_SHARED |
                           GNI_CDM_MODE_FMA_SMALL_WINDOW | GNI_CDM_MODE_FORK_PARTCOPY |
                           GNI_CDM_MODE_ERR_NO_KILL;
    gni_version_info_t version;
    gni_dev_res_desc_t device;
    gni_job_res_desc_t job;
    uint32_t address, cpu, cpus;
    int count, i;

    OK(GNI_GetNumLocalDevices(&count));
    CHECK(count == 1);
    OK(GNI_GetVersionInformation(&version));
    OK(GNI_CdmGetNicAddress(0, &address, &cpu));
    /* The one for connections and the one for data are different instances of one process. */
    OK(GNI_CdmCreate(0x10000u + (uint32_t)my_rank, ptag, cookie, modes, &cm_cdm));
    OK(GNI_CdmAttach(cm_cdm, 0, &cpus, &cm_nic));
    OK(GNI_CdmCreate(0x20000u + (uint32_t)my_rank, ptag, cookie, modes, &cdm));
    OK(GNI_CdmAttach(cdm, 0, &cpus, &nic));
    CHECK(cpus == address);
    OK(GNI_CqCreate(nic, 2048, 0, GNI_CQ_NOBLOCK, NULL, NULL, &tx));
    OK(GNI_CqCreate(nic, 2048, 0, GNI_CQ_BLOCKING, NULL, NULL, &tx_blocking));
    OK(GNI_CqCreate(nic, 2048, 0, GNI_CQ_NOBLOCK | GNI_CQ_PHYS_PAGES, NULL, NULL, &rx));
    OK(GNI_CqCreate(nic, 2048, 0, GNI_CQ_BLOCKING | GNI_CQ_PHYS_PAGES, NULL, NULL, &rx_blocking));
    OK(GNI_GetDevResInfo(0, GNI_DEV_RES_MDD, &device));
    OK(GNI_GetJobResInfo(0, ptag, GNI_JOB_RES_CQ, &job));
    for (i = GNI_DEV_RES_FIRST; i <= GNI_DEV_RES_LAST; i++)
        CHECK(gni_dev_res_to_str((gni_dev_res_t)i) != NULL);
    for (i = GNI_JOB_RES_FIRST; i <= GNI_JOB_RES_LAST; i++)
        CHECK(gni_job_res_to_str((gni_job_res_t)i) != NULL);
}

/* ---- registration cache ---------------------------------------------------------------------- */

static int registered, deregistered;

static void *register_memory(void *address, uint64_t length, void *context)
{
    gni_mem_handle_t *handle = malloc(sizeof(*handle));

    CHECK(context == (void *)&registered);
    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)address, length, NULL,
                       GNI_MEM_READWRITE | GNI_MEM_RELAXED_PI_ORDERING, (uint32_t)-1, handle));
    registered++;
    return handle;
}

static uint32_t deregister_memory(void *registration, void *context)
{
    CHECK(context == (void *)&deregistered);
    OK(GNI_MemDeregister(nic, registration));
    free(registration);
    deregistered++;
    return 0;
}

/* Registered once while it is used and while there is room, deregistered when the room is needed.
 */
static void use_cache(void)
{
    udreg_cache_attr_t attributes;
    udreg_cache_handle_t cache;
    udreg_entry_t *entries[6], *again;
    uint64_t hits;
    int i;

    memset(&attributes, 0, sizeof(attributes));
    strcpy(attributes.cache_name, "mr");
    attributes.max_entries = 4;
    attributes.modes = UDREG_CC_MODE_USE_LAZY_DEREG;
    attributes.reg_context = &registered;
    attributes.dreg_context = &deregistered;
    attributes.device_reg_func = register_memory;
    attributes.device_dereg_func = deregister_memory;
    CHECK(UDREG_CacheCreate(&attributes) == UDREG_RC_SUCCESS);
    CHECK(UDREG_CacheCreate(&attributes) != UDREG_RC_SUCCESS);
    CHECK(UDREG_CacheAccess(attributes.cache_name, &cache) == UDREG_RC_SUCCESS);
    for (i = 0; i < 6; i++) {
        CHECK(UDREG_Register(cache, memory + i * 8192, 100, &entries[i]) == UDREG_RC_SUCCESS);
        CHECK(UDREG_Register(cache, memory + i * 8192 + 50, 20, &again) == UDREG_RC_SUCCESS);
        CHECK(again == entries[i]);
        CHECK(UDREG_Unregister(cache, again) == UDREG_RC_SUCCESS);
        CHECK(UDREG_Unregister(cache, entries[i]) == UDREG_RC_SUCCESS);
    }
    CHECK(registered == 6 && deregistered == 2);
    CHECK(UDREG_GetStat(cache, UDREG_STAT_CACHE_HIT, &hits) == UDREG_RC_SUCCESS && hits == 6);
    CHECK(UDREG_Register(cache, memory + 5 * 8192, 10, &again) == UDREG_RC_SUCCESS);
    CHECK(UDREG_CacheDestroy(cache) != UDREG_RC_SUCCESS); /* in use */
    CHECK(UDREG_Unregister(cache, again) == UDREG_RC_SUCCESS);
    CHECK(UDREG_CacheRelease(cache) == UDREG_RC_SUCCESS);
    CHECK(UDREG_CacheDestroy(cache) == UDREG_RC_SUCCESS);
    CHECK(registered == 6 && deregistered == 6);
}

/* ---- progress -------------------------------------------------------------------------------- */

static void *progress_thread(void *arg)
{
    gni_cq_handle_t queues[2];
    gni_cq_entry_t entry;
    gni_return_t status;
    uint32_t which;

    (void)arg;
    queues[0] = rx_blocking;
    queues[1] = tx_blocking;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        status = GNI_CqVectorMonitor(queues, 2, (uint64_t)-1, &which);
        if (status != GNI_RC_SUCCESS)
            continue;
        pthread_mutex_lock(&lock);
        if (which == 0 && GNI_CqGetEvent(rx_blocking, &entry) == GNI_RC_SUCCESS)
            doorbells++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void post(struct request *request);

static void one_tx(gni_cq_entry_t entry, gni_return_t status)
{
    gni_post_descriptor_t *descriptor;
    struct request *request;
    uint32_t recoverable;
    char text[256];

    if (GNI_CQ_GET_TYPE(entry) == GNI_CQ_EVENT_TYPE_SMSG) {
        CHECK(status == GNI_RC_SUCCESS && (uint32_t)GNI_CQ_GET_MSG_ID(entry) < 100000u);
        return;
    }
    if (status == GNI_RC_TRANSACTION_ERROR) {
        OK(GNI_CqErrorRecoverable(entry, &recoverable));
        OK(GNI_CqErrorStr(entry, text, sizeof(text)));
        CHECK_RC(GNI_RC_TRANSACTION_ERROR, GNI_GetCompleted(tx, entry, &descriptor));
        request = (struct request *)descriptor;
        CHECK(recoverable && ++request->tries < RETRIES);
        post(request);
        return;
    }
    OK(GNI_GetCompleted(tx, entry, &descriptor));
    ((struct request *)descriptor)->done = 1;
}

static void progress_tx(void)
{
    gni_cq_entry_t entry;
    gni_return_t status;

    while ((status = GNI_CqGetEvent(tx, &entry)) != GNI_RC_NOT_DONE)
        one_tx(entry, status);
}

static void read_vc(struct vc *vc)
{
    uint8_t tag = GNI_SMSG_ANY_TAG;
    gni_return_t status;
    int *message;

    while ((status = GNI_SmsgGetNextWTag(vc->ep, (void **)&message, &tag)) == GNI_RC_SUCCESS) {
        CHECK(message[0] == vc->received && message[1] == vc->theirs.rank);
        vc->received++;
        OK(GNI_SmsgRelease(vc->ep));
        tag = GNI_SMSG_ANY_TAG;
    }
    CHECK(status == GNI_RC_NOT_DONE);
}

/* Every event names the connection: the number that we gave to the peer. */
static void progress_rx(void)
{
    gni_cq_entry_t entry;
    gni_return_t status;
    int vc;

    if (GNI_CqTestEvent(rx) == GNI_RC_NOT_DONE) /* cheap, and without the lock */
        return;
    pthread_mutex_lock(&lock);
    while ((status = GNI_CqGetEvent(rx, &entry)) != GNI_RC_NOT_DONE) {
        if (status == GNI_RC_ERROR_RESOURCE) {
            CHECK(GNI_CQ_OVERRUN(entry));
            for (vc = 0; vc < job_size; vc++)
                if (vcs[vc].connected)
                    read_vc(&vcs[vc]);
            continue;
        }
        OK(status);
        vc = (int)GNI_CQ_GET_INST_ID(entry);
        CHECK(vc < job_size);
        if (vcs[vc].connected)
            read_vc(&vcs[vc]);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void make_mailbox(struct connect *connect)
{
    gni_smsg_attr_t *mailbox = &connect->mailbox;
    unsigned bytes;

    memset(mailbox, 0, sizeof(*mailbox));
    mailbox->msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
    mailbox->mbox_maxcredit = CREDITS;
    mailbox->msg_maxsize = MAX_MESSAGE;
    OK(GNI_SmsgBufferSizeNeeded(mailbox, &bytes));
    mailbox->buff_size = bytes;
    mailbox->msg_buffer = client_pages(bytes);
    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)mailbox->msg_buffer, bytes, rx, GNI_MEM_READWRITE,
                       (uint32_t)-1, &mailbox->mem_hndl));
    connect->doorbell = doorbell_handle;
    connect->memory = memory_handle;
    connect->address = (uint64_t)(uintptr_t)memory;
    connect->rank = my_rank;
}

/* EpCreate, EpBind, SmsgInit, EpSetEventData: in this order. */
static void finish(int vc, const struct connect *theirs)
{
    struct vc *one = &vcs[vc];

    one->theirs = *theirs;
    OK(GNI_EpCreate(nic, tx, &one->ep));
    OK(GNI_EpBind(one->ep, addresses[theirs->rank], 0x20000u + (uint32_t)theirs->rank));
    OK(GNI_SmsgInit(one->ep, &one->mine.mailbox, &one->theirs.mailbox));
    OK(GNI_EpSetEventData(one->ep, (uint32_t)vc, (uint32_t)theirs->vc));
    one->connected = 1;
    read_vc(one); /* what came before */
}

/* A wildcard belongs to whoever connects next, so its number is that of the next connection. */
static void post_wildcard(int vc)
{
    memset(&offer, 0, sizeof(offer));
    make_mailbox(&vcs[vc].mine);
    offer = vcs[vc].mine;
    offer.vc = vcs[vc].mine.vc = vc;
    OK(GNI_EpPostDataWId(wildcard_ep, &offer, sizeof(offer), &offered, sizeof(offered),
                         WILDCARD_ID));
}

static void take_wildcard(int vc, int more)
{
    gni_post_state_t state;
    uint32_t address, id;

    OK(GNI_EpPostDataTestById(wildcard_ep, WILDCARD_ID, &state, &address, &id));
    CHECK(state == GNI_POST_COMPLETED && address == addresses[offered.rank]);
    CHECK(id == 0x10000u + (uint32_t)offered.rank);
    finish(vc, &offered);
    if (more)
        post_wildcard(vc + 1);
}

/* Lower ranks wait for higher ones. Connection v of a rank: first those that come to it. */
static void connect_all(void)
{
    int incoming = job_size - 1 - my_rank, accepted = 0, asked = 0, done = 0, i;
    gni_post_state_t state;
    uint32_t address, id;
    gni_return_t status;
    uint64_t which;

    OK(GNI_EpCreate(cm_nic, NULL, &wildcard_ep));
    if (incoming > 0)
        post_wildcard(0);
    for (i = 0; i < my_rank; i++, asked++) {
        struct vc *vc = &vcs[incoming + i];

        make_mailbox(&vc->mine);
        vc->mine.vc = incoming + i;
        OK(GNI_EpCreate(cm_nic, NULL, &vc->datagram_ep));
        OK(GNI_EpBind(vc->datagram_ep, addresses[i], 0x10000u + (uint32_t)i));
        OK(GNI_EpPostDataWId(vc->datagram_ep, &vc->mine, sizeof(vc->mine), &vc->theirs,
                             sizeof(vc->theirs), (uint64_t)(incoming + i)));
    }
    while (accepted < incoming || done < asked) {
        status = GNI_PostDataProbeById(cm_nic, &which);
        if (status == GNI_RC_NO_MATCH) {
            status = GNI_PostdataProbeWaitById(cm_nic, (uint32_t)-1, &which);
            if (status == GNI_RC_TIMEOUT)
                continue;
        }
        OK(status);
        if (which == WILDCARD_ID) {
            take_wildcard(accepted, accepted + 1 < incoming);
            accepted++;
            continue;
        }
        OK(GNI_EpPostDataTestById(vcs[which].datagram_ep, which, &state, &address, &id));
        CHECK(state == GNI_POST_COMPLETED);
        OK(GNI_EpDestroy(vcs[which].datagram_ep));
        finish((int)which, &vcs[which].theirs);
        done++;
    }
    OK(GNI_EpDestroy(wildcard_ep));
}

/* ---- transfers ------------------------------------------------------------------------------- */

static void post(struct request *request)
{
    gni_post_type_t type = request->descriptor.type;
    gni_return_t status;

    request->descriptor.post_id = (uint64_t)(uintptr_t)request;
    do {
        pthread_mutex_lock(&lock);
        status = type == GNI_POST_CQWRITE ? GNI_PostCqWrite(request->ep, &request->descriptor)
                 : type == GNI_POST_RDMA_PUT || type == GNI_POST_RDMA_GET
                     ? GNI_PostRdma(request->ep, &request->descriptor)
                 : request->descriptor.next_descr != NULL
                     ? GNI_CtPostFma(request->ep, &request->descriptor)
                     : GNI_PostFma(request->ep, &request->descriptor);
        pthread_mutex_unlock(&lock);
        if (status == GNI_RC_ERROR_RESOURCE)
            progress_tx();
    } while (status == GNI_RC_ERROR_RESOURCE);
    OK(status);
}

static void wait_for(struct request *request)
{
    while (!request->done) {
        pthread_mutex_lock(&lock);
        progress_tx();
        pthread_mutex_unlock(&lock);
    }
}

static struct request start(const struct vc *vc, gni_post_type_t type)
{
    struct request request;

    memset(&request, 0, sizeof(request));
    request.ep = vc->ep;
    request.descriptor.type = type;
    request.descriptor.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    request.descriptor.dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    request.descriptor.local_mem_hndl = memory_handle;
    request.descriptor.remote_mem_hndl = vc->theirs.memory;
    request.descriptor.rdma_mode = 0;
    return request;
}

/* 11 bytes from an odd address: the words that contain them, then the part that was asked for. */
static void unaligned_get(const struct vc *vc)
{
    struct request request = start(vc, GNI_POST_FMA_GET);
    uint64_t wanted = vc->theirs.address + 4099, begin = wanted & ~3ull;
    uint64_t end = (wanted + 11 + 3) & ~3ull, i;

    request.descriptor.local_addr = (uint64_t)(uintptr_t)memory + 65537; /* any */
    request.descriptor.remote_addr = begin;
    request.descriptor.length = end - begin;
    post(&request);
    wait_for(&request);
    for (i = 0; i < 11; i++)
        CHECK(memory[65537 + (wanted - begin) + i] == (char)(vc->theirs.rank + 4099 + (int)i));
}

/* Head, body and tail in one go. */
static void chained_get(const struct vc *vc)
{
    struct request request = start(vc, GNI_POST_FMA_GET);
    gni_ct_get_post_descriptor_t more[2];
    int i, j;

    memset(more, 0, sizeof(more));
    request.descriptor.local_addr = (uint64_t)(uintptr_t)memory + 131072;
    request.descriptor.remote_addr = vc->theirs.address + 1000;
    request.descriptor.length = 4;
    for (i = 0; i < 2; i++) {
        more[i].next_descr = i == 0 ? &more[1] : NULL;
        more[i].ep_hndl = vc->ep;
        more[i].length = 64;
        more[i].remote_addr = vc->theirs.address + 2000u + 1000u * (unsigned)i;
        more[i].remote_mem_hndl = vc->theirs.memory;
        more[i].local_addr = (uint64_t)(uintptr_t)memory + 131072u + 100u + 100u * (unsigned)i;
        more[i].local_mem_hndl = memory_handle;
    }
    request.descriptor.next_descr = &more[0];
    post(&request);
    wait_for(&request);
    for (j = 0; j < 4; j++)
        CHECK(memory[131072 + j] == (char)(vc->theirs.rank + 1000 + j));
    for (i = 0; i < 2; i++)
        for (j = 0; j < 64; j++)
            CHECK(memory[131072 + 100 + 100 * i + j] ==
                  (char)(vc->theirs.rank + 2000 + 1000 * i + j));
}

/* Everybody adds to a word of everybody, and learns what it was. */
static void atomics(const struct vc *vc)
{
    struct request request = start(vc, GNI_POST_AMO);

    request.descriptor.amo_cmd = GNI_FMA_ATOMIC2_FIADD;
    request.descriptor.length = 8;
    request.descriptor.local_addr = (uint64_t)(uintptr_t)memory + 196608;
    request.descriptor.remote_addr = vc->theirs.address + MEMORY - 64;
    request.descriptor.first_operand = 1u << my_rank;
    post(&request);
    wait_for(&request);
    CHECK((*(uint64_t *)(void *)(memory + 196608) & 1ull << my_rank) == 0);
}

static void large_put(const struct vc *vc)
{
    struct request request = start(vc, GNI_POST_RDMA_PUT);

    request.descriptor.local_addr = (uint64_t)(uintptr_t)memory;
    request.descriptor.remote_addr =
        vc->theirs.address + 262144 + (uint64_t)my_rank * 32768 + 1; /* unaligned */
    request.descriptor.length = 30001;
    post(&request);
    wait_for(&request);
}

/* A handle for the key of a region in the block: FMA takes it without a checksum. */
static gni_mem_handle_t handle_of_key(uint64_t key)
{
    gni_mem_handle_t handle = {key << 52, 0x2ull << 34 | 12ull << 28 | 0xfffffff};

    return handle;
}

/*
 * Memory keys that are known without asking: all processes of a node share a block of handles, each
 * with an index of its own. With a handle made of a key, addresses count from the registration's
 * beginning; with the handle as registered they are virtual.
 */
static void virtual_handles(const struct vc *vc)
{
    struct request request = start(vc, GNI_POST_FMA_PUT);
    char *page = client_pages(4096);
    struct {
        gni_mem_handle_t handle;
        uint64_t address;
    } mine, *all;
    int clique, *ranks, index, *targets;

    CHECK(PMI_Get_clique_size(&clique) == PMI_SUCCESS);
    ranks = malloc(sizeof(int) * (size_t)clique);
    CHECK(PMI_Get_clique_ranks(ranks, clique) == PMI_SUCCESS);
    for (index = 0; ranks[index] != my_rank; index++)
        ;
    OK(GNI_SetMddResources(nic, 8));
    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)page, 4096, NULL,
                       GNI_MEM_READWRITE | GNI_MEM_USE_VMDH, (uint32_t)index, &mine.handle));
    mine.address = (uint64_t)(uintptr_t)page;
    all = client_allgather(&mine, sizeof(mine));
    request.descriptor.local_addr = (uint64_t)(uintptr_t)memory;
    request.descriptor.remote_mem_hndl = handle_of_key(all[vc->theirs.rank].handle.qword1 >> 52);
    request.descriptor.remote_addr = 8u * (unsigned)my_rank;
    request.descriptor.length = 8;
    post(&request);
    wait_for(&request);
    request = start(vc, GNI_POST_FMA_PUT);
    request.descriptor.local_addr = (uint64_t)(uintptr_t)memory;
    request.descriptor.remote_mem_hndl = all[vc->theirs.rank].handle;
    request.descriptor.remote_addr = all[vc->theirs.rank].address + 2048 + 8u * (unsigned)my_rank;
    request.descriptor.length = 8;
    post(&request);
    wait_for(&request);
    targets = client_allgather(&vc->theirs.rank, sizeof(int));
    for (index = 0; index < job_size; index++)
        CHECK(page[8 * index + 1] == (targets[index] == my_rank ? (char)(index + 1) : 0) &&
              page[2048 + 8 * index + 1] == page[8 * index + 1]);
    PMI_Barrier();
    free(targets);
    OK(GNI_MemDeregister(nic, &mine.handle));
    free(all);
    free(ranks);
    free(page);
}

static void ring_doorbell(const struct vc *vc)
{
    struct request request = start(vc, GNI_POST_CQWRITE);

    request.descriptor.remote_mem_hndl = vc->theirs.doorbell;
    request.descriptor.cqwrite_value = (uint64_t)my_rank;
    post(&request);
    wait_for(&request);
}

static void messages(void)
{
    int message[40], number, all, vc;
    gni_return_t status;

    memset(message, 0, sizeof(message));
    for (number = 0; number < 80; number++) {
        for (vc = 0; vc < job_size - 1; vc++) {
            message[0] = number;
            message[1] = my_rank;
            for (;;) {
                pthread_mutex_lock(&lock);
                status = GNI_SmsgSendWTag(vcs[vc].ep, message, sizeof(message), NULL, 0,
                                          (uint32_t)number, 1);
                progress_tx();
                pthread_mutex_unlock(&lock);
                if (status != GNI_RC_NOT_DONE)
                    break;
                progress_rx();
            }
            OK(status);
        }
    }
    do {
        progress_rx();
        pthread_mutex_lock(&lock);
        progress_tx();
        pthread_mutex_unlock(&lock);
        for (all = 1, vc = 0; vc < job_size - 1; vc++)
            all = all && vcs[vc].received == 80;
    } while (!all);
}

/* An endpoint bound to its own address with one mailbox for both directions. */
static void talk_to_myself(void)
{
    struct connect own;
    gni_ep_handle_t ep;
    gni_cq_entry_t entry;
    uint8_t tag = GNI_SMSG_ANY_TAG;
    char text[] = "self", *got;
    gni_return_t status;
    int i;

    make_mailbox(&own);
    OK(GNI_EpCreate(nic, tx, &ep));
    OK(GNI_EpBind(ep, addresses[my_rank], 0x20000u + (uint32_t)my_rank));
    OK(GNI_SmsgInit(ep, &own.mailbox, &own.mailbox));
    OK(GNI_EpSetEventData(ep, 0, (uint32_t)(job_size - 1)));
    for (i = 0; i < 200; i++) {
        OK(GNI_SmsgSendWTag(ep, text, sizeof(text), NULL, 0, 1, 9));
        while ((status = GNI_SmsgGetNextWTag(ep, (void **)&got, &tag)) == GNI_RC_NOT_DONE)
            progress_tx();
        OK(status);
        CHECK(tag == 9 && strcmp(got, "self") == 0);
        OK(GNI_SmsgRelease(ep));
        tag = GNI_SMSG_ANY_TAG;
        while (GNI_CqGetEvent(rx, &entry) == GNI_RC_SUCCESS)
            ;
    }
    progress_tx();
    OK(GNI_EpDestroy(ep));
}

int main(void)
{
    pthread_t thread;
    char *doorbell;
    uint32_t address, cpu;
    int i, others;

    client_start();
    credentials();
    open_nics();
    others = job_size - 1;
    memory = client_pages(MEMORY);
    for (i = 0; i < 65536; i++)
        memory[i] = (char)(my_rank + i);
    OK(GNI_CdmGetNicAddress(0, &address, &cpu));
    addresses = client_allgather(&address, sizeof(address));
    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)memory, MEMORY, NULL, GNI_MEM_READWRITE,
                       (uint32_t)-1, &memory_handle));
    doorbell = client_pages(4096);
    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)doorbell, 4096, rx_blocking, GNI_MEM_READWRITE,
                       (uint32_t)-1, &doorbell_handle));
    vcs = calloc((size_t)job_size + 1, sizeof(*vcs));
    use_cache();
    PMI_Barrier();
    connect_all();
    CHECK(pthread_create(&thread, NULL, progress_thread, NULL) == 0);
    PMI_Barrier();
    talk_to_myself();
    for (i = 0; i < others; i++) {
        unaligned_get(&vcs[i]);
        chained_get(&vcs[i]);
        atomics(&vcs[i]);
        large_put(&vcs[i]);
    }
    PMI_Barrier();
    CHECK(*(uint64_t *)(void *)(memory + MEMORY - 64) ==
          ((1ull << job_size) - 1) - (1ull << my_rank));
    for (i = 0; i < job_size; i++)
        if (i != my_rank)
            CHECK(memory[262144 + i * 32768] == 0 && memory[262144 + i * 32768 + 1] == (char)i &&
                  memory[262144 + i * 32768 + 30001] == (char)(i + 30000));
    if (others > 0)
        virtual_handles(&vcs[0]);
    messages();
    for (i = 0; i < others; i++)
        ring_doorbell(&vcs[i]);
    while (doorbells < others)
        sched_yield();
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
    PMI_Barrier();
    for (i = 0; i < others; i++)
        OK(GNI_EpDestroy(vcs[i].ep));
    OK(GNI_CdmDestroy(cdm));
    OK(GNI_CdmDestroy(cm_cdm));
    return client_done("libfabric");
}
