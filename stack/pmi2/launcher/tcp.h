/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses of TCP, of IPv4 and IPv6: where pmrun listens, and texts `host:port`. */
#ifndef JACQUARD_PMRUN_TCP_H
#define JACQUARD_PMRUN_TCP_H

#include <glib.h>
#include <stdint.h>

#define PMRUN_TCP_BACKLOG 1024 /* connections that are not accepted yet */

/*
 * A socket that listens at a numeric address; port 0: any. "::" takes connections of IPv4, too. -1:
 * errno. *bound (may be NULL) is the port.
 */
int pmrun_tcp_listen(const char *host, unsigned port, unsigned *bound);
/* Connects to `host:port`, each address of the host in turn; a step takes 10 s at most. -1: errno.
 */
int pmrun_tcp_connect(const char *address);
/* `host:port`, with brackets around a host that has colons. g_free(). */
char *pmrun_tcp_name(const char *host, unsigned port);
/* The reverse, also of a name without a port (*port is left alone). FALSE: malformed. */
gboolean pmrun_tcp_parse(const char *text, char **host, unsigned *port);

#endif
