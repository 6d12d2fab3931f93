/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the tests of F2: networks of packets, and senders that keep packets in flight. */
#ifndef JACQUARD_TESTS_NET_PACKET_H
#define JACQUARD_TESTS_NET_PACKET_H

#include "net_test.h"
#include "packet.h"

#define NIC_TIME 6250 /* ps that a NIC needs for a packet of 64 bytes */

static inline struct net_config packet_preset(const char *preset)
{
    struct net_config config = test_preset(preset);

    config.fidelity = NET_F2;
    return config;
}

/* Groups of 2 chassis of 4 blades. */
static inline struct net_config packet_small(uint32_t groups)
{
    struct net_config config = packet_preset(NULL);

    config.dragonfly.groups = groups;
    config.dragonfly.chassis = 2;
    config.dragonfly.slots = 4;
    config.dragonfly.cables = 2;
    return config;
}

/* Ends a simulation and asserts that no packet is left in it. */
static inline void packet_test_end(struct net *net)
{
    const char *leak = net_packet_leak(net);

    if (leak != NULL)
        fail_msg("%s", leak);
    test_end(net);
}

/*
 * Every endpoint keeps `window` packets under way until it has sent `each`; each is answered by a
 * response of `answer` phits (0: none).
 */
struct throng {
    struct net *net;
    uint32_t (*target)(struct throng *throng, uint32_t source);
    struct sim_random random;
    struct throng_packet *packets;
    uint32_t *left; /* per endpoint */
    uint32_t window, units, answer, endpoints;
    enum net_route route;
    uint64_t sent, delivered, answered, non_minimal;
};

struct throng_packet {
    struct net_transfer transfer;
    struct throng *throng;
    uint32_t source;
};

static inline void throng_arrived(struct sim_event *event);

static inline void throng_send(struct throng_packet *packet)
{
    struct throng *throng = packet->throng;

    if (throng->left[packet->source] == 0)
        return;
    throng->left[packet->source]--;
    throng->sent++;
    packet->transfer = (struct net_transfer){
        .event = {throng_arrived},
        .source = packet->source,
        .target = throng->target(throng, packet->source),
        .units = throng->units,
        .last_units = throng->units,
        .packets = 1,
        .class = NET_REQUEST,
        .route = (uint8_t)throng->route,
        .hash = sim_random_next(&throng->random),
        .ejection_time = NIC_TIME,
    };
    net_send(throng->net, &packet->transfer, 0);
}

static inline void throng_arrived(struct sim_event *event)
{
    struct throng_packet *packet = sim_container_of(event, struct throng_packet, transfer.event);
    struct throng *throng = packet->throng;
    uint32_t target = packet->transfer.target;

    assert_int_equal(packet->transfer.status, NET_DELIVERED);
    assert_true(packet->transfer.hops <= NET_PATH_MAX);
    if (packet->transfer.class == NET_REQUEST) {
        throng->delivered++;
        throng->non_minimal += !packet->transfer.minimal;
        if (throng->answer > 0) {
            packet->transfer.target = packet->transfer.source;
            packet->transfer.source = target;
            packet->transfer.class = NET_RESPONSE;
            packet->transfer.units = packet->transfer.last_units = throng->answer;
            if (net_mode_adaptive(packet->transfer.route))
                packet->transfer.route = NET_ROUTE_ADAPTIVE_3;
            net_send(throng->net, &packet->transfer, 0);
            return;
        }
    } else {
        throng->answered++;
    }
    throng_send(packet);
}

static inline void throng_start(struct throng *throng, struct net *net, uint32_t each)
{
    uint32_t i;

    throng->net = net;
    throng->endpoints = net_endpoints(net);
    sim_random_init(&throng->random, 1, "throng", 0);
    throng->packets = calloc((size_t)throng->endpoints * throng->window, sizeof(*throng->packets));
    throng->left = calloc(throng->endpoints, sizeof(*throng->left));
    assert_non_null(throng->packets);
    assert_non_null(throng->left);
    for (i = 0; i < throng->endpoints; i++)
        throng->left[i] = each;
    for (i = 0; i < throng->endpoints * throng->window; i++) {
        throng->packets[i].throng = throng;
        throng->packets[i].source = i % throng->endpoints;
        throng_send(&throng->packets[i]);
    }
}

static inline void throng_end(struct throng *throng)
{
    assert_int_equal(throng->delivered, throng->sent);
    if (throng->answer > 0)
        assert_int_equal(throng->answered, throng->sent);
    free(throng->packets);
    free(throng->left);
}

/* ---- patterns -------------------------------------------------------------------------------- */

static inline uint32_t to_anyone(struct throng *throng, uint32_t source)
{
    (void)source;
    return (uint32_t)sim_random_below(&throng->random, throng->endpoints);
}

/* All endpoints of a group send to the next group, which has few direct links. */
static inline uint32_t to_next_group(struct throng *throng, uint32_t source)
{
    uint32_t group = throng->endpoints / net_groups(throng->net);

    return (source / group + 1) % net_groups(throng->net) * group +
           (uint32_t)sim_random_below(&throng->random, group);
}

static inline uint32_t to_one(struct throng *throng, uint32_t source)
{
    (void)throng;
    (void)source;
    return 0;
}

#endif
