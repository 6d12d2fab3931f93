/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A descriptor of the self-test and its events. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "internal.h"

/* LNet's callback: under LNet's lock, on any thread. */
static void on_event(struct lnet_event *event)
{
    struct lst_slot *slot = event->md.user_ptr, *first;
    int status = event->type == LNET_EVENT_UNLINK ? -EINTR : event->status;

    assert(slot->active);
    if (slot->status == 0)
        slot->status = status;
    if (event->type == LNET_EVENT_PUT) {
        slot->initiator = event->initiator;
        slot->self = event->target.nid;
    }
    if (event->type == LNET_EVENT_PUT || event->type == LNET_EVENT_REPLY)
        slot->bytes = event->mlength;
    if (!event->unlinked)
        return;
    first = __atomic_load_n(&slot->node->ended, __ATOMIC_RELAXED);
    do
        slot->next = first;
    while (!__atomic_compare_exchange_n(&slot->node->ended, &first, slot, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
    port_semaphore_post(&slot->node->work);
}

lnet_eq_handler_t lst_slot_callback(void)
{
    return on_event;
}

static void begin(struct lst_slot *slot, struct lst_node *node)
{
    assert(!slot->active && slot->ended != NULL);
    slot->node = node;
    slot->active = true;
    slot->status = 0;
    slot->bytes = 0;
    node->slots_active++;
}

static int cancel(struct lst_slot *slot, int rc)
{
    assert(slot->active && slot->node->slots_active > 0);
    slot->active = false;
    slot->node->slots_active--;
    slot->status = rc;
    return rc;
}

/* How many of the bytes at `memory` are in its first page. */
static uint32_t page_part(const void *memory, uint32_t bytes)
{
    uint32_t room = (uint32_t)(PAGE_SIZE - (uintptr_t)memory % PAGE_SIZE);

    return bytes < room ? bytes : room;
}

/* Bulk data is described page by page, as the kernel's is; it may begin inside a page. */
static struct lnet_md describe(struct lst_slot *slot, void *memory, uint32_t bytes,
                               uint32_t options, int threshold, lnet_kiov_t *pages)
{
    struct lnet_md md = {.start = memory,
                         .length = bytes,
                         .threshold = threshold,
                         .options = options,
                         .user_ptr = slot,
                         .eq_handle = slot->node->eq};
    uint32_t i = 0, at, part;

    assert(bytes <= LST_BYTES_MAX);
    if (bytes <= sizeof(struct lst_message))
        return md;
    for (at = 0; at < bytes; at += part, i++) {
        assert(i < LNET_MAX_IOV);
        part = page_part((char *)memory + at, bytes - at);
        pages[i].kiov_page = virt_to_page((char *)memory + at);
        pages[i].kiov_offset = (unsigned)((uintptr_t)((char *)memory + at) % PAGE_SIZE);
        pages[i].kiov_len = part;
    }
    md.start = pages;
    md.length = i;
    md.options |= LNET_MD_KIOV;
    return md;
}

int lst_slot_post(struct lst_slot *slot, struct lst_node *node, uint32_t portal,
                  struct lnet_process_id from, uint64_t bits, enum lnet_ins_pos position,
                  void *memory, uint32_t bytes, uint32_t options)
{
    lnet_kiov_t pages[LNET_MAX_IOV];
    struct lnet_handle_me me;
    int rc;

    begin(slot, node);
    rc = LNetMEAttach(portal, from, bits, 0, LNET_UNLINK, position, &me);
    if (rc != 0)
        return cancel(slot, rc);
    rc = LNetMDAttach(me, describe(slot, memory, bytes, options, 1, pages), LNET_UNLINK, &slot->md);
    if (rc != 0) {
        LNetMEUnlink(me);
        return cancel(slot, rc);
    }
    return 0;
}

static int bind_slot(struct lst_slot *slot, struct lst_node *node, void *memory, uint32_t bytes,
                     int threshold)
{
    lnet_kiov_t pages[LNET_MAX_IOV];
    int rc;

    begin(slot, node);
    rc = LNetMDBind(describe(slot, memory, bytes, 0, threshold, pages), LNET_UNLINK, &slot->md);
    return rc != 0 ? cancel(slot, rc) : 0;
}

/* LNet has refused the operation: the UNLINK event ends the slot. */
static void refused(struct lst_slot *slot, int rc)
{
    slot->status = rc;
    LNetMDUnlink(slot->md);
}

int lst_slot_put(struct lst_slot *slot, struct lst_node *node, lnet_nid_t self,
                 struct lnet_process_id to, uint32_t portal, uint64_t bits, void *memory,
                 uint32_t bytes)
{
    int rc = bind_slot(slot, node, memory, bytes, 1);

    if (rc != 0)
        return rc;
    rc = LNetPut(self, slot->md, LNET_NOACK_REQ, to, portal, bits, 0, 0);
    if (rc != 0)
        refused(slot, rc);
    return 0;
}

int lst_slot_get(struct lst_slot *slot, struct lst_node *node, lnet_nid_t self,
                 struct lnet_process_id from, uint32_t portal, uint64_t bits, void *memory,
                 uint32_t bytes)
{
    int rc = bind_slot(slot, node, memory, bytes, 2);

    if (rc != 0)
        return rc;
    rc = LNetGet(self, slot->md, from, portal, bits, 0, false);
    if (rc != 0)
        refused(slot, rc);
    return 0;
}

void lst_slot_abort(struct lst_slot *slot)
{
    if (slot->active)
        LNetMDUnlink(slot->md); /* -ENOENT: its last event is under way */
}
