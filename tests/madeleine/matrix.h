/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A driver with any set of links, for processes of a simulation. What a connection sends waits in
 * one queue, whose order and links the receiver must reproduce. A sender waits where more than a
 * number of bytes are in its queue.
 */
#ifndef JACQUARD_TESTS_MADELEINE_MATRIX_H
#define JACQUARD_TESTS_MADELEINE_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "madeleine/driver.h"

enum { MATRIX_LINKS = 3, MATRIX_RANKS = 4, MATRIX_CHANNELS = 4 };

struct matrix_link {
    mad_link_mode_t link;
    mad_buffer_mode_t buffer;
    mad_group_mode_t group;
    size_t most; /* bytes of a block that takes this link; SIZE_MAX: the last one */
    size_t room; /* bytes of a static buffer */
};

struct matrix {
    struct matrix_link links[MATRIX_LINKS];
    int count;
    size_t room; /* bytes in the queue of a connection */
    uint64_t seed; /* of the times that calls take */
    long obtained, handed, taken, returned; /* static buffers */
    long misplaced; /* returned to another link than the one they came from */
    long waited; /* senders for room */
};
extern struct matrix matrix;

/* Takes the place of a driver's table of calls. */
void matrix_register(p_mad_driver_t driver);
/* Nothing is in any queue. */
bool matrix_is_empty(void);

#endif
