/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The small networks of the Madeleine II paper, as a cluster uses them. A network of a kind has
 * devices of that kind on its endpoints; programs reach them by the API of the kind (sisci_api.h,
 * ...). Which endpoints can reach each other, and which packets are lost, is what the network
 * (net/net.h) below says: links and nodes fail there, and rules apply at its packet point. When
 * something happens is what the model of the kind says.
 */
#ifndef JACQUARD_LEGACY_NETWORK_H
#define JACQUARD_LEGACY_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/fault.h"
#include "net/net.h"

enum legacy_kind { LEGACY_NONE, LEGACY_SCI, LEGACY_ETHERNET, LEGACY_VIA, LEGACY_SBP, LEGACY_KINDS };

/* As scenarios name it: "sci". NULL: LEGACY_NONE, or a kind that has no model. */
const char *legacy_kind_name(enum legacy_kind kind);

/* A number of a model. Times are in microseconds, and so are times for each byte. */
struct legacy_param {
    const char *name; /* "sci.base_us" */
    double value; /* the default */
    const char *source; /* where it comes from */
};
/* The numbers of a kind; they begin with the costs of struct legacy_step's steps. */
const struct legacy_param *legacy_params(enum legacy_kind kind, size_t *count);

/* What a message library does on the CPU; the costs depend on the kind of network. */
enum legacy_step {
    LEGACY_BEGIN_PACKING,
    LEGACY_PACK, /* a block */
    LEGACY_END_PACKING,
    LEGACY_BEGIN_UNPACKING,
    LEGACY_UNPACK, /* a block */
    LEGACY_END_UNPACKING,
    LEGACY_COPY, /* for each byte */
    LEGACY_CREDIT, /* it has waited for the receiver's permission to go on */
    LEGACY_STEPS
};

struct legacy_network;
struct legacy_network_config {
    enum legacy_kind kind;
    const char *name; /* must outlive the network */
    struct net *net; /* of the cluster; single switch */
    struct sim_fault_point *packet_point;
    uint64_t seed;
};
/* Between sim_init and sim_fini. */
struct legacy_network *legacy_network_create(const struct legacy_network_config *config);
void legacy_network_destroy(struct legacy_network *network);
/* False: the kind has no number of this name, or the value is negative or not finite. */
bool legacy_network_set(struct legacy_network *network, const char *param, double value);

/* A process of a node, as the models see it. */
struct legacy_place {
    struct legacy_network *network;
    uint32_t endpoint;
    uint64_t process; /* no other process of the run has this number: its job, and in the low 32
                         bits its rank */
    uint32_t rank, size; /* in its job */
};
/*
 * Finds the device of a kind that the calling process has on its node: number `adapter` of them, in
 * the order of the networks. False: none, or no process calls.
 */
typedef bool legacy_find_fn(enum legacy_kind kind, uint32_t adapter, struct legacy_place *place);
void legacy_set_find(legacy_find_fn *find); /* NULL at the end of a cluster */
/* The endpoint of a process, whose rank its job has; UINT32_MAX: none. *alive: it has not ended. */
typedef uint32_t legacy_locate_fn(const struct legacy_network *network, uint64_t process,
                                  bool *alive);
void legacy_set_locate(legacy_locate_fn *locate);

/* The process has ended, or was killed: the system releases what it has in the devices. */
void legacy_process_left(struct legacy_network *network, uint32_t endpoint, uint64_t process);

/* Charges the CPU time of a step to the running fiber. `amount`: bytes, or how often. */
void legacy_spend(const struct legacy_network *network, enum legacy_step step, uint64_t amount);

struct legacy_counters {
    uint64_t packets, bytes, lost, unreachable;
    uint64_t dropped; /* messages that the receiver had no room for */
};
void legacy_counters_get(const struct legacy_network *network, struct legacy_counters *counters);

#endif
