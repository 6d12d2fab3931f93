/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cursors of a list: its own one, and further ones. */
#include <stdlib.h>

#include "madeleine/toolbox.h"
#include "toolbox/toolbox.h"

/* tbx_false: there is no such neighbour, and the cursor stays. */
static tbx_bool_t move(p_tbx_slist_element_t *cursor, p_tbx_slist_element_t to)
{
    if (to == NULL)
        return tbx_false;
    *cursor = to;
    return tbx_true;
}

static tbx_bool_t forward(p_tbx_slist_element_t *cursor)
{
    return move(cursor, *cursor != NULL ? (*cursor)->next : NULL);
}

static tbx_bool_t backward(p_tbx_slist_element_t *cursor)
{
    return move(cursor, *cursor != NULL ? (*cursor)->previous : NULL);
}

static tbx_slist_index_t place_of(p_tbx_slist_element_t element)
{
    tbx_slist_index_t place = -1;

    for (; element != NULL; element = element->previous)
        place++;
    return place;
}

void tbx_slist_ref_to_head(p_tbx_slist_t list)
{
    if (list != NULL)
        list->ref = list->head;
}

void tbx_slist_ref_to_tail(p_tbx_slist_t list)
{
    if (list != NULL)
        list->ref = list->tail;
}

tbx_bool_t tbx_slist_ref_forward(p_tbx_slist_t list)
{
    return list != NULL ? forward(&list->ref) : tbx_false;
}

tbx_bool_t tbx_slist_ref_backward(p_tbx_slist_t list)
{
    return list != NULL ? backward(&list->ref) : tbx_false;
}

void *tbx_slist_ref_get(p_tbx_slist_t list)
{
    return list != NULL && list->ref != NULL ? list->ref->object : NULL;
}

tbx_slist_index_t tbx_slist_ref_get_index(p_tbx_slist_t list)
{
    return list != NULL ? place_of(list->ref) : -1;
}

p_tbx_slist_nref_t tbx_slist_nref_alloc(p_tbx_slist_t list)
{
    p_tbx_slist_nref_t nref = tbx_need(1, sizeof(*nref));

    nref->slist = list;
    nref->element = list->head;
    nref->next = list->nref_head;
    if (nref->next != NULL)
        nref->next->previous = nref;
    list->nref_head = nref;
    return nref;
}

void tbx_slist_nref_free(p_tbx_slist_nref_t nref)
{
    *(nref->previous != NULL ? &nref->previous->next : &nref->slist->nref_head) = nref->next;
    if (nref->next != NULL)
        nref->next->previous = nref->previous;
    free(nref);
}

void tbx_slist_nref_to_head(p_tbx_slist_nref_t nref)
{
    nref->element = nref->slist->head;
}

void tbx_slist_nref_to_tail(p_tbx_slist_nref_t nref)
{
    nref->element = nref->slist->tail;
}

tbx_bool_t tbx_slist_nref_forward(p_tbx_slist_nref_t nref)
{
    return forward(&nref->element);
}

tbx_bool_t tbx_slist_nref_backward(p_tbx_slist_nref_t nref)
{
    return backward(&nref->element);
}

void *tbx_slist_nref_get(p_tbx_slist_nref_t nref)
{
    return nref->element != NULL ? nref->element->object : NULL;
}

tbx_slist_index_t tbx_slist_nref_get_index(p_tbx_slist_nref_t nref)
{
    return place_of(nref->element);
}
