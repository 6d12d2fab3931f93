/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texts that grow. The functions with …_and_free free their source. */
#ifndef JACQUARD_MADELEINE_TOOLBOX_TEXT_H
#define JACQUARD_MADELEINE_TOOLBOX_TEXT_H

#include "macros.h"

#ifdef __cplusplus
extern "C" {
#endif

struct s_tbx_string {
    size_t length, allocated_length;
    char *data; /* with a zero byte behind it */
};

#pragma GCC visibility push(default)

char *tbx_strdup(const char *text); /* for TBX_FREE */
tbx_bool_t tbx_streq(const char *first, const char *second);
long tbx_cstr_to_long(const char *text); /* a failure if it is no number */
unsigned long tbx_cstr_to_unsigned_long(const char *text);

p_tbx_string_t tbx_string_init(void);
p_tbx_string_t tbx_string_init_to_cstring(const char *text);
p_tbx_string_t tbx_string_init_to_cstring_and_free(char *text);
p_tbx_string_t tbx_string_init_to_char(int character);
p_tbx_string_t tbx_string_init_to_int(int value);
p_tbx_string_t tbx_string_init_to_uint(unsigned value);
p_tbx_string_t tbx_string_init_to_string(p_tbx_string_t source);
p_tbx_string_t tbx_string_init_to_string_and_free(p_tbx_string_t source);
p_tbx_string_t tbx_string_dup(p_tbx_string_t source);
void tbx_string_free(p_tbx_string_t string);
size_t tbx_string_length(p_tbx_string_t string);
void tbx_string_reset(p_tbx_string_t string);
char *tbx_string_to_cstring(p_tbx_string_t string); /* a copy, for TBX_FREE */
char *tbx_string_to_cstring_and_free(p_tbx_string_t string);

void tbx_string_set_to_cstring(p_tbx_string_t string, const char *text);
void tbx_string_set_to_cstring_and_free(p_tbx_string_t string, char *text);
void tbx_string_set_to_char(p_tbx_string_t string, int character);
void tbx_string_set_to_int(p_tbx_string_t string, int value);
void tbx_string_set_to_uint(p_tbx_string_t string, unsigned value);
void tbx_string_set_to_string(p_tbx_string_t string, p_tbx_string_t source);
void tbx_string_set_to_string_and_free(p_tbx_string_t string, p_tbx_string_t source);
void tbx_string_append_cstring(p_tbx_string_t string, const char *text);
void tbx_string_append_cstring_and_free(p_tbx_string_t string, char *text);
void tbx_string_append_char(p_tbx_string_t string, int character);
void tbx_string_append_int(p_tbx_string_t string, int value);
void tbx_string_append_uint(p_tbx_string_t string, unsigned value);
void tbx_string_append_string(p_tbx_string_t string, p_tbx_string_t source);
void tbx_string_append_string_and_free(p_tbx_string_t string, p_tbx_string_t source);
void tbx_string_reverse(p_tbx_string_t string);
p_tbx_string_t tbx_string_double_quote(p_tbx_string_t source); /* a new one */
p_tbx_string_t tbx_string_double_quote_and_free(p_tbx_string_t source);
p_tbx_string_t tbx_string_single_quote(p_tbx_string_t source);
/* A list of the parts between characters of `separators`; NULL: blanks, tabs and ends of lines. */
p_tbx_slist_t tbx_string_split(p_tbx_string_t source, const char *separators);
p_tbx_slist_t tbx_string_split_and_free(p_tbx_string_t source, const char *separators);
/* What follows the last slash: a new one. */
p_tbx_string_t tbx_string_extract_name_from_pathname(p_tbx_string_t path);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
