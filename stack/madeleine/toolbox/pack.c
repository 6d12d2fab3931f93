/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Numbers in messages. A buffer begins with four equal letters, which name the type. The bytes of
 * the number follow, the highest one first; a double is the 64 bits of IEEE 754.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "madeleine/toolbox.h"

static void put(p_ntbx_pack_buffer_t buffer, char type, uint64_t value)
{
    memset(buffer->buffer, 0, sizeof(buffer->buffer));
    memset(buffer->buffer, type, NTBX_PACK_BUFFER_TAG_LEN);
    for (int i = 0; i < 8; i++)
        buffer->buffer[NTBX_PACK_BUFFER_TAG_LEN + i] = (char)(value >> (56 - 8 * i));
}

static uint64_t get(p_ntbx_pack_buffer_t buffer, char type)
{
    uint64_t value = 0;

    for (int i = 0; i < NTBX_PACK_BUFFER_TAG_LEN; i++)
        if (buffer->buffer[i] != type) {
            FAILURE("the buffer has no number of this type");
            return 0;
        }
    for (int i = 0; i < 8; i++)
        value = value << 8 | (unsigned char)buffer->buffer[NTBX_PACK_BUFFER_TAG_LEN + i];
    return value;
}

void ntbx_pack_int(int value, p_ntbx_pack_buffer_t buffer)
{
    put(buffer, 'I', (uint64_t)value);
}

int ntbx_unpack_int(p_ntbx_pack_buffer_t buffer)
{
    return (int)get(buffer, 'I');
}

void ntbx_pack_unsigned_int(unsigned value, p_ntbx_pack_buffer_t buffer)
{
    put(buffer, 'U', value);
}

unsigned ntbx_unpack_unsigned_int(p_ntbx_pack_buffer_t buffer)
{
    return (unsigned)get(buffer, 'U');
}

void ntbx_pack_long(long value, p_ntbx_pack_buffer_t buffer)
{
    put(buffer, 'L', (uint64_t)value);
}

long ntbx_unpack_long(p_ntbx_pack_buffer_t buffer)
{
    return (long)get(buffer, 'L');
}

void ntbx_pack_unsigned_long(unsigned long value, p_ntbx_pack_buffer_t buffer)
{
    put(buffer, 'V', value);
}

unsigned long ntbx_unpack_unsigned_long(p_ntbx_pack_buffer_t buffer)
{
    return get(buffer, 'V');
}

void ntbx_pack_double(double value, p_ntbx_pack_buffer_t buffer)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    put(buffer, 'D', bits);
}

double ntbx_unpack_double(p_ntbx_pack_buffer_t buffer)
{
    uint64_t bits = get(buffer, 'D');
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}
