/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard top --json: docs/live.md lists the members. */
#include <jansson.h>
#include <stdlib.h>

#include "top.h"

static json_t *queues(const struct aries_watch *watch)
{
    json_t *list = json_array();
    uint32_t i;

    for (i = 0; i < watch->cqs; i++)
        json_array_append_new(list, json_pack("{s:i,s:i,s:i,s:b}", "index", (int)watch->cq[i].index,
                                              "entries", (int)watch->cq[i].capacity, "unread",
                                              (int)watch->cq[i].count, "overrun",
                                              watch->cq[i].overrun != 0));
    return list;
}

static json_t *peer(uint32_t node, uint32_t instance)
{
    return json_pack("{s:o,s:I}", "node",
                     node != UINT32_MAX ? json_integer((json_int_t)node) : json_null(), "instance",
                     (json_int_t)instance);
}

static json_t *channels(const struct aries_watch *watch)
{
    json_t *list = json_array(), *object;
    uint32_t i;

    for (i = 0; i < watch->eps; i++) {
        object = peer(watch->ep[i].node, watch->ep[i].instance);
        json_object_set_new(object, "credits", json_integer(watch->ep[i].credits));
        json_object_set_new(object, "free", json_integer(watch->ep[i].free));
        json_object_set_new(object, "sent", json_integer(watch->ep[i].sent));
        json_object_set_new(object, "received", json_integer(watch->ep[i].received));
        json_object_set_new(object, "broken", json_boolean(watch->ep[i].broken));
        json_array_append_new(list, object);
    }
    return list;
}

/* The process is not trusted: a name that is no text is left out. */
static json_t *text(const char *bytes)
{
    json_t *string = json_string(bytes);

    return string != NULL ? string : json_null();
}

static json_t *connections(const struct aries_watch *watch)
{
    json_t *list = json_array(), *object;
    uint32_t i;

    for (i = 0; i < watch->vcs && i < ARIES_WATCH_VCS; i++) {
        object = peer(watch->vc[i].node, watch->vc[i].instance);
        json_object_set_new(object, "state", text(watch->vc[i].state));
        json_object_set_new(object, "for_s", json_real(top_seconds_ago(watch->vc[i].since_ns)));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *process(const struct sample *sample)
{
    const struct aries_watch *watch = &sample->watch;
    json_t *object =
        json_pack("{s:o,s:o,s:i,s:i,s:b}", "command", text(sample->command), "rank",
                  sample->rank >= 0 ? json_integer(sample->rank) : json_null(), "node",
                  (int)sample->is.node, "pid", (int)sample->is.pid, "figures", watch->magic != 0);

    if (watch->magic == 0)
        return object;
    json_object_set_new(object, "progress_s", json_real(top_seconds_ago(watch->progress_ns)));
    json_object_set_new(object, "age_s", json_real(top_seconds_ago(watch->taken_ns)));
    json_object_set_new(object, "nics", json_integer(watch->nics));
    json_object_set_new(object, "regions", json_integer(watch->regions));
    json_object_set_new(object, "transactions", json_integer((json_int_t)watch->transactions));
    json_object_set_new(object, "bytes", json_integer((json_int_t)watch->bytes));
    json_object_set_new(object, "errors", json_integer((json_int_t)watch->errors));
    json_object_set_new(object, "unread", json_integer((json_int_t)top_unread(watch)));
    json_object_set_new(object, "queues", queues(watch));
    json_object_set_new(object, "smsg", channels(watch));
    json_object_set_new(object, "vcs", connections(watch));
    return object;
}

void top_json_print(FILE *to, const struct shm_facts *facts, const struct sample *samples)
{
    const struct sample **order = calloc(facts->processes_max, sizeof(const struct sample *));
    json_t *list = json_array(), *object;
    uint32_t observers, processes, i;

    if (order == NULL)
        abort();
    processes = top_samples_sort(facts, samples, order, &observers);
    for (i = 0; i < processes; i++)
        json_array_append_new(list, process(order[i]));
    object =
        json_pack("{s:i,s:o,s:o,s:i,s:f,s:i,s:o}", "schema", 1, "fabric", text(facts->path), "name",
                  text(facts->name), "nodes", (int)facts->nodes, "up_s",
                  top_seconds_ago(facts->began_ns), "observers", (int)observers, "processes", list);
    json_dumpf(object, to, JSON_COMPACT | JSON_REAL_PRECISION(9));
    fputc('\n', to);
    json_decref(object);
    free(order);
}
