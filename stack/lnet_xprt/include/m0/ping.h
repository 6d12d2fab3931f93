/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A functional test of all six queues of m0_net over any transport: a client sends "ping" and
 * expects "pong", lets the server write into a buffer of its own, and lets it read from one; both
 * sides check what arrives. Messages are 'm' with a text, or 'r' and 's' with the client's
 * descriptor.
 */
#ifndef JACQUARD_M0_PING_H
#define JACQUARD_M0_PING_H

#include <stdint.h>
#include <stdio.h>

struct m0_net_domain;
struct m0_net_xprt;
struct m0_ping; /* a server or a client */

struct m0_ping_options {
    /* That a server posts for messages, and has for its answers. Each client may need two at a
     * time; a request beyond them counts as an error. */
    uint32_t buffers;
    uint32_t segments; /* of each buffer */
    uint32_t segment_size;
    uint32_t bulk_size; /* bytes of a bulk transfer; at most a buffer's */
    uint32_t message_size; /* bytes of "ping" and "pong", with a pattern; 0: the words alone */
    uint32_t loops; /* of a client */
    uint32_t retries; /* of all loops together, if the server does not answer or is not there */
    uint64_t message_timeout; /* ns */
    uint64_t bulk_timeout;
    void (*prepare)(struct m0_net_domain *dom); /* called before its machine starts; NULL: none */
    struct m0_ping *share; /* whose domain it uses, and which ends after it; NULL: its own */
};
void m0_ping_options_default(struct m0_ping_options *options);

/*
 * A transfer machine at the address, in a domain of its own unless it shares one. NULL: *error is a
 * negative errno. One thread begins and ends it.
 */
struct m0_ping *m0_ping_server_start(const struct m0_net_xprt *xprt, const char *address,
                                     const struct m0_ping_options *options, int *error);
struct m0_ping *m0_ping_client_start(const struct m0_net_xprt *xprt, const char *address,
                                     const struct m0_ping_options *options, int *error);
/* All loops against the server at an address. 0 or the first negative errno; -EBADMSG: what came
 * back was not what it should be. */
int m0_ping_run(struct m0_ping *client, const char *server);
/* How many of them were repeated. */
uint32_t m0_ping_retried(const struct m0_ping *client);
/* Waits until a server's answers under way have ended; each has a timeout. */
void m0_ping_settle(struct m0_ping *ping);
/* Why the machine has failed since it was started, as when its daemon ended; 0: it has not. */
int m0_ping_lost(struct m0_ping *ping);
/* Where it listens. */
const char *m0_ping_address(const struct m0_ping *ping);

enum m0_ping_column {
    M0_PING_ADDS,
    M0_PING_DELS,
    M0_PING_SUCCESSES,
    M0_PING_FAILURES,
    M0_PING_TIME, /* ns in the queue */
    M0_PING_BYTES,
    M0_PING_MAXIMUM, /* bytes of one event */
    M0_PING_COLUMNS
};
enum { M0_PING_QUEUES = 6 };
/* The counters of a queue, in the order of the enumeration in net/net.h. */
void m0_ping_counters(struct m0_ping *ping, uint64_t table[M0_PING_QUEUES][M0_PING_COLUMNS]);
uint64_t m0_ping_errors(const struct m0_ping *ping); /* that callbacks reported */
/* The table of the queues, as text. */
void m0_ping_print(struct m0_ping *ping, FILE *to);
void m0_ping_stop(struct m0_ping *ping);

#endif
