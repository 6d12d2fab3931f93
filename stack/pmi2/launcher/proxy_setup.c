/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a pmproxy is told through its standard input. */
#define _GNU_SOURCE
#include "proxy_setup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "launch.h"

#define ORDERS_TYPE "(uayuuuua(suss)sssssb)"
#define ORDERS_FORMAT "(u@ayuuuu@a(suss)sssssb)"
#define LONGEST (64u << 20)
#define VERSION 1u

/* Options that may be missing: empty is missing. */
static const char *text(const char *option)
{
    return option != NULL ? option : "";
}

GByteArray *pmrun_proxy_setup_write(const struct tree_config *config, uint32_t first, uint32_t last,
                                    const char *above)
{
    GByteArray *bytes = g_byte_array_new();
    GVariantBuilder hosts;
    GVariant *all;
    uint32_t node, length;

    g_variant_builder_init(&hosts, G_VARIANT_TYPE("a(suss)"));
    for (node = first; node < last; node++) {
        const struct host *host = g_ptr_array_index(config->hosts, node);

        g_variant_builder_add(&hosts, "(suss)", host->name, host->slots, text(host->user),
                              text(host->binding));
    }
    all = g_variant_ref_sink(g_variant_new(
        ORDERS_FORMAT, VERSION,
        g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, config->key, TREE_KEY_BYTES, 1), first, last,
        config->fanout, config->max_spawned, g_variant_builder_end(&hosts), above,
        text(config->launcher), text(config->launcher_exec), text(config->iface),
        text(config->localhost), config->verbose));
    length = htonl((uint32_t)g_variant_get_size(all));
    g_byte_array_append(bytes, (const guint8 *)&length, sizeof(length));
    g_byte_array_append(bytes, g_variant_get_data(all), (guint)g_variant_get_size(all));
    explicit_bzero((void *)g_variant_get_data(all), g_variant_get_size(all));
    g_variant_unref(all);
    return bytes;
}

static gboolean read_all(int fd, void *to, gsize length)
{
    char *at = to;
    ssize_t got;

    while (length > 0) {
        got = read(fd, at, length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return FALSE;
        at += got;
        length -= (gsize)got;
    }
    return TRUE;
}

static char *given(const char *option)
{
    return *option != '\0' ? g_strdup(option) : NULL;
}

static void host_clear(gpointer data)
{
    struct host *host = data;

    g_free(host->name);
    g_free(host->user);
    g_free(host->binding);
    g_free(host);
}

static gboolean take(struct orders *orders, GVariant *all)
{
    GVariant *key, *hosts;
    const char *above, *launcher, *launcher_exec, *iface, *localhost;
    guint32 version;
    gsize length, i;
    const void *bytes;
    gboolean good;

    g_variant_get(all, "(u@ayuuuu@a(suss)&s&s&s&s&sb)", &version, &key, &orders->first,
                  &orders->last, &orders->fanout, &orders->max_spawned, &hosts, &above, &launcher,
                  &launcher_exec, &iface, &localhost, &orders->verbose);
    bytes = g_variant_get_fixed_array(key, &length, 1);
    good = version == VERSION && length == TREE_KEY_BYTES && orders->first < orders->last &&
           g_variant_n_children(hosts) == orders->last - orders->first && orders->fanout > 0;
    if (good)
        memcpy(orders->key, bytes, TREE_KEY_BYTES);
    orders->above = g_strdup(above);
    orders->launcher = given(launcher);
    orders->launcher_exec = given(launcher_exec);
    orders->iface = given(iface);
    orders->localhost = given(localhost);
    orders->hosts = g_ptr_array_new_with_free_func(host_clear);
    for (i = 0; good && i < orders->last; i++) {
        struct host *host = g_new0(struct host, 1);
        const char *name, *user, *binding;

        g_ptr_array_add(orders->hosts, host);
        if (i < orders->first)
            continue;
        g_variant_get_child(hosts, i - orders->first, "(&su&s&s)", &name, &host->slots, &user,
                            &binding);
        host->name = g_strdup(name);
        host->user = given(user);
        host->binding = given(binding);
    }
    g_variant_unref(key);
    g_variant_unref(hosts);
    return good;
}

gboolean pmrun_proxy_setup_read(int fd, struct orders *orders)
{
    uint32_t length;
    GVariant *all;
    void *bytes;
    gboolean good = FALSE;

    *orders = (struct orders){.fanout = 0};
    if (!read_all(fd, &length, sizeof(length)) || ntohl(length) > LONGEST)
        return FALSE;
    length = ntohl(length);
    bytes = g_malloc(length + 1);
    if (read_all(fd, bytes, length)) {
        all = pmrun_message_read(ORDERS_TYPE, bytes, length);
        good = all != NULL && take(orders, all);
        if (all != NULL)
            g_variant_unref(all);
    }
    explicit_bzero(bytes, length);
    g_free(bytes);
    if (!good)
        pmrun_proxy_setup_clear(orders);
    return good;
}

void pmrun_proxy_setup_clear(struct orders *orders)
{
    g_clear_pointer(&orders->hosts, g_ptr_array_unref);
    g_free(orders->above);
    g_free(orders->launcher);
    g_free(orders->launcher_exec);
    g_free(orders->iface);
    g_free(orders->localhost);
    explicit_bzero(orders, sizeof(*orders));
}
