/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bench-fabric: libfabric on the simulated fabric, through the whole path: libfabric, provider,
 * uGNI, NIC model, network at F1, engine. Eager messages with a tag per second of processor time,
 * two ranks and 64; what an idle rank and a connection cost in memory; a barrier of 20,000 ranks.
 *
 * Each measurement of memory has a process of its own, so that it does not include memory that an
 * earlier run left behind.
 */
#include <glib.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "cluster/cluster.h"
#include "report/report.h"
#include "verdict/verdict.h"
#include "cluster/libfabric.h"

#define WINDOW 16u
#define GOAL_MESSAGES 0.7 /* M/s */
#define GOAL_IDLE (64 * 1024.0)
#define GOAL_CONNECTION (2 * 1024.0 + 2048) /* and its mailbox: half a page of it is in use */
#define GOAL_BARRIER_BYTES (4 * 1024.0 * 1024 * 1024)

static double resident(void)
{
    unsigned long total, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%lu %lu", &total, &pages) != 2) {
        fprintf(stderr, "bench-fabric: cannot read /proc/self/statm\n");
        exit(1);
    }
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- scenarios ------------------------------------------------------------------------------- */

static int (*body)(struct rank *rank);

static int run_body(struct rank *rank)
{
    return body(rank);
}

static const struct workload_arg no_args[] = {{NULL}};
static const struct workload measured = {
    .name = "bench_body", .meaning = "", .metrics = "", .args = no_args, .main = run_body};

static uint64_t events, switches; /* of the last run */

static uint64_t counter(json_t *result, const char *name)
{
    const json_t *metric = json_object_get(json_object_get(result, "metrics"), name);

    return (uint64_t)json_integer_value(json_object_get(metric, "value"));
}

static void run_text(const char *text)
{
    const struct scenario_options options = {.no_programs = true};
    const struct cluster_options cluster = {.seed = 1};
    char *error = NULL;
    struct scenario *scenario = scenario_parse(text, strlen(text), "bench", &options, &error);
    json_t *result = scenario != NULL ? report_run(scenario, &cluster, &error) : NULL;

    if (result == NULL || json_integer_value(json_object_get(result, "exit")) != EXIT_HOLDS) {
        fprintf(stderr, "bench-fabric: %s\n",
                error != NULL ? error : json_dumps(json_object_get(result, "problems"), 0));
        exit(1);
    }
    events = counter(result, "engine.events");
    switches = counter(result, "engine.switches");
    json_decref(result);
    scenario_free(scenario);
}

static void run(const char *preset, uint32_t nodes, uint32_t per_node,
                int (*what)(struct rank *rank))
{
    char text[256];

    body = what;
    snprintf(text, sizeof(text),
             "fabric: {preset: %s}\n"
             "checks: %s\n"
             "jobs: [{name: b, nodes: 0-%u, ranks_per_node: %u, workload: bench_body}]\n",
             preset, bench_checks ? "on" : "off", nodes - 1, per_node);
    run_text(text);
}

/* ---- an endpoint ----------------------------------------------------------------------------- */

static enum fi_progress progress = FI_PROGRESS_MANUAL;

struct end {
    struct rank *rank;
    uint32_t id, size;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
};

static void check(int status, const char *what)
{
    if (status >= 0)
        return;
    fprintf(stderr, "bench-fabric: %s: %s\n", what, fi_strerror(-status));
    exit(1);
}

static void open_end(struct end *end, struct rank *rank)
{
    struct fi_info *hints = fi_allocinfo();
    struct fi_cq_attr cq = {.size = 4 * WINDOW, .format = FI_CQ_FORMAT_TAGGED};
    struct fi_av_attr av = {.type = FI_AV_TABLE};

    *end = (struct end){.rank = rank, .id = rank_id(rank), .size = rank_size(rank)};
    hints->caps = FI_TAGGED;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->control_progress = hints->domain_attr->data_progress = progress;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    check(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &end->info), "fi_getinfo");
    fi_freeinfo(hints);
    check(fi_fabric(end->info->fabric_attr, &end->fabric, NULL), "fi_fabric");
    check(fi_domain(end->fabric, end->info, &end->domain, NULL), "fi_domain");
    check(fi_cq_open(end->domain, &cq, &end->cq, NULL), "fi_cq_open");
    check(fi_av_open(end->domain, &av, &end->av, NULL), "fi_av_open");
    check(fi_endpoint(end->domain, end->info, &end->ep, NULL), "fi_endpoint");
    check(fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check(fi_ep_bind(end->ep, &end->av->fid, 0), "fi_ep_bind");
    check(fi_enable(end->ep), "fi_enable");
}

static void close_end(struct end *end)
{
    check(fi_close(&end->ep->fid), "fi_close");
    check(fi_close(&end->av->fid), "fi_close");
    check(fi_close(&end->cq->fid), "fi_close");
    check(fi_close(&end->domain->fid), "fi_close");
    check(fi_close(&end->fabric->fid), "fi_close");
    fi_freeinfo(end->info);
}

/* Addresses in the vector are ranks. */
static void meet(struct end *end)
{
    uint8_t name[FI_NAME_MAX];
    size_t bytes = sizeof(name);
    const void *names;

    check(fi_getname(&end->ep->fid, name, &bytes), "fi_getname");
    names = rank_exchange(end->rank, name, bytes);
    check(fi_av_insert(end->av, names, end->size, NULL, 0, NULL), "fi_av_insert");
}

/* ---- messages per second --------------------------------------------------------------------- */

static uint64_t messages; /* of each rank */
static double started, finished;

struct traffic {
    struct end end;
    uint64_t sent, completed, posted, received, sum, taken;
    uint64_t out[WINDOW], in[WINDOW];
};

static void read_events(struct traffic *t)
{
    struct fi_cq_tagged_entry entries[WINDOW];
    ssize_t count = fi_cq_read(t->end.cq, entries, WINDOW), i;

    if (count != -FI_EAGAIN)
        check((int)count, "fi_cq_read");
    for (i = 0; i < count; i++) {
        if (!(entries[i].flags & FI_RECV)) {
            t->completed++;
            continue;
        }
        t->sum += *(uint64_t *)entries[i].op_context;
        t->received++;
        if (t->posted < t->taken) { /* the buffer again */
            check((int)fi_trecv(t->end.ep, entries[i].op_context, sizeof(uint64_t), NULL,
                                FI_ADDR_UNSPEC, 0, ~0ull, entries[i].op_context),
                  "fi_trecv");
            t->posted++;
        }
    }
}

static void send_one(struct traffic *t, uint32_t to)
{
    uint64_t *out = &t->out[t->sent % WINDOW];
    ssize_t status;

    *out = t->sent;
    while ((status = fi_tsend(t->end.ep, out, sizeof(*out), NULL, to, t->sent, out)) == -FI_EAGAIN)
        read_events(t);
    check((int)status, "fi_tsend");
    t->sent++;
}

static void expect_more(struct traffic *t, uint64_t count)
{
    t->taken += count;
    while (t->posted < t->taken && t->posted - t->received < WINDOW) {
        uint64_t *in = &t->in[t->posted % WINDOW];

        check((int)fi_trecv(t->end.ep, in, sizeof(*in), NULL, FI_ADDR_UNSPEC, 0, ~0ull, in),
              "fi_trecv");
        t->posted++;
    }
}

/* The distance to the receiver of a round. All ranks use the same, so each receives one message. */
static uint32_t distance(const struct end *end, uint64_t round)
{
    uint64_t x = (round + 1) * 0x9e3779b97f4a7c15ull;

    x ^= x >> 31;
    x *= 0x94d049bb133111ebull;
    return 1 + (uint32_t)((x >> 32) * (end->size - 1) >> 32);
}

static void finish(struct traffic *t)
{
    while (t->received < t->taken || t->completed < t->sent)
        read_events(t);
}

static int random_peers(struct rank *rank)
{
    struct traffic t = {.sent = 0};
    uint64_t i, first;

    open_end(&t.end, rank);
    meet(&t.end);
    expect_more(&t, t.end.size - 1);
    for (i = 1; i < t.end.size; i++) /* connects all ranks with all ranks */
        send_one(&t, (uint32_t)((t.end.id + i) % t.end.size));
    finish(&t);
    first = t.sum;
    expect_more(&t, messages);
    rank_barrier(rank);
    started = cpu_seconds();
    for (i = 0; i < messages; i++) {
        send_one(&t, (t.end.id + distance(&t.end, i)) % t.end.size);
        while (t.sent - t.completed >= WINDOW)
            read_events(&t);
    }
    finish(&t);
    finished = cpu_seconds();
    /* The numbers continue after those of connecting: each must have arrived once. */
    if (t.sum - first != messages * (t.end.size - 1) + messages * (messages - 1) / 2)
        return rank_fail(rank, "messages were lost or doubled");
    rank_barrier(rank);
    close_end(&t.end);
    return 0;
}

static int ping_pong(struct rank *rank)
{
    struct traffic t = {.sent = 0};
    uint64_t i;

    open_end(&t.end, rank);
    meet(&t.end);
    for (i = 0; i <= messages; i++) {
        if (i == 1) {
            rank_barrier(rank);
            started = cpu_seconds();
        }
        expect_more(&t, 1);
        if (t.end.id == 0)
            send_one(&t, 1);
        while (t.received <= i)
            read_events(&t);
        if (t.end.id == 1)
            send_one(&t, 0);
        while (t.completed < t.sent)
            read_events(&t);
    }
    finished = cpu_seconds();
    rank_barrier(rank);
    close_end(&t.end);
    return 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

#define RUNS 5

static const struct rate_case {
    const char *name, *title, *preset;
    uint32_t ranks;
    uint64_t messages; /* of each rank */
    int (*body)(struct rank *rank);
} cases[] = {
    {"pingpong", "ping-pong, 2 ranks of a blade", "blade", 2, 100000, ping_pong},
    {"random", "random traffic, 64 ranks", "chassis", 64, 5000, random_peers},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* The median and the worst of some runs: other work on the machine disturbs single runs. */
static void rate(struct bench *bench, const struct rate_case *rated)
{
    double rates[RUNS];
    char worst[96];
    unsigned i;

    messages = rated->messages;
    for (i = 0; i < RUNS; i++) {
        run(rated->preset, rated->ranks, 1, rated->body);
        rates[i] = (double)messages * rated->ranks / (finished - started) / 1e6;
    }
    qsort(rates, RUNS, sizeof(*rates), by_size);
    snprintf(worst, sizeof(worst), "%s, worst of %d", rated->title, RUNS);
    bench_row(bench, rated->title, rates[RUNS / 2], "M messages/s", GOAL_MESSAGES);
    bench_row(bench, worst, rates[0], "M messages/s", GOAL_MESSAGES);
}

static int once(const char *name, uint64_t length)
{
    unsigned i;

    for (i = 0; i < CASES; i++) {
        if (strcmp(cases[i].name, name) == 0) {
            messages = length;
            run(cases[i].preset, cases[i].ranks, 1, cases[i].body);
            bench_counted(length * cases[i].ranks, events, switches);
            return 0;
        }
    }
    fprintf(stderr, "bench-fabric: no such case: %s\n", name);
    return 1;
}

/* ---- memory ---------------------------------------------------------------------------------- */

#define CONNECTIONS 15u /* that a rank begins at a time */

static double before, after;

static void note(struct rank *rank, double *where)
{
    rank_barrier(rank);
    if (rank_id(rank) == 0)
        *where = resident();
    rank_barrier(rank);
}

static int idle(struct rank *rank)
{
    struct end end;

    note(rank, &before);
    open_end(&end, rank);
    note(rank, &after);
    close_end(&end);
    return 0;
}

/* Sends a message to each of the next CONNECTIONS ranks from a distance on, and receives from as
 * many ranks before. */
static void meet_next(struct traffic *t, uint32_t distance, uint32_t count)
{
    uint32_t i;

    expect_more(t, count);
    for (i = 0; i < count; i++)
        send_one(t, (t->end.id + distance + i) % t->end.size);
    finish(t);
}

/* The first connections allocate what all connections share, such as the requests of as many
 * concurrent messages. They are not measured. */
static int connected(struct rank *rank)
{
    struct traffic t = {.sent = 0};

    open_end(&t.end, rank);
    meet(&t.end);
    meet_next(&t, 1, CONNECTIONS);
    note(rank, &before);
    meet_next(&t, 1 + CONNECTIONS, CONNECTIONS);
    note(rank, &after);
    close_end(&t.end);
    return 0;
}

/* Runs `measure` in a process of its own. */
struct found {
    double value, seconds, peak;
};

static struct found apart(void (*measure)(double *value))
{
    struct found found = {0, 0, 0};
    struct rusage usage;
    int ends[2], status;
    pid_t child;

    if (pipe(ends) != 0 || (child = fork()) < 0) {
        perror("bench-fabric");
        exit(1);
    }
    if (child == 0) {
        measure(&found.value);
        status = write(ends[1], &found.value, sizeof(found.value)) == sizeof(found.value) ? 0 : 1;
        _exit(status);
    }
    close(ends[1]);
    if (read(ends[0], &found.value, sizeof(found.value)) != sizeof(found.value))
        found.value = -1;
    close(ends[0]);
    if (wait4(child, &status, 0, &usage) != child || status != 0) {
        fprintf(stderr, "bench-fabric: a measurement failed\n");
        exit(1);
    }
    found.seconds = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                    (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    found.peak = (double)usage.ru_maxrss * 1024;
    return found;
}

#define IDLE_NODES 1000u
#define CONNECTED 64u
#define BARRIER_NODES 5000u

static void measure_idle(double *value)
{
    run("daint50", IDLE_NODES, 4, idle);
    *value = (after - before) / (IDLE_NODES * 4);
}

static void measure_connected(double *value)
{
    run("chassis", CONNECTED, 1, connected);
    *value = (after - before) / (CONNECTED * 2 * CONNECTIONS); /* both sides of each */
}

static void measure_barrier(double *value)
{
    char text[256];

    snprintf(text, sizeof(text),
             "fabric: {preset: daint50}\n"
             "jobs: [{name: b, nodes: 0-%u, ranks_per_node: 4, workload: fi_barrier, "
             "args: {rounds: 1}}]\n",
             BARRIER_NODES - 1);
    run_text(text);
    *value = 0;
}

static void memory(struct bench *bench)
{
    struct found found;

    bench_row(bench, "idle rank, its CQ, AV and endpoint open", apart(measure_idle).value, "bytes",
              GOAL_IDLE);
    progress = FI_PROGRESS_AUTO;
    bench_row(bench, "the same with its helper threads", apart(measure_idle).value, "bytes",
              GOAL_IDLE);
    progress = FI_PROGRESS_MANUAL;
    bench_row(bench, "connection, with its half page of mailbox", apart(measure_connected).value,
              "bytes", GOAL_CONNECTION);
    found = apart(measure_barrier);
    bench_row(bench, "barrier of 20,000 ranks: CPU time", found.seconds, "s", 60);
    bench_row(bench, "barrier of 20,000 ranks: memory", found.peak / 1e9, "GB",
              GOAL_BARRIER_BYTES / 1e9);
}

int main(int argc, char **argv)
{
    struct bench bench;
    char *error = NULL;
    const char *name;
    uint64_t length;
    unsigned i;

    program_add(&measured);
    if (!cluster_libfabric_start(&error)) {
        fprintf(stderr, "bench-fabric: %s\n", error);
        return 1;
    }
    if (bench_once(argc, argv, &name, &length))
        return once(name, length);
    bench_begin(&bench, "fabric", argc, argv);
    bench_calibrate(&bench);
    for (i = 0; i < CASES; i++)
        rate(&bench, &cases[i]);
    memory(&bench);
    bench_calibrate(&bench);
    bench_end(&bench);
    return 0;
}
