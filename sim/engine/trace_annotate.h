/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The arguments of an event, as the file has them. */
#ifndef JACQUARD_ENGINE_TRACE_ANNOTATE_H
#define JACQUARD_ENGINE_TRACE_ANNOTATE_H

#include "perfetto_trace.pb-c.h"
#include "trace_internal.h"

#define SIM_TRACE_VALUE_IID 1 /* the name "value", which the writer interns itself */

struct sim_trace_annotations {
    Perfetto__Protos__DebugAnnotation annotation[SIM_TRACE_ARGUMENTS_MAX],
        *annotations[SIM_TRACE_ARGUMENTS_MAX];
    size_t count;
    /* names that the file does not have yet: the packet of the event must have them */
    Perfetto__Protos__DebugAnnotationName name[SIM_TRACE_ARGUMENTS_MAX],
        *names[SIM_TRACE_ARGUMENTS_MAX];
    size_t name_count;
};

void sim_trace_annotate(struct sim_trace_annotations *annotations,
                        const struct sim_trace_argument *arguments, size_t number);
void sim_trace_annotations_reset(void); /* a file begins or ends */

#endif
