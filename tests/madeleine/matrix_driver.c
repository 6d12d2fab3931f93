/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The driver with any set of links. */
#include "matrix.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/sim.h"
#include "madeleine/error.h"
#include "random.h"

enum { MICROSECOND = 1000000 }; /* in picoseconds */

struct matrix matrix;

struct frame {
    struct frame *next;
    mad_link_id_t link;
    size_t length, done;
    unsigned char bytes[];
};

static struct queue {
    struct frame *first, *last;
    size_t bytes;
    struct sim_fiber *sender; /* waits for room */
} queues[MATRIX_CHANNELS][MATRIX_RANKS][MATRIX_RANKS]; /* by sender and receiver */
static struct sim_fiber *receivers[MATRIX_CHANNELS][MATRIX_RANKS]; /* that wait for data */

static int own_rank(p_mad_channel_t channel)
{
    return channel->adapter->driver->madeleine->configuration.local_host_id;
}

static struct queue *queue_of(p_mad_connection_t connection)
{
    int own = own_rank(connection->channel), peer = connection->remote_host_id;
    bool out = connection->channel->output_connection[peer] == connection;

    assert(connection->channel->id < MATRIX_CHANNELS && own < MATRIX_RANKS && peer < MATRIX_RANKS);
    return &queues[connection->channel->id][out ? own : peer][out ? peer : own];
}

/* Calls take a random time, so processes and threads meet in many orders. */
static void spend(void)
{
    sim_spend(random_below(&matrix.seed, 20) * MICROSECOND);
    sim_settle();
}

static void wait_until_notified(struct sim_fiber **place)
{
    static const struct sim_wait wait = {.text = "the driver with any set of links"};

    *place = sim_fiber_self();
    sim_wait_until(SIM_NEVER, &wait);
    *place = NULL;
}

static void wake(struct sim_fiber *const *place)
{
    if (*place != NULL)
        sim_wake(*place);
}

bool matrix_is_empty(void)
{
    const struct queue *all = &queues[0][0][0];

    for (size_t i = 0; i < sizeof(queues) / sizeof(*all); i++)
        if (all[i].first != NULL)
            return false;
    return true;
}

/* ---- sending --------------------------------------------------------------------------------- */

static int put(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct queue *queue = queue_of(link->connection);
    p_mad_channel_t channel = link->connection->channel;
    size_t length = buffer->bytes_written - buffer->bytes_read;
    struct frame *frame = malloc(sizeof(*frame) + length);

    if (frame == NULL)
        return MAD_ENOMEM;
    spend();
    while (queue->bytes > matrix.room) {
        matrix.waited++;
        wait_until_notified(&queue->sender);
    }
    *frame = (struct frame){.link = link->id, .length = length};
    memcpy(frame->bytes, (char *)buffer->buffer + buffer->bytes_read, length);
    buffer->bytes_read = buffer->bytes_written;
    if (queue->first == NULL)
        queue->first = frame;
    else
        queue->last->next = frame;
    queue->last = frame;
    queue->bytes += length;
    if (buffer->type == mad_static_buffer) {
        free(buffer->buffer);
        matrix.handed++;
    }
    wake(&receivers[channel->id][link->connection->remote_host_id]);
    return MAD_OK;
}

static int send_buffer_group(p_mad_link_t link, p_mad_buffer_group_t group)
{
    int error = MAD_OK;

    for (p_mad_buffer_t each = group->buffer_list.first; each != NULL && error == MAD_OK;
         each = each->next)
        error = put(link, each);
    return error;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* The connection's next frame. NULL: the sender used another link. */
static struct frame *front(p_mad_link_t link)
{
    struct queue *queue = queue_of(link->connection);
    p_mad_channel_t channel = link->connection->channel;

    spend();
    while (queue->first == NULL)
        wait_until_notified(&receivers[channel->id][own_rank(channel)]);
    if (queue->first->link == link->id)
        return queue->first;
    mad_driver_note(link->connection, "a frame of another link", (int)queue->first->link);
    return NULL;
}

static void pop(struct queue *queue)
{
    struct frame *frame = queue->first;

    queue->first = frame->next;
    queue->bytes -= frame->length;
    free(frame);
    wake(&queue->sender);
}

static int get_dynamic(p_mad_link_t link, p_mad_buffer_t buffer)
{
    while (buffer->bytes_written < buffer->length) {
        struct frame *frame = front(link);
        size_t some = buffer->length - buffer->bytes_written;

        if (frame == NULL)
            return MAD_EWIRE;
        if (some > frame->length - frame->done)
            some = frame->length - frame->done;
        memcpy((char *)buffer->buffer + buffer->bytes_written, frame->bytes + frame->done, some);
        buffer->bytes_written += some;
        frame->done += some;
        if (frame->done == frame->length)
            pop(queue_of(link->connection));
    }
    return MAD_OK;
}

static p_mad_buffer_t static_buffer(p_mad_link_t link, size_t length)
{
    p_mad_buffer_t buffer = mad_buffer_alloc(link->connection);

    if (buffer == NULL)
        return NULL;
    buffer->type = mad_static_buffer;
    buffer->length = length;
    buffer->buffer = malloc(length);
    buffer->specific = link;
    return buffer;
}

static int get_static(p_mad_link_t link, p_mad_buffer_t *result)
{
    const struct frame *frame = front(link);

    if (frame == NULL || frame->done != 0)
        return MAD_EWIRE;
    *result = static_buffer(link, frame->length);
    if (*result == NULL)
        return MAD_ENOMEM;
    memcpy((*result)->buffer, frame->bytes, frame->length);
    (*result)->bytes_written = frame->length;
    pop(queue_of(link->connection));
    matrix.taken++;
    return MAD_OK;
}

static int receive_buffer(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    return link->buffer_mode == mad_buffer_mode_static ? get_static(link, buffer)
                                                       : get_dynamic(link, *buffer);
}

static int receive_sub_buffer_group(p_mad_link_t link, tbx_bool_t first, p_mad_buffer_group_t group)
{
    int error = MAD_OK;

    (void)first; /* a group is no more than its buffers */
    for (p_mad_buffer_t each = group->buffer_list.first; each != NULL && error == MAD_OK;
         each = each->next)
        error = get_dynamic(link, each);
    return error;
}

/* Ranks in turn after the one served last, which the channel's memory has. */
static p_mad_connection_t poll_message(p_mad_channel_t channel)
{
    int size = channel->adapter->driver->madeleine->configuration.size, *last = channel->specific;

    spend();
    for (int i = 1; i <= size; i++) {
        int rank = (*last + i) % size;

        if (queues[channel->id][rank][own_rank(channel)].first != NULL) {
            *last = rank;
            return channel->input_connection[rank];
        }
    }
    return NULL;
}

static p_mad_connection_t receive_message(p_mad_channel_t channel)
{
    p_mad_connection_t in;

    while ((in = poll_message(channel)) == NULL)
        wait_until_notified(&receivers[channel->id][own_rank(channel)]);
    return in;
}

/* ---- the table ------------------------------------------------------------------------------- */

static int adapter_init(p_mad_adapter_t adapter)
{
    adapter->name = strdup("MATRIX0");
    adapter->parameter = strdup("here");
    return MAD_OK;
}

static int channel_init(p_mad_channel_t channel)
{
    channel->specific = calloc(1, sizeof(int));
    return channel->specific != NULL ? MAD_OK : MAD_ENOMEM;
}

static int connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    in->nb_link = out->nb_link = matrix.count;
    return MAD_OK;
}

static int link_init(p_mad_link_t link)
{
    link->link_mode = matrix.links[link->id].link;
    link->buffer_mode = matrix.links[link->id].buffer;
    link->group_mode = matrix.links[link->id].group;
    return MAD_OK;
}

static p_mad_link_t choice(p_mad_connection_t connection, size_t length, mad_send_mode_t send,
                           mad_receive_mode_t receive)
{
    int i = 0;

    (void)send, (void)receive;
    while (length > matrix.links[i].most)
        i++;
    return &connection->link[i];
}

static p_mad_buffer_t get_static_buffer(p_mad_link_t link)
{
    matrix.obtained++;
    return static_buffer(link, matrix.links[link->id].room);
}

static int return_static_buffer(p_mad_link_t link, p_mad_buffer_t buffer)
{
    matrix.misplaced += buffer->specific != link;
    matrix.returned++;
    free(buffer->buffer);
    return MAD_OK;
}

void matrix_register(p_mad_driver_t driver)
{
    static const mad_driver_interface_t table = {
        .abi_version = MAD_DRIVER_ABI,
        .adapter_init = adapter_init,
        .channel_init = channel_init,
        .connection_init = connection_init,
        .link_init = link_init,
        .choice = choice,
        .get_static_buffer = get_static_buffer,
        .return_static_buffer = return_static_buffer,
        .receive_message = receive_message,
        .poll_message = poll_message,
        .send_buffer = put,
        .receive_buffer = receive_buffer,
        .send_buffer_group = send_buffer_group,
        .receive_sub_buffer_group = receive_sub_buffer_group,
    };

    driver->interface = &table;
    driver->connection_type = mad_bidirectional_connection;
    driver->buffer_alignment = 32;
}
