/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A packet train is nothing but its parts: if no other transfer is sent while they leave, it takes
 * the paths, loads the links and arrives as if each part were a transfer of its own, sent when the
 * part leaves. To the picosecond, with any traffic before.
 */
#include "net_test.h"

#define PART 16u /* packets that take one path */
#define TRAINS 40
#define PARTS_MAX 16u

struct shot {
    struct net_transfer transfer;
    struct sim_event send;
    struct net *net;
    sim_time_t feed, arrived;
};

/* A transfer that both runs send. */
struct train {
    uint32_t source, target, packets, phits, stream_packets, interval;
    uint8_t route;
    sim_time_t at, feed;
};

static struct shot shots[TRAINS * PARTS_MAX];

static void arrived(struct sim_event *event)
{
    struct shot *shot = sim_container_of(event, struct shot, transfer.event);

    assert_int_equal(shot->transfer.status, NET_DELIVERED);
    shot->arrived = sim_now();
}

static void send_now(struct sim_event *event)
{
    struct shot *shot = sim_container_of(event, struct shot, send);

    net_send(shot->net, &shot->transfer, shot->feed);
}

/* Schedules packets begin to end - 1 of the train. */
static void schedule(struct net *net, struct shot *shot, const struct train *train, uint32_t begin,
                     uint32_t end)
{
    sim_time_t before = train->feed * begin / train->packets;

    memset(shot, 0, sizeof(*shot));
    shot->net = net;
    shot->feed = train->feed * end / train->packets - before;
    shot->send.fire = send_now;
    shot->transfer = (struct net_transfer){
        .event.fire = arrived,
        .source = train->source,
        .target = train->target,
        .units = (end - begin) * train->phits,
        .last_units = train->phits,
        .packets = end - begin,
        .class = NET_REQUEST,
        .route = train->route,
        .streamed = train->stream_packets + begin > 0,
        .stream_packets = train->stream_packets + begin,
        .stream_elapsed_ps = train->stream_packets * train->interval + (uint32_t)before,
        .packet_interval_ps = train->packets - end <= 1 ? train->interval : 0,
    };
    sim_event_schedule(&shot->send, train->at + before);
}

static uint32_t parts_of(const struct train *train)
{
    return (train->packets + PART - 1) / PART;
}

struct loads {
    uint64_t units, transfers, sum;
};

static void add_link(const struct net_link_info *info, void *arg)
{
    struct loads *loads = arg;

    loads->units += info->units;
    loads->transfers += info->transfers;
    loads->sum = loads->sum * 31 + info->units;
}

/* Sends all trains, whole or in parts. The arrivals in order of the trains; what links carried. */
static struct loads run(const char *preset, const struct train *trains, bool whole,
                        sim_time_t *arrivals)
{
    struct net_config config = test_preset(preset);
    struct net *net = test_begin(&config);
    struct loads loads = {0};
    uint32_t i, part, count = 0;

    for (i = 0; i < TRAINS; i++) {
        const struct train *train = &trains[i];
        uint32_t parts = whole ? 1 : parts_of(train), size = whole ? train->packets : PART;

        for (part = 0; part < parts; part++) {
            uint32_t end = (part + 1) * size < train->packets ? (part + 1) * size : train->packets;

            schedule(net, &shots[count++], train, part * size, end);
        }
    }
    assert_int_equal(sim_run(), SIM_DONE);
    for (i = count = 0; i < TRAINS; i++) {
        arrivals[i] = 0;
        for (part = whole ? 1 : parts_of(&trains[i]); part > 0; part--, count++)
            if (shots[count].arrived > arrivals[i])
                arrivals[i] = shots[count].arrived;
    }
    net_for_each_link(net, add_link, &loads);
    test_end(net);
    return loads;
}

/* Trains between random nodes, each sent when the parts of the one before have left: they find the
 * links of some of them in use. */
static void draw(struct sim_random *random, uint32_t nodes, struct train *trains)
{
    sim_time_t at = SIM_US;
    uint32_t i;

    for (i = 0; i < TRAINS; i++) {
        struct train *train = &trains[i];
        uint32_t few = nodes < 40 ? nodes : 40;

        train->source = (uint32_t)sim_random_below(random, few);
        do
            train->target =
                (uint32_t)(sim_random_below(random, 2) != 0 ? sim_random_below(random, few)
                                                            : sim_random_below(random, nodes));
        while (train->target == train->source);
        train->packets = 17 + (uint32_t)sim_random_below(random, PART * PARTS_MAX - 16);
        train->phits = 14;
        train->route = (uint8_t)(NET_ROUTE_ADAPTIVE_0 + sim_random_below(random, 4));
        train->interval = 5000 + (uint32_t)sim_random_below(random, 20000);
        train->stream_packets = (uint32_t)sim_random_below(random, 2) * 64;
        train->feed = train->interval * (sim_time_t)train->packets;
        train->at = at;
        at += train->feed + 1;
    }
}

static void trains_are_their_parts(const char *preset, uint32_t nodes, const char *name)
{
    struct train trains[TRAINS];
    sim_time_t whole[TRAINS], parts[TRAINS];
    struct sim_random random;
    uint32_t round, i;

    for (round = 0; round < 200; round++) {
        struct loads a, b;

        sim_random_init(&random, round, name, 0);
        draw(&random, nodes, trains);
        a = run(preset, trains, true, whole);
        b = run(preset, trains, false, parts);
        for (i = 0; i < TRAINS; i++)
            if (whole[i] != parts[i])
                fail_msg("%s, round %u, train %u of %u packets: %llu instead of %llu ps", preset,
                         round, i, trains[i].packets, (unsigned long long)whole[i],
                         (unsigned long long)parts[i]);
        assert_int_equal(a.units, b.units);
        assert_int_equal(a.transfers, b.transfers);
        assert_int_equal(a.sum, b.sum);
    }
}

static void inside_a_group(void **state)
{
    (void)state;
    trains_are_their_parts("group", 384, "group");
}

static void between_groups(void **state)
{
    (void)state;
    trains_are_their_parts("xc-2-groups", 768, "groups");
}

static void on_few_routers(void **state)
{
    (void)state;
    trains_are_their_parts("mini2", 64, "few");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inside_a_group),
        cmocka_unit_test(between_groups),
        cmocka_unit_test(on_few_routers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
