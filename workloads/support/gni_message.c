/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SMSG mailboxes and messages. */
#include "gni.h"

struct wl_mailboxes {
    gni_smsg_attr_t attr; /* of any mailbox, without its place */
    uint32_t each; /* bytes */
    int by_rank; /* the mailbox for a peer is the one with its number: connected when first needed
                  */
    void *memory;
    struct wl_region region;
    const struct wl_region *regions; /* of all ranks */
    uint32_t current, scan; /* the peer read last; the next peer to poll after an overrun */
    int overran; /* events were lost */
};

int wl_mailboxes_open(struct wl_domain *domain, uint32_t slots, uint16_t credits, uint32_t bytes,
                      int retransmit)
{
    struct wl_mailboxes *mailboxes = calloc(1, sizeof(*mailboxes));
    unsigned int size = 0;

    if (mailboxes == NULL)
        return rank_fail(domain->rank, "no memory");
    assert(domain->mailboxes == NULL);
    domain->mailboxes = mailboxes;
    mailboxes->attr.msg_type = retransmit ? GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT : GNI_SMSG_TYPE_MBOX;
    mailboxes->attr.mbox_maxcredit = credits;
    mailboxes->attr.msg_maxsize = bytes;
    mailboxes->by_rank = slots == domain->size;
    mailboxes->scan = domain->size;
    mailboxes->current = UINT32_MAX;
    if (GNI_SmsgBufferSizeNeeded(&mailboxes->attr, &size) != GNI_RC_SUCCESS)
        return rank_fail(domain->rank, "no mailboxes of %u credits and %u bytes", credits, bytes);
    mailboxes->each = (size + 63) & ~63u;
    mailboxes->memory =
        wl_region_alloc(domain, (size_t)mailboxes->each * slots, 1, &mailboxes->region);
    mailboxes->regions = rank_exchange(domain->rank, &mailboxes->region, sizeof(mailboxes->region));
    return mailboxes->memory != NULL && mailboxes->regions != NULL ? 0 : -1;
}

void wl_mailboxes_close(struct wl_domain *domain)
{
    struct wl_mailboxes *mailboxes = domain->mailboxes;

    if (mailboxes == NULL)
        return;
    wl_region_free(domain, mailboxes->memory, &mailboxes->region);
    free(mailboxes);
    domain->mailboxes = NULL;
}

static void mailbox_attr(const struct wl_mailboxes *mailboxes, const struct wl_region *region,
                         uint32_t slot, gni_smsg_attr_t *attr)
{
    *attr = mailboxes->attr;
    attr->msg_buffer = (void *)(uintptr_t)region->address;
    attr->mem_hndl = region->handle;
    attr->buff_size = mailboxes->each;
    attr->mbox_offset = slot * mailboxes->each;
}

void wl_message_mailbox(struct wl_domain *domain, uint32_t my_slot, gni_smsg_attr_t *mine)
{
    mailbox_attr(domain->mailboxes, &domain->mailboxes->region, my_slot, mine);
}

int wl_message_connect(struct wl_domain *domain, uint32_t peer, uint32_t my_slot,
                       uint32_t peer_slot)
{
    gni_smsg_attr_t mine, theirs;

    wl_message_mailbox(domain, my_slot, &mine);
    mailbox_attr(domain->mailboxes, &domain->mailboxes->regions[peer], peer_slot, &theirs);
    return wl_message_connect_to(domain, peer, &mine, &theirs);
}

int wl_message_connect_to(struct wl_domain *domain, uint32_t peer, gni_smsg_attr_t *mine,
                          gni_smsg_attr_t *theirs)
{
    struct wl_mailboxes *mailboxes = domain->mailboxes;
    gni_ep_handle_t ep = wl_domain_ep(domain, peer);
    gni_return_t rc;

    if (ep == NULL)
        return -1;
    if (domain->peers[peer].connected)
        return 0;
    rc = GNI_SmsgInit(ep, mine, theirs);
    if (rc != GNI_RC_SUCCESS)
        return rank_fail(domain->rank, "no mailbox with rank %u: %s", peer, wl_rc_name(rc));
    domain->peers[peer].connected = 1;
    /* The peer was faster. Its message may not be readable yet, so `unread` stays. */
    if (domain->peers[peer].unread != 0 || mailboxes->overran)
        mailboxes->scan = mailboxes->scan < peer ? mailboxes->scan : peer;
    return 0;
}

static int reachable(struct wl_domain *domain, uint32_t peer)
{
    return peer < domain->size && (domain->peers[peer].connected ||
                                   (domain->mailboxes->by_rank &&
                                    wl_message_connect(domain, peer, peer, domain->id) == 0));
}

int wl_message_try(struct wl_domain *domain, uint32_t peer, const void *data, uint32_t bytes)
{
    gni_return_t rc;

    if (!reachable(domain, peer))
        return rank_fail(domain->rank, "no connection with rank %u", peer);
    if (domain->peers[peer].lost) {
        rank_now(); /* this pass made progress: reading the clock keeps the engine from taking it
                       for an idle one */
        domain->lost++;
        return 1;
    }
    rc = GNI_SmsgSend(domain->peers[peer].ep, NULL, 0, (void *)data, bytes, peer);
    if (rc == GNI_RC_SUCCESS) {
        domain->in_flight++;
        return 1;
    }
    if (rc == GNI_RC_INVALID_STATE) { /* the connection is broken */
        domain->peers[peer].lost = 1;
        return 0;
    }
    if (rc != GNI_RC_NOT_DONE)
        return rank_fail(domain->rank, "cannot send to rank %u: %s", peer, wl_rc_name(rc));
    return 0;
}

int wl_message_send(struct wl_domain *domain, uint32_t peer, const void *data, uint32_t bytes)
{
    int accepted;

    while ((accepted = wl_message_try(domain, peer, data, bytes)) == 0) {
        wl_poll_completions(domain);
        if (wl_domain_timed_out(domain))
            domain->peers[peer].lost = 1;
    }
    return accepted < 0 ? -1 : 0;
}

void wl_message_poll_completions(struct wl_domain *domain)
{
    if (domain->in_flight != 0)
        wl_poll_completions(domain);
}

void wl_message_flush(struct wl_domain *domain)
{
    rank_queues_only_begin();
    while (domain->in_flight != 0 && !wl_domain_timed_out(domain))
        wl_poll_completions(domain);
    rank_queues_only_end();
}

/* The next message of this peer; NULL: none. */
static void *read_from(struct wl_domain *domain, uint32_t peer)
{
    struct wl_mailboxes *mailboxes = domain->mailboxes;
    void *message = NULL;
    gni_return_t rc;

    if (!reachable(domain, peer))
        return NULL;
    rc = GNI_SmsgGetNext(domain->peers[peer].ep, &message);
    if (rc == GNI_RC_SUCCESS) {
        mailboxes->current = peer;
        domain->progress_count++;
        return message;
    }
    if (rc != GNI_RC_NOT_DONE)
        rank_fail(domain->rank, "cannot receive from rank %u: %s", peer, wl_rc_name(rc));
    return NULL;
}

/*
 * There is one event for each message, but it may arrive before the message can be read (behind
 * others that overtook it), or report returned credits only: `unread` counts events whose message
 * must be polled again later.
 */
static void *read_event(struct wl_domain *domain, gni_cq_entry_t event, uint32_t *from)
{
    uint32_t peer = (uint32_t)GNI_CQ_GET_REM_INST_ID(event);
    void *message = read_from(domain, peer);

    *from = peer;
    if (message == NULL && peer < domain->size)
        domain->peers[peer].unread++;
    return message;
}

/* After an overrun events are missing, but no messages: polls all mailboxes. */
static void *read_scan(struct wl_domain *domain, uint32_t *from)
{
    struct wl_mailboxes *mailboxes = domain->mailboxes;
    void *message;

    for (; mailboxes->scan < domain->size; mailboxes->scan++) {
        if (!domain->peers[mailboxes->scan].connected && !mailboxes->by_rank)
            continue;
        message = read_from(domain, mailboxes->scan);
        *from = mailboxes->scan;
        if (message != NULL)
            return message;
    }
    return NULL;
}

void *wl_message_poll(struct wl_domain *domain, uint32_t *from)
{
    struct wl_mailboxes *mailboxes = domain->mailboxes;
    uint32_t last = mailboxes->current;
    gni_cq_entry_t event;
    gni_return_t rc;
    void *message;

    mailboxes->current = UINT32_MAX;
    if (last != UINT32_MAX && (domain->peers[last].unread != 0 || mailboxes->overran)) {
        message = read_from(domain, *from = last);
        if (message != NULL) {
            domain->peers[last].unread -= domain->peers[last].unread != 0;
            return message;
        }
    }
    if (mailboxes->scan < domain->size) {
        message = read_scan(domain, from);
        if (message != NULL)
            return message;
    }
    rc = GNI_CqGetEvent(domain->rx, &event);
    if (rc == GNI_RC_ERROR_RESOURCE) {
        mailboxes->scan = 0;
        mailboxes->overran = 1; /* events of messages that could not be read yet may be lost, too */
        return NULL;
    }
    return rc == GNI_RC_SUCCESS ? read_event(domain, event, from) : NULL;
}

void *wl_message_wait(struct wl_domain *domain, uint32_t *from)
{
    void *message;

    rank_queues_only_begin();
    do {
        message = wl_message_poll(domain, from);
    } while (message == NULL && !wl_domain_timed_out(domain));
    rank_queues_only_end();
    return message;
}

void wl_message_release(struct wl_domain *domain, uint32_t from)
{
    gni_return_t rc;

    assert(from < domain->size && domain->peers[from].connected);
    rc = GNI_SmsgRelease(domain->peers[from].ep);
    if (rc != GNI_RC_SUCCESS)
        rank_fail(domain->rank, "cannot release a message of rank %u: %s", from, wl_rc_name(rc));
}
