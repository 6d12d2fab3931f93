/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests of the server share: greetings and exact expectations. */
#ifndef JACQUARD_TESTS_PMI_SERVER_COMMON_H
#define JACQUARD_TESTS_PMI_SERVER_COMMON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "driver.h"

#define INIT2 "cmd=init pmi_version=2 pmi_subversion=0\n"
#define INIT2_OK "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"
#define INIT1 "cmd=init pmi_version=1 pmi_subversion=1\n"
#define INIT1_OK "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
#define SECOND 1000000000ull

/* All that has come since the last look. */
void expect_bytes(struct peer *peer, const char *text);
/* One frame of that payload, and nothing else. */
void expect_frame(struct peer *peer, const char *payload);
/* Takes the first frame, whatever it is; valid until the next call. */
const char *take_frame(struct peer *peer);
void expect_nothing(struct peer *peer);
void forget_input(struct peer *peer);
void expect_log(struct driver *driver, const char *line); /* one of the lines is that */
void expect_no_log(struct driver *driver, const char *part);
/* frame → exactly this frame. */
void ask(struct peer *peer, const char *payload, const char *reply);
/* line → exactly this line; both without the newline. */
void ask_line(struct peer *peer, const char *line, const char *reply);
/* A client that is initialised. */
struct peer *client2(struct driver *driver, const char *job, uint32_t rank, uint32_t node);
struct peer *client1(struct driver *driver, const char *job, uint32_t rank, uint32_t node);
/* All ranks of a job that driver_job has placed, initialised. */
void connect_each(struct driver *driver, const char *job, struct peer **peers, uint32_t ranks);
struct driver *one_node(void);
/* Every client of a job fences; none is refused. */
void fence_all(struct peer **clients, uint32_t count);

#endif
