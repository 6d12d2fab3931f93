/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "auth_listener.h"

#include <assert.h>
#include <string.h>

#include "owner.h"

#define CLIENTS_PER_OWNER_MAX 16 /* of one user of this machine, or of another machine */
#define CLIENTS_MAX 256
#define PROVE_MS 5000

struct unauthenticated_client { /* a connection before its proof is checked */
    struct pmrun_auth_listener *auth;
    uv_tcp_t *stream; /* passed to the owner after the proof */
    char *name; /* the user or machine it is counted for: pmrun_owner_name() */
    uv_timer_t timer;
    uv_write_t write;
    struct pmrun_proof_hello hello;
    struct pmrun_proof_answer answer;
    uint8_t proof[PMRUN_PROOF_BYTES];
    gsize got;
    char bytes[1024];
};

static void release(struct pmrun_auth_listener *auth)
{
    assert(auth->users > 0);
    if (--auth->users > 0)
        return;
    g_ptr_array_unref(auth->unauthenticated);
    auth->config.closed(auth->config.owner);
}

static void timer_closed(uv_handle_t *handle)
{
    struct unauthenticated_client *client = handle->data;
    struct pmrun_auth_listener *auth = client->auth;

    g_free(client->name);
    g_free(client);
    release(auth);
}

/* It is authenticated now, or closed. */
static void forget(struct unauthenticated_client *client)
{
    g_ptr_array_remove(client->auth->unauthenticated, client);
    uv_close((uv_handle_t *)&client->timer, timer_closed);
}

static void stream_closed(uv_handle_t *handle)
{
    struct unauthenticated_client *client = handle->data;

    client->auth->config.stream_free(client->auth->config.owner, client->stream);
    forget(client);
}

static void reject(struct unauthenticated_client *client, const char *why)
{
    struct pmrun_auth_listener *auth = client->auth;

    if (uv_is_closing((uv_handle_t *)client->stream))
        return;
    if (why != NULL)
        auth->config.refused(auth->config.owner, why);
    uv_timer_stop(&client->timer);
    uv_close((uv_handle_t *)client->stream, stream_closed);
}

static void timed_out(uv_timer_t *timer)
{
    reject(timer->data, "a connection was closed: it did not authenticate in time");
}

static void answered(uv_write_t *request, int status)
{
    if (status < 0 && status != UV_ECANCELED)
        reject(request->data, NULL);
}

static void answer(struct unauthenticated_client *client)
{
    struct pmrun_auth_listener *auth = client->auth;
    uv_buf_t buffer = uv_buf_init((char *)&client->answer, sizeof(client->answer));

    if (memcmp(client->hello.magic, auth->config.kind->magic, sizeof(client->hello.magic)) != 0) {
        reject(client, "a connection was closed: unknown protocol");
        return;
    }
    pmrun_proof_random(client->answer.nonce, sizeof(client->answer.nonce));
    pmrun_proof_make(auth->config.key, auth->config.kind->here, &client->hello,
                     client->answer.nonce, client->answer.proof);
    client->write.data = client;
    if (uv_write(&client->write, (uv_stream_t *)client->stream, &buffer, 1, answered) != 0)
        reject(client, NULL);
}

/* `rest` came behind the proof. */
static void enter(struct unauthenticated_client *client, const char *rest, gsize length)
{
    struct pmrun_auth_listener *auth = client->auth;
    const struct pmrun_auth_listener_config *config = &auth->config;
    const struct pmrun_proof_hello hello = client->hello;
    uv_tcp_t *stream = client->stream;
    uint8_t expected[PMRUN_PROOF_BYTES];
    const char *why;

    assert(client->got == sizeof(client->hello) + sizeof(client->proof));
    pmrun_proof_make(config->key, config->kind->there, &hello, client->answer.nonce, expected);
    if (!pmrun_proof_equal(expected, client->proof)) {
        reject(client, "a connection was closed: its proof is wrong");
        return;
    }
    why = config->wanted(config->owner, &hello);
    if (why != NULL) {
        reject(client, why);
        return;
    }
    uv_read_stop((uv_stream_t *)stream);
    forget(client);
    config->enters(config->owner, &hello, stream, rest, length);
}

static void room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct unauthenticated_client *client = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(client->bytes, sizeof(client->bytes));
}

/* First its hello, then its proof. */
static void received(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct unauthenticated_client *client = stream->data;
    const gsize hello = sizeof(client->hello), all = hello + PMRUN_PROOF_BYTES;
    gsize at;

    if (length < 0) {
        reject(client, NULL);
        return;
    }
    for (at = 0; at < (gsize)length && client->got < all; at++) {
        if (client->got < hello)
            ((char *)&client->hello)[client->got] = buffer->base[at];
        else
            client->proof[client->got - hello] = (uint8_t)buffer->base[at];
        if (++client->got == hello)
            answer(client);
        if (uv_is_closing((uv_handle_t *)client->stream))
            return;
    }
    if (client->got == all)
        enter(client, buffer->base + at, (gsize)length - at);
}

/* How many connections are counted as `name`, and which is the oldest. */
static guint count_of(const struct pmrun_auth_listener *auth, const char *name,
                      struct unauthenticated_client **oldest)
{
    guint count = 0, i;

    for (i = 0; i < auth->unauthenticated->len; i++) {
        struct unauthenticated_client *client = g_ptr_array_index(auth->unauthenticated, i);

        if (strcmp(client->name, name) == 0 && !uv_is_closing((uv_handle_t *)client->stream) &&
            count++ == 0)
            *oldest = client;
    }
    return count;
}

/* The oldest connection of the user or machine that has the most. */
static struct unauthenticated_client *
oldest_of_largest_owner(const struct pmrun_auth_listener *auth)
{
    struct unauthenticated_client *found = NULL, *oldest = NULL;
    guint most = 0, count, i;

    for (i = 0; i < auth->unauthenticated->len; i++) {
        const struct unauthenticated_client *client = g_ptr_array_index(auth->unauthenticated, i);

        count = count_of(auth, client->name, &oldest);
        if (count > most) {
            most = count;
            found = oldest;
        }
    }
    return found;
}

/* Unauthenticated connections must not block others: a user or machine that has too many loses its
 * own oldest one. */
static void make_room(struct pmrun_auth_listener *auth, const char *name)
{
    struct unauthenticated_client *oldest = NULL;

    if (count_of(auth, name, &oldest) >= CLIENTS_PER_OWNER_MAX) {
        reject(oldest, "a connection was closed: too many of the same user or machine");
        return;
    }
    if (auth->unauthenticated->len >= CLIENTS_MAX)
        oldest = oldest_of_largest_owner(auth);
    if (oldest != NULL && auth->unauthenticated->len >= CLIENTS_MAX)
        reject(oldest, "a connection was closed: too many");
}

static void came(void *owner)
{
    struct pmrun_auth_listener *auth = owner;
    struct unauthenticated_client *client;
    uv_os_fd_t fd;
    gboolean accepted;

    client = g_new0(struct unauthenticated_client, 1);
    client->auth = auth;
    auth->users++;
    client->stream = auth->config.stream_new(auth->config.owner);
    uv_timer_init(auth->config.loop, &client->timer);
    client->timer.data = client;
    uv_tcp_init(auth->config.loop, client->stream);
    client->stream->data = client;
    accepted = pmrun_acceptor_accept(&auth->acceptor, client->stream) &&
               uv_fileno((uv_handle_t *)client->stream, &fd) == 0;
    client->name = accepted ? pmrun_owner_name(fd) : g_strdup("nobody");
    if (accepted)
        make_room(auth, client->name);
    g_ptr_array_add(auth->unauthenticated, client);
    if (!accepted || uv_read_start((uv_stream_t *)client->stream, room, received) != 0) {
        reject(client, NULL);
        return;
    }
    uv_timer_start(&client->timer, timed_out, PROVE_MS, 0);
}

static void acceptor_closed(void *owner)
{
    release(owner);
}

int pmrun_auth_listener_open(struct pmrun_auth_listener *auth,
                             const struct pmrun_auth_listener_config *config, int fd)
{
    *auth = (struct pmrun_auth_listener){
        .config = *config, .unauthenticated = g_ptr_array_new(), .users = 1};
    return pmrun_acceptor_open(&auth->acceptor, config->loop, fd, came, auth);
}

void pmrun_auth_listener_close(struct pmrun_auth_listener *auth)
{
    guint i;

    for (i = 0; i < auth->unauthenticated->len; i++)
        reject(g_ptr_array_index(auth->unauthenticated, i), NULL);
    pmrun_acceptor_close(&auth->acceptor, acceptor_closed);
}
