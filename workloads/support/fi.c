/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fi.h"

#define API FI_VERSION(1, 17)
#define READ_ENTRIES 16

int wl_fi_failed(struct wl_fi *fi, const char *what, int error)
{
    return rank_fail(fi->rank, "%s: %s", what, fi_strerror(error < 0 ? -error : error));
}

/* ---- timeout -------------------------------------------------------------------------------- */

/*
 * The alarm may have rung while this rank did not wait, for instance in an exchange, so only the
 * second alarm in a row counts.
 */
bool wl_fi_timed_out(struct wl_fi *fi)
{
    if (!rank_alarm_rang(fi->rank))
        return false;
    if (fi->progress_count != fi->progress_before)
        fi->idle_alarms = 0;
    else if (++fi->idle_alarms >= 2)
        return true;
    fi->progress_before = fi->progress_count;
    rank_alarm(fi->rank, fi->timeout);
    return false;
}

/* ---- opening --------------------------------------------------------------------------------- */

#define CALL(call)                                        \
    do {                                                  \
        int call_result_ = (int)(call);                   \
        if (call_result_ < 0)                             \
            return wl_fi_failed(fi, #call, call_result_); \
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

int wl_fi_open_hints(struct wl_fi *fi, struct rank *rank, struct fi_info *hints, size_t entries)
{
    struct fi_cq_attr cq = {.size = entries, .format = FI_CQ_FORMAT_TAGGED};
    struct fi_av_attr av = {.type = FI_AV_TABLE};

    *fi = (struct wl_fi){.rank = rank, .id = rank_id(rank), .size = rank_size(rank)};
    fi->timeout = rank_arg_ps(rank, "give_up");
    rank_alarm(rank, fi->timeout);
    common_hints(rank, hints);
    CALL(fi_getinfo(API, NULL, NULL, 0, hints, &fi->info));
    fi->automatic = fi->info->domain_attr->data_progress == FI_PROGRESS_AUTO;
    CALL(fi_fabric(fi->info->fabric_attr, &fi->fabric, NULL));
    CALL(fi_domain(fi->fabric, fi->info, &fi->domain, NULL));
    CALL(fi_cq_open(fi->domain, &cq, &fi->cq, NULL));
    CALL(fi_av_open(fi->domain, &av, &fi->av, NULL));
    return 0;
}

int wl_fi_endpoint(struct wl_fi *fi, struct fid_cq *cq, struct fid_ep **ep)
{
    CALL(fi_endpoint(fi->domain, fi->info, ep, NULL));
    CALL(fi_ep_bind(*ep, &cq->fid, FI_TRANSMIT | FI_RECV));
    CALL(fi_ep_bind(*ep, &fi->av->fid, 0));
    CALL(fi_enable(*ep));
    return 0;
}

int wl_fi_open_alone(struct wl_fi *fi, struct rank *rank, uint64_t caps, size_t entries)
{
    struct fi_info *hints = fi_allocinfo();
    int status = -1;

    if (hints == NULL)
        return rank_fail(rank, "no memory for fi_allocinfo()");
    hints->caps = caps;
    hints->ep_attr->type =
        strcmp(rank_arg_choice(rank, "type"), "dgram") == 0 ? FI_EP_DGRAM : FI_EP_RDM;
    hints->tx_attr->size = hints->rx_attr->size = entries;
    status = wl_fi_open_hints(fi, rank, hints, 2 * entries);
    fi_freeinfo(hints);
    return status == 0 ? wl_fi_endpoint(fi, fi->cq, &fi->ep) : -1;
}

int wl_fi_open(struct wl_fi *fi, struct rank *rank, uint64_t caps, size_t entries)
{
    int status = wl_fi_open_alone(fi, rank, caps, entries);

    return status == 0 ? wl_fi_exchange_names(fi) : -1;
}

int wl_fi_exchange_names(struct wl_fi *fi)
{
    uint8_t name[FI_NAME_MAX];

    fi->name_bytes = sizeof(name);
    CALL(fi_getname(&fi->ep->fid, name, &fi->name_bytes));
    fi->names = wl_fi_exchange(fi, name, fi->name_bytes);
    return fi->names != NULL ? 0 : -1;
}

static void close_one(struct wl_fi *fi, struct fid *fid, const char *what)
{
    int status = fid != NULL ? fi_close(fid) : 0;

    if (status != 0)
        wl_fi_failed(fi, what, status);
}

void wl_fi_close(struct wl_fi *fi)
{
    if (fi->ep != NULL)
        close_one(fi, &fi->ep->fid, "closing the endpoint");
    if (fi->av != NULL)
        close_one(fi, &fi->av->fid, "closing the address vector");
    if (fi->cq != NULL)
        close_one(fi, &fi->cq->fid, "closing the queue");
    if (fi->domain != NULL)
        close_one(fi, &fi->domain->fid, "closing the domain");
    if (fi->fabric != NULL)
        close_one(fi, &fi->fabric->fid, "closing the fabric");
    if (fi->info != NULL)
        fi_freeinfo(fi->info);
    rank_alarm(fi->rank, 0);
    rank_count(fi->rank, "errors", fi->errors);
    free(fi->peers);
    free(fi->events);
}

/* ---- meeting --------------------------------------------------------------------------------- */

struct meeting {
    const void *mine, *all;
    size_t bytes;
    bool over; /* then rank_notify() wakes the thread that polls */
};

static int meet(struct rank *rank, void *arg)
{
    struct meeting *meeting = arg;

    meeting->all = rank_exchange(rank, meeting->mine, meeting->bytes);
    meeting->over = true;
    rank_notify(rank);
    return 0;
}

const void *wl_fi_exchange(struct wl_fi *fi, const void *mine, size_t bytes)
{
    struct meeting meeting = {.mine = mine, .bytes = bytes};
    struct rank_thread *thread;

    if (fi->automatic)
        return rank_exchange(fi->rank, mine, bytes);
    thread = rank_thread_start(fi->rank, meet, &meeting);
    if (thread == NULL) {
        rank_fail(fi->rank, "no stack for a thread; allowed: fewer ranks");
        return NULL;
    }
    while (!meeting.over) {
        if (fi->progress != NULL)
            fi->progress(fi);
        else
            fi_cq_read(fi->cq, NULL, 0);
    }
    rank_thread_join(fi->rank, thread);
    return meeting.all;
}

int wl_fi_finish(struct wl_fi *fi, uint64_t missing)
{
    const struct report {
        uint64_t present, failed, missing;
    } mine = {1, fi->errors + fi->lost, missing}, *all;
    uint64_t failed = 0, dead = 0, lacks = 0;
    uint32_t i;

    rank_count(fi->rank, "missing", missing);
    all = wl_fi_exchange(fi, &mine, sizeof(mine));
    if (all == NULL)
        return -1;
    for (i = 0; i < fi->size; i++) {
        failed += all[i].failed;
        dead += all[i].present == 0;
        lacks += all[i].missing;
    }
    fi->clean = failed + dead + lacks == 0;
    if (failed != 0 && !rank_has_faults(fi->rank))
        return rank_fail(fi->rank, "%llu operations failed, and the scenario has no faults",
                         (unsigned long long)failed);
    if (missing != 0 && failed == 0 && dead == 0)
        return rank_fail(fi->rank, "%llu are missing or wrong, and no error was reported",
                         (unsigned long long)missing);
    return 0;
}

/* ---- other ranks ----------------------------------------------------------------------------- */

struct wl_fi_peer {
    uint32_t rank; /* UINT32_MAX: free */
    fi_addr_t address; /* FI_ADDR_NOTAVAIL: gone */
};

static struct wl_fi_peer *place_of(const struct wl_fi *fi, uint32_t rank)
{
    uint32_t at = rank * 0x9e3779b9u & (fi->peer_room - 1);

    while (fi->peers[at].rank != rank && fi->peers[at].rank != UINT32_MAX)
        at = (at + 1) & (fi->peer_room - 1);
    return &fi->peers[at];
}

static int grow(struct wl_fi *fi)
{
    struct wl_fi_peer *before = fi->peers;
    uint32_t room = fi->peer_room, i;

    fi->peer_room = room != 0 ? 2 * room : 16;
    fi->peers = malloc(fi->peer_room * sizeof(*fi->peers));
    if (fi->peers == NULL)
        return rank_fail(fi->rank, "no memory for %u peers", fi->peer_room);
    memset(fi->peers, 0xff, fi->peer_room * sizeof(*fi->peers));
    for (i = 0; i < room; i++)
        if (before[i].rank != UINT32_MAX)
            *place_of(fi, before[i].rank) = before[i];
    free(before);
    return 0;
}

/* A rank without a name is gone. */
static fi_addr_t insert(struct wl_fi *fi, uint32_t rank)
{
    const uint8_t *name = fi->names + rank * fi->name_bytes;
    fi_addr_t address = FI_ADDR_NOTAVAIL;
    size_t i;

    for (i = 0; i < fi->name_bytes && name[i] == 0; i++)
        ;
    if (i < fi->name_bytes && fi_av_insert(fi->av, name, 1, &address, 0, NULL) != 1) {
        rank_fail(fi->rank, "the address of rank %u is not accepted", rank);
        return FI_ADDR_NOTAVAIL;
    }
    return address;
}

fi_addr_t wl_fi_address(struct wl_fi *fi, uint32_t rank)
{
    struct wl_fi_peer *peer;

    if (2 * (fi->peer_count + 1) > fi->peer_room && grow(fi) != 0)
        return FI_ADDR_NOTAVAIL;
    peer = place_of(fi, rank);
    if (peer->rank == UINT32_MAX) {
        *peer = (struct wl_fi_peer){rank, insert(fi, rank)};
        fi->peer_count++;
    }
    return peer->address;
}

void wl_fi_give_up_peer(struct wl_fi *fi, uint32_t rank)
{
    if (wl_fi_address(fi, rank) != FI_ADDR_NOTAVAIL)
        place_of(fi, rank)->address = FI_ADDR_NOTAVAIL;
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct wl_fi_event *event_add(struct wl_fi *fi)
{
    struct wl_fi_event *grown;
    uint32_t i;

    if (fi->event_count == fi->event_room) {
        grown = malloc((2 * fi->event_room + 8) * sizeof(*grown));
        if (grown == NULL)
            abort(); /* a few kilobytes */
        for (i = 0; i < fi->event_count; i++)
            grown[i] = fi->events[(fi->event_first + i) % fi->event_room];
        free(fi->events);
        fi->events = grown;
        fi->event_first = 0;
        fi->event_room = 2 * fi->event_room + 8;
    }
    return &fi->events[(fi->event_first + fi->event_count++) % fi->event_room];
}

static void read_error(struct wl_fi *fi)
{
    struct fi_cq_err_entry error = {.err = 0};
    struct wl_fi_event *event;

    if (fi_cq_readerr(fi->cq, &error, 0) != 1)
        return;
    fi->errors++;
    event = event_add(fi);
    *event = (struct wl_fi_event){.error = error.err, .excess = error.olen};
    event->entry = (struct fi_cq_tagged_entry){.op_context = error.op_context,
                                               .flags = error.flags,
                                               .len = error.len,
                                               .buf = error.buf,
                                               .data = error.data,
                                               .tag = error.tag};
}

/* Reads the events that one call returns. */
static void read_some(struct wl_fi *fi)
{
    struct fi_cq_tagged_entry entries[READ_ENTRIES];
    ssize_t found = fi_cq_read(fi->cq, entries, READ_ENTRIES), i;

    if (found == -FI_EAVAIL) {
        fi->progress_count++;
        read_error(fi);
    }
    for (i = 0; i < found; i++) {
        fi->progress_count++;
        *event_add(fi) = (struct wl_fi_event){.entry = entries[i]};
    }
}

bool wl_fi_poll(struct wl_fi *fi, struct wl_fi_event *event)
{
    if (fi->event_count == 0)
        read_some(fi);
    if (fi->event_count == 0)
        return false;
    assert(fi->event_first < fi->event_room && fi->event_count <= fi->event_room);
    *event = fi->events[fi->event_first];
    fi->event_first = (fi->event_first + 1) % fi->event_room;
    fi->event_count--;
    return true;
}

bool wl_fi_wait(struct wl_fi *fi, struct wl_fi_event *event)
{
    while (!wl_fi_poll(fi, event))
        if (wl_fi_timed_out(fi))
            return false;
    return true;
}

bool wl_fi_retry(struct wl_fi *fi)
{
    read_some(fi);
    return !wl_fi_timed_out(fi);
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

int wl_fi_window_open(struct wl_fi *fi, struct wl_fi_window *window, uint64_t count, size_t bytes)
{
    uint8_t *all = wl_fi_buffer(count * (bytes + 1));
    uint64_t i;

    *window = (struct wl_fi_window){.slots = calloc(count, sizeof(*window->slots)), .count = count};
    if (window->slots == NULL || all == NULL) {
        free(all);
        return rank_fail(fi->rank, "no memory for %llu buffers", (unsigned long long)count);
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

int wl_fi_memory_open(struct wl_fi *fi, struct wl_fi_memory *memory, size_t size)
{
    struct wl_fi_remote mine;

    *memory = (struct wl_fi_memory){.bytes = wl_fi_buffer(size), .size = size};
    if (memory->bytes == NULL)
        return rank_fail(fi->rank, "no memory for %zu bytes", size);
    CALL(fi_mr_reg(fi->domain, memory->bytes, size,
                   FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0,
                   0, &memory->mr, NULL));
    mine = (struct wl_fi_remote){(uintptr_t)memory->bytes, fi_mr_key(memory->mr)};
    memory->all = wl_fi_exchange(fi, &mine, sizeof(mine));
    return memory->all != NULL ? 0 : -1;
}

void wl_fi_memory_close(struct wl_fi_memory *memory)
{
    if (memory->mr != NULL)
        fi_close(&memory->mr->fid);
    free(memory->bytes);
}
