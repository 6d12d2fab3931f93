/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Findings: completions that nobody read, operations that ended without one, buffers that changed
 * too early, regions that were closed too early, and receives and messages that found no match.
 *
 * Of a buffer of up to WHOLE_MAX bytes all bytes are kept until the completion, so the finding
 * names the bytes that changed. Of a longer one a digest per block is kept, and it names blocks.
 */
#include "findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "av.h"
#include "cq_internal.h"
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "gni_prov/prov.h"
#include "port/list.h"
#include "match.h"
#include "mr.h"
#include "req.h"
#include "vc.h"

#define WHOLE_MAX (64u << 10)
#define BLOCK 4096u

enum rule {
    COMPLETION_UNREAD,
    COMPLETION_DROPPED,
    BUFFER_CHANGED,
    REGION_IN_USE,
    RECEIVE_UNMATCHED,
    MESSAGE_UNMATCHED,
    RULES
};

static const struct port_rule rules[RULES + 1] = {
    [COMPLETION_UNREAD] = {"libfabric.completion-unread",
                           "a rank ended or closed a completion queue without reading its entries",
                           PORT_FINDING_ERROR},
    [COMPLETION_DROPPED] =
        {"libfabric.completion-dropped",
         "a rank ended or closed an endpoint while operations of it were in flight, so they have "
         "no completions",
         PORT_FINDING_ERROR},
    [BUFFER_CHANGED] =
        {"libfabric.buffer-changed",
         "a program changed or released the buffer of a send or write before its completion",
         PORT_FINDING_ERROR},
    [REGION_IN_USE] = {"libfabric.region-in-use",
                       "a program closed a memory region that an operation in flight still used",
                       PORT_FINDING_ERROR},
    [RECEIVE_UNMATCHED] = {"libfabric.receive-unmatched",
                           "a rank ended or closed an endpoint with receives that no message came "
                           "for",
                           PORT_FINDING_COUNT},
    [MESSAGE_UNMATCHED] = {"libfabric.message-unmatched",
                           "a rank ended or closed an endpoint with messages that no receive took",
                           PORT_FINDING_COUNT},
};

const struct port_rule *gni_prov_rules(void)
{
    return rules;
}

/* ---- numbers of several kinds ---------------------------------------------------------------- */

enum kind { SENDS, RECEIVES, WRITES, READS, ATOMICS, REMOTE, ERRORS, KINDS };

/* "2 sends and 1 error" */
static void print(const uint32_t counts[KINDS], char *text, size_t size)
{
    static const char *const names[KINDS] = {"send",   "receive",       "write", "read",
                                             "atomic", "remote access", "error"};
    unsigned kind, left = 0;
    size_t used = 0;

    for (kind = 0; kind < KINDS; kind++)
        left += counts[kind] > 0;
    text[0] = '\0';
    for (kind = 0; kind < KINDS; kind++) {
        if (counts[kind] == 0)
            continue;
        used += (size_t)snprintf(text + used, used < size ? size - used : 0, "%s%" PRIu32 " %s%s",
                                 used == 0   ? ""
                                 : left == 1 ? " and "
                                             : ", ",
                                 counts[kind], names[kind],
                                 counts[kind] == 1 ? ""
                                 : kind == REMOTE  ? "es"
                                                   : "s");
        left--;
    }
}

static enum kind kind_of_entry(const struct gnip_cq_slot *slot)
{
    uint64_t flags = slot->entry.flags;

    if (slot->kind != GNIP_SLOT_ENTRY)
        return ERRORS;
    if (flags & FI_SEND)
        return SENDS;
    if (flags & FI_RECV)
        return RECEIVES;
    if (flags & FI_ATOMIC)
        return ATOMICS;
    if (flags & FI_WRITE)
        return WRITES;
    return flags & FI_READ ? READS : REMOTE;
}

/* ---- completion queues ----------------------------------------------------------------------- */

void gnip_findings_cq_closes(struct gnip_cq *cq)
{
    uint32_t counts[KINDS] = {0}, position;
    char text[160];

    counts[ERRORS] = cq->counted_errors;
    for (position = cq->head; position != cq->tail; position++)
        if (gnip_cq_slot_at(cq, position)->kind != GNIP_SLOT_HOLE)
            counts[kind_of_entry(gnip_cq_slot_at(cq, position))]++;
    print(counts, text, sizeof(text));
    if (text[0] != '\0')
        port_finding(&rules[COMPLETION_UNREAD],
                     "never read from completion queue %" PRIu32 ": completions of %s", cq->number,
                     text);
}

/* ---- endpoints ------------------------------------------------------------------------------- */

static enum kind kind_of_request(const struct gnip_req *req)
{
    static const uint8_t kinds[] = {
        [GNIP_REQ_SEND] = SENDS, [GNIP_REQ_RECV] = RECEIVES, [GNIP_REQ_WRITE] = WRITES,
        [GNIP_REQ_READ] = READS, [GNIP_REQ_AMO] = ATOMICS,   [GNIP_REQ_FETCH] = ATOMICS,
    };

    return kinds[req->kind];
}

static uint32_t count_messages(struct gnip_match *match)
{
    struct gnip_unexpected *message = NULL;
    uint32_t count = 0;

    while (match != NULL && (message = gnip_match_first(match, message)) != NULL)
        count++;
    return count;
}

void gnip_findings_ep_closes(struct gnip_ep *ep)
{
    uint32_t counts[KINDS] = {0}, place = 0, unmatched = 0, messages;
    const struct gnip_req *req;
    char text[160];

    while ((req = gnip_req_each(ep, &place)) != NULL) {
        if (req->posted || req->multi)
            unmatched++;
        else if (req->kind != GNIP_REQ_CONTROL && req->cq_reserved && (req->flags & FI_COMPLETION))
            counts[kind_of_request(req)]++;
    }
    print(counts, text, sizeof(text));
    if (text[0] != '\0')
        port_finding(&rules[COMPLETION_DROPPED], "an endpoint ended with %s in flight", text);
    if (unmatched > 0)
        port_finding(&rules[RECEIVE_UNMATCHED], "no message came for %" PRIu32 " posted receives",
                     unmatched);
    messages = count_messages(ep->tagged) + count_messages(ep->untagged);
    if (messages > 0)
        port_finding(&rules[MESSAGE_UNMATCHED],
                     "%" PRIu32 " messages arrived and were not received", messages);
}

/* The threads of the process have ended, perhaps while they held locks: none is taken. */
void gnip_findings_process_ends(void)
{
    struct gnip_ctx *ctx = gnip_ctx_current();
    struct port_link *at, *each;

    if (ctx == NULL)
        return;
    for (at = ctx->domains.next; at != &ctx->domains; at = at->next) {
        struct gnip_domain *domain = gnip_container(at, struct gnip_domain, ctx_link);

        for (each = domain->eps.next; each != &domain->eps; each = each->next)
            gnip_findings_ep_closes(gnip_container(each, struct gnip_ep, domain_link));
        for (each = domain->cqs.next; each != &domain->cqs; each = each->next)
            gnip_findings_cq_closes(gnip_container(each, struct gnip_cq, domain_link));
    }
}

/* ---- what a process waits for ---------------------------------------------------------------- */

struct awaited {
    const struct gnip_req *receive, *other; /* the oldest receive without a message; else */
    uint32_t receives, others;
};

static void note_operations(struct gnip_ep *ep, struct awaited *awaited)
{
    const struct gnip_req *req;
    uint32_t place = 0;

    while ((req = gnip_req_each(ep, &place)) != NULL) {
        if (req->kind == GNIP_REQ_RECV && req->posted) {
            awaited->receives++;
            if (awaited->receive == NULL || req->post.sequence < awaited->receive->post.sequence)
                awaited->receive = req;
        } else if (req->kind != GNIP_REQ_CONTROL && !req->multi && req->cq_reserved) {
            awaited->others++;
            if (awaited->other == NULL)
                awaited->other = req;
        }
    }
}

/* ", peer app.3", or nothing */
static void print_peer(const struct gnip_name *peer, char *text, size_t size)
{
    char name[64];

    port_peer_name(peer->device_addr, peer->cm_nic_cdm_id, name, sizeof(name));
    snprintf(text, size, ", peer %s", name);
}

/* The first message that came for the endpoint and that no receive takes. */
static void print_unmatched(const struct gnip_req *receive, char *text, size_t size)
{
    bool tagged = (receive->flags & FI_TAGGED) != 0;
    struct gnip_match *match = tagged ? receive->ep->tagged : receive->ep->untagged;
    uint32_t count = count_messages(match);
    const struct gnip_unexpected *first;

    text[0] = '\0';
    if (count == 0)
        return;
    first = gnip_match_first(match, NULL);
    if (tagged)
        snprintf(text, size,
                 " (%" PRIu32 " came that it does not match, the first with tag 0x%" PRIx64 ")",
                 count, first->tag);
    else
        snprintf(text, size, " (%" PRIu32 " came that it does not match)", count);
}

static void print_receive(const struct awaited *awaited, char *text, size_t size)
{
    const struct gnip_req *receive = awaited->receive;
    struct gnip_name peer;
    char tag[64] = "", unmatched[96], source[80] = " of any peer", more[48] = "";

    if (receive->flags & FI_TAGGED)
        snprintf(tag, sizeof(tag), " with tag 0x%" PRIx64, receive->post.tag);
    if (receive->post.source != FI_ADDR_UNSPEC && receive->ep->av != NULL &&
        gnip_av_find_unlocked(receive->ep->av, receive->post.source, &peer) == 0)
        print_peer(&peer, source, sizeof(source));
    if (awaited->receives > 1)
        snprintf(more, sizeof(more), ", first of %" PRIu32 " receives", awaited->receives);
    print_unmatched(receive, unmatched, sizeof(unmatched));
    snprintf(text, size, "a message%s%s%s%s", tag, source, unmatched, more);
}

static void print_other(const struct awaited *awaited, char *text, size_t size)
{
    static const char *const names[] = {
        [GNIP_REQ_SEND] = "send", [GNIP_REQ_RECV] = "receive", [GNIP_REQ_WRITE] = "write",
        [GNIP_REQ_READ] = "read", [GNIP_REQ_AMO] = "atomic",   [GNIP_REQ_FETCH] = "atomic",
    };
    const struct gnip_req *req = awaited->other;
    char peer[80] = "", more[48] = "";

    if (req->vc != NULL)
        print_peer(&req->vc->peer, peer, sizeof(peer));
    if (awaited->others > 1)
        snprintf(more, sizeof(more), ", first of %" PRIu32 " operations", awaited->others);
    snprintf(text, size, "the completion of a %s of %" PRIu64 " bytes%s%s", names[req->kind],
             req->bytes, peer, more);
}

void gnip_findings_process_waits(char *text, size_t size)
{
    struct gnip_ctx *ctx = gnip_ctx_current();
    struct awaited awaited = {NULL};
    struct port_link *at, *each;

    text[0] = '\0';
    if (ctx == NULL)
        return;
    for (at = ctx->domains.next; at != &ctx->domains; at = at->next) {
        struct gnip_domain *domain = gnip_container(at, struct gnip_domain, ctx_link);

        for (each = domain->eps.next; each != &domain->eps; each = each->next)
            note_operations(gnip_container(each, struct gnip_ep, domain_link), &awaited);
    }
    if (awaited.receive != NULL)
        print_receive(&awaited, text, size);
    else if (awaited.other != NULL)
        print_other(&awaited, text, size);
}

/* ---- memory regions -------------------------------------------------------------------------- */

void gnip_findings_mr_closes(const struct gnip_mr *mr)
{
    uint32_t uses = __atomic_load_n(&mr->uses, __ATOMIC_RELAXED);

    if (uses > 1)
        port_finding(&rules[REGION_IN_USE],
                     "closed a memory region of %" PRIu64 " bytes that %" PRIu32
                     " operation%s in flight still used",
                     mr->bytes, uses - 1, uses == 2 ? "" : "s");
}

/* ---- buffers --------------------------------------------------------------------------------- */

struct gnip_content {
    double since; /* microseconds */
    uint64_t kept; /* bytes at `bytes`, or blocks at `digests` */
    union {
        uint8_t bytes[1];
        uint64_t digests[1];
    };
};

static uint64_t digest(const uint8_t *bytes, uint64_t length)
{
    uint64_t sum = length, word, i;

    for (i = 0; i + sizeof(word) <= length; i += sizeof(word)) {
        memcpy(&word, bytes + i, sizeof(word));
        sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 29;
    }
    for (; i < length; i++)
        sum = (sum ^ bytes[i]) * 0x9e3779b97f4a7c15u;
    return sum;
}

/* Calls `visit` for each block of the buffers, with a copy of its bytes. False: it returned so. */
static bool each_block(const struct gnip_req *req, void *arg,
                       bool (*visit)(void *arg, uint64_t offset, const uint8_t *bytes,
                                     uint64_t length))
{
    uint64_t offset = 0, at, length;
    uint8_t block[BLOCK];
    unsigned i;

    for (i = 0; i < req->buffer_count; i++) {
        for (at = 0; at < req->buffers[i].bytes; at += length, offset += length) {
            length = req->buffers[i].bytes - at < BLOCK ? req->buffers[i].bytes - at : BLOCK;
            if (!port_copy(block, (const uint8_t *)req->buffers[i].address + at, length))
                return visit(arg, offset, NULL, length);
            if (!visit(arg, offset, block, length))
                return false;
        }
    }
    return true;
}

static bool is_whole(const struct gnip_req *req)
{
    return req->bytes <= WHOLE_MAX;
}

struct watching {
    const struct gnip_req *req;
    struct gnip_content *content;
};

static bool keep(void *arg, uint64_t offset, const uint8_t *bytes, uint64_t length)
{
    struct watching *watching = arg;
    struct gnip_content *content = watching->content;

    if (bytes == NULL)
        return false; /* it is not the application's memory; the operation will fail */
    if (is_whole(watching->req))
        memcpy(content->bytes + offset, bytes, length);
    else
        content->digests[content->kept++] = digest(bytes, length);
    return true;
}

void gnip_findings_watch(struct gnip_req *req)
{
    struct watching watching = {.req = req};
    uint64_t blocks = req->bytes / BLOCK + req->buffer_count;

    if (req->bytes == 0)
        return;
    watching.content = malloc(sizeof(*watching.content) +
                              (is_whole(req) ? req->bytes : blocks * sizeof(uint64_t)));
    if (watching.content == NULL)
        return;
    watching.content->since = port_finding_time();
    watching.content->kept = 0;
    if (!each_block(req, &watching, keep)) {
        free(watching.content);
        return;
    }
    req->content = watching.content;
    req->watched = true;
}

struct comparison {
    const struct gnip_req *req;
    uint64_t first, last, block; /* bytes that differ; last < first: none */
    bool released;
};

static bool compare(void *arg, uint64_t offset, const uint8_t *bytes, uint64_t length)
{
    struct comparison *comparison = arg;
    const struct gnip_content *content = comparison->req->content;
    uint64_t first = 0, last = length - 1;

    comparison->released = bytes == NULL;
    if (bytes == NULL)
        return false;
    if (is_whole(comparison->req)) {
        if (memcmp(content->bytes + offset, bytes, length) == 0)
            return true;
        while (content->bytes[offset + first] == bytes[first])
            first++;
        while (content->bytes[offset + last] == bytes[last])
            last--;
    } else if (content->digests[comparison->block++] == digest(bytes, length)) {
        return true;
    }
    if (comparison->first > comparison->last)
        comparison->first = offset + first;
    comparison->last = offset + last;
    return true;
}

void gnip_findings_compare(const struct gnip_req *req)
{
    struct comparison comparison = {.req = req, .first = UINT64_MAX};
    const char *name = req->kind == GNIP_REQ_WRITE ? "write"
                       : req->flags & FI_TAGGED    ? "tagged send"
                                                   : "send";
    char peer[64] = "its peer";

    each_block(req, &comparison, compare);
    if (!comparison.released && comparison.first > comparison.last)
        return;
    if (req->vc != NULL)
        port_peer_name(req->vc->peer.device_addr, req->vc->peer.cm_nic_cdm_id, peer, sizeof(peer));
    if (comparison.released)
        port_finding(&rules[BUFFER_CHANGED],
                     "released the buffer of a %s to %s (%" PRIu64
                     " bytes, called at %.2f µs) before its completion (%.2f µs)",
                     name, peer, req->bytes, req->content->since, port_finding_time());
    else
        port_finding(&rules[BUFFER_CHANGED],
                     "changed bytes %" PRIu64 "–%" PRIu64 " of the buffer of a %s to %s (%" PRIu64
                     " bytes) between the call (%.2f µs) and its completion (%.2f µs)",
                     comparison.first, comparison.last, name, peer, req->bytes, req->content->since,
                     port_finding_time());
}

void gnip_findings_unwatch(struct gnip_req *req)
{
    free(req->content);
    req->watched = false;
}
