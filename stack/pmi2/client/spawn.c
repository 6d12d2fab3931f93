/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "client.h"

static int arguments(const struct pmi2_spawn_args *args, int i)
{
    int count = 0;

    if (args->argvs == NULL || args->argvs[i] == NULL)
        return 0;
    if (args->argcs != NULL)
        return args->argcs[i];
    while (args->argvs[i][count] != NULL)
        count++;
    return count;
}

static int infos(const struct pmi2_spawn_args *args, int i)
{
    return args->info_sizes != NULL ? args->info_sizes[i] : 0;
}

static int check_records(const struct pmi2_spawn_args *args, int i, int count)
{
    struct pmi2_spawn_record record;
    int j, code;

    if (count < 0)
        return PMI2_ERR_INVALID_KEYVALP;
    for (j = 0; j < count; j++) {
        record = args->record(args, i, j);
        if (record.key == NULL || record.value == NULL)
            return PMI2_ERR_INVALID_KEYVALP;
        code = i < 0 ? pmi2_key_check(pmi2_text(record.key)) : PMI2_SUCCESS;
        if (code == PMI2_SUCCESS && i < 0)
            code = pmi2_value_check(pmi2_text(record.value));
        if (code != PMI2_SUCCESS)
            return code;
    }
    return PMI2_SUCCESS;
}

static int check_command(const struct pmi2_spawn_args *args, int i)
{
    int j;

    if (args->commands[i] == NULL)
        return PMI2_ERR_INVALID_ARG;
    if (args->processes[i] < 0)
        return PMI2_ERR_INVALID_SIZE;
    if (args->argcs != NULL && args->argcs[i] < 0)
        return PMI2_ERR_INVALID_NUM_ARGS;
    for (j = 0; j < arguments(args, i); j++)
        if (args->argvs[i][j] == NULL)
            return PMI2_ERR_INVALID_ARGS;
    return check_records(args, i, infos(args, i));
}

static int check(const struct pmi2_spawn_args *args)
{
    int i, code;

    if (args->count < 1 || args->commands == NULL || args->processes == NULL)
        return PMI2_ERR_INVALID_ARG;
    if (args->jobid == NULL ? args->jobid_size != 0 : args->jobid_size < 1)
        return PMI2_ERR_INVALID_LENGTH;
    for (i = 0; i < args->count; i++) {
        code = check_command(args, i);
        if (code != PMI2_SUCCESS)
            return code;
    }
    return check_records(args, -1, args->preput_size);
}

/* ---- requests -----------------------------------------------------------------------------------
 */

static void numbered(struct pmi2_buffer *out, const char *form, int number, const char *value)
{
    char key[32];

    snprintf(key, sizeof(key), form, number);
    pmi2_frame_text(out, key, value);
}

static void records(struct pmi2_buffer *out, const struct pmi2_spawn_args *args, int i, int count,
                    const char *key, const char *value)
{
    struct pmi2_spawn_record record;
    int j;

    for (j = 0; j < count; j++) {
        record = args->record(args, i, j);
        numbered(out, key, j, record.key);
        numbered(out, value, j, record.value);
    }
}

static void write2(struct pmi2_buffer *out, const struct pmi2_spawn_args *args)
{
    int i, j;

    pmi2_frame_int(out, "ncmds", args->count);
    pmi2_frame_int(out, "preputcount", args->preput_size);
    records(out, args, -1, args->preput_size, "ppkey%d", "ppval%d");
    for (i = 0; i < args->count; i++) {
        pmi2_frame_text(out, "subcmd", args->commands[i]);
        pmi2_frame_int(out, "maxprocs", args->processes[i]);
        pmi2_frame_int(out, "argc", arguments(args, i));
        for (j = 0; j < arguments(args, i); j++)
            numbered(out, "argv%d", j, args->argvs[i][j]);
        pmi2_frame_int(out, "infokeycount", infos(args, i));
        records(out, args, i, infos(args, i), "infokey%d", "infoval%d");
    }
}

static void numbered1(struct pmi2_buffer *out, const char *form, int number, const char *value)
{
    char key[32];

    snprintf(key, sizeof(key), form, number);
    pmi2_mcmd_text(out, key, value);
}

static void records1(struct pmi2_buffer *out, const struct pmi2_spawn_args *args, int i, int count,
                     const char *form)
{
    struct pmi2_spawn_record record;
    char key[32], value[32];
    int j;

    snprintf(key, sizeof(key), "%s_num", form);
    pmi2_mcmd_int(out, key, count);
    snprintf(key, sizeof(key), "%s_key_%%d", form);
    snprintf(value, sizeof(value), "%s_val_%%d", form);
    for (j = 0; j < count; j++) {
        record = args->record(args, i, j);
        numbered1(out, key, j, record.key);
        numbered1(out, value, j, record.value);
    }
}

/* False: a text has a newline, which PMI-1 cannot say. */
static bool write1(struct pmi2_buffer *out, const struct pmi2_spawn_args *args)
{
    int i, j;

    for (i = 0; i < args->count; i++) {
        pmi2_mcmd_begin(out, "spawn");
        pmi2_mcmd_int(out, "nprocs", args->processes[i]);
        pmi2_mcmd_text(out, "execname", args->commands[i]);
        pmi2_mcmd_int(out, "totspawns", args->count);
        pmi2_mcmd_int(out, "spawnssofar", i + 1);
        for (j = 0; j < arguments(args, i); j++)
            numbered1(out, "arg%d", j + 1, args->argvs[i][j]);
        pmi2_mcmd_int(out, "argcnt", arguments(args, i));
        records1(out, args, -1, args->preput_size, "preput");
        records1(out, args, i, infos(args, i), "info");
        if (!pmi2_mcmd_end(out))
            return false;
    }
    return true;
}

/* ---- the answer ---------------------------------------------------------------------------------
 */

/* One code per process: err0, err1, …, or the list errcodes. False: one is not 0. */
static bool read_errors(const struct pmi2_message *reply, const struct pmi2_spawn_args *args,
                        int otherwise)
{
    bool good = true;
    struct pmi2_slice list = pmi2_message_value(reply, "errcodes"), piece;
    const char *end = list.at != NULL ? list.at + list.length : NULL, *comma;
    int processes = 0, i;
    int64_t code;
    char key[32];

    for (i = 0; i < args->count; i++)
        processes += args->processes[i];
    for (i = 0; i < processes; i++) {
        snprintf(key, sizeof(key), "err%d", i);
        piece = pmi2_message_value(reply, key);
        if (list.at != NULL && list.at < end) {
            comma = memchr(list.at, ',', (size_t)(end - list.at));
            if (piece.at == NULL)
                piece =
                    (struct pmi2_slice){list.at, (size_t)((comma != NULL ? comma : end) - list.at)};
            list.at = comma != NULL ? comma + 1 : end;
        }
        if (!pmi2_slice_int(piece, INT32_MIN, INT32_MAX, &code))
            code = otherwise;
        good = good && code == 0;
        if (args->errors != NULL)
            args->errors[i] = (int)code;
    }
    return good;
}

static int answer(const struct pmi2_call *call, const struct pmi2_spawn_args *args, int code)
{
    struct pmi2_slice jobid = pmi2_message_value(&call->reply, "jobid");

    if (!read_errors(&call->reply, args, code == PMI2_SUCCESS ? 0 : PMI2_ERR_OTHER) &&
        code == PMI2_SUCCESS)
        return PMI2_FAIL;
    if (code != PMI2_SUCCESS || args->jobid == NULL)
        return code;
    if (jobid.at == NULL && call->reply.format == PMI2_FORMAT_FRAME)
        return PMI2_ERR_OTHER;
    return pmi2_copy(jobid, args->jobid, (size_t)args->jobid_size) ? PMI2_SUCCESS : PMI2_ERR_NOMEM;
}

int pmi2_spawn(struct pmi2_client *client, const struct pmi2_spawn_args *args)
{
    struct pmi2_call call;
    int code = check(args);

    if (code != PMI2_SUCCESS)
        return code;
    if (client->protocol == 0)
        return PMI2_ERR_INIT;
    pmi2_call_init(&call, "spawn");
    call.slow = true;
    if (client->protocol == 2)
        write2(&call.request, args);
    else if (!write1(&call.request, args))
        code = PMI2_ERR_INVALID_ARGS;
    if (code == PMI2_SUCCESS)
        code = answer(&call, args, pmi2_call(client, &call));
    pmi2_call_fini(&call);
    return code;
}
