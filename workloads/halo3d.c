/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The communication of a stencil code: ranks form a three-dimensional torus; in each step every
 * rank computes, puts its six faces into the memory of its neighbours, and goes on when it has
 * theirs. Events at the target identify the face and the step, so there is no other
 * synchronisation. Faces of odd and even steps lie in different places: a neighbour may be one step
 * ahead.
 */
#include "support/gni.h"

#define FACES 6u /* 2d: towards lower coordinates, 2d + 1: towards higher */
#define PAUSE_FIRST (1000 * 1000ull)

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "2KiB", "1", "16MiB", NULL, "size of a face"},
    {"steps", ARG_COUNT, "100", "1", "100000000", NULL, "exchanges"},
    {"compute", ARG_TIME, "0", "0", "1s", NULL, "time that a rank computes in each step"},
    {"unit", ARG_CHOICE, "auto", NULL, NULL, "auto|fma|bte",
     "unit of the NIC; auto: BTE from 4 KiB"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL, "time of software above uGNI, per transfer"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct face {
    struct wl_operation operation; /* first; of what we send there */
    gni_ep_handle_t ep; /* its own: the event data differs between faces */
    uint32_t neighbour; /* UINT32_MAX: the torus is one rank wide here */
    bool gone; /* that rank is */
    uint64_t arrived; /* last step whose face is here */
};

struct halo {
    struct wl_domain domain;
    gni_post_type_t type;
    uint64_t bytes, steps, compute, software;
    uint8_t *in, *out; /* 2 × FACES; FACES */
    struct wl_region in_region, out_region;
    const struct wl_region *regions; /* by rank */
    struct face faces[FACES];
    bool overran; /* events were lost: the memory must be checked */
    uint64_t missing;
};

/* ---- the torus ------------------------------------------------------------------------------- */

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
    uint32_t side[3] = {1, 1, 1}, d, scale = 1, id = halo->domain.id;

    shape(halo->domain.size, side);
    for (d = 0; d < 3; d++) {
        uint32_t at = id / scale % side[d], base = id - at * scale;

        halo->faces[2 * d].neighbour = base + (at + side[d] - 1) % side[d] * scale;
        halo->faces[2 * d + 1].neighbour = base + (at + 1) % side[d] * scale;
        if (side[d] == 1)
            halo->faces[2 * d].neighbour = halo->faces[2 * d + 1].neighbour = UINT32_MAX;
        scale *= side[d];
    }
}

static bool in_use(const struct face *face)
{
    return face->neighbour != UINT32_MAX && !face->gone;
}

static int open_faces(struct halo *halo)
{
    gni_return_t rc = GNI_RC_SUCCESS;
    uint32_t i;

    find_neighbours(halo);
    for (i = 0; i < FACES && rc == GNI_RC_SUCCESS; i++) {
        struct face *face = &halo->faces[i];

        if (!in_use(face))
            continue;
        rc = GNI_EpCreate(halo->domain.nic, halo->domain.tx, &face->ep);
        if (rc == GNI_RC_SUCCESS)
            rc = GNI_EpBind(face->ep, halo->domain.addresses[face->neighbour], face->neighbour);
    }
    if (rc != GNI_RC_SUCCESS)
        return rank_fail(halo->domain.rank, "no endpoint to a neighbour: %s", wl_rc_name(rc));
    return 0;
}

/* ---- faces ----------------------------------------------------------------------------------- */

static uint64_t seed_of(uint32_t rank, uint32_t face, uint64_t step)
{
    return (step * 0x10001 + rank) * FACES + face;
}

/* Where a face lies in the memory of its receiver. */
static uint64_t place_of(const struct halo *halo, uint32_t face, uint64_t step)
{
    return ((step & 1) * FACES + face) * halo->bytes;
}

/* Our lower face is the neighbour's higher one. The event there has the face and the step. */
static int put_face(struct halo *halo, uint32_t number, uint64_t step)
{
    struct face *face = &halo->faces[number];
    gni_post_descriptor_t *desc = &face->operation.desc;
    const struct wl_region *target = &halo->regions[face->neighbour];
    uint64_t from = number * halo->bytes;

    wl_pattern_fill(halo->out + from, halo->bytes, seed_of(halo->domain.id, number, step));
    GNI_EpSetEventData(face->ep, number, (uint32_t)step << 3 | (number ^ 1));
    memset(&face->operation, 0, sizeof(face->operation));
    face->operation.ep = face->ep;
    desc->type = halo->type;
    desc->cq_mode = GNI_CQMODE_REMOTE_EVENT;
    desc->local_addr = halo->out_region.address + from;
    desc->local_mem_hndl = halo->out_region.handle;
    desc->remote_addr = target->address + place_of(halo, number ^ 1, step);
    desc->remote_mem_hndl = target->handle;
    desc->length = halo->bytes;
    rank_compute(halo->software);
    return wl_operation_post(&halo->domain, &face->operation);
}

static bool is_right(const struct halo *halo, uint32_t number, uint64_t step)
{
    return !wl_pattern_differs(halo->in + place_of(halo, number, step), halo->bytes,
                               seed_of(halo->faces[number].neighbour, number ^ 1, step));
}

static bool is_missing(const struct halo *halo, uint32_t number, uint64_t step)
{
    return in_use(&halo->faces[number]) && halo->faces[number].arrived < step;
}

/* ---- one step -------------------------------------------------------------------------------- */

/* Polls the queue of arrivals once. */
static void poll_arrivals(struct halo *halo)
{
    gni_cq_entry_t event;
    gni_return_t rc = GNI_CqGetEvent(halo->domain.rx, &event);
    uint32_t data = (uint32_t)GNI_CQ_GET_REM_INST_ID(event);
    struct face *face;

    if (rc == GNI_RC_NOT_DONE)
        return;
    halo->overran |= rc == GNI_RC_ERROR_RESOURCE;
    halo->domain.progress_count++;
    if ((data & 7) >= FACES)
        return;
    face = &halo->faces[data & 7];
    if (data >> 3 > face->arrived) /* not the second event of a PUT that was repeated */
        face->arrived = data >> 3;
}

/* Polls the queue of sends once. */
static void poll_departures(struct halo *halo)
{
    struct wl_operation *done = wl_operation_poll(&halo->domain);

    if (done != NULL && done->failed)
        ((struct face *)(void *)done)->gone = true;
}

static bool is_complete(const struct halo *halo, uint64_t step)
{
    uint32_t i;

    for (i = 0; i < FACES; i++)
        if (is_missing(halo, i, step))
            return false;
    return halo->domain.in_flight == 0 && halo->domain.done == NULL;
}

/* When events were lost, only the memory shows what has arrived. The pause grows from pass to pass;
 * reading the clock in each keeps the engine from parking the rank in this loop. */
static void poll_memory(struct halo *halo, uint64_t step, uint64_t *pause)
{
    uint32_t i;

    rank_compute(*pause);
    rank_now();
    *pause *= 2;
    for (i = 0; i < FACES; i++)
        if (is_missing(halo, i, step) && is_right(halo, i, step)) {
            halo->faces[i].arrived = step;
            halo->domain.progress_count++;
        }
}

static void give_up_missing(struct halo *halo, uint64_t step)
{
    uint32_t i;

    for (i = 0; i < FACES; i++)
        if (is_missing(halo, i, step))
            halo->faces[i].gone = true;
}

static int check(struct halo *halo, uint64_t step)
{
    uint32_t i;

    for (i = 0; i < FACES; i++) {
        if (halo->faces[i].neighbour == UINT32_MAX)
            continue;
        if (halo->faces[i].arrived < step)
            halo->missing++;
        else if (!is_right(halo, i, step))
            return rank_fail(halo->domain.rank, "step %llu: the face of rank %u is wrong",
                             (unsigned long long)step, halo->faces[i].neighbour);
    }
    return 0;
}

static int exchange(struct halo *halo, uint64_t step)
{
    uint64_t pause = PAUSE_FIRST;
    uint32_t i;

    for (i = 0; i < FACES; i++)
        if (in_use(&halo->faces[i]) && put_face(halo, i, step) != 0)
            return -1;
    while (!is_complete(halo, step)) {
        poll_departures(halo);
        poll_arrivals(halo);
        if (halo->overran && halo->domain.in_flight == 0 && !is_complete(halo, step))
            poll_memory(halo, step, &pause);
        if (wl_domain_timed_out(&halo->domain)) {
            give_up_missing(halo, step);
            if (halo->domain.in_flight != 0)
                return rank_fail(halo->domain.rank, "PUTs did not end");
        }
    }
    return check(halo, step);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static gni_post_type_t type_of(struct rank *rank, uint64_t bytes)
{
    const char *unit = rank_arg_choice(rank, "unit");

    if (strcmp(unit, "auto") == 0)
        return bytes >= 4096 ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT;
    return strcmp(unit, "bte") == 0 ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT;
}

static int set_up(struct halo *halo)
{
    struct wl_domain *domain = &halo->domain;

    halo->in = wl_region_alloc(domain, 2 * FACES * halo->bytes, 1, &halo->in_region);
    halo->out = wl_region_alloc(domain, FACES * halo->bytes, 0, &halo->out_region);
    halo->regions = rank_exchange(domain->rank, &halo->in_region, sizeof(halo->in_region));
    if (halo->in == NULL || halo->out == NULL || halo->regions == NULL)
        return -1;
    return open_faces(halo);
}

static int run(struct rank *rank)
{
    struct halo halo = {
        .bytes = rank_arg_count(rank, "bytes"),
        .steps = rank_arg_count(rank, "steps"),
        .compute = rank_arg_ps(rank, "compute"),
        .software = rank_arg_ps(rank, "software"),
    };
    int status = wl_domain_open(&halo.domain, rank, 64, 0);
    uint64_t step, began;

    wl_domain_set_timeout(&halo.domain, rank_arg_ps(rank, "give_up"));
    halo.type = type_of(rank, halo.bytes);
    if (status == 0)
        status = set_up(&halo);
    for (step = 1; step <= halo.steps && status == 0; step++) {
        began = rank_now();
        rank_compute(halo.compute);
        status = exchange(&halo, step);
        rank_record_latency(rank, "step", rank_now() - began);
        rank_progress(rank);
    }
    if (wl_domain_finish(&halo.domain, halo.missing) != 0)
        status = -1;
    wl_region_free(&halo.domain, halo.in, &halo.in_region);
    wl_region_free(&halo.domain, halo.out, &halo.out_region);
    wl_domain_close(&halo.domain);
    return status != 0;
}

static const struct workload halo3d = {
    .name = "halo3d",
    .meaning = "ranks of a torus put faces into their six neighbours, step by step",
    .metrics = "step (ps)",
    .args = args,
    .main = run,
};
WORKLOAD(halo3d)
