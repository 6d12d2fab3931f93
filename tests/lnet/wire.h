/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What joins the nodes of world.c: wire.c, the driver of the tests, or networks.c, the real drivers
 * over simulated networks. */
#ifndef JACQUARD_TESTS_LNET_WIRE_H
#define JACQUARD_TESTS_LNET_WIRE_H

#include "world.h"

void wire_open(void);
void wire_close(void);
/* Joins an interface of a node to its network. */
void wire_interface(struct lnet_interface *interface, unsigned node);

#endif
