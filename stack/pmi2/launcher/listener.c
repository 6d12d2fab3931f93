/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "listener.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proof.h"

#define STRANGERS 16
#define PROVE_MS 5000
#define BACKLOG 256

struct listener {
    struct listener_config config;
    GString *addresses;
    uv_tcp_t handle;
    GPtrArray *strangers;
    gboolean waiting, closed; /* waiting: one could not be accepted yet */
    guint users;
};

struct stranger {
    struct listener *listener;
    struct channel *channel; /* its stream; given away when it has proven */
    uv_timer_t timer;
    uv_write_t write;
    struct proof_hello hello;
    struct proof_answer answer;
    uint8_t proof[PROOF_BYTES];
    gsize got;
    char bytes[1024];
};

static void release(struct listener *listener)
{
    if (--listener->users > 0)
        return;
    g_ptr_array_unref(listener->strangers);
    g_string_free(listener->addresses, TRUE);
    g_free(listener);
}

static void accept_one(struct listener *listener);

/* ---- strangers --------------------------------------------------------------------------------
 */

static void timer_closed(uv_handle_t *handle)
{
    struct stranger *stranger = handle->data;
    struct listener *listener = stranger->listener;

    g_free(stranger);
    release(listener);
}

/* It is known now, or gone. */
static void forget(struct stranger *stranger)
{
    struct listener *listener = stranger->listener;

    g_ptr_array_remove_fast(listener->strangers, stranger);
    uv_close((uv_handle_t *)&stranger->timer, timer_closed);
    if (listener->waiting && !listener->closed) {
        listener->waiting = FALSE;
        accept_one(listener);
    }
}

static void stream_closed(uv_handle_t *handle)
{
    struct stranger *stranger = handle->data;

    g_free(stranger->channel);
    forget(stranger);
}

static void turn_away(struct stranger *stranger, const char *why)
{
    struct listener *listener = stranger->listener;

    if (uv_is_closing(&stranger->channel->at.handle))
        return;
    if (why != NULL)
        listener->config.refused(listener->config.owner, why);
    uv_timer_stop(&stranger->timer);
    uv_close(&stranger->channel->at.handle, stream_closed);
}

static void too_late(uv_timer_t *timer)
{
    turn_away(timer->data, "a connection was closed: it did not prove that it knows the key");
}

static void answered(uv_write_t *request, int status)
{
    if (status < 0 && status != UV_ECANCELED)
        turn_away(request->data, NULL);
}

static void answer(struct stranger *stranger)
{
    struct listener *listener = stranger->listener;
    uv_buf_t buffer = uv_buf_init((char *)&stranger->answer, sizeof(stranger->answer));

    if (memcmp(stranger->hello.magic, PROOF_MAGIC, sizeof(stranger->hello.magic)) != 0) {
        turn_away(stranger, "a connection was closed: it is not one of a pmproxy");
        return;
    }
    proof_random(stranger->answer.nonce, sizeof(stranger->answer.nonce));
    proof_make(listener->config.key, "above", &stranger->hello, stranger->answer.nonce,
               stranger->answer.proof);
    stranger->write.data = stranger;
    if (uv_write(&stranger->write, &stranger->channel->at.stream, &buffer, 1, answered) != 0)
        turn_away(stranger, NULL);
}

/* From here on it is a link of the tree; `rest` came behind the proof. */
static void become_link(struct stranger *stranger, const char *rest, gsize length)
{
    struct listener *listener = stranger->listener;
    struct channel *channel = stranger->channel;
    uint32_t first = ntohl(stranger->hello.first), last = ntohl(stranger->hello.last);
    uint8_t expected[PROOF_BYTES];
    struct pmi2_link *link;

    proof_make(listener->config.key, "below", &stranger->hello, stranger->answer.nonce, expected);
    if (!proof_equal(expected, stranger->proof)) {
        turn_away(stranger, "a connection was closed: its proof is wrong");
        return;
    }
    if (!listener->config.proven(listener->config.owner, first, last)) {
        turn_away(stranger, "a connection was closed: its nodes are served already, or not ours");
        return;
    }
    uv_read_stop(&channel->at.stream);
    forget(stranger);
    pmi2_server_time(listener->config.shell->server, uv_hrtime());
    link = pmi2_server_child(listener->config.shell->server, first, last, channel);
    if (!channel_open(channel, link))
        return;
    if (length > 0)
        pmi2_link_input(link, rest, length);
    listener->config.connected(listener->config.owner, first);
}

static void room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct stranger *stranger = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(stranger->bytes, sizeof(stranger->bytes));
}

/* First its hello, then its proof. */
static void heard(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct stranger *stranger = stream->data;
    const gsize hello = sizeof(stranger->hello), all = hello + PROOF_BYTES;
    gsize at;

    if (length < 0) {
        turn_away(stranger, NULL);
        return;
    }
    for (at = 0; at < (gsize)length && stranger->got < all; at++) {
        if (stranger->got < hello)
            ((char *)&stranger->hello)[stranger->got] = buffer->base[at];
        else
            stranger->proof[stranger->got - hello] = (uint8_t)buffer->base[at];
        if (++stranger->got == hello)
            answer(stranger);
        if (uv_is_closing(&stranger->channel->at.handle))
            return;
    }
    if (stranger->got == all)
        become_link(stranger, buffer->base + at, (gsize)length - at);
}

static void accept_one(struct listener *listener)
{
    uv_loop_t *loop = listener->config.shell->loop;
    struct stranger *stranger;

    if (listener->strangers->len >= STRANGERS) {
        listener->waiting = TRUE;
        return;
    }
    stranger = g_new0(struct stranger, 1);
    stranger->listener = listener;
    listener->users++;
    stranger->channel = channel_new(listener->config.shell, NULL, NULL);
    uv_timer_init(loop, &stranger->timer);
    stranger->timer.data = stranger;
    uv_tcp_init(loop, &stranger->channel->at.tcp);
    stranger->channel->at.handle.data = stranger;
    g_ptr_array_add(listener->strangers, stranger);
    if (uv_accept((uv_stream_t *)&listener->handle, &stranger->channel->at.stream) != 0) {
        turn_away(stranger, NULL);
        return;
    }
    uv_tcp_nodelay(&stranger->channel->at.tcp, 1);
    uv_timer_start(&stranger->timer, too_late, PROVE_MS, 0);
    uv_read_start(&stranger->channel->at.stream, room, heard);
}

static void came(uv_stream_t *stream, int status)
{
    if (status == 0)
        accept_one(stream->data);
}

/* ---- where it listens -------------------------------------------------------------------------
 */

/* The IPv4 addresses that other machines can reach, or that of one interface. */
static void own_addresses(const char *iface, GPtrArray *addresses)
{
    struct ifaddrs *list, *at;
    char text[INET_ADDRSTRLEN];

    if (getifaddrs(&list) != 0)
        return;
    for (at = list; at != NULL; at = at->ifa_next) {
        if (at->ifa_addr == NULL || at->ifa_addr->sa_family != AF_INET)
            continue;
        if (iface != NULL ? strcmp(iface, at->ifa_name) != 0 : (at->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        inet_ntop(AF_INET, &((struct sockaddr_in *)at->ifa_addr)->sin_addr, text, sizeof(text));
        g_ptr_array_add(addresses, g_strdup(text));
    }
    freeifaddrs(list);
}

/* MPIEXEC_PORT_RANGE or MPICH_PORT_RANGE, low:high. */
static void port_range(unsigned *low, unsigned *high)
{
    const char *range = g_getenv("MPIEXEC_PORT_RANGE");

    if (range == NULL)
        range = g_getenv("MPICH_PORT_RANGE");
    if (range == NULL || sscanf(range, "%u:%u", low, high) != 2 || *low > *high || *high > 65535)
        *low = *high = 0;
}

static gboolean bind_it(struct listener *listener, const char *address, GError **error)
{
    struct sockaddr_in where;
    unsigned low, high, port;
    int length = sizeof(where), code = UV_EADDRINUSE;

    port_range(&low, &high);
    for (port = low; port <= high && code != 0; port++) {
        uv_ip4_addr(address, (int)port, &where);
        code = uv_tcp_bind(&listener->handle, (struct sockaddr *)&where, 0);
        if (code == 0)
            code = uv_listen((uv_stream_t *)&listener->handle, BACKLOG, came);
    }
    if (code == 0)
        code = uv_tcp_getsockname(&listener->handle, (struct sockaddr *)&where, &length);
    if (code != 0) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "no port to listen on at %s: %s; see -iface and MPIEXEC_PORT_RANGE", address,
                    uv_strerror(code));
        return FALSE;
    }
    g_string_printf(listener->addresses, "%u", ntohs(where.sin_port));
    return TRUE;
}

/* What others connect to: the port is known, the names before it are made now. */
static void name_it(struct listener *listener, const GPtrArray *addresses)
{
    char *port = g_strdup(listener->addresses->str), host[256] = "";
    guint i;

    g_string_truncate(listener->addresses, 0);
    if (listener->config.localhost != NULL)
        g_string_append_printf(listener->addresses, "%s:%s ", listener->config.localhost, port);
    for (i = 0; i < addresses->len; i++)
        g_string_append_printf(listener->addresses, "%s:%s ",
                               (char *)g_ptr_array_index(addresses, i), port);
    if (listener->config.remote && gethostname(host, sizeof(host) - 1) == 0)
        g_string_append_printf(listener->addresses, "%s:%s ", host, port);
    g_string_truncate(listener->addresses, listener->addresses->len - 1);
    g_free(port);
}

struct listener *listener_new(const struct listener_config *config, GError **error)
{
    struct listener *listener = g_new0(struct listener, 1);
    GPtrArray *addresses = g_ptr_array_new_with_free_func(g_free);
    gboolean good;

    listener->config = *config;
    listener->users = 1;
    listener->strangers = g_ptr_array_new();
    listener->addresses = g_string_new(NULL);
    uv_tcp_init(config->shell->loop, &listener->handle);
    listener->handle.data = listener;
    if (!config->remote)
        g_ptr_array_add(addresses, g_strdup("127.0.0.1"));
    else
        own_addresses(config->iface, addresses);
    good = addresses->len > 0 || config->iface == NULL;
    if (!good)
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "-iface %s: no such interface",
                    config->iface);
    good =
        good && bind_it(listener,
                        !config->remote || config->iface != NULL ? g_ptr_array_index(addresses, 0)
                                                                 : "0.0.0.0",
                        error);
    if (good)
        name_it(listener, addresses);
    g_ptr_array_unref(addresses);
    if (good)
        return listener;
    listener_close(listener);
    return NULL;
}

const char *listener_addresses(const struct listener *listener)
{
    return listener->addresses->str;
}

static void handle_closed(uv_handle_t *handle)
{
    release(handle->data);
}

void listener_close(struct listener *listener)
{
    guint i;

    if (listener == NULL || listener->closed)
        return;
    listener->closed = TRUE;
    for (i = 0; i < listener->strangers->len; i++)
        turn_away(g_ptr_array_index(listener->strangers, i), NULL);
    uv_close((uv_handle_t *)&listener->handle, handle_closed);
}
