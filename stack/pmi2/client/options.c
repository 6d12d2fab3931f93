/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* PMI-1's functions that search for process manager options in the program's arguments. There are
 * never any. */
#include <stdlib.h>

#include "pmi.h"
#include "port/port.h"

static int none(PMI_keyval_t **keyvalp, int *size)
{
    if (keyvalp == NULL)
        return PMI_ERR_INVALID_KEYVALP;
    if (size == NULL)
        return PMI_ERR_INVALID_SIZE;
    *keyvalp = NULL;
    *size = 0;
    return PMI_SUCCESS;
}

int PMI_Parse_option(int num_args, char *args[], int *num_parsed, PMI_keyval_t **keyvalp, int *size)
{
    PORT_CALL(__func__);

    if (num_args < 1)
        return PMI_ERR_INVALID_NUM_ARGS;
    if (args == NULL)
        return PMI_ERR_INVALID_ARGS;
    if (num_parsed == NULL)
        return PMI_ERR_INVALID_NUM_PARSED;
    *num_parsed = 0;
    return none(keyvalp, size);
}

int PMI_Args_to_keyval(int *argcp, char *((*argvp)[]), PMI_keyval_t **keyvalp, int *size)
{
    PORT_CALL(__func__);

    if (argcp == NULL || argvp == NULL)
        return PMI_ERR_INVALID_ARG;
    return none(keyvalp, size);
}

int PMI_Free_keyvals(PMI_keyval_t keyvalp[], int size)
{
    PORT_CALL(__func__);
    int i;

    if (size < 0)
        return PMI_ERR_INVALID_SIZE;
    if (keyvalp == NULL && size != 0)
        return PMI_ERR_INVALID_KEYVALP;
    for (i = 0; i < size; i++) {
        free(keyvalp[i].key);
        free(keyvalp[i].val);
    }
    free(keyvalp);
    return PMI_SUCCESS;
}

int PMI_Get_options(char *str, int *length)
{
    PORT_CALL(__func__);

    if (length == NULL)
        return PMI_ERR_INVALID_ARG;
    if (str == NULL || *length < 1) {
        *length = 1;
        return str == NULL ? PMI_ERR_INVALID_ARG : PMI_ERR_NOMEM;
    }
    *str = '\0';
    *length = 1;
    return PMI_SUCCESS;
}
