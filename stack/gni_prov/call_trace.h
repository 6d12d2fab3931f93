/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arguments of libfabric's calls, for traces of simulations. An address of the program is never in
 * a trace. */
#ifndef GNIP_CALL_TRACE_H
#define GNIP_CALL_TRACE_H

#include "gnip.h"
#include "port/port.h"

/* flags: with FI_TAGGED the tag counts. */
void gnip_trace_message(uint64_t bytes, fi_addr_t peer, uint64_t tag, uint64_t flags)
    __attribute__((cold));
void gnip_trace_rma(uint64_t bytes, fi_addr_t peer, uint64_t key) __attribute__((cold));
void gnip_trace_result(ssize_t rc) __attribute__((cold));

/* Adds the error that a data call returns to the trace, and returns it. */
static inline ssize_t gnip_traced(ssize_t rc)
{
    if (gnip_unlikely(rc < 0) && port_tracing())
        gnip_trace_result(rc);
    return rc;
}

#endif
