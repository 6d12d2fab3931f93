/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ledger's books of Madeleine's blocks and static buffers: breaches of what a mode of sending
 * promises are planted in the library and in a program, and found by name.
 */
#include "rank_programs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <madeleine.h>
#include <vipl.h>

#include "internal.h"

#define SCENARIO                                                            \
    "networks: [{name: via, kind: via, nodes: 3}]\n"                        \
    "jobs: [{name: a, nodes: 0-1, workload: mad_ping, env: {MAD_ADAPTERS: " \
    "'via:/dev/via_eth0'}}]\n"                                              \
    "expect: [{ledger: balanced}]\n"

enum { BYTES = 6000 };
enum plant { NONE, NOT_COPIED, TOO_LATE, CHANGED, IN_A_BUFFER };

static enum plant planted;
static char *memory; /* of rank 0's block */
static size_t length;
static mad_send_mode_t mode;

int __real_mad_send_block(p_mad_connection_t connection, struct mad_block *block);
int __wrap_mad_send_block(p_mad_connection_t connection, struct mad_block *block);
int __real_mad_send_end(p_mad_connection_t connection);
int __wrap_mad_send_end(p_mad_connection_t connection);
VIP_RETURN __real_VipPostSend(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle);
VIP_RETURN __wrap_VipPostSend(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle);

/* A SAFER block is not copied. */
int __wrap_mad_send_block(p_mad_connection_t connection, struct mad_block *block)
{
    if (planted == NOT_COPIED && block->send_mode == mad_send_SAFER)
        block->send_mode = mad_send_CHEAPER;
    return __real_mad_send_block(connection, block);
}

/* The memory is read when it is not what it was at mad_end_packing. */
int __wrap_mad_send_end(p_mad_connection_t connection)
{
    int error;

    memory[1] ^= planted == TOO_LATE;
    error = __real_mad_send_end(connection);
    memory[1] ^= planted == TOO_LATE;
    return error;
}

VIP_RETURN __wrap_VipPostSend(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle)
{
    if (planted == IN_A_BUFFER && descriptor->Control.SegCount == 1 &&
        descriptor->Control.Length == length)
        ((char *)descriptor->Data[0].Data.Address)[1] ^= 1;
    return __real_VipPostSend(vi, descriptor, handle);
}

static int block_main(struct rank *rank)
{
    p_mad_madeleine_t session = mad_init(NULL, NULL, NULL, NULL);
    p_mad_channel_t channel = mad_open_channel(session, 0);
    char *block = calloc(1, length);
    p_mad_connection_t connection;

    if (rank_id(rank) == 0) {
        memory = block;
        memset(block, 1, length);
        connection = mad_begin_packing(channel, 1);
        mad_pack(connection, block, length, mode, mad_receive_CHEAPER);
        if (mode == mad_send_SAFER || planted == CHANGED)
            memset(block, 2, length);
        mad_end_packing(connection);
    } else {
        connection = mad_begin_unpacking(channel);
        mad_unpack(connection, block, length, mode, mad_receive_CHEAPER);
        mad_end_unpacking(connection);
    }
    mad_exit(session);
    free(block);
    return 0;
}

/* `rule`: NULL: the books are balanced. */
static void assert_found(enum plant plant, mad_send_mode_t send, size_t bytes, const char *rule)
{
    program_main *const mains[] = {block_main};
    json_t *result;
    char *text;

    planted = plant;
    mode = send;
    length = bytes;
    result = programs_result(SCENARIO, mains, 1);
    text = json_dumps(result, 0);
    planted = NONE;
    assert_non_null(text);
    if (rule != NULL)
        assert_non_null(strstr(text, rule));
    else
        assert_null(strstr(text, "madeleine.block: "));
    free(text);
    json_decref(result);
}

static void mad_10_a_safer_block_is_not_copied(void **state)
{
    assert_found(NONE, mad_send_SAFER, BYTES, NULL);
    assert_found(NOT_COPIED, mad_send_SAFER, BYTES,
                 "madeleine.block: a.1: a SAFER block is not what it was at mad_pack");
}

static void mad_11_a_later_block_is_read_too_late(void **state)
{
    assert_found(NONE, mad_send_LATER, BYTES, NULL);
    assert_found(TOO_LATE, mad_send_LATER, BYTES,
                 "madeleine.block: a.1: a LATER block is not what it was at mad_end_packing");
}

static void mad_13_a_program_changes_a_cheaper_block(void **state)
{
    assert_found(NONE, mad_send_CHEAPER, BYTES, NULL);
    assert_found(CHANGED, mad_send_CHEAPER, BYTES,
                 "madeleine.block: a.0: the program changed a CHEAPER block before "
                 "mad_end_packing returned");
}

static void mad_49_a_static_buffer_changes_in_flight(void **state)
{
    assert_found(NONE, mad_send_CHEAPER, 100, NULL);
    assert_found(IN_A_BUFFER, mad_send_CHEAPER, 100,
                 "madeleine.buffer: a.1: a static buffer has not arrived as it was sent");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_10_a_safer_block_is_not_copied),
        cmocka_unit_test(mad_11_a_later_block_is_read_too_late),
        cmocka_unit_test(mad_13_a_program_changes_a_cheaper_block),
        cmocka_unit_test(mad_49_a_static_buffer_changes_in_flight),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
