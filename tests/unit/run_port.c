/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port on fibers: mutexes, conditions, threads and processes of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "port/port.h"
#include "rank_programs.h"

static struct port_mutex mutex;
static struct port_condition condition;
static int inside, most, turn;

static int hold(struct rank *rank, void *arg)
{
    int i;

    (void)arg;
    for (i = 0; i < 3; i++) {
        port_mutex_lock(&mutex);
        inside++;
        most = MAX(most, inside);
        rank_wait(rank, programs_never, NULL, US); /* others run meanwhile */
        inside--;
        port_mutex_unlock(&mutex);
    }
    return 0;
}

static int exclude(struct rank *rank)
{
    struct rank_thread *threads[3];
    uint64_t began = rank_now();
    int i;

    if (rank_id(rank) != 0)
        return 0;
    port_mutex_init(&mutex);
    inside = most = 0;
    for (i = 0; i < 3; i++)
        threads[i] = rank_thread_start(rank, hold, NULL);
    for (i = 0; i < 3; i++)
        rank_thread_join(rank, threads[i]);
    port_mutex_destroy(&mutex);
    return SAYS(rank, most == 1) | SAYS(rank, rank_now() - began == 9 * US);
}

static void a_mutex_excludes(void **state)
{
    (void)state;
    assert_int_equal(programs_run_one(exclude), EXIT_HOLDS);
}

static int cancelled_or_last(struct rank *rank, void *arg)
{
    (void)rank;
    port_mutex_lock(&mutex);
    ++*(int *)arg;
    port_mutex_unlock(&mutex);
    return 0;
}

/* A thread that waits for a mutex may be cancelled; the mutex then passes to the next thread. */
static int cancel(struct rank *rank)
{
    int reached[2] = {0, 0};
    struct rank_thread *gone, *other;

    if (rank_id(rank) != 0)
        return 0;
    port_mutex_init(&mutex);
    port_mutex_lock(&mutex);
    gone = rank_thread_start(rank, cancelled_or_last, &reached[0]);
    other = rank_thread_start(rank, cancelled_or_last, &reached[1]);
    rank_wait(rank, programs_never, NULL, US);
    rank_thread_cancel(rank, gone);
    port_mutex_unlock(&mutex);
    rank_thread_join(rank, other);
    return SAYS(rank, reached[0] == 0 && reached[1] == 1);
}

static void a_thread_that_waits_for_a_mutex_may_be_cancelled(void **state)
{
    (void)state;
    assert_int_equal(programs_run_one(cancel), EXIT_HOLDS);
}

static int take_turn(struct rank *rank, void *arg)
{
    (void)rank;
    port_mutex_lock(&mutex);
    while (turn != *(int *)arg)
        port_condition_wait(&condition, &mutex);
    turn++;
    port_condition_broadcast(&condition);
    port_mutex_unlock(&mutex);
    return 0;
}

static int take_turns(struct rank *rank)
{
    int numbers[] = {2, 0, 1}, i;
    struct rank_thread *threads[3];

    if (rank_id(rank) != 0)
        return 0;
    port_mutex_init(&mutex);
    port_condition_init(&condition);
    turn = -1;
    for (i = 0; i < 3; i++)
        threads[i] = rank_thread_start(rank, take_turn, &numbers[i]);
    rank_wait(rank, programs_never, NULL, US);
    if (SAYS(rank, turn == -1) != 0)
        return 1;
    port_mutex_lock(&mutex);
    turn = 0;
    port_condition_signal(&condition);
    port_mutex_unlock(&mutex);
    for (i = 0; i < 3; i++)
        rank_thread_join(rank, threads[i]);
    port_condition_destroy(&condition);
    return SAYS(rank, turn == 3);
}

static void a_condition_wakes_its_waiters(void **state)
{
    (void)state;
    assert_int_equal(programs_run_one(take_turns), EXIT_HOLDS);
}

static uint64_t process_numbers[2][2];
static void *rooms[2][2], **slots[2][2];

static int note(struct rank *rank, void *arg)
{
    unsigned thread = arg != NULL;
    const char zeros[PORT_THREAD_BYTES] = {0};
    uint32_t id = rank_id(rank);

    process_numbers[id][thread] = port_process();
    slots[id][thread] = port_slot(PORT_SLOT_PMI);
    rooms[id][thread] = port_thread_room();
    if (SAYS(rank, memcmp(rooms[id][thread], zeros, sizeof(zeros)) == 0) != 0)
        return 1;
    memset(rooms[id][thread], 0x5a, sizeof(zeros));
    return SAYS(rank, port_thread_room() == rooms[id][thread]);
}

static int know_themselves(struct rank *rank)
{
    struct rank_thread *thread;
    uint32_t id = rank_id(rank);

    if (note(rank, NULL) != 0)
        return 1;
    thread = rank_thread_start(rank, note, rank);
    if (rank_thread_join(rank, thread) != 0)
        return 1;
    rank_compute(3 * US);
    rank_barrier(rank);
    return SAYS(rank, process_numbers[id][0] == process_numbers[id][1]) |
           SAYS(rank, process_numbers[0][0] != process_numbers[1][0]) |
           SAYS(rank, slots[id][0] == slots[id][1]) | SAYS(rank, slots[0][0] != slots[1][0]) |
           SAYS(rank, rooms[id][0] != rooms[id][1]) | SAYS(rank, rooms[0][0] != rooms[1][0]) |
           SAYS(rank, port_now() == rank_now() / 1000);
}

static void processes_threads_and_slots_are_those_of_ranks(void **state)
{
    (void)state;
    assert_int_equal(programs_run_one(know_themselves), EXIT_HOLDS);
}

static int leave(struct rank *rank, void *arg)
{
    (void)rank;
    (void)arg;
    port_exit(7 + 256);
}

static int leave_by_a_thread(struct rank *rank)
{
    if (rank_id(rank) == 0)
        rank_thread_start(rank, leave, NULL);
    else
        return 0;
    rank_wait(rank, programs_never, NULL, UINT64_MAX);
    return 1;
}

static void exit_ends_the_rank_on_any_thread(void **state)
{
    program_main *const mains[] = {leave_by_a_thread};

    (void)state;
    assert_int_equal(
        programs_run(ONE("") "expect: [{outcome: failed}, {job: a, exit: 7}]\n", mains),
        EXIT_HOLDS);
}

static struct port_semaphore semaphore;

/* Raises it outside of any thread. */
static void raise_in_event(struct sim_event *event)
{
    (void)event;
    port_semaphore_post(&semaphore);
}

static int take_one(struct rank *rank, void *arg)
{
    (void)rank;
    *(bool *)arg = port_semaphore_wait(&semaphore, UINT64_MAX);
    return 0;
}

static int count_with_semaphore(struct rank *rank)
{
    static struct sim_event event = {.fire = raise_in_event};
    struct rank_thread *threads[2];
    bool taken[2] = {false, false};
    uint64_t began;
    int i;

    if (rank_id(rank) != 0)
        return 0;
    port_semaphore_init(&semaphore);
    began = rank_now();
    if (SAYS(rank, !port_semaphore_wait(&semaphore, 5000)) |
        SAYS(rank, rank_now() - began == 5 * US))
        return 1;
    sim_event_schedule(&event, sim_now() + 7 * US);
    if (SAYS(rank, port_semaphore_wait(&semaphore, 1000000)) |
        SAYS(rank, rank_now() - began == 12 * US))
        return 1;
    for (i = 0; i < 2; i++)
        threads[i] = rank_thread_start(rank, take_one, &taken[i]);
    rank_wait(rank, programs_never, NULL, US);
    port_semaphore_post(&semaphore);
    rank_wait(rank, programs_never, NULL, US);
    if (SAYS(rank, taken[0] != taken[1])) /* one of them */
        return 1;
    port_semaphore_post(&semaphore);
    for (i = 0; i < 2; i++)
        rank_thread_join(rank, threads[i]);
    return SAYS(rank, taken[0] && taken[1]);
}

static void a_semaphore_counts_and_events_raise_it(void **state)
{
    (void)state;
    assert_int_equal(programs_run_one(count_with_semaphore), EXIT_HOLDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mutex_excludes),
        cmocka_unit_test(a_thread_that_waits_for_a_mutex_may_be_cancelled),
        cmocka_unit_test(a_condition_wakes_its_waiters),
        cmocka_unit_test(a_semaphore_counts_and_events_raise_it),
        cmocka_unit_test(processes_threads_and_slots_are_those_of_ranks),
        cmocka_unit_test(exit_ends_the_rank_on_any_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
