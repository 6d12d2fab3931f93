/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the tests of sim/net: a network in a simulation, and messages cut into chunks. */
#ifndef JACQUARD_TESTS_NET_TEST_H
#define JACQUARD_TESTS_NET_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "engine/sim.h"
#include "net/net.h"

#define PUT_PHITS 14
#define GET_PHITS 12
#define CHUNK_PACKETS 16
#define PACKET_BYTES 64

static inline struct net *test_net(const struct net_config *config)
{
    char *error = NULL;
    struct net *net = net_create(config, &error);

    if (net == NULL)
        fail_msg("%s", error);
    return net;
}

static inline struct net_config test_preset(const char *preset)
{
    struct net_config config;

    net_config_default(&config);
    config.dragonfly.preset = preset;
    return config;
}

/* Starts a simulation and a network in it. */
static inline struct net *test_begin(const struct net_config *config)
{
    struct sim_options options = {.seed = config->seed};

    sim_init(&options);
    return test_net(config);
}

static inline void test_end(struct net *net)
{
    net_destroy(net);
    sim_fini();
}

/* ---- one transfer ---------------------------------------------------------------------------- */

struct probe {
    struct net_transfer transfer;
    sim_time_t arrival;
    uint32_t arrived; /* how often */
    uint32_t sequence; /* which arrival it was; counts test_arrivals */
};

static uint32_t test_arrivals;

static inline void probe_arrived(struct sim_event *event)
{
    struct probe *probe = sim_container_of(event, struct probe, transfer.event);

    probe->arrival = sim_now();
    probe->arrived++;
    probe->sequence = test_arrivals++;
}

static inline void probe_init(struct probe *probe, uint32_t source, uint32_t target, uint32_t units,
                              enum net_route route)
{
    *probe = (struct probe){
        .transfer =
            {
                .event = {probe_arrived},
                .source = source,
                .target = target,
                .units = units,
                .last_units = units < PUT_PHITS ? units : PUT_PHITS,
                .packets = (units + PUT_PHITS - 1) / PUT_PHITS,
                .class = NET_REQUEST,
                .route = (uint8_t)route,
            },
    };
}

/* Calls a function at a time, by an event that owns nothing. */
struct action {
    struct sim_event event;
    void (*act)(void *arg);
    void *arg;
};

static inline void action_fire(struct sim_event *event)
{
    struct action *action = sim_container_of(event, struct action, event);

    action->act(action->arg);
    free(action);
}

static inline void test_at(sim_time_t at, void (*act)(void *arg), void *arg)
{
    struct action *action = malloc(sizeof(*action));

    assert_non_null(action);
    *action = (struct action){{action_fire}, act, arg};
    sim_event_schedule(&action->event, at);
}

/* ---- a message ------------------------------------------------------------------------------- */

/*
 * A message of `bytes` that the source NIC feeds at a rate, as chunks of 16 packets, the way a
 * device does it.
 */
struct message {
    struct net *net;
    uint32_t source, target, phits, bytes;
    enum net_route route;
    double rate; /* bytes per ns; 0: the rate of the links */
    sim_time_t begin, end; /* of the head at the NIC; of the last unit at the target */
    uint32_t chunks, sent, arrived, delivered, non_minimal, reordered, last;
    uint32_t hops_max;
    struct sim_event next;
    struct chunk {
        struct net_transfer transfer;
        struct message *message;
        uint32_t number;
    } * chunk;
};

static inline void chunk_arrived(struct sim_event *event)
{
    struct chunk *chunk = sim_container_of(event, struct chunk, transfer.event);
    struct message *message = chunk->message;

    message->arrived++;
    message->delivered += chunk->transfer.status == NET_DELIVERED;
    message->non_minimal += !chunk->transfer.minimal;
    message->reordered += chunk->number < message->last;
    if (chunk->number > message->last)
        message->last = chunk->number;
    if (chunk->transfer.hops > message->hops_max)
        message->hops_max = chunk->transfer.hops;
    message->end = sim_now();
}

static inline void message_next(struct sim_event *event)
{
    struct message *message = sim_container_of(event, struct message, next);
    struct chunk *chunk = &message->chunk[message->sent];
    uint32_t chunk_bytes = CHUNK_PACKETS * PACKET_BYTES;
    uint32_t left = message->bytes - message->sent * chunk_bytes;
    uint32_t bytes = left < chunk_bytes ? left : chunk_bytes;
    uint32_t packets = (bytes + PACKET_BYTES - 1) / PACKET_BYTES;
    uint32_t last_bytes = bytes - (packets - 1) * PACKET_BYTES;
    uint32_t last = message->phits - 11 + (8 * last_bytes + 47) / 48;
    double packet_time = message->rate > 0 ? PACKET_BYTES * 1000 / message->rate : 0;
    sim_time_t feed = (sim_time_t)(packet_time * (packets - 1)),
               gap = (sim_time_t)(packet_time * packets);

    chunk->message = message;
    chunk->number = message->sent;
    chunk->transfer = (struct net_transfer){
        .event = {chunk_arrived},
        .source = message->source,
        .target = message->target,
        .units = (packets - 1) * message->phits + last,
        .last_units = last,
        .packets = packets,
        .class = message->phits == GET_PHITS ? NET_RESPONSE : NET_REQUEST,
        .route = (uint8_t)message->route,
        .streamed = message->sent > 0,
    };
    net_send(message->net, &chunk->transfer, feed);
    if (++message->sent < message->chunks)
        sim_event_schedule(event, sim_now() + gap);
}

static inline void message_start(struct message *message, struct net *net, uint32_t source,
                                 uint32_t target, uint32_t bytes, uint32_t phits,
                                 enum net_route route, double rate, sim_time_t at)
{
    *message = (struct message){
        .net = net,
        .source = source,
        .target = target,
        .phits = phits,
        .bytes = bytes,
        .route = route,
        .rate = rate,
        .begin = at,
        .chunks = (bytes + CHUNK_PACKETS * PACKET_BYTES - 1) / (CHUNK_PACKETS * PACKET_BYTES),
        .next = {message_next},
    };
    message->chunk = calloc(message->chunks, sizeof(*message->chunk));
    assert_non_null(message->chunk);
    sim_event_schedule(&message->next, at);
}

static inline void message_free(struct message *message)
{
    assert_int_equal(message->arrived, message->chunks);
    free(message->chunk);
}

static inline double message_rate(const struct message *message) /* bytes per ns = GB/s */
{
    return message->bytes * 1e3 / (double)(message->end - message->begin);
}

#endif
