/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams of a cm_nic. A datagram is an exchange: a bound one carries a message to its target.
 * There it meets a wildcard, which only accepts, or a bound one with a message in the other
 * direction. Between two instances there is one exchange at a time; further messages are tried
 * again later.
 */
#include <stdlib.h>

#include "cm_nic.h"
#include "ctx.h"
#include "datagram.h"
#include "domain.h"
#include "gnip.h"
#include "lock.h"
#include "nic.h"
#include "proto.h"
#include "req.h"
#include "port/list.h"

#define TRIES 10
#define AT_ONCE 64u /* datagrams that one poll collects */
#define CLOSE_NS 20000000ull /* for messages in flight when the cm_nic closes */
#define CANCEL_NS 1000000ull

struct gnip_datagram {
    struct port_link link; /* in the list of free or of failed ones */
    gni_ep_handle_t ep; /* NULL: not created so far */
    uint32_t id; /* counted from 1 */
    bool wildcard, active, bound;
    uint8_t tries;
    uint8_t bytes; /* bytes of `in` */
    uint32_t device_addr, cdm_id;
    uint8_t in[GNI_DATAGRAM_MAXSIZE];
    uint8_t out[GNI_DATAGRAM_MAXSIZE];
};

/* ---- one datagram ---------------------------------------------------------------------------- */

/* nic->lock is held. */
static gni_return_t post(struct gnip_cm_nic *cm_nic, struct gnip_datagram *datagram)
{
    gni_return_t rc = GNI_RC_SUCCESS;

    if (datagram->ep == NULL)
        rc = GNI_EpCreate(cm_nic->nic->gni, NULL, &datagram->ep);
    if (rc == GNI_RC_SUCCESS && !datagram->wildcard && !datagram->bound) {
        rc = GNI_EpBind(datagram->ep, datagram->device_addr, datagram->cdm_id);
        datagram->bound = rc == GNI_RC_SUCCESS;
    }
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpPostDataWId(datagram->ep, datagram->in, datagram->bytes, datagram->out,
                               sizeof(datagram->out), datagram->id);
    return rc;
}

/* 0, -FI_EAGAIN or an error. */
static int send(struct gnip_cm_nic *cm_nic, struct gnip_datagram *datagram)
{
    gni_return_t rc;

    memset(datagram->out, 0, sizeof(datagram->out));
    gnip_lock(&cm_nic->nic->lock);
    rc = post(cm_nic, datagram);
    if (rc != GNI_RC_SUCCESS && datagram->bound)
        datagram->bound = GNI_EpUnbind(datagram->ep) != GNI_RC_SUCCESS;
    gnip_unlock(&cm_nic->nic->lock);
    if (rc == GNI_RC_SUCCESS)
        return 0;
    if (rc == GNI_RC_ERROR_RESOURCE || rc == GNI_RC_ERROR_NOMEM || rc == GNI_RC_NOT_DONE)
        return -FI_EAGAIN;
    return -gnip_errno(rc);
}

/* Id 1 wakes the helper; the wildcards follow, then the bound datagrams. */
#define WAKE_ID 1u

static struct gnip_datagram *make(struct gnip_cm_nic *cm_nic, uint32_t id, bool wildcard)
{
    struct gnip_datagram *datagram = calloc(1, sizeof(*datagram));

    if (datagram == NULL)
        return NULL;
    datagram->id = id;
    datagram->wildcard = wildcard;
    cm_nic->datagrams[id - 1] = datagram;
    if (wildcard)
        cm_nic->wildcard_made++;
    else if (id != WAKE_ID)
        cm_nic->bound_made++;
    return datagram;
}

static struct gnip_datagram *get(struct gnip_cm_nic *cm_nic, bool wildcard)
{
    struct port_link *link;
    struct gnip_datagram *datagram = NULL;

    gnip_lock(&cm_nic->lock);
    link = port_list_pop(wildcard ? &cm_nic->free_wildcard : &cm_nic->free_bound);
    if (link != NULL)
        datagram = gnip_container(link, struct gnip_datagram, link);
    else if (wildcard && cm_nic->wildcard_made < cm_nic->wildcard_count)
        datagram = make(cm_nic, WAKE_ID + 1 + cm_nic->wildcard_made, true);
    else if (!wildcard && cm_nic->bound_made < cm_nic->bound_count)
        datagram = make(cm_nic, WAKE_ID + 1 + cm_nic->wildcard_count + cm_nic->bound_made, false);
    if (datagram != NULL) {
        datagram->active = true;
        datagram->tries = 0;
        cm_nic->datagrams_active += !wildcard;
    }
    gnip_unlock(&cm_nic->lock);
    return datagram;
}

static void put(struct gnip_cm_nic *cm_nic, struct gnip_datagram *datagram)
{
    gnip_lock(&cm_nic->lock);
    datagram->active = false;
    cm_nic->datagrams_active -= !datagram->wildcard;
    if (datagram->id != WAKE_ID)
        port_list_append(datagram->wildcard ? &cm_nic->free_wildcard : &cm_nic->free_bound,
                         &datagram->link);
    gnip_unlock(&cm_nic->lock);
}

/* Frees the target for the next datagram. */
static void unbind(struct gnip_cm_nic *cm_nic, struct gnip_datagram *datagram)
{
    gnip_lock(&cm_nic->nic->lock);
    if (datagram->bound && GNI_EpUnbind(datagram->ep) == GNI_RC_SUCCESS) {
        datagram->bound = false;
        /* cannot happen, as the datagram was consumed; a new endpoint is as good */
    } else if (datagram->bound) {
        GNI_EpDestroy(datagram->ep);
        datagram->ep = NULL;
        datagram->bound = false;
    }
    gnip_unlock(&cm_nic->nic->lock);
}

/* ---- posting --------------------------------------------------------------------------------- */

/* GNI would refuse a second one, too, but the call takes time. */
static bool in_flight(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id)
{
    uint32_t first = WAKE_ID + cm_nic->wildcard_count, i;
    bool found = false;

    gnip_lock(&cm_nic->lock);
    for (i = 0; i < cm_nic->bound_made && !found; i++) {
        const struct gnip_datagram *datagram = cm_nic->datagrams[first + i];

        found =
            datagram->active && datagram->device_addr == device_addr && datagram->cdm_id == cdm_id;
    }
    gnip_unlock(&cm_nic->lock);
    return found;
}

int gnip_datagram_post(struct gnip_cm_nic *cm_nic, uint32_t device_addr, uint32_t cdm_id,
                       const void *message, uint32_t bytes)
{
    struct gnip_datagram *datagram;
    int rc;

    if (in_flight(cm_nic, device_addr, cdm_id))
        return -FI_EAGAIN;
    datagram = get(cm_nic, false);
    if (datagram == NULL)
        return -FI_EAGAIN;
    datagram->device_addr = device_addr;
    datagram->cdm_id = cdm_id;
    datagram->in[0] = GNIP_DGRAM_MESSAGE;
    memcpy(&datagram->in[1], message, bytes);
    datagram->bytes = (uint8_t)(1 + bytes);
    rc = send(cm_nic, datagram);
    if (rc != 0)
        put(cm_nic, datagram);
    return rc;
}

/* Posts a wildcard. If that is not possible now, it is free. */
static bool accept_with(struct gnip_cm_nic *cm_nic, struct gnip_datagram *datagram)
{
    datagram->in[0] = GNIP_DGRAM_EMPTY;
    datagram->bytes = 1;
    if (send(cm_nic, datagram) == 0)
        return true;
    put(cm_nic, datagram);
    return false;
}

gnip_cold int gnip_datagram_accept(struct gnip_cm_nic *cm_nic)
{
    struct gnip_datagram *datagram;

    while ((datagram = get(cm_nic, true)) != NULL)
        if (!accept_with(cm_nic, datagram))
            return -FI_EAGAIN;
    return 0;
}

bool gnip_datagram_may_post(struct gnip_cm_nic *cm_nic)
{
    bool may;

    gnip_lock(&cm_nic->lock);
    may = !port_list_empty(&cm_nic->free_bound) || cm_nic->bound_made < cm_nic->bound_count;
    gnip_unlock(&cm_nic->lock);
    return may;
}

/*
 * A datagram to this instance completes with its own data, and does not reach any other instance.
 */
bool gnip_datagram_wake(struct gnip_cm_nic *cm_nic)
{
    struct gnip_datagram *datagram = cm_nic->datagrams[WAKE_ID - 1];
    bool mine;

    gnip_lock(&cm_nic->lock);
    mine = !datagram->active;
    datagram->active = true;
    cm_nic->datagrams_active += mine;
    gnip_unlock(&cm_nic->lock);
    if (!mine)
        return true; /* it is about to wake up */
    datagram->device_addr = cm_nic->name.device_addr;
    datagram->cdm_id = cm_nic->name.cdm_id;
    datagram->in[0] = GNIP_DGRAM_EMPTY;
    datagram->bytes = 1;
    if (send(cm_nic, datagram) == 0)
        return true;
    put(cm_nic, datagram);
    return false;
}

/* ---- completions ----------------------------------------------------------------------------- */

static gnip_cold struct gnip_datagram *find(const struct gnip_cm_nic *cm_nic, uint64_t id)
{
    uint64_t most = WAKE_ID + cm_nic->wildcard_count + cm_nic->bound_count;

    return id >= 1 && id <= most ? cm_nic->datagrams[id - 1] : NULL;
}

struct ended {
    struct gnip_datagram *datagram;
    gni_post_state_t state;
    uint32_t device_addr, cdm_id;
};

/* Collects the next datagram that has ended. False: there is none. */
static bool take_ended(struct gnip_cm_nic *cm_nic, struct ended *ended)
{
    struct gnip_nic *nic = cm_nic->nic;
    gni_return_t rc;
    uint64_t id;

    gnip_lock(&nic->lock);
    rc = GNI_PostDataProbeById(nic->gni, &id);
    if (rc == GNI_RC_SUCCESS) {
        ended->datagram = find(cm_nic, id);
        rc = GNI_RC_NO_MATCH;
        if (ended->datagram != NULL && ended->datagram->ep != NULL)
            rc = GNI_EpPostDataTestById(ended->datagram->ep, id, &ended->state, &ended->device_addr,
                                        &ended->cdm_id);
        if (rc == GNI_RC_SIZE_ERROR) { /* the datagram is consumed nevertheless */
            ended->state = GNI_POST_ERROR;
            rc = GNI_RC_SUCCESS;
        }
    }
    gnip_unlock(&nic->lock);
    /* NO_MATCH: another thread has collected it */
    return rc == GNI_RC_SUCCESS && ended->state != GNI_POST_PENDING &&
           ended->state != GNI_POST_REMOTE_DATA;
}

static void abandon(struct gnip_cm_nic *cm_nic, struct gnip_datagram *datagram, int error)
{
    uint8_t message[GNI_DATAGRAM_MAXSIZE];
    uint32_t bytes = datagram->bytes - 1u;

    memcpy(message, &datagram->in[1], bytes);
    cm_nic->ctx->counts.datagrams_failed++;
    put(cm_nic, datagram);
    if (bytes > 0)
        gnip_vc_cm_lost(cm_nic, message, bytes, error);
}

static gnip_cold void try_again(struct gnip_cm_nic *cm_nic, struct gnip_datagram *datagram)
{
    int rc = -FI_ECANCELED;

    if (!__atomic_load_n(&cm_nic->stop, __ATOMIC_RELAXED))
        rc = send(cm_nic, datagram);

    if (rc == -FI_EAGAIN) {
        gnip_lock(&cm_nic->lock);
        port_list_append(&cm_nic->failed, &datagram->link);
        gnip_unlock(&cm_nic->lock);
    } else if (rc != 0) {
        abandon(cm_nic, datagram, -rc);
    }
}

/* The datagrams that failed and could not be posted again at once. False: there is none. */
static bool retry_failed(struct gnip_cm_nic *cm_nic)
{
    struct port_link *link;
    uint32_t count = 0;

    if (gnip_likely(__atomic_load_n(&cm_nic->failed.next, __ATOMIC_RELAXED) == &cm_nic->failed))
        return false;
    gnip_lock(&cm_nic->lock);
    for (link = cm_nic->failed.next; link != &cm_nic->failed; link = link->next)
        count++; /* one that fails again goes to the end of the list */
    gnip_unlock(&cm_nic->lock);
    while (count-- > 0) {
        gnip_lock(&cm_nic->lock);
        link = port_list_pop(&cm_nic->failed);
        gnip_unlock(&cm_nic->lock);
        if (link == NULL)
            break;
        try_again(cm_nic, gnip_container(link, struct gnip_datagram, link));
    }
    return true;
}

static bool is_request(const struct gnip_datagram *datagram)
{
    return !datagram->wildcard && datagram->in[0] == GNIP_DGRAM_MESSAGE &&
           datagram->in[1] == GNIP_CONN_REQ;
}

/* A request for a domain that is quiescing: it is handled after the domain has resumed. */
static bool may_wait(const struct gnip_cm_nic *cm_nic, const struct gnip_datagram *datagram)
{
    return cm_nic->domain != NULL && cm_nic->domain->suspended && is_request(datagram);
}

void gnip_datagrams_recall(struct gnip_cm_nic *cm_nic)
{
    uint32_t i, count = WAKE_ID + cm_nic->wildcard_count + cm_nic->bound_count;

    for (i = 0; cm_nic->datagrams != NULL && i < count; i++) {
        struct gnip_datagram *datagram = cm_nic->datagrams[i];

        if (datagram == NULL || !datagram->active || !datagram->bound || !is_request(datagram))
            continue;
        gnip_lock(&cm_nic->nic->lock);
        GNI_EpPostDataCancelById(datagram->ep, datagram->id);
        gnip_unlock(&cm_nic->nic->lock);
    }
}

static void wait_with(struct gnip_cm_nic *cm_nic, struct gnip_datagram *datagram)
{
    uint8_t message[GNI_DATAGRAM_MAXSIZE];
    uint32_t bytes = datagram->bytes - 1u;

    memcpy(message, &datagram->in[1], bytes);
    put(cm_nic, datagram);
    gnip_vc_cm_unsent(cm_nic, message, bytes);
}

static gnip_cold void failed(struct gnip_cm_nic *cm_nic, struct gnip_datagram *datagram,
                             gni_post_state_t state)
{
    bool stop = __atomic_load_n(&cm_nic->stop, __ATOMIC_RELAXED);

    if (datagram->wildcard) {
        if (stop)
            put(cm_nic, datagram);
        else
            accept_with(cm_nic, datagram);
        return;
    }
    unbind(cm_nic, datagram);
    if (datagram->id == WAKE_ID)
        put(cm_nic, datagram);
    else if (may_wait(cm_nic, datagram))
        wait_with(cm_nic, datagram);
    else if (stop || ++datagram->tries == TRIES)
        abandon(cm_nic, datagram, state == GNI_POST_TIMEOUT ? FI_EHOSTDOWN : FI_EIO);
    else
        try_again(cm_nic, datagram);
}

static gnip_cold void completed(struct gnip_cm_nic *cm_nic, const struct ended *ended)
{
    struct gnip_datagram *datagram = ended->datagram;
    uint8_t message[GNI_DATAGRAM_MAXSIZE];

    memcpy(message, datagram->out, sizeof(message));
    if (!datagram->wildcard) {
        unbind(cm_nic, datagram);
        put(cm_nic, datagram);
    } else if (__atomic_load_n(&cm_nic->stop, __ATOMIC_RELAXED)) {
        put(cm_nic, datagram);
    } else {
        accept_with(cm_nic, datagram);
    }
    if (message[0] == GNIP_DGRAM_MESSAGE)
        gnip_cm_deliver(cm_nic, ended->device_addr, ended->cdm_id, &message[1]);
}

uint32_t gnip_datagram_poll(struct gnip_cm_nic *cm_nic, bool block, int milliseconds)
{
    uint32_t timeout = milliseconds < 0 ? UINT32_MAX : (uint32_t)milliseconds, count;
    struct ended ended;
    gni_return_t rc;
    uint64_t id;

    if (retry_failed(cm_nic) && timeout > cm_nic->nic->params.dgram_timeout)
        timeout = cm_nic->nic->params.dgram_timeout;
    if (block) {
        rc = GNI_PostdataProbeWaitById(cm_nic->nic->gni, timeout, &id);
        /* an unknown status must not cause an endless loop */
        if (rc != GNI_RC_SUCCESS && rc != GNI_RC_TIMEOUT)
            gnip_pause(cm_nic->nic->params.dgram_timeout * 1000000ull);
        if (rc != GNI_RC_SUCCESS)
            return 0;
    }
    for (count = 0; count < AT_ONCE && take_ended(cm_nic, &ended); count++) {
        if (ended.state == GNI_POST_COMPLETED)
            completed(cm_nic, &ended);
        else
            failed(cm_nic, ended.datagram, ended.state);
    }
    return count;
}

/* ---- opening and closing --------------------------------------------------------------------- */

int gnip_datagrams_open(struct gnip_cm_nic *cm_nic, uint32_t bound, uint32_t wildcard)
{
    port_list_init(&cm_nic->free_bound);
    port_list_init(&cm_nic->free_wildcard);
    port_list_init(&cm_nic->failed);
    cm_nic->bound_count = bound;
    cm_nic->wildcard_count = wildcard;
    cm_nic->datagrams = calloc(WAKE_ID + bound + wildcard, sizeof(struct gnip_datagram *));
    /* waking the helper must not fail for lack of memory, or it would not end */
    if (cm_nic->datagrams != NULL && make(cm_nic, WAKE_ID, false) != NULL)
        return 0;
    free(cm_nic->datagrams);
    cm_nic->datagrams = NULL;
    return -FI_ENOMEM;
}

static void cancel(struct gnip_cm_nic *cm_nic, bool wildcards)
{
    uint32_t i, count = WAKE_ID + cm_nic->wildcard_count + cm_nic->bound_count;
    struct gnip_datagram *datagram;

    for (i = 0; i < count; i++) {
        datagram = cm_nic->datagrams[i];
        if (datagram == NULL || !datagram->active || datagram->wildcard != wildcards ||
            port_linked(&datagram->link) || datagram->ep == NULL)
            continue;
        gnip_lock(&cm_nic->nic->lock);
        GNI_EpPostDataCancelById(datagram->ep, datagram->id);
        gnip_unlock(&cm_nic->nic->lock);
    }
}

/* Waits until no message is in flight or the time is over. */
static void drain(struct gnip_cm_nic *cm_nic, uint64_t nanoseconds)
{
    struct port_timer timer;

    if (cm_nic->datagrams_active == 0)
        return;
    port_timer_start(&timer, nanoseconds);
    while (cm_nic->datagrams_active > 0 && !port_timer_rang(&timer))
        if (gnip_datagram_poll(cm_nic, false, 0) == 0)
            port_idle(&timer, true);
    port_timer_stop(&timer);
}

static void collect_all(struct gnip_cm_nic *cm_nic)
{
    while (gnip_datagram_poll(cm_nic, false, 0) != 0)
        ;
}

void gnip_datagrams_free(struct gnip_cm_nic *cm_nic)
{
    uint32_t i, count = WAKE_ID + cm_nic->wildcard_count + cm_nic->bound_count;

    for (i = 0; cm_nic->datagrams != NULL && i < count; i++) {
        if (cm_nic->datagrams[i] != NULL && cm_nic->datagrams[i]->ep != NULL) {
            gnip_lock(&cm_nic->nic->lock);
            GNI_EpDestroy(cm_nic->datagrams[i]->ep);
            gnip_unlock(&cm_nic->nic->lock);
        }
        free(cm_nic->datagrams[i]);
    }
    free(cm_nic->datagrams);
    cm_nic->datagrams = NULL;
}

void gnip_datagrams_close(struct gnip_cm_nic *cm_nic)
{
    if (cm_nic->datagrams == NULL)
        return;
    /* Messages that have arrived get an answer, if only a refusal. */
    collect_all(cm_nic);
    cancel(cm_nic, true);
    collect_all(cm_nic);
    drain(cm_nic, CLOSE_NS);
    cancel(cm_nic, false);
    drain(cm_nic, CANCEL_NS);
    gnip_datagrams_free(cm_nic);
}
