/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One-sided operations, which are posted again after recoverable errors. */
#include "gni.h"

/* Limits of repeating an operation that fails. */
#define FAILING_MAX_PS (14 * 1000000000000ull)
#define TRIES_MAX 100u

static gni_return_t post(struct wl_operation *operation)
{
    gni_post_descriptor_t *desc = &operation->desc;

    switch (desc->type) {
    case GNI_POST_RDMA_PUT:
    case GNI_POST_RDMA_GET:
        return GNI_PostRdma(operation->ep, desc);
    case GNI_POST_CQWRITE:
        return GNI_PostCqWrite(operation->ep, desc);
    default:
        return GNI_PostFma(operation->ep, desc);
    }
}

static void append_done(struct wl_domain *domain, struct wl_operation *operation)
{
    domain->progress_count++;
    operation->next = NULL;
    *domain->done_tail = operation;
    domain->done_tail = &operation->next;
}

/* The peer of an operation; NULL: the endpoint is not one of the domain's. */
static struct wl_peer *peer_of(struct wl_domain *domain, const struct wl_operation *operation,
                               gni_cq_entry_t event)
{
    uint32_t peer = (uint32_t)GNI_CQ_GET_INST_ID(event);

    return peer < domain->size && domain->peers[peer].ep == operation->ep ? &domain->peers[peer]
                                                                          : NULL;
}

/*
 * Posts an operation again if it may succeed. Gives up an operation that fails too often, and a
 * peer with which nothing succeeds for too long.
 */
static int repeat(struct wl_domain *domain, struct wl_operation *operation, gni_cq_entry_t event)
{
    struct wl_peer *peer = peer_of(domain, operation, event);
    uint64_t now = rank_now(),
             *since = peer != NULL ? &peer->failing_since : &operation->failed_first;
    uint32_t recoverable = 0;

    GNI_CqErrorRecoverable(event, &recoverable);
    if (!recoverable || (peer != NULL && peer->lost))
        return 0;
    if (*since == 0)
        *since = now;
    if (++operation->tries <= TRIES_MAX && now - *since < FAILING_MAX_PS)
        return post(operation) == GNI_RC_SUCCESS;
    if (peer != NULL) {
        peer->lost = 1;
        domain->gone++;
    }
    return 0;
}

static int is_given_up(const struct wl_domain *domain, gni_ep_handle_t ep)
{
    uint32_t i;

    for (i = 0; i < domain->size && domain->gone != 0; i++)
        if (domain->peers[i].ep == ep)
            return domain->peers[i].lost;
    return 0;
}

static void note_success(struct wl_domain *domain, const struct wl_operation *operation,
                         gni_cq_entry_t event)
{
    struct wl_peer *peer = domain->errors != 0 ? peer_of(domain, operation, event) : NULL;

    if (peer != NULL)
        peer->failing_since = 0;
}

/* Handles the event of an operation. False: it was posted again, or the event is of another kind.
 */
static int collect(struct wl_domain *domain, gni_cq_entry_t event)
{
    gni_post_descriptor_t *desc = NULL;
    gni_return_t rc = GNI_GetCompleted(domain->tx, event, &desc);
    struct wl_operation *operation = (struct wl_operation *)desc;

    if (operation == NULL)
        return 0;
    if (rc == GNI_RC_TRANSACTION_ERROR) {
        domain->errors++;
        if (repeat(domain, operation, event)) {
            domain->repeats++;
            return 0;
        }
        domain->lost++;
        operation->failed = 1;
    } else {
        note_success(domain, operation, event);
    }
    operation->overran = GNI_CQ_REM_OVERRUN(event) != 0;
    domain->in_flight--;
    append_done(domain, operation);
    return 1;
}

/* Handles the completion of a message. */
static void sent(struct wl_domain *domain, gni_cq_entry_t event)
{
    uint32_t peer = (uint32_t)GNI_CQ_GET_MSG_ID(event);

    domain->in_flight--;
    domain->progress_count++;
    if (GNI_CQ_STATUS_OK(event))
        return;
    domain->errors++;
    domain->lost++;
    if (peer < domain->size)
        domain->peers[peer].lost = 1;
}

/* Polls the queue of completions once. The entry that reports an overrun is used, too. */
void wl_poll_completions(struct wl_domain *domain)
{
    gni_cq_entry_t event;
    gni_return_t rc = GNI_CqGetEvent(domain->tx, &event);

    if (rc == GNI_RC_NOT_DONE)
        return;
    if (GNI_CQ_GET_TYPE(event) == GNI_CQ_EVENT_TYPE_SMSG) {
        sent(domain, event);
    } else {
        collect(domain, event);
    }
}

int wl_operation_post(struct wl_domain *domain, struct wl_operation *operation)
{
    gni_return_t rc;

    operation->failed = is_given_up(domain, operation->ep);
    operation->tries = 0;
    operation->failed_first = 0;
    if (operation->failed) {
        rank_now(); /* this pass made progress: reading the clock keeps the engine from taking it
                       for an idle one */
        domain->lost++;
        append_done(domain, operation);
        return 0;
    }
    operation->desc.cq_mode |= GNI_CQMODE_GLOBAL_EVENT;
    while ((rc = post(operation)) == GNI_RC_ERROR_RESOURCE)
        wl_poll_completions(domain); /* all requests of the queue are in use */
    if (rc != GNI_RC_SUCCESS)
        return rank_fail(domain->rank, "cannot post type %d: %s", (int)operation->desc.type,
                         wl_rc_name(rc));
    domain->in_flight++;
    return 0;
}

struct wl_operation *wl_operation_poll(struct wl_domain *domain)
{
    struct wl_operation *operation;

    assert((domain->done == NULL) == (domain->done_tail == &domain->done));
    if (domain->done == NULL)
        wl_poll_completions(domain);
    operation = domain->done;
    if (operation != NULL) {
        domain->done = operation->next;
        if (domain->done == NULL)
            domain->done_tail = &domain->done;
    }
    return operation;
}

struct wl_operation *wl_operation_wait(struct wl_domain *domain)
{
    struct wl_operation *operation;

    rank_same_poll_begin();
    do {
        operation = wl_operation_poll(domain);
    } while (operation == NULL && !wl_domain_timed_out(domain));
    rank_same_poll_end();
    return operation;
}

int wl_operation_run(struct wl_domain *domain, struct wl_operation *operation)
{
    if (wl_operation_post(domain, operation) != 0)
        return -1;
    if (wl_operation_wait(domain) == NULL)
        return rank_fail(domain->rank, "an operation did not end");
    return 0;
}

gni_post_type_t wl_operation_type_arg(const struct rank *rank)
{
    int gets = strcmp(rank_arg_choice(rank, "operation"), "get") == 0;

    if (strcmp(rank_arg_choice(rank, "unit"), "bte") == 0)
        return gets ? GNI_POST_RDMA_GET : GNI_POST_RDMA_PUT;
    return gets ? GNI_POST_FMA_GET : GNI_POST_FMA_PUT;
}

uint16_t wl_operation_mode_arg(const struct rank *rank)
{
    const char *routing = rank_arg_choice(rank, "routing");

    if (strcmp(routing, "in_order") == 0)
        return GNI_DLVMODE_IN_ORDER;
    return strcmp(routing, "min_hash") == 0 ? GNI_DLVMODE_MIN_HASH : GNI_DLVMODE_PERFORMANCE;
}
