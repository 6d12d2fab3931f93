/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attributes of jobs and nodes, published names. */
#include "server_common.h"

#define JOB(key) "cmd=info-getjobattr;key=" key ";"
#define JOB_IS(value) "cmd=info-getjobattr-response;found=TRUE;value=" value ";rc=0;"
#define JOB_NOT "cmd=info-getjobattr-response;found=FALSE;rc=0;"
#define NODE(key) "cmd=info-getnodeattr;key=" key ";wait=FALSE;"
#define NODE_IS(value) "cmd=info-getnodeattr-response;found=TRUE;value=" value ";rc=0;"
#define NODE_NOT "cmd=info-getnodeattr-response;found=FALSE;rc=0;"

static const char *placed(struct driver *driver, const uint32_t *node_of, uint32_t size,
                          int64_t universe)
{
    return driver_job_info(
        driver,
        &(struct pmi2_job_info){
            .size = size, .node_of = node_of, .app_size = &size, .apps = 1, .universe = universe});
}

static void pmi2_46_mapping(void **state)
{
    static const uint32_t node_of[] = {0, 0, 1, 2, 2, 2};
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 3});
    const char *job = placed(driver, node_of, 6, -1);
    struct peer *two = client2(driver, job, 2, 1), *one = client1(driver, job, 5, 2);
    char line[100];

    ask(two, JOB("PMI_process_mapping"), JOB_IS("(vector,(0,1,2),(1,1,1),(2,1,3))"));
    snprintf(line, sizeof(line), "cmd=get kvsname=%s key=PMI_process_mapping", job);
    ask_line(one, line, "cmd=get_result rc=0 msg=success value=(vector,(0,1,2),(1,1,1),(2,1,3))");
    driver_free(driver);
}

static void pmi2_49_universe(void **state)
{
    static const uint32_t node_of[] = {0};
    struct driver *driver = one_node();
    const char *job = placed(driver, node_of, 1, 12), *other = placed(driver, node_of, 1, -1);
    struct peer *peer = client2(driver, job, 0, 0), *endless = client2(driver, other, 0, 0);

    ask(peer, JOB("universeSize"), JOB_IS("12"));
    ask_line(peer, "cmd=get_universe_size", "cmd=universe_size size=12");
    ask(endless, JOB("universeSize"), JOB_NOT);
    ask_line(endless, "cmd=get_universe_size", "cmd=universe_size size=-1");
    driver_free(driver);
}

static void pmi2_50_local_ranks(void **state)
{
    static const uint32_t node_of[] = {1, 0, 1, 0, 1};
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 2});
    const char *job = placed(driver, node_of, 5, -1);
    struct peer *zero = client2(driver, job, 3, 0), *one = client2(driver, job, 0, 1);

    ask(zero, NODE("localRanks"), NODE_IS("1,3"));
    ask(zero, NODE("localRanksCount"), NODE_IS("2"));
    ask(one, NODE("localRanks"), NODE_IS("0,2,4"));
    ask(one, "cmd=info-getnodeattr;key=localRanksCount;wait=TRUE;", NODE_IS("3"));
    driver_free(driver);
}

static void pmi2_52_wait(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 2);
    struct peer *one = client2(driver, job, 0, 0), *other = client2(driver, job, 1, 0);

    driver_frame(one, "cmd=info-getnodeattr;key=seg;wait=TRUE;");
    ask(other, NODE("seg"), NODE_NOT);
    expect_nothing(one);
    ask(other, "cmd=info-putnodeattr;key=seg;value=x;;y;", "cmd=info-putnodeattr-response;rc=0;");
    expect_frame(one, NODE_IS("x;;y"));
    ask(one, "cmd=info-getnodeattr;key=seg;wait=true;", NODE_IS("x;;y"));
    ask(one, "cmd=info-putnodeattr;key=seg;value=again;", "cmd=info-putnodeattr-response;rc=0;");
    ask(other, NODE("seg"), NODE_IS("again"));
    driver_free(driver);
}

static void pmi2_53_waiting_delays_nobody(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    driver_frame(peer, "cmd=info-getnodeattr;thrid=a;key=seg;wait=TRUE;");
    ask(peer, "cmd=kvs-put;thrid=b;key=k;value=1;", "cmd=kvs-put-response;thrid=b;rc=0;");
    ask(peer, "cmd=kvs-fence;thrid=b;", "cmd=kvs-fence-response;thrid=b;rc=0;");
    ask(peer, "cmd=kvs-get;thrid=b;key=k;",
        "cmd=kvs-get-response;thrid=b;found=TRUE;value=1;rc=0;");
    driver_free(driver);
}

static void pmi2_54_of_this_node_and_job(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 2});
    const char *job = driver_job(driver, 4), *other_job = driver_job(driver, 1);
    struct peer *one = client2(driver, job, 0, 0), *near = client2(driver, job, 1, 0),
                *far = client2(driver, job, 2, 1), *other = client2(driver, other_job, 0, 0);

    ask(one, "cmd=info-putnodeattr;key=a;value=1;", "cmd=info-putnodeattr-response;rc=0;");
    ask(near, NODE("a"), NODE_IS("1"));
    ask(far, NODE("a"), NODE_NOT);
    ask(other, NODE("a"), NODE_NOT);
    driver_free(driver);
}

static void pmi2_55_reserved(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    ask(peer, "cmd=info-putnodeattr;key=PMI_x;value=1;",
        "cmd=info-putnodeattr-response;rc=1;errmsg=keys_with_PMI__prefix_are_reserved;");
    ask(peer, "cmd=info-putnodeattr;key=x;",
        "cmd=info-putnodeattr-response;rc=6;errmsg=invalid_value;");
    ask(peer, NODE("PMI_x"), NODE_NOT);
    driver_free(driver);
}

static void pmi2_56_predefined(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    ask(peer, JOB("hasNameServ"), JOB_IS("true"));
    ask(peer, JOB("isHeterogeneous"), JOB_IS("false"));
    ask(peer, JOB("physTopology"), JOB_IS("hierarchical"));
    ask(peer, JOB("physTopologyLevels"), JOB_IS("complete,complete"));
    ask(peer, JOB("phyTopologyLevels"), JOB_IS("complete,complete"));
    ask(peer, JOB("nix"), JOB_NOT);
    ask(peer, NODE("memPoolType"), NODE_NOT);
    ask(peer, JOB("mpi_reserved_ports"), JOB_NOT);
    driver_free(driver);
}

static void pmi2_57_topology_of_the_launcher(void **state)
{
    static const uint32_t node_of[] = {0, 0}, two = 2;
    static const struct pmi2_text_pair attributes[] = {{"physTopology", "cartesian"},
                                                       {"cartDims", "2,6,16,96"}};
    struct driver *driver = one_node();
    const char *job = driver_job_info(driver, &(struct pmi2_job_info){.size = 2,
                                                                      .node_of = node_of,
                                                                      .app_size = &two,
                                                                      .apps = 1,
                                                                      .attributes = attributes,
                                                                      .attribute_count = 2});
    struct peer *zero = client2(driver, job, 0, 0), *one = client2(driver, job, 1, 0);

    assert_true(pmi2_server_node_attribute(driver->servers[0], job, 0, "cartCoords", "0,0,0,1"));
    assert_true(pmi2_server_node_attribute(driver->servers[0], job, 1, "cartCoords", "0,0,0,2"));
    assert_true(pmi2_server_node_attribute(driver->servers[0], job, PMI2_NO_RANK, "memPoolType",
                                           "anonmmap"));
    assert_false(pmi2_server_node_attribute(driver->servers[0], job, 2, "cartCoords", "0"));
    ask(zero, JOB("physTopology"), JOB_IS("cartesian"));
    ask(zero, JOB("physTopologyLevels"), JOB_NOT);
    ask(zero, JOB("cartDims"), JOB_IS("2,6,16,96"));
    ask(zero, NODE("cartCoords"), NODE_IS("0,0,0,1"));
    ask(one, NODE("cartCoords"), NODE_IS("0,0,0,2"));
    ask(one, NODE("memPoolType"), NODE_IS("anonmmap"));
    driver_free(driver);
}

#define PUBLISH(name, port) "cmd=name-publish;name=" name ";port=" port ";infokeycount=0;"
#define LOOKUP(name) "cmd=name-lookup;name=" name ";infokeycount=0;"
#define UNPUBLISH(name) "cmd=name-unpublish;name=" name ";infokeycount=0;"

static void names_in(uint32_t nodes)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = nodes, .fan_out = 2});
    const char *job = driver_job(driver, nodes), *other_job = driver_job(driver, 2 * nodes);
    struct peer *one = client2(driver, job, nodes - 1, nodes - 1),
                *other = client2(driver, other_job, nodes / 2 * 2, nodes / 2),
                *old = client1(driver, other_job, 2 * nodes - 1, nodes - 1);
    struct pmi2_counters counters;

    ask(other, LOOKUP("svc"), "cmd=name-lookup-response;found=FALSE;rc=1;");
    ask(one, PUBLISH("svc", "port;;1"), "cmd=name-publish-response;rc=0;");
    ask(other, LOOKUP("svc"),
        "cmd=name-lookup-response;port=port;;1;value=port;;1;found=TRUE;rc=0;");
    ask(other, PUBLISH("svc", "mine"),
        "cmd=name-publish-response;rc=1;errmsg=duplicate_service_svc;");
    ask(one, LOOKUP("svc"), "cmd=name-lookup-response;port=port;;1;value=port;;1;found=TRUE;rc=0;");
    ask_line(old, "cmd=lookup_name service=svc",
             "cmd=lookup_result port=port;1 info=ok rc=0 msg=success");
    ask(one, UNPUBLISH("svc"), "cmd=name-unpublish-response;rc=0;");
    ask(one, LOOKUP("svc"), "cmd=name-lookup-response;found=FALSE;rc=1;");
    ask(one, UNPUBLISH("svc"), "cmd=name-unpublish-response;rc=1;errmsg=service_svc_not_found;");
    ask_line(old, "cmd=unpublish_name service=svc",
             "cmd=unpublish_result info=ok rc=1 msg=service_not_found");
    ask(one, PUBLISH("", "x"), "cmd=name-publish-response;rc=3;errmsg=missing_key;");
    /* A name dies with the job that published it. */
    ask(one, PUBLISH("svc", "with a space"), "cmd=name-publish-response;rc=0;");
    ask_line(old, "cmd=lookup_name service=svc",
             "cmd=lookup_result info=ok rc=0 msg=success port=with a space");
    pmi2_server_job_end(driver->servers[0], job);
    driver_run(driver);
    assert_true(one->closed);
    ask(other, LOOKUP("svc"), "cmd=name-lookup-response;found=FALSE;rc=1;");
    pmi2_server_counters(driver->servers[0], &counters);
    assert_int_equal(counters.names, 2);
    driver_free(driver);
}

static void pmi2_58_pmi2_59_pmi2_60_pmi2_61_names(void **state)
{
    names_in(1);
    names_in(2);
    names_in(9);
}

/* With a name server the embedder is asked, from whatever node, and answers when it likes. */
static void names_elsewhere(uint32_t nodes)
{
    struct driver *driver =
        driver_new(&(struct driver_options){.nodes = nodes, .name_server = true});
    const char *job = driver_job(driver, nodes);
    struct peer *peer = client2(driver, job, nodes - 1, nodes - 1),
                *old = client1(driver, driver_job(driver, 1), 0, 0);
    struct pmi2_server *root = driver->servers[0];
    char line[100];
    uint64_t first;

    driver_frame(peer, PUBLISH("svc", "port;;1"));
    expect_nothing(peer);
    snprintf(line, sizeof(line), "0 name 0 of %s: svc port;1", job);
    expect_log(driver, line);
    first = driver->last_name;
    driver_send(old, "cmd=lookup_name service=svc\n"); /* nobody waits for another one */
    expect_nothing(old);
    pmi2_server_name_done(root, driver->last_name, PMI2_NAME_DONE, "port;1");
    driver_run(driver);
    expect_bytes(old, "cmd=lookup_result port=port;1 info=ok rc=0 msg=success\n");
    pmi2_server_name_done(root, first, PMI2_NAME_DONE, "");
    driver_run(driver);
    expect_frame(peer, "cmd=name-publish-response;rc=0;");
    pmi2_server_name_done(root, first, PMI2_NAME_DUPLICATE, ""); /* twice, or never asked */
    pmi2_server_name_done(root, 4711, PMI2_NAME_DONE, "");
    driver_run(driver);
    expect_nothing(peer);

#define ANSWER(request, result, reply)                          \
    driver_frame(peer, request);                                \
    pmi2_server_name_done(root, driver->last_name, result, ""); \
    driver_run(driver);                                         \
    expect_frame(peer, reply)
    ANSWER(PUBLISH("svc", "x"), PMI2_NAME_DUPLICATE,
           "cmd=name-publish-response;rc=1;errmsg=duplicate_service_svc;");
    ANSWER(PUBLISH("svc", "x"), PMI2_NAME_TOO_MANY,
           "cmd=name-publish-response;rc=2;errmsg=too_many_names;");
    ANSWER(LOOKUP("no"), PMI2_NAME_NOT_FOUND, "cmd=name-lookup-response;found=FALSE;rc=1;");
    ANSWER(LOOKUP("svc"), PMI2_NAME_UNREACHABLE,
           "cmd=name-lookup-response;found=FALSE;rc=20;errmsg=name_server_unreachable;");
    ANSWER(UNPUBLISH("svc"), PMI2_NAME_NOT_FOUND,
           "cmd=name-unpublish-response;rc=1;errmsg=service_svc_not_found;");
    ANSWER(UNPUBLISH("svc"), PMI2_NAME_DONE, "cmd=name-unpublish-response;rc=0;");

    driver_frame(peer, LOOKUP("svc"));
    pmi2_server_job_end(root, job); /* nobody is left to hear it */
    driver_run(driver);
    pmi2_server_name_done(root, driver->last_name, PMI2_NAME_DONE, "port");
    driver_run(driver);
    driver_send(old, "cmd=lookup_name service=svc\n"); /* and one that is never answered */
    driver_free(driver);
}

static void pmi2_58_names_are_kept_elsewhere(void **state)
{
    names_elsewhere(1);
    names_elsewhere(2);
    names_elsewhere(9);
}

static void quotas(void **state)
{
    struct driver *driver =
        driver_new(&(struct driver_options){.limits = {.names = 2, .node_attributes = 2}});
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    ask(peer, PUBLISH("a", "1"), "cmd=name-publish-response;rc=0;");
    ask(peer, PUBLISH("b", "1"), "cmd=name-publish-response;rc=0;");
    ask(peer, PUBLISH("c", "1"), "cmd=name-publish-response;rc=2;errmsg=too_many_names;");
    ask(peer, UNPUBLISH("a"), "cmd=name-unpublish-response;rc=0;");
    ask(peer, PUBLISH("c", "1"), "cmd=name-publish-response;rc=0;");
    ask(peer, "cmd=info-putnodeattr;key=a;value=1;", "cmd=info-putnodeattr-response;rc=0;");
    driver_frame(peer, "cmd=info-getnodeattr;key=b;wait=TRUE;thrid=1;");
    ask(peer, "cmd=info-putnodeattr;key=c;value=1;",
        "cmd=info-putnodeattr-response;rc=2;errmsg=too_many_attributes;");
    ask(peer, "cmd=info-getnodeattr;key=d;wait=TRUE;",
        "cmd=info-getnodeattr-response;rc=2;errmsg=too_many_attributes;");
    driver_free(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_46_mapping),
        cmocka_unit_test(pmi2_49_universe),
        cmocka_unit_test(pmi2_50_local_ranks),
        cmocka_unit_test(pmi2_52_wait),
        cmocka_unit_test(pmi2_53_waiting_delays_nobody),
        cmocka_unit_test(pmi2_54_of_this_node_and_job),
        cmocka_unit_test(pmi2_55_reserved),
        cmocka_unit_test(pmi2_56_predefined),
        cmocka_unit_test(pmi2_57_topology_of_the_launcher),
        cmocka_unit_test(pmi2_58_pmi2_59_pmi2_60_pmi2_61_names),
        cmocka_unit_test(pmi2_58_names_are_kept_elsewhere),
        cmocka_unit_test(quotas),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
