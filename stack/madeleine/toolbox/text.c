/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texts that grow. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "madeleine/toolbox.h"
#include "toolbox/toolbox.h"

enum { ROOM_MIN = 32, NUMBER_MAX = 24 };

char *tbx_strdup(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(tbx_need(size, 1), text, size);
}

tbx_bool_t tbx_streq(const char *first, const char *second)
{
    return strcmp(first, second) == 0 ? tbx_true : tbx_false;
}

/* Whether a conversion has used the whole text and its value was in range. */
static bool is_number(const char *text, const char *end)
{
    if (end != text && *end == '\0' && errno == 0)
        return true;
    FAILUREF("not a number: %s", text);
    return false;
}

long tbx_cstr_to_long(const char *text)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 0);
    return is_number(text, end) ? value : 0;
}

unsigned long tbx_cstr_to_unsigned_long(const char *text)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 0);
    return is_number(text, end) ? value : 0;
}

static void append(p_tbx_string_t string, const char *bytes, size_t length)
{
    size_t room = string->allocated_length;

    while (room <= string->length + length)
        room = room > 0 ? 2 * room : ROOM_MIN;
    if (room != string->allocated_length)
        string->data = tbx_grow(string->data, room, 1);
    string->allocated_length = room;
    memmove(string->data + string->length, bytes, length);
    string->length += length;
    string->data[string->length] = '\0';
}

p_tbx_string_t tbx_string_init(void)
{
    p_tbx_string_t string = tbx_need(1, sizeof(*string));

    append(string, "", 0);
    return string;
}

void tbx_string_free(p_tbx_string_t string)
{
    if (string == NULL)
        return;
    free(string->data);
    free(string);
}

size_t tbx_string_length(p_tbx_string_t string)
{
    return string->length;
}

void tbx_string_reset(p_tbx_string_t string)
{
    string->length = 0;
    string->data[0] = '\0';
}

char *tbx_string_to_cstring(p_tbx_string_t string)
{
    return tbx_strdup(string->data);
}

char *tbx_string_to_cstring_and_free(p_tbx_string_t string)
{
    char *text = tbx_string_to_cstring(string);

    tbx_string_free(string);
    return text;
}

/* ---- appending ------------------------------------------------------------------------------- */

void tbx_string_append_cstring(p_tbx_string_t string, const char *text)
{
    append(string, text, strlen(text));
}

void tbx_string_append_cstring_and_free(p_tbx_string_t string, char *text)
{
    tbx_string_append_cstring(string, text);
    free(text);
}

void tbx_string_append_char(p_tbx_string_t string, int character)
{
    char byte = (char)character;

    append(string, &byte, 1);
}

void tbx_string_append_int(p_tbx_string_t string, int value)
{
    char digits[NUMBER_MAX];

    append(string, digits, (size_t)snprintf(digits, sizeof(digits), "%d", value));
}

void tbx_string_append_uint(p_tbx_string_t string, unsigned value)
{
    char digits[NUMBER_MAX];

    append(string, digits, (size_t)snprintf(digits, sizeof(digits), "%u", value));
}

void tbx_string_append_string(p_tbx_string_t string, p_tbx_string_t source)
{
    char *copy = tbx_string_to_cstring(source); /* they may be the same */

    append(string, copy, source->length);
    free(copy);
}

void tbx_string_append_string_and_free(p_tbx_string_t string, p_tbx_string_t source)
{
    tbx_string_append_string(string, source);
    tbx_string_free(source);
}

/* ---- setting --------------------------------------------------------------------------------- */

void tbx_string_set_to_cstring(p_tbx_string_t string, const char *text)
{
    tbx_string_reset(string);
    tbx_string_append_cstring(string, text);
}

void tbx_string_set_to_cstring_and_free(p_tbx_string_t string, char *text)
{
    tbx_string_set_to_cstring(string, text);
    free(text);
}

void tbx_string_set_to_char(p_tbx_string_t string, int character)
{
    tbx_string_reset(string);
    tbx_string_append_char(string, character);
}

void tbx_string_set_to_int(p_tbx_string_t string, int value)
{
    tbx_string_reset(string);
    tbx_string_append_int(string, value);
}

void tbx_string_set_to_uint(p_tbx_string_t string, unsigned value)
{
    tbx_string_reset(string);
    tbx_string_append_uint(string, value);
}

void tbx_string_set_to_string(p_tbx_string_t string, p_tbx_string_t source)
{
    if (string == source)
        return;
    tbx_string_reset(string);
    tbx_string_append_string(string, source);
}

void tbx_string_set_to_string_and_free(p_tbx_string_t string, p_tbx_string_t source)
{
    tbx_string_set_to_string(string, source);
    tbx_string_free(source);
}

/* ---- new ones -------------------------------------------------------------------------------- */

p_tbx_string_t tbx_string_init_to_cstring(const char *text)
{
    p_tbx_string_t string = tbx_string_init();

    tbx_string_append_cstring(string, text);
    return string;
}

p_tbx_string_t tbx_string_init_to_cstring_and_free(char *text)
{
    p_tbx_string_t string = tbx_string_init_to_cstring(text);

    free(text);
    return string;
}

p_tbx_string_t tbx_string_init_to_char(int character)
{
    p_tbx_string_t string = tbx_string_init();

    tbx_string_append_char(string, character);
    return string;
}

p_tbx_string_t tbx_string_init_to_int(int value)
{
    p_tbx_string_t string = tbx_string_init();

    tbx_string_append_int(string, value);
    return string;
}

p_tbx_string_t tbx_string_init_to_uint(unsigned value)
{
    p_tbx_string_t string = tbx_string_init();

    tbx_string_append_uint(string, value);
    return string;
}

p_tbx_string_t tbx_string_dup(p_tbx_string_t source)
{
    p_tbx_string_t string = tbx_string_init();

    append(string, source->data, source->length);
    return string;
}

p_tbx_string_t tbx_string_init_to_string(p_tbx_string_t source)
{
    return tbx_string_dup(source);
}

p_tbx_string_t tbx_string_init_to_string_and_free(p_tbx_string_t source)
{
    p_tbx_string_t string = tbx_string_dup(source);

    tbx_string_free(source);
    return string;
}

void tbx_string_reverse(p_tbx_string_t string)
{
    for (size_t i = 0; i < string->length / 2; i++) {
        char byte = string->data[i];

        string->data[i] = string->data[string->length - 1 - i];
        string->data[string->length - 1 - i] = byte;
    }
}

static p_tbx_string_t quoted(p_tbx_string_t source, int quote)
{
    p_tbx_string_t string = tbx_string_init_to_char(quote);

    append(string, source->data, source->length);
    tbx_string_append_char(string, quote);
    return string;
}

p_tbx_string_t tbx_string_double_quote(p_tbx_string_t source)
{
    return quoted(source, '"');
}

p_tbx_string_t tbx_string_double_quote_and_free(p_tbx_string_t source)
{
    p_tbx_string_t string = quoted(source, '"');

    tbx_string_free(source);
    return string;
}

p_tbx_string_t tbx_string_single_quote(p_tbx_string_t source)
{
    return quoted(source, '\'');
}

p_tbx_slist_t tbx_string_split(p_tbx_string_t source, const char *separators)
{
    const char *set = separators != NULL ? separators : " \t\n", *at = source->data;
    p_tbx_slist_t list = tbx_slist_nil();

    for (at += strspn(at, set); *at != '\0'; at += strspn(at, set)) {
        p_tbx_string_t part = tbx_string_init();
        size_t length = strcspn(at, set);

        append(part, at, length);
        tbx_slist_append(list, part);
        at += length;
    }
    return list;
}

p_tbx_slist_t tbx_string_split_and_free(p_tbx_string_t source, const char *separators)
{
    p_tbx_slist_t list = tbx_string_split(source, separators);

    tbx_string_free(source);
    return list;
}

p_tbx_string_t tbx_string_extract_name_from_pathname(p_tbx_string_t path)
{
    const char *slash = strrchr(path->data, '/');

    return tbx_string_init_to_cstring(slash != NULL ? slash + 1 : path->data);
}
