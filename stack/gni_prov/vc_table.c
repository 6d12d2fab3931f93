/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The VCs of an endpoint. They are found by fi_addr through a table in which each place remembers
 * one, and by name through a hash. Their memory belongs to the NIC, whose progress may still use a
 * VC that has been removed.
 */
#include <stdlib.h>

#include "av.h"
#include "cm_nic.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "message.h"
#include "name.h"
#include "nic.h"
#include "nic_internal.h"
#include "params.h"
#include "vc.h"
#include "vc_internal.h"
#include "port/list.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static uint32_t place_of(const struct gnip_ep *ep, uint64_t key)
{
    return (uint32_t)((key ^ key >> 32) * 0x9e3779b97f4a7c15ull >> (64 - ep->vc_bits));
}

/* Indices of an AV are dense: each has its own place. The upper half selects a receive context. */
static struct gnip_vc_known *known_at(const struct gnip_ep *ep, fi_addr_t peer)
{
    uint32_t place = (uint32_t)peer ^ (uint32_t)(peer >> 32) * 0x9e3779b1u;

    return &ep->vc_known[place & ((1u << ep->vc_bits) - 1)];
}

static struct gnip_vc **bucket_of(const struct gnip_ep *ep, uint32_t device_addr, uint32_t cdm_id)
{
    return &ep->vc_names[place_of(ep, (uint64_t)device_addr << 32 | cdm_id)];
}

static uint32_t bits_of(uint32_t places)
{
    uint32_t bits = 1;

    while (bits < 16 && 1u << bits < places)
        bits++;
    return bits;
}

/* Places for one more. Without memory the tables stay as they are. False: there are no tables. */
static bool make_room(struct gnip_ep *ep)
{
    const struct gnip_params *params = &ep->domain->params;
    uint32_t bits = ep->vc_bits;
    struct gnip_vc_known *known;
    struct gnip_vc **names;
    struct port_link *link;

    if (bits == 0)
        bits = bits_of(params->conn_table_initial);
    else if (ep->vc_count < 1u << bits || bits >= bits_of(params->conn_table_max))
        return true;
    else
        bits += bits_of(params->conn_table_step);
    if (bits > bits_of(params->conn_table_max))
        bits = bits_of(params->conn_table_max);
    known = calloc((size_t)1 << bits, sizeof(*known));
    names = calloc((size_t)1 << bits, sizeof(*names));
    if (known == NULL || names == NULL) {
        free(known);
        free(names);
        return ep->vc_bits != 0;
    }
    free(ep->vc_known);
    free(ep->vc_names);
    ep->vc_known = known;
    ep->vc_names = names;
    ep->vc_bits = bits;
    for (link = ep->vcs.next; link != &ep->vcs; link = link->next) {
        struct gnip_vc *vc = gnip_container(link, struct gnip_vc, ep_link);
        struct gnip_vc **bucket = bucket_of(ep, vc->peer.device_addr, vc->peer.cdm_id);

        vc->name_next = *bucket;
        *bucket = vc;
    }
    return true;
}

struct gnip_vc *gnip_vc_of_name(struct gnip_ep *ep, uint32_t device_addr, uint32_t cdm_id)
{
    struct gnip_vc *vc = ep->vc_bits != 0 ? *bucket_of(ep, device_addr, cdm_id) : NULL;

    while (vc != NULL && (vc->peer.device_addr != device_addr || vc->peer.cdm_id != cdm_id))
        vc = vc->name_next;
    return vc;
}

/* ---- making and ending ----------------------------------------------------------------------- */

static struct gnip_vc *from_pool(struct gnip_nic *nic)
{
    struct gnip_vc *vc;

    gnip_lock(&nic->vc_lock);
    vc = nic->vc_pool;
    if (vc != NULL)
        nic->vc_pool = vc->name_next;
    gnip_unlock(&nic->vc_lock);
    if (vc == NULL)
        vc = aligned_alloc(64, (sizeof(*vc) + 63) & ~(size_t)63);
    if (vc != NULL)
        memset(vc, 0, sizeof(*vc));
    return vc;
}

struct gnip_vc *gnip_vc_new(struct gnip_ep *ep, const struct gnip_name *peer)
{
    struct gnip_vc **bucket, *vc;

    if (ep->nic == NULL || !make_room(ep))
        return NULL;
    vc = from_pool(ep->nic);
    if (vc == NULL)
        return NULL;
    vc->ep = ep;
    vc->nic = ep->nic;
    vc->peer = *peer;
    vc->fi_addr = FI_ADDR_NOTAVAIL;
    vc->av_version = ep->av != NULL ? ep->av->version - 1 : 0;
    gnip_vc_move(vc, GNIP_VC_NONE);
    port_list_append(&ep->vcs, &vc->ep_link);
    ep->vc_count++;
    bucket = bucket_of(ep, peer->device_addr, peer->cdm_id);
    vc->name_next = *bucket;
    *bucket = vc;
    return vc;
}

void gnip_vc_detach(struct gnip_vc *vc)
{
    struct gnip_ep *ep = vc->ep;
    struct gnip_vc **at;
    uint32_t i;

    gnip_assert_held(&vc->ep->lock);
    port_connection(vc, vc->peer.device_addr, vc->peer.cdm_id, NULL);
    gnip_unexpected_detach(vc);
    port_list_remove(&vc->ep_link);
    assert(ep->vc_count > 0);
    ep->vc_count--;
    for (at = bucket_of(ep, vc->peer.device_addr, vc->peer.cdm_id); *at != vc;)
        at = &(*at)->name_next;
    *at = vc->name_next;
    for (i = 0; i < 1u << ep->vc_bits; i++)
        if (ep->vc_known[i].vc == vc)
            ep->vc_known[i].vc = NULL;
    if (ep->vc_count == 0) {
        free(ep->vc_known);
        free(ep->vc_names);
        ep->vc_known = NULL;
        ep->vc_names = NULL;
        ep->vc_bits = 0;
    }
}

void gnip_vc_pool(struct gnip_vc *vc)
{
    struct gnip_nic *nic = vc->nic;

    free(vc->request);
    vc->request = NULL;
    if (vc->paused)
        port_timer_stop(&vc->pause);
    gnip_lock(&nic->vc_lock);
    gnip_vc_unlink(nic, vc);
    vc->ep = NULL;
    vc->name_next = nic->vc_pool;
    nic->vc_pool = vc;
    gnip_unlock(&nic->vc_lock);
}

/* ---- finding --------------------------------------------------------------------------------- */

static gnip_cold int find_slowly(struct gnip_ep *ep, fi_addr_t peer, uint32_t version,
                                 struct gnip_vc **found)
{
    struct gnip_name name;
    struct gnip_vc *vc;
    int rc;

    if (ep->av == NULL)
        return ep->type == FI_EP_MSG ? -FI_EINVAL : -FI_ENOAV;
    rc = gnip_av_find(ep->av, peer, &name);
    if (rc != 0)
        return rc;
    if (!gnip_name_type_known(name.name_type)) /* an address vector stores any */
        return -FI_EINVAL;
    vc = gnip_vc_of_name(ep, name.device_addr, name.cdm_id);
    if (vc == NULL) {
        if (__atomic_load_n(&ep->cm_nic->work_count, __ATOMIC_RELAXED) >= GNIP_CM_WORK)
            return -FI_EAGAIN;
        vc = gnip_vc_new(ep, &name);
        if (vc == NULL)
            return -FI_EAGAIN;
    } else {
        vc->peer.name_type = name.name_type;
        vc->peer.cookie = name.cookie;
    }
    *known_at(ep, peer) = (struct gnip_vc_known){peer, vc, version};
    *found = vc;
    return 0;
}

/* Prefetches what a handle points at: GNI needs it first, some 200 ns from now. */
static inline void fetch_handle(const void *handle)
{
    const char *at = handle;

    __builtin_prefetch(at, 1);
    __builtin_prefetch(at + 64, 1);
    __builtin_prefetch(at + 128, 1);
}

int gnip_vc_find(struct gnip_ep *ep, fi_addr_t peer, struct gnip_vc **vc)
{
    uint32_t version = ep->av != NULL ? __atomic_load_n(&ep->av->version, __ATOMIC_ACQUIRE) : 0;
    const struct gnip_vc_known *known;
    int rc = 0;

    gnip_assert_held(&ep->lock);
    if (gnip_likely(ep->vc_bits != 0)) {
        known = known_at(ep, peer);
        if (gnip_likely(known->peer == peer && known->vc != NULL && known->av_version == version)) {
            *vc = known->vc;
            __builtin_prefetch(&(*vc)->tx_queue, 1);
            if (gnip_unlikely((*vc)->state != GNIP_VC_CONNECTED))
                gnip_vc_connect(*vc);
            else
                fetch_handle((*vc)->gni_ep);
            return 0;
        }
    }
    if (ep->type == FI_EP_MSG) {
        *vc = ep->msg_vc;
        return 0;
    }
    rc = find_slowly(ep, peer, version, vc);
    if (rc == 0)
        gnip_vc_connect(*vc);
    return rc;
}

fi_addr_t gnip_vc_source(struct gnip_vc *vc)
{
    struct gnip_av *av = vc->ep->av;
    uint32_t version;

    if (av == NULL)
        return FI_ADDR_NOTAVAIL;
    version = __atomic_load_n(&av->version, __ATOMIC_ACQUIRE);
    if (gnip_unlikely(vc->av_version != version)) {
        vc->fi_addr = gnip_av_reverse(av, &vc->peer);
        vc->av_version = version;
    }
    return vc->fi_addr;
}
