/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * m0_net compiled with M0_NET_PROV_INLINE and M0_NET_POOL_RETURN_BY_CB, for applications that
 * expect receive queues to be filled by whoever returns a buffer, and a callback for each buffer at
 * a stop; and with M0_CHECKING, for checks that take time.
 */
#include "rig.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/buffer_pool.h"

#define ANY ((uint32_t)M0_BUFFER_ANY_COLOUR)

static void nothing(struct m0_net_buffer_pool *pool)
{
    (void)pool;
}

static void give_back(const struct m0_net_buffer_event *event)
{
    struct m0_net_buffer *nb = event->nbe_buffer;

    m0_net_buffer_pool_lock(nb->nb_pool);
    m0_net_buffer_pool_put(nb->nb_pool, nb, ANY);
    m0_net_buffer_pool_unlock(nb->nb_pool);
}

M0_TEST(m0_159_provisioning_as_older_applications_expect_it)
{
    static const struct m0_net_buffer_pool_ops ops = {m0_net_domain_buffer_pool_not_empty, nothing};
    struct m0_net_buffer_pool pool = {.nbp_ops = &ops};
    struct machine *a = machine(A);
    struct m0_net_buffer *kept;
    unsigned i;

    assert_int_equal(m0_net_buffer_pool_init(&pool, domain(A), 1, 1, 4096, 0, 12, false), 0);
    m0_net_buffer_pool_lock(&pool);
    assert_int_equal(m0_net_buffer_pool_provision(&pool, 4), 4);
    kept = m0_net_buffer_pool_get(&pool, ANY);
    m0_net_buffer_pool_unlock(&pool);
    assert_int_equal(m0_net_tm_pool_attach(&a->tm, &pool, &rig_callbacks, 1000, 1, 4), 0);
    assert_int_equal(machine_start(a, address(A, 1)), 0);
    pass(SIM_MS);
    assert_int_equal(m0_atomic64_get(&a->tm.ntm_recv_queue_deficit), 1);

    m0_net_buffer_pool_lock(&pool);
    m0_net_buffer_pool_put(&pool, kept, ANY);
    assert_int_equal(m0_atomic64_get(&a->tm.ntm_recv_queue_deficit), 0); /* at once */
    assert_int_equal(pool.nbp_free, 0);
    m0_net_buffer_pool_unlock(&pool);

    on_completion = give_back;
    machine_stop(a, true);
    assert_int_equal(completion_count, 4);
    for (i = 0; i < 4; i++)
        assert_int_equal(completions[i].status, -ECANCELED);
    assert_int_equal(pool.nbp_free, 4);
    machine_free(a);
    m0_net_buffer_pool_fini(&pool);
}

static void deregister(const struct m0_net_buffer_event *event)
{
    m0_net_buffer_deregister(event->nbe_buffer, event->nbe_buffer->nb_dom);
}

static void deregisters_in_a_callback(void)
{
    struct machine *a = machine_up(A, 1), *b = machine_up(B, 2);
    struct m0_net_buffer *nb = buffer(A, 4096);

    assert_int_equal(receive(a, nb, 4096, 1), 0);
    on_completion = deregister;
    assert_int_equal(send_to(b, buffer(B, 4096), 100, address(A, 1)), 0);
    pass(SIM_S);
}

/* The process ends, with the clause. */
static void m0_34_deregistering_in_a_callback(void **state)
{
    char text[1024] = "";
    int ends[2], status;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        rig_run(deregisters_in_a_callback, &(struct world){.nodes = 3, .unbalanced = true});
        _exit(0);
    }
    close(ends[1]);
    assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "precondition of m0_net_buffer_deregister"));
    assert_non_null(strstr(text, "is_in_callback"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m0_159_provisioning_as_older_applications_expect_it),
        cmocka_unit_test(m0_34_deregistering_in_a_callback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
