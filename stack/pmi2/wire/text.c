/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What keys, values, numbers and characters are. */
#include <string.h>
#include <strings.h>

#include "pmi2.h"
#include "wire_internal.h"

bool pmi2_slice_is(struct pmi2_slice slice, const char *text)
{
    size_t length = strlen(text);

    return slice.length == length && (length == 0 || memcmp(slice.at, text, length) == 0);
}

bool pmi2_slice_int(struct pmi2_slice slice, int64_t minimum, int64_t maximum, int64_t *value)
{
    uint64_t magnitude = 0, limit = INT64_MAX;
    bool negative = slice.length != 0 && slice.at[0] == '-';
    size_t i = negative || (slice.length != 0 && slice.at[0] == '+') ? 1 : 0;
    int64_t result;

    if (i == slice.length)
        return false;
    for (; i < slice.length; i++) {
        uint64_t digit = (uint64_t)(unsigned char)slice.at[i] - '0';

        if (digit > 9 || magnitude > (limit - digit) / 10)
            return false;
        magnitude = 10 * magnitude + digit;
    }
    result = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    if (result < minimum || result > maximum)
        return false;
    *value = result;
    return true;
}

bool pmi2_slice_bool(struct pmi2_slice slice, bool *value)
{
    if (slice.length == 4 && strncasecmp(slice.at, "true", 4) == 0)
        *value = true;
    else if (slice.length == 5 && strncasecmp(slice.at, "false", 5) == 0)
        *value = false;
    else
        return false;
    return true;
}

int pmi2_key_check(struct pmi2_slice key)
{
    size_t i;

    if (key.length > PMI2_KEY_MAX)
        return PMI2_ERR_INVALID_KEY_LENGTH;
    for (i = 0; i < key.length; i++) {
        unsigned char byte = (unsigned char)key.at[i];

        if (byte <= ' ' || byte == 0x7f || byte == '=' || byte == ';')
            return PMI2_ERR_INVALID_KEY;
    }
    return key.length != 0 ? PMI2_SUCCESS : PMI2_ERR_INVALID_KEY;
}

int pmi2_value_check(struct pmi2_slice value)
{
    if (value.length > PMI2_VALUE_MAX)
        return PMI2_ERR_INVALID_VAL_LENGTH;
    if (value.length != 0 && memchr(value.at, '\0', value.length) != NULL)
        return PMI2_ERR_INVALID_VAL;
    return PMI2_SUCCESS;
}

/* Bytes of the character at `at`; 0: that is none. Shortest forms only, no surrogates. */
static size_t character(const unsigned char *at, size_t left)
{
    size_t length, i;
    uint32_t code;

    if (at[0] < 0x80)
        return 1;
    if (at[0] >= 0xc2 && at[0] <= 0xdf)
        length = 2;
    else if ((at[0] & 0xf0) == 0xe0)
        length = 3;
    else if (at[0] >= 0xf0 && at[0] <= 0xf4)
        length = 4;
    else
        return 0;
    if (length > left)
        return 0;
    code = at[0] & (0x7fu >> length);
    for (i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    if ((length == 3 && (code < 0x800 || (code >= 0xd800 && code <= 0xdfff))) ||
        (length == 4 && (code < 0x10000 || code > 0x10ffff)))
        return 0;
    return length;
}

bool pmi2_utf8_valid(struct pmi2_slice text)
{
    const unsigned char *at = (const unsigned char *)text.at;
    size_t i = 0, length;

    while (i < text.length) {
        length = character(at + i, text.length - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

size_t pmi2_utf8_cut(struct pmi2_slice text, size_t limit)
{
    const unsigned char *at = (const unsigned char *)text.at;
    size_t back;

    if (text.length <= limit)
        return text.length;
    for (back = 1; back <= 3 && back <= limit; back++)
        if (character(at + limit - back, text.length - (limit - back)) > back)
            return limit - back;
    return limit;
}
