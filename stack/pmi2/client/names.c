/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Published names. PMI-1 says `info=fail` where PMI-2 has a code. */
#include <string.h>

#include "client.h"

static int check(const struct pmi2_client *client, const char *name, const char *port)
{
    if (client->protocol == 0)
        return PMI2_ERR_INIT;
    if (name[0] == '\0' || strlen(name) > PMI2_VALUE_MAX ||
        (port != NULL && strlen(port) > PMI2_VALUE_MAX))
        return PMI2_ERR_INVALID_SIZE;
    return PMI2_SUCCESS;
}

/* port NULL: none. Success: the call is to be finished. */
static int prepare(const struct pmi2_client *client, struct pmi2_call *call,
                   const char *const commands[2], const char *name, const char *port)
{
    bool v1 = client->protocol == 1;
    const char *command = commands[v1 ? 0 : 1];
    int code = check(client, name, port);

    if (code != PMI2_SUCCESS)
        return code;
    pmi2_call_init(call, command);
    if (v1)
        pmi2_line_begin(&call->request, command);
    if (v1)
        pmi2_line_text(&call->request, "service", name);
    else
        pmi2_frame_text(&call->request, "name", name);
    if (port != NULL && v1)
        pmi2_value1_write(&call->request, "port", port);
    else if (port != NULL)
        pmi2_frame_text(&call->request, "port", port);
    return PMI2_SUCCESS;
}

static int ask(struct pmi2_client *client, struct pmi2_call *call, const char *info_key,
               const char *info_value)
{
    int code;

    if (client->protocol == 1) {
        pmi2_line_end(&call->request);
    } else {
        pmi2_frame_int(&call->request, "infokeycount", info_key != NULL);
        if (info_key != NULL) {
            pmi2_frame_text(&call->request, "infokey0", info_key);
            pmi2_frame_text(&call->request, "infoval0", info_value != NULL ? info_value : "");
        }
    }
    code = pmi2_call(client, call);
    if (code == PMI2_SUCCESS && pmi2_slice_is(pmi2_message_value(&call->reply, "info"), "fail"))
        return PMI2_FAIL;
    return code;
}

int pmi2_publish(struct pmi2_client *client, const char *name, const char *info_key,
                 const char *info_value, const char *port)
{
    static const char *const commands[2] = {"publish_name", "name-publish"};
    struct pmi2_call call;
    int code = prepare(client, &call, commands, name, port);

    if (code != PMI2_SUCCESS)
        return code;
    code = ask(client, &call, info_key, info_value);
    pmi2_call_fini(&call);
    return code;
}

/* Hydra calls it port, Slurm value. */
static struct pmi2_slice port_of(const struct pmi2_message *reply)
{
    struct pmi2_slice port = pmi2_message_value(reply, "port");

    if (port.at == NULL)
        port = pmi2_message_value(reply, "value");
    return reply->format == PMI2_FORMAT_FRAME ? port : pmi2_value1_read(port);
}

static bool said_absent(const struct pmi2_message *reply)
{
    bool found;

    return pmi2_slice_bool(pmi2_message_value(reply, "found"), &found) && !found;
}

int pmi2_lookup(struct pmi2_client *client, const char *name, const char *info_key,
                const char *info_value, char *port, size_t room, size_t *needed)
{
    static const char *const commands[2] = {"lookup_name", "name-lookup"};
    struct pmi2_slice text;
    struct pmi2_call call;
    int code = prepare(client, &call, commands, name, NULL);

    if (code != PMI2_SUCCESS)
        return code;
    code = ask(client, &call, info_key, info_value);
    text = code == PMI2_SUCCESS ? port_of(&call.reply) : (struct pmi2_slice){NULL, 0};
    if (code == PMI2_SUCCESS && (text.at == NULL || said_absent(&call.reply)))
        code = PMI2_FAIL;
    if (code == PMI2_SUCCESS) {
        *needed = text.length;
        pmi2_copy(text, port, room);
    }
    pmi2_call_fini(&call);
    return code;
}

int pmi2_unpublish(struct pmi2_client *client, const char *name, const char *info_key,
                   const char *info_value)
{
    static const char *const commands[2] = {"unpublish_name", "name-unpublish"};
    struct pmi2_call call;
    int code = prepare(client, &call, commands, name, NULL);

    if (code != PMI2_SUCCESS)
        return code;
    code = ask(client, &call, info_key, info_value);
    pmi2_call_fini(&call);
    return code;
}
