/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The communication of a stencil code: ranks form a three-dimensional torus and in each step put a
 * face of their block into each of six neighbours, compute, and wait for the six faces that the
 * neighbours put. A flag behind each face (PUT with sync flag) tells that it is complete; faces
 * alternate between two buffers, because a neighbour may be one step ahead.
 */
#include "common.h"

#define FACES 6u

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "2KiB", "8", "1MiB", NULL, "size of a face"},
    {"steps", ARG_COUNT, "100", "1", "1000000000", NULL, "exchanges"},
    {"compute", ARG_TIME, "0", "0", "1s", NULL, "time that a rank computes in each step"},
    {"give_up", ARG_TIME, "30s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct halo {
    struct domain domain;
    uint64_t bytes, stride, compute;
    uint32_t side[3],
        neighbour[FACES]; /* face 2d is towards lower coordinates, 2d+1 towards higher */
    uint8_t *faces; /* two steps × six faces, each with its flag behind it */
    uint8_t *out;
    struct region mine, out_region;
    const struct region *regions; /* by rank */
    struct operation operations[FACES];
};

/* The most cubic box with so many ranks. */
static void shape(uint32_t size, uint32_t side[3])
{
    uint32_t a, b, best = UINT32_MAX;

    for (a = 1; a <= size / a; a++) {
        for (b = a; size % a == 0 && b <= size / a / b; b++) {
            if (size / a % b == 0 && size / a / b - a < best) {
                best = size / a / b - a;
                side[0] = size / a / b;
                side[1] = b;
                side[2] = a;
            }
        }
    }
}

static void find_neighbours(struct halo *halo)
{
    uint32_t at[3], d, scale = 1, id = halo->domain.id;

    shape(halo->domain.size, halo->side);
    at[0] = id % halo->side[0];
    at[1] = id / halo->side[0] % halo->side[1];
    at[2] = id / halo->side[0] / halo->side[1];
    for (d = 0; d < 3; d++) {
        uint32_t lower = (at[d] + halo->side[d] - 1) % halo->side[d];
        uint32_t higher = (at[d] + 1) % halo->side[d];

        halo->neighbour[2 * d] = id - at[d] * scale + lower * scale;
        halo->neighbour[2 * d + 1] = id - at[d] * scale + higher * scale;
        scale *= halo->side[d];
    }
}

static uint64_t seed_of(uint32_t rank, uint64_t step, uint32_t face)
{
    return (step * 0x10001 + rank) * FACES + face;
}

/* Where a face lies in the memory of its receiver. */
static uint64_t place(const struct halo *halo, uint64_t step, uint32_t face)
{
    return ((step & 1) * FACES + face) * halo->stride;
}

/* Our face is, seen from the neighbour, the opposite one. */
static int put_face(struct halo *halo, uint64_t step, uint32_t face)
{
    struct operation *operation = &halo->operations[face];
    const struct region *target = &halo->regions[halo->neighbour[face]];
    uint64_t at = place(halo, step, face ^ 1);
    gni_post_descriptor_t *desc = &operation->desc;

    pattern_fill(halo->out + face * halo->stride, halo->bytes,
                 seed_of(halo->domain.id, step, face));
    memset(operation, 0, sizeof(*operation));
    operation->ep = domain_ep(&halo->domain, halo->neighbour[face]);
    desc->type = GNI_POST_FMA_PUT_W_SYNCFLAG;
    desc->local_addr = halo->out_region.address + face * halo->stride;
    desc->local_mem_hndl = halo->out_region.handle;
    desc->remote_addr = target->address + at;
    desc->remote_mem_hndl = target->handle;
    desc->length = halo->bytes;
    desc->sync_flag_addr = target->address + at + halo->stride - 8;
    desc->sync_flag_value = step;
    return operation->ep != NULL ? operation_post(&halo->domain, operation) : -1;
}

/* 0: it is there and right; 1: it does not come; -1: wrong. */
static int await_face(struct halo *halo, uint64_t step, uint32_t face)
{
    uint8_t *at = halo->faces + place(halo, step, face);
    volatile uint64_t *flag = (volatile uint64_t *)(void *)(at + halo->stride - 8);

    while (*flag != step) {
        operation_poll(&halo->domain); /* what failed is repeated meanwhile */
        if (*flag != step && domain_gave_up(&halo->domain))
            return 1;
    }
    halo->domain.heard++;
    if (pattern_differs(at, halo->bytes, seed_of(halo->neighbour[face], step, face ^ 1)))
        return rank_fail(halo->domain.rank, "step %llu: the face of rank %u is wrong",
                         (unsigned long long)step, halo->neighbour[face]);
    return 0;
}

static int exchange(struct halo *halo, uint64_t step)
{
    uint32_t face;
    int status = 0;

    for (face = 0; face < FACES && status == 0; face++)
        status = put_face(halo, step, face);
    rank_compute(halo->compute);
    for (face = 0; face < FACES && status == 0; face++)
        status = await_face(halo, step, face);
    while (status == 0 && halo->domain.in_flight != 0) { /* our faces may be overwritten then */
        if (operation_poll(&halo->domain) == NULL && halo->domain.in_flight != 0 &&
            domain_gave_up(&halo->domain))
            status = 1;
    }
    while (halo->domain.done != NULL)
        operation_poll(&halo->domain);
    return status;
}

static int run(struct rank *rank)
{
    struct halo halo = {
        .bytes = rank_arg_count(rank, "bytes"),
        .compute = rank_arg_ps(rank, "compute"),
    };
    uint64_t steps = rank_arg_count(rank, "steps"), step, began;
    int status = domain_open(&halo.domain, rank, 64, 0);

    domain_patience(&halo.domain, rank_arg_ps(rank, "give_up"));
    halo.stride = (halo.bytes + 8 + 63) / 64 * 64;
    find_neighbours(&halo);
    if (status == 0) {
        halo.faces = region_alloc(&halo.domain, 2 * FACES * halo.stride, 0, &halo.mine);
        halo.out = region_alloc(&halo.domain, FACES * halo.stride, 0, &halo.out_region);
        halo.regions = rank_exchange(rank, &halo.mine, sizeof(halo.mine));
        status = halo.faces != NULL && halo.out != NULL && halo.regions != NULL ? 0 : -1;
    }
    for (step = 1; step <= steps && status == 0; step++) {
        began = rank_now();
        status = exchange(&halo, step);
        rank_record_latency(rank, "step", rank_now() - began);
        rank_progress(rank);
    }
    if (domain_finish(&halo.domain, status > 0) != 0)
        status = -1;
    region_free(&halo.domain, halo.faces, &halo.mine);
    region_free(&halo.domain, halo.out, &halo.out_region);
    domain_close(&halo.domain);
    return status < 0;
}

static const struct workload halo3d = {
    .name = "halo3d",
    .meaning = "ranks in a torus put faces to six neighbours in each step",
    .metrics = "step (ps)",
    .args = args,
    .main = run,
};
WORKLOAD(halo3d)
