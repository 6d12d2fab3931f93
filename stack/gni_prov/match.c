/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Matching: posted receives, and messages that arrived before their receive, both in order of
 * arrival.
 *
 * All elements of a store are in one list. A hashed store also has each element in a bucket by its
 * tag, except for posted receives with an ignore mask, which are in a list of their own. The search
 * for a receive takes the older one of the two that it finds.
 */
#include "gnip.h"
#include "match.h"
#include "req.h"
#include "vc.h"
#include <stdlib.h>
#include "port/list.h"

struct gnip_match {
    struct port_link posts, messages; /* by .link: all elements */
    struct port_link masked; /* by gnip_post.bucket: receives with an ignore mask */
    uint64_t sequence;
    bool directed;
    struct port_link *post_buckets; /* by tag; NULL: no hash */
    struct port_link *message_buckets;
    uint32_t bits; /* there are 1 << bits of each */
};

struct gnip_match *gnip_match_new(uint32_t bits, bool directed)
{
    struct gnip_match *match = calloc(1, sizeof *match);
    uint32_t buckets = 1u << bits, i;

    if (match == NULL)
        return NULL;
    port_list_init(&match->posts);
    port_list_init(&match->messages);
    port_list_init(&match->masked);
    match->directed = directed;
    match->bits = bits;
    if (bits == 0)
        return match;
    match->post_buckets = calloc(2 * buckets, sizeof *match->post_buckets);
    if (match->post_buckets == NULL) {
        free(match);
        return NULL;
    }
    match->message_buckets = match->post_buckets + buckets;
    for (i = 0; i < 2 * buckets; i++)
        port_list_init(&match->post_buckets[i]);
    return match;
}

void gnip_match_free(struct gnip_match *match)
{
    if (match == NULL)
        return;
    free(match->post_buckets);
    free(match);
}

/* Tags differ in few bits, at any place: a multiplication spreads them. */
static struct port_link *bucket_of(const struct gnip_match *match, struct port_link *buckets,
                                   uint64_t tag)
{
    return &buckets[tag * 0x9e3779b97f4a7c15ull >> (64 - match->bits)];
}

static bool from(const struct gnip_match *match, fi_addr_t wanted, fi_addr_t source)
{
    return !match->directed || wanted == FI_ADDR_UNSPEC || wanted == source;
}

void gnip_match_post(struct gnip_match *match, struct gnip_post *post)
{
    post->sequence = match->sequence++;
    /* The memory of a request may have held something else before. */
    post->link.next = post->bucket.next = NULL;
    port_list_append(&match->posts, &post->link);
    if (match->post_buckets == NULL)
        post->bucket.prev = NULL;
    else if (post->ignore != 0)
        port_list_append(&match->masked, &post->bucket);
    else
        port_list_append(bucket_of(match, match->post_buckets, post->tag), &post->bucket);
}

void gnip_match_unpost(struct gnip_match *match, struct gnip_post *post)
{
    assert(port_linked(&post->link));
    port_list_remove(&post->link);
    if (match->post_buckets != NULL)
        port_list_remove(&post->bucket);
}

static bool takes(const struct gnip_match *match, const struct gnip_post *post, uint64_t tag,
                  fi_addr_t source)
{
    return ((post->tag ^ tag) & ~post->ignore) == 0 && from(match, post->source, source);
}

static struct gnip_post *first_in(const struct gnip_match *match, const struct port_link *head,
                                  uint64_t tag, fi_addr_t source)
{
    struct port_link *at;
    struct gnip_post *post;

    for (at = head->next; at != head; at = at->next) {
        post = gnip_container(at, struct gnip_post, bucket);
        if (takes(match, post, tag, source))
            return post;
    }
    return NULL;
}

struct gnip_post *gnip_match_arrived(struct gnip_match *match, uint64_t tag, fi_addr_t source)
{
    struct gnip_post *post, *masked;
    struct port_link *at;

    if (match->post_buckets == NULL) {
        for (at = match->posts.next; at != &match->posts; at = at->next) {
            post = gnip_container(at, struct gnip_post, link);
            if (takes(match, post, tag, source))
                return post;
        }
        return NULL;
    }
    post = first_in(match, bucket_of(match, match->post_buckets, tag), tag, source);
    masked = first_in(match, &match->masked, tag, source);
    if (post == NULL || (masked != NULL && masked->sequence < post->sequence))
        return masked;
    return post;
}

void gnip_match_keep(struct gnip_match *match, struct gnip_unexpected *message)
{
    message->sequence = match->sequence++;
    message->link.next = message->bucket.next = NULL; /* as above */
    port_list_append(&match->messages, &message->link);
    if (match->message_buckets == NULL)
        message->bucket.prev = NULL;
    else
        port_list_append(bucket_of(match, match->message_buckets, message->tag), &message->bucket);
}

void gnip_match_forget(struct gnip_match *match, struct gnip_unexpected *message)
{
    assert(port_linked(&message->link));
    port_list_remove(&message->link);
    if (match->message_buckets != NULL)
        port_list_remove(&message->bucket);
}

static bool fits(const struct gnip_match *match, struct gnip_unexpected *message, uint64_t tag,
                 uint64_t ignore, fi_addr_t source)
{
    if (message->claimed || ((message->tag ^ tag) & ~ignore) != 0)
        return false;
    if (!match->directed || source == FI_ADDR_UNSPEC)
        return true;
    /* Its sender may have been inserted in the AV since it arrived. */
    if (message->source == FI_ADDR_NOTAVAIL && message->vc != NULL)
        message->source = gnip_vc_source(message->vc);
    return message->source == source;
}

struct gnip_unexpected *gnip_match_find(struct gnip_match *match, uint64_t tag, uint64_t ignore,
                                        fi_addr_t source)
{
    struct gnip_unexpected *message;
    struct port_link *head, *at;

    if (gnip_likely(port_list_empty(&match->messages)))
        return NULL;
    if (match->message_buckets != NULL && ignore == 0) {
        head = bucket_of(match, match->message_buckets, tag);
        for (at = head->next; at != head; at = at->next) {
            message = gnip_container(at, struct gnip_unexpected, bucket);
            if (fits(match, message, tag, ignore, source))
                return message;
        }
        return NULL;
    }
    head = &match->messages;
    for (at = head->next; at != head; at = at->next) {
        message = gnip_container(at, struct gnip_unexpected, link);
        if (fits(match, message, tag, ignore, source))
            return message;
    }
    return NULL;
}

struct gnip_unexpected *gnip_match_claimed(struct gnip_match *match, const void *claimer)
{
    struct gnip_unexpected *message = NULL;

    while ((message = gnip_match_first(match, message)) != NULL)
        if (message->claimed && message->claimer == claimer)
            return message;
    return NULL;
}

struct gnip_post *gnip_match_first_post(struct gnip_match *match, struct gnip_post *after)
{
    struct port_link *next = after == NULL ? match->posts.next : after->link.next;

    return next == &match->posts ? NULL : gnip_container(next, struct gnip_post, link);
}

struct gnip_unexpected *gnip_match_first(struct gnip_match *match, struct gnip_unexpected *after)
{
    struct port_link *next = after == NULL ? match->messages.next : after->link.next;

    return next == &match->messages ? NULL : gnip_container(next, struct gnip_unexpected, link);
}
