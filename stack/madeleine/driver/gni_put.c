/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Blocks that are put into the receiver's memory: it registers them and says where they are (CTS),
 * the sender puts, and says so (FIN) after the last global completion, as a message may overtake
 * data. A group of many blocks goes in windows, each with its own CTS.
 */
#include <string.h>

#include "gni.h"

#define CHUNK (UINT64_C(1) << 30) /* bytes of one transaction */
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

/* The next blocks; returns the one that follows. */
static p_mad_buffer_t fill(struct window *window, p_mad_buffer_t buffer, bool send)
{
    window->count = 0;
    for (; buffer != NULL && window->count < MGNI_PIECES_MAX; buffer = buffer->next) {
        size_t from = send ? buffer->bytes_read : buffer->bytes_written;
        size_t to = send ? buffer->bytes_written : buffer->length;

        window->places[window->count++] = (struct place){
            .address = (uint64_t)(uintptr_t)((char *)buffer->buffer + from), .length = to - from};
        buffer->bytes_read = send ? to : buffer->bytes_read;
        buffer->bytes_written = to;
    }
    return buffer;
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

/* Waits until *valid, which it clears. */
static int wait_for(struct mgni_peer *peer, bool *valid, const char *what)
{
    struct mgni_wait wait = {
        .adapter = peer->channel->adapter, .channel = peer->channel, .peer = peer, .what = what};

    peer->waiting++;
    for (;;) {
        mad_gni_examine(peer);
        if (*valid || peer->lost)
            break;
        mad_gni_pass(&wait);
    }
    mad_gni_pass_end(&wait);
    peer->waiting--;
    if (!*valid)
        return mad_connection_error(peer->out);
    *valid = false;
    return MAD_OK;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* The transactions of a window. */
struct progress {
    struct window *window;
    bool rdma;
    unsigned at; /* place */
    uint64_t done; /* of it, bytes that have been posted */
    unsigned active;
    int error;
    struct mgni_put puts[MGNI_PUTS];
};

static void next_chunk(struct progress *progress, struct mgni_put *put)
{
    struct mgni_peer *peer = progress->window->peer;
    const struct place *place = &progress->window->places[progress->at];
    const struct mgni_piece *piece = &peer->cts[progress->at];
    uint64_t length = place->length - progress->done;

    if (length > CHUNK)
        length = CHUNK;
    *put = (struct mgni_put){
        .peer = peer,
        .state = MGNI_READY,
        .desc = {.type = progress->rdma ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT,
                 .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
                 .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
                 .local_addr = place->address + progress->done,
                 .local_mem_hndl = place->handle,
                 .remote_addr = piece->address + progress->done,
                 .remote_mem_hndl = {.qword1 = piece->word1, .qword2 = piece->word2},
                 .length = length},
    };
    progress->done += length;
    if (progress->done == place->length) {
        progress->at++;
        progress->done = 0;
    }
}

static bool has_chunk(const struct progress *progress)
{
    return progress->error == MAD_OK && progress->at < progress->window->count;
}

static void step(struct progress *progress, struct mgni_put *put)
{
    struct mgni_peer *peer = progress->window->peer;

    if (put->state == MGNI_FREE && has_chunk(progress)) {
        next_chunk(progress, put);
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

/* Returns when the last byte is visible at the receiver, or none is on its way any more. */
static int put_window(struct window *window, bool rdma)
{
    struct progress progress = {.window = window, .rdma = rdma};
    struct mgni_wait wait = {.adapter = window->peer->channel->adapter};
    unsigned i;

    do {
        for (i = 0; i < MGNI_PUTS; i++)
            step(&progress, &progress.puts[i]);
        if (progress.active != 0)
            mad_gni_pass(&wait);
    } while (progress.active != 0 || has_chunk(&progress));
    mad_gni_pass_end(&wait);
    return progress.error;
}

static bool is_alike(const struct window *window)
{
    const struct mgni_peer *peer = window->peer;

    if (peer->cts_count != window->count)
        return false;
    for (unsigned i = 0; i < window->count; i++)
        if (peer->cts[i].length != window->places[i].length)
            return false;
    return true;
}

/* Registers while the receiver does, and deregisters when the receiver has been told. */
static int send_window(struct window *window, bool rdma)
{
    struct mgni_peer *peer = window->peer;
    struct mgni_fin fin = {.window = peer->windows_sent++, .pieces = window->count};
    int error = MAD_OK, reported;

    if (peer->armed)
        error = send_control(peer, MGNI_NEWMSG, NULL, 0);
    if (error == MAD_OK && rdma)
        error = enrol_all(window, GNI_MEM_READ_ONLY);
    reported = peer->lost ? mad_connection_error(peer->out)
                          : wait_for(peer, &peer->cts_valid, "the receiver of a block");
    if (error == MAD_OK)
        error = reported;
    if (error == MAD_OK && !is_alike(window))
        error = peer->cts_count == 0 ? MAD_EPEER : MAD_ESYMM;
    if (error == MAD_OK)
        error = put_window(window, rdma);
    if (error != MAD_OK)
        fin.pieces = error == MAD_ESYMM ? MGNI_UNLIKE : MGNI_FAILED;
    reported = peer->lost ? MAD_OK : send_control(peer, MGNI_FIN, &fin, sizeof(fin));
    withdraw(window);
    return error != MAD_OK ? error : reported;
}

int mad_gni_put(p_mad_link_t link, p_mad_buffer_t first)
{
    struct window window = {.peer = mad_gni_peer(link->connection)};
    struct mgni_adapter *adapter = window.peer->channel->adapter;
    p_mad_buffer_t buffer = first;
    int error = MAD_OK;

    port_mutex_lock(&adapter->mutex);
    while (buffer != NULL && error == MAD_OK) {
        buffer = fill(&window, buffer, true);
        error = send_window(&window, link->id == 2);
    }
    port_mutex_unlock(&adapter->mutex);
    return error;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static int check_fin(struct mgni_peer *peer, const struct window *window)
{
    if (peer->fin.pieces == MGNI_UNLIKE)
        return MAD_ESYMM;
    if (peer->fin.pieces == MGNI_FAILED)
        return MAD_EPEER;
    if (peer->fin.window != peer->windows_received || peer->fin.pieces != window->count)
        return MAD_EWIRE;
    peer->windows_received++;
    return MAD_OK;
}

static int receive_window(struct window *window)
{
    struct mgni_peer *peer = window->peer;
    struct mgni_piece pieces[MGNI_PIECES_MAX];
    int error = peer->lost ? mad_connection_error(peer->in) : MAD_OK;

    if (error == MAD_OK)
        error = enrol_all(window, GNI_MEM_READWRITE);
    for (unsigned i = 0; i < window->count; i++)
        pieces[i] = (struct mgni_piece){.address = window->places[i].address,
                                        .word1 = window->places[i].handle.qword1,
                                        .word2 = window->places[i].handle.qword2,
                                        .length = window->places[i].length};
    if (error == MAD_OK)
        error = send_control(peer, MGNI_CTS, pieces, window->count * sizeof(pieces[0]));
    else if (!peer->lost)
        send_control(peer, MGNI_CTS, NULL, 0);
    if (error == MAD_OK)
        error = wait_for(peer, &peer->fin_valid, "the sender of a block");
    withdraw(window);
    return error == MAD_OK ? check_fin(peer, window) : error;
}

int mad_gni_accept(p_mad_link_t link, p_mad_buffer_t first)
{
    struct window window = {.peer = mad_gni_peer(link->connection)};
    struct mgni_adapter *adapter = window.peer->channel->adapter;
    p_mad_buffer_t buffer = first;
    int error = MAD_OK;

    port_mutex_lock(&adapter->mutex);
    while (buffer != NULL && error == MAD_OK) {
        buffer = fill(&window, buffer, false);
        error = receive_window(&window);
    }
    port_mutex_unlock(&adapter->mutex);
    return error;
}
