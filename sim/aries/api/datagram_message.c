/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages of datagram sessions: sending them, and matching those that arrive; see datagram.c. */
#include "api/datagram_session.h"

#include <assert.h>

/* ---- messages -------------------------------------------------------------------------------- */

struct aries_datagram_message *aries_datagram_send_to_peer(struct aries_datagram_session *session,
                                                           enum aries_datagram_kind kind)
{
    struct gni_nic *nic = session->owner->nic;
    struct aries_datagram_message content = {
        .kind = kind,
        .from = {nic->hw, nic->hw->pe_addr, nic->cdm->inst_id},
        .to = session->peer,
        .ptag = nic->ptag,
        .cookie = nic->cdm->cookie,
        .number = session->number,
        .about = session->peer_number,
        .session = kind == ARIES_DATAGRAM_OFFER ? session : NULL,
    };

    if (kind == ARIES_DATAGRAM_OFFER || kind == ARIES_DATAGRAM_ANSWER) {
        content.length = session->local_length;
        memcpy(content.data, session->local, session->local_length);
    }
    return aries_datagram_send(&content);
}

static struct gni_nic *find_instance(const struct aries_datagram_message *message)
{
    struct aries_list *attached = &message->to.nic->attached, *node;

    for (node = attached->next; node != attached; node = node->next) {
        struct gni_nic *nic = sim_container_of(node, struct gni_nic, nic_link);

        if (nic->ptag == message->ptag && nic->cdm->cookie == message->cookie &&
            nic->cdm->inst_id == message->to.inst_id)
            return nic;
    }
    return NULL;
}

static void offer_arrived(struct aries_datagrams *datagrams,
                          const struct aries_datagram_message *message)
{
    const struct aries_datagram_address *peer = &message->from;
    struct aries_datagram_session *session;
    bool remote_only;

    session = aries_datagram_find_peer(datagrams, peer->pe, peer->inst_id, &remote_only);
    if (session != NULL && session->state == ARIES_SESSION_WAITING) {
        aries_datagram_complete(session, message->data, message->length, message->number);
        return;
    }
    if (peer->nic == message->to.nic && peer->inst_id == message->to.inst_id)
        return; /* it was sent to its own instance, which has withdrawn it meanwhile */
    if (!aries_list_empty(&datagrams->wildcards)) {
        session =
            sim_container_of(datagrams->wildcards.next, struct aries_datagram_session, age_link);
        session->has_peer = true;
        session->peer = *peer;
        aries_list_add(aries_datagram_peer_bucket(datagrams, peer->pe, peer->inst_id),
                       &session->peer_link);
        aries_datagram_complete(session, message->data, message->length, message->number);
        aries_datagram_send_to_peer(session, ARIES_DATAGRAM_ANSWER);
        return;
    }
    session = aries_datagram_session_new(datagrams, ARIES_SESSION_REMOTE, peer);
    assert(message->length <= sizeof(session->remote));
    session->peer_number = message->number;
    session->remote_length = message->length;
    memcpy(session->remote, message->data, message->length);
    aries_list_add(&datagrams->remotes, &session->age_link);
    aries_process_notify(datagrams->nic->process);
}

/* Handles a message about a session that exists already. */
static void news_arrived(struct aries_datagrams *datagrams,
                         const struct aries_datagram_message *message)
{
    struct aries_list *bucket = aries_datagram_peer_bucket(datagrams, message->from.pe,
                                                           message->from.inst_id),
                      *node, *next;

    for (node = bucket->next; node != bucket; node = next) {
        struct aries_datagram_session *session =
            sim_container_of(node, struct aries_datagram_session, peer_link);

        next = node->next;
        if (session->peer.pe != message->from.pe || session->peer.inst_id != message->from.inst_id)
            continue;
        if (message->kind == ARIES_DATAGRAM_CANCEL && session->peer_number == message->number) {
            if (session->state == ARIES_SESSION_REMOTE)
                aries_datagram_session_free(session);
            /* A message of a peer is aries_datagram_checked, not asserted. */
            else if (aries_datagram_may_become(session->state, ARIES_SESSION_TERMINATED))
                aries_datagram_finalise(session, ARIES_SESSION_TERMINATED);
        } else if (message->kind != ARIES_DATAGRAM_CANCEL && session->number == message->about &&
                   session->state == ARIES_SESSION_WAITING) {
            if (message->kind == ARIES_DATAGRAM_ANSWER)
                aries_datagram_complete(session, message->data, message->length, message->number);
            else
                aries_datagram_finalise(session, ARIES_SESSION_TERMINATED);
        }
    }
}

bool aries_datagram_arrived(struct aries_datagram_message *message)
{
    struct gni_nic *nic = find_instance(message);

    if (nic == NULL)
        /* No one waits for the other kinds of message. */
        return message->kind != ARIES_DATAGRAM_OFFER;
    if (message->session != NULL) {
        message->session->offer = NULL;
        message->session = NULL;
    }
    if (message->kind == ARIES_DATAGRAM_OFFER)
        offer_arrived(aries_datagrams_of(nic), message);
    else
        news_arrived(aries_datagrams_of(nic), message);
    return true;
}

void aries_datagram_offer_arrived(struct aries_datagram_session *session)
{
    session->offer = NULL;
}

void aries_datagram_failed(struct aries_datagram_session *session)
{
    session->offer = NULL;
    if (session->state == ARIES_SESSION_WAITING)
        aries_datagram_finalise(session, ARIES_SESSION_TIMED_OUT);
}

void aries_datagrams_node_down(struct aries_fabric *fabric, uint32_t node)
{
    struct aries_nic *dead = &fabric->nics[node];
    uint32_t i;

    for (i = 0; i < fabric->nodes; i++) {
        struct aries_list *attached = &fabric->nics[i].attached, *at, *entry;

        for (at = attached->next; at != attached; at = at->next) {
            struct aries_datagrams *datagrams =
                sim_container_of(at, struct gni_nic, nic_link)->datagrams;

            for (entry = datagrams != NULL ? datagrams->all.next : NULL;
                 entry != NULL && entry != &datagrams->all; entry = entry->next) {
                struct aries_datagram_session *session =
                    sim_container_of(entry, struct aries_datagram_session, all_link);

                /*
                 * The offer is sent again although the node is dead, so that it fails after the
                 * usual number of tries.
                 */
                if (session->state == ARIES_SESSION_WAITING && session->has_peer &&
                    session->offer == NULL && session->peer.nic == dead)
                    session->offer = aries_datagram_send_to_peer(session, ARIES_DATAGRAM_OFFER);
            }
        }
    }
}

/* Ends sessions whose peer accepted the offer and has gone since. */
static void recheck(struct aries_datagrams *datagrams,
                    bool (*there)(const struct aries_datagram_address *peer,
                                  const struct gni_nic *nic))
{
    struct aries_list *entry;

    for (entry = datagrams->all.next; entry != &datagrams->all; entry = entry->next) {
        struct aries_datagram_session *session =
            sim_container_of(entry, struct aries_datagram_session, all_link);

        if (session->state == ARIES_SESSION_WAITING && session->has_peer &&
            session->offer == NULL && session->peer.nic != NULL &&
            !there(&session->peer, datagrams->nic))
            aries_datagram_finalise(session, ARIES_SESSION_TERMINATED);
    }
}

void aries_datagrams_recheck(struct aries_fabric *fabric,
                             bool (*there)(const struct aries_datagram_address *peer,
                                           const struct gni_nic *nic))
{
    struct aries_list *link;

    for (link = fabric->datagrams.next; link != &fabric->datagrams; link = link->next)
        recheck(sim_container_of(link, struct aries_datagrams, link), there);
}
