/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The commands of PMI-1. Replies have the keys, in the order, that MPICH's Hydra gives them. */
#include "internal.h"

static struct pmi2_slice value_of(const struct pmi2_incoming *incoming, const char *key)
{
    return pmi2_message_value(incoming->message, key);
}

static void get_maxes(struct pmi2_incoming *incoming)
{
    struct pmi2_server_call *call = &incoming->call;

    pmi2_reply(call, "maxes");
    pmi2_reply_int(call, "kvsname_max", PMI2_JOBID_MAX + 1);
    pmi2_reply_int(call, "keylen_max", PMI2_KEY_MAX);
    pmi2_reply_int(call, "vallen_max", PMI2_VALUE_MAX);
    pmi2_reply_end(call);
}

uint32_t pmi2_rank_appnum(const struct pmi2_rank *rank)
{
    const struct pmi2_job_info *info = &rank->job->facts->info;
    uint32_t app = 0, end = info->app_size[0];

    while (rank->rank >= end)
        end += info->app_size[++app];
    return app;
}

static void get_appnum(struct pmi2_incoming *incoming)
{
    pmi2_reply(&incoming->call, "appnum");
    pmi2_reply_int(&incoming->call, "appnum", pmi2_rank_appnum(incoming->call.client->rank));
    pmi2_reply_end(&incoming->call);
}

static void get_my_kvsname(struct pmi2_incoming *incoming)
{
    pmi2_reply(&incoming->call, "my_kvsname");
    pmi2_reply_slice(&incoming->call, "kvsname", job_id(incoming->call.client->rank->job));
    pmi2_reply_end(&incoming->call);
}

static void get_universe_size(struct pmi2_incoming *incoming)
{
    pmi2_reply(&incoming->call, "universe_size");
    pmi2_reply_int(&incoming->call, "size", incoming->call.client->rank->job->facts->info.universe);
    pmi2_reply_end(&incoming->call);
}

static void put(struct pmi2_incoming *incoming)
{
    struct pmi2_rank *rank = incoming->call.client->rank;
    struct pmi2_slice id = value_of(incoming, "kvsname");
    const char *reason = "foreign_kvsname";
    int code = WIRE_INVALID_ARG;

    if (id.length == 0 || pmi2_slice_is(id, rank->job->entry.key))
        code = pmi2_rank_put(rank, value_of(incoming, "key"), value_of(incoming, "value"), &reason);
    if (code != 0) {
        pmi2_reply_code(&incoming->call, "put_result", -1, reason);
        return;
    }
    pmi2_reply(&incoming->call, "put_result");
    pmi2_reply_int(&incoming->call, "rc", 0);
    pmi2_reply_text(&incoming->call, "msg", "success");
    pmi2_reply_end(&incoming->call);
}

static void get(struct pmi2_incoming *incoming)
{
    pmi2_kvs_get(&incoming->call, value_of(incoming, "kvsname"), value_of(incoming, "key"));
}

static void barrier_in(struct pmi2_incoming *incoming)
{
    if (value_of(incoming, "group").at != NULL) { /* of 1.2, which is not offered */
        pmi2_reply_code(&incoming->call, "barrier_out", -1, "groups_unsupported");
        return;
    }
    pmi2_fence_enter(&incoming->call, false);
}

static void name(struct pmi2_incoming *incoming, enum pmi2_root_kind kind)
{
    struct pmi2_server_call *call = &incoming->call;
    struct pmi2_slice service = value_of(incoming, "service"), port = value_of(incoming, "port");
    struct pmi2_writer body = {NULL, false};
    struct pmi2_request *request;

    if (service.length == 0 || (kind == ROOT_PUBLISH && port.at == NULL)) {
        pmi2_reply_code(call, pmi2_root_name(kind, true), 1, "invalid_name");
        return;
    }
    request = pmi2_root_begin(call, kind, &body);
    if (request == NULL)
        return;
    pmi2_write_slice(&body, service);
    if (kind == ROOT_PUBLISH)
        pmi2_write_slice(&body, port);
    pmi2_root_send(request, &body);
}

static void publish_name(struct pmi2_incoming *incoming)
{
    name(incoming, ROOT_PUBLISH);
}

static void lookup_name(struct pmi2_incoming *incoming)
{
    name(incoming, ROOT_LOOKUP);
}

static void unpublish_name(struct pmi2_incoming *incoming)
{
    name(incoming, ROOT_UNPUBLISH);
}

static void line(struct pmi2_server_call *call, const char *name_of, const char *key, int64_t value)
{
    pmi2_reply(call, name_of);
    if (key != NULL)
        pmi2_reply_int(call, key, value);
    pmi2_reply_more(call);
}

/* On a port, before init: which rank it is; possession of the port is proof, or nothing is. */
static void initack(struct pmi2_incoming *incoming)
{
    struct pmi2_server_call *call = &incoming->call;
    struct pmi2_server_client *client = call->client;
    struct pmi2_unauthenticated_client *unauthenticated = client->unauthenticated;
    struct pmi2_job *job = unauthenticated == NULL ? NULL : unauthenticated->job;
    struct pmi2_rank *rank = NULL;
    int64_t id;

    if (unauthenticated == NULL) {
        pmi2_reply_code(call, "initack", -1, "rank_is_known");
        return;
    }
    if (job != NULL && client->auth == PMI2_AUTH_NONE &&
        pmi2_slice_int(value_of(incoming, "pmiid"), 0, (int64_t)job->facts->info.size - 1, &id))
        rank = pmi2_job_rank(job, (uint32_t)id);
    if (rank == NULL || rank->client != NULL || rank->state > PMI2_RANK_FINALIZED) {
        pmi2_link_close(&client->link, "initack of a rank that cannot be served here");
        return;
    }
    pmi2_client_bind(client, job, rank);
    line(call, "initack", NULL, 0);
    line(call, "set", "size", job->facts->info.size);
    line(call, "set", "rank", rank->rank);
    line(call, "set", "debug", 0);
}

/* The draft's second connection, for signals and checkpoints: refused; this one can be used. */
static void init_oob(struct pmi2_incoming *incoming)
{
    pmi2_reply(&incoming->call, "response_to_init");
    pmi2_reply_int(&incoming->call, "pmi_version", 2);
    pmi2_reply_int(&incoming->call, "pmi_subversion", 0);
    pmi2_reply_int(&incoming->call, "rc", 1);
    pmi2_reply_end(&incoming->call);
}

static const struct {
    const char *name;
    void (*serve)(struct pmi2_incoming *incoming);
    bool early; /* before init */
} commands[] = {
    {"get", get},
    {"put", put},
    {"barrier_in", barrier_in},
    {"init", pmi2_serve_init, true},
    {"initack", initack, true},
    {"init_oob", init_oob, true},
    {"get_maxes", get_maxes},
    {"get_appnum", get_appnum},
    {"get_my_kvsname", get_my_kvsname},
    {"get_universe_size", get_universe_size},
    {"publish_name", publish_name},
    {"lookup_name", lookup_name},
    {"unpublish_name", unpublish_name},
    {"spawn", pmi2_spawn_block},
};

void pmi2_serve_line(struct pmi2_incoming *incoming)
{
    struct pmi2_server_client *client = incoming->call.client;
    struct pmi2_slice command = incoming->message->command;
    char result[PMI2_KEY_MAX + 16];
    size_t i;

    for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (pmi2_slice_is(command, commands[i].name))
            break;
    snprintf(result, sizeof(result), "%.*s_result", (int)command.length, command.at);
    if (i == sizeof(commands) / sizeof(commands[0]) ||
        (commands[i].serve == pmi2_spawn_block) != (incoming->message->format == PMI2_FORMAT_MCMD))
        pmi2_reply_code(&incoming->call, result, -1, "unknown_command");
    else if (client->state == CLIENT_FRESH && !commands[i].early)
        pmi2_reply_code(&incoming->call, result, -1, "not_initialized");
    else
        commands[i].serve(incoming);
}
