/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The receiving part that all messages share: which receive gets a message, where its bytes go, how
 * it completes, and the store of messages that arrived before their receive.
 */
#include "ep.h"
#include "gnip.h"
#include "queue.h"
#include "match.h"
#include "message.h"
#include "proto.h"
#include "req.h"
#include "rx_window.h"
#include "vc.h"
#include <stdlib.h>

/* ---- matching and completion ----------------------------------------------------------------- */

struct gnip_req *gnip_recv_match(struct gnip_vc *vc, bool tagged, uint64_t tag, uint64_t bytes)
{
    struct gnip_ep *ep = vc->ep;
    struct gnip_match *match = tagged ? ep->tagged : ep->untagged;
    struct gnip_post *post;
    struct gnip_req *req, *child;

    if (gnip_unlikely(!tagged && ep->mrecv_stalled) && !gnip_mrecv_retry(ep))
        return NULL; /* it must not overtake those that wait */
    post = gnip_match_arrived(match, tag, ep->directed ? gnip_vc_source(vc) : FI_ADDR_UNSPEC);
    if (post == NULL)
        return NULL;
    req = gnip_req_of_post(post);
    if (gnip_unlikely(req->multi)) {
        child = gnip_mrecv_child(req, bytes);
        if (child == NULL) {
            ep->mrecv_stalled = true;
            gnip_vc_schedule(vc);
        }
        return child;
    }
    gnip_match_unpost(match, post);
    req->posted = false;
    return req;
}

gnip_noinline void gnip_recv_copy(struct gnip_req *recv, const void *data, uint64_t bytes)
{
    const uint8_t *from = data;
    uint64_t part;
    unsigned i;

    for (i = 0; i < recv->buffer_count && bytes > 0; i++) {
        part = recv->buffers[i].bytes < bytes ? recv->buffers[i].bytes : bytes;
        if (part == 0)
            continue;
        memcpy(recv->buffers[i].address, from, part);
        from += part;
        bytes -= part;
    }
}

void gnip_recv_done(struct gnip_req *recv, uint64_t bytes, uint16_t wire_flags)
{
    struct gnip_ep *ep = recv->ep;
    bool tagged = (recv->flags & FI_TAGGED) != 0, data = (wire_flags & GNIP_W_CQ_DATA) != 0;
    struct fi_cq_tagged_entry entry = {
        .op_context = recv->context,
        .flags = FI_MSG | FI_RECV | (recv->flags & (FI_TAGGED | FI_CLAIM)) |
                 (data ? FI_REMOTE_CQ_DATA : 0),
        .len = bytes,
        .buf = recv->child ? recv->buffers[0].address : NULL,
        .data = data ? recv->data : 0,
        .tag = tagged ? recv->tag : 0,
    };
    struct fi_cq_err_entry error;
    fi_addr_t source = FI_ADDR_NOTAVAIL;

    if (gnip_likely(bytes <= recv->bytes)) {
        if (ep->source)
            source = recv->vc != NULL ? gnip_vc_source(recv->vc) : recv->post.source;
        gnip_req_complete(recv, &entry, source);
        return;
    }
    error = (struct fi_cq_err_entry){
        .op_context = entry.op_context,
        .flags = entry.flags,
        .len = recv->bytes,
        .buf = recv->buffer_count == 0 ? NULL : recv->buffers[0].address,
        .data = entry.data,
        .tag = entry.tag,
        .olen = bytes - recv->bytes,
        .err = FI_ETRUNC,
        .prov_errno = FI_ETRUNC,
    };
    gnip_req_fail(recv, &error);
}

/* ---- unexpected messages --------------------------------------------------------------------- */

#define SMALL 512 /* bytes of a pooled message with its payload */
#define CHUNK 16

struct gnip_unexpected_chunk {
    struct gnip_unexpected_chunk *next;
    uint8_t messages[CHUNK][SMALL] __attribute__((aligned(16)));
};
_Static_assert(sizeof(struct gnip_unexpected) + sizeof(struct gnip_segment) <= SMALL, "");

static bool grow(struct gnip_ep *ep)
{
    struct gnip_unexpected_chunk *chunk = malloc(sizeof *chunk);
    unsigned i;

    if (chunk == NULL)
        return false;
    chunk->next = ep->unexpected_chunks;
    ep->unexpected_chunks = chunk;
    for (i = 0; i < CHUNK; i++)
        gnip_queue_append(&ep->unexpected_free, (struct gnip_qlink *)(void *)chunk->messages[i]);
    return true;
}

/* Predicts the memory of the next one: the last one freed, or one that was never used. */
static inline void fetch_next(const struct gnip_ep *ep)
{
    const char *at = (const char *)ep->unexpected_free.head;

    __builtin_prefetch(at, 1);
    __builtin_prefetch(at + 64, 1);
    __builtin_prefetch(at + 128, 1);
}

gnip_noinline struct gnip_unexpected *gnip_unexpected_new(struct gnip_ep *ep, uint64_t bytes)
{
    bool pooled = sizeof(struct gnip_unexpected) + bytes <= SMALL;
    struct gnip_unexpected *message;

    if (pooled) {
        if (gnip_queue_empty(&ep->unexpected_free) && !grow(ep))
            return NULL;
        message = (void *)gnip_queue_pop(&ep->unexpected_free);
        fetch_next(ep);
    } else {
        message = malloc(sizeof *message + bytes);
        if (message == NULL)
            return NULL;
    }
    memset(message, 0, sizeof *message);
    message->pooled = pooled;
    return message;
}

void gnip_unexpected_free(struct gnip_ep *ep, struct gnip_unexpected *message)
{
    if (message->pooled)
        gnip_queue_prepend(&ep->unexpected_free, (struct gnip_qlink *)(void *)message);
    else
        free(message);
}

static struct gnip_match *store_of(struct gnip_ep *ep, const struct gnip_unexpected *message)
{
    return message->wire_flags & GNIP_W_TAGGED ? ep->tagged : ep->untagged;
}

gnip_noinline void gnip_unexpected_keep(struct gnip_vc *vc, struct gnip_unexpected *message)
{
    struct gnip_ep *ep = vc->ep;

    message->vc = vc;
    message->source = ep->directed || ep->source ? gnip_vc_source(vc) : FI_ADDR_NOTAVAIL;
    gnip_match_keep(store_of(ep, message), message);
    gnip_rx_window_kept(vc, message->credits);
}

static void leave(struct gnip_ep *ep, struct gnip_unexpected *message)
{
    gnip_match_forget(store_of(ep, message), message);
    if (message->vc != NULL)
        gnip_rx_window_return(message->vc, message->credits);
}

gnip_noinline void gnip_unexpected_receive(struct gnip_req *recv, struct gnip_unexpected *message)
{
    struct gnip_ep *ep = recv->ep;
    uint16_t flags = message->wire_flags;

    if (message->vc != NULL)
        gnip_vc_fetch(message->vc);
    __builtin_prefetch(message + 1);
    leave(ep, message);
    recv->vc = message->vc;
    recv->post.source = message->source; /* in case the VC is gone then */
    if (message->rendezvous && message->lost) {
        gnip_req_error(recv, FI_EIO, FI_EIO);
    } else if (message->rendezvous) {
        gnip_rndzv_receive(recv, message->vc, message);
    } else {
        if (message->lost)
            flags &= (uint16_t)~GNIP_W_DELIVERY;
        gnip_eager_receive(recv, message->vc, message->payload, message->bytes, message->tag,
                           message->data, flags, message->request);
    }
    gnip_unexpected_free(ep, message);
}

void gnip_unexpected_discard(struct gnip_ep *ep, struct gnip_unexpected *message)
{
    leave(ep, message);
    if (!message->lost && message->rendezvous)
        gnip_fin_send(message->vc, message->request, 0);
    else if (!message->lost && (message->wire_flags & GNIP_W_DELIVERY))
        gnip_eager_ack(message->vc, message->request);
    gnip_unexpected_free(ep, message);
}

static void lost(struct gnip_ep *ep, struct gnip_match *match, const struct gnip_vc *vc)
{
    struct gnip_unexpected *message, *next;

    if (match == NULL)
        return;
    for (message = gnip_match_first(match, NULL); message != NULL; message = next) {
        next = gnip_match_first(match, message);
        if (message->vc != vc)
            continue;
        message->lost = true;
        if (!message->rendezvous || message->claimed)
            continue;
        /* Its data will never come, and the receiver has not seen the message. */
        leave(ep, message);
        gnip_unexpected_free(ep, message);
    }
}

void gnip_unexpected_lost(struct gnip_vc *vc)
{
    lost(vc->ep, vc->ep->tagged, vc);
    lost(vc->ep, vc->ep->untagged, vc);
}

static void detach(struct gnip_match *match, struct gnip_vc *vc)
{
    struct gnip_unexpected *message = NULL;

    while (match != NULL && (message = gnip_match_first(match, message)) != NULL) {
        if (message->vc != vc)
            continue;
        message->source = gnip_vc_source(vc);
        gnip_rx_window_return(vc, message->credits);
        message->lost = true;
        message->vc = NULL;
    }
}

void gnip_unexpected_detach(struct gnip_vc *vc)
{
    detach(vc->ep->tagged, vc);
    detach(vc->ep->untagged, vc);
}

static void empty(struct gnip_ep *ep, struct gnip_match *match)
{
    struct gnip_unexpected *message;

    while (match != NULL && (message = gnip_match_first(match, NULL)) != NULL) {
        gnip_match_forget(match, message);
        gnip_unexpected_free(ep, message);
    }
}

void gnip_unexpected_free_all(struct gnip_ep *ep)
{
    struct gnip_unexpected_chunk *chunk;

    empty(ep, ep->tagged);
    empty(ep, ep->untagged);
    while ((chunk = ep->unexpected_chunks) != NULL) {
        ep->unexpected_chunks = chunk->next;
        free(chunk);
    }
    ep->unexpected_free.head = ep->unexpected_free.tail = NULL;
}
