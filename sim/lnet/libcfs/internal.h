/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef JACQUARD_LNET_LIBCFS_INTERNAL_H
#define JACQUARD_LNET_LIBCFS_INTERNAL_H

#include "libcfs/libcfs_debug.h"
#include "libcfs_host.h"

enum { MESSAGE_MAX = 2048 };

unsigned libcfs_host_thread(void);
int libcfs_host_node_number(void); /* -1: it has none */
int libcfs_host_control(unsigned command, void *argument);
void libcfs_ioctls_free(struct libcfs_node *node);

#endif
