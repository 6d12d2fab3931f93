/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What SISCI promises beyond stores: interrupts, interrupts with data, queues of DMA transfers in
 * both directions and as lists of parts, aborted ones, and callbacks. Each rank does it to its
 * right neighbour, whose memory and interrupts it uses; the phases are separated by barriers.
 */
#include <stdlib.h>
#include <string.h>

#include <sisci_api.h>
#include "run/workload.h"

enum { SEGMENT = 100, PLAIN = 20, DATA = 40, CALLED = 60, MESSAGES_MAX = 64 };

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "8KiB", "1KiB", "1MiB", NULL, "of a segment, rounded down to 1 KiB"},
    {"messages", ARG_COUNT, "20", "2", "64", NULL, "interrupts with data that wait at a time"},
    {NULL},
};

struct test {
    struct rank *rank;
    sci_desc_t desc;
    sci_local_segment_t local;
    sci_remote_segment_t remote;
    sci_map_t mine;
    unsigned node; /* of the right neighbour */
    unsigned right;
    unsigned char *memory; /* of the own segment: what the left neighbour writes, what it sends */
    size_t bytes; /* of each half */
    unsigned messages, calls, called_length;
    sci_error_t error, called_with;
};

/* The line of the first condition that does not hold; 0: all do. */
#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)
#define OK(call)                           \
    do {                                   \
        call;                              \
        EXPECT(test->error == SCI_ERR_OK); \
    } while (0)
#define FAILS(code, call)                      \
    do {                                       \
        call;                                  \
        EXPECT(test->error == SCI_ERR_##code); \
    } while (0)

static unsigned char byte_of(unsigned from, size_t at)
{
    return (unsigned char)(from * 31 + at * 7 + at / 251 + 1);
}

static void fill(unsigned char *to, size_t bytes, unsigned from)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = byte_of(from, i);
}

static unsigned left_of(const struct test *test)
{
    return (rank_id(test->rank) + rank_size(test->rank) - 1) % rank_size(test->rank);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int open_all(struct test *test)
{
    unsigned id = rank_id(test->rank), node = 0,
             *nodes = calloc(rank_size(test->rank), sizeof(*nodes));
    sci_query_adapter_t query = {.subcommand = SCI_Q_ADAPTER_NODEID, .data = &node};

    EXPECT(nodes != NULL);
    OK(SCIInitialize(0, &test->error));
    OK(SCIOpen(&test->desc, 0, &test->error));
    OK(SCIQuery(SCI_Q_ADAPTER, &query, 0, &test->error));
    OK(SCICreateSegment(test->desc, &test->local, SEGMENT + id, 2 * test->bytes, NULL, NULL, 0,
                        &test->error));
    OK(SCIPrepareSegment(test->local, 0, 0, &test->error));
    OK(test->memory =
           SCIMapLocalSegment(test->local, &test->mine, 0, 2 * test->bytes, NULL, 0, &test->error));
    OK(SCISetSegmentAvailable(test->local, 0, 0, &test->error));
    rank_allgather(test->rank, &node, nodes, sizeof(node));
    test->node = nodes[test->right];
    free(nodes);
    OK(SCIConnectSegment(test->desc, &test->remote, test->node, SEGMENT + test->right, 0, NULL,
                         NULL, SCI_INFINITE_TIMEOUT, 0, &test->error));
    rank_barrier(test->rank);
    return 0;
}

static int close_all(struct test *test)
{
    rank_barrier(test->rank);
    OK(SCIDisconnectSegment(test->remote, 0, &test->error));
    rank_barrier(test->rank);
    OK(SCIUnmapSegment(test->mine, 0, &test->error));
    OK(SCIRemoveSegment(test->local, 0, &test->error));
    OK(SCIClose(test->desc, 0, &test->error));
    SCITerminate();
    return 0;
}

/* ---- interrupts ------------------------------------------------------------------------------ */

/* One that comes before anybody waits for it is not lost; several may come as one. */
static int interrupts(struct test *test)
{
    unsigned own = PLAIN + rank_id(test->rank);
    sci_local_interrupt_t here;
    sci_remote_interrupt_t there;

    OK(SCICreateInterrupt(test->desc, &here, 0, &own, NULL, NULL, SCI_FLAG_FIXED_INTNO,
                          &test->error));
    rank_barrier(test->rank);
    OK(SCIConnectInterrupt(test->desc, &there, test->node, 0, PLAIN + test->right,
                           SCI_INFINITE_TIMEOUT, 0, &test->error));
    FAILS(TIMEOUT, SCIWaitForInterrupt(here, 1, 0, &test->error));
    rank_barrier(test->rank);
    OK(SCITriggerInterrupt(there, 0, &test->error));
    OK(SCITriggerInterrupt(there, 0, &test->error));
    rank_compute(UINT64_C(1000000000)); /* 1 ms */
    OK(SCIWaitForInterrupt(here, 1, 0, &test->error));
    FAILS(TIMEOUT, SCIWaitForInterrupt(here, 1, 0, &test->error));
    rank_barrier(test->rank);
    if (rank_id(test->rank) % 2 == 1)
        rank_compute(UINT64_C(2000000000)); /* the neighbour waits already */
    OK(SCITriggerInterrupt(there, 0, &test->error));
    OK(SCIWaitForInterrupt(here, SCI_INFINITE_TIMEOUT, 0, &test->error));
    OK(SCIDisconnectInterrupt(there, 0, &test->error));
    rank_barrier(test->rank);
    OK(SCIRemoveInterrupt(here, 0, &test->error));
    return 0;
}

/* ---- interrupts with data -------------------------------------------------------------------- */

static sci_callback_action_t called(void *arg, sci_local_data_interrupt_t interrupt, void *data,
                                    unsigned length, sci_error_t status)
{
    struct test *test = arg;

    (void)interrupt;
    test->calls++;
    test->called_length = length;
    test->called_with = status;
    for (unsigned i = 0; i < length; i++)
        if (((unsigned char *)data)[i] != byte_of(left_of(test), i))
            test->called_with = SCI_ERR_SYSTEM;
    return SCI_CALLBACK_CONTINUE;
}

static unsigned length_of(unsigned message)
{
    return message == 0 ? 0 : 1 + message * 61 % 4096;
}

/* All of them come, in order, whether somebody waits or not. One that is too long for the room of
 * the caller stays. */
static int take_messages(struct test *test, sci_local_data_interrupt_t here)
{
    unsigned char data[4096];
    unsigned room, i, j;

    for (i = 0; i < test->messages; i++) {
        if (length_of(i) > 1) {
            room = length_of(i) - 1;
            FAILS(NOSPC, SCIWaitForDataInterrupt(here, data, &room, SCI_INFINITE_TIMEOUT, 0,
                                                 &test->error));
            EXPECT(room == length_of(i));
        }
        room = sizeof(data);
        OK(SCIWaitForDataInterrupt(here, data, &room, SCI_INFINITE_TIMEOUT, 0, &test->error));
        EXPECT(room == length_of(i));
        for (j = 0; j < room; j++)
            EXPECT(data[j] == byte_of(left_of(test) + i, j));
    }
    room = sizeof(data);
    FAILS(TIMEOUT, SCIWaitForDataInterrupt(here, data, &room, 1, 0, &test->error));
    return 0;
}

static int data_interrupts(struct test *test)
{
    unsigned id = rank_id(test->rank), own = DATA + id, own_called = CALLED + id, i;
    unsigned char data[4097];
    sci_local_data_interrupt_t here, calling;
    sci_remote_data_interrupt_t there, other;
    int line;

    OK(SCICreateDataInterrupt(test->desc, &here, 0, &own, NULL, NULL, SCI_FLAG_FIXED_INTNO,
                              &test->error));
    OK(SCICreateDataInterrupt(test->desc, &calling, 0, &own_called, called, test,
                              SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK, &test->error));
    rank_barrier(test->rank);
    OK(SCIConnectDataInterrupt(test->desc, &there, test->node, 0, DATA + test->right,
                               SCI_INFINITE_TIMEOUT, 0, &test->error));
    OK(SCIConnectDataInterrupt(test->desc, &other, test->node, 0, CALLED + test->right,
                               SCI_INFINITE_TIMEOUT, 0, &test->error));
    if (id % 2 == 1)
        rank_compute(UINT64_C(2000000000)); /* so the neighbour waits already */
    for (i = 0; i < test->messages; i++) {
        fill(data, sizeof(data), id + i);
        OK(SCITriggerDataInterrupt(there, data, length_of(i), 0, &test->error));
    }
    fill(data, sizeof(data), id);
    FAILS(OUT_OF_RANGE, SCITriggerDataInterrupt(there, data, sizeof(data), 0, &test->error));
    OK(SCITriggerDataInterrupt(other, data, 33, 0, &test->error));
    line = take_messages(test, here);
    if (line != 0)
        return line;
    rank_barrier(test->rank);
    rank_compute(UINT64_C(1000000000));
    EXPECT(test->calls == 1 && test->called_length == 33 && test->called_with == SCI_ERR_OK);
    OK(SCIDisconnectDataInterrupt(there, 0, &test->error));
    OK(SCIDisconnectDataInterrupt(other, 0, &test->error));
    rank_barrier(test->rank);
    OK(SCIRemoveDataInterrupt(here, 0, &test->error));
    OK(SCIRemoveDataInterrupt(calling, 0, &test->error));
    return 0;
}

/* ---- DMA ------------------------------------------------------------------------------------- */

static sci_callback_action_t done(void *arg, sci_dma_queue_t queue, sci_error_t status)
{
    struct test *test = arg;

    (void)queue;
    test->calls++;
    test->called_with = status;
    return SCI_CALLBACK_CONTINUE;
}

/* Bytes of the own half that the left neighbour writes: `length` from `to`, of its byte `from`. */
static bool holds(const struct test *test, size_t to, size_t from, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (test->memory[to + i] != byte_of(left_of(test), from + i))
            return false;
    return true;
}

static void clear(struct test *test)
{
    rank_barrier(test->rank);
    memset(test->memory, 0, test->bytes);
    fill(test->memory + test->bytes, test->bytes, rank_id(test->rank));
    test->calls = 0;
    rank_barrier(test->rank);
}

/* A queue of several transfers, which all arrive when it is done, and none before it was posted. */
static int gathered(struct test *test, sci_dma_queue_t queue)
{
    size_t part = test->bytes / 4;

    clear(test);
    for (unsigned i = 0; i < 4; i++) /* turned round */
        OK(SCIEnqueueDMATransfer(queue, test->local, test->remote, test->bytes + i * part,
                                 (3 - i) * part, part - 8 * i, 0, &test->error));
    EXPECT(SCIDMAQueueState(queue) == SCI_DMAQUEUE_GATHER);
    rank_barrier(test->rank);
    EXPECT(test->memory[0] == 0);
    rank_barrier(test->rank);
    OK(SCIPostDMAQueue(queue, done, test, SCI_FLAG_USE_CALLBACK, &test->error));
    EXPECT(SCIDMAQueueState(queue) == SCI_DMAQUEUE_POSTED);
    FAILS(BUSY, SCIResetDMAQueue(queue, 0, &test->error));
    FAILS(TIMEOUT, SCIWaitForDMAQueue(queue, 0, 0, &test->error));
    EXPECT(SCIWaitForDMAQueue(queue, SCI_INFINITE_TIMEOUT, 0, &test->error) == SCI_DMAQUEUE_DONE);
    EXPECT(test->error == SCI_ERR_OK && test->calls == 1 && test->called_with == SCI_ERR_OK);
    rank_barrier(test->rank);
    for (unsigned i = 0; i < 4; i++) {
        EXPECT(holds(test, (3 - i) * part, i * part, part - 8 * i));
        EXPECT(i == 0 || test->memory[(3 - i) * part + part - 8 * i] == 0);
    }
    OK(SCIResetDMAQueue(queue, 0, &test->error));
    return 0;
}

/* A list of parts of odd lengths, and a transfer that reads what it has written. */
static int parts(struct test *test, sci_dma_queue_t queue)
{
    unsigned half = (unsigned)test->bytes, at = half + half / 2;
    dis_dma_vec_t list[3] = {
        {101, half + 1, 3, 0}, {1, half + 500, 200, 0}, {77, half + 9, 301, 0}};

    clear(test);
    OK(SCIStartDmaTransferVec(queue, test->local, test->remote, 3, list, done, test,
                              SCI_FLAG_USE_CALLBACK | SCI_FLAG_DMA_WAIT, &test->error));
    EXPECT(test->calls == 1);
    rank_barrier(test->rank);
    EXPECT(holds(test, 3, 1, 101) && holds(test, 200, 500, 1) && holds(test, 301, 9, 77));
    EXPECT(test->memory[2] == 0 && test->memory[104] == 0 && test->memory[378] == 0);
    /* The neighbour's bytes from 301 on are these. */
    OK(SCIStartDmaTransfer(queue, test->local, test->remote, at, 77, 301, NULL, NULL,
                           SCI_FLAG_DMA_READ | SCI_FLAG_DMA_WAIT, &test->error));
    for (unsigned i = 0; i < 77; i++)
        EXPECT(test->memory[at + i] == byte_of(rank_id(test->rank), 9 + i));
    EXPECT(test->memory[at + 77] == byte_of(rank_id(test->rank), at + 77 - half));
    return 0;
}

/* What was aborted does not arrive, and the queue can be used again. */
static int aborted(struct test *test, sci_dma_queue_t queue)
{
    OK(SCIResetDMAQueue(queue, 0, &test->error)); /* of the transfers before */
    clear(test);
    OK(SCIEnqueueDMATransfer(queue, test->local, test->remote, test->bytes, 0, test->bytes, 0,
                             &test->error));
    OK(SCIPostDMAQueue(queue, NULL, NULL, 0, &test->error));
    OK(SCIAbortDMAQueue(queue, 0, &test->error));
    EXPECT(SCIDMAQueueState(queue) == SCI_DMAQUEUE_ABORTED);
    rank_compute(UINT64_C(50000000000)); /* longer than a transfer of 1 MiB */
    rank_barrier(test->rank);
    EXPECT(test->memory[0] == 0 && test->memory[test->bytes - 1] == 0);
    EXPECT(SCIDMAQueueState(queue) == SCI_DMAQUEUE_ABORTED);
    OK(SCIResetDMAQueue(queue, 0, &test->error));
    rank_barrier(test->rank);
    OK(SCIEnqueueDMATransfer(queue, test->local, test->remote, test->bytes, 8, 64,
                             SCI_FLAG_DMA_POST, &test->error));
    OK(SCIWaitForDMAQueue(queue, SCI_INFINITE_TIMEOUT, 0, &test->error));
    rank_barrier(test->rank);
    EXPECT(holds(test, 8, 0, 64) && test->memory[72] == 0);
    OK(SCIResetDMAQueue(queue, 0, &test->error));
    return 0;
}

static int transfers(struct test *test)
{
    sci_dma_queue_t queue;
    int line;

    OK(SCICreateDMAQueue(test->desc, &queue, 0, 4, 0, &test->error));
    line = gathered(test, queue);
    if (line == 0)
        line = parts(test, queue);
    if (line == 0)
        line = aborted(test, queue);
    if (line != 0)
        return line;
    for (unsigned i = 0; i < 4; i++)
        OK(SCIEnqueueDMATransfer(queue, test->local, test->remote, 0, 0, 8, 0, &test->error));
    FAILS(MAX_ENTRIES,
          SCIEnqueueDMATransfer(queue, test->local, test->remote, 0, 0, 8, 0, &test->error));
    OK(SCIRemoveDMAQueue(queue, 0, &test->error));
    return 0;
}

/* ---- together -------------------------------------------------------------------------------- */

static int run(struct rank *rank)
{
    static const struct {
        const char *name;
        int (*run)(struct test *test);
    } phases[] = {{"open", open_all},
                  {"interrupts", interrupts},
                  {"interrupts with data", data_interrupts},
                  {"DMA", transfers},
                  {"close", close_all}};
    struct test test = {
        .rank = rank,
        .right = (rank_id(rank) + 1) % rank_size(rank),
        .bytes = rank_arg_count(rank, "bytes") / 1024 * 1024,
        .messages = (unsigned)rank_arg_count(rank, "messages"),
    };
    size_t i;
    int line;

    for (i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        line = phases[i].run(&test);
        if (line != 0)
            return rank_fail(rank, "%s: line %d, SISCI error %x", phases[i].name, line,
                             (unsigned)test.error);
        rank_count(rank, "phases", 1);
        rank_barrier(rank);
    }
    return 0;
}

static const struct workload sisci_edges = {
    .name = "sisci_edges",
    .meaning = "what SISCI promises of interrupts, interrupts with data, and queues of DMA",
    .metrics = "phases (count)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(sisci_edges)
