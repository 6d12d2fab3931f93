/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What kernel code takes from the kernel (libcfs/kernel/); 0 or the line of what does not hold. */
#ifndef JACQUARD_TESTS_LNET_KERNEL_CASES_H
#define JACQUARD_TESTS_LNET_KERNEL_CASES_H

#define M0_RUN_CASES(X)                                        \
    X(lnet_99_wait_queues_wake_one_or_all)                     \
    X(lnet_99_a_wait_ends_with_its_time)                       \
    X(lnet_99_older_code_waits_with_an_entry)                  \
    X(lnet_99_threads_are_stopped)                             \
    X(lnet_99_completions_count)                               \
    X(lnet_99_timers_run_at_their_times)                       \
    X(lnet_99_a_timer_is_deleted_while_it_runs)                \
    X(lnet_99_works_run_in_order_or_together)                  \
    X(lnet_99_delayed_works_are_changed_and_cancelled)         \
    X(lnet_99_a_work_queues_itself_until_it_is_cancelled)      \
    X(lnet_99_locks_that_sleep)                                \
    X(lnet_99_a_spin_lock_whose_holder_sleeps)                 \
    X(lnet_99_work_items_run_as_they_are_scheduled)            \
    X(lnet_99_objects_of_each_partition)                       \
    X(lnet_99_a_module_with_users)                             \
    X(lnet_99_a_device_is_opened_and_controlled)               \
    X(lnet_99_pages_have_contents_and_references)              \
    X(lnet_99_memory_is_zeroed_on_demand)                      \
    X(lnet_99_tasks_have_data_of_their_own)                    \
    X(lnet_99_times_become_jiffies_and_back)                   \
    X(lnet_99_modules_begin_and_end)                           \
    X(lnet_99_parameters_have_types)                           \
    X(lnet_99_words_and_maps_of_bits)                          \
    X(lnet_99_numbers_of_all_sizes)                            \
    X(lnet_99_arrays_are_sorted)                               \
    X(lnet_99_sets_of_processors)                              \
    X(lnet_99_atomics_of_all_kinds)                            \
    X(lnet_99_locks_of_all_kinds)                              \
    X(lnet_99_lists_are_sorted_and_cut)                        \
    X(lnet_99_threads_end_where_they_want)                     \
    X(lnet_99_entries_that_were_woken_and_works_that_were_not) \
    X(lnet_99_what_readers_see_stays)                          \
    X(lnet_99_messages_have_a_limit)                           \
    X(lnet_99_lists_and_chains)                                \
    X(lnet_99_atomics_and_references)                          \
    X(lnet_99_memory_texts_and_numbers)                        \
    X(lnet_99_trees_stay_balanced)                             \
    X(lnet_99_numbers_stand_for_pointers)                      \
    X(lnet_99_arrays_without_bounds)                           \
    X(lnet_99_rings_of_elements)                               \
    X(lnet_99_lists_without_locks)                             \
    X(lnet_99_objects_of_each_processor)                       \
    X(lnet_99_lists_of_pieces)                                 \
    X(lnet_99_threads_are_parked)                              \
    X(lnet_99_workers_are_one_thread)                          \
    X(lnet_99_timers_in_nanoseconds)                           \
    X(lnet_99_waits_for_variables_and_bits)                    \
    X(lnet_99_chains_keys_and_readers_that_sleep)              \
    X(lnet_99_pools_and_works_of_all_processors)               \
    X(lnet_99_files_of_records)                                \
    X(lnet_99_variables_and_objects_are_files)

#define M0_RUN_DECLARE(name) int name(void);
M0_RUN_CASES(M0_RUN_DECLARE)

#endif
