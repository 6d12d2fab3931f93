/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of arguments are in the file once; events have their numbers. */
#include "trace_annotate.h"

#include <assert.h>
#include <string.h>

#include "engine/random.h"

static struct sim_trace_map iids; /* hash of a name → its number */
static uint64_t last = SIM_TRACE_VALUE_IID;

static uint64_t intern(struct sim_trace_annotations *annotations, const char *name)
{
    Perfetto__Protos__DebugAnnotationName *entry;
    uint64_t *iid;

    if (strcmp(name, "value") == 0)
        return SIM_TRACE_VALUE_IID;
    iid = sim_trace_map_at(&iids, sim_hash_string(name, 0), 0);
    if (*iid != 0)
        return *iid;
    *iid = ++last;
    entry = &annotations->name[annotations->name_count];
    annotations->names[annotations->name_count++] = entry;
    perfetto__protos__debug_annotation_name__init(entry);
    entry->has_iid = 1;
    entry->iid = *iid;
    entry->name = (char *)name;
    return *iid;
}

void sim_trace_annotate(struct sim_trace_annotations *annotations,
                        const struct sim_trace_argument *arguments, size_t number)
{
    size_t i;

    assert(number <= SIM_TRACE_ARGUMENTS_MAX);
    annotations->count = number;
    annotations->name_count = 0;
    for (i = 0; i < number; i++) {
        Perfetto__Protos__DebugAnnotation *at = &annotations->annotation[i];

        annotations->annotations[i] = at;
        perfetto__protos__debug_annotation__init(at);
        at->has_name_iid = 1;
        at->name_iid = intern(annotations, arguments[i].name);
        at->string_value = (char *)arguments[i].text;
        at->has_uint_value = arguments[i].text == NULL;
        at->uint_value = arguments[i].number;
    }
}

void sim_trace_annotations_reset(void)
{
    sim_trace_map_free(&iids);
    last = SIM_TRACE_VALUE_IID;
}
