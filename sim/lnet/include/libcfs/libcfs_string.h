/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texts: what linux/string.h and linux/kernel.h have, and libcfs's expressions of numbers. */
#ifndef JACQUARD_LIBCFS_STRING_H
#define JACQUARD_LIBCFS_STRING_H

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcfs/libcfs_debug.h"

/* ---- linux/string.h -------------------------------------------------------------------------- */

/* They return how long the text wants to be. */
static inline size_t libcfs_strlcpy(char *to, const char *from, size_t size)
{
    size_t length = strlen(from), copied = length < size ? length : size - 1;

    if (size > 0) {
        memcpy(to, from, copied);
        to[copied] = '\0';
    }
    return length;
}
static inline size_t libcfs_strlcat(char *to, const char *from, size_t size)
{
    size_t length = strlen(to);

    return length + libcfs_strlcpy(to + length, from, size - length);
}
#ifndef strlcpy
#define strlcpy(to, from, size) libcfs_strlcpy(to, from, size)
#define strlcat(to, from, size) libcfs_strlcat(to, from, size)
#endif
static inline char *skip_spaces(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return (char *)text;
}
/* Cuts the blanks at the end off; the first character that is no blank. */
static inline char *strim(char *text)
{
    size_t length = strlen(text);

    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    text[length] = '\0';
    return skip_spaces(text);
}
#define strstrip(text) strim(text)
static inline char *strnchr(const char *text, size_t count, int character)
{
    for (; count-- > 0; text++) {
        if (*text == (char)character)
            return (char *)text;
        if (*text == '\0')
            break;
    }
    return NULL;
}
static inline void *libcfs_memdup_text(const void *from, size_t bytes)
{
    char *copy = (char *)malloc(bytes + 1);

    if (copy != NULL) {
        memcpy(copy, from, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}
#define kmemdup_nul(from, bytes, flags) ((char *)((void)(flags), libcfs_memdup_text(from, bytes)))
/* An error is in the pointer. */
static inline void *memdup_user_nul(const void *from, size_t bytes)
{
    void *copy = libcfs_memdup_text(from, bytes);

    return copy != NULL
               ? copy
               : (void *)-(long)ENOMEM; /* NOLINT(performance-no-int-to-ptr): an error number */
}
#define memdup_user(from, bytes) memdup_user_nul(from, bytes)

/* ---- numbers and texts of linux/kernel.h ----------------------------------------------------- */

/* They read as far as there is a number. */
#define simple_strtoul(text, end, base) strtoul(text, end, (int)(base))
#define simple_strtol(text, end, base) strtol(text, end, (int)(base))
#define simple_strtoull(text, end, base) strtoull(text, end, (int)(base))
#define simple_strtoll(text, end, base) strtoll(text, end, (int)(base))
#pragma GCC visibility push(default)
/* The whole text is the number, a newline at its end may follow. 0, -EINVAL or -ERANGE. */
int libcfs_kstrtoull(const char *text, unsigned base, unsigned long long most,
                     unsigned long long *value);
int libcfs_kstrtoll(const char *text, unsigned base, long long least, long long most,
                    long long *value);
int libcfs_kstrtobool(const char *text, bool *value);
char *libcfs_kvasprintf(const char *format, va_list arguments);
char *libcfs_kasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int libcfs_vscnprintf(char *text, size_t size, const char *format, va_list arguments);
int libcfs_hex_to_bin(char digit); /* -1: it is none */
int libcfs_hex2bin(unsigned char *to, const char *text, size_t count);
void libcfs_hex_dump_to_buffer(const void *bytes, size_t count, int row, int group, char *text,
                               size_t size, bool ascii);
void libcfs_print_hex_dump(const char *level, const char *prefix, int prefix_type, int row,
                           int group, const void *bytes, size_t count, bool ascii);
#pragma GCC visibility pop
#define kstrtobool(text, value) libcfs_kstrtobool(text, value)
#define vscnprintf(text, size, format, arguments) libcfs_vscnprintf(text, size, format, arguments)
#define hex_to_bin(digit) libcfs_hex_to_bin(digit)
#define hex2bin(to, text, count) libcfs_hex2bin(to, text, count)
#define hex_dump_to_buffer(bytes, count, row, group, text, size, ascii) \
    libcfs_hex_dump_to_buffer(bytes, count, row, group, text, size, ascii)
#define print_hex_dump(level, prefix, prefix_type, row, group, bytes, count, ascii) \
    libcfs_print_hex_dump(level, prefix, prefix_type, row, group, bytes, count, ascii)
#define LIBCFS_KSTRTO_U(name, type, most)                                \
    static inline int name(const char *text, unsigned base, type *value) \
    {                                                                    \
        unsigned long long wide__;                                       \
        int rc__ = libcfs_kstrtoull(text, base, most, &wide__);          \
                                                                         \
        if (rc__ == 0)                                                   \
            *value = (type)wide__;                                       \
        return rc__;                                                     \
    }                                                                    \
    struct va_format
#define LIBCFS_KSTRTO_S(name, type, least, most)                         \
    static inline int name(const char *text, unsigned base, type *value) \
    {                                                                    \
        long long wide__;                                                \
        int rc__ = libcfs_kstrtoll(text, base, least, most, &wide__);    \
                                                                         \
        if (rc__ == 0)                                                   \
            *value = (type)wide__;                                       \
        return rc__;                                                     \
    }                                                                    \
    struct va_format
LIBCFS_KSTRTO_U(kstrtoull, unsigned long long, ULLONG_MAX);
LIBCFS_KSTRTO_U(kstrtoul, unsigned long, ULONG_MAX);
LIBCFS_KSTRTO_U(kstrtouint, unsigned, UINT_MAX);
LIBCFS_KSTRTO_U(kstrtou64, __u64, ULLONG_MAX);
LIBCFS_KSTRTO_U(kstrtou32, __u32, UINT_MAX);
LIBCFS_KSTRTO_U(kstrtou16, __u16, USHRT_MAX);
LIBCFS_KSTRTO_U(kstrtou8, __u8, UCHAR_MAX);
LIBCFS_KSTRTO_S(kstrtoll, long long, LLONG_MIN, LLONG_MAX);
LIBCFS_KSTRTO_S(kstrtol, long, LONG_MIN, LONG_MAX);
LIBCFS_KSTRTO_S(kstrtoint, int, INT_MIN, INT_MAX);
LIBCFS_KSTRTO_S(kstrtos64, __s64, LLONG_MIN, LLONG_MAX);
LIBCFS_KSTRTO_S(kstrtos32, __s32, INT_MIN, INT_MAX);
LIBCFS_KSTRTO_S(kstrtos16, __s16, SHRT_MIN, SHRT_MAX);
LIBCFS_KSTRTO_S(kstrtos8, __s8, SCHAR_MIN, SCHAR_MAX);
#define kvasprintf(flags, format, arguments) ((void)(flags), libcfs_kvasprintf(format, arguments))
#define kasprintf(flags, ...) ((void)(flags), libcfs_kasprintf(__VA_ARGS__))
enum { DUMP_PREFIX_NONE, DUMP_PREFIX_ADDRESS, DUMP_PREFIX_OFFSET };
#define print_hex_dump_bytes(prefix, prefix_type, bytes, count) \
    print_hex_dump("", prefix, prefix_type, 16, 1, bytes, count, true)

#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

/* ---- libcfs's expressions: "*", "7", "[1-9/2,12]" -------------------------------------------- */

struct cfs_lstr { /* a piece of a text */
    char *ls_str;
    int ls_len;
};
struct cfs_range_expr {
    struct list_head re_link;
    __u32 re_lo, re_hi, re_stride;
};
struct cfs_expr_list {
    struct list_head el_link;
    struct list_head el_exprs; /* of struct cfs_range_expr */
};

#pragma GCC visibility push(default)
char *cfs_trimwhite(char *text);
/* The first word of the text. */
char *cfs_firststr(char *text, size_t size);
/* The piece up to `delimiter`, without blanks around; *next is what follows. 0: there is none. */
int cfs_gettok(struct cfs_lstr *next, char delimiter, struct cfs_lstr *piece);
/* 1: the first so many characters are a number in these bounds. */
int cfs_str2num_check(char *text, int count, unsigned *number, unsigned least, unsigned most);
/* 0, -EINVAL or -ENOMEM. */
int cfs_expr_list_parse(char *text, int length, unsigned least, unsigned most,
                        struct cfs_expr_list **list);
void cfs_expr_list_free(struct cfs_expr_list *list);
void cfs_expr_list_free_list(struct list_head *lists);
int cfs_expr_list_match(__u32 value, struct cfs_expr_list *list);
int cfs_expr_list_print(char *text, int size, struct cfs_expr_list *list); /* its length */
/* How many numbers match, in *values in the order of the expression; more than `most`, or none:
 * -EINVAL. */
int cfs_expr_list_values(struct cfs_expr_list *list, int most, __u32 **values);
int cfs_ip_addr_print(char *text, int size, struct list_head *lists);
#pragma GCC visibility pop
static inline void cfs_expr_list_values_free(__u32 *values, int count)
{
    (void)count;
    free(values);
}

#endif
