/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard-fabricd: runs a fabric without a scenario of its own. The library starts it where no
 * daemon listens. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "shm/server.h"

static const char usage[] =
    "usage: jacquard-fabricd [OPTIONS] SOCKET\n"
    "Runs a fabric for the processes that have JACQUARD_FABRIC=SOCKET in their environment.\n"
    "\n"
    "  --nodes N          emulated nodes, 1 to 1048576 ($JACQUARD_NODES, else 16)\n"
    "  --preset NAME      topology ($JACQUARD_PRESET)\n"
    "  --seed N           of everything random ($JACQUARD_SEED, else 1)\n"
    "  --processes N      most processes at a time, 1 to 4096 ($JACQUARD_PROCESSES, else 256)\n"
    "  --scenario FILE    text that the processes can read\n"
    "  --end-when-empty   end when the last process has left\n"
    "  --linger MS        ... and none has come for so long (200)\n"
    "  --remove-folder    at the end, remove the socket's folder, too\n"
    "  --socket-fd FD     a socket that listens at SOCKET already\n"
    "  --help\n"
    "  --version\n";

#define SCENARIO_MAX (1 << 20)

enum {
    OPTION_NODES = 256,
    OPTION_PRESET,
    OPTION_SEED,
    OPTION_PROCESSES,
    OPTION_SCENARIO,
    OPTION_END,
    OPTION_LINGER,
    OPTION_FOLDER,
    OPTION_FD,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option longs[] = {{"nodes", required_argument, NULL, OPTION_NODES},
                                      {"preset", required_argument, NULL, OPTION_PRESET},
                                      {"seed", required_argument, NULL, OPTION_SEED},
                                      {"processes", required_argument, NULL, OPTION_PROCESSES},
                                      {"scenario", required_argument, NULL, OPTION_SCENARIO},
                                      {"end-when-empty", no_argument, NULL, OPTION_END},
                                      {"linger", required_argument, NULL, OPTION_LINGER},
                                      {"remove-folder", no_argument, NULL, OPTION_FOLDER},
                                      {"socket-fd", required_argument, NULL, OPTION_FD},
                                      {"help", no_argument, NULL, OPTION_HELP},
                                      {"version", no_argument, NULL, OPTION_VERSION},
                                      {NULL, 0, NULL, 0}};

struct daemon {
    struct shm_server_options options;
    struct shm_server *server;
    uv_signal_t signals[2];
    char *scenario;
    char why[SHM_WHY_BYTES];
};

static bool number(struct daemon *daemon, const char *name, const char *text, uint64_t least,
                   uint64_t most, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 0);
    if (text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0 && *value >= least &&
        *value <= most)
        return true;
    snprintf(daemon->why, sizeof(daemon->why), "%s: \"%.60s\" is not a number from %llu to %llu",
             name, text, (unsigned long long)least, (unsigned long long)most);
    return false;
}

static bool preset(struct daemon *daemon, const char *name, const char *text)
{
    if (strlen(text) > 0 && strlen(text) < 64 &&
        strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_") == strlen(text)) {
        daemon->options.preset = text;
        return true;
    }
    snprintf(daemon->why, sizeof(daemon->why), "%s: \"%.60s\" is not the name of a topology", name,
             text);
    return false;
}

static bool scenario(struct daemon *daemon, const char *path)
{
    struct stat is = {.st_mode = S_IFREG};
    FILE *file = NULL;
    size_t room = 0, got;

    /* Reading a device may never end, and opening a pipe may block. */
    if (stat(path, &is) == 0 && (!S_ISREG(is.st_mode) || is.st_size > SCENARIO_MAX)) {
        snprintf(daemon->why, sizeof(daemon->why), "--scenario: %.150s is no file of at most 1 MiB",
                 path);
        return false;
    }
    file = fopen(path, "rbe");
    if (file == NULL) {
        snprintf(daemon->why, sizeof(daemon->why), "--scenario: cannot read %.150s: %s", path,
                 strerror(errno));
        return false;
    }
    do {
        room += 65536;
        daemon->scenario = realloc(daemon->scenario, room);
        if (daemon->scenario == NULL)
            abort();
        got = fread(daemon->scenario + daemon->options.scenario_bytes, 1, 65536, file);
        daemon->options.scenario_bytes += got;
    } while (got == 65536);
    fclose(file);
    daemon->options.scenario = daemon->scenario;
    return true;
}

static bool from_environment(struct daemon *daemon)
{
    const char *text;
    uint64_t value;

    if ((text = getenv("JACQUARD_NODES")) != NULL && *text != 0) {
        if (!number(daemon, "JACQUARD_NODES", text, 1, 1048576, &value))
            return false;
        daemon->options.nodes = (uint32_t)value;
    }
    if ((text = getenv("JACQUARD_PROCESSES")) != NULL && *text != 0) {
        if (!number(daemon, "JACQUARD_PROCESSES", text, 1, SHM_PROCESSES_MAX, &value))
            return false;
        daemon->options.processes_max = (uint32_t)value;
    }
    if ((text = getenv("JACQUARD_SEED")) != NULL && *text != 0 &&
        !number(daemon, "JACQUARD_SEED", text, 0, UINT64_MAX, &daemon->options.seed))
        return false;
    if ((text = getenv("JACQUARD_PRESET")) != NULL && *text != 0)
        return preset(daemon, "JACQUARD_PRESET", text);
    return true;
}

static bool take_option(struct daemon *daemon, int option, const char *text)
{
    struct shm_server_options *options = &daemon->options;
    uint64_t value = 0;
    bool good = true;

    switch (option) {
    case OPTION_NODES:
        good = number(daemon, "--nodes", text, 1, 1048576, &value);
        options->nodes = (uint32_t)value;
        break;
    case OPTION_PRESET:
        return preset(daemon, "--preset", text);
    case OPTION_SEED:
        return number(daemon, "--seed", text, 0, UINT64_MAX, &options->seed);
    case OPTION_PROCESSES:
        good = number(daemon, "--processes", text, 1, SHM_PROCESSES_MAX, &value);
        options->processes_max = (uint32_t)value;
        break;
    case OPTION_SCENARIO:
        return scenario(daemon, text);
    case OPTION_END:
        options->end_when_empty = true;
        break;
    case OPTION_LINGER:
        good = number(daemon, "--linger", text, 1, 3600000, &value);
        options->linger_ms = (uint32_t)value;
        break;
    case OPTION_FOLDER:
        options->remove_folder = true;
        break;
    case OPTION_FD:
        return true; /* socket_of has read it: errors are reported through it */
    default:
        snprintf(daemon->why, sizeof(daemon->why), "unknown or incomplete option; see --help");
        return false;
    }
    return good;
}

/* The process that started this daemon gets errors through the socket only. */
static int socket_of(int argc, char **argv)
{
    int i, socket = -1;

    for (i = 1; i < argc; i++)
        if (strncmp(argv[i], "--socket-fd=", 12) == 0)
            socket = (int)strtol(argv[i] + 12, NULL, 10);
    return socket;
}

static bool take_arguments(struct daemon *daemon, int argc, char **argv)
{
    int option;

    daemon->options.seed = 1;
    if (!from_environment(daemon))
        return false;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (option == OPTION_HELP || option == OPTION_VERSION) {
            fputs(option == OPTION_HELP ? usage : "jacquard-fabricd " JACQUARD_VERSION "\n",
                  stdout);
            if (fflush(stdout) == 0)
                exit(0);
            snprintf(daemon->why, sizeof(daemon->why), "standard output: %s", strerror(errno));
            return false;
        }
        if (!take_option(daemon, option, optarg))
            return false;
    }
    if (optind + 1 != argc) {
        snprintf(daemon->why, sizeof(daemon->why), "%s; see --help",
                 optind == argc ? "the path of the socket is missing" : "one socket only");
        return false;
    }
    daemon->options.path = argv[optind];
    return true;
}

static void ended(void *arg)
{
    struct daemon *daemon = arg;

    uv_close((uv_handle_t *)&daemon->signals[0], NULL);
    uv_close((uv_handle_t *)&daemon->signals[1], NULL);
}

static void stop(uv_signal_t *handle, int number)
{
    struct daemon *daemon = handle->data;

    shm_server_stop(daemon->server);
}

int main(int argc, char **argv)
{
    static const int numbers[2] = {SIGTERM, SIGINT};
    struct daemon daemon = {.options = {.socket = socket_of(argc, argv)}};
    uv_loop_t *loop = uv_default_loop();
    int i;

    daemon.options.events.ended = ended;
    daemon.options.arg = &daemon;
    if (!take_arguments(&daemon, argc, argv) ||
        shm_server_start(loop, &daemon.options, &daemon.server, daemon.why) != 0) {
        fprintf(stderr, "jacquard-fabricd: %s\n", daemon.why);
        if (daemon.options.socket >= 0)
            shm_server_refuse(daemon.options.socket, daemon.why, 500);
        return 1;
    }
    for (i = 0; i < 2; i++) {
        uv_signal_init(loop, &daemon.signals[i]);
        daemon.signals[i].data = &daemon;
        uv_signal_start(&daemon.signals[i], stop, numbers[i]);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
    free(daemon.scenario);
    return 0;
}
