/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bulk, the server: reads the first buffer of each pair and writes the data into the second one. A
 * message whose descriptors outnumber the free buffers waits.
 */
#include "lib/arith.h"
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "nettest/pvt.h"

enum state { UNUSED, BD_RECEIVED, RECEIVING, SENDING, TRANSFERRED, FAILED, BADMSG };

struct transfer { /* of the buffer with the same index */
    enum state state;
    struct m0_net_buf_desc to; /* of the second buffer; its memory is the transfer's */
    struct m0_net_buf_desc from;
};

struct message { /* of the message buffer with the same index */
    uint64_t count, next; /* pairs, and the one that is handled next */
    size_t at; /* in the text */
};

struct server {
    struct m0_nettest_test test; /* first */
    struct m0_nettest_buffer *bulk, *in;
    struct transfer *transfer;
    struct message *message;
    uint32_t *waiting; /* messages that wait for a buffer, the oldest first */
    uint32_t transfers, ins, waiters;
    uint64_t message_bytes, desc_bytes;
    char *text; /* of a message, and the descriptors of transfers */
};

static struct server *server_of(struct m0_nettest_test *test)
{
    return container_of(test, struct server, test);
}

static uint64_t message_bytes(struct server *server)
{
    const struct m0_nettest_options *options = &server->test.options;

    return sizeof(struct m0_nettest_bulk_head) +
           2ull * min_check(options->pairs, options->concurrency) *
               (sizeof(struct m0_nettest_bulk_desc) + server->desc_bytes);
}

static int server_make(struct m0_nettest_test *test, char (*addresses)[M0_NETTEST_ADDRESS])
{
    struct server *server = server_of(test);
    uint32_t i;
    int rc;

    (void)addresses;
    server->transfers = server->ins = 2 * test->options.concurrency * test->peers;
    server->desc_bytes = m0_net_domain_get_max_buffer_desc_size(&test->machine.dom);
    server->message_bytes = message_bytes(server);
    M0_ALLOC_ARR(server->transfer, server->transfers);
    M0_ALLOC_ARR(server->message, server->ins);
    M0_ALLOC_ARR(server->waiting, server->ins);
    server->text = m0_alloc(server->message_bytes + 2 * server->transfers * server->desc_bytes);
    if (server->transfer == NULL || server->message == NULL || server->waiting == NULL ||
        server->text == NULL)
        return -ENOMEM;
    for (i = 0; i < server->transfers; i++) {
        uint8_t *memory = (uint8_t *)server->text + server->message_bytes;

        server->transfer[i].from.nbd_data = memory + 2 * i * server->desc_bytes;
        server->transfer[i].to.nbd_data = memory + (2 * i + 1) * server->desc_bytes;
    }
    rc = m0_nettest_buffers_make(&test->machine, server->transfers, test->options.size,
                                 &server->bulk);
    if (rc == 0)
        rc = m0_nettest_buffers_make(&test->machine, server->ins, server->message_bytes,
                                     &server->in);
    return rc;
}

static void server_free(struct m0_nettest_test *test)
{
    struct server *server = server_of(test);

    m0_nettest_buffers_free(&test->machine, server->transfers, server->bulk);
    m0_nettest_buffers_free(&test->machine, server->ins, server->in);
    m0_free(server->transfer);
    m0_free(server->message);
    m0_free(server->waiting);
    m0_free(server->text);
}

static int server_start(struct m0_nettest_test *test)
{
    struct server *server = server_of(test);
    uint32_t i;
    int rc = 0;

    for (i = 0; rc == 0 && i < server->ins; i++)
        rc = m0_nettest_receive(&server->in[i], server->message_bytes);
    return rc;
}

/* ---- transfers ------------------------------------------------------------------------------- */

/* The transfer is over, in one of its three last states. */
static void finish(struct server *server, uint32_t index, enum state state)
{
    struct m0_nettest_stats *stats = &server->test.stats;

    M0_ASSERT(M0_IN(state, (TRANSFERRED, FAILED, BADMSG)));
    if (state == TRANSFERRED)
        stats->transfers.total++;
    else if (state == FAILED)
        stats->transfers.failed++;
    else
        stats->transfers.bad++;
    server->transfer[index].state = UNUSED;
    server->bulk[index].nb.nb_desc = (struct m0_net_buf_desc){.nbd_len = 0};
}

static void operate(struct server *server, uint32_t index, enum state state)
{
    struct m0_nettest_buffer *buffer = &server->bulk[index];
    struct m0_nettest_stats *stats = &server->test.stats;
    struct transfer *transfer = &server->transfer[index];
    bool reads = state == RECEIVING;

    M0_ASSERT(transfer->state == (reads ? BD_RECEIVED : RECEIVING));
    transfer->state = state;
    buffer->nb.nb_desc = reads ? transfer->from : transfer->to;
    buffer->nb.nb_length = server->test.options.size;
    if (m0_nettest_add(buffer, reads ? M0_NET_QT_ACTIVE_BULK_RECV : M0_NET_QT_ACTIVE_BULK_SEND,
                       server->test.options.bulk_timeout) == 0)
        return;
    (reads ? &stats->bulk_received : &stats->bulk_sent)->failed++;
    finish(server, index, FAILED);
}

/* Takes a descriptor out of the text; false: it is none. */
static bool take_descriptor(struct server *server, size_t *at, struct m0_net_buf_desc *to)
{
    struct m0_nettest_bulk_desc desc;

    if (server->message_bytes - *at < sizeof(desc))
        return false;
    memcpy(&desc, server->text + *at, sizeof(desc));
    *at += sizeof(desc);
    if (desc.magic != M0_NETTEST_DESCRIPTOR_MAGIC || desc.size != server->test.options.size ||
        desc.length > server->desc_bytes || desc.length > server->message_bytes - *at)
        return false;
    memcpy(to->nbd_data, server->text + *at, desc.length);
    to->nbd_len = (uint32_t)desc.length;
    *at += desc.length;
    return true;
}

static bool find_unused(const struct server *server, uint32_t *index)
{
    for (*index = 0; *index < server->transfers; (*index)++)
        if (server->transfer[*index].state == UNUSED)
            return true;
    return false;
}

/* Begins what a message asks for; false: it waits for a buffer. */
static bool serve(struct server *server, uint32_t which)
{
    struct message *message = &server->message[which];
    uint32_t index;

    m0_nettest_get(&server->in[which], server->text, server->message_bytes);
    for (; message->next < message->count; message->next++) {
        struct transfer *transfer;

        if (!find_unused(server, &index))
            return false;
        transfer = &server->transfer[index];
        transfer->state = BD_RECEIVED;
        if (!take_descriptor(server, &message->at, &transfer->from) ||
            !take_descriptor(server, &message->at, &transfer->to)) {
            server->test.stats.received.bad++;
            finish(server, index, BADMSG);
            break;
        }
        operate(server, index, RECEIVING);
    }
    if (m0_nettest_receive(&server->in[which], server->message_bytes) != 0)
        server->test.stats.received.failed++;
    return true;
}

static void serve_waiting(struct server *server)
{
    while (server->waiters > 0 && serve(server, server->waiting[0])) {
        server->waiters--;
        memmove(server->waiting, server->waiting + 1, server->waiters * sizeof(*server->waiting));
    }
}

static void take_message(struct server *server, const struct m0_nettest_buffer *buffer)
{
    struct message *message = &server->message[buffer->index];
    struct m0_nettest_bulk_head head = {0, 0};

    m0_nettest_get(buffer, &head, sizeof(head));
    *message = (struct message){.at = sizeof(head), .count = head.count / 2};
    if (head.magic != M0_NETTEST_DESCRIPTORS_MAGIC || head.count == 0 || head.count % 2 != 0) {
        server->test.stats.received.bad++;
        message->count = 0;
    } else {
        server->test.stats.received.total++;
    }
    server->waiting[server->waiters++] = buffer->index;
    serve_waiting(server);
}

static void server_end(void *owner, struct m0_nettest_buffer *buffer,
                       const struct m0_net_buffer_event *event)
{
    struct m0_nettest_test *test = owner;
    struct server *server = server_of(test);
    bool whole = event->nbe_length == test->options.size;

    switch (buffer->nb.nb_qtype) {
    case M0_NET_QT_MSG_RECV:
        if (event->nbe_status == 0) {
            take_message(server, buffer);
            return;
        }
        m0_nettest_note(test, &test->stats.received, event->nbe_status);
        if (m0_nettest_receive(buffer, server->message_bytes) != 0)
            test->stats.received.failed++;
        return;
    case M0_NET_QT_ACTIVE_BULK_RECV:
        if (!m0_nettest_note(test, &test->stats.bulk_received, event->nbe_status))
            finish(server, buffer->index, FAILED);
        else if (!whole)
            finish(server, buffer->index, BADMSG);
        else
            operate(server, buffer->index, SENDING);
        break;
    default:
        finish(server, buffer->index,
               m0_nettest_note(test, &test->stats.bulk_sent, event->nbe_status) ? TRANSFERRED
                                                                                : FAILED);
        break;
    }
    serve_waiting(server);
}

const struct m0_nettest_test_ops m0_nettest_bulk_server = {
    .size = sizeof(struct server),
    .make = server_make,
    .start = server_start,
    .end = server_end,
    .free = server_free,
};
