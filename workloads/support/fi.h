/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The start of every libfabric workload: fabric, domain, endpoint, queue, address vector, and the
 * addresses of the other ranks. All of it is plain libfabric; the provider is requested by name.
 *
 * Functions that return int return 0 for success, and -1 when the run has failed; then they have
 * called rank_fail(). No function waits for ever: waiting ends when nothing has completed or
 * arrived for the time `give_up`, so that a run with faults ends, too. Failed operations are
 * counted; they fail the run only when no fault explains them (wl_fi_finish).
 */
#ifndef JACQUARD_WORKLOADS_FI_H
#define JACQUARD_WORKLOADS_FI_H

#include <assert.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "pattern.h"
#include "run/workload.h"

/* First rows of each workload's arguments. */
#define WL_FI_ARGS                                                                    \
    {"type", ARG_CHOICE, "rdm", NULL, NULL, "rdm|dgram", "kind of endpoint"},         \
        {"progress",                                                                  \
         ARG_CHOICE,                                                                  \
         "manual",                                                                    \
         NULL,                                                                        \
         NULL,                                                                        \
         "manual|auto",                                                               \
         "who advances transfers: the program's calls, or helper threads, too"},      \
    {                                                                                 \
        "give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long" \
    }

struct wl_fi {
    struct rank *rank;
    uint32_t id, size;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq; /* of both directions */
    struct fid_av *av;
    struct fid_ep *ep;
    /* other ranks */
    const uint8_t *names; /* by rank; NULL: not exchanged */
    size_t name_bytes;
    struct wl_fi_peer *peers; /* hash of those that are in the address vector */
    uint32_t peer_count, peer_room;
    /* events that were read but not handled yet */
    struct wl_fi_event *events;
    uint32_t event_first, event_count, event_room;
    /* what went wrong */
    uint64_t errors; /* operations */
    uint64_t lost; /* operations that were not started because their peer is gone */
    uint64_t timeout, progress_count, progress_before;
    uint32_t idle_alarms;
    bool automatic;
    void (*progress)(
        struct wl_fi *fi); /* called while this rank waits for others; NULL: reads the queue */
    bool clean; /* after wl_fi_finish: no rank failed, died or missed anything */
};

/* caps: FI_MSG ...; entries: of the queue, bounds the operations in flight. */
int wl_fi_open(struct wl_fi *fi, struct rank *rank, uint64_t caps, size_t entries);
/* The same for one rank, which exchanges no names. */
int wl_fi_open_alone(struct wl_fi *fi, struct rank *rank, uint64_t caps, size_t entries);
/* The same with the caller's hints for fi_getinfo(); creates no endpoint. */
int wl_fi_open_hints(struct wl_fi *fi, struct rank *rank, struct fi_info *hints, size_t entries);
/* Creates and enables an endpoint of the domain, bound to a queue and the address vector. */
int wl_fi_endpoint(struct wl_fi *fi, struct fid_cq *cq, struct fid_ep **ep);
/* Exchanges the names of the endpoints of all ranks, which wl_fi_address() needs. */
int wl_fi_exchange_names(struct wl_fi *fi);
void wl_fi_close(struct wl_fi *fi);

/*
 * The end of the traffic; all ranks call it. `missing` is the number of messages that did not
 * arrive here or are wrong. It is added to the metric "missing", and is a failure unless a rank
 * died or some operation failed (metric "errors"). Where the scenario has no faults, each operation
 * that failed is a failure, too.
 */
int wl_fi_finish(struct wl_fi *fi, uint64_t missing);
/*
 * rank_exchange() that continues to make progress while it waits, because other ranks may need it
 * for their last transfers. NULL: the run has failed.
 */
const void *wl_fi_exchange(struct wl_fi *fi, const void *mine, size_t bytes);

/* The address of a rank; FI_ADDR_NOTAVAIL: it is gone, or the run has failed. */
fi_addr_t wl_fi_address(struct wl_fi *fi, uint32_t rank);
/* Gives up a rank: nothing is sent to it any more. */
void wl_fi_give_up_peer(struct wl_fi *fi, uint32_t rank);

/* For loops that wait: true when the timeout has expired. Takes no virtual time. */
bool wl_fi_timed_out(struct wl_fi *fi);
/* Reads events after a call that returned -FI_EAGAIN. False: the timeout has expired. */
bool wl_fi_retry(struct wl_fi *fi);
/* Repeats a call until it is accepted, or the timeout has expired: 0, or -errno. */
#define wl_fi_post(fi, call)                                    \
    ({                                                          \
        ssize_t wl_fi_result_;                                  \
        do                                                      \
            wl_fi_result_ = (call);                             \
        while (wl_fi_result_ == -FI_EAGAIN && wl_fi_retry(fi)); \
        (int)wl_fi_result_;                                     \
    })

struct wl_fi_event {
    struct fi_cq_tagged_entry entry;
    int error; /* 0, or a positive errno: the operation failed, and was counted */
    size_t excess; /* bytes that did not fit */
};
/* The next event of the queue, if there is one. */
bool wl_fi_poll(struct wl_fi *fi, struct wl_fi_event *event);
/* Waits for it. False: the timeout has expired. */
bool wl_fi_wait(struct wl_fi *fi, struct wl_fi_event *event);
/* Reports a failed call. Returns -1. */
int wl_fi_failed(struct wl_fi *fi, const char *what, int error);

/*
 * Zeroed memory for transfers, to be freed; NULL: no memory. It begins at a page, and its pages and
 * their neighbours hold no other such memory, so the cost of registering it does not depend on the
 * heap.
 */
void *wl_fi_buffer(size_t bytes);

/* Buffers for operations in flight, which may end in any order. */
struct wl_fi_slot {
    struct wl_fi_slot *next; /* free */
    uint8_t *bytes;
    uint64_t number; /* the program's own */
    uint32_t peer;
};
struct wl_fi_window {
    struct wl_fi_slot *slots, *free; /* free NULL: all are in use */
    uint64_t count;
};
int wl_fi_window_open(struct wl_fi *fi, struct wl_fi_window *window, uint64_t count, size_t bytes);
void wl_fi_window_close(struct wl_fi_window *window);
static inline struct wl_fi_slot *wl_fi_slot_alloc(struct wl_fi_window *window)
{
    struct wl_fi_slot *slot = window->free;

    assert(slot != NULL);
    window->free = slot->next;
    return slot;
}
static inline void wl_fi_slot_free(struct wl_fi_window *window, struct wl_fi_slot *slot)
{
    slot->next = window->free;
    window->free = slot;
}
/* True: the context of the event is a slot of this window. */
static inline bool wl_fi_is_slot(const struct wl_fi_window *window, const void *context)
{
    return (const struct wl_fi_slot *)context >= window->slots &&
           (const struct wl_fi_slot *)context < window->slots + window->count;
}

/* Zeroed memory, registered; `all` has the address and key of each rank. */
struct wl_fi_remote {
    uint64_t address, key;
};
struct wl_fi_memory {
    uint8_t *bytes;
    size_t size;
    struct fid_mr *mr;
    const struct wl_fi_remote *all;
};
int wl_fi_memory_open(struct wl_fi *fi, struct wl_fi_memory *memory, size_t size);
void wl_fi_memory_close(struct wl_fi_memory *memory);

/* The seed of a message's content; it differs with each argument. */
static inline uint64_t wl_fi_seed(uint32_t from, uint32_t to, uint64_t number)
{
    return ((uint64_t)from << 40 ^ (uint64_t)to << 16 ^ number) * 0x9e3779b97f4a7c15ull + number;
}

/* Ranks 0 … n/2-1 work with n/2 … n-1. UINT32_MAX: an odd one out. */
static inline bool wl_fi_leads(const struct wl_fi *fi)
{
    return fi->id < fi->size / 2;
}
static inline uint32_t wl_fi_partner(const struct wl_fi *fi)
{
    uint32_t half = fi->size / 2;

    if (fi->id >= 2 * half)
        return UINT32_MAX;
    return wl_fi_leads(fi) ? fi->id + half : fi->id - half;
}

#endif
