/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Item 20: on an idle machine F0 and F1 give an operation the same time, within 2 %. Single
 * operations from post to completion: FMA and BTE, PUT and GET, 8 B to 4 MiB, every delivery mode,
 * pairs of every number of hops of every preset.
 *
 *   aries_agreement [preset]    prints the largest difference of each; with a name all over 1 %
 */
#include "fixture.h"
#include "full.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX (4u << 20)
#define SIZES 26
#define PAIRS_MAX 16
#define LIMIT 0.02
#define MANY_BYTES (128u << 10) /* more of them only between the first pair of each distance */

static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_FMA_GET, GNI_POST_RDMA_PUT,
                                        GNI_POST_RDMA_GET};
static const char *const type_name[] = {"FMA put", "FMA get", "BTE put", "BTE get"};
static const uint16_t modes[] = {
    GNI_DLVMODE_ADAPTIVE0, GNI_DLVMODE_ADAPTIVE1, GNI_DLVMODE_ADAPTIVE2, GNI_DLVMODE_ADAPTIVE3,
    GNI_DLVMODE_MIN_HASH,  GNI_DLVMODE_IN_ORDER,  GNI_DLVMODE_NMIN_HASH,
};
static const char *const mode_name[] = {"ADAPTIVE_0", "ADAPTIVE_1", "ADAPTIVE_2", "ADAPTIVE_3",
                                        "MIN_HASH",   "IN_ORDER",   "NMIN_HASH"};
#define TYPES (sizeof types / sizeof *types)
#define MODES (sizeof modes / sizeof *modes)

struct series {
    const char *preset;
    enum net_fidelity fidelity;
    uint32_t source, target, most; /* bytes */
    sim_time_t time[MODES][TYPES][SIZES];
};

/* 8, 16, 32, ... 4 MiB, and before these some that are no powers of two. */
static uint32_t bytes_of(uint32_t i)
{
    static const uint32_t odd[SIZES - 20] = {24, 200, 1528, 5000, 48u << 10, 100000};

    return i < SIZES - 20 ? odd[i] : 8u << (i - (SIZES - 20));
}

/* The same addresses in every run: hashed modes go by them. */
static uint8_t memory[2][BYTES_MAX] __attribute__((aligned(4096)));

static void rank_main(struct rank *rank)
{
    struct series *series = rank->machine->argument;
    struct domain domain;
    gni_mem_handle_t handle;
    gni_ep_handle_t ep;
    uint32_t mode, type, i;

    domain_open(rank, &domain, GNI_CDM_MODE_ERR_NO_KILL);
    ep = domain_connect(rank, &domain, 1 - rank->id);
    handle = domain_register(&domain, memory[rank->id], BYTES_MAX, NULL, GNI_MEM_READWRITE);
    publish(rank, handle, memory[rank->id]);
    for (mode = 0; rank->id == 0 && mode < MODES; mode++)
        for (type = 0; type < TYPES; type++)
            for (i = 0; i < SIZES && bytes_of(i) <= series->most; i++) {
                gni_post_descriptor_t descr =
                    describe_put(types[type], memory[0], handle, published_address(rank, 1),
                                 published_handle(rank, 1), bytes_of(i));

                descr.dlvr_mode = modes[mode];
                series->time[mode][type][i] = idle_time(&domain, ep, descr);
            }
    machine_barrier(rank);
    domain_close(&domain);
}

static void configure(const struct machine *machine, struct net_config *config)
{
    const struct series *series = machine->argument;

    config->fidelity = series->fidelity;
}

static void place(struct machine *machine)
{
    const struct series *series = machine->argument;

    machine->node[0] = series->source;
    machine->node[1] = series->target;
}

static void run(struct series *series)
{
    machine_run(&(struct machine){.preset = series->preset,
                                  .argument = series,
                                  .configure = configure,
                                  .place = place,
                                  .main = rank_main});
}

/* ---- pairs ----------------------------------------------------------------------------------- */

struct pair {
    uint32_t source, target, hops;
    bool first; /* the first pair with this number of hops */
};

/* Three pairs, drawn at random, of each number of hops that the machine has. */
static uint32_t draw_pairs(const char *preset, struct pair *pairs)
{
    struct sim_random random;
    struct net_config config;
    uint32_t have[6] = {0}, count = 0, tries;
    struct net *net;
    char *error;

    sim_init(&(struct sim_options){.seed = 1});
    net_config_default(&config);
    config.dragonfly.preset = preset;
    net = net_create(&config, &error);
    assert_non_null(net);
    sim_random_init(&random, 1, preset, 0);
    for (tries = 0; tries < 20000; tries++) {
        uint32_t s = (uint32_t)sim_random_below(&random, net_endpoints(net));
        uint32_t t = (uint32_t)sim_random_below(&random, net_endpoints(net));
        uint32_t hops = net_minimal_hops(net, s, t);

        assert_true(hops < 6);
        if (s != t && have[hops] < 3) {
            pairs[count++] = (struct pair){s, t, hops, have[hops]++ == 0};
        }
    }
    net_destroy(net);
    sim_fini();
    return count;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static const char *verbose; /* preset whose differences are listed */

static double compare(const struct series *f0, const struct series *f1, uint32_t hops,
                      uint32_t *failures, double by_mode[MODES])
{
    double worst = 0;
    uint32_t mode, type, i;

    for (mode = 0; mode < MODES; mode++)
        for (type = 0; type < TYPES; type++)
            for (i = 0; i < SIZES && bytes_of(i) <= f0->most; i++) {
                double a = (double)f0->time[mode][type][i], b = (double)f1->time[mode][type][i];
                double off = fabs(b / a - 1);

                worst = fmax(worst, off);
                by_mode[mode] = fmax(by_mode[mode], off);
                if (off > LIMIT || (off > LIMIT / 2 && verbose != NULL)) {
                    *failures += off > LIMIT;
                    if (*failures < 10 || verbose != NULL)
                        print_error("%s, %s, %u hops, %u → %u, %s of %u bytes: F0 %.1f ns, F1 %.1f "
                                    "ns, %.2f %%\n",
                                    f0->preset, mode_name[mode], hops, f0->source, f0->target,
                                    type_name[type], bytes_of(i), a / 1e3, b / 1e3,
                                    (b / a - 1) * 100);
                }
            }
    return worst;
}

static uint32_t agree(const char *preset)
{
    struct series *f0 = calloc(1, sizeof *f0), *f1 = calloc(1, sizeof *f1);
    struct pair pairs[PAIRS_MAX];
    uint32_t count = draw_pairs(preset, pairs), failures = 0, i;
    double worst = 0, by_mode[MODES] = {0};

    assert_non_null(f0);
    assert_non_null(f1);
    for (i = 0; i < count; i++) {
        f0->preset = f1->preset = preset;
        f0->source = f1->source = pairs[i].source;
        f0->target = f1->target = pairs[i].target;
        f0->most = f1->most =
            pairs[i].first ? (uint32_t)test_full(256 << 10, BYTES_MAX) : MANY_BYTES;
        f0->fidelity = NET_F0;
        f1->fidelity = NET_F1;
        run(f0);
        run(f1);
        worst = fmax(worst, compare(f0, f1, pairs[i].hops, &failures, by_mode));
    }
    print_message("%-12s %2u pairs, largest difference %.2f %%:", preset, count, worst * 100);
    for (i = 0; i < MODES; i++)
        print_message(" %s %.2f", mode_name[i], by_mode[i] * 100);
    print_message(" (%u over %g %%)\n", failures, LIMIT * 100);
    free(f0);
    free(f1);
    return failures;
}

static void aries_20_fidelities_agree_on_every_preset(void **state)
{
    size_t count, i;
    const struct net_preset *presets = net_presets(&count);
    uint32_t failures = 0;

    (void)state;
    for (i = 0; i < count; i++)
        if (verbose == NULL || strcmp(verbose, presets[i].name) == 0)
            failures += agree(presets[i].name);
    assert_int_equal(failures, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_20_fidelities_agree_on_every_preset),
    };

    if (argc > 1)
        verbose = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
