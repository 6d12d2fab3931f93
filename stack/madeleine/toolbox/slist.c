/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists with cursors: elements at both ends, copies, and places. */
#include <stdlib.h>

#include "madeleine/toolbox.h"
#include "toolbox/toolbox.h"

p_tbx_slist_t tbx_slist_nil(void)
{
    p_tbx_slist_t list = tbx_need(1, sizeof(*list));

    TBX_INIT_SHARED(list);
    return list;
}

tbx_slist_length_t tbx_slist_get_length(p_tbx_slist_t list)
{
    return list != NULL ? list->length : 0;
}

tbx_bool_t tbx_slist_is_nil(p_tbx_slist_t list)
{
    return tbx_slist_get_length(list) == 0 ? tbx_true : tbx_false;
}

/* Cursors that are on the element are on none afterwards. */
static void *remove_element(p_tbx_slist_t list, p_tbx_slist_element_t element)
{
    void *object = element->object;

    *(element->previous != NULL ? &element->previous->next : &list->head) = element->next;
    *(element->next != NULL ? &element->next->previous : &list->tail) = element->previous;
    if (list->ref == element)
        list->ref = NULL;
    for (p_tbx_slist_nref_t each = list->nref_head; each != NULL; each = each->next)
        if (each->element == element)
            each->element = NULL;
    list->length--;
    free(element);
    return object;
}

void tbx_slist_clear(p_tbx_slist_t list)
{
    while (!tbx_slist_is_nil(list))
        remove_element(list, list->head);
}

static void free_empty(p_tbx_slist_t list)
{
    pthread_mutex_destroy(&list->tbx_mutex);
    free(list);
}

void tbx_slist_free(p_tbx_slist_t list)
{
    if (list == NULL)
        return;
    if (list->length != 0)
        FAILURE("slist not empty");
    else if (list->nref_head != NULL)
        FAILURE("nrefs still exist");
    else
        free_empty(list);
}

void tbx_slist_clear_and_free(p_tbx_slist_t list)
{
    tbx_slist_clear(list);
    tbx_slist_free(list);
}

/* Before `next`, NULL: at the tail. */
static void insert(p_tbx_slist_t list, void *object, p_tbx_slist_element_t next)
{
    p_tbx_slist_element_t element = tbx_need(1, sizeof(*element));

    element->object = object;
    element->next = next;
    element->previous = next != NULL ? next->previous : list->tail;
    *(element->previous != NULL ? &element->previous->next : &list->head) = element;
    *(next != NULL ? &next->previous : &list->tail) = element;
    if (list->length++ == 0)
        list->ref = element;
}

void tbx_slist_add_at_head(p_tbx_slist_t list, void *object)
{
    insert(list, object, list->head);
}

void tbx_slist_add_at_tail(p_tbx_slist_t list, void *object)
{
    insert(list, object, NULL);
}

void *tbx_slist_remove_from_head(p_tbx_slist_t list)
{
    if (!tbx_slist_is_nil(list))
        return remove_element(list, list->head);
    FAILURE("empty slist");
    return NULL;
}

void *tbx_slist_remove_from_tail(p_tbx_slist_t list)
{
    if (!tbx_slist_is_nil(list))
        return remove_element(list, list->tail);
    FAILURE("empty slist");
    return NULL;
}

void tbx_slist_enqueue(p_tbx_slist_t list, void *object)
{
    tbx_slist_add_at_head(list, object);
}

void *tbx_slist_dequeue(p_tbx_slist_t list)
{
    return tbx_slist_remove_from_tail(list);
}

void tbx_slist_push(p_tbx_slist_t list, void *object)
{
    tbx_slist_add_at_tail(list, object);
}

void *tbx_slist_pop(p_tbx_slist_t list)
{
    return tbx_slist_remove_from_tail(list);
}

void tbx_slist_append(p_tbx_slist_t list, void *object)
{
    tbx_slist_add_at_tail(list, object);
}

void *tbx_slist_extract(p_tbx_slist_t list)
{
    return tbx_slist_remove_from_head(list);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Copies all elements of `source` to the place before `next`. The lists may be the same one. */
static void insert_all(p_tbx_slist_t list, p_tbx_slist_t source, p_tbx_slist_dup_func_t dup,
                       p_tbx_slist_element_t next)
{
    p_tbx_slist_element_t each = source != NULL ? source->head : NULL;
    tbx_slist_length_t left = tbx_slist_get_length(source);

    for (; left > 0; left--, each = each->next)
        insert(list, dup != NULL ? dup(each->object) : each->object, next);
}

p_tbx_slist_t tbx_slist_dup_ext(p_tbx_slist_t source, p_tbx_slist_dup_func_t dup)
{
    p_tbx_slist_t copy = tbx_slist_nil();

    insert_all(copy, source, dup, NULL);
    return copy;
}

p_tbx_slist_t tbx_slist_dup(p_tbx_slist_t source)
{
    return tbx_slist_dup_ext(source, NULL);
}

p_tbx_slist_t tbx_slist_cons(void *object, p_tbx_slist_t source)
{
    p_tbx_slist_t copy = tbx_slist_dup(source);

    tbx_slist_add_at_head(copy, object);
    return copy;
}

void tbx_slist_merge_before_ext(p_tbx_slist_t destination, p_tbx_slist_t source,
                                p_tbx_slist_dup_func_t dup)
{
    p_tbx_slist_t copy = tbx_slist_dup_ext(source, dup);

    insert_all(destination, copy, NULL, destination->head);
    tbx_slist_clear_and_free(copy);
}

void tbx_slist_merge_before(p_tbx_slist_t destination, p_tbx_slist_t source)
{
    tbx_slist_merge_before_ext(destination, source, NULL);
}

void tbx_slist_merge_after_ext(p_tbx_slist_t destination, p_tbx_slist_t source,
                               p_tbx_slist_dup_func_t dup)
{
    insert_all(destination, source, dup, NULL);
}

void tbx_slist_merge_after(p_tbx_slist_t destination, p_tbx_slist_t source)
{
    insert_all(destination, source, NULL, NULL);
}

p_tbx_slist_t tbx_slist_merge_ext(p_tbx_slist_t first, p_tbx_slist_t second,
                                  p_tbx_slist_dup_func_t dup)
{
    p_tbx_slist_t both = tbx_slist_dup_ext(first, dup);

    insert_all(both, second, dup, NULL);
    return both;
}

p_tbx_slist_t tbx_slist_merge(p_tbx_slist_t first, p_tbx_slist_t second)
{
    return tbx_slist_merge_ext(first, second, NULL);
}

void tbx_slist_reverse_list(p_tbx_slist_t list)
{
    p_tbx_slist_element_t each = list->head, next;

    list->head = list->tail;
    list->tail = each;
    for (; each != NULL; each = next) {
        next = each->next;
        each->next = each->previous;
        each->previous = next;
    }
}

p_tbx_slist_t tbx_slist_reverse(p_tbx_slist_t source)
{
    p_tbx_slist_t copy = tbx_slist_dup(source);

    tbx_slist_reverse_list(copy);
    return copy;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* NULL: reported. */
static p_tbx_slist_element_t element_at(p_tbx_slist_t list, tbx_slist_index_t place)
{
    p_tbx_slist_element_t each;

    if (tbx_slist_is_nil(list)) {
        FAILURE("empty list");
        return NULL;
    }
    if (place < 0 || place >= list->length) {
        FAILURE("out-of-bound index");
        return NULL;
    }
    for (each = list->head; place > 0; place--)
        each = each->next;
    return each;
}

void *tbx_slist_index_get(p_tbx_slist_t list, tbx_slist_index_t place)
{
    p_tbx_slist_element_t element = element_at(list, place);

    return element != NULL ? element->object : NULL;
}

void *tbx_slist_index_extract(p_tbx_slist_t list, tbx_slist_index_t place)
{
    p_tbx_slist_element_t element = element_at(list, place);

    return element != NULL ? remove_element(list, element) : NULL;
}

void tbx_slist_index_set_ref(p_tbx_slist_t list, tbx_slist_index_t place)
{
    p_tbx_slist_element_t element = element_at(list, place);

    if (element != NULL)
        list->ref = element;
}

void tbx_slist_index_set_nref(p_tbx_slist_nref_t nref, tbx_slist_index_t place)
{
    p_tbx_slist_element_t element = element_at(nref->slist, place);

    if (element != NULL)
        nref->element = element;
}

/* ---- searching ------------------------------------------------------------------------------- */

static tbx_bool_t matches(p_tbx_slist_search_func_t search, void *wanted, void *object)
{
    return search != NULL ? search(wanted, object) : wanted == object ? tbx_true : tbx_false;
}

tbx_slist_index_t tbx_slist_search_get_index(p_tbx_slist_t list, p_tbx_slist_search_func_t search,
                                             void *wanted)
{
    p_tbx_slist_element_t each = list != NULL ? list->head : NULL;

    for (tbx_slist_index_t place = 0; each != NULL; place++, each = each->next)
        if (matches(search, wanted, each->object))
            return place;
    return -1;
}

void *tbx_slist_search_and_extract(p_tbx_slist_t list, p_tbx_slist_search_func_t search,
                                   void *wanted)
{
    tbx_slist_index_t place = tbx_slist_search_get_index(list, search, wanted);

    return place >= 0 ? tbx_slist_index_extract(list, place) : NULL;
}

/* Moves the list's cursor to the first match from `each` on, or nowhere. */
static tbx_bool_t search_from(p_tbx_slist_t list, p_tbx_slist_element_t each, tbx_bool_t backward,
                              p_tbx_slist_search_func_t search, void *wanted)
{
    while (each != NULL && !matches(search, wanted, each->object))
        each = backward ? each->previous : each->next;
    if (each == NULL)
        return tbx_false;
    list->ref = each;
    return tbx_true;
}

tbx_bool_t tbx_slist_search_forward_set_ref(p_tbx_slist_t list, p_tbx_slist_search_func_t search,
                                            void *wanted)
{
    return search_from(list, list->head, tbx_false, search, wanted);
}

tbx_bool_t tbx_slist_search_backward_set_ref(p_tbx_slist_t list, p_tbx_slist_search_func_t search,
                                             void *wanted)
{
    return search_from(list, list->tail, tbx_true, search, wanted);
}

tbx_bool_t tbx_slist_search_next_set_ref(p_tbx_slist_t list, p_tbx_slist_search_func_t search,
                                         void *wanted)
{
    return search_from(list, list->ref != NULL ? list->ref->next : NULL, tbx_false, search, wanted);
}

tbx_bool_t tbx_slist_search_previous_set_ref(p_tbx_slist_t list, p_tbx_slist_search_func_t search,
                                             void *wanted)
{
    return search_from(list, list->ref != NULL ? list->ref->previous : NULL, tbx_true, search,
                       wanted);
}
