/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LNet on the nodes of a cluster: which nodes have it, rules, counters, assertions that fail. */
#include "cluster/cluster.h"

#include <stdlib.h>
#include "cluster/lnet.h"
#include "cluster/port_fiber.h"
#include "engine/finding.h"
#include "libcfs_host.h"
#include "lnet/export.h"
#include "lnet/node.h"
#include "scenario/file.h"

struct cluster_lnet {
    struct cluster *cluster;
    struct lnet_node **nodes; /* by node; NULL: without LNet */
    GPtrArray *crashed; /* of struct crash */
    struct pending_show *shows; /* one for each entry of lnet.show */
    struct pending_show *changes; /* one for each entry of lnet.change */
    GPtrArray *shown; /* of struct cluster_lnet_shown */
};

/* An entry of lnet.show or lnet.change that waits for its time. */
struct pending_show {
    struct sim_timer timer;
    struct cluster_lnet *lnet;
    size_t index;
    size_t done; /* nodes of lnet.change that have changed */
};

/* A node whose LNet failed an assertion; it goes down in an event of its own. */
struct crash {
    struct sim_event event;
    struct lnet_node *node;
};

static struct cluster_lnet *running;
static struct sim_finding_rule assertion_rule = {
    .name = "lnet.assertion",
    .summary = "an assertion of LNet failed, which stops a real node",
    .severity = SIM_FINDING_ERROR,
};

static struct sim_finding_rule command_rule = {
    .name = "lnet.command",
    .summary = "a command of the scenario that changes LNet failed",
    .severity = SIM_FINDING_ERROR,
};
static struct sim_finding_rule program_rule = {
    .name = "libcfs.assertion",
    .summary = "an assertion of kernel code failed, which stops a real node",
    .severity = SIM_FINDING_ERROR,
};

void cluster_lnet_register(void)
{
    sim_finding_rule_register(&assertion_rule);
    sim_finding_rule_register(&program_rule);
    sim_finding_rule_register(&command_rule);
    lnet_sim_register_findings();
}

static struct lnet_node *current_node(void)
{
    const struct rank *rank = rank_self();

    return rank != NULL ? running->nodes[rank->node] : NULL;
}

/* ---- creation -------------------------------------------------------------------------------- */

/* The interfaces of a node have the names of its networks. A port of a switch is an Ethernet or an
 * InfiniBand port, as the driver wants it. */
static uint32_t interfaces_of(const struct cluster *cluster, uint32_t node,
                              struct lnet_interface *interfaces)
{
    uint32_t count = 0;
    size_t i;

    for (i = 0; i < cluster->network_count; i++) {
        const struct cluster_network *network = &cluster->networks[i];
        const struct cluster_device *device = cluster_device(cluster, node, i);
        struct lnet_interface interface = {.net = network->net, .aries = network->aries};

        if (device == NULL)
            continue;
        g_strlcpy(interface.name, network->name, sizeof(interface.name));
        interface.endpoint = device->endpoint;
        interface.address =
            network->aries != NULL ? node : 0x0a000000 + ((uint32_t)i << 18) + node + 1;
        interface.lnd_type = network->aries != NULL ? GNILND : SOCKLND;
        interfaces[count++] = interface;
        if (network->aries == NULL) {
            interface.lnd_type = O2IBLND;
            interfaces[count++] = interface;
        }
    }
    return count;
}

static void add_setting(GArray *settings, const char *name, const char *value)
{
    struct lnet_setting setting = {name, value};

    if (value != NULL && value[0] != '\0')
        g_array_append_val(settings, setting);
}

static GArray *settings_of(const struct scenario_lnet_nodes *scenario,
                           const struct lnet_settings *exported)
{
    GArray *settings = g_array_new(FALSE, FALSE, sizeof(struct lnet_setting));
    uint32_t i;

    for (i = 0; i < exported->count; i++)
        g_array_append_val(settings, exported->settings[i]);
    add_setting(settings, "networks", scenario->networks);
    add_setting(settings, "ip2nets", scenario->ip2nets);
    add_setting(settings, "routes", scenario->routes);
    add_setting(settings, "forwarding", scenario->forwarding);
    for (i = 0; scenario->parameters != NULL && i < scenario->parameters->count; i++)
        add_setting(settings, scenario->parameters->items[i]->key,
                    scenario->parameters->items[i]->text);
    return settings;
}

/* The field that a text of LNet is about: it begins with the parameter's name. */
static char *problem(const struct scenario_lnet_nodes *scenario, size_t index, const char *text)
{
    static const char *const fields[] = {"networks", "ip2nets", "routes", "forwarding"};
    const struct tree *at =
        scenario->export_file != NULL ? scenario_tree_get(scenario->at, "export") : scenario->at;
    char *path, *line;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(fields); i++) {
        const struct tree *field = scenario_tree_get(scenario->at, fields[i]);

        if (g_str_has_prefix(text, fields[i]) && field != NULL)
            at = field;
    }
    path = g_strdup_printf("lnet.nodes.%zu", index);
    line = scenario_tree_problem(at, path, "%s", text);
    g_free(path);
    return line;
}

/* The file of `export` on a node of the entry. */
static bool read_export(const struct cluster *cluster, const struct scenario_lnet_nodes *scenario,
                        uint32_t node, struct lnet_settings *exported, char **error)
{
    struct lnet_interface interfaces[2 * NETWORKS_MAX];
    struct lnet_export_host host = {.interfaces = interfaces};
    char *path, *what = NULL;
    bool ok;

    host.interface_count = interfaces_of(cluster, node, interfaces);
    path = scenario_file_beside(cluster->scenario->file, scenario->export_file);
    ok = lnet_export_read(exported, path, &host, &what);
    g_free(path);
    if (!ok)
        *error = g_strdup(what);
    free(what);
    return ok;
}

static bool create_nodes(struct cluster_lnet *lnet, size_t index, char **error)
{
    struct cluster *cluster = lnet->cluster;
    const struct scenario_lnet_nodes *scenario = scenario_lnet_nodes(cluster->scenario, index);
    struct lnet_settings exported = {0};
    GArray *settings = settings_of(scenario, &exported);
    size_t i;
    bool ok = true;

    for (i = 0; ok && i < scenario->nodes.count; i++) {
        uint32_t node = scenario->nodes.nodes[i];
        struct lnet_interface interfaces[2 * NETWORKS_MAX];
        char name[16], *what = NULL;
        struct lnet_node_config config = {
            .number = node,
            .name = name,
            .seed = cluster->options.seed,
            .interfaces = interfaces,
            .interface_count = interfaces_of(cluster, node, interfaces),
        };

        /* Once for all nodes, unless the file has rules for addresses. */
        if (scenario->export_file != NULL && (i == 0 || exported.by_address)) {
            g_array_unref(settings);
            lnet_settings_free(&exported);
            ok = read_export(cluster, scenario, node, &exported, error);
            settings = settings_of(scenario, &exported);
            if (!ok)
                break;
        }
        config.settings = (struct lnet_setting *)(void *)settings->data;
        config.setting_count = settings->len;
        g_snprintf(name, sizeof(name), "%u", node);
        lnet->nodes[node] = lnet_node_create(&config, &what);
        if (lnet->nodes[node] == NULL) {
            *error = problem(scenario, index, what);
            free(what);
            ok = false;
        } else if (scenario->start) {
            int rc = lnet_node_start(lnet->nodes[node], LNET_PID_LUSTRE);

            ok = rc == 0;
            if (!ok)
                *error = scenario_tree_problem(scenario->at, "lnet.nodes.start",
                                               "LNet does not start: error %d", -rc);
        }
    }
    g_array_unref(settings);
    lnet_settings_free(&exported);
    return ok;
}

static void add_rule(struct cluster_lnet *lnet, size_t index)
{
    const struct scenario_lnet_rule *rule = scenario_lnet_rule(lnet->cluster->scenario, index);
    struct lnet_fault_attr attr = {
        .fa_src = rule->source_nid,
        .fa_dst = rule->target_nid,
        .fa_ptl_mask = rule->portal_mask,
        .fa_msg_mask = rule->message_mask,
    };
    const struct lnet_fault_limits limits = {.hold = rule->hold,
                                             .from = rule->from,
                                             .until = rule->until,
                                             .count = rule->count,
                                             .seeded = rule->seeded,
                                             .seed = rule->seed};
    char *name = rule->name != NULL ? g_strdup(rule->name) : g_strdup_printf("rule%zu", index);
    size_t i;
    int rc = 0;

    if (rule->action == LNET_DELAY) {
        attr.u.delay.la_rate = (uint32_t)rule->rate;
        attr.u.delay.la_interval = (uint32_t)rule->interval;
        attr.u.delay.la_latency = (uint32_t)rule->latency;
    } else {
        attr.u.drop.da_rate = (uint32_t)rule->rate;
        attr.u.drop.da_interval = (uint32_t)rule->interval;
        attr.u.drop.da_random = rule->random;
        attr.u.drop.da_health_error_mask = rule->error_mask;
    }
    for (i = 0; i < rule->nodes.count; i++) {
        struct lnet_node *node = lnet->nodes[rule->nodes.nodes[i]];

        if (rule->action == LNET_DELAY)
            rc = lnet_node_add_delay(node, &attr, &limits, name);
        else if (rule->action == LNET_DROP)
            rc = lnet_node_add_drop(node, &attr, &limits, name);
        else
            rc = lnet_node_fail_nid(node, rule->target_nid,
                                    rule->count == 0 ? -1 : (int)rule->count);
        g_assert(rc == 0); /* the checks of the scenario are LNet's */
    }
    g_free(name);
}

/* ---- assertions ------------------------------------------------------------------------------ */

static void crash_node(struct sim_event *event)
{
    lnet_node_crash(sim_container_of(event, struct crash, event)->node);
}

static void end_rank(struct rank *rank, void *text)
{
    rank_crash(rank, text, EXIT_KILLED);
}

static void panicked(struct lnet_node *node, const char *text)
{
    struct cluster *cluster = running->cluster;
    struct crash *crash = g_new0(struct crash, 1);
    size_t i;

    sim_finding_record(lnet_node_panic_of_program(node) ? &program_rule : &assertion_rule,
                       lnet_node_number(node), NULL, "%s", text);
    for (i = 0; i < cluster->job_count; i++)
        cluster_job_for_each_rank_on(&cluster->jobs[i], lnet_node_number(node), end_rank,
                                     (void *)(uintptr_t)text);
    crash->node = node;
    crash->event.fire = crash_node;
    g_ptr_array_add(running->crashed, crash);
    sim_event_schedule(&crash->event, sim_now());
}

/* On a node without LNet only the process ends. */
static void panicked_without_lnet(const char *text)
{
    const struct rank *rank = rank_self();
    char name[96];

    if (rank == NULL)
        return;
    g_snprintf(name, sizeof(name), "%s.%u", rank->job->name, rank->id);
    sim_finding_record(&program_rule, rank->node, name, "%s", text);
    port_panic(text);
}

static struct libcfs_node **slot_without_lnet(void)
{
    const struct rank *rank = rank_self();

    return rank != NULL ? &rank->job->cluster->nodes[rank->node].libcfs : NULL;
}

/* ---- lnet.change ----------------------------------------------------------------------------- */

static void change(struct sim_event *event)
{
    struct pending_show *pending = sim_container_of(event, struct pending_show, timer.event);
    const struct scenario_lnet_show *wanted =
        scenario_lnet_change(pending->lnet->cluster->scenario, pending->index);

    for (; pending->done < wanted->nodes.count; pending->done++) {
        uint32_t node = wanted->nodes.nodes[pending->done];
        int rc = lnet_node_command(pending->lnet->nodes[node], wanted->command);

        if (rc == -EAGAIN) { /* a driver is busy */
            sim_timer_arm(&pending->timer, sim_now() + SIM_US);
            return;
        }
        if (rc != 0)
            sim_finding_record(&command_rule, node, NULL, "lnetctl %s: %s", wanted->command,
                               g_strerror(-rc));
    }
}

static void start_changes(struct cluster_lnet *lnet)
{
    const struct scenario *scenario = lnet->cluster->scenario;
    size_t i;

    lnet->changes = g_new0(struct pending_show, scenario->lnet.changes.count);
    for (i = 0; i < scenario->lnet.changes.count; i++) {
        lnet->changes[i] = (struct pending_show){{.event.fire = change}, lnet, i, 0};
        sim_timer_arm(&lnet->changes[i].timer, scenario_lnet_change(scenario, i)->time);
    }
}

/* A time behind the end of the run never comes. */
static void end_changes(struct cluster_lnet *lnet)
{
    size_t i;

    for (i = 0; i < lnet->cluster->scenario->lnet.changes.count; i++)
        sim_timer_cancel(&lnet->changes[i].timer);
}

/* ---- lnet.show ------------------------------------------------------------------------------- */

static void show(struct sim_event *event)
{
    const struct pending_show *pending = sim_container_of(event, struct pending_show, timer.event);
    const struct scenario_lnet_show *wanted =
        scenario_lnet_show(pending->lnet->cluster->scenario, pending->index);
    size_t i;

    for (i = 0; i < wanted->nodes.count; i++) {
        struct cluster_lnet_shown *shown = g_new0(struct cluster_lnet_shown, 1);

        shown->time = sim_now();
        shown->node = wanted->nodes.nodes[i];
        shown->command = wanted->command;
        shown->text = lnet_node_show(pending->lnet->nodes[shown->node], wanted->command);
        g_ptr_array_add(pending->lnet->shown, shown);
    }
}

static void shown_free(gpointer shown)
{
    free(((struct cluster_lnet_shown *)shown)->text);
    g_free(shown);
}

static void start_shows(struct cluster_lnet *lnet)
{
    const struct scenario *scenario = lnet->cluster->scenario;
    size_t i;

    lnet->shown = g_ptr_array_new_with_free_func(shown_free);
    lnet->shows = g_new0(struct pending_show, scenario->lnet.shows.count);
    for (i = 0; i < scenario->lnet.shows.count; i++) {
        lnet->shows[i] = (struct pending_show){{.event.fire = show}, lnet, i, 0};
        sim_timer_arm(&lnet->shows[i].timer, scenario_lnet_show(scenario, i)->time);
    }
}

/* What was to be shown later than the end is shown at the end. */
static void end_shows(struct cluster_lnet *lnet)
{
    size_t i;

    for (i = 0; i < lnet->cluster->scenario->lnet.shows.count; i++) {
        if (!sim_timer_armed(&lnet->shows[i].timer))
            continue;
        sim_timer_cancel(&lnet->shows[i].timer);
        show(&lnet->shows[i].timer.event);
    }
}

const GPtrArray *cluster_lnet_shown(const struct cluster *cluster)
{
    return cluster->lnet != NULL ? cluster->lnet->shown : NULL;
}

/* ---- the cluster ----------------------------------------------------------------------------- */

bool cluster_lnet_create(struct cluster *cluster, char **error)
{
    const struct scenario *scenario = cluster->scenario;
    struct cluster_lnet *lnet;
    size_t i;
    bool ok = true;

    libcfs_host_simulate(panicked_without_lnet, slot_without_lnet);
    if (scenario->lnet.nodes.count == 0)
        return true;
    lnet = g_new0(struct cluster_lnet, 1);
    lnet->cluster = cluster;
    lnet->nodes = g_new0(struct lnet_node *, cluster->node_count);
    lnet->crashed = g_ptr_array_new_with_free_func(g_free);
    cluster->lnet = lnet;
    running = lnet;
    lnet_ledger_open();
    lnet_sim_register_drivers();
    lnet_sim_set_current(current_node);
    lnet_sim_set_panic(panicked);
    for (i = 0; ok && i < scenario->lnet.nodes.count; i++)
        ok = create_nodes(lnet, i, error);
    for (i = 0; ok && i < scenario->lnet.rules.count; i++)
        add_rule(lnet, i);
    start_changes(lnet);
    start_shows(lnet);
    return ok;
}

void cluster_lnet_crash_node(struct cluster *cluster, uint32_t node)
{
    cluster->nodes[node].down = true;
    if (cluster->lnet != NULL && cluster->lnet->nodes[node] != NULL)
        lnet_node_crash(cluster->lnet->nodes[node]);
}

/* The entry of the scenario that gave the node LNet. */
static const struct scenario_lnet_nodes *entry_of(const struct cluster *cluster, uint32_t node)
{
    size_t i, j;

    for (i = 0; i < cluster->scenario->lnet.nodes.count; i++) {
        const struct scenario_lnet_nodes *nodes = scenario_lnet_nodes(cluster->scenario, i);

        for (j = 0; j < nodes->nodes.count; j++)
            if (nodes->nodes.nodes[j] == node)
                return nodes;
    }
    g_assert_not_reached();
}

void cluster_lnet_boot_node(struct cluster *cluster, uint32_t node)
{
    int rc;

    cluster->nodes[node].down = false;
    libcfs_node_free(cluster->nodes[node].libcfs);
    cluster->nodes[node].libcfs = NULL;
    if (cluster->lnet == NULL || cluster->lnet->nodes[node] == NULL ||
        !entry_of(cluster, node)->start)
        return;
    rc = lnet_node_start(cluster->lnet->nodes[node], LNET_PID_LUSTRE);
    g_assert(rc == 0); /* it has started with these settings before */
}

/* The run is over: LNet stops everywhere, and what was under way is lost. */
void cluster_lnet_end(struct cluster *cluster)
{
    uint32_t i;

    if (cluster->lnet == NULL)
        return;
    end_changes(cluster->lnet);
    end_shows(cluster->lnet);
    for (i = 0; i < cluster->node_count; i++) {
        if (cluster->lnet->nodes[i] != NULL)
            lnet_node_stop(cluster->lnet->nodes[i]);
    }
}

void cluster_lnet_destroy(struct cluster *cluster)
{
    uint32_t i;

    libcfs_host_simulate(NULL, NULL);
    for (i = 0; i < cluster->node_count; i++) {
        libcfs_node_free(cluster->nodes[i].libcfs);
        cluster->nodes[i].libcfs = NULL;
    }
    if (cluster->lnet == NULL)
        return;
    for (i = 0; i < cluster->node_count; i++)
        lnet_node_destroy(cluster->lnet->nodes[i]);
    lnet_ledger_close();
    lnet_sim_end();
    running = NULL;
    g_ptr_array_unref(cluster->lnet->crashed);
    g_ptr_array_unref(cluster->lnet->shown);
    g_free(cluster->lnet->changes);
    g_free(cluster->lnet->shows);
    g_free(cluster->lnet->nodes);
    g_free(cluster->lnet);
    cluster->lnet = NULL;
}

/* ---- counters -------------------------------------------------------------------------------- */

static void publish_counter(const char *prefix, const char *name, uint64_t value)
{
    char *full = g_strconcat(prefix, ".", name, NULL);

    sim_metric_counter(full, SIM_METRIC_COUNT)->counter += value;
    g_free(full);
}

static void publish_one(const char *prefix, const struct lnet_node *node)
{
    struct lnet_counters counters;
    struct lnet_leaks leaks;
    struct sim_metric *gauge;
    char *name;

    lnet_node_counters(node, &counters);
    lnet_node_leaks(node, &leaks);
#define COMMON(field) publish_counter(prefix, #field, counters.lct_common.lcc_##field)
#define HEALTH(field) publish_counter(prefix, #field, counters.lct_health.lch_##field)
    COMMON(errors);
    COMMON(send_count);
    COMMON(recv_count);
    COMMON(route_count);
    COMMON(drop_count);
    COMMON(send_length);
    COMMON(recv_length);
    COMMON(route_length);
    COMMON(drop_length);
    HEALTH(resend_count);
    HEALTH(response_timeout_count);
    HEALTH(local_interrupt_count);
    HEALTH(local_dropped_count);
    HEALTH(local_aborted_count);
    HEALTH(local_no_route_count);
    HEALTH(local_timeout_count);
    HEALTH(local_error_count);
    HEALTH(remote_dropped_count);
    HEALTH(remote_error_count);
    HEALTH(remote_timeout_count);
    HEALTH(network_timeout_count);
#undef COMMON
#undef HEALTH
    publish_counter(prefix, "leaks.mes", leaks.mes);
    publish_counter(prefix, "leaks.mds", leaks.mds);
    publish_counter(prefix, "leaks.eqs", leaks.eqs);
    publish_counter(prefix, "leaks.messages", leaks.messages);
    publish_counter(prefix, "leaks.credits", leaks.credits);
    publish_counter(prefix, "leaks.connections", leaks.connections);
    name = g_strconcat(prefix, ".msgs_max", NULL);
    gauge = sim_metric_gauge(name, SIM_METRIC_COUNT);
    gauge->gauge = MAX(gauge->gauge, counters.lct_common.lcc_msgs_max);
    g_free(name);
    name = g_strconcat(prefix, ".tx_credits_min", NULL);
    gauge = sim_metric_gauge(name, SIM_METRIC_COUNT);
    gauge->gauge = MIN(gauge->gauge, lnet_node_credits_min(node));
    g_free(name);
}

void cluster_lnet_publish(const struct cluster *cluster)
{
    size_t i, j;

    if (cluster->lnet == NULL)
        return;
    for (i = 0; i < cluster->scenario->lnet.nodes.count; i++) {
        const struct scenario_lnet_nodes *nodes = scenario_lnet_nodes(cluster->scenario, i);
        char *prefix = nodes->name != NULL ? g_strconcat("lnet.", nodes->name, NULL) : NULL;

        for (j = 0; j < nodes->nodes.count; j++) {
            const struct lnet_node *node = cluster->lnet->nodes[nodes->nodes.nodes[j]];

            publish_one("lnet", node);
            if (prefix != NULL)
                publish_one(prefix, node);
        }
        g_free(prefix);
    }
}
