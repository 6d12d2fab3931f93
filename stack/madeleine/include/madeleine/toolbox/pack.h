/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers in a form that does not depend on the processor, for messages (ntbx). */
#ifndef JACQUARD_MADELEINE_TOOLBOX_PACK_H
#define JACQUARD_MADELEINE_TOOLBOX_PACK_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { NTBX_PACK_BUFFER_LEN = 17, NTBX_PACK_BUFFER_TAG_LEN = 4 };
typedef struct {
    char buffer[NTBX_PACK_BUFFER_LEN];
} ntbx_pack_buffer_t, *p_ntbx_pack_buffer_t;

#pragma GCC visibility push(default)
void ntbx_pack_int(int value, p_ntbx_pack_buffer_t buffer);
void ntbx_pack_unsigned_int(unsigned value, p_ntbx_pack_buffer_t buffer);
void ntbx_pack_long(long value, p_ntbx_pack_buffer_t buffer);
void ntbx_pack_unsigned_long(unsigned long value, p_ntbx_pack_buffer_t buffer);
void ntbx_pack_double(double value, p_ntbx_pack_buffer_t buffer);
/* A failure if the buffer holds a number of another type. */
int ntbx_unpack_int(p_ntbx_pack_buffer_t buffer);
unsigned ntbx_unpack_unsigned_int(p_ntbx_pack_buffer_t buffer);
long ntbx_unpack_long(p_ntbx_pack_buffer_t buffer);
unsigned long ntbx_unpack_unsigned_long(p_ntbx_pack_buffer_t buffer);
double ntbx_unpack_double(p_ntbx_pack_buffer_t buffer);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
