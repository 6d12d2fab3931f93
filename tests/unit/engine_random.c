/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "engine/random.h"

/* Pinned: changing a stream changes the results of every scenario. */
static void streams_are_stable(void **state)
{
    struct sim_random random;

    sim_random_init(&random, 7, "net.route", 3);
    assert_true(sim_random_next(&random) == 0xcf54114a90647deaull);
    assert_true(sim_hash_string("aries.packet", 1) == 0xacc271810eb2e167ull);
}

static void streams_depend_on_seed_name_and_index(void **state)
{
    static const struct {
        uint64_t seed;
        const char *name;
        uint64_t index;
    } keys[] = {{1, "a", 0}, {2, "a", 0}, {1, "b", 0}, {1, "a", 1}, {1, "", 0}, {0, "a", 0}};
    enum { KEYS = sizeof keys / sizeof *keys };
    uint64_t first[KEYS];
    size_t i, j;

    for (i = 0; i < KEYS; i++) {
        struct sim_random random, twin;

        sim_random_init(&random, keys[i].seed, keys[i].name, keys[i].index);
        sim_random_init(&twin, keys[i].seed, keys[i].name, keys[i].index);
        first[i] = sim_random_next(&random);
        assert_true(first[i] == sim_random_next(&twin));
        for (j = 0; j < i; j++)
            assert_true(first[i] != first[j]);
    }
}

static void moments(void **state)
{
    enum { COUNT = 200000 };
    struct sim_random random;
    double sum = 0, squares = 0, exponential = 0;
    uint64_t below = 0;
    int i, hits = 0;

    sim_random_init(&random, 1, "moments", 0);
    for (i = 0; i < COUNT; i++) {
        double unit = sim_random_unit(&random);
        uint64_t small = sim_random_below(&random, 7);

        assert_true(unit >= 0 && unit < 1);
        assert_true(small < 7);
        sum += unit;
        squares += unit * unit;
        below += small;
        exponential += sim_random_exponential(&random, 250.0);
        hits += sim_random_chance(&random, 0.25);
    }
    assert_true(fabs(sum / COUNT - 0.5) < 0.005);
    assert_true(fabs(squares / COUNT - 1.0 / 3) < 0.005);
    assert_true(fabs((double)below / COUNT - 3) < 0.03);
    assert_true(fabs(exponential / COUNT - 250) < 3);
    assert_true(fabs((double)hits / COUNT - 0.25) < 0.005);
}

static void certainty_is_certain(void **state)
{
    struct sim_random random;
    int i;

    sim_random_init(&random, 1, "chance", 0);
    for (i = 0; i < 1000; i++) {
        assert_true(sim_random_chance(&random, 1.0));
        assert_false(sim_random_chance(&random, 0.0));
    }
}

/* Every byte and the length count, at every alignment. */
static void hash_sees_every_byte(void **state)
{
    unsigned char bytes[40], shifted[48];
    uint64_t whole;
    size_t i;

    for (i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37);
    whole = sim_hash_bytes(bytes, sizeof bytes, 5);
    for (i = 0; i < 8; i++) {
        memcpy(shifted + i, bytes, sizeof bytes);
        assert_true(sim_hash_bytes(shifted + i, sizeof bytes, 5) == whole);
    }
    for (i = 0; i < sizeof bytes; i++) {
        bytes[i] ^= 1;
        assert_true(sim_hash_bytes(bytes, sizeof bytes, 5) != whole);
        bytes[i] ^= 1;
        assert_true(sim_hash_bytes(bytes, i, 5) != whole);
    }
    assert_true(sim_hash_bytes(bytes, sizeof bytes, 6) != whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_stable),
        cmocka_unit_test(streams_depend_on_seed_name_and_index),
        cmocka_unit_test(moments),
        cmocka_unit_test(certainty_is_certain),
        cmocka_unit_test(hash_sees_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
