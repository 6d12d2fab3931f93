/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PMI-1, the Process Management Interface of MPICH's lineage, with the extensions of Cray's
 * library. It shares its connection and its state with PMI-2 (pmi2.h) in this library; a program
 * that nobody launched is a job of one process.
 *
 * Every function returns PMI_SUCCESS, PMI_FAIL or a PMI_ERR_ code. Before PMI_Init (or PMI2_Init)
 * and after PMI_Finalize all but PMI_Initialized return PMI_ERR_INIT. NULL where there must be
 * something is PMI_ERR_INVALID_ARG. Functions that say "collective" block until every process of
 * the job calls them. Lengths are of the caller's arrays, in bytes and with the terminating zero; a
 * shorter array than needed is PMI_ERR_INVALID_LENGTH and stays as it was. One thread at a time.
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

/*
 * *spawned: PMI_TRUE if PMI_Spawn_multiple started the job. Speaks PMI-2 with a process manager
 * that can, PMI-1 otherwise. PMI_ERR_INIT: there is one, but it cannot be reached.
 */
int PMI_Init(int *spawned);
int PMI_Initialized(int *initialized);
int PMI_Finalize(void);
int PMI_Get_size(int *size);
int PMI_Get_rank(int *rank); /* 0 … size-1 */
int PMI_Get_universe_size(int *size); /* the size of the job when the manager does not know it */
int PMI_Get_appnum(int *appnum); /* which program of the command line */
int PMI_Barrier(void); /* collective; also makes readable what was put and committed */
/* Ends the job with this exit code; does not return. error_msg may be NULL. */
int PMI_Abort(int exit_code, const char error_msg[]);

/* ---- ids and the ranks of the caller's node -------------------------------------------------- */

int PMI_Get_id_length_max(int *length);
int PMI_Get_id(char id_str[], int length); /* of the job; also the name of its key-value space */
int PMI_Get_kvs_domain_id(char id_str[], int length); /* the same: one domain per job */
int PMI_Get_clique_size(int *size); /* processes of the job on the caller's node */
int PMI_Get_clique_ranks(int ranks[], int length); /* ascending; length: entries */

/* ---- key-value space ------------------------------------------------------------------------- */

int PMI_KVS_Get_my_name(char kvsname[], int length);
int PMI_KVS_Get_name_length_max(int *length);
int PMI_KVS_Get_key_length_max(int *length); /* of a key, with the terminating zero */
int PMI_KVS_Get_value_length_max(int *length);
/*
 * A value can be read when its writer has committed and both have been in a barrier since. Values
 * may contain spaces. PMI_ERR_INVALID_KVS: not the name of the job's space.
 */
int PMI_KVS_Put(const char kvsname[], const char key[], const char value[]);
int PMI_KVS_Commit(const char kvsname[]);
/* PMI_ERR_INVALID_KEY: no such key; the answer does not wait. */
int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length);
/* PMI_FAIL: there is one space per job, made with it. */
int PMI_KVS_Create(char kvsname[], int length);
int PMI_KVS_Destroy(const char kvsname[]);
/*
 * All pairs, as they are at PMI_KVS_Iter_first, in no particular order; an empty key ends it.
 * PMI_FAIL: the manager cannot list them.
 */
int PMI_KVS_Iter_first(const char kvsname[], char key[], int key_len, char val[], int val_len);
int PMI_KVS_Iter_next(const char kvsname[], char key[], int key_len, char val[], int val_len);

/* ---- names, as PMI2_Nameserv_… ----------------------------------------------------------------
 */

int PMI_Publish_name(const char service_name[], const char port[]);
int PMI_Unpublish_name(const char service_name[]);
int PMI_Lookup_name(const char service_name[], char port[]); /* port: up to 1025 bytes */

/* ---- spawning ---------------------------------------------------------------------------------
 */

typedef struct PMI_keyval {
    char *key;
    char *val;
} PMI_keyval_t;

/*
 * As PMI2_Job_Spawn: argvs[i] ends with NULL, info_keyval_vectors[i] is an array of
 * info_keyval_sizesp[i] records, preput_keyval_vector one of preput_keyval_size. errors: one per
 * process, may be NULL.
 */
int PMI_Spawn_multiple(int count, const char *cmds[], const char **argvs[], const int maxprocs[],
                       const int info_keyval_sizesp[], const PMI_keyval_t *info_keyval_vectors[],
                       int preput_keyval_size, const PMI_keyval_t preput_keyval_vector[],
                       int errors[]);

/*
 * Options of a process manager among the program's arguments. This one has none there, so nothing
 * is found: *num_parsed 0, *size 0, *keyvalp NULL, arguments unchanged, an empty text.
 */
int PMI_Parse_option(int num_args, char *args[], int *num_parsed, PMI_keyval_t **keyvalp,
                     int *size);
int PMI_Args_to_keyval(int *argcp, char *((*argvp)[]), PMI_keyval_t **keyvalp, int *size);
int PMI_Free_keyvals(PMI_keyval_t keyvalp[], int size);
int PMI_Get_options(char *str, int *length); /* *length: of str; then what the text needs */

/* ---- Cray's extensions ----------------------------------------------------------------------- */

/*
 * Collective: `len` bytes of each process into `out` (size × len bytes). The parts are NOT in the
 * order of ranks; their order is the same in every call. Programs that need it send the rank along.
 */
int PMI_Allgather(void *in, void *out, int len);
/*
 * The same with parts of different lengths, packed, in the order of PMI_Allgather.
 * all_lens[rank] is the length of that rank's part: given by the caller.
 */
int PMI_Allgatherv(void *in, int len, void *out, int *all_lens);
int PMI_Bcast(void *buf, int len); /* collective: of rank 0 to all */
/* The node of a rank, as the manager numbers them in PMI_process_mapping. */
int PMI_Get_nid(int rank, int *nid);
/* The nodes of all ranks, as an array of int; it belongs to the library until PMI_Finalize. */
int PMI_Get_nidlist_ptr(void **nidlist);
int PMI_Get_numpes_on_smp(int *num); /* processes of the job on the caller's node */
/* Their ranks, ascending. PMI_ERR_INVALID_LENGTH: they are more than `length`. */
int PMI_Get_pes_on_smp(int ranks[], int length);
/* The same of the application: there is one for each job. */
int PMI_Get_numpes_in_app_on_smp(int *num);
int PMI_Get_app_size(int *size);
int PMI_Get_rank_in_app(int *rank);
int PMI_Get_version(char *version, int length); /* text */
int PMI_Get_version_info(int *major, int *minor, int *revision);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
