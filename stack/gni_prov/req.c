/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests: their pool and ids, how they end, and the texts of errors.
 *
 * An id is a slot, counted from 1 (24 bits), and above it a generation, which changes with each use
 * of the slot. So a late answer to a request that has ended finds nothing.
 */
#include "bounce.h"
#include "cntr.h"
#include "cq.h"
#include "domain.h"
#include "ep.h"
#include "findings.h"
#include "gnip.h"
#include "queue.h"
#include "lock.h"
#include "message.h"
#include "mr.h"
#include "name.h"
#include "req.h"
#include "vc.h"
#include "waitable.h"
#include <stdlib.h>

#define CHUNK 8 /* requests that are allocated together */
#define SLOT_BITS 24
#define SLOT_MASK ((1u << SLOT_BITS) - 1)
#define OWN_MAX 256 /* for parts of multi-receive buffers */

/* ---- pool ------------------------------------------------------------------------------------ */

static gnip_cold bool grow(struct gnip_ep *ep)
{
    uint32_t chunks = ep->req_made / CHUNK, i;
    struct gnip_req **table, *chunk;

    if (ep->req_made + CHUNK > SLOT_MASK)
        return false;
    if ((chunks & (chunks - 1)) == 0) { /* the array is full at each power of two */
        table = realloc(ep->req_chunks, (chunks == 0 ? 1 : 2 * chunks) * sizeof(struct gnip_req *));
        if (table == NULL)
            return false;
        ep->req_chunks = table;
    }
    chunk = aligned_alloc(64, CHUNK * sizeof *chunk);
    if (chunk == NULL)
        return false;
    memset(chunk, 0, CHUNK * sizeof *chunk);
    for (i = CHUNK; i-- > 0;) {
        chunk[i].id = ep->req_made + i + 1;
        gnip_queue_prepend(&ep->req_free, &chunk[i].link);
    }
    ep->req_chunks[chunks] = chunk;
    ep->req_made += CHUNK;
    return true;
}

/*
 * The zeroed range begins and ends at cache lines: it contains the first buffer, but not the
 * others.
 */
#define HOT_BYTES 128u
_Static_assert(offsetof(struct gnip_req, link) == 64, "second line of a request");
/* Of the cold fields, zeroes those of a transfer. */
#define RMA_BYTES                                                           \
    (offsetof(struct gnip_req, u) + sizeof(((struct gnip_req *)0)->u.rma) - \
     offsetof(struct gnip_req, error))

static struct gnip_req *allocate(struct gnip_ep *ep, enum gnip_req_kind kind)
{
    struct gnip_qlink *link = gnip_queue_pop(&ep->req_free);
    struct gnip_req *req;
    uint32_t id;

    if (gnip_unlikely(link == NULL)) {
        if (!grow(ep))
            return NULL;
        link = gnip_queue_pop(&ep->req_free);
    }
    req = gnip_container(link, struct gnip_req, link);
    id = req->id;
    memset(&req->link, 0, HOT_BYTES);
    req->id = id;
    req->ep = ep;
    req->kind = (uint8_t)kind;
    if (kind == GNIP_REQ_WRITE || kind == GNIP_REQ_READ) {
        memset(&req->error, 0, RMA_BYTES);
        req->cold = true;
    } else if (kind != GNIP_REQ_SEND && kind != GNIP_REQ_RECV) {
        gnip_req_init_cold(req);
    }
    return req;
}

static uint32_t *limit_of(struct gnip_ep *ep, const struct gnip_req *req)
{
    if (req->child)
        return &ep->own_used;
    return req->kind == GNIP_REQ_RECV ? &ep->rx_used : &ep->tx_used;
}

static struct gnip_cq *cq_of(const struct gnip_req *req)
{
    return req->kind == GNIP_REQ_RECV ? req->ep->recv_cq : req->ep->send_cq;
}

struct gnip_req *gnip_req_get(struct gnip_ep *ep, enum gnip_req_kind kind, bool named)
{
    bool receives = kind == GNIP_REQ_RECV;
    struct gnip_cq *cq = receives ? ep->recv_cq : ep->send_cq;
    uint32_t *used = receives ? &ep->rx_used : &ep->tx_used;
    struct gnip_req *req;

    gnip_assert_held(&ep->lock);
    if (gnip_unlikely(*used >= (receives ? ep->rx_size : ep->tx_size)))
        return NULL;
    named = named && cq != NULL;
    if (named && gnip_unlikely(!gnip_cq_reserve(cq)))
        return NULL;
    req = allocate(ep, kind);
    if (gnip_unlikely(req == NULL)) {
        if (named)
            gnip_cq_unreserve(cq);
        return NULL;
    }
    req->cq_reserved = named;
    req->counted = true;
    ++*used;
    return req;
}

/*
 * Control messages have no limit: there is at most one for each message that the peer was allowed
 * to send, and a lost one would leave the peer waiting.
 */
struct gnip_req *gnip_req_get_own(struct gnip_ep *ep, enum gnip_req_kind kind)
{
    struct gnip_req *req;

    if (kind != GNIP_REQ_RECV)
        return allocate(ep, kind);
    if (ep->own_used >= OWN_MAX || (ep->recv_cq != NULL && !gnip_cq_reserve(ep->recv_cq)))
        return NULL;
    req = allocate(ep, kind);
    if (req == NULL) {
        if (ep->recv_cq != NULL)
            gnip_cq_unreserve(ep->recv_cq);
        return NULL;
    }
    req->cq_reserved = ep->recv_cq != NULL;
    req->child = req->counted = true;
    ep->own_used++;
    return req;
}

static void release_memory(struct gnip_req *req)
{
    unsigned i;

    for (i = 0; i < req->buffer_count; i++) {
        if (!req->buffers[i].own_mr)
            continue;
        req->buffers[i].own_mr = false;
        gnip_mr_release(req->buffers[i].mr);
    }
    if (!req->cold)
        return;
    if (req->kind == GNIP_REQ_SEND && req->u.send.gather != NULL)
        gnip_gather_put(req->ep, req->u.send.gather);
    if (req->kind == GNIP_REQ_RECV && req->u.recv.bounce != NULL)
        gnip_bounce_put(req->ep, req->u.recv.bounce);
}

void gnip_req_put(struct gnip_req *req)
{
    struct gnip_ep *ep = req->ep;

    assert(req->kind != GNIP_REQ_FREE);
    assert(!req->counted || *limit_of(ep, req) > 0);
    release_memory(req);
    if (gnip_unlikely(req->watched))
        gnip_findings_unwatch(req);
    if (gnip_unlikely(req->cq_reserved))
        gnip_cq_unreserve(cq_of(req));
    if (req->counted)
        --*limit_of(ep, req);
    req->kind = GNIP_REQ_FREE;
    req->id += 1u << SLOT_BITS;
    gnip_queue_prepend(&ep->req_free, &req->link);
    if (gnip_unlikely(ep->wants_room)) {
        ep->wants_room = false;
        gnip_waitable_signal(&ep->room);
    }
}

struct gnip_req *gnip_req_of_id(struct gnip_ep *ep, uint32_t id)
{
    uint32_t slot = (id & SLOT_MASK) - 1;
    struct gnip_req *req;

    if (slot >= ep->req_made)
        return NULL;
    req = &ep->req_chunks[slot / CHUNK][slot % CHUNK];
    return req->id == id && req->kind != GNIP_REQ_FREE ? req : NULL;
}

struct gnip_req *gnip_req_each(struct gnip_ep *ep, uint32_t *place)
{
    while (*place < ep->req_made) {
        struct gnip_req *req = &ep->req_chunks[*place / CHUNK][*place % CHUNK];

        ++*place;
        if (req->kind != GNIP_REQ_FREE)
            return req;
    }
    return NULL;
}

void gnip_req_pool_free(struct gnip_ep *ep)
{
    struct gnip_req *req;
    uint32_t place = 0, i;

    while ((req = gnip_req_each(ep, &place)) != NULL)
        gnip_req_put(req);
    for (i = 0; i < ep->req_made / CHUNK; i++)
        free(ep->req_chunks[i]);
    free(ep->req_chunks);
    ep->req_chunks = NULL;
    ep->req_made = 0;
    ep->req_free.head = ep->req_free.tail = NULL;
}

/* ---- completion ------------------------------------------------------------------------------ */

#define NOTIFY_FLAGS (FI_REMOTE_CQ_DATA | FI_MULTI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA)

static uint64_t notify_flags(const struct gnip_ep *ep, uint64_t flags)
{
    uint64_t keep = FI_REMOTE_CQ_DATA | FI_MULTI_RECV;

    if (!ep->notify_flags_only)
        return flags;
    return flags & (ep->rma_event ? NOTIFY_FLAGS : keep);
}

static struct gnip_cntr *cntr_of(const struct gnip_req *req)
{
    const struct gnip_ep *ep = req->ep;

    switch (req->kind) {
    case GNIP_REQ_SEND:
        return ep->send_cntr;
    case GNIP_REQ_RECV:
        return ep->recv_cntr;
    case GNIP_REQ_WRITE:
    case GNIP_REQ_AMO:
        return ep->write_cntr;
    case GNIP_REQ_READ:
    case GNIP_REQ_FETCH:
        return ep->read_cntr;
    default:
        return NULL;
    }
}

/*
 * A peek and a discarded message are no receives of data. The end of a multi-receive buffer counts
 * in libfabric's own provider. What ends while its EP closes has no entry.
 */
static bool counts(const struct gnip_req *req)
{
    return !(req->flags & (FI_PEEK | FI_DISCARD)) && !req->ep->closing &&
           !(gnip_unlikely(req->multi) && req->ep->domain->fabric->strict);
}

static void end(struct gnip_req *req)
{
    struct gnip_req *parent = gnip_unlikely(req->child) ? req->u.recv.parent : NULL;

    gnip_req_put(req);
    if (parent != NULL)
        gnip_mrecv_child_done(parent);
}

/* The error entry uses the reservation. */
static void add_error(struct gnip_req *req, const struct fi_cq_err_entry *entry)
{
    struct gnip_ep *ep = req->ep;
    struct gnip_cq *cq = cq_of(req);
    struct fi_cq_err_entry out = *entry;
    uint8_t name[GNIP_STRING_NAME];
    size_t bytes = 0;

    if (cq == NULL || ep->closing)
        return;
    if (!req->cq_reserved) {
        assert(!gnip_req_is_named(req->flags, req->context));
        gnip_warn(FI_LOG_CQ, "an injected operation has failed: %s", gnip_strerror(entry->err));
        gnip_cq_add_nameless(cq, entry->err);
        return;
    }
    req->cq_reserved = false;
    if (ep->source_err && req->vc != NULL) {
        bytes = gnip_name_bytes(ep->domain->addr_format);
        gnip_name_write(&req->vc->peer, ep->domain->addr_format, name);
    }
    out.flags = notify_flags(ep, out.flags);
    gnip_cq_add_error(cq, &out, bytes == 0 ? NULL : name, bytes);
}

/* The data has arrived, but only the name of the sender is known: the API wants an error entry. */
static gnip_cold void add_unknown_source(struct gnip_req *req,
                                         const struct fi_cq_tagged_entry *entry)
{
    struct fi_cq_err_entry error = {
        .op_context = entry->op_context,
        .flags = entry->flags,
        .len = entry->len,
        .buf = entry->buf,
        .data = entry->data,
        .tag = entry->tag,
        .err = FI_EADDRNOTAVAIL,
        .prov_errno = FI_EADDRNOTAVAIL,
    };

    add_error(req, &error);
}

void gnip_req_complete(struct gnip_req *req, const struct fi_cq_tagged_entry *entry,
                       fi_addr_t source)
{
    struct gnip_ep *ep = req->ep;
    struct fi_cq_tagged_entry reduced;

    gnip_assert_held(&ep->lock);
    assert(req->kind != GNIP_REQ_FREE && req->pending == 0);
    if (gnip_unlikely(req->watched))
        gnip_findings_compare(req);
    if (req->cq_reserved && (req->flags & FI_COMPLETION) && !ep->closing) {
        if (gnip_unlikely(ep->source_err && source == FI_ADDR_NOTAVAIL &&
                          req->kind == GNIP_REQ_RECV && req->vc != NULL)) {
            add_unknown_source(req, entry);
        } else {
            if (gnip_unlikely(ep->notify_flags_only)) {
                reduced = *entry;
                reduced.flags = notify_flags(ep, reduced.flags);
                entry = &reduced;
            }
            req->cq_reserved = false;
            gnip_cq_add(cq_of(req), entry, source);
        }
    }
    if (counts(req))
        gnip_cntr_add(cntr_of(req), 1);
    end(req);
}

gnip_cold void gnip_req_fail(struct gnip_req *req, const struct fi_cq_err_entry *entry)
{
    gnip_assert_held(&req->ep->lock);
    assert(req->kind != GNIP_REQ_FREE && entry->err > 0);
    add_error(req, entry);
    if (counts(req))
        gnip_cntr_add_error(cntr_of(req), 1);
    end(req);
}

uint64_t gnip_req_entry_flags(const struct gnip_req *req)
{
    uint64_t message = FI_MSG | (req->flags & FI_TAGGED);

    switch (req->kind) {
    case GNIP_REQ_SEND:
        return message | FI_SEND;
    case GNIP_REQ_RECV:
        return message | FI_RECV | (req->flags & (FI_PEEK | FI_CLAIM | FI_DISCARD));
    case GNIP_REQ_WRITE:
        return FI_RMA | FI_WRITE;
    case GNIP_REQ_READ:
        return FI_RMA | FI_READ;
    case GNIP_REQ_AMO:
        return FI_ATOMIC | FI_WRITE;
    case GNIP_REQ_FETCH:
        return FI_ATOMIC | FI_READ;
    default:
        return 0;
    }
}

/* Cancelled by the application, not failed because of GNI_ERR_INJECT_COUNT here or at the peer. */
static bool is_returned(const struct gnip_req *req)
{
    return req->injected == 0 && !(req->kind == GNIP_REQ_SEND && req->rendezvous);
}

gnip_cold void gnip_req_error(struct gnip_req *req, int error, int prov_errno)
{
    struct fi_cq_err_entry entry = {
        .op_context = req->context,
        .flags = gnip_req_entry_flags(req),
        .err = error,
        .prov_errno = prov_errno,
    };

    if (req->kind == GNIP_REQ_CONTROL) {
        gnip_req_put(req);
        return;
    }
    if (req->kind == GNIP_REQ_RECV) {
        entry.buf = req->buffer_count == 0 ? NULL : req->buffers[0].address;
        entry.tag = req->tag;
        entry.data = req->data;
    }
    if (error == FI_ECANCELED && is_returned(req)) { /* the entry reports what was returned */
        entry.buf = req->buffer_count == 0 ? NULL : req->buffers[0].address;
        entry.len = req->bytes;
    }
    gnip_req_fail(req, &entry);
}

gnip_cold void gnip_req_drop(struct gnip_req *req, int error)
{
    if (req->cold && req->dropped != NULL)
        req->dropped(req, error);
    else
        gnip_req_error(req, error, error);
}

uint32_t gnip_req_unanswered(struct gnip_vc *vc)
{
    struct gnip_ep *ep = vc->ep;
    uint32_t place = 0, credits = 0;
    struct gnip_req *req;

    gnip_assert_held(&ep->lock);
    while ((req = gnip_req_each(ep, &place)) != NULL)
        if (req->kind == GNIP_REQ_SEND && req->vc == vc && req->answer && !req->delivered)
            credits += req->cost;
    return credits;
}

void gnip_req_vc_lost(struct gnip_vc *vc, int error)
{
    struct gnip_ep *ep = vc->ep;
    struct gnip_req *req;
    uint32_t place = 0;

    gnip_assert_held(&ep->lock);
    while ((req = gnip_req_each(ep, &place)) != NULL) {
        if (req->kind != GNIP_REQ_SEND || req->vc != vc || !req->answer)
            continue;
        if (req->pending != 0) { /* it ends with its own event; an answered request has succeeded */
            req->failed_final = !req->delivered;
            continue;
        }
        gnip_vc_op_done(vc, true);
        if (ep->closing)
            gnip_req_put(req);
        else
            gnip_req_error(req, error, error);
    }
    gnip_unexpected_lost(vc);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* In libfabric's own provider it is that of a cancelled operation, and its tests wait for it. */
int gnip_req_injected_error(const struct gnip_req *req)
{
    return req->ep->domain->fabric->strict ? FI_EIO : FI_ECANCELED;
}

bool gnip_req_inject(struct gnip_req *req)
{
    const uint8_t decided = 0x80;
    int32_t count = req->ep->domain->params.error_inject;
    uint64_t failures;

    if (gnip_likely(count == 0))
        return false;
    if (!(req->injected & decided)) {
        failures = count > 0 ? (uint64_t)count : port_random() % (uint64_t)(-(int64_t)count);
        req->injected = (uint8_t)(decided | (failures > 0x7f ? 0x7f : failures));
    }
    if (req->injected == decided)
        return false;
    assert(req->injected > 0);
    req->injected--;
    return true;
}

int gnip_errno(gni_return_t rc)
{
    switch (rc) {
    case GNI_RC_SUCCESS:
        return 0;
    case GNI_RC_NOT_DONE:
        return FI_EAGAIN;
    case GNI_RC_INVALID_PARAM:
    case GNI_RC_ALIGNMENT_ERROR:
    case GNI_RC_NO_MATCH:
        return FI_EINVAL;
    case GNI_RC_ERROR_RESOURCE:
        return FI_EBUSY;
    case GNI_RC_TIMEOUT:
        return FI_ETIMEDOUT;
    case GNI_RC_PERMISSION_ERROR:
        return FI_EACCES;
    case GNI_RC_INVALID_STATE:
        return FI_EOPBADSTATE;
    case GNI_RC_SIZE_ERROR:
        return FI_ETOOSMALL;
    case GNI_RC_TRANSACTION_ERROR:
        return FI_ECANCELED;
    case GNI_RC_ILLEGAL_OP:
        return FI_EOPNOTSUPP;
    case GNI_RC_ERROR_NOMEM:
        return FI_ENOMEM;
    default:
        return FI_EOTHER;
    }
}

const char *gnip_strerror(int prov_errno)
{
    switch (prov_errno < 0 ? -prov_errno : prov_errno) {
    case 0:
        return "no error";
    case FI_EAGAIN:
        return "a GNI resource was used up for the moment";
    case FI_EINVAL:
        return "GNI refused a parameter, an alignment or an unknown address";
    case FI_EBUSY:
        return "a GNI resource is in use";
    case FI_ETIMEDOUT:
        return "a GNI call has timed out";
    case FI_EACCES:
        return "the memory may not be accessed that way";
    case FI_EOPBADSTATE:
        return "the GNI object was in the wrong state";
    case FI_ETOOSMALL:
        return "a size was wrong for GNI";
    case FI_ECANCELED:
        return "the operation was cancelled, or its GNI transaction failed";
    case FI_EOPNOTSUPP:
        return "the peer or this endpoint does not allow the operation";
    case FI_ENOMEM:
        return "no memory was left";
    case FI_EIO:
        return "the connection to the peer failed";
    case FI_EHOSTDOWN:
        return "the node of the peer is down";
    case FI_ENOTCONN:
        return "the connection was lost before the operation was sent";
    case FI_ETRUNC:
        return "the message was longer than the buffer";
    case FI_ENOMSG:
        return "no such message has come";
    case FI_EADDRNOTAVAIL:
        return "the sender is not in the address vector";
    case FI_EOTHER:
        return "an unknown GNI error";
    default:
        return fi_strerror(prov_errno < 0 ? -prov_errno : prov_errno);
    }
}
