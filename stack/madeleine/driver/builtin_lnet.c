/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The LNet driver of a simulation, which has LNet on the nodes that the scenario says. */
#include "driver/lnet_module.h"

int mad_lnet_usable(void)
{
    return 0;
}

void mad_lnet_register(p_mad_driver_t driver)
{
    driver->interface = mad_lnet_module_interface();
    driver->connection_type = mad_bidirectional_connection;
    driver->buffer_alignment = MAD_LNET_ALIGNMENT;
}
