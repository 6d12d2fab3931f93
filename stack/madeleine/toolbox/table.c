/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tables of pointers, by a text and by a number. */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "madeleine/toolbox.h"
#include "toolbox/toolbox.h"

enum { BUCKETS_DEFAULT = 17, ARRAY_MIN = 8 };

void tbx_htable_init(p_tbx_htable_t table, tbx_htable_bucket_count_t buckets)
{
    TBX_INIT_SHARED(table);
    table->nb_bucket = buckets > 0 ? buckets : BUCKETS_DEFAULT;
    table->bucket_array = tbx_need((size_t)table->nb_bucket, sizeof(*table->bucket_array));
    table->nb_element = 0;
}

p_tbx_htable_t tbx_htable_empty_table(void)
{
    p_tbx_htable_t table = tbx_need(1, sizeof(*table));

    tbx_htable_init(table, 0);
    return table;
}

tbx_bool_t tbx_htable_empty(p_tbx_htable_t table)
{
    return table->nb_element == 0 ? tbx_true : tbx_false;
}

tbx_htable_element_count_t tbx_htable_get_size(p_tbx_htable_t table)
{
    return table->nb_element;
}

static p_tbx_htable_element_t *bucket_of(p_tbx_htable_t table, const char *key)
{
    size_t hash = 5381;

    while (*key != '\0')
        hash = hash * 33 + (unsigned char)*key++;
    return &table->bucket_array[hash % (size_t)table->nb_bucket];
}

/* Where the pointer to the element is; it is NULL if there is none. */
static p_tbx_htable_element_t *find(p_tbx_htable_t table, const char *key)
{
    p_tbx_htable_element_t *each = bucket_of(table, key);

    while (*each != NULL && strcmp((*each)->key, key) != 0)
        each = &(*each)->next;
    return each;
}

static void *remove_element(p_tbx_htable_t table, p_tbx_htable_element_t *place)
{
    p_tbx_htable_element_t element = *place;
    void *object = element->object;

    *place = element->next;
    table->nb_element--;
    free(element->key);
    free(element);
    return object;
}

void tbx_htable_add(p_tbx_htable_t table, const char *key, void *object)
{
    p_tbx_htable_element_t *bucket = bucket_of(table, key);
    p_tbx_htable_element_t element = tbx_need(1, sizeof(*element));

    element->key = tbx_strdup(key);
    element->object = object;
    element->next = *bucket;
    *bucket = element;
    table->nb_element++;
}

void *tbx_htable_get(p_tbx_htable_t table, const char *key)
{
    p_tbx_htable_element_t element = *find(table, key);

    return element != NULL ? element->object : NULL;
}

void *tbx_htable_replace(p_tbx_htable_t table, const char *key, void *object)
{
    p_tbx_htable_element_t element = *find(table, key);
    void *old;

    if (element == NULL) {
        tbx_htable_add(table, key, object);
        return NULL;
    }
    old = element->object;
    element->object = object;
    return old;
}

void *tbx_htable_extract(p_tbx_htable_t table, const char *key)
{
    p_tbx_htable_element_t *place = find(table, key);

    return *place != NULL ? remove_element(table, place) : NULL;
}

void tbx_htable_free(p_tbx_htable_t table)
{
    if (table == NULL)
        return;
    for (tbx_htable_bucket_count_t i = 0; i < table->nb_bucket; i++)
        while (table->bucket_array[i] != NULL)
            remove_element(table, &table->bucket_array[i]);
    free(table->bucket_array);
    pthread_mutex_destroy(&table->tbx_mutex);
    free(table);
}

void tbx_htable_cleanup_and_free(p_tbx_htable_t table)
{
    tbx_htable_free(table);
}

p_tbx_slist_t tbx_htable_get_key_slist(p_tbx_htable_t table)
{
    p_tbx_slist_t list = tbx_slist_nil();

    for (tbx_htable_bucket_count_t i = 0; i < table->nb_bucket; i++)
        for (p_tbx_htable_element_t each = table->bucket_array[i]; each != NULL; each = each->next)
            tbx_slist_append(list, tbx_strdup(each->key));
    return list;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

p_tbx_darray_t tbx_darray_init(void)
{
    p_tbx_darray_t array = tbx_need(1, sizeof(*array));

    TBX_INIT_SHARED(array);
    return array;
}

void tbx_darray_free(p_tbx_darray_t array)
{
    if (array == NULL)
        return;
    free(array->data);
    pthread_mutex_destroy(&array->tbx_mutex);
    free(array);
}

size_t tbx_darray_length(p_tbx_darray_t array)
{
    return (size_t)array->length;
}

void tbx_darray_reset(p_tbx_darray_t array)
{
    array->length = 0;
}

static bool is_inside(p_tbx_darray_t array, tbx_darray_index_t place)
{
    if (place >= 0 && place < array->length)
        return true;
    FAILURE("out-of-bound index");
    return false;
}

static bool expand(p_tbx_darray_t array, tbx_darray_index_t place)
{
    tbx_darray_index_t room = array->allocated_length;

    if (place >= room) {
        for (room = room > 0 ? room : ARRAY_MIN; room <= place; room *= 2)
            ;
        array->data = tbx_grow(array->data, (size_t)room, sizeof(*array->data));
        array->allocated_length = room;
    }
    for (; array->length <= place; array->length++)
        array->data[array->length] = NULL;
    return is_inside(array, place);
}

void *tbx_darray_get(p_tbx_darray_t array, tbx_darray_index_t place)
{
    return is_inside(array, place) ? array->data[place] : NULL;
}

void tbx_darray_set(p_tbx_darray_t array, tbx_darray_index_t place, void *object)
{
    if (is_inside(array, place))
        array->data[place] = object;
}

void *tbx_darray_expand_and_get(p_tbx_darray_t array, tbx_darray_index_t place)
{
    return expand(array, place) ? array->data[place] : NULL;
}

void tbx_darray_expand_and_set(p_tbx_darray_t array, tbx_darray_index_t place, void *object)
{
    if (expand(array, place))
        array->data[place] = object;
}

void tbx_darray_append(p_tbx_darray_t array, void *object)
{
    tbx_darray_expand_and_set(array, array->length, object);
}

/* The first object from `from` on. */
static void *object_from(p_tbx_darray_t array, tbx_darray_index_t from, p_tbx_darray_index_t place)
{
    for (; from < array->length; from++)
        if (array->data[from] != NULL) {
            *place = from;
            return array->data[from];
        }
    return NULL;
}

void *tbx_darray_first_idx(p_tbx_darray_t array, p_tbx_darray_index_t place)
{
    return object_from(array, 0, place);
}

void *tbx_darray_next_idx(p_tbx_darray_t array, p_tbx_darray_index_t place)
{
    return object_from(array, *place < 0 ? 0 : *place + 1, place);
}
