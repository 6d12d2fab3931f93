/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Our libpmi.so.0 under a manager that speaks PMI-2: `rank N: on NODE with RANKS`, or what went
 * wrong. */
#include <pmi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;

#define CHECK(condition)                                                  \
    do {                                                                  \
        if (!(condition)) {                                               \
            printf("rank %d: line %d: %s\n", rank, __LINE__, #condition); \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

/* Open MPI pads values with spaces and ends them with a hyphen. */
static void exchange(int size)
{
    char name[256], key[64], value[1024], back[1024];
    int length, i;

    CHECK(PMI_KVS_Get_name_length_max(&length) == 0 && length <= (int)sizeof(name));
    CHECK(PMI_KVS_Get_my_name(name, length) == 0);
    CHECK(PMI_KVS_Get(name, "nowhere", back, sizeof(back)) != 0);
    snprintf(key, sizeof(key), "modex-%d", rank);
    snprintf(value, sizeof(value), "AAEC%d   -", rank);
    CHECK(PMI_KVS_Put(name, key, value) == 0 && PMI_KVS_Commit(name) == 0 && PMI_Barrier() == 0);
    for (i = 0; i < size; i++) {
        snprintf(key, sizeof(key), "modex-%d", i);
        snprintf(value, sizeof(value), "AAEC%d   -", i);
        CHECK(PMI_KVS_Get(name, key, back, sizeof(back)) == 0 && strcmp(back, value) == 0);
    }
}

/* More than fits into one value, across the nodes; the parts come in any order. */
static void gather(int size)
{
    int mine[300], i, sum = 0, *all = calloc((size_t)size, sizeof(mine));

    CHECK(all != NULL);
    for (i = 0; i < 300; i++)
        mine[i] = rank * 1000 + i;
    CHECK(PMI_Allgather(mine, all, sizeof(mine)) == 0);
    for (i = 0; i < size; i++) {
        CHECK(all[i * 300 + 299] - all[i * 300] == 299 && all[i * 300] % 1000 == 0);
        sum += all[i * 300] / 1000;
    }
    CHECK(sum == size * (size - 1) / 2);
    free(all);
}

int main(void)
{
    int spawned, size, universe, clique, ranks[64], i;

    CHECK(PMI_Init(&spawned) == 0 && !spawned);
    CHECK(PMI_Get_rank(&rank) == 0 && PMI_Get_size(&size) == 0);
    CHECK(PMI_Get_universe_size(&universe) == 0 && universe == size);
    exchange(size);
    gather(size);
    CHECK(PMI_Get_clique_size(&clique) == 0 && clique <= 64);
    CHECK(PMI_Get_clique_ranks(ranks, clique) == 0);
    CHECK(PMI_Finalize() == 0);
    printf("rank %d: on %s with", rank, getenv("SLURMD_NODENAME"));
    for (i = 0; i < clique; i++)
        printf(" %d", ranks[i]);
    printf("\n");
    return 0;
}
