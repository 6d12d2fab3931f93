/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ranks that are threads of the test, each with a session of its own. What fails in a
 * thread ends the test program.
 */
#ifndef JACQUARD_TESTS_MADELEINE_RANKS_H
#define JACQUARD_TESTS_MADELEINE_RANKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "internal.h"
#include "madeleine.h"
#include "session.h"

#define S mad_send_SAFER
#define L mad_send_LATER
#define C mad_send_CHEAPER
#define E mad_receive_EXPRESS
#define R mad_receive_CHEAPER

enum { RANKS_MAX = 9 };

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                        \
        }                                                                   \
    } while (0)

/* Runs `body` on `size` ranks; `adapters` as in MAD_ADAPTERS, or NULL for one of TCP. */
void ranks_run(int size, const char *adapters, void (*body)(p_mad_madeleine_t, int rank));
/* The same; no failure may be reported, and no descriptor may stay open. */
void ranks_run_clean(int size, const char *adapters, void (*body)(p_mad_madeleine_t, int rank));
void ranks_barrier(void); /* of all ranks of the run */
/* How many failures with this code were reported in this run. */
int ranks_failures(int code);
/* How many there were of any code; the run itself checks none of them. */
int ranks_all_failures(void);

void ranks_send(p_mad_channel_t channel, int to, int number);
/* The number; *from: who sent it, or NULL. */
int ranks_receive(p_mad_channel_t channel, int *from);

#endif
