/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory and endpoints for tests of the NIC. */
#include "nic_frame.h"

#include <stdlib.h>
#include <string.h>

uint8_t memory[MACHINE_RANKS][BYTES] __attribute__((aligned(4096)));

void open_as(struct rank *rank, struct side *side, uint32_t modes)
{
    memset(memory[rank->id], 0, BYTES);
    side_open(rank, side, memory[rank->id], BYTES, modes | GNI_CDM_MODE_ERR_NO_KILL);
}

struct aries_counters counters_of(const struct rank *rank)
{
    struct aries_counters counters;

    aries_get_counters(rank->machine->fabric, &counters);
    return counters;
}

void configure_closed_form(const struct machine *machine, struct net_config *config)
{
    config->fidelity = NET_F0;
}
