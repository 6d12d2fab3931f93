/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* bench-live: what is measured through libfabric, with any provider. */
#include "live.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define LARGEST ((size_t)4 << 20)
#define STREAM_WINDOW 256u
#define BULK_WINDOW 16u

static double latency(struct pair *pair, size_t size, unsigned count);
static double stream(struct pair *pair, size_t size, unsigned count);
static double bandwidth(struct pair *pair, size_t size, unsigned count);
static double write_latency(struct pair *pair, size_t size, unsigned count);

const struct measure bench_live_measures[BENCH_LIVE_MEASURES] = {
    {"tagged ping-pong 8 B, one way", "us", latency, 8, 20000, false, 1},
    {"tagged ping-pong 64 KiB, one way", "us", latency, 65536, 2000, false, 1},
    {"tagged ping-pong 1 MiB, one way", "us", latency, 1u << 20, 200, false, 1},
    {"tagged stream 8 B", "M messages/s", stream, 8, 200000, true, 1},
    {"bandwidth 64 KiB", "GB/s", bandwidth, 65536, 4000, true, 1},
    {"bandwidth 256 KiB", "GB/s", bandwidth, 262144, 1000, true, 1},
    {"bandwidth 1 MiB", "GB/s", bandwidth, 1u << 20, 400, true, 1},
    {"bandwidth 4 MiB", "GB/s", bandwidth, LARGEST, 100, true, 1},
    {"RMA write 8 B", "us", write_latency, 8, 20000, false, 0.25},
};

static void open_endpoint(struct pair *pair, const struct subject *subject)
{
    struct fi_info *hints = fi_allocinfo();
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .size = 1024};
    struct fi_av_attr av = {.type = FI_AV_TABLE};

    hints->fabric_attr->prov_name = strdup(subject->provider);
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_TAGGED | FI_RMA;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    if (!subject->safe) {
        hints->domain_attr->threading = FI_THREAD_DOMAIN;
        hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
        hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    }
    bench_live_check(fi_getinfo(FI_VERSION(1, 17), subject->source, NULL,
                                subject->source != NULL ? FI_SOURCE : 0, hints, &pair->info),
                     "fi_getinfo");
    fi_freeinfo(hints);
    bench_live_check(fi_fabric(pair->info->fabric_attr, &pair->fabric, NULL), "fi_fabric");
    bench_live_check(fi_domain(pair->fabric, pair->info, &pair->domain, NULL), "fi_domain");
    bench_live_check(fi_cq_open(pair->domain, &cq, &pair->tx, NULL), "fi_cq_open");
    bench_live_check(fi_cq_open(pair->domain, &cq, &pair->rx, NULL), "fi_cq_open");
    bench_live_check(fi_av_open(pair->domain, &av, &pair->av, NULL), "fi_av_open");
    bench_live_check(fi_endpoint(pair->domain, pair->info, &pair->ep, NULL), "fi_endpoint");
    bench_live_check(fi_ep_bind(pair->ep, &pair->tx->fid, FI_TRANSMIT), "fi_ep_bind");
    bench_live_check(fi_ep_bind(pair->ep, &pair->rx->fid, FI_RECV), "fi_ep_bind");
    bench_live_check(fi_ep_bind(pair->ep, &pair->av->fid, 0), "fi_ep_bind");
    bench_live_check(fi_enable(pair->ep), "fi_enable");
}

static uint8_t *buffer(struct pair *pair, uint64_t access, uint64_t key, struct fid_mr **mr,
                       void **desc)
{
    uint8_t *bytes = aligned_alloc(4096, LARGEST);

    memset(bytes, 0, LARGEST);
    bench_live_check(fi_mr_reg(pair->domain, bytes, LARGEST, access, 0, key, 0, mr, NULL),
                     "fi_mr_reg");
    *desc = fi_mr_desc(*mr);
    return bytes;
}

static void meet(struct pair *pair)
{
    struct {
        size_t size;
        uint8_t name[256];
        uint64_t address, key;
    } own, other;

    memset(&own, 0, sizeof(own));
    own.size = sizeof(own.name);
    bench_live_check(fi_getname(&pair->ep->fid, own.name, &own.size), "fi_getname");
    if (pair->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
        own.address = (uint64_t)(uintptr_t)pair->in;
    own.key = fi_mr_key(pair->mr_in);
    bench_live_send(pair->socket, &own, sizeof(own));
    bench_live_receive(pair->socket, &other, sizeof(other));
    if (fi_av_insert(pair->av, other.name, 1, &pair->peer, 0, NULL) != 1)
        bench_live_fail("fi_av_insert: no such address");
    pair->address = other.address;
    pair->key = other.key;
}

static void poll_queue(struct fid_cq *cq, unsigned *count)
{
    struct fi_cq_tagged_entry entries[16];
    ssize_t got = fi_cq_read(cq, entries, 16);

    if (got > 0) {
        *count += (unsigned)got;
    } else if (got != -FI_EAGAIN) {
        struct fi_cq_err_entry error = {.err_data_size = 0};

        fi_cq_readerr(cq, &error, 0);
        bench_live_fail("an operation failed: %s", fi_strerror(error.err));
    }
}

static void progress(struct pair *pair)
{
    poll_queue(pair->tx, &pair->sent);
    poll_queue(pair->rx, &pair->received);
}

/* A barrier of the two processes, which progress the provider while they wait. */
static void barrier(struct pair *pair)
{
    unsigned turn = ++pair->shared->turn[pair->self];

    while ((int)(__atomic_load_n(&pair->shared->turn[1 - pair->self], __ATOMIC_ACQUIRE) - turn) < 0)
        progress(pair);
}

static void send_one(struct pair *pair, size_t size)
{
    ssize_t status;

    while ((status = fi_tsend(pair->ep, pair->out, size, pair->desc_out, pair->peer, 1, NULL)) ==
           -FI_EAGAIN)
        progress(pair);
    bench_live_check(status, "fi_tsend");
}

static void post_one(struct pair *pair, size_t size)
{
    ssize_t status;

    while ((status = fi_trecv(pair->ep, pair->in, size, pair->desc_in, pair->peer, 1, 0, NULL)) ==
           -FI_EAGAIN)
        progress(pair);
    bench_live_check(status, "fi_trecv");
}

static void begin(struct pair *pair)
{
    barrier(pair);
    pair->sent = pair->received = 0;
    barrier(pair);
}

static double latency(struct pair *pair, size_t size, unsigned count)
{
    unsigned i, warm = count / 10;
    double started = 0;

    begin(pair);
    post_one(pair, size);
    barrier(pair);
    for (i = 0; i < warm + count; i++) {
        if (i == warm)
            started = bench_seconds();
        if (pair->self == 0)
            send_one(pair, size);
        while (pair->received <= i)
            poll_queue(pair->rx, &pair->received);
        if (i + 1 < warm + count)
            post_one(pair, size);
        if (pair->self == 1)
            send_one(pair, size);
        while (pair->sent <= i)
            poll_queue(pair->tx, &pair->sent);
    }
    return (bench_seconds() - started) / count / 2 * 1e6;
}

/* Keeps as many messages in flight as the window; the last answer confirms that all have arrived.
 */
static double flow(struct pair *pair, size_t size, unsigned count, unsigned window)
{
    unsigned i, posted = 0;
    double started;

    begin(pair);
    if (pair->self == 1)
        while (posted < window && posted < count) {
            post_one(pair, size);
            posted++;
        }
    else
        post_one(pair, 8);
    barrier(pair);
    started = bench_seconds();
    if (pair->self == 0) {
        for (i = 0; i < count; i++) {
            while (i - pair->sent >= window)
                poll_queue(pair->tx, &pair->sent);
            send_one(pair, size);
        }
        while (pair->sent < count || pair->received == 0)
            progress(pair);
    } else {
        while (pair->received < count) {
            poll_queue(pair->rx, &pair->received);
            while (posted < count && posted - pair->received < window) {
                post_one(pair, size);
                posted++;
            }
        }
        send_one(pair, 8);
        while (pair->sent == 0)
            poll_queue(pair->tx, &pair->sent);
    }
    return bench_seconds() - started;
}

static double stream(struct pair *pair, size_t size, unsigned count)
{
    flow(pair, size, count / 10, STREAM_WINDOW);
    return count / flow(pair, size, count, STREAM_WINDOW) / 1e6;
}

static double bandwidth(struct pair *pair, size_t size, unsigned count)
{
    flow(pair, size, count / 10, BULK_WINDOW);
    return (double)count * (double)size / flow(pair, size, count, BULK_WINDOW) / 1e9;
}

/* One operation after the other, each to its completion, while the target polls its queue. */
static double write_latency(struct pair *pair, size_t size, unsigned count)
{
    unsigned i, warm = count / 10;
    double started = 0;
    ssize_t status;

    pair->shared->stop = 0;
    begin(pair);
    if (pair->self == 0) {
        for (i = 0; i < warm + count; i++) {
            if (i == warm)
                started = bench_seconds();
            while ((status = fi_write(pair->ep, pair->out, size, pair->desc_out, pair->peer,
                                      pair->address, pair->key, NULL)) == -FI_EAGAIN)
                progress(pair);
            bench_live_check(status, "fi_write");
            while (pair->sent <= i)
                poll_queue(pair->tx, &pair->sent);
        }
        started = bench_seconds() - started;
        __atomic_store_n(&pair->shared->stop, 1, __ATOMIC_RELEASE);
    } else {
        while (__atomic_load_n(&pair->shared->stop, __ATOMIC_ACQUIRE) == 0)
            progress(pair);
    }
    barrier(pair);
    return started / count * 1e6;
}

static void close_all(struct pair *pair)
{
    barrier(pair);
    bench_live_check(fi_close(&pair->ep->fid), "fi_close");
    bench_live_check(fi_close(&pair->mr_in->fid), "fi_close");
    bench_live_check(fi_close(&pair->mr_out->fid), "fi_close");
    bench_live_check(fi_close(&pair->av->fid), "fi_close");
    bench_live_check(fi_close(&pair->tx->fid), "fi_close");
    bench_live_check(fi_close(&pair->rx->fid), "fi_close");
    bench_live_check(fi_close(&pair->domain->fid), "fi_close");
    bench_live_check(fi_close(&pair->fabric->fid), "fi_close");
}

void bench_live_through_libfabric(struct pair *pair, const struct subject *subject)
{
    double result;
    unsigned i;

    open_endpoint(pair, subject);
    pair->out = buffer(pair, FI_SEND | FI_WRITE, 1, &pair->mr_out, &pair->desc_out);
    pair->in = buffer(pair, FI_RECV | FI_REMOTE_WRITE, 2, &pair->mr_in, &pair->desc_in);
    meet(pair);
    for (i = 0; i < BENCH_LIVE_MEASURES; i++) {
        result = bench_live_measures[i].run(pair, bench_live_measures[i].size,
                                            bench_live_measures[i].count);
        if (pair->self == 0)
            pair->shared->results[i] = result;
    }
    close_all(pair);
}
