/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Credits of SMSG connections: the sender finds them, the receiver returns them. */
#include "api/smsg_connection.h"

#include <assert.h>
#include "nic/status.h"

static uint32_t control_returned(const struct gni_ep *ep)
{
    return ((const volatile struct aries_smsg_control *)(ep->rx_ring - ARIES_SMSG_CONTROL_BYTES))
        ->returned;
}

/* ---- credits --------------------------------------------------------------------------------- */

/* The peer reported how many messages it has released. An older or impossible count is ignored. */
static void note_returned(struct gni_ep *ep, uint32_t count)
{
    uint32_t more = count - ep->tx_returned;

    if (more <= ep->tx_sent - ep->tx_returned)
        ep->tx_returned += more;
    assert(ep->tx_returned - ep->tx_freed <= ep->tx_sent - ep->tx_freed);
}

static void free_slots(struct gni_ep *ep)
{
    while (ep->tx_freed != ep->tx_returned) {
        uint32_t back = ep->tx_sent - ep->tx_freed; /* distance of its slot from the next one */
        uint32_t at = ep->tx_next + (back > ep->tx_next ? ep->tx_slots : 0) - back;

        assert(back <= ep->tx_slots && at < ep->tx_slots);
        if (ep->slots[at] & ARIES_SMSG_IN_FLIGHT)
            break;
        assert(ep->tx_used >= ep->slots[at] * ARIES_SMSG_UNIT);
        ep->tx_used -= ep->slots[at] * ARIES_SMSG_UNIT;
        ep->tx_freed++;
    }
}

/* Reads the credit counts of messages that have arrived and are not read yet. */
static void note_unread(struct gni_ep *ep)
{
    uint32_t number = ep->rx_received, read_at = ep->rx_at, offset;

    if (ep->rx_current != ARIES_SMSG_NO_ROOM) {
        read_at = ep->rx_current + aries_smsg_current_span(ep);
        number++;
    }
    for (; aries_smsg_find_record(ep, read_at, number, &offset) == ARIES_SMSG_PRESENT; number++) {
        const struct aries_smsg_record *record =
            (const struct aries_smsg_record *)(ep->rx_ring + offset);

        note_returned(ep, record->returned);
        read_at = offset + aries_smsg_span(record->length);
    }
}

sim_noinline void aries_smsg_note_arrived(struct gni_ep *ep)
{
    note_returned(ep, ep->rx_peer_released);
    note_returned(ep, control_returned(ep));
    note_unread(ep);
}

uint32_t aries_smsg_find_room(const struct gni_ep *ep, uint32_t bytes, uint32_t *span)
{
    uint32_t end = ep->tx_at, start;

    *span = bytes;
    if (ep->tx_sent - ep->tx_freed >= ep->tx_slots)
        return ARIES_SMSG_NO_ROOM;
    if (ep->tx_used == 0) {
        start = aries_smsg_home(ep->tx_ring, ep->tx_bytes);
        if (sim_unlikely(bytes > ep->tx_bytes - start))
            start = 0;
        return bytes <= ep->tx_bytes ? start : ARIES_SMSG_NO_ROOM;
    }
    if (ep->tx_used > end) { /* the used space wraps around the end */
        start = end + ep->tx_bytes - ep->tx_used;
        return bytes <= start - end ? end : ARIES_SMSG_NO_ROOM;
    }
    if (bytes <= ep->tx_bytes - end)
        return end;
    start = end - ep->tx_used;
    *span = ep->tx_bytes - end + bytes;
    return bytes <= start ? 0 : ARIES_SMSG_NO_ROOM;
}

static bool has_room(struct gni_ep *ep)
{
    uint32_t span;

    free_slots(ep);
    return aries_smsg_find_room(ep, ep->wanted, &span) != ARIES_SMSG_NO_ROOM;
}

bool aries_smsg_can_send(const void *what)
{
    struct gni_ep *ep = (struct gni_ep *)what;

    note_returned(ep, ep->rx_peer_released);
    if (2 * (ep->tx_sent - ep->tx_returned) >= ep->tx_slots || 2 * ep->tx_used >= ep->tx_bytes)
        note_returned(ep, control_returned(ep));
    if (sim_likely(has_room(ep)))
        return true;
    aries_smsg_note_arrived(ep);
    return has_room(ep);
}

/*
 * No attempt to return credits has reached the peer, which may wait for them for ever. No event of
 * this side names the connection, so its queue of arrivals reports lost events: programs look into
 * all their mailboxes then, and find that this connection is broken.
 */
static sim_cold void give_up(struct gni_ep *ep)
{
    const struct aries_list *mrs = &ep->nic->mrs, *link;
    uint64_t mailbox = (uintptr_t)ep->rx_ring;

    ep->broken = ep->credits_lost = true;
    for (link = mrs->next; link != mrs; link = link->next) {
        const struct aries_mr *mr = sim_container_of(link, struct aries_mr, nic_link);

        if (mr->cq != NULL && mr->address <= mailbox && mailbox - mr->address < mr->length) {
            aries_cq_overrun(mr->cq);
            return;
        }
    }
}

/*
 * Context of a return in flight: the endpoint and its epoch. When the return ends, the memory may
 * belong to another connection, which must ignore it. Endpoints lie at multiples of 64, so the low
 * bits of the context hold the epoch.
 */
static void return_done(void *context, uint8_t status, uint8_t info, bool remote_overrun)
{
    uint32_t epoch = (uintptr_t)context % ARIES_SMSG_EPOCHS;
    struct gni_ep *ep = (struct gni_ep *)((char *)context - epoch);
    bool current = ep->connected && ep->epoch == epoch;

    assert(ep->refs > 0);
    if (status == 0 && current) {
        ep->return_failures = 0;
    } else if (current) {
        struct gni_nic *nic = ep->nic;

        /* The next call that polls this NIC repeats it. */
        if (!aries_status_recoverable(status) || ++ep->return_failures > nic->smsg_max_retrans)
            give_up(ep);
        else if (aries_list_empty(&ep->return_link))
            aries_list_add(&nic->smsg_returns, &ep->return_link);
        aries_process_notify(nic->process);
    }
    aries_ep_unref(ep);
}

sim_noinline void aries_smsg_return_credits(struct gni_ep *ep)
{
    struct gni_nic *nic = ep->nic;
    uint32_t count = ep->rx_received;
    struct aries_work work = {
        .op = ARIES_PUT,
        .unit = ARIES_UNIT_FMA,
        .route = NET_ROUTE_IN_ORDER,
        .target = ep->remote,
        .ptag = nic->ptag,
        .local_addr = (uintptr_t)&count,
        .remote_addr = ep->tx_ring - ARIES_SMSG_CONTROL_BYTES,
        .length = sizeof(count),
        .remote_handle = ep->tx_handle,
        .local_is_va = true,
        .remote_wanted = true,
        .remote_optional = true,
        .remote_event = ep->remote_event,
        .book = &nic->hw->fabric->book_smsg,
        .cpu = aries_timing_of(nic)->cpu_fma,
        .done = return_done,
        .context = (char *)ep + ep->epoch,
    };

    ep->rx_reported = count;
    ep->rx_owed = 0;
    ep->refs++;
    nic->hw->ops->submit(nic, &work);
}

sim_noinline void aries_smsg_progress(struct gni_nic *nic)
{
    while (sim_unlikely(!aries_list_empty(&nic->smsg_returns))) {
        struct gni_ep *ep = sim_container_of(nic->smsg_returns.next, struct gni_ep, return_link);

        aries_list_remove(&ep->return_link);
        aries_smsg_return_credits(ep);
    }
}
