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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_99_one_host),
        cmocka_unit_test(m0_99_two_hosts),
        cmocka_unit_test(m0_66_an_address_of_the_other_flavour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
