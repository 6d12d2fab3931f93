/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Heat on a plate: Jacobi's five-point stencil on a grid of processes, halos exchanged at each
 * step. The result, and the largest change of each step, are those of the serial program in every
 * bit: heat [POINTS [STEPS]].
 */
#include "check.h"

struct tile { /* what a process has, with a rim of one point */
    int rows, columns, top, left; /* its first point in the plate */
    double *now, *next;
};

static double *at(double *field, const struct tile *tile, int row, int column)
{
    return &field[(size_t)row * (size_t)(tile->columns + 2) + (size_t)column];
}

/* Temperature at the beginning; rims stay as they are. */
static double initial(int points, int row, int column)
{
    if (row < 0 || column < 0 || row >= points || column >= points)
        return row < 0 ? 100.0 : column < 0 ? 75.0 : 0.0;
    return (double)(mix((uint64_t)row * 65537u + (uint64_t)column) % 1000003u) / 10007.0;
}

static void tile_init(struct tile *tile, int points)
{
    size_t bytes = (size_t)(tile->rows + 2) * (size_t)(tile->columns + 2) * sizeof(double);
    int row, column;

    tile->now = allocate(bytes);
    tile->next = allocate(bytes);
    for (row = 0; row < tile->rows + 2; row++)
        for (column = 0; column < tile->columns + 2; column++)
            *at(tile->now, tile, row, column) = *at(tile->next, tile, row, column) =
                initial(points, tile->top + row - 1, tile->left + column - 1);
}

static double step(struct tile *tile)
{
    double change = 0, *swap;
    int row, column;

    for (row = 1; row <= tile->rows; row++) {
        for (column = 1; column <= tile->columns; column++) {
            double old = *at(tile->now, tile, row, column);
            double sum =
                *at(tile->now, tile, row - 1, column) + *at(tile->now, tile, row + 1, column) +
                *at(tile->now, tile, row, column - 1) + *at(tile->now, tile, row, column + 1);
            double new = old + 0.2 * (sum - 4.0 * old);
            double by = new > old ? new - old : old - new;

            *at(tile->next, tile, row, column) = new;
            change = by > change ? by : change;
        }
    }
    swap = tile->now;
    tile->now = tile->next;
    tile->next = swap;
    return change;
}

static void exchange(struct tile *tile, MPI_Comm grid, MPI_Datatype columns)
{
    int up, down, left, right;
    MPI_Request requests[8];

    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);
    MPI_Irecv(at(tile->now, tile, 0, 1), tile->columns, MPI_DOUBLE, up, 0, grid, &requests[0]);
    MPI_Irecv(at(tile->now, tile, tile->rows + 1, 1), tile->columns, MPI_DOUBLE, down, 1, grid,
              &requests[1]);
    MPI_Irecv(at(tile->now, tile, 1, 0), 1, columns, left, 2, grid, &requests[2]);
    MPI_Irecv(at(tile->now, tile, 1, tile->columns + 1), 1, columns, right, 3, grid, &requests[3]);
    MPI_Isend(at(tile->now, tile, tile->rows, 1), tile->columns, MPI_DOUBLE, down, 0, grid,
              &requests[4]);
    MPI_Isend(at(tile->now, tile, 1, 1), tile->columns, MPI_DOUBLE, up, 1, grid, &requests[5]);
    MPI_Isend(at(tile->now, tile, 1, tile->columns), 1, columns, right, 2, grid, &requests[6]);
    MPI_Isend(at(tile->now, tile, 1, 1), 1, columns, left, 3, grid, &requests[7]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

/* Points [begin, end) of part `part` of `parts`. */
static int begin_of(int points, int part, int parts)
{
    return (int)((long)points * part / parts);
}

/* Each tile without its rim, to rank 0, which compares it with the same place of the plate. */
static void compare(struct tile *tile, struct tile *plate, MPI_Comm grid, const int *shape,
                    int points)
{
    int from, row, column, place[2];

    if (rank != 0) {
        for (row = 1; row <= tile->rows; row++)
            MPI_Send(at(tile->now, tile, row, 1), tile->columns, MPI_DOUBLE, 0, 9, grid);
        return;
    }
    for (from = 0; from < size; from++) {
        int top, bottom, left, right;
        double *line = allocate((size_t)points * sizeof(double));

        MPI_Cart_coords(grid, from, 2, place);
        top = begin_of(points, place[0], shape[0]);
        bottom = begin_of(points, place[0] + 1, shape[0]);
        left = begin_of(points, place[1], shape[1]);
        right = begin_of(points, place[1] + 1, shape[1]);
        for (row = top; row < bottom; row++) {
            if (from == 0)
                memcpy(line, at(tile->now, tile, row - top + 1, 1),
                       (size_t)tile->columns * sizeof(double));
            else
                MPI_Recv(line, right - left, MPI_DOUBLE, from, 9, grid, MPI_STATUS_IGNORE);
            for (column = left; column < right; column++)
                CHECK(memcmp(&line[column - left], at(plate->now, plate, row + 1, column + 1),
                             sizeof(double)) == 0,
                      "point %d, %d of rank %d is %a, serial %a", row, column, from,
                      line[column - left], *at(plate->now, plate, row + 1, column + 1));
        }
        free(line);
    }
}

int main(int argc, char **argv)
{
    int shape[2] = {0, 0}, periods[2] = {0, 0}, place[2], points, steps, i;
    struct tile tile, plate;
    MPI_Datatype columns;
    MPI_Comm grid;
    double change, largest;

    begin(&argc, &argv);
    points = argc > 1 ? atoi(argv[1]) : 240;
    steps = argc > 2 ? atoi(argv[2]) : 200;
    CHECK(points >= size && steps > 0, "usage: heat [POINTS [STEPS]], a point per rank at least");
    MPI_Dims_create(size, 2, shape);
    MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periods, 0, &grid);
    MPI_Cart_coords(grid, rank, 2, place);
    tile.top = begin_of(points, place[0], shape[0]);
    tile.rows = begin_of(points, place[0] + 1, shape[0]) - tile.top;
    tile.left = begin_of(points, place[1], shape[1]);
    tile.columns = begin_of(points, place[1] + 1, shape[1]) - tile.left;
    tile_init(&tile, points);
    plate = (struct tile){.rows = points, .columns = points};
    tile_init(&plate, points);
    MPI_Type_vector(tile.rows, 1, tile.columns + 2, MPI_DOUBLE, &columns);
    MPI_Type_commit(&columns);

    for (i = 0; i < steps; i++) {
        exchange(&tile, grid, columns);
        change = step(&tile);
        MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, grid);
        if (rank != 0)
            continue;
        largest = step(&plate);
        CHECK(memcmp(&change, &largest, sizeof(change)) == 0, "step %d changes by %a, serial by %a",
              i, change, largest);
    }
    compare(&tile, &plate, grid, shape, points);
    MPI_Type_free(&columns);
    MPI_Comm_free(&grid);
    free(tile.now);
    free(tile.next);
    free(plate.now);
    free(plate.next);
    return end("heat");
}
