/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard lnet ping: prints what `lnetctl ping` prints. */
#include <stdio.h>
#include <stdlib.h>

#include "lnet/api.h"
#include "tools.h"

int lnet_tool_ping(const struct lnet_tool_options *options)
{
    int i, failed = 0, code;
    uint32_t turn;

    if (options->argument_count < 1)
        return lnet_tool_refuse("lnet ping", "a NID is needed");
    for (i = 0; i < options->argument_count; i++)
        if (libcfs_str2nid(options->arguments[i]) == LNET_NID_ANY)
            return lnet_tool_refuse(options->arguments[i], "this is no NID, such as 10.0.0.2@tcp");
    code = lnet_tool_start(options, NULL);
    if (code != 0)
        return code;
    puts("ping:");
    for (turn = 0; turn < options->count; turn++) {
        for (i = 0; i < options->argument_count; i++) {
            char *text =
                lnet_live_ping(options->arguments[i], (unsigned)(options->timeout_s * 1000), &code);

            fputs(text, stdout);
            free(text);
            failed += code < 0;
        }
        fflush(stdout);
    }
    return lnet_tool_stop(failed > 0 ? 1 : 0);
}
