/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Madeleine's VIA driver in a cluster: what it posts and registers, and when its sender waits. */
#include "rank_programs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <madeleine.h>
#include <vipl.h>

#define SCENARIO                                                            \
    "networks: [{name: via, kind: via, nodes: 3}]\n"                        \
    "jobs: [{name: a, nodes: 0-1, workload: mad_ping, env: {MAD_ADAPTERS: " \
    "'via:/dev/via_eth0'}}]\n"                                              \
    "expect: [{ledger: balanced}, {metric: legacy.via.dropped, equals: 0}]\n"

enum { RECORDS_MAX = 4096 };

static struct record {
    int rank;
    unsigned op, control, length, immediate;
} records[RECORDS_MAX];
static unsigned record_count;
static bool recording;
static int registered; /* regions, since the program has begun */

#pragma GCC visibility push(default)
VIP_RETURN __real_VipPostSend(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle);
VIP_RETURN __wrap_VipPostSend(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle);
VIP_RETURN __real_VipRegisterMem(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
                                 VIP_MEM_ATTRIBUTES *attributes, VIP_MEM_HANDLE *handle);
VIP_RETURN __wrap_VipRegisterMem(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
                                 VIP_MEM_ATTRIBUTES *attributes, VIP_MEM_HANDLE *handle);
VIP_RETURN __real_VipDeregisterMem(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle);
VIP_RETURN __wrap_VipDeregisterMem(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle);

VIP_RETURN __wrap_VipPostSend(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle)
{
    if (recording && record_count < RECORDS_MAX)
        records[record_count++] = (struct record){
            (int)rank_id(rank_self()), descriptor->Control.Control & VIP_CONTROL_OP_MASK,
            descriptor->Control.Control, descriptor->Control.Length,
            descriptor->Control.ImmediateData};
    return __real_VipPostSend(vi, descriptor, handle);
}

VIP_RETURN __wrap_VipRegisterMem(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
                                 VIP_MEM_ATTRIBUTES *attributes, VIP_MEM_HANDLE *handle)
{
    registered++;
    return __real_VipRegisterMem(nic, address, length, attributes, handle);
}

VIP_RETURN __wrap_VipDeregisterMem(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle)
{
    registered--;
    return __real_VipDeregisterMem(nic, address, handle);
}
#pragma GCC visibility pop

static void on_failure(const mad_failure_t *failure, void *arg)
{
    rank_fail(arg, "Madeleine: %s (%d)", failure->text, failure->code);
}

static p_mad_channel_t open_channel(struct rank *rank, p_mad_madeleine_t *opened)
{
    mad_set_failure_handler(on_failure, rank);
    *opened = mad_init(NULL, NULL, NULL, NULL);
    return *opened != NULL ? mad_open_channel(*opened, 0) : NULL;
}

static void run(program_main *main)
{
    program_main *const mains[] = {main};

    record_count = 0;
    recording = false;
    registered = 0;
    assert_int_equal(programs_run(SCENARIO, mains), EXIT_HOLDS);
}

static void send_block(p_mad_channel_t channel, void *block, size_t bytes)
{
    p_mad_connection_t out = mad_begin_packing(channel, 1);

    mad_pack(out, block, bytes, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_packing(out);
}

static void receive_block(p_mad_channel_t channel, void *block, size_t bytes)
{
    p_mad_connection_t in = mad_begin_unpacking(channel);

    mad_unpack(in, block, bytes, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_unpacking(in);
}

/* ---- credits --------------------------------------------------------------------------------- */

static unsigned sent;

static int credits_main(struct rank *rank)
{
    p_mad_madeleine_t own;
    p_mad_channel_t channel = open_channel(rank, &own);
    sim_time_t began;
    int failures = 0;
    char block[100];

    memset(block, 0, sizeof(block));
    sim_settle();
    began = sim_now();
    for (unsigned i = 0; rank_id(rank) == 0 && i < 40; i++) {
        send_block(channel, block, sizeof(block));
        sent = i + 1;
    }
    if (rank_id(rank) == 1) {
        sim_sleep_until(began + 100 * SIM_MS);
        failures += SAYS(rank, sent == 30);
        for (unsigned i = 0; i < 30; i++)
            receive_block(channel, block, sizeof(block));
        sim_sleep_until(began + 200 * SIM_MS);
        failures += SAYS(rank, sent == 30); /* the 31st receive has not begun */
        for (unsigned i = 30; i < 40; i++)
            receive_block(channel, block, sizeof(block));
    }
    mad_exit(own);
    return failures != 0 || sent != 40;
}

static void mad_65_the_sender_waits_for_credits(void **state)
{
    sent = 0;
    run(credits_main);
}

/* ---- what is posted for a block -------------------------------------------------------------- */

static size_t block_bytes;
static int regions_before, regions_after;

static int block_main(struct rank *rank)
{
    p_mad_madeleine_t own;
    p_mad_channel_t channel = open_channel(rank, &own);
    char *block = calloc(1, block_bytes);

    rank_barrier(rank);
    regions_before = registered;
    recording = true;
    if (rank_id(rank) == 0)
        send_block(channel, block, block_bytes);
    else
        receive_block(channel, block, block_bytes);
    rank_barrier(rank);
    regions_after = registered;
    recording = false;
    free(block);
    mad_exit(own);
    return 0;
}

static const struct record *post(size_t bytes)
{
    block_bytes = bytes;
    run(block_main);
    assert_int_equal(regions_before, regions_after); /* no memory of the user is left */
    return records;
}

static bool is_announcement(const struct record *record)
{
    return record->rank == 0 && record->op == VIP_CONTROL_OP_SENDRECV && record->length == 0 &&
           (record->control & VIP_CONTROL_IMMEDIATE) == 0;
}

static void mad_53_frames_of_512_bytes(void **state)
{
    static const size_t lengths[] = {1, 511, 512, 513, 5119, 5120};

    for (unsigned i = 0; i < 6; i++) {
        const struct record *record = post(lengths[i]);
        size_t bytes = 0;

        assert_int_equal(record_count, (lengths[i] + 511) / 512);
        for (unsigned k = 0; k < record_count; k++) {
            assert_int_equal(record[k].rank, 0);
            assert_in_range(record[k].length, 1, 512);
            bytes += record[k].length;
        }
        assert_int_equal(bytes, lengths[i]);
    }
}

static void mad_53_mad_66_receivers_are_ready_before_each_piece(void **state)
{
    static const size_t lengths[] = {5121, 32767, 32768};

    for (unsigned i = 0; i < 3; i++) {
        const struct record *record = post(lengths[i]);

        assert_int_equal(record_count, 3);
        assert_true(is_announcement(&record[0]));
        assert_int_equal(record[1].rank, 1);
        assert_int_equal(record[1].length, 0);
        assert_int_equal(record[1].control, VIP_CONTROL_IMMEDIATE);
        assert_int_equal(record[1].immediate, lengths[i]);
        assert_int_equal(record[2].rank, 0);
        assert_int_equal(record[2].op, VIP_CONTROL_OP_SENDRECV);
        assert_int_equal(record[2].length, lengths[i]);
    }
}

static void mad_53_mad_66_mad_67_rdma_pieces(void **state)
{
    static const size_t lengths[] = {32769, 65536, 100000};

    for (unsigned i = 0; i < 3; i++) {
        const struct record *record = post(lengths[i]);
        unsigned pieces = (unsigned)((lengths[i] + 32767) / 32768);
        size_t bytes = 0;

        assert_int_equal(record_count, 2 + pieces);
        assert_true(is_announcement(&record[0]));
        assert_int_equal(record[1].rank, 1); /* the addresses: 16 bytes for a block */
        assert_int_equal(record[1].length, 16);
        assert_int_equal(record[1].immediate, 1);
        for (unsigned k = 2; k < record_count; k++) {
            bool last = k + 1 == record_count;

            assert_int_equal(record[k].op, VIP_CONTROL_OP_RDMAWRITE);
            assert_in_range(record[k].length, 1, 32768);
            assert_int_equal((record[k].control & VIP_CONTROL_IMMEDIATE) != 0, last);
            bytes += record[k].length;
        }
        assert_int_equal(record[record_count - 1].immediate, 1);
        assert_int_equal(bytes, lengths[i]);
    }
}

/* ---- many blocks in one group ---------------------------------------------------------------- */

enum { BLOCKS = 70, BLOCK = 33000 };

static int group_main(struct rank *rank)
{
    p_mad_madeleine_t own;
    p_mad_channel_t channel = open_channel(rank, &own);
    bool sends = rank_id(rank) == 0;
    p_mad_connection_t connection =
        sends ? mad_begin_packing(channel, 1) : mad_begin_unpacking(channel);
    char *blocks = calloc(BLOCKS, BLOCK);
    int failures = 0;

    for (int i = 0; i < BLOCKS; i++) {
        if (sends) {
            memset(blocks + (size_t)i * BLOCK, i + 1, BLOCK);
            mad_pack(connection, blocks + (size_t)i * BLOCK, BLOCK, mad_send_CHEAPER,
                     mad_receive_CHEAPER);
        } else {
            mad_unpack(connection, blocks + (size_t)i * BLOCK, BLOCK, mad_send_CHEAPER,
                       mad_receive_CHEAPER);
        }
    }
    if (sends)
        mad_end_packing(connection);
    else
        mad_end_unpacking(connection);
    for (int i = 0; i < BLOCKS * BLOCK; i++)
        if (blocks[i] != i / BLOCK + 1)
            failures++;
    free(blocks);
    mad_exit(own);
    return SAYS(rank, failures == 0);
}

static void long_groups_take_several_rounds(void **state)
{
    run(group_main);
}

/* ---- all lengths and modes ------------------------------------------------------------------- */

static const size_t sizes[] = {1,    360,  361,  512,   513,   1024,   1025,   5120,
                               5121, 8192, 8193, 32768, 32769, 192000, 1000000};

static int modes_main(struct rank *rank)
{
    static const mad_send_mode_t sends[] = {mad_send_SAFER, mad_send_LATER, mad_send_CHEAPER};
    p_mad_madeleine_t own;
    p_mad_channel_t channel = open_channel(rank, &own);
    char *block = malloc(1000000);
    int failures = 0;

    for (unsigned i = 0; i < 15 * 6; i++) {
        size_t bytes = sizes[i / 6];
        mad_send_mode_t send = sends[i % 3];
        mad_receive_mode_t receive = i % 6 < 3 ? mad_receive_EXPRESS : mad_receive_CHEAPER;
        int value = (int)(i % 100) + 1;

        if (rank_id(rank) == 0) {
            p_mad_connection_t out = mad_begin_packing(channel, 1);

            memset(block, send == mad_send_LATER ? 0 : value, bytes);
            mad_pack(out, block, bytes, send, receive);
            if (send != mad_send_CHEAPER) /* SAFER: the first value is sent, LATER: this one */
                memset(block, send == mad_send_LATER ? value : 0, bytes);
            mad_end_packing(out);
        } else {
            p_mad_connection_t in = mad_begin_unpacking(channel);

            mad_unpack(in, block, bytes, send, receive);
            if (receive == mad_receive_EXPRESS)
                failures += SAYS(rank, block[0] == value && block[bytes - 1] == value);
            mad_end_unpacking(in);
            for (size_t k = 0; k < bytes; k++)
                if (block[k] != value) {
                    failures += SAYS(rank, block[k] == value);
                    break;
                }
        }
    }
    free(block);
    mad_exit(own);
    return failures;
}

static void mad_10_mad_11_mad_13_mad_14_modes_over_via(void **state)
{
    run(modes_main);
}

/* ---- adapters -------------------------------------------------------------------------------- */

static char failure_text[200];

static void note_failure(const mad_failure_t *failure, void *arg)
{
    (void)arg;
    snprintf(failure_text, sizeof(failure_text), "%d %s", failure->code, failure->text);
}

static int selector_main(struct rank *rank)
{
    p_mad_adapter_set_t set = mad_adapter_set_init(1, mad_VIA, NULL);
    p_mad_madeleine_t own;

    mad_set_failure_handler(note_failure, NULL);
    own = mad_init(NULL, NULL, NULL, set);
    mad_adapter_set_free(set);
    return SAYS(rank, own == NULL);
}

static void an_adapter_names_its_device(void **state)
{
    program_main *const mains[] = {selector_main};

    json_decref(programs_result(SCENARIO, mains, 1));
    assert_true(strstr(failure_text, "VIA adapter selector must not be NULL") != NULL ||
                strncmp(failure_text, "1 ", 2) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_65_the_sender_waits_for_credits),
        cmocka_unit_test(mad_53_frames_of_512_bytes),
        cmocka_unit_test(mad_53_mad_66_receivers_are_ready_before_each_piece),
        cmocka_unit_test(mad_53_mad_66_mad_67_rdma_pieces),
        cmocka_unit_test(long_groups_take_several_rounds),
        cmocka_unit_test(mad_10_mad_11_mad_13_mad_14_modes_over_via),
        cmocka_unit_test(an_adapter_names_its_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
