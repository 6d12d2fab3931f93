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
#include "api/smsg.h"

#include <assert.h>
#include <glib.h>

#include <stdio.h>
#include <stdlib.h>
#include "nic/cq_entry.h"
#include "api/delivery.h"
#include "api/front.h"
#include "nic/mem_handle.h"
#include "nic/status.h"

#define NONE UINT32_MAX

_Static_assert(offsetof(struct gni_ep, remote) == 64 && offsetof(struct gni_ep, cq) == 128 &&
                   offsetof(struct gni_ep, remote_addr) == 192 && sizeof(struct gni_ep) == 256,
               "lines as described");

/* Fetches all lines that a send touches at once instead of one after the other. */
static inline void prefetch_for_send(const struct gni_ep *ep)
{
    __builtin_prefetch(ep, 1);
    __builtin_prefetch(&ep->remote, 1);
    __builtin_prefetch(&ep->cq, 1);
}

#define IN_FLIGHT 0x8000u /* mark of a slot: the transaction has not ended well yet */

/* A record, and what it leaves empty at the end of the ring, which is less than its own length. */
_Static_assert(2 * (SMSG_UNIT + GNI_SMSG_MAX_SIZE + SMSG_UNIT) / SMSG_UNIT < IN_FLIGHT,
               "what a message takes of the ring fits below the mark");
_Static_assert(SMSG_CONTROL_BYTES >= sizeof(struct smsg_control) &&
                   SMSG_CONTROL_BYTES % SMSG_UNIT == 0,
               "the control block lies before the first record");
_Static_assert((SMSG_MARK & 1) == 0, "the lowest bit of a mark has a meaning of its own");

/*
 * A message of which the NIC may need the bytes again: a long one until it has left, with
 * MBOX_AUTO_RETRANSMIT every one until it has arrived. As many as are under way, of whatever
 * endpoints: most endpoints of most programs are idle.
 */
struct smsg_copy {
    struct smsg_copy *next; /* free */
    uint32_t number;
    uint32_t offset, bytes; /* of the record in the ring */
    uint16_t attempts;
    uint16_t class; /* its size */
    uint64_t record[];
};

#define COPY_LEAST 64u /* bytes of class 0; each further one has twice as many */
#define COPY_CLASSES 12u
#define COPY_CHUNK (64u << 10)
_Static_assert(COPY_LEAST << (COPY_CLASSES - 1) >= SMSG_UNIT + GNI_SMSG_MAX_SIZE,
               "the largest class holds the largest record");

struct copy_chunk {
    struct copy_chunk *next;
    uint64_t bytes[];
};

/* One simulation runs at a time. */
static struct {
    struct smsg_copy *free[COPY_CLASSES];
    struct copy_chunk *chunks;
} copies;

static void copies_free(struct aries_fabric *fabric)
{
    struct copy_chunk *chunk;

    (void)fabric;
    while ((chunk = copies.chunks) != NULL) {
        copies.chunks = chunk->next;
        free(chunk);
    }
    memset(copies.free, 0, sizeof(copies.free));
}

static sim_cold bool copies_make(struct aries_fabric *fabric, uint16_t class)
{
    size_t each = sizeof(struct smsg_copy) + (COPY_LEAST << class);
    size_t count = each < COPY_CHUNK ? COPY_CHUNK / each : 1, i;
    struct copy_chunk *chunk = malloc(sizeof(*chunk) + count * each);

    if (chunk == NULL)
        return false;
    chunk->next = copies.chunks;
    copies.chunks = chunk;
    aries_fabric_on_end(fabric, ARIES_END_MEMORY, copies_free);
    for (i = 0; i < count; i++) {
        struct smsg_copy *copy = (struct smsg_copy *)((uint8_t *)chunk->bytes + i * each);

        copy->class = class;
        copy->next = copies.free[class];
        copies.free[class] = copy;
    }
    return true;
}

static struct smsg_copy *copy_new(struct aries_fabric *fabric, uint32_t bytes)
{
    uint16_t class = 0;
    struct smsg_copy *copy;

    while (COPY_LEAST << class < bytes)
        class ++;
    assert(class < COPY_CLASSES);
    if (copies.free[class] == NULL && !copies_make(fabric, class))
        return NULL;
    copy = copies.free[class];
    copies.free[class] = copy->next;
    return copy;
}

void aries_smsg_copy_free(struct aries_request *request)
{
    struct smsg_copy *copy = request->copy;

    if (copy == NULL)
        return;
    request->copy = NULL;
    copy->next = copies.free[copy->class];
    copies.free[copy->class] = copy;
}

static uint32_t control_returned(const struct gni_ep *ep)
{
    return ((const volatile struct smsg_control *)(ep->rx_ring - SMSG_CONTROL_BYTES))->returned;
}

/* For the deadlock report. */
static void describe(const void *what, char *buffer, size_t size)
{
    const struct gni_ep *ep = what;
    int peer = ep->remote != NULL ? (int)ep->remote->node : -1;

    snprintf(buffer, size, ", peer on node %d; %u sent, %u of them released, %u received", peer,
             ep->tx_sent, ep->tx_returned, ep->rx_received);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Each word times an odd number of its own: no step waits for the one before. */
static uint32_t record_checksum(const struct smsg_record *record)
{
    const uint8_t *at = (const uint8_t *)(record + 1);
    uint32_t left = record->length;
    uint64_t word, sum, odd = 1;

    memcpy(&word, record, sizeof(word));
    sum = word ^ (uint64_t)record->returned << 17;
    for (; left >= 8; left -= 8, at += 8) {
        memcpy(&word, at, 8);
        sum += word * (odd += 2);
    }
    if (left != 0) {
        word = 0;
        memcpy(&word, at, left);
        sum += word * (odd + 2);
    }
    return (uint32_t)(sum * 0x9e3779b97f4a7c15ull >> 32);
}

enum look { ABSENT, PRESENT, DAMAGED };

/* A record that cannot arrive in pieces: all in one cache line, so in one packet. */
static sim_noinline bool in_one_line(const struct smsg_record *record)
{
    uintptr_t first = (uintptr_t)record, last = first + SMSG_UNIT + record->length - 1;

    return first >> 6 == last >> 6;
}

/* The checksum of a record that came in one piece is wrong. */
static sim_noinline enum look damaged(struct gni_ep *ep, uint32_t number)
{
    if (!ep->broken)
        sim_ledger_violation(&ep->nic->hw->fabric->book_smsg,
                             "message %u to node %u was changed on its way", number,
                             ep->nic->hw->node);
    ep->broken = true;
    return DAMAGED;
}

/* Record `number` at this place of the ring? */
static enum look look_at(struct gni_ep *ep, uint32_t offset, uint32_t number)
{
    const struct smsg_record *record = (const struct smsg_record *)(ep->rx_ring + offset);

    if (record->sequence != number || (record->mark & ~1u) != SMSG_MARK)
        return ABSENT;
    if (record->length > ep->message_max || smsg_span(record->length) > ep->rx_bytes - offset)
        return DAMAGED;
    if (sim_likely(record->checksum == record_checksum(record)))
        return PRESENT;
    return in_one_line(record) ? damaged(ep, number) : ABSENT; /* the rest is still under way */
}

/*
 * Whether record `number` may lie at the start or the home of the ring instead of at `read_at`: the
 * peer knew that all before it was released, or may have found too little room at the end.
 */
static bool may_start_over(const struct gni_ep *ep, uint32_t read_at, uint32_t number)
{
    return ep->rx_reported == number || ep->rx_bytes - read_at < smsg_span(ep->message_max);
}

static uint32_t rx_home(const struct gni_ep *ep)
{
    return smsg_home((uintptr_t)ep->rx_ring, ep->rx_bytes);
}

/*
 * What else may lie at the start of the ring: nothing, a message that overtook the expected one, or
 * a late copy of one that was released long ago. (At home there may be the middle of a record.)
 */
static sim_noinline bool start_is_sane(const struct gni_ep *ep)
{
    struct smsg_record record;
    uint64_t word;

    if (!may_start_over(ep, ep->rx_at, ep->rx_received))
        return true; /* of no interest yet */
    /* At once: it may be arriving just now. */
    word = __atomic_load_n((const uint64_t *)(uintptr_t)ep->rx_ring, __ATOMIC_RELAXED);
    memcpy(&record, &word, sizeof(word));
    if (record.mark == 0)
        return record.sequence == 0 && record.length == 0;
    return (record.mark & ~1u) == SMSG_MARK &&
           (int32_t)(record.sequence - ep->rx_received) <= (int32_t)ep->credits;
}

static enum look find_record(struct gni_ep *ep, uint32_t read_at, uint32_t number, uint32_t *offset)
{
    uint32_t home;
    enum look look;

    if (read_at + SMSG_UNIT <= ep->rx_bytes) {
        look = look_at(ep, *offset = read_at, number);
        if (look != ABSENT || !may_start_over(ep, read_at, number))
            return look;
    }
    home = rx_home(ep);
    if (home != 0 && home != read_at && ep->rx_reported == number) {
        look = look_at(ep, *offset = home, number);
        if (look != ABSENT)
            return look;
    }
    return read_at != 0 ? look_at(ep, *offset = 0, number) : ABSENT;
}

static uint32_t current_span(const struct gni_ep *ep)
{
    return ep->rx_units * SMSG_UNIT;
}

/* ---- credits --------------------------------------------------------------------------------- */

/* The peer said that it has released so many; an older or impossible count is ignored. */
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
        uint32_t back = ep->tx_sent - ep->tx_freed; /* its slot lies so far behind the next one */
        uint32_t at = ep->tx_next + (back > ep->tx_next ? ep->tx_slots : 0) - back;

        assert(back <= ep->tx_slots && at < ep->tx_slots);
        if (ep->slots[at] & IN_FLIGHT)
            break;
        assert(ep->tx_used >= ep->slots[at] * SMSG_UNIT);
        ep->tx_used -= ep->slots[at] * SMSG_UNIT;
        ep->tx_freed++;
    }
}

/* Counts in messages that have arrived and nobody has read yet. */
static void note_unread(struct gni_ep *ep)
{
    uint32_t number = ep->rx_received, read_at = ep->rx_at, offset;

    if (ep->rx_current != NONE) {
        read_at = ep->rx_current + current_span(ep);
        number++;
    }
    for (; find_record(ep, read_at, number, &offset) == PRESENT; number++) {
        const struct smsg_record *record = (const struct smsg_record *)(ep->rx_ring + offset);

        note_returned(ep, record->returned);
        read_at = offset + smsg_span(record->length);
    }
}

static sim_noinline void note_arrived(struct gni_ep *ep)
{
    note_returned(ep, ep->rx_heard);
    note_returned(ep, control_returned(ep));
    note_unread(ep);
}

/* Where a record of `bytes` can go now: its place, and in *span what it takes. NONE: nowhere.
 */
static uint32_t find_room(const struct gni_ep *ep, uint32_t bytes, uint32_t *span)
{
    uint32_t end = ep->tx_at, start;

    *span = bytes;
    if (ep->tx_sent - ep->tx_freed >= ep->tx_slots)
        return NONE;
    if (ep->tx_used == 0) {
        start = smsg_home(ep->tx_ring, ep->tx_bytes);
        if (sim_unlikely(bytes > ep->tx_bytes - start))
            start = 0;
        return bytes <= ep->tx_bytes ? start : NONE;
    }
    if (ep->tx_used > end) { /* what is in use goes around the end */
        start = end + ep->tx_bytes - ep->tx_used;
        return bytes <= start - end ? end : NONE;
    }
    if (bytes <= ep->tx_bytes - end)
        return end;
    start = end - ep->tx_used;
    *span = ep->tx_bytes - end + bytes;
    return bytes <= start ? 0 : NONE;
}

static bool has_room(struct gni_ep *ep)
{
    uint32_t span;

    free_slots(ep);
    return find_room(ep, ep->wanted, &span) != NONE;
}

/*
 * Looks for credits in the order of what it costs: in what was read, in the control block when few
 * are left, in what nobody has read yet.
 */
static bool can_send(const void *what)
{
    struct gni_ep *ep = (struct gni_ep *)what;

    note_returned(ep, ep->rx_heard);
    if (2 * (ep->tx_sent - ep->tx_returned) >= ep->tx_slots || 2 * ep->tx_used >= ep->tx_bytes)
        note_returned(ep, control_returned(ep));
    if (sim_likely(has_room(ep)))
        return true;
    note_arrived(ep);
    return has_room(ep);
}

/*
 * A return is in flight for the endpoint; when it ends, the endpoint may be another one's, to whom
 * it means nothing. Endpoints lie at multiples of 64: the low bits of the context tell.
 */
#define EPOCHS 64u

static void return_done(void *context, uint8_t status, uint8_t info, bool remote_overrun)
{
    uint32_t epoch = (uintptr_t)context % EPOCHS;
    struct gni_ep *ep = (struct gni_ep *)((char *)context - epoch);
    bool current = ep->connected && ep->epoch == epoch;

    assert(ep->refs > 0);
    if (status == 0 && current) {
        ep->return_failures = 0;
    } else if (current) {
        struct gni_nic *nic = ep->nic;

        /* Repeated by whatever call looks at this NIC next. */
        if (!aries_status_recoverable(status) || ++ep->return_failures > nic->smsg_max_retrans)
            ep->broken = true;
        else if (aries_list_empty(&ep->return_link))
            aries_list_add(&nic->smsg_returns, &ep->return_link);
        aries_process_notify(nic->process);
    }
    aries_ep_unref(ep);
}

/* Tells the peer by a PUT into its control block. In order: an older count must not come last. */
static sim_noinline void return_credits(struct gni_ep *ep)
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
        .remote_addr = ep->tx_ring - SMSG_CONTROL_BYTES,
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
        return_credits(ep);
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

static GHashTable *mailboxes_of(const struct gni_ep *ep)
{
    return ep->nic->hw->fabric->mailboxes;
}

/* False: no memory. */
static bool connect(struct gni_ep *ep, const gni_smsg_attr_t *local, const gni_smsg_attr_t *remote)
{
    uint32_t most = ring_bytes(remote) / SMSG_UNIT;

    aries_smsg_ep_free(ep); /* what an earlier connection had */
    ep->tx_slots = (uint16_t)(local->mbox_maxcredit < most ? local->mbox_maxcredit : most);
    ep->slots = ep->few;
    if (ep->tx_slots > ARIES_SLOTS_FEW)
        ep->slots = calloc(ep->tx_slots, sizeof(*ep->slots));
    if (ep->slots == NULL)
        return false;
    ep->connected = true;
    ep->retransmit = local->msg_type == GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
    ep->broken = ep->shown = false;
    ep->message_max = (uint16_t)smsg_message_max(local->msg_maxsize);
    ep->message_slack = (uint8_t)(ep->message_max - local->msg_maxsize);
    ep->credits = local->mbox_maxcredit;
    ep->rx_ring = (uint8_t *)ring_address(local);
    ep->rx_bytes = ring_bytes(local);
    ep->rx_at = ep->rx_received = ep->rx_reported = ep->rx_owed = ep->rx_heard = 0;
    ep->rx_current = NONE;
    ep->tx_ring = aries_mem_handle_offset(&remote->mem_hndl, ring_address(remote));
    ep->tx_bytes = ring_bytes(remote);
    ep->tx_handle = remote->mem_hndl;
    ep->tx_at = ep->tx_used = ep->tx_sent = ep->tx_returned = ep->tx_freed = 0;
    ep->tx_next = 0;
    ep->peer = NULL;
    ep->return_failures = 0;
    assert(smsg_span(ep->message_max) <= ep->rx_bytes &&
           smsg_span(ep->message_max) <= ep->tx_bytes);
    g_hash_table_insert(mailboxes_of(ep), ep->rx_ring, ep);
    return true;
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
    if (ep->connected || !attributes_ok(local) || !attributes_ok(remote) ||
        local->msg_type != remote->msg_type || local->mbox_maxcredit != remote->mbox_maxcredit ||
        local->msg_maxsize != remote->msg_maxsize || local->msg_buffer == NULL ||
        local->buff_size < mailbox_bytes(local) || remote->buff_size < mailbox_bytes(remote) ||
        ((uintptr_t)local->msg_buffer + local->mbox_offset) % 8 != 0 ||
        ((uintptr_t)remote->msg_buffer + remote->mbox_offset) % 8 != 0)
        return GNI_RC_INVALID_PARAM;
    return connect(ep, local, remote) ? GNI_RC_SUCCESS : GNI_RC_ERROR_NOMEM;
}

void aries_smsg_ep_release(struct gni_ep *ep)
{
    if (!ep->connected)
        return;
    if (g_hash_table_lookup(mailboxes_of(ep), ep->rx_ring) == ep)
        g_hash_table_remove(mailboxes_of(ep), ep->rx_ring);
    ep->connected = false;
    ep->epoch = (ep->epoch + 1) % EPOCHS;
    aries_list_remove(&ep->return_link);
}

sim_cold void aries_smsg_ep_free(struct gni_ep *ep)
{
    if (ep->slots != ep->few)
        free(ep->slots);
    ep->slots = NULL;
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
    if (!aries_handle_ok(nic_handle, ARIES_MAGIC_NIC) || !aries_delivery_valid(dlvr_mode))
        return GNI_RC_INVALID_PARAM;
    nic_handle->smsg_dlvr_mode = dlvr_mode;
    nic_handle->smsg_route = (uint8_t)aries_delivery_route(dlvr_mode);
    return GNI_RC_SUCCESS;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void send_done(void *context, uint8_t status, uint8_t info, bool remote_overrun);

#define FIND_PEER_EVERY 256u /* messages, while it is not known: it may be of another process */

/* Who will receive: so that the lines it looks at first are in the cache when it does. */
static sim_noinline void find_peer(struct gni_ep *ep)
{
    ep->peer = g_hash_table_lookup(mailboxes_of(ep), (void *)(uintptr_t)ep->tx_ring);
}

static void submit_record(struct gni_ep *ep, struct aries_request *request,
                          const struct smsg_record *record, uint32_t offset, sim_time_t cpu)
{
    struct gni_nic *nic = ep->nic;
    struct aries_work *work = &nic->hw->fabric->message; /* what is not set is 0 */

    work->op = ARIES_PUT;
    work->unit = ARIES_UNIT_FMA;
    work->route = nic->smsg_route;
    work->ptag = nic->ptag;
    work->local_is_va = true;
    work->remote_wanted = true;
    work->remote_optional = true;
    work->remote_event = ep->remote_event;
    work->target = ep->remote;
    work->remote_addr = ep->tx_ring + offset;
    work->length = SMSG_UNIT + record->length;
    work->remote_handle = ep->tx_handle;
    work->done = send_done;
    work->context = request;
    if (sim_unlikely(ep->peer == NULL) && ep->tx_sent % FIND_PEER_EVERY == 1)
        find_peer(ep);
    work->peer = ep->peer;
    work->own = &ep->cq;
    work->cpu = cpu;
    work->book = &nic->hw->fabric->book_smsg;
    work->local_addr = (uintptr_t)record;
    request->in_flight = true;
    ep->slots[request->post_id >> 32] |= IN_FLIGHT;
    ep->refs++;
    aries_cq_ref(ep->cq);
    nic->hw->ops->submit(nic, work);
}

static sim_time_t send_cost(const struct gni_nic *nic, uint32_t length)
{
    const struct aries_timing *timing = aries_timing_of(nic);

    return timing->cpu_smsg + (nic->fma_shared ? timing->cpu_fma_shared : 0) +
           aries_store_time(timing, length);
}

static void fill_record(struct smsg_record *record, const struct gni_ep *ep, bool wrapped,
                        uint8_t tag, const void *header, uint32_t header_length, const void *data,
                        uint32_t data_length)
{
    uint8_t *payload = (uint8_t *)(record + 1);

    record->length = (uint16_t)(header_length + data_length);
    record->tag = tag;
    record->mark = (uint8_t)(SMSG_MARK + wrapped);
    record->sequence = ep->tx_sent;
    record->returned = ep->rx_received;
    if (header_length != 0)
        memcpy(payload, header, header_length);
    if (data_length != 0)
        memcpy(payload + header_length, data, data_length);
    record->checksum = record_checksum(record);
}

/* One poll for a credit. */
static sim_noinline bool wait_for_room(struct gni_ep *ep)
{
    const struct sim_wait wait = {"an SMSG credit", describe, ep, ep->id};

    return sim_poll(&wait, can_send, aries_timing_of(ep->nic)->cpu_smsg / 2);
}

static sim_cold gni_return_t stalled(struct gni_nic *nic, unsigned statistic)
{
    nic->statistics[statistic]++;
    return GNI_RC_NOT_DONE;
}

static gni_return_t send_message(struct gni_ep *ep, const void *header, uint32_t header_length,
                                 const void *data, uint32_t data_length, uint32_t msg_id,
                                 uint8_t tag)
{
    struct gni_nic *nic = ep->nic;
    uint32_t length = header_length + data_length, span, offset;
    struct smsg_record *record = (struct smsg_record *)nic->hw->fabric->record;
    struct smsg_copy *copy = NULL;
    struct aries_request *request = NULL;

    if (ep->broken)
        return GNI_RC_INVALID_STATE;
    ep->wanted = smsg_span(length);
    if ((sim_catching_up() || !can_send(ep)) && !wait_for_room(ep))
        return stalled(nic, ep->tx_sent - ep->tx_freed >= ep->tx_slots
                                ? GNI_STAT_SMSG_MBOX_CREDITS_STALL
                                : GNI_STAT_SMSG_BUFF_CREDITS_STALL);
    offset = find_room(ep, ep->wanted, &span);
    assert(offset % SMSG_UNIT == 0 && offset + ep->wanted <= ep->tx_bytes);
    if (ep->tx_used ==
        0) /* the same few slots and bytes of the ring again: they are in the cache */
        ep->tx_next = 0;
    if (ep->retransmit || SMSG_UNIT + length > sizeof(nic->hw->fabric->record)) {
        copy = copy_new(ep->nic->hw->fabric, SMSG_UNIT + length);
        record = copy != NULL ? (struct smsg_record *)copy->record : NULL;
    }
    if (record != NULL)
        request = aries_request_new(ep->cq, ep, NULL, GNI_CQMODE_GLOBAL_EVENT);
    if (request == NULL) {
        if (copy != NULL)
            aries_smsg_copy_free(&(struct aries_request){.copy = copy});
        sim_spend(aries_timing_of(nic)->cpu_smsg / 2);
        return stalled(nic, GNI_STAT_SMSG_REQ_STALL);
    }
    request->post_id = (uint64_t)ep->tx_next << 32 | msg_id;
    ep->slots[ep->tx_next] = (uint16_t)(span / SMSG_UNIT);
    request->copy = copy;
    if (copy != NULL) {
        copy->number = ep->tx_sent;
        copy->offset = offset;
        copy->bytes = SMSG_UNIT + length;
        copy->attempts = 1;
    }
    if (++ep->tx_next == ep->tx_slots)
        ep->tx_next = 0;
    fill_record(record, ep, span != ep->wanted, tag, header, header_length, data, data_length);
    ep->rx_reported = record->returned;
    ep->rx_owed = 0;
    ep->tx_at = offset + ep->wanted;
    ep->tx_used += span;
    ep->tx_sent++;
    assert(ep->tx_used <= ep->tx_bytes && ep->tx_sent - ep->tx_freed <= ep->tx_slots);
    nic->hw->fabric->counters.smsg_sent++;
    trace(SIM_TRACE_INSTANT, ARIES_TRACK_SMSG, nic->hw->node, nic->process->trace_index, "send",
          sim_local_time(), 0, 0, length);
    sim_idle_break();
    submit_record(ep, request, record, offset, send_cost(nic, length));
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_SmsgSendWTag(gni_ep_handle_t ep_hndl, void *header, uint32_t header_length,
                              void *data, uint32_t data_length, uint32_t msg_id, uint8_t tag)
{
    struct gni_ep *ep = ep_hndl;

    if (ep == NULL)
        return GNI_RC_INVALID_PARAM;
    prefetch_for_send(ep);
    if (ep->magic != ARIES_MAGIC_EP || !ep->connected)
        return GNI_RC_INVALID_PARAM;
    if (ep->cq == NULL || (header == NULL && header_length != 0) ||
        (data == NULL && data_length != 0))
        return GNI_RC_INVALID_PARAM;
    if ((uint64_t)header_length + data_length > ep->message_max)
        return GNI_RC_ERROR_RESOURCE;
    return send_message(ep, header, header_length, data, data_length, msg_id, tag);
}

gni_return_t GNI_SmsgSend(gni_ep_handle_t ep_hndl, void *header, uint32_t header_length, void *data,
                          uint32_t data_length, uint32_t msg_id)
{
    const struct gni_ep *ep = ep_hndl;

    if (aries_handle_ok(ep, ARIES_MAGIC_EP) && ep->connected &&
        (uint64_t)header_length + data_length > (uint32_t)ep->message_max - ep->message_slack)
        return GNI_RC_ERROR_RESOURCE;
    return GNI_SmsgSendWTag(ep_hndl, header, header_length, data, data_length, msg_id, 0);
}

/* ---- completions of sends -------------------------------------------------------------------- */

static sim_cold bool may_repeat(const struct gni_ep *ep, const struct aries_request *request,
                                uint8_t status)
{
    return ep->retransmit && ep->connected && !ep->broken && aries_status_recoverable(status) &&
           request->copy != NULL && request->copy->attempts <= ep->nic->smsg_max_retrans;
}

static gni_cq_entry_t send_entry(uint32_t tid, uint8_t status, uint8_t info)
{
    return aries_cq_entry(ARIES_CQ_SOURCE_SSID, info, status,
                          GNI_CQ_EVENT_TYPE_SMSG << ARIES_CQ_TYPE_SHIFT |
                              (uint64_t)tid << ARIES_CQ_TID_SHIFT);
}

static void send_done(void *context, uint8_t status, uint8_t info, bool remote_overrun)
{
    struct aries_request *request = context;
    struct gni_ep *ep = request->ep;
    struct gni_cq *cq = ep->cq;
    bool repeat = status != 0 && may_repeat(ep, request, status);

    if (status == 0)
        ep->slots[request->post_id >> 32] &= (uint16_t)~IN_FLIGHT;
    else if (!repeat)
        ep->broken = true;
    if (!repeat)
        aries_smsg_copy_free(request);
    aries_request_landed(cq, request);
    if (!aries_cq_push_for(cq,
                           send_entry(request->tid, status, info) |
                               (remote_overrun ? ARIES_CQ_REM_OVERRUN : 0),
                           request) &&
        repeat)
        ep->broken = true; /* nobody will hear of the failure */
    aries_cq_unref(cq);
    if (status != 0 && !repeat && ep->connected)
        aries_transaction_failed(ep->nic, status, false);
    aries_ep_unref(ep);
}

bool aries_smsg_completed(struct gni_cq *cq, struct aries_request *request, gni_cq_entry_t entry)
{
    uint8_t status = (uint8_t)aries_cq_entry_status(entry);
    struct gni_ep *ep = request->ep;
    struct smsg_copy *again = request->copy;
    uint32_t slot;

    if (sim_likely(status == 0) || ep == NULL || !ep->connected)
        return false;
    if (!may_repeat(ep, request, status)) {
        ep->broken = true;
        return false;
    }
    slot = (uint32_t)(request->post_id >> 32);
    note_arrived(ep);
    if ((int32_t)(ep->tx_returned - again->number) > 0) {
        /* Only the answer was lost: the peer has released the message already. */
        ep->slots[slot] &= (uint16_t)~IN_FLIGHT;
        aries_cq_push(cq, send_entry(request->tid, 0, ARIES_CQ_CPLTN_SREQ));
        return true;
    }
    again->attempts++;
    ep->nic->statistics[GNI_STAT_SMSG_RETRANS_COUNT]++;
    ep->nic->hw->fabric->counters.retransmits++;
    submit_record(ep, request, (const struct smsg_record *)again->record, again->offset,
                  send_cost(ep->nic, again->bytes - SMSG_UNIT));
    return true;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Something for GNI_SmsgGetNext to do? */
static bool message_or_work(const void *what)
{
    struct gni_ep *ep = (struct gni_ep *)what;
    uint32_t offset;

    return find_record(ep, ep->rx_at, ep->rx_received, &offset) != ABSENT ||
           !aries_list_empty(&ep->nic->smsg_returns);
}

/* The next message becomes current, whatever its tag. */
static gni_return_t find_next(struct gni_ep *ep)
{
    const struct sim_wait wait = {"a message", describe, ep, ep->id + 1};
    const struct aries_timing *timing = aries_timing_of(ep->nic);
    sim_time_t asked = sim_charged_time();
    const struct smsg_record *record;
    uint32_t offset;
    enum look look;

    /* What is there already is there at this rank's own time, which is later: nothing to catch up
     * with. */
    look = sim_catching_up() ? ABSENT : find_record(ep, ep->rx_at, ep->rx_received, &offset);
    if (look == ABSENT) {
        if (!sim_poll(&wait, message_or_work, timing->cpu_getnext / 2)) {
            if (sim_behind()) /* nothing had come by then */
                return GNI_RC_NOT_DONE;
            aries_smsg_progress(ep->nic);
            return start_is_sane(ep) ? GNI_RC_NOT_DONE : GNI_RC_INVALID_STATE;
        }
        aries_smsg_progress(ep->nic);
        look = find_record(ep, ep->rx_at, ep->rx_received, &offset);
    }
    if (look != PRESENT)
        return look == ABSENT ? GNI_RC_NOT_DONE : GNI_RC_INVALID_STATE;
    if (sim_charged_time() > asked) /* it was not there: a spinning CPU sees it a little later */
        sim_spend(timing->poll);
    record = (const struct smsg_record *)(ep->rx_ring + offset);
    ep->rx_heard = record->returned;
    if (record->mark != SMSG_MARK)
        ep->rx_owed += ep->rx_bytes - ep->rx_at;
    ep->rx_current = offset;
    ep->rx_units = (uint16_t)(smsg_span(record->length) / SMSG_UNIT);
    ep->nic->hw->fabric->counters.smsg_received++;
    trace(SIM_TRACE_INSTANT, ARIES_TRACK_SMSG, ep->nic->hw->node, ep->nic->process->trace_index,
          "receive", sim_local_time(), 0, 0, record->length);
    return GNI_RC_SUCCESS;
}

static gni_return_t get_next(struct gni_ep *ep, void **header, uint8_t *tag)
{
    const struct smsg_record *record;
    gni_return_t rc;

    if (!aries_handle_ok(ep, ARIES_MAGIC_EP) || !ep->connected || header == NULL || tag == NULL)
        return GNI_RC_INVALID_PARAM;
    if (sim_likely(ep->rx_current == NONE)) {
        rc = find_next(ep);
        if (rc != GNI_RC_SUCCESS)
            return rc;
    }
    sim_idle_break();
    sim_spend(aries_timing_of(ep->nic)->cpu_getnext);
    record = (const struct smsg_record *)(ep->rx_ring + ep->rx_current);
    if (*tag != GNI_SMSG_ANY_TAG && *tag != record->tag) {
        *tag = record->tag;
        return GNI_RC_NO_MATCH;
    }
    *tag = record->tag;
    *header = ep->rx_ring + ep->rx_current + SMSG_UNIT;
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
    assert(ep->rx_current != NONE && ep->rx_current + current_span(ep) <= ep->rx_bytes);
    memset(ep->rx_ring + ep->rx_current, 0, current_span(ep));
    ep->rx_at = ep->rx_current + current_span(ep);
    ep->rx_current = NONE;
    ep->shown = false;
    ep->rx_received++;
    ep->rx_owed += current_span(ep);
    owed = ep->rx_received - ep->rx_reported;
    if (2 * owed >= ep->credits || 2 * ep->rx_owed >= ep->rx_bytes)
        return_credits(ep);
    return GNI_RC_SUCCESS;
}
