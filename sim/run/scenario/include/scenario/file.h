/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files that users name. */
#ifndef JACQUARD_RUN_FILE_H
#define JACQUARD_RUN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The whole of a regular file; of a pipe too, when it is standard input ("/dev/stdin"). Nothing
 * else: a device may never end. False: *error (g_free) is a clause. *bytes is to be g_freed and
 * ends with a zero byte that *length does not count.
 */
bool scenario_file_read(const char *path, uint64_t most, char **bytes, size_t *length,
                        char **error);

/*
 * Where a file that is written as a whole goes: *partial (g_free), beside the target of all
 * symbolic links, is to be renamed to *target (g_free). *partial is NULL when the target is a
 * device, a pipe or the like: it is written in place, and never replaced.
 */
void scenario_file_place(const char *path, char **target, char **partial);

#endif
