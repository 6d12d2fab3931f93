/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies of texts. */
#include <stdarg.h>

#include "lib/string.h"
#include "lib/memory.h"

char *m0_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = m0_alloc(bytes);

    return copy == NULL ? NULL : memcpy(copy, text, bytes);
}

const char **m0_strings_dup(const char **texts)
{
    const char **copies;
    size_t count = 0, i;

    while (texts[count] != NULL)
        count++;
    if (M0_ALLOC_ARR(copies, count + 1) == NULL)
        return NULL;
    for (i = 0; i < count; i++) {
        copies[i] = m0_strdup(texts[i]);
        if (copies[i] == NULL) {
            m0_strings_free(copies);
            return NULL;
        }
    }
    return copies;
}

void m0_strings_free(const char **texts)
{
    size_t i;

    if (texts == NULL)
        return;
    for (i = 0; texts[i] != NULL; i++)
        m0_free((char *)texts[i]);
    m0_free(texts);
}

void m0_asprintf(char **text, const char *format, ...)
{
    va_list arguments, again;
    int length;

    va_start(arguments, format);
    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, arguments);
    *text = length < 0 ? NULL : m0_alloc((size_t)length + 1);
    if (*text != NULL)
        vsnprintf(*text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
}
