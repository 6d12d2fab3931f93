/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Execution of requests at the process that owns the memory. */
#include "backend.h"

#include <assert.h>
#include "nic/amo.h"
#include "api/ce.h"
#include "nic/cq_entry.h"
#include "nic/mem_handle.h"
#include "nic/target.h"
#include "aries/misc/exceptions.h"

/* The handle as far as the target looks at it. */
static gni_mem_handle_t handle_of(const struct lnic_request *request)
{
    gni_mem_handle_t handle;

    handle.qword1 = (uint64_t)(request->mdh % ARIES_MEM_MDH_COUNT) << 52;
    handle.qword2 = (uint64_t)(request->flags & LNIC_VMDH ? ARIES_MEM_VMDH : 0) << 34 |
                    UINT64_C(1) << 56; /* it is not the handle of all zeros */
    return handle;
}

void *lnic_target_memory(const struct lnic_request *request, enum aries_access access)
{
    struct aries_mr *mr;

    if (aries_mr_check(lnic_backend.hw, request->ptag, handle_of(request), request->address,
                       request->length, access, &mr) != 0 ||
        !(lnic_backend.board[mr->mdh].flags & LNIC_MDD_PLAIN))
        return NULL;
    return aries_mr_pointer(mr, request->address, request->length);
}

static struct aries_target target_of(const struct lnic_request *request)
{
    return (struct aries_target){lnic_backend.hw, handle_of(request), request->address,
                                 request->length, request->ptag};
}

static void push_event(const struct lnic_request *request, const struct aries_mr *mr,
                       enum aries_cq_info info, struct lnic_answer *answer)
{
    if (!(request->flags & LNIC_EVENT))
        return;
    if (aries_target_event_status(mr, request->flags & LNIC_OPTIONAL) != 0)
        answer->status = A_STATUS_CQ_ERR; /* the data has arrived all the same */
    if (!aries_target_event(mr, info, request->event, NULL))
        answer->overrun = true;
}

void lnic_put(const struct lnic_request *request, const struct lnic_flag *flag, const void *data,
              bool landed, struct lnic_answer *answer)
{
    const struct aries_target target = target_of(request);
    bool read = request->flags & LNIC_WAS_READ;
    struct aries_mr *mr;

    *answer = (struct lnic_answer){.info = ARIES_CQ_CPLTN_DREQ};
    answer->status = aries_target_check_put(&target, read ? ARIES_READ : ARIES_WRITE,
                                            flag != NULL ? &flag->address : NULL, &mr);
    if (sim_unlikely(answer->status != 0))
        return;
    if (sim_unlikely(!mr->live) ||
        (!landed && !aries_mr_write(mr, request->address, data, request->length)) ||
        (flag != NULL && !aries_mr_write(mr, flag->address, &flag->value, sizeof(flag->value)))) {
        answer->status = A_STATUS_AT_PF_INV;
        return;
    }
    push_event(request, mr, read ? ARIES_CQ_CPLTN_SREQ : ARIES_CQ_CPLTN_DREQ, answer);
    aries_process_notify(mr->process);
}

void lnic_get(const struct lnic_request *request, void *data, struct lnic_answer *answer)
{
    const struct aries_target target = target_of(request);
    struct aries_mr *mr;

    *answer = (struct lnic_answer){.info = ARIES_CQ_CPLTN_DREQ};
    answer->status = aries_target_get(&target, data, &mr);
    if (answer->status == 0)
        push_event(request, mr, ARIES_CQ_CPLTN_SREQ, answer);
}

void lnic_amo(const struct lnic_request *request, const struct lnic_amo *amo, void *old,
              struct lnic_answer *answer)
{
    const struct aries_target target = target_of(request);
    struct aries_mr *mr;

    *answer = (struct lnic_answer){.info = ARIES_CQ_CPLTN_DREQ};
    answer->status = aries_target_amo(&target, amo->command, amo->operand, old, &mr);
    if (answer->status != 0 && answer->status != A_STATUS_AT_PF_WR_PERMISSION_ERR)
        return;
    push_event(request, mr, ARIES_CQ_CPLTN_DREQ, answer);
    aries_process_written(mr->process);
}

sim_noinline void lnic_cqwrite(const struct lnic_request *request, struct lnic_answer *answer)
{
    const struct aries_target target = target_of(request);
    struct aries_mr *mr;

    *answer = (struct lnic_answer){.info = ARIES_CQ_CPLTN_DREQ};
    answer->status = aries_target_cqwrite(&target, &mr);
    if (answer->status == 0 && !aries_cq_push(mr->cq, aries_cq_entry_cqwrite(request->address)))
        answer->overrun = true;
}

void lnic_ce(const struct lnic_ce *ce, enum aries_op op, uint8_t ptag, uint32_t from_node,
             struct lnic_answer *answer)
{
    struct aries_nic *hw = lnic_backend.hw, *from;
    const struct aries_work work = {
        .ptag = ptag,
        .ce = ce->header,
        .operand = {ce->operand[0], ce->operand[1]},
        .local_addr = ce->address,
        .local_handle = ce->handle,
    };

    *answer = (struct lnic_answer){A_STATUS_PKT_MALFORMED_CMD, ARIES_CQ_CPLTN_DREQ, false};
    if (!aries_ce_header_valid(&ce->header) || from_node >= hw->fabric->nodes)
        return;
    from = &hw->fabric->nics[from_node];
    answer->status = op == ARIES_CE_JOIN ? aries_ce_accept_join(hw, from, &work)
                                         : aries_ce_accept_result(hw, from, &work);
}

/* ---- records of other processes -------------------------------------------------------------- */

/* Room for an answer with so many bytes behind it. */
static sim_noinline struct lnic_result *answer_room(struct lnic_link *link, uint32_t bytes)
{
    return live_reserve(link->peer, LIVE_REPLY, (uint32_t)sizeof(struct lnic_result) + bytes);
}

static sim_noinline void answer_send(struct lnic_link *link, struct lnic_result *result,
                                     uint32_t number, const struct lnic_answer *answer,
                                     uint32_t bytes)
{
    assert(answer->status <= 0x3f && answer->info <= 3);
    *result = (struct lnic_result){number, answer->status, answer->info, answer->overrun, 0};
    live_publish(link->peer, LIVE_REPLY, LNIC_RESULT,
                 (uint32_t)sizeof(*result) + (answer->status == 0 ? bytes : 0));
}

/* What is answered in any case: the room comes first, an atomic is not done twice. */
static sim_noinline bool execute_answered(struct lnic_link *link, const struct live_record *record,
                                          const struct lnic_request *request)
{
    const uint8_t *rest = (const uint8_t *)record->bytes + sizeof(*request);
    uint32_t count = record->count - (uint32_t)sizeof(*request);
    struct lnic_answer answer = {A_STATUS_PKT_MALFORMED_SIZE, ARIES_CQ_CPLTN_DREQ, false};
    uint32_t bytes = record->kind != LNIC_DATAGRAM ? request->length : 0;
    struct lnic_datagram datagram;
    struct lnic_result *result;
    struct lnic_amo amo;

    if (bytes > LNIC_PIECE)
        bytes = 0;
    result = answer_room(link, bytes);
    if (result == NULL)
        return link->peer->gone;
    if (record->kind == LNIC_GET && request->length <= LNIC_PIECE) {
        lnic_get(request, result + 1, &answer);
    } else if (record->kind == LNIC_AMO && request->length <= LNIC_PIECE && count == sizeof(amo)) {
        memcpy(&amo, rest, sizeof(amo));
        answer.status = A_STATUS_PKT_MALFORMED_CMD;
        if (aries_amo_valid(amo.command))
            lnic_amo(request, &amo, result + 1, &answer);
        if (!aries_amo_fetches(amo.command))
            bytes = 0;
    } else if (record->kind == LNIC_DATAGRAM && count <= sizeof(datagram) &&
               count >= offsetof(struct lnic_datagram, data)) {
        memset(&datagram, 0, sizeof(datagram));
        memcpy(&datagram, rest, count);
        answer.status = 0;
        answer.overrun = !lnic_datagram_arrived(&datagram, request->ptag, lnic_backend.hw->node);
    }
    answer_send(link, result, request->number, &answer, bytes);
    return true;
}

/* False: the channel has enough to do. */
static sim_noinline bool execute_ce(const struct lnic_link *link, const struct live_record *record,
                                    const struct lnic_request *request, struct lnic_answer *answer)
{
    struct lnic_ce ce;

    *answer = (struct lnic_answer){A_STATUS_PKT_MALFORMED_SIZE, ARIES_CQ_CPLTN_DREQ, false};
    if (record->count != sizeof(*request) + sizeof(ce))
        return true;
    memcpy(&ce, (const uint8_t *)record->bytes + sizeof(*request), sizeof(ce));
    if (aries_ce_congested(lnic_backend.hw, ce.header.ce_id))
        return false;
    lnic_ce(&ce, record->kind == LNIC_CE_JOIN ? ARIES_CE_JOIN : ARIES_CE_RESULT, request->ptag,
            link->peer->node, answer);
    return true;
}

bool lnic_execute(struct lnic_link *link, const struct live_record *record)
{
    const uint8_t *rest = (const uint8_t *)record->bytes + sizeof(struct lnic_request);
    struct lnic_request request;
    struct lnic_answer answer;
    struct lnic_result *result;
    struct lnic_flag flag;
    uint32_t count;

    if (sim_unlikely(record->count < sizeof(request)))
        return true; /* nobody whom an answer would help */
    memcpy(&request, record->bytes, sizeof(request));
    count = record->count - (uint32_t)sizeof(request);
    if (record->kind == LNIC_PUT && !(request.flags & LNIC_FLAGGED) && request.length == count) {
        lnic_put(&request, NULL, rest, false, &answer);
    } else if (record->kind == LNIC_GET || record->kind == LNIC_AMO ||
               record->kind == LNIC_DATAGRAM) {
        return execute_answered(link, record, &request);
    } else if (record->kind == LNIC_CQWRITE) {
        lnic_cqwrite(&request, &answer);
    } else if (record->kind == LNIC_CE_JOIN || record->kind == LNIC_CE_RESULT) {
        if (!execute_ce(link, record, &request, &answer))
            return link->peer->gone;
    } else if (record->kind == LNIC_SHARE) {
        struct lnic_share_call call;

        if (count != sizeof(call))
            return true;
        memcpy(&call, rest, sizeof(call));
        lnic_share_help(link, &request, &call);
        return true;
    } else if (record->kind == LNIC_MSGQ) {
        answer = (struct lnic_answer){lnic_msgq_arrived(link, record), ARIES_CQ_CPLTN_DREQ, false};
    } else {
        bool flagged = request.flags & LNIC_FLAGGED;
        uint32_t before = flagged ? sizeof(flag) : 0;

        answer = (struct lnic_answer){A_STATUS_PKT_MALFORMED_SIZE, ARIES_CQ_CPLTN_DREQ, false};
        if (count >= before) {
            memcpy(&flag, rest, before);
            if (record->kind == LNIC_LANDED ||
                (record->kind == LNIC_PUT && request.length == count - before))
                lnic_put(&request, flagged ? &flag : NULL, rest + before,
                         record->kind == LNIC_LANDED, &answer);
        }
    }
    if (sim_likely(answer.status == 0 && !answer.overrun))
        return true; /* its release tells */
    result = answer_room(link, 0);
    if (result == NULL)
        return link->peer->gone;
    answer_send(link, result, request.number, &answer, 0);
    return true;
}
