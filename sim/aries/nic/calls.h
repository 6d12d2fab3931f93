/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls of gni_pub.h: name, parameters, names of the parameters. In libugni (live/entry.c) each
 * call locks the process's lock, calls the front and unlocks. WAIT: a thread may be cancelled in
 * it. POLL: it returns without the lock if it can tell that there is nothing. In a simulation
 * (sim/entry.c) the engine learns which call is in progress.
 */
/* clang-format off */
CALL(GNI_CdmCreate, (IN uint32_t inst_id, IN uint8_t ptag, IN uint32_t cookie, IN uint32_t modes,
     OUT gni_cdm_handle_t *cdm_hndl),
     (inst_id, ptag, cookie, modes, cdm_hndl))
CALL(GNI_CdmDestroy, (IN gni_cdm_handle_t cdm_hndl),
     (cdm_hndl))
CALL(GNI_CdmGetNicAddress, (IN uint32_t device_id, OUT uint32_t *address, OUT uint32_t *cpu_id),
     (device_id, address, cpu_id))
CALL(GNI_CdmAttach, (IN gni_cdm_handle_t cdm_hndl, IN uint32_t device_id,
     OUT uint32_t *local_addr, OUT gni_nic_handle_t *nic_hndl),
     (cdm_hndl, device_id, local_addr, nic_hndl))
WAIT(GNI_SuspendJob, (IN uint32_t device_id, IN uint64_t job_id, IN uint8_t ptag,
     IN uint32_t cookie, IN uint32_t timeout),
     (device_id, job_id, ptag, cookie, timeout))
CALL(GNI_ResumeJob, (IN uint32_t device_id, IN uint64_t job_id, IN uint8_t ptag,
     IN uint32_t cookie),
     (device_id, job_id, ptag, cookie))
CALL(GNI_ConfigureNTT, (IN int device_id, IN gni_ntt_descriptor_t *ntt_desc,
     INOUT uint32_t *ntt_base),
     (device_id, ntt_desc, ntt_base))
CALL(GNI_ConfigureJob, (IN uint32_t device_id, IN uint64_t job_id, IN uint8_t ptag,
     IN uint32_t cookie, IN gni_job_limits_t *limits),
     (device_id, job_id, ptag, cookie, limits))
CALL(GNI_ConfigureNTTandJob, (IN int device_id, IN uint64_t job_id, IN uint8_t ptag,
     IN uint32_t cookie, IN gni_job_limits_t *limits, IN gni_ntt_descriptor_t *ntt_desc,
     INOUT uint32_t *ntt_base),
     (device_id, job_id, ptag, cookie, limits, ntt_desc, ntt_base))
CALL(GNI_EpCreate, (IN gni_nic_handle_t nic_hndl, IN gni_cq_handle_t src_cq_hndl,
     OUT gni_ep_handle_t *ep_hndl),
     (nic_hndl, src_cq_hndl, ep_hndl))
CALL(GNI_EpSetEventData, (IN gni_ep_handle_t ep_hndl, IN uint32_t local_event,
     IN uint32_t remote_event),
     (ep_hndl, local_event, remote_event))
CALL(GNI_EpBind, (IN gni_ep_handle_t ep_hndl, IN uint32_t remote_addr, IN uint32_t remote_id),
     (ep_hndl, remote_addr, remote_id))
CALL(GNI_EpUnbind, (IN gni_ep_handle_t ep_hndl),
     (ep_hndl))
CALL(GNI_EpIdle, (IN gni_ep_handle_t ep_hndl),
     (ep_hndl))
CALL(GNI_EpDestroy, (IN gni_ep_handle_t ep_hndl),
     (ep_hndl))
CALL(GNI_EpPostData, (IN gni_ep_handle_t ep_hndl, IN void *in_data, IN uint16_t data_len,
     IN void *out_buf, IN uint16_t buf_size),
     (ep_hndl, in_data, data_len, out_buf, buf_size))
CALL(GNI_EpPostDataWId, (IN gni_ep_handle_t ep_hndl, IN void *in_data, IN uint16_t data_len,
     IN void *out_buf, IN uint16_t buf_size, IN uint64_t datagram_id),
     (ep_hndl, in_data, data_len, out_buf, buf_size, datagram_id))
CALL(GNI_EpPostDataTest, (IN gni_ep_handle_t ep_hndl, OUT gni_post_state_t *post_state,
     OUT uint32_t *remote_addr, OUT uint32_t *remote_id),
     (ep_hndl, post_state, remote_addr, remote_id))
CALL(GNI_EpPostDataTestById, (IN gni_ep_handle_t ep_hndl, IN uint64_t datagram_id,
     OUT gni_post_state_t *post_state, OUT uint32_t *remote_addr, OUT uint32_t *remote_id),
     (ep_hndl, datagram_id, post_state, remote_addr, remote_id))
WAIT(GNI_EpPostDataWait, (IN gni_ep_handle_t ep_hndl, IN uint32_t timeout,
     OUT gni_post_state_t *post_state, OUT uint32_t *remote_addr, OUT uint32_t *remote_id),
     (ep_hndl, timeout, post_state, remote_addr, remote_id))
WAIT(GNI_EpPostDataWaitById, (IN gni_ep_handle_t ep_hndl, IN uint64_t datagram_id,
     IN uint32_t timeout, OUT gni_post_state_t *post_state, OUT uint32_t *remote_addr,
     OUT uint32_t *remote_id),
     (ep_hndl, datagram_id, timeout, post_state, remote_addr, remote_id))
CALL(GNI_PostDataProbe, (IN gni_nic_handle_t nic_hndl, OUT uint32_t *remote_addr,
     OUT uint32_t *remote_id),
     (nic_hndl, remote_addr, remote_id))
POLL(GNI_PostDataProbeById, (IN gni_nic_handle_t nic_hndl, OUT uint64_t *datagram_id),
     (nic_hndl, datagram_id),
     datagram_id != NULL && aries_live_no_datagrams(nic_hndl), GNI_RC_NO_MATCH)
WAIT(GNI_PostdataProbeWaitById, (IN gni_nic_handle_t nic_hndl, IN uint32_t timeout,
     OUT uint64_t *datagram_id),
     (nic_hndl, timeout, datagram_id))
CALL(GNI_EpPostDataCancel, (IN gni_ep_handle_t ep_hndl),
     (ep_hndl))
CALL(GNI_EpPostDataCancelById, (IN gni_ep_handle_t ep_hndl, IN uint64_t datagram_id),
     (ep_hndl, datagram_id))
CALL(GNI_MemRegister, (IN gni_nic_handle_t nic_hndl, IN uint64_t address, IN uint64_t length,
     IN gni_cq_handle_t dst_cq_hndl, IN uint32_t flags, IN uint32_t vmdh_index,
     INOUT gni_mem_handle_t *mem_hndl),
     (nic_hndl, address, length, dst_cq_hndl, flags, vmdh_index, mem_hndl))
CALL(GNI_MemRegisterSegments, (IN gni_nic_handle_t nic_hndl, IN gni_mem_segment_t *mem_segments,
     IN uint32_t segments_cnt, IN gni_cq_handle_t dst_cq_hndl, IN uint32_t flags,
     IN uint32_t vmdh_index, INOUT gni_mem_handle_t *mem_hndl),
     (nic_hndl, mem_segments, segments_cnt, dst_cq_hndl, flags, vmdh_index, mem_hndl))
CALL(GNI_SetMddResources, (IN gni_nic_handle_t nic_hndl, IN uint32_t num_entries),
     (nic_hndl, num_entries))
CALL(GNI_MemDeregister, (IN gni_nic_handle_t nic_hndl, IN gni_mem_handle_t *mem_hndl),
     (nic_hndl, mem_hndl))
CALL(GNI_MemHndlQueryAttr, (IN gni_mem_handle_t *mem_hndl, IN gni_mem_handle_attr_t attr,
     OUT int *yesno),
     (mem_hndl, attr, yesno))
CALL(GNI_RebuildMemHndl, (IN gni_mem_handle_t *src_mem_hndl, IN uint32_t vmdh_index,
     OUT gni_mem_handle_t *dst_mem_hndl),
     (src_mem_hndl, vmdh_index, dst_mem_hndl))
CALL(GNI_MemQueryHndls, (IN gni_nic_handle_t nic_hndl, IN int fd,
     INOUT gni_mem_handle_t *mem_hndl, OUT uint64_t *address, OUT uint64_t *length),
     (nic_hndl, fd, mem_hndl, address, length))
CALL(GNI_CqCreate, (IN gni_nic_handle_t nic_hndl, IN uint32_t entry_count,
     IN uint32_t delay_count, IN gni_cq_mode_t mode,
     IN void (*handler)(IN gni_cq_entry_t *, IN void *), IN void *context,
     OUT gni_cq_handle_t *cq_hndl),
     (nic_hndl, entry_count, delay_count, mode, handler, context, cq_hndl))
CALL(GNI_CqDestroy, (IN gni_cq_handle_t cq_hndl),
     (cq_hndl))
POLL(GNI_CqGetEvent, (IN gni_cq_handle_t cq_hndl, OUT gni_cq_entry_t *event_data),
     (cq_hndl, event_data),
     aries_live_no_event(cq_hndl, event_data), GNI_RC_NOT_DONE)
WAIT(GNI_CqWaitEvent, (IN gni_cq_handle_t cq_hndl, IN uint64_t timeout,
     OUT gni_cq_entry_t *event_data),
     (cq_hndl, timeout, event_data))
WAIT(GNI_CqVectorWaitEvent, (IN gni_cq_handle_t *cq_hndls, IN uint32_t num_cqs,
     IN uint64_t timeout, OUT gni_cq_entry_t *event_data, OUT uint32_t *which),
     (cq_hndls, num_cqs, timeout, event_data, which))
WAIT(GNI_CqVectorMonitor, (IN gni_cq_handle_t *cq_hndls, IN uint32_t num_cqs, IN uint64_t timeout,
     OUT uint32_t *which),
     (cq_hndls, num_cqs, timeout, which))
CALL(GNI_CqInterruptMask, (IN gni_cq_handle_t cq_hndl),
     (cq_hndl))
CALL(GNI_CqInterruptUnmask, (IN gni_cq_handle_t cq_hndl),
     (cq_hndl))
POLL(GNI_CqTestEvent, (IN gni_cq_handle_t cq_hndl),
     (cq_hndl), aries_live_cq_is_empty(cq_hndl), GNI_RC_NOT_DONE)
CALL(GNI_CqErrorStr, (IN gni_cq_entry_t entry, IN void *buffer, IN uint32_t len),
     (entry, buffer, len))
CALL(GNI_CqErrorRecoverable, (IN gni_cq_entry_t entry, OUT uint32_t *recoverable),
     (entry, recoverable))
CALL(GNI_PostRdma, (IN gni_ep_handle_t ep_hndl, IN gni_post_descriptor_t *post_descr),
     (ep_hndl, post_descr))
CALL(GNI_PostFma, (IN gni_ep_handle_t ep_hndl, IN gni_post_descriptor_t *post_descr),
     (ep_hndl, post_descr))
CALL(GNI_CtPostFma, (IN gni_ep_handle_t ep_hndl, IN gni_post_descriptor_t *post_descr),
     (ep_hndl, post_descr))
CALL(GNI_PostCqWrite, (IN gni_ep_handle_t ep_hndl, IN gni_post_descriptor_t *post_descr),
     (ep_hndl, post_descr))
CALL(GNI_CtPostCqWrite, (IN gni_ep_handle_t ep_hndl, IN gni_post_descriptor_t *post_descr),
     (ep_hndl, post_descr))
CALL(GNI_GetCompleted, (IN gni_cq_handle_t cq_hndl, IN gni_cq_entry_t event_data,
     OUT gni_post_descriptor_t **post_descr),
     (cq_hndl, event_data, post_descr))
CALL(GNI_SmsgBufferSizeNeeded, (IN gni_smsg_attr_t *smsg_attr, OUT unsigned int *size),
     (smsg_attr, size))
CALL(GNI_SmsgInit, (IN gni_ep_handle_t ep_hndl, IN gni_smsg_attr_t *local_smsg_attr,
     IN gni_smsg_attr_t *remote_smsg_attr),
     (ep_hndl, local_smsg_attr, remote_smsg_attr))
CALL(GNI_SmsgSetDeliveryMode, (IN gni_nic_handle_t nic_handle, IN uint16_t dlvr_mode),
     (nic_handle, dlvr_mode))
CALL(GNI_SmsgSend, (IN gni_ep_handle_t ep_hndl, IN void *header, IN uint32_t header_length,
     IN void *data, IN uint32_t data_length, IN uint32_t msg_id),
     (ep_hndl, header, header_length, data, data_length, msg_id))
CALL(GNI_SmsgSendWTag, (IN gni_ep_handle_t ep_hndl, IN void *header, IN uint32_t header_length,
     IN void *data, IN uint32_t data_length, IN uint32_t msg_id, IN uint8_t tag),
     (ep_hndl, header, header_length, data, data_length, msg_id, tag))
CALL(GNI_SmsgGetNext, (IN gni_ep_handle_t ep_hndl, OUT void **header),
     (ep_hndl, header))
CALL(GNI_SmsgGetNextWTag, (IN gni_ep_handle_t ep_hndl, OUT void **header, INOUT uint8_t *tag),
     (ep_hndl, header, tag))
CALL(GNI_SmsgRelease, (IN gni_ep_handle_t ep_hndl),
     (ep_hndl))
CALL(GNI_MsgqInit, (IN gni_nic_handle_t nic_hndl, IN gni_msgq_rcv_cb_func *rcv_cb,
     IN void *cb_data, IN gni_cq_handle_t snd_cq, IN gni_msgq_attr_t *attrs,
     OUT gni_msgq_handle_t *msgq_hndl),
     (nic_hndl, rcv_cb, cb_data, snd_cq, attrs, msgq_hndl))
CALL(GNI_MsgqRelease, (IN gni_msgq_handle_t msgq_hndl),
     (msgq_hndl))
CALL(GNI_MsgqIdle, (IN gni_msgq_handle_t msgq_hndl),
     (msgq_hndl))
CALL(GNI_MsgqGetConnAttrs, (IN gni_msgq_handle_t msgq_hndl, IN uint32_t pe_addr,
     OUT gni_msgq_ep_attr_t *attrs, OUT uint32_t *attrs_size),
     (msgq_hndl, pe_addr, attrs, attrs_size))
CALL(GNI_MsgqConnect, (IN gni_msgq_handle_t msgq_hndl, IN uint32_t pe_addr,
     IN gni_msgq_ep_attr_t *attrs),
     (msgq_hndl, pe_addr, attrs))
CALL(GNI_MsgqConnRelease, (IN gni_msgq_handle_t msgq_hndl, IN uint32_t pe_addr),
     (msgq_hndl, pe_addr))
CALL(GNI_MsgqSend, (IN gni_msgq_handle_t msgq_hndl, IN gni_ep_handle_t ep_hndl, IN void *hdr,
     IN uint32_t hdr_len, IN void *msg, IN uint32_t msg_len, IN uint32_t msg_id,
     IN uint8_t msg_tag),
     (msgq_hndl, ep_hndl, hdr, hdr_len, msg, msg_len, msg_id, msg_tag))
CALL(GNI_MsgqProgress, (IN gni_msgq_handle_t msgq_hndl, IN uint32_t timeout),
     (msgq_hndl, timeout))
CALL(GNI_MsgqSize, (IN gni_msgq_attr_t *attrs, OUT uint32_t *size),
     (attrs, size))
CALL(GNI_SmsgSetMaxRetrans, (IN gni_nic_handle_t nic_handle, IN uint16_t max_retrans),
     (nic_handle, max_retrans))
CALL(GNI_SubscribeErrors, (IN gni_nic_handle_t nic_handle, IN uint32_t device_id,
     IN gni_error_mask_t mask, IN uint32_t EEQ_size, OUT gni_err_handle_t *err_handle),
     (nic_handle, device_id, mask, EEQ_size, err_handle))
CALL(GNI_ReleaseErrors, (IN gni_err_handle_t err_handle),
     (err_handle))
CALL(GNI_GetErrorMask, (IN gni_err_handle_t err_handle, OUT gni_error_mask_t *mask),
     (err_handle, mask))
CALL(GNI_SetErrorMask, (IN gni_err_handle_t err_handle, IN gni_error_mask_t mask_in,
     OUT gni_error_mask_t *mask_out),
     (err_handle, mask_in, mask_out))
CALL(GNI_GetErrorEvent, (IN gni_err_handle_t err_handle, OUT gni_error_event_t *event),
     (err_handle, event))
WAIT(GNI_WaitErrorEvents, (IN gni_err_handle_t err_handle, OUT gni_error_event_t *events,
     IN uint32_t events_size, IN uint32_t timeout, OUT uint32_t *num_events),
     (err_handle, events, events_size, timeout, num_events))
CALL(GNI_SetErrorPtag, (IN gni_err_handle_t err_handle, IN uint8_t ptag),
     (err_handle, ptag))
CALL(GNI_GetNumLocalDevices, (OUT int *num_devices),
     (num_devices))
CALL(GNI_GetLocalDeviceIds, (IN int len, OUT int *device_ids),
     (len, device_ids))
CALL(GNI_GetVersion, (OUT uint32_t *version),
     (version))
CALL(GNI_GetVersionInformation, (OUT gni_version_info_t *version_info),
     (version_info))
CALL(GNI_GetDeviceType, (OUT gni_nic_device_t *dev_type),
     (dev_type))
CALL(GNI_GetDevResInfo, (IN uint32_t device_id, IN gni_dev_res_t res_type,
     OUT gni_dev_res_desc_t *res_desc),
     (device_id, res_type, res_desc))
CALL(GNI_GetJobResInfo, (IN uint32_t device_id, IN uint8_t ptag, IN gni_job_res_t res_type,
     OUT gni_job_res_desc_t *res_desc),
     (device_id, ptag, res_type, res_desc))
CALL(GNI_SetJobResInfo, (IN uint32_t device_id, IN uint8_t ptag, IN gni_job_res_t res_type,
     IN uint64_t res_value),
     (device_id, ptag, res_type, res_value))
CALL(GNI_GetNttGran, (IN uint32_t device_id, OUT uint32_t *ntt_gran),
     (device_id, ntt_gran))
CALL(GNI_GetPtag, (IN uint32_t device_id, IN uint32_t cookie, OUT uint8_t *ptag),
     (device_id, cookie, ptag))
CALL(GNI_CeCreate, (IN gni_nic_handle_t nic_hndl, OUT gni_ce_handle_t *ce_hndl),
     (nic_hndl, ce_hndl))
CALL(GNI_CeGetId, (IN gni_ce_handle_t ce_hndl, OUT uint32_t *ce_id),
     (ce_hndl, ce_id))
CALL(GNI_EpSetCeAttr, (IN gni_ep_handle_t ep_hndl, IN uint32_t ce_id, IN uint32_t child_id,
     IN gni_ce_child_t child_type),
     (ep_hndl, ce_id, child_id, child_type))
CALL(GNI_CeConfigure, (IN gni_ce_handle_t ce_hndl, IN gni_ep_handle_t *child_eps,
     IN uint32_t num_child_eps, IN gni_ep_handle_t parent_ep, IN gni_cq_handle_t cq_hndl,
     IN uint32_t modes),
     (ce_hndl, child_eps, num_child_eps, parent_ep, cq_hndl, modes))
CALL(GNI_CeCheckResult, (IN gni_ce_result_t *result, IN uint32_t length),
     (result, length))
CALL(GNI_CeDestroy, (IN gni_ce_handle_t ce_hndl),
     (ce_hndl))
POLL(GNI_SetBIConfig, (IN uint32_t device_id, IN uint16_t bw, IN uint16_t aot_bw,
     IN uint16_t modes),
     (device_id, bw, aot_bw, modes), aries_live_wants_throttle(bw, aot_bw, modes), GNI_RC_ERROR_RESOURCE)
CALL(GNI_GetBIConfig, (IN uint32_t device_id, OUT gni_bi_desc_t *desc),
     (device_id, desc))
WAIT(GNI_BISyncWait, (IN uint32_t device_id, IN uint32_t timeout),
     (device_id, timeout))
CALL(GNI_GetNicStat, (IN gni_nic_handle_t nic_hndl, IN gni_statistic_t stat, OUT uint32_t *value),
     (nic_hndl, stat, value))
CALL(GNI_ResetNicStat, (IN gni_nic_handle_t nic_hndl, IN gni_statistic_t stat),
     (nic_hndl, stat))
CALL(GNI_CompChanCreate, (IN gni_nic_handle_t nic_hndl, OUT gni_comp_chan_handle_t *chan_hndl),
     (nic_hndl, chan_hndl))
CALL(GNI_CompChanDestroy, (IN gni_comp_chan_handle_t chan_hndl),
     (chan_hndl))
CALL(GNI_CompChanFd, (IN gni_comp_chan_handle_t chan_hndl, OUT int *comp_chan_fd),
     (chan_hndl, comp_chan_fd))
WAIT(GNI_CompChanGetEvent, (IN gni_comp_chan_handle_t chan_hndl, OUT gni_cq_handle_t *cq_hndl),
     (chan_hndl, cq_hndl))
CALL(GNI_CqAttachCompChan, (IN gni_cq_handle_t cq_hndl, IN gni_comp_chan_handle_t chan_hndl),
     (cq_hndl, chan_hndl))
CALL(GNI_CqArmCompChan, (IN gni_cq_handle_t *cq_hndls, IN uint32_t num_cqs),
     (cq_hndls, num_cqs))
/* clang-format on */
