/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "map.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS_MIN 8u
#define BUCKETS_MAX (1u << 28)

void pmi2_map_init(struct pmi2_map *map, uint64_t seed)
{
    *map = (struct pmi2_map){.seed = seed};
}

void pmi2_map_fini(struct pmi2_map *map)
{
    free(map->buckets);
    map->buckets = NULL;
    map->mask = map->count = 0;
}

static uint64_t mix(uint64_t state, uint64_t word)
{
    state = (state ^ word) * 0x9e3779b97f4a7c15ull;
    return state ^ state >> 29;
}

static uint32_t hash(uint64_t seed, struct pmi2_slice key)
{
    uint64_t state = mix(seed, key.length), word;
    size_t at = 0;

    for (; at + sizeof(word) <= key.length; at += sizeof(word)) {
        memcpy(&word, key.at + at, sizeof(word));
        state = mix(state, word);
    }
    word = 0;
    if (at < key.length)
        memcpy(&word, key.at + at, key.length - at);
    return (uint32_t)(mix(mix(state, word), seed) >> 32);
}

/* Twice the buckets; chains keep their order, so that newer entries stay in front. */
static bool grow(struct pmi2_map *map)
{
    uint32_t old = map->buckets == NULL ? 0 : map->mask + 1,
             size = old == 0 ? BUCKETS_MIN : old * 2, bucket;
    struct pmi2_map_entry **buckets = calloc(size, sizeof(*buckets));

    if (buckets == NULL)
        return false;
    for (bucket = 0; bucket < old; bucket++) {
        struct pmi2_map_entry **low = &buckets[bucket], **high = &buckets[bucket + old], *entry;

        for (entry = map->buckets[bucket]; entry != NULL; entry = entry->next) {
            if (entry->hash & old) {
                *high = entry;
                high = &entry->next;
            } else {
                *low = entry;
                low = &entry->next;
            }
        }
        *low = *high = NULL;
    }
    free(map->buckets);
    map->buckets = buckets;
    map->mask = size - 1;
    return true;
}

bool pmi2_map_reserve(struct pmi2_map *map, uint32_t count)
{
    while ((map->buckets == NULL || map->mask < count) && map->mask < BUCKETS_MAX - 1)
        if (!grow(map))
            return map->buckets != NULL;
    return true;
}

static bool matches(const struct pmi2_map_entry *entry, uint32_t hashed, struct pmi2_slice key)
{
    return entry->hash == hashed && entry->length == key.length &&
           memcmp(entry->key, key.at, key.length) == 0;
}

struct pmi2_map_entry *pmi2_map_find(const struct pmi2_map *map, struct pmi2_slice key)
{
    uint32_t hashed;
    struct pmi2_map_entry *entry;

    if (map->count == 0 || key.length == 0)
        return NULL;
    hashed = hash(map->seed, key);
    for (entry = map->buckets[hashed & map->mask]; entry != NULL; entry = entry->next)
        if (matches(entry, hashed, key))
            return entry;
    return NULL;
}

struct pmi2_map_entry *pmi2_map_older(const struct pmi2_map_entry *entry)
{
    struct pmi2_slice key = {entry->key, entry->length};
    struct pmi2_map_entry *older;

    for (older = entry->next; older != NULL; older = older->next)
        if (matches(older, entry->hash, key))
            return older;
    return NULL;
}

void pmi2_map_insert(struct pmi2_map *map, struct pmi2_map_entry *entry)
{
    struct pmi2_map_entry **bucket;

    if (map->count > map->mask && map->mask < BUCKETS_MAX - 1)
        grow(map); /* or stay as it is: slower */
    entry->hash = hash(map->seed, (struct pmi2_slice){entry->key, entry->length});
    bucket = &map->buckets[entry->hash & map->mask];
    entry->next = *bucket;
    *bucket = entry;
    map->count++;
}

void pmi2_map_remove(struct pmi2_map *map, struct pmi2_map_entry *entry)
{
    struct pmi2_map_entry **at = &map->buckets[entry->hash & map->mask];

    assert(map->count > 0);
    while (*at != entry) {
        assert(*at != NULL); /* it is in this map */
        at = &(*at)->next;
    }
    *at = entry->next;
    map->count--;
}
