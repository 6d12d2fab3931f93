/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rules of uGNI that programs may break: docs/findings.md describes each. The checks run in
 * simulation only, while fabric->checks is set.
 */
#ifndef JACQUARD_ARIES_FINDINGS_H
#define JACQUARD_ARIES_FINDINGS_H

#include "engine/finding.h"

enum aries_rule {
    ARIES_RULE_COMPLETION_UNREAD,
    ARIES_RULE_EVENT_UNREAD,
    ARIES_RULE_SOURCE_CHANGED,
    ARIES_RULE_RACE,
    ARIES_RULE_DESCRIPTOR_REUSED,
    ARIES_RULE_DESCRIPTOR_UNCOLLECTED,
    ARIES_RULE_REGISTRATION_IN_USE,
    ARIES_RULE_ENDPOINT_IN_USE,
    ARIES_RULE_QUEUE_IN_USE,
    ARIES_RULE_MAILBOX_IN_USE,
    ARIES_RULE_MESSAGE_UNRELEASED,
    ARIES_RULE_DATAGRAM_UNMATCHED,
    ARIES_RULE_WILDCARD_UNMATCHED,
    ARIES_RULES
};
extern struct sim_finding_rule aries_rules[ARIES_RULES];

#define ARIES_PEER_NAME 64u

struct aries_nic;
struct aries_fabric;
struct gni_nic;
/* An attachment is made: its process keeps its name for texts when it has ended. */
void aries_peer_remember(const struct gni_nic *nic);
void aries_peers_forget(struct aries_fabric *fabric); /* the fabric is destroyed */
/*
 * Writes the name of the process with this instance id on a NIC: its rank, or its id and node if no
 * process had it. `hw` may be NULL.
 */
void aries_peer_name(const struct aries_nic *hw, uint8_t ptag, uint32_t inst_id, char *name);

#endif
