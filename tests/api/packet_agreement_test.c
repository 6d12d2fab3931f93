/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Item 20 for packets: whole operations at F2 against F0, on an idle machine. Where one path or
 * none is involved, and for single packets, they agree within 1 %. Adaptive streams make detours
 * that F0 and F1 leave out: docs/model-network.md, "F2", says how much that may be.
 */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>

#define BYTES_MAX (1u << 20)

static const gni_post_type_t types[] = {GNI_POST_FMA_PUT, GNI_POST_FMA_GET, GNI_POST_RDMA_PUT,
                                        GNI_POST_RDMA_GET};
static const uint16_t modes[] = {
    GNI_DLVMODE_IN_ORDER,  GNI_DLVMODE_MIN_HASH,  GNI_DLVMODE_ADAPTIVE0,
    GNI_DLVMODE_ADAPTIVE1, GNI_DLVMODE_ADAPTIVE2, GNI_DLVMODE_ADAPTIVE3,
};
static const char *const mode_name[] = {"IN_ORDER",   "MIN_HASH",   "ADAPTIVE_0",
                                        "ADAPTIVE_1", "ADAPTIVE_2", "ADAPTIVE_3"};
static const uint32_t sizes[] = {8, 64, 1024, 8192, 64u << 10, BYTES_MAX};
#define TYPES (sizeof types / sizeof *types)
#define MODES (sizeof modes / sizeof *modes)
#define SIZES (sizeof sizes / sizeof *sizes)

struct series {
    enum net_fidelity fidelity;
    uint32_t target;
    sim_time_t time[MODES][TYPES][SIZES];
};

static uint8_t memory[2][BYTES_MAX] __attribute__((aligned(4096)));

static void rank_main(struct rank *rank)
{
    struct series *series = rank->machine->argument;
    struct domain domain;
    gni_mem_handle_t handle;
    gni_ep_handle_t ep;
    size_t mode, type, i;

    domain_open(rank, &domain, GNI_CDM_MODE_ERR_NO_KILL);
    ep = domain_connect(rank, &domain, 1 - rank->id);
    handle = domain_register(&domain, memory[rank->id], BYTES_MAX, NULL, GNI_MEM_READWRITE);
    publish(rank, handle, memory[rank->id]);
    for (mode = 0; rank->id == 0 && mode < MODES; mode++)
        for (type = 0; type < TYPES; type++)
            for (i = 0; i < SIZES; i++) {
                gni_post_descriptor_t descr =
                    describe_put(types[type], memory[0], handle, published_address(rank, 1),
                                 published_handle(rank, 1), sizes[i]);

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

    machine->node[0] = 0;
    machine->node[1] = series->target;
}

static void run(struct series *series)
{
    machine_run(&(struct machine){.preset = "xc-2-groups",
                                  .argument = series,
                                  .configure = configure,
                                  .place = place,
                                  .main = rank_main});
}

static double limit(size_t mode, uint32_t target, uint32_t bytes)
{
    if (bytes <= 64 || target < 4 || modes[mode] == GNI_DLVMODE_IN_ORDER)
        return 0.01;
    if (modes[mode] == GNI_DLVMODE_MIN_HASH) /* every line has its path, at F0 every 16 */
        return bytes < BYTES_MAX ? 0.25 : 0.05;
    return bytes <= 8192 ? 0.32 : bytes < BYTES_MAX ? 0.13 : 0.03;
}

static void aries_20_packets_agree_with_the_closed_form(void **state)
{
    static const uint32_t targets[] = {1, 4, 64, 72, 400, 767}; /* 0, 1, 1, 2 links; other group */
    static struct series f0 = {.fidelity = NET_F0}, f2 = {.fidelity = NET_F2};
    uint32_t failures = 0;
    size_t k, mode, type, i;

    (void)state;
    for (k = 0; k < sizeof targets / sizeof *targets; k++) {
        f0.target = f2.target = targets[k];
        run(&f0);
        run(&f2);
        for (mode = 0; mode < MODES; mode++)
            for (type = 0; type < TYPES; type++)
                for (i = 0; i < SIZES; i++) {
                    double a = (double)f0.time[mode][type][i], b = (double)f2.time[mode][type][i];

                    if (fabs(b / a - 1) <= limit(mode, targets[k], sizes[i]))
                        continue;
                    failures++;
                    print_error("%s, 0 → %u, type %zu, %u bytes: F0 %.1f ns, F2 %.1f ns, %.2f %%\n",
                                mode_name[mode], targets[k], type, sizes[i], a / 1e3, b / 1e3,
                                (b / a - 1) * 100);
                }
    }
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aries_20_packets_agree_with_the_closed_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
