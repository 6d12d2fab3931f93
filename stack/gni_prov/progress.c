/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a CQ or counter drives: its NICs, then its cm_nics. Also gates. */
#include <stdlib.h>

#include "cm_nic.h"
#include "gnip.h"
#include "lock.h"
#include "nic.h"
#include "progress.h"
#include "waitable.h"

#define AT_ONCE 8 /* entries that are held together */
#define SKIPS 64u /* busy passes after which connections get their turn all the same */

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

/* ---- sets ------------------------------------------------------------------------------------ */

struct gnip_progress_entry {
    struct gnip_nic *nic; /* or */
    struct gnip_cm_nic *cm_nic;
    uint32_t refs;
    uint32_t users; /* atomic; threads that make it progress now */
};

void gnip_progress_list_init(struct gnip_progress_list *pset, bool needless_lock)
{
    memset(pset, 0, sizeof(*pset));
    gnip_lock_init(&pset->lock, needless_lock);
    gnip_gate_init(&pset->gate, needless_lock);
}

void gnip_progress_list_fini(struct gnip_progress_list *pset)
{
    uint32_t i;

    for (i = 0; i < pset->count; i++)
        free(pset->entries[i]);
    free(pset->entries);
    gnip_gate_fini(&pset->gate);
    gnip_lock_fini(&pset->lock);
}

/* Its place; pset->count: it is not in there. */
static uint32_t find(const struct gnip_progress_list *pset, const struct gnip_nic *nic,
                     const struct gnip_cm_nic *cm_nic)
{
    uint32_t i;

    for (i = 0; i < pset->count; i++)
        if (pset->entries[i]->nic == nic && pset->entries[i]->cm_nic == cm_nic)
            break;
    return i;
}

static bool make_room(struct gnip_progress_list *pset)
{
    uint32_t room = pset->room != 0 ? 2 * pset->room : 4;
    struct gnip_progress_entry **entries;

    if (pset->count < pset->room)
        return true;
    entries = realloc(pset->entries, room * sizeof(*entries));
    if (entries == NULL)
        return false;
    pset->entries = entries;
    pset->room = room;
    return true;
}

int gnip_progress_list_add(struct gnip_progress_list *pset, struct gnip_nic *nic,
                           struct gnip_cm_nic *cm_nic)
{
    struct gnip_progress_entry *entry = calloc(1, sizeof(*entry));
    uint32_t at, i;
    int rc = 0;

    if (entry == NULL)
        return -FI_ENOMEM;
    gnip_lock(&pset->lock);
    at = find(pset, nic, cm_nic);
    if (at < pset->count) {
        pset->entries[at]->refs++;
        free(entry);
    } else if (!make_room(pset)) {
        free(entry);
        rc = -FI_ENOMEM;
    } else {
        *entry = (struct gnip_progress_entry){.nic = nic, .cm_nic = cm_nic, .refs = 1};
        if (nic != NULL) /* in front of the cm_nics */
            for (at = 0; at < pset->count && pset->entries[at]->nic != NULL; at++)
                ;
        for (i = pset->count++; i > at; i--)
            pset->entries[i] = pset->entries[i - 1];
        pset->entries[at] = entry;
    }
    gnip_unlock(&pset->lock);
    return rc;
}

void gnip_progress_list_remove(struct gnip_progress_list *pset, struct gnip_nic *nic,
                               struct gnip_cm_nic *cm_nic)
{
    struct gnip_progress_entry *entry = NULL;
    uint32_t at;

    gnip_lock(&pset->lock);
    at = find(pset, nic, cm_nic);
    if (at < pset->count && --pset->entries[at]->refs == 0) {
        entry = pset->entries[at];
        for (pset->count--; at < pset->count; at++)
            pset->entries[at] = pset->entries[at + 1];
    }
    gnip_unlock(&pset->lock);
    if (entry == NULL)
        return;
    gnip_gate_wait(&pset->gate, &entry->users);
    free(entry);
}

/* Holds the entries from `from` on, at most AT_ONCE. How many those are. */
static uint32_t hold(struct gnip_progress_list *pset, uint32_t from,
                     struct gnip_progress_entry **held)
{
    uint32_t count = 0;

    gnip_lock(&pset->lock);
    for (; count < AT_ONCE && from + count < pset->count; count++) {
        held[count] = pset->entries[from + count];
        gnip_gate_hold(&pset->gate, &held[count]->users);
    }
    gnip_unlock(&pset->lock);
    return count;
}

/* Connections come when there is nothing else to do, and now and then. */
static bool time_for_control(struct gnip_progress_list *pset, uint32_t done)
{
    if (done != 0 && ++pset->skipped < SKIPS)
        return false;
    if (done != 0)
        pset->skipped = 0;
    return true;
}

static uint32_t drive(struct gnip_progress_list *pset, struct gnip_progress_entry *entry,
                      uint32_t done, uint32_t *polls)
{
    if (entry->nic != NULL)
        return gnip_nic_progress(entry->nic, polls);
    return time_for_control(pset, done) ? gnip_cm_nic_progress(entry->cm_nic, polls) : 0;
}

/* Connections alone are looked for with a lock held, where nobody else gets his turn. */
static void let_others_on(const struct gnip_progress_entry *first)
{
    if (gnip_unlikely(first->nic == NULL && !first->cm_nic->nic->lock.needless))
        gnip_waitable_yield();
}

uint32_t gnip_progress_list_run(struct gnip_progress_list *pset)
{
    struct gnip_progress_entry *held[AT_ONCE];
    uint32_t from = 0, count, i, polls = 0, done = 0;

    if (pset->lock.needless) {
        for (i = 0; i < pset->count; i++)
            done += drive(pset, pset->entries[i], done, &polls);
        return polls;
    }
    do {
        count = hold(pset, from, held);
        for (i = 0; i < count; i++) {
            done += drive(pset, held[i], done, &polls);
            if (gnip_unlikely(from + i == 0 && done == 0 && polls != 0))
                let_others_on(held[i]);
            gnip_gate_drop(&pset->gate, &held[i]->users);
        }
        from += count;
    } while (count == AT_ONCE);
    return polls;
}
