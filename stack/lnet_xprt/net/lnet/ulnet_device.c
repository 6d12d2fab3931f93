/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The devices that the user flavour knows, and the one that every system has: a character device.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/memory.h"
#include "net/lnet/ulnet_core.h"

const char *nlx_ucore_dev_name = "/dev/" M0_LNET_DEV;

static int path_open(const char *name, void **handle)
{
    int *fd;

    M0_ALLOC_PTR(fd);
    if (fd == NULL)
        return -ENOMEM;
    *fd = open(name, O_RDWR | O_CLOEXEC);
    if (*fd < 0) {
        int rc = -errno;

        m0_free(fd);
        return rc;
    }
    *handle = fd;
    return 0;
}

static void path_close(void *handle)
{
    close(*(int *)handle);
    m0_free(handle);
}

static long path_ioctl(void *handle, unsigned cmd, void *arg)
{
    long rc = ioctl(*(int *)handle, cmd, arg);

    return rc < 0 ? -errno : rc;
}

static struct nlx_ucore_device paths = {
    .ud_open = path_open, .ud_close = path_close, .ud_ioctl = path_ioctl};
static struct nlx_ucore_device *devices = &paths;

void nlx_ucore_device_add(struct nlx_ucore_device *device)
{
    struct nlx_ucore_device *other;

    for (other = devices; other != NULL; other = other->ud_next)
        if (other == device)
            return;
    device->ud_next = devices;
    devices = device;
}

const struct nlx_ucore_device *nlx_ucore_device_find(const char *name)
{
    const struct nlx_ucore_device *device = devices;

    while (device->ud_prefix != NULL &&
           strncmp(name, device->ud_prefix, strlen(device->ud_prefix)) != 0)
        device = device->ud_next;
    return device;
}
