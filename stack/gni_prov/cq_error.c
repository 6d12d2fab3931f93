/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Errors in completion queues.
 *
 * An error has a slot in the ring, but it is reported before the entries in front of it: reading it
 * leaves a hole, which is skipped later. The error of an injected operation has no entry
 * (nameless), because no context names it: the next read returns its code. Injected operations
 * reserve no slot. If the ring cannot grow for such an error, its code is counted, and a read
 * returns it.
 */
#include <stdlib.h>

#include "cq_internal.h"
#include "domain.h"
#include "error_data.h"
#include "gnip.h"
#include "lock.h"
#include "progress.h"
#include "waitable.h"

/* ---- adding ---------------------------------------------------------------------------------- */

static void add_error(struct gnip_cq *cq, enum gnip_slot_kind kind,
                      const struct fi_cq_err_entry *entry, const void *data, size_t data_bytes)
{
    struct gnip_cq_data *copy = NULL;
    struct gnip_cq_slot *slot;

    if (data != NULL && data_bytes > 0) {
        if (data_bytes > sizeof(cq->error_data))
            data_bytes = sizeof(cq->error_data);
        copy = malloc(sizeof(*copy) + data_bytes);
        if (copy != NULL) { /* else the entry has no error data */
            copy->next = NULL;
            copy->bytes = (uint32_t)data_bytes;
            memcpy(copy->bytes_of, data, data_bytes);
        }
    }
    gnip_lock(&cq->lock);
    slot = gnip_cq_next_slot(cq);
    slot->entry = (struct fi_cq_tagged_entry){.op_context = entry->op_context,
                                              .flags = entry->flags,
                                              .len = entry->len,
                                              .buf = entry->buf,
                                              .data = entry->data,
                                              .tag = entry->tag};
    slot->olen = entry->olen;
    slot->err = (int16_t)entry->err;
    slot->prov_errno = entry->prov_errno;
    slot->kind = (uint8_t)kind;
    if (copy != NULL) {
        copy->position = cq->tail;
        if (cq->data_first == NULL)
            cq->data_first = copy;
        else
            cq->data_last->next = copy;
        cq->data_last = copy;
    }
    if (cq->errors == 0)
        cq->error_scan = cq->tail;
    __atomic_store_n(&cq->tail, cq->tail + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&cq->errors, cq->errors + 1, __ATOMIC_RELAXED);
    gnip_unlock(&cq->lock);
    gnip_waitable_signal(&cq->wait);
}

void gnip_cq_add_error(struct gnip_cq *cq, const struct fi_cq_err_entry *entry, const void *data,
                       size_t data_bytes)
{
    add_error(cq, GNIP_SLOT_ERROR, entry, data, data_bytes);
}

/*
 * Counts an error that has neither a name nor a slot. There are fewer error codes than counters
 * (gnip_errno); a code beyond them counts as the first one.
 */
static gnip_cold void count_error(struct gnip_cq *cq, int error)
{
    size_t i;

    gnip_lock(&cq->lock);
    for (i = 0; i < GNIP_CQ_CODES; i++)
        if (cq->counted[i].count == 0 || cq->counted[i].error == error)
            break;
    i = i < GNIP_CQ_CODES ? i : 0;
    if (cq->counted[i].count++ == 0)
        cq->counted[i].error = error;
    __atomic_store_n(&cq->counted_errors, cq->counted_errors + 1, __ATOMIC_RELAXED);
    gnip_unlock(&cq->lock);
    gnip_waitable_signal(&cq->wait);
}

void gnip_cq_add_nameless(struct gnip_cq *cq, int error)
{
    if (gnip_cq_reserve_always(cq))
        add_error(cq, GNIP_SLOT_NAMELESS, &(struct fi_cq_err_entry){.err = error}, NULL, 0);
    else
        count_error(cq, error);
}

/* ---- reading --------------------------------------------------------------------------------- */

gnip_noinline void gnip_cq_skip_holes(struct gnip_cq *cq)
{
    uint32_t slots = 0;

    gnip_assert_held(&cq->lock);
    while (cq->head + slots != cq->tail &&
           gnip_cq_slot_at(cq, cq->head + slots)->kind == GNIP_SLOT_HOLE)
        slots++;
    assert(cq->holes >= slots);
    cq->holes -= slots;
    if (slots > 0)
        gnip_cq_advance(cq, slots);
}

/* The first error; there is one. cq->lock is held. */
static struct gnip_cq_slot *find_error(struct gnip_cq *cq)
{
    struct gnip_cq_slot *slot;

    for (;; cq->error_scan++) {
        slot = gnip_cq_slot_at(cq, cq->error_scan);
        if (slot->kind == GNIP_SLOT_ERROR || slot->kind == GNIP_SLOT_NAMELESS)
            return slot;
    }
}

static void remove_error(struct gnip_cq *cq, struct gnip_cq_slot *slot)
{
    slot->kind = GNIP_SLOT_HOLE;
    cq->error_scan++;
    __atomic_store_n(&cq->errors, cq->errors - 1, __ATOMIC_RELAXED);
    cq->holes++;
    gnip_cq_skip_holes(cq);
}

gnip_cold ssize_t gnip_cq_read_nameless(struct gnip_cq *cq)
{
    struct gnip_cq_slot *slot = find_error(cq);
    int error = slot->err;

    if (slot->kind != GNIP_SLOT_NAMELESS)
        return -FI_EAVAIL;
    remove_error(cq, slot);
    return -error;
}

gnip_cold ssize_t gnip_cq_read_counted(struct gnip_cq *cq)
{
    size_t i = 0;

    gnip_assert_held(&cq->lock);
    assert(cq->counted_errors > 0);
    while (cq->counted[i].count == 0)
        i++;
    assert(i < GNIP_CQ_CODES);
    cq->counted[i].count--;
    __atomic_store_n(&cq->counted_errors, cq->counted_errors - 1, __ATOMIC_RELAXED);
    return -cq->counted[i].error;
}

/* Reads and removes the entry of the first error. cq->lock is held. */
static void read_error(struct gnip_cq *cq, struct gnip_cq_slot *slot, struct fi_cq_err_entry *entry,
                       uint32_t *data_bytes)
{
    struct gnip_cq_data *data = cq->data_first;

    *entry = (struct fi_cq_err_entry){.op_context = slot->entry.op_context,
                                      .flags = slot->entry.flags,
                                      .len = slot->entry.len,
                                      .buf = slot->entry.buf,
                                      .data = slot->entry.data,
                                      .tag = slot->entry.tag,
                                      .olen = slot->olen,
                                      .err = slot->err,
                                      .prov_errno = slot->prov_errno};
    *data_bytes = 0;
    if (data != NULL && data->position == cq->error_scan) {
        *data_bytes = data->bytes;
        memcpy(cq->error_data, data->bytes_of, data->bytes);
        cq->data_first = data->next;
        free(data);
    }
    remove_error(cq, slot);
}

ssize_t gnip_cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buffer, uint64_t flags)
{
    PORT_CALL("fi_cq_readerr");
    struct gnip_cq *cq = gnip_cq_of(fid);
    bool sized = gnip_error_data_sized(cq->domain->api_version);
    struct gnip_error_data data;
    struct gnip_cq_slot *slot;
    struct fi_cq_err_entry entry;
    ssize_t result;
    uint32_t bytes;

    if (buffer == NULL ||
        !gnip_error_data_begin(&data, buffer->err_data, &buffer->err_data_size, sized))
        return -FI_EINVAL;
    gnip_progress_list_run(&cq->progress);
    gnip_lock(&cq->lock);
    if (cq->errors == 0) {
        result = gnip_unlikely(cq->counted_errors > 0) ? gnip_cq_read_counted(cq) : -FI_EAGAIN;
        gnip_unlock(&cq->lock);
        port_poll_mark(~cq->wait.id); /* not like a read of an entry */
        if (gnip_cq_pending(cq) == 0 && result == -FI_EAGAIN)
            gnip_waitable_idle(&cq->wait);
        return result;
    }
    slot = find_error(cq);
    if (gnip_unlikely(slot->kind == GNIP_SLOT_NAMELESS)) {
        result = gnip_cq_read_nameless(cq);
        gnip_unlock(&cq->lock);
        return result;
    }
    read_error(cq, slot, &entry, &bytes);
    entry.err_data_size = 0;
    gnip_error_data_end(&data, cq->error_data, bytes, &entry.err_data, &entry.err_data_size);
    gnip_unlock(&cq->lock);
    gnip_cq_may_schedule_waiting(cq);
    port_idle_break();
    memcpy(buffer, &entry, sized ? sizeof(entry) : offsetof(struct fi_cq_err_entry, err_data_size));
    return 1;
}
