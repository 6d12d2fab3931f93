/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "api.h"
#include "nic/mem_handle.h"

/* ---- helpers --------------------------------------------------------------------------------- */

gni_return_t told(const struct call *call, const char *name, gni_return_t rc, uint32_t documented)
{
    static int trace = -1;

    if (trace < 0)
        trace = getenv("API_FUZZ_TRACE") != NULL;
    if (trace)
        fprintf(stderr, "%12.3f us  %u.%u  %-26s %02x %02x %02x %02x %02x %02x  %s\n",
                (double)sim_local_time() / 1e6, call->process->id, call->thread->id, name,
                call->b[2], call->b[3], call->b[4], call->b[5], call->b[6], call->b[7],
                rc <= GNI_RC_ERROR_NOMEM ? gni_err_str[rc] : "?");
    if (rc > GNI_RC_ERROR_NOMEM || !(1u << rc & (documented | RC(SUCCESS) | RC(INVALID_PARAM))))
        die("%s says %d, which is not documented", name, (int)rc);
    note(rc);
    return rc;
}

uint32_t b16(const struct call *call, unsigned index)
{
    return call->b[index] | (uint32_t)call->b[index + 1] << 8;
}

void *pick(const struct call *call, enum kind kind, unsigned selector)
{
    void *const *slots = call->process->slot[kind];

    selector %= SLOTS;
    if (selector == SLOTS - 1)
        return NULL;
    selector %= kind <= NIC ? DOMAINS : SLOTS;
    if (slots[selector] == NULL && world.head[14] == SERVICES) /* rather what was set up */
        selector = 0;
    return model_visible(kind, slots[selector], call->process->id);
}

uint64_t length_of(uint8_t selector)
{
    static const uint64_t lengths[] = {
        8,     0,     1,     4,     16,       60,         64,         68,
        100,   1024,  2048,  3000,  4096,     4100,       8192,       20000,
        28672, 32764, 40960, 49152, 12,       24,         32,         128,
        256,   512,   5000,  65536, 1u << 20, UINT32_MAX, UINT64_MAX, UINT64_MAX - 7};

    return lengths[selector % (sizeof(lengths) / sizeof(lengths[0]))];
}

/* Remembers a handle, wherever another one was. */
static void keep(const struct call *call, enum kind kind, unsigned selector, void *handle,
                 uint32_t domain)
{
    unsigned slot = selector % (SLOTS - 1) % (kind <= NIC ? DOMAINS : SLOTS);

    model_made(kind, handle, call->process->id, domain);
    call->process->slot[kind][slot] = handle;
}

/* ---- domains --------------------------------------------------------------------------------- */

static const uint8_t ptags[] = {17, 17, 18, GNI_FIND_ALLOC_PTAG, 0, 254, 40};
static const uint32_t cookies[] = {GNI_JOB_CREATE_COOKIE(0x1234, 0),
                                   GNI_JOB_CREATE_COOKIE(0x4321, 0), 0,
                                   GNI_JOB_CREATE_COOKIE(7, 0)};

static void create_domain(struct call *call, unsigned selector, uint32_t inst_id, uint8_t ptag,
                          uint32_t cookie, uint32_t modes)
{
    OUT_VALUE(gni_cdm_handle_t, cdm);
    unsigned slot = selector % DOMAINS;

    if (TOLD(call, GNI_CdmCreate, (inst_id, ptag, cookie, modes, &cdm.value), RC(ERROR_NOMEM)) ==
        GNI_RC_SUCCESS) {
        uint32_t number = model_made(CDM, cdm.value, call->process->id, 0);

        call->process->slot[CDM][slot] = cdm.value;
        model_attached(number, ptag != GNI_FIND_ALLOC_PTAG ? ptag : cookie == cookies[0] ? 17 : 18);
    }
    OUT_CHECK(cdm);
}

void call_cdm_create(struct call *call)
{
    static const uint32_t modes[] = {
        GNI_CDM_MODE_ERR_NO_KILL,
        GNI_CDM_MODE_ERR_NO_KILL | GNI_CDM_MODE_DUAL_EVENTS,
        GNI_CDM_MODE_ERR_NO_KILL | GNI_CDM_MODE_BTE_SINGLE_CHANNEL |
            GNI_CDM_MODE_CACHED_AMO_ENABLED,
        GNI_CDM_MODE_ERR_NO_KILL | GNI_CDM_MODE_FMA_SHARED,
        0,
        GNI_CDM_MODE_ERR_ALL_KILL,
        GNI_CDM_MODE_FMA_DEDICATED | GNI_CDM_MODE_FMA_SHARED,
        UINT32_MAX,
    };

    create_domain(call, call->b[2], call->b[3] & 0x80 ? call->b[3] : call->process->id,
                  ptags[call->b[4] % sizeof(ptags)], cookies[call->b[5] % 4],
                  modes[call->b[6] % 8]);
}

void call_cdm_destroy(struct call *call)
{
    struct process *process = call->process;
    gni_cdm_handle_t cdm = pick(call, CDM, call->b[2]);
    uint32_t domain = model_domain(CDM, cdm);

    if (TOLD(call, GNI_CdmDestroy, (cdm), 0) != GNI_RC_SUCCESS)
        return;
    model_gone(CDM, cdm);
    post_forget(process, domain);
}

static gni_nic_handle_t attach(struct call *call, unsigned selector, uint32_t device)
{
    OUT_VALUE(gni_nic_handle_t, nic);
    OUT_VALUE(uint32_t, address);
    gni_cdm_handle_t cdm = pick(call, CDM, selector);

    if (TOLD(call, GNI_CdmAttach, (cdm, device, &address.value, &nic.value),
             RC(NO_MATCH) | RC(PERMISSION_ERROR) | RC(INVALID_STATE) | RC(ERROR_RESOURCE) |
                 RC(ERROR_NOMEM) | RC(NOT_DONE)) == GNI_RC_SUCCESS) {
        keep(call, NIC, selector, nic.value, model_domain(CDM, cdm));
        note(address.value);
    }
    OUT_CHECK(nic);
    OUT_CHECK(address);
    return nic.value;
}

void call_cdm_attach(struct call *call)
{
    static const uint32_t devices[] = {0, 0, UINT32_MAX, 1};

    attach(call, call->b[2], devices[call->b[3] % 4]);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void handler(gni_cq_entry_t *entry, void *context)
{
    struct process *process = context;

    process->handled += *entry != 0;
}

static void create_queue(struct call *call, unsigned nic, unsigned selector, uint32_t entries,
                         gni_cq_mode_t mode, bool handled)
{
    OUT_VALUE(gni_cq_handle_t, cq);
    gni_nic_handle_t nic_handle = pick(call, NIC, nic);

    if (TOLD(call, GNI_CqCreate,
             (nic_handle, entries, 0, mode, handled ? handler : NULL, call->process, &cq.value),
             RC(ERROR_RESOURCE) | RC(ERROR_NOMEM)) == GNI_RC_SUCCESS)
        keep(call, CQ, selector, cq.value, model_domain(NIC, nic_handle));
    OUT_CHECK(cq);
}

void call_cq_create(struct call *call)
{
    static const uint32_t entries[] = {8, 64, 1, 2, 3, 0, 1000, UINT32_MAX};
    static const gni_cq_mode_t modes[] = {GNI_CQ_NOBLOCK,
                                          GNI_CQ_BLOCKING,
                                          GNI_CQ_BLOCKING,
                                          GNI_CQ_UNMANAGED,
                                          GNI_CQ_BLOCKING | GNI_CQ_UNMANAGED,
                                          GNI_CQ_EMULATED,
                                          GNI_CQ_EMULATED | GNI_CQ_BLOCKING,
                                          UINT32_MAX};

    create_queue(call, call->b[2], call->b[3], entries[call->b[4] % 8], modes[call->b[5] % 8],
                 call->b[6] & 1);
}

void call_cq_destroy(struct call *call)
{
    gni_cq_handle_t cq = pick(call, CQ, call->b[2]);

    if (TOLD(call, GNI_CqDestroy, (cq), RC(ERROR_RESOURCE)) == GNI_RC_SUCCESS)
        model_gone(CQ, cq);
}

/* An entry was taken when the code says so; it is remembered for GNI_GetCompleted. */
void take_event(struct call *call, unsigned queue, gni_return_t rc, gni_cq_entry_t event)
{
    if (rc != GNI_RC_SUCCESS && rc != GNI_RC_TRANSACTION_ERROR && rc != GNI_RC_ERROR_RESOURCE)
        return;
    call->process->event[queue % SLOTS] = event;
    note(event);
}

#define READ_CODES (RC(NOT_DONE) | RC(TRANSACTION_ERROR) | RC(ERROR_RESOURCE))

void call_cq_get(struct call *call)
{
    OUT_VALUE(gni_cq_entry_t, event);
    gni_return_t rc =
        TOLD(call, GNI_CqGetEvent, (pick(call, CQ, call->b[2]), &event.value), READ_CODES);

    OUT_CHECK(event);
    take_event(call, call->b[2], rc, event.value);
}

static uint64_t timeout_of(uint8_t selector)
{
    static const uint64_t ms[] = {1, 0, 2, 5};

    return ms[selector % 4];
}

void call_cq_wait(struct call *call)
{
    OUT_VALUE(gni_cq_entry_t, event);
    gni_return_t rc = TOLD(call, GNI_CqWaitEvent,
                           (pick(call, CQ, call->b[2]), timeout_of(call->b[3]), &event.value),
                           READ_CODES | RC(TIMEOUT));

    OUT_CHECK(event);
    if (rc != GNI_RC_ERROR_RESOURCE || GNI_CQ_OVERRUN(event.value))
        take_event(call, call->b[2], rc, event.value);
}

static uint32_t pick_queues(struct call *call, gni_cq_handle_t *queues)
{
    uint32_t i, count = call->b[2] % 4;

    for (i = 0; i < count; i++)
        queues[i] = pick(call, CQ, call->b[3 + i]);
    return count;
}

void call_cq_vector_wait(struct call *call)
{
    OUT_VALUE(gni_cq_entry_t, event);
    OUT_VALUE(uint32_t, which);
    gni_cq_handle_t queues[4];
    uint32_t count = pick_queues(call, queues);
    gni_return_t rc = TOLD(call, GNI_CqVectorWaitEvent,
                           (queues, count, timeout_of(call->b[6]), &event.value, &which.value),
                           READ_CODES | RC(TIMEOUT) | RC(ERROR_NOMEM));

    OUT_CHECK(event);
    OUT_CHECK(which);
    if (rc == GNI_RC_SUCCESS || rc == GNI_RC_TRANSACTION_ERROR) {
        if (which.value >= count)
            die("queue %u of %u has an entry", which.value, count);
        take_event(call, call->b[3 + which.value], rc, event.value);
    }
}

void call_cq_vector_monitor(struct call *call)
{
    OUT_VALUE(uint32_t, which);
    gni_cq_handle_t queues[4];
    uint32_t count = pick_queues(call, queues);
    gni_return_t rc =
        TOLD(call, GNI_CqVectorMonitor, (queues, count, timeout_of(call->b[6]), &which.value),
             RC(TIMEOUT) | RC(NOT_DONE) | RC(INVALID_STATE) | RC(ERROR_RESOURCE) | RC(ERROR_NOMEM));

    OUT_CHECK(which);
    if (rc == GNI_RC_SUCCESS && which.value >= count)
        die("queue %u of %u has an entry", which.value, count);
}

void call_cq_mask(struct call *call)
{
    gni_cq_handle_t cq = pick(call, CQ, call->b[2]);

    if (call->b[3] & 1)
        TOLD(call, GNI_CqInterruptMask, (cq), RC(NOT_DONE) | RC(ERROR_RESOURCE));
    else
        TOLD(call, GNI_CqInterruptUnmask, (cq), RC(NOT_DONE));
}

void call_cq_misc(struct call *call)
{
    gni_cq_entry_t event = call->process->event[call->b[3] % SLOTS];
    OUT_VALUE(uint32_t, recoverable);
    struct {
        char text[64];
        uint64_t after;
    } buffer = {"", GUARD};
    uint32_t length = call->b[4] % 65;

    if (call->b[5] & 1)
        event ^= (uint64_t)b16(call, 6) << call->b[5] % 49;
    TOLD(call, GNI_CqTestEvent, (pick(call, CQ, call->b[2])), RC(NOT_DONE) | RC(ERROR_RESOURCE));
    TOLD(call, GNI_CqErrorStr, (event, buffer.text, length), RC(SIZE_ERROR));
    TOLD(call, GNI_CqErrorRecoverable, (event, &recoverable.value), RC(INVALID_STATE));
    OUT_CHECK(recoverable);
    if (buffer.after != GUARD || (length < 64 && buffer.text[length] != '\0'))
        die("GNI_CqErrorStr wrote more than its buffer holds");
}

/* ---- endpoints ------------------------------------------------------------------------------- */

static uint32_t address_of(uint8_t selector)
{
    static const uint32_t nowhere[] = {0x3ffff, 0x100, UINT32_MAX, 0x40000};

    if (selector % 8 < RANKS)
        return aries_nic_address(world.fabric, world.process[selector % RANKS].node);
    return nowhere[selector % 4];
}

static uint32_t node_of(uint8_t selector)
{
    return selector % 8 < RANKS ? world.process[selector % RANKS].node : UINT32_MAX;
}

static void create_ep(struct call *call, unsigned nic, unsigned cq, unsigned selector)
{
    OUT_VALUE(gni_ep_handle_t, ep);
    gni_nic_handle_t nic_handle = pick(call, NIC, nic);

    if (TOLD(call, GNI_EpCreate, (nic_handle, pick(call, CQ, cq), &ep.value), RC(ERROR_NOMEM)) ==
        GNI_RC_SUCCESS)
        keep(call, EP, selector, ep.value, model_domain(NIC, nic_handle));
    OUT_CHECK(ep);
}

void call_ep_create(struct call *call)
{
    create_ep(call, call->b[2], call->b[3], call->b[4]);
}

void call_ep_bind(struct call *call)
{
    uint32_t id = call->b[4] < 0x80 ? call->b[4] % RANKS : call->b[4] == 0xff ? UINT32_MAX : 200;

    gni_ep_handle_t ep = pick(call, EP, call->b[2]);

    if (TOLD(call, GNI_EpBind, (ep, address_of(call->b[3]), id),
             RC(ERROR_RESOURCE) | RC(ERROR_NOMEM)) == GNI_RC_SUCCESS)
        model_bound(ep, node_of(call->b[3]));
}

void call_ep_unbind(struct call *call)
{
    TOLD(call, GNI_EpUnbind, (pick(call, EP, call->b[2])), RC(NOT_DONE));
}

void call_ep_destroy(struct call *call)
{
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);

    if (TOLD(call, GNI_EpDestroy, (ep), 0) == GNI_RC_SUCCESS)
        model_gone(EP, ep);
}

void call_ep_misc(struct call *call)
{
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);

    TOLD(call, GNI_EpIdle, (ep), RC(NOT_DONE));
    TOLD(call, GNI_EpSetEventData, (ep, b16(call, 3) * 0x10001, b16(call, 5) * 0x10001), 0);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Where registrations begin: pages, parts of pages, and what is no memory of the program. */
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
    /* What posts call its first byte. */
    process->memory_address[slot] =
        aries_mem_handle_flags(handle) & ARIES_MEM_VMDH ? handle->qword1 << 12 : base;
    process->memory_bytes[slot] = 0;
    for (i = 0; i < count; i++)
        process->memory_bytes[slot] += pieces[i].length;
    model_registered(process->node, model_ptag(model_domain(NIC, nic)), handle, base, pieces, count,
                     read_only);
}

static void register_memory(struct call *call, unsigned nic, unsigned cq, unsigned slot,
                            uint64_t address, uint64_t length, uint32_t flags, uint32_t index)
{
    OUT_VALUE(gni_mem_handle_t, handle);
    gni_nic_handle_t nic_handle = pick(call, NIC, nic);
    gni_mem_segment_t piece = whole_pages(address, length);
    bool update = (flags & GNI_MEM_UPDATE_REGION) != 0;

    if (update)
        handle.value = call->process->memory[slot % SLOTS];
    if (TOLD(call, GNI_MemRegister,
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
    if (TOLD(call, GNI_MemRegisterSegments,
             (nic, given, count, pick(call, CQ, call->b[2] >> 3), flags, UINT32_MAX, &handle.value),
             REGISTER_CODES) == GNI_RC_SUCCESS)
        registered(call, call->b[3] >> 2, nic, &handle.value, pieces, count, true,
                   flags & GNI_MEM_READ_ONLY);
    OUT_CHECK(handle);
}

void call_mem_deregister(struct call *call)
{
    TOLD(call, GNI_MemDeregister,
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
        TOLD(call, GNI_SetMddResources, (nic, call->b[5] % 9), RC(INVALID_STATE) | RC(ERROR_NOMEM));
        break;
    case 1:
        TOLD(call, GNI_MemHndlQueryAttr, (mine, call->b[5] % 9, &yesno.value), 0);
        break;
    case 2:
        if (TOLD(call, GNI_RebuildMemHndl, (mine, call->b[5], &handle.value), RC(INVALID_STATE)) ==
            GNI_RC_SUCCESS)
            call->process->memory[call->b[6] % SLOTS] = handle.value;
        break;
    default:
        if (call->b[5] & 1)
            handle.value = *mine;
        if (TOLD(call, GNI_MemQueryHndls,
                 (nic, call->b[6] & 1, &handle.value, &address.value, &length.value),
                 RC(NO_MATCH) | RC(INVALID_STATE)) == GNI_RC_SUCCESS) {
            address.value -= (uintptr_t)call->process->arena;
            /* A message queue's region lies wherever the host has memory. */
            note((address.value < ARENA_BYTES ? address.value : 0) + length.value);
        }
    }
    OUT_CHECK(handle);
    OUT_CHECK(address);
    OUT_CHECK(length);
    OUT_CHECK(yesno);
}

/* ---- others ---------------------------------------------------------------------------------- */

void call_device(struct call *call)
{
    OUT_VALUE(uint32_t, first);
    OUT_VALUE(uint32_t, second);
    OUT_VALUE(uint8_t, ptag);
    OUT_VALUE(gni_dev_res_desc_t, device);
    OUT_VALUE(gni_job_res_desc_t, job);
    OUT_VALUE(gni_nic_device_t, type);
    OUT_VALUE(gni_version_info_t, version);
    OUT_VALUE(int, devices);
    gni_nic_handle_t nic = pick(call, NIC, call->b[2]);
    uint32_t number = call->b[3] % 3;

    TOLD(call, GNI_CdmGetNicAddress, (number, &first.value, &second.value), RC(NO_MATCH));
    TOLD(call, GNI_GetNicStat, (nic, (gni_statistic_t)(call->b[4] % 24), &first.value), 0);
    TOLD(call, GNI_ResetNicStat, (nic, (gni_statistic_t)(call->b[5] % 24)), 0);
    TOLD(call, GNI_GetDevResInfo, (number, (gni_dev_res_t)(call->b[4] % 11), &device.value),
         RC(ERROR_RESOURCE));
    TOLD(call, GNI_GetJobResInfo,
         (number, ptags[call->b[6] % sizeof(ptags)], (gni_job_res_t)(call->b[5] % 16), &job.value),
         RC(ERROR_RESOURCE));
    TOLD(call, GNI_GetPtag, (number, cookies[call->b[7] % 4], &ptag.value),
         RC(NO_MATCH) | RC(ERROR_RESOURCE));
    TOLD(call, GNI_GetNumLocalDevices, (&devices.value), 0);
    TOLD(call, GNI_GetLocalDeviceIds, (call->b[4] % 2, &devices.value), 0);
    TOLD(call, GNI_GetDeviceType, (&type.value), 0);
    TOLD(call, GNI_GetVersion, (&first.value), 0);
    TOLD(call, GNI_GetVersionInformation, (&version.value), 0);
    OUT_CHECK(type);
    OUT_CHECK(version);
    OUT_CHECK(devices);
    OUT_CHECK(first);
    OUT_CHECK(second);
    OUT_CHECK(ptag);
    OUT_CHECK(device);
    OUT_CHECK(job);
}

void call_sleep(struct call *call)
{
    static const sim_time_t times[] = {SIM_US, 10 * SIM_US, 100 * SIM_US,
                                       SIM_MS, 10 * SIM_MS, SIM_NS};

    sim_spend(times[call->b[2] % 6] * (1 + call->b[3] % 4));
    sim_settle();
}

/* What other programs do with mmap and mprotect to memory that is registered. */
void call_protect(struct call *call)
{
    static const int protections[] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE};

    if (mprotect(call->process->arena + (FLAKY_PAGE + call->b[2] % 2) * PAGE, PAGE,
                 protections[call->b[3] % 3]) != 0)
        die("mprotect failed");
}

void call_leave(struct call *call)
{
    if (call->b[2] == 0x55) /* seldom */
        call->thread->next = call->thread->end;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Locks: 0 as the header asks; 1: [any thread]. */
static const struct entry {
    call_fn *fn;
    bool any_thread;
} entries[64] = {
    {call_cdm_create, 0},
    {call_cdm_destroy, 0},
    {call_cdm_attach, 0},
    {call_cq_create, 0},
    {call_cq_destroy, 0},
    {call_ep_create, 0},
    {call_ep_bind, 0},
    {call_ep_unbind, 0},
    {call_ep_destroy, 0},
    {call_ep_misc, 0},
    {call_mem_register, 0},
    {call_mem_segments, 0},
    {call_mem_deregister, 0},
    {call_mem_misc, 0},
    {call_cq_get, 0},
    {call_cq_wait, 1},
    {call_cq_vector_wait, 1},
    {call_cq_vector_monitor, 1},
    {call_cq_mask, 0},
    {call_cq_misc, 0},
    {call_device, 0},
    {call_sleep, 1},
    {call_protect, 0},
    {call_leave, 1},
    {call_rdma, 0},
    {call_put, 0},
    {call_get, 0},
    {call_amo, 0},
    {call_chain, 0},
    {call_cqwrite, 0},
    {call_cqwrite_chain, 0},
    {call_completed, 0},
    {call_collect, 0},
    {call_post_data, 0},
    {call_data_test, 0},
    {call_data_wait, 0},
    {call_data_probe, 0},
    {call_data_probe_wait, 1},
    {call_data_cancel, 0},
    {call_smsg_init, 0},
    {call_smsg_send, 0},
    {call_smsg_next, 0},
    {call_smsg_release, 0},
    {call_smsg_misc, 0},
    {call_msgq_make, 0},
    {call_msgq_connect, 0},
    {call_msgq_send, 0},
    {call_msgq_progress, 0},
    {call_ce_make, 0},
    {call_ce_configure, 0},
    {call_ce_post, 0},
    {call_channel, 0},
    {call_channel_event, 1},
    {call_errors, 0},
    {call_error_events, 1},
    {call_job, 0},
    {call_injection, 0},
    /* Again what makes the others reach something. */
    {call_rdma, 0},
    {call_put, 0},
    {call_amo, 0},
    {call_collect, 0},
    {call_smsg_send, 0},
    {call_smsg_next, 0},
    {call_sleep, 1},
};

static void lock(struct thread *thread)
{
    const struct sim_wait wait = {.text = "the lock of its process", .what = thread->process};

    while (thread->process->lock != NULL)
        sim_wait_until(SIM_NEVER, &wait);
    thread->process->lock = thread;
}

static void unlock(struct thread *thread)
{
    struct process *process = thread->process;
    uint32_t i;

    process->lock = NULL;
    for (i = 0; i < process->threads; i++)
        if (&process->thread[i] != thread && !process->thread[i].ended)
            sim_wake(process->thread[i].fiber);
}

/* A channel whose only child is its process, which can join through the endpoint to itself. */
static void prepare_engine(struct process *process)
{
    gni_ep_handle_t self = process->slot[EP][process->id];
    gni_ce_handle_t ce;
    uint32_t id;

    if (GNI_CeCreate(process->slot[NIC][0], &ce) != GNI_RC_SUCCESS)
        return;
    model_made(CE, ce, process->id, model_domain(NIC, process->slot[NIC][0]));
    process->slot[CE][0] = ce;
    if (GNI_CeGetId(ce, &id) != GNI_RC_SUCCESS ||
        GNI_EpSetCeAttr(self, id, 0, GNI_CE_CHILD_PE) != GNI_RC_SUCCESS)
        return;
    GNI_CeConfigure(ce, &self, 1, NULL, process->slot[CQ][1], GNI_CE_MODE_CQE_ONCOMP);
}

static void make(struct call *call, call_fn *fn, uint8_t a, uint8_t b, uint8_t c, uint8_t d,
                 uint8_t e, uint8_t f)
{
    const uint8_t record[RECORD_BYTES] = {0, 0, a, b, c, d, e, f};

    call->b = record;
    fn(call);
}

/*
 * What takes several calls in the right order, which bytes at random hardly ever make: a channel, a
 * subscription, mailboxes and message queues that are connected. Only behind a mark in the head, so
 * that older sequences mean what they meant.
 */
static void prepare_services(struct call *call)
{
    struct process *process = call->process;
    uint8_t here = 0, i;

    for (i = 0; i < world.processes; i++)
        here += world.process[i].node == process->node;
    make(call, call_channel, 0, 0, 0, 0, 0, 0); /* created, and attached to queue 1 */
    make(call, call_channel, 0, 2, 0, 1, 0, 0);
    make(call, call_errors, 0, 0, 0, 0, 0, 7);
    make(call, call_msgq_make, 0, 0, 0, 7, (uint8_t)(3 | (here - 1) << 6), 32);
    sim_sleep_until(SIM_MS); /* the others are as far */
    for (i = 0; i < world.processes; i++) {
        make(call, call_smsg_init, i, 0, i, 0, 0, 0);
        make(call, call_msgq_connect, 0, i, 0, 0, 0, 0); /* GNI_MsgqGetConnAttrs */
    }
    sim_sleep_until(SIM_MS + 500 * SIM_US);
    for (i = 0; i < world.processes; i++)
        make(call, call_msgq_connect, 0, i, 1, 0, 0, 0); /* GNI_MsgqConnect */
}

void calls_prepare(struct thread *thread)
{
    static const uint8_t none[RECORD_BYTES];
    struct call call = {thread, thread->process, none};
    uint32_t id = thread->process->id, i;
    uint64_t arena = (uintptr_t)thread->process->arena;

    create_domain(&call, 0, id, 17, cookies[0],
                  GNI_CDM_MODE_ERR_NO_KILL | GNI_CDM_MODE_DUAL_EVENTS |
                      GNI_CDM_MODE_CACHED_AMO_ENABLED);
    if (attach(&call, 0, 0) == NULL)
        return;
    create_queue(&call, 0, 0, 64, GNI_CQ_NOBLOCK, false);
    create_queue(&call, 0, 1, 64, GNI_CQ_BLOCKING, false);
    create_queue(&call, 0, 2, 4, GNI_CQ_BLOCKING, true);
    register_memory(&call, 0, 1, 0, arena, 2 * PAGE, 0, UINT32_MAX);
    register_memory(&call, 0, SLOTS - 1, 1, arena + 3 * PAGE, 2 * PAGE, 0, UINT32_MAX);
    register_memory(&call, 0, 1, 2, arena + 5 * PAGE, PAGE, GNI_MEM_READ_ONLY, UINT32_MAX);
    register_memory(&call, 0, 1, 3, arena + MAILBOX_PAGE * PAGE, PAGE, 0, UINT32_MAX);
    register_memory(&call, 0, 1, 4, arena + FLAKY_PAGE * PAGE, 2 * PAGE, 0, UINT32_MAX);
    for (i = 0; i < RANKS; i++) {
        create_ep(&call, 0, 0, i);
        if (GNI_EpBind(thread->process->slot[EP][i], address_of((uint8_t)i), i) == GNI_RC_SUCCESS)
            model_bound(thread->process->slot[EP][i], node_of((uint8_t)i));
    }
    prepare_engine(thread->process);
    if (world.head[14] == SERVICES)
        prepare_services(&call);
}

void calls_run(struct thread *thread)
{
    struct call call = {thread, thread->process, NULL};

    while (thread->next < thread->end) {
        const struct entry *entry;

        call.b = thread->next;
        thread->next += RECORD_BYTES;
        if ((call.b[1] & 3) % world.processes != call.process->id ||
            (call.b[1] >> 2 & 1) % call.process->threads != thread->id)
            continue;
        entry = &entries[call.b[0] % 64];
        if (!entry->any_thread)
            lock(thread);
        entry->fn(&call);
        if (!entry->any_thread)
            unlock(thread);
        sim_clock_read(); /* a program that gets on, whatever it polled */
    }
}

void calls_destroy_all(struct process *process)
{
    gni_cdm_handle_t cdm;

    while ((cdm = model_any(CDM, process->id)) != NULL) {
        uint32_t domain = model_domain(CDM, cdm);

        if (GNI_CdmDestroy(cdm) != GNI_RC_SUCCESS)
            die("a domain that is alive cannot be destroyed");
        model_gone(CDM, cdm);
        post_forget(process, domain);
    }
}
