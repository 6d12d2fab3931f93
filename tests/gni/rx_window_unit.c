/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The receive window by itself: peers that send as much as they may, an application that takes
 * messages in any order, connections that come and go. Against a model that counts each credit and
 * message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "ep.h"
#include "gnip.h"
#include "vc.h"
#include "rx_window.h"

#define PEERS 300u
#define STEPS 400000u
#define KEPT_MAX 40000u
#define COST_MAX 65u /* of the largest eager message */

static uint32_t scheduled;

void gnip_vc_schedule(struct gnip_vc *vc)
{
    (void)vc;
    scheduled++;
}

/* ---- the model ------------------------------------------------------------------------------- */

struct peer {
    struct gnip_vc vc;
    uint32_t knows, used; /* as the peer sees it: modulo 2^32 */
};

struct kept {
    struct peer *peer;
    uint32_t credits;
};

static struct model {
    struct gnip_ep ep;
    struct peer peers[PEERS];
    struct kept kept[KEPT_MAX];
    uint32_t kept_count, kept_credits;
    uint64_t state;
} * m;

static uint32_t draw(uint32_t below)
{
    m->state = m->state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(m->state >> 33) % below;
}

static void connect_peer(struct peer *peer, uint32_t start)
{
    peer->vc.ep = &m->ep;
    m->ep.lock.elided = true; /* one thread */
    gnip_rx_window_open(&peer->vc);
    assert_in_range(peer->vc.rx_credits_first, 4, 1024);
    /* As if so many slots had been granted and used before. */
    peer->vc.rx_credits += start;
    peer->vc.rx_credits_sent += start;
    peer->vc.rx_credits_used += start;
    peer->knows = peer->vc.rx_credits;
    peer->used = start;
}

/* One message, if the peer may: kept, or taken at once. */
static void send_one(struct peer *peer)
{
    uint32_t credits = 1 + draw(draw(4) == 0 ? COST_MAX : 4);

    if (peer->vc.rx_window == 0 || peer->knows - peer->used < credits)
        return;
    peer->used += credits;
    assert_true(gnip_rx_window_arrived(&peer->vc, credits));
    if (m->kept_count < KEPT_MAX && draw(3) != 0) {
        gnip_rx_window_kept(&peer->vc, credits);
        m->kept[m->kept_count++] = (struct kept){peer, credits};
        m->kept_credits += credits;
    } else {
        gnip_rx_window_return(&peer->vc, credits);
    }
}

static void take_one(void)
{
    struct kept *kept;
    uint32_t at;

    if (m->kept_count == 0)
        return;
    at = draw(m->kept_count);
    kept = &m->kept[at];
    m->kept_credits -= kept->credits;
    gnip_rx_window_return(&kept->peer->vc, kept->credits);
    *kept = m->kept[--m->kept_count];
}

static void send_credits(struct peer *peer)
{
    peer->vc.rx_credits_sent = peer->vc.rx_credits;
    peer->knows = peer->vc.rx_credits_sent;
}

/* What is outstanding, over all peers: it may still come. */
static void check_sums(void)
{
    uint64_t credits = 0, messages = 0, grown = 0;
    uint32_t i;

    for (i = 0; i < PEERS; i++) {
        const struct gnip_vc *vc = &m->peers[i].vc;

        if (vc->rx_window == 0)
            continue;
        credits += vc->rx_window;
        grown += vc->rx_credits - vc->rx_credits_used;
        messages += vc->rx_messages_promised;
    }
    assert_int_equal(m->ep.rx_credits_advertised, credits);
    assert_int_equal(m->ep.rx_messages_advertised, messages);
    assert_true(credits <= GNIP_POOL_CREDITS);
    assert_true(messages <= GNIP_POOL_MESSAGES);
    assert_true(grown <= credits);
}

static void check_kept(void)
{
    uint64_t here = 0, before = 0;
    uint32_t i;

    for (i = 0; i < PEERS; i++) {
        here += m->peers[i].vc.rx_credits_held;
        before += m->peers[i].vc.rx_credits_held_before;
    }
    assert_int_equal(here + before, m->kept_credits);
}

static void model_new(uint64_t seed)
{
    m = calloc(1, sizeof(*m));
    assert_non_null(m);
    m->state = seed;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void random_steps(uint32_t start, bool comings_and_goings)
{
    uint32_t i, step;

    for (i = 0; i < PEERS; i++)
        connect_peer(&m->peers[i], start);
    for (step = 0; step < STEPS; step++) {
        struct peer *peer = &m->peers[draw(PEERS)];
        uint32_t what = draw(100);

        if (what < 55)
            send_one(peer);
        else if (what < 85)
            take_one();
        else if (what < 99 || !comings_and_goings)
            send_credits(peer);
        else if (peer->vc.rx_window != 0)
            gnip_rx_window_close(&peer->vc);
        else
            connect_peer(peer, 0);
        if (step % 512 == 0) {
            check_sums();
            check_kept();
        }
    }
}

static void gni_68_pool(void **state)
{
    (void)state;
    model_new(1);
    random_steps(0, true);
    while (m->kept_count > 0)
        take_one();
    check_sums();
    check_kept();
    free(m);
}

/* Cumulative numbers pass 2^32 without anybody noticing. */
static void gni_68_wrap(void **state)
{
    uint32_t i;

    (void)state;
    model_new(2);
    random_steps(UINT32_MAX - 3000, false);
    while (m->kept_count > 0)
        take_one();
    for (i = 0; i < PEERS; i++) {
        send_credits(&m->peers[i]);
        assert_int_equal(m->peers[i].knows - m->peers[i].used, m->peers[i].vc.rx_window);
    }
    check_sums();
    free(m);
}

/* Whatever they send, they cannot have more kept than the store is for. */
static void gni_66_store(void **state)
{
    uint32_t i, round, most_messages = 0, most_slots = 0, length;

    (void)state;
    for (length = 1; length <= COST_MAX; length += 8) {
        model_new(length);
        for (i = 0; i < PEERS; i++)
            connect_peer(&m->peers[i], 0);
        for (round = 0; round < 200; round++) {
            for (i = 0; i < PEERS; i++) {
                struct peer *peer = &m->peers[i];

                while (peer->knows - peer->used >= length) {
                    peer->used += length;
                    assert_true(gnip_rx_window_arrived(&peer->vc, length));
                    gnip_rx_window_kept(&peer->vc, length);
                    m->kept_count++;
                    m->kept_credits += length;
                }
                send_credits(peer);
            }
        }
        check_sums();
        assert_true(m->kept_count <= GNIP_POOL_MESSAGES);
        assert_true(m->kept_credits <= GNIP_POOL_CREDITS);
        if (m->kept_count > most_messages)
            most_messages = m->kept_count;
        if (m->kept_credits > most_slots)
            most_slots = m->kept_credits;
        free(m);
    }
    /* And a good part of it can be used. */
    assert_true(most_messages > GNIP_POOL_MESSAGES / 2);
    assert_true(most_slots > GNIP_POOL_CREDITS / 2);
}

static void gni_68_too_much(void **state)
{
    struct peer *peer;

    (void)state;
    model_new(3);
    peer = &m->peers[0];
    connect_peer(peer, 0);
    assert_true(gnip_rx_window_arrived(&peer->vc, peer->vc.rx_window));
    assert_false(gnip_rx_window_arrived(&peer->vc, 1));
    gnip_rx_window_return(&peer->vc, 1);
    assert_true(gnip_rx_window_arrived(&peer->vc, 1));
    free(m);
}

/* The peer does not know of half of the window: it gets these credits in one message. */
static void gni_68_credits_return_in_time(void **state)
{
    struct peer *peer;
    uint32_t i;

    (void)state;
    model_new(4);
    peer = &m->peers[0];
    connect_peer(peer, 0);
    scheduled = 0;
    for (i = 0; i + 1 < peer->vc.rx_window / 2; i++) {
        assert_true(gnip_rx_window_arrived(&peer->vc, 1));
        gnip_rx_window_return(&peer->vc, 1);
    }
    assert_int_equal(scheduled, 0);
    assert_false(gnip_rx_window_due(&peer->vc));
    assert_true(gnip_rx_window_arrived(&peer->vc, 1));
    gnip_rx_window_return(&peer->vc, 1);
    assert_int_equal(scheduled, 1);
    assert_true(gnip_rx_window_due(&peer->vc));
    send_credits(peer);
    assert_false(gnip_rx_window_due(&peer->vc));
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_68_pool),
        cmocka_unit_test(gni_68_wrap),
        cmocka_unit_test(gni_66_store),
        cmocka_unit_test(gni_68_too_much),
        cmocka_unit_test(gni_68_credits_return_in_time),
    };

    return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
