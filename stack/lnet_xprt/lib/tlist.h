/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Typed lists: a descriptor says where the link and the magic word of a listed object are, and
 * every operation checks the words. M0_TL_DESCR_DEFINE makes a descriptor, M0_TL_DEFINE the
 * functions NAME_tlist_add() and so on for it. Callers bring their own lock.
 */
#ifndef M0_LIB_TLIST_H
#define M0_LIB_TLIST_H

#include "lib/list.h"

struct m0_tl {
    uint64_t t_magic;
    struct m0_list t_head;
};
struct m0_tlink {
    struct m0_list_link t_link;
};

struct m0_tl_descr {
    const char *td_name;
    size_t td_link_offset; /* of the struct m0_tlink in an object */
    size_t td_link_magic_offset; /* of its uint64_t */
    uint64_t td_link_magic; /* 0: the objects have none that is checked */
    uint64_t td_head_magic;
    size_t td_container_size;
};

#define M0_TL_DESCR(name, type, link_field, magic_field, link_magic, head_magic)            \
    {                                                                                       \
        .td_name = (name), .td_link_offset = offsetof(type, link_field),                    \
        .td_link_magic_offset = offsetof(type, magic_field), .td_link_magic = (link_magic), \
        .td_head_magic = (head_magic), .td_container_size = sizeof(type)                    \
    }
#define M0_TL_DESCR_DECLARE(name, scope) scope const struct m0_tl_descr name##_tl
#define M0_TL_DESCR_DEFINE(name, hname, scope, type, link_field, magic_field, link_magic, \
                           head_magic)                                                    \
    _Static_assert(M0_HAS_TYPE(M0_FIELD_VALUE(type, link_field), struct m0_tlink), "");   \
    _Static_assert(M0_HAS_TYPE(M0_FIELD_VALUE(type, magic_field), uint64_t), "");         \
    scope const struct m0_tl_descr name##_tl =                                            \
        M0_TL_DESCR(hname, type, link_field, magic_field, link_magic, head_magic)

void m0_tlist_init(const struct m0_tl_descr *d, struct m0_tl *list);
void m0_tlist_fini(const struct m0_tl_descr *d, struct m0_tl *list); /* pre: empty */
/* An object's link; its magic word is set. */
void m0_tlink_init(const struct m0_tl_descr *d, void *object);
void m0_tlink_init_at(const struct m0_tl_descr *d, void *object, struct m0_tl *list);
void m0_tlink_init_at_tail(const struct m0_tl_descr *d, void *object, struct m0_tl *list);
void m0_tlink_fini(const struct m0_tl_descr *d, void *object); /* pre: in no list */
void m0_tlink_del_fini(const struct m0_tl_descr *d, void *object);
bool m0_tlist_invariant(const struct m0_tl_descr *d, const struct m0_tl *list);
bool m0_tlist_invariant_ext(const struct m0_tl_descr *d, const struct m0_tl *list,
                            bool (*check)(const void *, void *), void *datum);
bool m0_tlist_is_empty(const struct m0_tl_descr *d, const struct m0_tl *list);
bool m0_tlink_is_in(const struct m0_tl_descr *d, const void *object); /* in some list */
bool m0_tlist_contains(const struct m0_tl_descr *d, const struct m0_tl *list, const void *object);
size_t m0_tlist_length(const struct m0_tl_descr *d, const struct m0_tl *list);
void m0_tlist_add(const struct m0_tl_descr *d, struct m0_tl *list, void *object); /* first */
void m0_tlist_add_tail(const struct m0_tl_descr *d, struct m0_tl *list, void *object);
void m0_tlist_add_after(const struct m0_tl_descr *d, void *place, void *object);
void m0_tlist_add_before(const struct m0_tl_descr *d, void *place, void *object);
void m0_tlist_del(const struct m0_tl_descr *d, void *object);
bool m0_tlist_remove(const struct m0_tl_descr *d, void *object); /* whether it was in a list */
void m0_tlist_move(const struct m0_tl_descr *d, struct m0_tl *list, void *object);
void m0_tlist_move_tail(const struct m0_tl_descr *d, struct m0_tl *list, void *object);
/* NULL: there is none. */
void *m0_tlist_head(const struct m0_tl_descr *d, const struct m0_tl *list);
void *m0_tlist_tail(const struct m0_tl_descr *d, const struct m0_tl *list);
void *m0_tlist_pop(const struct m0_tl_descr *d, const struct m0_tl *list);
void *m0_tlist_next(const struct m0_tl_descr *d, const struct m0_tl *list, const void *object);
void *m0_tlist_prev(const struct m0_tl_descr *d, const struct m0_tl *list, const void *object);

/* The object of an iteration may be removed in the body. */
#define m0_tlist_for(descr, head, obj)                                                            \
    do {                                                                                          \
        const struct m0_tl *m0_tl_head__ = (head);                                                \
        const struct m0_tl_descr *m0_tl_descr__ = (descr);                                        \
        void *m0_tl_next__;                                                                       \
        for (obj = m0_tlist_head(m0_tl_descr__, m0_tl_head__); obj != NULL; obj = m0_tl_next__) { \
            m0_tl_next__ = m0_tlist_next(m0_tl_descr__, m0_tl_head__, obj);
#define m0_tlist_endfor \
    ;                   \
    (void)m0_tl_next__; \
    }                   \
    }                   \
    while (0)
#define m0_tl_for(name, head, obj) m0_tlist_for(&name##_tl, head, obj)
#define m0_tl_endfor m0_tlist_endfor

/* Whether all (one) of the objects satisfy the statement expression. */
#define M0_TL_FIND__(h, name, var, head, ...)                                \
    ({                                                                       \
        const struct m0_tl *h = (head);                                      \
        __typeof__(name##_tlist_head(h)) var;                                \
        for (var = name##_tlist_head(h); var != NULL && !({ __VA_ARGS__; }); \
             var = name##_tlist_next(h, var)) {                              \
        }                                                                    \
        var;                                                                 \
    })
#define m0_tl_find(name, var, head, ...) \
    M0_TL_FIND__(M0_UNIQUE__(m0_tl_h_), name, var, head, __VA_ARGS__)
#define m0_tl_forall(name, var, head, ...) \
    (m0_tl_find(name, var, head, !({ __VA_ARGS__; })) == NULL)
#define m0_tl_exists(name, var, head, ...) (m0_tl_find(name, var, head, __VA_ARGS__) != NULL)
#define m0_tl_fold(name, var, sofar, head, init, ...)            \
    ({                                                           \
        const struct m0_tl *m0_tl_fold__ = (head);               \
        __typeof__(name##_tlist_head(m0_tl_fold__)) var;         \
        __typeof__(init) sofar = (init);                         \
        for (var = name##_tlist_head(m0_tl_fold__); var != NULL; \
             var = name##_tlist_next(m0_tl_fold__, var))         \
            sofar = ({ __VA_ARGS__; });                          \
        sofar;                                                   \
    })
#define m0_tl_reduce(name, var, head, init, ...)                \
    ({                                                          \
        const struct m0_tl *m0_tl_red__ = (head);               \
        __typeof__(name##_tlist_head(m0_tl_red__)) var;         \
        __typeof__(init) m0_tl_sum__ = (init);                  \
        for (var = name##_tlist_head(m0_tl_red__); var != NULL; \
             var = name##_tlist_next(m0_tl_red__, var))         \
            m0_tl_sum__ = m0_tl_sum__ __VA_ARGS__;              \
        m0_tl_sum__;                                            \
    })
/* The body frees each object, which is in no list any more. */
#define m0_tl_teardown(name, head, obj) for (; ((obj) = name##_tlist_pop(head)) != NULL;)

#define M0_TL_DECLARE(name, scope, type)                                                     \
    scope void name##_tlist_init(struct m0_tl *head);                                        \
    scope void name##_tlist_fini(struct m0_tl *head);                                        \
    scope void name##_tlink_init(type *object);                                              \
    scope void name##_tlink_init_at(type *object, struct m0_tl *head);                       \
    scope void name##_tlink_init_at_tail(type *object, struct m0_tl *head);                  \
    scope void name##_tlink_fini(type *object);                                              \
    scope void name##_tlink_del_fini(type *object);                                          \
    scope bool name##_tlist_invariant(const struct m0_tl *head);                             \
    scope bool name##_tlist_invariant_ext(const struct m0_tl *head,                          \
                                          bool (*check)(const type *, void *), void *datum); \
    scope bool name##_tlist_is_empty(const struct m0_tl *head);                              \
    scope bool name##_tlink_is_in(const type *object);                                       \
    scope bool name##_tlist_contains(const struct m0_tl *head, const type *object);          \
    scope size_t name##_tlist_length(const struct m0_tl *head);                              \
    scope void name##_tlist_add(struct m0_tl *head, type *object);                           \
    scope void name##_tlist_add_tail(struct m0_tl *head, type *object);                      \
    scope void name##_tlist_add_after(type *place, type *object);                            \
    scope void name##_tlist_add_before(type *place, type *object);                           \
    scope void name##_tlist_del(type *object);                                               \
    scope bool name##_tlist_remove(type *object);                                            \
    scope void name##_tlist_move(struct m0_tl *head, type *object);                          \
    scope void name##_tlist_move_tail(struct m0_tl *head, type *object);                     \
    scope type *name##_tlist_head(const struct m0_tl *head);                                 \
    scope type *name##_tlist_pop(const struct m0_tl *head);                                  \
    scope type *name##_tlist_tail(const struct m0_tl *head);                                 \
    scope type *name##_tlist_next(const struct m0_tl *head, const type *object);             \
    scope type *name##_tlist_prev(const struct m0_tl *head, const type *object)

#define M0_TL_DEFINE(name, scope, type)                                                      \
    scope M0_UNUSED void name##_tlist_init(struct m0_tl *head)                               \
    {                                                                                        \
        m0_tlist_init(&name##_tl, head);                                                     \
    }                                                                                        \
    scope M0_UNUSED void name##_tlist_fini(struct m0_tl *head)                               \
    {                                                                                        \
        m0_tlist_fini(&name##_tl, head);                                                     \
    }                                                                                        \
    scope M0_UNUSED void name##_tlink_init(type *object)                                     \
    {                                                                                        \
        m0_tlink_init(&name##_tl, object);                                                   \
    }                                                                                        \
    scope M0_UNUSED void name##_tlink_init_at(type *object, struct m0_tl *head)              \
    {                                                                                        \
        m0_tlink_init_at(&name##_tl, object, head);                                          \
    }                                                                                        \
    scope M0_UNUSED void name##_tlink_init_at_tail(type *object, struct m0_tl *head)         \
    {                                                                                        \
        m0_tlink_init_at_tail(&name##_tl, object, head);                                     \
    }                                                                                        \
    scope M0_UNUSED void name##_tlink_fini(type *object)                                     \
    {                                                                                        \
        m0_tlink_fini(&name##_tl, object);                                                   \
    }                                                                                        \
    scope M0_UNUSED void name##_tlink_del_fini(type *object)                                 \
    {                                                                                        \
        m0_tlink_del_fini(&name##_tl, object);                                               \
    }                                                                                        \
    scope M0_UNUSED bool name##_tlist_invariant(const struct m0_tl *head)                    \
    {                                                                                        \
        return m0_tlist_invariant(&name##_tl, head);                                         \
    }                                                                                        \
    scope M0_UNUSED bool name##_tlist_invariant_ext(                                         \
        const struct m0_tl *head, bool (*check)(const type *, void *), void *datum)          \
    {                                                                                        \
        const type *object;                                                                  \
        if (!m0_tlist_invariant(&name##_tl, head))                                           \
            return false;                                                                    \
        for (object = m0_tlist_head(&name##_tl, head); object != NULL;                       \
             object = m0_tlist_next(&name##_tl, head, object))                               \
            if (!check(object, datum))                                                       \
                return false;                                                                \
        return true;                                                                         \
    }                                                                                        \
    scope M0_UNUSED bool name##_tlist_is_empty(const struct m0_tl *head)                     \
    {                                                                                        \
        return m0_tlist_is_empty(&name##_tl, head);                                          \
    }                                                                                        \
    scope M0_UNUSED bool name##_tlink_is_in(const type *object)                              \
    {                                                                                        \
        return m0_tlink_is_in(&name##_tl, object);                                           \
    }                                                                                        \
    scope M0_UNUSED bool name##_tlist_contains(const struct m0_tl *head, const type *object) \
    {                                                                                        \
        return m0_tlist_contains(&name##_tl, head, object);                                  \
    }                                                                                        \
    scope M0_UNUSED size_t name##_tlist_length(const struct m0_tl *head)                     \
    {                                                                                        \
        return m0_tlist_length(&name##_tl, head);                                            \
    }                                                                                        \
    scope M0_UNUSED void name##_tlist_add(struct m0_tl *head, type *object)                  \
    {                                                                                        \
        m0_tlist_add(&name##_tl, head, object);                                              \
    }                                                                                        \
    scope M0_UNUSED void name##_tlist_add_tail(struct m0_tl *head, type *object)             \
    {                                                                                        \
        m0_tlist_add_tail(&name##_tl, head, object);                                         \
    }                                                                                        \
    scope M0_UNUSED void name##_tlist_add_after(type *place, type *object)                   \
    {                                                                                        \
        m0_tlist_add_after(&name##_tl, place, object);                                       \
    }                                                                                        \
    scope M0_UNUSED void name##_tlist_add_before(type *place, type *object)                  \
    {                                                                                        \
        m0_tlist_add_before(&name##_tl, place, object);                                      \
    }                                                                                        \
    scope M0_UNUSED void name##_tlist_del(type *object)                                      \
    {                                                                                        \
        m0_tlist_del(&name##_tl, object);                                                    \
    }                                                                                        \
    scope M0_UNUSED bool name##_tlist_remove(type *object)                                   \
    {                                                                                        \
        return m0_tlist_remove(&name##_tl, object);                                          \
    }                                                                                        \
    scope M0_UNUSED void name##_tlist_move(struct m0_tl *head, type *object)                 \
    {                                                                                        \
        m0_tlist_move(&name##_tl, head, object);                                             \
    }                                                                                        \
    scope M0_UNUSED void name##_tlist_move_tail(struct m0_tl *head, type *object)            \
    {                                                                                        \
        m0_tlist_move_tail(&name##_tl, head, object);                                        \
    }                                                                                        \
    scope M0_UNUSED type *name##_tlist_head(const struct m0_tl *head)                        \
    {                                                                                        \
        return m0_tlist_head(&name##_tl, head);                                              \
    }                                                                                        \
    scope M0_UNUSED type *name##_tlist_pop(const struct m0_tl *head)                         \
    {                                                                                        \
        return m0_tlist_pop(&name##_tl, head);                                               \
    }                                                                                        \
    scope M0_UNUSED type *name##_tlist_tail(const struct m0_tl *head)                        \
    {                                                                                        \
        return m0_tlist_tail(&name##_tl, head);                                              \
    }                                                                                        \
    scope M0_UNUSED type *name##_tlist_next(const struct m0_tl *head, const type *object)    \
    {                                                                                        \
        return m0_tlist_next(&name##_tl, head, object);                                      \
    }                                                                                        \
    scope M0_UNUSED type *name##_tlist_prev(const struct m0_tl *head, const type *object)    \
    {                                                                                        \
        return m0_tlist_prev(&name##_tl, head, object);                                      \
    }                                                                                        \
    struct name##_tlist_terminate_me_with_a_semicolon

#endif
