/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNetNIInit and LNetNIFini: the instance of a node comes and goes. */
#include "core/internal.h"

#include <stdlib.h>

static struct lnet_instance *instance_new(struct lnet_node *node)
{
    struct lnet_instance *instance = calloc(1, sizeof(*instance));

    if (instance == NULL)
        return NULL;

    instance->node = node;
    INIT_LIST_HEAD(&instance->nets);
    INIT_LIST_HEAD(&instance->removed_nis);
    INIT_LIST_HEAD(&instance->mds);
    INIT_LIST_HEAD(&instance->eqs);
    INIT_LIST_HEAD(&instance->messages);
    INIT_LIST_HEAD(&instance->ready);
    INIT_LIST_HEAD(&instance->peers);
    INIT_LIST_HEAD(&instance->trackers);
    INIT_LIST_HEAD(&instance->resends);
    INIT_LIST_HEAD(&instance->recovering_nis);
    INIT_LIST_HEAD(&instance->recovering_peers);
    INIT_LIST_HEAD(&instance->remote_nets);
    INIT_LIST_HEAD(&instance->gateways);
    INIT_LIST_HEAD(&instance->forwarding);
    instance->started = sim_now();
    return instance;
}

/* Descriptors that a consumer left bound. */
static void unlink_leftovers(struct lnet_node *node)
{
    struct lnet_libmd *md, *next;

    list_for_each_entry_safe (md, next, &node->instance->mds, on_node) {
        node->instance->leaks.mds++;
        if (!md->dead)
            lnet_md_abort(node, md);
    }
}

static void portals_drop(struct lnet_node *node)
{
    uint32_t i;

    for (i = 0; i < LNET_PORTALS; i++) {
        if (node->instance->portals[i] != NULL)
            lnet_lazy_drop(node, node->instance->portals[i], NULL);
    }
}

static void add_leaks(struct lnet_leaks *to, const struct lnet_leaks *from)
{
    to->mes += from->mes;
    to->mds += from->mds;
    to->eqs += from->eqs;
    to->messages += from->messages;
    to->credits += from->credits;
    to->connections += from->connections;
}

/* Messages that no driver ended. They cannot be: a driver ends all in its shutdown. */
static void messages_free(struct lnet_node *node)
{
    struct list_head *messages = &node->instance->messages;

    while (!list_empty(messages)) {
        struct lnet_msg *msg = list_first_entry(messages, struct lnet_msg, on_node);

        node->instance->leaks.messages++;
        list_del(&msg->on_list);
        msg->no_resend = true;
        msg->ack_wanted = false;
        lnet_finalize(msg, -ESHUTDOWN);
    }
}

/* Messages under way to the node are lost. After a crash, messages that it sent may be lost, too.
 */
static void records_lost(struct lnet_node *node)
{
    struct lnet_ni *ni;
    uint32_t i;

    for (i = 1; (ni = lnet_ni_by_index(node->instance, i)) != NULL; i++) {
        lnet_records_lost(NULL, ni->nid);
        if (node->silent)
            lnet_record_dead(ni->nid);
    }
    if (node->silent)
        lnet_records_lost(node, LNET_NID_ANY);
}

static void stop(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;

    node->state = LNET_STOPPING;
    lnet_pinger_stop(node);
    lnet_response_stop(node);
    lnet_resend_stop(node);
    lnet_recovery_stop(node);
    lnet_ping_stop(node);
    lnet_discovery_stop(node);
    lnet_fault_stop(node);
    lnet_router_stop(node);
    portals_drop(node);
    lnet_nis_stop(node);
    records_lost(node);
    messages_free(node);
    lnet_nis_free(node);
    instance->leaks.connections += node->connections;
    lnet_portals_free(node);
    unlink_leftovers(node);
    lnet_eq_free_all(node);
    lnet_ping_free(instance);
    lnet_discovery_free(instance);
    lnet_router_free(instance);
    lnet_routes_free(node);
    lnet_peers_free(instance);
    lnet_handles_free(&instance->handles);
    add_leaks(&node->leaks, &instance->leaks);
    node->instance = NULL;
    free(instance);
    node->state = LNET_DOWN;
    node->silent = false;
    node->configured = node->without_settings = false;
    node->references = 0;
}

static void records_alive(struct lnet_node *node)
{
    const struct lnet_ni *ni;
    uint32_t i;

    for (i = 1; (ni = lnet_ni_by_index(node->instance, i)) != NULL; i++)
        lnet_record_alive(ni->nid);
}

static int start(struct lnet_node *node, lnet_pid_t pid)
{
    int rc;

    node->instance = instance_new(node);
    if (node->instance == NULL)
        return -ENOMEM;

    node->state = LNET_STARTING;
    node->pid = pid;
    node->interface_cookie = sim_random_next(&node->random);
    node->incarnation = sim_now() / SIM_US + 1;
    node->references = 1;
    rc = lnet_nis_start(node);
    if (rc == 0 && !node->without_settings)
        rc = lnet_peers_start(node);
    if (rc == 0 && !node->without_settings)
        rc = lnet_routes_start(node);
    if (rc == 0)
        rc = lnet_router_start(node);
    if (rc == 0)
        rc = lnet_ping_start(node);
    if (rc == 0)
        rc = lnet_discovery_start(node);
    if (rc != 0) {
        stop(node);
        return rc;
    }
    records_alive(node);
    node->state = LNET_RUNNING;
    lnet_pinger_start(node);
    return 0;
}

int lnet_instance_start(struct lnet_node *node, lnet_pid_t pid)
{
    if (node->references > 0)
        return (int)node->references++;
    if (pid == LNET_PID_ANY)
        return -ENETDOWN;

    return start(node, pid);
}

int lnet_instance_join(struct lnet_node *node)
{
    int rc = -ENETDOWN;

    lnet_host_lock(node);
    if (node->state == LNET_RUNNING) {
        node->references++;
        rc = 0;
    }
    lnet_host_unlock(node);
    return rc;
}

int LNetNIInit(lnet_pid_t requested_pid)
{
    struct lnet_node *node = lnet_enter("LNetNIInit", false);
    int rc;

    if (node == NULL)
        return -ENODEV;

    rc = lnet_instance_start(node, requested_pid);
    lnet_pinger_wait(node);
    lnet_leave(node, node->params.cost_other_ns);
    return rc;
}

int LNetNIFini(void)
{
    struct lnet_node *node = lnet_enter("LNetNIFini", true);

    if (node == NULL)
        return -ENODEV;

    if (node->references > 1)
        node->references--;
    else
        stop(node);
    lnet_leave(node, node->params.cost_other_ns);
    return 0;
}

void lnet_instance_stop(struct lnet_node *node)
{
    if (node->instance != NULL)
        stop(node);
}
