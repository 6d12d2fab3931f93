/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Published names. The root keeps all of them, so the first publisher wins, whatever its node. With
 * a name server, the root passes each request to the embedder.
 */
#include <assert.h>
#include "internal.h"

#define NAME_MAX_BYTES 1024u
static_assert(PMI2_NAME_PUBLISH == 0 && (int)ROOT_PUBLISH + (int)PMI2_NAME_LOOKUP == ROOT_LOOKUP &&
                  (int)ROOT_PUBLISH + (int)PMI2_NAME_UNPUBLISH == ROOT_UNPUBLISH,
              "the same order");

struct name {
    struct pmi2_map_entry entry;
    struct port_link list; /* of its job */
    struct pmi2_job *job;
    size_t port_length;
    char text[]; /* service, port */
};

struct naming { /* the embedder's to answer */
    struct port_link list;
    struct pmi2_name_request request;
    uint32_t rank;
    size_t route_length;
    char text[]; /* route, job, service, port; the last three with a NUL */
};

static struct name *find(struct pmi2_server *server, struct pmi2_slice service)
{
    struct pmi2_map_entry *entry = pmi2_map_find(&server->names, service);

    return entry == NULL ? NULL : port_list_of(entry, struct name, entry);
}

static void forget(struct pmi2_server *server, struct name *name)
{
    pmi2_map_remove(&server->names, &name->entry);
    port_list_discard(&name->list);
    name->job->name_count--;
    free(name);
}

static void publish(const struct pmi2_root_request *request, struct pmi2_slice service,
                    struct pmi2_slice port)
{
    struct pmi2_server *server = request->server;
    char reason[NAME_MAX_BYTES + 32];
    struct name *name;

    if (find(server, service) != NULL) {
        snprintf(reason, sizeof(reason), "duplicate_service_%s", service.at);
        pmi2_root_request_answer(request, WIRE_FAIL, reason, NO_SLICE);
        return;
    }
    name = request->job->name_count < server->limits.names && pmi2_map_reserve(&server->names, 1)
               ? malloc(sizeof(*name) + service.length + port.length)
               : NULL;
    if (name == NULL) {
        pmi2_root_request_answer(request, WIRE_NO_MEMORY, "too_many_names", NO_SLICE);
        return;
    }
    *name = (struct name){.job = request->job, .port_length = port.length};
    memcpy(name->text, service.at, service.length);
    memcpy(name->text + service.length, port.at, port.length);
    name->entry.key = name->text;
    name->entry.length = (uint32_t)service.length;
    pmi2_map_insert(&server->names, &name->entry);
    port_list_append(&request->job->names, &name->list);
    request->job->name_count++;
    server->counters.names++;
    pmi2_root_request_answer(request, 0, "", NO_SLICE);
}

static void answer_port(const struct pmi2_root_request *request, struct pmi2_slice port)
{
    struct pmi2_writer body = {NULL, false};

    pmi2_write_slice(&body, port);
    if (body.failed)
        pmi2_root_request_answer(request, WIRE_NO_MEMORY, "no_memory", NO_SLICE);
    else
        pmi2_root_request_answer(request, 0, "",
                                 (struct pmi2_slice){body.chunk->bytes, body.chunk->length});
    pmi2_writer_fini(&body);
}

static void answer_missing(const struct pmi2_root_request *request, const char *service)
{
    char reason[NAME_MAX_BYTES + 32];

    snprintf(reason, sizeof(reason), "service_%s_not_found", service);
    pmi2_root_request_answer(request, WIRE_FAIL, reason, NO_SLICE);
}

/* ---- a name server ----------------------------------------------------------------------------
 */

static char *add_text(char **at, const char *bytes, size_t length)
{
    char *begin = *at;

    memcpy(begin, bytes, length);
    begin[length] = '\0';
    *at += length + 1;
    return begin;
}

static void notify_embedder(const struct pmi2_root_request *request, enum pmi2_name_kind kind,
                            struct pmi2_slice service, struct pmi2_slice port)
{
    struct pmi2_server *server = request->server;
    struct pmi2_slice job = job_id(request->job);
    struct naming *naming = malloc(sizeof(*naming) + request->route.length + job.length +
                                   service.length + port.length + 4);
    struct pmi2_notification *notification =
        naming != NULL ? pmi2_notification(server, PMI2_ACTION_NAME, NO_SLICE, NO_SLICE) : NULL;
    char *at;

    if (notification == NULL) {
        free(naming);
        pmi2_root_request_answer(request, WIRE_NO_MEMORY, "no_memory", NO_SLICE);
        return;
    }
    *naming = (struct naming){.rank = request->rank, .route_length = request->route.length};
    at = naming->text;
    add_text(&at, request->route.at, request->route.length);
    naming->request.id = ++server->naming_number;
    naming->request.kind = kind;
    naming->request.job = add_text(&at, job.at, job.length);
    naming->request.service = add_text(&at, service.at, service.length);
    naming->request.port = add_text(&at, port.at, port.length);
    notification->what.name = &naming->request;
    notification->what.job = naming->request.job;
    notification->what.rank = request->rank;
    port_list_append(&server->namings, &naming->list);
}

static void answer_naming(const struct pmi2_root_request *request,
                          const struct pmi2_name_request *named, enum pmi2_name_result result,
                          const char *port)
{
    char reason[NAME_MAX_BYTES + 32];

    switch (result) {
    case PMI2_NAME_DONE:
        if (named->kind == PMI2_NAME_LOOKUP)
            answer_port(request, (struct pmi2_slice){port, strlen(port)});
        else
            pmi2_root_request_answer(request, 0, "", NO_SLICE);
        break;
    case PMI2_NAME_DUPLICATE:
        snprintf(reason, sizeof(reason), "duplicate_service_%s", named->service);
        pmi2_root_request_answer(request, WIRE_FAIL, reason, NO_SLICE);
        break;
    case PMI2_NAME_NOT_FOUND:
        answer_missing(request, named->service);
        break;
    case PMI2_NAME_TOO_MANY:
        pmi2_root_request_answer(request, WIRE_NO_MEMORY, "too_many_names", NO_SLICE);
        break;
    case PMI2_NAME_UNREACHABLE:
        pmi2_root_request_answer(request, WIRE_COMMFAILED, "name_server_unreachable", NO_SLICE);
        break;
    }
}

void pmi2_server_name_done(struct pmi2_server *server, uint64_t id, enum pmi2_name_result result,
                           const char *port)
{
    struct pmi2_root_request request = {.server = server};
    struct naming *naming = NULL;
    struct port_link *node;

    assert(server->config.root && server->config.name_server);
    for (node = server->namings.next; node != &server->namings && naming == NULL; node = node->next)
        if (port_list_of(node, struct naming, list)->request.id == id)
            naming = port_list_of(node, struct naming, list);
    if (naming == NULL)
        return;
    port_list_discard(&naming->list);
    request.job = pmi2_job_find(
        server, (struct pmi2_slice){naming->request.job, strlen(naming->request.job)});
    request.rank = naming->rank;
    request.route = (struct pmi2_slice){naming->text, naming->route_length};
    if (request.job != NULL)
        answer_naming(&request, &naming->request, result, port);
    if (request.job != NULL && naming->request.kind == PMI2_NAME_PUBLISH &&
        result == PMI2_NAME_DONE)
        server->counters.names++;
    free(naming);
    pmi2_server_run(server);
}

void pmi2_namings_fini(struct pmi2_server *server)
{
    struct port_link *node;

    while ((node = port_list_pop(&server->namings)) != NULL)
        free(port_list_of(node, struct naming, list));
}

/* ---- requests ---------------------------------------------------------------------------------
 */

void pmi2_names_serve(const struct pmi2_root_request *request, enum pmi2_root_kind kind,
                      struct pmi2_reader *body)
{
    struct pmi2_slice service = pmi2_read_slice(body), port = NO_SLICE;
    struct name *name;

    assert(kind >= ROOT_PUBLISH && kind <= ROOT_UNPUBLISH);
    if (kind == ROOT_PUBLISH)
        port = pmi2_read_slice(body);
    if (body->failed || service.length == 0 || service.length > NAME_MAX_BYTES ||
        port.length > NAME_MAX_BYTES) {
        pmi2_root_request_answer(request, WIRE_INVALID_ARG, "invalid_name", NO_SLICE);
        return;
    }
    if (request->server->config.name_server) {
        notify_embedder(request, (enum pmi2_name_kind)(kind - ROOT_PUBLISH), service, port);
        return;
    }
    if (kind == ROOT_PUBLISH) {
        publish(request, service, port);
        return;
    }
    name = find(request->server, service);
    if (name == NULL) {
        answer_missing(request, service.at);
    } else if (kind == ROOT_LOOKUP) {
        answer_port(request,
                    (struct pmi2_slice){name->text + name->entry.length, name->port_length});
    } else {
        forget(request->server, name);
        pmi2_root_request_answer(request, 0, "", NO_SLICE);
    }
}

void pmi2_names_end(struct pmi2_job *job)
{
    while (!port_list_empty(&job->names))
        forget(job->server, port_list_of(job->names.next, struct name, list));
}
