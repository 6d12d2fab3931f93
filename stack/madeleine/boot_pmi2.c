/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The start of a session by PMI-2. */
#include <assert.h>
#include <stdlib.h>

#include "boot.h"
#include "internal.h"
#include "madeleine/error.h"
#include "pmi2.h"

static int result(int code)
{
    return code == PMI2_SUCCESS ? MAD_OK : MAD_EBOOT;
}

static int put(struct mad_boot *boot, const char *key, const char *value)
{
    return result(PMI2_KVS_Put(key, value));
}

static int fence(struct mad_boot *boot)
{
    return result(PMI2_KVS_Fence());
}

static int get(struct mad_boot *boot, int rank, const char *key, char *value, size_t size)
{
    int length = 0, code;

    value[0] = '\0';
    code = PMI2_KVS_Get(boot->job, rank, key, value, (int)size, &length);
    if (code == PMI2_ERR_OTHER && length == 0)
        return MAD_OK; /* there is no such key */
    return length < 0 ? MAD_EBOOT : result(code);
}

/*
 * PMI-2 starts once in a process, but sessions may follow each other: the connection stays until
 * the process exits. In a simulation no exit handlers run, so it ends with the session there. A
 * program that called PMI2_Init itself keeps its connection, and ends it.
 */
#ifdef MAD_SIMULATED
enum { KEEPS_CONNECTION = 0 };
#else
enum { KEEPS_CONNECTION = 1 };
#endif

static void finalize(void)
{
    struct mad_process *process = mad_process();

    if (!process->pmi2->shared)
        PMI2_Finalize();
    free(process->pmi2);
    process->pmi2 = NULL;
}

static void close_boot(struct mad_boot *boot)
{
    assert(boot == mad_process()->pmi2);
    if (!KEEPS_CONNECTION)
        finalize();
}

static bool join(struct mad_boot *boot)
{
    int spawned, appnum;

    boot->shared = PMI2_Initialized();
    if (!boot->shared)
        return PMI2_Init(&spawned, &boot->size, &boot->rank, &appnum) == PMI2_SUCCESS;
    return PMI2_Job_GetRank(&boot->rank) == PMI2_SUCCESS &&
           PMI2_Info_GetSize(&boot->size) == PMI2_SUCCESS;
}

static struct mad_boot *connect_pmi2(void)
{
    static const struct mad_boot_ops ops = {put, fence, get, close_boot};
    struct mad_boot *boot = calloc(1, sizeof(*boot));

    if (boot == NULL)
        return NULL;
    boot->ops = &ops;
    if (!join(boot)) {
        free(boot);
        return NULL;
    }
    if (PMI2_Job_GetId(boot->job, sizeof(boot->job)) != PMI2_SUCCESS) {
        if (!boot->shared)
            PMI2_Finalize();
        free(boot);
        return NULL;
    }
    return boot;
}

struct mad_boot *mad_boot_pmi2(void)
{
    struct mad_process *process = mad_process();

    if (process->pmi2 == NULL) {
        process->pmi2 = connect_pmi2();
        if (process->pmi2 != NULL && KEEPS_CONNECTION)
            atexit(finalize);
    }
    return process->pmi2;
}
