/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the kernels do with frames, and the calls. */
#include "sbp.h"

#include <assert.h>
#include <glib.h>
#include <string.h>

enum { ETHERNET_HEADER = 18, ETHERNET_LEAST = 64, ETHERNET_AROUND = 20, TRIES_MAX = 16 };

static sim_time_t service(const struct sbp_devices *devices, enum sbp_param param, double amount)
{
    return legacy_service(devices->network, param, amount);
}

static sim_time_t wire_time(const struct sbp_frame *frame)
{
    uint32_t bytes = frame->length + ETHERNET_HEADER;

    return service(frame->devices, SBP_BYTE,
                   (bytes > ETHERNET_LEAST ? bytes : ETHERNET_LEAST) + ETHERNET_AROUND);
}

void sbp_frame_free(struct sbp_frame *frame)
{
    *frame->link = frame->next;
    if (frame->next != NULL)
        frame->next->link = frame->link;
    g_free(frame);
}

/* The sender's buffer is free again. */
static void release(const struct sbp_frame *frame)
{
    struct sbp_process *from = sbp_process_find(frame->devices, frame->from);

    if (from == NULL)
        return;
    from->out.buffers[frame->buffer].state = SBP_FREE;
    sbp_process_notify(from);
}

static void give_up(struct sbp_frame *frame, enum sim_ledger_outcome outcome)
{
    sim_ledger_settle(&frame->entry, outcome);
    release(frame);
    sbp_frame_free(frame);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void place_in(struct sbp_process *process, struct sbp_frame *frame,
                     struct sbp_buffer *buffer)
{
    memcpy(buffer->bytes, frame->bytes, frame->length);
    buffer->state = SBP_FULL;
    buffer->next = NULL;
    if (process->first == NULL)
        process->first = buffer;
    else
        process->last->next = buffer;
    process->last = buffer;
    sim_ledger_deliver(&frame->entry, frame->length,
                       sim_ledger_digest(buffer->bytes, frame->length, 0));
    sim_ledger_settle(&frame->entry, SIM_LEDGER_OK);
    release(frame);
    sbp_frame_free(frame);
    sbp_process_notify(process);
}

void sbp_place_waiting(struct sbp_process *process)
{
    struct sbp_buffer *buffer;
    struct sbp_frame *frame;

    while ((frame = process->waiting) != NULL && (buffer = sbp_pool_free(&process->in)) != NULL) {
        process->waiting = frame->queued;
        if (process->waiting == NULL)
            process->waiting_end = &process->waiting;
        place_in(process, frame, buffer);
    }
}

static void queue_for(struct sbp_process *process, struct sbp_frame *frame)
{
    frame->queued = NULL; /* behind those that wait, if any */
    *process->waiting_end = frame;
    process->waiting_end = &frame->queued;
}

void sbp_place_early(struct sbp_devices *devices, uint64_t number, struct sbp_process *process)
{
    struct sbp_frame **place = &devices->early, *frame;

    while ((frame = *place) != NULL) {
        if (frame->to != number) {
            place = &frame->queued;
            continue;
        }
        *place = frame->queued;
        if (process != NULL)
            queue_for(process, frame);
        else
            give_up(frame, SIM_LEDGER_ABANDONED);
    }
    devices->early_end = place;
    if (process != NULL)
        sbp_place_waiting(process);
}

/* The kernel of the receiver has the frame. */
static void interrupted(struct sim_event *event)
{
    struct sbp_frame *frame = sim_container_of(event, struct sbp_frame, event);
    struct sbp_devices *devices = frame->devices;
    struct sbp_process *process = sbp_process_find(devices, frame->to), *from;

    if (process != NULL) {
        queue_for(process, frame);
        sbp_place_waiting(process);
        return;
    }
    if (legacy_process_alive(devices->network, frame->to)) { /* it has not joined yet */
        frame->queued = NULL;
        *devices->early_end = frame;
        devices->early_end = &frame->queued;
        return;
    }
    from = sbp_process_find(devices, frame->from);
    if (from != NULL) /* the answer of its kernel */
        from->dead[(uint32_t)frame->to] = true;
    give_up(frame, SIM_LEDGER_ABANDONED);
}

static void arrived(struct sim_event *event)
{
    struct sbp_frame *frame = sim_container_of(event, struct sbp_frame, event);
    struct sbp_host *host = &frame->devices->hosts[frame->target];
    sim_time_t wire = wire_time(frame), at;

    at = legacy_occupy(&host->input, sim_now() - wire, wire);
    at = legacy_occupy(&host->interrupt, at, service(frame->devices, SBP_INTERRUPT, 1));
    frame->event.fire = interrupted;
    sim_event_schedule(&frame->event, at);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* After a while the receiver's host counts as dead. */
static void lost(struct sim_event *event)
{
    struct sbp_frame *frame = sim_container_of(event, struct sbp_frame, event);
    struct sbp_process *from = sbp_process_find(frame->devices, frame->from);

    if (from != NULL)
        from->dead[(uint32_t)frame->to] = true;
    give_up(frame, SIM_LEDGER_ERROR);
}

/* A lost frame is sent again. How much later it arrives for that. */
static sim_time_t send_frame(struct sbp_frame *frame)
{
    struct sbp_devices *devices = frame->devices;
    struct legacy_packet packet = {.source = frame->source,
                                   .target = frame->target,
                                   .bytes = frame->length + ETHERNET_HEADER,
                                   .what = "SBP frame"};
    sim_time_t delay = 0;
    unsigned tries;

    for (tries = 0; tries < TRIES_MAX; tries++) {
        enum legacy_outcome outcome = legacy_transmit(devices->network, &packet);

        if (outcome == LEGACY_DELIVERED)
            return delay + packet.delay;
        if (outcome == LEGACY_UNREACHABLE)
            break;
        delay += service(devices, SBP_RETRY, 1) + wire_time(frame);
    }
    frame->unreachable = true;
    return delay;
}

/* The process of a rank of the same job. */
static uint64_t number_of(const struct sbp_process *process, uint32_t rank)
{
    return (process->number & ~UINT64_C(0xffffffff)) | rank;
}

void sbp_transmit(struct sbp_process *process, struct sbp_buffer *buffer)
{
    struct sbp_devices *devices = process->devices;
    struct sbp_frame *frame = g_new0(struct sbp_frame, 1);
    SbpHeader_t header;
    sim_time_t end, *ordered;

    memcpy(&header, buffer->bytes, sizeof(header));
    frame->devices = devices;
    frame->length = (uint32_t)header.cookie.len;
    frame->from = process->number;
    frame->to = number_of(process, (uint32_t)header.cookie.destn_node);
    frame->source = process->endpoint;
    frame->target = legacy_endpoint_of(devices->network, frame->to);
    frame->buffer = (uint32_t)(buffer - process->out.buffers);
    memcpy(frame->bytes, buffer->bytes, frame->length);
    frame->next = devices->frames;
    if (frame->next != NULL)
        frame->next->link = &frame->next;
    frame->link = &devices->frames;
    devices->frames = frame;
    buffer->state = SBP_BUSY;
    sim_ledger_open(&devices->book, &frame->entry, frame->source, frame->target, frame->length);
    sim_ledger_hand_in(&frame->entry, sim_ledger_digest(frame->bytes, frame->length, 0));
    end = legacy_occupy(&devices->hosts[frame->source].wire, sim_now(), wire_time(frame)) +
          send_frame(frame);
    ordered = &process->ordered[header.cookie.destn_node]; /* nothing overtakes a lost frame */
    end = *ordered = end > *ordered ? end : *ordered;
    frame->event.fire = frame->unreachable ? lost : arrived;
    sim_event_schedule(&frame->event,
                       end + (frame->unreachable ? service(devices, SBP_LOST, 1) : 0));
}

/* ---- the calls ------------------------------------------------------------------------------- */

static bool has_full(const void *what)
{
    return ((const struct sbp_process *)what)->first != NULL;
}

static bool has_empty(const void *what)
{
    return sbp_pool_free(&((const struct sbp_process *)what)->out) != NULL;
}

unsigned long pickupfullbuffer(unsigned long key)
{
    struct sbp_process *process = sbp_process_self();
    struct sim_wait wait = {.text = "frames of SBP", .what = process};
    struct sbp_buffer *buffer;

    if (process == NULL || key != process->in.key)
        return 0;
    wait.id = process->in.id;
    if (!sim_poll(&wait, has_full, service(process->devices, SBP_PICKUP, 1)))
        return 0;
    buffer = process->first;
    process->first = buffer->next;
    buffer->state = SBP_OWNED;
    sim_spend(service(process->devices, SBP_PICKUP, 1));
    return (unsigned long)(uintptr_t)buffer->bytes;
}

unsigned long pickupemptybuffer(unsigned long key)
{
    struct sbp_process *process = sbp_process_self();
    struct sim_wait wait = {.text = "an empty frame of SBP", .what = process};
    struct sbp_buffer *buffer;

    if (process == NULL || key != process->out.key)
        return 0;
    wait.id = process->out.id;
    if (!sim_poll(&wait, has_empty, service(process->devices, SBP_PICKUP, 1)))
        return 0;
    buffer = sbp_pool_free(&process->out);
    buffer->state = SBP_OWNED;
    sim_spend(service(process->devices, SBP_PICKUP, 1));
    return (unsigned long)(uintptr_t)buffer->bytes;
}

int returnfullbuffer(unsigned long key, unsigned long frame)
{
    struct sbp_process *process = sbp_process_self();
    struct sbp_buffer *buffer =
        process != NULL && key == process->out.key ? sbp_pool_find(&process->out, frame) : NULL;
    SbpHeader_t header;

    if (buffer == NULL || buffer->state != SBP_OWNED)
        return 0;
    memcpy(&header, buffer->bytes, sizeof(header));
    if (header.cookie.len < SBP_HEADER_SIZE || header.cookie.len > process->frame_size ||
        header.cookie.destn_node < 0 || (uint32_t)header.cookie.destn_node >= process->size ||
        process->dead[header.cookie.destn_node] ||
        legacy_endpoint_of(process->devices->network,
                           number_of(process, (uint32_t)header.cookie.destn_node)) == UINT32_MAX)
        return 0;
    header.cookie.origin = (int)process->rank;
    memcpy(buffer->bytes, &header, sizeof(header));
    sim_spend(service(process->devices, SBP_RETURN_FULL, 1));
    sim_settle();
    sbp_transmit(process, buffer);
    return 1;
}

int returnemptybuffer(unsigned long key, unsigned long frame)
{
    struct sbp_process *process = sbp_process_self();
    const struct sbp_pool *pool = NULL;
    struct sbp_buffer *buffer;

    if (process != NULL)
        pool = key == process->in.key    ? &process->in
               : key == process->out.key ? &process->out
                                         : NULL;
    buffer = pool != NULL ? sbp_pool_find(pool, frame) : NULL;
    if (buffer == NULL || buffer->state != SBP_OWNED)
        return 0;
    sim_spend(service(process->devices, SBP_RETURN_EMPTY, 1));
    sim_settle();
    buffer->state = SBP_FREE;
    sbp_place_waiting(process);
    return 1;
}
