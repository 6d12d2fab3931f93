/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What members and the daemon both use. */
#ifndef JACQUARD_SHM_COMMON_H
#define JACQUARD_SHM_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A memory file that its maker has mapped to write, sealed so that nobody else can: its descriptor,
 * or -errno. */
int shm_memory_file(const char *name, size_t bytes, void **mapping);
bool shm_memory_is_safe(int file, size_t bytes); /* sealed like that, and of that size */

/* Listens at the path, of mode 0600: a non-blocking descriptor, or -errno; *busy: somebody does
 * already. */
int shm_listen(const char *path, bool *busy, char *why);
void shm_unlisten(const char *path); /* removes it; the descriptor is the caller's */

/* Removes the socket and the lock file that a killed daemon left. False: somebody listens there, or
 * begins to, or the path is no socket. */
bool shm_unlisten_dead(const char *path);

uint64_t shm_now_ns(void); /* CLOCK_MONOTONIC */

/* One line into why[SHM_WHY_BYTES], if there is one. */
void shm_why(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
