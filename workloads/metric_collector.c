/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rank 0 reads the metric sets of all others at an interval, in the manner of a monitoring daemon
 * (LDMS): GETs whose completions come by a blocking queue behind a completion channel, the
 * channel's descriptor in an epoll set; arm before drain; and a thread of its own that waits for
 * error events.
 *
 * Release 0x5c of uGNI has no completion channels. The build of hw/ then defines
 * WITHOUT_COMPLETION_CHANNELS, and rank 0 waits for the queue itself.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "4KiB", "64", "1MiB", NULL,
     "size of a metric set, rounded up to whole words of 4 bytes"},
    {"rounds", ARG_COUNT, "20", "1", "1000000", NULL, "how often all sets are read"},
    {"interval", ARG_TIME, "1ms", "1us", NULL, NULL, "from one round to the next"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "for reads that do not end"},
    {NULL},
};

/* What rank 0 knows of a rank with a set. */
struct source {
    gni_post_descriptor_t desc; /* first */
    gni_ep_handle_t ep;
    uint64_t began;
    int busy, lost;
};

struct collector {
    struct wl_domain domain;
    struct wl_region mine;
    const struct wl_region *regions; /* by rank */
    struct source *sources; /* by rank */
    uint8_t *memory; /* rank 0: room for every set, by rank; else the set */
    uint64_t bytes;
    uint32_t busy;
    gni_cq_handle_t cq;
#ifndef WITHOUT_COMPLETION_CHANNELS
    gni_comp_chan_handle_t channel;
#endif
    int set; /* epoll */
    gni_err_handle_t errors;
    struct rank_thread *error_thread;
};

static int check(struct collector *collector, gni_return_t rc, const char *what)
{
    if (rc == GNI_RC_SUCCESS)
        return 0;
    return rank_fail(collector->domain.rank, "%s: %s", what, gni_err_str[rc]);
}

/* ---- error events ---------------------------------------------------------------------------- */

static int watch_errors(struct rank *rank, void *arg)
{
    struct collector *collector = arg;
    gni_error_event_t event;
    uint32_t count = 0;
    gni_return_t rc;

    for (;;) {
        rc = GNI_WaitErrorEvents(collector->errors, &event, 1, 0, &count);
        if (rc == GNI_RC_NOT_DONE)
            continue; /* a signal */
        if (rc != GNI_RC_SUCCESS || count != 1)
            return rank_fail(rank, "GNI_WaitErrorEvents: %s, %u events", gni_err_str[rc], count);
        rank_count(rank, "error_events", count);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

#ifndef WITHOUT_COMPLETION_CHANNELS
static int open_channel(struct collector *collector)
{
    struct wl_domain *domain = &collector->domain;
    struct epoll_event event = {.events = EPOLLIN};
    int fd = -1;

    if (check(collector, GNI_CompChanCreate(domain->nic, &collector->channel),
              "GNI_CompChanCreate") != 0 ||
        check(collector, GNI_CompChanFd(collector->channel, &fd), "GNI_CompChanFd") != 0 ||
        check(collector, GNI_CqAttachCompChan(collector->cq, collector->channel),
              "GNI_CqAttachCompChan") != 0 ||
        check(collector, GNI_CqArmCompChan(&collector->cq, 1), "GNI_CqArmCompChan") != 0)
        return -1;
    collector->set = epoll_create1(EPOLL_CLOEXEC);
    if (collector->set < 0 || epoll_ctl(collector->set, EPOLL_CTL_ADD, fd, &event) != 0)
        return rank_fail(domain->rank, "no epoll set");
    return 0;
}

static void close_channel(struct collector *collector)
{
    if (collector->channel != NULL)
        check(collector, GNI_CompChanDestroy(collector->channel), "GNI_CompChanDestroy");
}
#else
static int open_channel(struct collector *collector)
{
    return 0;
}

static void close_channel(struct collector *collector)
{
}
#endif

static int open_queue(struct collector *collector)
{
    struct wl_domain *domain = &collector->domain;

    return check(
        collector,
        GNI_CqCreate(domain->nic, 4 * domain->size, 0, GNI_CQ_BLOCKING, NULL, NULL, &collector->cq),
        "GNI_CqCreate");
}

static int open_sources(struct collector *collector)
{
    struct wl_domain *domain = &collector->domain;
    uint32_t i;

    collector->sources = calloc(domain->size, sizeof(*collector->sources));
    if (collector->sources == NULL)
        return rank_fail(domain->rank, "out of memory");
    for (i = 1; i < domain->size; i++) {
        struct source *source = &collector->sources[i];

        if (check(collector, GNI_EpCreate(domain->nic, collector->cq, &source->ep),
                  "GNI_EpCreate") != 0 ||
            check(collector, GNI_EpBind(source->ep, domain->addresses[i], i), "GNI_EpBind") != 0)
            return -1;
    }
    return 0;
}

static int open_collector(struct collector *collector)
{
    struct wl_domain *domain = &collector->domain;

    /* Mask 0 and 64 events, as LDMS subscribes. */
    if (check(collector, GNI_SubscribeErrors(domain->nic, 0, 0, 64, &collector->errors),
              "GNI_SubscribeErrors") != 0)
        return -1;
    collector->error_thread = rank_thread_start(domain->rank, watch_errors, collector);
    if (collector->error_thread == NULL)
        return rank_fail(domain->rank, "no thread");
    return open_queue(collector) != 0 || open_channel(collector) != 0 ||
                   open_sources(collector) != 0
               ? -1
               : 0;
}

static void close_collector(struct collector *collector)
{
    struct wl_domain *domain = &collector->domain;
    uint32_t i;

    if (collector->error_thread != NULL) {
        rank_thread_cancel(domain->rank, collector->error_thread);
        rank_thread_join(domain->rank, collector->error_thread);
        check(collector, GNI_ReleaseErrors(collector->errors), "GNI_ReleaseErrors");
    }
    for (i = 1; collector->sources != NULL && i < domain->size; i++)
        if (collector->sources[i].ep != NULL)
            GNI_EpDestroy(collector->sources[i].ep);
    free(collector->sources);
    if (collector->set >= 0)
        close(collector->set);
    close_channel(collector);
    if (collector->cq != NULL)
        check(collector, GNI_CqDestroy(collector->cq), "GNI_CqDestroy");
}

/* ---- collecting ------------------------------------------------------------------------------ */

static int read_set(struct collector *collector, uint32_t from)
{
    struct source *source = &collector->sources[from];

    source->desc = (gni_post_descriptor_t){
        .type = GNI_POST_RDMA_GET,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .local_addr = (uintptr_t)collector->memory + from * collector->bytes,
        .local_mem_hndl = collector->mine.handle,
        .remote_addr = collector->regions[from].address,
        .remote_mem_hndl = collector->regions[from].handle,
        .length = collector->bytes,
    };
    memset(collector->memory + from * collector->bytes, 0, collector->bytes);
    source->began = rank_now();
    source->busy = 1;
    collector->busy++;
    return check(collector, GNI_PostRdma(source->ep, &source->desc), "GNI_PostRdma");
}

/* A read has ended. One that failed is not repeated: the next round comes soon. */
static int collected(struct collector *collector, gni_cq_entry_t event, gni_return_t rc)
{
    struct rank *rank = collector->domain.rank;
    gni_post_descriptor_t *desc = NULL;
    struct source *source;
    uint32_t recoverable = 0;

    if (GNI_GetCompleted(collector->cq, event, &desc) != rc)
        return rank_fail(rank, "an event that GNI_GetCompleted sees in another way");
    source = (struct source *)desc;
    source->busy = 0;
    collector->busy--;
    collector->domain.progress_count++;
    rank_progress(rank);
    if (rc == GNI_RC_TRANSACTION_ERROR) {
        rank_count(rank, "failed_reads", 1);
        GNI_CqErrorRecoverable(event, &recoverable);
        source->lost = recoverable == 0;
        return 0;
    }
    if (wl_pattern_differs((void *)(uintptr_t)desc->local_addr, collector->bytes,
                           (uint64_t)(source - collector->sources)))
        return rank_fail(rank, "the set of rank %u is wrong",
                         (unsigned)(source - collector->sources));
    rank_record_latency(rank, "latency", rank_now() - source->began);
    rank_count(rank, "reads", 1);
    return 0;
}

static int drain(struct collector *collector)
{
    gni_cq_entry_t event;
    gni_return_t rc;

    while ((rc = GNI_CqGetEvent(collector->cq, &event)) != GNI_RC_NOT_DONE) {
        if (rc != GNI_RC_SUCCESS && rc != GNI_RC_TRANSACTION_ERROR)
            return check(collector, rc, "GNI_CqGetEvent");
        if (collected(collector, event, rc) != 0)
            return -1;
    }
    return 0;
}

#ifndef WITHOUT_COMPLETION_CHANNELS
/* The channel fired: arm first, then drain, so that nothing that comes meanwhile is missed. */
static int rearm(struct collector *collector)
{
    gni_cq_handle_t cq = NULL;

    if (check(collector, GNI_CompChanGetEvent(collector->channel, &cq), "GNI_CompChanGetEvent") !=
            0 ||
        check(collector, GNI_CqArmCompChan(&cq, 1), "GNI_CqArmCompChan") != 0)
        return -1;
    rank_count(collector->domain.rank, "wakeups", 1);
    return 0;
}

/* Waits for reads to end, at most `ps`, and collects them. */
static int await(struct collector *collector, uint64_t ps)
{
    struct pollfd poller = {.fd = collector->set, .events = POLLIN};
    struct epoll_event event;

    if (rank_poll(collector->domain.rank, &poller, 1, ps) > 0 &&
        epoll_wait(collector->set, &event, 1, 0) == 1 &&
        (rearm(collector) != 0 || drain(collector) != 0))
        return -1;
    return 0;
}
#else
static int await(struct collector *collector, uint64_t ps)
{
    gni_cq_entry_t event;
    gni_return_t rc = GNI_CqWaitEvent(collector->cq, ps / 1000000000 + 1, &event);

    if (rc == GNI_RC_TIMEOUT)
        return 0;
    if (rc != GNI_RC_SUCCESS && rc != GNI_RC_TRANSACTION_ERROR)
        return check(collector, rc, "GNI_CqWaitEvent");
    rank_count(collector->domain.rank, "wakeups", 1);
    return collected(collector, event, rc) != 0 ? -1 : drain(collector);
}
#endif

/* Serves the queue until `until`, or until no read is out when `all`. */
static int serve(struct collector *collector, uint64_t until, int all)
{
    uint64_t now;

    while (!all || collector->busy > 0) {
        now = rank_now();
        if (now >= until)
            return 0;
        if (await(collector, until - now) != 0)
            return -1;
    }
    return 0;
}

static int collect(struct collector *collector, uint64_t rounds, uint64_t interval)
{
    uint64_t next = rank_now(), i;
    uint32_t from;

    for (i = 0; i < rounds; i++) {
        for (from = 1; from < collector->domain.size; from++) {
            struct source *source = &collector->sources[from];

            if (!source->busy && !source->lost && read_set(collector, from) != 0)
                return -1;
        }
        next += interval;
        if (serve(collector, next, 0) != 0)
            return -1;
    }
    return 0;
}

static int run(struct rank *rank)
{
    struct collector collector = {.bytes = (rank_arg_count(rank, "bytes") + 3) & ~UINT64_C(3),
                                  .set = -1};
    struct wl_domain *domain = &collector.domain;
    uint64_t give_up = rank_arg_ps(rank, "give_up");
    int status = wl_domain_open(domain, rank, 64, GNI_CDM_MODE_ERR_NO_KILL);

    if (status == 0) {
        collector.memory = wl_region_alloc(
            domain, (rank_id(rank) == 0 ? domain->size : 1) * collector.bytes, 0, &collector.mine);
        if (rank_id(rank) != 0 && collector.memory != NULL)
            wl_pattern_fill(collector.memory, collector.bytes, rank_id(rank));
        collector.regions = rank_exchange(rank, &collector.mine, sizeof(collector.mine));
        status = collector.memory != NULL && collector.regions != NULL ? 0 : -1;
    }
    if (rank_id(rank) == 0 && status == 0) {
        status = open_collector(&collector);
        if (status == 0)
            status =
                collect(&collector, rank_arg_count(rank, "rounds"), rank_arg_ps(rank, "interval"));
        if (status == 0)
            status = serve(&collector, rank_now() + give_up, 1);
        if (status == 0 && collector.busy > 0)
            status = rank_fail(rank, "%u reads did not end", collector.busy);
        close_collector(&collector);
    }
    if (wl_domain_finish(domain, 0) != 0)
        status = -1;
    if (collector.memory != NULL)
        wl_region_free(domain, collector.memory, &collector.mine);
    wl_domain_close(domain);
    return status != 0;
}

static const struct workload metric_collector = {
    .name = "metric_collector",
    .meaning = "rank 0 reads the others' metric sets at an interval, by a completion channel",
    .metrics = "latency (ps, of a read), reads, failed_reads, wakeups, error_events (count)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(metric_collector)
