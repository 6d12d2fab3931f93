/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attributes of the node and the job. */
#include <string.h>

#include "client.h"

static bool give(const char *text, char *value, size_t room, size_t *needed)
{
    *needed = strlen(text);
    pmi2_copy(pmi2_text(text), value, room);
    return true;
}

/* One process on one node. */
static bool alone(bool node, const char *name, char *value, size_t room, size_t *needed)
{
    if (node && strcmp(name, "localRanksCount") == 0)
        return give("1", value, room, needed);
    if (node && strcmp(name, "localRanks") == 0)
        return give("0", value, room, needed);
    if (!node && strcmp(name, "universeSize") == 0)
        return give("1", value, room, needed);
    if (!node && strcmp(name, "PMI_process_mapping") == 0)
        return give("(vector,(0,1,1))", value, room, needed);
    return false;
}

/* What PMI-1 has of them. -1: the size of the universe is not known. */
static int attribute1(struct pmi2_client *client, const char *name, char *value, size_t room,
                      size_t *needed, bool *found)
{
    struct pmi2_slice size;
    struct pmi2_call call;
    int code;

    if (strcmp(name, "PMI_process_mapping") == 0) {
        code = pmi2_get(client, NULL, 0, name, value, room, needed);
        *found = code == PMI2_SUCCESS;
        return code == PMI2_ERR_OTHER ? PMI2_SUCCESS : code;
    }
    if (strcmp(name, "universeSize") != 0)
        return PMI2_SUCCESS;
    pmi2_call_init(&call, "get_universe_size");
    pmi2_line_begin(&call.request, "get_universe_size");
    pmi2_line_end(&call.request);
    code = pmi2_call(client, &call);
    size = pmi2_message_value(&call.reply, "size");
    if (code == PMI2_SUCCESS && size.at != NULL && !pmi2_slice_is(size, "-1"))
        *found = give(size.at, value, room, needed);
    pmi2_call_fini(&call);
    return code;
}

/* *length: of the whole value; 0: not found. */
static int ask_piece(struct pmi2_client *client, bool node, const char *name, size_t offset,
                     struct pmi2_call *call, struct pmi2_slice *piece, size_t *length)
{
    int64_t whole = 0;
    int code;

    *piece = (struct pmi2_slice){NULL, 0};
    pmi2_call_init(call, node ? "info-getnodeattr" : "info-getjobattr");
    pmi2_frame_text(&call->request, "key", name);
    pmi2_frame_int(&call->request, "offset", (int64_t)offset);
    code = pmi2_call(client, call);
    if (code == PMI2_SUCCESS && pmi2_reply_found(&call->reply) &&
        pmi2_slice_int(pmi2_message_value(&call->reply, "length"), 0, INT32_MAX, &whole))
        *piece = pmi2_message_value(&call->reply, "value");
    *length = (size_t)whole;
    return code;
}

int pmi2_attribute_pieces(struct pmi2_client *client, bool node, const char *name, char *value,
                          size_t room, size_t *needed, bool *found)
{
    struct pmi2_slice piece;
    struct pmi2_call call;
    size_t offset = 0;
    int code;

    *found = false;
    *needed = 0;
    if (!(client->caps & PMI2_CAP_PIECES))
        return PMI2_SUCCESS;
    do {
        code = ask_piece(client, node, name, offset, &call, &piece, needed);
        if (offset < room)
            pmi2_copy(piece, value + offset, room - offset);
        offset += piece.length;
        *found = code == PMI2_SUCCESS && piece.at != NULL;
        pmi2_call_fini(&call);
    } while (*found && piece.length > 0 && offset < *needed && offset < room);
    return code;
}

int pmi2_attribute(struct pmi2_client *client, bool node, const char *name, bool wait, char *value,
                   size_t room, size_t *needed, bool *found)
{
    struct pmi2_slice text;
    struct pmi2_call call;
    int code;

    *found = false;
    *needed = 0;
    if (client->protocol == 0) {
        *found = alone(node, name, value, room, needed);
        return *found || !wait ? PMI2_SUCCESS : PMI2_ERR_INIT;
    }
    if (client->protocol == 1 && node)
        return wait ? PMI2_FAIL : PMI2_SUCCESS;
    if (client->protocol == 1)
        return attribute1(client, name, value, room, needed, found);
    pmi2_call_init(&call, node ? "info-getnodeattr" : "info-getjobattr");
    call.slow = wait;
    pmi2_frame_text(&call.request, "key", name);
    if (node)
        pmi2_frame_bool(&call.request, "wait", wait);
    code = pmi2_call(client, &call);
    if (code == PMI2_SUCCESS && pmi2_reply_found(&call.reply)) {
        text = pmi2_message_value(&call.reply, "value");
        *found = text.at != NULL;
        *needed = text.length;
        pmi2_copy(text, value, room);
    }
    pmi2_call_fini(&call);
    if (code == PMI2_ERR_NOMEM && client->caps & PMI2_CAP_PIECES) /* too long for one reply */
        return pmi2_attribute_pieces(client, node, name, value, room, needed, found);
    return code;
}

int pmi2_put_attribute(struct pmi2_client *client, const char *name, const char *value)
{
    struct pmi2_call call;
    int code = pmi2_key_check(pmi2_text(name));

    if (code == PMI2_SUCCESS)
        code = pmi2_value_check(pmi2_text(value));
    if (code != PMI2_SUCCESS)
        return code;
    if (client->protocol == 0)
        return PMI2_ERR_INIT;
    if (client->protocol == 1)
        return PMI2_FAIL;
    pmi2_call_init(&call, "info-putnodeattr");
    pmi2_frame_text(&call.request, "key", name);
    pmi2_frame_text(&call.request, "value", value);
    return pmi2_call_once(client, &call);
}
