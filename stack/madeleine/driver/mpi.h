/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The MPI driver is a module of its own for each MPI library, so that libmadeleine.so needs none. A
 * session with an adapter of MPI is started by MPI's launcher: ranks and values come from MPI.
 */
#ifndef JACQUARD_MADELEINE_MPI_H
#define JACQUARD_MADELEINE_MPI_H

#include "boot.h"
#include "madeleine/driver.h"

/* The functions of a module. NULL: MPI could not be started. */
#pragma GCC visibility push(default)
const mad_driver_interface_t *mad_mpi_module_interface(void);
struct mad_boot *mad_mpi_module_boot(void);
#pragma GCC visibility pop
#define MAD_MPI_MODULE_INTERFACE "mad_mpi_module_interface"
#define MAD_MPI_MODULE_BOOT "mad_mpi_module_boot"

/* In the library (driver/mpi.c). An interface of NULL: no module was built. */
void mad_mpi_register(p_mad_driver_t driver);
/* 0: it is no adapter by default, only in a list. */
int mad_mpi_usable(void);
/* `selector`: "mpich", "openmpi", or NULL: the one whose launcher started the process. */
struct mad_boot *mad_mpi_boot(const char *selector);

#endif
