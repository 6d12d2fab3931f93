/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Accessors of a collective engine result; the layout is in ce_result.h. */
#include "nic/ce_result.h"

uint64_t gni_ce_res_get_status(gni_ce_result_t *result)
{
    return result->control >> ARIES_CE_RESULT_STATUS_SHIFT & 0x3f;
}

uint64_t gni_ce_res_status_ok(gni_ce_result_t *result)
{
    return gni_ce_res_get_status(result) == 0;
}

uint64_t gni_ce_res_get_fpe(gni_ce_result_t *result)
{
    return result->control >> ARIES_CE_RESULT_FPE_SHIFT & 0xf;
}

uint64_t gni_ce_res_get_red_id(gni_ce_result_t *result)
{
    return result->control & ARIES_CE_RESULT_RED_ID_MASK;
}
