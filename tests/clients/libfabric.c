/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The client in libfabric's style: progress, connections and the program. */
#include "libfabric.h"

uint8_t ptag;
uint32_t cookie;
gni_cdm_handle_t cdm, cm_cdm;
gni_nic_handle_t nic, cm_nic;
gni_cq_handle_t tx, rx, tx_blocking, rx_blocking;
gni_mem_handle_t doorbell_handle, memory_handle;
struct vc *vcs;
uint32_t *addresses;
char *memory;
volatile int doorbells;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gni_ep_handle_t wildcard_ep;
static struct connect offer, offered;

/* ---- progress -------------------------------------------------------------------------------- */

void *progress_thread(void *arg)
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

void progress_tx(void)
{
    gni_cq_entry_t entry;
    gni_return_t status;

    while ((status = GNI_CqGetEvent(tx, &entry)) != GNI_RC_NOT_DONE)
        one_tx(entry, status);
}

void read_vc(struct vc *vc)
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

/* Every event carries the number of the connection, which this process gave to the peer. */
void progress_rx(void)
{
    gni_cq_entry_t entry;
    gni_return_t status;
    int vc;

    if (GNI_CqTestEvent(rx) == GNI_RC_NOT_DONE) /* cheap, and needs no lock */
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

void post(struct request *request)
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

/* ---- connections ----------------------------------------------------------------------------- */

void make_mailbox(struct connect *connect)
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

/* Calls EpCreate, EpBind, SmsgInit and EpSetEventData, in this order. */
static void finish(int vc, const struct connect *theirs)
{
    struct vc *one = &vcs[vc];

    one->theirs = *theirs;
    OK(GNI_EpCreate(nic, tx, &one->ep));
    OK(GNI_EpBind(one->ep, addresses[theirs->rank], 0x20000u + (uint32_t)theirs->rank));
    OK(GNI_SmsgInit(one->ep, &one->mine.mailbox, &one->theirs.mailbox));
    OK(GNI_EpSetEventData(one->ep, (uint32_t)vc, (uint32_t)theirs->vc));
    one->connected = 1;
    read_vc(one); /* messages that arrived earlier */
}

/*
 * The next peer that connects matches the wildcard datagram, so it carries the number of the next
 * connection.
 */
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

/*
 * Higher ranks connect to lower ones. The numbers of a rank's connections: first the incoming ones.
 */
void connect_all(void)
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
