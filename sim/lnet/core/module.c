/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Ioctls that the module lnet answers itself, before LNetCtl: they start and stop LNet, and change
 * its networks. */
#include "core/ni.h"

static int configure(const struct libcfs_ioctl_data *data)
{
    struct lnet_node *node;
    bool first;
    int rc;

    if (data->ioc_hdr.ioc_len < sizeof(*data))
        return -EINVAL;
    node = lnet_enter("IOC_LIBCFS_CONFIGURE", false);
    if (node == NULL)
        return -ENODEV;
    first = !node->configured;
    if (first && node->state == LNET_DOWN)
        node->without_settings = data->ioc_flags != 0;
    lnet_leave(node, 0);
    if (!first)
        return 0;
    rc = LNetNIInit(LNET_PID_LUSTRE);
    node = lnet_enter("IOC_LIBCFS_CONFIGURE", false);
    node->configured = rc >= 0;
    lnet_leave(node, 0);
    return rc < 0 ? rc : 0;
}

static int unconfigure(void)
{
    struct lnet_node *node = lnet_enter("IOC_LIBCFS_UNCONFIGURE", false);
    bool was, others;

    if (node == NULL)
        return -ENODEV;
    was = node->configured;
    node->configured = false;
    others = node->references > (was ? 1 : 0);
    lnet_leave(node, 0);
    if (was)
        LNetNIFini();
    return others ? -EBUSY : 0;
}

static int change(unsigned command, void *argument)
{
    struct lnet_node *node = lnet_enter("an ioctl of LNet", false);
    int rc;

    if (node == NULL)
        return -ENODEV;
    rc = node->configured ? lnet_ni_control(node, command, argument) : -EINVAL;
    while (rc == -EAGAIN && node->state == LNET_RUNNING) {
        lnet_host_wait(node, sim_now() + SIM_US, "waiting until a driver of LNet is idle");
        rc = lnet_ni_control(node, command, argument);
    }
    lnet_leave(node, node->params.cost_other_ns);
    return rc;
}

int lnet_module_control(unsigned command, void *argument)
{
    switch (command) {
    case IOC_LIBCFS_CONFIGURE:
        return configure(argument);
    case IOC_LIBCFS_UNCONFIGURE:
        return unconfigure();
    case IOC_LIBCFS_ADD_NET:
    case IOC_LIBCFS_DEL_NET:
    case IOC_LIBCFS_ADD_LOCAL_NI:
    case IOC_LIBCFS_DEL_LOCAL_NI:
        return change(command, argument);
    default:
        return LNetCtl(command, argument);
    }
}
