/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The machine of the conformance tests (tests/api/fixture.h) on a live fabric: each rank is a
 * process, which has libugni.so as any program has it. What is static in the test is shared by
 * all: its pages become shared memory before the ranks are forked, so tests may look at what
 * another rank noted. A failed assertion ends its rank, and fails the test.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "folder.h"
#include "fixture.h"
#include "engine/ledger.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 400u
#define NODES "64" /* as many as ranks */
enum { PASSED, FAILED, SKIPPED = 77 };

static struct common {
    struct machine machine;
    pid_t process[MACHINE_RANKS];
    uint32_t address[MACHINE_RANKS]; /* of NICs, by node */
    uint32_t lock, living, arrived, epoch; /* of the barrier; atomic */
} * common;
static pid_t parent; /* of all ranks */

static bool is_rank(void)
{
    return parent != 0 && getpid() != parent;
}

/* ---- ends of ranks --------------------------------------------------------------------------- */

/* What cmocka's assertions call. */
__attribute__((visibility("default"))) void _fail(const char *const file, const int line)
{
    static void (*theirs)(const char *file, int line);

    if (is_rank()) {
        print_error("%s:%d: rank %d failed\n", file, line, getpid());
        fflush(NULL);
        _exit(FAILED);
    }
    *(void **)&theirs = dlsym(RTLD_NEXT, "_fail");
    theirs(file, line);
    abort();
}

__attribute__((noreturn)) static void needs_simulation(void)
{
    if (is_rank())
        _exit(SKIPPED);
    skip();
    abort();
}

/* ---- barrier --------------------------------------------------------------------------------- */

static void lock(void)
{
    while (__atomic_exchange_n(&common->lock, 1, __ATOMIC_ACQUIRE) != 0)
        sched_yield();
}

static void unlock(void)
{
    __atomic_store_n(&common->lock, 0, __ATOMIC_RELEASE);
}

/* Under the lock: whether all have come that are still there. */
static void barrier_check(void)
{
    if (common->arrived == 0 || common->arrived < common->living)
        return;
    common->arrived = 0;
    __atomic_add_fetch(&common->epoch, 1, __ATOMIC_SEQ_CST);
}

void machine_barrier(struct rank *rank)
{
    uint32_t epoch = __atomic_load_n(&common->epoch, __ATOMIC_SEQ_CST);

    (void)rank;
    lock();
    common->arrived++;
    barrier_check();
    unlock();
    while (__atomic_load_n(&common->epoch, __ATOMIC_SEQ_CST) == epoch)
        usleep(20);
}

static void rank_over(struct rank *rank)
{
    lock();
    common->living--;
    barrier_check();
    unlock();
    rank->ended = true;
}

/* ---- machine --------------------------------------------------------------------------------- */

extern char __data_start[], _end[];

/* With what lies between the variables, which sanitizers forbid: no memcpy(). */
__attribute__((no_sanitize("address"))) static void copy_pages(uint64_t *to, const uint64_t *from,
                                                               size_t words)
{
    size_t i;

    for (i = 0; i < words; i++)
        ((volatile uint64_t *)to)[i] = from[i];
}

/* What is static in this program, not in libraries, becomes common to all processes. */
static void share_statics(void)
{
    static bool shared;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)__data_start / page * page;
    size_t bytes = ((uintptr_t)_end - begin + page - 1) / page * page;
    void *copy;

    if (shared)
        return;
    shared = true;
    copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(copy != MAP_FAILED);
    copy_pages(copy, (const uint64_t *)begin, bytes / sizeof(uint64_t));
    assert_ptr_equal(mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)begin),
                     (void *)begin);
}

/* What the launcher did, where there is one. */
static void configure_jobs(void)
{
    assert_ok(GNI_ConfigureJob(0, MACHINE_JOB, MACHINE_PTAG, MACHINE_COOKIE, NULL));
    assert_ok(GNI_ConfigureJob(0, MACHINE_JOB, MACHINE_PTAG_OTHER, MACHINE_COOKIE_OTHER, NULL));
}

static void run_rank(struct rank *rank)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    char number[16];
    uint32_t cpu, i;

    snprintf(number, sizeof(number), "%u", rank->node);
    setenv("JACQUARD_NODE", number, 1);
    snprintf(number, sizeof(number), "%u", MACHINE_JOB);
    setenv("JACQUARD_JOB", number, 1);
    for (i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
        signal(crashes[i], SIG_DFL); /* cmocka's handler belongs to the parent */
    alarm(SECONDS);
    assert_ok(GNI_CdmGetNicAddress(0, &common->address[rank->node], &cpu));
    if (rank->machine->privileged)
        configure_jobs();
    machine_barrier(rank);
    rank->machine->main(rank);
    rank_over(rank);
    fflush(NULL);
    _exit(PASSED);
}

static void start_ranks(struct machine *machine)
{
    uint32_t i;
    pid_t pid;

    fflush(NULL);
    for (i = 0; i < machine->ranks; i++) {
        machine->rank[i] = (struct rank){.id = i, .node = machine->node[i], .machine = machine};
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            run_rank(&machine->rank[i]);
        common->process[i] = pid;
    }
}

/* How the first ended that did not pass; the others are killed then. */
static int await_ranks(struct machine *machine)
{
    int result = PASSED, status;
    uint32_t i, left = machine->ranks;
    pid_t pid;

    while (left > 0 && (pid = waitpid(-1, &status, 0)) > 0) {
        for (i = 0; i < machine->ranks && common->process[i] != pid; i++)
            ;
        if (i == machine->ranks)
            continue;
        left--;
        if (WIFEXITED(status) && WEXITSTATUS(status) == PASSED)
            continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED && result == FAILED)
            result = SKIPPED; /* that others noticed its end is no failure */
        if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGABRT) &&
            result == PASSED) { /* by the error policy */
            machine->rank[i].killed = true;
            rank_over(&machine->rank[i]);
            machine->rank[i].ended = false;
            continue;
        }
        if (result != PASSED)
            continue; /* killed for that */
        result = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED ? SKIPPED : FAILED;
        if (WIFSIGNALED(status))
            print_error("a rank ended by signal %d\n", WTERMSIG(status));
        for (i = 0; i < machine->ranks; i++)
            kill(common->process[i], SIGKILL);
    }
    return result;
}

void machine_run(struct machine *machine)
{
    struct folder folder;
    uint32_t i;
    int result;

    if (machine->prepare != NULL || machine->configure != NULL || machine->param[0] != NULL ||
        machine->profile != NULL || (machine->privileged && geteuid() != 0))
        needs_simulation();
    machine->privileged = geteuid() == 0;
    machine->ranks = machine->ranks == 0 ? 2 : machine->ranks;
    machine->ranks_per_node = machine->ranks_per_node == 0 ? 1 : machine->ranks_per_node;
    assert_true(folder_new(&folder));
    setenv("JACQUARD_NODES", NODES, 1);
    parent = getpid();
    share_statics();
    common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(common != MAP_FAILED);
    common->machine = *machine;
    common->living = machine->ranks;
    for (i = 0; i < machine->ranks; i++)
        common->machine.node[i] = i / machine->ranks_per_node;
    if (machine->place != NULL)
        machine->place(&common->machine);
    start_ranks(&common->machine);
    result = await_ranks(&common->machine);
    *machine = common->machine;
    munmap(common, sizeof(*common));
    assert_true(folder_remove(&folder));
    if (result == SKIPPED)
        skip();
    assert_int_equal(result, PASSED);
}

void machine_simulated(void)
{
    needs_simulation();
}

uint32_t machine_address(const struct machine *machine, uint32_t node)
{
    (void)machine;
    return common->address[node];
}

/* ---- the engine's interface, on the clock of the machine ---------------------------------------
 */

sim_time_t sim_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((sim_time_t)now.tv_sec * 1000000000u + (sim_time_t)now.tv_nsec) * SIM_NS;
}

sim_time_t sim_clock_read(void)
{
    return sim_now();
}

static void sleep_until(sim_time_t at)
{
    struct timespec until = {(time_t)(at / SIM_S), (long)(at % SIM_S / SIM_NS)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

void aries_spin(bool (*ready)(const void *arg), const void *arg)
{
    while (!ready(arg))
        usleep(10);
}

int aries_poll(struct pollfd *fds, unsigned long count, sim_time_t timeout)
{
    return poll(fds, count, timeout == SIM_NEVER ? -1 : (int)(timeout / SIM_MS));
}

uint32_t aries_nic_address(const struct aries_fabric *fabric, uint32_t node)
{
    (void)fabric;
    return common->address[node];
}

/* ---- fibers are threads -----------------------------------------------------------------------
 */

struct sim_fiber {
    struct sim_fiber *next;
    void (*main)(void *arg);
    void *arg;
    sim_time_t at;
    pthread_t thread;
    pid_t number; /* of the thread; 0: it has not begun, -1: it has ended. atomic */
    bool interrupted; /* atomic */
};
static _Thread_local struct sim_fiber *fibers; /* of the rank's first thread: not shared */

/* The address sanitizer does not see that the frames of a cancelled thread are gone. */
extern void __asan_unpoison_memory_region(const volatile void *from, size_t bytes)
    __attribute__((weak));

static void frames_gone(void *argument)
{
    enum { FRAMES = 64 << 10 };

    if (__asan_unpoison_memory_region != NULL)
        __asan_unpoison_memory_region((uint8_t *)argument - FRAMES, FRAMES);
}

static void *fiber_main(void *argument)
{
    struct sim_fiber *fiber = argument;

    pthread_cleanup_push(frames_gone, __builtin_frame_address(0));
    __atomic_store_n(&fiber->number, gettid(), __ATOMIC_SEQ_CST);
    sleep_until(fiber->at);
    fiber->main(fiber->arg);
    pthread_cleanup_pop(0);
    __atomic_store_n(&fiber->interrupted, false, __ATOMIC_SEQ_CST);
    __atomic_store_n(&fiber->number, -1, __ATOMIC_SEQ_CST);
    return NULL;
}

static bool sleeps(const struct sim_fiber *fiber)
{
    pid_t number = __atomic_load_n(&fiber->number, __ATOMIC_SEQ_CST);
    char path[64], state = 'S';
    FILE *file;

    if (number <= 0)
        return number < 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", number);
    file = fopen(path, "re");
    if (file == NULL)
        return true;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'S';
    fclose(file);
    return state == 'S';
}

/*
 * In simulation others have done what they can when time has passed. So here they get a while:
 * until they sleep each time that they are asked, for they may also sleep for a moment, at a lock.
 */
void sim_sleep_until(sim_time_t at)
{
    enum { POLLS = 3 };
    const struct sim_fiber *fiber;
    sim_time_t deadline;
    int asleep;

    sleep_until(at);
    deadline = sim_now() + 5 * SIM_S;
    for (fiber = fibers; fiber != NULL; fiber = fiber->next)
        for (asleep = 0; asleep < POLLS && sim_now() < deadline; usleep(500)) {
            asleep = sleeps(fiber) ? asleep + 1 : 0;
            if (__atomic_load_n(&fiber->number, __ATOMIC_SEQ_CST) < 0)
                break;
        }
}

struct sim_fiber *sim_fiber_start(void (*main)(void *arg), void *arg, const char *name,
                                  sim_time_t at)
{
    struct sim_fiber *fiber = calloc(1, sizeof(*fiber));

    (void)name;
    assert_non_null(fiber);
    *fiber = (struct sim_fiber){.next = fibers, .main = main, .arg = arg, .at = at};
    fibers = fiber;
    assert_int_equal(pthread_create(&fiber->thread, NULL, fiber_main, fiber), 0);
    return fiber;
}

/* Cancelled wherever it is: programs do so to threads that block. */
void sim_fiber_kill(struct sim_fiber *fiber)
{
    assert_int_equal(pthread_cancel(fiber->thread), 0);
    assert_int_equal(pthread_join(fiber->thread, NULL), 0);
    fiber->interrupted = false;
    fiber->number = -1;
}

void aries_process_bind(struct aries_process *process, struct sim_fiber *fiber)
{
    (void)process, (void)fiber;
}

void aries_process_unbind(struct aries_process *process, const struct sim_fiber *fiber)
{
    (void)process, (void)fiber;
}

static void on_signal(int number)
{
    (void)number;
}

void aries_process_interrupt(struct aries_process *process, struct sim_fiber *fiber)
{
    (void)process;
    signal(SIGUSR1, on_signal);
    __atomic_store_n(&fiber->interrupted, true, __ATOMIC_SEQ_CST);
    pthread_kill(fiber->thread, SIGUSR1);
}

/* A signal that comes before its thread blocks is one that the thread does not notice: once more.
 */
bool machine_soon(const bool *flag)
{
    sim_time_t deadline = sim_now() + 20 * SIM_S;
    struct sim_fiber *fiber;

    while (!__atomic_load_n(flag, __ATOMIC_SEQ_CST) && sim_now() < deadline) {
        usleep(1000);
        for (fiber = fibers; fiber != NULL; fiber = fiber->next)
            if (__atomic_load_n(&fiber->interrupted, __ATOMIC_SEQ_CST))
                pthread_kill(fiber->thread, SIGUSR1);
    }
    return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

/* ---- what only a simulation has -------------------------------------------------------------- */

struct sim_fault_rule packet_rule(enum sim_fault_action action, uint32_t kind)
{
    (void)action, (void)kind;
    needs_simulation();
}

void packet_rule_add(const struct sim_fault_rule *rule)
{
    (void)rule;
    needs_simulation();
}

void packet_fault(enum sim_fault_action action, uint32_t kind, uint32_t status)
{
    (void)action, (void)kind, (void)status;
    needs_simulation();
}

sim_time_t idle_time(struct domain *domain, gni_ep_handle_t ep, gni_post_descriptor_t descr)
{
    (void)domain, (void)ep, (void)descr;
    needs_simulation();
}

struct sim_fault_point *sim_fault_point_find(const char *name)
{
    (void)name;
    needs_simulation();
}

struct sim_fault_rule *sim_fault_rule_add(struct sim_fault_point *point,
                                          const struct sim_fault_rule *rule)
{
    (void)point, (void)rule;
    needs_simulation();
}

void sim_event_schedule(struct sim_event *event, sim_time_t at)
{
    (void)event, (void)at;
    needs_simulation();
}

uint32_t net_minimal_hops(const struct net *net, uint32_t source, uint32_t target)
{
    (void)net, (void)source, (void)target;
    needs_simulation();
}

void aries_job_configure(struct aries_fabric *fabric, uint64_t job_id, uint8_t ptag,
                         uint32_t cookie)
{
    (void)fabric, (void)job_id, (void)ptag, (void)cookie;
    needs_simulation();
}

void aries_node_crash(struct aries_fabric *fabric, uint32_t node)
{
    (void)fabric, (void)node;
    needs_simulation();
}

void aries_cq_force_overrun(struct aries_fabric *fabric, uint32_t node)
{
    (void)fabric, (void)node;
    needs_simulation();
}

void aries_cq_force_overrun_of(struct aries_fabric *fabric, uint32_t node, uint32_t queue)
{
    (void)fabric, (void)node, (void)queue;
    needs_simulation();
}

void aries_error_inject(struct aries_fabric *fabric, uint32_t node, uint8_t category, uint16_t code,
                        uint8_t ptag)
{
    (void)fabric, (void)node, (void)category, (void)code, (void)ptag;
    needs_simulation();
}

void aries_nic_hang(struct aries_fabric *fabric, uint32_t node, sim_time_t duration)
{
    (void)fabric, (void)node, (void)duration;
    needs_simulation();
}

void aries_pcie_stall(struct aries_fabric *fabric, uint32_t node, sim_time_t duration)
{
    (void)fabric, (void)node, (void)duration;
    needs_simulation();
}

void aries_mdd_corrupt(struct aries_fabric *fabric, uint32_t node, uint32_t region)
{
    (void)fabric, (void)node, (void)region;
    needs_simulation();
}

void aries_get_counters(const struct aries_fabric *fabric, struct aries_counters *counters)
{
    (void)fabric, (void)counters;
    needs_simulation();
}

bool sim_ledger_balanced(void)
{
    needs_simulation();
}
