/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* TCP over sockets of the system, polled by libuv. See lnd/tcp/stream.h. */
#ifndef JACQUARD_LNET_LIVE_STREAM_UV_H
#define JACQUARD_LNET_LIVE_STREAM_UV_H

#include "lnd/tcp/stream.h"
#include "loop.h"

/* Bytes behind a read that one system call may take ahead: the next headers, small messages. */
#define LNET_STREAM_AHEAD 2048u

struct lnet_stream {
    uv_poll_t poll;
    int fd;
    struct lnet_stream_host *host;
    const struct lnet_stream_handler *handler;
    void *owner;
    bool connecting, closed;
    int failure; /* to be reported from the ready list */
    int events; /* that libuv polls for */
    struct list_head on_ready;
    /* sending */
    struct lnet_stream_write *writes, *writes_last;
    uint32_t write_sent; /* bytes of the first one */
    uint64_t unwritten, written;
    sim_time_t empty_at; /* the socket had nothing to send */
    /* receiving */
    bool reading, delivering, has_target;
    struct lnet_fragments target;
    uint32_t target_offset, read_length, read_done;
    struct kvec buffer;
    void (*done)(void *owner);
    uint64_t received;
    uint32_t ahead_from, ahead_to; /* what is in `ahead` */
    uint8_t ahead[LNET_STREAM_AHEAD];
};

struct lnet_stream_host {
    struct lnet_node *node;
    uint32_t address;
    uint16_t next_port; /* reserved one to try next */
    struct lnet_stream_options options;
};

/* Makes the stream of a socket, which it owns from now on. */
struct lnet_stream *lnet_stream_uv_new(struct lnet_stream_host *host, int fd);
/* Polls for what the stream waits for. */
void lnet_stream_uv_update(struct lnet_stream *stream);
/* The stream has something to report from the loop. */
void lnet_stream_uv_make_ready(struct lnet_stream *stream);
void lnet_stream_uv_event(uv_poll_t *poll, int status, int events);
void lnet_stream_uv_connected(struct lnet_stream *stream);

#endif
