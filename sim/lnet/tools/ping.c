/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard lnet ping: prints what `lnetctl ping` prints. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lnet/api.h"
#include "lnet/lnetctl.h"
#include "tools.h"

#define IDS_MAX 64

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Negative: an error. */
static int ping(const char *text, double timeout_s)
{
    struct lnet_process_id ids[IDS_MAX];
    struct libcfs_ioctl_data data = {
        .ioc_hdr = {sizeof(data), LIBCFS_IOCTL_VERSION},
        .ioc_nid = libcfs_str2nid(text),
        .ioc_u32 = {LNET_PID_ANY, (uint32_t)(timeout_s * 1000)},
        .ioc_plen1 = sizeof(ids),
        .ioc_pbuf1 = ids,
    };
    double start = now_us(), span;
    uint32_t i;
    int rc = LNetCtl(IOC_LIBCFS_PING, &data);

    span = now_us() - start;
    if (rc < 0)
        return rc;
    printf("    - primary nid: %s\n      Multi-Rail: False\n      round trip: %.1f us\n"
           "      peer ni:\n",
           text, span);
    for (i = 0; i < data.ioc_count && i < IDS_MAX; i++)
        if (ids[i].nid != LNET_NID_LO_0)
            printf("        - nid: %s\n", libcfs_nid2str(ids[i].nid));
    return 0;
}

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
            int rc = ping(options->arguments[i], options->timeout_s);

            if (rc == 0)
                continue;
            failed++;
            printf("    - errno: %d\n      descr: failed to ping %s: %s\n", rc,
                   options->arguments[i], strerror(-rc));
        }
        fflush(stdout);
    }
    return lnet_tool_stop(failed > 0 ? 1 : 0);
}
