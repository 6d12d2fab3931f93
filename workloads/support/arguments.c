/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/arguments.h"

#include <string.h>

/* An argument that the workload did not declare is a bug of the workload: the job fails, the value
 * is zero. */
static const struct value *argument(const struct rank *rank, const char *name)
{
    static const struct value nothing = {.text = ""};
    const struct workload *workload = rank_workload(rank);
    const struct workload_arg *args = workload->args;
    size_t i;

    for (i = 0; args != NULL && args[i].name != NULL; i++)
        if (strcmp(args[i].name, name) == 0)
            return &rank_values(rank)[i];
    rank_fail((struct rank *)rank,
              "workload %s asks for argument \"%s\", which it does not declare", workload->name,
              name);
    return &nothing;
}

uint64_t rank_arg_count(const struct rank *rank, const char *name)
{
    return argument(rank, name)->number;
}

uint64_t rank_arg_ps(const struct rank *rank, const char *name)
{
    return argument(rank, name)->number;
}

double rank_arg_real(const struct rank *rank, const char *name)
{
    return argument(rank, name)->real;
}

bool rank_arg_bool(const struct rank *rank, const char *name)
{
    return argument(rank, name)->number != 0;
}

const char *rank_arg_choice(const struct rank *rank, const char *name)
{
    return argument(rank, name)->text;
}
