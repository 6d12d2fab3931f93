/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watchdog.h"
#include "listener.h"
#include "proxy_setup.h"
#include "process.h"
#include "status.h"

#define CONNECT_MS 120000 /* from the first start to the last connection */

struct below { /* one server */
    struct pmrun_tree *tree;
    uint32_t first, last;
    gboolean connected, lost, running;
    char *how; /* the launcher's name */
    pid_t pid; /* of the launcher, which may end before the server does */
    int pidfd;
    uv_poll_t watch;
    uv_pipe_t input;
    uv_write_t write;
    GByteArray *setup;
};

struct pmrun_tree {
    struct pmrun_tree_config config;
    const struct pmrun_tree_events *events;
    void *owner;
    struct pmrun_listener *listener;
    GPtrArray *below;
    guint connected;
    gboolean ready, failed;
    uv_timer_t timer;
};

static const char *host_name(const struct pmrun_tree *tree, uint32_t node)
{
    return ((const struct pmrun_host *)g_ptr_array_index(tree->config.hosts, node))->name;
}

static void fail(struct pmrun_tree *tree, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct pmrun_tree *tree, const char *format, ...)
{
    va_list arguments;
    char *text;

    if (tree->failed || tree->ready)
        return;
    tree->failed = TRUE;
    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    tree->events->failed(tree->owner, text);
    g_free(text);
}

void pmrun_tree_client_key(const uint8_t *key, uint8_t *client_key)
{
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, key, PMRUN_TREE_KEY_BYTES);
    gsize length = PMRUN_TREE_KEY_BYTES;

    g_hmac_update(hmac, (const guchar *)"clients", 7);
    g_hmac_get_digest(hmac, client_key, &length);
    g_hmac_unref(hmac);
}

/* ---- connections ------------------------------------------------------------------------------
 */

static struct below *find(struct pmrun_tree *tree, uint32_t first)
{
    guint i;

    for (i = 0; i < tree->below->len; i++) {
        struct below *below = g_ptr_array_index(tree->below, i);

        if (below->first == first)
            return below;
    }
    return NULL;
}

static gboolean proven(void *owner, uint32_t first, uint32_t last)
{
    struct below *below = find(owner, first);

    return below != NULL && below->last == last && !below->connected && !below->lost;
}

static void connected(void *owner, uint32_t first)
{
    struct pmrun_tree *tree = owner;
    char *text = g_strdup_printf("node %s is connected", host_name(tree, first));

    tree->events->explain(tree->owner, text);
    g_free(text);
    find(tree, first)->connected = TRUE;
    if (++tree->connected < tree->below->len)
        return;
    tree->ready = TRUE;
    uv_timer_stop(&tree->timer);
    tree->events->ready(tree->owner);
}

static void refused(void *owner, const char *why)
{
    struct pmrun_tree *tree = owner;

    tree->events->explain(tree->owner, why);
}

void pmrun_tree_lost(struct pmrun_tree *tree, uint32_t first)
{
    struct below *below = tree != NULL ? find(tree, first) : NULL;

    if (below != NULL)
        below->lost = TRUE;
}

/* ---- launchers --------------------------------------------------------------------------------
 */

static char *own_program(void)
{
    char *self = g_file_read_link("/proc/self/exe", NULL);
    char *folder = g_path_get_dirname(self != NULL ? self : "pmproxy");
    char *program = g_build_filename(folder, "pmproxy", NULL);

    g_free(folder);
    g_free(self);
    return program;
}

static gboolean is_remote(const struct pmrun_tree_config *config, uint32_t node)
{
    const struct pmrun_host *host = g_ptr_array_index(config->hosts, node);

    return g_strcmp0(config->launcher, "fork") != 0 && !pmrun_host_is_local(host->name);
}

/* The command that runs pmproxy on a host. ssh and rsh give their words to a shell. */
static char **command_for(const struct pmrun_tree_config *config, uint32_t node, char **how)
{
    static const char *const srun_options[] = {"--nodes=1", "--ntasks=1", "--mpi=none",
                                               "--export=ALL", "--overlap"};
    const struct pmrun_host *host = g_ptr_array_index(config->hosts, node);
    const char *launcher = config->launcher, *exec = config->launcher_exec;
    GPtrArray *words = g_ptr_array_new();
    char *program = own_program(), *quoted = g_shell_quote(program), **parts;
    guint i;

    if (launcher == NULL)
        launcher = g_getenv("SLURM_JOB_ID") != NULL ? "slurm" : "ssh";
    if (!is_remote(config, node)) {
        *how = g_strdup("pmproxy");
        g_ptr_array_add(words, g_strdup(program));
    } else if (strcmp(launcher, "ssh") == 0 || strcmp(launcher, "rsh") == 0) {
        *how = g_strdup(launcher);
        g_ptr_array_add(words, g_strdup(exec != NULL ? exec : launcher));
        if (strcmp(launcher, "ssh") == 0)
            g_ptr_array_add(words, g_strdup("-x"));
        if (host->user != NULL) {
            g_ptr_array_add(words, g_strdup("-l"));
            g_ptr_array_add(words, g_strdup(host->user));
        }
        g_ptr_array_add(words, g_strdup(host->name));
        g_ptr_array_add(words, g_strdup(quoted));
    } else if (strcmp(launcher, "slurm") == 0) {
        *how = g_strdup("srun");
        g_ptr_array_add(words, g_strdup(exec != NULL ? exec : "srun"));
        for (i = 0; i < G_N_ELEMENTS(srun_options); i++)
            g_ptr_array_add(words, g_strdup(srun_options[i]));
        g_ptr_array_add(words, g_strdup_printf("--nodelist=%s", host->name));
        g_ptr_array_add(words, g_strdup(program));
    } else { /* any command: COMMAND HOST PMPROXY */
        *how = g_strdup(launcher);
        if (!g_shell_parse_argv(exec != NULL ? exec : launcher, NULL, &parts, NULL))
            parts = g_strsplit(launcher, " ", -1);
        for (i = 0; parts[i] != NULL; i++)
            g_ptr_array_add(words, g_strdup(parts[i]));
        g_strfreev(parts);
        g_ptr_array_add(words, g_strdup(host->name));
        g_ptr_array_add(words, g_strdup(program));
    }
    g_ptr_array_add(words, NULL);
    g_free(program);
    g_free(quoted);
    return (char **)g_ptr_array_free(words, FALSE);
}

static void launcher_ended(uv_poll_t *poll, int status, int events)
{
    struct below *below = poll->data;
    int how = 0;
    char *text;

    (void)status;
    (void)events;
    if (waitpid(below->pid, &how, WNOHANG) <= 0)
        return;
    uv_poll_stop(poll);
    pmrun_watchdog_remove(below->pid);
    below->running = FALSE;
    if (below->connected)
        return;
    text = pmrun_status_text(how);
    fail(below->tree, "node %s: %s ended (%s) before the node's pmproxy had connected",
         host_name(below->tree, below->first), below->how, text);
    g_free(text);
}

static void setup_read(uv_write_t *request, int status)
{
    struct below *below = request->data;

    (void)status; /* the end of the launcher is reported otherwise */
    explicit_bzero(below->setup->data, below->setup->len);
    g_byte_array_set_size(below->setup, 0);
}

static void send_setup(struct below *below, int fd)
{
    struct pmrun_tree *tree = below->tree;
    uv_loop_t *loop = tree->config.io->loop;
    uv_buf_t buffer;

    below->setup = pmrun_proxy_setup_write(&tree->config, below->first, below->last,
                                           pmrun_listener_addresses(tree->listener));
    uv_pipe_init(loop, &below->input, 0);
    uv_pipe_open(&below->input, fd);
    buffer = uv_buf_init((char *)below->setup->data, below->setup->len);
    below->write.data = below;
    uv_write(&below->write, (uv_stream_t *)&below->input, &buffer, 1, setup_read);
    uv_poll_init(loop, &below->watch, below->pidfd);
    below->watch.data = below;
    uv_poll_start(&below->watch, UV_READABLE, launcher_ended);
}

static void launch(struct pmrun_tree *tree, struct below *below)
{
    char **environment = g_get_environ();
    char **argv = command_for(&tree->config, below->first, &below->how), *file;
    struct pmrun_process_start start = {.pmi = -1, .key = -1, .memory_policy = -1};
    struct pmrun_process_start *const starts[] = {&start};
    int ends[2] = {-1, -1}, error = 0;
    char *command = g_strjoinv(" ", argv);
    char *text = g_strdup_printf("starting the server of node %s: %s",
                                 host_name(tree, below->first), command);

    tree->events->explain(tree->owner, text);
    g_free(text);
    g_free(command);
    file = pmrun_process_find(argv[0], NULL, NULL, environment, &error);
    if (file != NULL && pipe2(ends, O_CLOEXEC) == 0) {
        start.file = file;
        start.argv = argv;
        start.environment = environment;
        start.in = ends[0];
        start.out = start.error = 2;
        pmrun_process_start_all(starts, 1);
        below->pid = start.pid;
        error = start.failure;
        below->pidfd = below->pid > 0 ? pmrun_process_descriptor(below->pid) : -1;
    }
    if (below->pidfd >= 0) {
        below->running = TRUE;
        pmrun_watchdog_add(below->pid);
        send_setup(below, ends[1]);
    } else {
        fail(tree, "node %s: cannot run %s: %s", host_name(tree, below->first), argv[0],
             g_strerror(error != 0 ? error : errno));
        if (ends[1] >= 0)
            close(ends[1]);
    }
    if (ends[0] >= 0)
        close(ends[0]);
    g_free(file);
    g_strfreev(argv);
    g_strfreev(environment);
}

static void timed_out(uv_timer_t *timer)
{
    struct pmrun_tree *tree = timer->data;
    guint i;

    for (i = 0; i < tree->below->len; i++) {
        const struct below *below = g_ptr_array_index(tree->below, i);

        if (!below->connected)
            fail(tree, "node %s: its pmproxy did not connect within %d s",
                 host_name(tree, below->first), CONNECT_MS / 1000);
    }
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static void below_free(gpointer data)
{
    struct below *below = data;

    if (below->setup != NULL)
        g_byte_array_unref(below->setup);
    if (below->pidfd >= 0)
        close(below->pidfd);
    g_free(below->how);
    g_free(below);
}

/* As even parts as can be, each a range of nodes. */
static void divide(struct pmrun_tree *tree)
{
    uint32_t nodes = tree->config.last - tree->config.first, at = tree->config.first, i;
    uint32_t parts = MIN(nodes, tree->config.fanout);

    for (i = 0; i < parts; i++) {
        struct below *below = g_new0(struct below, 1);

        below->tree = tree;
        below->first = at;
        below->last = at += nodes / parts + (i < nodes % parts);
        below->pidfd = -1;
        g_ptr_array_add(tree->below, below);
    }
}

struct pmrun_tree *pmrun_tree_new(const struct pmrun_tree_config *config,
                                  const struct pmrun_tree_events *events, void *owner)
{
    struct pmrun_tree *tree = g_new0(struct pmrun_tree, 1);
    struct pmrun_listener_config listener = {
        .io = config->io,
        .key = config->key,
        .iface = config->iface,
        .localhost = config->localhost,
        .proven = proven,
        .connected = connected,
        .refused = refused,
        .owner = tree,
    };
    GError *error = NULL;
    guint i;

    tree->config = *config;
    tree->events = events;
    tree->owner = owner;
    tree->below = g_ptr_array_new_with_free_func(below_free);
    uv_timer_init(config->io->loop, &tree->timer);
    tree->timer.data = tree;
    uv_timer_start(&tree->timer, timed_out, CONNECT_MS, 0);
    divide(tree);
    for (i = 0; i < tree->below->len; i++)
        listener.remote |=
            is_remote(config, ((struct below *)g_ptr_array_index(tree->below, i))->first);
    tree->listener = pmrun_listener_new(&listener, &error);
    if (tree->listener == NULL) {
        fail(tree, "%s", error->message);
        g_error_free(error);
        return tree;
    }
    for (i = 0; i < tree->below->len && !tree->failed; i++)
        launch(tree, g_ptr_array_index(tree->below, i));
    return tree;
}

void pmrun_tree_close(struct pmrun_tree *tree)
{
    guint i;

    if (tree == NULL)
        return;
    pmrun_listener_close(tree->listener);
    uv_close((uv_handle_t *)&tree->timer, NULL);
    for (i = 0; i < tree->below->len; i++) {
        struct below *below = g_ptr_array_index(tree->below, i);

        if (below->pidfd < 0)
            continue;
        if (below->running && !below->connected) /* what is connected ends by itself */
            kill(-below->pid, SIGTERM);
        uv_close((uv_handle_t *)&below->watch, NULL);
        uv_close((uv_handle_t *)&below->input, NULL);
    }
}

void pmrun_tree_free(struct pmrun_tree *tree)
{
    if (tree == NULL)
        return;
    g_ptr_array_unref(tree->below);
    g_free(tree);
}
