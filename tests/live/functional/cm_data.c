/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Data that travels with a connection of MSG endpoints: with the request, with its acceptance or
 * rejection, in sizes up to what the provider takes; then shutdown.
 */
#include "common.h"

#define LARGEST 1024u

union event {
    struct fi_eq_cm_entry entry;
    uint8_t room[sizeof(struct fi_eq_cm_entry) + LARGEST];
};

static size_t data_size(size_t bytes)
{
    HOLDS(bytes >= sizeof(struct fi_eq_cm_entry));
    return bytes - sizeof(struct fi_eq_cm_entry);
}

/* Some pad what they carry. */
static void check_data(const union event *event, size_t bytes, size_t size, uint64_t seed)
{
    HOLDS(data_size(bytes) >= size);
    verify(event->entry.data, size, seed);
}

static struct fid_ep *open_ep(struct side *side, struct fi_info *info)
{
    struct fid_ep *ep = endpoint_new(side, info, side->tx_cq, side->rx_cq);

    CHECK(fi_enable(ep));
    return ep;
}

static void message(struct side *side, struct fid_ep *ep)
{
    struct memory memory = memory_new(side, 1000, FI_SEND | FI_RECV);

    if (side->server) {
        POST(side, fi_recv(ep, memory.bytes, 1000, memory.desc, 0, NULL));
        HOLDS(take(side, side->rx_cq).len == 1000);
        verify(memory.bytes, 1000, 99);
    } else {
        fill(memory.bytes, 1000, 99);
        POST(side, fi_send(ep, memory.bytes, 1000, memory.desc, 0, NULL));
        take(side, side->tx_cq);
    }
    side_sync(side);
    memory_free(&memory);
}

/* The client goes; the server is told. */
static void leave(struct side *side, struct fid_ep *ep)
{
    struct fi_eq_cm_entry entry;

    if (!side->server)
        CHECK(fi_shutdown(ep, 0));
    if (side->server) {
        take_event(side, FI_SHUTDOWN, &entry, sizeof(entry));
        HOLDS(entry.fid == &ep->fid);
    }
    side_sync(side);
    CHECK(fi_close(&ep->fid));
    if (side->server) { /* nothing else may have come; what the other one sees is its own affair */
        uint32_t event;

        EXPECT(fi_eq_read(side->eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
    }
}

static void server_round(struct side *side, size_t size, bool accept, unsigned round)
{
    union event event;
    struct fid_ep *ep;
    uint8_t data[LARGEST];
    size_t bytes;

    bytes = take_event(side, FI_CONNREQ, &event.entry, sizeof(event));
    HOLDS(event.entry.fid == &side->pep->fid && event.entry.info != NULL);
    check_data(&event, bytes, size, round);
    fill(data, size, round + 1000);
    if (!accept) {
        CHECK(fi_reject(side->pep, event.entry.info->handle, data, size));
        fi_freeinfo(event.entry.info);
        side_sync(side);
        return;
    }
    ep = open_ep(side, event.entry.info);
    CHECK(fi_accept(ep, data, size));
    fi_freeinfo(event.entry.info);
    take_event(side, FI_CONNECTED, &event.entry, sizeof(event));
    HOLDS(event.entry.fid == &ep->fid);
    message(side, ep);
    leave(side, ep);
}

static void client_round(struct side *side, const void *name, size_t size, bool accept,
                         unsigned round)
{
    struct fid_ep *ep = open_ep(side, side->info);
    union event event;
    uint8_t data[LARGEST];
    size_t bytes;

    fill(data, size, round);
    CHECK(fi_connect(ep, name, data, size));
    if (!accept) {
        struct fi_eq_err_entry error = {.err_data = data, .err_data_size = sizeof(data)};
        uint32_t found;
        ssize_t got;

        memset(data, 0, sizeof(data));
        while ((got = fi_eq_read(side->eq, &found, &event, sizeof(event), 0)) == -FI_EAGAIN)
            drive(side);
        EXPECT(got, -FI_EAVAIL);
        CHECK(fi_eq_readerr(side->eq, &error, 0));
        EXPECT(error.err, FI_ECONNREFUSED);
        HOLDS(error.fid == &ep->fid);
        HOLDS(error.err_data_size >= size);
        verify(error.err_data, size, round + 1000);
        side_sync(side);
        CHECK(fi_close(&ep->fid));
        return;
    }
    bytes = take_event(side, FI_CONNECTED, &event.entry, sizeof(event));
    HOLDS(event.entry.fid == &ep->fid);
    check_data(&event, bytes, size, round + 1000);
    message(side, ep);
    leave(side, ep);
}

/* Unconnected endpoints may see the end of those before, where a provider reports it to both. */
static void forget_events(struct side *side)
{
    struct fi_eq_cm_entry entry;
    uint32_t event;

    while (fi_eq_read(side->eq, &event, &entry, sizeof(entry), 0) > 0)
        HOLDS(event == FI_SHUTDOWN);
}

int main(int argc, char **argv)
{
    struct side side;
    uint8_t name[256];
    size_t name_size = sizeof(name), most = 0, length = sizeof(most), sizes[4];
    unsigned i, round = 0;
    struct fid_ep *probe;

    side_begin(&side, argc, argv);
    if (side.type != FI_EP_MSG)
        skip(&side, "connections are an affair of MSG endpoints");
    side_open(&side);
    side.tx_cq = cq_new(&side);
    side.rx_cq = cq_new(&side);
    if (side.server) {
        CHECK(fi_passive_ep(side.fabric, side.info, &side.pep, NULL));
        CHECK(fi_pep_bind(side.pep, &side.eq->fid, 0));
        CHECK(fi_listen(side.pep));
        CHECK(fi_getname(&side.pep->fid, name, &name_size));
        side_send(&side, name, name_size);
        side_receive(&side, &most, sizeof(most));
    } else {
        name_size = side_receive(&side, name, sizeof(name));
        side.info->dest_addr = realloc(side.info->dest_addr, name_size);
        memcpy(side.info->dest_addr, name, name_size);
        side.info->dest_addrlen = name_size;
        probe = open_ep(&side, side.info);
        CHECK(fi_getopt(&probe->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &most, &length));
        CHECK(fi_close(&probe->fid));
        side_send(&side, &most, sizeof(most));
    }
    HOLDS(most >= 16);
    most = most > LARGEST ? LARGEST : most;
    sizes[0] = 0;
    sizes[1] = 1;
    sizes[2] = most / 2 + 1;
    sizes[3] = most;
    for (i = 0; i < 2 * ARRAY_SIZE(sizes); i++, round++) {
        bool accept = i % 2 == 0;
        size_t size = sizes[i / 2];

        step("%s, %zu bytes", accept ? "accepted" : "rejected", size);
        if (side.server)
            server_round(&side, size, accept, round);
        else
            client_round(&side, name, size, accept, round);
        side_sync(&side);
        if (!side.server)
            forget_events(&side);
    }
    return side_end(&side);
}
