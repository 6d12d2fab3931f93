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

/* The parts of the memory handle that the target uses. */
static gni_mem_handle_t handle_of(const struct aries_live_request *request)
{
    gni_mem_handle_t handle;

    handle.qword1 = (uint64_t)(request->mdh % ARIES_MEM_MDH_COUNT) << 52;
    handle.qword2 = (uint64_t)(request->flags & ARIES_LIVE_VMDH ? ARIES_MEM_VMDH : 0) << 34 |
                    UINT64_C(1) << 56; /* it is not the handle of all zeros */
    return handle;
}

void *aries_live_target_memory(const struct aries_live_request *request, enum aries_access access)
{
    struct aries_mr *mr;

    if (aries_mr_check(aries_live.hw, request->ptag, handle_of(request), request->address,
                       request->length, access, &mr) != 0 ||
        !(aries_live.segment[mr->mdh].flags & ARIES_LIVE_MDD_PLAIN))
        return NULL;
    return aries_mr_pointer(mr, request->address, request->length);
}

static struct aries_target target_of(const struct aries_live_request *request)
{
    return (struct aries_target){aries_live.hw, handle_of(request), request->address,
                                 request->length, request->ptag};
}

static void push_event(const struct aries_live_request *request, const struct aries_mr *mr,
                       enum aries_cq_info info, struct aries_live_answer *answer)
{
    if (!(request->flags & ARIES_LIVE_EVENT))
        return;
    if (aries_target_event_status(mr, request->flags & ARIES_LIVE_OPTIONAL) != 0)
        answer->status = A_STATUS_CQ_ERR; /* the data has arrived all the same */
    if (!aries_target_event(mr, info, request->event, NULL))
        answer->overrun = true;
}

void aries_live_put(const struct aries_live_request *request, const struct aries_live_flag *flag,
                    const void *data, bool landed, struct aries_live_answer *answer)
{
    const struct aries_target target = target_of(request);
    bool read = request->flags & ARIES_LIVE_WAS_READ;
    struct aries_mr *mr;

    *answer = (struct aries_live_answer){.info = ARIES_CQ_CPLTN_DREQ};
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

void aries_live_get(const struct aries_live_request *request, void *data,
                    struct aries_live_answer *answer)
{
    const struct aries_target target = target_of(request);
    struct aries_mr *mr;

    *answer = (struct aries_live_answer){.info = ARIES_CQ_CPLTN_DREQ};
    answer->status = aries_target_get(&target, data, &mr);
    if (answer->status == 0)
        push_event(request, mr, ARIES_CQ_CPLTN_SREQ, answer);
}

void aries_live_amo(const struct aries_live_request *request, const struct aries_live_amo *amo,
                    void *old, struct aries_live_answer *answer)
{
    const struct aries_target target = target_of(request);
    struct aries_mr *mr;

    *answer = (struct aries_live_answer){.info = ARIES_CQ_CPLTN_DREQ};
    answer->status = aries_target_amo(&target, amo->command, amo->operand, old, &mr);
    if (answer->status != 0 && answer->status != A_STATUS_AT_PF_WR_PERMISSION_ERR)
        return;
    push_event(request, mr, ARIES_CQ_CPLTN_DREQ, answer);
    aries_process_written(mr->process);
}

sim_noinline void aries_live_cqwrite(const struct aries_live_request *request,
                                     struct aries_live_answer *answer)
{
    const struct aries_target target = target_of(request);
    struct aries_mr *mr;

    *answer = (struct aries_live_answer){.info = ARIES_CQ_CPLTN_DREQ};
    answer->status = aries_target_cqwrite(&target, &mr);
    if (answer->status == 0 && !aries_cq_push(mr->cq, aries_cq_entry_cqwrite(request->address)))
        answer->overrun = true;
}

void aries_live_ce(const struct aries_live_ce *ce, enum aries_op op, uint8_t ptag,
                   uint32_t from_node, struct aries_live_answer *answer)
{
    struct aries_nic *hw = aries_live.hw, *from;
    const struct aries_work work = {
        .ptag = ptag,
        .ce = ce->header,
        .operand = {ce->operand[0], ce->operand[1]},
        .local_addr = ce->address,
        .local_handle = ce->handle,
    };

    *answer = (struct aries_live_answer){A_STATUS_PKT_MALFORMED_CMD, ARIES_CQ_CPLTN_DREQ, false};
    if (!aries_ce_header_valid(&ce->header) || from_node >= hw->fabric->nodes)
        return;
    from = &hw->fabric->nics[from_node];
    answer->status = op == ARIES_CE_JOIN ? aries_ce_accept_join(hw, from, &work)
                                         : aries_ce_accept_result(hw, from, &work);
}

/* ---- records of other processes -------------------------------------------------------------- */

/* Reserves room for an answer with so many bytes of data. */
static sim_noinline struct aries_live_result *answer_room(struct aries_live_link *link,
                                                          uint32_t bytes)
{
    return shm_reserve(link->peer, SHM_REPLY, (uint32_t)sizeof(struct aries_live_result) + bytes);
}

static sim_noinline void answer_send(struct aries_live_link *link, struct aries_live_result *result,
                                     uint32_t number, const struct aries_live_answer *answer,
                                     uint32_t bytes)
{
    assert(answer->status <= 0x3f && answer->info <= 3);
    *result = (struct aries_live_result){number, answer->status, answer->info, answer->overrun, 0};
    shm_publish(link->peer, SHM_REPLY, ARIES_LIVE_RESULT,
                (uint32_t)sizeof(*result) + (answer->status == 0 ? bytes : 0));
}

/* Requests that always have an answer. Room for the answer comes first, because an atomic must not
 * be executed twice. */
static sim_noinline bool execute_answered(struct aries_live_link *link,
                                          const struct shm_record *record,
                                          const struct aries_live_request *request)
{
    const uint8_t *rest = (const uint8_t *)record->bytes + sizeof(*request);
    uint32_t count = record->count - (uint32_t)sizeof(*request);
    struct aries_live_answer answer = {A_STATUS_PKT_MALFORMED_SIZE, ARIES_CQ_CPLTN_DREQ, false};
    uint32_t bytes = record->kind != ARIES_LIVE_DATAGRAM ? request->length : 0;
    struct aries_live_datagram datagram;
    struct aries_live_result *result;
    struct aries_live_amo amo;

    if (bytes > ARIES_LIVE_PIECE)
        bytes = 0;
    result = answer_room(link, bytes);
    if (result == NULL)
        return link->peer->gone;
    if (record->kind == ARIES_LIVE_GET && request->length <= ARIES_LIVE_PIECE) {
        aries_live_get(request, result + 1, &answer);
    } else if (record->kind == ARIES_LIVE_AMO && request->length <= ARIES_LIVE_PIECE &&
               count == sizeof(amo)) {
        memcpy(&amo, rest, sizeof(amo));
        answer.status = A_STATUS_PKT_MALFORMED_CMD;
        if (aries_amo_valid(amo.command))
            aries_live_amo(request, &amo, result + 1, &answer);
        if (!aries_amo_fetches(amo.command))
            bytes = 0;
    } else if (record->kind == ARIES_LIVE_DATAGRAM && count <= sizeof(datagram) &&
               count >= offsetof(struct aries_live_datagram, data)) {
        memset(&datagram, 0, sizeof(datagram));
        memcpy(&datagram, rest, count);
        answer.status = 0;
        answer.overrun =
            !aries_live_datagram_arrived(&datagram, request->ptag, aries_live.hw->node);
    }
    answer_send(link, result, request->number, &answer, bytes);
    return true;
}

/* False: the channel has too many transactions in flight. */
static sim_noinline bool execute_ce(const struct aries_live_link *link,
                                    const struct shm_record *record,
                                    const struct aries_live_request *request,
                                    struct aries_live_answer *answer)
{
    struct aries_live_ce ce;

    *answer = (struct aries_live_answer){A_STATUS_PKT_MALFORMED_SIZE, ARIES_CQ_CPLTN_DREQ, false};
    if (record->count != sizeof(*request) + sizeof(ce))
        return true;
    memcpy(&ce, (const uint8_t *)record->bytes + sizeof(*request), sizeof(ce));
    if (aries_ce_congested(aries_live.hw, ce.header.ce_id))
        return false;
    aries_live_ce(&ce, record->kind == ARIES_LIVE_CE_JOIN ? ARIES_CE_JOIN : ARIES_CE_RESULT,
                  request->ptag, link->peer->node, answer);
    return true;
}

bool aries_live_execute(struct aries_live_link *link, const struct shm_record *record)
{
    const uint8_t *rest = (const uint8_t *)record->bytes + sizeof(struct aries_live_request);
    struct aries_live_request request;
    struct aries_live_answer answer;
    struct aries_live_result *result;
    struct aries_live_flag flag;
    uint32_t count;

    if (sim_unlikely(record->count < sizeof(request)))
        return true; /* too short to be answered */
    memcpy(&request, record->bytes, sizeof(request));
    count = record->count - (uint32_t)sizeof(request);
    if (record->kind == ARIES_LIVE_PUT && !(request.flags & ARIES_LIVE_FLAGGED) &&
        request.length == count) {
        aries_live_put(&request, NULL, rest, false, &answer);
    } else if (record->kind == ARIES_LIVE_GET || record->kind == ARIES_LIVE_AMO ||
               record->kind == ARIES_LIVE_DATAGRAM) {
        return execute_answered(link, record, &request);
    } else if (record->kind == ARIES_LIVE_CQWRITE) {
        aries_live_cqwrite(&request, &answer);
    } else if (record->kind == ARIES_LIVE_CE_JOIN || record->kind == ARIES_LIVE_CE_RESULT) {
        if (!execute_ce(link, record, &request, &answer))
            return link->peer->gone;
    } else if (record->kind == ARIES_LIVE_SHARE) {
        struct aries_live_share_call call;

        if (count != sizeof(call))
            return true;
        memcpy(&call, rest, sizeof(call));
        aries_live_share_help(link, &request, &call);
        return true;
    } else if (record->kind == ARIES_LIVE_MSGQ) {
        answer = (struct aries_live_answer){aries_live_msgq_arrived(link, record),
                                            ARIES_CQ_CPLTN_DREQ, false};
    } else {
        bool flagged = request.flags & ARIES_LIVE_FLAGGED;
        uint32_t before = flagged ? sizeof(flag) : 0;

        answer =
            (struct aries_live_answer){A_STATUS_PKT_MALFORMED_SIZE, ARIES_CQ_CPLTN_DREQ, false};
        if (count >= before) {
            memcpy(&flag, rest, before);
            if (record->kind == ARIES_LIVE_LANDED ||
                (record->kind == ARIES_LIVE_PUT && request.length == count - before))
                aries_live_put(&request, flagged ? &flag : NULL, rest + before,
                               record->kind == ARIES_LIVE_LANDED, &answer);
        }
    }
    if (sim_likely(answer.status == 0 && !answer.overrun))
        return true; /* the release of the record acknowledges it */
    result = answer_room(link, 0);
    if (result == NULL)
        return link->peer->gone;
    answer_send(link, result, request.number, &answer, 0);
    return true;
}
