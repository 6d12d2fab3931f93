/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* TCP in virtual time over a network of switches: bytes, times, loss, windows, ends. */
#include <errno.h>

#include "engine/fault.h"
#include "lnd/tcp/stream_sim.h"
#include "net_test.h"

#define LINK_BPUS 12500.0 /* 100 Gbit/s */
#define NODES 4
#define PORT 988

static struct net *net;
static struct lnet_stream_host *hosts[NODES];

static uint32_t address_of(uint32_t node)
{
    return 0x0a000001u + node;
}

static void begin_at(double rate_Bpus)
{
    struct net_config config;
    uint32_t i;
    int error;

    net_config_default(&config);
    config.topology = NET_SWITCHED;
    config.switched = (struct net_switched_config){"single-switch", NODES,       0,
                                                   rate_Bpus,       50 * SIM_NS, 300 * SIM_NS};
    net = test_begin(&config);
    lnet_tcp_model_default(&lnet_tcp_model);
    for (i = 0; i < NODES; i++) {
        struct lnet_interface interface = {
            .name = "eth0", .address = address_of(i), .net = net, .endpoint = i};

        hosts[i] = lnet_stream_host_open(NULL, &interface, &error);
        assert_non_null(hosts[i]);
    }
}

static void begin(void)
{
    begin_at(LINK_BPUS);
}

static void end(void)
{
    test_end(net);
    lnet_stream_sim_reset();
}

/* One end in a test: what was reported, and a read that goes on by itself. */
struct party {
    struct lnet_stream *stream;
    bool connected, closed;
    int connect_status, close_status;
    sim_time_t connected_at, closed_at, done_at, first_read_at;
    struct lnet_stream_write write[8];
    uint32_t written;
    uint8_t *into; /* what the reads fill */
    struct kvec whole;
    uint32_t wanted, piece, got;
};

static void read_next(struct party *party);

static void read_done(void *owner)
{
    struct party *party = owner;

    if (party->first_read_at == 0)
        party->first_read_at = sim_now();
    party->got +=
        party->piece < party->wanted - party->got ? party->piece : party->wanted - party->got;
    party->done_at = sim_now();
    read_next(party);
}

static void read_next(struct party *party)
{
    struct lnet_fragments to = {1, party->wanted, &party->whole};
    uint32_t left = party->wanted - party->got;

    if (left > 0)
        lnet_stream_read(party->stream, &to, party->got, left < party->piece ? left : party->piece,
                         read_done);
}

static void read_all(struct party *party, uint32_t bytes, uint32_t piece)
{
    party->into = calloc(1, bytes + 1);
    assert_non_null(party->into);
    party->whole = (struct kvec){party->into, bytes};
    party->wanted = bytes;
    party->piece = piece;
    party->got = 0;
    read_next(party);
}

static void connected(void *owner, int status)
{
    struct party *party = owner;

    assert_false(party->connected);
    party->connected = true;
    party->connect_status = status;
    party->connected_at = sim_now();
    if (status != 0) {
        lnet_stream_close(party->stream, false);
        party->stream = NULL;
    }
}

static void closed(void *owner, int status)
{
    struct party *party = owner;

    assert_false(party->closed);
    party->closed = true;
    party->close_status = status;
    party->closed_at = sim_now();
}

static const struct lnet_stream_handler handler = {connected, closed};

static void accepted(void *owner, struct lnet_stream *stream)
{
    struct party *party = owner;

    party->stream = stream;
    party->connected = true;
    party->connected_at = sim_now();
    lnet_stream_adopt(stream, &handler, party);
}

static void written(struct lnet_stream_write *write)
{
    assert_non_null(write);
}

static void write_done_count(struct lnet_stream_write *write)
{
    write->length = 0; /* a mark for the test */
}

static uint8_t pattern(uint64_t at)
{
    return (uint8_t)(at * 7 + (at >> 8) * 13 + (at >> 16));
}

static uint8_t *patterned(uint32_t bytes)
{
    uint8_t *memory = malloc(bytes + 1);
    uint32_t i;

    assert_non_null(memory);
    for (i = 0; i < bytes; i++)
        memory[i] = pattern(i);
    return memory;
}

static void assert_pattern(const uint8_t *memory, uint32_t bytes)
{
    uint32_t i;

    for (i = 0; i < bytes; i++)
        if (memory[i] != pattern(i))
            fail_msg("byte %u is %u instead of %u", i, memory[i], pattern(i));
}

struct pair {
    struct party a, b;
    struct lnet_listener *listener;
};

static void connect_pair(struct pair *pair, uint32_t from, uint32_t to)
{
    int error;

    *pair = (struct pair){0};
    pair->listener = lnet_listen(hosts[to], PORT, 127, accepted, &pair->b, &error);
    assert_non_null(pair->listener);
    pair->a.stream = lnet_stream_connect(
        hosts[from], (struct lnet_stream_address){address_of(to), PORT}, true, &handler, &pair->a);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_true(pair->a.connected && pair->b.connected);
    assert_int_equal(pair->a.connect_status, 0);
}

static void close_pair(struct pair *pair)
{
    if (pair->a.stream != NULL)
        lnet_stream_close(pair->a.stream, false);
    if (pair->b.stream != NULL)
        lnet_stream_close(pair->b.stream, false);
    lnet_listener_close(pair->listener);
    free(pair->a.into);
    free(pair->b.into);
}

static bool write_bytes(struct party *party, struct lnet_stream_write *write, const void *bytes,
                        uint32_t head, uint32_t length)
{
    static struct kvec fragment[8];
    static uint32_t used;
    struct kvec *payload = &fragment[used++ % 8];

    *payload = (struct kvec){(char *)bytes + head, length};
    *write = (struct lnet_stream_write){
        .head = bytes,
        .head_bytes = head,
        .payload = {1, length, payload},
        .length = length,
        .done = written,
    };
    return lnet_stream_write(party->stream, write);
}

/* A connection takes a round trip, a small message half of one: 20 us. */
static void handshake_and_small_message(void **state)
{
    struct pair pair;
    uint8_t *bytes = patterned(104);
    uint64_t events;

    (void)state;
    begin();
    connect_pair(&pair, 0, 1);
    assert_in_range(pair.a.connected_at, 38 * SIM_US, 41 * SIM_US);
    assert_in_range(pair.b.connected_at, 57 * SIM_US, 61 * SIM_US);
    assert_int_equal(lnet_stream_peer(pair.b.stream).address, address_of(0));
    assert_int_equal(lnet_stream_peer(pair.b.stream).port, 1023);
    assert_int_equal(lnet_stream_local(pair.b.stream).port, PORT);

    read_all(&pair.b, 104, 104);
    events = sim_core.events_fired;
    pair.b.connected_at = sim_now();
    assert_true(write_bytes(&pair.a, &pair.a.write[0], bytes, 96, 8));
    assert_int_equal(lnet_stream_queued(pair.a.stream), 104);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(sim_core.events_fired - events, 1);
    assert_int_equal(pair.b.got, 104);
    assert_in_range(pair.b.done_at - pair.b.connected_at, 19 * SIM_US, 20 * SIM_US);
    assert_pattern(pair.b.into, 104);
    close_pair(&pair);
    free(bytes);
    end();
}

/* A connection carries 1.6 GiB/s, cut and put together at any place. */
static void bulk_rate(void **state)
{
    static const uint32_t pieces[] = {1, 4096, 100000, 1 << 20};
    uint32_t bytes = 1 << 20, i;
    uint8_t *memory = patterned(bytes);

    (void)state;
    for (i = 0; i < 4; i++) {
        uint32_t size = i == 0 ? 20000 : bytes;
        struct pair pair;
        sim_time_t start, span;

        begin();
        connect_pair(&pair, 0, 1);
        read_all(&pair.b, size, pieces[i]);
        start = sim_now();
        assert_true(write_bytes(&pair.a, &pair.a.write[0], memory, 96, size - 96));
        assert_int_equal(sim_run(), SIM_DONE);
        assert_int_equal(pair.b.got, size);
        assert_pattern(pair.b.into, size);
        span = pair.b.done_at - start;
        if (size == bytes)
            assert_in_range(span, 610 * SIM_US + 19 * SIM_US, 620 * SIM_US + 21 * SIM_US);
        close_pair(&pair);
        end();
    }
    free(memory);
}

static void refusals(void **state)
{
    struct party party = {0}, nobody = {0};
    sim_time_t start;

    (void)state;
    begin();
    start = sim_now();
    party.stream = lnet_stream_connect(hosts[0], (struct lnet_stream_address){address_of(1), PORT},
                                       true, &handler, &party);
    nobody.stream = lnet_stream_connect(
        hosts[0], (struct lnet_stream_address){address_of(77), PORT}, true, &handler, &nobody);
    assert_false(party.connected);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(party.connect_status, -ECONNREFUSED);
    assert_in_range(party.connected_at - start, 38 * SIM_US, 41 * SIM_US);
    assert_int_equal(nobody.connect_status, -EHOSTUNREACH);
    assert_int_equal(nobody.connected_at - start, 3 * SIM_S);
    end();
}

static void add_rule(double probability, uint64_t skip, uint64_t count)
{
    struct sim_fault_rule rule = {
        .action = SIM_FAULT_DROP,
        .until = SIM_NEVER,
        .probability = probability,
        .skip = skip,
        .count_max = count,
        .source = SIM_FAULT_ANY,
        .target = SIM_FAULT_ANY,
        .between = {SIM_FAULT_ANY, SIM_FAULT_ANY},
        .kind = SIM_FAULT_ANY,
    };
    struct sim_fault_point *point = sim_fault_point_find("net.packet");

    assert_non_null(point);
    sim_fault_rule_add(point, &rule);
}

static void count_record(const struct sim_fault_record *record, void *arg)
{
    uint32_t *count = arg;

    assert_non_null(strstr(record->title, "TCP"));
    ++*count;
}

/* Chunks that the network loses come again: no byte is lost, doubled or exchanged. */
static void loss_is_repaired(void **state)
{
    uint32_t bytes = 3 << 20, records = 0;
    uint8_t *memory = patterned(bytes);
    struct pair pair;
    sim_time_t start;

    (void)state;
    begin();
    connect_pair(&pair, 0, 1);
    add_rule(0.02, 0, 0);
    read_all(&pair.b, bytes, 10000);
    start = sim_now();
    write_bytes(&pair.a, &pair.a.write[0], memory, 96, (1 << 20) - 96);
    write_bytes(&pair.a, &pair.a.write[1], memory + (1 << 20), 96, (1 << 20) - 96);
    write_bytes(&pair.a, &pair.a.write[2], memory + (2 << 20), 96, (1 << 20) - 96);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(pair.b.got, bytes);
    assert_pattern(pair.b.into, bytes);
    assert_true(lnet_tcp_counters.lost > 3);
    assert_int_equal(lnet_tcp_counters.lost, lnet_tcp_counters.retransmitted);
    assert_true(pair.b.done_at - start > 3 * 610 * SIM_US);
    sim_fault_for_each_record(count_record, &records);
    assert_int_equal(records, lnet_tcp_counters.lost);
    close_pair(&pair);
    free(memory);
    end();
}

/* A lone small message that is lost waits for the timeout; a lost SYN for one second. */
static void timeouts_of_retransmission(void **state)
{
    uint8_t *memory = patterned(100);
    struct pair pair;
    sim_time_t start;

    (void)state;
    begin();
    connect_pair(&pair, 0, 1);
    add_rule(1, 0, 2);
    read_all(&pair.b, 100, 100);
    start = sim_now();
    assert_true(write_bytes(&pair.a, &pair.a.write[0], memory, 96, 4));
    assert_int_equal(sim_run(), SIM_DONE);
    assert_in_range(pair.b.done_at - start, 600 * SIM_MS, 601 * SIM_MS); /* 200 + 400 */
    close_pair(&pair);
    end();

    begin();
    add_rule(1, 0, 1);
    connect_pair(&pair, 0, 1);
    assert_in_range(pair.a.connected_at, SIM_S, SIM_S + SIM_MS);
    close_pair(&pair);
    free(memory);
    end();
}

static void link_down(void *arg)
{
    (void)arg;
    assert_true(net_link_set_alive(net, 0, net_routers(net) + 1, 0, false));
}

static void link_up(void *arg)
{
    (void)arg;
    assert_true(net_link_set_alive(net, 0, net_routers(net) + 1, 0, true));
}

/* A dead link is silence; when it comes back the stream goes on. */
static void dead_link_is_silence(void **state)
{
    uint8_t *memory = patterned(1 << 20);
    struct pair pair;

    (void)state;
    begin();
    connect_pair(&pair, 0, 1);
    read_all(&pair.b, 1 << 20, 5000);
    test_at(sim_now() + 200 * SIM_US, link_down, NULL);
    test_at(sim_now() + 4 * SIM_S, link_up, NULL);
    write_bytes(&pair.a, &pair.a.write[0], memory, 96, (1 << 20) - 96);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(pair.b.got, 1 << 20);
    assert_pattern(pair.b.into, 1 << 20);
    assert_true(pair.b.done_at > 4 * SIM_S && pair.b.done_at < 8 * SIM_S);
    assert_false(pair.a.closed || pair.b.closed);
    close_pair(&pair);
    free(memory);
    end();
}

static void nothing(void *arg)
{
    (void)arg;
}

/* The reader stops: the writer fills both buffers and then waits. */
static void window_stops_the_writer(void **state)
{
    uint32_t bytes = 8 << 20, total = 2 * bytes;
    uint8_t *memory = patterned(total);
    struct pair pair;
    uint64_t queued;

    (void)state;
    begin();
    connect_pair(&pair, 0, 1);
    assert_false(write_bytes(&pair.a, &pair.a.write[0], memory, 96, bytes - 96));
    assert_false(write_bytes(&pair.a, &pair.a.write[1], memory + bytes, 96, bytes - 96));
    pair.a.write[1].done = write_done_count;
    assert_int_equal(sim_run(), SIM_DONE);
    queued = lnet_stream_queued(pair.a.stream);
    assert_in_range(lnet_stream_acknowledged(pair.a.stream), 6 << 20, (6 << 20) + 65536);
    assert_int_equal(queued + lnet_stream_acknowledged(pair.a.stream), total);
    assert_int_not_equal(pair.a.write[1].length, 0);
    read_all(&pair.b, total, 300000);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(pair.a.write[1].length, 0);
    assert_int_equal(pair.b.got, total);
    assert_pattern(pair.b.into, total);
    test_at(sim_now() + SIM_MS, nothing, NULL); /* the last acknowledgement is on its way */
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(lnet_stream_queued(pair.a.stream), 0);
    close_pair(&pair);
    free(memory);
    end();
}

static void ends(void **state)
{
    uint8_t *memory = patterned(5000);
    struct pair pair;

    (void)state;
    begin(); /* orderly: behind the last byte */
    connect_pair(&pair, 0, 1);
    assert_true(write_bytes(&pair.a, &pair.a.write[0], memory, 96, 4904));
    lnet_stream_close(pair.a.stream, false);
    pair.a.stream = NULL;
    assert_int_equal(sim_run(), SIM_DONE);
    assert_false(pair.b.closed);
    read_all(&pair.b, 5001, 1000);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(pair.b.got, 5000);
    assert_pattern(pair.b.into, 5000);
    assert_true(pair.b.closed);
    assert_int_equal(pair.b.close_status, 0);
    close_pair(&pair);
    end();

    begin(); /* reset: at once */
    connect_pair(&pair, 0, 1);
    assert_true(write_bytes(&pair.a, &pair.a.write[0], memory, 96, 4904));
    lnet_stream_close(pair.a.stream, true);
    pair.a.stream = NULL;
    assert_int_equal(sim_run(), SIM_DONE);
    assert_true(pair.b.closed);
    assert_int_equal(pair.b.close_status, -ECONNRESET);
    close_pair(&pair);
    end();

    begin(); /* bytes that nobody reads: a reset, as in Linux */
    connect_pair(&pair, 0, 1);
    assert_true(write_bytes(&pair.a, &pair.a.write[0], memory, 96, 4904));
    assert_int_equal(sim_run(), SIM_DONE);
    lnet_stream_close(pair.b.stream, false);
    pair.b.stream = NULL;
    assert_int_equal(sim_run(), SIM_DONE);
    assert_int_equal(pair.a.close_status, -ECONNRESET);
    close_pair(&pair);
    end();
    free(memory);
}

static void crash(void *arg)
{
    lnet_stream_sim_set_alive(net, *(uint32_t *)arg, false);
}

static void revive(void *arg)
{
    lnet_stream_sim_set_alive(net, *(uint32_t *)arg, true);
}

/* A crashed machine is silent; when it is back it resets what it does not know. */
static void crashed_machine(void **state)
{
    uint8_t *memory = patterned(5000);
    static uint32_t node = 1;
    struct pair pair;

    (void)state;
    begin();
    connect_pair(&pair, 0, 1);
    crash(&node);
    assert_true(write_bytes(&pair.a, &pair.a.write[0], memory, 96, 4904));
    test_at(sim_now() + 2 * SIM_S, revive, &node);
    assert_int_equal(sim_run(), SIM_DONE);
    assert_false(pair.b.closed);
    assert_int_equal(pair.a.close_status, -ECONNRESET);
    assert_true(pair.a.closed_at > 2 * SIM_S);
    close_pair(&pair);
    free(memory);
    end();
}

/* Two senders to one receiver get half of a link that is slower than both. */
static void connections_share_a_link(void **state)
{
    uint32_t bytes = 4 << 20, i;
    uint8_t *memory = patterned(bytes);
    struct pair pair[2];
    struct party receiver[2] = {{0}};
    sim_time_t start;

    (void)state;
    begin_at(1250); /* 10 Gbit/s */
    for (i = 0; i < 2; i++) {
        int error;

        pair[i] = (struct pair){0};
        pair[i].listener =
            lnet_listen(hosts[3], (uint16_t)(PORT + i), 127, accepted, &receiver[i], &error);
        pair[i].a.stream = lnet_stream_connect(
            hosts[i], (struct lnet_stream_address){address_of(3), (uint16_t)(PORT + i)}, false,
            &handler, &pair[i].a);
    }
    assert_int_equal(sim_run(), SIM_DONE);
    start = sim_now();
    for (i = 0; i < 2; i++) {
        read_all(&receiver[i], bytes, 1 << 20);
        write_bytes(&pair[i].a, &pair[i].a.write[0], memory, 96, bytes - 96);
    }
    assert_int_equal(sim_run(), SIM_DONE);
    for (i = 0; i < 2; i++) {
        double rate = bytes / ((double)(receiver[i].done_at - start) / (double)SIM_US);

        assert_int_equal(receiver[i].got, bytes);
        assert_true(rate > 560 && rate < 640);
        lnet_stream_close(pair[i].a.stream, false);
        lnet_stream_close(receiver[i].stream, false);
        lnet_listener_close(pair[i].listener);
        free(receiver[i].into);
    }
    free(memory);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handshake_and_small_message),
        cmocka_unit_test(bulk_rate),
        cmocka_unit_test(refusals),
        cmocka_unit_test(loss_is_repaired),
        cmocka_unit_test(timeouts_of_retransmission),
        cmocka_unit_test(dead_link_is_silence),
        cmocka_unit_test(window_stops_the_writer),
        cmocka_unit_test(ends),
        cmocka_unit_test(crashed_machine),
        cmocka_unit_test(connections_share_a_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
