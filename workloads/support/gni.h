/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The start of every uGNI workload: a communication domain,
 * its queues, endpoints made when first needed, registered memory known to all ranks, one-sided
 * operations that are repeated after recoverable errors, and mailboxes. All of it is plain
 * gni_pub.h.
 *
 * Functions that return int return 0 for success, and -1 when the run has failed; then they have
 * called rank_fail().
 */
#ifndef JACQUARD_WORKLOADS_GNI_H
#define JACQUARD_WORKLOADS_GNI_H

#include <assert.h>
#include <gni_pub.h>
#include <stdlib.h>
#include <string.h>
#include "pattern.h"
#include "run/workload.h"

/* ---- communication domain -------------------------------------------------------------------- */

struct wl_peer {
    gni_ep_handle_t ep; /* NULL: never needed so far */
    uint32_t unread; /* events that came before their message */
    uint64_t failing_since; /* time of the first of the last operations that all failed; 0: none */
    uint8_t connected; /* the mailboxes are connected */
    uint8_t lost; /* given up: nothing more is sent to it */
};

struct wl_domain {
    struct rank *rank;
    uint32_t id, size;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t tx, rx; /* of this rank's operations, and of remote writes into its memory */
    const uint32_t *addresses; /* PE address of each rank */
    struct wl_peer *peers; /* by rank */
    uint64_t in_flight; /* operations and messages without completion */
    uint64_t errors; /* transactions that failed */
    uint64_t repeats; /* of these, operations that were posted again */
    uint64_t lost; /* operations and messages that cannot succeed */
    uint32_t gone; /* peers that are given up */
    uint64_t timeout; /* ps; 0: for ever */
    uint64_t progress_count,
        progress_before; /* completions and arrivals; their number at the last alarm */
    uint32_t idle_alarms; /* alarms in a row without progress between them */
    struct wl_operation *done, **done_tail; /* completed while the rank waited for something else */
    struct wl_mailboxes *mailboxes;
};

/* `entries`: of each queue; bounds the operations in flight. modes: GNI_CDM_MODE_. */
int wl_domain_open(struct wl_domain *domain, struct rank *rank, uint32_t entries, uint32_t modes);
/* No other rank may use this rank's memory any more. Adds the errors to the metric "errors". */
void wl_domain_close(struct wl_domain *domain);
/*
 * Limits waiting: the waiting functions return when nothing has completed or arrived for about 2 to
 * 3 times this time (ps). Without this call they wait for ever. Twice the time must exceed the
 * retries of the NIC and the library (SMSG: 11 timeouts of 2 s).
 */
void wl_domain_set_timeout(struct wl_domain *domain, uint64_t ps);
/* For polling loops, after an empty poll: true when the timeout has expired. Takes no virtual time.
 */
int wl_domain_timed_out(struct wl_domain *domain);

/* Totals of the whole job. All living ranks must call wl_domain_totals(). */
struct wl_totals {
    uint64_t errors, lost;
    uint32_t dead; /* ranks that did not take part */
};
int wl_domain_totals(struct wl_domain *domain, struct wl_totals *totals);
/*
 * The end of the traffic; all ranks call it. Afterwards no rank uses our memory. `missing` is the
 * number of messages that did not arrive here or are wrong. It is counted, and is a failure unless
 * a rank died or a transfer was given up, which is reported elsewhere.
 */
int wl_domain_finish(struct wl_domain *domain, uint64_t missing);
/* The endpoint to a rank; NULL: the run has failed. Its events at the peer carry our rank. */
gni_ep_handle_t wl_domain_ep(struct wl_domain *domain, uint32_t peer);

/* ---- memory ---------------------------------------------------------------------------------- */

struct wl_region { /* what others must know to reach it */
    uint64_t address;
    gni_mem_handle_t handle;
};

/* Registers zeroed memory; with_events: at domain->rx. NULL: the run has failed. */
void *wl_region_alloc(struct wl_domain *domain, size_t bytes, int with_events,
                      struct wl_region *region);
/*
 * The same for synthetic traffic whose bytes are not verified: ranks in one process, as in a
 * simulation, share this memory, so thousands of them use the cache only once. The memory is never
 * freed; GNI_MemDeregister ends the registration.
 */
void *wl_region_alloc_common(struct wl_domain *domain, size_t bytes, struct wl_region *region);
void wl_region_free(struct wl_domain *domain, void *memory, struct wl_region *region);

/* Spins until the word that a peer writes has this value. False: the timeout has expired. */
int wl_word_wait(struct wl_domain *domain, const volatile uint64_t *word, uint64_t value);

/* ---- one-sided operations -------------------------------------------------------------------- */

struct wl_operation {
    gni_post_descriptor_t desc; /* first; zero-fill, then set type, addresses, handles, length */
    gni_ep_handle_t ep;
    int failed; /* it cannot succeed (the peer is gone) */
    int overran; /* its event at the target found the queue full */
    uint32_t tries; /* that failed */
    uint64_t failed_first; /* time of the first of them; 0: none */
    uint64_t began;
    struct wl_operation *next; /* the program's own list, and of those done */
};

/*
 * Posts with one GLOBAL event on domain->tx. To a peer that is lost it is not posted, and ends as
 * failed.
 */
int wl_operation_post(struct wl_domain *domain, struct wl_operation *operation);
/*
 * The next operation that has ended, in whatever order; NULL: none now. What failed and may succeed
 * is posted again and not shown.
 */
struct wl_operation *wl_operation_poll(struct wl_domain *domain);
/* Polls until one has ended. NULL: the timeout has expired. */
struct wl_operation *wl_operation_wait(struct wl_domain *domain);
int wl_operation_run(struct wl_domain *domain,
                     struct wl_operation *operation); /* post and wait; one in flight */
/* Arguments `operation` (put, get) and `unit` (fma, bte) as type, `routing` (adaptive, in_order,
 * min_hash) as mode. */
gni_post_type_t wl_operation_type_arg(const struct rank *rank);
uint16_t wl_operation_mode_arg(const struct rank *rank);
static inline int wl_operation_is_get(gni_post_type_t type)
{
    return type == GNI_POST_FMA_GET || type == GNI_POST_RDMA_GET;
}

/* Handles one completion, if there is one: of an operation or of a message. */
void wl_poll_completions(struct wl_domain *domain);

/* ---- messages -------------------------------------------------------------------------------- */

/*
 * Mailboxes of one rank: `slots` of them in one registered buffer. All ranks call it, credits and
 * bytes must be the same everywhere. With one for each rank (slots == size) peers are connected
 * when first needed.
 */
int wl_mailboxes_open(struct wl_domain *domain, uint32_t slots, uint16_t credits, uint32_t bytes,
                      int retransmit);
void wl_mailboxes_close(struct wl_domain *domain);
/* Connects to a peer: our mailbox for it, and its mailbox for us. No effect when that was done. */
int wl_message_connect(struct wl_domain *domain, uint32_t peer, uint32_t my_slot,
                       uint32_t peer_slot);
/* The same in two halves, for programs that exchange the attributes in their own way. */
void wl_message_mailbox(struct wl_domain *domain, uint32_t my_slot, gni_smsg_attr_t *mine);
int wl_message_connect_to(struct wl_domain *domain, uint32_t peer, gni_smsg_attr_t *mine,
                          gni_smsg_attr_t *theirs);
/*
 * 1: accepted; 0: no credit or room now; -1: failed. A message to a peer that is lost is accepted,
 * counted in domain->lost, and forgotten.
 */
int wl_message_try(struct wl_domain *domain, uint32_t peer, const void *data, uint32_t bytes);
/*
 * Tries again until it is accepted; for programs in which another rank receives meanwhile. When the
 * timeout has expired, the peer is given up.
 */
int wl_message_send(struct wl_domain *domain, uint32_t peer, const void *data, uint32_t bytes);
/* Collects completions of sends. */
void wl_message_poll_completions(struct wl_domain *domain);
/* Until all sends are in their mailboxes, or the timeout has expired. */
void wl_message_flush(struct wl_domain *domain);
/* The next message and its sender; valid until wl_message_release(). NULL: none now. */
void *wl_message_poll(struct wl_domain *domain, uint32_t *from);
/* NULL: the timeout has expired. */
void *wl_message_wait(struct wl_domain *domain, uint32_t *from);
void wl_message_release(struct wl_domain *domain, uint32_t from);

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Ranks 0 … n/2-1 work with n/2 … n-1. UINT32_MAX: an odd one out. */
uint32_t wl_pair_of(const struct wl_domain *domain);
static inline int wl_pair_leads(const struct wl_domain *domain)
{
    return domain->id < domain->size / 2;
}

const char *wl_rc_name(gni_return_t rc);

#endif
