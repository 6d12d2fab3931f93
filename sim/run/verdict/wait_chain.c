/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* From a rank that waits to the one that all others wait for, as far as their waits say it. */
#include "story.h"

#include <inttypes.h>
#include <string.h>
#include "engine/fault.h"

#define STARTS_MAX 256 /* waiting ranks from which a chain is followed */

static const struct waiter *waiter_of(const struct story *story, const struct rank *rank)
{
    char *name = verdict_rank_name(rank);
    const struct waiter *waiter = g_hash_table_lookup(story->waiters, name);

    g_free(name);
    return waiter;
}

/* ---- one step -------------------------------------------------------------------------------- */

/* "…, peer app.3 on node 12; …", or, when that process has gone, "…, peer instance 3 of node 12;
 * …": then the rank of the job that was there, if only one was or if its number is that. */
static const struct rank *peer_of(const struct cluster *cluster, const struct rank *rank,
                                  const char *why)
{
    const char *peer = strstr(why, ", peer "), *node_text;
    const struct rank *found = NULL;
    guint64 node, id;
    gsize length;
    char *name;
    uint32_t i, count = 0;

    if (peer == NULL)
        return NULL;
    peer += strlen(", peer ");
    length = strcspn(peer, " ");
    name = g_strndup(peer, length);
    found = cluster_rank_called(cluster, name);
    g_free(name);
    node_text = strstr(peer, "node ");
    if (found != NULL || node_text == NULL || !g_str_has_prefix(peer, "instance "))
        return found;
    id = g_ascii_strtoull(peer + strlen("instance "), NULL, 10);
    node = g_ascii_strtoull(node_text + strlen("node "), NULL, 10);
    for (i = 0; i < rank->job->rank_count; i++) {
        const struct rank *other = &rank->job->ranks[i];

        if (other->node != node || other == rank)
            continue;
        count++;
        if (other->id == id)
            return other;
        found = other;
    }
    return count == 1 ? found : NULL;
}

/* Whether the rank is in a call that all ranks of the job have to make. */
static bool is_collective(const struct rank *rank, const struct waiter *waiter)
{
    return rank->gathering ||
           (waiter != NULL && g_str_has_prefix(waiter->why, "the process manager"));
}

/* A rank of the job that has not come to what this one waits for: one that died, else one that
 * waits for something else. */
static const struct rank *latecomer(const struct story *story, const struct rank *rank)
{
    const struct rank *other, *found = NULL;
    uint32_t i;

    for (i = 0; i < rank->job->rank_count; i++) {
        other = &rank->job->ranks[i];
        if (other == rank)
            continue;
        if (other->state == RANK_KILLED && !rank->gathering)
            return other; /* a barrier does not wait for the dead */
        if (found == NULL && other->state == RANK_RUNNING &&
            !is_collective(other, waiter_of(story, other)))
            found = other;
    }
    return found;
}

static const struct rank *awaited(const struct story *story, const struct rank *rank)
{
    const struct waiter *waiter = waiter_of(story, rank);

    if (waiter == NULL)
        return NULL;
    if (is_collective(rank, waiter))
        return latecomer(story, rank);
    return peer_of(story->cluster, rank, waiter->why);
}

/* ---- the chain ------------------------------------------------------------------------------- */

static bool is_in(const struct wait_chain *chain, const struct rank *rank)
{
    size_t i;

    for (i = 0; i < chain->length; i++)
        if (chain->ranks[i] == rank)
            return true;
    return false;
}

/* From a waiting rank down to one that waits for no other, or that does not wait. */
static void follow(const struct story *story, const struct rank *rank, struct wait_chain *chain)
{
    chain->length = 0;
    chain->again = NULL;
    while (rank != NULL && chain->length < CHAIN_MAX) {
        if (is_in(chain, rank)) {
            chain->again = rank;
            return;
        }
        chain->ranks[chain->length++] = rank;
        rank = awaited(story, rank);
    }
}

const struct rank *verdict_chain_end(const struct wait_chain *chain)
{
    g_assert(chain->length != 0 && chain->length <= CHAIN_MAX);
    return chain->ranks[chain->length - 1];
}

bool verdict_chain_find(const struct story *story, struct wait_chain *best)
{
    const struct cluster *cluster = story->cluster;
    size_t i, most = MIN(cluster->waiter_count, STARTS_MAX), best_score = 0, score;

    best->length = 0;
    best->again = NULL;
    for (i = 0; i < most; i++) {
        const struct rank *rank = cluster_rank_called(cluster, cluster->waiters[i].name);
        struct wait_chain chain;

        if (rank == NULL)
            continue;
        follow(story, rank, &chain);
        score = chain.length + (chain.again != NULL);
        if (verdict_fault_of(story, verdict_chain_end(&chain), SIM_NEVER) != NULL ||
            verdict_failure_of(story, verdict_chain_end(&chain)) != NULL)
            score += CHAIN_MAX + 2;
        if (score > best_score) {
            best_score = score;
            *best = chain;
        }
    }
    return best->length != 0;
}

/* ---- in words -------------------------------------------------------------------------------- */

static uint64_t waiters_like(const struct cluster *cluster, const struct waiter *waiter)
{
    uint64_t count = 0;
    size_t i;

    for (i = 0; i < cluster->waiter_count; i++)
        count +=
            &cluster->waiters[i] != waiter && strcmp(cluster->waiters[i].why, waiter->why) == 0;
    return count;
}

static void append_link(const struct story *story, const struct rank *rank, GString *text)
{
    const struct waiter *waiter = waiter_of(story, rank);
    char *name = verdict_rank_name(rank);
    uint64_t more = waiter != NULL ? waiters_like(story->cluster, waiter) : 0;

    g_string_append(text, name);
    if (more != 0)
        g_string_append_printf(text, " (and %" PRIu64 " more)", more);
    if (waiter != NULL) /* without the counters behind the semicolon, which `problems` has */
        g_string_append_printf(text, " waits for %.*s", (int)strcspn(waiter->why, ";"),
                               waiter->why);
    g_free(name);
}

static void append_end(const struct story *story, const struct wait_chain *chain, GString *text)
{
    const struct rank *end = verdict_chain_end(chain);
    const struct sim_fault_record *record = verdict_fault_of(story, end, SIM_NEVER);
    const struct failure *failure = verdict_failure_of(story, end);
    char *name;

    if (chain->again != NULL) {
        name = verdict_rank_name(chain->again);
        g_string_append_printf(text, " → %s again: each waits for the other", name);
        g_free(name);
    } else if (failure != NULL) {
        g_string_append_printf(text, ", which %s: %s", failure->killed ? "was killed" : "failed",
                               failure->text);
    } else if (record != NULL) {
        g_string_append_printf(text, " → the transfer that was hit: %s", record->title);
    } else if (end->state == RANK_ENDED) {
        g_string_append(text, ", which has ended");
    }
}

/* "a.0 (and 6 more) waits for the barrier → a.7 waits for a message → PUT 6→7 of loss #1" */
void verdict_chain_say(struct story *story, const struct wait_chain *chain)
{
    GString *text = g_string_new("wait-for chain: ");
    size_t i;

    for (i = 0; i < chain->length; i++) {
        g_string_append(text, i != 0 ? " → " : "");
        append_link(story, chain->ranks[i], text);
    }
    append_end(story, chain, text);
    verdict_story_say(story, "%s", text->str);
    g_string_free(text, TRUE);
}
