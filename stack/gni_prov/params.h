/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The values of "domain ops 1", by their numbers. */
#ifndef GNIP_PARAMS_H
#define GNIP_PARAMS_H

#include <rdma/providers/fi_prov.h>

#include "internal.h"

/* How it is called in the environment, behind GNIX_ or FI_GNI_. */
const char *gnip_params_name(dom_ops_val_t which, enum fi_param_type *type, const char **meaning);
/* `value` points to what the type of the value says. 0 or -FI_EINVAL. */
int gnip_params_set(struct gnip_params *params, dom_ops_val_t which, const void *value);
int gnip_params_get(const struct gnip_params *params, dom_ops_val_t which, void *value);
/* Bytes that `value` must have; 0: a string, or no such value. */
size_t gnip_params_bytes(dom_ops_val_t which);
/* A name of GNI_MR_CACHE as a text that stays; `bytes` with its zero or without. NULL: unknown. */
const char *gnip_params_cache_of(const char *name, size_t bytes);

#endif
