/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * In the style of Cray's own sample programs: options by getopt, the second of the job's two
 * credentials unless PTAG_INDEX says otherwise, and one short test after the other: FMA, RDMA,
 * fetching atomics, CQWRITE, SMSG without tags, bound datagrams, registered segments, and an access
 * that must fail in the way that aries/misc/exceptions.h names.
 */
#include <aries/misc/exceptions.h>
#include <unistd.h>
#include "client.h"

enum { TRANSFERS = 10, LENGTH = 1024, CACHE_LINE = 64 };

struct target {
    uint64_t address;
    gni_mem_handle_t handle, segments, small;
    uint64_t small_address;
};

static gni_cdm_handle_t cdm;
static gni_nic_handle_t nic;
static gni_cq_handle_t cq, destination_cq;
static gni_ep_handle_t *eps;
static struct target mine, *targets;
static uint64_t *buffer;
static uint32_t *addresses;
static int transfers = TRANSFERS, verbose, next, previous;

static void parse(int argc, char **argv)
{
    int option;

    while ((option = getopt(argc, argv, "n:v")) != -1) {
        switch (option) {
        case 'n':
            transfers = atoi(optarg);
            break;
        case 'v':
            verbose++;
            break;
        default:
            CHECK(!"a known option");
        }
    }
    CHECK(optind == argc - 1 && strcmp(argv[optind], "last") == 0);
}

static void open_all(void)
{
    int index = getenv("PTAG_INDEX") != NULL ? atoi(getenv("PTAG_INDEX")) : 1, i;
    gni_mem_segment_t segments[2];
    uint32_t address;

    OK(GNI_CdmCreate((uint32_t)my_rank, (uint8_t)client_env_element("PMI_GNI_PTAG", index),
                     client_env_element("PMI_GNI_COOKIE", index), GNI_CDM_MODE_ERR_NO_KILL, &cdm));
    OK(GNI_CdmAttach(cdm, 0, &address, &nic));
    CHECK(address == client_local_address());
    OK(GNI_CqCreate(nic, 128, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq));
    OK(GNI_CqCreate(nic, 1024, 0, GNI_CQ_BLOCKING, NULL, NULL, &destination_cq));
    addresses = client_allgather(&address, sizeof(address));
    eps = calloc((size_t)job_size, sizeof(*eps));
    for (i = 0; i < job_size; i++) {
        OK(GNI_EpCreate(nic, cq, &eps[i]));
        OK(GNI_EpBind(eps[i], addresses[i], (uint32_t)i));
    }
    buffer = client_pages(65536);
    mine.address = (uint64_t)(uintptr_t)buffer;
    OK(GNI_MemRegister(nic, mine.address, 65536, destination_cq, GNI_MEM_READWRITE, (uint32_t)-1,
                       &mine.handle));
    for (i = 0; i < 2; i++) {
        segments[i].address = mine.address + 32768u + 8192u * (unsigned)i;
        segments[i].length = 4096;
    }
    OK(GNI_MemRegisterSegments(nic, segments, 2, NULL, GNI_MEM_READWRITE, (uint32_t)-1,
                               &mine.segments));
    mine.small_address = (uint64_t)(uintptr_t)client_pages(8192);
    OK(GNI_MemRegister(nic, mine.small_address, 4096, NULL, GNI_MEM_READWRITE, (uint32_t)-1,
                       &mine.small));
    targets = client_allgather(&mine, sizeof(mine));
    next = (my_rank + 1) % job_size;
    previous = (my_rank + job_size - 1) % job_size;
}

static gni_post_descriptor_t describe(gni_post_type_t type, uint64_t length)
{
    gni_post_descriptor_t descriptor;

    memset(&descriptor, 0, sizeof(descriptor));
    descriptor.type = type;
    descriptor.cq_mode = GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT;
    descriptor.dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    descriptor.local_addr = mine.address;
    descriptor.local_mem_hndl = mine.handle;
    descriptor.remote_addr = targets[next].address + 8192;
    descriptor.remote_mem_hndl = targets[next].handle;
    descriptor.length = length;
    return descriptor;
}

static gni_return_t finish(gni_post_descriptor_t *descriptor, gni_cq_entry_t *entry)
{
    gni_post_descriptor_t *completed;
    gni_return_t status;

    while ((status = GNI_CqGetEvent(cq, entry)) == GNI_RC_NOT_DONE)
        ;
    CHECK(GNI_GetCompleted(cq, *entry, &completed) == status && completed == descriptor);
    return status;
}

static void remote_event(int from)
{
    gni_cq_entry_t entry;

    OK(GNI_CqWaitEvent(destination_cq, (uint64_t)-1, &entry));
    CHECK(GNI_CQ_GET_INST_ID(entry) == (uint64_t)from);
}

static void put_test(gni_post_type_t type)
{
    gni_post_descriptor_t descriptor;
    gni_cq_entry_t entry;
    int i, j;

    for (i = 0; i < transfers; i++) {
        for (j = 0; j < LENGTH / 8; j++)
            buffer[j] = (uint64_t)my_rank << 32 | (uint64_t)i << 16 | (uint64_t)j;
        descriptor = describe(type, LENGTH);
        OK(type == GNI_POST_RDMA_PUT ? GNI_PostRdma(eps[next], &descriptor)
                                     : GNI_PostFma(eps[next], &descriptor));
        OK(finish(&descriptor, &entry));
        remote_event(previous);
        for (j = 0; j < LENGTH / 8; j++)
            CHECK(buffer[1024 + j] == ((uint64_t)previous << 32 | (uint64_t)i << 16 | (uint64_t)j));
        PMI_Barrier();
    }
}

static void atomic_test(void)
{
    gni_post_descriptor_t descriptor = describe(GNI_POST_AMO, 8);
    gni_cq_entry_t entry;

    buffer[2048] = 100 + (uint64_t)my_rank;
    PMI_Barrier();
    descriptor.amo_cmd = GNI_FMA_ATOMIC_FADD;
    descriptor.first_operand = 11;
    descriptor.remote_addr = targets[next].address + 16384;
    OK(GNI_PostFma(eps[next], &descriptor));
    OK(finish(&descriptor, &entry));
    CHECK(buffer[0] == 100 + (uint64_t)next);
    remote_event(previous);
    CHECK(buffer[2048] == 111 + (uint64_t)my_rank);
}

static void cqwrite_test(void)
{
    gni_post_descriptor_t descriptor = describe(GNI_POST_CQWRITE, 0);
    gni_cq_entry_t entry;

    descriptor.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    descriptor.cqwrite_value = 0xabcd00000000ull + (uint64_t)my_rank;
    OK(GNI_PostCqWrite(eps[next], &descriptor));
    OK(finish(&descriptor, &entry));
    OK(GNI_CqWaitEvent(destination_cq, (uint64_t)-1, &entry));
    CHECK(GNI_CQ_GET_DATA(entry) == 0xabcd00000000ull + (uint64_t)previous);
}

static void segments_test(void)
{
    gni_post_descriptor_t descriptor = describe(GNI_POST_FMA_PUT, 16);
    gni_cq_entry_t entry;

    buffer[0] = 1;
    buffer[1] = 2;
    descriptor.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    descriptor.remote_addr = 4096 - 8; /* across the two */
    descriptor.remote_mem_hndl = targets[next].segments;
    OK(GNI_PostFma(eps[next], &descriptor));
    OK(finish(&descriptor, &entry));
    PMI_Barrier();
    CHECK(buffer[(32768 + 4096 - 8) / 8] == 1 && buffer[(32768 + 8192) / 8] == 2);
}

static void error_test(void)
{
    gni_post_descriptor_t descriptor = describe(GNI_POST_FMA_PUT, CACHE_LINE);
    gni_cq_entry_t entry;
    uint32_t recoverable;
    char text[256];

    descriptor.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    descriptor.remote_addr = targets[next].small_address + 4096; /* beyond it */
    descriptor.remote_mem_hndl = targets[next].small;
    OK(GNI_PostFma(eps[next], &descriptor));
    CHECK_RC(GNI_RC_TRANSACTION_ERROR, finish(&descriptor, &entry));
    OK(GNI_CqErrorRecoverable(entry, &recoverable));
    OK(GNI_CqErrorStr(entry, text, sizeof(text)));
    CHECK(GNI_CQ_GET_STATUS(entry) == A_STATUS_AT_BOUNDS_ERR && !recoverable);
    CHECK(strstr(text, "AT_BOUNDS_ERR") != NULL);
}

static void message_test(void)
{
    gni_smsg_attr_t own, *all;
    gni_cq_entry_t entry;
    gni_return_t status;
    unsigned bytes;
    int header, data[4], *got, i, received = 0, completed = 0, sent = 0;

    memset(&own, 0, sizeof(own));
    own.msg_type = GNI_SMSG_TYPE_MBOX;
    own.mbox_maxcredit = 8;
    own.msg_maxsize = 64;
    OK(GNI_SmsgBufferSizeNeeded(&own, &bytes));
    own.buff_size = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    own.msg_buffer =
        client_pages(2 * own.buff_size); /* of the previous rank, and of the next one */
    OK(GNI_MemRegister(nic, (uint64_t)(uintptr_t)own.msg_buffer, 2ull * own.buff_size,
                       destination_cq, GNI_MEM_READWRITE, (uint32_t)-1, &own.mem_hndl));
    all = client_allgather(&own, sizeof(own));
    all[next].mbox_offset = 0; /* for the next rank, this rank is the previous one */
    own.mbox_offset = own.buff_size;
    OK(GNI_SmsgInit(eps[next], &own, &all[next]));
    if (previous != next) {
        own.mbox_offset = 0;
        all[previous].mbox_offset = own.buff_size;
        OK(GNI_SmsgInit(eps[previous], &own, &all[previous]));
    }
    PMI_Barrier();
    while (sent < transfers || received < transfers || completed < transfers) {
        if (sent < transfers) {
            header = sent;
            for (i = 0; i < 4; i++)
                data[i] = my_rank + i;
            status = GNI_SmsgSend(eps[next], &header, sizeof(header), data, sizeof(data),
                                  (uint32_t)sent);
            CHECK(status == GNI_RC_SUCCESS || status == GNI_RC_NOT_DONE);
            sent += status == GNI_RC_SUCCESS;
        }
        while (GNI_CqGetEvent(cq, &entry) == GNI_RC_SUCCESS)
            CHECK((int)GNI_CQ_GET_MSG_ID(entry) == completed++);
        while (GNI_CqGetEvent(destination_cq, &entry) == GNI_RC_SUCCESS)
            ;
        while (GNI_SmsgGetNext(eps[previous], (void **)&got) == GNI_RC_SUCCESS) {
            CHECK(got[0] == received && got[1] == previous && got[4] == previous + 3);
            received++;
            OK(GNI_SmsgRelease(eps[previous]));
        }
    }
    free(all);
}

static void datagram_test(void)
{
    int partner = my_rank ^ 1, in = -1, out = my_rank * 7;
    gni_post_state_t state;
    gni_ep_handle_t ep;
    uint32_t address, id;

    if (partner >= job_size)
        return;
    OK(GNI_EpCreate(nic, NULL, &ep));
    OK(GNI_EpBind(ep, addresses[partner], (uint32_t)partner));
    OK(GNI_EpPostData(ep, &out, sizeof(out), &in, sizeof(in)));
    OK(GNI_EpPostDataWait(ep, (uint32_t)-1, &state, &address, &id));
    CHECK(state == GNI_POST_COMPLETED && in == partner * 7 && address == addresses[partner] &&
          id == (uint32_t)partner);
    OK(GNI_EpDestroy(ep));
}

int main(int argc, char **argv)
{
    client_start();
    parse(argc, argv);
    open_all();
    put_test(GNI_POST_FMA_PUT);
    put_test(GNI_POST_RDMA_PUT);
    atomic_test();
    PMI_Barrier();
    cqwrite_test();
    PMI_Barrier();
    segments_test();
    error_test();
    PMI_Barrier();
    if (job_size > 2)
        message_test();
    datagram_test();
    PMI_Barrier();
    OK(GNI_CdmDestroy(cdm));
    return client_done("samples");
}
