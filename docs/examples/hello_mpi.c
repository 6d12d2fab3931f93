/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d: the sum is %d\n", rank, sum);
    MPI_Finalize();
    return 0;
}
