/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds and loads the module of an MPI library, which lies beside this library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "driver/module.h"
#include "driver/mpi.h"
#include "madeleine/error.h"
#include "port/port.h"

/* The kind of module that fits to the launcher of this process. False: there is none. */
static bool find_module(const char *selector, char *path)
{
    if (selector != NULL)
        return (strcmp(selector, "mpich") == 0 || strcmp(selector, "openmpi") == 0 ||
                strcmp(selector, "mpi") == 0) &&
               mad_module_path(selector, path);
    if (port_getenv("OMPI_COMM_WORLD_SIZE") != NULL && mad_module_path("openmpi", path))
        return true;
    return mad_module_path("mpich", path) || mad_module_path("mpi", path) ||
           mad_module_path("openmpi", path);
}

/* RTLD_GLOBAL: MPI libraries load parts of their own, which look for symbols of the library. */
static void *module_symbol(const char *selector, const char *symbol)
{
    char path[MAD_PATH_BYTES];
    void *module;

    if (!find_module(selector, path))
        return NULL;
    module = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* stays: MPI cannot be unloaded */
    return module != NULL ? dlsym(module, symbol) : NULL;
}

static int adapter_init(p_mad_adapter_t adapter)
{
    const mad_driver_interface_t *(*interface)(void) = (const mad_driver_interface_t *(*)(void))(
        uintptr_t)module_symbol(adapter->selector, MAD_MPI_MODULE_INTERFACE);

    if (interface == NULL)
        return MAD_ENOTSUP;
    adapter->driver->interface = interface();
    return adapter->driver->interface->adapter_init(adapter);
}

struct mad_boot *mad_mpi_boot(const char *selector)
{
    struct mad_boot *(*boot)(void) =
        (struct mad_boot * (*)(void))(uintptr_t)module_symbol(selector, MAD_MPI_MODULE_BOOT);

    return boot != NULL ? boot() : NULL;
}

int mad_mpi_usable(void)
{
    return 0;
}

void mad_mpi_register(p_mad_driver_t driver)
{
    static const mad_driver_interface_t loading = {.abi_version = MAD_DRIVER_ABI,
                                                   .adapter_init = adapter_init};
    char path[MAD_PATH_BYTES];

    driver->interface = find_module(NULL, path) ? &loading : NULL;
    driver->connection_type = mad_unidirectional_connection;
    driver->buffer_alignment = 32;
}
