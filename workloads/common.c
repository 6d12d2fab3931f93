/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "common.h"

const char *wl_rc_name(gni_return_t rc)
{
    return rc <= GNI_RC_ERROR_NOMEM ? gni_err_str[rc] : "?";
}

/* ---- communication domain -------------------------------------------------------------------- */

static gni_return_t attach_as(struct domain *domain, uint32_t modes, uint32_t *address)
{
    struct rank *rank = domain->rank;
    gni_return_t rc =
        GNI_CdmCreate(domain->id, rank_ptag(rank), rank_cookie(rank), modes, &domain->cdm);

    return rc == GNI_RC_SUCCESS ? GNI_CdmAttach(domain->cdm, 0, address, &domain->nic) : rc;
}

static int attach(struct domain *domain, uint32_t entries, uint32_t modes)
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

int wl_domain_open(struct domain *domain, struct rank *rank, uint32_t entries, uint32_t modes)
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

void wl_domain_close(struct domain *domain)
{
    rank_count(domain->rank, "errors", domain->errors);
    if (domain->cdm != NULL)
        GNI_CdmDestroy(domain->cdm); /* with all that belongs to it */
    free(domain->peers);
}

void wl_domain_set_timeout(struct domain *domain, uint64_t ps)
{
    domain->patience = ps;
    domain->strikes = 0;
    rank_alarm(domain->rank, ps);
}

/*
 * The alarm may have rung while nobody waited for an event, in a barrier say: so it is only the
 * second that counts.
 */
int wl_domain_timed_out(struct domain *domain)
{
    if (!rank_alarm_rang(domain->rank))
        return 0;
    if (domain->heard != domain->heard_before)
        domain->strikes = 0;
    else if (++domain->strikes >= 2)
        return 1;
    domain->heard_before = domain->heard;
    rank_alarm(domain->rank, domain->patience);
    return 0;
}

int wl_domain_totals(struct domain *domain, struct totals *totals)
{
    const struct told {
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

int wl_domain_finish(struct domain *domain, uint64_t missing)
{
    struct totals totals;

    rank_count(domain->rank, "missing", missing);
    if (wl_domain_totals(domain, &totals) != 0)
        return -1;
    if (missing != 0 && totals.dead == 0 && totals.lost == 0)
        return rank_fail(domain->rank, "%llu are missing or wrong, and nobody was told why",
                         (unsigned long long)missing);
    return 0;
}

gni_ep_handle_t wl_domain_ep(struct domain *domain, uint32_t peer)
{
    gni_ep_handle_t ep = domain->peers[peer].ep;
    gni_return_t rc;

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

uint32_t wl_pair_of(const struct domain *domain)
{
    uint32_t half = domain->size / 2;

    if (domain->id >= 2 * half)
        return UINT32_MAX;
    return wl_pair_leads(domain) ? domain->id + half : domain->id - half;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Whole pages: what lies behind our bytes must not be writable by others. */
static void *pages_alloc(size_t bytes)
{
    size_t whole = (bytes + 4095) & ~(size_t)4095;
    void *memory = aligned_alloc(4096, whole);

    return memory != NULL ? memset(memory, 0, whole) : NULL;
}

/* `memory` when it could be registered. */
static void *region_register(struct domain *domain, void *memory, size_t bytes, int with_events,
                             struct region *region)
{
    gni_return_t rc = GNI_RC_ERROR_NOMEM;

    if (memory != NULL)
        rc = GNI_MemRegister(domain->nic, (uintptr_t)memory, bytes, with_events ? domain->rx : NULL,
                             GNI_MEM_READWRITE, UINT32_MAX, &region->handle);
    region->address = (uintptr_t)memory;
    if (rc == GNI_RC_SUCCESS)
        return memory;
    rank_fail(domain->rank, "cannot register %zu bytes: %s", bytes, wl_rc_name(rc));
    return NULL;
}

void *wl_region_alloc(struct domain *domain, size_t bytes, int with_events, struct region *region)
{
    void *memory = pages_alloc(bytes);
    void *registered = region_register(domain, memory, bytes, with_events, region);

    if (registered == NULL)
        free(memory);
    return registered;
}

void *wl_region_alloc_common(struct domain *domain, size_t bytes, struct region *region)
{
    static struct common {
        struct common *next;
        size_t bytes;
        void *memory;
    } * all;
    struct common *common = all;

    while (common != NULL && common->bytes != bytes)
        common = common->next;
    if (common == NULL) {
        common = malloc(sizeof(*common));
        if (common == NULL)
            return region_register(domain, NULL, bytes, 0, region);
        *common = (struct common){all, bytes, pages_alloc(bytes)};
        all = common;
    }
    return region_register(domain, common->memory, bytes, 0, region);
}

void wl_region_free(struct domain *domain, void *memory, struct region *region)
{
    if (memory == NULL)
        return;
    GNI_MemDeregister(domain->nic, &region->handle);
    free(memory);
}

static uint64_t pattern_word(uint64_t seed, size_t index)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ull + index * 0xd1342543de82ef95ull;

    return x ^ (x >> 29);
}

void wl_pattern_fill(void *memory, size_t bytes, uint64_t seed)
{
    uint8_t *at = memory;
    uint64_t word;
    size_t i;

    for (i = 0; i < bytes; i += sizeof(word)) {
        word = pattern_word(seed, i);
        memcpy(at + i, &word, bytes - i < sizeof(word) ? bytes - i : sizeof(word));
    }
}

int wl_pattern_differs(const void *memory, size_t bytes, uint64_t seed)
{
    const uint8_t *at = memory;
    uint64_t word;
    size_t i;

    for (i = 0; i < bytes; i += sizeof(word)) {
        word = pattern_word(seed, i);
        if (memcmp(at + i, &word, bytes - i < sizeof(word) ? bytes - i : sizeof(word)) != 0)
            return 1;
    }
    return 0;
}

int wl_word_wait(struct domain *domain, const volatile uint64_t *word, uint64_t value)
{
    while (!rank_spin_until_alarm(domain->rank, word, value))
        if (wl_domain_timed_out(domain))
            return 0;
    domain->heard++;
    return 1;
}

/* ---- one-sided operations -------------------------------------------------------------------- */

/* What goes on failing is repeated so long, and so often. */
#define FAILING_MAX_PS (14 * 1000000000000ull)
#define TRIES_MAX 100u

static gni_return_t post(struct operation *operation)
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

static void append_done(struct domain *domain, struct operation *operation)
{
    domain->heard++;
    operation->next = NULL;
    *domain->done_tail = operation;
    domain->done_tail = &operation->next;
}

/* Whose operation it was; NULL: an endpoint of the program's own. */
static struct peer *peer_of(struct domain *domain, const struct operation *operation,
                            gni_cq_entry_t event)
{
    uint32_t peer = (uint32_t)GNI_CQ_GET_INST_ID(event);

    return peer < domain->size && domain->peers[peer].ep == operation->ep ? &domain->peers[peer]
                                                                          : NULL;
}

/*
 * Posts again what may succeed. A peer with which nothing succeeds for too long is given up; so is
 * an operation.
 */
static int repeat(struct domain *domain, struct operation *operation, gni_cq_entry_t event)
{
    struct peer *peer = peer_of(domain, operation, event);
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

static int is_given_up(const struct domain *domain, gni_ep_handle_t ep)
{
    uint32_t i;

    for (i = 0; i < domain->size && domain->gone != 0; i++)
        if (domain->peers[i].ep == ep)
            return domain->peers[i].lost;
    return 0;
}

static void note_success(struct domain *domain, const struct operation *operation,
                         gni_cq_entry_t event)
{
    struct peer *peer = domain->errors != 0 ? peer_of(domain, operation, event) : NULL;

    if (peer != NULL)
        peer->failing_since = 0;
}

/* The queue told that an operation has ended; false: it was posted again, or the event was of
 * another kind. */
static int collect(struct domain *domain, gni_cq_entry_t event)
{
    gni_post_descriptor_t *desc = NULL;
    gni_return_t rc = GNI_GetCompleted(domain->tx, event, &desc);
    struct operation *operation = (struct operation *)desc;

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

/* A message has ended. */
static void sent(struct domain *domain, gni_cq_entry_t event)
{
    uint32_t peer = (uint32_t)GNI_CQ_GET_MSG_ID(event);

    domain->in_flight--;
    domain->heard++;
    if (GNI_CQ_STATUS_OK(event))
        return;
    domain->errors++;
    domain->lost++;
    if (peer < domain->size)
        domain->peers[peer].lost = 1;
}

/* One look at the queue of completions. An overrun comes with an entry of its own: that is used,
 * too. */
static void poll_completions(struct domain *domain)
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

int wl_operation_post(struct domain *domain, struct operation *operation)
{
    gni_return_t rc;

    operation->failed = is_given_up(domain, operation->ep);
    operation->tries = 0;
    operation->failed_first = 0;
    if (operation->failed) {
        rank_now(); /* the program gets on: between polls this must not look like idling */
        domain->lost++;
        append_done(domain, operation);
        return 0;
    }
    operation->desc.cq_mode |= GNI_CQMODE_GLOBAL_EVENT;
    while ((rc = post(operation)) == GNI_RC_ERROR_RESOURCE)
        poll_completions(domain); /* all requests of the queue are in use */
    if (rc != GNI_RC_SUCCESS)
        return rank_fail(domain->rank, "cannot post type %d: %s", (int)operation->desc.type,
                         wl_rc_name(rc));
    domain->in_flight++;
    return 0;
}

struct operation *wl_operation_poll(struct domain *domain)
{
    struct operation *operation;

    if (domain->done == NULL)
        poll_completions(domain);
    operation = domain->done;
    if (operation != NULL) {
        domain->done = operation->next;
        if (domain->done == NULL)
            domain->done_tail = &domain->done;
    }
    return operation;
}

struct operation *wl_operation_wait(struct domain *domain)
{
    struct operation *operation;

    do {
        operation = wl_operation_poll(domain);
    } while (operation == NULL && !wl_domain_timed_out(domain));
    return operation;
}

int wl_operation_run(struct domain *domain, struct operation *operation)
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

/* ---- messages -------------------------------------------------------------------------------- */

struct mailboxes {
    gni_smsg_attr_t attr; /* of any mailbox, without its place */
    uint32_t each; /* bytes */
    int by_rank; /* the mailbox for a peer is the one with its number: connected when first needed
                  */
    void *memory;
    struct region region;
    const struct region *regions; /* of all ranks */
    uint32_t current, scan; /* who is read now; who is looked at after an overrun */
    int overran; /* events were lost */
};

int wl_mailboxes_open(struct domain *domain, uint32_t slots, uint16_t credits, uint32_t bytes,
                      int retransmit)
{
    struct mailboxes *mailboxes = calloc(1, sizeof(*mailboxes));
    unsigned int size = 0;

    if (mailboxes == NULL)
        return rank_fail(domain->rank, "no memory");
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

void wl_mailboxes_close(struct domain *domain)
{
    struct mailboxes *mailboxes = domain->mailboxes;

    if (mailboxes == NULL)
        return;
    wl_region_free(domain, mailboxes->memory, &mailboxes->region);
    free(mailboxes);
    domain->mailboxes = NULL;
}

static void mailbox_attr(const struct mailboxes *mailboxes, const struct region *region,
                         uint32_t slot, gni_smsg_attr_t *attr)
{
    *attr = mailboxes->attr;
    attr->msg_buffer = (void *)(uintptr_t)region->address;
    attr->mem_hndl = region->handle;
    attr->buff_size = mailboxes->each;
    attr->mbox_offset = slot * mailboxes->each;
}

void wl_message_mailbox(struct domain *domain, uint32_t my_slot, gni_smsg_attr_t *mine)
{
    mailbox_attr(domain->mailboxes, &domain->mailboxes->region, my_slot, mine);
}

int wl_message_connect(struct domain *domain, uint32_t peer, uint32_t my_slot, uint32_t peer_slot)
{
    gni_smsg_attr_t mine, theirs;

    wl_message_mailbox(domain, my_slot, &mine);
    mailbox_attr(domain->mailboxes, &domain->mailboxes->regions[peer], peer_slot, &theirs);
    return wl_message_connect_to(domain, peer, &mine, &theirs);
}

int wl_message_connect_to(struct domain *domain, uint32_t peer, gni_smsg_attr_t *mine,
                          gni_smsg_attr_t *theirs)
{
    struct mailboxes *mailboxes = domain->mailboxes;
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
    /* It was faster. What came may not be readable yet: `unread` stays. */
    if (domain->peers[peer].unread != 0 || mailboxes->overran)
        mailboxes->scan = mailboxes->scan < peer ? mailboxes->scan : peer;
    return 0;
}

static int reachable(struct domain *domain, uint32_t peer)
{
    return peer < domain->size && (domain->peers[peer].connected ||
                                   (domain->mailboxes->by_rank &&
                                    wl_message_connect(domain, peer, peer, domain->id) == 0));
}

int wl_message_try(struct domain *domain, uint32_t peer, const void *data, uint32_t bytes)
{
    gni_return_t rc;

    if (!reachable(domain, peer))
        return rank_fail(domain->rank, "no connection with rank %u", peer);
    if (domain->peers[peer].lost) {
        rank_now(); /* the program gets on: between polls this must not look like idling */
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

int wl_message_send(struct domain *domain, uint32_t peer, const void *data, uint32_t bytes)
{
    int accepted;

    while ((accepted = wl_message_try(domain, peer, data, bytes)) == 0) {
        poll_completions(domain);
        if (wl_domain_timed_out(domain))
            domain->peers[peer].lost = 1;
    }
    return accepted < 0 ? -1 : 0;
}

void wl_message_poll_completions(struct domain *domain)
{
    if (domain->in_flight != 0)
        poll_completions(domain);
}

void wl_message_flush(struct domain *domain)
{
    while (domain->in_flight != 0 && !wl_domain_timed_out(domain))
        poll_completions(domain);
}

/* The next message of this peer; NULL: none. */
static void *read_from(struct domain *domain, uint32_t peer)
{
    struct mailboxes *mailboxes = domain->mailboxes;
    void *message = NULL;
    gni_return_t rc;

    if (!reachable(domain, peer))
        return NULL;
    rc = GNI_SmsgGetNext(domain->peers[peer].ep, &message);
    if (rc == GNI_RC_SUCCESS) {
        mailboxes->current = peer;
        domain->heard++;
        return message;
    }
    if (rc != GNI_RC_NOT_DONE)
        rank_fail(domain->rank, "cannot receive from rank %u: %s", peer, wl_rc_name(rc));
    return NULL;
}

/*
 * One event for each message, but it may come before the message can be read (after others that
 * overtook it) or tell of returned credits only: `unread` remembers to look again when something
 * was read.
 */
static void *read_event(struct domain *domain, gni_cq_entry_t event, uint32_t *from)
{
    uint32_t peer = (uint32_t)GNI_CQ_GET_REM_INST_ID(event);
    void *message = read_from(domain, peer);

    *from = peer;
    if (message == NULL && peer < domain->size)
        domain->peers[peer].unread++;
    return message;
}

/* After an overrun events are missing, messages are not: everybody is asked. */
static void *read_scan(struct domain *domain, uint32_t *from)
{
    struct mailboxes *mailboxes = domain->mailboxes;
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

void *wl_message_poll(struct domain *domain, uint32_t *from)
{
    struct mailboxes *mailboxes = domain->mailboxes;
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

void *wl_message_wait(struct domain *domain, uint32_t *from)
{
    void *message;

    do {
        message = wl_message_poll(domain, from);
    } while (message == NULL && !wl_domain_timed_out(domain));
    return message;
}

void wl_message_release(struct domain *domain, uint32_t from)
{
    gni_return_t rc = GNI_SmsgRelease(domain->peers[from].ep);

    if (rc != GNI_RC_SUCCESS)
        rank_fail(domain->rank, "cannot release a message of rank %u: %s", from, wl_rc_name(rc));
}
