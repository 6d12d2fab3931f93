/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Published names. The root has them all, so that the first publisher wins wherever he is. */
#include "internal.h"

#define NAME_MAX_BYTES 1024u

struct name {
    struct map_entry entry;
    struct list list; /* of its job */
    struct job *job;
    size_t port_length;
    char text[]; /* service, port */
};

static struct name *find(struct pmi2_server *server, struct pmi2_slice service)
{
    struct map_entry *entry = pmi2_map_find(&server->names, service);

    return entry == NULL ? NULL : list_of(entry, struct name, entry);
}

static void forget(struct pmi2_server *server, struct name *name)
{
    pmi2_map_remove(&server->names, &name->entry);
    list_remove(&name->list);
    name->job->name_count--;
    free(name);
}

static void publish(const struct hail *hail, struct pmi2_slice service, struct pmi2_slice port)
{
    struct pmi2_server *server = hail->server;
    char reason[NAME_MAX_BYTES + 32];
    struct name *name;

    if (find(server, service) != NULL) {
        snprintf(reason, sizeof(reason), "duplicate_service_%s", service.at);
        pmi2_hail_answer(hail, WIRE_FAIL, reason, NO_SLICE);
        return;
    }
    name = hail->job->name_count < server->limits.names && pmi2_map_reserve(&server->names, 1)
               ? malloc(sizeof(*name) + service.length + port.length)
               : NULL;
    if (name == NULL) {
        pmi2_hail_answer(hail, WIRE_NO_MEMORY, "too_many_names", NO_SLICE);
        return;
    }
    *name = (struct name){.job = hail->job, .port_length = port.length};
    memcpy(name->text, service.at, service.length);
    memcpy(name->text + service.length, port.at, port.length);
    name->entry.key = name->text;
    name->entry.length = (uint32_t)service.length;
    pmi2_map_insert(&server->names, &name->entry);
    list_add(&hail->job->names, &name->list);
    hail->job->name_count++;
    server->counters.names++;
    pmi2_hail_answer(hail, 0, "", NO_SLICE);
}

static void lookup(const struct hail *hail, const struct name *name)
{
    struct writer body = {NULL, false};

    pmi2_write_slice(&body,
                     (struct pmi2_slice){name->text + name->entry.length, name->port_length});
    if (body.failed)
        pmi2_hail_answer(hail, WIRE_NO_MEMORY, "no_memory", NO_SLICE);
    else
        pmi2_hail_answer(hail, 0, "", (struct pmi2_slice){body.chunk->bytes, body.chunk->length});
    pmi2_writer_fini(&body);
}

void pmi2_names_serve(const struct hail *hail, enum root_kind kind, struct reader *body)
{
    struct pmi2_slice service = pmi2_read_slice(body), port = NO_SLICE;
    char reason[NAME_MAX_BYTES + 32];
    struct name *name;

    if (kind == ROOT_PUBLISH)
        port = pmi2_read_slice(body);
    if (body->failed || service.length == 0 || service.length > NAME_MAX_BYTES ||
        port.length > NAME_MAX_BYTES) {
        pmi2_hail_answer(hail, WIRE_INVALID_ARG, "invalid_name", NO_SLICE);
        return;
    }
    if (kind == ROOT_PUBLISH) {
        publish(hail, service, port);
        return;
    }
    name = find(hail->server, service);
    if (name == NULL) {
        snprintf(reason, sizeof(reason), "service_%s_not_found", service.at);
        pmi2_hail_answer(hail, WIRE_FAIL, reason, NO_SLICE);
    } else if (kind == ROOT_LOOKUP) {
        lookup(hail, name);
    } else {
        forget(hail->server, name);
        pmi2_hail_answer(hail, 0, "", NO_SLICE);
    }
}

void pmi2_names_end(struct job *job)
{
    while (!list_empty(&job->names))
        forget(job->server, list_of(job->names.next, struct name, list));
}
