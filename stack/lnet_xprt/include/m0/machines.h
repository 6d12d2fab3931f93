/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Many idle transfer machines of m0_net in one domain: what a process with thousands of them needs.
 */
#ifndef JACQUARD_M0_MACHINES_H
#define JACQUARD_M0_MACHINES_H

#include <stdint.h>

struct m0_net_xprt;
struct m0_machines;

/*
 * Starts `count` machines at `address`, whose last part is "*": each gets an identifier of its own.
 * NULL: *error is a negative errno, and none is left. One thread opens and closes them.
 */
struct m0_machines *m0_machines_open(const struct m0_net_xprt *xprt, const char *address,
                                     uint32_t count, int *error);
/* How many have an address that no other one has. */
uint32_t m0_machines_distinct(const struct m0_machines *machines);
/* Stops and frees them all. 0, or the first negative errno. */
int m0_machines_close(struct m0_machines *machines);

#endif
