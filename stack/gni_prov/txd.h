/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transmit descriptors (txd.c). */
#ifndef GNIP_TXD_H
#define GNIP_TXD_H

#include "chain.h"
#include "gnip.h"
#include "proto.h"

/* What a transaction that is no message needs besides; made when a descriptor first has one. */
struct gnip_transfer {
    gni_post_descriptor_t post;
    gnip_chained_get chain[2];
    struct gnip_txd *txd;
};
/* One outstanding GNI transaction. */
struct gnip_txd { /* one of an eager message without payload is one cache line */
    union {
        struct gnip_txd *next; /* free */
        /*
         * Its event has come. No lock is held; frees the descriptor (gnip_txd_put). status: SUCCESS
         * or TRANSACTION_ERROR.
         */
        void (*done)(struct gnip_txd *txd, gni_return_t status);
    };
    struct gnip_req *req;
    struct gnip_vc *vc; /* cannot go before the event has been dealt with; NULL: of no VC */
    uint32_t id; /* index, which is the message id of SMSG */
    bool recoverable; /* of a failed one: a replay makes sense */
    bool smsg; /* a message, which pins its VC */
    bool collected; /* its event has been taken out of the queue */
    _Alignas(8) uint8_t buffer[80]; /* header of an SMSG message */
    struct gnip_nic *nic; /* whose it is */
    struct gnip_transfer *transfer; /* NULL: had none so far */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct gnip_txd) == 128, "two cache lines");
_Static_assert(offsetof(struct gnip_txd, buffer) + sizeof(struct gnip_eager) == 64, "");
/* NULL: none is free. `reserved`: may take the last ones, which are kept for FIN, ACK and close. */
struct gnip_txd *gnip_txd_get(struct gnip_nic *nic, bool reserved);
struct gnip_txd *gnip_txd_get_transfer(struct gnip_nic *nic); /* with ->transfer; not reserved */
void gnip_txd_put(struct gnip_nic *nic, struct gnip_txd *txd);
/* Transactions of a VC that is given up: whatever comes of them, nothing happens. The number of
 * messages among them. */
uint32_t gnip_txd_forget(struct gnip_nic *nic, const struct gnip_vc *vc);
void gnip_txd_free_all(struct gnip_nic *nic);

#endif
