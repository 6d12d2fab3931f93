/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* MPI's messages over mailboxes and BTE GETs. */
#include "mpi.h"

#define CREDITS 8

enum kind { KIND_EAGER, KIND_RTS, KIND_FIN };

struct header { /* an eager message goes on with its data */
    uint32_t kind;
    uint32_t phase;
};

struct rts {
    struct header header;
    uint64_t bytes;
};

struct wl_mpi_get {
    struct wl_operation operation; /* first: what comes back is this */
    uint32_t peer, phase;
    uint64_t bytes;
    struct wl_mpi_get *next; /* of those for later phases */
};

bool wl_mpi_is_local(const struct wl_mpi *mpi, uint32_t peer)
{
    return rank_node_of(mpi->domain.rank, peer) == rank_node(mpi->domain.rank);
}

/*
 * The library's time at either end of a message with so many bytes of data in it. Inside a node the
 * data goes through shared memory: both ends copy it, in collectives the receiver does.
 */
static void library(struct wl_mpi *mpi, uint32_t peer, uint64_t bytes, bool copies)
{
    if (wl_mpi_is_local(mpi, peer))
        rank_compute(mpi->software_local +
                     (copies ? (uint64_t)((double)bytes * mpi->copy_time) : 0));
    else
        rank_compute(mpi->software + (bytes > 512 ? mpi->software_long : 0));
}

/* Bytes of an eager message that the NIC carries: none of the data inside a node. */
static uint32_t carried(const struct wl_mpi *mpi, uint32_t peer, uint64_t bytes)
{
    return (uint32_t)(sizeof(struct header) + (wl_mpi_is_local(mpi, peer) ? 0 : bytes));
}

/* ps per byte. Least recently used lines of a loop over more than the cache are gone when needed.
 */
static double copy_time(const struct rank *rank, const struct wl_mpi_use *use)
{
    double cached = 2 - (double)use->footprint / (double)rank_arg_count(rank, "cache");
    double near = rank_arg_real(rank, use->alone ? "copy_alone_GBps" : "copy_GBps");

    cached = cached > 1 ? 1 : cached < 0 ? 0 : cached;
    return (cached / near + (1 - cached) / rank_arg_real(rank, "copy_far_GBps")) * 1e3;
}

/* For a message of `bytes`, one of as many as there are connections. */
static uint64_t mailbox_time(const struct rank *rank, const struct wl_mpi_use *use, uint64_t bytes)
{
    double needed = (double)use->connections * (double)bytes;
    double cache = (double)rank_arg_count(rank, "mailbox_cache");

    if (needed <= cache)
        return 0;
    return (uint64_t)((1 - cache / needed) * use->senders *
                      (double)rank_arg_ps(rank, "mailbox_miss"));
}

int wl_mpi_open(struct wl_mpi *mpi, struct rank *rank, const struct wl_mpi_use *use)
{
    uint64_t eager = rank_arg_count(rank, "eager"), mailbox;

    memset(mpi, 0, sizeof(*mpi));
    mpi->software = rank_arg_ps(rank, use->software) +
                    (use->senders - 1) * rank_arg_ps(rank, "software_shared");
    mpi->software_long = rank_arg_ps(rank, "software_long");
    mpi->software_get = rank_arg_ps(rank, "software_get");
    mpi->software_local = rank_arg_ps(rank, use->quiet ? "software_quiet" : "software_local");
    mpi->eager = eager;
    mpi->quiet = use->quiet;
    mpi->buffer = use->longest;
    mpi->copy_time = copy_time(rank, use);
    if (use->longest <= eager)
        mpi->software += mailbox_time(rank, use, use->longest);
    mailbox = sizeof(struct header) + (use->longest < eager ? use->longest : eager);
    if (mailbox < sizeof(struct rts))
        mailbox = sizeof(struct rts);
    if (wl_domain_open(&mpi->domain, rank, 8192, 0) != 0 ||
        wl_mailboxes_open(&mpi->domain, use->slots, CREDITS, (uint32_t)mailbox, 1) != 0)
        return -1;
    mpi->out = calloc(1, mailbox);
    if (wl_region_alloc_common(&mpi->domain, 2 * use->longest, &mpi->mine) == NULL)
        return -1;
    mpi->regions = rank_exchange(rank, &mpi->mine, sizeof(mpi->mine));
    return mpi->regions != NULL && mpi->out != NULL ? 0 : -1;
}

void wl_mpi_close(struct wl_mpi *mpi)
{
    assert(mpi->later == NULL && mpi->fin_count == 0);
    if (mpi->regions != NULL)
        GNI_MemDeregister(mpi->domain.nic, &mpi->mine.handle);
    wl_mailboxes_close(&mpi->domain);
    wl_domain_close(&mpi->domain);
    free(mpi->fins);
    free(mpi->out);
}

/* ---- what arrives ---------------------------------------------------------------------------- */

static void queue_fin(struct wl_mpi *mpi, uint32_t peer)
{
    if (mpi->fin_count == mpi->fin_room) {
        mpi->fin_room = 2 * mpi->fin_room + 8;
        mpi->fins = realloc(mpi->fins, mpi->fin_room * sizeof(*mpi->fins));
        assert(mpi->fins != NULL);
    }
    mpi->fins[mpi->fin_count++] = peer;
}

static void send_fins(struct wl_mpi *mpi)
{
    struct header fin = {KIND_FIN, 0};

    while (mpi->fin_count > 0 &&
           wl_message_try(&mpi->domain, mpi->fins[mpi->fin_count - 1], &fin, sizeof(fin)) != 0)
        mpi->fin_count--;
}

static void fetched(struct wl_mpi *mpi, struct wl_mpi_get *get)
{
    mpi->received++;
    queue_fin(mpi, get->peer);
    free(get);
}

static void fetch(struct wl_mpi *mpi, struct wl_mpi_get *get)
{
    gni_post_descriptor_t *desc = &get->operation.desc;

    if (wl_mpi_is_local(mpi, get->peer)) {
        rank_compute((uint64_t)((double)get->bytes * mpi->copy_time));
        fetched(mpi, get);
        return;
    }
    get->operation.ep = wl_domain_ep(&mpi->domain, get->peer);
    desc->type = GNI_POST_RDMA_GET;
    desc->local_addr = mpi->mine.address + mpi->buffer;
    desc->local_mem_hndl = mpi->mine.handle;
    desc->remote_addr = mpi->regions[get->peer].address;
    desc->remote_mem_hndl = mpi->regions[get->peer].handle;
    desc->length = get->bytes;
    if (wl_operation_post(&mpi->domain, &get->operation) != 0)
        free(get);
}

static void announced(struct wl_mpi *mpi, uint32_t peer, const struct rts *rts)
{
    struct wl_mpi_get *get = calloc(1, sizeof(*get));

    assert(get != NULL && rts->bytes <= mpi->buffer);
    get->peer = peer;
    get->phase = rts->header.phase;
    get->bytes = rts->bytes;
    if (get->phase == mpi->phase) {
        fetch(mpi, get);
    } else {
        get->next = mpi->later;
        mpi->later = get;
    }
}

static void arrived(struct wl_mpi *mpi, uint32_t peer, const void *message)
{
    const struct header *header = message;

    switch (header->kind) {
    case KIND_EAGER:
        assert(header->phase - mpi->phase < WL_MPI_PHASES);
        if (header->phase == mpi->phase)
            mpi->received++;
        else
            mpi->early[header->phase % WL_MPI_PHASES]++;
        break;
    case KIND_RTS:
        announced(mpi, peer, message);
        break;
    default:
        assert(mpi->unfinished > 0);
        mpi->unfinished--;
        break;
    }
}

void wl_mpi_progress(struct wl_mpi *mpi)
{
    struct wl_operation *operation;
    uint32_t peer;
    void *message;

    send_fins(mpi);
    operation = wl_operation_poll(&mpi->domain);
    if (operation != NULL) {
        rank_compute(mpi->software_get);
        fetched(mpi, (struct wl_mpi_get *)operation);
        rank_progress(mpi->domain.rank);
    }
    message = wl_message_poll(&mpi->domain, &peer);
    if (message != NULL) {
        if (((struct header *)message)->kind != KIND_FIN)
            library(mpi, peer, ((struct header *)message)->kind == KIND_EAGER ? mpi->buffer : 0,
                    true);
        arrived(mpi, peer, message);
        wl_message_release(&mpi->domain, peer);
        rank_progress(mpi->domain.rank);
    }
}

/* ---- phases ---------------------------------------------------------------------------------- */

int wl_mpi_start(struct wl_mpi *mpi, uint32_t peer, uint64_t bytes)
{
    bool eager = bytes <= mpi->eager;
    struct rts rts = {{KIND_RTS, mpi->phase}, bytes};
    struct header *header = (struct header *)mpi->out;
    int accepted;

    assert(bytes <= mpi->buffer);
    library(mpi, peer, eager ? bytes : 0, !mpi->quiet);
    for (;;) {
        header->kind = KIND_EAGER;
        header->phase = mpi->phase;
        accepted = wl_message_try(&mpi->domain, peer, eager ? (void *)mpi->out : (void *)&rts,
                                  eager ? carried(mpi, peer, bytes) : (uint32_t)sizeof(rts));
        if (accepted != 0)
            break;
        wl_mpi_progress(mpi);
    }
    if (!eager)
        mpi->unfinished++;
    return accepted < 0 ? -1 : 0;
}

void wl_mpi_throttle(struct wl_mpi *mpi, uint32_t unfinished)
{
    while (mpi->unfinished > unfinished)
        wl_mpi_progress(mpi);
}

static void next_phase(struct wl_mpi *mpi)
{
    struct wl_mpi_get **link = &mpi->later, *get;

    mpi->phase++;
    mpi->received = mpi->early[mpi->phase % WL_MPI_PHASES];
    mpi->early[mpi->phase % WL_MPI_PHASES] = 0;
    while ((get = *link) != NULL) {
        if (get->phase != mpi->phase) {
            link = &get->next;
            continue;
        }
        *link = get->next;
        fetch(mpi, get);
    }
}

void wl_mpi_wait(struct wl_mpi *mpi, uint32_t receives)
{
    while (mpi->received < receives || mpi->unfinished > 0 || mpi->fin_count > 0)
        wl_mpi_progress(mpi);
    assert(mpi->received == receives);
    next_phase(mpi);
}
