/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Links: one for each process that this one exchanges records with, and which of them has a
 * registration. */
#include "transaction.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include "nic/cq_entry.h"

#define ASK_TRIES 4u

struct aries_live_link aries_live_self_link;
struct aries_live_link aries_live_dead_link = {.gone =
                                                   true}; /* the link of each process that died */

uint16_t aries_live_incarnation(uint32_t slot, uint32_t generation)
{
    return (uint16_t)(1 + (sim_mix(slot) + generation) % ARIES_MEM_INCARNATION_MAX);
}

static uint64_t flow_between(const struct shm_peer *from, const struct shm_peer *to)
{
    return sim_mix(sim_mix((uint64_t)from->slot << 32 | from->generation) ^
                   ((uint64_t)to->slot << 32 | to->generation));
}

sim_noinline struct aries_live_link *aries_live_link_to(struct shm_peer *peer)
{
    struct aries_live_link *link = peer->user;

    if (peer->self) {
        aries_live_self_link.incarnation = aries_live_incarnation(peer->slot, peer->generation);
        return &aries_live_self_link;
    }
    if (link == NULL) {
        link = peer->user = g_new0(struct aries_live_link, 1);
        link->peer = peer;
        link->incarnation = aries_live_incarnation(peer->slot, peer->generation);
        link->flow_to = flow_between(shm_self(aries_live.shm), peer);
        link->flow_from = flow_between(peer, shm_self(aries_live.shm));
        link->waiting_tail = &link->waiting;
        link->gone = peer->gone;
        link->next = aries_live.links;
        aries_live.links = link;
    }
    return link;
}

struct aries_live_link *aries_live_link_of(uint32_t slot, uint32_t generation)
{
    struct shm_peer *peer = NULL;
    int error = -ETIMEDOUT;
    unsigned tries;

    /* When many processes want the CPU, the daemon may be slow. */
    for (tries = 0; peer == NULL && error == -ETIMEDOUT && tries < ASK_TRIES; tries++)
        peer = shm_peer(aries_live.shm, slot, generation, &error);
    return peer != NULL ? aries_live_link_to(peer) : NULL;
}

struct aries_live_link *aries_live_name_owner(const struct shm_key *key)
{
    struct shm_name name;

    if (aries_live.shm == NULL || shm_lookup(aries_live.shm, key, &name) != 0)
        return NULL;
    return aries_live_link_of(name.slot, name.generation);
}

sim_cold struct aries_live_link *aries_live_find_owner(uint32_t node, uint32_t kind, uint64_t first,
                                                       uint64_t second)
{
    return aries_live_name_owner(&(struct shm_key){node, kind, {first, second}});
}

/* No process owns the registration. NULL if the process that made the handle is a member; otherwise
 * it has died. */
sim_cold struct aries_live_link *aries_live_link_of_stale_handle(uint32_t incarnation)
{
    struct shm_member member;
    uint32_t slot;

    if (incarnation == 0 || aries_live.shm == NULL)
        return NULL;
    for (slot = 0; slot < shm_facts(aries_live.shm)->processes_max; slot++)
        if (shm_member(aries_live.shm, slot, &member) &&
            aries_live_incarnation(slot, member.generation) == incarnation)
            return NULL;
    return &aries_live_dead_link;
}

sim_cold struct aries_live_link *aries_live_find_route(uint32_t node, uint32_t block,
                                                       uint32_t incarnation)
{
    struct aries_live_link **blocks = aries_live.routes[node], *link;

    if (blocks == NULL)
        blocks = aries_live.routes[node] = g_new0(struct aries_live_link *, ARIES_LIVE_MDH_BLOCKS);
    link = aries_live_find_owner(node, ARIES_LIVE_NAME_MDHS, block, 0);
    if (link != NULL)
        blocks[block] = link;
    else if (blocks[block] == NULL)
        return aries_live_link_of_stale_handle(incarnation);
    /* A process that has died is remembered: what is sent to it ends as with a dead node. */
    return blocks[block];
}

/* The link to the owner of a channel of the collective engine. NULL: no process has owned it. */
struct aries_live_link *aries_live_route_ce(const struct aries_nic *hw, uint32_t id)
{
    uint32_t vces = hw->fabric->timing.vces;
    struct aries_live_link **owner, *link;

    if (id >= vces)
        return NULL;
    owner = &aries_live.channels[hw->node * vces + id];
    link = aries_live_find_owner(hw->node, ARIES_LIVE_NAME_CE, id, 0);
    /* Otherwise the last owner replies that the channel does not exist, or is dead. */
    if (link != NULL)
        *owner = link;
    return *owner;
}

void aries_hw_ce_met(const struct aries_nic *hw, uint32_t id)
{
    if (hw != NULL)
        aries_live_route_ce(hw, id);
}

/* Removes the link from all tables. */
static void link_delete(struct aries_live_link *link)
{
    struct aries_live_link **at;
    uint32_t node, block, channel;

    for (node = 0; node < aries_live.fabric->nodes; node++)
        for (block = 0; aries_live.routes[node] != NULL && block < ARIES_LIVE_MDH_BLOCKS; block++)
            if (aries_live.routes[node][block] == link)
                aries_live.routes[node][block] = &aries_live_dead_link;
    for (channel = 0; channel < aries_live.fabric->nodes * aries_live.fabric->timing.vces;
         channel++)
        if (aries_live.channels[channel] == link)
            aries_live.channels[channel] = &aries_live_dead_link;
    for (at = &aries_live.links; *at != link; at = &(*at)->next)
        ;
    *at = link->next;
    for (at = &aries_live.active; *at != NULL && *at != link; at = &(*at)->next_active)
        ;
    if (*at == link)
        *at = link->next_active;
    g_free(link->txns);
    g_free(link);
}

void aries_live_link_gone(struct aries_live_link *link)
{
    struct aries_live_op *op;

    assert(!link->gone || link->peer->gone);
    link->gone = true;
    aries_live_settle_executed(link); /* what was executed before its end */
    aries_live_msgq_gone(link);
    while (link->txn_first != link->txn_next) {
        struct aries_live_txn *txn = aries_live_txn_at(link, link->txn_first++);

        if (txn->position != 0)
            aries_live_txn_end(txn, aries_live_status_of_death(txn->bytes), ARIES_CQ_CPLTN_SRSP,
                               false);
    }
    while ((op = link->waiting) != NULL) {
        link->waiting = op->next;
        op->offset = aries_live_bytes_of(&op->work);
        aries_live_op_end(op, aries_live_status_of_death(aries_live_bytes_of(&op->work)),
                          ARIES_CQ_CPLTN_SRSP);
    }
    link_delete(link);
}
