/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: reads any text as a scenario file and, split at a zero byte, as a --set
 * assignment. The reader accepts the text or refuses it with a message of one line. A scenario that
 * was accepted, printed and read again is the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void refuse_unless(int condition)
{
    if (!condition)
        abort();
}

static void check_message(const char *error)
{
    refuse_unless(error != NULL && error[0] != '\0' && strchr(error, '\n') == NULL);
}

/* Prints the scenario, reads it again and compares the documents. */
static void round_trip(const struct scenario *scenario)
{
    const struct scenario_options options = {.no_programs = true, .keep_sweep = true};
    char *yaml = scenario_tree_emit(scenario->tree), *again, *error = NULL;
    struct scenario *copy = scenario_parse(yaml, strlen(yaml), "again", &options, &error);

    refuse_unless(copy != NULL);
    again = scenario_tree_emit(copy->tree);
    refuse_unless(strcmp(yaml, again) == 0);
    scenario_free(copy);
    g_free(again);
    g_free(yaml);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const uint8_t *zero = length != 0 ? memchr(bytes, 0, length) : NULL;
    size_t document = zero != NULL ? (size_t)(zero - bytes) : length;
    char *assignment =
        zero != NULL ? g_strndup((const char *)zero + 1, length - document - 1) : NULL;
    char *equals = assignment != NULL ? strchr(assignment, '=') : NULL, *error = NULL;
    struct override override = {.origin = "--set"};
    struct scenario_options options = {.no_programs = true, .keep_sweep = true};
    struct scenario *scenario;

    if (equals != NULL && equals != assignment) {
        *equals = '\0';
        override.path = assignment;
        override.value = equals + 1;
        options.overrides = &override;
        options.override_count = 1;
    }
    scenario = scenario_parse((const char *)bytes, document, "fuzz", &options, &error);
    if (scenario != NULL)
        round_trip(scenario);
    else
        check_message(error);
    scenario_free(scenario);
    g_free(error);
    g_free(assignment);
    return 0;
}
