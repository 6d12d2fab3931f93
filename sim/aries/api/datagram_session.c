/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sessions of a communication domain: their tables, heaps and states; see datagram.c. */
#include "api/datagram_session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include "api/findings.h"
#include "nic/findings.h"

void *aries_datagram_checked(void *memory)
{
    if (memory == NULL)
        abort(); /* the host is out of memory, which a simulated program cannot handle */
    return memory;
}

/* ---- heaps: sessions in a final state, oldest first ------------------------------------------ */

#define NOWHERE UINT32_MAX

static void heap_put(struct aries_datagram_heap *heap, unsigned which, uint32_t at,
                     struct aries_datagram_session *session)
{
    heap->items[at] = session;
    session->heap_at[which] = at;
}

static void heap_settle(struct aries_datagram_heap *heap, unsigned which, uint32_t at,
                        struct aries_datagram_session *session)
{
    uint32_t child;

    while (at > 0 && heap->items[(at - 1) / 2]->number > session->number) {
        heap_put(heap, which, at, heap->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    while ((child = 2 * at + 1) < heap->count) {
        if (child + 1 < heap->count && heap->items[child + 1]->number < heap->items[child]->number)
            child++;
        if (heap->items[child]->number > session->number)
            break;
        heap_put(heap, which, at, heap->items[child]);
        at = child;
    }
    heap_put(heap, which, at, session);
}

static void heap_add(struct aries_datagram_heap *heap, unsigned which,
                     struct aries_datagram_session *session)
{
    if (heap->count == heap->capacity) {
        heap->capacity = heap->capacity != 0 ? 2 * heap->capacity : 16;
        heap->items =
            aries_datagram_checked(realloc(heap->items, heap->capacity * sizeof(*heap->items)));
    }
    heap_settle(heap, which, heap->count++, session);
}

static void heap_remove(struct aries_datagram_heap *heap, unsigned which,
                        struct aries_datagram_session *session)
{
    uint32_t at = session->heap_at[which];
    struct aries_datagram_session *last;

    if (at == NOWHERE)
        return;
    session->heap_at[which] = NOWHERE;
    assert(at < heap->count && heap->items[at] == session);
    last = heap->items[--heap->count];
    if (last != session)
        heap_settle(heap, which, at, last);
}

bool aries_datagram_heap_ready(const void *what)
{
    return ((const struct aries_datagram_heap *)what)->count != 0;
}

bool aries_datagrams_none(const struct gni_nic *nic, uint32_t **last_poll)
{
    struct aries_datagrams *datagrams = __atomic_load_n(&nic->datagrams, __ATOMIC_ACQUIRE);

    if (datagrams == NULL ||
        __atomic_load_n(&datagrams->final[ARIES_HEAP_WITH_ID].count, __ATOMIC_RELAXED) != 0)
        return false;
    *last_poll = &datagrams->probe_last_poll;
    return true;
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct aries_list *aries_datagram_peer_bucket(const struct aries_datagrams *datagrams, uint32_t pe,
                                              uint32_t inst_id)
{
    uint64_t key = (uint64_t)pe << 32 | inst_id;

    return &datagrams->by_peer[sim_mix(key) & (datagrams->buckets - 1)];
}

struct aries_list *aries_datagram_id_bucket(const struct aries_datagrams *datagrams, uint64_t id)
{
    return &datagrams->by_id[sim_mix(id) & (datagrams->buckets - 1)];
}

static void link_session(struct aries_datagrams *datagrams, struct aries_datagram_session *session)
{
    if (session->has_peer)
        aries_list_add(
            aries_datagram_peer_bucket(datagrams, session->peer.pe, session->peer.inst_id),
            &session->peer_link);
    if (session->has_id)
        aries_list_add(aries_datagram_id_bucket(datagrams, session->id), &session->id_link);
}

/* Doubles the hash tables. The chains stay in order of creation. */
static sim_cold void grow(struct aries_datagrams *datagrams)
{
    uint32_t i, buckets = datagrams->buckets != 0 ? 2 * datagrams->buckets : 16;
    struct aries_list *node;

    free(datagrams->by_peer);
    free(datagrams->by_id);
    datagrams->by_peer = aries_datagram_checked(malloc(buckets * sizeof(*datagrams->by_peer)));
    datagrams->by_id = aries_datagram_checked(malloc(buckets * sizeof(*datagrams->by_id)));
    datagrams->buckets = buckets;
    for (i = 0; i < buckets; i++) {
        aries_list_init(&datagrams->by_peer[i]);
        aries_list_init(&datagrams->by_id[i]);
    }
    for (node = datagrams->all.next; node != &datagrams->all; node = node->next)
        link_session(datagrams, sim_container_of(node, struct aries_datagram_session, all_link));
}

static void release(struct gni_nic *nic);
static void free_all(struct aries_fabric *fabric);

struct aries_datagrams *aries_datagrams_of(struct gni_nic *nic)
{
    struct aries_datagrams *datagrams = nic->datagrams;
    unsigned which;

    if (datagrams != NULL)
        return datagrams;
    datagrams = nic->datagrams = aries_datagram_checked(calloc(1, sizeof(*datagrams)));
    aries_list_add(&nic->hw->fabric->datagrams, &datagrams->link);
    aries_nic_on_detach(nic, ARIES_DETACH_SESSIONS, release);
    aries_fabric_on_end(nic->hw->fabric, ARIES_END_MESSAGES, free_all);
    datagrams->serial = ++nic->hw->fabric->datagrams_made;
    datagrams->nic = nic;
    aries_list_init(&datagrams->all);
    aries_list_init(&datagrams->wildcards);
    aries_list_init(&datagrams->remotes);
    for (which = 0; which < ARIES_HEAPS; which++)
        datagrams->probe_wait[which] = (struct sim_wait){.text = "a datagram (GNI_PostDataProbe)",
                                                         .what = &datagrams->final[which],
                                                         .id = sim_new_ids(1)};
    grow(datagrams);
    return datagrams;
}

static void datagrams_delete(struct aries_datagrams *datagrams)
{
    unsigned which;

    for (which = 0; which < ARIES_HEAPS; which++)
        free(datagrams->final[which].items);
    free(datagrams->by_peer);
    free(datagrams->by_id);
    aries_list_remove(&datagrams->link);
    free(datagrams);
}

struct blocked {
    struct gni_nic *nic;
    uint64_t serial;
    bool (*ready)(const void *what); /* NULL: every change ends the wait */
    const void *what;
};

static bool domain_is_alive(const struct blocked *blocked)
{
    const struct gni_nic *nic = blocked->nic;

    return aries_handle_ok(nic, ARIES_MAGIC_NIC) && nic->datagrams != NULL &&
           nic->datagrams->serial == blocked->serial;
}

static bool __attribute__((unused)) wakes(const void *on)
{
    const struct blocked *blocked = on;

    return !domain_is_alive(blocked) || blocked->ready == NULL || blocked->ready(blocked->what);
}

bool aries_datagram_block(struct gni_nic *nic, sim_time_t deadline, const struct sim_wait *wait,
                          bool (*ready)(const void *what), const void *what)
{
    const struct blocked blocked = {nic, nic->datagrams->serial, ready, what};
    const struct sim_wait own = {wait->text, wait->describe, wait->what,
                                 SIM_WAKES(wakes, &blocked)};

    sim_wait_until(deadline, &own);
    return domain_is_alive(&blocked);
}

/* ---- sessions -------------------------------------------------------------------------------- */

bool aries_datagram_is_final(const struct aries_datagram_session *session)
{
    return session->state != ARIES_SESSION_WAITING && session->state != ARIES_SESSION_REMOTE;
}

bool aries_datagram_final_ready(const void *what)
{
    return aries_datagram_is_final(what);
}

static void describe(const void *what, char *buffer, size_t size)
{
    const struct aries_datagram_session *session = what;

    snprintf(buffer, size, session->has_peer ? " from node %d, instance %u" : " from anybody",
             session->peer.nic != NULL ? (int)session->peer.nic->node : -1, session->peer.inst_id);
}

struct aries_datagram_session *aries_datagram_session_new(struct aries_datagrams *datagrams,
                                                          enum aries_session_state state,
                                                          const struct aries_datagram_address *peer)
{
    struct aries_datagram_session *session = aries_datagram_checked(calloc(1, sizeof(*session)));
    unsigned which;

    session->owner = datagrams;
    session->number = ++datagrams->last_number;
    session->state = state;
    session->has_peer = peer != NULL;
    if (peer != NULL)
        session->peer = *peer;
    for (which = 0; which < ARIES_HEAPS; which++)
        session->heap_at[which] = NOWHERE;
    session->wait = (struct sim_wait){.text = "a datagram (GNI_EpPostDataTest)",
                                      .describe = describe,
                                      .what = session,
                                      .id = sim_new_ids(1)};
    aries_list_init(&session->peer_link);
    aries_list_init(&session->id_link);
    aries_list_init(&session->age_link);
    aries_list_init(&session->mark_link);
    aries_list_add(&datagrams->all, &session->all_link);
    if (++datagrams->count > datagrams->buckets)
        grow(datagrams);
    else
        link_session(datagrams, session);
    return session;
}

void aries_datagram_session_free(struct aries_datagram_session *session)
{
    struct aries_datagrams *datagrams = session->owner;
    unsigned which;

    /*
     * the peer may be waiting for the offer, so the kernel delivers it, but stops if there is no
     * such peer
     */
    if (session->offer != NULL) {
        session->offer->session = NULL;
        session->offer->withdrawn = true;
    }
    for (which = 0; which < ARIES_HEAPS; which++)
        heap_remove(&datagrams->final[which], which, session);
    aries_list_remove(&session->all_link);
    aries_list_remove(&session->peer_link);
    aries_list_remove(&session->id_link);
    aries_list_remove(&session->age_link);
    aries_list_remove(&session->mark_link);
    assert(datagrams->count > 0);
    datagrams->count--;
    free(session);
}

void aries_datagram_set_id(struct aries_datagram_session *session, bool has_id, uint64_t id)
{
    if (!has_id)
        return;
    assert(!session->has_id && !aries_datagram_is_final(session));
    session->has_id = true;
    session->id = id;
    aries_list_add(aries_datagram_id_bucket(session->owner, id), &session->id_link);
}

bool aries_datagram_may_become(enum aries_session_state from, enum aries_session_state to)
{
    static const uint8_t allowed[] = {
        [ARIES_SESSION_WAITING] = 1u << ARIES_SESSION_COMPLETED | 1u << ARIES_SESSION_TERMINATED |
                                  1u << ARIES_SESSION_TIMED_OUT,
        [ARIES_SESSION_REMOTE] = 1u << ARIES_SESSION_COMPLETED | 1u << ARIES_SESSION_TERMINATED,
        [ARIES_SESSION_COMPLETED] = 1u << ARIES_SESSION_TERMINATED,
        [ARIES_SESSION_TERMINATED] = 0,
        [ARIES_SESSION_TIMED_OUT] = 0,
    };

    return (allowed[from] >> to & 1) != 0;
}

void aries_datagram_finalise(struct aries_datagram_session *session, enum aries_session_state state)
{
    struct aries_datagrams *datagrams = session->owner;

    assert(aries_datagram_may_become(session->state, state));

    if (!aries_datagram_is_final(session)) {
        heap_add(&datagrams->final[ARIES_HEAP_ALL], ARIES_HEAP_ALL, session);
        if (session->has_id)
            heap_add(&datagrams->final[ARIES_HEAP_WITH_ID], ARIES_HEAP_WITH_ID, session);
    }
    session->state = state;
    aries_list_remove(&session->age_link);
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_DATAGRAM, datagrams->nic->hw->node, 0,
              state == ARIES_SESSION_COMPLETED ? "completed" : "ended", sim_now(), 0, 0,
              session->number);
    aries_process_notify(datagrams->nic->process);
}

void aries_datagram_complete(struct aries_datagram_session *session, const void *data,
                             uint16_t length, uint64_t peer_number)
{
    assert(length <= sizeof(session->remote));
    memcpy(session->remote, data, length);
    session->remote_length = length;
    session->peer_number = peer_number;
    aries_datagram_finalise(session, ARIES_SESSION_COMPLETED);
}

struct aries_datagram_session *aries_datagram_find_peer(const struct aries_datagrams *datagrams,
                                                        uint32_t pe, uint32_t inst_id,
                                                        bool *remote_only)
{
    struct aries_list *bucket = aries_datagram_peer_bucket(datagrams, pe, inst_id), *node;
    struct aries_datagram_session *remote = NULL;

    /* grow() initialises every bucket. NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
    for (node = bucket->next; node != bucket; node = node->next) {
        struct aries_datagram_session *session =
            sim_container_of(node, struct aries_datagram_session, peer_link);

        if (session->peer.pe != pe || session->peer.inst_id != inst_id)
            continue;
        if (session->state != ARIES_SESSION_REMOTE) {
            *remote_only = false;
            return session;
        }
        if (remote == NULL)
            remote = session;
    }
    *remote_only = remote != NULL;
    return remote;
}

struct aries_datagram_session *aries_datagram_find_remote(const struct aries_datagrams *datagrams,
                                                          uint32_t pe, uint32_t inst_id)
{
    struct aries_list *bucket = aries_datagram_peer_bucket(datagrams, pe, inst_id), *node;

    for (node = bucket->next; node != bucket; node = node->next) {
        struct aries_datagram_session *session =
            sim_container_of(node, struct aries_datagram_session, peer_link);

        if (session->state == ARIES_SESSION_REMOTE && session->peer.pe == pe &&
            session->peer.inst_id == inst_id)
            return session;
    }
    return NULL;
}

void aries_datagram_cancel(struct aries_datagram_session *session)
{
    struct aries_datagram_message *offer = session->offer;

    if (session->state != ARIES_SESSION_WAITING)
        return;
    session->offer = NULL;
    if (offer != NULL)
        offer->session = NULL;
    if (offer == NULL || !aries_datagram_withdraw(offer))
        aries_datagram_send_to_peer(session, ARIES_DATAGRAM_CANCEL);
    aries_datagram_finalise(session, ARIES_SESSION_TERMINATED);
}

/* ---- findings -------------------------------------------------------------------------------- */

static sim_cold void record_unmatched(const struct gni_nic *nic,
                                      const struct aries_datagram_session *session)
{
    char peer[ARIES_PEER_NAME];

    if (!session->has_peer) {
        sim_finding_record(&aries_rules[ARIES_RULE_WILDCARD_UNMATCHED], nic->hw->node,
                           nic->process->name, "nobody matched its wildcard datagram of %u bytes",
                           session->local_length);
        return;
    }
    aries_peer_name(session->peer.nic, nic->ptag, session->peer.inst_id, peer);
    sim_finding_record(&aries_rules[ARIES_RULE_DATAGRAM_UNMATCHED], nic->hw->node,
                       nic->process->name, "its datagram of %u bytes to %s was never matched",
                       session->local_length, peer);
}

void aries_findings_datagrams(struct gni_nic *nic, const struct gni_ep *ep)
{
    const struct aries_process *process = nic->process;
    const struct aries_list *link;

    if (nic->datagrams == NULL || !nic->hw->fabric->checks || nic->left_checked || process->dead ||
        process->leaving || !nic->hw->alive || (ep != NULL && ep->datagram == NULL))
        return;
    for (link = nic->datagrams->all.next; link != &nic->datagrams->all; link = link->next) {
        const struct aries_datagram_session *session =
            sim_container_of(link, struct aries_datagram_session, all_link);

        if (session->state == ARIES_SESSION_WAITING && session->mark != NULL &&
            (ep == NULL || session->mark == ep->datagram))
            record_unmatched(nic, session);
    }
}

/* Frees the domains that are left: those of processes that never ended. */
static void free_all(struct aries_fabric *fabric)
{
    aries_datagram_kernel_fini(fabric);
    while (!aries_list_empty(&fabric->datagrams))
        datagrams_delete(sim_container_of(fabric->datagrams.next, struct aries_datagrams, link));
}

static void release(struct gni_nic *nic)
{
    struct aries_datagrams *datagrams = nic->datagrams;

    if (datagrams == NULL)
        return;
    while (!aries_list_empty(&datagrams->all)) {
        struct aries_datagram_session *session =
            sim_container_of(datagrams->all.next, struct aries_datagram_session, all_link);

        if (session->state == ARIES_SESSION_WAITING && session->has_peer)
            aries_datagram_cancel(session);
        else if (session->state == ARIES_SESSION_REMOTE)
            aries_datagram_send_to_peer(session, ARIES_DATAGRAM_REFUSE);
        aries_datagram_session_free(session);
    }
    nic->datagrams = NULL;
    aries_process_notify(nic->process);
    datagrams_delete(datagrams);
}
