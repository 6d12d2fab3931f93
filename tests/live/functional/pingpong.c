/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages of all sizes, there and back, by each call that sends and receives one, at endpoints of
 * every type (-e). Remote CQ data travels with the calls that can take it.
 */
#include "common.h"

#define LARGEST ((size_t)4 << 20)
#define DATA(round) (0x1234567800000000ull | (round))

static const size_t sizes[] = {0,        1,           7,      8,     63,     64,     65,
                               255,      1000,        1024,   4095,  4096,   4097,   8191,
                               8192,     8193,        16320,  16352, 16353,  16384,  16385,
                               32768,    65535,       65536,  65537, 100003, 262144, (1u << 20) - 1,
                               1u << 20, LARGEST - 5, LARGEST};

enum how { PLAIN, VECTOR, MESSAGE, WITH_DATA, HOWS };
static const char *const names[HOWS] = {"fi_send", "fi_sendv", "fi_sendmsg", "fi_senddata"};

/* The same bytes in up to three pieces. */
static size_t cut(const struct memory *memory, size_t size, size_t pieces, struct iovec *iov,
                  void **desc)
{
    size_t count = pieces > 3 ? 3 : pieces, i, at = 0, piece;

    if (size < count)
        count = 1;
    for (i = 0; i < count; i++) {
        piece = i + 1 == count ? size - at : size / count;
        iov[i] = (struct iovec){memory->bytes + at, piece};
        desc[i] = memory->desc;
        at += piece;
    }
    return count;
}

/* libfabric's own udp says nothing of what an entry is about. */
static void check_flags(struct side *side, uint64_t flags, uint64_t expected)
{
    HOLDS((flags & expected) == expected || strcmp(side->provider, "udp") == 0);
}

static uint64_t data_of(struct side *side, uint64_t round)
{
    size_t bytes = side->info->domain_attr->cq_data_size;

    return bytes >= 8 ? DATA(round) : DATA(round) & ((1ull << 8 * bytes) - 1);
}

static void send_one(struct side *side, struct memory *memory, enum how how, size_t size,
                     uint64_t round)
{
    struct iovec iov[3];
    void *desc[3];
    size_t count = cut(memory, size, side->info->tx_attr->iov_limit, iov, desc);
    struct fi_msg message = {.msg_iov = iov,
                             .desc = desc,
                             .iov_count = count,
                             .addr = side->peer,
                             .context = memory,
                             .data = data_of(side, round)};
    struct fi_cq_tagged_entry entry;

    fill(memory->bytes, size, round);
    switch (how) {
    case PLAIN:
        POST(side, fi_send(side->ep, memory->bytes, size, memory->desc, side->peer, memory));
        break;
    case VECTOR:
        POST(side, fi_sendv(side->ep, iov, desc, count, side->peer, memory));
        break;
    case MESSAGE:
        POST(side, fi_sendmsg(side->ep, &message, FI_COMPLETION | FI_REMOTE_CQ_DATA));
        break;
    default:
        POST(side, fi_senddata(side->ep, memory->bytes, size, memory->desc, data_of(side, round),
                               side->peer, memory));
    }
    entry = take_of(side, side->tx_cq, memory);
    check_flags(side, entry.flags, FI_SEND | FI_MSG);
}

static void post_one(struct side *side, struct memory *memory, enum how how, size_t size)
{
    struct iovec iov[3];
    void *desc[3];
    size_t count = cut(memory, size, side->info->rx_attr->iov_limit, iov, desc);
    struct fi_msg message = {.msg_iov = iov,
                             .desc = desc,
                             .iov_count = count,
                             .addr = FI_ADDR_UNSPEC,
                             .context = memory};

    memset(memory->bytes, 0xee, size + 1);
    if (how == VECTOR)
        POST(side, fi_recvv(side->ep, iov, desc, count, FI_ADDR_UNSPEC, memory));
    else if (how == MESSAGE)
        POST(side, fi_recvmsg(side->ep, &message, FI_COMPLETION));
    else
        POST(side, fi_recv(side->ep, memory->bytes, size, memory->desc, FI_ADDR_UNSPEC, memory));
}

static void take_one(struct side *side, struct memory *memory, enum how how, size_t size,
                     uint64_t round)
{
    struct fi_cq_tagged_entry entry = take_of(side, side->rx_cq, memory);
    bool data = how == MESSAGE || how == WITH_DATA;

    check_flags(side, entry.flags, FI_RECV | FI_MSG);
    HOLDS(entry.len == size);
    HOLDS(!!(entry.flags & FI_REMOTE_CQ_DATA) == data);
    HOLDS(!data || entry.data == data_of(side, round));
    verify(memory->bytes, size, round);
    verify_same(memory->bytes + size, 1, 0xee);
}

int main(int argc, char **argv)
{
    struct side side;
    struct memory out, in;
    uint64_t round = 0;
    unsigned how;
    size_t i;

    side_begin(&side, argc, argv);
    side_start(&side);
    out = memory_new(&side, LARGEST + 1, FI_SEND);
    in = memory_new(&side, LARGEST + 1, FI_RECV);
    for (how = 0; how < HOWS; how++) {
        bool data = how == MESSAGE || how == WITH_DATA;

        if (data && side.info->domain_attr->cq_data_size == 0)
            continue;
        for (i = 0; i < ARRAY_SIZE(sizes) && sizes[i] <= side.info->ep_attr->max_msg_size; i++) {
            step("%s of %zu bytes", names[how], sizes[i]);
            round += 2;
            post_one(&side, &in, how, sizes[i]);
            if (i == 0 || side.type == FI_EP_DGRAM) /* a datagram that nobody expects is lost */
                side_sync(&side);
            if (side.server) {
                take_one(&side, &in, how, sizes[i], round);
                send_one(&side, &out, how, sizes[i], round + 1);
            } else {
                send_one(&side, &out, how, sizes[i], round);
                take_one(&side, &in, how, sizes[i], round + 1);
            }
        }
    }
    side_sync(&side);
    memory_free(&out);
    memory_free(&in);
    return side_end(&side);
}
