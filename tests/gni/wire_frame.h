/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common to the files of the program wire_test: wire_event.c, wire_restart.c, wire_test.c. */
#ifndef GNI_WIRE_FRAME_H
#define GNI_WIRE_FRAME_H

/*
 * Connections as a peer sees them that is made by hand (wire_peer.h): every row of the tables of
 * states. The last test prints which transitions and rows were taken, and fails when one was not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <inttypes.h>
#include <stdio.h>
#include <cmocka.h>
#include "ctx.h"
#include "ep.h"
#include "vc.h"
#include "wire_peer.h"

#define US 1000000ull /* in ps */
#define MS 1000000000ull
#define WIRE_CDM 0x4321u

static __attribute__((unused)) const struct gni_how alone = {.no_peers = true};

/* ---- what was taken -------------------------------------------------------------------------- */

#define STATES 7
#define ROWS 23

/* All tests of the program count the transitions and rows that they have taken (wire_test.c). */
extern uint64_t taken[STATES][STATES];
/* Rows of docs/internals/gni-provider.md, "States of a connection". */
struct row {
    const char *name, *meaning;
    uint32_t taken;
};
extern struct row rows[ROWS];

/* wire_event.c and wire_restart.c */
void gni_55_data_before_the_connection(void **state);
void gni_56_event_without_a_message(void **state);
void gni_56_messages_without_an_event(void **state);
void gni_53_died_and_came_back(void **state);

static inline void row(const char *name)
{
    size_t i;

    for (i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            rows[i].taken++;
}

static inline const struct gnip_counts *counts(const struct gni_side *side)
{
    return &gnip_container(side->domain, struct gnip_domain, fid)->ctx->counts;
}

/* The end of a provider's side; what it counted is added. */
static inline int leave(struct gni_side *side)
{
    struct rank *rank = side->rank;
    uint32_t i, j;

    if (side->ep != NULL)
        EXPECT_IS(fi_close(&side->ep->fid), 0);
    side->ep = NULL;
    for (i = 0; i < STATES; i++)
        for (j = 0; j < STATES; j++)
            taken[i][j] += counts(side)->transitions[i][j];
    return gni_close(side);
}

/* ---- a provider and a peer by hand ----------------------------------------------------------- */

/* Rank 0 has the peer, rank 1 the provider. */
struct scene {
    struct rank *rank;
    struct gni_side side;
    struct wire wire;
    struct gnip_name names[2]; /* by rank */
    fi_addr_t to; /* the peer */
    bool by_hand;
};

static inline int scene_open(struct scene *s, struct rank *rank, const struct gni_how *how)
{
    size_t bytes = sizeof(s->names[0]);
    struct gnip_name mine;

    memset(s, 0, sizeof(*s));
    s->rank = rank;
    s->by_hand = rank_id(rank) == 0;
    if (s->by_hand) {
        TRY(wire_open(&s->wire, rank, WIRE_CDM, 100));
        mine = wire_name(&s->wire);
    } else {
        TRY(gni_open(&s->side, rank, how));
        EXPECT_IS(fi_getname(&s->side.ep->fid, &mine, &bytes), 0);
    }
    rank_allgather(rank, &mine, s->names, sizeof(mine));
    if (!s->by_hand)
        EXPECT_IS(fi_av_insert(s->side.av, &s->names[0], 1, &s->to, 0, NULL), 1);
    return 0;
}

/* The peer dies, then the provider ends. */
static inline int scene_close(struct scene *s)
{
    if (s->by_hand)
        TRY(wire_die(&s->wire));
    rank_barrier(s->rank);
    if (!s->by_hand)
        TRY(leave(&s->side));
    return 0;
}

static inline struct gnip_vc *vc_to(const struct scene *s, struct fid_ep *ep)
{
    return gnip_vc_of_name(gnip_ep_of(ep), s->names[0].device_addr, s->names[0].cdm_id);
}

/* The state of the connection to the peer, if there is one. */
static inline int state_of(const struct scene *s, struct fid_ep *ep)
{
    const struct gnip_vc *vc = vc_to(s, ep);

    return vc != NULL ? vc->state : 0;
}

/* Waits for it. */
static inline int expect_state(struct scene *s, struct fid_ep *ep, int state)
{
    struct rank *rank = s->rank;
    int tries;

    for (tries = 0; tries < 2000 && state_of(s, ep) != state; tries++) {
        fi_cq_read(s->side.tx_cq, NULL, 0);
        gni_pause(rank, 10 * US);
    }
    EXPECT_IS(state_of(s, ep), state);
    return 0;
}

static inline int post(struct scene *s, struct fid_ep *ep, uint64_t *word)
{
    struct rank *rank = s->rank;

    EXPECT_IS(gni_again(&s->side, fi_send(ep, word, sizeof(*word), NULL, s->to, word)), 0);
    return 0;
}

static inline int done(struct scene *s, const void *context)
{
    struct fi_cq_tagged_entry entry;
    struct rank *rank = s->rank;

    TRY(gni_entry(&s->side, s->side.tx_cq, &entry));
    EXPECT(entry.op_context == context);
    return 0;
}

static inline int receive_word(struct scene *s, uint64_t expected)
{
    struct rank *rank = s->rank;
    uint64_t word = ~expected;

    EXPECT_IS(fi_recv(s->side.ep, &word, sizeof(word), NULL, FI_ADDR_UNSPEC, &word), 0);
    TRY(done(s, &word));
    EXPECT_IS(word, expected);
    return 0;
}

/* The peer asks for a connection, and has one. */
static inline int ask(struct scene *s)
{
    struct gnip_conn theirs;

    TRY(wire_request(&s->wire, &s->names[1]));
    TRY(wire_expect(&s->wire, GNIP_CONN_RESP, &theirs));
    return wire_connect(&s->wire, &s->names[1], &theirs);
}

/* Nothing has arrived, and no queue is polled. */
static inline int nothing(struct scene *s)
{
    return gni_silence(&s->side, s->side.rx_cq, 3000);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static inline int nobody(struct scene *s)
{
    struct gnip_conn conn = wire_conn(&s->wire, GNIP_CONN_REQ, s->names[1].cdm_id + 77), theirs;
    struct gnip_conn_short nak;
    struct rank *rank = s->rank;

    TRY(wire_send(&s->wire, &s->names[1], &conn, sizeof(conn), NULL, NULL));
    TRY(wire_expect(&s->wire, GNIP_CONN_NAK, &theirs));
    memcpy(&nak, &theirs, sizeof(nak));
    EXPECT_IS(nak.reason, GNIP_NAK_UNKNOWN);
    EXPECT_IS(nak.target_vc, s->wire.vc);
    EXPECT_IS(nak.incarnation, s->wire.incarnation);
    row("14");
    return 0;
}

#endif
