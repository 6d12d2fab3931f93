/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Spawn requests at the root: passed to the embedder, which starts the processes and answers. */
#include "internal.h"

struct spawning {
    struct port_link list;
    struct pmi2_spawn spawn;
    struct pmi2_writer body, route;
    char *spawner;
    struct pmi2_command *commands;
    struct pmi2_text_pair *pairs;
    const char **arguments;
};

struct totals {
    size_t commands, pairs, arguments;
};

static void spawning_free(struct spawning *spawning)
{
    pmi2_writer_fini(&spawning->body);
    pmi2_writer_fini(&spawning->route);
    free(spawning->spawner);
    free(spawning->commands);
    free(spawning->pairs);
    free((void *)spawning->arguments);
    free(spawning);
}

static uint32_t read_pairs(struct pmi2_reader *reader, struct pmi2_text_pair *pairs)
{
    uint32_t count = pmi2_read_u32(reader), i;

    for (i = 0; i < count && !reader->failed; i++) {
        struct pmi2_text_pair pair;

        pair.key = pmi2_read_slice(reader).at;
        pair.value = pmi2_read_slice(reader).at;
        if (pairs != NULL)
            pairs[i] = pair;
    }
    return count;
}

/* Once to count, once to fill in. */
static bool read_spawn(struct spawning *spawning, struct totals *totals, bool fill)
{
    struct pmi2_reader reader = {spawning->body.chunk->bytes,
                                 spawning->body.chunk->bytes + spawning->body.chunk->length, false};
    struct pmi2_spawn *spawn = &spawning->spawn;
    uint64_t processes = 0;
    uint32_t i, j;

    *totals = (struct totals){0, 0, 0};
    spawn->preput = spawning->pairs;
    spawn->preput_count = read_pairs(&reader, spawning->pairs);
    totals->pairs += spawn->preput_count;
    spawn->command_count = pmi2_read_u32(&reader);
    for (i = 0; i < spawn->command_count && !reader.failed; i++) {
        struct pmi2_command command = {0};

        command.name = pmi2_read_slice(&reader).at;
        command.processes = pmi2_read_u32(&reader);
        command.argc = pmi2_read_u32(&reader);
        for (j = 0; j < command.argc && !reader.failed; j++) {
            const char *argument = pmi2_read_slice(&reader).at;

            if (fill)
                spawning->arguments[totals->arguments + j] = argument;
        }
        if (fill) {
            command.argv = spawning->arguments + totals->arguments;
            command.info = spawning->pairs + totals->pairs;
        }
        command.info_count = read_pairs(&reader, fill ? spawning->pairs + totals->pairs : NULL);
        totals->pairs += command.info_count;
        totals->arguments += command.argc;
        processes += command.processes;
        if (fill)
            spawning->commands[i] = command;
    }
    totals->commands = spawn->command_count;
    spawn->processes = (uint32_t)processes;
    spawn->commands = spawning->commands;
    return !reader.failed && reader.at == reader.end && processes > 0 && processes <= INT32_MAX;
}

static int prepare(struct spawning *spawning, const struct pmi2_root_request *request,
                   struct pmi2_slice body)
{
    struct totals totals;

    pmi2_write_bytes(&spawning->body, body.at, body.length);
    pmi2_write_bytes(&spawning->route, request->route.at, request->route.length);
    spawning->spawner = strdup(request->job->entry.key);
    if (spawning->body.failed || spawning->route.failed || spawning->spawner == NULL)
        return WIRE_NO_MEMORY;
    if (spawning->body.chunk == NULL || !read_spawn(spawning, &totals, false))
        return WIRE_INVALID_ARGS;
    if (spawning->spawn.processes > request->server->limits.spawned - request->server->spawned)
        return WIRE_INVALID_SIZE;
    spawning->commands = calloc(totals.commands + 1, sizeof(*spawning->commands));
    spawning->pairs = calloc(totals.pairs + 1, sizeof(*spawning->pairs));
    spawning->arguments = calloc(totals.arguments + 1, sizeof(*spawning->arguments));
    if (spawning->commands == NULL || spawning->pairs == NULL || spawning->arguments == NULL)
        return WIRE_NO_MEMORY;
    read_spawn(spawning, &totals, true);
    return 0;
}

void pmi2_spawn_serve(const struct pmi2_root_request *request, struct pmi2_slice body)
{
    struct pmi2_server *server = request->server;
    struct spawning *spawning = calloc(1, sizeof(*spawning));
    int code = spawning == NULL ? WIRE_NO_MEMORY : prepare(spawning, request, body);
    struct pmi2_notification *notification = NULL;

    if (code == 0) {
        notification = pmi2_notification(server, PMI2_ACTION_SPAWN, NO_SLICE, NO_SLICE);
        code = notification == NULL ? WIRE_NO_MEMORY : 0;
    }
    if (code != 0) {
        if (spawning != NULL)
            spawning_free(spawning);
        pmi2_root_request_answer(request, code,
                                 code == WIRE_INVALID_SIZE   ? "too_many_processes"
                                 : code == WIRE_INVALID_ARGS ? "malformed_spawn"
                                                             : "no_memory",
                                 NO_SLICE);
        return;
    }
    spawning->spawn.id = ++server->spawn_number;
    spawning->spawn.spawner = spawning->spawner;
    spawning->spawn.rank = request->rank;
    notification->what.spawn = &spawning->spawn;
    notification->what.job = spawning->spawner;
    notification->what.rank = request->rank;
    server->spawned += spawning->spawn.processes;
    server->counters.spawns++;
    port_list_append(&server->spawns, &spawning->list);
}

/* Answered before the embedder has taken the action. */
static void forget_notification(struct pmi2_server *server, const struct spawning *spawning)
{
    struct port_link *node;

    for (node = server->actions.next; node != &server->actions; node = node->next) {
        struct pmi2_server_action *action = port_list_of(node, struct pmi2_server_action, list);
        struct pmi2_notification *notification =
            port_list_of(action, struct pmi2_notification, action);

        if (action->owner != OWNER_NOTIFICATION || notification->what.spawn != &spawning->spawn)
            continue;
        pmi2_action_forget(action);
        free(notification);
        return;
    }
}

void pmi2_server_spawn_done(struct pmi2_server *server, uint64_t id, const char *job,
                            const int *errors, const char *reason)
{
    struct spawning *spawning = NULL;
    struct pmi2_writer body = {NULL, false};
    struct pmi2_root_request request = {.server = server};
    struct port_link *node;
    uint32_t i;

    for (node = server->spawns.next; node != &server->spawns; node = node->next)
        if (port_list_of(node, struct spawning, list)->spawn.id == id)
            spawning = port_list_of(node, struct spawning, list);
    if (spawning == NULL)
        return;
    port_list_discard(&spawning->list);
    if (job == NULL)
        server->spawned -= spawning->spawn.processes;
    pmi2_write_text(&body, job);
    pmi2_write_u32(&body, errors == NULL ? 0 : spawning->spawn.processes);
    for (i = 0; errors != NULL && i < spawning->spawn.processes; i++)
        pmi2_write_u32(&body, (uint32_t)errors[i]);
    request.job =
        pmi2_job_find(server, (struct pmi2_slice){spawning->spawner, strlen(spawning->spawner)});
    request.rank = spawning->spawn.rank;
    request.route =
        (struct pmi2_slice){spawning->route.chunk->bytes, spawning->route.chunk->length};
    if (request.job != NULL && body.failed)
        pmi2_root_request_answer(&request, WIRE_NO_MEMORY, "no_memory", NO_SLICE);
    else if (request.job != NULL)
        pmi2_root_request_answer(&request, job == NULL ? WIRE_FAIL : 0,
                                 job != NULL      ? ""
                                 : reason == NULL ? "spawn_failed"
                                                  : reason,
                                 (struct pmi2_slice){body.chunk->bytes, body.chunk->length});
    pmi2_writer_fini(&body);
    forget_notification(server, spawning);
    spawning_free(spawning);
    pmi2_server_run(server);
}

void pmi2_spawns_fini(struct pmi2_server *server)
{
    struct port_link *node;

    while ((node = port_list_pop(&server->spawns)) != NULL)
        spawning_free(port_list_of(node, struct spawning, list));
}
