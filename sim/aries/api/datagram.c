/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams of a communication domain: its sessions and the API on them. The rules of matching are
 * those of the driver's session manager (public sources of kgni):
 *
 *   post, bound      if the peer has a REMOTE session, both complete; if it has any other session,
 *                    ERROR_RESOURCE; otherwise the session is WAITING and sends an offer
 *   post, unbound    if there is a REMOTE session, the oldest one and the post complete; otherwise
 *                    the post is a wildcard
 *   offer arrives    a session that is WAITING for this peer completes; otherwise the oldest
 *                    wildcard accepts the offer and answers; otherwise the session is REMOTE
 *
 * Hash tables find sessions by peer and by id. Lists hold wildcards and REMOTE sessions in order of
 * age. Heaps hold the sessions in a final state in order of creation, so that the cost of a probe
 * does not depend on their number.
 */
#include "api/datagram_session.h"

#include <assert.h>
#include <stdlib.h>

/* ---- posting --------------------------------------------------------------------------------- */

static bool is_bound(const struct gni_ep *ep)
{
    return ep->remote_addr != UINT32_MAX || ep->remote_id != UINT32_MAX;
}

/* The PE address after the node translation of the job, if it has one. */
static uint32_t peer_pe(const struct gni_ep *ep)
{
    return ep->remote != NULL ? ep->remote->pe_addr : ep->remote_addr;
}

static struct aries_datagram_mark *mark_of(struct gni_ep *ep)
{
    struct aries_datagram_mark *mark = ep->datagram;

    if (mark == NULL) {
        mark = ep->datagram = aries_datagram_checked(calloc(1, sizeof(*mark)));
        aries_list_init(&mark->sessions);
    }
    return mark;
}

static gni_return_t post_session(struct gni_ep *ep, struct aries_datagram_session **posted)
{
    struct aries_datagrams *datagrams = aries_datagrams_of(ep->nic);
    struct aries_datagram_address peer = {ep->remote, peer_pe(ep), ep->remote_id};
    struct aries_datagram_session *session = NULL;
    bool remote_only;

    if (is_bound(ep)) {
        session = aries_datagram_find_remote(datagrams, peer.pe, peer.inst_id);
        if (session == NULL &&
            aries_datagram_find_peer(datagrams, peer.pe, peer.inst_id, &remote_only) != NULL)
            return GNI_RC_ERROR_RESOURCE;
    } else if (!aries_list_empty(&datagrams->remotes)) {
        session =
            sim_container_of(datagrams->remotes.next, struct aries_datagram_session, age_link);
    }
    if (session == NULL)
        session = aries_datagram_session_new(datagrams, ARIES_SESSION_WAITING,
                                             is_bound(ep) ? &peer : NULL);
    *posted = session;
    return GNI_RC_SUCCESS;
}

static gni_return_t post(struct gni_ep *ep, const void *data, uint16_t length, void *out_buf,
                         uint16_t out_size, bool has_id, uint64_t id)
{
    struct aries_datagram_session *session;
    struct aries_datagram_mark *mark;
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
    aries_datagram_set_id(session, has_id, id);
    ep->nic->hw->fabric->counters.datagrams++;
    if (session->state == ARIES_SESSION_REMOTE) {
        aries_datagram_finalise(session, ARIES_SESSION_COMPLETED);
        aries_datagram_send_to_peer(session, ARIES_DATAGRAM_ANSWER);
    } else if (session->has_peer) {
        session->offer = aries_datagram_send_to_peer(session, ARIES_DATAGRAM_OFFER);
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

static struct aries_datagram_session *find_by_id(const struct aries_datagrams *datagrams,
                                                 const struct gni_ep *ep, uint64_t id)
{
    struct aries_list *bucket = aries_datagram_id_bucket(datagrams, id), *node;
    struct aries_datagram_session *pending = NULL, *final = NULL;

    for (node = bucket->next; node != bucket; node = node->next) {
        struct aries_datagram_session *session =
            sim_container_of(node, struct aries_datagram_session, id_link);

        if (session->id != id)
            continue;
        if (is_bound(ep)) {
            if (session->has_peer && session->peer.pe == peer_pe(ep) &&
                session->peer.inst_id == ep->remote_id)
                return session;
        } else if (!aries_datagram_is_final(session)) {
            pending = pending == NULL ? session : pending;
        } else if (final == NULL || session->number < final->number) {
            final = session;
        }
    }
    return final != NULL ? final : pending;
}

static struct aries_datagram_session *find_session(const struct question *question)
{
    const struct gni_ep *ep = question->ep;
    const struct aries_datagrams *datagrams = ep->nic->datagrams;
    bool remote_only;

    if (datagrams == NULL)
        return NULL;
    if (question->by_id)
        return find_by_id(datagrams, ep, question->id);
    return aries_datagram_find_peer(datagrams, peer_pe(ep), ep->remote_id, &remote_only);
}

/* Marks the session as consumed: the endpoint that posted it may post its next datagram. */
static void consume(struct aries_datagram_session *session)
{
    if (session->mark != NULL)
        session->mark->pending = false;
    aries_datagram_session_free(session);
}

/* Copies the data that the peer offered into the endpoint's buffer. */
static gni_return_t copy_out(const struct aries_datagram_session *session,
                             const struct aries_datagram_mark *mark)
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

static gni_return_t report(const struct question *question, struct aries_datagram_session *session)
{
    static const gni_post_state_t shown[] = {
        [ARIES_SESSION_WAITING] = GNI_POST_PENDING,
        [ARIES_SESSION_REMOTE] = GNI_POST_REMOTE_DATA,
        [ARIES_SESSION_COMPLETED] = GNI_POST_COMPLETED,
        [ARIES_SESSION_TERMINATED] = GNI_POST_TERMINATED,
        [ARIES_SESSION_TIMED_OUT] = GNI_POST_TIMEOUT,
    };
    struct aries_datagram_mark *mark = mark_of(question->ep);
    gni_return_t rc = GNI_RC_SUCCESS;

    if (session == NULL) {
        mark->pending = false;
        return GNI_RC_NO_MATCH;
    }
    /* An endpoint that has never posted has no buffer: it is told REMOTE_DATA, but gets no data. */
    if (session->state == ARIES_SESSION_COMPLETED ||
        (session->state == ARIES_SESSION_REMOTE && mark->out_size != 0))
        rc = copy_out(session, mark);
    if (rc != GNI_RC_INVALID_PARAM) {
        *question->state = shown[session->state];
        if (session->state != ARIES_SESSION_WAITING) {
            *question->remote_addr = aries_pe_shown(question->ep->nic, session->peer.pe);
            *question->remote_id = session->peer.inst_id;
        }
        if (aries_datagram_is_final(session))
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
    struct aries_datagram_session *session;

    if (check_question(question) != GNI_RC_SUCCESS)
        return GNI_RC_INVALID_PARAM;
    cost = aries_timing_of(question->ep->nic)->cold_datagram_test;
    sim_settle();
    session = find_session(question);
    if (session == NULL || session->state == ARIES_SESSION_REMOTE ||
        (!sim_behind() && aries_datagram_is_final(session))) {
        sim_spend(cost);
        sim_idle_break();
        return report(question, session);
    }
    /*
     * The session is pending. This counts as one poll, so that a loop of tests is not simulated
     * test by test.
     */
    if (sim_poll(&session->wait, aries_datagram_final_ready, cost)) {
        sim_spend(cost);
    } else if (sim_behind()) {
        /* The session may have ended by now, but it was pending at the time of the call. */
        *question->state = GNI_POST_PENDING;
        return GNI_RC_SUCCESS;
    }
    return report(question, find_session(question));
}

/* The time at which a wait of `timeout` milliseconds ends. All ones: never. */
static sim_time_t deadline_of(uint32_t timeout)
{
    return timeout == UINT32_MAX ? SIM_NEVER : sim_local_time() + timeout * SIM_MS;
}

static gni_return_t wait_final(const struct question *question, uint32_t timeout)
{
    const struct aries_timing *timing;
    struct aries_datagram_session *session;
    bool blocked = false;
    struct gni_nic *nic;
    sim_time_t deadline;

    if (check_question(question) != GNI_RC_SUCCESS || timeout == 0)
        return GNI_RC_INVALID_PARAM;
    nic = question->ep->nic;
    timing = aries_timing_of(nic);
    deadline = deadline_of(timeout);
    aries_datagrams_of(nic);
    sim_settle();
    for (;;) {
        session = find_session(question);
        if (session == NULL || aries_datagram_is_final(session))
            break;
        if (sim_now() >= deadline || aries_interrupted(nic->process))
            return GNI_RC_TIMEOUT;
        blocked = true;
        if (!aries_datagram_block(nic, deadline, &session->wait, NULL, NULL) ||
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
 * Returns the oldest session in a final state, or NULL after the time of one poll. A poll is a
 * call into the driver; in the fast mode it reads a counter that the driver exposes.
 */
static struct aries_datagram_session *probe(struct gni_nic *nic, unsigned which)
{
    struct aries_datagrams *datagrams = aries_datagrams_of(nic);
    const struct aries_timing *timing = aries_timing_of(nic);
    bool fast = nic->cdm != NULL && (nic->cdm->modes & GNI_CDM_MODE_FAST_DATAGRAM_POLL);

    if (!sim_poll_turn(&datagrams->probe_wait[which], aries_datagram_heap_ready,
                       fast ? timing->cpu_cqget / 2 : timing->cold_datagram_test,
                       &datagrams->probe_last_poll))
        return NULL;
    sim_spend(timing->cold_datagram_test);
    return datagrams->final[which].items[0];
}

gni_return_t GNI_PostDataProbe(gni_nic_handle_t nic_hndl, uint32_t *remote_addr,
                               uint32_t *remote_id)
{
    struct aries_datagram_session *session;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || remote_addr == NULL || remote_id == NULL)
        return GNI_RC_INVALID_PARAM;
    session = probe(nic_hndl, ARIES_HEAP_ALL);
    if (session == NULL)
        return GNI_RC_NO_MATCH;
    *remote_addr = aries_pe_shown(nic_hndl, session->peer.pe);
    *remote_id = session->peer.inst_id;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_PostDataProbeById(gni_nic_handle_t nic_hndl, uint64_t *datagram_id)
{
    struct aries_datagram_session *session;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || datagram_id == NULL)
        return GNI_RC_INVALID_PARAM;
    session = probe(nic_hndl, ARIES_HEAP_WITH_ID);
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
    datagrams = aries_datagrams_of(nic_hndl);
    deadline = deadline_of(timeout);
    sim_settle();
    while (!aries_datagram_heap_ready(&datagrams->final[ARIES_HEAP_WITH_ID])) {
        if (sim_now() >= deadline || aries_interrupted(nic_hndl->process))
            return GNI_RC_TIMEOUT;
        blocked = true;
        if (!aries_datagram_block(nic_hndl, deadline, &datagrams->probe_wait[ARIES_HEAP_WITH_ID],
                                  aries_datagram_heap_ready, &datagrams->final[ARIES_HEAP_WITH_ID]))
            return GNI_RC_INVALID_PARAM;
    }
    sim_spend(timing->cold_datagram_test + (blocked ? timing->irq_wake : 0));
    *datagram_id = datagrams->final[ARIES_HEAP_WITH_ID].items[0]->id;
    return GNI_RC_SUCCESS;
}

/* ---- cancel and release ---------------------------------------------------------------------- */

gni_return_t GNI_EpPostDataCancel(gni_ep_handle_t ep_hndl)
{
    struct aries_datagram_session *session;
    bool remote_only;

    if (!aries_handle_ok(ep_hndl, ARIES_MAGIC_EP) || !is_bound(ep_hndl))
        return GNI_RC_INVALID_PARAM;
    sim_spend(aries_timing_of(ep_hndl->nic)->cold_datagram_test);
    sim_settle();
    sim_idle_break();
    session = aries_datagram_find_peer(aries_datagrams_of(ep_hndl->nic), peer_pe(ep_hndl),
                                       ep_hndl->remote_id, &remote_only);
    if (session == NULL || remote_only)
        return GNI_RC_NO_MATCH;
    aries_datagram_cancel(session);
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_EpPostDataCancelById(gni_ep_handle_t ep_hndl, uint64_t datagram_id)
{
    struct aries_list *bucket, *node;

    if (!aries_handle_ok(ep_hndl, ARIES_MAGIC_EP) || datagram_id == UINT64_MAX)
        return GNI_RC_INVALID_PARAM;
    if (is_bound(ep_hndl)) /* the peer selects the session; the driver ignores the id */
        return GNI_EpPostDataCancel(ep_hndl);
    sim_spend(aries_timing_of(ep_hndl->nic)->cold_datagram_test);
    sim_settle();
    sim_idle_break();
    bucket = aries_datagram_id_bucket(aries_datagrams_of(ep_hndl->nic), datagram_id);
    /* grow() initialises every bucket. NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
    for (node = bucket->next; node != bucket; node = node->next) {
        struct aries_datagram_session *session =
            sim_container_of(node, struct aries_datagram_session, id_link);

        if (session->id != datagram_id)
            continue;
        if (!session->has_peer)
            aries_datagram_session_free(
                session); /* no peer has matched it: free it without a report */
        else
            aries_datagram_cancel(session);
        return GNI_RC_SUCCESS;
    }
    return GNI_RC_NO_MATCH;
}

bool aries_datagram_pending(const struct gni_ep *ep)
{
    return ep->datagram != NULL && ((const struct aries_datagram_mark *)ep->datagram)->pending;
}

/*
 * A session that has a peer outlives its endpoint: a thread that waits for any datagram sees it
 * end.
 */
void aries_datagrams_ep_release(struct gni_ep *ep)
{
    struct aries_datagram_mark *mark = ep->datagram;
    struct aries_datagram_session *session;

    if (mark == NULL)
        return;
    while (!aries_list_empty(&mark->sessions)) {
        session = sim_container_of(mark->sessions.next, struct aries_datagram_session, mark_link);
        aries_list_remove(&session->mark_link);
        session->mark = NULL;
        if (!session->has_peer)
            aries_datagram_session_free(session);
        else
            aries_datagram_cancel(session);
    }
    free(mark);
    ep->datagram = NULL;
}
