/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The shared memory driver: adapters, links, transfers and the table. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm.h"

enum { ALIGNMENT = 64 };

/* Processes reach each other where they share the running kernel and the numbers of processes. */
static char *place_of_process(void)
{
    char boot[64] = "", text[128];
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    struct stat space = {.st_ino = 0};

    if (file != NULL) {
        if (fscanf(file, "%40s", boot) != 1)
            boot[0] = '\0';
        fclose(file);
    }
    stat("/proc/self/ns/pid", &space);
    snprintf(text, sizeof(text), "%s.%ju", boot, (uintmax_t)space.st_ino);
    return strdup(text);
}

static int adapter_init(p_mad_adapter_t adapter)
{
    char text[64];

    snprintf(text, sizeof(text), "SHM%d", adapter->id);
    adapter->name = strdup(text);
    snprintf(text, sizeof(text), "%d", (int)getpid());
    adapter->parameter = strdup(text);
    adapter->place = place_of_process();
    return adapter->name != NULL && adapter->parameter != NULL && adapter->place != NULL
               ? MAD_OK
               : MAD_ENOMEM;
}

static int link_init(p_mad_link_t link)
{
    bool is_short = link->id == 0;

    link->link_mode = is_short ? mad_link_mode_buffer : mad_link_mode_buffer_group;
    link->buffer_mode = is_short ? mad_buffer_mode_static : mad_buffer_mode_dynamic;
    link->group_mode = is_short ? mad_group_mode_aggregate : mad_group_mode_split;
    return MAD_OK;
}

/* The private buffers of a sender: a list whose first bytes are the pointer to the next one. */
static int link_exit(p_mad_link_t link)
{
    void *memory = link->specific;

    while (memory != NULL) {
        void *next = *(void **)memory;

        free(memory);
        memory = next;
    }
    link->specific = NULL;
    return MAD_OK;
}

static p_mad_link_t choice(p_mad_connection_t connection, size_t length, mad_send_mode_t send_mode,
                           mad_receive_mode_t receive_mode)
{
    (void)send_mode;
    (void)receive_mode;
    return &connection->link[length > SHM_SHORT_BYTES];
}

/* ---- link 0 ---------------------------------------------------------------------------------- */

/* Any number of them may be held until the end of the message, so they are no slots of the ring. */
static p_mad_buffer_t get_static_buffer(p_mad_link_t link)
{
    p_mad_buffer_t buffer = mad_buffer_alloc(link->connection);
    void *memory = link->specific;

    if (buffer == NULL)
        return NULL;
    if (memory != NULL)
        link->specific = *(void **)memory;
    else
        memory = malloc(SHM_SHORT_BYTES);
    if (memory == NULL) {
        mad_buffer_free(link->connection, buffer);
        return NULL;
    }
    buffer->buffer = memory;
    buffer->length = SHM_SHORT_BYTES;
    buffer->type = mad_static_buffer;
    return buffer;
}

static void take_back(p_mad_link_t link, void *memory)
{
    *(void **)memory = link->specific;
    link->specific = memory;
}

/* A received one is a slot of the ring. */
static int return_static_buffer(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct shm_view view;

    if (!mad_shm_is_incoming(link->connection)) {
        take_back(link, buffer->buffer);
        return MAD_OK;
    }
    view = mad_shm_view(link);
    mad_shm_consume(link, &view);
    return MAD_OK;
}

static int receive_static(p_mad_link_t link, const struct shm_view *view, p_mad_buffer_t *buffer)
{
    size_t length;
    char *slot;
    int error = mad_shm_arrival(link, view, &slot, &length);

    if (error != MAD_OK)
        return error;
    *buffer = mad_buffer_alloc(link->connection);
    if (*buffer == NULL)
        return MAD_ENOMEM;
    (*buffer)->buffer = slot;
    (*buffer)->length = view->slot_bytes;
    (*buffer)->bytes_written = length;
    (*buffer)->type = mad_static_buffer;
    return MAD_OK;
}

/* ---- both links ------------------------------------------------------------------------------ */

static int send_buffer(p_mad_link_t link, p_mad_buffer_t buffer)
{
    struct shm_view view = mad_shm_view(link);
    int error = MAD_OK;

    while (buffer->bytes_read < buffer->bytes_written && error == MAD_OK) {
        size_t length = buffer->bytes_written - buffer->bytes_read;
        char *slot = mad_shm_slot(link, &view);

        if (length > view.slot_bytes)
            length = view.slot_bytes;
        if (slot == NULL) {
            error = mad_shm_send_failed(link, &view);
        } else {
            memcpy(slot, (char *)buffer->buffer + buffer->bytes_read, length);
            mad_shm_produce(link, &view, length);
            buffer->bytes_read += length;
        }
    }
    if (buffer->type == mad_static_buffer)
        take_back(link, buffer->buffer);
    return error;
}

static int receive_buffer(p_mad_link_t link, p_mad_buffer_t *buffer)
{
    struct shm_view view = mad_shm_view(link);
    p_mad_buffer_t user = *buffer;
    size_t length;
    char *slot;
    int error;

    if (link->buffer_mode == mad_buffer_mode_static)
        return receive_static(link, &view, buffer);
    while (user->bytes_written < user->length) {
        error = mad_shm_arrival(link, &view, &slot, &length);
        if (error != MAD_OK)
            return error;
        if (length > user->length - user->bytes_written) {
            mad_driver_note(link->connection, "more data than the block has bytes", 0);
            return MAD_EWIRE;
        }
        memcpy((char *)user->buffer + user->bytes_written, slot, length);
        user->bytes_written += length;
        mad_shm_consume(link, &view);
    }
    return MAD_OK;
}

static int send_buffer_group(p_mad_link_t link, p_mad_buffer_group_t group)
{
    int error = MAD_OK;
    p_mad_buffer_t buffer;

    for (buffer = group->buffer_list.first; buffer != NULL; buffer = buffer->next) {
        if (error == MAD_OK)
            error = send_buffer(link, buffer);
        else if (buffer->type == mad_static_buffer)
            take_back(link, buffer->buffer);
    }
    return error;
}

static int receive_sub_buffer_group(p_mad_link_t link, tbx_bool_t first, p_mad_buffer_group_t group)
{
    int error = MAD_OK;
    p_mad_buffer_t buffer;

    (void)first; /* a group is no more than its buffers */
    for (buffer = group->buffer_list.first; buffer != NULL && error == MAD_OK;
         buffer = buffer->next) {
        p_mad_buffer_t user = buffer;

        error = receive_buffer(link, &user);
    }
    return error;
}

void mad_shm_register(p_mad_driver_t driver)
{
    static const mad_driver_interface_t table = {
        .abi_version = MAD_DRIVER_ABI,
        .adapter_init = adapter_init,
        .channel_init = mad_shm_channel_init,
        .channel_exit = mad_shm_channel_exit,
        .before_open_channel = mad_shm_publish,
        .after_open_channel = mad_shm_connect,
        .connection_init = mad_shm_connection_init,
        .connection_exit = mad_shm_connection_exit,
        .link_init = link_init,
        .link_exit = link_exit,
        .choice = choice,
        .get_static_buffer = get_static_buffer,
        .return_static_buffer = return_static_buffer,
        .receive_message = mad_shm_receive_message,
        .poll_message = mad_shm_poll_message,
        .send_buffer = send_buffer,
        .receive_buffer = receive_buffer,
        .send_buffer_group = send_buffer_group,
        .receive_sub_buffer_group = receive_sub_buffer_group,
        .give_up = mad_shm_give_up,
    };

    driver->interface = &table;
    driver->connection_type = mad_unidirectional_connection;
    driver->buffer_alignment = ALIGNMENT;
}
