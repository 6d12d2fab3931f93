/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The model: its numbers, the hosts, the processes with their handles and threads. */
#include "via.h"

#include <assert.h>
#include <glib.h>
#include <string.h>

#define CHOSEN "assumed; the shape of Figure 4 and its intersection follow"

static const struct legacy_param params[] = {
    LEGACY_STEP_PARAMS(0.8, 1.6, 1.0, 1.2, 1.8, 1.0, 0),
    [VIA_POST] = {"via.post_us", 2.0, CHOSEN},
    [VIA_POST_RECEIVE] = {"via.post_receive_us", 0, "assumed to overlap with waiting"},
    [VIA_FRAME] = {"via.frame_us", 5.0, CHOSEN},
    [VIA_INTERRUPT] = {"via.interrupt_us", 12.0, CHOSEN},
    [VIA_WAIT] = {"via.wait_us", 1.5, CHOSEN},
    [VIA_POLL] = {"via.poll_us", 0.5, "assumed: a call that finds nothing"},
    [VIA_BYTE] = {"via.byte_us", 0.08, "100 Mbit/s"},
    [VIA_REGISTER] = {"via.register_us", 45, CHOSEN},
    [VIA_REGISTER_PAGE] = {"via.register_page_us", 1.5, CHOSEN},
    [VIA_DEREGISTER] = {"via.deregister_us", 27.8, CHOSEN},
    [VIA_DEREGISTER_PAGE] = {"via.deregister_page_us", 0.8, CHOSEN},
    [VIA_LOST] = {"via.lost_us", 2000, "assumed: until a host that does not answer counts as lost"},
    [VIA_RETRY] = {"via.retry_us", 1000, "assumed: a frame of a reliable service is sent again"},
    [VIA_HEADER] = {"via.header", 16, "bytes of the VIA header in an Ethernet frame"},
    [VIA_MTU] = {"via.mtu", 1484, "bytes of data in a frame"},
    [VIA_MAX_REGISTER_BYTES] = {"via.max_register_bytes", 67108864, "assumed: half of the memory"},
    [VIA_MAX_REGISTER_REGIONS] = {"via.max_register_regions", 4096, "assumed"},
    [VIA_MAX_VI] = {"via.max_vi", 1024, "assumed"},
    [VIA_MAX_CQ] = {"via.max_cq", 256, "assumed"},
    [VIA_MAX_PTAGS] = {"via.max_ptags", 64, "assumed"},
    [VIA_MAX_DESCRIPTORS] = {"via.max_descriptors", 1024, "assumed: in a queue"},
    [VIA_RELIABILITY] = {"via.reliability", 7, "assumed: a bit for each level; 1: unreliable"},
};

static GHashTable *handlers; /* fiber → process, for threads that run handlers */

static void *create(struct legacy_network *network)
{
    struct via_devices *devices = g_new0(struct via_devices, 1);

    devices->network = network;
    devices->hosts = g_new0(struct via_host, network->endpoints);
    sim_ledger_book_register(&devices->book, "via");
    return devices;
}

static void destroy(void *arg)
{
    struct via_devices *devices = arg;

    devices->ending = true;
    while (devices->processes != NULL)
        via_process_end(devices->processes);
    via_messages_free(devices);
    for (uint32_t i = 0; i < devices->network->endpoints; i++)
        via_peer_offers_free(&devices->hosts[i]);
    if (handlers != NULL)
        g_hash_table_destroy(handlers);
    handlers = NULL;
    g_free(devices->vis);
    g_free(devices->hosts);
    g_free(devices);
}

static void process_left(void *arg, uint32_t endpoint, uint64_t number)
{
    struct via_devices *devices = arg;
    struct via_process *process = devices->processes;

    while (process != NULL && (process->endpoint != endpoint || process->number != number))
        process = process->next;
    if (process != NULL)
        via_process_end(process);
}

const struct legacy_model legacy_via_model = {
    .name = "via",
    .params = params,
    .param_count = G_N_ELEMENTS(params),
    .create = create,
    .destroy = destroy,
    .process_left = process_left,
};
_Static_assert(G_N_ELEMENTS(params) == VIA_PARAMS, "a value for each");

/* ---- processes ------------------------------------------------------------------------------- */

static void add_thread(struct via_process *process)
{
    struct sim_fiber *fiber = sim_fiber_self();
    uint32_t i;

    for (i = 0; i < process->thread_count; i++)
        if (process->threads[i].fiber == fiber)
            return;
    process->threads = g_renew(struct via_thread, process->threads, process->thread_count + 1);
    process->threads[process->thread_count++] = (struct via_thread){.fiber = fiber};
}

/* The process of a thread that was started for a handler. */
static struct via_process *process_of_handler(uint32_t adapter)
{
    struct via_process *process = NULL;

    if (handlers != NULL)
        process = g_hash_table_lookup(handlers, sim_fiber_self());
    return process != NULL && process->adapter == adapter ? process : NULL;
}

struct via_process *via_process_on(uint32_t adapter)
{
    struct legacy_place place;
    struct via_devices *devices;
    struct via_process *process;

    sim_settle();
    process = process_of_handler(adapter);
    if (process != NULL || !legacy_find(LEGACY_VIA, adapter, &place))
        return process;
    devices = place.network->devices;
    for (process = devices->processes; process != NULL; process = process->next)
        if (process->number == place.process && process->endpoint == place.endpoint)
            break;
    if (process == NULL) {
        process = g_new0(struct via_process, 1);
        process->devices = devices;
        process->endpoint = place.endpoint;
        process->number = place.process;
        process->adapter = adapter;
        process->next = devices->processes;
        devices->processes = process;
    }
    add_thread(process);
    return process;
}

struct via_process *via_process_of(const void *handle)
{
    return via_process_on((uint32_t)((uintptr_t)handle >> 48 & 0xff));
}

void via_process_end(struct via_process *process)
{
    struct via_process **place = &process->devices->processes;
    uint32_t i;

    via_connect_end(process);
    while (process->nics != NULL)
        via_nic_free(process->nics);
    for (i = 0; i < process->handle_count; i++)
        assert(process->handles[i].object == NULL);
    for (i = 0; i < process->thread_count; i++)
        if (process->threads[i].handler) {
            g_hash_table_remove(handlers, process->threads[i].fiber);
            g_free(process->threads[i].argument);
            if (process->threads[i].fiber != sim_fiber_self())
                sim_fiber_kill(process->threads[i].fiber);
        }
    while (*place != process)
        place = &(*place)->next;
    *place = process->next;
    g_free(process->handles);
    g_free(process->threads);
    g_free(process);
}

static struct via_thread *thread_of(struct via_process *process)
{
    uint32_t i;

    for (i = 0; i < process->thread_count; i++)
        if (process->threads[i].fiber == sim_fiber_self())
            return &process->threads[i];
    return NULL;
}

bool via_process_wait(struct via_process *process, sim_time_t deadline, const struct sim_wait *wait)
{
    struct via_thread *thread = thread_of(process);

    assert(thread != NULL);
    if (sim_now() >= deadline)
        return false;
    thread->waits = true;
    sim_wait_until(deadline, wait);
    thread = thread_of(process); /* others may have come */
    thread->waits = false;
    return true;
}

void via_process_wake(struct via_process *process)
{
    uint32_t i;

    for (i = 0; i < process->thread_count; i++) {
        if (process->threads[i].waits)
            sim_wake(process->threads[i].fiber);
        else
            sim_notify(process->threads[i].fiber);
    }
}

bool via_process_thread(struct via_process *process, void (*run)(void *), void *arg)
{
    struct sim_fiber *fiber;

    assert(process->thread_count > 0);
    fiber = sim_fiber_start(run, arg, "VIA handler", sim_now());
    if (fiber == NULL)
        return false;
    if (handlers == NULL)
        handlers = g_hash_table_new(NULL, NULL);
    g_hash_table_insert(handlers, fiber, process);
    process->threads = g_renew(struct via_thread, process->threads, process->thread_count + 1);
    process->threads[process->thread_count++] =
        (struct via_thread){.fiber = fiber, .handler = true, .argument = arg};
    return true;
}

/* The other threads may poll what the handler has changed. */
void via_thread_over(struct via_process *process)
{
    struct via_thread *thread = thread_of(process);
    uint32_t i;

    assert(thread != NULL && thread->handler);
    g_hash_table_remove(handlers, thread->fiber);
    g_free(thread->argument);
    *thread = process->threads[--process->thread_count];
    for (i = 0; i < process->thread_count; i++)
        sim_wake(process->threads[i].fiber);
}

sim_time_t via_deadline(VIP_ULONG timeout)
{
    if (timeout >= (SIM_NEVER - sim_now()) / SIM_MS)
        return SIM_NEVER;
    return sim_now() + timeout * SIM_MS;
}

/* ---- handles: kind, device, generation, number
 * ------------------------------------------------------- */

static void *handle_of(const struct via_process *process, uint8_t kind, uint32_t generation,
                       uint32_t index)
{
    uintptr_t value = (uintptr_t)kind << 56 | (uintptr_t)process->adapter << 48 |
                      (uintptr_t)(generation & 0xffff) << 32 | (index + 1);

    return (void *)value; /* NOLINT(performance-no-int-to-ptr): a number in the API's type */
}

void *via_handle_new(struct via_process *process, uint8_t kind, void *object)
{
    struct via_handle *handle;
    uint32_t i;

    for (i = 0; i < process->handle_count && process->handles[i].object != NULL; i++)
        ;
    if (i == process->handle_count) {
        process->handle_count = process->handle_count * 2 + 16;
        process->handles = g_renew(struct via_handle, process->handles, process->handle_count);
        memset(&process->handles[i], 0, (process->handle_count - i) * sizeof(*process->handles));
    }
    handle = &process->handles[i];
    handle->object = object;
    handle->kind = kind;
    handle->generation++;
    return handle_of(process, kind, handle->generation, i);
}

void *via_handle_get(const struct via_process *process, uint8_t kind, const void *value)
{
    uint32_t index = (uint32_t)(uintptr_t)value - 1;
    const struct via_handle *handle;

    if (process == NULL || value == NULL || index >= process->handle_count)
        return NULL;
    handle = &process->handles[index];
    if (handle->kind != kind || handle_of(process, kind, handle->generation, index) != value)
        return NULL;
    return handle->object;
}

void via_handle_free(struct via_process *process, const void *value)
{
    uint32_t index = (uint32_t)(uintptr_t)value - 1;

    assert(index < process->handle_count && process->handles[index].object != NULL);
    process->handles[index].object = NULL;
}
