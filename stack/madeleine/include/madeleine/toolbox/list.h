/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists of pointers: with a mark (tbx_list), and with cursors and searching (tbx_slist). */
#ifndef JACQUARD_MADELEINE_TOOLBOX_LIST_H
#define JACQUARD_MADELEINE_TOOLBOX_LIST_H

#include "macros.h"

#ifdef __cplusplus
extern "C" {
#endif

struct s_tbx_list_element {
    void *object;
    p_tbx_list_element_t next, previous;
};

/* The mark is the first element of the part that tbx_extract_sub_list finds. */
struct s_tbx_list {
    tbx_list_length_t length;
    p_tbx_list_element_t first, last, mark;
    tbx_list_mark_position_t mark_position;
    tbx_bool_t mark_next; /* the next element that is appended gets the mark */
    tbx_bool_t read_only; /* the elements belong to another list */
};

struct s_tbx_list_reference {
    p_tbx_list_t list;
    p_tbx_list_element_t reference; /* NULL: the list was empty */
    tbx_bool_t after_end;
};

struct s_tbx_slist_element {
    p_tbx_slist_element_t previous, next;
    void *object;
};

struct s_tbx_slist {
    TBX_SHARED; /* for the program: the functions do not lock */
    tbx_slist_length_t length;
    p_tbx_slist_element_t head, tail;
    p_tbx_slist_element_t ref; /* the list's own cursor; NULL: on no element */
    p_tbx_slist_nref_t nref_head;
};

/* One more cursor of a list. */
struct s_tbx_slist_nref {
    p_tbx_slist_element_t element;
    p_tbx_slist_nref_t previous, next;
    p_tbx_slist_t slist;
};

#pragma GCC visibility push(default)

/* ---- lists with a mark ---- */

void tbx_list_init(p_tbx_list_t list); /* the memory of the list is the caller's */
void tbx_destroy_list(p_tbx_list_t list); /* its elements, but not the objects */
void tbx_foreach_destroy_list(p_tbx_list_t list, p_tbx_list_foreach_func_t function);
void tbx_append_list(p_tbx_list_t list, void *object); /* a failure on a list that is read only */
void *tbx_get_list_object(p_tbx_list_t list); /* the last one; a failure on an empty list */
tbx_bool_t tbx_empty_list(p_tbx_list_t list);
void tbx_mark_list(p_tbx_list_t list);
/* `destination` shows all elements, or those from the mark on, and is read only. */
void tbx_duplicate_list(p_tbx_list_t source, p_tbx_list_t destination);
void tbx_extract_sub_list(p_tbx_list_t source, p_tbx_list_t destination);

/* A cursor, on the first element at the start. It sees elements that are appended later. */
void tbx_list_reference_init(p_tbx_list_reference_t reference, p_tbx_list_t list);
void tbx_reset_list_reference(p_tbx_list_reference_t reference);
void *tbx_get_list_reference_object(p_tbx_list_reference_t reference); /* NULL: after the end */
tbx_bool_t tbx_forward_list_reference(p_tbx_list_reference_t reference); /* tbx_false: no next */
tbx_bool_t tbx_reference_after_end_of_list(p_tbx_list_reference_t reference);

/* ---- lists with cursors ---- */

/* A list of NULL counts as empty where nothing is added to it. */
p_tbx_slist_t tbx_slist_nil(void); /* a new empty list */
void tbx_slist_free(p_tbx_slist_t list); /* a failure unless it is empty and has no nref */
void tbx_slist_clear(p_tbx_slist_t list); /* the objects stay */
void tbx_slist_clear_and_free(p_tbx_slist_t list);
tbx_slist_length_t tbx_slist_get_length(p_tbx_slist_t list);
tbx_bool_t tbx_slist_is_nil(p_tbx_slist_t list);

/* Removing from an empty list is a failure. */
void tbx_slist_add_at_head(p_tbx_slist_t list, void *object);
void tbx_slist_add_at_tail(p_tbx_slist_t list, void *object);
void *tbx_slist_remove_from_head(p_tbx_slist_t list);
void *tbx_slist_remove_from_tail(p_tbx_slist_t list);
void tbx_slist_enqueue(p_tbx_slist_t list, void *object); /* at the head */
void *tbx_slist_dequeue(p_tbx_slist_t list); /* from the tail */
void tbx_slist_push(p_tbx_slist_t list, void *object); /* at the tail */
void *tbx_slist_pop(p_tbx_slist_t list); /* from the tail */
void tbx_slist_append(p_tbx_slist_t list, void *object); /* at the tail */
void *tbx_slist_extract(p_tbx_slist_t list); /* from the head */

/* New lists. `dup`: makes the copy of an object; NULL: both lists have the same one. */
p_tbx_slist_t tbx_slist_dup(p_tbx_slist_t source);
p_tbx_slist_t tbx_slist_dup_ext(p_tbx_slist_t source, p_tbx_slist_dup_func_t dup);
p_tbx_slist_t tbx_slist_cons(void *object, p_tbx_slist_t source);
p_tbx_slist_t tbx_slist_merge(p_tbx_slist_t first, p_tbx_slist_t second);
p_tbx_slist_t tbx_slist_merge_ext(p_tbx_slist_t first, p_tbx_slist_t second,
                                  p_tbx_slist_dup_func_t dup);
p_tbx_slist_t tbx_slist_reverse(p_tbx_slist_t source);
/* These change `destination`, by copies of the elements of `source`. */
void tbx_slist_merge_before(p_tbx_slist_t destination, p_tbx_slist_t source);
void tbx_slist_merge_before_ext(p_tbx_slist_t destination, p_tbx_slist_t source,
                                p_tbx_slist_dup_func_t dup);
void tbx_slist_merge_after(p_tbx_slist_t destination, p_tbx_slist_t source);
void tbx_slist_merge_after_ext(p_tbx_slist_t destination, p_tbx_slist_t source,
                               p_tbx_slist_dup_func_t dup);
void tbx_slist_reverse_list(p_tbx_slist_t list);

/* Places count from 0 at the head; a failure if there is no such one. */
void *tbx_slist_index_get(p_tbx_slist_t list, tbx_slist_index_t place);
void *tbx_slist_index_extract(p_tbx_slist_t list, tbx_slist_index_t place);
void tbx_slist_index_set_ref(p_tbx_slist_t list, tbx_slist_index_t place);
void tbx_slist_index_set_nref(p_tbx_slist_nref_t nref, tbx_slist_index_t place);

/* `search` of NULL finds the object itself. -1, NULL, tbx_false: not found. */
tbx_slist_index_t tbx_slist_search_get_index(p_tbx_slist_t list, p_tbx_slist_search_func_t search,
                                             void *wanted);
void *tbx_slist_search_and_extract(p_tbx_slist_t list, p_tbx_slist_search_func_t search,
                                   void *wanted);
/* From the head, from the tail, from the element after or before the cursor. */
tbx_bool_t tbx_slist_search_forward_set_ref(p_tbx_slist_t list, p_tbx_slist_search_func_t search,
                                            void *wanted);
tbx_bool_t tbx_slist_search_backward_set_ref(p_tbx_slist_t list, p_tbx_slist_search_func_t search,
                                             void *wanted);
tbx_bool_t tbx_slist_search_next_set_ref(p_tbx_slist_t list, p_tbx_slist_search_func_t search,
                                         void *wanted);
tbx_bool_t tbx_slist_search_previous_set_ref(p_tbx_slist_t list, p_tbx_slist_search_func_t search,
                                             void *wanted);

/* The list's own cursor. It is on the first element that is added to an empty list. */
void tbx_slist_ref_to_head(p_tbx_slist_t list);
void tbx_slist_ref_to_tail(p_tbx_slist_t list);
tbx_bool_t tbx_slist_ref_forward(p_tbx_slist_t list); /* tbx_false: there is no next element */
tbx_bool_t tbx_slist_ref_backward(p_tbx_slist_t list);
void *tbx_slist_ref_get(p_tbx_slist_t list); /* NULL: on no element */
tbx_slist_index_t tbx_slist_ref_get_index(p_tbx_slist_t list); /* -1: on no element */

/* Further cursors, on the head at the start. */
p_tbx_slist_nref_t tbx_slist_nref_alloc(p_tbx_slist_t list);
void tbx_slist_nref_free(p_tbx_slist_nref_t nref);
void tbx_slist_nref_to_head(p_tbx_slist_nref_t nref);
void tbx_slist_nref_to_tail(p_tbx_slist_nref_t nref);
tbx_bool_t tbx_slist_nref_forward(p_tbx_slist_nref_t nref);
tbx_bool_t tbx_slist_nref_backward(p_tbx_slist_nref_t nref);
void *tbx_slist_nref_get(p_tbx_slist_nref_t nref);
tbx_slist_index_t tbx_slist_nref_get_index(p_tbx_slist_nref_t nref);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
