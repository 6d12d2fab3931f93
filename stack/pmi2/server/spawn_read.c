/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests of several parts, made into one for the root: a spawn in its three forms - one frame
 * with `subcmd=` for each command, a frame and one `spawn-cmd` frame for each, PMI-1 blocks - and
 * the pairs of kvs-putall.
 *
 * Body of a spawn: u32 pairs, each key and value; u32 commands, each name, u32 processes, u32
 * arguments, each; u32 pairs, each key and value.
 */
#include "internal.h"

#define COMMANDS_MAX 1024
#define PROCESSES_MAX (1 << 20)
#define PUTALL_MAX (1 << 20)
#define BODY_MAX (8u << 20)

/* The keys of a command: how each form calls them. */
struct dialect {
    const char *name, *processes, *argc, *argument, *info_count, *info_key, *info_value, *put_count,
        *put_key, *put_value;
};
static const struct dialect frame = {"subcmd",  "maxprocs", "argc",        "argv",  "infokeycount",
                                     "infokey", "infoval",  "preputcount", "ppkey", "ppval"};
static const struct dialect line = {"execname",    "nprocs",     "argcnt",    "arg",
                                    "info_num",    "info_key_",  "info_val_", "preput_num",
                                    "preput_key_", "preput_val_"};

static bool numbered(struct pmi2_slice key, const char *prefix)
{
    size_t length = strlen(prefix), i;

    if (key.length <= length || memcmp(key.at, prefix, length) != 0)
        return false;
    for (i = length; i < key.length; i++)
        if (key.at[i] < '0' || key.at[i] > '9')
            return false;
    return true;
}

static void patch(struct pmi2_writer *body, size_t at, uint32_t value)
{
    if (!body->failed)
        pmi2_store_u32(body->chunk->bytes + at, value);
}

static size_t place(struct pmi2_writer *body)
{
    size_t at = body->chunk == NULL ? 0 : body->chunk->length;

    pmi2_write_u32(body, 0);
    return at;
}

/* Keys and values that follow each other, and the number that was promised. 0, or a code. `server`:
 * they are to be put there; NULL: they may be anything. */
static int write_pairs(struct pmi2_writer *body, const struct pmi2_pair *pairs, uint32_t count,
                       const char *count_key, const char *key, const char *value,
                       const struct pmi2_server *server)
{
    size_t at = place(body);
    int64_t promised = 0;
    const struct pmi2_pair *open = NULL;
    uint32_t found = 0, i;
    int code;

    for (i = 0; i < count; i++) {
        if (pmi2_slice_is(pairs[i].key, count_key)) {
            if (!pmi2_slice_int(pairs[i].value, 0, INT32_MAX, &promised))
                return WIRE_INVALID_KEYVALP;
        } else if (numbered(pairs[i].key, key)) {
            if (open != NULL)
                return WIRE_INVALID_KEYVALP;
            open = &pairs[i];
        } else if (numbered(pairs[i].key, value)) {
            if (open == NULL)
                return WIRE_INVALID_KEYVALP;
            code = server == NULL ? 0 : pmi2_pair_check(server, open->value, pairs[i].value);
            if (code != 0)
                return code;
            pmi2_write_slice(body, open->value);
            pmi2_write_slice(body, pairs[i].value);
            open = NULL;
            found++;
        }
    }
    patch(body, at, found);
    return open != NULL || found != promised ? WIRE_INVALID_KEYVALP : 0;
}

static int write_command(struct pmi2_assembly *assembly, const struct dialect *words,
                         const struct pmi2_pair *pairs, uint32_t count)
{
    struct pmi2_writer *body = &assembly->body;
    struct pmi2_slice name = {NULL, 0};
    int64_t processes = 1, argc = 0;
    uint32_t found = 0, i;
    size_t at;

    for (i = 0; i < count; i++) {
        if (pmi2_slice_is(pairs[i].key, words->name))
            name = pairs[i].value;
        else if (pmi2_slice_is(pairs[i].key, words->processes) &&
                 !pmi2_slice_int(pairs[i].value, 1, PROCESSES_MAX, &processes))
            return WIRE_INVALID_ARG;
        else if (pmi2_slice_is(pairs[i].key, words->argc) &&
                 !pmi2_slice_int(pairs[i].value, 0, INT32_MAX, &argc))
            return WIRE_INVALID_NUM_ARGS;
    }
    if (name.length == 0)
        return WIRE_INVALID_ARGS;
    pmi2_write_slice(body, name);
    pmi2_write_u32(body, (uint32_t)processes);
    assembly->processes += (uint32_t)processes;
    at = place(body);
    for (i = 0; i < count; i++) {
        if (!numbered(pairs[i].key, words->argument))
            continue;
        pmi2_write_slice(body, pairs[i].value);
        found++;
    }
    patch(body, at, found);
    if (found != argc)
        return WIRE_INVALID_NUM_ARGS;
    return write_pairs(body, pairs, count, words->info_count, words->info_key, words->info_value,
                       NULL);
}

void pmi2_assembly_drop(struct pmi2_server_client *client)
{
    if (client->assembly == NULL)
        return;
    pmi2_writer_fini(&client->assembly->body);
    free(client->assembly);
    client->assembly = NULL;
}

/* Answers a request before all of its parts have arrived; the other parts are ignored. */
static void refuse(struct pmi2_incoming *incoming, const struct pmi2_assembly *assembly, int code,
                   const char *reason)
{
    struct pmi2_server_call call = incoming->call;

    if (assembly != NULL) {
        call.thrid = assembly->thrid;
        call.line = assembly->line;
    }
    pmi2_reply_code(
        &call,
        pmi2_root_name(assembly != NULL && assembly->putall ? ROOT_PUTALL : ROOT_SPAWN, call.line),
        call.line ? -1 : code, reason);
}

static const char *reason_of(int code)
{
    switch (code) {
    case WIRE_INVALID_ARG:
        return "invalid_number_of_processes";
    case WIRE_INVALID_NUM_ARGS:
        return "number_of_arguments_does_not_match";
    case WIRE_INVALID_ARGS:
        return "number_of_commands_does_not_match";
    case WIRE_INVALID_KEYVALP:
        return "number_of_pairs_does_not_match";
    case WIRE_NO_MEMORY:
        return "no_memory";
    default:
        return "invalid_pair";
    }
}

/* Ends the request under construction with an error. */
static void give_up(struct pmi2_incoming *incoming, int code)
{
    struct pmi2_server_client *client = incoming->call.client;
    struct pmi2_assembly *assembly = client->assembly;

    client->assembly = NULL;
    refuse(incoming, assembly, code, reason_of(code));
    pmi2_writer_fini(&assembly->body);
    free(assembly);
}

/* NULL: no memory; the client has the error. */
static struct pmi2_assembly *begin(struct pmi2_incoming *incoming, bool putall)
{
    struct pmi2_server_client *client = incoming->call.client;
    struct pmi2_slice thrid = incoming->call.thrid;
    struct pmi2_assembly *assembly;

    if (client->assembly != NULL) /* the previous request will never be complete */
        give_up(incoming, WIRE_INVALID_ARGS);
    assembly = calloc(1, sizeof(*assembly) + thrid.length + 1);
    if (assembly == NULL) {
        pmi2_reply_code(&incoming->call,
                        pmi2_root_name(putall ? ROOT_PUTALL : ROOT_SPAWN, incoming->call.line),
                        incoming->call.line ? -1 : WIRE_NO_MEMORY, "no_memory");
        return NULL;
    }
    if (thrid.at != NULL) {
        if (thrid.length > 0)
            memcpy(assembly->text, thrid.at, thrid.length);
        assembly->thrid = (struct pmi2_slice){assembly->text, thrid.length};
    }
    assembly->line = incoming->call.line;
    assembly->putall = putall;
    client->assembly = assembly;
    return assembly;
}

/* All parts have arrived: sends one request to the root. */
static void complete(struct pmi2_incoming *incoming)
{
    struct pmi2_server_client *client = incoming->call.client;
    struct pmi2_assembly *assembly = client->assembly;
    struct pmi2_server_call call = incoming->call;
    struct pmi2_writer body = {NULL, false};
    struct pmi2_request *request;

    call.thrid = assembly->thrid;
    call.ordered = assembly->thrid.at == NULL;
    client->assembly = NULL;
    request = pmi2_root_begin(&call, assembly->putall ? ROOT_PUTALL : ROOT_SPAWN, &body);
    if (request != NULL) {
        body.failed |= assembly->body.failed;
        if (!body.failed && assembly->body.chunk != NULL)
            pmi2_write_bytes(&body, assembly->body.chunk->bytes, assembly->body.chunk->length);
        pmi2_root_send(request, &body);
    }
    pmi2_writer_fini(&body);
    pmi2_writer_fini(&assembly->body);
    free(assembly);
}

static bool too_long(const struct pmi2_assembly *assembly)
{
    return assembly->body.failed ||
           (assembly->body.chunk != NULL && assembly->body.chunk->length > BODY_MAX);
}

void pmi2_spawn_frame(struct pmi2_incoming *incoming)
{
    const struct pmi2_message *message = incoming->message;
    struct pmi2_assembly *assembly = begin(incoming, false);
    uint32_t first = 0, next;
    int64_t commands;
    int code;

    if (assembly == NULL)
        return;
    while (first < message->count && !pmi2_slice_is(message->pairs[first].key, frame.name))
        first++;
    if (!pmi2_slice_int(pmi2_message_value(message, "ncmds"), 1, COMMANDS_MAX, &commands)) {
        give_up(incoming, WIRE_INVALID_ARGS);
        return;
    }
    assembly->expected = (uint32_t)commands;
    code = write_pairs(&assembly->body, message->pairs, first, frame.put_count, frame.put_key,
                       frame.put_value, incoming->call.client->link.server);
    pmi2_write_u32(&assembly->body, assembly->expected);
    if (code == 0 && first == message->count)
        return; /* its commands come in frames of their own */
    for (; code == 0 && first < message->count; first = next) {
        for (next = first + 1; next < message->count; next++)
            if (pmi2_slice_is(message->pairs[next].key, frame.name))
                break;
        code = ++assembly->got > assembly->expected
                   ? WIRE_INVALID_ARGS
                   : write_command(assembly, &frame, message->pairs + first, next - first);
    }
    if (code == 0 && assembly->got != assembly->expected)
        code = WIRE_INVALID_ARGS;
    if (code == 0 && too_long(assembly))
        code = WIRE_NO_MEMORY;
    if (code != 0)
        give_up(incoming, code);
    else
        complete(incoming);
}

static bool same_thrid(struct pmi2_slice one, struct pmi2_slice other)
{
    if (one.at == NULL || other.at == NULL)
        return one.at == other.at;
    return one.length == other.length && memcmp(one.at, other.at, one.length) == 0;
}

static int putall_pair(struct pmi2_assembly *assembly, const struct pmi2_incoming *incoming)
{
    const struct pmi2_message *message = incoming->message;
    struct pmi2_slice key = pmi2_message_value(message, "key");
    struct pmi2_slice value = pmi2_message_value(message, "value");
    int code;

    if (value.at == NULL)
        value = pmi2_message_value(message, "val"); /* a misprint of the draft */
    code = pmi2_pair_check(incoming->call.client->link.server, key, value);
    if (code == 0)
        pmi2_record_write(&assembly->body, 0, key, value);
    return code;
}

void pmi2_spawn_part(struct pmi2_incoming *incoming)
{
    const struct pmi2_message *message = incoming->message;
    struct pmi2_assembly *assembly = incoming->call.client->assembly;
    bool pair = pmi2_slice_is(message->command, "kvs-putall-pair");
    int code;

    if (assembly == NULL || assembly->line || assembly->putall != pair ||
        !same_thrid(assembly->thrid, incoming->call.thrid)) {
        pmi2_reply_code(&incoming->call, pmi2_root_name(pair ? ROOT_PUTALL : ROOT_SPAWN, false),
                        WIRE_INVALID_ARGS, "nothing_to_continue");
        return;
    }
    code = pair ? putall_pair(assembly, incoming)
                : write_command(assembly, &frame, message->pairs, message->count);
    if (code == 0 && too_long(assembly))
        code = WIRE_NO_MEMORY;
    if (code != 0)
        give_up(incoming, code);
    else if (++assembly->got == assembly->expected)
        complete(incoming);
}

void pmi2_putall_frame(struct pmi2_incoming *incoming)
{
    const struct pmi2_message *message = incoming->message;
    struct pmi2_assembly *assembly = begin(incoming, true);
    int64_t pairs;

    if (assembly == NULL)
        return;
    if (!pmi2_slice_int(pmi2_message_value(message, "npair"), 0, PUTALL_MAX, &pairs)) {
        give_up(incoming, WIRE_INVALID_KEYVALP);
        return;
    }
    assembly->expected = (uint32_t)pairs;
    pmi2_write_slice(&assembly->body, pmi2_message_value(message, "jobid"));
    pmi2_write_u32(&assembly->body, assembly->expected);
    if (pairs == 0)
        complete(incoming);
}

void pmi2_spawn_block(struct pmi2_incoming *incoming)
{
    const struct pmi2_message *message = incoming->message;
    struct pmi2_assembly *assembly = incoming->call.client->assembly;
    int64_t total, so_far;
    int code = 0;

    if (!pmi2_slice_int(pmi2_message_value(message, "totspawns"), 1, COMMANDS_MAX, &total) ||
        !pmi2_slice_int(pmi2_message_value(message, "spawnssofar"), 1, total, &so_far)) {
        if (assembly != NULL && assembly->line)
            give_up(incoming, WIRE_INVALID_ARGS);
        else
            refuse(incoming, NULL, WIRE_INVALID_ARGS, reason_of(WIRE_INVALID_ARGS));
        return;
    }
    if (so_far == 1) {
        assembly = begin(incoming, false);
        if (assembly == NULL)
            return;
        assembly->expected = (uint32_t)total;
        code = write_pairs(&assembly->body, message->pairs, message->count, line.put_count,
                           line.put_key, line.put_value, incoming->call.client->link.server);
        pmi2_write_u32(&assembly->body, assembly->expected);
    } else if (assembly == NULL || !assembly->line || so_far != assembly->got + 1 ||
               total != assembly->expected) {
        if (assembly != NULL)
            give_up(incoming, WIRE_INVALID_ARGS);
        else
            refuse(incoming, NULL, WIRE_INVALID_ARGS, reason_of(WIRE_INVALID_ARGS));
        return;
    }
    if (code == 0)
        code = write_command(assembly, &line, message->pairs, message->count);
    if (code == 0 && too_long(assembly))
        code = WIRE_NO_MEMORY;
    if (code == 0 && assembly->body.chunk->length > PMI2_MCMD_MAX)
        code = WIRE_NO_MEMORY;
    if (code != 0)
        give_up(incoming, code);
    else if (++assembly->got == assembly->expected)
        complete(incoming);
}
