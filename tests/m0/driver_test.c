/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The driver as a process that is wrong or hostile sees it: verbs without the user core, on memory
 * of the test. Items 132 to 141, 149, 151, 152, 155 and 156.
 */
#include <fcntl.h>
#include <string.h>

#include "lib/memory.h"
#include "net/lnet/linux_kernel/klnet_local.h"
#include "user.h"

enum { SLOTS = 32 };

/* A descriptor with objects that are as they should be. */
struct process {
    struct nlx_dd_file *file;
    struct nlx_core_domain *cd;
    struct nlx_core_transfer_mc *ctm;
    struct nlx_core_buffer *cb;
    char *slots;
    struct nlx_core_sq *sq;
    char *memory; /* of the buffer: two pages */
    void *segments[2];
    m0_bcount_t counts[2];
    uint64_t id;
};

static struct nlx_dd_file *open_as(unsigned node, uint64_t id)
{
    struct nlx_dd_file *file;
    struct nlx_dd_proc proc;

    nlx_dd_local_proc(&proc);
    proc.dp_id = id;
    assert_int_equal(nlx_dd_open(drivers[node], &proc, O_RDWR, &file), 0);
    return file;
}

static struct process process_new(unsigned node, uint64_t id)
{
    struct process p = {.id = id};

    host(node);
    p.file = open_as(node, id);
    p.cd = m0_alloc_aligned(sizeof(*p.cd), 5);
    p.ctm = m0_alloc_aligned(sizeof(*p.ctm), 7);
    p.cb = m0_alloc_aligned(sizeof(*p.cb), 7);
    p.slots = m0_alloc_aligned(4096, 12);
    p.sq = m0_alloc_aligned(8192, 12);
    p.memory = m0_alloc_aligned(8192, 12);
    p.segments[0] = p.memory;
    p.segments[1] = p.memory + 4096;
    p.counts[0] = p.counts[1] = 4096;
    return p;
}

static void process_free_memory(struct process *p)
{
    m0_free_aligned(p->cd, sizeof(*p->cd), 5);
    m0_free_aligned(p->ctm, sizeof(*p->ctm), 7);
    m0_free_aligned(p->cb, sizeof(*p->cb), 7);
    m0_free_aligned(p->slots, 4096, 12);
    m0_free_aligned(p->sq, 8192, 12);
    m0_free_aligned(p->memory, 8192, 12);
}

static struct nlx_core_buffer_event *slot_of(const struct process *p, unsigned i)
{
    return (void *)(p->slots + (size_t)i * 128);
}

static int dom_init(const struct process *p)
{
    struct m0_lnet_dev_dom_init_params params = {.ddi_cd = p->cd};
    int rc = (int)nlx_dd_ioctl(p->file, M0_LNET_DOM_INIT, &params);

    if (rc == 0) {
        assert_int_equal(params.ddi_max_buffer_size, 1 << 20);
        assert_int_equal(params.ddi_max_buffer_segment_size, 4096);
        assert_int_equal(params.ddi_max_buffer_segments, 256);
    }
    return rc;
}

static int tm_start(struct process *p, unsigned node, uint32_t tmid)
{
    struct m0_lnet_dev_tm_start_params params = {.dts_ctm = p->ctm};

    p->ctm->ctm_addr = (struct nlx_core_ep_addr){nid_of(node), 12345, PORTAL_M0, tmid};
    p->ctm->ctm_upvt = p;
    return (int)nlx_dd_ioctl(p->file, M0_LNET_TM_START, &params);
}

static int bless(const struct process *p, unsigned nr)
{
    struct m0_lnet_dev_bev_bless_n_params params = {.dbn_ktm = p->ctm->ctm_kpvt, .dbn_nr = nr};
    unsigned i;

    for (i = 0; i < nr && i < SLOTS; i++) {
        params.dbn_bevs[i] = slot_of(p, i);
        slot_of(p, i)->cbe_tm_link.cbl_p_next_loc.kl_page = NULL;
    }
    return (int)nlx_dd_ioctl(p->file, M0_LNET_BEV_BLESS_N, &params);
}

/* Links the blessed slots to a circle, as the user core does. */
static void link_slots(struct process *p, unsigned nr)
{
    unsigned i;

    for (i = 0; i < nr; i++)
        slot_of(p, i)->cbe_tm_link.cbl_p_next_loc =
            slot_of(p, (i + 1) % nr)->cbe_tm_link.cbl_p_self_loc;
    p->ctm->ctm_bevq.cbcq_nr = nr;
}

static int buf_register(const struct process *p)
{
    struct m0_lnet_dev_buf_register_params params = {
        .dbr_lcbuf = p->cb,
        .dbr_buffer_id = 0x1234,
        .dbr_bvec = {.ov_vec = {2, (m0_bcount_t *)p->counts}, .ov_buf = (void **)p->segments},
    };

    return (int)nlx_dd_ioctl(p->file, M0_LNET_BUF_REGISTER, &params);
}

static int operation(const struct process *p, unsigned cmd)
{
    struct m0_lnet_dev_buf_queue_params params = {p->ctm->ctm_kpvt, p->cb->cb_kpvt};

    return (int)nlx_dd_ioctl(p->file, cmd, &params);
}

static int receive_raw(const struct process *p)
{
    p->cb->cb_qtype = M0_NET_QT_MSG_RECV;
    p->cb->cb_length = 8192;
    p->cb->cb_min_receive_size = 4096;
    p->cb->cb_max_operations = 2;
    return operation(p, M0_LNET_BUF_MSG_RECV);
}

static int sq_setup(const struct process *p)
{
    struct m0_lnet_dev_sq_setup_params params = {p->ctm->ctm_kpvt, p->sq, 64};

    return (int)nlx_dd_ioctl(p->file, M0_LNET_SQ_SETUP, &params);
}

static long on_tm(const struct process *p, unsigned cmd)
{
    struct m0_lnet_dev_tm_params params = {p->ctm->ctm_kpvt};

    return nlx_dd_ioctl(p->file, cmd, &params);
}

static int event_wait(const struct process *p, m0_time_t timeout)
{
    struct m0_lnet_dev_buf_event_wait_params params = {p->ctm->ctm_kpvt, timeout};

    return (int)nlx_dd_ioctl(p->file, M0_LNET_BUF_EVENT_WAIT, &params);
}

static int deregister(const struct process *p)
{
    struct m0_lnet_dev_buf_deregister_params params = {p->cb->cb_kpvt};

    return (int)nlx_dd_ioctl(p->file, M0_LNET_BUF_DEREGISTER, &params);
}

/* The calls of a process that works, in order. */
static int step(struct process *p, unsigned node, unsigned number)
{
    switch (number) {
    case 0:
        return dom_init(p);
    case 1:
        return buf_register(p);
    case 2:
        return tm_start(p, node, 9);
    case 3: {
        int rc = bless(p, SLOTS) == SLOTS ? 0 : -EIO;

        link_slots(p, SLOTS);
        return rc;
    }
    case 4:
        return sq_setup(p);
    case 5:
        return receive_raw(p);
    case 6:
        return event_wait(p, m0_time_from_now(0, 1000)) == -ETIMEDOUT ? 0 : -EIO;
    case 7:
        return operation(p, M0_LNET_BUF_DEL);
    default:
        return 1; /* no more */
    }
}

static struct process process_up(unsigned node, uint64_t id)
{
    struct process p = process_new(node, id);
    unsigned i;

    for (i = 0; i <= 5; i++)
        assert_int_equal(step(&p, node, i), 0);
    return p;
}

static void process_close(struct process *p, unsigned node)
{
    host(node);
    nlx_dd_close(p->file);
    driver_is_unused(node);
    process_free_memory(p);
}

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
    static const unsigned wrong[] = {
        _IOW('c', 0x20, uint64_t), _IOW('c', 0x50, uint64_t),
        _IOW('c', 0x4f, uint64_t), _IOW('c', 0x22, uint64_t),
        _IOW('d', 0x33, uint64_t), _IOW('c', 0x33, struct nlx_core_buffer),
        _IOR('c', 0x34, uint64_t), 0,
    };
    static const int flags[] = {O_RDONLY, O_WRONLY, O_RDWR | O_APPEND};
    struct process p = process_new(A, 7);
    struct nlx_dd_file *file;
    struct nlx_dd_proc proc;
    char block[512] = {0};
    unsigned i;

    for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_int_equal(table[i][0], table[i][1]);
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_TM_STOP, block), -EBADR); /* no domain yet */
    assert_int_equal(dom_init(&p), 0);
    assert_int_equal(dom_init(&p), -EBADR);
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(nlx_dd_ioctl(p.file, wrong[i], block), -ENOTTY);
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
    assert_int_equal(dom_init(q), 0);
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_TM_START, &tm_params), -EBADR);
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BUF_REGISTER, &buf_params), -EBADR);
    assert_int_equal(tm_start(q, A, 9), 0);
    assert_ptr_equal(p.ctm->ctm_upvt, q);
    bev_params.dbb_ktm = p.ctm->ctm_kpvt;
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BEV_BLESS, &bev_params), -EBADR);
    bev_params.dbb_bev = slot_of(q, 0);
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BEV_BLESS, &bev_params), 0);
    assert_int_equal(nlx_dd_ioctl(p.file, M0_LNET_BEV_BLESS, &bev_params), -EBADR); /* twice */
    assert_int_equal(tm_start(q, A, 10), -EBADR);
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
        M0_LNET_BUF_MSG_RECV,     M0_LNET_BUF_MSG_SEND,     M0_LNET_BUF_ACTIVE_RECV,
        M0_LNET_BUF_ACTIVE_SEND,  M0_LNET_BUF_PASSIVE_RECV, M0_LNET_BUF_PASSIVE_SEND,
        M0_LNET_BUF_DEL,
    };
    static const unsigned of_a_machine[] = {
        M0_LNET_BUF_EVENT_WAIT, M0_LNET_TM_STOP, M0_LNET_BEV_BLESS, M0_LNET_BEV_BLESS_N,
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
    block[1] = (uintptr_t)slot_of(p, 0);
    for (i = 0; i < sizeof(of_a_machine) / sizeof(of_a_machine[0]); i++)
        assert_int_equal(nlx_dd_ioctl(p->file, of_a_machine[i], block), -EBADR);
}

M0_TEST(m0_134_foreign_references)
{
    struct process p = process_up(A, 7), other = process_new(A, 8);
    void *stale;
    unsigned i;

    /* The other descriptor's references are other numbers: it has made some in between. */
    assert_int_equal(dom_init(&other), 0);
    for (i = 0; i < 3; i++) {
        assert_int_equal(buf_register(&other), 0);
        stale = other.cb->cb_kpvt;
        assert_int_equal(deregister(&other), 0);
        expect_bad(&other, other.ctm->ctm_kpvt, stale);
    }
    assert_int_equal(buf_register(&other), 0);
    assert_int_equal(tm_start(&other, A, 10), 0);

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

/* ---- hostile memory -------------------------------------------------------------------------- */

static uint64_t noise;
static void scribble(void *memory, size_t bytes)
{
    uint8_t *at = memory;
    size_t i;

    for (i = 0; i < bytes; i++) {
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        at[i] = (uint8_t)(noise >> 56);
    }
}

/* Only the process's own domain is affected: a machine of another one on the host works. */
M0_TEST(m0_138_scribbled_objects)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    unsigned round;

    for (round = 0; round < 50; round++) {
        struct process p = process_up(A, 7);
        struct m0_net_buffer *out = buffer(B, 4096), *in = buffer(A, 4096);

        scribble(p.cd, sizeof(*p.cd));
        scribble(p.ctm, sizeof(*p.ctm));
        scribble(p.cb, sizeof(*p.cb));
        scribble(p.slots, 4096);
        scribble(p.sq, 8192);
        forget_completions();
        assert_int_equal(send_to(b, out, 100, address(A, 9)), 0); /* finds a broken ring */
        wait_completions(1);
        assert_int_equal(receive(a, in, 4096, 1), 0);
        assert_int_equal(send_to(b, out, 100, address(A, 1)), 0);
        wait_completions(3);
        assert_int_equal(completion_of(in, 0)->status, 0);
        host(A);
        nlx_dd_close(p.file);
        process_free_memory(&p);
        buffer_free(in);
        buffer_free(out);
    }
    assert_true(hosts[A].kh_internal_errors > 0); /* rings that were found corrupt */
    hosts[A].kh_internal_errors = 0;
}

M0_TEST(m0_139_corrupt_ring_indices)
{
    static const uint64_t tails[] = {65, 1000, UINT64_MAX, 1ull << 63};
    unsigned i;

    for (i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        struct process p = process_up(A, 7);

        assert_int_equal(on_tm(&p, M0_LNET_SQ_SUBMIT), 0);
        m0_atomic64_set(&p.sq->sq_tail, (int64_t)tails[i]);
        assert_int_equal(on_tm(&p, M0_LNET_SQ_SUBMIT), -EBADR);
        m0_atomic64_set(&p.sq->sq_tail, 0);
        assert_int_equal(on_tm(&p, M0_LNET_SQ_SUBMIT), -EBADR); /* it stays so */
        process_close(&p, A);
    }
    assert_int_equal(hosts[A].kh_internal_errors, 4); /* the ends of the receives: nobody's */
    hosts[A].kh_internal_errors = 0;
}

/* Entries of all kinds of nonsense: each is taken, and refused ones are marked. */
M0_TEST(m0_139_entries_without_sense)
{
    struct process p = process_up(A, 7);
    unsigned i;

    for (i = 0; i < 64; i++) {
        scribble(&p.sq->sq_e[i], sizeof(p.sq->sq_e[i]));
        p.sq->sq_e[i].sq_flags = i % 8 == 7 ? NLX_SQE_SKIP : 0;
        p.sq->sq_e[i].sq_status = 0;
        if (i % 2 == 0)
            p.sq->sq_e[i].sq_op = 0x20 + i % 32;
        if (i % 4 == 0)
            p.sq->sq_e[i].sq_kb = (uintptr_t)p.cb->cb_kpvt; /* busy, with a receive */
    }
    m0_atomic64_set(&p.sq->sq_tail, 64);
    assert_int_equal(on_tm(&p, M0_LNET_SQ_SUBMIT), 64);
    assert_int_equal(m0_atomic64_get(&p.sq->sq_head), 64);
    for (i = 0; i < 64; i++)
        assert_true(i % 8 == 7 ? p.sq->sq_e[i].sq_status == 0 : p.sq->sq_e[i].sq_status < 0);
    assert_int_equal(m0_atomic64_get(&p.ctm->ctm_bevq.cbcq_count), 0); /* the receive goes on */
    process_close(&p, A);
}

static uint32_t draw(uint32_t below)
{
    noise = noise * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((noise >> 32) % below);
}

/* A parameter: what it should be, or something else. */
static uint64_t word_for(const struct process *p, uint64_t right)
{
    switch (draw(8)) {
    case 0:
        return 0;
    case 1:
        return noise;
    case 2:
        return (uintptr_t)p->memory + draw(8192);
    case 3:
        return (uintptr_t)p->slots + draw(4096);
    case 4:
        return (uintptr_t)p->cb->cb_kpvt;
    default:
        return right;
    }
}

/* Any verb with any parameters; those that would wait for ever have a time that is over. */
static void random_verb(struct process *p, unsigned node)
{
    uint64_t block[40];
    unsigned nr = 0x20 + draw(0x30), i;
    long rc;

    if (draw(4) != 0) {
        step(p, node, draw(8));
        return;
    }
    for (i = 0; i < 40; i++)
        block[i] = word_for(p, (uintptr_t)slot_of(p, i % SLOTS));
    block[0] = word_for(p, (uintptr_t)p->ctm->ctm_kpvt);
    block[1] = word_for(p, (uintptr_t)p->cb->cb_kpvt);
    if (nr == _IOC_NR(M0_LNET_BUF_EVENT_WAIT) || nr == _IOC_NR(M0_LNET_SQ_SUBMIT_AND_WAIT))
        block[1] = 1;
    if (nr == _IOC_NR(M0_LNET_NIDSTRS_GET))
        block[1] = (uintptr_t)p->memory; /* it is written to */
    rc = nlx_dd_ioctl(p->file, _IOC(draw(4), 'c', nr, 8 * (1 + draw(34))), block);
    assert_true(rc <= 64);
}

M0_TEST(m0_138_random_verbs)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *out = buffer(B, 4096);
    unsigned round, i;

    noise = 1;
    for (round = 0; round < 3000; round++) {
        struct process p = process_new(A, 7);

        for (i = draw(40); i > 0; i--)
            random_verb(&p, A);
        if (round % 4 == 0) {
            scribble(p.ctm, sizeof(*p.ctm));
            scribble(p.slots, 4096);
        }
        if (round % 8 == 1) {
            forget_completions();
            assert_int_equal(send_to(b, out, 100, address(A, 9)), 0);
            wait_completions(1);
        }
        host(A);
        if (round % 2 == 0)
            nlx_dd_close(p.file);
        else
            nlx_dd_kill(drivers[A], 7);
        driver_is_unused(A);
        process_free_memory(&p);
    }
    hosts[A].kh_internal_errors = 0;
}

/* ---- counts and bounds ----------------------------------------------------------------------- */

M0_TEST(m0_140_busy_objects)
{
    struct process p = process_up(A, 7);
    unsigned i;

    assert_int_equal(deregister(&p), -EBUSY);
    assert_int_equal(on_tm(&p, M0_LNET_TM_STOP), -EBUSY);
    assert_int_equal(operation(&p, M0_LNET_BUF_MSG_RECV), -EBUSY);
    assert_int_equal(operation(&p, M0_LNET_BUF_DEL), 0);
    for (i = 0; i < 1000 && event_wait(&p, 0) != 0; i++)
        pass(SIM_US);
    assert_int_equal(slot_of(&p, 0)->cbe_status, -ECANCELED);
    assert_int_equal(slot_of(&p, 0)->cbe_buffer_id, 0x1234);
    assert_int_equal(operation(&p, M0_LNET_BUF_DEL), -ENOENT);
    assert_int_equal(on_tm(&p, M0_LNET_TM_STOP), 0);
    assert_null(p.ctm->ctm_kpvt);
    assert_int_equal(deregister(&p), 0);
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
    assert_int_equal(dom_init(&q), 0);
    assert_int_equal(tm_start(&q, A, 11), 0);
    ring = (struct m0_lnet_dev_sq_setup_params){q.ctm->ctm_kpvt, q.sq, 128};
    assert_int_equal(nlx_dd_ioctl(q.file, M0_LNET_SQ_SETUP, &ring), -EBADR);
    limits = (struct m0_lnet_dev_limits_params){
        .dlp_max_pinned_pages = 4, .dlp_max_tms = 5, .dlp_max_bevs = 8};
    assert_int_equal(nlx_dd_ioctl(q.file, M0_LNET_LIMITS, &limits), 0);
    assert_int_equal(limits.dlp_max_tms, 1);
    assert_int_equal(limits.dlp_max_bevs, 8);
    assert_int_equal(limits.dlp_max_pinned_pages, 4);
    assert_int_equal(buf_register(&q), -ENOMEM); /* its object and one page: the fourth */
    assert_int_equal(bless(&q, 9), -ENOMEM);
    assert_int_equal(bless(&q, 3), -ENOMEM); /* none of them */
    assert_int_equal(bless(&q, 2), 2);
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
M0_TEST(m0_152_killed_after_each_verb)
{
    struct machine *b = machine_up(B, 2);
    struct m0_net_buffer *out = buffer(B, 4096);
    unsigned last, i;

    for (last = 0; last <= 8; last++) {
        struct process p = process_new(A, 7);

        for (i = 0; i < last; i++)
            assert_int_equal(step(&p, A, i), 0);
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
    waited = event_wait(&waiter, M0_TIME_NEVER);
}

M0_TEST(m0_156_a_waiter_is_released)
{
    struct port_thread *thread;

    waiter = process_up(A, 7);
    thread = port_thread_start("waiter", wait_for_events, NULL);
    pass(SIM_MS);
    assert_int_equal(on_tm(&waiter, M0_LNET_TM_STOP), -EBUSY);
    assert_int_equal(waited, 1);
    process_close(&waiter, A);
    port_thread_join(thread);
    assert_int_equal(waited, -EINTR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_132_request_numbers),
        cmocka_unit_test(m0_133_objects_across_a_page),
        cmocka_unit_test(m0_134_foreign_references),
        cmocka_unit_test(m0_138_scribbled_objects),
        cmocka_unit_test(m0_139_corrupt_ring_indices),
        cmocka_unit_test(m0_139_entries_without_sense),
        cmocka_unit_test(m0_138_random_verbs),
        cmocka_unit_test(m0_140_busy_objects),
        cmocka_unit_test(m0_141_pins_and_maps),
        cmocka_unit_test(m0_149_bounds),
        cmocka_unit_test(m0_151_m0_155_close_frees_everything),
        cmocka_unit_test(m0_152_killed_after_each_verb),
        cmocka_unit_test(m0_156_a_waiter_is_released),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
