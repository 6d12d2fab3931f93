/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Faults: nodes, groups and routers of this machine. */
#include "check.h"

#include "aries/aries.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool parse_prefixed(const char **text, char prefix, uint32_t limit, uint32_t *number)
{
    const char *at = *text;
    uint64_t sum = 0;

    if (*at != prefix || !g_ascii_isdigit(at[1]))
        return false;
    for (at++; g_ascii_isdigit(*at) && sum <= UINT32_MAX; at++)
        sum = sum * 10 + (unsigned)(*at - '0');
    if (sum >= limit)
        return false;
    *number = (uint32_t)sum;
    *text = at;
    return true;
}

static bool parse_group(const char *text, uint32_t groups, uint32_t *group)
{
    return parse_prefixed(&text, 'g', groups, group) && *text == '\0';
}

/* "17" or, on a dragonfly, "g0c1s2". */
static bool parse_router(const struct scenario_network *network, const char *text, uint32_t *router)
{
    struct net_config config;
    uint32_t group, chassis, slot;
    struct value number;
    char *what = NULL;

    if (scenario_value_parse(ARG_COUNT, text, NULL, "4294967294", NULL, &number, &what)) {
        *router = (uint32_t)number.number;
        return *router < network->router_count;
    }
    g_free(what);
    if (network->topology != TOPOLOGY_DRAGONFLY)
        return false;
    scenario_net_config(network, 0, &config);
    if (!parse_prefixed(&text, 'g', config.dragonfly.groups, &group) ||
        !parse_prefixed(&text, 'c', config.dragonfly.chassis, &chassis) ||
        !parse_prefixed(&text, 's', config.dragonfly.slots, &slot) || *text != '\0')
        return false;
    *router = (group * config.dragonfly.chassis + chassis) * config.dragonfly.slots + slot;
    return true;
}

static bool check_routers(const struct scenario *scenario, struct scenario_fault *fault,
                          const char *path, char **error)
{
    const struct scenario_network *network = scenario_network(scenario, fault->network_index);
    const char *const texts[2] = {fault->place == FAULT_LINK ? fault->routers[0] : fault->router,
                                  fault->routers[1]};
    const char *field = fault->place == FAULT_LINK ? "routers" : "router";
    char *shown;
    int i;

    for (i = 0; i < (fault->place == FAULT_LINK ? 2 : 1); i++) {
        if (parse_router(network, texts[i], &fault->router_numbers[i]))
            continue;
        shown = scenario_quoted(texts[i]);
        if (network->topology == TOPOLOGY_DRAGONFLY)
            scenario_refuse_free(
                error, fault->at, path, field,
                g_strdup_printf("%s is not a router; allowed: 0 to %u, or names such as g0c0s0",
                                shown, network->router_count - 1));
        else
            scenario_refuse_free(error, fault->at, path, field,
                                 g_strdup_printf("%s is not a switch; allowed: its number", shown));
        g_free(shown);
        return false;
    }
    return true;
}

static bool check_fault_node(const struct scenario *scenario, const struct scenario_fault *fault,
                             const char *path, const char *field, uint64_t node, char **error)
{
    if (scenario_given(fault->at, field) && node >= scenario->endpoints)
        return scenario_refuse_free(error, fault->at, path, field,
                                    g_strdup_printf("there is no node %" PRIu64
                                                    "; allowed: 0 to %u in this fabric",
                                                    node, scenario->endpoints - 1));
    return true;
}

/* The name of a completion status, for `do: fail`. */
static bool check_status(struct scenario_fault *fault, const char *path, char **error)
{
    const char *name;

    if (fault->status == NULL)
        return true;
    for (fault->status_code = 1; fault->status_code < 64; fault->status_code++) {
        name = aries_status_text(fault->status_code);
        if (name != NULL && strcmp(name, fault->status) == 0)
            return true;
    }
    return scenario_refuse(error, fault->at, path, "status",
                           "no completion status; allowed: a name of aries/misc/exceptions.h "
                           "without A_STATUS_, such as RMT_DESC_UNAVAILABLE");
}

/* A node that a rule at a network names must have a port there. */
static bool check_port(const struct scenario *scenario, const struct scenario_fault *fault,
                       const char *path, const char *field, uint64_t node, char **error)
{
    const struct scenario_network *network = scenario_network(scenario, fault->network_index);

    if (!check_fault_node(scenario, fault, path, field, node, error))
        return false;
    if (scenario_given(fault->at, field) &&
        scenario_endpoint(network, (uint32_t)node) == UINT32_MAX)
        return scenario_refuse_free(error, fault->at, path, field,
                                    g_strdup_printf("node %" PRIu64 " has no port; allowed: nodes "
                                                    "that are attached to the network",
                                                    node));
    return true;
}

#define ONLY_MAX 100000u

static int compare_numbers(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return (one > other) - (one < other);
}

/* Numbers of faults of the rule, in any order. */
static bool check_only(struct scenario_fault *fault, const char *path, char **error)
{
    const struct tree *only = fault->only;
    size_t i;

    if (only == NULL)
        return true;
    fault->only_count = only->type == TREE_SEQUENCE ? only->count : 1;
    if (only->type == TREE_MAPPING || fault->only_count == 0 || fault->only_count > ONLY_MAX)
        return scenario_refuse_free(
            error, fault->at, path, "only",
            g_strdup_printf("not a fault number; allowed: a number from 1, or a list of 1 to %u of "
                            "them, such as [3, 11]",
                            ONLY_MAX));
    fault->only_numbers = g_new(uint64_t, fault->only_count);
    for (i = 0; i < fault->only_count; i++) {
        const struct tree *item = only->type == TREE_SEQUENCE ? only->items[i] : only;
        struct value value;
        char *what = NULL;

        if (item->type != TREE_SCALAR)
            return scenario_refuse(error, fault->at, path, "only",
                                   "contains a list or mapping; allowed: numbers from 1");
        if (!scenario_value_parse(ARG_COUNT, item->text, "1", NULL, NULL, &value, &what))
            return scenario_refuse_free(error, fault->at, path, "only", what);
        fault->only_numbers[i] = value.number;
    }
    qsort(fault->only_numbers, fault->only_count, sizeof(uint64_t), compare_numbers);
    for (i = 1; i < fault->only_count; i++)
        if (fault->only_numbers[i] == fault->only_numbers[i - 1])
            return scenario_refuse_free(error, fault->at, path, "only",
                                        g_strdup_printf("%" PRIu64
                                                        " is there twice; allowed: unique numbers",
                                                        fault->only_numbers[i]));
    return true;
}

static bool check_rule(const struct scenario *scenario, struct scenario_fault *fault,
                       const char *path, char **error)
{
    uint32_t groups = scenario_network(scenario, fault->network_index)->group_count;
    int i;

    for (i = 0; i < 2; i++) {
        fault->groups[i] = SIM_FAULT_ANY;
        if (fault->between[i] != NULL &&
            !parse_group(fault->between[i], groups, &fault->groups[i])) {
            char *shown = scenario_quoted(fault->between[i]);
            scenario_refuse_free(
                error, fault->at, path, "between",
                g_strdup_printf("%s is not a group; allowed: g0 to g%u", shown, groups - 1));
            g_free(shown);
            return false;
        }
    }
    if (!check_status(fault, path, error) || !check_only(fault, path, error))
        return false;
    if (!scenario_given(fault->at, "until"))
        fault->until = SIM_NEVER;
    if (fault->until <= fault->from)
        return scenario_refuse(error, fault->at, path, "until",
                               "never active; allowed: a time after `from`");
    return check_port(scenario, fault, path, "source", fault->source, error) &&
           check_port(scenario, fault, path, "target", fault->target, error);
}

static bool has_aries(const struct scenario *scenario)
{
    return scenario_network(scenario, 0)->topology == TOPOLOGY_DRAGONFLY;
}

static bool check_fault(const struct scenario *scenario, struct scenario_fault *fault, size_t index,
                        const char *path, char **error)
{
    const struct scenario_fault_kind *kind = scenario_fault_kind(fault);
    size_t i;

    fault->place = kind->place;
    if (!scenario_find_network(scenario, fault->at, path, fault->network, &fault->network_index,
                               error))
        return false;
    if (!has_aries(scenario) && kind->aries &&
        !(kind->place == FAULT_NODE &&
          (fault->action == NODE_CRASH || fault->action == NODE_REBOOT)))
        return scenario_refuse(
            error, fault->at, path, "at",
            "concerns Aries NICs, which a switched network has not; allowed there: "
            "net.packet, oob.message, oob.server, link, router, and node with do: crash or reboot");
    if (fault->label != NULL &&
        (!scenario_is_word(fault->label) || strcmp(fault->label, "fired") == 0))
        return scenario_refuse(
            error, fault->at, path, "label",
            "not a name; allowed: at most 60 letters, digits, - and _, starting with a "
            "letter; not `fired`");
    for (i = 0; i < index && fault->label != NULL; i++) {
        if (g_strcmp0(scenario_fault(scenario, i)->label, fault->label) == 0)
            return scenario_refuse(error, fault->at, path, "label",
                                   "another fault has it; allowed: unique labels");
    }
    fault->title = g_strdup(fault->label != NULL ? fault->label : path);
    if (fault->place == FAULT_POINT)
        return check_rule(scenario, fault, path, error);
    if (fault->place == FAULT_LINK || fault->place == FAULT_ROUTER)
        return check_routers(scenario, fault, path, error);
    return check_fault_node(scenario, fault, path, "node", fault->node, error);
}

bool scenario_check_faults(struct scenario *scenario, char **error)
{
    size_t i;
    bool ok = true;

    for (i = 0; i < scenario->faults.count && ok; i++) {
        char *path = g_strdup_printf("faults.%zu", i);
        ok = check_fault(scenario, scenario_fault(scenario, i), i, path, error);
        g_free(path);
    }
    return ok;
}
