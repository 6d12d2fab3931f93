/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For programs of April 2000: the library's own header has their names. Its folder follows this one
 * in the list of include directories.
 */
#ifndef JACQUARD_MADELEINE_COMPAT_2000_H
#define JACQUARD_MADELEINE_COMPAT_2000_H

#ifdef JACQUARD_MADELEINE_2008
#error "A program includes the header of 2000 or that of 2008."
#endif
#include_next <madeleine.h>

/* These names would disturb other programs, so that the library's own header does not have them. */
#ifndef __cplusplus
#ifndef max
#define max(a, b) ((a) >= (b) ? (a) : (b))
#endif
#ifndef min
#define min(a, b) ((a) <= (b) ? (a) : (b))
#endif
#endif

/* The names of before 13 January 2000, when the toolbox was a part of the library. */
typedef tbx_bool_t mad_bool_t, *p_mad_bool_t;
#define mad_false tbx_false
#define mad_true tbx_true
typedef tbx_flag_t mad_flag_t, *p_mad_flag_t;
#define mad_flag_clear tbx_flag_clear
#define mad_flag_set tbx_flag_set
#define mad_set(flag) tbx_set(flag)
#define mad_clear(flag) tbx_clear(flag)
#define mad_toggle(flag) tbx_toggle(flag)
#define mad_test(flag) tbx_test(flag)
typedef long mad_host_id_t, *p_mad_host_id_t;
typedef tbx_tick_t mad_tick_t, *p_mad_tick_t;
#define MAD_GET_TICK(tick_) TBX_GET_TICK(tick_)
#define MAD_TICK_DIFF(t1, t2) TBX_TICK_DIFF(t1, t2)
#define MAD_TIMING_DELAY(t1, t2) TBX_TIMING_DELAY(t1, t2)
#define mad_tick2usec tbx_tick2usec
#define mad_aligned_malloc tbx_aligned_malloc
#define mad_aligned_free tbx_aligned_free
typedef tbx_list_t mad_list_t, *p_mad_list_t;
typedef tbx_list_reference_t mad_list_reference_t, *p_mad_list_reference_t;
#define mad_list_init tbx_list_init
#define mad_append_list tbx_append_list
#define mad_get_list_object tbx_get_list_object
#define mad_empty_list tbx_empty_list
#define mad_destroy_list tbx_destroy_list
#define mad_foreach_destroy_list tbx_foreach_destroy_list
#define mad_list_reference_init tbx_list_reference_init
#define mad_get_list_reference_object tbx_get_list_reference_object
#define mad_forward_list_reference tbx_forward_list_reference
#define mad_reset_list_reference tbx_reset_list_reference
#define mad_reference_after_end_of_list tbx_reference_after_end_of_list

#endif
