/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The extended calls of Madeleine III: a block with parameters for parts of it ("slices"), and
 * lists of what happened to them. A slice may be marked as optional for a network that loses data.
 * All networks here are reliable: they deliver optional slices as well, so a slice is lost only if
 * its connection breaks.
 */
#ifndef JACQUARD_MADELEINE_EXTENDED_H
#define JACQUARD_MADELEINE_EXTENDED_H

#include "toolbox/list.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAD_ALIGNMENT 4
#define MAD_LENGTH_ALIGNMENT 4
#define MAD_ALIGNED TBX_ALIGN(MAD_ALIGNMENT)

enum { mad_op_uninitialized, mad_op_optional_block }; /* opcodes of parameters */
enum { mad_os_uninitialized, mad_os_lost_block }; /* opcodes of what happened */

typedef struct s_mad_buffer_slice_parameter {
    void *base; /* of the block; NULL: the block that the call gives */
    size_t offset, length; /* of the slice in the block, in bytes */
    int opcode, value;
} mad_buffer_slice_parameter_t, *p_mad_buffer_slice_parameter_t;

#pragma GCC visibility push(default)

/* A parameter with all fields 0. It belongs to the call that it is given to. NULL: MAD_ENOMEM. */
p_mad_buffer_slice_parameter_t mad_alloc_slice_parameter(void);

/*
 * mad_pack with parameters (p_mad_buffer_slice_parameter_t) that end with NULL, and which the call
 * frees. MAD_EINVAL, without effect: a slice is not in the block, or its opcode is unknown.
 */
void mad_pack_ext(p_mad_connection_t connection, void *buffer, size_t buffer_length,
                  mad_send_mode_t send_mode, mad_receive_mode_t receive_mode, ...)
    __attribute__((sentinel));
/* mad_unpack. Returns what happened to the slices so far: the caller's list, or NULL if empty. */
p_tbx_slist_t mad_unpack_ext(p_mad_connection_t connection, void *buffer, size_t buffer_length,
                             mad_send_mode_t send_mode, mad_receive_mode_t receive_mode, ...)
    __attribute__((sentinel));
/* mad_end_unpacking, and the rest of it. */
p_tbx_slist_t mad_end_unpacking_ext(p_mad_connection_t connection);
void mad_free_parameter_slist(p_tbx_slist_t list); /* with its parameters; NULL is no list */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
