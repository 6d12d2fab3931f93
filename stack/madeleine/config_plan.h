/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files share that turn a configuration into a session. */
#ifndef JACQUARD_MADELEINE_CONFIG_PLAN_H
#define JACQUARD_MADELEINE_CONFIG_PLAN_H

#include "config.h"

enum { MAD_PLAN_NAME_MAX = 24, MAD_PLAN_VIRTUALS_MAX = 32, MAD_PLAN_SUBS_MAX = 255 };

/* What is wrong, and where; always false. `name` may be empty. */
bool mad_plan_refuse(const struct mad_plan *plan, const struct mad_config *at, const char *text,
                     const char *name);
bool mad_plan_no_memory(const struct mad_plan *plan);
/* All keys of a map are in the list, which ends with NULL, and none comes twice. */
bool mad_plan_check_keys(const struct mad_plan *plan, const struct mad_config *map,
                         const char *const *keys);
bool mad_plan_is_text(const struct mad_config *object);
/* Whether it is a name of at most MAD_PLAN_NAME_MAX characters. */
bool mad_plan_is_name(const struct mad_config *object);
/* The name of an entry. False: it is missing, or no name. */
bool mad_plan_read_name(const struct mad_plan *plan, const struct mad_config *map, const char *key,
                        char *name, size_t size);
/* The first of several objects: those of a list, or the object itself. */
const struct mad_config *mad_plan_first(const struct mad_config *object);
const struct mad_config *mad_plan_next(const struct mad_config *list,
                                       const struct mad_config *object);

/* Channels above others (config_above.c). */
bool mad_plan_read_virtual(struct mad_plan *plan, const struct mad_config *map);
bool mad_plan_read_multiplexed(struct mad_plan *plan, const struct mad_config *map);

#endif
