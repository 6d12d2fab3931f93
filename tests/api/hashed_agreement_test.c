/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Item 20 for the hashed modes: on an idle machine an operation takes the same time at F0, F1 and
 * F2, within 2 %. Each line has its path, the same at all three; where packets meet on a link is
 * a matter of single hashes, so operations to several places are compared by their mean. F2 is
 * slower where the NIC sends as much as the links carry: docs/internals/network.md, "F2".
 *
 *   aries_hashed_agreement all    prints each mean
 */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES_MAX (1u << 20)
#define PLACES 8
#define LIMIT 0.02
#define LIMIT_FULL 0.08 /* F2, all links full */

static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_FMA_GET, GNI_POST_RDMA_PUT,
                                        GNI_POST_RDMA_GET};
static const char *const type_name[] = {"FMA put", "FMA get", "BTE put", "BTE get"};
static const uint16_t modes[] = {GNI_DLVMODE_MIN_HASH, GNI_DLVMODE_NMIN_HASH};
static const char *const mode_name[] = {"MIN_HASH", "NMIN_HASH"};
static const uint32_t sizes[] = {8, 64, 1024, 4096, 8192, 64u << 10, BYTES_MAX};
#define TYPES (sizeof types / sizeof *types)
#define MODES (sizeof modes / sizeof *modes)
#define SIZES (sizeof sizes / sizeof *sizes)

static bool verbose;

struct series {
    const char *preset;
    enum net_fidelity fidelity;
    uint32_t target;
    double time[MODES][TYPES][SIZES]; /* mean, ps */
};

static uint8_t memory[2][BYTES_MAX + PLACES * 64 * 37] __attribute__((aligned(4096)));

static void rank_main(struct rank *rank)
{
    struct series *series = rank->machine->argument;
    struct domain domain;
    gni_mem_handle_t handle;
    gni_ep_handle_t ep;
    size_t mode, type, i, place;

    domain_open(rank, &domain, GNI_CDM_MODE_ERR_NO_KILL);
    ep = domain_connect(rank, &domain, 1 - rank->id);
    handle = domain_register(&domain, memory[rank->id], sizeof memory[0], NULL, GNI_MEM_READWRITE);
    publish(rank, handle, memory[rank->id]);
    for (mode = 0; rank->id == 0 && mode < MODES; mode++)
        for (type = 0; type < TYPES; type++)
            for (i = 0; i < SIZES; i++) {
                size_t places = sizes[i] == BYTES_MAX ? 1 : PLACES;
                double sum = 0;

                for (place = 0; place < places; place++) {
                    gni_post_descriptor_t descr =
                        describe_put(types[type], memory[0], handle,
                                     published_address(rank, 1) + place * 64 * 37,
                                     published_handle(rank, 1), sizes[i]);

                    descr.dlvr_mode = modes[mode];
                    sum += (double)idle_time(&domain, ep, descr);
                }
                series->time[mode][type][i] = sum / (double)places;
            }
    machine_barrier(rank);
    domain_close(&domain);
}

static void configure(const struct machine *machine, struct net_config *config)
{
    const struct series *series = machine->argument;

    config->fidelity = series->fidelity;
}

static void place_ranks(struct machine *machine)
{
    const struct series *series = machine->argument;

    machine->node[0] = 0;
    machine->node[1] = series->target;
}

static void run(struct series *series)
{
    machine_run(&(struct machine){.preset = series->preset,
                                  .argument = series,
                                  .configure = configure,
                                  .place = place_ranks,
                                  .main = rank_main});
}

/* Returns how many differ by more than the limit. */
static uint32_t compare(const char *preset, uint32_t target)
{
    static struct series series[3];
    uint32_t failures = 0, level;
    size_t mode, type, i;

    for (level = 0; level < 3; level++) {
        series[level].preset = preset;
        series[level].fidelity = (enum net_fidelity)level;
        series[level].target = target;
        run(&series[level]);
    }
    for (mode = 0; mode < MODES; mode++)
        for (type = 0; type < TYPES; type++)
            for (i = 0; i < SIZES; i++) {
                double f0 = series[NET_F0].time[mode][type][i];
                double f1 = series[NET_F1].time[mode][type][i] / f0 - 1;
                double f2 = series[NET_F2].time[mode][type][i] / f0 - 1;
                bool full = modes[mode] == GNI_DLVMODE_MIN_HASH &&
                            types[type] == GNI_POST_RDMA_PUT && sizes[i] >= 64u << 10;
                bool failed = fabs(f1) > LIMIT || fabs(f2 - f1) > (full ? LIMIT_FULL : LIMIT);

                failures += failed;
                if (failed || verbose)
                    print_error("%s, %s, 0 → %u, %s of %u bytes: F0 %.1f ns, F1 %+.2f %%, F2 %+.2f "
                                "%%\n",
                                preset, mode_name[mode], target, type_name[type], sizes[i],
                                f0 / 1e3, f1 * 100, f2 * 100);
            }
    return failures;
}

static void aries_20_hashed_modes_agree(void **state)
{
    static const uint32_t targets[] = {1, 4, 64, 72, 400, 767}; /* 0, 1, 1, 2 links; other group */
    uint32_t failures = 0;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof targets / sizeof *targets; i++)
        failures += compare("xc-2-groups", targets[i]);
    failures += compare("theta9", 3000);
    assert_int_equal(failures, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_20_hashed_modes_agree),
    };

    (void)argv;
    verbose = argc > 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
