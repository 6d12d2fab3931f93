/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* PMI-2 over the same state as PMI-1. */
#include "pmi2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pmi_state.h"

int PMI2_Init(int *spawned, int *size, int *rank, int *appnum)
{
    const struct cray_process *self;

    if (spawned == NULL || size == NULL || rank == NULL || appnum == NULL)
        return PMI2_ERR_INVALID_ARG;
    self = pmi_start();
    if (self == NULL)
        return PMI2_ERR_NOMEM;
    *spawned = 0;
    *size = (int)self->job->size;
    *rank = (int)self->rank;
    *appnum = 0;
    return PMI2_SUCCESS;
}

int PMI2_Initialized(void)
{
    return pmi_self() != NULL;
}

int PMI2_Finalize(void)
{
    struct cray_process *self = pmi_self();

    if (self == NULL)
        return PMI2_ERR_INIT;
    pmi_stop(self);
    return PMI2_SUCCESS;
}

int PMI2_Abort(int flag, const char msg[])
{
    (void)flag; /* a job is never less than all its processes */
    cray_host()->abort(cray_process_self(), EXIT_FAILURE, msg);
    return PMI2_FAIL;
}

int PMI2_Job_GetId(char jobid[], int jobid_size)
{
    const struct cray_process *self = pmi_self();
    char text[32];

    if (self == NULL)
        return PMI2_ERR_INIT;
    if (jobid == NULL)
        return PMI2_ERR_INVALID_ARG;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)self->job->apid);
    if (jobid_size <= (int)strlen(text))
        return PMI2_ERR_INVALID_LENGTH;
    memcpy(jobid, text, strlen(text) + 1);
    return PMI2_SUCCESS;
}

int PMI2_Job_GetRank(int *rank)
{
    const struct cray_process *self = pmi_self();

    if (self == NULL)
        return PMI2_ERR_INIT;
    if (rank == NULL)
        return PMI2_ERR_INVALID_ARG;
    *rank = (int)self->rank;
    return PMI2_SUCCESS;
}

int PMI2_Info_GetSize(int *size)
{
    const struct cray_process *self = pmi_self();

    if (self == NULL)
        return PMI2_ERR_INIT;
    if (size == NULL)
        return PMI2_ERR_INVALID_ARG;
    *size = (int)self->job->size;
    return PMI2_SUCCESS;
}

int PMI2_KVS_Put(const char key[], const char value[])
{
    static const int codes[] = {[PMI_KVS_OK] = PMI2_SUCCESS,
                                [PMI_KVS_NO_MEMORY] = PMI2_ERR_NOMEM,
                                [PMI_KVS_BAD_KEY] = PMI2_ERR_INVALID_KEY,
                                [PMI_KVS_LONG_KEY] = PMI2_ERR_INVALID_KEY_LENGTH,
                                [PMI_KVS_LONG_VALUE] = PMI2_ERR_INVALID_VAL_LENGTH};
    struct cray_process *self = pmi_self();

    if (self == NULL)
        return PMI2_ERR_INIT;
    if (key == NULL || value == NULL)
        return PMI2_ERR_INVALID_ARG;
    return codes[pmi_kvs_put(self, key, value)];
}

int PMI2_KVS_Fence(void)
{
    struct cray_process *self = pmi_self();

    if (self == NULL)
        return PMI2_ERR_INIT;
    if (pmi_kvs_publish(self) != PMI_KVS_OK)
        return PMI2_ERR_NOMEM;
    return cray_host()->allgather(self, NULL, NULL, 0) ? PMI2_SUCCESS : PMI2_FAIL;
}

/* As much as fits, always with a terminating zero. Gives the length, negative when it was cut. */
static int copy_out(char *to, int room, const char *text)
{
    int length = (int)strlen(text);
    int fits = length < room ? length : room - 1;

    memcpy(to, text, (size_t)fits);
    to[fits] = '\0';
    return fits == length ? length : -length;
}

static bool own_job(const struct cray_process *self, const char *jobid)
{
    char *end;

    return jobid == NULL || (strtoull(jobid, &end, 10) == self->job->apid && *end == '\0');
}

int PMI2_KVS_Get(const char *jobid, int src_pmi_id, const char key[], char value[], int maxvalue,
                 int *vallen)
{
    const struct cray_process *self = pmi_self();
    const char *found;

    (void)src_pmi_id;
    if (self == NULL)
        return PMI2_ERR_INIT;
    if (key == NULL || value == NULL || vallen == NULL)
        return PMI2_ERR_INVALID_ARG;
    if (maxvalue < 1)
        return PMI2_ERR_INVALID_LENGTH;
    found = own_job(self, jobid) ? pmi_kvs_get(self, key) : NULL;
    if (found == NULL)
        return PMI2_ERR_OTHER;
    *vallen = copy_out(value, maxvalue, found);
    return PMI2_SUCCESS;
}

static int check_attribute(const char *name, const char *value, int valuelen, const int *found)
{
    if (pmi_self() == NULL)
        return PMI2_ERR_INIT;
    if (name == NULL || value == NULL || found == NULL)
        return PMI2_ERR_INVALID_ARG;
    return valuelen >= 1 ? PMI2_SUCCESS : PMI2_ERR_INVALID_LENGTH;
}

int PMI2_Info_GetJobAttr(const char name[], char value[], int valuelen, int *found)
{
    const struct cray_process *self = pmi_self();
    char text[PMI2_MAX_ATTRVALUE];
    int status = check_attribute(name, value, valuelen, found);

    if (status != PMI2_SUCCESS)
        return status;
    *found = 1;
    if (strcmp(name, "universeSize") == 0)
        snprintf(text, sizeof(text), "%u", self->job->size);
    else if (strcmp(name, "PMI_process_mapping") != 0 || !pmi_mapping(self, text, sizeof(text)))
        *found = 0;
    if (*found && copy_out(value, valuelen, text) < 0)
        return PMI2_ERR_INVALID_LENGTH;
    return PMI2_SUCCESS;
}

static bool local_ranks_text(const struct cray_process *self, char *text, size_t size)
{
    uint32_t count = pmi_local_count(self), i;
    int *ranks = calloc(count, sizeof(*ranks));
    size_t at = 0;

    if (ranks == NULL)
        return false;
    pmi_local_ranks(self, ranks, count);
    for (i = 0; i < count && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%d", i != 0 ? "," : "", ranks[i]);
    free(ranks);
    return at < size;
}

int PMI2_Info_GetNodeAttr(const char name[], char value[], int valuelen, int *found, int waitfor)
{
    const struct cray_process *self = pmi_self();
    char text[PMI2_MAX_ATTRVALUE];
    int status = check_attribute(name, value, valuelen, found);

    (void)waitfor;
    if (status != PMI2_SUCCESS)
        return status;
    *found = 1;
    if (strcmp(name, "localRanksCount") == 0)
        snprintf(text, sizeof(text), "%u", pmi_local_count(self));
    else if (strcmp(name, "localRanks") != 0 || !local_ranks_text(self, text, sizeof(text)))
        *found = 0;
    if (*found && copy_out(value, valuelen, text) < 0)
        return PMI2_ERR_INVALID_LENGTH;
    return PMI2_SUCCESS;
}
