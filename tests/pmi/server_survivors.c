/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fences of the ranks that are left. */
#include "server_common.h"

#define FENCE "cmd=kvs-fence;"
#define SURVIVORS "cmd=kvs-fence;survivors=TRUE;"
#define FENCED "cmd=kvs-fence-response;rc=0;"
#define GET(key) "cmd=kvs-get;jobid=;srcid=-1;key=" key ";"
#define FOUND(value) "cmd=kvs-get-response;found=TRUE;value=" value ";rc=0;"
#define PUT(key, value) "cmd=kvs-put;key=" key ";value=" value ";"
#define PUT_DONE "cmd=kvs-put-response;rc=0;"

static void on_one_node(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 4);
    struct peer *peers[4];

    connect_each(driver, job, peers, 4);
    ask(peers[0], PUT("a", "1"), PUT_DONE);
    driver_frame(peers[0], SURVIVORS); /* nobody is lost yet: it is one of all */
    driver_frame(peers[1], FENCE);
    driver_frame(peers[2], FENCE);
    expect_nothing(peers[0]);
    ask(peers[3], SURVIVORS, FENCED);
    expect_frame(peers[0], FENCED);
    expect_frame(peers[1], FENCED);
    expect_frame(peers[2], FENCED);

    ask(peers[3], "cmd=finalize;", "cmd=finalize-response;rc=0;");
    ask(peers[1], PUT("b", "2"), PUT_DONE);
    ask(peers[0], FENCE, "cmd=kvs-fence-response;rc=14;errmsg=rank_3_finalized;");
    driver_frame(peers[0], SURVIVORS);
    driver_frame(peers[1], SURVIVORS);
    expect_nothing(peers[0]);
    driver_hang_up(peers[2]); /* the one they waited for */
    expect_frame(peers[0], FENCED);
    expect_frame(peers[1], FENCED);
    ask(peers[0], GET("b"), FOUND("2"));
    driver_frame(peers[0], SURVIVORS);
    expect_nothing(peers[0]);
    ask(peers[1], SURVIVORS, FENCED);
    expect_frame(peers[0], FENCED);
    /* Once gone, gone: it may come back for other things. */
    peers[3] = client2(driver, job, 3, 0);
    ask(peers[3], SURVIVORS, "cmd=kvs-fence-response;rc=14;errmsg=had_finalized;");
    ask(peers[3], GET("b"), FOUND("2"));
    driver_free(driver);
}

/* What was put before a fence that failed comes with the next that does not. */
static void pairs_of_a_failed_fence(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 7, .fan_out = 2});
    const char *job = driver_job(driver, 7);
    struct peer *peers[7];
    uint32_t i;

    connect_each(driver, job, peers, 7);
    ask(peers[6], PUT("k", "6"), PUT_DONE);
    ask(peers[5], PUT("of the lost", "x"), "cmd=kvs-put-response;rc=4;errmsg=invalid_key;");
    ask(peers[1], PUT("k", "1"), PUT_DONE);
    ask(peers[3], PUT("d", "3"), PUT_DONE);
    for (i = 0; i < 7; i++)
        if (i != 2)
            driver_frame(peers[i], i == 4 ? SURVIVORS : FENCE);
    pmi2_server_rank_ended(driver->servers[2], job, 2);
    driver_run(driver);
    for (i = 0; i < 7; i++)
        if (i != 2 && i != 4)
            expect_frame(peers[i], "cmd=kvs-fence-response;rc=14;errmsg=rank_2_dead;");
    expect_nothing(peers[4]);
    ask(peers[6], PUT("more", "6"), PUT_DONE);
    for (i = 0; i < 7; i++)
        if (i != 2 && i != 4)
            driver_frame(peers[i], SURVIVORS);
    for (i = 0; i < 7; i++) {
        if (i == 2)
            continue;
        expect_frame(peers[i], FENCED);
        ask(peers[i], GET("k"), FOUND("6"));
        ask(peers[i], GET("d"), FOUND("3"));
        ask(peers[i], GET("more"), FOUND("6"));
    }
    driver_free(driver);
}

static void servers_without_survivors(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 7, .fan_out = 2});
    const char *job = driver_job(driver, 14);
    struct peer *peers[14];
    struct pmi2_counters before, after;
    uint32_t i, pass;

    connect_each(driver, job, peers, 14);
    for (i = 1; i < 13; i++) /* all but the first and the last */
        ask(peers[i], "cmd=finalize;", "cmd=finalize-response;rc=0;");
    for (pass = 0; pass < 5; pass++) {
        driver_frame(peers[13], SURVIVORS);
        expect_nothing(peers[13]);
        ask(peers[0], SURVIVORS, FENCED);
        expect_frame(peers[13], FENCED);
    }
    ask(peers[13], "cmd=finalize;", "cmd=finalize-response;rc=0;");
    ask(peers[0], SURVIVORS, FENCED);
    ask(peers[0], "cmd=finalize;", "cmd=finalize-response;rc=0;");
    /* Nobody is left: nothing goes round. */
    pmi2_server_counters(driver->servers[0], &before);
    assert_int_equal(before.fences, 6);
    driver_run(driver);
    pmi2_server_counters(driver->servers[0], &after);
    assert_int_equal(after.tree_messages, before.tree_messages);
    driver_free(driver);
}

static void a_server_is_lost(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 7, .fan_out = 2});
    const char *job = driver_job(driver, 7);
    struct peer *peers[7];
    uint32_t i, left = 0;

    connect_each(driver, job, peers, 7);
    for (i = 0; i < 7; i++)
        if (i != 1)
            driver_frame(peers[i], SURVIVORS);
    driver_kill_server(driver, 1);
    driver_run(driver);
    for (i = 0; i < 7; i++) {
        if (i == 1)
            continue;
        if (strstr(peers[i]->in.at, "manager_lost") != NULL) { /* it was below */
            expect_frame(peers[i], "cmd=kvs-fence-response;rc=20;errmsg=manager_lost;");
            ask(peers[i], SURVIVORS, "cmd=kvs-fence-response;rc=20;errmsg=manager_lost;");
        } else {
            expect_frame(peers[i], FENCED);
            left++;
        }
    }
    assert_in_range(left, 2, 5);
    assert_int_equal(driver->server_count, 7);
    driver_free(driver);
}

/* ---- any order --------------------------------------------------------------------------------
 */

enum { RANKS = 21 };

static void leave(struct driver *driver, const char *job, struct peer *peer, uint32_t rank)
{
    switch (driver_random(driver, 4)) {
    case 0:
        driver_post(peer, "    13cmd=finalize;", 19);
        break;
    case 1:
        driver_post(peer, "    24cmd=abort;isworld=FALSE;", 30);
        break;
    case 2:
        driver_hang_up(peer);
        break;
    default:
        pmi2_server_rank_ended(driver->servers[0], job, rank);
        break;
    }
}

/* In each round some leave, at any time; those that stay put, enter, and see each other's pairs. */
static void round_of(struct driver *driver, const char *job, struct peer **peers, uint32_t round)
{
    uint32_t order[RANKS], count = 0, rank, i, swap;
    char text[80], want[160];
    bool leaves[RANKS] = {false};

    for (rank = 0; rank < RANKS; rank++) {
        if (peers[rank] == NULL)
            continue;
        leaves[rank] = driver_random(driver, 5) == 0;
        order[count++] = rank;
    }
    for (i = count; i > 1; i--) {
        uint32_t other = driver_random(driver, i);

        swap = order[i - 1];
        order[i - 1] = order[other];
        order[other] = swap;
    }
    for (i = 0; i < count; i++) {
        rank = order[i];
        if (driver_random(driver, 3) == 0)
            driver_run(driver);
        if (leaves[rank]) {
            leave(driver, job, peers[rank], rank);
            peers[rank] = NULL;
            continue;
        }
        snprintf(text, sizeof(text), "cmd=kvs-put;key=%u-%u;value=v%u;", round, rank, rank);
        snprintf(want, sizeof(want), "%6zu%s    29" SURVIVORS, strlen(text), text);
        driver_post(peers[rank], want, strlen(want));
    }
    driver_settle(driver, 100 * SECOND);
    for (i = 0; i < count; i++) {
        if (peers[order[i]] == NULL)
            continue;
        assert_string_equal(take_frame(peers[order[i]]), PUT_DONE);
        assert_string_equal(take_frame(peers[order[i]]), FENCED);
        for (rank = 0; rank < RANKS; rank++) {
            if (peers[rank] == NULL)
                continue;
            snprintf(text, sizeof(text), GET("%u-%u"), round, rank);
            snprintf(want, sizeof(want), FOUND("v%u"), rank);
            ask(peers[order[i]], text, want);
        }
    }
}

static void any_order(void **state)
{
    uint64_t seed;
    uint32_t round;

    for (seed = 1; seed <= 60; seed++) {
        struct driver *driver = driver_new(&(struct driver_options){.nodes = 7,
                                                                    .fan_out = 1 + seed % 3,
                                                                    .shared = seed % 2 != 0,
                                                                    .lossy = seed % 5 == 0,
                                                                    .lose = 100,
                                                                    .twice = 100,
                                                                    .late = 100,
                                                                    .piece = seed % 4 * 7,
                                                                    .seed = seed,
                                                                    .quiet = true});
        const char *job = driver_job(driver, RANKS);
        struct peer *peers[RANKS];

        driver_settle(driver, 100 * SECOND);
        connect_each(driver, job, peers, RANKS);
        for (round = 0; round < 12; round++)
            round_of(driver, job, peers, round);
        driver_free(driver);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_one_node),
        cmocka_unit_test(pairs_of_a_failed_fence),
        cmocka_unit_test(servers_without_survivors),
        cmocka_unit_test(a_server_is_lost),
        cmocka_unit_test(any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
