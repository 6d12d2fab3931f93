/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The extended calls of Madeleine III, and the start of programs of 2008. */
#include <stdarg.h>
#include <stdlib.h>

#include "internal.h"
#include "madeleine/common.h"
#include "madeleine/extended.h"

struct element {
    struct element *next;
    p_mad_buffer_slice_parameter_t slice;
};
struct s_tbx_slist {
    struct element *first, *last, *cursor;
    int length;
};

p_mad_buffer_slice_parameter_t mad_alloc_slice_parameter(void)
{
    p_mad_buffer_slice_parameter_t slice = calloc(1, sizeof(*slice));

    if (slice == NULL)
        MAD_REPORT(MAD_ENOMEM, mad_error_text(MAD_ENOMEM), NULL, -1);
    return slice;
}

void mad_free_parameter_slist(p_tbx_slist_t list)
{
    struct element *each, *next;

    for (each = list != NULL ? list->first : NULL; each != NULL; each = next) {
        next = each->next;
        free(each->slice);
        free(each);
    }
    free(list);
}

/* Takes the slice over. False: out of memory. */
static bool append(p_tbx_slist_t *list, p_mad_buffer_slice_parameter_t slice)
{
    struct element *element = calloc(1, sizeof(*element));

    if (*list == NULL)
        *list = calloc(1, sizeof(**list));
    if (element == NULL || *list == NULL) {
        free(element);
        free(slice);
        return false;
    }
    element->slice = slice;
    if ((*list)->last != NULL)
        (*list)->last->next = element;
    else
        (*list)->first = (*list)->cursor = element;
    (*list)->last = element;
    (*list)->length++;
    return true;
}

/* All elements of `from` go to the end of `to`. */
static void move_all(p_tbx_slist_t *to, p_tbx_slist_t *from)
{
    if (*to == NULL) {
        *to = *from;
    } else if (*from != NULL) {
        (*to)->last->next = (*from)->first;
        (*to)->last = (*from)->last;
        (*to)->length += (*from)->length;
        free(*from);
    }
    *from = NULL;
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
    bool valid = true, complete = true;

    while ((slice = va_arg(arguments, p_mad_buffer_slice_parameter_t)) != NULL) {
        valid &= is_valid(slice, buffer, length);
        slice->base = buffer;
        complete &= append(list, slice);
    }
    if (valid && complete)
        return true;
    mad_free_parameter_slist(*list);
    *list = NULL;
    MAD_REPORT(valid ? MAD_ENOMEM : MAD_EINVAL,
               valid ? mad_error_text(MAD_ENOMEM)
                     : "a slice is not in its block, or has an unknown opcode",
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
    struct element *each;

    move_all(&lost, &mad_full(connection)->slices);
    for (each = lost != NULL ? lost->first : NULL; each != NULL; each = each->next)
        each->slice->opcode = mad_os_lost_block;
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
    for (struct element *each = pending->first; each != NULL; each = each->next)
        each->slice->opcode = mad_os_lost_block;
    return pending;
}

tbx_bool_t tbx_slist_is_nil(p_tbx_slist_t list)
{
    return list == NULL || list->first == NULL ? tbx_true : tbx_false;
}

int tbx_slist_get_length(p_tbx_slist_t list)
{
    return list != NULL ? list->length : 0;
}

void tbx_slist_ref_to_head(p_tbx_slist_t list)
{
    if (list != NULL)
        list->cursor = list->first;
}

tbx_bool_t tbx_slist_ref_forward(p_tbx_slist_t list)
{
    if (list == NULL || list->cursor == NULL || list->cursor->next == NULL)
        return tbx_false;
    list->cursor = list->cursor->next;
    return tbx_true;
}

void *tbx_slist_ref_get(p_tbx_slist_t list)
{
    return list != NULL && list->cursor != NULL ? list->cursor->slice : NULL;
}

/* ---- the start of 2008 ----------------------------------------------------------------------- */

void mad_common_attr_init(common_attr_t *attr)
{
    *attr = (common_attr_t){.madeleine = NULL};
}

void mad_common_init(int *argc, char **argv, common_attr_t *attr)
{
    p_mad_madeleine_t madeleine =
        mad_init(argc, argv, attr != NULL ? attr->configuration_file : NULL,
                 attr != NULL ? attr->adapter_set : NULL);

    if (attr != NULL)
        attr->madeleine = madeleine;
}

void mad_common_exit(common_attr_t *attr)
{
    mad_exit(attr != NULL ? attr->madeleine : mad_get_madeleine());
}
