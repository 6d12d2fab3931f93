/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands of LNetCtl that ask other nodes and wait for their answers. */
#include "core/control.h"

#include <stdlib.h>
#include <string.h>

#define PING_TIMEOUT_MS 180000

static int get_distance(struct libcfs_ioctl_data *data)
{
    lnet_nid_t source = data->ioc_nid;
    __u32 order = 0;
    int rc = LNetDist(data->ioc_nid, &source, &order);

    if (rc < 0 && rc != -EHOSTUNREACH)
        return rc;

    data->ioc_nid = source;
    data->ioc_u32[0] = (__u32)rc;
    data->ioc_u32[1] = order;
    return 0;
}

/* ---- ping ------------------------------------------------------------------------------------ */

/* What the node at `target` says of itself: its bytes, or a negative errno. The first time that
 * nothing comes in time, or that an operation fails, the descriptor is unlinked, and what comes
 * then ends it. */
static int ask(struct lnet_process_id target, int timeout_ms, struct lnet_ping_info *answer,
               size_t size)
{
    struct lnet_md md = {
        .start = answer, .length = (unsigned)size, .threshold = 2, .options = LNET_MD_TRUNCATE};
    struct lnet_handle_md handle = {0};
    signed long timeout = msecs_to_jiffies(timeout_ms);
    struct lnet_event event;
    bool unlinked = false, given_up = false;
    int rc, bytes = -EIO, which;

    rc = LNetEQAlloc(2, LNET_EQ_HANDLER_NONE, &md.eq_handle);
    if (rc != 0)
        return rc;
    rc = LNetMDBind(md, LNET_UNLINK, &handle);
    if (rc == 0 && LNetGet(LNET_NID_ANY, handle, target, LNET_RESERVED_PORTAL,
                           LNET_PROTO_PING_MATCHBITS, 0, false) != 0) {
        (void)LNetMDUnlink(handle);
        given_up = true;
    }
    while (rc == 0 && !unlinked) {
        int polled = LNetEQPoll(&md.eq_handle, 1, timeout, &event, &which);

        if (polled > 0 && event.type == LNET_EVENT_REPLY && event.status == 0)
            bytes = (int)event.mlength;
        unlinked = polled > 0 && event.unlinked != 0;
        if ((polled <= 0 || event.status != 0) && !unlinked && !given_up) {
            (void)LNetMDUnlink(handle);
            given_up = true;
            timeout = MAX_SCHEDULE_TIMEOUT;
        }
    }
    (void)LNetEQFree(md.eq_handle);
    return rc != 0 ? rc : bytes;
}

static void swab_info(struct lnet_ping_info *info, uint32_t room)
{
    uint32_t i;

    info->pi_magic = __builtin_bswap32(info->pi_magic);
    info->pi_features = __builtin_bswap32(info->pi_features);
    info->pi_pid = __builtin_bswap32(info->pi_pid);
    info->pi_nnis = __builtin_bswap32(info->pi_nnis);
    for (i = 0; i < info->pi_nnis && i < room; i++) {
        info->pi_ni[i].ns_nid = __builtin_bswap64(info->pi_ni[i].ns_nid);
        info->pi_ni[i].ns_status = __builtin_bswap32(info->pi_ni[i].ns_status);
    }
}

/* Writes up to `room` ids. How many the node has, or a negative errno. */
static int read_answer(struct lnet_ping_info *answer, int bytes, struct lnet_process_id *ids,
                       uint32_t room)
{
    uint32_t nis, i;

    if (bytes < (int)sizeof(*answer))
        return -EPROTO;
    if (answer->pi_magic == __builtin_bswap32(LNET_PROTO_PING_MAGIC))
        swab_info(answer, room);
    if (answer->pi_magic != LNET_PROTO_PING_MAGIC ||
        (answer->pi_features & LNET_PING_FEAT_NI_STATUS) == 0)
        return -EPROTO;
    nis = answer->pi_nnis < room ? answer->pi_nnis : room;
    if ((size_t)bytes < sizeof(*answer) + nis * sizeof(answer->pi_ni[0]) ||
        answer->pi_nnis > INT32_MAX)
        return -EPROTO;
    for (i = 0; i < nis; i++) {
        ids[i].nid = answer->pi_ni[i].ns_nid;
        ids[i].pid = answer->pi_pid;
    }
    return (int)answer->pi_nnis;
}

static int ping(struct lnet_process_id target, int timeout_ms, struct lnet_process_id *ids,
                uint32_t room)
{
    struct lnet_ping_info *answer;
    size_t size;
    int rc;

    if (room == 0 || target.nid == LNET_NID_ANY)
        return -EINVAL;
    if (ids == NULL)
        return -EFAULT;
    if (target.pid == LNET_PID_ANY)
        target.pid = LNET_PID_LUSTRE;
    if (timeout_ms <= 0 || timeout_ms > PING_TIMEOUT_MS)
        timeout_ms = PING_TIMEOUT_MS;
    if (room > LNET_INTERFACES_MAX_DEFAULT)
        room = LNET_INTERFACES_MAX_DEFAULT;
    size = sizeof(*answer) + room * sizeof(answer->pi_ni[0]);
    answer = calloc(1, size);
    if (answer == NULL)
        return -ENOMEM;
    rc = ask(target, timeout_ms, answer, size);
    if (rc >= 0)
        rc = read_answer(answer, rc, ids, room);
    free(answer);
    return rc;
}

static int ping_command(struct libcfs_ioctl_data *data)
{
    struct lnet_process_id target = {data->ioc_nid, data->ioc_u32[0]};
    int rc = ping(target, (int)data->ioc_u32[1], data->ioc_pbuf1,
                  data->ioc_plen1 / (uint32_t)sizeof(struct lnet_process_id));

    if (rc < 0)
        return rc;

    data->ioc_count = (__u32)rc;
    return 0;
}

/* ---- what is known of a peer then ------------------------------------------------------------ */

static const struct lnet_peer *peer_of(struct lnet_node *node, lnet_nid_t nid)
{
    const struct lnet_peer_ni *peer_ni =
        node->instance != NULL ? lnet_peer_ni_find(node->instance, nid) : NULL;

    return peer_ni != NULL ? peer_ni->peer : NULL;
}

static void set_peer(struct lnet_ioctl_ping_data *data, const struct lnet_peer *peer)
{
    if (peer == NULL)
        return;
    data->ping_id.nid = peer->primary;
    data->mr_info = peer->multi_rail;
}

static int ping_peer(struct lnet_ioctl_ping_data *data)
{
    struct lnet_node *node;
    int rc = ping(data->ping_id, (int)data->op_param, data->ping_buf, data->ping_count);

    if (rc < 0)
        return rc;
    node = lnet_enter("LNetCtl", true);
    if (node == NULL)
        return -ENODEV;
    set_peer(data, peer_of(node, data->ping_id.nid));
    lnet_leave(node, node->params.cost_other_ns);
    data->ping_count = (__u32)rc;
    return 0;
}

static int discover(struct lnet_ioctl_ping_data *data)
{
    struct lnet_node *node;
    const struct lnet_peer *peer;
    const struct lnet_peer_ni *peer_ni;
    uint32_t count = 0;
    int rc;

    if (data->ping_count == 0 || data->ping_id.nid == LNET_NID_ANY)
        return -EINVAL;
    if (data->ping_buf == NULL)
        return -EFAULT;
    node = lnet_enter("LNetCtl", true);
    if (node == NULL)
        return -ENODEV;
    if (data->ping_id.pid == LNET_PID_ANY)
        data->ping_id.pid = LNET_PID_LUSTRE;
    rc = lnet_discovery_again(node, data->ping_id.nid);
    peer = rc == 0 ? peer_of(node, data->ping_id.nid) : NULL;
    if (rc == 0 && peer == NULL)
        rc = -EHOSTUNREACH;
    if (rc == 0) {
        list_for_each_entry (peer_ni, &peer->nis, on_peer) {
            if (count < data->ping_count) {
                data->ping_buf[count].nid = peer_ni->nid;
                data->ping_buf[count].pid = data->ping_id.pid;
            }
            count++;
        }
        set_peer(data, peer);
        data->ping_count = count;
    }
    lnet_leave(node, node->params.cost_other_ns);
    return rc;
}

int lnet_control_ping(unsigned command, void *argument)
{
    switch (command) {
    case IOC_LIBCFS_LNET_DIST:
        return get_distance(argument);
    case IOC_LIBCFS_PING:
        return ping_command(argument);
    case IOC_LIBCFS_PING_PEER:
        return ping_peer(argument);
    case IOC_LIBCFS_DISCOVER:
        return discover(argument);
    default:
        return 1;
    }
}
