/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Servers below servers: losses of ranks, servers and datagrams; the launcher's messages. */
#include "server_common.h"

#define GET(key) "cmd=kvs-get;jobid=;srcid=-1;key=" key ";"
#define FOUND(value) "cmd=kvs-get-response;found=TRUE;value=" value ";rc=0;"
#define DEAD "cmd=info-getjobattr;key=PMI_dead_processes;"
#define DEAD_ARE(list) "cmd=info-getjobattr-response;found=TRUE;value=" list ";rc=0;"

static void jobs_come_and_go_everywhere(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 7, .fan_out = 2});
    const char *job = driver_job(driver, 14), *small = driver_job(driver, 1);
    char line[100], id[32];
    uint32_t i;

    snprintf(id, sizeof(id), "%s", job);
    for (i = 0; i < 7; i++) {
        snprintf(line, sizeof(line), "%u job %s size 14 launch go", i, job);
        expect_log(driver, line);
    }
    snprintf(line, sizeof(line), "0 job %s size 1 launch go", small);
    expect_log(driver, line);
    snprintf(line, sizeof(line), "\n1 job %s", small);
    expect_no_log(driver, line);
    pmi2_server_job_end(driver->servers[0], job);
    driver_run(driver);
    for (i = 0; i < 7; i++) {
        snprintf(line, sizeof(line), "%u job_end %s", i, id);
        expect_log(driver, line);
    }
    driver_free(driver);
}

static void pmi2_62_the_dead_in_order(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 5, .fan_out = 2});
    const char *job = driver_job(driver, 5);
    struct peer *peers[5];
    uint32_t i;

    connect_each(driver, job, peers, 5);
    for (i = 0; i < 5; i++)
        ask(peers[i], DEAD, DEAD_ARE(""));
    pmi2_server_rank_ended(driver->servers[1], job, 1);
    driver_run(driver);
    ask(peers[4], DEAD, DEAD_ARE("1"));
    pmi2_server_rank_ended(driver->servers[0], job, 3); /* reported at the root */
    driver_run(driver);
    pmi2_server_rank_ended(driver->servers[3], job, 3);
    driver_run(driver);
    ask(peers[0], DEAD, DEAD_ARE("1,3"));
    ask(peers[2], DEAD, DEAD_ARE("1,3"));
    ask(peers[2], "cmd=kvs-fence;", "cmd=kvs-fence-response;rc=14;errmsg=rank_1_dead;");
    driver_free(driver);
}

/* All finalize: a message for each server, not for each rank. */
static void finalizing_is_cheap(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 8, .fan_out = 2});
    const char *job = driver_job(driver, 800);
    struct peer **peers = calloc(800, sizeof(struct peer *));
    struct pmi2_counters counters;
    uint64_t messages = 0, before = 0;
    uint32_t i, pass;

    connect_each(driver, job, peers, 800);
    for (pass = 0; pass < 2; pass++) {
        messages = 0;
        for (i = 0; i < 8; i++) {
            pmi2_server_counters(driver->servers[i], &counters);
            messages += counters.tree_messages;
        }
        if (pass == 0) {
            before = messages;
            for (i = 0; i < 800; i++) {
                driver_frame(peers[i], "cmd=finalize;");
                expect_frame(peers[i], "cmd=finalize-response;rc=0;");
            }
        }
    }
    assert_in_range(messages - before, 1, 30);
    for (i = 0; i < 800; i++)
        pmi2_server_rank_ended(driver->servers[0], job, i);
    driver_run(driver);
    expect_no_log(driver, "abort");
    free(peers);
    driver_free(driver);
}

static void pmi2_23_far_rank_finalizes(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 4, .fan_out = 1});
    const char *job = driver_job(driver, 4);
    struct peer *peers[4];
    uint32_t i;

    connect_each(driver, job, peers, 4);
    for (i = 0; i < 3; i++)
        driver_frame(peers[i], "cmd=kvs-fence;");
    ask(peers[3], "cmd=finalize;", "cmd=finalize-response;rc=0;");
    for (i = 0; i < 3; i++)
        expect_frame(peers[i], "cmd=kvs-fence-response;rc=14;errmsg=rank_3_finalized;");
    driver_free(driver);
}

static void abort_from_below(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 4, .fan_out = 1});
    const char *job = driver_job(driver, 4);
    struct peer *peers[4];
    char line[100];

    connect_each(driver, job, peers, 4);
    driver_frame(peers[3], "cmd=abort;isworld=TRUE;msg=bye;exitcode=77;");
    snprintf(line, sizeof(line), "0 abort %s rank 3 code 77 text bye", job);
    expect_log(driver, line);
    driver_frame(peers[2], "cmd=abort;isworld=FALSE;msg=me;");
    snprintf(line, sizeof(line), "2 kill %s rank 2 text me", job);
    expect_log(driver, line);
    driver_free(driver);
}

static void launcher_messages(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 7, .fan_out = 2});
    char line[100];
    uint32_t i;

    assert_true(pmi2_server_send_up(driver->servers[3], 7, "hello", 5));
    assert_true(pmi2_server_send_down(driver->servers[0], 6, 8, "you", 3));
    assert_true(pmi2_server_send_down(driver->servers[0], PMI2_NO_NODE, 9, "all", 3));
    assert_false(pmi2_server_send_down(driver->servers[0], 99, 9, "x", 1));
    assert_false(pmi2_server_send_up(driver->servers[0], 9, "x", 1));
    driver_run(driver);
    expect_log(driver, "1 message 7 node 3 hello"); /* to the server above, not further */
    expect_no_log(driver, "0 message");
    expect_log(driver, "6 message 8 node -1 you");
    for (i = 1; i < 7; i++) {
        snprintf(line, sizeof(line), "%u message 9 node -1 all", i);
        expect_log(driver, line);
    }
    driver_free(driver);
}

/* Of five nodes in a chain of two arms: 0 → (1 → 2), (3 → 4). */
static void pmi2_120_inner_server_lost(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 5, .fan_out = 2});
    const char *job = driver_job(driver, 5);
    static const uint32_t zero[] = {0}, one = 1;
    const char *other = driver_job_info(
        driver, &(struct pmi2_job_info){.size = 1, .node_of = zero, .app_size = &one, .apps = 1});
    struct peer *peers[5], *untouched = client2(driver, other, 0, 0);
    char line[200];

    connect_each(driver, job, peers, 5);
    driver_frame(peers[0], "cmd=kvs-fence;");
    driver_frame(peers[2], "cmd=kvs-fence;");
    driver_frame(peers[4], "cmd=kvs-fence;");
    driver_frame(peers[2], "cmd=info-getnodeattr;thrid=w;key=nix;wait=TRUE;");
    driver_frame(peers[2], "cmd=spawn;thrid=s;ncmds=1;preputcount=0;subcmd=p;maxprocs=1;argc=0;");
    driver_frame(peers[4], "cmd=info-getnodeattr;thrid=w;key=nix;wait=TRUE;");
    driver_kill_server(driver, 1);
    expect_frame(peers[0], "cmd=kvs-fence-response;rc=20;errmsg=rank_1_server_lost;");
    /* Below it nothing is left but its own knowledge. */
    assert_string_equal(take_frame(peers[2]), "cmd=kvs-fence-response;rc=20;errmsg=manager_lost;");
    assert_string_equal(take_frame(peers[2]),
                        "cmd=info-getnodeattr-response;thrid=w;rc=20;errmsg=server_lost;");
    expect_frame(peers[2], "cmd=spawn-response;thrid=s;rc=20;errmsg=manager_lost;nerrs=0;");
    ask(peers[2], "cmd=name-lookup;name=x;infokeycount=0;",
        "cmd=name-lookup-response;rc=20;errmsg=manager_lost;");
    assert_string_equal(take_frame(peers[4]),
                        "cmd=kvs-fence-response;rc=20;errmsg=rank_1_server_lost;");
    expect_frame(peers[4], "cmd=info-getnodeattr-response;thrid=w;rc=20;errmsg=server_lost;");
    expect_log(driver, "0 lost 1-2");
    snprintf(line, sizeof(line),
             "0 abort %s rank -1 code 255 text the server of nodes 1 to 2 is gone", job);
    expect_log(driver, line);
    ask(peers[0], DEAD, DEAD_ARE("1,2"));
    ask(untouched, "cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;");
    /* Who asked is gone: the answer goes nowhere. */
    pmi2_server_spawn_done(driver->servers[0], driver->last_spawn, "8.8", NULL, NULL);
    driver_run(driver);
    assert_null(driver_job(driver, 5)); /* no way to nodes 1 and 2 any more */
    driver_free(driver);
}

static void pmi2_120_silent_server(void **state)
{
    struct driver *driver =
        driver_new(&(struct driver_options){.nodes = 3, .fan_out = 1, .limits.tree_seconds = 9});
    const char *job = driver_job(driver, 3);
    struct peer *peers[3];
    uint32_t i;

    connect_each(driver, job, peers, 3);
    driver_frame(peers[0], "cmd=kvs-fence;");
    driver_settle(driver, 100 * SECOND); /* questions are answered */
    expect_nothing(peers[0]);
    expect_no_log(driver, "lost");
    for (i = 0; i < driver->peer_count; i++) /* server 2 says nothing any more */
        if (driver->peers[i]->other != NULL && driver->peers[i]->server == 2)
            driver->peers[i]->deaf = true;
    driver_settle(driver, 8 * SECOND);
    expect_nothing(peers[0]);
    driver_settle(driver, 5 * SECOND);
    expect_frame(peers[0], "cmd=kvs-fence-response;rc=20;errmsg=rank_2_server_lost;");
    pmi2_server_job_end(driver->servers[0], job);
    driver_run(driver);
    assert_int_equal(pmi2_server_deadline(driver->servers[0]), UINT64_MAX);
    driver_free(driver);
}

/* ---- watermarks -------------------------------------------------------------------------------
 */

static size_t waiting(const struct peer *peer)
{
    struct iovec pieces[4000];
    int count = pmi2_link_output(peer->link, pieces, 4000), i;
    size_t bytes = 0;

    for (i = 0; i < count; i++)
        bytes += pieces[i].iov_len;
    return bytes;
}

/* One piece of what waits there goes on. */
static void trickle(struct peer *from)
{
    struct iovec piece;

    if (pmi2_link_output(from->link, &piece, 1) != 1)
        return;
    pmi2_link_input(from->other->link, piece.iov_base, piece.iov_len);
    pmi2_link_sent(from->link, piece.iov_len);
    driver_run(from->driver);
}

/* A slow way up: what is below waits, in a bounded room, and is not taken for lost. */
static void slow_link_up(void **state)
{
    struct driver *driver =
        driver_new(&(struct driver_options){.nodes = 3, .fan_out = 1, .limits.tree_seconds = 9});
    const char *job = driver_job(driver, 3);
    struct peer *peers[3], *up = driver_parent(driver, 1), *below = driver_parent(driver, 2)->other;
    char frame[1200], name[901];
    uint32_t asked, answered = 0;
    size_t i, most = 0, before;

    memset(name, 'n', 900);
    name[900] = '\0';
    connect_each(driver, job, peers, 3);
    up->deaf = true;
    for (asked = 0; asked < 600; asked++) {
        snprintf(frame, sizeof(frame), "cmd=name-lookup;thrid=%u;name=%s%u;infokeycount=0;", asked,
                 name, asked);
        driver_frame(peers[2], frame);
        most = waiting(up);
        assert_int_equal(pmi2_link_reads(below->link), most <= 256 << 10);
    }
    assert_in_range(most, 256 << 10, (256 << 10) + 2000);
    assert_false(pmi2_link_reads(below->link));
    for (i = 0; i < 20; i++) { /* longer than a server may be silent */
        driver_time(driver, 2 * SECOND);
        trickle(up);
        assert_false(pmi2_link_reads(below->link));
    }
    expect_no_log(driver, "lost");
    do { /* until it is read from again, and comes with what has waited there */
        before = waiting(up);
        trickle(up);
    } while (waiting(up) < before);
    assert_in_range(before, 64 << 10, (64 << 10) + 5000);
    driver_resume_reading(up);
    driver_time(driver, 2 * SECOND);
    assert_true(pmi2_link_reads(below->link));
    assert_int_equal(waiting(up), 0);
    while (peers[2]->in.length > 0) {
        snprintf(frame, sizeof(frame), "cmd=name-lookup-response;thrid=%u;found=FALSE;rc=1;",
                 answered++);
        assert_string_equal(take_frame(peers[2]), frame);
    }
    assert_int_equal(answered, asked);
    expect_no_log(driver, "lost");
    driver_free(driver);
}

/* ---- lossy links ------------------------------------------------------------------------------
 */

/* What all ranks are told of several fences, and gets of the other's keys. */
static char *outcome(struct driver_options options)
{
    struct driver *driver = driver_new(&options);
    struct text all = {NULL, 0, 0};
    struct peer *peers[12];
    const char *job;
    uint32_t round, i;
    char frame[100];

    driver_settle(driver, 20 * SECOND);
    job = driver_job(driver, 12);
    driver_settle(driver, 20 * SECOND);
    for (i = 0; i < 12; i++) {
        peers[i] = driver_client(driver, job, i, i / (12 / options.nodes));
        assert_non_null(peers[i]);
        driver_send(peers[i], INIT2 "    28cmd=fullinit;threaded=FALSE;");
    }
    for (round = 0; round < 4; round++) {
        for (i = 0; i < 12; i++) {
            snprintf(frame, sizeof(frame), "cmd=kvs-put;key=k%u-%u;value=%u;", round, i, i + round);
            driver_frame(peers[i], frame);
            snprintf(frame, sizeof(frame), "cmd=kvs-put;key=same%u;value=%u;", round, i);
            driver_frame(peers[i], frame);
            driver_frame(peers[i], "cmd=kvs-fence;");
        }
        driver_settle(driver, 20 * SECOND);
        for (i = 0; i < 12; i++) {
            snprintf(frame, sizeof(frame), "cmd=kvs-get;jobid=;srcid=0;key=k%u-%u;", round,
                     (i + 5) % 12);
            driver_frame(peers[i], frame);
            snprintf(frame, sizeof(frame), "cmd=kvs-get;jobid=;srcid=0;key=same%u;", round);
            driver_frame(peers[i], frame);
        }
        snprintf(frame, sizeof(frame), "cmd=name-publish;name=n%u;port=p;infokeycount=0;", round);
        driver_frame(peers[(round * 5) % 12], frame);
        driver_settle(driver, 20 * SECOND);
    }
    driver_frame(peers[3], "cmd=finalize;");
    driver_settle(driver, 20 * SECOND);
    driver_frame(peers[11], "cmd=kvs-fence;");
    driver_settle(driver, 20 * SECOND);
    for (i = 0; i < 12; i++)
        text_print(&all, "%u: %s\n", i, peers[i]->in.at);
    expect_no_log(driver, "lost");
    driver_free(driver);
    return all.at;
}

static void pmi2_121_losses_change_no_result(void **state)
{
    struct driver_options options = {.nodes = 6, .fan_out = 2, .seed = 1};
    char *without = outcome(options), *with;

    assert_null(strstr(without, "rc=2"));
    assert_non_null(strstr(without, "rc=14;errmsg=rank_3_finalized;"));
    options.lossy = true;
    for (options.seed = 1; options.seed < 30; options.seed++) {
        options.lose = options.seed * 5;
        options.twice = options.seed * 7;
        options.late = options.seed * 11;
        options.shared = options.seed % 2 != 0;
        with = outcome(options);
        assert_string_equal(without, with);
        free(with);
        with = outcome(options); /* and the same seed gives the same */
        assert_string_equal(without, with);
        free(with);
    }
    free(without);
}

static void large_epochs_over_datagrams(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){
        .nodes = 4, .fan_out = 1, .lossy = true, .lose = 30, .twice = 30, .late = 60, .seed = 4});
    const char *job = driver_job(driver, 40);
    struct peer *peers[40];
    char frame[1200], value[1001];
    struct pmi2_counters counters;
    uint32_t i, j;

    memset(value, 'v', 1000);
    value[1000] = '\0';
    driver_settle(driver, 30 * SECOND);
    connect_each(driver, job, peers, 40);
    for (i = 0; i < 40; i++) {
        for (j = 0; j < 60; j++) {
            snprintf(frame, sizeof(frame), "cmd=kvs-put;key=%u-%u;value=%s;", i, j, value);
            ask(peers[i], frame, "cmd=kvs-put-response;rc=0;");
        }
        driver_frame(peers[i], "cmd=kvs-fence;");
    }
    driver_settle(driver, 600 * SECOND);
    for (i = 0; i < 40; i++) {
        expect_frame(peers[i], "cmd=kvs-fence-response;rc=0;");
        snprintf(frame, sizeof(frame), FOUND("%s"), value);
        ask(peers[i], GET("17-42"), frame);
    }
    pmi2_server_counters(driver->servers[0], &counters);
    assert_true(counters.repeats > 0);
    driver_free(driver);
}

static void pmi2_120_nothing_comes_through(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){
        .nodes = 2, .fan_out = 1, .lossy = true, .seed = 4, .limits.tree_seconds = 10});
    const char *job = driver_job(driver, 2);
    struct peer *peers[2];

    connect_each(driver, job, peers, 2);
    driver->options.lose = 1000;
    driver_frame(peers[0], "cmd=kvs-fence;");
    driver_frame(peers[1], "cmd=kvs-fence;");
    driver_settle(driver, 9 * SECOND);
    expect_nothing(peers[0]);
    driver_settle(driver, 5 * SECOND);
    expect_frame(peers[0], "cmd=kvs-fence-response;rc=20;errmsg=rank_1_server_lost;");
    expect_frame(peers[1], "cmd=kvs-fence-response;rc=20;errmsg=manager_lost;");
    driver_free(driver);
}

/* ---- what neighbours send ---------------------------------------------------------------------
 */

static void strange_neighbours(void **state)
{
    static const char http[] = "GET / HTTP/1.0\r\nHost: somewhere\r\n\r\n",
                      ping[] = "\x15\0\0\0\x11\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    struct pmi2_server_config config = {.node = 0, .first = 0, .last = 9, .root = true};
    struct pmi2_server *server = pmi2_server_new(&config);
    struct pmi2_link *link = pmi2_server_child(server, 1, 3, NULL);
    struct pmi2_action action;
    bool closed = false;

    assert_null(pmi2_server_child(server, 2, 5, NULL)); /* overlaps */
    assert_null(pmi2_server_child(server, 0, 1, NULL)); /* its own node */
    assert_null(pmi2_server_child(server, 8, 10, NULL));
    assert_null(pmi2_server_parent(server, NULL));
    pmi2_link_input(link, http, sizeof(http) - 1);
    while (pmi2_server_next(server, &action))
        closed |= action.kind == PMI2_ACTION_CLOSE && action.link == link;
    assert_true(closed);
    pmi2_link_free(link);
    link = pmi2_server_child(server, 1, 3, NULL);
    assert_non_null(link);
    pmi2_link_input(link, ping, sizeof(ping) - 1); /* before hello */
    closed = false;
    while (pmi2_server_next(server, &action))
        closed |= action.kind == PMI2_ACTION_CLOSE && action.link == link;
    assert_true(closed);
    pmi2_link_free(link);
    pmi2_server_free(server);
}

/* ---- scale ------------------------------------------------------------------------------------
 */

/* Rounds in which every server passes on what has come: message delays of a network. */
static void pmi2_119_delays_of_a_fence(void **state)
{
    struct driver *driver = driver_new(
        &(struct driver_options){.nodes = 1024, .fan_out = 16, .shared = true, .quiet = true});
    const char *job = driver_job(driver, 32768);
    struct peer **peers = calloc(32768, sizeof(struct peer *));
    uint32_t i, done = 0;

    for (i = 0; i < 32768; i++) {
        peers[i] = driver_client(driver, job, i, i / 32);
        driver_post(peers[i], INIT2 "    28cmd=fullinit;threaded=FALSE;    14cmd=kvs-fence;",
                    sizeof(INIT2) - 1 + 34 + 20);
    }
    driver->rounds = 0;
    driver_run_rounds(driver);
    for (i = 0; i < 32768; i++)
        done += strstr(peers[i]->in.at, "kvs-fence-response;rc=0;") != NULL;
    assert_int_equal(done, 32768);
    /* 16 + 16² + … : three levels below the root. */
    assert_in_range(driver->rounds, 1, 2 * 3);
    free(peers);
    driver_free(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_come_and_go_everywhere),
        cmocka_unit_test(pmi2_62_the_dead_in_order),
        cmocka_unit_test(finalizing_is_cheap),
        cmocka_unit_test(pmi2_23_far_rank_finalizes),
        cmocka_unit_test(abort_from_below),
        cmocka_unit_test(launcher_messages),
        cmocka_unit_test(pmi2_120_inner_server_lost),
        cmocka_unit_test(pmi2_120_silent_server),
        cmocka_unit_test(pmi2_120_nothing_comes_through),
        cmocka_unit_test(slow_link_up),
        cmocka_unit_test(pmi2_121_losses_change_no_result),
        cmocka_unit_test(large_epochs_over_datagrams),
        cmocka_unit_test(strange_neighbours),
        cmocka_unit_test(pmi2_119_delays_of_a_fence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
