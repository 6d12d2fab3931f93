/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Clients that break the rules with well-formed messages: they die, never read, flood the server,
 * or exceed limits. The witnesses of server_scene.h must not notice.
 */
#include "server_scene.h"

static void pmi2_88_21_closed_without_finalize(void **state)
{
    struct scene scene = begin();
    char line[100];

    driver_frame(scene.same, "cmd=kvs-fence;");
    driver_hang_up(scene.bad);
    expect_frame(scene.same, "cmd=kvs-fence-response;rc=14;errmsg=rank_0_dead;");
    snprintf(line, sizeof(line),
             "0 abort %s rank 0 code -1 text its connection to the process manager broke",
             scene.job);
    expect_log(scene.driver, line); /* a proposal: the launcher decides */
    end_closed(&scene);
}

/* What the job's attribute of dead processes says now. */
static void expect_dead_processes(const struct scene *scene, const char *ranks)
{
    char answer[100];

    snprintf(answer, sizeof(answer), "cmd=info-getjobattr-response;found=TRUE;value=%s;rc=0;",
             ranks);
    ask(scene->same, "cmd=info-getjobattr;key=PMI_dead_processes;", answer);
}

static void pmi2_88_22_killed_in_a_fence(void **state)
{
    struct scene scene = begin();

    driver_frame(scene.same, "cmd=kvs-fence;");
    pmi2_server_rank_ended(scene.driver->servers[0], scene.job, 0);
    driver_run(scene.driver);
    expect_frame(scene.same, "cmd=kvs-fence-response;rc=14;errmsg=rank_0_dead;");
    expect_dead_processes(&scene, "0");
    end(&scene, "cmd=kvs-fence-response;rc=14;errmsg=rank_0_dead;");
}

static void pmi2_88_23_finalized_in_a_fence(void **state)
{
    struct scene scene = begin();

    driver_frame(scene.same, "cmd=kvs-fence;");
    ask(scene.bad, "cmd=finalize;", "cmd=finalize-response;rc=0;");
    expect_frame(scene.same, "cmd=kvs-fence-response;rc=14;errmsg=rank_0_finalized;");
    pmi2_server_rank_ended(scene.driver->servers[0], scene.job, 0);
    driver_run(scene.driver);
    expect_dead_processes(&scene, "");
    expect_no_log(scene.driver, "abort");
    end(&scene, "cmd=kvs-fence-response;rc=14;errmsg=rank_0_finalized;");
}

static void pmi2_88_24_job_connect(void **state)
{
    struct scene scene = begin();
    char frame[100];

    ask(scene.bad, "cmd=job-connect;jobid=7.7;",
        "cmd=job-connect-response;rc=3;errmsg=unknown_jobid;");
    snprintf(frame, sizeof(frame), "cmd=job-connect;jobid=%s;", scene.other_job);
    ask(scene.bad, frame, "cmd=job-connect-response;kvscopy=FALSE;rc=0;");
    end_working(&scene);
}

/* The bad client does not read, and the server keeps 10,000 bytes for it. */
static struct scene begin_with_slow_reader(void)
{
    struct scene scene =
        scene_new(&(struct driver_options){.nodes = 1, .limits.unread_bytes = 10000});

    scene.bad = client2(scene.driver, scene.job, 0, 0);
    scene.bad->deaf = true;
    return scene;
}

static void pmi2_88_25_pmi2_117_never_reads(void **state)
{
    struct scene scene = begin_with_slow_reader();
    struct iovec pieces[4000];
    size_t held = 0;
    int sent = 0, count, i;

    driver_time(scene.driver, SECOND);
    while (pmi2_link_reads(scene.bad->link) && sent++ < 100000)
        driver_frame(scene.bad, GET("a"));
    assert_in_range(sent, 100, 1000);
    count = pmi2_link_output(scene.bad->link, pieces, 4000);
    for (i = 0; i < count; i++)
        held += pieces[i].iov_len;
    assert_in_range(held, 10000, 10200);
    ask(scene.same, GET("x"), MISSING);
    driver_time(scene.driver, 59 * SECOND);
    assert_false(scene.bad->closed);
    driver_time(scene.driver, 2 * SECOND);
    end_closed(&scene);
}

static void pmi2_88_25_reads_again(void **state)
{
    struct scene scene = begin_with_slow_reader();
    struct text frames = {NULL, 0, 0};
    int i;

    for (i = 0; i < 2000; i++)
        text_print(&frames, "%6zu%s", strlen(GET("a")), GET("a"));
    driver_send(scene.bad, frames.at);
    assert_false(pmi2_link_reads(scene.bad->link));
    driver_resume_reading(scene.bad);
    assert_int_equal(scene.bad->in.length, 2000 * (6 + strlen(MISSING)));
    forget_input(scene.bad);
    free(frames.at);
    end_working(&scene);
}

static void pmi2_88_26_flood(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 512);
    struct peer **peers = calloc(512, sizeof(struct peer *));
    char text[100];
    uint32_t i, j;

    for (i = 0; i < 512; i++)
        peers[i] = client2(driver, job, i, 0);
    for (i = 0; i < 512; i++) {
        struct text frames = {NULL, 0, 0};

        for (j = 0; j < 60; j++) {
            snprintf(text, sizeof(text), "cmd=kvs-put;key=%u-%u;value=%u;", i, j, j);
            text_print(&frames, "%6zu%s", strlen(text), text);
        }
        text_print(&frames, "%6d%s", 14, "cmd=kvs-fence;");
        driver_send(peers[i], frames.at);
        free(frames.at);
    }
    for (i = 0; i < 512; i++)
        assert_int_equal(peers[i]->in.length, 60 * (6 + 26) + 6 + 28);
    free(peers);
    driver_free(driver);
}

static void pmi2_88_27_two_fences_in_one_write(void **state)
{
    struct scene scene = begin();

    driver_send(scene.bad, "    14cmd=kvs-fence;    14cmd=kvs-fence;    22cmd=kvs-fence;thrid=5;");
    expect_frame(scene.bad, "cmd=kvs-fence-response;thrid=5;rc=14;errmsg=already_in_a_fence;");
    ask(scene.same, "cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;");
    assert_string_equal(take_frame(scene.bad), "cmd=kvs-fence-response;rc=0;");
    expect_frame(scene.bad, "cmd=kvs-fence-response;rc=14;errmsg=already_in_a_fence;");
    end_working(&scene);
}

static void pmi2_88_28_counted_per_rank(void **state)
{
    struct scene scene = begin();
    int i;

    for (i = 0; i < 5; i++) { /* the other job is three times faster */
        driver_frame(scene.bad, "cmd=kvs-fence;");
        ask_line(scene.other, "cmd=barrier_in", "cmd=barrier_out");
        ask_line(scene.other, "cmd=barrier_in", "cmd=barrier_out");
        expect_nothing(scene.bad);
        ask_line(scene.other, "cmd=barrier_in", "cmd=barrier_out");
        ask(scene.same, "cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;");
        expect_frame(scene.bad, "cmd=kvs-fence-response;rc=0;");
    }
    end_working(&scene);
}

static void pmi2_88_29_30_spawns(void **state)
{
    struct scene scene = begin();

    ask(scene.bad, "cmd=spawn;ncmds=2;preputcount=0;subcmd=a;maxprocs=1;argc=0;infokeycount=0;",
        "cmd=spawn-response;rc=10;errmsg=number_of_commands_does_not_match;");
    ask(scene.bad, "cmd=spawn;ncmds=1;preputcount=0;subcmd=a;maxprocs=1;argc=2;argv0=x;",
        "cmd=spawn-response;rc=9;errmsg=number_of_arguments_does_not_match;");
    ask(scene.bad, "cmd=spawn;ncmds=1;preputcount=0;subcmd=a;maxprocs=1;argc=-1;",
        "cmd=spawn-response;rc=9;errmsg=number_of_arguments_does_not_match;");
    ask(scene.bad, "cmd=spawn;ncmds=1;preputcount=0;subcmd=a;maxprocs=-1;argc=0;",
        "cmd=spawn-response;rc=3;errmsg=invalid_number_of_processes;");
    ask(scene.bad, "cmd=spawn;ncmds=1;preputcount=1000000;subcmd=a;maxprocs=1;argc=0;",
        "cmd=spawn-response;rc=12;errmsg=number_of_pairs_does_not_match;");
    ask(scene.bad, "cmd=spawn;ncmds=1;preputcount=0;subcmd=a;maxprocs=1025;argc=0;",
        "cmd=spawn-response;rc=13;errmsg=too_many_processes;nerrs=0;");
    assert_int_equal(scene.driver->last_spawn, 0);
    end_working(&scene);
}

static void pmi2_88_29a_nothing_to_execute(void **state)
{
    static const int errors[3] = {0, 2, 2};
    struct scene scene = begin();

    driver_frame(scene.bad, "cmd=spawn;ncmds=2;preputcount=0;subcmd=a;maxprocs=1;argc=0;"
                            "infokeycount=0;subcmd=b;maxprocs=2;argc=0;infokeycount=0;");
    expect_nothing(scene.bad);
    pmi2_server_spawn_done(scene.driver->servers[0], scene.driver->last_spawn, NULL, errors,
                           "cannot_execute_b");
    driver_run(scene.driver);
    expect_frame(scene.bad, "cmd=spawn-response;rc=1;errmsg=cannot_execute_b;nerrs=3;err0=0;"
                            "err1=2;err2=2;errcodes=0,2,2;");
    end_working(&scene);
}

static void pmi2_88_31_long_line(void **state)
{
    struct scene scene = begin();
    char *line = malloc(100001);

    memset(line, 'x', 100000);
    memcpy(line, "cmd=put kvsname=", 16);
    line[100000] = '\0';
    driver_bytes(scene.bad, line, 8000);
    assert_false(scene.bad->closed);
    driver_bytes(scene.bad, line + 8000, 92000);
    free(line);
    end_closed(&scene);
}

static void pmi2_88_32_spawn_blocks(void **state)
{
    struct scene scene = begin();
    char *block;
    size_t i;

    driver_send(scene.bad, "mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=1\nspawnssofar=2\n"
                           "argcnt=0\npreput_num=0\ninfo_num=0\nendcmd\n");
    expect_bytes(scene.bad, "cmd=spawn_result rc=-1 msg=number_of_commands_does_not_match\n");
    driver_send(scene.bad, "mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=2\nspawnssofar=2\n"
                           "argcnt=0\npreput_num=0\ninfo_num=0\nendcmd\n");
    expect_bytes(scene.bad, "cmd=spawn_result rc=-1 msg=number_of_commands_does_not_match\n");
    block = malloc(1100000);
    memset(block, 'x', 1100000);
    memcpy(block, "mcmd=spawn\nexecname=", 20);
    for (i = 0; i < 1100000; i += 10000)
        driver_bytes(scene.bad, block + i, 10000);
    free(block);
    end_closed(&scene);
}

static void pmi2_88_33_publish_twice(void **state)
{
    struct scene scene = begin();

    ask(scene.bad, "cmd=name-publish;name=s;port=bad;infokeycount=0;",
        "cmd=name-publish-response;rc=0;");
    ask_line(scene.other, "cmd=publish_name service=s port=other",
             "cmd=publish_result info=ok rc=1 msg=key_already_present");
    ask_line(scene.other, "cmd=lookup_name service=s",
             "cmd=lookup_result port=bad info=ok rc=0 msg=success");
    end_working(&scene);
}

static void pmi2_88_34_waiting_rank_dies(void **state)
{
    struct scene scene = begin();

    driver_frame(scene.bad, "cmd=info-getnodeattr;key=never;wait=TRUE;");
    driver_frame(scene.bad, "cmd=info-getnodeattr;key=never;wait=TRUE;thrid=2;");
    driver_hang_up(scene.bad);
    ask(scene.same, "cmd=info-putnodeattr;key=never;value=1;",
        "cmd=info-putnodeattr-response;rc=0;");
    end_closed(&scene);
}

static void pmi2_88_35_not_utf8(void **state)
{
    struct scene scene = begin();

    ask(scene.bad, "cmd=kvs-put;key=a;value=\xe2\x82;", "cmd=kvs-put-response;rc=0;");
    ask(scene.bad, "cmd=info-putnodeattr;key=a;value=\xe2\x82;",
        "cmd=info-putnodeattr-response;rc=0;");
    ask(scene.bad, "cmd=info-getnodeattr;key=a;wait=FALSE;",
        "cmd=info-getnodeattr-response;found=TRUE;value=\xe2\x82;rc=0;");
    end_working(&scene);
}

static void pmi2_88_35_strict(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 1, .strict_utf8 = true});
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    ask(peer, "cmd=kvs-put;key=a;value=\xe2\x82;",
        "cmd=kvs-put-response;rc=6;errmsg=invalid_value;");
    ask(peer, "cmd=info-putnodeattr;key=a;value=\xff;",
        "cmd=info-putnodeattr-response;rc=6;errmsg=invalid_value;");
    ask(peer, "cmd=kvs-put;key=a;value=\xe2\x82\xac;", "cmd=kvs-put-response;rc=0;");
    driver_frame(peer, "cmd=spawn;ncmds=1;preputcount=1;ppkey0=a;ppval0=\xc0\x80;subcmd=p;"
                       "maxprocs=1;argc=0;infokeycount=0;");
    assert_non_null(strstr(peer->in.at, "spawn-response;rc=6;"));
    forget_input(peer);
    driver_frame(peer, "cmd=job-connect;jobid=7.7;copy=TRUE;");
    forget_input(peer);
    driver_frame(peer, "cmd=kvs-putall;thrid=1;jobid=7.7;npair=1;");
    driver_frame(peer, "cmd=kvs-putall-pair;thrid=1;key=a;value=\xe2;");
    assert_non_null(strstr(peer->in.at, "kvs-putall-response;thrid=1;rc=6;"));
    driver_free(driver);
}

/* The draft's second connection for signals, and the barriers of 1.2: neither is offered. */
static void what_is_not_offered(void **state)
{
    struct scene scene = begin();
    struct peer *unauthenticated = driver_port(scene.driver, scene.job, 0, PMI2_AUTH_NONE);

    ask_line(scene.bad, "cmd=init_oob signal=NONE pmi_version=2 pmi_subversion=0",
             "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=1");
    ask_line(unauthenticated, "cmd=init_oob signal=USR1 pmi_version=2 pmi_subversion=0",
             "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=1");
    ask_line(scene.bad, "cmd=barrier_in group=NODE:7",
             "cmd=barrier_out rc=-1 msg=groups_unsupported");
    end_working(&scene);
}

static void pmi2_88_36_unauthenticated_client(void **state)
{
    struct scene scene = begin();
    struct peer *unauthenticated = driver_port(scene.driver, scene.job, 0, PMI2_AUTH_CHALLENGE);

    driver_send(unauthenticated, INIT2);
    forget_input(unauthenticated);
    ask(unauthenticated, "cmd=fullinit;pmijobid=1.0;pmirank=0;threaded=FALSE;",
        "cmd=fullinit-response;rc=1;errmsg=authentication_required;");
    assert_true(unauthenticated->closed);
    end_working(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_88_21_closed_without_finalize),
        cmocka_unit_test(pmi2_88_22_killed_in_a_fence),
        cmocka_unit_test(pmi2_88_23_finalized_in_a_fence),
        cmocka_unit_test(pmi2_88_24_job_connect),
        cmocka_unit_test(pmi2_88_25_pmi2_117_never_reads),
        cmocka_unit_test(pmi2_88_25_reads_again),
        cmocka_unit_test(pmi2_88_26_flood),
        cmocka_unit_test(pmi2_88_27_two_fences_in_one_write),
        cmocka_unit_test(pmi2_88_28_counted_per_rank),
        cmocka_unit_test(pmi2_88_29_30_spawns),
        cmocka_unit_test(pmi2_88_29a_nothing_to_execute),
        cmocka_unit_test(pmi2_88_31_long_line),
        cmocka_unit_test(pmi2_88_32_spawn_blocks),
        cmocka_unit_test(pmi2_88_33_publish_twice),
        cmocka_unit_test(pmi2_88_34_waiting_rank_dies),
        cmocka_unit_test(pmi2_88_35_not_utf8),
        cmocka_unit_test(pmi2_88_35_strict),
        cmocka_unit_test(what_is_not_offered),
        cmocka_unit_test(pmi2_88_36_unauthenticated_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
