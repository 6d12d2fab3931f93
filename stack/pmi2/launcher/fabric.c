/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_FD 3 /* of the program */
#define UP_MS 30000 /* until it is up */
#define DOWN_MS 10000 /* until it has ended */
#define HURRY_MS 150 /* the same after SIGTERM */
#define LINE_MAX_BYTES (1u << 20)

struct pmrun_fabric {
    pid_t pid;
    int socket;
    char *path; /* of the processes' socket, once it is known */
};

/* ---- messages ---------------------------------------------------------------------- */

G_GNUC_PRINTF(2, 3) static void bad(GError **error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (error != NULL)
        *error = g_error_new_valist(G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, format, arguments);
    va_end(arguments);
}

/* Adds a rule that is weaker than all rules of the user. */
static void rule(struct pmrun_options *options, const char *assignment)
{
    struct pmrun_environment_rules *rules = &options->environment;

    if (rules->set == NULL)
        rules->set = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_insert(rules->set, 0, g_strdup(assignment));
}

static gboolean user_has(const char *assignment)
{
    char *name = g_strndup(assignment, strcspn(assignment, "="));
    gboolean has = g_getenv(name) != NULL;

    g_free(name);
    return has;
}

static gboolean node(GPtrArray *hosts, char **words)
{
    guint64 slots;
    struct pmrun_host *host;

    if (words[1] == NULL || words[2] == NULL ||
        !g_ascii_string_to_unsigned(words[2], 10, 1, 1000000, &slots, NULL))
        return FALSE;
    host = g_new0(struct pmrun_host, 1);
    host->name = g_strdup(words[1]);
    host->slots = (uint32_t)slots;
    host->variables = g_strdupv(words + 3);
    g_ptr_array_add(hosts, host);
    return TRUE;
}

gboolean pmrun_fabric_line(struct pmrun_options *options, GPtrArray *hosts, const char *line,
                           GError **error)
{
    gboolean good = FALSE;
    char **words;

    if (*line == '\0') {
        if (hosts->len > 0)
            return TRUE;
        bad(error, "the fabric has no node");
        return FALSE;
    }
    if (g_str_has_prefix(line, "error ")) {
        bad(error, "%s", line + 6);
        return FALSE;
    }
    if (g_str_has_prefix(line, "set ") && strchr(line, '=') > line + 4) {
        rule(options, line + 4);
        return FALSE;
    }
    if (g_str_has_prefix(line, "default ") && strchr(line, '=') > line + 8) {
        if (!user_has(line + 8))
            rule(options, line + 8);
        return FALSE;
    }
    words = g_strsplit(line, " ", -1);
    good = strcmp(words[0], "node") == 0 && node(hosts, words);
    g_strfreev(words);
    if (!good)
        bad(error, "the fabric's program sent \"%s\", which is malformed: is it another version?",
            line);
    return FALSE;
}

static void note_path(struct pmrun_fabric *fabric, const char *line)
{
    static const char start[] = "set JACQUARD_FABRIC=";

    if (fabric->path == NULL && g_str_has_prefix(line, start))
        fabric->path = g_strdup(line + strlen(start));
}

/* What a program that was killed leaves behind: the socket, files whose names begin with the
 * socket's name and a dot, and their folder. */
static void remove_files(const struct pmrun_fabric *fabric)
{
    char *socket, *prefix, *folder, *file;
    const char *name;
    GDir *list;

    if (fabric->path == NULL)
        return;
    socket = g_path_get_basename(fabric->path);
    prefix = g_strconcat(socket, ".", NULL);
    folder = g_path_get_dirname(fabric->path);
    list = g_dir_open(folder, 0, NULL);
    while (list != NULL && (name = g_dir_read_name(list)) != NULL) {
        if (!g_str_has_prefix(name, prefix) && strcmp(name, socket) != 0)
            continue;
        file = g_build_filename(folder, name, NULL);
        unlink(file);
        g_free(file);
    }
    if (list != NULL)
        g_dir_close(list);
    rmdir(folder);
    g_free(folder);
    g_free(prefix);
    g_free(socket);
}

/* Up to the empty line. */
static gboolean listen_to(struct pmrun_fabric *fabric, struct pmrun_options *options,
                          GPtrArray *hosts, GError **error)
{
    gint64 until = g_get_monotonic_time() + UP_MS * G_TIME_SPAN_MILLISECOND;
    GString *said = g_string_new(NULL);
    gboolean up = FALSE;

    while (!up && *error == NULL) {
        gint64 left = (until - g_get_monotonic_time()) / G_TIME_SPAN_MILLISECOND;
        struct pollfd poll_fd = {.fd = fabric->socket, .events = POLLIN};
        char bytes[4096], *end;
        ssize_t got;

        if (left <= 0 || (poll(&poll_fd, 1, (int)left) < 0 && errno != EINTR)) {
            bad(error, "the fabric is not up after %d s", UP_MS / 1000);
            break;
        }
        got = recv(fabric->socket, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (got <= 0 || said->len > LINE_MAX_BYTES) {
            bad(error, "the fabric's program has ended before the fabric was up");
            break;
        }
        g_string_append_len(said, bytes, got);
        while (!up && *error == NULL && (end = memchr(said->str, '\n', said->len)) != NULL) {
            *end = '\0';
            note_path(fabric, said->str);
            up = pmrun_fabric_line(options, hosts, said->str, error);
            g_string_erase(said, 0, end + 1 - said->str);
        }
    }
    g_string_free(said, TRUE);
    return up;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Beside pmrun. */
static char *program_of(GError **error)
{
    char *self = g_file_read_link("/proc/self/exe", NULL),
         *folder = g_path_get_dirname(self != NULL ? self : "."),
         *program = g_build_filename(folder, "sim-run", NULL);

    g_free(self);
    g_free(folder);
    if (g_file_test(program, G_FILE_TEST_IS_EXECUTABLE))
        return program;
    bad(error, "--fabric: there is no %s, which runs fabrics; build or install it", program);
    g_free(program);
    return NULL;
}

/* Where its report goes; -1: *error. */
static int report_to(const char *file, GError **error)
{
    int fd;

    if (file == NULL)
        return fcntl(2, F_DUPFD_CLOEXEC, READY_FD + 1);
    fd = strcmp(file, "none") == 0 ? open("/dev/null", O_WRONLY | O_CLOEXEC)
                                   : open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        bad(error, "--fabric-report %s: %s", file, g_strerror(errno));
    return fd;
}

/* pmrun handles interrupts of the terminal, so that the fabric outlives the ranks. */
static int spawn(struct pmrun_fabric *fabric, char *const *argv, int ready, int report)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    int failure;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, report, 1);
    posix_spawn_file_actions_adddup2(&files, ready, READY_FD);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    failure = posix_spawn(&fabric->pid, argv[0], &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failure;
}

static gboolean start(struct pmrun_fabric *fabric, const struct pmrun_options *options,
                      char *program, GError **error)
{
    int ends[2] = {-1, -1}, report = report_to(options->fabric_report, error), failure;
    char *argv[] = {program,     (char *)"--live",  (char *)"--ready-fd",
                    (char *)"3", options->scenario, NULL};

    if (report < 0)
        return FALSE;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        bad(error, "--fabric: %s", g_strerror(errno));
        close(report);
        return FALSE;
    }
    failure = spawn(fabric, argv, ends[1], report);
    close(ends[1]);
    close(report);
    fabric->socket = ends[0];
    if (failure == 0)
        return TRUE;
    close(ends[0]);
    bad(error, "cannot start %s: %s", program, g_strerror(failure));
    return FALSE;
}

/* How many of the nodes the command line's ranks are on. */
static guint nodes_used(const struct pmrun_options *options, const GPtrArray *hosts)
{
    uint64_t ranks = 0, room = 0;
    guint i;

    for (i = 0; i < options->executables->len; i++) {
        const struct pmrun_executable *own = g_ptr_array_index(options->executables, i);

        if (own->processes == 0)
            return hosts->len;
        ranks += own->processes;
    }
    for (i = 0; i < hosts->len && room < ranks; i++)
        room += options->per_node != 0
                    ? options->per_node
                    : ((const struct pmrun_host *)g_ptr_array_index(hosts, i))->slots;
    return i;
}

struct pmrun_fabric *pmrun_fabric_start(struct pmrun_options *options, GPtrArray **hosts,
                                        GError **error)
{
    struct pmrun_fabric *fabric;
    char *program;
    GError *problem = NULL;

    if (options->hosts != NULL || options->hostfile != NULL || options->launcher != NULL) {
        bad(error,
            "--fabric: its nodes are on this machine; not together with --hosts, --hostfile, "
            "--launcher");
        return NULL;
    }
    program = program_of(error);
    if (program == NULL)
        return NULL;
    fabric = g_new0(struct pmrun_fabric, 1);
    if (!start(fabric, options, program, error)) {
        g_free(program);
        g_free(fabric);
        return NULL;
    }
    g_free(program);
    *hosts = pmrun_hosts_new();
    if (!listen_to(fabric, options, *hosts, &problem)) {
        g_propagate_error(error, problem);
        g_clear_pointer(hosts, g_ptr_array_unref);
        pmrun_fabric_end(fabric, FALSE);
        return NULL;
    }
    g_ptr_array_set_size(*hosts, (gint)nodes_used(options, *hosts));
    if (options->verbose || (options->fabric_report == NULL && isatty(STDERR_FILENO)))
        fprintf(stderr, "pmrun: to watch the fabric: jacquard top %s\n", fabric->path);
    options->launcher = g_strdup("fork"); /* each node has a server of its own, here */
    return fabric;
}

gboolean pmrun_fabric_end(struct pmrun_fabric *fabric, gboolean hurry)
{
    gint64 until = g_get_monotonic_time() + (hurry ? HURRY_MS : DOWN_MS) * G_TIME_SPAN_MILLISECOND;
    int status = 0;
    pid_t ended;

    if (fabric == NULL)
        return TRUE;
    close(fabric->socket);
    while ((ended = waitpid(fabric->pid, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        if (g_get_monotonic_time() > until)
            kill(fabric->pid, SIGKILL);
        g_usleep(1000);
    }
    if (ended > 0 && WIFSIGNALED(status))
        remove_files(fabric);
    g_free(fabric->path);
    g_free(fabric);
    return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
