/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A capture of simulated nodes: every frame, in file format, addresses, sequence numbers and cuts.
 */
#include "lnet_tcp.h"

#include <unistd.h>

#include "lnd/tcp/capture.h"

static const uint32_t sizes[] = {0, 8, 1352, 1353, 4096, 100000, MIB};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static uint8_t answer[MIB];

static void target(void *argument)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;
    uint32_t i;

    (void)argument;
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    target_make(eq, PORTAL, 1, message_in, MIB,
                LNET_MD_OP_PUT | LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE);
    for (i = 0; i < 2 * SIZES; i++)
        assert_true(event_wait(eq, &event, 10000));
    sim_sleep_until(SECONDS(100));
    assert_int_equal(LNetNIFini(), 0);
}

static void source(void *argument)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;
    uint32_t i, j;

    (void)argument;
    sleep_for(SIM_MS);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    eq = eq_make();
    for (i = 0; i < SIZES; i++) {
        put(eq, 1, PORTAL, 1, message_out, sizes[i], LNET_ACK_REQ);
        for (j = 0; j < 2; j++)
            assert_true(event_wait(eq, &event, 10000));
        assert_int_equal(LNetGet(LNET_NID_ANY, source_make(eq, answer, sizes[i], 2), id_of(1),
                                 PORTAL, 1, 0, false),
                         0);
        for (j = 0; j < 2; j++)
            assert_true(event_wait(eq, &event, 10000));
        assert_memory_equal(answer, message_out, sizes[i]);
    }
    sim_sleep_until(SECONDS(100)); /* some keepalives */
    assert_int_equal(LNetNIFini(), 0);
}

/* ---- reading the file -------------------------------------------------------------------------
 */

static uint32_t le32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t be16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

/* One direction of a TCP connection. */
struct flow {
    uint32_t from, to, from_port, to_port, next;
    uint32_t left; /* bytes of the message at hand that are in later frames */
};
static struct flow flows[64];
static uint32_t flow_count;
static uint32_t requests, hellos, noops, messages[4];

static struct flow *flow_of(const uint8_t *ip, const uint8_t *tcp)
{
    uint32_t i;

    for (i = 0; i < flow_count; i++)
        if (flows[i].from == be32(ip + 12) && flows[i].to == be32(ip + 16) &&
            flows[i].from_port == be16(tcp) && flows[i].to_port == be16(tcp + 2))
            return &flows[i];
    assert_true(flow_count < 64);
    flows[flow_count] =
        (struct flow){be32(ip + 12), be32(ip + 16), be16(tcp), be16(tcp + 2), be32(tcp + 4), 0};
    return &flows[flow_count++];
}

static void check_start(struct flow *flow, const uint8_t *data, uint32_t length)
{
    uint32_t word = le32(data), type, payload;

    if (word == LNET_SOCK_REQUEST_MAGIC) {
        assert_int_equal(length, 16);
        requests++;
    } else if (word == LNET_SOCK_HELLO_MAGIC) {
        assert_int_equal(length, 56);
        hellos++;
    } else if (word == LNET_SOCK_NOOP) {
        assert_int_equal(length, 24);
        assert_int_equal(le32(data + 16), LNET_SOCK_KEEPALIVE_COOKIE);
        noops++;
    } else {
        assert_int_equal(word, LNET_SOCK_LNET);
        assert_true(length >= 96); /* the dissector needs its header in one piece */
        type = le32(data + 24 + 24);
        payload = le32(data + 24 + 28);
        assert_true(type < 4);
        messages[type]++;
        assert_int_equal(le32(data + 24), flow->to);
        assert_int_equal(le32(data + 24 + 4), 0x00020000);
        assert_int_equal(le32(data + 24 + 8), flow->from);
        flow->left = 96 + payload - length;
        if (type == LNET_MSG_PUT)
            assert_int_equal(le32(data + 24 + 64), PORTAL);
        if (type == LNET_MSG_GET)
            assert_int_equal(le32(data + 24 + 56), PORTAL);
    }
}

static void check_frame(const uint8_t *frame, uint32_t length)
{
    const uint8_t *ip = frame + 14, *tcp = ip + 20, *data = tcp + 20;
    uint32_t payload = be16(ip + 2) - 40, sum = 0, i;
    struct flow *flow;

    assert_int_equal(be16(frame + 12), 0x0800);
    assert_int_equal(length, 54 + payload);
    for (i = 0; i < 20; i += 2)
        sum += be16(ip + i);
    assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
    assert_true(be16(tcp) == 988 || be16(tcp + 2) == 988);
    flow = flow_of(ip, tcp);
    assert_int_equal(be32(tcp + 4), flow->next);
    flow->next += payload;
    if (flow->left == 0) {
        check_start(flow, data, payload);
    } else {
        assert_true(payload <= flow->left);
        flow->left -= payload;
    }
}

static void check_file(const uint8_t *bytes, size_t length)
{
    uint64_t last = 0;
    size_t at = 0;
    uint32_t i;

    assert_int_equal(le32(bytes), 0x0a0d0d0a);
    while (at < length) {
        uint32_t block = le32(bytes + at), total = le32(bytes + at + 4);

        assert_int_equal(total % 4, 0);
        assert_true(at + total <= length);
        assert_int_equal(le32(bytes + at + total - 4), total);
        if (block == 6) {
            uint64_t when = (uint64_t)le32(bytes + at + 12) << 32 | le32(bytes + at + 16);

            assert_true(when >= last);
            last = when;
            assert_int_equal(le32(bytes + at + 20), le32(bytes + at + 24));
            check_frame(bytes + at + 28, le32(bytes + at + 20));
        }
        at += total;
    }
    for (i = 0; i < flow_count; i++)
        assert_int_equal(flows[i].left, 0);
}

static void lnet_96_lnet_97_frames(void **state)
{
    const char *path = getenv("LNET_CAPTURE_FILE");
    char own[] = "/tmp/lnet-capture-XXXXXX", counts[4096], *error = NULL;
    struct lnet_capture capture = {0};
    uint8_t *bytes;
    FILE *file;
    long length;

    (void)state;
    if (path == NULL) {
        int fd = mkstemp(own);

        assert_true(fd >= 0);
        close(fd);
        path = own;
    }
    capture.pcap = lnet_pcap_open(path, 0, &error);
    assert_non_null(capture.pcap);
    lnet_capture = &capture;
    memset(message_in, 7, MIB);
    memset(message_out, 7, MIB);
    cluster_begin();
    node_make(0, NULL, NULL);
    node_make(1, NULL, NULL);
    run_on(1, target, NULL, 0);
    run_on(0, source, NULL, 0);
    run_all();
    cluster_end();
    lnet_capture = NULL;
    assert_true(lnet_pcap_close(capture.pcap, &error));

    file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    length = ftell(file);
    rewind(file);
    bytes = malloc((size_t)length);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)length, file), length);
    fclose(file);
    check_file(bytes, (size_t)length);
    free(bytes);
    assert_int_equal(flow_count, 6); /* three connections */
    assert_int_equal(requests, 3);
    assert_int_equal(hellos, 6);
    assert_true(noops > 0);
    assert_int_equal(messages[LNET_MSG_PUT], SIZES);
    assert_int_equal(messages[LNET_MSG_ACK], SIZES);
    assert_int_equal(messages[LNET_MSG_GET], SIZES);
    assert_int_equal(messages[LNET_MSG_REPLY], SIZES);
    if (path == own) {
        unlink(own);
        return;
    }
    snprintf(counts, sizeof(counts), "%s.counts", path);
    file = fopen(counts, "w");
    assert_non_null(file);
    fprintf(file, "put %u\nack %u\nget %u\nreply %u\nnoop %u\n", messages[LNET_MSG_PUT],
            messages[LNET_MSG_ACK], messages[LNET_MSG_GET], messages[LNET_MSG_REPLY], noops);
    fclose(file);
}

static void bad_paths(void **state)
{
    char *error = NULL;
    struct lnet_pcap *pcap = lnet_pcap_open("/nowhere/at/all", 0, &error);

    (void)state;
    assert_null(pcap);
    assert_non_null(strstr(error, "/nowhere/at/all: "));
    free(error);
    pcap = lnet_pcap_open("/dev/full", 0, &error);
    assert_non_null(pcap);
    error = NULL;
    assert_false(lnet_pcap_close(pcap, &error));
    assert_non_null(strstr(error, "No space left"));
    free(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnet_96_lnet_97_frames),
        cmocka_unit_test(bad_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
