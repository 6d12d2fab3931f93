/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The PMI server under any bytes. One client: the bytes are what it sends. A world: the bytes say
 * what several clients of several jobs on a tree of servers do, in which order, who dies. In both a
 * witness, of a job of its own, must see what it would see without them; in a world each request
 * is answered once.
 */
#ifndef JACQUARD_TESTS_FUZZ_PMI2_SERVER_WORLD_H
#define JACQUARD_TESTS_FUZZ_PMI2_SERVER_WORLD_H

#include <stddef.h>
#include <stdint.h>

void pmi2_client_run(const uint8_t *bytes, size_t length);
void pmi2_world_run(const uint8_t *bytes, size_t length);

#endif
