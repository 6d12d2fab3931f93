/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Branded objects: a structure with a word at a known place that shows its type. The word is set
 * while the object lives, so a pointer to anything else is noticed.
 */
#ifndef M0_LIB_BOB_H
#define M0_LIB_BOB_H

#include "lib/assert.h"
#include "lib/misc.h"
#include "lib/types.h"

struct m0_tl_descr;

struct m0_bob_type {
    const char *bt_name;
    int bt_magix_offset; /* of the word, a uint64_t */
    uint64_t bt_magix; /* its value; not 0 */
    bool (*bt_check)(const void *bob); /* what else is so; NULL: nothing */
};

/* The name, the place and the value are those of a typed list's objects; bt_check is kept. */
void m0_bob_type_tlist_init(struct m0_bob_type *bt, const struct m0_tl_descr *td);
void m0_bob_init(const struct m0_bob_type *bt, void *bob); /* sets the word */
void m0_bob_fini(const struct m0_bob_type *bt, void *bob); /* clears it. pre: m0_bob_check() */
bool m0_bob_check(const struct m0_bob_type *bt, const void *bob);

/* The functions NAME_bob_init(), NAME_bob_fini() and NAME_bob_check() of `struct NAME`. */
#define M0_BOB_DEFINE(scope, bob_type, type)                      \
    scope M0_UNUSED void type##_bob_init(struct type *bob)        \
    {                                                             \
        m0_bob_init(bob_type, bob);                               \
    }                                                             \
    scope M0_UNUSED void type##_bob_fini(struct type *bob)        \
    {                                                             \
        m0_bob_fini(bob_type, bob);                               \
    }                                                             \
    scope M0_UNUSED bool type##_bob_check(const struct type *bob) \
    {                                                             \
        return m0_bob_check(bob_type, bob);                       \
    }                                                             \
    struct type##_bob_semicolon__
#define M0_BOB_DECLARE(scope, type)               \
    scope void type##_bob_init(struct type *bob); \
    scope void type##_bob_fini(struct type *bob); \
    scope bool type##_bob_check(const struct type *bob)

/* The branded object that has this field; the field's address is not NULL. */
#define bob_of(ptr, type, field, bt)                                         \
    ({                                                                       \
        void *bob_field__ = (void *)(ptr);                                   \
        type *bob_object__;                                                  \
        M0_ASSERT(bob_field__ != NULL);                                      \
        bob_object__ = container_of(bob_field__, type, field);               \
        M0_ASSERT_INFO(m0_bob_check(bt, bob_object__), "%s", (bt)->bt_name); \
        bob_object__;                                                        \
    })

#endif
