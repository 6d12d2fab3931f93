/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Simulated 8-byte SMSG messages per wall second, through the whole path: uGNI front, NIC model,
 * network at F1, engine. Two ranks in ping-pong on one blade and one hop apart, and 64 ranks that
 * send to random peers. For ./dev bench counts also PUTs by FMA and BTE. Reference: the actor
 * mailboxes of a simulator without any NIC, 0.31 M messages/s on such a machine
 * (docs/internals/performance.md).
 */
#include <stdint.h>
#include "bench.h"
#include "aries/aries.h"
#include "gni_pub.h"
#include "engine/ledger.h"
#include "engine/random.h"

#define RANKS_MAX 64u
#define CREDITS 16u
#define BLOCK 65536u
#define PEER_MESSAGES_PER_S 0.31e6

struct rank {
    uint32_t id, node;
    gni_nic_handle_t nic;
    gni_cq_handle_t tx, rx;
    uint32_t address;
    gni_ep_handle_t eps[RANKS_MAX];
    gni_smsg_attr_t mailboxes[RANKS_MAX]; /* for each peer */
    gni_mem_handle_t handle, blocks_handle;
    uint8_t *memory;
    uint8_t *blocks; /* two of BLOCK bytes: what it PUTs, and where the other one does */
    struct sim_fiber *fiber;
    struct sim_random random;
    uint64_t received;
};

static struct rank ranks[RANKS_MAX];
static uint32_t ranks_count, ready_count;
static uint64_t messages; /* per rank */
static uint64_t received_total;

static void expect(gni_return_t code, const char *call)
{
    if (code == GNI_RC_SUCCESS)
        return;
    fprintf(stderr, "%s: %s\n", call, gni_err_str[code]);
    exit(1);
}

static void open_domain(struct rank *rank)
{
    gni_cdm_handle_t cdm;

    expect(GNI_CdmCreate(rank->id, 10, 0x1230000, 0, &cdm), "GNI_CdmCreate");
    expect(GNI_CdmAttach(cdm, 0, &rank->address, &rank->nic), "GNI_CdmAttach");
    expect(GNI_CqCreate(rank->nic, 1024, 0, GNI_CQ_NOBLOCK, NULL, NULL, &rank->tx), "GNI_CqCreate");
    expect(GNI_CqCreate(rank->nic, 4096, 0, GNI_CQ_NOBLOCK, NULL, NULL, &rank->rx), "GNI_CqCreate");
}

static void open_mailboxes(struct rank *rank)
{
    gni_smsg_attr_t attr = {
        .msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = CREDITS, .msg_maxsize = 64};
    unsigned size;
    uint32_t i;

    expect(GNI_SmsgBufferSizeNeeded(&attr, &size), "GNI_SmsgBufferSizeNeeded");
    rank->memory = aligned_alloc(4096, ((size_t)size * ranks_count + 4095) / 4096 * 4096);
    memset(rank->memory, 0, (size_t)size * ranks_count);
    expect(GNI_MemRegister(rank->nic, (uintptr_t)rank->memory, (uint64_t)size * ranks_count,
                           rank->rx, 0, UINT32_MAX, &rank->handle),
           "GNI_MemRegister");
    rank->blocks = aligned_alloc(4096, 2 * BLOCK);
    memset(rank->blocks, 1, 2 * BLOCK);
    expect(GNI_MemRegister(rank->nic, (uintptr_t)rank->blocks, 2 * BLOCK, NULL, 0, UINT32_MAX,
                           &rank->blocks_handle),
           "GNI_MemRegister");
    attr.msg_buffer = rank->memory;
    attr.buff_size = size;
    attr.mem_hndl = rank->handle;
    for (i = 0; i < ranks_count; i++) {
        attr.mbox_offset = i * size;
        rank->mailboxes[i] = attr;
    }
}

static void wake_all(void)
{
    uint32_t i;

    for (i = 0; i < ranks_count; i++)
        if (ranks[i].fiber != sim_fiber_self())
            sim_wake(ranks[i].fiber);
}

/* A barrier of all ranks, out of band, as a launcher would provide it. */
static void meet(void)
{
    static const struct sim_wait wait = {.text = "all ranks"};

    if (++ready_count == ranks_count)
        wake_all();
    while (ready_count < ranks_count)
        sim_wait_until(SIM_NEVER, &wait);
}

static void connect_all(struct rank *rank)
{
    uint32_t i;

    for (i = 0; i < ranks_count; i++) {
        if (i == rank->id)
            continue;
        expect(GNI_EpCreate(rank->nic, rank->tx, &rank->eps[i]), "GNI_EpCreate");
        expect(GNI_EpBind(rank->eps[i], ranks[i].address, i), "GNI_EpBind");
        expect(GNI_SmsgInit(rank->eps[i], &rank->mailboxes[i], &ranks[i].mailboxes[rank->id]),
               "GNI_SmsgInit");
    }
}

static void collect_sends(struct rank *rank)
{
    gni_cq_entry_t event;

    while (GNI_CqGetEvent(rank->tx, &event) == GNI_RC_SUCCESS)
        ;
}

static void take(struct rank *rank, uint32_t from)
{
    void *header;

    while (GNI_SmsgGetNext(rank->eps[from], &header) == GNI_RC_SUCCESS) {
        rank->received++;
        if (++received_total == messages * ranks_count)
            wake_all(); /* ranks parked in their polls would not see the flag */
        expect(GNI_SmsgRelease(rank->eps[from]), "GNI_SmsgRelease");
    }
}

static bool receive(struct rank *rank)
{
    gni_cq_entry_t event;

    if (GNI_CqGetEvent(rank->rx, &event) != GNI_RC_SUCCESS)
        return false;
    take(rank, (uint32_t)GNI_CQ_GET_REM_INST_ID(event));
    return true;
}

static void ping_pong(struct rank *rank)
{
    gni_ep_handle_t ep = rank->eps[1 - rank->id];
    uint64_t i;

    for (i = 0; i < messages; i++) {
        if (rank->id == 0)
            expect(GNI_SmsgSend(ep, NULL, 0, &i, sizeof(i), 0), "GNI_SmsgSend");
        while (rank->received <= i)
            receive(rank);
        if (rank->id == 1)
            expect(GNI_SmsgSend(ep, NULL, 0, &i, sizeof(i), 0), "GNI_SmsgSend");
        if (i % 64 == 63)
            collect_sends(rank);
    }
}

static void random_peers(struct rank *rank)
{
    uint64_t i;

    for (i = 0; i < messages; i++) {
        uint32_t peer =
            (rank->id + 1 + (uint32_t)sim_random_below(&rank->random, ranks_count - 1)) %
            ranks_count;

        while (GNI_SmsgSend(rank->eps[peer], NULL, 0, &i, sizeof(i), 0) != GNI_RC_SUCCESS)
            receive(rank);
        receive(rank);
        if (i % 64 == 63)
            collect_sends(rank);
    }
    while (received_total < messages * ranks_count)
        if (!receive(rank))
            collect_sends(rank);
}

/* Each rank PUTs so many bytes to the other one, and collects each PUT before the next. */
static void puts_of(struct rank *rank, gni_post_type_t type, uint64_t bytes)
{
    struct rank *peer = &ranks[1 - rank->id];
    gni_post_descriptor_t put = {
        .type = type,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
        .local_addr = (uintptr_t)rank->blocks,
        .local_mem_hndl = rank->blocks_handle,
        .remote_addr = (uintptr_t)peer->blocks + BLOCK,
        .remote_mem_hndl = peer->blocks_handle,
        .length = bytes,
    };
    gni_post_descriptor_t *done;
    gni_cq_entry_t event;
    uint64_t i;

    for (i = 0; i < messages; i++) {
        if (type == GNI_POST_FMA_PUT)
            expect(GNI_PostFma(rank->eps[peer->id], &put), "GNI_PostFma");
        else
            expect(GNI_PostRdma(rank->eps[peer->id], &put), "GNI_PostRdma");
        sim_same_poll_begin();
        while (GNI_CqGetEvent(rank->tx, &event) != GNI_RC_SUCCESS)
            ;
        sim_same_poll_end();
        expect(GNI_GetCompleted(rank->tx, event, &done), "GNI_GetCompleted");
        rank->received++; /* as a message: run() compares the number */
    }
}

static void fma_8(struct rank *rank)
{
    puts_of(rank, GNI_POST_FMA_PUT, 8);
}

static void bte_4k(struct rank *rank)
{
    puts_of(rank, GNI_POST_RDMA_PUT, 4096);
}

static void bte_64k(struct rank *rank)
{
    puts_of(rank, GNI_POST_RDMA_PUT, BLOCK);
}

static void (*body)(struct rank *rank);
static double started;

static void rank_main(void *arg)
{
    struct rank *rank = arg;

    open_domain(rank);
    open_mailboxes(rank);
    meet();
    connect_all(rank);
    if (++ready_count == 2 * ranks_count)
        started = bench_seconds();
    body(rank);
}

static uint64_t events, switches; /* of the last run */

static double run(const char *preset, uint32_t count, uint32_t stride, uint64_t each,
                  void (*how)(struct rank *))
{
    struct sim_options options = {.seed = 1};
    struct aries_params *params = aries_params_new("xc40_hsw");
    struct aries_fabric *fabric;
    struct net_config config;
    struct net *net;
    char *error = NULL;
    double seconds;
    uint64_t received = 0;
    uint32_t i;

    memset(ranks, 0, sizeof(ranks));
    ready_count = 0;
    received_total = 0;
    ranks_count = count;
    messages = each;
    body = how;
    sim_init(&options);
    net_config_default(&config);
    config.dragonfly.preset = preset;
    aries_params_to_net(params, &config);
    net = net_create(&config, &error);
    if (net == NULL) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    fabric = aries_fabric_create(net, params, 1);
    aries_fabric_check(fabric, bench_checks);
    aries_job_configure(fabric, 1, 10, 0x1230000);
    for (i = 0; i < count; i++) {
        struct aries_process *process =
            aries_process_create(fabric, i * stride, 1, i + 1, false, "bench", NULL, NULL);

        ranks[i].id = i;
        sim_random_init(&ranks[i].random, 1, "bench", i);
        ranks[i].fiber = sim_fiber_start(rank_main, &ranks[i], "bench", 0);
        aries_process_bind(process, ranks[i].fiber);
    }
    if (sim_run() != SIM_DONE) {
        fprintf(stderr, "the simulation got stuck\n");
        exit(1);
    }
    seconds = bench_seconds() - started;
    for (i = 0; i < count; i++) {
        received += ranks[i].received;
        free(ranks[i].memory);
        free(ranks[i].blocks);
    }
    aries_fabric_abandon_events(fabric);
    if (received < (uint64_t)count * each || !sim_ledger_balance()) {
        fprintf(stderr, "messages were lost\n");
        exit(1);
    }
    events = sim_core.events_fired;
    switches = sim_core.fiber_switches;
    aries_fabric_destroy(fabric);
    net_destroy(net);
    aries_params_free(params);
    sim_fini();
    return (double)received / seconds;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

#define RUNS 5

static const struct measured {
    const char *name, *title, *preset; /* title NULL: only for ./dev bench counts */
    uint32_t ranks, stride;
    uint64_t messages; /* of each rank */
    void (*body)(struct rank *);
} cases[] = {
    {"pingpong", "ping-pong, 2 ranks of a blade", "blade", 2, 1, 500000, ping_pong},
    {"pingpong-hop", "ping-pong, 2 ranks one hop apart", "chassis", 2, 4, 500000, ping_pong},
    {"random", "random traffic, 64 ranks", "chassis", 64, 1, 20000, random_peers},
    {"fma-8", NULL, "blade", 2, 1, 0, fma_8},
    {"bte-4k", NULL, "blade", 2, 1, 0, bte_4k},
    {"bte-64k", NULL, "blade", 2, 1, 0, bte_64k},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* The median and the worst of some runs: other work on the machine disturbs single runs. */
static void rows(struct bench *bench, const struct measured *measured)
{
    double rates[RUNS];
    char worst[96];
    unsigned i;

    for (i = 0; i < RUNS; i++)
        rates[i] = run(measured->preset, measured->ranks, measured->stride, measured->messages,
                       measured->body) /
                   1e6;
    qsort(rates, RUNS, sizeof(*rates), by_size);
    snprintf(worst, sizeof(worst), "%s, worst of %d", measured->title, RUNS);
    bench_row(bench, measured->title, rates[RUNS / 2], "M messages/s", PEER_MESSAGES_PER_S / 1e6);
    bench_row(bench, worst, rates[0], "M messages/s", PEER_MESSAGES_PER_S / 1e6);
}

static int once(const char *name, uint64_t length)
{
    unsigned i;

    for (i = 0; i < CASES; i++) {
        if (strcmp(cases[i].name, name) == 0) {
            run(cases[i].preset, cases[i].ranks, cases[i].stride, length, cases[i].body);
            bench_counted(length * cases[i].ranks, events, switches);
            return 0;
        }
    }
    fprintf(stderr, "bench-smsg: no such case: %s\n", name);
    return 1;
}

int main(int argc, char **argv)
{
    struct bench bench;
    const char *name;
    uint64_t length;
    unsigned i;

    if (bench_once(argc, argv, &name, &length))
        return once(name, length);
    bench_begin(&bench, "smsg", argc, argv);
    bench_calibrate(&bench);
    for (i = 0; i < CASES; i++)
        if (cases[i].title != NULL)
            rows(&bench, &cases[i]);
    bench_calibrate(&bench);
    bench_end(&bench);
    return 0;
}
