/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the functional test share. */
#ifndef JACQUARD_M0_PING_PVT_H
#define JACQUARD_M0_PING_PVT_H

#include "m0/ping.h"
#include "net/net.h"

enum { M0_PING_HEAD = 19 }; /* 'r', "%08u" with its NUL, twice */

/* A buffer and the end of its operation. */
struct m0_ping_slot {
    struct m0_net_buffer nb; /* first: callbacks find the slot */
    struct m0_ping *ping;
    bool used; /* by an operation of the server */
    bool clear; /* all bytes are 0 */
    bool ended;
    int status;
    m0_bcount_t length;
    struct m0_net_end_point *reply_to;
    char kind;
};

struct m0_ping {
    struct m0_net_transfer_mc tm; /* first */
    struct m0_net_domain own, *dom; /* its own one, or that of another one */
    struct m0_ping_options options;
    struct m0_mutex lock; /* of slots and `changed` */
    struct m0_cond changed;
    struct m0_ping_slot *slots;
    uint32_t slot_count;
    bool server, stopping;
    int lost; /* the code with which the machine's driver went; 0: it is there */
    enum m0_net_tm_state state;
    int status;
    uint64_t errors;
    uint32_t retried; /* loops of a client */
};

/* Bytes of the pattern; nb_length is set. */
void m0_ping_fill(struct m0_ping_slot *slot, m0_bcount_t bytes);
/* Clears the first bytes of a buffer, so that they do not pass for what is to arrive. */
void m0_ping_clear(struct m0_ping_slot *slot, m0_bcount_t bytes);
/* Whether the bytes from `from` on are the pattern's. */
bool m0_ping_is_filled(struct m0_ping_slot *slot, m0_bcount_t from, m0_bcount_t bytes);
/* A message with the text and, up to `bytes`, the pattern. */
void m0_ping_put_text(struct m0_ping_slot *slot, const char *text, m0_bcount_t bytes);
bool m0_ping_is_text(struct m0_ping_slot *slot, const char *text, m0_bcount_t bytes);
/* Of eight digits and a NUL; 0 if they are something else. */
uint32_t m0_ping_number(const char *text);
int m0_ping_put_descriptor(struct m0_ping_slot *slot, char kind, const struct m0_net_buf_desc *desc,
                           uint32_t size);

#endif
