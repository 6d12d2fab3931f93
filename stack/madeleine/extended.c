/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The extended calls of Madeleine III, and other ways to start the library. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"
#include "madeleine/common.h"
#include "madeleine/directory.h"
#include "madeleine/extended.h"
#include "madeleine/toolbox.h"

p_mad_buffer_slice_parameter_t mad_alloc_slice_parameter(void)
{
    p_mad_buffer_slice_parameter_t slice = calloc(1, sizeof(*slice));

    if (slice == NULL)
        MAD_REPORT(MAD_ENOMEM, mad_error_text(MAD_ENOMEM), NULL, -1);
    return slice;
}

void mad_free_parameter_slist(p_tbx_slist_t list)
{
    while (!tbx_slist_is_nil(list))
        free(tbx_slist_extract(list));
    tbx_slist_free(list);
}

/* Takes the slice over. */
static void append(p_tbx_slist_t *list, p_mad_buffer_slice_parameter_t slice)
{
    if (*list == NULL)
        *list = tbx_slist_nil();
    tbx_slist_append(*list, slice);
}

/* All elements of `from` go to the end of `to`. */
static void move_all(p_tbx_slist_t *to, p_tbx_slist_t *from)
{
    if (*to == NULL) {
        *to = *from;
    } else if (*from != NULL) {
        tbx_slist_merge_after(*to, *from);
        tbx_slist_clear_and_free(*from);
    }
    *from = NULL;
}

static void mark_as_lost(p_tbx_slist_t list)
{
    for (p_tbx_slist_element_t each = list != NULL ? list->head : NULL; each != NULL;
         each = each->next)
        ((p_mad_buffer_slice_parameter_t)each->object)->opcode = mad_os_lost_block;
}

static bool is_valid(const mad_buffer_slice_parameter_t *slice, const void *buffer, size_t length)
{
    return (slice->base == NULL || slice->base == buffer) &&
           slice->opcode == mad_op_optional_block && slice->offset <= length &&
           slice->length <= length - slice->offset;
}

/* False: one of them is wrong, which is reported. */
static bool take_slices(p_mad_connection_t connection, void *buffer, size_t length,
                        va_list arguments, p_tbx_slist_t *list)
{
    p_mad_buffer_slice_parameter_t slice;
    bool valid = true;

    while ((slice = va_arg(arguments, p_mad_buffer_slice_parameter_t)) != NULL) {
        valid &= is_valid(slice, buffer, length);
        slice->base = buffer;
        append(list, slice);
    }
    if (valid)
        return true;
    mad_free_parameter_slist(*list);
    *list = NULL;
    MAD_REPORT(MAD_EINVAL, "a slice is not in its block, or has an unknown opcode",
               connection != NULL ? connection->channel : NULL,
               connection != NULL ? connection->remote_host_id : -1);
    return false;
}

void mad_pack_ext(p_mad_connection_t connection, void *buffer, size_t buffer_length,
                  mad_send_mode_t send_mode, mad_receive_mode_t receive_mode, ...)
{
    p_tbx_slist_t list = NULL;
    va_list arguments;
    bool valid;

    va_start(arguments, receive_mode);
    valid = take_slices(connection, buffer, buffer_length, arguments, &list);
    va_end(arguments);
    mad_free_parameter_slist(list); /* a reliable network sends optional slices, too */
    if (valid)
        mad_pack(connection, buffer, buffer_length, send_mode, receive_mode);
}

/* Updates the status of pending slices: those of a broken connection are lost. */
static p_tbx_slist_t settle(p_mad_connection_t connection)
{
    p_tbx_slist_t lost = NULL;

    move_all(&lost, &mad_full(connection)->slices);
    mark_as_lost(lost);
    return lost;
}

p_tbx_slist_t mad_unpack_ext(p_mad_connection_t connection, void *buffer, size_t buffer_length,
                             mad_send_mode_t send_mode, mad_receive_mode_t receive_mode, ...)
{
    p_tbx_slist_t list = NULL;
    va_list arguments;
    bool valid;

    va_start(arguments, receive_mode);
    valid = take_slices(connection, buffer, buffer_length, arguments, &list);
    va_end(arguments);
    if (!valid)
        return NULL;
    mad_unpack(connection, buffer, buffer_length, send_mode, receive_mode);
    if (connection == NULL || !connection->lock || connection->send) {
        mad_free_parameter_slist(list); /* the message is not open: there is nothing to lose */
        return NULL;
    }
    if (mad_connection_error(connection) != MAD_OK) {
        move_all(&mad_full(connection)->slices, &list);
        return settle(connection);
    }
    if (receive_mode == mad_receive_CHEAPER)
        move_all(&mad_full(connection)->slices, &list);
    mad_free_parameter_slist(list);
    return NULL;
}

p_tbx_slist_t mad_end_unpacking_ext(p_mad_connection_t connection)
{
    p_tbx_slist_t pending = NULL;

    if (connection != NULL && connection->lock && !connection->send)
        move_all(&pending, &mad_full(connection)->slices);
    mad_end_unpacking(connection);
    if (pending == NULL)
        return NULL;
    if (mad_connection_error(connection) == MAD_OK) {
        mad_free_parameter_slist(pending);
        return NULL;
    }
    mark_as_lost(pending);
    return pending;
}

/* ---- programs whose processes start each other ------------------------------------------------
 */

char *mad_pre_init(p_mad_adapter_set_t adapter_set)
{
    char host[256] = "localhost", text[300];

    mad_process()->adapter_set = adapter_set;
    gethostname(host, sizeof(host) - 1);
    snprintf(text, sizeof(text), "x-nexus://%s:mad2/", host);
    return tbx_strdup(text);
}

p_mad_madeleine_t mad_init_application(ntbx_host_id_t rank, char *configuration_file, char *url)
{
    char program[] = "", option[] = "-rank", text[16], *all[] = {program, option, text, NULL};
    int count = rank >= 0 ? 3 : 1; /* as a command line has it */

    (void)url;
    snprintf(text, sizeof(text), "%d", rank);
    return mad_init(&count, all, configuration_file, mad_process()->adapter_set);
}

/* ---- common_init ----------------------------------------------------------------------------- */

void mad_common_attr_init(common_attr_t *attr)
{
    *attr = (common_attr_t){.madeleine = NULL};
}

void mad_common_init(int *argc, char **argv, common_attr_t *attr)
{
    p_mad_madeleine_t madeleine =
        mad_init_directory(argc, argv, attr != NULL ? attr->configuration_file : NULL,
                           attr != NULL ? attr->adapter_set : NULL);

    if (attr == NULL)
        return;
    attr->madeleine = madeleine;
    attr->rank = madeleine != NULL ? madeleine->configuration.local_host_id : -1;
}

void mad_common_pre_init(int *argc, char **argv, common_attr_t *attr)
{
    (void)argc, (void)argv, (void)attr; /* mad_common_post_init does it all */
}

void mad_common_post_init(int *argc, char **argv, common_attr_t *attr)
{
    mad_common_init(argc, argv, attr);
}

void mad_common_exit(common_attr_t *attr)
{
    mad_exit(attr != NULL ? attr->madeleine : mad_get_madeleine());
}
