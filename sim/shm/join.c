/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "internal.h"

#define ATTEMPTS 50u /* a daemon may end while we connect */
#define WELCOME_MS 60000

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#define PR_SET_PTRACER_ANY ((unsigned long)-1)
#endif

/* ---- the path -------------------------------------------------------------------------------- */

/* A fabric of this process and its children: they find it by the environment. */
static char *private_path(char *why)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    char folder[64], *path;

    if (base == NULL || strlen(base) > 32 || access(base, W_OK) != 0)
        base = "/tmp";
    snprintf(folder, sizeof(folder), "%s/jacquard-XXXXXX", base);
    if (mkdtemp(folder) == NULL) {
        live_why(why, "cannot create a folder %s for a private fabric: %s", folder,
                 strerror(errno));
        return NULL;
    }
    if (asprintf(&path, "%s/fabric", folder) < 0)
        return NULL;
    setenv("JACQUARD_FABRIC", path, 1);
    setenv("JACQUARD_FABRIC_PRIVATE", path, 1);
    return path;
}

/* The folder of a private fabric goes with its last process; a later child of the same family makes
 * it anew. */
static bool is_private(const char *path)
{
    const char *given = getenv("JACQUARD_FABRIC_PRIVATE");

    return given != NULL && strcmp(given, path) == 0;
}

/* By somebody with a machine and a scenario of his own: a plain fabric is no replacement. */
static bool was_started(const char *path)
{
    const char *started = getenv("JACQUARD_FABRIC_STARTED");

    return started != NULL && strcmp(started, path) == 0;
}

static void make_private_folder(const char *path)
{
    char *folder = strdup(path), *slash = folder != NULL ? strrchr(folder, '/') : NULL;

    if (slash != NULL) {
        *slash = 0;
        mkdir(folder, 0700);
    }
    free(folder);
}

static int find_node(const struct live_options *options, uint32_t *node, char *why)
{
    const char *text = getenv("JACQUARD_NODE");
    unsigned long value;
    char *end;

    *node = options->node;
    if (options->node != LIVE_NODE_ANY || text == NULL || *text == 0)
        return 0;
    errno = 0;
    value = strtoul(text, &end, 10);
    if (errno != 0 || *end != 0 || text[0] < '0' || text[0] > '9' || value >= LIVE_NODES_MAX) {
        live_why(why, "JACQUARD_NODE is \"%.60s\": it has to be the number of a node", text);
        return -EINVAL;
    }
    *node = (uint32_t)value;
    return 0;
}

/* ---- the handshake --------------------------------------------------------------------------- */

static int not_this_time(const struct live *live, int result, char *why)
{
    if (result == -ETIMEDOUT)
        live_why(why, "the fabric at %s does not answer", live->path);
    else if (result == -EPROTO)
        live_why(why, "what listens at %s is no fabric of this version", live->path);
    else
        live_why(why, "the connection to the fabric at %s broke: %s", live->path,
                 result == 0 ? "closed" : strerror(-result));
    return result == 0 ? -ECONNRESET : result;
}

/* The daemon's refusal in its own words. */
static int refused(const struct wire_packet *packet, char *why)
{
    int length = packet->text_bytes < LIVE_WHY_BYTES ? (int)packet->text_bytes : LIVE_WHY_BYTES - 1;

    live_why(why, "%.*s", length, packet->text);
    return packet->head.error != 0 ? packet->head.error : -EPROTO;
}

/* -ECONNRESET: it was just ending. */
static int hear_welcome(struct live *live, char *why)
{
    struct wire_packet packet;
    int result = live_receive_within(live->socket, live->buffer, &packet, WELCOME_MS);

    if (result != 1)
        return not_this_time(live, result, why);
    if (packet.head.kind == WIRE_REFUSED)
        return refused(&packet, why);
    result = packet.head.kind == WIRE_WELCOME ? live_map_fabric(live, packet.fds[0], why) : -EPROTO;
    if (packet.head.kind != WIRE_WELCOME)
        not_this_time(live, -EPROTO, why);
    wire_close(&packet);
    return result;
}

static int reach_daemon(struct live *live, char *why)
{
    unsigned attempt;
    int result = -ECONNREFUSED;

    for (attempt = 0; attempt < ATTEMPTS; attempt++) {
        live->socket = live_connect(live->path);
        if (live->socket >= 0) {
            result = hear_welcome(live, why);
            if (result != -ECONNRESET && result != -EPIPE)
                return result;
            close(live->socket);
            live->socket = -1;
            continue;
        }
        result = live->socket;
        if (result != -ECONNREFUSED && result != -ENOENT) {
            live_why(why,
                     result == -EACCES ? "the fabric at %s belongs to another user"
                                       : "cannot connect to the fabric at %s: %s",
                     live->path, strerror(-result));
            return result;
        }
        if (was_started(live->path)) {
            live_why(why, "the fabric at %s, which this process was started on, has ended",
                     live->path);
            return -ENOTCONN;
        }
        if (is_private(live->path))
            make_private_folder(live->path);
        result = live_start_daemon(live->path, is_private(live->path), why);
        if (result != 0)
            return result;
    }
    live_why(why, "each fabric started at %s has ended at once", live->path);
    return -ECONNREFUSED;
}

/* For others, who copy to and from this process: only the process itself opens it for certain. */
static int own_pidfd(void)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, getpid(), 0);
#else
    return -1;
#endif
}

static int enter(struct live *live, uint32_t node, int board, char *why)
{
    struct wire join = {.magic = LIVE_MAGIC,
                        .version = LIVE_VERSION,
                        .kind = WIRE_JOIN,
                        .node = node,
                        .bytes = live->board_bytes};
    struct wire_packet packet = {.text_bytes = 0};
    int fds[WIRE_FDS_MAX] = {board, live->doorbell, own_pidfd()}, result, error;

    result = wire_send(live->socket, &join, NULL, 0, fds, fds[WIRE_PIDFD] >= 0 ? 3 : 2, 0);
    if (fds[WIRE_PIDFD] >= 0)
        close(fds[WIRE_PIDFD]);
    if (result == 0)
        result = live_receive_within(live->socket, live->buffer, &packet, WELCOME_MS);
    if (result != 1)
        return not_this_time(live, result, why);
    if (packet.head.kind == WIRE_REFUSED)
        return refused(&packet, why);
    wire_close(&packet);
    packet.head.bytes = live->board_bytes;
    packet.head.pid = getpid();
    if (packet.head.kind != WIRE_JOINED || live_peer_add(live, &packet.head, NULL, &error) == NULL)
        return not_this_time(live, -EPROTO, why);
    live->head->slot = packet.head.slot;
    live->head->generation = packet.head.generation;
    live->head->node = packet.head.node;
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int allocate(struct live *live)
{
    live->slots = calloc(live->facts.processes_max, sizeof(*live->slots));
    live->outs = calloc(live->facts.processes_max, sizeof(*live->outs));
    live->ended = calloc(live->facts.processes_max, sizeof(*live->ended));
    live->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    live->helper_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    live->wake_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (live->slots == NULL || live->outs == NULL || live->ended == NULL)
        return -ENOMEM;
    if (live->doorbell < 0 || live->helper_bell < 0 || live->wake_bell < 0)
        return -errno;
    return live_fork_watch(live);
}

static void start_clock(struct live *live)
{
    uint64_t per_us = live->facts.ticks_per_us;

    live->stamp_ticks = LIVE_STAMP_US * per_us;
    live->stale_ticks = live->ring_ticks = LIVE_STALE_US * per_us;
    live->tick_ticks = LIVE_TICK_US * per_us;
    live->look_ticks = LIVE_LOOK_US * per_us;
    live->rering_ticks = LIVE_RERING_US * per_us;
    live->doze = DOZE_STEP | DOZE_ASLEEP; /* until it looks all the time */
    atomic_store(&live->head->doze, live->doze);
}

static int become_member(struct live *live, const struct live_options *options, char *why)
{
    uint32_t node;
    int board, result = find_node(options, &node, why);

    if (result != 0)
        return result;
    result = reach_daemon(live, why);
    if (result != 0)
        return result;
    result = allocate(live);
    if (result == 0) {
        board = live_map_board(live, options->board_bytes);
        result = board < 0 ? board : 0;
    }
    if (result != 0) {
        live_why(why,
                 result == -ENOSYS ? "live mode needs Linux 5.1 or later (sealed memory files)"
                                   : "no resources for a member of a fabric: %s",
                 strerror(-result));
        return result;
    }
    live_fences_begin(live);
    start_clock(live);
    /* Where Yama restricts process_vm_readv to descendants, members may still copy. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    result = enter(live, node, board, why);
    close(board);
    return result;
}

int live_join(const struct live_options *options, struct live **result, char *why)
{
    const char *given = options->path != NULL ? options->path : getenv("JACQUARD_FABRIC");
    struct live *live;
    int error;

    *result = NULL;
    if (why != NULL)
        *why = 0;
    if (options->board_bytes > LIVE_BOARD_MAX) {
        live_why(why, "an extra area of %zu bytes is too large", options->board_bytes);
        return -EINVAL;
    }
    live = aligned_alloc(LIVE_LINE, (sizeof(*live) + LIVE_LINE - 1) / LIVE_LINE * LIVE_LINE);
    if (live == NULL)
        return -ENOMEM;
    memset(live, 0, sizeof(*live));
    live->socket = live->doorbell = live->helper_bell = live->wake_bell = -1;
    live->events = options->events;
    live->arg = options->arg;
    live->later_end = &live->later;
    live->buffer = malloc(WIRE_BYTES_MAX);
    live->path = given != NULL && *given != 0 ? strdup(given) : private_path(why);
    error =
        live->buffer == NULL || live->path == NULL ? -ENOMEM : become_member(live, options, why);
    if (error != 0) {
        live_leave(live);
        return error;
    }
    *result = live;
    return 0;
}

void live_leave(struct live *live)
{
    uint32_t i;
    struct later *later;
    bool forked;

    if (live == NULL)
        return;
    forked = live->mine != NULL && live_forked(live);
    if (!forked && live->self != NULL)
        live_acknowledge(live); /* what was executed is not to count as lost */
    live_fork_forget(live);
    while ((later = live->later) != NULL) {
        live->later = later->next;
        wire_close(&later->packet);
        free(later);
    }
    live->current = NULL;
    live_close_all(live);
    while (live->peers != NULL) {
        if (forked)
            live->peers->mapping = NULL; /* was not inherited */
        live_peer_free(live, live->peers);
    }
    for (i = 0; live->outs != NULL && i < live->facts.processes_max; i++)
        free(live->outs[i]);
    if (!forked && live->board != NULL)
        munmap(live->board, live->at.total);
    if (!forked && live->fabric != NULL)
        munmap((void *)(uintptr_t)live->fabric, live->fabric_bytes);
    free(live->rings);
    free(live->slots);
    free(live->outs);
    free(live->ended);
    free(live->buffer);
    free(live->path);
    free(live);
}

const struct live_facts *live_facts(const struct live *live)
{
    return &live->facts;
}

struct live_peer *live_self(struct live *live)
{
    return &live->self->to;
}

void *live_board(struct live *live)
{
    return live->board + live->at.extra;
}

int live_report(struct live *live, const void *bytes, size_t count)
{
    struct wire head = {.magic = LIVE_MAGIC, .version = LIVE_VERSION, .kind = WIRE_REPORT};

    if (live->lost)
        return -ENOTCONN;
    if (count > LIVE_TEXT_MAX)
        return -EMSGSIZE;
    return wire_send(live->socket, &head, bytes, count, NULL, 0, 0);
}
