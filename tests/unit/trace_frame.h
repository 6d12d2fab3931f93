/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What trace_test and trace_reader_test share: each test has a file for its trace. */
#ifndef JACQUARD_TRACE_FRAME_H
#define JACQUARD_TRACE_FRAME_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "trace_read.h"
#include "trace_sample.h"

static char path[64];

static inline int setup(void **state)
{
    int fd;

    sim_digest_reset();
    sim_core = (struct sim_core){0};
    sample_tracks_register();
    snprintf(path, sizeof path, "%s", "/tmp/trace_test_XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

static inline int teardown(void **state)
{
    sim_trace_close(NULL);
    unlink(path);
    return 0;
}

static inline void open_trace(void)
{
    char *error = NULL;

    if (!sim_trace_open(path, &error))
        fail_msg("%s", error);
}

/* Closes the trace and reads it: what our own writer makes is always in order. */
static inline struct trace_summary close_and_read(void)
{
    struct trace_summary summary;
    char *error = NULL;

    assert_true(sim_trace_close(&error));
    if (!trace_read(path, &summary, &error))
        fail_msg("%s", error);
    assert_int_equal(summary.unknown_tracks, 0);
    assert_int_equal(summary.unknown_names, 0);
    assert_int_equal(summary.unbalanced_slices, 0);
    assert_int_equal(summary.out_of_order, 0);
    return summary;
}

static inline uint8_t *slurp(const char *name, size_t *length)
{
    FILE *file = fopen(name, "rb");
    uint8_t *bytes = malloc(1 << 20);

    assert_non_null(file);
    *length = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
