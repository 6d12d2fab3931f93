/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Barriers of Open MPI's ranks over gni (pmrun --fabric --ompi) and over Open MPI's own shared
 * memory (its mpirun), in turn. With more ranks than processors they show how well waiting ranks
 * yield to working ones. The ranks run this program with the argument `rank`; pmrun is in the same
 * folder.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <unistd.h>

#include "bench.h"

#define ROUNDS 5u
#define BARRIERS 5000
#define PATH_BYTES 4096

static int rank_main(int argc, char **argv)
{
    double started = 0;
    int rank, i;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (i = -BARRIERS / 10; i < BARRIERS; i++) {
        if (i == 0)
            started = MPI_Wtime();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.9f\n", (MPI_Wtime() - started) / BARRIERS);
    return MPI_Finalize();
}

/* The time of a barrier, in microseconds. */
static double launch(const char *launcher, const char *self, unsigned ranks)
{
    char command[2 * PATH_BYTES + 128];
    double seconds = 0;
    FILE *output;
    int found;

    snprintf(command, sizeof(command), "%s -n %u '%s' rank", launcher, ranks, self);
    output = popen(command, "r");
    found = output != NULL ? fscanf(output, "%lf", &seconds) : 0;
    if (output == NULL || pclose(output) != 0 || found != 1) {
        fprintf(stderr, "bench-mpi: failed: %s\n", command);
        exit(1);
    }
    return seconds * 1e6;
}

static void barriers(struct bench *bench, const char *pmrun, const char *self, unsigned ranks)
{
    double gni[ROUNDS], shared[ROUNDS];
    char name[64];
    unsigned i;

    for (i = 0; i < ROUNDS; i++) {
        gni[i] = launch(pmrun, self, ranks);
        shared[i] = launch("mpirun.openmpi --allow-run-as-root --oversubscribe", self, ranks);
    }
    snprintf(name, sizeof(name), "barrier of %u ranks, gni and shared memory", ranks);
    bench_row(bench, name, bench_median(gni, ROUNDS), "us", bench_median(shared, ROUNDS));
}

int main(int argc, char **argv)
{
    char self[PATH_BYTES] = "", pmrun[PATH_BYTES + 64];
    struct bench bench;

    if (argc > 1 && strcmp(argv[1], "rank") == 0)
        return rank_main(argc, argv);
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
        return 1;
    snprintf(pmrun, sizeof(pmrun), "'%.*s/pmrun' --fabric --fabric-report none --ompi",
             (int)(strrchr(self, '/') - self), self);
    bench_begin(&bench, "mpi", argc, argv);
    barriers(&bench, pmrun, self, 2);
    barriers(&bench, pmrun, self, 8);
    bench_calibrate(&bench);
    bench_end(&bench);
    return 0;
}
