/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * vsnprintf() with the kernel's formats of pointers. Each conversion is given to the C library by
 * itself, with its argument; those that begin with %p and have letters behind are written here.
 */
#define _GNU_SOURCE
#include "internal.h"

#include <ctype.h>
#include <dlfcn.h>
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
    char text[1024];
    va_list copy;
    int length;

    va_copy(copy, *format->va);
    length = libcfs_vsnprintf(text, sizeof(text), format->fmt, copy);
    va_end(copy);
    put(out, text, length < (int)sizeof(text) ? (size_t)length : sizeof(text) - 1);
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

/* One conversion as the C library has it, with its argument. */
struct conversion {
    char text[48]; /* "%-8.3llx" */
    int stars, star[2]; /* the arguments of '*' */
    int width;
    char kind;
    unsigned longs; /* 2: long long, size_t and the like */
};

static const char *parse(struct conversion *conversion, const char *at, va_list *arguments)
{
    size_t used = 0;

    *conversion = (struct conversion){.width = -1};
    conversion->text[used++] = *at++;
    while (*at != '\0' && strchr("-+ #0123456789.*lhjztqL", *at) != NULL && used < 40) {
        if (*at == '*' && conversion->stars < 2) {
            int value = va_arg(*arguments, int);

            conversion->star[conversion->stars++] = value;
            if (conversion->width < 0)
                conversion->width = value;
        } else if (isdigit((unsigned char)*at) && conversion->width < 0 && *at != '0')
            conversion->width = (int)strtol(at, NULL, 10);
        conversion->longs += *at == 'l';
        if (strchr("jztqL", *at) != NULL)
            conversion->longs = 2;
        conversion->text[used++] = *at++;
    }
    conversion->kind = *at;
    conversion->text[used++] = *at;
    conversion->text[used] = '\0';
    return *at != '\0' ? at + 1 : at;
}

/* The format of one conversion is made from that of the caller. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#define PRINT(value)                                                                  \
    (conversion->stars == 0 ? snprintf(text, sizeof(text), conversion->text, value)   \
     : conversion->stars == 1                                                         \
         ? snprintf(text, sizeof(text), conversion->text, conversion->star[0], value) \
         : snprintf(text, sizeof(text), conversion->text, conversion->star[0],        \
                    conversion->star[1], value))

static void put_conversion(struct output *out, const struct conversion *conversion,
                           va_list *arguments)
{
    char text[MESSAGE_MAX];
    int length;

    if (strchr("diouxXc", conversion->kind) != NULL)
        length = conversion->longs == 0   ? PRINT(va_arg(*arguments, int))
                 : conversion->longs == 1 ? PRINT(va_arg(*arguments, long))
                                          : PRINT(va_arg(*arguments, long long));
    else if (conversion->kind == 's') {
        const char *value = va_arg(*arguments, const char *);

        length = PRINT(value != NULL ? value : "(null)");
    } else if (strchr("eEfFgGaA", conversion->kind) != NULL)
        length = PRINT(va_arg(*arguments, double));
    else { /* %% and what nobody knows */
        bool percent = conversion->kind == '%';

        put(out, percent ? "%" : conversion->text, percent ? 1 : strlen(conversion->text));
        return;
    }
    put(out, text, length < (int)sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

static const char *put_p(struct output *out, struct conversion *conversion, const char *letters,
                         va_list *arguments)
{
    const void *pointer = va_arg(*arguments, const void *);
    size_t used = put_pointer(out, letters, pointer, conversion->width);
    char text[64];
    int length;

    if (used > 0)
        return letters + used;
    length = PRINT(pointer);
    put(out, text, length < (int)sizeof(text) ? (size_t)length : sizeof(text) - 1);
    return letters;
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
    return (int)out.length;
}
