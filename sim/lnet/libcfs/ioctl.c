/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Who answers ioctls of libcfs's device on a node. */
#include "libcfs/libcfs_ioctl.h"
#include "internal.h"

#include <stdlib.h>

/* The handler itself is static data, which all nodes of a simulation have. */
struct entry {
    struct list_head on_node;
    struct libcfs_ioctl_handler *handler;
};

static struct entry *find(struct libcfs_node *node, const struct libcfs_ioctl_handler *handler)
{
    struct entry *entry;

    list_for_each_entry (entry, &node->ioctls, on_node)
        if (entry->handler == handler)
            return entry;
    return NULL;
}

int libcfs_register_ioctl(struct libcfs_ioctl_handler *handler)
{
    struct libcfs_node *node = libcfs_node();
    struct entry *entry = malloc(sizeof(*entry));
    bool there;

    if (entry == NULL)
        return -ENOMEM;
    entry->handler = handler;
    spin_lock(&node->lock);
    there = find(node, handler) != NULL;
    if (!there)
        list_add_tail(&entry->on_node, &node->ioctls);
    spin_unlock(&node->lock);
    if (!there)
        return 0;
    free(entry);
    return -EBUSY;
}

int libcfs_deregister_ioctl(struct libcfs_ioctl_handler *handler)
{
    struct libcfs_node *node = libcfs_node();
    struct entry *entry;

    spin_lock(&node->lock);
    entry = find(node, handler);
    if (entry != NULL)
        list_del(&entry->on_node);
    spin_unlock(&node->lock);
    free(entry);
    return entry != NULL ? 0 : -ENOENT;
}

void libcfs_ioctls_free(struct libcfs_node *node)
{
    struct entry *entry, *next;

    list_for_each_entry_safe (entry, next, &node->ioctls, on_node)
        free(entry);
    INIT_LIST_HEAD(&node->ioctls);
}

/* The n-th one; the list may change while a handler runs. */
static struct libcfs_ioctl_handler *handler_at(struct libcfs_node *node, unsigned n)
{
    struct libcfs_ioctl_handler *handler = NULL;
    struct entry *entry;

    spin_lock(&node->lock);
    list_for_each_entry (entry, &node->ioctls, on_node) {
        if (n-- == 0) {
            handler = entry->handler;
            break;
        }
    }
    spin_unlock(&node->lock);
    return handler;
}

static bool texts_fit(const struct libcfs_ioctl_data *data)
{
    return data->ioc_inllen1 <= LIBCFS_IOC_DATA_MAX && data->ioc_inllen2 <= LIBCFS_IOC_DATA_MAX &&
           (data->ioc_inllen1 == 0) == (data->ioc_inlbuf1 == NULL) &&
           (data->ioc_inllen2 == 0) == (data->ioc_inlbuf2 == NULL) &&
           (data->ioc_pbuf1 == NULL || data->ioc_plen1 != 0) &&
           (data->ioc_pbuf2 == NULL || data->ioc_plen2 != 0);
}

int libcfs_ioctl(unsigned command, struct libcfs_ioctl_hdr *header)
{
    struct libcfs_node *node = libcfs_node();
    struct libcfs_ioctl_handler *handler;
    const struct libcfs_ioctl_data *data = (const void *)header;
    unsigned n;
    int rc;

    if (header->ioc_len < sizeof(*header) || header->ioc_len > LIBCFS_IOC_DATA_MAX ||
        (header->ioc_version != LIBCFS_IOCTL_VERSION &&
         header->ioc_version != LIBCFS_IOCTL_VERSION2))
        return -EINVAL;
    if (header->ioc_version == LIBCFS_IOCTL_VERSION &&
        (header->ioc_len < sizeof(*data) || !texts_fit(data)))
        return -EINVAL;
    if (command == IOC_LIBCFS_CLEAR_DEBUG) {
        libcfs_debug_clear();
        return 0;
    }
    if (command == IOC_LIBCFS_MARK_DEBUG) {
        if (data->ioc_inlbuf1 == NULL || data->ioc_inlbuf1[data->ioc_inllen1 - 1] != '\0')
            return -EINVAL;
        libcfs_debug_mark_buffer(data->ioc_inlbuf1);
        return 0;
    }
    for (n = 0; (handler = handler_at(node, n)) != NULL; n++) {
        rc = handler->handle_ioctl(command, header);
        if (rc != -EINVAL)
            return rc;
    }
    return libcfs_host_control(command, header);
}
