/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Codes, their words, and texts for the caller. */
#include <stdio.h>
#include <string.h>

#include "client.h"

struct pmi2_slice pmi2_text(const char *text)
{
    return (struct pmi2_slice){text, strlen(text)};
}

bool pmi2_copy(struct pmi2_slice text, char *to, size_t room)
{
    size_t length;

    if (room == 0)
        return false;
    length = pmi2_utf8_cut(text, room - 1);
    if (length != 0)
        memcpy(to, text.at, length);
    to[length] = '\0';
    return length == text.length;
}

void pmi2_errmsg_set(struct pmi2_slice text)
{
    pmi2_copy(text, port_thread_room(), PORT_THREAD_BYTES);
}

const char *pmi2_errmsg(void)
{
    return port_thread_room();
}

const char *PMI2X_Error_string(int rc)
{
    PORT_CALL(__func__);
    static const char *const words[] = {
        [PMI2_SUCCESS] = "success",
        [PMI2_ERR_INIT] = "PMI is not initialised, or there is no process manager",
        [PMI2_ERR_NOMEM] = "out of memory, or the buffer is too short",
        [PMI2_ERR_INVALID_ARG] = "invalid argument",
        [PMI2_ERR_INVALID_KEY] = "invalid key",
        [PMI2_ERR_INVALID_KEY_LENGTH] = "key too long",
        [PMI2_ERR_INVALID_VAL] = "invalid value",
        [PMI2_ERR_INVALID_VAL_LENGTH] = "value too long",
        [PMI2_ERR_INVALID_LENGTH] = "invalid length",
        [PMI2_ERR_INVALID_NUM_ARGS] = "invalid number of arguments",
        [PMI2_ERR_INVALID_ARGS] = "invalid argument list",
        [PMI2_ERR_INVALID_NUM_PARSED] = "not a list of integers",
        [PMI2_ERR_INVALID_KEYVALP] = "invalid keys and values",
        [PMI2_ERR_INVALID_SIZE] = "size out of range",
        [PMI2_ERR_OTHER] = "other error",
    };

    if (rc == PMI2_FAIL)
        return "operation failed";
    if (rc < 0 || rc >= (int)(sizeof(words) / sizeof(words[0])))
        return "unknown error";
    return words[rc];
}

int pmi2_result(int code, const char *function)
{
    struct pmi2_client *client = code != PMI2_SUCCESS ? pmi2_client_get() : NULL;

    if (client == NULL || client->host == NULL || client->host->err_create == NULL)
        return code;
    return client->host->err_create(0, 0, function, 0, code, PMI2X_Error_string(code),
                                    pmi2_errmsg());
}

int PMI2X_Last_errmsg(char buf[], int len)
{
    PORT_CALL(__func__);
    const char *text = pmi2_errmsg();

    if (buf != NULL && len > 0)
        pmi2_copy(pmi2_text(text), buf, (size_t)len);
    return (int)strlen(text);
}
