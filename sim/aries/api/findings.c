/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Findings about a program that ends or destroys a completion queue: unread events, descriptors
 * that it did not collect, and messages that it did not release.
 */
#include "api/findings.h"

#include <stdio.h>
#include "nic/cq_entry.h"
#include "nic/findings.h"

#define GROUPS 32u

/* Leftovers of a queue that differ in nothing but their number. */
struct group {
    enum aries_rule rule;
    const char *const *text; /* for one and for several: COMPLETIONS and the peer */
    char peer[ARIES_PEER_NAME];
    uint32_t count;
};

struct leftovers {
    struct gni_cq *cq;
    struct group group[GROUPS];
    unsigned groups;
};

static const char *const CQ_WRITES[2] = {"CQ write", "CQ writes"};
static const char *const REMOTE_EVENTS[2] = {"remote event from ", "remote events from "};
static const char *const COMPLETIONS[2] = {"completion of a post to ", "completions of posts to "};
static const char *const MESSAGES[2] = {"completion of a message to ",
                                        "completions of messages to "};
static const char *const OTHERS[2] = {"other event", "other events"};
static const char *const DESCRIPTORS[2] = {"descriptor of a post to ", "descriptors of posts to "};
static const char *const UNFINISHED[2] = {"post to ", "posts to "};

static bool checked(const struct aries_process *process)
{
    return process->fabric->checks && !process->dead && !process->leaving && process->nic->alive;
}

static void add(struct leftovers *leftovers, enum aries_rule rule, const char *const text[2],
                const char *peer)
{
    struct group *group = leftovers->group, *end = group + leftovers->groups;

    while (group < end &&
           (group->rule != rule || group->text != text || strcmp(group->peer, peer) != 0))
        group++;
    if (group == end && leftovers->groups < GROUPS) {
        leftovers->groups++;
        *group = (struct group){.rule = rule, .text = text};
        snprintf(group->peer, sizeof(group->peer), "%s", peer);
    } else if (group == end) { /* many peers: the others count as further ones of the rule */
        sim_finding_record(&aries_rules[rule], leftovers->cq->nic->hw->node,
                           leftovers->cq->nic->process->name, "%s%s were left in queue %u", text[1],
                           peer, leftovers->cq->index);
        return;
    }
    group->count++;
}

static void request_peer(const struct gni_cq *cq, const struct aries_request *request, char *name)
{
    const struct gni_ep *ep = request != NULL ? request->ep : NULL;

    if (ep != NULL)
        aries_peer_name(ep->remote, cq->nic->ptag, ep->remote_id, name);
    else if (request != NULL)
        aries_peer_name(NULL, cq->nic->ptag, request->inst_id, name);
    else
        snprintf(name, ARIES_PEER_NAME, "an unknown peer");
}

static void add_event(struct leftovers *leftovers, gni_cq_entry_t entry)
{
    struct gni_cq *cq = leftovers->cq;
    char peer[ARIES_PEER_NAME] = "";
    uint64_t type = aries_cq_entry_type(entry);

    switch (aries_cq_entry_source(entry)) {
    case ARIES_CQ_SOURCE_RMT:
        if (aries_cq_entry_info(entry) == ARIES_CQ_RMT_CQWRITE) {
            add(leftovers, ARIES_RULE_EVENT_UNREAD, CQ_WRITES, "");
            return;
        }
        snprintf(peer, sizeof(peer), "instance %u", (unsigned)(entry & UINT32_MAX));
        add(leftovers, ARIES_RULE_EVENT_UNREAD, REMOTE_EVENTS, peer);
        return;
    case ARIES_CQ_SOURCE_BTE:
    case ARIES_CQ_SOURCE_SSID:
        request_peer(cq, aries_request_of(cq, aries_cq_entry_tid(entry)), peer);
        if (type == GNI_CQ_EVENT_TYPE_POST)
            add(leftovers, ARIES_RULE_COMPLETION_UNREAD, COMPLETIONS, peer);
        else
            add(leftovers, ARIES_RULE_EVENT_UNREAD, MESSAGES, peer);
        return;
    default:
        add(leftovers, ARIES_RULE_EVENT_UNREAD, OTHERS, "");
    }
}

static gni_cq_entry_t entry_at(const struct gni_cq *cq, uint32_t place)
{
    return cq->ring[(cq->head + place) & (cq->ring_size - 1)].entry;
}

static bool is_unread(const struct gni_cq *cq, uint32_t tid)
{
    uint32_t i;

    for (i = 0; i < cq->count; i++)
        if (aries_cq_entry_type(entry_at(cq, i)) == GNI_CQ_EVENT_TYPE_POST &&
            aries_cq_entry_source(entry_at(cq, i)) != ARIES_CQ_SOURCE_RMT &&
            aries_cq_entry_tid(entry_at(cq, i)) == tid)
            return true;
    return false;
}

/* Posts whose event was read, but whose descriptor was not collected; and posts in flight. */
static void add_uncollected(struct leftovers *leftovers)
{
    struct gni_cq *cq = leftovers->cq;
    char peer[ARIES_PEER_NAME];
    uint32_t i;

    if (cq->lost_events)
        return; /* the program cannot know which posts have ended */
    for (i = 0; cq->requests_busy > 0 && i < cq->requests_count; i++) {
        const struct aries_request *request =
            &cq->requests[i >> ARIES_REQUESTS_SHIFT]->request[i & (ARIES_REQUESTS_CHUNK - 1)];

        if (!request->busy || request->descr == NULL || is_unread(cq, request->tid))
            continue;
        request_peer(cq, request, peer);
        if (request->pushed > 0)
            add(leftovers, ARIES_RULE_DESCRIPTOR_UNCOLLECTED, DESCRIPTORS, peer);
        else if (cq->nic->left_checked && request->in_flight && request->ep != NULL &&
                 request->ep->remote != NULL && request->ep->remote->alive)
            add(leftovers, ARIES_RULE_COMPLETION_UNREAD, UNFINISHED, peer);
    }
}

void aries_findings_cq_awaits(const struct gni_cq *cq, char *buffer, size_t size)
{
    const struct aries_request *request, *first = NULL;
    char peer[ARIES_PEER_NAME];
    uint32_t i, count = 0;

    for (i = 0; cq->requests_busy > 0 && i < cq->requests_count; i++) {
        request = &cq->requests[i >> ARIES_REQUESTS_SHIFT]->request[i & (ARIES_REQUESTS_CHUNK - 1)];
        if (!request->busy || !request->in_flight)
            continue;
        count++;
        first = first == NULL || request->tid < first->tid ? request : first;
    }
    if (count == 0) {
        snprintf(buffer, size, "%s",
                 cq->has_source ? ": nothing is in flight that completes there" : "");
        return;
    }
    request_peer(cq, first, peer);
    if (count == 1)
        snprintf(buffer, size, ": a transfer to %s has not completed", peer);
    else
        snprintf(buffer, size, ": %u transfers have not completed, one of them to %s", count, peer);
}

static const char *what_happened(const struct group *group)
{
    if (group->rule == ARIES_RULE_DESCRIPTOR_UNCOLLECTED)
        return "never collected with GNI_GetCompleted; the events came from";
    return group->text == UNFINISHED ? "still in flight at the end of" : "never read from";
}

void aries_findings_cq_ends(struct gni_cq *cq)
{
    const struct aries_process *process = cq->nic->process;
    struct leftovers leftovers = {.cq = cq};
    const struct group *group;
    uint32_t i;

    if (!checked(process) || cq->left_checked || (cq->count == 0 && cq->requests_busy == 0))
        return;
    cq->left_checked = true;
    for (i = 0; i < cq->count; i++)
        add_event(&leftovers, entry_at(cq, i));
    add_uncollected(&leftovers);
    for (group = leftovers.group; group < leftovers.group + leftovers.groups; group++)
        sim_finding_record(&aries_rules[group->rule], process->nic->node, process->name,
                           "%u %s%s %s %s queue %u", group->count, group->text[group->count != 1],
                           group->peer, group->count == 1 ? "was" : "were", what_happened(group),
                           cq->index);
}

static void messages_held(const struct gni_nic *nic)
{
    const struct aries_list *link;

    for (link = nic->eps.next; link != &nic->eps; link = link->next) {
        const struct gni_ep *ep = sim_container_of(link, struct gni_ep, nic_link);
        char peer[ARIES_PEER_NAME];

        if (!ep->connected || !ep->shown)
            continue;
        aries_peer_name(ep->remote, nic->ptag, ep->remote_id, peer);
        sim_finding_record(&aries_rules[ARIES_RULE_MESSAGE_UNRELEASED], nic->hw->node,
                           nic->process->name, "message %u from %s was received and never released",
                           ep->rx_received, peer);
    }
}

void aries_findings_nic_ends(struct gni_nic *nic)
{
    const struct aries_list *link;

    if (!checked(nic->process) || nic->left_checked)
        return;
    aries_findings_datagrams(nic, NULL);
    nic->left_checked = true;
    messages_held(nic);
    for (link = nic->cqs.next; link != &nic->cqs; link = link->next)
        aries_findings_cq_ends(sim_container_of(link, struct gni_cq, nic_link));
}

void aries_process_ended(struct aries_process *process)
{
    const struct aries_list *link;

    for (link = process->cdms.next; link != &process->cdms; link = link->next) {
        const struct gni_cdm *cdm = sim_container_of(link, struct gni_cdm, process_link);

        if (cdm->nic != NULL)
            aries_findings_nic_ends(cdm->nic);
    }
}
