/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The draft's prototypes, under symbols of their own. */
#define PMI2_DRAFT_API
#include "pmi2.h"

#include "api.h"

/* A manager that is older than 2 is an error, whatever PMI2X_FALLBACK_V1 says. */
int PMI2_Init(int *spawned, int *size, int *rank, int *appnum, int *version, int *subversion)
{
    PORT_CALL(__func__);
    int code, there[2];

    if (version == NULL || subversion == NULL)
        return pmi2_result(PMI2_ERR_INVALID_ARG, __func__);
    code = pmi2_api_init(spawned, size, rank, appnum, false);
    if (PMI2X_Server_version(&there[0], &there[1]) == PMI2_SUCCESS && there[0] != 0) {
        *version = there[0];
        *subversion = there[1];
    } else if (code == PMI2_SUCCESS) {
        *version = PMI2X_VERSION; /* no manager: the library's own */
        *subversion = PMI2X_SUBVERSION;
    }
    return pmi2_result(code, __func__);
}

int PMI2_Job_Spawn(int count, const char *cmds[], const char **argvs[], const int maxprocs[],
                   const int info_keyval_sizes[], const struct MPID_Info *info_keyval_vectors[],
                   int preput_keyval_size, const struct MPID_Info *preput_keyval_vector[],
                   char jobId[], int jobIdSize, int errors[])
{
    PORT_CALL(__func__);
    struct pmi2_spawn_args args =
        pmi2_api_spawn_args(count, cmds, argvs, maxprocs, info_keyval_sizes, info_keyval_vectors,
                            preput_keyval_size, preput_keyval_vector, errors);

    args.jobid = jobId;
    args.jobid_size = jobIdSize;
    return pmi2_result(pmi2_api_spawn(&args), __func__);
}

int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int arraylen, int *outlen,
                                  int *flag, int waitFor)
{
    PORT_CALL(__func__);

    return pmi2_result(pmi2_api_int_array(true, name, array, arraylen, outlen, flag, waitFor != 0),
                       __func__);
}
