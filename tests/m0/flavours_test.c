/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Both flavours at once: a process of the user flavour beside a part of the kernel. */
#include "user.h"

enum { BYTES = 20000 };

static struct m0_net_domain kernel_domain;

/* A machine and a buffer in the kernel of a node. */
static struct machine *kernel_machine(unsigned node, int tmid, struct m0_net_buffer **nb)
{
    struct machine *result;

    host(node);
    memset(&kernel_domain, 0, sizeof(kernel_domain));
    assert_int_equal(m0_net_domain_init(&kernel_domain, &m0_net_lnet_kxprt), 0);
    rig_other_domain = &kernel_domain;
    result = machine_up(node, tmid);
    *nb = buffer(node, BYTES);
    rig_other_domain = NULL;
    return result;
}

static void kernel_end(struct machine *machine, struct m0_net_buffer *nb)
{
    unsigned node = machine->node;

    machine_free(machine);
    buffer_free(nb);
    host(node);
    m0_net_domain_fini(&kernel_domain);
}

/* Bulk in both directions, each flavour once passive and once active. */
static void bulk(struct machine *passive_side, struct m0_net_buffer *theirs,
                 struct machine *active_side, struct m0_net_buffer *mine, unsigned seed)
{
    forget_completions();
    paint(mine, 0, BYTES, seed);
    assert_int_equal(passive(passive_side, theirs, M0_NET_QT_PASSIVE_BULK_RECV, 0), 0);
    assert_int_equal(active(active_side, mine, M0_NET_QT_ACTIVE_BULK_SEND, BYTES, &theirs->nb_desc),
                     0);
    wait_completions(2);
    assert_int_equal(completion_of(theirs, 0)->length, BYTES);
    expect_paint(theirs, 0, BYTES, seed);

    paint(theirs, 0, BYTES, seed + 1);
    assert_int_equal(passive(passive_side, theirs, M0_NET_QT_PASSIVE_BULK_SEND, BYTES), 0);
    assert_int_equal(active(active_side, mine, M0_NET_QT_ACTIVE_BULK_RECV, 0, &theirs->nb_desc), 0);
    wait_completions(4);
    assert_int_equal(completion_of(mine, 1)->length, BYTES);
    expect_paint(mine, 0, BYTES, seed + 1);
}

M0_TEST(m0_99_one_host)
{
    struct m0_net_buffer *in_kernel, *own = buffer(A, BYTES);
    struct machine *user = machine_up(A, 1), *kernel = kernel_machine(A, 2, &in_kernel);

    bulk(kernel, in_kernel, user, own, 3);
    bulk(user, own, kernel, in_kernel, 5);
    kernel_end(kernel, in_kernel);
}

M0_TEST(m0_99_two_hosts)
{
    struct m0_net_buffer *in_kernel, *own = buffer(A, BYTES);
    struct machine *user = machine_up(A, 1), *kernel = kernel_machine(B, 1, &in_kernel);

    bulk(kernel, in_kernel, user, own, 7);
    bulk(user, own, kernel, in_kernel, 9);
    kernel_end(kernel, in_kernel);
}

M0_TEST(m0_66_an_address_of_the_other_flavour)
{
    struct m0_net_buffer *in_kernel;
    struct machine *kernel = kernel_machine(A, 2, &in_kernel);

    assert_int_equal(machine_start(machine(A), address(A, 2)), -EADDRINUSE);
    assert_int_equal(machine_start(machine(B), address(B, 2)), 0);
    kernel_end(kernel, in_kernel);
    assert_int_equal(machine_start(machine(A), address(A, 2)), 0);
}

/* ---- E2E-5 ----------------------------------------------------------------------------------- */

enum { MIB = 1 << 20, DESCRIPTOR = 48, SERVER = 1, CLIENT = 2 };

/* The client in the kernel sends the descriptor of its pages; the server in a process gets it. */
static struct m0_net_buf_desc hand_over(struct machine *client, struct m0_net_buffer *note,
                                        struct machine *server, struct m0_net_buffer *letter,
                                        const struct m0_net_buffer *pages)
{
    forget_completions();
    assert_int_equal(receive(server, letter, DESCRIPTOR, 1), 0);
    assert_int_equal(pages->nb_desc.nbd_len, DESCRIPTOR);
    memcpy(at(note, 0), pages->nb_desc.nbd_data, DESCRIPTOR);
    assert_int_equal(send_to(client, note, DESCRIPTOR, address(A, SERVER)), 0);
    wait_completions(2);
    assert_int_equal(completion_of(letter, 0)->length, DESCRIPTOR);
    assert_string_equal(completion_of(letter, 0)->ep, address(client->node, CLIENT));
    return (struct m0_net_buf_desc){DESCRIPTOR, at(letter, 0)};
}

static void kernel_client(unsigned node)
{
    static const size_t lengths[] = {1, 4095, 4096, 4097, MIB};
    struct m0_net_buffer *own = buffer(A, MIB), *letter = buffer(A, 4096), *pages, *note;
    struct machine *server = machine_up(A, SERVER), *client;
    struct m0_net_buf_desc desc;
    unsigned i;

    host(node);
    memset(&kernel_domain, 0, sizeof(kernel_domain));
    assert_int_equal(m0_net_domain_init(&kernel_domain, &m0_net_lnet_kxprt), 0);
    rig_other_domain = &kernel_domain;
    client = machine_up(node, CLIENT);
    pages = buffer(node, MIB);
    note = buffer(node, 4096);
    rig_other_domain = NULL;

    /* "write": the server reads the pages. */
    paint(pages, 0, MIB, 1);
    assert_int_equal(passive(client, pages, M0_NET_QT_PASSIVE_BULK_SEND, MIB), 0);
    desc = hand_over(client, note, server, letter, pages);
    assert_int_equal(active(server, own, M0_NET_QT_ACTIVE_BULK_RECV, MIB, &desc), 0);
    wait_completions(4);
    assert_int_equal(completion_of(own, 0)->length, MIB);
    expect_paint(own, 0, MIB, 1);

    /* "read": the server writes less than there is room for. */
    for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        paint(pages, 0, lengths[i], 2);
        paint(pages, lengths[i], MIB - lengths[i], 3);
        assert_int_equal(passive(client, pages, M0_NET_QT_PASSIVE_BULK_RECV, MIB), 0);
        desc = hand_over(client, note, server, letter, pages);
        paint(own, 0, lengths[i], 4 + i);
        assert_int_equal(active(server, own, M0_NET_QT_ACTIVE_BULK_SEND, lengths[i], &desc), 0);
        wait_completions(4);
        assert_int_equal(completion_of(pages, 0)->status, 0);
        assert_int_equal(completion_of(pages, 0)->length, lengths[i]);
        expect_paint(pages, 0, lengths[i], 4 + i);
        expect_paint(pages, lengths[i], MIB - lengths[i], 3);
    }

    /* Both flavours have one table of addresses on a host. */
    assert_int_equal(machine_start(machine(node), address(node, CLIENT)), -EADDRINUSE);
    buffer_free(pages);
    buffer_free(note);
    machine_free(client);
    host(node);
    m0_net_domain_fini(&kernel_domain);
}

M0_TEST(m0_158_e2e_5_a_client_in_the_kernel)
{
    kernel_client(B);
}

M0_TEST(m0_158_e2e_5_m0_161_both_flavours_on_a_host)
{
    kernel_client(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_99_one_host),
        cmocka_unit_test(m0_99_two_hosts),
        cmocka_unit_test(m0_158_e2e_5_a_client_in_the_kernel),
        cmocka_unit_test(m0_158_e2e_5_m0_161_both_flavours_on_a_host),
        cmocka_unit_test(m0_66_an_address_of_the_other_flavour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
