/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transactions of a process with itself. */
#include "transaction.h"

#include <glib.h>
#include "nic/amo.h"
#include "nic/cq_entry.h"
#include "aries/misc/exceptions.h"

static void put_here(struct aries_live_op *op, struct aries_live_request *request,
                     struct aries_live_answer *answer)
{
    const struct aries_work *work = &op->work;
    const struct aries_live_flag flag = {work->sync_flag_addr, work->sync_flag_value};
    uint64_t total = aries_live_bytes_of(work), offset = 0;
    uint8_t piece[ARIES_LIVE_PIECE], flags = request->flags;

    do {
        uint32_t length = (uint32_t)MIN(total - offset, sizeof(piece));
        bool last = offset + length == total;

        answer->info = ARIES_CQ_CPLTN_SREQ;
        answer->status = aries_live_read_local(op, offset, length, piece);
        if (answer->status != 0)
            return;
        request->flags = last ? flags : (uint8_t)(flags & ~ARIES_LIVE_EVENT);
        request->address = work->remote_addr + offset;
        request->length = length;
        aries_live_put(request, last && work->sync_flag ? &flag : NULL, piece, false, answer);
        offset += length;
    } while (offset < total && answer->status == 0);
    if (work->local_wanted && work->local_done != NULL)
        work->local_done(work->context);
}

static void read_here(struct aries_live_op *op, struct aries_live_request *request,
                      struct aries_live_answer *answer)
{
    const struct aries_work *work = &op->work;
    const struct aries_live_amo amo = {{work->operand[0], work->operand[1]}, work->amo_cmd, 0};
    uint8_t piece[ARIES_LIVE_PIECE], flags = request->flags;
    uint64_t offset = 0;

    do {
        uint32_t length = (uint32_t)MIN(work->length - offset, sizeof(piece));

        request->flags =
            offset + length == work->length ? flags : (uint8_t)(flags & ~ARIES_LIVE_EVENT);
        request->address = work->remote_addr + offset;
        request->length = length;
        if (work->op == ARIES_GET)
            aries_live_get(request, piece, answer);
        else
            aries_live_amo(request, &amo, piece, answer);
        if (answer->status == 0 && (work->op == ARIES_GET || aries_amo_fetches(work->amo_cmd))) {
            answer->status = aries_live_write_local(op, offset, piece, length);
            if (answer->status != 0)
                answer->info = ARIES_CQ_CPLTN_SRSP;
        }
        offset += length;
    } while (offset < work->length && answer->status == 0);
}

void aries_live_execute_here(struct aries_live_op *op)
{
    const struct aries_work *work = &op->work;
    struct aries_live_answer answer = {0};
    struct aries_live_request request;
    struct aries_live_ce ce;

    aries_live_request_fill(&request, work, 0);
    if (aries_live_for_channel(work)) {
        ce = aries_live_ce_of(work);
        aries_live_ce(&ce, (enum aries_op)work->op, work->ptag, aries_live.hw->node, &answer);
    } else if (work->remote_handle.qword1 == 0 && work->remote_handle.qword2 == 0) {
        answer.status = A_STATUS_AT_MDD_INV;
        answer.info = ARIES_CQ_CPLTN_DREQ;
    } else if (work->op == ARIES_PUT) {
        put_here(op, &request, &answer);
    } else if (work->op == ARIES_CQWRITE) {
        request.address = work->cqwrite_value;
        aries_live_cqwrite(&request, &answer);
    } else {
        read_here(op, &request, &answer);
    }
    op->overrun = answer.overrun;
    aries_live_op_end(op, answer.status, answer.info);
}
