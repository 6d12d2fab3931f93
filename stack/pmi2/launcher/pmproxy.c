/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pmproxy: runs the processes of one further host, and starts the servers of the hosts below it.
 * pmrun or another pmproxy starts it and sends its settings through its standard input. When the
 * connection to the server above is lost, it kills its processes and ends.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "forward.h"
#include "watchdog.h"
#include "proxy_setup.h"
#include "process.h"
#include "proof.h"

struct pmproxy {
    struct pmrun_proxy_setup setup;
    uv_loop_t loop;
    struct pmrun_io io;
    struct pmrun_agent *agent;
    struct pmrun_tree *tree;
    struct pmrun_channel *above;
    const char *host;
    int status;
};

static void fill_random(void *context, void *bytes, size_t length)
{
    (void)context;
    pmrun_proof_random(bytes, length);
}

static void say(const struct pmproxy *pmproxy, const char *text)
{
    fprintf(stderr, "pmproxy on %s: %s\n", pmproxy->host, text);
}

static void report_lost(struct pmproxy *pmproxy, uint32_t first, uint32_t last)
{
    GVariant *message = g_variant_ref_sink(g_variant_new(PMRUN_LOST_TYPE, first, last));

    pmi2_server_send_up(pmproxy->io.server, PMRUN_MESSAGE_LOST, g_variant_get_data(message),
                        g_variant_get_size(message));
    g_variant_unref(message);
}

static void act(void *owner, const struct pmi2_action *action)
{
    struct pmproxy *pmproxy = owner;

    switch (action->kind) {
    case PMI2_ACTION_MESSAGE:
        if (action->message <= PMRUN_MESSAGE_LOST) /* from below, to the root */
            pmi2_server_send_up(pmproxy->io.server, action->message, action->bytes, action->length);
        else
            pmrun_forward_execute(action->message, action->bytes, action->length, pmproxy->agent);
        break;
    case PMI2_ACTION_TREE_LOST:
        if (pmi2_link_data(action->link) == pmproxy->above) {
            uv_stop(&pmproxy->loop);
            break;
        }
        pmrun_tree_lost(pmproxy->tree, action->node);
        report_lost(pmproxy, action->node, action->last_node);
        break;
    case PMI2_ACTION_LOG:
        break; /* the root prints what matters */
    case PMI2_ACTION_KILL:
        if (*action->text != '\0') {
            char *text = g_strdup_printf("rank %u of job %s aborted by itself: %s", action->rank,
                                         action->job, action->text);

            pmrun_forward_events.warning(pmproxy->io.server, text);
            g_free(text);
        }
        pmrun_agent_handle_action(pmproxy->agent, action);
        break;
    default:
        pmrun_agent_handle_action(pmproxy->agent, action);
    }
}

static void above_gone(void *owner)
{
    struct pmproxy *pmproxy = owner;

    pmproxy->above = NULL;
    uv_stop(&pmproxy->loop);
}

/* All servers below are connected: now this one connects to the server above. */
static void join_above(void *owner)
{
    struct pmproxy *pmproxy = owner;
    int fd = pmrun_proxy_setup_connect(&pmproxy->setup);

    if (fd < 0) {
        char *text = g_strdup_printf("cannot connect to the server above at any of: %s (see "
                                     "pmrun's -iface and -localhost)",
                                     pmproxy->setup.above);

        say(pmproxy, text);
        g_free(text);
        pmproxy->status = 1;
        uv_stop(&pmproxy->loop);
        return;
    }
    pmproxy->above = pmrun_channel_new(&pmproxy->io, above_gone, pmproxy);
    uv_tcp_init(&pmproxy->loop, &pmproxy->above->at.tcp);
    uv_tcp_open(&pmproxy->above->at.tcp, fd);
    pmrun_channel_open(pmproxy->above, pmi2_server_parent(pmproxy->io.server, pmproxy->above));
}

static void below_failed(void *owner, const char *text)
{
    struct pmproxy *pmproxy = owner;

    say(pmproxy, text);
    pmproxy->status = 1;
    uv_stop(&pmproxy->loop);
}

static void explain(void *owner, const char *text)
{
    struct pmproxy *pmproxy = owner;

    if (pmproxy->setup.verbose)
        say(pmproxy, text);
}

static void start_tree(struct pmproxy *pmproxy)
{
    static const struct pmrun_tree_events events = {join_above, below_failed, explain};
    const struct pmrun_proxy_setup *setup = &pmproxy->setup;
    struct pmrun_tree_config config = {
        .io = &pmproxy->io,
        .key = setup->key,
        .hosts = setup->hosts,
        .first = setup->first + 1,
        .last = setup->last,
        .fanout = setup->fanout,
        .max_spawned = setup->max_spawned,
        .launcher = setup->launcher,
        .launcher_exec = setup->launcher_exec,
        .iface = setup->iface,
        .localhost = setup->localhost,
        .verbose = setup->verbose,
    };

    if (config.first == config.last)
        join_above(pmproxy);
    else
        pmproxy->tree = pmrun_tree_new(&config, &events, pmproxy);
}

static void run(struct pmproxy *pmproxy)
{
    const struct pmrun_proxy_setup *setup = &pmproxy->setup;
    uint8_t client_key[PMRUN_TREE_KEY_BYTES];
    struct pmi2_server_config server = {
        .node = setup->first,
        .first = setup->first,
        .last = setup->last,
        .random = fill_random,
        .limits = {.spawned = setup->max_spawned},
        .key = client_key,
    };

    pmrun_tree_client_key(setup->key, client_key);
    uv_loop_init(&pmproxy->loop);
    pmrun_io_init(&pmproxy->io, &pmproxy->loop, pmi2_server_new(&server), act, pmproxy);
    memcpy(pmproxy->io.key, client_key, sizeof(client_key));
    pmproxy->agent = pmrun_agent_new(&pmproxy->io, setup->first, pmproxy->host, -1,
                                     &pmrun_forward_events, pmproxy->io.server);
    start_tree(pmproxy);
    if (pmproxy->status == 0)
        uv_run(&pmproxy->loop, UV_RUN_DEFAULT);
    pmrun_agent_kill(pmproxy->agent);
    pmrun_tree_close(pmproxy->tree);
}

/* A pmproxy forwards no signals: those of a terminal go to pmrun. */
static void ignore_signals(void)
{
    static const int ignored[] = {SIGPIPE, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGTTOU};
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(ignored); i++)
        signal(ignored[i], SIG_IGN);
}

int main(int argc, char **argv)
{
    struct pmproxy pmproxy = {.status = 0};

    pmrun_process_prepare();
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("pmproxy " JACQUARD_VERSION);
        return 0;
    }
    if (argc > 1 || isatty(0)) {
        fputs("pmproxy is started by pmrun; see man pmrun.\n", stderr);
        return 2;
    }
    ignore_signals();
    if (!pmrun_proxy_setup_read(0, &pmproxy.setup)) {
        fputs("pmproxy: the settings from pmrun are incomplete, or pmrun is another version\n",
              stderr);
        return 2;
    }
    pmproxy.host =
        ((const struct pmrun_host *)g_ptr_array_index(pmproxy.setup.hosts, pmproxy.setup.first))
            ->name;
    pmrun_watchdog_start();
    run(&pmproxy);
    return pmproxy.status; /* the watchdog kills what the kernel does not */
}
