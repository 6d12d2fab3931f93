/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hash table by text, chained through the entries. Several entries may have equal keys: the one
 * inserted last is found first. Nothing depends on addresses.
 */
#ifndef JACQUARD_PMI2_MAP_H
#define JACQUARD_PMI2_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include "pmi2/wire.h"

struct pmi2_map_entry {
    struct pmi2_map_entry *next;
    const char *key;
    uint32_t length, hash;
};

struct pmi2_map {
    struct pmi2_map_entry **buckets;
    uint32_t mask, count;
    uint64_t seed; /* what a client knows of it would let it choose colliding keys */
};

void pmi2_map_init(struct pmi2_map *map, uint64_t seed);
void pmi2_map_fini(struct pmi2_map *map); /* the table, not the entries */
/* Room for so many entries altogether; without it the table is slower, but right. False: there is
 * no table yet, and no memory for one: nothing can be inserted. */
bool pmi2_map_reserve(struct pmi2_map *map, uint32_t count);
struct pmi2_map_entry *pmi2_map_find(const struct pmi2_map *map, struct pmi2_slice key);
/* The next older entry of the same key. */
struct pmi2_map_entry *pmi2_map_older(const struct pmi2_map_entry *entry);
/* key and length are set. After a reserve that succeeded. */
void pmi2_map_insert(struct pmi2_map *map, struct pmi2_map_entry *entry);
void pmi2_map_remove(struct pmi2_map *map, struct pmi2_map_entry *entry);

#endif
