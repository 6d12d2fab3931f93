/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages around a ring, by every kind of send and receive that MPI has. */
#include "check.h"

#define ROUNDS 200
#define BURST 64
#define BYTES_MAX 100000

static int left, right;

static uint64_t stream_of(int from, int kind, int number)
{
    return mix((uint64_t)from << 32 | (uint64_t)kind << 24 | (uint64_t)number);
}

/* A token that every rank adds to. */
static void token(void)
{
    long value = 0, expected = 0;
    int round, i;

    for (round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            value++;
            MPI_Send(&value, 1, MPI_LONG, right, round, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_LONG, left, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&value, 1, MPI_LONG, left, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            value += rank + 1;
            MPI_Send(&value, 1, MPI_LONG, right, round, MPI_COMM_WORLD);
        }
    }
    for (i = 0; i < size; i++)
        expected += i + 1;
    if (rank == 0)
        CHECK(value == ROUNDS * expected, "the token is %ld, not %ld", value, ROUNDS * expected);
}

static void sizes(void)
{
    static const int bytes[] = {0,    1,    7,    8,     63,    64,    65,    1000,     4095,
                                4096, 8192, 8193, 16384, 20000, 65536, 65537, BYTES_MAX};
    unsigned char *out = allocate(BYTES_MAX), *in = allocate(BYTES_MAX);
    MPI_Status status;
    size_t i;
    int count;

    for (i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        fill(out, (size_t)bytes[i], stream_of(rank, 1, (int)i));
        MPI_Sendrecv(out, bytes[i], MPI_BYTE, right, 1, in, BYTES_MAX, MPI_BYTE, left, 1,
                     MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(count == bytes[i] && status.MPI_SOURCE == left && status.MPI_TAG == 1,
              "%d bytes of rank %d with tag %d, not %d of %d", count, status.MPI_SOURCE,
              status.MPI_TAG, bytes[i], left);
        CHECK(differs(in, (size_t)count, stream_of(left, 1, (int)i)) == (size_t)count,
              "byte %zu of %d is wrong", differs(in, (size_t)count, stream_of(left, 1, (int)i)),
              count);
    }
    free(out);
    free(in);
}

/*
 * Waits until all ranks are here, and looks at the requests meanwhile: a failed one is an error of
 * MPI now. A barrier would wait for a rank whose message was lost together with that request.
 */
static void meet(MPI_Request *requests, int count)
{
    MPI_Request barrier;
    MPI_Status statuses[2 * BURST];
    int here = 0, done, ended[2 * BURST];

    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    while (!here) {
        MPI_Testsome(count, requests, &done, ended, statuses);
        MPI_Test(&barrier, &here, MPI_STATUS_IGNORE);
    }
}

/* Many at once: the first half is expected, the second not; the order is kept. */
static void burst(int bytes)
{
    unsigned char *out = allocate((size_t)BURST * (size_t)bytes),
                  *in = allocate((size_t)BURST * (size_t)bytes);
    MPI_Request requests[2 * BURST];
    int i;

    for (i = 0; i < 2 * BURST; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (i = 0; i < BURST / 2; i++)
        MPI_Irecv(in + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, left, 2, MPI_COMM_WORLD,
                  &requests[i]);
    for (i = 0; i < BURST; i++) {
        fill(out + (size_t)i * (size_t)bytes, (size_t)bytes, stream_of(rank, 2, i));
        MPI_Isend(out + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, right, 2, MPI_COMM_WORLD,
                  &requests[BURST + i]);
    }
    meet(requests, 2 * BURST);
    for (; i < BURST + BURST / 2; i++)
        MPI_Irecv(in + (size_t)(i - BURST / 2) * (size_t)bytes, bytes, MPI_BYTE, left, 2,
                  MPI_COMM_WORLD, &requests[i - BURST / 2]);
    MPI_Waitall(2 * BURST, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < BURST; i++)
        CHECK(differs(in + (size_t)i * (size_t)bytes, (size_t)bytes, stream_of(left, 2, i)) ==
                  (size_t)bytes,
              "message %d of %d bytes is not the one that was sent in its place", i, bytes);
    free(out);
    free(in);
}

/* To rank 0 from all, which takes them from whom they come, by probing. */
static void wildcards(void)
{
    unsigned char bytes[3000];
    int from, i, count, *seen = calloc((size_t)size, sizeof(int));
    MPI_Status status;
    MPI_Message message;

    for (i = 0; rank != 0 && i < 20; i++) {
        fill(bytes, (size_t)(100 * i + rank % 100), stream_of(rank, 3, i));
        MPI_Send(bytes, 100 * i + rank % 100, MPI_BYTE, 0, 30 + i, MPI_COMM_WORLD);
    }
    for (i = 0; rank == 0 && i < 20 * (size - 1); i++) {
        if (i % 2 == 0) {
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            MPI_Mrecv(bytes, count, MPI_BYTE, &message, &status);
        } else {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            MPI_Recv(bytes, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                     &status);
        }
        from = status.MPI_SOURCE;
        CHECK(status.MPI_TAG == 30 + seen[from], "rank %d's tag %d is out of turn", from,
              status.MPI_TAG);
        CHECK(count == 100 * seen[from] + from % 100 &&
                  differs(bytes, (size_t)count, stream_of(from, 3, seen[from])) == (size_t)count,
              "message %d of rank %d is wrong", seen[from], from);
        seen[from]++;
    }
    free(seen);
    MPI_Barrier(MPI_COMM_WORLD); /* what comes later is not to be taken here */
}

/* Synchronous, ready, buffered, persistent. */
static void modes(void)
{
    static unsigned char space[BYTES_MAX + MPI_BSEND_OVERHEAD], out[BYTES_MAX], in[BYTES_MAX];
    MPI_Request requests[2];
    void *detached;
    int i, bytes, done = 0, before;

    fill(out, 50000, stream_of(rank, 4, 0));
    MPI_Irecv(in, 50000, MPI_BYTE, left, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Issend(out, 50000, MPI_BYTE, right, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(differs(in, 50000, stream_of(left, 4, 0)) == 50000, "synchronous: wrong");

    MPI_Issend(out, 8, MPI_BYTE, right, 5, MPI_COMM_WORLD, &requests[1]);
    for (i = 0; i < 100; i++) {
        MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE);
        CHECK(!done, "a synchronous send has ended before its receive began");
    }
    before = rank;
    MPI_Sendrecv_replace(&before, 1, MPI_INT, right, 6, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(before == left, "replaced by %d", before);
    MPI_Recv(in, 8, MPI_BYTE, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);

    MPI_Buffer_attach(space, sizeof(space));
    MPI_Bsend(out, 50000, MPI_BYTE, right, 7, MPI_COMM_WORLD);
    memset(out, 0, 50000);
    MPI_Recv(in, 50000, MPI_BYTE, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(differs(in, 50000, stream_of(left, 4, 0)) == 50000, "buffered: wrong");
    MPI_Buffer_detach(&detached, &bytes);

    MPI_Recv_init(in, 3000, MPI_BYTE, left, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out, 3000, MPI_BYTE, right, 8, MPI_COMM_WORLD, &requests[1]);
    for (i = 0; i < 50; i++) {
        fill(out, 3000, stream_of(rank, 5, i));
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(differs(in, 3000, stream_of(left, 5, i)) == 3000, "persistent, round %d: wrong", i);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Receives that never get anything are cancelled; a column of a matrix travels. */
static void cancel_and_types(void)
{
    double matrix[40][30], column[40];
    MPI_Datatype type;
    MPI_Request request;
    MPI_Status status;
    int i, j, cancelled = 0;

    MPI_Irecv(column, 40, MPI_DOUBLE, left, 999, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled, "a receive that nothing was sent to was not cancelled");

    for (i = 0; i < 40; i++)
        for (j = 0; j < 30; j++)
            matrix[i][j] = rank * 10000 + i * 100 + j;
    MPI_Type_vector(40, 1, 30, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(&matrix[0][7], 1, type, right, 9, column, 40, MPI_DOUBLE, left, 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (i = 0; i < 40; i++)
        CHECK(column[i] == left * 10000 + i * 100 + 7, "row %d of the column is %g", i, column[i]);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    if (size > 1)
        token();
    sizes();
    burst(16);
    burst(3000);
    burst(40000);
    wildcards();
    modes();
    cancel_and_types();
    return end("ring");
}
