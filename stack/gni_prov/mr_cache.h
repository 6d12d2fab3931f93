/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registrations of a domain: what mr_cache.c and mr_restore.c share. */
#ifndef GNIP_MR_CACHE_H
#define GNIP_MR_CACHE_H

#include "ctx.h"
#include "domain.h"
#include "gnip.h"
#include "list.h"
#include "lock.h"
#include "mr.h"
#include "nic.h"

enum gnip_mr_state {
    GNIP_MR_IN_USE,
    GNIP_MR_STALE,
    GNIP_MR_RETIRED,
    GNIP_MR_STATES = GNIP_MR_RETIRED
};

struct gnip_mr_side;

/* A registration; tree nodes by address, of those in use or of those that are not. */
struct gnip_mr_entry {
    struct gnip_mr mr; /* what operations without a descriptor are given */
    struct gnip_mr_bank *bank;
    struct gnip_mr_side *side;
    enum gnip_mr_state state;
    bool written; /* the network may write it */
    bool exposed; /* peers may have its key: not kept when it is unused */
    uint32_t uses;
    uint64_t first, end, end_max; /* whole pages; the greatest end below this node */
    uint64_t sequence, priority;
    struct gnip_mr_entry *left, *right;
    struct gnip_mr_entry *next; /* of a list that a search makes */
    struct gnip_link age; /* GNIP_MR_STALE: cache->stale */
    struct gnip_link all; /* cache->entries */
};

/* Registrations that the network may write to, or those that it may not. */
struct gnip_mr_side {
    struct gnip_mr_entry *roots[GNIP_MR_STATES];
};

struct gnip_mr_bank { /* of one set of credentials */
    struct gnip_mr_bank *next;
    struct gnip_auth *auth;
    struct gnip_nic *nic; /* a reference */
    struct gnip_mr_side sides[2];
};

struct gnip_mr_cache {
    struct gnip_domain *domain;
    struct gnip_lock lock; /* what follows */
    struct gnip_mr_bank *banks;
    struct gnip_link stale; /* of all banks, oldest first */
    struct gnip_link entries; /* in the order in which they were made */
    struct gnip_link regions; /* gnip_mr.link: of the application */
    struct gnip_mr_counts counts;
    uint64_t sequence;
    uint64_t changes; /* seen of port_memory_changed */
    bool shared; /* false: "none", each registration by itself */
    bool watched;
};

static inline struct gnip_mr_cache *gnip_mr_cache_of(struct gnip_domain *domain)
{
    return __atomic_load_n(&domain->mr_cache, __ATOMIC_ACQUIRE);
}
gni_return_t gnip_mr_register_pages(struct gnip_mr_bank *bank, uint64_t first, uint64_t end,
                                    bool written, gni_mem_handle_t *handle);

#endif
