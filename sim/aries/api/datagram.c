/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams of a communication domain: its sessions and the API on them. The rules of matching are
 * those of the driver's session manager (public sources of kgni):
 *
 *   post, bound      a REMOTE session of that peer → both complete; any other session with that
 *                    peer → ERROR_RESOURCE; else WAITING, and an offer goes out
 *   post, unbound    the oldest REMOTE session → both complete; else a wildcard
 *   offer arrives    WAITING for just that peer → completes; else the oldest wildcard → takes it
 *                    and answers; else REMOTE
 *
 * Sessions are found by peer and by id through hash tables, wildcards and REMOTE sessions in order
 * of age through lists, and those in a final state through heaps in order of creation, so that a
 * probe costs the same however many there are.
 */
#include "api/datagram.h"
#include "api/front.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum session_state {
    WAITING,
    REMOTE, /* the peer's data is here, nothing is posted */
    COMPLETED,
    TERMINATED,
    TIMED_OUT,
};

enum { HEAP_ALL, HEAP_WITH_ID, HEAPS };

struct datagram_session {
    struct aries_datagrams *owner;
    uint64_t number; /* order of creation; its name in messages */
    uint64_t id;
    bool has_id, has_peer; /* no peer: a wildcard that has not met anybody */
    enum session_state state;
    struct datagram_address peer;
    uint64_t peer_number; /* the peer's session that it met; 0: unknown */
    struct mark *mark; /* of the endpoint; NULL: REMOTE, or the endpoint is gone */
    struct datagram_message *offer; /* ours, until it has arrived */
    struct aries_list all_link, peer_link, id_link, age_link, mark_link;
    uint32_t heap_at[HEAPS];
    struct sim_wait wait;
    uint16_t local_length, remote_length;
    uint8_t local[GNI_DATAGRAM_MAXSIZE], remote[GNI_DATAGRAM_MAXSIZE];
};

/* What an endpoint remembers (gni_ep.datagram). */
struct mark {
    /* Those that it posted: several when it forgot one (GNI_RC_NO_MATCH) before it was consumed. */
    struct aries_list sessions;
    bool pending;
    void *out_buf;
    uint16_t out_size;
};

struct heap {
    struct datagram_session **items;
    uint32_t count, capacity;
};

struct aries_datagrams {
    struct aries_list link; /* of all that are not freed */
    uint64_t serial; /* never the same twice: who blocked finds out whether they are still there */
    struct gni_nic *nic;
    uint64_t last_number;
    struct aries_list all, wildcards, remotes;
    struct aries_list *by_peer, *by_id; /* buckets */
    uint32_t count, buckets; /* a power of two */
    struct heap final[HEAPS];
    struct sim_wait probe_wait[HEAPS];
    uint32_t probe_looked; /* for sim_poll_turn */
};

static void *checked(void *memory)
{
    if (memory == NULL)
        abort(); /* the host is out of memory: nothing that a simulated program could handle */
    return memory;
}

/* ---- heaps: sessions in a final state, oldest first ------------------------------------------ */

#define NOWHERE UINT32_MAX

static void heap_put(struct heap *heap, unsigned which, uint32_t at,
                     struct datagram_session *session)
{
    heap->items[at] = session;
    session->heap_at[which] = at;
}

static void heap_settle(struct heap *heap, unsigned which, uint32_t at,
                        struct datagram_session *session)
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

static void heap_add(struct heap *heap, unsigned which, struct datagram_session *session)
{
    if (heap->count == heap->capacity) {
        heap->capacity = heap->capacity != 0 ? 2 * heap->capacity : 16;
        heap->items = checked(realloc(heap->items, heap->capacity * sizeof(*heap->items)));
    }
    heap_settle(heap, which, heap->count++, session);
}

static void heap_remove(struct heap *heap, unsigned which, struct datagram_session *session)
{
    uint32_t at = session->heap_at[which];
    struct datagram_session *last;

    if (at == NOWHERE)
        return;
    session->heap_at[which] = NOWHERE;
    assert(at < heap->count && heap->items[at] == session);
    last = heap->items[--heap->count];
    if (last != session)
        heap_settle(heap, which, at, last);
}

static bool heap_ready(const void *what)
{
    return ((const struct heap *)what)->count != 0;
}

bool aries_datagrams_none(const struct gni_nic *nic, uint32_t **looked)
{
    struct aries_datagrams *datagrams = __atomic_load_n(&nic->datagrams, __ATOMIC_ACQUIRE);

    if (datagrams == NULL ||
        __atomic_load_n(&datagrams->final[HEAP_WITH_ID].count, __ATOMIC_RELAXED) != 0)
        return false;
    *looked = &datagrams->probe_looked;
    return true;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static struct aries_list *peer_bucket(const struct aries_datagrams *datagrams, uint32_t pe,
                                      uint32_t inst_id)
{
    uint64_t key = (uint64_t)pe << 32 | inst_id;

    return &datagrams->by_peer[sim_mix(key) & (datagrams->buckets - 1)];
}

static struct aries_list *id_bucket(const struct aries_datagrams *datagrams, uint64_t id)
{
    return &datagrams->by_id[sim_mix(id) & (datagrams->buckets - 1)];
}

static void link_session(struct aries_datagrams *datagrams, struct datagram_session *session)
{
    if (session->has_peer)
        aries_list_add(peer_bucket(datagrams, session->peer.pe, session->peer.inst_id),
                       &session->peer_link);
    if (session->has_id)
        aries_list_add(id_bucket(datagrams, session->id), &session->id_link);
}

/* Doubles the tables; chains keep the order of creation. */
static sim_cold void grow(struct aries_datagrams *datagrams)
{
    uint32_t i, buckets = datagrams->buckets != 0 ? 2 * datagrams->buckets : 16;
    struct aries_list *node;

    free(datagrams->by_peer);
    free(datagrams->by_id);
    datagrams->by_peer = checked(malloc(buckets * sizeof(*datagrams->by_peer)));
    datagrams->by_id = checked(malloc(buckets * sizeof(*datagrams->by_id)));
    datagrams->buckets = buckets;
    for (i = 0; i < buckets; i++) {
        aries_list_init(&datagrams->by_peer[i]);
        aries_list_init(&datagrams->by_id[i]);
    }
    for (node = datagrams->all.next; node != &datagrams->all; node = node->next)
        link_session(datagrams, sim_container_of(node, struct datagram_session, all_link));
}

static void release(struct gni_nic *nic);
static void free_all(struct aries_fabric *fabric);

static struct aries_datagrams *datagrams_of(struct gni_nic *nic)
{
    struct aries_datagrams *datagrams = nic->datagrams;
    unsigned which;

    if (datagrams != NULL)
        return datagrams;
    datagrams = nic->datagrams = checked(calloc(1, sizeof(*datagrams)));
    aries_list_add(&nic->hw->fabric->datagrams, &datagrams->link);
    aries_nic_on_detach(nic, ARIES_DETACH_SESSIONS, release);
    aries_fabric_on_end(nic->hw->fabric, ARIES_END_MESSAGES, free_all);
    datagrams->serial = ++nic->hw->fabric->datagrams_made;
    datagrams->nic = nic;
    aries_list_init(&datagrams->all);
    aries_list_init(&datagrams->wildcards);
    aries_list_init(&datagrams->remotes);
    for (which = 0; which < HEAPS; which++)
        datagrams->probe_wait[which] = (struct sim_wait){.text = "a datagram (GNI_PostDataProbe)",
                                                         .what = &datagrams->final[which],
                                                         .id = sim_new_ids(1)};
    grow(datagrams);
    return datagrams;
}

static void datagrams_delete(struct aries_datagrams *datagrams)
{
    unsigned which;

    for (which = 0; which < HEAPS; which++)
        free(datagrams->final[which].items);
    free(datagrams->by_peer);
    free(datagrams->by_id);
    aries_list_remove(&datagrams->link);
    free(datagrams);
}

struct blocked {
    struct gni_nic *nic;
    uint64_t serial;
    bool (*ready)(const void *what); /* NULL: each change may be it */
    const void *what;
};

static bool domain_lives(const struct blocked *blocked)
{
    const struct gni_nic *nic = blocked->nic;

    return aries_handle_ok(nic, ARIES_MAGIC_NIC) && nic->datagrams != NULL &&
           nic->datagrams->serial == blocked->serial;
}

static bool __attribute__((unused)) wakes(const void *on)
{
    const struct blocked *blocked = on;

    return !domain_lives(blocked) || blocked->ready == NULL || blocked->ready(blocked->what);
}

/*
 * Blocks; false: the domain is gone. Holds no reference meanwhile, so that a thread that is
 * cancelled here leaves nothing behind; `wait` may be gone afterwards.
 */
static bool block(struct gni_nic *nic, sim_time_t deadline, const struct sim_wait *wait,
                  bool (*ready)(const void *what), const void *what)
{
    const struct blocked blocked = {nic, nic->datagrams->serial, ready, what};
    const struct sim_wait own = {wait->text, wait->describe, wait->what,
                                 SIM_WAKES(wakes, &blocked)};

    sim_wait_until(deadline, &own);
    return domain_lives(&blocked);
}

/* ---- sessions -------------------------------------------------------------------------------- */

static bool is_final(const struct datagram_session *session)
{
    return session->state != WAITING && session->state != REMOTE;
}

static bool final_ready(const void *what)
{
    return is_final(what);
}

static void describe(const void *what, char *buffer, size_t size)
{
    const struct datagram_session *session = what;

    snprintf(buffer, size, session->has_peer ? " from node %d, instance %u" : " from anybody",
             session->peer.nic != NULL ? (int)session->peer.nic->node : -1, session->peer.inst_id);
}

static struct datagram_session *session_new(struct aries_datagrams *datagrams,
                                            enum session_state state,
                                            const struct datagram_address *peer)
{
    struct datagram_session *session = checked(calloc(1, sizeof(*session)));
    unsigned which;

    session->owner = datagrams;
    session->number = ++datagrams->last_number;
    session->state = state;
    session->has_peer = peer != NULL;
    if (peer != NULL)
        session->peer = *peer;
    for (which = 0; which < HEAPS; which++)
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

static void session_free(struct datagram_session *session)
{
    struct aries_datagrams *datagrams = session->owner;
    unsigned which;

    if (session->offer != NULL) { /* the peer may wait for it; not for ever, if there is none */
        session->offer->session = NULL;
        session->offer->withdrawn = true;
    }
    for (which = 0; which < HEAPS; which++)
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

/* Gives a session that had none an id. */
static void set_id(struct datagram_session *session, bool has_id, uint64_t id)
{
    if (!has_id)
        return;
    session->has_id = true;
    session->id = id;
    aries_list_add(id_bucket(session->owner, id), &session->id_link);
}

/*
 *   WAITING ──▶ COMPLETED, TERMINATED, TIMED_OUT      REMOTE ──▶ COMPLETED, TERMINATED
 *   COMPLETED ──▶ TERMINATED                          by the peer, or a cancel, before it was told
 */
static bool may_become(enum session_state from, enum session_state to)
{
    static const uint8_t allowed[] = {
        [WAITING] = 1u << COMPLETED | 1u << TERMINATED | 1u << TIMED_OUT,
        [REMOTE] = 1u << COMPLETED | 1u << TERMINATED,
        [COMPLETED] = 1u << TERMINATED,
        [TERMINATED] = 0,
        [TIMED_OUT] = 0,
    };

    return (allowed[from] >> to & 1) != 0;
}

static void finalise(struct datagram_session *session, enum session_state state)
{
    struct aries_datagrams *datagrams = session->owner;

    assert(may_become(session->state, state));

    if (!is_final(session)) {
        heap_add(&datagrams->final[HEAP_ALL], HEAP_ALL, session);
        if (session->has_id)
            heap_add(&datagrams->final[HEAP_WITH_ID], HEAP_WITH_ID, session);
    }
    session->state = state;
    aries_list_remove(&session->age_link);
    trace(SIM_TRACE_INSTANT, ARIES_TRACK_DATAGRAM, datagrams->nic->hw->node, 0,
          state == COMPLETED ? "completed" : "ended", sim_now(), 0, 0, session->number);
    aries_process_notify(datagrams->nic->process);
}

static void complete(struct datagram_session *session, const void *data, uint16_t length,
                     uint64_t peer_number)
{
    assert(length <= sizeof(session->remote));
    memcpy(session->remote, data, length);
    session->remote_length = length;
    session->peer_number = peer_number;
    finalise(session, COMPLETED);
}

/* The session with a peer: one that was posted rather than what the peer offered on its own. */
static struct datagram_session *find_peer(const struct aries_datagrams *datagrams, uint32_t pe,
                                          uint32_t inst_id, bool *remote_only)
{
    struct aries_list *bucket = peer_bucket(datagrams, pe, inst_id), *node;
    struct datagram_session *remote = NULL;

    /* grow() initialises every bucket. NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
    for (node = bucket->next; node != bucket; node = node->next) {
        struct datagram_session *session =
            sim_container_of(node, struct datagram_session, peer_link);

        if (session->peer.pe != pe || session->peer.inst_id != inst_id)
            continue;
        if (session->state != REMOTE) {
            *remote_only = false;
            return session;
        }
        if (remote == NULL)
            remote = session;
    }
    *remote_only = remote != NULL;
    return remote;
}

static struct datagram_session *find_remote(const struct aries_datagrams *datagrams, uint32_t pe,
                                            uint32_t inst_id)
{
    struct aries_list *bucket = peer_bucket(datagrams, pe, inst_id), *node;

    for (node = bucket->next; node != bucket; node = node->next) {
        struct datagram_session *session =
            sim_container_of(node, struct datagram_session, peer_link);

        if (session->state == REMOTE && session->peer.pe == pe && session->peer.inst_id == inst_id)
            return session;
    }
    return NULL;
}

/* ---- messages -------------------------------------------------------------------------------- */

static struct datagram_message *send_to_peer(struct datagram_session *session,
                                             enum datagram_kind kind)
{
    struct gni_nic *nic = session->owner->nic;
    struct datagram_message content = {
        .kind = kind,
        .from = {nic->hw, nic->hw->pe_addr, nic->cdm->inst_id},
        .to = session->peer,
        .ptag = nic->ptag,
        .cookie = nic->cdm->cookie,
        .number = session->number,
        .about = session->peer_number,
        .session = kind == DATAGRAM_OFFER ? session : NULL,
    };

    if (kind == DATAGRAM_OFFER || kind == DATAGRAM_ANSWER) {
        content.length = session->local_length;
        memcpy(content.data, session->local, session->local_length);
    }
    return datagram_send(&content);
}

static struct gni_nic *find_instance(const struct datagram_message *message)
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

static void offer_arrived(struct aries_datagrams *datagrams, const struct datagram_message *message)
{
    const struct datagram_address *peer = &message->from;
    struct datagram_session *session;
    bool remote_only;

    session = find_peer(datagrams, peer->pe, peer->inst_id, &remote_only);
    if (session != NULL && session->state == WAITING) {
        complete(session, message->data, message->length, message->number);
        return;
    }
    if (peer->nic == message->to.nic && peer->inst_id == message->to.inst_id)
        return; /* to itself, and taken back meanwhile */
    if (!aries_list_empty(&datagrams->wildcards)) {
        session = sim_container_of(datagrams->wildcards.next, struct datagram_session, age_link);
        session->has_peer = true;
        session->peer = *peer;
        aries_list_add(peer_bucket(datagrams, peer->pe, peer->inst_id), &session->peer_link);
        complete(session, message->data, message->length, message->number);
        send_to_peer(session, DATAGRAM_ANSWER);
        return;
    }
    session = session_new(datagrams, REMOTE, peer);
    session->peer_number = message->number;
    session->remote_length = message->length;
    memcpy(session->remote, message->data, message->length);
    aries_list_add(&datagrams->remotes, &session->age_link);
    aries_process_notify(datagrams->nic->process);
}

/* What concerns a session that exists already. */
static void news_arrived(struct aries_datagrams *datagrams, const struct datagram_message *message)
{
    struct aries_list *bucket = peer_bucket(datagrams, message->from.pe, message->from.inst_id),
                      *node, *next;

    for (node = bucket->next; node != bucket; node = next) {
        struct datagram_session *session =
            sim_container_of(node, struct datagram_session, peer_link);

        next = node->next;
        if (session->peer.pe != message->from.pe || session->peer.inst_id != message->from.inst_id)
            continue;
        if (message->kind == DATAGRAM_CANCEL && session->peer_number == message->number) {
            if (session->state == REMOTE)
                session_free(session);
            else if (may_become(session->state, TERMINATED)) /* what peers say is checked */
                finalise(session, TERMINATED);
        } else if (message->kind != DATAGRAM_CANCEL && session->number == message->about &&
                   session->state == WAITING) {
            if (message->kind == DATAGRAM_ANSWER)
                complete(session, message->data, message->length, message->number);
            else
                finalise(session, TERMINATED);
        }
    }
}

bool datagram_arrived(struct datagram_message *message)
{
    struct gni_nic *nic = find_instance(message);

    if (nic == NULL)
        return message->kind != DATAGRAM_OFFER; /* other news are of no interest to anybody */
    if (message->session != NULL) {
        message->session->offer = NULL;
        message->session = NULL;
    }
    if (message->kind == DATAGRAM_OFFER)
        offer_arrived(datagrams_of(nic), message);
    else
        news_arrived(datagrams_of(nic), message);
    return true;
}

void datagram_taken(struct datagram_session *session)
{
    session->offer = NULL;
}

void datagram_failed(struct datagram_session *session)
{
    session->offer = NULL;
    if (session->state == WAITING)
        finalise(session, TIMED_OUT);
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
                struct datagram_session *session =
                    sim_container_of(entry, struct datagram_session, all_link);

                /* Offered again, in vain: so the usual number of tries passes. */
                if (session->state == WAITING && session->has_peer && session->offer == NULL &&
                    session->peer.nic == dead)
                    session->offer = send_to_peer(session, DATAGRAM_OFFER);
            }
        }
    }
}

/* Whose peer took the offer and is no more. */
static void recheck(struct aries_datagrams *datagrams,
                    bool (*there)(const struct datagram_address *peer, const struct gni_nic *nic))
{
    struct aries_list *entry;

    for (entry = datagrams->all.next; entry != &datagrams->all; entry = entry->next) {
        struct datagram_session *session =
            sim_container_of(entry, struct datagram_session, all_link);

        if (session->state == WAITING && session->has_peer && session->offer == NULL &&
            session->peer.nic != NULL && !there(&session->peer, datagrams->nic))
            finalise(session, TERMINATED);
    }
}

void datagrams_recheck(struct aries_fabric *fabric,
                       bool (*there)(const struct datagram_address *peer,
                                     const struct gni_nic *nic))
{
    struct aries_list *link;

    for (link = fabric->datagrams.next; link != &fabric->datagrams; link = link->next)
        recheck(sim_container_of(link, struct aries_datagrams, link), there);
}

/* ---- posting --------------------------------------------------------------------------------- */

static bool is_bound(const struct gni_ep *ep)
{
    return ep->remote_addr != UINT32_MAX || ep->remote_id != UINT32_MAX;
}

/* Behind the translation that the job may have. */
static uint32_t peer_pe(const struct gni_ep *ep)
{
    return ep->remote != NULL ? ep->remote->pe_addr : ep->remote_addr;
}

static struct mark *mark_of(struct gni_ep *ep)
{
    struct mark *mark = ep->datagram;

    if (mark == NULL) {
        mark = ep->datagram = checked(calloc(1, sizeof(*mark)));
        aries_list_init(&mark->sessions);
    }
    return mark;
}

static gni_return_t post_session(struct gni_ep *ep, struct datagram_session **posted)
{
    struct aries_datagrams *datagrams = datagrams_of(ep->nic);
    struct datagram_address peer = {ep->remote, peer_pe(ep), ep->remote_id};
    struct datagram_session *session = NULL;
    bool remote_only;

    if (is_bound(ep)) {
        session = find_remote(datagrams, peer.pe, peer.inst_id);
        if (session == NULL && find_peer(datagrams, peer.pe, peer.inst_id, &remote_only) != NULL)
            return GNI_RC_ERROR_RESOURCE;
    } else if (!aries_list_empty(&datagrams->remotes)) {
        session = sim_container_of(datagrams->remotes.next, struct datagram_session, age_link);
    }
    if (session == NULL)
        session = session_new(datagrams, WAITING, is_bound(ep) ? &peer : NULL);
    *posted = session;
    return GNI_RC_SUCCESS;
}

static gni_return_t post(struct gni_ep *ep, const void *data, uint16_t length, void *out_buf,
                         uint16_t out_size, bool has_id, uint64_t id)
{
    struct datagram_session *session;
    struct mark *mark;
    gni_return_t rc;

    if (!aries_handle_ok(ep, ARIES_MAGIC_EP) || (has_id && id == UINT64_MAX) ||
        (!has_id && !is_bound(ep)))
        return GNI_RC_INVALID_PARAM;
    if (length > GNI_DATAGRAM_MAXSIZE)
        return GNI_RC_SIZE_ERROR;
    sim_spend(aries_timing_of(ep->nic)->cold_datagram);
    sim_settle();
    sim_idle_break();
    mark = mark_of(ep);
    if (mark->pending)
        return GNI_RC_ERROR_RESOURCE;
    rc = post_session(ep, &session);
    if (rc != GNI_RC_SUCCESS)
        return rc;
    session->local_length = data != NULL ? length : 0;
    if (session->local_length != 0)
        memcpy(session->local, data, length);
    session->mark = mark;
    aries_list_add(&mark->sessions, &session->mark_link);
    mark->pending = true;
    mark->out_buf = out_buf;
    mark->out_size = out_size;
    set_id(session, has_id, id);
    ep->nic->hw->fabric->counters.datagrams++;
    if (session->state == REMOTE) {
        finalise(session, COMPLETED);
        send_to_peer(session, DATAGRAM_ANSWER);
    } else if (session->has_peer) {
        session->offer = send_to_peer(session, DATAGRAM_OFFER);
    } else {
        aries_list_add(&session->owner->wildcards, &session->age_link);
    }
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_EpPostData(gni_ep_handle_t ep_hndl, void *in_data, uint16_t data_len,
                            void *out_buf, uint16_t buf_size)
{
    return post(ep_hndl, in_data, data_len, out_buf, buf_size, false, 0);
}

gni_return_t GNI_EpPostDataWId(gni_ep_handle_t ep_hndl, void *in_data, uint16_t data_len,
                               void *out_buf, uint16_t buf_size, uint64_t datagram_id)
{
    return post(ep_hndl, in_data, data_len, out_buf, buf_size, true, datagram_id);
}

/* ---- test and wait --------------------------------------------------------------------------- */

struct question {
    struct gni_ep *ep;
    bool by_id;
    uint64_t id;
    gni_post_state_t *state;
    uint32_t *remote_addr, *remote_id;
};

static struct datagram_session *find_by_id(const struct aries_datagrams *datagrams,
                                           const struct gni_ep *ep, uint64_t id)
{
    struct aries_list *bucket = id_bucket(datagrams, id), *node;
    struct datagram_session *pending = NULL, *final = NULL;

    for (node = bucket->next; node != bucket; node = node->next) {
        struct datagram_session *session = sim_container_of(node, struct datagram_session, id_link);

        if (session->id != id)
            continue;
        if (is_bound(ep)) {
            if (session->has_peer && session->peer.pe == peer_pe(ep) &&
                session->peer.inst_id == ep->remote_id)
                return session;
        } else if (!is_final(session)) {
            pending = pending == NULL ? session : pending;
        } else if (final == NULL || session->number < final->number) {
            final = session;
        }
    }
    return final != NULL ? final : pending;
}

static struct datagram_session *find_session(const struct question *question)
{
    const struct gni_ep *ep = question->ep;
    const struct aries_datagrams *datagrams = ep->nic->datagrams;
    bool remote_only;

    if (datagrams == NULL)
        return NULL;
    if (question->by_id)
        return find_by_id(datagrams, ep, question->id);
    return find_peer(datagrams, peer_pe(ep), ep->remote_id, &remote_only);
}

/* Frees the endpoint that posted the session for its next datagram. */
static void consume(struct datagram_session *session)
{
    if (session->mark != NULL)
        session->mark->pending = false;
    session_free(session);
}

/* Copies what the peer offered into the endpoint's buffer. */
static gni_return_t take_data(const struct datagram_session *session, const struct mark *mark)
{
    if (mark->out_buf == NULL && mark->out_size != 0)
        return GNI_RC_INVALID_PARAM;
    if (session->remote_length > mark->out_size)
        return GNI_RC_SIZE_ERROR;
    if (session->remote_length != 0 &&
        !aries_copy(mark->out_buf, session->remote, session->remote_length))
        return GNI_RC_ERROR_NOMEM;
    return GNI_RC_SUCCESS;
}

static gni_return_t report(const struct question *question, struct datagram_session *session)
{
    static const gni_post_state_t shown[] = {
        [WAITING] = GNI_POST_PENDING,     [REMOTE] = GNI_POST_REMOTE_DATA,
        [COMPLETED] = GNI_POST_COMPLETED, [TERMINATED] = GNI_POST_TERMINATED,
        [TIMED_OUT] = GNI_POST_TIMEOUT,
    };
    struct mark *mark = mark_of(question->ep);
    gni_return_t rc = GNI_RC_SUCCESS;

    if (session == NULL) {
        mark->pending = false;
        return GNI_RC_NO_MATCH;
    }
    /* An endpoint that has never posted has no buffer: it learns of REMOTE_DATA, not the data. */
    if (session->state == COMPLETED || (session->state == REMOTE && mark->out_size != 0))
        rc = take_data(session, mark);
    if (rc != GNI_RC_INVALID_PARAM) {
        *question->state = shown[session->state];
        if (session->state != WAITING) {
            *question->remote_addr = aries_pe_shown(question->ep->nic, session->peer.pe);
            *question->remote_id = session->peer.inst_id;
        }
        if (is_final(session))
            consume(session);
    }
    return rc;
}

static gni_return_t check_question(const struct question *question)
{
    if (!aries_handle_ok(question->ep, ARIES_MAGIC_EP) || question->state == NULL ||
        question->remote_addr == NULL || question->remote_id == NULL ||
        (question->by_id ? question->id == UINT64_MAX : !is_bound(question->ep)))
        return GNI_RC_INVALID_PARAM;
    return GNI_RC_SUCCESS;
}

static gni_return_t test(const struct question *question)
{
    sim_time_t cost;
    struct datagram_session *session;

    if (check_question(question) != GNI_RC_SUCCESS)
        return GNI_RC_INVALID_PARAM;
    cost = aries_timing_of(question->ep->nic)->cold_datagram_test;
    sim_settle();
    session = find_session(question);
    if (session == NULL || session->state == REMOTE || (!sim_behind() && is_final(session))) {
        sim_spend(cost);
        sim_idle_break();
        return report(question, session);
    }
    /* Pending: one poll, so that a loop of tests is not simulated test by test. */
    if (sim_poll(&session->wait, final_ready, cost)) {
        sim_spend(cost);
    } else if (sim_behind()) { /* whatever it is by now, it was pending then */
        *question->state = GNI_POST_PENDING;
        return GNI_RC_SUCCESS;
    }
    return report(question, find_session(question));
}

/* When a wait of so many milliseconds ends; all ones: never. */
static sim_time_t deadline_of(uint32_t timeout)
{
    return timeout == UINT32_MAX ? SIM_NEVER : sim_local_time() + timeout * SIM_MS;
}

static gni_return_t wait_final(const struct question *question, uint32_t timeout)
{
    const struct aries_timing *timing;
    struct datagram_session *session;
    bool blocked = false;
    struct gni_nic *nic;
    sim_time_t deadline;

    if (check_question(question) != GNI_RC_SUCCESS || timeout == 0)
        return GNI_RC_INVALID_PARAM;
    nic = question->ep->nic;
    timing = aries_timing_of(nic);
    deadline = deadline_of(timeout);
    datagrams_of(nic);
    sim_settle();
    for (;;) {
        session = find_session(question);
        if (session == NULL || is_final(session))
            break;
        if (sim_now() >= deadline || aries_interrupted(nic->process))
            return GNI_RC_TIMEOUT;
        blocked = true;
        if (!block(nic, deadline, &session->wait, NULL, NULL) ||
            !aries_handle_ok(question->ep, ARIES_MAGIC_EP))
            return GNI_RC_INVALID_PARAM;
    }
    sim_spend(timing->cold_datagram_test + (blocked ? timing->irq_wake : 0));
    return report(question, session);
}

gni_return_t GNI_EpPostDataTest(gni_ep_handle_t ep_hndl, gni_post_state_t *post_state,
                                uint32_t *remote_addr, uint32_t *remote_id)
{
    struct question question = {ep_hndl, false, 0, post_state, remote_addr, remote_id};

    return test(&question);
}

gni_return_t GNI_EpPostDataTestById(gni_ep_handle_t ep_hndl, uint64_t datagram_id,
                                    gni_post_state_t *post_state, uint32_t *remote_addr,
                                    uint32_t *remote_id)
{
    struct question question = {ep_hndl, true, datagram_id, post_state, remote_addr, remote_id};

    return test(&question);
}

gni_return_t GNI_EpPostDataWait(gni_ep_handle_t ep_hndl, uint32_t timeout,
                                gni_post_state_t *post_state, uint32_t *remote_addr,
                                uint32_t *remote_id)
{
    struct question question = {ep_hndl, false, 0, post_state, remote_addr, remote_id};

    return wait_final(&question, timeout);
}

gni_return_t GNI_EpPostDataWaitById(gni_ep_handle_t ep_hndl, uint64_t datagram_id, uint32_t timeout,
                                    gni_post_state_t *post_state, uint32_t *remote_addr,
                                    uint32_t *remote_id)
{
    struct question question = {ep_hndl, true, datagram_id, post_state, remote_addr, remote_id};

    return wait_final(&question, timeout);
}

/* ---- probe ----------------------------------------------------------------------------------- */

/*
 * The oldest session in a final state; NULL: none, and a poll's time has passed: a call into the
 * driver, or in the fast mode a look at a counter that it shows.
 */
static struct datagram_session *probe(struct gni_nic *nic, unsigned which)
{
    struct aries_datagrams *datagrams = datagrams_of(nic);
    const struct aries_timing *timing = aries_timing_of(nic);
    bool fast = nic->cdm != NULL && (nic->cdm->modes & GNI_CDM_MODE_FAST_DATAGRAM_POLL);

    if (!sim_poll_turn(&datagrams->probe_wait[which], heap_ready,
                       fast ? timing->cpu_cqget / 2 : timing->cold_datagram_test,
                       &datagrams->probe_looked))
        return NULL;
    sim_spend(timing->cold_datagram_test);
    return datagrams->final[which].items[0];
}

gni_return_t GNI_PostDataProbe(gni_nic_handle_t nic_hndl, uint32_t *remote_addr,
                               uint32_t *remote_id)
{
    struct datagram_session *session;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || remote_addr == NULL || remote_id == NULL)
        return GNI_RC_INVALID_PARAM;
    session = probe(nic_hndl, HEAP_ALL);
    if (session == NULL)
        return GNI_RC_NO_MATCH;
    *remote_addr = aries_pe_shown(nic_hndl, session->peer.pe);
    *remote_id = session->peer.inst_id;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_PostDataProbeById(gni_nic_handle_t nic_hndl, uint64_t *datagram_id)
{
    struct datagram_session *session;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || datagram_id == NULL)
        return GNI_RC_INVALID_PARAM;
    session = probe(nic_hndl, HEAP_WITH_ID);
    if (session == NULL)
        return GNI_RC_NO_MATCH;
    *datagram_id = session->id;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_PostdataProbeWaitById(gni_nic_handle_t nic_hndl, uint32_t timeout,
                                       uint64_t *datagram_id)
{
    const struct aries_timing *timing;
    struct aries_datagrams *datagrams;
    bool blocked = false;
    sim_time_t deadline;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || datagram_id == NULL)
        return GNI_RC_INVALID_PARAM;
    timing = aries_timing_of(nic_hndl);
    datagrams = datagrams_of(nic_hndl);
    deadline = deadline_of(timeout);
    sim_settle();
    while (!heap_ready(&datagrams->final[HEAP_WITH_ID])) {
        if (sim_now() >= deadline || aries_interrupted(nic_hndl->process))
            return GNI_RC_TIMEOUT;
        blocked = true;
        if (!block(nic_hndl, deadline, &datagrams->probe_wait[HEAP_WITH_ID], heap_ready,
                   &datagrams->final[HEAP_WITH_ID]))
            return GNI_RC_INVALID_PARAM;
    }
    sim_spend(timing->cold_datagram_test + (blocked ? timing->irq_wake : 0));
    *datagram_id = datagrams->final[HEAP_WITH_ID].items[0]->id;
    return GNI_RC_SUCCESS;
}

/* ---- cancel and release ---------------------------------------------------------------------- */

/* Ends a session that waits for its peer; what is final stays so. */
static void cancel_session(struct datagram_session *session)
{
    struct datagram_message *offer = session->offer;

    if (session->state != WAITING)
        return;
    session->offer = NULL;
    if (offer != NULL)
        offer->session = NULL;
    if (offer == NULL || !datagram_unsend(offer))
        send_to_peer(session, DATAGRAM_CANCEL);
    finalise(session, TERMINATED);
}

gni_return_t GNI_EpPostDataCancel(gni_ep_handle_t ep_hndl)
{
    struct datagram_session *session;
    bool remote_only;

    if (!aries_handle_ok(ep_hndl, ARIES_MAGIC_EP) || !is_bound(ep_hndl))
        return GNI_RC_INVALID_PARAM;
    sim_spend(aries_timing_of(ep_hndl->nic)->cold_datagram_test);
    sim_settle();
    sim_idle_break();
    session =
        find_peer(datagrams_of(ep_hndl->nic), peer_pe(ep_hndl), ep_hndl->remote_id, &remote_only);
    if (session == NULL || remote_only)
        return GNI_RC_NO_MATCH;
    cancel_session(session);
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_EpPostDataCancelById(gni_ep_handle_t ep_hndl, uint64_t datagram_id)
{
    struct aries_list *bucket, *node;

    if (!aries_handle_ok(ep_hndl, ARIES_MAGIC_EP) || datagram_id == UINT64_MAX)
        return GNI_RC_INVALID_PARAM;
    if (is_bound(ep_hndl)) /* the peer selects; the driver ignores the id */
        return GNI_EpPostDataCancel(ep_hndl);
    sim_spend(aries_timing_of(ep_hndl->nic)->cold_datagram_test);
    sim_settle();
    sim_idle_break();
    bucket = id_bucket(datagrams_of(ep_hndl->nic), datagram_id);
    /* grow() initialises every bucket. NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
    for (node = bucket->next; node != bucket; node = node->next) {
        struct datagram_session *session = sim_container_of(node, struct datagram_session, id_link);

        if (session->id != datagram_id)
            continue;
        if (!session->has_peer)
            session_free(session); /* nobody has met it: gone without a trace */
        else
            cancel_session(session);
        return GNI_RC_SUCCESS;
    }
    return GNI_RC_NO_MATCH;
}

bool aries_datagram_pending(const struct gni_ep *ep)
{
    return ep->datagram != NULL && ((const struct mark *)ep->datagram)->pending;
}

/*
 * Its session outlives the endpoint when it has a peer: a thread that waits for any datagram sees
 * it end.
 */
void aries_datagrams_ep_release(struct gni_ep *ep)
{
    struct mark *mark = ep->datagram;
    struct datagram_session *session;

    if (mark == NULL)
        return;
    while (!aries_list_empty(&mark->sessions)) {
        session = sim_container_of(mark->sessions.next, struct datagram_session, mark_link);
        aries_list_remove(&session->mark_link);
        session->mark = NULL;
        if (!session->has_peer)
            session_free(session);
        else
            cancel_session(session);
    }
    free(mark);
    ep->datagram = NULL;
}

/* Those that are left: of processes that never ended. */
static void free_all(struct aries_fabric *fabric)
{
    datagram_kernel_fini(fabric);
    while (!aries_list_empty(&fabric->datagrams))
        datagrams_delete(sim_container_of(fabric->datagrams.next, struct aries_datagrams, link));
}

static void release(struct gni_nic *nic)
{
    struct aries_datagrams *datagrams = nic->datagrams;

    if (datagrams == NULL)
        return;
    while (!aries_list_empty(&datagrams->all)) {
        struct datagram_session *session =
            sim_container_of(datagrams->all.next, struct datagram_session, all_link);

        if (session->state == WAITING && session->has_peer)
            cancel_session(session);
        else if (session->state == REMOTE)
            send_to_peer(session, DATAGRAM_REFUSE);
        session_free(session);
    }
    nic->datagrams = NULL;
    aries_process_notify(nic->process);
    datagrams_delete(datagrams);
}
