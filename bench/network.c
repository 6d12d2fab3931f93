/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How fast transfers go through the network, and what an idle one takes.
 *
 *   bench-network [sends] [--json]
 */
#include <malloc.h>
#include "bench.h"
#include "engine/sim.h"
#include "net/net.h"

#define CHUNKS 4
#define CHUNK_UNITS (16 * 14)

/* Endpoints that each send a message of 4 KiB as 4 chunks to a random other one, and the next when
 * it has arrived. */
struct sender {
    struct net_transfer transfer[CHUNKS];
    struct net *net;
    struct sim_random random;
    uint32_t endpoint, under_way;
};

static uint64_t sends_left;

static void post(struct sender *sender)
{
    uint32_t target = (uint32_t)sim_random_below(&sender->random, net_endpoints(sender->net)), i;

    if (sends_left < CHUNKS)
        return;
    sends_left -= CHUNKS;
    sender->under_way = CHUNKS;
    for (i = 0; i < CHUNKS; i++) {
        sender->transfer[i].target = target;
        net_send(sender->net, &sender->transfer[i], (i + 1) * 104 * SIM_NS);
    }
}

#define ARRIVED(n)                                                                         \
    static void arrived_##n(struct sim_event *event)                                       \
    {                                                                                      \
        struct sender *sender = sim_container_of(event, struct sender, transfer[n].event); \
        if (--sender->under_way == 0)                                                      \
            post(sender);                                                                  \
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
                    enum net_route route, uint64_t sends, const char *name)
{
    static void (*const arrived[CHUNKS])(struct sim_event *) = {arrived_0, arrived_1, arrived_2,
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
    for (i = 0; i < net_endpoints(net); i++) {
        senders[i].net = net;
        senders[i].endpoint = i;
        sim_random_init(&senders[i].random, 1, "bench", i);
        for (j = 0; j < CHUNKS; j++)
            senders[i].transfer[j] = (struct net_transfer){
                .event = {arrived[j]},
                .source = i,
                .units = CHUNK_UNITS,
                .last_units = 14,
                .packets = 16,
                .route = (uint8_t)route,
                .streamed = j > 0,
                .hash = i,
            };
    }
    begin = bench_seconds();
    for (i = 0; i < net_endpoints(net); i++)
        post(&senders[i]);
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

static void nothing(struct sim_event *event)
{
}

/* One transfer at a time on an idle network: the cost of the call itself, scheduling its event
 * included. */
static void call(struct bench *bench, const char *preset, enum net_fidelity fidelity,
                 enum net_route route, uint64_t sends, const char *name)
{
    struct sim_options options = {.seed = 1};
    static struct net_transfer transfers[1024];
    double begin, seconds = 0;
    struct sim_random random;
    struct net *net;
    char text[80];
    uint64_t i, j;

    sim_init(&options);
    net = create(preset, fidelity);
    sim_random_init(&random, 1, "bench", 0);
    for (i = 0; i < sends / 1024; i++) {
        for (j = 0; j < 1024; j++)
            transfers[j] = (struct net_transfer){
                .event = {nothing},
                .source = (uint32_t)sim_random_below(&random, net_endpoints(net)),
                .target = (uint32_t)sim_random_below(&random, net_endpoints(net)),
                .units = 5,
                .last_units = 5,
                .packets = 1,
                .route = (uint8_t)route,
                .hash = j,
            };
        begin = bench_seconds();
        for (j = 0; j < 1024; j++)
            net_send(net, &transfers[j], 0);
        seconds += bench_seconds() - begin;
        sim_run();
    }
    snprintf(text, sizeof(text), "net_send, %s, %s", preset, name);
    bench_row(bench, text, seconds / (double)(sends / 1024 * 1024) * 1e9, "ns", 0);
    net_destroy(net);
    sim_fini();
}

static void memory(struct bench *bench, const char *preset)
{
    struct mallinfo2 before = mallinfo2(), after;
    struct net *net = create(preset, NET_F1);
    double bytes;
    char text[80];

    after = mallinfo2();
    bytes = (double)(after.uordblks + after.hblkhd) - (double)(before.uordblks + before.hblkhd);
    snprintf(text, sizeof(text), "%s idle, %u routers", preset, net_routers(net));
    bench_row(bench, text, bytes / 1024 / 1024, "MiB", 0);
    net_destroy(net);
}

int main(int argc, char **argv)
{
    uint64_t sends = argc > 1 && atoll(argv[1]) > 0 ? (uint64_t)atoll(argv[1]) : 4000000;
    struct bench bench;

    bench_begin(&bench, "network", argc, argv);
    call(&bench, "mini2", NET_F0, NET_ROUTE_ADAPTIVE_0, sends, "F0");
    call(&bench, "mini2", NET_F1, NET_ROUTE_ADAPTIVE_0, sends, "F1 ADAPTIVE_0");
    call(&bench, "mini2", NET_F1, NET_ROUTE_IN_ORDER, sends, "F1 IN_ORDER");
    call(&bench, "theta12", NET_F1, NET_ROUTE_ADAPTIVE_0, sends, "F1 ADAPTIVE_0");
    uniform(&bench, "theta12", NET_F0, NET_ROUTE_ADAPTIVE_0, sends, "F0");
    uniform(&bench, "theta12", NET_F1, NET_ROUTE_ADAPTIVE_0, sends, "F1 ADAPTIVE_0");
    uniform(&bench, "theta12", NET_F1, NET_ROUTE_ADAPTIVE_3, sends, "F1 ADAPTIVE_3");
    uniform(&bench, "theta12", NET_F1, NET_ROUTE_MIN_HASHED, sends, "F1 MIN_HASHED");
    memory(&bench, "theta9");
    memory(&bench, "theta12");
    memory(&bench, "cori");
    bench_end(&bench);
    return 0;
}
