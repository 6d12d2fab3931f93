/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bulk, the client: pairs of passive buffers. A pair has three operations: its part of the message
 * with descriptors, the buffer that the server reads, and the one that the server writes. They may
 * end in any order.
 */
#include "lib/arith.h"
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "nettest/pvt.h"

enum state {
    UNUSED,
    QUEUED, /* three operations are under way */
    BD_SENT, /* the message has been sent, two are left */
    CB_LEFT2, /* a buffer has ended before the message's send, two are left */
    CB_LEFT1,
    FAILED2, /* one operation has failed, two are left */
    FAILED1,
    FAILED,
    TRANSFERRED
};

/* QUEUED ─ message ─▶ BD_SENT ─ buffer ─▶ CB_LEFT1 ─▶ TRANSFERRED
 *    └──── buffer ─▶ CB_LEFT2 ─ any ───────▲      a failure anywhere: FAILED2, FAILED1 or FAILED,
 *                                                 by how many are left */
static enum state next_state(enum state state, bool message, bool succeeded)
{
    switch (state) {
    case QUEUED:
        return !succeeded ? FAILED2 : message ? BD_SENT : CB_LEFT2;
    case BD_SENT:
        M0_ASSERT(!message);
        return succeeded ? CB_LEFT1 : FAILED1;
    case CB_LEFT2:
        return succeeded ? CB_LEFT1 : FAILED1;
    case CB_LEFT1:
        return succeeded ? TRANSFERRED : FAILED;
    case FAILED2:
        return FAILED1;
    case FAILED1:
        return FAILED;
    default:
        M0_IMPOSSIBLE("an idle pair has no operations");
        return FAILED;
    }
}

struct pair {
    enum state state;
    uint64_t seed; /* of its data */
    uint32_t lead; /* the pair whose message has the descriptors */
    bool bad; /* what came back is not what was sent */
};

struct client {
    struct m0_nettest_test test; /* first */
    struct m0_net_end_point **peer;
    uint32_t peers; /* that were made */
    struct pair *pair; /* those of peer p are p × concurrency and following */
    uint32_t pairs;
    struct m0_nettest_buffer *send, *receive, *message; /* of the pair with the same index */
    uint64_t message_bytes;
    char *text; /* of a message that is made */
    uint64_t issued;
};

static struct client *client_of(struct m0_nettest_test *test)
{
    return container_of(test, struct client, test);
}

static uint32_t batch(const struct m0_nettest_options *options)
{
    return min_check(options->pairs, options->concurrency);
}

static int client_make(struct m0_nettest_test *test, char (*addresses)[M0_NETTEST_ADDRESS])
{
    struct client *client = client_of(test);
    const struct m0_nettest_options *options = &test->options;
    int rc = 0;

    client->pairs = options->concurrency * test->peers;
    client->message_bytes = sizeof(struct m0_nettest_bulk_head) +
                            2ull * batch(options) *
                                (sizeof(struct m0_nettest_bulk_desc) +
                                 m0_net_domain_get_max_buffer_desc_size(&test->machine.dom));
    M0_ALLOC_ARR(client->peer, test->peers);
    M0_ALLOC_ARR(client->pair, client->pairs);
    client->text = m0_alloc(client->message_bytes);
    if (client->peer == NULL || client->pair == NULL || client->text == NULL)
        return -ENOMEM;
    for (; rc == 0 && client->peers < test->peers; client->peers += rc == 0)
        rc = m0_net_end_point_create(&client->peer[client->peers], &test->machine.tm,
                                     addresses[client->peers]);
    if (rc == 0)
        rc = m0_nettest_buffers_make(&test->machine, client->pairs, options->size, &client->send);
    if (rc == 0)
        rc =
            m0_nettest_buffers_make(&test->machine, client->pairs, options->size, &client->receive);
    if (rc == 0)
        rc = m0_nettest_buffers_make(&test->machine, client->pairs, client->message_bytes,
                                     &client->message);
    return rc;
}

static void client_free(struct m0_nettest_test *test)
{
    struct client *client = client_of(test);
    uint32_t i;

    m0_nettest_buffers_free(&test->machine, client->pairs, client->send);
    m0_nettest_buffers_free(&test->machine, client->pairs, client->receive);
    m0_nettest_buffers_free(&test->machine, client->pairs, client->message);
    for (i = 0; i < client->peers; i++)
        m0_net_end_point_put(client->peer[i]);
    m0_free(client->peer);
    m0_free(client->pair);
    m0_free(client->text);
}

/* ---- a message of descriptors ---------------------------------------------------------------- */

static void step(struct client *client, uint32_t index, bool message, bool succeeded);

static char *append(char *at, const struct m0_nettest_buffer *buffer, uint64_t size)
{
    const struct m0_net_buf_desc *from = &buffer->nb.nb_desc;
    const struct m0_nettest_bulk_desc desc = {M0_NETTEST_DESCRIPTOR_MAGIC, size, from->nbd_len};

    memcpy(at, &desc, sizeof(desc));
    memcpy(at + sizeof(desc), from->nbd_data, from->nbd_len);
    return at + sizeof(desc) + from->nbd_len;
}

/* Adds the pair's passive buffers; false: it has failed, or will when the first one has ended. */
static bool post(struct client *client, uint32_t index)
{
    const struct m0_nettest_options *options = &client->test.options;
    struct m0_nettest_buffer *send = &client->send[index], *receive = &client->receive[index];
    struct pair *pair = &client->pair[index];

    pair->seed = client->issued;
    pair->bad = false;
    m0_nettest_fill(send, 0, options->size, pair->seed);
    if (m0_nettest_add(send, M0_NET_QT_PASSIVE_BULK_SEND, options->bulk_timeout) != 0) {
        client->test.stats.bulk_sent.failed++;
        client->test.stats.transfers.failed++;
        return false;
    }
    pair->state = QUEUED;
    receive->nb.nb_length = options->size;
    if (m0_nettest_add(receive, M0_NET_QT_PASSIVE_BULK_RECV, options->bulk_timeout) == 0)
        return true;
    client->test.stats.bulk_received.failed++;
    pair->state = FAILED1; /* the other buffer is left */
    m0_net_buffer_del(&send->nb, &client->test.machine.tm);
    return false;
}

static void cancel(struct client *client, uint32_t index)
{
    m0_net_buffer_del(&client->send[index].nb, &client->test.machine.tm);
    m0_net_buffer_del(&client->receive[index].nb, &client->test.machine.tm);
}

/* The message with the descriptors of all pairs of this lead has ended. */
static void message_ended(struct client *client, uint32_t lead, bool succeeded)
{
    uint32_t concurrency = client->test.options.concurrency, first, i;

    M0_ASSERT(concurrency > 0);
    first = lead - lead % concurrency;
    for (i = first; i < first + concurrency; i++) {
        if (client->pair[i].state == UNUSED || client->pair[i].lead != lead)
            continue;
        client->pair[i].lead = UINT32_MAX;
        if (!succeeded)
            cancel(client, i);
        step(client, i, true, succeeded);
    }
}

/* Offers up to a batch of unused pairs of a peer. False: there are fewer, and more will come. */
static bool offer(struct client *client, uint32_t peer)
{
    const struct m0_nettest_options *options = &client->test.options;
    uint32_t first = peer * options->concurrency, unused[M0_NETTEST_PAIRS_MAX], count = 0, lead = 0,
             i;
    uint64_t left = options->messages - client->issued,
             wanted = min_type(uint64_t, left, batch(options));
    struct m0_nettest_bulk_head head = {M0_NETTEST_DESCRIPTORS_MAGIC, 0};
    struct m0_nettest_buffer *message;
    char *at = client->text + sizeof(head);

    for (i = first; i < first + options->concurrency && count < wanted; i++)
        if (client->pair[i].state == UNUSED)
            unused[count++] = i;
    if (count == 0 || count < wanted)
        return false;
    for (i = 0; i < count; i++) {
        struct pair *pair = &client->pair[unused[i]];

        pair->lead = UINT32_MAX;
        client->issued++;
        if (!post(client, unused[i]))
            continue;
        lead = head.count == 0 ? unused[i] : lead;
        pair->lead = lead;
        head.count += 2;
        at = append(at, &client->send[unused[i]], options->size);
        at = append(at, &client->receive[unused[i]], options->size);
    }
    if (head.count == 0)
        return true;
    message = &client->message[lead];
    memcpy(client->text, &head, sizeof(head));
    m0_nettest_put(message, client->text, (size_t)(at - client->text));
    message->nb.nb_ep = client->peer[peer];
    if (m0_nettest_add(message, M0_NET_QT_MSG_SEND, options->message_timeout) != 0) {
        client->test.stats.sent.failed++;
        message_ended(client, lead, false);
    }
    return true;
}

static void offer_all(struct client *client, uint32_t peer)
{
    while (client->issued < client->test.options.messages && offer(client, peer)) {
    }
    if (client->issued == client->test.options.messages &&
        m0_forall(i, client->pairs, client->pair[i].state == UNUSED))
        m0_nettest_finish(&client->test);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void step(struct client *client, uint32_t index, bool message, bool succeeded)
{
    struct pair *pair = &client->pair[index];
    struct m0_nettest_count *transfers = &client->test.stats.transfers;

    pair->state = next_state(pair->state, message, succeeded);
    if (pair->state == TRANSFERRED && pair->bad)
        transfers->bad++;
    else if (pair->state == TRANSFERRED)
        transfers->total++;
    else if (pair->state == FAILED)
        transfers->failed++;
    else
        return;
    pair->state = UNUSED;
}

static void received(struct client *client, uint32_t index, const struct m0_net_buffer_event *event)
{
    struct m0_nettest_count *count = &client->test.stats.bulk_received;
    struct pair *pair = &client->pair[index];
    uint64_t size = client->test.options.size;

    if (event->nbe_status == 0 &&
        (event->nbe_length != size ||
         !m0_nettest_is_filled(&client->receive[index], 0, size, pair->seed))) {
        pair->bad = true;
        count->bad++;
        return;
    }
    m0_nettest_note(&client->test, count, event->nbe_status);
}

static void client_end(void *owner, struct m0_nettest_buffer *buffer,
                       const struct m0_net_buffer_event *event)
{
    struct client *client = client_of(owner);
    struct m0_nettest_test *test = owner;
    bool succeeded = event->nbe_status == 0;

    switch (buffer->nb.nb_qtype) {
    case M0_NET_QT_MSG_SEND:
        m0_nettest_note(test, &test->stats.sent, event->nbe_status);
        message_ended(client, buffer->index, succeeded);
        break;
    case M0_NET_QT_PASSIVE_BULK_SEND:
        m0_nettest_note(test, &test->stats.bulk_sent, event->nbe_status);
        m0_net_desc_free(&buffer->nb.nb_desc);
        step(client, buffer->index, false, succeeded);
        break;
    default:
        received(client, buffer->index, event);
        m0_net_desc_free(&buffer->nb.nb_desc);
        step(client, buffer->index, false, succeeded);
        break;
    }
    offer_all(client, buffer->index / test->options.concurrency);
}

static int client_start(struct m0_nettest_test *test)
{
    struct client *client = client_of(test);
    uint32_t i;

    for (i = 0; i < client->peers; i++)
        offer_all(client, i);
    return 0;
}

const struct m0_nettest_test_ops m0_nettest_bulk_client = {
    .size = sizeof(struct client),
    .make = client_make,
    .start = client_start,
    .end = client_end,
    .free = client_free,
};
