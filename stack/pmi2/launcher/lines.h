/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A stream of bytes cut into whole lines, so that those of several processes do not mix. */
#ifndef JACQUARD_PMRUN_LINES_H
#define JACQUARD_PMRUN_LINES_H

#include <glib.h>

#define PMRUN_LINES_LONGEST (1u << 20) /* a longer line is passed on in parts */

struct pmrun_lines {
    GString *begun; /* without its end yet; NULL: none */
};

/* Gives whole lines, one or more at a time, to `take`. */
void pmrun_lines_feed(struct pmrun_lines *lines, const char *bytes, gsize length,
                      void (*take)(void *owner, const char *bytes, gsize length), void *owner);
/* The stream has ended: what was begun is given as it is. */
void pmrun_lines_end(struct pmrun_lines *lines,
                     void (*take)(void *owner, const char *bytes, gsize length), void *owner);

#endif
