/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues.
 *
 * One ring of slots of a cache line; an accepted operation reserves its slot, so a completion
 * always has room, also an error. Errors are reported first although they lie in the ring: reading
 * one leaves a hole, which is skipped later. The error of an injected operation has no entry
 * (nameless): it is what the next read returns. Injected operations reserve no slot; if the ring
 * cannot grow for such an error, its code is counted and a read returns it all the same. An empty
 * ring starts again at its first slot, so that a queue that is read in time stays in the cache and
 * touches one line of its memory.
 */
#include <stdlib.h>

#include "cq.h"
#include "domain.h"
#include "gnip.h"
#include "lock.h"
#include "nic.h"
#include "nosys.h"
#include "progress.h"
#include "req.h"
#include "vc.h"
#include "wait.h"
#include "waitable.h"

enum slot_kind { SLOT_ENTRY, SLOT_ERROR, SLOT_NAMELESS, SLOT_HOLE };

struct gnip_cq_slot {
    struct fi_cq_tagged_entry entry;
    union {
        fi_addr_t source;
        uint64_t olen; /* SLOT_ERROR */
    };
    int32_t prov_errno;
    int16_t err;
    uint8_t kind; /* enum slot_kind */
    uint8_t zero;
};
_Static_assert(sizeof(struct gnip_cq_slot) == 64, "one cache line");

struct gnip_cq_data {
    struct gnip_cq_data *next;
    uint32_t position; /* of its error entry */
    uint32_t bytes;
    uint8_t bytes_of[];
};

#define SLOTS_FIRST 64u /* one page */
#define PROGRESS_EVERY 16u /* reads of a queue that has entries */
#define SIZE_DEFAULT 256u
#define CAPACITY_MAX (1u << 30)

static struct gnip_cq *cq_of(struct fid_cq *fid)
{
    return gnip_container(fid, struct gnip_cq, fid);
}

static inline struct gnip_cq_slot *slot_at(struct gnip_cq *cq, uint32_t position)
{
    return &cq->slots[position & (cq->room - 1)];
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* To twice the room; cq->lock is held. */
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
        slots[i] = *slot_at(cq, cq->head + i);
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

static uint32_t reserved_change(struct gnip_cq *cq, uint32_t change)
{
    if (cq->lock.elided)
        return cq->reserved += change;
    return __atomic_add_fetch(&cq->reserved, change, __ATOMIC_RELAXED);
}

static gnip_cold bool reserve_more(struct gnip_cq *cq, uint32_t reserved)
{
    bool room = reserved <= cq->capacity;

    gnip_lock(&cq->lock);
    while (room && cq->room < reserved)
        room = grow(cq);
    gnip_unlock(&cq->lock);
    if (!room)
        reserved_change(cq, -1u);
    return room;
}

bool gnip_cq_reserve(struct gnip_cq *cq)
{
    uint32_t reserved = reserved_change(cq, 1);

    if (gnip_likely(reserved <= __atomic_load_n(&cq->room, __ATOMIC_ACQUIRE) &&
                    reserved <= cq->capacity))
        return true;
    return reserve_more(cq, reserved);
}

bool gnip_cq_reserve_always(struct gnip_cq *cq)
{
    uint32_t reserved = reserved_change(cq, 1);
    bool room = true;

    gnip_lock(&cq->lock);
    while (room && cq->room < reserved)
        room = grow(cq);
    gnip_unlock(&cq->lock);
    if (!room)
        reserved_change(cq, -1u);
    return room;
}

gnip_noinline void gnip_cq_unreserve(struct gnip_cq *cq)
{
    reserved_change(cq, -1u);
}

/* The slot for an entry, which was reserved; cq->lock is held. */
static inline struct gnip_cq_slot *next_slot(struct gnip_cq *cq)
{
    gnip_assert_held(&cq->lock);
    assert(cq->tail - cq->head < cq->room);
    return slot_at(cq, cq->tail);
}

void gnip_cq_add(struct gnip_cq *cq, const struct fi_cq_tagged_entry *entry, fi_addr_t source)
{
    struct gnip_cq_slot *slot;

    gnip_lock(&cq->lock);
    slot = next_slot(cq);
    slot->entry = *entry;
    slot->source = source;
    slot->kind = SLOT_ENTRY;
    __atomic_store_n(&cq->tail, cq->tail + 1, __ATOMIC_RELAXED);
    gnip_unlock(&cq->lock);
    gnip_waitable_signal(&cq->wait);
}

static void add_error(struct gnip_cq *cq, enum slot_kind kind, const struct fi_cq_err_entry *entry,
                      const void *data, size_t data_bytes)
{
    struct gnip_cq_data *copy = NULL;
    struct gnip_cq_slot *slot;

    if (data != NULL && data_bytes > 0) {
        if (data_bytes > sizeof(cq->error_data))
            data_bytes = sizeof(cq->error_data);
        copy = malloc(sizeof(*copy) + data_bytes);
        if (copy != NULL) { /* else the entry comes without */
            copy->next = NULL;
            copy->bytes = (uint32_t)data_bytes;
            memcpy(copy->bytes_of, data, data_bytes);
        }
    }
    gnip_lock(&cq->lock);
    slot = next_slot(cq);
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
    add_error(cq, SLOT_ERROR, entry, data, data_bytes);
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
        add_error(cq, SLOT_NAMELESS, &(struct fi_cq_err_entry){.err = error}, NULL, 0);
    else
        count_error(cq, error);
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

/* Entries have been read: who had no room looks again, once there is some. */
static gnip_noinline void schedule_waiting(struct gnip_cq *cq)
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

static inline void may_schedule_waiting(struct gnip_cq *cq)
{
    if (gnip_unlikely(__atomic_load_n(&cq->vcs_waiting, __ATOMIC_RELAXED) != NULL))
        schedule_waiting(cq);
}

uint32_t gnip_cq_pending(struct gnip_cq *cq)
{
    /* Holes at the head are removed at once, so a ring without entries is empty. */
    return __atomic_load_n(&cq->tail, __ATOMIC_RELAXED) -
           __atomic_load_n(&cq->head, __ATOMIC_RELAXED) +
           __atomic_load_n(&cq->counted_errors, __ATOMIC_RELAXED);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The head has moved over so many slots; cq->lock is held. */
static inline void advance(struct gnip_cq *cq, uint32_t slots)
{
    uint32_t head = cq->head + slots;

    gnip_assert_held(&cq->lock);
    assert(slots <= cq->tail - cq->head);
    reserved_change(cq, -slots);
    if (head == cq->tail) {
        head = 0;
        __atomic_store_n(&cq->tail, 0, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&cq->head, head, __ATOMIC_RELAXED);
}

static gnip_noinline void skip_holes(struct gnip_cq *cq)
{
    uint32_t slots = 0;

    while (cq->head + slots != cq->tail && slot_at(cq, cq->head + slots)->kind == SLOT_HOLE)
        slots++;
    cq->holes -= slots;
    if (slots > 0)
        advance(cq, slots);
}

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

/* The first error, which there is; cq->lock is held. */
static struct gnip_cq_slot *find_error(struct gnip_cq *cq)
{
    struct gnip_cq_slot *slot;

    for (;; cq->error_scan++) {
        slot = slot_at(cq, cq->error_scan);
        if (slot->kind == SLOT_ERROR || slot->kind == SLOT_NAMELESS)
            return slot;
    }
}

static void remove_error(struct gnip_cq *cq, struct gnip_cq_slot *slot)
{
    slot->kind = SLOT_HOLE;
    cq->error_scan++;
    __atomic_store_n(&cq->errors, cq->errors - 1, __ATOMIC_RELAXED);
    cq->holes++;
    skip_holes(cq);
}

/*
 * Returns the error code of the first error when it has no entry, and removes it; otherwise returns
 * -FI_EAVAIL. An injected operation has no context that names it, and applications such as Open MPI
 * dereference the context of every error entry.
 */
static gnip_cold ssize_t read_nameless(struct gnip_cq *cq)
{
    struct gnip_cq_slot *slot = find_error(cq);
    int error = slot->err;

    if (slot->kind != SLOT_NAMELESS)
        return -FI_EAVAIL;
    remove_error(cq, slot);
    return -error;
}

/* The negative code of one counted error, which there is; cq->lock is held. */
static gnip_cold ssize_t read_counted(struct gnip_cq *cq)
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

static ssize_t read_entries(struct gnip_cq *cq, void *buffer, size_t count, fi_addr_t *sources)
{
    ssize_t result = 0;
    uint32_t slots = 0, unread;

    gnip_lock(&cq->lock);
    unread = cq->tail - cq->head;
    if (gnip_unlikely(cq->errors > 0)) {
        result = read_nameless(cq);
    } else if (gnip_unlikely(cq->counted_errors > 0)) {
        result = read_counted(cq);
    } else if (unread == 0) {
        gnip_waitable_clear(&cq->wait);
        result = -FI_EAGAIN;
    } else {
        for (; slots < unread && (size_t)result < count; slots++) {
            const struct gnip_cq_slot *slot = slot_at(cq, cq->head + slots);

            if (gnip_unlikely(slot->kind == SLOT_HOLE)) {
                cq->holes--;
                continue;
            }
            put(cq->format, buffer, (size_t)result, &slot->entry);
            if (sources != NULL)
                sources[result] = slot->source;
            result++;
        }
        advance(cq, slots);
        if (gnip_unlikely(cq->holes > 0))
            skip_holes(cq);
    }
    gnip_unlock(&cq->lock);
    return result;
}

/* Counts them; when several threads read, about. */
static uint32_t reads_of(struct gnip_cq *cq)
{
    uint32_t reads = __atomic_load_n(&cq->reads, __ATOMIC_RELAXED) + 1;

    __atomic_store_n(&cq->reads, reads, __ATOMIC_RELAXED);
    return reads;
}

/*
 * What read, readfrom and one turn of sread do. `sleeps`: who finds nothing goes to sleep, so the
 * look must be ordered with what is added: under the lock.
 */
static ssize_t read_once(struct gnip_cq *cq, void *buffer, size_t count, fi_addr_t *sources,
                         bool sleeps, uint32_t *polls)
{
    ssize_t result = -FI_EAGAIN;

    /* What is there already is read without progress, but for now and then: who always finds
     * something must not be cut off. */
    if (count == 0 || gnip_cq_pending(cq) == 0 || reads_of(cq) % PROGRESS_EVERY == 0)
        *polls += gnip_progress_list_run(&cq->progress);
    if (count == 0)
        return 0;
    if (gnip_cq_pending(cq) != 0 || sleeps || cq->wait.event >= 0)
        result = read_entries(cq, buffer, count, sources);
    may_schedule_waiting(cq);
    if (result == -FI_EAGAIN)
        gnip_waitable_idle(&cq->wait);
    else
        port_idle_break();
    return result;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *sources)
{
    uint32_t polls = 0;
    ssize_t result;

    if (gnip_unlikely(buffer == NULL && count > 0))
        return -FI_EINVAL;
    result = read_once(cq_of(fid), buffer, count, sources, false, &polls);
    if (gnip_unlikely(polls == 0 && (result == -FI_EAGAIN || count == 0)))
        gnip_waitable_yield();
    return result;
}

static ssize_t cq_read(struct fid_cq *fid, void *buffer, size_t count)
{
    return cq_readfrom(fid, buffer, count, NULL);
}

/* The entry of the first error; cq->lock is held. */
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

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buffer, uint64_t flags)
{
    struct gnip_cq *cq = cq_of(fid);
    bool own = FI_VERSION_LT(cq->domain->api_version, FI_VERSION(1, 5));
    struct gnip_cq_slot *slot;
    struct fi_cq_err_entry entry;
    ssize_t result;
    uint32_t bytes;
    void *data;
    size_t room;

    if (buffer == NULL)
        return -FI_EINVAL;
    data = buffer->err_data;
    room = own ? 0 : buffer->err_data_size;
    if (room > 0 && data == NULL)
        return -FI_EINVAL;
    gnip_progress_list_run(&cq->progress);
    gnip_lock(&cq->lock);
    if (cq->errors == 0) {
        result = gnip_unlikely(cq->counted_errors > 0) ? read_counted(cq) : -FI_EAGAIN;
        gnip_unlock(&cq->lock);
        if (gnip_cq_pending(cq) == 0 && result == -FI_EAGAIN)
            gnip_waitable_idle(&cq->wait);
        return result;
    }
    slot = find_error(cq);
    if (gnip_unlikely(slot->kind == SLOT_NAMELESS)) {
        result = read_nameless(cq);
        gnip_unlock(&cq->lock);
        return result;
    }
    read_error(cq, slot, &entry, &bytes);
    if (room == 0) { /* ours, valid until the next read of an error */
        entry.err_data = bytes > 0 ? cq->error_data : NULL;
        entry.err_data_size = 0;
    } else {
        entry.err_data = data;
        entry.err_data_size = bytes < room ? bytes : room;
        memcpy(data, cq->error_data, entry.err_data_size);
    }
    gnip_unlock(&cq->lock);
    may_schedule_waiting(cq);
    port_idle_break();
    if (own) /* its entry ends before err_data_size */
        memcpy(buffer, &entry, offsetof(struct fi_cq_err_entry, err_data_size));
    else
        *buffer = entry;
    return 1;
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
    struct sread read = {cq_of(fid), buffer, count, sources, -FI_EAGAIN};
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
    return cq_sreadfrom(fid, buffer, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
    struct gnip_cq *cq = cq_of(fid);

    if (cq->wait_obj == FI_WAIT_NONE)
        return -FI_ENOSYS;
    gnip_waitable_interrupt(&cq->wait);
    return 0;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *error_data,
                               char *buffer, size_t bytes)
{
    return gnip_strerror_copy(prov_errno, buffer, bytes);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int cq_control(struct fid *fid, int command, void *argument)
{
    struct gnip_cq *cq = gnip_container(fid, struct gnip_cq, fid.fid);

    return gnip_waitable_control(&cq->wait, cq->wait_obj, command, argument);
}

static int cq_close(struct fid *fid)
{
    struct gnip_cq *cq = gnip_container(fid, struct gnip_cq, fid.fid);
    struct gnip_cq_data *data;

    if (gnip_busy(&cq->refs))
        return -FI_EBUSY;
    gnip_waitable_close(&cq->wait, cq->wait_set, fid);
    gnip_progress_list_fini(&cq->progress);
    gnip_lock_fini(&cq->lock);
    while ((data = cq->data_first) != NULL) {
        cq->data_first = data->next;
        free(data);
    }
    free(cq->slots);
    gnip_unref(&cq->domain->refs);
    free(cq);
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
    .readerr = cq_readerr,
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
    gnip_ref(&domain->refs);
    *result = &cq->fid;
    return 0;
}
