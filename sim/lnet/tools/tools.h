/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard lnetd, jacquard lnet: commands that are an LNet node themselves. */
#ifndef JACQUARD_LNET_TOOLS_PRIVATE_H
#define JACQUARD_LNET_TOOLS_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include "lnet/live.h"
#include "lnet/tools.h"

#define LNET_TOOL_PARAMETERS_MAX 64

struct lnet_tool_options {
    struct lnet_live_parameter parameter[LNET_TOOL_PARAMETERS_MAX];
    uint32_t parameters;
    const char *pcap; /* NULL: no capture */
    const char *control; /* of lnetd: the control socket; NULL: none */
    const struct lnet_tools_service *service; /* of lnetd; NULL: none */
    const char *socket; /* that lnetctl asks; NULL: of the environment */
    double timeout_s; /* of one ping */
    uint32_t count; /* pings */
    char **arguments; /* that are no options */
    int argument_count;
};

/* Starts the node of the process: from the file (NULL: none) and the options. Returns an exit code.
 */
int lnet_tool_start(const struct lnet_tool_options *options, const char *file);
/* Stops it; an exit code, 0 if `code` is 0 and nothing failed. */
int lnet_tool_stop(int code);

int lnet_tool_daemon(const struct lnet_tool_options *options);
int lnet_tool_ctl(const struct lnet_tool_options *options);
int lnet_tool_ping(const struct lnet_tool_options *options);

#endif
