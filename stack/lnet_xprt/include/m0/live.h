/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * m0_net over LNet in an ordinary process: the core in the kernel and the driver are in a daemon
 * (`jacquard lnetd --m0 PATH`), which the process reaches by a Unix socket. Aligned memory
 * (m0_alloc_aligned, m0_bufvec_alloc_aligned) is shared with the daemon.
 */
#ifndef JACQUARD_M0_LIVE_H
#define JACQUARD_M0_LIVE_H

#include <stdint.h>

/*
 * Domains that are opened from now on belong to the daemon with this socket. Before any other call
 * of m0_net; a program that does not call it, and has the variable JACQUARD_M0 in its environment,
 * behaves as if it had called it with that. JACQUARD_M0_MEMORY has the size of the shared memory in
 * MiB, 4096 without it. 0; -ENAMETOOLONG, -EINVAL, -ENOMEM, or another negative errno.
 */
int m0_live_begin(const char *socket);

/* Counters of the resources that a daemon holds for all its processes. */
struct m0_live_stats {
    uint32_t ls_files, ls_tms, ls_bufs, ls_bevs; /* now */
    uint64_t ls_pinned_pages; /* now */
    uint64_t ls_verbs, ls_operations, ls_internal_errors; /* so far */
};
/* 0 or a negative errno. */
int m0_live_stats(const char *socket, struct m0_live_stats *stats);

#endif
