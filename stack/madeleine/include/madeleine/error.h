/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Failures. The calls of 2000 return no codes, so a failure goes to the handler of the process. The
 * default handler prints three lines, FAILURE:, FILE: and LINE:, and calls abort(3). If a handler
 * returns, the failed call returns: NULL where it returns an object.
 *
 * A failure inside a message breaks its connection: pack and unpack have no more effect, the end
 * call releases it, and the next mad_begin_packing fails with the same code. A usage error that is
 * found before any effect (MAD_EINVAL, MAD_EDEADLK, MAD_ESTATE) breaks nothing.
 */
#ifndef JACQUARD_MADELEINE_ERROR_H
#define JACQUARD_MADELEINE_ERROR_H

#include "types.h"

enum {
    MAD_OK = 0,
    MAD_EINVAL = 1, /* an argument is invalid */
    MAD_ENOMEM = 2,
    MAD_EDEADLK =
        3, /* the object is in use, and the session has no threads that could release it */
    MAD_ESTATE = 4, /* the connection is not open in this direction */
    MAD_ESYMM = 5, /* the receiver's blocks are not the sender's (check levels 1 and 2) */
    MAD_EWIRE = 6, /* the peer sent what is not of this session or protocol */
    MAD_EPEER = 7, /* the peer has gone */
    MAD_EDRIVER = 8, /* the network failed: see driver_code */
    MAD_ENOTSUP = 9,
    MAD_EBOOT = 10, /* the session cannot start */
    MAD_ECONFIG = 11, /* the processes disagree on adapters, parameters or channels */
    MAD_EEMPTY = 12, /* a message without any bytes */
    MAD_EOVERLAP = 13, /* two CHEAPER areas of one received message overlap */
    MAD_WCHEAPER = 64 /* warning: the program changed a CHEAPER block before it left */
};

typedef struct {
    int code; /* MAD_E…, or MAD_W…: a warning, after which the call goes on */
    const char *text; /* valid during the handler */
    const char *file;
    int line;
    p_mad_channel_t channel; /* or NULL */
    int peer; /* rank, or -1 */
    int driver_code; /* errno of the TCP driver, or 0 */
} mad_failure_t;

typedef void (*mad_failure_handler_t)(const mad_failure_t *failure, void *arg);

#pragma GCC visibility push(default)
/* For the calling process, before or after mad_init. NULL: the default. Returns the old one. */
mad_failure_handler_t mad_set_failure_handler(mad_failure_handler_t handler, void *arg);
/* The code of the failure that broke the connection, or MAD_OK. */
int mad_connection_error(p_mad_connection_t connection);
#pragma GCC visibility pop

#endif
