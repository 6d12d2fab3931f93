/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages, descriptors and match entries come from free lists, which all nodes of the process
 * share: a steady stream of messages allocates nothing. */
#include "core/internal.h"

#include <stdlib.h>
#include <string.h>

#include "engine/outside.h"

struct free_object {
    struct free_object *next;
};

struct pool {
    size_t bytes;
    struct free_object *free;
};

static void *pool_get(struct pool *pool)
{
    struct free_object *object = pool->free;

    if (object == NULL) {
        sim_outside_begin();
        object = malloc(pool->bytes);
        sim_outside_end();
        return object;
    }
    pool->free = object->next;
    return object;
}

static void pool_put(struct pool *pool, void *memory)
{
    struct free_object *object = memory;

    object->next = pool->free;
    pool->free = object;
}

static struct pool msgs = {sizeof(struct lnet_msg), NULL};
static struct pool mds = {sizeof(struct lnet_libmd), NULL};
static struct pool mes = {sizeof(struct lnet_me), NULL};
static struct pool short_lists = {16 * sizeof(struct kvec), NULL};
static struct pool long_lists = {LNET_MAX_IOV * sizeof(struct kvec), NULL};

struct lnet_msg *lnet_msg_new(struct lnet_node *node)
{
    struct lnet_msg *msg = pool_get(&msgs);

    if (msg == NULL)
        return NULL;

    memset(msg, 0, sizeof(*msg));
    INIT_LIST_HEAD(&msg->on_list);
    msg->node = node;
    msg->source_argument = LNET_NID_ANY;
    list_add_tail(&msg->on_node, &node->instance->messages);
    return msg;
}

void lnet_msg_free(struct lnet_msg *msg)
{
    assert(list_empty(&msg->on_list));
    assert(!msg->tx_committed && !msg->rx_committed);
    assert(msg->md == NULL && msg->buffer == NULL);
    list_del(&msg->on_node);
    pool_put(&msgs, msg);
}

static struct pool *list_pool(uint32_t fragments)
{
    return fragments <= 16 ? &short_lists : &long_lists;
}

struct lnet_libmd *lnet_md_new(uint32_t fragments)
{
    struct lnet_libmd *md = pool_get(&mds);

    if (md == NULL)
        return NULL;

    memset(md, 0, sizeof(*md));
    INIT_LIST_HEAD(&md->on_node);
    INIT_LIST_HEAD(&md->on_tracker);
    md->fragments.count = fragments;
    md->fragments.fragment = &md->inline_fragment;
    if (fragments > 1) {
        md->fragments.fragment = pool_get(list_pool(fragments));
        if (md->fragments.fragment == NULL) {
            pool_put(&mds, md);
            return NULL;
        }
    }
    return md;
}

void lnet_md_free(struct lnet_libmd *md)
{
    assert(list_empty(&md->on_node) && list_empty(&md->on_tracker));
    if (md->fragments.fragment != &md->inline_fragment)
        pool_put(list_pool(md->fragments.count), (void *)md->fragments.fragment);
    pool_put(&mds, md);
}

struct lnet_me *lnet_me_new(void)
{
    struct lnet_me *me = pool_get(&mes);

    if (me != NULL) {
        memset(me, 0, sizeof(*me));
        INIT_LIST_HEAD(&me->on_list);
    }
    return me;
}

void lnet_me_free(struct lnet_me *me)
{
    assert(list_empty(&me->on_list));
    pool_put(&mes, me);
}
