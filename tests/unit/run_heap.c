/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of ranks: the simulation determines its addresses, independent of the host's heap. */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/random.h"
#include "engine/sim.h"
#include "cluster/heap.h"

#define BLOCKS 400
#define STEPS 3000
#define LARGEST (3u << 20)

static uint64_t places; /* digest of all addresses that a run got */
static bool leaves; /* a run does not free what it has at its end */

struct held {
    uint8_t *memory;
    size_t bytes;
    uint8_t mark;
};

static struct held all[BLOCKS];

static void check_marks(const struct held *held)
{
    if (held->bytes > 0) {
        assert_int_equal(held->memory[0], held->mark);
        assert_int_equal(held->memory[held->bytes / 2], held->mark);
        assert_int_equal(held->memory[held->bytes - 1], held->mark);
    }
}

static void fill(struct held *held, uint8_t mark)
{
    held->mark = mark;
    memset(held->memory, mark, held->bytes);
    places = sim_mix(places ^ (uintptr_t)held->memory);
}

static void check_zero(const struct held *held)
{
    size_t i;

    for (i = 0; i < held->bytes; i++)
        if (held->memory[i] != 0)
            fail_msg("byte %zu of %zu is not 0", i, held->bytes);
}

static size_t some_bytes(struct sim_random *random)
{
    static const size_t limits[] = {64, 64, 1100, 5000, 140000, LARGEST};

    return sim_random_below(random, limits[sim_random_below(random, 6)]);
}

static void take(struct held *held, struct sim_random *random)
{
    size_t alignment = (size_t)8 << sim_random_below(random, 12);

    held->bytes = some_bytes(random);
    switch (sim_random_below(random, 4)) {
    case 0:
        held->memory = calloc(1, held->bytes);
        check_zero(held);
        break;
    case 1:
        assert_int_equal(posix_memalign((void **)&held->memory, alignment, held->bytes), 0);
        assert_int_equal((uintptr_t)held->memory % alignment, 0);
        break;
    default:
        held->memory = malloc(held->bytes);
    }
    assert_non_null(held->memory);
    assert_int_equal((uintptr_t)held->memory % 16, 0);
    assert_true(malloc_usable_size(held->memory) >= held->bytes);
}

static void resize(struct held *held, struct sim_random *random)
{
    size_t before = held->bytes, kept;

    held->bytes = 1 + some_bytes(random);
    held->memory = realloc(held->memory, held->bytes);
    assert_non_null(held->memory);
    kept = before < held->bytes ? before : held->bytes;
    if (kept > 0) {
        assert_int_equal(held->memory[0], held->mark);
        assert_int_equal(held->memory[kept - 1], held->mark);
    }
}

/* Nothing overlaps, nothing is lost, sizes and alignments are as asked for. */
static void exercise(void *arg)
{
    struct sim_random random;
    int i;

    sim_random_init(&random, 7, "heap", 0);
    memset(all, 0, sizeof all);
    for (i = 0; i < STEPS; i++) {
        struct held *held = &all[sim_random_below(&random, BLOCKS)];

        if (held->memory == NULL) {
            take(held, &random);
        } else {
            check_marks(held);
            if (sim_random_chance(&random, 0.2)) {
                resize(held, &random);
            } else {
                free(held->memory);
                held->memory = NULL;
                continue;
            }
        }
        fill(held, (uint8_t)i);
    }
    for (i = 0; i < BLOCKS; i++) {
        if (all[i].memory != NULL)
            check_marks(&all[i]);
        if (!leaves)
            free(all[i].memory);
    }
}

static uint64_t run(void (*body)(void *arg))
{
    const struct sim_options options = {.seed = 1};

    places = 0;
    cluster_heap_begin();
    sim_init(&options);
    assert_non_null(sim_fiber_start(body, NULL, "rank", 0));
    assert_int_equal(sim_run(), SIM_DONE);
    sim_fini();
    cluster_heap_end();
    return places;
}

static void blocks_are_what_was_asked_for(void **state)
{
    run(exercise);
}

/* Changes the host's heap before each run. */
static void places_are_the_same(void **state)
{
    uint64_t first = run(exercise);
    void *shift[3];
    int i;

#ifdef HEAP_OFF
    skip();
#endif
    for (i = 0; i < 3; i++) {
        shift[i] = malloc((size_t)(24 + 1000 * i));
        assert_int_equal(run(exercise), first);
    }
    for (i = 0; i < 3; i++)
        free(shift[i]);
}

/* Memory that a run did not free is not allocated again, and can still be freed. */
static void *kept;

static void keep(void *arg)
{
    kept = malloc(100);
    strcpy(kept, "kept");
}

static void what_is_left_stays(void **state)
{
    int i;

    run(keep);
    leaves = true;
    run(exercise);
    leaves = false;
    for (i = 0; i < BLOCKS; i++)
        free(all[i].memory);
    run(exercise);
    assert_string_equal(kept, "kept");
    kept = realloc(kept, 100000);
    assert_string_equal(kept, "kept");
    free(kept);
}

/* A campaign of hundreds of runs, each of which leaves memory allocated. */
static void places_are_the_same_in_the_last_of_many_runs(void **state)
{
    const uintptr_t aligned = 64u << 20; /* what areas are, at least */
    uintptr_t first;
    int i;

#ifdef HEAP_OFF
    skip();
#endif
    run(keep);
    first = (uintptr_t)kept;
    for (i = 0; i < 600; i++) {
        run(keep);
        assert_ptr_not_equal((void *)first, kept);
        assert_int_equal((uintptr_t)kept % aligned, first % aligned);
    }
}

/* ---- several ranks --------------------------------------------------------------------------- */

/* Allocates blocks and frees some, at many times: at most the 16 MiB that the last rank has. */
static void allocate(void *arg)
{
    uint64_t *digest = arg;
    struct sim_random random;
    void *held[20] = {NULL};
    int i;

    sim_random_init(&random, 3, "rank", sim_fiber_memory(sim_fiber_self()));
    for (i = 0; i < 200; i++) {
        void **place = &held[sim_random_below(&random, 20)];

        free(*place);
        *place = malloc(sim_random_below(&random, sim_random_chance(&random, 0.5) ? 500 : 140000));
        assert_non_null(*place);
        *digest = sim_mix(*digest ^ (uintptr_t)*place);
        sim_spend(sim_random_below(&random, 1000) * SIM_NS);
        if (sim_random_chance(&random, 0.5))
            sim_settle();
    }
    for (i = 0; i < 20; i++)
        free(held[i]);
}

static void run_ranks(const uint32_t *numbers, uint32_t count, uint64_t *digests)
{
    const struct sim_options options = {.seed = 1};
    uint32_t i;

    cluster_heap_begin();
    sim_init(&options);
    for (i = 0; i < count; i++) {
        struct sim_fiber *fiber = sim_fiber_start(allocate, &digests[numbers[i]], "rank", 0);

        assert_non_null(fiber);
        assert_int_equal(sim_fiber_memory(fiber), 0);
        sim_fiber_set_memory(fiber, numbers[i]);
    }
    assert_int_equal(sim_run(), SIM_DONE);
    sim_fini();
    cluster_heap_end();
}

/* The last number is that of the last rank of the largest machine. */
static void ranks_do_not_move_the_blocks_of_others(void **state)
{
    const uint32_t numbers[] = {0, 1, 2, 3, 1000, 70000, 131072}, reversed[] = {70000, 3, 1};
    static uint64_t together[131073], alone[131073], fewer[131073];
    uint32_t i;

#ifdef HEAP_OFF
    skip();
#endif
    run_ranks(numbers, 7, together);
    for (i = 0; i < 7; i++) {
        run_ranks(&numbers[i], 1, alone);
        assert_int_equal(alone[numbers[i]], together[numbers[i]]);
        assert_int_not_equal(together[numbers[i]], together[numbers[(i + 1) % 7]]);
    }
    run_ranks(reversed, 3, fewer);
    for (i = 0; i < 3; i++)
        assert_int_equal(fewer[reversed[i]], together[reversed[i]]);
}

static struct {
    struct sim_event event;
    void *block;
} freed;

static void on_free(struct sim_event *event)
{
    (void)event;
    free(freed.block);
}

/* An event frees a block between two allocations. It has fired before the second one, or not. */
static void allocate_twice(void *arg)
{
    bool settles = arg != NULL;
    void *first = malloc(100), *second, *third;

    freed.block = first;
    freed.event.fire = on_free;
    sim_event_schedule(&freed.event, 10 * SIM_MS + 50 * SIM_NS);
    sim_spend(10 * SIM_MS + 60 * SIM_NS);
    if (settles)
        sim_settle();
    second = malloc(100);
    assert_ptr_not_equal(second, first);
    sim_spend(SIM_MS);
    sim_settle();
    third = malloc(100);
    assert_ptr_equal(third, first); /* in the end it is used again */
    places = sim_mix((uintptr_t)second);
    free(second);
    free(third);
}

static void twice_and_settle(void *arg)
{
    (void)arg;
    allocate_twice(&freed);
}

static void what_an_event_frees_is_used_at_a_time_that_does_not_depend_on_others(void **state)
{
#ifdef HEAP_OFF
    skip();
#endif
    assert_int_equal(run(allocate_twice), run(twice_and_settle));
}

/* A call of the simulator blocks: what other ranks allocate meanwhile is theirs. */
static void inside(void *arg)
{
    void **block = arg;

    sim_core.outside++;
    sim_sleep_until(10 * SIM_US);
    block[0] = malloc(100);
    sim_core.outside--;
    block[1] = malloc(100);
}

static void meanwhile(void *arg)
{
    void **block = arg;

    sim_sleep_until(5 * SIM_US);
    block[2] = malloc(100);
}

static void the_simulator_has_memory_of_its_own(void **state)
{
    const struct sim_options options = {.seed = 1};
    void *block[3];

#ifdef HEAP_OFF
    skip();
#endif
    cluster_heap_begin();
    sim_init(&options);
    sim_fiber_set_memory(sim_fiber_start(inside, block, "inside", 0), 1);
    sim_fiber_set_memory(sim_fiber_start(meanwhile, block, "meanwhile", 0), 2);
    assert_int_equal(sim_run(), SIM_DONE);
    sim_fini();
    /* Arenas are 36 KiB apart, and have the same offsets in them. */
    assert_int_equal((uintptr_t)block[2] - (uintptr_t)block[1], 9 * 4096);
    assert_true((uintptr_t)block[0] - (uintptr_t)block[1] > (64ull << 40) ||
                (uintptr_t)block[0] < (uintptr_t)block[1]);
    free(block[0]);
    free(block[1]);
    free(block[2]);
    cluster_heap_end();
}

static void ask_for_too_much(void *arg)
{
    volatile size_t most = SIZE_MAX;
    void *memory = &memory;

    errno = 0;
    assert_null(malloc(most - 100));
    assert_int_equal(errno, ENOMEM);
    assert_null(calloc(most / 2, 3));
    assert_null(calloc(most / 2, 2));
    assert_null(aligned_alloc(4096, most - 100));
    assert_int_equal(posix_memalign(&memory, 4096, most - 100), ENOMEM);
    assert_int_equal(posix_memalign(&memory, 24, 100), EINVAL);
    assert_ptr_equal(memory, &memory);
    memory = malloc(10);
    assert_null(realloc(memory, most - 100));
    free(memory);
    free(NULL);
}

static void too_much_is_refused(void **state)
{
#ifdef HEAP_OFF
    skip(); /* sanitizers end the program */
#endif
    run(ask_for_too_much);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_what_was_asked_for),
        cmocka_unit_test(places_are_the_same),
        cmocka_unit_test(what_is_left_stays),
        cmocka_unit_test(places_are_the_same_in_the_last_of_many_runs),
        cmocka_unit_test(ranks_do_not_move_the_blocks_of_others),
        cmocka_unit_test(what_an_event_frees_is_used_at_a_time_that_does_not_depend_on_others),
        cmocka_unit_test(the_simulator_has_memory_of_its_own),
        cmocka_unit_test(too_much_is_refused),
    };

    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
