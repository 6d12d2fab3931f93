/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues: the calls that create, read and wait for them. */
#include "api/findings.h"

#include <assert.h>
#include <stdio.h>
#include "nic/cq_entry.h"
#include "nic/job.h"

#define PAGE_ENTRIES 512u
#define ENTRIES_MAX (UINT32_C(1) << 28)

_Static_assert(ENTRIES_MAX <= UINT32_MAX / 2, "a ring that holds the largest queue has a size");

static bool cq_ok(const struct gni_cq *cq)
{
    return aries_handle_ok(cq, ARIES_MAGIC_CQ);
}

static struct aries_cq_slot *slot(const struct gni_cq *cq, uint32_t place)
{
    return &cq->ring[(cq->head + place) & (cq->ring_size - 1)];
}

/* ---- creating and destroying ----------------------------------------------------------------- */

/* The ring of the hardware consists of whole pages of 512 entries. One entry always stays empty. */
static uint32_t usable_entries(const struct aries_timing *timing, uint32_t entry_count)
{
    if (timing->cq_exact)
        return entry_count;
    return (entry_count + 1 + PAGE_ENTRIES - 1) / PAGE_ENTRIES * PAGE_ENTRIES - 1;
}

static void discard(void *cq);
static void release_all(struct gni_nic *nic);

const struct aries_class aries_cq_class = {
    .size = sizeof(struct gni_cq), .handle = true, .discard = discard};

gni_return_t GNI_CqCreate(gni_nic_handle_t nic_hndl, uint32_t entry_count, uint32_t delay_count,
                          gni_cq_mode_t mode, void (*handler)(gni_cq_entry_t *, void *),
                          void *context, gni_cq_handle_t *cq_hndl)
{
    struct aries_nic *hw;
    struct gni_cq *cq;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || cq_hndl == NULL || entry_count == 0 ||
        (mode & GNI_CQ_EMULATED_INVALID) == GNI_CQ_EMULATED_INVALID)
        return GNI_RC_INVALID_PARAM;
    hw = nic_hndl->hw;
    sim_spend(hw->fabric->timing.cold_cq_create);
    sim_settle();
    if (hw->cq_used >= hw->fabric->timing.cqs ||
        !aries_job_may_add(hw, nic_hndl->ptag, GNI_JOB_RES_CQ))
        return GNI_RC_ERROR_RESOURCE;
    if (entry_count > ENTRIES_MAX)
        return GNI_RC_ERROR_NOMEM;
    cq = aries_object_new(hw->fabric->objects, &aries_cq_class);
    cq->magic = ARIES_MAGIC_CQ;
    cq->refs = 1;
    cq->id = sim_new_ids(2);
    cq->nic = nic_hndl;
    cq->fabric = hw->fabric;
    cq->entry_count = entry_count;
    cq->capacity = usable_entries(&hw->fabric->timing, entry_count);
    cq->modes = mode;
    cq->handler = handler;
    cq->context = context;
    cq->index = hw->cq_index++;
    aries_requests_init(cq, nic_hndl->dual_events ? (entry_count + 1) / 2 : entry_count);
    aries_list_add(&nic_hndl->cqs, &cq->nic_link);
    aries_nic_on_detach(nic_hndl, ARIES_DETACH_EVENTS, release_all);
    hw->cq_used++;
    *cq_hndl = cq;
    return GNI_RC_SUCCESS;
}

static sim_cold void discard(void *object)
{
    struct gni_cq *cq = object;

    g_free(cq->ring);
    cq->ring = NULL;
    aries_requests_free(cq);
}

static void cq_release(struct gni_cq *cq)
{
    struct aries_process *process = cq->nic->process;

    aries_findings_cq_ends(cq);
    aries_requests_detach(cq);
    aries_channel_detach(cq);
    aries_list_remove(&cq->nic_link);
    assert(cq->nic->hw->cq_used > 0);
    cq->nic->hw->cq_used--;
    cq->magic = 0;
    cq->nic = NULL;
    aries_cq_abandon(cq);
    aries_process_notify(process); /* wakes the fibers that wait for it: they see that it is gone */
    aries_cq_unref(cq);
}

static void release_all(struct gni_nic *nic)
{
    while (!aries_list_empty(&nic->cqs))
        cq_release(sim_container_of(nic->cqs.next, struct gni_cq, nic_link));
}

gni_return_t GNI_CqDestroy(gni_cq_handle_t cq_hndl)
{
    if (!cq_ok(cq_hndl))
        return GNI_RC_INVALID_PARAM;
    sim_settle();
    if (cq_hndl->ep_count > 0)
        return GNI_RC_ERROR_RESOURCE;
    sim_idle_break();
    aries_findings_cq_destroyed(cq_hndl);
    cq_release(cq_hndl);
    return GNI_RC_SUCCESS;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A destroyed queue counts as ready, because its waiters must return. */
static bool ready(const void *what)
{
    const struct gni_cq *cq = what;

    return cq->count > 0 || cq->magic != ARIES_MAGIC_CQ;
}

static void describe(const void *what, char *buffer, size_t size)
{
    const struct gni_cq *cq = what;

    int length;

    if (!cq_ok(cq))
        return;
    length = snprintf(buffer, size, " %u of node %u", cq->index, cq->nic->hw->node);
    if (length > 0 && (size_t)length < size)
        aries_findings_cq_awaits(cq, buffer + length, size - (size_t)length);
}

/* Passes an SMSG completion to smsg.c first. Returns true if the library keeps it to itself. */
static bool digest_smsg(struct gni_cq *cq, gni_cq_entry_t *entry)
{
    struct aries_request *request = aries_request_of(cq, aries_cq_entry_tid(*entry));
    uint32_t msg_id;
    bool kept;

    if (request == NULL)
        return false;
    msg_id = (uint32_t)request->post_id;
    kept = request->ep != NULL && aries_smsg_completed(cq, request, *entry);
    *entry &= ~((UINT64_C(1) << ARIES_CQ_TYPE_SHIFT) - 1);
    *entry |= msg_id;
    if (!kept)
        aries_request_retire(cq, request);
    return kept;
}

/*
 * Prefetches for a reader that lags behind: it visits one endpoint after the other, all of them
 * out of the cache. When an entry is popped, the endpoint of the entry after the next is fetched;
 * for the next entry, the data that its endpoint points to.
 */
static void fetch_ahead(const struct gni_cq *cq)
{
    const struct aries_cq_slot *next = slot(cq, 1);

    if (cq->count > 2) {
        __builtin_prefetch(slot(cq, 2)->reader_data, 1);
        __builtin_prefetch(slot(cq, 6)); /* this slot lies in the next cache line */
    }
    if (next->reader_data == NULL)
        return;
    if (aries_cq_entry_source(next->entry) == ARIES_CQ_SOURCE_RMT) {
        const struct gni_ep *ep = next->reader_data;
        const uint8_t *record = ep->rx_ring + ep->rx_at;

        __builtin_prefetch(record, 1);
        __builtin_prefetch(record + 24, 1);
    } else {
        const struct aries_request *request = next->reader_data;

        if (request->ep != NULL)
            __builtin_prefetch(&request->ep->cq, 1);
    }
}

/* Pops the next entry that the caller may see. NOT_DONE: there is none. */
static gni_return_t pop_entry(struct gni_cq *cq, gni_cq_entry_t *event)
{
    gni_cq_entry_t entry;

    do {
        if (cq->count == 0) {
            *event = 0;
            return GNI_RC_NOT_DONE;
        }
        assert(cq->count <= cq->ring_size);
        entry = slot(cq, 0)->entry;
        if (cq->count > 1)
            fetch_ahead(cq);
        cq->head = (cq->head + 1) & (cq->ring_size - 1);
        cq->count--;
        aries_cq_taken(cq, 1);
        if (aries_cq_entry_overrun(entry))
            cq->overrun = false;
    } while (aries_cq_entry_type(entry) == GNI_CQ_EVENT_TYPE_SMSG &&
             aries_cq_entry_source(entry) != ARIES_CQ_SOURCE_RMT && digest_smsg(cq, &entry) &&
             !aries_cq_entry_overrun(entry));
    *event = entry;
    if (aries_cq_entry_overrun(entry))
        return GNI_RC_ERROR_RESOURCE;
    if (cq->handler != NULL)
        cq->handler(event, cq->context);
    return aries_cq_entry_status(entry) == 0 ? GNI_RC_SUCCESS : GNI_RC_TRANSACTION_ERROR;
}

static gni_return_t take_spending(struct gni_cq *cq, gni_cq_entry_t *event)
{
    const struct aries_timing *timing = aries_timing_of(cq->nic);

    sim_idle_break();
    sim_spend(timing->cpu_cqget);
    sim_poll_found(&cq->last_poll);
    return pop_entry(cq, event);
}

/* Does the library's own work, which programs drive by reading a queue. */
static void progress(struct gni_nic *nic)
{
    if (sim_unlikely(!aries_list_empty(&nic->smsg_returns)))
        aries_smsg_progress(nic);
}

/* Pending work of the library counts as an entry: a poller must not sleep while there is some. */
static bool poll_ready(const void *what)
{
    const struct gni_cq *cq = what;

    return ready(cq) || !aries_list_empty(&cq->nic->smsg_returns);
}

/*
 * Polls once. `call` keeps apart the callers, which continue differently after they find an entry:
 * GNI_CqGetEvent (0) and GNI_CqTestEvent (1).
 */
static bool poll_once(struct gni_cq *cq, uint32_t call)
{
    const struct sim_wait wait = {"completion queue", describe, cq, cq->id + call};

    return sim_poll_turn(&wait, poll_ready, aries_timing_of(cq->nic)->cpu_cqget / 2,
                         &cq->last_poll);
}

gni_return_t GNI_CqGetEvent(gni_cq_handle_t cq_hndl, gni_cq_entry_t *event_data)
{
    bool behind;

    if (!cq_ok(cq_hndl) || event_data == NULL)
        return GNI_RC_INVALID_PARAM;
    behind = sim_catching_up();
    if (!cq_ok(cq_hndl)) /* another thread destroyed it meanwhile */
        return GNI_RC_INVALID_PARAM;
    if (!behind)
        progress(cq_hndl->nic);
    if ((behind || cq_hndl->count == 0) && !poll_once(cq_hndl, 0)) {
        *event_data = 0;
        return GNI_RC_NOT_DONE;
    }
    if (!cq_ok(cq_hndl))
        return GNI_RC_INVALID_PARAM;
    return take_spending(cq_hndl, event_data);
}

gni_return_t GNI_CqTestEvent(gni_cq_handle_t cq_hndl)
{
    if (!cq_ok(cq_hndl))
        return GNI_RC_INVALID_PARAM;
    if (!poll_once(cq_hndl, 1))
        return GNI_RC_NOT_DONE;
    if (!cq_ok(cq_hndl))
        return GNI_RC_INVALID_PARAM;
    sim_idle_break();
    sim_spend(aries_timing_of(cq_hndl->nic)->cpu_cqget / 2);
    if (cq_hndl->count == 0) /* GNI_CqGetEvent has work to do, but no entry to return */
        return GNI_RC_SUCCESS;
    return aries_cq_entry_overrun(slot(cq_hndl, 0)->entry) ? GNI_RC_ERROR_RESOURCE : GNI_RC_SUCCESS;
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct vector {
    gni_cq_handle_t *cqs;
    uint32_t count;
};

static gni_return_t vector_check(const struct vector *vector)
{
    uint32_t i;

    if (vector->cqs == NULL || vector->count == 0)
        return GNI_RC_INVALID_PARAM;
    for (i = 0; i < vector->count; i++)
        if (!cq_ok(vector->cqs[i]))
            return GNI_RC_INVALID_PARAM;
    for (i = 0; i < vector->count; i++)
        if (!(vector->cqs[i]->modes & GNI_CQ_BLOCKING))
            return GNI_RC_ERROR_RESOURCE;
    return GNI_RC_SUCCESS;
}

static uint32_t vector_ready(const struct vector *vector)
{
    uint32_t i;

    for (i = 0; i < vector->count; i++)
        if (ready(vector->cqs[i]))
            break;
    return i;
}

static bool __attribute__((unused)) vector_wakes(const void *on)
{
    const struct vector *vector = on;

    return vector_ready(vector) < vector->count;
}

/* Whether another thread destroyed a queue while this thread caught up with virtual time. */
static bool vector_dead(const struct vector *vector)
{
    uint32_t i;

    for (i = 0; i < vector->count; i++)
        if (!cq_ok(vector->cqs[i]))
            return true;
    return false;
}

static bool vector_masked(const struct vector *vector)
{
    uint32_t i;

    for (i = 0; i < vector->count; i++)
        if (vector->cqs[i]->mask_count > 0)
            return true;
    return false;
}

static sim_time_t deadline_of(uint64_t timeout_ms)
{
    sim_time_t now = sim_local_time();

    return timeout_ms >= (SIM_NEVER - now) / SIM_MS ? SIM_NEVER : now + timeout_ms * SIM_MS;
}

/*
 * Blocks until one of the queues has an entry or the deadline has passed; INVALID_STATE: a signal
 * arrived. Holds references to the queues, so that a queue that is destroyed meanwhile can still
 * be inspected.
 */
static gni_return_t vector_block(const struct vector *vector, sim_time_t deadline, uint32_t *which)
{
    const struct sim_wait wait = {"completion queue (blocked)", describe, vector->cqs[0],
                                  SIM_WAKES(vector_wakes, vector)};
    const struct aries_timing *timing = aries_timing_of(vector->cqs[0]->nic);
    struct aries_process *process = vector->cqs[0]->nic->process;
    bool in_time = true, interrupted = false;
    uint32_t i;

    /* Every call takes time, or a loop of calls would never end. */
    sim_spend(timing->cpu_cqget / 2);
    sim_settle();
    if (vector_dead(vector))
        return GNI_RC_INVALID_PARAM;
    *which = vector_ready(vector);
    if (*which < vector->count)
        return GNI_RC_SUCCESS;
    for (i = 0; i < vector->count; i++)
        aries_cq_ref(vector->cqs[i]);
    while (in_time && !interrupted && *which == vector->count) {
        interrupted = aries_interrupted(process);
        in_time = !interrupted && sim_wait_until(deadline, &wait);
        *which = vector_ready(vector);
    }
    sim_spend(*which < vector->count ? timing->irq_wake : 0);
    for (i = 0; i < vector->count; i++) {
        if (!cq_ok(vector->cqs[i]))
            *which = UINT32_MAX;
        aries_cq_unref(vector->cqs[i]);
    }
    if (*which == vector->count)
        return interrupted ? GNI_RC_INVALID_STATE : GNI_RC_TIMEOUT;
    return *which == UINT32_MAX ? GNI_RC_INVALID_PARAM : GNI_RC_SUCCESS;
}

static gni_return_t vector_wait(const struct vector *vector, uint64_t timeout, bool heed_masks,
                                gni_cq_entry_t *event, uint32_t *which)
{
    sim_time_t deadline = deadline_of(timeout);
    gni_return_t result;

    if (vector_dead(vector))
        return GNI_RC_INVALID_PARAM;
    do {
        if (heed_masks && vector_ready(vector) == vector->count && vector_masked(vector))
            return GNI_RC_NOT_DONE;
        progress(vector->cqs[0]->nic);
        result = vector_block(vector, deadline, which);
        if (result != GNI_RC_SUCCESS)
            return result == GNI_RC_INVALID_STATE ? GNI_RC_NOT_DONE : result;
        result = take_spending(vector->cqs[*which], event);
    } while (result == GNI_RC_NOT_DONE); /* the entry was for the library only */
    return result;
}

gni_return_t GNI_CqWaitEvent(gni_cq_handle_t cq_hndl, uint64_t timeout, gni_cq_entry_t *event_data)
{
    const struct vector vector = {&cq_hndl, 1};
    gni_return_t result = vector_check(&vector);
    uint32_t which;

    if (event_data == NULL)
        return GNI_RC_INVALID_PARAM;
    if (result != GNI_RC_SUCCESS)
        return result;
    sim_settle();
    return vector_wait(&vector, timeout, false, event_data, &which);
}

gni_return_t GNI_CqVectorWaitEvent(gni_cq_handle_t *cq_hndls, uint32_t num_cqs, uint64_t timeout,
                                   gni_cq_entry_t *event_data, uint32_t *which)
{
    const struct vector vector = {cq_hndls, num_cqs};
    gni_return_t result = vector_check(&vector);

    if (event_data == NULL || which == NULL)
        return GNI_RC_INVALID_PARAM;
    if (result != GNI_RC_SUCCESS)
        return result;
    sim_settle();
    return vector_wait(&vector, timeout, true, event_data, which);
}

gni_return_t GNI_CqVectorMonitor(gni_cq_handle_t *cq_hndls, uint32_t num_cqs, uint64_t timeout,
                                 uint32_t *which)
{
    const struct vector vector = {cq_hndls, num_cqs};
    gni_return_t result = vector_check(&vector);

    if (which == NULL)
        return GNI_RC_INVALID_PARAM;
    if (result != GNI_RC_SUCCESS)
        return result;
    sim_settle();
    if (vector_dead(&vector))
        return GNI_RC_INVALID_PARAM;
    if (vector_ready(&vector) == num_cqs && vector_masked(&vector))
        return GNI_RC_NOT_DONE;
    return vector_block(&vector, deadline_of(timeout), which);
}

/* ---- interrupt masks ------------------------------------------------------------------------- */

gni_return_t GNI_CqInterruptMask(gni_cq_handle_t cq_hndl)
{
    if (!cq_ok(cq_hndl) || !(cq_hndl->modes & GNI_CQ_BLOCKING))
        return GNI_RC_INVALID_PARAM;
    if (cq_hndl->mask_count == UINT32_MAX)
        return GNI_RC_NOT_DONE;
    cq_hndl->mask_count++;
    sim_idle_break();
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_CqInterruptUnmask(gni_cq_handle_t cq_hndl)
{
    if (!cq_ok(cq_hndl) || !(cq_hndl->modes & GNI_CQ_BLOCKING))
        return GNI_RC_INVALID_PARAM;
    if (cq_hndl->mask_count == 0)
        return GNI_RC_NOT_DONE;
    cq_hndl->mask_count--;
    sim_idle_break();
    return GNI_RC_SUCCESS;
}
