/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The arguments of a trace point, by name. */
#include <assert.h>
#include <string.h>

#include "trace_internal.h"

#define ADDED_MAX 4u

static struct {
    struct sim_trace_argument argument[ADDED_MAX];
    size_t count;
} added; /* of the next point */

static void add(struct sim_trace_argument argument)
{
    if (!sim_trace_on)
        return;
    assert(added.count < ADDED_MAX);
    added.argument[added.count++] = argument;
}

void sim_trace_add_text(const char *name, const char *text)
{
    add((struct sim_trace_argument){.name = name, .text = text});
}

void sim_trace_add_number(const char *name, uint64_t number)
{
    add((struct sim_trace_argument){.name = name, .number = number});
}

size_t sim_trace_show_rank(const struct sim_trace_point *point,
                           struct sim_trace_argument *arguments)
{
    *arguments = (struct sim_trace_argument){.name = "bytes", .number = point->value};
    if (strcmp(point->name, "end") == 0)
        arguments->name = "exit code";
    else if (strncmp(point->name, "job ", strlen("job ")) == 0)
        arguments->name = "ptag";
    return 1;
}

size_t sim_trace_arguments(const struct sim_trace_point *point, const struct sim_trace_track *kind,
                           bool has_value, const struct sim_trace_argument *given, size_t number,
                           struct sim_trace_argument *arguments)
{
    size_t used = 0, i;

    if (has_value && kind->show != NULL)
        used = kind->show(point, arguments);
    else if (has_value && added.count == 0)
        arguments[used++] = (struct sim_trace_argument){.name = "value", .number = point->value};
    assert(used <= SIM_TRACE_SHOWN_MAX);
    for (i = 0; i < added.count; i++)
        arguments[used++] = added.argument[i];
    added.count = 0;
    for (i = 0; i < number && used < SIM_TRACE_ARGUMENTS_MAX; i++)
        arguments[used++] = given[i];
    return used;
}
