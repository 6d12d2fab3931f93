/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages between the kernels of two nodes, which carry datagrams. They go to the process that
 * owns the addressed instance. */
#include "transaction.h"

#include "api/datagram.h"

bool aries_live_datagram_arrived(const struct aries_live_datagram *datagram, uint8_t ptag,
                                 uint32_t to_node)
{
    struct aries_fabric *fabric = aries_live.fabric;
    struct aries_datagram_message message = {.ptag = ptag};

    if (datagram->from_node >= fabric->nodes || datagram->kind > ARIES_DATAGRAM_REFUSE ||
        datagram->length > GNI_DATAGRAM_MAXSIZE)
        return true; /* invalid: ignored */
    message.kind = (enum aries_datagram_kind)datagram->kind;
    message.from.nic = &fabric->nics[datagram->from_node];
    message.from.pe = message.from.nic->pe_addr;
    message.from.inst_id = datagram->from_id;
    message.to.nic = &fabric->nics[to_node];
    message.to.pe = message.to.nic->pe_addr;
    message.to.inst_id = datagram->to_id;
    message.cookie = datagram->cookie;
    message.number = datagram->number;
    message.about = datagram->about;
    message.length = datagram->length;
    memcpy(message.data, datagram->data, datagram->length);
    return aries_datagram_arrived(&message);
}

void aries_live_launch_datagram(struct aries_live_op *op)
{
    const struct aries_datagram_message *message = op->message;
    uint32_t bytes = (uint32_t)offsetof(struct aries_live_datagram, data) + message->length;
    struct aries_live_datagram datagram = {
        .number = message->number,
        .about = message->about,
        .from_node = message->from.nic->node,
        .from_id = message->from.inst_id,
        .to_id = message->to.inst_id,
        .cookie = message->cookie,
        .kind = message->kind,
        .length = message->length,
    };
    struct aries_live_link *link =
        aries_live_find_owner(message->to.nic->node, ARIES_LIVE_NAME_INSTANCE,
                              (uint64_t)message->cookie << 32 | message->to.inst_id, message->ptag);
    struct aries_live_request *request;
    struct aries_live_txn *txn;

    memcpy(datagram.data, message->data, message->length);
    if (link == &aries_live_self_link || (link == NULL && message->to.nic == aries_live.hw)) {
        op->overrun = !aries_live_datagram_arrived(&datagram, message->ptag, aries_live.hw->node);
        aries_live_op_end(op, 0, 0);
        return;
    }
    request = link != NULL && !link->gone
                  ? shm_reserve(link->peer, SHM_REQUEST, (uint32_t)sizeof(*request) + bytes)
                  : NULL;
    if (request == NULL) { /* no such process, or no room: the kernel tries again */
        op->overrun = true;
        aries_live_op_end(op, 0, 0);
        return;
    }
    memset(request, 0, sizeof(*request));
    request->ptag = message->ptag;
    request->number = link->txn_next;
    memcpy(request + 1, &datagram, bytes);
    op->flow = link->flow_to + link->txn_next;
    txn = aries_live_txn_new(link);
    *txn = (struct aries_live_txn){.op = op, .reply = true};
    op->open = 1;
    txn->position = shm_publish(link->peer, SHM_REQUEST, ARIES_LIVE_DATAGRAM,
                                (uint32_t)sizeof(*request) + bytes);
}

void aries_hw_kernel_send(struct aries_datagram_message *message, uint32_t bytes)
{
    const struct aries_work work = {
        .op = ARIES_CQWRITE,
        .ptag = message->ptag,
        .route = NET_ROUTE_ADAPTIVE_0,
        .target = message->to.nic,
        .length = bytes,
    };
    struct aries_live_op *op = aries_live_op_new(NULL, &work, NULL);

    op->message = message;
    if (sim_likely(!aries_live.inspected) || aries_live_path_begin(op, 0))
        aries_live_launch_datagram(op);
}
