/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rank 0 answers questions that arrive as datagrams. The data that a wildcard sends back is fixed
 * when it is posted, so the answer is a second datagram: the server posts it to the client, which
 * has a wildcard for it. The answer must repeat the question. This workload uses the blocking
 * functions.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"requests", ARG_COUNT, "20", "1", "1000000", NULL, "questions of each client"},
    {"bytes", ARG_BYTES, "64", "8", "128", NULL, "of question and answer"},
    {"wildcards", ARG_COUNT, "8", "1", "4096", NULL, "unbound datagrams of the server"},
    {"give_up", ARG_TIME, "20s", "1ms", "1000000s", NULL, "without any news for so long"},
    {NULL},
};

#define CLIENT_CALL 1 /* ids of the client's datagrams */
#define CLIENT_WILDCARD 2

struct card {
    gni_ep_handle_t ep; /* NULL: nothing is posted */
    uint8_t in[GNI_DATAGRAM_MAXSIZE];
};

struct test {
    struct wl_domain domain;
    uint16_t bytes;
    uint32_t wildcards, wait_ms;
    uint64_t requests, missing;
    struct card *cards; /* the wildcards; a client has one */
    struct card *answers; /* server: one for each client */
};

static int failed(struct test *test, const char *what, gni_return_t rc)
{
    return rank_fail(test->domain.rank, "%s: %s", what, wl_rc_name(rc));
}

static int post(struct test *test, struct card *card, void *data, uint64_t id)
{
    gni_return_t rc = GNI_EpPostDataWId(card->ep, data, test->bytes, card->in, test->bytes, id);

    return rc == GNI_RC_SUCCESS ? 0 : failed(test, "cannot post a datagram", rc);
}

static int open_wildcards(struct test *test, uint32_t count)
{
    uint32_t i;
    gni_return_t rc;

    for (i = 0; i < count; i++) {
        rc = GNI_EpCreate(test->domain.nic, test->domain.tx, &test->cards[i].ep);
        if (rc != GNI_RC_SUCCESS)
            return failed(test, "no endpoint for a wildcard", rc);
    }
    return 0;
}

/* ---- server ---------------------------------------------------------------------------------- */

/* Ends an answer that was posted. The client has it, or is gone. */
static int end_answer(struct test *test, uint32_t client)
{
    uint32_t address, peer;
    gni_post_state_t state;
    gni_return_t rc = GNI_EpPostDataTestById(test->answers[client].ep, test->wildcards + client,
                                             &state, &address, &peer);

    if (rc != GNI_RC_SUCCESS)
        return failed(test, "cannot end an answer", rc);
    if (state == GNI_POST_PENDING)
        return rank_fail(test->domain.rank, "rank %u asked before it had the answer", client);
    if (state != GNI_POST_COMPLETED) {
        test->domain.errors++;
        test->domain.lost++;
    }
    test->answers[client].ep = NULL;
    return 0;
}

static int answer(struct test *test, uint32_t client, void *question)
{
    struct card *card = &test->answers[client];

    /* Not ended yet, but delivered: a client that asks again has its answer. */
    if (card->ep != NULL && end_answer(test, client) != 0)
        return -1;
    card->ep = wl_domain_ep(&test->domain, client);
    return card->ep != NULL ? post(test, card, question, test->wildcards + client) : -1;
}

/* A question has met wildcard i, which is then posted again. */
static int take(struct test *test, uint32_t i)
{
    struct card *card = &test->cards[i];
    uint8_t question[GNI_DATAGRAM_MAXSIZE], greeting[GNI_DATAGRAM_MAXSIZE] = {0};
    uint32_t address, client;
    gni_post_state_t state;
    gni_return_t rc = GNI_EpPostDataTestById(card->ep, i, &state, &address, &client);

    if (rc != GNI_RC_SUCCESS)
        return failed(test, "cannot take a question", rc);
    memcpy(question, card->in, test->bytes);
    if (post(test, card, greeting, i) != 0)
        return -1;
    if (state != GNI_POST_COMPLETED) /* the client is gone */
        return 0;
    rank_progress(test->domain.rank);
    return answer(test, client, question);
}

static int serve(struct test *test)
{
    uint64_t expected = (test->domain.size - 1) * test->requests, taken = 0, id, began = rank_now();
    uint8_t greeting[GNI_DATAGRAM_MAXSIZE] = {0};
    int status = open_wildcards(test, test->wildcards);
    uint32_t i;

    for (i = 0; i < test->wildcards && status == 0; i++)
        status = post(test, &test->cards[i], greeting, i);
    while (taken < expected && status == 0) {
        if (GNI_PostdataProbeWaitById(test->domain.nic, test->wait_ms, &id) != GNI_RC_SUCCESS)
            break; /* timeout: no client is left */
        if (id < test->wildcards) {
            status = take(test, (uint32_t)id);
            taken++;
        } else {
            status = end_answer(test, (uint32_t)(id - test->wildcards));
        }
    }
    rank_record_rate(test->domain.rank, "rate", taken, rank_now() - began);
    test->missing = expected - taken;
    return status;
}

/* When all have had their answers. */
static int close_wildcards(struct test *test)
{
    gni_return_t rc = GNI_RC_SUCCESS;
    uint32_t i;

    for (i = 0; i < test->wildcards && rc == GNI_RC_SUCCESS; i++) {
        rc = GNI_EpPostDataCancelById(test->cards[i].ep, i);
        if (rc == GNI_RC_SUCCESS)
            rc = GNI_EpDestroy(test->cards[i].ep);
    }
    return rc == GNI_RC_SUCCESS ? 0 : failed(test, "cannot cancel a wildcard", rc);
}

/* ---- client ---------------------------------------------------------------------------------- */

/* 0: completed; 1: the server is gone; -1: failed. */
static int wait_for(struct test *test, struct card *card, uint64_t id)
{
    uint32_t address, peer;
    gni_post_state_t state = GNI_POST_PENDING;
    gni_return_t rc = GNI_EpPostDataWaitById(card->ep, id, test->wait_ms, &state, &address, &peer);

    if (rc == GNI_RC_SUCCESS && state == GNI_POST_COMPLETED)
        return 0;
    if (rc != GNI_RC_SUCCESS && rc != GNI_RC_TIMEOUT)
        return failed(test, "cannot wait for a datagram", rc);
    test->domain.errors++;
    test->domain.lost++;
    return 1;
}

static int ask(struct test *test, uint64_t number)
{
    struct card call = {.ep = wl_domain_ep(&test->domain, 0)}, *wildcard = &test->cards[0];
    uint8_t question[GNI_DATAGRAM_MAXSIZE];
    uint64_t began = rank_now();
    int status;

    wl_pattern_fill(question, test->bytes, number << 20 ^ test->domain.id);
    memset(wildcard->in, 0, sizeof(wildcard->in));
    if (call.ep == NULL || post(test, wildcard, question, CLIENT_WILDCARD) != 0 ||
        post(test, &call, question, CLIENT_CALL) != 0)
        return -1;
    status = wait_for(test, &call, CLIENT_CALL);
    if (status == 0)
        status = wait_for(test, wildcard, CLIENT_WILDCARD);
    if (status != 0)
        return status;
    rank_record_latency(test->domain.rank, "latency", rank_now() - began);
    rank_progress(test->domain.rank);
    if (memcmp(wildcard->in, question, test->bytes) != 0)
        return rank_fail(test->domain.rank, "the answer is not the question's echo");
    return 0;
}

static int ask_all(struct test *test)
{
    uint64_t asked = 0;
    int status = open_wildcards(test, 1);

    while (asked < test->requests && status == 0) {
        status = ask(test, asked + 1);
        asked += status == 0;
    }
    test->missing = test->requests - asked;
    return status < 0 ? -1 : 0;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int run(struct rank *rank)
{
    struct test test = {
        .bytes = (uint16_t)rank_arg_count(rank, "bytes"),
        .wildcards = (uint32_t)rank_arg_count(rank, "wildcards"),
        .requests = rank_arg_count(rank, "requests"),
        .wait_ms = (uint32_t)(rank_arg_ps(rank, "give_up") / (1000ull * 1000 * 1000)),
    };
    bool server = rank_id(rank) == 0;
    int status = wl_domain_open(&test.domain, rank, 64, 0);

    test.cards = calloc(server ? test.wildcards : 1, sizeof(*test.cards));
    test.answers = calloc(server ? rank_size(rank) : 1, sizeof(*test.answers));
    if (status == 0)
        status = server ? serve(&test) : ask_all(&test);
    if (wl_domain_finish(&test.domain, test.missing) != 0)
        status = -1;
    if (status == 0 && server)
        status = close_wildcards(&test);
    wl_domain_close(&test.domain);
    free(test.cards);
    free(test.answers);
    return status != 0;
}

static const struct workload wildcard_server = {
    .name = "wildcard_server",
    .meaning = "clients ask by datagram, rank 0 has wildcards posted and answers with the echo",
    .metrics = "latency (ps, question to answer), rate (1/s, at rank 0)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(wildcard_server)
