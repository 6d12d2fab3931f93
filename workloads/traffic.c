/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Synthetic traffic: every rank puts messages to the ranks that a pattern names, as fast as its
 * window allows or at an offered load. One rank per node is what the patterns mean.
 *
 * With an offered load a message is due at a time of its own, whether there is room in the window
 * or not, and its latency counts from then on (open loop); else it counts from the post.
 *
 * Bandwidths are taken between the warm-up and the end of sending. They count what the NIC has
 * moved, packet by packet: whole messages would count data that was moved before. With `duration`
 * both halves of that time must carry about the same, and with an offered load about as many
 * messages must be under way at its end as at its beginning, or the warm-up was too short.
 */
#include <inttypes.h>
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"pattern", ARG_CHOICE, "uniform", NULL, NULL,
     "uniform|neighbour|complement|incast|adversarial|tornado",
     "to: any rank; the next and the one before in turn; n-1-i; rank 0; any rank of the next "
     "group; "
     "i + shift"},
    {"bytes", ARG_BYTES, "4KiB", "1", "64MiB", NULL, "size of each message"},
    {"unit", ARG_CHOICE, "fma", NULL, NULL, "fma|bte", "unit of the NIC"},
    {"routing", ARG_CHOICE, "adaptive0", NULL, NULL,
     "adaptive0|adaptive1|adaptive2|adaptive3|min_hash|in_order|nmin_hash", "delivery mode"},
    {"window", ARG_COUNT, "8", "1", "4096", NULL, "messages in flight per rank"},
    {"messages", ARG_COUNT, "100", "1", NULL, NULL, "of each rank, after the warm-up"},
    {"duration", ARG_TIME, "0", "0", NULL, NULL, "for so long after the warm-up; 0: by messages"},
    {"warmup", ARG_TIME, "0", "0", NULL, NULL, "nothing is recorded before"},
    {"drift", ARG_REAL, "0.15", "0", "10", NULL,
     "with `duration`: the run fails when the rates of its halves differ by more than this part, "
     "or "
     "the messages under way by more than this part of the windows"},
    {"load", ARG_REAL, "0", "0", "4", NULL,
     "offered load, as a part of `injection`; 0: as fast as the window allows"},
    {"injection", ARG_REAL, "10", "0.001", "1000", NULL, "what load 1 means, GB/s per rank"},
    {"group", ARG_COUNT, "384", "1", NULL, NULL, "nodes of a group (adversarial)"},
    {"shift", ARG_COUNT, "0", "0", NULL, NULL, "of tornado; 0: half of the ranks"},
    {NULL},
};

struct slot { /* of the window */
    struct wl_operation operation; /* first: what comes back is this */
    gni_ep_handle_t ep; /* bound to `peer` */
    uint32_t peer;
    uint64_t since;
    struct slot *next; /* free */
};

struct sample {
    uint64_t time, bytes; /* moved until then */
    uint64_t backlog; /* messages under way */
};

struct traffic {
    struct wl_domain domain;
    struct rank *rank;
    const char *pattern;
    gni_post_type_t type;
    uint16_t mode;
    uint64_t bytes, window, messages, duration, interval, group, shift;
    void *memory; /* the buffer to send, then those that others write; the content is not checked */
    struct wl_region mine;
    const struct wl_region *regions; /* by rank */
    struct slot *slots, *free;
    uint64_t target_group; /* adversarial */
    uint64_t sent, in_flight;
    uint64_t due; /* of the next message */
    uint64_t from, until; /* what completes then is recorded */
    uint64_t recorded; /* messages */
    uint64_t completed_bytes; /* of messages, where the NIC's bytes are not counted */
    struct sample samples[3]; /* at the end of the warm-up, in the middle, when sending ends */
    unsigned sampled; /* number of them */
    bool shared; /* other ranks of the job use the same NIC */
};

/* ---- whom to send to ------------------------------------------------------------------------- */

static uint32_t any_rank(struct traffic *test)
{
    uint32_t size = test->domain.size;

    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): ranks_min is 2 */
    return (uint32_t)((test->domain.id + 1 + rank_random(test->rank) % (size - 1)) % size);
}

/* The next group, of those that the job has nodes of. */
static uint64_t next_group(const struct traffic *test)
{
    uint64_t own = rank_node(test->rank) / test->group, next = UINT64_MAX, first = UINT64_MAX;
    uint32_t i;

    for (i = 0; i < test->domain.size; i++) {
        uint64_t group = rank_node_of(test->rank, i) / test->group;

        if (group > own && group < next)
            next = group;
        if (group < first)
            first = group;
    }
    return next != UINT64_MAX ? next : first;
}

static uint32_t any_rank_of_group(struct traffic *test)
{
    uint32_t peer;

    do {
        peer = any_rank(test);
    } while (rank_node_of(test->rank, peer) / test->group != test->target_group);
    return peer;
}

static uint32_t target_of(struct traffic *test)
{
    uint32_t id = test->domain.id, size = test->domain.size;

    switch (test->pattern[0]) {
    case 'n':
        return (uint32_t)((id + (test->sent % 2 == 0 ? 1 : size - 1)) % size);
    case 'c':
        return size - 1 - id;
    case 'i':
        return 0;
    case 'a':
        return any_rank_of_group(test);
    case 't':
        return (uint32_t)((id + test->shift) % size);
    default:
        return any_rank(test);
    }
}

/* The root of an incast, and a rank that the pattern maps to itself, only receive. */
static bool sends(const struct traffic *test)
{
    uint32_t id = test->domain.id;

    switch (test->pattern[0]) {
    case 'c':
        return test->domain.size - 1 - id != id;
    case 'i':
        return id != 0;
    case 't':
        return test->shift % test->domain.size != 0;
    default:
        return true;
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

/* An endpoint for each place in the window, bound anew for each target: few are needed. */
static int aim(struct traffic *test, struct slot *slot, uint32_t peer)
{
    gni_return_t rc = GNI_RC_SUCCESS;

    if (slot->ep != NULL && slot->peer == peer)
        return 0;
    if (slot->ep == NULL)
        rc = GNI_EpCreate(test->domain.nic, test->domain.tx, &slot->ep);
    else
        rc = GNI_EpUnbind(slot->ep);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_EpBind(slot->ep, test->domain.addresses[peer], peer);
    slot->peer = peer;
    return rc == GNI_RC_SUCCESS
               ? 0
               : rank_fail(test->rank, "no endpoint to rank %u: %s", peer, wl_rc_name(rc));
}

static int send_one(struct traffic *test, uint64_t since)
{
    struct slot *slot = test->free;
    gni_post_descriptor_t *desc = &slot->operation.desc;
    uint32_t peer = target_of(test);

    if (aim(test, slot, peer) != 0)
        return -1;
    test->free = slot->next;
    slot->since = since;
    memset(&slot->operation, 0, sizeof(slot->operation));
    slot->operation.ep = slot->ep;
    desc->type = test->type;
    desc->dlvr_mode = test->mode;
    desc->local_addr = test->mine.address;
    desc->local_mem_hndl = test->mine.handle;
    desc->remote_addr = test->regions[peer].address + test->bytes;
    desc->remote_mem_hndl = test->regions[peer].handle;
    desc->length = test->bytes;
    test->sent++;
    test->in_flight++;
    return wl_operation_post(&test->domain, &slot->operation);
}

static void ended(struct traffic *test, struct wl_operation *operation)
{
    struct slot *slot = (struct slot *)operation;
    uint64_t now = rank_stamp();

    test->in_flight--;
    slot->next = test->free;
    test->free = slot;
    rank_progress(test->rank);
    if (!operation->failed)
        test->completed_bytes += test->bytes;
    if (operation->failed || now < test->from || now > test->until ||
        test->recorded == (test->duration > 0 ? UINT64_MAX : test->messages))
        return;
    test->recorded++;
    rank_record_latency(test->rank, "latency", now - slot->since);
}

/* Intervals between nothing and twice the mean. */
static uint64_t interval(struct traffic *test)
{
    return (uint64_t)((double)(rank_random(test->rank) >> 11) * 0x1p-53 * 2 *
                      (double)test->interval);
}

static void take_sample(struct traffic *test, uint64_t now)
{
    struct sample *sample = &test->samples[test->sampled++];

    sample->time = now;
    sample->backlog = test->in_flight;
    if (test->shared || !rank_delivered_bytes(test->rank, &sample->bytes))
        sample->bytes = test->completed_bytes;
}

/* When the sample is due that comes next. */
static uint64_t sample_due(const struct traffic *test)
{
    switch (test->sampled) {
    case 0:
        return test->from;
    case 1:
        return test->from + test->duration / 2;
    case 2:
        return test->until; /* when sending ends */
    default:
        return UINT64_MAX;
    }
}

/* Until an operation has ended, or it is time for the next message or sample. */
static void wait(struct traffic *test, uint64_t now, bool room)
{
    struct wl_operation *operation;
    uint64_t wake = sample_due(test);
    bool timed;

    if (room && test->due > now && test->due < wake)
        wake = test->due;
    timed = wake > now && wake != UINT64_MAX;
    if (timed)
        rank_alarm(test->rank, wake - now);
    rank_same_poll_begin();
    do {
        operation = wl_operation_poll(&test->domain);
    } while (operation == NULL && !(timed && rank_alarm_rang(test->rank)));
    rank_same_poll_end();
    if (operation != NULL)
        ended(test, operation);
}

static int run_traffic(struct traffic *test)
{
    bool more = true;
    int status = 0;

    if (test->interval > 0)
        test->due = rank_now() + interval(test);
    while (status == 0 && (more || test->in_flight > 0)) {
        uint64_t now = rank_stamp();

        if (more && test->sampled < 2 && now >= sample_due(test))
            take_sample(test, now);
        if (more && (test->duration > 0 ? now >= test->until : test->recorded >= test->messages)) {
            more = false;
            take_sample(test, now);
        }
        if (!more && test->in_flight == 0)
            break;
        if (more && test->free != NULL && now >= test->due) {
            status = send_one(test, test->interval > 0 ? test->due : now);
            test->due += test->interval > 0 ? interval(test) : 0;
        } else {
            wait(test, now, more && test->free != NULL);
        }
    }
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Bytes per picosecond between two samples; 0: a sample is missing. */
static double rate_between(const struct traffic *test, unsigned first, unsigned last)
{
    const struct sample *from = &test->samples[first], *until = &test->samples[last];

    if (last >= test->sampled || until->time <= from->time)
        return 0;
    return (double)(until->bytes - from->bytes) / (double)(until->time - from->time);
}

struct part { /* of a rank in the total */
    double rate, halves[2]; /* bytes per picosecond */
    uint64_t sent_at_once, recorded; /* messages of a rank that sends */
    uint64_t backlog[2]; /* at the beginning and at the end */
};

/* Is the measurement one of a steady state? */
static int check_total(struct traffic *test, const struct part *total)
{
    double change = total->halves[1] - total->halves[0];
    double drift = rank_arg_real(test->rank, "drift");

    if (test->interval == 0 && total->recorded < total->sent_at_once)
        return rank_fail(test->rank,
                         "%" PRIu64 " messages were measured, fewer than the %" PRIu64
                         " of all windows: more messages or a longer duration is needed",
                         total->recorded, total->sent_at_once);
    if (test->duration > 0 && (change > drift * total->rate || -change > drift * total->rate))
        return rank_fail(test->rank,
                         "%.4g GB/s in the first half of the measurement and %.4g in the second, "
                         "%.4g more than the drift that is allowed: the queues still fill or "
                         "empty; a longer warmup or duration is needed",
                         total->halves[0] * 1e3, total->halves[1] * 1e3,
                         (change < 0 ? -change : change) * 1e3 - drift * total->rate * 1e3);
    change = (double)total->backlog[1] - (double)total->backlog[0];
    if (test->duration > 0 && test->interval > 0 &&
        (change < 0 ? -change : change) > drift * (double)total->recorded)
        return rank_fail(
            test->rank,
            "%" PRIu64 " messages were under way when the measurement began and %" PRIu64
            " when it ended: the queues still fill or empty; a longer warmup is needed",
            total->backlog[0], total->backlog[1]);
    return 0;
}

/* Rank 0 records the rates of all ranks together. */
static int record_total(struct traffic *test)
{
    struct part mine = {0}, total = {0};
    const struct part *parts;
    uint32_t i;

    if (test->sampled > 0) {
        mine.rate = rate_between(test, 0, test->sampled - 1);
        mine.halves[0] = rate_between(test, 0, 1);
        mine.halves[1] = rate_between(test, 1, 2);
        mine.sent_at_once = test->window;
        mine.recorded = test->recorded;
        mine.backlog[0] = test->samples[0].backlog;
        mine.backlog[1] = test->samples[test->sampled - 1].backlog;
    }
    parts = rank_exchange(test->rank, &mine, sizeof(mine));
    if (parts == NULL || test->domain.id != 0)
        return 0;
    for (i = 0; i < test->domain.size; i++) {
        total.rate += parts[i].rate;
        total.halves[0] += parts[i].halves[0];
        total.halves[1] += parts[i].halves[1];
        total.sent_at_once += parts[i].sent_at_once;
        total.recorded += parts[i].recorded;
        total.backlog[0] += parts[i].backlog[0];
        total.backlog[1] += parts[i].backlog[1];
    }
    if (total.rate > 0)
        rank_record_bandwidth(test->rank, "total_bandwidth", (uint64_t)(total.rate * 1e9),
                              1000000000);
    return check_total(test, &total);
}

static int measure(struct traffic *test)
{
    uint64_t begin;
    double rate;
    int status = 0;

    rank_barrier(test->rank);
    begin = rank_now();
    test->from = begin + rank_arg_ps(test->rank, "warmup");
    test->until = test->duration > 0 ? test->from + test->duration : UINT64_MAX;
    if (sends(test))
        status = run_traffic(test);
    rate = test->sampled > 0 ? rate_between(test, 0, test->sampled - 1) : 0;
    if (rate > 0)
        rank_record_bandwidth(test->rank, "bandwidth", (uint64_t)(rate * 1e9), 1000000000);
    rank_count(test->rank, "messages", test->recorded);
    if (record_total(test) != 0)
        status = -1;
    return status;
}

static uint16_t mode_of(const struct rank *rank)
{
    static const struct {
        const char *name;
        uint16_t mode;
    } modes[] = {
        {"adaptive0", GNI_DLVMODE_ADAPTIVE0}, {"adaptive1", GNI_DLVMODE_ADAPTIVE1},
        {"adaptive2", GNI_DLVMODE_ADAPTIVE2}, {"adaptive3", GNI_DLVMODE_ADAPTIVE3},
        {"min_hash", GNI_DLVMODE_MIN_HASH},   {"in_order", GNI_DLVMODE_IN_ORDER},
        {"nmin_hash", GNI_DLVMODE_NMIN_HASH},
    };
    const char *routing = rank_arg_choice(rank, "routing");
    size_t i = 0;

    while (strcmp(modes[i].name, routing) != 0)
        i++;
    return modes[i].mode;
}

static int prepare(struct traffic *test)
{
    struct rank *rank = test->rank;
    double load = rank_arg_real(rank, "load");
    uint64_t i;

    test->slots = calloc(test->window, sizeof(*test->slots));
    test->memory = wl_region_alloc_common(&test->domain, 2 * test->bytes, &test->mine);
    test->regions = rank_exchange(rank, &test->mine, sizeof(test->mine));
    if (test->slots == NULL || test->memory == NULL || test->regions == NULL)
        return -1;
    for (i = 0; i < test->window; i++) {
        test->slots[i].next = test->free;
        test->free = &test->slots[i];
    }
    if (load > 0) /* bytes / (GB/s) are ns */
        test->interval =
            (uint64_t)((double)test->bytes * 1e3 / (load * rank_arg_real(rank, "injection")));
    for (i = 0; i < test->domain.size; i++)
        test->shared = test->shared ||
                       (i != test->domain.id && rank_node_of(rank, (uint32_t)i) == rank_node(rank));
    if (test->shift == 0)
        test->shift = test->domain.size / 2;
    test->target_group = next_group(test);
    return 0;
}

static int run(struct rank *rank)
{
    struct traffic test = {
        .rank = rank,
        .pattern = rank_arg_choice(rank, "pattern"),
        .type = strcmp(rank_arg_choice(rank, "unit"), "bte") == 0 ? GNI_POST_RDMA_PUT
                                                                  : GNI_POST_FMA_PUT,
        .mode = mode_of(rank),
        .bytes = rank_arg_count(rank, "bytes"),
        .window = rank_arg_count(rank, "window"),
        .messages = rank_arg_count(rank, "messages"),
        .duration = rank_arg_ps(rank, "duration"),
        .group = rank_arg_count(rank, "group"),
        .shift = rank_arg_count(rank, "shift"),
    };
    int status = wl_domain_open(&test.domain, rank, (uint32_t)test.window, 0);

    if (status == 0)
        status = prepare(&test);
    if (status == 0)
        status = measure(&test);
    if (wl_domain_finish(&test.domain, 0) != 0)
        status = -1;
    if (test.memory != NULL)
        GNI_MemDeregister(test.domain.nic, &test.mine.handle);
    wl_domain_close(&test.domain);
    free(test.slots);
    return status != 0;
}

static const struct workload traffic = {
    .name = "traffic",
    .meaning = "synthetic traffic by a pattern, at an offered load or as fast as a window allows",
    .metrics = "latency (ps), bandwidth (B/s, per rank), total_bandwidth (B/s), messages",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(traffic)
