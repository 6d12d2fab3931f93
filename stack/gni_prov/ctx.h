/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the provider keeps for each process (ctx.c), and credentials (auth.c). */
#ifndef GNIP_CTX_H
#define GNIP_CTX_H

#include "gnip.h"
#include "port/list.h"

/* Credentials, and the state of their keys (auth.c). */
struct gnip_auth {
    struct port_link link; /* gnip_ctx.auths */
    uint32_t cookie;
    uint8_t ptag;
    bool enabled; /* in use: its limits cannot change */
    bool limits_set; /* set by "fab ops 2": they no longer follow "fab ops 1" */
    bool used_basic, used_vmdh;
    uint32_t user_limit, prov_limit; /* of keys */
    /* of the user's keys: the number and the first one of this process */
    uint32_t partition, offset;
    uint64_t *used; /* bitmap of keys; NULL: not allocated yet */
    struct port_link nics; /* gnip_nic.auth_link */
    uint32_t nic_count;
};

/* Statistics for tests and tools; no decision depends on them. */
struct gnip_counts {
    uint64_t conn_req, conn_resp, conn_nak; /* messages sent */
    uint64_t doorbells, window_stalls, credit_stalls, txd_stalls;
    uint64_t rx_overruns, ignored, replays, probes;
    uint64_t cdm_created;
    uint64_t transitions[7][7]; /* of VCs: [from][to], enum gnip_vc_state; [0][NONE]: new VCs */
    uint64_t closes, datagrams_failed, mailboxes_lost, illegal_transitions;
};

struct gnip_ctx {
    struct port_mutex lock; /* protects everything here */
    uint32_t refs; /* fabrics */
    struct port_link auths; /* the first one is the default */
    /* range of ids, below 2^24, and the offset of the next one */
    uint32_t cdm_first, cdm_count, cdm_next;
    uint32_t incarnation;
    uint32_t node_rank, node_processes; /* for keys and limits of resources */
    uint32_t nics_per_ptag;
    uint32_t wait_sleep, user_key_limit, prov_key_limit, shared_memory_timeout; /* "fab ops 1" */
    struct gnip_counts counts;
    struct port_link domains; /* gnip_domain.ctx_link */
    bool suspended; /* all domains and NICs are suspended */
};
/*
 * The context of the calling process; makes it if there is none. Adds a reference. NULL: no memory.
 */
struct gnip_ctx *gnip_ctx_get(void);
struct gnip_ctx *gnip_ctx_current(void); /* adds no reference; NULL: no fabric is open */
void gnip_ctx_put(struct gnip_ctx *ctx);
void gnip_ctx_incarnate(struct gnip_ctx *ctx); /* a new incarnation */
uint32_t gnip_ctx_cdm(struct gnip_ctx *ctx, uint32_t count); /* the first of `count` fresh ids */
/* Whether this process has a NIC, and its address. Opens nothing. 0 or -errno. */
int gnip_local_nic(uint32_t *nic_address);
/* The place of the calling process, and the resources that it may use there. */
struct gnip_place {
    uint32_t nic_address;
    uint8_t ptag; /* the first pair of credentials */
    uint32_t cookie;
    bool rank_known;
    uint32_t node_rank, node_processes; /* 0 and 1 when they are not known */
    uint32_t nics; /* per protection tag, at least 1 */
    uint64_t cqs; /* of the job on this node; 0: not known */
};
int gnip_place_find(struct gnip_place *place); /* opens nothing. 0 or -errno */

/* auth.c. The credentials of a key; key NULL: the default ones. 0, -FI_EINVAL or -FI_EIO. */
int gnip_auth_find(struct gnip_ctx *ctx, const uint8_t *key, size_t key_bytes,
                   struct gnip_auth **auth);
/*
 * Marks them as used, which fixes their limits. -FI_EINVAL: memory is registered in the other mode.
 */
int gnip_auth_use(struct gnip_ctx *ctx, struct gnip_auth *auth, bool vmdh);

#endif
