/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socklnd and peers that do not keep to the protocol: each costs its connection, and nothing else.
 */
#include "lnet_tcp.h"

/* ---- peers that do not keep to the protocol ---------------------------------------------------
 */

/* A machine that speaks on a bare stream: bytes message_out, and what comes back. */
struct speaker {
    struct lnet_stream *stream;
    struct lnet_stream_write write;
    struct kvec whole;
    bool connected, closed;
    int status;
    sim_time_t closed_at;
    uint8_t bytes[512], answer[256];
    uint32_t length, answered;
};

static void speaker_read(void *owner)
{
    struct speaker *speaker = owner;

    if (++speaker->answered < sizeof(speaker->answer))
        lnet_stream_read_buffer(speaker->stream, speaker->answer + speaker->answered, 1,
                                speaker_read);
}

static void speaker_written(struct lnet_stream_write *write)
{
    (void)write;
}

static void speaker_connected(void *owner, int status)
{
    struct speaker *speaker = owner;

    speaker->connected = status == 0;
    if (status != 0)
        return;
    lnet_stream_read_buffer(speaker->stream, speaker->answer, 1, speaker_read);
    if (speaker->length == 0)
        return;
    speaker->write = (struct lnet_stream_write){
        .head = speaker->bytes, .head_bytes = speaker->length, .done = speaker_written};
    lnet_stream_write(speaker->stream, &speaker->write);
}

static void speaker_closed(void *owner, int status)
{
    struct speaker *speaker = owner;

    speaker->closed = true;
    speaker->status = status;
    speaker->closed_at = sim_now();
}

static const struct lnet_stream_handler speaker_handler = {speaker_connected, speaker_closed};

static void add_bytes(struct speaker *speaker, const void *bytes, uint32_t length)
{
    memcpy(speaker->bytes + speaker->length, bytes, length);
    speaker->length += length;
}

static void add_request(struct speaker *speaker, lnet_nid_t nid)
{
    uint8_t wire[LNET_SOCK_REQUEST_BYTES];

    lnet_sock_request_pack(wire, nid, false);
    add_bytes(speaker, wire, sizeof(wire));
}

static void add_hello(struct speaker *speaker, lnet_nid_t source, lnet_nid_t target,
                      uint32_t version, int type, bool swapped)
{
    struct lnet_sock_hello hello = {.version = version,
                                    .swapped = swapped,
                                    .source_nid = source,
                                    .target_nid = target,
                                    .source_pid = LNET_PID_LUSTRE,
                                    .target_pid = LNET_PID_LUSTRE,
                                    .source_incarnation = 99,
                                    .type = type};
    uint8_t wire[LNET_SOCK_HELLO_BYTES_MAX];

    add_bytes(speaker, wire, lnet_sock_hello_pack(wire, &hello));
}

static void add_message(struct speaker *speaker, uint32_t type, uint32_t lnet_type,
                        uint32_t payload, uint64_t cookie, bool swapped)
{
    struct lnet_sock_header header = {.type = type, .cookies = {0, cookie}};
    struct lnet_hdr lnet = {.dest_nid = nid_of(1),
                            .src_nid = nid_of(3),
                            .dest_pid = LNET_PID_LUSTRE,
                            .src_pid = LNET_PID_LUSTRE,
                            .type = lnet_type,
                            .payload_length = payload};
    uint8_t wire[LNET_SOCK_HEADER_BYTES], lnet_wire[LNET_WIRE_HEADER_BYTES];

    lnet_sock_header_pack(wire, &header, swapped);
    add_bytes(speaker, wire, sizeof(wire));
    if (type != LNET_SOCK_LNET)
        return;
    if (lnet_type == LNET_MSG_PUT) {
        lnet.msg.put.ptl_index = PORTAL;
        lnet.msg.put.match_bits = 1;
        lnet.msg.put.ack_wmd.wh_interface_cookie = (uint64_t)-1;
        lnet.msg.put.ack_wmd.wh_object_cookie = (uint64_t)-1;
    }
    lnet_header_to_wire(&lnet, lnet_wire);
    add_bytes(speaker, lnet_wire, sizeof(lnet_wire));
}

#define SPEAKERS 16
static struct speaker speakers[SPEAKERS];

static void add_preamble(struct speaker *speaker)
{
    add_request(speaker, nid_of(1));
    add_hello(speaker, nid_of(3), nid_of(1), 3, LNET_SOCK_CONTROL, false);
}

/* What each says. The last one is good. */
static void prepare_speakers(void)
{
    struct speaker *at = speakers;

    memset(speakers, 0, sizeof(speakers));
    memset(at->bytes, 0x55, 16); /* 0: no request */
    at++->length = 16;
    add_request(at++, nid_of(2)); /* 1: for another NID */
    add_request(at, nid_of(1)); /* 2: no HELLO */
    memset(at->bytes + 16, 0xaa, 16);
    at++->length = 32;
    add_request(at, nid_of(1)); /* 3: HELLO for another NID */
    add_hello(at++, nid_of(3), nid_of(2), 3, LNET_SOCK_CONTROL, false);
    add_request(at, nid_of(1)); /* 4: HELLO of another NID */
    add_hello(at++, nid_of(4), nid_of(1), 3, LNET_SOCK_CONTROL, false);
    add_request(at, nid_of(1)); /* 5: HELLO with 17 addresses */
    add_hello(at, nid_of(3), nid_of(1), 3, LNET_SOCK_CONTROL, false);
    at++->bytes[16 + 52] = 17;
    add_request(at, nid_of(1)); /* 6: HELLO of an unknown type */
    add_hello(at, nid_of(3), nid_of(1), 3, LNET_SOCK_CONTROL, false);
    at++->bytes[16 + 48] = 9;
    add_preamble(at); /* 7: unknown message */
    add_message(at, LNET_SOCK_NOOP, 0, 0, 0, false);
    at->bytes[at->length - LNET_SOCK_HEADER_BYTES] = 0x77;
    at++;
    add_preamble(at); /* 8: acknowledges what was not sent */
    add_message(at++, LNET_SOCK_NOOP, 0, 0, 500, false);
    add_preamble(at); /* 9: too large: item 58 */
    add_message(at++, LNET_SOCK_LNET, LNET_MSG_PUT, MIB + 1, 0, false);
    add_preamble(at); /* 10: a GET with payload */
    add_message(at++, LNET_SOCK_LNET, LNET_MSG_GET, 8, 0, false);
    add_preamble(at); /* 11: an unknown LNet message */
    add_message(at++, LNET_SOCK_LNET, 9, 0, 0, false);
    add_request(at, nid_of(1)); /* 12: half of a HELLO, and then silence */
    at->length += 20;
    memcpy(at->bytes + 16, (uint8_t[]){0x63, 0x69, 0x72, 0x45, 3, 0, 0, 0}, 8);
    at++;
    at++; /* 13: silence */
    add_request(at, nid_of(1)); /* 14: an unknown version */
    add_hello(at, nid_of(3), nid_of(1), 3, LNET_SOCK_CONTROL, false);
    at++->bytes[16 + 4] = 4;
    add_request(at, nid_of(1)); /* 15: good, in the other byte order */
    add_hello(at, nid_of(3), nid_of(1), 3, LNET_SOCK_CONTROL, true);
    add_message(at, LNET_SOCK_LNET, LNET_MSG_PUT, 0, 0, true);
}

static void speak(void *argument)
{
    struct lnet_interface interface = {
        .name = "eth0", .address = address_of(3), .net = cluster.net, .endpoint = 3};
    struct lnet_stream_host *host;
    uint32_t i;
    int error;

    (void)argument;
    sim_sleep_until(SIM_S);
    host = lnet_stream_host_open(NULL, &interface, &error);
    assert_non_null(host);
    prepare_speakers();
    for (i = 0; i < SPEAKERS; i++) {
        speakers[i].stream =
            lnet_stream_connect(host, (struct lnet_stream_address){address_of(1), 988}, true,
                                &speaker_handler, &speakers[i]);
        sleep_for(SECONDS(6));
        assert_true(speakers[i].connected);
        assert_int_equal(conn_count(1, 3), i < SPEAKERS - 1 ? 0 : 1);
        /* The good node is not disturbed. */
        assert_int_equal(conn_count(1, 0), 3);
    }
    for (i = 0; i < SPEAKERS - 1; i++) {
        assert_true(speakers[i].closed);
        if (i == 12 || i == 13) /* accept_timeout */
            assert_in_range(speakers[i].closed_at, SECONDS(1 + 6 * i + 5),
                            SECONDS(1 + 6 * i + 5) + SIM_MS);
        else
            assert_true(speakers[i].closed_at < SECONDS(1 + 6 * i) + SIM_MS);
    }
    /* The unknown version was told which one this node has. */
    assert_int_equal(speakers[14].answered, LNET_SOCK_HELLO_BYTES);
    assert_int_equal(speakers[14].answer[4], 3);
    assert_false(speakers[15].closed);
    assert_int_equal(speakers[15].answered, LNET_SOCK_HELLO_BYTES);
    for (i = 0; i < SPEAKERS; i++)
        lnet_stream_close(speakers[i].stream, false);
    lnet_stream_host_close(host);
}

static void steady_source(void *argument)
{
    struct lnet_handle_eq eq;
    sim_time_t took;

    (void)argument;
    sim_sleep_until(SIM_MS);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    while (sim_local_time() < SECONDS(100)) {
        assert_int_equal(put_status(eq, 1, 8, &took), 0);
        assert_true(took < SIM_MS);
        sleep_for(500 * SIM_MS);
    }
    assert_int_equal(LNetNIFini(), 0);
}

static void lnet_58_hostile_peers_cost_one_connection(void **state)
{
    struct taker taker = {0, SECONDS(101), 0, 0};

    (void)state;
    cluster_begin();
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, taking, &taker, 0);
    run_on(0, steady_source, NULL, 0);
    run_on(3, speak, NULL, 0);
    run_all();
    assert_true(taker.taken >= 199); /* those of node 0, and the good one */
    cluster_end();
}

/* Connections that say nothing: the backlog bounds them, and later ones get a chance again. */
#define FLOOD 200
static struct speaker flood[FLOOD];

static void flooding(void *argument)
{
    struct lnet_interface interface = {
        .name = "eth0", .address = address_of(3), .net = cluster.net, .endpoint = 3};
    struct lnet_stream_host *host;
    uint32_t i, closed = 0;
    int error;

    (void)argument;
    sim_sleep_until(SIM_S);
    host = lnet_stream_host_open(NULL, &interface, &error);
    memset(flood, 0, sizeof(flood));
    for (i = 0; i < FLOOD; i++)
        flood[i].stream =
            lnet_stream_connect(host, (struct lnet_stream_address){address_of(1), 988}, true,
                                &speaker_handler, &flood[i]);
    sleep_for(SIM_S);
    for (i = 0; i < FLOOD; i++)
        closed += flood[i].closed;
    assert_int_equal(closed, FLOOD - 127);
    sleep_for(SECONDS(5));
    for (i = 0; i < FLOOD; i++) {
        assert_true(flood[i].closed);
        lnet_stream_close(flood[i].stream, false);
    }
    lnet_stream_host_close(host);
}

static void late_source(void *argument)
{
    struct lnet_handle_eq eq;
    sim_time_t took;

    (void)argument;
    sim_sleep_until(SECONDS(8));
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    assert_int_equal(put_status(eq, 1, 8, &took), 0);
    sleep_for(SIM_S);
    assert_int_equal(LNetNIFini(), 0);
}

static void flood_of_half_open_connections(void **state)
{
    struct taker taker = {0, SECONDS(10), 0, 0};

    (void)state;
    cluster_begin();
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, taking, &taker, 0);
    run_on(0, late_source, NULL, 0);
    run_on(3, flooding, NULL, 0);
    run_all();
    assert_int_equal(taker.taken, 1);
    cluster_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_58_hostile_peers_cost_one_connection),
        cmocka_unit_test(flood_of_half_open_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
