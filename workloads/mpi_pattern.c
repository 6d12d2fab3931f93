/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Communication patterns of MPI benchmarks, with the algorithms of MPICH: HPCC's ping-pong, natural
 * and random rings and RandomAccess, IMB's Sendrecv, and Alltoall, Allgather and Barrier of IMB and
 * OSU.
 *
 * Alltoall: Bruck's algorithm (store and forward) up to `bruck` bytes, else messages to all ranks,
 * `window` at a time. Allgather: up to `gather` bytes in all recursive doubling when the number of
 * ranks is a power of two, else Bruck's algorithm; above, a ring. Barrier: by dissemination.
 *
 * Long patterns are sampled: of P - 1 steps `steps` are simulated, evenly spread over the distances
 * between ranks, and the time is scaled.
 */
#include "support/mpi.h"

static const struct workload_arg args[] = {
    {"pattern", ARG_CHOICE, "natural_ring", NULL, NULL,
     "pingpong|natural_ring|random_ring|sendrecv|alltoall|allgather|barrier|random_access",
     "the benchmark"},
    {"bytes", ARG_BYTES, "8", "1", "64MiB", NULL, "of a message; of collectives: per rank"},
    {"iterations", ARG_COUNT, "10", "1", "1000000", NULL, "measured"},
    {"warmup", ARG_COUNT, "2", "0", "1000000", NULL, "iterations before"},
    {"steps", ARG_COUNT, "24", "1", "65536", NULL,
     "of an alltoall, a ring allgather or random_access: simulated steps (random_access: targets)"},
    {"window", ARG_COUNT, "8", "1", "4096", NULL, "alltoall: messages of a rank at a time"},
    {"rings", ARG_COUNT, "4", "1", "64", NULL, "random_ring: permutations; pingpong: pairs"},
    {"bruck", ARG_BYTES, "512", "0", NULL, NULL, "alltoall: the longest message of Bruck's"},
    {"gather", ARG_BYTES, "16KiB", "0", NULL, NULL, "allgather: the longest result of Bruck's"},
    {"pack", ARG_TIME, "10ns", "0", "1ms", NULL, "Bruck's: for each block and round"},
    {"software_ring", ARG_TIME, "150ns", "0", "1ms", NULL,
     "instead of `software` in a ring allgather, whose receives are posted long before"},
    {"call", ARG_TIME, "0", "0", "1ms", NULL, "alltoall: MPI's time for each call of Bruck's"},
    {"call_direct", ARG_TIME, "0", "0", "1ms", NULL, "alltoall: the same, when it is not Bruck's"},
    {"own_copy_GBps", ARG_REAL, "0", "0", "1000", NULL,
     "alltoall, not Bruck's: copies of what a rank sends through MPI's buffers; 0: none"},
    {"update", ARG_TIME, "100ns", "0", "1ms", NULL, "random_access: for each update"},
    {"poll", ARG_TIME, "0", "0", "1ms", NULL, "random_access: MPI's tests for each message"},
    {"updates", ARG_COUNT, "4000", "1", NULL, NULL, "random_access: of each rank"},
    WL_MPI_ARGS,
    {NULL},
};

#define HELD_BACK_MAX 1024 /* updates that a rank of RandomAccess may hold back */
#define BUCKET_MAX 512 /* updates in one message */

struct test {
    struct wl_mpi mpi;
    struct rank *rank;
    const char *pattern;
    uint32_t id, size;
    uint64_t bytes, iterations, warmup;
    uint32_t steps, rings;
    uint32_t *distance; /* of the steps */
    uint32_t *left, *right; /* by ring */
};

/* ---- distances, and the mailboxes for them --------------------------------------------------- */

static uint32_t ranks_per_node(const struct test *test)
{
    uint32_t count = 0, i;

    for (i = 0; i < test->size; i++)
        count += wl_mpi_is_local(&test->mpi, i);
    return count;
}

static uint32_t rounds_of(uint32_t size)
{
    uint32_t rounds = 0;

    while (1u << rounds < size)
        rounds++;
    return rounds;
}

static uint32_t ahead(const struct test *test, uint32_t distance)
{
    return (uint32_t)(((uint64_t)test->id + distance) % test->size);
}

static uint32_t behind(const struct test *test, uint32_t distance)
{
    return (uint32_t)(((uint64_t)test->id + test->size - distance % test->size) % test->size);
}

/* Both ends of a pair must agree: a rank ahead of us has slot 2n, one behind us 2n + 1. */
static int connect_at(struct test *test, uint32_t number, uint32_t to, uint32_t from)
{
    struct wl_domain *domain = &test->mpi.domain;

    if (to == from)
        return wl_message_connect(domain, to, 2 * number, 2 * number);
    if (wl_message_connect(domain, to, 2 * number, 2 * number + 1) != 0)
        return -1;
    return wl_message_connect(domain, from, 2 * number + 1, 2 * number);
}

/* The shorter way round, so that both ranks of a pair see the same distance. */
static int connect_distances(struct test *test)
{
    uint32_t i, distance;
    int status = 0;

    for (i = 0; i < test->steps && status == 0; i++) {
        distance = test->distance[i];
        if (distance > test->size - distance)
            distance = test->size - distance;
        status = connect_at(test, i, ahead(test, distance), behind(test, distance));
    }
    return status;
}

static bool is(const struct test *test, const char *pattern)
{
    return strcmp(test->pattern, pattern) == 0;
}

static bool by_doubling(const struct test *test)
{
    return is(test, "allgather") && (test->size & (test->size - 1)) == 0;
}

static bool by_rounds(const struct test *test)
{
    if (is(test, "barrier"))
        return true;
    if (is(test, "alltoall"))
        return test->bytes <= rank_arg_count(test->rank, "bruck");
    return is(test, "allgather") &&
           test->bytes * test->size <= rank_arg_count(test->rank, "gather");
}

static void choose_steps(struct test *test)
{
    uint32_t i, all = test->size - 1;

    test->steps = (uint32_t)rank_arg_count(test->rank, "steps");
    if (by_rounds(test))
        test->steps = rounds_of(test->size);
    else if (!is(test, "alltoall") && !is(test, "random_access"))
        test->steps = 1;
    else if (test->steps > all)
        test->steps = all;
    if (test->steps == 0) /* a single rank */
        test->steps = 1;
    test->distance = calloc(test->steps, sizeof(*test->distance));
    test->distance[0] = 1;
    for (i = 0; i < test->steps && (by_rounds(test) || test->steps > 1); i++)
        test->distance[i] = by_rounds(test)
                                ? 1u << i
                                : 1 + (uint32_t)((uint64_t)all * (2 * i + 1) / 2 / test->steps);
}

/* ---- rings and pairs ------------------------------------------------------------------------- */

static uint64_t next_number(uint64_t *state) /* the same for all ranks */
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state >> 33;
}

static void draw_rings(struct test *test)
{
    uint32_t *order = malloc(test->size * sizeof(*order)), ring, i, other, swap;
    uint64_t state = 20170720;

    for (i = 0; i < test->size; i++)
        order[i] = i;
    for (ring = 0; ring < test->rings; ring++) {
        for (i = test->size - 1; i > 0; i--) {
            other = (uint32_t)(next_number(&state) % (i + 1));
            swap = order[i];
            order[i] = order[other];
            order[other] = swap;
        }
        for (i = 0; i < test->size; i++)
            if (order[i] == test->id) {
                test->right[ring] = order[(i + 1) % test->size];
                test->left[ring] = order[(i + test->size - 1) % test->size];
            }
    }
    free(order);
}

static int connect_rings(struct test *test)
{
    uint32_t ring;
    int status = 0;

    test->rings = is(test, "natural_ring") ? 1 : (uint32_t)rank_arg_count(test->rank, "rings");
    test->left = calloc(test->rings, sizeof(*test->left));
    test->right = calloc(test->rings, sizeof(*test->right));
    test->right[0] = ahead(test, 1);
    test->left[0] = behind(test, 1);
    if (!is(test, "natural_ring"))
        draw_rings(test);
    for (ring = 0; ring < test->rings && status == 0; ring++)
        status = connect_at(test, ring, test->right[ring], test->left[ring]);
    return status;
}

/* HPCC takes the time of the slowest rank; a loop has two messages each way. */
static int run_rings(struct test *test)
{
    uint32_t ring;
    uint64_t i, began = 0, longest, sum = 0;
    const uint64_t *all;

    for (ring = 0; ring < test->rings; ring++) {
        rank_barrier(test->rank);
        for (i = 0; i < test->warmup + test->iterations; i++) {
            if (i == test->warmup)
                began = rank_stamp();
            if (wl_mpi_start(&test->mpi, test->right[ring], test->bytes) != 0 ||
                wl_mpi_start(&test->mpi, test->left[ring], test->bytes) != 0)
                return -1;
            wl_mpi_wait(&test->mpi, 2);
        }
        began = (rank_stamp() - began) / test->iterations / 2;
        all = rank_exchange(test->rank, &began, sizeof(began));
        if (all == NULL)
            return -1;
        for (i = 0, longest = 0; i < test->size; i++)
            longest = all[i] > longest ? all[i] : longest;
        sum += longest;
    }
    if (test->id == 0 && test->rings > 0) {
        rank_record_latency(test->rank, "time", sum / test->rings);
        rank_record_bandwidth(test->rank, "bandwidth", test->bytes, sum / test->rings);
    }
    return 0;
}

/* HPCC: one pair at a time. The first half of the pairs' ranks lead. */
static int run_pingpong(struct test *test)
{
    uint32_t pairs = (uint32_t)rank_arg_count(test->rank, "rings"), pair;
    uint64_t i, began = 0;

    for (pair = 0; pair < pairs; pair++) {
        uint32_t one = (uint32_t)((uint64_t)pair * test->size / pairs);
        uint32_t two =
            (one + 1 + (uint32_t)((2 * pair + 1) * (uint64_t)(test->size - 1) / 2 / pairs)) %
            test->size;
        uint32_t peer = test->id == one ? two : one;

        rank_barrier(test->rank);
        if (test->id != one && test->id != two)
            continue;
        test->mpi.phase = 0; /* ranks have been in different numbers of pairs */
        if (wl_message_connect(&test->mpi.domain, peer, pair, pair) != 0)
            return -1;
        for (i = 0; i < test->warmup + test->iterations; i++) {
            if (i == test->warmup)
                began = rank_stamp();
            if (test->id == one && wl_mpi_start(&test->mpi, peer, test->bytes) != 0)
                return -1;
            wl_mpi_wait(&test->mpi, test->id == two);
            if (test->id == two && wl_mpi_start(&test->mpi, peer, test->bytes) != 0)
                return -1;
            wl_mpi_wait(&test->mpi, test->id == one);
        }
        if (test->id == one) {
            began = (rank_stamp() - began) / test->iterations / 2;
            rank_record_latency(test->rank, "time", began);
            rank_record_bandwidth(test->rank, "bandwidth", test->bytes, began);
        }
    }
    return 0;
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* Blocks that a round of Bruck's alltoall moves: those whose number has the bit. */
static uint32_t blocks_of(const struct test *test, uint32_t round)
{
    uint32_t blocks = 0, i;

    for (i = 0; i < test->size; i++)
        blocks += i >> round & 1;
    return blocks;
}

static uint64_t round_bytes(const struct test *test, uint32_t round)
{
    uint32_t have = 1u << round;

    if (is(test, "barrier"))
        return test->bytes;
    if (is(test, "alltoall"))
        return blocks_of(test, round) * test->bytes;
    return test->bytes * (have < test->size - have ? have : test->size - have);
}

static int run_round(struct test *test, uint32_t round)
{
    uint32_t step = 1u << round;
    uint32_t peer = by_doubling(test) ? test->id ^ step : behind(test, step);

    if (!is(test, "allgather"))
        peer = ahead(test, step);
    if (is(test, "alltoall"))
        rank_compute(blocks_of(test, round) * rank_arg_ps(test->rank, "pack"));
    if (wl_mpi_start(&test->mpi, peer, round_bytes(test, round)) != 0)
        return -1;
    wl_mpi_wait(&test->mpi, 1);
    return 0;
}

static int run_direct(struct test *test)
{
    uint32_t window = (uint32_t)rank_arg_count(test->rank, "window"), i;
    double own = rank_arg_real(test->rank, "own_copy_GBps");

    for (i = 0; i < test->steps; i++) {
        wl_mpi_throttle(&test->mpi, window - 1);
        if (own > 0)
            rank_compute((uint64_t)((double)test->bytes / own * 1e3));
        if (wl_mpi_start(&test->mpi, ahead(test, test->distance[i]), test->bytes) != 0)
            return -1;
        wl_mpi_progress(&test->mpi);
    }
    wl_mpi_wait(&test->mpi, test->steps);
    return 0;
}

/* A step of a ring allgather, and of IMB's Sendrecv. */
static int run_shift(struct test *test)
{
    if (wl_mpi_start(&test->mpi, ahead(test, 1), test->bytes) != 0)
        return -1;
    wl_mpi_wait(&test->mpi, 1);
    return 0;
}

static int run_once(struct test *test, uint32_t shifts)
{
    uint32_t i;
    int status = 0;

    if (by_rounds(test)) {
        if (is(test, "alltoall"))
            rank_compute(rank_arg_ps(test->rank, "call"));
        for (i = 0; i < test->steps && status == 0; i++)
            status = run_round(test, i);
        return status;
    }
    if (is(test, "alltoall")) {
        rank_compute(rank_arg_ps(test->rank, "call_direct"));
        return run_direct(test);
    }
    for (i = 0; i < shifts && status == 0; i++)
        status = run_shift(test);
    return status;
}

static int run_collective(struct test *test)
{
    uint32_t all = test->size - 1, shifts = 1;
    uint64_t i, began = 0;
    double scale = 1;

    if (is(test, "allgather") && !by_rounds(test)) {
        shifts = (uint32_t)rank_arg_count(test->rank, "steps");
        shifts = shifts < all ? shifts : all;
        scale = (double)all / shifts;
    } else if (is(test, "alltoall") && !by_rounds(test)) {
        scale = (double)all / test->steps;
    }
    rank_barrier(test->rank);
    for (i = 0; i < test->warmup + test->iterations; i++) {
        if (i == test->warmup)
            began = rank_stamp();
        if (run_once(test, shifts) != 0)
            return -1;
    }
    rank_record_latency(
        test->rank, "time",
        (uint64_t)(scale * (double)(rank_stamp() - began) / (double)test->iterations));
    return 0;
}

/* ---- RandomAccess ---------------------------------------------------------------------------- */

/*
 * A rank holds back updates in a bucket for each other rank, and sends the fullest one when it
 * holds HELD_BACK_MAX of them. The fullest of n buckets has about 2.5 standard deviations more than
 * the mean.
 */
static uint64_t fullest_bucket(uint32_t size)
{
    double mean = (double)HELD_BACK_MAX / size, low = 0, high = 64;
    uint64_t updates;
    int i;

    for (i = 0; i < 60; i++) { /* the square root, by bisection: the same on all machines */
        double middle = (low + high) / 2;

        if (middle * middle < mean)
            low = middle;
        else
            high = middle;
    }
    updates = (uint64_t)(mean + 2.5 * low + 0.5);
    return updates < 1 ? 1 : updates > BUCKET_MAX ? BUCKET_MAX : updates;
}

static int run_random_access(struct test *test)
{
    uint64_t updates = rank_arg_count(test->rank, "updates"), bucket = fullest_bucket(test->size);
    uint64_t update = rank_arg_ps(test->rank, "update"), poll = rank_arg_ps(test->rank, "poll");
    uint32_t per_target, messages, first, i;
    uint64_t began;

    /* one of `size` buckets is the rank's own */
    per_target = (uint32_t)(updates * (test->size - 1) / test->size / bucket / test->steps) + 1;
    messages = per_target * test->steps; /* the same number to each target, so all know theirs */
    first = (uint32_t)(rank_random(test->rank) % test->steps);
    rank_barrier(test->rank);
    began = rank_stamp();
    for (i = 0; i < messages; i++) {
        rank_compute(bucket * test->size / (test->size - 1) * update + poll);
        if (wl_mpi_start(&test->mpi, ahead(test, test->distance[(first + i) % test->steps]),
                         bucket * sizeof(uint64_t)) != 0)
            return -1;
        wl_mpi_progress(&test->mpi);
    }
    wl_mpi_wait(&test->mpi, messages);
    rank_record_rate(test->rank, "updates", messages * bucket * test->size / (test->size - 1),
                     rank_stamp() - began);
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static uint64_t longest_message(const struct test *test)
{
    uint64_t longest = test->bytes;
    uint32_t i;

    if (is(test, "random_access"))
        return fullest_bucket(test->size) * sizeof(uint64_t);
    for (i = 0; by_rounds(test) && i < test->steps; i++)
        if (round_bytes(test, i) > longest)
            longest = round_bytes(test, i);
    return longest;
}

/* How the ranks of a node use the NIC and the memory. */
static struct wl_mpi_use use_of(const struct test *test)
{
    bool gather = is(test, "allgather"), exchange = is(test, "alltoall");
    uint32_t ranks = ranks_per_node(test), slots = 2 * (test->steps > 64 ? test->steps : 64);
    struct wl_mpi_use use = {
        .longest = longest_message(test),
        .slots = slots == test->size ? slots + 2 : slots, /* not "one for each rank" */
        .senders = ranks,
        .alone = is(test, "pingpong"),
        .quiet = gather || exchange || is(test, "pingpong") || is(test, "barrier"),
        .software = gather && !by_rounds(test) ? "software_ring" : "software",
    };

    if (use.alone || is(test, "natural_ring") || is(test, "sendrecv") ||
        (gather && !by_rounds(test)))
        use.senders = 1; /* a ring leaves a node once */
    if (is(test, "random_access") || (exchange && !by_rounds(test)))
        use.connections = (uint64_t)ranks * (test->size - ranks);
    use.footprint = gather || exchange ? test->bytes * test->size : 2 * test->bytes;
    if (is(test, "natural_ring") || is(test, "random_ring"))
        use.footprint *= 2;
    use.footprint *= use.alone ? 1 : ranks;
    return use;
}

static int prepare(struct test *test)
{
    struct wl_mpi_use use;
    uint32_t i;
    int status;

    test->mpi.domain.rank = test->rank;
    choose_steps(test);
    use = use_of(test);
    status = wl_mpi_open(&test->mpi, test->rank, &use);
    if (status != 0)
        return status;
    if (is(test, "natural_ring") || is(test, "random_ring"))
        return connect_rings(test);
    if (is(test, "pingpong"))
        return 0;
    if (!by_doubling(test) || !by_rounds(test))
        return connect_distances(test);
    for (i = 0; i < test->steps && status == 0; i++)
        status = wl_message_connect(&test->mpi.domain, test->id ^ 1u << i, i, i);
    return status;
}

static int run(struct rank *rank)
{
    struct test test = {
        .rank = rank,
        .pattern = rank_arg_choice(rank, "pattern"),
        .id = rank_id(rank),
        .size = rank_size(rank),
        .bytes = rank_arg_count(rank, "bytes"),
        .iterations = rank_arg_count(rank, "iterations"),
        .warmup = rank_arg_count(rank, "warmup"),
    };
    int status = prepare(&test);

    if (status == 0) {
        if (is(&test, "pingpong"))
            status = run_pingpong(&test);
        else if (test.left != NULL)
            status = run_rings(&test);
        else if (is(&test, "random_access"))
            status = run_random_access(&test);
        else
            status = run_collective(&test);
    }
    wl_message_flush(&test.mpi.domain);
    rank_barrier(rank);
    wl_mpi_close(&test.mpi);
    free(test.distance);
    free(test.left);
    free(test.right);
    return status != 0;
}

static const struct workload mpi_pattern = {
    .name = "mpi_pattern",
    .meaning = "patterns of MPI benchmarks: ping-pong, rings, collectives, RandomAccess",
    .metrics = "time (ps): per message, or per call; bandwidth (B/s); updates (1/s, per rank)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(mpi_pattern)
