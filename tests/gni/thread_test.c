/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that share an endpoint, and threads that share nothing (thread_frame.h).
 */
#include "thread_frame.h"

static const struct gnip_nic *shared_nics[2]; /* by rank */

/* ---- threads that share an endpoint ---------------------------------------------------------- */

#define SHARERS 64u
#define EACH 157u /* messages of a thread to the one with its number: 10,048 in all */

struct sharer {
    struct crowd *crowd;
    uint32_t number;
    uint64_t in, out; /* numbers of messages */
    bool received, sent; /* the operations in flight have ended */
    struct rank_thread *thread;
};

struct crowd {
    struct gni_side side;
    struct sharer sharers[SHARERS];
    bool reading; /* one thread reads the queue; the others wait until it has read their entries */
    bool failed;
};

static bool may_go_on(const void *arg)
{
    const struct sharer *s = arg;

    return (s->received && s->sent) || !s->crowd->reading || s->crowd->failed;
}

/* The operation of a thread has ended. */
static int book(struct crowd *c, const struct fi_cq_tagged_entry *entry)
{
    uint8_t *at = entry->op_context;
    struct rank *rank = c->side.rank;
    struct sharer *s;
    size_t i;

    EXPECT(at >= (uint8_t *)c->sharers && at < (uint8_t *)(c->sharers + SHARERS));
    i = (size_t)(at - (uint8_t *)c->sharers) / sizeof(*s);
    s = &c->sharers[i];
    if ((entry->flags & FI_RECV) != 0) {
        EXPECT(at == (uint8_t *)&s->in && !s->received);
        EXPECT_IS(entry->tag, (uint64_t)s->number << 32 | s->in);
        s->received = true;
    } else {
        EXPECT(at == (uint8_t *)&s->out && !s->sent);
        s->sent = true;
    }
    return 0;
}

/* Waits until both operations of the thread have ended; the thread that reads does it for all. */
static int both_end(struct sharer *s)
{
    struct fi_cq_tagged_entry entry;
    struct crowd *c = s->crowd;
    struct rank *rank = c->side.rank;
    ssize_t result;

    while (!s->received || !s->sent) {
        EXPECT(!c->failed);
        if (c->reading) {
            rank_wait(rank, may_go_on, s, UINT64_MAX);
            continue;
        }
        c->reading = true;
        while ((!s->received || !s->sent) && !c->failed) {
            result = fi_cq_read(c->side.tx_cq, &entry, 1);
            if (result == -FI_EAGAIN)
                continue;
            EXPECT_IS(result, 1);
            TRY(book(c, &entry));
            rank_notify(rank);
        }
        c->reading = false;
        rank_notify(rank);
    }
    return 0;
}

static int share(struct rank *rank, struct sharer *s)
{
    struct gni_side *side = &s->crowd->side;
    fi_addr_t peer = side->peers[1 - side->id];
    uint64_t i, class = (uint64_t)s->number << 32;

    for (i = 0; i < EACH; i++) {
        s->received = s->sent = false;
        s->in = UINT64_MAX;
        s->out = i;
        EXPECT_IS(gni_again(side, fi_trecv(side->ep, &s->in, sizeof(s->in), NULL, FI_ADDR_UNSPEC,
                                           class, UINT32_MAX, &s->in)),
                  0);
        EXPECT_IS(gni_again(side, fi_tsend(side->ep, &s->out, sizeof(s->out), NULL, peer, class | i,
                                           &s->out)),
                  0);
        TRY(both_end(s));
        EXPECT_IS(s->in, i); /* none is lost, and they come in order */
    }
    return 0;
}

static int sharer_main(struct rank *rank, void *arg)
{
    struct sharer *s = arg;
    int status = share(rank, s);

    if (status != 0) {
        s->crowd->failed = true;
        rank_notify(rank);
    }
    return status;
}

static int shared_body(struct rank *rank)
{
    struct crowd *c = calloc(1, sizeof(*c));
    uint32_t i;

    TRY(gni_open(&c->side, rank, &plain));
    rank_barrier(rank);
    for (i = 0; i < SHARERS; i++) {
        c->sharers[i] = (struct sharer){.crowd = c, .number = i};
        c->sharers[i].thread = rank_thread_start(rank, sharer_main, &c->sharers[i]);
        EXPECT(c->sharers[i].thread != NULL);
    }
    for (i = 0; i < SHARERS; i++)
        EXPECT_IS(rank_thread_join(rank, c->sharers[i].thread), 0);
    rank_barrier(rank);
    TRY(gni_close(&c->side));
    free(c);
    return 0;
}

static void gni_78_threads_share_an_endpoint(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, shared_body);
}

/* ---- threads that share nothing -------------------------------------------------------------- */

#define LONERS 8u
#define ROUNDS 200u

struct loner {
    struct gni_side side; /* that of all, with its own endpoint and queue */
    struct rank_thread *thread;
    fi_addr_t addresses[2];
};

static int one_round(struct loner *l)
{
    struct fi_cq_tagged_entry entry;
    struct gni_side *side = &l->side;
    struct rank *rank = side->rank;
    uint64_t in, out = 3;
    int turn;

    EXPECT_IS(fi_recv(side->ep, &in, 8, NULL, FI_ADDR_UNSPEC, &in), 0);
    for (turn = 0; turn < 2; turn++) {
        if (turn == (int)side->id)
            EXPECT_IS(fi_inject(side->ep, &out, 8, l->addresses[1 - side->id]), 0);
        else
            TRY(gni_entry(side, side->tx_cq, &entry));
    }
    return 0;
}

static int loner_main(struct rank *rank, void *arg)
{
    struct loner *l = arg;
    uint32_t i;

    (void)rank;
    for (i = 0; i < ROUNDS; i++)
        TRY(one_round(l));
    return 0;
}

static int loner_open(struct loner *l, const struct gni_side *all)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED};
    struct rank *rank = all->rank;

    l->side = *all;
    EXPECT_IS(fi_cq_open(all->domain, &attr, &l->side.tx_cq, NULL), 0);
    l->side.rx_cq = l->side.tx_cq;
    TRY(gni_endpoint(&l->side, &l->side.ep));
    TRY(gni_exchange(&l->side, l->side.ep, l->addresses));
    return one_round(l); /* connected */
}

/* The time that so many of them need. */
static int loners_run(struct rank *rank, struct loner *loners, uint32_t count, uint64_t *ps)
{
    uint64_t began;
    uint32_t i;

    if (rank_id(rank) == 0)
        waits = 0;
    rank_barrier(rank);
    watching++;
    began = rank_now();
    for (i = 0; i < count; i++) {
        loners[i].thread = rank_thread_start(rank, loner_main, &loners[i]);
        EXPECT(loners[i].thread != NULL);
    }
    for (i = 0; i < count; i++)
        EXPECT_IS(rank_thread_join(rank, loners[i].thread), 0);
    *ps = rank_now() - began;
    watching--;
    rank_barrier(rank);
    return 0;
}

static const struct loner *all_loners[2]; /* by rank */

/* Of either rank: a NIC's, or that of an endpoint? */
static bool is_of_nics(const struct port_mutex *mutex)
{
    uint32_t i, j;

    for (i = 0; i < 2; i++)
        for (j = 0; j < LONERS; j++)
            if (mutex == &gnip_ep_of(all_loners[i][j].side.ep)->lock.mutex)
                return true;
    for (i = 0; i < 2; i++)
        if (mutex == &shared_nics[i]->lock.mutex || mutex == &shared_nics[i]->vc_lock.mutex ||
            mutex == &shared_nics[i]->txd_lock.mutex)
            return true;
    return false;
}

/* No queue of this rank was waited for. */
static int no_queue_waited(struct rank *rank, const struct loner *loners)
{
    uint64_t i;
    int j;

    for (i = 0; i < waits && i < NOTED; i++) {
        for (j = 0; j < (int)LONERS; j++) {
            const struct gnip_cq *cq = gnip_ep_of(loners[j].side.ep)->send_cq;

            EXPECT(waited_for[i] != &cq->lock.mutex && waited_for[i] != &cq->wait.lock &&
                   waited_for[i] != &cq->progress.lock.mutex);
        }
    }
    return 0;
}

/* They meet at the NIC, or at an endpoint when one of them finds a message for another one. A poll
 * with the NIC's lock looks once and ends, so they seldom wait for that lock. */
static int only_nics_waited(struct rank *rank, const struct loner *loners)
{
    uint64_t i, all = waits < NOTED ? waits : NOTED;

    EXPECT(all > 20); /* or this would not show anything */
    TRY(no_queue_waited(rank, loners));
    for (i = 0; i < all; i++)
        EXPECT(is_of_nics(waited_for[i]));
    return 0;
}

static int loners_body(struct rank *rank, const struct gni_how *how, bool one_nic)
{
    struct loner *loners = calloc(LONERS, sizeof(*loners));
    struct gni_side side;
    uint64_t one, all;
    uint32_t i, j;

    TRY(gni_open(&side, rank, how));
    for (i = 0; i < LONERS; i++)
        TRY(loner_open(&loners[i], &side));
    for (i = 0; i < LONERS; i++)
        for (j = 0; j < i; j++)
            EXPECT((gnip_ep_of(loners[i].side.ep)->nic == gnip_ep_of(loners[j].side.ep)->nic) ==
                   one_nic);
    all_loners[side.id] = loners;
    shared_nics[side.id] = gnip_ep_of(side.ep)->cm_nic->nic;
    TRY(loners_run(rank, loners, 1, &one));
    EXPECT_IS(waits, 0);
    TRY(loners_run(rank, loners, LONERS, &all));
    if (one_nic)
        TRY(only_nics_waited(rank, loners));
    for (i = 0; !one_nic && i < waits && i < NOTED; i++)
        EXPECT(how->manual && (waited_for[i] == &shared_nics[0]->lock.mutex ||
                               waited_for[i] == &shared_nics[1]->lock.mutex));
    if (!one_nic)
        EXPECT(all < one + one / 10);
    rank_barrier(rank);
    for (i = 0; i < LONERS; i++) {
        EXPECT_IS(fi_close(&loners[i].side.ep->fid), 0);
        EXPECT_IS(fi_close(&loners[i].side.tx_cq->fid), 0);
    }
    free(loners);
    return gni_close(&side);
}

/* Connections are a helper's business. */
static int separate_body(struct rank *rank)
{
    static const struct gni_how how = {.control_progress = FI_PROGRESS_AUTO,
                                       .data_progress = FI_PROGRESS_MANUAL};

    return loners_body(rank, &how, false);
}

/* All threads poll for connections at one NIC, which is not their own. */
static int separate_manual_body(struct rank *rank)
{
    static const struct gni_how how = {.manual = true};

    return loners_body(rank, &how, false);
}

static int one_nic_body(struct rank *rank)
{
    static const struct gni_how how = {.manual = true};

    return loners_body(rank, &how, true);
}

static void gni_148_threads_that_share_nothing(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2, .env = "{GNIX_MAX_NICS: \"16\"}"}, separate_body);
    assert_int_equal(waits, 0);
    gni_run(&(struct gni_machine){.ranks = 2, .env = "{GNIX_MAX_NICS: \"16\"}"},
            separate_manual_body);
}

static void gni_148_threads_at_one_nic(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2, .env = "{GNIX_MAX_NICS: \"1\"}"}, one_nic_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_78_threads_share_an_endpoint),
        cmocka_unit_test(gni_148_threads_that_share_nothing),
        cmocka_unit_test(gni_148_threads_at_one_nic),
    };

    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
