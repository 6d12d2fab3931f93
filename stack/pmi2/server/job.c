/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Jobs as one server knows them, and the ranks of its node. */
#include <assert.h>
#include "internal.h"

static bool id_part(const char **at)
{
    uint64_t value = 0;
    const char *first = *at;

    while (**at >= '0' && **at <= '9' && value <= UINT32_MAX)
        value = value * 10 + (uint64_t)(*(*at)++ - '0');
    return *at > first && value <= UINT32_MAX && (*first != '0' || *at == first + 1);
}

bool pmi2_job_id_valid(const char *id)
{
    return id_part(&id) && *id++ == '.' && id_part(&id) && *id == '\0';
}

struct pmi2_job *pmi2_job_find(struct pmi2_server *server, struct pmi2_slice id)
{
    struct pmi2_map_entry *entry = pmi2_map_find(&server->jobs, id);

    return entry == NULL ? NULL : port_list_of(entry, struct pmi2_job, entry);
}

struct pmi2_rank *pmi2_job_rank(struct pmi2_job *job, uint32_t rank)
{
    uint32_t low = 0, high = job->rank_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (job->ranks[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < job->rank_count && job->ranks[low].rank == rank ? &job->ranks[low] : NULL;
}

struct pmi2_member *pmi2_job_member(struct pmi2_job *job, const struct pmi2_tree *child)
{
    uint32_t i;

    for (i = 0; i < job->member_count; i++)
        if (job->members[i].child == child)
            return &job->members[i];
    return NULL;
}

/*
 * The allowed transitions. A process may end in any state. A finalized process may connect again
 * (its connection is closed but it still runs) and start anew.
 */
static bool may_follow(enum pmi2_rank_state from, enum pmi2_rank_state to)
{
    static const uint8_t next[] = {
        [PMI2_RANK_NEW] = 1u << PMI2_RANK_RUNNING | 1u << PMI2_RANK_FINALIZED |
                          1u << PMI2_RANK_ABORTED | 1u << PMI2_RANK_FAILED | 1u << PMI2_RANK_DEAD,
        [PMI2_RANK_RUNNING] = 1u << PMI2_RANK_FINALIZED | 1u << PMI2_RANK_ABORTED |
                              1u << PMI2_RANK_FAILED | 1u << PMI2_RANK_DEAD,
        [PMI2_RANK_FINALIZED] =
            1u << PMI2_RANK_RUNNING | 1u << PMI2_RANK_ABORTED | 1u << PMI2_RANK_DEAD,
        [PMI2_RANK_ABORTED] = 1u << PMI2_RANK_DEAD,
        [PMI2_RANK_FAILED] = 1u << PMI2_RANK_DEAD,
        [PMI2_RANK_DEAD] = 0,
    };

    static_assert(PMI2_RANK_DEAD < 8, "a bit for each state");
    return (next[from] & 1u << to) != 0;
}

void pmi2_rank_set(struct pmi2_rank *rank, enum pmi2_rank_state state)
{
    if (rank->state == state)
        return;
    if (rank->state == PMI2_RANK_DEAD) /* data sent before its end may arrive after it */
        return;
    assert(may_follow((enum pmi2_rank_state)rank->state, state));
    if (!may_follow((enum pmi2_rank_state)rank->state, state))
        state = PMI2_RANK_FAILED; /* its connection is not trusted any more */
    rank->state = (uint8_t)state;
    pmi2_action_due(rank->job->server, &rank->action, PMI2_ACTION_RANK_STATE);
    if (state >= PMI2_RANK_FINALIZED)
        pmi2_fence_leave(rank);
}

static struct pmi2_job *job_alloc(struct pmi2_server *server)
{
    struct pmi2_job *job = calloc(1, sizeof(*job));

    if (job == NULL)
        return NULL;
    job->server = server;
    job->action.owner = OWNER_JOB;
    job->abort_rank = PMI2_NO_RANK;
    port_list_init(&job->names);
    port_list_init(&job->cuts);
    pmi2_map_init(&job->attributes, server->jobs.seed);
    job->group = ++server->group_number;
    return job;
}

void pmi2_job_free(struct pmi2_job *job)
{
    uint32_t i;

    if (job == NULL)
        return;
    pmi2_attributes_fini(job);
    pmi2_action_forget(&job->action);
    for (i = 0; i < job->rank_count; i++) {
        pmi2_action_forget(&job->ranks[i].action);
        pmi2_chunk_drop(job->ranks[i].puts);
    }
    for (i = 0; i < job->member_count; i++) {
        pmi2_chunk_drop(job->members[i].fence);
        pmi2_chunk_drop(job->members[i].ring);
    }
    pmi2_writer_fini(&job->records);
    pmi2_writer_fini(&job->dead);
    pmi2_chunk_drop(job->abort_text);
    pmi2_space_drop(job->space);
    pmi2_facts_drop(job->facts);
    free(job->losses);
    free(job->ranks);
    free(job->members);
    free(job);
}

/* The description: that of the store, if it is the same, so that servers share one. */
static bool take_facts(struct pmi2_job *job, struct pmi2_chunk *message,
                       const struct pmi2_message_head *head)
{
    struct pmi2_space *space = job->space;

    if (space->facts == NULL) {
        space->facts = pmi2_facts_new(message);
        if (space->facts == NULL)
            return false;
        if (space->facts->info.preput_count > 0) {
            const char *at = space->facts->preput.at;
            struct pmi2_chunk *chunk = pmi2_chunk_new(space->facts->preput.length);
            enum pmi2_commit commit;

            if (chunk == NULL)
                return false;
            memcpy(chunk->bytes, at, space->facts->preput.length);
            chunk->length = space->facts->preput.length;
            commit = pmi2_space_commit(space, chunk, 0, space->facts->info.preput_count, 0);
            pmi2_chunk_drop(chunk);
            if (commit != COMMIT_DONE)
                return false;
        }
    }
    if (space->facts->digest != head->digest)
        return false;
    job->facts = space->facts;
    job->facts->users++;
    job->epoch = job->facts->info.preput_count > 0 ? 1 : 0;
    return true;
}

static bool make_ranks(struct pmi2_job *job)
{
    uint32_t node = job->server->config.node, begin, i;

    if (node == PMI2_NO_NODE)
        return true;
    job->rank_count = pmi2_facts_within(job->facts, node, node + 1, &begin);
    job->ranks = calloc(job->rank_count + (size_t)1, sizeof(*job->ranks));
    if (job->ranks == NULL) {
        job->rank_count = 0;
        return false;
    }
    for (i = 0; i < job->rank_count; i++) {
        job->ranks[i].job = job;
        job->ranks[i].rank = job->facts->ranks[begin + i];
        job->ranks[i].action.owner = OWNER_RANK;
    }
    return true;
}

/* How many ranks this server or one below answers for. */
static uint32_t make_members(struct pmi2_job *job)
{
    struct pmi2_server *server = job->server;
    uint32_t reached = job->rank_count, i, within, begin;

    job->members = calloc(server->child_count + (size_t)1, sizeof(*job->members));
    if (job->members == NULL)
        return 0;
    for (i = 0; i < server->child_count; i++) {
        within = pmi2_facts_within(job->facts, server->children[i]->first,
                                   server->children[i]->last, &begin);
        if (within == 0 || server->children[i]->link.closing)
            continue;
        job->members[job->member_count++].child = server->children[i];
        reached += within;
    }
    return reached;
}

static uint32_t lower(uint32_t one, uint32_t other)
{
    return one < other ? one : other;
}

/* A server below was lost while the job was on its way: nodes that neither this server nor one
 * below it answers for. */
static void lose_the_rest(struct pmi2_job *job)
{
    struct pmi2_server *server = job->server;
    uint32_t at = server->config.first, next, i;

    while (at < server->config.last) {
        uint32_t covered = at + (at == server->config.node);

        next = at < server->config.node ? lower(server->config.node, server->config.last)
                                        : server->config.last;
        for (i = 0; i < server->child_count; i++) {
            if (at >= server->children[i]->first && at < server->children[i]->last)
                covered = server->children[i]->last;
            else if (at < server->children[i]->first)
                next = lower(next, server->children[i]->first);
        }
        if (covered == at) {
            pmi2_tree_lose(server, job_id(job), at, next);
            covered = next;
        }
        at = covered;
    }
}

struct pmi2_job *pmi2_job_new(struct pmi2_server *server, struct pmi2_chunk *message)
{
    struct pmi2_message_head head;
    struct pmi2_job *job = job_alloc(server);
    uint32_t reached, expected, begin;

    if (job == NULL)
        return NULL;
    if (!pmi2_head_read(message->bytes, message->length, &head) ||
        pmi2_job_find(server, head.id) != NULL || !pmi2_map_reserve(&server->jobs, 1))
        goto failed;
    job->space = pmi2_space_use(server->store, head.id);
    if (job->space == NULL || !take_facts(job, message, &head) || !make_ranks(job))
        goto failed;
    expected = pmi2_facts_within(job->facts, server->config.first, server->config.last, &begin);
    reached = make_members(job);
    if (job->members == NULL || (server->config.root && reached != job->facts->info.size))
        goto failed;
    job->entry.key = job->facts->id;
    job->entry.length = (uint32_t)head.id.length;
    pmi2_map_insert(&server->jobs, &job->entry);
    port_list_append(&server->job_list, &job->list);
    if (job->rank_count > 0)
        pmi2_action_due(server, &job->action, PMI2_ACTION_JOB);
    pmi2_log(server, 1, "job %s: %u ranks, %u on this node, %u servers below", job->facts->id,
             job->facts->info.size, job->rank_count, job->member_count);
    if (reached != expected)
        lose_the_rest(job);
    return job;
failed:
    pmi2_job_free(job);
    return NULL;
}

struct pmi2_job *pmi2_job_foreign(struct pmi2_server *server, struct pmi2_slice id)
{
    struct pmi2_job *job = job_alloc(server);

    if (job == NULL)
        return NULL;
    job->space = pmi2_map_reserve(&server->jobs, 1) ? pmi2_space_use(server->store, id) : NULL;
    if (job->space == NULL) {
        pmi2_job_free(job);
        return NULL;
    }
    job->foreign = true;
    job->entry.key = job->space->id;
    job->entry.length = (uint32_t)id.length;
    pmi2_map_insert(&server->jobs, &job->entry);
    port_list_append(&server->job_list, &job->list);
    server->foreign_count++;
    return job;
}

void pmi2_job_end(struct pmi2_job *job)
{
    struct pmi2_server *server = job->server;
    struct pmi2_writer message = {NULL, false};
    uint32_t i;

    if (job->ended)
        return;
    job->ended = true;
    pmi2_map_remove(&server->jobs, &job->entry);
    port_list_discard(&job->list);
    pmi2_tree_message(&message, MESSAGE_JOB_END, job_id(job), 0, 0);
    pmi2_tree_send_all(job, &message);
    for (i = 0; i < job->rank_count; i++) {
        struct pmi2_rank *rank = &job->ranks[i];
        struct pmi2_server_client *client = rank->client;

        if (client != NULL) {
            pmi2_client_unbind(client);
            pmi2_link_close(&client->link, "the job has ended");
        }
        pmi2_action_forget(&rank->action);
    }
    for (i = 0; i < job->member_count; i++)
        job->members[i].child = NULL;
    pmi2_names_end(job);
    pmi2_connect_end(job);
    if (job->foreign)
        server->foreign_count--;
    if (job->rank_count > 0)
        pmi2_action_due(server, &job->action, PMI2_ACTION_JOB_END);
    if (job->action.due == 0)
        pmi2_job_free(job);
    else
        port_list_append(&server->ended, &job->list);
}

/* ---- from outside, at the root ----------------------------------------------------------------
 */

static bool texts_valid(const struct pmi2_text_pair *texts, uint32_t count, uint32_t value_max)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (pmi2_key_check((struct pmi2_slice){texts[i].key, strlen(texts[i].key)}) != 0 ||
            strlen(texts[i].value) > value_max)
            return false;
    return true;
}

static bool info_valid(const struct pmi2_job_info *info)
{
    uint64_t total = 0;
    uint32_t i;

    if (info->size == 0 || info->apps == 0 || info->apps > info->size ||
        info->launch_bytes > MESSAGE_MAX / 2 || (info->id != NULL && !pmi2_job_id_valid(info->id)))
        return false;
    for (i = 0; i < info->apps; i++)
        total += info->app_size[i];
    return total == info->size &&
           texts_valid(info->attributes, info->attribute_count, PMI2_FRAME_MAX / 2) &&
           texts_valid(info->preput, info->preput_count, PMI2_VALUE_MAX);
}

const char *pmi2_server_job_add(struct pmi2_server *server, const struct pmi2_job_info *info)
{
    char next[32];
    const char *id = info->id;
    struct pmi2_chunk *message;
    struct pmi2_job *job, *spawner;
    uint32_t i;

    if (!server->config.root || !info_valid(info))
        return NULL;
    if (id == NULL) {
        do
            snprintf(next, sizeof(next), "%u.%u", server->job_base, server->job_number++);
        while (pmi2_job_find(server, (struct pmi2_slice){next, strlen(next)}) != NULL);
        id = next;
    }
    message = pmi2_facts_message(info, id);
    if (message == NULL)
        return NULL;
    job = pmi2_job_new(server, message);
    for (i = 0; job != NULL && i < job->member_count; i++)
        pmi2_link_share(&job->members[i].child->link, message, 0, message->length);
    pmi2_chunk_drop(message);
    if (job == NULL)
        return NULL;
    if (info->spawner != NULL) {
        spawner = pmi2_job_find(server, (struct pmi2_slice){info->spawner, strlen(info->spawner)});
        if (spawner != NULL)
            pmi2_connect_join(job, spawner);
    }
    pmi2_server_run(server);
    return job->facts->id;
}

void pmi2_server_job_end(struct pmi2_server *server, const char *job)
{
    struct pmi2_job *of = pmi2_job_find(server, (struct pmi2_slice){job, strlen(job)});

    if (of == NULL || !server->config.root)
        return;
    pmi2_log(server, 1, "job %s: ended", of->entry.key);
    pmi2_job_end(of);
    pmi2_server_run(server);
}

enum pmi2_rank_state pmi2_server_rank_state(const struct pmi2_server *server, const char *job,
                                            uint32_t rank)
{
    struct pmi2_job *of =
        pmi2_job_find((struct pmi2_server *)server, (struct pmi2_slice){job, strlen(job)});
    const struct pmi2_rank *known = of == NULL ? NULL : pmi2_job_rank(of, rank);

    return known == NULL ? PMI2_RANK_NEW : (enum pmi2_rank_state)known->state;
}

void pmi2_server_rank_ended(struct pmi2_server *server, const char *job, uint32_t rank)
{
    struct pmi2_job *of = pmi2_job_find(server, (struct pmi2_slice){job, strlen(job)});

    if (of != NULL)
        pmi2_rank_ended(of, rank);
    pmi2_server_run(server);
}

/* Only its node knows whether it had finalized. */
void pmi2_rank_ended(struct pmi2_job *job, uint32_t rank)
{
    struct pmi2_writer message = {NULL, false};
    struct pmi2_rank *known = pmi2_job_rank(job, rank);

    if (job->foreign || rank >= job->facts->info.size)
        return;
    if (known == NULL) {
        pmi2_tree_message(&message, MESSAGE_ENDED, job_id(job), 0, rank);
        pmi2_tree_route(job->server, job->facts->node_of[rank], &message);
    } else if (known->state != PMI2_RANK_DEAD) {
        bool finalized = known->state == PMI2_RANK_FINALIZED;

        pmi2_rank_set(known, PMI2_RANK_DEAD);
        if (!finalized)
            pmi2_loss_report(job, rank, LOSS_DEAD);
    }
}

bool pmi2_server_node_attribute(struct pmi2_server *server, const char *job, uint32_t rank,
                                const char *key, const char *value)
{
    struct pmi2_job *of = pmi2_job_find(server, (struct pmi2_slice){job, strlen(job)});
    char own[PMI2_KEY_MAX + 16];
    const char *reason;
    int length, code;

    if (of == NULL || of->foreign || (rank != PMI2_NO_RANK && pmi2_job_rank(of, rank) == NULL))
        return false;
    if (pmi2_key_check((struct pmi2_slice){key, strlen(key)}) != 0)
        return false;
    /* An attribute of one rank is stored under a name that no client can request. */
    length = rank == PMI2_NO_RANK ? snprintf(own, sizeof(own), "%s", key)
                                  : snprintf(own, sizeof(own), "%u %s", rank, key);
    code = pmi2_attribute_put(of, (struct pmi2_slice){own, (size_t)length},
                              (struct pmi2_slice){value, strlen(value)}, &reason);
    pmi2_server_run(server);
    return code == 0;
}
