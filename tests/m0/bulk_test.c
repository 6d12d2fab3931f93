/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bulk transfers: descriptors, sizes, what happens to stale ones. */
#include "rig.h"

#include "net/lnet/lnet_xo.h"

enum { MIB = 1 << 20 };
#define IN M0_NET_QT_PASSIVE_BULK_RECV
#define OUT M0_NET_QT_PASSIVE_BULK_SEND
#define READ M0_NET_QT_ACTIVE_BULK_RECV
#define WRITE M0_NET_QT_ACTIVE_BULK_SEND

static void expect_bytes(const struct m0_net_buf_desc *desc, const char *hex)
{
    char text[97];
    unsigned i;

    assert_int_equal(desc->nbd_len, 48);
    for (i = 0; i < 48; i++)
        snprintf(text + 2 * i, 3, "%02x", desc->nbd_data[i]);
    assert_string_equal(text, hex);
}

/* The vectors of the specification that a machine of this world can have: with its own NID in place
 * of theirs the words of NID and checksum follow. */
M0_TEST(m0_83_m0_84_m0_85_descriptors)
{
    struct machine *lo = machine_up_at(A, "0@lo:12345:42:4095"), *a = machine_up(A, 7);
    struct m0_net_buffer *nb = buffer(A, 16384), *large = buffer(A, MIB);
    uint64_t words[6], counter;

    assert_int_equal(passive(lo, nb, IN, 0), 0);
    expect_bytes(&nb->nb_desc, "010000000000f0ff"
                               "0000000000000900"
                               "393000002a000000"
                               "ff0f000002000000"
                               "0040000000000000"
                               "c77f00002800f9ff");
    for (counter = 1; counter <= 3; counter++) {
        assert_int_equal(passive(a, large, OUT, 1000 * counter), 0);
        memcpy(words, large->nb_desc.nbd_data, 48);
        assert_true(words[0] == (7ull << 52 | counter));
        assert_true(words[1] == tcp(A));
        assert_true(words[2] == (42ull << 32 | 12345));
        assert_true(words[3] == (3ull << 32 | 7));
        assert_true(words[4] == 1000 * counter);
        assert_true(words[5] == (words[0] ^ words[1] ^ words[2] ^ words[3] ^ words[4]));
        host(A);
        assert_true(m0_net_buffer_del(large, &a->tm));
        wait_completions((unsigned)counter);
    }
    host(A);
    assert_true(m0_net_buffer_del(nb, &lo->tm));
    wait_completions(4);
}

/* The first passive operation of a machine with that address and counter. */
static void expect_vector(const char *nid, uint32_t portal, uint32_t tmid, uint64_t counter,
                          enum m0_net_queue_type qtype, size_t bytes, const char *hex)
{
    struct machine *a = machine_up(A, (int)tmid);
    struct nlx_core_transfer_mc *core =
        &((struct nlx_xo_transfer_mc *)a->tm.ntm_xprt_private)->xtm_core;
    const struct nlx_core_ep_addr own = core->ctm_addr;
    struct m0_net_buffer *nb = buffer(A, qtype == IN ? bytes : MIB);

    forget_completions();
    core->ctm_addr = (struct nlx_core_ep_addr){libcfs_str2nid(nid), 12345, portal, tmid};
    core->ctm_mb_counter = counter;
    assert_int_equal(passive(a, nb, qtype, qtype == IN ? 0 : bytes), 0);
    core->ctm_addr = own;
    expect_bytes(&nb->nb_desc, hex);
    host(A);
    assert_true(m0_net_buffer_del(nb, &a->tm));
    wait_completions(1);
}

M0_TEST(m0_83_vectors_of_the_specification)
{
    expect_vector("10.72.49.14@o2ib", 34, 7, 1, OUT, 1048576,
                  "01000000000070000e31480a00000500393000002200000007000000030000000000100000000000"
                  "3101580a21007500");
    expect_vector("0@lo", 42, 4095, 1, IN, 16384,
                  "010000000000f0ff0000000000000900393000002a000000ff0f0000020000000040000000000000"
                  "c77f00002800f9ff");
    expect_vector("192.168.96.128@tcp1", 42, 0, (1ull << 52) - 1, OUT, 1,
                  "ffffffffffff0f008060a8c001000200393000002a00000000000000030000000100000000000000"
                  "47af573fd7ff0d00");
    expect_vector("17@gni", 42, 12, 0x123456789, IN, 4096,
                  "896745230100c0001100000000000d00393000002a0000000c000000020000000010000000000000"
                  "ad4745232900cd00");
}

static void refused(struct machine *machine, struct m0_net_buffer *nb, enum m0_net_queue_type qtype,
                    size_t bytes, const uint64_t *words, unsigned len, int code)
{
    struct m0_net_buf_desc desc = {len, (uint8_t *)(uintptr_t)words};
    unsigned before = completion_count;

    assert_int_equal(active(machine, nb, qtype, bytes, &desc), code);
    assert_int_equal(nb->nb_flags, M0_NET_BUF_REGISTERED);
    pass(SIM_MS);
    assert_int_equal(completion_count, before);
    assert_int_equal(stats(machine, qtype).nqs_num_adds, 0);
}

static void sum(uint64_t *words)
{
    words[5] = words[0] ^ words[1] ^ words[2] ^ words[3] ^ words[4];
}

M0_TEST(m0_86_m0_38_refused_descriptors)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *in = buffer(B, 8192), *out = buffer(B, 8192), *small = buffer(A, 4096),
                         *large = buffer(A, 16384);
    uint64_t read[8] = {0}, write[8] = {0}, wrong[8] = {0};
    unsigned bit;

    assert_int_equal(passive(b, in, IN, 0), 0);
    assert_int_equal(passive(b, out, OUT, 8192), 0);
    memcpy(write, in->nb_desc.nbd_data, 48);
    memcpy(read, out->nb_desc.nbd_data, 48);

    refused(a, small, READ, 0, read, 47, -EINVAL);
    refused(a, small, READ, 0, read, 49, -EINVAL);
    for (bit = 0; bit < 384; bit += 11) {
        memcpy(wrong, read, 48);
        wrong[bit / 64] ^= 1ull << (bit % 64);
        refused(a, large, WRITE, 1, wrong, 48, -EINVAL); /* before the direction */
    }
    refused(a, small, WRITE, 1, read, 48, -EPERM);
    refused(a, small, READ, 0, write, 48, -EPERM);
    refused(a, small, READ, 0, read, 48, -EFBIG);
    refused(a, large, WRITE, 8193, write, 48, -EFBIG);
    memcpy(wrong, read, 48);
    wrong[3] = 5ull << 32 | 2; /* a queue that is not passive */
    sum(wrong);
    refused(a, large, READ, 0, wrong, 48, -EINVAL);
    memcpy(wrong, read, 48);
    wrong[0] &= ~0xfffffffffffffull;
    sum(wrong);
    refused(a, large, READ, 0, wrong, 48, -EINVAL);
    refused(a, small, READ, 0, wrong, 48, -EFBIG); /* the size counts first */
    memcpy(wrong, read, 48);
    wrong[3] ^= 1;
    sum(wrong);
    refused(a, large, READ, 0, wrong, 48, -EINVAL);
}

/* Items 87 and 89: all sizes, in both directions, also with an active buffer that is larger. */
M0_TEST(m0_87_m0_88_m0_89_transfers_of_all_sizes)
{
    static const size_t sizes[] = {1, 4095, 4096, 4097, 300000, MIB - 1, MIB};
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *far = buffer(B, MIB), *near = buffer(A, MIB);
    unsigned i;
    size_t k;

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t bytes = sizes[i];

        paint(far, 0, bytes, i);
        for (k = 0; k < MIB; k++)
            *at(near, k) = 0xaa;
        assert_int_equal(passive(b, far, OUT, bytes), 0);
        assert_int_equal(active(a, near, READ, 0, &far->nb_desc), 0);
        wait_completions(4 * i + 2);
        assert_int_equal(completion_of(far, 2 * i)->status, 0);
        assert_int_equal(completion_of(near, 2 * i)->status, 0);
        assert_int_equal(completion_of(near, 2 * i)->length, bytes);
        assert_int_equal(completion_of(near, 2 * i)->offset, 0);
        expect_paint(near, 0, bytes, i);
        for (k = bytes; k < MIB; k++)
            assert_int_equal(*at(near, k), 0xaa);

        paint(near, 0, bytes, i + 100);
        for (k = 0; k < MIB; k++)
            *at(far, k) = 0xaa;
        assert_int_equal(passive(b, far, IN, 0), 0);
        assert_int_equal(active(a, near, WRITE, bytes, &far->nb_desc), 0);
        wait_completions(4 * i + 4);
        assert_int_equal(completion_of(far, 2 * i + 1)->status, 0);
        assert_int_equal(completion_of(far, 2 * i + 1)->length, bytes);
        expect_paint(far, 0, bytes, i + 100);
        for (k = bytes; k < MIB; k++)
            assert_int_equal(*at(far, k), 0xaa);
    }
}

M0_TEST(m0_89_unaligned_ends)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *far = buffer(B, 8192), nb = {.nb_callbacks = far->nb_callbacks};
    static uint8_t memory[3 * 4096] __attribute__((aligned(4096)));
    m0_bcount_t counts[3] = {96, 4096, 1000};
    void *starts[3] = {memory + 4000, memory + 4096, memory + 8192};
    unsigned i;

    nb.nb_buffer = (struct m0_bufvec){{3, counts}, starts};
    host(A);
    assert_int_equal(m0_net_buffer_register(&nb, domain(A)), 0);
    paint(far, 0, 5192, 3);
    assert_int_equal(passive(b, far, OUT, 5192), 0);
    assert_int_equal(active(a, &nb, READ, 0, &far->nb_desc), 0);
    wait_completions(2);
    assert_int_equal(completion_of(&nb, 0)->length, 5192);
    for (i = 0; i < 5192; i++)
        assert_int_equal(memory[4000 + i], *at(far, i));
    assert_int_equal(memory[3999] | memory[4000 + 5192], 0);
    m0_net_desc_free(&nb.nb_desc);
    host(A);
    m0_net_buffer_deregister(&nb, domain(A));
}

/* Applications add buffers without callbacks to see an error: only an accepted add needs them. */
M0_TEST(m0_38_m0_159_refused_without_callbacks)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *far = buffer(B, 8192), *small = buffer(A, 4096);

    assert_int_equal(passive(b, far, OUT, 8192), 0);
    small->nb_callbacks = NULL;
    refused(a, small, READ, 0, (const uint64_t *)(const void *)far->nb_desc.nbd_data, 48, -EFBIG);
    small->nb_callbacks = far->nb_callbacks;
}

M0_TEST_IN(m0_35_accepted_without_callbacks, .unbalanced = true)
{
    struct machine *a = machine_up(A, 1);
    struct m0_net_buffer *nb = buffer(A, 4096);

    nb->nb_callbacks = NULL;
    VIOLATES(receive(a, nb, 4096, 1));
}

M0_TEST(m0_92_m0_93_stale_descriptors)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *far = buffer(B, 4096), *near = buffer(A, 4096);
    struct m0_net_buf_desc in, out;

    m0_net_lnet_dom_set_timeout_tick(domain(A), M0_TIME_ONE_SECOND);
    machine_free(a);
    a = machine_up(A, 1);
    assert_int_equal(passive(b, far, IN, 0), 0);
    assert_int_equal(m0_net_desc_copy(&far->nb_desc, &in), 0);
    assert_int_equal(active(a, near, WRITE, 10, &in), 0);
    wait_completions(2);
    assert_int_equal(passive(b, far, OUT, 4096), 0);
    assert_int_equal(m0_net_desc_copy(&far->nb_desc, &out), 0);
    assert_int_equal(active(a, near, READ, 0, &out), 0);
    wait_completions(4);

    paint(far, 0, 4096, 9);
    paint(near, 0, 4096, 8);
    assert_int_equal(passive(b, far, IN, 0), 0); /* the buffer is used anew */
    assert_int_equal(active(a, near, WRITE, 10, &in), 0);
    wait_completions(5);
    assert_int_equal(completions[4].status, 0);
    near->nb_timeout = m0_time_from_now(30, 0);
    assert_int_equal(active(a, near, READ, 0, &out), 0);
    pass(29 * SIM_S);
    assert_int_equal(completion_count, 5);
    wait_completions(6);
    assert_int_equal(completions[5].status, -ETIMEDOUT);
    assert_int_equal(active(a, near, READ, 0, &out), 0);
    pass(40 * SIM_S); /* without a timeout it waits until it is cancelled, here or by LNet */
    assert_int_equal(completion_count, 6);
    host(A);
    assert_true(m0_net_buffer_del(near, &a->tm));
    wait_completions(7);
    assert_int_equal(completions[6].status, -ECANCELED);
    assert_int_equal(active(a, near, READ, 0, &out), 0);
    wait_completions(8); /* LNet does not wait for ever for an answer */
    assert_int_equal(completions[7].status, -ETIMEDOUT);
    expect_paint(far, 0, 4096, 9);
    expect_paint(near, 0, 4096, 8);
    m0_net_desc_free(&in);
    m0_net_desc_free(&out);
}

M0_TEST(m0_94_m0_95_a_third_machine_at_once)
{
    struct machine *b = machine_up(B, 2), *c = machine_up(C, 3);
    struct m0_net_buffer *far = buffer(B, 4096), *near = buffer(C, 4096);

    paint(far, 0, 100, 1);
    assert_int_equal(passive(b, far, OUT, 100), 0);
    assert_int_equal(active(c, near, READ, 0, &far->nb_desc), 0);
    wait_completions(2);
    assert_int_equal(completion_of(near, 0)->status, 0);
    expect_paint(near, 0, 100, 1);
}

M0_TEST(m0_96_m0_97_cancelled_passive_buffers)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *far = buffer(B, 4096), *near = buffer(A, 4096);
    uint8_t *data;

    paint(far, 0, 4096, 5);
    assert_int_equal(passive(b, far, IN, 0), 0);
    data = far->nb_desc.nbd_data;
    host(B);
    assert_true(m0_net_buffer_del(far, &b->tm));
    wait_completions(1);
    assert_int_equal(completions[0].status, -ECANCELED);
    assert_ptr_equal(far->nb_desc.nbd_data, data); /* still the application's */
    assert_int_equal(far->nb_desc.nbd_len, 48);
    assert_int_equal(active(a, near, WRITE, 100, &far->nb_desc), 0);
    wait_completions(2);
    assert_int_equal(completions[1].status, 0);
    pass(SIM_S);
    expect_paint(far, 0, 4096, 5);
}

M0_TEST(m0_98_1000_passive_buffers)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *near = buffer(A, 64);
    static struct m0_net_buffer *far[1000];
    unsigned i;

    for (i = 0; i < 1000; i++) {
        far[i] = buffer(B, 64);
        paint(far[i], 0, 64, i);
        assert_int_equal(passive(b, far[i], OUT, 64), 0);
    }
    for (i = 0; i < 1000; i++) {
        unsigned which = i * 387 % 1000;

        assert_int_equal(active(a, near, READ, 0, &far[which]->nb_desc), 0);
        wait_completions(2 * i + 2);
        assert_int_equal(completion_of(far[which], 0)->status, 0);
        expect_paint(near, 0, 64, which);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_83_m0_84_m0_85_descriptors),
        cmocka_unit_test(m0_83_vectors_of_the_specification),
        cmocka_unit_test(m0_86_m0_38_refused_descriptors),
        cmocka_unit_test(m0_38_m0_159_refused_without_callbacks),
        cmocka_unit_test(m0_35_accepted_without_callbacks),
        cmocka_unit_test(m0_87_m0_88_m0_89_transfers_of_all_sizes),
        cmocka_unit_test(m0_89_unaligned_ends),
        cmocka_unit_test(m0_92_m0_93_stale_descriptors),
        cmocka_unit_test(m0_94_m0_95_a_third_machine_at_once),
        cmocka_unit_test(m0_96_m0_97_cancelled_passive_buffers),
        cmocka_unit_test(m0_98_1000_passive_buffers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
