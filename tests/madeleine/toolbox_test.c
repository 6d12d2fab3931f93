/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The toolbox: lists, tables, texts, numbers in messages, pools, and the failures of their calls.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <limits.h>
#include <stdint.h>
#include <cmocka.h>

#include "madeleine.h"

static char failure[200];

static void note(const mad_failure_t *what, void *arg)
{
    (void)arg;
    snprintf(failure, sizeof(failure), "%s", what->text);
}

static void assert_failure(const char *text)
{
    assert_string_equal(failure, text);
    failure[0] = '\0';
}

static char a[] = "a", b[] = "b", c[] = "c", d[] = "d";

static void lists_with_a_mark(void **state)
{
    tbx_list_t list, part;
    tbx_list_reference_t cursor;

    tbx_list_init(&list);
    assert_true(tbx_empty_list(&list));
    tbx_list_reference_init(&cursor, &list);
    assert_true(tbx_reference_after_end_of_list(&cursor));
    tbx_append_list(&list, a);
    tbx_append_list(&list, b);
    assert_false(tbx_reference_after_end_of_list(&cursor)); /* it sees what was appended later */
    assert_ptr_equal(tbx_get_list_reference_object(&cursor), a);
    tbx_mark_list(&list);
    tbx_append_list(&list, c);
    tbx_append_list(&list, d);
    assert_ptr_equal(tbx_get_list_object(&list), d);

    tbx_extract_sub_list(&list, &part);
    assert_int_equal(part.length, 2);
    tbx_list_reference_init(&cursor, &part);
    assert_ptr_equal(tbx_get_list_reference_object(&cursor), c);
    assert_true(tbx_forward_list_reference(&cursor));
    assert_ptr_equal(tbx_get_list_reference_object(&cursor), d);
    assert_false(tbx_forward_list_reference(&cursor));
    assert_null(tbx_get_list_reference_object(&cursor));
    tbx_append_list(&part, a);
    assert_failure("attempted to modify a read only list");

    tbx_duplicate_list(&list, &part);
    assert_int_equal(part.length, 4);
    tbx_destroy_list(&list);
    assert_true(tbx_empty_list(&list));
    assert_null(tbx_get_list_object(&list));
    assert_failure("empty list");
}

static int destroyed;

static void destroy(void *object)
{
    destroyed += object == a ? 1 : 10;
}

static void lists_destroy_their_objects(void **state)
{
    tbx_list_t list;

    tbx_list_init(&list);
    tbx_append_list(&list, a);
    tbx_append_list(&list, b);
    tbx_foreach_destroy_list(&list, destroy);
    assert_int_equal(destroyed, 11);
}

/* The objects of a list, as a text. */
static const char *text_of(p_tbx_slist_t list)
{
    static char text[32];

    text[0] = '\0';
    tbx_slist_ref_to_head(list);
    if (!tbx_slist_is_nil(list))
        do
            strcat(text, tbx_slist_ref_get(list));
        while (tbx_slist_ref_forward(list));
    assert_int_equal(strlen(text), tbx_slist_get_length(list));
    return text;
}

static void elements_at_both_ends(void **state)
{
    p_tbx_slist_t list = tbx_slist_nil();

    tbx_slist_add_at_tail(list, b);
    tbx_slist_add_at_head(list, a);
    tbx_slist_append(list, c);
    tbx_slist_push(list, d);
    assert_string_equal(text_of(list), "abcd");
    assert_ptr_equal(tbx_slist_pop(list), d);
    assert_ptr_equal(tbx_slist_extract(list), a);
    tbx_slist_enqueue(list, d);
    assert_string_equal(text_of(list), "dbc");
    assert_ptr_equal(tbx_slist_dequeue(list), c);
    tbx_slist_free(list);
    assert_failure("slist not empty");
    assert_ptr_equal(tbx_slist_remove_from_head(list), d);
    assert_ptr_equal(tbx_slist_remove_from_tail(list), b);
    assert_null(tbx_slist_remove_from_tail(list));
    assert_failure("empty slist");
    assert_null(tbx_slist_ref_get(list));
    tbx_slist_free(list);
}

static tbx_bool_t same_letter(void *wanted, void *object)
{
    return *(char *)wanted == *(char *)object ? tbx_true : tbx_false;
}

static void cursors_and_searching(void **state)
{
    char other[] = "c";
    p_tbx_slist_t list = tbx_slist_nil();
    p_tbx_slist_nref_t cursor;

    tbx_slist_append(list, a);
    tbx_slist_append(list, c);
    tbx_slist_append(list, b);
    tbx_slist_append(list, c);
    cursor = tbx_slist_nref_alloc(list);
    assert_int_equal(tbx_slist_search_get_index(list, NULL, other), -1);
    assert_int_equal(tbx_slist_search_get_index(list, same_letter, other), 1);
    assert_true(tbx_slist_search_forward_set_ref(list, same_letter, other));
    assert_int_equal(tbx_slist_ref_get_index(list), 1);
    assert_true(tbx_slist_search_next_set_ref(list, same_letter, other));
    assert_int_equal(tbx_slist_ref_get_index(list), 3);
    assert_false(tbx_slist_search_next_set_ref(list, same_letter, other));
    assert_true(tbx_slist_search_previous_set_ref(list, same_letter, other));
    assert_true(tbx_slist_search_backward_set_ref(list, same_letter, other));
    assert_int_equal(tbx_slist_ref_get_index(list), 3);
    assert_true(tbx_slist_ref_backward(list));
    assert_ptr_equal(tbx_slist_ref_get(list), b);

    assert_ptr_equal(tbx_slist_nref_get(cursor), a);
    assert_true(tbx_slist_nref_forward(cursor));
    assert_ptr_equal(tbx_slist_search_and_extract(list, same_letter, other), c);
    assert_null(tbx_slist_nref_get(cursor)); /* its element has gone */
    tbx_slist_nref_to_tail(cursor);
    assert_int_equal(tbx_slist_nref_get_index(cursor), 2);
    assert_true(tbx_slist_nref_backward(cursor));
    tbx_slist_index_set_nref(cursor, 0);
    assert_false(tbx_slist_nref_backward(cursor));
    assert_ptr_equal(tbx_slist_index_get(list, 1), b);
    assert_null(tbx_slist_index_get(list, 3));
    assert_failure("out-of-bound index");
    tbx_slist_clear(list);
    tbx_slist_free(list);
    assert_failure("nrefs still exist");
    tbx_slist_nref_free(cursor);
    tbx_slist_free(list);
}

static void *next_letter(void *object)
{
    return object == a ? b : c;
}

static void copies_of_lists(void **state)
{
    p_tbx_slist_t list = tbx_slist_cons(a, NULL), other = tbx_slist_nil(), both;

    tbx_slist_append(list, b);
    tbx_slist_append(other, c);
    tbx_slist_append(other, d);
    both = tbx_slist_merge(list, other);
    assert_string_equal(text_of(both), "abcd");
    tbx_slist_reverse_list(both);
    assert_string_equal(text_of(both), "dcba");
    tbx_slist_merge_before(list, other);
    assert_string_equal(text_of(list), "cdab");
    tbx_slist_merge_after(list, list);
    assert_string_equal(text_of(list), "cdabcdab");
    tbx_slist_clear_and_free(both);
    tbx_slist_clear(list);
    tbx_slist_append(list, a);
    tbx_slist_append(list, b);
    both = tbx_slist_dup_ext(list, next_letter);
    assert_string_equal(text_of(both), "bc");
    tbx_slist_clear_and_free(both);
    both = tbx_slist_reverse(list);
    assert_string_equal(text_of(both), "ba");
    tbx_slist_clear_and_free(both);
    tbx_slist_clear_and_free(list);
    tbx_slist_clear_and_free(other);
}

static void tables_by_text(void **state)
{
    p_tbx_htable_t table = tbx_htable_empty_table();
    p_tbx_slist_t keys;
    char key[16];

    assert_true(tbx_htable_empty(table));
    for (int i = 0; i < 200; i++) {
        snprintf(key, sizeof(key), "key %d", i);
        tbx_htable_add(table, key, i % 2 == 0 ? a : b);
    }
    assert_int_equal(tbx_htable_get_size(table), 200);
    assert_ptr_equal(tbx_htable_get(table, "key 13"), b);
    assert_null(tbx_htable_get(table, "key"));
    assert_ptr_equal(tbx_htable_replace(table, "key 13", c), b);
    assert_ptr_equal(tbx_htable_extract(table, "key 13"), c);
    assert_null(tbx_htable_extract(table, "key 13"));
    assert_null(tbx_htable_replace(table, "key 13", d));
    keys = tbx_htable_get_key_slist(table);
    assert_int_equal(tbx_slist_get_length(keys), 200);
    while (!tbx_slist_is_nil(keys)) {
        char *name = tbx_slist_extract(keys);

        assert_non_null(tbx_htable_get(table, name));
        TBX_FREE(name);
    }
    tbx_slist_free(keys);
    tbx_htable_free(table);
}

static void arrays(void **state)
{
    p_tbx_darray_t array = tbx_darray_init();
    tbx_darray_index_t place = -1;

    assert_null(tbx_darray_first_idx(array, &place));
    assert_null(tbx_darray_get(array, 0));
    assert_failure("out-of-bound index");
    tbx_darray_expand_and_set(array, 20, b);
    tbx_darray_set(array, 3, a);
    tbx_darray_append(array, c);
    assert_int_equal(tbx_darray_length(array), 22);
    assert_ptr_equal(tbx_darray_first_idx(array, &place), a);
    assert_int_equal(place, 3);
    assert_ptr_equal(tbx_darray_next_idx(array, &place), b);
    assert_ptr_equal(tbx_darray_next_idx(array, &place), c);
    assert_int_equal(place, 21);
    assert_null(tbx_darray_next_idx(array, &place));
    assert_null(tbx_darray_expand_and_get(array, 100));
    assert_int_equal(tbx_darray_length(array), 101);
    tbx_darray_reset(array);
    assert_int_equal(tbx_darray_length(array), 0);
    tbx_darray_free(array);
}

static void assert_text(p_tbx_string_t string, const char *expected)
{
    char *text = tbx_string_to_cstring_and_free(string);

    assert_string_equal(text, expected);
    TBX_FREE(text);
}

static void texts(void **state)
{
    p_tbx_string_t string = tbx_string_init_to_cstring("the sender is "), word;
    p_tbx_slist_t words;

    tbx_string_append_int(string, -17);
    tbx_string_append_char(string, ' ');
    tbx_string_append_uint(string, UINT_MAX);
    tbx_string_append_string(string, string);
    assert_int_equal(tbx_string_length(string), 2 * 28);
    words = tbx_string_split(string, NULL);
    assert_int_equal(tbx_slist_get_length(words), 9);
    assert_text(tbx_slist_extract(words), "the");
    while (!tbx_slist_is_nil(words))
        tbx_string_free(tbx_slist_extract(words));
    tbx_slist_free(words);
    tbx_string_set_to_cstring(string, "/etc/dir/name");
    assert_text(tbx_string_extract_name_from_pathname(string), "name");
    word = tbx_string_double_quote(string);
    tbx_string_reverse(word);
    assert_text(word, "\"eman/rid/cte/\"");
    assert_text(string, "/etc/dir/name");
    assert_true(tbx_streq("x", "x"));
    assert_int_equal(tbx_cstr_to_long("-12"), -12);
    assert_int_equal(tbx_cstr_to_unsigned_long("12x"), 0);
    assert_failure("not a number: 12x");
}

static void numbers_in_messages(void **state)
{
    ntbx_pack_buffer_t buffer;

    assert_int_equal(sizeof(buffer), 17);
    ntbx_pack_int(INT_MIN, &buffer);
    assert_int_equal(ntbx_unpack_int(&buffer), INT_MIN);
    ntbx_pack_unsigned_int(UINT_MAX, &buffer);
    assert_int_equal(ntbx_unpack_unsigned_int(&buffer), UINT_MAX);
    ntbx_pack_long(LONG_MIN, &buffer);
    assert_true(ntbx_unpack_long(&buffer) == LONG_MIN);
    ntbx_pack_unsigned_long(ULONG_MAX, &buffer);
    assert_true(ntbx_unpack_unsigned_long(&buffer) == ULONG_MAX);
    ntbx_pack_double(-0.1, &buffer);
    assert_true(ntbx_unpack_double(&buffer) == -0.1);
    assert_int_equal(ntbx_unpack_int(&buffer), 0);
    assert_failure("the buffer has no number of this type");
}

static void pools_of_blocks(void **state)
{
    p_tbx_memory_t pool;
    char *blocks[100];

    tbx_malloc_init(&pool, 24, 3, "a name");
    for (int i = 0; i < 100; i++) {
        blocks[i] = tbx_malloc(pool);
        assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        memset(blocks[i], i, 24);
    }
    for (int i = 0; i < 100; i++)
        for (int k = 0; k < 24; k++)
            assert_int_equal(blocks[i][k], i);
    tbx_free(pool, blocks[50]);
    assert_ptr_equal(tbx_malloc(pool), blocks[50]);
    tbx_malloc_clean(pool);
}

static int flag_is_evaluated;

static void macros(void **state)
{
    struct {
        TBX_SHARED;
        char first;
        int second TBX_ALIGN(64);
    } object;
    tbx_flag_t flag = tbx_flag_clear;
    tbx_tick_t t1, t2;

    TBX_INIT_SHARED(&object);
    TBX_LOCK_SHARED(&object);
    assert_int_not_equal(TBX_TRYLOCK_SHARED(&object), 0);
    TBX_UNLOCK_SHARED(&object);
    assert_int_equal((uintptr_t)&object.second % 64, 0);
    tbx_flag_set(&flag);
    assert_true(tbx_flag_is_set(&flag));
    tbx_toggle(flag);
    assert_false(tbx_test(flag));
    assert_int_equal(tbx_max(3, flag_is_evaluated++), 3);
    assert_int_equal(flag_is_evaluated, 1);
    assert_int_equal(tbx_aligned(65, 64), 128);
    assert_ptr_equal(tbx_container_of(&object.second, __typeof__(object), second), &object);
    TBX_GET_TICK(t1);
    TBX_GET_TICK(t2);
    assert_true(TBX_TIMING_DELAY(t1, t2) >= 0);
    assert_true(tbx_tick2usec(1500) == 1.5);
    CTRL(1 + 1, 3);
    assert_failure("assertion failed: 1 + 1 is not 3");
    CTRL_ALLOC(NULL);
    assert_failure("not enough memory");
    FAILUREF("%d of %s", 3, "four");
    assert_failure("3 of four");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_with_a_mark),
        cmocka_unit_test(lists_destroy_their_objects),
        cmocka_unit_test(elements_at_both_ends),
        cmocka_unit_test(cursors_and_searching),
        cmocka_unit_test(copies_of_lists),
        cmocka_unit_test(tables_by_text),
        cmocka_unit_test(arrays),
        cmocka_unit_test(texts),
        cmocka_unit_test(numbers_in_messages),
        cmocka_unit_test(pools_of_blocks),
        cmocka_unit_test(macros),
    };

    mad_set_failure_handler(note, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
