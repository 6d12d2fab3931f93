/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PMI over a TCP port of the loopback interface, one for each job and node. A client must belong to
 * the launcher's user, as the kernel reports; others are closed at once. With a challenge, it must
 * know the job's key, too. At most 16 clients may be unauthenticated; further ones wait.
 */
#ifndef JACQUARD_PMRUN_PORT_H
#define JACQUARD_PMRUN_PORT_H

#include "launch.h"
#include "io.h"

struct pmrun_port;
struct pmrun_port *pmrun_port_new(struct pmrun_io *io, const char *job,
                                  enum pmrun_launch_port kind);
/* At the first of these addresses (NULL ends them) that this machine has. */
struct pmrun_port *pmrun_port_new_at(struct pmrun_io *io, const char *job,
                                     enum pmrun_launch_port kind, const char *const *hosts);
const char *pmrun_port_name(const struct pmrun_port *port); /* host:port */
/* A pipe out of which the key can be read once: [0] is for the process; both are the caller's. */
gboolean pmrun_port_key(const struct pmrun_port *port, int ends[2]);
void pmrun_port_close(struct pmrun_port *port); /* and free */

#endif
