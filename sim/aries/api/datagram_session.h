/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sessions of a communication domain: the types and functions that the files datagram*.c share. */
#ifndef JACQUARD_ARIES_DATAGRAM_SESSION_H
#define JACQUARD_ARIES_DATAGRAM_SESSION_H

#include "api/datagram.h"
#include "api/front.h"

enum aries_session_state {
    ARIES_SESSION_WAITING,
    ARIES_SESSION_REMOTE, /* the data of the peer has arrived; no datagram was posted for it */
    ARIES_SESSION_COMPLETED,
    ARIES_SESSION_TERMINATED,
    ARIES_SESSION_TIMED_OUT,
};

enum { ARIES_HEAP_ALL, ARIES_HEAP_WITH_ID, ARIES_HEAPS };

struct aries_datagram_session {
    struct aries_datagrams *owner;
    uint64_t number; /* counts up with each new session; names the session in messages */
    uint64_t id;
    bool has_id, has_peer; /* has_peer is false for a wildcard that has matched no peer yet */
    enum aries_session_state state;
    struct aries_datagram_address peer;
    uint64_t peer_number; /* number of the peer's session that it matched; 0: unknown */
    /* State of the endpoint that posted it; NULL: it is REMOTE, or the endpoint was destroyed. */
    struct aries_datagram_mark *mark;
    struct aries_datagram_message *offer; /* our offer, until it has arrived */
    struct aries_list all_link, peer_link, id_link, age_link, mark_link;
    uint32_t heap_at[ARIES_HEAPS];
    struct sim_wait wait;
    uint16_t local_length, remote_length;
    uint8_t local[GNI_DATAGRAM_MAXSIZE], remote[GNI_DATAGRAM_MAXSIZE];
};

/* Datagram state of an endpoint (gni_ep.datagram). */
struct aries_datagram_mark {
    /*
     * The sessions that it posted. There are several if it forgot one (GNI_RC_NO_MATCH) before the
     * session was consumed.
     */
    struct aries_list sessions;
    bool pending;
    void *out_buf;
    uint16_t out_size;
};

struct aries_datagram_heap {
    struct aries_datagram_session **items;
    uint32_t count, capacity;
};

struct aries_datagrams {
    struct aries_list link; /* in fabric->datagrams: all domains that are not freed */
    /* Unique: a thread that was blocked finds out whether the domain is still there. */
    uint64_t serial;
    struct gni_nic *nic;
    uint64_t last_number;
    struct aries_list all, wildcards, remotes;
    struct aries_list *by_peer, *by_id; /* buckets */
    uint32_t count, buckets; /* a power of two */
    struct aries_datagram_heap final[ARIES_HEAPS];
    struct sim_wait probe_wait[ARIES_HEAPS];
    uint32_t probe_last_poll; /* state of sim_poll_turn() */
};

/* datagram_session.c */
/* Ends the program if there is no memory. */
void *aries_datagram_checked(void *memory);
/* For sim_poll: whether a heap holds a session. */
bool aries_datagram_heap_ready(const void *what);
/* The chains of the hash tables. */
struct aries_list *aries_datagram_peer_bucket(const struct aries_datagrams *datagrams, uint32_t pe,
                                              uint32_t inst_id);
struct aries_list *aries_datagram_id_bucket(const struct aries_datagrams *datagrams, uint64_t id);
/* The sessions of a NIC; created at the first call. */
struct aries_datagrams *aries_datagrams_of(struct gni_nic *nic);
/*
 * Blocks. Returns false if the domain is gone. It holds no reference meanwhile, so that a thread
 * that is cancelled here leaks nothing; `wait` may be invalid afterwards.
 */
bool aries_datagram_block(struct gni_nic *nic, sim_time_t deadline, const struct sim_wait *wait,
                          bool (*ready)(const void *what), const void *what);
/* Whether a session is in a final state; the second form is for sim_poll. */
bool aries_datagram_is_final(const struct aries_datagram_session *session);
bool aries_datagram_final_ready(const void *what);
struct aries_datagram_session *
aries_datagram_session_new(struct aries_datagrams *datagrams, enum aries_session_state state,
                           const struct aries_datagram_address *peer);
void aries_datagram_session_free(struct aries_datagram_session *session);
/* Sets the id of a session that had none. */
void aries_datagram_set_id(struct aries_datagram_session *session, bool has_id, uint64_t id);
/*
 * Whether a session may change its state:
 *
 *   WAITING ──▶ COMPLETED, TERMINATED, TIMED_OUT      REMOTE ──▶ COMPLETED, TERMINATED
 *   COMPLETED ──▶ TERMINATED                          if the peer or a cancel ends it before it was
 * reported
 */
bool aries_datagram_may_become(enum aries_session_state from, enum aries_session_state to);
/* Moves a session to a final state and wakes the threads that wait for it. */
void aries_datagram_finalise(struct aries_datagram_session *session,
                             enum aries_session_state state);
/* Completes a session with the data of its peer. */
void aries_datagram_complete(struct aries_datagram_session *session, const void *data,
                             uint16_t length, uint64_t peer_number);
/*
 * The session with a peer. A session that was posted here is preferred to one that the peer
 * offered.
 */
struct aries_datagram_session *aries_datagram_find_peer(const struct aries_datagrams *datagrams,
                                                        uint32_t pe, uint32_t inst_id,
                                                        bool *remote_only);
/* The REMOTE session of a peer, or NULL. */
struct aries_datagram_session *aries_datagram_find_remote(const struct aries_datagrams *datagrams,
                                                          uint32_t pe, uint32_t inst_id);
/* Ends a session that waits for its peer. A session in a final state stays as it is. */
void aries_datagram_cancel(struct aries_datagram_session *session);

/* datagram_message.c */
/* Sends a message about a session to its peer. NULL: this node is dead. */
struct aries_datagram_message *aries_datagram_send_to_peer(struct aries_datagram_session *session,
                                                           enum aries_datagram_kind kind);

#endif
