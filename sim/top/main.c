/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard: the command that shows live fabrics (docs/live.md), and starts the other programs and
 * the commands in Python. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <limits.h>
#include <unistd.h>

#include "top.h"

static const char usage[] =
    "usage: jacquard top [OPTIONS] [SOCKET]\n"
    "       jacquard scenario [SOCKET]\n"
    "       jacquard run|report|sweep SCENARIO ...\n"
    "       jacquard plot curve|cdf|heat|compare RESULT...\n"
    "       jacquard trace show|diff ...\n"
    "       jacquard lnetd|lnet|lnetctl|lst|m0 ...\n"
    "top: shows the processes of a live fabric (that SOCKET, or $JACQUARD_FABRIC), even "
    "if they hang.\n"
    "\n"
    "  --once           print once and end\n"
    "  --json           print JSON: with --once one object, else one in each line\n"
    "  --all            with completion queues, SMSG connections and VCs\n"
    "  --interval S     seconds between two updates (1)\n"
    "  --help, --version\n"
    "\n"
    "Keys on a terminal: q quits, the arrows and page keys scroll, any "
    "other key updates it.\n"
    "\n"
    "scenario: prints the scenario as the fabric's processes get it.\n"
    "run: sim-run; see jacquard run --help.\n"
    "report: runs a scenario and writes its report page.\n"
    "sweep: runs a scenario with all combinations of settings.\n"
    "plot: draws the results of runs, sweeps and campaigns.\n"
    "trace: lists and compares traces of sim-run; see jacquard trace --help.\n"
    "lnetd, lnet, lnetctl: LNet over TCP; see jacquard lnet --help.\n"
    "lst: the self-test of LNet; see jacquard lst --help.\n"
    "m0: m0_net over a daemon's LNet; see jacquard m0 --help.\n";

struct command {
    const char *what, *path;
    double interval;
    bool once, json;
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

/* Whether a fabric runs at this socket. shm_join would start one. */
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
    static const struct option options[] = {{"once", no_argument, NULL, 'o'},
                                            {"all", no_argument, NULL, 'a'},
                                            {"interval", required_argument, NULL, 'i'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"version", no_argument, NULL, 'v'},
                                            {NULL, 0, NULL, 0}};
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
        case 'j':
            command->json = true;
            break;
        case 'i':
            command->interval = strtod(optarg, &end);
            if (end == optarg || *end != '\0' ||
                !(command->interval >= 0.1 && command->interval <= 3600))
                return refuse("--interval", "give seconds from 0.1 to 3600");
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
        return refuse(
            *command->what != '\0' ? command->what : "no command",
            "the commands are top, scenario, run, report, sweep, plot, trace, lnetd, lnet, "
            "lnetctl, lst and m0; see jacquard --help");
    if (optind + 2 < argc)
        return refuse(argv[optind + 2], "give one fabric only");
    if (command->path == NULL || command->path[0] == '\0')
        return refuse(command->what, "give the socket of a fabric, or set JACQUARD_FABRIC");
    *run = true;
    return 0;
}

struct view {
    struct shm *shm;
    bool ended; /* the fabric has ended */
};

/* Releases the shared segment and the descriptors of a process that has ended. */
static void drop_peer(void *arg, struct shm_peer *peer)
{
    shm_drop(((struct view *)arg)->shm, peer);
}

static void fabric_ended(void *arg)
{
    ((struct view *)arg)->ended = true;
}

/* Prints one page after another. For output that is not a terminal. */
static void print_pages(const struct command *command, const struct view *view,
                        struct sample *samples)
{
    const struct shm_facts *facts = shm_facts(view->shm);

    do {
        top_samples_take(view->shm, samples);
        if (command->json)
            top_json_print(stdout, facts, samples);
        else
            top_screen_print(stdout, facts, samples, &command->screen);
        fflush(stdout);
    } while (!command->once && !view->ended && !ferror(stdout) &&
             poll(NULL, 0, (int)(command->interval * 1000)) == 0);
}

/* The page as text; the caller frees it. */
static char *page_of(const struct command *command, const struct view *view, struct sample *samples)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (to == NULL)
        abort();
    top_samples_take(view->shm, samples);
    top_screen_print(to, shm_facts(view->shm), samples, &command->screen);
    if (fclose(to) != 0)
        abort();
    return text;
}

static void top(const struct command *command, const struct view *view)
{
    struct sample *samples = calloc(shm_facts(view->shm)->processes_max, sizeof(*samples));
    bool on = true;

    if (samples == NULL)
        abort();
    if (command->once || command->json || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO) ||
        !top_terminal_begin()) {
        print_pages(command, view, samples);
    } else {
        while (on && !view->ended) {
            char *page = page_of(command, view, samples);

            on = top_terminal_show(page, command->interval);
            free(page);
        }
        top_terminal_end();
    }
    free(samples);
}

/* Writes the path of a file that lies so many folders above this program. False: after a message.
 */
static bool find_beside(int up, const char *file, char path[PATH_MAX + 64])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);

    if (length <= 0) {
        refuse("/proc/self/exe", strerror(errno));
        return false;
    }
    for (; up > 0; up--)
        while (length > 0 && path[--length] != '/')
            ;
    snprintf(path + length, PATH_MAX + 64 - (size_t)length, "%s", file);
    if (access(path, R_OK) == 0)
        return true;
    refuse(path, strerror(errno));
    return false;
}

/* Other programs are in the same folder, so that this one does not need their libraries. */
static int program_command(const char *program, char **arguments)
{
    char path[PATH_MAX + 64];

    if (!find_beside(1, program, path))
        return 2;
    arguments[0] = path;
    execv(path, arguments);
    return refuse(path, strerror(errno));
}

/* The commands in Python are in the package jacquard: ../lib/python3/dist-packages beside the
 * folder of this program. Debian's Python is tried first, because Debian's matplotlib belongs to
 * it. */
static int python_command(int argc, char **argv)
{
    char path[PATH_MAX + 64];
    char **arguments = calloc((size_t)argc + 2, sizeof(*arguments));

    if (arguments == NULL)
        abort();
    if (find_beside(2, "/lib/python3/dist-packages/jacquard/__main__.py", path)) {
        arguments[0] = (char[]){"python3"};
        arguments[1] = path;
        memcpy(arguments + 2, argv + 1, (size_t)(argc - 1) * sizeof(*argv));
        execv("/usr/bin/python3", arguments);
        execvp("python3", arguments);
        refuse("python3", strerror(errno));
    }
    free(arguments);
    return 2;
}

/* Starts the program that executes a command. Returns an exit code if it is not one of these, or
 * cannot be started; -1: it is a command of this program. */
static int start_other(int argc, char **argv)
{
    static const struct {
        const char *command, *program; /* NULL: in Python */
        int skipped; /* words that the program does not get */
    } others[] = {{"run", "/sim-run", 1},
                  {"lnetd", "/jacquard-lnet", 0},
                  {"lnet", "/jacquard-lnet", 0},
                  {"lnetctl", "/jacquard-lnet", 0},
                  {"lst", "/jacquard-lst", 0},
                  {"m0", "/jacquard-m0", 0},
                  {"trace", NULL, 0},
                  {"plot", NULL, 0},
                  {"sweep", NULL, 0},
                  {"report", NULL, 0}};
    size_t i;

    for (i = 0; argc > 1 && i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(argv[1], others[i].command) == 0)
            return others[i].program == NULL
                       ? python_command(argc, argv)
                       : program_command(others[i].program, argv + others[i].skipped);
    return -1;
}

int main(int argc, char **argv)
{
    struct command command = {.interval = 1};
    struct view view = {.shm = NULL};
    struct shm_options options = {
        .node = 0, .events = {.gone = drop_peer, .lost = fabric_ended}, .arg = &view};
    char why[SHM_WHY_BYTES] = "";
    bool run;
    int status;

    status = start_other(argc, argv);
    if (status >= 0)
        return status;
    status = parse(&command, argc, argv, &run);

    if (!run)
        return status;
    if (!fabric_exists(command.path))
        return refuse(command.path, "no fabric runs here");
    options.path = command.path;
    if (shm_join(&options, &view.shm, why) != 0)
        return refuse(command.path, why);
    if (strcmp(command.what, "scenario") == 0)
        fwrite(shm_facts(view.shm)->scenario, 1, shm_facts(view.shm)->scenario_bytes, stdout);
    else
        top(&command, &view);
    status = end_of_output();
    shm_leave(view.shm);
    return status;
}
