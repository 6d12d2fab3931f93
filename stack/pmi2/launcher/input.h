/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Forwards pmrun's standard input to one rank, and reads no further before the rank has consumed
 * it. */
#ifndef JACQUARD_PMRUN_INPUT_H
#define JACQUARD_PMRUN_INPUT_H

#include <glib.h>
#include <uv.h>

struct pmrun_input;
struct pmrun_input *pmrun_input_new(uv_loop_t *loop, const char *job, uint32_t rank,
                                    void (*give)(void *owner, const char *job, uint32_t rank,
                                                 const void *bytes, gsize length), /* 0: the end */
                                    void *owner);
/* A process has started: if it is the one, reading begins. NULL: nothing. */
void pmrun_input_begin(struct pmrun_input *input, const char *job, uint32_t rank);
/* The rank has consumed its input, or pmrun has the terminal again: continues. NULL: nothing. */
void pmrun_input_resume(struct pmrun_input *input);
void pmrun_input_close(
    struct pmrun_input *input); /* g_free() after a turn of the loop; NULL: nothing */

#endif
