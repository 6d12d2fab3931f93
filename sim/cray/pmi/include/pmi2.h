/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PMI-2 as shipped (PMI2_Init with four arguments), as far as programs for Cray systems call it.
 * In simulation it answers from the job that the calling rank belongs to; a program that nobody
 * launched is a job of one process. It shares its state with PMI-1 (pmi.h).
 *
 * Every function returns PMI2_SUCCESS, PMI2_FAIL or a PMI2_ERR_ code, except PMI2_Initialized.
 */
#ifndef JACQUARD_PMI2_H
#define JACQUARD_PMI2_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PMI2_MAX_KEYLEN 64
#define PMI2_MAX_VALLEN 1024
#define PMI2_MAX_ATTRVALUE 1024
#define PMI2_ID_NULL -1

#define PMI2_SUCCESS 0
#define PMI2_FAIL -1
#define PMI2_ERR_INIT 1
#define PMI2_ERR_NOMEM 2
#define PMI2_ERR_INVALID_ARG 3
#define PMI2_ERR_INVALID_KEY 4
#define PMI2_ERR_INVALID_KEY_LENGTH 5
#define PMI2_ERR_INVALID_VAL 6
#define PMI2_ERR_INVALID_VAL_LENGTH 7
#define PMI2_ERR_INVALID_LENGTH 8
#define PMI2_ERR_INVALID_NUM_ARGS 9
#define PMI2_ERR_INVALID_ARGS 10
#define PMI2_ERR_INVALID_NUM_PARSED 11
#define PMI2_ERR_INVALID_KEYVALP 12
#define PMI2_ERR_INVALID_SIZE 13
#define PMI2_ERR_OTHER 14

int PMI2_Init(int *spawned, int *size, int *rank, int *appnum);
int PMI2_Initialized(void); /* 1: yes, 0: no */
int PMI2_Finalize(void);
int PMI2_Abort(int flag, const char msg[]); /* ends the job; does not return */
int PMI2_Job_GetId(char jobid[], int jobid_size);
int PMI2_Job_GetRank(int *rank);
int PMI2_Info_GetSize(int *size); /* of the job */
int PMI2_KVS_Put(const char key[], const char value[]);
int PMI2_KVS_Fence(void); /* collective: afterwards all that was put before can be read */
/*
 * jobid: NULL or the caller's own. src_pmi_id is a hint only. *vallen is the length of the value;
 * negative, the length that the buffer would have to have, when it was too short.
 */
int PMI2_KVS_Get(const char *jobid, int src_pmi_id, const char key[], char value[], int maxvalue,
                 int *vallen);
/* Attributes of the job: "PMI_process_mapping", "universeSize". *found: 0 or 1. */
int PMI2_Info_GetJobAttr(const char name[], char value[], int valuelen, int *found);
/* Of the node: "localRanksCount", "localRanks" (comma list, ascending). waitfor is ignored: both
 * are always there. */
int PMI2_Info_GetNodeAttr(const char name[], char value[], int valuelen, int *found, int waitfor);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
