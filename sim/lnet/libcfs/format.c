/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * vsnprintf() with the kernel's formats of pointers. Each conversion is given to the C library by
 * itself, with its argument; those that begin with %p and have letters behind are written here.
 */
#define _GNU_SOURCE
#include "internal.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

struct output {
    char *text;
    size_t size;
    size_t length; /* also what has no room */
};

static void put(struct output *out, const char *text, size_t length)
{
    if (out->length < out->size) {
        size_t room = out->size - out->length;

        memcpy(out->text + out->length, text, length < room ? length : room);
    }
    out->length += length;
}

static void put_format(struct output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put_format(struct output *out, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    put(out, text, length < (int)sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

/* ---- pointers -------------------------------------------------------------------------------- */

static void put_ipv4(struct output *out, const unsigned char *bytes, bool zeros, bool reversed)
{
    const char *format = zeros ? "%03u.%03u.%03u.%03u" : "%u.%u.%u.%u";
    char text[16];

    if (reversed)
        snprintf(text, sizeof(text), format, bytes[3], bytes[2], bytes[1], bytes[0]);
    else
        snprintf(text, sizeof(text), format, bytes[0], bytes[1], bytes[2], bytes[3]);
    put(out, text, strlen(text));
}

/* The longest run of zeros is left out, as "::", if `compressed`. */
static void put_ipv6(struct output *out, const unsigned char *bytes, bool colons, bool compressed)
{
    unsigned word[8], i, j, begin = 8, longest = 1;

    for (i = 0; i < 8; i++)
        word[i] = (unsigned)bytes[2 * i] << 8 | bytes[2 * i + 1];
    for (i = 0; compressed && i < 8; i++) {
        for (j = i; j < 8 && word[j] == 0; j++)
            continue;
        if (j - i > longest) {
            begin = i;
            longest = j - i;
        }
    }
    for (i = 0; i < 8; i++) {
        if (i == begin) {
            put(out, "::", 2);
            i += longest - 1;
            continue;
        }
        if (colons && i > 0 && i != begin + longest)
            put(out, ":", 1);
        put_format(out, compressed ? "%x" : "%04x", word[i]);
    }
}

/* %pIS: an address of a socket; its letters are p (port), f (flow), s (scope), c (compressed). */
static void put_socket(struct output *out, const struct sockaddr *address, const char *letters,
                       size_t count)
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;
    bool port = memchr(letters, 'p', count) != NULL;

    if (address->sa_family == AF_INET) {
        put_ipv4(out, (const unsigned char *)&v4->sin_addr, false, false);
        if (port)
            put_format(out, ":%u", ntohs(v4->sin_port));
    } else if (address->sa_family == AF_INET6) {
        put(out, "[", port);
        put_ipv6(out, v6->sin6_addr.s6_addr, true, memchr(letters, 'c', count) != NULL);
        put(out, "]", port);
        if (port)
            put_format(out, ":%u", ntohs(v6->sin6_port));
    }
}

/* %pI4, %pi4, %pI6, %pIS and so on. How many letters belong to it. */
static size_t put_internet(struct output *out, const char *letters, const void *pointer)
{
    size_t more = strspn(letters + 2, letters[1] == 'S'   ? "pfsc"
                                      : letters[1] == '4' ? "hnbl"
                                                          : "c");

    if (letters[1] == '4')
        put_ipv4(out, pointer, letters[0] == 'i', more > 0 && strchr("hl", letters[2]) != NULL);
    else if (letters[1] == '6')
        put_ipv6(out, pointer, letters[0] == 'I', more > 0);
    else if (letters[1] == 'S')
        put_socket(out, pointer, letters + 2, more);
    else {
        put_format(out, "%p", pointer);
        return 0;
    }
    return 2 + more;
}

/* %pU: b (the default) and l: the order of the bytes; B and L: upper case. */
static size_t put_uuid(struct output *out, const char *letters, const unsigned char *bytes)
{
    static const unsigned char big[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static const unsigned char little[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    char kind = letters[1] != '\0' && strchr("bBlL", letters[1]) != NULL ? letters[1] : '\0';
    const unsigned char *order = kind == 'l' || kind == 'L' ? little : big;
    unsigned i;

    for (i = 0; i < 16; i++) {
        put_format(out, kind == 'B' || kind == 'L' ? "%02X" : "%02x", bytes[order[i]]);
        if (i == 3 || i == 5 || i == 7 || i == 9)
            put(out, "-", 1);
    }
    return kind != '\0' ? 2 : 1;
}

/* %ph, %phC, %phD, %phN and %pM: bytes. */
static size_t put_bytes(struct output *out, const char *letters, const unsigned char *bytes,
                        int count)
{
    bool mac = letters[0] == 'M' || letters[0] == 'm';
    char between = mac ? ':' : ' ';
    size_t used = 1;
    int i;

    if (mac)
        count = 6;
    else if (count <= 0)
        count = 1;
    if (letters[0] == 'm')
        between = '\0';
    else if (letters[1] != '\0' && strchr(mac ? "FR" : "CDN", letters[1]) != NULL) {
        between = letters[1] == 'C' ? ':' : letters[1] == 'N' ? '\0' : mac ? ':' : '-';
        used = 2;
    }
    if (mac && used == 2 && letters[1] == 'F')
        between = '-';
    for (i = 0; i < count && i < 64; i++) {
        bool reversed = mac && used == 2 && letters[1] == 'R';

        put_format(out, "%02x", bytes[reversed ? count - 1 - i : i]);
        if (between != '\0' && i + 1 < count)
            put(out, &between, 1);
    }
    return used;
}

static size_t put_symbol(struct output *out, const char *letters, const void *pointer)
{
    Dl_info info;

    if (pointer != NULL && dladdr(pointer, &info) != 0 && info.dli_sname != NULL) {
        put(out, info.dli_sname, strlen(info.dli_sname));
        if (letters[0] == 'S' || letters[0] == 'B')
            put_format(out, "+0x%lx",
                       (unsigned long)((uintptr_t)pointer - (uintptr_t)info.dli_saddr));
    } else
        put_format(out, "%p", pointer);
    return letters[0] == 'S' && letters[1] == 'R' ? 2 : 1;
}

static size_t put_va(struct output *out, const struct va_format *format)
{
    size_t room = out->length < out->size ? out->size - out->length : 0;
    va_list copy;

    va_copy(copy, *format->va);
    out->length += (size_t)libcfs_vsnprintf(room > 0 ? out->text + out->length : NULL, room,
                                            format->fmt, copy);
    va_end(copy);
    return 1;
}

/* How many letters behind %p belong to the conversion; 0: it is an ordinary pointer. */
static size_t put_pointer(struct output *out, const char *letters, const void *pointer, int width)
{
    if (letters[0] == '\0' || strchr("IiUhMmfFsSBVK", letters[0]) == NULL)
        return 0;
    if (letters[0] == 'K') {
        put_format(out, "%p", pointer);
        return 1;
    }
    if (strchr("fFsSB", letters[0]) != NULL)
        return put_symbol(out, letters, pointer);
    if (pointer == NULL) {
        put(out, "(null)", 6);
        return 1 + (size_t)(letters[0] == 'I' || letters[0] == 'i');
    }
    switch (letters[0]) {
    case 'I':
    case 'i':
        return put_internet(out, letters, pointer);
    case 'U':
        return put_uuid(out, letters, pointer);
    case 'V':
        return put_va(out, pointer);
    default:
        return put_bytes(out, letters, pointer, width);
    }
}

/* ---- conversions ----------------------------------------------------------------------------- */

#define WIDTH_MAX ((1 << 23) - 1) /* as in the kernel, which clamps what is beyond */
#define PRECISION_MAX ((1 << 15) - 1)
#define FLAGS_MAX 8

/* One conversion as the C library has it. */
struct conversion {
    char text[48]; /* "%-8.3llx" */
    int width; /* -1: none was given */
    char kind;
    unsigned longs; /* 2: long long, size_t and the like */
};

/* A number in a format, or the argument of '*'. */
static const char *parse_number(const char *at, va_list *arguments, int *number)
{
    int digit;

    if (*at == '*') {
        *number = va_arg(*arguments, int);
        return at + 1;
    }
    for (*number = 0; isdigit((unsigned char)*at); at++) {
        digit = *at - '0';
        *number = *number > WIDTH_MAX ? *number : 10 * *number + digit;
    }
    return at;
}

static int clamp_to(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

static const char *parse(struct conversion *conversion, const char *at, va_list *arguments)
{
    char flags[FLAGS_MAX + 2] = "", width[16] = "", precision[16] = "", size[4] = "";
    size_t flag_count = 0, size_count = 0;
    int number;

    *conversion = (struct conversion){.width = -1};
    for (at++; *at != '\0' && strchr("-+ #0", *at) != NULL; at++) {
        if (flag_count < FLAGS_MAX)
            flags[flag_count++] = *at;
    }
    if (*at == '*' || isdigit((unsigned char)*at)) {
        at = parse_number(at, arguments, &number);
        number = clamp_to(number, -WIDTH_MAX, WIDTH_MAX);
        if (number < 0)
            flags[flag_count++] = '-';
        conversion->width = number < 0 ? -number : number;
        snprintf(width, sizeof(width), "%d", conversion->width);
    }
    if (*at == '.') {
        at = parse_number(at + 1, arguments, &number);
        snprintf(precision, sizeof(precision), ".%d", clamp_to(number, 0, PRECISION_MAX));
    }
    for (; *at != '\0' && strchr("lhjztqL", *at) != NULL; at++) {
        conversion->longs += *at == 'l';
        if (strchr("jztqL", *at) != NULL)
            conversion->longs = 2;
        if (size_count < sizeof(size) - 1)
            size[size_count++] = *at;
    }
    conversion->kind = *at;
    snprintf(conversion->text, sizeof(conversion->text), "%%%s%s%s%s%.1s", flags, width, precision,
             size, at);
    return *at != '\0' ? at + 1 : at;
}

/* The format of one conversion is made from that of the caller. What has no room is counted. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#define PRINT(value) snprintf(to, room, conversion->text, value)

static void put_conversion(struct output *out, const struct conversion *conversion,
                           va_list *arguments)
{
    size_t room = out->length < out->size ? out->size - out->length : 0;
    char *to = room > 0 ? out->text + out->length : NULL;
    int length;

    if (strchr("diouxXc", conversion->kind) != NULL)
        length = conversion->longs == 0   ? PRINT(va_arg(*arguments, int))
                 : conversion->longs == 1 ? PRINT(va_arg(*arguments, long))
                                          : PRINT(va_arg(*arguments, long long));
    else if (conversion->kind == 's') {
        const char *value = va_arg(*arguments, const char *);

        length = PRINT(value != NULL ? value : "(null)");
    } else if (conversion->kind == 'p')
        length = PRINT(va_arg(*arguments, const void *));
    else if (strchr("eEfFgGaA", conversion->kind) != NULL)
        length = PRINT(va_arg(*arguments, double));
    else { /* %% and what nobody knows */
        bool percent = conversion->kind == '%';

        put(out, percent ? "%" : conversion->text, percent ? 1 : strlen(conversion->text));
        return;
    }
    out->length += length > 0 ? (size_t)length : 0;
}

/* Letters behind %p make it a conversion of the kernel. */
static const char *put_p(struct output *out, const struct conversion *conversion,
                         const char *letters, va_list *arguments)
{
    va_list again;
    const void *pointer;
    size_t used;

    va_copy(again, *arguments);
    pointer = va_arg(again, const void *);
    va_end(again);
    used = put_pointer(out, letters, pointer, conversion->width);
    if (used == 0) {
        put_conversion(out, conversion, arguments);
        return letters;
    }
    (void)va_arg(*arguments, const void *);
    return letters + used;
}

int libcfs_vsnprintf(char *text, size_t size, const char *format, va_list arguments)
{
    struct output out = {.text = text, .size = size};
    struct conversion conversion;
    va_list left;

    va_copy(left, arguments);
    while (*format != '\0') {
        size_t plain = strcspn(format, "%");

        put(&out, format, plain);
        format += plain;
        if (*format == '\0')
            break;
        format = parse(&conversion, format, &left);
        if (conversion.kind == 'p')
            format = put_p(&out, &conversion, format, &left);
        else
            put_conversion(&out, &conversion, &left);
    }
    va_end(left);
    if (size > 0)
        text[out.length < size ? out.length : size - 1] = '\0';
    return out.length < INT_MAX ? (int)out.length : INT_MAX;
}
