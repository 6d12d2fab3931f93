/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of the support library that programs of others use besides the network layer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/errno.h"
#include "lib/getopts.h"
#include "lib/memory.h"
#include "lib/misc.h"
#include "lib/mutex.h"
#include "lib/queue.h"
#include "lib/semaphore.h"
#include "lib/string.h"
#include "lib/thread.h"
#include "lib/trace.h"
#include "mero/init.h"
#include "mero/magic.h"
#include "module/instance.h"
#include "motr/init.h"
#include "net/buffer_pool.h"
#include "net/bulk_emulation/mem_xprt.h"
#include "net/module.h"
#include "net/bulk_mem.h"
#include "net/net.h"
#include "ut/ut.h"

static struct m0_mutex lock = M0_MUTEX_SINIT(&lock);
enum { MASK = M0_BITS(0, 3, 5) };

static int64_t number;
static m0_bcount_t scaled;
static const char *string;
static int calls;

static void on_number(int64_t value)
{
    number = value;
}
static void on_scaled(m0_bcount_t value)
{
    scaled = value;
}
static void on_string(const char *value)
{
    string = value;
}
static void on_call(void)
{
    calls++;
}

#define PARSE(...)                                                                                 \
    ({                                                                                             \
        const char *words_[] = {"program", __VA_ARGS__, NULL};                                     \
        M0_GETOPTS("program", ARRAY_SIZE(words_) - 1, (char *const *)words_, M0_HELPARG('h'),      \
                   M0_FLAGARG('f', "a flag", &flag), M0_FLAGARG('F', "another", &other),           \
                   M0_FORMATARG('u', "a count", "%u", &count),                                     \
                   M0_NUMBERARG('n', "a number", on_number),                                       \
                   M0_SCALEDARG('s', "a size", on_scaled), M0_STRINGARG('t', "a text", on_string), \
                   M0_VOIDARG('v', "call", on_call));                                              \
    })

static void m0_159_options_are_parsed(void **state)
{
    bool flag = false, other = true;
    unsigned count = 7;

    assert_int_equal(PARSE("-f", "-u", "12", "-n-0x10", "-s4k", "-t", "text", "-vv"), 0);
    assert_true(flag && !other && count == 12 && number == -16 && scaled == 4096 && calls == 2);
    assert_string_equal(string, "text");
    assert_int_equal(PARSE("-vu3", "operand", "-n", "-5", "--", "-x"), 0);
    assert_true(!flag && calls == 3 && count == 3 && number == -5);
    assert_int_equal(PARSE("-x"), -EINVAL);
    assert_int_equal(PARSE("-u"), -EINVAL);
    assert_int_equal(PARSE("-u", "many"), -EINVAL);
    assert_int_equal(PARSE("-n", "5x"), -EINVAL);
    assert_int_equal(PARSE("-s", "5x"), -EINVAL);
#ifndef __clang__
    assert_int_equal(M0_GETOPTS("program", 2, ((char *[]){(char *)"program", (char *)"-l9", NULL}),
                                M0_NUMBERARG('l', "a function in its place",
                                             LAMBDA(
                                                 void, (int64_t value) { number = value; }))),
                     0);
    assert_int_equal(number, 9);
#endif
}

static void m0_159_sizes_and_durations_have_units(void **state)
{
    static const struct {
        const char *text;
        int rc;
        uint64_t value;
    } sizes[] = {{"0", 0, 0},
                 {"1b", 0, 512},
                 {"2k", 0, 2048},
                 {"3m", 0, 3 << 20},
                 {"1g", 0, 1 << 30},
                 {"2K", 0, 2000},
                 {"3M", 0, 3000000},
                 {"1G", 0, 1000000000},
                 {"0x10k", 0, 16384},
                 {"", -EINVAL, 0},
                 {"k", -EINVAL, 0},
                 {"-1", -EINVAL, 0},
                 {"1kk", -EINVAL, 0},
                 {"1t", -EINVAL, 0},
                 {"18446744073709551615", 0, UINT64_MAX},
                 {"18446744073709551616", -EOVERFLOW, 0},
                 {"18446744073709551615k", -EOVERFLOW, 0}},
      times[] = {{"2", 0, 2000000000},
                 {"1.5", 0, 1500000000},
                 {".25s", 0, 250000000},
                 {"3.", 0, 3000000000},
                 {"20ms", 0, 20000000},
                 {"0.5us", 0, 500},
                 {"7ns", 0, 7},
                 {"1.9ns", 0, 1},
                 {"", -EINVAL, 0},
                 {".", -EINVAL, 0},
                 {"s", -EINVAL, 0},
                 {"1h", -EINVAL, 0},
                 {"99999999999999", -EOVERFLOW, 0}};
    uint64_t value;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(sizes); i++) {
        assert_int_equal(m0_bcount_get(sizes[i].text, &value), sizes[i].rc);
        assert_true(sizes[i].rc != 0 || value == sizes[i].value);
    }
    for (i = 0; i < ARRAY_SIZE(times); i++) {
        assert_int_equal(m0_time_get(times[i].text, &value), times[i].rc);
        assert_true(times[i].rc != 0 || value == times[i].value);
    }
}

static void m0_159_locks_and_counters_of_others(void **state)
{
    struct m0_semaphore semaphore;

    m0_mutex_lock(&lock);
    assert_true(m0_mutex_is_locked(&lock));
    m0_mutex_unlock(&lock);
    assert_int_equal(m0_semaphore_init(&semaphore, 2), 0);
    m0_semaphore_up(&semaphore);
    assert_int_equal(m0_semaphore_value(&semaphore), 3);
    m0_semaphore_down(&semaphore);
    assert_true(m0_semaphore_timeddown(&semaphore, m0_time_now()));
    assert_int_equal(m0_semaphore_value(&semaphore), 1);
    m0_semaphore_up(&semaphore);
    m0_semaphore_drain(&semaphore);
    assert_int_equal(m0_semaphore_value(&semaphore), 0);
    assert_false(m0_semaphore_trydown(&semaphore));
    assert_int_equal(m0_semaphore_value(&semaphore), 0);
    m0_semaphore_fini(&semaphore);
    assert_int_equal(MASK, 41);
    assert_true(M0_BITS(63) == 1ULL << 63 && M0_BITS(0, 1, 2, 3, 4, 5, 6, 7, 8) == 511);
}

static void m0_159_words_of_objects_differ(void **state)
{
    static const uint64_t words[] = {
        M0_NET_TEST_NETWORK_BDS_MAGIC, M0_NET_TEST_NETWORK_BD_MAGIC, M0_NET_TEST_TIMESTAMP_MAGIC,
        M0_NET_TEST_SLIST_MAGIC,       M0_NET_TEST_STR_MAGIC,        M0_NET_TEST_BS_LINK_MAGIC,
        M0_NET_TEST_BS_HEAD_MAGIC,     M0_NET_TEST_BSB_MAGIC,        M0_NET_TEST_BSB_HEAD_MAGIC,
        M0_NET_TEST_BSP_MAGIC,         M0_NET_TEST_BSP_HEAD_MAGIC,   M0_NET_TEST_SSB_MAGIC,
        M0_NET_TEST_SSB_HEAD_MAGIC};
    size_t i, k;

    for (i = 0; i < ARRAY_SIZE(words); i++)
        for (k = 0; k < ARRAY_SIZE(words); k++)
            assert_true(words[i] != words[k] || i == k);
}

static void m0_159_a_program_begins_and_ends(void **state)
{
    static struct m0 instance;

    assert_int_equal(m0_init(&instance), 0);
    assert_ptr_equal(m0_net_xprt_default_get(), &m0_net_bulk_mem_xprt); /* there is no other */
    m0_quiesce();
    assert_int_equal(m0_resume(&instance), 0);
    m0_fini();
    assert_int_equal(m0_init(NULL), 0);
    m0_fini();
}

static void m0_159_queues_of_others(void **state)
{
    struct m0_queue_link links[3];
    struct m0_queue queue = M0_QUEUE_INIT;
    int i, round;

    assert_true(m0_queue_is_empty(&queue) && m0_queue_get(&queue) == NULL);
    m0_queue_init(&queue);
    for (i = 0; i < 3; i++)
        m0_queue_link_init(&links[i]);
    for (round = 0; round < 2; round++) {
        for (i = 0; i < 3; i++) {
            assert_false(m0_queue_contains(&queue, &links[i]) || m0_queue_link_is_in(&links[i]));
            m0_queue_put(&queue, &links[i]);
            assert_true(m0_queue_contains(&queue, &links[i]) && m0_queue_link_is_in(&links[i]));
            assert_true(m0_queue_invariant(&queue) && m0_queue_length(&queue) == (size_t)i + 1);
        }
        for (i = 0; i < 3; i++)
            assert_ptr_equal(m0_queue_get(&queue), &links[i]);
        assert_true(m0_queue_is_empty(&queue) && m0_queue_invariant(&queue));
    }
    for (i = 0; i < 3; i++)
        m0_queue_link_fini(&links[i]);
    m0_queue_fini(&queue);
}

static void m0_159_numbers_of_128_bits(void **state)
{
    struct m0_uint128 most = M0_UINT128(0, UINT64_MAX), sum = M0_UINT128(7, 1), read;
    char text[64];

    m0_uint128_add(&sum, &sum, &most);
    assert_true(m0_uint128_eq(&sum, &M0_UINT128(8, 0)));
    m0_uint128_mul64(&sum, UINT64_MAX, UINT64_MAX);
    assert_true(m0_uint128_eq(&sum, &M0_UINT128(UINT64_MAX - 1, 1)));
    assert_true(m0_uint128_cmp(&most, &sum) < 0 && m0_uint128_cmp(&sum, &most) > 0);
    assert_int_equal(m0_uint128_cmp(&sum, &sum), 0);
    m0_uint128_init(&read, "0123456789abcdef");
    assert_memory_equal(&read, "0123456789abcdef", 16);
    snprintf(text, sizeof(text), "0x" U128X_F, U128_P(&M0_UINT128(0x12, 7)));
    assert_string_equal(text, "0x12:7");
    assert_int_equal(m0_uint128_sscanf(text, &read), 0);
    assert_true(m0_uint128_eq(&read, &M0_UINT128(0x12, 7)));
    assert_int_equal(m0_uint128_sscanf("1:2:3", &read), -EINVAL);
    assert_int_equal(m0_uint128_sscanf("1", &read), -EINVAL);
    assert_true(M0_BINDEX_MAX == M0_BCOUNT_MAX - 1 && M0_BSIGNED_MAX == INT64_MAX);
}

/* Sources of others use it as an expression, with commas in the condition. */
static void m0_159_assertions_of_unit_tests(void **state)
{
    struct m0_ut_suite suite = {.ts_name = "masked", .ts_masked = true, .ts_tests = {{NULL, NULL}}};
    struct m0_net_ip_addr address = {.nia_n = {.nip_format = M0_NET_IP_LNET_FORMAT}};
    int count = 0;

    assert_true(M0_UT_ASSERT((struct m0_uint128){1, 2}.u_lo == 2 && count++ == 0) && count == 1);
    assert_true(m0_forall(i, 3, M0_UT_ASSERT(i < 3)));
    assert_int_equal(m0_ut_suite_run(&suite), 0);
    assert_int_equal(USE_LIBFAB, 0);
    assert_string_equal(M0_NET_XPRT_PREFIX_DEFAULT, "lnet");
    assert_int_equal(address.nia_n.nip_format, M0_NET_IP_LNET_FORMAT);
    assert_int_equal(m0_trace_parse(stdin, stdout, NULL, M0_TRACE_PARSE_DEFAULT_FLAGS, NULL, 0),
                     -EOPNOTSUPP);
#ifdef __x86_64__
    assert_int_equal(CONFIG_X86_64, 1);
#endif
}

/* ---- modules --------------------------------------------------------------------------------- */

static void m0_159_transports_as_modules(void **state)
{
    struct m0_net_module *net;
    struct m0_module *module, *memory;
    struct m0 *instance;

    assert_int_equal(m0_init(NULL), 0);
    assert_true(m0_net_xprt_is_registered(&m0_net_bulk_mem_xprt));
    instance = m0_get();
    assert_ptr_equal(m0_get(), instance);
    assert_null(instance->i_moddata[M0_MODULE_NET]);
    module = m0_net_module_type.mt_create(instance);
    net = instance->i_moddata[M0_MODULE_NET];
    assert_ptr_equal(module, &net->n_module);
    memory = &net->n_xprts[M0_NET_XPRT_BULKMEM].nx_module;
    assert_true(module->m_cur == M0_MODLEV_NONE && memory->m_cur == M0_MODLEV_NONE);

    assert_int_equal(m0_module_init(memory, M0_LEVEL_NET_DOMAIN), 0);
    assert_true(module->m_cur == M0_LEVEL_NET && memory->m_cur == M0_LEVEL_NET_DOMAIN);
    assert_ptr_equal(net->n_xprts[M0_NET_XPRT_BULKMEM].nx_domain.nd_xprt, &m0_net_bulk_mem_xprt);
    /* This program has no LNet. What the attempt has entered is needed by the other one. */
    assert_int_equal(m0_module_init(&net->n_xprts[M0_NET_XPRT_LNET].nx_module, M0_LEVEL_NET_DOMAIN),
                     -EPROTONOSUPPORT);
    m0_module_fini(module, M0_MODLEV_NONE);
    assert_true(module->m_cur == M0_LEVEL_NET);
    m0_module_fini(memory, M0_MODLEV_NONE);
    assert_true(module->m_cur == M0_MODLEV_NONE && memory->m_cur == M0_MODLEV_NONE);
    assert_null(net->n_xprts[M0_NET_XPRT_BULKMEM].nx_domain.nd_xprt);
    m0_free0(&instance->i_moddata[M0_MODULE_NET]);

    m0_mem_xprt_fini();
    assert_false(m0_net_xprt_is_registered(&m0_net_bulk_mem_xprt));
    m0_mem_xprt_fini(); /* once more */
    assert_int_equal(m0_mem_xprt_init() + m0_mem_xprt_init(), 0);
    assert_int_equal(m0_net_xprt_nr(), 1);
    m0_fini();
}

static int events[8], event_count;

static int enter_first(struct m0_module *module)
{
    events[event_count++] = 1;
    return 0;
}
static void leave_first(struct m0_module *module)
{
    events[event_count++] = -1;
}
static int enter_second(struct m0_module *module)
{
    events[event_count++] = 2;
    return -EIO;
}

static void m0_159_a_level_that_cannot_be_entered(void **state)
{
    static const struct m0_modlev first[] = {{.ml_enter = enter_first, .ml_leave = leave_first}},
                                  second[] = {{NULL}, {.ml_enter = enter_second}};
    static struct m0_module one, two;
    static struct m0 instance;

    m0_set(&instance);
    assert_ptr_equal(m0_get(), &instance);
    m0_module_setup(&one, "one", first, 1, &instance);
    m0_module_setup(&two, "two", second, 2, &instance);
    m0_module_dep_add(&two, 1, &one, 0);
    assert_int_equal(instance.i_dep_gen, 1);
    assert_int_equal(m0_module_init(&two, 1), -EIO);
    assert_true(two.m_cur == 0 && one.m_cur == M0_MODLEV_NONE);
    assert_int_equal(event_count, 3);
    assert_true(events[0] == 1 && events[1] == 2 && events[2] == -1);
    m0_module_fini(&two, M0_MODLEV_NONE);
    assert_int_equal(two.m_cur, M0_MODLEV_NONE);
    m0_net_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_159_options_are_parsed),
        cmocka_unit_test(m0_159_sizes_and_durations_have_units),
        cmocka_unit_test(m0_159_locks_and_counters_of_others),
        cmocka_unit_test(m0_159_words_of_objects_differ),
        cmocka_unit_test(m0_159_a_program_begins_and_ends),
        cmocka_unit_test(m0_159_queues_of_others),
        cmocka_unit_test(m0_159_numbers_of_128_bits),
        cmocka_unit_test(m0_159_assertions_of_unit_tests),
        cmocka_unit_test(m0_159_transports_as_modules),
        cmocka_unit_test(m0_159_a_level_that_cannot_be_entered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
