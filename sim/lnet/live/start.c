/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The node of a live process: its parameters, the machine's interfaces, its capture. */
#define _GNU_SOURCE
#include "loop.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libcfs_host.h"
#include "lnet/api.h"
#include "lnet/export.h"
#include "lnd/tcp/capture.h"
#include "lnd/tcp/sock.h"
#include "lnet/live.h"

#define INTERFACES_MAX 256

static struct lnet_node *node;
static struct lnet_capture capture;

/* ---- interfaces -------------------------------------------------------------------------------
 */

struct interfaces {
    uint32_t count;
    struct lnet_interface interface[INTERFACES_MAX];
};

static void add_interface(struct interfaces *all, const char *name, size_t length, uint32_t address)
{
    struct lnet_interface *interface = &all->interface[all->count];

    if (all->count == INTERFACES_MAX || length >= sizeof(interface->name))
        return;
    *interface = (struct lnet_interface){.lnd_type = SOCKLND, .address = address};
    memcpy(interface->name, name, length);
    all->count++;
}

/* Those that are up: loop-back last, because `networks` without a name means the first one. */
static void add_of_system(struct interfaces *all, bool loopback)
{
    struct ifaddrs *list = NULL, *at;

    if (getifaddrs(&list) != 0)
        return;
    for (at = list; at != NULL; at = at->ifa_next) {
        const struct sockaddr_in *address = (const struct sockaddr_in *)at->ifa_addr;

        if (address == NULL || address->sin_family != AF_INET || !(at->ifa_flags & IFF_UP) ||
            loopback != ((at->ifa_flags & IFF_LOOPBACK) != 0))
            continue;
        add_interface(all, at->ifa_name, strlen(at->ifa_name), ntohl(address->sin_addr.s_addr));
    }
    freeifaddrs(list);
}

/* Whether a socket of this process may have the address. */
static bool is_of_machine(uint32_t address)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool ok = probe >= 0 && bind(probe, (struct sockaddr *)&name, sizeof(name)) == 0;

    if (probe >= 0)
        close(probe);
    return ok;
}

/* An address in `networks` is an interface of that name. In `ip2nets`, which is the same text on
 * all machines, only one of this machine is. */
static void add_addresses(struct interfaces *all, const char *networks, bool of_all_machines)
{
    while (*networks != '\0') {
        size_t length = strspn(networks, "0123456789.");
        char text[32] = "";
        struct in_addr address;

        if (length > 0 && length < sizeof(text)) {
            memcpy(text, networks, length);
            if (inet_pton(AF_INET, text, &address) == 1 &&
                (!of_all_machines || is_of_machine(ntohl(address.s_addr))))
                add_interface(all, text, length, ntohl(address.s_addr));
        }
        networks += length > 0 ? length : 1;
    }
}

/* An address of this machine, or an interface that came up since the start. */
bool lnet_host_interface(uint32_t lnd_type, const char *name, struct lnet_interface *interface)
{
    struct interfaces *all = calloc(1, sizeof(*all));
    bool found = false;
    uint32_t i;

    if (all == NULL || lnd_type != SOCKLND || strlen(name) >= sizeof(interface->name)) {
        free(all);
        return false;
    }
    add_addresses(all, name, true);
    add_of_system(all, false);
    add_of_system(all, true);
    for (i = 0; i < all->count && !found; i++) {
        found = strcmp(all->interface[i].name, name) == 0;
        if (found)
            *interface = all->interface[i];
    }
    free(all);
    return found;
}

/* ---- starting ---------------------------------------------------------------------------------
 */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const char *libcfs_parameter(const char *name)
{
    return node != NULL ? lnet_setting(node->settings, node->setting_count, "libcfs", name) : NULL;
}

static unsigned libcfs_thread(void)
{
    return (unsigned)gettid();
}

static const struct libcfs_host libcfs_host = {
    .parameter = libcfs_parameter, .control = lnet_module_control, .thread = libcfs_thread};

static bool start(const struct lnet_setting *settings, uint32_t count, char **error)
{
    const char *networks = lnet_setting(settings, count, "lnet", "networks");
    const char *ip2nets = lnet_setting(settings, count, "lnet", "ip2nets");
    const char *control = lnet_setting(settings, count, "lnet", "control");
    struct interfaces *all = calloc(1, sizeof(*all));
    struct lnet_node_config config = {
        .name = "this process",
        .seed = clock_ns(CLOCK_REALTIME) ^ (uint64_t)getpid() << 32,
        .settings = settings,
        .setting_count = count,
    };
    int failure;

    if (all == NULL || node != NULL) {
        *error = lnet_text(all == NULL ? "no memory" : "LNet has been started before");
        free(all);
        return false;
    }
    add_of_system(all, false);
    add_of_system(all, true);
    add_addresses(all, networks != NULL ? networks : "", false);
    add_addresses(all, ip2nets != NULL ? ip2nets : "", true);
    config.interfaces = all->interface;
    config.interface_count = all->count;
    sim_wall_init();
    lnet_sock_users_are_nodes = true;
    lnet_lnd_register(&lnet_lnd_tcp);
    node = lnet_node_create(&config, error);
    free(all);
    if (node == NULL) {
        sim_wall_fini();
        return false;
    }
    node->params.cost_route_ns = 0; /* forwarding takes the time that it takes */
    failure = lnet_loop_start(node);
    if (failure != 0) {
        *error = lnet_text("the event loop did not start: %s", strerror(-failure));
        lnet_node_destroy(node);
        node = NULL;
        sim_wall_fini();
        return false;
    }
    lnet_live_set_node(node);
    libcfs_host_set(&libcfs_host);
    libcfs_parameters_read();
    if (control != NULL && !lnet_live_control(control, error)) {
        lnet_live_stop();
        return false;
    }
    return true;
}

bool lnet_live_start(const struct lnet_live_parameter *parameters, uint32_t count, char **error)
{
    struct lnet_settings config = {0};
    uint32_t i;
    bool ok;

    /* Processes of a user have no reserved ports: an explicit "secure" still counts. */
    lnet_settings_add(&config, "lnet.accept", "all");
    for (i = 0; i < count; i++)
        lnet_settings_add(&config, parameters[i].name, parameters[i].value);
    ok = start(config.settings, config.count, error);
    lnet_settings_free(&config);
    return ok;
}

bool lnet_live_start_file(const char *path, const struct lnet_live_parameter *more, uint32_t count,
                          char **error)
{
    struct lnet_export_host host = {.tcp_only = true};
    struct interfaces *all = calloc(1, sizeof(*all));
    struct lnet_settings config = {0};
    uint32_t i;
    bool ok;

    if (all == NULL) {
        *error = lnet_text("no memory");
        return false;
    }
    add_of_system(all, false);
    add_of_system(all, true);
    host.interfaces = all->interface;
    host.interface_count = all->count;
    lnet_settings_add(&config, "lnet.accept", "all");
    ok = lnet_export_read(&config, path, &host, error);
    free(all);
    for (i = 0; ok && i < count; i++)
        lnet_settings_add(&config, more[i].name, more[i].value);
    if (ok)
        ok = start(config.settings, config.count, error);
    lnet_settings_free(&config);
    return ok;
}

bool lnet_live_start_text(const char *text, char **error)
{
    struct lnet_settings config = {0};
    bool ok;

    lnet_settings_add(&config, "lnet.accept", "all");
    ok = lnet_options_read(&config, text, error);
    if (ok)
        ok = start(config.settings, config.count, error);
    lnet_settings_free(&config);
    return ok;
}

static void start_from_environment(void)
{
    const char *text = getenv("LNET_OPTIONS");
    char *error = NULL;

    /* LNetNIInit answers that there is no node; why, only this line can say. */
    if (node == NULL && !lnet_live_start_text(text != NULL ? text : "", &error))
        fprintf(stderr, "liblnet: LNET_OPTIONS: %s\n", error);
    free(error);
}

void lnet_live_ensure(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, start_from_environment);
}

void lnet_live_stop(void)
{
    char *error = NULL;

    if (node == NULL)
        return;
    lnet_live_control_end();
    lnet_node_destroy(node);
    lnet_live_set_node(NULL);
    lnet_loop_stop();
    (void)lnet_live_capture_end(&error); /* a program that wants to know ends it before */
    free(error);
    node = NULL;
    sim_wall_fini();
}

/* ---- captures ---------------------------------------------------------------------------------
 */

bool lnet_live_capture(const char *path, char **error)
{
    uint64_t epoch = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);

    assert(node != NULL && lnet_capture == NULL);
    capture = (struct lnet_capture){lnet_pcap_open(path, epoch, error), true};
    if (capture.pcap == NULL)
        return false;
    lnet_host_lock(node);
    lnet_capture = &capture;
    lnet_host_unlock(node);
    return true;
}

bool lnet_live_capture_end(char **error)
{
    struct lnet_pcap *pcap = capture.pcap;

    if (pcap == NULL)
        return true;
    lnet_capture = NULL;
    capture.pcap = NULL;
    return lnet_pcap_close(pcap, error);
}
