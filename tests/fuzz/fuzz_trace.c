/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libFuzzer target: the trace reader accepts any bytes. */
#include <stdlib.h>

#include "trace_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct trace_summary summary;
    char *error = NULL;

    /* A refusal has a message, and the counts are possible for this length. */
    if (trace_read_bytes(bytes, length, &summary, &error) != (error == NULL))
        abort();
    if (summary.packets > length || summary.single_ended_flows > summary.flows ||
        summary.first > summary.last)
        abort();
    free(error);
    return 0;
}
