/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory registration. */
#include "api/findings.h"
#include "api/front.h"
#include "aries/kernel.h"

#include <assert.h>
#include <sys/mman.h>
#include "nic/job.h"
#include "nic/mdd.h"
#include "nic/mem_handle.h"

#define PAGE_BYTES (UINT64_C(1) << ARIES_MEM_PAGE_SHIFT)
#define PAGE_MASK (~(PAGE_BYTES - 1))
#define MAP_QUERY_PAGES 4096u

static uint64_t round_down(uint64_t address)
{
    return address & PAGE_MASK;
}

static uint64_t round_up(uint64_t address)
{
    return (address + PAGE_BYTES - 1) & PAGE_MASK;
}

static void release_all(struct gni_nic *nic);

/* ---- registering ----------------------------------------------------------------------------- */

struct region {
    uint64_t address, bytes; /* as the caller gave them; of the first segment */
    gni_mem_segment_t *segments; /* rounded to pages; NULL: one region without segments */
    uint32_t segments_count;
    uint64_t length; /* of all segments together, rounded to pages */
};

static bool is_mapped(uint64_t address, uint64_t length)
{
    unsigned char present[MAP_QUERY_PAGES];
    uint64_t at = round_down(address), end = round_up(address + length);

    while (at < end) {
        uint64_t part =
            end - at < MAP_QUERY_PAGES * PAGE_BYTES ? end - at : MAP_QUERY_PAGES * PAGE_BYTES;

        if (mincore((void *)(uintptr_t)at, part, present) != 0)
            return false;
        at += part;
    }
    return true;
}

/*
 * Writes the first and the last byte back to themselves. The pages between are assumed to be
 * writable.
 */
static bool is_writable(uint64_t address, uint64_t length)
{
    char *first = (char *)(uintptr_t)address, *last = first + length - 1, byte;

    return aries_copy(&byte, first, 1) && aries_copy(first, &byte, 1) &&
           aries_copy(&byte, last, 1) && aries_copy(last, &byte, 1);
}

static gni_return_t memory_check(uint64_t address, uint64_t length, uint32_t flags)
{
    if (length == 0 || address + length < address || round_up(address + length) == 0)
        return GNI_RC_INVALID_PARAM;
    if (flags & GNI_MEM_RESERVE_REGION)
        return GNI_RC_SUCCESS;
    if (!is_mapped(address, length))
        return GNI_RC_INVALID_PARAM;
    if (!(flags & GNI_MEM_READ_ONLY) && !is_writable(address, length))
        return GNI_RC_PERMISSION_ERROR;
    return GNI_RC_SUCCESS;
}

static gni_return_t common_check(const struct gni_nic *nic, const struct gni_cq *cq, uint32_t flags)
{
    const uint32_t both = GNI_MEM_RESERVE_REGION | GNI_MEM_UPDATE_REGION;

    if ((flags & both) == both || (flags & GNI_MEM_PHYS_SEGMENTS))
        return GNI_RC_INVALID_PARAM;
    if (cq != NULL && (!aries_handle_ok(cq, ARIES_MAGIC_CQ) || cq->nic != nic || cq->has_source))
        return GNI_RC_INVALID_PARAM;
    return GNI_RC_SUCCESS;
}

static gni_mem_handle_t handle_of(const struct aries_mr *mr)
{
    uint64_t pages = mr->length >> ARIES_MEM_PAGE_SHIFT;
    struct aries_mem_handle fields = {
        .address = mr->segmented ? 0 : mr->address,
        .mdh = mr->mdh,
        .pages = pages < ARIES_MEM_PAGES_MAX ? (uint32_t)pages : ARIES_MEM_PAGES_MAX,
        .incarnation = mr->process->fabric->incarnation,
        .page_shift = ARIES_MEM_PAGE_SHIFT,
        .flags =
            (uint8_t)((mr->read_only ? ARIES_MEM_READONLY : 0) | (mr->vmdh ? ARIES_MEM_VMDH : 0)),
    };

    return aries_mem_handle_encode(&fields);
}

static void fill(struct aries_mr *mr, struct gni_nic *nic, const struct region *region,
                 struct gni_cq *cq, uint32_t flags)
{
    assert(region->length > 0 && region->length % PAGE_BYTES == 0);
    mr->refs = 1;
    mr->read_only = (flags & GNI_MEM_READ_ONLY) != 0;
    mr->vmdh = (flags & GNI_MEM_USE_VMDH) != 0;
    mr->segmented = region->segments != NULL;
    mr->reserved = (flags & GNI_MEM_RESERVE_REGION) != 0;
    mr->live = !mr->reserved;
    mr->ptag = nic->ptag;
    mr->address = round_down(region->address);
    mr->bytes = region->bytes;
    mr->base = mr->vmdh || mr->segmented ? 0 : mr->address;
    mr->length = region->length;
    mr->segments = region->segments;
    mr->segments_count = region->segments_count;
    if (mr->reserved)
        mr->pages = g_new0(uint64_t, (mr->length >> ARIES_MEM_PAGE_SHIFT) / 64 + 1);
    mr->asked = region->address;
    mr->fabric = nic->hw->fabric;
    mr->nic = nic;
    mr->process = nic->process;
    mr->cq = cq;
    if (cq != NULL) {
        cq->has_mr = true;
        aries_cq_ref(cq);
    }
}

/* Enters the region into the tables. Owns region->segments when it succeeds. */
static gni_return_t enter(struct gni_nic *nic, const struct region *region, struct gni_cq *cq,
                          uint32_t flags, uint32_t vmdh_index, gni_mem_handle_t *handle)
{
    const struct aries_timing *timing = aries_timing_of(nic);
    struct aries_nic *hw = nic->hw;
    bool vmdh = (flags & GNI_MEM_USE_VMDH) != 0;
    struct aries_mdd_table *table = aries_mdd_table_of(hw, nic->ptag, vmdh);
    struct aries_mr *mr;
    uint32_t index;

    if (table == NULL)
        /* No MDD block: the program must call GNI_SetMddResources first. */
        return GNI_RC_INVALID_STATE;
    if (vmdh && vmdh_index != UINT32_MAX && vmdh_index >= table->size)
        return GNI_RC_INVALID_PARAM;
    if (hw->mdd_used >= timing->mdds || !aries_job_may_add(hw, nic->ptag, GNI_JOB_RES_MDD))
        return GNI_RC_ERROR_RESOURCE;
    index = vmdh ? vmdh_index : ARIES_MDD_ANY;
    if (!aries_hw_mdd(hw, nic->ptag, vmdh, &index))
        return GNI_RC_ERROR_RESOURCE;
    mr = aries_object_new(hw->fabric->objects, &aries_mr_class);
    index = aries_mdd_insert(table, index, mr);
    if (index == ARIES_MDD_ANY) {
        aries_hw_mdd_gone(hw, nic->ptag, vmdh, vmdh_index);
        aries_object_delete(hw->fabric->objects, &aries_mr_class, mr);
        return GNI_RC_ERROR_RESOURCE;
    }
    hw->mdd_used++;
    fill(mr, nic, region, cq, flags);
    mr->mdh = (uint16_t)index;
    if (!vmdh && index < ARIES_MRS_FIRST)
        hw->mrs_first[index] = mr;
    mr->handle = handle_of(mr);
    aries_list_add(&nic->mrs, &mr->nic_link);
    aries_nic_on_detach(nic, ARIES_DETACH_MEMORY, release_all);
    aries_hw_mr_changed(mr);
    *handle = mr->handle;
    return GNI_RC_SUCCESS;
}

static void spend_registration(const struct gni_nic *nic, uint64_t length)
{
    const struct aries_timing *timing = aries_timing_of(nic);

    sim_spend(timing->cold_mem_register + (length >> ARIES_MEM_PAGE_SHIFT) * timing->cold_mem_page);
    sim_settle();
    sim_idle_break();
}

/* The registration that a handle of GNI_MemRegister names, if it belongs to this process. */
static struct aries_mr *own_registration(const struct gni_nic *nic, const gni_mem_handle_t *handle)
{
    struct aries_mr *mr;

    if (!aries_mem_handle_check(handle))
        return NULL;
    mr = aries_mr_find(nic->hw, nic->ptag, *handle);
    if (mr == NULL || mr->process != nic->process || mr->handle.qword1 != handle->qword1)
        return NULL;
    return mr;
}

/* GNI_MEM_UPDATE_REGION: makes pages of a reserved region accessible. */
static gni_return_t update(struct gni_nic *nic, uint64_t address, uint64_t length,
                           gni_mem_handle_t *handle)
{
    struct aries_mr *mr = own_registration(nic, handle);
    uint64_t page, last;

    if (mr == NULL || !mr->reserved || address < mr->address ||
        round_up(address + length) - mr->address > mr->length)
        return GNI_RC_INVALID_PARAM;
    spend_registration(nic, round_up(address + length) - round_down(address));
    last = (address + length - 1 - mr->address) >> ARIES_MEM_PAGE_SHIFT;
    for (page = (address - mr->address) >> ARIES_MEM_PAGE_SHIFT; page <= last; page++)
        mr->pages[page / 64] |= UINT64_C(1) << page % 64;
    mr->live = true;
    aries_hw_mr_changed(mr);
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_MemRegister(gni_nic_handle_t nic_hndl, uint64_t address, uint64_t length,
                             gni_cq_handle_t dst_cq_hndl, uint32_t flags, uint32_t vmdh_index,
                             gni_mem_handle_t *mem_hndl)
{
    struct region region = {.address = address, .bytes = length};
    gni_return_t result;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || mem_hndl == NULL)
        return GNI_RC_INVALID_PARAM;
    result = common_check(nic_hndl, dst_cq_hndl, flags);
    if (result == GNI_RC_SUCCESS)
        result = memory_check(address, length, flags);
    if (result != GNI_RC_SUCCESS)
        return result;
    if (flags & GNI_MEM_UPDATE_REGION)
        return update(nic_hndl, address, length, mem_hndl);
    region.length = round_up(address + length) - round_down(address);
    spend_registration(nic_hndl, region.length);
    return enter(nic_hndl, &region, dst_cq_hndl, flags, vmdh_index, mem_hndl);
}

/*
 * Segments are joined at page borders: only the first may begin inside a page, and only the last
 * may end inside one.
 */
static gni_return_t segments_check(const gni_mem_segment_t *segments, uint32_t count,
                                   uint32_t flags)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        uint64_t begin = segments[i].address, end = begin + segments[i].length;
        gni_return_t result;

        if ((i > 0 && begin % PAGE_BYTES != 0) || (i + 1 < count && end % PAGE_BYTES != 0))
            return GNI_RC_INVALID_PARAM;
        result = memory_check(begin, segments[i].length, flags);
        if (result != GNI_RC_SUCCESS)
            return result;
    }
    return GNI_RC_SUCCESS;
}

static gni_mem_segment_t whole_pages(const gni_mem_segment_t *segment)
{
    uint64_t first = round_down(segment->address);

    return (gni_mem_segment_t){first, round_up(segment->address + segment->length) - first};
}

gni_return_t GNI_MemRegisterSegments(gni_nic_handle_t nic_hndl, gni_mem_segment_t *mem_segments,
                                     uint32_t segments_cnt, gni_cq_handle_t dst_cq_hndl,
                                     uint32_t flags, uint32_t vmdh_index,
                                     gni_mem_handle_t *mem_hndl)
{
    struct region region = {.segments_count = segments_cnt};
    gni_return_t result;
    uint32_t i;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || mem_hndl == NULL || mem_segments == NULL ||
        segments_cnt == 0 || (flags & (GNI_MEM_RESERVE_REGION | GNI_MEM_UPDATE_REGION)))
        return GNI_RC_INVALID_PARAM;
    result = common_check(nic_hndl, dst_cq_hndl, flags);
    if (result == GNI_RC_SUCCESS)
        result = segments_check(mem_segments, segments_cnt, flags);
    if (result != GNI_RC_SUCCESS)
        return result;
    for (i = 0; i < segments_cnt; i++) {
        gni_mem_segment_t piece = whole_pages(&mem_segments[i]);

        region.length += piece.length;
        region.bytes += mem_segments[i].length;
    }
    /* A process that is killed here must not own the memory yet. */
    spend_registration(nic_hndl, region.length);
    region.address = mem_segments[0].address;
    region.segments = g_new(gni_mem_segment_t, segments_cnt);
    for (i = 0; i < segments_cnt; i++)
        region.segments[i] = whole_pages(&mem_segments[i]);
    result = enter(nic_hndl, &region, dst_cq_hndl, flags, vmdh_index, mem_hndl);
    if (result != GNI_RC_SUCCESS)
        g_free(region.segments);
    return result;
}

/* ---- the other calls ------------------------------------------------------------------------- */

/* Owner of a region after deregistration, for writes into it that are still in flight. */
static struct aries_process nobody = {.dead = true};

static void mr_release(struct aries_mr *mr)
{
    struct aries_nic *hw = mr->nic->hw;

    assert(hw->mdd_used > 0 &&
           aries_mdd_at(aries_mdd_table_of(hw, mr->ptag, mr->vmdh), mr->mdh) == mr);
    aries_mdd_remove(aries_mdd_table_of(hw, mr->ptag, mr->vmdh), mr->mdh);
    if (!mr->vmdh && mr->mdh < ARIES_MRS_FIRST)
        hw->mrs_first[mr->mdh] = NULL;
    hw->mdd_used--;
    aries_list_remove(&mr->nic_link);
    mr->live = false;
    aries_hw_mr_changed(mr);
    aries_hw_mdd_gone(hw, mr->ptag, mr->vmdh, mr->mdh);
    mr->nic = NULL;
    mr->process = &nobody;
    aries_mr_unref(mr);
}

static void release_all(struct gni_nic *nic)
{
    while (!aries_list_empty(&nic->mrs))
        mr_release(sim_container_of(nic->mrs.next, struct aries_mr, nic_link));
}

static gni_return_t deregister(gni_nic_handle_t nic_hndl, gni_mem_handle_t *mem_hndl,
                               bool peers_may_use)
{
    const struct aries_timing *timing;
    struct aries_mr *mr;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || mem_hndl == NULL)
        return GNI_RC_INVALID_PARAM;
    mr = own_registration(nic_hndl, mem_hndl);
    if (mr == NULL)
        return GNI_RC_INVALID_PARAM;
    timing = aries_timing_of(nic_hndl);
    sim_spend(timing->cold_mem_deregister +
              (mr->length >> ARIES_MEM_PAGE_SHIFT) * timing->cold_mem_deregister_page);
    sim_settle();
    sim_idle_break();
    mr = own_registration(nic_hndl, mem_hndl); /* looked up again: time has passed */
    if (mr == NULL)
        return GNI_RC_INVALID_PARAM;
    if (!peers_may_use)
        aries_findings_deregistered(mr);
    mr_release(mr);
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_MemDeregister(gni_nic_handle_t nic_hndl, gni_mem_handle_t *mem_hndl)
{
    return deregister(nic_hndl, mem_hndl, false);
}

gni_return_t aries_kernel_mem_deregister_held(gni_nic_handle_t nic, gni_mem_handle_t *handle)
{
    return deregister(nic, handle, true);
}

gni_return_t GNI_SetMddResources(gni_nic_handle_t nic_hndl, uint32_t num_entries)
{
    struct aries_mdd_table *block;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || num_entries == 0 ||
        num_entries > ARIES_MEM_MDH_COUNT)
        return GNI_RC_INVALID_PARAM;
    sim_settle();
    sim_idle_break();
    block = aries_vmdh_block(nic_hndl->hw, nic_hndl->ptag);
    if (block == NULL) {
        block = aries_mdd_table_new(num_entries);
        block->ptag = nic_hndl->ptag;
        block->next = nic_hndl->hw->vmdhs;
        nic_hndl->hw->vmdhs = block;
    }
    if (block->size != num_entries && block->used > 0)
        return GNI_RC_INVALID_STATE;
    block->size = num_entries;
    return GNI_RC_SUCCESS;
}

/* A reserved region that was never updated has no pages that another handle could show. */
static bool never_updated(uint32_t index)
{
    const struct aries_process *process = aries_process_self();
    const struct aries_mdd_table *block;

    if (process == NULL)
        return false;
    for (block = process->nic->vmdhs; block != NULL; block = block->next) {
        const struct aries_mr *mr = aries_mdd_at(block, index);

        if (mr != NULL && mr->process == process)
            return !mr->live;
    }
    return false;
}

gni_return_t GNI_RebuildMemHndl(gni_mem_handle_t *src_mem_hndl, uint32_t vmdh_index,
                                gni_mem_handle_t *dst_mem_hndl)
{
    struct aries_mem_handle fields;

    if (src_mem_hndl == NULL || dst_mem_hndl == NULL || !aries_mem_handle_check(src_mem_hndl) ||
        vmdh_index >= ARIES_MEM_MDH_COUNT)
        return GNI_RC_INVALID_PARAM;
    aries_mem_handle_decode(src_mem_hndl, &fields);
    if (!(fields.flags & ARIES_MEM_VMDH))
        return GNI_RC_INVALID_PARAM;
    if (never_updated(fields.mdh))
        return GNI_RC_INVALID_STATE;
    fields.mdh = vmdh_index;
    fields.flags &= (uint8_t)~ARIES_MEM_NEW_FORMAT;
    *dst_mem_hndl = aries_mem_handle_encode(&fields);
    return GNI_RC_SUCCESS;
}

/* The device has no file descriptors here, so no descriptor names registrations. */
gni_return_t GNI_MemQueryHndls(gni_nic_handle_t nic_hndl, int fd, gni_mem_handle_t *mem_hndl,
                               uint64_t *address, uint64_t *length)
{
    const gni_mem_handle_t none = {0, 0};
    const struct aries_list *link;
    struct aries_mr *mr;

    if (address == NULL || length == NULL)
        return GNI_RC_INVALID_PARAM;
    *address = *length = 0;
    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || fd > 0 || mem_hndl == NULL)
        return GNI_RC_INVALID_PARAM;
    link = &nic_hndl->mrs;
    if (memcmp(mem_hndl, &none, sizeof none) != 0) {
        mr = own_registration(nic_hndl, mem_hndl);
        if (mr == NULL || mr->nic != nic_hndl)
            return GNI_RC_INVALID_STATE;
        link = &mr->nic_link;
    }
    if (link->next == &nic_hndl->mrs)
        return GNI_RC_NO_MATCH;
    mr = sim_container_of(link->next, struct aries_mr, nic_link);
    *mem_hndl = mr->handle;
    *address = mr->asked;
    *length = mr->bytes;
    return GNI_RC_SUCCESS;
}
