/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What PMI-1 and PMI-2 share: the state of the calling process and the key-value space of its job.
 * pmi.c and pmi2.c only know these functions, so that another core can stand in their place.
 */
#ifndef JACQUARD_PMI_STATE_H
#define JACQUARD_PMI_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include "cray/host.h"

#define PMI_KEY_BYTES 64 /* with the terminating zero */
#define PMI_VALUE_BYTES 1024

/* The caller when it has initialised PMI; NULL otherwise. */
struct cray_process *pmi_self(void);
struct cray_process *pmi_start(void);
void pmi_stop(struct cray_process *self);

uint32_t pmi_local_count(const struct cray_process *self);
/* Ranks of the caller's node, ascending: at most `max` are written, the number of all is returned.
 */
uint32_t pmi_local_ranks(const struct cray_process *self, int *ranks, uint32_t max);
/* "(vector,(0,4,2))": which ranks share a node, as text for PMI_process_mapping. False: too long.
 */
bool pmi_mapping(const struct cray_process *self, char *text, size_t size);

/* ---- key-value space (kvs.c) ----------------------------------------------------------------- */

enum pmi_kvs_status {
    PMI_KVS_OK,
    PMI_KVS_NO_MEMORY,
    PMI_KVS_BAD_KEY,
    PMI_KVS_LONG_KEY,
    PMI_KVS_LONG_VALUE
};

/* Keeps the pair for pmi_kvs_publish. */
enum pmi_kvs_status pmi_kvs_put(struct cray_process *self, const char *key, const char *value);
enum pmi_kvs_status pmi_kvs_publish(struct cray_process *self);
const char *pmi_kvs_get(const struct cray_process *self, const char *key); /* NULL: none */
void pmi_kvs_free(struct pmi_kvs *kvs);
void pmi_state_free(struct pmi_state *state);

/* Pairs that were put and not published. */
struct pmi_pair {
    struct pmi_pair *next;
    char key[PMI_KEY_BYTES];
    char value[PMI_VALUE_BYTES];
};

struct pmi_state {
    struct pmi_pair *unpublished, **unpublished_end;
    bool started;
};

#endif
