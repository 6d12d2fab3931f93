/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The MPI driver of a simulation, over the small MPI in stack/madeleine/mpi. Sessions start through
 * PMI-2, and MPI starts with the first adapter and ends with the last one.
 */
#include <stdlib.h>

#include "internal.h"
#include "module/mpi_module.h"
#include "mpi/process.h"

struct mad_mpi_refusals *mad_mpi_refusals(void)
{
    struct mad_process *process = mad_process();

    if (process->mpi_refusals == NULL) {
        process->mpi_refusals = calloc(1, sizeof(*process->mpi_refusals));
        if (process->mpi_refusals == NULL)
            port_panic("FAILURE: not enough memory");
        port_mutex_init(&process->mpi_refusals->mutex);
    }
    return process->mpi_refusals;
}

bool mad_mpi_start(void)
{
    int started = 0, level = MPI_THREAD_SINGLE;

    MPI_Initialized(&started);
    return started || MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS;
}

void mad_mpi_stop(void)
{
    int started = 0;

    MPI_Initialized(&started);
    if (started)
        MPI_Finalize();
}

void mad_mpi_sleep(unsigned *pass)
{
    mad_smpi_pause(pass);
}

/* The engine cannot see that probes are idle polls, which it would leave out. */
void mad_mpi_polled(unsigned *pass)
{
    mad_smpi_pause(pass);
}

int mad_mpi_usable(void)
{
    return 0;
}

void mad_mpi_register(p_mad_driver_t driver)
{
    driver->interface = mad_mpi_module_interface();
    driver->connection_type = mad_unidirectional_connection;
    driver->buffer_alignment = 32;
}
