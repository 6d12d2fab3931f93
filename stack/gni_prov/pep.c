/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Passive endpoints: a listener is a cm_nic whose id is the service. */
#include <stdlib.h>

#include "cm_nic.h"
#include "ctx.h"
#include "domain.h"
#include "eq.h"
#include "gnip.h"
#include "msg_cm.h"
#include "name.h"
#include "nosys.h"
#include "pep.h"
#include "progress.h"
#include "waitable.h"

static struct gnip_pep *pep_of(struct fid *fid)
{
    return gnip_container(fid, struct gnip_pep, fid.fid);
}

static int pep_bind(struct fid *fid, struct fid *object, uint64_t flags)
{
    PORT_CALL("fi_bind");
    struct gnip_pep *pep = pep_of(fid);
    struct gnip_eq *eq;
    int rc = 0;

    if (object == NULL)
        return -FI_EINVAL;
    if (object->fclass != FI_CLASS_EQ)
        return -FI_ENOSYS;
    if (flags != 0)
        return -FI_EBADFLAGS;
    eq = gnip_container(object, struct gnip_eq, fid.fid);
    if (eq->fabric != pep->fabric)
        return -FI_EINVAL;
    port_mutex_lock(&pep->lock);
    if (pep->eq != NULL) {
        rc = -FI_EINVAL;
    } else {
        pep->eq = eq;
        gnip_ref(&eq->refs);
    }
    port_mutex_unlock(&pep->lock);
    return rc;
}

/* ---- listening ------------------------------------------------------------------------------- */

/* An application that sleeps in poll(2) does not read its EQ, so a helper is needed. */
static bool wants_helper(const struct gnip_pep *pep)
{
    const struct fi_domain_attr *attr = pep->info->domain_attr;
    const struct gnip_waitable *wait = &pep->eq->wait;

    return (attr == NULL || attr->control_progress != FI_PROGRESS_MANUAL) &&
           (wait->event >= 0 || (wait->set != NULL && wait->set->event >= 0));
}

/* With pep->lock. */
static int listen_locked(struct gnip_pep *pep)
{
    uint32_t cdm = pep->name.name_type == GNIP_BOUND ? pep->name.cdm_id : UINT32_MAX;
    struct gnip_auth *auth;
    int rc;

    if (pep->eq == NULL)
        return -FI_ENOEQ;
    if (pep->cm_nic != NULL)
        return -FI_EOPBADSTATE;
    rc = gnip_auth_find(pep->ctx, NULL, 0, &auth);
    if (rc == 0)
        rc = gnip_cm_nic_open(pep->ctx, NULL, auth, pep->fabric, cdm, GNIP_BOUND, &pep->cm_nic);
    if (rc != 0)
        return rc;
    rc = gnip_msg_listener_open(pep);
    if (rc == 0)
        rc = gnip_progress_list_add(&pep->eq->progress, NULL, pep->cm_nic);
    if (rc == 0) {
        pep->name = pep->cm_nic->name;
        pep->cm_nic->automatic = wants_helper(pep);
        rc = gnip_cm_nic_enable(pep->cm_nic);
        if (rc != 0)
            gnip_progress_list_remove(&pep->eq->progress, NULL, pep->cm_nic);
    }
    if (rc != 0) {
        gnip_cm_nic_close(pep->cm_nic);
        pep->cm_nic = NULL;
        gnip_msg_listener_free(pep);
    }
    return rc;
}

static int pep_listen(struct fid_pep *fid)
{
    PORT_CALL("fi_listen");
    struct gnip_pep *pep = gnip_container(fid, struct gnip_pep, fid);
    int rc;

    port_mutex_lock(&pep->lock);
    rc = listen_locked(pep);
    port_mutex_unlock(&pep->lock);
    return rc;
}

static int pep_reject(struct fid_pep *fid, struct fid *handle, const void *data, size_t bytes)
{
    PORT_CALL("fi_reject");
    struct gnip_pep *pep = gnip_container(fid, struct gnip_pep, fid);

    if (handle == NULL || bytes > GNIP_CM_DATA_MAX || (data == NULL && bytes > 0) ||
        pep->cm_nic == NULL)
        return -FI_EINVAL;
    return gnip_msg_reject(pep, handle, data, bytes);
}

/* ---- name and options ------------------------------------------------------------------------ */

static int pep_getname(struct fid *fid, void *address, size_t *bytes)
{
    PORT_CALL("fi_getname");
    struct gnip_pep *pep = pep_of(fid);
    struct gnip_name name;

    if (bytes == NULL)
        return -FI_EINVAL;
    port_mutex_lock(&pep->lock);
    name = pep->name;
    port_mutex_unlock(&pep->lock);
    return gnip_name_copy(&name, pep->info->addr_format, address, bytes);
}

static int pep_setname(struct fid *fid, void *address, size_t bytes)
{
    PORT_CALL("fi_setname");
    struct gnip_pep *pep = pep_of(fid);
    struct gnip_name name;
    int rc = 0;

    if (address == NULL || bytes != gnip_name_bytes(pep->info->addr_format) ||
        gnip_name_read(&name, pep->info->addr_format, address) != 0)
        return -FI_EINVAL;
    port_mutex_lock(&pep->lock);
    if (pep->cm_nic != NULL) {
        rc = -FI_EOPBADSTATE;
    } else {
        pep->name = name;
        if (name.cdm_id != 0)
            pep->name.name_type = GNIP_BOUND;
    }
    port_mutex_unlock(&pep->lock);
    return rc;
}

static int pep_getopt(struct fid *fid, int level, int option, void *value, size_t *bytes)
{
    PORT_CALL("fi_getopt");
    const size_t size = GNIP_CM_DATA_MAX;

    if (level != FI_OPT_ENDPOINT || option != FI_OPT_CM_DATA_SIZE)
        return -FI_ENOPROTOOPT;
    if (value == NULL || bytes == NULL || *bytes < sizeof(size))
        return -FI_EINVAL;
    memcpy(value, &size, sizeof(size));
    *bytes = sizeof(size);
    return 0;
}

/* ---- operations of other endpoints ----------------------------------------------------------- */

static int no_setopt(struct fid *fid, int level, int option, const void *value, size_t bytes)
{
    PORT_CALL("fi_setopt");
    return -FI_ENOSYS;
}

static ssize_t no_cancel(struct fid *fid, void *context)
{
    PORT_CALL("fi_cancel");
    return -FI_ENOSYS;
}

static int no_getpeer(struct fid_ep *ep, void *address, size_t *bytes)
{
    PORT_CALL("fi_getpeer");
    return -FI_ENOSYS;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int pep_close(struct fid *fid)
{
    PORT_CALL("fi_close");
    struct gnip_pep *pep = pep_of(fid);

    if (pep->cm_nic != NULL) {
        gnip_msg_listener_close(pep);
        gnip_waitable_signal(&pep->eq->wait); /* a thread that polls it sees the change */
        gnip_progress_list_remove(&pep->eq->progress, NULL, pep->cm_nic);
        gnip_cm_nic_close(pep->cm_nic);
        gnip_msg_listener_free(pep);
    }
    if (pep->eq != NULL) {
        gnip_eq_forget(pep->eq, fid);
        gnip_unref(&pep->eq->refs);
    }
    port_mutex_destroy(&pep->lock);
    fi_freeinfo(pep->info);
    gnip_unref(&pep->fabric->refs);
    free(pep);
    return 0;
}

static const struct fi_ops pep_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = pep_close,
    .bind = pep_bind,
    .control = gnip_no_control,
    .ops_open = gnip_no_ops_open,
};

static const struct fi_ops_ep pep_ep_ops = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = no_cancel,
    .getopt = pep_getopt,
    .setopt = no_setopt,
    .tx_ctx = gnip_no_tx_ctx,
    .rx_ctx = gnip_no_rx_ctx,
    .rx_size_left = gnip_no_size_left,
    .tx_size_left = gnip_no_size_left,
};

static const struct fi_ops_cm pep_cm_ops = {
    .size = sizeof(struct fi_ops_cm),
    .setname = pep_setname,
    .getname = pep_getname,
    .getpeer = no_getpeer,
    .connect = gnip_no_connect,
    .listen = pep_listen,
    .accept = gnip_no_accept,
    .reject = pep_reject,
    .shutdown = gnip_no_shutdown,
    .join = gnip_no_join,
};

/* Its name before it listens: the one that the application asks for, or only the NIC. */
static int first_name(struct gnip_pep *pep)
{
    if (pep->info->src_addr != NULL)
        return gnip_name_read(&pep->name, pep->info->addr_format, pep->info->src_addr);
    pep->name.name_type = GNIP_UNBOUND;
    return gnip_local_nic(&pep->name.device_addr);
}

int gnip_pep_open(struct fid_fabric *fid, struct fi_info *info, struct fid_pep **result,
                  void *context)
{
    PORT_CALL("fi_passive_ep");
    struct gnip_pep *pep;
    int rc;

    if (info == NULL || result == NULL || info->ep_attr == NULL || info->ep_attr->type != FI_EP_MSG)
        return -FI_EINVAL;
    pep = calloc(1, sizeof(*pep));
    if (pep == NULL)
        return -FI_ENOMEM;
    pep->info = fi_dupinfo(info);
    if (pep->info == NULL) {
        free(pep);
        return -FI_ENOMEM;
    }
    if (pep->info->addr_format != FI_ADDR_STR)
        pep->info->addr_format = FI_ADDR_GNI;
    rc = first_name(pep);
    if (rc != 0) {
        fi_freeinfo(pep->info);
        free(pep);
        return rc;
    }
    port_mutex_init(&pep->lock);
    pep->fabric = gnip_container(fid, struct gnip_fabric, fid);
    pep->ctx = pep->fabric->ctx;
    pep->fid.fid.fclass = FI_CLASS_PEP;
    pep->fid.fid.context = context;
    pep->fid.fid.ops = (struct fi_ops *)&pep_fid_ops;
    pep->fid.ops = (struct fi_ops_ep *)&pep_ep_ops;
    pep->fid.cm = (struct fi_ops_cm *)&pep_cm_ops;
    gnip_ref(&pep->fabric->refs);
    *result = &pep->fid;
    return 0;
}
