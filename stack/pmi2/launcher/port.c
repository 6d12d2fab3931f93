/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "port.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG 1024
#define RETRY_MS 10

struct port {
    struct shell *shell;
    char *job;
    enum launch_port kind;
    char name[64];
    uv_tcp_t listener;
    uv_timer_t retry;
    int handles;
};

static void closed(uv_handle_t *handle)
{
    struct port *port = handle->data;

    if (--port->handles > 0)
        return;
    g_free(port->job);
    g_free(port);
}

/* The other end as the kernel lists it: to whom it belongs. */
static gboolean is_ours(const uv_tcp_t *stream)
{
    struct sockaddr_in own, peer;
    int own_length = sizeof(own), peer_length = sizeof(peer);
    char wanted[32], line[512];
    gboolean ours = FALSE;
    FILE *table;

    if (uv_tcp_getsockname(stream, (struct sockaddr *)&own, &own_length) != 0 ||
        uv_tcp_getpeername(stream, (struct sockaddr *)&peer, &peer_length) != 0)
        return FALSE;
    table = fopen("/proc/net/tcp", "re");
    if (table == NULL)
        return FALSE;
    snprintf(wanted, sizeof(wanted), "%08X:%04X %08X:%04X", peer.sin_addr.s_addr,
             ntohs(peer.sin_port), own.sin_addr.s_addr, ntohs(own.sin_port));
    while (!ours && fgets(line, sizeof(line), table) != NULL) {
        const char *at = strstr(line, wanted);
        unsigned uid;

        if (at != NULL && sscanf(at + strlen(wanted), " %*x %*x:%*x %*x:%*x %*x %u", &uid) == 1) {
            ours = uid == getuid();
            break;
        }
    }
    fclose(table);
    return ours;
}

static void retry(uv_timer_t *timer);

static void accept_one(struct port *port)
{
    static const enum pmi2_auth auths[] = {PMI2_AUTH_NONE, PMI2_AUTH_NONE, PMI2_AUTH_CHALLENGE,
                                           PMI2_AUTH_DRAFT};
    struct channel *channel = channel_new(port->shell, NULL, NULL);
    struct pmi2_link *link;

    pmi2_server_time(port->shell->server, uv_hrtime());
    link = pmi2_server_client(port->shell->server, port->job, PMI2_NO_RANK, auths[port->kind],
                              channel);
    if (link == NULL) { /* enough strangers: it waits unaccepted */
        g_free(channel);
        uv_timer_start(&port->retry, retry, RETRY_MS, 0);
        return;
    }
    uv_tcp_init(port->shell->loop, &channel->at.tcp);
    if (uv_accept((uv_stream_t *)&port->listener, &channel->at.stream) != 0 ||
        !is_ours(&channel->at.tcp)) {
        channel_open(channel, link);
        channel_close(channel);
        return;
    }
    uv_tcp_nodelay(&channel->at.tcp, 1);
    channel_open(channel, link);
}

static void retry(uv_timer_t *timer)
{
    accept_one(timer->data);
}

static void came(uv_stream_t *listener, int status)
{
    if (status == 0)
        accept_one(listener->data);
}

struct port *port_new(struct shell *shell, const char *job, enum launch_port kind)
{
    struct port *port = g_new0(struct port, 1);
    struct sockaddr_in address;
    int length = sizeof(address);

    port->shell = shell;
    port->job = g_strdup(job);
    port->kind = kind;
    port->handles = 2;
    uv_tcp_init(shell->loop, &port->listener);
    uv_timer_init(shell->loop, &port->retry);
    port->listener.data = port->retry.data = port;
    uv_ip4_addr("127.0.0.1", 0, &address);
    if (uv_tcp_bind(&port->listener, (struct sockaddr *)&address, 0) == 0 &&
        uv_listen((uv_stream_t *)&port->listener, BACKLOG, came) == 0 &&
        uv_tcp_getsockname(&port->listener, (struct sockaddr *)&address, &length) == 0)
        snprintf(port->name, sizeof(port->name), "127.0.0.1:%u", ntohs(address.sin_port));
    return port;
}

const char *port_name(const struct port *port)
{
    return port->name;
}

gboolean port_key(const struct port *port, int ends[2])
{
    const uint8_t *key = port->shell->key;

    return pipe2(ends, O_CLOEXEC) == 0 &&
           write(ends[1], key, sizeof(port->shell->key)) == (ssize_t)sizeof(port->shell->key);
}

void port_close(struct port *port)
{
    uv_close((uv_handle_t *)&port->listener, closed);
    uv_close((uv_handle_t *)&port->retry, closed);
}
