/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The traffic of bench-smsg between MPI ranks: 8-byte messages. harness/peers.py compiles this file
 * for SimGrid's SMPI, whose processor time it measures, and for Open MPI, whose ranks run in real
 * time; `pingpong` prints the time of a message.
 *
 * ranks pingpong|random MESSAGES: messages of each rank.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 8

static int rank, ranks;

/* The shift of a round, the same for all ranks, so that each one receives one message in each
 * round. */
static int shift_of(long round)
{
    unsigned long x = (unsigned long)round * 0x9e3779b97f4a7c15ul;

    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ul;
    return 1 + (int)((x >> 32) % (unsigned long)(ranks - 1));
}

static void send_to(int to)
{
    char bytes[BYTES] = {0};

    MPI_Send(bytes, BYTES, MPI_BYTE, to, 1, MPI_COMM_WORLD);
}

static void receive_from(int from)
{
    char bytes[BYTES];

    MPI_Recv(bytes, BYTES, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pingpong(long messages)
{
    double begin = MPI_Wtime();
    long i;

    for (i = 0; i < messages; i++) {
        if (rank == 0)
            send_to(1);
        receive_from(1 - rank);
        if (rank == 1)
            send_to(0);
    }
    if (rank == 0)
        printf("%.9f\n", (MPI_Wtime() - begin) / (2 * (double)messages));
}

static void all_to_random(long messages)
{
    MPI_Request sent;
    char bytes[BYTES] = {0};
    int shift;
    long i;

    for (i = 0; i < messages; i++) {
        shift = shift_of(i);
        MPI_Isend(bytes, BYTES, MPI_BYTE, (rank + shift) % ranks, 1, MPI_COMM_WORLD, &sent);
        receive_from((rank + ranks - shift) % ranks);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    long messages = argc == 3 ? atol(argv[2]) : 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (messages <= 0 || ranks < 2) {
        fprintf(stderr, "usage: ranks pingpong|random MESSAGES, with two ranks or more\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (strcmp(argv[1], "pingpong") == 0) {
        pingpong(messages / 10 + 1); /* connects, and warms the caches */
        MPI_Barrier(MPI_COMM_WORLD);
        pingpong(messages);
    } else {
        all_to_random(messages);
    }
    MPI_Finalize();
    return 0;
}
