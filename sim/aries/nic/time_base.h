/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface between nic/ and its two time bases. sim/ implements these functions for a
 * simulation, where virtual time decides when the NIC acts. live/ implements them for ordinary
 * processes, which act on each other's memory.
 */
#ifndef JACQUARD_ARIES_TIME_BASE_H
#define JACQUARD_ARIES_TIME_BASE_H

#include <stdbool.h>
#include <stdint.h>
#include "nic/gni.h"
#include "nic/fabric.h"

struct aries_mr;
struct gni_nic;

extern const struct aries_nic_ops aries_hw_nic_ops;
/*
 * Starts a transaction of a unit of the NIC itself, without CPU time or doorbell. Must not be
 * called from a call of the API.
 */
void aries_hw_originate(struct aries_nic *hw, const struct aries_work *work);
/* Limits the request packets of the NIC in flight from now on. */
void aries_hw_orb_limit(struct aries_nic *hw, uint32_t packets);
bool aries_hw_throttled(const struct aries_fabric *fabric);
/*
 * aries_hw_hold() holds back the requests of a tag from now on. aries_hw_draining() returns
 * whether some are still in flight. aries_hw_release() lets the requests of tags that are no
 * longer suspended continue.
 */
void aries_hw_hold(struct aries_nic *hw, uint8_t ptag);
bool aries_hw_draining(const struct aries_nic *hw, uint8_t ptag);
void aries_hw_release(struct aries_nic *hw);
void aries_hw_fabric_init(struct aries_fabric *fabric);
void aries_hw_fabric_fini(struct aries_fabric *fabric);
/*
 * aries_hw_attach() returns false if another process has attached this instance already.
 * aries_hw_detach() ends the attachment.
 */
bool aries_hw_attach(struct gni_nic *nic);
void aries_hw_detach(struct gni_nic *nic);
/* The job of a cookie that no launcher has configured. NULL: there is none. */
struct aries_job *aries_hw_job(struct aries_nic *hw, uint8_t ptag, uint32_t cookie);
/*
 * Chooses the entry of the node's table for a registration of this process. ARIES_MDD_ANY leaves
 * the choice to the table. False: there is none left. `vmdh`: the entry *index of a tag's block is
 * wanted.
 */
bool aries_hw_mdd(struct aries_nic *hw, uint8_t ptag, bool vmdh, uint32_t *index);
void aries_hw_mdd_gone(struct aries_nic *hw, uint8_t ptag, bool vmdh, uint32_t index);
/* The lowest free channel of the node's collective engine. False: there is none. */
bool aries_hw_ce(struct aries_nic *hw, uint32_t *id);
void aries_hw_ce_gone(struct aries_nic *hw, uint32_t id);
/* An endpoint names a channel of that NIC (NULL: of no node), so its owner must be found. */
void aries_hw_ce_met(const struct aries_nic *hw, uint32_t id);
/* A registration is complete, has changed, or ends: see mr->live. */
void aries_hw_mr_changed(const struct aries_mr *mr);
/*
 * Sends a message of the datagram engine (a small control packet of the kernel) to another node.
 * It arrives after the modelled time, but never if one of the nodes is dead. The kernel repeats it
 * on loss, so it is reliable. aries_datagram_send_ended() reports the outcome once for each call.
 */
struct aries_datagram_message;
void aries_hw_kernel_send(struct aries_datagram_message *message, uint32_t bytes);

/* ---- instances of a shared message queue that have regions of their own ---------------------- */

struct gni_msgq;
struct aries_msgq_connection;

/* Number of lanes. 1: the instances share one region, and the functions below do nothing. */
uint32_t aries_hw_msgq_lanes(void);
/* Index of this process among the instances of the node. UINT32_MAX: it is not one of them. */
uint32_t aries_hw_msgq_place(const struct gni_nic *nic, const gni_msgq_attr_t *attrs);
/* Announces this instance to the instances that have joined. 1: all know it, -1: one refuses it. */
int aries_hw_msgq_introduce(struct gni_msgq *msgq);
/*
 * Announces that this instance leaves; repeated calls do nothing. `wait`: until all have
 * acknowledged it.
 */
void aries_hw_msgq_leave(struct gni_msgq *msgq, bool wait);
/*
 * Assigns a connection in the regions of all instances. False: another instance was faster.
 * *index: where the node's connections begin.
 */
bool aries_hw_msgq_assign(struct gni_msgq *msgq, uint32_t pe, uint32_t *index);
/* Tell the other instances that this one has assigned, or has connected, a connection. */
void aries_hw_msgq_assigned(struct gni_msgq *msgq, const struct aries_msgq_connection *first);
void aries_hw_msgq_connected(struct gni_msgq *msgq, const struct aries_msgq_connection *first,
                             uint64_t mailbox);
/* Whether no other instance has sends in flight on this connection. */
bool aries_hw_msgq_others_idle(struct gni_msgq *msgq, const struct aries_msgq_connection *first);
/* Releases the connection in the regions of the other instances. */
void aries_hw_msgq_released(struct gni_msgq *msgq, const struct aries_msgq_connection *first);

#endif
