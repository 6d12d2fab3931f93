/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Greetings, farewells, framing, order of replies; byte for byte. */
#include "server_common.h"

static void pmi2_16_version_3_may_come_down(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 2);
    struct peer *peer = driver_client(driver, job, 0, 0);

    ask_line(peer, "cmd=init pmi_version=3 pmi_subversion=0",
             "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=1");
    assert_int_equal(pmi2_server_rank_state(driver->servers[0], job, 0), PMI2_RANK_NEW);
    driver_send(peer, INIT2);
    expect_bytes(peer, INIT2_OK);
    ask(peer, "cmd=fullinit;threaded=FALSE;",
        "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=0;size=2;appnum=0;"
        "debugged=FALSE;pmiverbose=FALSE;rc=0;");
    driver_free(driver);
}

static void pmi2_17_version_1(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 2);
    struct peer *peer = driver_client(driver, job, 0, 0);

    driver_send(peer, INIT1);
    expect_bytes(peer, INIT1_OK);
    ask_line(peer, "cmd=init pmi_version=1 pmi_subversion=2",
             "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
    driver_free(driver);
}

static void pmi2_18_init_and_fullinit_in_one_write(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = driver_client(driver, driver_job(driver, 1), 0, 0);

    driver_send(peer, INIT2 "    28cmd=fullinit;threaded=FALSE;");
    expect_bytes(peer, INIT2_OK "   113cmd=fullinit-response;pmi-version=2;pmi-subversion=0;"
                                "rank=0;size=1;appnum=0;debugged=FALSE;pmiverbose=FALSE;rc=0;");
    driver_free(driver);
}

static void pmi2_15_finalize_is_local(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 2);
    struct peer *one = client2(driver, job, 0, 0), *other = client1(driver, job, 1, 0);

    ask(one, "cmd=finalize;", "cmd=finalize-response;rc=0;");
    assert_true(one->closed);
    assert_int_equal(pmi2_server_rank_state(driver->servers[0], job, 0), PMI2_RANK_FINALIZED);
    assert_false(other->closed);
    ask_line(other, "cmd=get_appnum", "cmd=appnum appnum=0");
    ask_line(other, "cmd=finalize", "cmd=finalize_ack");
    assert_true(other->closed);
    expect_no_log(driver, "abort");
    driver_free(driver);
}

/* Its own fence comes first, although another rank completes it later. */
static void pmi2_15_finalize_waits_for_what_was_asked_before(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 2);
    struct peer *one = client2(driver, job, 0, 0), *other = client2(driver, job, 1, 0);

    driver_send(one, "    14cmd=kvs-fence;    13cmd=finalize;");
    expect_nothing(one);
    ask(other, "cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;");
    expect_bytes(one, "    28cmd=kvs-fence-response;rc=0;    27cmd=finalize-response;rc=0;");
    assert_true(one->closed);
    driver_free(driver);
}

static void pmi2_19_abort_of_all(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 2);
    struct peer *one = client2(driver, job, 0, 0), *other = client2(driver, job, 1, 0);
    char line[80];

    driver_frame(one, "cmd=abort;isworld=TRUE;msg=a\nb;");
    expect_nothing(one);
    snprintf(line, sizeof(line), "0 abort %s rank 0 code 1 text a\nb", job);
    assert_non_null(strstr(driver->log.at, line));
    assert_false(other->closed);
    driver_free(driver);
}

static void pmi2_20_abort_with_a_status(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 2);
    struct peer *one = client1(driver, job, 1, 0), *other = client2(driver, job, 0, 0);
    char line[80];

    driver_send(one, "cmd=abort exitcode=7\n");
    snprintf(line, sizeof(line), "0 abort %s rank 1 code 7 text ", job);
    expect_log(driver, line);
    driver_frame(other, "cmd=abort;exitcode=9;message=late;"); /* the first counts */
    expect_no_log(driver, "late");
    driver_free(driver);
}

static void pmi2_21_abort_of_one(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 2);
    struct peer *one = client2(driver, job, 1, 0), *other = client2(driver, job, 0, 0);
    char line[80];

    driver_frame(one, "cmd=abort;isworld=FALSE;msg=enough;");
    snprintf(line, sizeof(line), "0 kill %s rank 1 text enough", job);
    expect_log(driver, line);
    expect_no_log(driver, "0 abort");
    ask(other, "cmd=kvs-put;key=a;value=1;", "cmd=kvs-put-response;rc=0;");
    ask(other, "cmd=kvs-get;jobid=;srcid=-1;key=a;", "cmd=kvs-get-response;found=FALSE;rc=0;");
    ask(other, "cmd=kvs-fence;", "cmd=kvs-fence-response;rc=14;errmsg=rank_1_dead;");
    ask(other, "cmd=info-getjobattr;key=PMI_dead_processes;",
        "cmd=info-getjobattr-response;found=TRUE;value=1;rc=0;");
    driver_free(driver);
}

static void pmi2_23_pmi2_112_rank_is_what_the_connection_says(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 3);
    struct peer *right = driver_client(driver, job, 1, 0),
                *wrong = driver_client(driver, job, 2, 0);

    driver_send(right, INIT2);
    forget_input(right);
    ask(right, "cmd=fullinit;pmijobid=7.1;pmirank=1;threaded=FALSE;",
        "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=1;size=3;appnum=0;"
        "debugged=FALSE;pmiverbose=FALSE;rc=0;");
    driver_send(wrong, INIT2);
    forget_input(wrong);
    ask(wrong, "cmd=fullinit;pmirank=1;threaded=FALSE;",
        "cmd=fullinit-response;rc=3;errmsg=wrong_rank;");
    assert_true(wrong->closed);
    assert_false(right->closed);
    assert_int_equal(pmi2_server_rank_state(driver->servers[0], job, 2), PMI2_RANK_FAILED);
    driver_free(driver);
}

static void pmi2_24_second_init(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 2), 0, 0);

    driver_send(peer, INIT2 "    28cmd=fullinit;threaded=FALSE;    27cmd=kvs-put;key=a;value=;;;");
    forget_input(peer);
    ask(peer, "cmd=kvs-put;key=a;value=1;", "cmd=kvs-put-response;rc=0;");
    driver_free(driver);
}

static void pmi2_75_lengths_on_either_side(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    driver_send(peer, "14    cmd=kvs-fence;");
    expect_bytes(peer, "    28cmd=kvs-fence-response;rc=0;");
    driver_send(peer, "    14cmd=kvs-fence;");
    expect_bytes(peer, "    28cmd=kvs-fence-response;rc=0;");
    driver_send(peer, "000014cmd=kvs-fence;");
    expect_bytes(peer, "    28cmd=kvs-fence-response;rc=0;");
    driver_free(driver);
}

#define TALK                                                                   \
    INIT2 "    28cmd=fullinit;threaded=FALSE;    26cmd=kvs-put;key=a;value=1;" \
          "    31cmd=kvs-put;key=b;value=x;;y z;    14cmd=kvs-fence;"          \
          "    35cmd=kvs-get;jobid=;srcid=0;key=b;;;"                          \
          "    33cmd=kvs-get;jobid=;srcid=0;key=b;    37cmd=info-getjobattr;key=universeSize;"

static char *transcript(size_t piece, size_t split)
{
    struct driver *driver =
        driver_new(&(struct driver_options){.nodes = 1, .seed = 1, .piece = piece});
    struct peer *peer = driver_client(driver, driver_job(driver, 1), 0, 0);
    char *text;

    if (split == 0) {
        driver_send(peer, TALK);
    } else {
        driver_bytes(peer, TALK, split);
        driver_send(peer, &TALK[split]);
    }
    text = strdup(peer->in.at);
    driver_free(driver);
    return text;
}

static void pmi2_76_any_cut_gives_the_same(void **state)
{
    char *whole = transcript(0, 0), *other;
    size_t i;

    assert_non_null(strstr(whole, "value=x;;y z;"));
    for (i = 1; i < sizeof(TALK) - 1; i++) {
        other = transcript(0, i);
        assert_string_equal(whole, other);
        free(other);
    }
    for (i = 1; i < 8; i++) {
        other = transcript(i, 0);
        assert_string_equal(whole, other);
        free(other);
    }
    free(whole);
}

static void pmi2_76_twenty_frames_at_once(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);
    struct text frames = {NULL, 0, 0}, replies = {NULL, 0, 0};
    int i;

    for (i = 0; i < 20; i++) {
        text_print(&frames, "%6d%s", 14, "cmd=kvs-fence;");
        text_print(&replies, "%6d%s", 28, "cmd=kvs-fence-response;rc=0;");
    }
    driver_send(peer, frames.at);
    expect_bytes(peer, replies.at);
    free(frames.at);
    free(replies.at);
    driver_free(driver);
}

static void pmi2_77_six_bytes_behind_the_last_value(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);

    driver_bytes(peer, "32    cmd=kvs-put;key=a;value=1;\0\0\0\0\0\0", 38);
    expect_frame(peer, "cmd=kvs-put-response;rc=0;");
    driver_free(driver);
}

static void pmi2_82_thrid_comes_first(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 1);
    struct peer *peer = client2(driver, job, 0, 0);
    char reply[100];

    snprintf(reply, sizeof(reply), "cmd=job-getid-response;thrid=0x7ffc1234;jobid=%s;rc=0;", job);
    ask(peer, "cmd=job-getid;thrid=0x7ffc1234;", reply);
    snprintf(reply, sizeof(reply), "cmd=job-getid-response;thrid=a;;b;jobid=%s;rc=0;", job);
    ask(peer, "cmd=job-getid;third=a;;b;", reply);
    ask(peer, "cmd=kvs-put;key=;value=1;thrid=;",
        "cmd=kvs-put-response;thrid=;rc=4;errmsg=invalid_key;");
    driver_free(driver);
}

static void pmi2_83_order_without_thrid(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 2);
    struct peer *one = client2(driver, job, 0, 0), *other = client2(driver, job, 1, 0);

    driver_frame(one, "cmd=info-getnodeattr;key=later;wait=TRUE;");
    driver_frame(one, "cmd=kvs-put;key=a;value=1;");
    driver_frame(one, "cmd=info-getnodeattr;key=later;wait=TRUE;thrid=7;");
    expect_nothing(one);
    ask(one, "cmd=kvs-put;key=b;value=1;thrid=8;", "cmd=kvs-put-response;thrid=8;rc=0;");
    ask(other, "cmd=info-putnodeattr;key=later;value=now;", "cmd=info-putnodeattr-response;rc=0;");
    assert_string_equal(take_frame(one),
                        "cmd=info-getnodeattr-response;found=TRUE;value=now;rc=0;");
    assert_string_equal(take_frame(one), "cmd=kvs-put-response;rc=0;");
    assert_string_equal(take_frame(one),
                        "cmd=info-getnodeattr-response;thrid=7;found=TRUE;value=now;rc=0;");
    expect_nothing(one);
    driver_free(driver);
}

static void pmi2_84_maxes(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 1);
    struct peer *peer = client1(driver, job, 0, 0);
    char key[65] = "", value[1025] = "", text[1500], reply[1500];

    ask_line(peer, "cmd=get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024");
    /* A key and a value of that length really work. */
    memset(key, 'k', 64);
    memset(value, 'v', 1024);
    assert_true(strlen(job) < 256);
    snprintf(text, sizeof(text), "cmd=put kvsname=%s key=%s value=%s", job, key, value);
    ask_line(peer, text, "cmd=put_result rc=0 msg=success");
    ask_line(peer, "cmd=barrier_in", "cmd=barrier_out");
    snprintf(text, sizeof(text), "cmd=get kvsname=%s key=%s", job, key);
    snprintf(reply, sizeof(reply), "cmd=get_result rc=0 msg=success value=%s", value);
    ask_line(peer, text, reply);
    driver_free(driver);
}

static void pmi2_79_pmi1_replies(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 1);
    struct peer *peer = client1(driver, job, 0, 0);
    char text[200], reply[200];

    ask_line(peer, "cmd=get_appnum", "cmd=appnum appnum=0");
    snprintf(reply, sizeof(reply), "cmd=my_kvsname kvsname=%s", job);
    ask_line(peer, "cmd=get_my_kvsname", reply);
    ask_line(peer, "cmd=get_universe_size", "cmd=universe_size size=-1");
    snprintf(text, sizeof(text), "cmd=put kvsname=%s key=-bcast-1-0 value=x", job);
    ask_line(peer, text, "cmd=put_result rc=0 msg=success");
    ask_line(peer, "cmd=barrier_in", "cmd=barrier_out");
    snprintf(text, sizeof(text), "cmd=get kvsname=%s key=-bcast-1-0", job);
    ask_line(peer, text, "cmd=get_result rc=0 msg=success value=x");
    ask_line(peer, "cmd=publish_name service=s port=p",
             "cmd=publish_result info=ok rc=0 msg=success");
    ask_line(peer, "cmd=publish_name service=s port=q",
             "cmd=publish_result info=ok rc=1 msg=key_already_present");
    ask_line(peer, "cmd=lookup_name service=s",
             "cmd=lookup_result port=p info=ok rc=0 msg=success");
    ask_line(peer, "cmd=unpublish_name service=s", "cmd=unpublish_result info=ok rc=0 msg=success");
    ask_line(peer, "cmd=lookup_name service=s", "cmd=lookup_result rc=1 msg=service_not_found");
    ask_line(peer, "cmd=finalize", "cmd=finalize_ack");
    driver_free(driver);
}

static void pmi2_85_pmi1_missing_key(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 1);
    struct peer *peer = client1(driver, job, 0, 0);
    char text[200];

    snprintf(text, sizeof(text), "cmd=get kvsname=%s key=nix", job);
    ask_line(peer, text, "cmd=get_result rc=-1 msg=key_nix_not_found value=unknown");
    driver_free(driver);
}

static void pmi2_86_port(void **state)
{
    struct driver *driver = one_node();
    const char *job = driver_job(driver, 2);
    struct peer *peer = driver_port(driver, job, 0, PMI2_AUTH_NONE);

    driver_send(peer, "cmd=initack pmiid=1\n");
    expect_bytes(peer, "cmd=initack\ncmd=set size=2\ncmd=set rank=1\ncmd=set debug=0\n");
    driver_send(peer, INIT1);
    expect_bytes(peer, INIT1_OK);
    ask_line(peer, "cmd=get_appnum", "cmd=appnum appnum=0");
    peer = driver_port(driver, job, 0, PMI2_AUTH_NONE);
    driver_send(peer, "cmd=get_appnum\n");
    assert_true(peer->closed);
    expect_nothing(peer);
    peer = driver_port(driver, job, 0, PMI2_AUTH_NONE);
    driver_send(peer, "cmd=initack pmiid=1\n"); /* is there already */
    assert_true(peer->closed);
    assert_int_equal(pmi2_server_rank_state(driver->servers[0], job, 1), PMI2_RANK_RUNNING);
    driver_free(driver);
}

static void pmi2_87_long_frames(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = client2(driver, driver_job(driver, 1), 0, 0);
    struct text frame = {NULL, 0, 0};
    size_t i;

    text_print(&frame, "%6d%s", 70000, "cmd=kvs-put;key=a;value=");
    for (i = frame.length - 6; i < 70000 - 1; i++)
        text_add(&frame, "x", 1);
    text_add(&frame, ";", 1);
    driver_send(peer, frame.at);
    expect_frame(peer, "cmd=kvs-put-response;rc=8;errmsg=frame_too_long;");
    ask(peer, "cmd=kvs-put;key=a;value=1;", "cmd=kvs-put-response;rc=0;");
    frame.length = 0;
    text_print(&frame, "%6d%s", 999999,
               "cmd=spawn;ncmds=1;preputcount=0;subcmd=p;maxprocs=1;"
               "argc=1;infokeycount=0;argv0=");
    for (i = frame.length - 6; i < 999999 - 1; i++)
        text_add(&frame, "x", 1);
    text_add(&frame, ";", 1);
    driver_send(peer, frame.at);
    expect_nothing(peer);
    assert_int_equal(driver->last_spawn, 1);
    pmi2_server_spawn_done(driver->servers[0], 1, NULL, NULL, "no");
    driver_run(driver);
    expect_frame(peer, "cmd=spawn-response;rc=1;errmsg=no;nerrs=0;");
    free(frame.at);
    driver_free(driver);
}

static void pmi2_27_capabilities_are_reported_on_request(void **state)
{
    struct driver *driver = one_node();
    struct peer *peer = driver_client(driver, driver_job(driver, 1), 0, 0);

    driver_send(peer, INIT2);
    forget_input(peer);
    ask(peer, "cmd=fullinit;threaded=TRUE;cli-caps=thrid;",
        "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=0;size=1;appnum=0;"
        "debugged=FALSE;pmiverbose=FALSE;srv-caps=strict-fence,thrid,escape,getall,survivors,"
        "pieces;rc="
        "0;");
    driver_free(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_16_version_3_may_come_down),
        cmocka_unit_test(pmi2_17_version_1),
        cmocka_unit_test(pmi2_18_init_and_fullinit_in_one_write),
        cmocka_unit_test(pmi2_15_finalize_is_local),
        cmocka_unit_test(pmi2_15_finalize_waits_for_what_was_asked_before),
        cmocka_unit_test(pmi2_19_abort_of_all),
        cmocka_unit_test(pmi2_20_abort_with_a_status),
        cmocka_unit_test(pmi2_21_abort_of_one),
        cmocka_unit_test(pmi2_23_pmi2_112_rank_is_what_the_connection_says),
        cmocka_unit_test(pmi2_24_second_init),
        cmocka_unit_test(pmi2_27_capabilities_are_reported_on_request),
        cmocka_unit_test(pmi2_75_lengths_on_either_side),
        cmocka_unit_test(pmi2_76_any_cut_gives_the_same),
        cmocka_unit_test(pmi2_76_twenty_frames_at_once),
        cmocka_unit_test(pmi2_77_six_bytes_behind_the_last_value),
        cmocka_unit_test(pmi2_79_pmi1_replies),
        cmocka_unit_test(pmi2_82_thrid_comes_first),
        cmocka_unit_test(pmi2_83_order_without_thrid),
        cmocka_unit_test(pmi2_84_maxes),
        cmocka_unit_test(pmi2_85_pmi1_missing_key),
        cmocka_unit_test(pmi2_86_port),
        cmocka_unit_test(pmi2_87_long_frames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
