/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the core in the kernel share. */
#ifndef JACQUARD_M0_KLNET_PVT_H
#define JACQUARD_M0_KLNET_PVT_H

#include "net/lnet/linux_kernel/klnet_core.h"

/* Under ktm_bevq_lock: copies an event into the next slot. False: the ring is corrupt. */
bool nlx_kcore_bevq_put(struct nlx_kcore_transfer_mc *ktm,
                        const struct nlx_core_buffer_event *event);
bool nlx_kcore_bevq_has_events(const struct nlx_kcore_transfer_mc *ktm);

/* Around calls of LNet. */
void *nlx_kcore_enter(const struct nlx_kcore_host *host);
void nlx_kcore_leave(const struct nlx_kcore_host *host, void *before);

/* An operation begins, or could not: -EBUSY. */
int nlx_kcore_operation_begin(struct nlx_kcore_transfer_mc *ktm, struct nlx_kcore_buffer *kb,
                              enum m0_net_queue_type qtype);
void nlx_kcore_operation_undo(struct nlx_kcore_transfer_mc *ktm, struct nlx_kcore_buffer *kb);

/* A descriptor of the whole buffer, or of its first `length` bytes; nlx_kcore_kiov_restore() ends
 * the latter. */
void nlx_kcore_umd_init(struct nlx_kcore_transfer_mc *ktm, struct nlx_kcore_buffer *kb,
                        int threshold, int max_size, unsigned options, struct lnet_md *umd);
void nlx_kcore_kiov_trim(struct nlx_kcore_buffer *kb, struct lnet_md *umd, m0_bcount_t length);
void nlx_kcore_kiov_restore(struct nlx_kcore_buffer *kb);

/* Calls of LNet; nlx_kcore_iv has them at first. */
int nlx_kcore_LNetMDAttach(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                           struct nlx_kcore_buffer *kb, struct lnet_md *umd);
int nlx_kcore_LNetPut(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                      struct nlx_kcore_buffer *kb, struct lnet_md *umd);
int nlx_kcore_LNetGet(struct nlx_kcore_transfer_mc *ktm, const struct nlx_core_buffer *cb,
                      struct nlx_kcore_buffer *kb, struct lnet_md *umd);

void nlx_kcore_eq_cb(struct lnet_event *event);

#endif
