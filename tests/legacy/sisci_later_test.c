/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of SISCI that programs of later years use: interrupts with data, events of segments,
 * transfers that one call starts, queries, and both forms of SCIStoreBarrier. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sisci_api.h"
#include "small_network.h"

enum { SIZE = 8192, NODE_0 = 4, NODE_1 = 8, ID = 77 };

static sci_error_t errors[WORLD_PROCESSES];
#define error errors[world_self()] /* of the process */
#define OK(call)                    \
    do {                            \
        call;                       \
        CHECK(error == SCI_ERR_OK); \
    } while (0)
#define FAILS(code, call)               \
    do {                                \
        call;                           \
        CHECK(error == SCI_ERR_##code); \
    } while (0)

static const struct world_options plain = {.kind = LEGACY_SCI, .seed = 1};
static bool finished; /* the other process need not stay */

static void wait_until_finished(void)
{
    while (!finished)
        sim_sleep_until(sim_now() + SIM_US);
}

static sci_desc_t opened(void)
{
    sci_desc_t desc = NULL;

    OK(SCIInitialize(0, &error));
    OK(SCIOpen(&desc, SCI_FLAG_THREAD_SAFE, &error));
    return desc;
}

static void closed(sci_desc_t desc)
{
    OK(SCIClose(desc, 0, &error));
    SCITerminate();
}

/* ---- interrupts with data -------------------------------------------------------------------- */

static char called_with[64];

static sci_callback_action_t called(void *arg, sci_local_data_interrupt_t interrupt, void *data,
                                    unsigned length, sci_error_t status)
{
    CHECK(interrupt != NULL && status == SCI_ERR_OK && arg == called_with);
    memcpy(called_with, data, length);
    return SCI_CALLBACK_CONTINUE;
}

static void receives_data(void)
{
    sci_desc_t desc = opened();
    sci_local_data_interrupt_t interrupt, other, callback;
    unsigned number = 3, chosen = 99, room, third = 5;
    char data[4096];

    OK(SCICreateDataInterrupt(desc, &interrupt, 0, &number, NULL, NULL, SCI_FLAG_FIXED_INTNO,
                              &error));
    FAILS(BUSY, SCICreateDataInterrupt(desc, &other, 0, &number, NULL, NULL, SCI_FLAG_FIXED_INTNO,
                                       &error));
    OK(SCICreateDataInterrupt(desc, &other, 0, &chosen, NULL, NULL, 0, &error));
    CHECK(chosen != 99 && chosen != number);
    OK(SCICreateDataInterrupt(desc, &callback, 0, &third, called, called_with,
                              SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK, &error));
    room = sizeof(data);
    FAILS(ILLEGAL_OPERATION, SCIWaitForDataInterrupt(callback, data, &room, 1, 0, &error));
    FAILS(TIMEOUT, SCIWaitForDataInterrupt(other, data, &room, 1, 0, &error));
    for (int i = 0; i < 20; i++) { /* they do not coalesce, and arrive in order */
        room = sizeof(data);
        OK(SCIWaitForDataInterrupt(interrupt, data, &room, SCI_INFINITE_TIMEOUT, 0, &error));
        CHECK(room == (unsigned)(200 * i) && (i == 0 || data[room - 1] == (char)i));
    }
    room = 10;
    FAILS(NOSPC, SCIWaitForDataInterrupt(interrupt, data, &room, SCI_INFINITE_TIMEOUT, 0, &error));
    CHECK(room == 11);
    OK(SCIWaitForDataInterrupt(interrupt, data, &room, 0, 0, &error));
    CHECK(memcmp(data, "ten and one", 11) == 0);
    CHECK(memcmp(called_with, "called", 7) == 0);
    OK(SCIRemoveDataInterrupt(callback, 0, &error));
    OK(SCIRemoveDataInterrupt(other, 0, &error));
    OK(SCIRemoveDataInterrupt(interrupt, 0, &error));
    finished = true;
    closed(desc);
}

static void sends_data(void)
{
    sci_desc_t desc = opened();
    sci_remote_data_interrupt_t interrupt, callback;
    char data[4097];

    sim_sleep_until(sim_now() + 10 * SIM_US);
    FAILS(NO_SUCH_INTNO,
          SCIConnectDataInterrupt(desc, &interrupt, NODE_0, 0, 9, SCI_INFINITE_TIMEOUT, 0, &error));
    FAILS(TIMEOUT, SCIConnectDataInterrupt(desc, &interrupt, NODE_0, 0, 3, 0, 0, &error));
    OK(SCIConnectDataInterrupt(desc, &interrupt, NODE_0, 0, 3, SCI_INFINITE_TIMEOUT, 0, &error));
    OK(SCIConnectDataInterrupt(desc, &callback, NODE_0, 0, 5, SCI_INFINITE_TIMEOUT, 0, &error));
    OK(SCITriggerDataInterrupt(callback, "called", 7, 0, &error));
    sim_sleep_until(sim_now() + 2 * SIM_MS);
    for (int i = 0; i < 20; i++) {
        memset(data, i, sizeof(data));
        OK(SCITriggerDataInterrupt(interrupt, i != 0 ? data : NULL, (unsigned)(200 * i), 0,
                                   &error));
    }
    FAILS(OUT_OF_RANGE, SCITriggerDataInterrupt(interrupt, data, sizeof(data), 0, &error));
    OK(SCITriggerDataInterrupt(interrupt, "ten and one", 11, 0, &error));
    wait_until_finished();
    OK(SCIDisconnectDataInterrupt(callback, 0, &error));
    OK(SCIDisconnectDataInterrupt(interrupt, 0, &error));
    closed(desc);
}

static void run(void (*first)(void), void (*second)(void))
{
    void (*const bodies[])(void) = {first, second};

    finished = false;
    world_run(&plain, bodies, 2);
}

static void mad_69_interrupts_with_data(void **state)
{
    (void)state;
    run(receives_data, sends_data);
}

/* ---- segments -------------------------------------------------------------------------------- */

static unsigned chosen_id;
static bool ready;

static void waits_for_events(void)
{
    sci_desc_t desc = opened();
    sci_local_segment_t segment, other;
    unsigned node = 0, adapter = 9;
    unsigned char *memory;
    sci_map_t map;

    OK(SCICreateSegment(desc, &segment, 0, SIZE, NULL, NULL, SCI_FLAG_AUTO_ID | SCI_FLAG_DMA_GLOBAL,
                        &error));
    OK(SCICreateSegment(desc, &other, 0, SIZE, NULL, NULL, SCI_FLAG_AUTO_ID, &error));
    chosen_id = SCIGetLocalSegmentId(segment);
    CHECK(chosen_id != SCIGetLocalSegmentId(other));
    OK(SCIRemoveSegment(other, 0, &error));
    OK(SCIPrepareSegment(segment, 0, SCI_FLAG_DMA_SOURCE_ONLY, &error));
    OK(memory = SCIMapLocalSegment(segment, &map, 0, SIZE, NULL, SCI_FLAG_READONLY_MAP, &error));
    OK(SCISetSegmentAvailable(segment, 0, 0, &error));
    FAILS(TIMEOUT, SCIWaitForLocalSegmentEvent(segment, &node, &adapter, 1, 0, &error));
    ready = true;
    CHECK(SCIWaitForLocalSegmentEvent(segment, &node, &adapter, SCI_INFINITE_TIMEOUT, 0, &error) ==
          SCI_CB_CONNECT);
    CHECK(node == NODE_1 && adapter == 0);
    CHECK(SCIWaitForLocalSegmentEvent(segment, &node, &adapter, SCI_INFINITE_TIMEOUT, 0, &error) ==
          SCI_CB_DISCONNECT);
    CHECK(memory[100] == 1 && memory[101] == 2 && memory[103] == 4); /* blocks and DMA */
    OK(SCIUnmapSegment(map, 0, &error));
    OK(SCIRemoveSegment(segment, 0, &error));
    finished = true;
    closed(desc);
}

static unsigned calls;

static sci_callback_action_t block_done(void *arg, sci_block_transfer_t block, sci_error_t status)
{
    CHECK(arg == &calls && block != NULL && status == SCI_ERR_OK);
    calls++;
    return SCI_CALLBACK_CONTINUE;
}

static sci_callback_action_t dma_done(void *arg, sci_dma_queue_t queue, sci_error_t status)
{
    CHECK(arg == &calls && queue != NULL && status == SCI_ERR_OK);
    calls++;
    return SCI_CALLBACK_CONTINUE;
}

static void transfers(sci_desc_t desc, sci_local_segment_t own, sci_map_t own_map,
                      sci_remote_segment_t segment, sci_map_t map, unsigned char *memory)
{
    dis_dma_vec_t parts[3] = {{1, 0, 101, 0}, {1, 2, 103, 0}, {7, 1, 200, 0}};
    sci_block_transfer_t block;
    sci_dma_queue_t queue;

    memory[0] = 1;
    OK(SCITransferBlockAsync(own_map, 0, map, 100, 4, &block, NULL, NULL, 0, &error));
    FAILS(ILLEGAL_OPERATION, SCIAbortBlockTransfer(block, 0, &error));
    OK(SCIWaitForBlockTransfer(block, SCI_INFINITE_TIMEOUT, 0, &error));
    OK(SCITransferBlockAsync(own_map, 0, map, 100, 4, &block, block_done, &calls,
                             SCI_FLAG_USE_CALLBACK, &error));
    CHECK(calls == 1);
    FAILS(OUT_OF_RANGE,
          SCITransferBlockAsync(own_map, 0, map, SIZE, 8, &block, NULL, NULL, 0, &error));

    OK(SCICreateDMAQueue(desc, &queue, 0, 0, 0, &error)); /* for these calls only */
    FAILS(MAX_ENTRIES, SCIEnqueueDMATransfer(queue, own, segment, 0, 0, 8, 0, &error));
    memory[0] = 2;
    memory[2] = 4;
    OK(SCIStartDmaTransferVec(queue, own, segment, 3, parts, dma_done, &calls,
                              SCI_FLAG_USE_CALLBACK | SCI_FLAG_DMA_GLOBAL, &error));
    CHECK(SCIDMAQueueState(queue) == SCI_DMAQUEUE_POSTED);
    OK(SCIStartDmaTransfer(queue, own, segment, 64, 2, 200, NULL, NULL,
                           SCI_FLAG_DMA_READ | SCI_FLAG_DMA_WAIT, &error)); /* after the first */
    CHECK(calls == 2 && memory[65] == 4 && memory[66] == 0);
    FAILS(OUT_OF_RANGE,
          SCIStartDmaTransfer(queue, own, segment, 0, 2, SIZE - 1, NULL, NULL, 0, &error));
    OK(SCIStartDmaTransfer(queue, own, segment, 0, 1, SIZE - 1, NULL, NULL, SCI_FLAG_DMA_WAIT,
                           &error));
    OK(SCIRemoveDMAQueue(queue, 0, &error));
}

static void causes_events(void)
{
    sci_desc_t desc = opened();
    sci_remote_segment_t segment;
    sci_local_segment_t own;
    sci_map_t map, own_map;
    sci_sequence_t sequence;
    sci_error_t status;
    unsigned char *memory;

    while (!ready)
        sim_sleep_until(sim_now() + SIM_US);
    FAILS(FLAG_NOT_IMPLEMENTED,
          SCIConnectSegment(desc, &segment, NODE_0, chosen_id, 0, NULL, NULL, SCI_INFINITE_TIMEOUT,
                            SCI_FLAG_ASYNCHRONOUS_CONNECT, &error));
    OK(SCIConnectSegment(desc, &segment, NODE_0, chosen_id, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0,
                         &error));
    CHECK(SCIGetRemoteSegmentId(segment) == chosen_id);
    OK(SCIMapRemoteSegment(segment, &map, 0, SIZE, NULL, SCI_FLAG_IO_MAP_IOSPACE, &error));
    OK(SCICreateMapSequence(map, &sequence, 0, &error));
    OK(SCICreateSegment(desc, &own, ID, SIZE, NULL, NULL, 0, &error));
    OK(SCIPrepareSegment(own, 0, 0, &error));
    OK(memory = SCIMapLocalSegment(own, &own_map, 0, SIZE, NULL, 0, &error));
    transfers(desc, own, own_map, segment, map, memory);
    SCI_STORE32(map, 400, 1);
    SCIStoreBarrier(sequence, 0); /* the form of 2001 */
    OK(SCIStoreBarrier(sequence, 0, &error));
    SCIFlush(sequence, SCI_FLAG_FLUSH_CPU_BUFFERS_ONLY);
    SCIFlushReadBuffers(sequence);
    FAILS(TIMEOUT, SCIWaitForRemoteSegmentEvent(segment, &status, 1, 0, &error));
    OK(SCIRemoveSequence(sequence, 0, &error));
    OK(SCIUnmapSegment(map, 0, &error));
    OK(SCIDisconnectSegment(segment, 0, &error));
    OK(SCIUnmapSegment(own_map, 0, &error));
    OK(SCIRemoveSegment(own, 0, &error));
    closed(desc);
}

static void mad_69_events_and_transfers(void **state)
{
    (void)state;
    calls = 0;
    ready = false;
    run(waits_for_events, causes_events);
}

/* ---- queries --------------------------------------------------------------------------------- */

static void asks(void)
{
    struct sci_query_adapter query = {0};
    struct sci_query_string string;
    unsigned value = 0;
    char text[64];

    OK(SCIInitialize(0, &error));
    OK(SCIGetLocalNodeId(0, &value, 0, &error));
    CHECK(value == NODE_0);
    FAILS(NO_SUCH_ADAPTERNO, SCIGetLocalNodeId(1, &value, 0, &error));
    query.data = &value;
    query.subcommand = SCI_Q_ADAPTER_LINK_OPERATIONAL;
    OK(SCIQuery(SCI_Q_ADAPTER, &query, 0, &error));
    CHECK(value == 1);
    query.subcommand = SCI_Q_ADAPTER_SERIAL_NUMBER;
    OK(SCIQuery(SCI_Q_ADAPTER, &query, 0, &error));
    CHECK(value == 1);
    query.subcommand = 99;
    FAILS(ILLEGAL_QUERY, SCIQuery(SCI_Q_ADAPTER, &query, 0, &error));
    string = (struct sci_query_string){text, sizeof(text)};
    OK(SCIQuery(SCI_Q_API, &string, 0, &error));
    CHECK(string.length == strlen(text) + 1 && strncmp(text, "SISCI", 5) == 0);
    string.length = 3;
    FAILS(NOSPC, SCIQuery(SCI_Q_VENDORID, &string, 0, &error));
    CHECK(strcmp(SCIGetErrorString(SCI_ERR_NOSPC), "no space") == 0);
    CHECK(SCIGetErrorString(SCI_ERR_SYSTEM) != NULL);
    SCITerminate();
}

static void mad_69_queries(void **state)
{
    void (*const bodies[])(void) = {asks};

    (void)state;
    world_run(&plain, bodies, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_69_interrupts_with_data),
        cmocka_unit_test(mad_69_events_and_transfers),
        cmocka_unit_test(mad_69_queries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
