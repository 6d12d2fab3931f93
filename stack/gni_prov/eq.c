/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event queues: connection events of MSG endpoints, lost nodes, and events that the application
 * writes.
 */
#include <stdlib.h>

#include "domain.h"
#include "eq.h"
#include "error_data.h"
#include "gnip.h"
#include "lock.h"
#include "nosys.h"
#include "progress.h"
#include "req.h"
#include "wait.h"
#include "waitable.h"
#include "port/list.h"

#define UNREAD_MAX 4096 /* limit of the application's own events */

struct gnip_eq_event {
    struct port_link link;
    struct fid *object; /* the object that the event is about; NULL: the application wrote it */
    uint32_t event;
    uint32_t bytes; /* bytes of data */
    struct fi_eq_err_entry error;
    uint8_t data[];
};

static struct gnip_eq *eq_of(struct fid_eq *fid)
{
    return gnip_container(fid, struct gnip_eq, fid);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static struct gnip_eq_event *event_new(uint32_t number, const void *data, size_t bytes)
{
    struct gnip_eq_event *event = calloc(1, sizeof(*event) + bytes);

    if (event == NULL)
        return NULL;
    event->event = number;
    event->bytes = (uint32_t)bytes;
    if (bytes > 0)
        memcpy(event->data, data, bytes);
    return event;
}

/*
 * An event about a connection contains a description of the request, which is freed if the event
 * was not read.
 */
static void event_free(struct gnip_eq_event *event)
{
    struct fi_eq_cm_entry entry;

    if (event->object != NULL && event->event == FI_CONNREQ && event->error.err == 0) {
        memcpy(&entry, event->data, sizeof(entry));
        fi_freeinfo(entry.info);
    }
    free(event);
}

static int add(struct gnip_eq *eq, struct gnip_eq_event *event)
{
    gnip_lock(&eq->lock);
    if (event->object == NULL && eq->event_count >= UNREAD_MAX) {
        gnip_unlock(&eq->lock);
        event_free(event);
        return -FI_EAGAIN;
    }
    port_list_append(&eq->events, &event->link);
    __atomic_store_n(&eq->event_count, eq->event_count + 1, __ATOMIC_RELAXED);
    gnip_unlock(&eq->lock);
    gnip_waitable_signal(&eq->wait);
    return 0;
}

int gnip_eq_add(struct gnip_eq *eq, uint32_t event, const void *buffer, size_t bytes)
{
    struct gnip_eq_event *new = event_new(event, buffer, bytes);

    if (new == NULL)
        return -FI_ENOMEM;
    new->object = ((const struct fi_eq_cm_entry *)buffer)->fid;
    return add(eq, new);
}

int gnip_eq_add_error(struct gnip_eq *eq, const struct fi_eq_err_entry *entry, const void *data,
                      size_t data_bytes)
{
    struct gnip_eq_event *new = event_new(0, data, data_bytes);

    if (new == NULL)
        return -FI_ENOMEM;
    new->object = entry->fid;
    new->error = *entry;
    gnip_lock(&eq->lock);
    port_list_append(&eq->errors, &new->link);
    gnip_unlock(&eq->lock);
    gnip_waitable_signal(&eq->wait);
    return 0;
}

static void forget(struct port_link *list, struct fid *object, uint32_t *count)
{
    struct port_link *link, *next;

    for (link = list->next; link != list; link = next) {
        struct gnip_eq_event *event = gnip_container(link, struct gnip_eq_event, link);

        next = link->next;
        if (event->object != object)
            continue;
        port_list_remove(link);
        event_free(event);
        if (count != NULL)
            __atomic_store_n(count, *count - 1, __ATOMIC_RELAXED);
    }
}

void gnip_eq_forget(struct gnip_eq *eq, struct fid *object)
{
    gnip_lock(&eq->lock);
    forget(&eq->events, object, &eq->event_count);
    forget(&eq->errors, object, NULL);
    gnip_unlock(&eq->lock);
}

/* ---- reading --------------------------------------------------------------------------------- */

uint32_t gnip_eq_progress(struct gnip_eq *eq)
{
    return gnip_progress_list_run(&eq->progress);
}

bool gnip_eq_pending(struct gnip_eq *eq)
{
    return !port_list_empty(&eq->events) || !port_list_empty(&eq->errors);
}

static ssize_t read_event(struct gnip_eq *eq, uint32_t *number, void *buffer, size_t bytes,
                          uint64_t flags)
{
    struct gnip_eq_event *event = NULL;
    ssize_t result;

    gnip_lock(&eq->lock);
    if (!port_list_empty(&eq->errors)) {
        result = -FI_EAVAIL;
    } else if (port_list_empty(&eq->events)) {
        gnip_waitable_clear(&eq->wait);
        result = -FI_EAGAIN;
    } else {
        event = gnip_container(eq->events.next, struct gnip_eq_event, link);
        result = bytes < event->bytes ? -FI_ETOOSMALL : (ssize_t)event->bytes;
    }
    if (result < 0) {
        gnip_unlock(&eq->lock);
        return result;
    }
    *number = event->event;
    if (event->bytes > 0)
        memcpy(buffer, event->data, event->bytes);
    if ((flags & FI_PEEK) != 0) {
        gnip_unlock(&eq->lock);
        return result;
    }
    port_list_remove(&event->link);
    __atomic_store_n(&eq->event_count, eq->event_count - 1, __ATOMIC_RELAXED);
    gnip_unlock(&eq->lock);
    free(event); /* the description belongs to the application now */
    return result;
}

struct sread {
    struct gnip_eq *eq;
    uint32_t *event;
    void *buffer;
    size_t bytes;
    uint64_t flags;
    ssize_t result;
};

static bool read_once(void *argument, uint32_t *polls)
{
    struct sread *read = argument;

    *polls += gnip_eq_progress(read->eq);
    read->result = read_event(read->eq, read->event, read->buffer, read->bytes, read->flags);
    if (read->result != -FI_EAGAIN) {
        port_idle_break();
        return true;
    }
    gnip_waitable_idle(&read->eq->wait);
    return false;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buffer, size_t bytes,
                       uint64_t flags)
{
    PORT_CALL("fi_eq_read");
    struct sread read = {eq_of(fid), event, buffer, bytes, flags, -FI_EAGAIN};
    uint32_t polls = 0;

    if (event == NULL || (buffer == NULL && bytes > 0))
        return -FI_EINVAL;
    if (!read_once(&read, &polls) && polls == 0)
        gnip_waitable_yield();
    return read.result;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buffer, size_t bytes,
                        int timeout, uint64_t flags)
{
    PORT_CALL("fi_eq_sread");
    struct sread read = {eq_of(fid), event, buffer, bytes, flags, -FI_EAGAIN};
    uint32_t polls = 0;

    if (read.eq->wait_obj == FI_WAIT_NONE)
        return read.eq->fabric->strict ? -FI_ENOSYS : -FI_EINVAL;
    if (read.eq->wait_obj == FI_WAIT_SET || event == NULL || (buffer == NULL && bytes > 0))
        return -FI_EINVAL;
    if (read_once(&read, &polls))
        return read.result;
    if (gnip_waitable_wait(&read.eq->wait, timeout, read_once, &read) < 0)
        return -FI_ECANCELED;
    return read.result;
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *buffer, uint64_t flags)
{
    PORT_CALL("fi_eq_readerr");
    struct gnip_eq *eq = eq_of(fid);
    bool sized = gnip_error_data_sized(eq->fabric->fid.api_version);
    struct gnip_error_data data;
    struct gnip_eq_event *event, *old = NULL;
    struct fi_eq_err_entry entry;

    if (buffer == NULL ||
        !gnip_error_data_begin(&data, buffer->err_data, &buffer->err_data_size, sized))
        return -FI_EINVAL;
    gnip_eq_progress(eq);
    gnip_lock(&eq->lock);
    if (port_list_empty(&eq->errors)) {
        gnip_unlock(&eq->lock);
        port_poll_mark(~eq->wait.id); /* not like a read of an event */
        return -FI_EAGAIN;
    }
    event = gnip_container(eq->errors.next, struct gnip_eq_event, link);
    entry = event->error;
    entry.err_data_size = event->bytes;
    gnip_error_data_end(&data, event->data, event->bytes, &entry.err_data, &entry.err_data_size);
    memcpy(buffer, &entry, sized ? sizeof(entry) : offsetof(struct fi_eq_err_entry, err_data_size));
    if ((flags & FI_PEEK) == 0) {
        port_list_remove(&event->link);
        old = eq->last_error;
        eq->last_error = event;
    }
    gnip_unlock(&eq->lock);
    if (old != NULL)
        free(old);
    port_idle_break();
    return sizeof(*buffer);
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t event, const void *buffer, size_t bytes,
                        uint64_t flags)
{
    PORT_CALL("fi_eq_write");
    struct gnip_eq *eq = eq_of(fid);
    struct gnip_eq_event *new;
    int rc;

    if (!eq->writable)
        return -FI_ENOSYS;
    if (buffer == NULL && bytes > 0)
        return -FI_EINVAL;
    new = event_new(event, buffer, bytes);
    if (new == NULL)
        return -FI_ENOMEM;
    rc = add(eq, new);
    return rc != 0 ? rc : (ssize_t)bytes;
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno, const void *error_data,
                               char *buffer, size_t bytes)
{
    PORT_CALL("fi_eq_strerror");
    return gnip_strerror_copy(prov_errno, buffer, bytes);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int eq_control(struct fid *fid, int command, void *argument)
{
    PORT_CALL("fi_control");
    struct gnip_eq *eq = gnip_container(fid, struct gnip_eq, fid.fid);

    return gnip_waitable_control(&eq->wait, eq->wait_obj, command, argument);
}

static void free_all(struct port_link *list)
{
    struct port_link *link;

    while ((link = port_list_pop(list)) != NULL)
        event_free(gnip_container(link, struct gnip_eq_event, link));
}

static void end(struct gnip_refs *refs)
{
    struct gnip_eq *eq = gnip_container(refs, struct gnip_eq, refs);

    gnip_waitable_close(&eq->wait, eq->wait_set, &eq->fid.fid);
    gnip_progress_list_fini(&eq->progress);
    gnip_lock_fini(&eq->lock);
    free_all(&eq->events);
    free_all(&eq->errors);
    free(eq->last_error);
    gnip_unref(&eq->fabric->refs);
    free(eq);
}

static int eq_close(struct fid *fid)
{
    PORT_CALL("fi_close");
    struct gnip_eq *eq = gnip_container(fid, struct gnip_eq, fid.fid);
    int rc = gnip_refs_closable(&eq->refs, eq->fabric->strict);

    if (rc != 0)
        return rc;
    gnip_waitable_end_waits(&eq->wait);
    gnip_refs_close(&eq->refs, end);
    return 0;
}

static const struct fi_ops eq_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = eq_close,
    .bind = gnip_no_bind,
    .control = eq_control,
    .ops_open = gnip_no_ops_open,
};

static const struct fi_ops_eq eq_ops = {
    .size = sizeof(struct fi_ops_eq),
    .read = eq_read,
    .readerr = eq_readerr,
    .write = eq_write,
    .sread = eq_sread,
    .strerror = eq_strerror,
};

static int eq_init(struct gnip_eq *eq, const struct fi_eq_attr *attr)
{
    int rc;

    eq->wait_obj = attr->wait_obj;
    eq->writable = (attr->flags & FI_WRITE) != 0;
    port_list_init(&eq->events);
    port_list_init(&eq->errors);
    gnip_progress_list_init(&eq->progress, false);
    gnip_lock_init(&eq->lock, false);
    rc = gnip_waitable_open(&eq->wait, attr->wait_obj, attr->wait_set, &eq->fid.fid, &eq->wait_set);
    if (rc != 0) {
        gnip_lock_fini(&eq->lock);
        gnip_progress_list_fini(&eq->progress);
    }
    return rc;
}

int gnip_eq_open(struct fid_fabric *fid, struct fi_eq_attr *attr, struct fid_eq **result,
                 void *context)
{
    PORT_CALL("fi_eq_open");
    struct gnip_fabric *fabric = gnip_container(fid, struct gnip_fabric, fid);
    struct gnip_eq *eq;
    int rc;

    if (attr == NULL || result == NULL)
        return -FI_EINVAL;
    rc = gnip_wait_check(attr->wait_obj, attr->wait_set, fabric);
    if (rc != 0)
        return rc;
    eq = calloc(1, sizeof(*eq));
    if (eq == NULL)
        return -FI_ENOMEM;
    eq->fabric = fabric;
    eq->fid.fid.fclass = FI_CLASS_EQ;
    eq->fid.fid.context = context;
    eq->fid.fid.ops = (struct fi_ops *)&eq_fid_ops;
    eq->fid.ops = (struct fi_ops_eq *)&eq_ops;
    rc = eq_init(eq, attr);
    if (rc != 0) {
        free(eq);
        return rc;
    }
    gnip_ref(&fabric->refs);
    *result = &eq->fid;
    return 0;
}
