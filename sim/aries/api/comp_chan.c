/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion channels: one file descriptor for many queues. An armed queue fires once, when it has
 * an entry. The channel then holds one event until GNI_CompChanGetEvent collects it.
 *
 *   idle ──arm──▶ armed ──entry──▶ fired ──GetEvent──▶ idle        (arming a queue with entries
 *                                                                   goes to fired at once)
 *
 * The descriptor is a real one and readable as long as there are events, so poll(2) and epoll(7)
 * work in a program as long as they do not block. Two calls block in virtual time:
 * GNI_CompChanGetEvent, and aries_poll() for programs that watch several descriptors.
 */
#include "api/front.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "api/comp_chan.h"

static bool channel_ok(const struct gni_comp_chan *channel)
{
    return aries_handle_ok(channel, ARIES_MAGIC_CHANNEL);
}

/*
 * Lets all events up to the caller's own time happen. Another thread may destroy the channel
 * meanwhile, although the API forbids it.
 */
static bool enter(const struct gni_comp_chan *channel, bool spends)
{
    if (!channel_ok(channel))
        return false;
    if (spends)
        sim_spend(aries_timing_of(channel->nic)->cpu_cqget);
    sim_settle();
    sim_idle_break();
    return channel_ok(channel);
}

/* ---- the descriptor -------------------------------------------------------------------------- */

static bool readable(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};

    return poll(&poller, 1, 0) == 1 && (poller.revents & POLLIN);
}

/* The counter cannot overflow: each of a few thousand queues adds at most 32 bits of events. */
static void count_up(const struct gni_comp_chan *channel)
{
    uint64_t one = 1;
    ssize_t written = write(channel->fd, &one, sizeof(one));

    (void)written;
}

/* If the program has read the descriptor itself, the event is gone and the read finds nothing. */
static void count_down(const struct gni_comp_chan *channel)
{
    uint64_t one;
    ssize_t got;

    if (!readable(channel->fd))
        return;
    got = read(channel->fd, &one, sizeof(one));
    (void)got;
}

/* ---- firing ---------------------------------------------------------------------------------- */

/* The caller that stored the entry notifies the process. */
sim_noinline void aries_channel_fire(struct gni_cq *cq)
{
    assert(cq->channel != NULL && cq->armed);
    cq->armed = false;
    if (cq->fired++ == 0)
        aries_list_add(&cq->channel->fired, &cq->fired_link);
    count_up(cq->channel);
}

void aries_channel_detach(struct gni_cq *cq)
{
    if (cq->channel == NULL)
        return;
    for (; cq->fired > 0; cq->fired--)
        count_down(cq->channel);
    aries_list_remove(&cq->fired_link);
    aries_list_remove(&cq->channel_link);
    cq->channel = NULL;
    cq->armed = false;
}

/* ---- creating and destroying ----------------------------------------------------------------- */

/* An object that was never used has no descriptor: its magic number and its references are 0. */
static void discard(void *object)
{
    struct gni_comp_chan *channel = object;

    if (channel->magic == ARIES_MAGIC_CHANNEL)
        close(channel->fd);
}

static const struct aries_class channel_class = {
    .size = sizeof(struct gni_comp_chan), .handle = true, .discard = discard};

static void release_all(struct gni_nic *nic);

gni_return_t GNI_CompChanCreate(gni_nic_handle_t nic_hndl, gni_comp_chan_handle_t *chan_hndl)
{
    struct gni_comp_chan *channel;
    int fd;

    if (!aries_handle_ok(nic_hndl, ARIES_MAGIC_NIC) || chan_hndl == NULL)
        return GNI_RC_INVALID_PARAM;
    fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    if (fd < 0)
        return GNI_RC_ERROR_NOMEM; /* the process has no file descriptor left */
    channel = aries_object_new(nic_hndl->hw->fabric->objects, &channel_class);
    channel->magic = ARIES_MAGIC_CHANNEL;
    channel->refs = 1;
    channel->nic = nic_hndl;
    channel->fabric = nic_hndl->hw->fabric;
    channel->fd = fd;
    aries_list_init(&channel->attached);
    aries_list_init(&channel->fired);
    aries_list_add(&nic_hndl->channels, &channel->nic_link);
    aries_nic_on_detach(nic_hndl, ARIES_DETACH_CHANNELS, release_all);
    *chan_hndl = channel;
    sim_spend(aries_timing_of(nic_hndl)->cold_ep_create);
    sim_idle_break();
    return GNI_RC_SUCCESS;
}

static void unref(struct gni_comp_chan *channel)
{
    assert(channel->refs > 0);
    if (--channel->refs == 0)
        aries_object_delete(channel->fabric->objects, &channel_class, channel);
}

static void channel_release(struct gni_comp_chan *channel)
{
    struct aries_process *process = channel->nic->process;

    while (!aries_list_empty(&channel->attached))
        aries_channel_detach(sim_container_of(channel->attached.next, struct gni_cq, channel_link));
    aries_list_remove(&channel->nic_link);
    close(channel->fd);
    channel->magic = 0;
    channel->nic = NULL;
    /* Wakes the threads that wait for it: they see that it is gone. */
    aries_process_notify(process);
    unref(channel);
}

static void release_all(struct gni_nic *nic)
{
    while (!aries_list_empty(&nic->channels))
        channel_release(sim_container_of(nic->channels.next, struct gni_comp_chan, nic_link));
}

gni_return_t GNI_CompChanDestroy(gni_comp_chan_handle_t chan_hndl)
{
    if (!enter(chan_hndl, false))
        return GNI_RC_INVALID_PARAM;
    channel_release(chan_hndl);
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_CompChanFd(gni_comp_chan_handle_t chan_hndl, int *comp_chan_fd)
{
    if (!channel_ok(chan_hndl) || comp_chan_fd == NULL)
        return GNI_RC_INVALID_PARAM;
    *comp_chan_fd = chan_hndl->fd;
    return GNI_RC_SUCCESS;
}

/* ---- queues ---------------------------------------------------------------------------------- */

gni_return_t GNI_CqAttachCompChan(gni_cq_handle_t cq_hndl, gni_comp_chan_handle_t chan_hndl)
{
    if (!enter(chan_hndl, false) || !aries_handle_ok(cq_hndl, ARIES_MAGIC_CQ) ||
        !(cq_hndl->modes & GNI_CQ_BLOCKING) || cq_hndl->nic != chan_hndl->nic)
        return GNI_RC_INVALID_PARAM;
    aries_channel_detach(cq_hndl);
    cq_hndl->channel = chan_hndl;
    aries_list_add(&chan_hndl->attached, &cq_hndl->channel_link);
    aries_list_init(&cq_hndl->fired_link);
    return GNI_RC_SUCCESS;
}

static bool attached(gni_cq_handle_t *cqs, uint32_t count)
{
    uint32_t i;

    for (i = 0; cqs != NULL && i < count; i++)
        if (!aries_handle_ok(cqs[i], ARIES_MAGIC_CQ) || cqs[i]->channel == NULL)
            return false;
    return cqs != NULL && count > 0;
}

/* Arms all queues or none: a bad handle at the end of the list must arm nothing. */
gni_return_t GNI_CqArmCompChan(gni_cq_handle_t *cq_hndls, uint32_t num_cqs)
{
    struct gni_cq *cq;
    uint32_t i;

    if (!attached(cq_hndls, num_cqs) || !enter(cq_hndls[0]->channel, true) ||
        !attached(cq_hndls, num_cqs))
        return GNI_RC_INVALID_PARAM;
    for (i = 0; i < num_cqs; i++) {
        cq = cq_hndls[i];
        cq->armed = true;
        if (cq->count == 0)
            continue;
        aries_channel_fire(cq);
        aries_process_notify(cq->nic->process);
    }
    return GNI_RC_SUCCESS;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void describe(const void *what, char *buffer, size_t size)
{
    const struct gni_comp_chan *channel = what;

    if (channel_ok(channel))
        snprintf(buffer, size, " of node %u", channel->nic->hw->node);
}

/* Takes the queues in turn, so that a queue that fires all the time does not starve the others. */
static struct gni_cq *collect(struct gni_comp_chan *channel)
{
    struct gni_cq *cq = sim_container_of(channel->fired.next, struct gni_cq, fired_link);

    aries_list_remove(&cq->fired_link);
    assert(cq->fired > 0 && cq->channel == channel);
    if (--cq->fired > 0)
        aries_list_add(&channel->fired, &cq->fired_link);
    count_down(channel);
    return cq;
}

static bool __attribute__((unused)) wakes(const void *on)
{
    const struct gni_comp_chan *channel = on;

    return !channel_ok(channel) || !aries_list_empty(&channel->fired);
}

static bool blocks(const struct gni_comp_chan *channel)
{
    int flags = fcntl(channel->fd, F_GETFL);

    return flags >= 0 && !(flags & O_NONBLOCK);
}

gni_return_t GNI_CompChanGetEvent(gni_comp_chan_handle_t chan_hndl, gni_cq_handle_t *cq_hndl)
{
    const struct sim_wait wait = {"completion channel", describe, chan_hndl,
                                  SIM_WAKES(wakes, chan_hndl)};
    const struct aries_timing *timing;
    struct aries_process *process;
    bool blocked = false, dead = false;

    if (cq_hndl == NULL || !enter(chan_hndl, true))
        return GNI_RC_INVALID_PARAM;
    timing = aries_timing_of(chan_hndl->nic);
    process = chan_hndl->nic->process;
    while (aries_list_empty(&chan_hndl->fired)) {
        if (!blocks(chan_hndl) || aries_interrupted(process))
            return GNI_RC_NOT_DONE;
        blocked = true;
        chan_hndl->refs++;
        sim_wait_until(SIM_NEVER, &wait);
        dead = chan_hndl->magic != ARIES_MAGIC_CHANNEL;
        unref(chan_hndl);
        if (dead)
            return GNI_RC_INVALID_PARAM;
    }
    *cq_hndl = collect(chan_hndl);
    sim_spend(blocked ? timing->irq_wake : 0);
    return GNI_RC_SUCCESS;
}

/* ---- several descriptors --------------------------------------------------------------------- */

int aries_poll(struct pollfd *fds, unsigned long count, sim_time_t timeout)
{
    static const struct sim_wait wait = {.text = "file descriptors (poll)"};
    struct aries_process *process = aries_process_self();
    const struct aries_timing *timing;
    sim_time_t deadline;
    bool blocked = false;
    int ready;

    if (process == NULL)
        return poll(fds, count, 0);
    timing = &process->fabric->timing;
    sim_spend(timing->cpu_cqget);
    sim_settle();
    sim_idle_break();
    deadline = timeout >= SIM_NEVER - sim_now() ? SIM_NEVER : sim_now() + timeout;
    for (;;) {
        ready = poll(fds, count, 0);
        if (ready != 0 || sim_now() >= deadline || aries_interrupted(process))
            break;
        blocked = true;
        sim_wait_until(deadline, &wait);
    }
    sim_spend(blocked && ready > 0 ? timing->irq_wake : 0);
    return ready;
}
