/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the programs of this folder share. Each shows one feature of libfabric and is started twice,
 * as server and as client, with any provider:
 *
 *   pingpong -p shm            the server waits on TCP port 9310 (-b PORT: another one)
 *   pingpong -p shm localhost  the client
 *
 * or with the ends of a socket pair, as tests do: -S FD, -C FD. Exit status 0: everything was as it
 * should be; 77: the provider does not offer it, standard output says why; 1: standard error says
 * what is wrong. With -x also that is an error about which libfabric's own providers are lax.
 * -m: manual progress. Nothing hangs: after -t SECONDS (60), or when the other side has gone, it is
 * an error.
 *
 * Any failing call ends the process: a program reads as the story of what should happen.
 */
#ifndef JACQUARD_FUNCTIONAL_COMMON_H
#define JACQUARD_FUNCTIONAL_COMMON_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define API_VERSION FI_VERSION(1, 17)
#define WATCHED_MAX 128

struct side {
    const char *program, *provider;
    const char *source; /* -a: address of this host that the provider shall use, or NULL */
    enum fi_ep_type type;
    bool server;
    bool strict; /* -x */
    int socket; /* to the other side */

    struct fi_info *hints, *info;
    struct fi_cq_attr cq_attr;
    struct fi_av_attr av_attr;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *eq;
    struct fid_pep *pep;
    struct fid_av *av;
    struct fid_cq *tx_cq, *rx_cq;
    struct fid_cntr
        *writes; /* NULL, or counts writes and atomics of endpoints opened from now on */
    struct fid_ep *ep;
    fi_addr_t peer;

    /* Queues and counters that are read to drive the provider while something is waited for. */
    struct fid *watched[WATCHED_MAX];
    unsigned watched_count, idle;
};

/* ---- beginning and end ----------------------------------------------------------------------- */

/* Reads the options, finds the other side, and fills the hints with what every program can do. */
void side_begin(struct side *side, int argc, char **argv);
/* fi_getinfo; skips when there is nothing. */
void side_info(struct side *side);
/* Fabric and domain, for MSG endpoints an EQ; calls side_info where that was not done. Once. */
void side_open(struct side *side);
/* Removes what a process that closed nothing has left of provider shm, which is named after its
 * number: the next process of that number could open no endpoint. */
void side_forget(const struct side *side, pid_t process);
/* Address vector, two CQs, an endpoint that is enabled. MSG endpoints: also their connection. */
void side_endpoint(struct side *side);
/* The other side's name into the address vector. */
void side_meet(struct side *side);
/* All of these. */
void side_start(struct side *side);
/* Closes what the above have opened; each close must succeed. Says "ok". Returns 0. */
int side_end(struct side *side);

struct fid_ep *endpoint_new(struct side *side, struct fi_info *info, struct fid_cq *tx_cq,
                            struct fid_cq *rx_cq);
/* Inserts the other side's endpoint; each side says which of its own it offers. */
fi_addr_t exchange_names(struct side *side, struct fid_ep *mine, struct fid_av *av);
struct fid_cq *cq_new(struct side *side);
struct fid_cntr *cntr_new(struct side *side, enum fi_wait_obj wait);
struct fid_av *av_new(struct side *side);
void watch(struct side *side, struct fid *fid);
void unwatch(struct side *side, struct fid *fid);
void close_fid(struct fid *fid);

/* ---- the other side -------------------------------------------------------------------------- */

/* The same number of bytes each way. */
void side_exchange(struct side *side, const void *mine, void *theirs, size_t bytes);
void side_send(struct side *side, const void *bytes, size_t size);
/* Returns how many there were. */
size_t side_receive(struct side *side, void *bytes, size_t size);
void side_sync(struct side *side);

/* ---- errors ---------------------------------------------------------------------------------- */

#define PRINTF(at) __attribute__((format(printf, at, at + 1)))

void fail(const char *format, ...) PRINTF(1) __attribute__((noreturn));
/* Tells the other side, which then skips as well. */
void skip(struct side *side, const char *format, ...) PRINTF(2) __attribute__((noreturn));
/* What is being done, for messages. */
void step(const char *format, ...) PRINTF(1);
void check_at(const char *file, int line, const char *what, ssize_t status);
void expect_at(const char *file, int line, const char *what, ssize_t status, ssize_t expected);

/* A call that must not fail; its value is not negative. */
#define CHECK(call) check_at(__FILE__, __LINE__, #call, (ssize_t)(call))
/* A call that must give exactly this value. */
#define EXPECT(call, value) expect_at(__FILE__, __LINE__, #call, (ssize_t)(call), (ssize_t)(value))
/* Something that must be true. */
#define HOLDS(condition)                                               \
    do {                                                               \
        if (!(condition))                                              \
            fail("%s:%d: not so: %s", __FILE__, __LINE__, #condition); \
    } while (0)
/* A call that is tried again while it returns -FI_EAGAIN. */
#define POST(side, call)                            \
    do {                                            \
        ssize_t post_;                              \
                                                    \
        while ((post_ = (call)) == -FI_EAGAIN)      \
            drive(side);                            \
        check_at(__FILE__, __LINE__, #call, post_); \
    } while (0)

/* ---- waiting --------------------------------------------------------------------------------- */

/* To be called in loops that wait: drives the provider, sees whether the other side still lives,
 * and gives the processor away from time to time. */
void drive(struct side *side);
/* The next entry; an error entry ends the process. */
struct fi_cq_tagged_entry take(struct side *side, struct fid_cq *cq);
/* Takes it from where it came in the first place. */
struct fi_cq_tagged_entry take_from(struct side *side, struct fid_cq *cq, fi_addr_t *source);
/* The next entry must be an error. */
struct fi_cq_err_entry take_error(struct side *side, struct fid_cq *cq);
/* Like take(), whose context must be this. */
struct fi_cq_tagged_entry take_of(struct side *side, struct fid_cq *cq, const void *context);
/* Nothing comes, though the provider is driven for a while. */
void nothing_comes(struct side *side, struct fid_cq *cq);
/* Waits until the counter has at least that value; more, or an error, is a failure. */
void count_to(struct side *side, struct fid_cntr *cntr, uint64_t value);
/* The next event of an EQ, of this kind; returns its size. */
size_t take_event(struct side *side, uint32_t event, struct fi_eq_cm_entry *entry, size_t size);
double now_seconds(void);

/* ---- memory ---------------------------------------------------------------------------------- */

struct memory {
    uint8_t *bytes;
    size_t size;
    struct fid_mr *mr; /* NULL: not needed */
    void *desc;
};

/* A window of the other side's memory. */
struct window {
    uint64_t address, key;
};

/* Page-aligned, zero; registered if the provider wants it or somebody else accesses it. */
struct memory memory_new(struct side *side, size_t size, uint64_t access);
void memory_free(struct memory *memory);
/* What the other side needs to access this; the key is registered for one of its accesses. */
struct window memory_window(struct side *side, const struct memory *memory);
/* Each side tells the other about a memory. */
struct window exchange_windows(struct side *side, const struct memory *mine);

/* Bytes that depend on the seed, and their check. */
void fill(void *bytes, size_t size, uint64_t seed);
void verify(const void *bytes, size_t size, uint64_t seed);
/* All of them have this value. */
void verify_same(const void *bytes, size_t size, uint8_t value);

#endif
