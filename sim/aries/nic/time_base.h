/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The seam between nic/ and its two time bases. sim/ provides these functions for a simulation,
 * where virtual time decides when the NIC does something; live/ provides them for ordinary
 * processes, which do it to each other.
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
/* A transaction that a unit of the NIC starts by itself: no CPU, no doorbell. Not in a call. */
void aries_hw_originate(struct aries_nic *hw, const struct aries_work *work);
/* At most so many request packets of the NIC are in flight from now on. */
void aries_hw_orb_limit(struct aries_nic *hw, uint32_t packets);
bool aries_hw_throttled(const struct aries_fabric *fabric);
/* Requests of a tag are held back from now on; whether some are still in flight; they go on. */
void aries_hw_hold(struct aries_nic *hw, uint8_t ptag);
bool aries_hw_draining(const struct aries_nic *hw, uint8_t ptag);
void aries_hw_release(struct aries_nic *hw);
void aries_hw_fabric_init(struct aries_fabric *fabric);
void aries_hw_fabric_fini(struct aries_fabric *fabric);
/* Whether another process has attached this instance already; and when it goes. */
bool aries_hw_attach(struct gni_nic *nic);
void aries_hw_detach(struct gni_nic *nic);
/* The job of a cookie that no launcher has told of; NULL: there is none. */
struct aries_job *aries_hw_job(struct aries_nic *hw, uint8_t ptag, uint32_t cookie);
/*
 * The entry of the node's table that a registration of this process gets: ARIES_MDD_ANY leaves it
 * to the table. False: there is none left. `vmdh`: it is to be *index of the block of a tag.
 */
bool aries_hw_mdd(struct aries_nic *hw, uint8_t ptag, bool vmdh, uint32_t *index);
void aries_hw_mdd_gone(struct aries_nic *hw, uint8_t ptag, bool vmdh, uint32_t index);
/* The lowest channel of the node's collective engine that nobody has. False: there is none. */
bool aries_hw_ce(struct aries_nic *hw, uint32_t *id);
void aries_hw_ce_gone(struct aries_nic *hw, uint32_t id);
/* An endpoint stands for a channel of that NIC (NULL: of no node): who has it is to be known. */
void aries_hw_ce_met(const struct aries_nic *hw, uint32_t id);
/* A registration is complete, was changed, or ends: mr->live tells. */
void aries_hw_mr_changed(const struct aries_mr *mr);
/*
 * Carries a message of the datagram engine (a small control packet of the kernel) to another node,
 * after the modelled time, never when one of the nodes is dead. Reliable: retried by the kernel on
 * loss. aries_datagram_send_ended() tells what has become of it, once for each call.
 */
struct aries_datagram_message;
void aries_hw_kernel_send(struct aries_datagram_message *message, uint32_t bytes);

/* ---- instances of a shared message queue that have regions of their own ---- */

struct gni_msgq;
struct aries_msgq_connection;

/* 1: they share one; then the rest does nothing. */
uint32_t aries_hw_msgq_lanes(void);
/* A place among the instances of the node, or UINT32_MAX: it does not belong there. */
uint32_t aries_hw_msgq_place(const struct gni_nic *nic, const gni_msgq_attr_t *attrs);
/* Tells those of the others that have come of this instance; 1: all know it, -1: one refuses it. */
int aries_hw_msgq_introduce(struct gni_msgq *msgq);
/* Tells them that it leaves; again: does nothing. `wait`: until all have heard it. */
void aries_hw_msgq_leave(struct gni_msgq *msgq, bool wait);
/* The others' `connections`, too; false: somebody was faster. *index: a node's place. */
bool aries_hw_msgq_assign(struct gni_msgq *msgq, uint32_t pe, uint32_t *index);
void aries_hw_msgq_assigned(struct gni_msgq *msgq, const struct aries_msgq_connection *first);
void aries_hw_msgq_connected(struct gni_msgq *msgq, const struct aries_msgq_connection *first,
                             uint64_t mailbox);
/* Whether the others have no sends in flight; then it goes everywhere. */
bool aries_hw_msgq_others_idle(struct gni_msgq *msgq, const struct aries_msgq_connection *first);
void aries_hw_msgq_released(struct gni_msgq *msgq, const struct aries_msgq_connection *first);

#endif
