/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* MPI_THREAD_MULTIPLE: threads of each rank exchange at once: threads [THREADS]. */
#include <pthread.h>

#include "check.h"

#define THREADS_MAX 16
#define ROUNDS 60
#define BYTES_MAX 50000

struct worker {
    int number, threads;
    pthread_t thread;
    MPI_Comm own; /* for collectives: no two threads use one communicator */
};

static uint64_t stream_of(int from, int to, int thread, int round)
{
    return mix((uint64_t)from << 40 | (uint64_t)to << 24 | (uint64_t)thread << 16 |
               (uint64_t)round);
}

static int bytes_of(uint64_t stream)
{
    static const int limit[] = {9, 300, 5000, 20000, BYTES_MAX};

    return (int)(mix(stream) % (uint64_t)limit[mix(stream + 1) % 5]);
}

/* With the same thread of all others, at once. */
static void exchange(const struct worker *worker, unsigned char *out, unsigned char *in, int round)
{
    MPI_Request requests[2 * 64];
    uint64_t stream;
    int other, requests_made = 0, count;
    size_t bytes;

    for (other = 0; other < size; other++)
        MPI_Irecv(in + (size_t)other * BYTES_MAX, BYTES_MAX, MPI_BYTE, other, worker->number,
                  MPI_COMM_WORLD, &requests[requests_made++]);
    for (other = 0; other < size; other++) {
        stream = stream_of(rank, other, worker->number, round);
        bytes = (size_t)bytes_of(stream);
        fill(out + (size_t)other * BYTES_MAX, bytes, stream);
        MPI_Isend(out + (size_t)other * BYTES_MAX, (int)bytes, MPI_BYTE, other, worker->number,
                  MPI_COMM_WORLD, &requests[requests_made++]);
    }
    for (other = 0; other < size; other++) {
        MPI_Status status;

        MPI_Wait(&requests[other], &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        stream = stream_of(other, rank, worker->number, round);
        bytes = (size_t)bytes_of(stream);
        CHECK((size_t)count == bytes && status.MPI_SOURCE == other,
              "thread %d, round %d: %d bytes of rank %d, not %zu of %d", worker->number, round,
              count, status.MPI_SOURCE, bytes, other);
        CHECK(differs(in + (size_t)other * BYTES_MAX, bytes, stream) == bytes,
              "thread %d, round %d: the message of rank %d is wrong", worker->number, round, other);
    }
    MPI_Waitall(size, requests + size, MPI_STATUSES_IGNORE);
}

/* Threads hand a number to the next thread of the next rank, blocking, by probe and receive. */
static void chain(const struct worker *worker, int round)
{
    int tag = 100 + worker->number, got = -1, value = 1000 * rank + round;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;

    MPI_Isend(&value, 1, MPI_INT, right, tag, MPI_COMM_WORLD, &request);
    MPI_Mprobe(left, tag, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == 1000 * left + round, "thread %d, round %d: got %d", worker->number, round, got);
}

static void reduce(const struct worker *worker, int round)
{
    long in[100], out[100];
    int i;

    for (i = 0; i < 100; i++)
        in[i] = (long)rank * 7 + i * round + worker->number;
    MPI_Allreduce(in, out, 100, MPI_LONG, MPI_SUM, worker->own);
    for (i = 0; i < 100; i++)
        CHECK(out[i] == 7L * size * (size - 1) / 2 + (long)size * (i * round + worker->number),
              "thread %d, round %d: sum %d is %ld", worker->number, round, i, out[i]);
}

static void *work(void *argument)
{
    const struct worker *worker = argument;
    unsigned char *out = allocate((size_t)size * BYTES_MAX),
                  *in = allocate((size_t)size * BYTES_MAX);
    int round;

    for (round = 0; round < ROUNDS; round++) {
        exchange(worker, out, in, round);
        chain(worker, round);
        reduce(worker, round);
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    struct worker workers[THREADS_MAX];
    int threads, provided, i;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided == MPI_THREAD_MULTIPLE, "MPI provides thread level %d only", provided);
    threads = argc > 1 ? atoi(argv[1]) : 4;
    CHECK(threads > 0 && threads <= THREADS_MAX && size <= 64, "usage: threads [1 to %d]",
          THREADS_MAX);
    for (i = 0; i < threads; i++) {
        workers[i] = (struct worker){.number = i, .threads = threads};
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].own);
    }
    for (i = 0; i < threads; i++)
        CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0, "no thread");
    for (i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        MPI_Comm_free(&workers[i].own);
    }
    return end("threads");
}
