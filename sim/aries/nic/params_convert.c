/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Conversion of the parameters to the units that the network and the NIC compute with. */
#include "nic/params.h"

#include <glib.h>
#include <math.h>

/* Reads a parameter that this file names. A wrong name stops the program at the first start. */
static double get(const struct aries_params *params, const char *name)
{
    double value = aries_params_get(params, name);

    if (isnan(value))
        g_error("the table of params.c has no parameter %s", name);
    return value;
}

static sim_time_t ns(const struct aries_params *params, const char *name)
{
    return (sim_time_t)llround(get(params, name) * 1e3);
}

static void link_class(const struct aries_params *params, const char *color,
                       struct net_link_class *out)
{
    char name[64];

    g_snprintf(name, sizeof(name), "aries.link.%s.phit_rate_Mps", color);
    out->rate_mps = get(params, name);
    g_snprintf(name, sizeof(name), "aries.link.%s.hop_ns", color);
    out->hop = ns(params, name);
    g_snprintf(name, sizeof(name), "aries.link.%s.lanes", color);
    out->lanes = (uint32_t)get(params, name);
}

void aries_params_to_net(const struct aries_params *params, struct net_config *config)
{
    static const char *const fields[] = {"min_shift", "min_add", "non_shift", "non_add"};
    struct net_dragonfly_config *dragonfly = &config->dragonfly;
    unsigned class, field;
    char name[64];

    link_class(params, "green", &dragonfly->green);
    link_class(params, "black", &dragonfly->black);
    link_class(params, "blue", &dragonfly->blue);
    dragonfly->router_transit = ns(params, "aries.router.transit_ns");
    dragonfly->vc_units = 8 * (uint32_t)(get(params, "aries.router.private_blocks") +
                                         get(params, "aries.router.shared_blocks"));
    dragonfly->tile = (struct net_tile_config){
        .private_blocks = (uint32_t)get(params, "aries.router.private_blocks"),
        .shared_blocks = (uint32_t)get(params, "aries.router.shared_blocks"),
        .row_credits = (uint32_t)get(params, "aries.router.row_credits"),
        .row_mps = get(params, "aries.router.row_bus_Mps"),
        .column_mps = get(params, "aries.router.column_bus_Mps"),
        .ptile_mps = get(params, "aries.router.ptile_Mps"),
        .nic_buffer = (sim_time_t)llround(get(params, "aries.nic.request_buffer") * 1e6 /
                                          get(params, "aries.nic.cclk_MHz")),
    };
    for (class = 0; class < 4; class ++) {
        uint32_t *out[] = {&dragonfly->bias[class].min_shift, &dragonfly->bias[class].min_add,
                           &dragonfly->bias[class].non_shift, &dragonfly->bias[class].non_add};

        for (field = 0; field < 4; field++) {
            g_snprintf(name, sizeof(name), "aries.route.bias[%u].%s", class, fields[field]);
            *out[field] = (uint32_t)get(params, name);
        }
    }
}

enum unit {
    NS, /* to ps, of a sim_time_t */
    CALL_NS, /* the same, multiplied by aries.cpu.scale */
    MS,
    PS,
    COUNT, /* uint32_t */
    FLAG, /* bool */
    NUMBER, /* double */
    MBPS, /* to bytes per ns, of a double */
};

/* Where each parameter goes in struct aries_timing, and in which unit the table has it. */
static const struct {
    const char *name;
    enum unit unit;
    size_t offset;
} timing_fields[] = {
#define FIELD(field, name, unit)                         \
    {                                                    \
        name, unit, offsetof(struct aries_timing, field) \
    }
    FIELD(cpu_fma, "aries.cpu.fma_ns", NS),
    FIELD(cpu_rdma, "aries.cpu.rdma_ns", NS),
    FIELD(cpu_smsg, "aries.cpu.smsg_ns", NS),
    FIELD(cpu_cqget, "aries.cpu.cqget_ns", NS),
    FIELD(cpu_getcomp, "aries.cpu.getcomp_ns", NS),
    FIELD(cpu_getnext, "aries.cpu.getnext_ns", NS),
    FIELD(cpu_release, "aries.cpu.release_ns", NS),
    FIELD(cpu_fma_shared, "aries.cpu.fma_shared_ns", NS),
    FIELD(pcie_write, "aries.host.pcie_write_ns", NS),
    FIELD(pcie_read, "aries.host.pcie_read_ns", NS),
    FIELD(poll, "aries.host.poll_ns", NS),
    FIELD(irq_wake, "aries.host.irq_wake_ns", NS),
    FIELD(tx, "aries.nic.tx_ns", NS),
    FIELD(rx, "aries.nic.rx_ns", NS),
    FIELD(rspgen, "aries.nic.rspgen_ns", NS),
    FIELD(rsprx, "aries.nic.rsprx_ns", NS),
    FIELD(cqe, "aries.nic.cqe_ns", NS),
    FIELD(bte_desc, "aries.nic.bte_desc_ns", NS),
    FIELD(fma_gap, "aries.nic.fma_gap_ps", PS),
    FIELD(amo_gap, "aries.nic.amo_gap_ps", PS),
    FIELD(amo_hit, "aries.nic.amo_hit_ns", NS),
    FIELD(bte_rate, "aries.nic.bte_rate_MBps", MBPS),
    FIELD(fma_get_rate, "aries.nic.fma_get_MBps", MBPS),
    FIELD(store_rate_short, "aries.cpu.store_short_GBps", NUMBER),
    FIELD(store_rate_long, "aries.cpu.store_long_GBps", NUMBER),
    FIELD(store_scale, "aries.cpu.store_scale", NUMBER),
    FIELD(duplex_rate, "aries.host.duplex_GBps", NUMBER),
    FIELD(orb_timeout, "aries.fault.orb_timeout_ms", MS),
    FIELD(npt_timeout, "aries.fault.npt_timeout_ms", MS),
    FIELD(orb_entries, "aries.nic.orb_entries", COUNT),
    FIELD(orb_bte_get, "aries.nic.orb_bte_get", COUNT),
    FIELD(fma_descs, "aries.nic.fma_descs", COUNT),
    FIELD(bte_channels, "aries.nic.bte_channels", COUNT),
    FIELD(mdds, "aries.nic.mdds", COUNT),
    FIELD(cqs, "aries.nic.cqs", COUNT),
    FIELD(huge_pages, "aries.node.huge_pages", FLAG),
    FIELD(ssids, "aries.nic.ssids", COUNT),
    FIELD(vces, "aries.nic.vces", COUNT),
    FIELD(ce_combine, "aries.nic.ce_combine_ns", NS),
    FIELD(ce_gap, "aries.nic.ce_gap_ps", PS),
    FIELD(cpu_ce_check, "aries.cpu.ce_check_ns", NS),
    FIELD(npt_tags, "aries.nic.npt_tags", COUNT),
    FIELD(amo_cache, "aries.nic.amo_cache", COUNT),
    FIELD(chunk_packets, "aries.nic.chunk_packets", COUNT),
    FIELD(chunk_packets_fixed, "aries.nic.chunk_packets_fixed", COUNT),
    FIELD(response_class, "aries.route.response_class", COUNT),
    FIELD(cq_exact, "aries.nic.cq_exact", FLAG),
    FIELD(kill, "aries.fault.kill", FLAG),
    FIELD(cold_attach, "aries.cpu.attach_ns", CALL_NS),
    FIELD(cold_cq_create, "aries.cpu.cq_create_ns", CALL_NS),
    FIELD(cold_mem_register, "aries.cpu.mem_register_ns", CALL_NS),
    FIELD(cold_mem_page, "aries.cpu.mem_page_ns", CALL_NS),
    FIELD(cold_mem_deregister, "aries.cpu.mem_deregister_ns", CALL_NS),
    FIELD(cold_mem_deregister_page, "aries.cpu.mem_deregister_page_ns", CALL_NS),
    FIELD(cold_ep_create, "aries.cpu.ep_create_ns", CALL_NS),
    FIELD(cold_ep_bind, "aries.cpu.ep_bind_ns", CALL_NS),
    FIELD(cold_datagram, "aries.cpu.datagram_ns", CALL_NS),
    FIELD(cold_datagram_remote, "aries.cpu.datagram_remote_ns", CALL_NS),
    FIELD(cold_datagram_test, "aries.cpu.datagram_test_ns", CALL_NS),
    FIELD(cold_ce, "aries.cpu.ce_setup_ns", CALL_NS),
#undef FIELD
};

static void store(void *field, enum unit unit, double value, double call_scale)
{
    switch (unit) {
    case NS:
        *(sim_time_t *)field = (sim_time_t)llround(value * 1e3);
        break;
    case CALL_NS:
        *(sim_time_t *)field = (sim_time_t)llround(value * call_scale * 1e3);
        break;
    case MS:
        *(sim_time_t *)field = (sim_time_t)llround(value * 1e3) * 1000000;
        break;
    case PS:
        *(sim_time_t *)field = (sim_time_t)value;
        break;
    case COUNT:
        *(uint32_t *)field = (uint32_t)value;
        break;
    case FLAG:
        *(bool *)field = value != 0;
        break;
    case NUMBER:
        *(double *)field = value;
        break;
    case MBPS:
        *(double *)field = value / 1e3;
        break;
    }
}

void aries_params_to_timing(const struct aries_params *params, struct aries_timing *timing)
{
    double call_scale = get(params, "aries.cpu.scale");
    size_t i;

    *timing = (struct aries_timing){
        .nic_packet = (sim_time_t)llround(5e6 / get(params, "aries.nic.cclk_MHz")),
        .nic_flit = (sim_time_t)llround(1e6 / get(params, "aries.nic.cclk_MHz")),
    };
    for (i = 0; i < G_N_ELEMENTS(timing_fields); i++)
        store((char *)timing + timing_fields[i].offset, timing_fields[i].unit,
              get(params, timing_fields[i].name), call_scale);
    for (i = 0; i <= ARIES_STORE_SHORT; i++)
        timing->store_times[i] = aries_store_formula(timing, i);
}
