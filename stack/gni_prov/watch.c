/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reports of the NIC besides completions: nodes that do not answer. Endpoints with an event queue
 * use them, because a connection may end for many reasons. No thread waits for reports; they are
 * read when a connection fails, and when one is made, so that the queue does not stay full.
 */
#include <aries/misc/exceptions.h>
#include <stdlib.h>

#include "ep.h"
#include "eq.h"
#include "gnip.h"
#include "lock.h"
#include "nic.h"
#include "vc.h"
#include "vc_internal.h"
#include "watch.h"

#define DEVICE 0
#define REPORTS 1024u /* entries of the queue; further reports are dropped */
#define SILENT 8u /* nodes that are remembered */

struct gnip_watch {
    gni_err_handle_t errors; /* NULL: no subscription */
    uint32_t silent[SILENT]; /* newest first */
    uint32_t count;
};

static void subscribe(struct gnip_nic *nic, struct gnip_watch *watch)
{
    if (GNI_SubscribeErrors(nic->gni, DEVICE, GNI_ERRMASK_TRANSIENT, REPORTS, &watch->errors) !=
        GNI_RC_SUCCESS)
        watch->errors = NULL; /* connections end without a reason in that case */
}

void gnip_watch_begin(struct gnip_nic *nic)
{
    gnip_lock(&nic->lock);
    if (nic->watch == NULL)
        nic->watch = calloc(1, sizeof(*nic->watch));
    if (nic->watch != NULL && nic->watch->errors == NULL)
        subscribe(nic, nic->watch);
    gnip_unlock(&nic->lock);
}

void gnip_watch_suspend(struct gnip_nic *nic)
{
    if (nic->watch == NULL || nic->watch->errors == NULL)
        return;
    GNI_ReleaseErrors(nic->watch->errors);
    nic->watch->errors = NULL;
}

void gnip_watch_end(struct gnip_nic *nic)
{
    free(nic->watch);
    nic->watch = NULL;
}

static void note(struct gnip_watch *watch, uint32_t device_addr)
{
    uint32_t at = 0;

    while (at < watch->count && watch->silent[at] != device_addr)
        at++;
    if (at == SILENT)
        at--; /* the oldest one is dropped */
    else if (at == watch->count)
        watch->count++;
    memmove(&watch->silent[1], watch->silent, at * sizeof(*watch->silent));
    watch->silent[0] = device_addr;
}

static void read_reports(struct gnip_watch *watch)
{
    gni_error_event_t event;

    while (watch->errors != NULL && GNI_GetErrorEvent(watch->errors, &event) == GNI_RC_SUCCESS)
        if (event.error_code == A_STATUS_ORB_TIMEOUT)
            note(watch, (uint32_t)event.info_mmrs[0]);
}

static void forget(struct gnip_watch *watch, uint32_t at)
{
    assert(watch->count > 0);
    watch->count--;
    memmove(&watch->silent[at], &watch->silent[at + 1],
            (watch->count - at) * sizeof(*watch->silent));
}

/* Reads the reports that have come about nodes. */
static bool was_silent(struct gnip_nic *nic, uint32_t device_addr)
{
    struct gnip_watch *watch = nic->watch;
    uint32_t at = 0;
    bool found;

    gnip_lock(&nic->lock);
    read_reports(watch);
    while (at < watch->count && watch->silent[at] != device_addr)
        at++;
    found = at < watch->count;
    if (found)
        forget(watch, at);
    gnip_unlock(&nic->lock);
    return found;
}

void gnip_watch_connected(struct gnip_vc *vc)
{
    gnip_assert_held(&vc->ep->lock);
    if (gnip_unlikely(vc->nic->watch != NULL))
        was_silent(vc->nic, vc->peer.device_addr); /* the node answers now */
}

void gnip_watch_failed(struct gnip_vc *vc, int error)
{
    struct gnip_ep *ep = vc->ep;
    struct fi_eq_err_entry entry = {.fid = &ep->fid.fid,
                                    .context = ep->fid.fid.context,
                                    .err = FI_EHOSTDOWN,
                                    .prov_errno = FI_EHOSTDOWN};
    bool down = error == FI_EHOSTDOWN;

    gnip_assert_held(&vc->ep->lock);
    if (ep->eq == NULL || ep->closing)
        return;
    if (error == FI_EIO && vc->nic->watch != NULL)
        down = was_silent(vc->nic, vc->peer.device_addr);
    if (down)
        gnip_eq_add_error(ep->eq, &entry, &vc->peer, sizeof(vc->peer));
}
