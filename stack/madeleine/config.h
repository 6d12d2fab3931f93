/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The configuration language of Madeleine III: its tree, and what a session takes from it. */
#ifndef JACQUARD_MADELEINE_CONFIG_H
#define JACQUARD_MADELEINE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "madeleine/api.h"

enum { MAD_CONFIG_ERROR_MAX = 320 };

enum mad_config_kind {
    MAD_CONFIG_MAP, /* { key : object; … }: `first` is a list of entries with keys */
    MAD_CONFIG_LIST, /* (object, …) */
    MAD_CONFIG_ID, /* `text`, and perhaps a modifier */
    MAD_CONFIG_STRING,
    MAD_CONFIG_INTEGER, /* low == high */
    MAD_CONFIG_RANGE /* low..high, both included */
};

struct mad_config {
    enum mad_config_kind kind;
    char *key; /* of an entry, else NULL */
    char *text;
    long low, high;
    struct mad_config *first, *next; /* children; the next of the same parent */
    struct mad_config *modifier; /* children of name[…] or name(…) */
    bool brackets; /* the modifier has [ ] */
    int line, column; /* where it begins, from 1 */
};

/* `error` is one line "file:line:column: text"; NULL is returned then. */
struct mad_config *mad_config_parse(const char *text, size_t length, const char *file, char *error);
void mad_config_free(struct mad_config *tree);
/* The entry of a map, or NULL. */
const struct mad_config *mad_config_find(const struct mad_config *map, const char *key);

/* ---- what a session takes from it ---- */

struct mad_plan_channel {
    char name[32];
    int network;
    int check; /* -1: that of the session */
    bool *member; /* by rank */
    bool is_part; /* of a virtual channel */
    bool is_rail; /* of a multiplexed channel */
};
enum { MAD_PLAN_PARTS_MAX = 16, MAD_PLAN_RAILS_MAX = 8 };
struct mad_plan_virtual {
    char name[32];
    int count, parts[MAD_PLAN_PARTS_MAX]; /* channels */
    bool is_rail;
};
struct mad_plan_multiplexed {
    char name[32];
    int rail_count, sub_count;
    char rails[MAD_PLAN_RAILS_MAX][32]; /* channels or virtual channels */
    char (*subs)[32];
    bool aggregate;
};
struct mad_plan_network {
    char name[32], driver[16];
    char *selector; /* or NULL */
    const struct mad_config *hosts;
    bool used;
};
struct mad_plan {
    int size; /* processes */
    char **hosts; /* of each process */
    int network_count, channel_count;
    struct mad_plan_network *networks;
    struct mad_plan_channel *channels;
    int virtual_count;
    struct mad_plan_virtual *virtuals;
    int multiplexed_count;
    struct mad_plan_multiplexed *multiplexed;
    char **parameters; /* "MAD_TCP_EAGER=1" … NULL */
    struct mad_config *trees[8]; /* the file and those that it includes */
    int tree_count;
    /* While it is made: */
    const char *file;
    char *error;
};

/* Reads a file that is included, as mad_plan_read does with the first one. NULL: *error tells. */
typedef char *(*mad_plan_reader)(const char *file, size_t *length, char *error);
char *mad_plan_file(const char *file, size_t *length, char *error);
/* NULL: `error` is one line, with the place if there is one. */
struct mad_plan *mad_plan_make(const char *file, mad_plan_reader reader, char *error);
void mad_plan_free(struct mad_plan *plan);

#endif
