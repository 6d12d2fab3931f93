/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sending: an operation becomes records in the ring of its target. */
#include "transaction.h"

#include <assert.h>
#include <glib.h>
#include "nic/cq_entry.h"
#include "aries/misc/exceptions.h"

#define BULK_LEAST (ARIES_LIVE_PIECE + 1) /* the initiator copies longer data itself, if it can */

/* Reads bytes of the local side. 0 or a status. */
uint8_t aries_live_read_local(const struct aries_live_op *op, uint64_t offset, uint32_t length,
                              uint8_t *to)
{
    const struct aries_work *work = &op->work;
    struct aries_mr *mr;
    uint8_t status;

    if (op->captured) {
        memcpy(to, op->data + offset, length);
        return 0;
    }
    if (work->local_is_va) {
        aries_work_copy(work, offset, length, to);
        return 0;
    }
    status = aries_mr_check(aries_live.hw, work->ptag, work->local_handle,
                            work->local_addr + offset, length, ARIES_READ, &mr);
    if (status == 0 && !aries_mr_read(mr, work->local_addr + offset, to, length))
        status = A_STATUS_AT_PF_INV;
    return status;
}

/* Stores the result of a read or an atomic. 0 or a status. */
uint8_t aries_live_write_local(const struct aries_live_op *op, uint64_t offset, const void *from,
                               uint32_t length)
{
    const struct aries_work *work = &op->work;
    struct aries_mr *mr;
    uint8_t status = aries_mr_check(aries_live.hw, work->ptag, work->local_handle,
                                    work->local_addr + offset, length, ARIES_WRITE, &mr);

    if (status == 0 && !aries_mr_write(mr, work->local_addr + offset, from, length))
        status = A_STATUS_AT_PF_INV;
    if (status == 0 && work->flag_response && offset + length == work->length) {
        uint32_t flag = (uint32_t)work->sync_flag_value;

        aries_mr_write(mr, work->local_addr + work->length, &flag, sizeof(flag));
    }
    if (status == 0)
        aries_process_written(mr->process);
    return status;
}

static bool answered(const struct aries_work *work)
{
    return work->op == ARIES_GET || work->op == ARIES_AMO;
}

/* Sends the next record of an operation; false: there is no room. An error ends the sending of the
 * operation. */
static bool send_piece(struct aries_live_link *link, struct aries_live_op *op)
{
    const struct aries_work *work = &op->work;
    uint64_t total = aries_live_bytes_of(work);
    uint32_t length = (uint32_t)MIN(total - op->offset, ARIES_LIVE_PIECE);
    bool last = op->offset + length == total;
    bool flagged = last && work->sync_flag;
    uint32_t data = work->op == ARIES_PUT ? length : 0, bytes = sizeof(struct aries_live_request);
    struct aries_live_request *request;
    struct aries_live_txn *txn;
    uint8_t *at, status = 0;
    uint8_t kind;

    bytes += flagged ? sizeof(struct aries_live_flag) : 0;
    bytes += work->op == ARIES_AMO ? sizeof(struct aries_live_amo) : 0;
    bytes += aries_live_for_channel(work) ? sizeof(struct aries_live_ce) : 0;
    request = shm_reserve(link->peer, SHM_REQUEST, bytes + data);
    if (request == NULL)
        return false;
    at = (uint8_t *)(request + 1);
    aries_live_request_fill(request, work, link->txn_next);
    request->length = length;
    request->address = work->remote_addr + op->offset;
    if (!last)
        request->flags &= (uint8_t)~ARIES_LIVE_EVENT;
    if (flagged) {
        const struct aries_live_flag flag = {work->sync_flag_addr, work->sync_flag_value};

        request->flags |= ARIES_LIVE_FLAGGED;
        memcpy(at, &flag, sizeof(flag));
        at += sizeof(flag);
    }
    switch (work->op) {
    case ARIES_PUT:
        kind = ARIES_LIVE_PUT;
        status = aries_live_read_local(op, op->offset, length, at);
        break;
    case ARIES_GET:
        kind = ARIES_LIVE_GET;
        break;
    case ARIES_AMO:
        kind = ARIES_LIVE_AMO;
        *(struct aries_live_amo *)at =
            (struct aries_live_amo){{work->operand[0], work->operand[1]}, work->amo_cmd, 0};
        break;
    case ARIES_CE_JOIN:
    case ARIES_CE_RESULT:
        kind = work->op == ARIES_CE_JOIN ? ARIES_LIVE_CE_JOIN : ARIES_LIVE_CE_RESULT;
        *(struct aries_live_ce *)at = aries_live_ce_of(work);
        break;
    default:
        kind = ARIES_LIVE_CQWRITE;
        request->address = work->cqwrite_value;
        break;
    }
    if (status != 0) { /* nothing was published */
        op->offset = total;
        op->open++;
        aries_live_piece_end(op, status, ARIES_CQ_CPLTN_SREQ, false);
        return true;
    }
    op->flow = link->flow_to + link->txn_next;
    txn = aries_live_txn_new(link);
    *txn = (struct aries_live_txn){
        .op = op, .offset = op->offset, .bytes = length, .reply = answered(work)};
    op->open++;
    op->offset += length;
    txn->position = shm_publish(link->peer, SHM_REQUEST, kind, bytes + data);
    if (last && work->local_wanted && work->local_done != NULL)
        work->local_done(work->context);
    return true;
}

static bool landed_send(struct aries_live_link *link, struct aries_live_op *op);

/* Sends all records of an operation for which there is room. False: some are left. */
static bool op_send(struct aries_live_link *link, struct aries_live_op *op)
{
    uint64_t total = aries_live_bytes_of(&op->work);

    if (op->copied)
        return landed_send(link, op);
    do {
        op->open++; /* keeps the operation from ending in here */
        if (!send_piece(link, op)) {
            op->open--;
            return false;
        }
        if (--op->open == 0 && op->offset >= total) {
            aries_live_op_finish(op);
            return true;
        }
    } while (op->offset < total);
    return true;
}

/* The CPU stores its data at the time of the call, also if the record is sent later. */
void aries_live_capture(struct aries_live_op *op)
{
    struct aries_work *work = &op->work;
    uint64_t total = aries_live_bytes_of(work);

    if (work->op != ARIES_PUT || !work->local_is_va || op->captured)
        return;
    op->data = g_malloc(total > 0 ? total : 1);
    aries_work_copy(work, 0, (uint32_t)total, op->data);
    op->captured = true;
}

static void op_wait(struct aries_live_link *link, struct aries_live_op *op)
{
    aries_live_capture(op);
    op->next = NULL;
    *link->waiting_tail = op;
    link->waiting_tail = &op->next;
    if (!link->active) {
        link->active = true;
        link->next_active = aries_live.active;
        aries_live.active = link;
    }
}

static bool op_ready(const struct aries_live_link *link, const struct aries_live_op *op)
{
    return !op->work.fence || link->txn_first == link->txn_next;
}

/* Tells the owner of the memory that it was written or read: the owner raises the event and writes
 * the flag. */
static bool landed_send(struct aries_live_link *link, struct aries_live_op *op)
{
    const struct aries_work *work = &op->work;
    uint32_t bytes = (uint32_t)(sizeof(struct aries_live_request) +
                                (work->sync_flag ? sizeof(struct aries_live_flag) : 0));
    struct aries_live_request *request = shm_reserve(link->peer, SHM_REQUEST, bytes);
    struct aries_live_txn *txn;

    if (request == NULL)
        return false;
    aries_live_request_fill(request, work, link->txn_next);
    request->length = (uint32_t)work->length;
    request->address = work->remote_addr;
    if (work->sync_flag) {
        request->flags |= ARIES_LIVE_FLAGGED;
        *(struct aries_live_flag *)(request + 1) =
            (struct aries_live_flag){work->sync_flag_addr, work->sync_flag_value};
    }
    if (work->op == ARIES_GET)
        request->flags |= ARIES_LIVE_WAS_READ;
    op->flow = link->flow_to + link->txn_next;
    txn = aries_live_txn_new(link);
    *txn = (struct aries_live_txn){.op = op, .bytes = (uint32_t)MIN(work->length, UINT32_MAX)};
    op->open = 1;
    txn->position = shm_publish(link->peer, SHM_REQUEST, ARIES_LIVE_LANDED, bytes);
    return true;
}

bool aries_live_landed(struct aries_live_link *link, struct aries_live_op *op)
{
    const struct aries_work *work = &op->work;

    if (work->local_wanted && work->local_done != NULL)
        work->local_done(work->context);
    op->offset = aries_live_bytes_of(work);
    op->copied = true;
    /* A PUT without event and flag needs no record: a program that watches the memory sees it. */
    if (!work->remote_wanted && !work->sync_flag)
        aries_live_op_end(op, 0, ARIES_CQ_CPLTN_SREQ);
    else if (!landed_send(link, op))
        op_wait(link, op);
    return true;
}

static bool bulky(const struct aries_live_op *op)
{
    return (op->work.op == ARIES_GET || op->work.op == ARIES_PUT) && op->offset == 0 &&
           op->open == 0 && !op->captured && !op->copied && !op->uncopied &&
           aries_live_bytes_of(&op->work) >= BULK_LEAST;
}

void aries_live_op_begin(struct aries_live_link *link, struct aries_live_op *op)
{
    if (link->waiting != NULL || !op_ready(link, op)) {
        op_wait(link, op);
        return;
    }
    if (!(bulky(op) && aries_live_bulk(link, op)) && !op_send(link, op))
        op_wait(link, op);
}

void aries_live_send_as_records(struct aries_live_link *link, struct aries_live_op *op)
{
    op->uncopied = true;
    op_wait(link, op);
}

sim_noinline void aries_live_send_waiting(struct aries_live_link *link)
{
    struct aries_live_op *op;

    while ((op = link->waiting) != NULL && op_ready(link, op)) {
        link->waiting = op->next;
        if (link->waiting == NULL)
            link->waiting_tail = &link->waiting;
        if ((bulky(op) && aries_live_bulk(link, op)) || op_send(link, op))
            continue;
        op->next = link->waiting;
        link->waiting = op;
        if (op->next == NULL)
            link->waiting_tail = &op->next;
        return;
    }
}

bool aries_live_send(struct aries_live_link *link, uint8_t kind, struct aries_live_request *request,
                     const void *body, uint32_t bytes, void (*done)(void *, uint8_t, uint8_t, bool),
                     void *context)
{
    uint8_t *at = shm_reserve(link->peer, SHM_REQUEST, (uint32_t)sizeof(*request) + bytes);
    struct aries_live_txn *txn;

    if (at == NULL)
        return false;
    request->number = link->txn_next;
    memcpy(at, request, sizeof(*request));
    memcpy(at + sizeof(*request), body, bytes);
    txn = aries_live_txn_new(link);
    *txn = (struct aries_live_txn){.done = done, .context = context};
    aries_live.in_flight[0]++;
    txn->position = shm_publish(link->peer, SHM_REQUEST, kind, (uint32_t)sizeof(*request) + bytes);
    return true;
}
