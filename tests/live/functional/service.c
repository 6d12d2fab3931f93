/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses from node and service, as programs use that know a host and a port: the server binds to
 * a service, the client asks fi_getinfo who that is and tells its own name in the first message.
 */
#include <stdio.h>
#include <unistd.h>

#include "common.h"

#define ROUNDS 10u
#define BYTES 500u

struct hello {
    uint32_t size;
    uint8_t name[252];
};

static void open_all(struct side *side, const char *node, const char *service, uint64_t flags)
{
    int status = fi_getinfo(API_VERSION, node, service, flags, side->hints, &side->info);

    if (status == -FI_ENODATA)
        skip(side, "%s has no addresses by node and service", side->provider);
    CHECK(status);
    side_open(side);
    side_endpoint(side);
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory out, in;
    struct hello *hello;
    const char *node;
    char service[16];
    unsigned number = 20000 + (unsigned)getpid() % 20000, round;
    size_t size;

    side_begin(&side, argc, argv);
    node = side.source != NULL ? side.source : "127.0.0.1";
    side_exchange(&side, &number, side.server ? (void *)service : (void *)&number, sizeof(number));
    snprintf(service, sizeof(service), "%u", number);
    if (side.server) {
        open_all(&side, side.source, service, FI_SOURCE);
        side_sync(&side);
    } else {
        side_sync(&side);
        open_all(&side, node, service, 0);
        HOLDS(side.info->dest_addr != NULL && side.info->dest_addrlen > 0);
        EXPECT(fi_av_insert(side.av, side.info->dest_addr, 1, &side.peer, 0, NULL), 1);
    }
    out = memory_new(&side, BYTES, FI_SEND);
    in = memory_new(&side, BYTES, FI_RECV);
    step("the client's name");
    hello = (struct hello *)(side.server ? in.bytes : out.bytes);
    if (side.server) {
        POST(&side, fi_recv(side.ep, in.bytes, BYTES, in.desc, FI_ADDR_UNSPEC, NULL));
        EXPECT(take(&side, side.rx_cq).len, sizeof(*hello));
        EXPECT(fi_av_insert(side.av, hello->name, 1, &side.peer, 0, NULL), 1);
    } else {
        size = sizeof(hello->name);
        CHECK(fi_getname(&side.ep->fid, hello->name, &size));
        hello->size = (uint32_t)size;
        POST(&side, fi_send(side.ep, out.bytes, sizeof(*hello), out.desc, side.peer, NULL));
        take(&side, side.tx_cq);
    }
    for (round = 0; round < ROUNDS; round++) {
        step("round %u", round);
        if (side.server == (round % 2 == 0)) {
            fill(out.bytes, BYTES, round);
            POST(&side, fi_send(side.ep, out.bytes, BYTES, out.desc, side.peer, NULL));
            take(&side, side.tx_cq);
        } else {
            POST(&side, fi_recv(side.ep, in.bytes, BYTES, in.desc, FI_ADDR_UNSPEC, NULL));
            EXPECT(take(&side, side.rx_cq).len, BYTES);
            verify(in.bytes, BYTES, round);
        }
    }
    side_sync(&side);
    memory_free(&out);
    memory_free(&in);
    return side_end(&side);
}
