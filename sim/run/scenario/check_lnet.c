/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNet: nodes of this machine, and the words of fault rules. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include "lnet/api.h"
#include "lnet/lnetctl.h"
#include "lnet/node.h"

static bool check_nodes(const struct scenario *scenario, const struct node_set *nodes,
                        const struct tree *at, const char *path, char **error)
{
    size_t i;

    for (i = 0; i < nodes->count; i++) {
        if (nodes->nodes[i] >= scenario->endpoints)
            return scenario_refuse_free(
                error, at, path, "nodes",
                g_strdup_printf("node %u is not in this machine; allowed: 0 to %u", nodes->nodes[i],
                                scenario->endpoints - 1));
    }
    return true;
}

static bool check_parameters(const struct scenario_lnet_nodes *nodes, const char *path,
                             char **error)
{
    if (nodes->parameters == NULL)
        return true;

    return scenario_check_texts(nodes->parameters, TREE_MAPPING, "parameters",
                                "a mapping from parameter to value", path, error);
}

/* A NID, "*", or "*@tcp", as lctl takes them. */
static bool parse_nid(const char *text, uint64_t *nid)
{
    if (g_str_has_prefix(text, "*@")) {
        uint32_t net = libcfs_str2net(text + 2);

        *nid = LNET_MKNID(net, 0xffffffff);
        return net != LNET_NIDNET(LNET_NID_ANY);
    }
    lnet_nid_t parsed;

    if (!libcfs_str2anynid(&parsed, text))
        return false;
    *nid = parsed;
    return true;
}

struct word {
    const char *name;
    uint32_t bit;
};

static bool add_word(const struct word *words, const char *text, uint32_t *mask)
{
    size_t i;

    for (i = 0; words[i].name != NULL; i++) {
        if (strcmp(words[i].name, text) == 0) {
            *mask |= words[i].bit;
            return true;
        }
    }
    return false;
}

/* One word or a list. */
static bool parse_words(const struct tree *tree, const struct word *words, uint32_t *mask)
{
    size_t i;
    bool good = true;

    *mask = 0;
    if (tree == NULL)
        return true;
    if (tree->type == TREE_SCALAR)
        return add_word(words, tree->text, mask);
    if (tree->type != TREE_SEQUENCE)
        return false;

    for (i = 0; good && i < tree->count; i++)
        good = tree->items[i]->type == TREE_SCALAR && add_word(words, tree->items[i]->text, mask);
    return good;
}

static bool add_portal(const char *text, uint64_t *mask)
{
    struct value number;
    char *what = NULL;

    if (!scenario_value_parse(ARG_COUNT, text, "0", "63", NULL, &number, &what)) {
        g_free(what);
        return false;
    }
    *mask |= 1ull << number.number;
    return true;
}

static bool parse_portals(const struct tree *tree, uint64_t *mask)
{
    size_t i;
    bool good = true;

    *mask = 0;
    if (tree == NULL)
        return true;
    if (tree->type == TREE_SCALAR)
        return add_portal(tree->text, mask);
    if (tree->type != TREE_SEQUENCE)
        return false;

    for (i = 0; good && i < tree->count; i++)
        good = tree->items[i]->type == TREE_SCALAR && add_portal(tree->items[i]->text, mask);
    return good;
}

static const struct word message_words[] = {{"ACK", LNET_ACK_BIT},
                                            {"PUT", LNET_PUT_BIT},
                                            {"GET", LNET_GET_BIT},
                                            {"REPLY", LNET_REPLY_BIT},
                                            {NULL, 0}};
static const struct word error_words[] = {
    {"local_interrupt", HSTATUS_LOCAL_INTERRUPT_BIT},
    {"local_dropped", HSTATUS_LOCAL_DROPPED_BIT},
    {"local_aborted", HSTATUS_LOCAL_ABORTED_BIT},
    {"local_no_route", HSTATUS_LOCAL_NO_ROUTE_BIT},
    {"local_error", HSTATUS_LOCAL_ERROR_BIT},
    {"local_timeout", HSTATUS_LOCAL_TIMEOUT_BIT},
    {"remote_error", HSTATUS_REMOTE_ERROR_BIT},
    {"remote_dropped", HSTATUS_REMOTE_DROPPED_BIT},
    {"remote_timeout", HSTATUS_REMOTE_TIMEOUT_BIT},
    {"network_timeout", HSTATUS_NETWORK_TIMEOUT_BIT},
    {"random", HSTATUS_RANDOM},
    {NULL, 0},
};

/* What only rules of a scenario have, besides LNet's own fields. */
static bool check_limits(struct scenario_lnet_rule *rule, const char *path, char **error)
{
    bool delay = rule->action == LNET_DELAY;

    rule->seeded = scenario_tree_get(rule->at, "seed") != NULL;
    if (rule->action == LNET_FAIL_NID && (rule->from != 0 || rule->until != 0 || rule->seeded))
        return scenario_refuse(error, rule->at, path,
                               rule->seeded      ? "seed"
                               : rule->from != 0 ? "from"
                                                 : "until",
                               "only rules that drop or delay have it");
    if (!delay && rule->hold != 0)
        return scenario_refuse(error, rule->at, path, "hold", "only rules that delay have it");
    if (delay && (rule->latency == 0) == (rule->hold == 0))
        return scenario_refuse(error, rule->at, path, "latency",
                               "allowed: either latency, 1 second or more, or hold");
    if (rule->until != 0 && rule->until <= rule->from)
        return scenario_refuse(error, rule->at, path, "until", "allowed: later than from");
    return true;
}

static bool check_rule(const struct scenario *scenario, struct scenario_lnet_rule *rule,
                       const char *path, char **error)
{
    const char *nid = "not a NID; allowed: 10.0.0.1@tcp, *, *@tcp";

    if (!check_nodes(scenario, &rule->nodes, rule->at, path, error))
        return false;
    if (!parse_nid(rule->source, &rule->source_nid))
        return scenario_refuse(error, rule->at, path, "source", nid);
    if (!parse_nid(rule->target, &rule->target_nid))
        return scenario_refuse(error, rule->at, path, "target", nid);
    if (!parse_portals(rule->portal, &rule->portal_mask))
        return scenario_refuse(error, rule->at, path, "portal",
                               "not a portal; allowed: 0 to 63, or a list");
    if (!parse_words(rule->message, message_words, &rule->message_mask))
        return scenario_refuse(error, rule->at, path, "message",
                               "not a type; allowed: PUT, GET, ACK, REPLY, or a list");
    if (!parse_words(rule->error, error_words, &rule->error_mask))
        return scenario_refuse(error, rule->at, path, "error",
                               "not an error; allowed: local_dropped, remote_timeout, ..., random");
    if (!check_limits(rule, path, error))
        return false;
    if (rule->action == LNET_FAIL_NID)
        return true;
    if ((rule->rate == 0) == (rule->interval == 0))
        return scenario_refuse(error, rule->at, path, "rate",
                               "allowed: exactly one of rate and interval");
    if (rule->random && rule->interval == 0)
        return scenario_refuse(error, rule->at, path, "random", "needs an interval");
    if (rule->portal_mask != 0 && rule->message_mask != 0 &&
        (rule->message_mask & (LNET_PUT_BIT | LNET_GET_BIT)) == 0)
        return scenario_refuse(error, rule->at, path, "portal", "ACK and REPLY have no portal");
    return true;
}

/* Each node of an entry of `what` has LNet. */
static bool check_has_lnet(const uint8_t *used, const struct node_set *nodes, const struct tree *at,
                           const char *path, char **error)
{
    size_t i;

    for (i = 0; i < nodes->count; i++) {
        if (used[nodes->nodes[i]] == 0)
            return scenario_refuse_free(
                error, at, path, "nodes",
                g_strdup_printf("node %u has no LNet (lnet.nodes)", nodes->nodes[i]));
    }
    return true;
}

/* Checks entry `number` of a list of commands. `reason`: why its command is refused, or NULL. */
static bool check_command(const struct scenario *scenario, const uint8_t *used,
                          struct scenario_lnet_show *entry, const char *list, size_t number,
                          const char *reason, char **error)
{
    char *path = g_strdup_printf("%s.%zu", list, number);
    bool ok = check_nodes(scenario, &entry->nodes, entry->at, path, error) &&
              check_has_lnet(used, &entry->nodes, entry->at, path, error);

    if (ok && reason != NULL)
        ok = scenario_refuse(error, entry->at, path, "command", reason);
    g_free(path);
    return ok;
}

bool scenario_check_lnet(struct scenario *scenario, char **error)
{
    uint8_t *used = g_malloc0(scenario->endpoints);
    size_t i, j;
    bool ok = true;

    for (i = 0; ok && i < scenario->lnet.nodes.count; i++) {
        struct scenario_lnet_nodes *nodes = scenario_lnet_nodes(scenario, i);
        char *path = g_strdup_printf("lnet.nodes.%zu", i);

        ok = check_nodes(scenario, &nodes->nodes, nodes->at, path, error) &&
             check_parameters(nodes, path, error);
        if (ok && nodes->export_file != NULL &&
            (nodes->networks[0] != '\0' || nodes->ip2nets[0] != '\0' || nodes->routes[0] != '\0' ||
             nodes->forwarding[0] != '\0'))
            ok = scenario_refuse(error, nodes->at, path, "export",
                                 "allowed: either export, or networks, ip2nets, routes and "
                                 "forwarding");
        if (ok && nodes->name != NULL && !scenario_is_word(nodes->name))
            ok = scenario_refuse(error, nodes->at, path, "name", "not a word");
        for (j = 0; ok && j < nodes->nodes.count; j++) {
            if (used[nodes->nodes.nodes[j]]++ != 0)
                ok = scenario_refuse_free(
                    error, nodes->at, path, "nodes",
                    g_strdup_printf("node %u is in another entry, too", nodes->nodes.nodes[j]));
        }
        g_free(path);
    }
    for (i = 0; ok && i < scenario->lnet.rules.count; i++) {
        struct scenario_lnet_rule *rule = scenario_lnet_rule(scenario, i);
        char *path = g_strdup_printf("lnet.rules.%zu", i);

        ok = check_rule(scenario, rule, path, error) &&
             check_has_lnet(used, &rule->nodes, rule->at, path, error);
        g_free(path);
    }
    for (i = 0; ok && i < scenario->lnet.changes.count; i++) {
        struct scenario_lnet_show *change = scenario_lnet_change(scenario, i);

        ok = check_command(scenario, used, change, "lnet.change", i,
                           lnet_command_known(change->command)
                               ? NULL
                               : "no such command; allowed: net, route and peer, add and del, "
                                 "with the options of lnetctl",
                           error);
    }
    for (i = 0; ok && i < scenario->lnet.shows.count; i++) {
        struct scenario_lnet_show *show = scenario_lnet_show(scenario, i);

        ok = check_command(scenario, used, show, "lnet.show", i,
                           lnet_show_known(show->command)
                               ? NULL
                               : "no such command; allowed: net show -v, peer show, route show, "
                                 "routing show, stats show, global show, export",
                           error);
    }
    g_free(used);
    return ok;
}
