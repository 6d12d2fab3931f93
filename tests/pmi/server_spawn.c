/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Spawning, connecting, leaving, copying between launchers. */
#include "server_common.h"

#define FOUND(value) "cmd=kvs-get-response;found=TRUE;value=" value ";rc=0;"

static struct text spawned; /* what the embedder was told */
static const char *child;

static void note(const struct pmi2_spawn *spawn)
{
    uint32_t i, j;

    spawned.length = 0;
    for (i = 0; i < spawn->preput_count; i++)
        text_print(&spawned, "preput %s=%s\n", spawn->preput[i].key, spawn->preput[i].value);
    for (i = 0; i < spawn->command_count; i++) {
        const struct pmi2_command *command = &spawn->commands[i];

        text_print(&spawned, "%s x %u", command->name, command->processes);
        for (j = 0; j < command->argc; j++)
            text_print(&spawned, " [%s]", command->argv[j]);
        for (j = 0; j < command->info_count; j++)
            text_print(&spawned, " {%s=%s}", command->info[j].key, command->info[j].value);
        text_print(&spawned, "\n");
    }
}

/* Starts the job on node 0, as a launcher would. */
static void start(struct driver *driver, const struct pmi2_spawn *spawn)
{
    uint32_t *node_of = calloc(spawn->processes, sizeof(*node_of)), apps[8], i;
    struct pmi2_job_info info = {.size = spawn->processes,
                                 .node_of = node_of,
                                 .app_size = apps,
                                 .apps = spawn->command_count,
                                 .universe = -1,
                                 .spawner = spawn->spawner,
                                 .preput = spawn->preput,
                                 .preput_count = spawn->preput_count};

    note(spawn);
    for (i = 0; i < spawn->command_count; i++)
        apps[i] = spawn->commands[i].processes;
    child = pmi2_server_job_add(driver->servers[0], &info);
    assert_non_null(child);
    pmi2_server_spawn_done(driver->servers[0], spawn->id, child, NULL, NULL);
    free(node_of);
}

static void only_note(struct driver *driver, const struct pmi2_spawn *spawn)
{
    note(spawn);
}

#define FRAME                                                                                     \
    "cmd=spawn;ncmds=2;preputcount=1;ppkey0=P;ppval0=tag#0;subcmd=prog;maxprocs=1;argc=2;"        \
    "argv0=a1;argv1=a 2;infokeycount=1;infokey0=wdir;infoval0=/t;subcmd=prog2;maxprocs=2;argc=0;" \
    "infokeycount=0;"
#define EXPECTED_SPAWN "preput P=tag#0\nprog x 1 [a1] [a 2] {wdir=/t}\nprog2 x 2\n"

static void spawn_on(uint32_t nodes)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = nodes, .fan_out = 2});
    const char *job = driver_job(driver, nodes);
    struct peer *parent = client2(driver, job, nodes - 1, nodes - 1), *children[3];
    char text[200];
    uint32_t i;

    assert_int_equal(strlen(FRAME), 190);
    driver->on_spawn = start;
    driver_frame(parent, FRAME);
    snprintf(text, sizeof(text), "cmd=spawn-response;rc=0;jobid=%s;nerrs=0;", child);
    expect_frame(parent, text);
    assert_string_equal(spawned.at, EXPECTED_SPAWN);
    for (i = 0; i < 3; i++) {
        children[i] = driver_client(driver, child, i, 0);
        driver_send(children[i], INIT2);
        forget_input(children[i]);
        driver_frame(children[i], "cmd=fullinit;threaded=FALSE;");
        snprintf(text, sizeof(text),
                 "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=%u;size=3;appnum=%u;"
                 "spawner-jobid=%s;debugged=FALSE;pmiverbose=FALSE;rc=0;",
                 i, i == 0 ? 0 : 1, job);
        expect_frame(children[i], text);
        ask(children[i], "cmd=kvs-get;jobid=;srcid=-1;key=P;", FOUND("tag#0"));
    }
    snprintf(text, sizeof(text), "cmd=job-getid-response;jobid=%s;rc=0;", child);
    ask(children[1], "cmd=job-getid;", text);
    /* Connected from the start, both ways. */
    ask(children[0], "cmd=kvs-put;key=c;value=of child;", "cmd=kvs-put-response;rc=0;");
    fence_all(children, 3);
    snprintf(text, sizeof(text), "cmd=kvs-get;jobid=%s;srcid=0;key=c;", child);
    ask(parent, text, FOUND("of child"));
    snprintf(text, sizeof(text), "cmd=kvs-get;jobid=%s;srcid=0;key=c;", job);
    ask(children[2], text, "cmd=kvs-get-response;found=FALSE;rc=0;");
    driver_free(driver);
}

static void pmi2_40_pmi2_63_pmi2_64_pmi2_65_spawn(void **state)
{
    spawn_on(1);
    spawn_on(5);
}

static void pmi2_66_arguments(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    driver->on_spawn = only_note;
    driver_frame(peer, "cmd=spawn;ncmds=1;preputcount=0;subcmd=p;maxprocs=1;argc=4;argv0=a b;"
                       "argv1=x=y;argv2=p;;q;argv3=\n;infokeycount=0;");
    assert_string_equal(spawned.at, "p x 1 [a b] [x=y] [p;q] [\n]\n");
    driver_free(driver);
}

static void pmi2_67_unknown_info(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    driver->on_spawn = only_note;
    driver_frame(peer, "cmd=spawn;ncmds=1;preputcount=0;subcmd=p;maxprocs=1;argc=0;what=ever;"
                       "infokeycount=2;infokey0=nix;infoval0=;infokey1=host;infoval1=a,b;");
    assert_string_equal(spawned.at, "p x 1 {nix=} {host=a,b}\n");
    driver_free(driver);
}

static void pmi2_68_nothing_started(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    driver_frame(peer, "cmd=spawn;thrid=t9;ncmds=1;preputcount=0;subcmd=nix;maxprocs=2;argc=0;");
    pmi2_server_spawn_done(driver->servers[0], driver->last_spawn, NULL, (int[]){2, 2}, "nix");
    driver_run(driver);
    expect_frame(peer, "cmd=spawn-response;thrid=t9;rc=1;errmsg=nix;nerrs=2;err0=2;err1=2;"
                       "errcodes=2,2;");
    pmi2_server_spawn_done(driver->servers[0], driver->last_spawn, NULL, NULL, NULL);
    driver_run(driver);
    expect_nothing(peer); /* once */
    driver_free(driver);
}

/* What did not start does not count against the limit; what started does. */
static void pmi2_68_pmi2_88_failed_spawns_do_not_count(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 1, .limits.spawned = 3});
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);
    int i;

    for (i = 0; i < 4; i++) {
        driver_frame(peer, "cmd=spawn;ncmds=1;preputcount=0;subcmd=nix;maxprocs=2;argc=0;");
        pmi2_server_spawn_done(driver->servers[0], driver->last_spawn, NULL, (int[]){2, 2}, "nix");
        driver_run(driver);
        expect_frame(peer, "cmd=spawn-response;rc=1;errmsg=nix;nerrs=2;err0=2;err1=2;"
                           "errcodes=2,2;");
    }
    driver_frame(peer, "cmd=spawn;ncmds=1;preputcount=0;subcmd=p;maxprocs=3;argc=0;");
    pmi2_server_spawn_done(driver->servers[0], driver->last_spawn, "4.2", NULL, NULL);
    driver_run(driver);
    expect_frame(peer, "cmd=spawn-response;rc=0;jobid=4.2;nerrs=0;");
    driver_frame(peer, "cmd=spawn;ncmds=1;preputcount=0;subcmd=p;maxprocs=1;argc=0;");
    driver_run(driver);
    expect_frame(peer, "cmd=spawn-response;rc=13;errmsg=too_many_processes;nerrs=0;");
    driver_free(driver);
}

static void pmi2_69_others_go_on(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    driver_frame(peer, "cmd=spawn;thrid=1;ncmds=1;preputcount=0;subcmd=p;maxprocs=1;argc=0;");
    ask(peer, "cmd=kvs-put;key=a;value=1;", "cmd=kvs-put-response;rc=0;");
    ask(peer, "cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;");
    ask(peer, "cmd=kvs-get;key=a;", FOUND("1"));
    pmi2_server_spawn_done(driver->servers[0], driver->last_spawn, "4.2", NULL, NULL);
    driver_run(driver);
    expect_frame(peer, "cmd=spawn-response;thrid=1;rc=0;jobid=4.2;nerrs=0;");
    driver_free(driver);
}

static void pmi2_71_forms(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 2);
    struct peer *peer = client2(driver, job, 0, 0), *old = client1(driver, job, 1, 0);

    driver->on_spawn = only_note;
    driver_frame(peer, "cmd=spawn;thrid=5;ncmds=2;preputcount=1;ppkey0=P;ppval0=tag#0;");
    driver_frame(peer, "cmd=spawn-cmd;thrid=5;subcmd=prog;maxprocs=1;argc=2;argv0=a1;argv1=a 2;"
                       "infokeycount=1;infokey0=wdir;infoval0=/t;");
    driver_frame(peer, "cmd=spawn-cmd;thrid=6;subcmd=other;maxprocs=1;argc=0;");
    expect_frame(peer, "cmd=spawn-response;thrid=6;rc=10;errmsg=nothing_to_continue;");
    assert_int_equal(driver->last_spawn, 0);
    driver_frame(peer, "cmd=spawn-cmd;subcmd=prog2;maxprocs=2;argc=0;infokeycount=0;thrid=5;");
    assert_string_equal(spawned.at, EXPECTED_SPAWN);
    assert_int_equal(driver->last_spawn, 1);
    driver_frame(peer, "cmd=spawn;ncmds=2;preputcount=1;ppkey0=P;ppval0=tag#0;subcmd=prog;"
                       "argv1=a1;argv2=a 2;argc=2;maxprocs=1;thrid=7;infokey0=wdir;infoval0=/t;"
                       "infokeycount=1;subcmd=prog2;argc=0;maxprocs=2;");
    assert_string_equal(spawned.at, EXPECTED_SPAWN);
    assert_int_equal(driver->last_spawn, 2);
    driver_send(old, "mcmd=spawn\nnprocs=1\nexecname=prog\ntotspawns=2\nspawnssofar=1\n"
                     "arg1=a1\narg2=a 2\nargcnt=2\npreput_num=1\npreput_key_0=P\n"
                     "preput_val_0=tag#0\ninfo_num=1\ninfo_key_0=wdir\ninfo_val_0=/t\nendcmd\n"
                     "mcmd=spawn\nnprocs=2\nexecname=prog2\ntotspawns=2\nspawnssofar=2\n"
                     "argcnt=0\npreput_num=1\npreput_key_0=P\npreput_val_0=tag#0\n"
                     "info_num=0\nendcmd\n");
    assert_string_equal(spawned.at, EXPECTED_SPAWN);
    assert_int_equal(driver->last_spawn, 3);
    pmi2_server_spawn_done(driver->servers[0], 3, "9.9", NULL, NULL);
    driver_run(driver);
    expect_bytes(old, "cmd=spawn_result rc=0\n");
    pmi2_server_spawn_done(driver->servers[0], 1, NULL, (int[]){0, 13, 13}, NULL);
    driver_run(driver);
    expect_frame(peer, "cmd=spawn-response;thrid=5;rc=1;errmsg=spawn_failed;nerrs=3;err0=0;"
                       "err1=13;err2=13;errcodes=0,13,13;");
    driver_free(driver);
}

static void pmi2_65_limits_of_preput(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    ask(peer, "cmd=spawn;ncmds=1;preputcount=1;ppkey0=a b;ppval0=1;subcmd=p;maxprocs=1;argc=0;",
        "cmd=spawn-response;rc=4;errmsg=invalid_pair;");
    ask(peer, "cmd=spawn;ncmds=1;preputcount=1;ppkey0=a;subcmd=p;maxprocs=1;argc=0;",
        "cmd=spawn-response;rc=12;errmsg=number_of_pairs_does_not_match;");
    driver_free(driver);
}

static void pmi2_72_pmi2_74_connect(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 3, .fan_out = 1});
    const char *a = driver_job(driver, 3), *b = driver_job(driver, 2), *c = driver_job(driver, 1);
    struct peer *ranks[3] = {client2(driver, a, 0, 0), client2(driver, a, 1, 1),
                             client2(driver, a, 2, 2)},
                *others[2] = {client2(driver, b, 0, 0), client2(driver, b, 1, 1)},
                *third = client2(driver, c, 0, 0);
    char connect_b[80], leave_b[80], get_b[80], get_a[80], connect_c[80];
    static const char unknown[] = "cmd=kvs-get-response;rc=3;errmsg=unknown_jobid;";
    uint32_t i;

    snprintf(connect_b, sizeof(connect_b), "cmd=job-connect;jobid=%s;", b);
    snprintf(connect_c, sizeof(connect_c), "cmd=job-connect;jobid=%s;", c);
    snprintf(leave_b, sizeof(leave_b), "cmd=job-disconnect;jobid=%s;", b);
    snprintf(get_b, sizeof(get_b), "cmd=kvs-get;jobid=%s;srcid=0;key=x;", b);
    snprintf(get_a, sizeof(get_a), "cmd=kvs-get;jobid=%s;srcid=0;key=x;", a);
    ask(others[0], "cmd=kvs-put;key=x;value=of b;", "cmd=kvs-put-response;rc=0;");
    fence_all(others, 2);
    ask(ranks[0], get_b, unknown);
    ask(ranks[0], "cmd=job-connect;jobid=99.99;",
        "cmd=job-connect-response;rc=3;errmsg=unknown_jobid;");
    ask(ranks[0], leave_b, "cmd=job-disconnect-response;rc=3;errmsg=not_connected;");
    ask(ranks[2], connect_b, "cmd=job-connect-response;kvscopy=FALSE;rc=0;");
    ask(ranks[2], connect_b, "cmd=job-connect-response;kvscopy=FALSE;rc=0;");
    for (i = 0; i < 3; i++) /* all of one with all of the other */
        ask(ranks[i], get_b, FOUND("of b"));
    ask(others[1], get_a, "cmd=kvs-get-response;found=FALSE;rc=0;");
    ask(others[0], connect_c, "cmd=job-connect-response;kvscopy=FALSE;rc=0;");
    ask(third, get_a, "cmd=kvs-get-response;found=FALSE;rc=0;"); /* and who joins them */
    ask(ranks[1], leave_b, "cmd=job-disconnect-response;rc=0;");
    ask(ranks[1], get_b, unknown);
    ask(ranks[1], leave_b, "cmd=job-disconnect-response;rc=3;errmsg=not_connected;");
    ask(ranks[0], get_b, FOUND("of b"));
    ask(ranks[0], leave_b, "cmd=job-disconnect-response;rc=0;");
    ask(others[1], get_a, "cmd=kvs-get-response;found=FALSE;rc=0;");
    ask(ranks[2], leave_b, "cmd=job-disconnect-response;rc=0;"); /* the last one */
    ask(others[1], get_a, unknown);
    ask(ranks[1], connect_b, "cmd=job-connect-response;kvscopy=FALSE;rc=0;");
    ask(ranks[0], get_b, FOUND("of b"));
    pmi2_server_job_end(driver->servers[0], b);
    driver_run(driver);
    ask(ranks[0], get_b, unknown);
    driver_free(driver);
}

static void pmi2_73_pairs_of_another_launcher(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 2, .fan_out = 1});
    const char *a = driver_job(driver, 2), *b = driver_job(driver, 1);
    struct peer *ranks[2] = {client2(driver, a, 0, 0), client2(driver, a, 1, 1)},
                *other = client2(driver, b, 0, 0);
    static const char get[] = "cmd=kvs-get;jobid=77.5;srcid=0;key=k1;",
                      unknown[] = "cmd=kvs-get-response;rc=3;errmsg=unknown_jobid;";
    char text[80];

    ask(ranks[1], "cmd=job-connect;jobid=77.5;copy=TRUE;",
        "cmd=job-connect-response;kvscopy=TRUE;rc=0;");
    driver_frame(ranks[1], "cmd=kvs-putall;thrid=1;jobid=77.5;npair=2;");
    driver_frame(ranks[1], "cmd=kvs-putall-pair;thrid=1;key=k1;value=v;;1;");
    expect_nothing(ranks[1]);
    driver_frame(ranks[1], "cmd=kvs-putall-pair;thrid=1;key=k2;val=v2;");
    expect_frame(ranks[1], "cmd=kvs-putall-response;thrid=1;rc=0;");
    ask(ranks[0], get, FOUND("v;;1"));
    ask(other, get, unknown);
    snprintf(text, sizeof(text), "cmd=kvs-putall;jobid=%s;npair=0;", a);
    ask(ranks[0], text, "cmd=kvs-putall-response;rc=3;errmsg=not_a_foreign_job;");
    driver_frame(ranks[0], "cmd=kvs-getall;jobid=77.5;");
    assert_string_equal(take_frame(ranks[0]), "cmd=kvs-getall-paircount-response;npair=2;");
    take_frame(ranks[0]);
    take_frame(ranks[0]);
    expect_frame(ranks[0], "cmd=kvs-getall-response;rc=0;");
    pmi2_server_job_end(driver->servers[0], a); /* and its last user */
    driver_run(driver);
    ask(other, "cmd=job-connect;jobid=77.5;",
        "cmd=job-connect-response;rc=3;errmsg=unknown_jobid;");
    driver_free(driver);
}

static void job_add_refuses(void **state)
{
    static const uint32_t here[] = {0, 0}, far[] = {0, 7}, two = 2, three = 3;
    struct driver *driver = one_node();
    struct pmi2_job_info info = {
        .id = "5.1", .size = 2, .node_of = here, .app_size = &two, .apps = 1};

    assert_string_equal(driver_job_info(driver, &info), "5.1");
    assert_null(driver_job_info(driver, &info));
    info.id = "x";
    assert_null(driver_job_info(driver, &info));
    info.id = "5.99999999999";
    assert_null(driver_job_info(driver, &info));
    info.id = NULL;
    info.node_of = far;
    assert_null(driver_job_info(driver, &info));
    info.node_of = here;
    info.app_size = &three;
    assert_null(driver_job_info(driver, &info));
    info.app_size = &two;
    info.size = 0;
    assert_null(driver_job_info(driver, &info));
    driver_free(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_40_pmi2_63_pmi2_64_pmi2_65_spawn),
        cmocka_unit_test(pmi2_65_limits_of_preput),
        cmocka_unit_test(pmi2_66_arguments),
        cmocka_unit_test(pmi2_67_unknown_info),
        cmocka_unit_test(pmi2_68_nothing_started),
        cmocka_unit_test(pmi2_68_pmi2_88_failed_spawns_do_not_count),
        cmocka_unit_test(pmi2_69_others_go_on),
        cmocka_unit_test(pmi2_71_forms),
        cmocka_unit_test(pmi2_72_pmi2_74_connect),
        cmocka_unit_test(pmi2_73_pairs_of_another_launcher),
        cmocka_unit_test(job_add_refuses),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);

    free(spawned.at);
    return result;
}
