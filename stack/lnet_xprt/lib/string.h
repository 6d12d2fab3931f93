/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Text. */
#ifndef M0_LIB_STRING_H
#define M0_LIB_STRING_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/types.h"

static inline bool m0_streq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}
static inline bool m0_strcaseeq(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}
/* A copy that m0_free() frees; NULL: no memory. */
char *m0_strdup(const char *text);
/* An array of texts that NULL ends, and its copy; m0_strings_free() frees the texts and the array.
 * NULL: no memory. */
const char **m0_strings_dup(const char **texts);
void m0_strings_free(const char **texts); /* NULL: no effect */
/* As asprintf(3), but m0_free() frees the text; *text is NULL if there is no memory. */
void m0_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
