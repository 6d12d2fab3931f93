/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "wire_internal.h"

void pmi2_buffer_fini(struct pmi2_buffer *buffer)
{
    free(buffer->bytes);
    memset(buffer, 0, sizeof(*buffer));
}

void pmi2_buffer_clear(struct pmi2_buffer *buffer)
{
    buffer->length = 0;
    buffer->begun = 0;
}

void pmi2_buffer_add(struct pmi2_buffer *buffer, const void *bytes, size_t length)
{
    size_t capacity = buffer->capacity != 0 ? buffer->capacity : 256;
    char *more;

    if (buffer->failed || length == 0)
        return;
    while (capacity - buffer->length < length)
        capacity *= 2;
    if (capacity != buffer->capacity) {
        more = realloc(buffer->bytes, capacity);
        if (more == NULL) {
            buffer->failed = true;
            return;
        }
        buffer->bytes = more;
        buffer->capacity = capacity;
    }
    assert(buffer->length <= buffer->capacity && buffer->capacity - buffer->length >= length);
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
}

void pmi2_buffer_text(struct pmi2_buffer *buffer, const char *text)
{
    pmi2_buffer_add(buffer, text, strlen(text));
}

bool pmi2_buffer_close(struct pmi2_buffer *buffer, size_t maximum)
{
    bool good;

    assert(buffer->begun <= buffer->length);
    good = !buffer->failed && !buffer->broken && buffer->length - buffer->begun <= maximum;

    if (!good)
        buffer->length = buffer->begun;
    buffer->begun = buffer->length;
    buffer->broken = false;
    return good;
}

/* Does not use snprintf, which needs more than 1 KiB of stack: with many simulated ranks, that
 * costs a page for each. */
struct pmi2_slice pmi2_format_int(int64_t value, char digits[24])
{
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    char *at = digits + 24;

    static_assert(sizeof("-9223372036854775808") <= 24, "the longest number");
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (value < 0)
        *--at = '-';
    assert(at >= digits);
    return (struct pmi2_slice){at, (size_t)(digits + 24 - at)};
}
