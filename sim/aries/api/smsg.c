/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * SMSG: short messages through mailboxes. A message is one FMA PUT of a record (smsg.h) with an
 * event at the queue of the peer's mailbox. Credits bound the number of messages in flight, and
 * the ring bounds their bytes. Both are returned when the receiver releases messages: inside the
 * next message of the other direction or, when half of either is owed, by a small PUT of their
 * own.
 *
 * Slots: each message in flight has a slot, which is the context of its transaction. The slot is
 * free again when the transaction has ended without error and the peer has released the message.
 * So a message that is sent again after an error finds its bytes of the ring unused, whether or
 * not the first attempt arrived, and a late copy can only overwrite released space.
 */
#include "api/smsg_connection.h"

#include <assert.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include "api/delivery.h"
#include "api/findings.h"
#include "nic/cq_entry.h"
#include "nic/findings.h"
#include "nic/mem_handle.h"
#include "nic/status.h"

_Static_assert(offsetof(struct gni_ep, remote) == 64 && offsetof(struct gni_ep, cq) == 128 &&
                   offsetof(struct gni_ep, remote_addr) == 192 && sizeof(struct gni_ep) == 256,
               "lines as described");

/* Prefetches all cache lines that a send touches, instead of one after the other. */
static inline void prefetch_for_send(const struct gni_ep *ep)
{
    __builtin_prefetch(ep, 1);
    __builtin_prefetch(&ep->remote, 1);
    __builtin_prefetch(&ep->cq, 1);
}

/*
 * A record, and the space that it leaves empty at the end of the ring, which is less than its
 * length.
 */
_Static_assert(2 * (ARIES_SMSG_UNIT + GNI_SMSG_MAX_SIZE + ARIES_SMSG_UNIT) / ARIES_SMSG_UNIT <
                   ARIES_SMSG_IN_FLIGHT,
               "what a message takes of the ring fits below the mark");
_Static_assert(ARIES_SMSG_CONTROL_BYTES >= sizeof(struct aries_smsg_control) &&
                   ARIES_SMSG_CONTROL_BYTES % ARIES_SMSG_UNIT == 0,
               "the control block lies before the first record");
_Static_assert((ARIES_SMSG_MARK & 1) == 0, "the lowest bit of a mark has a meaning of its own");

void aries_smsg_describe(const void *what, char *buffer, size_t size)
{
    const struct gni_ep *ep = what;
    char peer[ARIES_PEER_NAME], node[32] = "";

    aries_peer_name(ep->remote, ep->nic->ptag, ep->remote_id, peer);
    if (ep->remote != NULL && strncmp(peer, "instance", strlen("instance")) != 0)
        snprintf(node, sizeof node, " on node %u", ep->remote->node);
    snprintf(buffer, size, ", peer %s%s; %u sent, %u of them released, %u received", peer, node,
             ep->tx_sent, ep->tx_returned, ep->rx_received);
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

/*
 * Room for four messages of full size. The only known value of the real formula is 5056 for 1024
 * bytes and 72 credits.
 */
static uint32_t mailbox_bytes(const gni_smsg_attr_t *attr)
{
    uint32_t bytes = 320 + 8 * attr->mbox_maxcredit + 4 * (attr->msg_maxsize + ARIES_SMSG_UNIT);

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
    return (attr->buff_size - ARIES_SMSG_CONTROL_BYTES) & ~(ARIES_SMSG_UNIT - 1);
}

static uintptr_t ring_address(const gni_smsg_attr_t *attr)
{
    return (uintptr_t)attr->msg_buffer + attr->mbox_offset + ARIES_SMSG_CONTROL_BYTES;
}

static GTree *mailboxes_of(const struct gni_ep *ep)
{
    return ep->nic->hw->fabric->mailboxes;
}

/* Connects the endpoint. False: no memory. */
static bool connect(struct gni_ep *ep, const gni_smsg_attr_t *local, const gni_smsg_attr_t *remote)
{
    uint32_t most = ring_bytes(remote) / ARIES_SMSG_UNIT;

    aries_smsg_ep_free(ep); /* frees the memory of an earlier connection */
    ep->tx_slots = (uint16_t)(local->mbox_maxcredit < most ? local->mbox_maxcredit : most);
    ep->slots = ep->few;
    if (ep->tx_slots > ARIES_SLOTS_FEW)
        ep->slots = calloc(ep->tx_slots, sizeof(*ep->slots));
    if (ep->slots == NULL)
        return false;
    ep->connected = true;
    ep->retransmit = local->msg_type == GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
    ep->broken = ep->credits_lost = ep->shown = false;
    ep->message_max = (uint16_t)aries_smsg_message_max(local->msg_maxsize);
    ep->message_slack = (uint8_t)(ep->message_max - local->msg_maxsize);
    ep->credits = local->mbox_maxcredit;
    ep->rx_ring = (uint8_t *)ring_address(local);
    ep->rx_bytes = ring_bytes(local);
    ep->rx_at = ep->rx_received = ep->rx_reported = ep->rx_owed = ep->rx_peer_released = 0;
    ep->rx_current = ARIES_SMSG_NO_ROOM;
    ep->tx_ring = aries_mem_handle_offset(&remote->mem_hndl, ring_address(remote));
    ep->tx_bytes = ring_bytes(remote);
    ep->tx_handle = remote->mem_hndl;
    ep->tx_at = ep->tx_used = ep->tx_sent = ep->tx_returned = ep->tx_freed = 0;
    ep->tx_next = 0;
    ep->peer = NULL;
    ep->return_failures = 0;
    assert(aries_smsg_span(ep->message_max) <= ep->rx_bytes &&
           aries_smsg_span(ep->message_max) <= ep->tx_bytes);
    aries_findings_mailbox_new(ep, ep->rx_ring, ep->rx_bytes);
    g_tree_insert(mailboxes_of(ep), ep->rx_ring, ep);
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
    if (g_tree_lookup(mailboxes_of(ep), ep->rx_ring) == ep)
        g_tree_remove(mailboxes_of(ep), ep->rx_ring);
    ep->connected = false;
    ep->epoch = (ep->epoch + 1) % ARIES_SMSG_EPOCHS;
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

/* Messages between two searches for the peer, which may be in another process. */
#define FIND_PEER_EVERY 256u

/* Finds the receiving endpoint, so that the lines which it reads first can be prefetched for it. */
static sim_noinline void find_peer(struct gni_ep *ep)
{
    ep->peer = g_tree_lookup(mailboxes_of(ep), (void *)(uintptr_t)ep->tx_ring);
}

static void submit_record(struct gni_ep *ep, struct aries_request *request,
                          const struct aries_smsg_record *record, uint32_t offset, sim_time_t cpu)
{
    struct gni_nic *nic = ep->nic;
    struct aries_work *work = &nic->hw->fabric->message; /* fields that are not set are 0 */

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
    work->length = ARIES_SMSG_UNIT + record->length;
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
    ep->slots[request->post_id >> 32] |= ARIES_SMSG_IN_FLIGHT;
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

static void fill_record(struct aries_smsg_record *record, const struct gni_ep *ep, bool wrapped,
                        uint8_t tag, const void *header, uint32_t header_length, const void *data,
                        uint32_t data_length)
{
    uint8_t *payload = (uint8_t *)(record + 1);

    record->length = (uint16_t)(header_length + data_length);
    record->tag = tag;
    record->mark = (uint8_t)(ARIES_SMSG_MARK + wrapped);
    record->sequence = ep->tx_sent;
    record->returned = ep->rx_received;
    if (header_length != 0)
        memcpy(payload, header, header_length);
    if (data_length != 0)
        memcpy(payload + header_length, data, data_length);
    record->checksum = aries_smsg_record_checksum(record);
}

/* Polls once for a credit. */
static sim_noinline bool wait_for_room(struct gni_ep *ep)
{
    const struct sim_wait wait = {"an SMSG credit", aries_smsg_describe, ep, ep->id};

    return sim_poll(&wait, aries_smsg_can_send, aries_timing_of(ep->nic)->cpu_smsg / 2);
}

/* The last poll found no credit. Polls that the simulation leaves out count as well. */
static sim_cold gni_return_t stalled(struct gni_nic *nic, unsigned statistic)
{
    sim_poll_count(&nic->statistics[statistic]);
    return GNI_RC_NOT_DONE;
}

static gni_return_t send_message(struct gni_ep *ep, const void *header, uint32_t header_length,
                                 const void *data, uint32_t data_length, uint32_t msg_id,
                                 uint8_t tag)
{
    struct gni_nic *nic = ep->nic;
    uint32_t length = header_length + data_length, span, offset;
    struct aries_smsg_record *record = (struct aries_smsg_record *)nic->hw->fabric->record;
    struct aries_smsg_copy *copy = NULL;
    struct aries_request *request = NULL;

    if (ep->broken)
        return GNI_RC_INVALID_STATE;
    ep->wanted = aries_smsg_span(length);
    if ((sim_catching_up() || !aries_smsg_can_send(ep)) && !wait_for_room(ep))
        return stalled(nic, ep->tx_sent - ep->tx_freed >= ep->tx_slots
                                ? GNI_STAT_SMSG_MBOX_CREDITS_STALL
                                : GNI_STAT_SMSG_BUFF_CREDITS_STALL);
    offset = aries_smsg_find_room(ep, ep->wanted, &span);
    assert(offset % ARIES_SMSG_UNIT == 0 && offset + ep->wanted <= ep->tx_bytes);
    if (ep->tx_used ==
        0) /* reuses the same few slots and bytes of the ring, which are in the cache */
        ep->tx_next = 0;
    if (ep->retransmit || ARIES_SMSG_UNIT + length > sizeof(nic->hw->fabric->record)) {
        copy = aries_smsg_copy_new(ep->nic->hw->fabric, ARIES_SMSG_UNIT + length);
        record = copy != NULL ? (struct aries_smsg_record *)copy->record : NULL;
    }
    if (record != NULL)
        request = aries_request_new(ep->cq, ep, NULL, GNI_CQMODE_GLOBAL_EVENT);
    if (request == NULL) {
        if (copy != NULL)
            aries_smsg_copy_free(&(struct aries_request){.copy = copy});
        sim_idle_break(); /* each attempt counts */
        sim_spend(aries_timing_of(nic)->cpu_smsg / 2);
        nic->statistics[GNI_STAT_SMSG_REQ_STALL]++;
        return GNI_RC_NOT_DONE;
    }
    request->post_id = (uint64_t)ep->tx_next << 32 | msg_id;
    ep->slots[ep->tx_next] = (uint16_t)(span / ARIES_SMSG_UNIT);
    request->copy = copy;
    if (copy != NULL) {
        copy->number = ep->tx_sent;
        copy->offset = offset;
        copy->bytes = ARIES_SMSG_UNIT + length;
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
    if (sim_unlikely(sim_trace_on))
        sim_trace_add_number("to node", ep->remote->node);
    sim_trace(SIM_TRACE_INSTANT, ARIES_TRACK_SMSG, nic->hw->node, nic->process->trace_index, "send",
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
        ep->slots[request->post_id >> 32] &= (uint16_t)~ARIES_SMSG_IN_FLIGHT;
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
        ep->broken = true; /* no completion will report the failure */
    aries_cq_unref(cq);
    if (status != 0 && !repeat && ep->connected)
        aries_transaction_failed(ep->nic, status, false);
    aries_ep_unref(ep);
}

bool aries_smsg_completed(struct gni_cq *cq, struct aries_request *request, gni_cq_entry_t entry)
{
    uint8_t status = (uint8_t)aries_cq_entry_status(entry);
    struct gni_ep *ep = request->ep;
    struct aries_smsg_copy *again = request->copy;
    uint32_t slot;

    if (sim_likely(status == 0) || ep == NULL || !ep->connected)
        return false;
    if (!may_repeat(ep, request, status)) {
        ep->broken = true;
        return false;
    }
    slot = (uint32_t)(request->post_id >> 32);
    aries_smsg_note_arrived(ep);
    if ((int32_t)(ep->tx_returned - again->number) > 0) {
        /* Only the response was lost: the peer has already released the message. */
        ep->slots[slot] &= (uint16_t)~ARIES_SMSG_IN_FLIGHT;
        aries_cq_push(cq, send_entry(request->tid, 0, ARIES_CQ_CPLTN_SREQ));
        return true;
    }
    again->attempts++;
    ep->nic->statistics[GNI_STAT_SMSG_RETRANS_COUNT]++;
    ep->nic->hw->fabric->counters.retransmits++;
    submit_record(ep, request, (const struct aries_smsg_record *)again->record, again->offset,
                  send_cost(ep->nic, again->bytes - ARIES_SMSG_UNIT));
    return true;
}
