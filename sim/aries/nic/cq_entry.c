/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Accessors of a completion queue entry; the layout is in cq_entry.h. */
#include "nic/cq_entry.h"

static uint64_t field(gni_cq_entry_t entry, unsigned low, unsigned bits)
{
    return entry >> low & ((UINT64_C(1) << bits) - 1);
}

static void set_field(gni_cq_entry_t *entry, unsigned low, unsigned bits, uint64_t value)
{
    uint64_t mask = ((UINT64_C(1) << bits) - 1) << low;

    *entry = (*entry & ~mask) | (value << low & mask);
}

uint64_t gni_cq_get_data(gni_cq_entry_t entry)
{
    return entry & ARIES_CQ_DATA_MASK;
}

uint64_t gni_cq_get_source(gni_cq_entry_t entry)
{
    return aries_cq_entry_source(entry);
}

uint64_t gni_cq_get_status(gni_cq_entry_t entry)
{
    return aries_cq_entry_status(entry);
}

uint64_t gni_cq_get_info(gni_cq_entry_t entry)
{
    return aries_cq_entry_info(entry);
}

uint64_t gni_cq_overrun(gni_cq_entry_t entry)
{
    return aries_cq_entry_overrun(entry);
}

uint64_t gni_cq_rem_overrun(gni_cq_entry_t entry)
{
    return (entry & ARIES_CQ_REM_OVERRUN) != 0;
}

uint64_t gni_cq_get_inst_id(gni_cq_entry_t entry)
{
    return entry & ARIES_CQ_INST_ID_MASK;
}

uint64_t gni_cq_get_rem_inst_id(gni_cq_entry_t entry)
{
    return field(entry, 0, 32);
}

uint64_t gni_cq_get_tid(gni_cq_entry_t entry)
{
    return aries_cq_entry_tid(entry);
}

uint64_t gni_cq_get_msg_id(gni_cq_entry_t entry)
{
    return aries_cq_entry_msg_id(entry);
}

uint64_t gni_cq_get_type(gni_cq_entry_t entry)
{
    return aries_cq_entry_type(entry);
}

uint64_t gni_cq_get_block_id(gni_cq_entry_t entry)
{
    return field(entry, 0, 16);
}

uint64_t gni_cq_get_unsuccessful_cnt(gni_cq_entry_t entry)
{
    return field(entry, 16, 16);
}

uint64_t gni_cq_get_marker_id(gni_cq_entry_t entry)
{
    return field(entry, 0, 32);
}

uint64_t gni_cq_get_failed_enqueue_cnt(gni_cq_entry_t entry)
{
    return field(entry, 32, 16);
}

uint64_t gni_cq_get_ce_id(gni_cq_entry_t entry)
{
    return field(entry, 0, 8);
}

uint64_t gni_cq_get_reductn_id(gni_cq_entry_t entry)
{
    return field(entry, 12, 34);
}

uint64_t gni_cq_get_trans_type(gni_cq_entry_t entry)
{
    return field(entry, 8, 4);
}

void gni_cq_set_inst_id(gni_cq_entry_t *entry, uint64_t value)
{
    set_field(entry, 0, 24, value);
}

void gni_cq_set_rem_inst_id(gni_cq_entry_t *entry, uint64_t value)
{
    set_field(entry, 0, 32, value);
}

void gni_cq_set_tid(gni_cq_entry_t *entry, uint64_t value)
{
    set_field(entry, ARIES_CQ_TID_SHIFT, 22, value);
}

void gni_cq_set_msg_id(gni_cq_entry_t *entry, uint64_t value)
{
    set_field(entry, 0, 32, value);
}

void gni_cq_set_type(gni_cq_entry_t *entry, uint64_t value)
{
    set_field(entry, ARIES_CQ_TYPE_SHIFT, 2, value);
}

void gni_cq_clr_status(gni_cq_entry_t *entry)
{
    set_field(entry, ARIES_CQ_STATUS_SHIFT, 6, A_STATUS_OKAY);
}

unsigned gni_cq_status_dla_overflow(gni_cq_entry_t entry)
{
    return aries_cq_entry_status(entry) == A_STATUS_DLA_OVERFLOW;
}

unsigned gni_cq_bte_enq_status(gni_cq_entry_t entry)
{
    return aries_cq_entry_source(entry) == ARIES_CQ_SOURCE_BTE &&
           aries_cq_entry_info(entry) == ARIES_CQ_BTE_ENQ_STATUS;
}
