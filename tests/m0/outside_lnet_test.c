/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Code as the storage system's own tests of the transport over LNet are written: they include its
 * source, compiled with the smallest TMID 1, and are linked with the library that has it, too. The
 * driver is one that knows a few NIDs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "net/lnet/lnet_main.c"

#include "lib/arith.h"
#include "lib/string.h"
#include "lib/thread.h"
#include "lib/trace.h"
#include "motr/init.h"
#include "net/bulk_mem.h"
#include "ut/ut.h"

/* What these tests define for themselves if their build does not. */
#ifndef PAGE_SHIFT
#ifdef CONFIG_X86_64
#define PAGE_SHIFT 12
#else
#define PAGE_SHIFT 16
#endif
#define PAGE_SIZE (1ul << PAGE_SHIFT)
#endif
enum { MESSAGE = PAGE_SIZE / 2 };

/* ---- the driver ------------------------------------------------------------------------------ */

static const char nids[] = "10.1.2.3@tcp\0"
                           "0@lo\0"
                           "10.1.2.3@o2ib\0";

static int fake_open(const char *name, void **handle)
{
    *handle = NULL;
    return 0;
}
static void fake_close(void *handle)
{
}
static long fake_ioctl(void *handle, unsigned cmd, void *arg)
{
    struct m0_lnet_dev_dom_init_params *init = arg;
    struct m0_lnet_dev_nid_encdec_params *nid = arg;
    struct m0_lnet_dev_nidstrs_get_params *get = arg;

    switch (cmd) {
    case M0_LNET_DOM_INIT:
        init->ddi_max_buffer_size = 1 << 20;
        init->ddi_max_buffer_segment_size = M0_SEG_SIZE;
        init->ddi_max_buffer_segments = 256;
        return 0;
    case M0_LNET_NIDSTR_DECODE:
        nid->dn_nid = 77;
        return strchr(nid->dn_buf, '@') == NULL ? -EINVAL : 0;
    case M0_LNET_NIDSTRS_GET:
        if (get->dng_size < sizeof(nids))
            return -EFBIG;
        memcpy(get->dng_buf, nids, sizeof(nids));
        return 3;
    default:
        return -ENOTTY;
    }
}
static struct nlx_ucore_device fake = {
    .ud_prefix = "fake:", .ud_open = fake_open, .ud_close = fake_close, .ud_ioctl = fake_ioctl};

/* ---- the suite ------------------------------------------------------------------------------- */

static int suite_init(void)
{
    struct stat status;

    nlx_ucore_device_add(&fake);
    nlx_ucore_dev_name = "fake:";
    return stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode) ? 0 : -errno;
}

static void addresses(void)
{
    struct nlx_core_kmem_loc loc = {.kl_checksum = 0};
    struct m0_net_domain dom = {.nd_xprt = NULL};
    struct nlx_core_ep_addr cepa;
    struct nlx_core_domain *cd;

    M0_UT_ASSERT(nlx_core_kmem_loc_is_empty(&loc));
    M0_UT_ASSERT(!nlx_core_kmem_loc_invariant(&loc)); /* it is nowhere */
    M0_UT_ASSERT(!nlx_dom_invariant(&dom));
    M0_UT_ASSERT(!m0_net_domain_init(&dom, m0_net_xprt_default_get()));
    M0_UT_ASSERT(nlx_dom_invariant(&dom));
    M0_UT_ASSERT(m0_net_domain_get_max_buffer_segment_size(&dom) >= MESSAGE);
    cd = &((struct nlx_xo_domain *)dom.nd_xprt_private)->xd_core;
    M0_UT_ASSERT(nlx_core_ep_addr_decode(cd, "10.1.2.3@tcp:12345:33:0", &cepa) == -EINVAL);
    M0_UT_ASSERT(nlx_core_ep_addr_decode(cd, "10.1.2.3@tcp:12345:33:x", &cepa) == -EINVAL);
    M0_UT_ASSERT(nlx_core_ep_addr_decode(cd, "10.1.2.3@tcp:12345:33:1", &cepa) == 0);
    M0_UT_ASSERT(cepa.cepa_nid == 77 && cepa.cepa_tmid == 1);
    M0_UT_ASSERT(nlx_core_ep_addr_decode(cd, "10.1.2.3@tcp:12345:33:*", &cepa) == 0);
    M0_UT_ASSERT(cepa.cepa_tmid == M0_NET_LNET_TMID_INVALID);
    m0_net_domain_fini(&dom);
}

/* The room that is offered at first is too small. */
static void interfaces(void)
{
    struct m0_net_domain dom = {.nd_xprt = NULL};
    unsigned before = nlx_ucore_nidstrs_thunk;
    char **texts;

    M0_UT_ASSERT(before == 128);
    nlx_ucore_nidstrs_thunk = 6;
    M0_UT_ASSERT(!m0_net_domain_init(&dom, &m0_net_lnet_xprt));
    M0_UT_ASSERT(!m0_net_lnet_ifaces_get(&dom, &texts));
    nlx_ucore_nidstrs_thunk = before;
    M0_UT_ASSERT(m0_streq(texts[0], "10.1.2.3@tcp") && m0_streq(texts[1], "0@lo"));
    M0_UT_ASSERT(m0_streq(texts[2], "10.1.2.3@o2ib") && texts[3] == NULL);
    m0_net_lnet_ifaces_put(&dom, &texts);
    M0_UT_ASSERT(texts == NULL);
    m0_net_domain_fini(&dom);
}

static struct m0_ut_suite suite = {
    .ts_name = "lnet",
    .ts_init = suite_init,
    .ts_tests = {{"addresses", addresses}, {"interfaces", interfaces}, {NULL, NULL}},
};

static void m0_49_m0_159_source_of_the_transport_over_lnet(void **state)
{
    static struct m0 instance;

    assert_int_equal(m0_init(&instance), 0);
    assert_ptr_equal(m0_net_xprt_default_get(), &m0_net_lnet_xprt);
    assert_int_equal(m0_net_xprt_nr(), 2);
    assert_int_equal(m0_net_lnet_init(), 0); /* once more */
    assert_int_equal(m0_net_xprt_nr(), 2);
    assert_int_equal(m0_ut_suite_run(&suite), 0);
    m0_net_lnet_fini();
    m0_net_lnet_fini(); /* once more */
    assert_null(m0_net_xprt_default_get());
    m0_net_xprt_default_set(&m0_net_bulk_mem_xprt);
    assert_int_equal(m0_net_lnet_init(), 0);
    assert_ptr_equal(m0_net_xprt_default_get(), &m0_net_bulk_mem_xprt); /* it has one */
    m0_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_49_m0_159_source_of_the_transport_over_lnet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
