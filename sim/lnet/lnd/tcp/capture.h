/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What socklnd writes into a capture: one call for each request, HELLO and message. */
#ifndef JACQUARD_LNET_TCP_CAPTURE_H
#define JACQUARD_LNET_TCP_CAPTURE_H

#include "pcap.h"
#include "sock.h"

/* Of all NIs of this process; NULL: none. */
struct lnet_capture {
    struct lnet_pcap *pcap;
    /* Also what arrives: for a process that sees one end only. In a simulation each message is
     * written by its sender. */
    bool received;
};
extern struct lnet_capture *lnet_capture;

void lnet_capture_handshake(struct lnet_sock_conn *conn, bool sent, const void *bytes,
                            uint32_t length);
void lnet_capture_hello(struct lnet_sock_conn *conn); /* that was received */
void lnet_capture_sent(struct lnet_sock_conn *conn, const struct lnet_sock_tx *tx);
void lnet_capture_received(struct lnet_sock_conn *conn);

#endif
