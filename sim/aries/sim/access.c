/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Transfers in flight and the memory that they use: for the rules aries.race and
 * aries.registration-in-use.
 *
 * An access lasts from the post until its last byte was written or read at the target, or until the
 * transaction ends. It is found by the blocks of target memory that it covers: a table of chains,
 * by a hash of node and block. An access to many blocks is in the list of wide ones instead, which
 * every search visits; its own search visits all accesses. Which of several conflicts is reported
 * does not depend on addresses: it is the oldest one.
 */
#include "sim/nic.h"

#include <assert.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include "nic/findings.h"

#define BLOCK_SHIFT 16
#define BLOCKS 4u /* most blocks of an access that is not wide */
#define CHAINS 4096u

struct place { /* an access in the chain of a block */
    struct aries_list link;
    struct aries_access_span *access;
};

struct aries_access_span {
    struct aries_list link; /* in `all`, `landed` or `free` */
    struct aries_list wide; /* those to more than BLOCKS blocks */
    struct place places[BLOCKS];
    unsigned places_count;
    uint64_t serial;
    uint64_t first, last; /* host addresses of the bytes at the target */
    sim_time_t posted;
    struct aries_nic *target, *source;
    struct aries_mr *mr, *local_mr; /* local: NULL once it is not needed any more */
    uint64_t local_addr; /* of the first byte, as posted */
    uint32_t inst_id; /* of the initiator */
    uint8_t op, ptag;
    bool in_order;
};

struct aries_accesses {
    struct aries_list all, wide;
    struct aries_list landed; /* the target's bytes are done, the transaction has not ended */
    struct aries_list free;
    struct aries_list chains[CHAINS];
    uint64_t serial;
};

static struct aries_accesses *accesses_of(struct aries_fabric *fabric)
{
    struct aries_accesses *accesses = fabric->sim->accesses;
    unsigned i;

    if (accesses != NULL)
        return accesses;
    accesses = fabric->sim->accesses = g_new0(struct aries_accesses, 1);
    aries_list_init(&accesses->all);
    aries_list_init(&accesses->wide);
    aries_list_init(&accesses->landed);
    aries_list_init(&accesses->free);
    for (i = 0; i < CHAINS; i++)
        aries_list_init(&accesses->chains[i]);
    return accesses;
}

static struct aries_list *chain_of(struct aries_accesses *accesses,
                                   const struct aries_access_span *access, uint64_t block)
{
    uint64_t key = (block * 0x9e3779b97f4a7c15u) ^ (access->target->node * 0xbf58476d1ce4e5b9u);

    return &accesses->chains[key >> 32 & (CHAINS - 1)];
}

/* ---- conflicts ------------------------------------------------------------------------------- */

static bool conflict(const struct aries_access_span *a, const struct aries_access_span *b)
{
    if (a->target != b->target || a->first > b->last || b->first > a->last)
        return false;
    if (a->op == ARIES_GET ? b->op == ARIES_GET : a->op == ARIES_AMO && b->op == ARIES_AMO)
        return false;
    if (a->source != b->source || a->inst_id != b->inst_id || a->op != b->op)
        return true;
    /* The network keeps their order, or both write the same bytes, as bandwidth tests do. */
    return !(a->in_order && b->in_order) &&
           (a->op != ARIES_PUT || a->local_addr - a->first != b->local_addr - b->first);
}

static const struct aries_access_span *older(const struct aries_access_span *found,
                                             const struct aries_access_span *other,
                                             const struct aries_access_span *access)
{
    if (!conflict(other, access) || (found != NULL && found->serial < other->serial))
        return found;
    return other;
}

static const struct aries_access_span *find_conflict(struct aries_accesses *accesses,
                                                     const struct aries_access_span *access)
{
    const struct aries_access_span *found = NULL;
    const struct aries_list *link, *chain;
    uint64_t block;

    if (access->places_count == 0) {
        for (link = accesses->all.next; link != &accesses->all; link = link->next)
            found = older(found, sim_container_of(link, struct aries_access_span, link), access);
        return found;
    }
    for (block = access->first >> BLOCK_SHIFT; block <= access->last >> BLOCK_SHIFT; block++) {
        chain = chain_of(accesses, access, block);
        for (link = chain->next; link != chain; link = link->next)
            found = older(found, sim_container_of(link, struct place, link)->access, access);
    }
    for (link = accesses->wide.next; link != &accesses->wide; link = link->next)
        found = older(found, sim_container_of(link, struct aries_access_span, wide), access);
    return found;
}

static const char *name_of(const struct aries_access_span *access)
{
    return access->op == ARIES_PUT ? "PUT" : access->op == ARIES_GET ? "GET" : "atomic operation";
}

static sim_cold void record(const struct aries_access_span *access,
                            const struct aries_access_span *other, const char *rank)
{
    const struct aries_process *owner = access->mr->process;
    uint64_t first = MAX(access->first, other->first), last = MIN(access->last, other->last);
    uint64_t start = (uint64_t)(uintptr_t)aries_mr_pointer(access->mr, access->mr->base, 1);
    char peer[ARIES_PEER_NAME];

    aries_peer_name(other->source, other->ptag, other->inst_id, peer);
    sim_finding_record(&aries_rules[ARIES_RULE_RACE], access->source->node, rank,
                       "its %s and the %s of %s (posted at %.2f µs) use the same bytes %" PRIu64
                       "–%" PRIu64 " of a registration of %s on node %u at the same time",
                       name_of(access), name_of(other), peer, (double)other->posted / SIM_US,
                       first - start, last - start, owner->name != NULL ? owner->name : "a process",
                       access->target->node);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static struct aries_access_span *access_new(struct aries_accesses *accesses)
{
    struct aries_list *link = accesses->free.next;

    if (link == &accesses->free)
        return g_new(struct aries_access_span, 1);
    aries_list_remove(link);
    return sim_container_of(link, struct aries_access_span, link);
}

static void insert(struct aries_accesses *accesses, struct aries_access_span *access)
{
    uint64_t block = access->first >> BLOCK_SHIFT;
    unsigned i;

    for (i = 0; i < access->places_count; i++) {
        access->places[i].access = access;
        aries_list_add(chain_of(accesses, access, block + i), &access->places[i].link);
    }
    if (access->places_count == 0)
        aries_list_add(&accesses->wide, &access->wide);
    aries_list_add(&accesses->all, &access->link);
}

/* The registration of the local side, if the NIC will use it after the post. */
static struct aries_mr *local_region(const struct aries_txn *txn)
{
    const struct aries_work *work = &txn->work;
    struct aries_mr *mr = NULL;

    if ((work->op == ARIES_PUT && work->unit == ARIES_UNIT_FMA) ||
        (work->op == ARIES_AMO && !aries_returns_data(work)))
        return NULL;
    mr = aries_mr_find(txn->source, work->ptag, work->local_handle);
    return mr != NULL && mr->live ? mr : NULL;
}

static void use(struct aries_mr *mr, int by)
{
    if (mr == NULL)
        return;
    assert(by > 0 || mr->in_flight > 0);
    if (by > 0)
        aries_mr_ref(mr);
    mr->in_flight += (uint32_t)by;
    if (by < 0)
        aries_mr_unref(mr);
}

void aries_access_begin(struct aries_txn *txn, const struct aries_work *work,
                        const struct gni_nic *nic)
{
    struct aries_fabric *fabric = aries_txn_fabric(txn);
    struct aries_accesses *accesses = accesses_of(fabric);
    struct aries_mr *mr = aries_mr_find(work->target, work->ptag, work->remote_handle);
    const struct aries_access_span *other;
    struct aries_access_span *access;
    const void *bytes;
    uint64_t blocks;

    if (mr == NULL || !mr->live || work->length == 0)
        return;
    bytes = aries_mr_pointer(mr, work->remote_addr, work->length);
    if (bytes == NULL)
        return;
    access = access_new(accesses);
    access->serial = accesses->serial++;
    access->first = (uint64_t)(uintptr_t)bytes;
    access->last = access->first + work->length - 1;
    access->posted = sim_local_time();
    access->target = work->target;
    access->source = txn->source;
    access->mr = mr;
    access->local_mr = local_region(txn);
    access->local_addr = work->local_addr;
    access->inst_id = nic->inst_id;
    access->op = work->op;
    access->ptag = work->ptag;
    access->in_order = work->route == NET_ROUTE_IN_ORDER;
    blocks = (access->last >> BLOCK_SHIFT) - (access->first >> BLOCK_SHIFT) + 1;
    access->places_count = blocks <= BLOCKS ? (unsigned)blocks : 0;
    use(access->mr, 1);
    access->mr->targeted++;
    use(access->local_mr, 1);
    other = find_conflict(accesses, access);
    if (sim_unlikely(other != NULL))
        record(access, other, nic->process->name);
    insert(accesses, access);
    txn->access = access;
}

void aries_access_local_done(struct aries_txn *txn)
{
    use(txn->access->local_mr, -1);
    txn->access->local_mr = NULL;
}

void aries_access_remote_done(struct aries_txn *txn)
{
    struct aries_access_span *access = txn->access;
    unsigned i;

    if (access->mr == NULL)
        return;
    for (i = 0; i < access->places_count; i++)
        aries_list_remove(&access->places[i].link);
    if (access->places_count == 0)
        aries_list_remove(&access->wide);
    aries_list_remove(&access->link);
    aries_list_add(&aries_txn_fabric(txn)->sim->accesses->landed, &access->link);
    assert(access->mr->targeted > 0);
    access->mr->targeted--;
    use(access->mr, -1);
    access->mr = NULL;
}

void aries_access_end(struct aries_txn *txn)
{
    struct aries_access_span *access = txn->access;

    aries_access_remote_done(txn);
    aries_access_local_done(txn);
    aries_list_remove(&access->link);
    aries_list_add(&aries_txn_fabric(txn)->sim->accesses->free, &access->link);
    txn->access = NULL;
}

static void free_list(struct aries_list *list)
{
    while (!aries_list_empty(list)) {
        struct aries_list *link = list->next;

        aries_list_remove(link);
        g_free(sim_container_of(link, struct aries_access_span, link));
    }
}

void aries_accesses_free(struct aries_fabric *fabric)
{
    if (fabric->sim->accesses == NULL)
        return;
    free_list(&fabric->sim->accesses->all);
    free_list(&fabric->sim->accesses->landed);
    free_list(&fabric->sim->accesses->free);
    g_free(fabric->sim->accesses);
    fabric->sim->accesses = NULL;
}
