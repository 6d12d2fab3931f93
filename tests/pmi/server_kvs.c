/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Puts, fences, gets: what is visible to whom, and when. */
#include "internal.h"
#include "server_common.h"

#define GET(key) "cmd=kvs-get;jobid=;srcid=-1;key=" key ";"
#define FOUND(value) "cmd=kvs-get-response;found=TRUE;value=" value ";rc=0;"
#define MISSING "cmd=kvs-get-response;found=FALSE;rc=0;"
#define PUT(key, value) "cmd=kvs-put;key=" key ";value=" value ";"
#define PUT_OK "cmd=kvs-put-response;rc=0;"

static char *repeat(char letter, size_t count)
{
    char *text = malloc(count + 1);

    memset(text, letter, count);
    text[count] = '\0';
    return text;
}

static void put_long(struct peer *peer, size_t key, size_t value, const char *reply)
{
    char frame[3000], *k = repeat('k', key), *v = repeat('v', value);

    snprintf(frame, sizeof(frame), PUT("%s", "%s"), k, v);
    ask(peer, frame, reply);
    free(k);
    free(v);
}

static void pmi2_25_limits_hold_exactly(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);
    char frame[3000], reply[3000], *k = repeat('k', 64), *v = repeat('v', 1024);

    put_long(peer, 64, 1024, PUT_OK);
    fence_all(&peer, 1);
    snprintf(frame, sizeof(frame), GET("%s"), k);
    snprintf(reply, sizeof(reply), FOUND("%s"), v);
    ask(peer, frame, reply);
    free(k);
    free(v);
    driver_free(driver);
}

static void pmi2_26_beyond_the_limits(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    put_long(peer, 65, 1, "cmd=kvs-put-response;rc=5;errmsg=key_too_long;");
    put_long(peer, 1, 1025, "cmd=kvs-put-response;rc=7;errmsg=value_too_long;");
    driver_free(driver);
}

static void pmi2_27_any_value(void **state)
{
    static const char *const values[] = {";;",
                                         ";;;;",
                                         "=",
                                         " ",
                                         "\n",
                                         "\t",
                                         "a b=c;;d",
                                         "",
                                         "\xc3\xa9",
                                         "\xe2\x82\xac",
                                         "\xf0\x9f\x98\x80",
                                         "a;;=;;b",
                                         "\xff\xfe"};
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);
    char frame[200], reply[200];
    size_t i;

    for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        snprintf(frame, sizeof(frame), PUT("k%zu", "%s"), i, values[i]);
        ask(peer, frame, PUT_OK);
    }
    fence_all(&peer, 1);
    for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        snprintf(frame, sizeof(frame), GET("k%zu"), i);
        snprintf(reply, sizeof(reply), FOUND("%s"), values[i]);
        ask(peer, frame, reply);
    }
    driver_free(driver);
}

static void pmi2_29_missing_key_before_any_fence(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 2), 0, 0);

    ask(peer, GET("nix"), MISSING);
    ask(peer, GET("-NONEXIST-KEY"), MISSING);
    driver_free(driver);
}

static void all_see_all(uint32_t ranks, struct driver_options options)
{
    struct driver *driver = driver_new(&options);
    const char *job = driver_job(driver, ranks);
    uint32_t each = (ranks + driver->options.nodes - 1) / driver->options.nodes, i, j;
    struct peer **peers = calloc(ranks, sizeof(struct peer *));
    char frame[200], reply[200];

    for (i = 0; i < ranks; i++) {
        peers[i] = client2(driver, job, i, i / each);
        snprintf(frame, sizeof(frame), PUT("key-%u", "value of %u"), i, i);
        ask(peers[i], frame, PUT_OK);
    }
    fence_all(peers, ranks);
    for (i = 0; i < ranks; i += 1 + ranks / 64) {
        for (j = 0; j < ranks; j++) {
            snprintf(frame, sizeof(frame), GET("key-%u"), j);
            snprintf(reply, sizeof(reply), FOUND("value of %u"), j);
            ask(peers[i], frame, reply);
        }
        ask(peers[i], GET("nix"), MISSING);
    }
    free(peers);
    driver_free(driver);
}

static void pmi2_31_every_rank_sees_every_pair(void **state)
{
    static const uint32_t ranks[] = {1, 2, 17, 64, 256, 512};
    size_t i;

    for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        all_see_all(ranks[i], (struct driver_options){.nodes = 1, .seed = i});
        all_see_all(ranks[i], (struct driver_options){
                                  .nodes = ranks[i] < 21 ? 1 : 21, .fan_out = 4, .seed = i});
        all_see_all(ranks[i], (struct driver_options){.nodes = ranks[i] < 9 ? 1 : 9,
                                                      .fan_out = 2,
                                                      .shared = true,
                                                      .piece = 7,
                                                      .seed = i});
    }
}

static void pmi2_32_invisible_before_the_fence(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 2);
    struct peer *peers[2] = {client2(driver, job, 0, 0), client2(driver, job, 1, 0)};

    ask(peers[0], PUT("a", "1"), PUT_OK);
    ask(peers[0], GET("a"), MISSING);
    ask(peers[1], GET("a"), MISSING);
    driver_frame(peers[0], "cmd=kvs-fence;");
    expect_nothing(peers[0]);
    ask(peers[1], GET("a"), MISSING);
    driver_frame(peers[1], "cmd=kvs-fence;");
    forget_input(peers[0]);
    forget_input(peers[1]);
    ask(peers[0], GET("a"), FOUND("1"));
    ask(peers[1], GET("a"), FOUND("1"));
    driver_free(driver);
}

/* Nor where a server that shares the store has heard of the epoch later than another. */
static void pmi2_32_a_shared_store_keeps_views_apart(void **state)
{
    struct driver *driver =
        driver_new(&(struct driver_options){.nodes = 2, .shared = true, .seed = 3});
    const char *job = driver_job(driver, 2);
    struct peer *peers[2] = {client2(driver, job, 0, 0), client2(driver, job, 1, 1)};
    uint32_t i;

    ask(peers[0], PUT("a", "old"), PUT_OK);
    fence_all(peers, 2);
    ask(peers[0], PUT("a", "new"), PUT_OK);
    ask(peers[0], PUT("b", "new"), PUT_OK);
    for (i = 0; i < driver->peer_count; i++) /* nothing more comes down */
        driver->peers[i]->deaf = driver->peers[i]->other != NULL && driver->peers[i]->server == 0;
    driver_frame(peers[1], "cmd=kvs-fence;thrid=1;");
    driver_frame(peers[0], "cmd=kvs-fence;");
    forget_input(peers[0]);
    ask(peers[0], GET("a"), FOUND("new"));
    driver_frame(peers[1], GET("a") "thrid=2;");
    expect_frame(peers[1], "cmd=kvs-get-response;thrid=2;found=TRUE;value=old;rc=0;");
    driver_frame(peers[1], GET("b") "thrid=2;");
    expect_frame(peers[1], "cmd=kvs-get-response;thrid=2;found=FALSE;rc=0;");
    driver_free(driver);
}

static void pmi2_34_the_last_and_the_highest(void **state)
{
    uint32_t run;

    for (run = 0; run < 1000; run++) {
        struct driver *driver = driver_new(
            &(struct driver_options){.nodes = 1 + run % 3, .fan_out = 1 + run % 2, .seed = run});
        const char *job = driver_job(driver, 3);
        struct peer *peers[3];
        uint32_t i, order = run % 3;
        struct pmi2_counters counters;

        for (i = 0; i < 3; i++)
            peers[i] = client2(driver, job, i, i / ((3 + run % 3) / (1 + run % 3)));
        ask(peers[0], PUT("own", "first"), PUT_OK);
        ask(peers[0], PUT("own", "last"), PUT_OK);
        for (i = 0; i < 3; i++) {
            char frame[80];

            snprintf(frame, sizeof(frame), PUT("all", "%u"), (order + i) % 3);
            ask(peers[(order + i) % 3], frame, PUT_OK);
        }
        for (i = 0; i < 3; i++)
            driver_frame(peers[(order + 2 * i) % 3], "cmd=kvs-fence;");
        for (i = 0; i < 3; i++) {
            expect_frame(peers[i], "cmd=kvs-fence-response;rc=0;");
            ask(peers[i], GET("own"), FOUND("last"));
            ask(peers[i], GET("all"), FOUND("2"));
        }
        pmi2_server_counters(driver->servers[0], &counters);
        assert_int_equal(counters.duplicate_puts, 1 + 2);
        ask(peers[0], PUT("all", "later"), PUT_OK);
        fence_all(peers, 3);
        ask(peers[1], GET("all"), FOUND("later"));
        driver_free(driver);
    }
}

/* Keys that are put again and again do not pile up. */
static void pmi2_34_replaced_pairs_are_given_up(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);
    char frame[1200], *value = repeat('v', 1000);
    uint32_t i;

    for (i = 0; i < 2000; i++) {
        snprintf(frame, sizeof(frame), PUT("k%u", "%s%u"), i % 3, value, i);
        ask(peer, frame, PUT_OK);
        fence_all(&peer, 1);
    }
    for (i = 1997; i < 2000; i++) {
        char reply[1200];

        snprintf(frame, sizeof(frame), GET("k%u"), i % 3);
        snprintf(reply, sizeof(reply), FOUND("%s%u"), value, i);
        ask(peer, frame, reply);
    }
    driver_frame(peer, "cmd=kvs-getall;jobid=;");
    assert_string_equal(take_frame(peer), "cmd=kvs-getall-paircount-response;npair=3;");
    free(value);
    driver_free(driver);
}

static void pmi2_38_the_hint_changes_nothing(void **state)
{
    static const char *const hints[] = {"-1", "0", "1", "99", "-7", "", "x"};
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);
    char frame[100];
    size_t i;

    ask(peer, PUT("a", "1"), PUT_OK);
    fence_all(&peer, 1);
    for (i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        snprintf(frame, sizeof(frame), "cmd=kvs-get;jobid=;srcid=%s;key=a;", hints[i]);
        ask(peer, frame, FOUND("1"));
    }
    driver_free(driver);
}

static void pmi2_39_pmi2_41_pmi2_112_ids(void **state)
{
    struct driver *driver = driver_new(&(struct driver_options){.nodes = 3, .seed = 1});
    const char *job = driver_job(driver, 3), *other = driver_job(driver, 1);
    struct peer *peers[3] = {client2(driver, job, 0, 0), client2(driver, job, 1, 1),
                             client2(driver, job, 2, 2)},
                *unauthenticated = client2(driver, other, 0, 0);
    char frame[200];
    uint32_t i;

    ask(peers[0], PUT("a", "1"), PUT_OK);
    fence_all(peers, 3);
    for (i = 0; i < 3; i++) {
        ask(peers[i], "cmd=kvs-get;srcid=0;key=a;", FOUND("1"));
        ask(peers[i], "cmd=kvs-get;jobid=;srcid=0;key=a;", FOUND("1"));
        snprintf(frame, sizeof(frame), "cmd=kvs-get;jobid=%s;srcid=0;key=a;", job);
        ask(peers[i], frame, FOUND("1"));
        ask(peers[i], "cmd=kvs-get;jobid=9.9;srcid=0;key=a;",
            "cmd=kvs-get-response;rc=3;errmsg=unknown_jobid;");
        snprintf(frame, sizeof(frame), "cmd=kvs-get;jobid=%s;srcid=0;key=a;", other);
        ask(peers[i], frame, "cmd=kvs-get-response;rc=3;errmsg=unknown_jobid;");
    }
    snprintf(frame, sizeof(frame), "cmd=kvs-get;jobid=%s;srcid=0;key=a;", job);
    ask(unauthenticated, frame, "cmd=kvs-get-response;rc=3;errmsg=unknown_jobid;"); /* 112 */
    snprintf(frame, sizeof(frame), "cmd=kvs-getall;jobid=%s;", job);
    ask(unauthenticated, frame, "cmd=kvs-getall-response;rc=3;errmsg=unknown_jobid;");
    driver_free(driver);
}

static void pmi2_43_fence_without_puts_carries_no_pairs(void **state)
{
    struct driver *driver =
        driver_new(&(struct driver_options){.nodes = 13, .fan_out = 3, .seed = 1});
    const char *job = driver_job(driver, 130);
    struct peer *peers[130];
    uint64_t before;
    uint32_t i;

    for (i = 0; i < 130; i++)
        peers[i] = client2(driver, job, i, i / 10);
    before = driver->bytes;
    fence_all(peers, 130);
    /* One message each way on each of 12 links. */
    assert_in_range(driver->bytes - before, 24 * 24, 24 * (24 + 24));
    driver_free(driver);
}

static void pmi2_44_both_wires_share_pairs(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 2);
    struct peer *one = client1(driver, job, 0, 0), *two = client2(driver, job, 1, 0);
    char line[200];

    snprintf(line, sizeof(line), "cmd=put kvsname=%s key=one value=a b=c", job);
    ask_line(one, line, "cmd=put_result rc=0 msg=success");
    ask(two, PUT("two", "x;;y"), PUT_OK);
    ask(two, PUT("three", "x\ny"), PUT_OK);
    driver_frame(two, "cmd=kvs-fence;");
    expect_nothing(two);
    ask_line(one, "cmd=barrier_in", "cmd=barrier_out");
    expect_frame(two, "cmd=kvs-fence-response;rc=0;");
    ask(two, GET("one"), FOUND("a b=c"));
    snprintf(line, sizeof(line), "cmd=get kvsname=%s key=two", job);
    ask_line(one, line, "cmd=get_result rc=0 msg=success value=x;y");
    snprintf(line, sizeof(line), "cmd=get kvsname=%s key=three", job);
    ask_line(one, line, "cmd=get_result rc=-1 msg=value_has_a_newline");
    driver_free(driver);
}

static void pmi2_45_the_first_of_equal_keys(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);
    struct pmi2_counters counters;

    ask(peer, "cmd=kvs-put;key=a;value=1;key=b;value=2;", PUT_OK);
    fence_all(&peer, 1);
    ask(peer, GET("a"), FOUND("1"));
    ask(peer, GET("b"), MISSING);
    pmi2_server_counters(driver->servers[0], &counters);
    assert_int_equal(counters.duplicate_keys, 2);
    driver_free(driver);
}

static void quota_of_pairs(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 1);
    struct peer *peer = client2(driver, job, 0, 0);
    char frame[80];
    struct pmi2_slice value;
    uint32_t i;

    for (i = 0; i < 64; i++) {
        snprintf(frame, sizeof(frame), PUT("k%u", "1"), i);
        ask(peer, frame, PUT_OK);
    }
    ask(peer, PUT("more", "1"), "cmd=kvs-put-response;rc=2;errmsg=too_many_pairs_before_a_fence;");
    ask(peer, PUT("k7", "again"), PUT_OK);
    fence_all(&peer, 1);
    ask(peer, PUT("more", "1"), PUT_OK);
    assert_true(
        pmi2_server_committed(driver->servers[0], job, (struct pmi2_slice){"k7", 2}, &value));
    assert_memory_equal(value.at, "again", value.length);
    assert_false(
        pmi2_server_committed(driver->servers[0], job, (struct pmi2_slice){"more", 4}, &value));
    driver_free(driver);
}

static void quota_of_a_job(void **state)
{
    struct driver *driver =
        driver_new(&(struct driver_options){.nodes = 2, .limits.committed_bytes = 100});
    const char *job = driver_job(driver, 2);
    struct peer *peers[2] = {client2(driver, job, 0, 0), client2(driver, job, 1, 1)};

    ask(peers[0], PUT("a", "1"), PUT_OK);
    fence_all(peers, 2);
    put_long(peers[1], 30, 100, PUT_OK);
    driver_frame(peers[0], "cmd=kvs-fence;");
    driver_frame(peers[1], "cmd=kvs-fence;");
    expect_frame(peers[0], "cmd=kvs-fence-response;rc=2;errmsg=no_memory;");
    expect_frame(peers[1], "cmd=kvs-fence-response;rc=2;errmsg=no_memory;");
    ask(peers[1], GET("a"), FOUND("1"));
    ask(peers[1], PUT("b", "2"), PUT_OK);
    fence_all(peers, 2);
    ask(peers[0], GET("b"), FOUND("2"));
    driver_free(driver);
}

static void ring(void **state)
{
    struct driver *driver =
        driver_new(&(struct driver_options){.nodes = 5, .fan_out = 2, .seed = 1});
    const char *job = driver_job(driver, 10);
    struct peer *peers[10];
    char frame[100], rank_value[10][20], left[10][20];
    uint32_t i, j, seen = 0;

    for (i = 0; i < 10; i++) {
        peers[i] = client2(driver, job, i, i / 2);
        snprintf(frame, sizeof(frame), "cmd=ring;ring-count=1;ring-left=l%u;ring-right=r%u;", i, i);
        driver_frame(peers[i], frame);
    }
    for (i = 0; i < 10; i++) {
        unsigned place, l, r;

        assert_int_equal(sscanf(take_frame(peers[i]),
                                "cmd=ring-response;rc=0;ring-count=%u;ring-left=r%u;"
                                "ring-right=l%u;",
                                &place, &l, &r),
                         3);
        assert_true(place < 10);
        seen |= 1u << place;
        snprintf(rank_value[place], 20, "%u", i);
        snprintf(left[place], 20, "%u", l);
    }
    assert_int_equal(seen, 0x3ff);
    for (j = 0; j < 10; j++)
        assert_string_equal(left[j], rank_value[(j + 9) % 10]);
    driver_free(driver);
}

static void ring_of_one(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    ask(peer, "cmd=ring;ring-count=1;ring-left=me;ring-right=you;",
        "cmd=ring-response;rc=0;ring-count=0;ring-left=you;ring-right=me;");
    driver_free(driver);
}

static void getall(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    ask(peer, PUT("a", "1"), PUT_OK);
    ask(peer, PUT("b", "2;;"), PUT_OK);
    fence_all(&peer, 1);
    driver_frame(peer, "cmd=kvs-getall;thrid=t;jobid=;");
    assert_string_equal(take_frame(peer), "cmd=kvs-getall-paircount-response;thrid=t;npair=2;");
    assert_string_equal(take_frame(peer), "cmd=kvs-getall-pair-response;thrid=t;key=b;value=2;;;");
    assert_string_equal(take_frame(peer), "cmd=kvs-getall-pair-response;thrid=t;key=a;value=1;");
    expect_frame(peer, "cmd=kvs-getall-response;thrid=t;rc=0;");
    driver_free(driver);
}

/* How many entries of the map a get of `key` looks at. */
static uint32_t steps_of(const struct pmi2_map *map, const char *key)
{
    const struct pmi2_map_entry *found = pmi2_map_find(map, (struct pmi2_slice){key, strlen(key)}),
                                *entry;
    uint32_t steps = 1;

    assert_non_null(found);
    for (entry = map->buckets[found->hash & map->mask]; entry != found; entry = entry->next)
        steps++;
    return steps;
}

/* Every pair of all epochs so far is found, with its value; the result is the number of steps. */
static uint64_t get_all(struct driver *driver, const char *job, const uint32_t *of_rank,
                        uint32_t epochs, uint32_t *longest)
{
    const struct pmi2_job *of =
        pmi2_job_find(driver->servers[0], (struct pmi2_slice){job, strlen(job)});
    struct pmi2_slice value;
    uint64_t steps = 0;
    char key[40], wanted[40];
    uint32_t epoch, i, j, each;

    for (epoch = 0; epoch < epochs; epoch++)
        for (i = 0; i < 1000; i++)
            for (j = 0; j < of_rank[epoch]; j++) {
                snprintf(key, sizeof(key), "k%u-%u-%u", epoch, i, j);
                snprintf(wanted, sizeof(wanted), "%u", i * j);
                assert_true(pmi2_server_committed(driver->servers[0], job,
                                                  (struct pmi2_slice){key, strlen(key)}, &value));
                assert_int_equal(value.length, strlen(wanted));
                assert_memory_equal(value.at, wanted, value.length);
                each = steps_of(&of->space->pairs, key);
                steps += each;
                *longest = each > *longest ? each : *longest;
            }
    return steps;
}

/* 1,000, 10,000 and 100,000 pairs in one job: a get looks at as many entries each time. */
static void pmi2_42_many_pairs(void **state)
{
    static const uint32_t of_rank[] = {1, 9, 45, 45}, pairs[] = {1000, 10000, 55000, 100000};
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 1000);
    struct peer **peers = calloc(1000, sizeof(struct peer *));
    uint32_t epoch, i, j, longest;
    uint64_t steps;
    char text[100];

    for (i = 0; i < 1000; i++)
        peers[i] = client2(driver, job, i, 0);
    for (epoch = 0; epoch < 4; epoch++) {
        for (i = 0; i < 1000; i++) {
            struct text frames = {NULL, 0, 0};

            for (j = 0; j < of_rank[epoch]; j++) {
                snprintf(text, sizeof(text), PUT("k%u-%u-%u", "%u"), epoch, i, j, i * j);
                text_print(&frames, "%6zu%s", strlen(text), text);
            }
            driver_send(peers[i], frames.at);
            forget_input(peers[i]);
            free(frames.at);
        }
        fence_all(peers, 1000);
        longest = 0;
        steps = get_all(driver, job, of_rank, epoch + 1, &longest);
        assert_true(steps < 2 * (uint64_t)pairs[epoch]); /* on average fewer than two */
        assert_true(longest < 16);
    }
    for (i = 0; i < 1000; i++) { /* and as a client asks */
        snprintf(text, sizeof(text), "cmd=kvs-get;jobid=;srcid=-1;key=k3-%u-44;", i);
        driver_frame(peers[i], text);
        snprintf(text, sizeof(text), "cmd=kvs-get-response;found=TRUE;value=%u;rc=0;", i * 44);
        expect_frame(peers[i], text);
    }
    free(peers);
    driver_free(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_25_limits_hold_exactly),
        cmocka_unit_test(pmi2_26_beyond_the_limits),
        cmocka_unit_test(pmi2_27_any_value),
        cmocka_unit_test(pmi2_29_missing_key_before_any_fence),
        cmocka_unit_test(pmi2_31_every_rank_sees_every_pair),
        cmocka_unit_test(pmi2_32_invisible_before_the_fence),
        cmocka_unit_test(pmi2_32_a_shared_store_keeps_views_apart),
        cmocka_unit_test(pmi2_34_the_last_and_the_highest),
        cmocka_unit_test(pmi2_34_replaced_pairs_are_given_up),
        cmocka_unit_test(pmi2_38_the_hint_changes_nothing),
        cmocka_unit_test(pmi2_39_pmi2_41_pmi2_112_ids),
        cmocka_unit_test(pmi2_42_many_pairs),
        cmocka_unit_test(pmi2_43_fence_without_puts_carries_no_pairs),
        cmocka_unit_test(pmi2_44_both_wires_share_pairs),
        cmocka_unit_test(pmi2_45_the_first_of_equal_keys),
        cmocka_unit_test(quota_of_pairs),
        cmocka_unit_test(quota_of_a_job),
        cmocka_unit_test(ring),
        cmocka_unit_test(ring_of_one),
        cmocka_unit_test(getall),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
