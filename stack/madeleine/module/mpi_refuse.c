/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages that their receiver refuses. MPI cannot take back a message, so the receiver tells the
 * sender, and drops what comes until the sender has answered that nothing follows.
 */
#include <stdlib.h>

#include "mpi_module.h"

static const double wait_seconds = 0.5;

static struct mpi_connection *own_of(p_mad_connection_t connection)
{
    return connection->specific;
}

static int size_of(const struct mpi_channel *own)
{
    return own->object->adapter->driver->madeleine->configuration.size;
}

void mad_mpi_list(struct mpi_channel *own)
{
    struct mad_mpi_refusals *all = mad_mpi_refusals();

    port_mutex_lock(&all->mutex);
    own->next = all->channels;
    all->channels = own;
    own->listed = true;
    port_mutex_unlock(&all->mutex);
}

static bool is_unanswered(p_mad_connection_t in)
{
    return own_of(in)->gave_up && !own_of(in)->acked;
}

void mad_mpi_unlist(struct mpi_channel *own)
{
    struct mad_mpi_refusals *all = mad_mpi_refusals();
    struct mpi_channel **place = &all->channels;

    if (own == NULL || !own->listed)
        return;
    own->listed = false;
    port_mutex_lock(&all->mutex);
    while (*place != own)
        place = &(*place)->next;
    *place = own->next;
    for (int rank = 0; rank < size_of(own); rank++)
        all->unanswered -= is_unanswered(own->object->input_connection[rank]);
    port_mutex_unlock(&all->mutex);
}

/* A message without data, which waits for nobody. */
static void send_word(p_mad_connection_t connection, enum mpi_tag tag)
{
    const struct mpi_channel *own = connection->channel->specific;
    MPI_Request request;

    if (MPI_Isend(NULL, 0, MPI_BYTE, mad_mpi_place(own, connection->remote_host_id), (int)tag,
                  own->communicator, &request) == MPI_SUCCESS)
        MPI_Request_free(&request);
}

/* ---- the sender ------------------------------------------------------------------------------ */

static void note_refusal(p_mad_connection_t out)
{
    mad_driver_note(out, "the receiver's blocks are others", 0);
    mad_connection_break(out, MAD_ESYMM);
    own_of(out)->refused = own_of(out)->ack_due = true;
}

void mad_mpi_poll_refusal(p_mad_connection_t out)
{
    const struct mpi_channel *own = out->channel->specific;
    MPI_Message message;
    int found = 0;

    if (own_of(out)->refused ||
        MPI_Improbe(mad_mpi_place(own, out->remote_host_id), REFUSED, own->communicator, &found,
                    &message, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
        !found)
        return;
    MPI_Mrecv(NULL, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    note_refusal(out);
}

bool mad_mpi_refused(p_mad_connection_t out)
{
    if (own_of(out)->ack_due)
        send_word(out, ACK);
    own_of(out)->ack_due = false;
    return own_of(out)->refused;
}

/* ---- the receiver ---------------------------------------------------------------------------- */

/* Drops the peer's next message. False: there is none. */
static bool drop_one(p_mad_connection_t in)
{
    const struct mpi_channel *own = in->channel->specific;
    MPI_Message message;
    MPI_Status status;
    int found = 0, bytes = 0;
    char *memory;

    if (MPI_Improbe(mad_mpi_place(own, in->remote_host_id), MPI_ANY_TAG, own->communicator, &found,
                    &message, &status) != MPI_SUCCESS ||
        !found)
        return false;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    memory = malloc((size_t)bytes + 1); /* without memory MPI reports a message that is too long */
    MPI_Mrecv(memory, memory != NULL ? bytes : 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    free(memory);
    if (status.MPI_TAG == REFUSED)
        note_refusal(in->reverse);
    if (status.MPI_TAG == ACK) {
        own_of(in)->acked = true;
        mad_mpi_refusals()->unanswered--;
    }
    return true;
}

void mad_mpi_drop_refused(void)
{
    struct mad_mpi_refusals *all = mad_mpi_refusals();

    if (__atomic_load_n(&all->unanswered, __ATOMIC_ACQUIRE) == 0 ||
        !port_mutex_trylock(&all->mutex))
        return;
    for (const struct mpi_channel *own = all->channels; own != NULL; own = own->next)
        for (int rank = 0; rank < size_of(own); rank++)
            while (is_unanswered(own->object->input_connection[rank]) &&
                   drop_one(own->object->input_connection[rank]))
                ;
    port_mutex_unlock(&all->mutex);
}

void mad_mpi_give_up(p_mad_connection_t in)
{
    struct mad_mpi_refusals *all = mad_mpi_refusals();
    bool first;

    port_mutex_lock(&all->mutex);
    first = !own_of(in)->gave_up;
    own_of(in)->gave_up = true;
    if (first)
        __atomic_add_fetch(&all->unanswered, 1, __ATOMIC_RELEASE);
    port_mutex_unlock(&all->mutex);
    if (first)
        send_word(in, REFUSED);
    mad_mpi_drop_refused();
}

/* ---- before a fence -------------------------------------------------------------------------- */

static bool has_unanswered(p_mad_channel_t channel)
{
    for (int rank = 0; rank < size_of(channel->specific); rank++)
        if (is_unanswered(channel->input_connection[rank]))
            return true;
    return false;
}

/* Those that no thread of the program is sending on. */
static void answer_refusals(p_mad_channel_t channel)
{
    const struct mpi_channel *own = channel->specific;

    for (int rank = 0; rank < size_of(own); rank++) {
        p_mad_connection_t out = channel->output_connection[rank];

        if (rank == own->own || !mad_channel_has(channel, rank) || out->lock)
            continue;
        mad_mpi_poll_refusal(out);
        mad_mpi_refused(out);
    }
}

/* A refused sender that waits in a fence does not answer, and has sent everything. */
int mad_mpi_quiesce(p_mad_channel_t channel)
{
    const struct mpi_channel *own = channel->specific;
    double limit = MPI_Wtime() + wait_seconds;
    unsigned passes = 0;

    if (own == NULL || !own->open)
        return MAD_OK;
    answer_refusals(channel);
    while (has_unanswered(channel) && MPI_Wtime() < limit) {
        mad_mpi_pause(&passes);
        answer_refusals(channel);
    }
    return MAD_OK;
}
