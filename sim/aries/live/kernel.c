/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages between the kernels of two nodes, which carry datagrams: to the process that has the
 * instance. */
#include "backend.h"

#include "api/datagram.h"

bool aries_live_datagram_arrived(const struct aries_live_datagram *datagram, uint8_t ptag,
                                 uint32_t to_node)
{
    struct aries_fabric *fabric = aries_live.fabric;
    struct aries_datagram_message message = {.ptag = ptag};

    if (datagram->from_node >= fabric->nodes || datagram->kind > ARIES_DATAGRAM_REFUSE ||
        datagram->length > GNI_DATAGRAM_MAXSIZE)
        return true; /* nonsense: dealt with */
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

void aries_hw_kernel_send(struct aries_datagram_message *message, uint32_t bytes)
{
    aries_live_datagram_send(message, bytes);
}
