/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations of the POSIX port that another library may provide. The operating system does not know
 * the hosts of each network, and does not show connections to anybody; a library that does so
 * replaces these operations.
 */
#ifndef JACQUARD_PORT_MACHINE_H
#define JACQUARD_PORT_MACHINE_H

#include <stdint.h>

struct port_machine {
    /* As port_resolve(). -ENOSYS: the operating system knows this host. NULL: it knows all. */
    int (*resolve)(const char *host, uint32_t instance, uint32_t *nic_address);
    /* As port_connection(). NULL: connections are not reported. */
    void (*connection)(const void *id, uint32_t nic_address, uint32_t instance, const char *state);
};

/*
 * Replaces the operations of this copy of the POSIX port; NULL: those of the operating system
 * again. The object is not copied. To be called while one thread runs, so before the port is used.
 */
void port_machine_set(const struct port_machine *machine);

#endif
