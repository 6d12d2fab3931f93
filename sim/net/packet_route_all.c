/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists every next hop that routing can choose, for the test that searches for deadlocks. */
#include "packet_plan.h"

struct paths {
    struct packet *list;
    uint32_t count, size;
};

static void add_paths(struct paths *paths, const struct packet *packet, uint32_t router,
                      const struct plan *plan)
{
    struct option options[OPTIONS_MAX];
    uint32_t count = net_packet_options(packet, router, plan, options), i;

    for (i = 0; i < count && paths->count < paths->size; i++) {
        struct packet *next = &paths->list[paths->count++];

        *next = *packet;
        adopt_plan(next, plan);
        next->out_port = options[i].port;
        next->out_vc = options[i].vc;
    }
}

/* Adds every plan that net_packet_plan_shortest can return. */
static void add_shortest(struct paths *paths, const struct packet *packet, uint32_t router)
{
    const struct dragonfly *fly = net_packets->fly;
    const struct dragonfly_position *at = &fly->positions[router],
                                    *to = &fly->positions[packet->target];
    uint64_t set[PAIR_WORDS_MAX];
    uint32_t count, leg, i;
    struct plan plan = {to->local, NO_PORT, 0};

    if (at->group == to->group) {
        add_paths(paths, packet, router, &plan);
        return;
    }
    count = net_dragonfly_best_gateways(fly, router, packet->target, set, &leg, &leg);
    for (i = 0; i < count; i++) {
        plan = plan_gateway(&gateways_to(at, to->group)[dragonfly_nth_bit(set, i)], 0);
        add_paths(paths, packet, router, &plan);
    }
}

uint32_t net_packet_route_all(const struct packet *arriving, struct packet *list, uint32_t size)
{
    const struct dragonfly *fly = net_packets->fly;
    struct packet packet = *arriving;
    uint32_t router = packet_router(&packet), i;
    const struct dragonfly_position *at = &fly->positions[router];
    struct paths paths = {list, 0, size};
    uint64_t words[PAIR_WORDS_MAX];
    const uint64_t *set = NULL;
    struct option option;
    struct plan plan;
    uint32_t others;

    update_vc_on_arrival(&packet, at, packet_input(&packet)->color);
    plan = plan_of(&packet);
    if (router == packet.target) {
        take_ptile(&packet, &option);
    } else if (packet.flags & PACKET_SOURCE_ROUTED) {
        take_source_route(&packet, &option);
    } else if (packet.flags & PACKET_DECIDES_PER_HOP) {
        if (packet.hops == 0)
            add_shortest(&paths, &packet, router);
        else
            add_paths(&paths, &packet, router, &plan);
        others = at->group != fly->positions[packet.target].group
                     ? net_packet_count_others(&packet, router, words, &set)
                     : 0;
        for (i = 0; i < others; i++)
            if (net_packet_plan_other(&packet, router, set, i, &plan))
                add_paths(&paths, &packet, router, &plan);
        for (i = 0; i < net_packet_count_roots(&packet, at); i++)
            if (net_packet_plan_root(&packet, router, i, &plan))
                add_paths(&paths, &packet, router, &plan);
        return paths.count;
    } else {
        if (packet.goal == UINT8_MAX)
            add_shortest(&paths, &packet, router);
        else
            add_paths(&paths, &packet, router, &plan);
        return paths.count;
    }
    packet.out_port = option.port;
    packet.out_vc = option.vc;
    list[0] = packet;
    return 1;
}
