/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the dialects of the API have in common: arguments are checked, the client is looked up. */
#ifndef JACQUARD_PMI2_API_H
#define JACQUARD_PMI2_API_H

#include "client.h"

int pmi2_api_init(int *spawned, int *size, int *rank, int *appnum, bool v1);
/* What every dialect of a spawn gives, in this order; no counts of arguments, records as in the
 * shipped header, and no id is asked for. */
struct pmi2_spawn_args pmi2_api_spawn_args(int count, const char *const *commands,
                                           const char ***argvs, const int *processes,
                                           const int *info_sizes, const void *info, int preput_size,
                                           const void *preput, int *errors);
int pmi2_api_spawn(struct pmi2_spawn_args *args);
int pmi2_api_int_array(bool node, const char *name, int *array, int arraylen, int *outlen,
                       int *found, bool wait);
int pmi2_api_publish(const char *name, const char *key, const char *value, const char *port);
int pmi2_api_lookup(const char *name, const char *key, const char *value, char *port, int length);
int pmi2_api_unpublish(const char *name, const char *key, const char *value);

#endif
