/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loads the module of the LNet driver when a session has an adapter of it. */
#include <dlfcn.h>

#include "driver/lnet_module.h"
#include "driver/module.h"
#include "madeleine/error.h"

/* It stays: its threads may run until the process ends. */
static const mad_driver_interface_t *load(void)
{
    const mad_driver_interface_t *(*interface)(void);
    char path[MAD_PATH_BYTES];
    void *module;

    if (!mad_module_path("lnet", path))
        return NULL;
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL)
        return NULL;
    interface = (const mad_driver_interface_t *(*)(void))(uintptr_t)dlsym(
        module, MAD_LNET_MODULE_INTERFACE);
    return interface != NULL ? interface() : NULL;
}

static int adapter_init(p_mad_adapter_t adapter)
{
    const mad_driver_interface_t *interface = load();

    if (interface == NULL)
        return MAD_ENOTSUP;
    adapter->driver->interface = interface;
    return interface->adapter_init(adapter);
}

int mad_lnet_usable(void)
{
    return 0;
}

void mad_lnet_register(p_mad_driver_t driver)
{
    static const mad_driver_interface_t loading = {.abi_version = MAD_DRIVER_ABI,
                                                   .adapter_init = adapter_init};
    char path[MAD_PATH_BYTES];

    driver->interface = mad_module_path("lnet", path) ? &loading : NULL;
    driver->connection_type = mad_bidirectional_connection;
    driver->buffer_alignment = MAD_LNET_ALIGNMENT;
}
