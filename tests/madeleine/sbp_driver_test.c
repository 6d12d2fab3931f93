/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Madeleine's SBP driver in a cluster: its frames, other channels' frames, the number of channels.
 */
#include "rank_programs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <madeleine.h>

#include "driver/sbp.h"

#define SCENARIO                                                                    \
    "networks: [{name: sbp, kind: sbp, nodes: 2}]\n"                                \
    "jobs: [{name: a, nodes: 0-1, workload: mad_ping, env: {MAD_ADAPTERS: sbp}}]\n" \
    "expect: [{ledger: balanced}]\n"

enum { RECORDS_MAX = 64 };

static struct record {
    SbpHeader_t header;
    struct msbp_header inner;
} records[RECORDS_MAX];
static unsigned record_count;

#pragma GCC visibility push(default)
int __real_returnfullbuffer(unsigned long key, unsigned long frame);
int __wrap_returnfullbuffer(unsigned long key, unsigned long frame);

int __wrap_returnfullbuffer(unsigned long key, unsigned long frame)
{
    struct record *record = &records[record_count % RECORDS_MAX];

    memcpy(&record->header, (void *)frame, sizeof(record->header));
    memcpy(&record->inner, (char *)frame + SBP_HEADER_SIZE, sizeof(record->inner));
    record_count++;
    return __real_returnfullbuffer(key, frame);
}
#pragma GCC visibility pop

static bool forged; /* the frames that arrive are the test's, which the ledger does not know */

void __real_port_piece_received(const struct port_piece *piece, const void *bytes, size_t length);
void __wrap_port_piece_received(const struct port_piece *piece, const void *bytes, size_t length);

void __wrap_port_piece_received(const struct port_piece *piece, const void *bytes, size_t length)
{
    if (!forged)
        __real_port_piece_received(piece, bytes, length);
}

static int last_code;

static void note_failure(const mad_failure_t *failure, void *arg)
{
    (void)arg;
    last_code = failure->code;
}

static void run(program_main *main)
{
    program_main *const mains[] = {main};

    record_count = 0;
    last_code = MAD_OK;
    forged = false;
    assert_int_equal(programs_run(SCENARIO, mains), EXIT_HOLDS);
}

static p_mad_madeleine_t begin(void)
{
    mad_set_failure_handler(note_failure, NULL);
    return mad_init(NULL, NULL, NULL, NULL);
}

static void send_block(p_mad_channel_t channel, int value, size_t bytes)
{
    p_mad_connection_t out = mad_begin_packing(channel, 1);
    char *block = malloc(bytes);

    memset(block, value, bytes);
    mad_pack(out, block, bytes, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_packing(out);
    free(block);
}

static int receive_block(struct rank *rank, p_mad_channel_t channel, int value, size_t bytes)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);
    char *block = calloc(1, bytes);
    int failures;

    mad_unpack(in, block, bytes, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_unpacking(in);
    failures = SAYS(rank, block[0] == value && block[bytes - 1] == value);
    free(block);
    return failures;
}

static int frames_main(struct rank *rank)
{
    p_mad_madeleine_t session = begin();
    p_mad_channel_t first = mad_open_channel(session, 0), channel = mad_open_channel(session, 0);
    int failures = SAYS(rank, first != NULL && channel != NULL);

    rank_barrier(rank);
    if (rank_id(rank) == 0)
        send_block(channel, 5, 4000);
    else
        failures += receive_block(rank, channel, 5, 4000);
    mad_exit(session);
    return failures;
}

static void mad_59_headers_of_frames(void **state)
{
    run(frames_main);
    assert_int_equal(record_count, 3); /* 1476, 1476 and 1048 bytes */
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(records[i].header.cookie.destn_node, 1);
        assert_int_equal(records[i].header.cookie.len,
                         SBP_HEADER_SIZE + 2 + (i == 2 ? 1048 : 1476));
        assert_int_equal(records[i].inner.channel, 1);
        assert_int_equal(records[i].inner.type, i == 0 ? 0 : 2); /* REQUEST, DATA */
    }
}

/* The receiver takes the messages of the second channel first, and those of an open message's. */
static int queues_main(struct rank *rank)
{
    p_mad_madeleine_t session = begin();
    p_mad_channel_t one = mad_open_channel(session, 0), two = mad_open_channel(session, 0);
    int failures = 0;

    for (int i = 1; rank_id(rank) == 0 && i <= 100; i++) {
        send_block(one, i, 1000);
        send_block(two, 100 + i % 20, 2000);
    }
    if (rank_id(rank) == 1) {
        for (int i = 1; i <= 100; i++)
            failures += receive_block(rank, two, 100 + i % 20, 2000);
        for (int i = 1; i <= 100; i++)
            failures += receive_block(rank, one, i, 1000);
    }
    mad_exit(session);
    return failures;
}

static void mad_33_mad_59_frames_of_other_channels_are_queued(void **state)
{
    run(queues_main);
}

/* A frame for the second channel, made by hand before that is open. */
static int early_main(struct rank *rank)
{
    p_mad_madeleine_t session = begin();
    p_mad_channel_t one = mad_open_channel(session, 0), two;
    struct msbp_adapter *adapter = mad_sbp_adapter(one->adapter);
    int failures = 0;

    if (rank_id(rank) == 0) {
        const SbpHeader_t header = {.cookie = {.destn_node = 1, .len = MSBP_HEADERS + 100}};
        const struct msbp_header inner = {.channel = 1, .type = MSBP_REQUEST};
        unsigned long frame = pickupemptybuffer(adapter->out);

        memcpy((void *)frame, &header, sizeof(header));
        memcpy((char *)frame + SBP_HEADER_SIZE, &inner, sizeof(inner));
        memset((char *)frame + MSBP_HEADERS, 9, 100);
        failures += SAYS(rank, returnfullbuffer(adapter->out, frame) != 0);
        send_block(one, 3, 100);
    } else {
        failures += receive_block(rank, one, 3, 100);
        failures += SAYS(rank, adapter->unknown != NULL);
    }
    two = mad_open_channel(session, 0);
    forged = true;
    if (rank_id(rank) == 1)
        failures += receive_block(rank, two, 9, 100);
    mad_exit(session);
    return failures;
}

static void mad_59_frames_before_the_channel_is_open(void **state)
{
    run(early_main);
}

static int channels_main(struct rank *rank)
{
    p_mad_madeleine_t session = begin();
    p_mad_channel_t channel = NULL;
    int failures = 0;

    for (int i = 1; i <= 255; i++) {
        channel = mad_open_channel(session, 0);
        failures += channel == NULL;
    }
    failures += SAYS(rank, failures == 0 && channel->id == 254 && last_code == MAD_OK);
    if (rank_id(rank) == 0)
        send_block(channel, 7, 10);
    else
        failures += receive_block(rank, channel, 7, 10);
    failures += SAYS(rank, mad_open_channel(session, 0) == NULL);
    failures += SAYS(rank, last_code == MAD_ENOTSUP);
    return failures;
}

static void mad_60_channel_256_is_refused(void **state)
{
    run(channels_main);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_59_headers_of_frames),
        cmocka_unit_test(mad_33_mad_59_frames_of_other_channels_are_queued),
        cmocka_unit_test(mad_59_frames_before_the_channel_is_open),
        cmocka_unit_test(mad_60_channel_256_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
