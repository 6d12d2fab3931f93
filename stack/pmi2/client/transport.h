/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a client reaches its server: a stream of bytes in each direction. The libraries open the
 * descriptor or port that the environment names (socket.c); a simulation connects the rank to the
 * server of its simulated node (sim/run).
 */
#ifndef JACQUARD_PMI2_TRANSPORT_H
#define JACQUARD_PMI2_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pmi2_transport {
    void *context;
    /* All of it, blocking. False: the connection is gone. */
    bool (*write)(void *context, const void *bytes, size_t length);
    /* At least one byte, blocking; 0: the connection has ended. One thread at a time; other threads
     * may write meanwhile. */
    size_t (*read)(void *context, void *bytes, size_t size);
    void (*close)(void *context);
    uint8_t key[32]; /* for challenges; 0 bytes: the connection itself is proof */
    size_t key_bytes;
};

enum pmi2_connect {
    PMI2_CONNECTED,
    PMI2_SINGLETON, /* no server is known */
    PMI2_UNREACHABLE, /* one is known, but does not answer */
};
/*
 * Resolved at link time: socket.c, or the simulation's. `rank` and `size` are -1 unless the
 * environment has them (PMI_RANK, PMI_SIZE, or PMI_ID with PMI_PORT; unless there is a key, the
 * transport has done `initack` then).
 */
enum pmi2_connect pmi2_transport_open(struct pmi2_transport *transport, int *rank, int *size);

#endif
