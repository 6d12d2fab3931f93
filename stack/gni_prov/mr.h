/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory regions (mr.c) and the cache of registrations (mr_cache.c). */
#ifndef GNIP_MR_H
#define GNIP_MR_H

#include "gnip.h"
#include "port/list.h"

struct gnip_mr_entry;

struct gnip_mr {
    struct fid_mr fid; /* of the application */
    struct gnip_domain *domain;
    struct gnip_nic *nic;
    struct gnip_auth *auth;
    gni_mem_handle_t handle;
    uint64_t address, bytes, access;
    struct gnip_mr_entry *entry; /* its registration, possibly shared; NULL: VMDH */
    uint32_t uses; /* by the application and by operations; the last one ends it */
    bool vmdh;
    struct port_link link; /* the cache's list of them */
};
int gnip_mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
                uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context);
extern const struct fi_ops_mr gnip_mr_ops;
/*
 * To be called before an EP registers memory for the first time (fi_enable). No lock is held. 0 or
 * -errno.
 */
int gnip_mr_prepare(struct gnip_ep *ep);
/*
 * Registers the buffer of an operation that came without a descriptor. ep->lock may be held.
 * `written`: the network writes it. 0 or -errno; -FI_EAGAIN: no resources now.
 */
int gnip_mr_auto(struct gnip_ep *ep, const void *address, uint64_t bytes, bool written,
                 struct gnip_mr **mr);
/* ends a use by gnip_mr_auto, or one use of the application's region */
void gnip_mr_release(struct gnip_mr *mr);
void gnip_mr_use(struct gnip_mr *mr);
/*
 * The descriptor that an application gave is a region of the EP's domain that covers this memory,
 * and allows the network to write there if `written`. Some applications give a region of another
 * domain, or the address of an array of regions.
 */
bool gnip_mr_serves(const struct gnip_ep *ep, const struct gnip_mr *mr, const void *buffer,
                    uint64_t bytes, bool written);
uint64_t gnip_handle_key(const gni_mem_handle_t *handle, bool read_only);

/*
 * Registrations of a domain. Regions and operations share a registration that covers their memory.
 * A registration without users is kept (lazy deregistration).
 */
struct gnip_mr_counts {
    uint32_t in_use, stale; /* the present registrations */
    uint64_t hits, misses, evicted, invalidated;
};
/*
 * Makes the bank of registrations for these credentials. nic: the NIC that registers. NULL: one is
 * found or opened, and no lock may be held. 0 or -errno.
 */
int gnip_mr_cache_open(struct gnip_domain *domain, struct gnip_auth *auth, struct gnip_nic *nic);
/*
 * Adds a use of a registration that covers the memory. 0, -FI_EAGAIN (no resources), or another
 * errno.
 */
int gnip_mr_cache_get(struct gnip_domain *domain, struct gnip_auth *auth, const void *address,
                      uint64_t bytes, bool written, struct gnip_mr **registered);
void gnip_mr_cache_use(struct gnip_mr_entry *entry);
void gnip_mr_cache_put(struct gnip_mr_entry *entry);
void gnip_mr_cache_expose(struct gnip_mr_entry *entry); /* its key is sent to peers */
struct gnip_nic *gnip_mr_cache_nic(struct gnip_domain *domain, struct gnip_auth *auth);
void gnip_mr_cache_free(struct gnip_domain *domain);
int gnip_mr_cache_flush(struct gnip_domain *domain);
/*
 * The NICs were released and opened again: registers all memory in use, under the same keys. 0;
 * -FI_EKEYREJECTED: some keys have changed; -errno.
 */
int gnip_mr_cache_restore(struct gnip_domain *domain);
void gnip_mr_cache_add_region(struct gnip_mr *mr);
void gnip_mr_cache_remove_region(struct gnip_mr *mr);
int gnip_mr_reserve_anew(struct gnip_mr *mr); /* VMDH; 0 or -errno */
void gnip_mr_cache_counts(struct gnip_domain *domain, struct gnip_mr_counts *counts);

#endif
