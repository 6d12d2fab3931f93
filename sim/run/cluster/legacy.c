/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The small networks of a cluster: which device a rank has, and what its message library costs. */
#include <string.h>

#include "cluster/legacy.h"
#include "cluster/port_fiber.h"

struct setting {
    struct legacy_network *legacy;
    const char *path;
    char *error; /* g_free(); NULL: none */
};

static bool set_param(const char *name, const struct tree *value, void *arg)
{
    struct setting *setting = arg;
    struct value number;

    if (scenario_value_parse(ARG_REAL, value->text, NULL, NULL, NULL, &number, &setting->error) &&
        !legacy_network_set(setting->legacy, name, number.real))
        setting->error =
            scenario_tree_problem(value, setting->path, "params: %s cannot have this value", name);
    return setting->error == NULL;
}

/* A process is a rank: its number is that of the port, which is not 0. */
static uint64_t process_of(const struct rank *rank)
{
    return (uint64_t)(rank->job - rank->job->cluster->jobs + 1) << 32 | rank->id;
}

static bool find_device(enum legacy_kind kind, uint32_t adapter, struct legacy_place *place)
{
    const struct rank *rank = rank_self();
    const struct cluster_node *node;
    uint32_t i;

    if (rank == NULL)
        return false;
    node = &rank->job->cluster->nodes[rank->node];
    for (i = 0; i < node->device_count; i++) {
        const struct cluster_device *device = &node->devices[i];

        if (device->network->scenario->kind != kind || adapter-- != 0)
            continue;
        *place = (struct legacy_place){device->network->legacy, device->endpoint, process_of(rank),
                                       rank->id, rank->job->rank_count};
        return true;
    }
    return false;
}

static struct cluster *located; /* its processes */

static uint32_t locate(const struct legacy_network *network, uint64_t process, bool *alive)
{
    const struct rank *rank = &located->jobs[(process >> 32) - 1].ranks[(uint32_t)process];
    const struct cluster_node *node = &located->nodes[rank->node];
    uint32_t i = 0;

    while (i < node->device_count && node->devices[i].network->legacy != network)
        i++;
    *alive = rank->state == RANK_WAITING || rank->state == RANK_RUNNING;
    return i < node->device_count ? node->devices[i].endpoint : UINT32_MAX;
}

bool cluster_legacy_create(struct cluster *cluster, struct cluster_network *network,
                           const char *path, char **error)
{
    const struct legacy_network_config config = {
        .kind = (enum legacy_kind)network->scenario->kind,
        .name = network->name,
        .net = network->net,
        .packet_point = sim_fault_point_find(network->packet_point_name),
        .seed = cluster->options.seed,
    };
    struct setting setting = {.path = path};

    g_assert(config.packet_point != NULL); /* the network has registered it */
    network->legacy = setting.legacy = legacy_network_create(&config);
    legacy_set_find(find_device);
    legacy_set_locate(locate);
    located = cluster;
    if (scenario_for_each_param(network->scenario, set_param, &setting))
        return true;
    *error = setting.error;
    return false;
}

void cluster_legacy_rank_left(const struct rank *rank)
{
    const struct cluster_node *node = &rank->job->cluster->nodes[rank->node];
    uint32_t i;

    for (i = 0; i < node->device_count; i++)
        if (node->devices[i].network->legacy != NULL)
            legacy_process_left(node->devices[i].network->legacy, node->devices[i].endpoint,
                                process_of(rank));
}

/* ---- the costs of a message library ---------------------------------------------------------- */

#define SAME(step) \
    _Static_assert((int)LEGACY_##step == (int)PORT_STEP_##step, "the steps of the port")
SAME(BEGIN_PACKING);
SAME(PACK);
SAME(END_PACKING);
SAME(BEGIN_UNPACKING);
SAME(UNPACK);
SAME(END_UNPACKING);
SAME(COPY);
SAME(CREDIT);

/* The networks that the drivers of Madeleine use. Others, as gni, have costs of their own. */
static const struct {
    const char *driver;
    enum legacy_kind kind;
} drivers[] = {
    {"sisci", LEGACY_SCI},
    {"tcp", LEGACY_ETHERNET},
    {"via", LEGACY_VIA},
    {"sbp", LEGACY_SBP},
};

void port_step_spend(const char *driver, enum port_step step, uint64_t amount)
{
    struct legacy_place place;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(drivers); i++)
        if (strcmp(drivers[i].driver, driver) == 0 && find_device(drivers[i].kind, 0, &place))
            legacy_spend(place.network, (enum legacy_step)step, amount);
}
