/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE /* explicit_bzero */
#include "io.h"

#include <string.h>

#define INPUT_BYTES (64u << 10)
#define PIECES 64

/* ---- channels ---------------------------------------------------------------------------------
 */

static void closed(uv_handle_t *handle)
{
    struct pmrun_channel *channel = handle->data;

    pmi2_link_free(channel->link);
    g_hash_table_remove(channel->io->channels, channel);
    if (channel->gone != NULL)
        channel->gone(channel->owner);
    g_free(channel);
}

void pmrun_channel_close(struct pmrun_channel *channel)
{
    if (channel->closed)
        return;
    channel->closed = TRUE;
    if (channel->link != NULL)
        pmi2_link_eof(channel->link);
    uv_close(&channel->at.handle, closed);
}

size_t pmrun_channel_unsent(const struct pmrun_channel *channel)
{
    struct iovec pieces[PIECES];
    int count = pmi2_link_output(channel->link, pieces, PIECES), i;
    size_t bytes = 0;

    for (i = 0; i < count; i++)
        bytes += pieces[i].iov_len;
    return bytes;
}

static void flush(struct pmrun_channel *channel);

static void sent(uv_write_t *request, int status)
{
    struct pmrun_channel *channel = request->data;

    channel->writing = FALSE;
    if (channel->closed)
        return;
    if (status < 0) {
        pmrun_channel_close(channel);
        return;
    }
    pmi2_link_sent(channel->link, channel->written);
    flush(channel);
}

/* Writes what the stream accepts at once, and the rest when it is writable. */
static void flush(struct pmrun_channel *channel)
{
    struct iovec pieces[PIECES];
    uv_buf_t buffers[PIECES];
    int count, i, done = 0;

    if (channel->writing || channel->closed)
        return;
    while ((count = pmi2_link_output(channel->link, pieces, PIECES)) > 0) {
        channel->written = 0;
        for (i = 0; i < count; i++) {
            buffers[i] = uv_buf_init(pieces[i].iov_base, (unsigned)pieces[i].iov_len);
            channel->written += pieces[i].iov_len;
        }
        done = uv_try_write(&channel->at.stream, buffers, (unsigned)count);
        if (done <= 0)
            break;
        pmi2_link_sent(channel->link, (size_t)done);
    }
    if (count > 0 && done == UV_EAGAIN) {
        channel->write.data = channel;
        channel->writing = TRUE;
        if (uv_write(&channel->write, &channel->at.stream, buffers, (unsigned)count, sent) == 0)
            return;
        channel->writing = FALSE;
    }
    if (count > 0 || channel->closing)
        pmrun_channel_close(channel);
}

static void room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct pmrun_channel *channel = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(channel->io->input, INPUT_BYTES);
}

static void received(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct pmrun_channel *channel = stream->data;

    if (length < 0) {
        pmrun_channel_close(channel);
    } else if (length > 0) {
        pmi2_server_time(channel->io->server, uv_hrtime());
        pmi2_link_input(channel->link, buffer->base, (size_t)length);
    }
}

static void update_reading(struct pmrun_channel *channel)
{
    gboolean wanted = !channel->closed && !channel->closing && pmi2_link_reads(channel->link);

    if (wanted == channel->reading)
        return;
    channel->reading = wanted;
    if (wanted)
        uv_read_start(&channel->at.stream, room, received);
    else if (!channel->closed)
        uv_read_stop(&channel->at.stream);
}

struct pmrun_channel *pmrun_channel_new(struct pmrun_io *io, void (*gone)(void *owner), void *owner)
{
    struct pmrun_channel *channel = g_new0(struct pmrun_channel, 1);

    channel->io = io;
    channel->gone = gone;
    channel->owner = owner;
    return channel;
}

gboolean pmrun_channel_open(struct pmrun_channel *channel, struct pmi2_link *link)
{
    channel->at.handle.data = channel;
    g_hash_table_add(channel->io->channels, channel);
    channel->link = link;
    if (link == NULL)
        pmrun_channel_close(channel);
    else
        update_reading(channel);
    return link != NULL;
}

/* ---- actions ----------------------------------------------------------------------------------
 */

static void act(struct pmrun_io *io, const struct pmi2_action *action)
{
    struct pmrun_channel *channel;

    switch (action->kind) {
    case PMI2_ACTION_OUTPUT:
        flush(pmi2_link_data(action->link));
        break;
    case PMI2_ACTION_READS:
        update_reading(pmi2_link_data(action->link));
        break;
    case PMI2_ACTION_CLOSE:
        channel = pmi2_link_data(action->link);
        channel->closing = TRUE;
        update_reading(channel);
        flush(channel);
        break;
    default:
        io->act(io->owner, action);
    }
}

static void due(uv_timer_t *timer)
{
    struct pmrun_io *io = timer->data;

    io->due = UINT64_MAX;
    pmi2_server_time(io->server, uv_hrtime());
}

void pmrun_io_drain(struct pmrun_io *io)
{
    struct pmi2_action action;

    while (pmi2_server_next(io->server, &action))
        act(io, &action);
}

/* Before the loop sleeps: takes all actions that its events have caused. */
static void drain(uv_prepare_t *prepare)
{
    struct pmrun_io *io = prepare->data;
    uint64_t deadline, now;

    pmrun_io_drain(io);
    deadline = pmi2_server_deadline(io->server);
    if (deadline == io->due)
        return;
    io->due = deadline;
    now = uv_hrtime();
    if (deadline == UINT64_MAX)
        uv_timer_stop(&io->deadline);
    else
        uv_timer_start(&io->deadline, due, deadline <= now ? 0 : (deadline - now) / 1000000 + 1, 0);
}

static void drain_input(uv_check_t *check)
{
    pmrun_io_drain(check->data);
}

void pmrun_io_init(struct pmrun_io *io, uv_loop_t *loop, struct pmi2_server *server,
                   void (*on_action)(void *owner, const struct pmi2_action *action), void *owner)
{
    *io = (struct pmrun_io){
        .loop = loop,
        .server = server,
        .act = on_action,
        .owner = owner,
        .input = g_malloc(INPUT_BYTES),
        .due = UINT64_MAX,
        .channels = g_hash_table_new(NULL, NULL),
    };
    uv_prepare_init(loop, &io->drain);
    uv_check_init(loop, &io->drain_input);
    uv_timer_init(loop, &io->deadline);
    io->drain.data = io->drain_input.data = io->deadline.data = io;
    uv_prepare_start(&io->drain, drain);
    uv_check_start(&io->drain_input, drain_input);
    uv_unref((uv_handle_t *)&io->drain);
    uv_unref((uv_handle_t *)&io->drain_input);
    uv_unref((uv_handle_t *)&io->deadline);
    pmi2_server_time(server, uv_hrtime());
}

void pmrun_io_close(struct pmrun_io *io)
{
    GList *channels = g_hash_table_get_keys(io->channels), *at;

    for (at = channels; at != NULL; at = at->next)
        pmrun_channel_close(at->data);
    g_list_free(channels);
    uv_close((uv_handle_t *)&io->drain, NULL);
    uv_close((uv_handle_t *)&io->drain_input, NULL);
    uv_close((uv_handle_t *)&io->deadline, NULL);
}

void pmrun_io_free(struct pmrun_io *io)
{
    pmi2_server_free(io->server);
    g_hash_table_unref(io->channels);
    explicit_bzero(io->key, sizeof(io->key));
    g_free(io->input);
}
