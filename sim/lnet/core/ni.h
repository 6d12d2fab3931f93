/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* NIs that come and go while LNet runs, and what other files do then. */
#ifndef JACQUARD_LNET_NI_H
#define JACQUARD_LNET_NI_H

#include "core/internal.h"
#include "uapi/linux/lnet/lnet-dlc.h"

/* ---- ni.c ------------------------------------------------------------------------------------ */

/* `interface` NULL: the first one that fits; `tunables` NULL, or a value of -1: the driver's. The
 * network comes into being with its first NI. */
int lnet_ni_start(struct lnet_node *node, uint32_t net, const char *interface,
                  const struct lnet_ioctl_config_lnd_cmn_tunables *tunables);
/* One of the node, or of its host; `name` NULL: the first one of the node. */
bool lnet_interface_get(const struct lnet_node *node, uint32_t lnd_type, const char *name,
                        struct lnet_interface *interface);
/* Ends all messages that it sends, and its driver. */
void lnet_ni_stop(struct lnet_ni *ni);
void lnet_ni_free(struct lnet_ni *ni);

/* ---- ni_change.c ----------------------------------------------------------------------------- */

/*
 * One network, as in the parameter `networks`: it is new, or gets more interfaces. -EUSERS: a route
 * leads to that network. -EEXIST: the interface has an NI there. -EINVAL: no text of one network, a
 * network of unknown kind, or no credits. Other errors are the driver's. Nothing has changed then.
 */
int lnet_net_add(struct lnet_node *node, const char *text,
                 const struct lnet_ioctl_config_lnd_cmn_tunables *tunables);
/* The same for one interface; NULL or empty: the first one that fits. */
int lnet_ni_add(struct lnet_node *node, uint32_t net, const char *interface,
                const struct lnet_ioctl_config_lnd_cmn_tunables *tunables);
/* -EINVAL: the loopback network. -ENOENT: there is no such network. -EAGAIN: a thread of the driver
 * is in a call of LNet; nothing has changed. */
int lnet_net_delete(struct lnet_node *node, uint32_t net);
/* The network goes with its last NI; address 0: all of its NIs. */
int lnet_ni_delete(struct lnet_node *node, lnet_nid_t nid);
/* ADD_NET, DEL_NET, ADD_LOCAL_NI, DEL_LOCAL_NI. 1: the command is none of them. */
int lnet_ni_control(struct lnet_node *node, unsigned command, void *argument);

/* ---- what others do when an NI goes, or a network comes or goes ------------------------------ */

void lnet_delay_flush_ni(const struct lnet_ni *ni); /* delay.c: ends what rules hold */
void lnet_router_flush_ni(struct lnet_ni *ni); /* router.c: drops what waits for buffers */
void lnet_peers_net_added(struct lnet_net *net); /* peer.c */
void lnet_peers_net_removed(struct lnet_net *net);
/* ping.c: the ping target tells the present NIs. */
int lnet_ping_update(struct lnet_node *node);
/* discovery.c: multi-rail peers that know this node learn its NIs anew. */
void lnet_discovery_push_all(struct lnet_node *node);

#endif
