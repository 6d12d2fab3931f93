/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "port.h"

#include <assert.h>
#include <fcntl.h>
#include <unistd.h>

#include "acceptor.h"
#include "owner.h"
#include "tcp.h"

struct pmrun_port {
    struct pmrun_io *io;
    char *job;
    enum pmrun_launch_port kind;
    char *name;
    struct pmrun_acceptor acceptor;
    GQueue waiting; /* channels that wait until fewer clients are unauthenticated */
    uv_prepare_t admit; /* active while there are any */
};

static void port_free(uv_handle_t *handle)
{
    struct pmrun_port *port = handle->data;

    assert(g_queue_is_empty(&port->waiting));
    g_free(port->job);
    g_free(port->name);
    g_free(port);
}

/* The other end must belong to the launcher's user. */
static gboolean is_ours(const uv_tcp_t *stream)
{
    struct pmrun_owner_ends ends;
    uv_os_fd_t fd;
    uid_t uid;

    return uv_fileno((const uv_handle_t *)stream, &fd) == 0 && pmrun_owner_ends_of(fd, &ends) &&
           pmrun_owner_of(&ends, &uid) && uid == getuid();
}

/* FALSE: too many clients are unauthenticated. */
static gboolean admit(struct pmrun_port *port, struct pmrun_channel *channel)
{
    static const enum pmi2_auth auths[] = {PMI2_AUTH_NONE, PMI2_AUTH_NONE, PMI2_AUTH_CHALLENGE,
                                           PMI2_AUTH_DRAFT};
    struct pmi2_link *link;

    assert(port->kind < G_N_ELEMENTS(auths) && port->kind != PMRUN_LAUNCH_NO_PORT);
    pmi2_server_time(port->io->server, uv_hrtime());
    link =
        pmi2_server_client(port->io->server, port->job, PMI2_NO_RANK, auths[port->kind], channel);
    if (link == NULL)
        return FALSE;
    pmrun_channel_open(channel, link);
    return TRUE;
}

/* After each turn of the loop: there may be room for a waiting client. */
static void admit_waiting(uv_prepare_t *prepare)
{
    struct pmrun_port *port = prepare->data;

    while (!g_queue_is_empty(&port->waiting)) {
        if (!admit(port, g_queue_peek_head(&port->waiting)))
            return;
        g_queue_pop_head(&port->waiting);
    }
    uv_prepare_stop(prepare);
}

/* The user of a connection is known as soon as it is accepted, so connections of other users are
 * closed at once and never count. */
static void came(void *owner)
{
    struct pmrun_port *port = owner;
    struct pmrun_channel *channel = pmrun_channel_new(port->io, NULL, NULL);

    uv_tcp_init(port->io->loop, &channel->at.tcp);
    if (!pmrun_acceptor_accept(&port->acceptor, &channel->at.tcp) || !is_ours(&channel->at.tcp)) {
        pmrun_channel_open(channel, NULL);
        return;
    }
    if (g_queue_is_empty(&port->waiting) && admit(port, channel))
        return;
    g_queue_push_tail(&port->waiting, channel);
    uv_prepare_start(&port->admit, admit_waiting);
}

struct pmrun_port *pmrun_port_new_at(struct pmrun_io *io, const char *job,
                                     enum pmrun_launch_port kind, const char *const *hosts)
{
    struct pmrun_port *port = g_new0(struct pmrun_port, 1);
    unsigned number = 0;
    int fd = -1;

    port->io = io;
    port->job = g_strdup(job);
    port->kind = kind;
    g_queue_init(&port->waiting);
    uv_prepare_init(io->loop, &port->admit);
    port->admit.data = port;
    for (; *hosts != NULL && fd < 0; hosts++) {
        fd = pmrun_tcp_listen(*hosts, 0, &number);
        if (fd >= 0)
            port->name = pmrun_tcp_name(*hosts, number);
    }
    if (pmrun_acceptor_open(&port->acceptor, io->loop, fd, came, port) != 0)
        g_clear_pointer(&port->name, g_free);
    return port;
}

/* MPICH's programs read the port behind the first colon: IPv6 only where IPv4 is not. */
struct pmrun_port *pmrun_port_new(struct pmrun_io *io, const char *job, enum pmrun_launch_port kind)
{
    static const char *const hosts[] = {"127.0.0.1", "::1", NULL};

    return pmrun_port_new_at(io, job, kind, hosts);
}

const char *pmrun_port_name(const struct pmrun_port *port)
{
    return port->name != NULL ? port->name : "";
}

gboolean pmrun_port_key(const struct pmrun_port *port, int ends[2])
{
    const uint8_t *key = port->io->key;

    return pipe2(ends, O_CLOEXEC) == 0 &&
           write(ends[1], key, sizeof(port->io->key)) == (ssize_t)sizeof(port->io->key);
}

static void acceptor_closed(void *owner)
{
    struct pmrun_port *port = owner;

    uv_close((uv_handle_t *)&port->admit, port_free);
}

void pmrun_port_close(struct pmrun_port *port)
{
    struct pmrun_channel *channel;

    while ((channel = g_queue_pop_head(&port->waiting)) != NULL)
        pmrun_channel_open(channel, NULL);
    pmrun_acceptor_close(&port->acceptor, acceptor_closed);
}
