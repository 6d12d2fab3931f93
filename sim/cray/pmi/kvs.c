/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The key-value space of a job: a hash table with chains; later values replace earlier ones. */
#include <stdlib.h>
#include <string.h>

#include "pmi_state.h"

struct pmi_kvs {
    struct pmi_pair **heads;
    size_t buckets, count;
};

static size_t hash(const char *key)
{
    uint64_t h = 0xcbf29ce484222325ull;

    for (; *key != '\0'; key++)
        h = (h ^ (unsigned char)*key) * 0x100000001b3ull;
    return (size_t)h;
}

static struct pmi_pair **place(const struct pmi_kvs *kvs, const char *key)
{
    struct pmi_pair **link = &kvs->heads[hash(key) % kvs->buckets];

    while (*link != NULL && strcmp((*link)->key, key) != 0)
        link = &(*link)->next;
    return link;
}

static bool grow(struct pmi_kvs *kvs)
{
    struct pmi_kvs bigger = {.buckets = kvs->buckets * 2, .count = kvs->count};
    struct pmi_pair *pair, *next;
    size_t i;

    bigger.heads = calloc(bigger.buckets, sizeof(*bigger.heads));
    if (bigger.heads == NULL)
        return false;
    for (i = 0; i < kvs->buckets; i++) {
        for (pair = kvs->heads[i]; pair != NULL; pair = next) {
            next = pair->next;
            pair->next = NULL;
            *place(&bigger, pair->key) = pair;
        }
    }
    free(kvs->heads);
    *kvs = bigger;
    return true;
}

static struct pmi_kvs *kvs_of(struct cray_job *job)
{
    struct pmi_kvs *kvs = job->kvs;

    if (kvs != NULL)
        return kvs->count < 2 * kvs->buckets || grow(kvs) ? kvs : NULL;
    kvs = calloc(1, sizeof(*kvs));
    if (kvs == NULL)
        return NULL;
    kvs->buckets = 64;
    kvs->heads = calloc(kvs->buckets, sizeof(struct pmi_pair *));
    if (kvs->heads == NULL) {
        free(kvs);
        return NULL;
    }
    job->kvs = kvs;
    return kvs;
}

void pmi_kvs_free(struct pmi_kvs *kvs)
{
    struct pmi_pair *pair, *next;
    size_t i;

    if (kvs == NULL)
        return;
    for (i = 0; i < kvs->buckets; i++) {
        for (pair = kvs->heads[i]; pair != NULL; pair = next) {
            next = pair->next;
            free(pair);
        }
    }
    free(kvs->heads);
    free(kvs);
}

enum pmi_kvs_status pmi_kvs_put(struct cray_process *self, const char *key, const char *value)
{
    struct pmi_pair *pair;

    if (key[0] == '\0')
        return PMI_KVS_BAD_KEY;
    if (strlen(key) >= PMI_KEY_BYTES)
        return PMI_KVS_LONG_KEY;
    if (strlen(value) >= PMI_VALUE_BYTES)
        return PMI_KVS_LONG_VALUE;
    pair = calloc(1, sizeof(*pair));
    if (pair == NULL)
        return PMI_KVS_NO_MEMORY;
    memcpy(pair->key, key, strlen(key) + 1);
    memcpy(pair->value, value, strlen(value) + 1);
    *self->pmi->unpublished_end = pair;
    self->pmi->unpublished_end = &pair->next;
    return PMI_KVS_OK;
}

enum pmi_kvs_status pmi_kvs_publish(struct cray_process *self)
{
    struct pmi_state *state = self->pmi;
    struct pmi_pair *pair, **link;
    struct pmi_kvs *kvs;

    while ((pair = state->unpublished) != NULL) {
        kvs = kvs_of(self->job);
        if (kvs == NULL)
            return PMI_KVS_NO_MEMORY;
        state->unpublished = pair->next;
        link = place(kvs, pair->key);
        if (*link != NULL) {
            memcpy((*link)->value, pair->value, sizeof(pair->value));
            free(pair);
        } else {
            pair->next = NULL;
            *link = pair;
            kvs->count++;
        }
    }
    state->unpublished_end = &state->unpublished;
    return PMI_KVS_OK;
}

const char *pmi_kvs_get(const struct cray_process *self, const char *key)
{
    const struct pmi_pair *pair = self->job->kvs != NULL ? *place(self->job->kvs, key) : NULL;

    return pair != NULL ? pair->value : NULL;
}
