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

/* Each field of the layout has a getter, and those that programs may change a setter. */
#define GETTER(name, low, bits)                      \
    uint64_t gni_cq_get_##name(gni_cq_entry_t entry) \
    {                                                \
        return field(entry, low, bits);              \
    }
#define SETTER(name, low, bits)                                   \
    void gni_cq_set_##name(gni_cq_entry_t *entry, uint64_t value) \
    {                                                             \
        set_field(entry, low, bits, value);                       \
    }

GETTER(data, 0, 48)
GETTER(source, ARIES_CQ_SOURCE_SHIFT, 3)
GETTER(info, ARIES_CQ_INFO_SHIFT, 2)
GETTER(status, ARIES_CQ_STATUS_SHIFT, 6)
GETTER(inst_id, 0, 24)
GETTER(rem_inst_id, 0, 32)
GETTER(tid, ARIES_CQ_TID_SHIFT, 22)
GETTER(msg_id, 0, 32)
GETTER(type, ARIES_CQ_TYPE_SHIFT, 2)
GETTER(block_id, 0, 16)
GETTER(unsuccessful_cnt, 16, 16)
GETTER(marker_id, 0, 32)
GETTER(failed_enqueue_cnt, 32, 16)
GETTER(ce_id, 0, 8)
GETTER(trans_type, 8, 4)
GETTER(reductn_id, 12, 34)
SETTER(inst_id, 0, 24)
SETTER(rem_inst_id, 0, 32)
SETTER(tid, ARIES_CQ_TID_SHIFT, 22)
SETTER(msg_id, 0, 32)
SETTER(type, ARIES_CQ_TYPE_SHIFT, 2)

_Static_assert(ARIES_CQ_TID_SHIFT + 22 == ARIES_CQ_TYPE_SHIFT &&
                   ARIES_CQ_TYPE_SHIFT + 2 == ARIES_CQ_SOURCE_SHIFT &&
                   ARIES_CQ_SOURCE_SHIFT + 3 == ARIES_CQ_INFO_SHIFT &&
                   ARIES_CQ_STATUS_SHIFT + 6 == 62,
               "the fields do not overlap");

uint64_t gni_cq_overrun(gni_cq_entry_t entry)
{
    return aries_cq_entry_overrun(entry);
}

uint64_t gni_cq_rem_overrun(gni_cq_entry_t entry)
{
    return (entry & ARIES_CQ_REM_OVERRUN) != 0;
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
