/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * TCP as socklnd uses it, in two implementations: stream_sim.c over sim/net in virtual time, and
 * ../../live/stream_uv.c over real sockets. The protocol (connection types, HELLO, races, timeouts,
 * framing) is written once, above this header.
 *
 * Threads: all calls and callbacks with the node's lock held. A callback is never called from
 * within the call that asked for it.
 */
#ifndef JACQUARD_LNET_STREAM_H
#define JACQUARD_LNET_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include "core/host.h"
#include "core/lnd.h"

struct lnet_stream;
struct lnet_listener;
struct lnet_stream_host; /* the TCP of one network interface */

struct lnet_stream_address {
    uint32_t address; /* IPv4, host order */
    uint16_t port;
};

/* Ports that only the system may bind; socklnd's secure mode accepts connections from these. */
#define LNET_RESERVED_PORT_MIN 512
#define LNET_RESERVED_PORT_MAX 1023

/* Callbacks of a stream. */
struct lnet_stream_handler {
    /* Of lnet_stream_connect: 0 or an error. After an error the owner still has to close. */
    void (*connected)(void *owner, int status);
    /* The peer closed (0) or the connection failed; the stream's reads and writes are gone, their
     * callbacks do not come. The owner still has to call lnet_stream_close. */
    void (*closed)(void *owner, int status);
    unsigned fetch_lines; /* lines of the cache at `owner` that a read's end will use; a hint */
};

/* One write: `head` and then the fragments. The memory stays valid until `done`. Owned by the
 * caller. */
struct lnet_stream_write {
    struct lnet_stream_write *next;
    const void *head;
    uint32_t head_bytes;
    struct lnet_fragments payload; /* count 0: none */
    uint32_t offset, length; /* of the payload */
    void (*done)(struct lnet_stream_write *write); /* all bytes are in the socket */
};

/* NULL and *error: the interface has no network. */
struct lnet_stream_host *lnet_stream_host_open(struct lnet_node *node,
                                               const struct lnet_interface *interface, int *error);
struct lnet_stream_options { /* of the streams that are made from now on */
    bool nagle;
    uint32_t send_buffer, receive_buffer; /* bytes; 0: the system's */
    uint32_t keepalive_idle, keepalive_interval; /* seconds; 0: the system's */
    uint32_t keepalive_count;
};
void lnet_stream_host_set_options(struct lnet_stream_host *host,
                                  const struct lnet_stream_options *options);
/* The machine loses power: nothing more is sent or answered until it is opened again. */
void lnet_stream_host_crash(struct lnet_stream_host *host);
/* All its streams and listeners are closed. */
void lnet_stream_host_close(struct lnet_stream_host *host);

/* Connects from the interface to an address. The stream exists at once; `connected` comes later.
 * `reserved`: from a reserved port, where the process may bind one. */
struct lnet_stream *lnet_stream_connect(struct lnet_stream_host *host,
                                        struct lnet_stream_address to, bool reserved,
                                        const struct lnet_stream_handler *handler, void *owner);
/* Accepts on a port of the interface's address until lnet_listener_close. `accepted` gets a stream
 * without owner, and calls lnet_stream_adopt or closes it. NULL and *error: the port cannot be
 * bound. */
struct lnet_listener *lnet_listen(struct lnet_stream_host *host, uint16_t port, uint32_t backlog,
                                  void (*accepted)(void *owner, struct lnet_stream *stream),
                                  void *owner, int *error);
void lnet_listener_close(struct lnet_listener *listener);
void lnet_stream_adopt(struct lnet_stream *stream, const struct lnet_stream_handler *handler,
                       void *owner);
/* What the end of a read will use besides the owner; NULL: nothing. It is fetched into the cache
 * before bytes arrive, and may be freed: it is never read. */
#define LNET_STREAM_HINTS 3
void lnet_stream_hint(struct lnet_stream *stream, const void *const hints[LNET_STREAM_HINTS]);
struct lnet_stream_address lnet_stream_local(const struct lnet_stream *stream);
struct lnet_stream_address lnet_stream_peer(const struct lnet_stream *stream);

/*
 * Writes are sent in order; any number may wait. True: all bytes are in the socket, `done` is not
 * called. False: `done` comes later.
 */
bool lnet_stream_write(struct lnet_stream *stream, struct lnet_stream_write *write);
/* Fetches into the cache what a write will use. */
void lnet_stream_fetch(const struct lnet_stream *stream);
/* Memory that a write uses besides, to be fetched; NULL: none. */
const void *lnet_stream_shared(const struct lnet_stream *stream);
uint64_t lnet_stream_queued(const struct lnet_stream *stream); /* bytes not yet acknowledged */
/* Bytes that the peer's TCP has acknowledged so far: a stalled connection acknowledges nothing. */
uint64_t lnet_stream_acknowledged(const struct lnet_stream *stream);
/* Bytes that have arrived so far, also in the middle of a read. */
uint64_t lnet_stream_received(const struct lnet_stream *stream);
/*
 * Asks for exactly `length` bytes: into the fragments at `offset`, or discarded (`to` NULL). One
 * read at a time; `done` comes when all of them are there. The array of fragments stays
 * valid until `done`. While there is no read, the stream takes nothing from the network
 * beyond its window.
 */
void lnet_stream_read(struct lnet_stream *stream, const struct lnet_fragments *to, uint32_t offset,
                      uint32_t length, void (*done)(void *owner));
/* The same into one buffer. */
void lnet_stream_read_buffer(struct lnet_stream *stream, void *to, uint32_t length,
                             void (*done)(void *owner));
/* Closes; no callback comes any more. Writes that are not done are the owner's again; bytes that
 * are in the socket still go out. `reset`: the peer gets -ECONNRESET instead of an orderly end. */
void lnet_stream_close(struct lnet_stream *stream, bool reset);

#endif
