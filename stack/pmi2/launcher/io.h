/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Input and output of a PMI server on an event loop: moves bytes between streams and the server's
 * links, sets the server's time, and takes its actions once in each turn of the loop. Actions for
 * links are executed here; other actions go to the owner.
 */
#ifndef JACQUARD_PMRUN_IO_H
#define JACQUARD_PMRUN_IO_H

#include <glib.h>
#include <uv.h>

#include "pmi2/server.h"

struct pmrun_io {
    uv_loop_t *loop;
    struct pmi2_server *server;
    uv_prepare_t drain;
    uv_check_t drain_input; /* before what has ended is freed */
    uv_timer_t deadline;
    void (*act)(void *owner, const struct pmi2_action *action);
    void *owner;
    uint8_t key[32]; /* that clients on ports prove to know */
    char *input; /* what is being read */
    uint64_t due;
    GHashTable *channels;
};

void pmrun_io_init(struct pmrun_io *io, uv_loop_t *loop, struct pmi2_server *server,
                   void (*act)(void *owner, const struct pmi2_action *action), void *owner);
void pmrun_io_drain(struct pmrun_io *io); /* takes the actions that are due */
void pmrun_io_close(
    struct pmrun_io *io); /* and all its channels; then the loop must run to its end */
void pmrun_io_free(struct pmrun_io *io); /* with the server */

struct pmrun_channel { /* one link and its stream */
    struct pmrun_io *io;
    struct pmi2_link *link;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tcp_t tcp;
    } at;
    uv_write_t write;
    size_t written;
    gboolean writing, reading, closing, closed;
    void (*gone)(void *owner); /* it is closed and freed */
    void *owner;
};

/*
 * Of a stream that is open: uv_pipe_init/uv_tcp_init on channel->at has been done. `open` makes the
 * link, whose data is the channel. Freed by itself, after gone(). FALSE: the link was refused; the
 * channel is closed all the same.
 */
struct pmrun_channel *pmrun_channel_new(struct pmrun_io *io, void (*gone)(void *owner),
                                        void *owner);
gboolean pmrun_channel_open(struct pmrun_channel *channel, struct pmi2_link *link);
void pmrun_channel_close(struct pmrun_channel *channel); /* at once; what is not sent is lost */
size_t pmrun_channel_unsent(const struct pmrun_channel *channel);

#endif
