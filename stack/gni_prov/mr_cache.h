/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registrations of a domain: what mr_cache.c, mr_tree.c and mr_restore.c share. */
#ifndef GNIP_MR_CACHE_H
#define GNIP_MR_CACHE_H

#include "ctx.h"
#include "domain.h"
#include "gnip.h"
#include "lock.h"
#include "mr.h"
#include "nic.h"
#include "port/list.h"

enum gnip_mr_state {
    GNIP_MR_IN_USE,
    GNIP_MR_STALE,
    GNIP_MR_RETIRED,
    GNIP_MR_STATES = GNIP_MR_RETIRED
};

struct gnip_mr_side;

/* A registration. It is a tree node by address, of the used or of the unused ones. */
struct gnip_mr_entry {
    struct gnip_mr mr; /* what operations without a descriptor get */
    struct gnip_mr_bank *bank;
    struct gnip_mr_side *side;
    enum gnip_mr_state state;
    bool written; /* the network may write to it */
    bool exposed; /* peers may have its key: it is not kept when it is unused */
    uint32_t uses;
    uint64_t first, end, end_max; /* whole pages; end_max: the greatest end in this subtree */
    uint64_t sequence, priority;
    uint64_t watch; /* of its pages: port_memory_watch_begin */
    struct gnip_mr_entry *left, *right;
    struct gnip_mr_entry *next; /* of the list that a search makes */
    struct port_link age; /* GNIP_MR_STALE: cache->stale */
    struct port_link all; /* cache->entries */
};

/* Registrations to which the network may write, or those to which it may not. */
struct gnip_mr_side {
    struct gnip_mr_entry *roots[GNIP_MR_STATES];
};

struct gnip_mr_bank { /* The registrations of one set of credentials. */
    struct gnip_mr_bank *next;
    struct gnip_auth *auth;
    struct gnip_nic *nic; /* a reference */
    struct gnip_mr_side sides[2];
};

struct gnip_mr_cache {
    struct gnip_domain *domain;
    struct gnip_lock lock; /* protects what follows */
    struct gnip_mr_bank *banks;
    struct port_link stale; /* of all banks, oldest first */
    struct port_link entries; /* in order of creation */
    struct port_link regions; /* gnip_mr.link: of the application */
    struct gnip_mr_counts counts;
    uint64_t sequence;
    uint64_t changes; /* position in the sequence of port_memory_changed */
    bool shared; /* false: "none", no registration is shared */
    bool watched;
};

static inline struct gnip_mr_cache *gnip_mr_cache_of(struct gnip_domain *domain)
{
    return __atomic_load_n(&domain->mr_cache, __ATOMIC_ACQUIRE);
}
/* mr_tree.c. The first two return the new root. */
struct gnip_mr_entry *gnip_mr_tree_insert(struct gnip_mr_entry *root, struct gnip_mr_entry *added);
struct gnip_mr_entry *gnip_mr_tree_remove(struct gnip_mr_entry *root,
                                          struct gnip_mr_entry *removed);
/* A registration that covers the whole range. NULL: there is none. */
struct gnip_mr_entry *gnip_mr_tree_find(struct gnip_mr_entry *root, uint64_t first, uint64_t end);
/* Puts the registrations that touch the range in front of the list, the greatest address first. */
void gnip_mr_tree_touching(struct gnip_mr_entry *root, uint64_t first, uint64_t end,
                           struct gnip_mr_entry **list);
/* mr_cache.c */
gni_return_t gnip_mr_register_pages(struct gnip_mr_bank *bank, uint64_t first, uint64_t end,
                                    bool written, gni_mem_handle_t *handle);

#endif
