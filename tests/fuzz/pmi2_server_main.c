/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs the server without libFuzzer: worlds of fixed seeds, and mutated transcripts of one client.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pmi2_server_world.h"
#include "pmi2_transcripts.h"

static void run_world(void)
{
    uint8_t bytes[1500];
    size_t length = 20 + below(sizeof(bytes) - 20), i;

    for (i = 0; i < length; i++)
        bytes[i] = (uint8_t)below(256);
    pmi2_world_run(bytes, length);
}

static void run_client(void)
{
    uint8_t bytes[4096];

    bytes[0] = (uint8_t)below(256);
    bytes[1] = (uint8_t)below(256);
    pmi2_client_run(bytes, changed_transcripts(bytes, 2));
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
             count = argc > 1 ? strtoull(argv[1], NULL, 10) : 500, seed;

    for (seed = first; seed < first + count; seed++) {
        if (getenv("PMI_FUZZ_TRACE") != NULL)
            fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
        start_seed(seed);
        if (seed % 2 == 0)
            run_world();
        else
            run_client();
    }
    return 0;
}
