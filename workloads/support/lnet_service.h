/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A service and its clients, as kernel code on LNet has them: threads that wait in wait queues for
 * what callbacks of event queues bring, bulk data that the server moves, timeouts, a work that
 * pings the server now and then. It uses the names of the kernel and of LNet only, so it runs in a
 * simulation and in an ordinary process.
 */
#ifndef JACQUARD_WORKLOADS_LNET_SERVICE_H
#define JACQUARD_WORKLOADS_LNET_SERVICE_H

#include <lnet/api.h>
#include <libcfs/libcfs.h>

enum { WL_SERVICE_BYTES_MAX = 1 << 20 };

/* LNet runs. NULL: *error is text. */
struct wl_service;
struct wl_service *wl_service_start(unsigned threads, const char **error);
unsigned wl_service_handled(const struct wl_service *service); /* requests so far, without pings */
/* Waits until it has handled so many; at most for the time in jiffies. Whether it has. */
bool wl_service_wait(struct wl_service *service, unsigned requests, long timeout);
void wl_service_stop(struct wl_service *service); /* nobody sends to it any more */

struct wl_service_load {
    const lnet_nid_t *servers;
    unsigned server_count;
    unsigned threads, requests, bytes; /* requests of each thread; bytes of the bulk data */
    unsigned write_percent; /* of the requests: the server reads the data; else it writes it */
    unsigned timeout_ms; /* of a request, after which it is sent again */
    unsigned attempts; /* of each request */
    unsigned ping_ms; /* 0: no pings */
    uint64_t seed; /* other clients have others */
};
struct wl_service_result {
    unsigned requests, timeouts, pings, ticks; /* ticks: of a timer, each 1 ms */
    unsigned wrong; /* data that is not what it should be, or errors of calls */
    unsigned lost; /* requests that have failed for good */
};
/* LNet runs. NULL, or text: it has not begun. */
const char *wl_service_use(const struct wl_service_load *load, struct wl_service_result *result);

#endif
