/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What packing allocates, and what it does without memory. The linker wraps malloc for this. */
#include "recording.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
/* Visible, because libraries of the sanitizers call realloc. */
#pragma GCC visibility push(default)
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
#pragma GCC visibility pop

static long allocations;
static bool refuse;

void *__wrap_malloc(size_t size)
{
    allocations++;
    return refuse ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return refuse ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    allocations++;
    return refuse ? NULL : __real_realloc(memory, size);
}

static void send_one(mad_send_mode_t send, int blocks)
{
    static char memory[64][32];
    p_mad_connection_t out = mad_begin_packing(world.channel[0], 1);

    for (int i = 0; i < blocks; i++)
        mad_pack(out, memory[i], sizeof(memory[i]), send, i % 4 == 3 ? E : R);
    mad_end_packing(out);
}

static void mad_51_mad_98_allocations_in_steady_state(void **state)
{
    static const struct link_kind kinds[] = {{EAGER, DYNAMIC, AGGREGATE, SIZE_MAX},
                                             {GROUP, DYNAMIC, SPLIT, SIZE_MAX},
                                             {GROUP, DYNAMIC, AGGREGATE, SIZE_MAX}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        world_open(&kinds[i], 1, 0);
        recording.quiet = recording.discard = true;
        send_one(C, 40);
        send_one(L, 40);
        allocations = 0;
        for (int message = 0; message < 100; message++) {
            send_one(C, 40);
            send_one(L, 40);
        }
        assert_int_equal(allocations, 0);
        send_one(S, 10);
        assert_int_equal(allocations, kinds[i].link == GROUP ? 10 : 0); /* one copy each */
        world_close();
    }
}

static void mad_90_no_memory_for_a_copy(void **state)
{
    static const struct link_kind kind = {GROUP, DYNAMIC, SPLIT, SIZE_MAX};
    p_mad_connection_t out;
    char memory[100] = {0};

    world_open(&kind, 1, 0);
    recording.quiet = recording.discard = true;
    send_one(C, 8);
    out = begin_packing();
    mad_pack(out, memory, sizeof(memory), S, R);
    refuse = true;
    mad_pack(out, memory, sizeof(memory), S, R);
    refuse = false;
    assert_failure(MAD_ENOMEM);
    mad_end_packing(out);
    assert_int_equal(mad_connection_error(out), MAD_ENOMEM);
    assert_int_equal(failure_count, 0);
    world_close(); /* the address sanitizer looks for what was not freed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_51_mad_98_allocations_in_steady_state),
        cmocka_unit_test(mad_90_no_memory_for_a_copy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
