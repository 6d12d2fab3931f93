/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What happens to processes: they sleep, fork, have threads, die, come back. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "live_test.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "aries/misc/exceptions.h"

static gni_post_descriptor_t put_to(const struct lt *lt, uint32_t peer, uint64_t offset,
                                    uint64_t bytes)
{
    return (gni_post_descriptor_t){
        .type = GNI_POST_FMA_PUT,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT,
        .local_addr = (uintptr_t)lt->memory + offset,
        .local_mem_hndl = lt->handle,
        .remote_addr = lt->peers[peer].address + offset,
        .remote_mem_hndl = lt->peers[peer].handle,
        .length = bytes,
    };
}

/* ---- cancellation ---------------------------------------------------------------------------- */

static uint32_t made_asynchronous; /* how often somebody asked for that */

/* Takes the place of the C library's for libugni, too. */
int pthread_setcanceltype(int type, int *before)
{
    if (type == PTHREAD_CANCEL_ASYNCHRONOUS)
        __atomic_add_fetch(&made_asynchronous, 1, __ATOMIC_SEQ_CST);
    if (before != NULL)
        *before = PTHREAD_CANCEL_DEFERRED;
    return 0;
}

static void *wait_for_ever(void *cq)
{
    gni_cq_entry_t entry;

    GNI_CqWaitEvent(*(gni_cq_handle_t *)cq, UINT64_MAX, &entry);
    return NULL;
}

/* One of them sleeps at the doorbell, the others on what that wakes. */
static void cancelled(void)
{
    pthread_t threads[3];
    void *result;
    struct lt lt;
    size_t i;

    lt_start(&lt, 4096);
    for (i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, wait_for_ever, i == 0 ? &lt.tx : &lt.rx) == 0);
    OK(GNI_CqTestEvent(lt.tx) == GNI_RC_NOT_DONE ? GNI_RC_SUCCESS : GNI_RC_INVALID_STATE);
    for (i = 0; i < 3; i++) {
        CHECK(pthread_cancel(threads[i]) == 0 && pthread_join(threads[i], &result) == 0);
        CHECK(result == PTHREAD_CANCELED);
    }
    CHECK(__atomic_load_n(&made_asynchronous, __ATOMIC_SEQ_CST) == 0);
    lt_barrier();
    lt_end(&lt);
}

/* ---- privileged calls ------------------------------------------------------------------------ */

static bool is_stopped(pid_t process)
{
    char path[40], state = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", process);
    file = fopen(path, "re");
    CHECK(file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
    fclose(file);
    return state == 'T';
}

#define OTHER_PTAG (LT_PTAG + 1)
#define OTHER_COOKIE 0x5550000
#define JOB 77

/* What is under way is that of one job: another one is suspended at once. And nothing here can be
 * throttled: that is refused. */
static void jobs_apart(void)
{
    gni_post_descriptor_t put, *done;
    struct lt lt;

    lt_start(&lt, 4096);
    lt_barrier();
    if (geteuid() != 0) {
        printf("the caller may configure no jobs\n");
    } else if (lt_rank == 1) {
        raise(SIGSTOP);
    } else {
        OK(GNI_ConfigureJob(0, JOB, OTHER_PTAG, OTHER_COOKIE, NULL));
        while (!is_stopped(lt_shared->pids[1]))
            sched_yield();
        put = put_to(&lt, 1, 0, 8);
        OK(GNI_PostFma(lt.eps[1], &put));
        OK(GNI_SuspendJob(0, JOB, OTHER_PTAG, OTHER_COOKIE, 0));
        OK(GNI_ResumeJob(0, JOB, OTHER_PTAG, OTHER_COOKIE));
        CHECK_RC(GNI_SetBIConfig(0, 50, 0, 0), GNI_RC_ERROR_RESOURCE);
        CHECK_RC(GNI_SetBIConfig(0, 500, 0, 0), GNI_RC_INVALID_PARAM);
        OK(GNI_SetBIConfig(0, 0, 0, GNI_BI_FLAG_USE_DEFAULT_SETTINGS));
        kill(lt_shared->pids[1], SIGCONT);
        OK(lt_completed(&lt, &done));
    }
    lt_barrier();
    lt_end(&lt);
}

/* ---- sleep ----------------------------------------------------------------------------------- */

static double cpu_seconds(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec * 1e-6 +
           (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec * 1e-6;
}

/* Rank 0 sleeps in every way there is; rank 1 takes its time. */
static void sleeping(void)
{
    gni_comp_chan_handle_t channel;
    gni_post_descriptor_t post;
    gni_cq_handle_t queue, both[2];
    gni_cq_entry_t entry;
    uint32_t which, i;
    double before;
    struct lt lt;
    int fd;

    lt_start(&lt, 4096);
    before = cpu_seconds();
    if (lt_rank == 1) {
        for (i = 0; i < 20; i++) {
            usleep(30000); /* tested: rank 0 sleeps by then */
            post = put_to(&lt, 0, 0, 64);
            OK(lt_post(&lt, 0, &post, false));
        }
        lt_end(&lt);
        return;
    }
    both[0] = lt.tx;
    both[1] = lt.rx;
    OK(GNI_CompChanCreate(lt.nic, &channel));
    OK(GNI_CompChanFd(channel, &fd));
    OK(GNI_CqAttachCompChan(lt.rx, channel));
    for (i = 0; i < 5; i++)
        OK(GNI_CqWaitEvent(lt.rx, 20000, &entry));
    CHECK_RC(GNI_CqWaitEvent(lt.tx, 20, &entry), GNI_RC_TIMEOUT);
    for (i = 0; i < 5; i++) {
        OK(GNI_CqVectorWaitEvent(both, 2, 20000, &entry, &which));
        CHECK(which == 1);
    }
    for (i = 0; i < 5; i++) {
        OK(GNI_CqVectorMonitor(both, 2, 20000, &which));
        CHECK(which == 1);
        OK(GNI_CqGetEvent(lt.rx, &entry));
    }
    for (i = 0; i < 5; i++) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};

        OK(GNI_CqArmCompChan(&lt.rx, 1));
        CHECK(poll(&poller, 1, 20000) == 1);
        OK(GNI_CompChanGetEvent(channel, &queue));
        CHECK(queue == lt.rx);
        OK(GNI_CqGetEvent(lt.rx, &entry));
    }
    CHECK(cpu_seconds() - before < 0.3); /* of 0.6 s */
    lt_end(&lt);
}

/* ---- forks ----------------------------------------------------------------------------------- */

/* A child is a process of its own: it cannot use what its parent has, and can have the same. */
static void forks(void)
{
    uint32_t peer = 1 - lt_rank, address, cpu, pe;
    gni_cq_entry_t entry;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    struct lt lt;
    int status;
    pid_t pid;

    lt_start(&lt, 4096);
    lt_connect(&lt);
    pid = fork();
    if (pid == 0) {
        uint64_t other = 4711;

        CHECK_RC(GNI_CqGetEvent(lt.rx, &entry), GNI_RC_INVALID_PARAM);
        CHECK_RC(GNI_SmsgSendWTag(lt.eps[peer], NULL, 0, &other, 8, 0, 0), GNI_RC_INVALID_PARAM);
        OK(GNI_CdmGetNicAddress(0, &address, &cpu));
        OK(GNI_CdmCreate(10 + lt_rank, 17, 0x12340000, GNI_CDM_MODE_ERR_NO_KILL, &cdm));
        OK(GNI_CdmAttach(cdm, 0, &pe, &nic));
        CHECK(pe == address);
        OK(GNI_CdmDestroy(cdm));
        OK(GNI_CdmCreate(lt_rank, 17, 0x12340000, GNI_CDM_MODE_ERR_NO_KILL, &cdm));
        CHECK_RC(GNI_CdmAttach(cdm, 0, &pe, &nic), GNI_RC_INVALID_STATE); /* the parent's */
        _exit(0);
    }
    for (uint64_t i = 0; i < 1000; i++) { /* nobody disturbed the parent */
        gni_return_t result;
        uint8_t tag = GNI_SMSG_ANY_TAG;
        void *message;

        while ((result = GNI_SmsgSendWTag(lt.eps[peer], NULL, 0, &i, 8, 0, 0)) == GNI_RC_NOT_DONE)
            GNI_CqGetEvent(lt.tx, &entry);
        OK(result);
        while ((result = GNI_SmsgGetNextWTag(lt.eps[peer], &message, &tag)) == GNI_RC_NOT_DONE)
            tag = GNI_SMSG_ANY_TAG;
        OK(result);
        CHECK(*(uint64_t *)message == i);
        OK(GNI_SmsgRelease(lt.eps[peer]));
        while (GNI_CqGetEvent(lt.tx, &entry) == GNI_RC_SUCCESS)
            ;
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    lt_end(&lt);
}

enum { VISITORS = 100 };

static void *fork_often(void *ends)
{
    int status;
    pid_t pid;

    while (!__atomic_load_n((bool *)ends, __ATOMIC_SEQ_CST)) {
        pid = fork();
        if (pid == 0)
            _exit(0);
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    return NULL;
}

/* A short-lived process that writes to rank 0. */
static void visit(const struct lt *lt, uint64_t number)
{
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t cq;
    gni_ep_handle_t ep;
    gni_mem_handle_t handle;
    gni_post_descriptor_t post, *done;
    gni_cq_entry_t entry;
    gni_return_t result;
    uint32_t pe;

    OK(GNI_CdmCreate(10 + (uint32_t)number, 17, 0x12340000, GNI_CDM_MODE_ERR_NO_KILL, &cdm));
    OK(GNI_CdmAttach(cdm, 0, &pe, &nic));
    OK(GNI_CqCreate(nic, 16, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq));
    OK(GNI_MemRegister(nic, (uintptr_t)&number, sizeof(number), NULL, GNI_MEM_READWRITE, UINT32_MAX,
                       &handle));
    OK(GNI_EpCreate(nic, cq, &ep));
    OK(GNI_EpBind(ep, lt->peers[0].pe, lt->peers[0].id));
    post = put_to(lt, 0, 0, sizeof(number));
    post.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    post.local_addr = (uintptr_t)&number;
    post.local_mem_hndl = handle;
    OK(GNI_PostFma(ep, &post));
    while ((result = GNI_CqGetEvent(cq, &entry)) == GNI_RC_NOT_DONE)
        ;
    OK(result);
    OK(GNI_GetCompleted(cq, entry, &done));
    OK(GNI_CdmDestroy(cdm));
}

/* Rank 0 forks all the time while processes come and go that it has to do with. */
static void forks_in_traffic(void)
{
    gni_cq_entry_t entry;
    pthread_t forker;
    bool ends = false;
    struct lt lt;
    int status;

    lt_start(&lt, 4096);
    if (lt_rank == 0) {
        CHECK(pthread_create(&forker, NULL, fork_often, &ends) == 0);
        while (__atomic_load_n((uint64_t *)lt.memory, __ATOMIC_SEQ_CST) < VISITORS)
            GNI_CqGetEvent(lt.tx, &entry);
        __atomic_store_n(&ends, true, __ATOMIC_SEQ_CST);
        pthread_join(forker, NULL);
    } else {
        for (uint64_t i = 1; i <= VISITORS; i++) {
            pid_t pid = fork();

            if (pid == 0) {
                visit(&lt, i);
                _exit(0);
            }
            CHECK(waitpid(pid, &status, 0) == pid && status == 0);
        }
    }
    lt_end(&lt);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, PUTS = 3000 };

struct work {
    struct lt *lt;
    uint32_t index;
    gni_cq_handle_t cq;
    gni_ep_handle_t ep;
};

static void *put_many(void *argument)
{
    struct work *work = argument;
    struct lt *lt = work->lt;
    uint32_t peer = 1 - lt_rank;

    for (uint64_t i = 1; i <= PUTS; i++) {
        gni_post_descriptor_t post = put_to(lt, peer, 64 * work->index, 8), *done;
        gni_cq_entry_t entry;
        gni_return_t result;

        post.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
        memcpy(lt->memory + 64 * (work->index + THREADS), &i, sizeof(i));
        post.local_addr = (uintptr_t)lt->memory + 64 * (work->index + THREADS);
        OK(GNI_PostFma(work->ep, &post));
        if (i % 7 == 0) {
            OK(GNI_CqWaitEvent(work->cq, 20000, &entry));
        } else {
            while ((result = GNI_CqGetEvent(work->cq, &entry)) == GNI_RC_NOT_DONE)
                ;
            OK(result);
        }
        OK(GNI_GetCompleted(work->cq, entry, &done));
        CHECK(done == &post);
    }
    return NULL;
}

static void threads(void)
{
    struct work works[THREADS];
    pthread_t ids[THREADS];
    struct lt lt;
    uint32_t i;

    lt_start(&lt, 4096);
    for (i = 0; i < THREADS; i++) {
        works[i] = (struct work){&lt, i, NULL, NULL};
        OK(GNI_CqCreate(lt.nic, 64, 0, GNI_CQ_BLOCKING, NULL, NULL, &works[i].cq));
        OK(GNI_EpCreate(lt.nic, works[i].cq, &works[i].ep));
        OK(GNI_EpBind(works[i].ep, lt.peers[1 - lt_rank].pe, 1 - lt_rank));
        pthread_create(&ids[i], NULL, put_many, &works[i]);
    }
    for (i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    lt_barrier();
    for (i = 0; i < THREADS; i++)
        CHECK(*(uint64_t *)(lt.memory + 64 * i) == PUTS);
    lt_end(&lt);
}

enum { ARRIVALS = 400, SLEEPERS = 4, DISTURBED_MAX = 40 };

struct sleeper {
    struct lt *lt;
    gni_cq_handle_t cq;
    gni_ep_handle_t ep; /* NULL: it waits for what comes from rank 1 */
    long sleeps; /* how often it gave its processor away */
};

static void *sleep_on(void *argument)
{
    struct sleeper *sleeper = argument;
    uint32_t i, count = sleeper->ep == NULL ? ARRIVALS : 1;
    struct rusage used;
    gni_cq_entry_t entry;

    for (i = 1; i <= count; i++) {
        OK(GNI_CqWaitEvent(sleeper->cq, 120000, &entry));
        if (sleeper->ep == NULL)
            __atomic_store_n(&lt_shared->note[0][0], i, __ATOMIC_RELEASE);
    }
    getrusage(RUSAGE_THREAD, &used);
    sleeper->sleeps = used.ru_nvcsw;
    return NULL;
}

/* Several threads sleep, and one of them is woken again and again: it alone. */
static void sleepers(void)
{
    struct sleeper all[SLEEPERS];
    gni_post_descriptor_t post;
    pthread_t ids[SLEEPERS];
    struct lt lt;
    uint64_t i;

    lt_start(&lt, 4096);
    for (i = 1; lt_rank == 1 && i <= ARRIVALS; i++) {
        post = put_to(&lt, 0, 0, 8);
        OK(lt_post(&lt, 0, &post, false));
        while (__atomic_load_n(&lt_shared->note[0][0], __ATOMIC_ACQUIRE) < i)
            usleep(50);
        usleep(200); /* tested: the thread sleeps again by then, or is about to */
    }
    for (i = 0; lt_rank == 0 && i < SLEEPERS; i++) {
        all[i] = (struct sleeper){&lt, lt.rx, NULL, 0};
        if (i > 0) {
            OK(GNI_CqCreate(lt.nic, 64, 0, GNI_CQ_BLOCKING, NULL, NULL, &all[i].cq));
            OK(GNI_EpCreate(lt.nic, all[i].cq, &all[i].ep));
            OK(GNI_EpBind(all[i].ep, lt.peers[1].pe, 1));
        }
        pthread_create(&ids[i], NULL, sleep_on, &all[i]);
    }
    if (lt_rank == 0)
        pthread_join(ids[0], NULL);
    for (i = 1; lt_rank == 0 && i < SLEEPERS; i++) {
        post = put_to(&lt, 1, 0, 8);
        post.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
        OK(GNI_PostFma(all[i].ep, &post));
        pthread_join(ids[i], NULL);
        CHECK(all[i].sleeps <= DISTURBED_MAX);
        OK(GNI_EpDestroy(all[i].ep));
    }
    lt_end(&lt);
}

/* ---- death ----------------------------------------------------------------------------------- */

static bool is_of_death(uint32_t status)
{
    return status == A_STATUS_ORB_TIMEOUT || status == A_STATUS_ENDPOINT_UNREACHABLE;
}

/* Rank 1 dies while rank 0 posts; rank 2 takes its place on its node with its id. */
static void successor(void)
{
    uint64_t bytes[] = {8, 2000, 100000};
    gni_post_descriptor_t post, *done;
    uint32_t failures = 0, pe, i;
    gni_cq_entry_t entry;
    gni_return_t result;
    struct lt lt;

    if (lt_rank == 2) {
        gni_cdm_handle_t cdm;
        gni_nic_handle_t nic;

        lt_barrier();
        lt_barrier();
        lt_barrier(); /* rank 1 is dead */
        lt_rank = 1;
        setenv("JACQUARD_NODE", "1", 1);
        OK(GNI_CdmCreate(1, 17, 0x12340000, GNI_CDM_MODE_ERR_NO_KILL, &cdm));
        while ((result = GNI_CdmAttach(cdm, 0, &pe, &nic)) == GNI_RC_INVALID_STATE)
            usleep(1000); /* its end may not have been noticed yet */
        OK(result);
        OK(GNI_CdmDestroy(cdm));
        lt_barrier();
        lt_start_among(&lt, 1u << 20, 2);
        lt_barrier();
        CHECK(*(uint64_t *)lt.memory == 815);
        lt_barrier();
        return;
    }
    lt_start_among(&lt, 1u << 20, 2);
    if (lt_rank == 1) {
        while (GNI_CqGetEvent(lt.rx, &entry) != GNI_RC_SUCCESS)
            ; /* rank 0 knows whom it writes to */
        for (i = 0; i < 50000; i++)
            GNI_CqGetEvent(lt.rx, &entry);
        __atomic_fetch_sub(&lt_shared->alive, 1, __ATOMIC_SEQ_CST);
        kill(getpid(), SIGKILL);
    }
    for (i = 0; failures < 30; i++) {
        post = put_to(&lt, 1, 0, bytes[i % 3]);
        OK(GNI_PostFma(lt.eps[1], &post));
        while ((result = GNI_CqGetEvent(lt.tx, &entry)) == GNI_RC_NOT_DONE)
            ;
        if (result == GNI_RC_TRANSACTION_ERROR) {
            if (!is_of_death(GNI_CQ_GET_STATUS(entry)))
                fprintf(stderr, "status %#x, %lu bytes\n", (unsigned)GNI_CQ_GET_STATUS(entry),
                        (unsigned long)post.length);
            CHECK(is_of_death(GNI_CQ_GET_STATUS(entry)));
            failures++;
        } else {
            OK(result);
            CHECK(failures == 0);
        }
        GNI_GetCompleted(lt.tx, entry, &done);
        CHECK(done == &post);
    }
    lt_barrier();
    OK(GNI_CdmDestroy(lt.cdm));
    free(lt.mailboxes);
    lt_barrier();
    lt_start_among(&lt, 1u << 20, 2);
    *(uint64_t *)lt.memory = 815;
    post = put_to(&lt, 1, 0, 8);
    OK(lt_post(&lt, 1, &post, false));
    lt_barrier();
    lt_barrier();
}

/* Rank 1 sends and ends before rank 0, which did not know it, has looked: that arrives. */
static void last_words(void)
{
    uint64_t word = 4711;
    gni_post_descriptor_t post;
    gni_cq_entry_t entry;
    double until;
    struct lt lt;

    lt_start(&lt, 4096);
    if (lt_rank == 1) {
        kill(lt_shared->pids[0], SIGSTOP);
        memcpy(lt.memory, &word, sizeof(word));
        post = put_to(&lt, 0, 0, sizeof(word));
        OK(GNI_PostFma(lt.eps[0], &post));
        if (fork() == 0) {
            usleep(300000); /* tested: rank 0 goes on long after this process has ended */
            kill(lt_shared->pids[0], SIGCONT);
            _exit(0);
        }
        _exit(0);
    }
    until = lt_seconds() + 20;
    while (__atomic_load_n((uint64_t *)lt.memory, __ATOMIC_SEQ_CST) != word) {
        GNI_CqGetEvent(lt.tx, &entry);
        CHECK(lt_seconds() < until);
    }
    OK(GNI_CdmDestroy(lt.cdm));
    free(lt.mailboxes);
}

/* A datagram session ends with an error if the peer accepted it and died. */
static void datagram_of_the_dead(void)
{
    gni_post_state_t state = GNI_POST_PENDING;
    uint32_t pe, id;
    char out[16] = "hello", in[16];
    struct lt lt;

    lt_start(&lt, 4096);
    if (lt_rank == 1) {
        lt_barrier();
        while (GNI_EpPostDataTest(lt.eps[0], &state, &pe, &id) == GNI_RC_NO_MATCH)
            ;
        CHECK(state == GNI_POST_REMOTE_DATA);
        kill(getpid(), SIGKILL); /* it has the offer, and never answered */
    }
    OK(GNI_EpPostData(lt.eps[1], out, sizeof(out), in, sizeof(in)));
    lt_barrier();
    OK(GNI_EpPostDataWait(lt.eps[1], 60000, &state, &pe, &id));
    CHECK(state == GNI_POST_TERMINATED);
    OK(GNI_CdmDestroy(lt.cdm));
    free(lt.mailboxes);
}

int main(void)
{
    return lt_run("live_process_sleeping", 2, 2, sleeping) |
           lt_run("live_process_cancelled_where_it_is_safe", 1, 1, cancelled) |
           lt_run("live_process_jobs_apart", 2, 2, jobs_apart) |
           lt_run("live_process_forks", 2, 2, forks) |
           lt_run("live_process_forks_in_traffic", 2, 2, forks_in_traffic) |
           lt_run("live_process_threads", 2, 2, threads) |
           lt_run("live_process_sleepers", 2, 2, sleepers) |
           lt_run("live_process_successor", 3, 2, successor) |
           lt_run("live_process_last_words", 2, 2, last_words) |
           lt_run("live_process_datagram_of_the_dead", 2, 2, datagram_of_the_dead);
}
