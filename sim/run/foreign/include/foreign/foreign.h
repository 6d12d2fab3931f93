/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs with a main() that were not written for the simulation. docs/foreign-programs.md
 * describes what they may do. */
#ifndef JACQUARD_RUN_FOREIGN_H
#define JACQUARD_RUN_FOREIGN_H

#include <stdbool.h>

struct rank;

struct foreign_image;

#define FOREIGN_FILE_MAX (1ull << 30) /* bytes of a program */

/*
 * Reads a program and checks whether it can be run here. NULL: *error (g_free) is a clause, or NULL
 * when the file is no program with a main() at all.
 */
struct foreign_image *foreign_image_open(const char *path, char **error);
void foreign_image_close(struct foreign_image *image);
bool foreign_image_uses_ugni(const struct foreign_image *image); /* was linked to it */
bool foreign_image_uses_libfabric(const struct foreign_image *image);

int foreign_main(struct rank *rank); /* the main of a workload that executes one */

#endif
