/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The client in libfabric's style: transfers and messages. */
#include "libfabric.h"

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

/*
 * Gets 11 bytes from an odd address: fetches the words that contain them and compares those bytes.
 */
void unaligned_get(const struct vc *vc)
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

/* Gets head, body and tail with one chain of descriptors. */
void chained_get(const struct vc *vc)
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

/*
 * Each rank adds its bit to a word of every other rank; the fetched value must not contain the bit
 * yet.
 */
void atomics(const struct vc *vc)
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

void large_put(const struct vc *vc)
{
    struct request request = start(vc, GNI_POST_RDMA_PUT);

    request.descriptor.local_addr = (uint64_t)(uintptr_t)memory;
    request.descriptor.remote_addr =
        vc->theirs.address + 262144 + (uint64_t)my_rank * 32768 + 1; /* unaligned */
    request.descriptor.length = 30001;
    post(&request);
    wait_for(&request);
}

/* Makes a handle from the key of a region; FMA accepts a handle without a checksum. */
static gni_mem_handle_t handle_of_key(uint64_t key)
{
    gni_mem_handle_t handle = {key << 52, 0x2ull << 34 | 12ull << 28 | 0xfffffff};

    return handle;
}

/*
 * Memory keys that a peer can compute: all processes of a node share a block of handles, and each
 * has its own index. With a handle made from a key, addresses are offsets into the registration;
 * with the registered handle they are virtual.
 */
void virtual_handles(const struct vc *vc)
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

void ring_doorbell(const struct vc *vc)
{
    struct request request = start(vc, GNI_POST_CQWRITE);

    request.descriptor.remote_mem_hndl = vc->theirs.doorbell;
    request.descriptor.cqwrite_value = (uint64_t)my_rank;
    post(&request);
    wait_for(&request);
}

void messages(void)
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
void talk_to_myself(void)
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
