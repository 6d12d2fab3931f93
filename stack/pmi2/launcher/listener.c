/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "listener.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auth_listener.h"
#include "tcp.h"

struct pmrun_listener {
    struct pmrun_listener_config config;
    GString *addresses;
    struct pmrun_auth_listener auth;
    gboolean opened, closed;
};

/* ---- accepting ---------------------------------------------------------------------
 */

static struct pmrun_channel *channel_of(uv_tcp_t *stream)
{
    return (struct pmrun_channel *)((char *)stream - offsetof(struct pmrun_channel, at));
}

static uv_tcp_t *stream_new(void *owner)
{
    const struct pmrun_listener *listener = owner;

    return &pmrun_channel_new(listener->config.io, NULL, NULL)->at.tcp;
}

static void stream_free(void *owner, uv_tcp_t *stream)
{
    (void)owner;
    g_free(channel_of(stream));
}

static const char *wanted(void *owner, const struct pmrun_proof_hello *hello)
{
    const struct pmrun_listener *listener = owner;

    return listener->config.proven(listener->config.owner, ntohl(hello->first), ntohl(hello->last))
               ? NULL
               : "a connection was closed: its nodes are served already, or not ours";
}

/* From here on it is a link of the tree. */
static void enters(void *owner, const struct pmrun_proof_hello *hello, uv_tcp_t *stream,
                   const char *rest, gsize length)
{
    struct pmrun_listener *listener = owner;
    struct pmrun_channel *channel = channel_of(stream);
    uint32_t first = ntohl(hello->first);
    struct pmi2_link *link;

    pmi2_server_time(listener->config.io->server, uv_hrtime());
    link = pmi2_server_child(listener->config.io->server, first, ntohl(hello->last), channel);
    if (!pmrun_channel_open(channel, link))
        return;
    if (length > 0)
        pmi2_link_input(link, rest, length);
    listener->config.connected(listener->config.owner, first);
}

static void refused(void *owner, const char *why)
{
    const struct pmrun_listener *listener = owner;

    listener->config.refused(listener->config.owner, why);
}

static void auth_closed(void *owner)
{
    struct pmrun_listener *listener = owner;

    g_string_free(listener->addresses, TRUE);
    g_free(listener);
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
static gboolean listen_at(struct pmrun_listener *listener, const char *const *hosts,
                          const char **host, unsigned *port, GError **error)
{
    unsigned low, high, number;
    int fd = -1, code;

    port_range(&low, &high);
    for (; *hosts != NULL && fd < 0; hosts++) {
        *host = *hosts;
        for (number = low; number <= high && fd < 0; number++)
            fd = pmrun_tcp_listen(*host, number, port);
    }
    code = fd < 0 ? uv_translate_sys_error(errno) : 0;
    if (code == 0) {
        const struct pmrun_auth_listener_config auth = {
            .loop = listener->config.io->loop,
            .key = listener->config.key,
            .kind = &pmrun_proof_tree,
            .stream_new = stream_new,
            .stream_free = stream_free,
            .wanted = wanted,
            .enters = enters,
            .refused = refused,
            .closed = auth_closed,
            .owner = listener,
        };

        listener->opened = TRUE;
        code = pmrun_auth_listener_open(&listener->auth, &auth, fd);
    }
    if (code == 0)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                "no port to listen on at %s: %s; see -iface and MPIEXEC_PORT_RANGE", *host,
                uv_strerror(code));
    return FALSE;
}

static void add_name(struct pmrun_listener *listener, const char *host, unsigned port)
{
    char *name = pmrun_tcp_name(host, port);

    g_string_append_printf(listener->addresses, "%s%s", listener->addresses->len > 0 ? " " : "",
                           name);
    g_free(name);
}

/* What others connect to. */
static void name_it(struct pmrun_listener *listener, const GPtrArray *addresses, unsigned port)
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

/* Listens for this machine alone, on one interface, or on all of them. */
static gboolean open_it(struct pmrun_listener *listener, GError **error)
{
    static const char *const here[] = {"127.0.0.1", "::1", NULL}, *const any[] = {"::", "0.0.0.0",
                                                                                  NULL};
    const struct pmrun_listener_config *config = &listener->config;
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

struct pmrun_listener *pmrun_listener_new(const struct pmrun_listener_config *config,
                                          GError **error)
{
    struct pmrun_listener *listener = g_new0(struct pmrun_listener, 1);

    listener->config = *config;
    listener->addresses = g_string_new(NULL);
    if (open_it(listener, error))
        return listener;
    pmrun_listener_close(listener);
    return NULL;
}

const char *pmrun_listener_addresses(const struct pmrun_listener *listener)
{
    return listener->addresses->str;
}

void pmrun_listener_close(struct pmrun_listener *listener)
{
    if (listener == NULL || listener->closed)
        return;
    listener->closed = TRUE;
    if (listener->opened)
        pmrun_auth_listener_close(&listener->auth);
    else
        auth_closed(listener);
}
