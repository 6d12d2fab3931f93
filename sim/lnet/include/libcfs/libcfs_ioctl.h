/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ioctls of libcfs's device. There is no device: a program calls libcfs_ioctl() in place of
 * ioctl(2), on the node whose handlers are to answer.
 */
#ifndef JACQUARD_LIBCFS_IOCTL_H
#define JACQUARD_LIBCFS_IOCTL_H

#include "lnet/lnetctl.h"

#define IOCTL_LIBCFS_TYPE long
#define LIBCFS_IOCTL_VERSION2 0x0001000b
#define LIBCFS_IOC_DATA_MAX (128 * 1024)
#define LIBCFS_IOC_INIT_V2(data, header)                   \
    do {                                                   \
        memset(&(data), 0, sizeof(data));                  \
        (data).header.ioc_version = LIBCFS_IOCTL_VERSION2; \
        (data).header.ioc_len = sizeof(data);              \
    } while (0)
#define IOC_LIBCFS_CLEAR_DEBUG LNET_IOC_OLD(31)
#define IOC_LIBCFS_MARK_DEBUG LNET_IOC_OLD(32)

struct libcfs_ioctl_handler {
    struct list_head item; /* not used: nodes of a simulation have one handler in common */
    /* -EINVAL: the command is not its own. */
    int (*handle_ioctl)(unsigned int cmd, struct libcfs_ioctl_hdr *hdr);
};
#define DECLARE_IOCTL_HANDLER(name, function)                                \
    struct libcfs_ioctl_handler name = {.item = LIST_HEAD_INIT((name).item), \
                                        .handle_ioctl = (function)}

#pragma GCC visibility push(default)
int libcfs_register_ioctl(struct libcfs_ioctl_handler *handler); /* -EBUSY: it is there */
int libcfs_deregister_ioctl(struct libcfs_ioctl_handler *handler); /* -ENOENT: it is not */
/* Asks the handlers of the caller's node in their order, until one does not say -EINVAL, and then
 * LNetCtl(). */
int libcfs_ioctl(unsigned command, struct libcfs_ioctl_hdr *header);
/* Empties the log of messages; writes a line into it. */
void libcfs_debug_clear(void);
void libcfs_debug_mark_buffer(const char *text);
#pragma GCC visibility pop

#endif
