/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The channels of a collective engine, in simulation and live mode. A channel collects the joins
 * of its children, combines them in the order of their child ids, and joins its parent. The root
 * combines the last joins, and the result goes down to all that joined:
 *
 * collecting: after the last join, a channel with a parent joins it and waits for the result; the
 * root sends the result at once.
 *
 * waiting: after the parent's result, the channel sends the result down and collects the next
 * joins.
 *
 * Joins and results are transactions like any other. The queue of a channel, or an error event if
 * it has none, reports a transaction of the channel that fails. If a channel cannot join its
 * parent, its children get a result with the status of the failure; the other children of the
 * parent keep waiting.
 */
#include "nic/ce.h"

#include <glib.h>
#include <assert.h>

#include "aries/misc/exceptions.h"
#include "nic/ce_combine.h"
#include "nic/ce_result.h"
#include "nic/cq_entry.h"
#include "nic/objects.h"

/*
 * Limit of packets in flight from one channel. Without it, a child that joins but accepts no
 * result would queue packets without end.
 */
#define NOTES_MOST (4 * GNI_CE_MAX_CHILDREN)

struct joiner {
    struct aries_ce_member member; /* type UNUSED: there is no such child */
    struct aries_ce_value value;
    /* Where a process wants its result: taken from its join. */
    struct aries_nic *nic;
    uint64_t address;
    gni_mem_handle_t handle;
};

struct aries_vce {
    struct aries_nic *nic;
    uint32_t id;
    bool configured;
    bool waiting; /* it waits for the parent's result */
    bool events; /* an event for every reduction, not only for failures */
    uint8_t ptag;
    enum net_route route;
    uint32_t rounding; /* GNI_CE_MODE_ROUND_ */
    struct gni_cq *cq; /* referenced by api/ce.c */
    struct aries_ce_member parent;
    uint32_t expected, joined; /* bit masks of children */
    uint32_t configuration, round; /* counters by which outdated packets are recognised */
    uint32_t notes; /* number of notes in use */
    uint8_t command, mode; /* of the current reduction; the first join sets them */
    uint64_t reduction_id;
    struct joiner joiners[GNI_CE_MAX_CHILDREN];
};

_Static_assert(offsetof(struct aries_ce_note, event) == 0,
               "the event is the first member, which its handlers assume");
_Static_assert(GNI_CE_MAX_CHILDREN <= 32, "a bit mask has a bit for each child");

static const struct aries_class note_class = {.size = sizeof(struct aries_ce_note)};

static struct aries_ce_note *note_new(struct aries_vce *vce, enum aries_ce_transaction kind)
{
    struct aries_ce_note *note = aries_object_new(vce->nic->fabric->objects, &note_class);

    note->vce = vce;
    note->configuration = vce->configuration;
    note->round = vce->round;
    note->reduction_id = vce->reduction_id;
    note->kind = kind;
    note->ptag = vce->ptag;
    vce->notes++;
    return note;
}

static void note_free(struct aries_ce_note *note)
{
    assert(note->vce->notes > 0);
    note->vce->notes--;
    aries_object_delete(note->vce->nic->fabric->objects, &note_class, note);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void push_event(struct sim_event *event)
{
    struct aries_ce_note *note = (struct aries_ce_note *)event;

    assert(note->cq != NULL);
    aries_cq_push(note->cq, note->entry);
    aries_cq_unref(note->cq);
    note_free(note);
}

static void report_event(struct aries_vce *vce, enum aries_ce_transaction kind, uint8_t status,
                         uint64_t reduction_id)
{
    const struct aries_timing *timing = &vce->nic->fabric->timing;
    struct aries_ce_note *note;

    if (vce->cq == NULL || (status == 0 && !vce->events))
        return;
    note = note_new(vce, kind);
    note->cq = vce->cq;
    note->entry = aries_cq_entry_ce(status, vce->id, kind, reduction_id);
    note->event.fire = push_event;
    aries_cq_ref(note->cq);
    sim_event_schedule(&note->event, sim_now() + timing->pcie_write + timing->cqe + timing->poll);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void sent(void *context, uint8_t status, uint8_t info, bool remote_overrun);

static struct aries_work work_of(struct aries_vce *vce, enum aries_op op, struct aries_nic *target,
                                 enum aries_ce_transaction kind, const struct aries_ce_value *value)
{
    return (struct aries_work){
        .op = op,
        .unit = ARIES_UNIT_CE,
        .route = vce->route,
        .target = target,
        .ptag = vce->ptag,
        .operand = {value->operand[0], value->operand[1]},
        .book = &vce->nic->fabric->book_ce,
        .done = sent,
        .context = note_new(vce, kind),
    };
}

static struct aries_ce_header header_of(const struct aries_vce *vce,
                                        const struct aries_ce_member *to,
                                        const struct aries_ce_value *value, uint8_t status)
{
    return (struct aries_ce_header){
        .reduction_id = vce->reduction_id,
        .ce_id = to->ce_id,
        .child_id = to->child_id,
        .child_type = GNI_CE_CHILD_VCE,
        .command = vce->command,
        .mode = (uint8_t)((vce->mode & GNI_CEMODE_TWO_OP) | value->exceptions << 1),
        .status = status,
        .from = (uint8_t)vce->id,
    };
}

static void join_parent(struct aries_vce *vce, const struct aries_ce_value *value)
{
    struct aries_work work =
        work_of(vce, ARIES_CE_JOIN, vce->parent.nic, ARIES_CE_TRANS_JOIN, value);

    work.ce = header_of(vce, &vce->parent, value, 0);
    vce->waiting = true;
    aries_hw_originate(vce->nic, &work);
}

static void result_to_channel(struct aries_vce *vce, const struct joiner *joiner, uint8_t status,
                              const struct aries_ce_value *value)
{
    struct aries_work work =
        work_of(vce, ARIES_CE_RESULT, joiner->member.nic, ARIES_CE_TRANS_RESULT, value);

    work.ce = header_of(vce, &joiner->member, value, status);
    aries_hw_originate(vce->nic, &work);
}

static void result_to_process(struct aries_vce *vce, const struct joiner *joiner, uint8_t status,
                              const struct aries_ce_value *value)
{
    struct aries_work work =
        work_of(vce, ARIES_CE_WRITE, joiner->nic, ARIES_CE_TRANS_RESULT, value);

    work.remote_addr = joiner->address;
    work.remote_handle = joiner->handle;
    work.sync_flag_value = aries_ce_result_control(status, value->exceptions, vce->reduction_id);
    aries_hw_originate(vce->nic, &work);
}

/*
 * The reduction is over: sends the result to all children that joined, and accepts the next joins.
 */
static void deliver(struct aries_vce *vce, uint8_t status, const struct aries_ce_value *value)
{
    uint32_t id;

    for (id = 0; id < GNI_CE_MAX_CHILDREN; id++) {
        const struct joiner *joiner = &vce->joiners[id];

        if ((vce->joined & 1u << id) == 0)
            continue;
        if (joiner->member.type == GNI_CE_CHILD_VCE)
            result_to_channel(vce, joiner, status, value);
        else
            result_to_process(vce, joiner, status, value);
    }
    report_event(vce, ARIES_CE_TRANS_NONE, status, vce->reduction_id);
    vce->joined = 0;
    vce->waiting = false;
    vce->round++;
}

/*
 * Whether a failed join did not count at the parent. If the parent reports a duplicate, an earlier
 * copy of the join counted and only its response was lost. An error of the response itself proves
 * that there was one. A timeout leaves it open.
 */
static bool join_failed(uint8_t status, uint8_t info)
{
    return status != A_STATUS_CE_JOIN_DUPLICATE &&
           (info != ARIES_CQ_CPLTN_SRSP || status != A_STATUS_DATA_ERR);
}

/* Called when a transaction of a channel has ended. */
static void sent(void *context, uint8_t status, uint8_t info, bool remote_overrun)
{
    static const struct aries_ce_value nothing;
    struct aries_ce_note *note = context;
    struct aries_vce *vce = note->vce;
    bool current = note->configuration == vce->configuration;

    if (status != 0 && vce->nic->alive && (!current || vce->cq == NULL)) /* as for a silent post */
        aries_error_raise(vce->nic, GNI_ERRMASK_TRANSACTION, status, note->ptag, 0);
    if (status != 0 && vce->nic->alive && current) {
        report_event(vce, note->kind, status, note->reduction_id);
        if (note->kind == ARIES_CE_TRANS_JOIN && note->round == vce->round && vce->waiting &&
            join_failed(status, info))
            deliver(vce, status, &nothing);
    }
    note_free(note);
}

/* ---- arrivals -------------------------------------------------------------------------------- */

bool aries_ce_header_valid(const struct aries_ce_header *header)
{
    return header->child_id < GNI_CE_MAX_CHILDREN &&
           (header->child_type == GNI_CE_CHILD_VCE || header->child_type == GNI_CE_CHILD_PE) &&
           aries_ce_command_valid(header->command) && (header->mode & ~ARIES_CE_POST_MODES) == 0 &&
           (header->status & ~0x3f) == 0;
}

static struct aries_vce *vce_at(const struct aries_nic *nic, uint32_t id)
{
    if (nic->vces == NULL || id >= nic->fabric->timing.vces || !nic->vces[id].configured)
        return NULL;
    return &nic->vces[id];
}

static uint8_t check_join(const struct aries_vce *vce, const struct aries_nic *source,
                          const struct aries_work *work)
{
    const struct aries_ce_header *header = &work->ce;
    const struct aries_ce_member *member;

    if (vce == NULL)
        return A_STATUS_CE_OPERATION_UNEXPECTED;
    if (work->ptag != vce->ptag)
        return A_STATUS_CE_PROTECTION_ERR;
    member = &vce->joiners[header->child_id].member;
    if (member->type != header->child_type ||
        (member->type == GNI_CE_CHILD_VCE &&
         (member->nic != source || member->ce_id != header->from)))
        return A_STATUS_CE_JOIN_CHILD_INV;
    if (vce->joined & 1u << header->child_id)
        return A_STATUS_CE_JOIN_DUPLICATE;
    if (vce->joined == 0)
        return 0;
    if (header->reduction_id != vce->reduction_id)
        return A_STATUS_CE_REDUCTION_ID_MISMATCH;
    if (header->command != vce->command || ((header->mode ^ vce->mode) & GNI_CEMODE_TWO_OP))
        return A_STATUS_CE_JOIN_INCONSISTENT;
    return 0;
}

static void all_joined(struct aries_vce *vce)
{
    struct aries_ce_value value;
    bool first = true;
    uint32_t id;

    for (id = 0; id < GNI_CE_MAX_CHILDREN; id++) {
        if ((vce->joined & 1u << id) == 0)
            continue;
        if (first)
            value = vce->joiners[id].value;
        else
            aries_ce_combine(vce->command, vce->mode, vce->rounding, &value,
                             &vce->joiners[id].value);
        first = false;
    }
    if (vce->parent.type == GNI_CE_CHILD_UNUSED)
        deliver(vce, 0, &value);
    else
        join_parent(vce, &value);
}

uint8_t aries_ce_accept_join(struct aries_nic *nic, struct aries_nic *source,
                             const struct aries_work *work)
{
    const struct aries_ce_header *header = &work->ce;
    struct aries_vce *vce = vce_at(nic, header->ce_id);
    uint8_t status = check_join(vce, source, work);
    struct joiner *joiner;

    if (status != 0)
        return status;
    if (vce->joined == 0) {
        vce->command = header->command;
        vce->mode = header->mode;
        vce->reduction_id = header->reduction_id;
    }
    joiner = &vce->joiners[header->child_id];
    joiner->value =
        aries_ce_value_of(header->command, header->mode, work->operand[0], work->operand[1]);
    joiner->nic = source;
    joiner->address = work->local_addr;
    joiner->handle = work->local_handle;
    vce->joined |= 1u << header->child_id;
    if (vce->joined == vce->expected)
        all_joined(vce);
    return 0;
}

uint8_t aries_ce_accept_result(struct aries_nic *nic, const struct aries_nic *source,
                               const struct aries_work *work)
{
    struct aries_vce *vce = vce_at(nic, work->ce.ce_id);
    struct aries_ce_value value;

    if (vce == NULL || !vce->waiting || vce->parent.nic != source ||
        vce->parent.ce_id != work->ce.from || vce->reduction_id != work->ce.reduction_id)
        return A_STATUS_CE_OPERATION_UNEXPECTED;
    if (work->ptag != vce->ptag)
        return A_STATUS_CE_PROTECTION_ERR;
    value = aries_ce_value_of(work->ce.command, work->ce.mode, work->operand[0], work->operand[1]);
    deliver(vce, work->ce.status, &value);
    return 0;
}

/* ---- configuration --------------------------------------------------------------------------- */

static enum net_route route_of(uint32_t modes)
{
    if (modes & GNI_CE_MODE_RC_NMIN_HASH)
        return NET_ROUTE_NON_MIN_HASHED;
    if (modes & GNI_CE_MODE_RC_MIN_HASH)
        return NET_ROUTE_MIN_HASHED;
    return modes & GNI_CE_MODE_RC_MNON_HASH ? NET_ROUTE_IN_ORDER : NET_ROUTE_ADAPTIVE_0;
}

static void set_up(struct aries_vce *vce, const struct aries_ce_config *config)
{
    uint32_t i;

    vce->configured = true;
    vce->events = (config->modes & GNI_CE_MODE_CQE_ONCOMP) != 0;
    vce->rounding = config->modes & (GNI_CE_MODE_ROUND_UP | GNI_CE_MODE_ROUND_DOWN |
                                     GNI_CE_MODE_ROUND_NEAR | GNI_CE_MODE_ROUND_ZERO);
    vce->route = route_of(config->modes);
    vce->ptag = config->ptag;
    vce->cq = config->cq;
    vce->parent = config->parent;
    for (i = 0; i < config->children_count; i++) {
        uint32_t id = config->children[i].child_id;

        vce->joiners[id].member = config->children[i];
        vce->expected |= 1u << id;
    }
}

void aries_ce_configure(struct aries_nic *nic, uint32_t ce_id, const struct aries_ce_config *config)
{
    struct aries_vce *vce;

    if (nic->vces == NULL) {
        if (config == NULL)
            return;
        nic->vces = g_new0(struct aries_vce, nic->fabric->timing.vces);
    }
    vce = &nic->vces[ce_id];
    *vce = (struct aries_vce){
        .nic = nic, .id = ce_id, .configuration = vce->configuration + 1, .notes = vce->notes};
    if (config != NULL)
        set_up(vce, config);
}

bool aries_ce_congested(const struct aries_nic *nic, uint32_t ce_id)
{
    const struct aries_vce *vce = vce_at(nic, ce_id);

    return vce != NULL && vce->notes >= NOTES_MOST;
}
