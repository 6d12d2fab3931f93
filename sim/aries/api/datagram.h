/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sessions of datagrams: the functions that other files call. */
#ifndef JACQUARD_ARIES_API_DATAGRAM_H
#define JACQUARD_ARIES_API_DATAGRAM_H

#include "nic/datagram.h"

/*
 * Whether no session with an id has ended, as far as can be told without the lock. On true,
 * *looked is the state of sim_poll_turn(). False also if the NIC has had no sessions yet.
 */
bool aries_datagrams_none(const struct gni_nic *nic, uint32_t **last_poll);

/*
 * Ends sessions whose offer was accepted by an instance that has gone without a message: `there`
 * returns whether an instance still exists.
 */
void aries_datagrams_recheck(struct aries_fabric *fabric,
                             bool (*there)(const struct aries_datagram_address *peer,
                                           const struct gni_nic *nic));

#endif
