/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each allocation of the provider fails once. In its objects for this program, the functions that
 * give memory and threads have the names of those below (tests/cmake/gni.cmake);
 * free() is that of the whole program, because libfabric frees what the provider has allocated.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <cmocka.h>
#include <rdma/fi_trigger.h>
#include "fixture.h"
#include "cluster/heap.h"
#include "port/port.h"

#define US 1000000ull /* in ps */
#define MS 1000000000ull

/* ---- memory that fails ----------------------------------------------------------------------- */

#define PLACES (1u << 16)
static void *live[PLACES]; /* hash; GONE: was used */
#define GONE ((void *)1)
static uint32_t live_count;
static uint64_t calls, fail_at;
static bool armed;
static bool no_aligned; /* queues cannot grow */

static bool due(void)
{
    return armed && ++calls == fail_at;
}

static uint32_t place_of(const void *pointer)
{
    return (uint32_t)((uintptr_t)pointer * 0x9e3779b97f4a7c15ull >> 48);
}

static void *track(void *pointer)
{
    uint32_t at = place_of(pointer);

    if (pointer == NULL)
        return NULL;
    while (live[at] != NULL && live[at] != GONE)
        at = (at + 1) % PLACES;
    live[at] = pointer;
    live_count++;
    return pointer;
}

static void forget(const void *pointer)
{
    uint32_t at = place_of(pointer);

    if (pointer == NULL || live_count == 0)
        return;
    while (live[at] != NULL && live[at] != pointer)
        at = (at + 1) % PLACES;
    if (live[at] == NULL)
        return; /* it was allocated elsewhere */
    live[at] = GONE;
    live_count--;
}

__attribute__((visibility("default"))) void free(void *pointer)
{
    forget(pointer);
    cluster_heap_free(pointer);
}

void *failing_malloc(size_t bytes);
void *failing_malloc(size_t bytes)
{
    return due() ? NULL : track(malloc(bytes));
}

void *failing_calloc(size_t count, size_t bytes);
void *failing_calloc(size_t count, size_t bytes)
{
    return due() ? NULL : track(calloc(count, bytes));
}

void *failing_realloc(void *old, size_t bytes);
void *failing_realloc(void *old, size_t bytes)
{
    if (due())
        return NULL;
    forget(old);
    return track(realloc(old, bytes));
}

void *failing_aligned_alloc(size_t alignment, size_t bytes);
void *failing_aligned_alloc(size_t alignment, size_t bytes)
{
    return due() || no_aligned ? NULL : track(aligned_alloc(alignment, bytes));
}

char *failing_strdup(const char *text);
char *failing_strdup(const char *text)
{
    return due() ? NULL : track(strdup(text));
}

void *failing_pages(size_t bytes, size_t page);
void *failing_pages(size_t bytes, size_t page)
{
    return due() ? NULL : port_pages_alloc(bytes, page);
}

struct port_thread *failing_thread(const char *name, void (*run)(void *), void *argument);
struct port_thread *failing_thread(const char *name, void (*run)(void *), void *argument)
{
    return due() ? NULL : port_thread_start(name, run, argument);
}

/* ---- what is called -------------------------------------------------------------------------- */

struct party {
    struct rank *rank;
    uint32_t id;
    struct fi_info *hints, *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_eq *eq;
    struct fid_cntr *cntr;
    struct fid_av *av;
    struct fid_ep *ep, *second;
    struct fid_wait *wait;
    struct fid_poll *poll;
    struct fid_mr *mr;
    struct fid_ep *sep, *tx, *rx;
    struct fid_stx *stx;
    fi_addr_t peers[2];
    uint8_t *memory;
    struct gni_place all[2];
    uint32_t begun, good, bad; /* operations that send; their ends */
};

/* A call that may fail for lack of memory, and then must not when it is made again. */
#define CALL(call)                                              \
    do {                                                        \
        int result_ = 0, tries_;                                \
        for (tries_ = 0; tries_ < 1000; tries_++) {             \
            result_ = (int)(call);                              \
            if (result_ != -FI_ENOMEM && result_ != -FI_EAGAIN) \
                break;                                          \
            if (p->cq != NULL)                                  \
                fi_cq_read(p->cq, NULL, 0);                     \
            gni_pause(rank, US);                                \
        }                                                       \
        EXPECT_IS(result_, 0);                                  \
    } while (0)

static int open_objects(struct party *p)
{
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_SET};
    struct fi_wait_attr wait = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_cntr_attr cntr = {.events = FI_CNTR_EVENTS_COMP};
    struct fi_eq_attr eq = {.flags = FI_WRITE};
    struct fi_av_attr av = {.type = FI_AV_TABLE, .rx_ctx_bits = 1};
    struct fi_poll_attr poll = {0};
    struct rank *rank = p->rank;
    int tries, result = -1;

    p->hints = fi_allocinfo();
    p->hints->fabric_attr->prov_name = strdup("gni");
    p->hints->ep_attr->type = FI_EP_RDM;
    p->hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_TRIGGER | FI_MULTI_RECV;
    p->hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    for (tries = 0; tries < 3 && result != 0; tries++) {
        result = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, p->hints, &p->info);
        EXPECT(result == 0 || result == -FI_ENODATA || result == -FI_ENOMEM);
    }
    EXPECT_IS(result, 0);
    CALL(fi_fabric(p->info->fabric_attr, &p->fabric, NULL));
    CALL(fi_eq_open(p->fabric, &eq, &p->eq, NULL));
    CALL(fi_wait_open(p->fabric, &wait, &p->wait));
    CALL(fi_domain(p->fabric, p->info, &p->domain, NULL));
    cq.wait_set = p->wait;
    CALL(fi_cq_open(p->domain, &cq, &p->cq, NULL));
    CALL(fi_cntr_open(p->domain, &cntr, &p->cntr, NULL));
    CALL(fi_poll_open(p->domain, &poll, &p->poll));
    CALL(fi_poll_add(p->poll, &p->cntr->fid, 0));
    CALL(fi_av_open(p->domain, &av, &p->av, NULL));
    return 0;
}

static int open_endpoints(struct party *p)
{
    struct rank *rank = p->rank;
    struct fi_info *info = fi_dupinfo(p->info);

    CALL(fi_endpoint(p->domain, p->info, &p->ep, NULL));
    CALL(fi_ep_bind(p->ep, &p->cq->fid, FI_TRANSMIT | FI_RECV));
    CALL(fi_ep_bind(p->ep, &p->cntr->fid, FI_WRITE));
    CALL(fi_ep_bind(p->ep, &p->av->fid, 0));
    CALL(fi_enable(p->ep));
    CALL(fi_stx_context(p->domain, NULL, &p->stx, NULL));
    info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
    CALL(fi_endpoint(p->domain, info, &p->second, NULL));
    CALL(fi_ep_bind(p->second, &p->stx->fid, 0));
    CALL(fi_ep_bind(p->second, &p->cq->fid, FI_TRANSMIT | FI_RECV));
    CALL(fi_ep_bind(p->second, &p->av->fid, 0));
    CALL(fi_enable(p->second));
    info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = 1;
    CALL(fi_scalable_ep(p->domain, info, &p->sep, NULL));
    CALL(fi_scalable_ep_bind(p->sep, &p->av->fid, 0));
    CALL(fi_tx_context(p->sep, 0, NULL, &p->tx, NULL));
    CALL(fi_rx_context(p->sep, 0, NULL, &p->rx, NULL));
    CALL(fi_ep_bind(p->tx, &p->cq->fid, FI_TRANSMIT));
    CALL(fi_ep_bind(p->rx, &p->cq->fid, FI_RECV));
    CALL(fi_enable(p->tx));
    CALL(fi_enable(p->rx));
    CALL(fi_enable(p->sep));
    fi_freeinfo(info);
    return 0;
}

#define ROOM (1u << 20)
#define LONG 50001u

static int exchange(struct party *p)
{
    struct rank *rank = p->rank;
    struct gni_place mine;
    char name[64] = {0}, names[2][64];
    size_t bytes = sizeof(name);
    uint32_t i, tries;

    CALL(fi_getname(&p->ep->fid, name, &bytes));
    rank_allgather(rank, name, names, sizeof(name));
    for (i = 0; i < 2; i++) {
        for (tries = 0; tries < 3; tries++)
            if (fi_av_insert(p->av, names[i], 1, &p->peers[i], 0, NULL) == 1)
                break;
        EXPECT(tries < 3);
    }
    p->memory = aligned_alloc(4096, ROOM);
    memset(p->memory, 0, ROOM);
    CALL(fi_mr_reg(p->domain, p->memory, ROOM, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &p->mr,
                   NULL));
    mine = (struct gni_place){(uintptr_t)p->memory, fi_mr_key(p->mr)};
    rank_allgather(rank, &mine, p->all, sizeof(mine));
    return 0;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* What has ended. Nothing is expected but memory that is short, and what follows from that. */
static int poll_all(struct party *p, uint64_t *words)
{
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};
    struct rank *rank = p->rank;
    ssize_t result = fi_cq_read(p->cq, &entry, 1);

    if (result == 1) {
        if ((entry.flags & FI_RECV) != 0 && words != NULL)
            ++*words;
        p->good += (entry.flags & FI_RECV) == 0;
    } else if (result == -FI_EAVAIL) {
        EXPECT_IS(fi_cq_readerr(p->cq, &error, 0), 1);
        EXPECT(error.err == FI_ENOMEM || error.err == FI_EIO || error.err == FI_ENOTCONN ||
               error.err == FI_ECANCELED);
        p->bad += (error.flags & FI_RECV) == 0;
    } else { /* ENOTCONN: the peer has closed without messages that have completed here */
        EXPECT(result == -FI_EAGAIN || result == -FI_ENOTCONN);
    }
    return 0;
}

/* All operations end, and some time is left for what the other side wants. */
static int settle(struct party *p, uint64_t *words)
{
    struct rank *rank = p->rank;

    rank_alarm(rank, 3000 * MS);
    while (p->good + p->bad < p->begun) {
        TRY(poll_all(p, words));
        EXPECT(!rank_alarm_rang(rank)); /* an operation does not end */
    }
    rank_alarm(rank, 5 * MS);
    while (!rank_alarm_rang(rank))
        TRY(poll_all(p, words));
    return 0;
}

static int post_receives(struct party *p)
{
    struct iovec part[2] = {{p->memory + 500000, 20000}, {p->memory + 520001, 40000}};
    struct iovec big = {p->memory + 600000, 100000};
    struct fi_msg multi = {
        .msg_iov = &big, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &p->begun};
    struct rank *rank = p->rank;
    uint64_t i;

    for (i = 0; i < 3; i++)
        CALL(fi_trecv(p->ep, p->memory + 300000 + i * 60000, 60000, NULL, FI_ADDR_UNSPEC, i, 0, p));
    CALL(fi_trecvv(p->ep, part, NULL, 2, FI_ADDR_UNSPEC, 3, 0, p));
    CALL(fi_recvmsg(p->ep, &multi, FI_MULTI_RECV | FI_COMPLETION));
    return 0;
}

static int post_sends(struct party *p)
{
    struct iovec part[3] = {
        {p->memory + 1, 10000}, {p->memory + 10003, 10001}, {p->memory + 30001, 9000}};
    fi_addr_t to = p->peers[1 - p->id];
    struct rank *rank = p->rank;

    CALL(fi_tsend(p->ep, p->memory, 100, NULL, to, 0, p));
    CALL(fi_tsend(p->ep, p->memory + 3, LONG, NULL, to, 1, p));
    CALL(fi_tsendv(p->ep, part, NULL, 3, to, 3, p));
    CALL(fi_tsend(p->ep, p->memory, 8000, NULL, to, 2, p));
    CALL(fi_send(p->ep, p->memory, 1000, NULL, to, p));
    CALL(fi_send(p->ep, p->memory, LONG, NULL, to, p));
    CALL(fi_tsend(p->second, p->memory, 100, NULL, to, 7, p)); /* no test waits for these */
    CALL(fi_tsend(p->tx, p->memory, 100, NULL, to, 7, p));
    p->begun += 8;
    return 0;
}

static int post_one_sided(struct party *p)
{
    const struct gni_place *place = &p->all[1 - p->id];
    fi_addr_t to = p->peers[1 - p->id];
    struct rank *rank = p->rank;
    struct iovec iov = {p->memory + 200000, 64};
    struct fi_rma_iov target = {place->address + 800000, 64, place->key};
    struct fi_msg_rma message = {.msg_iov = &iov,
                                 .iov_count = 1,
                                 .addr = to,
                                 .rma_iov = &target,
                                 .rma_iov_count = 1,
                                 .context = p};
    static uint64_t operand = 5, result;
    static struct fi_triggered_context context;

    CALL(fi_write(p->ep, p->memory + 200001, LONG, NULL, to, place->address + 700000, place->key,
                  p));
    CALL(fi_read(p->ep, p->memory + 900001, 1003, NULL, to, place->address + 3, place->key, p));
    CALL(fi_read(p->ep, p->memory + 910001, LONG, NULL, to, place->address + 5, place->key, p));
    CALL(fi_writemsg(p->ep, &message, FI_MORE | FI_COMPLETION));
    target.addr += 64;
    CALL(fi_writemsg(p->ep, &message, FI_COMPLETION));
    CALL(fi_writedata(p->ep, p->memory, 100, NULL, 42, to, place->address + 850000, place->key, p));
    CALL(fi_fetch_atomic(p->ep, &operand, 1, NULL, &result, NULL, to, place->address + 860000,
                         place->key, FI_UINT64, FI_SUM, p));
    context = (struct fi_triggered_context){.event_type = FI_TRIGGER_THRESHOLD};
    context.trigger.threshold.cntr = p->cntr;
    context.trigger.threshold.threshold = 0;
    message.context = &context;
    CALL(fi_writemsg(p->ep, &message, FI_TRIGGER | FI_COMPLETION));
    p->begun += 8;
    return 0;
}

/*
 * Memory was short once; now there is enough. Each side sends a word until the other one has
 * received it.
 */
static int still_works(struct party *p)
{
    fi_addr_t to = p->peers[1 - p->id];
    struct rank *rank = p->rank;
    uint64_t in = 0, out = 77, received = 0, all[2];
    uint32_t tries;

    CALL(fi_trecv(p->ep, &in, sizeof(in), NULL, FI_ADDR_UNSPEC, 99, 0, &in));
    for (tries = 0; tries < 4; tries++) {
        rank_barrier(rank);
        if (tries == 0 || all[1 - p->id] == 0) {
            CALL(fi_tsend(p->ep, &out, sizeof(out), NULL, to, 99, &out));
            p->begun++;
        }
        TRY(settle(p, NULL));
        received = in == 77;
        rank_allgather(rank, &received, all, sizeof(received));
        if (all[0] != 0 && all[1] != 0)
            break;
    }
    EXPECT(tries < 4);
    return 0;
}

static int close_all(struct party *p)
{
    struct fid *const all[] = {
        &p->mr->fid,    &p->tx->fid, &p->rx->fid,   &p->sep->fid, &p->second->fid,
        &p->stx->fid,   &p->ep->fid, &p->av->fid,   NULL,         &p->poll->fid,
        &p->cntr->fid,  &p->cq->fid, &p->wait->fid, &p->eq->fid,  &p->domain->fid,
        &p->fabric->fid};
    struct rank *rank = p->rank;
    size_t i;

    EXPECT_IS(fi_poll_del(p->poll, &p->cntr->fid, 0), 0);
    for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i] != NULL)
            EXPECT_IS(fi_close(all[i]), 0);
    fi_freeinfo(p->info);
    fi_freeinfo(p->hints);
    free(p->memory);
    return 0;
}

static uint64_t received[2];

static int body(struct rank *rank)
{
    struct party *p = calloc(1, sizeof(*p));

    p->rank = rank;
    p->id = rank_id(rank);
    TRY(open_objects(p));
    TRY(open_endpoints(p));
    TRY(exchange(p));
    if (p->id == 0) /* its receives are late: messages wait for them */
        TRY(post_receives(p));
    rank_barrier(rank);
    TRY(post_sends(p));
    TRY(post_one_sided(p));
    received[p->id] = 0;
    gni_pause(rank, MS);
    if (p->id == 1)
        TRY(post_receives(p));
    TRY(settle(p, &received[p->id]));
    if (fail_at == 0) { /* six messages, and the word of the write */
        EXPECT_IS(p->bad, 0);
        EXPECT_IS(received[p->id], 6);
    }
    rank_barrier(rank);
    TRY(still_works(p));
    rank_barrier(rank);
    TRY(close_all(p));
    free(p);
    return 0;
}

static void run(uint64_t which)
{
    fail_at = which;
    calls = 0;
    armed = true;
    print_message("allocation %" PRIu64 "\r", which); /* to be seen when something is wrong */
    gni_run(&(struct gni_machine){.ranks = 2, .yaml = GNI_BREAKS("libfabric.completion-dropped")},
            body);
    armed = false;
    assert_int_equal(live_count, 0);
}

static void gni_147_each_allocation_fails_once(void **state)
{
    uint64_t all, i;

    (void)state;
    run(0);
    all = calls;
    assert_true(all > 50);
    for (i = 1; i <= all; i++) {
        run(i);
    }
}

/* ---- a completion queue that cannot grow ----------------------------------------------------- */

#define EVENTS 300u /* more than a queue holds at first */

static int write_events(struct party *p)
{
    const struct gni_place *place = &p->all[1];
    struct rank *rank = p->rank;
    uint64_t i;

    rank_alarm(rank, 3000 * MS);
    for (i = 0; i < EVENTS; i++) {
        while (fi_writedata(p->ep, p->memory, 8, NULL, i, p->peers[1], place->address, place->key,
                            p) == -FI_EAGAIN) {
            EXPECT(!rank_alarm_rang(rank));
            TRY(poll_all(p, NULL));
        }
        p->begun++;
    }
    TRY(settle(p, NULL));
    EXPECT_IS(p->bad, 0);
    return 0;
}

/* All events come, each once and in order, when there is memory again. */
static int read_events(struct party *p)
{
    struct fi_cq_tagged_entry entry;
    struct rank *rank = p->rank;
    uint64_t i;

    rank_alarm(rank, 20 * MS);
    while (!rank_alarm_rang(rank))
        fi_cq_read(p->cq, NULL, 0);
    for (i = 0; i < EVENTS; i++) {
        if (i == EVENTS / 3)
            no_aligned = false;
        rank_alarm(rank, 3000 * MS);
        while (fi_cq_read(p->cq, &entry, 1) != 1)
            EXPECT(!rank_alarm_rang(rank)); /* an event is lost */
        EXPECT((entry.flags & FI_REMOTE_CQ_DATA) != 0);
        EXPECT_IS(entry.data, i);
    }
    EXPECT_IS(fi_cq_read(p->cq, &entry, 1), -FI_EAGAIN);
    return 0;
}

static int no_growth_body(struct rank *rank)
{
    struct party *p = calloc(1, sizeof(*p));

    p->rank = rank;
    p->id = rank_id(rank);
    TRY(open_objects(p));
    TRY(open_endpoints(p));
    TRY(exchange(p));
    TRY(still_works(p)); /* connected, and each queue has its first slots */
    rank_barrier(rank);
    p->begun = p->good = p->bad = 0;
    no_aligned = true;
    if (p->id == 0)
        TRY(write_events(p));
    else
        TRY(read_events(p));
    rank_barrier(rank);
    TRY(close_all(p));
    free(p);
    return 0;
}

static void gni_77_remote_data_waits_for_memory(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, no_growth_body);
    assert_int_equal(live_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_77_remote_data_waits_for_memory),
        cmocka_unit_test(gni_147_each_allocation_fails_once),
    };

    return cmocka_run_group_tests_name("allocations", tests, NULL, NULL);
}
