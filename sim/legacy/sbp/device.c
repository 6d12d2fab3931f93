/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The model of SBP: its numbers, the processes and their pools. */
#include "sbp.h"

#include <assert.h>
#include <glib.h>

#define CHOSEN "assumed; no published figure is used"

static const struct legacy_param params[] = {
    LEGACY_STEP_PARAMS(0.8, 1.6, 1.0, 1.2, 1.8, 1.0, 0),
    [SBP_PICKUP] = {"sbp.pickup_us", 1.0, CHOSEN},
    [SBP_RETURN_FULL] = {"sbp.return_full_us", 6.0, CHOSEN},
    [SBP_RETURN_EMPTY] = {"sbp.return_empty_us", 1.0, CHOSEN},
    [SBP_INTERRUPT] = {"sbp.interrupt_us", 15.0, CHOSEN},
    [SBP_BYTE] = {"sbp.byte_us", 0.08, "100 Mbit/s"},
    [SBP_RETRY] = {"sbp.retry_us", 1000, "assumed: a lost frame is sent again"},
    [SBP_LOST] = {"sbp.lost_us", 2000, "assumed: until a host that does not answer counts as dead"},
    [SBP_BUFFERS] = {"sbp.buffers", 64, "assumed: in each direction"},
};
_Static_assert(G_N_ELEMENTS(params) == SBP_PARAMS, "a row for each number");

static void *create(struct legacy_network *network)
{
    struct sbp_devices *devices = g_new0(struct sbp_devices, 1);

    devices->network = network;
    devices->hosts = g_new0(struct sbp_host, network->endpoints);
    devices->early_end = &devices->early;
    sim_ledger_book_register(&devices->book, "sbp");
    return devices;
}

static void destroy(void *arg)
{
    struct sbp_devices *devices = arg;

    devices->ending = true;
    while (devices->processes != NULL)
        sbp_process_end(devices->processes);
    while (devices->frames != NULL)
        sbp_frame_free(devices->frames);
    g_free(devices->hosts);
    g_free(devices);
}

static void process_left(void *arg, uint32_t endpoint, uint64_t number)
{
    struct sbp_process *process = sbp_process_find(arg, number);

    if (process != NULL && process->endpoint == endpoint)
        sbp_process_end(process);
    sbp_place_early(arg, number, NULL);
}

const struct legacy_model legacy_sbp_model = {
    .name = "sbp",
    .params = params,
    .param_count = SBP_PARAMS,
    .create = create,
    .destroy = destroy,
    .process_left = process_left,
};

/* ---- pools ----------------------------------------------------------------------------------- */

bool sbp_pool_create(struct sbp_pool *pool, uint32_t count)
{
    uint32_t i;

    if (count == 0 || count > SBP_BUFFERS_MAX)
        return false;
    pool->count = count;
    pool->id = sim_new_ids(1);
    pool->key = (unsigned long)pool->id + 1;
    pool->buffers = g_new0(struct sbp_buffer, count);
    pool->memory = g_malloc0((size_t)count * SBP_BUFFER_ROOM);
    for (i = 0; i < count; i++)
        pool->buffers[i].bytes = pool->memory + (size_t)i * SBP_BUFFER_ROOM;
    return true;
}

struct sbp_buffer *sbp_pool_find(const struct sbp_pool *pool, unsigned long frame)
{
    unsigned long from = frame - (unsigned long)(uintptr_t)pool->memory;

    if (from % SBP_BUFFER_ROOM != 0 || from / SBP_BUFFER_ROOM >= pool->count)
        return NULL;
    return &pool->buffers[from / SBP_BUFFER_ROOM];
}

struct sbp_buffer *sbp_pool_free(const struct sbp_pool *pool)
{
    uint32_t i;

    for (i = 0; i < pool->count; i++)
        if (pool->buffers[i].state == SBP_FREE)
            return &pool->buffers[i];
    return NULL;
}

static void pool_destroy(struct sbp_pool *pool)
{
    g_free(pool->buffers);
    g_free(pool->memory);
}

/* ---- processes ------------------------------------------------------------------------------- */

struct sbp_process *sbp_process_find(const struct sbp_devices *devices, uint64_t number)
{
    struct sbp_process *process = devices->processes;

    while (process != NULL && process->number != number)
        process = process->next;
    return process;
}

static void add_thread(struct sbp_process *process)
{
    uint32_t i;

    for (i = 0; i < process->thread_count; i++)
        if (process->threads[i] == sim_fiber_self())
            return;
    process->threads = g_renew(struct sim_fiber *, process->threads, process->thread_count + 1);
    process->threads[process->thread_count++] = sim_fiber_self();
}

struct sbp_process *sbp_process_self(void)
{
    struct legacy_place place;
    struct sbp_process *process;

    if (!legacy_find(LEGACY_SBP, 0, &place))
        return NULL;
    process = sbp_process_find(place.network->devices, place.process);
    if (process != NULL)
        add_thread(process);
    return process;
}

void sbp_process_notify(const struct sbp_process *process)
{
    uint32_t i;

    for (i = 0; i < process->thread_count; i++)
        sim_notify(process->threads[i]);
}

void sbp_process_end(struct sbp_process *process)
{
    struct sbp_process **place = &process->devices->processes;
    struct sbp_frame *frame;

    while ((frame = process->waiting) != NULL) {
        process->waiting = frame->queued;
        if (!process->devices->ending)
            sim_ledger_settle(&frame->entry, SIM_LEDGER_ABANDONED);
        sbp_frame_free(frame);
    }
    while (*place != process)
        place = &(*place)->next;
    *place = process->next;
    pool_destroy(&process->in);
    pool_destroy(&process->out);
    g_free(process->threads);
    g_free(process->dead);
    g_free(process->ordered);
    g_free(process);
}

/* ---- joining --------------------------------------------------------------------------------- */

static uint32_t wanted(const struct legacy_network *network, int count)
{
    return count > 0 ? (uint32_t)count : (uint32_t)network->values[SBP_BUFFERS];
}

static struct sbp_process *process_new(const struct legacy_place *place, int in, int out)
{
    struct sbp_process *process = g_new0(struct sbp_process, 1);
    struct sbp_devices *devices = place->network->devices;

    process->devices = devices;
    process->endpoint = place->endpoint;
    process->number = place->process;
    process->rank = place->rank;
    process->size = place->size;
    process->waiting_end = &process->waiting;
    process->dead = g_new0(bool, place->size);
    process->ordered = g_new0(sim_time_t, place->size);
    process->next = devices->processes;
    devices->processes = process;
    if (sbp_pool_create(&process->in, wanted(place->network, in)) &&
        sbp_pool_create(&process->out, wanted(place->network, out)))
        return process;
    sbp_process_end(process);
    return NULL;
}

int sbp_initialize(int verbose, int frame_size, int *nb_in, int *nb_out, int *size, int *rank,
                   unsigned long *vnId1, unsigned long *vnId2, unsigned long *input_key,
                   unsigned long *output_key)
{
    struct sbp_process *process;
    struct legacy_place place;

    (void)verbose;
    if (nb_in == NULL || nb_out == NULL || size == NULL || rank == NULL || vnId1 == NULL ||
        vnId2 == NULL || input_key == NULL || output_key == NULL || *nb_in < 0 || *nb_out < 0 ||
        frame_size <= SBP_HEADER_SIZE || frame_size > SBP_FRAME_SIZE)
        return -1;
    sim_settle();
    if (!legacy_find(LEGACY_SBP, 0, &place))
        return -1;
    process = sbp_process_find(place.network->devices, place.process);
    if (process != NULL) /* anew: what it had is gone */
        sbp_process_end(process);
    process = process_new(&place, *nb_in, *nb_out);
    if (process == NULL)
        return -1;
    add_thread(process);
    process->frame_size = frame_size;
    *nb_in = (int)process->in.count;
    *nb_out = (int)process->out.count;
    *size = (int)place.size;
    *rank = (int)place.rank;
    *vnId1 = (unsigned long)(place.process >> 32);
    *vnId2 = place.rank;
    *input_key = process->in.key;
    *output_key = process->out.key;
    sbp_place_early(process->devices, process->number, process);
    return 0;
}
