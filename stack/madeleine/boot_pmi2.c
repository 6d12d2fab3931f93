/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The start of a session by PMI-2. */
#include <stdlib.h>

#include "boot.h"
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

static void close_boot(struct mad_boot *boot)
{
    PMI2_Finalize();
    free(boot);
}

struct mad_boot *mad_boot_pmi2(void)
{
    static const struct mad_boot_ops ops = {put, fence, get, close_boot};
    struct mad_boot *boot = calloc(1, sizeof(*boot));
    int spawned, appnum;

    if (boot == NULL)
        return NULL;
    boot->ops = &ops;
    if (PMI2_Init(&spawned, &boot->size, &boot->rank, &appnum) != PMI2_SUCCESS) {
        free(boot);
        return NULL;
    }
    if (PMI2_Job_GetId(boot->job, sizeof(boot->job)) != PMI2_SUCCESS) {
        close_boot(boot);
        return NULL;
    }
    return boot;
}
