/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers and bytes as texts. */
#include "libcfs/libcfs_string.h"

/* ---- numbers --------------------------------------------------------------------------------- */

int libcfs_hex_to_bin(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

int libcfs_hex2bin(unsigned char *to, const char *text, size_t count)
{
    for (; count > 0; count--, text += 2) {
        int high = libcfs_hex_to_bin(text[0]), low = high < 0 ? -1 : libcfs_hex_to_bin(text[1]);

        if (low < 0)
            return -EINVAL;
        *to++ = (unsigned char)(high << 4 | low);
    }
    return 0;
}

int libcfs_kstrtoull(const char *text, unsigned base, unsigned long long most,
                     unsigned long long *value)
{
    unsigned long long number = 0;
    const char *begin;

    text += *text == '+';
    if (base == 0)
        base = text[0] != '0' ? 10 : text[1] == 'x' || text[1] == 'X' ? 16 : 8;
    if (base == 16 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    for (begin = text; *text != '\0' && *text != '\n'; text++) {
        int digit = libcfs_hex_to_bin(*text);

        if (digit < 0 || (unsigned)digit >= base)
            return -EINVAL;
        if (__builtin_mul_overflow(number, base, &number) ||
            __builtin_add_overflow(number, (unsigned)digit, &number))
            return -ERANGE;
    }
    if (text == begin || (*text == '\n' && text[1] != '\0'))
        return -EINVAL;
    if (number > most)
        return -ERANGE;
    *value = number;
    return 0;
}

int libcfs_kstrtoll(const char *text, unsigned base, long long least, long long most,
                    long long *value)
{
    bool negative = *text == '-';
    unsigned long long number;
    int rc;

    if (negative && text[1] == '+')
        return -EINVAL;
    rc = libcfs_kstrtoull(text + negative, base, ULLONG_MAX, &number);
    if (rc != 0)
        return rc;
    if (number > (negative ? 0ull - (unsigned long long)least : (unsigned long long)most))
        return -ERANGE;
    *value = (long long)(negative ? 0ull - number : number);
    return 0;
}

int libcfs_kstrtobool(const char *text, bool *value)
{
    if (text == NULL)
        return -EINVAL;
    if (strchr("yY1", text[0]) != NULL && text[0] != '\0')
        *value = true;
    else if (strchr("nN0", text[0]) != NULL && text[0] != '\0')
        *value = false;
    else if (text[0] != '\0' && strchr("oO", text[0]) != NULL && text[1] != '\0' &&
             strchr("nNfF", text[1]) != NULL)
        *value = strchr("nN", text[1]) != NULL;
    else
        return -EINVAL;
    return 0;
}

/* ---- formats --------------------------------------------------------------------------------- */

char *libcfs_kvasprintf(const char *format, va_list arguments)
{
    int length = libcfs_vsnprintf(NULL, 0, format, arguments);
    char *text = (char *)malloc((size_t)length + 1);

    if (text != NULL)
        (void)libcfs_vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

char *libcfs_kasprintf(const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = libcfs_kvasprintf(format, arguments);
    va_end(arguments);
    return text;
}

int libcfs_vscnprintf(char *text, size_t size, const char *format, va_list arguments)
{
    int length = libcfs_vsnprintf(text, size, format, arguments);

    if (size == 0)
        return 0;
    return (size_t)length < size ? length : (int)size - 1;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

void libcfs_hex_dump_to_buffer(const void *bytes, size_t count, int row, int group, char *text,
                               size_t size, bool ascii)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t wide = row == 32 ? 32 : 16, used = 0, i, j;
    size_t each = group == 2 || group == 4 || group == 8 ? (size_t)group : 1;

    if (count > wide)
        count = wide;
    if (count % each != 0)
        each = 1;
    if (size > 0)
        text[0] = '\0';
    for (i = 0; i < count && used < size; i += each) {
        used += (size_t)snprintf(text + used, size - used, "%s", i > 0 ? " " : "");
        for (j = each; j > 0 && used < size; j--) /* words are of this machine's order */
            used += (size_t)snprintf(text + used, size - used, "%02x", at[i + j - 1]);
    }
    if (!ascii || used >= size)
        return;
    i = wide * 2 + wide / each + 1; /* the column of the characters */
    used += (size_t)snprintf(text + used, size - used, "%*s", (int)(i > used ? i - used : 0), "");
    for (i = 0; i < count && used + 1 < size; i++)
        text[used++] = isascii(at[i]) && isprint(at[i]) ? (char)at[i] : '.';
    if (used < size)
        text[used] = '\0';
}

void libcfs_print_hex_dump(const char *level, const char *prefix, int prefix_type, int row,
                           int group, const void *bytes, size_t count, bool ascii)
{
    size_t wide = row == 32 ? 32 : 16, at;
    char text[32 * 3 + 2 + 32 + 1];

    for (at = 0; at < count; at += wide) {
        const char *line = (const char *)bytes + at;

        libcfs_hex_dump_to_buffer(line, count - at, (int)wide, group, text, sizeof(text), ascii);
        if (prefix_type == DUMP_PREFIX_ADDRESS)
            (void)libcfs_printk_text("%s%s%p: %s\n", level, prefix, (const void *)line, text);
        else if (prefix_type == DUMP_PREFIX_OFFSET)
            (void)libcfs_printk_text("%s%s%.8zx: %s\n", level, prefix, at, text);
        else
            (void)libcfs_printk_text("%s%s%s\n", level, prefix, text);
    }
}
