/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rate of simulated transfers through the network, the cost of an idle one, and both for all
 * compute nodes of Theta through all of uGNI, measured with the sim-run in the same folder.
 *
 *   bench-network [sends] [--json]
 */
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"
#include "engine/sim.h"
#include "net/net.h"

#define CHUNKS 4 /* of a message, at most */
#define MESSAGE_PACKETS 64

/*
 * Each endpoint sends a message of 4 KiB to a random other one, as 4 chunks, one every 104 ns (a
 * NIC's rate), or as one chunk. When the message has arrived, the endpoint pauses and sends the
 * next one.
 */
struct sender {
    struct sim_event next;
    struct net_transfer transfer[CHUNKS];
    struct net *net;
    struct sim_random random;
    uint32_t endpoint, target, sent, arrived;
};

static uint64_t sends_left;
static double pause_mean; /* ps */
static uint32_t chunks; /* of each message */

static void send_next(struct sim_event *event)
{
    struct sender *sender = sim_container_of(event, struct sender, next);

    if (sender->sent == 0)
        sender->target = (uint32_t)sim_random_below(&sender->random, net_endpoints(sender->net));
    sender->transfer[sender->sent].target = sender->target;
    net_send(sender->net, &sender->transfer[sender->sent], 388 * SIM_NS / chunks);
    if (++sender->sent < chunks)
        sim_event_schedule(event, sim_now() + 104 * SIM_NS);
}

static void arrived(struct sender *sender)
{
    if (++sender->arrived < chunks || sends_left < chunks)
        return;
    sends_left -= chunks;
    sender->sent = sender->arrived = 0;
    sim_event_schedule(&sender->next,
                       sim_now() + (sim_time_t)sim_random_exponential(&sender->random, pause_mean));
}

#define ARRIVED(n)                                                          \
    static void arrived_##n(struct sim_event *event)                        \
    {                                                                       \
        arrived(sim_container_of(event, struct sender, transfer[n].event)); \
    }
ARRIVED(0)
ARRIVED(1)
ARRIVED(2)
ARRIVED(3)

static struct net *create(const char *preset, enum net_fidelity fidelity)
{
    struct net_config config;
    struct net *net;
    char *error;

    net_config_default(&config);
    config.dragonfly.preset = preset;
    config.fidelity = fidelity;
    net = net_create(&config, &error);
    if (net == NULL) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    return net;
}

static void uniform(struct bench *bench, const char *preset, enum net_fidelity fidelity,
                    enum net_route route, uint32_t chunk_packets, double pause_us, uint64_t sends,
                    const char *name)
{
    static void (*const arrival[CHUNKS])(struct sim_event *) = {arrived_0, arrived_1, arrived_2,
                                                                arrived_3};
    struct sim_options options = {.seed = 1};
    struct net_counters counters;
    struct sender *senders;
    struct net *net;
    double begin, seconds;
    char text[80];
    uint32_t i, j;

    sim_init(&options);
    net = create(preset, fidelity);
    senders = calloc(net_endpoints(net), sizeof(*senders));
    sends_left = sends;
    pause_mean = pause_us * SIM_US;
    chunks = MESSAGE_PACKETS / chunk_packets;
    for (i = 0; i < net_endpoints(net); i++) {
        senders[i].net = net;
        senders[i].endpoint = i;
        senders[i].next.fire = send_next;
        senders[i].arrived = chunks - 1;
        sim_random_init(&senders[i].random, 1, "bench", i);
        for (j = 0; j < chunks; j++)
            senders[i].transfer[j] = (struct net_transfer){
                .event = {arrival[j]},
                .source = i,
                .units = chunk_packets * 14,
                .last_units = 14,
                .packets = chunk_packets,
                .route = (uint8_t)route,
                .streamed = j > 0,
                .hash = i,
            };
    }
    begin = bench_seconds();
    for (i = 0; i < net_endpoints(net); i++)
        arrived(&senders[i]);
    sim_run();
    seconds = bench_seconds() - begin;
    net_get_counters(net, &counters);
    snprintf(text, sizeof(text), "%s uniform 4 KiB, %s", preset, name);
    bench_row(bench, text, (double)counters.transfers / seconds / 1e6, "M sends/s", 0);
    bench_row(bench, "  links per send", (double)counters.hops / (double)counters.transfers, "", 0);
    bench_row(bench, "  non-minimal",
              100.0 * (double)counters.non_minimal / (double)counters.transfers, "%", 0);
    net_destroy(net);
    sim_fini();
    free(senders);
}

/*
 * One transfer at a time on an idle network, each sent when the previous one has arrived: the cost
 * of a call with its event. The reference is the cost of an event of the engine alone, measured in
 * the same way.
 */
static struct lone {
    struct net_transfer transfer;
    struct net *net; /* NULL: only events */
    uint32_t *pairs, next;
    uint64_t left;
} lone;
#define PAIRS 65536

static void lone_arrived(struct sim_event *event)
{
    if (lone.left-- == 0)
        return;
    lone.transfer.source = lone.pairs[lone.next];
    lone.transfer.target = lone.pairs[lone.next + 1];
    lone.next = (lone.next + 2) % PAIRS;
    if (lone.net != NULL)
        net_send(lone.net, &lone.transfer, 0);
    else
        sim_event_schedule(event, sim_now() + lone.transfer.source + lone.transfer.target);
}

static double one_by_one(const char *preset, enum net_fidelity fidelity, enum net_route route,
                         uint64_t sends)
{
    struct sim_options options = {.seed = 1};
    struct sim_random random;
    double begin, seconds;
    uint32_t i;

    sim_init(&options);
    lone = (struct lone){
        .transfer = {.event = {lone_arrived},
                     .units = 5,
                     .last_units = 5,
                     .packets = 1,
                     .route = (uint8_t)route},
        .net = preset ? create(preset, fidelity) : NULL,
        .pairs = malloc(PAIRS * sizeof(*lone.pairs)),
        .left = sends,
    };
    sim_random_init(&random, 1, "bench", 0);
    for (i = 0; i < PAIRS; i++)
        lone.pairs[i] =
            (uint32_t)sim_random_below(&random, lone.net ? net_endpoints(lone.net) : 1000);
    begin = bench_seconds();
    sim_event_schedule(&lone.transfer.event, 0);
    sim_run();
    seconds = bench_seconds() - begin;
    free(lone.pairs);
    net_destroy(lone.net);
    sim_fini();
    return seconds / (double)sends * 1e9;
}

static void call(struct bench *bench, const char *preset, enum net_fidelity fidelity,
                 enum net_route route, uint64_t sends, const char *name)
{
    double event = one_by_one(NULL, NET_F0, route, sends);
    char text[80];

    snprintf(text, sizeof(text), "net_send + event, %s, %s", preset, name);
    bench_row(bench, text, one_by_one(preset, fidelity, route, sends), "ns", event);
}

/*
 * F2: every endpoint keeps some packets in flight to random others. A hop is the transfer of a
 * packet over one link and through one router.
 */
struct flying {
    struct net_transfer transfer;
    struct net *net;
    struct sim_random *random;
};

static void flying_arrived(struct sim_event *event)
{
    struct flying *flying = sim_container_of(event, struct flying, transfer.event);

    if (sends_left == 0)
        return;
    sends_left--;
    flying->transfer.target =
        (uint32_t)sim_random_below(flying->random, net_endpoints(flying->net));
    net_send(flying->net, &flying->transfer, 0);
}

static void packets(struct bench *bench, const char *preset, uint32_t window, enum net_route route,
                    uint64_t sends, const char *name)
{
    struct sim_options options = {.seed = 1};
    struct net_counters counters;
    struct sim_random random;
    struct flying *all;
    struct net *net;
    double begin, seconds;
    char text[80];
    uint32_t count, i;

    sim_init(&options);
    net = create(preset, NET_F2);
    count = net_endpoints(net) * window;
    all = calloc(count, sizeof(*all));
    sim_random_init(&random, 1, "bench", 0);
    sends_left = sends;
    for (i = 0; i < count; i++)
        all[i] = (struct flying){
            .transfer = {.event = {flying_arrived},
                         .source = i % net_endpoints(net),
                         .units = 14,
                         .last_units = 14,
                         .packets = 1,
                         .route = (uint8_t)route,
                         .hash = i,
                         .ejection_time = 6250},
            .net = net,
            .random = &random,
        };
    begin = bench_seconds();
    for (i = 0; i < count; i++)
        flying_arrived(&all[i].transfer.event);
    sim_run();
    seconds = bench_seconds() - begin;
    net_get_counters(net, &counters);
    snprintf(text, sizeof(text), "F2 %s uniform packets, %s", preset, name);
    bench_row(bench, text, (double)counters.hops / seconds / 1e6, "M packet-hops/s", 0);
    bench_row(bench, "  events per hop", (double)sim_core.events_fired / (double)counters.hops, "",
              0);
    bench_row(bench, "  GB/s per node",
              (double)counters.packets * 64e3 / (double)sim_now() / net_endpoints(net), "", 0);
    net_destroy(net);
    sim_fini();
    free(all);
}

static void memory(struct bench *bench, const char *preset, enum net_fidelity fidelity)
{
    struct mallinfo2 before = mallinfo2(), after;
    struct net *net = create(preset, fidelity);
    double bytes;
    char text[80];

    after = mallinfo2();
    bytes = (double)(after.uordblks + after.hblkhd) - (double)(before.uordblks + before.hblkhd);
    snprintf(text, sizeof(text), "%s idle, %u routers%s", preset, net_routers(net),
             fidelity == NET_F2 ? ", F2" : "");
    bench_row(bench, text, bytes / 1024 / 1024, "MiB", 0);
    net_destroy(net);
}

/* ---- Theta ----------------------------------------------------------------------------------- */

#define THETA_RANKS 4392

/* Runs sim-run with a scenario; gives its events, CPU seconds, and resident memory. */
struct machine_run {
    double events, seconds, mib;
};

static void read_events(FILE *output, struct machine_run *run)
{
    char line[256];

    while (fgets(line, sizeof(line), output) != NULL)
        if (strncmp(line, "  \"events\": ", 12) == 0)
            run->events = atof(line + 12);
}

static struct machine_run theta(const char *args, unsigned chunk)
{
    struct machine_run run = {0};
    char program[4096], scenario[] = "/tmp/bench-network.XXXXXX";
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 32);
    int file = mkstemp(scenario), ends[2], status;
    struct rusage usage;
    FILE *output;
    pid_t child;

    if (length < 0 || file < 0 || pipe(ends) != 0)
        return run;
    program[length] = 0;
    strcpy(strrchr(program, '/') + 1, "sim-run");
    dprintf(file,
            "name: theta\nfabric: {preset: theta12, params: {aries.nic.chunk_packets: %u}}\n"
            "jobs:\n  - {name: t, nodes: 0-%d, %s}\n",
            chunk, THETA_RANKS - 1, args);
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        execl(program, program, scenario, "--json", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    output = fdopen(ends[0], "r");
    read_events(output, &run);
    fclose(output);
    wait4(child, &status, 0, &usage);
    close(file);
    unlink(scenario);
    run.seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    run.mib = (double)usage.ru_maxrss / 1024;
    return run;
}

/* The difference of two runs, so that the construction of the machine does not count. CPU time of
 * one core. */
static void theta_puts(struct bench *bench, const char *load, const char *args, unsigned chunk)
{
    const unsigned puts[2] = {10, 40};
    double messages = (double)(puts[1] - puts[0]) * THETA_RANKS;
    struct machine_run run[2];
    char text[80];
    unsigned i;

    for (i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), "workload: traffic, args: {%s, messages: %u}", args, puts[i]);
        run[i] = theta(text, chunk);
    }
    snprintf(text, sizeof(text), "Theta, 4 KiB puts, %s, %u packets/chunk", load, chunk);
    bench_row(bench, text, messages / (run[1].seconds - run[0].seconds) / 1e6, "M msg/s", 0.5);
    bench_row(bench, "  events per message", (run[1].events - run[0].events) / messages, "", 0);
}

static void theta_memory(struct bench *bench)
{
    bench_row(bench, "Theta, 4392 ranks in a barrier", theta("workload: barrier", 16).mib, "MiB",
              400);
    bench_row(bench, "Theta, 4392 ranks that put once",
              theta("workload: traffic, args: {messages: 1, window: 1}", 16).mib, "MiB", 400);
}

int main(int argc, char **argv)
{
    uint64_t sends = argc > 1 && atoll(argv[1]) > 0 ? (uint64_t)atoll(argv[1]) : 2000000;
    static const unsigned chunk[2] = {16, 64};
    struct bench bench;
    unsigned i;

    bench_begin(&bench, "network", argc, argv);
    bench_calibrate(&bench);
    call(&bench, "mini2", NET_F0, NET_ROUTE_ADAPTIVE_0, sends, "F0");
    call(&bench, "mini2", NET_F1, NET_ROUTE_ADAPTIVE_0, sends, "F1 ADAPTIVE_0");
    call(&bench, "mini2", NET_F1, NET_ROUTE_IN_ORDER, sends, "F1 IN_ORDER");
    call(&bench, "theta12", NET_F1, NET_ROUTE_ADAPTIVE_0, sends, "F1 ADAPTIVE_0");
    uniform(&bench, "theta12", NET_F0, NET_ROUTE_ADAPTIVE_0, 16, 8, sends, "F0");
    uniform(&bench, "theta12", NET_F1, NET_ROUTE_ADAPTIVE_0, 16, 8, sends,
            "light load, F1 ADAPTIVE_0");
    uniform(&bench, "theta12", NET_F1, NET_ROUTE_ADAPTIVE_0, 16, 0, sends,
            "full load, F1 ADAPTIVE_0");
    uniform(&bench, "theta12", NET_F1, NET_ROUTE_ADAPTIVE_0, 64, 0, sends / 4,
            "full load, 64 packets/chunk");
    uniform(&bench, "theta12", NET_F1, NET_ROUTE_ADAPTIVE_3, 16, 0, sends,
            "full load, F1 ADAPTIVE_3");
    uniform(&bench, "theta12", NET_F1, NET_ROUTE_MIN_HASHED, 16, 0, sends,
            "full load, F1 MIN_HASHED");
    packets(&bench, "xc-2-groups", 2, NET_ROUTE_ADAPTIVE_0, sends, "light load, ADAPTIVE_0");
    packets(&bench, "xc-2-groups", 32, NET_ROUTE_ADAPTIVE_0, sends, "full load, ADAPTIVE_0");
    packets(&bench, "theta12", 2, NET_ROUTE_ADAPTIVE_0, sends, "light load, ADAPTIVE_0");
    packets(&bench, "theta12", 32, NET_ROUTE_ADAPTIVE_0, sends, "full load, ADAPTIVE_0");
    packets(&bench, "theta12", 32, NET_ROUTE_MIN_HASHED, sends, "full load, MIN_HASHED");
    memory(&bench, "theta9", NET_F1);
    memory(&bench, "theta12", NET_F1);
    memory(&bench, "cori", NET_F1);
    memory(&bench, "theta12", NET_F2);
    for (i = 0; i < 2; i++) {
        theta_puts(&bench, "light load", "window: 2, load: 0.1", chunk[i]);
        theta_puts(&bench, "full load", "window: 2", chunk[i]);
    }
    theta_memory(&bench);
    bench_end(&bench);
    return 0;
}
