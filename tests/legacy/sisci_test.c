/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The emulated SISCI: its error codes, the order in which stores become visible, DMA, interrupts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sisci_api.h"
#include "small_network.h"

enum { SIZE = 8192, NODE_0 = 4, NODE_1 = 8, ID = 77, LINES = 16 };

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

/* ---- a process with a segment, and one that is connected to it ------------------------------- */

struct owner {
    sci_desc_t desc;
    sci_local_segment_t segment;
    sci_map_t map;
    volatile uint32_t *memory;
};
static bool finished; /* the other process need not stay */

static struct owner own_segment(unsigned id)
{
    struct owner own = {0};

    OK(SCIInitialize(0, &error));
    OK(SCIOpen(&own.desc, 0, &error));
    OK(SCICreateSegment(own.desc, &own.segment, id, SIZE, NULL, NULL, 0, &error));
    OK(SCIPrepareSegment(own.segment, 0, 0, &error));
    OK(own.memory = SCIMapLocalSegment(own.segment, &own.map, 0, SIZE, NULL, 0, &error));
    OK(SCISetSegmentAvailable(own.segment, 0, 0, &error));
    return own;
}

static void wait_until_finished(void)
{
    while (!finished)
        sim_sleep_until(sim_now() + SIM_US);
}

/* The others have disconnected. */
static void give_up_segment(struct owner *own)
{
    OK(SCIUnmapSegment(own->map, 0, &error));
    OK(SCIRemoveSegment(own->segment, 0, &error));
    OK(SCIClose(own->desc, 0, &error));
    SCITerminate();
}

static void keeps_segment(void)
{
    struct owner own = own_segment(ID);

    wait_until_finished();
    give_up_segment(&own);
}

struct user {
    sci_desc_t desc;
    sci_remote_segment_t segment;
    sci_map_t map;
    sci_sequence_t sequence;
};

static struct user use_segment(unsigned node, unsigned id)
{
    struct user user = {0};

    OK(SCIInitialize(0, &error));
    OK(SCIOpen(&user.desc, 0, &error));
    OK(SCIConnectSegment(user.desc, &user.segment, node, id, 0, NULL, NULL, SCI_INFINITE_TIMEOUT, 0,
                         &error));
    OK(SCIMapRemoteSegment(user.segment, &user.map, 0, SIZE, NULL, 0, &error));
    OK(SCICreateMapSequence(user.map, &user.sequence, 0, &error));
    return user;
}

static void leave_segment(struct user *user)
{
    OK(SCIRemoveSequence(user->sequence, 0, &error));
    OK(SCIUnmapSegment(user->map, 0, &error));
    OK(SCIDisconnectSegment(user->segment, 0, &error));
    OK(SCIClose(user->desc, 0, &error));
    SCITerminate();
    finished = true;
}

/* ---- error codes ----------------------------------------------------------------------------- */

static void misuse_of_local_segments(void)
{
    sci_desc_t desc = NULL;
    sci_local_segment_t segment, other;
    sci_map_t map;
    unsigned node = 0;
    sci_query_adapter_t query = {.subcommand = SCI_Q_ADAPTER_NODEID, .data = &node};

    FAILS(NOT_INITIALIZED, SCIOpen(&desc, 0, &error));
    FAILS(ILLEGAL_FLAG, SCIInitialize(1u << 30, &error));
    FAILS(FLAG_NOT_IMPLEMENTED, SCIInitialize(SCI_FLAG_PRIVATE, &error));
    OK(SCIInitialize(0, &error));
    FAILS(ILLEGAL_PARAMETER, SCIOpen(NULL, 0, &error));
    OK(SCIOpen(&desc, 0, &error));
    OK(SCIQuery(SCI_Q_ADAPTER, &query, 0, &error));
    CHECK(node == NODE_0);
    FAILS(ILLEGAL_QUERY, SCIQuery(SCI_Q_ADAPTER + 1, &query, 0, &error));
    query.localAdapterNo = 1;
    FAILS(NO_SUCH_ADAPTERNO, SCIQuery(SCI_Q_ADAPTER, &query, 0, &error));
    FAILS(SIZE_ALIGNMENT, SCICreateSegment(desc, &segment, ID, 12, NULL, NULL, 0, &error));
    FAILS(NOSPC, SCICreateSegment(desc, &segment, ID, (size_t)1 << 40, NULL, NULL, 0, &error));
    OK(SCICreateSegment(desc, &segment, ID, SIZE, NULL, NULL, 0, &error));
    FAILS(SEGMENTID_USED, SCICreateSegment(desc, &other, ID, SIZE, NULL, NULL, 0, &error));
    FAILS(SEGMENT_NOT_PREPARED, SCISetSegmentAvailable(segment, 0, 0, &error));
    OK(SCIPrepareSegment(segment, 0, 0, &error));
    FAILS(ILLEGAL_OPERATION, SCIPrepareSegment(segment, 0, 0, &error));
    OK(SCISetSegmentAvailable(segment, 0, 0, &error));
    FAILS(ILLEGAL_OPERATION, SCISetSegmentAvailable(segment, 0, 0, &error));
    FAILS(OUT_OF_RANGE, SCIMapLocalSegment(segment, &map, 8, SIZE, NULL, 0, &error));
    OK(SCIMapLocalSegment(segment, &map, 8, SIZE - 8, NULL, 0, &error));
    FAILS(BUSY, SCIRemoveSegment(segment, 0, &error)); /* mapped */
    FAILS(BUSY, SCIClose(desc, 0, &error));
    OK(SCIUnmapSegment(map, 0, &error));
    OK(SCISetSegmentUnavailable(segment, 0, 0, &error));
    FAILS(ILLEGAL_OPERATION, SCISetSegmentUnavailable(segment, 0, 0, &error));
    OK(SCIRemoveSegment(segment, 0, &error));
    OK(SCIClose(desc, 0, &error));
    SCITerminate();
    FAILS(NOT_INITIALIZED, SCIOpen(&desc, 0, &error));
}

static void mad_69_local_segments(void **state)
{
    void (*const bodies[])(void) = {misuse_of_local_segments};

    (void)state;
    world_run(&plain, bodies, 1);
}

static bool refuses;
static sci_callback_action_t on_connect(void *arg, sci_local_segment_t segment,
                                        sci_segment_cb_reason_t reason, unsigned node,
                                        unsigned adapter, sci_error_t status)
{
    (void)segment, (void)adapter, (void)status;
    CHECK(node == NODE_0);
    ((unsigned *)arg)[reason]++;
    return refuses ? SCI_CALLBACK_CANCEL : SCI_CALLBACK_CONTINUE;
}

static void owner_with_callback(void)
{
    unsigned calls[SCI_CB_LOST + 1] = {0};
    sci_desc_t desc;
    sci_local_segment_t segment, hidden;

    OK(SCIInitialize(0, &error));
    OK(SCIOpen(&desc, 0, &error));
    OK(SCICreateSegment(desc, &segment, ID, SIZE, on_connect, calls, SCI_FLAG_USE_CALLBACK,
                        &error));
    OK(SCIPrepareSegment(segment, 0, 0, &error));
    OK(SCISetSegmentAvailable(segment, 0, 0, &error));
    OK(SCICreateSegment(desc, &hidden, ID + 1, SIZE, NULL, NULL, 0, &error));
    OK(SCIPrepareSegment(hidden, 0, 0, &error));
    sim_sleep_until(1900 * SIM_US); /* the other one is connected */
    FAILS(BUSY, SCIRemoveSegment(segment, 0, &error));
    wait_until_finished();
    CHECK(calls[SCI_CB_CONNECT] == 2 && calls[SCI_CB_DISCONNECT] == 1);
    OK(SCIRemoveSegment(segment, 0, &error));
    OK(SCIRemoveSegment(hidden, 0, &error));
    OK(SCIClose(desc, 0, &error));
    SCITerminate();
}

static void misuse_of_remote_segments(void)
{
    sci_desc_t desc;
    sci_remote_segment_t segment;
    sci_sequence_t sequence, other;
    sci_map_t map;
    char bytes[64] = {0};
#define CONNECT(node, id, timeout) \
    SCIConnectSegment(desc, &segment, (node), (id), 0, NULL, NULL, (timeout), 0, &error)

    OK(SCIInitialize(0, &error));
    OK(SCIOpen(&desc, 0, &error));
    FAILS(ILLEGAL_NODEID, CONNECT(NODE_1 + 1, ID, 100));
    FAILS(NO_SUCH_SEGMENT, CONNECT(NODE_1, ID + 9, 100));
    FAILS(CONNECTION_REFUSED, CONNECT(NODE_1, ID + 1, 100)); /* not available */
    refuses = true;
    FAILS(CONNECTION_REFUSED, CONNECT(NODE_1, ID, 100));
    refuses = false;
    FAILS(TIMEOUT, CONNECT(NODE_1, ID, 0));
    world_cable(1, false);
    CHECK(!SCIProbeNode(desc, 0, NODE_1, 0, &error) && error == SCI_ERR_NO_REMOTE_LINK_ACCESS);
    FAILS(NO_REMOTE_LINK_ACCESS, CONNECT(NODE_1, ID, 100));
    world_cable(1, true);
    world_cable(0, false);
    FAILS(NO_LINK_ACCESS, CONNECT(NODE_1, ID, 100));
    world_cable(0, true);
    CHECK(SCIProbeNode(desc, 0, NODE_1, 0, &error));
    OK(CONNECT(NODE_1, ID, SCI_INFINITE_TIMEOUT));
    CHECK(SCIGetRemoteSegmentSize(segment) == SIZE);
    FAILS(OUT_OF_RANGE, SCIMapRemoteSegment(segment, &map, 0, SIZE + 8, NULL, 0, &error));
    FAILS(SIZE_ALIGNMENT, SCIMapRemoteSegment(segment, &map, 0, 4, NULL, 0, &error));
    FAILS(OFFSET_ALIGNMENT, SCIMapRemoteSegment(segment, &map, 4, 64, NULL, 0, &error));
    OK(SCIMapRemoteSegment(segment, &map, 64, 128, NULL, 0, &error));
    OK(SCICreateMapSequence(map, &sequence, 0, &error));
    FAILS(ILLEGAL_OPERATION, SCICreateMapSequence(map, &other, 0, &error));
    FAILS(OFFSET_ALIGNMENT, SCIMemCopy(bytes, map, 2, 64, 0, &error));
    FAILS(SIZE_ALIGNMENT, SCIMemCopy(bytes, map, 0, 63, 0, &error));
    FAILS(OUT_OF_RANGE, SCIMemCopy(bytes, map, 68, 64, 0, &error));
    OK(SCIMemCpy(sequence, bytes, map, 64, 64, SCI_FLAG_ERROR_CHECK, &error));
    world_cable(1, false);
    FAILS(TRANSFER_FAILED, SCIMemCopy(bytes, map, 0, 64, SCI_FLAG_ERROR_CHECK, &error));
    world_cable(1, true);
    FAILS(BUSY, SCIUnmapSegment(map, 0, &error)); /* it has a sequence */
    FAILS(BUSY, SCIDisconnectSegment(segment, 0, &error)); /* mapped */
    sim_sleep_until(2000 * SIM_US);
    OK(SCIRemoveSequence(sequence, 0, &error));
    OK(SCIUnmapSegment(map, 0, &error));
    OK(SCIDisconnectSegment(segment, 0, &error));
    OK(SCIClose(desc, 0, &error));
    SCITerminate();
    finished = true;
#undef CONNECT
}

static void mad_69_remote_segments(void **state)
{
    void (*const bodies[])(void) = {misuse_of_remote_segments, owner_with_callback};

    (void)state;
    finished = false;
    world_run(&plain, bodies, 2);
}

/* ---- what is visible when -------------------------------------------------------------------- */

static unsigned first_seen[LINES]; /* how often a line was the first one */
static volatile uint32_t *watched;

/* Looks at the memory as often as it can: no line of the second half before all of the first. */
static void watches(void)
{
    struct owner own = own_segment(ID);
    unsigned i, seen, first = LINES;

    watched = own.memory;
    do {
        for (seen = 0, i = 0; i < LINES; i++) {
            seen += own.memory[i * 16] != 0;
            if (own.memory[i * 16] != 0 && first == LINES)
                first_seen[first = i]++;
            CHECK(own.memory[i * 16] == 0 || i < LINES / 2 || seen >= LINES / 2);
        }
        sim_sleep_until(sim_now() + 10 * SIM_NS);
    } while (seen < LINES);
    wait_until_finished();
    give_up_segment(&own);
}

static void store_lines(const struct user *user, unsigned from, unsigned to)
{
    for (; from < to; from++)
        for (unsigned word = 0; word < 16; word++)
            SCI_STORE32(user->map, from * 64 + word * 4, from + 1);
}

static void stores_in_two_halves(void)
{
    struct user user = use_segment(NODE_1, ID);
    sim_time_t began = sim_now();

    store_lines(&user, 0, LINES / 2);
    CHECK(SCICheckSequence(user.sequence, SCI_FLAG_NO_STORE_BARRIER | SCI_FLAG_NO_FLUSH, &error) ==
          SCI_SEQ_PENDING);
    OK(SCIStoreBarrier(user.sequence, 0, &error));
    /* 8 lines of 780.4878 ns, and 0.2 us */
    CHECK(sim_now() - began == (6244 + 200) * SIM_NS);
    store_lines(&user, LINES / 2, LINES);
    CHECK(SCICheckSequence(user.sequence, 0, &error) == SCI_SEQ_OK);
    leave_segment(&user);
}

static void mad_62_lines_in_any_order_until_a_barrier(void **state)
{
    void (*const bodies[])(void) = {stores_in_two_halves, watches};
    unsigned others = 0, i;

    (void)state;
    memset(first_seen, 0, sizeof(first_seen));
    for (uint64_t seed = 0; seed < 40; seed++) {
        finished = false;
        world_run(&(struct world_options){.kind = LEGACY_SCI, .seed = seed}, bodies, 2);
    }
    for (i = 0; i < LINES; i++) {
        others += first_seen[i] != 0;
        assert_true(first_seen[i] == 0 || i < LINES / 2);
    }
    assert_true(others >= 4); /* not always the same line */
}

/* A line leaves when its last word is stored, or at a barrier, or after a while. */
static void stores_a_part(void)
{
    struct user user = use_segment(NODE_1, ID);
    sim_time_t began = sim_now();

    SCI_STORE32(user.map, 0, 7);
    sim_sleep_until(began + 2 * SIM_US);
    CHECK(watched[0] == 0);
    sim_sleep_until(began + 9 * SIM_US); /* 5 us in the card, 2.3 us to the memory */
    CHECK(watched[0] == 7);
    began = sim_now();
    SCI_STORE32(user.map, 0, 8);
    SCIFlush(user.sequence, 0);
    sim_sleep_until(began + 2300 * SIM_NS);
    CHECK(watched[0] == 8);
    leave_segment(&user);
}

static void shows_memory(void)
{
    struct owner own = own_segment(ID);

    watched = own.memory;
    wait_until_finished();
    give_up_segment(&own);
}

static void mad_62_lines_that_are_not_full(void **state)
{
    void (*const bodies[])(void) = {stores_a_part, shows_memory};

    (void)state;
    finished = false;
    world_run(&plain, bodies, 2);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void loses_the_cable(void)
{
    struct user user = use_segment(NODE_1, ID);
    sim_time_t down;

    world_cable(1, false);
    down = sim_now();
    SCI_STORE32(user.map, 0, 1);
    OK(SCIStoreBarrier(user.sequence, 0, &error));
    CHECK(SCICheckSequence(user.sequence, 0, &error) == SCI_SEQ_RETRIABLE);
    CHECK(SCIStartSequence(user.sequence, 0, &error) == SCI_SEQ_OK);
    CHECK(SCICheckSequence(user.sequence, 0, &error) == SCI_SEQ_OK);
    world_cable(1, true);
    SCI_STORE32(user.map, 0, 2);
    OK(SCIStoreBarrier(user.sequence, 0, &error));
    CHECK(SCICheckSequence(user.sequence, 0, &error) == SCI_SEQ_OK);
    world_cable(1, false);
    SCI_STORE32(user.map, 0, 3);
    OK(SCIStoreBarrier(user.sequence, 0, &error));
    sim_sleep_until(down + 11 * SIM_MS);
    CHECK(SCICheckSequence(user.sequence, 0, &error) == SCI_SEQ_NOT_RETRIABLE);
    CHECK(SCIStartSequence(user.sequence, 0, &error) == SCI_SEQ_NOT_RETRIABLE);
    CHECK(watched[0] == 2);
    leave_segment(&user);
}

static void mad_69_sequences(void **state)
{
    void (*const bodies[])(void) = {loses_the_cable, shows_memory};

    (void)state;
    finished = false;
    world_run(&plain, bodies, 2);
}

static bool lost;
static sci_callback_action_t on_loss(void *arg, sci_remote_segment_t segment,
                                     sci_segment_cb_reason_t reason, sci_error_t status)
{
    (void)arg, (void)segment;
    lost = reason == SCI_CB_LOST && status == SCI_ERR_NOT_CONNECTED;
    return SCI_CALLBACK_CONTINUE;
}

static void outlives_the_owner(void)
{
    sci_desc_t desc;
    sci_remote_segment_t segment;
    sci_map_t map;
    uint32_t word = 1;

    OK(SCIInitialize(0, &error));
    OK(SCIOpen(&desc, 0, &error));
    OK(SCIConnectSegment(desc, &segment, NODE_1, ID, 0, on_loss, NULL, SCI_INFINITE_TIMEOUT,
                         SCI_FLAG_USE_CALLBACK, &error));
    OK(SCIMapRemoteSegment(segment, &map, 0, SIZE, NULL, 0, &error));
    lost = false;
    world_kill(1);
    CHECK(lost);
    OK(SCIMemCopy(&word, map, 0, sizeof(word), SCI_FLAG_ERROR_CHECK, &error)); /* has no effect */
    /* the system releases what it leaves behind */
}

static void mad_69_a_process_that_is_killed(void **state)
{
    void (*const bodies[])(void) = {outlives_the_owner, keeps_segment};

    (void)state;
    finished = false;
    world_run(&plain, bodies, 2);
}

/* ---- DMA ------------------------------------------------------------------------------------- */

static void queue_of_transfers(void)
{
    struct owner own = own_segment(ID + 1);
    struct user user = use_segment(NODE_1, ID);
    sci_local_segment_t unprepared;
    sci_dma_queue_t queue;
    sim_time_t began;
#define ENQUEUE(local, from, to, size) \
    SCIEnqueueDMATransfer(queue, (local), user.segment, (from), (to), (size), 0, &error)

    OK(SCICreateSegment(own.desc, &unprepared, ID + 2, SIZE, NULL, NULL, 0, &error));
    OK(SCICreateDMAQueue(own.desc, &queue, 0, 1, 0, &error));
    CHECK(SCIDMAQueueState(queue) == SCI_DMAQUEUE_IDLE);
    FAILS(ILLEGAL_OPERATION, SCIPostDMAQueue(queue, NULL, NULL, 0, &error));
    FAILS(SEGMENT_NOT_PREPARED, ENQUEUE(unprepared, 0, 0, 64));
    FAILS(OUT_OF_RANGE, ENQUEUE(own.segment, 64, 0, SIZE));
    FAILS(SIZE_ALIGNMENT, ENQUEUE(own.segment, 0, 0, 63));
    FAILS(OFFSET_ALIGNMENT, ENQUEUE(own.segment, 4, 0, 64));
    own.memory[0] = 5;
    OK(ENQUEUE(own.segment, 0, 64, 7504));
    CHECK(SCIDMAQueueState(queue) == SCI_DMAQUEUE_GATHER);
    FAILS(MAX_ENTRIES, ENQUEUE(own.segment, 0, 64, 64));
    began = sim_now();
    OK(SCIPostDMAQueue(queue, NULL, NULL, 0, &error));
    CHECK(SCIDMAQueueState(queue) == SCI_DMAQUEUE_POSTED);
    FAILS(BUSY, SCIRemoveDMAQueue(queue, 0, &error));
    FAILS(BUSY, SCIResetDMAQueue(queue, 0, &error));
    FAILS(TIMEOUT, SCIWaitForDMAQueue(queue, 0, 0, &error));
    OK(SCIWaitForDMAQueue(queue, SCI_INFINITE_TIMEOUT, 0, &error));
    CHECK(SCIDMAQueueState(queue) == SCI_DMAQUEUE_DONE);
    CHECK(sim_now() - began == (25000 + 100053) * SIM_NS); /* set up, and 7504 bytes at 75 MB/s */
    CHECK(watched[16] == 5);
    OK(SCIResetDMAQueue(queue, 0, &error));
    OK(ENQUEUE(own.segment, 0, 0, 64));
    OK(SCIPostDMAQueue(queue, NULL, NULL, 0, &error));
    OK(SCIAbortDMAQueue(queue, 0, &error));
    CHECK(SCIDMAQueueState(queue) == SCI_DMAQUEUE_ABORTED);
    FAILS(ILLEGAL_OPERATION, SCIAbortDMAQueue(queue, 0, &error));
    OK(SCIResetDMAQueue(queue, 0, &error));
    OK(ENQUEUE(own.segment, 0, 0, 64));
    world_cable(1, false);
    OK(SCIPostDMAQueue(queue, NULL, NULL, 0, &error));
    FAILS(TRANSFER_FAILED, SCIWaitForDMAQueue(queue, SCI_INFINITE_TIMEOUT, 0, &error));
    CHECK(SCIDMAQueueState(queue) == SCI_DMAQUEUE_ERROR);
    world_cable(1, true);
    OK(SCIResetDMAQueue(queue, 0, &error));
    world_kill(1);
    FAILS(SEGMENT_NOT_CONNECTED, ENQUEUE(own.segment, 0, 0, 64));
    OK(SCIRemoveDMAQueue(queue, 0, &error));
#undef ENQUEUE
}

static void mad_69_dma(void **state)
{
    void (*const bodies[])(void) = {queue_of_transfers, shows_memory};

    (void)state;
    finished = false;
    world_run(&plain, bodies, 2);
}

/* ---- interrupts ------------------------------------------------------------------------------ */

static void is_interrupted(void)
{
    sci_desc_t desc;
    sci_local_interrupt_t interrupt, other;
    unsigned number = 3;

    OK(SCIInitialize(0, &error));
    OK(SCIOpen(&desc, 0, &error));
    OK(SCICreateInterrupt(desc, &interrupt, 0, &number, NULL, NULL, SCI_FLAG_FIXED_INTNO, &error));
    FAILS(BUSY,
          SCICreateInterrupt(desc, &other, 0, &number, NULL, NULL, SCI_FLAG_FIXED_INTNO, &error));
    FAILS(TIMEOUT, SCIWaitForInterrupt(interrupt, 0, 0, &error));
    OK(SCIWaitForInterrupt(interrupt, SCI_INFINITE_TIMEOUT, 0, &error));
    sim_sleep_until(sim_now() + 100 * SIM_US);
    OK(SCIWaitForInterrupt(interrupt, 0, 0, &error)); /* two that came meanwhile are one */
    FAILS(TIMEOUT, SCIWaitForInterrupt(interrupt, 0, 0, &error));
    finished = true;
    OK(SCIRemoveInterrupt(interrupt, 0, &error));
    OK(SCIClose(desc, 0, &error));
}

static void interrupts(void)
{
    sci_desc_t desc;
    sci_remote_interrupt_t interrupt;

    OK(SCIInitialize(0, &error));
    OK(SCIOpen(&desc, 0, &error));
    FAILS(NO_SUCH_INTNO,
          SCIConnectInterrupt(desc, &interrupt, NODE_0, 0, 9, SCI_INFINITE_TIMEOUT, 0, &error));
    FAILS(TIMEOUT, SCIConnectInterrupt(desc, &interrupt, NODE_0, 0, 3, 0, 0, &error));
    OK(SCIConnectInterrupt(desc, &interrupt, NODE_0, 0, 3, SCI_INFINITE_TIMEOUT, 0, &error));
    OK(SCITriggerInterrupt(interrupt, 0, &error));
    sim_sleep_until(sim_now() + 20 * SIM_US);
    OK(SCITriggerInterrupt(interrupt, 0, &error));
    OK(SCITriggerInterrupt(interrupt, 0, &error));
    wait_until_finished();
    OK(SCIDisconnectInterrupt(interrupt, 0, &error));
    OK(SCIClose(desc, 0, &error));
}

static void mad_69_interrupts(void **state)
{
    void (*const bodies[])(void) = {is_interrupted, interrupts};

    (void)state;
    finished = false;
    world_run(&plain, bodies, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_69_local_segments),
        cmocka_unit_test(mad_69_remote_segments),
        cmocka_unit_test(mad_62_lines_in_any_order_until_a_barrier),
        cmocka_unit_test(mad_62_lines_that_are_not_full),
        cmocka_unit_test(mad_69_sequences),
        cmocka_unit_test(mad_69_a_process_that_is_killed),
        cmocka_unit_test(mad_69_dma),
        cmocka_unit_test(mad_69_interrupts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
