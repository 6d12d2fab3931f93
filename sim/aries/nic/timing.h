/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parameters of the model in the NIC's units. params.c has the table with its sources. */
#ifndef JACQUARD_ARIES_TIMING_H
#define JACQUARD_ARIES_TIMING_H

#include <stdbool.h>
#include <stdint.h>
#include "engine/sim.h"

#define ARIES_STORE_BURST_BYTES 1024 /* number of bytes stored at the short rate */
#define ARIES_STORE_SHORT 128 /* bytes: the times of no more are in a table */

/* Times in ps, rates in bytes per ns. The names follow the keys of docs/model.md. */
struct aries_timing {
    sim_time_t cpu_fma, cpu_rdma, cpu_smsg, cpu_cqget, cpu_getcomp, cpu_getnext, cpu_release,
        cpu_fma_shared;
    sim_time_t pcie_write, pcie_read, poll, irq_wake;
    sim_time_t tx, rx, rspgen, rsprx, cqe, bte_desc, fma_gap, amo_gap, amo_hit;
    sim_time_t nic_packet; /* 64 B through the transmit or receive pipeline: 5 cclk */
    sim_time_t nic_flit; /* 1 cclk */
    double bte_rate; /* B/ns */
    double fma_get_rate; /* B/ns */
    double store_rate_short, store_rate_long, store_scale; /* F(n) */
    double duplex_rate; /* B/ns, both directions of a node together */
    sim_time_t cold_attach, cold_cq_create, cold_mem_register, cold_mem_page, cold_mem_deregister,
        cold_mem_deregister_page, cold_ep_create, cold_ep_bind, cold_datagram, cold_datagram_remote,
        cold_datagram_test, cold_ce;
    sim_time_t ce_combine, ce_gap, cpu_ce_check;
    sim_time_t orb_timeout, npt_timeout;
    uint32_t orb_entries, orb_bte_get, fma_descs, bte_channels, mdds, cqs, ssids, amo_cache,
        chunk_packets, chunk_packets_fixed, npt_tags, response_class, vces;
    bool cq_exact; /* usable CQ entries = entry_count instead of whole pages */
    bool kill; /* error policy may kill processes */
    /* The first bytes that the CPU stores, which are faster, form a chunk of their own. */
    bool burst_apart;
    bool huge_pages; /* nodes have hugetlbfs mounted: GNI_MsgqInit */
    sim_time_t store_times[ARIES_STORE_SHORT + 1]; /* [bytes]: see aries_store_time() */
};

/*
 * F(n): CPU time for storing n bytes into the FMA window, without the 8 bytes that cpu_fma
 * includes.
 */
static inline sim_time_t aries_store_formula(const struct aries_timing *timing, uint64_t bytes)
{
    double ns;

    if (bytes <= 8)
        return 0;
    ns = (double)(bytes < ARIES_STORE_BURST_BYTES ? bytes : ARIES_STORE_BURST_BYTES) /
         timing->store_rate_short;
    if (bytes > ARIES_STORE_BURST_BYTES)
        ns += (double)(bytes - ARIES_STORE_BURST_BYTES) / timing->store_rate_long;
    return (sim_time_t)(ns * timing->store_scale * 1e3);
}

static inline sim_time_t aries_store_time(const struct aries_timing *timing, uint64_t bytes)
{
    return bytes <= ARIES_STORE_SHORT ? timing->store_times[bytes]
                                      : aries_store_formula(timing, bytes);
}

#endif
