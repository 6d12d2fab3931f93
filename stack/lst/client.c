/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RPCs that this node sends: a reply buffer is posted, then the bulk buffer, then the request is
 * sent. Their events may come in any order; the RPC has ended when all three have.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "internal.h"

/* The first error in the order of the protocol counts. */
static int outcome(const struct lst_rpc *rpc)
{
    if (rpc->status != 0)
        return rpc->status;
    if (rpc->request_slot.status != 0)
        return rpc->request_slot.status;
    if (rpc->reply_slot.status != 0)
        return rpc->reply_slot.status;
    if (rpc->reply_slot.bytes != sizeof(rpc->reply))
        return -EBADMSG;
    return 0;
}

static int check_reply(struct lst_rpc *rpc)
{
    if (rpc->reply.magic == __builtin_bswap32(LST_MAGIC))
        lst_message_swap(&rpc->reply);
    if (rpc->reply.magic != LST_MAGIC || rpc->reply.type != rpc->request.type + 1)
        return -EBADMSG;
    return 0;
}

static void finish(struct lst_rpc *rpc)
{
    int status = outcome(rpc);

    assert(!list_empty(&rpc->on_node)); /* it runs */
    if (status == 0)
        status = check_reply(rpc);
    /* A peer that reports an error leaves the bulk buffer alone. */
    if (status == 0 && rpc->reply.status == 0 && rpc->bulk != LST_NO_BULK)
        status = rpc->bulk_slot.status;
    rpc->status = status;
    list_del_init(&rpc->on_node);
    if (status != 0 && status != -ECANCELED)
        rpc->node->counters.rpc.errors++;
    rpc->done(rpc);
}

static void abort_slots(struct lst_rpc *rpc)
{
    lst_slot_abort(&rpc->request_slot);
    lst_slot_abort(&rpc->reply_slot);
    lst_slot_abort(&rpc->bulk_slot);
}

static void slot_ended(struct lst_rpc *rpc, const struct lst_slot *slot)
{
    bool failed = slot->status != 0;

    if (slot == &rpc->reply_slot && !failed && (check_reply(rpc) != 0 || rpc->reply.status != 0))
        lst_slot_abort(&rpc->bulk_slot);
    if (failed && !rpc->ending) {
        rpc->ending = true;
        abort_slots(rpc);
    }
    if (!rpc->request_slot.active && !rpc->reply_slot.active && !rpc->bulk_slot.active)
        finish(rpc);
}

static void request_ended(struct lst_slot *slot)
{
    slot_ended(container_of(slot, struct lst_rpc, request_slot), slot);
}
static void reply_ended(struct lst_slot *slot)
{
    slot_ended(container_of(slot, struct lst_rpc, reply_slot), slot);
}
static void bulk_ended(struct lst_slot *slot)
{
    slot_ended(container_of(slot, struct lst_rpc, bulk_slot), slot);
}

static int start_bulk(struct lst_rpc *rpc, uint64_t bits)
{
    if (rpc->bulk == LST_NO_BULK)
        return 0;
    if (rpc->request.type == LST_TYPE_TEST)
        rpc->request.test.bulk_bits = bits;
    else
        rpc->request.brw.bulk_bits = bits;
    return lst_slot_post(&rpc->bulk_slot, rpc->node, LST_RDMA_PORTAL, rpc->peer, bits,
                         LNET_INS_AFTER, rpc->bulk_memory, rpc->bulk_bytes,
                         rpc->bulk == LST_BULK_SINK ? LNET_MD_OP_PUT : LNET_MD_OP_GET);
}

void lst_rpc_start(struct lst_rpc *rpc, enum lst_type type)
{
    struct lst_node *node = rpc->node;
    uint64_t bits = node->next_bits++;
    int rc;

    assert(list_empty(&rpc->on_node) && rpc->done != NULL);
    assert(rpc->bulk == LST_NO_BULK || rpc->bulk_memory != NULL);
    rpc->status = 0;
    rpc->ending = false;
    rpc->request.magic = LST_MAGIC;
    rpc->request.version = LST_VERSION;
    rpc->request.type = type;
    rpc->request.reply_bits = bits;
    rpc->request_slot.ended = request_ended;
    rpc->reply_slot.ended = reply_ended;
    rpc->bulk_slot.ended = bulk_ended;
    rpc->bulk_slot.status = 0;
    rpc->deadline_ns = UINT64_MAX;
    if (node->parameters.rpc_timeout_s != 0)
        rpc->deadline_ns = port_now() + node->parameters.rpc_timeout_s * LST_NANOSECONDS;
    list_add_tail(&rpc->on_node, &node->rpcs);
    node->counters.rpc.rpcs_sent++;

    rc = lst_slot_post(&rpc->reply_slot, node, LST_RDMA_PORTAL, rpc->peer, bits, LNET_INS_AFTER,
                       &rpc->reply, sizeof(rpc->reply), LNET_MD_OP_PUT);
    if (rc == 0)
        rc = start_bulk(rpc, node->next_bits++);
    if (rc == 0)
        rc = lst_slot_put(&rpc->request_slot, node, LNET_NID_ANY, rpc->peer,
                          rpc->service < LST_FRAMEWORK_SERVICES ? LST_FRAMEWORK_PORTAL
                                                                : LST_TEST_PORTAL,
                          rpc->service, &rpc->request, sizeof(rpc->request));
    if (rc == 0)
        return;
    rpc->status = rc;
    rpc->ending = true;
    abort_slots(rpc);
    if (!rpc->reply_slot.active && !rpc->bulk_slot.active)
        finish(rpc);
}

void lst_rpc_abort(struct lst_rpc *rpc, int status)
{
    if (rpc->status == 0)
        rpc->status = status;
    rpc->ending = true;
    abort_slots(rpc);
}

uint64_t lst_rpc_expire(struct lst_node *node, uint64_t now_ns)
{
    uint64_t next = UINT64_MAX;
    struct lst_rpc *rpc, *after;

    list_for_each_entry_safe (rpc, after, &node->rpcs, on_node) {
        if (rpc->ending)
            continue;
        if (rpc->deadline_ns <= now_ns) {
            node->counters.rpc.rpcs_expired++;
            lst_rpc_abort(rpc, -ETIMEDOUT);
        } else if (rpc->deadline_ns < next) {
            next = rpc->deadline_ns;
        }
    }
    return next;
}
