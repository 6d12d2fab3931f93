/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: a machine says anything to a node with socklnd. The first byte of the input
 * says whether a good acceptor request and HELLO come first, how the bytes are cut, and how the
 * connection ends; the rest is what it says. The node must go on: it shuts down without a leak.
 */
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"
#include "lnd/tcp/sock.h"
#include "lnd/tcp/stream_sim.h"
#include "lnet/api.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#define PORTAL 40
#define NODE 1
#define SPEAKER 0
#define BYTES_MAX 8192

static struct net *net;
static struct lnet_node *node;

static struct {
    uint8_t bytes[BYTES_MAX];
    uint32_t length, sent, piece;
    bool reset, closed;
    struct lnet_stream *stream;
    struct lnet_stream_write write;
    struct sim_event next;
    uint8_t answer;
} speaker;

static void check(bool good)
{
    if (!good)
        abort();
}

static lnet_nid_t nid_of(uint32_t number)
{
    return LNET_MKNID(LNET_MKNET(SOCKLND, 0), 0x0a000001u + number);
}

static struct lnet_interface interface_of(uint32_t number)
{
    return (struct lnet_interface){.name = "eth0",
                                   .lnd_type = SOCKLND,
                                   .address = 0x0a000001u + number,
                                   .net = net,
                                   .endpoint = number};
}

static struct lnet_node *current(void)
{
    struct sim_fiber *fiber = sim_fiber_self();

    return fiber == NULL ? NULL : sim_fiber_owner(fiber);
}

/* ---- the speaker ------------------------------------------------------------------------------
 */

static void written(struct lnet_stream_write *write)
{
    (void)write;
}

static void say_more(struct sim_event *event)
{
    uint32_t left = speaker.length - speaker.sent;
    uint32_t part = left < speaker.piece ? left : speaker.piece;

    if (speaker.closed)
        return;
    if (part == 0) {
        speaker.closed = true;
        lnet_stream_close(speaker.stream, speaker.reset);
        return;
    }
    speaker.write = (struct lnet_stream_write){
        .head = speaker.bytes + speaker.sent, .head_bytes = part, .done = written};
    speaker.sent += part;
    check(lnet_stream_write(speaker.stream, &speaker.write));
    sim_event_schedule(event, sim_now() + 50 * SIM_US);
}

static void answered(void *owner)
{
    if (!speaker.closed)
        lnet_stream_read_buffer(speaker.stream, &speaker.answer, 1, answered);
    (void)owner;
}

static void connected(void *owner, int status)
{
    (void)owner;
    check(status == 0);
    answered(NULL);
    sim_event_schedule(&speaker.next, sim_now());
}

static void closed(void *owner, int status)
{
    (void)owner, (void)status;
    if (!speaker.closed)
        lnet_stream_close(speaker.stream, false);
    speaker.closed = true;
}

static const struct lnet_stream_handler handler = {connected, closed};

static void add(const void *bytes, size_t length)
{
    if (length > BYTES_MAX - speaker.length)
        length = BYTES_MAX - speaker.length;
    memcpy(speaker.bytes + speaker.length, bytes, length);
    speaker.length += (uint32_t)length;
}

static void prepare(uint8_t mode, const uint8_t *bytes, size_t length)
{
    static const uint32_t pieces[] = {BYTES_MAX, 1, 7, 96};
    struct lnet_sock_hello hello = {.version = 1 + (mode >> 4) % 3,
                                    .swapped = (mode & 8) != 0 && (mode >> 4) % 3 != 0,
                                    .source_nid = nid_of(SPEAKER),
                                    .target_nid = nid_of(NODE),
                                    .source_pid = LNET_PID_LUSTRE,
                                    .type = LNET_SOCK_CONTROL};
    uint8_t wire[LNET_SOCK_HELLO_BYTES_MAX];

    memset(&speaker, 0, sizeof(speaker));
    speaker.piece = pieces[mode & 3];
    speaker.reset = (mode & 0x80) != 0;
    speaker.next = (struct sim_event){say_more};
    if (mode & 4) {
        lnet_sock_request_pack(wire, nid_of(NODE), hello.swapped);
        add(wire, LNET_SOCK_REQUEST_BYTES);
        add(wire, lnet_sock_hello_pack(wire, &hello));
    }
    add(bytes, length);
}

/* ---- the node ---------------------------------------------------------------------------------
 */

static void attach(uint64_t bits, void *memory, uint32_t length, uint32_t options)
{
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_md md = {.start = memory,
                         .length = length,
                         .threshold = LNET_MD_THRESH_INF,
                         .options = options | LNET_MD_MANAGE_REMOTE | LNET_MD_TRUNCATE};
    struct lnet_handle_me me;
    struct lnet_handle_md handle;

    LNetInvalidateEQHandle(&md.eq_handle);
    check(LNetMEAttach(PORTAL, any, bits, 0, LNET_UNLINK, LNET_INS_AFTER, &me) == 0);
    check(LNetMDAttach(me, md, LNET_UNLINK, &handle) == 0);
}

static void program(void *argument)
{
    static uint8_t memory[4096];
    struct lnet_interface interface = interface_of(SPEAKER);
    struct lnet_stream_host *host;
    int error;

    (void)argument;
    check(LNetNIInit(LNET_PID_LUSTRE) == 0);
    attach(1, memory, sizeof(memory), LNET_MD_OP_PUT);
    attach(2, memory, sizeof(memory), LNET_MD_OP_GET);
    check(LNetSetLazyPortal(PORTAL + 1) == 0);
    host = lnet_stream_host_open(NULL, &interface, &error);
    check(host != NULL);
    speaker.stream = lnet_stream_connect(
        host, (struct lnet_stream_address){0x0a000001u + NODE, 988}, true, &handler, NULL);
    sim_sleep_until(40 * SIM_S);
    check(LNetNIFini() == 0);
    if (!speaker.closed)
        lnet_stream_close(speaker.stream, true);
    speaker.closed = true;
    lnet_stream_host_close(host);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct sim_options options = {.seed = 1};
    struct lnet_setting setting = {"networks", "tcp(eth0)"};
    struct lnet_interface interface;
    struct lnet_node_config config = {.number = NODE,
                                      .name = "node",
                                      .interfaces = &interface,
                                      .interface_count = 1,
                                      .settings = &setting,
                                      .setting_count = 1};
    struct net_config network;
    char *error = NULL;

    if (length == 0)
        return 0;
    net_config_default(&network);
    network.topology = NET_SWITCHED;
    network.switched =
        (struct net_switched_config){"single-switch", 2, 0, 12500, 50 * SIM_NS, 300 * SIM_NS};
    prepare(bytes[0], bytes + 1, length - 1);
    sim_init(&options);
    net = net_create(&network, &error);
    lnet_tcp_model_default(&lnet_tcp_model);
    lnet_lnd_register(&lnet_lnd_tcp);
    lnet_sim_set_current(current);
    interface = interface_of(NODE);
    node = lnet_node_create(&config, &error);
    check(node != NULL);
    sim_fiber_set_owner(sim_fiber_start(program, NULL, "program", 0), node);
    check(sim_run() == SIM_DONE);
    check(lnet_node_panic_text(node) == NULL);
    lnet_node_destroy(node);
    net_destroy(net);
    sim_fini();
    lnet_stream_sim_reset();
    return 0;
}
