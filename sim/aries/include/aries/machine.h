/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What libugni of live mode knows of the emulated machine beyond gni_pub.h. Only libugni.so and
 * libugni.a have these functions. Any thread may call them.
 */
#ifndef ARIES_MACHINE_H
#define ARIES_MACHINE_H

#include <stdint.h>

/*
 * The NIC address of a host of the fabric by name: a number, nid00005, c0-0c0s1n1, 10.128.0.6,
 * 127.128.0.6, or a name of the machine that all nodes share. Such a name means the node that has
 * `instance` (UINT32_MAX: any), else the own one. Waits up to a second for that instance.
 * 0; -ENODATA: no such host; -ENODEV: the process belongs to no fabric.
 */
int gni_machine_resolve(const char *host, uint32_t instance, uint32_t *nic_address);
/*
 * The connection `id` of a library above, to an instance at a NIC address, has come into `state`
 * (a word; NULL: it has gone). `jacquard top` shows it.
 */
void gni_machine_connection(const void *id, uint32_t nic_address, uint32_t instance,
                            const char *state);

#endif
