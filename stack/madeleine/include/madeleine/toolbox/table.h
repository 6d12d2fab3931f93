/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tables of pointers: by a text (tbx_htable), and by a number (tbx_darray). */
#ifndef JACQUARD_MADELEINE_TOOLBOX_TABLE_H
#define JACQUARD_MADELEINE_TOOLBOX_TABLE_H

#include "macros.h"

#ifdef __cplusplus
extern "C" {
#endif

struct s_tbx_htable_element {
    char *key; /* a copy */
    void *object;
    p_tbx_htable_element_t next;
};

struct s_tbx_htable {
    TBX_SHARED; /* for the program: the functions do not lock */
    tbx_htable_bucket_count_t nb_bucket;
    p_tbx_htable_element_t *bucket_array;
    tbx_htable_element_count_t nb_element;
};

struct s_tbx_darray {
    TBX_SHARED;
    tbx_darray_index_t length, allocated_length;
    void **data;
};

#pragma GCC visibility push(default)

/* 0 buckets: 17. */
void tbx_htable_init(p_tbx_htable_t table, tbx_htable_bucket_count_t buckets);
p_tbx_htable_t tbx_htable_empty_table(void); /* a new one */
void tbx_htable_free(p_tbx_htable_t table); /* with its keys; the objects stay */
void tbx_htable_cleanup_and_free(p_tbx_htable_t table); /* the same */
tbx_bool_t tbx_htable_empty(p_tbx_htable_t table);
tbx_htable_element_count_t tbx_htable_get_size(p_tbx_htable_t table);
/* A key that is there already is hidden until the new one is extracted. */
void tbx_htable_add(p_tbx_htable_t table, const char *key, void *object);
void *tbx_htable_get(p_tbx_htable_t table, const char *key); /* NULL: there is none */
void *tbx_htable_replace(p_tbx_htable_t table, const char *key, void *object); /* the old one */
void *tbx_htable_extract(p_tbx_htable_t table, const char *key);
/* A list of copies of the keys, which are the caller's. */
p_tbx_slist_t tbx_htable_get_key_slist(p_tbx_htable_t table);

p_tbx_darray_t tbx_darray_init(void);
void tbx_darray_free(p_tbx_darray_t array); /* the objects stay */
size_t tbx_darray_length(p_tbx_darray_t array);
void tbx_darray_reset(p_tbx_darray_t array);
/* A failure outside of the length; with `expand` the array grows by NULLs. */
void *tbx_darray_get(p_tbx_darray_t array, tbx_darray_index_t place);
void tbx_darray_set(p_tbx_darray_t array, tbx_darray_index_t place, void *object);
void *tbx_darray_expand_and_get(p_tbx_darray_t array, tbx_darray_index_t place);
void tbx_darray_expand_and_set(p_tbx_darray_t array, tbx_darray_index_t place, void *object);
void tbx_darray_append(p_tbx_darray_t array, void *object);
/* The first object that is not NULL, and the one after *place; NULL: there is none. */
void *tbx_darray_first_idx(p_tbx_darray_t array, p_tbx_darray_index_t place);
void *tbx_darray_next_idx(p_tbx_darray_t array, p_tbx_darray_index_t place);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
