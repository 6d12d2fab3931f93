/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files that users name. */
#ifndef JACQUARD_RUN_FILE_H
#define JACQUARD_RUN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads a whole regular file, or a pipe if it is the standard input ("/dev/stdin"). Other files are
 * refused, because a device may never end. False: *error (g_free) is a clause. *bytes (g_free) ends
 * with a zero byte that *length does not count.
 */
bool scenario_file_read(const char *path, uint64_t most, char **bytes, size_t *length,
                        char **error);

/*
 * Where to write a file that shall appear as a whole: write *partial (g_free), which is beside the
 * target of all symbolic links, then rename it to *target (g_free). *partial is NULL if the target
 * is a device, a pipe or the like: write it in place, and never replace it.
 */
void scenario_file_place(const char *path, char **target, char **partial);

/* The path as one relative to the folder of `file`; g_free(). */
char *scenario_file_beside(const char *file, const char *path);

#endif
