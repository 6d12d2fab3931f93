/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* PMI-1 and Cray's extensions of it. */
#include "pmi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pmi_state.h"

/* The version that the library says it is: one of Cray's last, because programs ask for a minimum.
 */
enum { VERSION_MAJOR = 5, VERSION_MINOR = 0, VERSION_REVISION = 17 };

#define ID_BYTES 64

/* ---- group ----------------------------------------------------------------------------------- */

int PMI_Init(int *spawned)
{
    if (spawned == NULL)
        return PMI_ERR_INVALID_ARG;
    *spawned = PMI_FALSE;
    return pmi_start() != NULL ? PMI_SUCCESS : PMI_ERR_NOMEM;
}

int PMI_Initialized(int *initialized)
{
    if (initialized == NULL)
        return PMI_ERR_INVALID_ARG;
    *initialized = pmi_self() != NULL ? PMI_TRUE : PMI_FALSE;
    return PMI_SUCCESS;
}

int PMI_Finalize(void)
{
    struct cray_process *self = pmi_self();

    if (self == NULL)
        return PMI_ERR_INIT;
    pmi_stop(self);
    return PMI_SUCCESS;
}

static int give(int *to, uint32_t (*value)(const struct cray_process *self))
{
    const struct cray_process *self = pmi_self();

    if (self == NULL)
        return PMI_ERR_INIT;
    if (to == NULL)
        return PMI_ERR_INVALID_ARG;
    *to = (int)value(self);
    return PMI_SUCCESS;
}

static uint32_t size_of(const struct cray_process *self)
{
    return self->job->size;
}

static uint32_t rank_of(const struct cray_process *self)
{
    return self->rank;
}

static uint32_t appnum_of(const struct cray_process *self)
{
    (void)self;
    return 0; /* one program per job */
}

int PMI_Get_size(int *size)
{
    return give(size, size_of);
}

int PMI_Get_rank(int *rank)
{
    return give(rank, rank_of);
}

int PMI_Get_universe_size(int *size)
{
    return give(size, size_of);
}

int PMI_Get_appnum(int *appnum)
{
    return give(appnum, appnum_of);
}

int PMI_Barrier(void)
{
    struct cray_process *self = pmi_self();

    if (self == NULL)
        return PMI_ERR_INIT;
    return cray_host()->allgather(self, NULL, NULL, 0) ? PMI_SUCCESS : PMI_FAIL;
}

int PMI_Abort(int exit_code, const char error_msg[])
{
    cray_host()->abort(cray_process_self(), exit_code, error_msg);
    return PMI_FAIL;
}

/* ---- ids and the ranks of the node ----------------------------------------------------------- */

int PMI_Get_id_length_max(int *length)
{
    if (length == NULL)
        return PMI_ERR_INVALID_ARG;
    *length = ID_BYTES;
    return PMI_SUCCESS;
}

static int give_name(const char *form, char *text, int length)
{
    const struct cray_process *self = pmi_self();
    char name[ID_BYTES];

    if (self == NULL)
        return PMI_ERR_INIT;
    if (text == NULL)
        return PMI_ERR_INVALID_ARG;
    snprintf(name, sizeof(name), "%s%llu", form, (unsigned long long)self->job->apid);
    if (length <= (int)strlen(name))
        return PMI_ERR_INVALID_LENGTH;
    memcpy(text, name, strlen(name) + 1);
    return PMI_SUCCESS;
}

int PMI_Get_id(char id_str[], int length)
{
    return give_name("kvs_", id_str, length);
}

int PMI_Get_kvs_domain_id(char id_str[], int length)
{
    return give_name("kvs_", id_str, length);
}

int PMI_Get_clique_size(int *size)
{
    return give(size, pmi_local_count);
}

int PMI_Get_clique_ranks(int ranks[], int length)
{
    const struct cray_process *self = pmi_self();

    if (self == NULL)
        return PMI_ERR_INIT;
    if (ranks == NULL)
        return PMI_ERR_INVALID_ARG;
    if (length < 0 || (uint32_t)length < pmi_local_count(self))
        return PMI_ERR_INVALID_LENGTH;
    pmi_local_ranks(self, ranks, (uint32_t)length);
    return PMI_SUCCESS;
}

/* ---- key-value space ------------------------------------------------------------------------- */

int PMI_KVS_Get_my_name(char kvsname[], int length)
{
    return give_name("kvs_", kvsname, length);
}

int PMI_KVS_Get_name_length_max(int *length)
{
    return PMI_Get_id_length_max(length);
}

int PMI_KVS_Get_key_length_max(int *length)
{
    if (length == NULL)
        return PMI_ERR_INVALID_ARG;
    *length = PMI_KEY_BYTES;
    return PMI_SUCCESS;
}

int PMI_KVS_Get_value_length_max(int *length)
{
    if (length == NULL)
        return PMI_ERR_INVALID_ARG;
    *length = PMI_VALUE_BYTES;
    return PMI_SUCCESS;
}

/* There is one space per job. */
static int check_name(const char *kvsname)
{
    char mine[ID_BYTES];
    int status = give_name("kvs_", mine, sizeof(mine));

    if (status != PMI_SUCCESS)
        return status;
    return kvsname != NULL && strcmp(kvsname, mine) == 0 ? PMI_SUCCESS : PMI_ERR_INVALID_KVS;
}

int PMI_KVS_Put(const char kvsname[], const char key[], const char value[])
{
    static const int codes[] = {[PMI_KVS_OK] = PMI_SUCCESS,
                                [PMI_KVS_NO_MEMORY] = PMI_ERR_NOMEM,
                                [PMI_KVS_BAD_KEY] = PMI_ERR_INVALID_KEY,
                                [PMI_KVS_LONG_KEY] = PMI_ERR_INVALID_KEY_LENGTH,
                                [PMI_KVS_LONG_VALUE] = PMI_ERR_INVALID_VAL_LENGTH};
    int status = check_name(kvsname);

    if (status != PMI_SUCCESS)
        return status;
    if (key == NULL)
        return PMI_ERR_INVALID_KEY;
    if (value == NULL)
        return PMI_ERR_INVALID_VAL;
    return codes[pmi_kvs_put(pmi_self(), key, value)];
}

int PMI_KVS_Commit(const char kvsname[])
{
    int status = check_name(kvsname);

    if (status != PMI_SUCCESS)
        return status;
    return pmi_kvs_publish(pmi_self()) == PMI_KVS_OK ? PMI_SUCCESS : PMI_ERR_NOMEM;
}

int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length)
{
    int status = check_name(kvsname);
    const char *found;

    if (status != PMI_SUCCESS)
        return status;
    if (key == NULL)
        return PMI_ERR_INVALID_KEY;
    found = pmi_kvs_get(pmi_self(), key);
    if (found == NULL)
        return PMI_ERR_INVALID_KEY;
    if (value == NULL)
        return PMI_ERR_INVALID_VAL;
    if (length <= (int)strlen(found))
        return PMI_ERR_INVALID_LENGTH;
    memcpy(value, found, strlen(found) + 1);
    return PMI_SUCCESS;
}

/* ---- Cray's extensions ----------------------------------------------------------------------- */

/* Which rank's part comes at place `index`: anything but the order of ranks, the same every time.
 */
static uint32_t rank_at(const struct cray_job *job, uint32_t index)
{
    return (index + 1) % job->size;
}

static int gather(struct cray_process *self, const void *in, size_t bytes, char **by_rank)
{
    *by_rank = calloc(self->job->size, bytes != 0 ? bytes : 1);
    if (*by_rank == NULL)
        return PMI_ERR_NOMEM;
    if (cray_host()->allgather(self, in, *by_rank, bytes))
        return PMI_SUCCESS;
    free(*by_rank);
    return PMI_FAIL;
}

int PMI_Allgather(void *in, void *out, int len)
{
    struct cray_process *self = pmi_self();
    char *by_rank;
    uint32_t i;
    int status;

    if (self == NULL)
        return PMI_ERR_INIT;
    if (in == NULL || out == NULL)
        return PMI_ERR_INVALID_ARG;
    if (len < 0)
        return PMI_ERR_INVALID_LENGTH;
    status = gather(self, in, (size_t)len, &by_rank);
    if (status != PMI_SUCCESS)
        return status;
    for (i = 0; i < self->job->size; i++)
        memcpy((char *)out + (size_t)i * (size_t)len,
               by_rank + (size_t)rank_at(self->job, i) * (size_t)len, (size_t)len);
    free(by_rank);
    return PMI_SUCCESS;
}

static int longest(const struct cray_process *self, const int *lengths)
{
    int most = 0;
    uint32_t i;

    for (i = 0; i < self->job->size; i++) {
        if (lengths[i] < 0)
            return -1;
        if (lengths[i] > most)
            most = lengths[i];
    }
    return most;
}

static int gather_padded(struct cray_process *self, const void *in, int len, char *out,
                         const int *all_lens, size_t most)
{
    char *padded = calloc(1, most != 0 ? most : 1), *by_rank;
    uint32_t i, rank;
    int status;

    if (padded == NULL)
        return PMI_ERR_NOMEM;
    if (len != 0)
        memcpy(padded, in, (size_t)len);
    status = gather(self, padded, most, &by_rank);
    free(padded);
    if (status != PMI_SUCCESS)
        return status;
    for (i = 0; i < self->job->size; i++) {
        rank = rank_at(self->job, i);
        memcpy(out, by_rank + rank * most, (size_t)all_lens[rank]);
        out += all_lens[rank];
    }
    free(by_rank);
    return PMI_SUCCESS;
}

int PMI_Allgatherv(void *in, int len, void *out, int *all_lens)
{
    struct cray_process *self = pmi_self();
    int most;

    if (self == NULL)
        return PMI_ERR_INIT;
    if (in == NULL || out == NULL || all_lens == NULL)
        return PMI_ERR_INVALID_ARG;
    most = longest(self, all_lens);
    if (most < 0 || all_lens[self->rank] != len)
        return PMI_ERR_INVALID_LENGTH;
    return gather_padded(self, in, len, out, all_lens, (size_t)most);
}

int PMI_Bcast(void *buf, int len)
{
    struct cray_process *self = pmi_self();
    char *by_rank;
    int status;

    if (self == NULL)
        return PMI_ERR_INIT;
    if (buf == NULL)
        return PMI_ERR_INVALID_ARG;
    if (len < 0)
        return PMI_ERR_INVALID_LENGTH;
    status = gather(self, buf, (size_t)len, &by_rank);
    if (status != PMI_SUCCESS)
        return status;
    memcpy(buf, by_rank, (size_t)len);
    free(by_rank);
    return PMI_SUCCESS;
}

int PMI_Get_nid(int rank, int *nid)
{
    const struct cray_process *self = pmi_self();

    if (self == NULL)
        return PMI_ERR_INIT;
    if (nid == NULL || rank < 0 || (uint32_t)rank >= self->job->size)
        return PMI_ERR_INVALID_ARG;
    *nid = (int)cray_host()->nid_of(self, (uint32_t)rank);
    return PMI_SUCCESS;
}

int PMI_Get_numpes_on_smp(int *num)
{
    return give(num, pmi_local_count);
}

int PMI_Get_numpes_in_app_on_smp(int *num)
{
    return give(num, pmi_local_count);
}

int PMI_Get_version(char *version, int length)
{
    char text[32];

    snprintf(text, sizeof(text), "%d.%d.%d", VERSION_MAJOR, VERSION_MINOR, VERSION_REVISION);
    if (version == NULL)
        return PMI_ERR_INVALID_ARG;
    if (length <= (int)strlen(text))
        return PMI_ERR_INVALID_LENGTH;
    memcpy(version, text, strlen(text) + 1);
    return PMI_SUCCESS;
}

int PMI_Get_version_info(int *major, int *minor, int *revision)
{
    if (major == NULL || minor == NULL || revision == NULL)
        return PMI_ERR_INVALID_ARG;
    *major = VERSION_MAJOR;
    *minor = VERSION_MINOR;
    *revision = VERSION_REVISION;
    return PMI_SUCCESS;
}
