/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "live/live_fabric.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char live_fabric_default[] =
    "name: default\n"
    "fabric: {topology: dragonfly, groups: 1, chassis: 1, slots: 4}\n";

#define FOLDER "jacquard-" /* and six letters, in the folder for temporary files */

struct live_fabric {
    const struct live_fabric_options *options;
    uv_loop_t loop;
    uv_signal_t signals[2];
    uv_poll_t closed;
    struct shm_server *server;
    struct live_fabric_report *report;
    char *folder, *socket; /* folder: ours, to be removed; or NULL */
    bool stopping;
};

int live_fabric_refuse(const struct live_fabric_options *options, char *error)
{
    char *line = g_strdup_printf("error %s\n", error);

    /* The reader of this descriptor shows it to the user. */
    if (options->ready_fd < 0 || write(options->ready_fd, line, strlen(line)) < 0)
        fprintf(stderr, "%s\n", error);
    g_free(line);
    g_free(error);
    return EXIT_BAD_INPUT;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void stop(struct live_fabric *fabric)
{
    if (!fabric->stopping)
        shm_server_stop(fabric->server);
    fabric->stopping = true;
}

static void on_signal(uv_signal_t *signal, int number)
{
    (void)number;
    stop(signal->data);
}

/* The launcher never writes: it has ended, or asks us to end. */
static void on_closed(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    stop(poll->data);
}

static void joined(void *arg, const struct shm_member *member)
{
    const struct live_fabric *fabric = arg;

    live_fabric_report_joined(fabric->report, fabric->server, member);
}

static void left(void *arg, const struct shm_member *member)
{
    const struct live_fabric *fabric = arg;

    live_fabric_report_left(fabric->report, fabric->server, member);
}

static void ended(void *arg)
{
    struct live_fabric *fabric = arg;
    int i;

    for (i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&fabric->signals[i], NULL);
    if (fabric->options->ready_fd >= 0)
        uv_close((uv_handle_t *)&fabric->closed, NULL);
}

static void watch(struct live_fabric *fabric)
{
    static const int numbers[2] = {SIGINT, SIGTERM};
    int i;

    for (i = 0; i < 2; i++) {
        uv_signal_init(&fabric->loop, &fabric->signals[i]);
        fabric->signals[i].data = fabric;
        uv_signal_start(&fabric->signals[i], on_signal, numbers[i]);
    }
    if (fabric->options->ready_fd < 0)
        return;
    uv_poll_init(&fabric->loop, &fabric->closed, fabric->options->ready_fd);
    fabric->closed.data = fabric;
    uv_poll_start(&fabric->closed, UV_READABLE | UV_DISCONNECT, on_closed);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Removes the folders of fabrics that were killed. */
static void remove_dead_fabrics(void)
{
    GDir *folders = g_dir_open(g_get_tmp_dir(), 0, NULL);
    const char *name;

    while (folders != NULL && (name = g_dir_read_name(folders)) != NULL) {
        char *folder, *socket, *link;

        if (!g_str_has_prefix(name, FOLDER) || strlen(name) != strlen(FOLDER) + 6)
            continue;
        folder = g_build_filename(g_get_tmp_dir(), name, NULL);
        socket = g_build_filename(folder, "fabric", NULL);
        link = live_fabric_environment_link(socket);
        if (shm_server_remove_dead(socket)) {
            g_unlink(link);
            g_rmdir(folder);
        }
        g_free(link);
        g_free(socket);
        g_free(folder);
    }
    if (folders != NULL)
        g_dir_close(folders);
}

static bool find_socket(struct live_fabric *fabric, char **error)
{
    GError *failure = NULL;

    if (fabric->options->socket != NULL) {
        fabric->socket = g_canonicalize_filename(fabric->options->socket, NULL);
        return true;
    }
    remove_dead_fabrics();
    fabric->folder = g_dir_make_tmp(FOLDER "XXXXXX", &failure); /* of mode 0700 */
    if (fabric->folder == NULL) {
        *error = g_strdup_printf("sim-run: a folder for the fabric: %s", failure->message);
        g_error_free(failure);
        return false;
    }
    fabric->socket = g_build_filename(fabric->folder, "fabric", NULL);
    return true;
}

static bool start(struct live_fabric *fabric, const struct scenario *scenario, char **error)
{
    size_t plan_bytes;
    char *plan = live_fabric_plan(scenario, &plan_bytes);
    struct shm_server_options options = {
        .path = fabric->socket,
        .socket = -1,
        .nodes = scenario->endpoints,
        .processes_max = SHM_PROCESSES_MAX,
        .seed = scenario->seed,
        .name = scenario->name,
        .preset = scenario_network(scenario, 0)->preset,
        .scenario = plan,
        .scenario_bytes = plan_bytes,
        .events = {.joined = joined, .left = left, .ended = ended},
        .arg = fabric,
    };
    char why[SHM_WHY_BYTES] = "";
    int result = shm_server_start(&fabric->loop, &options, &fabric->server, why);

    g_free(plan);
    if (result == 0)
        return true;
    *error = g_strdup_printf("sim-run: %s", why);
    return false;
}

static bool announce(const struct live_fabric *fabric, const struct scenario *scenario,
                     char **error)
{
    struct cluster_options options = {.seed = scenario->seed};
    struct cluster *cluster = cluster_create(scenario, &options, error);
    int fd = fabric->options->ready_fd >= 0 ? fabric->options->ready_fd : STDOUT_FILENO;
    GString *text;
    gsize done = 0;
    ssize_t written = 0;

    if (cluster == NULL)
        return false;
    text = live_fabric_environment(cluster, fabric->socket, fabric->options->ready_fd >= 0);
    cluster_destroy(cluster);
    while (done < text->len && (written >= 0 || errno == EINTR)) {
        written = write(fd, text->str + done, text->len - done);
        done += written > 0 ? (gsize)written : 0;
    }
    if (done < text->len)
        *error = g_strdup_printf("sim-run: cannot say what processes need: %s", g_strerror(errno));
    g_string_free(text, TRUE);
    return *error == NULL;
}

static bool say_report(const struct live_fabric *fabric, char **error)
{
    GString *text;
    bool written;

    if (fabric->options->quiet)
        return true;
    text = live_fabric_report_text(fabric->report);
    written = fwrite(text->str, 1, text->len, stdout) == text->len && fflush(stdout) == 0;
    if (!written)
        *error = g_strdup_printf("sim-run: standard output: %s", g_strerror(errno));
    g_string_free(text, TRUE);
    return written;
}

/* Whether a live fabric has this fault. It models nothing but the paths through the network. */
static bool happens_live(const struct scenario_fault *fault)
{
    const struct scenario_fault_kind *kind = scenario_fault_kind(fault);

    if (kind->live == NULL)
        return false;
    return kind->place == FAULT_POINT || (kind->live_actions >> fault->action & 1) != 0;
}

/* Refuses what exists in simulation only. */
static bool check(const struct scenario *scenario, char **error)
{
    size_t i;

    if (scenario_network_count(scenario) != 1) {
        *error = scenario_tree_problem(scenario_network(scenario, 1)->at, "networks.1", "%s",
                                       "a live fabric has one network; allowed: one in `networks`");
        return false;
    }
    if (scenario_network(scenario, 0)->topology != TOPOLOGY_DRAGONFLY) {
        *error = scenario_tree_problem(scenario_network(scenario, 0)->at, "fabric.topology", "%s",
                                       "a live fabric has Aries NICs; allowed: dragonfly");
        return false;
    }
    for (i = 0; i < scenario->faults.count; i++) {
        const struct scenario_fault *fault = scenario_fault(scenario, i);

        if (fault->only_numbers != NULL) {
            *error = scenario_tree_problem(
                fault->at, "faults",
                "`only` needs the order of a simulation; allowed in live mode: faults without it");
            return false;
        }
        if (!happens_live(fault)) {
            *error =
                scenario_tree_problem(fault->at, "faults",
                                      "%s: happens in simulation only; allowed on a live fabric: "
                                      "aries.packet, aries.cq, aries.datagram, link (down, up), "
                                      "router, node (crash), cq, memory, error",
                                      fault->where);
            return false;
        }
    }
    return true;
}

bool live_fabric_run(const struct scenario *scenario, const struct live_fabric_options *options,
                     char **error)
{
    struct live_fabric fabric = {.options = options};
    char *link;
    bool ok;

    if (!check(scenario, error))
        return false;
    if (options->ready_fd >= 0 && fcntl(options->ready_fd, F_SETFD, FD_CLOEXEC) != 0) {
        *error = g_strdup_printf("--ready-fd %d: %s", options->ready_fd, g_strerror(errno));
        return false;
    }
    uv_loop_init(&fabric.loop);
    fabric.report = live_fabric_report_new(scenario->endpoints);
    ok = find_socket(&fabric, error) && start(&fabric, scenario, error);
    if (ok) {
        watch(&fabric);
        ok = announce(&fabric, scenario, error);
        if (!ok)
            stop(&fabric);
        uv_run(&fabric.loop, UV_RUN_DEFAULT);
    }
    if (ok)
        ok = say_report(&fabric, error);
    uv_loop_close(&fabric.loop);
    live_fabric_report_free(fabric.report);
    if (ok) {
        link = live_fabric_environment_link(fabric.socket);
        g_unlink(link);
        g_free(link);
    }
    if (fabric.folder != NULL)
        g_rmdir(fabric.folder);
    g_free(fabric.folder);
    g_free(fabric.socket);
    return ok;
}
