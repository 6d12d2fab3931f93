/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "call_trace.h"

#include <rdma/fi_errno.h>

static void trace_peer(fi_addr_t peer)
{
    if (peer == FI_ADDR_UNSPEC)
        port_trace_text("peer", "any");
    else
        port_trace_number("peer", peer);
}

void gnip_trace_message(uint64_t bytes, fi_addr_t peer, uint64_t tag, uint64_t flags)
{
    port_trace_number("bytes", bytes);
    trace_peer(peer);
    if (flags & FI_TAGGED)
        port_trace_number("tag", tag);
}

void gnip_trace_rma(uint64_t bytes, fi_addr_t peer, uint64_t key)
{
    port_trace_number("bytes", bytes);
    trace_peer(peer);
    port_trace_number("key", key);
}

void gnip_trace_result(ssize_t rc)
{
    switch (-rc) {
    case FI_EAGAIN:
        port_trace_text("result", "-FI_EAGAIN");
        break;
    case FI_EINVAL:
        port_trace_text("result", "-FI_EINVAL");
        break;
    case FI_EOPBADSTATE:
        port_trace_text("result", "-FI_EOPBADSTATE");
        break;
    case FI_EAVAIL:
        port_trace_text("result", "-FI_EAVAIL");
        break;
    default:
        port_trace_number("errno", (uint64_t)-rc);
    }
}
