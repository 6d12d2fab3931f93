/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ping_cases.h"

#include <errno.h>

#include "lib/misc.h"
#include "net/buffer_pool.h"
#include "net/bulk_mem.h"
#include "m0/ping.h"

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

enum { LOOPS = 5, BULK = 30000 };

static struct m0_ping_options options(void)
{
    struct m0_ping_options options;

    m0_ping_options_default(&options);
    options.loops = LOOPS;
    options.bulk_size = BULK;
    return options;
}

static bool has(const uint64_t *row, uint64_t adds, uint64_t successes, uint64_t bytes)
{
    return row[M0_PING_ADDS] == adds && row[M0_PING_SUCCESSES] == successes &&
           row[M0_PING_FAILURES] == 0 && row[M0_PING_BYTES] == bytes;
}

int all_queues_work_in_memory(void)
{
    uint64_t client_table[M0_PING_QUEUES][M0_PING_COLUMNS],
        server_table[M0_PING_QUEUES][M0_PING_COLUMNS];
    struct m0_ping_options what = options();
    struct m0_ping *client, *server;
    int error;

    server = m0_ping_server_start(&m0_net_bulk_mem_xprt, "127.0.0.1:1200", &what, &error);
    EXPECT(server != NULL);
    client = m0_ping_client_start(&m0_net_bulk_mem_xprt, "127.0.0.1:1201", &what, &error);
    EXPECT(client != NULL);
    EXPECT(m0_ping_run(client, m0_ping_address(server)) == 0);
    EXPECT(m0_ping_errors(client) == 0 && m0_ping_errors(server) == 0);
    m0_ping_counters(client, client_table);
    /* One message of six bytes is answered, three are sent, each loop. */
    EXPECT(has(client_table[0], LOOPS, LOOPS, LOOPS * 6));
    EXPECT(client_table[1][M0_PING_ADDS] == 3 * LOOPS);
    EXPECT(client_table[1][M0_PING_SUCCESSES] == 3 * LOOPS);
    EXPECT(has(client_table[2], LOOPS, LOOPS, LOOPS * BULK));
    EXPECT(has(client_table[3], LOOPS, LOOPS, LOOPS * BULK));
    EXPECT(client_table[2][M0_PING_MAXIMUM] == BULK);
    m0_ping_stop(client);
    m0_ping_settle(server);
    m0_ping_counters(server, server_table);
    EXPECT(server_table[0][M0_PING_ADDS] == 3 * LOOPS + what.buffers);
    EXPECT(server_table[0][M0_PING_SUCCESSES] == 3 * LOOPS);
    EXPECT(server_table[0][M0_PING_BYTES] == client_table[1][M0_PING_BYTES]);
    EXPECT(has(server_table[1], LOOPS, LOOPS, LOOPS * 6));
    EXPECT(has(server_table[4], LOOPS, LOOPS, LOOPS * BULK));
    EXPECT(has(server_table[5], LOOPS, LOOPS, LOOPS * BULK));
    m0_ping_stop(server);
    return 0;
}

int nobody_answers(void)
{
    struct m0_ping_options what = options();
    struct m0_ping *client;
    int error;

    client = m0_ping_client_start(&m0_net_bulk_mem_xprt, "127.0.0.1:1201", &what, &error);
    EXPECT(client != NULL);
    EXPECT(m0_ping_run(client, "127.0.0.1:1300") == -ENETUNREACH);
    EXPECT(m0_ping_run(client, "127.0.0.1") == -EINVAL);
    EXPECT(m0_ping_errors(client) == 1);
    m0_ping_stop(client);
    return 0;
}

int an_address_is_used_once(void)
{
    struct m0_ping_options what = options();
    struct m0_ping *wrong;
    int error;

    wrong = m0_ping_client_start(&m0_net_bulk_mem_xprt, "300.0.0.1:1", &what, &error);
    EXPECT(wrong == NULL && error == -EINVAL);
    what.segment_size = 1 << 19;
    wrong = m0_ping_client_start(&m0_net_bulk_mem_xprt, "127.0.0.1:1", &what, &error);
    EXPECT(wrong == NULL && error == -EFBIG);
    return 0;
}

/* ---- machines without the tool --------------------------------------------------------------- */

struct rig {
    struct m0_net_transfer_mc tm;
    struct m0_net_domain dom;
    struct m0_clink clink;
    int states, received;
    enum m0_net_tm_state last;
};

static void note_state(const struct m0_net_tm_event *event)
{
    struct rig *rig = container_of(event->nte_tm, struct rig, tm);

    if (event->nte_type == M0_NET_TEV_STATE_CHANGE) {
        rig->states++;
        rig->last = event->nte_next_state;
    }
}

static const struct m0_net_tm_callbacks tm_callbacks = {.ntc_event_cb = note_state};

static int rig_init(struct rig *rig)
{
    *rig = (struct rig){.tm.ntm_callbacks = &tm_callbacks};
    if (m0_net_domain_init(&rig->dom, &m0_net_bulk_mem_xprt) != 0 ||
        m0_net_tm_init(&rig->tm, &rig->dom) != 0)
        return -1;
    m0_clink_init(&rig->clink, NULL);
    m0_clink_add_lock(&rig->tm.ntm_chan, &rig->clink);
    return 0;
}

static void rig_fini(struct rig *rig)
{
    m0_clink_del_lock(&rig->clink);
    m0_clink_fini(&rig->clink);
    m0_net_tm_fini(&rig->tm);
}

static void await(struct rig *rig, enum m0_net_tm_state state)
{
    while (rig->last != state)
        m0_chan_wait(&rig->clink);
}

int a_machine_stops_before_it_starts(void)
{
    struct rig rig;

    EXPECT(rig_init(&rig) == 0);
    EXPECT(m0_net_tm_stop(&rig.tm, false) == 0); /* never started */
    await(&rig, M0_NET_TM_STOPPED);
    EXPECT(rig.states == 1);
    rig_fini(&rig);
    m0_net_domain_fini(&rig.dom);
    EXPECT(rig_init(&rig) == 0);
    EXPECT(m0_net_tm_start(&rig.tm, "127.0.0.1:7") == 0);
    EXPECT(m0_net_tm_stop(&rig.tm, false) == 0); /* perhaps while it starts */
    await(&rig, M0_NET_TM_STOPPED);
    EXPECT(rig.states <= 2);
    rig_fini(&rig);
    m0_net_domain_fini(&rig.dom);
    return 0;
}

static void note_message(const struct m0_net_buffer_event *event)
{
    container_of(event->nbe_buffer->nb_tm, struct rig, tm)->received++;
}

static const struct m0_net_buffer_callbacks callbacks = {.nbc_cb = {note_message}};

static void ignore(struct m0_net_buffer_pool *pool)
{
}

static uint64_t failures(struct rig *rig)
{
    struct m0_net_qstats stats;

    m0_net_tm_stats_get(&rig->tm, M0_NET_QT_MSG_RECV, &stats, false);
    return stats.nqs_num_f_events;
}

/* Eight buffers; what is missing is counted, and filled when there is a buffer again; a stop brings
 * all back without a callback. */
int receive_queues_are_filled_from_a_pool(void)
{
    static const struct m0_net_buffer_pool_ops ops = {m0_net_domain_buffer_pool_not_empty, ignore};
    struct m0_net_buffer_pool pool = {.nbp_ops = &ops};
    struct m0_net_buffer *kept;
    struct rig rig;
    int turn;

    EXPECT(rig_init(&rig) == 0);
    EXPECT(m0_net_buffer_pool_init(&pool, &rig.dom, 2, 2, 4096, 5, 12, false) == 0);
    m0_net_buffer_pool_lock(&pool);
    EXPECT(m0_net_buffer_pool_provision(&pool, 8) == 8);
    kept = m0_net_buffer_pool_get(&pool, 3);
    m0_net_buffer_pool_unlock(&pool);
    EXPECT(kept != NULL && pool.nbp_free == 7);
    EXPECT(m0_net_tm_pool_attach(&rig.tm, &pool, &callbacks, 100, 1, 0) == 0);
    m0_net_tm_colour_set(&rig.tm, 1);
    EXPECT(m0_net_tm_start(&rig.tm, "127.0.0.1:7") == 0);
    await(&rig, M0_NET_TM_STARTED);
    while (pool.nbp_free != 5)
        m0_chan_wait(&rig.clink);
    m0_net_tm_pool_length_set(&rig.tm, 10);
    EXPECT(pool.nbp_free == 0 && m0_atomic64_get(&rig.tm.ntm_recv_queue_deficit) == 3);
    EXPECT(failures(&rig) == 3);
    m0_net_buffer_pool_lock(&pool);
    m0_net_buffer_pool_put(&pool, kept, 1);
    m0_net_buffer_pool_unlock(&pool);
    for (turn = 0; m0_atomic64_get(&rig.tm.ntm_recv_queue_deficit) != 2 && turn < 5000; turn++)
        m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
    EXPECT(m0_atomic64_get(&rig.tm.ntm_recv_queue_deficit) == 2 && failures(&rig) == 3);
    EXPECT(m0_net_tm_stop(&rig.tm, true) == 0);
    await(&rig, M0_NET_TM_STOPPED);
    EXPECT(pool.nbp_free == 8 && rig.received == 0);
    EXPECT(m0_atomic64_get(&rig.tm.ntm_recv_queue_deficit) == 0);
    rig_fini(&rig);
    m0_net_buffer_pool_fini(&pool);
    m0_net_domain_fini(&rig.dom);
    return 0;
}

void ping_end(void)
{
    m0_net_fini();
}
