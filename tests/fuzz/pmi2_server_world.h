/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Drives the PMI server with any bytes. With one client, the bytes are its messages. In a world,
 * the bytes determine the actions of several clients of several jobs on a tree of servers, their
 * order, and the deaths of clients. In both cases a witness with a job of its own must get the same
 * replies as without the others. In a world each request is answered once.
 */
#ifndef JACQUARD_TESTS_FUZZ_PMI2_SERVER_WORLD_H
#define JACQUARD_TESTS_FUZZ_PMI2_SERVER_WORLD_H

#include <stddef.h>
#include <stdint.h>

void pmi2_client_run(const uint8_t *bytes, size_t length);
void pmi2_world_run(const uint8_t *bytes, size_t length);

#endif
