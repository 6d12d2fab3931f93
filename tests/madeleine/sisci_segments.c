/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A workload that looks into the segments of Madeleine's SISCI driver (test_sisci.py): rank 0
 * sends, and rank 1 reads what it has before it receives.
 */
#include <stdlib.h>
#include <string.h>

#include <madeleine.h>
#include <sisci_api.h>
#include "run/workload.h"

enum { READ = 0, WRITE = 1088, DATA = 1152, DATA_BYTES = 64384, BYTES = 65536, CHANNEL = 0 };

#define CHECK(condition)                                              \
    do {                                                              \
        if (!(condition))                                             \
            rank_fail(rank, "line %d: not %s", __LINE__, #condition); \
    } while (0)

static const struct workload_arg args[] = {{NULL}};

/* Of the segment in which rank `writer` writes to rank `owner`. */
static volatile unsigned char *connect_to(struct rank *rank, sci_desc_t desc, unsigned node,
                                          unsigned owner, unsigned writer, sci_map_t *map)
{
    sci_remote_segment_t segment;
    sci_error_t error;
    volatile unsigned char *memory;

    SCIConnectSegment(desc, &segment, node, CHANNEL | owner << 8 | writer << 16, 0, NULL, NULL,
                      SCI_INFINITE_TIMEOUT, 0, &error);
    CHECK(error == SCI_ERR_OK);
    CHECK(SCIGetRemoteSegmentSize(segment) == BYTES);
    memory = SCIMapRemoteSegment(segment, map, 0, BYTES, NULL, 0, &error);
    CHECK(error == SCI_ERR_OK);
    return memory;
}

static uint32_t word(volatile unsigned char *memory, size_t at)
{
    return *(volatile uint32_t *)(volatile void *)(memory + at);
}

static unsigned char byte(size_t length, size_t at)
{
    return (unsigned char)((length + at * 13) % 251 + 1);
}

static void send(p_mad_channel_t channel, unsigned char *block, size_t length)
{
    p_mad_connection_t out = mad_begin_packing(channel, 1);

    for (size_t i = 0; i < length; i++)
        block[i] = byte(length, i);
    mad_pack(out, block, length, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_packing(out);
}

/* The first chunk of a block stays as it is until it has been received. */
static void inspect(struct rank *rank, volatile unsigned char *memory, size_t length)
{
    size_t chunk = length < DATA_BYTES ? length : DATA_BYTES, end = (chunk + 63) / 64 * 64, i;
    uint64_t seen = 0;

    while (word(memory, READ) == 0)
        SCI_PAUSE(&seen, UINT64_MAX);
    rank_compute(UINT64_C(5000000000)); /* 5 ms: the sender could go on */
    SCI_PAUSE(&seen, 1000);
    CHECK((word(memory, READ) & 1) == 0);
    for (i = 0; i < chunk; i++)
        CHECK(memory[DATA + i] == byte(length, i));
    for (; i < end; i++)
        CHECK(memory[DATA + i] == 0);
    for (; i < DATA_BYTES; i++)
        CHECK(memory[DATA + i] == 0xee);
}

static void receive(struct rank *rank, p_mad_channel_t channel, unsigned char *block, size_t length)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);
    size_t wrong = 0;

    mad_unpack(in, block, length, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_unpacking(in);
    for (size_t i = 0; i < length; i++)
        wrong += block[i] != byte(length, i);
    CHECK(wrong == 0);
}

static int run(struct rank *rank)
{
    static const size_t lengths[] = {361, DATA_BYTES, DATA_BYTES + 1, 3 * DATA_BYTES + 5};
    unsigned node = 0, nodes[2];
    sci_query_adapter_t query = {.subcommand = SCI_Q_ADAPTER_NODEID, .data = &node};
    p_mad_madeleine_t session = mad_init(NULL, NULL, NULL, NULL);
    p_mad_channel_t channel = mad_open_channel(session, 0);
    unsigned char *block = malloc(4 * DATA_BYTES), *fill = malloc(DATA_BYTES);
    volatile unsigned char *mine, *theirs;
    sci_map_t map, other;
    sci_error_t error;
    sci_desc_t desc;
    uint32_t received = 0;

    SCIQuery(SCI_Q_ADAPTER, &query, 0, &error);
    SCIOpen(&desc, 0, &error);
    CHECK(error == SCI_ERR_OK);
    rank_allgather(rank, &node, nodes, sizeof(node));
    mine = connect_to(rank, desc, nodes[1], 1, 0, &map);
    theirs = connect_to(rank, desc, nodes[0], 0, 1, &other);
    memset(fill, 0xee, DATA_BYTES);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        if (rank_id(rank) == 1) {
            SCIMemCopy(fill, map, DATA, DATA_BYTES, SCI_FLAG_ERROR_CHECK, &error);
            CHECK(error == SCI_ERR_OK);
            rank_compute(UINT64_C(10000000)); /* 10 us: it is there */
            CHECK(word(mine, READ) == 0 && word(theirs, WRITE) == received);
        }
        rank_barrier(rank);
        if (rank_id(rank) == 0) {
            send(channel, block, lengths[i]);
        } else {
            inspect(rank, mine, lengths[i]);
            receive(rank, channel, block, lengths[i]);
            received += (uint32_t)((lengths[i] + DATA_BYTES - 1) / DATA_BYTES);
            rank_compute(UINT64_C(10000000));
        }
        rank_barrier(rank);
    }
    free(block);
    free(fill);
    mad_exit(session);
    return 0; /* its SISCI objects go with the process */
}

static const struct workload sisci_segments = {
    .name = "sisci_segments",
    .meaning = "looks into the segments of the SISCI driver",
    .metrics = "",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(sisci_segments)
