/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Entering LNet, and the small queries. */
#include "core/internal.h"

#include <stdio.h>

static struct lnet_node *fail(struct lnet_node *node, const char *call, const char *what)
{
    char text[128];

    snprintf(text, sizeof(text), "%s: %s", call, what);
    lnet_host_panic(node, text);
    return NULL;
}

struct lnet_node *lnet_enter(const char *call, bool running)
{
    struct lnet_node *node = lnet_host_current();

    if (node == NULL)
        return NULL;
    if (lnet_host_locked_by_me(node))
        return fail(node, call, "LNet was called from the callback of an event queue");

    sim_settle();
    lnet_host_lock(node);
    if (node->state == LNET_PANICKED || (running && node->references == 0)) {
        lnet_host_unlock(node);
        if (node->state == LNET_PANICKED)
            return NULL;
        return fail(node, call, "LNet is not initialised");
    }
    return node;
}

void lnet_leave(struct lnet_node *node, int cost_ns)
{
    lnet_host_unlock(node);
    if (node->panic_of_program)
        lnet_host_stay(node);
    sim_spend((sim_time_t)cost_ns * SIM_NS);
}

int LNetGetId(unsigned int index, struct lnet_process_id *id)
{
    struct lnet_node *node = lnet_enter("LNetGetId", true);
    const struct lnet_ni *ni;

    if (node == NULL)
        return -ENODEV;

    ni = lnet_ni_by_index(node->instance, index);
    if (ni != NULL) {
        id->nid = ni->nid;
        id->pid = node->pid;
    }
    lnet_leave(node, node->params.cost_other_ns);
    return ni != NULL ? 0 : -ENOENT;
}

lnet_nid_t LNetPrimaryNID(lnet_nid_t nid)
{
    struct lnet_node *node = lnet_enter("LNetPrimaryNID", true);
    lnet_nid_t primary;

    if (node == NULL)
        return nid;

    lnet_discovery_wait(node, nid);
    primary = lnet_peer_primary(node->instance, nid);
    lnet_leave(node, node->params.cost_other_ns);
    return primary;
}

bool LNetIsPeerLocal(lnet_nid_t nid)
{
    struct lnet_node *node = lnet_enter("LNetIsPeerLocal", true);
    bool local;

    if (node == NULL)
        return false;

    local = lnet_ni_by_nid(node->instance, nid) != NULL;
    lnet_leave(node, node->params.cost_other_ns);
    return local;
}

int LNetGetPeerDiscoveryStatus(void)
{
    const struct lnet_node *node = lnet_host_current();

    return node != NULL && node->params.lnet_peer_discovery_disabled == 0;
}

void LNetDebugPeer(struct lnet_process_id id)
{
    (void)id; /* no functional effect */
}

int LNetSnprintHandle(char *str, int str_len, struct lnet_handle_md handle)
{
    return snprintf(str, str_len > 0 ? (size_t)str_len : 0, "%#llx", handle.cookie);
}

int LNetSetAsync(struct lnet_process_id id, int nasync)
{
    (void)id;
    (void)nasync;
    return 0;
}

const char *libcfs_module_setting(const char *module, const char *name)
{
    struct lnet_node *node = lnet_host_current();

    return node != NULL ? lnet_setting(node->settings, node->setting_count, module, name) : NULL;
}
