/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Linked into libgni-fi.so of a tree with the emulated libugni: the POSIX port of that plug-in asks
 * libugni for hosts, and reports connections to it. The provider knows nothing of this.
 */
#include "aries/machine.h"
#include "port/machine.h"

static const struct port_machine machine = {
    .resolve = gni_machine_resolve,
    .connection = gni_machine_connection,
};

static __attribute__((constructor)) void use_emulated_machine(void)
{
    port_machine_set(&machine);
}
