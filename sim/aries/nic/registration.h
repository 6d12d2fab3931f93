/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory registrations: translation, protection, access. */
#ifndef JACQUARD_ARIES_REGISTRATION_H
#define JACQUARD_ARIES_REGISTRATION_H

#include "nic/attachment.h"

/* A memory registration. Found at the target by (NIC, ptag, MDH). */
struct aries_mr {
    uint32_t refs; /* one while registered, and one for each write in flight into it */
    uint32_t segments_count;
    bool live; /* registered and, for reserved regions, updated at least once */
    bool read_only, vmdh, segmented, reserved;
    bool corrupt; /* a fault corrupted its memory descriptor */
    uint8_t ptag;
    uint64_t base,
        length; /* rounded to pages; base is 0 for VMDH and segments (addresses are offsets) */
    uint64_t address; /* address of `base` in the memory of the process, rounded to pages */
    uint64_t *pages; /* reserved regions: bitmap of pages made accessible; NULL: all */
    struct aries_process *process;
    struct gni_cq *cq; /* destination CQ or NULL (referenced) */

    gni_mem_segment_t *segments; /* pieces, rounded to pages; NULL: one piece */
    uint64_t asked, bytes; /* address and length as the caller gave them */
    struct gni_nic *nic; /* attachment that registered it; NULL: deregistered */
    struct aries_fabric *fabric;
    gni_mem_handle_t handle;
    struct aries_list nic_link; /* nic->mrs, in order of registration */
    uint16_t mdh;
    /* Simulation: posted transfers that need it, and those of them whose target it is. */
    uint32_t in_flight, targeted;
} __attribute__((aligned(SIM_LINE)));

enum aries_access { ARIES_READ, ARIES_WRITE };

/* The registration that a handle names on `hw` for `ptag`, or NULL. */
struct aries_mr *aries_mr_find(struct aries_nic *hw, uint8_t ptag, gni_mem_handle_t handle);
/*
 * Does the hardware's checks in the order of docs/model.md: handle → MDD enabled → write
 * permission → bounds → ptag → page. Returns 0 or an A_STATUS code; on success *mr is set. `addr`
 * is a virtual address, or an offset for regions of an MDD block and for segments
 * (aries_mem_handle_offset).
 */
uint8_t aries_mr_check(struct aries_nic *hw, uint8_t ptag, gni_mem_handle_t handle, uint64_t addr,
                       uint64_t length, enum aries_access access, struct aries_mr **mr);
/*
 * Copies between a buffer and registered memory at `addr`, across segments. False: a page was not
 * mapped, to be reported as AT_PF_INV; the mapped part was copied. The caller has called
 * aries_mr_check().
 */
bool aries_mr_write(struct aries_mr *mr, uint64_t addr, const void *from, uint64_t length);
bool aries_mr_read(struct aries_mr *mr, uint64_t addr, void *to, uint64_t length);
/*
 * The host address of offset or virtual address `addr` in mr. NULL: [addr, addr+length) is not in
 * one piece.
 */
void *aries_mr_pointer(struct aries_mr *mr, uint64_t addr, uint64_t length);
/*
 * Prefetches the data that aries_mr_check() will read. The NIC's first line must be in the cache.
 */
void aries_mr_fetch(const struct aries_nic *hw, const gni_mem_handle_t *handle);
void aries_mr_ref(struct aries_mr *mr);
void aries_mr_unref(struct aries_mr *mr);

/* The table of an MDH: the node's, or the block of a tag. NULL: the tag has no block. */
struct aries_mdd_table *aries_mdd_table_of(struct aries_nic *hw, uint8_t ptag, bool vmdh);
struct aries_mdd_table *aries_vmdh_block(const struct aries_nic *hw, uint8_t ptag);
extern const struct aries_class aries_mr_class;
void aries_mdds_free(struct aries_nic *hw);

#endif
