/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Assertions of kernel code on simulated nodes: in a thread, in a callback, and on a node without
 * LNet. Each one ends its node or process, with a finding, and the run goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "cluster/cluster.h"
#include "report/report.h"
#include "verdict/verdict.h"

#include <libcfs/libcfs.h>
#include <lnet/lib-lnet.h>

enum { NODES = 4, BITS = 5, TEST_PORTAL = 30 };
static char memory[NODES][64];
static unsigned received, entered, finished;
static bool in_thread_went_on;

static void counts(struct lnet_event *event)
{
    if (event->type == LNET_EVENT_PUT)
        received++;
}
static void asserts(struct lnet_event *event)
{
    entered++;
    LASSERT(event->type == LNET_EVENT_UNLINK);
    entered += 100;
}

static void take(uint32_t rank, lnet_eq_handler_t handler)
{
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_md md = {.start = memory[rank],
                         .length = sizeof(memory[rank]),
                         .threshold = LNET_MD_THRESH_INF,
                         .options = LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE | LNET_MD_TRUNCATE};
    struct lnet_handle_me me;
    struct lnet_handle_md handle;

    LASSERT(LNetEQAlloc(0, handler, &md.eq_handle) == 0);
    LASSERT(LNetMEAttach(TEST_PORTAL, any, BITS, 0, LNET_UNLINK, LNET_INS_AFTER, &me) == 0);
    LASSERT(LNetMDAttach(me, md, LNET_UNLINK, &handle) == 0);
}

static void send_to(const char *nid)
{
    struct lnet_process_id target = {libcfs_str2nid(nid), LNET_PID_LUSTRE};
    struct lnet_md md = {.start = memory[0], .length = 10, .threshold = 1};
    struct lnet_handle_md handle;

    LNetInvalidateEQHandle(&md.eq_handle);
    LASSERT(LNetMDBind(md, LNET_UNLINK, &handle) == 0);
    LASSERT(LNetPut(LNET_NID_ANY, handle, LNET_NOACK_REQ, target, TEST_PORTAL, BITS, 0, 0) == 0);
}

static int in_thread(void *data)
{
    msleep(3);
    LASSERTF(data == NULL, "data is %d\n", *(int *)data);
    in_thread_went_on = true;
    return 0;
}

/* Rank 0 sends to all. Rank 1 asserts in a thread, rank 2 in a callback; rank 3 lives on. */
static int run_rank(struct rank *rank)
{
    uint32_t id = rank_id(rank);
    int data = 7;

    LASSERT(LNetNIInit(LNET_PID_LUSTRE) >= 0);
    if (id > 0)
        take(id, id == 2 ? asserts : counts);
    if (id == 1)
        kthread_run(in_thread, &data, "asserts");
    msleep(1);
    if (id == 0)
        send_to("2@gni");
    msleep(10);
    if (id == 0)
        send_to("3@gni");
    msleep(10);
    finished |= 1u << id;
    return LNetNIFini();
}

static int run_without_lnet(struct rank *rank)
{
    msleep(1);
    BUG_ON(rank_id(rank) == 1);
    finished |= 1u << rank_id(rank);
    return 0;
}

static const struct workload_arg no_args[] = {{NULL}};
static const struct workload with_lnet = {
    .name = "lnet_asserts", .args = no_args, .main = run_rank};
static const struct workload without_lnet = {
    .name = "lnet_asserts_alone", .args = no_args, .main = run_without_lnet};

static char *run(const char *text, int *code)
{
    const struct scenario_options options = {.no_programs = true};
    struct scenario *scenario;
    char *error = NULL;
    json_t *result;

    finished = 0;
    scenario = scenario_parse(text, strlen(text), "t", &options, &error);
    if (scenario == NULL)
        fail_msg("%s", error);
    result = report_run(scenario, &(struct cluster_options){.seed = 1}, &error);
    if (result == NULL)
        fail_msg("%s", error);
    scenario_free(scenario);
    *code = (int)json_integer_value(json_object_get(result, "exit"));
    text = json_dumps(json_object_get(result, "findings"), JSON_COMPACT);
    if (text == NULL)
        text = json_dumps(result, JSON_COMPACT);
    json_decref(result);
    return (char *)(uintptr_t)text;
}

static unsigned times(const char *text, const char *what)
{
    unsigned count = 0;

    for (; (text = strstr(text, what)) != NULL; text++)
        count++;
    return count;
}

static void lnet_99_assertions_of_programs_stop_their_nodes(void **state)
{
    int code;
    char *text = run("fabric: {preset: chassis}\n"
                     "lnet: {nodes: [{name: all, nodes: 0-3, networks: gni(aries)}]}\n"
                     "jobs: [{name: a, nodes: 0-3, workload: lnet_asserts}]\n",
                     &code);

    (void)state;
    assert_int_not_equal(code, EXIT_HOLDS);
    assert_int_equal(finished, 1u << 0 | 1u << 3);
    assert_int_equal(entered, 1);
    assert_int_equal(received, 1);
    assert_false(in_thread_went_on);
    if (times(text, "in_thread(): ASSERTION( data == ((void *)0) ) failed: data is 7") == 0)
        assert_non_null(strstr(text, "ASSERTION( data == NULL ) failed: data is 7"));
    assert_non_null(strstr(text, "ASSERTION( event->type == LNET_EVENT_UNLINK ) failed"));
    assert_true(times(text, "libcfs.assertion") > 0);
    free(text);
}

static void lnet_99_an_assertion_on_a_node_without_lnet(void **state)
{
    int code;
    char *text = run("fabric: {preset: chassis}\n"
                     "jobs: [{name: a, nodes: 0-3, workload: lnet_asserts_alone}]\n",
                     &code);

    (void)state;
    assert_int_not_equal(code, EXIT_HOLDS);
    assert_int_equal(finished, 0xd);
    assert_non_null(strstr(text, "kernel BUG: rank_id(rank) == 1"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_99_assertions_of_programs_stop_their_nodes),
        cmocka_unit_test(lnet_99_an_assertion_on_a_node_without_lnet),
    };

    program_add(&with_lnet);
    program_add(&without_lnet);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
