/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ledger of a simulation: each message that is handed in must arrive, or be dropped or fail for
 * a reason. Sender and receiver are different nodes, and a header has no room for a number. So the
 * header itself finds the record of a message; of several messages with equal headers it is the
 * oldest one with the same content. The NIDs count less than the rest: a message that is sent again
 * may have others.
 */
#include "core/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/metrics.h"
#include "engine/outside.h"
#include "engine/trace.h"

#define BUCKETS (1u << 12)
#define PIECE 4096u

struct lnet_record {
    struct list_head on_list; /* of its bucket, or of those that are unused */
    uint64_t key, digest;
    uint32_t bytes;
    uint32_t type;
    uint64_t flow; /* of the trace */
    struct lnet_node *hop; /* the node that sends it, first or as a router */
    lnet_nid_t next_hop;
    lnet_nid_t source, destination; /* of its header when it was last sent */
    bool sent; /* the sender is done with it */
    bool forwarded; /* by a router at least */
    bool settled, arrived;
    bool again; /* was sent again: it may arrive twice */
    bool guessed; /* was dropped, or another one with an equal header was */
    sim_time_t began;
    struct sim_ledger_entry entry;
};

#define RECORD_LINES ((sizeof(struct lnet_record) + SIM_LINE - 1) / SIM_LINE)

static struct list_head *buckets; /* NULL: no ledger */
static LIST_HEAD(unused);
static struct sim_ledger_book books[4]; /* by type of message */
static struct sim_ledger_book md_book, connection_book;
/* NIDs of nodes that have crashed, and when LNet started again there. */
static struct dead_nid {
    lnet_nid_t nid;
    sim_time_t until; /* SIM_NEVER: not yet */
} * dead;
static uint32_t dead_count;

static struct lnet_record *record_new(void)
{
    struct lnet_record *record;

    if (list_empty(&unused)) {
        sim_outside_begin();
        record = malloc(sizeof(*record));
        sim_outside_end();
        if (record == NULL)
            abort();
    } else {
        record = list_first_entry(&unused, struct lnet_record, on_list);
        list_del(&record->on_list);
    }
    memset(record, 0, sizeof(*record));
    return record;
}

static void record_free(struct lnet_record *record)
{
    list_move(&record->on_list, &unused);
}

void lnet_ledger_open(void)
{
    static const char *const names[] = {"lnet.ack", "lnet.put", "lnet.get", "lnet.reply"};
    uint32_t i;

    lnet_ledger_close();
    buckets = malloc(BUCKETS * sizeof(buckets[0]));
    if (buckets == NULL)
        abort();
    for (i = 0; i < BUCKETS; i++)
        INIT_LIST_HEAD(&buckets[i]);
    for (i = 0; i < 4; i++)
        sim_ledger_book_register(&books[i], names[i]);
    sim_ledger_book_register(&md_book, "lnet.descriptor");
    sim_ledger_book_register(&connection_book, "lnet.connection");
}

static void free_all(struct list_head *list)
{
    while (!list_empty(list)) {
        struct lnet_record *record = list_first_entry(list, struct lnet_record, on_list);

        list_del(&record->on_list);
        free(record);
    }
}

void lnet_ledger_close(void)
{
    uint32_t i;

    for (i = 0; buckets != NULL && i < BUCKETS; i++)
        free_all(&buckets[i]);
    free_all(&unused);
    free(buckets);
    buckets = NULL;
    free(dead);
    dead = NULL;
    dead_count = 0;
}

/* A hash of the header without its NIDs. Two words at a time: it is computed twice a message. */
static uint64_t key_of(const struct lnet_hdr *header)
{
    uint64_t word[8] = {0}, key = header->type, i;

    _Static_assert(sizeof(*header) - offsetof(struct lnet_hdr, dest_pid) <= sizeof(word), "room");
    memcpy(word, &header->dest_pid, sizeof(*header) - offsetof(struct lnet_hdr, dest_pid));
    for (i = 0; i < 8; i += 2) {
        unsigned __int128 product = (unsigned __int128)(key ^ word[i] ^ 0x9e3779b97f4a7c15ull) *
                                    (word[i + 1] ^ 0xbf58476d1ce4e5b9ull);

        key = (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    return sim_mix(key);
}

static struct list_head *bucket_of(uint64_t key)
{
    return &buckets[key & (BUCKETS - 1)];
}

static uint64_t digest_of(const struct lnet_fragments *list, uint32_t offset, uint32_t length)
{
    uint8_t piece[PIECE];
    uint64_t digest = 0;
    uint32_t at, part;

    if (length == 0)
        return sim_ledger_digest(NULL, 0, 0);
    if (list->count == 1)
        return sim_ledger_digest((const char *)list->fragment->iov_base + offset, length, 0);

    /* The lists of sender and receiver are cut differently. */
    for (at = 0; at < length; at += part) {
        part = length - at < PIECE ? length - at : PIECE;
        lnet_copy_from_fragments(piece, list, offset + at, part);
        digest += sim_ledger_digest(piece, part, at);
    }
    return digest;
}

static void settle(struct lnet_record *record, enum sim_ledger_outcome outcome)
{
    if (!record->settled)
        sim_ledger_settle(&record->entry, outcome);
    record->settled = true;
}

/* A record that nobody needs any more goes. */
static void finish(struct lnet_record *record)
{
    if (record->sent && record->settled && record->arrived && !record->again && !record->guessed)
        record_free(record);
}

void lnet_record_open(struct lnet_msg *msg)
{
    struct lnet_record *record;
    uint32_t type = msg->header.type;

    if (buckets == NULL)
        return;

    record = record_new();
    record->key = key_of(&msg->header);
    record->type = type;
    if (msg->flow == 0)
        msg->flow = sim_trace_flow_new();
    record->flow = msg->flow;
    record->hop = msg->node;
    record->next_hop = msg->header.dest_nid;
    record->began = sim_now();
    record->bytes = msg->payload_length;
    record->digest = digest_of(&msg->payload, msg->payload_offset, msg->payload_length);
    sim_ledger_open(&books[type], &record->entry, msg->node->number,
                    LNET_NIDADDR(msg->header.dest_nid), msg->payload_length);
    sim_ledger_hand_in(&record->entry, record->digest);
    list_add_tail(&record->on_list, bucket_of(record->key));
    msg->record = record;
}

/* How well a record of the same key fits a message; digest: of its content, NULL if unknown. */
enum fitness { LATE, OPEN, OPEN_SAME_NIDS, GUESSED, SAME_CONTENT, LOST, SAME };

static enum fitness fitness(const struct lnet_record *record, const struct lnet_hdr *header,
                            const uint64_t *digest)
{
    bool nids = record->source == header->src_nid && record->destination == header->dest_nid;
    bool content = digest == NULL || record->digest == *digest;

    if (record->guessed)
        return nids && digest != NULL && content ? GUESSED : LATE;
    if (record->arrived)
        return LATE;
    if (record->settled && !record->again) /* given up with its node, but it may be on its way */
        return nids && content ? LOST : LATE;
    if (content)
        return nids ? SAME : SAME_CONTENT;
    return nids ? OPEN_SAME_NIDS : OPEN;
}

/* The oldest one of those with the header's key that fit best; others: how many more fit as well.
 */
static struct lnet_record *find(const struct lnet_hdr *header, uint64_t key, const uint64_t *digest,
                                uint32_t *others)
{
    struct lnet_record *record, *best = NULL;
    enum fitness fits, best_fits = LATE;

    *others = 0;
    list_for_each_entry (record, bucket_of(key), on_list) {
        if (record->key != key)
            continue;
        fits = fitness(record, header, digest);
        if (best == NULL || fits > best_fits) {
            best = record;
            best_fits = fits;
            *others = 0;
        } else if (fits == best_fits) {
            (*others)++;
        }
        if (fits == SAME && digest != NULL)
            break;
    }
    return best;
}

/* The record of a message that arrives. When the record of another message with an equal header
 * was taken for it as that one was dropped, the two records exchange what they say of the content.
 */
static struct lnet_record *find_arrived(const struct lnet_hdr *header, uint64_t key,
                                        const uint64_t *digest)
{
    uint32_t others;
    struct lnet_record *record = find(header, key, digest, &others), *dropped;

    if (record == NULL || !record->guessed)
        return record;
    dropped = record;
    record = find(header, key, NULL, &others);
    if (record->arrived)
        return dropped;
    dropped->digest = record->digest;
    dropped->entry.digest = record->digest;
    record->digest = *digest;
    record->entry.digest = *digest;
    return record;
}

void lnet_record_hop(struct lnet_msg *msg)
{
    struct lnet_record *record = msg->record;
    uint32_t others;

    if (buckets == NULL)
        return;
    if (record == NULL && msg->routing)
        record = find(&msg->header, key_of(&msg->header), NULL, &others);
    if (record == NULL)
        return;

    msg->flow = record->flow;
    record->hop = msg->node;
    record->next_hop = msg->next_hop;
    record->source = msg->header.src_nid;
    record->destination = msg->header.dest_nid;
    record->forwarded = record->forwarded || msg->routing;
    record->again = record->again || msg->retries > 0;
}

void lnet_record_arrived(struct lnet_node *node, struct lnet_msg *msg, int status)
{
    const struct lnet_hdr *header = &msg->header;
    struct lnet_record *record;
    uint64_t digest = 0, key;
    bool whole = header->type != LNET_MSG_GET && msg->wanted == header->payload_length;

    if (buckets == NULL || status != 0 || msg->optimized_get)
        return;

    key = key_of(header);
    sim_fetch(bucket_of(key)->next, RECORD_LINES); /* while the digest is computed */
    if (whole)
        digest = digest_of(&msg->md->fragments, msg->offset, msg->wanted);
    record = find_arrived(header, key, whole ? &digest : NULL);
    if (record == NULL) {
        sim_ledger_violation(&books[header->type],
                             "node %s received a message of %u bytes that no node sent", node->name,
                             header->payload_length);
        return;
    }
    msg->flow = record->flow;
    if (record->arrived && record->again)
        return; /* the second copy of a message that was sent again */
    record->arrived = true;
    /* The descriptor allowed truncation, so the missing bytes are no loss. */
    sim_ledger_deliver(&record->entry, record->bytes, whole ? digest : record->digest);
    if (record->sent)
        settle(record, SIM_LEDGER_OK);
    finish(record);
}

static void count_drop(const char *why)
{
    char name[96];
    struct sim_metric *metric;
    char *at;

    snprintf(name, sizeof(name), "lnet.dropped.%s", why);
    for (at = name; *at != '\0'; at++) {
        if (*at == ' ')
            *at = '_';
    }
    metric = sim_metric_counter(name, SIM_METRIC_COUNT);
    if (metric != NULL)
        metric->counter++;
}

void lnet_record_dropped(struct lnet_node *node, const struct lnet_hdr *header, const char *why)
{
    struct lnet_record *record;
    uint32_t others;

    (void)node;
    if (buckets == NULL)
        return;
    count_drop(why);
    record = find(header, key_of(header), NULL, &others);
    if (record == NULL || record->arrived)
        return;

    record->arrived = true;
    record->guessed = others > 0;
    settle(record, SIM_LEDGER_ERROR);
    finish(record);
}

/* The record's next hop has crashed, and has not started again before the message was sent. */
static bool is_dead(const struct lnet_record *record)
{
    uint32_t i;

    for (i = 0; i < dead_count; i++)
        if (dead[i].nid == record->next_hop && record->began < dead[i].until)
            return true;
    return false;
}

void lnet_record_sent(struct lnet_msg *msg, int status)
{
    struct lnet_record *record = msg->record;

    msg->record = NULL;
    record->sent = true;
    if (status != 0)
        settle(record, SIM_LEDGER_ERROR);
    else if (record->arrived)
        settle(record, SIM_LEDGER_OK);
    else if (is_dead(record)) /* the driver has handed it to the network */
        settle(record, SIM_LEDGER_ABANDONED);
    finish(record);
}

/* The descriptor waits no longer for an answer. Whether the request or the answer was lost is in
 * their records. */
void lnet_record_timed_out(struct lnet_node *node, const struct lnet_libmd *md)
{
    (void)node;
    (void)md;
    if (buckets != NULL)
        count_drop("response timeout");
}

/* Messages that `from` (NULL: any node) sends or has sent to `next_hop` (LNET_NID_ANY: to all) are
 * lost. */
static void lose(const struct lnet_node *from, lnet_nid_t next_hop, bool sent_only)
{
    struct lnet_record *record, *next;
    uint32_t i;

    for (i = 0; buckets != NULL && i < BUCKETS; i++) {
        list_for_each_entry_safe (record, next, &buckets[i], on_list) {
            if ((from != NULL && record->hop != from) ||
                (next_hop != LNET_NID_ANY && record->next_hop != next_hop) || record->settled ||
                (sent_only && !record->sent && !record->forwarded))
                continue;
            settle(record, SIM_LEDGER_ABANDONED);
        }
    }
}

void lnet_records_lost(const struct lnet_node *from, lnet_nid_t next_hop)
{
    lose(from, next_hop, false);
}

void lnet_record_dead(lnet_nid_t nid)
{
    struct dead_nid *more;

    if (buckets == NULL)
        return;
    more = realloc(dead, (dead_count + 1) * sizeof(*dead));
    if (more == NULL)
        abort();
    dead = more;
    dead[dead_count++] = (struct dead_nid){nid, SIM_NEVER};
}

void lnet_record_alive(lnet_nid_t nid)
{
    uint32_t i;

    for (i = 0; i < dead_count; i++)
        if (dead[i].nid == nid && dead[i].until == SIM_NEVER)
            dead[i].until = sim_now();
}

void lnet_ledger_md(uint32_t opened, uint32_t closed)
{
    if (buckets != NULL)
        sim_ledger_count(&md_book, opened, closed);
}

void lnet_ledger_md_violation(const struct lnet_node *node)
{
    if (buckets != NULL)
        sim_ledger_violation(&md_book, "node %s: an event after the one that said unlinked",
                             node->name);
}

void lnet_connection_count(struct lnet_node *node, int change)
{
    assert((change == 1 || change == -1) && (change == 1 || node->connections > 0));
    node->connections += (uint32_t)change;
    if (buckets != NULL)
        sim_ledger_count(&connection_book, change == 1, change == -1);
}

void lnet_connection_garbled(struct lnet_ni *ni, lnet_nid_t peer)
{
    char text[LNET_NIDSTR_SIZE];

    if (buckets == NULL)
        return;
    libcfs_nid2str_r(peer, text, sizeof(text));
    sim_ledger_violation(&connection_book, "node %s received from %s what is no message of LNet",
                         ni->node->name, text);
}

void lnet_connection_lost(struct lnet_ni *ni, lnet_nid_t peer)
{
    lose(ni->node, peer, true);
}
