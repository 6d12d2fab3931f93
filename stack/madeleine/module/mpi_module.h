/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the MPI module share. */
#ifndef JACQUARD_MADELEINE_MPI_MODULE_H
#define JACQUARD_MADELEINE_MPI_MODULE_H

#include <stdbool.h>
#include <mpi.h>

#include "driver/mpi.h"
#include "madeleine/error.h"
#include "port/port.h"

/* Starts MPI if the program has not; false: it has ended already, or has no threads. */
bool mad_mpi_start(void);
/* Ends MPI with the last adapter where no exit handler of the process could. */
void mad_mpi_stop(void);
/* Sleeps in a loop that polls MPI. *pass is 0 before the first one, and then its own. */
void mad_mpi_sleep(unsigned *pass);
/* A program polls and finds nothing: the same in simulation, and nothing elsewhere. */
void mad_mpi_polled(unsigned *pass);
/* One fruitless pass of such a loop. */
void mad_mpi_pause(unsigned *pass);

/* Tags. REFUSED and ACK have no data. */
enum mpi_tag {
    SERVICE,
    TRANSFER,
    REFUSED, /* the receiver's blocks are not the sender's, and it takes no more of them */
    ACK /* of a refusal: nothing follows from the sender */
};

struct mpi_channel {
    p_mad_channel_t object;
    MPI_Comm communicator; /* its ranks are those of the session, or those of `place` */
    int *place; /* of a rank in a communicator of some processes, or NULL */
    bool open;
    int last_served, own;
    unsigned idle; /* of a program that polls, for mad_mpi_polled */
    bool listed;
    struct mpi_channel *next; /* of all that are open */
};

/* Of one direction. */
struct mpi_connection {
    bool armed; /* a message has begun, and nothing of it was sent */
    bool gave_up, acked; /* incoming: the peer's messages are dropped; it has sent the last one */
    bool refused, ack_due; /* outgoing: the peer drops the messages, and waits for the answer */
    MPI_Aint *places; /* room for the description of a group */
    int *lengths;
    int room;
};

static inline int mad_mpi_place(const struct mpi_channel *own, int rank)
{
    return own->place != NULL ? own->place[rank] : rank;
}

/* ---- refusals (mpi_refuse.c) ---- */
/* The open channels of the process. `unanswered`: refusals whose senders may still send. */
struct mad_mpi_refusals {
    struct port_mutex mutex;
    struct mpi_channel *channels;
    unsigned unanswered;
};
/* Those of the calling process. */
struct mad_mpi_refusals *mad_mpi_refusals(void);
void mad_mpi_list(struct mpi_channel *own);
void mad_mpi_unlist(struct mpi_channel *own); /* no effect if it is not listed */
void mad_mpi_give_up(p_mad_connection_t in);
/* Receives and drops what refused senders of all channels have sent. */
void mad_mpi_drop_refused(void);
/* Whether the receiver has refused, as far as mad_mpi_poll_refusal has found; answers it. */
bool mad_mpi_refused(p_mad_connection_t out);
void mad_mpi_poll_refusal(p_mad_connection_t out);
int mad_mpi_quiesce(p_mad_channel_t channel);

#endif
