/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>

#include "runner.h"

bool hw_argument_parse(const struct workload_arg *arg, const char *text, struct value *value,
                       char *problem, size_t size)
{
    bool ok = wl_value_parse(arg->type, text, arg->minimum, arg->maximum, arg->choices, value);

    if (!ok)
        snprintf(problem, size, "%s=%s is not allowed; allowed: %s%s%s%s%s", arg->name, text,
                 arg->choices != NULL     ? arg->choices
                 : arg->type == ARG_BOOL  ? "true, false"
                 : arg->type == ARG_BYTES ? "a size such as 4KiB"
                 : arg->type == ARG_TIME  ? "a time such as 10us"
                                          : "a number",
                 arg->minimum != NULL ? ", at least " : "",
                 arg->minimum != NULL ? arg->minimum : "", arg->maximum != NULL ? ", at most " : "",
                 arg->maximum != NULL ? arg->maximum : "");
    return ok;
}
