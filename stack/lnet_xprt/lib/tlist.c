/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists that check the magic words of their objects. */
#include "lib/tlist.h"

static struct m0_list_link *link_of(const struct m0_tl_descr *d, const void *object)
{
    const char *at = object;

    return &((struct m0_tlink *)(uintptr_t)(at + d->td_link_offset))->t_link;
}

static uint64_t *magic_of(const struct m0_tl_descr *d, const void *object)
{
    const char *at = object;

    return (uint64_t *)(uintptr_t)(at + d->td_link_magic_offset);
}

static bool is_object(const struct m0_tl_descr *d, const void *object)
{
    return d->td_link_magic == 0 || *magic_of(d, object) == d->td_link_magic;
}

/* A link that was initialised; the words of the object and of the list are right. */
static struct m0_list_link *checked(const struct m0_tl_descr *d, const void *object)
{
    struct m0_list_link *link = link_of(d, object);

    M0_PRE(is_object(d, object));
    M0_PRE(link->ll_next != NULL);
    return link;
}

static const struct m0_list *list_of(const struct m0_tl_descr *d, const struct m0_tl *list)
{
    M0_PRE(list->t_magic == d->td_head_magic);
    return &list->t_head;
}

static struct m0_list *changed(const struct m0_tl_descr *d, struct m0_tl *list)
{
    return (struct m0_list *)(uintptr_t)list_of(d, list);
}

/* NULL: the link is the end of the list. */
static void *object_of(const struct m0_tl_descr *d, const struct m0_list *list,
                       const struct m0_list_link *link)
{
    void *object;

    if (link == (const void *)list)
        return NULL;
    object = (void *)((uintptr_t)link - d->td_link_offset - offsetof(struct m0_tlink, t_link));
    M0_ASSERT(is_object(d, object));
    return object;
}

void m0_tlist_init(const struct m0_tl_descr *d, struct m0_tl *list)
{
    list->t_magic = d->td_head_magic;
    m0_list_init(&list->t_head);
}

void m0_tlist_fini(const struct m0_tl_descr *d, struct m0_tl *list)
{
    m0_list_fini(changed(d, list));
    list->t_magic = 0;
}

void m0_tlink_init(const struct m0_tl_descr *d, void *object)
{
    if (d->td_link_magic != 0)
        *magic_of(d, object) = d->td_link_magic;
    m0_list_link_init(link_of(d, object));
}

void m0_tlink_init_at(const struct m0_tl_descr *d, void *object, struct m0_tl *list)
{
    m0_tlink_init(d, object);
    m0_tlist_add(d, list, object);
}

void m0_tlink_init_at_tail(const struct m0_tl_descr *d, void *object, struct m0_tl *list)
{
    m0_tlink_init(d, object);
    m0_tlist_add_tail(d, list, object);
}

/* The word stays: several links of an object may share it. */
void m0_tlink_fini(const struct m0_tl_descr *d, void *object)
{
    m0_list_link_fini(checked(d, object));
}

void m0_tlink_del_fini(const struct m0_tl_descr *d, void *object)
{
    m0_tlist_del(d, object);
    m0_tlink_fini(d, object);
}

bool m0_tlist_invariant(const struct m0_tl_descr *d, const struct m0_tl *list)
{
    return m0_tlist_invariant_ext(d, list, NULL, NULL);
}

bool m0_tlist_invariant_ext(const struct m0_tl_descr *d, const struct m0_tl *list,
                            bool (*check)(const void *, void *), void *datum)
{
    const struct m0_list_link *link;
    const char *object;

    if (list->t_magic != d->td_head_magic || !m0_list_invariant(&list->t_head))
        return false;
    m0_list_for_each(&list->t_head, link)
    {
        object = (const char *)link - d->td_link_offset - offsetof(struct m0_tlink, t_link);
        if (!is_object(d, object) || (check != NULL && !check(object, datum)))
            return false;
    }
    return true;
}

bool m0_tlist_is_empty(const struct m0_tl_descr *d, const struct m0_tl *list)
{
    return m0_list_is_empty(list_of(d, list));
}

bool m0_tlink_is_in(const struct m0_tl_descr *d, const void *object)
{
    return m0_list_link_is_in(checked(d, object));
}

bool m0_tlist_contains(const struct m0_tl_descr *d, const struct m0_tl *list, const void *object)
{
    return m0_list_contains(list_of(d, list), checked(d, object));
}

/* Sources count lists of another kind with the same objects: the word of the head is not checked.
 */
size_t m0_tlist_length(const struct m0_tl_descr *d, const struct m0_tl *list)
{
    (void)d;
    return m0_list_length(&list->t_head);
}

void m0_tlist_add(const struct m0_tl_descr *d, struct m0_tl *list, void *object)
{
    m0_list_add(changed(d, list), checked(d, object));
}

void m0_tlist_add_tail(const struct m0_tl_descr *d, struct m0_tl *list, void *object)
{
    m0_list_add_tail(changed(d, list), checked(d, object));
}

void m0_tlist_add_after(const struct m0_tl_descr *d, void *place, void *object)
{
    m0_list_add_after(checked(d, place), checked(d, object));
}

void m0_tlist_add_before(const struct m0_tl_descr *d, void *place, void *object)
{
    m0_list_add_before(checked(d, place), checked(d, object));
}

void m0_tlist_del(const struct m0_tl_descr *d, void *object)
{
    struct m0_list_link *link = checked(d, object);

    M0_PRE(m0_list_link_is_in(link));
    m0_list_del(link);
}

bool m0_tlist_remove(const struct m0_tl_descr *d, void *object)
{
    bool listed = m0_tlink_is_in(d, object);

    if (listed)
        m0_tlist_del(d, object);
    return listed;
}

void m0_tlist_move(const struct m0_tl_descr *d, struct m0_tl *list, void *object)
{
    m0_list_move(changed(d, list), checked(d, object));
}

void m0_tlist_move_tail(const struct m0_tl_descr *d, struct m0_tl *list, void *object)
{
    m0_list_move_tail(changed(d, list), checked(d, object));
}

void *m0_tlist_head(const struct m0_tl_descr *d, const struct m0_tl *list)
{
    const struct m0_list *l = list_of(d, list);

    return object_of(d, l, l->l_head);
}

void *m0_tlist_tail(const struct m0_tl_descr *d, const struct m0_tl *list)
{
    const struct m0_list *l = list_of(d, list);

    return object_of(d, l, l->l_tail);
}

void *m0_tlist_pop(const struct m0_tl_descr *d, const struct m0_tl *list)
{
    void *object = m0_tlist_head(d, list);

    if (object != NULL)
        m0_tlist_del(d, object);
    return object;
}

void *m0_tlist_next(const struct m0_tl_descr *d, const struct m0_tl *list, const void *object)
{
    return object_of(d, list_of(d, list), checked(d, object)->ll_next);
}

void *m0_tlist_prev(const struct m0_tl_descr *d, const struct m0_tl *list, const void *object)
{
    return object_of(d, list_of(d, list), checked(d, object)->ll_prev);
}
