/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard: the command that shows live fabrics. docs/live.md. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "top.h"

static const char usage[] = "usage: jacquard top [OPTIONS] [SOCKET]\n"
                            "       jacquard scenario [SOCKET]\n"
                            "Shows the processes of a live fabric ($JACQUARD_FABRIC, or that "
                            "socket), also when they hang.\n"
                            "\n"
                            "  --once           print once and end\n"
                            "  --all            with completion queues, SMSG connections and VCs\n"
                            "  --interval S     seconds between two updates (1)\n"
                            "  --help, --version\n"
                            "\n"
                            "scenario: what the fabric's processes read of its scenario.\n";

struct command {
    const char *what, *path;
    double interval;
    bool once;
    struct screen_options screen;
};

static int refuse(const char *what, const char *why)
{
    fprintf(stderr, "jacquard: %s: %s\n", what, why);
    return 2;
}

/* Checks that the output was written completely. Returns the exit code. */
static int end_of_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    return refuse("standard output", errno != 0 ? strerror(errno) : "cannot be written");
}

/* Whether a fabric runs at this socket. live_join would start one. */
static bool fabric_exists(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int trial;
    bool there;

    if (strlen(path) >= sizeof(address.sun_path))
        return false;
    memcpy(address.sun_path, path, strlen(path) + 1);
    trial = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    there = trial >= 0 && connect(trial, (struct sockaddr *)&address, sizeof(address)) == 0;
    if (trial >= 0)
        close(trial);
    return there;
}

/* Returns the exit code. *run: the command is valid and is to be executed. */
static int parse(struct command *command, int argc, char **argv, bool *run)
{
    static const struct option options[] = {
        {"once", no_argument, NULL, 'o'},           {"all", no_argument, NULL, 'a'},
        {"interval", required_argument, NULL, 'i'}, {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},        {NULL, 0, NULL, 0}};
    int option;
    char *end;

    *run = false;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'o':
            command->once = true;
            break;
        case 'a':
            command->screen.all = true;
            break;
        case 'i':
            command->interval = strtod(optarg, &end);
            if (end == optarg || *end != '\0' ||
                !(command->interval >= 0.1 && command->interval <= 3600))
                return refuse("--interval", "seconds from 0.1 to 3600 are needed");
            break;
        case 'h':
            fputs(usage, stdout);
            return end_of_output();
        case 'v':
            puts("jacquard " JACQUARD_VERSION);
            return end_of_output();
        default:
            return refuse(argv[optind - 1], "unknown or incomplete option; see jacquard --help");
        }
    }
    command->what = optind < argc ? argv[optind] : "";
    command->path = optind + 1 < argc ? argv[optind + 1] : getenv("JACQUARD_FABRIC");
    if (strcmp(command->what, "top") != 0 && strcmp(command->what, "scenario") != 0)
        return refuse(*command->what != '\0' ? command->what : "no command",
                      "there are top and scenario; see jacquard --help");
    if (optind + 2 < argc)
        return refuse(argv[optind + 2], "one fabric at a time");
    if (command->path == NULL || command->path[0] == '\0')
        return refuse(command->what, "which fabric? Give its socket, or set JACQUARD_FABRIC");
    *run = true;
    return 0;
}

/* Waits for the next update. False: the user quits. */
static bool wait_for_update(double seconds)
{
    struct pollfd keys = {.fd = isatty(STDIN_FILENO) ? STDIN_FILENO : -1, .events = POLLIN};
    char key;

    return poll(&keys, 1, (int)(seconds * 1000)) <= 0 || read(STDIN_FILENO, &key, 1) != 1 ||
           key != 'q';
}

struct view {
    struct live *live;
    bool ended; /* the fabric has ended */
};

/* Releases the shared segment and the descriptors of a process that has ended. */
static void drop_peer(void *arg, struct live_peer *peer)
{
    live_drop(((struct view *)arg)->live, peer);
}

static void fabric_ended(void *arg)
{
    ((struct view *)arg)->ended = true;
}

static void top(const struct command *command, const struct view *view)
{
    struct live *live = view->live;
    const struct live_facts *facts = live_facts(live);
    struct sample *samples = calloc(facts->processes_max, sizeof(*samples));
    uint32_t processes;

    if (samples == NULL)
        abort();
    do {
        processes = top_samples_take(live, samples);
        if (!command->once && isatty(STDOUT_FILENO))
            fputs("\033[H\033[2J", stdout);
        top_screen_print(stdout, facts, samples, processes, &command->screen);
        fflush(stdout);
    } while (!command->once && !view->ended && wait_for_update(command->interval) &&
             !ferror(stdout));
    free(samples);
}

int main(int argc, char **argv)
{
    struct command command = {.interval = 1};
    struct view view = {.live = NULL};
    struct live_options options = {
        .node = 0, .events = {.gone = drop_peer, .lost = fabric_ended}, .arg = &view};
    char why[LIVE_WHY_BYTES] = "";
    bool run;
    int status = parse(&command, argc, argv, &run);

    if (!run)
        return status;
    if (!fabric_exists(command.path))
        return refuse(command.path, "no fabric is there");
    options.path = command.path;
    if (live_join(&options, &view.live, why) != 0)
        return refuse(command.path, why);
    if (strcmp(command.what, "scenario") == 0)
        fwrite(live_facts(view.live)->scenario, 1, live_facts(view.live)->scenario_bytes, stdout);
    else
        top(&command, &view);
    status = end_of_output();
    live_leave(view.live);
    return status;
}
