/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of MPI 3.1 that the MPI driver uses, over libfabric's tagged messages. A simulation has
 * it in place of an MPI library. The functions do what the standard says, with these limits:
 * sources are given (no MPI_ANY_SOURCE), only MPI_COMM_WORLD can be duplicated, errors are always
 * returned, and MPI may be started again after MPI_Finalize. All functions may be called by several
 * threads at a time (MPI_THREAD_MULTIPLE).
 */
#ifndef JACQUARD_MADELEINE_MPI_MPI_H
#define JACQUARD_MADELEINE_MPI_MPI_H

#include <stddef.h>
#include <stdint.h>

typedef intptr_t MPI_Aint;
typedef struct mad_smpi_communicator *MPI_Comm;
typedef struct mad_smpi_group *MPI_Group;
typedef const struct mad_smpi_type *MPI_Datatype;
typedef struct mad_smpi_request *MPI_Request;
typedef struct mad_smpi_request *MPI_Message;
typedef int MPI_Errhandler;
typedef struct MPI_Status {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
    size_t bytes; /* for MPI_Get_count */
} MPI_Status;

enum { MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE };
enum { MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN };
enum { MPI_ANY_TAG = -1, MPI_UNDEFINED = -32766 };
enum {
    MPI_SUCCESS,
    MPI_ERR_COMM = 5,
    MPI_ERR_RANK = 6,
    MPI_ERR_TRUNCATE = 14,
    MPI_ERR_OTHER = 15,
    MPI_ERR_NO_MEM = 34
};
#define MPIX_ERR_PROC_FAILED 71 /* the other process has gone */
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_REQUEST_NULL ((MPI_Request)0)
#define MPI_BOTTOM ((void *)0)

/* Not exported: a foreign program in a simulation may bring an MPI library of its own. */
#pragma GCC visibility push(hidden)

extern const struct mad_smpi_type mad_smpi_byte, mad_smpi_int;
#define MPI_BYTE (&mad_smpi_byte)
#define MPI_CHAR (&mad_smpi_byte)
#define MPI_INT (&mad_smpi_int)
MPI_Comm mad_smpi_world(void);
#define MPI_COMM_WORLD mad_smpi_world()

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Initialized(int *flag);
int MPI_Finalized(int *flag); /* always 0 */
int MPI_Finalize(void); /* what was sent has left; no communicator is used any more */
int MPI_Error_class(int code, int *class_of_code);
double MPI_Wtime(void);

int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_group(MPI_Comm comm, MPI_Group *group);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy);
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *created);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Group_incl(MPI_Group group, int count, const int ranks[], MPI_Group *included);
int MPI_Group_free(MPI_Group *group);

int MPI_Get_address(const void *location, MPI_Aint *address);
/* Of MPI_BYTE, with addresses as places: for MPI_BOTTOM. */
int MPI_Type_create_hindexed(int count, const int lengths[], const MPI_Aint places[],
                             MPI_Datatype of, MPI_Datatype *type);
int MPI_Type_commit(MPI_Datatype *type);
int MPI_Type_free(MPI_Datatype *type);

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request);
int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request);
int MPI_Recv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status);
int MPI_Test(MPI_Request *request, int *done, MPI_Status *status);
int MPI_Request_free(MPI_Request *request);
int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *found, MPI_Status *status);
int MPI_Improbe(int from, int tag, MPI_Comm comm, int *found, MPI_Message *message,
                MPI_Status *status);
int MPI_Mrecv(void *bytes, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status);
int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count);

#pragma GCC visibility pop

#endif
