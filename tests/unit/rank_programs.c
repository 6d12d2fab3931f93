/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "rank_programs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <stdio.h>
#include "port/port.h"
#include "report/report.h"

json_t *programs_result(const char *text, program_main *const mains[], uint64_t seed)
{
    const struct scenario_options options = {.no_programs = true};
    struct workload workloads[4];
    struct program programs[4];
    char *error = NULL;
    struct scenario *scenario = scenario_parse(text, strlen(text), "t", &options, &error);
    json_t *result;
    size_t i;

    if (scenario == NULL)
        fail_msg("%s", error);
    for (i = 0; i < scenario->jobs.count; i++) {
        if (mains[i] == NULL)
            continue;
        workloads[i] = *scenario_job(scenario, i)->workload->workload;
        workloads[i].main = mains[i];
        programs[i] = (struct program){.workload = &workloads[i], .any_network = true};
        scenario_job(scenario, i)->workload = &programs[i];
    }
    result = report_run(scenario, &(struct cluster_options){.seed = seed}, &error);
    if (result == NULL)
        fail_msg("%s", error);
    scenario_free(scenario);
    return result;
}

json_int_t programs_exit(json_t *result)
{
    json_int_t code = json_integer_value(json_object_get(result, "exit"));
    char *problems;

    if (code != EXIT_HOLDS) {
        problems = json_dumps(json_object_get(result, "problems"), 0);
        print_error("%s\n", problems);
        free(problems);
    }
    json_decref(result);
    return code;
}

json_int_t programs_run(const char *text, program_main *const mains[])
{
    return programs_exit(programs_result(text, mains, 1));
}

json_int_t programs_run_one(program_main *main)
{
    program_main *const mains[] = {main};

    return programs_run(ONE(""), mains);
}

bool programs_never(const void *arg)
{
    (void)arg;
    return false;
}

bool programs_variable_is(const char *name, unsigned long value)
{
    const char *text = port_getenv(name);
    char *end;

    return text != NULL && strtoul(text, &end, 10) == value && *end == '\0';
}
