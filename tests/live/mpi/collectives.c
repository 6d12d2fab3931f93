/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* All collective operations, several types, sizes and roots; each element of each result is
 * compared. Values are small whole numbers, so that sums are exact in every type. */
#include <time.h>

#include "check.h"

struct kind {
    const char *name;
    MPI_Datatype type;
    size_t bytes;
};

static struct kind kinds[] = {
    {"char", MPI_SIGNED_CHAR, sizeof(signed char)},
    {"int", MPI_INT, sizeof(int)},
    {"long", MPI_LONG, sizeof(long)},
    {"float", MPI_FLOAT, sizeof(float)},
    {"double", MPI_DOUBLE, sizeof(double)},
};
#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

static void put(int kind, void *buffer, size_t i, int value)
{
    switch (kind) {
    case 0:
        ((signed char *)buffer)[i] = (signed char)value;
        break;
    case 1:
        ((int *)buffer)[i] = value;
        break;
    case 2:
        ((long *)buffer)[i] = value;
        break;
    case 3:
        ((float *)buffer)[i] = (float)value;
        break;
    default:
        ((double *)buffer)[i] = value;
    }
}

static double get(int kind, const void *buffer, size_t i)
{
    switch (kind) {
    case 0:
        return ((const signed char *)buffer)[i];
    case 1:
        return ((const int *)buffer)[i];
    case 2:
        return (double)((const long *)buffer)[i];
    case 3:
        return ((const float *)buffer)[i];
    default:
        return ((const double *)buffer)[i];
    }
}

/* 0 to 6: eight ranks' sum and three ranks' product fit into a char. */
static int value_of(int from, int to, int i)
{
    return (int)(mix((uint64_t)from << 40 ^ (uint64_t)to << 24 ^ (uint64_t)i) % 7);
}

static void same(int line, const char *what, int kind, const void *buffer, size_t i, double wanted)
{
    CHECK(get(kind, buffer, i) == wanted, "line %d: %s of %s: element %zu is %g, not %g", line,
          what, kinds[kind].name, i, get(kind, buffer, i), wanted);
}
#define SAME(what, kind, buffer, i, wanted) same(__LINE__, what, kind, buffer, i, wanted)

static double folded(MPI_Op op, int ranks, int to, int i)
{
    double all = value_of(0, to, i);
    int from;

    for (from = 1; from < ranks; from++) {
        int next = value_of(from, to, i);

        if (op == MPI_SUM)
            all += next;
        else if (op == MPI_MAX)
            all = next > all ? next : all;
        else
            all = next < all ? next : all;
    }
    return all;
}

static void rooted(int kind, int count, int root)
{
    const struct kind *of = &kinds[kind];
    char *one = allocate((size_t)count * of->bytes),
         *all = allocate((size_t)count * (size_t)size * of->bytes);
    int i, r;

    for (i = 0; i < count; i++)
        put(kind, one, (size_t)i, rank == root ? value_of(root, 0, i) : 99);
    MPI_Bcast(one, count, of->type, root, MPI_COMM_WORLD);
    for (i = 0; i < count; i++)
        SAME("Bcast", kind, one, (size_t)i, value_of(root, 0, i));

    for (i = 0; i < count; i++)
        put(kind, one, (size_t)i, value_of(rank, 1, i));
    MPI_Gather(one, count, of->type, all, count, of->type, root, MPI_COMM_WORLD);
    for (r = 0; rank == root && r < size; r++)
        for (i = 0; i < count; i++)
            SAME("Gather", kind, all, (size_t)r * (size_t)count + (size_t)i, value_of(r, 1, i));

    for (r = 0; rank == root && r < size; r++)
        for (i = 0; i < count; i++)
            put(kind, all, (size_t)r * (size_t)count + (size_t)i, value_of(root, r, i));
    MPI_Scatter(all, count, of->type, one, count, of->type, root, MPI_COMM_WORLD);
    for (i = 0; i < count; i++)
        SAME("Scatter", kind, one, (size_t)i, value_of(root, rank, i));

    for (i = 0; i < count; i++)
        put(kind, one, (size_t)i, value_of(rank, 2, i));
    MPI_Reduce(one, all, count, of->type, MPI_SUM, root, MPI_COMM_WORLD);
    for (i = 0; rank == root && i < count; i++)
        SAME("Reduce", kind, all, (size_t)i, folded(MPI_SUM, size, 2, i));
    if (rank == root)
        memcpy(all, one, (size_t)count * of->bytes);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : one, all, count, of->type, MPI_MAX, root,
               MPI_COMM_WORLD);
    for (i = 0; rank == root && i < count; i++)
        SAME("Reduce in place", kind, all, (size_t)i, folded(MPI_MAX, size, 2, i));
    free(one);
    free(all);
}

static void symmetric(int kind, int count)
{
    const struct kind *of = &kinds[kind];
    size_t each = (size_t)count;
    char *one = allocate(each * (size_t)size * of->bytes),
         *all = allocate(each * (size_t)size * of->bytes);
    MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN};
    int i, r, o;

    for (i = 0; i < count; i++)
        put(kind, one, (size_t)i, value_of(rank, 3, i));
    for (o = 0; o < 3; o++) {
        MPI_Allreduce(one, all, count, of->type, ops[o], MPI_COMM_WORLD);
        for (i = 0; i < count; i++)
            SAME("Allreduce", kind, all, (size_t)i, folded(ops[o], size, 3, i));
    }
    memcpy(all, one, each * of->bytes);
    MPI_Allreduce(MPI_IN_PLACE, all, count, of->type, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i < count; i++)
        SAME("Allreduce in place", kind, all, (size_t)i, folded(MPI_SUM, size, 3, i));

    MPI_Allgather(one, count, of->type, all, count, of->type, MPI_COMM_WORLD);
    for (r = 0; r < size; r++)
        for (i = 0; i < count; i++)
            SAME("Allgather", kind, all, (size_t)r * each + (size_t)i, value_of(r, 3, i));

    MPI_Scan(one, all, count, of->type, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i < count; i++)
        SAME("Scan", kind, all, (size_t)i, folded(MPI_SUM, rank + 1, 3, i));
    MPI_Exscan(one, all, count, of->type, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; rank > 0 && i < count; i++)
        SAME("Exscan", kind, all, (size_t)i, folded(MPI_SUM, rank, 3, i));

    for (r = 0; r < size; r++)
        for (i = 0; i < count; i++)
            put(kind, one, (size_t)r * each + (size_t)i, value_of(rank, 10 + r, i));
    MPI_Alltoall(one, count, of->type, all, count, of->type, MPI_COMM_WORLD);
    for (r = 0; r < size; r++)
        for (i = 0; i < count; i++)
            SAME("Alltoall", kind, all, (size_t)r * each + (size_t)i, value_of(r, 10 + rank, i));

    MPI_Reduce_scatter_block(one, all, count, of->type, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i < count; i++)
        SAME("Reduce_scatter_block", kind, all, (size_t)i, folded(MPI_SUM, size, 10 + rank, i));
    free(one);
    free(all);
}

/* Rank r has r % 3 * count + r elements for everybody; some have none. */
static int share(int r, int count)
{
    return r % 3 * count + r;
}

static void uneven(int kind, int count, int root)
{
    const struct kind *of = &kinds[kind];
    int *counts = allocate((size_t)size * sizeof(int)),
        *places = allocate((size_t)size * sizeof(int));
    int *to = allocate((size_t)size * sizeof(int)),
        *to_places = allocate((size_t)size * sizeof(int));
    int r, i, total = 0, own = share(rank, count);
    char *one, *all;

    for (r = 0; r < size; r++) {
        counts[r] = share(r, count);
        places[r] = total + r; /* with gaps */
        total += counts[r];
        to[r] = own;
        to_places[r] = r * own;
    }
    one = allocate((size_t)(own + 1) * (size_t)size * of->bytes + (size_t)total * of->bytes);
    all = allocate((size_t)(total + size) * of->bytes);
    for (i = 0; i < own; i++)
        put(kind, one, (size_t)i, value_of(rank, 4, i));
    for (i = 0; i < total + size; i++)
        put(kind, all, (size_t)i, 55);
    MPI_Gatherv(one, own, of->type, all, counts, places, of->type, root, MPI_COMM_WORLD);
    for (r = 0; rank == root && r < size; r++) {
        for (i = 0; i < counts[r]; i++)
            SAME("Gatherv", kind, all, (size_t)(places[r] + i), value_of(r, 4, i));
        SAME("Gatherv's gap", kind, all, (size_t)(places[r] + counts[r]), 55);
    }
    MPI_Allgatherv(one, own, of->type, all, counts, places, of->type, MPI_COMM_WORLD);
    for (r = 0; r < size; r++)
        for (i = 0; i < counts[r]; i++)
            SAME("Allgatherv", kind, all, (size_t)(places[r] + i), value_of(r, 4, i));

    MPI_Scatterv(all, counts, places, of->type, one, own, of->type, root, MPI_COMM_WORLD);
    for (i = 0; i < own; i++)
        SAME("Scatterv", kind, one, (size_t)i, value_of(rank, 4, i));

    for (r = 0; r < size; r++)
        for (i = 0; i < own; i++)
            put(kind, one, (size_t)(to_places[r] + i), value_of(rank, 100 + r, i));
    MPI_Alltoallv(one, to, to_places, of->type, all, counts, places, of->type, MPI_COMM_WORLD);
    for (r = 0; r < size; r++)
        for (i = 0; i < counts[r]; i++)
            SAME("Alltoallv", kind, all, (size_t)(places[r] + i), value_of(r, 100 + rank, i));

    for (i = 0; i < total; i++)
        put(kind, one, (size_t)i, value_of(rank, 5, i));
    MPI_Reduce_scatter(one, all, counts, of->type, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i < own; i++)
        SAME("Reduce_scatter", kind, all, (size_t)i,
             folded(MPI_SUM, size, 5, places[rank] - rank + i));
    free(counts);
    free(places);
    free(to);
    free(to_places);
    free(one);
    free(all);
}

/* ---- an operation that does not commute: 2 × 2 matrices ----------------------------------------
 */

struct matrix {
    unsigned at[4];
};

static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const struct matrix *a = in;
    struct matrix *b = inout;
    int i;

    (void)type;
    for (i = 0; i < *count; i++) {
        struct matrix product = {{a[i].at[0] * b[i].at[0] + a[i].at[1] * b[i].at[2],
                                  a[i].at[0] * b[i].at[1] + a[i].at[1] * b[i].at[3],
                                  a[i].at[2] * b[i].at[0] + a[i].at[3] * b[i].at[2],
                                  a[i].at[2] * b[i].at[1] + a[i].at[3] * b[i].at[3]}};

        b[i] = product;
    }
}

static struct matrix matrix_of(int from, int i)
{
    struct matrix matrix;
    int j;

    for (j = 0; j < 4; j++)
        matrix.at[j] = (unsigned)mix((uint64_t)from << 32 | (uint64_t)i << 2 | (uint64_t)j);
    return matrix;
}

static struct matrix product_of(int ranks, int i)
{
    struct matrix all = matrix_of(ranks - 1, i);
    int one = 1;

    while (--ranks > 0) {
        struct matrix before = matrix_of(ranks - 1, i);

        multiply(&before, &all, &one, NULL);
    }
    return all;
}

static void in_order(int count)
{
    struct matrix *one = allocate((size_t)count * sizeof(*one)),
                  *all = allocate((size_t)count * sizeof(*all)), wanted;
    MPI_Datatype type;
    MPI_Op op;
    int i;

    MPI_Type_contiguous(4, MPI_UNSIGNED, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    for (i = 0; i < count; i++)
        one[i] = matrix_of(rank, i);
    MPI_Allreduce(one, all, count, type, op, MPI_COMM_WORLD);
    for (i = 0; i < count; i++) {
        wanted = product_of(size, i);
        CHECK(memcmp(&all[i], &wanted, sizeof(wanted)) == 0, "Allreduce in order: %d is wrong", i);
    }
    MPI_Scan(one, all, count, type, op, MPI_COMM_WORLD);
    for (i = 0; i < count; i++) {
        wanted = product_of(rank + 1, i);
        CHECK(memcmp(&all[i], &wanted, sizeof(wanted)) == 0, "Scan in order: %d is wrong", i);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    free(one);
    free(all);
}

/* Several that do not block, at once, on parts of the ranks, too. */
static void at_once(void)
{
    enum { COUNT = 5000, TIMES = 8 };
    int *one = allocate(COUNT * TIMES * sizeof(int)), *all = allocate(COUNT * TIMES * sizeof(int));
    MPI_Request requests[2 * TIMES];
    MPI_Comm half;
    int i, t, sum, ranks, own;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_size(half, &ranks);
    MPI_Comm_rank(half, &own);
    CHECK(own == ranks - 1 - rank / 2, "rank %d of its half is %d", rank, own);
    for (t = 0; t < TIMES; t++) {
        for (i = 0; i < COUNT; i++)
            one[t * COUNT + i] = value_of(rank, 200 + t, i);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[2 * t]);
        MPI_Iallreduce(one + (size_t)t * COUNT, all + (size_t)t * COUNT, COUNT, MPI_INT, MPI_SUM,
                       half, &requests[2 * t + 1]);
    }
    MPI_Waitall(2 * TIMES, requests, MPI_STATUSES_IGNORE);
    for (t = 0; t < TIMES; t++) {
        for (i = 0; i < COUNT; i++) {
            int r;

            for (r = rank % 2, sum = 0; r < size; r += 2)
                sum += value_of(r, 200 + t, i);
            CHECK(all[t * COUNT + i] == sum, "Iallreduce %d of a half: %d is %d, not %d", t, i,
                  all[t * COUNT + i], sum);
        }
    }
    MPI_Comm_free(&half);
    free(one);
    free(all);
}

/* Of all processes of this machine, unlike MPI_Wtime. */
static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Nobody leaves before the last has come. */
static void barriers(void)
{
    int i, late;
    double came, last;

    for (i = 0; i < 100; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (late = 0; late < size; late++) {
        MPI_Barrier(MPI_COMM_WORLD);
        came = seconds();
        while (rank == late && seconds() < came + 0.002)
            continue;
        came = seconds();
        MPI_Barrier(MPI_COMM_WORLD);
        last = seconds();
        MPI_Allreduce(MPI_IN_PLACE, &came, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        CHECK(last >= came, "rank %d left a barrier before rank %d came", rank, late);
    }
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 5, 300, 7000};
    size_t c;
    int kind;

    begin(&argc, &argv);
    barriers();
    for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        for (kind = 0; kind < KINDS; kind++) {
            rooted(kind, counts[c], (int)(c + (size_t)kind) % size);
            symmetric(kind, counts[c]);
            uneven(kind, counts[c], (int)(c + (size_t)kind + 1) % size);
        }
    }
    rooted(1, 1 << 20, size - 1);
    symmetric(4, 100000);
    in_order(1);
    in_order(2000);
    at_once();
    return end("collectives");
}
