/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Kernel-style consumers of LNet in ordinary processes: the code that the workload lnet_service
 * runs on simulated nodes, with liblnet alone. Parameters are in LNET_OPTIONS.
 *
 *   lnet_kernel_code serve             until standard input ends; prints "ready" and "served"
 *   lnet_kernel_code use NID BYTES     prints the counters
 *   lnet_kernel_code module            starts its module, which prints its parameters, and ends it
 */
#define KBUILD_MODNAME "kernel_code"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/lnet_service.h"

static int serve(void)
{
    const char *error;
    struct wl_service *service = wl_service_start(4, &error);

    if (service == NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    if (!wl_service_wait(service, 1, 1)) {
        fprintf(stderr, "no request, or wrong data\n");
        return 1;
    }
    wl_service_stop(service);
    puts("served");
    return 0;
}

static int use(const char *text, unsigned bytes)
{
    lnet_nid_t server = libcfs_str2nid(text);
    const struct wl_service_load load = {.servers = &server,
                                         .server_count = 1,
                                         .threads = 4,
                                         .requests = 25,
                                         .bytes = bytes,
                                         .write_percent = 50,
                                         .timeout_ms = 20000,
                                         .attempts = 3,
                                         .ping_ms = 2,
                                         .seed = 1};
    struct wl_service_result result;
    const char *error = wl_service_use(&load, &result);

    if (error != NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    printf("requests %u wrong %u lost %u pings %s ticks %s\n", result.requests, result.wrong,
           result.lost, result.pings > 0 ? "some" : "none", result.ticks > 0 ? "some" : "none");
    return 0;
}

/* ---- a module -------------------------------------------------------------------------------- */

static int tries = 3;
module_param(tries, int, 0644);
MODULE_PARM_DESC(tries, "how often");
static bool eager;
module_param(eager, bool, 0444);
static char nobody[] = "nobody", *peers = nobody;
module_param(peers, charp, 0444);
static int sizes[4];
static unsigned size_count;
module_param_array(sizes, int, &size_count, 0444);

static int __init begin(void)
{
    printf("tries %d eager %d peers %s sizes %u:%d,%d\n", tries, eager, peers, size_count, sizes[0],
           sizes[1]);
    return tries < 0 ? -EINVAL : 0;
}
static void __exit end(void)
{
    puts("end");
}
module_init(begin);
module_exit(end);

static int module(void)
{
    int rc = libcfs_modules_init();

    if (rc != 0)
        printf("error %d\n", rc);
    libcfs_modules_exit();
    return 0;
}

int main(int argc, char **argv)
{
    int rc;

    if (argc == 2 && strcmp(argv[1], "module") == 0)
        return module();
    rc = LNetNIInit(LNET_PID_LUSTRE);
    if (rc < 0) {
        fprintf(stderr, "LNetNIInit: %d\n", rc);
        return 1;
    }
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        rc = serve();
    else if (argc == 4 && strcmp(argv[1], "use") == 0)
        rc = use(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
    else
        rc = 2;
    LNetNIFini();
    return rc;
}
