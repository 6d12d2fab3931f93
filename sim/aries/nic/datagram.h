/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams: the exchange of up to 128 bytes by which processes establish contact.
 *
 *   api/datagram*.c    sessions of a communication domain: matching, tests, waits, the calls
 *   datagram_kernel.c  messages between the kernels of two nodes: in order per pair of instances,
 *                      repeated until they arrive
 *
 * A session that was posted to a peer sends OFFER. If the peer has posted a session to us, the two
 * offers cross and each completes the other session. Otherwise a wildcard or a later post of the
 * peer accepts the offer and sends ANSWER. CANCEL withdraws an offer. REFUSE reports that the
 * instance which held the offer is gone.
 */
#ifndef JACQUARD_ARIES_DATAGRAM_H
#define JACQUARD_ARIES_DATAGRAM_H

#include "nic/interface.h"

enum aries_datagram_kind {
    ARIES_DATAGRAM_OFFER,
    ARIES_DATAGRAM_ANSWER,
    ARIES_DATAGRAM_CANCEL,
    ARIES_DATAGRAM_REFUSE
};

struct aries_datagram_session;

/* One end of a message: an instance, which need not be attached. */
struct aries_datagram_address {
    struct aries_nic *nic; /* NULL: no such node */
    uint32_t pe, inst_id;
};

struct aries_datagram_message {
    struct sim_timer timer; /* fires when it is to be sent, or when its target is checked */
    struct sim_ledger_entry entry;
    struct aries_list link; /* in its bucket, in order of creation */
    enum aries_datagram_kind kind;
    struct aries_datagram_address from, to;
    uint8_t ptag;
    uint32_t cookie;
    uint64_t number; /* number of the sender's session */
    uint64_t about; /* number of the receiver's session, for ANSWER and REFUSE */
    struct aries_datagram_session
        *session; /* OFFER: the sender's session, until the offer has arrived */
    uint32_t failures; /* number of sends to a dead node */
    sim_time_t pause; /* time before the next try */
    uint8_t copies; /* number of copies in the network */
    bool started, arrived, decided; /* decided: the fault point has been asked about this try */
    /* Its session has ended: it is not repeated if its target instance does not exist. */
    bool withdrawn;
    uint16_t length;
    uint8_t data[GNI_DATAGRAM_MAXSIZE];
};

/*
 * Queues a message behind those of the same pair of instances. The fields kind … session, length
 * and data are copied from *content. Returns the message, which is valid until it has arrived or
 * was given up. NULL: the sender's node is dead.
 */
struct aries_datagram_message *aries_datagram_send(const struct aries_datagram_message *content);
/* Withdraws a message that was not sent yet. False: it was sent. */
bool aries_datagram_withdraw(struct aries_datagram_message *message);

void aries_datagram_kernel_fini(struct aries_fabric *fabric); /* frees the messages in flight */

/*
 * The back end calls this when a copy of the message has been delivered. `accepted` is the result
 * of aries_datagram_arrived().
 */
void aries_datagram_send_ended(struct aries_datagram_message *message, bool accepted);

#endif
