/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* PMI2_ functions as shipped; draft.c and keyval.c have the other dialects. */
#include "pmi2.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

static_assert(PMI2_MAX_KEYLEN == PMI2_KEY_MAX && PMI2_MAX_VALLEN == PMI2_VALUE_MAX,
              "the interface promises what the wire carries");

_Static_assert(sizeof(void *) != 8 || (sizeof(PMI2_Connect_comm_t) == 32 &&
                                       offsetof(PMI2_Connect_comm_t, write) == 8 &&
                                       offsetof(PMI2_Connect_comm_t, ctx) == 16 &&
                                       offsetof(PMI2_Connect_comm_t, isMaster) == 24 &&
                                       offsetof(PMI2_Connect_comm_t, isMain) == 24),
               "layout of shipped binaries");
_Static_assert(sizeof(void *) != 8 ||
                   (sizeof(MPID_Info) == 40 && offsetof(MPID_Info, pobj_mutex) == 4 &&
                    offsetof(MPID_Info, ref_count) == 8 && offsetof(MPID_Info, next) == 16 &&
                    offsetof(MPID_Info, key) == 24 && offsetof(MPID_Info, value) == 32),
               "layout of shipped binaries");

/* ---- joining and leaving ----------------------------------------------------------------------*/

int pmi2_api_init(int *spawned, int *size, int *rank, int *appnum, bool v1)
{
    struct pmi2_client *client;
    int code;

    if (spawned == NULL || size == NULL || rank == NULL || appnum == NULL)
        return PMI2_ERR_INVALID_ARG;
    code = pmi2_client_open(v1);
    if (code != PMI2_SUCCESS)
        return code;
    client = pmi2_enter();
    if (client == NULL)
        return PMI2_ERR_INIT;
    *spawned = client->spawned;
    *size = client->size;
    *rank = client->rank;
    *appnum = client->appnum;
    pmi2_leave(client);
    return PMI2_SUCCESS;
}

int PMI2_Init(int *spawned, int *size, int *rank, int *appnum)
{
    PORT_CALL(__func__);
    const char *fallback = port_getenv("PMI2X_FALLBACK_V1");
    bool v1 = fallback != NULL && strcmp(fallback, "1") == 0;

    return pmi2_result(pmi2_api_init(spawned, size, rank, appnum, v1), __func__);
}

int PMI2_Finalize(void)
{
    PORT_CALL(__func__);

    return pmi2_result(pmi2_client_close(), __func__);
}

int PMI2_Initialized(void)
{
    PORT_CALL(__func__);

    return pmi2_client_is_open();
}

int PMI2_Abort(int flag, const char msg[])
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_enter();

    if (client == NULL)
        return pmi2_result(PMI2_ERR_INIT, __func__);
    if (client->protocol != 0)
        pmi2_abort(client, flag, flag != 0, msg);
    port_exit(flag);
}

/* ---- jobs -------------------------------------------------------------------------------------*/

/* An array of records, and an array of pointers to records. */
static struct pmi2_spawn_record record(const struct pmi2_spawn_args *args, int i, int j)
{
    const struct MPID_Info *const *infos = args->info, *const *preput = args->preput, *found;

    found = i < 0                               ? preput != NULL ? preput[j] : NULL
            : infos != NULL && infos[i] != NULL ? &infos[i][j]
                                                : NULL;
    if (found == NULL)
        return (struct pmi2_spawn_record){NULL, NULL};
    return (struct pmi2_spawn_record){found->key, found->value};
}

struct pmi2_spawn_args pmi2_api_spawn_args(int count, const char *const *commands,
                                           const char ***argvs, const int *processes,
                                           const int *info_sizes, const void *info, int preput_size,
                                           const void *preput, int *errors)
{
    return (struct pmi2_spawn_args){.count = count,
                                    .commands = commands,
                                    .argvs = argvs,
                                    .processes = processes,
                                    .info_sizes = info_sizes,
                                    .info = info,
                                    .preput = preput,
                                    .preput_size = preput_size,
                                    .record = record,
                                    .errors = errors};
}

int pmi2_api_spawn(struct pmi2_spawn_args *args)
{
    struct pmi2_client *client = pmi2_enter();
    int code;

    if (client == NULL)
        return PMI2_ERR_INIT;
    code = pmi2_spawn(client, args);
    pmi2_leave(client);
    return code;
}

int PMI2_Job_Spawn(int count, const char *cmds[], int argcs[], const char **argvs[],
                   const int maxprocs[], const int info_keyval_sizes[],
                   const struct MPID_Info *info_keyval_vectors[], int preput_keyval_size,
                   const struct MPID_Info *preput_keyval_vector[], char jobId[], int jobIdSize,
                   int errors[])
{
    PORT_CALL(__func__);
    struct pmi2_spawn_args args =
        pmi2_api_spawn_args(count, cmds, argcs != NULL ? argvs : NULL, maxprocs, info_keyval_sizes,
                            info_keyval_vectors, preput_keyval_size, preput_keyval_vector, errors);

    args.argcs = argcs;
    args.jobid = jobId;
    args.jobid_size = jobIdSize;
    return pmi2_result(pmi2_api_spawn(&args), __func__);
}

int PMI2_Job_GetId(char jobid[], int jobid_size)
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_enter();
    size_t needed = 0;
    int code;

    if (client == NULL)
        return pmi2_result(PMI2_ERR_INIT, __func__);
    if (jobid == NULL)
        code = PMI2_ERR_INVALID_ARG;
    else if (jobid_size < 1)
        code = PMI2_ERR_INVALID_LENGTH;
    else
        code = pmi2_job_id(client, jobid, (size_t)jobid_size, &needed);
    pmi2_leave(client);
    if (code == PMI2_SUCCESS && needed >= (size_t)jobid_size)
        code = PMI2_ERR_NOMEM;
    return pmi2_result(code, __func__);
}

int PMI2_Job_GetRank(int *rank)
{
    PORT_CALL(__func__);

    return pmi2_result(pmi2_client_number(rank, offsetof(struct pmi2_client, rank)), __func__);
}

int PMI2_Info_GetSize(int *size)
{
    PORT_CALL(__func__);

    return pmi2_result(pmi2_client_number(size, offsetof(struct pmi2_client, size)), __func__);
}

int PMI2_Job_Connect(const char jobid[], PMI2_Connect_comm_t *conn)
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_enter();
    int code = PMI2_ERR_INVALID_ARG;

    if (client == NULL)
        return pmi2_result(PMI2_ERR_INIT, __func__);
    if (jobid != NULL)
        code = pmi2_connect(client, jobid, conn);
    pmi2_leave(client);
    return pmi2_result(code, __func__);
}

int PMI2_Job_Disconnect(const char jobid[])
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_enter();
    int code = PMI2_ERR_INVALID_ARG;

    if (client == NULL)
        return pmi2_result(PMI2_ERR_INIT, __func__);
    if (jobid != NULL)
        code = pmi2_disconnect(client, jobid);
    pmi2_leave(client);
    return pmi2_result(code, __func__);
}

/* ---- keys and values --------------------------------------------------------------------------*/

static int put(const char *key, const char *value, int flags)
{
    struct pmi2_client *client = pmi2_enter();
    int code = PMI2_ERR_INVALID_ARG;

    if (client == NULL)
        return PMI2_ERR_INIT;
    if (key != NULL && value != NULL)
        code = pmi2_put(client, key, value, flags);
    pmi2_leave(client);
    return code;
}

int PMI2_KVS_Put(const char key[], const char value[])
{
    PORT_CALL(__func__);

    return pmi2_result(put(key, value, 0), __func__);
}

int PMI2X_KVS_Put_hint(const char key[], const char value[], int flags)
{
    PORT_CALL(__func__);

    return pmi2_result(flags & ~PMI2X_PUT_READ_ONLY ? PMI2_ERR_INVALID_ARG : put(key, value, flags),
                       __func__);
}

static int enter_fence(bool survivors)
{
    struct pmi2_client *client = pmi2_enter();
    int code;

    if (client == NULL)
        return PMI2_ERR_INIT;
    code = pmi2_fence(client, survivors);
    pmi2_leave(client);
    return code;
}

int PMI2_KVS_Fence(void)
{
    PORT_CALL(__func__);

    return pmi2_result(enter_fence(false), __func__);
}

int PMI2X_KVS_Fence_survivors(void)
{
    PORT_CALL(__func__);

    return pmi2_result(enter_fence(true), __func__);
}

/* *vallen: the length, or minus the room that is needed. The draft has no "length without NUL". */
int PMI2_KVS_Get(const char *jobid, int src_pmi_id, const char key[], char value[], int maxvalue,
                 int *vallen)
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_enter();
    size_t needed = 0;
    int code;

    if (client == NULL)
        return pmi2_result(PMI2_ERR_INIT, __func__);
    if (key == NULL || vallen == NULL || (value == NULL && maxvalue != 0))
        code = PMI2_ERR_INVALID_ARG;
    else if (maxvalue < 0)
        code = PMI2_ERR_INVALID_LENGTH;
    else
        code = pmi2_get(client, jobid, src_pmi_id, key, value, (size_t)maxvalue, &needed);
    pmi2_leave(client);
    if (vallen != NULL)
        *vallen = code != PMI2_SUCCESS        ? 0
                  : needed < (size_t)maxvalue ? (int)needed
                                              : -(int)(needed + 1);
    return pmi2_result(code, __func__);
}

/* ---- attributes -------------------------------------------------------------------------------*/

/* *needed: the length of the whole value. */
static int attribute(bool node, const char *name, char *value, int valuelen, int *found, bool wait,
                     size_t *needed)
{
    struct pmi2_client *client = pmi2_enter();
    bool there = false;
    int code;

    *needed = 0;
    if (client == NULL)
        return PMI2_ERR_INIT;
    if (name == NULL || value == NULL || found == NULL)
        code = PMI2_ERR_INVALID_ARG;
    else if (valuelen < 1)
        code = PMI2_ERR_INVALID_LENGTH;
    else
        code = pmi2_attribute(client, node, name, wait, value, (size_t)valuelen, needed, &there);
    pmi2_leave(client);
    if (found != NULL)
        *found = there;
    return code == PMI2_SUCCESS && there && *needed >= (size_t)valuelen ? PMI2_ERR_NOMEM : code;
}

int PMI2_Info_GetNodeAttr(const char name[], char value[], int valuelen, int *found, int waitfor)
{
    PORT_CALL(__func__);
    size_t needed;

    return pmi2_result(attribute(true, name, value, valuelen, found, waitfor != 0, &needed),
                       __func__);
}

int PMI2_Info_GetJobAttr(const char name[], char value[], int valuelen, int *found)
{
    PORT_CALL(__func__);
    size_t needed;

    return pmi2_result(attribute(false, name, value, valuelen, found, false, &needed), __func__);
}

static int parse(const char *text, int *array, int arraylen, int *outlen)
{
    size_t length;
    int64_t number;

    for (*outlen = 0; *outlen < arraylen; text += length + 1) {
        length = strcspn(text, ",");
        if (!pmi2_slice_int((struct pmi2_slice){text, length}, INT32_MIN, INT32_MAX, &number))
            return PMI2_ERR_INVALID_NUM_PARSED;
        array[(*outlen)++] = (int)number;
        if (text[length] == '\0')
            break;
    }
    return PMI2_SUCCESS;
}

int pmi2_api_int_array(bool node, const char *name, int *array, int arraylen, int *outlen,
                       int *found, bool wait)
{
    char text[PMI2_MAX_ATTRVALUE + 1], *longer;
    size_t needed;
    int code;

    if (array == NULL || outlen == NULL)
        return pmi2_client_is_open() ? PMI2_ERR_INVALID_ARG : PMI2_ERR_INIT;
    if (arraylen < 1)
        return pmi2_client_is_open() ? PMI2_ERR_INVALID_LENGTH : PMI2_ERR_INIT;
    *outlen = 0;
    code = attribute(node, name, text, sizeof(text), found, wait, &needed);
    if (code == PMI2_SUCCESS && *found)
        return parse(text, array, arraylen, outlen);
    if (code != PMI2_ERR_NOMEM || needed < sizeof(text))
        return code;
    longer = malloc(needed + 1); /* localRanks of a large node */
    if (longer == NULL)
        return code;
    code = attribute(node, name, longer, (int)(needed + 1), found, false, &needed);
    if (code == PMI2_SUCCESS && *found)
        code = parse(longer, array, arraylen, outlen);
    free(longer);
    return code;
}

int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int arraylen, int *outlen,
                                  int *found)
{
    PORT_CALL(__func__);

    return pmi2_result(pmi2_api_int_array(true, name, array, arraylen, outlen, found, false),
                       __func__);
}

int PMI2_Info_GetJobAttrIntArray(const char name[], int array[], int arraylen, int *outlen,
                                 int *found)
{
    PORT_CALL(__func__);

    return pmi2_result(pmi2_api_int_array(false, name, array, arraylen, outlen, found, false),
                       __func__);
}

int PMI2_Info_PutNodeAttr(const char name[], const char value[])
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_enter();
    int code = PMI2_ERR_INVALID_ARG;

    if (client == NULL)
        return pmi2_result(PMI2_ERR_INIT, __func__);
    if (name != NULL && value != NULL)
        code = pmi2_put_attribute(client, name, value);
    pmi2_leave(client);
    return pmi2_result(code, __func__);
}

/* ---- names and ring ---------------------------------------------------------------------------*/

int pmi2_api_publish(const char *name, const char *key, const char *value, const char *port)
{
    struct pmi2_client *client = pmi2_enter();
    int code = PMI2_ERR_INVALID_ARG;

    if (client == NULL)
        return PMI2_ERR_INIT;
    if (name != NULL && port != NULL)
        code = pmi2_publish(client, name, key, value, port);
    pmi2_leave(client);
    return code;
}

int pmi2_api_lookup(const char *name, const char *key, const char *value, char *port, int length)
{
    struct pmi2_client *client = pmi2_enter();
    size_t needed = 0;
    int code = PMI2_ERR_INVALID_ARG;

    if (client == NULL)
        return PMI2_ERR_INIT;
    if (length < 1)
        code = PMI2_ERR_INVALID_LENGTH;
    else if (name != NULL && port != NULL)
        code = pmi2_lookup(client, name, key, value, port, (size_t)length, &needed);
    pmi2_leave(client);
    return code == PMI2_SUCCESS && needed >= (size_t)length ? PMI2_ERR_NOMEM : code;
}

int pmi2_api_unpublish(const char *name, const char *key, const char *value)
{
    struct pmi2_client *client = pmi2_enter();
    int code = PMI2_ERR_INVALID_ARG;

    if (client == NULL)
        return PMI2_ERR_INIT;
    if (name != NULL)
        code = pmi2_unpublish(client, name, key, value);
    pmi2_leave(client);
    return code;
}

static const char *key_of(const struct MPID_Info *info)
{
    return info != NULL ? info->key : NULL;
}

static const char *value_of(const struct MPID_Info *info)
{
    return info != NULL ? info->value : NULL;
}

int PMI2_Nameserv_publish(const char service_name[], const struct MPID_Info *info_ptr,
                          const char port[])
{
    PORT_CALL(__func__);

    return pmi2_result(pmi2_api_publish(service_name, key_of(info_ptr), value_of(info_ptr), port),
                       __func__);
}

int PMI2_Nameserv_lookup(const char service_name[], const struct MPID_Info *info_ptr, char port[],
                         int portLen)
{
    PORT_CALL(__func__);

    return pmi2_result(
        pmi2_api_lookup(service_name, key_of(info_ptr), value_of(info_ptr), port, portLen),
        __func__);
}

int PMI2_Nameserv_unpublish(const char service_name[], const struct MPID_Info *info_ptr)
{
    PORT_CALL(__func__);

    return pmi2_result(pmi2_api_unpublish(service_name, key_of(info_ptr), value_of(info_ptr)),
                       __func__);
}

int PMIX_Ring(const char value[], int *rank, int *ranks, char left[], char right[], int maxvalue)
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_enter();
    int code = PMI2_ERR_INVALID_ARG;

    if (client == NULL)
        return pmi2_result(PMI2_ERR_INIT, __func__);
    if (maxvalue < 1)
        code = PMI2_ERR_INVALID_LENGTH;
    else if (value != NULL && rank != NULL && ranks != NULL && left != NULL && right != NULL) {
        if (maxvalue > PMI2_MAX_VALLEN)
            maxvalue = PMI2_MAX_VALLEN;
        if (strlen(value) >= (size_t)maxvalue) {
            code = PMI2_ERR_INVALID_LENGTH;
        } else {
            code = pmi2_ring(client, value, rank, left, right, (size_t)maxvalue);
            *ranks = client->size;
        }
    }
    pmi2_leave(client);
    return pmi2_result(code, __func__);
}

/* ---- extensions -------------------------------------------------------------------------------*/

int PMI2X_Server_version(int *version, int *subversion)
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_client_get();

    if (client == NULL)
        return PMI2_ERR_NOMEM;
    if (version == NULL || subversion == NULL)
        return pmi2_result(PMI2_ERR_INVALID_ARG, __func__);
    port_mutex_lock(&client->lock);
    *version = client->server_version;
    *subversion = client->server_subversion;
    port_mutex_unlock(&client->lock);
    return PMI2_SUCCESS;
}

int PMI2X_Set_host(const PMI2X_host_t *host)
{
    PORT_CALL(__func__);
    struct pmi2_client *client = pmi2_client_get();
    bool closed;

    if (client == NULL)
        return PMI2_ERR_NOMEM;
    if (host != NULL && host->size < sizeof(PMI2X_host_t))
        return PMI2_ERR_INVALID_SIZE;
    if (host != NULL && host->version != 1)
        return PMI2_ERR_INVALID_ARG;
    port_mutex_lock(&client->lock);
    closed = client->state == PMI2_CLOSED;
    if (closed)
        client->host = host;
    port_mutex_unlock(&client->lock);
    return closed ? PMI2_SUCCESS : PMI2_ERR_OTHER;
}

const PMI2X_api_t *PMI2X_Get_api(int version)
{
    PORT_CALL(__func__);
    static const PMI2X_api_t api = {
        .size = sizeof(PMI2X_api_t),
        .version = 1,
        .init = PMI2_Init,
        .finalize = PMI2_Finalize,
        .initialized = PMI2_Initialized,
        .abort = PMI2_Abort,
        .job_spawn = PMI2_Job_Spawn,
        .job_getid = PMI2_Job_GetId,
        .job_getrank = PMI2_Job_GetRank,
        .job_connect = PMI2_Job_Connect,
        .job_disconnect = PMI2_Job_Disconnect,
        .kvs_put = PMI2_KVS_Put,
        .kvs_fence = PMI2_KVS_Fence,
        .kvs_get = PMI2_KVS_Get,
        .info_getsize = PMI2_Info_GetSize,
        .info_getnodeattr = PMI2_Info_GetNodeAttr,
        .info_getnodeattrintarray = PMI2_Info_GetNodeAttrIntArray,
        .info_putnodeattr = PMI2_Info_PutNodeAttr,
        .info_getjobattr = PMI2_Info_GetJobAttr,
        .info_getjobattrintarray = PMI2_Info_GetJobAttrIntArray,
        .nameserv_publish = PMI2_Nameserv_publish,
        .nameserv_lookup = PMI2_Nameserv_lookup,
        .nameserv_unpublish = PMI2_Nameserv_unpublish,
        .ring = PMIX_Ring,
        .error_string = PMI2X_Error_string,
        .server_version = PMI2X_Server_version,
        .kvs_put_hint = PMI2X_KVS_Put_hint,
        .last_errmsg = PMI2X_Last_errmsg,
        .kvs_fence_survivors = PMI2X_KVS_Fence_survivors,
    };

    return version == 1 ? &api : NULL;
}
