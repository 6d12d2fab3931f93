/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a member can do with its own board that no call of the carrier does. */
#ifndef JACQUARD_TESTS_LIVE_HOSTILE_RING_H
#define JACQUARD_TESTS_LIVE_HOSTILE_RING_H

#include "shm/shm.h"

/* Breaks the rules of the rings to a peer: whoever sees it has done with this member. `dice` gives
 * a number below its argument. */
void ring_break(struct shm *shm, struct shm_peer *other, uint64_t (*dice)(uint64_t sides));

/* Says that this member has looked at its rings just now, so that others ask it for help. */
void ring_pretend_to_poll(struct shm *shm);

#endif
