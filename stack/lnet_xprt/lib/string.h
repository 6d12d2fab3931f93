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

#endif
