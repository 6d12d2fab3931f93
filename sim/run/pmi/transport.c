/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How the client library of a rank reaches its server: it always does, by a connection that is
 * known to be the rank's. */
#include "client/client.h"
#include "cluster/port_fiber.h"
#include "oob.h"

struct pmi_rank *pmi_rank_get(struct rank *rank)
{
    if (rank->pmi == NULL)
        rank->pmi = g_new0(struct pmi_rank, 1);
    return rank->pmi;
}

void pmi_rank_free(struct rank *rank)
{
    g_free(rank->pmi);
    rank->pmi = NULL;
}

static bool write_all(void *context, const void *bytes, size_t length)
{
    struct oob_line *line = context;

    sim_settle();
    if (line->ended)
        return false;
    oob_write(line, bytes, length);
    return true;
}

static size_t read_some(void *context, void *bytes, size_t size)
{
    return oob_read(context, bytes, size);
}

static void close_line(void *context)
{
    struct oob_line *line = context;

    if (line->rank->pmi != NULL && line->rank->pmi->line == line)
        line->rank->pmi->line = NULL;
    oob_close(line);
}

enum pmi2_connect pmi2_transport_open(struct pmi2_transport *transport, int *rank, int *size)
{
    struct rank *caller = port_self()->rank;
    struct pmi_rank *self = pmi_rank_get(caller);

    *rank = (int)caller->id;
    *size = (int)caller->job->rank_count;
    self->line = oob_connect(caller);
    if (self->line == NULL)
        return PMI2_UNREACHABLE;
    transport->context = self->line;
    transport->write = write_all;
    transport->read = read_some;
    transport->close = close_line;
    return PMI2_CONNECTED;
}

/* Reports the end to the rank's server, and frees the library's state. */
void pmi_rank_left(struct rank *rank)
{
    if (rank->job->cluster->oob == NULL)
        return;
    oob_rank_ended(rank);
    if (rank->port != NULL)
        pmi2_client_free(rank->port->slots[PORT_SLOT_PMI2]); /* unless it was killed in a call */
}
