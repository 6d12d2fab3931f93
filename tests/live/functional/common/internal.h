/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of this folder share and programs do not need. */
#ifndef JACQUARD_FUNCTIONAL_INTERNAL_H
#define JACQUARD_FUNCTIONAL_INTERNAL_H

#include "common.h"

/* Messages name the program and its role from now on. After `seconds` the process ends. */
void check_begin(const char *program, const char *role, unsigned seconds);

/* Sockets between the two sides, by TCP. Failures end the process. */
int peer_listen(const char *port); /* waits for the client */
int peer_connect(const char *host, const char *port); /* waits until the server listens */
/* Ends the process if the other side has ended or skipped. */
void peer_poll(struct side *side);

#endif
