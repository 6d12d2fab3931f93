/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams of PUTs or GETs with a window of posts in flight. Ranks work in pairs: the first half
 * sends to the second half. With one pair it is the classic bandwidth test; with several ranks on
 * one node it shows what their NIC can take.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "1MiB", "1", "64MiB", NULL, "size of each transfer"},
    {"operation", ARG_CHOICE, "put", NULL, NULL, "put|get", "direction"},
    {"unit", ARG_CHOICE, "bte", NULL, NULL, "fma|bte", "unit of the NIC"},
    {"routing", ARG_CHOICE, "adaptive", NULL, NULL, "adaptive|in_order|min_hash", "delivery mode"},
    {"window", ARG_COUNT, "64", "1", "4096", NULL, "posts in flight; 1: blocking"},
    {"iterations", ARG_COUNT, "256", "1", "100000000", NULL, "transfers per pair"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL, "time of software above uGNI, per transfer"},
    {NULL},
};

struct stream {
    struct wl_domain domain;
    struct wl_region mine;
    const struct wl_region *regions; /* by rank */
    uint64_t bytes, window, iterations, software;
    uint32_t peer;
    uint16_t mode;
    gni_post_type_t type;
};

static int post(struct stream *stream, struct wl_operation *operation)
{
    memset(operation, 0, sizeof(*operation));
    operation->ep = wl_domain_ep(&stream->domain, stream->peer);
    operation->desc.type = stream->type;
    operation->desc.dlvr_mode = stream->mode;
    operation->desc.local_addr = stream->mine.address;
    operation->desc.local_mem_hndl = stream->mine.handle;
    operation->desc.remote_addr = stream->regions[stream->peer].address;
    operation->desc.remote_mem_hndl = stream->regions[stream->peer].handle;
    operation->desc.length = stream->bytes;
    rank_compute(stream->software);
    return wl_operation_post(&stream->domain, operation);
}

static int run_stream(struct rank *rank, struct stream *stream)
{
    struct wl_operation *operations = calloc(stream->window, sizeof(*operations)), *operation;
    uint64_t posted = 0, done = 0, begin = rank_now();
    int status = 0;

    while (done < stream->iterations && status == 0) {
        operation = &operations[posted];
        if (posted >= stream->window || posted == stream->iterations) {
            operation = wl_operation_wait(&stream->domain);
            if (operation == NULL)
                break;
            done++;
            rank_progress(rank);
        }
        if (posted < stream->iterations) {
            status = post(stream, operation);
            posted++;
        }
    }
    if (done == stream->iterations) {
        rank_record_bandwidth(rank, "bandwidth", done * stream->bytes, rank_now() - begin);
        rank_record_rate(rank, "rate", done, rank_now() - begin);
    }
    free(operations);
    return done == stream->iterations ? 0 : -1;
}

static int run(struct rank *rank)
{
    struct stream stream = {
        .bytes = rank_arg_count(rank, "bytes"),
        .window = rank_arg_count(rank, "window"),
        .iterations = rank_arg_count(rank, "iterations"),
        .software = rank_arg_ps(rank, "software"),
        .mode = wl_operation_mode_arg(rank),
        .type = wl_operation_type_arg(rank),
    };
    bool get = wl_operation_is_get(stream.type);
    uint32_t me = rank_id(rank);
    bool paired;
    void *memory = NULL;
    int status = wl_domain_open(&stream.domain, rank, (uint32_t)stream.window, 0);

    if (get)
        stream.bytes = (stream.bytes + 3) / 4 * 4; /* the hardware's granularity */
    stream.peer = wl_pair_of(&stream.domain);
    paired = stream.peer != UINT32_MAX;
    if (status == 0)
        memory = wl_region_alloc(&stream.domain, stream.bytes, 0, &stream.mine);
    if (memory != NULL)
        stream.regions = rank_exchange(rank, &stream.mine, sizeof(stream.mine));
    if (stream.regions == NULL)
        status = -1;
    else {
        if (paired && wl_pair_leads(&stream.domain) != get)
            wl_pattern_fill(memory, stream.bytes, me);
        rank_barrier(rank);
        if (paired && wl_pair_leads(&stream.domain))
            status = run_stream(rank, &stream);
        rank_barrier(rank);
        if (paired && status == 0 && wl_pair_leads(&stream.domain) == get &&
            stream.domain.errors == 0 && wl_pattern_differs(memory, stream.bytes, stream.peer))
            status = rank_fail(rank, "the bytes that arrived are not those that were sent");
    }
    rank_barrier(rank);
    if (memory != NULL)
        wl_region_free(&stream.domain, memory, &stream.mine);
    wl_domain_close(&stream.domain);
    return status;
}

static const struct workload put_bandwidth = {
    .name = "put_bandwidth",
    .meaning = "streams of PUTs or GETs between pairs of ranks, with a window",
    .metrics = "bandwidth (B/s), rate (1/s), per pair",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(put_bandwidth)
