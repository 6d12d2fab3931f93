/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "shot.h"

#include <stdlib.h>
#include <string.h>

#define PAUSE (20 * SIM_US) /* between shots: queues and links run empty */

void configure_two_groups(struct net_config *config, uint32_t cables)
{
    config->dragonfly.preset = NULL;
    config->dragonfly.groups = 2;
    config->dragonfly.chassis = 6;
    config->dragonfly.slots = 16;
    config->dragonfly.cables = cables;
}

/*
 * Whether the path has this number of links and begins with an electrical link, whose rate is
 * higher, at both ends.
 */
static bool fits(const struct net *net, uint32_t source, uint32_t target, uint32_t hops)
{
    sim_time_t one = net_idle_latency(net, source, target, 7),
               two = net_idle_latency(net, source, target, 14);

    return net_minimal_hops(net, source, target) == hops && two - one == 10 * SIM_NS &&
           two == net_idle_latency(net, target, source, 14);
}

void place_by_hops(struct machine *machine, uint32_t hops)
{
    uint32_t nodes = net_endpoints(machine->net), source, target;

    machine->node[0] = 0;
    machine->node[1] = 1;
    if (hops == 0)
        return;
    for (source = 0; source < nodes; source += 4)
        for (target = 0; target < nodes; target += 4)
            if (fits(machine->net, source, target, hops)) {
                machine->node[0] = source;
                machine->node[1] = target;
                return;
            }
    fail_msg("no pair of nodes is %u hops apart", hops);
}

static void configure(const struct machine *machine, struct net_config *config)
{
    const struct shots *shots = machine->argument;

    config->fidelity = shots->closed_form ? NET_F0 : NET_F1;
    configure_two_groups(config, shots->hops == 5 ? 1 : 12);
}

static void place(struct machine *machine)
{
    const struct shots *shots = machine->argument;

    place_by_hops(machine, shots->hops);
}

/* ---- the two ends ---------------------------------------------------------------------------- */

struct end {
    struct rank *rank;
    struct domain domain;
    gni_ep_handle_t ep;
    gni_mem_handle_t handle;
    uint64_t *memory;
    uint64_t number; /* of the write that is awaited */
    sim_time_t began, seen, poll;
};

/* Shared between the two ends; the simulation is one thread. */
static struct end *watched;

static bool written(const void *argument)
{
    const struct end *end = argument;

    return *(const volatile uint64_t *)end->memory == end->number;
}

static bool is_visible_shot(const struct shot *shot)
{
    return shot->type == GNI_POST_FMA_PUT && shot->bytes == 8;
}

static gni_post_descriptor_t descriptor(const struct end *end, const struct shot *shot)
{
    uint64_t remote = published_address(end->rank, 1);
    gni_mem_handle_t handle = published_handle(end->rank, 1);

    if (shot->type == GNI_POST_AMO)
        return describe_amo(shot->command, 1, 2, end->memory, end->handle, remote, handle);
    return describe_put(shot->type, end->memory, end->handle, remote, handle, shot->bytes);
}

static void fire(struct end *end, struct shot *shot)
{
    gni_post_descriptor_t descr = descriptor(end, shot), *collected;
    gni_cq_entry_t event;
    gni_return_t result;

    sim_spend(PAUSE);
    sim_settle();
    end->began = sim_local_time();
    assert_ok(post(end->ep, &descr));
    shot->called = sim_local_time() - end->began;
    do {
        result = GNI_CqGetEvent(end->domain.source, &event);
    } while (result == GNI_RC_NOT_DONE);
    assert_rc(result, GNI_RC_SUCCESS);
    shot->complete = sim_local_time() - end->poll - end->began;
    assert_ok(GNI_GetCompleted(end->domain.source, event, &collected));
}

static void shooter(struct end *end, struct shots *shots)
{
    uint32_t i, k;

    for (i = 0; i < shots->count; i++) {
        struct shot *shot = &shots->shot[i];

        machine_barrier(end->rank);
        for (k = 0; k <= shot->again; k++) {
            *end->memory = 2 * i + (k == shot->again) + 1;
            fire(end, shot);
        }
        machine_barrier(end->rank);
        if (is_visible_shot(shot))
            shot->visible = watched->seen - end->began;
    }
}

static void target(struct end *end, struct shots *shots)
{
    uint32_t i;

    watched = end;
    for (i = 0; i < shots->count; i++) {
        machine_barrier(end->rank);
        end->number = 2 * i + 2;
        if (is_visible_shot(&shots->shot[i]))
            aries_spin(written, end);
        end->seen = sim_local_time();
        machine_barrier(end->rank);
    }
}

static void rank_main(struct rank *rank)
{
    struct shots *shots = rank->machine->argument;
    struct aries_params *params =
        aries_params_new(shots->profile != NULL ? shots->profile : "xc40_hsw");
    struct end end = {.rank = rank};

    end.poll = (sim_time_t)(aries_params_get(params, "aries.cpu.cqget_ns") * 1e3);
    aries_params_free(params);
    end.memory = aligned_alloc(4096, SHOT_BYTES_MAX);
    assert_non_null(end.memory);
    memset(end.memory, 0, SHOT_BYTES_MAX);
    domain_open(rank, &end.domain, GNI_CDM_MODE_ERR_NO_KILL | GNI_CDM_MODE_CACHED_AMO_ENABLED);
    end.ep = domain_connect(rank, &end.domain, 1 - rank->id);
    end.handle = domain_register(&end.domain, end.memory, SHOT_BYTES_MAX, NULL, GNI_MEM_READWRITE);
    publish(rank, end.handle, end.memory);
    if (rank->id == 0)
        shooter(&end, shots);
    else
        target(&end, shots);
    machine_barrier(rank);
    domain_close(&end.domain);
    free(end.memory);
}

void shots_fire(struct shots *shots)
{
    struct machine machine = {
        .profile = shots->profile,
        .argument = shots,
        .configure = configure,
        .place = place,
        .main = rank_main,
    };

    if (!shots->colours) {
        machine.param[0] = "aries.link.green.hop_ns";
        machine.param[1] = "aries.link.blue.hop_ns";
        machine.value[0] = machine.value[1] = 100;
    }
    machine_run(&machine);
}
