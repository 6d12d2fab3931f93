/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Malformed input, row by row of the table that the server has to survive. Each test has witnesses:
 * a rank of the same job and one of another job, whose transcripts must be what they would have
 * been.
 */
#include "server_scene.h"

static void pmi2_88_01_long_frame_that_stops(void **state)
{
    struct scene scene = begin();

    driver_send(scene.bad, "999999cmd=sp");
    assert_false(scene.bad->closed);
    ask(scene.same, GET("x"), MISSING);
    driver_hang_up(scene.bad);
    end_closed(&scene);
    scene = begin();
    driver_send(scene.bad, "999999cmd=kvs-put;key=a;value=");
    expect_frame(scene.bad, "cmd=kvs-put-response;rc=8;errmsg=frame_too_long;");
    end(&scene, NULL);
}

static void pmi2_88_02_lengths_that_are_none(void **state)
{
    static const char *const lengths[] = {"    -5cmd=x;", "abcdefcmd=x;", "12 34 cmd=x;",
                                          "      cmd=x;"};
    size_t i;

    for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct scene scene = begin();

        driver_send(scene.bad, lengths[i]);
        end_closed(&scene);
    }
}

static void pmi2_88_03_length_0(void **state)
{
    struct scene scene = begin();

    driver_send(scene.bad, "     0");
    end_closed(&scene);
}

static void pmi2_88_04_no_command(void **state)
{
    struct scene scene = begin();

    driver_send(scene.bad, "     8foo=bar;");
    end_closed(&scene);
}

static void pmi2_88_05_a_pause(void **state)
{
    struct scene scene = begin();

    driver_send(scene.bad, "    26cmd=kvs-pu");
    driver_time(scene.driver, 100 * SECOND);
    expect_nothing(scene.bad);
    driver_send(scene.bad, "t;key=a;value=1;");
    expect_frame(scene.bad, "cmd=kvs-put-response;rc=0;");
    end_working(&scene);
}

static void pmi2_88_06_half_a_frame(void **state)
{
    struct scene scene = begin();

    driver_send(scene.bad, "    26cmd=kvs-pu");
    driver_hang_up(scene.bad);
    end_closed(&scene);
}

static void pmi2_88_07_three_at_once(void **state)
{
    struct scene scene = begin();

    driver_send(scene.bad, "    26cmd=kvs-put;key=a;value=1;    12cmd=job-get;"
                           "    26cmd=kvs-put;key=;value=22;");
    expect_bytes(scene.bad, "    26cmd=kvs-put-response;rc=0;"
                            "    50cmd=job-get-response;rc=21;errmsg=unknown_command;"
                            "    45cmd=kvs-put-response;rc=4;errmsg=invalid_key;");
    end_working(&scene);
}

static void pmi2_88_08_unknown_command(void **state)
{
    struct scene scene = begin();

    ask(scene.bad, "cmd=dance;how=well;", "cmd=dance-response;rc=21;errmsg=unknown_command;");
    ask(scene.bad, "cmd=dance;thrid=4;",
        "cmd=dance-response;thrid=4;rc=21;errmsg=unknown_command;");
    ask_line(scene.bad, "cmd=dance", "cmd=dance_result rc=-1 msg=unknown_command");
    end_working(&scene);
}

static void pmi2_88_09_put_without_a_key(void **state)
{
    struct scene scene = begin();

    ask(scene.bad, "cmd=kvs-put;value=1;", "cmd=kvs-put-response;rc=4;errmsg=invalid_key;");
    end_working(&scene);
}

static void pmi2_88_10_two_keys(void **state)
{
    struct scene scene = begin();
    struct pmi2_counters counters;

    ask(scene.bad, "cmd=kvs-put;key=a;value=1;key=b;value=2;", "cmd=kvs-put-response;rc=0;");
    pmi2_server_counters(scene.driver->servers[0], &counters);
    assert_int_equal(counters.duplicate_keys, 2);
    end_working(&scene);
}

static void pmi2_88_11_no_last_semicolon(void **state)
{
    struct scene scene = begin();

    ask(scene.bad, "cmd=kvs-put;key=a;value=1",
        "cmd=kvs-put-response;rc=6;errmsg=unterminated_value;");
    end_working(&scene);
}

static void long_put(struct peer *peer, int key, int value, const char *reply)
{
    char frame[2000], text[1100];

    memset(text, 'x', sizeof(text));
    snprintf(frame, sizeof(frame), "cmd=kvs-put;key=%.*s;value=%.*s;", key, text, value, text);
    ask(peer, frame, reply);
}

static void pmi2_88_12_13_limits(void **state)
{
    struct scene scene = begin();

    long_put(scene.bad, 64, 1024, "cmd=kvs-put-response;rc=0;");
    long_put(scene.bad, 65, 1024, "cmd=kvs-put-response;rc=5;errmsg=key_too_long;");
    long_put(scene.bad, 64, 1025, "cmd=kvs-put-response;rc=7;errmsg=value_too_long;");
    end_working(&scene);
}

static void pmi2_88_14_bytes_of_a_key(void **state)
{
    static const char *const keys[] = {"a b", "a\nb", "a\tb", "a;;b", ""};
    struct scene scene = begin();
    char frame[100];
    size_t i;

    for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        snprintf(frame, sizeof(frame), "cmd=kvs-put;key=%s;value=1;", keys[i]);
        ask(scene.bad, frame, "cmd=kvs-put-response;rc=4;errmsg=invalid_key;");
    }
    ask(scene.bad, "cmd=kvs-put;key=a=b;value=1;", "cmd=kvs-put-response;rc=4;errmsg=invalid_key;");
    driver_bytes(scene.bad, "    28cmd=kvs-put;key=a\0b;value=1;", 34);
    expect_frame(scene.bad, "cmd=kvs-put-response;rc=4;errmsg=invalid_key;");
    end_working(&scene);
}

static void pmi2_88_15_pmi2_112_other_ranks(void **state)
{
    static const char *const ranks[] = {"2", "-1", "1", "x", "99999999999"};
    size_t i;

    for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        struct scene scene = scene_new(&(struct driver_options){.nodes = 1});
        char frame[100];

        scene.bad = driver_client(scene.driver, scene.job, 0, 0);
        driver_send(scene.bad, INIT2);
        forget_input(scene.bad);
        snprintf(frame, sizeof(frame), "cmd=fullinit;pmirank=%s;threaded=FALSE;", ranks[i]);
        ask(scene.bad, frame, "cmd=fullinit-response;rc=3;errmsg=wrong_rank;");
        end_closed(&scene);
    }
}

static void pmi2_88_16_init_again(void **state)
{
    struct scene scene = begin();

    driver_send(scene.bad, INIT2);
    expect_bytes(scene.bad, INIT2_OK);
    ask(scene.bad, "cmd=fullinit;pmirank=0;threaded=FALSE;",
        "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=0;size=2;appnum=0;"
        "debugged=FALSE;pmiverbose=FALSE;rc=0;");
    end_working(&scene);
}

static void pmi2_88_17_18_gets(void **state)
{
    struct scene scene = begin();

    ask(scene.bad, GET("a"), MISSING);
    ask(scene.bad, "cmd=kvs-get;jobid=7.7;srcid=0;key=a;",
        "cmd=kvs-get-response;rc=3;errmsg=unknown_jobid;");
    ask(scene.bad, "cmd=kvs-get;jobid=kvs_8806_0;srcid=0;key=a;",
        "cmd=kvs-get-response;rc=3;errmsg=unknown_jobid;");
    end_working(&scene);
}

static void pmi2_88_19_foreign_kvsname(void **state)
{
    struct scene scene = begin();

    ask_line(scene.bad, "cmd=get kvsname=7.7 key=a", "cmd=get_result rc=-1 msg=unknown_jobid");
    ask_line(scene.bad, "cmd=put kvsname=7.7 key=a value=1",
             "cmd=put_result rc=-1 msg=foreign_kvsname");
    end_working(&scene);
}

static void pmi2_88_20_version_3(void **state)
{
    struct scene scene = begin();

    ask_line(scene.bad, "cmd=init pmi_version=3 pmi_subversion=0",
             "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=1");
    ask_line(scene.bad, "cmd=init pmi_version=x",
             "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=1");
    end_working(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_88_01_long_frame_that_stops),
        cmocka_unit_test(pmi2_88_02_lengths_that_are_none),
        cmocka_unit_test(pmi2_88_03_length_0),
        cmocka_unit_test(pmi2_88_04_no_command),
        cmocka_unit_test(pmi2_88_05_a_pause),
        cmocka_unit_test(pmi2_88_06_half_a_frame),
        cmocka_unit_test(pmi2_88_07_three_at_once),
        cmocka_unit_test(pmi2_88_08_unknown_command),
        cmocka_unit_test(pmi2_88_09_put_without_a_key),
        cmocka_unit_test(pmi2_88_10_two_keys),
        cmocka_unit_test(pmi2_88_11_no_last_semicolon),
        cmocka_unit_test(pmi2_88_12_13_limits),
        cmocka_unit_test(pmi2_88_14_bytes_of_a_key),
        cmocka_unit_test(pmi2_88_15_pmi2_112_other_ranks),
        cmocka_unit_test(pmi2_88_16_init_again),
        cmocka_unit_test(pmi2_88_17_18_gets),
        cmocka_unit_test(pmi2_88_19_foreign_kvsname),
        cmocka_unit_test(pmi2_88_20_version_3),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
