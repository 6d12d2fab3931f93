/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The communication domain of a rank: attaching, endpoints, timeouts, and the end of a run. */
#include <inttypes.h>
#include "gni.h"

const char *wl_rc_name(gni_return_t rc)
{
    return rc <= GNI_RC_ERROR_NOMEM ? gni_err_str[rc] : "?";
}

static gni_return_t attach_as(struct wl_domain *domain, uint32_t modes, uint32_t *address)
{
    struct rank *rank = domain->rank;
    gni_return_t rc =
        GNI_CdmCreate(domain->id, rank_ptag(rank), rank_cookie(rank), modes, &domain->cdm);

    return rc == GNI_RC_SUCCESS ? GNI_CdmAttach(domain->cdm, 0, address, &domain->nic) : rc;
}

static int attach(struct wl_domain *domain, uint32_t entries, uint32_t modes)
{
    uint32_t address = 0;
    gni_return_t rc = attach_as(domain, modes | GNI_CDM_MODE_ERR_NO_KILL, &address);

    if (rc == GNI_RC_ERROR_RESOURCE) { /* more ranks on the node than FMA descriptors */
        GNI_CdmDestroy(domain->cdm);
        rc =
            attach_as(domain, modes | GNI_CDM_MODE_ERR_NO_KILL | GNI_CDM_MODE_FMA_SHARED, &address);
    }
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_CqCreate(domain->nic, entries, 0, GNI_CQ_NOBLOCK, NULL, NULL, &domain->tx);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_CqCreate(domain->nic, entries, 0, GNI_CQ_BLOCKING, NULL, NULL, &domain->rx);
    if (rc != GNI_RC_SUCCESS)
        return rank_fail(domain->rank, "cannot attach to the NIC: %s", wl_rc_name(rc));
    domain->addresses = rank_exchange(domain->rank, &address, sizeof(address));
    return domain->addresses != NULL ? 0 : -1;
}

int wl_domain_open(struct wl_domain *domain, struct rank *rank, uint32_t entries, uint32_t modes)
{
    memset(domain, 0, sizeof(*domain));
    domain->rank = rank;
    domain->id = rank_id(rank);
    domain->size = rank_size(rank);
    domain->done_tail = &domain->done;
    domain->peers = calloc(domain->size, sizeof(*domain->peers));
    if (domain->peers == NULL)
        return rank_fail(rank, "no memory for %u peers", domain->size);
    return attach(domain, entries, modes);
}

void wl_domain_close(struct wl_domain *domain)
{
    rank_count(domain->rank, "errors", domain->errors);
    if (domain->cdm != NULL)
        GNI_CdmDestroy(domain->cdm); /* with all that belongs to it */
    free(domain->peers);
}

void wl_domain_set_timeout(struct wl_domain *domain, uint64_t ps)
{
    domain->timeout = ps;
    domain->idle_alarms = 0;
    rank_alarm(domain->rank, ps);
}

/*
 * The alarm may have rung while this rank did not wait for an event, for instance in a barrier, so
 * only the second alarm in a row counts.
 */
int wl_domain_timed_out(struct wl_domain *domain)
{
    if (!rank_alarm_rang(domain->rank))
        return 0;
    if (domain->progress_count != domain->progress_before)
        domain->idle_alarms = 0;
    else if (++domain->idle_alarms >= 2)
        return 1;
    domain->progress_before = domain->progress_count;
    rank_alarm(domain->rank, domain->timeout);
    return 0;
}

int wl_domain_totals(struct wl_domain *domain, struct wl_totals *totals)
{
    const struct share {
        uint64_t present, errors, lost;
    } mine = {1, domain->errors, domain->lost}, *all;
    uint32_t i;

    memset(totals, 0, sizeof(*totals));
    all = rank_exchange(domain->rank, &mine, sizeof(mine));
    if (all == NULL)
        return -1;
    for (i = 0; i < domain->size; i++) {
        totals->errors += all[i].errors;
        totals->lost += all[i].lost;
        totals->dead += all[i].present == 0;
    }
    return 0;
}

int wl_domain_finish(struct wl_domain *domain, uint64_t missing)
{
    struct wl_totals totals;

    rank_count(domain->rank, "missing", missing);
    if (wl_domain_totals(domain, &totals) != 0)
        return -1;
    if (missing != 0 && totals.dead == 0 && totals.lost == 0)
        return rank_fail(domain->rank, "%llu are missing or wrong, and nobody was told why",
                         (unsigned long long)missing);
    if (totals.errors + totals.lost != 0 && !rank_has_faults(domain->rank))
        return rank_fail(domain->rank,
                         "%" PRIu64 " operations failed, and the scenario has no faults",
                         totals.errors + totals.lost);
    return 0;
}

gni_ep_handle_t wl_domain_ep(struct wl_domain *domain, uint32_t peer)
{
    gni_ep_handle_t ep;
    gni_return_t rc;

    assert(peer < domain->size);
    ep = domain->peers[peer].ep;
    if (ep != NULL)
        return ep;
    rc = GNI_EpCreate(domain->nic, domain->tx, &ep);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpBind(ep, domain->addresses[peer], peer);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpSetEventData(ep, peer, domain->id);
    if (rc != GNI_RC_SUCCESS) {
        rank_fail(domain->rank, "no endpoint to rank %u: %s", peer, wl_rc_name(rc));
        return NULL;
    }
    return domain->peers[peer].ep = ep;
}

uint32_t wl_pair_of(const struct wl_domain *domain)
{
    uint32_t half = domain->size / 2;

    if (domain->id >= 2 * half)
        return UINT32_MAX;
    return wl_pair_leads(domain) ? domain->id + half : domain->id - half;
}
