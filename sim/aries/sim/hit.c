/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an injected fault hit: the transaction, its bytes and its ranks, for the fault's record. */
#include "sim/nic.h"

#include <assert.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "aries/aries.h"
#include "engine/trace.h"

static void bytes_text(uint64_t bytes, char *buffer, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    unsigned unit = 0;

    while (unit < 3 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(buffer, size, "%" PRIu64 " %s", bytes, units[unit]);
}

/*
 * The process that issued the transaction, or the one whose memory it writes. A transaction names
 * its process only if that has to be woken, and the process may have ended; otherwise a node with
 * one process leaves no choice.
 */
static const char *process_name(const struct aries_nic *nic, const struct aries_process *known)
{
    const struct aries_list *link;
    const struct aries_process *only = NULL;
    uint32_t count = 0;

    for (link = nic->processes.next; link != &nic->processes; link = link->next) {
        const struct aries_process *process =
            sim_container_of(link, struct aries_process, node_link);

        if (process == known)
            return process->name;
        only = process;
        count++;
    }
    return count == 1 ? only->name : NULL;
}

/* *source, *target: the names of its ranks, or NULL. */
static void find_ranks(const struct aries_txn *txn, const char **source, const char **target)
{
    const struct aries_work *work = &txn->work;
    const struct aries_mr *mr = NULL;

    *source = process_name(txn->source, work->process);
    *target = NULL;
    if (work->target == NULL)
        return;
    if (work->op < ARIES_CE_JOIN)
        mr = aries_mr_find(work->target, work->ptag, work->remote_handle);
    *target = process_name(work->target, mr != NULL ? mr->process : NULL);
}

static void describe_ranks(const struct aries_txn *txn, struct sim_fault_hit *hit)
{
    const char *source, *target;

    find_ranks(txn, &source, &target);
    g_strlcpy(hit->source, source != NULL ? source : "", sizeof(hit->source));
    g_strlcpy(hit->target, target != NULL ? target : "", sizeof(hit->target));
}

void aries_sim_trace_ends(const struct aries_txn *txn)
{
    const char *source, *target;

    find_ranks(txn, &source, &target);
    sim_trace_add_number("to node", txn->work.target->node);
    if (source != NULL)
        sim_trace_add_text("from", source);
    if (target != NULL)
        sim_trace_add_text("to", target);
}

static void describe_chunk(const void *what, struct sim_fault_hit *hit)
{
    const struct aries_chunk *chunk = what;
    const struct aries_txn *txn = chunk->txn;
    const struct aries_fabric *fabric = aries_txn_fabric(txn);
    const char *book = txn->entry.book != NULL ? txn->entry.book->name : "";
    bool request = chunk->transfer.class == NET_REQUEST;
    char bytes[32], offset[32], *name;

    assert(txn->refs > 0);
    /* The book says more than the operation: SMSG messages are PUTs, too. */
    book = g_str_has_prefix(book, "aries.") ? book + strlen("aries.") : book;
    name = g_ascii_strup(book[0] != '\0' ? book : aries_op_name(txn->work.op), -1);
    snprintf(hit->what, sizeof(hit->what), "%s%s", request ? "" : "response of ", name);
    g_free(name);
    bytes_text(chunk->bytes, bytes, sizeof(bytes));
    bytes_text(chunk->offset, offset, sizeof(offset));
    snprintf(hit->extent, sizeof(hit->extent), "%s at offset %s", bytes, offset);
    net_fault_place(fabric->net, &chunk->transfer, hit->place, sizeof(hit->place));
    describe_ranks(txn, hit);
    hit->flow = txn->flow;
}

struct sim_fault_subject aries_sim_fault_subject(const struct aries_chunk *chunk)
{
    const struct net_transfer *transfer = &chunk->transfer;
    const struct net *net = aries_txn_fabric(chunk->txn)->net;

    return (struct sim_fault_subject){
        .describe = describe_chunk,
        .what = chunk,
        .source = transfer->source,
        .target = transfer->target,
        .source_group = net_group_of(net, transfer->source),
        .target_group = net_group_of(net, transfer->target),
        .kind = transfer->class,
        .packets = chunk->packets,
    };
}

void aries_sim_describe_transfer(const struct net_transfer *transfer, struct sim_fault_hit *hit)
{
    const struct aries_chunk *chunk = sim_container_of(transfer, struct aries_chunk, transfer);

    if (transfer->event.fire == aries_target_request_arrived ||
        transfer->event.fire == aries_source_response_arrived)
        describe_chunk(chunk, hit);
    else
        g_strlcpy(hit->what, "message", sizeof(hit->what));
}

void aries_sim_loss_record(struct aries_chunk *chunk)
{
    const struct sim_fault_subject subject = aries_sim_fault_subject(chunk);

    sim_fault_lost(&subject);
}

void aries_sim_failure_record(const struct aries_txn *txn)
{
    const char *error = aries_status_text(txn->status);

    if (txn->flow != 0)
        sim_fault_failed(txn->flow, error != NULL ? error : "an unknown error");
}
