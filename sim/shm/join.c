/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include <assert.h>
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

#define ATTEMPTS 50u /* a daemon may end while this process connects to it */
#define WELCOME_MS 60000

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#define PR_SET_PTRACER_ANY ((unsigned long)-1)
#endif

/* ---- the path -------------------------------------------------------------------------------- */

/* Chooses the path of a private fabric. Children of this process find it in the environment. */
static char *private_path(char *why)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    char folder[64], *path;

    if (base == NULL || strlen(base) > 32 || access(base, W_OK) != 0)
        base = "/tmp";
    snprintf(folder, sizeof(folder), "%s/jacquard-XXXXXX", base);
    if (mkdtemp(folder) == NULL) {
        shm_why(why, "cannot create a folder %s for a private fabric: %s", folder, strerror(errno));
        return NULL;
    }
    if (asprintf(&path, "%s/fabric", folder) < 0)
        return NULL;
    setenv("JACQUARD_FABRIC", path, 1);
    setenv("JACQUARD_FABRIC_PRIVATE", path, 1);
    return path;
}

/* Whether the fabric at this path is a private one. Its folder is removed with its last process; a
 * later child creates it again. */
static bool is_private(const char *path)
{
    const char *given = getenv("JACQUARD_FABRIC_PRIVATE");

    return given != NULL && strcmp(given, path) == 0;
}

/* Whether a program with a scenario of its own, such as sim-run, has started the fabric. Then a
 * plain fabric is no replacement. */
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

static int find_node(const struct shm_options *options, uint32_t *node, char *why)
{
    const char *text = getenv("JACQUARD_NODE");
    unsigned long value;
    char *end;

    *node = options->node;
    if (options->node != SHM_NODE_ANY || text == NULL || *text == 0)
        return 0;
    errno = 0;
    value = strtoul(text, &end, 10);
    if (errno != 0 || *end != 0 || text[0] < '0' || text[0] > '9' || value >= SHM_NODES_MAX) {
        shm_why(why, "JACQUARD_NODE is \"%.60s\": it has to be the number of a node", text);
        return -EINVAL;
    }
    *node = (uint32_t)value;
    return 0;
}

/* ---- the handshake --------------------------------------------------------------------------- */

static int connection_failed(const struct shm *shm, int result, char *why)
{
    assert(result <= 0);
    if (result == -ETIMEDOUT)
        shm_why(why, "the fabric at %s does not answer", shm->path);
    else if (result == -EPROTO)
        shm_why(why, "what listens at %s is no fabric of this version", shm->path);
    else
        shm_why(why, "the connection to the fabric at %s broke: %s", shm->path,
                result == 0 ? "closed" : strerror(-result));
    return result == 0 ? -ECONNRESET : result;
}

/* Copies the daemon's explanation of its refusal. */
static int copy_refusal(const struct wire_packet *packet, char *why)
{
    int length = packet->text_bytes < SHM_WHY_BYTES ? (int)packet->text_bytes : SHM_WHY_BYTES - 1;

    assert(packet->head.kind == WIRE_REFUSED);
    shm_why(why, "%.*s", length, packet->text);
    return packet->head.error != 0 ? packet->head.error : -EPROTO;
}

/* -ECONNRESET: the daemon was about to end. */
static int receive_welcome(struct shm *shm, char *why)
{
    struct wire_packet packet;
    int result = shm_receive_within(shm->socket, shm->buffer, &packet, WELCOME_MS);

    assert(shm->socket >= 0 && shm->fabric == NULL);
    if (result != 1)
        return connection_failed(shm, result, why);
    if (packet.head.kind == WIRE_REFUSED)
        return copy_refusal(&packet, why);
    result = packet.head.kind == WIRE_WELCOME ? shm_map_fabric(shm, packet.fds[0], why) : -EPROTO;
    if (packet.head.kind != WIRE_WELCOME)
        connection_failed(shm, -EPROTO, why);
    shm_wire_close(&packet);
    return result;
}

static int reach_daemon(struct shm *shm, char *why)
{
    unsigned attempt;
    int result = -ECONNREFUSED;

    assert(shm->socket < 0 && shm->path != NULL);
    for (attempt = 0; attempt < ATTEMPTS; attempt++) {
        shm->socket = shm_connect(shm->path);
        if (shm->socket >= 0) {
            result = receive_welcome(shm, why);
            if (result != -ECONNRESET && result != -EPIPE)
                return result;
            close(shm->socket);
            shm->socket = -1;
            continue;
        }
        result = shm->socket;
        if (result != -ECONNREFUSED && result != -ENOENT) {
            shm_why(why,
                    result == -EACCES ? "the fabric at %s belongs to another user"
                                      : "cannot connect to the fabric at %s: %s",
                    shm->path, strerror(-result));
            return result;
        }
        if (was_started(shm->path)) {
            shm_why(why, "the fabric at %s, which this process was started on, has ended",
                    shm->path);
            return -ENOTCONN;
        }
        if (is_private(shm->path))
            make_private_folder(shm->path);
        result = shm_start_daemon(shm->path, is_private(shm->path), why);
        if (result != 0)
            return result;
    }
    shm_why(why, "each fabric started at %s has ended at once", shm->path);
    return -ECONNREFUSED;
}

/* For peers that copy to and from this process. Only the process itself can be sure to open its own
 * pidfd. */
static int own_pidfd(void)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, getpid(), 0);
#else
    return -1;
#endif
}

static int register_member(struct shm *shm, uint32_t node, int segment_file, char *why)
{
    struct wire join = {.magic = SHM_MAGIC,
                        .version = SHM_VERSION,
                        .kind = WIRE_JOIN,
                        .node = node,
                        .bytes = shm->segment_bytes};
    struct wire_packet packet = {.text_bytes = 0};
    int fds[WIRE_FDS_MAX] = {segment_file, shm->doorbell, own_pidfd()}, result, error;

    assert(shm->self == NULL && shm->segment != NULL && segment_file >= 0);
    result = shm_wire_send(shm->socket, &join, NULL, 0, fds, fds[WIRE_PIDFD] >= 0 ? 3 : 2, 0);
    if (fds[WIRE_PIDFD] >= 0)
        close(fds[WIRE_PIDFD]);
    if (result == 0)
        result = shm_receive_within(shm->socket, shm->buffer, &packet, WELCOME_MS);
    if (result != 1)
        return connection_failed(shm, result, why);
    if (packet.head.kind == WIRE_REFUSED)
        return copy_refusal(&packet, why);
    shm_wire_close(&packet);
    packet.head.bytes = shm->segment_bytes;
    packet.head.pid = getpid();
    if (packet.head.kind != WIRE_JOINED || shm_peer_add(shm, &packet.head, NULL, &error) == NULL)
        return connection_failed(shm, -EPROTO, why);
    shm->head->slot = packet.head.slot;
    shm->head->generation = packet.head.generation;
    shm->head->node = packet.head.node;
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int allocate_tables(struct shm *shm)
{
    assert(shm->slots == NULL && shm->facts.processes_max > 0);
    shm->slots = calloc(shm->facts.processes_max, sizeof(*shm->slots));
    shm->outs = calloc(shm->facts.processes_max, sizeof(*shm->outs));
    shm->ended = calloc(shm->facts.processes_max, sizeof(*shm->ended));
    shm->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    shm->helper_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    shm->wake_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (shm->slots == NULL || shm->outs == NULL || shm->ended == NULL)
        return -ENOMEM;
    if (shm->doorbell < 0 || shm->helper_event < 0 || shm->wake_event < 0)
        return -errno;
    return shm_fork_watch(shm);
}

static void start_clock(struct shm *shm)
{
    uint64_t per_us = shm->facts.ticks_per_us;

    assert(shm->head != NULL && shm->self == NULL);
    shm->stamp_ticks = SHM_STAMP_US * per_us;
    shm->stale_ticks = shm->ring_ticks = SHM_STALE_US * per_us;
    shm->tick_ticks = SHM_TICK_US * per_us;
    shm->poll_ticks = SHM_POLL_US * per_us;
    shm->rering_ticks = SHM_RERING_US * per_us;
    shm->sleep_flag = SLEEP_FLAG_STEP | SLEEP_FLAG_ASLEEP; /* until it polls without a pause */
    atomic_store(&shm->head->sleep_flag, shm->sleep_flag);
}

static int become_member(struct shm *shm, const struct shm_options *options, char *why)
{
    uint32_t node;
    int segment_file, result = find_node(options, &node, why);

    assert(shm->self == NULL && options->segment_bytes <= SHM_SEGMENT_MAX);
    if (result != 0)
        return result;
    result = reach_daemon(shm, why);
    if (result != 0)
        return result;
    result = allocate_tables(shm);
    if (result == 0) {
        segment_file = shm_map_segment(shm, options->segment_bytes);
        result = segment_file < 0 ? segment_file : 0;
    }
    if (result != 0) {
        shm_why(why,
                result == -ENOSYS ? "live mode needs Linux 5.1 or later (sealed memory files)"
                                  : "no resources for a member of a fabric: %s",
                strerror(-result));
        return result;
    }
    shm_fences_begin(shm);
    start_clock(shm);
    /* Where Yama restricts process_vm_readv to descendants, members may still copy. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    result = register_member(shm, node, segment_file, why);
    close(segment_file);
    return result;
}

int shm_join(const struct shm_options *options, struct shm **result, char *why)
{
    const char *given = options->path != NULL ? options->path : getenv("JACQUARD_FABRIC");
    struct shm *shm;
    int error;

    assert(result != NULL);
    *result = NULL;
    if (why != NULL)
        *why = 0;
    if (options->segment_bytes > SHM_SEGMENT_MAX) {
        shm_why(why, "an extra area of %zu bytes is too large", options->segment_bytes);
        return -EINVAL;
    }
    shm = aligned_alloc(SHM_LINE, (sizeof(*shm) + SHM_LINE - 1) / SHM_LINE * SHM_LINE);
    if (shm == NULL)
        return -ENOMEM;
    memset(shm, 0, sizeof(*shm));
    shm->socket = shm->doorbell = shm->helper_event = shm->wake_event = -1;
    shm->events = options->events;
    shm->arg = options->arg;
    shm->deferred_end = &shm->deferred;
    shm->buffer = malloc(WIRE_BYTES_MAX);
    shm->path = given != NULL && *given != 0 ? strdup(given) : private_path(why);
    error = shm->buffer == NULL || shm->path == NULL ? -ENOMEM : become_member(shm, options, why);
    if (error != 0) {
        shm_leave(shm);
        return error;
    }
    *result = shm;
    return 0;
}

void shm_leave(struct shm *shm)
{
    uint32_t i;
    struct deferred *deferred;
    bool forked;

    if (shm == NULL)
        return;
    forked = shm->not_forked != NULL && shm_forked(shm);
    if (!forked && shm->self != NULL)
        shm_acknowledge(shm); /* otherwise peers would count executed records as lost */
    shm_fork_forget(shm);
    while ((deferred = shm->deferred) != NULL) {
        shm->deferred = deferred->next;
        shm_wire_close(&deferred->packet);
        free(deferred);
    }
    shm->current = NULL;
    shm_close_all(shm);
    while (shm->peers != NULL) {
        if (forked)
            shm->peers->mapping = NULL; /* a forked child does not inherit mappings */
        shm_peer_free(shm, shm->peers);
    }
    for (i = 0; shm->outs != NULL && i < shm->facts.processes_max; i++)
        free(shm->outs[i]);
    if (!forked && shm->segment != NULL)
        munmap(shm->segment, shm->at.total);
    if (!forked && shm->fabric != NULL)
        munmap((void *)(uintptr_t)shm->fabric, shm->fabric_bytes);
    free(shm->rings);
    free(shm->slots);
    free(shm->outs);
    free(shm->ended);
    free(shm->buffer);
    free(shm->path);
    free(shm);
}

const struct shm_facts *shm_facts(const struct shm *shm)
{
    return &shm->facts;
}

struct shm_peer *shm_self(struct shm *shm)
{
    assert(shm->self != NULL);
    return &shm->self->to;
}

void *shm_segment(struct shm *shm)
{
    assert(shm->segment != NULL && shm->at.extra <= shm->at.total);
    return shm->segment + shm->at.extra;
}

int shm_report(struct shm *shm, const void *bytes, size_t count)
{
    struct wire head = {.magic = SHM_MAGIC, .version = SHM_VERSION, .kind = WIRE_REPORT};

    assert(bytes != NULL || count == 0);
    if (shm->lost)
        return -ENOTCONN;
    if (count > SHM_TEXT_MAX)
        return -EMSGSIZE;
    return shm_wire_send(shm->socket, &head, bytes, count, NULL, 0, 0);
}
