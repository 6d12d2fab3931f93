/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A peer process that dies and comes back with the same address. */
#include "wire_frame.h"

static struct gnip_ep *ep_of(const struct gni_side *side)
{
    return gnip_ep_of(side->ep);
}

/* ---- peers that die and come back ------------------------------------------------------------ */

/* It dies after its request, and is back after `away`; or dies when it is connected. same_number:
 * of its connection, before and after. */
static int restart(struct rank *rank, uint64_t away, bool connected, bool same_number)
{
    struct scene s;
    uint64_t word = 8;
    uint32_t vc;

    TRY(scene_open(&s, rank, &alone));
    if (s.by_hand) {
        TRY(connected ? ask(&s) : wire_request(&s.wire, &s.names[1]));
        if (connected)
            TRY(wire_say(&s.wire, 3));
        rank_barrier(rank);
        TRY(wire_die(&s.wire));
        gni_pause(rank, away);
        vc = s.wire.vc;
        TRY(wire_open(&s.wire, rank, WIRE_CDM, 200));
        if (same_number) /* as real processes, which count their connections from the same number */
            s.wire.vc = vc;
        TRY(ask(&s));
        TRY(wire_say(&s.wire, 7));
        TRY(wire_receive_word(&s.wire, 8));
        TRY(wire_bye(&s.wire));
    } else {
        if (connected)
            TRY(receive_word(&s, 3));
        rank_barrier(rank);
        TRY(receive_word(&s, 7));
        row(connected ? "c4" : "6");
        EXPECT(counts(&s.side)->conn_resp >= 2 && counts(&s.side)->conn_req == 0);
        row("8");
        TRY(post(&s, s.side.ep, &word));
        TRY(done(&s, &word));
        row("16");
        /* nothing is left of the first one */
        EXPECT_IS(ep_of(&s.side)->vc_count, 1);
        EXPECT_IS(vc_to(&s, s.side.ep)->incarnation, 200);
        EXPECT(counts(&s.side)->mailboxes_lost <= 1);
        EXPECT_IS(fi_close(&s.side.ep->fid), 0);
        s.side.ep = NULL;
        row("17");
    }
    return scene_close(&s);
}

static int restart_at_once(struct rank *rank)
{
    return restart(rank, 1, false, false);
}

static int restart_soon(struct rank *rank)
{
    return restart(rank, 100 * US, false, false);
}

static int restart_late(struct rank *rank)
{
    return restart(rank, 3000 * MS, false, false);
}

static int restart_connected(struct rank *rank)
{
    return restart(rank, 1 * MS, true, false);
}

static int restart_connected_same_number(struct rank *rank)
{
    return restart(rank, 1 * MS, true, true);
}

void gni_53_died_and_came_back(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, restart_at_once);
    gni_run(&(struct gni_machine){.ranks = 2}, restart_soon);
    gni_run(&(struct gni_machine){.ranks = 2}, restart_late);
    gni_run(&(struct gni_machine){.ranks = 2}, restart_connected);
    gni_run(&(struct gni_machine){.ranks = 2}, restart_connected_same_number);
}
