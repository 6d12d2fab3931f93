/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the uGNI workloads share: a communication domain with its queues, registered memory that all
 * ranks know of, endpoints made on first use, and completion of posts. Everything returns 0 or -1
 * (booked with rank_fail) unless it says otherwise.
 */
#ifndef JACQUARD_WORKLOADS_COMMON_H
#define JACQUARD_WORKLOADS_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gni_pub.h"
#include "run/workload.h"

struct peer { /* what every rank tells the others */
    uint64_t base;
    gni_mem_handle_t handle;
    uint32_t address;
};

struct domain {
    struct rank *rank;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t source; /* completions of posts and sends */
    gni_cq_handle_t target; /* events of the registered memory; NULL: none wanted */
    uint32_t address;
    uint8_t *memory;
    size_t bytes;
    gni_mem_handle_t handle;
    const struct peer *peers; /* by rank, after domain_share */
    gni_ep_handle_t *endpoints; /* by rank; NULL: not made yet */
    uint64_t errors; /* transactions that ended with an error, retried or not */
};

/* Attaches; source queue of so many entries, target queue likewise (0: none). modes:
 * GNI_CDM_MODE_*. */
int domain_open(struct domain *domain, struct rank *rank, uint32_t modes, uint32_t source_entries,
                uint32_t target_entries);
/* Registers zeroed memory of this size, tells all ranks where it is, and learns where theirs is.
 * All ranks must call. */
int domain_share(struct domain *domain, size_t bytes);
/* Releases everything; waits for nobody. */
void domain_close(struct domain *domain);

/* The endpoint to a rank; made and bound at first use. NULL: failed. */
gni_ep_handle_t domain_endpoint(struct domain *domain, uint32_t rank);

/* Posts by type, FMA or RDMA; retries while resources are short, reaping completions meanwhile. */
int domain_post(struct domain *domain, uint32_t rank, gni_post_descriptor_t *post);
/*
 * The next completed post of the source queue. *post is NULL when none is there yet and wait is
 * false. A transaction that failed is counted; when it is recoverable it is posted again, at most 8
 * times. Returns 0; 1 when *post has failed for good.
 */
int domain_reap(struct domain *domain, bool wait, gni_post_descriptor_t **post);
/* Posts one and waits for it. Returns 0; 1 when it failed for good; -1 */
int domain_transfer(struct domain *domain, uint32_t rank, gni_post_descriptor_t *post);

/* A descriptor between [local, +length) of this rank's memory and offset `remote` of another's. */
void post_fill(const struct domain *domain, gni_post_descriptor_t *post, gni_post_type_t type,
               uint32_t rank, size_t local, size_t remote, size_t length);

/* A byte pattern that depends on rank, round and position; and its check (NULL: equal, else where
 * it is not). */
void pattern_fill(uint8_t *bytes, size_t length, uint32_t rank, uint64_t round);
bool pattern_check(const uint8_t *bytes, size_t length, uint32_t rank, uint64_t round);

#endif
