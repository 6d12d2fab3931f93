/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ping: clients keep messages under way, servers echo them. A message begins with struct
 * m0_nettest_ping_head, all little-endian; a shorter one has the low bytes of its sequence. The low
 * 16 bits of a sequence are the slot of the message at the client.
 */
#include "lib/arith.h"
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "nettest/pvt.h"

enum { HEAD = sizeof(struct m0_nettest_ping_head), SLOT_BITS = 16, SEED = 1 };

/* ---- the client ------------------------------------------------------------------------------ */

struct slot {
    uint64_t sequence;
    m0_time_t sent_at;
    uint32_t peer;
    bool sending; /* its send has not ended */
    bool awaited; /* its echo may come */
};

struct client {
    struct m0_nettest_test test; /* first */
    struct m0_net_end_point **peer;
    uint32_t peers; /* that were made */
    struct slot *slot;
    uint32_t slots, ins;
    struct m0_nettest_buffer *out; /* of the slot with the same index */
    struct m0_nettest_buffer *in;
    uint64_t issued;
};

static struct client *client_of(struct m0_nettest_test *test)
{
    return container_of(test, struct client, test);
}

static int client_make(struct m0_nettest_test *test, char (*addresses)[M0_NETTEST_ADDRESS])
{
    struct client *client = client_of(test);
    const struct m0_nettest_options *options = &test->options;
    int rc = 0;
    uint32_t i;

    client->slots = options->concurrency * test->peers;
    client->ins = 2 * client->slots;
    M0_ALLOC_ARR(client->peer, test->peers);
    M0_ALLOC_ARR(client->slot, client->slots);
    if (client->peer == NULL || client->slot == NULL)
        return -ENOMEM;
    for (; rc == 0 && client->peers < test->peers; client->peers += rc == 0)
        rc = m0_net_end_point_create(&client->peer[client->peers], &test->machine.tm,
                                     addresses[client->peers]);
    if (rc == 0)
        rc = m0_nettest_buffers_make(&test->machine, client->slots, options->size, &client->out);
    if (rc == 0)
        rc = m0_nettest_buffers_make(&test->machine, client->ins, options->size, &client->in);
    for (i = 0; rc == 0 && i < client->slots; i++) {
        client->slot[i].peer = i % test->peers;
        client->slot[i].sequence = i;
        m0_nettest_fill(&client->out[i], options->size > HEAD ? HEAD : 0, options->size, SEED);
    }
    return rc;
}

static void client_free(struct m0_nettest_test *test)
{
    struct client *client = client_of(test);
    uint32_t i;

    m0_nettest_buffers_free(&test->machine, client->slots, client->out);
    m0_nettest_buffers_free(&test->machine, client->ins, client->in);
    for (i = 0; i < client->peers; i++)
        m0_net_end_point_put(client->peer[i]);
    m0_free(client->peer);
    m0_free(client->slot);
}

/* The head, or as many low bytes of the sequence as fit. */
static void head_write(struct m0_nettest_buffer *buffer, uint64_t size, m0_time_t now,
                       uint64_t sequence)
{
    const struct m0_nettest_ping_head head = {M0_NETTEST_PING_MAGIC, now, sequence};
    char *at = buffer->nb.nb_buffer.ov_buf[0];

    if (size >= HEAD)
        memcpy(at, &head, HEAD);
    else
        memcpy(at, &sequence, min_type(uint64_t, size, sizeof(sequence)));
}

static bool head_read(const struct m0_nettest_buffer *buffer, uint64_t size,
                      struct m0_nettest_ping_head *head)
{
    const char *at = buffer->nb.nb_buffer.ov_buf[0];

    *head = (struct m0_nettest_ping_head){M0_NETTEST_PING_MAGIC, 0, 0};
    if (size >= HEAD)
        memcpy(head, at, HEAD);
    else
        memcpy(&head->sequence, at, min_type(uint64_t, size, sizeof(head->sequence)));
    return head->magic == M0_NETTEST_PING_MAGIC;
}

/* The slot's next message; a message that cannot be added counts as failed. */
static void issue(struct client *client, uint32_t index)
{
    struct m0_nettest_test *test = &client->test;
    const struct m0_nettest_options *options = &test->options;
    struct slot *slot = &client->slot[index];
    struct m0_nettest_buffer *out = &client->out[index];

    while (client->issued < options->messages) {
        client->issued++;
        slot->sequence += 1 << SLOT_BITS;
        slot->sent_at = m0_time_now();
        head_write(out, options->size, slot->sent_at, slot->sequence);
        out->nb.nb_length = options->size;
        out->nb.nb_ep = client->peer[slot->peer];
        slot->sending = slot->awaited =
            m0_nettest_add(out, M0_NET_QT_MSG_SEND, options->message_timeout) == 0;
        if (slot->sending)
            return;
        test->stats.sent.failed++;
    }
    if (!m0_exists(i, client->slots, client->slot[i].sending || client->slot[i].awaited))
        m0_nettest_finish(test);
}

static void issue_if_idle(struct client *client, uint32_t index)
{
    if (!client->slot[index].sending && !client->slot[index].awaited)
        issue(client, index);
}

static int client_start(struct m0_nettest_test *test)
{
    struct client *client = client_of(test);
    uint32_t i;
    int rc = 0;

    for (i = 0; rc == 0 && i < client->ins; i++)
        rc = m0_nettest_receive(&client->in[i], test->options.size);
    for (i = 0; rc == 0 && i < client->slots; i++)
        issue_if_idle(client, i);
    return rc;
}

static void take_echo(struct client *client, const struct m0_nettest_buffer *buffer,
                      uint64_t length)
{
    struct m0_nettest_test *test = &client->test;
    uint64_t size = test->options.size, bytes = min_type(uint64_t, size, sizeof(uint64_t)), mask;
    struct m0_nettest_ping_head head;
    struct slot *slot;
    uint32_t index;

    mask = size >= HEAD ? UINT64_MAX : UINT64_MAX >> (64 - 8 * bytes);
    if (length != size || !head_read(buffer, size, &head) ||
        !m0_nettest_is_filled(buffer, size >= HEAD ? HEAD : (bytes < 8 ? size : 8), size, SEED)) {
        test->stats.received.bad++;
        return;
    }
    index = (uint32_t)(head.sequence & UINT16_MAX);
    slot = &client->slot[index];
    if (index >= client->slots || !slot->awaited || (slot->sequence & mask) != head.sequence) {
        test->stats.received.bad++; /* too late, or a duplicate */
        return;
    }
    slot->awaited = false;
    test->stats.received.total++;
    test->stats.transfers.total++;
    m0_nettest_moments_add(&test->stats.rtt, m0_time_sub(m0_time_now(), slot->sent_at));
    issue_if_idle(client, index);
}

static void client_end(void *owner, struct m0_nettest_buffer *buffer,
                       const struct m0_net_buffer_event *event)
{
    struct client *client = client_of(owner);
    struct m0_nettest_test *test = owner;

    if (buffer->nb.nb_qtype == M0_NET_QT_MSG_SEND) {
        client->slot[buffer->index].sending = false;
        if (!m0_nettest_note(test, &test->stats.sent, event->nbe_status))
            client->slot[buffer->index].awaited = false;
        issue_if_idle(client, buffer->index);
        return;
    }
    if (event->nbe_status == 0)
        take_echo(client, buffer, event->nbe_length);
    else
        m0_nettest_note(test, &test->stats.received, event->nbe_status);
    if (m0_nettest_receive(buffer, test->options.size) != 0)
        test->stats.received.failed++;
}

static m0_time_t client_expire(struct m0_nettest_test *test, m0_time_t now)
{
    struct client *client = client_of(test);
    m0_time_t timeout = test->options.message_timeout, next = m0_time_add(now, timeout), until;
    uint32_t i;

    for (i = 0; i < client->slots; i++) {
        struct slot *slot = &client->slot[i];

        if (!slot->awaited || slot->sending)
            continue;
        until = m0_time_add(slot->sent_at, timeout);
        if (until <= now) {
            slot->awaited = false;
            test->stats.lost++;
            issue(client, i);
        } else {
            next = min_check(next, until);
        }
    }
    return next;
}

const struct m0_nettest_test_ops m0_nettest_ping_client = {
    .size = sizeof(struct client),
    .make = client_make,
    .start = client_start,
    .end = client_end,
    .expire = client_expire,
    .free = client_free,
};

/* ---- the server: a buffer receives a message and sends it back ------------------------------- */

struct server {
    struct m0_nettest_test test; /* first */
    struct m0_nettest_buffer *buffer;
    uint32_t buffers;
};

static struct server *server_of(struct m0_nettest_test *test)
{
    return container_of(test, struct server, test);
}

static int server_make(struct m0_nettest_test *test, char (*addresses)[M0_NETTEST_ADDRESS])
{
    struct server *server = server_of(test);

    (void)addresses;
    server->buffers = 2 * test->options.concurrency * test->peers;
    return m0_nettest_buffers_make(&test->machine, server->buffers, test->options.size,
                                   &server->buffer);
}

static void server_free(struct m0_nettest_test *test)
{
    struct server *server = server_of(test);

    m0_nettest_buffers_free(&test->machine, server->buffers, server->buffer);
}

static int server_start(struct m0_nettest_test *test)
{
    struct server *server = server_of(test);
    uint32_t i;
    int rc = 0;

    for (i = 0; rc == 0 && i < server->buffers; i++)
        rc = m0_nettest_receive(&server->buffer[i], test->options.size);
    return rc;
}

static bool echo(struct m0_nettest_test *test, struct m0_nettest_buffer *buffer,
                 const struct m0_net_buffer_event *event)
{
    struct m0_nettest_ping_head head;

    if (event->nbe_length != test->options.size || !head_read(buffer, event->nbe_length, &head)) {
        test->stats.received.bad++;
        return false;
    }
    test->stats.received.total++;
    buffer->nb.nb_ep = event->nbe_ep;
    buffer->nb.nb_length = event->nbe_length;
    if (m0_nettest_add(buffer, M0_NET_QT_MSG_SEND, test->options.message_timeout) == 0)
        return true;
    test->stats.sent.failed++;
    return false;
}

static void server_end(void *owner, struct m0_nettest_buffer *buffer,
                       const struct m0_net_buffer_event *event)
{
    struct m0_nettest_test *test = owner;

    if (buffer->nb.nb_qtype == M0_NET_QT_MSG_SEND) {
        if (m0_nettest_note(test, &test->stats.sent, event->nbe_status))
            test->stats.transfers.total++;
    } else if (event->nbe_status != 0) {
        m0_nettest_note(test, &test->stats.received, event->nbe_status);
    } else if (echo(test, buffer, event)) {
        return;
    }
    if (m0_nettest_receive(buffer, test->options.size) != 0)
        test->stats.received.failed++;
}

const struct m0_nettest_test_ops m0_nettest_ping_server = {
    .size = sizeof(struct server),
    .make = server_make,
    .start = server_start,
    .end = server_end,
    .free = server_free,
};
