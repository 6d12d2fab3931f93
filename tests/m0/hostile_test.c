/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The driver and a process that writes nonsense into what they share. Items 138 and 139. */
#include "process.h"

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

        assert_int_equal(process_tm_verb(&p, M0_LNET_SQ_SUBMIT), 0);
        m0_atomic64_set(&p.sq->sq_tail, (int64_t)tails[i]);
        assert_int_equal(process_tm_verb(&p, M0_LNET_SQ_SUBMIT), -EBADR);
        m0_atomic64_set(&p.sq->sq_tail, 0);
        assert_int_equal(process_tm_verb(&p, M0_LNET_SQ_SUBMIT), -EBADR); /* it stays so */
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
    assert_int_equal(process_tm_verb(&p, M0_LNET_SQ_SUBMIT), 64);
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
        process_step(p, node, draw(8));
        return;
    }
    for (i = 0; i < 40; i++)
        block[i] = word_for(p, (uintptr_t)process_slot(p, i % SLOTS));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_138_scribbled_objects),
        cmocka_unit_test(m0_139_corrupt_ring_indices),
        cmocka_unit_test(m0_139_entries_without_sense),
        cmocka_unit_test(m0_138_random_verbs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
