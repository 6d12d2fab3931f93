/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_getinfo: what the provider offers, restricted to what fits an application's hints. */
#include <stdlib.h>

#include "ctx.h"
#include "gnip.h"
#include "info.h"
#include "name.h"
#include "rdma/fi_ext_gni.h"

#define PROTOCOL_VERSION 1
#define CONTEXTS_MAX 128
#define TX_SIZE 500
#define TX_SIZE_MAX 2048
#define RX_SIZE 500
#define RX_SIZE_MAX 65536
#define QUEUES_UNKNOWN 1024
#define MR_ALL (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

#define CAPS_PRIMARY                                                                           \
    (FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMICS | FI_DIRECTED_RECV | FI_NAMED_RX_CTX | FI_READ | \
     FI_WRITE | FI_SEND | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define CAPS_FREE (FI_MULTI_RECV | FI_TRIGGER | FI_FENCE | FI_LOCAL_COMM | FI_REMOTE_COMM)
#define CAPS_COSTLY (FI_SOURCE | FI_RMA_EVENT | FI_SOURCE_ERR)
#define CAPS_ALL (CAPS_PRIMARY | CAPS_FREE | CAPS_COSTLY)
#define CAPS_DOMAIN (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define DIRECTIONS (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define OP_FLAGS                                                                             \
    (FI_INJECT | FI_MULTI_RECV | FI_COMPLETION | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
     FI_DELIVERY_COMPLETE)

/* A request, and what is found out about it once for all types of endpoints. */
struct request {
    uint32_t version;
    uint64_t flags;
    const struct fi_info *hints; /* may be NULL, and so may its members */
    struct gnip_place place;
    uint32_t addr_format;
    uint64_t caps, mode;
    int mr_mode;
    bool has_source, has_destination;
    struct gnip_name source, destination;
};

static bool old(const struct request *request)
{
    return FI_VERSION_LT(request->version, FI_VERSION(1, 5));
}

/* ---- hints ----------------------------------------------------------------------------------- */

static bool named(const char *hint, const char *name)
{
    return hint == NULL || strcmp(hint, name) == 0;
}

static bool key_bytes_fit(size_t bytes)
{
    return bytes == 0 || bytes == sizeof(struct fi_gni_auth_key);
}

static bool contexts_fit(size_t count, bool shared_too)
{
    return count <= CONTEXTS_MAX || (shared_too && count == FI_SHARED_CONTEXT);
}

static bool ep_fits(const struct fi_ep_attr *ep)
{
    return ep == NULL || ((ep->protocol == FI_PROTO_UNSPEC || ep->protocol == FI_PROTO_GNI) &&
                          ep->max_msg_size <= GNIP_MESSAGE_MAX && ep->max_order_raw_size == 0 &&
                          ep->max_order_war_size == 0 && ep->max_order_waw_size == 0 &&
                          contexts_fit(ep->tx_ctx_cnt, true) &&
                          contexts_fit(ep->rx_ctx_cnt, false) && key_bytes_fit(ep->auth_key_size));
}

static bool threading_known(enum fi_threading threading)
{
    switch (threading) {
    case FI_THREAD_UNSPEC:
    case FI_THREAD_SAFE:
    case FI_THREAD_FID:
    case FI_THREAD_DOMAIN:
    case FI_THREAD_COMPLETION:
    case FI_THREAD_ENDPOINT:
        return true;
    default:
        return false;
    }
}

static bool progress_known(enum fi_progress progress)
{
    return progress == FI_PROGRESS_UNSPEC || progress == FI_PROGRESS_AUTO ||
           progress == FI_PROGRESS_MANUAL;
}

/* The numbers of queues and counters that one process may have. */
static size_t queue_count(const struct request *request)
{
    return request->place.cqs >= 2 ? (size_t)(request->place.cqs / 2) : QUEUES_UNKNOWN;
}

static bool domain_fits(const struct request *request, const struct fi_domain_attr *domain)
{
    return domain == NULL ||
           (named(domain->name, GNIP_DOMAIN_NAME) && threading_known(domain->threading) &&
            progress_known(domain->control_progress) && progress_known(domain->data_progress) &&
            (domain->av_type == FI_AV_UNSPEC || domain->av_type == FI_AV_MAP ||
             domain->av_type == FI_AV_TABLE) &&
            domain->mr_key_size <= sizeof(uint64_t) && domain->cq_data_size <= sizeof(uint64_t) &&
            (old(request) ||
             (domain->cntr_cnt <= queue_count(request) && domain->mr_iov_limit <= 1 &&
              (domain->caps & ~CAPS_DOMAIN) == 0 && key_bytes_fit(domain->auth_key_size))));
}

bool gnip_tx_attr_fits(const struct fi_tx_attr *tx)
{
    return tx == NULL || ((tx->caps & ~CAPS_ALL) == 0 && (tx->op_flags & ~OP_FLAGS) == 0 &&
                          (tx->msg_order & ~FI_ORDER_SAS) == 0 &&
                          (tx->comp_order & (FI_ORDER_STRICT | FI_ORDER_DATA)) == 0 &&
                          tx->inject_size <= GNIP_INJECT && tx->size <= TX_SIZE_MAX &&
                          tx->iov_limit <= GNIP_IOV && tx->rma_iov_limit <= 1);
}

bool gnip_rx_attr_fits(const struct fi_rx_attr *rx)
{
    return rx == NULL || ((rx->caps & ~CAPS_ALL) == 0 && (rx->op_flags & ~OP_FLAGS) == 0 &&
                          (rx->msg_order & ~FI_ORDER_SAS) == 0 &&
                          (rx->comp_order & (FI_ORDER_STRICT | FI_ORDER_DATA)) == 0 &&
                          rx->size <= RX_SIZE_MAX && rx->iov_limit <= GNIP_IOV);
}

static bool wants_target(uint64_t caps)
{
    return (caps & (FI_RMA | FI_ATOMICS)) != 0 &&
           ((caps & (FI_REMOTE_READ | FI_REMOTE_WRITE)) != 0 || (caps & DIRECTIONS) == 0);
}

/* Peers cannot access the memory of this side: the capabilities name only what is possible. */
static uint64_t without_target(uint64_t caps)
{
    if ((caps & (FI_RMA | FI_ATOMICS)) != 0 && (caps & DIRECTIONS) == 0)
        caps |= FI_READ | FI_WRITE;
    return caps & ~(FI_REMOTE_READ | FI_REMOTE_WRITE);
}

/* The registration mode. Removes capabilities that are not possible with it. */
static bool mr_mode_fits(struct request *request)
{
    const struct fi_domain_attr *domain =
        request->hints != NULL ? request->hints->domain_attr : NULL;
    int wanted = domain != NULL ? domain->mr_mode : 0;

    if (old(request)) {
        request->mr_mode = FI_MR_BASIC;
        return wanted == FI_MR_UNSPEC || wanted == FI_MR_BASIC;
    }
    if (domain == NULL) {
        request->mr_mode = MR_ALL;
        return true;
    }
    if ((wanted & (FI_MR_BASIC | FI_MR_SCALABLE)) != 0) {
        request->mr_mode = FI_MR_BASIC;
        return wanted == FI_MR_BASIC;
    }
    if ((wanted & MR_ALL) == MR_ALL) {
        request->mr_mode = MR_ALL;
        return true;
    }
    if ((wanted & FI_MR_MMU_NOTIFY) != 0) {
        request->mr_mode = FI_MR_MMU_NOTIFY;
        return true;
    }
    request->mr_mode = 0;
    if (wanted != 0 && wants_target(request->hints->caps))
        return false;
    request->caps = without_target(request->caps);
    return true;
}

/* Everything but the endpoint's type. */
static bool hints_fit(struct request *request)
{
    const struct fi_info *hints = request->hints;

    request->caps = CAPS_ALL;
    request->addr_format = FI_ADDR_GNI;
    if (hints == NULL)
        return mr_mode_fits(request);
    if ((hints->caps & ~CAPS_ALL) != 0)
        return false;
    if (hints->caps != 0)
        request->caps = hints->caps | CAPS_FREE;
    /*
     * Modes that an application offers may stay set, except for FI_RX_CQ_DATA: it would post a
     * receive for each entry of remote CQ data, and nothing here would use these receives.
     */
    request->mode =
        hints->mode & ~(FI_MSG_PREFIX | FI_ASYNC_IOV | FI_RX_CQ_DATA | FI_BUFFERED_RECV);
    if (old(request))
        request->mode &= ~FI_NOTIFY_FLAGS_ONLY;
    if (hints->addr_format == FI_ADDR_STR)
        request->addr_format = FI_ADDR_STR;
    else if (hints->addr_format != FI_FORMAT_UNSPEC && hints->addr_format != FI_ADDR_GNI)
        return false;
    if (hints->fabric_attr != NULL && !named(hints->fabric_attr->name, GNIP_NAME))
        return false;
    return ep_fits(hints->ep_attr) && domain_fits(request, hints->domain_attr) &&
           gnip_tx_attr_fits(hints->tx_attr) && gnip_rx_attr_fits(hints->rx_attr) &&
           mr_mode_fits(request);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static int name_from_hints(const struct request *request, const void *address, size_t bytes,
                           struct gnip_name *name, bool *has)
{
    if (address == NULL)
        return 0;
    if (request->addr_format == FI_ADDR_STR
            ? strnlen(address, bytes) == bytes /* it may be shorter than the text that we write */
            : bytes < sizeof(struct gnip_name))
        return -FI_EINVAL;
    *has = true;
    return gnip_name_read(name, request->addr_format, address);
}

static int find_addresses(struct request *request, const char *node, const char *service)
{
    const struct fi_info *hints = request->hints;
    bool here = (request->flags & FI_SOURCE) != 0;
    int rc;

    if (node != NULL || service != NULL) {
        rc = gnip_name_resolve(request->addr_format, node, service,
                               here ? &request->source : &request->destination);
        if (rc != 0)
            return rc;
        *(here ? &request->has_source : &request->has_destination) = true;
    }
    if (hints != NULL && !request->has_destination) {
        rc = name_from_hints(request, hints->dest_addr, hints->dest_addrlen, &request->destination,
                             &request->has_destination);
        if (rc != 0)
            return rc;
    }
    if (hints != NULL && !request->has_source) {
        rc = name_from_hints(request, hints->src_addr, hints->src_addrlen, &request->source,
                             &request->has_source);
        if (rc != 0)
            return rc;
    }
    if (request->has_source)
        return 0;
    /* The address of the NIC: an endpoint there gets an id when it is opened. */
    request->source.name_type = GNIP_UNBOUND;
    request->source.device_addr = request->place.nic_address;
    request->source.cookie = request->place.cookie;
    return 0;
}

static bool put_name(const struct request *request, const struct gnip_name *name, void **address)
{
    *address = malloc(gnip_name_bytes(request->addr_format));
    if (*address == NULL)
        return false;
    gnip_name_write(name, request->addr_format, *address);
    return true;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static bool copy_key(const uint8_t *from, size_t bytes, uint8_t **to, size_t *to_bytes)
{
    if (from == NULL || bytes == 0)
        return true;
    *to = malloc(bytes);
    if (*to == NULL)
        return false;
    memcpy(*to, from, bytes);
    *to_bytes = bytes;
    return true;
}

static bool fill_ep(struct fi_ep_attr *ep, const struct fi_ep_attr *hint, enum fi_ep_type type)
{
    ep->type = type;
    ep->protocol = FI_PROTO_GNI;
    ep->protocol_version = PROTOCOL_VERSION;
    ep->max_msg_size = GNIP_MESSAGE_MAX;
    ep->mem_tag_format = GNIP_TAG_FORMAT;
    ep->tx_ctx_cnt = hint != NULL && hint->tx_ctx_cnt != 0 ? hint->tx_ctx_cnt : 1;
    ep->rx_ctx_cnt = hint != NULL && hint->rx_ctx_cnt != 0 ? hint->rx_ctx_cnt : 1;
    return hint == NULL ||
           copy_key(hint->auth_key, hint->auth_key_size, &ep->auth_key, &ep->auth_key_size);
}

static bool fill_domain(const struct request *request, struct fi_domain_attr *domain,
                        const struct fi_domain_attr *hint)
{
    domain->name = strdup(GNIP_DOMAIN_NAME);
    domain->threading = FI_THREAD_SAFE;
    domain->control_progress = FI_PROGRESS_AUTO;
    domain->data_progress = FI_PROGRESS_AUTO;
    domain->resource_mgmt = FI_RM_ENABLED;
    domain->av_type = FI_AV_UNSPEC;
    if (hint != NULL) {
        if (hint->threading != FI_THREAD_UNSPEC)
            domain->threading = hint->threading;
        if (hint->control_progress != FI_PROGRESS_UNSPEC)
            domain->control_progress = hint->control_progress;
        if (hint->data_progress != FI_PROGRESS_UNSPEC)
            domain->data_progress = hint->data_progress;
        domain->av_type = hint->av_type;
    }
    domain->mr_mode = request->mr_mode;
    domain->mr_key_size = sizeof(uint64_t);
    domain->cq_data_size = sizeof(uint64_t);
    domain->cq_cnt = domain->cntr_cnt = queue_count(request);
    domain->ep_cnt = SIZE_MAX;
    /* One NIC is used for connection messages. */
    domain->tx_ctx_cnt = request->place.nics > 1 ? request->place.nics - 1 : 1;
    domain->rx_ctx_cnt = request->place.nics;
    domain->max_ep_tx_ctx = domain->max_ep_rx_ctx = CONTEXTS_MAX;
    domain->max_ep_stx_ctx = CONTEXTS_MAX;
    domain->mr_iov_limit = 1;
    domain->caps = CAPS_DOMAIN;
    domain->mr_cnt = 65535;
    domain->max_err_data = GNIP_CM_DATA_MAX; /* data of a rejection */
    return domain->name != NULL &&
           (hint == NULL || copy_key(hint->auth_key, hint->auth_key_size, &domain->auth_key,
                                     &domain->auth_key_size));
}

static void fill_tx(const struct request *request, struct fi_tx_attr *tx,
                    const struct fi_tx_attr *hint)
{
    tx->caps = request->caps & ~(FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE);
    tx->mode = request->mode;
    tx->msg_order = FI_ORDER_SAS;
    tx->comp_order = FI_ORDER_NONE;
    tx->inject_size = GNIP_INJECT;
    tx->size = TX_SIZE;
    tx->iov_limit = GNIP_IOV;
    tx->rma_iov_limit = 1;
    if (hint == NULL)
        return;
    tx->op_flags = hint->op_flags;
    if (hint->size != 0)
        tx->size = hint->size;
}

static void fill_rx(const struct request *request, struct fi_rx_attr *rx,
                    const struct fi_rx_attr *hint)
{
    rx->caps = request->caps & ~(FI_SEND | FI_READ | FI_WRITE);
    rx->mode = request->mode;
    rx->msg_order = FI_ORDER_SAS;
    rx->comp_order = FI_ORDER_NONE;
    rx->size = RX_SIZE;
    rx->iov_limit = GNIP_IOV;
    if (hint == NULL)
        return;
    rx->op_flags = hint->op_flags;
    if (hint->size != 0)
        rx->size = hint->size;
}

static struct fi_info *new_info(const struct request *request, enum fi_ep_type type)
{
    const struct fi_info *hints = request->hints;
    struct fi_info *info = fi_allocinfo();

    if (info == NULL)
        return NULL;
    info->caps = request->caps;
    info->mode = request->mode;
    info->addr_format = request->addr_format;
    info->src_addrlen = info->dest_addrlen = gnip_name_bytes(request->addr_format);
    info->handle = hints != NULL ? hints->handle : NULL;
    fill_tx(request, info->tx_attr, hints != NULL ? hints->tx_attr : NULL);
    fill_rx(request, info->rx_attr, hints != NULL ? hints->rx_attr : NULL);
    info->fabric_attr->name = strdup(GNIP_NAME);
    info->fabric_attr->prov_version = GNIP_VERSION;
    info->fabric_attr->api_version = request->version;
    if (info->fabric_attr->name == NULL ||
        !fill_ep(info->ep_attr, hints != NULL ? hints->ep_attr : NULL, type) ||
        !fill_domain(request, info->domain_attr, hints != NULL ? hints->domain_attr : NULL) ||
        !put_name(request, &request->source, &info->src_addr) ||
        (request->has_destination && !put_name(request, &request->destination, &info->dest_addr))) {
        fi_freeinfo(info);
        return NULL;
    }
    return info;
}

int gnip_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                 const struct fi_info *hints, struct fi_info **info)
{
    PORT_CALL("fi_getinfo");
    static const enum fi_ep_type types[] = {FI_EP_RDM, FI_EP_DGRAM, FI_EP_MSG};
    enum fi_ep_type wanted =
        hints != NULL && hints->ep_attr != NULL ? hints->ep_attr->type : FI_EP_UNSPEC;
    struct request request = {.version = version, .flags = flags, .hints = hints};
    bool no_memory = false;
    struct fi_info **end = info;
    size_t i;

    *info = NULL;
    if (gnip_place_find(&request.place) != 0 || !hints_fit(&request) ||
        find_addresses(&request, node, service) != 0)
        return -FI_ENODATA;
    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (wanted != FI_EP_UNSPEC && wanted != types[i])
            continue;
        *end = new_info(&request, types[i]);
        if (*end != NULL)
            end = &(*end)->next;
        else
            no_memory = true;
    }
    if (*info == NULL)
        return no_memory ? -FI_ENOMEM : -FI_ENODATA;
    return 0;
}
