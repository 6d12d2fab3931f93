/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The driver as a process that is wrong sees it: verbs without the user core, and the end of a
 * process. Items 4, 33, 132 to 134, 140, 141, 149, 151, 152, 155 and 156.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/memory.h"
#include "net/lnet/linux_kernel/klnet_local.h"
#include "net/lnet/ulnet_core.h"
#include "process.h"

/* ---- requests -------------------------------------------------------------------------------- */

M0_TEST(m0_132_request_numbers)
{
    static const unsigned table[][2] = {
        {M0_LNET_DOM_INIT, 0xc0206321},         {M0_LNET_BUF_REGISTER, 0x40286326},
        {M0_LNET_BUF_DEREGISTER, 0x40086327},   {M0_LNET_BUF_MSG_RECV, 0x40106328},
        {M0_LNET_BUF_MSG_SEND, 0x40106329},     {M0_LNET_BUF_ACTIVE_RECV, 0x4010632a},
        {M0_LNET_BUF_ACTIVE_SEND, 0x4010632b},  {M0_LNET_BUF_PASSIVE_RECV, 0x4010632c},
        {M0_LNET_BUF_PASSIVE_SEND, 0x4010632d}, {M0_LNET_BUF_DEL, 0x4010632e},
        {M0_LNET_BUF_EVENT_WAIT, 0x4010632f},   {M0_LNET_NIDSTR_DECODE, 0xc0286330},
        {M0_LNET_NIDSTR_ENCODE, 0xc0286331},    {M0_LNET_NIDSTRS_GET, 0x40106332},
        {M0_LNET_TM_START, 0x40086333},         {M0_LNET_TM_STOP, 0x40086334},
        {M0_LNET_BEV_BLESS, 0x40106335},
    };
    static const unsigned own[] = {
        M0_LNET_LIMITS,    M0_LNET_BEV_BLESS_N,        M0_LNET_SQ_SETUP,
        M0_LNET_SQ_SUBMIT, M0_LNET_SQ_SUBMIT_AND_WAIT, M0_LNET_TM_WAKE,
    };
    static const int flags[] = {O_RDONLY, O_WRONLY, O_RDWR | O_APPEND};
    struct process p = process_new(A, 7);
    struct nlx_dd_file *file;
    struct nlx_dd_proc proc;
    char block[512] = {0};
    unsigned direction, type, nr, size, i;

    for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_int_equal(table[i][0], table[i][1]);
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_TM_STOP, block), -EBADR); /* no domain yet */
    assert_int_equal(process_dom_init(&p), 0);
    assert_int_equal(process_dom_init(&p), -EBADR);
    /* every number, magic, direction and size (to 512 in steps of 4) that is no verb's */
    for (type = 'b'; type <= 'd'; type++)
        for (nr = 0; nr < 256; nr++)
            for (direction = 0; direction < 4; direction++)
                for (size = 0; size <= 512; size += 4) {
                    unsigned cmd = _IOC(direction, type, nr, size);
                    bool known = false;

                    for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
                        known |= cmd == table[i][1];
                    for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
                        known |= cmd == own[i];
                    if (!known)
                        assert_int_equal(nlx_dd_ioctl(p.file, cmd, block), -ENOTTY);
                }
    assert_int_equal(nlx_dd_read(p.file, (uintptr_t)block, sizeof(block)), -EINVAL);
    assert_int_equal(nlx_dd_write(p.file, (uintptr_t)block, sizeof(block)), -EINVAL);
    assert_int_equal(nlx_dd_read(p.file, 0, 0), -EINVAL);
    assert_int_equal(nlx_dd_write(p.file, 0, 0), -EINVAL);
    nlx_dd_local_proc(&proc);
    for (i = 0; i < 3; i++)
        assert_int_equal(nlx_dd_open(drivers[A], &proc, flags[i], &file), -EACCES);
    process_close(&p, A);
}

M0_TEST(m0_133_objects_across_a_page)
{
    char *pages = m0_alloc_aligned(8192, 12);
    struct process p = process_new(A, 7), *q = &p;
    struct m0_lnet_dev_dom_init_params domain_params = {.ddi_cd = (void *)(pages + 4080)};
    struct m0_lnet_dev_tm_start_params tm_params = {.dts_ctm = (void *)(pages + 4000)};
    struct m0_lnet_dev_buf_register_params buf_params = {
        .dbr_lcbuf = (void *)(pages + 4008),
        .dbr_buffer_id = 1,
        .dbr_bvec = {.ov_vec = {2, p.counts}, .ov_buf = p.segments},
    };
    struct m0_lnet_dev_bev_bless_params bev_params = {.dbb_bev = (void *)(pages + 3984)};

    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_DOM_INIT, &domain_params), -EBADR);
    assert_int_equal(process_dom_init(q), 0);
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_TM_START, &tm_params), -EBADR);
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BUF_REGISTER, &buf_params), -EBADR);
    assert_int_equal(process_tm_start(q, A, 9), 0);
    assert_ptr_equal(p.ctm->ctm_upvt, q);
    bev_params.dbb_ktm = p.ctm->ctm_kpvt;
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BEV_BLESS, &bev_params), -EBADR);
    bev_params.dbb_bev = process_slot(q, 0);
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BEV_BLESS, &bev_params), 0);
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BEV_BLESS, &bev_params), -EBADR); /* twice */
    assert_int_equal(process_tm_start(q, A, 10), -EBADR);
    /* addresses where nothing is */
    bev_params.dbb_bev = (void *)8;
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BEV_BLESS, &bev_params), -EFAULT);
    buf_params.dbr_lcbuf = p.cb;
    p.segments[1] = (void *)(uintptr_t)0x7ff0000000000000;
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BUF_REGISTER, &buf_params), -EFAULT);
    p.segments[1] = p.memory + 4096;
    buf_params.dbr_bvec.ov_buf = (void *)8;
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BUF_REGISTER, &buf_params), -EFAULT);
    buf_params.dbr_bvec.ov_buf = p.segments;
    buf_params.dbr_buffer_id = 0;
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BUF_REGISTER, &buf_params), -EBADR);
    process_close(&p, A);
    m0_free_aligned(pages, 8192, 12);
}

/* ---- references ------------------------------------------------------------------------------ */

static void expect_bad(const struct process *p, const void *tm, const void *buffer)
{
    static const unsigned of_both[] = {
        M0_LNET_BUF_MSG_RECV,    M0_LNET_BUF_MSG_SEND,     M0_LNET_BUF_ACTIVE_RECV,
        M0_LNET_BUF_ACTIVE_SEND, M0_LNET_BUF_PASSIVE_RECV, M0_LNET_BUF_PASSIVE_SEND,
        M0_LNET_BUF_DEL,
    };
    static const unsigned of_a_machine[] = {
        M0_LNET_BUF_EVENT_WAIT, M0_LNET_TM_STOP,   M0_LNET_BEV_BLESS,          M0_LNET_BEV_BLESS_N,
        M0_LNET_SQ_SETUP,       M0_LNET_SQ_SUBMIT, M0_LNET_SQ_SUBMIT_AND_WAIT, M0_LNET_TM_WAKE,
    };
    uint64_t block[40] = {(uintptr_t)tm, (uintptr_t)buffer};
    unsigned i;

    for (i = 0; i < sizeof(of_both) / sizeof(of_both[0]); i++)
        assert_int_equal(nlx_dd_ioctl(p->file, of_both[i], block), -EBADR);
    if (tm == p->ctm->ctm_kpvt) {
        block[0] = (uintptr_t)buffer;
        assert_int_equal(nlx_dd_ioctl(p->file, M0_LNET_BUF_DEREGISTER, block), -EBADR);
        return;
    }
    block[1] = (uintptr_t)process_slot(p, 0);
    for (i = 0; i < sizeof(of_a_machine) / sizeof(of_a_machine[0]); i++)
        assert_int_equal(nlx_dd_ioctl(p->file, of_a_machine[i], block), -EBADR);
}

M0_TEST(m0_134_foreign_references)
{
    struct process p = process_up(A, 7), other = process_new(A, 8);
    void *stale;
    unsigned i;

    /* The other descriptor's references are other numbers: it has made some in between. */
    assert_int_equal(process_dom_init(&other), 0);
    for (i = 0; i < 3; i++) {
        assert_int_equal(process_register(&other), 0);
        stale = other.cb->cb_kpvt;
        assert_int_equal(process_deregister(&other), 0);
        expect_bad(&other, other.ctm->ctm_kpvt, stale);
    }
    assert_int_equal(process_register(&other), 0);
    assert_int_equal(process_tm_start(&other, A, 10), 0);

    expect_bad(&p, NULL, p.cb->cb_kpvt);
    expect_bad(&p, p.ctm->ctm_kpvt, NULL);
    expect_bad(&p, p.cb->cb_kpvt, p.cb->cb_kpvt); /* of the wrong kind */
    expect_bad(&p, p.ctm->ctm_kpvt, p.ctm->ctm_kpvt);
    expect_bad(&p, p.ctm, p.cb->cb_kpvt); /* an address */
    expect_bad(&p, other.ctm->ctm_kpvt, p.cb->cb_kpvt);
    expect_bad(&p, p.ctm->ctm_kpvt, other.cb->cb_kpvt);
    for (i = 0; i < 200; i++) {
        void *random = (void *)(uintptr_t)(0x9e3779b97f4a7c15ull * (i + 1));

        expect_bad(&p, random, p.cb->cb_kpvt);
        expect_bad(&p, p.ctm->ctm_kpvt, random);
    }
    host(A);
    nlx_dd_close(other.file);
    process_free_memory(&other);
    process_close(&p, A);
}

/* ---- counts and bounds ----------------------------------------------------------------------- */

M0_TEST(m0_140_busy_objects)
{
    struct process p = process_up(A, 7);
    unsigned i;

    assert_int_equal(process_deregister(&p), -EBUSY);
    assert_int_equal(process_tm_verb(&p, M0_LNET_TM_STOP), -EBUSY);
    assert_int_equal(process_operation(&p, M0_LNET_BUF_MSG_RECV), -EBUSY);
    assert_int_equal(process_operation(&p, M0_LNET_BUF_DEL), 0);
    for (i = 0; i < 1000 && process_wait(&p, 0) != 0; i++)
        pass(SIM_US);
    assert_int_equal(process_slot(&p, 0)->cbe_status, -ECANCELED);
    assert_int_equal(process_slot(&p, 0)->cbe_buffer_id, 0x1234);
    assert_int_equal(process_operation(&p, M0_LNET_BUF_DEL), -ENOENT);
    assert_int_equal(process_tm_verb(&p, M0_LNET_TM_STOP), 0);
    assert_null(p.ctm->ctm_kpvt);
    assert_int_equal(process_deregister(&p), 0);
    assert_null(p.cb->cb_kpvt);
    process_close(&p, A);
}

/* 1 page of the domain, 2 and 1 of the buffer, 1 of the machine, 32 slots, 2 of the ring. */
M0_TEST(m0_141_pins_and_maps)
{
    struct process p = process_up(A, 7);
    struct m0_lnet_dev_limits_params limits = {0};
    struct nlx_dd_stats stats;

    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_LIMITS, &limits), 0);
    assert_int_equal(limits.dlp_pinned_pages, 1 + 2 + 1 + 1 + SLOTS + 2);
    assert_int_equal(limits.dlp_tms, 1);
    assert_int_equal(limits.dlp_bufs, 1);
    assert_int_equal(limits.dlp_bevs, SLOTS);
    nlx_dd_stats_get(drivers[A], &stats);
    assert_int_equal(stats.ds_pins - stats.ds_unpins, limits.dlp_pinned_pages);
    assert_int_equal(stats.ds_maps, stats.ds_unmaps);
    assert_int_equal(stats.ds_operations, 1);
    process_close(&p, A);
}

M0_TEST(m0_149_bounds)
{
    struct nlx_dd *saved = drivers[A];
    const struct nlx_dd_cfg cfg = {
        .dc_max_files = 2, .dc_max_tms = 1, .dc_max_bufs = 1, .dc_max_bevs = SLOTS, .dc_sq_nr = 64};
    struct process p, q;
    struct nlx_core_transfer_mc *second = m0_alloc_aligned(sizeof(*second), 7);
    struct nlx_core_buffer *more = m0_alloc_aligned(sizeof(*more), 7);
    struct m0_lnet_dev_tm_start_params start = {.dts_ctm = second};
    struct m0_lnet_dev_limits_params limits = {.dlp_max_pinned_pages = 38};
    struct m0_lnet_dev_bev_bless_params one = {.dbb_bev = (void *)more};
    struct m0_lnet_dev_buf_register_params reg = {.dbr_lcbuf = more, .dbr_buffer_id = 1};
    struct m0_lnet_dev_sq_setup_params ring;
    struct nlx_dd_file *file;
    struct nlx_dd_proc proc;

    assert_non_null(drivers[A] = nlx_dd_new(&hosts[A], &cfg));
    p = process_up(A, 7);
    q = process_new(A, 8);
    nlx_dd_local_proc(&proc);
    assert_int_equal(nlx_dd_open(drivers[A], &proc, O_RDWR, &file), -EMFILE);
    second->ctm_addr = (struct nlx_core_ep_addr){nid_of(A), 12345, PORTAL_M0, 20};
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_TM_START, &start), -ENOSPC);
    reg.dbr_bvec = (struct m0_bufvec){.ov_vec = {2, p.counts}, .ov_buf = p.segments};
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BUF_REGISTER, &reg), -ENOSPC);
    one.dbb_ktm = p.ctm->ctm_kpvt;
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BEV_BLESS, &one), -ENOMEM);

    /* A process lowers its own bounds; it cannot raise them. */
    assert_int_equal(process_dom_init(&q), 0);
    assert_int_equal(process_tm_start(&q, A, 11), 0);
    ring = (struct m0_lnet_dev_sq_setup_params){q.ctm->ctm_kpvt, q.sq, 128};
    assert_int_equal(nlx_dd_ioctl(q.file, M0_LNET_SQ_SETUP, &ring), -EBADR);
    limits = (struct m0_lnet_dev_limits_params){
        .dlp_max_pinned_pages = 4, .dlp_max_tms = 5, .dlp_max_bevs = 8};
    assert_int_equal(nlx_dd_ioctl(q.file, M0_LNET_LIMITS, &limits), 0);
    assert_int_equal(limits.dlp_max_tms, 1);
    assert_int_equal(limits.dlp_max_bevs, 8);
    assert_int_equal(limits.dlp_max_pinned_pages, 4);
    assert_int_equal(process_register(&q), -ENOMEM); /* its object and one page: the fourth */
    assert_int_equal(process_bless(&q, 9), -ENOMEM);
    assert_int_equal(process_bless(&q, 3), -ENOMEM); /* none of them */
    assert_int_equal(process_bless(&q, 2), 2);
    host(A);
    nlx_dd_close(q.file);
    process_free_memory(&q);
    process_close(&p, A);
    m0_free_aligned(second, sizeof(*second), 7);
    m0_free_aligned(more, sizeof(*more), 7);
    nlx_dd_free(drivers[A]);
    drivers[A] = saved;
}

/* ---- the end of a process -------------------------------------------------------------------- */

/* ---- the device and memory of the user --------------------------------------------------------
 */

static int status_of_opening(const char *device)
{
    struct m0_net_domain dom = {0};
    int rc;

    nlx_ucore_dev_name = device;
    rc = m0_net_domain_init(&dom, rig_xprt);
    nlx_ucore_dev_name = "sim:";
    assert_null(dom.nd_xprt);
    return rc;
}

M0_TEST(m0_4_a_device_that_is_missing_or_forbidden)
{
    char path[] = "/tmp/m0lnet-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(status_of_opening("/nowhere/m0lnet"), -ENOENT);
    assert_int_equal(fchmod(fd, 0), 0);
    if (geteuid() == 0) /* who may open everything */
        assert_int_equal(seteuid(65534), 0);
    assert_int_equal(status_of_opening(path), -EACCES);
    if (getuid() == 0)
        assert_int_equal(seteuid(0), 0);
    close(fd);
    unlink(path);
}

static int status_of_registering(char *memory, size_t pages)
{
    m0_bcount_t counts[4] = {4096, 4096, 4096, 4096};
    void *starts[4] = {memory, memory + 4096, memory + 2 * 4096, memory + 3 * 4096};
    struct m0_net_buffer nb = {.nb_buffer = {{(uint32_t)pages, counts}, starts}};
    int rc = m0_net_buffer_register(&nb, domain(A));

    if (rc == 0)
        m0_net_buffer_deregister(&nb, domain(A));
    return rc;
}

/* Good pages come first, so that pins are undone. */
M0_TEST(m0_33_memory_that_cannot_be_written)
{
    struct nlx_dd_stats before, after;
    char *memory;

    memory = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    memory[3 * 4096] = 42;
    assert_int_equal(status_of_registering(memory, 4), 0);
    assert_int_equal(memory[3 * 4096], 42);
    nlx_dd_stats_get(drivers[A], &before);
    assert_int_equal(mprotect(memory + 3 * 4096, 4096, PROT_READ), 0);
    assert_int_equal(status_of_registering(memory, 4), -EFAULT);
    assert_int_equal(munmap(memory + 2 * 4096, 4096), 0);
    assert_int_equal(status_of_registering(memory, 4), -EFAULT);
    assert_int_equal(status_of_registering(memory, 2), 0);
    nlx_dd_stats_get(drivers[A], &after);
    assert_int_equal(after.ds_pins - before.ds_pins, after.ds_unpins - before.ds_unpins);
    assert_true(after.ds_pins - before.ds_pins > 2 + 2 + 3);
    munmap(memory, 2 * 4096);
    munmap(memory + 3 * 4096, 4096);
}

M0_TEST(m0_151_m0_155_close_frees_everything)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *out = buffer(B, 4096);
    unsigned i;

    for (i = 0; i < 3; i++) { /* another process has the same address at once */
        struct process p = process_up(A, 7 + i);

        forget_completions();
        assert_int_equal(send_to(b, out, 100, address(A, 9)), 0);
        wait_completions(1);
        process_close(&p, A);
    }
}

/* Killed after each verb, and with a message on its way. */
/* The verb, with an event in the ring: no timeout lets it wait. */
M0_TEST(m0_148_wait_with_events_in_the_ring)
{
    struct process p = process_up(A, 7);
    sim_time_t began;

    assert_int_equal(process_wait(&p, m0_time_from_now(0, 1000)), -ETIMEDOUT);
    assert_int_equal(process_operation(&p, M0_LNET_BUF_DEL), 0);
    pass(SIM_MS);
    host(A);
    began = sim_local_time();
    assert_int_equal(process_wait(&p, M0_TIME_NEVER), 0);
    assert_int_equal(process_wait(&p, m0_time_from_now(5, 0)), 0);
    assert_int_equal(process_wait(&p, M0_TIME_IMMEDIATELY), 0);
    assert_true(sim_local_time() - began < SIM_MS);
    process_close(&p, A);
}

M0_TEST(m0_152_killed_after_each_verb)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *out = buffer(B, 4096);
    unsigned last, i;

    for (last = 0; last <= 8; last++) {
        struct process p = process_new(A, 7);

        for (i = 0; i < last; i++)
            assert_int_equal(process_step(&p, A, i), 0);
        forget_completions();
        assert_int_equal(send_to(b, out, 4096, address(A, 9)), 0);
        host(A);
        nlx_dd_kill(drivers[A], 7);
        driver_is_unused(A);
        wait_completions(1);
        pass(SIM_MS);
        process_free_memory(&p);
    }
    nlx_dd_kill(drivers[A], 7); /* nothing is left of it */
}

static struct process waiter;
static int waited = 1;
static void wait_for_events(void *argument)
{
    (void)argument;
    waited = process_wait(&waiter, M0_TIME_NEVER);
}

M0_TEST(m0_156_a_waiter_is_released)
{
    struct port_thread *thread;

    waiter = process_up(A, 7);
    thread = port_thread_start("waiter", wait_for_events, NULL);
    pass(SIM_MS);
    assert_int_equal(process_tm_verb(&waiter, M0_LNET_TM_STOP), -EBUSY);
    assert_int_equal(waited, 1);
    process_close(&waiter, A);
    port_thread_join(thread);
    assert_int_equal(waited, -EINTR);
}

/* ---- a process that ends while data moves -----------------------------------------------------
 */

static bool killed;
static void kill_seven(void *argument)
{
    (void)argument;
    nlx_dd_kill(drivers[A], 7);
    killed = true;
}

/* A descriptor of process 7 with an active operation on a passive buffer, which will hang. */
static struct process begin_transfer(const struct m0_net_buffer *passive_nb, uint32_t tmid,
                                     enum m0_net_queue_type qtype, unsigned cmd)
{
    const struct nlx_core_buf_desc *desc =
        (const struct nlx_core_buf_desc *)passive_nb->nb_desc.nbd_data;
    struct process p = process_new(A, 7);

    memset(p.memory, 0x77, 8192);
    assert_int_equal(process_dom_init(&p), 0);
    assert_int_equal(process_register(&p), 0);
    assert_int_equal(process_tm_start(&p, A, tmid), 0);
    assert_int_equal(process_step(&p, A, 3), 0);
    assert_int_equal(process_step(&p, A, 4), 0);
    p.cb->cb_qtype = qtype;
    p.cb->cb_length = 8192;
    p.cb->cb_match_bits = desc->cbd_match_bits;
    p.cb->cb_addr = desc->cbd_passive_ep;
    assert_int_equal(process_operation(&p, cmd), 0);
    return p;
}

static void poison(struct process *p)
{
    memset(p->memory, 0xaa, 8192);
}

static void expect_poison(const struct process *p)
{
    unsigned i;

    for (i = 0; i < 8192; i++)
        assert_int_equal((uint8_t)p->memory[i], 0xaa);
}

/* Its read and its write hang in the network: only its own end waits for that, nothing is written
 * later, and the peer gets all of what was written before the end or nothing. */
M0_TEST(m0_153_m0_157_killed_during_a_read_and_a_write)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *out = buffer(B, 8192), *in = buffer(B, 8192);
    struct port_thread *thread;
    struct process p, writer, other;
    sim_time_t begin;
    unsigned i;

    paint(out, 0, 8192, 1);
    assert_int_equal(passive(b, out, M0_NET_QT_PASSIVE_BULK_SEND, 8192), 0);
    assert_int_equal(passive(b, in, M0_NET_QT_PASSIVE_BULK_RECV, 8192), 0);
    wire.hold = true;
    p = begin_transfer(out, 9, M0_NET_QT_ACTIVE_BULK_RECV, M0_LNET_BUF_ACTIVE_RECV);
    writer = begin_transfer(in, 11, M0_NET_QT_ACTIVE_BULK_SEND, M0_LNET_BUF_ACTIVE_SEND);
    other = process_new(A, 8);
    assert_int_equal(process_dom_init(&other), 0);
    assert_int_equal(process_register(&other), 0);
    assert_int_equal(process_tm_start(&other, A, 10), 0);
    killed = false;
    thread = port_thread_start("killer", kill_seven, NULL);
    pass(10 * SIM_S);
    assert_false(killed);

    host(A);
    begin = sim_local_time();
    nlx_dd_close(other.file);
    assert_true(sim_local_time() - begin < SIM_MS);
    process_free_memory(&other);

    wire.hold = false;
    wire_release(100);
    port_thread_join(thread);
    driver_is_unused(A);
    poison(&p);
    poison(&writer);
    pass(10 * SIM_S);
    expect_poison(&p);
    expect_poison(&writer);
    if (count_completions(in) > 0 && completion_of(in, 0)->status == 0)
        for (i = 0; i < 8192; i++)
            assert_int_equal(*at(in, i), 0x77);
    process_free_memory(&p);
    process_free_memory(&writer);
}

/* ---- waits that end early -------------------------------------------------------------------- */

static unsigned interruptions;
static bool interrupt_next;

static int interrupted_open(const char *name, void **handle)
{
    (void)name;
    return nlx_ucore_device_find("sim:")->ud_open("sim:", handle);
}
static void interrupted_close(void *handle)
{
    nlx_ucore_device_find("sim:")->ud_close(handle);
}
/* Every second wait is interrupted before it begins, as by a signal. */
static long interrupted_ioctl(void *handle, unsigned cmd, void *arg)
{
    if (cmd == M0_LNET_BUF_EVENT_WAIT && (interrupt_next = !interrupt_next)) {
        interruptions++;
        pass(SIM_US);
        return -EINTR;
    }
    return nlx_ucore_device_find("sim:")->ud_ioctl(handle, cmd, arg);
}
static struct nlx_ucore_device interrupted = {.ud_prefix = "interrupted:",
                                              .ud_open = interrupted_open,
                                              .ud_close = interrupted_close,
                                              .ud_ioctl = interrupted_ioctl};

M0_TEST(m0_150_interrupted_waits)
{
    struct machine *a, *b;
    struct m0_net_buffer *from, *to;
    unsigned i;

    nlx_ucore_device_add(&interrupted);
    nlx_ucore_dev_name = "interrupted:";
    interruptions = 0;
    a = machine_up(A, 1);
    b = machine_up(B, 2);
    nlx_ucore_dev_name = "sim:";
    from = buffer(A, 4096);
    to = buffer(B, 65536);
    assert_int_equal(receive(b, to, 4096, 100), 0);
    for (i = 0; i < 10; i++) {
        paint(from, 0, 500, i);
        assert_int_equal(send_to(a, from, 500, address(B, 2)), 0);
        wait_completions(2 * i + 2);
        expect_paint(to, completion_of(to, i)->offset, 500, i);
    }
    for (i = 0; i < completion_count; i++)
        assert_int_equal(completions[i].status, 0);
    assert_true(interruptions >= 10);
    assert_int_equal(a->states + b->states, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_132_request_numbers),
        cmocka_unit_test(m0_133_objects_across_a_page),
        cmocka_unit_test(m0_134_foreign_references),
        cmocka_unit_test(m0_140_busy_objects),
        cmocka_unit_test(m0_141_pins_and_maps),
        cmocka_unit_test(m0_149_bounds),
        cmocka_unit_test(m0_4_a_device_that_is_missing_or_forbidden),
        cmocka_unit_test(m0_33_memory_that_cannot_be_written),
        cmocka_unit_test(m0_151_m0_155_close_frees_everything),
        cmocka_unit_test(m0_148_wait_with_events_in_the_ring),
        cmocka_unit_test(m0_152_killed_after_each_verb),
        cmocka_unit_test(m0_156_a_waiter_is_released),
        cmocka_unit_test(m0_153_m0_157_killed_during_a_read_and_a_write),
        cmocka_unit_test(m0_150_interrupted_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
