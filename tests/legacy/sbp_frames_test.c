/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SBP: frames arrive in order and unchanged, the answers to each misuse, back-pressure, dead peers.
 */
#include <sbp_messages.h>

#include "via_world.h"

static unsigned long in_key, out_key;

struct keys {
    unsigned long in, out;
    int rank, size;
};

static struct keys join_with(int buffers)
{
    struct keys keys;
    int in = buffers, out = buffers;
    unsigned long first, second;

    CHECK(sbp_initialize(0, SBP_HEADER_SIZE + SBP_PAYLOAD_SIZE, &in, &out, &keys.size, &keys.rank,
                         &first, &second, &keys.in, &keys.out) == 0);
    CHECK(in == (buffers != 0 ? buffers : 64) && out == in);
    return keys;
}

static SbpHeader_t *header_of(unsigned long frame)
{
    return (SbpHeader_t *)frame;
}

static char *payload_of(unsigned long frame)
{
    return (char *)frame + SBP_HEADER_SIZE;
}

static void fill(unsigned long frame, int to, unsigned number, int bytes)
{
    header_of(frame)->cookie.destn_node = to;
    header_of(frame)->cookie.len = SBP_HEADER_SIZE + bytes;
    memset(payload_of(frame), (int)number, (size_t)bytes);
}

static unsigned long wait_full(unsigned long key)
{
    unsigned long frame;

    while ((frame = pickupfullbuffer(key)) == 0) {
    }
    return frame;
}

/* ---- order, contents, lost frames ------------------------------------------------------------ */

enum { FRAMES = 500 };

static void stream_sender(struct process *self)
{
    struct keys keys = join_with(0);

    CHECK(keys.rank == 0 && keys.size == 2 && self->number == 0);
    for (unsigned i = 0; i < FRAMES; i++) {
        unsigned long frame;

        while ((frame = pickupemptybuffer(keys.out)) == 0) {
        }
        fill(frame, 1, i, (int)(i % SBP_PAYLOAD_SIZE) + 1);
        CHECK(returnfullbuffer(keys.out, frame) != 0);
    }
}

static void stream_receiver(struct process *self)
{
    struct keys keys;

    sim_sleep_until(SIM_MS); /* frames that come before it has joined are kept */
    keys = join_with(0);
    for (unsigned i = 0; i < FRAMES; i++) {
        unsigned long frame = wait_full(keys.in);

        CHECK(header_of(frame)->cookie.origin == 0);
        CHECK(header_of(frame)->cookie.len == SBP_HEADER_SIZE + (int)(i % SBP_PAYLOAD_SIZE) + 1);
        CHECK((unsigned char)payload_of(frame)[i % SBP_PAYLOAD_SIZE] == (unsigned char)i);
        CHECK(returnemptybuffer(keys.in, frame) != 0);
    }
    CHECK(pickupfullbuffer(keys.in) == 0);
    CHECK(self->endpoint == 1);
}

static void frames_arrive_in_order(void **state)
{
    const struct sim_fault_rule rule = {.action = SIM_FAULT_DROP,
                                        .until = SIM_NEVER,
                                        .probability = 0.05,
                                        .source = SIM_FAULT_ANY,
                                        .target = SIM_FAULT_ANY,
                                        .between = {SIM_FAULT_ANY, SIM_FAULT_ANY},
                                        .kind = SIM_FAULT_ANY};

    for (int lossy = 0; lossy < 2; lossy++) {
        world_begin_with(LEGACY_SBP, 2);
        if (lossy)
            sim_fault_rule_add(&world_packets, &rule);
        world_process(0, stream_sender);
        world_process(1, stream_receiver);
        assert_int_equal(world_run(), SIM_DONE);
        assert_true((world_network->counters.lost > 5) == lossy);
        world_end();
    }
}

/* ---- misuse ---------------------------------------------------------------------------------- */

static void misuse_main(struct process *self)
{
    struct keys keys = join_with(4);
    int in = 0, out = 0, size, rank;
    unsigned long first, second, frame;

    CHECK(sbp_initialize(0, SBP_HEADER_SIZE, &in, &out, &size, &rank, &first, &second, &in_key,
                         &out_key) == -1);
    CHECK(sbp_initialize(0, 1499, &in, &out, &size, &rank, &first, &second, &in_key, &out_key) ==
          -1);
    CHECK(sbp_initialize(0, 100, NULL, &out, &size, &rank, &first, &second, &in_key, &out_key) ==
          -1);
    CHECK(pickupfullbuffer(keys.out) == 0);
    CHECK(pickupemptybuffer(keys.in) == 0);
    frame = pickupemptybuffer(keys.out);
    CHECK(frame != 0);
    fill(frame, 0, 1, 10);
    CHECK(returnfullbuffer(keys.in, frame) == 0);
    CHECK(returnfullbuffer(keys.out, frame + 1) == 0);
    CHECK(returnfullbuffer(keys.out, 0) == 0);
    header_of(frame)->cookie.destn_node = 2; /* there is no such rank */
    CHECK(returnfullbuffer(keys.out, frame) == 0);
    fill(frame, 0, 1, 10);
    header_of(frame)->cookie.len = SBP_HEADER_SIZE + SBP_PAYLOAD_SIZE + 1;
    CHECK(returnfullbuffer(keys.out, frame) == 0);
    header_of(frame)->cookie.len = SBP_HEADER_SIZE - 1;
    CHECK(returnfullbuffer(keys.out, frame) == 0);
    fill(frame, 0, 1, 10); /* to itself */
    CHECK(returnfullbuffer(keys.out, frame) != 0);
    CHECK(returnfullbuffer(keys.out, frame) == 0); /* it is the kernel's now */
    CHECK(returnemptybuffer(keys.out, frame) == 0);
    frame = wait_full(keys.in);
    CHECK(returnemptybuffer(keys.out, frame) == 0);
    CHECK(returnemptybuffer(keys.in, frame) != 0);
    CHECK(returnemptybuffer(keys.in, frame) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pickupemptybuffer(keys.out) != 0);
    CHECK(pickupemptybuffer(keys.out) == 0);
    CHECK(self->number == 0);
}

static void misuse_is_answered(void **state)
{
    world_begin_with(LEGACY_SBP, 1);
    world_process(0, misuse_main);
    assert_int_equal(world_run(), SIM_DONE);
    world_end();
}

/* ---- back-pressure --------------------------------------------------------------------------- */

static unsigned accepted;

static void pressing_sender(struct process *self)
{
    struct keys keys = join_with(0);
    unsigned long frame;

    for (accepted = 0; sim_clock_read() < 50 * SIM_MS;) {
        frame = pickupemptybuffer(keys.out);
        if (frame == 0)
            continue;
        fill(frame, 1, accepted, 100);
        CHECK(returnfullbuffer(keys.out, frame) != 0);
        accepted++;
    }
    CHECK(accepted == 128); /* 64 buffers of the receiver, 64 of the sender */
    sim_sleep_until(200 * SIM_MS);
    CHECK(pickupemptybuffer(keys.out) != 0);
    CHECK(self->number == 0);
}

static void slow_receiver(struct process *self)
{
    struct keys keys = join_with(0);

    sim_sleep_until(100 * SIM_MS);
    for (unsigned i = 0; i < 128; i++) {
        unsigned long frame = wait_full(keys.in);

        CHECK((unsigned char)payload_of(frame)[0] == (unsigned char)i);
        CHECK(returnemptybuffer(keys.in, frame) != 0);
    }
    CHECK(pickupfullbuffer(keys.in) == 0);
    CHECK(self->number == 1);
}

static void senders_are_held_back(void **state)
{
    world_begin_with(LEGACY_SBP, 2);
    world_process(0, pressing_sender);
    world_process(1, slow_receiver);
    assert_int_equal(world_run(), SIM_DONE);
    world_end();
}

/* ---- peers that are gone --------------------------------------------------------------------- */

static struct process *victim;
static bool host_dies;

static void victim_main(struct process *self)
{
    join_with(0);
    for (;;)
        sim_sleep_until(sim_now() + SIM_S + self->number);
}

static void survivor_main(struct process *self)
{
    struct keys keys = join_with(0);
    unsigned sent = 0;

    sim_sleep_until(SIM_MS);
    if (host_dies)
        net_link_set_alive(world_net, 0, net_routers(world_net) + 1, 0, false);
    world_kill(victim);
    for (;; sent++) {
        unsigned long frame = pickupemptybuffer(keys.out);

        CHECK(frame != 0 && sent < 10);
        fill(frame, 1, 0, 10);
        if (returnfullbuffer(keys.out, frame) == 0)
            break;
        sim_sleep_until(sim_now() + SIM_MS);
    }
    CHECK(sent >= 1 && self->number == 0);
    sim_stop();
}

static void a_dead_peer_is_noticed(void **state)
{
    for (int i = 0; i < 2; i++) {
        host_dies = i == 1;
        world_begin_with(LEGACY_SBP, 2);
        world_process(0, survivor_main);
        victim = world_process(1, victim_main);
        assert_int_equal(sim_run(), SIM_DONE);
        world_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_arrive_in_order),
        cmocka_unit_test(misuse_is_answered),
        cmocka_unit_test(senders_are_held_back),
        cmocka_unit_test(a_dead_peer_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
