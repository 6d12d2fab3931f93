/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transmit descriptors (txd.c). */
#ifndef GNIP_TXD_H
#define GNIP_TXD_H

#include "chain.h"
#include "gnip.h"
#include "proto.h"

/*
 * The part of a descriptor that only RMA and atomic transactions need. It is allocated for the
 * first such transaction of the descriptor.
 */
struct gnip_transfer {
    gni_post_descriptor_t post;
    gnip_chained_get chain[2];
    struct gnip_txd *txd;
};
/* One outstanding GNI transaction. */
struct gnip_txd { /* the part for an eager message without payload is one cache line */
    union {
        struct gnip_txd *next; /* in the list of free ones */
        /*
         * Called when the event of the transaction has come. No lock is held. Frees the descriptor
         * (gnip_txd_put). status: SUCCESS or TRANSACTION_ERROR.
         */
        void (*done)(struct gnip_txd *txd, gni_return_t status);
    };
    struct gnip_req *req;
    struct gnip_vc *vc; /* it is not freed before the event has been handled; NULL: none */
    uint32_t id; /* index of the descriptor; also the message id of SMSG */
    bool recoverable; /* of a failed transaction: a replay may succeed */
    uint8_t tries; /* of a rendezvous: how often it was posted again */
    bool smsg; /* it is a message, which pins its VC */
    bool collected; /* its event has been read from the queue */
    _Alignas(8) uint8_t buffer[80]; /* header of an SMSG message */
    struct gnip_nic *nic; /* the NIC that it belongs to */
    struct gnip_transfer *transfer; /* NULL: not allocated so far */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct gnip_txd) == 128, "two cache lines");
_Static_assert(offsetof(struct gnip_txd, buffer) + sizeof(struct gnip_eager) == 64, "");
/* NULL: none is free. `reserved`: may use the last ones, which are kept for FIN, ACK and close. */
struct gnip_txd *gnip_txd_get(struct gnip_nic *nic, bool reserved);
/* with ->transfer; not one of the reserved ones */
struct gnip_txd *gnip_txd_get_transfer(struct gnip_nic *nic);
void gnip_txd_put(struct gnip_nic *nic, struct gnip_txd *txd);
/*
 * The VC is given up: the ends of its transactions have no effect. Returns the number of messages
 * among them.
 */
uint32_t gnip_txd_forget(struct gnip_nic *nic, const struct gnip_vc *vc);
void gnip_txd_free_all(struct gnip_nic *nic);

#endif
