/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the parts of bench-live share: the pair of processes, and how they end when a call fails. */
#ifndef JACQUARD_BENCH_LIVE_H
#define JACQUARD_BENCH_LIVE_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CACHE_LINE 64
#define SMSG_COUNT 50000u

struct pair;

struct measure {
    const char *name, *unit;
    double (*run)(struct pair *pair, size_t size, unsigned count);
    size_t size;
    unsigned count;
    bool more_is_better;
    double of_shm; /* the goal: this part of shm's time, or this multiple of its rate */
};

#define BENCH_LIVE_MEASURES 9
extern const struct measure bench_live_measures[BENCH_LIVE_MEASURES];

struct subject {
    const char *name, *provider, *source;
    bool safe;
};

/* Shared by the two processes and their parent. Each writer has a cache line of its own. */
struct shared {
    _Alignas(CACHE_LINE) unsigned turn[2]; /* barriers that each has reached */
    _Alignas(CACHE_LINE) unsigned stop;
    _Alignas(CACHE_LINE) double results[BENCH_LIVE_MEASURES];
    double smsg;
    char why[256];
};

struct pair {
    struct shared *shared;
    int socket;
    unsigned self; /* 0 or 1 */
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *tx, *rx;
    struct fid_av *av;
    struct fid_ep *ep;
    fi_addr_t peer;
    uint8_t *out, *in;
    struct fid_mr *mr_out, *mr_in;
    void *desc_out, *desc_in;
    uint64_t address, key; /* of the other one's `in` */
    unsigned sent, received; /* completions */
};

extern struct shared *bench_live_shared; /* of this process and its parent */

/* Ends this process; the text is in the report of its parent. */
void bench_live_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Ends this process unless a call of libfabric has succeeded. */
void bench_live_check(ssize_t status, const char *what);
/* To and from the other process of the pair. */
void bench_live_send(int socket, const void *bytes, size_t size);
void bench_live_receive(int socket, void *bytes, size_t size);

/* All measures of a provider; a ping-pong of SMSG messages. Process 0 writes the results. */
void bench_live_through_libfabric(struct pair *pair, const struct subject *subject);
void bench_live_through_ugni(struct pair *pair);

#endif
