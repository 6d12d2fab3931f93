/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One-sided operations under all three kinds of synchronisation: onesided [allocate] [-PART]...,
 * the latter to leave a part out. */
#include "check.h"

#define WORDS 4096
#define BLOCK 37

static int allocates; /* windows in memory of MPI's, not ours */

struct window {
    MPI_Win win;
    long *memory;
};

static void window_open(struct window *window, int words)
{
    MPI_Aint bytes = (MPI_Aint)words * (MPI_Aint)sizeof(long);

    if (allocates) {
        MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window->memory,
                         &window->win);
    } else {
        window->memory = allocate((size_t)bytes);
        MPI_Win_create(window->memory, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                       &window->win);
    }
}

static void window_close(struct window *window)
{
    MPI_Win_free(&window->win);
    if (!allocates)
        free(window->memory);
}

static long value_of(int from, int to, int i)
{
    return (long)(mix((uint64_t)from << 40 ^ (uint64_t)to << 20 ^ (uint64_t)i) >> 8);
}

/* Each rank writes its block into everybody's window, then reads everybody's back. */
static void fences(void)
{
    struct window window;
    long *out = allocate((size_t)size * BLOCK * sizeof(long)), *in = allocate(WORDS * sizeof(long));
    int r, i;

    window_open(&window, size * BLOCK);
    memset(window.memory, 0, (size_t)size * BLOCK * sizeof(long));
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window.win);
    for (r = 0; r < size; r++) {
        for (i = 0; i < BLOCK; i++)
            out[r * BLOCK + i] = value_of(rank, r, i);
        MPI_Put(out + (size_t)r * BLOCK, BLOCK, MPI_LONG, r, (MPI_Aint)rank * BLOCK, BLOCK,
                MPI_LONG, window.win);
    }
    MPI_Win_fence(0, window.win);
    for (r = 0; r < size; r++)
        for (i = 0; i < BLOCK; i++)
            CHECK(window.memory[r * BLOCK + i] == value_of(r, rank, i),
                  "Put of rank %d: word %d is %ld", r, i, window.memory[r * BLOCK + i]);
    for (r = 0; r < size; r++) {
        int from = (rank + r) % size, of = (rank + 2 * r) % size;

        MPI_Get(in, BLOCK, MPI_LONG, from, (MPI_Aint)of * BLOCK, BLOCK, MPI_LONG, window.win);
        MPI_Win_fence(0, window.win);
        for (i = 0; i < BLOCK; i++)
            CHECK(in[i] == value_of(of, from, i), "Get from rank %d: word %d is %ld", from, i,
                  in[i]);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
    window_close(&window);
    free(out);
    free(in);
}

/* Big ones, and a column into a row. */
static void shapes(void)
{
    enum { BIG = 1 << 18 };
    struct window window;
    long *out = allocate(BIG * sizeof(long));
    MPI_Datatype column;
    int right = (rank + 1) % size, left = (rank + size - 1) % size, i;

    window_open(&window, BIG);
    for (i = 0; i < BIG; i++) {
        window.memory[i] = -1;
        out[i] = value_of(rank, 1000, i);
    }
    MPI_Win_fence(0, window.win);
    MPI_Put(out, BIG, MPI_LONG, right, 0, BIG, MPI_LONG, window.win);
    MPI_Win_fence(0, window.win);
    for (i = 0; i < BIG; i++)
        CHECK(window.memory[i] == value_of(left, 1000, i), "big Put: word %d is %ld", i,
              window.memory[i]);
    memset(out, 0, BIG * sizeof(long));
    MPI_Win_fence(0, window.win);
    MPI_Get(out, BIG, MPI_LONG, right, 0, BIG, MPI_LONG, window.win);
    MPI_Win_fence(0, window.win);
    for (i = 0; i < BIG; i++)
        CHECK(out[i] == value_of(rank, 1000, i), "big Get: word %d is %ld", i, out[i]);

    MPI_Type_vector(100, 1, 7, MPI_LONG, &column);
    MPI_Type_commit(&column);
    memset(window.memory, 0, BIG * sizeof(long));
    MPI_Win_fence(0, window.win);
    MPI_Put(out, 1, column, right, 3, 100, MPI_LONG, window.win);
    MPI_Put(out, 100, MPI_LONG, right, 1000, 1, column, window.win);
    MPI_Win_fence(0, window.win);
    for (i = 0; i < 100; i++)
        CHECK(window.memory[3 + i] == value_of(left, 1000, 7 * i) &&
                  window.memory[1000 + 7 * i] == value_of(left, 1000, i) &&
                  window.memory[1001 + 7 * i] == 0,
              "a column and a row: word %d is wrong", i);
    MPI_Type_free(&column);
    window_close(&window);
    free(out);
}

/* All ranks add into the same words of all ranks. */
static void accumulates(void)
{
    struct window window;
    long *out = allocate(WORDS * sizeof(long)), *before = allocate(WORDS * sizeof(long)), sum;
    int r, i, round;

    window_open(&window, WORDS);
    memset(window.memory, 0, WORDS * sizeof(long));
    for (i = 0; i < WORDS; i++)
        out[i] = rank + 1 + i;
    MPI_Win_fence(0, window.win);
    for (round = 0; round < 3; round++)
        for (r = 0; r < size; r++)
            MPI_Accumulate(out, WORDS, MPI_LONG, r, 0, WORDS, MPI_LONG, MPI_SUM, window.win);
    MPI_Win_fence(0, window.win);
    for (i = 0; i < WORDS; i++) {
        sum = 3L * ((long)size * (size + 1) / 2 + (long)size * i);
        CHECK(window.memory[i] == sum, "Accumulate: word %d is %ld, not %ld", i, window.memory[i],
              sum);
        window.memory[i] = 0;
    }
    MPI_Win_fence(0, window.win);
    /* What is found plus what is added later is the end: rank 0's words, by all. */
    MPI_Get_accumulate(out, 10, MPI_LONG, before, 10, MPI_LONG, 0, 5, 10, MPI_LONG, MPI_SUM,
                       window.win);
    MPI_Win_fence(0, window.win);
    for (i = 0; i < 10; i++) {
        CHECK(before[i] >= 0 && before[i] <= (long)size * (size + 1) / 2 + (long)size * i - out[i],
              "Get_accumulate found %ld in word %d", before[i], i);
        if (rank == 0)
            CHECK(window.memory[5 + i] == (long)size * (size + 1) / 2 + (long)size * i,
                  "Get_accumulate: word %d is %ld", i, window.memory[5 + i]);
    }
    MPI_Win_fence(0, window.win);
    for (i = 0; i < 16; i++)
        window.memory[i] = 0;
    MPI_Win_fence(0, window.win);
    for (i = 0; i < 16; i++)
        out[i] = value_of(rank, 2000, i);
    MPI_Accumulate(out, 8, MPI_LONG, 0, 0, 8, MPI_LONG, MPI_BXOR, window.win);
    MPI_Accumulate(out + 8, 8, MPI_LONG, 0, 8, 8, MPI_LONG, MPI_MAX, window.win);
    MPI_Win_fence(0, window.win);
    for (i = 0; rank == 0 && i < 16; i++) {
        long wanted = 0;

        for (r = 0; r < size; r++) {
            long next = value_of(r, 2000, i);

            wanted = i < 8 ? wanted ^ next : next > wanted ? next : wanted;
        }
        CHECK(window.memory[i] == wanted, "word %d is %ld, not %ld", i, window.memory[i], wanted);
    }
    window_close(&window);
    free(out);
    free(before);
}

/* Tickets out of a counter on each rank in turn: no two the same, none left out. */
static void tickets(void)
{
    enum { EACH = 100 };
    struct window window;
    long one = 1, *own = allocate(EACH * sizeof(long)),
         *all = allocate((size_t)size * EACH * sizeof(long));
    unsigned char *taken = allocate((size_t)size * EACH);
    int at, i;

    window_open(&window, 4);
    for (at = 0; at < size; at++) {
        memset(window.memory, 0, 4 * sizeof(long));
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, window.win);
        MPI_Win_sync(window.win);
        MPI_Barrier(MPI_COMM_WORLD);
        for (i = 0; i < EACH; i++) {
            MPI_Fetch_and_op(&one, &own[i], MPI_LONG, at, 2, MPI_SUM, window.win);
            MPI_Win_flush(at, window.win);
            CHECK(i == 0 || own[i] > own[i - 1], "ticket %ld after %ld", own[i], own[i - 1]);
        }
        MPI_Win_unlock_all(window.win);
        MPI_Allgather(own, EACH, MPI_LONG, all, EACH, MPI_LONG, MPI_COMM_WORLD);
        memset(taken, 0, (size_t)size * EACH);
        for (i = 0; i < size * EACH; i++) {
            CHECK(all[i] >= 0 && all[i] < (long)size * EACH && !taken[all[i]],
                  "ticket %ld of rank %d was given out twice", all[i], i / EACH);
            taken[all[i]] = 1;
        }
    }
    window_close(&window);
    free(own);
    free(all);
    free(taken);
}

/* A lock made of Compare_and_swap guards a counter that is read and written without atomicity. Rank
 * 0, which has both, only looks on: Open MPI 4.1's osc/rdma crashes when a rank swaps in its own
 * window. */
static void swaps(void)
{
    enum { EACH = 25 };
    struct window window;
    long own = rank + 1, nobody = 0, found, counter;
    int i;

    window_open(&window, 2);
    window.memory[0] = window.memory[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window.win);
    MPI_Win_sync(window.win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; rank != 0 && i < EACH; i++) {
        do {
            MPI_Compare_and_swap(&own, &nobody, &found, MPI_LONG, 0, 0, window.win);
            MPI_Win_flush(0, window.win);
            CHECK(found != own, "the lock is ours already");
        } while (found != 0);
        MPI_Get(&counter, 1, MPI_LONG, 0, 1, 1, MPI_LONG, window.win);
        MPI_Win_flush(0, window.win);
        counter++;
        MPI_Put(&counter, 1, MPI_LONG, 0, 1, 1, MPI_LONG, window.win);
        MPI_Win_flush(0, window.win);
        MPI_Compare_and_swap(&nobody, &own, &found, MPI_LONG, 0, 0, window.win);
        MPI_Win_flush(0, window.win);
        CHECK(found == own, "the lock was taken away by %ld", found);
    }
    MPI_Win_unlock_all(window.win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.win);
        CHECK(window.memory[1] == (long)(size - 1) * EACH, "the counter is %ld, not %d",
              window.memory[1], (size - 1) * EACH);
        MPI_Win_unlock(0, window.win);
    }
    window_close(&window);
}

/* Exclusive locks: read, add, write on each rank's window. */
static void locks(void)
{
    enum { EACH = 10 };
    struct window window;
    long words[BLOCK], next;
    int i, j, r;

    window_open(&window, BLOCK);
    memset(window.memory, 0, BLOCK * sizeof(long));
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < EACH; i++) {
        for (r = 0; r < size; r++) {
            int at = (rank + r) % size;

            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, at, 0, window.win);
            MPI_Get(words, BLOCK, MPI_LONG, at, 0, BLOCK, MPI_LONG, window.win);
            MPI_Win_flush(at, window.win);
            next = words[0] + 1;
            for (j = 0; j < BLOCK; j++) {
                CHECK(words[j] == (next == 1 ? 0 : next - 1 + j), "a write in the middle of ours");
                words[j] = next + j;
            }
            MPI_Put(words, BLOCK, MPI_LONG, at, 0, BLOCK, MPI_LONG, window.win);
            MPI_Win_unlock(at, window.win);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window.win);
    for (j = 0; j < BLOCK; j++)
        CHECK(window.memory[j] == (long)size * EACH + j, "word %d is %ld", j, window.memory[j]);
    MPI_Win_unlock(rank, window.win);
    window_close(&window);
}

/* Post, start, complete, wait along a ring. */
static void pscw(void)
{
    struct window window;
    MPI_Group world, to, from;
    int right = (rank + 1) % size, left = (rank + size - 1) % size, i, round;
    long out[BLOCK], in[BLOCK];

    window_open(&window, 2 * BLOCK);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &right, &to);
    MPI_Group_incl(world, 1, &left, &from);
    for (round = 0; round < 20; round++) {
        for (i = 0; i < BLOCK; i++) {
            out[i] = value_of(rank, 3000 + round, i);
            window.memory[BLOCK + i] = value_of(rank, 4000 + round, i);
        }
        MPI_Win_post(from, 0, window.win);
        MPI_Win_start(to, 0, window.win);
        MPI_Put(out, BLOCK, MPI_LONG, right, 0, BLOCK, MPI_LONG, window.win);
        MPI_Get(in, BLOCK, MPI_LONG, right, BLOCK, BLOCK, MPI_LONG, window.win);
        MPI_Win_complete(window.win);
        MPI_Win_wait(window.win);
        for (i = 0; i < BLOCK; i++)
            CHECK(window.memory[i] == value_of(left, 3000 + round, i) &&
                      in[i] == value_of(right, 4000 + round, i),
                  "round %d: word %d is wrong", round, i);
    }
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&world);
    window_close(&window);
}

/* Memory that is attached after the window was made; requests of single operations. */
static void dynamic(void)
{
    long *memory = allocate(BLOCK * sizeof(long)), out[BLOCK], in[BLOCK];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, i;
    MPI_Aint own, other;
    MPI_Request request;
    MPI_Win win;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory, BLOCK * sizeof(long));
    MPI_Get_address(memory, &own);
    MPI_Sendrecv(&own, 1, MPI_AINT, left, 0, &other, 1, MPI_AINT, right, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (i = 0; i < BLOCK; i++)
        out[i] = value_of(rank, 5000, i);
    MPI_Win_lock_all(0, win);
    MPI_Rput(out, BLOCK, MPI_LONG, right, other, BLOCK, MPI_LONG, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush_all(win);
    MPI_Rget(in, BLOCK, MPI_LONG, right, other, BLOCK, MPI_LONG, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (i = 0; i < BLOCK; i++)
        CHECK(in[i] == out[i], "what was put is not what is got: word %d", i);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < BLOCK; i++)
        CHECK(memory[i] == value_of(left, 5000, i), "attached memory: word %d is wrong", i);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
    free(memory);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"fences", fences},   {"shapes", shapes},  {"accumulates", accumulates},
                 {"tickets", tickets}, {"swaps", swaps},    {"locks", locks},
                 {"pscw", pscw},       {"dynamic", dynamic}};
    size_t p;
    int i, wanted;

    begin(&argc, &argv);
    for (p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
        for (i = 1, wanted = 1; i < argc; i++) {
            allocates |= strcmp(argv[i], "allocate") == 0;
            wanted &= argv[i][0] != '-' || strcmp(argv[i] + 1, parts[p].name) != 0;
        }
        if (wanted)
            parts[p].run();
    }
    return end("onesided");
}
