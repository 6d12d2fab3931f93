/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registered memory. A handle has the number of a region, and how often that was used before. */
#include "via.h"

#include <assert.h>
#include <glib.h>
#include <string.h>

static VIP_MEM_HANDLE handle_of(const struct via_nic *nic, const struct via_region *region)
{
    return (VIP_MEM_HANDLE)region->generation << 24 | ((VIP_MEM_HANDLE)(region - nic->regions) + 1);
}

struct via_region *via_region_get(const struct via_nic *nic, VIP_MEM_HANDLE handle)
{
    uint32_t index = (handle & 0xffffff) - 1;
    struct via_region *region = &nic->regions[index];

    if (index >= nic->region_room || !region->used || handle_of(nic, region) != handle)
        return NULL;
    return region;
}

static uint64_t round_down(uint64_t address)
{
    return address & ~(uint64_t)(VIA_PAGE - 1);
}

static uint64_t round_up(uint64_t address)
{
    return round_down(address + VIA_PAGE - 1);
}

bool via_region_covers(const struct via_nic *nic, VIP_MEM_HANDLE handle,
                       const struct via_ptag *ptag, uint64_t address, uint64_t length)
{
    const struct via_region *region = via_region_get(nic, handle);

    return region != NULL && (ptag == NULL || region->ptag == NULL || region->ptag == ptag) &&
           address + length >= address && address >= round_down(region->address) &&
           address + length <= round_up(region->address + region->length);
}

/*
 * Pages of a region, by its length alone: where it begins is not a part of the simulation. A length
 * that is no multiple of a page counts as not aligned.
 */
static double pages(uint64_t length)
{
    uint64_t whole = length / VIA_PAGE;

    return (double)(length % VIA_PAGE != 0 ? whole + 2 : whole);
}

static void spend(const struct via_nic *nic, enum via_param fixed, enum via_param each,
                  uint64_t length)
{
    const struct legacy_network *network = nic->process->devices->network;

    sim_spend(legacy_service(network, fixed, 1) + legacy_service(network, each, pages(length)));
}

static VIP_RETURN check(const struct via_nic *nic, const VIP_MEM_ATTRIBUTES *attributes,
                        struct via_ptag **ptag)
{
    if (!via_ptag_find(nic, attributes->Ptag, ptag))
        return VIP_INVALID_PTAG;
    return attributes->EnableRdmaRead ? VIP_INVALID_RDMAREAD : VIP_SUCCESS;
}

static struct via_region *free_region(struct via_nic *nic)
{
    uint32_t i, more;

    for (i = 0; i < nic->region_room && nic->regions[i].used; i++)
        ;
    if (i == nic->region_room) {
        more = nic->region_room + 16;
        nic->regions = g_renew(struct via_region, nic->regions, nic->region_room + more);
        memset(&nic->regions[nic->region_room], 0, more * sizeof(*nic->regions));
        nic->region_room += more;
    }
    return &nic->regions[i];
}

VIP_RETURN VipRegisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_ULONG Length,
                          VIP_MEM_ATTRIBUTES *MemAttributes, VIP_MEM_HANDLE *MemHandle)
{
    struct via_nic *nic = via_nic_get(NicHandle);
    struct via_region *region;
    struct via_ptag *ptag;
    const double *values;
    VIP_RETURN rc;

    if (nic == NULL || VirtualAddress == NULL || Length == 0 || MemAttributes == NULL ||
        MemHandle == NULL || (uint64_t)(uintptr_t)VirtualAddress + Length < Length)
        return VIP_INVALID_PARAMETER;
    rc = check(nic, MemAttributes, &ptag);
    if (rc != VIP_SUCCESS)
        return rc;
    values = nic->process->devices->network->values;
    if (nic->region_count >= (uint32_t)values[VIA_MAX_REGISTER_REGIONS] ||
        Length > (uint64_t)values[VIA_MAX_REGISTER_BYTES] - nic->registered)
        return VIP_ERROR_RESOURCE;
    region = free_region(nic);
    *region = (struct via_region){.used = true,
                                  .generation = (uint8_t)(region->generation + 1),
                                  .address = (uint64_t)(uintptr_t)VirtualAddress,
                                  .length = Length,
                                  .ptag = ptag,
                                  .write = MemAttributes->EnableRdmaWrite != VIP_FALSE};
    via_ptag_use(ptag);
    nic->region_count++;
    nic->registered += Length;
    nic->process->devices->registered++;
    *MemHandle = handle_of(nic, region);
    spend(nic, VIA_REGISTER, VIA_REGISTER_PAGE, Length);
    return VIP_SUCCESS;
}

/* The region of these arguments, or NULL. */
static struct via_region *find(const struct via_nic *nic, const void *address,
                               VIP_MEM_HANDLE handle)
{
    struct via_region *region = nic != NULL ? via_region_get(nic, handle) : NULL;

    return region != NULL && region->address == (uint64_t)(uintptr_t)address ? region : NULL;
}

VIP_RETURN VipDeregisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress,
                            VIP_MEM_HANDLE MemHandle)
{
    struct via_nic *nic = via_nic_get(NicHandle);
    struct via_region *region = find(nic, VirtualAddress, MemHandle);

    if (region == NULL)
        return VIP_INVALID_PARAMETER;
    assert(nic->region_count > 0 && nic->registered >= region->length);
    region->used = false;
    via_ptag_unuse(region->ptag);
    nic->region_count--;
    nic->registered -= region->length;
    nic->process->devices->registered--;
    spend(nic, VIA_DEREGISTER, VIA_DEREGISTER_PAGE, region->length);
    return VIP_SUCCESS;
}

VIP_RETURN VipQueryMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_MEM_HANDLE MemHandle,
                       VIP_MEM_ATTRIBUTES *MemAttributes)
{
    const struct via_region *region = find(via_nic_get(NicHandle), VirtualAddress, MemHandle);

    if (region == NULL || MemAttributes == NULL)
        return VIP_INVALID_PARAMETER;
    *MemAttributes =
        (VIP_MEM_ATTRIBUTES){.Ptag = region->ptag != NULL ? region->ptag->handle : NULL,
                             .EnableRdmaWrite = region->write};
    return VIP_SUCCESS;
}

VIP_RETURN VipSetMemAttributes(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress,
                               VIP_MEM_HANDLE MemHandle, VIP_MEM_ATTRIBUTES *MemAttributes)
{
    struct via_nic *nic = via_nic_get(NicHandle);
    struct via_region *region = find(nic, VirtualAddress, MemHandle);
    struct via_ptag *ptag;
    VIP_RETURN rc;

    if (region == NULL || MemAttributes == NULL)
        return VIP_INVALID_PARAMETER;
    rc = check(nic, MemAttributes, &ptag);
    if (rc != VIP_SUCCESS)
        return rc;
    via_ptag_unuse(region->ptag);
    via_ptag_use(ptag);
    region->ptag = ptag;
    region->write = MemAttributes->EnableRdmaWrite != VIP_FALSE;
    return VIP_SUCCESS;
}
