/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* pmrun: starts a parallel job and serves its processes PMI. docs/pmrun.md. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "fabric.h"
#include "watchdog.h"
#include "process.h"
#include "proof.h"
#include "tcp.h"
#include "tree.h"

struct pmrun {
    struct pmrun_options options;
    GPtrArray *hosts;
    uv_loop_t loop;
    struct pmrun_io io;
    struct pmrun_control *control;
    struct pmrun_tree *tree;
    struct pmrun_names *names; /* NULL: published names are its own */
    uint8_t key[PMRUN_TREE_KEY_BYTES];
};

static void fill_random(void *context, void *bytes, size_t length)
{
    (void)context;
    pmrun_proof_random(bytes, length);
}

static int refuse(GError *error)
{
    fprintf(stderr, "pmrun: %s\n", error->message);
    g_error_free(error);
    return 2;
}

static GPtrArray *find_hosts(const struct pmrun_options *options, GError **error)
{
    GPtrArray *hosts = NULL;

    if (options->hosts != NULL)
        return pmrun_hosts_parse_list(options->hosts, error);
    if (options->hostfile != NULL)
        return pmrun_hosts_read_file(options->hostfile, error);
    hosts = pmrun_hosts_of_allocation(error);
    return hosts == NULL && *error == NULL ? pmrun_hosts_local() : hosts;
}

static void act(void *owner, const struct pmi2_action *action)
{
    struct pmrun *pmrun = owner;

    if (action->kind == PMI2_ACTION_TREE_LOST)
        pmrun_tree_lost(pmrun->tree, action->node);
    pmrun_control_handle_action(pmrun->control, action);
}

/* ---- further hosts ----------------------------------------------------------------------------
 */

static void hosts_ready(void *owner)
{
    struct pmrun *pmrun = owner;

    if (!pmrun_control_start(pmrun->control))
        pmrun_control_fail(pmrun->control, 255);
}

static void host_failed(void *owner, const char *text)
{
    struct pmrun *pmrun = owner;

    pmrun_control_print(pmrun->control, "%s", text);
    pmrun_control_fail(pmrun->control, 255);
}

static void explain(void *owner, const char *text)
{
    struct pmrun *pmrun = owner;

    pmrun_control_print_verbose(pmrun->control, "%s", text);
}

/* The first host, if that is this machine, is served by pmrun itself. */
static uint32_t own_node(const struct pmrun *pmrun)
{
    const struct pmrun_host *first = g_ptr_array_index(pmrun->hosts, 0);

    if (g_strcmp0(pmrun->options.launcher, "fork") == 0)
        return 0;
    return pmrun_host_is_local(first->name) ? 0 : PMI2_NO_NODE;
}

static void start(struct pmrun *pmrun, uint32_t own)
{
    static const struct pmrun_tree_events events = {hosts_ready, host_failed, explain};
    uint32_t first = own == PMI2_NO_NODE ? 0 : 1;
    struct pmrun_tree_config config = {
        .io = &pmrun->io,
        .key = pmrun->key,
        .hosts = pmrun->hosts,
        .first = first,
        .last = pmrun->hosts->len,
        .fanout = pmrun->options.fanout,
        .launcher = pmrun->options.launcher,
        .launcher_exec = pmrun->options.launcher_exec,
        .iface = pmrun->options.iface,
        .localhost = pmrun->options.localhost,
        .verbose = pmrun->options.verbose,
        .max_spawned = pmrun->options.max_spawned,
    };

    if (first == pmrun->hosts->len)
        hosts_ready(pmrun);
    else
        pmrun->tree = pmrun_tree_new(&config, &events, pmrun);
}

/* A terminal is read by pmrun: its processes are not in the foreground. */
static int own_input(const struct pmrun *pmrun, uint32_t own)
{
    return pmrun->hosts->len == 1 && own == 0 && !isatty(0) ? 0 : -1;
}

static char *folder_of_libraries(void)
{
    char *self = g_file_read_link("/proc/self/exe", NULL), *folder, *found;

    folder = g_path_get_dirname(self != NULL ? self : ".");
    g_free(self);
    found = g_build_filename(folder, "..", "lib", "pmi", NULL); /* of a build */
    if (!g_file_test(found, G_FILE_TEST_IS_DIR)) {
        g_free(found);
        found = g_build_filename(folder, "..", JACQUARD_LIBDIR, "jacquard", "pmi", NULL);
    }
    g_free(folder);
    return found;
}

static void name_server_says(void *owner, const char *text)
{
    struct pmrun *pmrun = owner;

    pmrun_control_print(pmrun->control, "%s", text);
}

static int run(struct pmrun *pmrun, const uint8_t *name_key, gboolean *terminated)
{
    struct pmi2_server_config server = {
        .last = pmrun->hosts->len,
        .root = true,
        .random = fill_random,
        .limits = {.spawned = pmrun->options.max_spawned},
        .name_server = pmrun->options.name_server != NULL,
    };
    struct pmrun_names_config names = {
        .loop = &pmrun->loop,
        .where = pmrun->options.name_server,
        .key = name_key,
        .say = name_server_says,
        .owner = pmrun,
    };
    char *libraries = folder_of_libraries();
    struct pmrun_control_config control = {
        .io = &pmrun->io,
        .options = &pmrun->options,
        .hosts = pmrun->hosts,
        .libraries = libraries,
        .own_node = own_node(pmrun),
    };
    uint8_t client_key[PMRUN_TREE_KEY_BYTES];
    int status;

    pmrun_proof_random(pmrun->key, sizeof(pmrun->key));
    pmrun_tree_client_key(pmrun->key, client_key);
    server.node = control.own_node;
    server.key = client_key;
    control.own_input = own_input(pmrun, control.own_node);
    uv_loop_init(&pmrun->loop);
    pmrun_io_init(&pmrun->io, &pmrun->loop, pmi2_server_new(&server), act, pmrun);
    memcpy(pmrun->io.key, client_key, sizeof(client_key));
    names.server = pmrun->io.server;
    if (names.where != NULL)
        control.names = pmrun->names = pmrun_names_new(&names);
    pmrun->control = pmrun_control_new(&control);
    start(pmrun, control.own_node);
    uv_run(&pmrun->loop, UV_RUN_DEFAULT);
    status = pmrun_control_status(pmrun->control);
    *terminated = pmrun_control_is_terminated(pmrun->control);
    if (pmrun_control_is_abandoned(pmrun->control)) { /* their handles would never close */
        pmrun_control_flush(pmrun->control);
        goto out;
    }
    pmrun_io_drain(&pmrun->io);
    pmrun_control_close(pmrun->control);
    pmrun_tree_close(pmrun->tree);
    pmrun_names_close(pmrun->names);
    pmrun_io_close(&pmrun->io);
    uv_run(&pmrun->loop, UV_RUN_DEFAULT);
    pmrun_control_free(pmrun->control);
    pmrun_tree_free(pmrun->tree);
    pmrun_io_free(&pmrun->io);
    uv_loop_close(&pmrun->loop);
out:
    explicit_bzero(pmrun->key, sizeof(pmrun->key));
    g_free(libraries);
    return status;
}

/* Checks everything that it needs before anything is started. */
static gboolean find_name_server(const struct pmrun_options *options,
                                 uint8_t key[PMRUN_PROOF_BYTES], GError **error)
{
    unsigned port = PMRUN_NAMES_PORT;
    char *host;

    if (options->name_server == NULL)
        return TRUE;
    if (pmrun_tcp_parse(options->name_server, &host, &port)) {
        g_free(host);
        return pmrun_names_key(NULL, FALSE, key, NULL, error);
    }
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "-nameserver %s: a host is needed, or host:port", options->name_server);
    return FALSE;
}

int main(int argc, char **argv)
{
    struct pmrun pmrun = {0};
    struct pmrun_fabric *fabric = NULL;
    GError *error = NULL;
    uint8_t name_key[PMRUN_PROOF_BYTES];
    gboolean terminated = FALSE;
    int status;

    pmrun_process_prepare();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    switch (pmrun_options_parse(argc, argv, &pmrun.options, &error)) {
    case PMRUN_OPTIONS_DONE:
        return 0;
    case PMRUN_OPTIONS_BAD:
        return refuse(error);
    case PMRUN_OPTIONS_RUN:
        break;
    }
    if (!find_name_server(&pmrun.options, name_key, &error)) {
        pmrun_options_clear(&pmrun.options);
        return refuse(error);
    }
    if (pmrun.options.fabric)
        fabric = pmrun_fabric_start(&pmrun.options, &pmrun.hosts, &error);
    else
        pmrun.hosts = find_hosts(&pmrun.options, &error);
    if (pmrun.hosts == NULL) {
        pmrun_options_clear(&pmrun.options);
        return refuse(error);
    }
    pmrun_watchdog_start();
    status = run(&pmrun, name_key, &terminated);
    explicit_bzero(name_key, sizeof(name_key));
    if (!pmrun_fabric_end(fabric, terminated)) {
        fputs("pmrun: the program that ran the fabric has ended badly\n", stderr);
        status = status == 0 ? 255 : status;
    }
    g_ptr_array_unref(pmrun.hosts);
    pmrun_options_clear(&pmrun.options);
    return status;
}
