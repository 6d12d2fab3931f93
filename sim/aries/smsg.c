/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * SMSG: short messages through mailboxes. A message is one FMA PUT of a record (smsg.h) with an
 * event at the queue of the peer's mailbox. Credits bound the messages in flight, the ring their
 * bytes; both come back when the receiver releases, either inside the next message of the other
 * direction or, when half of either is owed, by a small PUT of their own.
 *
 * Slots. Each message in flight has one: the context of its transaction. It is free again when the
 * transaction has ended well and the peer has released the message. So a message that is sent again
 * after an error finds its place in the ring unused, whether or not the first attempt arrived, and
 * a late copy can only fall on released space.
 */
#include "smsg.h"

#include <glib.h>

#include <stdio.h>
#include <stdlib.h>
#include "cq_entry.h"
#include "internal.h"
#include "status.h"

#define SMALL_RECORD \
    1024u /* assembled on the stack; longer ones in the connection's copy of the ring */

#define NONE UINT32_MAX

struct slot {
    struct aries_smsg *smsg;
    uint32_t number;
    uint32_t span; /* bytes of the ring, with what was skipped at its end */
    uint32_t offset, bytes; /* of the record in the ring */
    uint32_t tid;
    uint16_t attempts;
    bool in_flight;
};

/*
 * A connection. Hundreds of them per node do not stay in the cache, so what receiving touches lies
 * in one line of it, what sending touches besides in a second, and what the end of a transaction
 * touches in a third. Numbers of messages count modulo 2^32.
 */
struct aries_smsg {
    uint8_t *copy; /* of the remote ring: what may have to be sent again */
    struct aries_list return_link; /* nic->smsg_returns, while a return must be repeated */

    struct gni_ep *ep __attribute__((aligned(64))); /* NULL: unbound or destroyed */
    uint8_t *ring; /* the control block lies before it */
    uint32_t ring_bytes, read_at;
    uint32_t received; /* and released; number of the next message */
    uint32_t current; /* place of the next message, once it was found; NONE: not yet */
    uint32_t current_span;
    uint32_t reported; /* releases that the peer has been told of */
    uint32_t owed_bytes;
    uint32_t heard; /* releases at the peer, as the last message that was read tells */
    uint32_t wanted; /* ring bytes that a stalled send waits for */
    uint16_t message_max, credits;
    uint16_t return_failures;
    bool retransmit; /* MBOX_AUTO_RETRANSMIT */
    bool broken; /* a message is lost for good */
    bool shown; /* GetNext gave the current message out: it can be released */

    uint64_t remote_ring __attribute__((aligned(64)));
    gni_mem_handle_t remote_handle;
    uint32_t remote_bytes, write_at, used;
    uint32_t sent, returned; /* returned: released by the peer */
    uint32_t free_from; /* messages free_from … sent-1 hold slots */
    uint16_t slots_count, next_slot, free_slot;

    struct gni_cq *cq __attribute__((aligned(64))); /* of the endpoint; may be NULL */
    const void *peer, *peer_ep; /* the other end, when it is in this simulation: for the cache */
    uint32_t refs; /* the endpoint, and each transaction in flight */
    struct slot slots[];
};
_Static_assert(offsetof(struct aries_smsg, ep) == 64 &&
                   offsetof(struct aries_smsg, remote_ring) == 128 &&
                   offsetof(struct aries_smsg, cq) == 192,
               "lines as described");

/* Fetches all lines that a send touches at once instead of one after the other. */
static void prefetch_for_send(const struct gni_ep *ep)
{
    __builtin_prefetch(&ep->smsg->ep);
    __builtin_prefetch(&ep->smsg->remote_ring);
    __builtin_prefetch(&ep->smsg->cq);
    __builtin_prefetch(&ep->requests);
}

static void smsg_unref(struct aries_smsg *smsg)
{
    if (--smsg->refs != 0)
        return;
    free(smsg->copy);
    free(smsg);
}

static uint32_t control_returned(const struct aries_smsg *smsg)
{
    return ((const volatile struct smsg_control *)(smsg->ring - SMSG_CONTROL_BYTES))->returned;
}

/* For the deadlock report. */
static void describe(const void *what, char *buffer, size_t size)
{
    const struct aries_smsg *smsg = what;
    int peer = smsg->ep != NULL && smsg->ep->remote != NULL ? (int)smsg->ep->remote->node : -1;

    snprintf(buffer, size, ", peer on node %d; %u sent, %u of them released, %u received", peer,
             smsg->sent, smsg->returned, smsg->received);
}

/* ---- records --------------------------------------------------------------------------------- */

static uint32_t record_checksum(const struct smsg_record *record)
{
    const uint8_t *at = (const uint8_t *)(record + 1);
    uint32_t left = record->length;
    uint64_t word, sum;

    memcpy(&word, record, sizeof(word));
    sum = (word ^ (uint64_t)record->returned << 17) * 0x9e3779b97f4a7c15ull;
    for (; left >= 8; left -= 8, at += 8) {
        memcpy(&word, at, 8);
        sum = (sum ^ (sum >> 29) ^ word) * 0xbf58476d1ce4e5b9ull;
    }
    if (left != 0) {
        word = 0;
        memcpy(&word, at, left);
        sum = (sum ^ (sum >> 29) ^ word) * 0xbf58476d1ce4e5b9ull;
    }
    return (uint32_t)(sum >> 32);
}

enum look { ABSENT, PRESENT, DAMAGED };

/* A record that cannot arrive in pieces: all in one cache line, so in one packet. */
static bool in_one_line(const struct smsg_record *record)
{
    uintptr_t first = (uintptr_t)record, last = first + SMSG_UNIT + record->length - 1;

    return first >> 6 == last >> 6;
}

/* The checksum of a record that came in one piece is wrong. */
static enum look damaged(struct aries_smsg *smsg, uint32_t number)
{
    struct gni_ep *ep = smsg->ep;

    if (!smsg->broken)
        ledger_violation(&ep->nic->hw->fabric->book_smsg,
                         "message %u to node %u was changed on its way", number, ep->nic->hw->node);
    smsg->broken = true;
    return DAMAGED;
}

/* Record `number` at this place of the ring? */
static enum look look_at(struct aries_smsg *smsg, uint32_t offset, uint32_t number)
{
    const struct smsg_record *record = (const struct smsg_record *)(smsg->ring + offset);

    if (record->sequence != number || (record->mark & ~1u) != SMSG_MARK)
        return ABSENT;
    if (record->length > smsg->message_max || smsg_span(record->length) > smsg->ring_bytes - offset)
        return DAMAGED;
    if (sim_likely(record->checksum == record_checksum(record)))
        return PRESENT;
    return in_one_line(record) ? damaged(smsg, number) : ABSENT; /* the rest is still under way */
}

/*
 * What else may lie at the start of the ring: nothing, a message that overtook the expected one, or
 * a late copy of one that was released long ago.
 */
static bool start_is_sane(const struct aries_smsg *smsg)
{
    const struct smsg_record *record = (const struct smsg_record *)smsg->ring;

    if (record->mark == 0)
        return record->sequence == 0 && record->length == 0;
    return (record->mark & ~1u) == SMSG_MARK &&
           (int32_t)(record->sequence - smsg->received) <= (int32_t)smsg->credits;
}

static enum look find_record(struct aries_smsg *smsg, uint32_t read_at, uint32_t number,
                             uint32_t *offset)
{
    enum look look;

    __builtin_prefetch(smsg->ring + read_at);
    look = look_at(smsg, *offset = 0, number);
    if (look == ABSENT && read_at != 0 && read_at + SMSG_UNIT <= smsg->ring_bytes)
        look = look_at(smsg, *offset = read_at, number);
    return look;
}

/* ---- credits --------------------------------------------------------------------------------- */

/* The peer said that it has released so many; an older or impossible count is ignored. */
static void note_returned(struct aries_smsg *smsg, uint32_t count)
{
    uint32_t more = count - smsg->returned;

    if (more <= smsg->sent - smsg->returned)
        smsg->returned += more;
}

static void free_slots(struct aries_smsg *smsg)
{
    while (smsg->free_from != smsg->returned) {
        struct slot *slot = &smsg->slots[smsg->free_slot];

        if (slot->in_flight)
            break;
        smsg->used -= slot->span;
        smsg->free_from++;
        if (++smsg->free_slot == smsg->slots_count)
            smsg->free_slot = 0;
    }
}

/* Counts in messages that have arrived and nobody has read yet. */
static void note_unread(struct aries_smsg *smsg)
{
    uint32_t number = smsg->received, read_at = smsg->read_at, offset;

    if (smsg->current != NONE) {
        read_at = smsg->current + smsg->current_span;
        number++;
    }
    for (; find_record(smsg, read_at, number, &offset) == PRESENT; number++) {
        const struct smsg_record *record = (const struct smsg_record *)(smsg->ring + offset);

        note_returned(smsg, record->returned);
        read_at = offset + smsg_span(record->length);
    }
}

static void note_arrived(struct aries_smsg *smsg)
{
    note_returned(smsg, smsg->heard);
    note_returned(smsg, control_returned(smsg));
    note_unread(smsg);
}

/* Where a record of `bytes` can go now: its place, and in *span what it takes. NONE: nowhere.
 */
static uint32_t find_room(const struct aries_smsg *smsg, uint32_t bytes, uint32_t *span)
{
    uint32_t end = smsg->write_at, start;

    *span = bytes;
    if (smsg->sent - smsg->free_from >= smsg->slots_count)
        return NONE;
    if (smsg->used == 0)
        return bytes <= smsg->remote_bytes ? 0 : NONE;
    if (smsg->used > end) { /* what is in use goes around the end */
        start = end + smsg->remote_bytes - smsg->used;
        return bytes <= start - end ? end : NONE;
    }
    if (bytes <= smsg->remote_bytes - end)
        return end;
    start = end - smsg->used;
    *span = smsg->remote_bytes - end + bytes;
    return bytes <= start ? 0 : NONE;
}

static bool has_room(struct aries_smsg *smsg)
{
    uint32_t span;

    free_slots(smsg);
    return find_room(smsg, smsg->wanted, &span) != NONE;
}

/*
 * Looks for credits in the order of what it costs: in what was read, in the control block when few
 * are left, in what nobody has read yet.
 */
static bool can_send(const void *what)
{
    struct aries_smsg *smsg = (struct aries_smsg *)what;

    note_returned(smsg, smsg->heard);
    if (2 * (smsg->sent - smsg->returned) >= smsg->slots_count ||
        2 * smsg->used >= smsg->remote_bytes)
        note_returned(smsg, control_returned(smsg));
    if (sim_likely(has_room(smsg)))
        return true;
    note_arrived(smsg);
    return has_room(smsg);
}

static void return_done(void *context, uint8_t status, uint8_t info, bool remote_overrun)
{
    struct aries_smsg *smsg = context;

    if (status == 0) {
        smsg->return_failures = 0;
    } else if (smsg->ep != NULL) {
        struct gni_nic *nic = smsg->ep->nic;

        /* Repeated by whatever call looks at this NIC next. */
        if (!aries_status_recoverable(status) || ++smsg->return_failures > nic->smsg_max_retrans)
            smsg->broken = true;
        else if (aries_list_empty(&smsg->return_link))
            aries_list_add(&nic->smsg_returns, &smsg->return_link);
        aries_process_notify(nic->process);
    }
    smsg_unref(smsg);
}

/* Tells the peer by a PUT into its control block. In order: an older count must not come last. */
static void return_credits(struct aries_smsg *smsg)
{
    struct gni_ep *ep = smsg->ep;
    struct gni_nic *nic = ep->nic;
    uint32_t count = smsg->received;
    struct aries_work work = {
        .op = ARIES_PUT,
        .unit = ARIES_UNIT_FMA,
        .route = NET_ROUTE_IN_ORDER,
        .target = ep->remote,
        .ptag = nic->ptag,
        .local_addr = (uintptr_t)&count,
        .remote_addr = smsg->remote_ring - SMSG_CONTROL_BYTES,
        .length = sizeof(count),
        .remote_handle = smsg->remote_handle,
        .local_is_va = true,
        .remote_wanted = true,
        .remote_optional = true,
        .remote_event = ep->remote_event,
        .book = &nic->hw->fabric->book_smsg,
        .cpu = aries_timing_of(nic)->cpu_fma,
        .done = return_done,
        .context = smsg,
    };

    smsg->reported = count;
    smsg->owed_bytes = 0;
    smsg->refs++;
    nic->hw->ops->submit(nic, &work);
}

void aries_smsg_progress(struct gni_nic *nic)
{
    while (sim_unlikely(!aries_list_empty(&nic->smsg_returns))) {
        struct aries_smsg *smsg =
            sim_container_of(nic->smsg_returns.next, struct aries_smsg, return_link);

        aries_list_remove(&smsg->return_link);
        return_credits(smsg);
    }
}

/* ---- setting up ------------------------------------------------------------------------------ */

static bool attributes_ok(const gni_smsg_attr_t *attr)
{
    return attr != NULL &&
           (attr->msg_type == GNI_SMSG_TYPE_MBOX ||
            attr->msg_type == GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT) &&
           attr->mbox_maxcredit != 0 && attr->msg_maxsize != 0 &&
           attr->msg_maxsize <= GNI_SMSG_MAX_SIZE;
}

/* Room for four messages of full size. Known of the real formula: 5056 for 1024 bytes, 72 credits.
 */
static uint32_t mailbox_bytes(const gni_smsg_attr_t *attr)
{
    uint32_t bytes = 320 + 8 * attr->mbox_maxcredit + 4 * (attr->msg_maxsize + SMSG_UNIT);

    return (bytes + 63) & ~63u;
}

gni_return_t GNI_SmsgBufferSizeNeeded(gni_smsg_attr_t *smsg_attr, unsigned int *size)
{
    if (size == NULL || !attributes_ok(smsg_attr))
        return GNI_RC_INVALID_PARAM;
    *size = mailbox_bytes(smsg_attr);
    return GNI_RC_SUCCESS;
}

static uint32_t ring_bytes(const gni_smsg_attr_t *attr)
{
    return (attr->buff_size - SMSG_CONTROL_BYTES) & ~(SMSG_UNIT - 1);
}

static uintptr_t ring_address(const gni_smsg_attr_t *attr)
{
    return (uintptr_t)attr->msg_buffer + attr->mbox_offset + SMSG_CONTROL_BYTES;
}

static GHashTable *mailboxes_of(const struct aries_smsg *smsg)
{
    return smsg->ep->nic->hw->fabric->mailboxes;
}

static struct aries_smsg *smsg_new(struct gni_ep *ep, const gni_smsg_attr_t *local,
                                   const gni_smsg_attr_t *remote)
{
    uint32_t most = ring_bytes(remote) / SMSG_UNIT, i;
    uint16_t slots = (uint16_t)(local->mbox_maxcredit < most ? local->mbox_maxcredit : most);
    size_t bytes = sizeof(struct aries_smsg) + slots * sizeof(struct slot);
    struct aries_smsg *smsg = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

    if (smsg == NULL)
        return NULL;
    memset(smsg, 0, bytes);
    smsg->refs = 1;
    smsg->ep = ep;
    smsg->cq = ep->cq;
    smsg->retransmit = local->msg_type == GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
    smsg->message_max = (uint16_t)local->msg_maxsize;
    smsg->credits = local->mbox_maxcredit;
    smsg->current = NONE;
    smsg->ring = (uint8_t *)ring_address(local);
    smsg->ring_bytes = ring_bytes(local);
    smsg->remote_ring = ring_address(remote);
    smsg->remote_bytes = ring_bytes(remote);
    smsg->remote_handle = remote->mem_hndl;
    aries_list_init(&smsg->return_link);
    smsg->slots_count = slots;
    for (i = 0; i < slots; i++)
        smsg->slots[i].smsg = smsg;
    g_hash_table_insert(mailboxes_of(smsg), smsg->ring, smsg);
    return smsg;
}

gni_return_t GNI_SmsgInit(gni_ep_handle_t ep_hndl, gni_smsg_attr_t *local_smsg_attr,
                          gni_smsg_attr_t *remote_smsg_attr)
{
    const gni_smsg_attr_t *local = local_smsg_attr, *remote = remote_smsg_attr;
    struct gni_ep *ep = ep_hndl;

    if (!aries_handle_ok(ep, ARIES_MAGIC_EP))
        return GNI_RC_INVALID_PARAM;
    if (ep->remote_addr == UINT32_MAX && ep->remote_id == UINT32_MAX)
        return GNI_RC_INVALID_STATE;
    if (ep->smsg != NULL || !attributes_ok(local) || !attributes_ok(remote) ||
        local->msg_type != remote->msg_type || local->mbox_maxcredit != remote->mbox_maxcredit ||
        local->msg_maxsize != remote->msg_maxsize || local->msg_buffer == NULL ||
        local->buff_size < mailbox_bytes(local) || remote->buff_size < mailbox_bytes(remote) ||
        ((uintptr_t)local->msg_buffer + local->mbox_offset) % 8 != 0 ||
        ((uintptr_t)remote->msg_buffer + remote->mbox_offset) % 8 != 0)
        return GNI_RC_INVALID_PARAM;
    ep->smsg = smsg_new(ep, local, remote);
    return ep->smsg != NULL ? GNI_RC_SUCCESS : GNI_RC_ERROR_NOMEM;
}

void aries_smsg_ep_release(struct gni_ep *ep)
{
    struct aries_smsg *smsg = ep->smsg;

    if (smsg == NULL)
        return;
    if (g_hash_table_lookup(mailboxes_of(smsg), smsg->ring) == smsg)
        g_hash_table_remove(mailboxes_of(smsg), smsg->ring);
    ep->smsg = NULL;
    smsg->ep = NULL;
    aries_list_remove(&smsg->return_link);
    smsg_unref(smsg);
}

/* The route of a delivery mode. False: contradictory or unknown bits. */
static bool route_of(uint16_t mode, enum net_route *route)
{
    switch (mode & ~GNI_DLVMODE_ORDERED_TAIL) {
    case GNI_DLVMODE_PERFORMANCE:
    case GNI_DLVMODE_NO_RADAPT:
        *route = NET_ROUTE_ADAPTIVE_0;
        return true;
    case GNI_DLVMODE_ADAPTIVE1:
        *route = NET_ROUTE_ADAPTIVE_1;
        return true;
    case GNI_DLVMODE_ADAPTIVE2:
        *route = NET_ROUTE_ADAPTIVE_2;
        return true;
    case GNI_DLVMODE_ADAPTIVE3:
        *route = NET_ROUTE_ADAPTIVE_3;
        return true;
    case GNI_DLVMODE_NO_ADAPT:
    case GNI_DLVMODE_MIN_HASH:
        *route = NET_ROUTE_MIN_HASHED;
        return true;
    case GNI_DLVMODE_NMIN_HASH:
        *route = NET_ROUTE_NON_MIN_HASHED;
        return true;
    case GNI_DLVMODE_IN_ORDER:
    case GNI_DLVMODE_NO_HASH:
        *route = NET_ROUTE_IN_ORDER;
        return true;
    default:
        return false;
    }
}

gni_return_t GNI_SmsgSetMaxRetrans(gni_nic_handle_t nic_handle, uint16_t max_retrans)
{
    if (!aries_handle_ok(nic_handle, ARIES_MAGIC_NIC))
        return GNI_RC_INVALID_PARAM;
    nic_handle->smsg_max_retrans = max_retrans;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_SmsgSetDeliveryMode(gni_nic_handle_t nic_handle, uint16_t dlvr_mode)
{
    enum net_route route;

    if (!aries_handle_ok(nic_handle, ARIES_MAGIC_NIC) || !route_of(dlvr_mode, &route))
        return GNI_RC_INVALID_PARAM;
    nic_handle->smsg_dlvr_mode = dlvr_mode;
    return GNI_RC_SUCCESS;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void send_done(void *context, uint8_t status, uint8_t info, bool remote_overrun);

/* Who will receive: so that the lines it looks at first are in the cache when it does. */
static void find_peer(struct aries_smsg *smsg)
{
    const struct aries_smsg *peer =
        g_hash_table_lookup(mailboxes_of(smsg), (void *)(uintptr_t)smsg->remote_ring);

    if (peer != NULL) {
        smsg->peer = &peer->ep;
        smsg->peer_ep = peer->ep;
    }
}

static void submit_slot(struct gni_ep *ep, struct slot *slot, const void *record, sim_time_t cpu)
{
    struct aries_smsg *smsg = slot->smsg;
    struct gni_nic *nic = ep->nic;
    struct aries_work work = {
        .op = ARIES_PUT,
        .unit = ARIES_UNIT_FMA,
        .target = ep->remote,
        .ptag = nic->ptag,
        .local_addr = (uintptr_t)record,
        .remote_addr = smsg->remote_ring + slot->offset,
        .length = slot->bytes,
        .remote_handle = smsg->remote_handle,
        .local_is_va = true,
        .remote_wanted = true,
        .remote_optional = true,
        .remote_event = ep->remote_event,
        .book = &nic->hw->fabric->book_smsg,
        .cpu = cpu,
        .done = send_done,
        .context = slot,
    };

    if (sim_unlikely(smsg->peer == NULL))
        find_peer(smsg);
    work.warm[0] = &smsg->cq;
    work.warm[1] = smsg->peer;
    work.warm[2] = smsg->peer_ep;
    route_of(nic->smsg_dlvr_mode, &work.route);
    slot->in_flight = true;
    smsg->refs++;
    aries_cq_ref(smsg->cq);
    nic->hw->ops->submit(nic, &work);
}

static sim_time_t send_cost(const struct gni_nic *nic, uint32_t length)
{
    const struct aries_timing *timing = aries_timing_of(nic);

    return timing->cpu_smsg + (nic->fma_shared ? timing->cpu_fma_shared : 0) +
           aries_store_time(timing, length);
}

static void fill_record(struct smsg_record *record, const struct aries_smsg *smsg, bool wrapped,
                        uint8_t tag, const void *header, uint32_t header_length, const void *data,
                        uint32_t data_length)
{
    uint8_t *payload = (uint8_t *)(record + 1);

    record->length = (uint16_t)(header_length + data_length);
    record->tag = tag;
    record->mark = (uint8_t)(SMSG_MARK + wrapped);
    record->sequence = smsg->sent;
    record->returned = smsg->received;
    if (header_length != 0)
        memcpy(payload, header, header_length);
    if (data_length != 0)
        memcpy(payload + header_length, data, data_length);
    record->checksum = record_checksum(record);
}

/* Where the record is assembled; it must outlive the call only if it may have to be sent again. */
static struct smsg_record *record_place(struct aries_smsg *smsg, uint32_t bytes, uint32_t offset,
                                        void *small)
{
    if (!smsg->retransmit && bytes <= SMALL_RECORD)
        return small;
    if (smsg->copy == NULL)
        smsg->copy = malloc(smsg->remote_bytes);
    return smsg->copy != NULL ? (struct smsg_record *)(smsg->copy + offset) : NULL;
}

/* One poll for a credit. */
static bool wait_for_room(struct aries_smsg *smsg)
{
    const struct sim_wait wait = {"an SMSG credit", describe, smsg};

    return sim_poll(&wait, can_send, aries_timing_of(smsg->ep->nic)->cpu_smsg / 2);
}

static gni_return_t stalled(struct gni_nic *nic, unsigned statistic)
{
    nic->statistics[statistic]++;
    return GNI_RC_NOT_DONE;
}

static gni_return_t send_message(struct gni_ep *ep, const void *header, uint32_t header_length,
                                 const void *data, uint32_t data_length, uint32_t msg_id,
                                 uint8_t tag)
{
    struct aries_smsg *smsg = ep->smsg;
    struct gni_nic *nic = ep->nic;
    uint32_t length = header_length + data_length, span, offset;
    struct aries_request *request;
    struct smsg_record *record;
    uint64_t small[SMALL_RECORD / 8];
    struct slot *slot;

    if (smsg->broken)
        return GNI_RC_INVALID_STATE;
    smsg->wanted = smsg_span(length);
    if (!can_send(smsg) && !wait_for_room(smsg))
        return stalled(nic, smsg->sent - smsg->free_from >= smsg->slots_count
                                ? GNI_STAT_SMSG_MBOX_CREDITS_STALL
                                : GNI_STAT_SMSG_BUFF_CREDITS_STALL);
    offset = find_room(smsg, smsg->wanted, &span);
    record = record_place(smsg, SMSG_UNIT + length, offset, small);
    request = record != NULL ? aries_request_new(ep->cq, ep, NULL, GNI_CQMODE_GLOBAL_EVENT) : NULL;
    if (request == NULL) {
        sim_spend(aries_timing_of(nic)->cpu_smsg / 2);
        return stalled(nic, GNI_STAT_SMSG_REQ_STALL);
    }
    if (smsg->used == 0) /* the same few slots and bytes of the ring again: they are in the cache */
        smsg->next_slot = smsg->free_slot = 0;
    slot = &smsg->slots[smsg->next_slot];
    request->post_id = (uint64_t)smsg->next_slot << 32 | msg_id;
    if (++smsg->next_slot == smsg->slots_count)
        smsg->next_slot = 0;
    slot->number = smsg->sent;
    slot->span = span;
    slot->offset = offset;
    slot->bytes = SMSG_UNIT + length;
    slot->tid = request->tid;
    slot->attempts = 1;
    fill_record(record, smsg, span != smsg->wanted, tag, header, header_length, data, data_length);
    smsg->reported = record->returned;
    smsg->owed_bytes = 0;
    smsg->write_at = offset + smsg->wanted;
    smsg->used += span;
    smsg->sent++;
    nic->hw->fabric->counters.smsg_sent++;
    trace(TRACE_INSTANT, TRACE_SMSG, nic->hw->node, nic->process->trace_index, "send",
          sim_local_time(), 0, 0, length);
    sim_idle_break();
    submit_slot(ep, slot, record, send_cost(nic, length));
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_SmsgSendWTag(gni_ep_handle_t ep_hndl, void *header, uint32_t header_length,
                              void *data, uint32_t data_length, uint32_t msg_id, uint8_t tag)
{
    struct gni_ep *ep = ep_hndl;

    if (!aries_handle_ok(ep, ARIES_MAGIC_EP) || ep->smsg == NULL)
        return GNI_RC_INVALID_PARAM;
    prefetch_for_send(ep);
    if (ep->cq == NULL || (header == NULL && header_length != 0) ||
        (data == NULL && data_length != 0))
        return GNI_RC_INVALID_PARAM;
    if ((uint64_t)header_length + data_length > ep->smsg->message_max)
        return GNI_RC_ERROR_RESOURCE;
    return send_message(ep, header, header_length, data, data_length, msg_id, tag);
}

gni_return_t GNI_SmsgSend(gni_ep_handle_t ep_hndl, void *header, uint32_t header_length, void *data,
                          uint32_t data_length, uint32_t msg_id)
{
    return GNI_SmsgSendWTag(ep_hndl, header, header_length, data, data_length, msg_id, 0);
}

/* ---- completions of sends -------------------------------------------------------------------- */

static bool may_repeat(const struct aries_smsg *smsg, const struct slot *slot, uint8_t status)
{
    return smsg->retransmit && smsg->ep != NULL && !smsg->broken &&
           aries_status_recoverable(status) && slot->attempts <= smsg->ep->nic->smsg_max_retrans;
}

static gni_cq_entry_t send_entry(uint32_t tid, uint8_t status, uint8_t info)
{
    return aries_cq_entry(ARIES_CQ_SOURCE_SSID, info, status,
                          GNI_CQ_EVENT_TYPE_SMSG << ARIES_CQ_TYPE_SHIFT |
                              (uint64_t)tid << ARIES_CQ_TID_SHIFT);
}

static void send_done(void *context, uint8_t status, uint8_t info, bool remote_overrun)
{
    struct slot *slot = context;
    struct aries_smsg *smsg = slot->smsg;
    struct gni_cq *cq = smsg->cq;
    bool repeat = status != 0 && may_repeat(smsg, slot, status);

    if (status == 0)
        slot->in_flight = false;
    else if (!repeat)
        smsg->broken = true;
    if (!aries_cq_push(cq, send_entry(slot->tid, status, info) |
                               (remote_overrun ? ARIES_CQ_REM_OVERRUN : 0)) &&
        repeat)
        smsg->broken = true; /* nobody will hear of the failure */
    aries_cq_unref(cq);
    if (status != 0 && !repeat && smsg->ep != NULL)
        aries_transaction_failed(smsg->ep->nic, status, false);
    smsg_unref(smsg);
}

bool aries_smsg_completed(struct gni_cq *cq, struct aries_request *request, gni_cq_entry_t entry)
{
    uint8_t status = (uint8_t)aries_cq_entry_status(entry);
    struct gni_ep *ep = request->ep;
    struct aries_smsg *smsg;
    struct slot *slot;

    if (sim_likely(status == 0) || ep == NULL || ep->smsg == NULL)
        return false;
    smsg = ep->smsg;
    slot = &smsg->slots[request->post_id >> 32];
    if (!may_repeat(smsg, slot, status)) {
        smsg->broken = true;
        return false;
    }
    note_arrived(smsg);
    if ((int32_t)(smsg->returned - slot->number) > 0) {
        /* Only the answer was lost: the peer has released the message already. */
        slot->in_flight = false;
        aries_cq_push(cq, send_entry(request->tid, 0, ARIES_CQ_CPLTN_SREQ));
        return true;
    }
    slot->attempts++;
    ep->nic->statistics[GNI_STAT_SMSG_RETRANS_COUNT]++;
    ep->nic->hw->fabric->counters.retransmits++;
    submit_slot(ep, slot, smsg->copy + slot->offset, send_cost(ep->nic, slot->bytes - SMSG_UNIT));
    return true;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Something for GNI_SmsgGetNext to do? */
static bool message_or_work(const void *what)
{
    struct aries_smsg *smsg = (struct aries_smsg *)what;
    uint32_t offset;

    return find_record(smsg, smsg->read_at, smsg->received, &offset) != ABSENT ||
           !aries_list_empty(&smsg->ep->nic->smsg_returns);
}

/* The next message becomes current, whatever its tag. */
static gni_return_t find_next(struct gni_ep *ep)
{
    struct aries_smsg *smsg = ep->smsg;
    const struct sim_wait wait = {"a message", describe, smsg};
    const struct aries_timing *timing = aries_timing_of(ep->nic);
    sim_time_t asked = sim_local_time();
    const struct smsg_record *record;
    uint32_t offset;
    enum look look;

    /* What is there already is there at this rank's own time, which is later: nothing to catch up
     * with. */
    look = find_record(smsg, smsg->read_at, smsg->received, &offset);
    if (look == ABSENT) {
        if (!sim_poll(&wait, message_or_work, timing->cpu_getnext / 2)) {
            aries_smsg_progress(ep->nic);
            return start_is_sane(smsg) ? GNI_RC_NOT_DONE : GNI_RC_INVALID_STATE;
        }
        aries_smsg_progress(ep->nic);
        look = find_record(smsg, smsg->read_at, smsg->received, &offset);
    }
    if (look != PRESENT)
        return look == ABSENT ? GNI_RC_NOT_DONE : GNI_RC_INVALID_STATE;
    if (sim_local_time() > asked) /* it was not there: a spinning CPU sees it a little later */
        sim_spend(timing->poll);
    record = (const struct smsg_record *)(smsg->ring + offset);
    smsg->heard = record->returned;
    if (record->mark != SMSG_MARK)
        smsg->owed_bytes += smsg->ring_bytes - smsg->read_at;
    smsg->current = offset;
    smsg->current_span = smsg_span(record->length);
    ep->nic->hw->fabric->counters.smsg_received++;
    trace(TRACE_INSTANT, TRACE_SMSG, ep->nic->hw->node, ep->nic->process->trace_index, "receive",
          sim_local_time(), 0, 0, record->length);
    return GNI_RC_SUCCESS;
}

static gni_return_t get_next(struct gni_ep *ep, void **header, uint8_t *tag)
{
    const struct smsg_record *record;
    struct aries_smsg *smsg;
    gni_return_t rc;

    if (!aries_handle_ok(ep, ARIES_MAGIC_EP) || ep->smsg == NULL || header == NULL || tag == NULL)
        return GNI_RC_INVALID_PARAM;
    smsg = ep->smsg;
    if (sim_likely(smsg->current == NONE)) {
        rc = find_next(ep);
        if (rc != GNI_RC_SUCCESS)
            return rc;
    }
    sim_idle_break();
    sim_spend(aries_timing_of(ep->nic)->cpu_getnext);
    record = (const struct smsg_record *)(smsg->ring + smsg->current);
    if (*tag != GNI_SMSG_ANY_TAG && *tag != record->tag) {
        *tag = record->tag;
        return GNI_RC_NO_MATCH;
    }
    *tag = record->tag;
    *header = smsg->ring + smsg->current + SMSG_UNIT;
    smsg->shown = true;
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
    struct aries_smsg *smsg;
    uint32_t owed;

    if (!aries_handle_ok(ep, ARIES_MAGIC_EP) || ep->smsg == NULL)
        return GNI_RC_INVALID_PARAM;
    smsg = ep->smsg;
    if (!smsg->shown)
        return GNI_RC_NOT_DONE;
    sim_idle_break();
    sim_spend(aries_timing_of(ep->nic)->cpu_release);
    memset(smsg->ring + smsg->current, 0, smsg->current_span);
    smsg->read_at = smsg->current + smsg->current_span;
    smsg->current = NONE;
    smsg->shown = false;
    smsg->received++;
    smsg->owed_bytes += smsg->current_span;
    owed = smsg->received - smsg->reported;
    if (2 * owed >= smsg->credits || 2 * smsg->owed_bytes >= smsg->ring_bytes)
        return_credits(smsg);
    return GNI_RC_SUCCESS;
}
