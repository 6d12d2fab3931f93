/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random messages between all pairs of three processes, on two channels, in both directions at the
 * same time: each process has a thread that sends and one that receives on each channel. Over the
 * twelve sets of links that together have every buffer management, and over the drivers of the
 * simulation. Receivers verify contents when the mode says that they are valid; the ledger's books
 * of blocks and static buffers are balanced.
 */
#include "rank_programs.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <madeleine.h>

#include "full.h"
#include "matrix.h"
#include "port/port.h"
#include "random.h"

enum { RANKS = 3, CHANNELS = 2, PIECES = 24, BYTES = 3000, LONG_BYTES = 70000, OFFSETS = 1024 };

/* VIRTUAL: rank 1 is a gateway between two adapters. MULTIPLEXED: both adapters are its rails. */
enum kind { PLAIN, VIRTUAL, MULTIPLEXED };

static struct {
    uint64_t seed;
    int messages; /* of a sender on a channel */
    size_t longest; /* bytes of a few blocks */
    enum kind kind; /* of the channels */
} traffic;

/* The contents of blocks are at random places of it. */
static unsigned char contents[LONG_BYTES + 2 * OFFSETS];

struct piece {
    size_t length, place;
    mad_send_mode_t send;
    mad_receive_mode_t receive;
};

struct message {
    int to, count;
    struct piece pieces[PIECES];
};

struct worker {
    struct rank *rank;
    p_mad_channel_t channel;
    struct port_thread *thread;
    unsigned char *memory[PIECES];
    int failures;
};

/* ---- drawing messages ------------------------------------------------------------------------ */

static uint64_t mixed(uint64_t value)
{
    value = (value ^ value >> 31) * 0x7fb5d329728ea185u;
    value = (value ^ value >> 27) * 0x81dadef4bc2dd44du;
    return value ^ value >> 33;
}

static size_t random_length(uint64_t *seed)
{
    if (random_below(seed, 3) == 0)
        return random_below(seed, 16);
    return random_below(seed, 1 + (random_below(seed, 16) == 0 ? traffic.longest : BYTES));
}

/* The message that a rank sends on a channel: the same for both sides. */
static void draw(struct message *message, long channel, int from, int number)
{
    static const mad_send_mode_t sends[] = {mad_send_SAFER, mad_send_LATER, mad_send_CHEAPER,
                                            mad_send_CHEAPER};
    uint64_t seed = mixed(traffic.seed << 40 | (uint64_t)channel << 32 | (uint64_t)from << 24 |
                          (uint64_t)(number + 1)) |
                    1;

    message->to = (from + 1 + (int)random_below(&seed, RANKS - 1)) % RANKS;
    message->count = 1 + (int)random_below(&seed, PIECES);
    for (int i = 0; i < message->count; i++) {
        struct piece *piece = &message->pieces[i];

        piece->length = random_length(&seed);
        piece->place = random_below(&seed, OFFSETS);
        piece->send = sends[random_below(&seed, 4)];
        /* LATER/EXPRESS holds back all that follows, so it is rare. */
        piece->receive = random_below(&seed, piece->send == mad_send_LATER ? 12 : 3) == 0
                             ? mad_receive_EXPRESS
                             : mad_receive_CHEAPER;
    }
    message->pieces[random_below(&seed, (size_t)message->count)].length =
        1 + random_below(&seed, BYTES);
}

static const unsigned char *content(const struct piece *piece)
{
    return contents + piece->place;
}

/* ---- the threads ----------------------------------------------------------------------------- */

/* SAFER memory is overwritten after its pack, LATER memory gets its value before the end. */
static void send_one(struct worker *worker, const struct message *message)
{
    p_mad_connection_t out = mad_begin_packing(worker->channel, message->to);

    for (int i = 0; i < message->count; i++) {
        const struct piece *piece = &message->pieces[i];
        bool later = piece->send == mad_send_LATER;

        memcpy(worker->memory[i], content(piece) + (later ? OFFSETS : 0), piece->length);
        mad_pack(out, worker->memory[i], piece->length, piece->send, piece->receive);
        if (piece->send == mad_send_SAFER)
            memset(worker->memory[i], 0xEE, piece->length);
    }
    for (int i = 0; i < message->count; i++)
        if (message->pieces[i].send == mad_send_LATER)
            memcpy(worker->memory[i], content(&message->pieces[i]), message->pieces[i].length);
    mad_end_packing(out);
}

static void send_all(void *argument)
{
    struct worker *worker = argument;
    struct message message;

    for (int i = 0; i < traffic.messages && worker->failures == 0; i++) {
        draw(&message, worker->channel->id, (int)rank_id(worker->rank), i);
        send_one(worker, &message);
        worker->failures +=
            SAYS(worker->rank,
                 mad_connection_error(worker->channel->output_connection[message.to]) == MAD_OK);
    }
}

static bool has_arrived(const struct worker *worker, const struct message *message, int i)
{
    const struct piece *piece = &message->pieces[i];

    return memcmp(worker->memory[i], content(piece), piece->length) == 0;
}

static void receive_one(struct worker *worker, p_mad_connection_t in, const struct message *message)
{
    bool good = true;

    for (int i = 0; i < message->count; i++) {
        const struct piece *piece = &message->pieces[i];

        memset(worker->memory[i], 0, piece->length);
        mad_unpack(in, worker->memory[i], piece->length, piece->send, piece->receive);
        if (piece->receive == mad_receive_EXPRESS)
            good = good && has_arrived(worker, message, i);
    }
    mad_end_unpacking(in);
    for (int i = 0; i < message->count; i++)
        good = good && has_arrived(worker, message, i);
    worker->failures += SAYS(worker->rank, mad_connection_error(in) == MAD_OK);
    worker->failures += SAYS(worker->rank, good);
    rank_progress(worker->rank);
}

/* The number of the sender's next message for this rank from `number` on; the last one plus 1:
 * none. */
static int next_for(const struct worker *worker, int from, int number, struct message *message)
{
    for (; number < traffic.messages; number++) {
        draw(message, worker->channel->id, from, number);
        if (message->to == (int)rank_id(worker->rank))
            break;
    }
    return number;
}

static void receive_all(void *argument)
{
    struct worker *worker = argument;
    struct message message[RANKS];
    int number[RANKS] = {0}, open = 0;

    for (int from = 0; from < RANKS; from++) {
        number[from] = from == (int)rank_id(worker->rank)
                           ? traffic.messages
                           : next_for(worker, from, 0, &message[from]);
        open += number[from] < traffic.messages;
    }
    while (open > 0 && worker->failures == 0) {
        p_mad_connection_t in = mad_begin_unpacking(worker->channel);
        int from = in != NULL ? in->remote_host_id : -1;

        worker->failures += SAYS(worker->rank, from >= 0 && number[from] < traffic.messages);
        if (worker->failures != 0)
            return;
        receive_one(worker, in, &message[from]);
        number[from] = next_for(worker, from, number[from] + 1, &message[from]);
        open -= number[from] == traffic.messages;
    }
}

static void on_failure(const mad_failure_t *failure, void *argument)
{
    rank_fail(argument, "Madeleine: %s (%d, peer %d, %d)", failure->text, failure->code,
              failure->peer, failure->driver_code);
}

static void start(struct worker *worker, void (*run)(void *))
{
    for (int i = 0; i < PIECES; i++)
        worker->memory[i] = malloc(LONG_BYTES);
    worker->thread = port_thread_start("traffic", run, worker);
}

static p_mad_channel_t open_virtual(p_mad_madeleine_t session, int number)
{
    static const ntbx_host_id_t ranks[2][2] = {{0, 1}, {1, 2}};
    p_mad_channel_t parts[2];
    char name[32];

    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), "part%d-%d", number, i);
        parts[i] = mad_open_channel_of(session, name, i, 2, ranks[i]);
    }
    snprintf(name, sizeof(name), "whole%d", number);
    return mad_open_virtual_channel(session, name, 2, parts);
}

static void open_multiplexed(p_mad_madeleine_t session, p_mad_channel_t *channels)
{
    static const char *const names[CHANNELS - 1] = {"second"};
    p_mad_channel_t rails[2] = {mad_open_channel(session, 0), mad_open_channel(session, 1)};

    channels[0] = mad_open_multiplexed_channel(
        session, "first", 2, rails, CHANNELS - 1, (const char **)names,
        traffic.seed % 2 != 0 ? mad_strategy_aggregate : mad_strategy_default);
    for (unsigned i = 1; i < CHANNELS; i++)
        channels[i] = mad_get_sub_channel(channels[0], i);
}

static void open_channels(p_mad_madeleine_t session, p_mad_channel_t *channels)
{
    if (traffic.kind == MULTIPLEXED)
        open_multiplexed(session, channels);
    for (int i = 0; i < CHANNELS && traffic.kind != MULTIPLEXED; i++)
        channels[i] =
            traffic.kind == VIRTUAL ? open_virtual(session, i) : mad_open_channel(session, 0);
}

static int matrix_main(struct rank *rank)
{
    struct worker workers[2 * CHANNELS] = {{0}};
    p_mad_channel_t channels[CHANNELS];
    p_mad_madeleine_t session;
    int failures = 0;

    mad_set_failure_handler(on_failure, rank);
    session = mad_init(NULL, NULL, NULL, NULL);
    open_channels(session, channels);
    for (int i = 0; i < CHANNELS; i++)
        workers[i].channel = workers[CHANNELS + i].channel = channels[i];
    for (int i = 0; i < 2 * CHANNELS; i++) {
        workers[i].rank = rank;
        start(&workers[i], i < CHANNELS ? send_all : receive_all);
    }
    for (int i = 0; i < 2 * CHANNELS; i++) {
        port_thread_join(workers[i].thread);
        failures += workers[i].failures;
        for (int k = 0; k < PIECES; k++)
            free(workers[i].memory[k]);
    }
    mad_exit(session);
    return failures;
}

/* `all`: messages of all senders on all channels. */
static void run_scenario(const char *scenario, int all, uint64_t seed)
{
    program_main *const mains[] = {matrix_main};

    traffic.seed = seed;
    traffic.messages = (all + RANKS * CHANNELS - 1) / (RANKS * CHANNELS);
    if (programs_exit(programs_result(scenario, mains, seed)) != EXIT_HOLDS)
        fail_msg("seed %lu of:\n%s", (unsigned long)seed, scenario);
}

/* ---- sets of links --------------------------------------------------------------------------- */

#define EAGER mad_link_mode_buffer
#define GROUP mad_link_mode_buffer_group
#define DYNAMIC mad_buffer_mode_dynamic
#define STATIC mad_buffer_mode_static
#define AGGREGATE mad_group_mode_aggregate
#define SPLIT mad_group_mode_split

static const struct {
    int count;
    struct matrix_link links[MATRIX_LINKS];
} sets[] = {
    {1, {{EAGER, DYNAMIC, AGGREGATE, SIZE_MAX, 0}}},
    {1, {{EAGER, DYNAMIC, SPLIT, SIZE_MAX, 0}}},
    {2, {{GROUP, DYNAMIC, SPLIT, 360, 0}, {GROUP, DYNAMIC, SPLIT, SIZE_MAX, 0}}},
    {2, {{GROUP, DYNAMIC, AGGREGATE, 360, 0}, {GROUP, DYNAMIC, AGGREGATE, SIZE_MAX, 0}}},
    {1, {{EAGER, STATIC, AGGREGATE, SIZE_MAX, 512}}},
    {3,
     {{EAGER, STATIC, AGGREGATE, 300, 128},
      {GROUP, DYNAMIC, SPLIT, 1000, 0},
      {GROUP, DYNAMIC, SPLIT, SIZE_MAX, 0}}},
    {1, {{GROUP, STATIC, AGGREGATE, SIZE_MAX, 512}}},
    {1, {{GROUP, STATIC, SPLIT, SIZE_MAX, 512}}},
    {2, {{GROUP, STATIC, SPLIT, 400, 256}, {GROUP, DYNAMIC, AGGREGATE, SIZE_MAX, 0}}},
    {2, {{EAGER, STATIC, AGGREGATE, 400, 256}, {EAGER, DYNAMIC, SPLIT, SIZE_MAX, 0}}},
    {2, {{EAGER, STATIC, AGGREGATE, 400, 256}, {GROUP, STATIC, SPLIT, SIZE_MAX, 512}}},
    {2, {{EAGER, STATIC, AGGREGATE, 400, 256}, {GROUP, DYNAMIC, AGGREGATE, SIZE_MAX, 0}}},
};
enum { SETS = sizeof(sets) / sizeof(sets[0]) };
_Static_assert(SETS == 12, "those of the checklist");

static bool any_links; /* the driver with any set of links is in the place of TCP */

void __real_mad_tcp_register(p_mad_driver_t driver);
void __wrap_mad_tcp_register(p_mad_driver_t driver);

void __wrap_mad_tcp_register(p_mad_driver_t driver)
{
    if (any_links)
        matrix_register(driver);
    else
        __real_mad_tcp_register(driver);
}

/* With each check level in turn, and with queues of several lengths. */
static void run_set(int set, int all, uint64_t seed)
{
    char scenario[400];

    matrix =
        (struct matrix){.count = sets[set].count, .room = (size_t)100 << seed % 8, .seed = seed};
    memcpy(matrix.links, sets[set].links, sizeof(matrix.links));
    snprintf(scenario, sizeof(scenario),
             "networks: [{name: eth, kind: ethernet, nodes: 3}] # set %d of links\n"
             "jobs: [{name: a, nodes: 0-2, workload: mad_ping,\n"
             "        env: {MAD_ADAPTERS: tcp, MAD_THREADS: '1', MAD_CHECK: '%d'}}]\n"
             "expect: [{ledger: balanced}]\n",
             set, (int)(seed % 3));
    traffic.kind = PLAIN;
    any_links = true;
    run_scenario(scenario, all, seed);
    any_links = false;
    assert_true(matrix_is_empty());
    assert_int_equal(matrix.obtained, matrix.handed);
    assert_int_equal(matrix.taken, matrix.returned);
    assert_int_equal(matrix.misplaced, 0);
}

static struct {
    int messages;
    long waited; /* senders for room */
} * sets_run; /* shared with processes of seeds */

/* A seed has a process of its own: the memory of a run's ranks is given back with its process. */
static void in_a_process(void (*run)(uint64_t seed), uint64_t seed)
{
    pid_t child;
    int status;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run(seed);
        exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void run_sets(uint64_t seed)
{
    for (int set = 0; set < SETS; set++) {
        run_set(set, sets_run->messages, seed);
        sets_run->waited += matrix.waited;
    }
}

/* A part of the slow set: these seeds instead of all. */
static struct {
    long first, last; /* 0: not given */
} part;

static void run_seeds(void (*run)(uint64_t seed), long seeds)
{
    long first = part.last != 0 ? part.first : 1, last = part.last != 0 ? part.last : seeds;

    assert_true(first >= 1 && first <= last && last <= seeds);
    for (long seed = first; seed <= last; seed++)
        in_a_process(run, (uint64_t)seed);
}

static void mad_22_mad_43_mad_49_twelve_sets_of_links(void **state)
{
    sets_run =
        mmap(NULL, sizeof(*sets_run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(sets_run != MAP_FAILED);
    sets_run->messages = (int)test_full(240, 2000);
    traffic.longest = BYTES;
    run_seeds(run_sets, test_seeds(3, 1000));
    assert_true(sets_run->waited > 0);
    munmap(sets_run, sizeof(*sets_run));
}

/* ---- drivers --------------------------------------------------------------------------------- */

#define SMALL(kind) "networks: [{name: net, kind: " kind ", nodes: 3}]\n"
#define ARIES "fabric: {preset: mini2}\n"
#define LNET                                                        \
    "limits: {no_progress: 1000s}\n"                                \
    "networks: [{name: net, topology: single-switch, nodes: 64}]\n" \
    "lnet: {nodes: [{nodes: 0-2, networks: tcp(net)}]}\n"

#define BOTH                                                        \
    "limits: {no_progress: 1000s}\n"                                \
    "networks: [{name: aries, preset: mini2},\n"                    \
    "           {name: net, topology: single-switch, nodes: 64}]\n" \
    "lnet: {nodes: [{nodes: 0-2, networks: tcp(net)}]}\n"
#define TWO(one, other) \
    "networks: [{name: a, kind: " one ", nodes: 3}, {name: b, kind: " other ", nodes: 3}]\n"

static const struct {
    const char *networks, *variables;
    enum kind kind;
} drivers[] = {
    {SMALL("ethernet"), "MAD_ADAPTERS: tcp", PLAIN},
    {SMALL("ethernet"), "MAD_ADAPTERS: tcp, MAD_TCP_EAGER: '1'", PLAIN},
    {SMALL("sci"), "MAD_ADAPTERS: sisci", PLAIN},
    {SMALL("sci"), "MAD_ADAPTERS: sisci, MAD_SISCI_SEGMENTS: '1'", PLAIN},
    {SMALL("sci"), "MAD_ADAPTERS: sisci, MAD_SISCI_DMA_MIN: '1000'", PLAIN},
    {SMALL("via"), "MAD_ADAPTERS: 'via:/dev/via_eth0'", PLAIN},
    {SMALL("via"), "MAD_ADAPTERS: 'via:/dev/via_eth0', MAD_VIA_FORCE: dynamic", PLAIN},
    {SMALL("sbp"), "MAD_ADAPTERS: sbp", PLAIN},
    {ARIES, "MAD_ADAPTERS: gni", PLAIN},
    {ARIES, "MAD_ADAPTERS: gni, MAD_GNI_SMSG_MAX: '1024', MAD_GNI_BTE_MIN: '8192'", PLAIN},
    {LNET, "MAD_ADAPTERS: lnet", PLAIN},
    {LNET, "MAD_ADAPTERS: lnet, MAD_LNET_EAGER_MAX: '500'", PLAIN},
    {ARIES, "MAD_ADAPTERS: mpi", PLAIN},
    {BOTH, "MAD_ADAPTERS: 'gni,lnet'", VIRTUAL},
    {BOTH, "MAD_ADAPTERS: 'mpi,lnet'", VIRTUAL},
    {TWO("sci", "ethernet"), "MAD_ADAPTERS: 'sisci,tcp'", VIRTUAL},
    {TWO("via", "sbp"), "MAD_ADAPTERS: 'via:/dev/via_eth0,sbp'", VIRTUAL},
    {BOTH, "MAD_ADAPTERS: 'gni,lnet', MAD_MUX_SPLIT: '20000'", MULTIPLEXED},
    {BOTH, "MAD_ADAPTERS: 'mpi,gni'", MULTIPLEXED},
    {TWO("sci", "ethernet"), "MAD_ADAPTERS: 'sisci,tcp'", MULTIPLEXED},
    {TWO("via", "sbp"), "MAD_ADAPTERS: 'via:/dev/via_eth0,sbp'", MULTIPLEXED},
};

static void run_drivers(uint64_t seed)
{
    int all = (int)test_full(300, 2000);
    char scenario[600];

    for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
        traffic.kind = drivers[i].kind;
        snprintf(scenario, sizeof(scenario),
                 "%sjobs: [{name: a, nodes: 0-2, workload: mad_ping,\n"
                 "        env: {%s, MAD_THREADS: '1', MAD_CHECK: '%d'}}]\n"
                 "expect: [{ledger: balanced}]\n",
                 drivers[i].networks, drivers[i].variables, (int)(seed % 3));
        run_scenario(scenario, all, seed);
    }
}

static void mad_22_mad_33_mad_43_drivers(void **state)
{
    traffic.longest = LONG_BYTES;
    run_seeds(run_drivers, test_full(1, 50));
}

static int fill_contents(void **state)
{
    uint64_t seed = 1;

    for (size_t i = 0; i < sizeof(contents); i++)
        contents[i] = (unsigned char)random_below(&seed, 251);
    return 0;
}

/* The arguments: a pattern of the names of tests; the first and the last seed. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_22_mad_43_mad_49_twelve_sets_of_links),
        cmocka_unit_test(mad_22_mad_33_mad_43_drivers),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (argc > 3) {
        part.first = strtol(argv[2], NULL, 10);
        part.last = strtol(argv[3], NULL, 10);
    }
    return cmocka_run_group_tests(tests, fill_contents, NULL);
}
