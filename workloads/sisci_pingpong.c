/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two ranks send messages to and fro by the processor through SISCI, without a library above it:
 * the raw times of an SCI network. Each line of a message carries the message's number, because
 * lines become visible in any order.
 */
#include <stdlib.h>
#include <string.h>

#include <sisci_api.h>
#include "run/workload.h"

enum { LINE = 64, SEGMENT = 1 };

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "4", "1", "16MiB", NULL, "length of a message"},
    {"iterations", ARG_COUNT, "10", "1", "1000000", NULL, "round trips"},
    {NULL},
};

struct ping {
    struct rank *rank;
    sci_desc_t desc;
    sci_local_segment_t local;
    sci_remote_segment_t remote;
    sci_map_t mine, theirs;
    sci_sequence_t sequence;
    volatile uint32_t *memory;
    uint32_t *message;
    size_t bytes; /* whole lines */
    sci_error_t error;
};

static bool create_segment(struct ping *ping)
{
    SCIInitialize(0, &ping->error);
    if (ping->error == SCI_ERR_OK)
        SCIOpen(&ping->desc, 0, &ping->error);
    if (ping->error == SCI_ERR_OK)
        SCICreateSegment(ping->desc, &ping->local, rank_id(ping->rank) + SEGMENT, ping->bytes, NULL,
                         NULL, 0, &ping->error);
    if (ping->error == SCI_ERR_OK)
        SCIPrepareSegment(ping->local, 0, 0, &ping->error);
    if (ping->error == SCI_ERR_OK)
        ping->memory =
            SCIMapLocalSegment(ping->local, &ping->mine, 0, ping->bytes, NULL, 0, &ping->error);
    if (ping->error == SCI_ERR_OK)
        SCISetSegmentAvailable(ping->local, 0, 0, &ping->error);
    return ping->error == SCI_ERR_OK;
}

static bool connect_segment(struct ping *ping, unsigned node)
{
    SCIConnectSegment(ping->desc, &ping->remote, node, 1 - rank_id(ping->rank) + SEGMENT, 0, NULL,
                      NULL, SCI_INFINITE_TIMEOUT, 0, &ping->error);
    if (ping->error == SCI_ERR_OK)
        SCIMapRemoteSegment(ping->remote, &ping->theirs, 0, ping->bytes, NULL, 0, &ping->error);
    if (ping->error == SCI_ERR_OK)
        SCICreateMapSequence(ping->theirs, &ping->sequence, 0, &ping->error);
    return ping->error == SCI_ERR_OK;
}

static bool open_all(struct ping *ping)
{
    unsigned node = 0, *nodes = calloc(rank_size(ping->rank), sizeof(*nodes));
    sci_query_adapter_t query = {.subcommand = SCI_Q_ADAPTER_NODEID, .data = &node};
    bool made = nodes != NULL && create_segment(ping);

    if (made)
        SCIQuery(SCI_Q_ADAPTER, &query, 0, &ping->error);
    if (nodes != NULL)
        rank_allgather(ping->rank, &node, nodes, sizeof(node));
    made = made && nodes[0] != 0 && nodes[1] != 0 &&
           connect_segment(ping, nodes[1 - rank_id(ping->rank)]);
    free(nodes);
    return made;
}

static void close_all(struct ping *ping)
{
    SCIRemoveSequence(ping->sequence, 0, &ping->error);
    SCIUnmapSegment(ping->theirs, 0, &ping->error);
    SCIDisconnectSegment(ping->remote, 0, &ping->error);
    rank_barrier(ping->rank);
    SCIUnmapSegment(ping->mine, 0, &ping->error);
    SCIRemoveSegment(ping->local, 0, &ping->error);
    SCIClose(ping->desc, 0, &ping->error);
    SCITerminate();
}

static void send(struct ping *ping, uint32_t number)
{
    for (size_t i = 0; i < ping->bytes / sizeof(number); i++)
        ping->message[i] = number;
    SCIMemCopy(ping->message, ping->theirs, 0, ping->bytes, 0, &ping->error);
    SCIFlush(ping->sequence, 0);
}

static void receive(const struct ping *ping, uint32_t number)
{
    uint64_t seen = 0;
    size_t at = 0;

    for (;;) {
        while (at < ping->bytes / LINE && ping->memory[at * LINE / sizeof(number)] == number)
            at++;
        if (at == ping->bytes / LINE)
            return;
        SCI_PAUSE(&seen, UINT64_MAX);
    }
}

static int run(struct rank *rank)
{
    size_t bytes = rank_arg_count(rank, "bytes");
    struct ping ping = {.rank = rank, .bytes = (bytes + LINE - 1) / LINE * LINE};
    uint64_t iterations = rank_arg_count(rank, "iterations"), began;
    uint32_t i;

    if (rank_id(rank) > 1)
        return 0;
    ping.message = malloc(ping.bytes);
    if (ping.message == NULL || !open_all(&ping))
        return rank_fail(rank, "SISCI: error %x", (unsigned)ping.error);
    rank_barrier(rank);
    for (i = 1; i <= iterations && ping.error == SCI_ERR_OK; i++) {
        began = rank_now();
        if (rank_id(rank) == 0)
            send(&ping, 2 * i);
        receive(&ping, rank_id(rank) == 0 ? 2 * i + 1 : 2 * i);
        if (rank_id(rank) != 0) {
            send(&ping, 2 * i + 1);
            continue;
        }
        rank_record_latency(rank, "latency", (rank_now() - began) / 2);
        rank_record_bandwidth(rank, "bandwidth", 2 * bytes, rank_now() - began);
        rank_progress(rank);
    }
    close_all(&ping);
    free(ping.message);
    return ping.error == SCI_ERR_OK ? 0 : rank_fail(rank, "SISCI: error %x", (unsigned)ping.error);
}

static const struct workload sisci_pingpong = {
    .name = "sisci_pingpong",
    .meaning = "two ranks send messages to and fro through SISCI",
    .metrics = "latency (ps, half of the round trip), bandwidth (B/s)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(sisci_pingpong)
