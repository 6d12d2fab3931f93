/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The servers of the process manager: built as a tree, fed, and what they want done. */
#include <stdio.h>
#include <string.h>

#include "oob.h"

#define PIECES 64
#define ATTRIBUTES_MAX 4

/* ---- names of jobs --------------------------------------------------------------------------- */

void pmi_name_job(size_t index, char id[16])
{
    snprintf(id, 16, "%u.0", (unsigned)index + 1);
}

struct job *pmi_job_of(struct cluster *cluster, const char *id)
{
    unsigned long index = strtoul(id, NULL, 10);

    return index >= 1 && index <= cluster->job_count ? &cluster->jobs[index - 1] : NULL;
}

/* ---- what arrives ---------------------------------------------------------------------------- */

static void take_stream(struct oob_message *message)
{
    struct oob_line *to = message->line, *from = to->other;
    size_t left = message->length;
    struct iovec pieces[PIECES];
    int count, i;

    while (left > 0 && from->link != NULL) {
        size_t taken = 0;

        count = pmi2_link_output(from->link, pieces, PIECES);
        for (i = 0; i < count && left > 0; i++) {
            size_t more = MIN(pieces[i].iov_len, left);

            if (to->link != NULL)
                pmi2_link_input(to->link, pieces[i].iov_base, more);
            taken += more;
            left -= more;
        }
        g_assert(taken <= from->announced);
        from->announced -= taken;
        pmi2_link_sent(from->link, taken);
    }
    oob_run(from->server);
}

/* A program that does not know that it used PMI cannot finalize it. */
static void take_ended(struct oob_server *server, const struct oob_line *line,
                       const struct rank *rank)
{
    static const char finalize[] = "    13cmd=finalize;";

    if (line != NULL && line->link != NULL && rank->pmi->opened_by_exchange &&
        rank->state == RANK_ENDED)
        pmi2_link_input(line->link, finalize, sizeof(finalize) - 1);
    pmi2_server_rank_ended(server->core, rank->job->pmi_id, rank->id);
    g_assert(rank->job->ends_reported < rank->job->rank_count);
    if (++rank->job->ends_reported == rank->job->rank_count)
        oob_report_over(server, rank->job);
}

void oob_serve(struct oob_server *server, struct oob_message *message)
{
    struct oob_line *line = message->line;

    pmi2_server_time(server->core, sim_now() / SIM_NS);
    switch (message->kind) {
    case OOB_BYTES:
        if (line->link != NULL)
            pmi2_link_input(line->link, message->bytes, message->length);
        break;
    case OOB_STREAM:
        take_stream(message);
        break;
    case OOB_EOF:
        if (line->link != NULL && line->closed) {
            pmi2_link_free(line->link);
            line->link = NULL;
        } else if (line->link != NULL) {
            pmi2_link_eof(line->link);
        }
        break;
    case OOB_ENDED:
        take_ended(server, line, message->rank);
        break;
    }
    oob_run(server);
}

/* ---- what a server wants --------------------------------------------------------------------- */

static void close_line(struct oob_line *line)
{
    if (line == NULL || line->link == NULL)
        return;
    oob_send(line);
    oob_send_eof(line);
    if (line->other != NULL || line->left) {
        pmi2_link_free(line->link);
        line->link = NULL;
    } else {
        line->closed = true;
    }
}

static void kill_one(struct rank *rank, void *arg)
{
    rank_kill(rank, "its job was aborted");
}

static void abort_job(struct oob_server *server, const struct pmi2_action *action)
{
    struct job *job = pmi_job_of(server->oob->cluster, action->job);
    uint32_t rank = action->rank == PMI2_NO_RANK ? 0 : action->rank;

    if (job == NULL)
        return;
    rank_fail(&job->ranks[rank], "aborted the job%s%s", action->text[0] != '\0' ? ": " : "",
              action->text);
    if (job->exit_code == 0)
        job->exit_code = (action->code & 0xff) != 0 ? action->code & 0xff : 1;
    pmi2_server_job_end(server->core, action->job);
}

static void describe_node(struct oob_server *server, const char *job)
{
    struct net_coordinates at;
    char text[64];

    if (server->node == PMI2_NO_NODE ||
        !net_coordinates(cluster_net(server->oob->cluster), server->node, &at))
        return;
    snprintf(text, sizeof(text), "%u,%u,%u,%u", at.group, at.chassis, at.slot, at.node);
    pmi2_server_node_attribute(server->core, job, PMI2_NO_RANK, "cartCoords", text);
}

static void act(struct oob_server *server, const struct pmi2_action *action)
{
    struct cluster *cluster = server->oob->cluster;
    struct oob_line *line = action->link != NULL ? pmi2_link_data(action->link) : NULL;
    struct job *job;

    switch (action->kind) {
    case PMI2_ACTION_OUTPUT:
        oob_send(line);
        break;
    case PMI2_ACTION_CLOSE:
    case PMI2_ACTION_TREE_LOST:
        close_line(line);
        break;
    case PMI2_ACTION_JOB:
        describe_node(server, action->job);
        job = pmi_job_of(cluster, action->job);
        if (job != NULL && job->spawner != NULL)
            oob_launch(server, job);
        break;
    case PMI2_ACTION_JOB_END:
        job = pmi_job_of(cluster, action->job);
        if (job->running > 0)
            cluster_job_for_each_rank_on(job, server->node, kill_one, NULL);
        break;
    case PMI2_ACTION_ABORT:
        abort_job(server, action);
        break;
    case PMI2_ACTION_SPAWN:
        oob_spawn(server, action->spawn);
        break;
    case PMI2_ACTION_MESSAGE:
        oob_take_message(server, action);
        break;
    default: /* what a rank's process does by itself, and news for people */
        break;
    }
}

static void on_time(struct sim_event *event)
{
    struct oob_server *server = sim_container_of(event, struct oob_server, timer.event);

    pmi2_server_time(server->core, sim_now() / SIM_NS);
    oob_run(server);
}

/* Neighbours that are silent are not asked whether they live (the limit is beyond all times): that
 * would keep a run alive in which nothing happens any more. */
static void set_timer(struct oob_server *server)
{
    uint64_t deadline = pmi2_server_deadline(server->core);

    server->timer.event.fire = on_time;
    if (server->oob->over || server->oob->at_once || deadline >= SIM_NEVER / SIM_NS)
        sim_timer_cancel(&server->timer);
    else
        sim_timer_arm(&server->timer, MAX(deadline * SIM_NS, sim_now()));
}

void oob_run(struct oob_server *server)
{
    struct pmi2_action action;

    while (pmi2_server_next(server->core, &action))
        act(server, &action);
    set_timer(server);
}

static void on_kick(struct sim_event *event)
{
    struct oob_server *server = sim_container_of(event, struct oob_server, kick);

    server->kicked = false;
    oob_run(server);
}

void oob_kick(struct oob_server *server)
{
    if (server->kicked)
        return;
    server->kicked = true;
    server->kick.fire = on_kick;
    sim_event_schedule(&server->kick, sim_now());
}

/* ---- building -------------------------------------------------------------------------------- */

static struct oob_line *line_new(struct oob_server *server)
{
    struct oob_line *line = g_new0(struct oob_line, 1);

    line->server = server;
    line->next = server->oob->lines;
    server->oob->lines = line;
    return line;
}

static void join(struct oob_server *above, struct oob_server *below, uint32_t first, uint32_t last)
{
    struct oob_line *down = line_new(above), *up = line_new(below);

    down->other = up;
    up->other = down;
    down->link = pmi2_server_child(above->core, first, last, down);
    up->link = pmi2_server_parent(below->core, up);
    g_assert(down->link != NULL && up->link != NULL);
}

static void make_core(struct oob_server *server, uint32_t first, uint32_t last)
{
    struct pmi2_server_config config = {
        .node = server->node,
        .first = first,
        .last = last,
        .root = server->node == PMI2_NO_NODE,
        .lossy = server->oob->lossy,
        .limits = {.pairs_per_rank = UINT16_MAX, .tree_seconds = UINT32_MAX, .spawned = UINT32_MAX},
        .store = server->oob->store,
    };

    server->core = pmi2_server_new(&config);
    if (server->core == NULL)
        g_error("no memory for a server of PMI");
    pmi2_server_time(server->core, sim_now() / SIM_NS);
}

/* Servers [first, last) as trees below `above`; their nodes end before `end`. */
static void build(struct oob_server *above, uint32_t first, uint32_t last, uint32_t end)
{
    struct oob *oob = above->oob;
    uint32_t fan_out = (uint32_t)oob->cluster->scenario->oob.fan_out;
    uint32_t parts = MIN(last - first, fan_out), i;

    for (i = 0; i < parts; i++) {
        uint32_t size = (last - first) / (parts - i);
        struct oob_server *server = &oob->servers[first];
        uint32_t until = first + size < last ? oob->servers[first + size].node : end;

        make_core(server, server->node, until);
        build(server, first + 1, first + size, until);
        join(above, server, server->node, until);
        first += size;
    }
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* All nodes that any job has ranks on, or may have, in order. */
static GArray *find_nodes(const struct cluster *cluster)
{
    GArray *nodes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    uint32_t count = 0, i;
    size_t j;

    for (j = 0; j < cluster->scenario->jobs.count; j++) {
        const struct scenario_job *job = scenario_job(cluster->scenario, j);

        for (i = 0; i < job->rank_count; i += (uint32_t)job->ranks_per_node)
            g_array_append_val(nodes, job->nodes.nodes[i / job->ranks_per_node]);
    }
    g_array_sort(nodes, by_number);
    for (i = 0; i < nodes->len; i++) {
        uint32_t node = g_array_index(nodes, uint32_t, i);

        if (count == 0 || g_array_index(nodes, uint32_t, count - 1) != node)
            g_array_index(nodes, uint32_t, count++) = node;
    }
    g_array_set_size(nodes, count);
    return nodes;
}

static void make_servers(struct oob *oob)
{
    GArray *nodes = find_nodes(oob->cluster);
    uint32_t end = net_endpoints(cluster_net(oob->cluster)), i;

    oob->server_count = nodes->len + 1;
    oob->servers = g_new0(struct oob_server, oob->server_count);
    for (i = 0; i < oob->server_count; i++) {
        oob->servers[i].oob = oob;
        oob->servers[i].node =
            i < nodes->len ? g_array_index(nodes, uint32_t, i) : (uint32_t)PMI2_NO_NODE;
        oob->servers[i].queue_end = &oob->servers[i].queue;
    }
    make_core(&oob->servers[nodes->len], 0, end);
    build(&oob->servers[nodes->len], 0, nodes->len, end);
    g_array_unref(nodes);
}

struct oob_server *oob_server_of(struct oob *oob, uint32_t node)
{
    uint32_t low = 0, high = oob->server_count - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (oob->servers[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return &oob->servers[low];
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static uint32_t describe_machine(const struct cluster *cluster, struct pmi2_text_pair *attributes,
                                 char *dims, size_t size)
{
    uint32_t nodes = net_endpoints(cluster_net(cluster));
    struct net_coordinates last;

    if (!net_coordinates(cluster_net(cluster), nodes - 1, &last))
        return 0;
    snprintf(dims, size, "%u,%u,%u,%u", last.group + 1, last.chassis + 1, last.slot + 1,
             last.node + 1);
    attributes[0] = (struct pmi2_text_pair){"physTopology", "hierarchical"};
    attributes[1] = (struct pmi2_text_pair){"physTopologyLevels", "cartesian,complete"};
    attributes[2] = (struct pmi2_text_pair){"cartDims", dims};
    return 3;
}

/* Processes that there may be: its own, and those that it can spawn at a time. */
static int64_t universe(const struct cluster *cluster, uint32_t own)
{
    int64_t all = own;
    size_t i;

    for (i = 0; i < cluster->scenario->jobs.count; i++)
        if (scenario_job(cluster->scenario, i)->spawnable)
            all += scenario_job(cluster->scenario, i)->rank_count;
    return all;
}

static void describe_job(struct oob *oob, struct pmi2_job_info *info, const struct app *apps)
{
    uint32_t *node_of, *sizes = g_new(uint32_t, info->apps), i, j, rank = 0;

    for (i = 0; i < info->apps; i++)
        info->size += sizes[i] = apps[i].rank_count;
    node_of = g_new(uint32_t, info->size);
    for (i = 0; i < info->apps; i++)
        for (j = 0; j < apps[i].rank_count; j++)
            node_of[rank++] = cluster_app_node(&apps[i], j);
    info->app_size = sizes;
    info->node_of = node_of;
    info->universe = universe(oob->cluster, info->size);
    info->id = pmi2_server_job_add(oob->servers[oob->server_count - 1].core, info);
    g_free(node_of);
    g_free(sizes);
}

static bool add_job(struct oob *oob, size_t index, const struct app *apps, uint32_t count,
                    const struct pmi2_spawn *spawn)
{
    struct pmi2_text_pair attributes[ATTRIBUTES_MAX];
    char id[16], dims[64];
    struct pmi2_job_info info = {
        .id = id,
        .apps = count,
        .attributes = attributes,
        .attribute_count = describe_machine(oob->cluster, attributes, dims, sizeof(dims)),
    };

    if (spawn != NULL) {
        info.spawner = spawn->spawner;
        info.preput = spawn->preput;
        info.preput_count = spawn->preput_count;
    }
    pmi_name_job(index, id);
    describe_job(oob, &info, apps);
    return info.id != NULL;
}

bool oob_publish_job(struct oob *oob, const struct app *apps, const struct pmi2_spawn *spawn)
{
    return add_job(oob, oob->cluster->job_count, apps, spawn->command_count, spawn);
}

/* Those that have ended before anybody used PMI. */
static void report_ended(const struct job *job)
{
    uint32_t i;

    for (i = 0; i < job->rank_count; i++)
        if (job->ranks[i].state >= RANK_ENDED)
            oob_rank_ended(&job->ranks[i]);
}

/* Servers greet each other and learn of the jobs: that was before the ranks were started. */
static void settle(struct oob *oob)
{
    struct pmi2_action action;
    bool any = true;
    uint32_t i;

    while (any) {
        any = false;
        for (i = oob->server_count; i-- > 0;) {
            while (pmi2_server_next(oob->servers[i].core, &action)) {
                act(&oob->servers[i], &action);
                any = true;
            }
        }
    }
}

struct oob *oob_of(struct cluster *cluster)
{
    struct oob *oob = cluster->oob;
    size_t i;

    if (oob != NULL)
        return oob;
    oob = cluster->oob = g_new0(struct oob, 1);
    oob->cluster = cluster;
    oob->lossy = cluster->oob_message_point.rules != NULL;
    oob->store = pmi2_store_new();
    sim_ledger_book_register(&oob->book, "oob");
    make_servers(oob);
    oob->at_once = true;
    for (i = 0; i < cluster->job_count; i++)
        if (!add_job(oob, i, cluster->jobs[i].apps, 1, NULL))
            g_error("the process manager does not take a job of %u ranks",
                    cluster->jobs[i].rank_count);
    settle(oob);
    oob->at_once = false;
    for (i = 0; i < oob->server_count; i++)
        set_timer(&oob->servers[i]);
    for (i = 0; i < cluster->job_count; i++)
        report_ended(&cluster->jobs[i]);
    return oob;
}

struct oob_line *oob_connect(struct rank *rank)
{
    struct oob *oob = oob_of(rank->job->cluster);
    struct oob_server *server = oob_server_of(oob, rank->node);
    struct oob_line *line = line_new(server);

    line->rank = rank;
    line->link =
        pmi2_server_client(server->core, rank->job->pmi_id, rank->id, PMI2_AUTH_NONE, line);
    return line->link != NULL ? line : NULL;
}

/* ---- the cluster ----------------------------------------------------------------------------- */

void pmi_begin(struct cluster *cluster)
{
    sim_fault_point_register(&cluster->oob_message_point, "oob.message");
    sim_fault_point_register(&cluster->oob_server_point, "oob.server");
}

static void publish(const char *name, enum sim_metric_unit unit, uint64_t value)
{
    sim_metric_counter(name, unit)->counter = value;
}

void pmi_publish_counters(const struct cluster *cluster)
{
    const struct oob *oob = cluster->oob;
    struct pmi2_counters sum = {0}, one;
    uint32_t i;

    for (i = 0; oob != NULL && i < oob->server_count; i++) {
        pmi2_server_counters(oob->servers[i].core, &one);
        sum.puts += one.puts;
        sum.gets += one.gets;
        sum.names += one.names;
        sum.spawns += one.spawns;
        sum.malformed += one.malformed;
        sum.refused += one.refused;
        sum.repeats += one.repeats;
        sum.tree_messages += one.tree_messages;
        sum.tree_bytes += one.tree_bytes;
    }
    if (oob == NULL)
        return;
    pmi2_server_counters(oob->servers[oob->server_count - 1].core, &one);
    publish("pmi.servers", SIM_METRIC_COUNT, oob->server_count);
    publish("pmi.puts", SIM_METRIC_COUNT, sum.puts);
    publish("pmi.gets", SIM_METRIC_COUNT, sum.gets);
    publish("pmi.fences", SIM_METRIC_COUNT, one.fences);
    publish("pmi.names", SIM_METRIC_COUNT, sum.names);
    publish("pmi.spawns", SIM_METRIC_COUNT, sum.spawns);
    publish("pmi.malformed", SIM_METRIC_COUNT, sum.malformed);
    publish("pmi.messages", SIM_METRIC_COUNT, sum.tree_messages);
    publish("pmi.bytes", SIM_METRIC_BYTES, sum.tree_bytes);
    publish("pmi.datagrams", SIM_METRIC_COUNT, oob->datagrams);
    publish("pmi.dropped", SIM_METRIC_COUNT, oob->dropped);
    publish("pmi.delayed", SIM_METRIC_COUNT, oob->delayed);
    publish("pmi.duplicated", SIM_METRIC_COUNT, oob->duplicated);
    publish("pmi.repeats", SIM_METRIC_COUNT, sum.repeats);
}

void pmi_ranks_are_over(struct cluster *cluster)
{
    struct oob *oob = cluster->oob;
    uint32_t i;

    if (oob == NULL)
        return;
    oob->over = true;
    for (i = 0; i < oob->server_count; i++)
        sim_timer_cancel(&oob->servers[i].timer);
}

void pmi_end(struct cluster *cluster)
{
    struct oob *oob = cluster->oob;
    struct oob_line *line;
    uint32_t i;

    if (oob == NULL)
        return;
    for (i = 0; i < oob->server_count; i++) {
        sim_timer_cancel(&oob->servers[i].timer);
        pmi2_server_free(oob->servers[i].core);
    }
    pmi2_store_free(oob->store);
    oob_free_messages(oob);
    oob_free_spawns(oob);
    while ((line = oob->lines) != NULL) {
        oob->lines = line->next;
        g_free(line);
    }
    g_free(oob->servers);
    g_free(oob);
    cluster->oob = NULL;
}
