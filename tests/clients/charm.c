/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A client in the style of Charm++'s gni machine layer. Its CDM has the rank as instance number, it
 * keeps one endpoint per peer, and it creates all mailboxes at the start. It sends small messages
 * by SMSG. The receiver fetches large ones and reports the end to the sender with a CQWRITE, for
 * whose completion nobody waits.
 */
#include "client.h"

enum { CREDITS = 72, SMALL = 1024, LARGE = 256 * 1024, ROUNDS = 6 };
enum { TAG_SMALL = 0x31, TAG_INIT = 0x33, TAG_ACK = 0x35 };

struct control { /* TAG_INIT: asks the receiver to fetch */
    uint64_t address;
    gni_mem_handle_t handle;
    int length, source;
};

struct pending { /* a fetch */
    gni_post_descriptor_t descriptor;
    struct control control;
    struct pending *next; /* waits for resources */
};

static gni_cdm_handle_t cdm;
static gni_nic_handle_t nic;
static gni_cq_handle_t rdma_tx, smsg_tx, smsg_rx, rdma_rx;
static gni_ep_handle_t *endpoints;
static gni_smsg_attr_t *mailboxes;
static struct pending *buffered;
static char **outgoing, **incoming;
static gni_mem_handle_t *outgoing_handles, *incoming_handles;
static gni_mem_handle_t *ack_handles; /* of all ranks: where CQWRITEs go */
static int small_received, large_received, acks_received, sends_completed;

static void attach(void)
{
    uint8_t ptag = (uint8_t)client_env_element("PMI_GNI_PTAG", 0);
    uint32_t cookie = client_env_element("PMI_GNI_COOKIE", 0), address;

    OK(GNI_CdmCreate((uint32_t)my_rank, ptag, cookie, 0, &cdm));
    OK(GNI_CdmAttach(cdm, 0, &address, &nic));
    CHECK(address == client_local_address());
    OK(GNI_CqCreate(nic, 1024, 0, GNI_CQ_NOBLOCK, NULL, NULL, &rdma_tx));
    OK(GNI_CqCreate(nic, 1024, 0, GNI_CQ_NOBLOCK, NULL, NULL, &smsg_tx));
    OK(GNI_CqCreate(nic, 4096, 0, GNI_CQ_NOBLOCK, NULL, NULL, &smsg_rx));
    OK(GNI_CqCreate(nic, 1024, 0, GNI_CQ_NOBLOCK, NULL, NULL, &rdma_rx));
}

static void connect_all(void)
{
    gni_smsg_attr_t mine, *all;
    uint32_t *addresses, address, cpu;
    unsigned bytes;
    int i;

    OK(GNI_CdmGetNicAddress(0, &address, &cpu));
    addresses = client_allgather(&address, sizeof(address));
    memset(&mine, 0, sizeof(mine));
    mine.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
    mine.mbox_maxcredit = CREDITS;
    mine.msg_maxsize = SMALL;
    OK(GNI_SmsgBufferSizeNeeded(&mine, &bytes));
    CHECK(bytes == 5056); /* the one published value */
    mine.buff_size = (bytes + 63) / 64 * 64;
    mine.msg_buffer = client_pages((size_t)mine.buff_size * (size_t)job_size);
    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)mine.msg_buffer,
                       (uint64_t)mine.buff_size * (uint64_t)job_size, smsg_rx, GNI_MEM_READWRITE,
                       (uint32_t)-1, &mine.mem_hndl));
    all = client_allgather(&mine, sizeof(mine));
    endpoints = calloc((size_t)job_size, sizeof(*endpoints));
    mailboxes = calloc((size_t)job_size, sizeof(*mailboxes));
    OK(GNI_SmsgSetMaxRetrans(nic, 4096));
    for (i = 0; i < job_size; i++) {
        if (i == my_rank)
            continue;
        OK(GNI_EpCreate(nic, smsg_tx, &endpoints[i]));
        OK(GNI_EpBind(endpoints[i], addresses[i], (uint32_t)i));
        mailboxes[i] = mine;
        mailboxes[i].mbox_offset = mine.buff_size * (uint32_t)i;
        all[i].mbox_offset = all[i].buff_size * (uint32_t)my_rank;
        OK(GNI_SmsgInit(endpoints[i], &mailboxes[i], &all[i]));
    }
    free(all);
    free(addresses);
    PMI_Barrier();
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void fetch(struct pending *pending)
{
    gni_ep_handle_t ep = endpoints[pending->control.source];
    gni_return_t status;

    /* Sets the event data of both sides before each transaction. */
    OK(GNI_EpSetEventData(ep, (uint32_t)(pending->control.source + 1000), (uint32_t)my_rank));
    status = GNI_PostRdma(ep, &pending->descriptor);
    OK(GNI_EpSetEventData(ep, (uint32_t)pending->control.source, (uint32_t)my_rank));
    if (status == GNI_RC_ERROR_RESOURCE) {
        pending->next = buffered;
        buffered = pending;
        return;
    }
    OK(status);
}

static void start_fetch(const struct control *control)
{
    struct pending *pending = calloc(1, sizeof(*pending));
    gni_post_descriptor_t *descriptor;

    CHECK(pending != NULL);
    pending->control = *control;
    descriptor = &pending->descriptor;
    descriptor->type = GNI_POST_RDMA_GET;
    descriptor->cq_mode = GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT;
    descriptor->dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    descriptor->length = (uint64_t)control->length;
    descriptor->local_addr = (uint64_t)(uintptr_t)incoming[control->source];
    descriptor->local_mem_hndl = incoming_handles[control->source];
    descriptor->remote_addr = control->address;
    descriptor->remote_mem_hndl = control->handle;
    descriptor->src_cq_hndl = rdma_tx;
    fetch(pending);
}

/* No event reports the end of the CQWRITE, so its descriptor may be on the stack. */
static void acknowledge(int source)
{
    gni_post_descriptor_t descriptor;
    gni_return_t status;

    memset(&descriptor, 0, sizeof(descriptor));
    descriptor.type = GNI_POST_CQWRITE;
    descriptor.cq_mode = GNI_CQMODE_SILENT;
    descriptor.dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    descriptor.cqwrite_value = 0xac0000000000ull | (uint64_t)my_rank;
    descriptor.remote_mem_hndl = ack_handles[source];
    do {
        status = GNI_PostCqWrite(endpoints[source], &descriptor);
    } while (status == GNI_RC_ERROR_RESOURCE);
    OK(status);
}

static void progress_rdma(void)
{
    gni_post_descriptor_t *descriptor;
    struct pending *pending;
    gni_cq_entry_t entry;
    gni_return_t status;
    int i;

    while (GNI_CqGetEvent(rdma_tx, &entry) == GNI_RC_SUCCESS) {
        CHECK(GNI_CQ_GET_TYPE(entry) == GNI_CQ_EVENT_TYPE_POST);
        OK(GNI_GetCompleted(rdma_tx, entry, &descriptor));
        pending = (struct pending *)descriptor;
        CHECK(GNI_CQ_GET_INST_ID(entry) == (uint64_t)(pending->control.source + 1000));
        for (i = 0; i < LARGE; i += 4097)
            CHECK(incoming[pending->control.source][i] == (char)(pending->control.source + i));
        acknowledge(pending->control.source);
        large_received++;
        free(pending);
    }
    pending = buffered;
    buffered = NULL;
    if (pending != NULL)
        fetch(pending);
    /*
     * The queue of the memory that peers read: it gets events of their GETs and of their CQWRITEs.
     */
    while ((status = GNI_CqGetEvent(rdma_rx, &entry)) == GNI_RC_SUCCESS) {
        uint64_t data = GNI_CQ_GET_DATA(entry);

        if (data >> 40 == 0xac)
            acks_received++;
        else
            CHECK(GNI_CQ_GET_REM_INST_ID(entry) < (uint64_t)job_size);
    }
    CHECK_RC(GNI_RC_NOT_DONE, status);
}

static void progress_smsg(void)
{
    gni_cq_entry_t entry;
    uint8_t tag;
    void *message;
    int source;

    while (GNI_CqGetEvent(smsg_rx, &entry) == GNI_RC_SUCCESS) {
        source = (int)GNI_CQ_GET_INST_ID(entry);
        CHECK(source >= 0 && source < job_size && source != my_rank);
        for (;;) {
            tag = GNI_SMSG_ANY_TAG;
            if (GNI_SmsgGetNextWTag(endpoints[source], &message, &tag) != GNI_RC_SUCCESS)
                break;
            if (tag == TAG_SMALL) {
                CHECK(((int *)message)[0] == source);
                small_received++;
            } else {
                CHECK(tag == TAG_INIT);
                start_fetch(message);
            }
            OK(GNI_SmsgRelease(endpoints[source]));
        }
    }
    while (GNI_CqGetEvent(smsg_tx, &entry) == GNI_RC_SUCCESS) {
        CHECK(GNI_CQ_GET_TYPE(entry) == GNI_CQ_EVENT_TYPE_SMSG);
        sends_completed++;
    }
}

static void progress(void)
{
    progress_smsg();
    progress_rdma();
}

/* ---- sending --------------------------------------------------------------------------------- */

static void send(int target, void *data, uint32_t bytes, uint8_t tag)
{
    gni_return_t status;

    while ((status = GNI_SmsgSendWTag(endpoints[target], data, bytes, NULL, 0, 0, tag)) ==
           GNI_RC_NOT_DONE)
        progress();
    OK(status);
}

static void prepare_large(void)
{
    gni_mem_handle_t own;
    char *cell = client_pages(4096);
    int i, j;

    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)cell, 4096, rdma_rx, GNI_MEM_READWRITE,
                       (uint32_t)-1, &own));
    ack_handles = client_allgather(&own, sizeof(own));
    outgoing = calloc((size_t)job_size, sizeof(*outgoing));
    incoming = calloc((size_t)job_size, sizeof(*incoming));
    outgoing_handles = calloc((size_t)job_size, sizeof(*outgoing_handles));
    incoming_handles = calloc((size_t)job_size, sizeof(*incoming_handles));
    for (i = 0; i < job_size; i++) {
        outgoing[i] = client_pages(LARGE);
        incoming[i] = client_pages(LARGE);
        for (j = 0; j < LARGE; j++)
            outgoing[i][j] = (char)(my_rank + j);
        OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)outgoing[i], LARGE, rdma_rx, GNI_MEM_READWRITE,
                           (uint32_t)-1, &outgoing_handles[i]));
        OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)incoming[i], LARGE, NULL, GNI_MEM_READWRITE,
                           (uint32_t)-1, &incoming_handles[i]));
    }
}

int main(void)
{
    int others, round, i, text[200];

    client_start();
    attach();
    connect_all();
    prepare_large();
    others = job_size - 1;
    memset(text, 0, sizeof(text));
    text[0] = my_rank;
    for (round = 0; round < ROUNDS; round++)
        for (i = 0; i < job_size; i++)
            if (i != my_rank)
                send(i, text, (uint32_t)(sizeof(int) + (size_t)(round * 100)), TAG_SMALL);
    for (i = 0; i < job_size; i++) {
        struct control control = {(uint64_t)(uintptr_t)outgoing[i], outgoing_handles[i], LARGE,
                                  my_rank};

        if (i != my_rank)
            send(i, &control, sizeof(control), TAG_INIT);
    }
    while (small_received < others * ROUNDS || large_received < others || acks_received < others ||
           sends_completed < others * (ROUNDS + 1))
        progress();
    return client_done("charm");
}
