/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Cookies. From the lowest bit: type of the object (2 bits), slot (20 bits), a number that counts
 * all handles of the node and never repeats (42 bits).
 */
#include "core/internal.h"

#include <stdlib.h>

#include "engine/outside.h"

#define SLOT_BITS 20
#define SLOTS_MAX (1u << SLOT_BITS)

static uint32_t slot_of(uint64_t cookie)
{
    return (uint32_t)(cookie >> 2) & (SLOTS_MAX - 1);
}

static bool grow(struct lnet_handles *handles)
{
    uint32_t size = handles->size == 0 ? 8 : 2 * handles->size;
    struct lnet_handle_slot *slots;

    if (size > SLOTS_MAX)
        return false;
    sim_outside_begin();
    slots = realloc(handles->slots, size * sizeof(slots[0]));
    sim_outside_end();
    if (slots == NULL)
        return false;

    handles->slots = slots;
    handles->size = size;
    return true;
}

/* 0: no memory. */
uint64_t lnet_handle_new(struct lnet_node *node, enum lnet_handle_type type, void *object)
{
    struct lnet_handles *handles = &node->instance->handles;
    uint32_t slot;

    if (handles->first_free != 0) {
        slot = handles->first_free - 1;
        handles->first_free = handles->slots[slot].next_free;
    } else {
        if (handles->count == handles->size && !grow(handles))
            return 0;
        slot = handles->count++;
    }
    node->next_cookie++;
    handles->slots[slot].cookie =
        node->next_cookie << (SLOT_BITS + 2) | (uint64_t)slot << 2 | (uint64_t)type;
    handles->slots[slot].object = object;
    return handles->slots[slot].cookie;
}

void lnet_handle_free(struct lnet_node *node, uint64_t cookie)
{
    struct lnet_handles *handles = &node->instance->handles;
    uint32_t slot = slot_of(cookie);

    assert(slot < handles->count && handles->slots[slot].cookie == cookie);
    handles->slots[slot].cookie = 0;
    handles->slots[slot].next_free = handles->first_free;
    handles->first_free = slot + 1;
}

void *lnet_handle_find(struct lnet_node *node, enum lnet_handle_type type, uint64_t cookie)
{
    const struct lnet_handles *handles = &node->instance->handles;
    uint32_t slot = slot_of(cookie);

    if ((cookie & 3) != (uint64_t)type || slot >= handles->count ||
        handles->slots[slot].cookie != cookie)
        return NULL;

    return handles->slots[slot].object;
}

void lnet_handles_free(struct lnet_handles *handles)
{
    free(handles->slots);
    *handles = (struct lnet_handles){0};
}
