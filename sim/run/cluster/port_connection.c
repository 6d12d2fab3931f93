/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connections of stacks in the trace: how long each was in which state. Not in the digest. */
#include <inttypes.h>

#include "cluster/port_fiber.h"
#include "engine/outside.h"
#include "engine/trace.h"

#define TRACK_CONNECTIONS 9u

struct connection { /* in the hash table by `id` */
    const char *state;
    sim_time_t since;
    uint32_t number; /* in the order in which the process made them */
    char peer[80];
};

static void write_state(const struct rank *rank, const struct connection *connection)
{
    static const struct sim_trace_track kind = {"connections", &sim_trace_nodes, false, NULL};
    struct sim_trace_point point = {
        .kind = SIM_TRACE_SLICE,
        .track = TRACK_CONNECTIONS,
        .node = rank->node,
        .index = rank->on_node,
        .name = connection->state,
        .time = connection->since,
        .duration = sim_now() - connection->since,
    };
    struct sim_trace_argument argument = {"peer", connection->peer, 0};

    sim_trace_track_register(TRACK_CONNECTIONS, &kind);
    sim_trace_write_arguments(&point, false, &argument, 1);
}

void port_connection(const void *id, uint32_t nic_address, uint32_t instance, const char *state)
{
    struct port_process *self;
    struct connection *connection;

    if (sim_likely(!sim_trace_on))
        return;
    self = port_self();
    sim_outside_begin();
    if (self->connections == NULL)
        self->connections = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    connection = g_hash_table_lookup(self->connections, id);
    if (connection != NULL)
        write_state(self->rank, connection);
    if (state == NULL) {
        g_hash_table_remove(self->connections, id);
    } else {
        if (connection == NULL) {
            connection = g_new0(struct connection, 1);
            connection->number = self->connections_made++;
            g_hash_table_insert(self->connections, (gpointer)id, connection);
        }
        connection->state = state;
        connection->since = sim_now();
        aries_instance_name(self->rank->process, nic_address, instance, connection->peer,
                            sizeof(connection->peer));
    }
    sim_outside_end();
}

static gint by_number(gconstpointer a, gconstpointer b)
{
    const struct connection *one = a, *other = b;

    return (one->number > other->number) - (one->number < other->number);
}

void port_connections_end(struct rank *rank)
{
    struct port_process *self = rank->port;
    GList *left, *each;

    if (self == NULL || self->connections == NULL)
        return;
    left = g_list_sort(g_hash_table_get_values(self->connections), by_number);
    for (each = left; each != NULL; each = each->next)
        write_state(rank, each->data);
    g_list_free(left);
    g_hash_table_destroy(self->connections);
    self->connections = NULL;
}

void port_connections_end_all(struct cluster *cluster)
{
    uint32_t i;
    size_t job;

    for (job = 0; job < cluster->job_count; job++)
        for (i = 0; i < cluster->jobs[job].rank_count; i++)
            port_connections_end(&cluster->jobs[job].ranks[i]);
}
