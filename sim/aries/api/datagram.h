/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sessions of datagrams: what other files ask of them. */
#ifndef JACQUARD_ARIES_API_DATAGRAM_H
#define JACQUARD_ARIES_API_DATAGRAM_H

#include "nic/datagram.h"

/* No session with an id has ended, as far as can be told without the lock; then *looked is the word
 * for sim_poll_turn. False also where the NIC has had no sessions yet. */
bool aries_datagrams_none(const struct gni_nic *nic, uint32_t **looked);

/* Instances may have gone without a word: sessions whose offer such a one has taken end. */
void aries_datagrams_recheck(struct aries_fabric *fabric,
                             bool (*there)(const struct aries_datagram_address *peer,
                                           const struct gni_nic *nic));

#endif
