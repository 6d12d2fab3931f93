/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "common.h"
#include "internal.h"

#define NAMES_MAX (1u << 20)
#define FIRST_MS 10000 /* the process that started the daemon connects by then */
#define CLOCK_US 500
#define SCENARIO_MAX (64u << 20)

/* ---- the segment of the fabric --------------------------------------------------------------- */

static uint64_t measure_ticks(void)
{
    uint64_t began_ns = shm_now_ns(), began = shm_ticks(), now_ns, per_us;
    const struct timespec pause = {.tv_nsec = CLOCK_US * 1000};

    nanosleep(&pause, NULL);
    now_ns = shm_now_ns();
    per_us = (shm_ticks() - began) * 1000 / (now_ns - began_ns);
    return per_us > 0 ? per_us : 1;
}

static void copy_text(char *to, const char *from)
{
    if (from != NULL)
        g_strlcpy(to, from, FABRIC_NAME_BYTES);
}

static int make_segment(struct shm_server *server, char *why)
{
    const struct shm_server_options *options = &server->options;
    uint32_t capacity = 64;
    struct fabric_segment *segment;
    size_t members_at, names_at, scenario_at, total;
    void *mapping;

    while (capacity / 4 * 3 < options->names_max)
        capacity *= 2;
    members_at = layout_pages(sizeof(*segment));
    names_at = layout_pages(members_at + options->processes_max * sizeof(struct fabric_member));
    scenario_at = layout_pages(names_at + (size_t)capacity * sizeof(struct fabric_name));
    total = layout_pages(scenario_at + options->scenario_bytes + 1);
    server->segment_file = shm_memory_file("jacquard-fabric", total, &mapping);
    if (server->segment_file < 0) {
        shm_why(why, "no memory for the fabric (sealed memory files need Linux 5.1): %s",
                strerror(-server->segment_file));
        return server->segment_file;
    }
    segment = server->segment = mapping;
    segment->magic = SHM_MAGIC;
    segment->version = SHM_VERSION;
    segment->nodes = options->nodes;
    segment->processes_max = options->processes_max;
    segment->seed = options->seed;
    segment->began_ns = shm_now_ns();
    segment->ticks_per_us = measure_ticks();
    copy_text(segment->name, options->name);
    copy_text(segment->preset, options->preset);
    segment->members_at = members_at;
    segment->names_at = names_at;
    segment->names_capacity = capacity;
    segment->scenario_at = scenario_at;
    segment->scenario_bytes = options->scenario_bytes;
    segment->total = total;
    if (options->scenario_bytes > 0)
        memcpy((char *)mapping + scenario_at, options->scenario, options->scenario_bytes);
    server->table = (struct fabric_member *)((char *)mapping + members_at);
    return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void finish(struct shm_server *server)
{
    struct shm_server_events events = server->options.events;
    void *arg = server->options.arg;

    if (server->names != NULL)
        shm_names_free(server->names);
    if (server->segment != NULL)
        munmap(server->segment, server->segment->total);
    if (server->segment_file >= 0)
        close(server->segment_file);
    g_queue_clear(&server->free_slots);
    if (server->connections != NULL)
        g_ptr_array_free(server->connections, TRUE);
    g_free(server->slots);
    g_free(server->generations);
    g_free(server->path);
    g_free(server);
    if (events.ended != NULL)
        events.ended(arg);
}

static void finish_when_closed(struct shm_server *server)
{
    if (server->stopping && server->handles == 0 && server->connections->len == 0)
        finish(server);
}

static void closed(uv_handle_t *handle)
{
    struct shm_server *server = handle->data;

    server->handles--;
    finish_when_closed(server);
}

static void remove_path(const struct shm_server *server)
{
    char *folder;

    shm_unlisten(server->path);
    if (!server->options.remove_folder)
        return;
    folder = g_path_get_dirname(server->path);
    rmdir(folder);
    g_free(folder);
}

bool shm_server_remove_dead(const char *path)
{
    return shm_unlisten_dead(path);
}

void shm_server_stop(struct shm_server *server)
{
    guint i;

    if (server->stopping)
        return;
    server->stopping = true;
    remove_path(server); /* first: a process that connects from now on starts another daemon */
    uv_close((uv_handle_t *)&server->poll, closed);
    uv_close((uv_handle_t *)&server->linger, closed);
    close(server->socket);
    for (i = server->connections->len; i > 0; i--)
        shm_member_end(g_ptr_array_index(server->connections, i - 1));
}

static void lingered(uv_timer_t *timer)
{
    struct shm_server *server = timer->data;

    if (server->connections->len == 0)
        shm_server_stop(server);
}

void shm_server_connection_ended(struct shm_server *server)
{
    if (server->stopping)
        finish_when_closed(server); /* frees it */
    else if (server->options.end_when_empty && server->connections->len == 0)
        uv_timer_start(&server->linger, lingered, server->options.linger_ms, 0);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static void connected(uv_poll_t *poll, int status, int events)
{
    struct shm_server *server = poll->data;
    int socket;

    while ((socket = accept4(server->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        uv_timer_stop(&server->linger);
        shm_member_accept(server, socket);
    }
}

static int check(struct shm_server_options *options, char *why)
{
    options->nodes = options->nodes > 0 ? options->nodes : 16;
    options->processes_max = options->processes_max > 0 ? options->processes_max : 256;
    options->names_max = options->names_max > 0 ? options->names_max : 65536;
    options->linger_ms = options->linger_ms > 0 ? options->linger_ms : 200;
    if (options->nodes > SHM_NODES_MAX)
        shm_why(why, "%u nodes are too many: at most %u", options->nodes, SHM_NODES_MAX);
    else if (options->processes_max > SHM_PROCESSES_MAX)
        shm_why(why, "%u processes are too many: at most %u", options->processes_max,
                SHM_PROCESSES_MAX);
    else if (options->names_max > NAMES_MAX)
        shm_why(why, "%u names are too many: at most %u", options->names_max, NAMES_MAX);
    else if (options->scenario_bytes > SCENARIO_MAX)
        shm_why(why, "a scenario of %zu bytes is too large: at most %u", options->scenario_bytes,
                SCENARIO_MAX);
    else
        return 0;
    return -EINVAL;
}

static void open_handles(struct shm_server *server)
{
    server->poll.data = server->linger.data = server;
    uv_poll_init(server->loop, &server->poll, server->socket);
    uv_timer_init(server->loop, &server->linger);
    server->handles = 2;
    uv_poll_start(&server->poll, UV_READABLE, connected);
    if (server->options.end_when_empty)
        uv_timer_start(&server->linger, lingered, FIRST_MS, 0);
}

int shm_server_start(uv_loop_t *loop, const struct shm_server_options *given,
                     struct shm_server **result, char *why)
{
    struct shm_server_options options = *given;
    struct shm_server *server;
    uint32_t slot;
    bool busy;
    int error = check(&options, why);

    *result = NULL;
    if (error != 0)
        return error;
    server = g_new0(struct shm_server, 1);
    server->loop = loop;
    server->options = options;
    server->path = g_strdup(options.path);
    server->segment_file = -1;
    g_queue_init(&server->free_slots);
    server->socket = options.socket >= 0 ? options.socket : shm_listen(server->path, &busy, why);
    error = server->socket < 0 ? server->socket : make_segment(server, why);
    if (error != 0) {
        if (options.socket < 0 && server->socket >= 0) {
            shm_unlisten(server->path);
            close(server->socket);
        }
        server->options.events.ended = NULL;
        finish(server);
        return error;
    }
    server->slots = g_new0(struct member *, options.processes_max);
    server->generations = g_new0(uint32_t, options.processes_max);
    server->connections = g_ptr_array_new();
    server->names = shm_names_new(server->segment);
    for (slot = 0; slot < options.processes_max; slot++)
        g_queue_push_tail(&server->free_slots, GUINT_TO_POINTER(slot));
    open_handles(server);
    *result = server;
    return 0;
}

/* ---- for its owner --------------------------------------------------------------------------- */

int shm_server_order(struct shm_server *server, uint32_t slot, const void *bytes, size_t count)
{
    struct wire head = {.kind = WIRE_ORDER};
    uint32_t i;
    int result = -ESRCH;

    if (count > SHM_TEXT_MAX)
        return -EMSGSIZE;
    for (i = 0; i < server->options.processes_max; i++) {
        if (server->slots[i] == NULL || (slot != SHM_ALL_MEMBERS && slot != i))
            continue;
        shm_member_send(server->slots[i], &head, bytes, count, NULL, 0);
        result = 0;
    }
    return slot == SHM_ALL_MEMBERS ? 0 : result;
}

uint32_t shm_server_count(const struct shm_server *server)
{
    return server->count;
}

bool shm_server_member(const struct shm_server *server, uint32_t slot, struct shm_member *member)
{
    if (slot >= server->options.processes_max || server->slots[slot] == NULL)
        return false;
    *member = server->slots[slot]->is;
    return true;
}

const void *shm_server_segment(struct shm_server *server, uint32_t slot, size_t *bytes)
{
    struct segment_layout at;
    struct member *member;
    void *mapping;

    *bytes = 0;
    member = slot < server->options.processes_max ? server->slots[slot] : NULL;
    if (member == NULL)
        return NULL;
    at = segment_layout(server->options.processes_max, member->segment_bytes);
    if (member->mapping == NULL) {
        mapping = mmap(NULL, at.total, PROT_READ, MAP_SHARED | MAP_NORESERVE, member->segment, 0);
        if (mapping == MAP_FAILED)
            return NULL;
        member->mapping = mapping;
    }
    *bytes = member->segment_bytes;
    return (const char *)member->mapping + at.extra;
}

void shm_server_refuse(int socket, const char *why, unsigned ms)
{
    struct wire head = {
        .magic = SHM_MAGIC, .version = SHM_VERSION, .kind = WIRE_REFUSED, .error = -EINVAL};
    struct pollfd poll_fd = {.fd = socket, .events = POLLIN};
    int end;

    while (poll(&poll_fd, 1, (int)ms) > 0) {
        end = accept4(socket, NULL, NULL, SOCK_CLOEXEC);
        if (end < 0)
            continue;
        shm_wire_send(end, &head, why, strnlen(why, SHM_TEXT_MAX), NULL, 0, MSG_DONTWAIT);
        close(end);
    }
}
