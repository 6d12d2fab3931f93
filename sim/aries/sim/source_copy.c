/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether the source of a PUT by BTE is the same at the post and when the NIC reads it.
 *
 * Of a short source all bytes are kept, so the finding names the bytes that changed. Of a long one
 * a digest per packet is kept, an eighth of its size, and the finding names the packets.
 */
#include "sim/nic.h"

#include <assert.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include "nic/findings.h"

#define WHOLE_MAX (64u << 10) /* longest source of which all bytes are kept */

struct aries_source_copy {
    struct aries_list link; /* fabric->sim->source_copies */
    sim_time_t posted, read; /* read: when the NIC first saw a change */
    uint64_t first, last; /* bytes that changed; last < first: none */
    union {
        uint8_t *bytes; /* length <= WHOLE_MAX */
        uint64_t *digests; /* one for each packet */
    };
};

static bool is_whole(const struct aries_txn *txn)
{
    return txn->work.length <= WHOLE_MAX;
}

/* End of the packet that contains byte `offset`: packets end at boundaries of the remote address.
 */
static uint64_t packet_end(const struct aries_txn *txn, uint64_t offset)
{
    uint64_t end =
        offset + ARIES_PACKET_BYTES - (txn->work.remote_addr + offset) % ARIES_PACKET_BYTES;

    return MIN(end, txn->work.length);
}

static uint64_t packet_of(const struct aries_txn *txn, uint64_t offset)
{
    return (txn->work.remote_addr % ARIES_PACKET_BYTES + offset) / ARIES_PACKET_BYTES;
}

static bool keep_digests(struct aries_txn *txn, struct aries_mr *mr, uint64_t *digests)
{
    uint64_t offset, end;
    uint8_t packet[ARIES_PACKET_BYTES];

    for (offset = 0; offset < txn->work.length; offset = end) {
        end = packet_end(txn, offset);
        if (!aries_mr_read(mr, txn->work.local_addr + offset, packet, end - offset))
            return false;
        digests[packet_of(txn, offset)] = sim_ledger_digest(packet, end - offset, 0);
    }
    return true;
}

void aries_source_copy_new(struct aries_txn *txn, struct gni_nic *nic, sim_time_t posted)
{
    const struct aries_work *work = &txn->work;
    struct aries_source_copy *copy;
    struct aries_mr *mr;
    bool readable;

    assert(work->op == ARIES_PUT && txn->channel != NULL);
    if (aries_mr_check(nic->hw, work->ptag, work->local_handle, work->local_addr, work->length,
                       ARIES_READ, &mr) != 0)
        return;
    copy = g_new0(struct aries_source_copy, 1);
    copy->posted = posted;
    copy->first = UINT64_MAX;
    if (is_whole(txn)) {
        copy->bytes = g_malloc(work->length);
        readable = aries_mr_read(mr, work->local_addr, copy->bytes, work->length);
    } else {
        copy->digests = g_new(uint64_t, packet_of(txn, work->length - 1) + 1);
        readable = keep_digests(txn, mr, copy->digests);
    }
    aries_list_add(&nic->hw->fabric->sim->source_copies, &copy->link);
    txn->source_copy = copy;
    if (!readable)
        aries_source_copy_free(txn);
}

static void changed(struct aries_source_copy *copy, uint64_t first, uint64_t last)
{
    if (copy->first > copy->last)
        copy->read = sim_now();
    copy->first = MIN(copy->first, first);
    copy->last = last;
}

static void compare_bytes(struct aries_source_copy *copy, const struct aries_chunk *chunk)
{
    const uint8_t *before = copy->bytes + chunk->offset;
    uint32_t first = 0, last = chunk->bytes - 1;

    if (memcmp(before, chunk->data, chunk->bytes) == 0)
        return;
    while (before[first] == chunk->data[first])
        first++;
    while (before[last] == chunk->data[last])
        last--;
    changed(copy, chunk->offset + first, chunk->offset + last);
}

/* A chunk consists of whole packets. */
static void compare_digests(const struct aries_txn *txn, const struct aries_chunk *chunk)
{
    struct aries_source_copy *copy = txn->source_copy;
    uint64_t offset, end;

    for (offset = chunk->offset; offset < chunk->offset + chunk->bytes; offset = end) {
        end = packet_end(txn, offset);
        if (copy->digests[packet_of(txn, offset)] !=
            sim_ledger_digest(chunk->data + (offset - chunk->offset), end - offset, 0))
            changed(copy, offset, end - 1);
    }
}

static void record(const struct aries_txn *txn, const struct aries_mr *mr)
{
    const struct aries_source_copy *copy = txn->source_copy;
    const struct aries_work *work = &txn->work;
    const struct aries_mr *target = aries_mr_find(work->target, work->ptag, work->remote_handle);
    char peer[ARIES_PEER_NAME];

    snprintf(peer, sizeof(peer), "node %u", work->target->node);
    if (target != NULL && target->live && target->process->name != NULL)
        snprintf(peer, sizeof(peer), "%s", target->process->name);
    sim_finding_record(&aries_rules[ARIES_RULE_SOURCE_CHANGED], txn->source->node,
                       mr->process->name,
                       "changed bytes %" PRIu64 "–%" PRIu64 " of the source of PUT to %s (%" PRIu64
                       " bytes) between GNI_PostRdma (%.2f µs) and the NIC's read (%.2f µs)",
                       copy->first, copy->last, peer, work->length, (double)copy->posted / SIM_US,
                       (double)copy->read / SIM_US);
}

void aries_source_copy_compare(struct aries_txn *txn, const struct aries_chunk *chunk,
                               const struct aries_mr *mr)
{
    struct aries_source_copy *copy = txn->source_copy;

    assert(chunk->bytes > 0 && chunk->offset + chunk->bytes <= txn->work.length);
    if (is_whole(txn))
        compare_bytes(copy, chunk);
    else
        compare_digests(txn, chunk);
    if (chunk->offset + chunk->bytes < txn->work.length)
        return;
    if (copy->first <= copy->last)
        record(txn, mr);
    aries_source_copy_free(txn);
}

static void copy_free(struct aries_source_copy *copy, bool whole)
{
    aries_list_remove(&copy->link);
    if (whole)
        g_free(copy->bytes);
    else
        g_free(copy->digests);
    g_free(copy);
}

void aries_source_copy_free(struct aries_txn *txn)
{
    copy_free(txn->source_copy, is_whole(txn));
    txn->source_copy = NULL;
}

void aries_source_copies_free(struct aries_fabric *fabric)
{
    struct aries_list *copies = &fabric->sim->source_copies;

    while (!aries_list_empty(copies))
        copy_free(sim_container_of(copies->next, struct aries_source_copy, link), true);
}
