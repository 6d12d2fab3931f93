/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A transaction as api/ submits it to the NIC. */
#ifndef JACQUARD_ARIES_WORK_H
#define JACQUARD_ARIES_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "engine/ledger.h"
#include "engine/sim.h"
#include "nic/gni.h"

struct aries_nic;
struct aries_process;

enum aries_op {
    ARIES_PUT,
    ARIES_GET,
    ARIES_AMO,
    ARIES_CQWRITE,
    /* Of the collective engine: */
    ARIES_CE_JOIN, /* to a channel, from a process or a channel below it */
    ARIES_CE_RESULT, /* to a channel, from the one above it */
    ARIES_CE_WRITE, /* writes the result to the memory of a process */
};
static inline const char *aries_op_name(enum aries_op op)
{
    static const char *const names[] = {
        [ARIES_PUT] = "put",         [ARIES_GET] = "get",      [ARIES_AMO] = "amo",
        [ARIES_CQWRITE] = "cqwrite", [ARIES_CE_JOIN] = "join", [ARIES_CE_RESULT] = "result",
        [ARIES_CE_WRITE] = "result",
    };

    return names[op];
}
enum aries_unit { ARIES_UNIT_FMA, ARIES_UNIT_BTE, ARIES_UNIT_CE };

/* The header of a packet to a collective engine; the operands follow it. */
struct aries_ce_header {
    uint64_t reduction_id; /* 48 bits */
    uint8_t ce_id; /* the channel that it goes to */
    uint8_t child_id, child_type; /* JOIN: number and type of the child that joins */
    uint8_t command, mode; /* gni_ce_cmd_type_t; GNI_CEMODE_ with the exceptions raised so far */
    uint8_t status; /* RESULT: 0 or an A_STATUS code */
    uint8_t from; /* the channel that sent it */
};

/*
 * One transaction, submitted by value and copied. api/ has checked the call. The NIC does the
 * hardware's checks (translation, bounds, protection, at both ends) and reports the end by `done`.
 *
 * The fields that every transaction needs come first: a PUT by FMA without flags uses only those.
 */
struct aries_work {
    uint8_t op; /* enum aries_op */
    uint8_t unit; /* enum aries_unit */
    uint8_t route; /* enum net_route */
    uint8_t ptag;
    bool ordered_tail, fence;
    /* FMA PUT, SMSG: the CPU reads the source during the call, without a local handle. */
    bool local_is_va;
    bool sync_flag, flag_response; /* PUT_W_SYNCFLAG / GET_W_FLAG, AMO_W_FLAG */
    bool remote_wanted; /* REMOTE_EVENT: event with datum remote_event at the target region's CQ */
    bool remote_optional; /* SMSG: a region without a CQ is no error */
    bool local_wanted; /* call `local_done` when the source buffer may be reused (BTE) */
    uint32_t remote_event;
    struct aries_nic *target; /* NULL: no such PE → PE_BOUNDS_ERR */
    uint64_t remote_addr, length;
    union {
        gni_mem_handle_t remote_handle;
        struct aries_ce_header ce; /* CE_JOIN, CE_RESULT */
    };
    uint32_t header_length;
    uint32_t amo_cmd;
    /*
     * Called once when the transaction has ended, at the time at which an entry of the source CQ
     * becomes visible. status: 0 or an A_STATUS code; info: CPLTN_SREQ and so on, see cq_entry.h.
     * `context` belongs to api/. May be NULL: the transaction is silent.
     */
    void (*done)(void *context, uint8_t status, uint8_t info, bool remote_overrun);
    void *context;
    /*
     * The endpoint that receives the message if it is in this simulation, or NULL. Used for
     * prefetching: see aries_cq_push_for.
     */
    const struct gni_ep *peer;
    const void *own; /* data that `done` will use besides `context`, or NULL; for prefetching */
    /*
     * The process and fiber that `done` will wake; for prefetching. The process may have ended by
     * then, but the memory of a fiber stays valid.
     */
    const struct aries_process *process;
    const struct sim_fiber *fiber;

    /* The following fields are only used during the submission. */
    sim_time_t cpu; /* CPU time of the call, which the NIC charges before the doorbell */
    struct sim_ledger_book *book;
    const void
        *header; /* PUT by FMA (SMSG): header bytes that precede those at local_addr; NULL: none */

    uint64_t local_addr;
    gni_mem_handle_t local_handle;
    uint64_t operand[2];
    uint64_t sync_flag_addr, sync_flag_value;
    uint64_t cqwrite_value;
    void (*local_done)(void *context);
};

/* Number of bytes that the NIC must keep of a PUT by FMA without flags. */
#define ARIES_WORK_SHORT offsetof(struct aries_work, cpu)

/* Copies bytes [offset, offset + length) of the message: first its header, then its data. */
static inline void aries_work_copy(const struct aries_work *work, uint64_t offset, uint32_t length,
                                   uint8_t *to)
{
    if (offset < work->header_length) {
        uint32_t part = work->header_length - (uint32_t)offset;

        part = part < length ? part : length;
        memcpy(to, (const uint8_t *)work->header + offset, part);
        to += part;
        length -= part;
        offset += part;
    }
    if (length > 0)
        memcpy(to, (const uint8_t *)(uintptr_t)work->local_addr + (offset - work->header_length),
               length);
}

#endif
