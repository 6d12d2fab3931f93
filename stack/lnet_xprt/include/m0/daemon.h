/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The driver of m0_net's LNet transport in a daemon, for the processes of a machine. The calling
 * process has LNet; one socket serves all others, see live/wire.h. Whatever they send costs them
 * their own connection at most.
 */
#ifndef JACQUARD_M0_DAEMON_H
#define JACQUARD_M0_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

/* Bounds, of which 0 means none but for max_files: there it is 256. */
struct m0_daemon_options {
    uint32_t max_files; /* domains of all processes together, which are connections, too */
    uint32_t max_tms, max_bufs; /* per domain */
    uint32_t max_bevs; /* event slots per machine */
    uint32_t max_pages; /* pinned ones, per domain */
};

/*
 * Listens on a Unix socket, for the user of this process and root, until m0_daemon_stop. A socket
 * that nobody listens to is replaced. LNet runs. NULL, or text that the caller frees.
 */
char *m0_daemon_start(const char *path, const struct m0_daemon_options *options);
/* Ends all connections, and waits until nothing of LNet refers to their memory any more. */
void m0_daemon_stop(void);

#endif
