/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The stores of posted receives and of messages, against a model that is a plain array in order of
 * arrival. Tags come from few values, so that everything matches something, and differ in high and
 * low bits, so that they meet in buckets and miss each other there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "gnip.h"
#include "match.h"
#include "req.h"
#include "vc.h"

#define ELEMENTS 512
#define OPERATIONS 100000u
#define SEEDS 20u

static fi_addr_t late_source; /* what the AV says by now of a sender that it did not know */

fi_addr_t gnip_vc_source(struct gnip_vc *vc)
{
    return late_source;
}

static uint64_t state;

static uint32_t chance(uint32_t below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((state >> 33) % below);
}

static uint64_t any_tag(void)
{
    static const uint64_t bits[] = {0, 1, 2, 1ull << 20, 1ull << 63, 1ull << 40};

    return bits[chance(6)] | bits[chance(6)];
}

static uint64_t any_mask(void)
{
    static const uint64_t masks[] = {0, 0, 0, 1, 3, 1ull << 63, ~0ull, (1ull << 40) - 1};

    return masks[chance(8)];
}

static fi_addr_t any_source(void)
{
    uint32_t draw = chance(4);

    return draw == 3 ? FI_ADDR_UNSPEC : draw;
}

/* The model: indexes of the elements in use, oldest first. */
struct order {
    uint32_t of[ELEMENTS];
    uint32_t count;
};

static void order_add(struct order *order, uint32_t element)
{
    order->of[order->count++] = element;
}

static void order_remove(struct order *order, uint32_t place)
{
    for (order->count--; place < order->count; place++)
        order->of[place] = order->of[place + 1];
}

static struct gnip_post posts[ELEMENTS];
static struct gnip_unexpected messages[ELEMENTS];
static bool post_used[ELEMENTS], message_used[ELEMENTS];

static uint32_t unused(const bool *used)
{
    uint32_t i = 0;

    while (used[i])
        i++;
    return i;
}

static bool tags_match(uint64_t a, uint64_t b, uint64_t ignore)
{
    return (a & ~ignore) == (b & ~ignore);
}

static uint32_t model_arrived(const struct order *order, uint64_t tag, fi_addr_t source,
                              bool directed)
{
    uint32_t i;

    for (i = 0; i < order->count; i++) {
        const struct gnip_post *post = &posts[order->of[i]];

        if (tags_match(post->tag, tag, post->ignore) &&
            (!directed || post->source == FI_ADDR_UNSPEC || post->source == source))
            break;
    }
    return i;
}

static uint32_t model_find(const struct order *order, uint64_t tag, uint64_t ignore,
                           fi_addr_t source, bool directed)
{
    uint32_t i;

    for (i = 0; i < order->count; i++) {
        const struct gnip_unexpected *message = &messages[order->of[i]];

        if (!message->claimed && tags_match(message->tag, tag, ignore) &&
            (!directed || source == FI_ADDR_UNSPEC || message->source == source))
            break;
    }
    return i;
}

static void arrive(struct gnip_match *match, struct order *posted, struct order *kept,
                   bool directed)
{
    uint64_t tag = any_tag();
    fi_addr_t source = chance(3);
    uint32_t place = model_arrived(posted, tag, source, directed), i;
    struct gnip_post *post = gnip_match_arrived(match, tag, source);

    if (place < posted->count) {
        assert_ptr_equal(post, &posts[posted->of[place]]);
        gnip_match_unpost(match, post);
        post_used[posted->of[place]] = false;
        order_remove(posted, place);
        return;
    }
    assert_null(post);
    if (kept->count == ELEMENTS)
        return;
    i = unused(message_used);
    message_used[i] = true;
    messages[i] = (struct gnip_unexpected){.tag = tag, .source = source};
    gnip_match_keep(match, &messages[i]);
    order_add(kept, i);
}

static void receive(struct gnip_match *match, struct order *posted, struct order *kept,
                    bool directed)
{
    uint64_t tag = any_tag(), ignore = any_mask();
    fi_addr_t source = any_source();
    uint32_t place = model_find(kept, tag, ignore, source, directed), i;
    struct gnip_unexpected *message = gnip_match_find(match, tag, ignore, source);

    if (place < kept->count) {
        assert_ptr_equal(message, &messages[kept->of[place]]);
        if (chance(8) == 0) { /* only claims it */
            message->claimed = true;
            message->claimer = message;
            return;
        }
        gnip_match_forget(match, message);
        message_used[kept->of[place]] = false;
        order_remove(kept, place);
        return;
    }
    assert_null(message);
    if (posted->count == ELEMENTS)
        return;
    i = unused(post_used);
    post_used[i] = true;
    posts[i] = (struct gnip_post){.tag = tag, .ignore = ignore, .source = source};
    gnip_match_post(match, &posts[i]);
    order_add(posted, i);
}

static void take_claimed(struct gnip_match *match, struct order *kept)
{
    uint32_t place;

    for (place = 0; place < kept->count; place++) {
        struct gnip_unexpected *message = &messages[kept->of[place]];

        if (!message->claimed)
            continue;
        assert_ptr_equal(gnip_match_claimed(match, message), message);
        gnip_match_forget(match, message);
        message_used[kept->of[place]] = false;
        order_remove(kept, place);
        return;
    }
    assert_null(gnip_match_claimed(match, match));
}

static void cancel(struct gnip_match *match, struct order *posted)
{
    uint32_t place;

    if (posted->count == 0)
        return;
    place = chance(posted->count);
    gnip_match_unpost(match, &posts[posted->of[place]]);
    post_used[posted->of[place]] = false;
    order_remove(posted, place);
}

static void same_order(struct gnip_match *match, const struct order *posted,
                       const struct order *kept)
{
    struct gnip_unexpected *message = NULL;
    struct gnip_post *post = NULL;
    uint32_t i;

    for (i = 0; i < posted->count; i++) {
        post = gnip_match_first_post(match, post);
        assert_ptr_equal(post, &posts[posted->of[i]]);
    }
    assert_null(gnip_match_first_post(match, post));
    for (i = 0; i < kept->count; i++) {
        message = gnip_match_first(match, message);
        assert_ptr_equal(message, &messages[kept->of[i]]);
    }
    assert_null(gnip_match_first(match, message));
}

static void play(uint64_t seed, uint32_t bits, bool directed)
{
    struct gnip_match *match = gnip_match_new(bits, directed);
    struct order posted = {.count = 0}, kept = {.count = 0};
    uint32_t i;

    assert_non_null(match);
    memset(post_used, 0, sizeof(post_used));
    memset(message_used, 0, sizeof(message_used));
    state = seed;
    for (i = 0; i < OPERATIONS / SEEDS; i++) {
        /* Times in which more comes than is asked for, and the other way round. */
        bool flood = (i / 700) % 2 == 0;

        if (chance(20) == 0)
            cancel(match, &posted);
        else if (chance(20) == 0)
            take_claimed(match, &kept);
        else if (chance(3) == 0 ? flood : !flood)
            receive(match, &posted, &kept, directed);
        else
            arrive(match, &posted, &kept, directed);
        if (i % 512 == 0)
            same_order(match, &posted, &kept);
    }
    same_order(match, &posted, &kept);
    gnip_match_free(match);
}

static void gni_79_lists_as_the_model(void **unused_state)
{
    uint64_t seed;

    for (seed = 1; seed <= SEEDS; seed++) {
        play(seed, 0, false);
        play(seed, 0, true);
    }
}

static void gni_79_hashes_as_the_model(void **unused_state)
{
    uint64_t seed;

    for (seed = 1; seed <= SEEDS; seed++) {
        play(seed, seed % 2 ? 7 : 4, false);
        play(seed, seed % 2 ? 7 : 4, true);
    }
}

/* A message searches the bucket of its tag: receives with a mask are found, too. */
static void gni_79_hashed_wildcards(void **unused_state)
{
    struct gnip_match *match = gnip_match_new(7, false);
    struct gnip_post masked = {.tag = 0, .ignore = ~0ull, .source = FI_ADDR_UNSPEC};
    struct gnip_post exact = {.tag = 77, .ignore = 0, .source = FI_ADDR_UNSPEC};

    gnip_match_post(match, &masked);
    gnip_match_post(match, &exact);
    assert_ptr_equal(gnip_match_arrived(match, 77, 0), &masked);
    gnip_match_unpost(match, &masked);
    assert_ptr_equal(gnip_match_arrived(match, 77, 0), &exact);
    gnip_match_post(match, &masked);
    assert_ptr_equal(gnip_match_arrived(match, 77, 0), &exact);
    assert_ptr_equal(gnip_match_arrived(match, 78, 0), &masked);
    gnip_match_unpost(match, &exact);
    gnip_match_unpost(match, &masked);
    gnip_match_free(match);
}

/*
 * FI_DIRECTED_RECV: a sender that was unknown when its message arrived may be in the AV when a
 * receive asks for it.
 */
static void gni_71_sender_known_later(void **unused_state)
{
    struct gnip_match *match = gnip_match_new(0, true);
    struct gnip_vc *vc = (struct gnip_vc *)match; /* only handed through */
    struct gnip_unexpected message = {.tag = 5, .source = FI_ADDR_NOTAVAIL, .vc = vc};

    gnip_match_keep(match, &message);
    late_source = FI_ADDR_NOTAVAIL;
    assert_null(gnip_match_find(match, 5, 0, 3));
    late_source = 3;
    assert_null(gnip_match_find(match, 5, 0, 4));
    assert_ptr_equal(gnip_match_find(match, 5, 0, 3), &message);
    assert_ptr_equal(gnip_match_find(match, 5, 0, FI_ADDR_UNSPEC), &message);
    gnip_match_forget(match, &message);
    gnip_match_free(match);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_79_lists_as_the_model),
        cmocka_unit_test(gni_79_hashes_as_the_model),
        cmocka_unit_test(gni_79_hashed_wildcards),
        cmocka_unit_test(gni_71_sender_known_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
