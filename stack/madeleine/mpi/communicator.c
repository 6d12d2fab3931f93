/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Groups of processes, and communicators. */
#include <stdlib.h>
#include <string.h>

#include "process.h"

/* Numbers of copies are even, those of parts are odd. */
enum { NUMBER_FAILED = 0 };

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    *size = comm->group->size;
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    *rank = comm->rank;
    return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    (void)comm;
    return handler == MPI_ERRORS_RETURN ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static struct mad_smpi_group *group_new(const struct mad_smpi_group *of, int count,
                                        const int ranks[])
{
    struct mad_smpi_group *group = malloc(sizeof(*group) + (size_t)count * sizeof(int));

    if (group == NULL)
        return NULL;
    group->size = count;
    for (int i = 0; i < count; i++)
        group->ranks[i] = of->ranks[ranks != NULL ? ranks[i] : i];
    return group;
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    *group = group_new(comm->group, comm->group->size, NULL);
    return *group != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int MPI_Group_incl(MPI_Group group, int count, const int ranks[], MPI_Group *included)
{
    *included = group_new(group, count, ranks);
    return *included != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int MPI_Group_free(MPI_Group *group)
{
    free(*group);
    *group = NULL;
    return MPI_SUCCESS;
}

static MPI_Comm communicator_new(const struct mad_smpi_group *group, int rank, uint64_t context)
{
    struct mad_smpi_communicator *comm = malloc(sizeof(*comm));

    if (comm == NULL)
        return NULL;
    *comm = (struct mad_smpi_communicator){context, rank, group_new(group, group->size, NULL)};
    if (comm->group != NULL)
        return comm;
    free(comm);
    return NULL;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    free((*comm)->group);
    free(*comm);
    *comm = NULL;
    return MPI_SUCCESS;
}

/* All processes make the copies in the same order, so they count alike. */
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy)
{
    struct mad_smpi_process *process = mad_smpi_process();
    uint64_t number;

    if (comm != process->world)
        return MPI_ERR_COMM;
    port_mutex_lock(&process->lock);
    number = 2 * process->next_copy++;
    port_mutex_unlock(&process->lock);
    *copy = communicator_new(comm->group, comm->rank, number);
    return *copy != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* ---- parts of a communicator ----------------------------------------------------------------- */

static int exchange(struct mad_smpi_process *process, bool out, uint64_t *number, int peer, int tag)
{
    uint64_t full = MAD_SMPI_AGREE | (uint32_t)tag;
    MPI_Request request;
    int code =
        out ? mad_smpi_send(process, number, sizeof(*number), MPI_BYTE, peer, full, &request)
            : mad_smpi_receive(process, number, sizeof(*number), MPI_BYTE, peer, full, &request);

    return code == MPI_SUCCESS ? mad_smpi_wait(process, request, MPI_STATUS_IGNORE) : code;
}

/* The first process collects the numbers and hands out the highest one, or tells the failure. */
static int lead(struct mad_smpi_process *process, const struct mad_smpi_group *group, int tag,
                uint64_t *number)
{
    int failure = MPI_SUCCESS, code;
    uint64_t other = 0;

    for (int i = 1; i < group->size; i++) {
        code = exchange(process, false, &other, group->ranks[i], tag);
        if (code != MPI_SUCCESS)
            failure = code;
        else if (other > *number)
            *number = other;
    }
    if (failure != MPI_SUCCESS)
        *number = NUMBER_FAILED;
    for (int i = 1; i < group->size; i++)
        exchange(process, true, number, group->ranks[i], tag);
    return failure;
}

static int follow(struct mad_smpi_process *process, const struct mad_smpi_group *group, int tag,
                  uint64_t *number)
{
    int code = exchange(process, true, number, group->ranks[0], tag);

    if (code == MPI_SUCCESS)
        code = exchange(process, false, number, group->ranks[0], tag);
    return code == MPI_SUCCESS && *number == NUMBER_FAILED ? MPI_ERR_OTHER : code;
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *created)
{
    struct mad_smpi_process *process = mad_smpi_process();
    uint64_t number;
    int rank = 0, code;

    while (rank < group->size && group->ranks[rank] != comm->group->ranks[comm->rank])
        rank++;
    if (rank == group->size)
        return MPI_ERR_RANK;
    port_mutex_lock(&process->lock);
    number = process->next_part;
    port_mutex_unlock(&process->lock);
    code = rank == 0 ? lead(process, group, tag, &number) : follow(process, group, tag, &number);
    if (code != MPI_SUCCESS)
        return code;
    port_mutex_lock(&process->lock);
    if (process->next_part <= number)
        process->next_part = number + 1;
    port_mutex_unlock(&process->lock);
    *created = communicator_new(group, rank, 2 * number + 1);
    return *created != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}
