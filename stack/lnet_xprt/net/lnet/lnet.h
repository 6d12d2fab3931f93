/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The LNet transport of m0_net. An end point's address is "NID:PID:portal:TMID", as in
 * "10.72.49.14@o2ib:12345:42:7"; m0_net_tm_start also takes "*" as TMID, and assigns the highest
 * that is free. PID is M0_NET_LNET_PID, portals are 1 to 63, TMIDs 0 to 4095.
 */
#ifndef JACQUARD_M0_NET_LNET_LNET_H
#define JACQUARD_M0_NET_LNET_LNET_H

#include "net/net.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    M0_NET_LNET_PID = 12345,
    M0_NET_LNET_XEP_ADDR_LEN = 80, /* with the NUL */
    M0_NET_LNET_TM_STAT_INTERVAL_SECS = 300,
};

/*
 * The transport in two flavours: of a process, which reaches the kernel's part through a driver,
 * under both of its names; and with the kernel's part in the same address space.
 */
extern const struct m0_net_xprt m0_net_lnet_xprt, m0_lnet_xprt;
extern const struct m0_net_xprt m0_net_lnet_kxprt;

/* Compares the network parts of two addresses, the text before the first colon: 0 equal, else as
 * strcmp(3), and -1 also if an address has no colon. */
int m0_net_lnet_ep_addr_net_cmp(const char *addr1, const char *addr2);

/* Lustre uses that portal. A machine there works, as match bits tell apart what arrives, but a
 * configuration should choose another: 42 is free. */
bool m0_net_lnet_portal_is_lustres(uint32_t portal);

/* The NIDs of the domain's host as texts; the list ends with NULL and goes back to ifaces_put,
 * which sets *addrs to NULL. 0 or -ENOMEM. Not while the domain is finalised. */
int m0_net_lnet_ifaces_get(struct m0_net_domain *dom, char ***addrs);
void m0_net_lnet_ifaces_put(struct m0_net_domain *dom, char ***addrs);

/* Makes the transport known to m0_net, if it is not yet, and its default, if it has none. 0. */
int m0_net_lnet_init(void);
void m0_net_lnet_fini(void); /* the opposite; no effect if it is not known */
int m0_net_lnet_kinit(void);
void m0_net_lnet_kfini(void);

void m0_net_lnet_dom_set_debug(struct m0_net_domain *dom, unsigned dbg);
void m0_net_lnet_tm_set_debug(struct m0_net_transfer_mc *tm, unsigned dbg);

/* How often a TM that starts later looks for buffers whose time is over; 15 s at first. */
void m0_net_lnet_dom_set_timeout_tick(struct m0_net_domain *dom, m0_time_t tick);

/*
 * Whether processes submit operations in batches; no machine was started in the domain. Then those
 * of callbacks go to the kernel together, after the last callback, and
 * m0_net_buffer_add may return 0 for an operation that fails later, with an event. Passive buffers
 * do not wait.
 */
void m0_net_lnet_dom_set_batched(struct m0_net_domain *dom, bool batched);
/* Where operations are submitted in batches: those between begin and end go together, at the end.
 * Pairs may nest. The TM is started, and its mutex is not held. */
void m0_net_lnet_tm_batch_begin(struct m0_net_transfer_mc *tm);
void m0_net_lnet_tm_batch_end(struct m0_net_transfer_mc *tm);

#ifdef __cplusplus
}
#endif

#endif
