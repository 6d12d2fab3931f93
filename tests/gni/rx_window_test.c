/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Credits of the receive window between two endpoints, also when their numbers wrap around. */
#include "fault_frame.h"

#define US 1000000ull /* in ps */

/* ---- windows --------------------------------------------------------------------------------- */

/* Credits that were granted and not returned are counted once, and are not more than the pool. */
static int check_windows(struct rank *rank, const struct gnip_ep *ep)
{
    uint64_t slots = 0, messages = 0;
    const struct port_link *link;

    for (link = ep->vcs.next; link != &ep->vcs; link = link->next) {
        const struct gnip_vc *vc = gnip_container(link, struct gnip_vc, ep_link);

        slots += vc->rx_window;
        messages += vc->rx_messages_promised;
        if (vc->rx_window != 0)
            EXPECT_IS(vc->rx_credits - vc->rx_credits_used + vc->rx_credits_held, vc->rx_window);
        EXPECT(vc->rx_credits - vc->rx_credits_sent <= vc->rx_window);
    }
    EXPECT_IS(slots, ep->rx_credits_advertised);
    EXPECT_IS(messages, ep->rx_messages_advertised);
    EXPECT(slots <= GNIP_POOL_CREDITS && messages <= GNIP_POOL_MESSAGES);
    return 0;
}

static struct gnip_vc *vc_of_peer(const struct gni_side *side, uint32_t peer)
{
    struct gnip_ep *ep = gnip_ep_of(side->ep);
    struct gnip_name name;

    if (gnip_av_find(ep->av, side->peers[peer], &name) != 0)
        return NULL;
    return gnip_vc_of_name(ep, name.device_addr, name.cdm_id);
}

#define BURST 300u

static size_t length_of(uint32_t number, uint32_t from)
{
    return 4 + (number * 977 + from * 131) % 9000;
}

static int send_burst(struct gni_side *side, uint32_t first)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    uint8_t *bytes = malloc(10000);
    uint32_t i;

    for (i = first; i < first + BURST; i++) {
        gni_fill(bytes, length_of(i, side->id), i);
        memcpy(bytes, &i, 4);
        EXPECT_IS(gni_again(side, fi_send(side->ep, bytes, length_of(i, side->id), NULL,
                                          side->peers[0], bytes)),
                  0);
        TRY(gni_entry(side, side->tx_cq, &entry));
        TRY(check_windows(rank, gnip_ep_of(side->ep)));
    }
    free(bytes);
    return 0;
}

/* Late at first, so that messages wait; then as they come. */
static int receive_burst(struct gni_side *side, uint32_t *next)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    uint8_t *bytes = malloc(10000);
    uint32_t i, j, number;
    fi_addr_t source;

    for (i = 0; i < BURST * (side->size - 1); i++) {
        if (i % 200 == 0)
            gni_pause(rank, 100 * US);
        EXPECT_IS(fi_recv(side->ep, bytes, 10000, NULL, FI_ADDR_UNSPEC, bytes), 0);
        TRY(gni_entry_from(side, side->rx_cq, &entry, &source));
        TRY(check_windows(rank, gnip_ep_of(side->ep)));
        for (j = 1; j < side->size && side->peers[j] != source; j++)
            ;
        EXPECT(j < side->size);
        memcpy(&number, bytes, 4);
        EXPECT_IS(number, next[j]++);
        EXPECT_IS(entry.len, length_of(number, j));
        gni_fill(bytes, 4, number);
        EXPECT(gni_filled(bytes, entry.len, number));
    }
    free(bytes);
    return 0;
}

/* All is quiet: the numbers of both sides are set to just below 2^32. */
static int near_the_end(struct gni_side *side, uint32_t ahead)
{
    struct rank *rank = side->rank;
    uint32_t mine[8] = {0}, all[8][8], i;
    struct gnip_vc *vc;

    gni_pause(rank, 5 * MS);
    rank_barrier(rank);
    for (i = 1; side->id == 0 && i < side->size; i++) {
        vc = vc_of_peer(side, i);
        EXPECT(vc != NULL && vc->rx_credits_held == 0);
        mine[i] = 0u - ahead - vc->rx_credits;
        vc->rx_credits += mine[i];
        vc->rx_credits_sent += mine[i];
        vc->rx_credits_used += mine[i];
    }
    rank_allgather(rank, mine, all, sizeof(mine));
    if (side->id > 0) {
        vc = vc_of_peer(side, 0);
        EXPECT(vc != NULL);
        vc->tx_credits += all[0][side->id];
        vc->tx_credits_used += all[0][side->id];
    }
    rank_barrier(rank);
    return 0;
}

static int window_body(struct rank *rank)
{
    uint32_t next[8] = {0}, round;
    struct gni_side side;

    TRY(gni_open(&side, rank, &plain));
    for (round = 0; round < 4; round++) {
        if (round > 0)
            TRY(near_the_end(&side, 100 * round));
        TRY(side.id == 0 ? receive_burst(&side, next) : send_burst(&side, round * BURST));
        if (round > 0 && side.id > 0)
            EXPECT(vc_of_peer(&side, 0)->tx_credits_used < 1u << 30); /* it has wrapped around */
    }
    return gni_finish(&side);
}

static void gni_68_windows(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 4}, window_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_68_windows),
    };

    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
