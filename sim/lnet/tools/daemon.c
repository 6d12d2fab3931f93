/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard lnetd: a node that does what LNet does by itself, such as routing and answering pings.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "lnet/api.h"
#include "tools.h"

int lnet_tool_daemon(const struct lnet_tool_options *options)
{
    struct lnet_process_id id;
    unsigned int index;
    sigset_t ends;
    const struct lnet_tools_service *service = options->service;
    const char *what;
    char *error = NULL;
    int code, signal;

    if (options->argument_count != 1)
        return lnet_tool_refuse("lnetd", "one file with a configuration is needed");
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    code = lnet_tool_start(options, options->arguments[0]);
    if (code != 0)
        return code;
    if (options->control != NULL && !lnet_live_control(options->control, &error)) {
        code = lnet_tool_refuse("--control", error);
        free(error);
        return lnet_tool_stop(code);
    }
    if (service != NULL && !service->start(&what, &error)) {
        code = lnet_tool_refuse(what, error);
        free(error);
        return lnet_tool_stop(code);
    }
    for (index = 0; LNetGetId(index, &id) == 0; index++)
        printf("%s\n", libcfs_id2str(id));
    puts("ready");
    fflush(stdout);
    sigwait(&ends, &signal);
    if (service != NULL)
        service->stop();
    return lnet_tool_stop(0);
}
