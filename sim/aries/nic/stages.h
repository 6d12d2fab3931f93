/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Times and sizes of the stages of a transaction, for both back ends: docs/model.md. */
#ifndef JACQUARD_ARIES_STAGES_H
#define JACQUARD_ARIES_STAGES_H

#include "nic/amo.h"
#include "nic/work.h"

#define ARIES_PACKET_BYTES 64u

/* Number of phits that carry n bytes of data: ceil(8 n / 48). */
static inline uint32_t aries_data_phits(uint32_t bytes)
{
    return (bytes + 5) / 6;
}

/* Number of phits of a request packet before the data that it carries to memory. */
static inline uint32_t aries_request_phits(const struct aries_work *work)
{
    if (work->op == ARIES_AMO)
        return aries_amo_two_operands(work->amo_cmd) ? 6 : 5;
    return work->op == ARIES_CQWRITE ? 5 : 3;
}

/* Number of phits of a message between kernels. */
static inline uint32_t aries_kernel_message_phits(uint32_t bytes)
{
    return 3 * ((bytes + ARIES_PACKET_BYTES - 1) / ARIES_PACKET_BYTES) + aries_data_phits(bytes);
}

/*
 * Bytes per ns at which the unit feeds a stream. 0: at once, because the CPU stored the data or it
 * fits one packet.
 */
static inline double aries_stream_rate(const struct aries_work *work,
                                       const struct aries_timing *timing)
{
    if (work->unit == ARIES_UNIT_BTE)
        return timing->bte_rate;
    return work->op == ARIES_GET && work->length > ARIES_PACKET_BYTES ? timing->fma_get_rate : 0;
}

/* Time from the arrival of a request until its response is ready. */
static inline sim_time_t aries_arrival_lag(const struct aries_work *work,
                                           const struct aries_timing *timing)
{
    sim_time_t lag = timing->rx + timing->rspgen;

    /* The channel combines operands after the response is ready. */
    if (sim_unlikely(work->op >= ARIES_CE_JOIN))
        return timing->rx + timing->ce_combine;
    if (work->op == ARIES_GET)
        lag += timing->pcie_read;
    else if (work->op == ARIES_AMO)
        lag += timing->amo_hit + (aries_amo_cached(work->amo_cmd) ? 0 : timing->pcie_read);
    return lag;
}

static inline bool aries_returns_data(const struct aries_work *work)
{
    return work->op == ARIES_GET || (work->op == ARIES_AMO && aries_amo_fetches(work->amo_cmd));
}

/* Time from the arrival of a response until the CPU sees the completion. */
static inline sim_time_t aries_response_lag(const struct aries_timing *timing, bool data)
{
    return timing->rsprx + timing->pcie_write + timing->poll + (data ? timing->cqe : 0);
}

#endif
