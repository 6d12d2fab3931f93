/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Scalable endpoints: one name, several contexts. The transmit and the receive context of an index
 * are the two sides of one endpoint of the provider, whose id is that of the name plus the index.
 */
#include <stdlib.h>

#include "av.h"
#include "cm_nic.h"
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "info.h"
#include "name.h"
#include "nosys.h"
#include "sep.h"

#define CONTEXTS_MAX 128
#define OPEN_TRIES 64

static struct gnip_sep *sep_of(struct fid *fid)
{
    return gnip_container(fid, struct gnip_sep, fid.fid);
}

/* ---- contexts -------------------------------------------------------------------------------- */

static struct gnip_ep *ep_of(struct fid *fid)
{
    return gnip_ep_of(gnip_container(fid, struct fid_ep, fid));
}

static struct gnip_sep_context *context_of(const struct gnip_ep *ep)
{
    return &ep->sep->contexts[ep->sep_index];
}

static uint64_t direction_of(const struct fid *fid)
{
    return fid->fclass == FI_CLASS_RX_CTX ? FI_RECV : FI_TRANSMIT;
}

static int close_context(struct fid *fid)
{
    PORT_CALL("fi_close");
    struct gnip_ep *ep = ep_of(fid);
    struct gnip_sep *sep = ep->sep;
    struct gnip_sep_context *context = context_of(ep);
    bool receives = direction_of(fid) == FI_RECV, *open;
    int rc = 0;

    port_mutex_lock(&sep->lock);
    open = receives ? &context->rx_open : &context->tx_open;
    if (!*open) {
        port_mutex_unlock(&sep->lock);
        return -FI_EINVAL;
    }
    *open = false;
    if (!context->tx_open && !context->rx_open) {
        port_mutex_unlock(&sep->lock);
        rc = gnip_ep_close(ep); /* may take time */
        port_mutex_lock(&sep->lock);
        if (rc == 0)
            memset(context, 0, sizeof(*context));
        else
            *(receives ? &context->rx_open : &context->tx_open) = true;
    }
    port_mutex_unlock(&sep->lock);
    if (rc == 0)
        gnip_unref(&sep->refs);
    return rc;
}

static int bind_context(struct fid *fid, struct fid *object, uint64_t flags)
{
    PORT_CALL("fi_bind");
    return gnip_ep_bind(ep_of(fid), object, flags, direction_of(fid));
}

static int enable_context(struct gnip_ep *ep, uint64_t direction)
{
    struct gnip_sep_context *context = context_of(ep);
    bool *done = direction == FI_RECV ? &context->rx_done : &context->tx_done;
    bool before;

    port_mutex_lock(&ep->sep->lock);
    before = *done;
    *done = false;
    port_mutex_unlock(&ep->sep->lock);
    return before ? 0 : gnip_ep_enable(ep, direction, false);
}

static int control_context(struct fid *fid, int command, void *argument)
{
    PORT_CALL("fi_control");
    struct gnip_ep *ep = ep_of(fid);

    if (command == FI_ENABLE)
        return enable_context(ep, direction_of(fid));
    return context_of(ep)->ep_ops->control(&ep->fid.fid, command, argument);
}

static const struct fi_ops context_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = close_context,
    .bind = bind_context,
    .control = control_context,
    .ops_open = gnip_ep_ops,
};

/* Makes the endpoint of an index, unless the other direction has made it. The lock is held. */
static int make_ep(struct gnip_sep *sep, uint32_t index)
{
    struct gnip_sep_context *context = &sep->contexts[index];
    struct gnip_ep *ep;
    int rc;

    if (context->ep != NULL)
        return 0;
    rc = gnip_ep_new(sep->domain, sep->info, sep, index, NULL, &ep);
    if (rc != 0)
        return rc;
    if (sep->av != NULL) {
        rc = gnip_ep_bind(ep, &sep->av->fid.fid, 0, FI_TRANSMIT | FI_RECV);
        if (rc != 0) {
            gnip_ep_close(ep);
            return rc;
        }
    }
    context->ep = ep;
    context->ep_ops = ep->fid.fid.ops;
    return 0;
}

static void set_up(struct fid_ep *fid, size_t class, void *context)
{
    fid->fid.fclass = class;
    fid->fid.context = context;
    fid->fid.ops = (struct fi_ops *)&context_fid_ops;
    fid->ops = (struct fi_ops_ep *)&gnip_ep_ops_table;
    fid->cm = (struct fi_ops_cm *)&gnip_ep_cm_ops;
    fid->msg = (struct fi_ops_msg *)&gnip_msg_ops;
    fid->tagged = (struct fi_ops_tagged *)&gnip_tagged_ops;
    fid->rma = (struct fi_ops_rma *)&gnip_rma_ops;
    fid->atomic = (struct fi_ops_atomic *)&gnip_atomic_ops;
}

static int open_tx(struct fid_ep *fid, int index, struct fi_tx_attr *attr, struct fid_ep **tx_ep,
                   void *context)
{
    PORT_CALL("fi_tx_context");
    struct gnip_sep *sep = sep_of(&fid->fid);
    struct gnip_ep *ep;
    int rc = -FI_EBUSY;

    if (tx_ep == NULL || index < 0 || (uint32_t)index >= sep->tx_count || !gnip_tx_attr_fits(attr))
        return -FI_EINVAL;
    port_mutex_lock(&sep->lock);
    if (!sep->contexts[index].tx_open)
        rc = make_ep(sep, (uint32_t)index);
    if (rc == 0) {
        ep = sep->contexts[index].ep;
        sep->contexts[index].tx_open = true;
        set_up(&ep->fid, FI_CLASS_TX_CTX, context);
        if (attr != NULL) {
            ep->tx_flags = (ep->tx_flags & FI_COMPLETION) | attr->op_flags;
            if (attr->size != 0)
                ep->tx_size = (uint32_t)attr->size;
        }
        *tx_ep = &ep->fid;
        gnip_ref(&sep->refs);
    }
    port_mutex_unlock(&sep->lock);
    return rc;
}

static int open_rx(struct fid_ep *fid, int index, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
                   void *context)
{
    PORT_CALL("fi_rx_context");
    struct gnip_sep *sep = sep_of(&fid->fid);
    struct gnip_ep *ep;
    int rc = -FI_EBUSY;

    if (rx_ep == NULL || index < 0 || (uint32_t)index >= sep->rx_count || !gnip_rx_attr_fits(attr))
        return -FI_EINVAL;
    port_mutex_lock(&sep->lock);
    if (!sep->contexts[index].rx_open)
        rc = make_ep(sep, (uint32_t)index);
    if (rc == 0) {
        ep = sep->contexts[index].ep;
        sep->contexts[index].rx_open = true;
        set_up(&ep->rx_fid, FI_CLASS_RX_CTX, context);
        if (attr != NULL) {
            ep->rx_flags = (ep->rx_flags & FI_COMPLETION) | attr->op_flags;
            if (attr->size != 0)
                ep->rx_size = (uint32_t)attr->size;
        }
        *rx_ep = &ep->rx_fid;
        gnip_ref(&sep->refs);
    }
    port_mutex_unlock(&sep->lock);
    return rc;
}

/* ---- the scalable endpoint ------------------------------------------------------------------- */

static int close_sep(struct fid *fid)
{
    PORT_CALL("fi_close");
    struct gnip_sep *sep = sep_of(fid);

    if (gnip_busy(&sep->refs))
        return -FI_EBUSY;
    gnip_cm_nic_close(sep->cm_nic);
    if (sep->av != NULL)
        gnip_unref(&sep->av->refs);
    gnip_unref(&sep->domain->refs);
    fi_freeinfo(sep->info);
    port_mutex_destroy(&sep->lock);
    free(sep->contexts);
    free(sep);
    return 0;
}

static int bind_sep(struct fid *fid, struct fid *object, uint64_t flags)
{
    PORT_CALL("fi_bind");
    struct gnip_sep *sep = sep_of(fid);
    struct gnip_av *av;
    uint32_t i;
    int rc = 0;

    if (object == NULL || object->fclass != FI_CLASS_AV)
        return -FI_EINVAL;
    if (flags != 0)
        return -FI_EBADFLAGS;
    av = gnip_container(object, struct gnip_av, fid.fid);
    if (av->domain != sep->domain || sep->av != NULL)
        return -FI_EINVAL;
    port_mutex_lock(&sep->lock);
    for (i = 0; i < sep->count && rc == 0; i++)
        if (sep->contexts[i].ep != NULL)
            rc = gnip_ep_bind(sep->contexts[i].ep, object, 0, FI_TRANSMIT | FI_RECV);
    if (rc == 0) {
        sep->av = av;
        gnip_ref(&av->refs);
    }
    port_mutex_unlock(&sep->lock);
    return rc;
}

/*
 * Enables the contexts that are open and have what they need; the others are enabled by themselves.
 */
static int enable_sep(struct gnip_sep *sep)
{
    int rc = gnip_cm_nic_enable(sep->cm_nic);
    uint32_t i;

    if (rc != 0)
        return rc;
    port_mutex_lock(&sep->lock);
    for (i = 0; i < sep->count; i++) {
        struct gnip_sep_context *context = &sep->contexts[i];

        if (context->tx_open && !context->ep->tx_enabled &&
            gnip_ep_enable(context->ep, FI_TRANSMIT, true) == 0)
            context->tx_done = true;
        if (context->rx_open && !context->ep->rx_enabled &&
            gnip_ep_enable(context->ep, FI_RECV, true) == 0)
            context->rx_done = true;
    }
    port_mutex_unlock(&sep->lock);
    return 0;
}

static int control_sep(struct fid *fid, int command, void *argument)
{
    PORT_CALL("fi_control");
    return command == FI_ENABLE ? enable_sep(sep_of(fid)) : -FI_ENOSYS;
}

static ssize_t cancel(fid_t fid, void *context)
{
    return -FI_ENOENT;
}

static int set_name(fid_t fid, void *address, size_t bytes);

static int get_name(fid_t fid, void *address, size_t *bytes)
{
    PORT_CALL("fi_getname");
    const struct gnip_sep *sep = sep_of(fid);

    if (bytes == NULL)
        return -FI_EINVAL;
    return gnip_name_copy(&sep->name, sep->info->addr_format, address, bytes);
}

static int get_peer(struct fid_ep *fid, void *address, size_t *bytes)
{
    PORT_CALL("fi_getpeer");
    const struct gnip_sep *sep = sep_of(&fid->fid);

    return gnip_name_peer(sep->info, sep->domain->fabric->strict, address, bytes);
}

static const struct fi_ops sep_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = close_sep,
    .bind = bind_sep,
    .control = control_sep,
    .ops_open = gnip_no_ops_open,
};

static const struct fi_ops_ep sep_ops = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = cancel,
    .getopt = gnip_no_getopt,
    .setopt = gnip_no_setopt,
    .tx_ctx = open_tx,
    .rx_ctx = open_rx,
    .rx_size_left = gnip_no_size_left,
    .tx_size_left = gnip_no_size_left,
};

static const struct fi_ops_cm sep_cm_ops = {
    .size = sizeof(struct fi_ops_cm),
    .setname = set_name,
    .getname = get_name,
    .getpeer = get_peer,
    .connect = gnip_no_connect,
    .listen = gnip_no_listen,
    .accept = gnip_no_accept,
    .reject = gnip_no_reject,
    .shutdown = gnip_no_shutdown,
    .join = gnip_no_join,
};

/* ---- opening --------------------------------------------------------------------------------- */

/* A name that the application has chosen, or a block of new ids. */
static int open_cm_nic(struct gnip_sep *sep, const struct gnip_name *chosen)
{
    struct gnip_domain *domain = sep->domain;
    int rc, tries = 0;

    do {
        sep->cdm_base = chosen != NULL ? chosen->cdm_id : gnip_ctx_cdm(domain->ctx, sep->count);
        rc = gnip_cm_nic_open(domain->ctx, domain, sep->auth, domain->fabric, sep->cdm_base,
                              GNIP_SEP, &sep->cm_nic);
    } while (rc == -FI_EADDRINUSE && chosen == NULL && ++tries < OPEN_TRIES);
    return rc;
}

static void make_name(struct gnip_sep *sep)
{
    sep->name = sep->cm_nic->name;
    sep->name.name_type = GNIP_SEP;
    sep->name.cdm_id = sep->cdm_base;
    sep->name.rx_ctx_cnt = sep->rx_count & 0xff;
}

static int take_names(struct gnip_sep *sep)
{
    struct gnip_name hint;
    const struct gnip_name *chosen = NULL;
    int rc = gnip_domain_auth(sep->domain, sep->info->ep_attr->auth_key,
                              sep->info->ep_attr->auth_key_size, &sep->auth);

    if (rc != 0)
        return rc;
    if (sep->info->src_addr != NULL &&
        gnip_name_read(&hint, sep->info->addr_format, sep->info->src_addr) == 0 &&
        (hint.name_type & GNIP_BOUND) != 0)
        chosen = &hint;
    rc = open_cm_nic(sep, chosen);
    if (rc != 0)
        return rc;
    make_name(sep);
    return 0;
}

/* Changes the address, as long as no context has published the old one. */
static int set_name(fid_t fid, void *address, size_t bytes)
{
    PORT_CALL("fi_setname");
    struct gnip_sep *sep = sep_of(fid);
    struct gnip_cm_nic *old = sep->cm_nic;
    struct gnip_name name;
    int rc;

    if (address == NULL || bytes != gnip_name_bytes(sep->info->addr_format) ||
        gnip_name_read(&name, sep->info->addr_format, address) != 0)
        return -FI_EINVAL;
    if (gnip_busy(&sep->refs))
        return -FI_EOPBADSTATE;
    if (name.device_addr != sep->name.device_addr)
        return -FI_EADDRNOTAVAIL;
    if (name.cdm_id == sep->name.cdm_id)
        return 0;
    rc = open_cm_nic(sep, &name);
    if (rc != 0) {
        sep->cm_nic = old;
        sep->cdm_base = sep->name.cdm_id;
        return rc;
    }
    gnip_cm_nic_close(old);
    make_name(sep);
    return 0;
}

/* 0: not a number of contexts. */
static uint32_t contexts_asked(size_t count)
{
    if (count == 0)
        return 1;
    return count <= CONTEXTS_MAX ? (uint32_t)count : 0;
}

int gnip_scalable_ep(struct fid_domain *domain_fid, struct fi_info *info, struct fid_ep **sep_fid,
                     void *context)
{
    PORT_CALL("fi_scalable_ep");
    struct gnip_domain *domain = gnip_container(domain_fid, struct gnip_domain, fid);
    struct gnip_sep *sep;
    uint32_t tx, rx;
    int rc;

    if (info == NULL || sep_fid == NULL || info->ep_attr == NULL)
        return -FI_EINVAL;
    if (info->ep_attr->type != FI_EP_RDM && info->ep_attr->type != FI_EP_DGRAM)
        return -FI_ENOSYS;
    tx = contexts_asked(info->ep_attr->tx_ctx_cnt);
    rx = contexts_asked(info->ep_attr->rx_ctx_cnt);
    if (tx == 0 || rx == 0)
        return -FI_EINVAL;
    sep = calloc(1, sizeof(*sep));
    if (sep == NULL)
        return -FI_ENOMEM;
    sep->domain = domain;
    sep->tx_count = tx;
    sep->rx_count = rx;
    sep->count = tx > rx ? tx : rx;
    sep->contexts = calloc(sep->count, sizeof(*sep->contexts));
    sep->info = fi_dupinfo(info);
    rc = sep->contexts != NULL && sep->info != NULL ? take_names(sep) : -FI_ENOMEM;
    if (rc != 0) {
        if (sep->info != NULL)
            fi_freeinfo(sep->info);
        free(sep->contexts);
        free(sep);
        return rc;
    }
    port_mutex_init(&sep->lock);
    sep->fid.fid.fclass = FI_CLASS_SEP;
    sep->fid.fid.context = context;
    sep->fid.fid.ops = (struct fi_ops *)&sep_fid_ops;
    sep->fid.ops = (struct fi_ops_ep *)&sep_ops;
    sep->fid.cm = (struct fi_ops_cm *)&sep_cm_ops;
    sep->fid.msg = (struct fi_ops_msg *)&gnip_no_msg_ops;
    sep->fid.tagged = (struct fi_ops_tagged *)&gnip_no_tagged_ops;
    sep->fid.rma = (struct fi_ops_rma *)&gnip_no_rma_ops;
    sep->fid.atomic = (struct fi_ops_atomic *)&gnip_no_atomic_ops;
    gnip_ref(&domain->refs);
    *sep_fid = &sep->fid;
    return 0;
}
