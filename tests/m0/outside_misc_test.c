/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Small macros and functions, and points of failure, that sources of others use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/errno.h"
#include "lib/finject.h"
#include "lib/memory.h"
#include "lib/misc.h"
#include "lib/thread.h"
#include "lib/vec.h"
#include "net/addb2.h"

struct inner {
    uint64_t i_magic;
    uint16_t i_numbers[3];
};

struct outer {
    int o_first;
    const char *o_name;
    struct inner o_inner;
};

/* Of constants they are constants. */
static const bool follows = ergo(true, false), empty = ergo(false, false);
enum {
    MAGIC_AT = M0_MAGIX_OFFSET(struct outer, o_inner.i_magic),
    SIZE = M0_MEMBER_SIZE(struct inner, i_numbers),
    WORDS = ARRAY_SIZE_FOR_BITS(33, 4),
};

static void m0_159_macros_of_others(void **state)
{
    struct outer outer = {.o_name = "name", .o_inner = {.i_magic = 7, .i_numbers = {1, 2, 2}}},
                 *none = NULL;
    struct inner *inner = &outer.o_inner;
    const uint16_t *numbers = inner->i_numbers;
    bool odd = false;

    assert_true(!follows && empty && MAGIC_AT == offsetof(struct outer, o_inner) && SIZE == 6);
    assert_true(WORDS == 2 && M0_BYTES(17) == 3 && M0_BYTES(16) == 2);
    assert_ptr_equal(M0_AMB(none, inner, o_inner), &outer);
    assert_string_equal(M0_MEMBER(&outer, o_name), "name");
    assert_null(M0_MEMBER(none, o_name));
    assert_ptr_equal(M0_MEMBER_PTR(&outer, o_inner), inner);
    assert_null(M0_MEMBER_PTR(none, o_inner));
    assert_true(M0_FIELD_IS(struct outer, o_first, int) && m0_is_array(inner->i_numbers));
    assert_true(!M0_FIELD_IS(struct outer, o_first, unsigned) && !m0_is_array(numbers));
    assert_int_equal(m0_count(i, 3, numbers[i] == 2), 2);
    assert_int_equal(m0_count(i, 2, m0_count(k, 3, numbers[k] == i + 1) == 2), 1);
    assert_true(M0_COUNT_PARAMS(a) == 0 && M0_COUNT_PARAMS(a, b, c) == 2);
    assert_true(M0_CIRCULAR_SHIFT_LEFT((uint8_t)0x81, 1) == 3);
    assert_true(M0_CIRCULAR_SHIFT_LEFT(5u, 32) == 5);
    if (odd)
        odd = false;
    AND_NOTHING_ELSE
    assert_int_equal(M0_AVI_NET_BUF - M0_AVI_NET_RANGE_START, 1);
    assert_true(CHAR_BIT == 8 && M0_BUF_INIT0.b_nob == 0); /* by lib/misc.h */
}

static void m0_159_functions_of_others(void **state)
{
    uint64_t words[] = {9, 2, 9, UINT64_MAX}, id = m0_dummy_id_generate();
    unsigned char bytes[2] = {0xff, 0};
    char *end;

    assert_string_equal(m0_bool_to_str(true), "true");
    assert_string_equal(m0_bool_to_str(false), "false");
    assert_string_equal(m0_short_file_name("/a/motr/lib/misc.c"), "lib/misc.c");
    assert_string_equal(m0_short_file_name("misc.c"), "misc.c");
    assert_true(m0_strtou64("18446744073709551615x", &end, 10) == UINT64_MAX && *end == 'x');
    assert_int_equal(m0_strtou32("0x10", NULL, 0), 16);
    assert_true(!m0_elems_are_unique(words, 4, 8) && m0_elems_are_unique(words, 2, 8));
    assert_int_equal(m0_no_of_bits_set(words[3] - 1), 63);
    m0_array_sort(words, 4);
    assert_true(words[0] == 2 && words[1] == 9 && words[2] == 9 && words[3] == UINT64_MAX);
    m0_bit_set(bytes, 1, false);
    m0_bit_set(bytes, 11, true);
    assert_true(bytes[0] == 0xfd && bytes[1] == 8 && m0_bit_get(bytes, 11) &&
                !m0_bit_get(bytes, 1));
    assert_true(m0_dummy_id_generate() != id);
}

/* ---- points of failure ----------------------------------------------------------------------- */

static bool fails(void)
{
    return M0_FI_ENABLED("here");
}

static bool third(void *data)
{
    return ++*(int *)data == 3;
}

static void m0_159_failures_by_chance_and_by_a_function(void **state)
{
    int calls = 0, i, count = 0;

    assert_int_equal(m0_fi_init(), 0);
    m0_fi_enable_func("fails", "here", third, &calls);
    assert_true(!fails() && !fails() && fails() && !fails() && calls == 4);
    m0_fi_enable_random("fails", "here", 100);
    assert_true(fails() && fails());
    m0_fi_enable_random("fails", "here", 25);
    for (i = 0; i < 1000; i++)
        count += fails();
    assert_true(count > 150 && count < 350);
    m0_fi_enable("third", "there");
    m0_fi_fini();
    assert_false(fails());
    assert_int_equal(m0_fi_armed__, 0);
}

static void check_until(int *stop)
{
    while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE))
        fails();
}

/* Points are armed while other threads check them. */
static void m0_159_failures_are_armed_among_threads(void **state)
{
    struct m0_thread threads[2] = {{0}};
    int i, stop = 0;

    for (i = 0; i < 2; i++)
        assert_int_equal(M0_THREAD_INIT(&threads[i], int *, NULL, &check_until, &stop, "check"), 0);
    for (i = 0; i < 20000; i++)
        m0_fi_enable_once("fails", i % 2 == 0 ? "here" : "there");
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (i = 0; i < 2; i++) {
        m0_thread_join(&threads[i]);
        m0_thread_fini(&threads[i]);
    }
    m0_fi_fini();
    assert_int_equal(m0_fi_armed__, 0);
}

/* ---- vectors --------------------------------------------------------------------------------- */

static char area[2][64] __attribute__((aligned(64)));
static int taken;

static void *take(size_t bytes, size_t alignment)
{
    return bytes <= 64 && alignment <= 64 && taken < 2 ? area[taken++] : NULL;
}
static bool give(void *memory)
{
    bool ours = (char *)memory >= area[0] && (char *)memory < area[0] + sizeof(area);

    taken -= ours;
    return ours;
}

static void m0_159_vectors_without_memory(void **state)
{
    static const struct m0_aligned_source source = {.as_alloc = take, .as_free = give};
    struct m0_bufvec vector = {.ov_buf = NULL};

    m0_bufvec_free(NULL);
    m0_bufvec_free_aligned(NULL, 6);
    m0_fi_enable_once("m0_bufvec_alloc_aligned", "oom");
    assert_int_equal(m0_bufvec_alloc_aligned(&vector, 1, 64, 6), -ENOMEM);
    assert_null(vector.ov_buf);
    /* An allocation that fails midway returns its memory to the source. */
    m0_aligned_source_set(&source);
    assert_int_equal(m0_bufvec_alloc_aligned(&vector, 3, 64, 6), -ENOMEM);
    assert_true(taken == 0 && vector.ov_buf == NULL);
    assert_int_equal(m0_bufvec_alloc_aligned(&vector, 2, 64, 6), 0);
    assert_int_equal(taken, 2);
    m0_bufvec_free_aligned(&vector, 6);
    assert_int_equal(taken, 0);
    m0_aligned_source_set(NULL);
#ifndef ENABLE_FAULT_INJECTION
    fail();
#endif
}

static void m0_159_vectors_that_are_joined(void **state)
{
    struct m0_bufvec one, two;
    struct m0_vec_cursor cursor;
    struct m0_buf copy;
    uint32_t i;

    assert_int_equal(m0_bufvec_alloc_aligned_packed(&one, 4, 8, 6), 0);
    for (i = 0; i < 32; i++)
        ((char *)one.ov_buf[0])[i] = (char)i;
    m0_vec_cursor_init(&cursor, &one.ov_vec);
    assert_false(m0_vec_cursor_move(&cursor, 3));
    assert_true(m0_vec_cursor_step(&cursor) == 5 && m0_vec_cursor_end(&cursor) == 29);

    assert_int_equal(m0_bufvec_alloc(&two, 1, 16), 0);
    m0_fi_enable("m0_alloc", "fail_allocation");
    assert_int_equal(m0_bufvec_extend(&two, 1), -ENOMEM);
    m0_fi_enable_off_n_on_m("m0_alloc", "fail_allocation", 3, 10); /* the new memory, no room */
    assert_int_equal(m0_bufvec_extend(&two, 1), -ENOMEM);
    m0_fi_disable("m0_alloc", "fail_allocation");
    assert_true(two.ov_vec.v_nr == 1 && two.ov_vec.v_count[0] == 16);
    assert_int_equal(m0_bufvec_extend(&two, 2), 0);
    assert_true(two.ov_vec.v_nr == 3 && m0_vec_count(&two.ov_vec) == 48);

    assert_int_equal(m0_bufvec_splice(&one, 9, &copy), 0);
    assert_true(copy.b_nob == 9 && memeq(copy.b_addr, one.ov_buf[0], 9));
    m0_buf_free(&copy);
    assert_int_equal(m0_bufvec_merge(&two, &one), 0);
    assert_true(two.ov_vec.v_nr == 7 && two.ov_buf[3] == one.ov_buf[0]);
    assert_int_equal(m0_bufvec_splice(&two, 0, &copy), 0);
    assert_true(copy.b_nob == 80 && memeq((char *)copy.b_addr + 48, one.ov_buf[0], 32));
    m0_buf_free(&copy);

    assert_int_equal(m0_bufvec_pack(&one), 3);
    assert_true(one.ov_vec.v_nr == 1 && one.ov_vec.v_count[0] == 32);
    one.ov_vec.v_count[0] = 8;
    assert_int_equal(m0_bufvec_pack(&one), 0);
    two.ov_vec.v_nr = 3; /* the others are those of the first one */
    m0_bufvec_free(&two);
    m0_bufvec_free_aligned_packed(&one, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_159_macros_of_others),
        cmocka_unit_test(m0_159_functions_of_others),
        cmocka_unit_test(m0_159_failures_by_chance_and_by_a_function),
        cmocka_unit_test(m0_159_failures_are_armed_among_threads),
        cmocka_unit_test(m0_159_vectors_without_memory),
        cmocka_unit_test(m0_159_vectors_that_are_joined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
