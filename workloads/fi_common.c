/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fi_common.h"

#define API FI_VERSION(1, 17)
#define READ_ENTRIES 16

int wl_fi_failed(struct side *side, const char *what, int error)
{
    return rank_fail(side->rank, "%s: %s", what, fi_strerror(error < 0 ? -error : error));
}

/* ---- patience -------------------------------------------------------------------------------- */

/*
 * The alarm may have rung while nobody waited, in a meeting say: so it is only the second in a row
 * that counts.
 */
bool wl_fi_timed_out(struct side *side)
{
    if (!rank_alarm_rang(side->rank))
        return false;
    if (side->heard != side->heard_before)
        side->strikes = 0;
    else if (++side->strikes >= 2)
        return true;
    side->heard_before = side->heard;
    rank_alarm(side->rank, side->patience);
    return false;
}

/* ---- opening --------------------------------------------------------------------------------- */

#define CALL(call)                                          \
    do {                                                    \
        int call_result_ = (int)(call);                     \
        if (call_result_ < 0)                               \
            return wl_fi_failed(side, #call, call_result_); \
    } while (0)

static void common_hints(const struct rank *rank, struct fi_info *hints)
{
    enum fi_progress progress = strcmp(rank_arg_choice(rank, "progress"), "auto") == 0
                                    ? FI_PROGRESS_AUTO
                                    : FI_PROGRESS_MANUAL;

    hints->fabric_attr->prov_name = strdup("gni");
    hints->domain_attr->control_progress = hints->domain_attr->data_progress = progress;
    hints->domain_attr->av_type = FI_AV_TABLE;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    if (hints->domain_attr->threading == FI_THREAD_UNSPEC)
        hints->domain_attr->threading = FI_THREAD_DOMAIN;
}

int wl_fi_open_hints(struct side *side, struct rank *rank, struct fi_info *hints, size_t entries)
{
    struct fi_cq_attr cq = {.size = entries, .format = FI_CQ_FORMAT_TAGGED};
    struct fi_av_attr av = {.type = FI_AV_TABLE};

    *side = (struct side){.rank = rank, .id = rank_id(rank), .size = rank_size(rank)};
    side->patience = rank_arg_ps(rank, "give_up");
    rank_alarm(rank, side->patience);
    common_hints(rank, hints);
    CALL(fi_getinfo(API, NULL, NULL, 0, hints, &side->info));
    side->automatic = side->info->domain_attr->data_progress == FI_PROGRESS_AUTO;
    CALL(fi_fabric(side->info->fabric_attr, &side->fabric, NULL));
    CALL(fi_domain(side->fabric, side->info, &side->domain, NULL));
    CALL(fi_cq_open(side->domain, &cq, &side->cq, NULL));
    CALL(fi_av_open(side->domain, &av, &side->av, NULL));
    return 0;
}

int wl_fi_endpoint(struct side *side, struct fid_cq *cq, struct fid_ep **ep)
{
    CALL(fi_endpoint(side->domain, side->info, ep, NULL));
    CALL(fi_ep_bind(*ep, &cq->fid, FI_TRANSMIT | FI_RECV));
    CALL(fi_ep_bind(*ep, &side->av->fid, 0));
    CALL(fi_enable(*ep));
    return 0;
}

int wl_fi_open(struct side *side, struct rank *rank, uint64_t caps, size_t entries)
{
    struct fi_info *hints = fi_allocinfo();
    int status = -1;

    if (hints == NULL)
        return rank_fail(rank, "no memory for fi_allocinfo()");
    hints->caps = caps;
    hints->ep_attr->type =
        strcmp(rank_arg_choice(rank, "type"), "dgram") == 0 ? FI_EP_DGRAM : FI_EP_RDM;
    hints->tx_attr->size = hints->rx_attr->size = entries;
    status = wl_fi_open_hints(side, rank, hints, 2 * entries);
    fi_freeinfo(hints);
    if (status == 0)
        status = wl_fi_endpoint(side, side->cq, &side->ep);
    return status == 0 ? wl_fi_exchange_names(side) : -1;
}

int wl_fi_exchange_names(struct side *side)
{
    uint8_t name[FI_NAME_MAX];

    side->name_bytes = sizeof(name);
    CALL(fi_getname(&side->ep->fid, name, &side->name_bytes));
    side->names = wl_fi_exchange(side, name, side->name_bytes);
    return side->names != NULL ? 0 : -1;
}

static void close_one(struct side *side, struct fid *fid, const char *what)
{
    int status = fid != NULL ? fi_close(fid) : 0;

    if (status != 0)
        wl_fi_failed(side, what, status);
}

void wl_fi_close(struct side *side)
{
    if (side->ep != NULL)
        close_one(side, &side->ep->fid, "closing the endpoint");
    if (side->av != NULL)
        close_one(side, &side->av->fid, "closing the address vector");
    if (side->cq != NULL)
        close_one(side, &side->cq->fid, "closing the queue");
    if (side->domain != NULL)
        close_one(side, &side->domain->fid, "closing the domain");
    if (side->fabric != NULL)
        close_one(side, &side->fabric->fid, "closing the fabric");
    if (side->info != NULL)
        fi_freeinfo(side->info);
    rank_alarm(side->rank, 0);
    rank_count(side->rank, "errors", side->errors);
    free(side->peers);
    free(side->events);
}

/* ---- meeting --------------------------------------------------------------------------------- */

struct meeting {
    const void *mine, *all;
    size_t bytes;
    bool over;
};

static int meet(struct rank *rank, void *arg)
{
    struct meeting *meeting = arg;

    meeting->all = rank_exchange(rank, meeting->mine, meeting->bytes);
    meeting->over = true;
    return 0;
}

const void *wl_fi_exchange(struct side *side, const void *mine, size_t bytes)
{
    struct meeting meeting = {.mine = mine, .bytes = bytes};
    struct rank_thread *thread;

    if (side->automatic)
        return rank_exchange(side->rank, mine, bytes);
    thread = rank_thread_start(side->rank, meet, &meeting);
    if (thread == NULL) {
        rank_fail(side->rank, "no stack for a thread; allowed: fewer ranks");
        return NULL;
    }
    while (!meeting.over) {
        if (side->progress != NULL)
            side->progress(side);
        else
            fi_cq_read(side->cq, NULL, 0);
    }
    rank_thread_join(side->rank, thread);
    return meeting.all;
}

int wl_fi_finish(struct side *side, uint64_t missing)
{
    const struct told {
        uint64_t present, failed, missing;
    } mine = {1, side->errors + side->lost, missing}, *all;
    uint64_t failed = 0, dead = 0, lacks = 0;
    uint32_t i;

    rank_count(side->rank, "missing", missing);
    all = wl_fi_exchange(side, &mine, sizeof(mine));
    if (all == NULL)
        return -1;
    for (i = 0; i < side->size; i++) {
        failed += all[i].failed;
        dead += all[i].present == 0;
        lacks += all[i].missing;
    }
    side->clean = failed + dead + lacks == 0;
    if (missing != 0 && failed == 0 && dead == 0)
        return rank_fail(side->rank, "%llu are missing or wrong, and nobody was told why",
                         (unsigned long long)missing);
    return 0;
}

/* ---- other ranks ----------------------------------------------------------------------------- */

struct wl_fi_peer {
    uint32_t rank; /* UINT32_MAX: free */
    fi_addr_t address; /* FI_ADDR_NOTAVAIL: gone */
};

static struct wl_fi_peer *place_of(const struct side *side, uint32_t rank)
{
    uint32_t at = rank * 0x9e3779b9u & (side->peer_room - 1);

    while (side->peers[at].rank != rank && side->peers[at].rank != UINT32_MAX)
        at = (at + 1) & (side->peer_room - 1);
    return &side->peers[at];
}

static int grow(struct side *side)
{
    struct wl_fi_peer *before = side->peers;
    uint32_t room = side->peer_room, i;

    side->peer_room = room != 0 ? 2 * room : 16;
    side->peers = malloc(side->peer_room * sizeof(*side->peers));
    if (side->peers == NULL)
        return rank_fail(side->rank, "no memory for %u peers", side->peer_room);
    memset(side->peers, 0xff, side->peer_room * sizeof(*side->peers));
    for (i = 0; i < room; i++)
        if (before[i].rank != UINT32_MAX)
            *place_of(side, before[i].rank) = before[i];
    free(before);
    return 0;
}

/* Who never told its name is gone. */
static fi_addr_t insert(struct side *side, uint32_t rank)
{
    const uint8_t *name = side->names + rank * side->name_bytes;
    fi_addr_t address = FI_ADDR_NOTAVAIL;
    size_t i;

    for (i = 0; i < side->name_bytes && name[i] == 0; i++)
        ;
    if (i < side->name_bytes && fi_av_insert(side->av, name, 1, &address, 0, NULL) != 1) {
        rank_fail(side->rank, "the address of rank %u is not accepted", rank);
        return FI_ADDR_NOTAVAIL;
    }
    return address;
}

fi_addr_t wl_fi_address(struct side *side, uint32_t rank)
{
    struct wl_fi_peer *peer;

    if (2 * (side->peer_count + 1) > side->peer_room && grow(side) != 0)
        return FI_ADDR_NOTAVAIL;
    peer = place_of(side, rank);
    if (peer->rank == UINT32_MAX) {
        *peer = (struct wl_fi_peer){rank, insert(side, rank)};
        side->peer_count++;
    }
    return peer->address;
}

void wl_fi_give_up_peer(struct side *side, uint32_t rank)
{
    if (wl_fi_address(side, rank) != FI_ADDR_NOTAVAIL)
        place_of(side, rank)->address = FI_ADDR_NOTAVAIL;
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct wl_fi_event *event_add(struct side *side)
{
    struct wl_fi_event *grown;
    uint32_t i;

    if (side->event_count == side->event_room) {
        grown = malloc((2 * side->event_room + 8) * sizeof(*grown));
        if (grown == NULL)
            abort(); /* a few kilobytes */
        for (i = 0; i < side->event_count; i++)
            grown[i] = side->events[(side->event_first + i) % side->event_room];
        free(side->events);
        side->events = grown;
        side->event_first = 0;
        side->event_room = 2 * side->event_room + 8;
    }
    return &side->events[(side->event_first + side->event_count++) % side->event_room];
}

static void read_error(struct side *side)
{
    struct fi_cq_err_entry error = {.err = 0};
    struct wl_fi_event *event;

    if (fi_cq_readerr(side->cq, &error, 0) != 1)
        return;
    side->errors++;
    event = event_add(side);
    *event = (struct wl_fi_event){.error = error.err, .excess = error.olen};
    event->entry = (struct fi_cq_tagged_entry){.op_context = error.op_context,
                                               .flags = error.flags,
                                               .len = error.len,
                                               .buf = error.buf,
                                               .data = error.data,
                                               .tag = error.tag};
}

/* What is there, as far as one call goes. */
static void read_some(struct side *side)
{
    struct fi_cq_tagged_entry entries[READ_ENTRIES];
    ssize_t found = fi_cq_read(side->cq, entries, READ_ENTRIES), i;

    if (found == -FI_EAVAIL) {
        side->heard++;
        read_error(side);
    }
    for (i = 0; i < found; i++) {
        side->heard++;
        *event_add(side) = (struct wl_fi_event){.entry = entries[i]};
    }
}

bool wl_fi_poll(struct side *side, struct wl_fi_event *event)
{
    if (side->event_count == 0)
        read_some(side);
    if (side->event_count == 0)
        return false;
    *event = side->events[side->event_first];
    side->event_first = (side->event_first + 1) % side->event_room;
    side->event_count--;
    return true;
}

bool wl_fi_wait(struct side *side, struct wl_fi_event *event)
{
    while (!wl_fi_poll(side, event))
        if (wl_fi_timed_out(side))
            return false;
    return true;
}

bool wl_fi_retry(struct side *side)
{
    read_some(side);
    return !wl_fi_timed_out(side);
}

/* ---- buffers --------------------------------------------------------------------------------- */

void *wl_fi_buffer(size_t bytes)
{
    size_t whole = (bytes + 2 * 4096 - 1) & ~(size_t)4095;
    void *memory = aligned_alloc(4096, whole);

    if (memory != NULL)
        memset(memory, 0, bytes);
    return memory;
}

int wl_fi_window_open(struct side *side, struct wl_fi_window *window, uint64_t count, size_t bytes)
{
    uint8_t *all = wl_fi_buffer(count * (bytes + 1));
    uint64_t i;

    *window = (struct wl_fi_window){.slots = calloc(count, sizeof(*window->slots)), .count = count};
    if (window->slots == NULL || all == NULL) {
        free(all);
        return rank_fail(side->rank, "no memory for %llu buffers", (unsigned long long)count);
    }
    for (i = count; i > 0; i--) {
        window->slots[i - 1].bytes = all + (i - 1) * bytes;
        wl_fi_slot_free(window, &window->slots[i - 1]);
    }
    return 0;
}

void wl_fi_window_close(struct wl_fi_window *window)
{
    if (window->slots != NULL)
        free(window->slots[0].bytes);
    free(window->slots);
}

/* ---- memory ---------------------------------------------------------------------------------- */

int wl_fi_memory_open(struct side *side, struct wl_fi_memory *memory, size_t size)
{
    struct wl_fi_remote mine;

    *memory = (struct wl_fi_memory){.bytes = wl_fi_buffer(size), .size = size};
    if (memory->bytes == NULL)
        return rank_fail(side->rank, "no memory for %zu bytes", size);
    CALL(fi_mr_reg(side->domain, memory->bytes, size,
                   FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0,
                   0, &memory->mr, NULL));
    mine = (struct wl_fi_remote){(uintptr_t)memory->bytes, fi_mr_key(memory->mr)};
    memory->all = wl_fi_exchange(side, &mine, sizeof(mine));
    return memory->all != NULL ? 0 : -1;
}

void wl_fi_memory_close(struct wl_fi_memory *memory)
{
    if (memory->mr != NULL)
        fi_close(&memory->mr->fid);
    free(memory->bytes);
}
