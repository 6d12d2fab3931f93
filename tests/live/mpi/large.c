/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Big messages both ways at once between pairs of ranks, each byte looked at: large [MIB]. */
#include "check.h"

#define MIB ((size_t)1 << 20)

static uint64_t stream_of(int from, size_t bytes)
{
    return mix((uint64_t)from * 1000003u + bytes);
}

static void exchange(unsigned char *out, unsigned char *in, size_t bytes, size_t shift, int late)
{
    int other = rank ^ 1;
    size_t wrong;
    MPI_Request requests[2];

    if (other >= size)
        other = rank; /* the odd one out talks with itself */
    fill(out + shift, bytes, stream_of(rank, bytes));
    memset(in, 0xee, bytes + 64);
    if (late && other != rank) { /* what is announced before its receive is there */
        MPI_Isend(out + shift, (int)bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Sendrecv(NULL, 0, MPI_BYTE, other, 2, NULL, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Irecv(in + 32, (int)bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[1]);
    } else {
        MPI_Irecv(in + 32, (int)bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(out + shift, (int)bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[0]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    wrong = differs(in + 32, bytes, stream_of(other, bytes));
    CHECK(wrong == bytes, "byte %zu of %zu from rank %d is wrong", wrong, bytes, other);
    for (wrong = 0; wrong < 32; wrong++)
        CHECK(in[wrong] == 0xee && in[32 + bytes + wrong] == 0xee,
              "a message of %zu bytes wrote outside of its buffer", bytes);
}

int main(int argc, char **argv)
{
    size_t most, bytes, odd;
    unsigned char *out, *in;

    begin(&argc, &argv);
    most = (argc > 1 ? strtoul(argv[1], NULL, 10) : 64) * MIB;
    CHECK(most >= MIB && most <= 1024 * MIB, "usage: large [MIB], 1 to 1024");
    out = allocate(most + 64);
    in = allocate(most + 128);
    for (bytes = 65536; bytes <= most; bytes *= 4) {
        exchange(out, in, bytes, 0, 0);
        exchange(out, in, bytes, 0, 1);
        for (odd = 1; odd < 4; odd++) {
            exchange(out, in, bytes - odd, odd, 0);
            exchange(out, in, bytes - odd, 4 - odd, 1);
        }
    }
    exchange(out, in, most, 0, 0);
    exchange(out, in, most - 1, 3, 1);
    free(out);
    free(in);
    return end("large");
}
