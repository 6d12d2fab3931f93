/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A tree of PMI servers and their clients in memory: moves bytes in pieces of a chosen size, loses,
 * doubles and reorders datagrams by seed, and writes down what the servers tell their embedder.
 */
#ifndef JACQUARD_TESTS_PMI_DRIVER_H
#define JACQUARD_TESTS_PMI_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "pmi2/server.h"

struct driver_options {
    uint32_t nodes, fan_out; /* one server for each node; 0: 1, 16 */
    bool shared; /* one store for all */
    bool lossy, strict_utf8, name_server;
    uint32_t lose, twice, late; /* of 1000 datagrams */
    size_t piece; /* bytes moved at once; 0: all there is */
    uint64_t seed;
    struct pmi2_limits limits;
    const uint8_t *key;
    bool quiet; /* writes nothing down */
};

struct text {
    char *at; /* terminated; NULL: empty */
    size_t length, capacity;
};

struct peer { /* the other end of a link */
    struct driver *driver;
    struct pmi2_link *link;
    struct peer *other; /* of a link between servers */
    struct peer *next_output;
    uint32_t server;
    struct text in; /* what a client was sent */
    bool closed, has_output, deaf; /* deaf: does not read */
    const char *reason;
    void (*received)(struct peer *peer, const void *bytes, size_t length);
    void *context;
};

struct driver {
    struct driver_options options;
    struct pmi2_server **servers;
    struct pmi2_store *store;
    struct peer **peers;
    uint32_t server_count, peer_count, peer_capacity;
    struct peer *first_output, *last_output;
    struct text log; /* "<server> <action> …\n" */
    uint64_t random, now, datagrams;
    uint64_t bytes; /* moved between servers */
    uint64_t rounds; /* of driver_run_rounds in which servers sent something to each other */
    const char *last_job; /* of the last abort, spawn, … */
    uint64_t last_spawn, last_name;
    void (*on_spawn)(struct driver *driver, const struct pmi2_spawn *spawn);
    void *held; /* datagrams that come late */
    void *user;
    void (*inside)(bool server); /* a server is entered with bytes, and left */
};

struct driver *driver_new(const struct driver_options *options);
void driver_free(struct driver *driver);
uint32_t driver_random(struct driver *driver, uint32_t below);

/* Ranks in blocks, as many on each node. The id is the server's. */
const char *driver_job(struct driver *driver, uint32_t ranks);
const char *driver_job_info(struct driver *driver, const struct pmi2_job_info *info);
/* Rank of a job on the node where it is; NULL when it is refused. */
struct peer *driver_client(struct driver *driver, const char *job, uint32_t rank, uint32_t node);
struct peer *driver_port(struct driver *driver, const char *job, uint32_t node,
                         enum pmi2_auth auth);
/* Until nothing moves any more. */
void driver_run(struct driver *driver);
/* The same in rounds: what is sent in one arrives with the next. */
void driver_run_rounds(struct driver *driver);
void driver_time(struct driver *driver, uint64_t nanoseconds); /* later; runs */
/* Time goes on until nothing is waited for, or so long. */
void driver_settle(struct driver *driver, uint64_t nanoseconds);

void driver_bytes(struct peer *peer, const void *bytes, size_t length); /* runs */
void driver_post(struct peer *peer, const void *bytes, size_t length); /* does not run */
void driver_send(struct peer *peer, const char *text);
void driver_frame(struct peer *peer, const char *payload); /* with its length */
void driver_hang_up(struct peer *peer);
/* A peer that had stopped reading reads again, as if its connection had become writable; runs. */
void driver_resume_reading(struct peer *peer);
/* The end that `server` has of its link upwards. */
struct peer *driver_parent(struct driver *driver, uint32_t server);
/* Both ends of the link between a server and the one above it are cut, and it is gone. */
void driver_kill_server(struct driver *driver, uint32_t server);
void text_add(struct text *text, const void *bytes, size_t length);
void text_print(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
