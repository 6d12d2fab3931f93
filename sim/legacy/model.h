/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The common form of the models (one folder for each kind). A model is a set of serial resources
 * with service times, which an operation visits in order. Times are whole nanoseconds, each service
 * time rounded to the nearest.
 */
#ifndef JACQUARD_LEGACY_MODEL_H
#define JACQUARD_LEGACY_MODEL_H

#include "legacy/network.h"

/* A kind of network: a static object of its folder, listed in network.c. */
struct legacy_model {
    const char *name; /* as scenarios name the kind */
    const struct legacy_param *params; /* begins with LEGACY_STEP_PARAMS */
    size_t param_count;
    /* The devices of all endpoints. `create` may register books of the ledger; it cannot fail. */
    void *(*create)(struct legacy_network *network);
    void (*destroy)(void *devices);
    void (*process_left)(void *devices, uint32_t endpoint, uint64_t process);
};
extern const struct legacy_model legacy_sci_model, legacy_ethernet_model, legacy_via_model,
    legacy_sbp_model;

#define LEGACY_MODEL_SPLIT "assumed split of the total that the paper measured"
/* The costs of a library's steps, in the order of enum legacy_step; `copy` is common to all. */
#define LEGACY_STEP_PARAMS(begin_packing, pack, end_packing, begin_unpacking, unpack,    \
                           end_unpacking, credit)                                        \
    {"mad.begin_packing_us", begin_packing, LEGACY_MODEL_SPLIT},                         \
        {"mad.pack_us", pack, LEGACY_MODEL_SPLIT},                                       \
        {"mad.end_packing_us", end_packing, LEGACY_MODEL_SPLIT},                         \
        {"mad.begin_unpacking_us", begin_unpacking, LEGACY_MODEL_SPLIT},                 \
        {"mad.unpack_us", unpack, LEGACY_MODEL_SPLIT},                                   \
        {"mad.end_unpacking_us", end_unpacking, LEGACY_MODEL_SPLIT},                     \
        {"mad.copy_us", 1.0 / 190, "memory copy of the testbed, 190 MB/s, assumed"},     \
    {                                                                                    \
        "mad.credit_us", credit, "a sender goes on after it has waited for its receiver" \
    }

struct legacy_network {
    const struct legacy_model *model;
    struct legacy_network_config config;
    double *values; /* of the model's params */
    struct legacy_counters counters;
    void *devices; /* the model's */
    uint32_t endpoints;
};

/* The time of `amount` units of a service, in picoseconds: whole nanoseconds. */
sim_time_t legacy_service(const struct legacy_network *network, uint32_t param, double amount);

/* Something that does one thing at a time. */
struct legacy_resource {
    sim_time_t free_at;
};
/* Occupies it for `service` as soon as it is free, not before `from`; the end of that. */
static inline sim_time_t legacy_occupy(struct legacy_resource *resource, sim_time_t from,
                                       sim_time_t service)
{
    resource->free_at = (resource->free_at > from ? resource->free_at : from) + service;
    return resource->free_at;
}

/* What becomes of a packet. */
enum legacy_outcome {
    LEGACY_DELIVERED,
    LEGACY_LOST, /* a rule dropped it, or damaged it so that the receiver drops it */
    LEGACY_UNREACHABLE /* a link or the node is down */
};
struct legacy_packet {
    uint32_t source, target; /* endpoints */
    uint32_t bytes;
    const char *what; /* static, for the record of a fault */
    sim_time_t delay; /* result: a rule delays it by so much */
};
/* Asks the rules and the network. Counts the packet. */
enum legacy_outcome legacy_transmit(struct legacy_network *network, struct legacy_packet *packet);
/* Whether there is a live path now; asks no rule. */
bool legacy_reachable(const struct legacy_network *network, uint32_t source, uint32_t target);

uint32_t legacy_endpoint_of(const struct legacy_network *network, uint64_t process);
bool legacy_process_alive(const struct legacy_network *network, uint64_t process);
bool legacy_find(enum legacy_kind kind, uint32_t adapter, struct legacy_place *place);

#endif
