/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The settings that a pmproxy reads from its standard input. */
#define _GNU_SOURCE
#include "proxy_setup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "launch.h"

#define SETUP_TYPE "(uayuuuua(suss)sssssb)"
#define SETUP_FORMAT "(u@ayuuuu@a(suss)sssssb)"
#define LONGEST (64u << 20)
#define VERSION 1u

/* Options that may be missing: empty is missing. */
static const char *text(const char *option)
{
    return option != NULL ? option : "";
}

GByteArray *pmrun_proxy_setup_write(const struct pmrun_tree_config *config, uint32_t first,
                                    uint32_t last, const char *above)
{
    GByteArray *bytes = g_byte_array_new();
    GVariantBuilder hosts;
    GVariant *all;
    uint32_t node, length;

    g_variant_builder_init(&hosts, G_VARIANT_TYPE("a(suss)"));
    for (node = first; node < last; node++) {
        const struct pmrun_host *host = g_ptr_array_index(config->hosts, node);

        g_variant_builder_add(&hosts, "(suss)", host->name, host->slots, text(host->user),
                              text(host->binding));
    }
    all = g_variant_ref_sink(g_variant_new(
        SETUP_FORMAT, VERSION,
        g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, config->key, PMRUN_TREE_KEY_BYTES, 1), first,
        last, config->fanout, config->max_spawned, g_variant_builder_end(&hosts), above,
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
    struct pmrun_host *host = data;

    g_free(host->name);
    g_free(host->user);
    g_free(host->binding);
    g_free(host);
}

static gboolean take(struct pmrun_proxy_setup *setup, GVariant *all)
{
    GVariant *key, *hosts;
    const char *above, *launcher, *launcher_exec, *iface, *localhost;
    guint32 version;
    gsize length, i;
    const void *bytes;
    gboolean good;

    g_variant_get(all, "(u@ayuuuu@a(suss)&s&s&s&s&sb)", &version, &key, &setup->first, &setup->last,
                  &setup->fanout, &setup->max_spawned, &hosts, &above, &launcher, &launcher_exec,
                  &iface, &localhost, &setup->verbose);
    bytes = g_variant_get_fixed_array(key, &length, 1);
    good = version == VERSION && length == PMRUN_TREE_KEY_BYTES && setup->first < setup->last &&
           g_variant_n_children(hosts) == setup->last - setup->first && setup->fanout > 0;
    if (good)
        memcpy(setup->key, bytes, PMRUN_TREE_KEY_BYTES);
    setup->above = g_strdup(above);
    setup->launcher = given(launcher);
    setup->launcher_exec = given(launcher_exec);
    setup->iface = given(iface);
    setup->localhost = given(localhost);
    setup->hosts = g_ptr_array_new_with_free_func(host_clear);
    for (i = 0; good && i < setup->last; i++) {
        struct pmrun_host *host = g_new0(struct pmrun_host, 1);
        const char *name, *user, *binding;

        g_ptr_array_add(setup->hosts, host);
        if (i < setup->first)
            continue;
        g_variant_get_child(hosts, i - setup->first, "(&su&s&s)", &name, &host->slots, &user,
                            &binding);
        host->name = g_strdup(name);
        host->user = given(user);
        host->binding = given(binding);
    }
    g_variant_unref(key);
    g_variant_unref(hosts);
    return good;
}

gboolean pmrun_proxy_setup_read(int fd, struct pmrun_proxy_setup *setup)
{
    uint32_t length;
    GVariant *all;
    void *bytes;
    gboolean good = FALSE;

    *setup = (struct pmrun_proxy_setup){.fanout = 0};
    if (!read_all(fd, &length, sizeof(length)) || ntohl(length) > LONGEST)
        return FALSE;
    length = ntohl(length);
    bytes = g_malloc(length + 1);
    if (read_all(fd, bytes, length)) {
        all = pmrun_message_read(SETUP_TYPE, bytes, length);
        good = all != NULL && take(setup, all);
        if (all != NULL)
            g_variant_unref(all);
    }
    explicit_bzero(bytes, length);
    g_free(bytes);
    if (!good)
        pmrun_proxy_setup_clear(setup);
    return good;
}

void pmrun_proxy_setup_clear(struct pmrun_proxy_setup *setup)
{
    g_clear_pointer(&setup->hosts, g_ptr_array_unref);
    g_free(setup->above);
    g_free(setup->launcher);
    g_free(setup->launcher_exec);
    g_free(setup->iface);
    g_free(setup->localhost);
    explicit_bzero(setup, sizeof(*setup));
}
