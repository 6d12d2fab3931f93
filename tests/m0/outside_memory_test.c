/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Code as the storage system's own tests of the transport in memory are written: they include its
 * source, and are linked with the library that has it, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/finject.h"
#include "net/bulk_emulation/mem_xprt_xo.c"
#include "ut/ut.h"

/* The same bytes in one segment and in several. */
static void copies(void)
{
    static const struct {
        uint32_t segments;
        m0_bcount_t bytes;
    } shapes[] = {{1, 60}, {5, 12}, {2, 30}, {60, 1}, {3, 20}};
    struct m0_net_buffer buffers[ARRAY_SIZE(shapes)];
    uint8_t number = 0;
    uint32_t i, k;
    m0_bcount_t at;

    M0_SET_ARR0(buffers);
    for (i = 0; i < ARRAY_SIZE(shapes); i++)
        M0_UT_ASSERT(m0_bufvec_alloc(&buffers[i].nb_buffer, shapes[i].segments, shapes[i].bytes) ==
                     0);
    for (at = 0; at < 60; at++)
        ((uint8_t *)buffers[0].nb_buffer.ov_buf[0])[at] = (uint8_t)at;
    for (i = 1; i < ARRAY_SIZE(shapes); i++, number = 0) {
        M0_UT_ASSERT(mem_copy_buffer(&buffers[i], &buffers[i - 1], 60) == 0);
        M0_UT_ASSERT(buffers[i].nb_length == 0);
        for (k = 0; k < shapes[i].segments; k++)
            for (at = 0; at < shapes[i].bytes; at++)
                M0_UT_ASSERT(((uint8_t *)buffers[i].nb_buffer.ov_buf[k])[at] == number++);
    }
    M0_UT_ASSERT(mem_copy_buffer(&buffers[1], &buffers[0], 61) == -EFBIG);
    for (i = 0; i < ARRAY_SIZE(shapes); i++)
        m0_bufvec_free(&buffers[i].nb_buffer);
}

static void nothing(const struct m0_net_tm_event *event)
{
    (void)event;
}

/* The transport is the included one. */
static void machine(void)
{
    static const struct m0_net_tm_callbacks callbacks = {.ntc_event_cb = nothing};
    struct m0_net_transfer_mc tm = {.ntm_callbacks = &callbacks};
    struct m0_net_domain dom = {.nd_xprt = NULL};
    struct m0_clink wait;

    M0_UT_ASSERT(m0_net_domain_init(&dom, &m0_net_bulk_mem_xprt) == 0);
    M0_UT_ASSERT(dom.nd_xprt->nx_ops == &mem_ops);
    M0_UT_ASSERT(m0_net_tm_init(&tm, &dom) == 0);
    m0_clink_init(&wait, NULL);
    m0_clink_add_lock(&tm.ntm_chan, &wait);
    M0_UT_ASSERT(m0_net_tm_start(&tm, "10.1.2.3:4") == 0);
    m0_chan_wait(&wait);
    M0_UT_ASSERT(tm.ntm_state == M0_NET_TM_STARTED);
    M0_UT_ASSERT(m0_net_tm_stop(&tm, false) == 0);
    while (tm.ntm_state != M0_NET_TM_STOPPED)
        m0_chan_wait(&wait);
    m0_clink_del_lock(&wait);
    m0_clink_fini(&wait);
    m0_net_tm_fini(&tm);
    m0_net_domain_fini(&dom);
}

static void received(const struct m0_net_buffer_event *event)
{
    (void)event;
}

/* The points of failure that programs above the layer arm. */
static void failures(void)
{
    static const struct m0_net_tm_callbacks callbacks = {.ntc_event_cb = nothing};
    static const struct m0_net_buffer_callbacks done = {
        .nbc_cb = {[M0_NET_QT_MSG_RECV] = received}};
    struct m0_net_transfer_mc tm = {.ntm_callbacks = &callbacks};
    struct m0_net_domain dom = {.nd_xprt = NULL};
    struct m0_net_buffer buffer = {.nb_callbacks = &done};
    struct m0_net_end_point *ep;
    struct m0_clink wait;

    M0_UT_ASSERT(m0_net_domain_init(&dom, &m0_net_bulk_mem_xprt) == 0);
    m0_fi_enable_once("m0_net_tm_init", "fake_error");
    M0_UT_ASSERT(m0_net_tm_init(&tm, &dom) == -EINVAL && tm.ntm_state == M0_NET_TM_UNDEFINED);
    M0_UT_ASSERT(m0_net_tm_init(&tm, &dom) == 0);
    m0_fi_enable_once("m0_net_tm_start", "fake_error");
    M0_UT_ASSERT(m0_net_tm_start(&tm, "10.1.2.3:4") == 0 && tm.ntm_state == M0_NET_TM_FAILED);
    m0_net_tm_fini(&tm);

    M0_UT_ASSERT(m0_net_tm_init(&tm, &dom) == 0);
    m0_clink_init(&wait, NULL);
    m0_clink_add_lock(&tm.ntm_chan, &wait);
    M0_UT_ASSERT(m0_net_tm_start(&tm, "10.1.2.3:4") == 0);
    m0_chan_wait(&wait);
    m0_fi_enable_once("m0_net_end_point_create", "fake_error");
    M0_UT_ASSERT(m0_net_end_point_create(&ep, &tm, "10.1.2.4:4") == -EINVAL);
    M0_UT_ASSERT(m0_bufvec_alloc(&buffer.nb_buffer, 1, 8) == 0);
    m0_fi_enable_once("m0_net_buffer_register", "fake_error");
    M0_UT_ASSERT(m0_net_buffer_register(&buffer, &dom) == -EINVAL && buffer.nb_dom == NULL);
    M0_UT_ASSERT(m0_net_buffer_register(&buffer, &dom) == 0);
    buffer.nb_qtype = M0_NET_QT_MSG_RECV;
    buffer.nb_min_receive_size = 8;
    buffer.nb_max_receive_msgs = 1;
    m0_fi_enable_once("m0_net_buffer_add", "fake_error");
    M0_UT_ASSERT(m0_net_buffer_add(&buffer, &tm) == -EMSGSIZE);
    M0_UT_ASSERT(buffer.nb_flags == M0_NET_BUF_REGISTERED && m0_fi_armed__ == 0);
    m0_net_buffer_deregister(&buffer, &dom);
    m0_bufvec_free(&buffer.nb_buffer);
    M0_UT_ASSERT(m0_net_tm_stop(&tm, false) == 0);
    while (tm.ntm_state != M0_NET_TM_STOPPED)
        m0_chan_wait(&wait);
    m0_clink_del_lock(&wait);
    m0_clink_fini(&wait);
    m0_net_tm_fini(&tm);
    m0_net_domain_fini(&dom);
}

static struct m0_ut_suite suite = {
    .ts_name = "memory",
    .ts_tests = {{"copies", copies}, {"machine", machine}, {"failures", failures}, {NULL, NULL}},
};
M0_EXPORTED(suite);

static void m0_159_m0_162_source_of_the_transport_in_memory(void **state)
{
    assert_int_equal(m0_ut_suite_run(&suite), 0);
    m0_net_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_159_m0_162_source_of_the_transport_in_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
