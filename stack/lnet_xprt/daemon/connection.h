/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A process that is connected to the daemon: its memory, and the verbs that it sends. */
#ifndef JACQUARD_M0_CONNECTION_H
#define JACQUARD_M0_CONNECTION_H

#include "net/lnet/linux_kernel/klnet_drv.h"

/* Serves a process until its end, its last request, or its first message that is none, and releases
 * what it leaves. The socket stays open. True: the process waits for a reply to its last request.
 */
bool m0_connection_serve(struct nlx_dd *dd, const struct nlx_kcore_host *host, int socket);
/* Answers the first request with an error, or the last one. */
void m0_connection_answer(int socket, int rc);
/* Wakes processes for the events that the calling thread has produced. */
void m0_connection_ring(void);

#endif
