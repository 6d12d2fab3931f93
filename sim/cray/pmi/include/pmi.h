/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PMI-1, the Process Management Interface of MPICH's lineage, with the extensions of Cray's
 * library. In simulation it answers from the job that the calling rank belongs to; a program that
 * nobody launched is a job of one process.
 *
 * Every function returns PMI_SUCCESS, PMI_FAIL or a PMI_ERR_ code. Before PMI_Init (or PMI2_Init)
 * and after PMI_Finalize all but PMI_Initialized return PMI_ERR_INIT. Functions that say
 * "collective" block until every process of the job calls them.
 */
#ifndef JACQUARD_PMI_H
#define JACQUARD_PMI_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#ifndef PMI_VERSION
#define PMI_VERSION 1
#define PMI_SUBVERSION 1
#endif

#define PMI_SUCCESS 0
#define PMI_FAIL -1
#define PMI_ERR_INIT 1
#define PMI_ERR_NOMEM 2
#define PMI_ERR_INVALID_ARG 3
#define PMI_ERR_INVALID_KEY 4
#define PMI_ERR_INVALID_KEY_LENGTH 5
#define PMI_ERR_INVALID_VAL 6
#define PMI_ERR_INVALID_VAL_LENGTH 7
#define PMI_ERR_INVALID_LENGTH 8
#define PMI_ERR_INVALID_NUM_ARGS 9
#define PMI_ERR_INVALID_ARGS 10
#define PMI_ERR_INVALID_NUM_PARSED 11
#define PMI_ERR_INVALID_KEYVALP 12
#define PMI_ERR_INVALID_SIZE 13
#define PMI_ERR_INVALID_KVS 14

typedef int PMI_BOOL;
#define PMI_TRUE 1
#define PMI_FALSE 0

/* ---- group ----------------------------------------------------------------------------------- */

int PMI_Init(int *spawned); /* *spawned: PMI_FALSE, nothing is spawned here */
int PMI_Initialized(int *initialized);
int PMI_Finalize(void);
int PMI_Get_size(int *size);
int PMI_Get_rank(int *rank); /* 0 … size-1 */
int PMI_Get_universe_size(int *size);
int PMI_Get_appnum(int *appnum);
int PMI_Barrier(void); /* collective */
int PMI_Abort(int exit_code, const char error_msg[]); /* ends the job; does not return */

/* ---- ids and the ranks of the caller's node -------------------------------------------------- */

int PMI_Get_id_length_max(int *length); /* with the terminating zero */
int PMI_Get_id(char id_str[], int length);
int PMI_Get_kvs_domain_id(char id_str[], int length);
int PMI_Get_clique_size(int *size);
int PMI_Get_clique_ranks(int ranks[], int length); /* ascending; length >= clique size */

/* ---- key-value space ------------------------------------------------------------------------- */

int PMI_KVS_Get_my_name(char kvsname[], int length);
int PMI_KVS_Get_name_length_max(int *length);
int PMI_KVS_Get_key_length_max(int *length);
int PMI_KVS_Get_value_length_max(int *length);
/* A value can be read when its writer has committed and both have been in a barrier since. */
int PMI_KVS_Put(const char kvsname[], const char key[], const char value[]);
int PMI_KVS_Commit(const char kvsname[]);
int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length);

/* ---- Cray's extensions ----------------------------------------------------------------------- */

/*
 * Collective: `len` bytes of each process into `out` (size × len bytes). The parts are NOT in the
 * order of ranks; their order is the same in every call. Who needs to know sends its rank along.
 */
int PMI_Allgather(void *in, void *out, int len);
/*
 * The same with parts of different lengths, packed, in the order of PMI_Allgather.
 * all_lens[rank] is the length of that rank's part: given by the caller.
 */
int PMI_Allgatherv(void *in, int len, void *out, int *all_lens);
int PMI_Bcast(void *buf, int len); /* collective: of rank 0 to all */
int PMI_Get_nid(int rank, int *nid); /* the node of a rank */
int PMI_Get_numpes_on_smp(int *num); /* processes of the job on the caller's node */
int PMI_Get_numpes_in_app_on_smp(int *num); /* the same: one application per job */
int PMI_Get_version(char *version, int length); /* text */
int PMI_Get_version_info(int *major, int *minor, int *revision);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
