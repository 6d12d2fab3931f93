/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A client's connection. FRESH → `init` → INIT → `fullinit` (PMI-2) → READY → `finalize` or
 * `abort` → DONE; PMI-1 is ready with `init`. An unauthenticated client, whose rank is not known
 * from the connection, authenticates first: PMI-1 with `initack` before `init`, PMI-2 in
 * `fullinit`.
 */
#include <assert.h>
#include "internal.h"

void pmi2_client_advance(struct pmi2_server_client *client, enum pmi2_client_state state)
{
    assert(state >= client->state);
    if (state < client->state)
        pmi2_link_close(&client->link, "it went back to an earlier state");
    else
        client->state = (uint8_t)state;
}

void pmi2_client_bind(struct pmi2_server_client *client, struct pmi2_job *job,
                      struct pmi2_rank *rank)
{
    assert(client->rank == NULL && rank->client == NULL && rank->job == job);
    struct pmi2_server *server = client->link.server;

    if (client->unauthenticated != NULL) {
        assert(server->unauthenticated_count > 0);
        port_list_discard(&client->unauthenticated->list);
        server->unauthenticated_count--;
        pmi2_chunk_drop(client->unauthenticated->fullinit);
        free(client->unauthenticated);
        client->unauthenticated = NULL;
    }
    client->job = job;
    client->rank = rank;
    rank->client = client;
}

static void drop_requests(struct pmi2_server_client *client)
{
    while (!port_list_empty(&client->requests))
        pmi2_request_drop(port_list_of(client->requests.next, struct pmi2_request, list));
    pmi2_assembly_drop(client);
}

void pmi2_client_unbind(struct pmi2_server_client *client)
{
    drop_requests(client);
    assert(client->request_count == 0 && client->ordered_count == 0);
    assert(client->rank == NULL || client->rank->client == client);
    if (client->rank != NULL)
        client->rank->client = NULL;
    client->rank = NULL;
    client->job = NULL;
}

void pmi2_client_lost(struct pmi2_server_client *client)
{
    struct pmi2_rank *rank = client->rank;

    pmi2_client_unbind(client);
    port_list_discard(&client->slow);
    if (client->unauthenticated != NULL) {
        port_list_discard(&client->unauthenticated->list);
        client->link.server->unauthenticated_count--;
        pmi2_chunk_drop(client->unauthenticated->fullinit);
        free(client->unauthenticated);
        client->unauthenticated = NULL;
    }
    if (rank == NULL)
        return;
    /* A process that has never sent anything need not be a PMI program. Malformed input for which
     * it was closed counts as sent. */
    if (rank->state == PMI2_RANK_RUNNING ||
        (rank->state == PMI2_RANK_NEW &&
         (client->state != CLIENT_FRESH || client->decoder.reason != NULL))) {
        pmi2_log(client->link.server, 0, "job %s rank %u: %s before it had finalized",
                 rank->job->entry.key, rank->rank, client->link.reason);
        pmi2_rank_set(rank, PMI2_RANK_FAILED);
        pmi2_loss_report(rank->job, rank->rank, LOSS_FAILED);
    }
}

void pmi2_client_fini(struct pmi2_server_client *client)
{
    pmi2_decoder_fini(&client->decoder);
}

/* ---- finalize ---------------------------------------------------------------------------------
 */

static void finalize(struct pmi2_server_call *call)
{
    struct pmi2_server_client *client = call->client;
    struct pmi2_rank *rank = client->rank;

    assert(rank != NULL);
    pmi2_reply(call, call->line ? "finalize_ack" : "finalize-response");
    if (!call->line)
        pmi2_reply_int(call, "rc", 0);
    pmi2_reply_end(call);
    pmi2_client_advance(client, CLIENT_DONE);
    pmi2_client_unbind(client);
    if (rank->state == PMI2_RANK_RUNNING || rank->state == PMI2_RANK_NEW) {
        pmi2_rank_set(rank, PMI2_RANK_FINALIZED);
        pmi2_loss_report(rank->job, rank->rank, LOSS_FINALIZED);
    }
    pmi2_link_close(&client->link, "finalized");
}

/* Runs after earlier requests. */
static void serve_finalize(struct pmi2_server_call *call)
{
    if (call->ordered && call->client->ordered_count > 0)
        pmi2_call_wait(call, WAIT_FINALIZE, call->line ? "finalize_ack" : "finalize-response");
    else
        finalize(call);
}

static bool finalize_due(struct pmi2_server_client *client)
{
    struct port_link *node;

    if (client->ordered_count == 0 || client->rank == NULL)
        return false;
    for (node = client->requests.next; node != &client->requests; node = node->next) {
        struct pmi2_request *request = port_list_of(node, struct pmi2_request, list);

        if (!request->call.ordered)
            continue;
        if (request->waits != WAIT_FINALIZE)
            return false;
        finalize(&request->call);
        return true;
    }
    return false;
}

/* ---- abort ------------------------------------------------------------------------------------
 */

static void serve_abort(struct pmi2_incoming *incoming)
{
    const struct pmi2_message *message = incoming->message;
    struct pmi2_server_client *client = incoming->call.client;
    struct pmi2_rank *rank = client->rank;
    struct pmi2_job *job = rank->job;
    struct pmi2_slice text = pmi2_message_value(message, "msg");
    int64_t code = 0;
    bool world = true;

    if (text.at == NULL)
        text = pmi2_message_value(message, "message");
    text.length = pmi2_utf8_cut(text, 1024);
    pmi2_slice_bool(pmi2_message_value(message, "isworld"), &world);
    if (!pmi2_slice_int(pmi2_message_value(message, "exitcode"), 1, 255, &code))
        code = 1;
    pmi2_client_advance(client, CLIENT_DONE);
    pmi2_client_unbind(client);
    pmi2_rank_set(rank, PMI2_RANK_ABORTED);
    if (world) {
        pmi2_job_abort(job, rank->rank, (int)code, text);
    } else {
        struct pmi2_notification *notification =
            pmi2_notification(job->server, PMI2_ACTION_KILL, text, job_id(job));

        if (notification != NULL) {
            notification->what.rank = rank->rank;
            notification->what.code = (int)code;
        }
    }
    pmi2_loss_report(job, rank->rank, LOSS_DEAD);
    pmi2_link_close(&client->link, "aborted");
}

/* ---- messages ---------------------------------------------------------------------------------
 */

/* For both wire formats. All other messages of an unauthenticated client are ignored. */
void pmi2_serve_init(struct pmi2_incoming *incoming)
{
    struct pmi2_server_call *call = &incoming->call;
    struct pmi2_server_client *client = call->client;
    int64_t version = 0;
    bool known = client->rank != NULL, good;

    good = pmi2_slice_int(pmi2_message_value(incoming->message, "pmi_version"), 0, INT32_MAX,
                          &version) &&
           (version == 1 || version == 2);
    if (good && !known && version == 1)
        good = false; /* without initack there is no rank */
    pmi2_reply(call, "response_to_init");
    pmi2_reply_int(call, "pmi_version", good ? version : 2);
    pmi2_reply_int(call, "pmi_subversion", good && version == 1 ? 1 : 0);
    pmi2_reply_int(call, "rc", good ? 0 : 1);
    pmi2_reply_end(call);
    if (!good)
        return;
    if (client->state == CLIENT_FRESH)
        pmi2_client_advance(client, CLIENT_INIT);
    if (version == 1)
        pmi2_client_advance(client, CLIENT_READY);
    if (known && client->rank->state != PMI2_RANK_RUNNING)
        pmi2_rank_set(client->rank, PMI2_RANK_RUNNING);
}

static bool strange_line(struct pmi2_incoming *incoming)
{
    struct pmi2_slice command = incoming->message->command;

    return pmi2_slice_is(command, "initack") || pmi2_slice_is(command, "init") ||
           pmi2_slice_is(command, "init_oob");
}

static bool strange_frame(struct pmi2_incoming *incoming)
{
    struct pmi2_slice command = incoming->message->command;

    return pmi2_slice_is(command, "fullinit") || pmi2_slice_is(command, "auth-response-complete");
}

static void count_duplicates(struct pmi2_server *server, const struct pmi2_message *message)
{
    uint32_t i, j;

    if (message->count > 8) /* only a spawn has more, and there keys come again */
        return;
    for (i = 1; i < message->count; i++)
        for (j = 0; j < i; j++)
            if (message->pairs[i].key.length == message->pairs[j].key.length &&
                memcmp(message->pairs[i].key.at, message->pairs[j].key.at,
                       message->pairs[i].key.length) == 0)
                server->counters.duplicate_keys++;
}

static void serve(struct pmi2_server_client *client, const struct pmi2_message *message)
{
    struct pmi2_incoming incoming = {.message = message};
    struct pmi2_server_call *call = &incoming.call;

    call->client = client;
    call->line = message->format != PMI2_FORMAT_FRAME;
    if (!call->line) {
        call->thrid = pmi2_message_value(message, "thrid");
        if (call->thrid.at == NULL)
            call->thrid = pmi2_message_value(message, "third"); /* the draft's misprint */
    }
    call->ordered = call->thrid.at == NULL;
    count_duplicates(client->link.server, message);
    if (client->rank == NULL &&
        !(call->line ? strange_line(&incoming) : strange_frame(&incoming))) {
        pmi2_link_close(&client->link, "did not authenticate before its first request");
        return;
    }
    if (client->state == CLIENT_READY && pmi2_slice_is(message->command, "finalize"))
        serve_finalize(call);
    else if (client->state != CLIENT_FRESH && client->rank != NULL &&
             pmi2_slice_is(message->command, "abort"))
        serve_abort(&incoming);
    else if (call->line)
        pmi2_serve_line(&incoming);
    else
        pmi2_serve_frame(&incoming);
}

static void too_long(struct pmi2_server_client *client, const struct pmi2_message *message)
{
    struct pmi2_server_call call = {.client = client, .ordered = true};
    char name[PMI2_KEY_MAX + 16];

    if (client->rank == NULL) {
        pmi2_link_close(&client->link, "did not authenticate before its first request");
        return;
    }
    snprintf(name, sizeof(name), "%.*s-response", (int)message->command.length,
             message->command.at);
    pmi2_reply_code(&call, name, WIRE_INVALID_LENGTH, "frame_too_long");
}

static bool waits_to_finalize(const struct pmi2_server_client *client)
{
    const struct port_link *node = client->requests.prev;

    return node != &client->requests &&
           port_list_of(node, struct pmi2_request, list)->waits == WAIT_FINALIZE;
}

/* Buffers belong to the server while a client has no half message: idle ones have none. */
static void borrow(struct pmi2_server_client *client)
{
    struct pmi2_decoder *spare = &client->link.server->spare;

    if (client->decoder.bytes != NULL || spare->bytes == NULL || client->decoder.skip != 0)
        return;
    client->decoder = *spare;
    pmi2_decoder_init(spare);
}

static void give_back(struct pmi2_server_client *client)
{
    struct pmi2_decoder *spare = &client->link.server->spare;

    if (client->decoder.bytes == NULL || client->decoder.reason != NULL ||
        pmi2_decoder_pending(&client->decoder) != 0 || client->decoder.skip != 0)
        return;
    client->decoder.start = client->decoder.end = 0;
    if (spare->bytes == NULL)
        *spare = client->decoder;
    else
        pmi2_decoder_fini(&client->decoder);
    pmi2_decoder_init(&client->decoder);
}

void pmi2_client_pump(struct pmi2_server_client *client)
{
    struct pmi2_link *link = &client->link;
    struct pmi2_message message;

    if (finalize_due(client))
        return;
    while (!link->closing && link->reads && client->state != CLIENT_DONE &&
           !waits_to_finalize(client)) {
        switch (pmi2_decoder_next(&client->decoder, &message)) {
        case PMI2_DECODED_NONE:
            give_back(client);
            return;
        case PMI2_DECODED_MESSAGE:
            serve(client, &message);
            break;
        case PMI2_DECODED_TOO_LONG:
            too_long(client, &message);
            break;
        case PMI2_DECODED_BROKEN:
            link->server->counters.malformed++;
            pmi2_link_close(link, client->decoder.reason);
            return;
        case PMI2_DECODED_NO_MEMORY:
            pmi2_link_close(link, "no memory for what it has sent");
            return;
        }
    }
}

void pmi2_client_input(struct pmi2_server_client *client, const void *bytes, size_t length)
{
    struct pmi2_link *link = &client->link;

    if (client->state == CLIENT_DONE)
        return;
    borrow(client);
    if (!link->reads &&
        pmi2_decoder_pending(&client->decoder) > (size_t)link->server->limits.unread_bytes) {
        pmi2_link_close(link, "sends while it is not read from");
        return;
    }
    if (!pmi2_decoder_feed(&client->decoder, bytes, length))
        pmi2_link_close(link, "no memory for what it sends");
    else
        pmi2_client_pump(client);
}
