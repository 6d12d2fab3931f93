/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The port on fibers, the environment of ranks, and spawned jobs when something goes wrong: small
 * programs in the place of a scenario's workloads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <gni_pub.h>
#include <pmi.h>
#include <pmi2.h>
#include <stdio.h>
#include "cluster/cluster.h"
#include "report/report.h"
#include "verdict/verdict.h"
#include "port/port.h"

#define US 1000000ull
#define MS (1000 * US)

typedef int program_main(struct rank *rank);

/* The jobs of the scenario execute these, in its order. NULL: it is as it says. */
static json_t *run_seed(const char *text, program_main *const mains[], uint64_t seed)
{
    const struct scenario_options options = {.no_programs = true};
    struct workload workloads[4];
    struct program programs[4];
    char *error = NULL;
    struct scenario *scenario = scenario_parse(text, strlen(text), "t", &options, &error);
    json_t *result;
    size_t i;

    if (scenario == NULL)
        fail_msg("%s", error);
    for (i = 0; i < scenario->jobs.count; i++) {
        if (mains[i] == NULL)
            continue;
        workloads[i] = *scenario_job(scenario, i)->workload->workload;
        workloads[i].main = mains[i];
        programs[i] = (struct program){.workload = &workloads[i], .any_network = true};
        scenario_job(scenario, i)->workload = &programs[i];
    }
    result = run_scenario(scenario, &(struct cluster_options){.seed = seed}, &error);
    if (result == NULL)
        fail_msg("%s", error);
    scenario_free(scenario);
    return result;
}

static json_int_t exit_of(json_t *result)
{
    json_int_t code = json_integer_value(json_object_get(result, "exit"));
    char *problems;

    if (code != EXIT_HOLDS) {
        problems = json_dumps(json_object_get(result, "problems"), 0);
        print_error("%s\n", problems);
        free(problems);
    }
    json_decref(result);
    return code;
}

static json_int_t run(const char *text, program_main *const mains[])
{
    return exit_of(run_seed(text, mains, 1));
}

#define FABRIC "fabric: {preset: mini2}\n"
#define ONE(fields) FABRIC "jobs: [{name: a, nodes: 0-1, workload: barrier" fields "}]\n"

static json_int_t run_one(program_main *main)
{
    program_main *const mains[] = {main};

    return run(ONE(""), mains);
}

/* Of the rank whose program runs; programs are told nothing else. */
#define SAYS(rank, condition) \
    ((condition) ? 0 : rank_fail(rank, "%s:%d: %s", __FILE__, __LINE__, #condition))

/* ---- the port -------------------------------------------------------------------------------- */

static struct port_mutex mutex;
static struct port_condition condition;
static int inside, most, turn;

static bool never(const void *arg)
{
    (void)arg;
    return false;
}

static int hold(struct rank *rank, void *arg)
{
    int i;

    (void)arg;
    for (i = 0; i < 3; i++) {
        port_mutex_lock(&mutex);
        inside++;
        most = MAX(most, inside);
        rank_wait(rank, never, NULL, US); /* others run meanwhile */
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
    assert_int_equal(run_one(exclude), EXIT_HOLDS);
}

static int cancelled_or_last(struct rank *rank, void *arg)
{
    (void)rank;
    port_mutex_lock(&mutex);
    ++*(int *)arg;
    port_mutex_unlock(&mutex);
    return 0;
}

/* Who waits for a mutex may be cancelled: nobody keeps a place for it. */
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
    rank_wait(rank, never, NULL, US);
    rank_thread_cancel(rank, gone);
    port_mutex_unlock(&mutex);
    rank_thread_join(rank, other);
    return SAYS(rank, reached[0] == 0 && reached[1] == 1);
}

static void a_thread_that_waits_for_a_mutex_may_be_cancelled(void **state)
{
    (void)state;
    assert_int_equal(run_one(cancel), EXIT_HOLDS);
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
    rank_wait(rank, never, NULL, US);
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
    assert_int_equal(run_one(take_turns), EXIT_HOLDS);
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
    assert_int_equal(run_one(know_themselves), EXIT_HOLDS);
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
    rank_wait(rank, never, NULL, UINT64_MAX);
    return 1;
}

static void exit_ends_the_rank_on_any_thread(void **state)
{
    program_main *const mains[] = {leave_by_a_thread};

    (void)state;
    assert_int_equal(run(ONE("") "expect: [{outcome: failed}, {job: a, exit: 7}]\n", mains),
                     EXIT_HOLDS);
}

/* ---- the environment ------------------------------------------------------------------------- */

static bool is(const char *name, unsigned long value)
{
    const char *text = port_getenv(name);
    char *end;

    return text != NULL && strtoul(text, &end, 10) == value && *end == '\0';
}

static int read_environment(struct rank *rank)
{
    uint32_t address, pe;
    const char *text = port_getenv("PMI_GNI_LOC_ADDR");

    if (GNI_CdmGetNicAddress(0, &address, &pe) != GNI_RC_SUCCESS)
        return rank_fail(rank, "no address");
    return SAYS(rank, is("PMI_GNI_PTAG", rank_ptag(rank))) |
           SAYS(rank, is("PMI_GNI_COOKIE", rank_cookie(rank))) |
           SAYS(rank, is("CRAY_COOKIES", rank_cookie(rank))) |
           SAYS(rank, is("CRAY_NUM_COOKIES", 1)) | SAYS(rank, is("PMI_GNI_DEV_ID", 0)) |
           SAYS(rank, is("PMI_GNI_LOC_ADDR", address)) |
           SAYS(rank, port_getenv("PMI_GNI_LOC_ADDR") == text) |
           SAYS(rank, is("PMI_FORK_RANK", rank_id(rank))) | SAYS(rank, is("PMI_NO_FORK", 1)) |
           SAYS(rank, is("PMI_LOCAL_RANK", rank_on_node(rank))) |
           SAYS(rank, is("MPI_LOCALRANKID", rank_on_node(rank))) |
           SAYS(rank, is("PMI_LOCAL_SIZE", rank_id(rank) < 6 ? 3 : 1)) |
           SAYS(rank, is("MPI_LOCALNRANKS", rank_id(rank) < 6 ? 3 : 1)) |
           SAYS(rank, strcmp(port_getenv("FI_GNI_NAME"), "a text") == 0) |
           SAYS(rank, is("ALPS_APP_PE", 77)) | SAYS(rank, port_getenv("PMI_SPAWNED") == NULL) |
           SAYS(rank, port_getenv("PATH") == NULL);
}

/* Those of the scenario count more than what is found out. */
static void pmi2_109_environment_of_every_rank(void **state)
{
    program_main *const mains[] = {read_environment};

    (void)state;
    assert_int_equal(run(FABRIC "jobs: [{name: a, nodes: '9,3,4', ranks_per_node: 3, ranks: 7, "
                                "workload: barrier,\n"
                                "  env: {FI_GNI_NAME: a text, ALPS_APP_PE: 77}}]\n",
                         mains),
                     EXIT_HOLDS);
}

static int read_less(struct rank *rank)
{
    return SAYS(rank, port_getenv("PMI_GNI_PTAG") == NULL) |
           SAYS(rank, port_getenv("PMI_GNI_LOC_ADDR") == NULL) |
           SAYS(rank, port_getenv("CRAY_COOKIES") == NULL) |
           SAYS(rank, is("PMI_FORK_RANK", rank_id(rank)));
}

static void no_credentials_without_nics(void **state)
{
    program_main *const mains[] = {read_less};

    (void)state;
    assert_int_equal(run("fabric: {topology: single-switch}\n"
                         "jobs: [{name: a, nodes: 0-1, workload: barrier}]\n",
                         mains),
                     EXIT_HOLDS);
}

/* Element of a list such as "16:80", or its last one. */
static uint32_t element(const char *name, int index)
{
    gchar **list = g_strsplit(port_getenv(name), ":", -1);
    guint last = g_strv_length(list) - 1;
    uint32_t value = (uint32_t)strtoul(list[MIN((guint)index, last)], NULL, 10);

    g_strfreev(list);
    return value;
}

struct card {
    int rank;
    uint32_t address;
    uint64_t memory;
    gni_mem_handle_t handle;
};

/* Nobody knows whose part comes first. */
static const struct card *find_card(const struct card *cards, int size, int rank)
{
    int i;

    for (i = 0; i < size; i++)
        if (cards[i].rank == rank)
            return &cards[i];
    return NULL;
}

static int put_to(gni_nic_handle_t nic, const struct card *mine, const struct card *next)
{
    gni_post_descriptor_t desc = {.type = GNI_POST_FMA_PUT,
                                  .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
                                  .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
                                  .local_addr = mine->memory,
                                  .remote_addr = next->memory + 8,
                                  .remote_mem_hndl = next->handle,
                                  .length = 8},
                          *done;
    gni_cq_handle_t cq;
    gni_ep_handle_t ep;
    gni_cq_entry_t entry;

    return GNI_CqCreate(nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &cq) != GNI_RC_SUCCESS ||
           GNI_EpCreate(nic, cq, &ep) != GNI_RC_SUCCESS ||
           GNI_EpBind(ep, next->address, (uint32_t)next->rank) != GNI_RC_SUCCESS ||
           GNI_PostFma(ep, &desc) != GNI_RC_SUCCESS ||
           GNI_CqWaitEvent(cq, UINT64_MAX, &entry) != GNI_RC_SUCCESS ||
           GNI_GetCompleted(cq, entry, &done) != GNI_RC_SUCCESS || done != &desc;
}

/* As public uGNI tests begin: all they know comes from PMI and its variables. */
static int use_nic(struct rank *rank)
{
    uint64_t words[512] = {0};
    int spawned, size, id, local;
    struct card mine = {.memory = (uintptr_t)words}, *cards;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    uint32_t address;

    if (PMI_Init(&spawned) != PMI_SUCCESS || PMI_Get_size(&size) != PMI_SUCCESS ||
        PMI_Get_rank(&id) != PMI_SUCCESS || PMI_Get_numpes_in_app_on_smp(&local) != PMI_SUCCESS)
        return rank_fail(rank, "no PMI");
    words[0] = 1000 + (uint64_t)id;
    if (GNI_CdmCreate((uint32_t)id, (uint8_t)element("PMI_GNI_PTAG", 1),
                      element("PMI_GNI_COOKIE", 1), 0, &cdm) != GNI_RC_SUCCESS ||
        GNI_CdmAttach(cdm, 0, &address, &nic) != GNI_RC_SUCCESS ||
        GNI_MemRegister(nic, mine.memory, sizeof(words), NULL, GNI_MEM_READWRITE, UINT32_MAX,
                        &mine.handle) != GNI_RC_SUCCESS)
        return rank_fail(rank, "the credentials are not good");
    mine.rank = id;
    mine.address = element("PMI_GNI_LOC_ADDR", 0);
    cards = g_new(struct card, size);
    if (SAYS(rank, mine.address == address) != 0 || SAYS(rank, is("PMI_LOCAL_SIZE", local)) != 0 ||
        PMI_Allgather(&mine, cards, (int)sizeof(mine)) != PMI_SUCCESS ||
        find_card(cards, size, (id + 1) % size) == NULL ||
        put_to(nic, &mine, find_card(cards, size, (id + 1) % size)) != 0 ||
        PMI_Barrier() != PMI_SUCCESS)
        return rank_fail(rank, "the put to the next rank");
    g_free(cards);
    return SAYS(rank, words[1] == 1000 + (uint64_t)((id + size - 1) % size)) | PMI_Finalize();
}

static void pmi2_109_public_style_start_up(void **state)
{
    program_main *const mains[] = {use_nic, use_nic};

    (void)state;
    assert_int_equal(run("fabric: {preset: mini2}\nlimits: {stack: 256KiB}\n"
                         "jobs:\n- {name: a, nodes: 0-7, ranks_per_node: 2, workload: barrier}\n"
                         "- {name: b, nodes: 4-11, workload: barrier}\n",
                         mains),
                     EXIT_HOLDS);
}

/* ---- the ends of jobs ------------------------------------------------------------------------ */

static int publish(struct rank *rank)
{
    int spawned, size, id, appnum;

    return SAYS(rank, PMI2_Init(&spawned, &size, &id, &appnum) == PMI2_SUCCESS) ||
           (id == 0 && SAYS(rank, PMI2_Nameserv_publish("service", NULL, "port") == PMI2_SUCCESS));
}

/* What another job has published is there as long as that job is. */
static int publish_later(struct rank *rank)
{
    int spawned, size, id, appnum;
    char port[64];

    if (SAYS(rank, PMI2_Init(&spawned, &size, &id, &appnum) == PMI2_SUCCESS) != 0)
        return 1;
    if (id == 0 && SAYS(rank, PMI2_Nameserv_lookup("service", NULL, port, 64) != PMI2_SUCCESS) != 0)
        return 1;
    return publish(rank) || PMI2_Finalize();
}

static void pmi2_59_names_end_with_their_job(void **state)
{
    program_main *const mains[] = {publish, publish_later};

    (void)state;
    assert_int_equal(run(FABRIC "jobs:\n- {name: a, nodes: 0-40, workload: barrier}\n"
                                "- {name: b, nodes: 7-50, start: 5ms, workload: barrier}\n",
                         mains),
                     EXIT_HOLDS);
}

/* ---- spawned jobs ---------------------------------------------------------------------------- */

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

    if (join_pmi(rank) != 0 || SAYS(rank, is("PMI_SPAWNED", 1)) != 0 ||
        PMI2_Info_GetNodeAttrIntArray("localRanks", local, 8, &count, &found) != PMI2_SUCCESS)
        return 1;
    for (i = 0; i < count; i++)
        if (rank_node_of(rank, (uint32_t)local[i]) != rank_node(rank) ||
            ((uint32_t)local[i] == rank_id(rank) && SAYS(rank, rank_on_node(rank) == here++) != 0))
            return rank_fail(rank, "rank %d is not here", local[i]);
        else
            here = (uint32_t)i + 1;
    return SAYS(rank, is("PMI_LOCAL_SIZE", (unsigned long)count)) | PMI2_Finalize();
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
    json_t *result = run_seed(FAMILY "- {name: b, nodes: '20,30,25', ranks_per_node: 2, "
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
    assert_int_equal(exit_of(result), EXIT_HOLDS);
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
    rank_wait(rank, never, NULL, 500 * US);
    return 0;
}

static void children_outlive_a_parent_that_left(void **state)
{
    program_main *const mains[] = {leave_during_spawn, live};

    (void)state;
    assert_int_equal(
        run(FAMILY "- {name: b, nodes: 8-11, spawnable: true, workload: barrier}\n"
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
    rank_wait(rank, never, NULL, 5 * US);
    return 0;
}

static void nothing_is_spawned_when_the_run_is_over(void **state)
{
    program_main *const mains[] = {leave_at_once, live};
    json_t *result = run_seed(FAMILY "- {name: b, nodes: 8-11, spawnable: true, "
                                     "workload: barrier}\n",
                              mains, 1);

    (void)state;
    assert_int_equal(json_array_size(json_object_get(result, "jobs")), 1);
    assert_int_equal(exit_of(result), EXIT_HOLDS);
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
    rank_wait(rank, never, NULL, US);
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
    assert_int_equal(run("oob: {exec_time: 10ms}\n" FAMILY
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
    rank_wait(rank, never, NULL, 100 * MS);
    rank_count(rank, "lived", 1);
    return PMI2_Finalize();
}

static void pmi2_68_a_node_dies_while_ranks_start(void **state)
{
    program_main *const mains[] = {expect_dead_node, live_long};

    (void)state;
    assert_int_equal(
        run("oob: {exec_time: 10ms}\n" FAMILY
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
    assert_int_equal(run(FAMILY
                         "- {name: b, nodes: 8-11, spawnable: true, workload: barrier}\n"
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
    assert_int_equal(run("oob: {exec_time: 10ms}\n" FAMILY
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
    json_t *result = run_seed(FAMILY "- {name: b, nodes: 8-8, spawnable: true, "
                                     "workload: barrier}\n",
                              mains, 1);

    (void)state;
    assert_int_equal(json_array_size(json_object_get(result, "jobs")), JOBS_MAX);
    assert_int_equal(exit_of(result), EXIT_HOLDS);
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
        assert_int_equal(run(texts[drawing], mains), EXIT_HOLDS);
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
    json_t *result = run_seed(FAMILY "- {name: b, nodes: 8-8, spawnable: true, "
                                     "workload: barrier}\nexpect: [{job: b, exit: any}]\n",
                              mains, 1);
    const json_t *expected = json_array_get(json_object_get(result, "expectations"), 2);

    (void)state;
    assert_string_equal(json_string_value(json_object_get(expected, "value")), "was never spawned");
    assert_false(json_is_true(json_object_get(expected, "holds")));
    json_decref(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mutex_excludes),
        cmocka_unit_test(a_thread_that_waits_for_a_mutex_may_be_cancelled),
        cmocka_unit_test(a_condition_wakes_its_waiters),
        cmocka_unit_test(processes_threads_and_slots_are_those_of_ranks),
        cmocka_unit_test(exit_ends_the_rank_on_any_thread),
        cmocka_unit_test(pmi2_109_environment_of_every_rank),
        cmocka_unit_test(no_credentials_without_nics),
        cmocka_unit_test(pmi2_109_public_style_start_up),
        cmocka_unit_test(pmi2_59_names_end_with_their_job),
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
