/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The PMI server's core without sockets: all servers of a job and all its clients in one process,
 * and bytes move through memory. The figure is the CPU time of all servers together and of the
 * generation of the clients' messages: connect, put, fence, get. The reference for 256 ranks on one
 * node is MPICH's Hydra 4.0.2 with PMI-1, sockets and processes (docs/pmi2.md).
 */
#include <malloc.h>
#include "bench.h"
#include "driver.h"

#define RUN_EVERY 64u /* ranks; limits the number of pending replies */
#define HYDRA_FENCE_MS 21.0
#define HYDRA_GETS_MS 1480.0

/* The CPU time of this process, which uses one core. */
static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench-pmi: %s\n", what);
    exit(1);
}

struct count {
    uint64_t bytes, ends; /* `;` that end a frame's last value, as a check */
};

static void received(struct peer *peer, const void *bytes, size_t length)
{
    struct count *count = peer->context;

    count->bytes += length;
    if (length >= 5 && memcmp((const char *)bytes + length - 5, "rc=0;", 5) == 0)
        count->ends++;
}

struct scale {
    const char *name;
    uint32_t ranks, nodes, puts, gets;
    size_t value;
    bool shared, all; /* all: each rank gets one key of every rank */
    double fence_reference, gets_reference;
};

static size_t frame(char *to, const char *payload)
{
    return (size_t)sprintf(to, "%6zu%s", strlen(payload), payload);
}

static double megabytes(void)
{
    return (double)mallinfo2().uordblks / 1e6;
}

static void row(struct bench *bench, const struct scale *scale, const char *what, double value,
                const char *unit, double reference)
{
    char name[100];

    snprintf(name, sizeof(name), "%s: %s", scale->name, what);
    bench_row(bench, name, value, unit, reference);
}

static void connect_all(struct bench *bench, const struct scale *scale, struct driver *driver,
                        struct peer **peers, struct count *count)
{
    static const char hello[] = "cmd=init pmi_version=2 pmi_subversion=0\n"
                                "    28cmd=fullinit;threaded=FALSE;";
    const char *job = driver_job(driver, scale->ranks);
    uint32_t each = (scale->ranks + scale->nodes - 1) / scale->nodes, i;
    double before = megabytes(), started = cpu_seconds();

    if (job == NULL)
        fail("no job");
    for (i = 0; i < scale->ranks; i++) {
        peers[i] = driver_client(driver, job, i, i / each);
        if (peers[i] == NULL)
            fail("a client was refused");
        peers[i]->received = received;
        peers[i]->context = count;
        driver_post(peers[i], hello, sizeof(hello) - 1);
    }
    driver_run(driver);
    if (count->ends != scale->ranks)
        fail("not all were greeted");
    row(bench, scale, "connect and init", (cpu_seconds() - started) / scale->ranks * 1e9, "ns/rank",
        0);
    row(bench, scale, "memory of an idle rank",
        ((megabytes() - before) * 1e6 - (double)scale->ranks * sizeof(struct peer)) / scale->ranks,
        "bytes", 0);
}

static void put_and_fence(struct bench *bench, const struct scale *scale, struct driver *driver,
                          struct peer **peers, struct count *count)
{
    char payload[1200], bytes[4000], value[1025] = "";
    double started = cpu_seconds(), middle, seconds;
    uint32_t i, j;

    memset(value, 'v', scale->value);
    value[scale->value] = '\0';
    for (i = 0; i < scale->ranks; i++) {
        size_t length = 0;

        for (j = 0; j < scale->puts; j++) {
            snprintf(payload, sizeof(payload), "cmd=kvs-put;key=card-%u-%u;value=%s;", i, j, value);
            length += frame(bytes + length, payload);
        }
        driver_post(peers[i], bytes, length);
    }
    driver_run(driver);
    middle = cpu_seconds();
    count->ends = 0;
    for (i = 0; i < scale->ranks; i++)
        driver_post(peers[i], "    14cmd=kvs-fence;", 20);
    driver_run(driver);
    seconds = cpu_seconds();
    if (count->ends != scale->ranks)
        fail("a fence failed");
    row(bench, scale, "put", (middle - started) / scale->ranks / scale->puts * 1e9, "ns", 0);
    row(bench, scale, "fence", (seconds - middle) / scale->ranks * 1e9, "ns/rank", 0);
    row(bench, scale, "put and fence of all", (seconds - started) * 1e3, "ms",
        scale->fence_reference);
}

static void get(struct bench *bench, const struct scale *scale, struct driver *driver,
                struct peer **peers, struct count *count)
{
    uint32_t gets = scale->all ? scale->ranks : scale->gets, i, j, length;
    char *bytes = malloc((size_t)gets * 100), payload[100];
    uint64_t state = 1;
    double started = cpu_seconds(), seconds;

    count->bytes = 0;
    for (i = 0; i < scale->ranks; i++) {
        length = 0;
        for (j = 0; j < gets; j++) {
            uint32_t other = scale->all ? j : (uint32_t)(bench_random(&state) % scale->ranks);

            snprintf(payload, sizeof(payload), "cmd=kvs-get;jobid=;srcid=%u;key=card-%u-0;", other,
                     other);
            length += (uint32_t)frame(bytes + length, payload);
        }
        driver_post(peers[i], bytes, length);
        if (i % RUN_EVERY == RUN_EVERY - 1)
            driver_run(driver);
    }
    driver_run(driver);
    seconds = cpu_seconds() - started;
    if (count->bytes < (uint64_t)scale->ranks * gets * scale->value)
        fail("a key was not found");
    row(bench, scale, "get", seconds / scale->ranks / gets * 1e9, "ns", 0);
    row(bench, scale, "gets of all", seconds * 1e3, "ms", scale->gets_reference);
    free(bytes);
}

static void run(struct bench *bench, const struct scale *scale)
{
    struct driver *driver = driver_new(&(struct driver_options){
        .nodes = scale->nodes, .fan_out = 16, .shared = scale->shared, .quiet = true, .seed = 1});
    struct peer **peers = calloc(scale->ranks, sizeof(struct peer *));
    struct count count = {0, 0};
    double started = cpu_seconds();

    connect_all(bench, scale, driver, peers, &count);
    put_and_fence(bench, scale, driver, peers, &count);
    get(bench, scale, driver, peers, &count);
    row(bench, scale, "altogether", cpu_seconds() - started, "s", 0);
    row(bench, scale, "memory, with the clients'", megabytes(), "MB", 0);
    free(peers);
    driver_free(driver);
}

int main(int argc, char **argv)
{
    static const struct scale scales[] = {
        {"256 ranks, 1 node", 256, 1, 1, 0, 128, false, true, HYDRA_FENCE_MS, HYDRA_GETS_MS},
        {"4096 ranks, 64 nodes", 4096, 64, 1, 26, 128, false, false, 0, 0},
        {"100000 ranks, 3125 nodes", 100000, 3125, 2, 10, 64, true, false, 0, 0},
    };
    struct bench bench;
    size_t i;

    bench_begin(&bench, "pmi", argc, argv);
    bench_calibrate(&bench);
    for (i = 0; i < sizeof(scales) / sizeof(scales[0]); i++)
        run(&bench, &scales[i]);
    bench_end(&bench);
    return 0;
}
