/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Replies, and requests that wait for theirs. Requests with thrid are answered as soon as they can
 * be; those without are served when they come, but answered in order: a reply is held while an
 * earlier one is missing.
 */
#include "internal.h"

struct pmi2_buffer *pmi2_reply(struct pmi2_server_call *call, const char *name)
{
    struct pmi2_buffer *buffer = &call->client->link.server->reply;

    call->client->link.server->reply_name = name;
    pmi2_buffer_clear(buffer);
    buffer->failed = false;
    if (call->line) {
        pmi2_line_begin(buffer, name);
        return buffer;
    }
    pmi2_frame_begin(buffer, name);
    if (call->thrid.at != NULL)
        pmi2_frame_slice(buffer, "thrid", call->thrid);
    return buffer;
}

void pmi2_reply_text(struct pmi2_server_call *call, const char *key, const char *value)
{
    pmi2_reply_slice(call, key, (struct pmi2_slice){value, strlen(value)});
}

void pmi2_reply_slice(struct pmi2_server_call *call, const char *key, struct pmi2_slice value)
{
    struct pmi2_buffer *buffer = &call->client->link.server->reply;

    if (call->line)
        pmi2_line_slice(buffer, key, value);
    else
        pmi2_frame_slice(buffer, key, value);
}

void pmi2_reply_int(struct pmi2_server_call *call, const char *key, int64_t value)
{
    struct pmi2_buffer *buffer = &call->client->link.server->reply;

    if (call->line)
        pmi2_line_int(buffer, key, value);
    else
        pmi2_frame_int(buffer, key, value);
}

static void forget_wait(struct pmi2_request *request)
{
    struct pmi2_rank *rank = request->call.client->rank;

    switch (request->waits) {
    case WAIT_FENCE:
        if (rank != NULL && rank->fence == request)
            pmi2_fence_forget(rank);
        break;
    case WAIT_RING:
        if (rank != NULL && rank->ring == request) {
            rank->ring = NULL;
            rank->job->ringed--;
        }
        break;
    case WAIT_ATTRIBUTE:
        pmi2_attribute_forget(request);
        break;
    case WAIT_ROOT:
        pmi2_root_forget(request);
        break;
    case WAIT_HELD:
    case WAIT_FINALIZE:
        break;
    }
}

void pmi2_request_drop(struct pmi2_request *request)
{
    struct pmi2_server_client *client = request->call.client;

    forget_wait(request);
    port_list_discard(&request->list);
    client->request_count--;
    if (request->call.ordered)
        client->ordered_count--;
    pmi2_chunk_drop(request->reply);
    free(request);
}

static struct pmi2_request *first_ordered(const struct pmi2_server_client *client)
{
    const struct port_link *node;

    if (client->ordered_count == 0)
        return NULL;
    for (node = client->requests.next;; node = node->next)
        if (port_list_of(node, struct pmi2_request, list)->call.ordered)
            return port_list_of(node, struct pmi2_request, list);
}

/* The oldest have been answered: what was held back behind them goes out. */
static void release(struct pmi2_server_client *client)
{
    struct pmi2_request *request;

    while ((request = first_ordered(client)) != NULL && request->waits == WAIT_HELD &&
           request->reply != NULL) {
        pmi2_link_share(&client->link, request->reply, 0, request->reply->length);
        pmi2_request_drop(request);
    }
    if (request != NULL && request->waits == WAIT_FINALIZE)
        pmi2_link_resume(&client->link);
    pmi2_link_update_reads(&client->link);
}

static struct pmi2_request *request_new(struct pmi2_server_call *call, enum pmi2_wait_for waits)
{
    size_t length = call->thrid.at == NULL ? 0 : call->thrid.length;
    struct pmi2_request *request = calloc(1, sizeof(*request) + length + 1);

    if (request == NULL)
        return NULL;
    request->call = *call;
    request->call.request = request;
    if (call->thrid.at != NULL) {
        request->call.thrid.at = request->text;
        if (length > 0)
            memcpy(request->text, call->thrid.at, length);
    }
    request->waits = (uint8_t)waits;
    port_list_append(&call->client->requests, &request->list);
    call->client->request_count++;
    if (call->ordered)
        call->client->ordered_count++;
    return request;
}

struct pmi2_request *pmi2_call_wait(struct pmi2_server_call *call, enum pmi2_wait_for waits,
                                    const char *name)
{
    struct pmi2_request *request = NULL;

    if (call->request != NULL) {
        call->request->waits = (uint8_t)waits;
        return call->request;
    }
    if (call->client->request_count < 2 * CLIENT_REQUESTS_MAX)
        request = request_new(call, waits);
    if (request == NULL)
        pmi2_reply_code(call, name, WIRE_NO_MEMORY, "too_many_requests");
    pmi2_link_update_reads(&call->client->link);
    return request;
}

/* A reply that must wait for earlier ones, or for the rest of itself. */
static void hold(struct pmi2_server_call *call, const struct pmi2_buffer *buffer)
{
    struct pmi2_request *request = call->request;
    struct pmi2_writer held = {NULL, false};

    if (request == NULL) {
        request = request_new(call, WAIT_HELD);
        if (request == NULL) {
            pmi2_link_close(&call->client->link, "no memory for a reply");
            return;
        }
        call->request = request;
    }
    held.chunk = request->reply;
    pmi2_write_bytes(&held, buffer->bytes, buffer->length);
    request->reply = held.chunk;
    request->waits = WAIT_HELD;
    if (held.failed)
        pmi2_link_close(&call->client->link, "no memory for a reply");
}

static void deliver(struct pmi2_server_call *call, bool last)
{
    struct pmi2_server_client *client = call->client;
    struct pmi2_buffer *buffer = &client->link.server->reply;
    struct pmi2_request *request = call->request, *first;

    first = call->ordered ? first_ordered(client) : NULL;
    if (first != NULL && first != request) {
        hold(call, buffer);
        pmi2_link_update_reads(&client->link);
        return;
    }
    pmi2_link_write(&client->link, buffer->bytes, buffer->length);
    if (!last || request == NULL)
        return;
    request->waits = WAIT_HELD;
    pmi2_request_drop(request);
    if (call->ordered)
        release(client);
}

static bool end(struct pmi2_server_call *call)
{
    struct pmi2_buffer *buffer = &call->client->link.server->reply;

    return (call->line ? pmi2_line_end(buffer) : pmi2_frame_end(buffer)) && !buffer->failed;
}

/* No memory, or too long for a message: answers with that error. */
static bool end_short(struct pmi2_server_call *call, const char *name)
{
    pmi2_reply(call, name);
    pmi2_reply_int(call, "rc", call->line ? -1 : WIRE_NO_MEMORY);
    pmi2_reply_text(call, call->line ? "msg" : "errmsg", "reply_too_long");
    return end(call);
}

static void finish(struct pmi2_server_call *call, bool last)
{
    struct pmi2_server_call copy = *call;

    if (!end(call) && !end_short(call, call->client->link.server->reply_name)) {
        pmi2_link_close(&call->client->link, "no memory for a reply");
        return;
    }
    deliver(&copy, last);
    call->request = last ? NULL : copy.request;
}

void pmi2_reply_end(struct pmi2_server_call *call)
{
    struct pmi2_request *request = call->request;

    if (request != NULL && call == &request->call) { /* it goes with the request */
        struct pmi2_server_call copy = *call;

        finish(&copy, true);
    } else {
        finish(call, true);
    }
}

void pmi2_reply_more(struct pmi2_server_call *call)
{
    finish(call, false);
}

void pmi2_reply_code_slice(struct pmi2_server_call *call, const char *name, int code,
                           struct pmi2_slice reason)
{
    char text[256];
    size_t length = reason.length < sizeof(text) ? reason.length : sizeof(text) - 1, i;

    for (i = 0; i < length; i++) /* one word, as old parsers need it */
        text[i] = (unsigned char)reason.at[i] <= ' ' || reason.at[i] == ';' ? '_' : reason.at[i];
    text[length] = '\0';
    pmi2_reply(call, name);
    pmi2_reply_int(call, "rc", code);
    if (code != 0) {
        pmi2_reply_text(call, call->line ? "msg" : "errmsg", text);
        call->client->link.server->counters.refused++;
    }
    pmi2_reply_end(call);
}

void pmi2_reply_code(struct pmi2_server_call *call, const char *name, int code, const char *reason)
{
    pmi2_reply_code_slice(call, name, code, (struct pmi2_slice){reason, strlen(reason)});
}
