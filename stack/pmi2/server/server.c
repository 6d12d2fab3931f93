/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The server as a whole: its parts, time, and the order in which held up work goes on. */
#include "internal.h"

static const struct pmi2_limits defaults = {
    .pairs_per_rank = 64,
    .committed_bytes = 1u << 30,
    .unread_bytes = 1u << 20,
    .unread_seconds = 60,
    .unauthenticated = 16,
    .auth_seconds = 5,
    .names = 4096,
    .node_attributes = 4096,
    .spawned = 1024,
    .tree_seconds = 30,
};

static void set_limit(uint32_t *limit, uint32_t standard)
{
    if (*limit == 0)
        *limit = standard;
}

static void set_limits(struct pmi2_limits *limits)
{
    set_limit(&limits->pairs_per_rank, defaults.pairs_per_rank);
    if (limits->pairs_per_rank > UINT16_MAX)
        limits->pairs_per_rank = UINT16_MAX;
    if (limits->committed_bytes == 0)
        limits->committed_bytes = defaults.committed_bytes;
    set_limit(&limits->unread_bytes, defaults.unread_bytes);
    set_limit(&limits->unread_seconds, defaults.unread_seconds);
    set_limit(&limits->unauthenticated, defaults.unauthenticated);
    set_limit(&limits->auth_seconds, defaults.auth_seconds);
    set_limit(&limits->names, defaults.names);
    set_limit(&limits->node_attributes, defaults.node_attributes);
    set_limit(&limits->spawned, defaults.spawned);
    set_limit(&limits->tree_seconds, defaults.tree_seconds);
}

static uint64_t random_u64(struct pmi2_server *server)
{
    uint64_t value = 0;

    if (server->config.random != NULL)
        server->config.random(server->config.context, &value, sizeof(value));
    return value;
}

struct pmi2_server *pmi2_server_new(const struct pmi2_server_config *config)
{
    struct pmi2_server *server = calloc(1, sizeof(*server));
    uint64_t seed;

    if (server == NULL)
        return NULL;
    server->config = *config;
    server->limits = config->limits;
    set_limits(&server->limits);
    if (config->key != NULL) {
        memcpy(server->key, config->key, sizeof(server->key));
        server->has_key = true;
    }
    seed = random_u64(server);
    server->store = config->store;
    if (server->store == NULL) {
        server->store = pmi2_store_new();
        if (server->store == NULL) {
            free(server);
            return NULL;
        }
        server->own_store = true;
        server->store->seed = seed;
    }
    pmi2_map_init(&server->jobs, seed);
    pmi2_map_init(&server->names, seed);
    pmi2_map_init(&server->request_map, 0);
    port_list_init(&server->job_list);
    port_list_init(&server->links);
    port_list_init(&server->resume);
    port_list_init(&server->unauthenticated_list);
    port_list_init(&server->slow);
    port_list_init(&server->actions);
    port_list_init(&server->requests);
    port_list_init(&server->ended);
    port_list_init(&server->spawns);
    port_list_init(&server->namings);
    pmi2_decoder_init(&server->spare);
    /* Positive as a C int: some programs read the first part of a job's id as one. */
    server->job_base = config->random == NULL ? 1 : (uint32_t)random_u64(server) & 0x7fffffffu;
    return server;
}

void pmi2_server_free(struct pmi2_server *server)
{
    struct pmi2_action action;

    if (server == NULL)
        return;
    while (!port_list_empty(&server->links))
        pmi2_link_free(port_list_of(server->links.next, struct pmi2_link, list));
    while (!port_list_empty(&server->job_list))
        pmi2_job_end(port_list_of(server->job_list.next, struct pmi2_job, list));
    while (pmi2_server_next(server, &action))
        ;
    pmi2_spawns_fini(server);
    pmi2_namings_fini(server);
    pmi2_map_fini(&server->jobs);
    pmi2_map_fini(&server->names);
    pmi2_map_fini(&server->request_map);
    pmi2_decoder_fini(&server->spare);
    pmi2_buffer_fini(&server->reply);
    if (server->own_store)
        pmi2_store_free(server->store);
    free(server->children);
    explicit_bzero(server->key, sizeof(server->key));
    free(server);
}

/* Input, closed connections and finalizing ranks are handled here and not where they are noticed,
 * so no handler is entered from within another one. */
void pmi2_server_run(struct pmi2_server *server)
{
    struct port_link *node;

    while ((node = port_list_pop(&server->resume)) != NULL) {
        struct pmi2_link *link = port_list_of(node, struct pmi2_link, resume);

        if (link->closing && !link->ended) {
            link->ended = true;
            link->reads = false;
            if (link->kind == LINK_CLIENT)
                pmi2_client_lost(client_of(link));
            else
                pmi2_tree_lost(tree_of(link), link->reason);
        } else if (!link->closing && link->kind == LINK_CLIENT) {
            pmi2_client_pump(client_of(link));
        }
    }
}

static void link_init(struct pmi2_link *link, struct pmi2_server *server, enum pmi2_link_kind kind,
                      void *data)
{
    link->server = server;
    link->kind = (uint8_t)kind;
    link->data = data;
    link->reads = true;
    link->action.owner = OWNER_LINK;
    port_list_append(&server->links, &link->list);
}

struct pmi2_link *pmi2_server_client(struct pmi2_server *server, const char *job, uint32_t rank,
                                     enum pmi2_auth auth, void *data)
{
    struct pmi2_job *of = NULL;
    struct pmi2_rank *known = NULL;
    struct pmi2_unauthenticated_client *unauthenticated = NULL;
    struct pmi2_server_client *client;

    if (job != NULL) {
        of = pmi2_job_find(server, (struct pmi2_slice){job, strlen(job)});
        if (of == NULL || of->foreign)
            return NULL;
    }
    if (rank != PMI2_NO_RANK) {
        known = of == NULL ? NULL : pmi2_job_rank(of, rank);
        if (known == NULL || known->client != NULL || known->state > PMI2_RANK_FINALIZED)
            return NULL;
    } else if (server->unauthenticated_count >= server->limits.unauthenticated) {
        return NULL;
    }
    client = calloc(1, sizeof(*client));
    if (client == NULL)
        return NULL;
    if (known == NULL) {
        unauthenticated = calloc(1, sizeof(*unauthenticated));
        if (unauthenticated == NULL) {
            free(client);
            return NULL;
        }
        unauthenticated->client = client;
        unauthenticated->job = of;
        unauthenticated->rank = PMI2_NO_RANK;
        unauthenticated->until = server->now + server->limits.auth_seconds * SECOND;
        port_list_append(&server->unauthenticated_list, &unauthenticated->list);
        server->unauthenticated_count++;
        client->unauthenticated = unauthenticated;
    }
    link_init(&client->link, server, LINK_CLIENT, data);
    client->auth = (uint8_t)auth;
    port_list_init(&client->requests);
    pmi2_decoder_init(&client->decoder);
    if (known != NULL)
        pmi2_client_bind(client, of, known);
    return &client->link;
}

static struct pmi2_tree *tree_new(struct pmi2_server *server, enum pmi2_link_kind kind,
                                  uint32_t first, uint32_t last, void *data)
{
    struct pmi2_tree *tree = calloc(1, sizeof(*tree));

    if (tree == NULL)
        return NULL;
    if (server->config.lossy) {
        tree->lossy = pmi2_lossy_new();
        if (tree->lossy == NULL) {
            free(tree);
            return NULL;
        }
    }
    tree->first = first;
    tree->last = last;
    tree->last_received = server->now;
    link_init(&tree->link, server, kind, data);
    return tree;
}

static void greet(struct pmi2_tree *tree, uint32_t first, uint32_t last)
{
    struct pmi2_writer hello = {NULL, false};

    pmi2_tree_message(&hello, MESSAGE_HELLO, NO_SLICE, TREE_VERSION, 0);
    pmi2_write_u32(&hello, first);
    pmi2_write_u32(&hello, last);
    pmi2_tree_send(&tree->link, &hello);
}

struct pmi2_link *pmi2_server_child(struct pmi2_server *server, uint32_t first, uint32_t last,
                                    void *data)
{
    uint32_t at = server->child_count, i;
    struct pmi2_tree *tree;

    if (first >= last || first < server->config.first || last > server->config.last ||
        (server->config.node >= first && server->config.node < last))
        return NULL;
    for (i = 0; i < server->child_count; i++) {
        if (first < server->children[i]->last && server->children[i]->first < last)
            return NULL; /* both would answer for the same nodes */
        if (server->children[i]->first > first && at == server->child_count)
            at = i;
    }
    if (server->child_count == server->child_capacity) {
        uint32_t capacity = server->child_capacity == 0 ? 4 : server->child_capacity * 2;
        struct pmi2_tree **more = realloc(server->children, capacity * sizeof(struct pmi2_tree *));

        if (more == NULL)
            return NULL;
        server->children = more;
        server->child_capacity = capacity;
    }
    tree = tree_new(server, LINK_CHILD, first, last, data);
    if (tree == NULL)
        return NULL;
    tree->number = ++server->child_number;
    memmove(&server->children[at + 1], &server->children[at],
            (server->child_count - at) * sizeof(struct pmi2_tree *));
    server->children[at] = tree;
    server->child_count++;
    greet(tree, first, last);
    return &tree->link;
}

struct pmi2_link *pmi2_server_parent(struct pmi2_server *server, void *data)
{
    if (server->config.root || server->parent != NULL || server->orphaned)
        return NULL;
    server->parent = tree_new(server, LINK_PARENT, server->config.first, server->config.last, data);
    if (server->parent == NULL)
        return NULL;
    greet(server->parent, server->config.first, server->config.last);
    return &server->parent->link;
}

/* ---- time -------------------------------------------------------------------------------------
 */

void pmi2_server_time(struct pmi2_server *server, uint64_t now)
{
    struct port_link *node, *next;
    uint32_t i;

    if (now <= server->now)
        return;
    server->now = now;
    for (node = server->unauthenticated_list.next; node != &server->unauthenticated_list;
         node = node->next) {
        struct pmi2_unauthenticated_client *unauthenticated =
            port_list_of(node, struct pmi2_unauthenticated_client, list);

        if (unauthenticated->until > now)
            break;
        pmi2_link_close(&unauthenticated->client->link, "did not authenticate in time");
    }
    for (node = server->slow.next; node != &server->slow; node = next) {
        struct pmi2_server_client *client = port_list_of(node, struct pmi2_server_client, slow);

        next = node->next;
        if (client->slow_until > now)
            break;
        pmi2_link_close(&client->link, "does not read its replies");
        port_list_discard(&client->slow);
    }
    if (server->parent != NULL)
        pmi2_tree_time(server->parent);
    for (i = 0; i < server->child_count; i++)
        pmi2_tree_time(server->children[i]);
    pmi2_server_run(server);
}

static uint64_t earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

uint64_t pmi2_server_deadline(const struct pmi2_server *server)
{
    uint64_t deadline = UINT64_MAX;
    uint32_t i;

    if (!port_list_empty(&server->unauthenticated_list))
        deadline = earlier(deadline, port_list_of(server->unauthenticated_list.next,
                                                  struct pmi2_unauthenticated_client, list)
                                         ->until);
    if (!port_list_empty(&server->slow))
        deadline = earlier(
            deadline, port_list_of(server->slow.next, struct pmi2_server_client, slow)->slow_until);
    if (server->parent != NULL)
        deadline = earlier(deadline, pmi2_tree_deadline(server->parent));
    for (i = 0; i < server->child_count; i++)
        deadline = earlier(deadline, pmi2_tree_deadline(server->children[i]));
    return deadline;
}

void pmi2_server_counters(const struct pmi2_server *server, struct pmi2_counters *counters)
{
    *counters = server->counters;
}

bool pmi2_server_committed(const struct pmi2_server *server, const char *job, struct pmi2_slice key,
                           struct pmi2_slice *value)
{
    const struct pmi2_job *of =
        pmi2_job_find((struct pmi2_server *)server, (struct pmi2_slice){job, strlen(job)});

    return of != NULL && pmi2_space_get(of->space, of->epoch, key, value);
}
