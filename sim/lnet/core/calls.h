/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls between the files of core/, included by core/internal.h. */
#ifndef JACQUARD_LNET_CALLS_H
#define JACQUARD_LNET_CALLS_H

/* ---- init.c ---------------------------------------------------------------------------------- */

/* As a further LNetNIInit, but only where LNet runs; the end is LNetNIFini. 0 or -ENETDOWN. */
int lnet_instance_join(struct lnet_node *node);

/* ---- api.c: entering and leaving ------------------------------------------------------------- */

/* Begins a call of the API: lets the world catch up, and locks. NULL: the caller's node has no
 * LNet, or an assertion failed. `running`: LNet must be initialised. */
struct lnet_node *lnet_enter(const char *call, bool running);
/* Ends it, and charges its CPU time. */
void lnet_leave(struct lnet_node *node, int cost_ns);

/* ---- counters.c ------------------------------------------------------------------------------ */

void lnet_counters_since_reset(const struct lnet_node *node, struct lnet_counters *counters);

/* ---- handle.c -------------------------------------------------------------------------------- */

uint64_t lnet_handle_new(struct lnet_node *node, enum lnet_handle_type type, void *object);
void lnet_handle_free(struct lnet_node *node, uint64_t cookie);
void *lnet_handle_find(struct lnet_node *node, enum lnet_handle_type type, uint64_t cookie);
void lnet_handles_free(struct lnet_handles *handles);

/* ---- pool.c: objects that are made and freed all the time ------------------------------------ */

struct lnet_msg *lnet_msg_new(struct lnet_node *node);
void lnet_msg_free(struct lnet_msg *msg);
struct lnet_libmd *lnet_md_new(uint32_t fragments);
void lnet_md_free(struct lnet_libmd *md);
struct lnet_me *lnet_me_new(void);
void lnet_me_free(struct lnet_me *me);

/* ---- eq.c
 * ---------------------------------------------------------------------------------------- */

struct lnet_eq *lnet_eq_find(struct lnet_node *node, struct lnet_handle_eq handle);
void lnet_eq_enqueue(struct lnet_node *node, struct lnet_eq *eq, struct lnet_event *event);
void lnet_eq_free_all(struct lnet_node *node);
/* A queue of LNet's own, with a callback that may call the functions of this header. */
struct lnet_eq *lnet_eq_internal(struct lnet_node *node, lnet_eq_handler_t callback);
void lnet_eq_internal_free(struct lnet_eq *eq);

/* ---- md.c
 * ---------------------------------------------------------------------------------------- */

struct lnet_libmd *lnet_md_find(struct lnet_node *node, struct lnet_handle_md handle);
struct lnet_libmd *lnet_md_find_wire(struct lnet_node *node, const struct lnet_handle_wire *wire);
bool lnet_md_exhausted(const struct lnet_libmd *md);
bool lnet_md_unlinkable(const struct lnet_libmd *md);
/* Invalidates the handle and leaves the match entry; frees it if no operation is in flight. */
void lnet_md_unlink(struct lnet_node *node, struct lnet_libmd *md);
/* What LNetMDUnlink does with a descriptor that it found. */
void lnet_md_abort(struct lnet_node *node, struct lnet_libmd *md);
void lnet_md_snapshot(const struct lnet_libmd *md, struct lnet_md *snapshot);
int lnet_md_bind(struct lnet_node *node, const struct lnet_md *md, enum lnet_unlink unlink,
                 struct lnet_handle_md *handle);
int lnet_md_attach(struct lnet_node *node, struct lnet_me *me, const struct lnet_md *md,
                   enum lnet_unlink unlink, struct lnet_handle_md *handle);

/* ---- me.c
 * ---------------------------------------------------------------------------------------- */

int lnet_me_attach(struct lnet_node *node, uint32_t portal, struct lnet_process_id id,
                   uint64_t match_bits, uint64_t ignore_bits, enum lnet_unlink unlink,
                   enum lnet_ins_pos pos, struct lnet_me **me);
void lnet_me_remove(struct lnet_node *node, struct lnet_me *me);

/* ---- portal.c, lazy.c ------------------------------------------------------------------------ */

struct lnet_portal *lnet_portal_get(struct lnet_instance *instance, uint32_t number);
struct list_head *lnet_portal_list(struct lnet_portal *portal, struct lnet_process_id id,
                                   uint64_t match_bits, uint64_t ignore_bits, bool create);
void lnet_portals_free(struct lnet_node *node);

/* The request of a PUT or GET, as matching needs it. */
struct lnet_match_info {
    uint64_t match_bits;
    struct lnet_process_id id; /* primary NID of the sender */
    uint32_t operation; /* LNET_MD_OP_PUT or _GET */
    uint32_t portal, length, offset;
};
enum lnet_match { LNET_MATCH_NONE, LNET_MATCH_OK, LNET_MATCH_DROP };
/* On LNET_MATCH_OK the message is attached to the descriptor. */
enum lnet_match lnet_match_try(struct lnet_node *node, struct lnet_libmd *md,
                               const struct lnet_match_info *info, struct lnet_msg *msg);
/* LNET_MATCH_NONE: the message was put on the portal's queue, or is to be if it may be delayed. */
enum lnet_match lnet_match(struct lnet_node *node, const struct lnet_match_info *info,
                           struct lnet_msg *msg);
void lnet_match_info(const struct lnet_msg *msg, struct lnet_match_info *info);
/* A new descriptor takes what waits for it. */
void lnet_lazy_resume(struct lnet_node *node, struct lnet_libmd *md);
/* Drops what waits; ni not NULL: what came over that NI. */
void lnet_lazy_drop(struct lnet_node *node, struct lnet_portal *portal, const struct lnet_ni *ni);

/* ---- msg.c, event.c, finalize.c -------------------------------------------------------------- */

void lnet_msg_attach_md(struct lnet_msg *msg, struct lnet_libmd *md, uint32_t offset,
                        uint32_t mlength);
/* The operation is over: reports it, and frees the descriptor if it was the last. */
void lnet_msg_detach_md(struct lnet_msg *msg, int status);
void lnet_msg_commit_tx(struct lnet_msg *msg);
void lnet_msg_commit_rx(struct lnet_msg *msg, struct lnet_ni *ni);
void lnet_msg_decommit(struct lnet_msg *msg, int status);
void lnet_event_build(struct lnet_msg *msg, enum lnet_event_kind type);
void lnet_event_unlink(const struct lnet_libmd *md, struct lnet_event *event);
/* Prepares the header of a message to `target`. */
void lnet_prepare_send(struct lnet_msg *msg, uint32_t type, struct lnet_process_id target,
                       uint32_t offset, uint32_t length);
struct lnet_type_counts; /* counts one message of a type */
void lnet_count_type(struct lnet_type_counts *counts, uint32_t type);
/* Counts a message that is not sent, because its peer is dead. */
void lnet_drop_outgoing(struct lnet_msg *msg);

/* ---- send.c, path.c, credits.c
 * ------------------------------------------------------------------- */

/* Chooses a path and posts the message. `peer`: of the destination in the header, or NULL, and then
 * it is looked up. An error: the message was not posted; the caller finalizes. */
int lnet_send(struct lnet_msg *msg, lnet_nid_t source, struct lnet_peer_ni *peer);
/* A path: msg->tx_ni, tx_peer, next_hop, and the NIDs of the header. */
int lnet_path_select(struct lnet_msg *msg, lnet_nid_t source, struct lnet_peer_ni *peer);
void lnet_ni_send(struct lnet_msg *msg);
enum lnet_post { LNET_POST_OK, LNET_POST_WAIT }; /* or a negative error */
int lnet_post_send(struct lnet_msg *msg);
void lnet_return_tx_credits(struct lnet_msg *msg);
void lnet_post_ready(struct lnet_node *node);
void lnet_flush_ni(struct lnet_ni *ni,
                   int status); /* ends all messages that wait to be sent on it */
int lnet_put(struct lnet_node *node, lnet_nid_t self, struct lnet_handle_md md,
             enum lnet_ack_req ack, struct lnet_process_id target, uint32_t portal,
             uint64_t match_bits, uint32_t offset, uint64_t hdr_data);
int lnet_get(struct lnet_node *node, lnet_nid_t self, struct lnet_handle_md md,
             struct lnet_process_id target, uint32_t portal, uint64_t match_bits, uint32_t offset,
             bool recovery);

/* ---- parse.c
 * -------------------------------------------------------------------------------------- */

void lnet_ni_receive(struct lnet_ni *ni, void *in, struct lnet_msg *msg, bool delayed,
                     uint32_t offset, uint32_t mlen, uint32_t rlen);
void lnet_receive_put(struct lnet_msg *msg);
/* Discards the payload and counts. */
void lnet_drop_incoming(struct lnet_ni *ni, void *in, uint32_t type, uint32_t bytes);
/* Goes on with a message behind the delay rules. */
void lnet_parse_delayed(struct lnet_msg *msg);

/* ---- ni.c, peer.c, config.c ------------------------------------------------------------------ */

struct lnet_ni *lnet_ni_by_nid(struct lnet_instance *instance, lnet_nid_t nid);
struct lnet_ni *lnet_ni_by_index(struct lnet_instance *instance, uint32_t index);
struct lnet_net *lnet_net_by_id(struct lnet_instance *instance, uint32_t id);
int lnet_nis_start(struct lnet_node *node);
void lnet_nis_stop(struct lnet_node *node);
void lnet_nis_free(struct lnet_node *node);
/* Sets what settings say. False: *error is malloc'd text. */
bool lnet_ni_tunables(const struct lnet_node *node, struct lnet_ni *ni, char **error);
/* `name` NULL: the first one that suits. */
const struct lnet_interface *lnet_interface_find(const struct lnet_node *node, uint32_t lnd_type,
                                                 const char *name);
const struct lnet_lnd *lnet_lnd_find(uint32_t type);
extern const struct lnet_lnd lnet_lnd_lo;

/* Finds or makes. NULL: no memory. */
struct lnet_peer_ni *lnet_peer_ni_get(struct lnet_node *node, lnet_nid_t nid);
void lnet_peer_ni_fetch(const struct lnet_instance *instance, lnet_nid_t nid); /* into the cache */
struct lnet_peer_ni *lnet_peer_ni_find(struct lnet_instance *instance, lnet_nid_t nid);
void lnet_peers_free(struct lnet_instance *instance);
/* As LNetCtl does: `nid` LNET_NID_ANY is the peer itself. */
/* Makes one NID of a peer that has several a peer of its own; NULL: no memory. */
struct lnet_peer *lnet_peer_split_off(struct lnet_instance *instance, struct lnet_peer_ni *peer_ni);
int lnet_peer_add(struct lnet_node *node, lnet_nid_t primary, lnet_nid_t nid, bool multi_rail);
int lnet_peer_delete(struct lnet_node *node, lnet_nid_t primary, lnet_nid_t nid);
int lnet_peers_start(struct lnet_node *node); /* those of the settings */
/* Somebody says that the peer is alive or dead. */
int lnet_peer_notify(struct lnet_node *node, lnet_nid_t nid, bool alive);
const char *lnet_peer_state_text(const struct lnet_peer_ni *peer); /* "up", "down" or "NA" */
lnet_nid_t lnet_peer_primary(struct lnet_instance *instance, lnet_nid_t nid);
lnet_nid_t lnet_msg_initiator(const struct lnet_msg *msg); /* primary NID of the sender */
void lnet_peer_received(struct lnet_peer_ni *peer);
/* Whether a message may be sent to it; asks the driver when it was not heard for long. */
bool lnet_peer_usable(struct lnet_peer_ni *peer, struct lnet_ni *ni);

/* An entry of the `networks` parameter: a network with interfaces. */
struct lnet_config_net {
    uint32_t id;
    bool more_words; /* behind it, which are skipped */
    uint32_t interface_count;
    char interfaces[16][32];
};
struct lnet_config_route {
    uint32_t net;
    uint32_t hops;
    uint32_t priority;
    lnet_nid_t gateway;
};
/* Whether the settings of a node can work. False: *error is malloc'd text. */
bool lnet_config_check(struct lnet_node *node, char **error);
/* 0, or -EINVAL and *error. The results are malloc'd arrays. */
/* A text of networks, which it changes; *nets are the caller's. */
int lnet_config_parse(char *text, struct lnet_config_net **nets, uint32_t *count, char **error);
int lnet_config_networks(const struct lnet_node *node, struct lnet_config_net **nets,
                         uint32_t *count, char **error);
int lnet_config_routes(const struct lnet_node *node, struct lnet_config_route **routes,
                       uint32_t *count, char **error);
/* Writes what the rules mean on this node as a text of `networks`; changes `rules`. 0 or -EINVAL.
 */
int lnet_config_ip2nets(const struct lnet_node *node, char *rules, char *networks, size_t size,
                        char **error);
/* The next entry of a list that ends at ';', a newline or a carriage return; a comment from '#' to
 * there is cut off. Changes the text. NULL: there are no more. */
char *lnet_config_entry(char **more);
/* The next comma outside of brackets, or the end. NULL: brackets do not match. */
char *lnet_config_comma(char *text);
/* Copies a text that fits: its length was checked. */
void lnet_copy_text(char *to, size_t size, const char *from);
char *lnet_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- response.c, health.c, resend.c, recovery.c
 * -------------------------------------------------- */

void lnet_response_track(struct lnet_node *node, struct lnet_libmd *md);
void lnet_response_forget(struct lnet_node *node, struct lnet_libmd *md);
void lnet_response_stop(struct lnet_node *node);
/* True: the message will be sent again. */
bool lnet_health_check(struct lnet_msg *msg, int status);
void lnet_health_lower_peer(struct lnet_node *node, lnet_nid_t nid);
void lnet_resend_add(struct lnet_msg *msg);
void lnet_resend_stop(struct lnet_node *node);
void lnet_recovery_add_ni(struct lnet_ni *ni);
void lnet_recovery_add_peer(struct lnet_peer_ni *peer);
void lnet_recovery_stop(struct lnet_node *node);
sim_time_t lnet_monitor_interval(const struct lnet_node *node);
/* The next multiple of `interval` after `origin` that is later than now. */
sim_time_t lnet_next_scan(sim_time_t origin, sim_time_t interval);

/* ---- fault.c, delay.c
 * ------------------------------------------------------------------------------ */

/* The name of the rule that drops this message silently, or NULL. */
const char *lnet_fault_drops(struct lnet_node *node, const struct lnet_hdr *header);
/* Whether a rule holds it; then the message comes back by lnet_ni_send or lnet_parse_delayed. */
bool lnet_fault_delays(struct lnet_node *node, struct lnet_msg *msg);
/* Whether a fail-nid entry concerns the NID; counts. */
bool lnet_fault_fails_nid(struct lnet_node *node, lnet_nid_t nid);
void lnet_fault_stop(struct lnet_node *node);
void lnet_fault_free(struct lnet_node *node);
int lnet_fault_control(struct lnet_node *node, unsigned operation, struct libcfs_ioctl_data *data);
int lnet_fail_nid(struct lnet_node *node, lnet_nid_t nid, int threshold);

/* ---- route.c, router.c, pinger.c, ping.c
 * ----------------------------------------------- */

/* Whether the route can be added: 0, or the error of lnet_route_add. */
int lnet_route_check(struct lnet_node *node, uint32_t net, uint32_t hops, lnet_nid_t gateway);
int lnet_route_add(struct lnet_node *node, uint32_t net, uint32_t hops, lnet_nid_t gateway,
                   uint32_t priority);
int lnet_route_delete(struct lnet_node *node, uint32_t net, lnet_nid_t gateway);
/* The best route to `net` by a gateway on `local` (NULL: any network); NULL: none. */
struct lnet_peer_ni *lnet_route_select(struct lnet_node *node, uint32_t net,
                                       const struct lnet_net *local);
/* Whether `gateway` may bring messages from `net` by our routes. */
bool lnet_route_uses(struct lnet_node *node, uint32_t net, lnet_nid_t gateway);
void lnet_routes_free(struct lnet_node *node);
int lnet_routes_start(struct lnet_node *node);
int lnet_router_start(struct lnet_node *node);
void lnet_router_stop(struct lnet_node *node);
void lnet_router_free(struct lnet_instance *instance);
/* Takes what an incoming message needs to be forwarded. */
int lnet_router_admit(struct lnet_msg *msg);
/* A router has the whole message, and sends it on after the time that this takes. Or an error. */
int lnet_router_forward(struct lnet_msg *msg);
void lnet_router_return_credits(struct lnet_msg *msg);
/* It waited for a credit or buffer, which it has now. */
void lnet_router_resume(struct lnet_msg *msg);
/* Switches forwarding on or off while LNet runs. */
int lnet_router_set(struct lnet_node *node, bool on);
/* How many buffers a router has, 0: the defaults; negative: as before. */
int lnet_router_resize(struct lnet_node *node, int tiny, int small, int large);
void lnet_pinger_start(struct lnet_node *node);
/* check_routers_before_use: waits until every gateway was pinged. */
void lnet_pinger_wait(struct lnet_node *node);
void lnet_pinger_stop(struct lnet_node *node);
void lnet_pinger_received(struct lnet_gateway *gateway);
void lnet_pinger_lost(struct lnet_gateway *gateway);
/* init.c: LNetNIInit, and the last LNetNIFini. */
int lnet_instance_start(struct lnet_node *node, lnet_pid_t pid);
void lnet_instance_stop(struct lnet_node *node);
/* module.c: an ioctl of the control device. */
int lnet_module_control(unsigned command, void *argument);
int lnet_ping_start(struct lnet_node *node);
void lnet_ping_refresh(struct lnet_node *node);

/* A ping of LNet's own. `done` is called once, when its descriptor is unlinked. */
#define LNET_PING_INTERFACES 16
struct lnet_ping {
    struct lnet_node *node;
    lnet_nid_t nid;
    bool replied;
    int status;
    uint32_t bytes;
    void (*sent)(struct lnet_ping *ping); /* or not, see `status`; NULL: nobody asks */
    void (*done)(struct lnet_ping *ping);
    union {
        struct lnet_ping_info info;
        char space[sizeof(struct lnet_ping_info) +
                   LNET_PING_INTERFACES * sizeof(struct lnet_ni_status)];
    };
};
int lnet_ping_send(struct lnet_ping *ping, bool recovery);
int lnet_discovery_start(struct lnet_node *node);
void lnet_discovery_stop(struct lnet_node *node);
void lnet_discovery_free(struct lnet_instance *instance);
/* True: the message waits until the peer is known. */
bool lnet_discovery_delays(struct lnet_msg *msg, struct lnet_peer_ni *peer);
void lnet_discovery_wait(struct lnet_node *node, lnet_nid_t nid);
/* Discovers a peer even if it was before, and waits. 0, or why it did not answer. */
int lnet_discovery_again(struct lnet_node *node, lnet_nid_t nid);
void lnet_ping_stop(struct lnet_node *node);
void lnet_ping_free(struct lnet_instance *instance);

/* ---- trace.c --------------------------------------------------------------------------------- */

void lnet_trace_register(void);
void lnet_trace_sent(const struct lnet_msg *msg);
void lnet_trace_received(const struct lnet_msg *msg);
void lnet_trace_credits(const struct lnet_ni *ni);

/* ---- ledger.c
 * --------------------------------------------------------------------------------------- */

void lnet_record_open(struct lnet_msg *msg);
void lnet_record_arrived(struct lnet_node *node, struct lnet_msg *msg, int status);
void lnet_record_dropped(struct lnet_node *node, const struct lnet_hdr *header, const char *why);
void lnet_record_sent(struct lnet_msg *msg, int status);
/* It is handed to a driver, for its first hop or the next one. */
void lnet_record_hop(struct lnet_msg *msg);
void lnet_records_lost(const struct lnet_node *from, lnet_nid_t next_hop);
void lnet_record_dead(lnet_nid_t nid); /* what is sent there from now on is lost */
void lnet_record_alive(lnet_nid_t nid); /* LNet has started again there */
void lnet_ledger_md(uint32_t opened, uint32_t closed);
void lnet_ledger_md_violation(const struct lnet_node *node);
void lnet_record_timed_out(struct lnet_node *node, const struct lnet_libmd *md);

#endif
