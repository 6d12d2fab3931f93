/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the ranks print, on pmrun's own standard output and error or in files: whole lines, with
 * labels if asked for. Never blocks, but on files.
 */
#ifndef JACQUARD_PMRUN_OUTPUT_H
#define JACQUARD_PMRUN_OUTPUT_H

#include <glib.h>
#include <uv.h>

struct pmrun_output_patterns { /* with %r %g %p %h %t %%; NULL: none */
    const char *label, *file, *error_file;
};

struct pmrun_output_origin { /* of a line */
    const char *job, *host;
    uint32_t rank, node;
};

struct pmrun_output;
/*
 * `waits`: more is to be written than the readers take; the ranks should be held up (TRUE), or may
 * go on. `broken`: the standard output has no reader any more.
 */
struct pmrun_output *pmrun_output_new(uv_loop_t *loop, const struct pmrun_output_patterns *patterns,
                                      void (*waits)(void *owner, gboolean waits),
                                      void (*broken)(void *owner), void *owner);
/* stream: 0 or 1. One or more lines; a last one without end gets one if `several` write there. */
void pmrun_output_write(struct pmrun_output *output, const struct pmrun_output_origin *origin,
                        int stream, const char *bytes, gsize length, gboolean several);
void pmrun_output_message(struct pmrun_output *output, const char *text); /* of pmrun itself */
gboolean pmrun_output_is_empty(const struct pmrun_output *output);
/* Waits until all is written or, if not negative, so many milliseconds; what comes later is lost.
 */
void pmrun_output_finish(struct pmrun_output *output, int milliseconds);
void pmrun_output_close(struct pmrun_output *output, int milliseconds); /* likewise */
void pmrun_output_free(struct pmrun_output *output); /* after that, and a turn of the loop */
/* g_free(). */
char *pmrun_output_expand(const char *pattern, const struct pmrun_output_origin *origin,
                          double seconds);

#endif
