/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pools.h"

unsigned not_empty_calls, below_calls;
struct port_thread *below_thread;

static void on_not_empty(struct m0_net_buffer_pool *pool)
{
    assert_true(m0_net_buffer_pool_is_locked(pool));
    not_empty_calls++;
    m0_net_domain_buffer_pool_not_empty(pool);
}
static void on_below_threshold(struct m0_net_buffer_pool *pool)
{
    assert_true(m0_net_buffer_pool_is_locked(pool));
    below_calls++;
    below_thread = port_thread_self();
}
static const struct m0_net_buffer_pool_ops ops = {on_not_empty, on_below_threshold};

void pool_up(struct m0_net_buffer_pool *pool, unsigned node, uint32_t threshold, int buffers,
             uint32_t segments)
{
    memset(pool, 0, sizeof(*pool));
    pool->nbp_ops = &ops;
    host(node);
    assert_int_equal(
        m0_net_buffer_pool_init(pool, domain(node), threshold, segments, 4096, COLOURS, 12, false),
        0);
    not_empty_calls = below_calls = 0;
    m0_net_buffer_pool_lock(pool);
    assert_int_equal(m0_net_buffer_pool_provision(pool, (uint32_t)buffers), buffers);
    assert_true(m0_net_buffer_pool_invariant(pool));
    m0_net_buffer_pool_unlock(pool);
    assert_int_equal(pool->nbp_free, buffers);
}

void pool_down(struct m0_net_buffer_pool *pool, unsigned node)
{
    host(node);
    assert_int_equal(pool->nbp_free, pool->nbp_buf_nr);
    m0_net_buffer_pool_fini(pool);
}

struct m0_net_buffer *take(struct m0_net_buffer_pool *pool, uint32_t colour)
{
    struct m0_net_buffer *nb;

    m0_net_buffer_pool_lock(pool);
    nb = m0_net_buffer_pool_get(pool, colour);
    m0_net_buffer_pool_unlock(pool);
    return nb;
}

void put_back(struct m0_net_buffer_pool *pool, struct m0_net_buffer *nb, uint32_t colour)
{
    m0_net_buffer_pool_lock(pool);
    m0_net_buffer_pool_put(pool, nb, colour);
    m0_net_buffer_pool_unlock(pool);
}

void give_back(const struct m0_net_buffer_event *event)
{
    struct m0_net_buffer *nb = event->nbe_buffer;

    if (nb->nb_pool != NULL && (nb->nb_flags & M0_NET_BUF_QUEUED) == 0)
        put_back(nb->nb_pool, nb, ANY);
}

struct machine *attached(unsigned node, struct m0_net_buffer_pool *pool, unsigned max_msgs)
{
    struct machine *result = machine(node);

    assert_int_equal(m0_net_tm_pool_attach(&result->tm, pool, &rig_callbacks, 1000, max_msgs, 0),
                     0);
    return result;
}

struct machine *pooled(unsigned node, int tmid, struct m0_net_buffer_pool *pool)
{
    struct machine *result = attached(node, pool, 1);

    assert_int_equal(machine_start(result, address(node, tmid)), 0);
    pass(SIM_MS);
    return result;
}

size_t queued(struct machine *machine)
{
    return m0_net_tm_tlist_length(&machine->tm.ntm_q[M0_NET_QT_MSG_RECV]);
}

int64_t deficit(struct machine *machine)
{
    return m0_atomic64_get(&machine->tm.ntm_recv_queue_deficit);
}

uint64_t failures(struct machine *machine)
{
    return stats(machine, M0_NET_QT_MSG_RECV).nqs_num_f_events;
}
