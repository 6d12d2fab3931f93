/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "listener.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "door.h"
#include "owner.h"
#include "proof.h"
#include "tcp.h"

#define STRANGERS_EACH 16 /* of one user of this machine, or of another machine */
#define STRANGERS_ALL 256
#define PROVE_MS 5000

struct listener {
    struct listener_config config;
    GString *addresses;
    struct door door;
    GPtrArray *strangers; /* oldest first */
    gboolean opened, closed;
    guint users;
};

struct stranger {
    struct listener *listener;
    struct channel *channel; /* its stream; given away when it has proven */
    char *name; /* as whom it is counted: owner_name() */
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

/* ---- strangers --------------------------------------------------------------------------------
 */

static void timer_closed(uv_handle_t *handle)
{
    struct stranger *stranger = handle->data;
    struct listener *listener = stranger->listener;

    g_free(stranger->name);
    g_free(stranger);
    release(listener);
}

/* It is known now, or gone. */
static void forget(struct stranger *stranger)
{
    g_ptr_array_remove(stranger->listener->strangers, stranger);
    uv_close((uv_handle_t *)&stranger->timer, timer_closed);
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

    assert(stranger->got == sizeof(stranger->hello) + sizeof(stranger->proof));
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

/* How many connections are counted as `name`, and which is the oldest. */
static guint count_of(const struct listener *listener, const char *name, struct stranger **oldest)
{
    guint count = 0, i;

    for (i = 0; i < listener->strangers->len; i++) {
        struct stranger *stranger = g_ptr_array_index(listener->strangers, i);

        if (strcmp(stranger->name, name) == 0 && !uv_is_closing(&stranger->channel->at.handle) &&
            count++ == 0)
            *oldest = stranger;
    }
    return count;
}

/* The oldest connection of those who have the most. */
static struct stranger *one_of_the_most(const struct listener *listener)
{
    struct stranger *found = NULL, *oldest = NULL;
    guint most = 0, count, i;

    for (i = 0; i < listener->strangers->len; i++) {
        const struct stranger *stranger = g_ptr_array_index(listener->strangers, i);

        count = count_of(listener, stranger->name, &oldest);
        if (count > most) {
            most = count;
            found = oldest;
        }
    }
    return found;
}

/* Connections that prove nothing must keep no place from those that will: whoever has too many
 * loses his own oldest one. */
static void make_room(struct listener *listener, const char *name)
{
    struct stranger *oldest = NULL;

    if (count_of(listener, name, &oldest) >= STRANGERS_EACH) {
        turn_away(oldest, "a connection was closed: too many of the same user or machine");
        return;
    }
    if (listener->strangers->len >= STRANGERS_ALL)
        oldest = one_of_the_most(listener);
    if (oldest != NULL && listener->strangers->len >= STRANGERS_ALL)
        turn_away(oldest, "a connection was closed: too many");
}

static void came(void *owner)
{
    struct listener *listener = owner;
    uv_loop_t *loop = listener->config.shell->loop;
    struct stranger *stranger;
    uv_os_fd_t fd;
    gboolean accepted;

    stranger = g_new0(struct stranger, 1);
    stranger->listener = listener;
    listener->users++;
    stranger->channel = channel_new(listener->config.shell, NULL, NULL);
    uv_timer_init(loop, &stranger->timer);
    stranger->timer.data = stranger;
    uv_tcp_init(loop, &stranger->channel->at.tcp);
    stranger->channel->at.handle.data = stranger;
    accepted = door_accept(&listener->door, &stranger->channel->at.tcp) &&
               uv_fileno(&stranger->channel->at.handle, &fd) == 0;
    stranger->name = accepted ? owner_name(fd) : g_strdup("nobody");
    if (accepted)
        make_room(listener, stranger->name);
    g_ptr_array_add(listener->strangers, stranger);
    if (!accepted || uv_read_start(&stranger->channel->at.stream, room, heard) != 0) {
        turn_away(stranger, NULL);
        return;
    }
    uv_timer_start(&stranger->timer, too_late, PROVE_MS, 0);
}

/* ---- where it listens -------------------------------------------------------------------------
 */

static gboolean is_named(const struct ifaddrs *at, const char *iface, int family)
{
    if (at->ifa_addr == NULL || at->ifa_addr->sa_family != family)
        return FALSE;
    if (iface != NULL ? strcmp(iface, at->ifa_name) != 0 : (at->ifa_flags & IFF_LOOPBACK) != 0)
        return FALSE;
    /* One of the link alone means something else on each machine. */
    return family != AF_INET6 ||
           !IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)at->ifa_addr)->sin6_addr);
}

/* The addresses that other machines can reach, or those of one interface; IPv4 first. */
static void own_addresses(const char *iface, GPtrArray *addresses)
{
    static const int families[] = {AF_INET, AF_INET6};
    struct ifaddrs *list, *at;
    char text[INET6_ADDRSTRLEN];
    guint i;

    if (getifaddrs(&list) != 0)
        return;
    for (i = 0; i < G_N_ELEMENTS(families); i++)
        for (at = list; at != NULL; at = at->ifa_next) {
            if (!is_named(at, iface, families[i]))
                continue;
            if (families[i] == AF_INET)
                inet_ntop(AF_INET, &((struct sockaddr_in *)at->ifa_addr)->sin_addr, text,
                          sizeof(text));
            else
                inet_ntop(AF_INET6, &((struct sockaddr_in6 *)at->ifa_addr)->sin6_addr, text,
                          sizeof(text));
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

/* At the first of these addresses that has a free port in the range. */
static gboolean listen_at(struct listener *listener, const char *const *hosts, const char **host,
                          unsigned *port, GError **error)
{
    unsigned low, high, number;
    int fd = -1, code;

    port_range(&low, &high);
    for (; *hosts != NULL && fd < 0; hosts++) {
        *host = *hosts;
        for (number = low; number <= high && fd < 0; number++)
            fd = tcp_listen(*host, number, port);
    }
    code = fd < 0 ? uv_translate_sys_error(errno) : 0;
    if (code == 0) {
        listener->opened = TRUE;
        code = door_open(&listener->door, listener->config.shell->loop, fd, came, listener);
    }
    if (code == 0)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                "no port to listen on at %s: %s; see -iface and MPIEXEC_PORT_RANGE", *host,
                uv_strerror(code));
    return FALSE;
}

static void add_name(struct listener *listener, const char *host, unsigned port)
{
    char *name = tcp_name(host, port);

    g_string_append_printf(listener->addresses, "%s%s", listener->addresses->len > 0 ? " " : "",
                           name);
    g_free(name);
}

/* What others connect to. */
static void name_it(struct listener *listener, const GPtrArray *addresses, unsigned port)
{
    char host[256] = "";
    guint i;

    if (listener->config.localhost != NULL)
        add_name(listener, listener->config.localhost, port);
    for (i = 0; i < addresses->len; i++)
        add_name(listener, g_ptr_array_index(addresses, i), port);
    if (listener->config.remote && gethostname(host, sizeof(host) - 1) == 0)
        add_name(listener, host, port);
}

/* Where others come from decides: this machine alone, one interface, all of them. */
static gboolean open_it(struct listener *listener, GError **error)
{
    static const char *const here[] = {"127.0.0.1", "::1", NULL}, *const any[] = {"::", "0.0.0.0",
                                                                                  NULL};
    const struct listener_config *config = &listener->config;
    GPtrArray *addresses = g_ptr_array_new_with_free_func(g_free);
    const char *one[] = {NULL, NULL}, *host = NULL;
    unsigned port = 0;
    gboolean good = FALSE;

    if (config->remote)
        own_addresses(config->iface, addresses);
    if (config->remote && config->iface != NULL) {
        if (addresses->len > 1) /* that is what it listens at */
            g_ptr_array_set_size(addresses, 1);
        if (addresses->len == 1) {
            one[0] = g_ptr_array_index(addresses, 0);
            good = listen_at(listener, one, &host, &port, error);
        } else {
            g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                        "-iface %s: no such interface, or no address that others can reach",
                        config->iface);
        }
    } else {
        good = listen_at(listener, config->remote ? any : here, &host, &port, error);
    }
    if (good && !config->remote)
        g_ptr_array_add(addresses, g_strdup(host));
    if (good)
        name_it(listener, addresses, port);
    g_ptr_array_unref(addresses);
    return good;
}

struct listener *listener_new(const struct listener_config *config, GError **error)
{
    struct listener *listener = g_new0(struct listener, 1);

    listener->config = *config;
    listener->users = 1;
    listener->strangers = g_ptr_array_new();
    listener->addresses = g_string_new(NULL);
    if (open_it(listener, error))
        return listener;
    listener_close(listener);
    return NULL;
}

const char *listener_addresses(const struct listener *listener)
{
    return listener->addresses->str;
}

static void door_closed(void *owner)
{
    release(owner);
}

void listener_close(struct listener *listener)
{
    guint i;

    if (listener == NULL || listener->closed)
        return;
    listener->closed = TRUE;
    for (i = 0; i < listener->strangers->len; i++)
        turn_away(g_ptr_array_index(listener->strangers, i), NULL);
    if (listener->opened)
        door_close(&listener->door, door_closed);
    else
        release(listener);
}
