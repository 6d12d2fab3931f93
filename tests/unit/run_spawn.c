/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Spawned jobs when something goes wrong, and what scenarios may say about them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <pmi.h>
#include <pmi2.h>
#include <stdio.h>
#include "port/port.h"
#include "rank_programs.h"

#define FAMILY                         \
    FABRIC "limits: {stack: 128KiB}\n" \
           "jobs:\n- {name: a, nodes: 0-3, workload: barrier}\n"

static int join_pmi(struct rank *rank)
{
    int spawned, size, id, appnum;

    return SAYS(rank, PMI2_Init(&spawned, &size, &id, &appnum) == PMI2_SUCCESS);
}

static int spawn_child(const char *name, int count, const char **argv, char id[64], int *errors)
{
    const char *commands[] = {name}, **argvs[] = {argv};
    int argc = argv != NULL ? (int)g_strv_length((gchar **)argv) : 0, none = 0;

    return PMI2_Job_Spawn(1, commands, &argc, argvs, &count, &none, NULL, 0, NULL, id, 64, errors);
}

static int live(struct rank *rank)
{
    if (join_pmi(rank) != 0)
        return 1;
    rank_compute(2 * MS);
    rank_count(rank, "lived", 1);
    return PMI2_Finalize();
}

static int check_place(struct rank *rank)
{
    int local[8], count, found, i;
    uint32_t here = 0;

    if (join_pmi(rank) != 0 || SAYS(rank, programs_variable_is("PMI_SPAWNED", 1)) != 0 ||
        PMI2_Info_GetNodeAttrIntArray("localRanks", local, 8, &count, &found) != PMI2_SUCCESS)
        return 1;
    for (i = 0; i < count; i++)
        if (rank_node_of(rank, (uint32_t)local[i]) != rank_node(rank) ||
            ((uint32_t)local[i] == rank_id(rank) && SAYS(rank, rank_on_node(rank) == here++) != 0))
            return rank_fail(rank, "rank %d is not here", local[i]);
        else
            here = (uint32_t)i + 1;
    return SAYS(rank, programs_variable_is("PMI_LOCAL_SIZE", (unsigned long)count)) |
           PMI2_Finalize();
}

/* Two commands of one spawnable job share its nodes, and one of another with a node in common. */
static int spawn_places(struct rank *rank)
{
    const char *commands[] = {"b", "b", "c"};
    int processes[] = {3, 2, 2}, sizes[] = {0, 0, 0}, errors[7];
    char id[64];

    if (join_pmi(rank) != 0)
        return 1;
    if (rank_id(rank) == 0 && (PMI2_Job_Spawn(3, commands, NULL, NULL, processes, sizes, NULL, 0,
                                              NULL, id, sizeof(id), errors) != PMI2_SUCCESS ||
                               strcmp(id, "2.0") != 0))
        return rank_fail(rank, "spawn");
    return PMI2_Finalize();
}

static void pmi2_63_commands_share_the_nodes_of_a_job(void **state)
{
    program_main *const mains[] = {spawn_places, check_place, check_place};
    json_t *result = programs_result(FAMILY "- {name: b, nodes: '20,30,25', ranks_per_node: 2, "
                                            "spawnable: true, workload: barrier}\n"
                                            "- {name: c, nodes: 30-31, spawnable: true, "
                                            "workload: barrier}\n"
                                            "expect: [{job: b, exit: 0}, {job: c, exit: 0}]\n",
                                     mains, 1);
    const json_t *job = json_array_get(json_object_get(result, "jobs"), 1);

    (void)state;
    assert_string_equal(json_string_value(json_object_get(job, "name")), "b#1");
    assert_string_equal(json_string_value(json_object_get(job, "spawned_by")), "a");
    assert_int_equal(json_integer_value(json_object_get(job, "ranks")), 7);
    assert_int_equal(json_integer_value(json_object_get(job, "nodes")), 4);
    assert_int_equal(programs_exit(result), EXIT_HOLDS);
}

/* The parent leaves without waiting: its children run to their end, and the run ends with them. */
static int spawn_and_wait(struct rank *rank, void *arg)
{
    char id[64];
    int errors[4];

    (void)rank;
    (void)arg;
    return spawn_child("b", 4, NULL, id, errors);
}

static int leave_during_spawn(struct rank *rank)
{
    if (join_pmi(rank) != 0)
        return 1;
    if (rank_id(rank) == 0)
        rank_thread_start(rank, spawn_and_wait, NULL);
    rank_wait(rank, programs_never, NULL, 500 * US);
    return 0;
}

static void children_outlive_a_parent_that_left(void **state)
{
    program_main *const mains[] = {leave_during_spawn, live};

    (void)state;
    assert_int_equal(
        programs_run(FAMILY
                     "- {name: b, nodes: 8-11, spawnable: true, workload: barrier}\n"
                     "expect: [{ledger: balanced}, {outcome: done}, {metric: b.lived, equals: 4}, "
                     "{job: b, exit: 0}]\n",
                     mains),
        EXIT_HOLDS);
}

/* All ranks are gone when the request arrives: nothing begins any more. */
static int leave_at_once(struct rank *rank)
{
    if (rank_id(rank) != 0)
        return 0;
    if (join_pmi(rank) != 0)
        return 1;
    rank_thread_start(rank, spawn_and_wait, NULL);
    rank_wait(rank, programs_never, NULL, 5 * US);
    return 0;
}

static void nothing_is_spawned_when_the_run_is_over(void **state)
{
    program_main *const mains[] = {leave_at_once, live};
    json_t *result = programs_result(FAMILY "- {name: b, nodes: 8-11, spawnable: true, "
                                            "workload: barrier}\n",
                                     mains, 1);

    (void)state;
    assert_int_equal(json_array_size(json_object_get(result, "jobs")), 1);
    assert_int_equal(programs_exit(result), EXIT_HOLDS);
}

/* While a spawn waits, other threads and other ranks go on. */
static int spawn_beside(struct rank *rank)
{
    struct rank_thread *thread = NULL;
    char value[64];
    uint64_t began;
    int length, i;

    if (join_pmi(rank) != 0)
        return 1;
    if (rank_id(rank) == 0)
        thread = rank_thread_start(rank, spawn_and_wait, NULL);
    rank_wait(rank, programs_never, NULL, US);
    began = rank_now();
    for (i = 0; i < 5; i++)
        if (PMI2_KVS_Put("k", "v") != PMI2_SUCCESS || PMI2_KVS_Fence() != PMI2_SUCCESS ||
            PMI2_KVS_Get(NULL, 0, "k", value, sizeof(value), &length) != PMI2_SUCCESS)
            return rank_fail(rank, "round %d", i);
    if (SAYS(rank, rank_now() - began < 2 * MS) != 0)
        return 1;
    if (thread != NULL && SAYS(rank, rank_thread_join(rank, thread) == PMI2_SUCCESS) != 0)
        return 1;
    return (thread != NULL && SAYS(rank, rank_now() - began > 40 * MS) != 0) | PMI2_Finalize();
}

static void pmi2_69_others_go_on_while_a_spawn_waits(void **state)
{
    program_main *const mains[] = {spawn_beside, live};

    (void)state;
    assert_int_equal(programs_run("oob: {exec_time: 10ms}\n" FAMILY
                                  "- {name: b, nodes: 8-8, ranks_per_node: 4, spawnable: true, "
                                  "workload: barrier}\nexpect: [{job: b, exit: 0}]\n",
                                  mains),
                     EXIT_HOLDS);
}

/* A node dies when some of its ranks run and others do not: those that run are taken back. */
static int expect_dead_node(struct rank *rank)
{
    int errors[6], code, i, dead = 0, cancelled = 0;
    char id[64];

    if (join_pmi(rank) != 0)
        return 1;
    if (rank_id(rank) != 0)
        return PMI2_KVS_Fence() | PMI2_Finalize();
    code = spawn_child("b", 6, NULL, id, errors);
    for (i = 0; i < 6; i++) {
        dead += errors[i] == EHOSTDOWN;
        cancelled += errors[i] == ECANCELED;
    }
    if (SAYS(rank, code != PMI2_SUCCESS) != 0 || SAYS(rank, dead == 2) != 0 ||
        SAYS(rank, cancelled == 4) != 0 ||
        SAYS(rank, PMI2_KVS_Get("2.0", 0, "k", id, 64, &i) != PMI2_SUCCESS) != 0)
        return 1;
    /* and again, without that node */
    code = spawn_child("b", 2, NULL, id, errors);
    if (SAYS(rank, code == PMI2_SUCCESS) != 0)
        return 1;
    return PMI2_KVS_Fence() | PMI2_Finalize();
}

static int live_long(struct rank *rank)
{
    if (join_pmi(rank) != 0)
        return 1;
    rank_count(rank, "begun", 1);
    rank_wait(rank, programs_never, NULL, 100 * MS);
    rank_count(rank, "lived", 1);
    return PMI2_Finalize();
}

static void pmi2_68_a_node_dies_while_ranks_start(void **state)
{
    program_main *const mains[] = {expect_dead_node, live_long};

    (void)state;
    assert_int_equal(
        programs_run(
            "oob: {exec_time: 10ms}\n" FAMILY
            "- {name: b, nodes: 8-9, ranks_per_node: 3, spawnable: true, workload: barrier}\n"
            "faults: [{at: node, do: crash, node: 9, time: 15ms}]\n"
            "expect: [{ledger: balanced}, {outcome: done}, {job: a, exit: 0}, {job: b, exit: 0},\n"
            "  {metric: b.begun, equals: 6}, {metric: b.lived, equals: 2}]\n",
            mains),
        EXIT_HOLDS);
}

/* A child that aborts ends its job, not its parent's. */
static int abort_itself(struct rank *rank)
{
    if (join_pmi(rank) != 0)
        return 1;
    if (rank_id(rank) == 1)
        PMI2_Abort(5, "enough");
    rank_compute(100 * MS);
    return 0;
}

static int spawn_aborting(struct rank *rank)
{
    int errors[4];
    char id[64];

    if (join_pmi(rank) != 0)
        return 1;
    if (rank_id(rank) == 0 &&
        SAYS(rank, spawn_child("b", 4, NULL, id, errors) == PMI2_SUCCESS) != 0)
        return 1;
    rank_compute(10 * MS);
    return PMI2_KVS_Fence() | PMI2_Finalize();
}

static void pmi2_19_a_child_aborts(void **state)
{
    program_main *const mains[] = {spawn_aborting, abort_itself};

    (void)state;
    assert_int_equal(
        programs_run(FAMILY "- {name: b, nodes: 8-11, spawnable: true, workload: barrier}\n"
                            "expect: [{ledger: balanced}, {outcome: failed}, {job: a, exit: 0}, "
                            "{job: b, exit: 5}]\n",
                     mains),
        EXIT_HOLDS);
}

/* The first rank aborts before the last one has started: no job, and its text is shown. */
static int expect_aborted(struct rank *rank)
{
    int errors[4];
    char id[64];

    if (join_pmi(rank) != 0)
        return 1;
    if (rank_id(rank) == 0 &&
        SAYS(rank, spawn_child("b", 4, NULL, id, errors) != PMI2_SUCCESS) != 0)
        return 1;
    return PMI2_KVS_Fence() | PMI2_Finalize();
}

static int abort_first(struct rank *rank)
{
    if (join_pmi(rank) != 0)
        return 1;
    if (rank_id(rank) == 0)
        PMI2_Abort(5, "enough");
    rank_compute(1000 * MS);
    return 0;
}

static void pmi2_19_a_child_aborts_while_others_start(void **state)
{
    program_main *const mains[] = {expect_aborted, abort_first};

    (void)state;
    assert_int_equal(
        programs_run("oob: {exec_time: 10ms}\n" FAMILY
                     "- {name: b, nodes: 8-8, ranks_per_node: 4, spawnable: true, "
                     "workload: barrier}\n"
                     "expect: [{ledger: balanced}, {outcome: failed}, {job: a, exit: 0}, "
                     "{job: b, exit: 5}]\n",
                     mains),
        EXIT_HOLDS);
}

/* There is room for 64 jobs; the next one is refused, and the others go on. */
static int spawn_many(struct rank *rank)
{
    int errors[1], i, code = PMI2_SUCCESS;
    char id[64];

    if (join_pmi(rank) != 0)
        return 1;
    for (i = 0; rank_id(rank) == 0 && code == PMI2_SUCCESS; i++)
        code = spawn_child("b", 1, NULL, id, errors);
    if (rank_id(rank) == 0 &&
        (SAYS(rank, i == (int)JOBS_MAX) != 0 || SAYS(rank, errors[0] == EAGAIN) != 0))
        return 1;
    return PMI2_Finalize();
}

static void number_of_spawned_jobs(void **state)
{
    program_main *const mains[] = {spawn_many, live};
    json_t *result = programs_result(FAMILY "- {name: b, nodes: 8-8, spawnable: true, "
                                            "workload: barrier}\n",
                                     mains, 1);

    (void)state;
    assert_int_equal(json_array_size(json_object_get(result, "jobs")), JOBS_MAX);
    assert_int_equal(programs_exit(result), EXIT_HOLDS);
}

/* Random numbers of a spawned rank depend on its job's name and its rank alone. */
static uint64_t drawn[2][3];
static int drawing;

static int draw(struct rank *rank)
{
    if (join_pmi(rank) != 0)
        return 1;
    drawn[drawing][rank_id(rank)] = rank_random(rank);
    return PMI2_Finalize();
}

static int spawn_three(struct rank *rank)
{
    int errors[3], i;
    char id[64];

    if (join_pmi(rank) != 0)
        return 1;
    for (i = 0; i < 40; i++)
        rank_random(rank);
    if (rank_id(rank) == 0 &&
        SAYS(rank, spawn_child("b", 3, NULL, id, errors) == PMI2_SUCCESS) != 0)
        return 1;
    return PMI2_Finalize();
}

static void pmi2_121_random_numbers_of_spawned_ranks(void **state)
{
    program_main *const mains[] = {spawn_three, draw, NULL};
    const char *const texts[2] = {
        FAMILY "- {name: b, nodes: 8-11, spawnable: true, workload: barrier}\n",
        FAMILY "- {name: b, nodes: 20-31, spawnable: true, workload: barrier}\n"
               "- {name: c, nodes: 0-7, workload: raw_messages}\n"};

    (void)state;
    for (drawing = 0; drawing < 2; drawing++)
        assert_int_equal(programs_run(texts[drawing], mains), EXIT_HOLDS);
    assert_memory_equal(drawn[0], drawn[1], sizeof(drawn[0]));
    assert_true(drawn[0][0] != drawn[0][1] && drawn[0][1] != drawn[0][2]);
}

/* ---- what scenarios may say ------------------------------------------------------------------ */

static void expect_refused(const char *text, const char *message)
{
    const struct scenario_options options = {.no_programs = true};
    char *error = NULL;

    assert_null(scenario_parse(text, strlen(text), "t", &options, &error));
    assert_string_equal(error, message);
    g_free(error);
}

static void spawnable_jobs_are_checked(void **state)
{
    (void)state;
    expect_refused("jobs: [{name: a, nodes: 0-1, spawnable: true, workload: barrier}]\n",
                   "t:1: jobs: all are spawnable; allowed: at least one job that starts by itself");
    expect_refused("jobs:\n- {name: a, nodes: 0-1, workload: barrier}\n"
                   "- {name: b, nodes: 0-1, spawnable: true, start: 1ms, workload: barrier}\n",
                   "t:3: jobs.1.start: is for jobs that start by themselves; not allowed: "
                   "spawnable");
}

static void a_job_that_was_never_spawned(void **state)
{
    program_main *const mains[] = {NULL, NULL};
    json_t *result = programs_result(FAMILY "- {name: b, nodes: 8-8, spawnable: true, "
                                            "workload: barrier}\nexpect: [{job: b, exit: any}]\n",
                                     mains, 1);
    const json_t *expectations = json_object_get(result, "expectations");
    const json_t *expected = json_array_get(expectations, json_array_size(expectations) - 1);

    (void)state;
    assert_string_equal(json_string_value(json_object_get(expected, "value")), "was never spawned");
    assert_false(json_is_true(json_object_get(expected, "holds")));
    json_decref(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_63_commands_share_the_nodes_of_a_job),
        cmocka_unit_test(children_outlive_a_parent_that_left),
        cmocka_unit_test(nothing_is_spawned_when_the_run_is_over),
        cmocka_unit_test(pmi2_69_others_go_on_while_a_spawn_waits),
        cmocka_unit_test(pmi2_68_a_node_dies_while_ranks_start),
        cmocka_unit_test(pmi2_19_a_child_aborts),
        cmocka_unit_test(pmi2_19_a_child_aborts_while_others_start),
        cmocka_unit_test(number_of_spawned_jobs),
        cmocka_unit_test(pmi2_121_random_numbers_of_spawned_ranks),
        cmocka_unit_test(spawnable_jobs_are_checked),
        cmocka_unit_test(a_job_that_was_never_spawned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
