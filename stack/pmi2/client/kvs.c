/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The job's space of keys and values. */
#include <string.h>

#include "client.h"

int pmi2_put(struct pmi2_client *client, const char *key, const char *value, int flags)
{
    struct pmi2_call call;
    int code = pmi2_key_check(pmi2_text(key));

    if (code == PMI2_SUCCESS)
        code = pmi2_value_check(pmi2_text(value));
    if (code != PMI2_SUCCESS)
        return code;
    if (client->protocol == 0)
        return pmi2_alone_put(client, key, value);
    if (client->protocol == 1) {
        pmi2_call_init(&call, "put");
        pmi2_line_begin(&call.request, "put");
        pmi2_line_text(&call.request, "kvsname", client->jobid);
        pmi2_line_text(&call.request, "key", key);
        pmi2_value1_write(&call.request, "value", value);
        pmi2_line_end(&call.request);
    } else {
        pmi2_call_init(&call, "kvs-put");
        pmi2_frame_text(&call.request, "key", key);
        pmi2_frame_text(&call.request, "value", value);
        if (flags & PMI2X_PUT_READ_ONLY && client->caps != 0)
            pmi2_frame_bool(&call.request, "readonly", true);
    }
    return pmi2_call_once(client, &call);
}

/*
 * Hydra answers a fence at once and delays later gets until all ranks have entered. Programs expect
 * a barrier, so the client adds a get of a key that does not exist.
 */
static int wait_for_all(struct pmi2_client *client)
{
    size_t needed;
    int code = pmi2_get(client, NULL, 0, "-NONEXIST-KEY", NULL, 0, &needed);

    return code == PMI2_ERR_OTHER ? PMI2_SUCCESS : code;
}

static int fence(struct pmi2_client *client, bool survivors)
{
    struct pmi2_call call;
    int code;

    if (client->protocol == 1) {
        pmi2_call_init(&call, "barrier_in");
        pmi2_line_begin(&call.request, "barrier_in");
        pmi2_line_end(&call.request);
        return pmi2_call_once(client, &call);
    }
    pmi2_call_init(&call, "kvs-fence");
    call.slow = true;
    if (survivors)
        pmi2_frame_bool(&call.request, "survivors", true);
    code = pmi2_call_once(client, &call);
    if (code != PMI2_SUCCESS || client->caps & PMI2_CAP_STRICT_FENCE)
        return code;
    return wait_for_all(client);
}

int pmi2_fence(struct pmi2_client *client, bool survivors)
{
    bool entered;
    int code;

    if (client->protocol == 0) {
        pmi2_alone_commit(client);
        return PMI2_SUCCESS;
    }
    if (survivors && !(client->caps & PMI2_CAP_SURVIVORS))
        return PMI2_FAIL;
    port_mutex_lock(&client->lock);
    entered = client->fencing;
    client->fencing = true;
    port_mutex_unlock(&client->lock);
    if (entered)
        return PMI2_ERR_OTHER;
    code = fence(client, survivors);
    port_mutex_lock(&client->lock);
    client->fencing = false;
    port_mutex_unlock(&client->lock);
    return code;
}

/* PMI-1: any nonzero rc means that there is no such key; PMI-2 has `found`. */
static int get(struct pmi2_client *client, struct pmi2_call *call, struct pmi2_slice *value)
{
    int code = pmi2_call(client, call);

    if (call->reply_memory == NULL)
        return code;
    if (client->protocol == 1 && code != PMI2_SUCCESS)
        return PMI2_ERR_OTHER;
    if (code != PMI2_SUCCESS)
        return code;
    if (!pmi2_reply_found(&call->reply))
        return PMI2_ERR_OTHER;
    *value = pmi2_message_value(&call->reply, "value");
    if (client->protocol == 1)
        *value = pmi2_value1_read(*value);
    return value->at != NULL ? PMI2_SUCCESS : PMI2_ERR_OTHER;
}

int pmi2_get(struct pmi2_client *client, const char *jobid, int source, const char *key,
             char *value, size_t room, size_t *needed)
{
    struct pmi2_slice found = {NULL, 0};
    struct pmi2_call call;
    const char *own;
    int code = pmi2_key_check(pmi2_text(key));

    *needed = 0;
    pmi2_copy(pmi2_text(""), value, room);
    if (code != PMI2_SUCCESS)
        return code;
    if (client->protocol != 2 && jobid != NULL && strcmp(jobid, client->jobid) != 0)
        return PMI2_FAIL;
    if (client->protocol == 0) {
        own = pmi2_alone_get(client, key);
        if (own == NULL)
            return PMI2_ERR_OTHER;
        *needed = strlen(own);
        pmi2_copy(pmi2_text(own), value, room);
        return PMI2_SUCCESS;
    }
    if (client->protocol == 1) {
        pmi2_call_init(&call, "get");
        pmi2_line_begin(&call.request, "get");
        pmi2_line_text(&call.request, "kvsname", client->jobid);
        pmi2_line_text(&call.request, "key", key);
        pmi2_line_end(&call.request);
    } else {
        pmi2_call_init(&call, "kvs-get");
        if (jobid != NULL)
            pmi2_frame_text(&call.request, "jobid", jobid);
        pmi2_frame_int(&call.request, "srcid", source);
        pmi2_frame_text(&call.request, "key", key);
    }
    code = get(client, &call, &found);
    if (code == PMI2_SUCCESS) {
        *needed = found.length;
        pmi2_copy(found, value, room);
    }
    pmi2_call_fini(&call);
    return code;
}
