/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* PMI2_keyval_t in place of MPID_Info, as in MPICH since 4.1. */
#define PMI2_KEYVAL_API
#include "pmi2.h"

#include "api.h"

_Static_assert(sizeof(void *) != 8 ||
                   (sizeof(PMI2_keyval_t) == 16 && offsetof(PMI2_keyval_t, val) == 8),
               "layout of MPICH's binaries");

/* Both are arrays of records here. */
static struct pmi2_spawn_record record(const struct pmi2_spawn_args *args, int i, int j)
{
    const PMI2_keyval_t *const *infos = args->info, *preput = args->preput, *vector;

    vector = i < 0 ? preput : infos != NULL ? infos[i] : NULL;
    if (vector == NULL)
        return (struct pmi2_spawn_record){NULL, NULL};
    return (struct pmi2_spawn_record){vector[j].key, vector[j].val};
}

int PMI2_Job_Spawn(int count, const char *cmds[], int argcs[], const char **argvs[],
                   const int maxprocs[], const int info_keyval_sizes[],
                   const PMI2_keyval_t *info_keyval_vectors[], int preput_keyval_size,
                   const PMI2_keyval_t preput_keyval_vector[], char jobId[], int jobIdSize,
                   int errors[])
{
    PORT_CALL(__func__);
    struct pmi2_spawn_args args =
        pmi2_api_spawn_args(count, cmds, argcs != NULL ? argvs : NULL, maxprocs, info_keyval_sizes,
                            info_keyval_vectors, preput_keyval_size, preput_keyval_vector, errors);

    args.argcs = argcs;
    args.record = record;
    args.jobid = jobId;
    args.jobid_size = jobIdSize;
    return pmi2_result(pmi2_api_spawn(&args), __func__);
}

static const char *key_of(const PMI2_keyval_t *info)
{
    return info != NULL ? info->key : NULL;
}

static const char *value_of(const PMI2_keyval_t *info)
{
    return info != NULL ? info->val : NULL;
}

int PMI2_Nameserv_publish(const char service_name[], const PMI2_keyval_t *info_ptr,
                          const char port[])
{
    PORT_CALL(__func__);

    return pmi2_result(pmi2_api_publish(service_name, key_of(info_ptr), value_of(info_ptr), port),
                       __func__);
}

int PMI2_Nameserv_lookup(const char service_name[], const PMI2_keyval_t *info_ptr, char port[],
                         int portLen)
{
    PORT_CALL(__func__);

    return pmi2_result(
        pmi2_api_lookup(service_name, key_of(info_ptr), value_of(info_ptr), port, portLen),
        __func__);
}

int PMI2_Nameserv_unpublish(const char service_name[], const PMI2_keyval_t *info_ptr)
{
    PORT_CALL(__func__);

    return pmi2_result(pmi2_api_unpublish(service_name, key_of(info_ptr), value_of(info_ptr)),
                       __func__);
}
