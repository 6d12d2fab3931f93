/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The head:
 *   0  processes 2 … 4, and whether two share a node; threads of each
 *   1  what is prepared: bit n for process n (0: nothing); 0x40: privileged, 0x80: the policy kills
 *   2  how it ends: each process destroys its domains · exits · is there when the fabric goes ·
 *      the simulation stops in the middle
 *   3  packets that are dropped or poisoned      4  events that find their queue full
 *   5  datagrams: dropped, delayed, doubled      6  a node that dies, and when
 *   7  a NIC that hangs, a host that stalls, a quiesce, a throttle
 *   8  few queues, descriptors and entries       9  fidelity, and exact queue sizes
 *   10 in the middle: when                       11 the seed
 */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "engine/trace.h"
#include "api.h"
#include "engine/fault.h"
#include "engine/ledger.h"
#include "net/net.h"

struct world world;

enum ending { DESTROYS, EXITS, REMAINS, STOPPED };

void die(const char *format, ...)
{
    va_list arguments;

    fputs("api_fuzz: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}

void note(uint64_t value)
{
    world.digest = (world.digest ^ value) * 0x100000001b3ull;
    world.digest ^= world.digest >> 29;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void leave(struct process *process)
{
    process->reaped = true;
    if (process->process != NULL)
        aries_process_exit(process->process);
    process->process = NULL;
    model_process_gone(process->id);
}

/* Runs as an event of its own, outside the event that killed the process. */
static void reap(struct sim_event *event)
{
    struct process *process = sim_container_of(event, struct process, reap);
    uint32_t i;

    for (i = 0; i < process->threads; i++) {
        if (process->thread[i].ended)
            continue;
        sim_fiber_kill(process->thread[i].fiber);
        process->thread[i].ended = true;
        world.threads_running--;
    }
    if (!process->reaped)
        leave(process);
}

static void killed(void *argument, const char *why)
{
    static const struct sim_wait dead = {.text = "nothing: it was killed"};
    struct process *process = argument;
    uint32_t i;

    if (why == NULL)
        die("killed without a reason");
    process->dead = true;
    process->reap.fire = reap;
    sim_event_schedule(&process->reap, sim_now());
    for (i = 0; i < process->threads; i++)
        while (sim_fiber_self() != NULL && sim_fiber_self() == process->thread[i].fiber)
            sim_wait_until(SIM_NEVER, &dead);
}

static uint32_t ending(void)
{
    return world.head[2] % 4;
}

static bool last_of(const struct process *process)
{
    uint32_t i;

    for (i = 0; i < process->threads; i++)
        if (!process->thread[i].ended)
            return false;
    return true;
}

static void thread_main(void *argument)
{
    struct thread *thread = argument;
    struct process *process = thread->process;

    if (thread->id == 0 && (world.head[1] >> process->id & 1))
        calls_prepare(thread);
    sim_sleep_until(2 * SIM_MS);
    calls_run(thread);
    sim_settle();
    thread->ended = true;
    if (last_of(process)) {
        if (ending() == DESTROYS)
            calls_destroy_all(process);
        if (ending() == EXITS)
            leave(process);
    }
    world.threads_running--;
    if (world.threads_running == 0 && ending() >= REMAINS)
        sim_stop(); /* while calls are still in flight */
}

static void start(struct process *process, uint32_t id, const uint8_t *bytes, size_t length)
{
    char name[24];
    uint32_t i;

    process->id = id;
    process->node = world.head[0] & 0x10 ? id / 2 : id;
    process->threads = 1 + (world.head[0] >> 6 & 1);
    snprintf(name, sizeof(name), "process %u", id);
    process->process = aries_process_create(world.fabric, process->node, 42, 1000 + id,
                                            world.head[1] & 0x40, name, killed, process);
    for (i = 0; i < process->threads; i++) {
        struct thread *thread = &process->thread[i];

        thread->process = process;
        thread->id = i;
        thread->next = bytes;
        thread->end = bytes + length / RECORD_BYTES * RECORD_BYTES;
        thread->fiber = sim_fiber_start(thread_main, thread, name, 0);
        aries_process_bind(process->process, thread->fiber);
        world.threads_running++;
    }
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void set(struct aries_params *params, const char *name, double value)
{
    char *error = NULL;

    if (!aries_params_set(params, name, value, &error))
        die("%s", error);
}

static void build(void)
{
    struct aries_params *params = aries_params_new("xc40_hsw");
    struct net_config config;
    char *error = NULL;

    if (world.head[8] & 1) {
        set(params, "aries.nic.cqs", 4);
        set(params, "aries.nic.mdds", 6);
    }
    if (world.head[8] & 2)
        set(params, "aries.nic.fma_descs", 1);
    if (world.head[8] & 4)
        set(params, "aries.nic.orb_entries", 64);
    set(params, "aries.fault.kill", world.head[1] >> 7);
    set(params, "aries.nic.cq_exact", world.head[9] >> 7);
    net_config_default(&config);
    config.seed = world.head[11] + 1u;
    config.fidelity = world.head[9] & 1 ? NET_F0 : NET_F1;
    config.dragonfly.preset = NULL; /* four blades */
    config.dragonfly.groups = config.dragonfly.chassis = 1;
    config.dragonfly.slots = 4;
    config.dragonfly.cables = 0;
    aries_params_to_net(params, &config);
    world.net = net_create(&config, &error);
    if (world.net == NULL)
        die("%s", error);
    world.fabric = aries_fabric_create(world.net, params, config.seed);
    aries_params_free(params);
    aries_job_configure(world.fabric, 42, 17, GNI_JOB_CREATE_COOKIE(0x1234, 0));
    aries_job_configure(world.fabric, 42, 18, GNI_JOB_CREATE_COOKIE(0x4321, 0));
}

static void rule(const char *point, enum sim_fault_action action, uint8_t how)
{
    static const double probabilities[] = {0.02, 0.2, 0.6, 1.0};
    struct sim_fault_rule rule = {
        .action = action,
        .until = SIM_NEVER,
        .probability = probabilities[how >> 3 & 3],
        /*
         * The kernel repeats lost datagrams without limit, so a rule that drops all of them must
         * end.
         */
        .count_max = (how & 0x20) || (how & 0x18) == 0x18 ? 3 : 0,
        .skip = how >> 6,
        .source = SIM_FAULT_ANY,
        .target = SIM_FAULT_ANY,
        .between = {SIM_FAULT_ANY, SIM_FAULT_ANY},
        .kind = SIM_FAULT_ANY,
        .delay = 3 * SIM_MS,
    };

    sim_fault_rule_add(sim_fault_point_find(point), &rule);
}

static void crash(struct sim_event *event)
{
    aries_node_crash(world.fabric, world.head[6] & 3);
}

static void trouble(struct sim_event *event)
{
    uint32_t node = world.head[7] >> 3 & 3;

    switch (world.head[7] & 7) {
    case 1:
        aries_nic_hang(world.fabric, node, 5 * SIM_MS);
        break;
    case 2:
        aries_pcie_stall(world.fabric, node, SIM_MS);
        break;
    case 3:
        aries_quiesce(world.fabric, SIM_MS);
        break;
    case 4:
        aries_throttle(world.fabric, 10, 10 * SIM_MS);
        break;
    case 5:
        aries_cq_force_overrun(world.fabric, node);
        break;
    default:
        break;
    }
}

static void stop(struct sim_event *event)
{
    sim_stop();
}

static struct sim_event crash_event = {crash}, trouble_event = {trouble}, stop_event = {stop};

static void plan_faults(void)
{
    if (world.head[3] & 1)
        rule("aries.packet", SIM_FAULT_DROP, world.head[3]);
    if (world.head[3] & 2)
        rule("aries.packet", SIM_FAULT_CORRUPT, world.head[3]);
    if (world.head[3] & 4)
        rule("net.packet", SIM_FAULT_DUPLICATE, world.head[3]);
    if (world.head[4] & 1)
        rule("aries.cq", SIM_FAULT_DROP, world.head[4]);
    if (world.head[5] & 1)
        rule("aries.datagram", SIM_FAULT_DROP, world.head[5]);
    if (world.head[5] & 2)
        rule("aries.datagram", SIM_FAULT_DELAY, world.head[5]);
    if (world.head[5] & 4)
        rule("aries.datagram", SIM_FAULT_DUPLICATE, world.head[5]);
    if (world.head[6] & 4)
        sim_event_schedule(&crash_event, 2 * SIM_MS + (world.head[6] >> 3) * 10 * SIM_US);
    if (world.head[7] & 7)
        sim_event_schedule(&trouble_event, 2 * SIM_MS + (world.head[7] >> 5) * 20 * SIM_US);
    if (ending() == STOPPED)
        sim_event_schedule(&stop_event, 2 * SIM_MS + world.head[10] * 5 * SIM_US);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static uint8_t *arenas[RANKS];

/* The memory has the same addresses in all runs of this program, between guard pages. */
static void make_arenas(void)
{
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        if (arenas[i] == NULL)
            arenas[i] =
                mmap(NULL, ARENA_BYTES + 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        world.process[i].arena = arenas[i] + 2 * PAGE;
        if (arenas[i] == MAP_FAILED ||
            mprotect(world.process[i].arena, ARENA_BYTES, PROT_READ | PROT_WRITE) != 0)
            die("no memory");
    }
}

static uint32_t open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint32_t count = 0;

    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

static void print_waiter(const char *name, const char *why, sim_time_t since, void *argument)
{
    fprintf(stderr, "%s waits for %s since %.3f us\n", name, why, (double)since / 1e6);
}

static void print_violation(const char *text, void *argument)
{
    fprintf(stderr, "ledger: %s\n", text);
}

/*
 * A run that was stopped has open books, and mailboxes that transactions wrote into have damaged
 * messages.
 */
static void check_ledger(void)
{
    if (ending() >= REMAINS || world.trampled)
        return;
    aries_fabric_abandon_events(world.fabric);
    if (!sim_ledger_balance()) {
        sim_ledger_for_each_violation(print_violation, NULL);
        die("the ledger does not balance");
    }
}

static void run(void)
{
    enum sim_outcome outcome = sim_run();

    note(outcome);
    if (outcome != SIM_DONE) {
        sim_for_each_waiter(print_waiter, NULL);
        die("it did not end: outcome %d", (int)outcome);
    }
}

uint64_t world_run(const uint8_t *bytes, size_t length)
{
    uint32_t i, files = open_files();
    uint64_t digest;

    memset(&world, 0, sizeof(world));
    memcpy(world.head, bytes, length < HEAD_BYTES ? length : HEAD_BYTES);
    bytes += length < HEAD_BYTES ? length : HEAD_BYTES;
    length -= length < HEAD_BYTES ? length : HEAD_BYTES;
    if (length > RECORDS_MAX * RECORD_BYTES)
        length = RECORDS_MAX * RECORD_BYTES;
    world.processes = 2 + world.head[0] % 3;
    make_arenas();
    model_begin();
    sim_init(&(struct sim_options){.seed = world.head[11] + 1u,
                                   .time_limit = 100000 * SIM_S,
                                   .no_progress_events = 20 * 1000 * 1000,
                                   .fibers_max = 64});
    build();
    for (i = 0; i < world.processes; i++)
        start(&world.process[i], i, bytes, length);
    for (i = world.processes; i < RANKS; i++) /* addresses without a process */
        world.process[i].node = i;
    plan_faults();
    run();
    make_arenas(); /* readable again */
    model_end();
    check_ledger();
    note(sim_digest());
    note(sim_now());
    digest = world.digest;
    aries_fabric_destroy(world.fabric);
    net_destroy(world.net);
    sim_fini();
    if (open_files() != files)
        die("%u open files instead of %u", open_files(), files);
    return digest;
}
