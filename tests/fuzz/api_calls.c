/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "api.h"

/* ---- helpers --------------------------------------------------------------------------------- */

gni_return_t checked(const struct call *call, const char *name, gni_return_t rc,
                     uint32_t documented)
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
    if (slots[selector] == NULL &&
        world.head[14] == SERVICES) /* prefer an object of calls_prepare() */
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

/* Stores a handle in a slot of the process, in place of the one there. */
static void keep(const struct call *call, enum kind kind, unsigned selector, void *handle,
                 uint32_t domain)
{
    unsigned slot = selector % (SLOTS - 1) % (kind <= NIC ? DOMAINS : SLOTS);

    model_made(kind, handle, call->process->id, domain);
    call->process->slot[kind][slot] = handle;
}

/* ---- domains --------------------------------------------------------------------------------- */

static const uint8_t ptags[] = {17, 17, 18, GNI_FIND_ALLOC_PTAG, 0, 254, 40};
const uint32_t cookies[COOKIES] = {GNI_JOB_CREATE_COOKIE(0x1234, 0),
                                   GNI_JOB_CREATE_COOKIE(0x4321, 0), 0,
                                   GNI_JOB_CREATE_COOKIE(7, 0)};

void create_domain(struct call *call, unsigned selector, uint32_t inst_id, uint8_t ptag,
                   uint32_t cookie, uint32_t modes)
{
    OUT_VALUE(gni_cdm_handle_t, cdm);
    unsigned slot = selector % DOMAINS;

    if (CHECKED(call, GNI_CdmCreate, (inst_id, ptag, cookie, modes, &cdm.value), RC(ERROR_NOMEM)) ==
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

    if (CHECKED(call, GNI_CdmDestroy, (cdm), 0) != GNI_RC_SUCCESS)
        return;
    model_gone(CDM, cdm);
    post_forget(process, domain);
}

gni_nic_handle_t attach(struct call *call, unsigned selector, uint32_t device)
{
    OUT_VALUE(gni_nic_handle_t, nic);
    OUT_VALUE(uint32_t, address);
    gni_cdm_handle_t cdm = pick(call, CDM, selector);

    if (CHECKED(call, GNI_CdmAttach, (cdm, device, &address.value, &nic.value),
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

void create_queue(struct call *call, unsigned nic, unsigned selector, uint32_t entries,
                  gni_cq_mode_t mode, bool handled)
{
    OUT_VALUE(gni_cq_handle_t, cq);
    gni_nic_handle_t nic_handle = pick(call, NIC, nic);

    if (CHECKED(call, GNI_CqCreate,
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

    if (CHECKED(call, GNI_CqDestroy, (cq), RC(ERROR_RESOURCE)) == GNI_RC_SUCCESS)
        model_gone(CQ, cq);
}

/* Stores the entry for GNI_GetCompleted, if the code says that there was one. */
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
        CHECKED(call, GNI_CqGetEvent, (pick(call, CQ, call->b[2]), &event.value), READ_CODES);

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
    gni_return_t rc = CHECKED(call, GNI_CqWaitEvent,
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
    gni_return_t rc = CHECKED(call, GNI_CqVectorWaitEvent,
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
    gni_return_t rc = CHECKED(
        call, GNI_CqVectorMonitor, (queues, count, timeout_of(call->b[6]), &which.value),
        RC(TIMEOUT) | RC(NOT_DONE) | RC(INVALID_STATE) | RC(ERROR_RESOURCE) | RC(ERROR_NOMEM));

    OUT_CHECK(which);
    if (rc == GNI_RC_SUCCESS && which.value >= count)
        die("queue %u of %u has an entry", which.value, count);
}

void call_cq_mask(struct call *call)
{
    gni_cq_handle_t cq = pick(call, CQ, call->b[2]);

    if (call->b[3] & 1)
        CHECKED(call, GNI_CqInterruptMask, (cq), RC(NOT_DONE) | RC(ERROR_RESOURCE));
    else
        CHECKED(call, GNI_CqInterruptUnmask, (cq), RC(NOT_DONE));
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
    CHECKED(call, GNI_CqTestEvent, (pick(call, CQ, call->b[2])), RC(NOT_DONE) | RC(ERROR_RESOURCE));
    CHECKED(call, GNI_CqErrorStr, (event, buffer.text, length), RC(SIZE_ERROR));
    CHECKED(call, GNI_CqErrorRecoverable, (event, &recoverable.value), RC(INVALID_STATE));
    OUT_CHECK(recoverable);
    if (buffer.after != GUARD || (length < 64 && buffer.text[length] != '\0'))
        die("GNI_CqErrorStr wrote more than its buffer holds");
}

/* ---- endpoints ------------------------------------------------------------------------------- */

uint32_t address_of(uint8_t selector)
{
    static const uint32_t nowhere[] = {0x3ffff, 0x100, UINT32_MAX, 0x40000};

    if (selector % 8 < RANKS)
        return aries_nic_address(world.fabric, world.process[selector % RANKS].node);
    return nowhere[selector % 4];
}

uint32_t node_of(uint8_t selector)
{
    return selector % 8 < RANKS ? world.process[selector % RANKS].node : UINT32_MAX;
}

void create_ep(struct call *call, unsigned nic, unsigned cq, unsigned selector)
{
    OUT_VALUE(gni_ep_handle_t, ep);
    gni_nic_handle_t nic_handle = pick(call, NIC, nic);

    if (CHECKED(call, GNI_EpCreate, (nic_handle, pick(call, CQ, cq), &ep.value), RC(ERROR_NOMEM)) ==
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

    if (CHECKED(call, GNI_EpBind, (ep, address_of(call->b[3]), id),
                RC(ERROR_RESOURCE) | RC(ERROR_NOMEM)) == GNI_RC_SUCCESS)
        model_bound(ep, node_of(call->b[3]));
}

void call_ep_unbind(struct call *call)
{
    CHECKED(call, GNI_EpUnbind, (pick(call, EP, call->b[2])), RC(NOT_DONE));
}

void call_ep_destroy(struct call *call)
{
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);

    if (CHECKED(call, GNI_EpDestroy, (ep), 0) == GNI_RC_SUCCESS)
        model_gone(EP, ep);
}

void call_ep_misc(struct call *call)
{
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);

    CHECKED(call, GNI_EpIdle, (ep), RC(NOT_DONE));
    CHECKED(call, GNI_EpSetEventData, (ep, b16(call, 3) * 0x10001, b16(call, 5) * 0x10001), 0);
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

    CHECKED(call, GNI_CdmGetNicAddress, (number, &first.value, &second.value), RC(NO_MATCH));
    CHECKED(call, GNI_GetNicStat, (nic, (gni_statistic_t)(call->b[4] % 24), &first.value), 0);
    CHECKED(call, GNI_ResetNicStat, (nic, (gni_statistic_t)(call->b[5] % 24)), 0);
    CHECKED(call, GNI_GetDevResInfo, (number, (gni_dev_res_t)(call->b[4] % 11), &device.value),
            RC(ERROR_RESOURCE));
    CHECKED(
        call, GNI_GetJobResInfo,
        (number, ptags[call->b[6] % sizeof(ptags)], (gni_job_res_t)(call->b[5] % 16), &job.value),
        RC(ERROR_RESOURCE));
    CHECKED(call, GNI_GetPtag, (number, cookies[call->b[7] % 4], &ptag.value),
            RC(NO_MATCH) | RC(ERROR_RESOURCE));
    CHECKED(call, GNI_GetNumLocalDevices, (&devices.value), 0);
    CHECKED(call, GNI_GetLocalDeviceIds, (call->b[4] % 2, &devices.value), 0);
    CHECKED(call, GNI_GetDeviceType, (&type.value), 0);
    CHECKED(call, GNI_GetVersion, (&first.value), 0);
    CHECKED(call, GNI_GetVersionInformation, (&version.value), 0);
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

/* Changes the protection of registered memory, as programs do with mprotect. */
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
