/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pairs of ranks that test what libfabric promises, each in both directions at once. */
#ifndef JACQUARD_WORKLOADS_FI_PAIR_H
#define JACQUARD_WORKLOADS_FI_PAIR_H

#include "fi.h"

#define WL_PAIR_PAGE 4096u
#define WL_PAIR_LONG 200000u /* bytes of the longest message or transfer */

struct wl_pair {
    struct wl_fi fi;
    uint32_t peer;
    fi_addr_t to;
    uint8_t *in, *out; /* WL_PAIR_LONG bytes and two pages */
    struct fid_cntr *written; /* NULL, or closed with the endpoint */
    struct wl_fi_event event; /* the last one */
};

typedef int wl_pair_test(struct wl_pair *pair);

/* Ends the rank with a message about the last event; -1. */
int wl_pair_fail(struct wl_pair *pair, const char *what);
/* Waits until all ranks are here. */
int wl_pair_meet(struct wl_pair *pair);
/* Takes the next event, which must be that of this context. */
int wl_pair_next(struct wl_pair *pair, const void *context, const char *what);
/* The seed of what this rank sends to its peer (`ours`), or of what it receives from it. */
uint64_t wl_pair_seed(const struct wl_pair *pair, bool ours, uint64_t number);
/*
 * Opens the endpoint, runs all tests as often as the argument `rounds` says, with a meeting of all
 * ranks behind each, and closes everything. The exit code of the rank.
 */
int wl_pair_run(struct rank *rank, int (*open)(struct wl_pair *, struct rank *),
                wl_pair_test *const tests[], size_t count);

#endif
