/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RPCs that this node answers. Each service has request buffers; the portals are lazy, so a request
 * that finds none waits for one. Bulk data moves before the reply.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static void post_buffer(struct lst_server_rpc *rpc)
{
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    bool framework = rpc->service < LST_FRAMEWORK_SERVICES;

    assert(!rpc->request_slot.active && !rpc->bulk_slot.active && !rpc->reply_slot.active);
    rpc->busy = false;
    if (rpc->node->stopping)
        return;
    lst_slot_post(&rpc->request_slot, rpc->node, framework ? LST_FRAMEWORK_PORTAL : LST_TEST_PORTAL,
                  any, rpc->service, framework ? LNET_INS_AFTER : LNET_INS_LOCAL, &rpc->request,
                  sizeof(rpc->request), LNET_MD_OP_PUT);
}

/* ---- the life of an RPC ---------------------------------------------------------------------- */

static void reply_ended(struct lst_slot *slot)
{
    struct lst_server_rpc *rpc = container_of(slot, struct lst_server_rpc, reply_slot);

    if (slot->status != 0)
        rpc->node->counters.rpc.errors++;
    post_buffer(rpc);
}

void lst_server_reply(struct lst_server_rpc *rpc)
{
    int rc;

    assert(rpc->busy && !rpc->bulk_slot.active);
    rpc->reply.magic = LST_MAGIC;
    rpc->reply.version = LST_VERSION;
    rpc->reply.type = rpc->request.type + 1;
    rpc->reply.features = rpc->node->session.features;
    rc = lst_slot_put(&rpc->reply_slot, rpc->node, rpc->self, rpc->peer, LST_RDMA_PORTAL,
                      rpc->request.reply_bits, &rpc->reply, sizeof(rpc->reply));
    if (rc != 0) {
        rpc->node->counters.rpc.errors++;
        post_buffer(rpc);
    }
}

static void bulk_ended(struct lst_slot *slot)
{
    struct lst_server_rpc *rpc = container_of(slot, struct lst_server_rpc, bulk_slot);

    rpc->bulk_status = slot->status;
    if (slot->status != 0)
        rpc->node->counters.rpc.errors++;
    rpc->bulk_done(rpc);
}

void lst_server_bulk(struct lst_server_rpc *rpc, bool fetch, uint64_t bits, uint32_t bytes)
{
    struct lst_counters *counters = &rpc->node->counters;
    int rc;

    assert(rpc->busy && rpc->bulk_done != NULL && rpc->bulk_memory != NULL);
    assert(bytes <= rpc->bulk_bytes);
    if (fetch) {
        counters->rpc.bulk_get += bytes;
        rc = lst_slot_get(&rpc->bulk_slot, rpc->node, rpc->self, rpc->peer, LST_RDMA_PORTAL, bits,
                          rpc->bulk_memory, bytes);
    } else {
        counters->rpc.bulk_put += bytes;
        rc = lst_slot_put(&rpc->bulk_slot, rpc->node, rpc->self, rpc->peer, LST_RDMA_PORTAL, bits,
                          rpc->bulk_memory, bytes);
    }
    if (rc == 0)
        return;
    rpc->bulk_status = rc;
    rpc->bulk_done(rpc);
}

static void handle(struct lst_server_rpc *rpc)
{
    if (rpc->service < LST_FRAMEWORK_SERVICES)
        lst_session_handle(rpc);
    else if (rpc->service == LST_SERVICE_PING)
        lst_ping_handle(rpc);
    else
        lst_brw_handle(rpc);
}

static bool type_fits(const struct lst_server_rpc *rpc)
{
    static const uint32_t types[LST_SERVICES] = {
        [LST_SERVICE_DEBUG] = LST_TYPE_DEBUG,
        [LST_SERVICE_MAKE_SESSION] = LST_TYPE_MAKE_SESSION,
        [LST_SERVICE_REMOVE_SESSION] = LST_TYPE_REMOVE_SESSION,
        [LST_SERVICE_BATCH] = LST_TYPE_BATCH,
        [LST_SERVICE_TEST] = LST_TYPE_TEST,
        [LST_SERVICE_STAT] = LST_TYPE_STAT,
        [LST_SERVICE_JOIN] = LST_TYPE_JOIN,
        [LST_SERVICE_BRW] = LST_TYPE_BRW,
        [LST_SERVICE_PING] = LST_TYPE_PING,
    };

    return rpc->request.type == types[rpc->service];
}

static void request_ended(struct lst_slot *slot)
{
    struct lst_server_rpc *rpc = container_of(slot, struct lst_server_rpc, request_slot);

    if (slot->status != 0) { /* the node stops */
        rpc->busy = false;
        return;
    }
    if (rpc->request.magic == __builtin_bswap32(LST_MAGIC))
        lst_message_swap(&rpc->request);
    if (slot->bytes != sizeof(rpc->request) || rpc->request.magic != LST_MAGIC || !type_fits(rpc)) {
        rpc->node->counters.rpc.rpcs_dropped++;
        post_buffer(rpc);
        return;
    }
    rpc->busy = true;
    rpc->node->counters.rpc.rpcs_received++;
    rpc->peer = slot->initiator;
    rpc->self = slot->self;
    memset(&rpc->reply, 0, sizeof(rpc->reply));
    handle(rpc);
}

/* ---- services -------------------------------------------------------------------------------- */

int lst_service_grow(struct lst_node *node, enum lst_service service, uint32_t buffers)
{
    uint32_t room = LST_BUFFERS_MAX - node->buffers[service];

    if (buffers > room)
        buffers = room;
    while (buffers-- > 0) {
        struct lst_server_rpc *rpc = calloc(1, sizeof(*rpc));

        if (rpc == NULL)
            return -ENOMEM;
        rpc->node = node;
        rpc->service = service;
        rpc->request_slot.ended = request_ended;
        rpc->bulk_slot.ended = bulk_ended;
        rpc->reply_slot.ended = reply_ended;
        list_add_tail(&rpc->on_service, &node->services[service]);
        node->buffers[service]++;
        post_buffer(rpc);
    }
    return 0;
}

int lst_services_start(struct lst_node *node)
{
    uint32_t framework = node->parameters.request_buffers / 16 + 1, service;
    int rc = LNetSetLazyPortal(LST_TEST_PORTAL);

    if (rc == 0)
        rc = LNetSetLazyPortal(LST_FRAMEWORK_PORTAL);
    for (service = 0; rc == 0 && service < LST_FRAMEWORK_SERVICES; service++)
        rc = lst_service_grow(node, service, framework);
    if (rc == 0)
        rc = lst_service_grow(node, LST_SERVICE_BRW, node->parameters.request_buffers);
    if (rc == 0)
        rc = lst_service_grow(node, LST_SERVICE_PING, node->parameters.request_buffers);
    return rc;
}

void lst_services_stop(struct lst_node *node)
{
    struct lst_server_rpc *rpc;
    uint32_t service;

    LNetClearLazyPortal(LST_TEST_PORTAL);
    LNetClearLazyPortal(LST_FRAMEWORK_PORTAL);
    for (service = 0; service < LST_SERVICES; service++)
        list_for_each_entry (rpc, &node->services[service], on_service) {
            lst_slot_abort(&rpc->request_slot);
            lst_slot_abort(&rpc->bulk_slot);
            lst_slot_abort(&rpc->reply_slot);
        }
}
