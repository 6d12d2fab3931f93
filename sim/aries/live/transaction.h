/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the files share that take a transaction from the call to its end: op.c, link.c, submit.c,
 * send.c, loopback.c and complete.c. The short-message path is inline.
 */
#ifndef JACQUARD_ARIES_LIVE_TRANSACTION_H
#define JACQUARD_ARIES_LIVE_TRANSACTION_H

#include "backend.h"
#include "nic/mem_handle.h"

/* The bytes that a transaction moves. */
static inline uint64_t aries_live_bytes_of(const struct aries_work *work)
{
    return work->op == ARIES_CQWRITE ? 0 : work->header_length + work->length;
}

/* op.c */
struct aries_live_op *aries_live_op_new(struct gni_nic *nic, const struct aries_work *work,
                                        struct aries_live_chain *chain);
void aries_live_finish_ready(void); /* the operations that aries_live_op_end has queued */

/* link.c */
extern struct aries_live_link aries_live_self_link
    __attribute__((visibility("hidden"))); /* this process */
extern struct aries_live_link aries_live_dead_link
    __attribute__((visibility("hidden"))); /* a process that died */
/* The process that has claimed a name, as aries_live_find_route says. */
struct aries_live_link *aries_live_find_owner(uint32_t node, uint32_t kind, uint64_t first,
                                              uint64_t second);
struct aries_live_link *aries_live_find_route(uint32_t node, uint32_t block, uint32_t incarnation);
struct aries_live_link *aries_live_link_of_stale_handle(uint32_t incarnation);
struct aries_live_link *aries_live_route_ce(const struct aries_nic *hw, uint32_t id);

/* The link to the owner of the remote memory. NULL: the NIC has no such registration. */
static inline struct aries_live_link *aries_live_route(const struct aries_work *work)
{
    const gni_mem_handle_t *handle = &work->remote_handle;
    uint32_t mdh = aries_mem_handle_mdh(handle), block = mdh / ARIES_LIVE_MDH_BLOCK;
    uint32_t node = work->target->node, incarnation = aries_mem_handle_incarnation(handle);
    struct aries_live_link **blocks, *link;

    if (handle->qword1 == 0 && handle->qword2 == 0)
        return work->target == aries_live.hw ? &aries_live_self_link : NULL;
    if (sim_unlikely(aries_mem_handle_flags(handle) & ARIES_MEM_VMDH)) {
        link =
            aries_live_find_owner(node, ARIES_LIVE_NAME_VMDH, (uint64_t)work->ptag << 16 | mdh, 0);
        return link != NULL ? link : aries_live_link_of_stale_handle(incarnation);
    }
    blocks = aries_live.routes[node];
    link = sim_likely(blocks != NULL) ? blocks[block] : NULL;
    if (sim_unlikely(link == NULL || link->gone))
        link = aries_live_find_route(node, block, incarnation);
    /* The link leads to the successor of the process that made the handle. */
    if (sim_unlikely(link != NULL && incarnation != 0 && incarnation != link->incarnation))
        return link->gone ? link : aries_live_link_of_stale_handle(incarnation);
    return link;
}

static inline bool aries_live_for_channel(const struct aries_work *work)
{
    return work->op == ARIES_CE_JOIN || work->op == ARIES_CE_RESULT;
}

/* complete.c */
void aries_live_txns_grow(struct aries_live_link *link);
void aries_live_piece_end(struct aries_live_op *op, uint8_t status, uint8_t info, bool overrun);
void aries_live_txn_end(struct aries_live_txn *txn, uint8_t status, uint8_t info, bool overrun);
void aries_live_settle_executed(struct aries_live_link *link);

static inline struct aries_live_txn *aries_live_txn_at(const struct aries_live_link *link,
                                                       uint32_t number)
{
    return &link->txns[number & (link->txn_room - 1)];
}

static inline struct aries_live_txn *aries_live_txn_new(struct aries_live_link *link)
{
    if (sim_unlikely(link->txn_next - link->txn_first == link->txn_room))
        aries_live_txns_grow(link);
    if (!link->active) {
        link->active = true;
        link->next_active = aries_live.active;
        aries_live.active = link;
    }
    return aries_live_txn_at(link, link->txn_next++);
}

/* send.c */
/* 0 or a status. */
uint8_t aries_live_read_local(const struct aries_live_op *op, uint64_t offset, uint32_t length,
                              uint8_t *to);
uint8_t aries_live_write_local(const struct aries_live_op *op, uint64_t offset, const void *from,
                               uint32_t length);
void aries_live_op_begin(struct aries_live_link *link, struct aries_live_op *op);
void aries_live_send_waiting(struct aries_live_link *link);

static inline void aries_live_request_fill(struct aries_live_request *request,
                                           const struct aries_work *work, uint32_t number)
{
    request->flags =
        (uint8_t)((work->remote_wanted ? ARIES_LIVE_EVENT : 0) |
                  (work->remote_optional ? ARIES_LIVE_OPTIONAL : 0) |
                  (aries_mem_handle_flags(&work->remote_handle) & ARIES_MEM_VMDH ? ARIES_LIVE_VMDH
                                                                                 : 0));
    request->ptag = work->ptag;
    request->mdh = (uint16_t)aries_mem_handle_mdh(&work->remote_handle);
    request->event = work->remote_event;
    request->number = number;
}

static inline struct aries_live_ce aries_live_ce_of(const struct aries_work *work)
{
    return (struct aries_live_ce){
        work->ce, {work->operand[0], work->operand[1]}, work->local_addr, work->local_handle};
}

/* loopback.c */
void aries_live_execute_here(struct aries_live_op *op);

/* kernel.c */
void aries_live_launch_datagram(struct aries_live_op *op);

#endif
