/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Kernel-style consumers of LNet on simulated nodes: the last ranks are servers, the others
 * clients, of support/lnet_service.h. Bulk data of each request is verified.
 */
#include "run/workload.h"

#include <stdlib.h>

#include "support/lnet_service.h"

static const struct workload_arg args[] = {
    {"servers", ARG_COUNT, "1", "1", "1024", NULL, "the last so many ranks, at most all but one"},
    {"threads", ARG_COUNT, "4", "1", "64", NULL, "of each server, and of each client"},
    {"requests", ARG_COUNT, "20", "0", "1000000", NULL, "of each thread of a client"},
    {"bytes", ARG_BYTES, "16KiB", "1", "1MiB", NULL, "of the bulk data of a request"},
    {"writes", ARG_COUNT, "50", "0", "100", NULL, "percent of the requests that are writes"},
    {"timeout", ARG_TIME, "10s", "1ms", "1000s", NULL, "of a request, until it is sent again"},
    {"attempts", ARG_COUNT, "3", "1", "100", NULL, "of each request"},
    {"ping", ARG_TIME, "1ms", "0", "1000s", NULL, "interval of pings of each client; 0: none"},
    {NULL},
};

static int fail(struct rank *rank, const char *text)
{
    return rank_fail(rank, "%s", text);
}

static unsigned milliseconds(const struct rank *rank, const char *name)
{
    return (unsigned)((rank_arg_ps(rank, name) + 999999999) / 1000000000);
}

static int serve(struct rank *rank, unsigned threads)
{
    const char *error;
    struct wl_service *service = wl_service_start(threads, &error);

    rank_barrier(rank);
    rank_barrier(rank);
    if (service == NULL)
        return fail(rank, error);
    rank_count(rank, "handled", wl_service_handled(service));
    if (!wl_service_wait(service, 0, 1))
        fail(rank, "the service has seen wrong data");
    wl_service_stop(service);
    return 0;
}

static int use(struct rank *rank, const struct wl_service_load *load)
{
    struct wl_service_result result = {0};
    const char *error;
    uint64_t begin;

    rank_barrier(rank);
    begin = rank_stamp();
    error = wl_service_use(load, &result);
    if (result.requests > 0)
        rank_record_bandwidth(rank, "bandwidth", (uint64_t)result.requests * load->bytes,
                              rank_stamp() - begin);
    rank_barrier(rank);
    rank_count(rank, "requests", result.requests);
    rank_count(rank, "timeouts", result.timeouts);
    rank_count(rank, "lost", result.lost);
    rank_count(rank, "pings", result.pings);
    rank_count(rank, "ticks", result.ticks);
    if (result.wrong > 0)
        return rank_fail(rank, "%u times wrong data", result.wrong);
    return error == NULL ? 0 : fail(rank, error);
}

static int lnet_service_main(struct rank *rank)
{
    const uint32_t size = rank_size(rank);
    const uint32_t asked = (uint32_t)rank_arg_count(rank, "servers");
    const uint32_t servers = asked < size ? asked : size - 1;
    struct wl_service_load load = {
        .server_count = servers,
        .threads = (unsigned)rank_arg_count(rank, "threads"),
        .requests = (unsigned)rank_arg_count(rank, "requests"),
        .bytes = (unsigned)rank_arg_count(rank, "bytes"),
        .write_percent = (unsigned)rank_arg_count(rank, "writes"),
        .timeout_ms = milliseconds(rank, "timeout"),
        .attempts = (unsigned)rank_arg_count(rank, "attempts"),
        .ping_ms = milliseconds(rank, "ping"),
        .seed = rank_id(rank) + 1,
    };
    lnet_nid_t *nids = calloc(size, sizeof(*nids));
    struct lnet_process_id id;
    int rc;

    if (nids == NULL)
        return fail(rank, "no memory");
    rc = LNetNIInit(LNET_PID_LUSTRE);
    if (rc < 0) {
        free(nids);
        return rank_fail(rank, "LNetNIInit: %d", rc);
    }
    rc = LNetGetId(1, &id);
    rank_allgather(rank, &id.nid, nids, sizeof(id.nid));
    load.servers = nids + size - servers;
    if (rc != 0)
        rc = rank_fail(rank, "LNetGetId: %d", rc);
    else if (rank_id(rank) >= size - servers)
        rc = serve(rank, load.threads);
    else
        rc = use(rank, &load);
    LNetNIFini();
    free(nids);
    return rc == 0 ? 0 : 1;
}

static const struct workload lnet_service = {
    .name = "lnet_service",
    .meaning =
        "kernel code on LNet: threads, wait queues, timers and works; requests with bulk data",
    .metrics = "bandwidth (B/s), requests, handled, timeouts, lost, pings, ticks (count)",
    .args = args,
    .ranks_min = 2,
    .main = lnet_service_main,
};
WORKLOAD(lnet_service)
