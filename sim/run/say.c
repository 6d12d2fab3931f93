/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "verdict/verdict.h"

int run_refuse(char *message)
{
    fprintf(stderr, "%s\n", message);
    g_free(message);
    return EXIT_BAD_INPUT;
}

int run_say(GString *text, int status)
{
    bool written = fwrite(text->str, 1, text->len, stdout) == text->len;

    g_string_free(text, TRUE);
    if (written && fflush(stdout) == 0)
        return status;
    fprintf(stderr, "sim-run: standard output: %s\n", g_strerror(errno));
    return EXIT_BROKEN;
}

int run_say_json(json_t *json, int status)
{
    char *text = json_dumps(json, JSON_INDENT(2));
    GString *out = g_string_new(text);

    free(text);
    json_decref(json);
    g_string_append_c(out, '\n');
    return run_say(out, status);
}
