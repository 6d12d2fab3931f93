/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams: the exchange of up to 128 bytes with which processes introduce themselves.
 *
 *   api/datagram.c     sessions of a communication domain: matching, tests, waits, the API
 *   datagram_kernel.c  messages between the kernels of two nodes: in order per pair of instances,
 *                      repeated until they arrive
 *
 * A session that was posted to a peer sends OFFER. At the peer it meets a session posted to us
 * (then the two offers cross and each completes the other), or a wildcard or a later post, which
 * sends ANSWER. CANCEL takes an offer back, REFUSE tells that the instance which held it is gone.
 */
#ifndef JACQUARD_ARIES_DATAGRAM_H
#define JACQUARD_ARIES_DATAGRAM_H

#include "nic/interface.h"

enum datagram_kind { DATAGRAM_OFFER, DATAGRAM_ANSWER, DATAGRAM_CANCEL, DATAGRAM_REFUSE };

struct datagram_session;

/* One end of a message: an instance, whether or not it is attached. */
struct datagram_address {
    struct aries_nic *nic; /* NULL: no such node */
    uint32_t pe, inst_id;
};

struct datagram_message {
    struct sim_timer timer; /* to send it, or to look whether its target died */
    struct sim_ledger_entry entry;
    struct aries_list link; /* of its bucket, in order of creation */
    enum datagram_kind kind;
    struct datagram_address from, to;
    uint8_t ptag;
    uint32_t cookie;
    uint64_t number; /* the sender's session */
    uint64_t about; /* the receiver's session: ANSWER, REFUSE */
    struct datagram_session
        *session; /* OFFER: the sender's session while it waits for the arrival */
    uint32_t failures; /* sends to a dead node */
    sim_time_t pause; /* before the next try */
    uint8_t copies; /* on the wire */
    bool started, arrived, decided; /* decided: the fault point was asked for this try */
    bool withdrawn; /* its session is gone: not repeated when there is no such instance */
    uint16_t length;
    uint8_t data[GNI_DATAGRAM_MAXSIZE];
};

/*
 * Queues a message behind those of the same pair. Its fields kind … session, length and data are
 * copied from *content. Returns the message, which is valid until it has arrived or is given up;
 * NULL: the sender's node is dead.
 */
struct datagram_message *datagram_send(const struct datagram_message *content);
/* Takes back what has not left yet. False: it is on its way. */
bool datagram_unsend(struct datagram_message *message);

void datagram_kernel_fini(struct aries_fabric *fabric); /* forgets what is under way */

/* Called by the back end: a copy of the message has come to its end; `accepted` as below. */
void datagram_ended(struct datagram_message *message, bool accepted);

#endif
