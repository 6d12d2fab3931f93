/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The library: processes, descriptors, queries, waiting. */
#include "devices.h"

#include <assert.h>

static struct sci_process *processes;

/* ---- cards ----------------------------------------------------------------------------------- */

struct sci_card *sci_card_find(unsigned adapter, sci_error_t *error)
{
    struct legacy_place place;
    struct sci_devices *devices;

    if (!legacy_find(LEGACY_SCI, adapter, &place)) {
        *error = SCI_ERR_NO_SUCH_ADAPTERNO;
        return NULL;
    }
    *error = SCI_ERR_OK;
    devices = place.network->devices;
    return &devices->cards[place.endpoint];
}

unsigned sci_node_of(const struct sci_card *card)
{
    return SCI_NODE_STEP * (card->endpoint + 1);
}

struct sci_card *sci_card_of_node(struct sci_card *from, unsigned node)
{
    if (node == 0 || node % SCI_NODE_STEP != 0 ||
        node / SCI_NODE_STEP > from->devices->network->endpoints)
        return NULL;
    return &from->devices->cards[node / SCI_NODE_STEP - 1];
}

sci_error_t sci_access(const struct sci_card *from, const struct sci_card *to)
{
    const struct legacy_network *network = from->devices->network;

    if (!legacy_reachable(network, from->endpoint, from->endpoint))
        return SCI_ERR_NO_LINK_ACCESS;
    return legacy_reachable(network, from->endpoint, to->endpoint) ? SCI_ERR_OK
                                                                   : SCI_ERR_NO_REMOTE_LINK_ACCESS;
}

bool sci_flags_ok(unsigned flags, unsigned allowed, sci_error_t *error)
{
    *error = SCI_ERR_OK;
    if ((flags & ~(2u * SCI_FLAG_LAST - 1)) != 0)
        *error = SCI_ERR_ILLEGAL_FLAG;
    else if ((flags & ~allowed) != 0)
        *error = SCI_ERR_FLAG_NOT_IMPLEMENTED;
    return *error == SCI_ERR_OK;
}

/* ---- waiting --------------------------------------------------------------------------------- */

sim_time_t sci_deadline(unsigned timeout)
{
    return timeout == SCI_INFINITE_TIMEOUT ? SIM_NEVER : sim_now() + timeout * SIM_MS;
}

bool sci_connecting(const struct sci_card *card, unsigned timeout, sci_error_t *error)
{
    sim_time_t ready, limit;

    sim_settle();
    ready = sim_now() + legacy_service(card->devices->network, SCI_CONNECT_US, 1);
    limit = sci_deadline(timeout);
    sim_sleep_until(MIN(ready, limit));
    return !sci_fails(error, ready > limit ? SCI_ERR_TIMEOUT : SCI_ERR_OK);
}

void sci_wait(GPtrArray *waiters, sim_time_t deadline, const struct sim_wait *why)
{
    struct sim_fiber *self = sim_fiber_self();

    if (!g_ptr_array_find(waiters, self, NULL))
        g_ptr_array_add(waiters, self);
    sim_wait_until(deadline, why);
    g_ptr_array_remove(waiters, self);
}

void sci_wake(GPtrArray *waiters)
{
    guint i;

    for (i = 0; i < waiters->len; i++)
        sim_wake(waiters->pdata[i]);
    g_ptr_array_set_size(waiters, 0);
}

void sci_card_arrival(struct sci_card *card)
{
    card->arrivals++;
    sim_progress();
    sci_wake(card->waiters);
}

/* Of all cards of the caller's node; waits for them as well. */
static uint64_t arrivals(bool join)
{
    struct sci_card *card;
    sci_error_t error;
    uint64_t sum = 0;
    unsigned i;

    for (i = 0; (card = sci_card_find(i, &error)) != NULL; i++) {
        sum += card->arrivals;
        if (join && !g_ptr_array_find(card->waiters, sim_fiber_self(), NULL))
            g_ptr_array_add(card->waiters, sim_fiber_self());
        else if (!join)
            g_ptr_array_remove(card->waiters, sim_fiber_self());
    }
    return sum;
}

void sisci_pause(uint64_t *seen, uint64_t nanoseconds)
{
    static const struct sim_wait wait = {.text = "a write into a segment"};
    sim_time_t deadline;

    sim_settle();
    deadline = nanoseconds < (SIM_NEVER - sim_now()) / SIM_NS ? sim_now() + nanoseconds * SIM_NS
                                                              : SIM_NEVER;
    while (arrivals(true) == *seen && sim_now() < deadline)
        sim_wait_until(deadline, &wait);
    *seen = arrivals(false);
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct sci_process **process_place(uint64_t number)
{
    struct sci_process **place;

    for (place = &processes; *place != NULL && (*place)->number != number; place = &(*place)->next)
        ;
    return place;
}

/* The calling one; NULL: it has no card. */
static struct sci_process **calling(uint64_t *number)
{
    struct legacy_place at;

    if (!legacy_find(LEGACY_SCI, 0, &at))
        return NULL;
    *number = at.process;
    return process_place(at.process);
}

void SCIInitialize(unsigned flags, sci_error_t *error)
{
    struct sci_process **place;
    uint64_t number;

    if (!sci_flags_ok(flags, 0, error))
        return;
    place = calling(&number);
    if (sci_fails(error, place == NULL ? SCI_ERR_NO_SUCH_ADAPTERNO : SCI_ERR_OK))
        return;
    if (*place == NULL) {
        *place = g_new0(struct sci_process, 1);
        (*place)->number = number;
    }
    (*place)->initialized++;
}

static void process_free(struct sci_process **place)
{
    struct sci_process *process = *place;

    *place = process->next;
    g_free(process);
}

void SCITerminate(void)
{
    uint64_t number;
    struct sci_process **place = calling(&number);

    if (place != NULL && *place != NULL && --(*place)->initialized == 0 && (*place)->descs == NULL)
        process_free(place);
}

void SCIOpen(sci_desc_t *desc, unsigned flags, sci_error_t *error)
{
    struct sci_process **place;
    uint64_t number;

    if (!sci_flags_ok(flags, SCI_FLAG_THREAD_SAFE, error))
        return;
    place = calling(&number);
    if (sci_fails(error, desc == NULL                                   ? SCI_ERR_ILLEGAL_PARAMETER
                         : place == NULL                                ? SCI_ERR_NO_SUCH_ADAPTERNO
                         : *place == NULL || (*place)->initialized == 0 ? SCI_ERR_NOT_INITIALIZED
                                                                        : SCI_ERR_OK))
        return;
    *desc = g_new0(struct sci_desc, 1);
    (*desc)->process = *place;
    (*desc)->next = (*place)->descs;
    (*place)->descs = *desc;
}

static void desc_free(struct sci_desc *desc)
{
    struct sci_desc **place = &desc->process->descs;

    while (*place != desc)
        place = &(*place)->next;
    *place = desc->next;
    g_free(desc);
}

void SCIClose(sci_desc_t desc, unsigned flags, sci_error_t *error)
{
    struct sci_process *process;

    if (!sci_flags_ok(flags, 0, error) || sci_fails(error, desc == NULL ? SCI_ERR_ILLEGAL_PARAMETER
                                                           : desc->objects != 0 ? SCI_ERR_BUSY
                                                                                : SCI_ERR_OK))
        return;
    process = desc->process;
    desc_free(desc);
    if (process->descs == NULL && process->initialized == 0)
        process_free(process_place(process->number));
}

int SCIProbeNode(sci_desc_t desc, unsigned adapter, unsigned node, unsigned flags,
                 sci_error_t *error)
{
    struct sci_card *card, *to;

    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error, desc == NULL ? SCI_ERR_ILLEGAL_PARAMETER : SCI_ERR_OK))
        return 0;
    card = sci_card_find(adapter, error);
    if (card == NULL)
        return 0;
    to = sci_card_of_node(card, node);
    if (sci_fails(error, to == NULL ? SCI_ERR_ILLEGAL_NODEID : SCI_ERR_OK))
        return 0;
    sim_settle();
    return !sci_fails(error, sci_access(card, to));
}

/* ---- the end of a process -------------------------------------------------------------------- */

static void release(struct sci_process **place)
{
    struct sci_process *process = *place;

    while (process->descs != NULL) {
        sci_dma_release(process->descs);
        sci_blocks_release(process->descs);
        sci_data_interrupts_release(process->descs);
        sci_interrupts_release(process->descs);
        sci_segments_release(process->descs);
        assert(process->descs->objects == 0);
        desc_free(process->descs);
    }
    process_free(place);
}

void sci_process_left(uint64_t number)
{
    struct sci_process **place = process_place(number);

    if (*place != NULL)
        release(place);
}

/* All networks of a run end together; the first one to end finds the cards of all of them. */
void sci_library_end(void)
{
    while (processes != NULL)
        release(&processes);
}

static void lose(struct sci_remote_segment *remote)
{
    struct sci_local_segment *segment = remote->segment;

    remote->segment = NULL;
    assert(segment->connections > 0);
    segment->connections--;
    if (sci_access(remote->card, segment->card) != SCI_ERR_OK)
        return;
    if (remote->callback != NULL)
        remote->callback(remote->arg, remote, SCI_CB_LOST, SCI_ERR_NOT_CONNECTED);
    else
        sci_event(&remote->events, SCI_CB_LOST, segment->card, SCI_ERR_NOT_CONNECTED);
    sci_card_arrival(remote->card);
}

void sci_segment_lost(struct sci_local_segment *segment)
{
    struct sci_process *process;
    struct sci_desc *desc;
    struct sci_remote_segment *remote;

    for (process = processes; process != NULL; process = process->next)
        for (desc = process->descs; desc != NULL; desc = desc->next)
            for (remote = desc->remotes; remote != NULL; remote = remote->next)
                if (remote->segment == segment)
                    lose(remote);
    assert(segment->connections == 0);
}
