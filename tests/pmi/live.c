/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "live.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pmi2/server.h"

#define CLIENTS 16u

struct live {
    struct pmi2_server *server;
    struct pmi2_link *links[CLIENTS];
    int client[CLIENTS], here[CLIENTS]; /* both ends; -1: closed */
    uint32_t clients;
    char job[32];
};

static void numbers(void *context, void *bytes, size_t length)
{
    memset(bytes, 7, length);
}

static void check(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    abort();
}

struct live *live_new(const char *job, uint32_t size, uint32_t clients)
{
    uint32_t *node_of = calloc(size, sizeof(*node_of));
    struct live *live;

    check(node_of != NULL, "live_new");
    live = live_new_on(job, size, node_of, 1, clients);
    free(node_of);
    return live;
}

struct live *live_new_on(const char *job, uint32_t size, const uint32_t *node_of, uint32_t nodes,
                         uint32_t clients)
{
    const struct pmi2_server_config config = {
        .node = 0, .first = 0, .last = nodes, .root = true, .random = numbers};
    uint32_t i;
    const struct pmi2_job_info info = {
        .id = job, .size = size, .node_of = node_of, .app_size = &size, .apps = 1, .universe = -1};
    struct live *live = calloc(1, sizeof(*live));
    int ends[2];

    check(live != NULL && clients <= CLIENTS, "live_new");
    live->server = pmi2_server_new(&config);
    live->clients = clients;
    snprintf(live->job, sizeof(live->job), "%s", job);
    pmi2_server_time(live->server, 1);
    for (i = 1; i < nodes; i++)
        check(pmi2_server_child(live->server, i, i + 1, NULL) != NULL, "pmi2_server_child");
    check(pmi2_server_job_add(live->server, &info) != NULL, "job_add");
    for (i = 0; i < clients; i++) {
        check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
        live->client[i] = ends[0];
        live->here[i] = ends[1];
        live->links[i] = pmi2_server_client(live->server, job, i, PMI2_AUTH_NONE, &live->here[i]);
        check(live->links[i] != NULL, "pmi2_server_client");
    }
    return live;
}

int live_fd(const struct live *live, uint32_t rank)
{
    return live->client[rank];
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void live_leave(struct live *live)
{
    uint32_t i;

    for (i = 0; i < live->clients; i++)
        close_end(&live->client[i]);
}

pid_t live_fork(struct live *const *all, size_t count, const struct live *live, uint32_t rank,
                int (*client)(void *context), void *context)
{
    pid_t process = fork();
    char text[16];
    size_t i;
    uint32_t j;

    if (process != 0)
        return process;
    snprintf(text, sizeof(text), "%d", live->client[rank]);
    setenv("PMI_FD", text, 1);
    for (i = 0; i < count; i++)
        for (j = 0; j < all[i]->clients; j++) {
            close_end(&all[i]->here[j]);
            if (all[i] != live || j != rank)
                close_end(&all[i]->client[j]);
        }
    _exit(client(context));
}

static void send_output(struct pmi2_link *link)
{
    const int *fd = pmi2_link_data(link);
    struct iovec piece;
    ssize_t sent;

    while (pmi2_link_output(link, &piece, 1) == 1) {
        sent = fd == NULL /* a server that is not there */
                   ? (ssize_t)piece.iov_len
                   : send(*fd, piece.iov_base, piece.iov_len, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        pmi2_link_sent(link, (size_t)sent);
    }
}

static void act(struct live *live)
{
    struct pmi2_action action;

    while (pmi2_server_next(live->server, &action)) {
        if (action.kind == PMI2_ACTION_OUTPUT || action.kind == PMI2_ACTION_CLOSE)
            send_output(action.link);
        if (action.kind == PMI2_ACTION_CLOSE && pmi2_link_data(action.link) != NULL)
            shutdown(*(int *)pmi2_link_data(action.link), SHUT_RDWR);
    }
}

static void read_from(struct live *live, uint32_t rank)
{
    char bytes[4096];
    ssize_t got = recv(live->here[rank], bytes, sizeof(bytes), 0);

    if (got > 0) {
        pmi2_link_input(live->links[rank], bytes, (size_t)got);
    } else {
        pmi2_link_free(live->links[rank]);
        close_end(&live->here[rank]);
        pmi2_server_rank_ended(live->server, live->job, rank);
    }
    act(live);
}

void live_serve(struct live *const *all, size_t count)
{
    struct pollfd wait[4 * CLIENTS];
    nfds_t open;
    size_t i;
    uint32_t j;

    for (;;) {
        open = 0;
        for (i = 0; i < count; i++)
            for (j = 0; j < all[i]->clients; j++)
                if (all[i]->here[j] >= 0)
                    wait[open++] = (struct pollfd){all[i]->here[j], POLLIN, 0};
        if (open == 0)
            return;
        check(poll(wait, open, -1) > 0, "poll");
        open = 0;
        for (i = 0; i < count; i++)
            for (j = 0; j < all[i]->clients; j++)
                if (all[i]->here[j] >= 0 && wait[open++].revents != 0)
                    read_from(all[i], j);
    }
}

void live_free(struct live *live)
{
    live_leave(live);
    pmi2_server_free(live->server);
    free(live);
}
