/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Forwarding. A message for another network takes a credit of the peer that sent it and a buffer of
 * the smallest pool that fits, waiting in a FIFO for either; when it has been received into the
 * buffer it is sent on.
 */
#include "core/ni.h"

#include <stdlib.h>
#include <string.h>

struct lnet_router_buffer {
    struct list_head on_pool;
    struct lnet_router_pool *pool;
    struct kvec whole;
};

static const uint32_t pages_of[LNET_POOLS] = {0, 1, LNET_MAX_PAYLOAD / 4096};
static const int defaults[LNET_POOLS] = {2048, 16384, 1024};
static const int minimums[LNET_POOLS] = {512, 4096, 256};

static struct lnet_router_pool *pool_for(struct lnet_instance *instance, uint32_t bytes)
{
    uint32_t i = 0;

    while (i + 1 < LNET_POOLS && bytes > pages_of[i] * PAGE_SIZE)
        i++;
    assert(instance->pools != NULL && bytes <= pages_of[i] * PAGE_SIZE);
    return &instance->pools[i];
}

/* Memory is allocated when a buffer is needed, not when a router starts. */
static struct lnet_router_buffer *buffer_get(struct lnet_router_pool *pool)
{
    struct lnet_router_buffer *buffer;

    if (!list_empty(&pool->free)) {
        buffer = list_first_entry(&pool->free, struct lnet_router_buffer, on_pool);
        list_del(&buffer->on_pool);
        return buffer;
    }
    buffer = calloc(1, sizeof(*buffer));
    if (buffer == NULL)
        return NULL;

    INIT_LIST_HEAD(&buffer->on_pool);
    buffer->pool = pool;
    buffer->whole.iov_len = pool->pages * PAGE_SIZE;
    if (pool->pages > 0) {
        buffer->whole.iov_base = aligned_alloc(PAGE_SIZE, buffer->whole.iov_len);
        if (buffer->whole.iov_base == NULL) {
            free(buffer);
            return NULL;
        }
    }
    pool->allocated++;
    return buffer;
}

static void buffer_free(struct lnet_router_buffer *buffer)
{
    list_del(&buffer->on_pool);
    buffer->pool->allocated--;
    free(buffer->whole.iov_base);
    free(buffer);
}

/* ---- admission ------------------------------------------------------------------------------- */

/* LNET_POST_WAIT: it is on the list. A driver that can copies the message aside first. */
static int wait_on(struct lnet_msg *msg, struct list_head *list)
{
    struct lnet_ni *ni = msg->rx_ni;

    assert(list_empty(&msg->on_list) && msg->buffer == NULL);
    if (!msg->rx_ready_delay && ni->lnd->eager_receive != NULL) {
        int rc = ni->lnd->eager_receive(ni, msg->in, msg, &msg->in);

        if (rc != 0)
            return rc;
    }
    msg->rx_ready_delay = true;
    msg->rx_delayed = true;
    list_add_tail(&msg->on_list, list);
    return LNET_POST_WAIT;
}

static void use_buffer(struct lnet_msg *msg, struct lnet_router_buffer *buffer)
{
    assert(msg->router_peer_credit && msg->router_buffer_credit);
    assert(buffer->whole.iov_len >= msg->header.payload_length);
    msg->buffer = buffer;
    msg->payload.count = 1;
    msg->payload.fragment = &buffer->whole;
    msg->payload.length = (uint32_t)buffer->whole.iov_len;
    msg->payload_offset = 0;
}

int lnet_router_admit(struct lnet_msg *msg)
{
    struct lnet_instance *instance = msg->node->instance;
    struct lnet_peer_ni *peer = msg->rx_peer;
    struct lnet_router_pool *pool;

    if (!instance->routing)
        return -ECANCELED;
    pool = pool_for(instance, msg->header.payload_length);
    msg->routing = true;
    msg->target.nid = msg->header.dest_nid;
    msg->target.pid = msg->header.dest_pid;
    if (!msg->router_peer_credit) {
        msg->router_peer_credit = true;
        peer->router_credits--;
        if (peer->router_credits < peer->router_credits_min)
            peer->router_credits_min = peer->router_credits;
        if (peer->router_credits < 0)
            return wait_on(msg, &peer->router_delayed);
    }
    if (!msg->router_buffer_credit) {
        msg->router_buffer_credit = true;
        pool->credits--;
        if (pool->credits < pool->credits_min)
            pool->credits_min = pool->credits;
        if (pool->credits < 0)
            return wait_on(msg, &pool->waiting);
    }
    if (msg->buffer == NULL) {
        struct lnet_router_buffer *buffer = buffer_get(pool);

        if (buffer == NULL)
            return -ENOMEM;
        use_buffer(msg, buffer);
    }
    return LNET_POST_OK;
}

void lnet_router_resume(struct lnet_msg *msg)
{
    struct lnet_ni *ni = msg->rx_ni;
    void *in = msg->in;
    uint32_t type = msg->header.type, bytes = msg->header.payload_length;
    int rc = lnet_router_admit(msg);

    if (rc < 0) {
        lnet_record_dropped(msg->node, &msg->header, "no router buffer");
        lnet_finalize(msg, rc);
        lnet_drop_incoming(ni, in, type, bytes);
    } else if (rc == LNET_POST_OK) {
        lnet_ni_receive(ni, in, msg, true, 0, bytes, bytes);
    }
}

static void wake_first(struct lnet_node *node, struct list_head *waiting)
{
    if (!list_empty(waiting))
        list_move_tail(waiting->next, &node->instance->ready);
}

void lnet_router_return_credits(struct lnet_msg *msg)
{
    struct lnet_peer_ni *peer = msg->rx_peer;

    if (msg->router_buffer_credit) {
        struct lnet_router_pool *pool = pool_for(msg->node->instance, msg->header.payload_length);

        msg->router_buffer_credit = false;
        if (msg->buffer != NULL) {
            assert(msg->buffer->pool == pool && list_empty(&msg->buffer->on_pool));
            list_add(&msg->buffer->on_pool, &pool->free);
            msg->buffer = NULL;
        }
        pool->credits++;
        assert(pool->credits <= pool->total);
        if (pool->credits <= 0)
            wake_first(msg->node, &pool->waiting);
    }
    if (msg->router_peer_credit) {
        msg->router_peer_credit = false;
        peer->router_credits++;
        if (peer->router_credits <= 0)
            wake_first(msg->node, &peer->router_delayed);
    }
}

/* ---- forwarding ------------------------------------------------------------------------------ */

static void arm_forward(struct lnet_instance *instance)
{
    if (!list_empty(&instance->forwarding) && !sim_timer_armed(&instance->forward))
        sim_timer_arm(
            &instance->forward,
            list_first_entry(&instance->forwarding, struct lnet_msg, on_list)->release_at);
}

static void forward_fired(struct sim_event *event)
{
    struct sim_timer *timer = sim_container_of(event, struct sim_timer, event);
    struct lnet_instance *instance = sim_container_of(timer, struct lnet_instance, forward);
    struct lnet_node *node = instance->node;

    lnet_host_lock(node);
    while (!list_empty(&instance->forwarding)) {
        struct lnet_msg *msg = list_first_entry(&instance->forwarding, struct lnet_msg, on_list);
        int rc;

        if (msg->release_at > sim_now())
            break;
        list_del_init(&msg->on_list);
        rc = lnet_send(msg, LNET_NID_ANY, NULL);
        if (rc < 0)
            lnet_finalize(msg, rc);
    }
    arm_forward(instance);
    lnet_host_unlock(node);
}

int lnet_router_forward(struct lnet_msg *msg)
{
    struct lnet_node *node = msg->node;
    struct lnet_instance *instance = node->instance;

    assert(msg->routing && msg->buffer != NULL && list_empty(&msg->on_list));
    msg->in = NULL;
    if (node->params.cost_route_ns == 0)
        return lnet_send(msg, LNET_NID_ANY, NULL);

    msg->release_at = sim_now() + (sim_time_t)node->params.cost_route_ns * SIM_NS;
    list_add_tail(&msg->on_list, &instance->forwarding);
    arm_forward(instance);
    return 0;
}

/* ---- switching forwarding on and off ------------------------------------------------------- */

static int pool_size(const struct lnet_params *params, int number, int *size)
{
    const int settings[LNET_POOLS] = {params->tiny_router_buffers, params->small_router_buffers,
                                      params->large_router_buffers};

    if (settings[number] < 0)
        return -EINVAL;
    *size = settings[number] != 0 ? settings[number] : defaults[number];
    if (*size < minimums[number] && params->router_buffers_exact == 0)
        *size = minimums[number];
    return 0;
}

static int pools_start(struct lnet_node *node)
{
    struct lnet_instance *instance = node->instance;
    int i;

    if (instance->pools == NULL)
        instance->pools = calloc(LNET_POOLS, sizeof(instance->pools[0]));
    if (instance->pools == NULL)
        return -ENOMEM;

    for (i = 0; i < LNET_POOLS; i++) {
        struct lnet_router_pool *pool = &instance->pools[i];
        int size, rc = pool_size(&node->params, i, &size);

        if (rc != 0)
            return rc;
        if (pool->free.next == NULL) {
            INIT_LIST_HEAD(&pool->free);
            INIT_LIST_HEAD(&pool->waiting);
            pool->pages = pages_of[i];
        }
        pool->credits += size - pool->total;
        pool->total = size;
        pool->credits_min = pool->credits;
    }
    instance->routing = true;
    return 0;
}

/* ni not NULL: only what came over that NI. */
static void drop_waiting(struct list_head *waiting, const struct lnet_ni *of)
{
    struct lnet_msg *msg, *next;
    LIST_HEAD(dropped);

    list_for_each_entry_safe (msg, next, waiting, on_list) {
        if (of == NULL || msg->rx_ni == of)
            list_move_tail(&msg->on_list, &dropped);
    }
    while (!list_empty(&dropped)) {
        struct lnet_ni *ni;
        void *in;
        uint32_t type, bytes;

        msg = list_first_entry(&dropped, struct lnet_msg, on_list);
        ni = msg->rx_ni;
        in = msg->in;
        type = msg->header.type;
        bytes = msg->header.payload_length;
        list_del(&msg->on_list);
        assert(msg->router_peer_credit && msg->buffer == NULL);
        /* It gives back what it waited for without waking the next one. */
        if (msg->router_buffer_credit) {
            pool_for(msg->node->instance, bytes)->credits++;
            msg->router_buffer_credit = false;
        } else {
            msg->rx_peer->router_credits++;
            msg->router_peer_credit = false;
        }
        lnet_record_dropped(msg->node, &msg->header,
                            of == NULL ? "routing switched off" : "interface removed");
        lnet_finalize(msg, -ECANCELED);
        lnet_drop_incoming(ni, in, type, bytes);
    }
}

static void drop_all_waiting(struct lnet_instance *instance, const struct lnet_ni *ni)
{
    struct lnet_peer *peer;
    struct lnet_peer_ni *peer_ni;
    int i;

    if (instance->pools == NULL)
        return;

    list_for_each_entry (peer, &instance->peers, on_node) {
        list_for_each_entry (peer_ni, &peer->nis, on_peer)
            drop_waiting(&peer_ni->router_delayed, ni);
    }
    for (i = 0; i < LNET_POOLS; i++)
        drop_waiting(&instance->pools[i].waiting, ni);
}

static void pools_stop(struct lnet_node *node)
{
    node->instance->routing = false;
    drop_all_waiting(node->instance, NULL);
}

void lnet_router_flush_ni(struct lnet_ni *ni)
{
    drop_all_waiting(ni->node->instance, ni);
}

int lnet_router_set(struct lnet_node *node, bool on)
{
    int rc = 0;

    if (on)
        rc = pools_start(node);
    else
        pools_stop(node);
    if (node->instance->ping != NULL)
        lnet_ping_refresh(node);
    return rc;
}

int lnet_router_resize(struct lnet_node *node, int tiny, int small, int large)
{
    struct lnet_instance *instance = node->instance;
    int before[LNET_POOLS], i, rc;

    if (tiny >= 0)
        node->params.tiny_router_buffers = tiny;
    if (small >= 0)
        node->params.small_router_buffers = small;
    if (large >= 0)
        node->params.large_router_buffers = large;
    if (!instance->routing)
        return 0;

    for (i = 0; i < LNET_POOLS; i++)
        before[i] = instance->pools[i].credits;
    rc = pools_start(node);
    /* Each new buffer is for a message that waits. */
    for (i = 0; i < LNET_POOLS; i++) {
        for (; before[i] < 0 && before[i] < instance->pools[i].credits; before[i]++)
            wake_first(node, &instance->pools[i].waiting);
    }
    lnet_post_ready(node);
    return rc;
}

int lnet_router_start(struct lnet_node *node)
{
    const char *forwarding =
        lnet_setting(node->settings, node->setting_count, "lnet", "forwarding");
    bool routing = node->instance->routing; /* `routes` has an own NID as gateway */

    if (forwarding != NULL && strcmp(forwarding, "enabled") == 0)
        routing = true;
    else if (forwarding != NULL && strcmp(forwarding, "disabled") == 0)
        routing = false;
    else if (forwarding != NULL && *forwarding != '\0')
        return -EINVAL;

    node->instance->routing = false;
    node->instance->forward.event.fire = forward_fired;
    return routing ? pools_start(node) : 0;
}

void lnet_router_stop(struct lnet_node *node)
{
    struct list_head *forwarding = &node->instance->forwarding;

    pools_stop(node);
    sim_timer_cancel(&node->instance->forward);
    while (!list_empty(forwarding)) {
        struct lnet_msg *msg = list_first_entry(forwarding, struct lnet_msg, on_list);

        list_del_init(&msg->on_list);
        lnet_record_dropped(node, &msg->header, "LNet stopped");
        lnet_finalize(msg, -ESHUTDOWN);
    }
}

void lnet_router_free(struct lnet_instance *instance)
{
    int i;

    for (i = 0; instance->pools != NULL && i < LNET_POOLS; i++) {
        struct lnet_router_pool *pool = &instance->pools[i];

        while (pool->free.next != NULL && !list_empty(&pool->free))
            buffer_free(list_first_entry(&pool->free, struct lnet_router_buffer, on_pool));
        assert(pool->allocated == 0);
    }
    free(instance->pools);
    instance->pools = NULL;
}
