/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Helpers of the tests of jobs. */
#ifndef JACQUARD_TESTS_JOB_FRAME_H
#define JACQUARD_TESTS_JOB_FRAME_H

#include "fixture.h"

#define BYTES (1u << 20)
#define COOKIE GNI_JOB_CREATE_COOKIE(0x7777, 0)
#define PTAG 60
#define NO_LIMIT GNI_JOB_INVALID_LIMIT
#define UNLIMITED                                                                \
    {                                                                            \
        .mdd_limit = NO_LIMIT, .a.mrt_limit = NO_LIMIT, .b.dla_limit = NO_LIMIT, \
        .fma_limit = NO_LIMIT, .bte_limit = NO_LIMIT, .cq_limit = NO_LIMIT,      \
        .ntt_ctrl = GNI_JOB_CTRL_NTT_CLEANUP, .ntt_base = 0, .ntt_size = 0       \
    }

extern uint8_t memory[MACHINE_RANKS][BYTES];
void run(void (*main)(struct rank *rank), uint32_t ranks, bool privileged);

#endif
