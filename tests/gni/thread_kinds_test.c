/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads that use endpoints of all kinds at the same time, none of which may starve. */
#include "thread_frame.h"

/* ---- all kinds of endpoints ------------------------------------------------------------------ */

#define TURNS 600u
#define TURN_PS (200 * MS) /* at most, so that all of it takes about a minute */
#define CONTEXTS 2u
#define RX_BITS 1

struct fair {
    struct rank *rank;
    struct gni_side side; /* with an RDM endpoint */
    struct fid_cq *sep_cq, *set_cq;
    struct fid_wait *set;
    struct fid_av *sep_av;
    struct fid_ep *sep, *tx[CONTEXTS], *rx[CONTEXTS],
        *served; /* served: its receives are waited for */
    fi_addr_t contexts[2], servers[2]; /* by rank */
    struct party party;
};

static int ping(struct gni_side *side, struct fid_cq *cq, struct fid_ep *tx, struct fid_ep *rx,
                fi_addr_t to, uint64_t number)
{
    struct fi_cq_tagged_entry entry;
    struct rank *rank = side->rank;
    uint64_t in = ~number;
    int turn;

    EXPECT_IS(fi_recv(rx, &in, 8, NULL, FI_ADDR_UNSPEC, &in), 0);
    for (turn = 0; turn < 2; turn++) {
        if (turn == (int)side->id)
            EXPECT_IS(gni_again(side, fi_inject(tx, &number, 8, to)), 0);
        else
            TRY(gni_entry(side, cq, &entry));
    }
    EXPECT_IS(in, number);
    return 0;
}

static int rdm_main(struct rank *rank, void *arg)
{
    struct fair *f = arg;
    uint64_t i;

    for (i = 0; i < TURNS; i++) {
        gni_pause(rank, rank_random(rank) % TURN_PS);
        TRY(ping(&f->side, f->side.tx_cq, f->side.ep, f->side.ep, f->side.peers[1 - f->side.id],
                 i));
    }
    return 0;
}

static int sep_main(struct rank *rank, void *arg)
{
    struct fair *f = arg;
    uint64_t i;

    for (i = 0; i < TURNS; i++) {
        gni_pause(rank, rank_random(rank) % TURN_PS);
        TRY(ping(&f->side, f->sep_cq, f->tx[i % CONTEXTS], f->rx[i / 2 % CONTEXTS],
                 fi_rx_addr(f->contexts[1 - f->side.id], (int)(i / 2 % CONTEXTS), RX_BITS), i));
    }
    return 0;
}

/* Rank 1 connects, again and again. */
static int msg_main(struct rank *rank, void *arg)
{
    struct party *party = &((struct fair *)arg)->party;
    struct event event;
    uint64_t i;

    for (i = 0; i < TURNS; i++) {
        if (rank_id(rank) == 1) {
            gni_pause(rank, rank_random(rank) % TURN_PS);
            TRY(endpoint(party, party->info));
            EXPECT_IS(fi_connect(party->ep, party->info->dest_addr, NULL, 0), 0);
        } else {
            TRY(next_event(party, &event));
            EXPECT_IS(event.kind, FI_CONNREQ);
            TRY(endpoint(party, event.cm.entry.info));
            EXPECT_IS(fi_accept(party->ep, NULL, 0), 0);
            fi_freeinfo(event.cm.entry.info);
        }
        TRY(next_event(party, &event));
        EXPECT_IS(event.kind, FI_CONNECTED);
        TRY(talk(party, i, rank_id(rank) == 1));
        if (rank_id(rank) == 0) /* the rank that received the last message */
            EXPECT_IS(fi_shutdown(party->ep, 0), 0);
        TRY(next_event(party, &event));
        EXPECT(event.kind == FI_SHUTDOWN && event.cm.entry.fid == &party->ep->fid);
        EXPECT_IS(fi_close(&party->ep->fid), 0);
        party->ep = NULL;
    }
    return 0;
}

/* Rank 1 sends, rank 0 waits for it. */
static int wait_main(struct rank *rank, void *arg)
{
    struct fair *f = arg;
    struct fi_cq_tagged_entry entry;
    uint64_t i, word;
    ssize_t result;

    for (i = 0; i < TURNS; i++) {
        if (f->side.id == 1) {
            gni_pause(rank, rank_random(rank) % TURN_PS);
            EXPECT_IS(gni_again(&f->side, fi_inject(f->served, &i, 8, f->servers[0])), 0);
            continue;
        }
        EXPECT_IS(fi_recv(f->served, &word, 8, NULL, FI_ADDR_UNSPEC, &word), 0);
        while ((result = fi_cq_read(f->set_cq, &entry, 1)) == -FI_EAGAIN)
            EXPECT_IS(fi_wait(f->set, -1), 0);
        EXPECT_IS(result, 1);
        EXPECT_IS(word, i);
    }
    return 0;
}

static int open_sep(struct fair *f)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED};
    struct fi_av_attr av = {.type = FI_AV_TABLE, .rx_ctx_bits = RX_BITS};
    struct rank *rank = f->rank;
    struct gni_side *side = &f->side;
    struct fi_info *info = fi_dupinfo(side->info);
    char mine[48], all[2][48];
    size_t bytes = sizeof(mine);
    uint32_t i;

    info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = CONTEXTS;
    EXPECT_IS(fi_cq_open(side->domain, &attr, &f->sep_cq, NULL), 0);
    EXPECT_IS(fi_av_open(side->domain, &av, &f->sep_av, NULL), 0);
    EXPECT_IS(fi_scalable_ep(side->domain, info, &f->sep, NULL), 0);
    fi_freeinfo(info);
    EXPECT_IS(fi_scalable_ep_bind(f->sep, &f->sep_av->fid, 0), 0);
    for (i = 0; i < CONTEXTS; i++) {
        EXPECT_IS(fi_tx_context(f->sep, (int)i, NULL, &f->tx[i], NULL), 0);
        EXPECT_IS(fi_rx_context(f->sep, (int)i, NULL, &f->rx[i], NULL), 0);
        EXPECT_IS(fi_ep_bind(f->tx[i], &f->sep_cq->fid, FI_TRANSMIT), 0);
        EXPECT_IS(fi_ep_bind(f->rx[i], &f->sep_cq->fid, FI_RECV), 0);
        EXPECT_IS(fi_enable(f->tx[i]), 0);
        EXPECT_IS(fi_enable(f->rx[i]), 0);
    }
    EXPECT_IS(fi_enable(f->sep), 0);
    EXPECT_IS(fi_getname(&f->sep->fid, mine, &bytes), 0);
    rank_allgather(rank, mine, all, sizeof(mine));
    for (i = 0; i < 2; i++)
        EXPECT_IS(fi_av_insert(f->sep_av, all[i], 1, &f->contexts[i], 0, NULL), 1);
    return 0;
}

static int open_set(struct fair *f)
{
    struct fi_wait_attr attr = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_SET};
    struct rank *rank = f->rank;
    struct gni_side *side = &f->side;

    EXPECT_IS(fi_wait_open(side->fabric, &attr, &f->set), 0);
    cq.wait_set = f->set;
    EXPECT_IS(fi_cq_open(side->domain, &cq, &f->set_cq, NULL), 0);
    EXPECT_IS(fi_endpoint(side->domain, side->info, &f->served, NULL), 0);
    EXPECT_IS(fi_ep_bind(f->served, &f->set_cq->fid, FI_TRANSMIT | FI_RECV), 0);
    EXPECT_IS(fi_ep_bind(f->served, &side->av->fid, 0), 0);
    EXPECT_IS(fi_enable(f->served), 0);
    return gni_exchange(side, f->served, f->servers);
}

static int close_all(struct fair *f)
{
    struct rank *rank = f->rank;
    uint32_t i;

    for (i = 0; i < CONTEXTS; i++) {
        EXPECT_IS(fi_close(&f->tx[i]->fid), 0);
        EXPECT_IS(fi_close(&f->rx[i]->fid), 0);
    }
    EXPECT_IS(fi_close(&f->sep->fid), 0);
    EXPECT_IS(fi_close(&f->sep_av->fid), 0);
    EXPECT_IS(fi_close(&f->sep_cq->fid), 0);
    EXPECT_IS(fi_close(&f->served->fid), 0);
    EXPECT_IS(fi_close(&f->set_cq->fid), 0);
    EXPECT_IS(fi_close(&f->set->fid), 0);
    TRY(party_close(&f->party));
    return gni_close(&f->side);
}

static int fair_body(struct rank *rank)
{
    static int (*const mains[])(struct rank *, void *) = {rdm_main, sep_main, msg_main, wait_main};
    struct fair *f = calloc(1, sizeof(*f));
    struct rank_thread *threads[4];
    uint64_t began;
    int i;

    f->rank = rank;
    f->party.wait_obj = FI_WAIT_UNSPEC;
    TRY(gni_open(&f->side, rank, &plain));
    TRY(open_sep(f));
    TRY(open_set(f));
    TRY(party_open(&f->party, rank));
    began = rank_now();
    for (i = 0; i < 4; i++)
        threads[i] = rank_thread_start(rank, mains[i], f);
    for (i = 0; i < 4; i++)
        EXPECT_IS(rank_thread_join(rank, threads[i]), 0);
    EXPECT(rank_now() - began >= 60000 * MS);
    rank_barrier(rank);
    TRY(close_all(f));
    free(f);
    return 0;
}

static void gni_162_all_kinds_of_endpoints(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= 3; seed++)
        gni_run(&(struct gni_machine){.ranks = 2, .seed = seed, .per_node = seed == 3 ? 2 : 1},
                fair_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_162_all_kinds_of_endpoints),
    };

    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
