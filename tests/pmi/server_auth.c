/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clients on ports: challenges, answers, and connections that never authenticate. */
#include "server_common.h"
#include <glib.h>

static const uint8_t key[32] = "0123456789abcdef0123456789abcde";

/* By GLib's HMAC, which is not ours. */
static char *proof(const char *nonce, const char *job, const char *rank)
{
    static char text[65];
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, key, 32);

    g_hmac_update(hmac, (const guchar *)nonce, (gssize)strlen(nonce) + 1);
    g_hmac_update(hmac, (const guchar *)job, (gssize)strlen(job) + 1);
    g_hmac_update(hmac, (const guchar *)rank, -1);
    memcpy(text, g_hmac_get_string(hmac), 65);
    g_hmac_unref(hmac);
    return text;
}

static char *draft_proof(const char *nonce)
{
    static char text[65];
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);

    g_checksum_update(sum, key, 32);
    g_checksum_update(sum, (const guchar *)nonce, -1);
    memcpy(text, g_checksum_get_string(sum), 65);
    g_checksum_free(sum);
    return text;
}

#define HMAC "challenge-hmac-sha256"
#define DRAFT "challenge-sha256"

static struct peer *challenged(struct driver *driver, const char *job, const char *rank,
                               enum pmi2_auth auth, const char *type, char *nonce)
{
    struct peer *peer = driver_port(driver, NULL, 0, auth);
    char frame[200];
    const char *reply;

    assert_non_null(peer);
    driver_send(peer, INIT2);
    expect_bytes(peer, INIT2_OK);
    snprintf(frame, sizeof(frame), "cmd=fullinit;pmijobid=%s;pmirank=%s;authtype=%s;", job, rank,
             type);
    driver_frame(peer, frame);
    reply = take_frame(peer);
    assert_int_equal(strlen(reply), strlen("cmd=auth-response;authinfo=;") + 32);
    memcpy(nonce, reply + strlen("cmd=auth-response;authinfo="), 32);
    nonce[32] = '\0';
    return peer;
}

static void answer(struct peer *peer, const char *hash)
{
    char frame[200];

    snprintf(frame, sizeof(frame), "cmd=auth-response-complete;authinfo=%s;", hash);
    driver_frame(peer, frame);
}

static struct driver *secured(void)
{
    return driver_new(&(struct driver_options){.nodes = 1, .seed = 5, .key = key});
}

static void pmi2_111_right_answer(void **state)
{
    struct driver *driver = secured();
    const char *job = driver_job(driver, 2);
    char nonce[33];
    struct peer *peer = challenged(driver, job, "1", PMI2_AUTH_CHALLENGE, HMAC, nonce);

    answer(peer, proof(nonce, job, "1"));
    expect_frame(peer, "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=1;size=2;"
                       "appnum=0;debugged=FALSE;pmiverbose=FALSE;rc=0;");
    ask(peer, "cmd=kvs-put;key=a;value=1;", "cmd=kvs-put-response;rc=0;");
    driver_free(driver);
}

static void pmi2_111_wrong_answers(void **state)
{
    struct driver *driver = secured();
    const char *job = driver_job(driver, 3);
    char nonce[33], old[65];
    struct peer *peer;

    peer = challenged(driver, job, "1", PMI2_AUTH_CHALLENGE, HMAC, nonce);
    answer(peer, proof(nonce, job, "0")); /* that of another rank */
    assert_true(peer->closed);
    expect_nothing(peer);
    peer = challenged(driver, job, "1", PMI2_AUTH_CHALLENGE, HMAC, nonce);
    memcpy(old, proof(nonce, job, "1"), 65);
    answer(peer, draft_proof(nonce)); /* the draft's, which was not allowed */
    assert_true(peer->closed);
    peer = challenged(driver, job, "1", PMI2_AUTH_CHALLENGE, HMAC, nonce);
    answer(peer, old); /* of an earlier challenge */
    assert_true(peer->closed);
    peer = challenged(driver, job, "9", PMI2_AUTH_CHALLENGE, HMAC, nonce);
    answer(peer, proof(nonce, job, "9")); /* no such rank */
    assert_true(peer->closed);
    peer = challenged(driver, job, "1", PMI2_AUTH_CHALLENGE, HMAC, nonce);
    driver_frame(peer, "cmd=kvs-get;jobid=;srcid=0;key=a;"); /* without an answer */
    assert_true(peer->closed);
    expect_nothing(peer);
    peer = challenged(driver, job, "1", PMI2_AUTH_DRAFT, HMAC, nonce);
    answer(peer, draft_proof(nonce)); /* not what it had asked to be asked */
    assert_true(peer->closed);
    peer = challenged(driver, job, "1", PMI2_AUTH_DRAFT, DRAFT, nonce);
    answer(peer, proof(nonce, job, "1"));
    assert_true(peer->closed);
    peer = challenged(driver, job, "1", PMI2_AUTH_DRAFT, DRAFT, nonce);
    answer(peer, draft_proof(nonce));
    assert_non_null(strstr(take_frame(peer), "rank=1;"));
    peer = challenged(driver, job, "2", PMI2_AUTH_DRAFT, HMAC, nonce);
    answer(peer, proof(nonce, job, "2"));
    assert_non_null(strstr(take_frame(peer), "rank=2;"));
    assert_int_equal(pmi2_server_rank_state(driver->servers[0], job, 0), PMI2_RANK_NEW);
    expect_no_log(driver, "abort");
    driver_free(driver);
}

/* The draft's type is not even asked about unless it is allowed. */
static void pmi2_111_draft_is_refused(void **state)
{
    struct driver *driver = secured();
    struct peer *peer = driver_port(driver, driver_job(driver, 1), 0, PMI2_AUTH_CHALLENGE);

    driver_send(peer, INIT2);
    forget_input(peer);
    driver_frame(peer, "cmd=fullinit;pmirank=0;authtype=" DRAFT ";");
    assert_non_null(strstr(take_frame(peer), "authentication_required"));
    assert_true(peer->closed);
    driver_free(driver);
}

static void pmi2_110_unauthenticated_clients(void **state)
{
    struct driver *driver = secured();
    const char *job = driver_job(driver, 1);
    struct peer *peers[16], *known;
    int i;

    driver_time(driver, SECOND);
    for (i = 0; i < 16; i++) {
        peers[i] = driver_port(driver, job, 0, PMI2_AUTH_CHALLENGE);
        assert_non_null(peers[i]);
    }
    assert_null(driver_port(driver, job, 0, PMI2_AUTH_CHALLENGE));
    known = client2(driver, job, 0, 0);
    driver_send(peers[0], "GET / HTTP/1.0\r\n\r\n");
    assert_true(peers[0]->closed);
    driver_send(peers[1], "cmd=initack pmiid=0\n"); /* PMI-1 cannot prove anything */
    assert_true(peers[1]->closed);
    assert_int_equal(pmi2_server_deadline(driver->servers[0]), 6 * SECOND);
    driver_time(driver, 5 * SECOND);
    for (i = 0; i < 16; i++) {
        assert_true(peers[i]->closed);
        expect_nothing(peers[i]);
    }
    ask(known, "cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;");
    assert_int_equal(pmi2_server_deadline(driver->servers[0]), UINT64_MAX);
    driver_free(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_111_right_answer),
        cmocka_unit_test(pmi2_111_wrong_answers),
        cmocka_unit_test(pmi2_111_draft_is_refused),
        cmocka_unit_test(pmi2_110_unauthenticated_clients),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
