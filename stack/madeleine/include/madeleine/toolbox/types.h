/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The types of the toolbox. */
#ifndef JACQUARD_MADELEINE_TOOLBOX_TYPES_H
#define JACQUARD_MADELEINE_TOOLBOX_TYPES_H

#include "madeleine/types.h"

typedef tbx_bool_t *p_tbx_bool_t;
typedef enum { tbx_flag_clear = 0, tbx_flag_set = 1 } tbx_flag_t, *p_tbx_flag_t;
typedef enum { tbx_cmp_lt = -1, tbx_cmp_eq = 0, tbx_cmp_gt = 1 } tbx_cmp_t, *p_tbx_cmp_t;
typedef unsigned long tbx_align_t, *p_tbx_align_t;

typedef int tbx_list_length_t, *p_tbx_list_length_t;
typedef int tbx_list_mark_position_t, *p_tbx_list_mark_position_t;
typedef int tbx_slist_index_t, *p_tbx_slist_index_t;
typedef int tbx_slist_length_t, *p_tbx_slist_length_t;
typedef int tbx_slist_offset_t, *p_tbx_slist_offset_t;
typedef int tbx_darray_index_t, *p_tbx_darray_index_t;
typedef char *tbx_htable_key_t, **p_tbx_htable_key_t;
typedef int tbx_htable_bucket_count_t, *p_tbx_htable_bucket_count_t;
typedef int tbx_htable_element_count_t, *p_tbx_htable_element_count_t;

typedef struct s_tbx_memory tbx_memory_t, *p_tbx_memory_t;
typedef struct s_tbx_list_element tbx_list_element_t, *p_tbx_list_element_t;
typedef struct s_tbx_list tbx_list_t, *p_tbx_list_t;
typedef struct s_tbx_list_reference tbx_list_reference_t, *p_tbx_list_reference_t;
typedef struct s_tbx_slist_element tbx_slist_element_t, *p_tbx_slist_element_t;
typedef struct s_tbx_slist_nref tbx_slist_nref_t, *p_tbx_slist_nref_t;
typedef struct s_tbx_slist tbx_slist_t, *p_tbx_slist_t;
typedef struct s_tbx_htable_element tbx_htable_element_t, *p_tbx_htable_element_t;
typedef struct s_tbx_htable tbx_htable_t, *p_tbx_htable_t;
typedef struct s_tbx_darray tbx_darray_t, *p_tbx_darray_t;
typedef struct s_tbx_string tbx_string_t, *p_tbx_string_t;

typedef void (*p_tbx_list_foreach_func_t)(void *object);
typedef tbx_bool_t (*p_tbx_slist_search_func_t)(void *wanted, void *object);
typedef tbx_cmp_t (*p_tbx_slist_cmp_func_t)(void *wanted, void *object);
typedef void *(*p_tbx_slist_dup_func_t)(void *object);

#endif
