/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address vectors (av.c). */
#ifndef GNIP_AV_H
#define GNIP_AV_H

#include "lock.h"
#include "name.h"

struct gnip_av {
    struct fid_av fid;
    struct gnip_domain *domain;
    struct gnip_refs refs;
    enum fi_av_type type;
    uint32_t addr_format;
    uint8_t rx_ctx_bits;
    uint32_t version; /* changes with each insertion and removal */
    struct gnip_lock lock;
    struct gnip_av_entry *entries; /* by index */
    uint32_t count, room;
    uint32_t free_first; /* a free place of a removed address, plus 1; 0: none */
    bool duplicates; /* one address was inserted more than once */
    struct gnip_av_hash *by_address;
};
int gnip_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
                 void *context);
/*
 * The name to send to. Takes the index of a receive context into account: cdm_id is that of the
 * context. 0 or -FI_EINVAL.
 */
int gnip_av_find(struct gnip_av *av, fi_addr_t address, struct gnip_name *name);
/* The same where av->lock is held, or where no thread of the process runs. */
int gnip_av_find_unlocked(const struct gnip_av *av, fi_addr_t address, struct gnip_name *name);
/* The fi_addr for a name, or FI_ADDR_NOTAVAIL. */
fi_addr_t gnip_av_reverse(struct gnip_av *av, const struct gnip_name *peer);

#endif
