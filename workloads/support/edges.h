/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of each rank at whose limits the next one works: regions of each kind, and transfers whose
 * every answer is known. For put_get_edges and put_get_streams.
 */
#ifndef JACQUARD_WORKLOADS_EDGES_H
#define JACQUARD_WORKLOADS_EDGES_H

#include "gni.h"

#define WL_PAGE 4096u
#define WL_NARROW 4u /* entries of the narrow queue; needs the parameter aries.nic.cq_exact */
#define WL_LONG (256u * 1024)

enum wl_place {
    WL_WRITABLE, /* with events at domain->rx */
    WL_READ_ONLY,
    WL_GONE, /* deregistered */
    WL_QUIET, /* without a queue */
    WL_NARROWED, /* with events at the narrow queue */
    WL_SEGMENTS, /* three pages in another order */
    WL_RESERVED, /* three pages, of which the second one is only reserved */
    WL_PLACES
};

struct wl_edges {
    struct wl_domain domain;
    gni_cq_handle_t narrow;
    uint8_t *memory, *local; /* local: WL_LONG and a page, the source of all transfers */
    struct wl_region mine[WL_PLACES], own; /* own: local memory */
    const struct wl_region *all; /* by rank and place */
    uint32_t next; /* the rank whose memory is used */
};

/* Memory of each place. Behind each lies a page that is not registered and stays zero. */
extern const uint32_t wl_edges_bytes[WL_PLACES];
uint32_t wl_edges_offset(enum wl_place place);

/* All ranks call it. */
int wl_edges_open(struct wl_edges *test, struct rank *rank);
void wl_edges_close(struct wl_edges *test);
/* Runs all tests, round after round; the argument `rounds`. Returns what the workload returns. */
int wl_edges_main(struct rank *rank, int (*const tests[])(struct wl_edges *test), size_t count,
                  int (*check)(struct wl_edges *test));

/* Fills the local memory with its pattern. */
void wl_edges_refill(struct wl_edges *test);
/* A transfer between local memory and a place of the next rank. */
void wl_edges_prepare(struct wl_edges *test, gni_post_descriptor_t *desc, gni_post_type_t type,
                      enum wl_place place, uint64_t offset, uint64_t length);
gni_return_t wl_edges_post(struct wl_edges *test, gni_post_descriptor_t *desc);
/* Waits for an event; `said`: its status. Returns what GNI_GetCompleted returns. */
gni_return_t wl_edges_collect(struct wl_edges *test, gni_post_descriptor_t **desc,
                              gni_cq_entry_t *event, char said[64]);
/* Posts it, and compares what the call, or all of its completions, say with `status`. */
int wl_edges_run(struct wl_edges *test, gni_post_descriptor_t *desc, const char *what,
                 const char *status);

#endif
