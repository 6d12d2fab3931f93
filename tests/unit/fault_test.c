/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/fault.h"

#define ANY SIM_FAULT_ANY

static struct sim_fault_point point, other_point;

/* A rule that matches every candidate, without end. */
static const struct sim_fault_rule everything = {
    .action = SIM_FAULT_DROP,
    .until = SIM_NEVER,
    .probability = 1.0,
    .source = ANY,
    .target = ANY,
    .between = {ANY, ANY},
    .kind = ANY,
};

static int setup(void **state)
{
    sim_core = (struct sim_core){0};
    sim_fault_point_register(&point, "aries.packet");
    sim_fault_point_register(&other_point, "node");
    return 0;
}

static int teardown(void **state)
{
    sim_fault_reset();
    return 0;
}

static struct sim_fault_rule *add(struct sim_fault_rule rule, const char *label)
{
    rule.label = strdup(label);
    return sim_fault_rule_add(&point, &rule);
}

static bool faulted(uint32_t source, uint32_t target, uint32_t source_group, uint32_t target_group,
                    uint32_t kind)
{
    const struct sim_fault_subject subject = {
        .source = source,
        .target = target,
        .source_group = source_group,
        .target_group = target_group,
        .kind = kind,
    };

    return sim_fault_ask(&point, &subject) != NULL;
}

static bool faulted_any(void)
{
    return faulted(1, 2, 0, 1, 0);
}

static void points_by_name(void **state)
{
    assert_ptr_equal(sim_fault_point_find("aries.packet"), &point);
    assert_ptr_equal(sim_fault_point_find("node"), &other_point);
    assert_null(sim_fault_point_find("aries"));
}

static void no_rule_no_fault(void **state)
{
    assert_false(faulted_any());
    add(everything, "here");
    assert_true(faulted_any());
    assert_null(other_point.rules);
}

static void window_is_half_open(void **state)
{
    struct sim_fault_rule rule = everything;

    rule.from = 10;
    rule.until = 20;
    add(rule, "window");
    sim_core.now = 9;
    assert_false(faulted_any());
    sim_core.now = 10;
    assert_true(faulted_any());
    sim_core.now = 19;
    assert_true(faulted_any());
    sim_core.now = 20;
    assert_false(faulted_any());
    assert_int_equal(point.rules->seen, 2);
    assert_int_equal(point.rules->fired, 2);
}

static void subjects_match_by_every_field(void **state)
{
    struct sim_fault_rule rule = everything;

    rule.source = 7;
    rule.target = 8;
    rule.kind = 1;
    add(rule, "who");
    assert_true(faulted(7, 8, 0, 0, 1));
    assert_false(faulted(8, 7, 0, 0, 1));
    assert_false(faulted(7, 9, 0, 0, 1));
    assert_false(faulted(7, 8, 0, 0, 0));
    assert_false(faulted(ANY, 8, 0, 0, 1)); /* an unknown value does not match everything */
}

static void groups_in_either_order(void **state)
{
    struct sim_fault_rule rule = everything;

    rule.between[0] = 4;
    rule.between[1] = 6;
    add(rule, "between");
    assert_true(faulted(1, 2, 4, 6, 0));
    assert_true(faulted(1, 2, 6, 4, 0));
    assert_false(faulted(1, 2, 4, 4, 0));
    assert_false(faulted(1, 2, 6, 5, 0));
    assert_false(faulted(1, 2, ANY, ANY, 0));
}

static void one_group_to_anywhere(void **state)
{
    struct sim_fault_rule rule = everything;

    rule.between[0] = 4;
    add(rule, "touches");
    assert_true(faulted(1, 2, 4, 9, 0));
    assert_true(faulted(1, 2, 9, 4, 0));
    assert_false(faulted(1, 2, 9, 9, 0));
}

/* Which subjects of a node a rule hits does not depend on what other nodes send meanwhile. */
static void each_source_has_random_numbers_of_its_own(void **state)
{
    struct sim_fault_rule rule = everything;
    unsigned i, source, hits = 0, differing = 0;
    bool in_turn[2][100];

    rule.probability = 0.5;
    sim_random_init(&rule.random, 1, "fault", 0);
    sim_fault_rule_add(&point, &rule);
    sim_fault_rule_add(&other_point, &rule);
    for (i = 0; i < 100; i++)
        for (source = 0; source < 2; source++)
            in_turn[source][i] = faulted(source * 1000, 2, 0, 1, 0);
    for (source = 2; source-- > 0;) {
        struct sim_fault_subject subject = {.source = source * 1000, .target = 2};

        for (i = 0; i < 100; i++) {
            bool hit = sim_fault_ask(&other_point, &subject) != NULL;

            assert_int_equal(hit, in_turn[source][i]);
            hits += hit;
        }
    }
    for (i = 0; i < 100; i++)
        differing += in_turn[0][i] != in_turn[1][i];
    assert_in_range(hits, 70, 130);
    assert_in_range(differing, 30, 70);
}

static void skip_and_count(void **state)
{
    struct sim_fault_rule rule = everything;
    unsigned i, fired = 0;

    rule.skip = 3;
    rule.count_max = 2;
    add(rule, "third and fourth");
    for (i = 0; i < 10; i++) {
        bool now_faulted = faulted_any();

        assert_true(now_faulted == (i == 3 || i == 4));
        fired += now_faulted;
    }
    assert_int_equal(fired, 2);
    assert_int_equal(point.rules->seen, 10);
    assert_int_equal(point.rules->fired, 2);
}

static void first_rule_that_fires_decides(void **state)
{
    struct sim_fault_rule rule = everything;
    const struct sim_fault_subject subject = {.source = 1, .target = 2};

    rule.count_max = 1;
    rule.action = SIM_FAULT_DELAY;
    rule.delay = 5 * SIM_US;
    add(rule, "once");
    rule = everything;
    rule.action = SIM_FAULT_CORRUPT;
    add(rule, "then");
    assert_int_equal(sim_fault_ask(&point, &subject)->action, SIM_FAULT_DELAY);
    assert_int_equal(sim_fault_ask(&point, &subject)->action, SIM_FAULT_CORRUPT);
    assert_int_equal(sim_fault_ask(&point, &subject)->action, SIM_FAULT_CORRUPT);
    assert_int_equal(point.rules->seen, 3);
    assert_int_equal(point.rules->next->seen, 2); /* was not asked the first time */
}

static void probability_is_kept(void **state)
{
    struct sim_fault_rule rule = everything;
    unsigned i;

    rule.probability = 0.1;
    sim_random_init(&rule.random, 42, "fault", 0);
    add(rule, "now and then");
    for (i = 0; i < 100000; i++)
        faulted_any();
    assert_in_range(point.rules->fired, 9600, 10400); /* 4 standard deviations */
}

static void probability_zero_never(void **state)
{
    struct sim_fault_rule rule = everything;
    unsigned i;

    rule.probability = 0.0;
    add(rule, "never");
    for (i = 0; i < 1000; i++)
        assert_false(faulted_any());
}

static void note_packet(const struct sim_fault_record *record, void *arg)
{
    *(uint32_t *)arg = record->packet;
}

/* Asks about a chunk of so many packets. */
static bool chunk_faulted(uint32_t packets)
{
    const struct sim_fault_subject subject = {.source = 1, .target = 2, .packets = packets};

    return sim_fault_ask(&point, &subject) != NULL;
}

/* The packet that the last fault hit. */
static uint32_t last_packet(void)
{
    uint32_t packet = 0;

    sim_fault_for_each_record(note_packet, &packet);
    return packet;
}

/* 1 - (1 - p)^n, and each packet of the chunk is the first one that is hit about equally often. */
static void probability_is_that_of_each_packet(void **state)
{
    struct sim_fault_rule rule = everything;
    unsigned i, fired = 0, first_half = 0;

    rule.probability = 0.01;
    sim_random_init(&rule.random, 42, "fault", 0);
    add(rule, "now and then");
    for (i = 0; i < 2000; i++) {
        if (chunk_faulted(64)) {
            uint32_t packet = last_packet();

            assert_in_range(packet, 1, 64);
            fired++;
            first_half += packet <= 32;
        }
    }
    /* 1 - 0.99^64 = 0.4744; of these 0.2750 / 0.4744 in the first half: 4 standard deviations */
    assert_in_range(fired, 949 - 90, 949 + 90);
    assert_in_range(first_half, 550 - 80, 550 + 80);
    assert_int_equal(point.rules->seen, 2000);
}

/* Very small and very large chances of a packet have no rounding of their own. */
static void chance_of_a_chunk_at_its_ends(void **state)
{
    static const double probabilities[] = {0.0, 1e-300, 1e-18, 1 - 0x1p-53, 1.0};
    unsigned i, j;

    for (i = 0; i < sizeof probabilities / sizeof *probabilities; i++) {
        struct sim_fault_rule rule = everything;

        sim_fault_reset();
        setup(state);
        rule.probability = probabilities[i];
        add(rule, "ends");
        for (j = 0; j < 500; j++) {
            assert_true(chunk_faulted(1 + j) == (probabilities[i] > 0.5));
            assert_true(probabilities[i] < 0.5 || last_packet() == 1);
        }
    }
}

/* A rule without a probability hits the first packet of each chunk, and `count` counts chunks. */
static void count_is_of_chunks(void **state)
{
    struct sim_fault_rule rule = everything;

    rule.count_max = 2;
    add(rule, "two");
    assert_true(chunk_faulted(64));
    assert_int_equal(last_packet(), 1);
    assert_true(chunk_faulted(64));
    assert_false(chunk_faulted(64));
    assert_int_equal(point.rules->seen, 3);
    assert_int_equal(point.rules->fired, 2);
}

/* `skip` counts packets, as it does where each packet is asked for alone: of the chunk in which it
 * ends, a packet behind it is hit. */
static void skip_is_of_packets(void **state)
{
    struct sim_fault_rule rule = everything;
    unsigned hits = 0, i;

    rule.skip = 100;
    add(rule, "later");
    assert_false(chunk_faulted(64));
    assert_true(chunk_faulted(64));
    assert_int_equal(last_packet(), 37);
    assert_true(chunk_faulted(64));
    assert_int_equal(last_packet(), 1);
    assert_int_equal(point.rules->seen, 3);
    assert_int_equal(point.rules->fired, 2);

    for (i = 0; i < 400; i++) {
        sim_fault_reset();
        setup(state);
        rule.skip = 62;
        rule.probability = 0.5;
        sim_random_init(&rule.random, i, "fault", 0);
        add(rule, "one of the last two");
        if (chunk_faulted(64)) {
            assert_in_range(last_packet(), 63, 64);
            hits++;
        }
    }
    assert_in_range(hits, 260, 340); /* three of four */
}

static void title_names_the_packet(const struct sim_fault_record *record, void *arg)
{
    assert_non_null(strstr(record->title, ", all lost with packet 1 of 8"));
    *(bool *)arg = true;
}

static void record_of_a_chunk_names_its_packet(void **state)
{
    struct sim_fault_rule rule = everything;
    bool found = false;

    add(rule, "loss");
    assert_true(chunk_faulted(8));
    sim_fault_for_each_record(title_names_the_packet, &found);
    assert_true(found);
}

static uint64_t pattern(uint64_t seed, bool seeded)
{
    struct sim_fault_rule rule = everything;
    uint64_t bits = 0;
    unsigned i;

    rule.probability = 0.5;
    if (seeded)
        sim_random_init(&rule.random, seed, "fault", 0);
    sim_fault_reset();
    setup(NULL);
    add(rule, "coin");
    for (i = 0; i < 64; i++)
        bits = bits << 1 | faulted_any();
    return bits;
}

static void seed_decides(void **state)
{
    assert_true(pattern(1, true) == pattern(1, true));
    assert_true(pattern(1, true) != pattern(2, true));
    assert_true(pattern(0, false) == pattern(0, false));
    assert_true(pattern(0, false) != 0 && pattern(0, false) != UINT64_MAX);
}

/* Each rule has a random stream of its own: the draws of another rule do not change its numbers. */
static void streams_are_independent(void **state)
{
    struct sim_fault_rule rule = everything;
    uint64_t alone = pattern(9, true), together = 0;
    unsigned i;

    sim_fault_reset();
    setup(NULL);
    rule.probability = 0.3;
    rule.source = 99;
    sim_random_init(&rule.random, 9, "fault", 1);
    add(rule, "another's");
    rule.probability = 0.5;
    rule.source = 1;
    sim_random_init(&rule.random, 9, "fault", 0);
    add(rule, "coin");
    for (i = 0; i < 64; i++) {
        faulted(99, 1, 0, 0, 0);
        together = together << 1 | faulted_any();
    }
    assert_int_equal(point.rules->seen, 64);
    assert_true(together == alone);
}

static void check_rule(const struct sim_fault_point *at, const struct sim_fault_rule *rule,
                       void *arg)
{
    static const char *const labels[] = {"faults[0]", "faults[2]", "faults[1]"};
    unsigned *count = arg;

    assert_string_equal(at->name, *count < 2 ? "aries.packet" : "node");
    assert_string_equal(rule->label, labels[*count]);
    ++*count;
}

static void rules_listed_by_point_and_order(void **state)
{
    struct sim_fault_rule rule = everything;
    unsigned count = 0;

    add(everything, "faults[0]");
    rule.label = strdup("faults[1]");
    sim_fault_rule_add(&other_point, &rule);
    add(everything, "faults[2]");
    sim_fault_for_each_rule(check_rule, &count);
    assert_int_equal(count, 3);
    sim_fault_reset();
    sim_fault_for_each_rule(check_rule, &count);
    assert_int_equal(count, 3);
    assert_null(point.rules);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(points_by_name),
        TEST(no_rule_no_fault),
        TEST(window_is_half_open),
        TEST(subjects_match_by_every_field),
        TEST(groups_in_either_order),
        TEST(one_group_to_anywhere),
        TEST(each_source_has_random_numbers_of_its_own),
        TEST(skip_and_count),
        TEST(first_rule_that_fires_decides),
        TEST(probability_is_kept),
        TEST(probability_zero_never),
        TEST(probability_is_that_of_each_packet),
        TEST(chance_of_a_chunk_at_its_ends),
        TEST(count_is_of_chunks),
        TEST(skip_is_of_packets),
        TEST(record_of_a_chunk_names_its_packet),
        TEST(seed_decides),
        TEST(streams_are_independent),
        TEST(rules_listed_by_point_and_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
