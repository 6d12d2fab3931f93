/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transactions between processes: all kinds and sizes, their events, flags and errors. */
#include "live_test.h"

#include <sched.h>
#include <unistd.h>
#include <sys/mman.h>
#include "aries/misc/exceptions.h"

#define BYTES (16u << 20)

static uint8_t pattern(uint64_t seed, uint64_t i)
{
    return (uint8_t)((seed * 0x9e3779b97f4a7c15u + i * 131u) >> 7);
}

static void fill(uint8_t *memory, uint64_t bytes, uint64_t seed)
{
    uint64_t i;

    for (i = 0; i < bytes; i++)
        memory[i] = pattern(seed, i);
}

static bool holds(const uint8_t *memory, uint64_t bytes, uint64_t seed)
{
    uint64_t i;

    for (i = 0; i < bytes; i++)
        if (memory[i] != pattern(seed, i))
            return false;
    return true;
}

static gni_post_descriptor_t describe(const struct lt *lt, uint32_t peer, gni_post_type_t type,
                                      uint64_t local, uint64_t remote, uint64_t bytes)
{
    return (gni_post_descriptor_t){
        .type = type,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
        .local_addr = (uintptr_t)lt->memory + local,
        .local_mem_hndl = lt->handle,
        .remote_addr = lt->peers[peer].address + remote,
        .remote_mem_hndl = lt->peers[peer].handle,
        .length = bytes,
    };
}

static const uint64_t sizes[] = {1,    3,    8,     64,    100,   1024,   4095,     4096,
                                 4097, 8192, 10000, 65536, 70001, 300000, 1u << 20, 4u << 20};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* Waits for a remote event that carries the peer's rank. */
static void arrival(struct lt *lt, uint32_t peer)
{
    gni_cq_entry_t entry;
    gni_return_t result;

    while ((result = GNI_CqGetEvent(lt->rx, &entry)) == GNI_RC_NOT_DONE)
        ;
    OK(result);
    CHECK(GNI_CQ_GET_REM_INST_ID(entry) == peer);
}

static void puts_and_gets(void)
{
    uint32_t i, peer = 1 - lt_rank;
    gni_post_descriptor_t post;
    gni_cq_entry_t entry;
    struct lt lt;

    lt_start(&lt, BYTES);
    for (i = 0; i < 2 * SIZES; i++) {
        uint64_t bytes = sizes[i / 2], odd = bytes % 4;
        bool rdma = i % 2 == 1;

        fill(lt.memory, bytes, i * 2 + lt_rank);
        memset(lt.memory + BYTES / 2, 0xee, bytes + 1);
        lt_barrier();
        post =
            describe(&lt, peer, rdma ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT, 0, BYTES / 2, bytes);
        post.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
        OK(lt_post(&lt, peer, &post, rdma));
        arrival(&lt, peer);
        CHECK(holds(lt.memory + BYTES / 2, bytes, i * 2 + peer));
        CHECK(lt.memory[BYTES / 2 + bytes] == 0xee);
        lt_barrier();
        CHECK(GNI_CqGetEvent(lt.rx, &entry) == GNI_RC_NOT_DONE); /* one event, not two */
        memset(lt.memory + BYTES / 4, 0, bytes);
        post = describe(&lt, peer, rdma ? GNI_POST_RDMA_GET : GNI_POST_FMA_GET, BYTES / 4, 0,
                        bytes - odd);
        if (bytes > odd)
            OK(lt_post(&lt, peer, &post, rdma));
        CHECK(holds(lt.memory + BYTES / 4, bytes - odd, i * 2 + peer));
        lt_barrier();
    }
    lt_end(&lt);
}

/* More remote events than the peer's queue holds: both are told. */
static void overruns(void)
{
    const uint32_t events = 6000;
    uint32_t i, overran = 0, read = 0;
    gni_post_descriptor_t post, *done;
    gni_return_t result = GNI_RC_SUCCESS;
    gni_cq_entry_t entry;
    struct lt lt;

    lt_start(&lt, BYTES);
    for (i = 0; i < events && lt_rank == 0; i++) {
        post = describe(&lt, 1, GNI_POST_FMA_PUT, 0, 64, 8);
        post.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
        OK(GNI_PostFma(lt.eps[1], &post));
        while (GNI_CqGetEvent(lt.tx, &entry) == GNI_RC_NOT_DONE)
            ;
        overran += GNI_CQ_REM_OVERRUN(entry) != 0;
        OK(GNI_GetCompleted(lt.tx, entry, &done));
    }
    if (lt_rank == 0) {
        __atomic_store_n(&lt_shared->note[0][0], overran + 1, __ATOMIC_RELEASE);
    } else {
        while (__atomic_load_n(&lt_shared->note[0][0], __ATOMIC_ACQUIRE) == 0)
            GNI_CqGetEvent(lt.tx,
                           &entry); /* makes progress, and leaves the events where they are */
        overran = (uint32_t)lt_shared->note[0][0] - 1;
        while (result == GNI_RC_SUCCESS) {
            result = GNI_CqGetEvent(lt.rx, &entry);
            read += result == GNI_RC_SUCCESS || result == GNI_RC_ERROR_RESOURCE;
        }
        CHECK(result == GNI_RC_ERROR_RESOURCE);
        CHECK(read >= 4096 && read + overran == events);
    }
    CHECK(overran > 0);
    lt_end(&lt);
}

/* The last byte of a registration, and the one behind it, which is memory of the process, too; sent
 * as records, and copied. */
static void bounds(void)
{
    static const uint64_t lengths[] = {8, 5000, 100000, 1u << 20};
    const uint64_t end = 2u << 20;
    gni_post_descriptor_t post;
    struct lt_peer *note;
    gni_mem_handle_t handle;
    uint8_t *memory;
    struct lt lt;
    uint32_t i;

    lt_start(&lt, BYTES);
    memory = mmap(NULL, 2 * end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OK(GNI_MemRegister(lt.nic, (uintptr_t)memory, end, NULL, GNI_MEM_READWRITE, UINT32_MAX,
                       &handle));
    note = (struct lt_peer *)lt_shared->note[lt_rank];
    note->address = (uintptr_t)memory;
    note->handle = handle;
    lt_barrier();
    note = (struct lt_peer *)lt_shared->note[1];
    memset(lt.memory, 0x55, 1u << 20);
    for (i = 0; i < 16 && lt_rank == 0; i++) {
        uint64_t bytes = lengths[i / 4];
        bool rdma = i % 2 == 1, beyond = i % 4 >= 2;

        post = describe(&lt, 1, rdma ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT, 0, 0, bytes);
        post.remote_addr = note->address + end - bytes + beyond;
        post.remote_mem_hndl = note->handle;
        CHECK(lt_post(&lt, 1, &post, rdma) == (beyond ? GNI_RC_TRANSACTION_ERROR : GNI_RC_SUCCESS));
    }
    lt_barrier();
    CHECK(memory[end] == 0 && (lt_rank == 0 || memory[end - 1] == 0x55));
    lt_end(&lt);
}

/* Long PUTs behind so many short ones that there is no room: the peer does nothing meanwhile. Each
 * has the bytes of the time of its post, and one event. */
static void bursts(void)
{
    const uint64_t bytes = 100000, half = BYTES / 2;
    enum { SHORT = 2000, LONG = 20 };
    static gni_post_descriptor_t posts[SHORT + LONG];
    gni_post_descriptor_t *done;
    gni_cq_entry_t entry;
    struct lt lt;
    uint32_t i;

    lt_start(&lt, BYTES);
    for (i = 0; i < SHORT && lt_rank == 0; i++) {
        posts[i] = describe(&lt, 1, GNI_POST_FMA_PUT, half, half, 1000);
        OK(GNI_PostFma(lt.eps[1], &posts[i]));
    }
    for (i = 0; i < LONG && lt_rank == 0; i++) {
        fill(lt.memory, bytes, i);
        posts[SHORT + i] = describe(&lt, 1, GNI_POST_FMA_PUT, 0, i * bytes, bytes);
        posts[SHORT + i].cq_mode |= GNI_CQMODE_REMOTE_EVENT;
        OK(GNI_PostFma(lt.eps[1], &posts[SHORT + i]));
    }
    lt_barrier();
    for (i = 0; i < SHORT + LONG && lt_rank == 0; i++)
        OK(lt_completed(&lt, &done));
    for (i = 0; i < LONG && lt_rank == 1; i++)
        arrival(&lt, 0);
    lt_barrier();
    for (i = 0; i < LONG && lt_rank == 1; i++)
        CHECK(holds(lt.memory + i * bytes, bytes, i));
    CHECK(GNI_CqGetEvent(lt.rx, &entry) == GNI_RC_NOT_DONE);
    lt_end(&lt);
}

/* Both events of a transfer, in their order. */
static void dual_events(void)
{
    gni_post_descriptor_t post, *done;
    uint32_t peer = 1 - lt_rank;
    struct lt lt;

    lt_start(&lt, BYTES);
    for (uint64_t bytes = 64; bytes <= 1u << 20; bytes *= 16) {
        post = describe(&lt, peer, GNI_POST_RDMA_PUT, 0, BYTES / 2, bytes);
        post.cq_mode = GNI_CQMODE_LOCAL_EVENT | GNI_CQMODE_GLOBAL_EVENT;
        OK(GNI_PostRdma(lt.eps[peer], &post));
        OK(lt_completed(&lt, &done));
        CHECK(done == &post && post.cq_mode_complete == GNI_CQMODE_LOCAL_EVENT);
        OK(lt_completed(&lt, &done));
        CHECK(post.cq_mode_complete == (GNI_CQMODE_LOCAL_EVENT | GNI_CQMODE_GLOBAL_EVENT));
    }
    lt_end(&lt);
}

/* Everybody counts in rank 0's memory, itself included. */
static void counting(void)
{
    const uint32_t rounds = 5000;
    gni_post_descriptor_t post;
    uint64_t seen, last = 0;
    uint32_t round;
    struct lt lt;

    lt_start(&lt, 1u << 20);
    for (round = 0; round < rounds; round++) {
        post = describe(&lt, 0, GNI_POST_AMO, 64, 0, 8);
        post.amo_cmd = GNI_FMA_ATOMIC_FADD;
        post.first_operand = 1;
        OK(lt_post(&lt, 0, &post, false));
        memcpy(&seen, lt.memory + 64, sizeof(seen));
        CHECK(round == 0 || seen > last);
        last = seen;
        post = describe(&lt, 0, GNI_POST_AMO, 0, 8, 8);
        post.amo_cmd = GNI_FMA_ATOMIC_ADD;
        post.first_operand = 3;
        OK(lt_post(&lt, 0, &post, false));
    }
    lt_barrier();
    if (lt_rank == 0) {
        memcpy(&seen, lt.memory, sizeof(seen));
        CHECK(seen == (uint64_t)rounds * lt_ranks);
        memcpy(&seen, lt.memory + 8, sizeof(seen));
        CHECK(seen == (uint64_t)rounds * 3 * lt_ranks);
    }
    post = describe(&lt, (lt_rank + 1) % lt_ranks, GNI_POST_AMO, 128, 256, 8);
    post.amo_cmd = GNI_FMA_ATOMIC_CSWAP;
    post.first_operand = 0;
    post.second_operand = 77 + lt_rank;
    OK(lt_post(&lt, (lt_rank + 1) % lt_ranks, &post, false));
    lt_barrier();
    memcpy(&seen, lt.memory + 256, sizeof(seen));
    CHECK(seen == 77 + (lt_rank + lt_ranks - 1) % lt_ranks);
    lt_end(&lt);
}

/* The flag is seen when all data is. The receiver looks at memory, and calls nothing. */
static void flags(void)
{
    uint32_t i, peer = 1 - lt_rank;
    gni_post_descriptor_t post;
    volatile uint64_t *flag;
    struct lt lt;

    lt_start(&lt, BYTES);
    flag = (volatile uint64_t *)(lt.memory + BYTES - 64);
    for (i = 0; i < 40; i++) {
        uint64_t bytes = sizes[i % SIZES];

        fill(lt.memory, bytes, i * 2 + lt_rank);
        lt_barrier();
        post = describe(&lt, peer, GNI_POST_FMA_PUT_W_SYNCFLAG, 0, BYTES / 2, bytes);
        post.sync_flag_addr = lt.peers[peer].address + BYTES - 64;
        post.sync_flag_value = i + 1;
        OK(lt_post(&lt, peer, &post, false));
        while (*flag != i + 1)
            ;
        CHECK(holds(lt.memory + BYTES / 2, bytes, i * 2 + peer));
        lt_barrier();
    }
    post = describe(&lt, peer, GNI_POST_FMA_GET_W_FLAG, 64, 0, 32);
    post.sync_flag_value = 0xabcd;
    *(uint32_t *)(lt.memory + 64 + 32) = 0;
    lt_barrier();
    OK(lt_post(&lt, peer, &post, false));
    CHECK(*(uint32_t *)(lt.memory + 64 + 32) == 0xabcd);
    lt_end(&lt);
}

static void cqwrites_and_chains(void)
{
    gni_ct_put_post_descriptor_t more[3] = {0};
    uint32_t i, peer = 1 - lt_rank;
    gni_post_descriptor_t post, *done;
    gni_cq_entry_t entry;
    gni_return_t result;
    struct lt lt;

    lt_start(&lt, BYTES);
    for (i = 0; i < 1000; i++) {
        post = describe(&lt, peer, GNI_POST_CQWRITE, 0, 0, 0);
        post.cqwrite_value = 0x123400000000u + i;
        OK(GNI_PostCqWrite(lt.eps[peer], &post));
        OK(lt_completed(&lt, &done));
        while ((result = GNI_CqGetEvent(lt.rx, &entry)) == GNI_RC_NOT_DONE)
            ;
        OK(result);
        CHECK(GNI_CQ_GET_DATA(entry) == 0x123400000000u + i);
    }
    fill(lt.memory, 8192, lt_rank);
    lt_barrier();
    post = describe(&lt, peer, GNI_POST_FMA_PUT, 0, BYTES / 2, 100);
    post.next_descr = &more[0];
    for (i = 0; i < 3; i++) {
        more[i].ep_hndl = lt.eps[i == 1 ? lt_rank : peer];
        more[i].local_addr = (uintptr_t)lt.memory;
        more[i].remote_addr =
            lt.peers[i == 1 ? lt_rank : peer].address + BYTES / 2 + 8192 * (i + 1);
        more[i].remote_mem_hndl = lt.peers[i == 1 ? lt_rank : peer].handle;
        more[i].length = 100 + 3000 * i;
        more[i].next_descr = i < 2 ? &more[i + 1] : NULL;
    }
    OK(GNI_CtPostFma(lt.eps[peer], &post));
    OK(lt_completed(&lt, &done));
    CHECK(done == &post);
    lt_barrier();
    CHECK(holds(lt.memory + BYTES / 2, 100, peer));
    CHECK(holds(lt.memory + BYTES / 2 + 8192, 100, peer));
    CHECK(holds(lt.memory + BYTES / 2 + 16384, 3100, lt_rank));
    CHECK(holds(lt.memory + BYTES / 2 + 24576, 6100, peer));
    lt_end(&lt);
}

static void fails(struct lt *lt, gni_post_descriptor_t *post, uint32_t peer, bool rdma,
                  uint32_t status)
{
    gni_cq_entry_t entry;
    gni_post_descriptor_t *done;
    gni_return_t result;

    OK(rdma ? GNI_PostRdma(lt->eps[peer], post) : GNI_PostFma(lt->eps[peer], post));
    while ((result = GNI_CqGetEvent(lt->tx, &entry)) == GNI_RC_NOT_DONE)
        ;
    CHECK(result == GNI_RC_TRANSACTION_ERROR && !GNI_CQ_STATUS_OK(entry));
    if (GNI_CQ_GET_STATUS(entry) != status)
        fprintf(stderr, "status %#x, not %#x\n", (unsigned)GNI_CQ_GET_STATUS(entry), status);
    CHECK(GNI_CQ_GET_STATUS(entry) == status);
    CHECK(GNI_GetCompleted(lt->tx, entry, &done) == GNI_RC_TRANSACTION_ERROR && done == post);
    CHECK(post->status == GNI_RC_TRANSACTION_ERROR);
}

/* The owner of the memory decides: what it has not registered, or for others, is not touched. */
static void errors(void)
{
    gni_post_descriptor_t post;
    gni_mem_handle_t read_only, gone;
    struct lt_peer *note;
    uint32_t peer = 1 - lt_rank, i;
    uint8_t *memory;
    struct lt lt;

    lt_start(&lt, 1u << 20);
    memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OK(GNI_MemRegister(lt.nic, (uintptr_t)memory, 65536, NULL, GNI_MEM_READ_ONLY, UINT32_MAX,
                       &read_only));
    OK(GNI_MemRegister(lt.nic, (uintptr_t)memory, 65536, NULL, GNI_MEM_READWRITE, UINT32_MAX,
                       &gone));
    note = (struct lt_peer *)lt_shared->note[lt_rank];
    note->address = (uintptr_t)memory;
    note->handle = read_only;
    note->mailbox = gone;
    OK(GNI_MemDeregister(lt.nic, &gone));
    lt_barrier();
    note = (struct lt_peer *)lt_shared->note[peer];
    for (i = 0; i < 4; i++) {
        uint64_t bytes = i < 2 ? 64 : 8192;
        bool rdma = i % 2 == 1;
        gni_post_type_t put = rdma ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT;
        gni_post_type_t get = rdma ? GNI_POST_RDMA_GET : GNI_POST_FMA_GET;

        post = describe(&lt, peer, put, 0, (1u << 20) - 32, bytes);
        fails(&lt, &post, peer, rdma, A_STATUS_AT_BOUNDS_ERR);
        post = describe(&lt, peer, get, 0, (1u << 20) - 32, bytes);
        fails(&lt, &post, peer, rdma, A_STATUS_AT_BOUNDS_ERR);
        post = describe(&lt, peer, put, 0, 0, bytes);
        post.remote_mem_hndl = note->mailbox;
        fails(&lt, &post, peer, rdma, A_STATUS_AT_MDD_INV);
        post = describe(&lt, peer, put, 0, 0, bytes);
        post.remote_addr = note->address;
        post.remote_mem_hndl = note->handle;
        if (!rdma) /* the library refuses the other by itself */
            fails(&lt, &post, peer, rdma, A_STATUS_AT_MDD_WR_PERMISSION_ERR);
        post = describe(&lt, peer, get, 0, 0, bytes);
        post.remote_addr = note->address;
        post.remote_mem_hndl = note->handle;
        OK(lt_post(&lt, peer, &post, rdma));
    }
    post = describe(&lt, peer, GNI_POST_AMO, 0, 1u << 20, 8);
    post.amo_cmd = GNI_FMA_ATOMIC_FADD;
    fails(&lt, &post, peer, false, A_STATUS_AT_BOUNDS_ERR);
    /* Memory that is registered, and not there any more. */
    lt_barrier();
    munmap(memory, 65536);
    lt_barrier();
    post = describe(&lt, peer, GNI_POST_FMA_GET, 0, 0, 64);
    post.remote_addr = note->address;
    post.remote_mem_hndl = note->handle;
    fails(&lt, &post, peer, false, A_STATUS_AT_PF_INV);
    post.length = 8192;
    fails(&lt, &post, peer, false, A_STATUS_AT_PF_INV);
    lt_end(&lt);
}

/* A fenced GET of long data, which the initiator copies itself, waits for a short PUT, which the
 * peer executes: the peer makes no call before both are posted. */
static void fences(void)
{
    const uint64_t bytes = 1u << 20, half = BYTES / 2;
    gni_post_descriptor_t put, get, *done;
    gni_cq_entry_t entry;
    struct lt lt;
    uint64_t round;

    lt_start(&lt, BYTES);
    for (round = 1; round <= 20; round++) {
        lt_barrier();
        if (lt_rank == 0) {
            fill(lt.memory, 64, round);
            memset(lt.memory + half, 0, bytes);
            put = describe(&lt, 1, GNI_POST_FMA_PUT, 0, bytes - 64, 64);
            OK(GNI_PostFma(lt.eps[1], &put));
            get = describe(&lt, 1, GNI_POST_RDMA_GET, half, 0, bytes);
            get.rdma_mode = GNI_RDMAMODE_FENCE;
            OK(GNI_PostRdma(lt.eps[1], &get));
            __atomic_store_n(&lt_shared->note[0][0], round, __ATOMIC_RELEASE);
            OK(lt_completed(&lt, &done));
            CHECK(done == &put);
            OK(lt_completed(&lt, &done));
            CHECK(done == &get && holds(lt.memory + half + bytes - 64, 64, round));
            __atomic_store_n(&lt_shared->note[0][1], round, __ATOMIC_RELEASE);
        } else {
            while (__atomic_load_n(&lt_shared->note[0][0], __ATOMIC_ACQUIRE) != round)
                sched_yield();
            while (__atomic_load_n(&lt_shared->note[0][1], __ATOMIC_ACQUIRE) != round)
                CHECK(GNI_CqGetEvent(lt.rx, &entry) == GNI_RC_NOT_DONE);
        }
    }
    lt_end(&lt);
}

static double measure(struct lt *lt, uint64_t bytes, bool rdma, bool get, uint32_t rounds)
{
    gni_post_type_t type = rdma  ? get ? GNI_POST_RDMA_GET : GNI_POST_RDMA_PUT
                           : get ? GNI_POST_FMA_GET
                                 : GNI_POST_FMA_PUT;
    gni_post_descriptor_t post = describe(lt, 1, type, 0, BYTES / 2, bytes);
    double began = lt_seconds();
    uint32_t round;

    for (round = 0; round < rounds; round++)
        OK(lt_post(lt, 1, &post, rdma));
    return (lt_seconds() - began) / rounds;
}

/* Told, not judged. The peer polls meanwhile. */
static void speed(void)
{
    gni_cq_entry_t entry;
    struct lt lt;
    uint64_t bytes;

    lt_start(&lt, BYTES);
    if (lt_rank == 0) {
        for (bytes = 8; bytes <= 4u << 20; bytes *= 8) {
            uint32_t rounds = bytes < 4096 ? 100000 : (uint32_t)((1u << 30) / bytes / 4);

            measure(&lt, bytes, false, false, 100);
            printf("%8lu bytes: FMA PUT %8.3f us, GET %8.3f us; RDMA PUT %8.3f us, GET %8.3f us, "
                   "%.1f GB/s\n",
                   (unsigned long)bytes, measure(&lt, bytes, false, false, rounds) * 1e6,
                   measure(&lt, bytes, false, true, rounds) * 1e6,
                   measure(&lt, bytes, true, false, rounds) * 1e6,
                   measure(&lt, bytes, true, true, rounds) * 1e6,
                   (double)bytes / measure(&lt, bytes, true, false, rounds) * 1e-9);
        }
        __atomic_store_n(&lt_shared->note[0][0], UINT64_MAX, __ATOMIC_RELEASE);
    } else {
        while (__atomic_load_n(&lt_shared->note[0][0], __ATOMIC_ACQUIRE) != UINT64_MAX)
            GNI_CqGetEvent(lt.rx, &entry);
    }
    lt_end(&lt);
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "speed") == 0)
        return lt_run("speed", 2, 2, speed);
    return lt_run("live_rma_puts_and_gets", 2, 2, puts_and_gets) |
           lt_run("live_rma_puts_and_gets_on_one_node", 2, 1, puts_and_gets) |
           lt_run("live_rma_overruns", 2, 2, overruns) | lt_run("live_rma_bounds", 2, 2, bounds) |
           lt_run("live_rma_bursts", 2, 2, bursts) |
           lt_run("live_rma_dual_events", 2, 2, dual_events) |
           lt_run("live_rma_counting", 4, 4, counting) | lt_run("live_rma_flags", 2, 2, flags) |
           lt_run("live_rma_fences", 2, 2, fences) |
           lt_run("live_rma_cqwrites_and_chains", 2, 2, cqwrites_and_chains) |
           lt_run("live_rma_errors", 2, 2, errors);
}
