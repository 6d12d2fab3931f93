/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The commands of PMI-2. Replies have the keys, in the order, that MPICH's Hydra gives them. */
#include "internal.h"
#include "pmi2/auth.h"

static struct pmi2_slice value_of(const struct pmi2_incoming *incoming, const char *key)
{
    return pmi2_message_value(incoming->message, key);
}

/* ---- fullinit ---------------------------------------------------------------------------------
 */

static void answer_fullinit(struct pmi2_server_call *call, bool capable)
{
    struct pmi2_rank *rank = call->client->rank;
    const struct pmi2_job_info *info = &rank->job->facts->info;

    pmi2_reply(call, "fullinit-response");
    pmi2_reply_int(call, "pmi-version", 2);
    pmi2_reply_int(call, "pmi-subversion", 0);
    pmi2_reply_int(call, "rank", rank->rank);
    pmi2_reply_int(call, "size", info->size);
    pmi2_reply_int(call, "appnum", pmi2_rank_appnum(rank));
    if (info->spawner != NULL)
        pmi2_reply_text(call, "spawner-jobid", info->spawner);
    pmi2_reply_text(call, "debugged", "FALSE");
    pmi2_reply_text(call, "pmiverbose", "FALSE");
    if (capable)
        pmi2_reply_text(call, "srv-caps", "strict-fence,thrid,escape,getall,survivors,pieces");
    pmi2_reply_int(call, "rc", 0);
    pmi2_reply_end(call);
    pmi2_client_advance(call->client, CLIENT_READY);
    if (rank->state != PMI2_RANK_RUNNING)
        pmi2_rank_set(rank, PMI2_RANK_RUNNING);
}

static void refuse_fullinit(struct pmi2_server_call *call, int code, const char *reason)
{
    pmi2_reply_code(call, "fullinit-response", code, reason);
    pmi2_link_close(&call->client->link, "fullinit was refused");
}

/* The rank that the client claims to be; NULL: it is not on this server. */
static struct pmi2_rank *claimed_rank(struct pmi2_incoming *incoming,
                                      struct pmi2_unauthenticated_client *unauthenticated)
{
    struct pmi2_slice id = value_of(incoming, "pmijobid"), text = value_of(incoming, "pmirank");
    struct pmi2_job *job = unauthenticated->job;
    struct pmi2_rank *rank = NULL;
    int64_t number;

    if (text.at == NULL)
        text = value_of(incoming, "srcid");
    if (job == NULL)
        job = pmi2_job_find(incoming->call.client->link.server, id);
    if (job != NULL && !job->foreign && pmi2_slice_int(text, 0, UINT32_MAX - 1, &number))
        rank = pmi2_job_rank(job, (uint32_t)number);
    if (rank == NULL || rank->client != NULL || rank->state > PMI2_RANK_FINALIZED)
        return NULL;
    unauthenticated->claimed = job;
    unauthenticated->rank = rank->rank;
    return rank;
}

static void challenge(struct pmi2_incoming *incoming)
{
    struct pmi2_server_call *call = &incoming->call;
    struct pmi2_unauthenticated_client *unauthenticated = call->client->unauthenticated;
    struct pmi2_slice type = value_of(incoming, "authtype");

    unauthenticated->draft = pmi2_slice_is(type, PMI2_AUTH_TYPE_DRAFT);
    if (unauthenticated->draft ? call->client->auth != PMI2_AUTH_DRAFT
                               : !pmi2_slice_is(type, PMI2_AUTH_TYPE_HMAC)) {
        refuse_fullinit(call, WIRE_FAIL, "authentication_required");
        return;
    }
    if (pmi2_auth_challenge(call->client->link.server, unauthenticated) != 0) {
        refuse_fullinit(call, WIRE_FAIL, "authentication_impossible");
        return;
    }
    call->client->capable = value_of(incoming, "cli-caps").at != NULL;
    pmi2_reply(call, "auth-response");
    pmi2_reply_text(call, "authinfo", unauthenticated->nonce);
    pmi2_reply_end(call);
}

static void fullinit(struct pmi2_incoming *incoming)
{
    struct pmi2_server_call *call = &incoming->call;
    struct pmi2_server_client *client = call->client;
    struct pmi2_slice text = value_of(incoming, "pmirank");
    struct pmi2_rank *rank;
    int64_t number;

    if (client->rank != NULL) { /* known from the connection; the claim is only checked */
        if (text.at != NULL &&
            (!pmi2_slice_int(text, 0, UINT32_MAX, &number) || number != client->rank->rank))
            refuse_fullinit(call, WIRE_INVALID_ARG, "wrong_rank");
        else
            answer_fullinit(call, value_of(incoming, "cli-caps").at != NULL);
        return;
    }
    rank = claimed_rank(incoming, client->unauthenticated);
    if (client->auth != PMI2_AUTH_NONE) {
        if (rank == NULL) { /* reveals no more than a wrong answer would */
            client->unauthenticated->claimed = NULL;
            client->unauthenticated->rank = PMI2_NO_RANK;
        }
        challenge(incoming);
    } else if (rank == NULL) {
        refuse_fullinit(call, WIRE_INVALID_ARG, "unknown_rank");
    } else {
        pmi2_client_bind(client, rank->job, rank);
        answer_fullinit(call, value_of(incoming, "cli-caps").at != NULL);
    }
}

static void auth_response_complete(struct pmi2_incoming *incoming)
{
    struct pmi2_server_call *call = &incoming->call;
    struct pmi2_server_client *client = call->client;
    struct pmi2_unauthenticated_client *unauthenticated = client->unauthenticated;
    struct pmi2_server *server = client->link.server;
    struct pmi2_slice answer = value_of(incoming, "authinfo");
    struct pmi2_rank *rank = NULL;
    bool right = false;

    if (unauthenticated == NULL) {
        pmi2_reply_code(call, "auth-response", WIRE_FAIL, "not_asked_for");
        return;
    }
    if (unauthenticated->claimed != NULL) {
        right = pmi2_auth_check(server, unauthenticated, answer);
        rank = pmi2_job_rank(unauthenticated->claimed, unauthenticated->rank);
    }
    unauthenticated->nonce[0] = '\0'; /* once */
    if (!right || rank == NULL || rank->client != NULL) {
        server->counters.refused++;
        pmi2_log(server, 0, "a client on a port failed to authenticate");
        pmi2_link_close(&client->link, "failed to authenticate");
        return;
    }
    pmi2_client_bind(client, unauthenticated->claimed, rank);
    answer_fullinit(call, client->capable);
}

/* ---- job, attributes, pairs -------------------------------------------------------------------
 */

static void job_getid(struct pmi2_incoming *incoming)
{
    pmi2_reply(&incoming->call, "job-getid-response");
    pmi2_reply_slice(&incoming->call, "jobid", job_id(incoming->call.client->rank->job));
    pmi2_reply_int(&incoming->call, "rc", 0);
    pmi2_reply_end(&incoming->call);
}

/* Of a client that asks for a long value piece by piece. */
static size_t offset_of(const struct pmi2_incoming *incoming)
{
    int64_t offset;

    return pmi2_slice_int(value_of(incoming, "offset"), 0, INT32_MAX, &offset) ? (size_t)offset
                                                                               : NO_OFFSET;
}

static void info_getjobattr(struct pmi2_incoming *incoming)
{
    static const char name[] = "info-getjobattr-response";
    struct pmi2_server_call *call = &incoming->call;
    struct pmi2_job *job = call->client->rank->job;
    struct pmi2_writer text = {NULL, false};
    struct pmi2_slice value, key = value_of(incoming, "key");
    size_t offset = offset_of(incoming);
    bool found = pmi2_attribute_job(job, key, &text, &value);

    if (!found && offset != NO_OFFSET && pmi2_slice_is(key, "PMI_process_mapping"))
        found = pmi2_attribute_mapping(job, &text, &value);
    if (found && offset != NO_OFFSET)
        pmi2_attribute_piece(call, name, value, offset);
    else
        pmi2_attribute_answer(call, name, found, value);
    pmi2_writer_fini(&text);
}

static void info_getnodeattr(struct pmi2_incoming *incoming)
{
    bool wait = false;

    pmi2_slice_bool(value_of(incoming, "wait"), &wait);
    pmi2_attribute_get(&incoming->call, value_of(incoming, "key"), wait, offset_of(incoming));
}

static void info_putnodeattr(struct pmi2_incoming *incoming)
{
    struct pmi2_server_call *call = &incoming->call;
    struct pmi2_slice key = value_of(incoming, "key"), value = value_of(incoming, "value");
    const char *reason = "invalid_key";
    int code = pmi2_pair_check(call->client->link.server, key, value);

    if (code == 0 && value.at == NULL)
        code = WIRE_INVALID_VALUE;
    if (code >= WIRE_INVALID_VALUE)
        reason = "invalid_value";
    if (code == 0 && key.length >= 4 && memcmp(key.at, "PMI_", 4) == 0) {
        code = WIRE_FAIL;
        reason = "keys_with_PMI__prefix_are_reserved";
    }
    if (code == 0)
        code = pmi2_attribute_put(call->client->rank->job, key, value, &reason);
    pmi2_reply_code(call, "info-putnodeattr-response", code, reason);
}

static void kvs_put(struct pmi2_incoming *incoming)
{
    struct pmi2_server_call *call = &incoming->call;
    struct pmi2_slice value = value_of(incoming, "value");
    const char *reason = "missing_value";
    int code = pmi2_key_check(value_of(incoming, "key"));

    if (code == 0 && value.at == NULL)
        code = WIRE_INVALID_VALUE;
    else
        code = pmi2_rank_put(call->client->rank, value_of(incoming, "key"), value, &reason);
    pmi2_reply_code(call, "kvs-put-response", code, reason);
}

static void kvs_get(struct pmi2_incoming *incoming)
{
    pmi2_kvs_get(&incoming->call, value_of(incoming, "jobid"), value_of(incoming, "key"));
}

static void kvs_getall(struct pmi2_incoming *incoming)
{
    pmi2_kvs_getall(&incoming->call, value_of(incoming, "jobid"));
}

static void kvs_fence(struct pmi2_incoming *incoming)
{
    bool survivors = false;

    pmi2_slice_bool(value_of(incoming, "survivors"), &survivors);
    pmi2_fence_enter(&incoming->call, survivors);
}

static void ring(struct pmi2_incoming *incoming)
{
    struct pmi2_slice left = value_of(incoming, "ring-left"),
                      right = value_of(incoming, "ring-right");

    if (left.length > PMI2_VALUE_MAX || right.length > PMI2_VALUE_MAX)
        pmi2_reply_code(&incoming->call, "ring-response", WIRE_INVALID_VALUE_LENGTH,
                        "value_too_long");
    else
        pmi2_ring_enter(&incoming->call, left, right);
}

/* ---- names, connections -----------------------------------------------------------------------
 */

static void ask_root(struct pmi2_incoming *incoming, enum pmi2_root_kind kind, const char *first,
                     const char *second)
{
    struct pmi2_server_call *call = &incoming->call;
    struct pmi2_writer body = {NULL, false};
    struct pmi2_request *request;

    if (value_of(incoming, first).length == 0 ||
        (second != NULL && value_of(incoming, second).at == NULL)) {
        pmi2_reply_code(call, pmi2_root_name(kind, false), WIRE_INVALID_ARG, "missing_key");
        return;
    }
    request = pmi2_root_begin(call, kind, &body);
    if (request == NULL)
        return;
    pmi2_write_slice(&body, value_of(incoming, first));
    if (second != NULL)
        pmi2_write_slice(&body, value_of(incoming, second));
    if (kind == ROOT_CONNECT) {
        bool copy = false;

        pmi2_slice_bool(value_of(incoming, "copy"), &copy);
        pmi2_write_u8(&body, copy);
    }
    pmi2_root_send(request, &body);
}

static void name_publish(struct pmi2_incoming *incoming)
{
    ask_root(incoming, ROOT_PUBLISH, "name", "port");
}

static void name_lookup(struct pmi2_incoming *incoming)
{
    ask_root(incoming, ROOT_LOOKUP, "name", NULL);
}

static void name_unpublish(struct pmi2_incoming *incoming)
{
    ask_root(incoming, ROOT_UNPUBLISH, "name", NULL);
}

static void job_connect(struct pmi2_incoming *incoming)
{
    ask_root(incoming, ROOT_CONNECT, "jobid", NULL);
}

static void job_disconnect(struct pmi2_incoming *incoming)
{
    ask_root(incoming, ROOT_DISCONNECT, "jobid", NULL);
}

static const struct {
    const char *name;
    void (*serve)(struct pmi2_incoming *incoming);
    bool early; /* before it is initialised */
} commands[] = {
    {"kvs-get", kvs_get},
    {"kvs-put", kvs_put},
    {"kvs-fence", kvs_fence},
    {"info-getnodeattr", info_getnodeattr},
    {"info-putnodeattr", info_putnodeattr},
    {"info-getjobattr", info_getjobattr},
    {"job-getid", job_getid},
    {"ring", ring},
    {"fullinit", fullinit, true},
    {"auth-response-complete", auth_response_complete, true},
    {"name-publish", name_publish},
    {"name-lookup", name_lookup},
    {"name-unpublish", name_unpublish},
    {"spawn", pmi2_spawn_frame},
    {"spawn-cmd", pmi2_spawn_part},
    {"job-connect", job_connect},
    {"job-disconnect", job_disconnect},
    {"kvs-getall", kvs_getall},
    {"kvsgetall", kvs_getall}, /* the draft has both */
    {"kvs-putall", pmi2_putall_frame},
    {"kvs-putall-pair", pmi2_spawn_part},
};

void pmi2_serve_frame(struct pmi2_incoming *incoming)
{
    struct pmi2_server_call *call = &incoming->call;
    struct pmi2_slice command = incoming->message->command;
    char response[PMI2_KEY_MAX + 16];
    size_t i;

    for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (pmi2_slice_is(command, commands[i].name))
            break;
    snprintf(response, sizeof(response), "%.*s-response", (int)command.length, command.at);
    if (incoming->message->unterminated)
        pmi2_reply_code(call, response, WIRE_INVALID_VALUE, "unterminated_value");
    else if (value_of(incoming, "concat").at != NULL)
        pmi2_reply_code(call, response, WIRE_OTHER, "concat_unsupported");
    else if (i == sizeof(commands) / sizeof(commands[0]))
        pmi2_reply_code(call, response, WIRE_UNKNOWN_COMMAND, "unknown_command");
    else if (call->client->state == CLIENT_FRESH ||
             (call->client->state != CLIENT_READY && !commands[i].early))
        pmi2_reply_code(call, response, WIRE_FAIL, "not_initialized");
    else
        commands[i].serve(incoming);
}
