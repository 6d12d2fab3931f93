/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A peer that is played by hand: events and messages that are early, missing or without each other.
 */
#include "wire_frame.h"

/* ---- messages and events at odd times -------------------------------------------------------- */

/* The peer uses its side before it sends the description of it. */
static int early_body(struct rank *rank)
{
    struct gnip_conn theirs;
    struct scene s;
    uint64_t word = 4;

    TRY(scene_open(&s, rank, &alone));
    if (s.by_hand) {
        TRY(wire_expect(&s.wire, GNIP_CONN_REQ, &theirs));
        TRY(wire_connect(&s.wire, &s.names[1], &theirs));
        TRY(wire_say(&s.wire, 5));
        TRY(wire_say(&s.wire, 6));
        gni_pause(rank, 2 * MS);
        rank_barrier(rank);
        TRY(wire_respond(&s.wire, &s.names[1], &theirs));
        TRY(wire_receive_word(&s.wire, 4));
        TRY(wire_bye(&s.wire));
    } else {
        TRY(post(&s, s.side.ep, &word));
        EXPECT_IS(counts(&s.side)->transitions[0][GNIP_VC_NONE], 1);
        row("1");
        EXPECT_IS(counts(&s.side)->conn_req, 1);
        EXPECT_IS(state_of(&s, s.side.ep), GNIP_VC_CONNECTING);
        row("2");
        TRY(gni_silence(&s.side, s.side.rx_cq, 1000));
        rank_barrier(rank);
        EXPECT(vc_to(&s, s.side.ep)->rx_events != 0);
        TRY(done(&s, &word));
        EXPECT_IS(counts(&s.side)->transitions[GNIP_VC_CONNECTING][GNIP_VC_CONNECTED], 1);
        EXPECT_IS(counts(&s.side)->conn_resp, 0);
        row("10");
        TRY(receive_word(&s, 5));
        TRY(receive_word(&s, 6));
        row("12");
        EXPECT_IS(fi_close(&s.side.ep->fid), 0);
        s.side.ep = NULL;
    }
    return scene_close(&s);
}

void gni_55_data_before_the_connection(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, early_body);
}

/* Writes nothing new into the peer's mailbox, with an event there. */
static int empty_event(struct scene *s, const struct gnip_conn *theirs)
{
    uint64_t at = theirs->mailbox.buffer + theirs->mailbox.offset + theirs->mailbox.bytes - 64;
    static _Alignas(64) uint8_t zeros[8];
    gni_post_descriptor_t descriptor = {
        .type = GNI_POST_FMA_PUT,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT,
        .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
        .local_addr = (uintptr_t)zeros,
        .remote_addr = at,
        .remote_mem_hndl = theirs->mailbox.handle,
        .length = sizeof(zeros),
    };
    gni_post_descriptor_t *ended;
    struct rank *rank = s->rank;
    gni_cq_entry_t entry;
    gni_return_t rc;

    GNI(GNI_PostFma(s->wire.ep, &descriptor));
    while ((rc = GNI_CqGetEvent(s->wire.tx_cq, &entry)) == GNI_RC_NOT_DONE)
        ;
    GNI(rc);
    GNI(GNI_GetCompleted(s->wire.tx_cq, entry, &ended));
    return 0;
}

static int empty_event_body(struct rank *rank)
{
    struct gnip_conn theirs;
    struct scene s;
    uint64_t i;

    TRY(scene_open(&s, rank, &alone));
    if (s.by_hand) {
        TRY(wire_request(&s.wire, &s.names[1]));
        TRY(wire_expect(&s.wire, GNIP_CONN_RESP, &theirs));
        TRY(wire_connect(&s.wire, &s.names[1], &theirs));
        for (i = 0; i < 3; i++) {
            TRY(empty_event(&s, &theirs));
            rank_barrier(rank);
            gni_pause(rank, 2 * MS);
            TRY(wire_say(&s.wire, i));
        }
        TRY(wire_bye(&s.wire));
    } else {
        for (i = 0; i < 3; i++) {
            rank_barrier(rank);
            TRY(gni_silence(&s.side, s.side.rx_cq, 500));
            EXPECT_IS(state_of(&s, s.side.ep), GNIP_VC_CONNECTED);
            TRY(receive_word(&s, i));
        }
        EXPECT_IS(fi_close(&s.side.ep->fid), 0);
        s.side.ep = NULL;
    }
    return scene_close(&s);
}

void gni_56_event_without_a_message(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, empty_event_body);
}

/* ---- messages whose events are missing --------------------------------------------------------
 */

static const struct gni_how by_hand_only = {.no_peers = true, .manual = true}; /* no helper polls */

#define LONG_BYTES 300u /* several packets */
#define ROOM 512u

/* A message that begins with this word. Its event names the VC only if it is `announced`. */
static int say(struct scene *s, const struct gnip_conn *theirs, uint64_t word, uint32_t bytes,
               bool announced)
{
    struct gnip_eager eager = {.h.kind = GNIP_EAGER, .bytes = bytes};
    uint64_t data[LONG_BYTES / 8 + 1] = {word};
    struct rank *rank = s->rank;

    s->wire.used += gnip_eager_cost(bytes);
    GNI(GNI_EpSetEventData(s->wire.ep, s->wire.vc, announced ? theirs->source_vc : 0));
    TRY(wire_smsg(&s->wire, &eager, sizeof(eager), data, bytes));
    return 0;
}

static int receive_any(struct scene *s, uint64_t expected)
{
    uint64_t words[ROOM / 8] = {~expected};
    struct rank *rank = s->rank;

    EXPECT_IS(fi_recv(s->side.ep, words, sizeof(words), NULL, FI_ADDR_UNSPEC, words), 0);
    TRY(done(s, words));
    EXPECT_IS(words[0], expected);
    return 0;
}

/* Both sides go on. */
static void turn(struct rank *rank)
{
    rank_barrier(rank);
    gni_pause(rank, MS);
}

static int silent_peer(struct scene *s)
{
    struct rank *rank = s->rank;
    struct gnip_conn theirs;
    uint64_t i;

    TRY(wire_request(&s->wire, &s->names[1]));
    TRY(wire_expect(&s->wire, GNIP_CONN_RESP, &theirs));
    TRY(wire_connect(&s->wire, &s->names[1], &theirs));
    turn(rank);
    TRY(say(s, &theirs, 0, 8, true));
    turn(rank); /* events are trusted: two messages, one event */
    TRY(say(s, &theirs, 1, 8, true));
    TRY(say(s, &theirs, 2, 8, false));
    turn(rank);
    GNI(GNI_EpSetEventData(s->wire.ep, s->wire.vc, theirs.source_vc));
    TRY(empty_event(s, &theirs));
    turn(rank);
    TRY(empty_event(s, &theirs));
    turn(rank); /* they are not, since that one: again two, one event */
    TRY(say(s, &theirs, 3, 8, false));
    TRY(say(s, &theirs, 4, 8, true));
    turn(rank);
    for (i = 5; i < 5 + WIRE_CREDITS; i++) { /* until as many came, one by one, as there may be */
        TRY(say(s, &theirs, i, 8, true));
        turn(rank);
    }
    /* behind a message of several packets there may be more in any case */
    TRY(say(s, &theirs, 100, LONG_BYTES, true));
    TRY(say(s, &theirs, 101, 8, false));
    turn(rank);
    return wire_bye(&s->wire);
}

static int silent_body(struct rank *rank)
{
    const struct gnip_vc *vc;
    struct scene s;
    uint64_t i;

    TRY(scene_open(&s, rank, &by_hand_only));
    if (s.by_hand) {
        TRY(silent_peer(&s));
        return scene_close(&s);
    }
    TRY(expect_state(&s, s.side.ep, GNIP_VC_CONNECTED));
    vc = vc_to(&s, s.side.ep);
    turn(rank);
    TRY(receive_any(&s, 0));
    EXPECT_IS(vc->rx_unannounced, 0);
    turn(rank);
    gni_pause(rank, 5 * MS); /* until both have come */
    TRY(receive_any(&s, 1));
    TRY(nothing(&s));
    turn(rank);
    TRY(receive_any(&s, 2));
    EXPECT_IS(vc->rx_unannounced, 0);
    turn(rank);
    TRY(nothing(&s));
    EXPECT_IS(vc->rx_unannounced, WIRE_CREDITS);
    turn(rank);
    TRY(receive_any(&s, 3));
    TRY(receive_any(&s, 4));
    EXPECT_IS(vc->rx_unannounced, WIRE_CREDITS);
    turn(rank);
    for (i = 5; i < 5 + WIRE_CREDITS; i++) {
        TRY(receive_any(&s, i));
        EXPECT_IS(vc->rx_unannounced, WIRE_CREDITS - (i - 4));
        turn(rank);
    }
    gni_pause(rank, 5 * MS);
    TRY(receive_any(&s, 100));
    TRY(receive_any(&s, 101));
    turn(rank);
    EXPECT_IS(fi_close(&s.side.ep->fid), 0);
    s.side.ep = NULL;
    return scene_close(&s);
}

void gni_56_messages_without_an_event(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, silent_body);
}
