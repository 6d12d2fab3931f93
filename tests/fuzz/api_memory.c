/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api.h"
#include "nic/mem_handle.h"

/* The begin of a registration: at a page, inside a page, or outside the memory of the program. */
static uint64_t place_of(const struct process *process, uint8_t page, uint8_t offset)
{
    static const uint32_t offsets[] = {0, 0, 8, 64, 100, 2048, 4088, 4095};

    if (page >= 0xf8)
        return (uint64_t[]){0, UINT64_MAX - 4095, 0x10, UINT64_MAX}[page & 3];
    return (uintptr_t)process->arena + page % (ARENA_PAGES + 1) * PAGE + offsets[offset % 8];
}

static uint32_t flags_of(uint8_t selector)
{
    static const uint32_t flags[] = {GNI_MEM_READWRITE,
                                     GNI_MEM_READWRITE,
                                     GNI_MEM_READ_ONLY,
                                     GNI_MEM_USE_VMDH,
                                     GNI_MEM_RESERVE_REGION,
                                     GNI_MEM_UPDATE_REGION,
                                     GNI_MEM_PI_FLUSH | GNI_MEM_STRICT_PI_ORDERING,
                                     GNI_MEM_RELAXED_PI_ORDERING,
                                     GNI_MEM_USE_VMDH | GNI_MEM_READ_ONLY,
                                     GNI_MEM_RESERVE_REGION | GNI_MEM_UPDATE_REGION,
                                     GNI_MEM_PHYS_SEGMENTS,
                                     GNI_MEM_MDD_DEDICATED,
                                     GNI_MEM_RESERVE_REGION | GNI_MEM_USE_VMDH,
                                     UINT32_MAX};

    return flags[selector % (sizeof(flags) / sizeof(flags[0]))];
}

#define REGISTER_CODES \
    (RC(ERROR_RESOURCE) | RC(PERMISSION_ERROR) | RC(INVALID_STATE) | RC(ERROR_NOMEM))

static gni_mem_segment_t whole_pages(uint64_t address, uint64_t length)
{
    uint64_t first = address & ~(uint64_t)(PAGE - 1);

    return (gni_mem_segment_t){first,
                               ((address + length + PAGE - 1) & ~(uint64_t)(PAGE - 1)) - first};
}

static void registered(struct call *call, unsigned slot, gni_nic_handle_t nic,
                       const gni_mem_handle_t *handle, const gni_mem_segment_t *pieces,
                       uint32_t count, bool by_offset, bool read_only)
{
    struct process *process = call->process;
    uint64_t base = by_offset ? 0 : pieces[0].address;
    uint32_t i;

    slot %= SLOTS;
    process->memory[slot] = *handle;
    /* The address by which posts name its first byte. */
    process->memory_address[slot] =
        aries_mem_handle_flags(handle) & ARIES_MEM_VMDH ? handle->qword1 << 12 : base;
    process->memory_bytes[slot] = 0;
    for (i = 0; i < count; i++)
        process->memory_bytes[slot] += pieces[i].length;
    model_registered(process->node, model_ptag(model_domain(NIC, nic)), handle, base, pieces, count,
                     read_only);
}

void register_memory(struct call *call, unsigned nic, unsigned cq, unsigned slot, uint64_t address,
                     uint64_t length, uint32_t flags, uint32_t index)
{
    OUT_VALUE(gni_mem_handle_t, handle);
    gni_nic_handle_t nic_handle = pick(call, NIC, nic);
    gni_mem_segment_t piece = whole_pages(address, length);
    bool update = (flags & GNI_MEM_UPDATE_REGION) != 0;

    if (update)
        handle.value = call->process->memory[slot % SLOTS];
    if (CHECKED(call, GNI_MemRegister,
                (nic_handle, address, length, pick(call, CQ, cq), flags, index, &handle.value),
                REGISTER_CODES) == GNI_RC_SUCCESS &&
        !update)
        registered(call, slot, nic_handle, &handle.value, &piece, 1, flags & GNI_MEM_USE_VMDH,
                   flags & GNI_MEM_READ_ONLY);
    OUT_CHECK(handle);
}

void call_mem_register(struct call *call)
{
    uint32_t index = call->b[7] & 0x80 ? call->b[7] & 0xf : UINT32_MAX;

    register_memory(call, call->b[2], call->b[2] >> 3, call->b[3] >> 4,
                    place_of(call->process, call->b[4], call->b[3]), length_of(call->b[5]),
                    flags_of(call->b[6]), index);
}

void call_mem_segments(struct call *call)
{
    OUT_VALUE(gni_mem_handle_t, handle);
    gni_nic_handle_t nic = pick(call, NIC, call->b[2]);
    uint32_t count = call->b[3] % 4, flags = flags_of(call->b[7]), i;
    gni_mem_segment_t given[3], pieces[3];

    for (i = 0; i < count; i++) {
        given[i].address = place_of(call->process, call->b[4 + i], i == 0 ? call->b[3] >> 4 : 0);
        given[i].length = (1 + call->b[4 + i] / 16 % 3) * PAGE;
        if (i == 0)
            given[i].length -= given[i].address % PAGE;
        if (i == count - 1)
            given[i].length -= call->b[3] >> 6;
        pieces[i] = whole_pages(given[i].address, given[i].length);
    }
    if (CHECKED(
            call, GNI_MemRegisterSegments,
            (nic, given, count, pick(call, CQ, call->b[2] >> 3), flags, UINT32_MAX, &handle.value),
            REGISTER_CODES) == GNI_RC_SUCCESS)
        registered(call, call->b[3] >> 2, nic, &handle.value, pieces, count, true,
                   flags & GNI_MEM_READ_ONLY);
    OUT_CHECK(handle);
}

void call_mem_deregister(struct call *call)
{
    CHECKED(call, GNI_MemDeregister,
            (pick(call, NIC, call->b[2]), &call->process->memory[call->b[3] % SLOTS]), 0);
}

void call_mem_misc(struct call *call)
{
    OUT_VALUE(gni_mem_handle_t, handle);
    OUT_VALUE(uint64_t, address);
    OUT_VALUE(uint64_t, length);
    OUT_VALUE(int, yesno);
    gni_mem_handle_t *mine = &call->process->memory[call->b[3] % SLOTS];
    gni_nic_handle_t nic = pick(call, NIC, call->b[2]);

    switch (call->b[4] % 4) {
    case 0:
        CHECKED(call, GNI_SetMddResources, (nic, call->b[5] % 9),
                RC(INVALID_STATE) | RC(ERROR_NOMEM));
        break;
    case 1:
        CHECKED(call, GNI_MemHndlQueryAttr, (mine, call->b[5] % 9, &yesno.value), 0);
        break;
    case 2:
        if (CHECKED(call, GNI_RebuildMemHndl, (mine, call->b[5], &handle.value),
                    RC(INVALID_STATE)) == GNI_RC_SUCCESS)
            call->process->memory[call->b[6] % SLOTS] = handle.value;
        break;
    default:
        if (call->b[5] & 1)
            handle.value = *mine;
        if (CHECKED(call, GNI_MemQueryHndls,
                    (nic, call->b[6] & 1, &handle.value, &address.value, &length.value),
                    RC(NO_MATCH) | RC(INVALID_STATE)) == GNI_RC_SUCCESS) {
            address.value -= (uintptr_t)call->process->arena;
            /*
             * The region of a message queue is in the host's heap, whose addresses differ between
             * runs.
             */
            note((address.value < ARENA_BYTES ? address.value : 0) + length.value);
        }
    }
    OUT_CHECK(handle);
    OUT_CHECK(address);
    OUT_CHECK(length);
    OUT_CHECK(yesno);
}
