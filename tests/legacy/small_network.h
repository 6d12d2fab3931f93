/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A small network with one process on each endpoint, for tests of the emulated APIs. */
#ifndef TESTS_LEGACY_SMALL_NETWORK_H
#define TESTS_LEGACY_SMALL_NETWORK_H

#include "engine/sim.h"
#include "legacy/network.h"

#include <stdio.h>

enum { WORLD_PROCESSES = 4 };

struct world_options {
    enum legacy_kind kind;
    uint64_t seed;
    void (*prepare)(struct legacy_network *network); /* rules and parameters; NULL: none */
};
/* Runs one process for each body, on endpoints 0, 1, ... to the end; checks that all returned. */
void world_run(const struct world_options *options, void (*const bodies[])(void), unsigned count);
extern struct legacy_network *world_network;
extern struct net *world_net;
/* Takes the cable of an endpoint down or up. */
void world_cable(unsigned endpoint, bool alive);
unsigned world_self(void); /* the endpoint of the calling process */
/* The process on an endpoint is killed. */
void world_kill(unsigned endpoint);
extern unsigned world_failures;

/* In a process: cmocka's own checks would leave its stack. */
#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            world_failures++;                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE_NAME__, __LINE__, #condition); \
        }                                                                        \
    } while (0)

#endif
