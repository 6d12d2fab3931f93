/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The same without libFuzzer: lnet_api_main COUNT [FILE...] runs the files, and COUNT inputs of
 * random bytes of fixed seeds. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/random.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static uint8_t bytes[16384];

static int replay(const char *name)
{
    FILE *file = fopen(name, "rb");
    size_t length;

    if (file == NULL) {
        perror(name);
        return 1;
    }
    length = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, length);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 100, seed;
    struct sim_random random;
    size_t length, i;
    int failed = 0, file;

    for (file = 2; file < argc; file++)
        failed |= replay(argv[file]);
    for (seed = 1; seed <= count; seed++) {
        sim_random_init(&random, seed, "lnet_api", 0);
        length = 1 + sim_random_below(&random, sizeof(bytes));
        for (i = 0; i < length; i++)
            bytes[i] = (uint8_t)sim_random_next(&random);
        LLVMFuzzerTestOneInput(bytes, length);
    }
    printf("%d files, %llu inputs\n", argc > 2 ? argc - 2 : 0, (unsigned long long)count);
    return failed;
}
