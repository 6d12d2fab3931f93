/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters of completions and of errors, of 64 bits each. They fire triggered operations. */
#include <stdlib.h>

#include "cntr.h"
#include "domain.h"
#include "gnip.h"
#include "lock.h"
#include "nosys.h"
#include "progress.h"
#include "wait.h"
#include "waitable.h"

static struct gnip_cntr *cntr_of(struct fid_cntr *fid)
{
    return gnip_container(fid, struct gnip_cntr, fid);
}

/* ---- changing -------------------------------------------------------------------------------- */

static bool has_triggers(const struct gnip_cntr *cntr)
{
    return __atomic_load_n(&cntr->triggers.head, __ATOMIC_RELAXED) != NULL;
}

void gnip_cntr_add(struct gnip_cntr *cntr, uint64_t count)
{
    if (cntr == NULL)
        return;
    gnip_lock(&cntr->lock);
    __atomic_store_n(&cntr->value, cntr->value + count, __ATOMIC_RELAXED);
    gnip_unlock(&cntr->lock);
    gnip_waitable_signal(&cntr->wait);
    if (gnip_unlikely(has_triggers(cntr)))
        gnip_trigger_fire(cntr, false);
}

void gnip_cntr_add_error(struct gnip_cntr *cntr, uint64_t count)
{
    if (cntr == NULL)
        return;
    gnip_lock(&cntr->lock);
    __atomic_store_n(&cntr->errors, cntr->errors + count, __ATOMIC_RELAXED);
    gnip_unlock(&cntr->lock);
    gnip_waitable_signal(&cntr->wait);
}

/*
 * The application has set the counter: operations that this triggers begin now, without a further
 * call of the provider.
 */
static void changed(struct gnip_cntr *cntr)
{
    gnip_waitable_signal(&cntr->wait);
    if (has_triggers(cntr))
        gnip_trigger_fire(cntr, true);
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
    PORT_CALL("fi_cntr_add");
    struct gnip_cntr *cntr = cntr_of(fid);

    gnip_lock(&cntr->lock);
    __atomic_store_n(&cntr->value, cntr->value + value, __ATOMIC_RELAXED);
    gnip_unlock(&cntr->lock);
    changed(cntr);
    return 0;
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
    PORT_CALL("fi_cntr_set");
    struct gnip_cntr *cntr = cntr_of(fid);

    gnip_lock(&cntr->lock);
    __atomic_store_n(&cntr->value, value, __ATOMIC_RELAXED);
    gnip_unlock(&cntr->lock);
    changed(cntr);
    return 0;
}

static bool errors_settable(const struct gnip_cntr *cntr)
{
    return FI_VERSION_GE(cntr->domain->api_version, FI_VERSION(1, 5));
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
    PORT_CALL("fi_cntr_adderr");
    struct gnip_cntr *cntr = cntr_of(fid);

    if (!errors_settable(cntr))
        return -FI_EOPNOTSUPP;
    gnip_cntr_add_error(cntr, value);
    return 0;
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
    PORT_CALL("fi_cntr_seterr");
    struct gnip_cntr *cntr = cntr_of(fid);

    if (!errors_settable(cntr))
        return -FI_EOPNOTSUPP;
    gnip_lock(&cntr->lock);
    __atomic_store_n(&cntr->errors, value, __ATOMIC_RELAXED);
    gnip_unlock(&cntr->lock);
    gnip_waitable_signal(&cntr->wait);
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Makes progress, and registers as a waiting thread before the counter is read. */
static void progress_and_register(struct gnip_cntr *cntr, uint32_t *polls)
{
    *polls += gnip_progress_list_run(&cntr->progress);
    gnip_waitable_idle(&cntr->wait);
    if (cntr->wait.event >= 0) {
        gnip_lock(&cntr->lock);
        gnip_waitable_clear(&cntr->wait);
        gnip_unlock(&cntr->lock);
    }
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
    PORT_CALL("fi_cntr_read");
    struct gnip_cntr *cntr = cntr_of(fid);
    uint32_t polls = 0;
    uint64_t value;

    progress_and_register(cntr, &polls);
    value = __atomic_load_n(&cntr->value, __ATOMIC_ACQUIRE);
    if (__atomic_exchange_n(&cntr->value_seen, value, __ATOMIC_RELAXED) != value)
        port_idle_break();
    else if (polls == 0)
        gnip_waitable_yield();
    return value;
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
    PORT_CALL("fi_cntr_readerr");
    struct gnip_cntr *cntr = cntr_of(fid);
    uint32_t polls = 0;
    uint64_t errors;
    bool new_error;

    progress_and_register(cntr, &polls);
    port_poll_mark(~cntr->wait.id); /* not like a read of the value */
    gnip_lock(&cntr->lock);
    errors = cntr->errors;
    new_error = errors != cntr->errors_seen;
    cntr->errors_seen = errors;
    gnip_unlock(&cntr->lock);
    if (new_error)
        port_idle_break();
    else if (polls == 0)
        gnip_waitable_yield();
    return errors;
}

struct wait {
    struct gnip_cntr *cntr;
    uint64_t threshold;
    int result;
};

static bool wait_ready(void *argument, uint32_t *polls)
{
    struct wait *wait = argument;
    struct gnip_cntr *cntr = wait->cntr;

    *polls += gnip_progress_list_run(&cntr->progress);
    gnip_lock(&cntr->lock);
    if (cntr->value >= wait->threshold)
        wait->result = 0;
    else if (cntr->errors != 0) /* until the application sets the error count to 0 */
        wait->result = -FI_EAVAIL;
    gnip_unlock(&cntr->lock);
    return wait->result != -FI_ETIMEDOUT;
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
    PORT_CALL("fi_cntr_wait");
    struct wait wait = {cntr_of(fid), threshold, -FI_ETIMEDOUT};
    uint32_t polls = 0;
    int rc;

    if (wait.cntr->wait_obj == FI_WAIT_NONE || wait.cntr->wait_obj == FI_WAIT_SET)
        return -FI_EINVAL;
    if (wait_ready(&wait, &polls))
        return wait.result;
    rc = gnip_waitable_wait(&wait.cntr->wait, timeout, wait_ready, &wait);
    return rc < 0 ? rc : wait.result;
}

/* ---- the object ------------------------------------------------------------------------------ */

static void end(struct gnip_refs *refs)
{
    struct gnip_cntr *cntr = gnip_container(refs, struct gnip_cntr, refs);

    gnip_waitable_close(&cntr->wait, cntr->wait_set, &cntr->fid.fid);
    gnip_progress_list_fini(&cntr->progress);
    gnip_lock_fini(&cntr->lock);
    gnip_unref(&cntr->domain->refs);
    free(cntr);
}

static int cntr_close(struct fid *fid)
{
    PORT_CALL("fi_close");
    struct gnip_cntr *cntr = gnip_container(fid, struct gnip_cntr, fid.fid);
    int rc = gnip_refs_closable(&cntr->refs, cntr->domain->fabric->strict);

    if (rc == 0 && has_triggers(cntr)) /* they could not fire any more */
        rc = -FI_EBUSY;
    if (rc != 0)
        return rc;
    gnip_waitable_end_waits(&cntr->wait);
    gnip_refs_close(&cntr->refs, end);
    return 0;
}

static int cntr_control(struct fid *fid, int command, void *argument)
{
    PORT_CALL("fi_control");
    struct gnip_cntr *cntr = gnip_container(fid, struct gnip_cntr, fid.fid);

    switch (command) {
    case FI_SETOPSFLAG:
    case FI_GETOPSFLAG:
        if (argument == NULL)
            return -FI_EINVAL;
        gnip_lock(&cntr->lock);
        if (command == FI_SETOPSFLAG)
            cntr->flags = *(uint64_t *)argument;
        else
            *(uint64_t *)argument = cntr->flags;
        gnip_unlock(&cntr->lock);
        return 0;
    default:
        return gnip_waitable_control(&cntr->wait, cntr->wait_obj, command, argument);
    }
}

static const struct fi_ops cntr_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = cntr_close,
    .bind = gnip_no_bind,
    .control = cntr_control,
    .ops_open = gnip_no_ops_open,
};

static const struct fi_ops_cntr cntr_ops = {
    .size = sizeof(struct fi_ops_cntr),
    .read = cntr_read,
    .readerr = cntr_readerr,
    .add = cntr_add,
    .set = cntr_set,
    .wait = cntr_wait,
    .adderr = cntr_adderr,
    .seterr = cntr_seterr,
};

/* Counters return -FI_EINVAL for all attributes that they do not offer. */
static bool offered(const struct gnip_domain *domain, const struct fi_cntr_attr *attr)
{
    return attr != NULL && attr->events == FI_CNTR_EVENTS_COMP && attr->flags == 0 &&
           gnip_wait_check(attr->wait_obj, attr->wait_set, domain->fabric) == 0;
}

int gnip_cntr_open(struct fid_domain *domain_fid, struct fi_cntr_attr *attr, struct fid_cntr **fid,
                   void *context)
{
    PORT_CALL("fi_cntr_open");
    struct gnip_domain *domain = gnip_container(domain_fid, struct gnip_domain, fid);
    struct gnip_cntr *cntr;
    int rc;

    if (!offered(domain, attr) || fid == NULL)
        return -FI_EINVAL;
    cntr = calloc(1, sizeof(*cntr));
    if (cntr == NULL)
        return -FI_ENOMEM;
    cntr->fid.fid.fclass = FI_CLASS_CNTR;
    cntr->fid.fid.context = context;
    cntr->fid.fid.ops = (struct fi_ops *)&cntr_fid_ops;
    cntr->fid.ops = (struct fi_ops_cntr *)&cntr_ops;
    cntr->domain = domain;
    cntr->wait_obj = attr->wait_obj;
    gnip_lock_init(&cntr->lock, gnip_single(domain));
    gnip_progress_list_init(&cntr->progress, gnip_single(domain));
    rc = gnip_waitable_open(&cntr->wait, attr->wait_obj, attr->wait_set, &cntr->fid.fid,
                            &cntr->wait_set);
    if (rc != 0) {
        gnip_progress_list_fini(&cntr->progress);
        gnip_lock_fini(&cntr->lock);
        free(cntr);
        return rc;
    }
    gnip_ref(&domain->refs);
    *fid = &cntr->fid;
    return 0;
}
