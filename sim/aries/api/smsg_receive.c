/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Receiving SMSG messages: finding records in a mailbox, and returning them to the program. */
#include "api/smsg_connection.h"

#include <assert.h>

/* ---- records --------------------------------------------------------------------------------- */

/*
 * Whether the record cannot arrive in pieces because it lies in one cache line, so in one packet.
 */
static sim_noinline bool in_one_line(const struct aries_smsg_record *record)
{
    uintptr_t first = (uintptr_t)record, last = first + ARIES_SMSG_UNIT + record->length - 1;

    return first >> 6 == last >> 6;
}

/* Reports that the checksum of a record is wrong although it arrived in one piece. */
static sim_noinline enum aries_smsg_record_state damaged(struct gni_ep *ep, uint32_t number)
{
    if (!ep->broken)
        sim_ledger_violation(&ep->nic->hw->fabric->book_smsg,
                             "message %u to node %u was changed on its way", number,
                             ep->nic->hw->node);
    ep->broken = true;
    return ARIES_SMSG_DAMAGED;
}

/* Whether record `number` has begun to arrive at this offset of the ring. */
static inline bool has_begun(const struct gni_ep *ep, uint32_t offset, uint32_t number)
{
    const struct aries_smsg_record *record =
        (const struct aries_smsg_record *)(ep->rx_ring + offset);

    return record->sequence == number && (record->mark & ~1u) == ARIES_SMSG_MARK;
}

/* Whether record `number` lies at this offset of the ring. */
static enum aries_smsg_record_state record_state_at(struct gni_ep *ep, uint32_t offset,
                                                    uint32_t number)
{
    const struct aries_smsg_record *record =
        (const struct aries_smsg_record *)(ep->rx_ring + offset);

    if (!has_begun(ep, offset, number))
        return ARIES_SMSG_ABSENT;
    if (record->length > ep->message_max || aries_smsg_span(record->length) > ep->rx_bytes - offset)
        return ARIES_SMSG_DAMAGED;
    if (sim_likely(record->checksum == aries_smsg_record_checksum(record)))
        return ARIES_SMSG_PRESENT;
    return in_one_line(record) ? damaged(ep, number)
                               : ARIES_SMSG_ABSENT; /* the rest is still in flight */
}

/*
 * Whether record `number` may lie at the start or at the home of the ring instead of at `read_at`.
 * It may if the peer knew that all earlier messages were released, or if it may have found too
 * little room at the end.
 */
static bool may_start_over(const struct gni_ep *ep, uint32_t read_at, uint32_t number)
{
    return ep->rx_reported == number || ep->rx_bytes - read_at < aries_smsg_span(ep->message_max);
}

static uint32_t rx_home(const struct gni_ep *ep)
{
    return aries_smsg_home((uintptr_t)ep->rx_ring, ep->rx_bytes);
}

/*
 * Whether the start of the ring holds something else that may lie there: nothing, a message that
 * overtook the expected one, or a late copy of a message that was released long ago. (The home may
 * hold the middle of a record.)
 */
static sim_noinline bool start_is_sane(const struct gni_ep *ep)
{
    struct aries_smsg_record record;
    uint64_t word;

    if (!may_start_over(ep, ep->rx_at, ep->rx_received))
        return true; /* it is checked when its turn comes */
    /* One atomic load: the record may be arriving just now. */
    word = __atomic_load_n((const uint64_t *)(uintptr_t)ep->rx_ring, __ATOMIC_RELAXED);
    memcpy(&record, &word, sizeof(word));
    if (record.mark == 0)
        return record.sequence == 0 && record.length == 0;
    return (record.mark & ~1u) == ARIES_SMSG_MARK &&
           (int32_t)(record.sequence - ep->rx_received) <= (int32_t)ep->credits;
}

static sim_noinline enum aries_smsg_record_state find_anywhere(struct gni_ep *ep, uint32_t read_at,
                                                               uint32_t number, uint32_t *offset)
{
    uint32_t home;
    enum aries_smsg_record_state state;

    if (read_at + ARIES_SMSG_UNIT <= ep->rx_bytes) {
        state = record_state_at(ep, *offset = read_at, number);
        if (state != ARIES_SMSG_ABSENT || !may_start_over(ep, read_at, number))
            return state;
    }
    home = rx_home(ep);
    if (home != 0 && home != read_at && ep->rx_reported == number) {
        state = record_state_at(ep, *offset = home, number);
        if (state != ARIES_SMSG_ABSENT)
            return state;
    }
    return read_at != 0 ? record_state_at(ep, *offset = 0, number) : ARIES_SMSG_ABSENT;
}

/* Record `number` has not begun to arrive at the only place where it may. */
static inline bool is_absent(const struct gni_ep *ep, uint32_t read_at, uint32_t number)
{
    return read_at + ARIES_SMSG_UNIT <= ep->rx_bytes && !has_begun(ep, read_at, number) &&
           !may_start_over(ep, read_at, number);
}

/* Most calls find that the record has not begun to arrive at the only place where it may. */
enum aries_smsg_record_state aries_smsg_find_record(struct gni_ep *ep, uint32_t read_at,
                                                    uint32_t number, uint32_t *offset)
{
    if (is_absent(ep, read_at, number))
        return ARIES_SMSG_ABSENT;
    return find_anywhere(ep, read_at, number, offset);
}

uint32_t aries_smsg_current_span(const struct gni_ep *ep)
{
    return ep->rx_units * ARIES_SMSG_UNIT;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static sim_noinline bool message_found(struct gni_ep *ep)
{
    uint32_t offset;

    return find_anywhere(ep, ep->rx_at, ep->rx_received, &offset) != ARIES_SMSG_ABSENT;
}

/* Whether GNI_SmsgGetNext has a message or work to do. */
static bool message_or_work(const void *what)
{
    struct gni_ep *ep = (struct gni_ep *)what;

    if (ep->credits_lost || !aries_list_empty(&ep->nic->smsg_returns))
        return true;
    return !is_absent(ep, ep->rx_at, ep->rx_received) && message_found(ep);
}

/* Makes the next message current, whatever its tag. */
static gni_return_t find_next(struct gni_ep *ep)
{
    const struct sim_wait wait = {"a message", aries_smsg_describe, ep, ep->id + 1};
    const struct aries_timing *timing = aries_timing_of(ep->nic);
    sim_time_t asked = sim_charged_time();
    const struct aries_smsg_record *record;
    uint32_t offset;
    enum aries_smsg_record_state state;

    /*
     * A message that has arrived already has also arrived at this rank's own time, which is later:
     * there is no need to catch up.
     */
    state = sim_catching_up() ? ARIES_SMSG_ABSENT
                              : aries_smsg_find_record(ep, ep->rx_at, ep->rx_received, &offset);
    if (state == ARIES_SMSG_ABSENT) {
        if (!sim_poll(&wait, message_or_work, timing->cpu_getnext / 2)) {
            if (sim_behind()) /* no message had arrived at that time */
                return GNI_RC_NOT_DONE;
            aries_smsg_progress(ep->nic);
            return start_is_sane(ep) ? GNI_RC_NOT_DONE : GNI_RC_INVALID_STATE;
        }
        aries_smsg_progress(ep->nic);
        state = aries_smsg_find_record(ep, ep->rx_at, ep->rx_received, &offset);
    }
    if (state != ARIES_SMSG_PRESENT)
        return state == ARIES_SMSG_ABSENT && !ep->credits_lost ? GNI_RC_NOT_DONE
                                                               : GNI_RC_INVALID_STATE;
    /* It was not there at first: a spinning CPU sees it one poll later. */
    if (sim_charged_time() > asked)
        sim_spend(timing->poll);
    record = (const struct aries_smsg_record *)(ep->rx_ring + offset);
    ep->rx_peer_released = record->returned;
    if (record->mark != ARIES_SMSG_MARK)
        ep->rx_owed += ep->rx_bytes - ep->rx_at;
    ep->rx_current = offset;
    ep->rx_units = (uint16_t)(aries_smsg_span(record->length) / ARIES_SMSG_UNIT);
    ep->nic->hw->fabric->counters.smsg_received++;
    if (sim_unlikely(sim_trace_on))
        sim_trace_add_number("from node", ep->remote->node);
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_SMSG, ep->nic->hw->node, ep->nic->process->trace_index,
              "receive", sim_local_time(), 0, 0, record->length);
    return GNI_RC_SUCCESS;
}

static gni_return_t get_next(struct gni_ep *ep, void **header, uint8_t *tag)
{
    const struct aries_smsg_record *record;
    gni_return_t rc;

    if (!aries_handle_ok(ep, ARIES_MAGIC_EP) || !ep->connected || header == NULL || tag == NULL)
        return GNI_RC_INVALID_PARAM;
    if (sim_likely(ep->rx_current == ARIES_SMSG_NO_ROOM)) {
        rc = find_next(ep);
        if (rc != GNI_RC_SUCCESS)
            return rc;
    }
    sim_idle_break();
    sim_spend(aries_timing_of(ep->nic)->cpu_getnext);
    record = (const struct aries_smsg_record *)(ep->rx_ring + ep->rx_current);
    if (*tag != GNI_SMSG_ANY_TAG && *tag != record->tag) {
        *tag = record->tag;
        return GNI_RC_NO_MATCH;
    }
    *tag = record->tag;
    *header = ep->rx_ring + ep->rx_current + ARIES_SMSG_UNIT;
    ep->shown = true;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_SmsgGetNextWTag(gni_ep_handle_t ep_hndl, void **header, uint8_t *tag)
{
    return get_next(ep_hndl, header, tag);
}

gni_return_t GNI_SmsgGetNext(gni_ep_handle_t ep_hndl, void **header)
{
    uint8_t tag = GNI_SMSG_ANY_TAG;

    return get_next(ep_hndl, header, &tag);
}

gni_return_t GNI_SmsgRelease(gni_ep_handle_t ep_hndl)
{
    struct gni_ep *ep = ep_hndl;
    uint32_t owed;

    if (!aries_handle_ok(ep, ARIES_MAGIC_EP) || !ep->connected)
        return GNI_RC_INVALID_PARAM;
    if (!ep->shown)
        return GNI_RC_NOT_DONE;
    sim_idle_break();
    sim_spend(aries_timing_of(ep->nic)->cpu_release);
    assert(ep->rx_current != ARIES_SMSG_NO_ROOM &&
           ep->rx_current + aries_smsg_current_span(ep) <= ep->rx_bytes);
    memset(ep->rx_ring + ep->rx_current, 0, aries_smsg_current_span(ep));
    ep->rx_at = ep->rx_current + aries_smsg_current_span(ep);
    ep->rx_current = ARIES_SMSG_NO_ROOM;
    ep->shown = false;
    ep->rx_received++;
    ep->rx_owed += aries_smsg_current_span(ep);
    owed = ep->rx_received - ep->rx_reported;
    if (2 * owed >= ep->credits || 2 * ep->rx_owed >= ep->rx_bytes)
        aries_smsg_return_credits(ep);
    return GNI_RC_SUCCESS;
}
