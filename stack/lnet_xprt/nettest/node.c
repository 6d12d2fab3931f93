/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A node: a thread that executes the console's commands, one after the other, and ends what takes
 * too long in its test.
 *
 * idle ─ INIT ─▶ test is made ─ START ─▶ runs ─ STOP, or no command for long ─▶ idle
 */
#include "lib/arith.h"
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "nettest/pvt.h"

enum { INS = 8, PEERS_MAX = 1 << 12 };

struct m0_nettest_node {
    struct m0_nettest_machine commands; /* first */
    const struct m0_net_xprt *xprt;
    struct m0_nettest_prepare prepare;
    char test_address[M0_NETTEST_ADDRESS];
    struct m0_thread thread;
    char text[M0_NETTEST_COMMAND_BYTES]; /* of the thread */
    struct m0_nettest_buffer *in, *out;
    struct m0_net_end_point *from[INS]; /* of the message in the buffer */
    uint64_t length[INS];
    uint32_t arrived[INS], arrivals; /* buffers with messages, the oldest first */
    bool answering; /* `out` is queued */
    bool leaving;
    struct m0_nettest_test *test; /* of the thread; NULL: none */
    m0_time_t abandoned; /* when the console is taken for gone */
};

/* ---- tests ----------------------------------------------------------------------------------- */

bool m0_nettest_note(struct m0_nettest_test *test, struct m0_nettest_count *count, int status)
{
    if (status == 0)
        count->total++;
    else
        count->failed++;
    if (status == -ETIMEDOUT)
        test->stats.timed_out++;
    return status == 0;
}

void m0_nettest_finish(struct m0_nettest_test *test)
{
    if (!test->finished)
        test->stats.time_finish = m0_time_now();
    test->finished = true;
}

static void test_end(struct m0_nettest_node *node)
{
    struct m0_nettest_test *test = node->test;

    node->test = NULL;
    if (test == NULL)
        return;
    m0_nettest_machine_stop(&test->machine);
    test->ops->free(test);
    m0_nettest_machine_fini(&test->machine);
    m0_free(test);
}

static const struct m0_nettest_test_ops *ops_of(const struct m0_nettest_command *command)
{
    static const struct m0_nettest_test_ops *const all[2][2] = {
        {&m0_nettest_ping_server, &m0_nettest_ping_client},
        {&m0_nettest_bulk_server, &m0_nettest_bulk_client},
    };

    return all[command->options.kind][command->client];
}

static int test_make(struct m0_nettest_node *node, const struct m0_nettest_command *command)
{
    const struct m0_nettest_test_ops *ops = ops_of(command);
    struct m0_nettest_test *test;
    int rc;

    if (node->test != NULL)
        return -EBUSY;
    if (command->peers == 0 || command->peers > PEERS_MAX ||
        !m0_nettest_options_are_valid(&command->options, command->client ? command->peers : 1))
        return -EINVAL;
    test = m0_alloc(ops->size);
    if (test == NULL)
        return -ENOMEM;
    test->ops = ops;
    test->options = command->options;
    test->peers = command->peers;
    rc = m0_nettest_machine_open(&test->machine, node->xprt, node->test_address, &node->prepare,
                                 ops->end, test);
    if (rc != 0) {
        m0_free(test);
        return rc;
    }
    node->test = test;
    rc = ops->make(test, command->addresses);
    if (rc != 0)
        test_end(node);
    return rc;
}

static int test_start(struct m0_nettest_test *test)
{
    int rc;

    m0_mutex_lock(&test->machine.lock);
    test->running = true;
    test->stats.time_start = test->sampled = m0_time_now();
    rc = test->ops->start(test);
    m0_mutex_unlock(&test->machine.lock);
    return rc;
}

/* Messages per second of the time since the last sample. */
static void sample(struct m0_nettest_test *test, m0_time_t now)
{
    struct m0_nettest_stats *stats = &test->stats;
    m0_time_t time = m0_time_sub(now, test->sampled);

    m0_nettest_moments_add(&stats->mps_sent,
                           (stats->sent.total - test->sampled_sent) * M0_TIME_ONE_SECOND / time);
    m0_nettest_moments_add(&stats->mps_received, (stats->received.total - test->sampled_received) *
                                                     M0_TIME_ONE_SECOND / time);
    test->sampled = now;
    test->sampled_sent = stats->sent.total;
    test->sampled_received = stats->received.total;
}

/* What time asks for; when to come again. */
static m0_time_t test_tick(struct m0_nettest_test *test, m0_time_t now)
{
    m0_time_t next = M0_TIME_NEVER;

    m0_mutex_lock(&test->machine.lock);
    if (test->running && !test->finished) {
        if (now >= m0_time_add(test->sampled, M0_TIME_ONE_SECOND))
            sample(test, now);
        next = m0_time_add(test->sampled, M0_TIME_ONE_SECOND);
        if (test->ops->expire != NULL)
            next = min_check(next, test->ops->expire(test, now));
    }
    m0_mutex_unlock(&test->machine.lock);
    return next;
}

static void test_report(struct m0_nettest_test *test, struct m0_nettest_command *answer)
{
    m0_mutex_lock(&test->machine.lock);
    answer->finished = test->finished;
    answer->stats = test->stats;
    if (test->running && !test->finished)
        answer->stats.time_finish = m0_time_now();
    m0_mutex_unlock(&test->machine.lock);
}

/* ---- commands -------------------------------------------------------------------------------- */

static void execute(struct m0_nettest_node *node, const struct m0_nettest_command *command,
                    struct m0_nettest_command *answer)
{
    struct m0_nettest_test *test = node->test;

    *answer = (struct m0_nettest_command){.type = command->type + 1, .id = command->id};
    switch ((enum m0_nettest_type)command->type) {
    case M0_NETTEST_INIT:
        answer->status = test_make(node, command);
        if (answer->status == 0)
            strncpy(answer->address, node->test->machine.tm.ntm_ep->nep_addr,
                    M0_NETTEST_ADDRESS - 1);
        break;
    case M0_NETTEST_START:
        answer->status = test == NULL ? -ENOENT : test->running ? -EALREADY : test_start(test);
        break;
    case M0_NETTEST_STATUS:
    case M0_NETTEST_STOP:
        answer->status = test == NULL ? -ENOENT : test->machine.lost;
        if (test != NULL)
            test_report(test, answer);
        if (command->type == M0_NETTEST_STOP)
            test_end(node);
        break;
    default:
        answer->status = -EBADMSG;
        break;
    }
    if (node->test != NULL)
        node->abandoned = m0_time_add(m0_time_now(), 3 * node->test->options.command_timeout);
}

/* The lock is held; it is released meanwhile. */
static void handle(struct m0_nettest_node *node, uint32_t index)
{
    struct m0_nettest_command command, answer;
    char *text = node->text;
    struct m0_mutex *lock = &node->commands.lock;
    size_t bytes = 0;

    m0_mutex_unlock(lock);
    m0_nettest_get(&node->in[index], text, node->length[index]);
    if (m0_nettest_decode(&command, text, node->length[index]) == 0 && command.type % 2 == 0) {
        execute(node, &command, &answer);
        bytes = m0_nettest_encode(&answer, text);
    }
    m0_nettest_command_fini(&command);
    m0_mutex_lock(lock);
    while (node->answering && node->commands.lost == 0)
        m0_cond_wait(&node->commands.changed);
    if (bytes > 0) {
        m0_nettest_put(node->out, text, bytes);
        node->out->nb.nb_ep = node->from[index];
        node->answering =
            m0_nettest_add(node->out, M0_NET_QT_MSG_SEND, 10ull * M0_TIME_ONE_SECOND) == 0;
    }
    m0_net_end_point_put(node->from[index]);
    m0_nettest_receive(&node->in[index], M0_NETTEST_COMMAND_BYTES);
}

static void node_end(void *owner, struct m0_nettest_buffer *buffer,
                     const struct m0_net_buffer_event *event)
{
    struct m0_nettest_node *node = owner;

    if (buffer->nb.nb_qtype == M0_NET_QT_MSG_SEND) {
        node->answering = false;
    } else if (event->nbe_status != 0) {
        m0_nettest_receive(buffer, M0_NETTEST_COMMAND_BYTES);
        return;
    } else {
        m0_net_end_point_get(event->nbe_ep);
        node->from[buffer->index] = event->nbe_ep;
        node->length[buffer->index] = event->nbe_length;
        node->arrived[node->arrivals++] = buffer->index;
    }
    m0_cond_broadcast(&node->commands.changed);
}

static m0_time_t tick(struct m0_nettest_node *node)
{
    m0_time_t now = m0_time_now(), next = M0_TIME_NEVER;

    if (node->test != NULL && node->abandoned <= now)
        test_end(node);
    if (node->test != NULL)
        next = min_check(node->abandoned, test_tick(node->test, now));
    return next;
}

static void node_main(struct m0_nettest_node *node)
{
    struct m0_mutex *lock = &node->commands.lock;
    m0_time_t next;
    uint32_t index;

    m0_mutex_lock(lock);
    while (!node->leaving) {
        if (node->arrivals > 0) {
            index = node->arrived[0];
            node->arrivals--;
            memmove(node->arrived, node->arrived + 1, node->arrivals * sizeof(*node->arrived));
            handle(node, index);
        }
        m0_mutex_unlock(lock);
        next = tick(node);
        m0_mutex_lock(lock);
        if (node->arrivals == 0 && !node->leaving)
            m0_cond_timedwait(&node->commands.changed, next);
    }
    while (node->arrivals > 0)
        m0_net_end_point_put(node->from[node->arrived[--node->arrivals]]);
    m0_mutex_unlock(lock);
    test_end(node);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void node_free(struct m0_nettest_node *node)
{
    m0_nettest_machine_stop(&node->commands);
    m0_nettest_buffers_free(&node->commands, INS, node->in);
    m0_nettest_buffers_free(&node->commands, 1, node->out);
    m0_nettest_machine_fini(&node->commands);
    m0_free(node);
}

static int node_begin(struct m0_nettest_node *node)
{
    int rc = m0_nettest_buffers_make(&node->commands, INS, M0_NETTEST_COMMAND_BYTES, &node->in);
    uint32_t i;

    if (rc == 0)
        rc = m0_nettest_buffers_make(&node->commands, 1, M0_NETTEST_COMMAND_BYTES, &node->out);
    m0_mutex_lock(&node->commands.lock);
    for (i = 0; rc == 0 && i < INS; i++)
        rc = m0_nettest_receive(&node->in[i], M0_NETTEST_COMMAND_BYTES);
    m0_mutex_unlock(&node->commands.lock);
    if (rc == 0)
        rc = M0_THREAD_INIT(&node->thread, struct m0_nettest_node *, NULL, node_main, node,
                            "nettest");
    return rc;
}

struct m0_nettest_node *m0_nettest_node_start(const struct m0_net_xprt *xprt, const char *address,
                                              const char *test_address,
                                              void (*prepare)(struct m0_net_domain *dom, void *arg),
                                              void *arg, int *error)
{
    struct m0_nettest_node *node;

    *error = strlen(test_address) < M0_NETTEST_ADDRESS ? -ENOMEM : -ENAMETOOLONG;
    if (*error == -ENAMETOOLONG)
        return NULL;
    M0_ALLOC_PTR(node);
    if (node == NULL)
        return NULL;
    node->xprt = xprt;
    node->prepare = (struct m0_nettest_prepare){prepare, arg};
    memcpy(node->test_address, test_address, strlen(test_address) + 1);
    *error =
        m0_nettest_machine_open(&node->commands, xprt, address, &node->prepare, node_end, node);
    if (*error != 0) {
        m0_free(node);
        return NULL;
    }
    *error = node_begin(node);
    if (*error == 0)
        return node;
    node_free(node);
    return NULL;
}

const char *m0_nettest_node_address(const struct m0_nettest_node *node)
{
    return node->commands.tm.ntm_ep->nep_addr;
}

int m0_nettest_node_lost(struct m0_nettest_node *node)
{
    int rc;

    m0_mutex_lock(&node->commands.lock);
    rc = node->commands.lost;
    m0_mutex_unlock(&node->commands.lock);
    return rc;
}

void m0_nettest_node_stop(struct m0_nettest_node *node)
{
    m0_mutex_lock(&node->commands.lock);
    node->leaving = true;
    m0_cond_broadcast(&node->commands.changed);
    m0_mutex_unlock(&node->commands.lock);
    m0_thread_join(&node->thread);
    m0_thread_fini(&node->thread);
    node_free(node);
}
