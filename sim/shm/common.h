/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions that members and the daemon both use. */
#ifndef JACQUARD_SHM_COMMON_H
#define JACQUARD_SHM_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Creates a memory file, maps it for writing, and seals it so that no other process can do that.
 * Returns its descriptor or -errno. */
int shm_memory_file(const char *name, size_t bytes, void **mapping);
bool shm_memory_is_safe(int file,
                        size_t bytes); /* whether the file has these seals and this size */

/* Listens at the path with mode 0600. Returns a non-blocking descriptor or -errno; *busy: a daemon
 * listens there already. */
int shm_listen(const char *path, bool *busy, char *why);
void shm_unlisten(const char *path); /* removes the socket; the caller closes the descriptor */

/* Removes the socket and the lock file that a killed daemon left. False: a daemon listens there or
 * is about to, or the path is no socket. */
bool shm_unlisten_dead(const char *path);

uint64_t shm_now_ns(void); /* CLOCK_MONOTONIC */

/* Writes one line into why[SHM_WHY_BYTES], unless `why` is NULL. */
void shm_why(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
