/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pools of buffers. Every transport runs these. */
#include "lib/finject.h"
#include "pools.h"

static struct m0_net_buffer_pool pool;

M0_TEST(m0_115_colours)
{
    struct m0_net_buffer *u1, *u2, *b1, *b2, *c1;

    pool_up(&pool, A, 0, 5, 1);
    u1 = take(&pool, ANY);
    u2 = take(&pool, ANY);
    b1 = take(&pool, ANY);
    b2 = take(&pool, ANY);
    c1 = take(&pool, ANY);
    put_back(&pool, u1, ANY);
    put_back(&pool, c1, 2);
    put_back(&pool, b1, 1);
    put_back(&pool, u2, ANY);
    put_back(&pool, b2, 1);
    assert_ptr_equal(take(&pool, 1), b2);
    assert_ptr_equal(take(&pool, 1), b1);
    assert_ptr_equal(take(&pool, 1), u1);
    assert_ptr_equal(take(&pool, 1), u2);
    assert_ptr_equal(take(&pool, 1), c1);
    assert_null(take(&pool, 1));
    put_back(&pool, b1, 1);
    put_back(&pool, c1, 2);
    put_back(&pool, u1, ANY);
    assert_ptr_equal(take(&pool, ANY), u1);
    assert_ptr_equal(take(&pool, ANY), b1);
    put_back(&pool, b1, ANY);
    put_back(&pool, u1, ANY);
    put_back(&pool, u2, ANY);
    put_back(&pool, b2, ANY);
    pool_down(&pool, A);
}

M0_TEST(m0_116_calls_at_the_edges)
{
    struct m0_net_buffer *nb[4];
    unsigned i;

    pool_up(&pool, A, 2, 4, 1);
    assert_int_equal(not_empty_calls, 1);
    for (i = 0; i < 4; i++) {
        nb[i] = take(&pool, ANY);
        assert_int_equal(below_calls, i < 2 ? 0 : i - 1);
    }
    assert_null(take(&pool, ANY));
    for (i = 0; i < 4; i++) {
        put_back(&pool, nb[i], ANY);
        assert_int_equal(not_empty_calls, 2);
    }
    assert_int_equal(below_calls, 2);
    pool_down(&pool, A);
}

/* One allocation after the other fails, of all that the growth needs. */
M0_TEST(m0_117_grow_and_prune)
{
    unsigned n;

    pool_up(&pool, A, 3, 2, 1);
    m0_net_buffer_pool_lock(&pool);
    for (n = 0; n < 20; n++) {
        int before = (int)pool.nbp_free, grown;

        m0_fi_enable_off_n_on_m("m0_alloc_aligned", "fail_allocation", n, 1000);
        grown = m0_net_buffer_pool_provision(&pool, 50);
        m0_fi_disable("m0_alloc_aligned", "fail_allocation");
        assert_in_range(grown, n / 3, n);
        assert_int_equal(pool.nbp_free, before + grown);
        assert_int_equal(pool.nbp_buf_nr, before + grown);
    }
    while (pool.nbp_free > 3)
        assert_true(m0_net_buffer_pool_prune(&pool));
    assert_false(m0_net_buffer_pool_prune(&pool));
    assert_int_equal(pool.nbp_buf_nr, 3);
    m0_net_buffer_pool_unlock(&pool);
    pool_down(&pool, A);
}

M0_TEST(m0_118_fini_frees_all)
{
    struct m0_net_domain *dom = domain(A);

    pool_up(&pool, A, 1, 6, 1);
    assert_int_equal(m0_list_length(&dom->nd_registered_bufs), 6);
    pool_down(&pool, A);
    assert_true(m0_list_is_empty(&dom->nd_registered_bufs));
}
M0_TEST_IN(m0_118_fini_with_a_buffer_outside, .unbalanced = true)
{
    pool_up(&pool, A, 1, 6, 1);
    take(&pool, ANY);
    VIOLATES(m0_net_buffer_pool_fini(&pool));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_115_colours),
        cmocka_unit_test(m0_116_calls_at_the_edges),
        cmocka_unit_test(m0_117_grow_and_prune),
        cmocka_unit_test(m0_118_fini_frees_all),
        cmocka_unit_test(m0_118_fini_with_a_buffer_outside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
