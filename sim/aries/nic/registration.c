/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The NIC's use of a registration: translation, checks, access. */
#include "nic/registration.h"

#include <assert.h>
#include <glib.h>
#include "aries/misc/exceptions.h"
#include "nic/event_queue.h"
#include "nic/mdd.h"
#include "nic/mem_handle.h"
#include "nic/objects.h"

/* ---- tables ---------------------------------------------------------------------------------- */

sim_noinline struct aries_mdd_table *aries_vmdh_block(const struct aries_nic *hw, uint8_t ptag)
{
    struct aries_mdd_table *block = hw->vmdhs;

    while (block != NULL && block->ptag != ptag)
        block = block->next;
    return block;
}

struct aries_mdd_table *aries_mdd_table_of(struct aries_nic *hw, uint8_t ptag, bool vmdh)
{
    if (vmdh)
        return aries_vmdh_block(hw, ptag);
    if (hw->mdds == NULL)
        hw->mdds = aries_mdd_table_new(ARIES_MEM_MDH_COUNT);
    return hw->mdds;
}

void aries_mdds_free(struct aries_nic *hw)
{
    while (hw->vmdhs != NULL) {
        struct aries_mdd_table *next = hw->vmdhs->next;

        aries_mdd_table_free(hw->vmdhs);
        hw->vmdhs = next;
    }
    if (hw->mdds != NULL)
        aries_mdd_table_free(hw->mdds);
    hw->mdds = NULL;
}

/* Finds an entry without checking its state or its protection tag. */
static struct aries_mr *find_any(const struct aries_nic *hw, uint8_t ptag,
                                 const gni_mem_handle_t *handle)
{
    bool vmdh = aries_mem_handle_flags(handle) & ARIES_MEM_VMDH;
    uint32_t mdh = aries_mem_handle_mdh(handle);
    const struct aries_mdd_table *table;

    if (sim_likely(!vmdh && mdh < ARIES_MRS_FIRST))
        return hw->mrs_first[mdh];
    table = vmdh ? aries_vmdh_block(hw, ptag) : hw->mdds;
    return table != NULL ? aries_mdd_at(table, mdh) : NULL;
}

void aries_mr_fetch(const struct aries_nic *hw, const gni_mem_handle_t *handle)
{
    uint32_t mdh = aries_mem_handle_mdh(handle);

    if (mdh < ARIES_MRS_FIRST)
        sim_fetch(hw->mrs_first[mdh], 1);
}

struct aries_mr *aries_mr_find(struct aries_nic *hw, uint8_t ptag, gni_mem_handle_t handle)
{
    struct aries_mr *mr = find_any(hw, ptag, &handle);

    /* The handle of all zeros names no registration, although its bits are those of MDH 0. */
    if (mr == NULL || mr->ptag != ptag || (handle.qword1 == 0 && handle.qword2 == 0))
        return NULL;
    return mr;
}

/* ---- checks and access ----------------------------------------------------------------------- */

static bool pages_present(const struct aries_mr *mr, uint64_t offset, uint64_t length)
{
    uint64_t page, last;

    if (mr->pages == NULL || length == 0)
        return true;
    last = (offset + length - 1) >> ARIES_MEM_PAGE_SHIFT;
    for (page = offset >> ARIES_MEM_PAGE_SHIFT; page <= last; page++)
        if (!(mr->pages[page / 64] >> page % 64 & 1))
            return false;
    return true;
}

uint8_t aries_mr_check(struct aries_nic *hw, uint8_t ptag, gni_mem_handle_t handle, uint64_t addr,
                       uint64_t length, enum aries_access access, struct aries_mr **mr)
{
    struct aries_mr *found = find_any(hw, ptag, &handle);
    uint64_t offset;

    if (found == NULL || (handle.qword1 == 0 && handle.qword2 == 0))
        return A_STATUS_AT_MDD_INV;
    if (sim_unlikely(found->corrupt))
        return A_STATUS_AT_MDD_UNCORRECTABLE;
    if (access == ARIES_WRITE && found->read_only)
        return A_STATUS_AT_MDD_WR_PERMISSION_ERR;
    offset = addr - found->base;
    if (length > 0 && (offset > found->length || length > found->length - offset))
        return A_STATUS_AT_BOUNDS_ERR; /* CQ writes and empty PUTs have no address to translate */
    if (found->ptag != ptag)
        return A_STATUS_AT_PROTECTION_ERR;
    if (!pages_present(found, offset, length))
        return A_STATUS_AT_PF_INV;
    *mr = found;
    return A_STATUS_OKAY;
}

/*
 * The position of `addr` in the memory of the process, and the number of bytes that follow it in
 * one piece.
 */
static char *locate(const struct aries_mr *mr, uint64_t addr, uint64_t *piece)
{
    uint64_t offset = addr - mr->base;
    uint32_t i;

    for (i = 0; i < mr->segments_count; i++) {
        const gni_mem_segment_t *segment = &mr->segments[i];

        if (offset < segment->length) {
            *piece = segment->length - offset;
            return (char *)(uintptr_t)(segment->address + offset);
        }
        offset -= segment->length;
    }
    *piece = mr->length - offset;
    return (char *)(uintptr_t)(mr->address + offset);
}

static bool transfer(const struct aries_mr *mr, uint64_t addr, char *buffer, uint64_t length,
                     enum aries_access access)
{
    /* aries_mr_check() has accepted it; the flag of a flagged response ends in the same page. */
    assert(length == 0 ||
           (addr - mr->base <= mr->length && length <= mr->length - (addr - mr->base)));
    while (length > 0) {
        uint64_t piece;
        char *memory = locate(mr, addr, &piece);

        piece = piece < length ? piece : length;
        if (!(access == ARIES_WRITE ? aries_copy(memory, buffer, piece)
                                    : aries_copy(buffer, memory, piece)))
            return false;
        addr += piece;
        buffer += piece;
        length -= piece;
    }
    return true;
}

bool aries_mr_write(struct aries_mr *mr, uint64_t addr, const void *from, uint64_t length)
{
    return transfer(mr, addr, (char *)(uintptr_t)from, length, ARIES_WRITE);
}

bool aries_mr_read(struct aries_mr *mr, uint64_t addr, void *to, uint64_t length)
{
    return transfer(mr, addr, to, length, ARIES_READ);
}

void *aries_mr_pointer(struct aries_mr *mr, uint64_t addr, uint64_t length)
{
    uint64_t piece;
    char *memory = locate(mr, addr, &piece);

    return length <= piece ? memory : NULL;
}

void aries_mr_ref(struct aries_mr *mr)
{
    assert(mr->refs > 0);
    mr->refs++;
}

static void discard(void *object)
{
    struct aries_mr *mr = object;

    g_free(mr->pages);
    g_free(mr->segments);
    mr->pages = NULL;
    mr->segments = NULL;
}

const struct aries_class aries_mr_class = {.size = sizeof(struct aries_mr), .discard = discard};

void aries_mr_unref(struct aries_mr *mr)
{
    struct aries_fabric *fabric;

    assert(mr->refs > 0);
    if (--mr->refs > 0)
        return;
    assert(!mr->live && mr->nic == NULL);
    fabric = mr->fabric;
    if (mr->cq != NULL)
        aries_cq_unref(mr->cq);
    aries_object_delete(fabric->objects, &aries_mr_class, mr);
}
