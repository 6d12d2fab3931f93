/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An endpoint that talks to itself, while it talks to the other side, too: messages, tags, writes
 * and reads.
 */
#include "common.h"

#define LARGEST 200000u

static const size_t sizes[] = {0, 8, 64, 1000, 16352, 16353, 65536, LARGEST};

int main(int argc, char **argv)
{
    struct side side;
    struct memory out, in;
    struct window window;
    uint8_t name[256];
    size_t size = sizeof(name), i;
    fi_addr_t self;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
    side_start(&side);
    CHECK(fi_getname(&side.ep->fid, name, &size));
    EXPECT(fi_av_insert(side.av, name, 1, &self, 0, NULL), 1);
    out = memory_new(&side, LARGEST, FI_SEND | FI_READ | FI_WRITE);
    in = memory_new(&side, LARGEST, FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE);
    window = memory_window(&side, &in);
    for (i = 0; i < ARRAY_SIZE(sizes); i++) {
        size = sizes[i];
        step("a message of %zu bytes", size);
        fill(out.bytes, size, i);
        POST(&side, fi_recv(side.ep, in.bytes, LARGEST, in.desc, FI_ADDR_UNSPEC, &in));
        POST(&side, fi_send(side.ep, out.bytes, size, out.desc, self, &out));
        take_of(&side, side.tx_cq, &out);
        EXPECT(take_of(&side, side.rx_cq, &in).len, size);
        verify(in.bytes, size, i);

        step("a message of %zu bytes with a tag", size);
        fill(out.bytes, size, i + 100);
        POST(&side, fi_tsend(side.ep, out.bytes, size, out.desc, self, i, &out));
        POST(&side, fi_trecv(side.ep, in.bytes, LARGEST, in.desc, self, i, 0, &in));
        take_of(&side, side.tx_cq, &out);
        EXPECT(take_of(&side, side.rx_cq, &in).len, size);
        verify(in.bytes, size, i + 100);
        if (size == 0)
            continue;

        step("writing and reading %zu bytes", size);
        fill(out.bytes, size, i + 200);
        POST(&side,
             fi_write(side.ep, out.bytes, size, out.desc, self, window.address, window.key, &out));
        take_of(&side, side.tx_cq, &out);
        memset(out.bytes, 0, size);
        POST(&side,
             fi_read(side.ep, out.bytes, size, out.desc, self, window.address, window.key, &out));
        take_of(&side, side.tx_cq, &out);
        verify(out.bytes, size, i + 200);
        verify(in.bytes, size, i + 200);
    }
    memory_free(&out);
    memory_free(&in);
    return side_end(&side);
}
