/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of LNet, release 2.12. All may be called from any thread except from within the
 * callback of an event queue. Errors are negative errno values. Semantics:
 * docs/internals/model-lnet.md.
 */
#ifndef JACQUARD_LNET_API_H
#define JACQUARD_LNET_API_H

#include "lnet/lib-types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The instance of the node that the caller runs on. The first call returns 0, a later one the
 * number of calls before: success is >= 0. */
int LNetNIInit(lnet_pid_t requested_pid);
int LNetNIFini(void);

int LNetGetId(unsigned int index, struct lnet_process_id *id);
int LNetDist(lnet_nid_t nid, lnet_nid_t *srcnid, __u32 *order);
lnet_nid_t LNetPrimaryNID(lnet_nid_t nid);
bool LNetIsPeerLocal(lnet_nid_t nid);
int LNetGetPeerDiscoveryStatus(void);
void LNetDebugPeer(struct lnet_process_id id);

/* Portals: match entries and descriptors on the target's side. */
int LNetMEAttach(unsigned int portal, struct lnet_process_id match_id_in, __u64 match_bits_in,
                 __u64 ignore_bits_in, enum lnet_unlink unlink_in, enum lnet_ins_pos pos_in,
                 struct lnet_handle_me *handle_out);
int LNetMEInsert(struct lnet_handle_me current_in, struct lnet_process_id match_id_in,
                 __u64 match_bits_in, __u64 ignore_bits_in, enum lnet_unlink unlink_in,
                 enum lnet_ins_pos position_in, struct lnet_handle_me *handle_out);
int LNetMEUnlink(struct lnet_handle_me current_in);
int LNetMDAttach(struct lnet_handle_me current_in, struct lnet_md md_in, enum lnet_unlink unlink_in,
                 struct lnet_handle_md *handle_out);
int LNetMDBind(struct lnet_md md_in, enum lnet_unlink unlink_in, struct lnet_handle_md *handle_out);
int LNetMDUnlink(struct lnet_handle_md md_in);

int LNetEQAlloc(unsigned int count_in, lnet_eq_handler_t handler,
                struct lnet_handle_eq *handle_out);
int LNetEQFree(struct lnet_handle_eq eventq_in);
int LNetEQGet(struct lnet_handle_eq eventq_in, struct lnet_event *event_out);
int LNetEQWait(struct lnet_handle_eq eventq_in, struct lnet_event *event_out);
int LNetEQPoll(struct lnet_handle_eq *eventqs_in, int neq_in, signed long timeout,
               struct lnet_event *event_out, int *which_eq_out);

int LNetPut(lnet_nid_t self, struct lnet_handle_md md_in, enum lnet_ack_req ack_req_in,
            struct lnet_process_id target_in, unsigned int portal_in, __u64 match_bits_in,
            unsigned int offset_in, __u64 hdr_data_in);
int LNetGet(lnet_nid_t self, struct lnet_handle_md md_in, struct lnet_process_id target_in,
            unsigned int portal_in, __u64 match_bits_in, unsigned int offset_in, bool recovery);

int LNetSetLazyPortal(int portal);
int LNetClearLazyPortal(int portal);
int LNetCtl(unsigned int cmd, void *arg);

/* Of older releases; consumers that know several releases name them. */
int LNetSnprintHandle(char *str, int str_len, struct lnet_handle_md handle);
int LNetSetAsync(struct lnet_process_id id, int nasync);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
