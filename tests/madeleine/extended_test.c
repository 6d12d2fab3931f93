/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The extended calls of Madeleine III, over the recording driver. */
#include "recording.h"

static const struct link_kind group = {GROUP, DYNAMIC, SPLIT, SIZE_MAX};

static p_mad_buffer_slice_parameter_t slice(size_t offset, size_t length, int opcode)
{
    p_mad_buffer_slice_parameter_t slice = mad_alloc_slice_parameter();

    assert_non_null(slice);
    assert_int_equal(slice->opcode, mad_op_uninitialized);
    slice->offset = offset;
    slice->length = length;
    slice->opcode = opcode;
    return slice;
}

static void blocks_with_slices_arrive(void **state)
{
    char sent[100], received[100] = {0};
    p_mad_connection_t connection;

    memset(sent, 3, sizeof(sent));
    world_open(&group, 1, 0);
    connection = begin_packing();
    mad_pack_ext(connection, sent, 50, C, E, slice(0, 50, mad_op_optional_block), NULL);
    mad_pack_ext(connection, sent + 50, 50, S, R, slice(0, 10, mad_op_optional_block),
                 slice(40, 10, mad_op_optional_block), NULL);
    mad_end_packing(connection);

    connection = begin_unpacking();
    assert_null(
        mad_unpack_ext(connection, received, 50, C, E, slice(0, 50, mad_op_optional_block), NULL));
    assert_null(mad_unpack_ext(connection, received + 50, 50, S, R,
                               slice(0, 10, mad_op_optional_block), NULL));
    assert_null(mad_end_unpacking_ext(connection));
    assert_memory_equal(received, sent, 100);
    assert_int_equal(failure_count, 0);
    world_close();
}

static void mad_89_wrong_slices_have_no_effect(void **state)
{
    char memory[10] = {0};
    p_mad_buffer_slice_parameter_t other;
    p_mad_connection_t out;

    world_open(&group, 1, 0);
    out = begin_packing();
    mad_pack_ext(out, memory, 10, C, E, slice(1, 10, mad_op_optional_block), NULL);
    assert_failure(MAD_EINVAL);
    mad_pack_ext(out, memory, 10, C, E, slice(SIZE_MAX, 2, mad_op_optional_block), NULL);
    assert_failure(MAD_EINVAL);
    mad_pack_ext(out, memory, 10, C, E, slice(0, 1, mad_op_uninitialized), NULL);
    assert_failure(MAD_EINVAL);
    other = slice(0, 1, mad_op_optional_block);
    other->base = memory + 1;
    mad_pack_ext(out, memory, 10, C, E, slice(0, 1, mad_op_optional_block), other, NULL);
    assert_failure(MAD_EINVAL);
    assert_int_equal(recording.bytes, 0);
    mad_pack_ext(out, memory, 10, C, E, slice(9, 1, mad_op_optional_block), NULL);
    mad_end_packing(out);
    assert_int_equal(recording.bytes, 10);
    assert_int_equal(failure_count, 0);
    world_close();
}

/* An EXPRESS slice is lost in its call, a CHEAPER one is found lost at the next one or at the end.
 */
static void slices_of_a_broken_connection_are_lost(void **state)
{
    char memory[40] = {0};
    p_mad_buffer_slice_parameter_t lost;
    p_mad_connection_t connection;
    p_tbx_slist_t list;

    for (int express = 0; express < 2; express++) {
        world_open(&group, 1, 0);
        connection = begin_packing();
        mad_pack(connection, memory, 20, C, R);
        mad_pack(connection, memory, 20, C, express ? E : R);
        mad_end_packing(connection);
        connection = begin_unpacking();
        recording.fail_receiving = MAD_EDRIVER;
        assert_null(
            mad_unpack_ext(connection, memory, 20, C, R, slice(5, 6, mad_op_optional_block), NULL));
        list = mad_unpack_ext(connection, memory + 20, 20, C, express ? E : R,
                              slice(7, 8, mad_op_optional_block), NULL);
        assert_int_equal(list != NULL, express);
        if (!express)
            list = mad_end_unpacking_ext(connection);
        assert_failure(MAD_EDRIVER);
        assert_int_equal(tbx_slist_get_length(list), 2);
        assert_int_equal(tbx_slist_is_nil(list), tbx_false);
        tbx_slist_ref_to_head(list);
        lost = tbx_slist_ref_get(list);
        assert_int_equal(lost->opcode, mad_os_lost_block);
        assert_ptr_equal(lost->base, memory);
        assert_int_equal(lost->offset, 5);
        assert_int_equal(tbx_slist_ref_forward(list), tbx_true);
        lost = tbx_slist_ref_get(list);
        assert_int_equal(lost->length, 8);
        assert_int_equal(tbx_slist_ref_forward(list), tbx_false);
        mad_free_parameter_slist(list);
        if (express)
            assert_null(mad_end_unpacking_ext(connection));
        recording.fail_receiving = MAD_OK;
        world_close();
        failures_clear();
    }
    assert_int_equal(tbx_slist_is_nil(NULL), tbx_true);
    assert_int_equal(tbx_slist_get_length(NULL), 0);
    assert_null(tbx_slist_ref_get(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_with_slices_arrive),
        cmocka_unit_test(mad_89_wrong_slices_have_no_effect),
        cmocka_unit_test(slices_of_a_broken_connection_are_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
