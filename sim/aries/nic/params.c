/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table of all numbers of the Aries model: a value for each host profile, unit, source,
 * confidence. docs/model.md explains the sources. Short keys: gpcd (Cray's released Aries register
 * headers), WP (Cray XC Series Network white paper), UCX, Chapel (published measurements and
 * constants), fit (chosen so that sums of stages equal published latencies; docs/model.md shows
 * which).
 */
#include "nic/params.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

#define SAME(v)       \
    {                 \
        (v), (v), (v) \
    }
#define HOP_NOTE \
    "mean of the three colours is the published 100 ns; 2 green + 2 black + 1 blue = 500 ns"

/* Grouped as in docs/model.md. The order has no meaning for the program. */
static const struct aries_param table[] = {
    /* Name, unit, meaning, source, confidence, minimum, maximum, {xc40_hsw, xc30_snb, xc40_knl}. */
    {"aries.link.green.phit_rate_Mps", "Mphit/s", "phits per second on a rank-1 link",
     "14 Gb/s lane / 20", ARIES_DERIVED, 1, 100000, SAME(700)},
    {"aries.link.green.hop_ns", "ns", "input of one router to input of the next, rank-1", HOP_NOTE,
     ARIES_ASSUMED, 0, 1e6, SAME(95)},
    {"aries.link.green.lanes", "", "lanes in use; 3 is full rate", "gpcd ar_slb_lcb",
     ARIES_PUBLISHED, 1, 3, SAME(3)},
    {"aries.link.black.phit_rate_Mps", "Mphit/s", "phits per second on a rank-2 link",
     "14 Gb/s lane / 20", ARIES_DERIVED, 1, 100000, SAME(700)},
    {"aries.link.black.hop_ns", "ns", "input of one router to input of the next, rank-2", HOP_NOTE,
     ARIES_ASSUMED, 0, 1e6, SAME(100)},
    {"aries.link.black.lanes", "", "lanes in use; 3 is full rate", "gpcd ar_slb_lcb",
     ARIES_PUBLISHED, 1, 3, SAME(3)},
    {"aries.link.blue.phit_rate_Mps", "Mphit/s", "phits per second on a rank-3 (optical) link",
     "12.5 Gb/s lane / 20", ARIES_DERIVED, 1, 100000, SAME(625)},
    {"aries.link.blue.hop_ns", "ns", "input of one router to input of the next, rank-3, 4 m cable",
     HOP_NOTE, ARIES_ASSUMED, 0, 1e6, SAME(110)},
    {"aries.link.blue.lanes", "", "lanes in use; 3 is full rate", "gpcd ar_slb_lcb",
     ARIES_PUBLISHED, 1, 3, SAME(3)},

    {"aries.router.transit_ns", "ns", "RTR: processor tile to processor tile inside one Aries",
     "half a hop", ARIES_ASSUMED, 0, 1e6, SAME(50)},
    {"aries.router.damq_blocks", "", "blocks of 8 phits in an input queue", "gpcd damq_free",
     ARIES_PUBLISHED, 1, 1024, SAME(128)},
    {"aries.router.private_blocks", "", "blocks of each virtual channel that no other may take",
     "gpcd", ARIES_PUBLISHED, 0, 128, SAME(8)},
    {"aries.router.shared_blocks", "", "blocks that any virtual channel may take", "gpcd",
     ARIES_PUBLISHED, 0, 1024, SAME(64)},
    {"aries.router.vcs", "", "virtual channels of a link: 0-3 requests, 4-7 responses",
     "gpcd vc_table", ARIES_PUBLISHED, 8, 8, SAME(8)},

    {"aries.router.row_credits", "phits",
     "F2: of a VC in the row buffer of a column, besides those on the move", "gpcd; unit assumed",
     ARIES_PUBLISHED, 1, 100, SAME(10)},
    {"aries.router.row_bus_Mps", "Mphit/s", "F2: an input tile's row bus: two paths at 800 MHz",
     "gpcd ROWBUS_2X; clock assumed", ARIES_ASSUMED, 1, 100000, SAME(1600)},
    {"aries.router.column_bus_Mps", "Mphit/s", "F2: a row's bus into an output tile",
     "as a processor tile", ARIES_ASSUMED, 1, 100000, SAME(1250)},
    {"aries.router.ptile_Mps", "Mphit/s", "F2: a processor tile, each class",
     "four tiles never limit two NICs", ARIES_ASSUMED, 1, 100000, SAME(1250)},

#define BIAS(c, min_shift, min_add, non_shift, non_add)                               \
    {"aries.route.bias" c ".min_shift",                                               \
     "bits",                                                                          \
     "adaptive class " c ": left shift of a minimal port's load",                     \
     "not public",                                                                    \
     ARIES_ASSUMED,                                                                   \
     0,                                                                               \
     2,                                                                               \
     SAME(min_shift)},                                                                \
        {"aries.route.bias" c ".min_add",                                             \
         "",                                                                          \
         "adaptive class " c ": added to a minimal port's load",                      \
         "not public",                                                                \
         ARIES_ASSUMED,                                                               \
         0,                                                                           \
         63,                                                                          \
         SAME(min_add)},                                                              \
        {"aries.route.bias" c ".non_shift",                                           \
         "bits",                                                                      \
         "adaptive class " c ": left shift of a non-minimal port's load",             \
         "not public",                                                                \
         ARIES_ASSUMED,                                                               \
         0,                                                                           \
         2,                                                                           \
         SAME(non_shift)},                                                            \
    {                                                                                 \
        "aries.route.bias" c ".non_add", "",                                          \
            "adaptive class " c ": added to a non-minimal port's load", "not public", \
            ARIES_ASSUMED, 0, 63, SAME(non_add)                                       \
    }
    BIAS("[0]", 0, 0, 0, 0),
    BIAS("[1]", 0, 0, 0, 2),
    BIAS("[2]", 0, 0, 0, 4),
    BIAS("[3]", 0, 0, 2, 16),
#undef BIAS
    {"aries.route.response_class", "", "adaptive class of responses without data",
     "gpcd route_ctrl_rsp = 7, forced", ARIES_PUBLISHED, 0, 3, SAME(3)},

    {"aries.nic.tx_ns", "ns", "TX: transmit pipeline, 32 cycles", "fit", ARIES_ASSUMED, 0, 1e6,
     SAME(40)},
    {"aries.nic.rx_ns", "ns", "RX: receive pipeline of a request, 32 cycles", "fit", ARIES_ASSUMED,
     0, 1e6, SAME(40)},
    {"aries.nic.rspgen_ns", "ns", "response generation at the target", "fit", ARIES_ASSUMED, 0, 1e6,
     SAME(20)},
    {"aries.nic.rsprx_ns", "ns", "response reception at the source, closing of the transaction",
     "fit", ARIES_ASSUMED, 0, 1e6, SAME(30)},
    {"aries.nic.cqe_ns", "ns", "completion entry behind a data write", "", ARIES_ASSUMED, 0, 1e6,
     SAME(10)},
    {"aries.nic.cclk_MHz", "MHz", "NIC clock: one 16-byte flit per cycle, 64 bytes in five",
     "WP, gpcd", ARIES_PUBLISHED, 1, 10000, SAME(800)},
    {"aries.nic.request_buffer", "flits", "F2: what the NIC takes in before requests wait outside",
     "gpcd ar_nl_cfg_crdt", ARIES_PUBLISHED, 1, 1e6, SAME(32)},
    {"aries.nic.orb_entries", "", "request packets in flight per NIC", "gpcd max_pid_cnt",
     ARIES_PUBLISHED, 1, 1024, SAME(1024)},
    {"aries.nic.orb_bte_get", "", "of these at most by BTE GETs", "gpcd rd_op_ctrl",
     ARIES_PUBLISHED, 1, 1024, SAME(768)},
    {"aries.nic.fma_descs", "",
     "FMA descriptors that communication domains can get (128, one kept by the system)",
     "gpcd ar_nic_fma", ARIES_PUBLISHED, 1, 1024, SAME(127)},
    {"aries.nic.fma_gap_ps", "ps", "NIC-wide minimum gap between FMA packets: 120 M/s",
     "Cray papers", ARIES_RECALLED, 0, 1e9, SAME(8333)},
    {"aries.nic.fma_get_MBps",
     "MB/s",
     "FMA GET stream of one domain above 64 bytes",
     "Chapel 9678",
     ARIES_PUBLISHED,
     1,
     1e6,
     {2700, 2700, 1500}},
    {"aries.nic.bte_channels", "", "BTE channels for users", "gpcd, gni_pub", ARIES_PUBLISHED, 1, 4,
     SAME(3)},
    {"aries.nic.bte_desc_ns", "ns",
     "start of a BTE descriptor: measured dead time 0.50 us less one host read",
     "fit of UCT windowed puts", ARIES_FITTED, 0, 1e6, SAME(85)},
    {"aries.nic.bte_rate_MBps", "MB/s",
     "BTE stream: 64 reads of 64 bytes in flight over the host read latency",
     "osu_bw 9.84-9.88 GB/s", ARIES_FITTED, 1, 1e6, SAME(9870)},
    {"aries.nic.npt_tags", "", "host reads in progress for incoming requests", "gpcd ar_nic_npt",
     ARIES_PUBLISHED, 1, 1024, SAME(64)},
    {"aries.nic.mdds", "", "memory domain descriptors", "gpcd ar_nic_nat", ARIES_PUBLISHED, 1, 4096,
     SAME(4096)},
    {"aries.nic.cqs", "", "completion queue descriptors", "gpcd, 11-bit handle", ARIES_PUBLISHED, 1,
     2048, SAME(2048)},
    {"aries.node.huge_pages", "", "1: hugetlbfs is mounted on the nodes; GNI_MsgqInit needs it",
     "Cray's nodes", ARIES_ASSUMED, 0, 1, SAME(1)},
    {"aries.nic.ssids", "", "transactions in progress", "gpcd ar_nic_ssid", ARIES_PUBLISHED, 1, 512,
     SAME(512)},
    {"aries.nic.amo_hit_ns", "ns", "atomic operation on a cached line", "16 cycles", ARIES_ASSUMED,
     0, 1e6, SAME(20)},
    {"aries.nic.amo_gap_ps", "ps",
     "minimum gap between operations of the atomic unit: 400 M/s of all nodes at one NIC, the two "
     "flits of a request",
     "Chapel 10876", ARIES_PUBLISHED, 0, 1e9, SAME(2500)},
    {"aries.nic.amo_cache", "", "lines in the cache of the atomic unit", "gpcd ar_nic_amo",
     ARIES_PUBLISHED, 1, 64, SAME(64)},
    {"aries.nic.vces", "", "channels (VCEs) of the collective engine", "gpcd ar_nic_ce",
     ARIES_PUBLISHED, 1, 32, SAME(4)},
    {"aries.nic.ce_combine_ns", "ns", "a join or result through the collective engine, 40 cycles",
     "", ARIES_ASSUMED, 0, 1e6, SAME(50)},
    {"aries.nic.ce_gap_ps", "ps", "minimum gap between packets at the collective engine",
     "as fma_gap_ps", ARIES_ASSUMED, 0, 1e9, SAME(8333)},
    {"aries.nic.cq_exact", "",
     "1: a completion queue holds just the entries asked for; 0: whole pages of 512, less one",
     "libfabric tests", ARIES_ASSUMED, 0, 1, SAME(0)},
    {"aries.nic.chunk_packets", "", "F1: 64-byte packets that travel as one chunk", "this model",
     ARIES_ASSUMED, 1, 1024, SAME(64)},
    {"aries.nic.chunk_packets_fixed", "", "the same for packets that do not adapt their path",
     "this model", ARIES_ASSUMED, 1, 1024, SAME(16)},

    {"aries.host.pcie_write_ns",
     "ns",
     "P: posted write, CPU to NIC or NIC to memory",
     "fit",
     ARIES_FITTED,
     0,
     1e6,
     {150, 200, 200}},
    {"aries.host.pcie_read_ns",
     "ns",
     "RD: read of host memory by the NIC, round trip",
     "fit",
     ARIES_FITTED,
     0,
     1e6,
     {415, 500, 550}},
    {"aries.host.poll_ns",
     "ns",
     "mean time until a spinning CPU sees a write",
     "",
     ARIES_ASSUMED,
     0,
     1e6,
     {30, 39, 180}},
    {"aries.host.duplex_GBps",
     "GB/s",
     "both directions of a node's bulk traffic together",
     "XC30: HPCC rings of 2 MB; others recalled",
     ARIES_FITTED,
     0.001,
     1e6,
     {16, 12.5, 16}},
    {"aries.host.irq_wake_ns",
     "ns",
     "wake-up of a blocked waiter",
     "",
     ARIES_ASSUMED,
     0,
     1e9,
     {4000, 4500, 12000}},

    {"aries.cpu.fma_ns",
     "ns",
     "GNI_PostFma up to the last store of 8 bytes",
     "UCX; others scaled",
     ARIES_PUBLISHED,
     0,
     1e6,
     {80, 104, 480}},
    {"aries.cpu.rdma_ns", "ns", "GNI_PostRdma", "fit", ARIES_FITTED, 0, 1e6, {615, 800, 3690}},
    {"aries.cpu.smsg_ns", "ns", "GNI_SmsgSend", "", ARIES_ASSUMED, 0, 1e6, {110, 143, 660}},
    {"aries.cpu.cqget_ns",
     "ns",
     "GNI_CqGetEvent that finds an event; half of it when there is none",
     "",
     ARIES_ASSUMED,
     0,
     1e6,
     {30, 39, 180}},
    {"aries.cpu.getcomp_ns", "ns", "GNI_GetCompleted", "", ARIES_ASSUMED, 0, 1e6, {30, 39, 180}},
    {"aries.cpu.getnext_ns",
     "ns",
     "GNI_SmsgGetNext that finds a message",
     "",
     ARIES_ASSUMED,
     0,
     1e6,
     {70, 91, 420}},
    {"aries.cpu.release_ns", "ns", "GNI_SmsgRelease", "", ARIES_ASSUMED, 0, 1e6, {20, 26, 120}},
    {"aries.cpu.ce_check_ns",
     "ns",
     "GNI_CeCheckResult: one look at memory",
     "",
     ARIES_ASSUMED,
     0,
     1e6,
     {10, 13, 60}},
    {"aries.cpu.fma_shared_ns", "ns",
     "extra per post of a domain with FMA_SHARED (0: contained in the measured adders)",
     "libfabric-cray 1328", ARIES_ASSUMED, 0, 1e6, SAME(0)},
    {"aries.cpu.store_short_GBps", "GB/s", "stores into the FMA window, first 1024 bytes",
     "fit of libfabric RMA writes", ARIES_FITTED, 0.001, 1e6, SAME(11.4)},
    {"aries.cpu.store_long_GBps", "GB/s", "stores into the FMA window, beyond 1024 bytes",
     "Chapel 9678", ARIES_PUBLISHED, 0.001, 1e6, SAME(3.7)},
    {"aries.cpu.store_scale",
     "",
     "factor on the time of stores",
     "",
     ARIES_ASSUMED,
     0.01,
     100,
     {1, 1.2, 2}},
    {"aries.cpu.scale",
     "",
     "factor on the cold-path calls below, which are given for Haswell",
     "",
     ARIES_ASSUMED,
     0.01,
     1000,
     {1, 1.3, 6}},
    {"aries.cpu.attach_ns", "ns", "GNI_CdmAttach", "", ARIES_ASSUMED, 0, 1e9, SAME(200000)},
    {"aries.cpu.cq_create_ns", "ns", "GNI_CqCreate", "", ARIES_ASSUMED, 0, 1e9, SAME(50000)},
    {"aries.cpu.mem_register_ns", "ns", "GNI_MemRegister", "", ARIES_ASSUMED, 0, 1e9, SAME(1500)},
    {"aries.cpu.mem_page_ns", "ns", "GNI_MemRegister, for each page", "", ARIES_ASSUMED, 0, 1e9,
     SAME(60)},
    {"aries.cpu.mem_deregister_ns", "ns", "GNI_MemDeregister", "", ARIES_ASSUMED, 0, 1e9,
     SAME(1000)},
    {"aries.cpu.mem_deregister_page_ns", "ns", "GNI_MemDeregister, for each page", "",
     ARIES_ASSUMED, 0, 1e9, SAME(30)},
    {"aries.cpu.ep_create_ns", "ns", "GNI_EpCreate", "", ARIES_ASSUMED, 0, 1e9, SAME(200)},
    {"aries.cpu.ep_bind_ns", "ns", "GNI_EpBind", "", ARIES_ASSUMED, 0, 1e9, SAME(100)},
    {"aries.cpu.ce_setup_ns", "ns", "GNI_CeCreate, GNI_CeConfigure, GNI_CeDestroy", "",
     ARIES_ASSUMED, 0, 1e9, SAME(5000)},
    {"aries.cpu.datagram_ns", "ns", "GNI_EpPostData*", "", ARIES_ASSUMED, 0, 1e9, SAME(5000)},
    {"aries.cpu.datagram_remote_ns", "ns", "the kernel's share at the target of a datagram",
     "10 us end to end", ARIES_ASSUMED, 0, 1e9, SAME(4500)},
    {"aries.cpu.datagram_test_ns", "ns", "GNI_EpPostDataTest*, GNI_PostDataProbe*", "",
     ARIES_ASSUMED, 0, 1e9, SAME(1000)},

    {"gni.send_ns",
     "ns",
     "libfabric's provider: a send, from the call to the post",
     "fit of pingpong over libfabric less over uGNI",
     ARIES_FITTED,
     0,
     1e6,
     {120, 156, 720}},
    {"gni.receive_ns",
     "ns",
     "libfabric's provider: an arrived message, matched and completed",
     "fit, as above",
     ARIES_FITTED,
     0,
     1e6,
     {120, 156, 720}},
    {"gni.post_ns",
     "ns",
     "libfabric's provider: a receive",
     "",
     ARIES_ASSUMED,
     0,
     1e6,
     {30, 39, 180}},
    {"gni.completion_ns",
     "ns",
     "libfabric's provider: an event of an operation of its own",
     "",
     ARIES_ASSUMED,
     0,
     1e6,
     {5, 7, 30}},
    {"gni.rma_ns",
     "ns",
     "libfabric's provider: a read, write or atomic, from the call to the post; the published "
     "latency of 0.72 us leaves nothing for it",
     "fit of RMA writes over libfabric",
     ARIES_FITTED,
     0,
     1e6,
     {0, 0, 0}},
    {"gni.rendezvous_ns",
     "ns",
     "libfabric's provider: a long message, at both ends besides",
     "fit of 1 MiB pingpong",
     ARIES_FITTED,
     0,
     1e6,
     {1000, 1300, 6000}},
    {"gni.connect_ns",
     "ns",
     "libfabric's provider: a step of making a connection",
     "",
     ARIES_ASSUMED,
     0,
     1e9,
     {2000, 2600, 12000}},
    {"gni.copy_GBps",
     "GB/s",
     "libfabric's provider: copy of an eager message to its receiver",
     "",
     ARIES_ASSUMED,
     0.001,
     1e6,
     {10, 8, 4}},

    {"aries.fault.orb_timeout_ms", "ms",
     "a request without response becomes an error (2.7 to 5.4 s on hardware)", "gpcd scrub period",
     ARIES_DERIVED, 0.001, 15000, SAME(4000)},
    {"aries.fault.npt_timeout_ms", "ms", "a host read without answer becomes an error (1 to 2 ms)",
     "gpcd npt scrub", ARIES_DERIVED, 0.001, 15000, SAME(1.5)},
    {"aries.fault.kill", "", "1: the error policy of the communication domain may kill a process",
     "", ARIES_ASSUMED, 0, 1, SAME(1)},
};

#define PARAMS (sizeof(table) / sizeof(table[0]))

struct aries_params {
    double value[PARAMS];
};

static const char *const profiles[] = {"xc40_hsw", "xc30_snb", "xc40_knl"};

const struct aries_param *aries_param_table(size_t *count)
{
    *count = PARAMS;
    return table;
}

struct aries_params *aries_params_new(const char *profile)
{
    struct aries_params *params;
    size_t column, i;

    for (column = 0; column < G_N_ELEMENTS(profiles); column++)
        if (strcmp(profile, profiles[column]) == 0)
            break;
    if (column == G_N_ELEMENTS(profiles))
        return NULL;
    params = g_new(struct aries_params, 1);
    for (i = 0; i < PARAMS; i++)
        params->value[i] = table[i].value[column];
    return params;
}

void aries_params_free(struct aries_params *params)
{
    g_free(params);
}

static size_t find(const char *name)
{
    size_t i;

    for (i = 0; i < PARAMS; i++)
        if (strcmp(table[i].name, name) == 0)
            break;
    return i;
}

bool aries_params_set(struct aries_params *params, const char *name, double value, char **error)
{
    size_t i = find(name);

    if (i == PARAMS) {
        *error = g_strdup_printf(
            "there is no parameter \"%s\"; sim-run --list-params shows them all", name);
        return false;
    }
    if (!(value >= table[i].minimum && value <= table[i].maximum)) {
        *error = g_strdup_printf("%s must be between %g and %g%s%s", name, table[i].minimum,
                                 table[i].maximum, table[i].unit[0] ? " " : "", table[i].unit);
        return false;
    }
    params->value[i] = value;
    return true;
}

double aries_params_get(const struct aries_params *params, const char *name)
{
    size_t i = find(name);

    return i == PARAMS ? NAN : params->value[i];
}
