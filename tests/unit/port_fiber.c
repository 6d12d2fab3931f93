/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The stacks' port for ranks: functions below are what the ranks of small scenarios execute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <gni_pub.h>
#include "cluster/cluster.h"
#include "report/report.h"
#include "verdict/verdict.h"
#include "port/port.h"

/* ---- the machine ----------------------------------------------------------------------------- */

static int (*body)(struct rank *rank);

static int run_body(struct rank *rank)
{
    return body(rank) != 0;
}

static const struct workload_arg no_args[] = {{NULL}};
static const struct workload tested = {.name = "port_test", .args = no_args, .main = run_body};

#define EXPECT(condition)                                                        \
    do {                                                                         \
        if (!(condition))                                                        \
            return rank_fail(rank, "line %d: not so: %s", __LINE__, #condition); \
    } while (0)

static json_int_t run_on(const char *fabric, const char *fields, const char *more,
                         int (*what)(struct rank *rank))
{
    const struct scenario_options options = {.no_programs = true};
    char *text = g_strdup_printf("fabric: {preset: chassis%s}\n"
                                 "jobs: [{name: a, nodes: 0-1, workload: port_test%s}]\n%s",
                                 fabric, fields, more);
    char *error = NULL;
    struct scenario *scenario;
    json_t *result;
    json_int_t code;

    if (body == NULL)
        program_add(&tested);
    body = what;
    scenario = scenario_parse(text, strlen(text), "t", &options, &error);
    if (scenario == NULL)
        fail_msg("%s", error);
    result = report_run(scenario, &(struct cluster_options){.seed = 1}, &error);
    if (result == NULL)
        fail_msg("%s", error);
    code = json_integer_value(json_object_get(result, "exit"));
    if (code != EXIT_HOLDS)
        print_error("%s\n", json_dumps(json_object_get(result, "problems"), 0));
    json_decref(result);
    scenario_free(scenario);
    g_free(text);
    return code;
}

static json_int_t run_with(const char *fields, const char *more, int (*what)(struct rank *rank))
{
    return run_on("", fields, more, what);
}

#define TEST_FIELDS(name, fields, more)                                \
    static void name(void **state)                                     \
    {                                                                  \
        assert_int_equal(run_with(fields, more, name##_of_a_rank), 0); \
    }
#define TEST(name) TEST_FIELDS(name, "", "")

/* ---- threads --------------------------------------------------------------------------------- */

static unsigned host_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    unsigned found = 0;

    while (folder != NULL && readdir(folder) != NULL)
        found++;
    if (folder != NULL)
        closedir(folder);
    return found;
}

struct seen {
    struct port_thread *self;
    void *room;
    uint64_t process, at;
    int flag;
    struct port_thread *waiter;
};

static void note_thread(void *argument)
{
    struct seen *seen = argument;

    seen->self = port_thread_self();
    seen->room = port_thread_room();
    seen->process = port_process();
    rank_compute(3000000);
}

static int gni_151_threads_of_stacks_are_fibers_of_a_rank(struct rank *rank)
{
    struct seen seen[2] = {{.flag = 0}};
    struct port_thread *threads[2], *first;
    unsigned before = host_threads();
    uint64_t began = port_now();
    int i;

    EXPECT(port_thread_self() == port_thread_self());
    for (i = 0; i < 2; i++) {
        threads[i] = port_thread_start("t", note_thread, &seen[i]);
        EXPECT(threads[i] != NULL);
    }
    EXPECT(host_threads() == before);
    for (i = 0; i < 2; i++) {
        port_thread_join(threads[i]);
        EXPECT(seen[i].self == threads[i] && seen[i].self != port_thread_self());
        EXPECT(seen[i].room != port_thread_room() && seen[i].process == port_process());
    }
    EXPECT(seen[0].room != seen[1].room && threads[0] != threads[1]);
    EXPECT(port_now() - began == 3000); /* side by side */
    first = threads[0];
    for (i = 0; i < 100; i++) { /* records are used again */
        threads[0] = port_thread_start("t", note_thread, &seen[0]);
        port_thread_join(threads[0]);
        EXPECT(threads[0] == first || threads[0] == threads[1]);
    }
    return 0;
}
TEST(gni_151_threads_of_stacks_are_fibers)

static void wait_for_flag(void *argument)
{
    struct seen *seen = argument;
    struct port_timer timer;

    port_timer_start(&timer, UINT64_MAX);
    while (!seen->flag)
        port_idle(&timer, false);
    port_timer_stop(&timer);
    seen->at = port_now();
}

static int a_wake_up_comes_at_its_time_of_a_rank(struct rank *rank)
{
    struct seen seen = {.flag = 0};
    struct port_thread *thread = port_thread_start("t", wait_for_flag, &seen);
    uint64_t changed;

    port_thread_wake(port_thread_self()); /* no effect */
    rank_compute(5000000);
    changed = port_now();
    rank_compute(7000000); /* changes it 7 us later, without a wake-up */
    seen.flag = 1;
    port_thread_wake(thread);
    port_thread_join(thread);
    EXPECT(seen.at == changed + 7000);
    return 0;
}
TEST(a_wake_up_comes_at_its_time)

/* The change happens between the check and the wait, at the same time. */
static int no_wake_up_is_lost_of_a_rank(struct rank *rank)
{
    struct seen seen = {.flag = 0};
    struct port_thread *thread = port_thread_start("t", wait_for_flag, &seen);
    struct port_timer timer;

    seen.flag = 1;
    port_thread_wake(thread); /* it has not run yet */
    port_thread_join(thread);
    seen.flag = 0;
    thread = port_thread_start("t", wait_for_flag, &seen);
    rank_compute(1000000);
    port_thread_wake(thread); /* a wake-up without a change: it keeps waiting */
    rank_compute(1000000);
    port_timer_start(&timer, 10);
    while (!port_timer_rang(&timer))
        port_idle(&timer, false);
    seen.flag = 1;
    port_thread_wake(thread);
    port_thread_join(thread);
    return 0;
}
TEST(no_wake_up_is_lost)

static void poll_for_flag(void *argument)
{
    struct seen *seen = argument;

    while (!seen->flag) {
        port_poll_memory();
        seen->process++;
    }
    seen->at = port_now();
}

static int memory_polls_are_not_simulated_one_by_one_of_a_rank(struct rank *rank)
{
    struct seen seen = {.flag = 0};
    struct port_thread *thread = port_thread_start("t", poll_for_flag, &seen);
    uint64_t began = port_now();

    rank_compute(10000000000); /* 10 ms: half a million of them */
    EXPECT(port_now() == began + 10000000);
    seen.flag = 1;
    port_thread_wake(thread);
    port_thread_join(thread);
    EXPECT(seen.at >= began + 10000000 && seen.at < began + 10000000 + 50);
    EXPECT(seen.process < 200);
    return 0;
}
TEST(memory_polls_are_not_simulated_one_by_one)

struct guarded {
    struct port_mutex mutex;
    gni_cq_handle_t cq;
    uint32_t inside, turns[6];
    bool over;
};

struct user {
    struct guarded *guarded;
    uint32_t number;
};

/* Several threads poll the same queue under a lock while nothing happens. */
static void use_lock(void *argument)
{
    struct user *user = argument;
    struct guarded *guarded = user->guarded;
    gni_cq_entry_t entry;

    while (!guarded->over) {
        port_mutex_lock(&guarded->mutex);
        guarded->inside++;
        GNI_CqGetEvent(guarded->cq, &entry);
        if (guarded->inside == 1)
            guarded->turns[user->number]++;
        guarded->inside--;
        port_mutex_unlock(&guarded->mutex);
    }
}

static int everybody_gets_a_lock_of_a_rank(struct rank *rank)
{
    struct guarded guarded = {.inside = 0};
    struct user users[6];
    struct port_thread *threads[6];
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    uint32_t address, i;

    EXPECT(GNI_CdmCreate(rank_id(rank), rank_ptag(rank), rank_cookie(rank), 0, &cdm) == 0);
    EXPECT(GNI_CdmAttach(cdm, 0, &address, &nic) == 0);
    EXPECT(GNI_CqCreate(nic, 16, 0, GNI_CQ_NOBLOCK, NULL, NULL, &guarded.cq) == 0);
    port_mutex_init(&guarded.mutex);
    for (i = 0; i < 6; i++) {
        users[i] = (struct user){&guarded, i};
        threads[i] = port_thread_start("t", use_lock, &users[i]);
    }
    rank_compute(100000000); /* 100 us */
    EXPECT(rank_now() > 0);
    guarded.over = true;
    for (i = 0; i < 6; i++)
        port_thread_wake(threads[i]);
    for (i = 0; i < 6; i++) {
        port_thread_join(threads[i]);
        EXPECT(guarded.turns[i] > 2);
    }
    EXPECT(GNI_CqDestroy(guarded.cq) == 0 && GNI_CdmDestroy(cdm) == 0);
    return 0;
}
TEST(everybody_gets_a_lock)

/* ---- timers ---------------------------------------------------------------------------------- */

static int timers_ring_at_their_time_of_a_rank(struct rank *rank)
{
    struct port_timer timer, other;
    uint64_t began = port_now();

    port_timer_start(&timer, 5000);
    port_timer_start(&other, 3000);
    EXPECT(!port_timer_rang(&timer));
    while (!port_timer_rang(&other))
        port_idle(&other, false);
    EXPECT(port_now() == began + 3000 && !port_timer_rang(&timer));
    port_timer_stop(&other);
    while (!port_timer_rang(&timer))
        port_idle(&timer, false);
    EXPECT(port_now() == began + 5000);
    port_timer_stop(&timer);
    port_timer_start(&timer, 1000);
    port_timer_stop(&timer);
    rank_compute(2000000);
    EXPECT(port_now() == began + 7000 && !port_timer_rang(&timer));
    port_timer_start(&timer, UINT64_MAX - 1); /* longer than the clock lasts */
    EXPECT(!port_timer_rang(&timer));
    port_timer_stop(&timer);
    return 0;
}
TEST(timers_ring_at_their_time)

/* A loop that polls an empty queue is not simulated poll by poll, and still ends in time. */
static int a_timer_ends_polling_of_a_rank(struct rank *rank)
{
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t cq;
    gni_cq_entry_t entry;
    struct port_timer timer;
    uint32_t address;
    uint64_t began, events;

    EXPECT(GNI_CdmCreate(rank_id(rank), rank_ptag(rank), rank_cookie(rank), 0, &cdm) == 0);
    EXPECT(GNI_CdmAttach(cdm, 0, &address, &nic) == 0);
    EXPECT(GNI_CqCreate(nic, 16, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq) == 0);
    began = port_now();
    port_timer_start(&timer, 1000000000);
    events = sim_core.events_fired;
    while (!port_timer_rang(&timer)) {
        EXPECT(GNI_CqGetEvent(cq, &entry) == GNI_RC_NOT_DONE);
        port_idle(&timer, true);
    }
    port_timer_stop(&timer);
    EXPECT(sim_core.events_fired - events < 100);
    EXPECT(port_now() - began >= 1000000000 && port_now() - began < 1000001000);
    EXPECT(GNI_CqDestroy(cq) == 0 && GNI_CdmDestroy(cdm) == 0);
    return 0;
}
TEST(a_timer_ends_polling)

static void wait_long(void *argument)
{
    struct port_timer timer;

    port_timer_start(&timer, 20000000); /* would fire when the stack belongs to another thread */
    while (!port_timer_rang(&timer))
        port_idle(&timer, false);
    port_timer_stop(&timer);
}

/* Node 1 dies, or its rank ends, while timers on the stacks of its threads are armed. */
static int timers_die_with_their_rank_of_a_rank(struct rank *rank)
{
    struct port_timer timer;
    int i;

    port_timer_start(&timer, 15000000);
    for (i = 0; i < 4; i++)
        EXPECT(port_thread_start("t", wait_long, NULL) != NULL);
    if (rank_id(rank) == 1) {
        while (!port_timer_rang(&timer))
            port_idle(&timer, false);
        return 0;
    }
    rank_compute(10000000000);
    for (i = 0; i < 8; i++)
        EXPECT(port_thread_start("t", wait_long, NULL) != NULL); /* reuse the stacks */
    rank_compute(30000000000);
    port_timer_stop(&timer);
    return 0;
}

static void timers_die_with_their_rank(void **state)
{
    assert_int_equal(run_with("", "", timers_die_with_their_rank_of_a_rank), 0);
    assert_int_equal(run_with("",
                              "faults: [{at: node, node: 1, do: crash, time: 5ms}]\n"
                              "expect: [{job: a, exit: 137}]\n",
                              timers_die_with_their_rank_of_a_rank),
                     0);
}

/* ---- costs, numbers, environment ------------------------------------------------------------- */

static int costs_are_parameters_of_a_rank(struct rank *rank)
{
    uint64_t began = port_now();

    port_spend(PORT_COST_SEND, 1);
    EXPECT(port_now() - began == 500);
    port_spend(PORT_COST_COPY, 4000);
    EXPECT(port_now() - began == 500 + 2000);
    port_spend(PORT_COST_RMA, 0);
    EXPECT(port_now() - began == 2500);
    return 0;
}

static void costs_are_parameters(void **state)
{
    assert_int_equal(run_on(", params: {gni: {send_ns: 500, copy_GBps: 2}}", "", "",
                            costs_are_parameters_of_a_rank),
                     0);
}

static uint64_t drawn[2][2], drawn_by_rank[2];

static int numbers_are_reproducible_of_a_rank(struct rank *rank)
{
    uint32_t id = rank_id(rank);
    uint64_t first = port_random(), second = port_random(), mine = rank_random(rank);

    EXPECT(first != second);
    if (drawn[id][0] == 0) {
        drawn[id][0] = first;
        drawn[id][1] = second;
        drawn_by_rank[id] = mine;
    }
    EXPECT(drawn[id][0] == first && drawn[id][1] == second && drawn_by_rank[id] == mine);
    return 0;
}

static int rank_numbers_alone(struct rank *rank)
{
    EXPECT(rank_random(rank) == drawn_by_rank[rank_id(rank)]);
    return 0;
}

static void numbers_are_reproducible(void **state)
{
    assert_int_equal(run_with("", "", numbers_are_reproducible_of_a_rank), 0);
    assert_int_equal(run_with("", "", numbers_are_reproducible_of_a_rank), 0);
    assert_true(drawn[0][0] != drawn[1][0]);
    assert_int_equal(run_with("", "", rank_numbers_alone), 0);
}

static int environment_is_the_jobs_of_a_rank(struct rank *rank)
{
    char number[16];

    EXPECT(strcmp(port_getenv("GNIX_X"), "a b") == 0);
    EXPECT(port_getenv("PATH") == NULL);
    EXPECT(strcmp(port_getenv("PMI_GNI_DEV_ID"), "7") == 0); /* the scenario overrides it */
    snprintf(number, sizeof(number), "%u", rank_cookie(rank));
    EXPECT(strcmp(port_getenv("PMI_GNI_COOKIE"), number) == 0);
    EXPECT(port_getenv("PMI_GNI_COOKIE") == port_getenv("PMI_GNI_COOKIE"));
    snprintf(number, sizeof(number), "%u", rank_id(rank));
    EXPECT(strcmp(port_getenv("PMI_FORK_RANK"), number) == 0);
    EXPECT(strcmp(port_getenv("PMI_LOCAL_SIZE"), "2") == 0);
    return 0;
}
TEST_FIELDS(environment_is_the_jobs, ", env: {GNIX_X: a b, PMI_GNI_DEV_ID: 7}, ranks_per_node: 2",
            "")

/* ---- memory, names, descriptors -------------------------------------------------------------- */

static unsigned mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    unsigned found = 0;
    int letter;

    while (file != NULL && (letter = getc(file)) != EOF)
        found += letter == '\n';
    if (file != NULL)
        fclose(file);
    return found;
}

static int pages_of_thousands_share_mappings_of_a_rank(struct rank *rank)
{
    enum { SLABS = 20000, BYTES = 1 << 20 };
    static char *slabs[SLABS];
    unsigned before = mappings();
    int i;

    if (rank_id(rank) != 0)
        return 0;
    for (i = 0; i < SLABS; i++) {
        slabs[i] = port_pages_alloc(BYTES, i % 2 == 0 ? 0 : 2 << 20);
        EXPECT(slabs[i] != NULL && slabs[i][0] == 0 && slabs[i][BYTES - 1] == 0);
        EXPECT(i % 2 == 0 || (uintptr_t)slabs[i] % (2 << 20) == 0);
        EXPECT(i == 0 || slabs[i] >= slabs[i - 1] + BYTES);
        slabs[i][0] = slabs[i][BYTES - 1] = 1;
    }
    EXPECT(mappings() < before + 5);
    for (i = 0; i < SLABS; i++)
        port_pages_free(slabs[i], BYTES);
    for (i = 0; i < SLABS; i++) { /* the same again, and empty */
        char *slab = port_pages_alloc(BYTES, 2 << 20);

        EXPECT(slab[0] == 0 && slab[BYTES - 1] == 0);
        EXPECT((uintptr_t)slab % (2 << 20) == 0);
    }
    EXPECT(mappings() < before + 5);
    EXPECT(port_pages_alloc(1ull << 62, 0) == NULL);
    return 0;
}
TEST(pages_of_thousands_share_mappings)

static int gni_19_hosts_are_found_by_their_names_of_a_rank(struct rank *rank)
{
    static const struct {
        const char *name;
        uint32_t node;
    } known[] = {{"nid00000", 0},   {"nid00007", 7},   {"c0-0c0s1n3", 7},
                 {"10.128.0.1", 0}, {"10.128.0.8", 7}, {"c0-0c0s15n3", 63}};
    static const char *const unknown[] = {"nid00064",   "nid7",        "nid0000x",   "c0-0c0s16n0",
                                          "c0-0c3s0n0", "c1-0c0s0n0",  "c0-1c0s0n0", "c0-0c0s1n3x",
                                          "10.128.0.0", "10.128.0.65", "127.0.0.2",  "4294967295",
                                          "",           "host",        "-1"};
    const struct cluster *cluster = rank->job->cluster;
    uint32_t address;
    char number[16];
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(known); i++) {
        EXPECT(port_resolve(known[i].name, UINT32_MAX, &address) == 0);
        EXPECT(address == aries_nic_address(cluster_aries(cluster), known[i].node));
    }
    for (i = 0; i < G_N_ELEMENTS(unknown); i++)
        if (port_resolve(unknown[i], UINT32_MAX, &address) != -ENODATA)
            return rank_fail(rank, "%s was found", unknown[i]);
    EXPECT(port_resolve("localhost", UINT32_MAX, &address) == 0 &&
           address == aries_nic_address(cluster_aries(cluster), rank_node(rank)));
    snprintf(number, sizeof(number), "%u", aries_nic_address(cluster_aries(cluster), 5));
    EXPECT(port_resolve(number, UINT32_MAX, &address) == 0 &&
           address == aries_nic_address(cluster_aries(cluster), 5));
    return 0;
}
TEST(gni_19_hosts_are_found_by_their_names)

struct ringer {
    int event;
};

static void set_event(void *argument)
{
    rank_compute(4000000);
    port_event_set(((struct ringer *)argument)->event);
}

static int gni_112_descriptors_end_a_poll_of_a_rank(struct rank *rank)
{
    struct ringer ringer = {port_event_open()};
    struct pollfd polled = {.fd = ringer.event, .events = POLLIN};
    struct port_thread *thread;
    uint64_t began = port_now();

    EXPECT(ringer.event >= 0);
    thread = port_thread_start("t", set_event, &ringer);
    EXPECT(rank_poll(rank, &polled, 1, 3000000) == 0);
    EXPECT(rank_poll(rank, &polled, 1, UINT64_MAX) == 1);
    EXPECT(port_now() - began >= 4000 && port_now() - began < 20000);
    EXPECT(rank_poll(rank, &polled, 1, 0) == 1);
    port_event_clear(ringer.event);
    EXPECT(rank_poll(rank, &polled, 1, 0) == 0);
    port_thread_join(thread);
    port_event_close(ringer.event);
    return 0;
}
TEST(gni_112_descriptors_end_a_poll)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_151_threads_of_stacks_are_fibers),
        cmocka_unit_test(a_wake_up_comes_at_its_time),
        cmocka_unit_test(no_wake_up_is_lost),
        cmocka_unit_test(memory_polls_are_not_simulated_one_by_one),
        cmocka_unit_test(everybody_gets_a_lock),
        cmocka_unit_test(timers_ring_at_their_time),
        cmocka_unit_test(a_timer_ends_polling),
        cmocka_unit_test(timers_die_with_their_rank),
        cmocka_unit_test(costs_are_parameters),
        cmocka_unit_test(numbers_are_reproducible),
        cmocka_unit_test(environment_is_the_jobs),
        cmocka_unit_test(pages_of_thousands_share_mappings),
        cmocka_unit_test(gni_19_hosts_are_found_by_their_names),
        cmocka_unit_test(gni_112_descriptors_end_a_poll),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
