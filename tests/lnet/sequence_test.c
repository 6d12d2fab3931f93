/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Random sequences of calls: see sequence.c. */
#include "sequence.h"

#include "full.h"
#include "world.h"

static void calls_in_any_order(void **state)
{
    uint64_t seeds = (uint64_t)test_seeds(500, 30000), seed;
    const struct sequence_counts *counts = &sequence_counts;

    (void)state;
    for (seed = 1; seed <= seeds; seed++)
        sequence_run(seed, NULL, 0);
    print_message("%lu requests, %lu failed, %lu unlinked, %lu stops\n",
                  (unsigned long)counts->messages, (unsigned long)counts->failures,
                  (unsigned long)counts->unlinks, (unsigned long)counts->stops);
    assert_true(counts->messages > 500 * seeds && counts->failures > 10 * seeds &&
                counts->unlinks > 100 * seeds && counts->stops > seeds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
