/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Doubly linked, circular lists for the stacks. The links are members of the listed objects, so a
 * list allocates nothing. The head of a list is a link, too.
 */
#ifndef JACQUARD_PORT_LIST_H
#define JACQUARD_PORT_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

struct port_link {
    struct port_link *next, *prev; /* both NULL: the object is in no list */
};

/* The object that contains this link. */
#define port_list_of(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

static inline void port_list_init(struct port_link *head)
{
    head->next = head->prev = head;
}

static inline bool port_list_empty(const struct port_link *head)
{
    return head->next == head;
}

static inline bool port_linked(const struct port_link *link)
{
    return link->next != NULL;
}

static inline void port_list_append(struct port_link *head, struct port_link *link)
{
    assert(port_linked(head) && !port_linked(link));
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

static inline void port_list_prepend(struct port_link *head, struct port_link *link)
{
    port_list_append(head->next, link);
}

/* The object is in a list. */
static inline void port_list_remove(struct port_link *link)
{
    struct port_link *prev = link->prev, *next = link->next;

    assert(port_linked(link) && next->prev == link && prev->next == link);
    /* The analyser believes that a removed element may still be found from its head. */
    prev->next = next; /* NOLINT(clang-analyzer-core.NullDereference) */
    next->prev = prev; /* NOLINT(clang-analyzer-core.NullDereference): the same */
    link->next = link->prev = NULL;
}

/* The same for an object that may be in no list. */
static inline void port_list_discard(struct port_link *link)
{
    if (port_linked(link))
        port_list_remove(link);
}

/* Removes the first one. NULL: the list is empty. */
static inline struct port_link *port_list_pop(struct port_link *head)
{
    struct port_link *link = head->next;

    if (link == head)
        return NULL;
    port_list_remove(link);
    return link;
}

#endif
