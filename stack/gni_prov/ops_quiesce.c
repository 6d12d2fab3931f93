/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "domain ops 3": a domain is quiesced for a checkpoint, and resumes.
 *
 * While it is quiesced, operations are refused with -FI_EAGAIN. Those that were accepted but not
 * begun stay queued, and there are neither connections (vc_quiesce.c) nor datagrams. When all
 * domains of the process are quiesced, its NICs are suspended: the driver has no object of the
 * process any more. No other thread calls the provider during the two functions; between them,
 * queues may be read.
 */
#include "ce.h"
#include "cm_nic.h"
#include "ctx.h"
#include "datagram.h"
#include "domain.h"
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "mbox.h"
#include "mr.h"
#include "nic.h"
#include "sep.h"
#include "vc.h"
#include "port/list.h"

#define SHORTEST_NS 2000u
#define LONGEST_NS 1000000u
#define RECALL_AFTER_NS                                                       \
    100000u /* after this pause, requests that no peer receives are withdrawn \
             */

static struct gnip_domain *domain_of(struct fid *fid)
{
    return fid != NULL && fid->fclass == FI_CLASS_DOMAIN
               ? gnip_container(fid, struct gnip_domain, fid.fid)
               : NULL;
}

static struct gnip_ep *ep_at(struct port_link *link)
{
    return gnip_container(link, struct gnip_ep, domain_link);
}

static struct gnip_vc *vc_at(struct port_link *link)
{
    return gnip_container(link, struct gnip_vc, ep_link);
}

/* ---- quiescing ------------------------------------------------------------------------------- */

/*
 * Begins to end its connections, or stops that. True: there are none, and nothing is in flight.
 * *waiting: adds the connections that will be requested later.
 */
static bool quiesce_ep(struct gnip_ep *ep, bool begin, uint32_t *waiting)
{
    struct port_link *link;
    bool quiet;

    gnip_lock(&ep->lock);
    quiet = !gnip_ce_busy(ep);
    for (link = ep->vcs.next; link != &ep->vcs; link = link->next) {
        quiet = gnip_vc_quiesce(vc_at(link), begin) && quiet;
        *waiting += vc_at(link)->connect.queued;
    }
    gnip_unlock(&ep->lock);
    return quiet;
}

static bool cm_nic_is_quiet(struct gnip_cm_nic *cm_nic, uint32_t *work)
{
    bool quiet;

    gnip_lock(&cm_nic->lock);
    quiet = cm_nic->datagrams_active == 0;
    *work += cm_nic->work_count;
    gnip_unlock(&cm_nic->lock);
    return quiet;
}

static struct gnip_cm_nic *cm_nic_at(struct port_link *link)
{
    return gnip_container(link, struct gnip_cm_nic, domain_link);
}

static bool nic_is_quiet(struct gnip_nic *nic)
{
    bool quiet;

    gnip_lock(&nic->txd_lock);
    quiet = nic->txd_used == 0;
    gnip_unlock(&nic->txd_lock);
    return quiet;
}

/* One round. True: everything is quiescent. */
static bool quiesce_step(struct gnip_domain *domain, uint32_t *done)
{
    uint32_t polls = 0, waiting = 0, work = 0;
    struct port_link *link;
    bool quiet = true;

    for (link = domain->cm_nics.next; link != &domain->cm_nics; link = link->next)
        *done += gnip_cm_nic_progress(cm_nic_at(link), &polls);
    for (link = domain->eps.next; link != &domain->eps; link = link->next) {
        struct gnip_ep *ep = ep_at(link);

        if (ep->nic == NULL) /* no STX was bound */
            continue;
        *done += gnip_nic_progress(ep->nic, &polls);
        quiet = quiesce_ep(ep, true, &waiting) && nic_is_quiet(ep->nic) && quiet;
    }
    for (link = domain->cm_nics.next; link != &domain->cm_nics; link = link->next)
        quiet = cm_nic_is_quiet(cm_nic_at(link), &work) && quiet;
    /* More jobs than those are messages to be sent, for which peers may wait. */
    return quiet && work == waiting;
}

/* Peers that are quiesced do not receive requests. */
static void recall(struct gnip_domain *domain)
{
    struct port_link *link;

    for (link = domain->cm_nics.next; link != &domain->cm_nics; link = link->next)
        gnip_datagrams_recall(cm_nic_at(link));
}

/*
 * A helper may do what is waited for, without a wake-up. So this polls again after a pause, which
 * gets longer.
 */
static bool quiesce_within(struct gnip_domain *domain, int timeout_ms)
{
    uint64_t pause = SHORTEST_NS;
    struct port_timer timer;
    uint32_t done;
    bool quiet;

    port_timer_start(&timer, timeout_ms < 0 ? UINT64_MAX : (uint64_t)timeout_ms * 1000000);
    for (;;) {
        done = 0;
        quiet = quiesce_step(domain, &done);
        if (quiet || port_timer_rang(&timer))
            break;
        if (done != 0) {
            pause = SHORTEST_NS;
        } else {
            if (pause > RECALL_AFTER_NS)
                recall(domain);
            gnip_pause(pause);
            pause = pause < LONGEST_NS ? 2 * pause : LONGEST_NS;
        }
    }
    port_timer_stop(&timer);
    return quiet;
}

static void set_paused(struct gnip_domain *domain, bool paused)
{
    __atomic_store_n(&domain->paused, paused, __ATOMIC_SEQ_CST);
    __atomic_store_n(&domain->suspended, paused, __ATOMIC_SEQ_CST);
}

static void go_on(struct gnip_domain *domain)
{
    struct port_link *link;
    uint32_t waiting = 0;

    set_paused(domain, false);
    for (link = domain->eps.next; link != &domain->eps; link = link->next)
        quiesce_ep(ep_at(link), false, &waiting);
}

/* ---- suspending and resuming NICs ------------------------------------------------------------ */

/* Calls the function for each NIC of the process; stops at the first error. */
static int each_nic(struct gnip_ctx *ctx, int (*call)(struct gnip_nic *nic))
{
    struct port_link *link, *nic;
    int rc = 0;

    for (link = ctx->auths.next; link != &ctx->auths; link = link->next) {
        struct gnip_auth *auth = gnip_container(link, struct gnip_auth, link);

        for (nic = auth->nics.next; nic != &auth->nics && rc == 0; nic = nic->next)
            rc = call(gnip_container(nic, struct gnip_nic, auth_link));
    }
    return rc;
}

static int suspend_nic(struct gnip_nic *nic)
{
    gnip_nic_suspend(nic);
    return 0;
}

static bool all_suspended(const struct gnip_ctx *ctx)
{
    const struct port_link *link;

    for (link = ctx->domains.next; link != &ctx->domains; link = link->next)
        if (!gnip_container(link, struct gnip_domain, ctx_link)->suspended)
            return false;
    return true;
}

/* Releases what an endpoint without connections still has of GNI. */
static void suspend_ep(struct gnip_ep *ep)
{
    struct port_link *link;

    gnip_lock(&ep->lock);
    gnip_ce_suspend(ep);
    for (link = ep->vcs.next; link != &ep->vcs; link = link->next) {
        struct gnip_vc *vc = vc_at(link);

        if (vc->paused) /* the thread that started the timer ends */
            port_timer_stop(&vc->pause);
        vc->paused = false;
        gnip_mbox_put(vc->nic, &vc->mbox); /* of a request that was refused */
        gnip_mbox_lose(vc->nic, &vc->old_mbox);
    }
    gnip_unlock(&ep->lock);
}

static void suspend_domain(struct gnip_domain *domain)
{
    struct gnip_ctx *ctx = domain->ctx;
    struct port_link *link;

    for (link = domain->eps.next; link != &domain->eps; link = link->next)
        suspend_ep(ep_at(link));
    for (link = domain->cm_nics.next; link != &domain->cm_nics; link = link->next)
        gnip_cm_nic_suspend(cm_nic_at(link));
    gnip_mr_cache_flush(domain);
    if (!all_suspended(ctx))
        return;
    ctx->suspended = true;
    each_nic(ctx, suspend_nic);
}

/* Resumes the NICs of all domains, and registers their memory again. */
static int resume_nics(struct gnip_ctx *ctx)
{
    struct port_link *link;
    int rc, first;

    if (!ctx->suspended)
        return 0;
    first = each_nic(ctx, gnip_nic_resume);
    if (first != 0)
        return first;
    ctx->suspended = false;
    gnip_ctx_incarnate(ctx);
    for (link = ctx->domains.next; link != &ctx->domains; link = link->next) {
        rc = gnip_mr_cache_restore(gnip_container(link, struct gnip_domain, ctx_link));
        first = first != 0 ? first : rc;
    }
    return first;
}

static int resume_domain(struct gnip_domain *domain)
{
    struct port_link *link;
    int rc = resume_nics(domain->ctx), next;

    if (rc != 0 && rc != -FI_EKEYREJECTED)
        return rc;
    for (link = domain->cm_nics.next; link != &domain->cm_nics; link = link->next) {
        next = gnip_cm_nic_resume(cm_nic_at(link));
        if (next != 0)
            return next;
    }
    for (link = domain->eps.next; link != &domain->eps; link = link->next) {
        struct gnip_ep *ep = ep_at(link);

        /* the process may be on another node now */
        ep->name.device_addr = ep->cm_nic->name.device_addr;
        if (ep->sep != NULL)
            ep->sep->name.device_addr = ep->name.device_addr;
    }
    return rc;
}

/* ---- the functions --------------------------------------------------------------------------- */

static int is_listener(struct gnip_nic *nic)
{
    return nic->alone;
}

/* Objects that cannot be restored prevent it. */
static bool can_quiesce(struct gnip_domain *domain)
{
    struct port_link *link;
    bool can = port_list_empty(&domain->ces) && each_nic(domain->ctx, is_listener) == 0;

    for (link = domain->eps.next; link != &domain->eps; link = link->next)
        can = can && ep_at(link)->type != FI_EP_MSG;
    return can;
}

static int quiesce(struct fid *fid, int timeout_ms)
{
    struct gnip_domain *domain = domain_of(fid);

    if (domain == NULL)
        return -FI_EINVAL;
    if (domain->paused)
        return -FI_EALREADY;
    if (!can_quiesce(domain))
        return -FI_EBUSY;
    set_paused(domain, true);
    if (!quiesce_within(domain, timeout_ms)) {
        go_on(domain);
        return -FI_ETIMEDOUT;
    }
    suspend_domain(domain);
    return 0;
}

static int resume(struct fid *fid)
{
    struct gnip_domain *domain = domain_of(fid);
    int rc;

    if (domain == NULL)
        return -FI_EINVAL;
    if (!domain->paused)
        return -FI_EOPBADSTATE;
    rc = resume_domain(domain);
    if (rc == 0 || rc == -FI_EKEYREJECTED)
        go_on(domain);
    return rc;
}

const struct fi_gni_ops_dom3 gnip_dom3_ops = {.quiesce = quiesce, .resume = resume};
