/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "auth_listener.h"

#include <assert.h>
#include <string.h>

#include "owner.h"

#define STRANGERS_EACH 16 /* of one user of this machine, or of another machine */
#define STRANGERS_ALL 256
#define PROVE_MS 5000

struct stranger { /* a connection that has yet to prove something */
    struct gate *gate;
    uv_tcp_t *stream; /* given away when it has */
    char *name; /* as whom it is counted: pmrun_owner_name() */
    uv_timer_t timer;
    uv_write_t write;
    struct proof_hello hello;
    struct proof_answer answer;
    uint8_t proof[PROOF_BYTES];
    gsize got;
    char bytes[1024];
};

static void release(struct gate *gate)
{
    assert(gate->users > 0);
    if (--gate->users > 0)
        return;
    g_ptr_array_unref(gate->strangers);
    gate->config.closed(gate->config.owner);
}

static void timer_closed(uv_handle_t *handle)
{
    struct stranger *stranger = handle->data;
    struct gate *gate = stranger->gate;

    g_free(stranger->name);
    g_free(stranger);
    release(gate);
}

/* It is known now, or gone. */
static void forget(struct stranger *stranger)
{
    g_ptr_array_remove(stranger->gate->strangers, stranger);
    uv_close((uv_handle_t *)&stranger->timer, timer_closed);
}

static void stream_closed(uv_handle_t *handle)
{
    struct stranger *stranger = handle->data;

    stranger->gate->config.stream_free(stranger->gate->config.owner, stranger->stream);
    forget(stranger);
}

static void turn_away(struct stranger *stranger, const char *why)
{
    struct gate *gate = stranger->gate;

    if (uv_is_closing((uv_handle_t *)stranger->stream))
        return;
    if (why != NULL)
        gate->config.refused(gate->config.owner, why);
    uv_timer_stop(&stranger->timer);
    uv_close((uv_handle_t *)stranger->stream, stream_closed);
}

static void too_late(uv_timer_t *timer)
{
    turn_away(timer->data, "a connection was closed: it did not prove that it knows the key");
}

static void answered(uv_write_t *request, int status)
{
    if (status < 0 && status != UV_ECANCELED)
        turn_away(request->data, NULL);
}

static void answer(struct stranger *stranger)
{
    struct gate *gate = stranger->gate;
    uv_buf_t buffer = uv_buf_init((char *)&stranger->answer, sizeof(stranger->answer));

    if (memcmp(stranger->hello.magic, gate->config.kind->magic, sizeof(stranger->hello.magic)) !=
        0) {
        turn_away(stranger, "a connection was closed: it speaks something else");
        return;
    }
    pmrun_proof_random(stranger->answer.nonce, sizeof(stranger->answer.nonce));
    pmrun_proof_make(gate->config.key, gate->config.kind->here, &stranger->hello,
                     stranger->answer.nonce, stranger->answer.proof);
    stranger->write.data = stranger;
    if (uv_write(&stranger->write, (uv_stream_t *)stranger->stream, &buffer, 1, answered) != 0)
        turn_away(stranger, NULL);
}

/* `rest` came behind the proof. */
static void enter(struct stranger *stranger, const char *rest, gsize length)
{
    struct gate *gate = stranger->gate;
    const struct gate_config *config = &gate->config;
    const struct proof_hello hello = stranger->hello;
    uv_tcp_t *stream = stranger->stream;
    uint8_t expected[PROOF_BYTES];
    const char *why;

    assert(stranger->got == sizeof(stranger->hello) + sizeof(stranger->proof));
    pmrun_proof_make(config->key, config->kind->there, &hello, stranger->answer.nonce, expected);
    if (!pmrun_proof_equal(expected, stranger->proof)) {
        turn_away(stranger, "a connection was closed: its proof is wrong");
        return;
    }
    why = config->wanted(config->owner, &hello);
    if (why != NULL) {
        turn_away(stranger, why);
        return;
    }
    uv_read_stop((uv_stream_t *)stream);
    forget(stranger);
    config->enters(config->owner, &hello, stream, rest, length);
}

static void room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct stranger *stranger = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(stranger->bytes, sizeof(stranger->bytes));
}

/* First its hello, then its proof. */
static void heard(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct stranger *stranger = stream->data;
    const gsize hello = sizeof(stranger->hello), all = hello + PROOF_BYTES;
    gsize at;

    if (length < 0) {
        turn_away(stranger, NULL);
        return;
    }
    for (at = 0; at < (gsize)length && stranger->got < all; at++) {
        if (stranger->got < hello)
            ((char *)&stranger->hello)[stranger->got] = buffer->base[at];
        else
            stranger->proof[stranger->got - hello] = (uint8_t)buffer->base[at];
        if (++stranger->got == hello)
            answer(stranger);
        if (uv_is_closing((uv_handle_t *)stranger->stream))
            return;
    }
    if (stranger->got == all)
        enter(stranger, buffer->base + at, (gsize)length - at);
}

/* How many connections are counted as `name`, and which is the oldest. */
static guint count_of(const struct gate *gate, const char *name, struct stranger **oldest)
{
    guint count = 0, i;

    for (i = 0; i < gate->strangers->len; i++) {
        struct stranger *stranger = g_ptr_array_index(gate->strangers, i);

        if (strcmp(stranger->name, name) == 0 && !uv_is_closing((uv_handle_t *)stranger->stream) &&
            count++ == 0)
            *oldest = stranger;
    }
    return count;
}

/* The oldest connection of those who have the most. */
static struct stranger *one_of_the_most(const struct gate *gate)
{
    struct stranger *found = NULL, *oldest = NULL;
    guint most = 0, count, i;

    for (i = 0; i < gate->strangers->len; i++) {
        const struct stranger *stranger = g_ptr_array_index(gate->strangers, i);

        count = count_of(gate, stranger->name, &oldest);
        if (count > most) {
            most = count;
            found = oldest;
        }
    }
    return found;
}

/* Connections that prove nothing must keep no place from those that will: whoever has too many
 * loses his own oldest one. */
static void make_room(struct gate *gate, const char *name)
{
    struct stranger *oldest = NULL;

    if (count_of(gate, name, &oldest) >= STRANGERS_EACH) {
        turn_away(oldest, "a connection was closed: too many of the same user or machine");
        return;
    }
    if (gate->strangers->len >= STRANGERS_ALL)
        oldest = one_of_the_most(gate);
    if (oldest != NULL && gate->strangers->len >= STRANGERS_ALL)
        turn_away(oldest, "a connection was closed: too many");
}

static void came(void *owner)
{
    struct gate *gate = owner;
    struct stranger *stranger;
    uv_os_fd_t fd;
    gboolean accepted;

    stranger = g_new0(struct stranger, 1);
    stranger->gate = gate;
    gate->users++;
    stranger->stream = gate->config.stream_new(gate->config.owner);
    uv_timer_init(gate->config.loop, &stranger->timer);
    stranger->timer.data = stranger;
    uv_tcp_init(gate->config.loop, stranger->stream);
    stranger->stream->data = stranger;
    accepted = pmrun_acceptor_accept(&gate->door, stranger->stream) &&
               uv_fileno((uv_handle_t *)stranger->stream, &fd) == 0;
    stranger->name = accepted ? pmrun_owner_name(fd) : g_strdup("nobody");
    if (accepted)
        make_room(gate, stranger->name);
    g_ptr_array_add(gate->strangers, stranger);
    if (!accepted || uv_read_start((uv_stream_t *)stranger->stream, room, heard) != 0) {
        turn_away(stranger, NULL);
        return;
    }
    uv_timer_start(&stranger->timer, too_late, PROVE_MS, 0);
}

static void door_closed(void *owner)
{
    release(owner);
}

int pmrun_auth_listener_open(struct gate *gate, const struct gate_config *config, int fd)
{
    *gate = (struct gate){.config = *config, .strangers = g_ptr_array_new(), .users = 1};
    return pmrun_acceptor_open(&gate->door, config->loop, fd, came, gate);
}

void pmrun_auth_listener_close(struct gate *gate)
{
    guint i;

    for (i = 0; i < gate->strangers->len; i++)
        turn_away(g_ptr_array_index(gate->strangers, i), NULL);
    pmrun_acceptor_close(&gate->door, door_closed);
}
