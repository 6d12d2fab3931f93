/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues: adding and reading entries; opening and closing. cq_error.c has the errors.
 *
 * A queue is one ring of slots of a cache line each. An accepted operation reserves its slot, so
 * there is always room for its completion, also for an error. An empty ring starts again at its
 * first slot, so that a queue that is read in time stays in the cache and touches one line of its
 * memory.
 */
#include <stdlib.h>

#include "cq_internal.h"
#include "domain.h"
#include "findings.h"
#include "gnip.h"
#include "lock.h"
#include "nic.h"
#include "nosys.h"
#include "progress.h"
#include "req.h"
#include "vc.h"
#include "wait.h"
#include "waitable.h"

#define SLOTS_FIRST 64u /* one page */
#define PROGRESS_EVERY 16u /* reads of a queue that has entries */
#define SIZE_DEFAULT 256u
#define CAPACITY_MAX (1u << 30)

/* ---- adding ---------------------------------------------------------------------------------- */

/* Doubles the room. cq->lock is held. */
static gnip_cold bool grow(struct gnip_cq *cq)
{
    uint32_t room = cq->room == 0 ? SLOTS_FIRST : 2 * cq->room, count = cq->tail - cq->head;
    struct gnip_cq_slot *slots;
    struct gnip_cq_data *data;
    size_t bytes = room * sizeof(*slots);

    slots = aligned_alloc(sizeof(*slots), bytes);
    if (slots == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++)
        slots[i] = *gnip_cq_slot_at(cq, cq->head + i);
    for (data = cq->data_first; data != NULL; data = data->next)
        data->position -= cq->head;
    cq->error_scan -= cq->head;
    __atomic_store_n(&cq->head, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&cq->tail, count, __ATOMIC_RELAXED);
    free(cq->slots);
    cq->slots = slots;
    __atomic_store_n(&cq->room, room, __ATOMIC_RELEASE);
    return true;
}

static gnip_cold bool reserve_more(struct gnip_cq *cq, uint32_t reserved)
{
    bool room = reserved <= cq->capacity;

    gnip_lock(&cq->lock);
    while (room && cq->room < reserved)
        room = grow(cq);
    gnip_unlock(&cq->lock);
    if (!room)
        gnip_cq_reserved_add(cq, -1u);
    return room;
}

bool gnip_cq_reserve(struct gnip_cq *cq)
{
    uint32_t reserved = gnip_cq_reserved_add(cq, 1);

    if (gnip_likely(reserved <= __atomic_load_n(&cq->room, __ATOMIC_ACQUIRE) &&
                    reserved <= cq->capacity))
        return true;
    return reserve_more(cq, reserved);
}

bool gnip_cq_reserve_always(struct gnip_cq *cq)
{
    uint32_t reserved = gnip_cq_reserved_add(cq, 1);
    bool room = true;

    gnip_lock(&cq->lock);
    while (room && cq->room < reserved)
        room = grow(cq);
    gnip_unlock(&cq->lock);
    if (!room)
        gnip_cq_reserved_add(cq, -1u);
    return room;
}

gnip_noinline void gnip_cq_unreserve(struct gnip_cq *cq)
{
    gnip_cq_reserved_add(cq, -1u);
}

void gnip_cq_add(struct gnip_cq *cq, const struct fi_cq_tagged_entry *entry, fi_addr_t source)
{
    struct gnip_cq_slot *slot;

    gnip_lock(&cq->lock);
    slot = gnip_cq_next_slot(cq);
    slot->entry = *entry;
    slot->source = source;
    slot->kind = GNIP_SLOT_ENTRY;
    __atomic_store_n(&cq->tail, cq->tail + 1, __ATOMIC_RELAXED);
    gnip_unlock(&cq->lock);
    gnip_waitable_signal(&cq->wait);
}

void gnip_cq_wait_for_room(struct gnip_cq *cq, struct gnip_vc *vc)
{
    gnip_lock(&cq->lock);
    if (!vc->waits_for_cq) {
        vc->waits_for_cq = true;
        vc->cq_wait_next = cq->vcs_waiting;
        __atomic_store_n(&cq->vcs_waiting, vc, __ATOMIC_RELAXED);
    }
    gnip_unlock(&cq->lock);
}

void gnip_cq_forget(struct gnip_cq *cq, struct gnip_vc *vc)
{
    struct gnip_vc **at;

    gnip_lock(&cq->lock);
    for (at = &cq->vcs_waiting; *at != NULL && *at != vc; at = &(*at)->cq_wait_next)
        ;
    if (*at != NULL)
        *at = vc->cq_wait_next;
    vc->waits_for_cq = false;
    gnip_unlock(&cq->lock);
}

/* Entries have been read: schedules the VCs that waited for room, while there is some. */
gnip_noinline void gnip_cq_schedule_waiting(struct gnip_cq *cq)
{
    struct gnip_vc *vc;

    while (__atomic_load_n(&cq->reserved, __ATOMIC_RELAXED) < cq->capacity) {
        gnip_lock(&cq->lock);
        vc = cq->vcs_waiting;
        if (vc != NULL) {
            cq->vcs_waiting = vc->cq_wait_next;
            vc->waits_for_cq = false;
            gnip_gate_hold(&vc->nic->gate, &vc->pins); /* it does not go meanwhile */
        }
        gnip_unlock(&cq->lock);
        if (vc == NULL)
            break;
        gnip_vc_schedule(vc);
        gnip_gate_drop(&vc->nic->gate, &vc->pins);
    }
}

uint32_t gnip_cq_pending(struct gnip_cq *cq)
{
    /* Holes at the head are removed at once, so a ring without entries is empty. */
    return __atomic_load_n(&cq->tail, __ATOMIC_RELAXED) -
           __atomic_load_n(&cq->head, __ATOMIC_RELAXED) +
           __atomic_load_n(&cq->counted_errors, __ATOMIC_RELAXED);
}

/* ---- reading --------------------------------------------------------------------------------- */

static inline void put(enum fi_cq_format format, void *buffer, size_t at,
                       const struct fi_cq_tagged_entry *entry)
{
    switch (format) { /* each is the beginning of the next */
    case FI_CQ_FORMAT_TAGGED:
        memcpy((struct fi_cq_tagged_entry *)buffer + at, entry, sizeof(struct fi_cq_tagged_entry));
        break;
    case FI_CQ_FORMAT_DATA:
        memcpy((struct fi_cq_data_entry *)buffer + at, entry, sizeof(struct fi_cq_data_entry));
        break;
    case FI_CQ_FORMAT_MSG:
        memcpy((struct fi_cq_msg_entry *)buffer + at, entry, sizeof(struct fi_cq_msg_entry));
        break;
    default:
        memcpy((struct fi_cq_entry *)buffer + at, entry, sizeof(struct fi_cq_entry));
    }
}

static ssize_t read_entries(struct gnip_cq *cq, void *buffer, size_t count, fi_addr_t *sources)
{
    ssize_t result = 0;
    uint32_t slots = 0, unread;

    gnip_lock(&cq->lock);
    unread = cq->tail - cq->head;
    if (gnip_unlikely(cq->errors > 0)) {
        result = gnip_cq_read_nameless(cq);
    } else if (gnip_unlikely(cq->counted_errors > 0)) {
        result = gnip_cq_read_counted(cq);
    } else if (unread == 0) {
        gnip_waitable_clear(&cq->wait);
        result = -FI_EAGAIN;
    } else {
        for (; slots < unread && (size_t)result < count; slots++) {
            const struct gnip_cq_slot *slot = gnip_cq_slot_at(cq, cq->head + slots);

            if (gnip_unlikely(slot->kind == GNIP_SLOT_HOLE)) {
                assert(cq->holes > 0);
                cq->holes--;
                continue;
            }
            put(cq->format, buffer, (size_t)result, &slot->entry);
            if (sources != NULL)
                sources[result] = slot->source;
            result++;
        }
        gnip_cq_advance(cq, slots);
        if (gnip_unlikely(cq->holes > 0))
            gnip_cq_skip_holes(cq);
    }
    gnip_unlock(&cq->lock);
    return result;
}

/* Counts the calls; some are not counted if several threads read. */
static uint32_t reads_of(struct gnip_cq *cq)
{
    uint32_t reads = __atomic_load_n(&cq->reads, __ATOMIC_RELAXED) + 1;

    __atomic_store_n(&cq->reads, reads, __ATOMIC_RELAXED);
    return reads;
}

/*
 * The common part of read, readfrom and one pass of sread. `sleeps`: a caller that finds nothing
 * goes to sleep. Then the poll must be ordered with additions, so it is made under the lock.
 */
static ssize_t read_once(struct gnip_cq *cq, void *buffer, size_t count, fi_addr_t *sources,
                         bool sleeps, uint32_t *polls)
{
    ssize_t result = -FI_EAGAIN;

    /*
     * Entries that are there already are read without progress, except in every 16th call: a caller
     * that always finds some must make progress, too.
     */
    if (count == 0 || gnip_cq_pending(cq) == 0 || reads_of(cq) % PROGRESS_EVERY == 0)
        *polls += gnip_progress_list_run(&cq->progress);
    if (count == 0) {
        port_poll_mark(~cq->wait.id);
        return 0;
    }
    if (gnip_cq_pending(cq) != 0 || sleeps || cq->wait.event >= 0)
        result = read_entries(cq, buffer, count, sources);
    gnip_cq_may_schedule_waiting(cq);
    if (result == -FI_EAGAIN)
        gnip_waitable_idle(&cq->wait);
    else
        port_idle_break();
    return result;
}

/* A read that finds nothing is the commonest call of all, so the port does not learn of it. */
static ssize_t cq_readfrom(struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *sources)
{
    uint32_t polls = 0;
    ssize_t result;

    if (gnip_unlikely(buffer == NULL && count > 0))
        return -FI_EINVAL;
    result = read_once(gnip_cq_of(fid), buffer, count, sources, false, &polls);
    if (gnip_unlikely(polls == 0 && (result == -FI_EAGAIN || count == 0)))
        gnip_waitable_yield();
    return result;
}

static ssize_t cq_read(struct fid_cq *fid, void *buffer, size_t count)
{
    return cq_readfrom(fid, buffer, count, NULL);
}

struct sread {
    struct gnip_cq *cq;
    void *buffer;
    size_t count;
    fi_addr_t *sources;
    ssize_t result;
};

static bool sread_ready(void *argument, uint32_t *polls)
{
    struct sread *read = argument;

    read->result = read_once(read->cq, read->buffer, read->count, read->sources, true, polls);
    return read->result != -FI_EAGAIN;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *sources,
                            const void *cond, int timeout)
{
    PORT_CALL("fi_cq_sreadfrom");
    struct sread read = {gnip_cq_of(fid), buffer, count, sources, -FI_EAGAIN};
    uint32_t polls = 0;

    if (read.cq->wait_obj == FI_WAIT_NONE)
        return -FI_ENOSYS;
    if (read.cq->wait_obj == FI_WAIT_SET || (buffer == NULL && count > 0))
        return -FI_EINVAL;
    if (sread_ready(&read, &polls))
        return read.result;
    if (gnip_waitable_wait(&read.cq->wait, timeout, sread_ready, &read) < 0)
        return -FI_ECANCELED;
    return read.result;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buffer, size_t count, const void *cond,
                        int timeout)
{
    PORT_CALL("fi_cq_sread");
    return cq_sreadfrom(fid, buffer, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
    PORT_CALL("fi_cq_signal");
    struct gnip_cq *cq = gnip_cq_of(fid);

    if (cq->wait_obj == FI_WAIT_NONE)
        return -FI_ENOSYS;
    gnip_waitable_interrupt(&cq->wait);
    return 0;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *error_data,
                               char *buffer, size_t bytes)
{
    PORT_CALL("fi_cq_strerror");
    return gnip_strerror_copy(prov_errno, buffer, bytes);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int cq_control(struct fid *fid, int command, void *argument)
{
    PORT_CALL("fi_control");
    struct gnip_cq *cq = gnip_container(fid, struct gnip_cq, fid.fid);

    return gnip_waitable_control(&cq->wait, cq->wait_obj, command, argument);
}

static void end(struct gnip_refs *refs)
{
    struct gnip_cq *cq = gnip_container(refs, struct gnip_cq, refs);
    struct gnip_cq_data *data;

    if (gnip_unlikely(cq->checks))
        gnip_findings_cq_closes(cq);
    port_mutex_lock(&cq->domain->lock);
    port_list_remove(&cq->domain_link);
    port_mutex_unlock(&cq->domain->lock);
    gnip_waitable_close(&cq->wait, cq->wait_set, &cq->fid.fid);
    gnip_progress_list_fini(&cq->progress);
    gnip_lock_fini(&cq->lock);
    while ((data = cq->data_first) != NULL) {
        cq->data_first = data->next;
        free(data);
    }
    free(cq->slots);
    gnip_unref(&cq->domain->refs);
    free(cq);
}

static int cq_close(struct fid *fid)
{
    PORT_CALL("fi_close");
    struct gnip_cq *cq = gnip_container(fid, struct gnip_cq, fid.fid);
    int rc = gnip_refs_closable(&cq->refs, cq->domain->fabric->strict);

    if (rc != 0)
        return rc;
    gnip_waitable_end_waits(&cq->wait);
    gnip_refs_close(&cq->refs, end);
    return 0;
}

static const struct fi_ops cq_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = cq_close,
    .bind = gnip_no_bind,
    .control = cq_control,
    .ops_open = gnip_no_ops_open,
};

static const struct fi_ops_cq cq_ops = {
    .size = sizeof(struct fi_ops_cq),
    .read = cq_read,
    .readfrom = cq_readfrom,
    .readerr = gnip_cq_readerr,
    .sread = cq_sread,
    .sreadfrom = cq_sreadfrom,
    .signal = cq_signal,
    .strerror = cq_strerror,
};

static int cq_init(struct gnip_cq *cq, const struct fi_cq_attr *attr)
{
    size_t size = attr->size < SIZE_DEFAULT ? SIZE_DEFAULT : attr->size;
    int rc;

    cq->format = attr->format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_CONTEXT : attr->format;
    cq->wait_obj = attr->wait_obj;
    cq->capacity = size > CAPACITY_MAX / 64 ? CAPACITY_MAX : 64 * (uint32_t)size;
    gnip_progress_list_init(&cq->progress, gnip_single(cq->domain));
    gnip_lock_init(&cq->lock, gnip_single(cq->domain));
    rc = gnip_waitable_open(&cq->wait, attr->wait_obj, attr->wait_set, &cq->fid.fid, &cq->wait_set);
    if (rc != 0) {
        gnip_lock_fini(&cq->lock);
        gnip_progress_list_fini(&cq->progress);
    }
    return rc;
}

int gnip_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **result,
                 void *context)
{
    PORT_CALL("fi_cq_open");
    struct gnip_domain *domain = gnip_container(fid, struct gnip_domain, fid);
    struct gnip_cq *cq;
    int rc;

    if (attr == NULL || result == NULL || attr->format > FI_CQ_FORMAT_TAGGED)
        return -FI_EINVAL;
    rc = gnip_wait_check(attr->wait_obj, attr->wait_set, domain->fabric);
    if (rc != 0)
        return rc;
    cq = calloc(1, sizeof(*cq));
    if (cq == NULL)
        return -FI_ENOMEM;
    cq->domain = domain;
    cq->fid.fid.fclass = FI_CLASS_CQ;
    cq->fid.fid.context = context;
    cq->fid.fid.ops = (struct fi_ops *)&cq_fid_ops;
    cq->fid.ops = (struct fi_ops_cq *)&cq_ops;
    rc = cq_init(cq, attr);
    if (rc != 0) {
        free(cq);
        return rc;
    }
    cq->checks = port_checks();
    port_mutex_lock(&domain->lock);
    cq->number = domain->cqs_opened++;
    port_list_append(&domain->cqs, &cq->domain_link);
    port_mutex_unlock(&domain->lock);
    gnip_ref(&domain->refs);
    *result = &cq->fid;
    return 0;
}
