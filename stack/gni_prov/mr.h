/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory regions (mr.c) and the cache of registrations (mr_cache.c). */
#ifndef GNIP_MR_H
#define GNIP_MR_H

#include "gnip.h"
#include "list.h"

struct gnip_mr_entry;

struct gnip_mr {
    struct fid_mr fid; /* of the application */
    struct gnip_domain *domain;
    struct gnip_nic *nic;
    struct gnip_auth *auth;
    gni_mem_handle_t handle;
    uint64_t address, bytes, access;
    struct gnip_mr_entry *entry; /* its registration, which others may share; NULL: VMDH */
    uint32_t uses; /* the application's, and operations'; ends with the last one */
    bool vmdh;
    struct gnip_link link; /* the cache's list of them */
};
int gnip_mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
                uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context);
extern const struct fi_ops_mr gnip_mr_ops;
/* Before an EP's memory is registered for the first time (fi_enable); no lock. 0 or -errno. */
int gnip_mr_prepare(struct gnip_ep *ep);
/* For an operation whose buffer came without a descriptor; ep->lock may be held. `written`: the
 * network writes it. 0 or -errno; -FI_EAGAIN: resources, try again. */
int gnip_mr_auto(struct gnip_ep *ep, const void *address, uint64_t bytes, bool written,
                 struct gnip_mr **mr);
void gnip_mr_release(struct gnip_mr *mr); /* of gnip_mr_auto; or one use of an application's */
void gnip_mr_use(struct gnip_mr *mr);
/* It covers this memory, and lets the network write there if that is wanted. */
bool gnip_mr_serves(const struct gnip_mr *mr, const void *buffer, uint64_t bytes, bool written);
uint64_t gnip_handle_key(const gni_mem_handle_t *handle, bool read_only);

/*
 * Registrations of a domain: shared by whoever asks for memory that one of them covers, kept when
 * nobody uses them any more (lazy deregistration).
 */
struct gnip_mr_counts {
    uint32_t in_use, stale; /* registrations now */
    uint64_t hits, misses, evicted, invalidated;
};
/* The registrations of these credentials, made if needed. nic: registers; NULL: found or made, then
 * no lock may be held. 0 or -errno. */
int gnip_mr_cache_open(struct gnip_domain *domain, struct gnip_auth *auth, struct gnip_nic *nic);
/* One use of a registration that covers the memory. 0, -FI_EAGAIN (resources), or another errno. */
int gnip_mr_cache_get(struct gnip_domain *domain, struct gnip_auth *auth, const void *address,
                      uint64_t bytes, bool written, struct gnip_mr **registered);
void gnip_mr_cache_use(struct gnip_mr_entry *entry);
void gnip_mr_cache_put(struct gnip_mr_entry *entry);
void gnip_mr_cache_expose(struct gnip_mr_entry *entry); /* a key of it is told to peers */
struct gnip_nic *gnip_mr_cache_nic(struct gnip_domain *domain, struct gnip_auth *auth);
void gnip_mr_cache_free(struct gnip_domain *domain);
int gnip_mr_cache_flush(struct gnip_domain *domain);
/* The NICs went and came again: registers all that is in use, under the keys that it had. 0;
 * -FI_EKEYREJECTED: some keys are others now; -errno. */
int gnip_mr_cache_restore(struct gnip_domain *domain);
void gnip_mr_cache_add_region(struct gnip_mr *mr);
void gnip_mr_cache_remove_region(struct gnip_mr *mr);
int gnip_mr_reserve_anew(struct gnip_mr *mr); /* VMDH; 0 or -errno */
void gnip_mr_cache_counts(struct gnip_domain *domain, struct gnip_mr_counts *counts);

#endif
