/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests at a passive endpoint.
 *
 *   first fragment → ARRIVING → (all here, room in the backlog) OFFERED → fi_accept: gone
 *                                                                       → fi_reject: REJECTED
 * A request that does not fit into the backlog is forgotten: the peer repeats it.
 */
#include <stdlib.h>

#include "cm_nic.h"
#include "ctx.h"
#include "domain.h"
#include "gnip.h"
#include "msg_cm.h"
#include "name.h"
#include "pep.h"
#include "proto.h"
#include "port/list.h"

#define BACKLOG 5
#define ARRIVING_MAX 64
#define ARRIVING_NS 5000000000ull
#define RECENT 128u

struct gnip_msg_listener {
    uint32_t offered, arriving;
    bool closing;
    /* Requests that have ended; when their messages are repeated, they are only acknowledged. */
    struct recent {
        uint32_t device_addr, cm_cdm, connection, incarnation;
    } recent[RECENT];
    uint32_t recent_next;
};

static bool same(const struct gnip_msg_ends *ends, uint32_t incarnation,
                 const struct gnip_msg_ends *other, uint32_t other_incarnation)
{
    return ends->device_addr == other->device_addr && ends->cm_cdm == other->cm_cdm &&
           ends->connection == other->connection && incarnation == other_incarnation;
}

static bool dealt_with(const struct gnip_msg_listener *listener, const struct gnip_msg_ends *ends,
                       uint32_t incarnation)
{
    uint32_t i;

    for (i = 0; i < RECENT; i++) {
        const struct recent *recent = &listener->recent[i];

        if (recent->device_addr == ends->device_addr && recent->cm_cdm == ends->cm_cdm &&
            recent->connection == ends->connection && recent->incarnation == incarnation)
            return true;
    }
    return false;
}

/* ---- requests; fabric->msg_lock is held ------------------------------------------------------ */

static struct gnip_msg_request *request_of(struct port_link *link)
{
    return gnip_container(link, struct gnip_msg_request, link);
}

struct gnip_msg_request *gnip_msg_request_find(struct gnip_fabric *fabric, const struct fid *handle)
{
    struct port_link *link;

    for (link = fabric->msg_requests.next; link != &fabric->msg_requests; link = link->next)
        if (&request_of(link)->handle == handle)
            return request_of(link)->state == GNIP_REQUEST_OFFERED ? request_of(link) : NULL;
    return NULL;
}

static struct gnip_msg_request *find(struct gnip_pep *pep, const struct gnip_msg_ends *ends,
                                     uint32_t incarnation)
{
    struct port_link *all = &pep->fabric->msg_requests, *link;

    for (link = all->next; link != all; link = link->next)
        if (request_of(link)->pep == pep &&
            same(&request_of(link)->ends, request_of(link)->incarnation, ends, incarnation))
            return request_of(link);
    return NULL;
}

static void leave_state(struct gnip_msg_request *request)
{
    if (request->state == GNIP_REQUEST_ARRIVING) {
        assert(request->pep->listener->arriving > 0);
        request->pep->listener->arriving--;
        port_timer_stop(&request->timer);
    } else if (request->state == GNIP_REQUEST_OFFERED) {
        assert(request->pep->listener->offered > 0);
        request->pep->listener->offered--;
    }
}

static void request_free(struct gnip_msg_request *request)
{
    leave_state(request);
    if (request->owner != NULL)
        gnip_msg_request_gone(request->owner);
    port_list_remove(&request->link);
    gnip_msg_out_free(request->out);
    free(request);
}

/* The request has ended, and the peer knows: remembers it for late messages. */
static void finish(struct gnip_msg_request *request)
{
    struct gnip_msg_listener *listener = request->pep->listener;

    listener->recent[listener->recent_next++ % RECENT] =
        (struct recent){request->ends.device_addr, request->ends.cm_cdm, request->ends.connection,
                        request->incarnation};
    request_free(request);
}

void gnip_msg_request_taken(struct gnip_msg_request *request)
{
    finish(request);
}

static struct gnip_msg_request *request_new(struct gnip_pep *pep, const struct gnip_msg_ends *ends,
                                            uint32_t incarnation)
{
    struct gnip_msg_listener *listener = pep->listener;
    struct gnip_msg_request *request;

    if (listener->offered >= BACKLOG || listener->arriving >= ARRIVING_MAX)
        return NULL;
    request = calloc(1, sizeof(*request));
    if (request == NULL)
        return NULL;
    request->handle.fclass = FI_CLASS_CONNREQ;
    request->pep = pep;
    request->state = GNIP_REQUEST_ARRIVING;
    request->ends = *ends;
    request->incarnation = incarnation;
    port_timer_start(&request->timer, ARRIVING_NS);
    listener->arriving++;
    port_list_append(&pep->fabric->msg_requests, &request->link);
    gnip_cm_work_add(pep->cm_nic, &pep->cm_nic->msg->work);
    return request;
}

/* ---- offering -------------------------------------------------------------------------------- */

static int set_name(void **address, size_t *bytes, uint32_t format, const struct gnip_name *name)
{
    void *written = malloc(gnip_name_bytes(format));

    if (written == NULL)
        return -FI_ENOMEM;
    gnip_name_write(name, format, written);
    free(*address);
    *address = written;
    *bytes = gnip_name_bytes(format);
    return 0;
}

/* The fi_info to open an endpoint for this request with; the application frees it. */
static struct fi_info *describe(struct gnip_msg_request *request)
{
    struct gnip_pep *pep = request->pep;
    struct fi_info *info = fi_dupinfo(pep->info);
    struct gnip_name name = pep->cm_nic->name;

    if (info == NULL)
        return NULL;
    name.name_type = GNIP_UNBOUND; /* the EP's own address is not the listener's */
    name.cdm_id = name.cm_nic_cdm_id = 0;
    if (set_name(&info->src_addr, &info->src_addrlen, info->addr_format, &name) != 0)
        goto no_memory;
    name.device_addr = request->ends.device_addr;
    name.cdm_id = request->ends.target_cdm;
    name.cm_nic_cdm_id = request->ends.cm_cdm;
    if (set_name(&info->dest_addr, &info->dest_addrlen, info->addr_format, &name) != 0)
        goto no_memory;
    info->handle = &request->handle;
    if (info->ep_attr != NULL) {
        info->ep_attr->type = FI_EP_MSG;
        if (info->ep_attr->max_msg_size > request->in.head.message_max)
            info->ep_attr->max_msg_size = request->in.head.message_max;
    }
    return info;

no_memory:
    fi_freeinfo(info);
    return NULL;
}

/* False: not possible. */
static bool offer(struct gnip_msg_request *request)
{
    struct gnip_pep *pep = request->pep;
    struct fi_info *info = describe(request);

    if (info == NULL)
        return false;
    leave_state(request);
    request->state = GNIP_REQUEST_OFFERED;
    pep->listener->offered++;
    if (gnip_msg_event(pep->eq, FI_CONNREQ, &pep->fid.fid, info, request->in.data,
                       request->in.data_bytes) == 0)
        return true;
    fi_freeinfo(info);
    return false;
}

static void acknowledge(struct gnip_msg_request *request)
{
    request->ack_due =
        !gnip_msg_ack(request->pep->cm_nic, &request->ends, (enum gnip_cm_type)GNIP_CM_CONNREQ);
    if (request->ack_due)
        gnip_cm_work_add(request->pep->cm_nic, &request->pep->cm_nic->msg->work);
}

static void arrived(struct gnip_pep *pep, const struct gnip_msg_ends *ends,
                    const struct gnip_cm_message *header, const uint8_t *payload)
{
    struct gnip_msg_request *request = find(pep, ends, header->incarnation);

    if (request == NULL) {
        if (dealt_with(pep->listener, ends, header->incarnation)) {
            gnip_msg_ack(pep->cm_nic, ends, GNIP_CM_CONNREQ);
            return;
        }
        request = pep->listener->closing ? NULL : request_new(pep, ends, header->incarnation);
        if (request == NULL)
            return;
    }
    if (request->state != GNIP_REQUEST_ARRIVING)
        acknowledge(request);
    else if (!gnip_msg_in_add(&request->in, header, payload))
        return;
    else if (pep->listener->offered < BACKLOG && offer(request))
        acknowledge(request);
    else
        request_free(request);
}

void gnip_msg_listen_receive(struct gnip_msg_cm *msg, const struct gnip_cm_message *header,
                             const uint8_t *payload, uint32_t device_addr, uint32_t cdm_id)
{
    struct gnip_pep *pep = msg->pep;
    struct gnip_msg_ends ends = {.device_addr = device_addr,
                                 .cm_cdm = cdm_id,
                                 .target_cdm = header->source_cdm,
                                 .source_cdm = header->target_cdm,
                                 .connection = header->connection,
                                 .incarnation = msg->cm_nic->ctx->incarnation,
                                 .active = false};
    struct gnip_msg_request *request;

    if (!header->active || header->target_cdm != msg->cm_nic->name.cdm_id)
        return;
    port_mutex_lock(&pep->fabric->msg_lock);
    switch (header->type) {
    case GNIP_CM_CONNREQ:
        arrived(pep, &ends, header, payload);
        break;
    case GNIP_CM_DATA:
        if (header->reason == GNIP_CM_CONNREQ)
            arrived(pep, &ends, header, payload);
        break;
    case GNIP_CM_ACK:
    case GNIP_CM_SHUTDOWN: /* the peer has given up */
        request = find(pep, &ends, header->incarnation);
        if (request != NULL && request->state == GNIP_REQUEST_REJECTED &&
            (header->type == GNIP_CM_SHUTDOWN || header->reason == GNIP_CM_REJECT))
            finish(request);
        else if (request != NULL && request->state == GNIP_REQUEST_ARRIVING &&
                 header->type == GNIP_CM_SHUTDOWN)
            request_free(request);
        if (header->type == GNIP_CM_SHUTDOWN)
            gnip_msg_ack(msg->cm_nic, &ends, GNIP_CM_SHUTDOWN);
        break;
    default:
        break;
    }
    port_mutex_unlock(&pep->fabric->msg_lock);
}

/* ---- rejecting, repeating, closing ----------------------------------------------------------- */

static void reject(struct gnip_msg_request *request, struct gnip_msg_out *out)
{
    struct gnip_cm_nic *cm_nic = request->pep->cm_nic;

    if (request->owner != NULL)
        gnip_msg_request_gone(request->owner);
    request->owner = NULL;
    leave_state(request);
    request->state = GNIP_REQUEST_REJECTED;
    request->out = out;
    gnip_msg_out_push(cm_nic, &request->ends, out);
    gnip_cm_work_add(cm_nic, &cm_nic->msg->work);
}

int gnip_msg_reject(struct gnip_pep *pep, const struct fid *handle, const void *data, size_t bytes)
{
    struct gnip_msg_request *request;
    struct gnip_msg_out *out;
    int rc = 0;

    port_mutex_lock(&pep->fabric->msg_lock);
    request = gnip_msg_request_find(pep->fabric, handle);
    if (request == NULL || request->pep != pep) {
        rc = -FI_EINVAL;
    } else {
        out = gnip_msg_out_new(GNIP_CM_REJECT, NULL, data, bytes);
        if (out == NULL)
            rc = -FI_ENOMEM;
        else
            reject(request, out);
    }
    port_mutex_unlock(&pep->fabric->msg_lock);
    return rc;
}

bool gnip_msg_listen_progress(struct gnip_msg_cm *msg)
{
    struct gnip_fabric *fabric = msg->pep->fabric;
    struct port_link *link, *next;
    bool more = false;

    port_mutex_lock(&fabric->msg_lock);
    for (link = fabric->msg_requests.next; link != &fabric->msg_requests; link = next) {
        struct gnip_msg_request *request = request_of(link);

        next = link->next;
        if (request->pep != msg->pep)
            continue;
        if (request->state == GNIP_REQUEST_ARRIVING && port_timer_rang(&request->timer)) {
            request_free(request);
            continue;
        }
        if (request->ack_due)
            acknowledge(request);
        if (request->state == GNIP_REQUEST_REJECTED &&
            gnip_msg_out_push(msg->cm_nic, &request->ends, request->out) != 0) {
            finish(request);
            continue;
        }
        more |= request->ack_due || request->state != GNIP_REQUEST_OFFERED;
    }
    port_mutex_unlock(&fabric->msg_lock);
    return more;
}

int gnip_msg_listener_open(struct gnip_pep *pep)
{
    struct gnip_msg_cm *msg;

    pep->listener = calloc(1, sizeof(*pep->listener));
    if (pep->listener == NULL)
        return -FI_ENOMEM;
    msg = gnip_msg_cm_get(pep->cm_nic);
    if (msg == NULL) {
        free(pep->listener);
        pep->listener = NULL;
        return -FI_ENOMEM;
    }
    msg->pep = pep;
    return 0;
}

void gnip_msg_listener_close(struct gnip_pep *pep)
{
    struct port_link *all = &pep->fabric->msg_requests, *link, *next;

    port_mutex_lock(&pep->fabric->msg_lock);
    pep->listener->closing = true;
    for (link = all->next; link != all; link = next) {
        struct gnip_msg_request *request = request_of(link);
        struct gnip_msg_out *out = NULL;

        next = link->next;
        if (request->pep != pep)
            continue;
        if (request->state == GNIP_REQUEST_OFFERED)
            out = gnip_msg_out_new(GNIP_CM_REJECT, NULL, NULL, 0);
        if (out != NULL)
            reject(request, out);
        else if (request->state != GNIP_REQUEST_REJECTED)
            request_free(request);
    }
    port_mutex_unlock(&pep->fabric->msg_lock);
}

void gnip_msg_listener_free(struct gnip_pep *pep)
{
    struct port_link *all = &pep->fabric->msg_requests, *link, *next;

    port_mutex_lock(&pep->fabric->msg_lock);
    for (link = all->next; link != all; link = next) {
        next = link->next;
        if (request_of(link)->pep == pep)
            request_free(request_of(link));
    }
    port_mutex_unlock(&pep->fabric->msg_lock);
    free(pep->listener);
    pep->listener = NULL;
}
