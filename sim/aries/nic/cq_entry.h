/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The 64-bit completion queue entry, as the NIC writes it and gni_pub.h's accessors read it.
 * Programs treat it as opaque; the layout of Aries was never published, so this one is ours:
 *
 *   63 OVERRUN | 61:56 STATUS | 53 REM_OVERRUN | 52:51 INFO | 50:48 SOURCE | 47:0 DATA        (62,
 * 55:54: zero)
 *
 * DATA by kind:
 *   post completion      47:46 TYPE 0  | 45:24 TID | 23:0 INST_ID
 *   message completion   47:46 TYPE    | 31:0 MSG_ID
 *   remote event         31:0 REM_INST_ID, of which 23:0 is INST_ID
 *   CQWRITE              47:0 the value
 *   DLA ALLOC_STATUS     31:16 UNSUCCESSFUL_CNT | 15:0 BLOCK_ID
 *   DLA_MARKER           47:32 FAILED_ENQUEUE_CNT | 31:0 MARKER_ID
 *   collective engine    45:12 REDUCTN_ID | 11:8 TRANS_TYPE | 7:0 CE_ID
 *
 * No entry that was delivered is 0, because its SOURCE is not: 0 marks an empty slot.
 */
#ifndef JACQUARD_ARIES_CQ_ENTRY_H
#define JACQUARD_ARIES_CQ_ENTRY_H

#include <assert.h>
#include <stdbool.h>
#include "nic/gni.h"
#include "aries/misc/exceptions.h"

enum aries_cq_source {
    ARIES_CQ_SOURCE_NONE = 0,
    ARIES_CQ_SOURCE_BTE = 1,
    ARIES_CQ_SOURCE_SSID = 2,
    ARIES_CQ_SOURCE_RMT = 3,
    ARIES_CQ_SOURCE_DLA = 4
};

/* The place in the unit. SSID and RMT share the last three values. */
enum aries_cq_info {
    ARIES_CQ_BTE_TX_DONE = 0,
    ARIES_CQ_BTE_TX_DONE_NO_SSID = 1,
    ARIES_CQ_BTE_ENQ_STATUS = 2,
    ARIES_CQ_SSID_NONE = 0,
    ARIES_CQ_RMT_CQWRITE = 0,
    ARIES_CQ_CPLTN_SREQ = 1,
    ARIES_CQ_CPLTN_DREQ = 2,
    ARIES_CQ_CPLTN_SRSP = 3,
    ARIES_CQ_DLA_ALLOC_STATUS = 0,
    ARIES_CQ_DLA_MARKER = 1
};

#define ARIES_CQ_DATA_MASK ((UINT64_C(1) << 48) - 1)
#define ARIES_CQ_INST_ID_MASK ((UINT64_C(1) << 24) - 1)
#define ARIES_CQ_TID_SHIFT 24
#define ARIES_CQ_TID_MAX ((UINT32_C(1) << 22) - 1) /* limits the requests in flight per queue */
#define ARIES_CQ_TYPE_SHIFT 46
#define ARIES_CQ_SOURCE_SHIFT 48
#define ARIES_CQ_INFO_SHIFT 51
#define ARIES_CQ_REM_OVERRUN (UINT64_C(1) << 53)
#define ARIES_CQ_STATUS_SHIFT 56
#define ARIES_CQ_OVERRUN (UINT64_C(1) << 63) /* set on a stored entry when later ones are lost */

static inline gni_cq_entry_t aries_cq_entry(enum aries_cq_source source, enum aries_cq_info info,
                                            unsigned status, uint64_t data)
{
    assert(source != ARIES_CQ_SOURCE_NONE && info <= 3 && status <= 0x3f);
    return (uint64_t)status << ARIES_CQ_STATUS_SHIFT | (uint64_t)info << ARIES_CQ_INFO_SHIFT |
           (uint64_t)source << ARIES_CQ_SOURCE_SHIFT | (data & ARIES_CQ_DATA_MASK);
}

/*
 * LOCAL or GLOBAL event of a post: the TID of the request (not 0) and the low 24 bits of
 * local_event.
 */
static inline gni_cq_entry_t aries_cq_entry_post(enum aries_cq_source source,
                                                 enum aries_cq_info info, unsigned status,
                                                 uint32_t tid, uint32_t inst_id)
{
    _Static_assert(GNI_CQ_EVENT_TYPE_POST == 0, "no bits to set for the type");
    assert(tid != 0 && tid <= ARIES_CQ_TID_MAX);
    return aries_cq_entry(source, info, status,
                          (uint64_t)tid << ARIES_CQ_TID_SHIFT | (inst_id & ARIES_CQ_INST_ID_MASK));
}

/* A message was sent; type is GNI_CQ_EVENT_TYPE_SMSG or _MSGQ. */
static inline gni_cq_entry_t aries_cq_entry_message(uint64_t type, enum aries_cq_info info,
                                                    unsigned status, uint32_t msg_id)
{
    assert(type == GNI_CQ_EVENT_TYPE_SMSG || type == GNI_CQ_EVENT_TYPE_MSGQ);
    return aries_cq_entry(ARIES_CQ_SOURCE_SSID, info, status, type << ARIES_CQ_TYPE_SHIFT | msg_id);
}

/*
 * REMOTE event of a PUT, a message or returned credits: it carries all bits of the sender's
 * remote_event.
 */
static inline gni_cq_entry_t aries_cq_entry_remote(enum aries_cq_info info, unsigned status,
                                                   uint32_t rem_inst_id)
{
    return aries_cq_entry(ARIES_CQ_SOURCE_RMT, info, status, rem_inst_id);
}

/* Low 48 bits of a cqwrite_value. */
static inline gni_cq_entry_t aries_cq_entry_cqwrite(uint64_t value)
{
    return aries_cq_entry(ARIES_CQ_SOURCE_RMT, ARIES_CQ_RMT_CQWRITE, A_STATUS_OKAY, value);
}

/* Event of a collective engine channel. */
static inline gni_cq_entry_t aries_cq_entry_ce(unsigned status, unsigned ce_id, unsigned trans_type,
                                               uint64_t reduction_id)
{
    return aries_cq_entry(ARIES_CQ_SOURCE_SSID, ARIES_CQ_CPLTN_SRSP, status,
                          (reduction_id & ((UINT64_C(1) << 34) - 1)) << 12 |
                              (uint64_t)(trans_type & 0xf) << 8 | (ce_id & 0xff));
}

/* Inline copies of gni_pub.h's getters, for the library itself. */
static inline unsigned aries_cq_entry_status(gni_cq_entry_t entry)
{
    return entry >> ARIES_CQ_STATUS_SHIFT & 0x3f;
}

static inline unsigned aries_cq_entry_source(gni_cq_entry_t entry)
{
    return entry >> ARIES_CQ_SOURCE_SHIFT & 0x7;
}

static inline unsigned aries_cq_entry_info(gni_cq_entry_t entry)
{
    return entry >> ARIES_CQ_INFO_SHIFT & 0x3;
}

static inline unsigned aries_cq_entry_type(gni_cq_entry_t entry)
{
    return entry >> ARIES_CQ_TYPE_SHIFT & 0x3;
}

static inline uint32_t aries_cq_entry_tid(gni_cq_entry_t entry)
{
    return entry >> ARIES_CQ_TID_SHIFT & ARIES_CQ_TID_MAX;
}

static inline uint32_t aries_cq_entry_msg_id(gni_cq_entry_t entry)
{
    return (uint32_t)entry;
}

static inline bool aries_cq_entry_overrun(gni_cq_entry_t entry)
{
    return entry & ARIES_CQ_OVERRUN;
}

#endif
