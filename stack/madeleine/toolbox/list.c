/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists with a mark. */
#include <stdbool.h>
#include <stdlib.h>

#include "madeleine/toolbox.h"
#include "toolbox/toolbox.h"

void tbx_list_init(p_tbx_list_t list)
{
    *list = (tbx_list_t){.mark_next = tbx_true};
}

void tbx_foreach_destroy_list(p_tbx_list_t list, p_tbx_list_foreach_func_t function)
{
    p_tbx_list_element_t each = list->first, next;

    for (; list->length > 0; list->length--, each = next) {
        next = each->next;
        if (function != NULL)
            function(each->object);
        free(each);
    }
    list->first = list->last = list->mark = NULL;
}

void tbx_destroy_list(p_tbx_list_t list)
{
    tbx_foreach_destroy_list(list, NULL);
}

void tbx_append_list(p_tbx_list_t list, void *object)
{
    p_tbx_list_element_t element;

    if (list->read_only) {
        FAILURE("attempted to modify a read only list");
        return;
    }
    element = tbx_need(1, sizeof(*element));
    element->object = object;
    if (list->length == 0) {
        list->first = element;
    } else {
        element->previous = list->last;
        list->last->next = element;
    }
    list->last = element;
    if (list->mark_next) {
        list->mark = element;
        list->mark_position = list->length;
        list->mark_next = tbx_false;
    }
    list->length++;
}

void *tbx_get_list_object(p_tbx_list_t list)
{
    if (list->length != 0)
        return list->last->object;
    FAILURE("empty list");
    return NULL;
}

tbx_bool_t tbx_empty_list(p_tbx_list_t list)
{
    return list->length == 0 ? tbx_true : tbx_false;
}

void tbx_mark_list(p_tbx_list_t list)
{
    list->mark_next = tbx_true;
}

void tbx_duplicate_list(p_tbx_list_t source, p_tbx_list_t destination)
{
    *destination = *source;
    destination->mark = source->first;
    destination->mark_position = 0;
    destination->read_only = tbx_true;
}

void tbx_extract_sub_list(p_tbx_list_t source, p_tbx_list_t destination)
{
    if (source->length == 0) {
        FAILURE("empty list");
        return;
    }
    tbx_duplicate_list(source, destination);
    destination->first = destination->mark = source->mark;
    destination->length = source->length - source->mark_position;
}

/* ---- cursors --------------------------------------------------------------------------------- */

void tbx_list_reference_init(p_tbx_list_reference_t reference, p_tbx_list_t list)
{
    reference->list = list;
    tbx_reset_list_reference(reference);
}

void tbx_reset_list_reference(p_tbx_list_reference_t reference)
{
    p_tbx_list_t list = reference->list;

    reference->reference = list->length != 0 ? list->first : NULL;
    reference->after_end = list->length != 0 ? tbx_false : tbx_true;
}

/* Elements may have been appended since the cursor passed the end. */
static void catch_up(p_tbx_list_reference_t reference)
{
    p_tbx_list_t list = reference->list;

    if (list->length == 0)
        return;
    if (reference->reference == NULL) {
        tbx_reset_list_reference(reference);
    } else if (reference->after_end && reference->reference != list->last) {
        reference->reference = reference->reference->next;
        reference->after_end = tbx_false;
    }
}

void *tbx_get_list_reference_object(p_tbx_list_reference_t reference)
{
    catch_up(reference);
    if (reference->list->length == 0)
        FAILURE("empty list");
    return reference->after_end ? NULL : reference->reference->object;
}

tbx_bool_t tbx_forward_list_reference(p_tbx_list_reference_t reference)
{
    bool was_after_end = reference->reference != NULL && reference->after_end;

    catch_up(reference);
    if (reference->list->length == 0)
        FAILURE("empty list");
    if (reference->after_end)
        return tbx_false;
    if (was_after_end)
        return tbx_true;
    if (reference->reference == reference->list->last) {
        reference->after_end = tbx_true;
        return tbx_false;
    }
    reference->reference = reference->reference->next;
    return tbx_true;
}

tbx_bool_t tbx_reference_after_end_of_list(p_tbx_list_reference_t reference)
{
    catch_up(reference);
    return reference->after_end;
}
