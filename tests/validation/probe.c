/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Facts of the model that no workload measures, as one JSON object on standard output: wiring of
 * the machines with a published link dump, and phits on a link. For harness/validation.py.
 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define PHIT_BITS 48.0
#define LINE_CODE 0.8 /* a link carries 9 phits in 540 bits */

/* ---- wiring ---------------------------------------------------------------------------------- */

struct wiring {
    const struct net *net;
    uint32_t groups, routers_per_group;
    uint64_t ends, blue_ends;
    uint32_t *pair; /* blue links from a group to another: [from * groups + to] */
};

static void count_link(const struct net_link_info *info, void *arg)
{
    struct wiring *wiring = arg;
    uint32_t from = info->router / wiring->routers_per_group;
    uint32_t to = info->peer / wiring->routers_per_group;

    wiring->ends++;
    if (info->color != NET_LINK_BLUE)
        return;
    wiring->blue_ends++;
    wiring->pair[from * wiring->groups + to]++;
}

/* From all routers of the first group to all of the machine, themselves included. */
static double mean_hops(const struct net *net, uint32_t per_group)
{
    uint32_t routers = net_routers(net), nodes = net_endpoints(net) / routers, source, target;
    uint64_t sum = 0;

    for (source = 0; source < per_group; source++)
        for (target = 0; target < routers; target++)
            sum += net_minimal_hops(net, source * nodes, target * nodes);
    return (double)sum / per_group / routers;
}

static void print_wiring(const char *preset)
{
    struct net_config config;
    struct wiring wiring = {0};
    uint32_t least = UINT32_MAX, most = 0, i;
    struct net *net;
    char *error;

    sim_init(&(struct sim_options){.seed = 1});
    net_config_default(&config);
    config.dragonfly.preset = preset;
    net = net_create(&config, &error);
    assert_non_null(net);
    wiring.groups = net_groups(net);
    wiring.routers_per_group = net_routers(net) / wiring.groups;
    wiring.pair = calloc((size_t)wiring.groups * wiring.groups, sizeof(*wiring.pair));
    net_for_each_link(net, count_link, &wiring);
    for (i = 0; i < wiring.groups * wiring.groups; i++) {
        if (i / wiring.groups == i % wiring.groups)
            continue;
        least = wiring.pair[i] < least ? wiring.pair[i] : least;
        most = wiring.pair[i] > most ? wiring.pair[i] : most;
    }
    printf("  \"%s.links\": %llu,\n", preset, (unsigned long long)wiring.ends / 2);
    printf("  \"%s.links_per_group_pair_min\": %u,\n", preset, least);
    printf("  \"%s.links_per_group_pair_max\": %u,\n", preset, most);
    printf("  \"%s.mean_hops\": %.6f,\n", preset, mean_hops(net, wiring.routers_per_group));
    printf("  \"%s.global_TBps\": %.6f,\n", preset,
           (double)wiring.blue_ends * config.dragonfly.blue.rate_mps * PHIT_BITS / 8 / LINE_CODE /
               1e6);
    free(wiring.pair);
    net_destroy(net);
    sim_fini();
}

/* ---- phits ----------------------------------------------------------------------------------- */

static struct phits {
    uint64_t there, back;
} phits;

static void count_phits(const struct net_link_info *info, void *arg)
{
    if (info->router == 0 && info->peer == 1)
        phits.there += info->units;
    else if (info->router == 1 && info->peer == 0)
        phits.back += info->units;
    else
        assert_int_equal(info->units, 0);
}

static void place(struct machine *machine)
{
    machine->node[0] = 0;
    machine->node[1] = 4;
}

/* One transfer of 64 bytes from rank 0 to rank 1, which sit on neighbouring blades. */
static void transfer_main(struct rank *rank)
{
    static uint64_t memory[2][8] __attribute__((aligned(64)));
    const gni_post_type_t *type = rank->machine->argument;
    gni_post_descriptor_t descr;
    gni_mem_handle_t handle;
    struct domain domain;

    domain_open(rank, &domain, GNI_CDM_MODE_ERR_NO_KILL);
    handle = domain_register(&domain, memory[rank->id], sizeof(memory[0]), NULL, GNI_MEM_READWRITE);
    publish(rank, handle, memory[rank->id]);
    if (rank->id == 0) {
        gni_ep_handle_t ep = domain_connect(rank, &domain, 1);

        descr = describe_put(*type, memory[0], handle, published_address(rank, 1),
                             published_handle(rank, 1), sizeof(memory[0]));
        assert_ok(post(ep, &descr));
        complete(domain.source, &descr);
        phits = (struct phits){0};
        net_for_each_link(rank->machine->net, count_phits, NULL);
    }
    machine_barrier(rank);
    domain_close(&domain);
}

static void print_phits(const char *name, gni_post_type_t type, const char *end)
{
    machine_run(&(struct machine){.main = transfer_main, .place = place, .argument = &type});
    printf("  \"%s.request_phits\": %llu,\n", name, (unsigned long long)phits.there);
    printf("  \"%s.response_phits\": %llu%s\n", name, (unsigned long long)phits.back, end);
}

int main(void)
{
    printf("{\n");
    print_wiring("edison");
    print_wiring("theta9");
    print_phits("put64", GNI_POST_FMA_PUT, ",");
    print_phits("get64", GNI_POST_FMA_GET, "");
    printf("}\n");
    return 0;
}
