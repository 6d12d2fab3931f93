/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory and endpoints for tests of the NIC. */
#ifndef JACQUARD_TESTS_NIC_FRAME_H
#define JACQUARD_TESTS_NIC_FRAME_H

#include "fixture.h"

#define BYTES 65536u

extern uint8_t memory[MACHINE_RANKS][BYTES];
void open_as(struct rank *rank, struct side *side, uint32_t modes);
struct aries_counters counters_of(const struct rank *rank);
void configure_closed_form(const struct machine *machine, struct net_config *config);

#endif
