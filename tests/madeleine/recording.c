/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The recording driver. */
#include "recording.h"

struct recording recording;

struct frame {
    struct frame *next;
    int link;
    size_t length, done;
    unsigned char bytes[];
};
static struct frame *wire_first, *wire_last;

static bool is_sender(p_mad_link_t link)
{
    return link->connection->way == mad_outgoing_connection;
}

static void note(p_mad_link_t link, const char *format, ...)
{
    char *log = is_sender(link) ? recording.sent : recording.received;
    size_t used = strlen(log);
    va_list arguments;

    if (recording.quiet)
        return;
    if (used != 0)
        log[used++] = ' ';
    va_start(arguments, format);
    vsnprintf(log + used, LOG_MAX - used, format, arguments);
    va_end(arguments);
}

static void sum(uint64_t *total, p_mad_link_t link, size_t bytes)
{
    *total = (*total * 31 + (uint64_t)link->id + 1) * 1000003 + bytes;
}

static void put(p_mad_link_t link, p_mad_buffer_t buffer)
{
    size_t length = buffer->bytes_written - buffer->bytes_read;
    struct frame *frame;

    recording.bytes += length;
    sum(&recording.sent_sum, link, length);
    if (!recording.discard) {
        frame = malloc(sizeof(*frame) + length);
        assert_non_null(frame);
        *frame = (struct frame){.link = (int)link->id, .length = length};
        memcpy(frame->bytes, (char *)buffer->buffer + buffer->bytes_read, length);
        if (wire_last != NULL)
            wire_last->next = frame;
        else
            wire_first = frame;
        wire_last = frame;
        recording.frames++;
    }
    buffer->bytes_read = buffer->bytes_written;
    if (buffer->type == mad_static_buffer) {
        free(buffer->buffer);
        recording.handed++;
    }
}

static void wire_pop(void)
{
    struct frame *frame = wire_first;

    wire_first = frame->next;
    if (wire_first == NULL)
        wire_last = NULL;
    free(frame);
    recording.frames--;
}

static int get_dynamic(p_mad_link_t link, p_mad_buffer_t buffer)
{
    sum(&recording.received_sum, link, buffer->length);
    while (buffer->bytes_written < buffer->length) {
        struct frame *frame = wire_first;
        size_t some = buffer->length - buffer->bytes_written;

        if (frame == NULL || frame->link != link->id)
            return MAD_EWIRE;
        if (some > frame->length - frame->done)
            some = frame->length - frame->done;
        memcpy((char *)buffer->buffer + buffer->bytes_written, frame->bytes + frame->done, some);
        buffer->bytes_written += some;
        frame->done += some;
        if (frame->done == frame->length)
            wire_pop();
    }
    return MAD_OK;
}

static int get_static(p_mad_link_t link, p_mad_buffer_t *result)
{
    struct frame *frame = wire_first;
    p_mad_buffer_t buffer;

    if (frame == NULL || frame->link != link->id || frame->done != 0)
        return MAD_EWIRE;
    buffer = mad_buffer_alloc(link->connection);
    assert_non_null(buffer);
    sum(&recording.received_sum, link, frame->length);
    buffer->type = mad_static_buffer;
    buffer->length = buffer->bytes_written = frame->length;
    buffer->buffer = malloc(frame->length);
    assert_non_null(buffer->buffer);
    memcpy(buffer->buffer, frame->bytes, frame->length);
    buffer->specific = link;
    wire_pop();
    recording.taken++;
    *result = buffer;
    return MAD_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

static int adapter_init(p_mad_adapter_t adapter)
{
    adapter->name = strdup("REC0");
    adapter->parameter = strdup("here");
    return MAD_OK;
}

static int connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    in->nb_link = out->nb_link = recording.links;
    return MAD_OK;
}

static int link_init(p_mad_link_t link)
{
    link->link_mode = recording.kinds[link->id].link;
    link->buffer_mode = recording.kinds[link->id].buffer;
    link->group_mode = recording.kinds[link->id].group;
    return MAD_OK;
}

static p_mad_link_t choice(p_mad_connection_t connection, size_t length, mad_send_mode_t send,
                           mad_receive_mode_t receive)
{
    int i = 0;

    while (length > recording.kinds[i].most)
        i++;
    return &connection->link[i];
}

static p_mad_buffer_t get_static_buffer(p_mad_link_t link)
{
    p_mad_buffer_t buffer = mad_buffer_alloc(link->connection);

    assert_non_null(buffer);
    note(link, "GS(%d)", (int)link->id);
    buffer->type = mad_static_buffer;
    buffer->length = recording.kinds[link->id].room;
    buffer->buffer = malloc(buffer->length);
    assert_non_null(buffer->buffer);
    buffer->specific = link;
    recording.obtained++;
    return buffer;
}

static int return_static_buffer(p_mad_link_t link, p_mad_buffer_t buffer)
{
    note(link, "RS(%d)", (int)link->id);
    recording.misplaced += buffer->specific != link;
    free(buffer->buffer);
    recording.returned++;
    return MAD_OK;
}

static int new_message(p_mad_connection_t out)
{
    recording.announced++;
    return MAD_OK;
}

static p_mad_connection_t poll_message(p_mad_channel_t channel)
{
    return wire_first != NULL ? channel->input_connection[0] : NULL;
}

static p_mad_connection_t receive_message(p_mad_channel_t channel)
{
    if (wire_first == NULL)
        mad_channel_fail(channel, MAD_EPEER, "the wire is empty");
    return poll_message(channel);
}

static int send_buffer(p_mad_link_t link, p_mad_buffer_t buffer)
{
    note(link, "SB(%d,%zu)", (int)link->id, buffer->bytes_written - buffer->bytes_read);
    put(link, buffer);
    return recording.fail;
}

static int receive_buffer(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    int error = recording.fail_receiving;

    if (error == MAD_OK)
        error = link->buffer_mode == STATIC ? get_static(link, buffer) : get_dynamic(link, *buffer);
    if (error == MAD_OK)
        note(link, "RB(%d,%zu)", (int)link->id, (*buffer)->bytes_written);
    return error;
}

static void lengths(p_mad_buffer_group_t group, bool capacity, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (p_mad_buffer_t each = group->buffer_list.first;
         each != NULL && used < size && !recording.quiet; each = each->next)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", used != 0 ? "," : "",
                                 capacity ? each->length : each->bytes_written);
}

static int send_buffer_group(p_mad_link_t link, p_mad_buffer_group_t group)
{
    char text[1024];

    assert_ptr_equal(group->link, link);
    lengths(group, false, text, sizeof(text));
    note(link, "SG(%d,{%s})", (int)link->id, text);
    for (p_mad_buffer_t each = group->buffer_list.first; each != NULL; each = each->next)
        put(link, each);
    return recording.fail;
}

static int receive_sub_buffer_group(p_mad_link_t link, tbx_bool_t first, p_mad_buffer_group_t group)
{
    char text[1024];
    int error = recording.fail_receiving;

    assert_int_equal(link->buffer_mode, DYNAMIC);
    lengths(group, true, text, sizeof(text));
    note(link, "RG(%d,%s,{%s})", (int)link->id, first ? "t" : "f", text);
    for (p_mad_buffer_t each = group->buffer_list.first; each != NULL && error == MAD_OK;
         each = each->next)
        error = get_dynamic(link, each);
    return error;
}

void recording_register(p_mad_driver_t driver);
void recording_register(p_mad_driver_t driver)
{
    static const mad_driver_interface_t table = {
        .abi_version = MAD_DRIVER_ABI,
        .adapter_init = adapter_init,
        .connection_init = connection_init,
        .link_init = link_init,
        .choice = choice,
        .get_static_buffer = get_static_buffer,
        .return_static_buffer = return_static_buffer,
        .new_message = new_message,
        .receive_message = receive_message,
        .poll_message = poll_message,
        .send_buffer = send_buffer,
        .receive_buffer = receive_buffer,
        .send_buffer_group = send_buffer_group,
        .receive_sub_buffer_group = receive_sub_buffer_group,
    };

    driver->interface = &table;
    driver->connection_type = mad_bidirectional_connection;
    driver->buffer_alignment = 32;
    while (wire_first != NULL)
        wire_pop();
}
