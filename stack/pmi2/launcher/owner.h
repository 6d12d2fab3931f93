/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which user the other end of a TCP connection belongs to, if that end is on this machine. The
 * kernel is asked about this one connection (netlink, inet_diag). Where it does not answer such
 * questions, its tables of all connections are read (/proc/net/tcp, tcp6).
 */
#ifndef JACQUARD_PMRUN_OWNER_H
#define JACQUARD_PMRUN_OWNER_H

#include <glib.h>
#include <netinet/in.h>
#include <sys/types.h>

/* Both ends of a connection, of one family. */
struct pmrun_owner_ends {
    struct sockaddr_storage own, peer;
};
/* IPv4 addresses that are written as IPv6 ones become IPv4. FALSE: it is no TCP connection. */
gboolean pmrun_owner_ends_of(int fd, struct pmrun_owner_ends *ends);
/*
 * FALSE: no process on this machine has the other end open. It is on another machine, or its
 * process has closed it (the kernel then reports no user, or root).
 */
gboolean pmrun_owner_of(const struct pmrun_owner_ends *ends, uid_t *uid);
/* The name under which an unauthenticated connection is counted: "user 1000", or an address of
 * another machine (of IPv6 the network of 64 bits, all of which one machine may use). g_free(). */
char *pmrun_owner_name(int fd);

/* The two methods alone, for tests. refused: the kernel does not answer such questions. */
gboolean pmrun_owner_by_netlink(const struct pmrun_owner_ends *ends, uid_t *uid, gboolean *refused);
gboolean pmrun_owner_by_tables(const struct pmrun_owner_ends *ends, uid_t *uid);

#endif
