/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reductions in the collective engine (ops_ce.c), and checkpoints (ops_quiesce.c). */
#ifndef GNIP_CE_H
#define GNIP_CE_H

#include "gnip.h"
#include "rdma/fi_ext_gni.h"

/* Reductions in the collective engine (ops_ce.c). */
extern const struct fi_gni_ops_dom2 gnip_dom2_ops;
/*
 * The EP closes: its reductions end without an entry, after the NIC has finished with them. No lock
 * is held.
 */
void gnip_ce_ep_close(struct gnip_ep *ep);
bool gnip_ce_busy(const struct gnip_ep *ep); /* operands are in flight; ep->lock is held */
void gnip_ce_domain_close(struct gnip_domain *domain);
/* the NIC is released; ep->lock is held, and nothing is in flight */
void gnip_ce_suspend(struct gnip_ep *ep);
/* Checkpoints (ops_quiesce.c). */
extern const struct fi_gni_ops_dom3 gnip_dom3_ops;

#endif
