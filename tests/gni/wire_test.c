/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections as a peer sees them that is made by hand (wire_peer.h): every row of the tables of
 * states. The last test prints which transitions and rows were taken, and fails when one was not.
 */
#include "wire_frame.h"

uint64_t taken[STATES][STATES];

struct row rows[ROWS] = {
    {"1", "first operation: the connection is created", 0},
    {"2", "request sent", 0},
    {"3", "the peer's request came first: nothing is sent", 0},
    {"4", "request cannot be sent now: it waits", 0},
    {"5", "no mailbox for a request: it waits", 0},
    {"6", "a request from a new peer", 0},
    {"7", "a request for a connection that has not begun", 0},
    {"8", "answer sent", 0},
    {"9", "no mailbox for an answer: it waits", 0},
    {"10", "the answer came", 0},
    {"11", "an unexpected answer", 0},
    {"12", "data before the connection is known", 0},
    {"13", "to itself", 0},
    {"14", "a request for an unknown endpoint", 0},
    {"15", "a connection that cannot be made", 0},
    {"16", "an operation of one that is connected", 0},
    {"17", "one side closes", 0},
    {"c1", "simultaneous connect: ours was first", 0},
    {"c2", "simultaneous connect: theirs was first", 0},
    {"c3", "a request while ours waits to be sent", 0},
    {"c4", "a request of a peer that has come back", 0},
    {"c5", "two requests in one exchange", 0},
    {"c6", "a request again while its answer waits", 0},
};

static int fails(struct scene *s, const void *context, int error)
{
    struct fi_cq_err_entry entry;
    struct rank *rank = s->rank;

    TRY(gni_error(&s->side, s->side.tx_cq, &entry));
    EXPECT(entry.op_context == context);
    EXPECT_IS(entry.err, error);
    return 0;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The same answer twice; one of another peer; the request again. */
static int answers_body(struct rank *rank)
{
    struct gnip_conn theirs, answer;
    struct scene s;
    uint64_t word = 4;

    TRY(scene_open(&s, rank, &alone));
    if (s.by_hand) {
        TRY(wire_expect(&s.wire, GNIP_CONN_REQ, &theirs));
        TRY(wire_connect(&s.wire, &s.names[1], &theirs));
        TRY(wire_respond(&s.wire, &s.names[1], &theirs));
        TRY(wire_respond(&s.wire, &s.names[1], &theirs));
        s.wire.vc = 101;
        TRY(wire_respond(&s.wire, &s.names[1], &theirs));
        TRY(wire_expect(&s.wire, GNIP_CONN_CLOSE, &answer));
        s.wire.vc = 100;
        theirs.source_vc ^= 1u << 16; /* another generation */
        TRY(wire_respond(&s.wire, &s.names[1], &theirs));
        TRY(wire_expect(&s.wire, GNIP_CONN_CLOSE, &answer));
        TRY(wire_request(&s.wire, &s.names[1]));
        TRY(wire_expect(&s.wire, GNIP_CONN_RESP, &answer));
        TRY(wire_receive_word(&s.wire, 4));
        TRY(wire_say(&s.wire, 5));
        TRY(wire_bye(&s.wire));
    } else {
        TRY(post(&s, s.side.ep, &word));
        TRY(done(&s, &word));
        TRY(receive_word(&s, 5));
        EXPECT_IS(counts(&s.side)->conn_resp, 1);
        EXPECT_IS(counts(&s.side)->transitions[GNIP_VC_CONNECTING][GNIP_VC_CONNECTED], 1);
        row("11");
        EXPECT_IS(fi_close(&s.side.ep->fid), 0);
        s.side.ep = NULL;
    }
    return scene_close(&s);
}

static void states_answers(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, answers_body);
}

/* What the peer says to four requests: later; no; closed; and nonsense. Then it agrees. */
static int refuse(struct scene *s)
{
    const struct gnip_name *to = &s->names[1];
    struct gnip_conn theirs, answer;

    TRY(wire_expect(&s->wire, GNIP_CONN_REQ, &theirs));
    TRY(wire_send_header(&s->wire, to, &theirs, GNIP_CONN_NAK, GNIP_NAK_NO_RESOURCES));
    TRY(wire_expect(&s->wire, GNIP_CONN_REQ, &theirs));
    TRY(wire_send_header(&s->wire, to, &theirs, GNIP_CONN_NAK, GNIP_NAK_UNKNOWN));
    rank_barrier(s->rank);
    TRY(wire_expect(&s->wire, GNIP_CONN_REQ, &theirs));
    TRY(wire_send_header(&s->wire, to, &theirs, GNIP_CONN_CLOSE, GNIP_NAK_UNKNOWN));
    rank_barrier(s->rank);
    TRY(wire_expect(&s->wire, GNIP_CONN_REQ, &theirs));
    answer = wire_conn(&s->wire, GNIP_CONN_RESP, theirs.source_cdm);
    answer.target_vc = theirs.source_vc;
    answer.mailbox.credits = 1;
    TRY(wire_send(&s->wire, to, &answer, sizeof(answer), NULL, NULL));
    rank_barrier(s->rank);
    TRY(wire_expect(&s->wire, GNIP_CONN_REQ, &theirs));
    TRY(wire_connect(&s->wire, to, &theirs));
    TRY(wire_respond(&s->wire, to, &theirs));
    TRY(wire_receive_word(&s->wire, 4));
    return wire_bye(&s->wire);
}

static int refused_body(struct rank *rank)
{
    struct scene s;
    uint64_t word = 4;

    TRY(scene_open(&s, rank, &alone));
    if (s.by_hand) {
        TRY(nobody(&s));
        rank_barrier(rank);
        TRY(refuse(&s));
    } else {
        const struct gnip_counts *c = counts(&s.side);

        rank_barrier(rank);
        TRY(post(&s, s.side.ep, &word));
        TRY(fails(&s, &word, FI_ENOTCONN));
        EXPECT_IS(c->transitions[GNIP_VC_CONNECTING][GNIP_VC_NONE], 1);
        EXPECT_IS(c->transitions[GNIP_VC_CONNECTING][GNIP_VC_ERROR], 1);
        rank_barrier(rank);
        TRY(post(&s, s.side.ep, &word));
        TRY(fails(&s, &word, FI_ENOTCONN));
        EXPECT_IS(c->transitions[GNIP_VC_CONNECTING][GNIP_VC_TERMINATING], 1);
        rank_barrier(rank);
        TRY(post(&s, s.side.ep, &word));
        TRY(fails(&s, &word, FI_EOPNOTSUPP));
        EXPECT_IS(c->transitions[GNIP_VC_CONNECTING][GNIP_VC_ERROR], 2);
        row("15");
        rank_barrier(rank);
        TRY(post(&s, s.side.ep, &word));
        TRY(done(&s, &word));
        EXPECT_IS(c->conn_nak, 1);
        EXPECT_IS(fi_close(&s.side.ep->fid), 0);
        s.side.ep = NULL;
    }
    return scene_close(&s);
}

static void states_refusals(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, refused_body);
}

/* ---- what has to wait ------------------------------------------------------------------------ */

/* All memory descriptors of the NIC. */
struct hoard {
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_mem_handle_t *handles;
    uint32_t count;
    uint8_t *page;
};

#define HOARD 100000u

static int hoard_open(struct hoard *h, struct rank *rank)
{
    uint32_t address;

    h->handles = calloc(HOARD, sizeof(*h->handles));
    h->page = aligned_alloc(4096, 4096);
    h->count = 0;
    GNI(GNI_CdmCreate(0x654321, rank_ptag(rank), rank_cookie(rank), GNI_CDM_MODE_ERR_NO_KILL,
                      &h->cdm));
    GNI(GNI_CdmAttach(h->cdm, 0, &address, &h->nic));
    while (h->count < HOARD &&
           GNI_MemRegister(h->nic, (uintptr_t)h->page, 4096, NULL, GNI_MEM_READWRITE, UINT32_MAX,
                           &h->handles[h->count]) == GNI_RC_SUCCESS)
        h->count++;
    EXPECT(h->count > 0 && h->count < HOARD);
    return 0;
}

static int hoard_close(struct hoard *h, struct rank *rank)
{
    GNI(GNI_CdmDestroy(h->cdm));
    free(h->handles);
    free(h->page);
    return 0;
}

static int exhausted_body(struct rank *rank)
{
    struct hoard hoard;
    struct scene s;
    uint64_t word = 4;

    TRY(scene_open(&s, rank, &alone));
    if (s.by_hand) {
        struct gnip_conn theirs;

        rank_barrier(rank);
        TRY(wire_request(&s.wire, &s.names[1]));
        gni_pause(rank, MS);
        TRY(wire_request(&s.wire, &s.names[1]));
        rank_barrier(rank);
        TRY(wire_expect(&s.wire, GNIP_CONN_RESP, &theirs));
        TRY(wire_connect(&s.wire, &s.names[1], &theirs));
        TRY(wire_receive_word(&s.wire, 4));
        TRY(wire_say(&s.wire, 5));
        TRY(wire_bye(&s.wire));
    } else {
        TRY(hoard_open(&hoard, rank));
        TRY(post(&s, s.side.ep, &word));
        gni_pause(rank, MS);
        EXPECT_IS(state_of(&s, s.side.ep), GNIP_VC_NONE);
        EXPECT(vc_to(&s, s.side.ep)->connect.queued || vc_to(&s, s.side.ep)->connect.running);
        row("5");
        rank_barrier(rank);
        TRY(expect_state(&s, s.side.ep, GNIP_VC_CONNECTING));
        row("7");
        rank_barrier(rank);
        gni_pause(rank, MS);
        EXPECT_IS(state_of(&s, s.side.ep), GNIP_VC_CONNECTING);
        EXPECT(vc_to(&s, s.side.ep)->answer && counts(&s.side)->conn_resp == 0);
        row("9");
        TRY(hoard_close(&hoard, rank));
        TRY(done(&s, &word));
        TRY(receive_word(&s, 5));
        EXPECT_IS(counts(&s.side)->conn_resp, 1);
        EXPECT_IS(counts(&s.side)->conn_req, 0);
        row("c6");
        EXPECT_IS(fi_close(&s.side.ep->fid), 0);
        s.side.ep = NULL;
    }
    return scene_close(&s);
}

static void states_no_mailbox(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, exhausted_body);
}

/* Two endpoints ask the same peer; the second has to wait, and the peer asks that one itself. */
static int queued_body(struct rank *rank)
{
    struct gnip_name names[2], mine;
    struct gnip_conn conn, theirs, answer;
    size_t bytes = sizeof(mine);
    struct fid_ep *second, *third;
    struct scene s;
    uint64_t words[3] = {4, 5, 6};
    bool simultaneous = false;

    TRY(scene_open(&s, rank, &alone));
    if (!s.by_hand) {
        TRY(gni_endpoint(&s.side, &second));
        TRY(gni_endpoint(&s.side, &third));
        EXPECT_IS(fi_getname(&second->fid, &mine, &bytes), 0);
    }
    rank_allgather(rank, &mine, names, sizeof(mine));
    if (s.by_hand) {
        rank_barrier(rank);
        conn = wire_conn(&s.wire, GNIP_CONN_REQ, names[1].cdm_id);
        TRY(wire_send(&s.wire, &names[1], &conn, sizeof(conn), &theirs, &simultaneous));
        EXPECT(simultaneous && theirs.type == GNIP_CONN_REQ &&
               theirs.source_cdm == s.names[1].cdm_id);
        row("c5");
        TRY(wire_expect(&s.wire, GNIP_CONN_RESP, &answer));
        TRY(wire_connect(&s.wire, &names[1], &answer));
        TRY(wire_receive_word(&s.wire, 5));
        TRY(wire_send_header(&s.wire, &s.names[1], &theirs, GNIP_CONN_NAK, GNIP_NAK_UNKNOWN));
        TRY(wire_bye(&s.wire));
    } else {
        TRY(post(&s, s.side.ep, &words[0]));
        EXPECT_IS(state_of(&s, s.side.ep), GNIP_VC_CONNECTING);
        TRY(post(&s, second, &words[1]));
        TRY(post(&s, third, &words[2]));
        gni_pause(rank, 100 * US);
        EXPECT_IS(state_of(&s, second), GNIP_VC_NONE);
        EXPECT(vc_to(&s, second)->connect.queued || vc_to(&s, second)->connect.running);
        row("4");
        EXPECT_IS(fi_close(&third->fid), 0); /* one that has not begun ends at once */
        EXPECT_IS(counts(&s.side)->transitions[GNIP_VC_NONE][GNIP_VC_TERMINATED], 1);
        rank_barrier(rank);
        TRY(done(&s, &words[1]));
        EXPECT_IS(counts(&s.side)->conn_req, 1);
        EXPECT_IS(counts(&s.side)->conn_resp, 1);
        row("c3");
        TRY(fails(&s, &words[0], FI_ENOTCONN));
        EXPECT(!vc_to(&s, second)->connect.queued);
        row("3");
        EXPECT_IS(fi_close(&second->fid), 0);
    }
    return scene_close(&s);
}

static void states_waiting_requests(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2, .yaml = GNI_BREAKS("libfabric.completion-dropped")},
            queued_body);
}

/* ---- crossing, to itself --------------------------------------------------------------------- */

/*
 * Two providers that connect at the same time or nearly. One that gets the other's request while
 * its own is in flight takes part in a simultaneous connect.
 */
static int simultaneous_body(struct rank *rank)
{
    struct fi_cq_tagged_entry entry;
    uint64_t out = rank_id(rank), in = ~0ull;
    struct gni_side side;
    int i;

    TRY(gni_open(&side, rank, &(struct gni_how){0}));
    EXPECT_IS(fi_recv(side.ep, &in, sizeof(in), NULL, FI_ADDR_UNSPEC, &in), 0);
    rank_barrier(rank);
    EXPECT_IS(
        gni_again(&side, fi_send(side.ep, &out, sizeof(out), NULL, side.peers[1 - side.id], &out)),
        0);
    for (i = 0; i < 2; i++)
        TRY(gni_entry(&side, side.tx_cq, &entry));
    EXPECT_IS(in, 1 - side.id);
    EXPECT(counts(&side)->conn_req == 1 && counts(&side)->conn_resp == 0);
    EXPECT_IS(counts(&side)->transitions[GNIP_VC_CONNECTING][GNIP_VC_CONNECTED], 1);
    row(side.id == 0 ? "c1" : "c2");
    /* to itself: one mailbox, nothing is sent */
    EXPECT_IS(fi_recv(side.ep, &in, sizeof(in), NULL, FI_ADDR_UNSPEC, &in), 0);
    EXPECT_IS(fi_send(side.ep, &out, sizeof(out), NULL, side.peers[side.id], &out), 0);
    for (i = 0; i < 2; i++)
        TRY(gni_entry(&side, side.tx_cq, &entry));
    EXPECT_IS(counts(&side)->transitions[GNIP_VC_NONE][GNIP_VC_CONNECTED], 1);
    EXPECT(counts(&side)->conn_req == 1 && counts(&side)->conn_resp == 0);
    row("13");
    rank_barrier(rank);
    return leave(&side);
}

static void states_simultaneous(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, simultaneous_body);
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* The peer sends nonsense; there is a new connection; then it dies while the provider closes. */
static int nonsense_body(struct rank *rank)
{
    struct gnip_header nonsense = {.kind = 99};
    struct gnip_conn theirs;
    struct scene s;
    uint64_t word = 4;

    TRY(scene_open(&s, rank, &alone));
    if (s.by_hand) {
        TRY(ask(&s));
        TRY(wire_smsg(&s.wire, &nonsense, sizeof(nonsense), NULL, 0));
        TRY(wire_expect(&s.wire, GNIP_CONN_CLOSE, &theirs));
        GNI(GNI_EpDestroy(s.wire.ep));
        memset(s.wire.mailbox, 0, s.wire.mailbox_bytes);
        s.wire.vc = 101;
        TRY(wire_expect(&s.wire, GNIP_CONN_REQ, &theirs));
        TRY(wire_connect(&s.wire, &s.names[1], &theirs));
        TRY(wire_respond(&s.wire, &s.names[1], &theirs));
        TRY(wire_receive_word(&s.wire, 4));
    } else {
        const struct gnip_counts *c = counts(&s.side);

        TRY(expect_state(&s, s.side.ep, GNIP_VC_CONNECTED));
        while (c->transitions[GNIP_VC_ERROR][GNIP_VC_TERMINATED] == 0)
            fi_cq_read(s.side.tx_cq, NULL, 0);
        EXPECT_IS(c->transitions[GNIP_VC_CONNECTED][GNIP_VC_ERROR], 1);
        TRY(post(&s, s.side.ep, &word));
        TRY(done(&s, &word));
    }
    return scene_close(&s); /* the peer cannot be informed any more */
}

static void gni_145_states_of_ends(void **state)
{
    uint64_t before = taken[GNIP_VC_TERMINATING][GNIP_VC_ERROR];

    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, nonsense_body);
    assert_int_equal(taken[GNIP_VC_TERMINATING][GNIP_VC_ERROR], before + 1);
}

/* The peer's connection fails when it has taken so many of two messages, which have completed. */
static int closed_after(struct rank *rank, uint32_t taken_messages)
{
    uint64_t words[2] = {4, 5};
    struct fi_cq_tagged_entry entry;
    struct gnip_conn theirs;
    struct scene s;
    ssize_t result;

    TRY(scene_open(&s, rank, &alone));
    if (s.by_hand) {
        TRY(wire_expect(&s.wire, GNIP_CONN_REQ, &theirs));
        TRY(wire_connect(&s.wire, &s.names[1], &theirs));
        TRY(wire_respond(&s.wire, &s.names[1], &theirs));
        rank_barrier(rank);
        s.wire.taken = taken_messages * gnip_eager_cost(sizeof(words[0]));
        TRY(wire_send_header(&s.wire, &s.names[1], &theirs, GNIP_CONN_CLOSE, 0));
        TRY(wire_expect(&s.wire, GNIP_CONN_CLOSE_ACK, &theirs));
    } else {
        TRY(post(&s, s.side.ep, &words[0]));
        TRY(post(&s, s.side.ep, &words[1]));
        TRY(done(&s, &words[0]));
        TRY(done(&s, &words[1]));
        rank_barrier(rank);
        if (taken_messages < 2) {
            while ((result = fi_cq_read(s.side.tx_cq, &entry, 1)) == -FI_EAGAIN)
                ;
            EXPECT_IS(result, -FI_ENOTCONN);
        }
        TRY(gni_silence(&s.side, s.side.tx_cq, 3000));
        EXPECT_IS(counts(&s.side)->transitions[GNIP_VC_CONNECTED][GNIP_VC_TERMINATING], 1);
    }
    return scene_close(&s);
}

static int nothing_taken_body(struct rank *rank)
{
    return closed_after(rank, 0);
}

static int one_taken_body(struct rank *rank)
{
    return closed_after(rank, 1);
}

static int both_taken_body(struct rank *rank)
{
    return closed_after(rank, 2);
}

static void states_lost_messages_are_reported(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, nothing_taken_body);
    gni_run(&(struct gni_machine){.ranks = 2}, one_taken_body);
    gni_run(&(struct gni_machine){.ranks = 2}, both_taken_body);
}

/* There is no such NIC. */
static int no_nic_body(struct rank *rank)
{
    struct gnip_name name = {.device_addr = 0x3fffff,
                             .cdm_id = 5,
                             .name_type = GNIP_BOUND,
                             .cm_nic_cdm_id = 5,
                             .cookie = rank_cookie(rank)};
    struct fi_cq_err_entry error;
    struct gni_side side;
    fi_addr_t to;
    uint64_t word;

    TRY(gni_open(&side, rank, &alone));
    EXPECT_IS(fi_av_insert(side.av, &name, 1, &to, 0, NULL), 1);
    EXPECT_IS(gni_again(&side, fi_send(side.ep, &word, 8, NULL, to, &word)), 0);
    TRY(gni_error(&side, side.tx_cq, &error));
    EXPECT(error.op_context == &word && error.err != FI_ECANCELED);
    return leave(&side);
}

static void states_no_such_nic(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, no_nic_body);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void states_all_were_taken(void **state)
{
    static const char *const names[STATES] = {
        "new", "none", "connecting", "connected", "terminating", "terminated", "error"};
    static const struct {
        int from, to;
    } table[] = {
        {0, GNIP_VC_NONE},
        {GNIP_VC_NONE, GNIP_VC_CONNECTING},
        {GNIP_VC_NONE, GNIP_VC_CONNECTED},
        {GNIP_VC_NONE, GNIP_VC_TERMINATED},
        {GNIP_VC_NONE, GNIP_VC_ERROR},
        {GNIP_VC_CONNECTING, GNIP_VC_NONE},
        {GNIP_VC_CONNECTING, GNIP_VC_CONNECTED},
        {GNIP_VC_CONNECTING, GNIP_VC_TERMINATING},
        {GNIP_VC_CONNECTING, GNIP_VC_ERROR},
        {GNIP_VC_CONNECTED, GNIP_VC_TERMINATING},
        {GNIP_VC_CONNECTED, GNIP_VC_ERROR},
        {GNIP_VC_TERMINATING, GNIP_VC_TERMINATED},
        {GNIP_VC_TERMINATING, GNIP_VC_ERROR},
        {GNIP_VC_TERMINATED, GNIP_VC_NONE},
        {GNIP_VC_ERROR, GNIP_VC_TERMINATED},
    };
    uint64_t all = 0, listed = 0;
    uint32_t missing = 0;
    size_t i, j;

    (void)state;
    printf("%-12s %-12s %s\n", "from", "to", "taken");
    for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        uint64_t count = taken[table[i].from][table[i].to];

        printf("%-12s %-12s %" PRIu64 "\n", names[table[i].from], names[table[i].to], count);
        listed += count;
        missing += count == 0;
    }
    for (i = 0; i < STATES; i++)
        for (j = 0; j < STATES; j++)
            all += taken[i][j];
    printf("%-5s %-50s %s\n", "row", "", "taken");
    for (i = 0; i < ROWS; i++) {
        printf("%-5s %-50s %u\n", rows[i].name, rows[i].meaning, rows[i].taken);
        missing += rows[i].taken == 0;
    }
    assert_int_equal(all, listed); /* no other transition */
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_53_died_and_came_back),
        cmocka_unit_test(gni_55_data_before_the_connection),
        cmocka_unit_test(gni_56_event_without_a_message),
        cmocka_unit_test(gni_56_messages_without_an_event),
        cmocka_unit_test(states_answers),
        cmocka_unit_test(states_refusals),
        cmocka_unit_test(states_no_mailbox),
        cmocka_unit_test(states_waiting_requests),
        cmocka_unit_test(states_simultaneous),
        cmocka_unit_test(gni_145_states_of_ends),
        cmocka_unit_test(states_lost_messages_are_reported),
        cmocka_unit_test(states_no_such_nic),
        cmocka_unit_test(states_all_were_taken),
    };

    return cmocka_run_group_tests_name("connections by hand", tests, NULL, NULL);
}
