/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The communication of a stencil code over libfabric: ranks form a three-dimensional torus; in each
 * step every rank posts receives for its six faces, computes, sends its own, and goes on when all
 * have come and gone. A neighbour may be one step ahead: the tag names step and face.
 */
#include "support/fi.h"

#define FACES 6u /* 2d: towards lower coordinates, 2d + 1: towards higher */

static const struct workload_arg args[] = {
    WL_FI_ARGS,
    {"bytes", ARG_BYTES, "2KiB", "1", "16MiB", NULL, "size of a face"},
    {"steps", ARG_COUNT, "100", "1", "100000000", NULL, "exchanges"},
    {"compute", ARG_TIME, "0", "0", "1s", NULL, "time that a rank computes in each step"},
    {NULL},
};

struct face {
    uint32_t neighbour; /* UINT32_MAX: the torus is one rank wide here */
    uint8_t *in, *out;
};

struct halo {
    struct wl_fi fi;
    size_t bytes;
    uint64_t steps, compute;
    struct face faces[FACES];
    uint64_t open, received; /* open: operations that have not ended */
};

/* The most cubic box with so many ranks. */
static void shape(uint32_t size, uint32_t grid[3])
{
    uint32_t a, b, best = UINT32_MAX;

    for (a = 1; a <= size / a; a++) {
        for (b = a; size % a == 0 && b <= size / a / b; b++) {
            if (size / a % b == 0 && size / a / b - a < best) {
                best = size / a / b - a;
                grid[0] = size / a / b;
                grid[1] = b;
                grid[2] = a;
            }
        }
    }
}

static void find_neighbours(struct halo *halo)
{
    uint32_t grid[3] = {1, 1, 1}, d, scale = 1, id = halo->fi.id;

    shape(halo->fi.size, grid);
    for (d = 0; d < 3; d++) {
        uint32_t at = id / scale % grid[d], base = id - at * scale;

        halo->faces[2 * d].neighbour = base + (at + grid[d] - 1) % grid[d] * scale;
        halo->faces[2 * d + 1].neighbour = base + (at + 1) % grid[d] * scale;
        if (grid[d] == 1)
            halo->faces[2 * d].neighbour = halo->faces[2 * d + 1].neighbour = UINT32_MAX;
        scale *= grid[d];
    }
}

static uint64_t neighbours(const struct halo *halo)
{
    uint64_t count = 0;
    uint32_t f;

    for (f = 0; f < FACES; f++)
        count += halo->faces[f].neighbour != UINT32_MAX;
    return count;
}

/* What a rank sends through face f arrives at the face across. */
static uint64_t tag_of(uint64_t step, uint32_t face)
{
    return step * FACES + face;
}

static int transfer(struct halo *halo, uint64_t step, uint32_t f, bool send)
{
    struct face *face = &halo->faces[f];
    fi_addr_t peer;

    if (face->neighbour == UINT32_MAX)
        return 0;
    peer = wl_fi_address(&halo->fi, face->neighbour);
    if (peer == FI_ADDR_NOTAVAIL) {
        halo->fi.lost++;
        return 0;
    }
    halo->open++;
    if (!send)
        return wl_fi_post(&halo->fi, fi_trecv(halo->fi.ep, face->in, halo->bytes, NULL, peer,
                                              tag_of(step, f), 0, face));
    wl_pattern_fill(face->out, halo->bytes,
                    wl_fi_seed(halo->fi.id, face->neighbour, tag_of(step, f ^ 1)));
    return wl_fi_post(&halo->fi, fi_tsend(halo->fi.ep, face->out, halo->bytes, NULL, peer,
                                          tag_of(step, f ^ 1), halo));
}

static int take(struct halo *halo, const struct wl_fi_event *event, uint64_t step)
{
    const struct face *face = event->entry.op_context;
    uint64_t tag;

    halo->open--;
    if (event->error != 0 || event->entry.op_context == halo)
        return 0;
    tag = tag_of(step, (uint32_t)(face - halo->faces));
    if (event->entry.tag != tag || event->entry.len != halo->bytes ||
        wl_pattern_differs(face->in, halo->bytes, wl_fi_seed(face->neighbour, halo->fi.id, tag)))
        return rank_fail(halo->fi.rank, "the face of rank %u in step %llu is wrong",
                         face->neighbour, (unsigned long long)step);
    halo->received++;
    return 0;
}

static int exchange(struct halo *halo, uint64_t step)
{
    struct wl_fi_event event;
    uint64_t began = rank_now();
    uint32_t f;
    int status = 0;

    for (f = 0; f < FACES && status == 0; f++)
        status = transfer(halo, step, f, false);
    rank_compute(halo->compute);
    for (f = 0; f < FACES && status == 0; f++)
        status = transfer(halo, step, f, true);
    while (halo->open > 0 && status == 0) {
        if (!wl_fi_wait(&halo->fi, &event))
            return -1;
        status = take(halo, &event, step);
    }
    rank_record_latency(halo->fi.rank, "step", rank_now() - began);
    rank_progress(halo->fi.rank);
    return status;
}

static int run(struct rank *rank)
{
    struct halo halo = {.bytes = rank_arg_count(rank, "bytes"),
                        .steps = rank_arg_count(rank, "steps"),
                        .compute = rank_arg_ps(rank, "compute")};
    int status = wl_fi_open(&halo.fi, rank, FI_TAGGED | FI_DIRECTED_RECV, 64);
    uint8_t *memory = wl_fi_buffer(2 * FACES * halo.bytes);
    uint64_t step;
    uint32_t f;

    for (f = 0; f < FACES; f++) {
        halo.faces[f].in = memory + 2 * f * halo.bytes;
        halo.faces[f].out = halo.faces[f].in + halo.bytes;
    }
    find_neighbours(&halo);
    if (status == 0) {
        for (step = 0; step < halo.steps && exchange(&halo, step) == 0; step++)
            ;
        status = wl_fi_finish(&halo.fi, halo.steps * neighbours(&halo) - halo.received);
    }
    wl_fi_close(&halo.fi);
    free(memory);
    return status != 0;
}

static const struct workload fi_halo = {
    .name = "fi_halo",
    .meaning = "libfabric: neighbours in a 3D torus exchange faces",
    .metrics = "step (ps)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(fi_halo)
