/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Progress lists: the NICs that a CQ or counter drives, then its cm_nics. Also gates. */
#include <stdlib.h>

#include "cm_nic.h"
#include "gnip.h"
#include "lock.h"
#include "nic.h"
#include "progress.h"
#include "waitable.h"

#define AT_ONCE 8 /* entries that are held at the same time */
#define SKIPS 64u /* busy passes after which control progress is made nevertheless */

/* ---- gates ----------------------------------------------------------------------------------- */

void gnip_gate_init(struct gnip_gate *gate, bool alone)
{
    port_mutex_init(&gate->mutex);
    port_condition_init(&gate->changed);
    gate->waiters = 0;
    gate->alone = alone;
}

void gnip_gate_fini(struct gnip_gate *gate)
{
    port_condition_destroy(&gate->changed);
    port_mutex_destroy(&gate->mutex);
}

void gnip_gate_wait(struct gnip_gate *gate, const uint32_t *users)
{
    if (__atomic_load_n(users, __ATOMIC_SEQ_CST) == 0)
        return;
    port_mutex_lock(&gate->mutex);
    __atomic_add_fetch(&gate->waiters, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(users, __ATOMIC_SEQ_CST) != 0)
        port_condition_wait(&gate->changed, &gate->mutex);
    __atomic_sub_fetch(&gate->waiters, 1, __ATOMIC_SEQ_CST);
    port_mutex_unlock(&gate->mutex);
}

gnip_noinline void gnip_gate_notify(struct gnip_gate *gate)
{
    port_mutex_lock(&gate->mutex);
    port_condition_broadcast(&gate->changed);
    port_mutex_unlock(&gate->mutex);
}

/* ---- progress lists -------------------------------------------------------------------------- */

struct gnip_progress_entry {
    struct gnip_nic *nic; /* or NULL */
    struct gnip_cm_nic *cm_nic;
    uint32_t refs;
    uint32_t users; /* atomic; threads that make progress for it now */
};

void gnip_progress_list_init(struct gnip_progress_list *list, bool elided)
{
    memset(list, 0, sizeof(*list));
    gnip_lock_init(&list->lock, elided);
    gnip_gate_init(&list->gate, elided);
}

void gnip_progress_list_fini(struct gnip_progress_list *list)
{
    uint32_t i;

    for (i = 0; i < list->count; i++) {
        assert(list->entries[i]->users == 0);
        free(list->entries[i]);
    }
    free(list->entries);
    gnip_gate_fini(&list->gate);
    gnip_lock_fini(&list->lock);
}

/* Its place; list->count: it is not in the list. */
static uint32_t find(const struct gnip_progress_list *list, const struct gnip_nic *nic,
                     const struct gnip_cm_nic *cm_nic)
{
    uint32_t i;

    for (i = 0; i < list->count; i++)
        if (list->entries[i]->nic == nic && list->entries[i]->cm_nic == cm_nic)
            break;
    return i;
}

static bool make_room(struct gnip_progress_list *list)
{
    uint32_t room = list->room != 0 ? 2 * list->room : 4;
    struct gnip_progress_entry **entries;

    if (list->count < list->room)
        return true;
    entries = realloc(list->entries, room * sizeof(*entries));
    if (entries == NULL)
        return false;
    list->entries = entries;
    list->room = room;
    return true;
}

int gnip_progress_list_add(struct gnip_progress_list *list, struct gnip_nic *nic,
                           struct gnip_cm_nic *cm_nic)
{
    struct gnip_progress_entry *entry = calloc(1, sizeof(*entry));
    uint32_t at, i;
    int rc = 0;

    if (entry == NULL)
        return -FI_ENOMEM;
    gnip_lock(&list->lock);
    at = find(list, nic, cm_nic);
    if (at < list->count) {
        list->entries[at]->refs++;
        free(entry);
    } else if (!make_room(list)) {
        free(entry);
        rc = -FI_ENOMEM;
    } else {
        *entry = (struct gnip_progress_entry){.nic = nic, .cm_nic = cm_nic, .refs = 1};
        if (nic != NULL) /* in front of the cm_nics */
            for (at = 0; at < list->count && list->entries[at]->nic != NULL; at++)
                ;
        for (i = list->count++; i > at; i--)
            list->entries[i] = list->entries[i - 1];
        list->entries[at] = entry;
    }
    gnip_unlock(&list->lock);
    return rc;
}

void gnip_progress_list_remove(struct gnip_progress_list *list, struct gnip_nic *nic,
                               struct gnip_cm_nic *cm_nic)
{
    struct gnip_progress_entry *entry = NULL;
    uint32_t at;

    gnip_lock(&list->lock);
    at = find(list, nic, cm_nic);
    assert(at == list->count || list->entries[at]->refs > 0);
    if (at < list->count && --list->entries[at]->refs == 0) {
        entry = list->entries[at];
        for (list->count--; at < list->count; at++)
            list->entries[at] = list->entries[at + 1];
    }
    gnip_unlock(&list->lock);
    if (entry == NULL)
        return;
    gnip_gate_wait(&list->gate, &entry->users);
    free(entry);
}

/* Holds the entries from `from` on, at most AT_ONCE. Returns their number. */
static uint32_t hold(struct gnip_progress_list *list, uint32_t from,
                     struct gnip_progress_entry **held)
{
    uint32_t count = 0;

    gnip_lock(&list->lock);
    for (; count < AT_ONCE && from + count < list->count; count++) {
        held[count] = list->entries[from + count];
        gnip_gate_hold(&list->gate, &held[count]->users);
    }
    gnip_unlock(&list->lock);
    return count;
}

/* Control progress is made when there is nothing else to do, and after some busy passes. */
static bool time_for_control(struct gnip_progress_list *list, uint32_t done)
{
    if (done != 0 && ++list->skipped < SKIPS)
        return false;
    if (done != 0)
        list->skipped = 0;
    return true;
}

static uint32_t drive(struct gnip_progress_list *list, struct gnip_progress_entry *entry,
                      uint32_t done, uint32_t *polls)
{
    if (entry->nic != NULL)
        return gnip_nic_progress(entry->nic, polls);
    return time_for_control(list, done) ? gnip_cm_nic_progress(entry->cm_nic, polls) : 0;
}

/* Control progress alone is made with a lock held, so other threads may starve: yields to them. */
static void let_others_on(const struct gnip_progress_entry *first)
{
    if (gnip_unlikely(first->nic == NULL && !first->cm_nic->nic->lock.elided))
        gnip_waitable_yield();
}

uint32_t gnip_progress_list_run(struct gnip_progress_list *list)
{
    struct gnip_progress_entry *held[AT_ONCE];
    uint32_t from = 0, count, i, polls = 0, done = 0;

    if (list->lock.elided) {
        for (i = 0; i < list->count; i++)
            done += drive(list, list->entries[i], done, &polls);
        return polls;
    }
    do {
        count = hold(list, from, held);
        for (i = 0; i < count; i++) {
            done += drive(list, held[i], done, &polls);
            if (gnip_unlikely(from + i == 0 && done == 0 && polls != 0))
                let_others_on(held[i]);
            gnip_gate_drop(&list->gate, &held[i]->users);
        }
        from += count;
    } while (count == AT_ONCE);
    return polls;
}
