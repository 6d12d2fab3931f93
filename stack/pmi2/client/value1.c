/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Values on PMI-1 lines. Other servers end a value at a space or a newline. The library sends such
 * values as `%!` with percent escapes, which only it can read; other values are unchanged.
 */
#include <string.h>

#include "client.h"

static const char mark[] = "%!";

static bool plain(const char *value)
{
    return strpbrk(value, " \n") == NULL && strncmp(value, mark, 2) != 0;
}

void pmi2_value1_write(struct pmi2_buffer *line, const char *key, const char *value)
{
    static const char hex[] = "0123456789abcdef";
    char escaped[2 + 3 * PMI2_VALUE_MAX + 1], *to = escaped;

    if (plain(value) || strlen(value) > PMI2_VALUE_MAX) {
        pmi2_line_text(line, key, value);
        return;
    }
    memcpy(to, mark, 2);
    for (to += 2; *value != '\0'; value++) {
        unsigned char byte = (unsigned char)*value;

        if (byte <= ' ' || byte == '%') {
            *to++ = '%';
            *to++ = hex[byte >> 4];
            *to++ = hex[byte & 15];
        } else {
            *to++ = *value;
        }
    }
    pmi2_line_slice(line, key, (struct pmi2_slice){escaped, (size_t)(to - escaped)});
}

static int digit(char byte)
{
    return byte >= 'a' ? byte - 'a' + 10 : byte - '0';
}

struct pmi2_slice pmi2_value1_read(struct pmi2_slice value)
{
    char *at = (char *)value.at, *to = at; /* of the reply, which is ours */
    size_t i;

    if (value.length < 2 || memcmp(at, mark, 2) != 0)
        return value;
    for (i = 2; i < value.length; i++) {
        if (at[i] == '%' && i + 2 < value.length) {
            *to++ = (char)(digit(at[i + 1]) << 4 | digit(at[i + 2]));
            i += 2;
        } else {
            *to++ = at[i];
        }
    }
    *to = '\0';
    return (struct pmi2_slice){at, (size_t)(to - at)};
}
