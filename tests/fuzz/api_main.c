/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs sequences without libFuzzer. `fuzz_api_fixed [--seeds N] [--first N] [FILE or FOLDER]...`
 * runs the files, and N sequences that it makes from seeds. Each sequence runs twice and must give
 * the same digest.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api.h"
#include "engine/random.h"

static void twice(const char *name, const uint8_t *bytes, size_t length)
{
    uint64_t digest;

    if (getenv("API_FUZZ_TRACE") != NULL)
        fprintf(stderr, "%s\n", name);
    digest = world_run(bytes, length);
    if (world_run(bytes, length) != digest)
        die("%s: another digest the second time", name);
}

static void run_seed(uint64_t seed)
{
    uint8_t bytes[HEAD_BYTES + 200 * RECORD_BYTES];
    struct sim_random random;
    size_t i, length;
    char name[32];

    sim_random_init(&random, seed, "api_fuzz", 0);
    for (i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)sim_random_next(&random);
    /* Only some sequences have faults, because after a fault most calls fail. */
    for (i = 3; i < 9; i++)
        if (bytes[i] & 0xc0)
            bytes[i] = 0;
    bytes[14] = seed % 3 == 0 ? SERVICES : 0;
    bytes[1] |= seed % 4 != 0 ? 0x0f : 0;
    bytes[1] &= seed % 5 == 0 ? 0xff : 0x7f;
    length = HEAD_BYTES + (1 + sim_random_next(&random) % 200) * RECORD_BYTES;
    snprintf(name, sizeof(name), "seed %llu", (unsigned long long)seed);
    twice(name, bytes, length);
}

static void run_file(const char *name)
{
    static uint8_t bytes[HEAD_BYTES + RECORDS_MAX * RECORD_BYTES];
    FILE *file = fopen(name, "rb");
    size_t length;

    if (file == NULL)
        die("%s cannot be read", name);
    length = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    twice(name, bytes, length);
}

static void run_path(const char *path)
{
    struct dirent **entries;
    int i, count = scandir(path, &entries, NULL, alphasort);
    char name[1024];

    if (count < 0) {
        run_file(path);
        return;
    }
    for (i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            run_file(name);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    uint64_t first = 1, seeds = 0, seed;
    int i;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
            seeds = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--first") == 0 && i + 1 < argc)
            first = strtoull(argv[++i], NULL, 0);
        else
            run_path(argv[i]);
    }
    for (seed = first; seed < first + seeds; seed++)
        run_seed(seed);
    return 0;
}
