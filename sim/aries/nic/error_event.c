/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Error events: the NIC reports them to subscribers, besides the completions of the transactions
 * concerned. Each event has one category. Hardware numbers the categories from the other end (0x80
 * is CRITICAL); users see the order of GNI_ERRMASK_.
 */
#include "nic/error_event.h"

#include <assert.h>
#include <glib.h>
#include "aries/misc/exceptions.h"
#include "nic/status.h"

gni_error_mask_t aries_error_category(uint8_t status)
{
    switch (status) {
    case A_STATUS_AT_MDD_UNCORRECTABLE:
    case A_STATUS_AT_PTT_UNCORRECTABLE:
    case A_STATUS_AT_TCE_UNCORRECTABLE:
    case A_STATUS_AT_PF_UNCORRECTABLE:
    case A_STATUS_AT_UNCORRECTABLE:
    case A_STATUS_FMA_UNCORRECTABLE:
    case A_STATUS_BTE_UNCORRECTABLE:
    case A_STATUS_SSID_UNCORRECTABLE:
    case A_STATUS_RMT_DESC_UNCORRECTABLE:
    case A_STATUS_RMT_SEQTBL_UNCORRECTABLE:
    case A_STATUS_RMT_CAM_UNCORRECTABLE:
    case A_STATUS_CE_UNCORRECTABLE:
    case A_STATUS_WC_TAG_UNCORRECTABLE:
        return GNI_ERRMASK_CRITICAL;
    case A_STATUS_ORB_TIMEOUT:
    case A_STATUS_SSID_TIMEOUT:
    case A_STATUS_BTE_TIMEOUT:
    case A_STATUS_RMT_TIMEOUT:
    case A_STATUS_PI_TIMEOUT:
    case A_STATUS_AT_PF_TIMEOUT:
    case A_STATUS_DATA_ERR:
    case A_STATUS_DATA_POISON:
        return GNI_ERRMASK_TRANSIENT;
    default:
        return status >= A_STATUS_AT_VMDHCAM_MALFORMED && status <= A_STATUS_AT_PF_WR_PERMISSION_ERR
                   ? GNI_ERRMASK_ADDRESS_TRANSLATION
                   : GNI_ERRMASK_TRANSACTION;
    }
}

/* An event that finds its queue full is lost. The serial numbers show the gap. */
static void store(struct gni_err *errors, const gni_error_event_t *event)
{
    if (errors->ring == NULL)
        errors->ring = g_new(gni_error_event_t, errors->capacity);
    assert(errors->count <= errors->capacity && errors->head < errors->capacity);
    if (errors->count == errors->capacity)
        return;
    errors->ring[(errors->head + errors->count++) % errors->capacity] = *event;
    aries_process_notify(errors->process);
}

/* A critical error kills every process of the tag that did not ask to be spared. */
static void kill_processes(struct aries_nic *hw, uint8_t ptag)
{
    struct aries_list *link, *inner;

    if (!hw->fabric->timing.kill)
        return;
    for (link = hw->processes.next; link != &hw->processes;) {
        struct aries_process *process = sim_container_of(link, struct aries_process, node_link);
        bool concerned = false;

        link = link->next; /* the callback may release the process */
        for (inner = process->cdms.next; inner != &process->cdms; inner = inner->next) {
            const struct gni_cdm *cdm = sim_container_of(inner, struct gni_cdm, process_link);

            concerned |= cdm->nic != NULL && (ptag == 0 || cdm->nic->ptag == ptag) &&
                         !(cdm->modes & GNI_CDM_MODE_ERR_NO_KILL);
        }
        if (concerned)
            aries_process_kill(process, "a critical error of the NIC");
    }
}

void aries_error_raise(struct aries_nic *hw, gni_error_mask_t mask, uint16_t code, uint8_t ptag,
                       uint64_t info)
{
    const gni_error_event_t event = {
        .error_code = code,
        .error_category = mask,
        .ptag = ptag,
        .serial_number = ++hw->error_serial,
        .timestamp = sim_now() / SIM_NS,
        .info_mmrs = {info, hw->pe_addr},
    };
    struct aries_list *link;

    hw->fabric->counters.error_events++;
    if (code < ARIES_STATUS_COUNT)
        sim_trace_add_text("error", aries_status_name(code));
    sim_trace(SIM_TRACE_INSTANT, SIM_TRACK_FAULT, hw->node, 0, "error event", sim_now(), 0, 0,
              code);
    for (link = hw->errors.next; link != &hw->errors; link = link->next) {
        struct gni_err *errors = sim_container_of(link, struct gni_err, hw_link);

        if ((errors->mask & mask) && (ptag == 0 || errors->ptag == 0 || errors->ptag == ptag))
            store(errors, &event);
    }
    if (mask & GNI_ERRMASK_CRITICAL)
        kill_processes(hw, ptag);
}

const char *aries_status_text(uint32_t status)
{
    return status < ARIES_STATUS_COUNT ? aries_status_name(status) : NULL;
}

void aries_error_inject(struct aries_fabric *fabric, uint32_t node, uint8_t category, uint16_t code,
                        uint8_t ptag)
{
    aries_error_raise(&fabric->nics[node], category, code, ptag, 0);
}
