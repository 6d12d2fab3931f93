/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests that only the root can answer. Each server on the path to the root adds to the request
 * the number of the server from which it came. The answer carries that route back, so no server
 * keeps a table.
 */
#include "internal.h"

#define HOPS_MAX 32u
#define ROUTE_HEAD_BYTES 9u /* u64 number, u8 hops */

struct pmi2_request *pmi2_root_begin(struct pmi2_server_call *call, enum pmi2_root_kind kind,
                                     struct pmi2_writer *body)
{
    struct pmi2_server *server = call->client->link.server;
    const char *name = pmi2_root_name(kind, call->line);
    struct pmi2_request *request;

    if (server->orphaned || (!server->config.root && server->parent == NULL)) {
        pmi2_reply_code(call, name, WIRE_COMMFAILED, "manager_lost");
        return NULL;
    }
    if (!pmi2_map_reserve(&server->request_map, 1)) {
        pmi2_reply_code(call, name, WIRE_NO_MEMORY, "no_memory");
        return NULL;
    }
    request = pmi2_call_wait(call, WAIT_ROOT, name);
    if (request == NULL)
        return NULL;
    request->kind = (uint8_t)kind;
    request->number = ++server->request_number;
    request->entry.key = (const char *)&request->number;
    request->entry.length = sizeof(request->number);
    pmi2_map_insert(&server->request_map, &request->entry);
    port_list_append(&server->requests, &request->wait);
    pmi2_tree_message(body, MESSAGE_REQUEST, job_id(call->client->rank->job), 0,
                      call->client->rank->rank);
    pmi2_write_u64(body, request->number);
    pmi2_write_u8(body, 0);
    pmi2_write_u8(body, (uint8_t)kind);
    return request;
}

void pmi2_root_forget(struct pmi2_request *request)
{
    if (!port_linked(&request->wait))
        return;
    port_list_discard(&request->wait);
    pmi2_map_remove(&request->call.client->link.server->request_map, &request->entry);
}

static void answered(struct pmi2_request *request, int code, struct pmi2_slice reason,
                     struct pmi2_reader *body)
{
    pmi2_root_forget(request);
    pmi2_root_answered(request, code, reason, body);
}

static void serve(struct pmi2_server *server, struct pmi2_job *job, uint32_t rank,
                  struct pmi2_slice route, struct pmi2_reader *body)
{
    struct pmi2_root_request request = {server, job, rank, route};
    enum pmi2_root_kind kind = (enum pmi2_root_kind)pmi2_read_u8(body);

    if (kind >= ROOT_PUBLISH && kind <= ROOT_UNPUBLISH)
        pmi2_names_serve(&request, kind, body);
    else if (kind == ROOT_SPAWN)
        pmi2_spawn_serve(&request, (struct pmi2_slice){body->at, (size_t)(body->end - body->at)});
    else
        pmi2_connect_serve(&request, kind, body);
}

void pmi2_root_send(struct pmi2_request *request, struct pmi2_writer *body)
{
    struct pmi2_server_client *client = request->call.client;
    struct pmi2_server *server = client->link.server;
    struct pmi2_message_head head;
    struct pmi2_reader reader, empty = {"", "", false};
    struct pmi2_slice route;

    if (body->failed) {
        pmi2_writer_fini(body);
        answered(request, WIRE_NO_MEMORY, (struct pmi2_slice){"no_memory", 9}, &empty);
        return;
    }
    if (!server->config.root) {
        pmi2_tree_send(&server->parent->link, body);
        return;
    }
    pmi2_head_read(body->chunk->bytes, body->chunk->length, &head);
    reader = (struct pmi2_reader){body->chunk->bytes + head.head,
                                  body->chunk->bytes + body->chunk->length, false};
    route = (struct pmi2_slice){pmi2_read_bytes(&reader, ROUTE_HEAD_BYTES), ROUTE_HEAD_BYTES};
    serve(server, client->rank->job, client->rank->rank, route, &reader);
    pmi2_writer_fini(body);
}

/* Reads the route back. False: malformed. */
static bool read_route(struct pmi2_reader *reader, struct pmi2_slice *route)
{
    const char *at = pmi2_read_bytes(reader, ROUTE_HEAD_BYTES);
    uint8_t hops = at == NULL ? 0 : (uint8_t)at[8];

    pmi2_read_bytes(reader, hops * (size_t)4);
    *route = (struct pmi2_slice){at, ROUTE_HEAD_BYTES + hops * (size_t)4};
    return at != NULL && !reader->failed && hops <= HOPS_MAX;
}

void pmi2_root_request_message(struct pmi2_server *server, struct pmi2_tree *from,
                               const struct pmi2_message_head *head, struct pmi2_chunk *message)
{
    struct pmi2_reader reader = {message->bytes + head->head, message->bytes + message->length,
                                 false};
    struct pmi2_writer longer = {NULL, false};
    struct pmi2_job *job = pmi2_job_find(server, head->id);
    struct pmi2_slice route;

    if (!read_route(&reader, &route) || route.at[8] == HOPS_MAX)
        return;
    pmi2_tree_message(&longer, MESSAGE_REQUEST, head->id, 0, head->count);
    if (server->config.root) /* only the route is needed */
        longer.chunk = longer.chunk == NULL ? NULL : (longer.chunk->length = 0, longer.chunk);
    pmi2_write_bytes(&longer, route.at, 8);
    pmi2_write_u8(&longer, (uint8_t)(route.at[8] + 1));
    pmi2_write_bytes(&longer, route.at + ROUTE_HEAD_BYTES, route.length - ROUTE_HEAD_BYTES);
    pmi2_write_u32(&longer, from->number);
    if (!server->config.root) {
        pmi2_write_bytes(&longer, reader.at, (size_t)(reader.end - reader.at));
        if (server->parent != NULL)
            pmi2_tree_send(&server->parent->link, &longer);
    } else if (job != NULL && !job->foreign && head->count < job->facts->info.size &&
               !longer.failed) {
        serve(server, job, head->count,
              (struct pmi2_slice){longer.chunk->bytes, longer.chunk->length}, &reader);
    }
    pmi2_writer_fini(&longer);
}

/* Sends an answer to the next server on its route. At the end of the route it answers the waiting
 * request. */
static void onward(struct pmi2_server *server, struct pmi2_slice id, struct pmi2_slice route,
                   struct pmi2_reader *rest)
{
    uint8_t hops = (uint8_t)route.at[8];
    uint32_t number, i;
    struct pmi2_writer message = {NULL, false};

    if (hops == 0) {
        uint64_t of = pmi2_load_u64(route.at);
        struct pmi2_map_entry *entry =
            pmi2_map_find(&server->request_map, (struct pmi2_slice){(char *)&of, sizeof(of)});
        int code = (int)pmi2_read_u32(rest);
        struct pmi2_slice reason = pmi2_read_slice(rest);

        if (entry != NULL)
            answered(port_list_of(entry, struct pmi2_request, entry), code, reason, rest);
        return;
    }
    number = pmi2_load_u32(route.at + route.length - 4);
    pmi2_tree_message(&message, MESSAGE_ANSWER, id, 0, 0);
    pmi2_write_bytes(&message, route.at, 8);
    pmi2_write_u8(&message, (uint8_t)(hops - 1));
    pmi2_write_bytes(&message, route.at + ROUTE_HEAD_BYTES, route.length - ROUTE_HEAD_BYTES - 4);
    pmi2_write_bytes(&message, rest->at, (size_t)(rest->end - rest->at));
    for (i = 0; i < server->child_count; i++)
        if (server->children[i]->number == number)
            pmi2_tree_send(&server->children[i]->link, &message);
    pmi2_writer_fini(&message);
}

void pmi2_root_request_answer(const struct pmi2_root_request *request, int code, const char *reason,
                              struct pmi2_slice body)
{
    struct pmi2_writer rest = {NULL, false};
    struct pmi2_reader reader;

    pmi2_write_u32(&rest, (uint32_t)code);
    pmi2_write_text(&rest, reason);
    pmi2_write_bytes(&rest, body.at, body.length);
    if (rest.failed) {
        static const char no_memory[] = "\x02\0\0\0\0\0\0\0"; /* code, no reason */

        reader = (struct pmi2_reader){no_memory, no_memory + sizeof(no_memory), false};
    } else {
        reader =
            (struct pmi2_reader){rest.chunk->bytes, rest.chunk->bytes + rest.chunk->length, false};
    }
    onward(request->server, job_id(request->job), request->route, &reader);
    pmi2_writer_fini(&rest);
}

void pmi2_root_answer_message(struct pmi2_server *server, const struct pmi2_message_head *head,
                              struct pmi2_chunk *message)
{
    struct pmi2_reader reader = {message->bytes + head->head, message->bytes + message->length,
                                 false};
    struct pmi2_slice route;

    if (read_route(&reader, &route))
        onward(server, head->id, route, &reader);
}

void pmi2_root_fail(struct pmi2_server *server)
{
    struct pmi2_reader empty = {"", "", false};

    while (!port_list_empty(&server->requests))
        answered(port_list_of(server->requests.next, struct pmi2_request, wait), WIRE_COMMFAILED,
                 (struct pmi2_slice){"manager_lost", 12}, &empty);
}
