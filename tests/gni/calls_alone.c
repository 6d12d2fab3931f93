/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Stand-ins of the port's calls, for tests that bring a port of their own: nothing follows them. */
#include "port/port.h"

uintptr_t port_call_begin(const char *name)
{
    (void)name;
    return 0;
}

void port_call_end(uintptr_t outer)
{
    (void)outer;
}

void port_poll_mark(uint32_t id)
{
    (void)id;
}

uint32_t port_new_id(void)
{
    return 0;
}

bool port_checks(void)
{
    return false;
}

bool port_tracing(void)
{
    return false;
}

void port_trace_number(const char *name, uint64_t number)
{
    (void)name, (void)number;
}

void port_trace_text(const char *name, const char *text)
{
    (void)name, (void)text;
}
