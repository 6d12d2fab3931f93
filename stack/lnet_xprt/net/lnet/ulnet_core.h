/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How the user flavour reaches the driver: a device by name. The prefix of the name, up to a colon,
 * chooses the way; a name without one is the path of a character device. No header of LNet is
 * needed on this side.
 */
#ifndef JACQUARD_M0_ULNET_CORE_H
#define JACQUARD_M0_ULNET_CORE_H

#include "net/lnet/lnet_ioctl.h"

struct nlx_ucore_device {
    const char *ud_prefix; /* "sim:"; NULL: paths */
    /* `name`: all of it. 0 or a negative errno. */
    int (*ud_open)(const char *name, void **handle);
    void (*ud_close)(void *handle);
    /* Crosses to the driver. `arg`: the parameters, in and out. >= 0 or a negative errno. */
    long (*ud_ioctl)(void *handle, unsigned cmd, void *arg);
    /* Whether buffers may lie there; elsewhere they are copied. NULL: everywhere. */
    bool (*ud_reaches)(const void *address, size_t bytes);
    /* Whether the driver has gone for good. NULL: it stays. */
    bool (*ud_is_lost)(void *handle);
    struct nlx_ucore_device *ud_next;
};
/* For the life of the process. */
void nlx_ucore_device_add(struct nlx_ucore_device *device);
const struct nlx_ucore_device *nlx_ucore_device_find(const char *name);

/* What domains open from now on; "/dev/m0lnet" at first. */
extern const char *nlx_ucore_dev_name;

#endif
