/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests and their replies. Any number of threads may wait; one of them reads.
 *
 * A reply is matched to its call by `thrid`, if the server repeats it; otherwise it belongs to the
 * oldest call of that name. `thrid` is sent only when calls overlap, because Slurm's server does
 * not know it; the first two overlapping calls show whether the server repeats it. A server that
 * does not repeat it gets one request at a time, so a slow one (a spawn) delays the others.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

void pmi2_call_init(struct pmi2_call *call, const char *command)
{
    memset(call, 0, sizeof(*call));
    call->command = command;
}

void pmi2_call_fini(struct pmi2_call *call)
{
    pmi2_buffer_fini(&call->request);
    if (call->host != NULL && call->host->malloc != NULL && call->host->free != NULL)
        call->host->free(call->reply_memory, call->host->ctx);
    else
        free(call->reply_memory);
    call->reply_memory = NULL;
}

bool pmi2_send(struct pmi2_client *client, struct pmi2_buffer *buffer)
{
    return client->transport.write(client->transport.context, buffer->bytes, buffer->length);
}

/* ---- replies ----------------------------------------------------------------------------------*/

static void *allocate(const PMI2X_host_t *host, size_t bytes)
{
    if (host != NULL && host->malloc != NULL && host->free != NULL)
        return host->malloc(bytes, host->ctx);
    return malloc(bytes);
}

static void copy(char **to, struct pmi2_slice *slice)
{
    char *at = *to;

    if (slice->length != 0)
        memcpy(at, slice->at, slice->length);
    at[slice->length] = '\0';
    *to += slice->length + 1;
    slice->at = at;
}

/* The message is the decoder's and lasts until the next one is read. Each text gets a NUL. */
static void keep_reply(struct pmi2_call *call, const struct pmi2_message *message)
{
    size_t bytes = message->count * sizeof(struct pmi2_pair) + message->command.length + 1;
    struct pmi2_pair *pairs;
    char *to;
    uint32_t i;

    for (i = 0; i < message->count; i++)
        bytes += message->pairs[i].key.length + message->pairs[i].value.length + 2;
    call->reply_memory = pairs = allocate(call->host, bytes);
    if (pairs == NULL) {
        call->no_memory = true;
        return;
    }
    call->reply = *message;
    to = (char *)(pairs + message->count);
    copy(&to, &call->reply.command);
    for (i = 0; i < message->count; i++) {
        pairs[i] = message->pairs[i];
        copy(&to, &pairs[i].key);
        copy(&to, &pairs[i].value);
    }
    assert(to == (char *)pairs + bytes);
    call->reply.pairs = pairs;
}

static bool begins_with(struct pmi2_slice text, const char *start)
{
    size_t length = strlen(start);

    return text.length >= length && memcmp(text.at, start, length) == 0;
}

/* `<command>-response`, or one of the pieces before it. PMI-1 answers in order. */
static bool answers(const struct pmi2_message *message, const struct pmi2_call *call)
{
    size_t length = strlen(call->command);
    struct pmi2_slice rest = {message->command.at + length, message->command.length - length};

    if (message->format != PMI2_FORMAT_FRAME)
        return true;
    return begins_with(message->command, call->command) &&
           (pmi2_slice_is(rest, "-response") ||
            (call->collected != NULL && begins_with(rest, "-pair")));
}

static struct pmi2_call *call_of(struct pmi2_client *client, const struct pmi2_message *message)
{
    struct pmi2_slice thrid = pmi2_message_value(message, "thrid");
    struct pmi2_call *call;
    int64_t number;

    if (thrid.at == NULL)
        thrid = pmi2_message_value(message, "third"); /* the draft's misprint */
    if (thrid.at != NULL) {
        if (!pmi2_slice_int(thrid, 1, INT64_MAX, &number))
            return NULL;
        for (call = client->pending; call != NULL; call = call->next)
            if (call->thrid == (uint64_t)number)
                break;
        if (call != NULL)
            client->echo = PMI2_ECHO_YES;
        return call;
    }
    for (call = client->pending; call != NULL && !answers(message, call);)
        call = call->next;
    if (call != NULL && call->thrid != 0)
        client->echo = PMI2_ECHO_NO;
    return call;
}

static void unlink_call(struct pmi2_client *client, struct pmi2_call *call)
{
    struct pmi2_call **link = &client->pending;

    while (*link != NULL && *link != call)
        link = &(*link)->next;
    if (*link == NULL)
        return;
    *link = call->next;
    if (call->next == NULL)
        client->pending_end = link;
    port_condition_broadcast(&client->turn);
}

/* Pairs come before the response to kvs-getall. */
static void collect(struct pmi2_call *call, const struct pmi2_message *message)
{
    const struct pmi2_pair *value = pmi2_message_find(message, "value");

    if (value == NULL)
        value = pmi2_message_find(message, "val"); /* the draft's misprint */
    if (value == NULL)
        return;
    pmi2_frame_begin(call->collected, "kvs-putall-pair");
    pmi2_frame_slice(call->collected, "key", pmi2_message_value(message, "key"));
    pmi2_frame_slice(call->collected, "value", value->value);
    pmi2_frame_end(call->collected);
    call->collected_count++;
}

/* False: no call waits for that reply. */
static bool hand_out(struct pmi2_client *client, const struct pmi2_message *message)
{
    struct pmi2_call *call = call_of(client, message);

    if (call == NULL)
        return false;
    if (call->collected != NULL && begins_with(message->command, "kvs-getall-pair")) {
        if (!pmi2_slice_is(message->command, "kvs-getall-paircount-response"))
            collect(call, message);
        return true;
    }
    keep_reply(call, message);
    call->done = true;
    unlink_call(client, call);
    port_condition_signal(&call->wake);
    return true;
}

static void connection_lost(struct pmi2_client *client)
{
    struct pmi2_call *call;

    client->dead = true;
    for (call = client->pending; call != NULL; call = call->next)
        port_condition_signal(&call->wake);
    port_condition_broadcast(&client->turn);
}

/* Reads once into the decoder, which only the reader uses. False: the connection ended. */
static bool receive_some(struct pmi2_client *client)
{
    size_t length;
    char *room = pmi2_decoder_room(&client->decoder, &length);

    length = room != NULL ? client->transport.read(client->transport.context, room, length) : 0;
    if (length > 0)
        pmi2_decoder_received(&client->decoder, length);
    return length > 0;
}

/* Reads once, without the lock, and hands out the replies. */
static void read_for_all(struct pmi2_client *client)
{
    enum pmi2_decoded decoded;
    struct pmi2_message message;
    bool came;

    assert(!client->reading);
    client->reading = true;
    port_mutex_unlock(&client->lock);
    came = receive_some(client);
    port_mutex_lock(&client->lock);
    assert(client->reading); /* no other thread has read meanwhile */
    client->reading = false;
    if (!came) {
        connection_lost(client);
        return;
    }
    while ((decoded = pmi2_decoder_next(&client->decoder, &message)) != PMI2_DECODED_NONE) {
        if (decoded == PMI2_DECODED_MESSAGE && hand_out(client, &message))
            continue;
        connection_lost(client);
        return;
    }
}

/* A thread that leaves wakes another waiting thread, which continues to read. */
static void hand_over(struct pmi2_client *client)
{
    struct pmi2_call *call;

    if (client->reading)
        return;
    for (call = client->pending; call != NULL; call = call->next) {
        if (call->waiting) {
            port_condition_signal(&call->wake);
            return;
        }
    }
}

bool pmi2_receive(struct pmi2_client *client, struct pmi2_message *message)
{
    enum pmi2_decoded decoded;

    while ((decoded = pmi2_decoder_next(&client->decoder, message)) == PMI2_DECODED_NONE)
        if (!receive_some(client))
            return false;
    return decoded == PMI2_DECODED_MESSAGE;
}

/* ---- requests ---------------------------------------------------------------------------------*/

static bool may_send(const struct pmi2_client *client, const struct pmi2_call *call)
{
    const struct pmi2_call *other;

    if (client->sending)
        return false;
    if (client->pending == NULL)
        return true;
    if (client->protocol == 1 || client->echo == PMI2_ECHO_NO)
        return false;
    if (client->echo == PMI2_ECHO_YES)
        return true;
    /* It is unknown whether the server repeats thrid: a reply without it must match by name. */
    for (other = client->pending; other != NULL; other = other->next)
        if (strcmp(other->command, call->command) == 0)
            return false;
    return strcmp(call->command, "spawn") != 0;
}

static bool needs_thrid(const struct pmi2_client *client, const struct pmi2_call *call)
{
    if (client->protocol == 1 || client->echo == PMI2_ECHO_NO)
        return false;
    return client->pending != NULL || call->compose != NULL ||
           (client->echo == PMI2_ECHO_YES && call->slow);
}

static bool compose(const struct pmi2_client *client, const struct pmi2_call *call,
                    struct pmi2_buffer *frames)
{
    if (call->compose != NULL)
        return call->compose(frames, call, call->thrid);
    pmi2_frame_begin(frames, call->command);
    if (call->thrid != 0)
        pmi2_frame_int(frames, "thrid", (int64_t)call->thrid);
    pmi2_frame_pairs(frames, &call->request);
    return pmi2_frame_end(frames);
}

/* The caller holds the lock, which is released during the write. */
static int send_call(struct pmi2_client *client, struct pmi2_call *call)
{
    struct pmi2_buffer frames = {0}, *out = &call->request;
    bool good = !call->request.failed, sent;

    while (!client->dead && !may_send(client, call))
        port_condition_wait(&client->turn, &client->lock);
    if (client->dead)
        return PMI2_FAIL;
    call->thrid = needs_thrid(client, call) ? ++client->last_thrid : 0;
    if (client->protocol == 2) {
        good = compose(client, call, &frames);
        out = &frames;
    }
    if (!good || out->failed || out->length == 0) {
        pmi2_buffer_fini(&frames);
        return out->failed ? PMI2_ERR_NOMEM : PMI2_ERR_INVALID_SIZE;
    }
    assert(!client->sending && *client->pending_end == NULL && call->next == NULL);
    *client->pending_end = call;
    client->pending_end = &call->next;
    client->sending = true;
    port_mutex_unlock(&client->lock);
    sent = pmi2_send(client, out);
    port_mutex_lock(&client->lock);
    client->sending = false;
    port_condition_broadcast(&client->turn);
    pmi2_buffer_fini(&frames);
    if (!sent)
        connection_lost(client);
    return PMI2_SUCCESS;
}

/* The code in `rc`. PMI-1 omits it in replies that cannot fail. */
static int code_of(const struct pmi2_message *reply)
{
    struct pmi2_slice rc = pmi2_message_value(reply, "rc"), why;
    int64_t code = 0;

    if (rc.at == NULL)
        return reply->format == PMI2_FORMAT_FRAME ? PMI2_ERR_OTHER : PMI2_SUCCESS;
    if (!pmi2_slice_int(rc, INT32_MIN, INT32_MAX, &code))
        return PMI2_ERR_OTHER;
    if (code == 0)
        return PMI2_SUCCESS;
    why = pmi2_message_value(reply, reply->format == PMI2_FORMAT_FRAME ? "errmsg" : "msg");
    pmi2_errmsg_set(why);
    /* 1 is the code of many servers for anything, never "not initialised". */
    return code >= PMI2_ERR_NOMEM && code <= PMI2_ERR_OTHER ? (int)code : PMI2_FAIL;
}

static void trace(const PMI2X_host_t *host, const char *command)
{
    if (host != NULL && host->dbg_out != NULL && host->dbg_level != NULL && *host->dbg_level != 0 &&
        host->dbg_classes != NULL && *host->dbg_classes != 0)
        host->dbg_out(command, host->ctx);
}

int pmi2_call(struct pmi2_client *client, struct pmi2_call *call)
{
    int code;

    assert(call->command != NULL && !call->done && !call->waiting);
    call->host = client->host;
    trace(call->host, call->command);
    pmi2_errmsg_set(pmi2_text(""));
    port_condition_init(&call->wake);
    port_mutex_lock(&client->lock);
    code = send_call(client, call);
    while (code == PMI2_SUCCESS && !call->done && !client->dead) {
        if (client->reading) {
            call->waiting = true;
            port_condition_wait(&call->wake, &client->lock);
            call->waiting = false;
        } else {
            read_for_all(client);
        }
    }
    unlink_call(client, call);
    hand_over(client);
    if (code == PMI2_SUCCESS && !call->done)
        code = PMI2_FAIL;
    if (code == PMI2_FAIL)
        pmi2_errmsg_set(pmi2_text("connection to the process manager lost"));
    port_mutex_unlock(&client->lock);
    port_condition_destroy(&call->wake);
    if (code != PMI2_SUCCESS)
        return code;
    return call->no_memory ? PMI2_ERR_NOMEM : code_of(&call->reply);
}

int pmi2_call_once(struct pmi2_client *client, struct pmi2_call *call)
{
    int code = pmi2_call(client, call);

    pmi2_call_fini(call);
    return code;
}

bool pmi2_reply_found(const struct pmi2_message *reply)
{
    struct pmi2_slice said = pmi2_message_value(reply, "found");
    bool found;

    if (said.at == NULL)
        said = pmi2_message_value(reply, "flag");
    if (said.at == NULL || !pmi2_slice_bool(said, &found))
        return pmi2_message_find(reply, "value") != NULL;
    return found;
}
