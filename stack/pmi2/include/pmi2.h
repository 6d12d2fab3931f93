/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PMI-2, the Process Management Interface, version 2: how a process of a parallel program learns
 * who it is, exchanges addresses with the others, and starts or finds further processes.
 *
 * Functions, constants, codes and layouts are those of the header that Slurm installs (and MPICH up
 * to 4.0), so that programs compiled against either run with this library, and the other way round.
 * Two other dialects are chosen before this header is included:
 *
 *   PMI2_DRAFT_API   the draft's prototypes: PMI2_Init with six arguments, PMI2_Job_Spawn without
 *                    argcs, PMI2_Info_GetNodeAttrIntArray with waitFor
 *   PMI2_KEYVAL_API  PMI2_keyval_t in place of MPID_Info, as MPICH 4.1 and later
 *
 * Both map the names that differ to symbols of their own: one symbol never has two forms.
 *
 * Common to all functions, unless one says otherwise:
 * - They return PMI2_SUCCESS, PMI2_FAIL or a PMI2_ERR_ code; PMI2X_Error_string() puts it in words.
 *   PMI2_ERR_INIT: before PMI2_Init, after PMI2_Finalize, in the child of a fork, or the process
 * has no process manager and cannot do without. PMI2_ERR_INVALID_ARG: NULL where there must be
 *   something. PMI2_FAIL, PMI2_ERR_OTHER: the process manager refused (PMI2X_Last_errmsg) or is
 * gone.
 * - Any thread may call at any time. A call may block its caller, but no other thread.
 * - Strings are UTF-8 and end with a NUL; the bytes of values pass unchanged. Lengths are in bytes.
 *   What is written into the caller's array always ends with a NUL, within the given length, and is
 *   cut between characters. The caller owns all arrays; nothing is kept after the call.
 * - Keys: 1 to PMI2_MAX_KEYLEN bytes without space, `=`, `;` and control characters; values: up to
 *   PMI2_MAX_VALLEN. Both without the NUL.
 * - Nothing is printed, no thread, signal handler or exit handler is made.
 *
 * Source: the PMI v2 API draft, and the shipped headers and libraries where they differ
 * (docs/pmi2.md).
 */
#ifndef JACQUARD_PMI2_H
#define JACQUARD_PMI2_H

#if defined(PMI2_DRAFT_API) && defined(PMI2_KEYVAL_API)
#error "PMI2_DRAFT_API and PMI2_KEYVAL_API exclude each other"
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* pmi.h of MPICH has this name for its own version. */
#ifndef PMI_VERSION
#define PMI_VERSION 2
#define PMI_SUBVERSION 0
#endif
#define PMI2X_VERSION 2 /* of this interface */
#define PMI2X_SUBVERSION 0

#define PMI2_MAX_KEYLEN 64 /* of a key, without the NUL */
#define PMI2_MAX_VALLEN 1024 /* of a value, without the NUL */
#define PMI2_MAX_ATTRVALUE 1024 /* of an attribute */
#define PMI2_ID_NULL -1 /* rank not known */
#define PMI_MAX_MSG_STRING 1024 /* of the text for PMI2_Abort */
#define PMII_COMMANDLEN_SIZE 6
#define PMII_MAX_COMMAND_LEN (64 * 1024)

#define PMI2_SUCCESS 0
#define PMI2_FAIL -1 /* the operation failed */
#define PMI2_ERR_INIT 1 /* not initialised, finalized, or no process manager */
#define PMI2_ERR_NOMEM 2 /* no memory, or the caller's array is too short */
#define PMI2_ERR_INVALID_ARG 3
#define PMI2_ERR_INVALID_KEY 4
#define PMI2_ERR_INVALID_KEY_LENGTH 5
#define PMI2_ERR_INVALID_VAL 6
#define PMI2_ERR_INVALID_VAL_LENGTH 7
#define PMI2_ERR_INVALID_LENGTH 8 /* a length below 1 */
#define PMI2_ERR_INVALID_NUM_ARGS 9 /* spawn: a negative number of arguments */
#define PMI2_ERR_INVALID_ARGS 10 /* spawn: an argument is NULL */
#define PMI2_ERR_INVALID_NUM_PARSED 11 /* the text is no list of integers */
#define PMI2_ERR_INVALID_KEYVALP 12 /* keys and values announced, but NULL */
#define PMI2_ERR_INVALID_SIZE 13
#define PMI2_ERR_OTHER 14

/* How PMI2_Job_Connect may speak with a process of the other job. */
typedef struct PMI2_Connect_comm {
    /* At most maxlen bytes into buf; 0, or an error code. */
    int (*read)(void *buf, int maxlen, void *ctx);
    int (*write)(const void *buf, int len, void *ctx);
    void *ctx; /* handed to both */
    __extension__ union {
        int isMaster; /* 1: this side is, 0: the other one is, -1: neither; the same to both */
        int isMain; /* its name in later headers */
    };
} PMI2_Connect_comm_t;

/* A key and its value, as in Slurm's header; only `key` and `value` are used. */
typedef struct MPID_Info {
    int handle;
    int pobj_mutex;
    int ref_count;
    struct MPID_Info *next; /* not followed: vectors are arrays */
    char *key;
    char *value;
} MPID_Info;
#define PMI2U_Info MPID_Info

#ifdef PMI2_KEYVAL_API
typedef struct PMI2_keyval {
    const char *key;
    const char *val;
} PMI2_keyval_t;
#endif

/* ---- joining and leaving --------------------------------------------------------------------- */

#ifdef PMI2_DRAFT_API
#define PMI2_Init PMI2_Init_draft
#define PMI2_Job_Spawn PMI2_Job_Spawn_draft
#define PMI2_Info_GetNodeAttrIntArray PMI2_Info_GetNodeAttrIntArray_draft
/*
 * The same with the version of the process manager. If that is less than 2, an error is returned
 * and only version and subversion are set.
 */
int PMI2_Init(int *spawned, int *size, int *rank, int *appnum, int *version, int *subversion);
#else
/*
 * Must come before any other call but PMI2_Initialized. *spawned: not 0 if the job was started by
 * PMI2_Job_Spawn; *size: processes of the job; *rank: of the caller in it; *appnum: which of the
 * command line's programs the caller is. Without a process manager the process is a job of its own:
 * 0, 1, 0, 0. A second call gives the same again. After PMI2_Finalize it may be called again if the
 * process manager can still be reached; else PMI2_ERR_INIT.
 *
 * A manager that knows only PMI-1 is refused (PMI2_FAIL; see PMI2X_Server_version), unless the
 * environment has PMI2X_FALLBACK_V1=1: then its services are used as far as they go.
 */
int PMI2_Init(int *spawned, int *size, int *rank, int *appnum);
#endif

/* The caller is done with PMI. Local: waits for no other process. */
int PMI2_Finalize(void);

/* 1 between a successful PMI2_Init and PMI2_Finalize, else 0; never an error. */
int PMI2_Initialized(void);

/*
 * Ends the whole job (flag not 0) or the caller only (0). msg may be NULL, may have several lines,
 * and is cut after PMI_MAX_MSG_STRING bytes. Does not return: the process exits with `flag` (1 for
 * 0).
 */
int PMI2_Abort(int flag, const char msg[]);

/* ---- jobs ------------------------------------------------------------------------------------ */

/*
 * Starts sum(maxprocs) processes as one new job, ranks in the order of the `count` commands, which
 * are their appnums. Returns when they were started or it is known that they could not be.
 *
 * argvs[i]: argcs[i] arguments, without the program's name (draft: no argcs, NULL at the end); may
 * be NULL for none. info_keyval_vectors[i]: array of info_keyval_sizes[i] records (path, wdir,
 * host, hostfile, …; unknown ones are ignored). preput_keyval_vector: array of pointers to records
 * (with PMI2_KEYVAL_API: of records) that can be read in the new job's space before any fence.
 * jobId: receives its id; PMI2_ERR_NOMEM if it was cut (the job runs). errors: one per process, 0
 * or not; may be NULL.
 *
 * All or none: when one cannot be started, none is, and an error is returned.
 * PMI2_ERR_INVALID_NUM_ARGS, _ARGS, _KEYVALP, _SIZE, _LENGTH: see the codes; nothing was asked for.
 */
#if defined(PMI2_DRAFT_API)
int PMI2_Job_Spawn(int count, const char *cmds[], const char **argvs[], const int maxprocs[],
                   const int info_keyval_sizes[], const struct MPID_Info *info_keyval_vectors[],
                   int preput_keyval_size, const struct MPID_Info *preput_keyval_vector[],
                   char jobId[], int jobIdSize, int errors[]);
#elif defined(PMI2_KEYVAL_API)
#define PMI2_Job_Spawn PMI2_Job_Spawn_kv
int PMI2_Job_Spawn(int count, const char *cmds[], int argcs[], const char **argvs[],
                   const int maxprocs[], const int info_keyval_sizes[],
                   const PMI2_keyval_t *info_keyval_vectors[], int preput_keyval_size,
                   const PMI2_keyval_t preput_keyval_vector[], char jobId[], int jobIdSize,
                   int errors[]);
#else
int PMI2_Job_Spawn(int count, const char *cmds[], int argcs[], const char **argvs[],
                   const int maxprocs[], const int info_keyval_sizes[],
                   const struct MPID_Info *info_keyval_vectors[], int preput_keyval_size,
                   const struct MPID_Info *preput_keyval_vector[], char jobId[], int jobIdSize,
                   int errors[]);
#endif

/* The id of the caller's job, the same for all its processes, at most 255 bytes. PMI2_ERR_NOMEM:
 * cut. */
int PMI2_Job_GetId(char jobid[], int jobid_size);

/* The caller's rank, as PMI2_Init gave it. */
int PMI2_Job_GetRank(int *rank);

/* The number of processes of the job (Slurm's library gives this, whatever its header says). */
int PMI2_Info_GetSize(int *size);

/*
 * Connects the caller's job with another one: from now on each may read what the other has put. Not
 * collective; once more is no error. conn may be NULL; it is used only if the jobs have different
 * process managers, and then a process of the other job must call, too. PMI2_FAIL: no such job.
 */
int PMI2_Job_Connect(const char jobid[], PMI2_Connect_comm_t *conn);

/* Undoes it for the calling process. PMI2_ERR_INVALID_ARG: it was not connected. */
int PMI2_Job_Disconnect(const char jobid[]);

/* ---- the job's space of keys and values -------------------------------------------------------
 */

/*
 * Puts a pair. Nobody, the caller included, can read it before a fence. The same key again before
 * the fence: the later call counts; by several ranks: the highest.
 */
int PMI2_KVS_Put(const char key[], const char value[]);

/*
 * Collective over the job: returns when all its processes have called it, and all that they put
 * before can be read. One thread of a process at a time (PMI2_ERR_OTHER). Fails when a process has
 * finalized or died.
 */
int PMI2_KVS_Fence(void);

/*
 * jobid: NULL for the own job, or one that it is connected with. src_pmi_id: rank that put it, if
 * known (a hint), or PMI2_ID_NULL. *vallen: the length of the value if it fits into maxvalue bytes
 * with its NUL; else minus the bytes that are needed (with the NUL), and the value is cut: also a
 * success. maxvalue 0 with value NULL asks for that. PMI2_ERR_OTHER, empty string, *vallen 0: there
 * is no such key; that answer never waits.
 */
int PMI2_KVS_Get(const char *jobid, int src_pmi_id, const char key[], char value[], int maxvalue,
                 int *vallen);

/* ---- attributes -------------------------------------------------------------------------------
 */

/*
 * An attribute of the caller's node and job: localRanks, localRanksCount, cartCoords, …, or one
 * that was put. *found: 0 or 1. waitfor not 0: waits until some process of the job on this node has
 * put it. PMI2_ERR_NOMEM: cut. Without a process manager none is found.
 */
int PMI2_Info_GetNodeAttr(const char name[], char value[], int valuelen, int *found, int waitfor);

/*
 * The same for a list of integers such as 0,4,8: at most arraylen are stored, *outlen says how
 * many. PMI2_ERR_INVALID_NUM_PARSED: not a list; *outlen integers before were good.
 */
#ifdef PMI2_DRAFT_API
int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int arraylen, int *outlen,
                                  int *flag, int waitFor);
#else
int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int arraylen, int *outlen,
                                  int *found);
#endif

/* Puts one, readable at once for the processes of this job on this node. PMI_… names are reserved.
 */
int PMI2_Info_PutNodeAttr(const char name[], const char value[]);

/* Attributes of the job: PMI_process_mapping, universeSize, hasNameServ, physTopology, …; see
 * above. */
int PMI2_Info_GetJobAttr(const char name[], char value[], int valuelen, int *found);
int PMI2_Info_GetJobAttrIntArray(const char name[], int array[], int arraylen, int *outlen,
                                 int *found);

/* ---- names ------------------------------------------------------------------------------------
 */

/*
 * Names that any job of the process manager can look up, such as MPI ports, until they are
 * unpublished or the job ends. info_ptr: one record, handed to the manager, or NULL. Publishing a
 * name that exists and unpublishing or looking up one that does not are errors (PMI2_FAIL or the
 * manager's code). Lookup: PMI2_ERR_NOMEM: cut.
 */
#ifdef PMI2_KEYVAL_API
#define PMI2_Nameserv_publish PMI2_Nameserv_publish_kv
#define PMI2_Nameserv_lookup PMI2_Nameserv_lookup_kv
#define PMI2_Nameserv_unpublish PMI2_Nameserv_unpublish_kv
int PMI2_Nameserv_publish(const char service_name[], const PMI2_keyval_t *info_ptr,
                          const char port[]);
int PMI2_Nameserv_lookup(const char service_name[], const PMI2_keyval_t *info_ptr, char port[],
                         int portLen);
int PMI2_Nameserv_unpublish(const char service_name[], const PMI2_keyval_t *info_ptr);
#else
int PMI2_Nameserv_publish(const char service_name[], const struct MPID_Info *info_ptr,
                          const char port[]);
int PMI2_Nameserv_lookup(const char service_name[], const struct MPID_Info *info_ptr, char port[],
                         int portLen);
int PMI2_Nameserv_unpublish(const char service_name[], const struct MPID_Info *info_ptr);
#endif

/* ---- ring (Slurm's extension) ------------------------------------------------------------------
 */

/*
 * Collective: each process gives a string and gets a place in a ring (which need not be its rank),
 * its size, and the strings of its neighbours. maxvalue: of all three arrays, with the NUL, at most
 * 1024. PMI2_ERR_INVALID_LENGTH: value does not fit.
 */
#define HAVE_PMIX_RING 1
int PMIX_Ring(const char value[], int *rank, int *ranks, char left[], char right[], int maxvalue);

/* ---- extensions of this library ----------------------------------------------------------------
 */

/* What a code means. Never NULL, static. */
const char *PMI2X_Error_string(int rc);

/* The version that the process manager reports, e.g. 2 and 0 (both 0: there is none). Also after a
 * refusal.
 */
int PMI2X_Server_version(int *version, int *subversion);

#define PMI2X_PUT_READ_ONLY 1 /* the key will not be put again: the manager may cache it */
int PMI2X_KVS_Put_hint(const char key[], const char value[], int flags);

/*
 * PMI2_KVS_Fence among the processes that are left: it does not wait for those that have finalized
 * or died, and does not fail because of them. Any number of times; all that are left must call it,
 * and may call it in place of PMI2_KVS_Fence when no rank is lost. Pairs of a fence that failed
 * because of a loss come with it. PMI2_FAIL: the manager cannot do that, or cannot be reached.
 */
int PMI2X_KVS_Fence_survivors(void);

/* The manager's words for the last refusal that the calling thread got; its length, "" if none. */
int PMI2X_Last_errmsg(char buf[], int len);

/*
 * Services of the program for the library, where a loader cannot resolve symbols backwards. Any may
 * be NULL. Kept by pointer until PMI2_Finalize; to be set before PMI2_Init.
 */
typedef struct PMI2X_host {
    uint32_t size; /* of this struct, as the caller knows it */
    uint32_t version; /* 1 */
    /* What functions return in place of a code: `error_class` is the code. */
    int (*err_create)(int lastcode, int fatal, const char *fcname, int line, int error_class,
                      const char *generic_msg, const char *specific_msg);
    void *(*malloc)(size_t bytes, void *ctx); /* with free: memory for replies */
    void (*free)(void *memory, void *ctx);
    void (*dbg_out)(const char *text, void *ctx); /* a line without its newline: each command */
    const int *dbg_classes; /* NULL or 0: no lines */
    const int *dbg_level; /* likewise */
    void *ctx;
} PMI2X_host_t;
/* NULL: none any more. PMI2_ERR_INVALID_SIZE: too short to have a version; PMI2_ERR_OTHER: after
 * PMI2_Init. */
int PMI2X_Set_host(const PMI2X_host_t *host);

/*
 * The functions of the default dialect, for programs that open the library at run time: one dlsym()
 * is enough. Members are only ever added, at the end.
 */
typedef struct PMI2X_api {
    uint32_t size; /* of this struct, as the library knows it */
    uint32_t version; /* 1 */
    int (*init)(int *spawned, int *size, int *rank, int *appnum);
    int (*finalize)(void);
    int (*initialized)(void);
    int (*abort)(int flag, const char msg[]);
    int (*job_spawn)(int count, const char *cmds[], int argcs[], const char **argvs[],
                     const int maxprocs[], const int info_keyval_sizes[],
                     const struct MPID_Info *info_keyval_vectors[], int preput_keyval_size,
                     const struct MPID_Info *preput_keyval_vector[], char jobId[], int jobIdSize,
                     int errors[]);
    int (*job_getid)(char jobid[], int jobid_size);
    int (*job_getrank)(int *rank);
    int (*job_connect)(const char jobid[], PMI2_Connect_comm_t *conn);
    int (*job_disconnect)(const char jobid[]);
    int (*kvs_put)(const char key[], const char value[]);
    int (*kvs_fence)(void);
    int (*kvs_get)(const char *jobid, int src_pmi_id, const char key[], char value[], int maxvalue,
                   int *vallen);
    int (*info_getsize)(int *size);
    int (*info_getnodeattr)(const char name[], char value[], int valuelen, int *found, int waitfor);
    int (*info_getnodeattrintarray)(const char name[], int array[], int arraylen, int *outlen,
                                    int *found);
    int (*info_putnodeattr)(const char name[], const char value[]);
    int (*info_getjobattr)(const char name[], char value[], int valuelen, int *found);
    int (*info_getjobattrintarray)(const char name[], int array[], int arraylen, int *outlen,
                                   int *found);
    int (*nameserv_publish)(const char name[], const struct MPID_Info *info, const char port[]);
    int (*nameserv_lookup)(const char name[], const struct MPID_Info *info, char port[],
                           int length);
    int (*nameserv_unpublish)(const char name[], const struct MPID_Info *info);
    int (*ring)(const char value[], int *rank, int *ranks, char left[], char right[], int maxvalue);
    const char *(*error_string)(int rc);
    int (*server_version)(int *version, int *subversion);
    int (*kvs_put_hint)(const char key[], const char value[], int flags);
    int (*last_errmsg)(char buf[], int len);
    int (*kvs_fence_survivors)(void);
} PMI2X_api_t;
/* NULL: a version (now 1) that the library does not know. Static. */
const PMI2X_api_t *PMI2X_Get_api(int version);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
