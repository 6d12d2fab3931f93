/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the MPI module share. */
#ifndef JACQUARD_MADELEINE_MPI_MODULE_H
#define JACQUARD_MADELEINE_MPI_MODULE_H

#include <stdbool.h>
#include <mpi.h>

#include "driver/mpi.h"
#include "madeleine/error.h"

/* Starts MPI if the program has not; false: it has ended already, or has no threads. */
bool mad_mpi_start(void);
/* Waits in the way that the program has chosen until the request is complete. */
int mad_mpi_complete(MPI_Request *request);
/* One fruitless pass of a loop that polls MPI: the passes so far. */
void mad_mpi_pause(unsigned *passes);

#endif
