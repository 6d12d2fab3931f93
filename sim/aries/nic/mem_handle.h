/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The bits of a memory handle. They are part of the interface: libfabric's gni provider packs
 * handles into keys and builds handles from keys with its own copy of this layout, checksum
 * included.
 *
 *             format 1                              format 2 (flag NEW_FORMAT)
 *   qword1    63:52 MDH | 51:0 address >> 12        63:52 entropy | 51:0 address >> 12
 *   qword2    63:56 CRC | 55:42 incarnation |       63:56 CRC | 53:42 MDH | 41:34 flags
 *             41:34 flags                           the other bits as in format 1
 *             33:28 log2 of the page size | 27:0 pages
 *
 * The incarnation is 0 on the hardware and in simulation. In live mode it identifies the process
 * that made the handle, so that a request for a process that has died does not reach its successor.
 *
 * A target resolves a handle by (NIC, protection tag, MDH) and takes the bounds from its own table,
 * because a handle that a program built from a key has 0xFFFFFFF as its number of pages.
 *
 * An address in an MDD block (VMDH) is an offset from the first page of the region: `address -
 * VA(handle)` (ugni 5.5 rule 1). GNI_MemRegister sets VA to the address of the region: with this
 * handle, posts and mailboxes use virtual addresses. A handle that a program built from a key has
 * VA 0: with it, they use offsets.
 */
#ifndef JACQUARD_ARIES_MEM_HANDLE_H
#define JACQUARD_ARIES_MEM_HANDLE_H

#include <stdbool.h>
#include "nic/gni.h"

enum aries_mem_flag {
    ARIES_MEM_READONLY = 0x01,
    ARIES_MEM_VMDH = 0x02,
    ARIES_MEM_MRT = 0x04,
    ARIES_MEM_GART = 0x08,
    ARIES_MEM_IOMMU = 0x10,
    ARIES_MEM_PCI_IOMMU = 0x20,
    ARIES_MEM_CLONE = 0x40,
    ARIES_MEM_NEW_FORMAT = 0x80
};

#define ARIES_MEM_MDH_COUNT 4096u
#define ARIES_MEM_PAGES_MAX 0x0FFFFFFFu
#define ARIES_MEM_INCARNATION_MAX 0x3fffu
#define ARIES_MEM_PAGE_SHIFT 12

struct aries_mem_handle {
    uint64_t address; /* start of the region, a multiple of 4 KiB; 0: offsets */
    uint32_t mdh; /* number of the memory descriptor, below ARIES_MEM_MDH_COUNT */
    uint32_t pages; /* at most ARIES_MEM_PAGES_MAX */
    uint16_t incarnation; /* at most ARIES_MEM_INCARNATION_MAX; 0: not given */
    uint8_t page_shift;
    uint8_t flags; /* ARIES_MEM_ */
};

/* Builds a handle of format 1 with its checksum. */
gni_mem_handle_t aries_mem_handle_encode(const struct aries_mem_handle *fields);
/* Reads the fields of either format. The checksum is not checked. */
void aries_mem_handle_decode(const gni_mem_handle_t *handle, struct aries_mem_handle *fields);
/* Whether the checksum is right. The handle of all zeros passes. */
bool aries_mem_handle_check(const gni_mem_handle_t *handle);

/* For callers that need only this field. */
static inline uint8_t aries_mem_handle_flags(const gni_mem_handle_t *handle)
{
    return handle->qword2 >> 34 & 0xff;
}

static inline uint32_t aries_mem_handle_mdh(const gni_mem_handle_t *handle)
{
    return aries_mem_handle_flags(handle) & ARIES_MEM_NEW_FORMAT ? handle->qword2 >> 42 & 0xfff
                                                                 : handle->qword1 >> 52;
}

/*
 * Converts the address of a post to the one that the NIC looks up: for a region of an MDD block,
 * the offset.
 */
static inline uint64_t aries_mem_handle_offset(const gni_mem_handle_t *handle, uint64_t address)
{
    return __builtin_expect(aries_mem_handle_flags(handle) & ARIES_MEM_VMDH, 0)
               ? address - (handle->qword1 << ARIES_MEM_PAGE_SHIFT)
               : address;
}

static inline uint32_t aries_mem_handle_incarnation(const gni_mem_handle_t *handle)
{
    return aries_mem_handle_flags(handle) & ARIES_MEM_NEW_FORMAT
               ? 0
               : handle->qword2 >> 42 & ARIES_MEM_INCARNATION_MAX;
}

#endif
