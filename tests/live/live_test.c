/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "folder.h"
#include "live_test.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COOKIE 0x12340000
#define SECONDS 400 /* also where others use the processors */

struct lt_shared *lt_shared;
uint32_t lt_rank, lt_ranks, lt_stride = 1;

double lt_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void lt_barrier(void)
{
    uint32_t epoch = __atomic_load_n(&lt_shared->epoch, __ATOMIC_SEQ_CST);

    if (__atomic_add_fetch(&lt_shared->arrived, 1, __ATOMIC_SEQ_CST) ==
        __atomic_load_n(&lt_shared->alive, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&lt_shared->arrived, 0, __ATOMIC_SEQ_CST);
        __atomic_store_n(&lt_shared->epoch, epoch + 1, __ATOMIC_SEQ_CST);
    }
    while (__atomic_load_n(&lt_shared->epoch, __ATOMIC_SEQ_CST) == epoch)
        sched_yield();
}

int lt_run(const char *name, uint32_t ranks, uint32_t nodes, void (*main_of_rank)(void))
{
    struct folder folder;
    int result;

    if (getenv("LIVE_TEST") != NULL && strcmp(getenv("LIVE_TEST"), name) != 0)
        return 0;
    if (!folder_new(&folder))
        return 1;
    result = lt_run_there(name, ranks, nodes, main_of_rank);
    return folder_remove(&folder) ? result : 1;
}

/* `ranks`: of none. */
static uint32_t rank_of(pid_t pid, uint32_t ranks)
{
    uint32_t rank = 0;

    while (rank < ranks && lt_shared->pids[rank] != pid)
        rank++;
    return rank;
}

/* They would wait for one that has failed; also those that are stopped. */
static void end_others(uint32_t ranks)
{
    uint32_t rank;

    for (rank = 0; rank < ranks; rank++)
        if (lt_shared->pids[rank] > 0) { /* -1, of a failed fork, would be everybody */
            kill(lt_shared->pids[rank], SIGTERM);
            kill(lt_shared->pids[rank], SIGCONT);
        }
}

int lt_run_there(const char *name, uint32_t ranks, uint32_t nodes, void (*main_of_rank)(void))
{
    uint32_t rank, failed = 0, left = ranks;
    char node[16];
    int status;

    lt_shared =
        mmap(NULL, sizeof(*lt_shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (lt_shared == MAP_FAILED)
        return 1;
    lt_ranks = lt_shared->alive = ranks;
    for (rank = 0; rank < ranks; rank++) {
        pid_t pid = fork();

        if (pid == 0) {
            lt_rank = rank;
            snprintf(node, sizeof(node), "%u", rank % nodes * lt_stride);
            setenv("JACQUARD_NODE", node, 1);
            alarm(SECONDS);
            main_of_rank();
            exit(0);
        }
        lt_shared->pids[rank] = pid;
    }
    while (left > 0) {
        pid_t pid = wait(&status);

        if (pid < 0)
            return 1; /* a fork has failed */
        rank = rank_of(pid, ranks);
        if (rank == ranks)
            continue;
        lt_shared->pids[rank] = 0;
        left--;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
            continue;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fprintf(stderr, "%s: rank %u: status %#x\n", name, rank, (unsigned)status);
            if (failed++ == 0)
                end_others(ranks);
        }
    }
    munmap(lt_shared, sizeof(*lt_shared));
    printf("%s %s\n", failed == 0 ? "ok    " : "FAILED", name);
    fflush(stdout);
    return failed != 0;
}

/* ---- what most ranks need -------------------------------------------------------------------- */

void lt_start(struct lt *lt, uint64_t bytes)
{
    lt_start_among(lt, bytes, lt_ranks);
}

void lt_start_among(struct lt *lt, uint64_t bytes, uint32_t ranks)
{
    struct lt_peer *own = (struct lt_peer *)lt_shared->note[lt_rank];
    uint32_t rank;

    memset(lt, 0, sizeof(*lt));
    lt->attributes.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
    lt->attributes.mbox_maxcredit = 32;
    lt->attributes.msg_maxsize = 1024;
    OK(GNI_SmsgBufferSizeNeeded(&lt->attributes, &lt->mailbox_bytes));
    OK(GNI_CdmCreate(lt_rank, LT_PTAG, COOKIE,
                     GNI_CDM_MODE_ERR_NO_KILL | GNI_CDM_MODE_DUAL_EVENTS |
                         GNI_CDM_MODE_BTE_SINGLE_CHANNEL,
                     &lt->cdm));
    OK(GNI_CdmAttach(lt->cdm, 0, &lt->pe, &lt->nic));
    OK(GNI_CqCreate(lt->nic, 4096, 0, GNI_CQ_BLOCKING, NULL, NULL, &lt->tx));
    OK(GNI_CqCreate(lt->nic, 4096, 0, GNI_CQ_BLOCKING, NULL, NULL, &lt->rx));
    lt->bytes = bytes;
    lt->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(lt->memory != MAP_FAILED);
    OK(GNI_MemRegister(lt->nic, (uintptr_t)lt->memory, bytes, lt->rx, GNI_MEM_READWRITE, UINT32_MAX,
                       &lt->handle));
    lt->mailboxes = aligned_alloc(4096, (lt->mailbox_bytes * lt_ranks + 4095) & ~4095u);
    memset(lt->mailboxes, 0, lt->mailbox_bytes * lt_ranks);
    OK(GNI_MemRegister(lt->nic, (uintptr_t)lt->mailboxes, lt->mailbox_bytes * lt_ranks, lt->rx,
                       GNI_MEM_READWRITE, UINT32_MAX, &lt->mailbox_handle));
    *own = (struct lt_peer){lt->pe,
                            lt_rank,
                            (uintptr_t)lt->memory,
                            lt->handle,
                            lt->mailbox_handle,
                            (uintptr_t)lt->mailboxes};
    lt_barrier();
    for (rank = 0; rank < ranks; rank++) {
        memcpy(&lt->peers[rank], lt_shared->note[rank], sizeof(lt->peers[rank]));
        OK(GNI_EpCreate(lt->nic, lt->tx, &lt->eps[rank]));
        OK(GNI_EpBind(lt->eps[rank], lt->peers[rank].pe, lt->peers[rank].id));
        OK(GNI_EpSetEventData(lt->eps[rank], rank, lt_rank));
    }
    lt_barrier();
}

void lt_connect(struct lt *lt)
{
    uint32_t rank;

    for (rank = 0; rank < lt_ranks; rank++) {
        gni_smsg_attr_t local = lt->attributes, remote = lt->attributes;

        local.buff_size = remote.buff_size = lt->mailbox_bytes;
        local.mem_hndl = lt->mailbox_handle;
        local.msg_buffer = lt->mailboxes;
        local.mbox_offset = rank * lt->mailbox_bytes;
        remote.mem_hndl = lt->peers[rank].mailbox;
        remote.msg_buffer = (void *)(uintptr_t)lt->peers[rank].mailboxes;
        remote.mbox_offset = lt_rank * lt->mailbox_bytes;
        OK(GNI_SmsgInit(lt->eps[rank], &local, &remote));
    }
    lt_barrier();
}

gni_return_t lt_completed(struct lt *lt, gni_post_descriptor_t **descriptor)
{
    gni_cq_entry_t entry;
    gni_return_t result;

    while ((result = GNI_CqGetEvent(lt->tx, &entry)) == GNI_RC_NOT_DONE)
        ;
    CHECK(result == GNI_RC_SUCCESS || result == GNI_RC_TRANSACTION_ERROR);
    if (result == GNI_RC_TRANSACTION_ERROR)
        fprintf(stderr, "rank %u: status %#x\n", lt_rank, (unsigned)GNI_CQ_GET_STATUS(entry));
    CHECK(GNI_CQ_GET_TYPE(entry) == GNI_CQ_EVENT_TYPE_POST);
    return GNI_GetCompleted(lt->tx, entry, descriptor);
}

gni_return_t lt_post(struct lt *lt, uint32_t peer, gni_post_descriptor_t *descriptor, bool rdma)
{
    gni_post_descriptor_t *done = NULL;
    gni_return_t result;

    OK(rdma ? GNI_PostRdma(lt->eps[peer], descriptor) : GNI_PostFma(lt->eps[peer], descriptor));
    result = lt_completed(lt, &done);
    CHECK(done == descriptor);
    return result;
}

void lt_end(struct lt *lt)
{
    lt_barrier();
    OK(GNI_CdmDestroy(lt->cdm));
    lt_barrier();
}
