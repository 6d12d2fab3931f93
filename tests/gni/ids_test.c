/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections that are made again and again: ids, memory and mailboxes are reused and never mixed
 * up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "fixture.h"
#include "gnip.h"
#include "nic.h"
#include "vc.h"
#include "port/list.h"

static const struct gni_how plain = {0};

/* Ids that the VCs of an EP have now; at most `room`. */
static uint32_t ids_of(struct gnip_ep *ep, uint32_t *ids, uint32_t room)
{
    const struct port_link *link;
    uint32_t count = 0;

    for (link = ep->vcs.next; link != &ep->vcs; link = link->next) {
        const struct gnip_vc *vc = gnip_container(link, const struct gnip_vc, ep_link);

        if (vc->id != 0 && count < room)
            ids[count++] = vc->id;
    }
    return count;
}

/* A guest is an endpoint of rank 1 that says one word and goes. */
static int guest(struct gni_side *side, uint64_t word)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    struct fid_ep *ep;

    TRY(gni_endpoint(side, &ep));
    EXPECT_IS(gni_again(side, fi_send(ep, &word, sizeof(word), NULL, side->peers[0], NULL)), 0);
    TRY(gni_entry(side, side->tx_cq, &entry)); /* what is not sent ends with the endpoint */
    EXPECT_IS(fi_close(&ep->fid), 0);
    return 0;
}

enum { GUESTS = 10000, RECENT = 64 };

static int host(struct gni_side *side)
{
    struct gnip_ep *ep = gnip_container(side->ep, struct gnip_ep, fid);
    const struct gnip_counts *counts = &ep->domain->ctx->counts;
    uint32_t ids[8], recent[RECENT] = {0}, next = 0, seen = 0, count, i, j;
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    uint64_t word, number;

    for (number = 0; number < GUESTS; number++) {
        EXPECT_IS(fi_recv(side->ep, &word, sizeof(word), NULL, FI_ADDR_UNSPEC, &word), 0);
        TRY(gni_entry(side, side->rx_cq, &entry));
        EXPECT_IS(word, number);
        count = ids_of(ep, ids, 8);
        EXPECT(count <= 4); /* those that are gone are gone */
        for (i = 0; i < count; i++) {
            for (j = 0; j < RECENT && recent[j] != ids[i]; j++)
                ;
            if (j < RECENT)
                continue; /* still, or again? */
            recent[next++ % RECENT] = ids[i];
            seen++;
        }
    }
    /* Had an id come again soon it would not have been new each time. */
    EXPECT(seen > GUESTS - GUESTS / 100);
    EXPECT(ep->nic->vc_slot_count < 200);
    EXPECT(ep->vc_count <= 4);
    EXPECT_IS(counts->mailboxes_lost, 0);
    EXPECT(counts->transitions[GNIP_VC_TERMINATING][GNIP_VC_TERMINATED] >= GUESTS - 4);
    EXPECT_IS(counts->transitions[GNIP_VC_CONNECTED][GNIP_VC_ERROR], 0);
    return 0;
}

static int guests_body(struct rank *rank)
{
    struct gni_side side;
    uint64_t number;

    TRY(gni_open(&side, rank, &plain));
    if (side.id == 0) {
        TRY(host(&side));
    } else {
        for (number = 0; number < GUESTS; number++)
            TRY(guest(&side, number));
    }
    rank_barrier(rank);
    return gni_close(&side);
}

static void gni_57_many_guests(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, guests_body);
}

/* ---- the table of a NIC ---------------------------------------------------------------------- */

static struct gnip_vc *vc_of_id(struct gnip_nic *nic, uint32_t id)
{
    struct gnip_vc *vc;

    gnip_lock(&nic->vc_lock);
    vc = gnip_vc_of_id(nic, id);
    gnip_unlock(&nic->vc_lock);
    return vc;
}

static int table_body(struct rank *rank)
{
    enum { AT_ONCE = 1000, TURNS = 200000 };
    static struct gnip_vc vcs[AT_ONCE];
    uint32_t ids[AT_ONCE] = {0}, *last = calloc(65536, sizeof(*last)), i, at, turn, old;
    struct gni_side side;
    struct gnip_nic *nic;

    TRY(gni_open(&side, rank, &plain));
    nic = gnip_container(side.ep, struct gnip_ep, fid)->nic;
    for (turn = 0; turn < TURNS; turn++) {
        at = (uint32_t)(rank_random(rank) % AT_ONCE);
        old = ids[at];
        if (old != 0) {
            EXPECT(vc_of_id(nic, old) == &vcs[at]);
            gnip_vc_id_put(nic, old);
            EXPECT(vc_of_id(nic, old) == NULL);
            ids[at] = 0;
            continue;
        }
        ids[at] = gnip_vc_id_get(nic, &vcs[at]);
        EXPECT(ids[at] != 0 && ids[at] >> 24 == 0);
        EXPECT(last[ids[at] & 0xffff] != ids[at]); /* another generation than before */
        last[ids[at] & 0xffff] = ids[at];
    }
    EXPECT(nic->vc_slot_count <= 1024);
    for (i = 0; i < AT_ONCE; i++)
        if (ids[i] != 0)
            gnip_vc_id_put(nic, ids[i]);
    free(last);
    return gni_close(&side);
}

static void gni_57_table(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, table_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_57_many_guests),
        cmocka_unit_test(gni_57_table),
    };

    return cmocka_run_group_tests_name("ids", tests, NULL, NULL);
}
