/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One server, many clients: processes that the client starts one after the other and several at the
 * same time. Each connects, talks, and ends, some of them without closing anything; the server goes
 * on.
 */
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define TURNS 6u
#define AT_ONCE 3u
#define BYTES 20000u
#define ROUNDS 5u

struct greeting {
    uint32_t size;
    uint8_t name[248];
};

/* A process of its own; `link` leads to its parent, which passes names on. */
static void child(struct side *side, int link, unsigned number)
{
    struct greeting own, server;
    struct memory memory;
    size_t size = sizeof(own.name);
    unsigned i;

    /* Not the parent's connection: only the parent speaks on that. */
    side->socket = link;
    side_open(side);
    side_endpoint(side);
    CHECK(fi_getname(&side->ep->fid, own.name, &size));
    own.size = (uint32_t)size;
    side_exchange(side, &own, &server, sizeof(own));
    EXPECT(fi_av_insert(side->av, server.name, 1, &side->peer, 0, NULL), 1);
    memory = memory_new(side, BYTES, FI_SEND | FI_RECV);
    for (i = 0; i < ROUNDS; i++) {
        step("client %u, round %u", number, i);
        fill(memory.bytes, BYTES, number);
        POST(side, fi_tsend(side->ep, memory.bytes, i % 2 ? BYTES : 80, memory.desc, side->peer,
                            (uint64_t)number << 8 | i, NULL));
        take(side, side->tx_cq);
        memset(memory.bytes, 0, BYTES);
        POST(side, fi_trecv(side->ep, memory.bytes, BYTES, memory.desc, FI_ADDR_UNSPEC,
                            (uint64_t)number << 8 | i, 0, NULL));
        EXPECT(take(side, side->rx_cq).len, i % 2 ? BYTES : 80);
        verify(memory.bytes, i % 2 ? BYTES : 80, number + 1);
    }
    step("client %u, the end", number);
    side_sync(side); /* the server has its completions */
    if (number % 2 == 1)
        _exit(0); /* whatever is open */
    close_fid(&side->ep->fid);
    side->ep = NULL;
    memory_free(&memory);
    side->watched_count = 0;
    close_fid(&side->tx_cq->fid);
    close_fid(&side->rx_cq->fid);
    close_fid(&side->av->fid);
    close_fid(&side->domain->fid);
    close_fid(&side->fabric->fid);
    _exit(0);
}

/* The parent opens nothing of libfabric: it passes greetings on. */
static void client(struct side *side)
{
    unsigned turn, i, number;
    int ends[2], links[AT_ONCE], status;
    pid_t pids[AT_ONCE];
    struct greeting greeting;
    struct side parent;
    char done = 1;

    for (turn = 0; turn < TURNS; turn++) {
        for (i = 0; i < AT_ONCE; i++) {
            number = turn * AT_ONCE + i;
            HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
            pids[i] = fork();
            HOLDS(pids[i] >= 0);
            if (pids[i] == 0) {
                alarm(400);
                close(ends[0]);
                child(side, ends[1], number);
            }
            close(ends[1]);
            links[i] = ends[0];
        }
        for (i = 0; i < AT_ONCE; i++) {
            parent = (struct side){.socket = links[i]};
            side_receive(&parent, &greeting, sizeof(greeting));
            side_send(side, &greeting, sizeof(greeting));
            side_receive(side, &greeting, sizeof(greeting));
            side_send(&parent, &greeting, sizeof(greeting));
        }
        side_sync(side); /* the server has answered all of them */
        for (i = 0; i < AT_ONCE; i++) {
            parent = (struct side){.socket = links[i]};
            side_receive(&parent, &done, 1);
            side_send(&parent, &done, 1);
            HOLDS(waitpid(pids[i], &status, 0) == pids[i]);
            HOLDS(status == 0);
            side_forget(side, pids[i]);
            close(links[i]);
        }
    }
}

static void server(struct side *side)
{
    struct greeting own, other;
    size_t size = sizeof(own.name);
    fi_addr_t peers[AT_ONCE];
    struct memory memory[AT_ONCE];
    struct fi_cq_tagged_entry entry;
    unsigned turn, i, number, rounds;

    CHECK(fi_getname(&side->ep->fid, own.name, &size));
    own.size = (uint32_t)size;
    for (i = 0; i < AT_ONCE; i++)
        memory[i] = memory_new(side, BYTES, FI_SEND | FI_RECV);
    for (turn = 0; turn < TURNS; turn++) {
        for (i = 0; i < AT_ONCE; i++) {
            side_receive(side, &other, sizeof(other));
            EXPECT(fi_av_insert(side->av, other.name, 1, &peers[i], 0, NULL), 1);
            side_send(side, &own, sizeof(own));
        }
        for (i = 0; i < AT_ONCE; i++)
            POST(side, fi_trecv(side->ep, memory[i].bytes, BYTES, memory[i].desc, peers[i], 0,
                                UINT64_MAX, &memory[i]));
        for (rounds = 0; rounds < ROUNDS * AT_ONCE; rounds++) {
            entry = take(side, side->rx_cq);
            i = (unsigned)((struct memory *)entry.op_context - memory);
            number = (unsigned)(entry.tag >> 8);
            step("client %u, round %u", number, (unsigned)(entry.tag & 0xff));
            HOLDS(number / AT_ONCE == turn && i == number % AT_ONCE);
            verify(memory[i].bytes, entry.len, number);
            fill(memory[i].bytes, entry.len, number + 1);
            POST(side, fi_tsend(side->ep, memory[i].bytes, entry.len, memory[i].desc, peers[i],
                                entry.tag, NULL));
            take(side, side->tx_cq);
            if ((entry.tag & 0xff) + 1 < ROUNDS)
                POST(side, fi_trecv(side->ep, memory[i].bytes, BYTES, memory[i].desc, peers[i], 0,
                                    UINT64_MAX, &memory[i]));
        }
        side_sync(side);
        for (i = 0; i < AT_ONCE; i++)
            CHECK(fi_av_remove(side->av, &peers[i], 1, 0));
    }
    for (i = 0; i < AT_ONCE; i++)
        memory_free(&memory[i]);
}

int main(int argc, char **argv)
{
    struct side side;

    side_begin(&side, argc, argv);
    side.hints->caps = FI_TAGGED | FI_DIRECTED_RECV;
    if (side.server) {
        side_open(&side);
        side_endpoint(&side);
        server(&side);
    } else {
        client(&side);
    }
    return side_end(&side);
}
