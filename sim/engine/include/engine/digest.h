/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The digest of all trace points, see digest.c. An ordinary process does not repeat exactly and has
 * none, but it links the network, which is compiled once: wall.c has functions that do nothing.
 */
#ifndef JACQUARD_ENGINE_DIGEST_H
#define JACQUARD_ENGINE_DIGEST_H

#include <stdint.h>

/* FNV-1a. */
#define SIM_DIGEST_NAME_SEED 0xcbf29ce484222325ull
#define SIM_DIGEST_NAME_PRIME 0x100000001b3ull

/* The digest of a line, for which it makes room; slow. */
uint64_t *sim_digest_line(uint32_t line);
uint64_t sim_digest_name(const char *name);
/* Of all points since sim_init(): the sum over the lines of the picture. 0: there was none. */
uint64_t sim_digest(void);
void sim_digest_reset(void); /* called by sim_init */

#endif
