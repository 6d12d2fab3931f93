/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A node of the host: what it has before LNet starts on it, and after LNet stopped. */
#include "core/internal.h"
#include "libcfs_host.h"

#include <stdlib.h>
#include <string.h>

static void settings_free(struct lnet_node *node)
{
    uint32_t i;

    for (i = 0; i < node->setting_count; i++) {
        free((char *)node->settings[i].name);
        free((char *)node->settings[i].value);
    }
    free(node->settings);
}

static void node_free(struct lnet_node *node)
{
    settings_free(node);
    free(node->interfaces);
    free(node->panic_text);
    libcfs_node_free(node->libcfs);
    free(node->name);
    free(node);
}

static bool copy_config(struct lnet_node *node, const struct lnet_node_config *config)
{
    uint32_t i;

    node->name = strdup(config->name);
    node->interfaces = calloc(config->interface_count + 1, sizeof(node->interfaces[0]));
    node->settings = calloc(config->setting_count + 1, sizeof(node->settings[0]));
    if (node->name == NULL || node->interfaces == NULL || node->settings == NULL)
        return false;

    node->interface_count = config->interface_count;
    for (i = 0; i < config->interface_count; i++)
        node->interfaces[i] = config->interfaces[i];
    for (i = 0; i < config->setting_count; i++) {
        node->settings[i].name = strdup(config->settings[i].name);
        node->settings[i].value = strdup(config->settings[i].value);
        node->setting_count = i + 1;
        if (node->settings[i].name == NULL || node->settings[i].value == NULL)
            return false;
    }
    return true;
}

/* Parameters of module libcfs, which reads them itself. */
static bool check_libcfs(const struct lnet_node *node, char **error)
{
    static const char module[] = "libcfs.";
    uint32_t i;

    for (i = 0; i < node->setting_count; i++) {
        const struct lnet_setting *setting = &node->settings[i];

        if (strncmp(setting->name, module, strlen(module)) != 0 ||
            libcfs_parameter_check(setting->name + strlen(module), setting->value))
            continue;
        *error = lnet_text("%s: %s: there is no such parameter, or it has no such value",
                           setting->name, setting->value);
        return false;
    }
    return true;
}

struct lnet_node *lnet_node_create(const struct lnet_node_config *config, char **error)
{
    struct lnet_node *node = calloc(1, sizeof(*node));

    if (node == NULL) {
        *error = strdup("no memory");
        return NULL;
    }
    node->number = config->number;
    node->owner = config->owner;
    node->credits_min = INT32_MAX;
    INIT_LIST_HEAD(&node->drop_rules);
    INIT_LIST_HEAD(&node->delay_rules);
    INIT_LIST_HEAD(&node->failing);
    sim_random_init(&node->random, config->seed, "lnet", config->number);
    if (!copy_config(node, config)) {
        node_free(node);
        *error = strdup("no memory");
        return NULL;
    }
    if (!lnet_params_read(&node->params, node->settings, node->setting_count, error) ||
        !check_libcfs(node, error) || !lnet_config_check(node, error)) {
        node_free(node);
        return NULL;
    }
    lnet_trace_register();
    lnet_host_open(node);
    return node;
}

void lnet_node_destroy(struct lnet_node *node)
{
    if (node == NULL)
        return;

    lnet_host_lock(node);
    node->silent = true;
    lnet_instance_stop(node);
    lnet_fault_free(node);
    lnet_host_unlock(node);
    lnet_host_close(node);
    node_free(node);
}

int lnet_node_start(struct lnet_node *node, lnet_pid_t pid)
{
    int rc;

    lnet_host_lock(node);
    rc = lnet_instance_start(node, pid);
    lnet_host_unlock(node);
    return rc;
}

void lnet_node_stop(struct lnet_node *node)
{
    lnet_host_lock(node);
    lnet_instance_stop(node);
    lnet_host_unlock(node);
}

int lnet_node_fail_nid(struct lnet_node *node, lnet_nid_t nid, int threshold)
{
    return lnet_fail_nid(node, nid, threshold);
}

int lnet_node_credits_min(const struct lnet_node *node)
{
    return node->credits_min;
}

void lnet_node_crash(struct lnet_node *node)
{
    lnet_host_lock(node);
    node->silent = true;
    lnet_instance_stop(node);
    node->silent = false;
    libcfs_node_free(node->libcfs);
    node->libcfs = NULL;
    lnet_host_unlock(node);
}

void *lnet_node_owner(const struct lnet_node *node)
{
    return node->owner;
}

uint32_t lnet_node_number(const struct lnet_node *node)
{
    return node->number;
}

bool lnet_node_running(const struct lnet_node *node)
{
    return node->state == LNET_RUNNING;
}

const char *lnet_node_panic_text(const struct lnet_node *node)
{
    return node->panic_text;
}

void lnet_node_counters(const struct lnet_node *node, struct lnet_counters *counters)
{
    *counters = node->counters;
}

bool lnet_node_panic_of_program(const struct lnet_node *node)
{
    return node->panic_of_program;
}

/* Found in instances that have stopped; the one that runs has no leaks yet. */
void lnet_node_leaks(const struct lnet_node *node, struct lnet_leaks *leaks)
{
    *leaks = node->leaks;
}
