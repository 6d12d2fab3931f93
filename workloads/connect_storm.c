/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All ranks connect at once, as message libraries do at start-up: of each pair one posts a datagram
 * to the other, which has wildcards posted; each datagram carries the attributes of a mailbox. Then
 * each sends the other one message through the mailboxes.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"peers", ARG_COUNT, "0", "0", "65536", NULL,
     "each rank connects to so many that follow it; 0: to all, each pair once"},
    {"wildcards", ARG_COUNT, "16", "1", "4096", NULL, "unbound datagrams posted at a time"},
    {"bytes", ARG_BYTES, "64", "8", "65535", NULL, "length of the messages"},
    {"credits", ARG_COUNT, "4", "1", "4096", NULL, "of each mailbox"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct card { /* one datagram */
    gni_ep_handle_t ep;
    uint32_t slot; /* of our mailbox that it offers */
    gni_smsg_attr_t mine, theirs;
    uint64_t posted_at;
};

struct storm {
    struct wl_domain domain;
    uint32_t active, passive; /* connections that we begin, that others begin */
    uint32_t wildcards, offered;
    uint32_t connected, received, lost;
    uint32_t bytes;
    uint8_t *out, *expected;
    struct card *calls; /* active */
    struct card *cards; /* wildcards */
};

/* Half of the ring follows us, the other half is followed by us. */
static void count_connections(struct storm *storm, uint64_t peers)
{
    uint32_t size = storm->domain.size, most = (size - 1) / 2;

    storm->active = storm->passive = peers == 0 || peers > most ? most : (uint32_t)peers;
    if ((peers == 0 || peers > most) && size % 2 == 0) {
        /* The rank at distance n/2: the lower half connects. */
        if (storm->domain.id < size / 2)
            storm->active++;
        else
            storm->passive++;
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static uint64_t seed_of(const struct storm *storm, uint32_t from, uint32_t to)
{
    return (uint64_t)from * storm->domain.size + to;
}

static int greet(struct storm *storm, uint32_t peer)
{
    wl_pattern_fill(storm->out, storm->bytes, seed_of(storm, storm->domain.id, peer));
    return wl_message_send(&storm->domain, peer, storm->out, storm->bytes);
}

static int check(struct storm *storm, uint32_t from, const void *message)
{
    wl_pattern_fill(storm->expected, storm->bytes, seed_of(storm, from, storm->domain.id));
    if (memcmp(message, storm->expected, storm->bytes) != 0)
        return rank_fail(storm->domain.rank, "the message of rank %u is wrong", from);
    storm->received++;
    rank_progress(storm->domain.rank);
    return 0;
}

/* 1: a message was there; 0: none; -1: failed. */
static int receive(struct storm *storm)
{
    uint32_t from;
    void *message = wl_message_poll(&storm->domain, &from);
    int status;

    if (message == NULL)
        return 0;
    status = check(storm, from, message);
    wl_message_release(&storm->domain, from);
    return status == 0 ? 1 : -1;
}

/* ---- datagrams ------------------------------------------------------------------------------- */

static int post(struct storm *storm, struct card *card, uint64_t id)
{
    gni_return_t rc;

    wl_message_mailbox(&storm->domain, card->slot, &card->mine);
    card->posted_at = rank_now();
    rc = GNI_EpPostDataWId(card->ep, &card->mine, sizeof(card->mine), &card->theirs,
                           sizeof(card->theirs), id);
    if (rc != GNI_RC_SUCCESS)
        return rank_fail(storm->domain.rank, "cannot post a datagram: %s", wl_rc_name(rc));
    return 0;
}

/* Datagram `size + i` is wildcard i; datagram i is our call to the i-th that follows. */
static int post_wildcard(struct storm *storm, uint32_t i)
{
    if (storm->offered == storm->passive)
        return 0;
    storm->cards[i].slot = storm->active + storm->offered++;
    return post(storm, &storm->cards[i], storm->domain.size + i);
}

static int post_all(struct storm *storm)
{
    struct wl_domain *domain = &storm->domain;
    gni_return_t rc;
    uint32_t i;

    for (i = 0; i < storm->wildcards; i++) {
        rc = GNI_EpCreate(domain->nic, domain->tx, &storm->cards[i].ep);
        if (rc != GNI_RC_SUCCESS)
            return rank_fail(domain->rank, "no endpoint for a wildcard: %s", wl_rc_name(rc));
        if (post_wildcard(storm, i) != 0)
            return -1;
    }
    for (i = 0; i < storm->active; i++) {
        storm->calls[i].ep = wl_domain_ep(domain, (domain->id + 1 + i) % domain->size);
        storm->calls[i].slot = i;
        if (storm->calls[i].ep == NULL || post(storm, &storm->calls[i], i) != 0)
            return -1;
    }
    return 0;
}

/* A datagram has ended: connects to the peer and sends it a message; posts the wildcard again. */
static int take(struct storm *storm, uint64_t id)
{
    struct wl_domain *domain = &storm->domain;
    bool call = id < domain->size;
    struct card *card = call ? &storm->calls[id] : &storm->cards[id - domain->size];
    uint32_t address, peer;
    gni_post_state_t state;
    gni_return_t rc = GNI_EpPostDataTestById(card->ep, id, &state, &address, &peer);

    if (rc != GNI_RC_SUCCESS)
        return rank_fail(domain->rank, "cannot take a datagram: %s", wl_rc_name(rc));
    if (state != GNI_POST_COMPLETED) { /* that rank is gone */
        domain->errors++;
        domain->lost++;
        storm->lost++;
        return 0;
    }
    if (wl_message_connect_to(domain, peer, &card->mine, &card->theirs) != 0)
        return -1;
    storm->connected++;
    if (call)
        rank_record_latency(domain->rank, "connect", rank_now() - card->posted_at);
    else if (post_wildcard(storm, (uint32_t)(id - domain->size)) != 0)
        return -1;
    return greet(storm, peer);
}

/* 1: a datagram had ended; 0: none; -1: failed. */
static int probe(struct storm *storm)
{
    uint64_t id;

    if (storm->connected + storm->lost == storm->active + storm->passive ||
        GNI_PostDataProbeById(storm->domain.nic, &id) != GNI_RC_SUCCESS)
        return 0;
    storm->domain.progress_count++;
    return take(storm, id) == 0 ? 1 : -1;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int connect_all(struct storm *storm)
{
    uint32_t total = storm->active + storm->passive;
    int status = post_all(storm), datagram, message;

    while (status == 0 && storm->received + storm->lost < total) {
        datagram = probe(storm);
        message = receive(storm);
        wl_message_poll_completions(&storm->domain);
        if (datagram < 0 || message < 0)
            status = -1;
        else if (datagram == 0 && message == 0 && wl_domain_timed_out(&storm->domain))
            break;
    }
    wl_message_flush(&storm->domain);
    return status;
}

static int run(struct rank *rank)
{
    struct storm storm = {.bytes = (uint32_t)rank_arg_count(rank, "bytes")};
    uint16_t credits = (uint16_t)rank_arg_count(rank, "credits");
    int status = wl_domain_open(&storm.domain, rank, 4096, 0);
    uint64_t began;
    uint32_t total;

    wl_domain_set_timeout(&storm.domain, rank_arg_ps(rank, "give_up"));
    count_connections(&storm, rank_arg_count(rank, "peers"));
    total = storm.active + storm.passive;
    storm.wildcards = (uint32_t)rank_arg_count(rank, "wildcards");
    if (storm.wildcards > storm.passive)
        storm.wildcards = storm.passive;
    storm.calls = calloc(storm.active + 1, sizeof(*storm.calls));
    storm.cards = calloc(storm.wildcards + 1, sizeof(*storm.cards));
    storm.out = malloc(storm.bytes);
    storm.expected = malloc(storm.bytes);
    if (status == 0)
        status = wl_mailboxes_open(&storm.domain, total, credits, storm.bytes, 1);
    if (status == 0) {
        began = rank_now();
        status = connect_all(&storm);
        rank_record_latency(rank, "latency", rank_now() - began);
    }
    if (wl_domain_finish(&storm.domain, total - storm.received) != 0)
        status = -1;
    wl_mailboxes_close(&storm.domain);
    wl_domain_close(&storm.domain);
    free(storm.calls);
    free(storm.cards);
    free(storm.out);
    free(storm.expected);
    return status != 0;
}

static const struct workload connect_storm = {
    .name = "connect_storm",
    .meaning = "all ranks connect by bound and wildcard datagrams, then one message each way",
    .metrics = "connect (ps, of one call), latency (ps, until all is done)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(connect_storm)
