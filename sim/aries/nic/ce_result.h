/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The control word of a collective engine result. The real layout was never published; this one is
 * ours: 63 DONE | 61:56 STATUS | 51:48 floating-point exceptions (GNI_CE_FPE_) | 47:0 reduction
 * id.
 */
#ifndef JACQUARD_ARIES_CE_RESULT_H
#define JACQUARD_ARIES_CE_RESULT_H

#include <stdbool.h>
#include "nic/gni.h"

#define ARIES_CE_RESULT_DONE (UINT64_C(1) << 63)
#define ARIES_CE_RESULT_STATUS_SHIFT 56
#define ARIES_CE_RESULT_FPE_SHIFT 48
#define ARIES_CE_RESULT_RED_ID_MASK ((UINT64_C(1) << 48) - 1)

static inline uint64_t aries_ce_result_control(unsigned status, unsigned fpe, uint64_t red_id)
{
    return ARIES_CE_RESULT_DONE | (uint64_t)(status & 0x3f) << ARIES_CE_RESULT_STATUS_SHIFT |
           (uint64_t)(fpe & 0xf) << ARIES_CE_RESULT_FPE_SHIFT |
           (red_id & ARIES_CE_RESULT_RED_ID_MASK);
}

static inline bool aries_ce_result_done(const gni_ce_result_t *result)
{
    return result->control & ARIES_CE_RESULT_DONE;
}

#endif
