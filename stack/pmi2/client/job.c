/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The job's id, its connections with other jobs, the ring of its processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

int pmi2_job_id(struct pmi2_client *client, char *id, size_t room, size_t *needed)
{
    struct pmi2_slice text = {NULL, 0};
    struct pmi2_call call;
    int code = PMI2_SUCCESS;

    pmi2_call_init(&call, "job-getid");
    if (client->protocol == 2) {
        code = pmi2_call(client, &call);
        text = pmi2_message_value(&call.reply, "jobid");
        if (code == PMI2_SUCCESS && text.at == NULL)
            code = PMI2_ERR_OTHER;
    } else {
        text = pmi2_text(client->jobid);
    }
    if (code == PMI2_SUCCESS) {
        *needed = text.length;
        pmi2_copy(text, id, room);
    }
    pmi2_call_fini(&call);
    return code;
}

/* ---- connecting ---------------------------------------------------------------------------------
 */

static bool compose_putall(struct pmi2_buffer *frames, const struct pmi2_call *call, uint64_t thrid)
{
    const struct pmi2_call *got = call->context; /* what was read: pairs as frames */
    struct pmi2_decoder decoder;
    struct pmi2_message pair;
    bool good;

    pmi2_frame_begin(frames, "kvs-putall");
    pmi2_frame_int(frames, "thrid", (int64_t)thrid);
    pmi2_frame_pairs(frames, &call->request);
    pmi2_frame_int(frames, "npair", got->collected_count);
    good = pmi2_frame_end(frames);
    pmi2_decoder_init(&decoder);
    good = good && pmi2_decoder_feed(&decoder, got->collected->bytes, got->collected->length);
    while (good && pmi2_decoder_next(&decoder, &pair) == PMI2_DECODED_MESSAGE) {
        pmi2_frame_begin(frames, "kvs-putall-pair");
        pmi2_frame_int(frames, "thrid", (int64_t)thrid);
        pmi2_frame_slice(frames, "key", pmi2_message_value(&pair, "key"));
        pmi2_frame_slice(frames, "value", pmi2_message_value(&pair, "value"));
        good = pmi2_frame_end(frames);
    }
    pmi2_decoder_fini(&decoder);
    return good;
}

int pmi2_get_all(struct pmi2_client *client, struct pmi2_buffer *pairs)
{
    char own[PMI2_JOBID_MAX + 1];
    struct pmi2_call call;
    size_t needed;
    int code;

    if (!(client->caps & PMI2_CAP_GETALL))
        return PMI2_FAIL;
    code = pmi2_job_id(client, own, sizeof(own), &needed);
    if (code != PMI2_SUCCESS)
        return code;
    pmi2_call_init(&call, "kvs-getall");
    pmi2_frame_text(&call.request, "jobid", own);
    call.collected = pairs;
    call.slow = true;
    code = pmi2_call_once(client, &call);
    return pairs->failed ? PMI2_ERR_NOMEM : code;
}

/* Ours to the other side: frames, and an empty one. */
static bool write_pairs(struct pmi2_client *client, const PMI2_Connect_comm_t *conn)
{
    struct pmi2_buffer pairs = {0};
    bool good;

    good = pmi2_get_all(client, &pairs) == PMI2_SUCCESS && pairs.length <= INT32_MAX &&
           (pairs.length == 0 || conn->write(pairs.bytes, (int)pairs.length, conn->ctx) == 0) &&
           conn->write("     0", PMI2_LENGTH_SIZE, conn->ctx) == 0;
    pmi2_buffer_fini(&pairs);
    return good;
}

/* One frame of the other side, with its length. False: broken; *last: the empty one. */
static bool read_pair(const PMI2_Connect_comm_t *conn, struct pmi2_decoder *decoder,
                      struct pmi2_message *pair, bool *last)
{
    char length[PMI2_LENGTH_SIZE], payload[PMI2_LENGTH_SIZE + 4096];
    int64_t bytes;
    size_t blanks = 0;

    if (conn->read(length, PMI2_LENGTH_SIZE, conn->ctx) != 0)
        return false;
    while (blanks < PMI2_LENGTH_SIZE - 1 && length[blanks] == ' ')
        blanks++;
    if (!pmi2_slice_int((struct pmi2_slice){length + blanks, PMI2_LENGTH_SIZE - blanks}, 0, 4096,
                        &bytes))
        return false;
    *last = bytes == 0;
    if (*last)
        return true;
    memcpy(payload, length, PMI2_LENGTH_SIZE);
    return conn->read(payload + PMI2_LENGTH_SIZE, (int)bytes, conn->ctx) == 0 &&
           pmi2_decoder_feed(decoder, payload, PMI2_LENGTH_SIZE + (size_t)bytes) &&
           pmi2_decoder_next(decoder, pair) == PMI2_DECODED_MESSAGE;
}

/* Theirs to our server. */
static bool read_pairs(struct pmi2_client *client, const char *jobid,
                       const PMI2_Connect_comm_t *conn)
{
    struct pmi2_buffer pairs = {0};
    struct pmi2_call got, call;
    struct pmi2_decoder decoder;
    struct pmi2_message pair;
    bool good, last = false;

    pmi2_call_init(&got, "kvs-getall");
    pmi2_decoder_init(&decoder);
    got.collected = &pairs;
    while ((good = read_pair(conn, &decoder, &pair, &last)) && !last) {
        pmi2_frame_begin(&pairs, "kvs-putall-pair");
        pmi2_frame_slice(&pairs, "key", pmi2_message_value(&pair, "key"));
        pmi2_frame_slice(&pairs, "value", pmi2_message_value(&pair, "value"));
        pmi2_frame_end(&pairs);
        got.collected_count++;
    }
    pmi2_decoder_fini(&decoder);
    pmi2_call_init(&call, "kvs-putall");
    pmi2_frame_text(&call.request, "jobid", jobid);
    call.compose = compose_putall;
    call.context = &got;
    good = good && !pairs.failed && pmi2_call(client, &call) == PMI2_SUCCESS;
    pmi2_call_fini(&call);
    pmi2_buffer_fini(&pairs);
    return good;
}

static bool can_copy(const struct pmi2_client *client, const PMI2_Connect_comm_t *conn)
{
    return conn != NULL && conn->read != NULL && conn->write != NULL &&
           (client->caps & PMI2_CAP_GETALL);
}

/* The servers do not know each other, so the connecting processes copy the pairs. */
static int exchange(struct pmi2_client *client, const char *jobid, const PMI2_Connect_comm_t *conn)
{
    char own[PMI2_JOBID_MAX + 1];
    bool first;
    size_t needed;
    int code;

    if (!can_copy(client, conn)) /* no callback was given */
        return PMI2_FAIL;
    first = conn->isMaster == 1;
    if (conn->isMaster < 0) {
        code = pmi2_job_id(client, own, sizeof(own), &needed);
        if (code != PMI2_SUCCESS)
            return code;
        first = strcmp(own, jobid) < 0;
    }
    if (first ? write_pairs(client, conn) && read_pairs(client, jobid, conn)
              : read_pairs(client, jobid, conn) && write_pairs(client, conn))
        return PMI2_SUCCESS;
    return PMI2_FAIL;
}

int pmi2_connect(struct pmi2_client *client, const char *jobid, const PMI2_Connect_comm_t *conn)
{
    struct pmi2_call call;
    bool copies = false;
    int code;

    if (client->protocol != 2)
        return client->protocol == 0 ? PMI2_ERR_INIT : PMI2_FAIL;
    pmi2_call_init(&call, "job-connect");
    call.slow = true;
    pmi2_frame_text(&call.request, "jobid", jobid);
    if (can_copy(client, conn))
        pmi2_frame_bool(&call.request, "copy", true);
    code = pmi2_call(client, &call);
    if (code == PMI2_SUCCESS)
        pmi2_slice_bool(pmi2_message_value(&call.reply, "kvscopy"), &copies);
    pmi2_call_fini(&call);
    return code == PMI2_SUCCESS && copies ? exchange(client, jobid, conn) : code;
}

int pmi2_disconnect(struct pmi2_client *client, const char *jobid)
{
    struct pmi2_call call;

    if (client->protocol != 2)
        return client->protocol == 0 ? PMI2_ERR_INIT : PMI2_FAIL;
    pmi2_call_init(&call, "job-disconnect");
    pmi2_frame_text(&call.request, "jobid", jobid);
    return pmi2_call_once(client, &call);
}

/* ---- ring ---------------------------------------------------------------------------------------
 */

int pmi2_ring(struct pmi2_client *client, const char *value, int *rank, char *left, char *right,
              size_t room)
{
    struct pmi2_call call;
    int64_t place;
    int code;

    *rank = 0;
    if (client->size == 1) {
        pmi2_copy(pmi2_text(value), left, room);
        pmi2_copy(pmi2_text(value), right, room);
        return PMI2_SUCCESS;
    }
    if (client->protocol != 2)
        return PMI2_FAIL;
    pmi2_call_init(&call, "ring");
    call.slow = true;
    pmi2_frame_int(&call.request, "ring-count", 1);
    pmi2_frame_text(&call.request, "ring-left", value);
    pmi2_frame_text(&call.request, "ring-right", value);
    code = pmi2_call(client, &call);
    if (code == PMI2_SUCCESS &&
        !pmi2_slice_int(pmi2_message_value(&call.reply, "ring-count"), 0, INT32_MAX, &place))
        code = PMI2_ERR_OTHER;
    if (code == PMI2_SUCCESS) {
        *rank = (int)place;
        pmi2_copy(pmi2_message_value(&call.reply, "ring-left"), left, room);
        pmi2_copy(pmi2_message_value(&call.reply, "ring-right"), right, room);
    }
    pmi2_call_fini(&call);
    return code;
}
