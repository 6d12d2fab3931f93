/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The digests of the lines of the picture: nodes and routers. The points of a line are digested in
 * their order. The sum of the lines does not depend on an order, so that two processes that share a
 * simulation can add theirs.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/digest.h"
#include "engine/outside.h"
#include "engine/random.h"
#include "engine/sim.h"

#define LINES_MAX (1u << 23)

/* Nobody else has the memory: sim_core.digests points to it. */
static uint64_t *lines;
static uint32_t capacity;

uint64_t *sim_digest_line(uint32_t line)
{
    uint32_t wanted = capacity < 64 ? 64 : capacity;

    if (line >= LINES_MAX) /* no machine has so many: they share one */
        line = 0;
    sim_outside_begin();
    while (wanted <= line)
        wanted *= 2;
    if (wanted > capacity) {
        lines = reallocarray(lines, wanted, sizeof *lines);
        if (lines == NULL)
            abort();
        memset(lines + capacity, 0, (wanted - capacity) * sizeof *lines);
        capacity = wanted;
    }
    sim_core.digests = lines;
    sim_core.digest_lines = capacity;
    sim_outside_end();
    return &lines[line];
}

uint64_t sim_digest(void)
{
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; i < sim_core.digest_lines; i++)
        if (lines[i] != 0)
            sum += sim_mix(lines[i] ^ sim_mix(i + 1));
    return sum;
}

void sim_digest_reset(void)
{
    free(lines);
    lines = NULL;
    capacity = 0;
    sim_core.digests = NULL;
    sim_core.digest_lines = 0;
}

uint64_t sim_digest_name(const char *name)
{
    uint64_t hash = SIM_DIGEST_NAME_SEED;

    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * SIM_DIGEST_NAME_PRIME;
    return hash;
}
