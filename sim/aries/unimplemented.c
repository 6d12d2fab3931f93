/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of gni_pub.h that have no behaviour behind them yet. Each is one line, so that
 * docs/ugni-coverage.md can be made from this file: it checks nothing and says GNI_RC_ILLEGAL_OP,
 * which real clients take for "this NIC does not have it".
 */
#include "gni_pub.h"

#define GNIX_UNIMPLEMENTED(function, ...) \
    gni_return_t function(__VA_ARGS__)    \
    {                                     \
        return GNI_RC_ILLEGAL_OP;         \
    }

/* clang-format off */

/* Jobs: suspending, and the node translation table. */
GNIX_UNIMPLEMENTED(GNI_SuspendJob, uint32_t device_id, uint64_t job_id, uint8_t ptag, uint32_t cookie, uint32_t timeout)
GNIX_UNIMPLEMENTED(GNI_ResumeJob, uint32_t device_id, uint64_t job_id, uint8_t ptag, uint32_t cookie)
GNIX_UNIMPLEMENTED(GNI_ConfigureNTT, int device_id, gni_ntt_descriptor_t *ntt_desc, uint32_t *ntt_base)
GNIX_UNIMPLEMENTED(GNI_ConfigureNTTandJob, int device_id, uint64_t job_id, uint8_t ptag, uint32_t cookie, gni_job_limits_t *limits, gni_ntt_descriptor_t *ntt_desc, uint32_t *ntt_base)
GNIX_UNIMPLEMENTED(GNI_GetNttGran, uint32_t device_id, uint32_t *ntt_gran)
GNIX_UNIMPLEMENTED(GNI_SetJobResInfo, uint32_t device_id, uint8_t ptag, gni_job_res_t res_type, uint64_t res_value)

/* Shared message queues. */
GNIX_UNIMPLEMENTED(GNI_MsgqInit, gni_nic_handle_t nic_hndl, gni_msgq_rcv_cb_func *rcv_cb, void *cb_data, gni_cq_handle_t snd_cq, gni_msgq_attr_t *attrs, gni_msgq_handle_t *msgq_hndl)
GNIX_UNIMPLEMENTED(GNI_MsgqRelease, gni_msgq_handle_t msgq_hndl)
GNIX_UNIMPLEMENTED(GNI_MsgqIdle, gni_msgq_handle_t msgq_hndl)
GNIX_UNIMPLEMENTED(GNI_MsgqGetConnAttrs, gni_msgq_handle_t msgq_hndl, uint32_t pe_addr, gni_msgq_ep_attr_t *attrs, uint32_t *attrs_size)
GNIX_UNIMPLEMENTED(GNI_MsgqConnect, gni_msgq_handle_t msgq_hndl, uint32_t pe_addr, gni_msgq_ep_attr_t *attrs)
GNIX_UNIMPLEMENTED(GNI_MsgqConnRelease, gni_msgq_handle_t msgq_hndl, uint32_t pe_addr)
GNIX_UNIMPLEMENTED(GNI_MsgqSend, gni_msgq_handle_t msgq_hndl, gni_ep_handle_t ep_hndl, void *hdr, uint32_t hdr_len, void *msg, uint32_t msg_len, uint32_t msg_id, uint8_t msg_tag)
GNIX_UNIMPLEMENTED(GNI_MsgqProgress, gni_msgq_handle_t msgq_hndl, uint32_t timeout)
GNIX_UNIMPLEMENTED(GNI_MsgqSize, gni_msgq_attr_t *attrs, uint32_t *size)

/* Error events. */
GNIX_UNIMPLEMENTED(GNI_SubscribeErrors, gni_nic_handle_t nic_handle, uint32_t device_id, gni_error_mask_t mask, uint32_t EEQ_size, gni_err_handle_t *err_handle)
GNIX_UNIMPLEMENTED(GNI_ReleaseErrors, gni_err_handle_t err_handle)
GNIX_UNIMPLEMENTED(GNI_GetErrorMask, gni_err_handle_t err_handle, gni_error_mask_t *mask)
GNIX_UNIMPLEMENTED(GNI_SetErrorMask, gni_err_handle_t err_handle, gni_error_mask_t mask_in, gni_error_mask_t *mask_out)
GNIX_UNIMPLEMENTED(GNI_GetErrorEvent, gni_err_handle_t err_handle, gni_error_event_t *event)
GNIX_UNIMPLEMENTED(GNI_WaitErrorEvents, gni_err_handle_t err_handle, gni_error_event_t *events, uint32_t events_size, uint32_t timeout, uint32_t *num_events)
GNIX_UNIMPLEMENTED(GNI_SetErrorPtag, gni_err_handle_t err_handle, uint8_t ptag)

/* Collective engine. */
GNIX_UNIMPLEMENTED(GNI_CeCreate, gni_nic_handle_t nic_hndl, gni_ce_handle_t *ce_hndl)
GNIX_UNIMPLEMENTED(GNI_CeGetId, gni_ce_handle_t ce_hndl, uint32_t *ce_id)
GNIX_UNIMPLEMENTED(GNI_EpSetCeAttr, gni_ep_handle_t ep_hndl, uint32_t ce_id, uint32_t child_id, gni_ce_child_t child_type)
GNIX_UNIMPLEMENTED(GNI_CeConfigure, gni_ce_handle_t ce_hndl, gni_ep_handle_t *child_eps, uint32_t num_child_eps, gni_ep_handle_t parent_ep, gni_cq_handle_t cq_hndl, uint32_t modes)
GNIX_UNIMPLEMENTED(GNI_CeCheckResult, gni_ce_result_t *result, uint32_t length)
GNIX_UNIMPLEMENTED(GNI_CeDestroy, gni_ce_handle_t ce_hndl)

/* Balanced injection. */
GNIX_UNIMPLEMENTED(GNI_SetBIConfig, uint32_t device_id, uint16_t bw, uint16_t aot_bw, uint16_t modes)
GNIX_UNIMPLEMENTED(GNI_GetBIConfig, uint32_t device_id, gni_bi_desc_t *desc)
GNIX_UNIMPLEMENTED(GNI_BISyncWait, uint32_t device_id, uint32_t timeout)

/* Completion channels. */
GNIX_UNIMPLEMENTED(GNI_CompChanCreate, gni_nic_handle_t nic_hndl, gni_comp_chan_handle_t *chan_hndl)
GNIX_UNIMPLEMENTED(GNI_CompChanDestroy, gni_comp_chan_handle_t chan_hndl)
GNIX_UNIMPLEMENTED(GNI_CompChanFd, gni_comp_chan_handle_t chan_hndl, int *comp_chan_fd)
GNIX_UNIMPLEMENTED(GNI_CompChanGetEvent, gni_comp_chan_handle_t chan_hndl, gni_cq_handle_t *cq_hndl)
GNIX_UNIMPLEMENTED(GNI_CqAttachCompChan, gni_cq_handle_t cq_hndl, gni_comp_chan_handle_t chan_hndl)
GNIX_UNIMPLEMENTED(GNI_CqArmCompChan, gni_cq_handle_t *cq_hndls, uint32_t num_cqs)
