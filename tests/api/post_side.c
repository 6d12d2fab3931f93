/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "post_side.h"

uint8_t memory[MACHINE_RANKS][BYTES] __attribute__((aligned(4096)));

void open_as(struct rank *rank, struct side *side, uint32_t modes)
{
    memset(memory[rank->id], 0, BYTES);
    side_open(rank, side, memory[rank->id], BYTES, modes);
}

void open_side(struct rank *rank, struct side *side)
{
    open_as(rank, side, 0);
}

void post_and_complete(const struct side *side, gni_post_descriptor_t *descr)
{
    assert_ok(post(side->ep, descr));
    complete(side->domain.source, descr);
}

uint8_t pattern(uint32_t seed, uint32_t at)
{
    return (uint8_t)(sim_mix((uint64_t)seed << 32 | at) | 1);
}

void expect_refused(const struct side *side, gni_post_type_t type, uint64_t local, uint64_t remote,
                    uint64_t bytes, gni_return_t expected)
{
    gni_post_descriptor_t descr = side_describe(side, type, local, remote, bytes);

    assert_rc(post(side->ep, &descr), expected);
}
