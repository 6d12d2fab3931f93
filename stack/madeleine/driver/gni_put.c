/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Blocks that are put into the receiver's memory: it registers them and says where they are (CTS),
 * the sender puts, and says so (FIN) after the last global completion, as a message may overtake
 * data. Many or long blocks go in windows, each with its own CTS: while one is on its way, both
 * sides register the next one.
 */
#include <string.h>

#include "gni.h"

#define WINDOW_BYTES (UINT64_C(1) << 19)
#define REGISTER_NS (UINT64_C(10) * 1000000000) /* how long to wait for resources */

/* A piece of memory of this process. */
struct place {
    uint64_t address, length;
    gni_mem_handle_t handle;
    bool registered;
};
struct window {
    struct mgni_peer *peer;
    unsigned count;
    struct place places[MGNI_PIECES_MAX];
};

/* The part of a list of blocks that is in no window yet. */
struct rest {
    p_mad_buffer_t buffer; /* its own counters say how much of it is left; NULL: nothing */
    bool send;
};

static size_t left_of(const struct rest *rest)
{
    const mad_buffer_t *buffer = rest->buffer;

    return rest->send ? buffer->bytes_written - buffer->bytes_read
                      : buffer->length - buffer->bytes_written;
}

static void fill(struct window *window, struct rest *rest)
{
    uint64_t bytes = 0;

    window->count = 0;
    while (rest->buffer != NULL && window->count < MGNI_PIECES_MAX && bytes < WINDOW_BYTES) {
        p_mad_buffer_t buffer = rest->buffer;
        size_t from = rest->send ? buffer->bytes_read : buffer->bytes_written;
        size_t length = left_of(rest);

        if (length > WINDOW_BYTES - bytes)
            length = WINDOW_BYTES - bytes;
        window->places[window->count++] = (struct place){
            .address = (uint64_t)(uintptr_t)((char *)buffer->buffer + from), .length = length};
        bytes += length;
        if (rest->send)
            buffer->bytes_read += length;
        else
            buffer->bytes_written += length;
        if (left_of(rest) == 0)
            rest->buffer = buffer->next;
    }
}

static gni_return_t enrol(struct mgni_adapter *adapter, struct place *place, uint32_t flags)
{
    struct mgni_wait wait = {.adapter = adapter};
    struct port_timer limit;
    gni_return_t rc = GNI_MemRegister(adapter->nic, place->address, place->length, NULL, flags,
                                      UINT32_MAX, &place->handle);

    if (rc == GNI_RC_ERROR_RESOURCE) { /* others have them, for the time of a transfer */
        port_timer_start(&limit, REGISTER_NS);
        while (rc == GNI_RC_ERROR_RESOURCE && !port_timer_rang(&limit)) {
            mad_gni_pass(&wait);
            rc = GNI_MemRegister(adapter->nic, place->address, place->length, NULL, flags,
                                 UINT32_MAX, &place->handle);
        }
        mad_gni_pass_end(&wait);
        port_timer_stop(&limit);
    }
    place->registered = rc == GNI_RC_SUCCESS;
    return rc;
}

static void withdraw(struct window *window)
{
    for (unsigned i = 0; i < window->count; i++)
        if (window->places[i].registered)
            GNI_MemDeregister(window->peer->channel->adapter->nic, &window->places[i].handle);
    window->count = 0;
}

static int enrol_all(struct window *window, uint32_t flags)
{
    gni_return_t rc = GNI_RC_SUCCESS;
    unsigned i;

    for (i = 0; i < window->count && rc == GNI_RC_SUCCESS; i++)
        rc = enrol(window->peer->channel->adapter, &window->places[i], flags);
    if (rc == GNI_RC_SUCCESS)
        return MAD_OK;
    mad_driver_note(window->peer->out, NULL, (int)rc);
    return rc == GNI_RC_ERROR_NOMEM ? MAD_ENOMEM : MAD_EDRIVER;
}

static int send_control(struct mgni_peer *peer, enum mgni_tag tag, const void *payload,
                        size_t bytes)
{
    struct mgni_frame *frame = mad_gni_frame(peer->channel->adapter);

    if (frame == NULL)
        return MAD_ENOMEM;
    frame->length = (uint32_t)bytes;
    if (bytes != 0)
        memcpy(frame->bytes, payload, bytes);
    return mad_gni_send(peer, tag, frame);
}

/* Waits until *count is not 0. */
static int wait_for(struct mgni_peer *peer, const unsigned *count, const char *what)
{
    struct mgni_wait wait = {
        .adapter = peer->channel->adapter, .channel = peer->channel, .peer = peer, .what = what};

    peer->waiting++;
    for (;;) {
        mad_gni_examine(peer);
        if (*count != 0 || peer->lost)
            break;
        mad_gni_pass(&wait);
    }
    mad_gni_pass_end(&wait);
    peer->waiting--;
    return *count != 0 ? MAD_OK : mad_connection_error(peer->out);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* The transactions of a window. */
struct progress {
    struct window *window;
    const struct mgni_cts *cts;
    bool rdma;
    unsigned at; /* place */
    unsigned active;
    int error;
    struct mgni_put puts[MGNI_PUTS];
};

static void next_place(struct progress *progress, struct mgni_put *put)
{
    const struct place *place = &progress->window->places[progress->at];
    const struct mgni_piece *piece = &progress->cts->pieces[progress->at];

    *put = (struct mgni_put){
        .peer = progress->window->peer,
        .state = MGNI_READY,
        .desc = {.type = progress->rdma ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT,
                 .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
                 .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
                 .local_addr = place->address,
                 .local_mem_hndl = place->handle,
                 .remote_addr = piece->address,
                 .remote_mem_hndl = {.qword1 = piece->word1, .qword2 = piece->word2},
                 .length = place->length},
    };
    progress->at++;
}

static bool has_place(const struct progress *progress)
{
    return progress->error == MAD_OK && progress->at < progress->window->count;
}

static void step(struct progress *progress, struct mgni_put *put)
{
    struct mgni_peer *peer = progress->window->peer;

    if (put->state == MGNI_FREE && has_place(progress)) {
        next_place(progress, put);
        progress->active++;
    }
    if (put->state == MGNI_READY && progress->error != MAD_OK)
        put->state = MGNI_BROKEN;
    if (put->state == MGNI_READY)
        mad_gni_post(put);
    if (put->state == MGNI_BROKEN && progress->error == MAD_OK) {
        progress->error = peer->lost ? mad_connection_error(peer->out) : MAD_EDRIVER;
        if (!peer->lost)
            mad_driver_note(peer->out, "a transfer failed", (int)put->status);
    }
    if (put->state == MGNI_DONE || put->state == MGNI_BROKEN) {
        put->state = MGNI_FREE;
        progress->active--;
    }
}

static void step_all(struct progress *progress)
{
    for (unsigned i = 0; i < MGNI_PUTS; i++)
        step(progress, &progress->puts[i]);
}

/* Returns when the last byte is visible at the receiver, or none is on its way any more. */
static int finish_puts(struct progress *progress)
{
    struct mgni_wait wait = {.adapter = progress->window->peer->channel->adapter};

    for (;;) {
        step_all(progress);
        if (progress->active == 0 && !has_place(progress))
            break;
        mad_gni_pass(&wait);
    }
    mad_gni_pass_end(&wait);
    return progress->error;
}

static int check_cts(const struct mgni_cts *cts, const struct window *window)
{
    if (cts->count == 0)
        return MAD_EPEER;
    if (cts->count != window->count)
        return MAD_ESYMM;
    for (unsigned i = 0; i < window->count; i++)
        if (cts->pieces[i].length != window->places[i].length)
            return MAD_ESYMM;
    return MAD_OK;
}

/* The sender's next window. It is registered while the receiver does the same. */
static int prepare(struct window *window, struct rest *rest, bool rdma)
{
    fill(window, rest);
    return rdma && window->count != 0 ? enrol_all(window, GNI_MEM_READ_ONLY) : MAD_OK;
}

static int send_fin(struct mgni_peer *peer, uint32_t pieces, int error)
{
    struct mgni_fin fin = {.window = peer->windows_sent++, .pieces = pieces};

    if (error != MAD_OK)
        fin.pieces = error == MAD_ESYMM ? MGNI_UNLIKE : MGNI_FAILED;
    return peer->lost ? MAD_OK : send_control(peer, MGNI_FIN, &fin, sizeof(fin));
}

/*
 * Sends windows[0], and meanwhile deregisters the one before it and prepares the next one, both in
 * windows[1].
 */
static int send_window(struct window *windows, struct rest *rest, bool rdma)
{
    struct mgni_peer *peer = windows[0].peer;
    struct mgni_cts cts;
    struct progress progress = {.window = &windows[0], .cts = &cts, .rdma = rdma};
    int error = wait_for(peer, &peer->cts_count, "the receiver of a block"), next, reported;

    if (error != MAD_OK)
        return error;
    cts = peer->cts[0];
    peer->cts_count--;
    memmove(&peer->cts[0], &peer->cts[1], peer->cts_count * sizeof(peer->cts[0]));
    error = check_cts(&cts, &windows[0]);
    if (error == MAD_OK)
        step_all(&progress);
    else
        progress.error = error;
    withdraw(&windows[1]);
    next = prepare(&windows[1], rest, rdma);
    error = finish_puts(&progress);
    reported = send_fin(peer, windows[0].count, error);
    if (error == MAD_OK && next != MAD_OK)
        send_fin(peer, 0, next);
    return error != MAD_OK ? error : next != MAD_OK ? next : reported;
}

static int send_windows(struct window *windows, struct rest *rest, bool rdma)
{
    struct mgni_peer *peer = windows[0].peer;
    int error = peer->armed ? send_control(peer, MGNI_NEWMSG, NULL, 0) : MAD_OK;
    struct window sent;

    if (error == MAD_OK) {
        error = prepare(&windows[0], rest, rdma);
        if (error != MAD_OK)
            send_fin(peer, 0, error);
    }
    while (error == MAD_OK && windows[0].count != 0) {
        error = send_window(windows, rest, rdma);
        sent = windows[0];
        windows[0] = windows[1];
        windows[1] = sent;
    }
    return error;
}

int mad_gni_put(p_mad_link_t link, p_mad_buffer_t first)
{
    struct mgni_peer *peer = mad_gni_peer(link->connection);
    struct window windows[2] = {{.peer = peer}, {.peer = peer}};
    struct rest rest = {.buffer = first, .send = true};
    struct mgni_adapter *adapter = peer->channel->adapter;
    int error;

    port_mutex_lock(&adapter->mutex);
    error = send_windows(windows, &rest, link->id == 2);
    withdraw(&windows[0]);
    withdraw(&windows[1]);
    port_mutex_unlock(&adapter->mutex);
    return error;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static int check_fin(struct mgni_peer *peer, const struct window *window)
{
    struct mgni_fin fin = peer->fin[0];

    peer->fin_count--;
    memmove(&peer->fin[0], &peer->fin[1], peer->fin_count * sizeof(peer->fin[0]));
    if (fin.pieces == MGNI_UNLIKE)
        return MAD_ESYMM;
    if (fin.pieces == MGNI_FAILED)
        return MAD_EPEER;
    if (fin.window != peer->windows_received || fin.pieces != window->count)
        return MAD_EWIRE;
    peer->windows_received++;
    return MAD_OK;
}

/* Registers the next window, and asks for it. */
static int ask(struct window *window, struct rest *rest)
{
    struct mgni_peer *peer = window->peer;
    struct mgni_piece pieces[MGNI_PIECES_MAX];
    int error = peer->lost ? mad_connection_error(peer->in) : MAD_OK;

    fill(window, rest);
    if (error == MAD_OK)
        error = enrol_all(window, GNI_MEM_READWRITE);
    for (unsigned i = 0; i < window->count; i++)
        pieces[i] = (struct mgni_piece){.address = window->places[i].address,
                                        .word1 = window->places[i].handle.qword1,
                                        .word2 = window->places[i].handle.qword2,
                                        .length = window->places[i].length};
    if (error == MAD_OK)
        return send_control(peer, MGNI_CTS, pieces, window->count * sizeof(pieces[0]));
    if (!peer->lost)
        send_control(peer, MGNI_CTS, NULL, 0);
    return error;
}

/* One window is on its way while the next one is asked for. */
static int receive_windows(struct window *windows, struct rest *rest)
{
    struct mgni_peer *peer = windows[0].peer;
    unsigned at = 0;
    int error = ask(&windows[0], rest);

    while (error == MAD_OK && windows[at].count != 0) {
        struct window *next = &windows[(at + 1) % MGNI_WINDOWS];

        if (rest->buffer != NULL)
            error = ask(next, rest);
        if (error == MAD_OK)
            error = wait_for(peer, &peer->fin_count, "the sender of a block");
        if (error == MAD_OK)
            error = check_fin(peer, &windows[at]);
        withdraw(&windows[at]);
        at = (at + 1) % MGNI_WINDOWS;
    }
    return error;
}

int mad_gni_accept(p_mad_link_t link, p_mad_buffer_t first)
{
    struct mgni_peer *peer = mad_gni_peer(link->connection);
    struct window windows[MGNI_WINDOWS] = {{.peer = peer}, {.peer = peer}};
    struct rest rest = {.buffer = first};
    struct mgni_adapter *adapter = peer->channel->adapter;
    int error;

    port_mutex_lock(&adapter->mutex);
    error = receive_windows(windows, &rest);
    for (unsigned i = 0; i < MGNI_WINDOWS; i++)
        withdraw(&windows[i]);
    port_mutex_unlock(&adapter->mutex);
    return error;
}

/* A sender that waits for room for a long block, now or later, gets none. */
void mad_gni_give_up(p_mad_connection_t in)
{
    struct mgni_peer *peer = mad_gni_peer(in);
    struct mgni_adapter *adapter = peer->channel->adapter;

    port_mutex_lock(&adapter->mutex);
    if (!peer->lost && !peer->gave_up)
        send_control(peer, MGNI_CTS, NULL, 0);
    peer->gave_up = true;
    port_mutex_unlock(&adapter->mutex);
}
