/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Findings about a program that destroys, deregisters or reuses an object while a transfer needs
 * it. All checks run when the object goes, so they cost nothing on the path of a transfer.
 */
#include "api/findings.h"

#include <glib.h>
#include <inttypes.h>
#include "api/smsg_connection.h"
#include "nic/findings.h"

static bool checked(const struct gni_nic *nic)
{
    return nic->hw->fabric->checks && !nic->process->dead && !nic->process->leaving &&
           nic->hw->alive && !nic->left_checked;
}

/* Of a transfer to a node that has crashed, a program can only wait for the timeouts. */
static bool is_reachable(const struct gni_ep *ep)
{
    return ep->remote != NULL && ep->remote->alive;
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

/*
 * Requests of a queue whose transaction has not ended: of `ep`, or of any endpoint that is not
 * destroyed (NULL).
 */
static void count_in_flight(const struct gni_cq *cq, const struct gni_ep *ep, uint32_t *posts,
                            uint32_t *messages)
{
    uint32_t i;

    for (i = 0; i < cq->requests_count; i++) {
        const struct aries_request *request =
            &cq->requests[i >> ARIES_REQUESTS_SHIFT]->request[i & (ARIES_REQUESTS_CHUNK - 1)];

        if (!request->in_flight || request->orphan || request->ep == NULL ||
            !is_reachable(request->ep) || (ep != NULL && request->ep != ep))
            continue;
        if (request->descr != NULL)
            ++*posts;
        else
            ++*messages;
    }
}

void aries_findings_ep_destroyed(const struct gni_ep *ep)
{
    const struct aries_list *link;
    uint32_t posts = 0, messages = 0;
    char peer[ARIES_PEER_NAME];

    if (!checked(ep->nic) || ep->outstanding == 0)
        return;
    for (link = ep->nic->cqs.next; link != &ep->nic->cqs; link = link->next)
        count_in_flight(sim_container_of(link, struct gni_cq, nic_link), ep, &posts, &messages);
    if (posts + messages == 0)
        return;
    aries_peer_name(ep->remote, ep->nic->ptag, ep->remote_id, peer);
    sim_finding_record(&aries_rules[ARIES_RULE_ENDPOINT_IN_USE], ep->nic->hw->node,
                       ep->nic->process->name,
                       "destroyed the endpoint to %s while %u post%s and %u message%s of it were "
                       "in flight",
                       peer, posts, plural(posts), messages, plural(messages));
}

void aries_findings_cq_destroyed(const struct gni_cq *cq)
{
    uint32_t posts = 0, messages = 0, writes = 0;
    const struct aries_list *link;

    if (!checked(cq->nic))
        return;
    count_in_flight(cq, NULL, &posts, &messages);
    for (link = cq->nic->mrs.next; link != &cq->nic->mrs; link = link->next) {
        const struct aries_mr *mr = sim_container_of(link, struct aries_mr, nic_link);

        if (mr->cq == cq)
            writes += mr->targeted;
    }
    if (posts + messages + writes > 0)
        sim_finding_record(
            &aries_rules[ARIES_RULE_QUEUE_IN_USE], cq->nic->hw->node, cq->nic->process->name,
            "destroyed queue %u while %u post%s, %u message%s and %u transfer%s to "
            "registrations with this queue were in flight",
            cq->index, posts, plural(posts), messages, plural(messages), writes, plural(writes));
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Messages that the other end of the connection has sent and whose transfer has not ended. */
static uint32_t messages_in_flight(const struct gni_ep *ep)
{
    const struct gni_ep *peer =
        g_tree_lookup(ep->nic->hw->fabric->mailboxes, (void *)(uintptr_t)ep->tx_ring);
    uint32_t posts = 0, messages = 0;

    if (peer == NULL || !peer->nic->hw->alive || peer->nic->process->dead ||
        peer->tx_ring != (uintptr_t)ep->rx_ring || peer->cq == NULL)
        return 0;
    count_in_flight(peer->cq, peer, &posts, &messages);
    return messages;
}

static void check_mailboxes(const struct aries_mr *mr)
{
    const struct aries_list *link;

    for (link = mr->nic->eps.next; link != &mr->nic->eps; link = link->next) {
        const struct gni_ep *ep = sim_container_of(link, struct gni_ep, nic_link);
        char peer[ARIES_PEER_NAME];
        uint32_t count;

        if (!ep->connected || (uintptr_t)ep->rx_ring < mr->asked ||
            (uintptr_t)ep->rx_ring - mr->asked >= mr->bytes)
            continue;
        count = messages_in_flight(ep);
        if (count == 0)
            continue;
        aries_peer_name(ep->remote, ep->nic->ptag, ep->remote_id, peer);
        sim_finding_record(&aries_rules[ARIES_RULE_MAILBOX_IN_USE], ep->nic->hw->node,
                           ep->nic->process->name,
                           "deregistered the mailbox for messages of %s while %u of them %s in "
                           "flight",
                           peer, count, count == 1 ? "was" : "were");
    }
}

void aries_findings_deregistered(const struct aries_mr *mr)
{
    if (!checked(mr->nic))
        return;
    if (mr->in_flight > 0)
        sim_finding_record(
            &aries_rules[ARIES_RULE_REGISTRATION_IN_USE], mr->nic->hw->node, mr->nic->process->name,
            "%u %s in flight still needed a registration of %" PRIu64 " bytes that it deregistered",
            mr->in_flight, mr->in_flight == 1 ? "transfer" : "transfers", mr->bytes);
    check_mailboxes(mr);
}

void aries_findings_mailbox_new(const struct gni_ep *ep, const uint8_t *ring, uint32_t bytes)
{
    const uint8_t *end = ring + bytes;
    const struct gni_ep *other = NULL;
    char peer[ARIES_PEER_NAME];
    GTreeNode *next, *previous;

    if (!checked(ep->nic))
        return;
    /* Mailboxes of the tree do not overlap each other, so only the neighbours can overlap. */
    next = g_tree_lower_bound(ep->nic->hw->fabric->mailboxes, ring);
    previous = next != NULL ? g_tree_node_previous(next)
                            : g_tree_node_last(ep->nic->hw->fabric->mailboxes);
    if (previous != NULL)
        other = g_tree_node_value(previous);
    if (other != NULL && other->rx_ring + other->rx_bytes <= ring - ARIES_SMSG_CONTROL_BYTES)
        other = NULL;
    if (other == NULL && next != NULL)
        other = g_tree_node_value(next);
    if (other == NULL || other->rx_ring + other->rx_bytes <= ring - ARIES_SMSG_CONTROL_BYTES ||
        other->rx_ring - ARIES_SMSG_CONTROL_BYTES >= end)
        return;
    aries_peer_name(other->remote, other->nic->ptag, other->remote_id, peer);
    sim_finding_record(
        &aries_rules[ARIES_RULE_MAILBOX_IN_USE], ep->nic->hw->node, ep->nic->process->name,
        "initialised a mailbox in memory that is the mailbox for messages of %s", peer);
}
