/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A process without a process manager is a job of one process with its own key-value space. */
#include <stdlib.h>
#include <string.h>

#include "client.h"

struct pmi2_own_pair { /* latest first */
    struct pmi2_own_pair *next;
    bool committed;
    char *value;
    char key[]; /* and the value behind it */
};

int pmi2_alone_put(struct pmi2_client *client, const char *key, const char *value)
{
    size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
    struct pmi2_own_pair *pair = malloc(sizeof(*pair) + key_bytes + value_bytes);

    if (pair == NULL)
        return PMI2_ERR_NOMEM;
    memcpy(pair->key, key, key_bytes);
    pair->value = pair->key + key_bytes;
    memcpy(pair->value, value, value_bytes);
    pair->committed = false;
    port_mutex_lock(&client->lock);
    pair->next = client->own;
    client->own = pair;
    port_mutex_unlock(&client->lock);
    return PMI2_SUCCESS;
}

/* Pairs that a later one replaces stay, so that what a reader has found lasts. */
void pmi2_alone_commit(struct pmi2_client *client)
{
    struct pmi2_own_pair *pair;

    port_mutex_lock(&client->lock);
    for (pair = client->own; pair != NULL && !pair->committed; pair = pair->next)
        pair->committed = true;
    port_mutex_unlock(&client->lock);
}

const char *pmi2_alone_get(struct pmi2_client *client, const char *key)
{
    struct pmi2_own_pair *pair;

    port_mutex_lock(&client->lock);
    for (pair = client->own; pair != NULL; pair = pair->next)
        if (pair->committed && strcmp(pair->key, key) == 0)
            break;
    port_mutex_unlock(&client->lock);
    return pair != NULL ? pair->value : NULL;
}

void pmi2_alone_free(struct pmi2_client *client)
{
    struct pmi2_own_pair *pair, *next;

    for (pair = client->own; pair != NULL; pair = next) {
        next = pair->next;
        free(pair);
    }
    client->own = NULL;
}
