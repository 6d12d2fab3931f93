/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The carrier of live mode between two processes, each on a processor of its own: records through
 * the rings of a private fabric, copies, and what sleeping costs. Reference of the ping-pong: one
 * word in one cache line that two processes write in turn, nothing else.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"
#include "shm/shm.h"

#define TURNS 1000000u
#define STREAM 10000000u
#define BIG_STREAM 300000u
#define SLEEPS 20000u
#define COPIES 400u
#define COPY_BYTES (4u << 20)

enum { PING = 1, STREAMED, DONE };

static struct shm *shm;
static struct shm_peer *peer;
static _Atomic uint64_t *line; /* for the reference; [1]: where the child's copy target is */

static void die(const char *what)
{
    fprintf(stderr, "bench-live-ring: %s\n", what);
    exit(1);
}

/* Pins the processes to different processors. */
static void pin(int index)
{
    cpu_set_t set, all;
    int cpu;

    if (sched_getaffinity(0, sizeof(all), &all) != 0)
        return;
    for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all) || index-- > 0)
            continue;
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof(set), &set);
        return;
    }
}

static void met(void *arg, struct shm_peer *other)
{
    peer = other;
}

static void join_fabric(void)
{
    struct shm_options options = {.node = SHM_NODE_ANY, .events = {.met = met}};
    char why[SHM_WHY_BYTES];

    if (shm_join(&options, &shm, why) != 0)
        die(why);
}

static void send(uint32_t kind, uint32_t bytes, uint64_t value)
{
    struct shm_record record;
    uint64_t *room;

    while ((room = shm_reserve(peer, SHM_REQUEST, bytes)) == NULL)
        while (shm_next(shm, &record))
            die("a record that nobody expected");
    memset(room, 0, bytes);
    room[0] = value;
    shm_publish(peer, SHM_REQUEST, kind, bytes);
}

static uint64_t receive(uint32_t *kind)
{
    static uint64_t payload[SHM_RECORD_MAX / 8];
    struct shm_record record;

    while (!shm_next(shm, &record))
        ;
    *kind = record.kind;
    memcpy(payload, record.bytes, record.count);
    shm_release(shm);
    return payload[0];
}

static void receive_asleep(uint32_t *kind)
{
    struct shm_record record;

    while (!shm_next(shm, &record)) {
        if (shm_sleep_begin(shm)) {
            shm_sleep(shm, UINT64_MAX);
            shm_sleep_end(shm);
        }
    }
    *kind = record.kind;
    shm_release(shm);
}

/* ---- the other process ----------------------------------------------------------------------- */

static void other_line(void)
{
    uint64_t turn;

    for (turn = 1; turn < 2 * TURNS; turn += 2) {
        while (atomic_load_explicit(line, memory_order_acquire) != turn)
            ;
        atomic_store_explicit(line, turn + 1, memory_order_release);
    }
}

static void other_records(void)
{
    uint32_t i, kind;

    for (i = 0; i < TURNS; i++) {
        receive(&kind);
        send(PING, 8, i);
    }
    for (i = 0; i < SLEEPS; i++) {
        receive_asleep(&kind);
        send(PING, 8, i);
    }
    do
        receive(&kind);
    while (kind != DONE);
    send(DONE, 8, 0);
    do
        receive(&kind);
    while (kind != DONE);
    send(DONE, 8, 0);
    do
        receive(&kind);
    while (kind != DONE);
}

static void other(void)
{
    char *memory = malloc(COPY_BYTES);

    if (memory == NULL)
        die("no memory");
    memset(memory, 1, COPY_BYTES);
    pin(1);
    join_fabric();
    atomic_store(&line[1], (uintptr_t)memory);
    other_line();
    while (peer == NULL)
        shm_poll_daemon(shm);
    other_records();
    shm_leave(shm);
    exit(0);
}

/* ---- this process ---------------------------------------------------------------------------- */

static double time_line(void)
{
    double started = bench_seconds();
    uint64_t turn;

    for (turn = 0; turn < 2 * TURNS; turn += 2) {
        atomic_store_explicit(line, turn + 1, memory_order_release);
        while (atomic_load_explicit(line, memory_order_acquire) != turn + 2)
            ;
    }
    return (bench_seconds() - started) / (2.0 * TURNS) * 1e9;
}

static double time_turns(uint32_t turns, bool asleep)
{
    double started = bench_seconds();
    uint32_t i, kind;

    for (i = 0; i < turns; i++) {
        send(PING, 8, i);
        if (asleep)
            receive_asleep(&kind);
        else
            receive(&kind);
    }
    return (bench_seconds() - started) / (2.0 * turns) * 1e9;
}

static double time_stream(uint32_t count, uint32_t bytes)
{
    double started = bench_seconds();
    uint32_t i, kind;

    for (i = 0; i < count; i++)
        send(STREAMED, bytes, i);
    send(DONE, 8, 0);
    receive(&kind);
    return bench_seconds() - started;
}

static double time_copies(size_t bytes, uint32_t count)
{
    char *memory = malloc(bytes);
    double started;
    uint32_t i;

    if (memory == NULL)
        die("no memory");
    memset(memory, 2, bytes);
    started = bench_seconds();
    for (i = 0; i < count; i++)
        if (shm_copy_to(peer, atomic_load(&line[1]), memory, bytes) != 0)
            die("this system does not permit copies between processes");
    free(memory);
    return (bench_seconds() - started) / count;
}

static double time_empty_polls(void)
{
    struct shm_record record;
    double started = bench_seconds();
    uint32_t i;

    for (i = 0; i < TURNS; i++)
        if (shm_next(shm, &record))
            die("a record that nobody expected");
    return (bench_seconds() - started) / TURNS * 1e9;
}

int main(int argc, char **argv)
{
    struct bench bench;
    struct shm_member member;
    double reference;
    int status;
    pid_t child;
    uint32_t slot;

    setenv("JACQUARD_PROCESSES", "16", 0);
    line = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (line == MAP_FAILED)
        die("no memory");
    bench_begin(&bench, "live_ring", argc, argv);
    bench_calibrate(&bench);
    join_fabric();
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it polls for ever */
        shm_leave(shm);
        other();
    }
    pin(0);
    while (atomic_load(&line[1]) == 0)
        usleep(1000);
    reference = time_line();
    for (slot = 0; peer == NULL && slot < shm_facts(shm)->processes_max; slot++)
        if (shm_member(shm, slot, &member) && member.pid == child)
            peer = shm_peer(shm, slot, 0, NULL);
    if (peer == NULL)
        die("the other process is not there");

    bench_row(&bench, "a cache line, one way", reference, "ns", 0);
    bench_row(&bench, "8-byte record, one way", time_turns(TURNS, false), "ns", reference);
    bench_row(&bench, "8-byte record, one way, both asleep", time_turns(SLEEPS, true) / 1000, "us",
              0);
    bench_row(&bench, "stream of 8-byte records", STREAM / time_stream(STREAM, 8) / 1e6, "M/s", 0);
    bench_row(&bench, "stream of 4096-byte records",
              BIG_STREAM * 4096.0 / time_stream(BIG_STREAM, 4096) / 1e9, "GB/s", 0);
    bench_row(&bench, "an empty poll", time_empty_polls(), "ns", 0);
    bench_row(&bench, "copy of 8 bytes", time_copies(8, TURNS / 10) * 1e9, "ns", 0);
    bench_row(&bench, "copy of 4 MiB", COPY_BYTES / time_copies(COPY_BYTES, COPIES) / 1e9, "GB/s",
              0);
    send(DONE, 8, 0);
    waitpid(child, &status, 0);
    shm_leave(shm);
    bench_end(&bench);
    return status != 0;
}
