/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One connection: its messages and the answers. Whatever a process sends, it can only end its own
 * membership. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "internal.h"

#define READS_MAX 64u /* messages of one member in a row */

struct packet {
    struct wire head;
    int fds[WIRE_FDS_MAX];
    unsigned fds_count;
    size_t text_bytes;
    char text[];
};

static void packet_free(gpointer data)
{
    struct packet *packet = data;
    unsigned i;

    for (i = 0; i < packet->fds_count; i++)
        close(packet->fds[i]);
    g_free(packet);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void closed(uv_handle_t *handle)
{
    struct member *member = handle->data;
    struct shm_server *server = member->server;

    if (--member->handles > 0)
        return;
    close(member->socket);
    if (member->pidfd >= 0)
        close(member->pidfd);
    g_ptr_array_remove_fast(server->connections, member);
    g_free(member);
    shm_server_connection_ended(server);
}

bool shm_member_is_dead(const struct member *member)
{
    struct pollfd fds[2] = {{.fd = member->socket, .events = POLLRDHUP},
                            {.fd = member->pidfd, .events = POLLIN}};

    return member->ended ||
           (poll(fds, 2, 0) > 0 &&
            (fds[0].revents & (POLLRDHUP | POLLHUP | POLLERR) || fds[1].revents != 0));
}

void shm_member_end(struct member *member)
{
    if (member->ended)
        return;
    member->ended = true;
    if (member->joined)
        shm_member_leave_slot(member);
    if (member->mapping != NULL)
        munmap(member->mapping,
               segment_layout(member->server->options.processes_max, member->segment_bytes).total);
    member->mapping = NULL;
    shutdown(member->socket, SHUT_RDWR); /* if the process is alive, it notices this */
    g_queue_clear_full(&member->queue, packet_free);
    if (member->segment >= 0)
        close(member->segment);
    if (member->doorbell >= 0)
        close(member->doorbell);
    if (member->own_pidfd >= 0)
        close(member->own_pidfd);
    member->segment = member->doorbell = member->own_pidfd = -1;
    uv_close((uv_handle_t *)&member->poll, closed);
    if (member->pidfd >= 0)
        uv_close((uv_handle_t *)&member->death, closed);
}

/* ---- messages to the member
 * ------------------------------------------------------------------------- */

static void on_socket(uv_poll_t *poll, int status, int events);

static void watch_socket(struct member *member)
{
    int events = UV_READABLE | UV_DISCONNECT;

    if (!g_queue_is_empty(&member->queue))
        events |= UV_WRITABLE;
    uv_poll_start(&member->poll, events, on_socket);
}

static void queue_packet(struct member *member, const struct wire *head, const void *text,
                         size_t text_bytes, const int *fds, unsigned fds_count)
{
    struct packet *packet = g_malloc(sizeof(*packet) + text_bytes);

    packet->head = *head;
    packet->text_bytes = text_bytes;
    if (text_bytes > 0)
        memcpy(packet->text, text, text_bytes);
    /* Duplicates: the member that owns them may end before this is sent. */
    for (packet->fds_count = 0; packet->fds_count < fds_count; packet->fds_count++) {
        packet->fds[packet->fds_count] = fcntl(fds[packet->fds_count], F_DUPFD_CLOEXEC, 0);
        if (packet->fds[packet->fds_count] < 0) {
            packet_free(packet);
            shm_member_end(member);
            return;
        }
    }
    g_queue_push_tail(&member->queue, packet);
    if (g_queue_get_length(&member->queue) == 1)
        watch_socket(member);
    else if (g_queue_get_length(&member->queue) > QUEUE_MAX)
        shm_member_end(member);
}

void shm_member_send(struct member *member, struct wire *head, const void *text, size_t text_bytes,
                     const int *fds, unsigned fds_count)
{
    int error = -EAGAIN;

    if (member->ended)
        return;
    head->magic = SHM_MAGIC;
    head->version = SHM_VERSION;
    if (g_queue_is_empty(&member->queue))
        error = shm_wire_send(member->socket, head, text, text_bytes, fds, fds_count, MSG_DONTWAIT);
    if (error == -EAGAIN || error == -ENOBUFS)
        queue_packet(member, head, text, text_bytes, fds, fds_count);
    else if (error != 0)
        shm_member_end(member);
}

static void send_queued(struct member *member)
{
    struct packet *packet;
    int error;

    while ((packet = g_queue_peek_head(&member->queue)) != NULL) {
        error = shm_wire_send(member->socket, &packet->head, packet->text, packet->text_bytes,
                              packet->fds, packet->fds_count, MSG_DONTWAIT);
        if (error == -EAGAIN || error == -ENOBUFS)
            return;
        if (error != 0) {
            shm_member_end(member);
            return;
        }
        packet_free(g_queue_pop_head(&member->queue));
    }
    watch_socket(member);
}

/* ---- messages of the member
 * ---------------------------------------------------------------------------- */

static void introduce(struct member *to, const struct member *whom, uint32_t id)
{
    struct wire head = {.kind = WIRE_PEER,
                        .id = id,
                        .slot = whom->is.slot,
                        .generation = whom->is.generation,
                        .node = whom->is.node,
                        .pid = whom->is.pid,
                        .bytes = whom->segment_bytes};
    int fds[WIRE_FDS_MAX] = {whom->segment, whom->doorbell, whom->own_pidfd};

    shm_member_send(to, &head, NULL, 0, fds, whom->own_pidfd >= 0 ? 3 : 2);
}

static void ask(struct member *member, const struct wire *request)
{
    struct shm_server *server = member->server;
    struct wire answer = {.kind = WIRE_ANSWER, .id = request->id, .error = -ESRCH};
    struct member *whom =
        request->slot < server->options.processes_max ? server->slots[request->slot] : NULL;

    if (whom != NULL && whom != member && !shm_member_is_dead(whom) &&
        (request->generation == 0 || request->generation == whom->is.generation)) {
        introduce(whom, member, 0);
        if (!whom->ended) {
            introduce(member, whom, request->id);
            return;
        }
    } else if (whom != NULL && whom != member && shm_member_is_dead(whom)) {
        shm_member_end(whom);
    }
    shm_member_send(member, &answer, NULL, 0, NULL, 0);
}

static void handle(struct member *member, struct wire_packet *packet)
{
    struct shm_server *server = member->server;
    struct wire answer = {.kind = WIRE_ANSWER, .id = packet->head.id};

    if (packet->head.kind == WIRE_JOIN && !member->joined) {
        shm_member_join(member, packet);
        return;
    }
    if (!member->joined) {
        shm_member_end(member);
        return;
    }
    switch (packet->head.kind) {
    case WIRE_ASK:
        ask(member, &packet->head);
        break;
    case WIRE_CLAIM:
    case WIRE_CLAIM_SHARED:
    case WIRE_CLAIM_FREE:
        shm_names_claim(server->names, member, &packet->head, &answer);
        shm_member_send(member, &answer, NULL, 0, NULL, 0);
        break;
    case WIRE_UNCLAIM:
        shm_names_unclaim(server->names, member, &packet->head, &answer);
        shm_member_send(member, &answer, NULL, 0, NULL, 0);
        break;
    case WIRE_REPORT:
        if (server->options.events.report != NULL)
            server->options.events.report(server->options.arg, &member->is, packet->text,
                                          packet->text_bytes);
        break;
    default:
        shm_member_end(member);
        break;
    }
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
    static _Alignas(8) char buffer[WIRE_BYTES_MAX];
    struct member *member = poll->data;
    struct wire_packet packet;
    unsigned reads;
    int result;

    if (events & UV_WRITABLE)
        send_queued(member);
    for (reads = 0; reads < READS_MAX && !member->ended; reads++) {
        result = shm_wire_receive(member->socket, buffer, &packet, MSG_DONTWAIT);
        if (result == -EAGAIN)
            break;
        if (result != 1) {
            shm_member_end(member);
            break;
        }
        handle(member, &packet);
        shm_wire_close(&packet);
    }
    if (status < 0 && !member->ended)
        shm_member_end(member);
}

/* The process is dead, although a child of it may keep its socket open. */
static void on_process_end(uv_poll_t *poll, int status, int events)
{
    shm_member_end(poll->data);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static int pidfd_of(int32_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    return -1;
#endif
}

/* Takes over the socket. Only processes of the server's own user may join, because members copy
 * each other's memory. */
void shm_member_accept(struct shm_server *server, int socket)
{
    struct member *member;
    struct ucred peer;
    socklen_t size = sizeof(peer);
    struct wire welcome = {.kind = WIRE_WELCOME};

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != geteuid()) {
        close(socket);
        return;
    }
    member = g_new0(struct member, 1);
    member->server = server;
    member->socket = socket;
    member->segment = member->doorbell = member->own_pidfd = -1;
    member->is.pid = peer.pid;
    member->pidfd = pidfd_of(peer.pid);
    g_queue_init(&member->queue);
    g_ptr_array_add(server->connections, member);
    member->poll.data = member->death.data = member;
    member->handles = 1;
    uv_poll_init(server->loop, &member->poll, socket);
    if (member->pidfd >= 0 && uv_poll_init(server->loop, &member->death, member->pidfd) == 0) {
        member->handles++;
        uv_poll_start(&member->death, UV_READABLE, on_process_end);
    } else if (member->pidfd >= 0) {
        close(member->pidfd);
        member->pidfd = -1;
    }
    watch_socket(member);
    shm_member_send(member, &welcome, NULL, 0, &server->segment_file, 1);
}
