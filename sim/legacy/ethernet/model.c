/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The model of a Fast Ethernet with TCP: its numbers. */
#include "devices.h"

static const struct legacy_param params[] = {
    LEGACY_STEP_PARAMS(0.8, 1.6, 1.0, 1.2, 1.8, 1.0, 0),
    {"eth.byte_us", 0.08, "100 Mbit/s"},
    {"tcp.send_us", 20.00, "assumed part of the 59.8 us of raw TCP in the paper"},
    {"tcp.recv_us", 32.28, "calibrated: the rest of the 59.8 us"},
    {"tcp.gap_us", 130.45, "calibrated: the 11.1 MB/s of raw TCP in the paper"},
    {"tcp.read_us", 8.0, "assumed"},
    {"tcp.poll_us", 1.0, "assumed"},
    {"tcp.rto_us", 200000, "the least timeout of Linux"},
    {"tcp.keepalive_us", 1000000, "assumed"},
};
_Static_assert(G_N_ELEMENTS(params) == ETHERNET_PARAMS, "a row for each number");

/* Ethernet adds 18 bytes to at least 64, preamble and gap 20 more. */
sim_time_t ethernet_frame(const struct legacy_network *network, size_t bytes)
{
    enum { HEADER = 18, LEAST = 64, AROUND = 20 };

    return legacy_service(network, ETH_BYTE_US,
                          (double)(MAX(LEAST, bytes + TCP_HEADER + HEADER) + AROUND));
}

static void *create(struct legacy_network *network)
{
    struct ethernet_devices *devices = g_new0(struct ethernet_devices, 1);
    uint32_t i;

    devices->network = network;
    devices->book_name = g_strconcat(network->config.name, ".segments", NULL);
    sim_ledger_book_register(&devices->book, devices->book_name);
    devices->ports = g_new0(struct ethernet_port, network->endpoints);
    for (i = 0; i < network->endpoints; i++) {
        devices->ports[i].devices = devices;
        devices->ports[i].endpoint = i;
        devices->ports[i].next_number = 1024;
    }
    devices->sockets = g_ptr_array_new();
    return devices;
}

static void destroy(void *state)
{
    struct ethernet_devices *devices = state;
    guint i;

    for (i = 0; i < devices->sockets->len; i++)
        if (devices->sockets->pdata[i] != NULL)
            tcp_socket_free(devices->sockets->pdata[i]);
    g_ptr_array_unref(devices->sockets);
    g_free(devices->ports);
    g_free(devices->book_name);
    g_free(devices);
}

static void process_left(void *state, uint32_t endpoint, uint64_t process)
{
    struct ethernet_devices *devices = state;
    guint i;

    (void)endpoint;
    for (i = 0; i < devices->sockets->len; i++) {
        struct tcp_socket *socket = devices->sockets->pdata[i];

        if (socket != NULL && socket->process == process && !socket->closed)
            tcp_close(socket);
    }
}

const struct legacy_model legacy_ethernet_model = {
    .name = "ethernet",
    .params = params,
    .param_count = ETHERNET_PARAMS,
    .create = create,
    .destroy = destroy,
    .process_left = process_left,
};
