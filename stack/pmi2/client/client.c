/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening and closing a client: the handshake, and the check that the caller may use it. */
#define _GNU_SOURCE /* explicit_bzero */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmi2/auth.h"

#define CAPABILITIES "strict-fence,thrid,escape,getall"

/* ---- the one object of the process --------------------------------------------------------------
 */

struct pmi2_client *pmi2_client_get(void)
{
    struct pmi2_client **slot = (struct pmi2_client **)port_slot(PORT_SLOT_PMI2);
    struct pmi2_client *client = __atomic_load_n(slot, __ATOMIC_ACQUIRE), *none = NULL;

    if (client != NULL)
        return client;
    client = calloc(1, sizeof(*client));
    if (client == NULL)
        return NULL;
    port_mutex_init(&client->lock);
    port_condition_init(&client->turn);
    client->process = port_process();
    if (__atomic_compare_exchange_n(slot, &none, client, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return client;
    port_condition_destroy(&client->turn);
    port_mutex_destroy(&client->lock);
    free(client);
    return none;
}

static void forget_jobid(struct pmi2_client *client)
{
    free(client->jobid);
    client->jobid = NULL;
}

static void forget_pmi1(struct pmi2_client *client)
{
    if (client->pmi1 != NULL)
        client->pmi1_free(client->pmi1);
    client->pmi1 = NULL;
}

void pmi2_client_free(struct pmi2_client *client)
{
    if (client == NULL || client->users != 0 || client->state == PMI2_OPENING)
        return;
    if (client->state == PMI2_OPEN && client->protocol != 0)
        client->transport.close(client->transport.context);
    pmi2_decoder_fini(&client->decoder);
    pmi2_alone_free(client);
    forget_pmi1(client);
    forget_jobid(client);
    port_condition_destroy(&client->turn);
    port_mutex_destroy(&client->lock);
    free(client);
}

/* After a fork, the copy of the lock may be held for ever, so it is not taken. */
static struct pmi2_client *own_client(void)
{
    struct pmi2_client **slot = (struct pmi2_client **)port_slot(PORT_SLOT_PMI2);
    struct pmi2_client *client = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

    return client != NULL && client->process == port_process() ? client : NULL;
}

struct pmi2_client *pmi2_enter(void)
{
    struct pmi2_client *client = own_client();
    bool open;

    if (client == NULL)
        return NULL;
    port_mutex_lock(&client->lock);
    open = client->state == PMI2_OPEN;
    client->users += open;
    port_mutex_unlock(&client->lock);
    return open ? client : NULL;
}

void pmi2_leave(struct pmi2_client *client)
{
    port_mutex_lock(&client->lock);
    client->users--;
    if (client->state == PMI2_CLOSING && client->users == 0)
        port_condition_broadcast(&client->turn);
    port_mutex_unlock(&client->lock);
}

bool pmi2_client_is_open(void)
{
    struct pmi2_client *client = pmi2_enter();

    if (client != NULL)
        pmi2_leave(client);
    return client != NULL;
}

int pmi2_client_number(int *to, size_t member)
{
    struct pmi2_client *client = pmi2_enter();

    if (client == NULL)
        return PMI2_ERR_INIT;
    if (to != NULL)
        memcpy(to, (char *)client + member, sizeof(*to));
    pmi2_leave(client);
    return to != NULL ? PMI2_SUCCESS : PMI2_ERR_INVALID_ARG;
}

/* ---- handshake ----------------------------------------------------------------------------------
 */

/* Sends a message and receives its answer, before calls are possible. */
static int ask(struct pmi2_client *client, struct pmi2_buffer *out, struct pmi2_message *answer)
{
    bool good = !out->failed && pmi2_send(client, out) && pmi2_receive(client, answer);

    pmi2_buffer_clear(out);
    return good ? PMI2_SUCCESS : PMI2_FAIL;
}

static int number_of(const struct pmi2_message *message, const char *key, int otherwise)
{
    int64_t number;

    return pmi2_slice_int(pmi2_message_value(message, key), INT32_MIN, INT32_MAX, &number)
               ? (int)number
               : otherwise;
}

/* *accepted: the server accepts the version; it reports its own. */
static int ask_version(struct pmi2_client *client, struct pmi2_buffer *out, int version,
                       bool *accepted)
{
    struct pmi2_message answer;
    int code;

    pmi2_line_begin(out, "init");
    pmi2_line_int(out, "pmi_version", version);
    pmi2_line_int(out, "pmi_subversion", version == 1 ? 1 : 0);
    pmi2_line_end(out);
    code = ask(client, out, &answer);
    if (code != PMI2_SUCCESS)
        return code;
    client->server_version = number_of(&answer, "pmi_version", 0);
    client->server_subversion = number_of(&answer, "pmi_subversion", 0);
    *accepted = pmi2_slice_is(answer.command, "response_to_init") &&
                pmi2_slice_is(pmi2_message_value(&answer, "rc"), "0") &&
                client->server_version >= version;
    return PMI2_SUCCESS;
}

static void add_fullinit(struct pmi2_client *client, struct pmi2_buffer *out)
{
    const char *jobid = port_getenv("PMI_JOBID");

    pmi2_frame_begin(out, "fullinit");
    if (jobid != NULL)
        pmi2_frame_text(out, "pmijobid", jobid);
    if (client->rank >= 0)
        pmi2_frame_int(out, "pmirank", client->rank);
    pmi2_frame_bool(out, "threaded", true);
    if (client->transport.key_bytes != 0)
        pmi2_frame_text(out, "authtype", PMI2_AUTH_TYPE_HMAC);
    pmi2_frame_text(out, "cli-caps", CAPABILITIES);
    pmi2_frame_end(out);
}

static int answer_challenge(struct pmi2_client *client, struct pmi2_buffer *out,
                            struct pmi2_message *answer)
{
    const char *jobid = port_getenv("PMI_JOBID");
    char text[PMI2_AUTH_ANSWER];

    if (client->transport.key_bytes == 0 || client->rank < 0)
        return PMI2_FAIL;
    pmi2_auth_answer(client->transport.key, client->transport.key_bytes,
                     pmi2_message_value(answer, "authinfo"), pmi2_text(jobid != NULL ? jobid : ""),
                     (uint32_t)client->rank, text);
    pmi2_frame_begin(out, "auth-response-complete");
    pmi2_frame_text(out, "authinfo", text);
    pmi2_frame_end(out);
    return ask(client, out, answer);
}

static unsigned capabilities(struct pmi2_slice list)
{
    static const char *const names[] = {"strict-fence", "thrid",     "escape",
                                        "getall",       "survivors", "pieces"};
    const char *at = list.at != NULL ? list.at : "", *end = at + list.length, *comma;
    unsigned caps = 0, i;

    while (at < end) {
        comma = memchr(at, ',', (size_t)(end - at));
        if (comma == NULL)
            comma = end;
        for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            if (pmi2_slice_is((struct pmi2_slice){at, (size_t)(comma - at)}, names[i]))
                caps |= 1u << i;
        at = comma + 1;
    }
    return caps;
}

static int join2(struct pmi2_client *client, struct pmi2_buffer *out)
{
    static const char *const required[] = {"rc",   "pmi-version", "pmi-subversion",
                                           "rank", "size",        "appnum"};
    struct pmi2_message answer;
    int64_t number;
    size_t i;
    int code;

    add_fullinit(client, out);
    code = ask(client, out, &answer);
    if (code == PMI2_SUCCESS && pmi2_slice_is(answer.command, "auth-response"))
        code = answer_challenge(client, out, &answer);
    explicit_bzero(client->transport.key, sizeof(client->transport.key));
    client->transport.key_bytes = 0;
    if (code != PMI2_SUCCESS)
        return code;
    if (!pmi2_slice_is(pmi2_message_value(&answer, "rc"), "0")) {
        pmi2_errmsg_set(pmi2_message_value(&answer, "errmsg"));
        return PMI2_FAIL;
    }
    for (i = 0; i < sizeof(required) / sizeof(required[0]); i++)
        if (!pmi2_slice_int(pmi2_message_value(&answer, required[i]), INT32_MIN, INT32_MAX,
                            &number))
            return PMI2_ERR_OTHER;
    client->server_version = number_of(&answer, "pmi-version", 0);
    client->server_subversion = number_of(&answer, "pmi-subversion", 0);
    client->rank = number_of(&answer, "rank", 0);
    client->size = number_of(&answer, "size", 0);
    client->appnum = number_of(&answer, "appnum", 0);
    client->spawned = pmi2_message_find(&answer, "spawner-jobid") != NULL;
    client->caps = capabilities(pmi2_message_value(&answer, "srv-caps"));
    client->echo = client->caps & PMI2_CAP_THRID ? PMI2_ECHO_YES : PMI2_ECHO_UNKNOWN;
    return client->rank >= 0 && client->rank < client->size ? PMI2_SUCCESS : PMI2_ERR_OTHER;
}

/* PMI-2 asks when it is wanted. */
static int keep_jobid(struct pmi2_client *client, struct pmi2_slice id)
{
    if (id.length > PMI2_JOBID_MAX)
        return PMI2_ERR_OTHER;
    client->jobid = calloc(1, id.length + 1);
    if (client->jobid == NULL)
        return PMI2_ERR_NOMEM;
    if (id.length > 0)
        memcpy(client->jobid, id.at, id.length);
    return PMI2_SUCCESS;
}

static int join1(struct pmi2_client *client, struct pmi2_buffer *out)
{
    const char *spawned = port_getenv("PMI_SPAWNED");
    struct pmi2_message answer;
    int code;

    pmi2_line_begin(out, "get_appnum");
    pmi2_line_end(out);
    code = ask(client, out, &answer);
    if (code != PMI2_SUCCESS)
        return code;
    client->appnum = number_of(&answer, "appnum", 0);
    pmi2_line_begin(out, "get_my_kvsname");
    pmi2_line_end(out);
    code = ask(client, out, &answer);
    if (code != PMI2_SUCCESS)
        return code;
    code = keep_jobid(client, pmi2_message_value(&answer, "kvsname"));
    if (code != PMI2_SUCCESS)
        return code;
    client->spawned = spawned != NULL && strcmp(spawned, "1") == 0;
    return client->rank >= 0 && client->rank < client->size ? PMI2_SUCCESS : PMI2_ERR_OTHER;
}

static int handshake(struct pmi2_client *client, bool v1)
{
    struct pmi2_buffer out = {0};
    bool accepted = false;
    int code = ask_version(client, &out, 2, &accepted);

    if (code == PMI2_SUCCESS && accepted) {
        client->protocol = 2;
        code = join2(client, &out);
    } else if (code == PMI2_SUCCESS && client->server_version == 1 && v1) {
        client->protocol = 1;
        code = ask_version(client, &out, 1, &accepted);
        if (code == PMI2_SUCCESS)
            code = accepted ? join1(client, &out) : PMI2_FAIL;
    } else if (code == PMI2_SUCCESS) {
        code = PMI2_FAIL;
    }
    pmi2_buffer_fini(&out);
    return code;
}

static int connect_process(struct pmi2_client *client, bool v1)
{
    char alone[48];
    int code;

    client->rank = client->size = -1;
    client->caps = client->protocol = client->appnum = 0;
    client->server_version = client->server_subversion = 0;
    client->dead = client->spawned = false;
    forget_jobid(client);
    client->echo = PMI2_ECHO_UNKNOWN;
    client->last_thrid = 0;
    client->pending = NULL;
    client->pending_end = &client->pending;
    memset(&client->transport, 0, sizeof(client->transport));
    switch (pmi2_transport_open(&client->transport, &client->rank, &client->size)) {
    case PMI2_SINGLETON:
        client->rank = 0;
        client->size = 1;
        snprintf(alone, sizeof(alone), "singinit_%llu_0", (unsigned long long)port_process());
        return keep_jobid(client, pmi2_text(alone));
    case PMI2_UNREACHABLE:
        return PMI2_ERR_INIT;
    case PMI2_CONNECTED:
        break;
    }
    pmi2_decoder_init(&client->decoder);
    code = handshake(client, v1);
    if (code != PMI2_SUCCESS) {
        client->transport.close(client->transport.context);
        pmi2_decoder_fini(&client->decoder);
    }
    return code;
}

/* ---- open and close -----------------------------------------------------------------------------
 */

int pmi2_client_open(bool v1)
{
    struct pmi2_client *client = pmi2_client_get();
    int code = PMI2_SUCCESS;

    if (client == NULL)
        return PMI2_ERR_NOMEM;
    if (client->process != port_process()) {
        if (client->state != PMI2_CLOSED)
            return PMI2_ERR_INIT;
        client->process = port_process(); /* forked before PMI was used, or after */
    }
    port_mutex_lock(&client->lock);
    while (client->state == PMI2_OPENING || client->state == PMI2_CLOSING)
        port_condition_wait(&client->turn, &client->lock);
    if (client->state == PMI2_CLOSED) {
        client->state = PMI2_OPENING;
        port_mutex_unlock(&client->lock);
        code = connect_process(client, v1);
        port_mutex_lock(&client->lock);
        client->state = code == PMI2_SUCCESS ? PMI2_OPEN : PMI2_CLOSED;
        port_condition_broadcast(&client->turn);
    }
    port_mutex_unlock(&client->lock);
    return code;
}

/* Waits for calls of other threads, but never for other processes. */
int pmi2_client_close(void)
{
    struct pmi2_client *client = own_client();
    struct pmi2_call call;
    int code = PMI2_SUCCESS;

    if (client == NULL)
        return PMI2_ERR_INIT;
    port_mutex_lock(&client->lock);
    if (client->state != PMI2_OPEN) {
        port_mutex_unlock(&client->lock);
        return PMI2_ERR_INIT;
    }
    client->state = PMI2_CLOSING;
    while (client->users != 0)
        port_condition_wait(&client->turn, &client->lock);
    port_mutex_unlock(&client->lock);
    if (client->protocol != 0) {
        pmi2_call_init(&call, "finalize");
        if (client->protocol == 1) {
            pmi2_line_begin(&call.request, "finalize");
            pmi2_line_end(&call.request);
        }
        code = pmi2_call_once(client, &call);
        client->transport.close(client->transport.context);
        pmi2_decoder_fini(&client->decoder);
    }
    pmi2_alone_free(client);
    forget_pmi1(client);
    port_mutex_lock(&client->lock);
    client->host = NULL;
    client->state = PMI2_CLOSED;
    port_condition_broadcast(&client->turn);
    port_mutex_unlock(&client->lock);
    return code;
}

void pmi2_abort(struct pmi2_client *client, int status, bool world, const char *text)
{
    struct pmi2_slice message = pmi2_text(text != NULL ? text : "");
    struct pmi2_buffer out = {0};

    message.length = pmi2_utf8_cut(message, PMI_MAX_MSG_STRING);
    if (client->protocol == 1) {
        pmi2_line_begin(&out, "abort");
        pmi2_line_int(&out, "exitcode", status);
    } else {
        pmi2_frame_begin(&out, "abort");
        pmi2_frame_bool(&out, "isworld", world);
        pmi2_frame_slice(&out, "msg", message);
        if (client->caps != 0)
            pmi2_frame_int(&out, "exitcode", status);
    }
    if (client->protocol == 1 ? pmi2_line_end(&out) : pmi2_frame_end(&out)) {
        port_mutex_lock(&client->lock);
        while (client->sending && !client->dead)
            port_condition_wait(&client->turn, &client->lock);
        client->sending = true; /* nothing may follow */
        port_mutex_unlock(&client->lock);
        pmi2_send(client, &out);
    }
    pmi2_buffer_fini(&out);
}
