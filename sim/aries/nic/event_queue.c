/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event delivery: the ring of a completion queue and its overruns. */
#include "nic/event_queue.h"

#include <assert.h>
#include <glib.h>
#include "aries/misc/exceptions.h"
#include "nic/cq_entry.h"
#include "nic/interface.h"
#include "nic/objects.h"

_Static_assert((ARIES_RING_FIRST & (ARIES_RING_FIRST - 1)) == 0,
               "rings double from here: powers of two");

static bool cq_ok(const struct gni_cq *cq)
{
    return aries_handle_ok(cq, ARIES_MAGIC_CQ);
}

static struct aries_cq_slot *slot(const struct gni_cq *cq, uint32_t place)
{
    return &cq->ring[(cq->head + place) & (cq->ring_size - 1)];
}

static sim_cold void ring_grow(struct gni_cq *cq)
{
    uint32_t size = cq->ring_size > 0 ? cq->ring_size * 2 : ARIES_RING_FIRST, i;
    struct aries_cq_slot *ring = g_new(struct aries_cq_slot, size);

    for (i = 0; i < cq->count; i++)
        ring[i] = *slot(cq, i);
    g_free(cq->ring);
    cq->ring = ring;
    cq->ring_size = size;
    cq->head = 0;
}

void aries_cq_trace_depth(const struct gni_cq *cq)
{
    struct sim_trace_point point = {
        .kind = SIM_TRACE_COUNTER,
        .track = ARIES_TRACK_CQ,
        .node = cq->nic->hw->node,
        .index = cq->index,
        .name = "depth",
        .time = sim_now(),
        .value = cq->count,
    };

    sim_trace_write(&point);
}

static inline __attribute__((always_inline)) void ring_put(struct gni_cq *cq, gni_cq_entry_t entry,
                                                           const void *reader_data)
{
    if (cq->count == cq->ring_size)
        ring_grow(cq);
    assert(cq->count < cq->ring_size && cq->head < cq->ring_size);
    assert((cq->ring_size & (cq->ring_size - 1)) == 0);
    *slot(cq, cq->count) = (struct aries_cq_slot){entry, reader_data};
    cq->count++;
    if (sim_unlikely(sim_trace_on))
        aries_cq_trace_depth(cq);
    if (sim_unlikely(cq->armed))
        aries_channel_fire(cq);
}

/* Marks an overrun once: until the reader has seen the mark, it covers all lost events. */
static sim_cold void mark_overrun(struct gni_cq *cq)
{
    if (cq->overrun)
        return;
    cq->overrun = cq->lost_events = true;
    if (cq->count > 0) {
        slot(cq, cq->count - 1)->entry |= ARIES_CQ_OVERRUN;
        return;
    }
    /* An overrun forced on an empty queue: this entry carries only the mark. */
    ring_put(cq, aries_cq_entry_remote(0, 0, 0) | ARIES_CQ_OVERRUN, NULL);
    sim_ledger_count(&cq->fabric->book_event, 1, 0);
}

static void describe_entry(const void *what, struct sim_fault_hit *hit)
{
    const gni_cq_entry_t *entry = what;
    bool remote = aries_cq_entry_source(*entry) == ARIES_CQ_SOURCE_RMT;

    g_snprintf(hit->what, sizeof(hit->what), "%s event", remote ? "destination" : "source");
}

static bool finds_full(struct aries_fabric *fabric, struct gni_cq *cq, gni_cq_entry_t entry)
{
    const struct sim_fault_rule *rule;
    struct sim_fault_subject subject;

    if (cq->count >= cq->capacity)
        return true;
    if (sim_likely(fabric->fault_cq.rules == NULL))
        return false;
    subject = (struct sim_fault_subject){
        .describe = describe_entry,
        .what = &entry,
        .source = SIM_FAULT_ANY,
        .target = cq->nic->hw->node,
        .source_group = SIM_FAULT_ANY,
        .target_group = net_group_of(fabric->net, cq->nic->hw->node),
        .kind = aries_cq_entry_source(entry) == ARIES_CQ_SOURCE_RMT,
    };
    rule = sim_fault_ask(&fabric->fault_cq, &subject);
    return rule != NULL && rule->action == SIM_FAULT_DROP;
}

bool aries_cq_push(struct gni_cq *cq, gni_cq_entry_t entry)
{
    return aries_cq_push_for(cq, entry, NULL);
}

bool aries_cq_push_for(struct gni_cq *cq, gni_cq_entry_t entry, const void *reader_data)
{
    struct aries_fabric *fabric;
    struct aries_nic *hw;

    if (!cq_ok(cq))
        return true;
    assert(cq->nic != NULL && cq->refs > 0);
    /* The mark of a forced overrun may exceed the capacity by one. */
    assert(cq->count <= cq->capacity + 1);
    hw = cq->nic->hw;
    fabric = hw->fabric;
    fabric->counters.events++;
    if (cq->modes & GNI_CQ_UNMANAGED) {
        sim_ledger_count(&fabric->book_event, 1, 1);
        return true;
    }
    if (sim_unlikely(finds_full(fabric, cq, entry))) {
        mark_overrun(cq);
        fabric->counters.overruns++;
        sim_ledger_count(&fabric->book_event, 1, 0);
        sim_ledger_count_lost(&fabric->book_event, 1);
        sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_CQ, hw->node, cq->index, "overrun", sim_now(), 0,
                  0, entry >> 48);
        aries_process_notify(cq->nic->process);
        return false;
    }
    ring_put(cq, entry, reader_data);
    sim_ledger_count(&fabric->book_event, 1, 0);
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_CQ, hw->node, cq->index, "event", sim_now(), 0, 0,
              entry >> 48);
    aries_process_notify(cq->nic->process);
    return true;
}

void aries_cq_overrun(struct gni_cq *cq)
{
    if (!cq_ok(cq) || (cq->modes & GNI_CQ_UNMANAGED))
        return;
    mark_overrun(cq);
    cq->nic->hw->fabric->counters.overruns++;
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_CQ, cq->nic->hw->node, cq->index, "overrun", sim_now(),
              0, 0, 0);
    aries_process_notify(cq->nic->process);
}

void aries_cq_force_overrun(struct aries_fabric *fabric, uint32_t node)
{
    aries_cq_force_overrun_of(fabric, node, ARIES_EVERY);
}

void aries_cq_force_overrun_of(struct aries_fabric *fabric, uint32_t node, uint32_t queue)
{
    const struct aries_list *attached = &fabric->nics[node].attached, *link, *inner;

    for (link = attached->next; link != attached; link = link->next) {
        struct gni_nic *nic = sim_container_of(link, struct gni_nic, nic_link);

        for (inner = nic->cqs.next; inner != &nic->cqs; inner = inner->next) {
            struct gni_cq *cq = sim_container_of(inner, struct gni_cq, nic_link);

            if (queue != ARIES_EVERY && queue != cq->index)
                continue;
            aries_cq_overrun(cq);
            aries_error_raise(nic->hw, GNI_ERRMASK_TRANSIENT, A_STATUS_CQ_OVERRUN, nic->ptag,
                              cq->index);
        }
    }
}

void aries_cq_abandon(struct gni_cq *cq)
{
    sim_ledger_count_lost(&cq->fabric->book_event, cq->count);
    cq->count = 0;
}

void aries_fabric_abandon_events(struct aries_fabric *fabric)
{
    const struct aries_list *link, *inner;
    uint32_t node;

    for (node = 0; node < fabric->nodes; node++) {
        const struct aries_list *attached = &fabric->nics[node].attached;

        for (link = attached->next; link != attached; link = link->next) {
            struct gni_nic *nic = sim_container_of(link, struct gni_nic, nic_link);

            for (inner = nic->cqs.next; inner != &nic->cqs; inner = inner->next)
                aries_cq_abandon(sim_container_of(inner, struct gni_cq, nic_link));
        }
    }
}

/* ---- references ------------------------------------------------------------------------------ */

void aries_cq_ref(struct gni_cq *cq)
{
    assert(cq->refs > 0);
    cq->refs++;
}

void aries_cq_unref(struct gni_cq *cq)
{
    struct aries_fabric *fabric = cq->fabric;

    assert(cq->refs > 0);
    if (--cq->refs > 0)
        return;
    assert(cq->magic != ARIES_MAGIC_CQ); /* the handle holds a reference */
    aries_object_delete(fabric->objects, &aries_cq_class, cq);
}
