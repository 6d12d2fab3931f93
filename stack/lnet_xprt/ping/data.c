/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The contents of the functional test's messages and buffers. */
#include "lib/arith.h"
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "ping/pvt.h"

/* The text that is repeated, a thousand times, so that a page is filled or compared at once. */
#define TEN_TIMES(text) text text text text text text text text text text
static char pattern[] = TEN_TIMES(TEN_TIMES(TEN_TIMES("abcdefghi")));
enum { PATTERN = sizeof(pattern) - 1 };

void m0_ping_fill(struct m0_ping_slot *slot, m0_bcount_t bytes)
{
    struct m0_bufvec_cursor cursor;
    m0_bcount_t at;

    m0_bufvec_cursor_init(&cursor, &slot->nb.nb_buffer);
    for (at = 0; at < bytes; at += PATTERN)
        m0_bufvec_cursor_copyto(&cursor, pattern, min_type(m0_bcount_t, PATTERN, bytes - at));
    slot->nb.nb_length = bytes;
    slot->clear = false;
}

void m0_ping_clear(struct m0_ping_slot *slot, m0_bcount_t bytes)
{
    /* More at once is cleared by `rep stosb`, which Valgrind counts byte by byte. */
    enum { PART = 1024 };
    const struct m0_bufvec *buffer = &slot->nb.nb_buffer;
    m0_bcount_t at, count;
    uint32_t i;

    for (i = 0; i < buffer->ov_vec.v_nr && bytes > 0; i++, bytes -= count) {
        count = min_type(m0_bcount_t, buffer->ov_vec.v_count[i], bytes);
        for (at = 0; at < count; at += PART)
            memset((char *)buffer->ov_buf[i] + at, 0, min_type(m0_bcount_t, PART, count - at));
    }
    slot->clear = true;
}

bool m0_ping_is_filled(struct m0_ping_slot *slot, m0_bcount_t from, m0_bcount_t bytes)
{
    enum { PERIOD = 9 };
    struct m0_bufvec_cursor cursor;
    m0_bcount_t at = from, part;

    m0_bufvec_cursor_init(&cursor, &slot->nb.nb_buffer);
    m0_bufvec_cursor_move(&cursor, from);
    for (; at < bytes; at += part) {
        if (m0_vec_cursor_move(&cursor.bc_vc, 0))
            return false;
        part = min_type(m0_bcount_t, m0_bufvec_cursor_step(&cursor), bytes - at);
        part = min_type(m0_bcount_t, part, PATTERN - at % PERIOD);
        if (memcmp(m0_bufvec_cursor_addr(&cursor), pattern + at % PERIOD, part) != 0)
            return false;
        m0_bufvec_cursor_move(&cursor, part);
    }
    return true;
}

static void write_at_begin(struct m0_ping_slot *slot, void *bytes, m0_bcount_t count)
{
    struct m0_bufvec_cursor cursor;

    m0_bufvec_cursor_init(&cursor, &slot->nb.nb_buffer);
    m0_bufvec_cursor_copyto(&cursor, bytes, count);
    slot->nb.nb_length = count;
    slot->clear = false;
}

void m0_ping_put_text(struct m0_ping_slot *slot, const char *text, m0_bcount_t bytes)
{
    char message[16] = "m";
    size_t length = strlen(text) + 1;

    M0_PRE(length < sizeof(message));
    memcpy(message + 1, text, length);
    m0_ping_fill(slot, bytes);
    write_at_begin(slot, message, length + 1);
    slot->nb.nb_length = max_type(m0_bcount_t, slot->nb.nb_length, bytes);
}

bool m0_ping_is_text(struct m0_ping_slot *slot, const char *text, m0_bcount_t bytes)
{
    struct m0_bufvec_cursor cursor;
    size_t length = strlen(text) + 2;
    char message[16] = "";

    m0_bufvec_cursor_init(&cursor, &slot->nb.nb_buffer);
    m0_bufvec_cursor_copyfrom(&cursor, message, length);
    return bytes >= length && message[0] == 'm' && memcmp(message + 1, text, length - 1) == 0 &&
           m0_ping_is_filled(slot, length, bytes);
}

/* Eight digits and a NUL. */
static void put_number(char *to, uint32_t number)
{
    int i;

    for (i = 7; i >= 0; i--, number /= 10)
        to[i] = (char)('0' + number % 10);
    to[8] = '\0';
}

uint32_t m0_ping_number(const char *text)
{
    uint32_t number = 0;
    int i;

    for (i = 0; i < 8; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        number = number * 10 + (uint32_t)(text[i] - '0');
    }
    return text[8] == '\0' ? number : 0;
}

int m0_ping_put_descriptor(struct m0_ping_slot *slot, char kind, const struct m0_net_buf_desc *desc,
                           uint32_t size)
{
    m0_bcount_t bytes = M0_PING_HEAD + desc->nbd_len;
    char *message = m0_alloc(bytes);

    if (message == NULL)
        return -ENOMEM;
    message[0] = kind;
    put_number(message + 1, desc->nbd_len);
    put_number(message + 10, size);
    memcpy(message + M0_PING_HEAD, desc->nbd_data, desc->nbd_len);
    write_at_begin(slot, message, bytes);
    m0_free(message);
    return 0;
}
