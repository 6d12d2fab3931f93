/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What `lnet.show` of the scenario wanted to see, as lnetctl prints it. */
#include "report/report.h"

#include "cluster/lnet.h"
#include "scenario/value.h"

void report_lnet_json(json_t *result, const struct cluster *cluster)
{
    const GPtrArray *shown = cluster_lnet_shown(cluster);
    json_t *array;
    guint i;

    if (shown == NULL || shown->len == 0)
        return;
    array = json_array();
    for (i = 0; i < shown->len; i++) {
        const struct cluster_lnet_shown *one = g_ptr_array_index(shown, i);
        json_t *part = json_object();

        json_object_set_new(part, "node", json_integer(one->node));
        json_object_set_new(part, "time_ps", json_integer((json_int_t)one->time));
        json_object_set_new(part, "command", json_string_nocheck(one->command));
        json_object_set_new(part, "output", json_string_nocheck(one->text));
        json_array_append_new(array, part);
    }
    json_object_set_new(result, "lnetctl", array);
}

void report_lnet_print(const json_t *shown, GString *out)
{
    const json_t *one;
    char when[32];
    size_t i;

    json_array_foreach (shown, i, one) {
        scenario_format_ps(when, sizeof(when), json_number_value(json_object_get(one, "time_ps")));
        g_string_append_printf(out, "node %.0f at %s: lnetctl %s\n%s",
                               json_number_value(json_object_get(one, "node")), when,
                               json_string_value(json_object_get(one, "command")),
                               json_string_value(json_object_get(one, "output")));
    }
}
