/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The console: INIT to servers, then to clients; START; STATUS at an interval; STOP to clients,
 * then to servers. */
#include "lib/arith.h"
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "nettest/pvt.h"

struct peer { /* of the buffers with the same index */
    const char *address;
    struct m0_net_end_point *ep; /* NULL: not yet */
    uint64_t awaited; /* the command that it has not answered; 0: none */
    bool sending;
    bool made; /* INIT was sent: it gets a STOP */
    int status; /* of its last answer */
    bool finished;
    char test[M0_NETTEST_ADDRESS];
    struct m0_nettest_stats stats;
};

struct console {
    struct m0_nettest_machine machine; /* first */
    const struct m0_nettest_options *options;
    struct peer *peer; /* servers, then clients */
    uint32_t peers, servers;
    struct m0_nettest_buffer *in, *out;
    uint64_t commands; /* so far */
    char text[M0_NETTEST_COMMAND_BYTES]; /* with the lock held */
    char (*tests)[M0_NETTEST_ADDRESS]; /* of the servers */
};

static void take_answer(struct console *console, const struct m0_nettest_buffer *buffer,
                        uint64_t length)
{
    struct m0_nettest_command answer;
    char *text = console->text;
    uint32_t i;

    m0_nettest_get(buffer, text, length);
    if (m0_nettest_decode(&answer, text, length) == 0 && answer.type % 2 == 1)
        for (i = 0; i < console->peers; i++) {
            struct peer *peer = &console->peer[i];

            if (peer->awaited != answer.id || answer.id == 0)
                continue;
            peer->awaited = 0;
            peer->status = (int)answer.status;
            if (answer.type == M0_NETTEST_INIT_DONE)
                memcpy(peer->test, answer.address, sizeof(peer->test));
            if (answer.type == M0_NETTEST_STATUS_DATA || answer.type == M0_NETTEST_STOP_DONE) {
                peer->finished = answer.finished;
                peer->stats = answer.stats;
            }
        }
    m0_nettest_command_fini(&answer);
}

static void console_end(void *owner, struct m0_nettest_buffer *buffer,
                        const struct m0_net_buffer_event *event)
{
    struct console *console = owner;

    if (buffer->nb.nb_qtype == M0_NET_QT_MSG_SEND) {
        struct peer *peer = &console->peer[buffer->index];

        peer->sending = false;
        if (event->nbe_status != 0 && peer->awaited != 0) {
            peer->awaited = 0;
            peer->status = event->nbe_status;
        }
    } else {
        if (event->nbe_status == 0)
            take_answer(console, buffer, event->nbe_length);
        m0_nettest_receive(buffer, M0_NETTEST_COMMAND_BYTES);
    }
    m0_cond_broadcast(&console->machine.changed);
}

static void send(struct console *console, uint32_t index, enum m0_nettest_type type)
{
    bool client = index >= console->servers;
    struct m0_nettest_command command = {
        .type = type,
        .client = client,
        .options = *console->options,
        .peers = client ? console->servers : console->peers - console->servers,
        .addresses = client ? console->tests : NULL,
    };
    struct m0_nettest_buffer *out = &console->out[index];
    struct peer *peer = &console->peer[index];
    char *text = console->text;

    command.id = peer->awaited = ++console->commands;
    m0_nettest_put(out, text, m0_nettest_encode(&command, text));
    out->nb.nb_ep = peer->ep;
    peer->status = m0_nettest_add(out, M0_NET_QT_MSG_SEND, console->options->command_timeout);
    peer->sending = peer->status == 0;
    if (peer->status != 0)
        peer->awaited = 0;
    else if (type == M0_NETTEST_INIT)
        peer->made = true;
}

static bool is_settled(const struct console *console, uint32_t from, uint32_t to)
{
    uint32_t i;

    for (i = from; i < to; i++)
        if (console->peer[i].awaited != 0 || console->peer[i].sending)
            return false;
    return true;
}

/* A command to peers; 0 or the first error. STOP goes to those that have got INIT. */
static int command(struct console *console, enum m0_nettest_type type, uint32_t from, uint32_t to)
{
    m0_time_t until = m0_time_add(m0_time_now(), console->options->command_timeout);
    struct m0_nettest_machine *machine = &console->machine;
    int rc = 0;
    uint32_t i;

    m0_mutex_lock(&machine->lock);
    for (i = from; i < to; i++)
        if (!console->peer[i].sending && (type != M0_NETTEST_STOP || console->peer[i].made))
            send(console, i, type);
    while (!is_settled(console, from, to) && machine->lost == 0 &&
           m0_cond_timedwait(&machine->changed, until)) {
    }
    for (i = from; i < to && rc == 0; i++)
        rc = console->peer[i].awaited != 0 ? -ETIMEDOUT : console->peer[i].status;
    for (i = from; i < to; i++)
        console->peer[i].awaited = 0;
    if (machine->lost != 0)
        rc = machine->lost;
    m0_mutex_unlock(&machine->lock);
    return rc;
}

static bool gather(struct console *console, struct m0_nettest_result *result)
{
    bool finished = true;
    uint32_t i;

    *result = (struct m0_nettest_result){.clients.lost = 0};
    for (i = 0; i < console->peers; i++)
        m0_nettest_stats_merge(i < console->servers ? &result->servers : &result->clients,
                               &console->peer[i].stats);
    for (i = console->servers; i < console->peers; i++)
        finished = finished && console->peer[i].finished;
    return finished;
}

static int watch(struct console *console,
                 void (*live)(const struct m0_nettest_result *result, void *arg), void *arg,
                 struct m0_nettest_result *result)
{
    int rc;

    for (;;) {
        m0_nanosleep(console->options->interval, NULL);
        rc = command(console, M0_NETTEST_STATUS, 0, console->peers);
        if (rc != 0)
            return rc;
        if (gather(console, result))
            return 0;
        if (live != NULL)
            live(result, arg);
    }
}

static int run(struct console *console,
               void (*live)(const struct m0_nettest_result *result, void *arg), void *arg,
               struct m0_nettest_result *result)
{
    uint32_t all = console->peers, servers = console->servers, i;
    int rc = command(console, M0_NETTEST_INIT, 0, servers), stopped;

    for (i = 0; i < servers; i++)
        memcpy(console->tests[i], console->peer[i].test, M0_NETTEST_ADDRESS);
    if (rc == 0)
        rc = command(console, M0_NETTEST_INIT, servers, all);
    if (rc == 0)
        rc = command(console, M0_NETTEST_START, 0, servers);
    if (rc == 0)
        rc = command(console, M0_NETTEST_START, servers, all);
    if (rc == 0)
        rc = watch(console, live, arg, result);
    stopped = command(console, M0_NETTEST_STOP, servers, all);
    if (rc == 0)
        rc = stopped;
    stopped = command(console, M0_NETTEST_STOP, 0, servers);
    if (rc == 0)
        rc = stopped;
    gather(console, result);
    return rc;
}

static int prepare(struct console *console, const struct m0_nettest_places *places)
{
    int rc = 0;
    uint32_t i;

    M0_ALLOC_ARR(console->peer, console->peers);
    M0_ALLOC_ARR(console->tests, console->servers);
    if (console->peer == NULL || console->tests == NULL)
        return -ENOMEM;
    rc = m0_nettest_buffers_make(&console->machine, console->peers, M0_NETTEST_COMMAND_BYTES,
                                 &console->out);
    if (rc == 0)
        rc = m0_nettest_buffers_make(&console->machine, 2 * console->peers,
                                     M0_NETTEST_COMMAND_BYTES, &console->in);
    for (i = 0; rc == 0 && i < console->peers; i++) {
        struct peer *peer = &console->peer[i];

        peer->address =
            i < console->servers ? places->servers[i] : places->clients[i - console->servers];
        rc = m0_net_end_point_create(&peer->ep, &console->machine.tm, peer->address);
    }
    m0_mutex_lock(&console->machine.lock);
    for (i = 0; rc == 0 && i < 2 * console->peers; i++)
        rc = m0_nettest_receive(&console->in[i], M0_NETTEST_COMMAND_BYTES);
    m0_mutex_unlock(&console->machine.lock);
    return rc;
}

static void finish(struct console *console)
{
    uint32_t i;

    m0_nettest_machine_stop(&console->machine);
    m0_nettest_buffers_free(&console->machine, console->peers, console->out);
    m0_nettest_buffers_free(&console->machine, 2 * console->peers, console->in);
    for (i = 0; console->peer != NULL && i < console->peers; i++)
        if (console->peer[i].ep != NULL)
            m0_net_end_point_put(console->peer[i].ep);
    m0_nettest_machine_fini(&console->machine);
    m0_free(console->peer);
    m0_free(console->tests);
}

int m0_nettest_run(const struct m0_net_xprt *xprt, const char *address,
                   const struct m0_nettest_options *options, const struct m0_nettest_places *places,
                   void (*live)(const struct m0_nettest_result *result, void *arg), void *arg,
                   struct m0_nettest_result *result)
{
    struct console *console;
    int rc;

    if (!m0_nettest_options_are_valid(options, places->server_count) || places->client_count == 0)
        return -EINVAL;
    M0_ALLOC_PTR(console);
    if (console == NULL)
        return -ENOMEM;
    console->options = options;
    console->servers = places->server_count;
    console->peers = places->server_count + places->client_count;
    rc = m0_nettest_machine_open(&console->machine, xprt, address, NULL, console_end, console);
    if (rc == 0) {
        rc = prepare(console, places);
        if (rc == 0)
            rc = run(console, live, arg, result);
        finish(console);
    }
    m0_free(console);
    return rc;
}
