/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams of PUTs or GETs with a window of posts in flight. Ranks work in pairs: the first half
 * sends to the second half. With one pair it is the classic bandwidth test; with several ranks on
 * one node it shows what their NIC can take.
 */
#include <stdlib.h>
#include <string.h>
#include "common.h"

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

static gni_post_type_t type_of(struct rank *rank)
{
    bool get = strcmp(rank_arg_choice(rank, "operation"), "get") == 0;

    if (strcmp(rank_arg_choice(rank, "unit"), "bte") == 0)
        return get ? GNI_POST_RDMA_GET : GNI_POST_RDMA_PUT;
    return get ? GNI_POST_FMA_GET : GNI_POST_FMA_PUT;
}

static uint16_t mode_of(struct rank *rank)
{
    const char *routing = rank_arg_choice(rank, "routing");

    if (strcmp(routing, "in_order") == 0)
        return GNI_DLVMODE_IN_ORDER;
    return strcmp(routing, "min_hash") == 0 ? GNI_DLVMODE_MIN_HASH : GNI_DLVMODE_PERFORMANCE;
}

static int stream(struct rank *rank, struct domain *domain, gni_post_type_t type, uint64_t bytes)
{
    uint32_t peer = rank_id(rank) + rank_size(rank) / 2;
    uint64_t window = rank_arg_count(rank, "window"),
             iterations = rank_arg_count(rank, "iterations");
    uint64_t software = rank_arg_ps(rank, "software"), posted = 0, done = 0, begin = rank_now();
    gni_post_descriptor_t *posts = calloc(window, sizeof(*posts)), *post;
    uint16_t mode = mode_of(rank);
    int status = 0;

    while (done < iterations && status >= 0) {
        if (posted < iterations && posted < window) {
            post = &posts[posted];
        } else {
            status = domain_reap(domain, true, &post);
            if (status < 0)
                break;
            done++;
            rank_progress(rank);
            if (posted == iterations)
                continue;
        }
        rank_compute(software);
        post_fill(domain, post, type, peer, 0, 0, bytes);
        post->dlvr_mode = mode;
        status = domain_post(domain, peer, post);
        posted++;
    }
    if (status >= 0) {
        rank_record_bandwidth(rank, "bandwidth", iterations * bytes, rank_now() - begin);
        rank_record_rate(rank, "rate", iterations, rank_now() - begin);
    }
    free(posts);
    return status < 0 ? -1 : 0;
}

static int run(struct rank *rank)
{
    gni_post_type_t type = type_of(rank);
    bool get = type == GNI_POST_RDMA_GET || type == GNI_POST_FMA_GET;
    uint64_t bytes = rank_arg_count(rank, "bytes");
    bool sends = rank_id(rank) < rank_size(rank) / 2;
    uint32_t other = (rank_id(rank) + rank_size(rank) / 2) % rank_size(rank);
    struct domain domain;
    int status;

    if (get)
        bytes = (bytes + 3) / 4 * 4;
    status = domain_open(&domain, rank, 0, (uint32_t)rank_arg_count(rank, "window"), 0);
    if (status == 0)
        status = domain_share(&domain, bytes);
    if (status == 0) {
        if (sends != get)
            pattern_fill(domain.memory, bytes, rank_id(rank), 0);
        rank_barrier(rank);
        if (sends)
            status = stream(rank, &domain, type, bytes);
        rank_barrier(rank);
        if (status == 0 && sends == get && domain.errors == 0 && rank_size(rank) % 2 == 0 &&
            !pattern_check(domain.memory, bytes, other, 0))
            status = rank_fail(rank, "the bytes that arrived are not those that were sent");
    }
    domain_close(&domain);
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
