/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transactions from the call to their completion. */
#include "backend.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include "nic/amo.h"
#include "nic/cq_entry.h"
#include "api/datagram.h"
#include "nic/mem_handle.h"
#include "aries/misc/exceptions.h"

#define TXNS_FIRST 64u
#define ASK_TRIES 4u
#define BULK_LEAST (LNIC_PIECE + 1) /* what is longer the initiator moves itself, if it can */

/* ---- operations ------------------------------------------------------------------------------ */

static struct lnic_op *op_new(struct gni_nic *nic, const struct aries_work *work,
                              struct lnic_chain *chain)
{
    struct lnic_op *op = lnic_backend.free_ops;

    if (op != NULL)
        lnic_backend.free_ops = op->next;
    else
        op = g_new(struct lnic_op, 1);
    memset(op, 0, offsetof(struct lnic_op, work));
    op->work = *work;
    memset(&op->chain, 0, sizeof(*op) - offsetof(struct lnic_op, chain));
    op->chain = chain;
    op->nic = nic;
    op->began = sim_trace_begin();
    return op;
}

static uint64_t total_of(const struct aries_work *work)
{
    return work->op == ARIES_CQWRITE ? 0 : work->header_length + work->length;
}

static void op_trace(const struct lnic_op *op)
{
    const struct lnic_end end = {
        .name = op->message != NULL ? "datagram" : aries_op_name(op->work.op),
        .began = op->began,
        .flow = op->flow,
        .bytes = total_of(&op->work),
        .unit = op->work.unit,
        .status = op->status,
    };

    lnic_trace_transaction(&end);
}

static void op_report(struct lnic_op *op)
{
    struct lnic_chain *chain = op->chain;
    const struct aries_work *work = &op->work;

    if (op->status != 0)
        lnic_backend.fabric->counters.errors++;
    if (op->message != NULL) { /* of a dead node's nothing may be left */
        if (work->target->alive && lnic_backend.hw->alive)
            datagram_ended(op->message, op->status == 0 && !op->overrun);
        return;
    }
    if (chain == NULL) {
        if (work->done != NULL)
            work->done(work->context, op->status, op->info, op->overrun);
        return;
    }
    if (op->status != 0 && chain->status == 0) {
        chain->status = op->status;
        chain->info = op->info;
    }
    chain->overrun |= op->overrun;
    if (--chain->open > 0)
        return;
    if (chain->done != NULL)
        chain->done(chain->context, chain->status, chain->info, chain->overrun);
    g_free(chain);
}

void lnic_op_finish(struct lnic_op *op)
{
    if (sim_unlikely(op->blow != 0) && op->status == 0) {
        op->status = op->blow;
        op->info = op->blow_info;
    }
    if (sim_unlikely(op->way != NULL) && !lnic_way_end(op))
        return; /* the model's response is still to come */
    if (sim_unlikely(sim_trace_on))
        op_trace(op);
    if (op->departed) {
        assert(lnic_backend.under_way[op->work.ptag] > 0);
        lnic_backend.under_way[op->work.ptag]--;
    }
    op_report(op);
    g_free(op->data);
    op->next = lnic_backend.free_ops;
    lnic_backend.free_ops = op;
}

void lnic_op_end(struct lnic_op *op, uint8_t status, uint8_t info)
{
    if (op->status == 0) {
        op->status = status;
        op->info = info;
    }
    op->next = NULL;
    *lnic_backend.ready_tail = op;
    lnic_backend.ready_tail = &op->next;
}

static void finish_ready(void)
{
    struct lnic_op *op = lnic_backend.ready;

    lnic_backend.ready = NULL;
    lnic_backend.ready_tail = &lnic_backend.ready;
    while (op != NULL) {
        struct lnic_op *next = op->next;

        lnic_op_finish(op);
        op = next;
    }
}

/* ---- records under way ----------------------------------------------------------------------- */

static struct lnic_txn *txn_at(const struct lnic_link *link, uint32_t number)
{
    return &link->txns[number & (link->txn_room - 1)];
}

static sim_cold void txns_grow(struct lnic_link *link)
{
    uint32_t room = link->txn_room > 0 ? 2 * link->txn_room : TXNS_FIRST, number;
    struct lnic_txn *txns = g_new0(struct lnic_txn, room);

    assert((room & (room - 1)) == 0 && link->txn_next - link->txn_first <= link->txn_room);

    for (number = link->txn_first; number != link->txn_next; number++)
        txns[number & (room - 1)] = *txn_at(link, number);
    g_free(link->txns);
    link->txns = txns;
    link->txn_room = room;
}

static inline struct lnic_txn *txn_new(struct lnic_link *link)
{
    if (sim_unlikely(link->txn_next - link->txn_first == link->txn_room))
        txns_grow(link);
    if (!link->active) {
        link->active = true;
        link->next_active = lnic_backend.active;
        lnic_backend.active = link;
    }
    return txn_at(link, link->txn_next++);
}

static sim_noinline void piece_end(struct lnic_op *op, uint8_t status, uint8_t info, bool overrun)
{
    if (status != 0 && op->status == 0) {
        op->status = status;
        op->info = info;
    }
    op->overrun |= overrun;
    assert(op->open > 0 && op->offset <= total_of(&op->work));
    /* All of it is cut, or no more of it will be: the queue of the link has it otherwise. */
    if (--op->open == 0 && (op->offset >= total_of(&op->work)))
        lnic_op_finish(op);
}

static sim_cold void txn_trace(const struct lnic_txn *txn, uint8_t status)
{
    const struct lnic_end end = {
        .name = aries_op_name(ARIES_PUT),
        .began = txn->began,
        .flow = txn->flow,
        .bytes = txn->bytes,
        .unit = ARIES_UNIT_FMA,
        .status = status,
    };

    lnic_trace_transaction(&end);
}

static void txn_end(struct lnic_txn *txn, uint8_t status, uint8_t info, bool overrun)
{
    txn->position = 0;
    if (txn->op != NULL) {
        piece_end(txn->op, status, info, overrun);
        return;
    }
    assert(lnic_backend.under_way[txn->ptag] > 0);
    lnic_backend.under_way[txn->ptag]--;
    if (sim_unlikely(sim_trace_on) && txn->began != 0) /* else this library's own word */
        txn_trace(txn, status);
    if (txn->done != NULL)
        txn->done(txn->context, status, info, overrun);
}

/* ---- finding the target ---------------------------------------------------------------------- */

static struct lnic_link self_link;
static struct lnic_link dead_link = {.gone = true}; /* of whoever died */

uint16_t lnic_life(uint32_t slot, uint32_t generation)
{
    return (uint16_t)(1 + (sim_mix(slot) + generation) % ARIES_MEM_LIFE_MAX);
}

static uint64_t flow_between(const struct live_peer *from, const struct live_peer *to)
{
    return sim_mix(sim_mix((uint64_t)from->slot << 32 | from->generation) ^
                   ((uint64_t)to->slot << 32 | to->generation));
}

sim_noinline struct lnic_link *lnic_link_to(struct live_peer *peer)
{
    struct lnic_link *link = peer->user;

    if (peer->self) {
        self_link.life = lnic_life(peer->slot, peer->generation);
        return &self_link;
    }
    if (link == NULL) {
        link = peer->user = g_new0(struct lnic_link, 1);
        link->peer = peer;
        link->life = lnic_life(peer->slot, peer->generation);
        link->flow_to = flow_between(live_self(lnic_backend.live), peer);
        link->flow_from = flow_between(peer, live_self(lnic_backend.live));
        link->waiting_tail = &link->waiting;
        link->gone = peer->gone;
        link->next = lnic_backend.links;
        lnic_backend.links = link;
    }
    return link;
}

struct lnic_link *lnic_link_of(uint32_t slot, uint32_t generation)
{
    struct live_peer *peer = NULL;
    int error = -ETIMEDOUT;
    unsigned tries;

    /* Where everybody wants the CPU the daemon may be slow. */
    for (tries = 0; peer == NULL && error == -ETIMEDOUT && tries < ASK_TRIES; tries++)
        peer = live_peer(lnic_backend.live, slot, generation, &error);
    return peer != NULL ? lnic_link_to(peer) : NULL;
}

struct lnic_link *lnic_owner(const struct live_key *key)
{
    struct live_name name;

    if (lnic_backend.live == NULL || live_lookup(lnic_backend.live, key, &name) != 0)
        return NULL;
    return lnic_link_of(name.slot, name.generation);
}

static sim_cold struct lnic_link *look_up(uint32_t node, uint32_t kind, uint64_t first,
                                          uint64_t second)
{
    return lnic_owner(&(struct live_key){node, kind, {first, second}});
}

/* Whose handle it is that names nobody's region: a member's, or that of one that has died. */
static sim_cold struct lnic_link *nobody(uint32_t life)
{
    struct live_member member;
    uint32_t slot;

    if (life == 0 || lnic_backend.live == NULL)
        return NULL;
    for (slot = 0; slot < live_facts(lnic_backend.live)->processes_max; slot++)
        if (live_member(lnic_backend.live, slot, &member) &&
            lnic_life(slot, member.generation) == life)
            return NULL;
    return &dead_link;
}

static sim_cold struct lnic_link *find_route(uint32_t node, uint32_t block, uint32_t life)
{
    struct lnic_link **blocks = lnic_backend.routes[node], *link;

    if (blocks == NULL)
        blocks = lnic_backend.routes[node] = g_new0(struct lnic_link *, LNIC_MDH_BLOCKS);
    link = look_up(node, LNIC_NAME_MDHS, block, 0);
    if (link != NULL)
        blocks[block] = link;
    else if (blocks[block] == NULL)
        return nobody(life);
    /* One that has died is remembered: what is sent to it ends as with a dead node. */
    return blocks[block];
}

/* NULL: the NIC has no such region. */
static struct lnic_link *route(const struct aries_work *work)
{
    const gni_mem_handle_t *handle = &work->remote_handle;
    uint32_t mdh = aries_mem_handle_mdh(handle), block = mdh / LNIC_MDH_BLOCK;
    uint32_t node = work->target->node, life = aries_mem_handle_life(handle);
    struct lnic_link **blocks, *link;

    if (handle->qword1 == 0 && handle->qword2 == 0)
        return work->target == lnic_backend.hw ? &self_link : NULL;
    if (sim_unlikely(aries_mem_handle_flags(handle) & ARIES_MEM_VMDH)) {
        link = look_up(node, LNIC_NAME_VMDH, (uint64_t)work->ptag << 16 | mdh, 0);
        return link != NULL ? link : nobody(life);
    }
    blocks = lnic_backend.routes[node];
    link = sim_likely(blocks != NULL) ? blocks[block] : NULL;
    if (sim_unlikely(link == NULL || link->gone))
        link = find_route(node, block, life);
    /* The successor's: this was for the one before. */
    if (sim_unlikely(link != NULL && life != 0 && life != link->life))
        return link->gone ? link : nobody(life);
    return link;
}

/* Of a channel of the collective engine. NULL: nobody has had it. */
static struct lnic_link *route_ce(const struct aries_nic *hw, uint32_t id)
{
    uint32_t vces = hw->fabric->timing.vces;
    struct lnic_link **owner, *link;

    if (id >= vces)
        return NULL;
    owner = &lnic_backend.channels[hw->node * vces + id];
    link = look_up(hw->node, LNIC_NAME_CE, id, 0);
    /* Who had it last says that it is not there any more, or ends as a dead node does. */
    if (link != NULL)
        *owner = link;
    return *owner;
}

void aries_hw_ce_met(const struct aries_nic *hw, uint32_t id)
{
    if (hw != NULL)
        route_ce(hw, id);
}

static bool for_channel(const struct aries_work *work)
{
    return work->op == ARIES_CE_JOIN || work->op == ARIES_CE_RESULT;
}

/* ---- sending --------------------------------------------------------------------------------- */

static inline void request_fill(struct lnic_request *request, const struct aries_work *work,
                                uint32_t number)
{
    request->flags =
        (uint8_t)((work->remote_wanted ? LNIC_EVENT : 0) |
                  (work->remote_optional ? LNIC_OPTIONAL : 0) |
                  (aries_mem_handle_flags(&work->remote_handle) & ARIES_MEM_VMDH ? LNIC_VMDH : 0));
    request->ptag = work->ptag;
    request->mdh = (uint16_t)aries_mem_handle_mdh(&work->remote_handle);
    request->event = work->remote_event;
    request->number = number;
}

/* Bytes of the local side; 0 or a status. */
static uint8_t read_local(const struct lnic_op *op, uint64_t offset, uint32_t length, uint8_t *to)
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
    status = aries_mr_check(lnic_backend.hw, work->ptag, work->local_handle,
                            work->local_addr + offset, length, ARIES_READ, &mr);
    if (status == 0 && !aries_mr_read(mr, work->local_addr + offset, to, length))
        status = A_STATUS_AT_PF_INV;
    return status;
}

/* Stores what a read or an atomic brought. */
static uint8_t write_local(const struct lnic_op *op, uint64_t offset, const void *from,
                           uint32_t length)
{
    const struct aries_work *work = &op->work;
    struct aries_mr *mr;
    uint8_t status = aries_mr_check(lnic_backend.hw, work->ptag, work->local_handle,
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

static struct lnic_ce ce_of(const struct aries_work *work)
{
    return (struct lnic_ce){
        work->ce, {work->operand[0], work->operand[1]}, work->local_addr, work->local_handle};
}

/* The next record of an op; false: there is no room. Ends the op's sending at an error. */
static bool send_piece(struct lnic_link *link, struct lnic_op *op)
{
    const struct aries_work *work = &op->work;
    uint64_t total = total_of(work);
    uint32_t length = (uint32_t)MIN(total - op->offset, LNIC_PIECE);
    bool last = op->offset + length == total;
    bool flagged = last && work->sync_flag;
    uint32_t data = work->op == ARIES_PUT ? length : 0, bytes = sizeof(struct lnic_request);
    struct lnic_request *request;
    struct lnic_txn *txn;
    uint8_t *at, status = 0;
    uint8_t kind;

    bytes += flagged ? sizeof(struct lnic_flag) : 0;
    bytes += work->op == ARIES_AMO ? sizeof(struct lnic_amo) : 0;
    bytes += for_channel(work) ? sizeof(struct lnic_ce) : 0;
    request = live_reserve(link->peer, LIVE_REQUEST, bytes + data);
    if (request == NULL)
        return false;
    at = (uint8_t *)(request + 1);
    request_fill(request, work, link->txn_next);
    request->length = length;
    request->address = work->remote_addr + op->offset;
    if (!last)
        request->flags &= (uint8_t)~LNIC_EVENT;
    if (flagged) {
        const struct lnic_flag flag = {work->sync_flag_addr, work->sync_flag_value};

        request->flags |= LNIC_FLAGGED;
        memcpy(at, &flag, sizeof(flag));
        at += sizeof(flag);
    }
    switch (work->op) {
    case ARIES_PUT:
        kind = LNIC_PUT;
        status = read_local(op, op->offset, length, at);
        break;
    case ARIES_GET:
        kind = LNIC_GET;
        break;
    case ARIES_AMO:
        kind = LNIC_AMO;
        *(struct lnic_amo *)at =
            (struct lnic_amo){{work->operand[0], work->operand[1]}, work->amo_cmd, 0};
        break;
    case ARIES_CE_JOIN:
    case ARIES_CE_RESULT:
        kind = work->op == ARIES_CE_JOIN ? LNIC_CE_JOIN : LNIC_CE_RESULT;
        *(struct lnic_ce *)at = ce_of(work);
        break;
    default:
        kind = LNIC_CQWRITE;
        request->address = work->cqwrite_value;
        break;
    }
    if (status != 0) { /* nothing was published */
        op->offset = total;
        op->open++;
        piece_end(op, status, ARIES_CQ_CPLTN_SREQ, false);
        return true;
    }
    op->flow = link->flow_to + link->txn_next;
    txn = txn_new(link);
    *txn =
        (struct lnic_txn){.op = op, .offset = op->offset, .bytes = length, .reply = answered(work)};
    op->open++;
    op->offset += length;
    txn->position = live_publish(link->peer, LIVE_REQUEST, kind, bytes + data);
    if (last && work->local_wanted && work->local_done != NULL)
        work->local_done(work->context);
    return true;
}

static bool landed_send(struct lnic_link *link, struct lnic_op *op);

/* All records of an op for which there is room. False: some are left. */
static bool op_send(struct lnic_link *link, struct lnic_op *op)
{
    uint64_t total = total_of(&op->work);

    if (op->copied)
        return landed_send(link, op);
    do {
        op->open++; /* not to be ended under us */
        if (!send_piece(link, op)) {
            op->open--;
            return false;
        }
        if (--op->open == 0 && op->offset >= total) {
            lnic_op_finish(op);
            return true;
        }
    } while (op->offset < total);
    return true;
}

/* What the CPU stores it stores now, also when its turn comes later. */
void lnic_capture(struct lnic_op *op)
{
    struct aries_work *work = &op->work;
    uint64_t total = total_of(work);

    if (work->op != ARIES_PUT || !work->local_is_va || op->captured)
        return;
    op->data = g_malloc(total > 0 ? total : 1);
    aries_work_copy(work, 0, (uint32_t)total, op->data);
    op->captured = true;
}

static void op_wait(struct lnic_link *link, struct lnic_op *op)
{
    lnic_capture(op);
    op->next = NULL;
    *link->waiting_tail = op;
    link->waiting_tail = &op->next;
    if (!link->active) {
        link->active = true;
        link->next_active = lnic_backend.active;
        lnic_backend.active = link;
    }
}

static bool op_ready(const struct lnic_link *link, const struct lnic_op *op)
{
    return !op->work.fence || link->txn_first == link->txn_next;
}

/* Tells the owner of memory that was written or read: an event, a flag. */
static bool landed_send(struct lnic_link *link, struct lnic_op *op)
{
    const struct aries_work *work = &op->work;
    uint32_t bytes =
        (uint32_t)(sizeof(struct lnic_request) + (work->sync_flag ? sizeof(struct lnic_flag) : 0));
    struct lnic_request *request = live_reserve(link->peer, LIVE_REQUEST, bytes);
    struct lnic_txn *txn;

    if (request == NULL)
        return false;
    request_fill(request, work, link->txn_next);
    request->length = (uint32_t)work->length;
    request->address = work->remote_addr;
    if (work->sync_flag) {
        request->flags |= LNIC_FLAGGED;
        *(struct lnic_flag *)(request + 1) =
            (struct lnic_flag){work->sync_flag_addr, work->sync_flag_value};
    }
    if (work->op == ARIES_GET)
        request->flags |= LNIC_WAS_READ;
    op->flow = link->flow_to + link->txn_next;
    txn = txn_new(link);
    *txn = (struct lnic_txn){.op = op, .bytes = (uint32_t)MIN(work->length, UINT32_MAX)};
    op->open = 1;
    txn->position = live_publish(link->peer, LIVE_REQUEST, LNIC_LANDED, bytes);
    return true;
}

bool lnic_landed(struct lnic_link *link, struct lnic_op *op)
{
    const struct aries_work *work = &op->work;

    if (work->local_wanted && work->local_done != NULL)
        work->local_done(work->context);
    op->offset = total_of(work);
    op->copied = true;
    /* A PUT that nobody is told of: who watches that memory sees it. */
    if (!work->remote_wanted && !work->sync_flag)
        lnic_op_end(op, 0, ARIES_CQ_CPLTN_SREQ);
    else if (!landed_send(link, op))
        op_wait(link, op);
    return true;
}

static bool bulky(const struct lnic_op *op)
{
    return (op->work.op == ARIES_GET || op->work.op == ARIES_PUT) && op->offset == 0 &&
           op->open == 0 && !op->captured && !op->copied && !op->uncopied &&
           total_of(&op->work) >= BULK_LEAST;
}

static void op_begin(struct lnic_link *link, struct lnic_op *op)
{
    if (link->waiting != NULL || !op_ready(link, op)) {
        op_wait(link, op);
        return;
    }
    if (!(bulky(op) && lnic_bulk(link, op)) && !op_send(link, op))
        op_wait(link, op);
}

void lnic_by_records(struct lnic_link *link, struct lnic_op *op)
{
    op->uncopied = true;
    op_wait(link, op);
}

static sim_noinline void send_waiting(struct lnic_link *link)
{
    struct lnic_op *op;

    while ((op = link->waiting) != NULL && op_ready(link, op)) {
        link->waiting = op->next;
        if (link->waiting == NULL)
            link->waiting_tail = &link->waiting;
        if ((bulky(op) && lnic_bulk(link, op)) || op_send(link, op))
            continue;
        op->next = link->waiting;
        link->waiting = op;
        if (op->next == NULL)
            link->waiting_tail = &op->next;
        return;
    }
}

/* ---- the own process ------------------------------------------------------------------------- */

static void put_here(struct lnic_op *op, struct lnic_request *request, struct lnic_answer *answer)
{
    const struct aries_work *work = &op->work;
    const struct lnic_flag flag = {work->sync_flag_addr, work->sync_flag_value};
    uint64_t total = total_of(work), offset = 0;
    uint8_t piece[LNIC_PIECE], flags = request->flags;

    do {
        uint32_t length = (uint32_t)MIN(total - offset, sizeof(piece));
        bool last = offset + length == total;

        answer->info = ARIES_CQ_CPLTN_SREQ;
        answer->status = read_local(op, offset, length, piece);
        if (answer->status != 0)
            return;
        request->flags = last ? flags : (uint8_t)(flags & ~LNIC_EVENT);
        request->address = work->remote_addr + offset;
        request->length = length;
        lnic_put(request, last && work->sync_flag ? &flag : NULL, piece, false, answer);
        offset += length;
    } while (offset < total && answer->status == 0);
    if (work->local_wanted && work->local_done != NULL)
        work->local_done(work->context);
}

static void read_here(struct lnic_op *op, struct lnic_request *request, struct lnic_answer *answer)
{
    const struct aries_work *work = &op->work;
    const struct lnic_amo amo = {{work->operand[0], work->operand[1]}, work->amo_cmd, 0};
    uint8_t piece[LNIC_PIECE], flags = request->flags;
    uint64_t offset = 0;

    do {
        uint32_t length = (uint32_t)MIN(work->length - offset, sizeof(piece));

        request->flags = offset + length == work->length ? flags : (uint8_t)(flags & ~LNIC_EVENT);
        request->address = work->remote_addr + offset;
        request->length = length;
        if (work->op == ARIES_GET)
            lnic_get(request, piece, answer);
        else
            lnic_amo(request, &amo, piece, answer);
        if (answer->status == 0 && (work->op == ARIES_GET || amo_fetches(work->amo_cmd))) {
            answer->status = write_local(op, offset, piece, length);
            if (answer->status != 0)
                answer->info = ARIES_CQ_CPLTN_SRSP;
        }
        offset += length;
    } while (offset < work->length && answer->status == 0);
}

static void execute_here(struct lnic_op *op)
{
    const struct aries_work *work = &op->work;
    struct lnic_answer answer = {0};
    struct lnic_request request;
    struct lnic_ce ce;

    request_fill(&request, work, 0);
    if (for_channel(work)) {
        ce = ce_of(work);
        lnic_ce(&ce, (enum aries_op)work->op, work->ptag, lnic_backend.hw->node, &answer);
    } else if (work->remote_handle.qword1 == 0 && work->remote_handle.qword2 == 0) {
        answer.status = A_STATUS_AT_MDD_INV;
        answer.info = ARIES_CQ_CPLTN_DREQ;
    } else if (work->op == ARIES_PUT) {
        put_here(op, &request, &answer);
    } else if (work->op == ARIES_CQWRITE) {
        request.address = work->cqwrite_value;
        lnic_cqwrite(&request, &answer);
    } else {
        read_here(op, &request, &answer);
    }
    op->overrun = answer.overrun;
    lnic_op_end(op, answer.status, answer.info);
}

/* ---- entry points ---------------------------------------------------------------------------- */

static void launch(struct lnic_op *op)
{
    const struct aries_work *work = &op->work;
    struct lnic_link *link;

    if (sim_unlikely(!work->target->alive)) { /* crashed, as the scenario said */
        lnic_op_end(op, lnic_status_of_death(total_of(work)), ARIES_CQ_CPLTN_SRSP);
        return;
    }
    link = for_channel(work) ? route_ce(work->target, work->ce.ce_id) : route(work);
    if (link == &self_link)
        execute_here(op);
    else if (link == NULL)
        lnic_op_end(op, for_channel(work) ? A_STATUS_CE_OPERATION_UNEXPECTED : A_STATUS_AT_MDD_INV,
                    ARIES_CQ_CPLTN_DREQ);
    else if (link->gone)
        lnic_op_end(op, lnic_status_of_death(total_of(work)), ARIES_CQ_CPLTN_SRSP);
    else
        op_begin(link, op);
}

/* What the scenario has in store for it. False: it ends, or comes later. */
static bool inspect(struct lnic_op *op)
{
    struct lnic_blow blow;

    if (lnic_struck(&op->work, &blow)) {
        trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, lnic_backend.hw->node, 0,
              blow.status != 0 ? "lost" : "delayed", sim_now(), 0, 0, op->work.target->node);
        if (blow.status != 0 && !blow.executed) {
            lnic_op_end(op, blow.status, blow.info);
            return false;
        }
        op->blow = blow.status;
        op->blow_info = blow.info;
    }
    return lnic_way_begin(op, blow.delay);
}

static void depart(struct lnic_op *op)
{
    assert(!op->departed && op->message == NULL);
    op->departed = true;
    lnic_backend.under_way[op->work.ptag]++;
    if (sim_likely(!lnic_backend.inspected) || inspect(op))
        launch(op);
}

static void hold(struct lnic_op *op)
{
    assert(lnic_backend.holding && !op->departed);
    lnic_capture(op);
    op->next = NULL;
    *lnic_backend.held_tail = op;
    lnic_backend.held_tail = &op->next;
}

static sim_noinline void begin(struct gni_nic *nic, const struct aries_work *work,
                               struct lnic_chain *chain)
{
    struct lnic_op *op = op_new(nic, work, chain);

    if (work->target == NULL)
        lnic_op_end(op, A_STATUS_PE_BOUNDS_ERR, ARIES_CQ_CPLTN_SREQ);
    else if (sim_unlikely(lnic_backend.holding) &&
             aries_ptag_suspended(lnic_backend.hw, work->ptag))
        hold(op);
    else
        depart(op);
}

/* A short PUT of what the CPU stores, to another process: all that a message is. */
static bool put_at_once(const struct aries_work *work)
{
    uint32_t length = work->header_length + (uint32_t)work->length;
    struct lnic_request *request;
    struct lnic_link *link;
    struct lnic_txn *txn;

    if (!work->local_is_va || work->sync_flag || work->target == NULL || work->op != ARIES_PUT ||
        work->header_length + work->length > LNIC_PIECE || !work->target->alive ||
        sim_unlikely(lnic_backend.inspected || lnic_backend.holding))
        return false;
    link = route(work);
    if (link == NULL || link == &self_link || link->gone || link->waiting != NULL)
        return false;
    request = live_reserve(link->peer, LIVE_REQUEST, (uint32_t)sizeof(*request) + length);
    if (request == NULL)
        return false;
    request_fill(request, work, link->txn_next);
    request->length = length;
    request->address = work->remote_addr;
    aries_work_copy(work, 0, length, (uint8_t *)(request + 1));
    txn = txn_new(link);
    txn->done = work->done;
    txn->context = work->context;
    txn->op = NULL;
    txn->ptag = work->ptag;
    lnic_backend.under_way[work->ptag]++;
    txn->bytes = length;
    if (sim_unlikely(sim_trace_on)) {
        txn->began = sim_now();
        txn->flow = link->flow_to + (link->txn_next - 1);
    }
    txn->reply = false;
    txn->position =
        live_publish(link->peer, LIVE_REQUEST, LNIC_PUT, (uint32_t)sizeof(*request) + length);
    return true;
}

static void submit(struct gni_nic *nic, const struct aries_work *work)
{
    lnic_backend.fabric->counters.transactions++;
    lnic_backend.fabric->counters.payload_bytes += total_of(work);
    if (sim_likely(put_at_once(work)))
        return;
    begin(nic, work, NULL);
}

static void submit_chain(struct gni_nic *nic, const struct aries_work *works, uint32_t count)
{
    struct lnic_chain *chain = g_new0(struct lnic_chain, 1);
    uint32_t i;

    lnic_backend.fabric->counters.transactions++;
    chain->open = count;
    chain->done = works[0].done;
    chain->context = works[0].context;
    for (i = 0; i < count; i++) {
        lnic_backend.fabric->counters.payload_bytes += total_of(&works[i]);
        begin(nic, &works[i], chain);
    }
}

const struct aries_nic_ops aries_hw_nic_ops = {submit, submit_chain};

void aries_hw_originate(struct aries_nic *hw, const struct aries_work *work)
{
    struct aries_work put = *work;

    hw->fabric->counters.transactions++;
    if (work->op == ARIES_CE_WRITE) { /* the words, then the one that tells that they are there */
        put.op = ARIES_PUT;
        put.local_is_va = true;
        put.local_addr = (uintptr_t)work->operand;
        put.length = sizeof(work->operand);
        put.remote_addr = work->remote_addr + offsetof(gni_ce_result_t, result1);
        put.sync_flag = true;
        put.sync_flag_addr = work->remote_addr + offsetof(gni_ce_result_t, control);
    }
    begin(NULL, &put, NULL);
}

static void launch_datagram(struct lnic_op *op)
{
    const struct datagram_message *message = op->message;
    uint32_t bytes = (uint32_t)offsetof(struct lnic_datagram, data) + message->length;
    struct lnic_datagram datagram = {
        .number = message->number,
        .about = message->about,
        .from_node = message->from.nic->node,
        .from_id = message->from.inst_id,
        .to_id = message->to.inst_id,
        .cookie = message->cookie,
        .kind = message->kind,
        .length = message->length,
    };
    struct lnic_link *link =
        look_up(message->to.nic->node, LNIC_NAME_INSTANCE,
                (uint64_t)message->cookie << 32 | message->to.inst_id, message->ptag);
    struct lnic_request *request;
    struct lnic_txn *txn;

    memcpy(datagram.data, message->data, message->length);
    if (link == &self_link || (link == NULL && message->to.nic == lnic_backend.hw)) {
        op->overrun = !lnic_datagram_arrived(&datagram, message->ptag, lnic_backend.hw->node);
        lnic_op_end(op, 0, 0);
        return;
    }
    request = link != NULL && !link->gone
                  ? live_reserve(link->peer, LIVE_REQUEST, (uint32_t)sizeof(*request) + bytes)
                  : NULL;
    if (request == NULL) { /* nobody there, or no room: the kernel tries again */
        op->overrun = true;
        lnic_op_end(op, 0, 0);
        return;
    }
    memset(request, 0, sizeof(*request));
    request->ptag = message->ptag;
    request->number = link->txn_next;
    memcpy(request + 1, &datagram, bytes);
    op->flow = link->flow_to + link->txn_next;
    txn = txn_new(link);
    *txn = (struct lnic_txn){.op = op, .reply = true};
    op->open = 1;
    txn->position =
        live_publish(link->peer, LIVE_REQUEST, LNIC_DATAGRAM, (uint32_t)sizeof(*request) + bytes);
}

void lnic_launch(struct lnic_op *op)
{
    if (op->message == NULL)
        launch(op);
    else if (op->work.target->alive && lnic_backend.hw->alive)
        launch_datagram(op);
    else
        lnic_op_end(op, 0, 0);
}

void lnic_datagram_send(struct datagram_message *message, uint32_t bytes)
{
    const struct aries_work work = {
        .op = ARIES_CQWRITE,
        .ptag = message->ptag,
        .route = NET_ROUTE_ADAPTIVE_0,
        .target = message->to.nic,
        .length = bytes,
    };
    struct lnic_op *op = op_new(NULL, &work, NULL);

    op->message = message;
    if (sim_likely(!lnic_backend.inspected) || lnic_way_begin(op, 0))
        launch_datagram(op);
}

bool lnic_say(struct lnic_link *link, uint8_t kind, struct lnic_request *request, const void *body,
              uint32_t bytes, void (*done)(void *, uint8_t, uint8_t, bool), void *context)
{
    uint8_t *at = live_reserve(link->peer, LIVE_REQUEST, (uint32_t)sizeof(*request) + bytes);
    struct lnic_txn *txn;

    if (at == NULL)
        return false;
    request->number = link->txn_next;
    memcpy(at, request, sizeof(*request));
    memcpy(at + sizeof(*request), body, bytes);
    txn = txn_new(link);
    *txn = (struct lnic_txn){.done = done, .context = context};
    lnic_backend.under_way[0]++;
    txn->position =
        live_publish(link->peer, LIVE_REQUEST, kind, (uint32_t)sizeof(*request) + bytes);
    return true;
}

/* ---- completion ------------------------------------------------------------------------------ */

sim_noinline void lnic_result(struct lnic_link *link, const struct live_record *record)
{
    struct lnic_result result;
    struct lnic_txn *txn;
    struct lnic_op *op;

    if (record->count < sizeof(result) || record->kind != LNIC_RESULT)
        return;
    memcpy(&result, record->bytes, sizeof(result));
    if (result.number - link->txn_first >= link->txn_next - link->txn_first)
        return; /* of none under way */
    txn = txn_at(link, result.number);
    op = txn->op;
    if (txn->position == 0)
        return;
    if (txn->reply && op->message == NULL && result.status == 0 &&
        (op->work.op == ARIES_GET || amo_fetches(op->work.amo_cmd))) {
        result.info = ARIES_CQ_CPLTN_SRSP;
        if (record->count - sizeof(result) < txn->bytes)
            result.status = A_STATUS_PKT_MALFORMED_SIZE;
        else
            result.status = write_local(
                op, txn->offset, (const uint8_t *)record->bytes + sizeof(result), txn->bytes);
    }
    txn_end(txn, result.status & 0x3f, result.info & 3, result.overrun != 0);
}

static void settle_executed(struct lnic_link *link)
{
    uint64_t executed = live_executed(link->peer, LIVE_REQUEST);

    while (link->txn_first != link->txn_next) {
        struct lnic_txn *txn = txn_at(link, link->txn_first);

        if (txn->position > executed)
            break;
        link->txn_first++; /* first: what ends it may send again */
        if (txn->position == 0)
            continue;
        /* The owner has executed it, and did not say what came of it: it lies. */
        if (sim_unlikely(txn->reply))
            txn_end(txn, A_STATUS_RMT_TIMEOUT, ARIES_CQ_CPLTN_SRSP, false);
        else
            txn_end(txn, 0, ARIES_CQ_CPLTN_SREQ, false);
    }
}

/* False: nothing is under way any more. */
static bool link_settle(struct lnic_link *link)
{
    settle_executed(link);
    if (sim_unlikely(link->waiting != NULL))
        send_waiting(link);
    return link->txn_first != link->txn_next || link->waiting != NULL;
}

void lnic_settle(void)
{
    struct lnic_link **at = &lnic_backend.active;

    if (lnic_backend.ready != NULL)
        finish_ready();
    while (*at != NULL) {
        struct lnic_link *link = *at;

        if (link_settle(link)) {
            at = &link->next_active;
            continue;
        }
        /* What ended may have put others before it. */
        for (at = &lnic_backend.active; *at != link; at = &(*at)->next_active)
            ;
        *at = link->next_active;
        link->active = false;
    }
}

/* Nothing leads to it any more. */
static void link_delete(struct lnic_link *link)
{
    struct lnic_link **at;
    uint32_t node, block, channel;

    for (node = 0; node < lnic_backend.fabric->nodes; node++)
        for (block = 0; lnic_backend.routes[node] != NULL && block < LNIC_MDH_BLOCKS; block++)
            if (lnic_backend.routes[node][block] == link)
                lnic_backend.routes[node][block] = &dead_link;
    for (channel = 0; channel < lnic_backend.fabric->nodes * lnic_backend.fabric->timing.vces;
         channel++)
        if (lnic_backend.channels[channel] == link)
            lnic_backend.channels[channel] = &dead_link;
    for (at = &lnic_backend.links; *at != link; at = &(*at)->next)
        ;
    *at = link->next;
    for (at = &lnic_backend.active; *at != NULL && *at != link; at = &(*at)->next_active)
        ;
    if (*at == link)
        *at = link->next_active;
    g_free(link->txns);
    g_free(link);
}

void lnic_link_gone(struct lnic_link *link)
{
    struct lnic_op *op;

    assert(!link->gone || link->peer->gone);
    link->gone = true;
    settle_executed(link); /* before its end */
    lnic_msgq_gone(link);
    while (link->txn_first != link->txn_next) {
        struct lnic_txn *txn = txn_at(link, link->txn_first++);

        if (txn->position != 0)
            txn_end(txn, lnic_status_of_death(txn->bytes), ARIES_CQ_CPLTN_SRSP, false);
    }
    while ((op = link->waiting) != NULL) {
        link->waiting = op->next;
        op->offset = total_of(&op->work);
        lnic_op_end(op, lnic_status_of_death(total_of(&op->work)), ARIES_CQ_CPLTN_SRSP);
    }
    link_delete(link);
}

/* ---- suspended jobs -------------------------------------------------------------------------- */

void aries_hw_hold(struct aries_nic *hw, uint8_t ptag)
{
    (void)hw, (void)ptag; /* aries_ptag_suspended() tells */
    lnic_backend.holding = true;
}

bool aries_hw_draining(const struct aries_nic *hw, uint8_t ptag)
{
    (void)hw;
    return lnic_backend.under_way[ptag] > 0;
}

void aries_hw_release(struct aries_nic *hw)
{
    struct lnic_op *op = lnic_backend.held, *next;
    uint32_t ptag;

    lnic_backend.holding = false;
    for (ptag = 0; ptag < 256; ptag++)
        lnic_backend.holding |= aries_ptag_suspended(hw, (uint8_t)ptag);
    lnic_backend.held = NULL;
    lnic_backend.held_tail = &lnic_backend.held;
    for (; op != NULL; op = next) {
        next = op->next;
        if (aries_ptag_suspended(hw, op->work.ptag))
            hold(op);
        else
            depart(op);
    }
    sim_wall.changes++;
}
