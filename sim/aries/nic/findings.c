/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of rules; see findings.h. */
#include "nic/findings.h"

#include <glib.h>
#include <stdio.h>
#include "engine/random.h"
#include "nic/attachment.h"
#include "nic/interface.h"

struct sim_finding_rule aries_rules[ARIES_RULES] = {
    [ARIES_RULE_COMPLETION_UNREAD] =
        {"aries.completion-unread",
         "a rank ended or destroyed a queue without reading the completions of its own posts",
         SIM_FINDING_ERROR},
    [ARIES_RULE_EVENT_UNREAD] =
        {"aries.event-unread",
         "a rank ended or destroyed a queue without reading remote events or events of messages",
         SIM_FINDING_COUNT},
    [ARIES_RULE_SOURCE_CHANGED] =
        {"aries.source-changed", "a program changed the source of a PUT before the NIC had read it",
         SIM_FINDING_ERROR},
    [ARIES_RULE_RACE] =
        {"aries.race",
         "two transfers in flight at the same time used the same bytes, and one of them wrote",
         SIM_FINDING_WARNING},
    [ARIES_RULE_DESCRIPTOR_REUSED] =
        {"aries.descriptor-reused",
         "a program posted or changed a descriptor before it had collected its completion",
         SIM_FINDING_ERROR},
    [ARIES_RULE_DESCRIPTOR_UNCOLLECTED] =
        {"aries.descriptor-uncollected",
         "a program read the completion of a post and never called GNI_GetCompleted",
         SIM_FINDING_WARNING},
    [ARIES_RULE_REGISTRATION_IN_USE] =
        {"aries.registration-in-use",
         "a program deregistered memory that a transfer in flight still needed", SIM_FINDING_ERROR},
    [ARIES_RULE_ENDPOINT_IN_USE] =
        {"aries.endpoint-in-use",
         "a program destroyed an endpoint while posts or messages of it were in flight",
         SIM_FINDING_ERROR},
    [ARIES_RULE_QUEUE_IN_USE] =
        {"aries.queue-in-use",
         "a program destroyed a completion queue that a transfer in flight still needed",
         SIM_FINDING_ERROR},
    [ARIES_RULE_MAILBOX_IN_USE] =
        {"aries.mailbox-in-use",
         "a program deregistered or reused the memory of a mailbox that a connection still needed",
         SIM_FINDING_ERROR},
    [ARIES_RULE_MESSAGE_UNRELEASED] =
        {"aries.message-unreleased",
         "a rank ended with a message that it had received and not released", SIM_FINDING_WARNING},
    [ARIES_RULE_DATAGRAM_UNMATCHED] =
        {"aries.datagram-unmatched",
         "a rank ended with a datagram to a named peer that the peer had never answered",
         SIM_FINDING_WARNING},
    [ARIES_RULE_WILDCARD_UNMATCHED] = {"aries.wildcard-unmatched",
                                       "a rank ended with a wildcard datagram that nobody matched",
                                       SIM_FINDING_COUNT},
};

void aries_findings_register(void)
{
    unsigned i;

    for (i = 0; i < ARIES_RULES; i++)
        sim_finding_rule_register(&aries_rules[i]);
}

void aries_fabric_check(struct aries_fabric *fabric, bool on)
{
    fabric->checks = on;
}

/* ---- names of peers -------------------------------------------------------------------------- */

/* Nodes have fewer than 24 bits. A later job on the node may have the same instances. */
static gpointer name_key(const struct aries_nic *hw, uint8_t ptag, uint32_t inst_id)
{
    return GSIZE_TO_POINTER((gsize)hw->node << 40 | (gsize)ptag << 32 | inst_id);
}

static guint hash_key(gconstpointer key)
{
    return (guint)sim_mix(GPOINTER_TO_SIZE(key));
}

void aries_peer_remember(const struct gni_nic *nic)
{
    struct aries_fabric *fabric = nic->hw->fabric;

    if (!fabric->checks || nic->process->name == NULL)
        return;
    if (fabric->names == NULL)
        fabric->names = g_hash_table_new_full(hash_key, NULL, NULL, g_free);
    g_hash_table_insert(fabric->names, name_key(nic->hw, nic->ptag, nic->inst_id),
                        g_strdup(nic->process->name));
}

void aries_peers_forget(struct aries_fabric *fabric)
{
    if (fabric->names != NULL)
        g_hash_table_destroy(fabric->names);
}

/* NULL: no process with a name had this instance. */
static const char *last_name(const struct aries_nic *hw, uint8_t ptag, uint32_t inst_id)
{
    return hw != NULL && hw->fabric->names != NULL
               ? g_hash_table_lookup(hw->fabric->names, name_key(hw, ptag, inst_id))
               : NULL;
}

void aries_peer_name(const struct aries_nic *hw, uint8_t ptag, uint32_t inst_id, char *name)
{
    const char *last = last_name(hw, ptag, inst_id);
    const struct aries_list *link;

    for (link = hw != NULL ? hw->attached.next : NULL; hw != NULL && link != &hw->attached;
         link = link->next) {
        const struct gni_nic *nic = sim_container_of(link, struct gni_nic, nic_link);

        if (nic->ptag == ptag && nic->inst_id == inst_id && nic->process->name != NULL)
            last = nic->process->name;
    }
    if (last != NULL)
        snprintf(name, ARIES_PEER_NAME, "%s", last);
    else if (hw != NULL)
        snprintf(name, ARIES_PEER_NAME, "instance %u of node %u", inst_id, hw->node);
    else
        snprintf(name, ARIES_PEER_NAME, "instance %u", inst_id);
}

void aries_instance_name(const struct aries_process *process, uint32_t pe_addr, uint32_t inst_id,
                         char *name, size_t size)
{
    const struct aries_nic *hw = aries_nic_by_pe(process->fabric, pe_addr);
    const struct aries_list *link;
    const char *last = NULL;

    for (link = process->nic->attached.next; last == NULL && link != &process->nic->attached;
         link = link->next) {
        const struct gni_nic *nic = sim_container_of(link, struct gni_nic, nic_link);

        if (nic->process == process)
            last = last_name(hw, nic->ptag, inst_id);
    }
    if (last != NULL)
        snprintf(name, size, "%s", last);
    else
        snprintf(name, size, "instance %u at NIC address %u", inst_id, pe_addr);
}
