/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Helpers of the tests of jobs. */
#include "job_frame.h"

#include <string.h>

uint8_t memory[MACHINE_RANKS][BYTES] __attribute__((aligned(4096)));

void run(void (*main)(struct rank *rank), uint32_t ranks, bool privileged)
{
    machine_run(&(struct machine){.ranks = ranks, .main = main, .privileged = privileged});
}
