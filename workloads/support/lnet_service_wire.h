/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the service of lnet_service.h and its clients say to each other, and how both find the
 * object of an event. */
#ifndef JACQUARD_WORKLOADS_LNET_SERVICE_WIRE_H
#define JACQUARD_WORKLOADS_LNET_SERVICE_WIRE_H

#include "lnet_service.h"

enum { REQUEST_PORTAL = 26, REPLY_PORTAL = 25, BULK_PORTAL = 8 };
enum { OP_PING, OP_READ, OP_WRITE };

struct request {
    __u64 xid;
    __u32 op, bytes;
};
struct reply {
    __u64 xid;
    __s32 status;
    __u32 unused;
};

/* What user_ptr of each descriptor refers to. */
struct callback {
    void (*fn)(struct callback *callback, struct lnet_event *event);
};

static inline void on_event(struct lnet_event *event)
{
    struct callback *callback = event->md.user_ptr;

    callback->fn(callback, event);
}

static inline void fill(__u8 *data, unsigned bytes, __u64 xid)
{
    unsigned i;

    for (i = 0; i < bytes; i++)
        data[i] = (__u8)(xid * 31 + i * 7 + (i >> 8));
}

static inline bool is_filled(const __u8 *data, unsigned bytes, __u64 xid)
{
    unsigned i;

    for (i = 0; i < bytes; i++)
        if (data[i] != (__u8)(xid * 31 + i * 7 + (i >> 8)))
            return false;
    return true;
}

#endif
