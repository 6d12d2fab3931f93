/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bench-live: two ordinary processes, one on each of two processors, talk through libfabric: over
 * gni on an emulated fabric, and over libfabric's own shm and tcp on the same machine in the same
 * run. Each figure is the median of several rounds; a round runs all providers one after the other,
 * in processes of their own, so that other load on the machine affects all of them.
 *
 * gni and shm get the same hints: one thread per domain, and manual progress. tcp and "gni, safe"
 * get no hints, and so use locks and helper threads, as for a program that requests nothing. "uGNI"
 * is a ping-pong of SMSG messages without libfabric.
 */
#include <errno.h>
#include <gni_pub.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define ROUNDS 5u
#define TIMEOUT_S 180u
#define LARGEST ((size_t)4 << 20)
#define STREAM_WINDOW 256u
#define BULK_WINDOW 16u
#define CACHE_LINE 64

/* ---- what is measured ------------------------------------------------------------------------ */

struct pair;

struct measure {
    const char *name, *unit;
    double (*run)(struct pair *pair, size_t size, unsigned count);
    size_t size;
    unsigned count;
    bool more_is_better;
    double of_shm; /* the goal: this part of shm's time, or this multiple of its rate */
};

static double latency(struct pair *pair, size_t size, unsigned count);
static double stream(struct pair *pair, size_t size, unsigned count);
static double bandwidth(struct pair *pair, size_t size, unsigned count);
static double write_latency(struct pair *pair, size_t size, unsigned count);

static const struct measure measures[] = {
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
enum { MEASURES = sizeof(measures) / sizeof(measures[0]) };
#define OF_TCP 5.0 /* the goal: every figure is at least so much better than tcp's */
#define SMSG_COUNT 50000u
#define SMSG_GOAL_US 0.2

struct subject {
    const char *name, *provider, *source;
    bool safe;
};

enum { GNI, GNI_SAFE, SHM, TCP, SUBJECTS };
static const struct subject subjects[SUBJECTS] = {
    [GNI] = {"gni", "gni", NULL, false},
    [GNI_SAFE] = {"gni, safe", "gni", NULL, true},
    [SHM] = {"shm", "shm", NULL, false},
    /* ofi_rxm 1.17 makes no connection with manual progress */
    [TCP] = {"tcp", "tcp;ofi_rxm", "127.0.0.1", true},
};

/* ---- two processes --------------------------------------------------------------------------- */

/* Shared by the two processes and their parent. Each writer has a cache line of its own. */
struct shared {
    _Alignas(CACHE_LINE) unsigned turn[2]; /* barriers that each has reached */
    _Alignas(CACHE_LINE) unsigned stop;
    _Alignas(CACHE_LINE) double results[MEASURES];
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

static struct shared *shared; /* of this process and its parent */

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(shared->why, sizeof(shared->why), format, args);
    va_end(args);
    _exit(1);
}

static void check(ssize_t status, const char *what)
{
    if (status < 0)
        die("%s: %s", what, fi_strerror((int)-status));
}

static void pin(unsigned which)
{
    cpu_set_t allowed, one;
    int cpu;

    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) < 2)
        return; /* both share one processor: yield */
    for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && which-- == 0)
            break;
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

static void socket_send(int socket, const void *bytes, size_t size)
{
    if (write(socket, bytes, size) != (ssize_t)size)
        die("the other process has ended");
}

static void socket_receive(int socket, void *bytes, size_t size)
{
    size_t done = 0;
    ssize_t got;

    for (; done < size; done += (size_t)got) {
        got = read(socket, (char *)bytes + done, size - done);
        if (got <= 0)
            die("the other process has ended");
    }
}

/* ---- libfabric ------------------------------------------------------------------------------- */

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
    check(fi_getinfo(FI_VERSION(1, 17), subject->source, NULL,
                     subject->source != NULL ? FI_SOURCE : 0, hints, &pair->info),
          "fi_getinfo");
    fi_freeinfo(hints);
    check(fi_fabric(pair->info->fabric_attr, &pair->fabric, NULL), "fi_fabric");
    check(fi_domain(pair->fabric, pair->info, &pair->domain, NULL), "fi_domain");
    check(fi_cq_open(pair->domain, &cq, &pair->tx, NULL), "fi_cq_open");
    check(fi_cq_open(pair->domain, &cq, &pair->rx, NULL), "fi_cq_open");
    check(fi_av_open(pair->domain, &av, &pair->av, NULL), "fi_av_open");
    check(fi_endpoint(pair->domain, pair->info, &pair->ep, NULL), "fi_endpoint");
    check(fi_ep_bind(pair->ep, &pair->tx->fid, FI_TRANSMIT), "fi_ep_bind");
    check(fi_ep_bind(pair->ep, &pair->rx->fid, FI_RECV), "fi_ep_bind");
    check(fi_ep_bind(pair->ep, &pair->av->fid, 0), "fi_ep_bind");
    check(fi_enable(pair->ep), "fi_enable");
}

static uint8_t *buffer(struct pair *pair, uint64_t access, uint64_t key, struct fid_mr **mr,
                       void **desc)
{
    uint8_t *bytes = aligned_alloc(4096, LARGEST);

    memset(bytes, 0, LARGEST);
    check(fi_mr_reg(pair->domain, bytes, LARGEST, access, 0, key, 0, mr, NULL), "fi_mr_reg");
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
    check(fi_getname(&pair->ep->fid, own.name, &own.size), "fi_getname");
    if (pair->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
        own.address = (uint64_t)(uintptr_t)pair->in;
    own.key = fi_mr_key(pair->mr_in);
    socket_send(pair->socket, &own, sizeof(own));
    socket_receive(pair->socket, &other, sizeof(other));
    if (fi_av_insert(pair->av, other.name, 1, &pair->peer, 0, NULL) != 1)
        die("fi_av_insert: no such address");
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
        die("an operation failed: %s", fi_strerror(error.err));
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
    check(status, "fi_tsend");
}

static void post_one(struct pair *pair, size_t size)
{
    ssize_t status;

    while ((status = fi_trecv(pair->ep, pair->in, size, pair->desc_in, pair->peer, 1, 0, NULL)) ==
           -FI_EAGAIN)
        progress(pair);
    check(status, "fi_trecv");
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
            check(status, "fi_write");
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
    check(fi_close(&pair->ep->fid), "fi_close");
    check(fi_close(&pair->mr_in->fid), "fi_close");
    check(fi_close(&pair->mr_out->fid), "fi_close");
    check(fi_close(&pair->av->fid), "fi_close");
    check(fi_close(&pair->tx->fid), "fi_close");
    check(fi_close(&pair->rx->fid), "fi_close");
    check(fi_close(&pair->domain->fid), "fi_close");
    check(fi_close(&pair->fabric->fid), "fi_close");
}

static void through_libfabric(struct pair *pair, const struct subject *subject)
{
    double result;
    unsigned i;

    open_endpoint(pair, subject);
    pair->out = buffer(pair, FI_SEND | FI_WRITE, 1, &pair->mr_out, &pair->desc_out);
    pair->in = buffer(pair, FI_RECV | FI_REMOTE_WRITE, 2, &pair->mr_in, &pair->desc_in);
    meet(pair);
    for (i = 0; i < MEASURES; i++) {
        result = measures[i].run(pair, measures[i].size, measures[i].count);
        if (pair->self == 0)
            pair->shared->results[i] = result;
    }
    close_all(pair);
}

/* ---- uGNI alone ------------------------------------------------------------------------------ */

static void expect(gni_return_t status, const char *what)
{
    if (status != GNI_RC_SUCCESS)
        die("%s: %s", what, gni_err_str[status]);
}

static uint32_t number_of(const char *variable, uint32_t otherwise)
{
    const char *text = getenv(variable);

    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

struct smsg {
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t tx, rx;
    gni_ep_handle_t ep;
    uint32_t address;
    gni_smsg_attr_t mailbox;
};

static void open_smsg(struct smsg *s, const struct pair *pair)
{
    uint32_t cookie = number_of("PMI_GNI_COOKIE", 0x42424242);
    uint8_t ptag = (uint8_t)number_of("PMI_GNI_PTAG", 0);
    struct {
        uint32_t address;
        gni_smsg_attr_t mailbox;
    } own, other;
    unsigned size;

    if (ptag == 0)
        expect(GNI_GetPtag(0, cookie, &ptag), "GNI_GetPtag");
    expect(GNI_CdmCreate(100 + pair->self, ptag, cookie, 0, &s->cdm), "GNI_CdmCreate");
    expect(GNI_CdmAttach(s->cdm, 0, &s->address, &s->nic), "GNI_CdmAttach");
    expect(GNI_CqCreate(s->nic, 256, 0, GNI_CQ_NOBLOCK, NULL, NULL, &s->tx), "GNI_CqCreate");
    expect(GNI_CqCreate(s->nic, 256, 0, GNI_CQ_NOBLOCK, NULL, NULL, &s->rx), "GNI_CqCreate");
    s->mailbox =
        (gni_smsg_attr_t){.msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = 16, .msg_maxsize = 64};
    expect(GNI_SmsgBufferSizeNeeded(&s->mailbox, &size), "GNI_SmsgBufferSizeNeeded");
    size = (size + 4095) & ~4095u;
    s->mailbox.buff_size = size;
    s->mailbox.msg_buffer = aligned_alloc(4096, size);
    memset(s->mailbox.msg_buffer, 0, size);
    expect(GNI_MemRegister(s->nic, (uintptr_t)s->mailbox.msg_buffer, size, s->rx, GNI_MEM_READWRITE,
                           UINT32_MAX, &s->mailbox.mem_hndl),
           "GNI_MemRegister");
    expect(GNI_EpCreate(s->nic, s->tx, &s->ep), "GNI_EpCreate");
    memset(&own, 0, sizeof(own));
    own.address = s->address;
    own.mailbox = s->mailbox;
    socket_send(pair->socket, &own, sizeof(own));
    socket_receive(pair->socket, &other, sizeof(other));
    expect(GNI_EpBind(s->ep, other.address, 100 + 1 - pair->self), "GNI_EpBind");
    expect(GNI_SmsgInit(s->ep, &s->mailbox, &other.mailbox), "GNI_SmsgInit");
}

static void receive_smsg(struct smsg *s, uint64_t expected)
{
    gni_cq_entry_t event;
    void *message;
    gni_return_t status;

    while ((status = GNI_CqGetEvent(s->rx, &event)) == GNI_RC_NOT_DONE)
        ;
    expect(status, "GNI_CqGetEvent");
    while ((status = GNI_SmsgGetNext(s->ep, &message)) == GNI_RC_NOT_DONE)
        ;
    expect(status, "GNI_SmsgGetNext");
    if (*(uint64_t *)message != expected)
        die("an SMSG message is not the one that was sent");
    expect(GNI_SmsgRelease(s->ep), "GNI_SmsgRelease");
}

static void send_smsg(struct smsg *s, uint64_t number)
{
    gni_cq_entry_t event;
    gni_return_t status;

    while ((status = GNI_SmsgSend(s->ep, NULL, 0, &number, sizeof(number), 0)) == GNI_RC_NOT_DONE)
        while (GNI_CqGetEvent(s->tx, &event) == GNI_RC_SUCCESS)
            ;
    expect(status, "GNI_SmsgSend");
}

static void through_ugni(struct pair *pair)
{
    struct smsg s;
    gni_cq_entry_t event;
    unsigned i, warm = SMSG_COUNT / 10;
    double started = 0;

    open_smsg(&s, pair);
    socket_send(pair->socket, &i, 1); /* both mailboxes must exist before either side sends */
    socket_receive(pair->socket, &i, 1);
    for (i = 0; i < warm + SMSG_COUNT; i++) {
        if (i == warm)
            started = bench_seconds();
        if (pair->self == 0)
            send_smsg(&s, i);
        receive_smsg(&s, i);
        if (pair->self == 1)
            send_smsg(&s, i);
        while (GNI_CqGetEvent(s.tx, &event) == GNI_RC_SUCCESS)
            ;
    }
    if (pair->self == 0)
        pair->shared->smsg = (bench_seconds() - started) / SMSG_COUNT / 2 * 1e6;
    socket_send(pair->socket, &i, 1);
    socket_receive(pair->socket, &i, 1);
    expect(GNI_EpDestroy(s.ep), "GNI_EpDestroy");
    expect(GNI_MemDeregister(s.nic, &s.mailbox.mem_hndl), "GNI_MemDeregister");
    expect(GNI_CqDestroy(s.rx), "GNI_CqDestroy");
    expect(GNI_CqDestroy(s.tx), "GNI_CqDestroy");
    expect(GNI_CdmDestroy(s.cdm), "GNI_CdmDestroy");
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void child(unsigned self, const int ends[2], const struct subject *subject)
{
    struct pair pair = {.shared = shared, .self = self, .socket = ends[self]};
    char *names = subject != NULL ? strdup(subject->provider) : NULL, *at;

    close(ends[1 - self]);
    alarm(TIMEOUT_S);
    pin(self);
    /* The others take longer to load than this to measure. */
    if (names != NULL) {
        if ((at = strchr(names, ';')) != NULL)
            *at = ',';
        setenv("FI_PROVIDER", names, 1);
        through_libfabric(&pair, subject);
    } else {
        through_ugni(&pair);
    }
    exit(0);
}

/* Runs both processes; provider NULL: uGNI alone. False: it failed; shared->why may hold the
 * reason. */
static bool run_pair(const struct subject *subject)
{
    int ends[2], status;
    bool good = true;
    pid_t pids[2];
    unsigned i;

    memset(shared, 0, sizeof(*shared));
    fflush(stdout);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return false;
    for (i = 0; i < 2; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* it polls */
            child(i, ends, subject);
        }
    }
    close(ends[0]);
    close(ends[1]);
    for (i = 0; i < 2; i++)
        good = pids[i] > 0 && waitpid(pids[i], &status, 0) == pids[i] && status == 0 && good;
    return good;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(*values), by_size);
    return values[ROUNDS / 2];
}

static double figures[SUBJECTS][MEASURES][ROUNDS], smsg[ROUNDS];

static bool run_all(void)
{
    unsigned round, i, m;

    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < SUBJECTS; i++) {
            if (!run_pair(&subjects[i])) {
                fprintf(stderr, "bench-live: %s: %s\n", subjects[i].name,
                        shared->why[0] != '\0' ? shared->why : "ended without a result");
                return false;
            }
            for (m = 0; m < MEASURES; m++)
                figures[i][m][round] = shared->results[m];
        }
        if (!run_pair(NULL)) {
            fprintf(stderr, "bench-live: uGNI: %s\n",
                    shared->why[0] != '\0' ? shared->why : "ended without a result");
            return false;
        }
        smsg[round] = shared->smsg;
    }
    return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_table(void)
{
    unsigned m, i;

    char title[40];

    snprintf(title, sizeof(title), "medians of %u rounds", ROUNDS);
    printf("%-34s %-12s", title, "unit");
    for (i = 0; i < SUBJECTS; i++)
        printf(" %9s", subjects[i].name);
    printf("  %8s %-9s %8s %-5s\n", "gni/shm", "goal", "gni/tcp", "goal");
    for (m = 0; m < MEASURES; m++) {
        const struct measure *measure = &measures[m];
        double of_shm = figures[GNI][m][0] / figures[SHM][m][0];
        double of_tcp = figures[GNI][m][0] / figures[TCP][m][0];
        bool more = measure->more_is_better;
        bool good = more ? of_shm >= measure->of_shm : of_shm <= measure->of_shm;
        bool five = more ? of_tcp >= OF_TCP : of_tcp <= 1 / OF_TCP;

        printf("%-34s %-12s", measure->name, measure->unit);
        for (i = 0; i < SUBJECTS; i++)
            printf(" %9.3g", figures[i][m][0]);
        printf("  %8.3g %s%-4g %s %8.3g %s%-3g %s\n", of_shm, more ? ">=" : "<=", measure->of_shm,
               good ? "ok" : "NO", of_tcp, more ? ">=" : "<=", more ? OF_TCP : 1 / OF_TCP,
               five ? "ok" : "NO");
    }
    printf("%-34s %-12s %9.3g  goal <= %g %s\n", "uGNI: SMSG ping-pong 8 B, one way", "us", smsg[0],
           SMSG_GOAL_US, smsg[0] <= SMSG_GOAL_US ? "ok" : "NO");
}

/* Each figure of gni with that of shm as its reference, then with that of tcp. */
static void print_rows(struct bench *bench)
{
    char name[96];
    unsigned m, i;

    for (m = 0; m < MEASURES; m++)
        for (i = SHM; i <= TCP; i++) {
            snprintf(name, sizeof(name), "%s, gni and %s", measures[m].name, subjects[i].name);
            bench_row(bench, name, figures[GNI][m][0], measures[m].unit, figures[i][m][0]);
            if (i == SHM) {
                snprintf(name, sizeof(name), "%s, gni with threads and locks", measures[m].name);
                bench_row(bench, name, figures[GNI_SAFE][m][0], measures[m].unit,
                          figures[SHM][m][0]);
            }
        }
    bench_row(bench, "uGNI: SMSG ping-pong 8 B, one way", smsg[0], "us", SMSG_GOAL_US);
}

/* Sets the path of this build's provider, and starts a fabric for this program. */
static bool find_fabric(char folder[64])
{
    char path[4096], plugin[4200];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char fabric[80];

    if (size < 0)
        return false;
    path[size] = '\0';
    *strrchr(path, '/') = '\0';
    snprintf(plugin, sizeof(plugin), "%s/../lib/libfabric", path);
    setenv("FI_PROVIDER_PATH", plugin, 0);
    strcpy(folder, "/tmp/jacquard-bench-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return false;
    snprintf(fabric, sizeof(fabric), "%s/fabric", folder);
    setenv("JACQUARD_FABRIC", fabric, 1);
    return true;
}

int main(int argc, char **argv)
{
    struct bench bench = {.json = argc > 1 && strcmp(argv[argc - 1], "--json") == 0};
    char folder[64];
    unsigned m, i;
    bool good;

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || !find_fabric(folder)) {
        fprintf(stderr, "bench-live: %s\n", strerror(errno));
        return 1;
    }
    good = run_all();
    /* The daemon ends with its last process, and removes its socket. */
    for (i = 0; i < 300 && rmdir(folder) != 0; i++)
        usleep(10000);
    if (!good)
        return 1;
    median(smsg);
    smsg[0] = smsg[ROUNDS / 2];
    for (i = 0; i < SUBJECTS; i++)
        for (m = 0; m < MEASURES; m++)
            figures[i][m][0] = median(figures[i][m]);
    if (!bench.json)
        print_table();
    bench_begin(&bench, "live", argc, argv);
    if (bench.json)
        print_rows(&bench);
    bench_calibrate(&bench);
    bench_end(&bench);
    return 0;
}
