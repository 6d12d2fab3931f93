/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE /* memrchr */
#include "lines.h"

#include <string.h>

void pmrun_lines_feed(struct pmrun_lines *lines, const char *bytes, gsize length,
                      void (*take)(void *owner, const char *bytes, gsize length), void *owner)
{
    const char *last = memrchr(bytes, '\n', length);
    gsize whole = last != NULL ? (gsize)(last + 1 - bytes) : 0;

    if (whole > 0 && lines->begun != NULL) {
        g_string_append_len(lines->begun, bytes, (gssize)whole);
        pmrun_lines_end(lines, take, owner);
    } else if (whole > 0) {
        take(owner, bytes, whole);
    }
    if (whole == length)
        return;
    if (lines->begun == NULL)
        lines->begun = g_string_new(NULL);
    g_string_append_len(lines->begun, bytes + whole, (gssize)(length - whole));
    if (lines->begun->len >= PMRUN_LINES_LONGEST)
        pmrun_lines_end(lines, take, owner);
}

void pmrun_lines_end(struct pmrun_lines *lines,
                     void (*take)(void *owner, const char *bytes, gsize length), void *owner)
{
    if (lines->begun == NULL)
        return;
    take(owner, lines->begun->str, lines->begun->len);
    g_string_free(lines->begun, TRUE);
    lines->begun = NULL;
}
