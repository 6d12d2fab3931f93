/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The address of an endpoint, and the cm_nic and NIC that go with it. */
#include "cm_nic.h"
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "name.h"
#include "nic.h"
#include "nosys.h"
#include "sep.h"

/* ---- cm_nic and NIC -------------------------------------------------------------------------- */

/* The name that the application asks for; it only matters if it is bound. */
static bool chosen_name(const struct gnip_ep *ep, struct gnip_name *name)
{
    return ep->type != FI_EP_MSG && ep->info->src_addr != NULL &&
           gnip_name_read(name, ep->domain->addr_format, ep->info->src_addr) == 0 &&
           (name->name_type & GNIP_BOUND) != 0;
}

/*
 * The endpoint needs a cm_nic of its own: for a chosen address, or for credentials that differ from
 * the domain's.
 */
static int open_cm_nic(struct gnip_ep *ep, const struct gnip_name *chosen)
{
    struct gnip_domain *domain = ep->domain;
    uint32_t cdm_id = chosen != NULL ? chosen->cdm_id : UINT32_MAX;
    int rc = gnip_cm_nic_open(domain->ctx, domain, ep->auth, domain->fabric, cdm_id,
                              chosen != NULL ? GNIP_BOUND : GNIP_UNBOUND, &ep->cm_nic);

    if (rc == 0)
        ep->own_cm_nic = true;
    return rc;
}

/* The domain's cm_nic. *first: no endpoint uses it yet. */
static int share_cm_nic(struct gnip_ep *ep, bool *first)
{
    struct gnip_domain *domain = ep->domain;
    int rc = 0;

    port_mutex_lock(&domain->lock);
    if (domain->cm_nic == NULL)
        rc = gnip_cm_nic_open(domain->ctx, domain, domain->auth, domain->fabric, UINT32_MAX,
                              GNIP_UNBOUND, &domain->cm_nic);
    if (rc == 0) {
        ep->cm_nic = domain->cm_nic;
        *first = ep->cm_nic->refs++ == 0;
    }
    port_mutex_unlock(&domain->lock);
    return rc;
}

void gnip_ep_detach(struct gnip_ep *ep)
{
    if (ep->cm_nic == NULL)
        return;
    if (ep->own_cm_nic) {
        gnip_cm_nic_close(ep->cm_nic);
    } else if (ep->sep == NULL) {
        port_mutex_lock(&ep->domain->lock);
        assert(ep->cm_nic->refs > 0);
        ep->cm_nic->refs--;
        port_mutex_unlock(&ep->domain->lock);
    }
    ep->cm_nic = NULL;
    ep->own_cm_nic = false;
}

/*
 * Threads with an endpoint each should not share a NIC: the first endpoint of a domain uses that of
 * the cm_nic, any other one gets a NIC of its own.
 */
static int take_nic(struct gnip_ep *ep, bool of_cm_nic)
{
    if (ep->shared_tx)
        return 0; /* the STX has one */
    if (!of_cm_nic)
        return gnip_nic_get(ep->domain, ep->auth, UINT32_MAX, false, &ep->nic);
    ep->nic = ep->cm_nic->nic;
    gnip_nic_ref(ep->nic);
    return 0;
}

static void make_name(struct gnip_ep *ep, uint32_t cdm_id, enum gnip_name_type type)
{
    ep->name = ep->cm_nic->name;
    ep->name.cdm_id = cdm_id;
    ep->name.name_type = type;
    ep->name.cm_nic_cdm_id = ep->cm_nic->name.cdm_id & 0xffffff;
    ep->name.cookie = ep->auth->cookie;
    ep->name.key_offset = ep->auth->offset & 0xfff;
    ep->name.rx_ctx_cnt = 0;
}

int gnip_ep_attach(struct gnip_ep *ep)
{
    struct gnip_name chosen;
    bool first = false;
    int rc;

    if (ep->sep != NULL) {
        ep->cm_nic = ep->sep->cm_nic;
        make_name(ep, ep->sep->cdm_base + ep->sep_index, GNIP_UNBOUND);
        return take_nic(ep, false);
    }
    if (chosen_name(ep, &chosen)) {
        rc = open_cm_nic(ep, &chosen);
        if (rc == 0)
            make_name(ep, ep->cm_nic->name.cdm_id, GNIP_BOUND);
        return rc != 0 ? rc : take_nic(ep, true);
    }
    rc = ep->auth != ep->domain->auth ? open_cm_nic(ep, NULL) : share_cm_nic(ep, &first);
    if (rc != 0)
        return rc;
    make_name(ep, gnip_ctx_cdm(ep->domain->ctx, 1), GNIP_UNBOUND);
    return take_nic(ep, first || ep->own_cm_nic);
}

/* ---- names ----------------------------------------------------------------------------------- */

static struct gnip_ep *ep_of(struct fid *fid)
{
    return gnip_ep_of(gnip_container(fid, struct fid_ep, fid));
}

static int get_name(fid_t fid, void *address, size_t *bytes)
{
    const struct gnip_ep *ep = ep_of(fid);

    if (bytes == NULL)
        return -FI_EINVAL;
    return gnip_name_copy(&ep->name, ep->domain->addr_format, address, bytes);
}

static int get_peer(struct fid_ep *fid, void *address, size_t *bytes)
{
    PORT_CALL("fi_getpeer");
    const struct gnip_ep *ep = gnip_ep_of(fid);

    return gnip_name_peer(ep->info, ep->domain->fabric->strict, address, bytes);
}

/* Changes the id at its cm_nic, or opens a cm_nic for it. */
static int rename_ep(struct gnip_ep *ep, const struct gnip_name *name)
{
    struct gnip_cm_nic *old = ep->cm_nic;
    bool owned = ep->own_cm_nic;
    int rc;

    if (name->cdm_id == ep->name.cdm_id)
        return 0;
    gnip_cm_nic_remove_ep(old, ep);
    if (name->name_type & GNIP_BOUND) {
        rc = open_cm_nic(ep, name);
        if (rc != 0) {
            gnip_cm_nic_add_ep(old, ep);
            return rc;
        }
        make_name(ep, ep->cm_nic->name.cdm_id, GNIP_BOUND);
        gnip_cm_nic_add_ep(ep->cm_nic, ep);
        if (owned) {
            gnip_cm_nic_close(old);
        } else {
            port_mutex_lock(&ep->domain->lock);
            assert(old->refs > 0);
            old->refs--;
            port_mutex_unlock(&ep->domain->lock);
        }
        return 0;
    }
    ep->name.cdm_id = name->cdm_id;
    gnip_cm_nic_add_ep(old, ep);
    return 0;
}

static int set_name(fid_t fid, void *address, size_t bytes)
{
    struct gnip_ep *ep = ep_of(fid);
    struct gnip_name name;

    if (address == NULL || bytes != gnip_name_bytes(ep->domain->addr_format) ||
        gnip_name_read(&name, ep->domain->addr_format, address) != 0)
        return -FI_EINVAL;
    if (ep->tx_enabled || ep->rx_enabled || ep->sep != NULL)
        return -FI_EOPBADSTATE;
    if (name.device_addr != ep->name.device_addr)
        return -FI_EADDRNOTAVAIL;
    return rename_ep(ep, &name);
}

const struct fi_ops_cm gnip_ep_cm_ops = {
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
