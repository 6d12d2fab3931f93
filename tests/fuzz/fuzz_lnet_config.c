/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: any text as a setting of an LNet node. The first byte says which one: the text
 * of a parameter, a text as in LNET_OPTIONS, or a file of lnetctl. The node is made or refused with
 * a message; if it is made, it starts and stops.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/internal.h"
#include "lnet/export.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#define TEXT_MAX 8192

static const struct lnet_interface interfaces[] = {
    {.name = "eth0", .lnd_type = SOCKLND, .address = 0x0a000005},
    {.name = "ib0", .lnd_type = O2IBLND, .address = 0x0a010005},
};
static const struct lnet_export_host host = {.interfaces = interfaces, .interface_count = 2};

static void check(bool good)
{
    if (!good)
        abort();
}

static int start_up(struct lnet_ni *ni)
{
    ni->nid = LNET_MKNID(LNET_NIDNET(ni->nid), ni->interface.address);
    return 0;
}

static void shut_down(struct lnet_ni *ni)
{
    (void)ni;
}

/* Drivers that do nothing: settings are all that counts. */
#define DRIVER(name_, type_, module_)                            \
    static const struct lnet_lnd name_ = {.type = type_,         \
                                          .module = module_,     \
                                          .credits = 256,        \
                                          .peer_credits = 8,     \
                                          .peer_timeout_s = 180, \
                                          .startup = start_up,   \
                                          .shutdown = shut_down}
DRIVER(ethernet, SOCKLND, "ksocklnd");
DRIVER(infiniband, O2IBLND, "ko2iblnd");

static struct lnet_node *nobody(void)
{
    return NULL;
}

static void make_node(const struct lnet_setting *settings, uint32_t count)
{
    struct lnet_node_config config = {.name = "n",
                                      .interfaces = interfaces,
                                      .interface_count = 2,
                                      .settings = settings,
                                      .setting_count = count};
    char *error = NULL;
    struct lnet_node *node = lnet_node_create(&config, &error);

    check((node == NULL) == (error != NULL && error[0] != '\0'));
    free(error);
    if (node == NULL)
        return;
    (void)lnet_node_start(node, LNET_PID_LUSTRE);
    lnet_node_destroy(node);
}

static void read_file(const char *text)
{
    struct lnet_settings config = {0};
    char path[64], *error = NULL;
    int file = memfd_create("lnetctl", 0);
    bool ok;

    check(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    ok = lnet_export_read(&config, path, &host, &error);
    check(ok == (error == NULL));
    if (ok)
        make_node(config.settings, config.count);
    free(error);
    lnet_settings_free(&config);
    close(file);
}

static void read_options(const char *text)
{
    struct lnet_settings config = {0};
    char *error = NULL;
    bool ok = lnet_options_read(&config, text, &error);

    check(ok == (error == NULL));
    if (ok)
        make_node(config.settings, config.count);
    free(error);
    lnet_settings_free(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const char *const names[] = {"networks", "ip2nets", "routes"};
    struct sim_options options = {.seed = 1};
    struct lnet_setting settings[2] = {{"networks", "tcp(eth0),o2ib(ib0)"}};
    char text[TEXT_MAX];
    unsigned what;

    if (length < 1 || length > sizeof(text))
        return 0;
    memcpy(text, bytes + 1, length - 1);
    text[length - 1] = '\0';
    what = (uint8_t)(bytes[0] - '0') % 5u;
    sim_init(&options);
    lnet_lnd_register(&ethernet);
    lnet_lnd_register(&infiniband);
    lnet_sim_set_current(nobody);
    if (what < 3) {
        settings[1] = (struct lnet_setting){names[what], text};
        make_node(what == 2 ? settings : settings + 1, what == 2 ? 2 : 1);
    } else if (what == 3) {
        read_options(text);
    } else {
        read_file(text);
    }
    lnet_sim_end();
    sim_fini();
    return 0;
}
